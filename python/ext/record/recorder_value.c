/* Turns a tensor into a value: measures it once, keeps its elements if wanted, and
 * leaves it to its device if only that can read it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ext/record/ops.h"
#include "ext/record/recorder_in.h"
#include "ext/torch/torch.h"

#include "measure/elements.h"

#define ERRORS_MOST 100

void recorder_failed(struct recorder *recorder)
{
    ext_swallow();
    if (++recorder->errors != ERRORS_MOST)
        return;
    recorder->armed = false;
    if (recorder->trace)
        trace_gap(recorder->trace, RUN_GAP_ERROR, NO_OBJECT,
                  "Recording ended early: its own hooks failed %d times.", ERRORS_MOST);
}

bool recorder_keeps(struct recorder *recorder, uint32_t object, uint32_t call)
{
    uint8_t *about = &recorder->about[object];

    if (!(*about & RECORDER_KEEPS))
        return false;
    if (!(call & TRACE_LIGHT))
        return true;
    if (!(*about & RECORDER_REPORTED_KEPT))
        trace_gap(recorder->trace, RUN_GAP_LIMIT, object,
                  "values of merged calls are not kept: it has more calls than "
                  "calls= keeps");
    *about |= RECORDER_REPORTED_KEPT;
    return false;
}

/* --- devices */

/* The sample in a row. */
struct row_sample {
    PyObject *dtype; /* borrowed; NULL: there is none */
    unsigned long long of, at, n;
};

static bool row_of(PyObject *row, uint32_t *ret_value, struct stats *to,
                   struct row_sample *ret_sample)
{
    unsigned long long value, n[5], min_at, max_at;
    double min, max, mean, m2;
    int sampled = 0;

    if (!PyTuple_Check(row) ||
        !PyArg_ParseTuple(row, "KKKKKKddddKK|pOKKK", &value, &n[0], &n[1], &n[2], &n[3],
                          &n[4], &min, &max, &mean, &m2, &min_at, &max_at, &sampled,
                          &ret_sample->dtype, &ret_sample->of, &ret_sample->at,
                          &ret_sample->n))
        return false;
    stats_init(to, DTYPE_FLOAT32);
    to->count = n[0];
    to->nan = n[1];
    to->pos_inf = n[2];
    to->neg_inf = n[3];
    to->zeros = n[4];
    to->min = min;
    to->max = max;
    to->mean = mean;
    to->m2 = m2;
    to->min_at = min_at;
    to->max_at = max_at;
    to->sampled = sampled;
    *ret_value = (uint32_t)value;
    return true;
}

static void add_row(struct recorder *recorder, struct trace *trace, PyObject *row)
{
    struct row_sample sample = {0};
    struct stats stats;
    uint32_t value;

    if (!row || !row_of(row, &value, &stats, &sample)) {
        recorder_failed(recorder);
        return;
    }
    trace_value_stats(trace, value, &stats);
    if (sample.dtype && recorder->watch)
        trace_value_spread(trace, value,
                           recorder_spread_of(recorder,
                                              torch_dtype(torch_find(), sample.dtype),
                                              (const void *)(uintptr_t)sample.at,
                                              sample.n, sample.of));
}

void recorder_rows(struct recorder *recorder, struct trace *trace, PyObject *rows)
{
    Py_ssize_t n = rows ? PySequence_Size(rows) : -1;

    if (n < 0)
        recorder_failed(recorder);
    for (Py_ssize_t i = 0; trace && i < n; i++) {
        PyObject *row = PySequence_GetItem(rows, i);

        add_row(recorder, trace, row);
        Py_XDECREF(row);
    }
    if (trace) {
        trace_settle(trace);
        trace_hold(trace, false);
    }
}

void recorder_flush(struct recorder *recorder)
{
    PyObject *rows;

    if (recorder->pending == 0 || !recorder->device)
        return;
    recorder->pending = 0;
    rows = PyObject_CallMethodObjArgs(recorder->device,
                                      torch_find()->names[NAME_finish], NULL);
    recorder_rows(recorder, recorder->trace, rows);
    Py_XDECREF(rows);
}

void recorder_mark(struct recorder *recorder, enum torch_attribute what, uint32_t call)
{
    PyObject *number, *serial, *answer = NULL;

    if (!recorder->timed || !recorder->trace || call == RUN_NONE)
        return;
    number = PyLong_FromUnsignedLong(call);
    serial = PyLong_FromUnsignedLongLong(trace_serial(recorder->trace, call));
    if (number && serial)
        answer = PyObject_CallMethodObjArgs(recorder->device, torch_find()->names[what],
                                            number, serial, NULL);
    if (!answer)
        recorder_failed(recorder);
    Py_XDECREF(answer);
    Py_XDECREF(serial);
    Py_XDECREF(number);
}

