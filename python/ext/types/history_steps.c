/* A step of training as a dict, for Python callbacks. */
#include <stdlib.h>

#include "base/err.h"
#include "ext/types/answers_in.h"
#include "ext/types/history_rows_in.h"
#include "ext/types/history_types.h"
#include "history/writer.h"
#include "measure/spread.h"

/* A sink whose steps are dicts. After a failure it does nothing more. */
struct dict_sink {
    struct history_sink base;
    PyObject *step, *points, *scalars, *alarms; /* the last three are in `step` */
    bool failed;                                /* an exception is set */
};

static struct dict_sink *dicts_of(struct history_sink *sink)
{
    return (struct dict_sink *)sink;
}

/* An empty container in the step; NULL: an exception is set. */
static PyObject *add_part(struct dict_sink *sink, const char *key, PyObject *part)
{
    return part && dict_put(sink->step, key, part) ? part : NULL;
}

static void begin_step(struct history_sink *base, const struct history_step *step)
{
    struct dict_sink *sink = dicts_of(base);

    sink->step = PyDict_New();
    if (sink->step) {
        sink->scalars = add_part(sink, "scalars", PyDict_New());
        sink->points = add_part(sink, "points", PyList_New(0));
        sink->alarms = add_part(sink, "alarms", PyList_New(0));
    }
    sink->failed =
        !sink->scalars || !sink->points || !sink->alarms ||
        !dict_number(sink->step, "number", step->first) ||
        !dict_text(sink->step, "phase",
                   step->phase == HISTORY_EVAL ? STR("eval") : STR("train")) ||
        !dict_real(sink->step, "time", (double)step->wall_ns / 1e9);
}

/* The histogram stays packed until it is requested. */
static bool fill_point(PyObject *dict, const struct history_series *series,
                       const struct history_point *point)
{
    struct str packed = point->histogram;
    struct buf tag = BUF_INIT;
    bool good;

    history_series_tag(series, &tag);
    good = dict_text(dict, "tag", buf_span(&tag)) && dict_series(dict, series) &&
           dict_stats(dict, &point->stats) &&
           dict_real(dict, "ratio", history_number_mean(&point->extra[EXTRA_RATIO])) &&
           dict_put(dict, "histogram",
                    PyBytes_FromStringAndSize(packed.at, (Py_ssize_t)packed.len));
    buf_release(&tag);
    return good;
}

static void add_point(struct history_sink *base, const struct history_series *series,
                      const struct history_point *point)
{
    struct dict_sink *sink = dicts_of(base);
    PyObject *dict = sink->failed ? NULL : PyDict_New();
    bool good;

    if (sink->failed)
        return;
    good = dict && fill_point(dict, series, point);
    sink->failed = !list_add(sink->points, dict) || !good;
}

static void add_scalar(struct history_sink *base, struct str name,
                       const struct history_scalar *scalar)
{
    struct dict_sink *sink = dicts_of(base);
    PyObject *key, *value;

    if (sink->failed)
        return;
    key = text_object(name);
    value = PyFloat_FromDouble(scalar->last);
    sink->failed = !key || !value || PyDict_SetItem(sink->scalars, key, value) < 0;
    Py_XDECREF(key);
    Py_XDECREF(value);
}

static void add_alarm(struct history_sink *base, const struct history_alarm *alarm)
{
    struct dict_sink *sink = dicts_of(base);
    PyObject *dict = sink->failed ? NULL : PyDict_New();
    bool good;

    if (sink->failed)
        return;
    good = dict && dict_alarm(dict, alarm);
    sink->failed = !list_add(sink->alarms, dict) || !good;
}

static int end_step(struct history_sink *base, struct err *err)
{
    if (dicts_of(base)->failed)
        return err_set(err, ERR_LIMIT, "an exception of Python");
    return 0;
}

static const struct history_sink_kind dict_kind = {.name = "python",
                                                   .begin = begin_step,
                                                   .point = add_point,
                                                   .scalar = add_scalar,
                                                   .alarm = add_alarm,
                                                   .end = end_step};

PyObject *step_object(struct history_writer *writer)
{
    struct dict_sink sink = {.base.kind = &dict_kind};
    struct err err = {0};

    if (history_writer_show(writer, &sink.base, &err) < 0) {
        Py_CLEAR(sink.step);
        return PyErr_Occurred() ? NULL : ext_raise(&err);
    }
    return sink.step ? sink.step : Py_NewRef(Py_None);
}

/* --- histograms */

static PyObject *bins_object(const struct spread *spread, uint32_t most)
{
    double *edges = calloc(2 * (size_t)most + 1, sizeof *edges);
    double *counts = edges ? edges + most + 1 : NULL;
    PyObject *dict = PyDict_New(), *limits = PyList_New(0), *numbers = PyList_New(0);
    uint32_t n = edges ? spread_bins(spread, most, edges, counts) : 0;
    bool good = edges && limits && numbers;

    for (uint32_t b = 0; good && b < n; b++)
        good = list_add(limits, PyFloat_FromDouble(edges[b])) &&
               list_add(numbers, PyLong_FromDouble(counts[b]));
    if (good && n > 0)
        good = list_add(limits, PyFloat_FromDouble(edges[n]));
    free(edges);
    good = dict && dict_put(dict, "edges", limits) &&
           dict_put(dict, "counts", numbers) &&
           dict_number(dict, "counted", spread->counted) &&
           dict_number(dict, "of", spread->of) && good;
    if (good)
        return dict;
    Py_XDECREF(dict);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

PyObject *history_bins(PyObject *module, PyObject *args)
{
    struct spread spread = {0};
    struct err err = {0};
    PyObject *answer;
    const char *at;
    Py_ssize_t n;
    unsigned most;

    (void)module;
    if (!PyArg_ParseTuple(args, "y#I:bins", &at, &n, &most))
        return NULL;
    if (n == 0)
        Py_RETURN_NONE;
    if (spread_unpack(bytes_of(at, (size_t)n), &spread, &err) < 0)
        return ext_raise(&err);
    answer = bins_object(&spread, most < 2 ? 2 : most > 16384 ? 16384 : most);
    spread_release(&spread);
    return answer;
}

PyObject *history_places(PyObject *module, PyObject *n)
{
    uint64_t *places, numel = PyLong_AsUnsignedLongLong(n);
    PyObject *bytes;

    (void)module;
    if (PyErr_Occurred())
        return NULL;
    places = malloc(SPREAD_SAMPLE * sizeof *places);
    if (!places)
        return PyErr_NoMemory();
    numel = spread_places(numel, places);
    bytes = PyBytes_FromStringAndSize((const char *)places,
                                      (Py_ssize_t)(numel * sizeof *places));
    free(places);
    return bytes;
}
