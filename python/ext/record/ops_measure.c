/* Statistics of what an operation returned, and of what came to it from outside. */
#include "ext/record/ops_in.h"

/* Is it a view of a part of a gradient, such as what each argument of a cat gets? Other
 * views have the statistics of their base. */
static bool is_part_of_gradient(const struct op_visit *visit, PyObject *result)
{
    PyObject *whole =
        PyTuple_Size(visit->args) > 0 ? PyTuple_GetItem(visit->args, 0) : NULL;
    struct live_tensor part, of;

    return visit->given.phase == OP_BACKWARD && whole && tensor_is(whole) &&
           tensor_is(result) && tensor_look(whole, &of) && tensor_look(result, &part) &&
           part.numel < of.numel;
}

static void measure(struct op_visit *visit, PyObject *tensor, uint32_t value)
{
    struct recorder *recorder = visit->ops->recorder;
    struct live_tensor look;
    struct stats stats;

    if (tensor && tensor_is(tensor) && tensor_look(tensor, &look) &&
        look.flags & LIVE_READABLE && tensor_stats(&look, recorder->mode, &stats) &&
        recorder->trace)
        trace_op_stats(recorder->trace, value, &stats);
}

/* A positional argument, or a part of a list. NULL: a keyword. Borrowed. */
static PyObject *argument(const struct op_visit *visit,
                          const struct trace_op_tensor *tensor)
{
    PyObject *found = tensor->arg < PyTuple_Size(visit->args)
                          ? PyTuple_GetItem(visit->args, tensor->arg)
                          : NULL;

    if (!found || tensor->item == OP_NO_ITEM)
        return found;
    if (PyList_Check(found) && tensor->item < PyList_Size(found))
        return PyList_GetItem(found, tensor->item);
    if (PyTuple_Check(found) && tensor->item < PyTuple_Size(found))
        return PyTuple_GetItem(found, tensor->item);
    return NULL;
}

/* Statistics of arguments that no operation made: data, labels. */
static void measure_outside(struct op_visit *visit)
{
    struct recorder *recorder = visit->ops->recorder;

    if (visit->kind->flags & OP_REGION)
        return;
    for (uint32_t k = 0; k < visit->tensors.n && recorder->trace; k++) {
        const struct trace_op_tensor *tensor = &visit->tensors.at[k];

        if (tensor->kind == OP_IN && !ops_writes(visit->kind, tensor->arg) &&
            trace_op_unknown(recorder->trace, visit->tensors.values[k]))
            measure(visit, argument(visit, tensor), visit->tensors.values[k]);
    }
}

/* Statistics of the results. */
static void measure_results(struct op_visit *visit, PyObject *result)
{
    struct recorder_ops *ops = visit->ops;
    Py_ssize_t n = PyTuple_Check(result) ? PyTuple_Size(result) : 1;

    if (visit->kind->flags & OP_MAKES ||
        (visit->kind->flags & OP_VIEW && !is_part_of_gradient(visit, result)))
        return;
    for (Py_ssize_t i = 0; i < n && ops->recorder->trace; i++) {
        PyObject *one = PyTuple_Check(result) ? PyTuple_GetItem(result, i) : result;

        for (uint32_t k = 0; k < visit->tensors.n; k++) {
            const struct trace_op_tensor *tensor = &visit->tensors.at[k];

            /* An in-place operation returns its first argument. */
            if (tensor->kind == OP_IN || tensor->arg != i ||
                (tensor->kind == OP_WRITTEN && PyTuple_Check(result)) ||
                tensor->item != OP_NO_ITEM)
                continue;
            measure(visit, one, visit->tensors.values[k]);
        }
    }
}

void ops_measure(struct op_visit *visit, PyObject *result)
{
    measure_outside(visit);
    measure_results(visit, result);
}
