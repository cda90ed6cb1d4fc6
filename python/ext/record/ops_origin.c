/* Finds the forward operation and the call that made an autograd node.
 *
 * torch numbers nodes as they are made, for each thread from 0. A node is made just
 * before its operation is dispatched, so the first operation that sees a higher number
 * made the nodes below it. Nodes made between the last operation of a call and its end
 * belong to the call. */
#include "ext/record/ops_in.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ext/torch/torch.h"

/* Origins stored per thread; beyond that the older half is dropped. */
#define MOST_ORIGINS (1u << 20)
/* Ended threads whose origins are stored. */
#define MOST_RETIRED 64

/* ---- forward ---- */

/* A new thread reuses the identifier of an ended one if torch counts from 0 again. */
static void retire(struct recorder_ops *ops, struct ops_origins *origins)
{
    if (ops->n_retired == MOST_RETIRED) {
        free(ops->retired[0].at);
        memmove(ops->retired, ops->retired + 1,
                (MOST_RETIRED - 1) * sizeof *ops->retired);
        ops->n_retired--;
    }
    if (buf_grow_array(&ops->retired, ops->n_retired, &ops->retired_room,
                       sizeof *ops->retired))
        ops->retired[ops->n_retired++] = *origins;
    else
        free(origins->at);
    *origins = (struct ops_origins){0};
}

static void push(struct recorder_ops *ops, struct ops_thread *thread,
                 const struct ops_origin *origin)
{
    struct ops_origins *origins = &thread->origins;

    if (origins->n > 0 && origins->at[origins->n - 1].sequence > origin->sequence)
        retire(ops, origins);
    if (origins->n > 0 && origins->at[origins->n - 1].sequence == origin->sequence)
        return;
    if (origins->n == MOST_ORIGINS) {
        origins->lowest = origins->at[MOST_ORIGINS / 2 - 1].sequence;
        memmove(origins->at, origins->at + MOST_ORIGINS / 2,
                MOST_ORIGINS / 2 * sizeof *origins->at);
        origins->n = MOST_ORIGINS / 2;
    }
    if (buf_grow_array(&origins->at, origins->n, &origins->room, sizeof *origins->at))
        origins->at[origins->n++] = *origin;
}

void ops_origin(struct recorder_ops *ops, const struct trace_op_given *given,
                uint32_t op)
{
    struct ops_thread *thread = ops_thread(ops, given->thread);
    struct ops_origin origin = {.sequence = given->sequence,
                                .serial = given->serial,
                                .kind = given->kind,
                                .op = op,
                                .call = given->call,
                                .place = given->place,
                                .line = given->line};

    if (thread && given->sequence != OPS_NO_SEQUENCE)
        push(ops, thread, &origin);
}

void ops_nodes_end(struct recorder_ops *ops, uint32_t number, bool known)
{
    struct ops_thread *thread = ops->over ? NULL : ops_thread(ops, number);
    struct ops_origin origin = {.sequence = ops_sequence(),
                                .kind = RUN_NONE,
                                .op = RUN_NONE,
                                .call = RUN_NONE,
                                .place = NO_PLACE};

    ops->idle = 0;
    if (!thread || !ops->recorder->trace || origin.sequence == OPS_NO_SEQUENCE)
        return;
    if (known)
        origin.call = trace_open_call(ops->recorder->trace, number, &origin.serial,
                                      &origin.place);
    push(ops, thread, &origin);
    if (thread->origins.n == 1)
        thread->origins.lowest = origin.sequence;
}

void ops_origins_free(struct recorder_ops *ops)
{
    for (uint32_t i = 0; i < ops->n_threads; i++)
        free(ops->threads[i].origins.at);
    for (uint32_t i = 0; i < ops->n_retired; i++)
        free(ops->retired[i].at);
    free(ops->retired);
    for (uint32_t i = 0; i < ops->n_threads; i++)
        ops->threads[i].origins = (struct ops_origins){0};
    ops->retired = NULL;
    ops->n_retired = ops->retired_room = 0;
}

/* ---- backward ---- */

