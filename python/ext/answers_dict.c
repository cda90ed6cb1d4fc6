/* What a run holds, as dicts with the names of docs/json.md. */
#include <math.h>
#include <string.h>

#include "ext/answers_in.h"

bool dict_put(PyObject *dict, const char *key, PyObject *value)
{
    int failed = value ? PyDict_SetItemString(dict, key, value) : -1;

    Py_XDECREF(value);
    return failed == 0;
}

PyObject *text_object(struct str text)
{
    return PyUnicode_DecodeUTF8(text.at ? text.at : "", (Py_ssize_t)text.len,
                                "replace");
}

bool dict_text(PyObject *dict, const char *key, struct str text)
{
    return dict_put(dict, key, text_object(text));
}

bool dict_number(PyObject *dict, const char *key, uint64_t number)
{
    return dict_put(dict, key, PyLong_FromUnsignedLongLong(number));
}

bool list_add(PyObject *list, PyObject *item)
{
    int failed = item ? PyList_Append(list, item) : -1;

    Py_XDECREF(item);
    return failed == 0;
}

PyObject *path_object(const struct model *model, uint32_t place)
{
    struct buf path = BUF_INIT;
    PyObject *name;

    if (place < model->n_places)
        place_path(model, place, &path);
    name = text_object(buf_span(&path));
    buf_release(&path);
    return name;
}

PyObject *dims_object(const int64_t *dims, int n)
{
    PyObject *list = PyList_New(0);

    for (int i = 0; list && i < n; i++)
        if (!list_add(list, PyLong_FromLongLong(dims[i])))
            Py_CLEAR(list);
    return list;
}

/* --- statistics */

/* Where element `at` in C order stands. */
static PyObject *indices_of(uint64_t at, int rank, const int64_t *shape)
{
    int64_t indices[256];

    for (int i = rank - 1; i >= 0; i--) {
        uint64_t size = shape[i] > 0 ? (uint64_t)shape[i] : 1;

        indices[i] = (int64_t)(at % size);
        at /= size;
    }
    return dims_object(indices, rank);
}

static PyObject *bound_object(const struct stats *stats, double real, int64_t integer)
{
    if (stats->kind == STATS_INT)
        return PyLong_FromLongLong(integer);
    if (stats->kind == STATS_UINT)
        return PyLong_FromUnsignedLongLong((uint64_t)integer);
    return PyFloat_FromDouble(real);
}

static bool put_finite(PyObject *dict, const struct stats *stats, int rank,
                       const int64_t *shape)
{
    uint64_t finite = stats_finite(stats);

    /* Who only counts what is not finite has no mean. */
    if (finite == 0 || isnan(stats->mean))
        return true;
    if (!dict_put(dict, "min", bound_object(stats, stats->min, stats->int_min)) ||
        !dict_put(dict, "max", bound_object(stats, stats->max, stats->int_max)) ||
        !dict_put(dict, "mean", PyFloat_FromDouble(stats->mean)) ||
        !dict_put(dict, "l2", PyFloat_FromDouble(stats_l2(stats))))
        return false;
    if (finite > 1 && !dict_put(dict, "std", PyFloat_FromDouble(stats_std(stats))))
        return false;
    return !shape ||
           (dict_put(dict, "min_at", indices_of(stats->min_at, rank, shape)) &&
            dict_put(dict, "max_at", indices_of(stats->max_at, rank, shape)));
}

PyObject *answers_stats(const struct stats *stats, int rank, const int64_t *shape)
{
    PyObject *dict = PyDict_New();

    if (!dict)
        return NULL;
    if (!dict_number(dict, "count", stats->count) ||
        !dict_number(dict, "nan", stats->nan) ||
        !dict_number(dict, "pos_inf", stats->pos_inf) ||
        !dict_number(dict, "neg_inf", stats->neg_inf) ||
        !dict_number(dict, "zeros", stats->zeros) ||
        !put_finite(dict, stats, rank, shape) ||
        (stats->sampled && !dict_put(dict, "sampled", PyBool_FromLong(1))))
        Py_CLEAR(dict);
    return dict;
}

/* --- values */

static const char *layout_name(unsigned layout)
{
    static const char *const names[] = {
        [LAYOUT_STRIDED] = "strided", [LAYOUT_COO] = "sparse_coo",
        [LAYOUT_CSR] = "sparse_csr",  [LAYOUT_CSC] = "sparse_csc",
        [LAYOUT_BSR] = "sparse_bsr",  [LAYOUT_BSC] = "sparse_bsc",
        [LAYOUT_NESTED] = "nested",   [LAYOUT_WRAPPED] = "wrapped",
    };

    return layout < sizeof names / sizeof *names ? names[layout] : "?";
}