void recorder_rest(struct recorder *recorder)
{
    PyObject *answer;

    if (!recorder->timed)
        return;
    answer = PyObject_CallMethodObjArgs(recorder->device,
                                        torch_find()->names[NAME_rest], NULL);
    if (!answer)
        recorder_failed(recorder);
    Py_XDECREF(answer);
}

static bool time_of(struct recorder *recorder, PyObject *row)
{
    unsigned long long call, serial, ns;
    PyObject *bytes;
    int64_t more = 0;

    if (!PyTuple_Check(row) ||
        !PyArg_ParseTuple(row, "KKKO", &call, &serial, &ns, &bytes))
        return false;
    if (bytes != Py_None)
        more = PyLong_AsLongLong(bytes);
    if (PyErr_Occurred())
        return false;
    if (recorder->trace)
        trace_device_call(recorder->trace, (uint32_t)call, serial, ns,
                          bytes != Py_None ? &more : NULL);
    return true;
}

void recorder_times(struct recorder *recorder)
{
    PyObject *rows;
    Py_ssize_t n;

    if (!recorder->timed)
        return;
    rows = PyObject_CallMethodObjArgs(recorder->device, torch_find()->names[NAME_times],
                                      NULL);
    n = rows ? PySequence_Size(rows) : -1;
    if (n < 0)
        recorder_failed(recorder);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *row = PySequence_GetItem(rows, i);

        if (!row || !time_of(recorder, row))
            recorder_failed(recorder);
        Py_XDECREF(row);
    }
    Py_XDECREF(rows);
}

static void leave_to_device(struct recorder *recorder, uint32_t value, PyObject *tensor)
{
    PyObject *number = PyLong_FromUnsignedLong(value), *answer = NULL;

    if (number)
        answer = PyObject_CallMethodObjArgs(
            recorder->device, torch_find()->names[NAME_add], number, tensor, NULL);
    if (answer)
        recorder->pending++;
    else
        recorder_failed(recorder);
    if (answer && recorder->trace && recorder->watch)
        trace_hold(recorder->trace, true);
    if (recorder->trace && !recorder->on_device)
        trace_fact_text(recorder->trace, "times", "of the host only");
    recorder->on_device = true;
    Py_XDECREF(answer);
    Py_XDECREF(number);
}

bool recorder_leaves(const struct recorder *recorder, const struct live_tensor *look)
{
    return recorder->device && (recorder->force_device || look->flags & LIVE_DEVICE);
}

/* --- values */

static uint32_t class_name(struct trace *trace, PyObject *tensor)
{
    char text[TORCH_CLASS_NAME];
    struct str name = torch_class_name(tensor, text);

    return trace_string(trace, name.at, name.len);
}

static uint8_t value_flags(struct recorder *recorder, PyObject *tensor,
                           const struct live_tensor *look)
{
    unsigned flags = 0;

    if (look->flags & LIVE_GRAD)
        flags |= RUN_REQUIRES_GRAD;
    if (look->flags & LIVE_INFERENCE)
        flags |= RUN_INFERENCE;
    if (look->flags & LIVE_LEAF)
        flags |= RUN_LEAF;
    if (live_tensor_number(recorder->live, tensor) != NO_OBJECT)
        flags |= RUN_PARAMETER;
    return (uint8_t)flags;
}

/* Adds a value with its statistics, or with the reason why there are none. */
static uint32_t enter_value(struct recorder *recorder, PyObject *tensor,
                            const struct live_tensor *look, const struct stats *stats)
{
    struct trace *trace = recorder->trace;
    bool strided = look->layout == LAYOUT_STRIDED, is_new = false;
    struct run_value value = {
        .dtype = look->dtype,
        .rank = look->rank,
        .layout = look->layout,
        .device = trace_device(trace, look->device),
        .stats = RUN_NONE,
        .kept = RUN_NONE,
        .op_value = recorder->ops ? ops_value(recorder->ops, tensor) : RUN_NONE,
        .storage = RUN_NONE,
        .numel = look->numel,
    };

    if (strided && (look->flags & (LIVE_READABLE | LIVE_DEVICE | LIVE_NO_DATA)) &&
        !(look->flags & LIVE_LOCAL))
        value.storage = seen_storage(recorder->seen, tensor, &is_new);
    value.flags = value_flags(recorder, tensor, look);
    if (is_new)
        value.flags |= RUN_NEW_STORAGE;
    if (stats && stats->sampled)
        value.flags |= RUN_SAMPLED;
    if (!(look->flags & LIVE_EXACT))
        value.class_name = class_name(trace, tensor);
    if (!stats && look->why)
        value.why = trace_string(trace, look->why, strlen(look->why));
    dtype_size((enum dtype)look->dtype, look->numel, &value.bytes);
    return trace_value(trace, &value, look->shape, strided ? look->strides : NULL,
                       stats);
}