/* The index of the first origin with a higher number. */
static uint32_t index_of(const struct ops_origins *origins, uint64_t node)
{
    uint32_t low = 0, high = origins->n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (origins->at[middle].sequence <= node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The origin of a node; NULL: this thread did not make it. `after`: torch makes such
 * nodes after the operation, not before it. */
static const struct ops_origin *find(const struct ops_origins *origins, uint64_t node,
                                     bool after)
{
    uint32_t index = index_of(origins, node);

    if (index == origins->n || node < origins->lowest)
        return NULL;
    if (after && index > 0 && origins->at[index - 1].op != RUN_NONE)
        index--;
    return &origins->at[index];
}

static const struct ops_kind *kind_of(const struct recorder_ops *ops, uint32_t number)
{
    for (uint32_t i = 0; i < ops->n_kinds; i++)
        if (ops->kinds[i]->number == number)
            return ops->kinds[i];
    return NULL;
}

/* Whether "AddmmBackward0" is the node of "aten.addmm.default": one name begins with
 * the other, without underscores. */
static bool names_agree(const char *node, const char *op)
{
    op = strchr(op, '.') ? strchr(op, '.') + 1 : op;
    for (;;) {
        while (*op == '_')
            op++;
        if (*op == '\0' || *op == '.' || strncmp(node, "Backward", 8) == 0)
            return true;
        if (tolower((unsigned char)*node) != *op)
            return false;
        node++;
        op++;
    }
}

static bool fits(const struct recorder_ops *ops, const struct ops_origin *origin,
                 const char *node)
{
    const struct ops_kind *kind = kind_of(ops, origin->kind);
    PyObject *text = kind ? PyObject_Str(kind->func) : NULL;
    const char *name = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    bool agree = name && names_agree(node, name);

    ext_swallow();
    Py_XDECREF(text);
    return agree;
}

static const struct ops_origins *origins_at(const struct recorder_ops *ops, uint32_t i)
{
    return i < ops->n_threads ? &ops->threads[i].origins
                              : &ops->retired[i - ops->n_threads];
}

/* Several threads made nodes with this number: the right one has an operation with the
 * node's name. If several match, only their common properties are known. */
static bool choose(struct recorder_ops *ops, uint64_t node, const char *name,
                   bool after, struct ops_origin *ret_origin)
{
    uint32_t n = ops->n_threads + ops->n_retired, found = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct ops_origin *one = find(origins_at(ops, i), node, after);

        if (!one || !fits(ops, one, name))
            continue;
        if (found++ == 0) {
            *ret_origin = *one;
        } else if (one->place == ret_origin->place) {
            ret_origin->op = ret_origin->call = RUN_NONE;
            ret_origin->line = one->line == ret_origin->line ? one->line : 0;
        } else {
            found = 0;
            break;
        }
    }
    ops->ambiguous += found != 1;
    return found > 0;
}

/* The special properties of a node's class. */
static enum ops_node_class look_at_class(struct recorder_ops *ops, PyObject *node)
{
    struct ops_node_type *known = ops_node_type(ops, node);
    enum ops_node_class class = OPS_NODE_PLAIN;
    char text[TORCH_CLASS_NAME];

    if (known && known->looked)
        return known->class;
    torch_class_name(node, text);
    if (strcmp(text, "CopySlices") == 0) {
        class = OPS_NODE_AFTER;
    } else if (strcmp(text, "CompiledFunctionBackward") == 0) {
        if (!ops->compiled && ops->recorder->trace)
            trace_gap(ops->recorder->trace, RUN_GAP_COMPILED, NO_OBJECT,
                      "Compiled code ran in backward: the operators that it calls are "
                      "recorded, its own kernels are not.");
        ops->compiled = true;
    }
    if (known) {
        known->looked = true;
        known->class = class;
    }
    return class;
}

bool ops_find_origin(struct recorder_ops *ops, PyObject *node, uint64_t sequence,
                     struct ops_origin *ret_origin)
{
    uint32_t n = ops->n_threads + ops->n_retired, found = 0;
    bool after = look_at_class(ops, node) == OPS_NODE_AFTER;
    char text[TORCH_CLASS_NAME];

    for (uint32_t i = 0; i < n; i++) {
        const struct ops_origin *one = find(origins_at(ops, i), sequence, after);

        if (one && found++ == 0)
            *ret_origin = *one;
    }
    if (found < 2)
        return found;
    torch_class_name(node, text);
    return choose(ops, sequence, text, after, ret_origin);
}
