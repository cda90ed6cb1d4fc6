/* The judge of a watched training: alarms for the history and for Python, and the guard
 * that scans tensors on every step. */
#include "ext/record/recorder_watch_in.h"
#include "ext/torch/torch.h"

#include "history/parcel.h"
#include "judge/judge.h"

/* Elements of a tensor to scan when there is no time for all. */
#define GUARD_PART 16384u

/* ---- alarms */

static PyObject *alarm_object(const struct history_alarm *alarm)
{
    return Py_BuildValue("{s:K,s:s,s:s#,s:s#,s:s#,s:s#}", "step",
                         (unsigned long long)alarm->step, "severity",
                         severity_name((enum severity)alarm->severity), "kind",
                         alarm->kind.at, (Py_ssize_t)alarm->kind.len, "name",
                         alarm->name.at, (Py_ssize_t)alarm->name.len, "line",
                         alarm->line.at, (Py_ssize_t)alarm->line.len, "text",
                         alarm->text.at, (Py_ssize_t)alarm->text.len);
}

PyObject *recorder_alarms(const struct history_alarm *alarms, uint32_t n)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list && i < n; i++) {
        PyObject *one = alarm_object(&alarms[i]);

        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

/* Alarms of a step that is not logged become a step without points. Without a writer
 * (on ranks whose steps rank 0 writes) they wait for the next logged step. */
static PyObject *write_alarms(struct recorder *recorder, PyObject *writer,
                              uint64_t number, const struct history_alarm *alarms,
                              uint32_t n)
{
    struct history_writer *to = NULL;

    if (writer != Py_None) {
        to = ext_writer((PyObject *)Py_TYPE(recorder->self), writer);
        if (!to)
            return NULL;
    }
    if (to && n > 0) {
        history_writer_begin(to, number, HISTORY_TRAIN, 0);
        for (uint32_t i = 0; i < n; i++)
            history_writer_alarm(to, &alarms[i]);
        history_writer_end(to, 0);
    }
    for (uint32_t i = 0; !to && recorder->several && recorder->watch && i < n; i++)
        parcel_alarm(&recorder->watch->owed, &alarms[i]);
    return recorder_alarms(alarms, n);
}

PyObject *recorder_judge_loss(PyObject *self, PyObject *args)
{
    struct recorder *recorder = recorder_of(self);
    const struct history_alarm *alarms;
    unsigned long long number;
    PyObject *writer;
    double loss;
    uint32_t n;

    if (!PyArg_ParseTuple(args, "OKd:judge_loss", &writer, &number, &loss))
        return NULL;
    if (!recorder->judge)
        return PyList_New(0);
    n = judge_loss(recorder->judge, number, loss, &alarms);
    return write_alarms(recorder, writer, number, alarms, n);
}

PyObject *recorder_judge_guard(PyObject *self, PyObject *args)
{
    struct recorder *recorder = recorder_of(self);
    const struct history_alarm *alarms;
    const char *what, *text;
    unsigned long long number;
    PyObject *writer;
    uint32_t n;

    if (!PyArg_ParseTuple(args, "OKss:judge_guard", &writer, &number, &what, &text))
        return NULL;
    if (!recorder->judge)
        return PyList_New(0);
    n = judge_guard(recorder->judge, number, str_of(what), str_of(text), &alarms);
    return write_alarms(recorder, writer, number, alarms, n);
}

PyObject *recorder_judge_run(PyObject *self, PyObject *args)
{
    struct recorder *recorder = recorder_of(self);
    const struct history_alarm *alarms;
    unsigned long long number;
    PyObject *writer, *object;
    const struct run *run;
    uint32_t n;

    if (!PyArg_ParseTuple(args, "OKO:judge_run", &writer, &number, &object))
        return NULL;
    run = ext_run_of((PyObject *)Py_TYPE(recorder->self), object);
    if (!run)
        return NULL;
    if (!recorder->judge)
        return PyList_New(0);
    n = judge_operation(recorder->judge, number, run, &alarms);
    return write_alarms(recorder, writer, number, alarms, n);
}

/* ---- the guard */

struct guard_scan {
    bool gradients;          /* -Inf counts; in results it may be a mask */
    unsigned long long left; /* bytes that may still be scanned in full */
    unsigned long long turn; /* selects the part of large tensors to scan */
};

/* A part of a large tensor, another one each time. */
static bool scan_part(const struct live_tensor *look, unsigned long long turn,
                      struct stats *ret_stats)
{
    struct memory memory = tensor_memory(look);
    uint64_t parts = (look->numel + GUARD_PART - 1) / GUARD_PART;
    uint64_t from = turn % parts * GUARD_PART;
    int64_t n = (int64_t)(look->numel - from), one = 1;

    if (n > GUARD_PART)
        n = GUARD_PART;
    memory.at = (const char *)memory.at + from * dtype_info(memory.dtype)->bytes;
    memory.rank = 1;
    memory.shape = &n;
    memory.strides = &one;
    return stats_memory(&memory, MEASURE_GUARD, NULL, ret_stats, NULL) == 0;
}

/* Is an element of a tensor NaN or infinite? False if it cannot be read. */
static bool scan(PyObject *tensor, struct guard_scan *guard, struct stats *ret_stats)
{
    const struct dtype_info *info;
    struct live_tensor look;
    uint64_t bytes;
    bool done;

    if (!tensor_is(tensor) || !tensor_outline(tensor, false, &look) ||
        !(look.flags & LIVE_READABLE))
        return false;
    info = dtype_info((enum dtype)look.dtype);
    if (info->kind != DTYPE_KIND_FLOAT || info->block != 1)
        return false;
    bytes = look.numel * info->bytes;
    if (bytes <= guard->left || look.numel <= GUARD_PART || !tensor_in_c_order(&look)) {
        guard->left -= bytes < guard->left ? bytes : guard->left;
        done = tensor_stats(&look, MEASURE_GUARD, ret_stats);
    } else {
        done = scan_part(&look, guard->turn, ret_stats);
    }
    return done && (ret_stats->nan + ret_stats->pos_inf > 0 ||
                    (guard->gradients && ret_stats->neg_inf > 0));
}

PyObject *recorder_guard(PyObject *self, PyObject *args)
{
    struct recorder *recorder = recorder_of(self);
    struct guard_scan guard = {0};
    uint64_t began = recorder_clock();
    PyObject *tensors, *found = NULL;
    struct stats stats;
    int gradients;

    if (!PyArg_ParseTuple(args, "O!pKK:guard", &PyList_Type, &tensors, &gradients,
                          &guard.left, &guard.turn))
        return NULL;
    if (!torch_find())
        Py_RETURN_NONE;
    guard.gradients = gradients;
    for (Py_ssize_t i = 0; !found && i < PyList_Size(tensors); i++) {
        PyObject *one = Py_NewRef(PyList_GetItem(tensors, i));

        if (gradients) {
            PyObject *gradient = PyObject_GetAttr(one, torch_find()->names[NAME_grad]);

            ext_swallow();
            Py_DECREF(one);
            one = gradient;
        }
        if (one && scan(one, &guard, &stats))
            found = Py_BuildValue("(nKKKK)", i, (unsigned long long)stats.nan,
                                  (unsigned long long)stats.pos_inf,
                                  (unsigned long long)stats.neg_inf,
                                  (unsigned long long)stats.count);
        Py_XDECREF(one);
    }
    recorder->own_ns += recorder_clock() - began;
    if (found || PyErr_Occurred())
        return found;
    Py_RETURN_NONE;
}