/* Copies a tensor from its device to the host; a new reference, or NULL. */
static PyObject *on_host(PyObject *tensor)
{
    PyObject *plain =
        PyObject_CallMethodObjArgs(tensor, torch_find()->names[NAME_detach], NULL);
    PyObject *host = plain ? PyObject_CallMethod(plain, "cpu", NULL) : NULL;

    ext_swallow();
    Py_XDECREF(plain);
    return host;
}

static void keep_bytes(struct trace *trace, const struct live_tensor *look,
                       uint32_t value)
{
    size_t size = elements_size((enum dtype)look->dtype, (size_t)look->numel);
    void *copy;

    if (!(look->flags & LIVE_READABLE)) {
        trace_gap(trace, RUN_GAP_LIMIT, NO_OBJECT, "tensors like this are not kept: %s",
                  look->why ? look->why : "they cannot be read");
    } else if (size == 0 || tensor_in_c_order(look)) {
        trace_keep(trace, value, look->at, size);
    } else {
        copy = malloc(size);
        if (copy && tensor_copy(look, copy, size))
            trace_keep(trace, value, copy, size);
        free(copy);
    }
}

static void keep_value(struct recorder *recorder, PyObject *tensor,
                       const struct live_tensor *look, uint32_t value)
{
    struct live_tensor here;
    PyObject *host = NULL;

    if (value == RUN_NONE || trace_is_kept(recorder->trace, value))
        return;
    if (look->flags & LIVE_DEVICE || recorder->force_device)
        host = on_host(tensor);
    if (host && tensor_look(host, &here))
        look = &here;
    if (recorder->trace)
        keep_bytes(recorder->trace, look, value);
    Py_XDECREF(host);
}

/* Clears `seen` if the trace dropped values, because value numbers changed. */
static void follow_epoch(struct recorder *recorder)
{
    uint32_t epoch = trace_epoch(recorder->trace);

    if (epoch == recorder->epoch)
        return;
    recorder->epoch = epoch;
    seen_clear(recorder->seen);
}

/* Measures a tensor, unless its device does, and adds it; RUN_NONE on failure. */
static uint32_t new_value(struct recorder *recorder, PyObject *tensor,
                          struct live_tensor *look)
{
    bool measured = false, to_device;
    struct str spread = STR("");
    struct units units = {0};
    struct stats stats;
    uint32_t value;

    to_device = recorder_leaves(recorder, look);
    if (!to_device) {
        /* Other threads may run here; the caller holds the tensor. */
        measured = tensor_stats(look, recorder->mode, &stats);
        if (measured)
            recorder->bytes +=
                elements_size((enum dtype)look->dtype, (size_t)look->numel);
        if (!recorder->trace)
            return RUN_NONE;
        follow_epoch(recorder);
        if (measured && recorder->watch) {
            spread = recorder_spread(recorder, look);
            units = recorder_units(recorder, look, &stats);
        }
    }
    value = enter_value(recorder, tensor, look, measured ? &stats : NULL);
    if (value != RUN_NONE && spread.len > 0)
        trace_value_spread(recorder->trace, value, spread);
    if (value != RUN_NONE && units.n > 0)
        trace_value_units(recorder->trace, value, units);
    if (value != RUN_NONE && to_device && (look->flags & (LIVE_READABLE | LIVE_DEVICE)))
        leave_to_device(recorder, value, tensor);
    return value;
}

struct recorder_measured recorder_measure(struct recorder *recorder, PyObject *tensor,
                                          unsigned wants)
{
    struct recorder_measured to = {.value = RUN_NONE, .version = -1};
    bool anew = wants & RECORDER_WANTS_ANEW;
    struct live_tensor look;

    if (!recorder->trace || !tensor_look(tensor, &look) || !recorder->trace)
        return to;
    follow_epoch(recorder);
    to.version = look.version;
    to.print = tensor_print(&look);
    to.grad = look.flags & LIVE_GRAD;
    to.inner_grad = look.flags & LIVE_INNER_GRAD;
    if (!anew)
        to.value = seen_find(recorder->seen, &look, to.print);
    if (to.value == RUN_NONE) {
        to.value = new_value(recorder, tensor, &look);
        if (recorder->trace)
            seen_add(recorder->seen, tensor, &look, to.print,
                     anew ? RUN_NONE : to.value);
    }
    if (wants & RECORDER_WANTS_ELEMENTS && recorder->trace)
        keep_value(recorder, tensor, &look, to.value);
    return to;
}

uint32_t recorder_value(struct recorder *recorder, PyObject *tensor, unsigned wants)
{
    return recorder_measure(recorder, tensor, wants).value;
}
