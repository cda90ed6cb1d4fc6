/* Where an operation comes from: its phase, module, line and, in backward, the forward
 * operation.
 *
 * torch numbers the nodes of autograd as they are made, on each thread. A node is made
 * just before its operation is dispatched, so the first operation that sees a higher
 * number than before made the node below that number. In backward, the node that runs
 * tells its number. */
#include "ext/record/ops_in.h"

#include <stdlib.h>
#include <string.h>

#include "ext/torch/native.h"
#include "ext/torch/torch.h"

/* Forward operations remembered on a thread; beyond that the older half is dropped. */
#define MOST_ORIGINS (1u << 20)

struct ops_thread *ops_thread(struct recorder_ops *ops, uint32_t number)
{
    while (ops->n_threads <= number) {
        if (!buf_grow_array(&ops->threads, ops->n_threads, &ops->threads_room,
                            sizeof *ops->threads))
            return NULL;
        memset(&ops->threads[ops->n_threads++], 0, sizeof *ops->threads);
    }
    return &ops->threads[number];
}

/* ---- forward ---- */

void ops_origin(struct recorder_ops *ops, const struct trace_op_given *given,
                uint32_t op)
{
    struct ops_thread *thread = ops_thread(ops, given->thread);
    uint64_t sequence;

    if (!thread || !(given->flags & OP_GRAD_MODE) || given->phase == OP_BACKWARD ||
        given->phase == OP_OPTIMIZER)
        return;
    sequence = given->sequence;
    if (thread->n > 0 && thread->origins[thread->n - 1].sequence >= sequence)
        return;
    if (thread->n == MOST_ORIGINS) {
        memmove(thread->origins, thread->origins + MOST_ORIGINS / 2,
                MOST_ORIGINS / 2 * sizeof *thread->origins);
        thread->n = MOST_ORIGINS / 2;
    }
    if (!buf_grow_array(&thread->origins, thread->n, &thread->room,
                        sizeof *thread->origins))
        return;
    thread->origins[thread->n++] = (struct ops_origin){.sequence = sequence,
                                                       .serial = given->serial,
                                                       .op = op,
                                                       .call = given->call,
                                                       .place = given->place,
                                                       .line = given->line};
}

/* ---- backward ---- */

/* The operation that made the node with this number; or NULL. */
static const struct ops_origin *find_origin(const struct ops_thread *thread,
                                            uint64_t node)
{
    uint32_t low = 0, high = thread->n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (thread->origins[middle].sequence <= node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < thread->n ? &thread->origins[low] : NULL;
}

/* The parameter that an AccumulateGrad node belongs to. */
static uint32_t accumulated(struct recorder_ops *ops, PyObject *node)
{
    PyObject *variable = PyObject_GetAttrString(node, "variable");
    uint32_t tensor =
        variable ? live_tensor_number(ops->recorder->live, variable) : NO_OBJECT;

    ext_swallow();
    Py_XDECREF(variable);
    return tensor == NO_OBJECT ? RUN_NONE : tensor;
}

/* The place of a parameter's module. */
static uint32_t place_of_tensor(const struct model *model, uint32_t tensor)
{
    uint32_t place =
        tensor < model->n_tensors ? model->tensors[tensor].place : NO_PLACE;

    return place == NO_PLACE ? NO_PLACE : model->parent[place];
}

static void cause_of_node(struct recorder_ops *ops, PyObject *node,
                          struct trace_op_given *given)
{
    PyObject *number =
        PyObject_CallMethodObjArgs(node, torch_find()->names[NAME__sequence_nr], NULL);
    unsigned long long sequence = number ? PyLong_AsUnsignedLongLong(number) : 0;
    const struct ops_origin *origin = NULL;

    Py_XDECREF(number);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return;
    }
    /* The forward usually ran on this thread. */
    if (given->thread < ops->n_threads)
        origin = find_origin(&ops->threads[given->thread], sequence);
    for (uint32_t i = 0; !origin && i < ops->n_threads; i++)
        origin = find_origin(&ops->threads[i], sequence);
    if (!origin)
        return;
    given->cause = origin->op;
    given->call = origin->call;
    given->serial = origin->serial;
    given->place = origin->place;
    given->line = origin->line;
}

static void backward_cause(struct recorder_ops *ops, struct trace_op_given *given)
{
    const struct torch *torch = torch_find();
    PyObject *node =
        torch->current_node ? PyObject_CallNoArgs(torch->current_node) : NULL;

    ext_swallow();
    given->phase = OP_BACKWARD;
    if (node && node != Py_None) {
        if ((PyObject *)Py_TYPE(node) == torch->accumulate) {
            given->gradient = accumulated(ops, node);
            if (given->gradient != RUN_NONE)
                given->place = place_of_tensor(ops->recorder->model, given->gradient);
        } else {
            cause_of_node(ops, node, given);
        }
    }
    Py_XDECREF(node);
}

/* ---- both ---- */

void ops_cause(struct recorder_ops *ops, struct stack *stack,
               struct trace_op_given *given)
{
    struct recorder *recorder = ops->recorder;
    const struct recorder_frame *top = stack->n ? &stack->frames[stack->n - 1] : NULL;
    struct ops_thread *thread = ops_thread(ops, stack->number);

    given->thread = stack->number;
    given->call = given->cause = given->gradient = RUN_NONE;
    given->place = NO_PLACE;
    given->phase = OP_FORWARD;
    if (native_grad_mode())
        given->flags |= OP_GRAD_MODE;
    if (native_graph_task() != -1) {
        if (!top || !top->recomputed) {
            backward_cause(ops, given);
            return;
        }
        given->phase = OP_RECOMPUTE;
    } else if (!top && thread && thread->optimizing) {
        given->phase = OP_OPTIMIZER;
    }
    if (given->flags & OP_GRAD_MODE)
        given->sequence = native_sequence();
    if (top)
        given->call = trace_open_call(recorder->trace, stack->number, &given->serial,
                                      &given->place);
    if (recorder->lines)
        given->line = code_lines_here(recorder->lines, recorder->trace, top);
}