static bool put_flag(PyObject *dict, const char *key, bool yes)
{
    return !yes || dict_put(dict, key, PyBool_FromLong(1));
}

static bool put_value_flags(PyObject *dict, const struct run_value *value)
{
    return dict_put(dict, "requires_grad",
                    PyBool_FromLong(value->flags & RUN_REQUIRES_GRAD)) &&
           put_flag(dict, "leaf", value->flags & RUN_LEAF) &&
           put_flag(dict, "parameter", value->flags & RUN_PARAMETER) &&
           put_flag(dict, "new_storage", value->flags & RUN_NEW_STORAGE) &&
           put_flag(dict, "inference", value->flags & RUN_INFERENCE) &&
           put_flag(dict, "kept", value->kept != RUN_NONE);
}

static bool put_value_stats(PyObject *dict, const struct run *run,
                            const struct run_value *value)
{
    if (value->stats == RUN_NONE)
        return dict_put(dict, "stats", Py_NewRef(Py_None)) &&
               (value->why == 0 || dict_text(dict, "why", run_string(run, value->why)));
    return dict_put(dict, "stats",
                    answers_stats(&run->stats[value->stats], value->rank,
                                  run->dims + value->shape)) &&
           (dtype_info((enum dtype)value->dtype)->kind != DTYPE_KIND_COMPLEX ||
            dict_text(dict, "of", STR("abs")));
}

PyObject *value_dict(const struct run *run, uint32_t number)
{
    const struct run_value *value = &run->values[number];
    PyObject *dict = PyDict_New();

    if (!dict)
        return NULL;
    if (!dict_number(dict, "value", number) ||
        !dict_put(dict, "shape", dims_object(run->dims + value->shape, value->rank)) ||
        !dict_text(dict, "dtype", str_of(dtype_name((enum dtype)value->dtype))) ||
        !dict_text(dict, "device",
                   run_string(run, value->device < run->n_devices
                                       ? run->devices[value->device]
                                       : 0)) ||
        !dict_text(dict, "layout", str_of(layout_name(value->layout))) ||
        !dict_number(dict, "numel", value->numel) ||
        !dict_number(dict, "bytes", value->bytes) || !put_value_flags(dict, value) ||
        !put_value_stats(dict, run, value))
        goto fail;
    if (value->strides != RUN_NONE &&
        !dict_put(dict, "strides",
                  dims_object(run->dims + value->strides, value->rank)))
        goto fail;
    if (value->storage != RUN_NONE && !dict_number(dict, "storage", value->storage))
        goto fail;
    if (value->class_name != 0 &&
        !dict_text(dict, "class", run_string(run, value->class_name)))
        goto fail;
    return dict;

fail:
    Py_DECREF(dict);
    return NULL;
}

/* --- calls */

static PyObject *io_dict(const struct run *run, const struct run_io *io)
{
    PyObject *dict = io->value == RUN_NONE ? PyDict_New() : value_dict(run, io->value);

    if (dict && (!dict_text(dict, "path", run_string(run, io->path)) ||
                 !put_flag(dict, "same", io->flags & RUN_IO_SAME) ||
                 !put_flag(dict, "replaced", io->flags & RUN_IO_REPLACED) ||
                 !put_flag(dict, "summed", io->flags & RUN_IO_SUMMED)))
        Py_CLEAR(dict);
    return dict;
}

static bool put_ios(PyObject *dict, const struct run *run, const struct run_call *call)
{
    static const struct {
        const char *key;
        enum run_io_kind kind;
    } lists[] = {{"inputs", RUN_IN},
                 {"outputs", RUN_OUT},
                 {"grad_inputs", RUN_GRAD_IN},
                 {"grad_outputs", RUN_GRAD_OUT}};

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        PyObject *list = PyList_New(0);

        for (uint32_t j = call->ios; list && j < call->ios + call->n_ios; j++)
            if (run->ios[j].kind == lists[i].kind &&
                !list_add(list, io_dict(run, &run->ios[j])))
                Py_CLEAR(list);
        if (!dict_put(dict, lists[i].key, list))
            return false;
    }
    return true;
}

static PyObject *call_flags(unsigned flags)
{
    static const char *const names[] = {
        "raised", "aborted",  "recomputed", "training", "grad",         "compiled",
        "fused",  "scripted", "autocast",   "direct",   "backward_gap", "light"};
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < sizeof names / sizeof *names; i++)
        if ((flags >> i & 1) && !list_add(list, PyUnicode_FromString(names[i])))
            Py_CLEAR(list);
    return list;
}

