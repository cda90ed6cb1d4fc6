/* The methods of the type Recorder about operations. */
#include "ext/record/ops.h"
#include "ext/record/recorder_in.h"

/* What operations cost so far: our work, and torch's mode. */
PyObject *recorder_ops_ns(PyObject *self, void *unused)
{
    const struct recorder *recorder = recorder_of(self);
    uint64_t ns = recorder->ops ? ops_own_ns(recorder->ops) : 0;

    (void)unused;
    if (recorder->ops)
        ns += ops_count(recorder->ops) * recorder->op_ns;
    return PyLong_FromUnsignedLongLong(ns);
}

PyObject *recorder_n_ops(PyObject *self, void *unused)
{
    const struct recorder_ops *ops = recorder_of(self)->ops;

    (void)unused;
    return PyLong_FromUnsignedLongLong(ops ? ops_count(ops) : 0);
}

PyObject *recorder_ops_mode(PyObject *self, PyObject *unused)
{
    struct recorder *recorder = recorder_of(self);

    (void)unused;
    if (!recorder->ops || !recorder->trace)
        return recorder_stopped();
    return ops_mode(self, recorder->ops);
}

PyObject *recorder_op_value(PyObject *self, PyObject *tensor)
{
    struct recorder *recorder = recorder_of(self);
    uint32_t value = RUN_NONE;

    if (recorder->ops && recorder->trace)
        value = ops_value(recorder->ops, tensor);
    if (value == RUN_NONE)
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLong(value);
}

/* ops_begin(wanted): record operations too, until ops_end(). Before anything is recorded:
 * a watched step begins. */
PyObject *recorder_ops_begin(PyObject *self, PyObject *wanted)
{
    struct recorder *recorder = recorder_of(self);
    struct recorder_ops *ops;

    if (!recorder->trace)
        return recorder_stopped();
    ops_end(recorder->ops);
    ops = ops_new(recorder, wanted);
    if (!ops)
        return NULL;
    ops_follow(ops, recorder->ops);
    recorder->ops = ops;
    Py_RETURN_NONE;
}

PyObject *recorder_ops_end(PyObject *self, PyObject *unused)
{
    (void)unused;
    ops_end(recorder_of(self)->ops);
    Py_RETURN_NONE;
}

PyObject *recorder_optimizer(PyObject *self, PyObject *begins)
{
    struct recorder *recorder = recorder_of(self);

    if (recorder->ops && recorder_ready(recorder))
        ops_optimizer(recorder->ops, begins != Py_False,
                      PyBool_Check(begins) ? NULL : begins);
    Py_RETURN_NONE;
}
