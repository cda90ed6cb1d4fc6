/* Finds the phase, module and line of an operation and, in backward, its forward
 * operation, by the number of the running node (ops_origin.c). */
#include "ext/record/ops_in.h"

#include <stdlib.h>
#include <string.h>

#include "ext/torch/native.h"
#include "ext/torch/torch.h"

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

uint64_t ops_sequence(void)
{
    return torch_find()->sequence_nr ? native_sequence() : OPS_NO_SEQUENCE;
}

/* ---- Python's stack ---- */

static PyObject *frame_back(PyObject *frame)
{
    PyObject *back = PyObject_GetAttr(frame, torch_find()->names[NAME_f_back]);

    ext_swallow();
    Py_DECREF(frame);
    if (back == Py_None)
        Py_CLEAR(back);
    return back;
}

/* Is this frame still running? */
static bool frame_runs(const void *wanted)
{
    PyObject *frame = Py_XNewRef((PyObject *)PyEval_GetFrame());

    while (frame && frame != wanted)
        frame = frame_back(frame);
    Py_XDECREF(frame);
    return frame;
}

static bool is_file_of_torch(PyObject *frame, const char *wanted)
{
    PyObject *code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
    PyObject *name = PyObject_GetAttr(code, torch_find()->names[NAME_co_filename]);
    PyObject *folder = torch_find()->folder;
    Py_ssize_t len = 0;
    const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    const char *start = folder ? PyUnicode_AsUTF8AndSize(folder, &len) : NULL;
    bool is = text && start && strncmp(text, start, (size_t)len) == 0 &&
              strcmp(text + len, wanted) == 0;

    ext_swallow();
    Py_XDECREF(name);
    Py_DECREF(code);
    return is;
}

/* Does checkpointing run a function again, in the backward under way? */
static bool is_recomputing(void)
{
    PyObject *frame = Py_XNewRef((PyObject *)PyEval_GetFrame());

    while (frame && !is_file_of_torch(frame, "utils/checkpoint.py")) {
        if (is_file_of_torch(frame, "autograd/graph.py"))
            Py_CLEAR(frame); /* the backward */
        else
            frame = frame_back(frame);
    }
    Py_XDECREF(frame);
    return frame;
}

/* Does backward() make its initial gradient here? For a loss it is a one. */
static bool is_seed(const struct ops_kind *kind)
{
    PyObject *frame = kind && kind->seeds ? (PyObject *)PyEval_GetFrame() : NULL;

    return frame && is_file_of_torch(frame, "autograd/__init__.py");
}

/* ---- optimizers ---- */

void ops_optimizer(struct recorder_ops *ops, bool begins, PyObject *frame)
{
    struct stack *stack = frames_stack(ops->recorder->frames);
    struct ops_thread *thread = stack ? ops_thread(ops, stack->number) : NULL;
    PyObject *hook = (PyObject *)PyEval_GetFrame(), *step;

    ops->idle = 0;
    if (!thread)
        return;
    if (!begins) {
        thread->optimizing -= thread->optimizing > 0;
        return;
    }
    if (thread->optimizing && !frame_runs(thread->step))
        thread->optimizing = 0;
    if (thread->optimizing++ == 0) {
        step = frame ? Py_NewRef(frame) : hook ? frame_back(Py_NewRef(hook)) : NULL;
        thread->step = step;
        Py_XDECREF(step); /* the interpreter holds it while it runs */
    }
}

/* Is a step() under way? No hook reports the end of one that raised. */
static bool is_optimizing(struct ops_thread *thread)
{
    if (thread->optimizing && !frame_runs(thread->step))
        thread->optimizing = 0;
    return thread->optimizing;
}

/* ---- backward ---- */

/* The place of a parameter's module. */
static uint32_t place_of_tensor(const struct model *model, uint32_t tensor)
{
    uint32_t place =
        tensor < model->n_tensors ? model->tensors[tensor].place : NO_PLACE;

    return place == NO_PLACE ? NO_PLACE : model->parent[place];
}

/* The end of a gradient's path, an AccumulateGrad node: it belongs to the module of its
 * parameter. For any other tensor it belongs to the operation that made it: a model
 * that requests the gradient of an activation, the arguments of a checkpoint. An input
 * has no owner. */