static bool put_call_times(PyObject *dict, const struct run_call *call)
{
    return dict_number(dict, "start_ns", call->start_ns) &&
           dict_number(dict, "time_ns", run_inclusive(call)) &&
           dict_number(dict, "self_ns", run_exclusive(call)) &&
           dict_number(dict, "own_ns", call->own_ns) &&
           dict_number(dict, "backward_ns", call->backward_ns) &&
           dict_number(dict, "out_bytes", call->out_bytes) &&
           dict_number(dict, "new_bytes", call->new_bytes);
}

PyObject *call_dict(const struct run *run, uint32_t number)
{
    const struct run_call *call = &run->calls[number];
    PyObject *dict = PyDict_New();

    if (!dict)
        return NULL;
    if (!dict_put(dict, "name", path_object(run->model, call->place)) ||
        !dict_text(dict, "class", place_class(run->model, call->place)) ||
        !dict_number(dict, "call", number) ||
        !dict_number(dict, "place", call->place) ||
        !dict_number(dict, "number", call->number) ||
        !dict_put(dict, "parent",
                  call->parent == RUN_NONE ? Py_NewRef(Py_None)
                                           : PyLong_FromUnsignedLong(call->parent)) ||
        !dict_number(dict, "step", call->step) ||
        !dict_number(dict, "thread", call->thread) ||
        !dict_text(dict, "line", run_string(run, call->line)) ||
        !dict_put(dict, "flags", call_flags(call->flags)) ||
        !put_call_times(dict, call) || !put_ios(dict, run, call) ||
        (call->error && !dict_text(dict, "error", run_string(run, call->error))))
        Py_CLEAR(dict);
    return dict;
}

/* --- merged calls */

static PyObject *shapes_list(const struct run *run, const struct run_merged_io *io)
{
    PyObject *list = PyList_New(0);
    const int64_t *at = run->dims + io->shapes;

    for (uint32_t i = 0; list && i < io->n_shapes; i++) {
        if (!list_add(list, dims_object(at + 1, (int)at[0])))
            Py_CLEAR(list);
        at += 1 + at[0];
    }
    return list;
}

static PyObject *merged_io_dict(const struct run *run, const struct run_merged_io *io)
{
    PyObject *dict = PyDict_New();
    PyObject *stats = io->stats == RUN_NONE
                          ? Py_NewRef(Py_None)
                          : answers_stats(&run->stats[io->stats], 0, NULL);

    if (!dict) {
        Py_XDECREF(stats);
        return NULL;
    }
    if (!dict_put(dict, "stats", stats) ||
        !dict_text(dict, "kind", str_of(run_io_name((enum run_io_kind)io->kind))) ||
        !dict_text(dict, "path", run_string(run, io->path)) ||
        !dict_put(dict, "shapes", shapes_list(run, io)))
        Py_CLEAR(dict);
    return dict;
}

PyObject *merged_dict(const struct run *run, const struct run_merged *merged)
{
    PyObject *dict = PyDict_New(), *ios = PyList_New(0);

    for (uint32_t i = 0; ios && i < merged->n_ios; i++)
        if (!list_add(ios, merged_io_dict(run, &run->merged_ios[merged->ios + i])))
            Py_CLEAR(ios);
    if (!dict) {
        Py_XDECREF(ios);
        return NULL;
    }
    if (!dict_put(dict, "ios", ios) ||
        !dict_put(dict, "name",
                  path_object(run->model, run->model->objects[merged->object].place)) ||
        !dict_number(dict, "calls", merged->calls) ||
        !dict_number(dict, "time_ns", merged->inclusive_ns) ||
        !dict_number(dict, "self_ns", merged->exclusive_ns) ||
        !dict_number(dict, "least_ns", merged->least_ns) ||
        !dict_number(dict, "most_ns", merged->most_ns) ||
        !dict_number(dict, "backward_ns", merged->backward_ns) ||
        !dict_number(dict, "out_bytes", merged->out_bytes) ||
        !dict_number(dict, "new_bytes", merged->new_bytes) ||
        !dict_put(dict, "newest",
                  merged->newest == RUN_NONE ? Py_NewRef(Py_None)
                                             : PyLong_FromUnsignedLong(merged->newest)))
        Py_CLEAR(dict);
    return dict;
}

PyObject *fact_object(const struct values *values, uint32_t id)
{
    const struct value *value = value_at(values, id);

    switch (value->kind) {
    case VALUE_BOOL:
        return PyBool_FromLong(value->integer != 0);
    case VALUE_INT:
        return PyLong_FromLongLong(value->integer);
    case VALUE_REAL:
        return PyFloat_FromDouble(value->real);
    case VALUE_NONE:
        return Py_NewRef(Py_None);
    default:
        return text_object(value_text(values, id));
    }
}
