/* The type _core.History: questions about the history in a .scope file. */
#include "ext/types/history_types.h"

#include "base/err.h"
#include "ext/types/answers_in.h"
#include "ext/types/history_rows_in.h"
#include "history/ranks.h"
#include "measure/spread.h"

struct history_object {
    PyObject_HEAD struct history *history;
};

static struct history *history_of(PyObject *self)
{
    return ((struct history_object *)self)->history;
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct history *history;
    struct err err = {0};
    PyObject *path, *self;

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O&:History", PyUnicode_FSConverter, &path))
        return NULL;
    history = history_open(PyBytes_AsString(path), NULL, &err);
    Py_DECREF(path);
    if (!history)
        return ext_raise(&err);
    self = alloc(type, 0);
    if (self)
        ((struct history_object *)self)->history = history;
    else
        history_close(history);
    return self;
}

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    history_close(history_of(self));
    release(self);
    Py_DECREF(type);
}

/* --- rows as dicts */

static bool fill_step(PyObject *dict, const void *row)
{
    const struct history_step *step = row;

    return dict_number(dict, "first", step->first) &&
           dict_number(dict, "last", step->last) &&
           dict_number(dict, "merged", step->merged) &&
           dict_number(dict, "wall_ns", step->wall_ns) &&
           dict_number(dict, "dropped", step->dropped);
}

/* edges: n + 1 of the linear bins; counts: n. */
static bool fill_bins(PyObject *dict, const struct spread *spread)
{
    PyObject *edges = PyList_New(0), *counts = PyList_New(0);
    double low = 0, high = 0;
    bool good = edges && counts;

    for (uint32_t b = 0; good && b < spread->n_linear; b++) {
        spread_linear_range(spread, b, &low, &high);
        good = list_add(edges, PyFloat_FromDouble(low)) &&
               list_add(counts, PyLong_FromUnsignedLongLong(spread->linear[b]));
    }
    if (good && spread->n_linear > 0)
        good = list_add(edges, PyFloat_FromDouble(high));
    return dict_put(dict, "edges", edges) && dict_put(dict, "counts", counts) && good &&
           dict_number(dict, "counted", spread->counted) &&
           dict_number(dict, "of", spread->of);
}

static bool fill_histogram(PyObject *dict, struct str packed)
{
    struct spread spread = {0};
    PyObject *inner;
    bool good;

    if (packed.len == 0 ||
        spread_unpack(bytes_of(packed.at, packed.len), &spread, NULL) < 0)
        return dict_put(dict, "histogram", Py_NewRef(Py_None));
    inner = PyDict_New();
    good = inner && fill_bins(inner, &spread);
    spread_release(&spread);
    return dict_put(dict, "histogram", inner) && good;
}

static bool fill_sample(PyObject *dict, const void *row)
{
    const struct history_sample *sample = row;

    return fill_step(dict, &sample->step) && dict_stats(dict, &sample->point.stats) &&
           dict_real(dict, "ratio",
                     history_number_mean(&sample->point.extra[EXTRA_RATIO])) &&
           dict_real(dict, "dead",
                     history_number_mean(&sample->point.extra[EXTRA_DEAD])) &&
           dict_real(dict, "saturated",
                     history_number_mean(&sample->point.extra[EXTRA_SATURATED])) &&
           dict_number(dict, "units", sample->point.units) &&
           fill_histogram(dict, sample->point.histogram);
}

static bool fill_scalar(PyObject *dict, const void *row)
{
    const struct history_scalar_sample *sample = row;
    const struct history_number *number = &sample->scalar.number;

    return fill_step(dict, &sample->step) &&
           dict_real(dict, "value", sample->scalar.last) &&
           dict_real(dict, "mean", history_number_mean(number)) &&
           dict_real(dict, "min", number->min) && dict_real(dict, "max", number->max);
}

static bool fill_rank_alarm(PyObject *dict, const void *row)
{
    const struct history_alarm *alarm = row;

    return dict_alarm(dict, row) && dict_number(dict, "rank", alarm->rank);
}

/* A list of dicts for n rows; releases their arena. */
static PyObject *rows_object(const void *rows, uint32_t n, size_t size,
                             bool (*fill)(PyObject *dict, const void *row),
                             struct arena *arena)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list && i < n; i++) {
        PyObject *dict = PyDict_New();
        bool good = dict && fill(dict, (const char *)rows + i * size);

        if (!list_add(list, dict) || !good)
            Py_CLEAR(list);
    }
    arena_release(arena);
    return list;
}

static PyObject *failed(struct arena *arena, const struct err *err)
{
    arena_release(arena);
    return ext_raise(err);
}

/* --- methods */

static PyObject *series(PyObject *self, PyObject *unused)
{
    struct history_series *rows;
    struct err err = {0};
    struct arena arena;
    uint32_t n;

    (void)unused;
    arena_init(&arena, 0);
    if (history_read_series(history_of(self), &arena, &rows, &n, &err) < 0)
        return failed(&arena, &err);
    return rows_object(rows, n, sizeof *rows, dict_series, &arena);
}