static void cause_of_leaf(struct recorder_ops *ops, PyObject *node,
                          struct trace_op_given *given)
{
    PyObject *variable = PyObject_GetAttrString(node, "variable");
    struct trace_op_tensor leaf = {.kind = OP_IN};
    uint32_t tensor =
        variable ? live_tensor_number(ops->recorder->live, variable) : NO_OBJECT;

    if (tensor != NO_OBJECT) {
        given->gradient = tensor;
        given->place = place_of_tensor(ops->recorder->model, tensor);
    } else if (variable && tensor_is(variable) && ops_look(ops, variable, &leaf)) {
        trace_op_made(ops->recorder->trace, &leaf, given);
    }
    ext_swallow();
    Py_XDECREF(variable);
}

struct ops_node_type *ops_node_type(struct recorder_ops *ops, PyObject *node)
{
    PyTypeObject *type = Py_TYPE(node);
    struct ops_node_type *known =
        &ops->node_types[(uintptr_t)type / 64 % OPS_NODE_TYPES];

    if (PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE)
        return NULL;
    if (known->type != type) {
        Py_XDECREF(known->method);
        *known = (struct ops_node_type){.type = type};
        known->method =
            PyObject_GetAttr((PyObject *)type, torch_find()->names[NAME__sequence_nr]);
        ext_swallow();
    }
    return known;
}

/* node._sequence_nr() */
static PyObject *number_of_node(struct recorder_ops *ops, PyObject *node)
{
    const struct ops_node_type *known = ops_node_type(ops, node);

    if (known && known->method)
        return PyObject_CallFunctionObjArgs(known->method, node, NULL);
    return PyObject_CallMethodObjArgs(node, torch_find()->names[NAME__sequence_nr],
                                      NULL);
}

static void cause_of_node(struct recorder_ops *ops, PyObject *node,
                          struct trace_op_given *given)
{
    PyObject *number = number_of_node(ops, node);
    unsigned long long sequence = number ? PyLong_AsUnsignedLongLong(number) : 0;
    struct ops_origin origin;

    Py_XDECREF(number);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return;
    }
    if (!ops_find_origin(ops, node, sequence, &origin))
        return;
    given->cause = origin.op;
    given->call = origin.call;
    given->serial = origin.serial;
    given->place = origin.place;
    given->line = origin.line;
}

static void backward_cause(struct recorder_ops *ops, struct trace_op_given *given)
{
    const struct torch *torch = torch_find();
    PyObject *node =
        torch->current_node ? PyObject_CallNoArgs(torch->current_node) : NULL;

    ext_swallow();
    given->phase = OP_BACKWARD;
    if (node && node != Py_None) {
        if ((PyObject *)Py_TYPE(node) == torch->accumulate)
            cause_of_leaf(ops, node, given);
        else
            cause_of_node(ops, node, given);
    }
    Py_XDECREF(node);
}

/* ---- both ---- */

void ops_cause(struct recorder_ops *ops, struct stack *stack,
               const struct ops_kind *kind, struct trace_op_given *given)
{
    struct recorder *recorder = ops->recorder;
    const struct recorder_frame *top = stack->n ? &stack->frames[stack->n - 1] : NULL;
    struct ops_thread *thread = ops_thread(ops, stack->number);

    given->thread = stack->number;
    given->call = given->cause = given->gradient = RUN_NONE;
    given->place = NO_PLACE;
    given->phase = OP_FORWARD;
    given->sequence = OPS_NO_SEQUENCE;
    if (native_grad_mode())
        given->flags |= OP_GRAD_MODE;
    if (native_graph_task() != -1) {
        if (!top || !top->recomputed) {
            backward_cause(ops, given);
            /* create_graph and checkpointing make nodes in backward. */
            if (!(given->flags & OP_GRAD_MODE))
                return;
            given->sequence = ops_sequence();
            if (is_recomputing())
                given->phase = OP_RECOMPUTE;
            return;
        }
        given->phase = OP_RECOMPUTE;
    } else if (!top && thread && is_optimizing(thread)) {
        given->phase = OP_OPTIMIZER;
    } else if (is_seed(kind)) {
        given->phase = OP_BACKWARD;
    }
    /* Without gradients too: forward of an autograd.Function has none. */
    given->sequence = ops_sequence();
    if (top)
        given->call = trace_open_call(recorder->trace, stack->number, &given->serial,
                                      &given->place);
    if (recorder->lines)
        given->line = code_lines_here(recorder->lines, recorder->trace, top);
}