static PyObject *names(PyObject *self, PyObject *unused)
{
    PyObject *list;
    struct err err = {0};
    struct arena arena;
    struct str *rows;
    uint32_t n;

    (void)unused;
    arena_init(&arena, 0);
    if (history_read_names(history_of(self), &arena, &rows, &n, &err) < 0)
        return failed(&arena, &err);
    list = PyList_New(0);
    for (uint32_t i = 0; list && i < n; i++)
        if (!list_add(list, text_object(rows[i])))
            Py_CLEAR(list);
    arena_release(&arena);
    return list;
}

static PyObject *steps(PyObject *self, PyObject *args)
{
    struct history_range range = {0};
    struct history_step *rows;
    struct err err = {0};
    struct arena arena;
    uint32_t n;
    int phase;

    if (!PyArg_ParseTuple(args, "i:steps", &phase))
        return NULL;
    range.phase = phase ? HISTORY_EVAL : HISTORY_TRAIN;
    arena_init(&arena, 0);
    if (history_read_steps(history_of(self), &range, &arena, &rows, &n, &err) < 0)
        return failed(&arena, &err);
    return rows_object(rows, n, sizeof *rows, fill_step, &arena);
}

static PyObject *points(PyObject *self, PyObject *args)
{
    struct history_wanted wanted = {0};
    struct history_sample *rows;
    struct err err = {0};
    struct arena arena;
    int phase, histograms = 0;
    uint32_t n;

    if (!PyArg_ParseTuple(args, "Ii|pI:points", &wanted.series, &phase, &histograms,
                          &wanted.most))
        return NULL;
    wanted.range.phase = phase ? HISTORY_EVAL : HISTORY_TRAIN;
    wanted.histograms = histograms;
    arena_init(&arena, 0);
    if (history_read_points(history_of(self), &wanted, &arena, &rows, &n, &err) < 0)
        return failed(&arena, &err);
    return rows_object(rows, n, sizeof *rows, fill_sample, &arena);
}

static PyObject *scalars(PyObject *self, PyObject *args)
{
    struct history_wanted wanted = {0};
    struct history_scalar_sample *rows;
    struct err err = {0};
    struct arena arena;
    uint32_t n;
    int phase;

    if (!PyArg_ParseTuple(args, "Ii:scalars", &wanted.series, &phase))
        return NULL;
    wanted.range.phase = phase ? HISTORY_EVAL : HISTORY_TRAIN;
    arena_init(&arena, 0);
    if (history_read_scalars(history_of(self), &wanted, &arena, &rows, &n, &err) < 0)
        return failed(&arena, &err);
    return rows_object(rows, n, sizeof *rows, fill_scalar, &arena);
}

static PyObject *alarms(PyObject *self, PyObject *unused)
{
    struct history_alarm *rows;
    struct err err = {0};
    struct arena arena;
    uint32_t n;

    (void)unused;
    arena_init(&arena, 0);
    if (history_read_alarms(history_of(self), 0, UINT32_MAX, &arena, &rows, &n, &err) <
        0)
        return failed(&arena, &err);
    return rows_object(
        rows, n, sizeof *rows,
        history_ranks_of(history_of(self)) ? fill_rank_alarm : dict_alarm, &arena);
}

static PyObject *save(PyObject *self, PyObject *path)
{
    PyThreadState *thread;
    struct err err = {0};
    PyObject *bytes;
    int failed;

    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    thread = PyEval_SaveThread();
    failed = history_copy(history_of(self), PyBytes_AsString(bytes), &err);
    PyEval_RestoreThread(thread);
    Py_DECREF(bytes);
    return failed ? ext_raise(&err) : Py_NewRef(Py_None);
}

static PyObject *ranks(PyObject *self, PyObject *unused)
{
    const struct history_ranks *all = history_ranks_of(history_of(self));
    PyObject *list;

    (void)unused;
    if (!all)
        Py_RETURN_NONE;
    list = PyList_New(0);
    for (uint32_t i = 0; list && i < history_ranks_count(all); i++)
        if (!list_add(list, PyLong_FromUnsignedLongLong(history_ranks_number(all, i))))
            Py_CLEAR(list);
    return list;
}

static PyMethodDef methods[] = {
    {"series", series, METH_NOARGS, "All series."},
    {"names", names, METH_NOARGS, "The names of scalars."},
    {"steps", steps, METH_VARARGS, "steps(phase): the logged steps"},
    {"points", points, METH_VARARGS, "points(series, phase, histograms=False, most=0)"},
    {"scalars", scalars, METH_VARARGS, "scalars(name, phase): a scalar over steps"},
    {"alarms", alarms, METH_NOARGS, "All alarms."},
    {"save", save, METH_O, "save(path): copies the file"},
    {"ranks", ranks, METH_NOARGS, "The ranks in a folder, or None."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec history_spec = {
    .name = "torchoscope._core.History",
    .basicsize = sizeof(struct history_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
