/* model_ask.c - methods of _core.Model: one place in full, values, names. */
#include "ext/types/model_in.h"

#include <string.h>

#include "base/base.h"
#include "export/export.h"
#include "ext/types/answers_in.h"
#include "session/numbers.h"

#define MOST_QUANTILES 64
#define MOST_BINS      10000u

/* Finds a place by name or number; NO_PLACE: an exception is set. */
static uint32_t find_place(const struct session *session, PyObject *name)
{
    struct err err = {0};
    unsigned long number;
    const char *text;
    uint32_t place;
    Py_ssize_t len;

    if (PyLong_Check(name)) {
        number = PyLong_AsUnsignedLong(name);
        if (!PyErr_Occurred() && number < session->model->n_places)
            return (uint32_t)number;
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_KeyError, "there is no place %lu", number);
        return NO_PLACE;
    }
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_KeyError, "a name is a str, not %R", name);
        return NO_PLACE;
    }
    text = PyUnicode_AsUTF8AndSize(name, &len);
    if (!text)
        return NO_PLACE;
    if (len == 0)
        return 0;
    if (session_find(session, str_span(text, (size_t)len), &place, &err) == 0)
        return place;
    ext_raise(&err);
    return NO_PLACE;
}

/* The tensor at a place, if its values can be read; NULL and an exception if not. */
static const struct tensor *readable_tensor(const struct session *session,
                                            PyObject *name, uint32_t place)
{
    const struct tensor *tensor;
    struct err err = {0};
    const char *why = NULL;

    if (session->model->kind[place] != PLACE_TENSOR)
        return PyErr_Format(PyExc_ValueError, "%S is not a tensor", name), NULL;
    tensor = place_tensor(session->model, place);
    if (tensor_readable(session->model, tensor, &why))
        return tensor;
    err_set(&err, ERR_UNSUPPORTED, "its values cannot be read: %s", why ? why : "");
    ext_raise(&err);
    return NULL;
}

PyObject *model_stats(PyObject *self, PyObject *args)
{
    const struct session *session = model_of(self)->session;
    const struct tensor *tensor;
    struct long_work long_work;
    struct err err = {0};
    struct stats stats;
    PyObject *name;
    uint32_t place;
    int status;

    if (!PyArg_ParseTuple(args, "O", &name))
        return NULL;
    place = find_place(session, name);
    tensor = place != NO_PLACE ? readable_tensor(session, name, place) : NULL;
    if (!tensor)
        return NULL;
    long_work_begin(&long_work, views_lock(session));
    status = stats_tensor(session->model, tensor, MEASURE_FULL, &long_work.work, NULL,
                          &stats, &err);
    if (!long_work_end(&long_work))
        return NULL;
    if (status < 0)
        return ext_raise(&err);
    return answers_stats(&stats, (enum dtype)tensor->dtype,
                         tensor_shape(session->model, tensor), tensor->rank);
}

/* ---- one place in full ---- */

/* The requested measurements of a tensor's values, and the results. */
struct model_asked {
    struct numbers_wanted wanted;
    double at[MOST_QUANTILES];
    struct arena arena;
    struct stats stats;
    struct numbers numbers;
};

static bool take_quantiles(struct model_asked *asked, PyObject *quantiles)
{
    Py_ssize_t n = quantiles ? PySequence_Size(quantiles) : 0;

    if (n < 0 || n > MOST_QUANTILES || asked->wanted.bins > MOST_BINS) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "at most %d quantiles and %u bins",
                         MOST_QUANTILES, MOST_BINS);
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(quantiles, i);
        double at = item ? PyFloat_AsDouble(item) : -1;

        Py_XDECREF(item);
        if (PyErr_Occurred())
            return false;
        if (!(at >= 0 && at <= 1)) {
            PyErr_SetString(PyExc_ValueError, "a quantile is a number from 0 to 1");
            return false;
        }
        asked->at[i] = at;
    }
    asked->wanted.quantiles = asked->at;
    asked->wanted.n_quantiles = (uint32_t)n;
    return true;
}

/* Makes the requested measurements. Stores the statistics in the session, from which
 * the document reads them. */
static bool measure(struct session *session, uint32_t place, struct model_asked *asked)
{
    const struct model *model = session->model;
    struct long_work long_work;
    struct err err = {0};
    int status;

    long_work_begin(&long_work, views_lock(session));
    status = numbers_measure(model, place_tensor(model, place), &asked->wanted,
                             &asked->arena, &long_work.work, &asked->stats,
                             &asked->numbers, &err);
    if (!long_work_end(&long_work))
        return false;
    if (status == 0)
        status = session_learn(session, model->object[place], &asked->stats, &err);
    if (status < 0)
        ext_raise(&err);
    return status == 0;
}

static PyObject *show_place(struct session *session, uint32_t place,
                            struct model_asked *asked, bool measured)
{
    struct dicts dicts;

    if (measured &&
        (session->model->kind[place] != PLACE_TENSOR ||
         !tensor_readable(session->model, place_tensor(session->model, place), NULL)))
        measured = false;
    if (measured && !measure(session, place, asked))
        return NULL;
    dicts_begin(&dicts);
    export_show_json(&dicts.json, session, place, measured ? &asked->numbers : NULL,
                     NULL);
    return dicts_end(&dicts);
}

PyObject *model_show(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {"name", "measure", "quantiles", "bins", NULL};
    struct session *session = model_of(self)->session;
    PyObject *name, *quantiles = NULL, *answer = NULL;
    struct model_asked asked = {.wanted = {.bins = 0}};
    uint32_t place;
    int measured = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$pOI", (char **)(uintptr_t)names,
                                     &name, &measured, &quantiles, &asked.wanted.bins))
        return NULL;
    place = find_place(session, name);
    if (place == NO_PLACE || !take_quantiles(&asked, quantiles))
        return NULL;
    arena_init(&asked.arena, 0);
    answer = show_place(session, place, &asked, measured);
    arena_release(&asked.arena);
    return answer;
}

/* ---- values ---- */

/* torch has no elements of less than a byte: these are decoded. */
static enum dtype given_dtype(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_FLOAT4_E2M1:
    case DTYPE_FLOAT6_E2M3:
    case DTYPE_FLOAT6_E3M2:
        return DTYPE_FLOAT32;
    case DTYPE_INT4:
    case DTYPE_INT2:
        return DTYPE_INT8;
    case DTYPE_UINT4:
    case DTYPE_UINT2:
        return DTYPE_UINT8;
    default:
        return dtype;
    }
}

static void widen(enum dtype dtype, const void *at, size_t n, char *to)
{
    bool is_float = given_dtype(dtype) == DTYPE_FLOAT32;
    double values[256];

    for (size_t done = 0, now; done < n; done += now) {
        now = n - done < COUNT_OF(values) ? n - done : COUNT_OF(values);
        elements_decode(dtype, at, done, now, values);
        for (size_t i = 0; i < now; i++) {
            float value = (float)values[i];

            if (is_float)
                memcpy(to + (done + i) * sizeof value, &value, sizeof value);
            else
                to[done + i] = (char)(int)value;
        }
    }
}

static int copy_elements(const struct model *model, const struct tensor *tensor,
                         char *to, size_t size, struct work *work, struct err *err)
{
    enum dtype stored = elements_dtype((enum dtype)tensor->dtype);
    enum dtype given = given_dtype(stored);
    struct elements *elements = elements_open(model, tensor, 0, UINT64_MAX, false, err);
    const void *at;
    size_t n, done = 0;
    int more = elements ? 1 : -1;

    while (more > 0) {
        more = elements_next(elements, work, &at, &n, err);
        if (more <= 0)
            break;
        if (given != stored && elements_size(given, n) <= size - done)
            widen(stored, at, n, to + done);
        n = elements_size(given, n);
        if (n > size - done)
            n = size - done;
        if (given == stored)
            memcpy(to + done, at, n);
        done += n;
    }
    elements_close(elements);
    return more;
}

PyObject *model_bytes(PyObject *self, PyObject *args)
{
    const struct session *session = model_of(self)->session;
    const struct tensor *tensor;
    struct long_work long_work;
    PyObject *name, *bytes, *shape;
    struct err err = {0};
    enum dtype dtype;
    uint32_t place;
    size_t size;
    char *to;
    int status;

    if (!PyArg_ParseTuple(args, "O", &name))
        return NULL;
    place = find_place(session, name);
    tensor = place != NO_PLACE ? readable_tensor(session, name, place) : NULL;
    if (!tensor)
        return NULL;
    dtype = given_dtype(elements_dtype((enum dtype)tensor->dtype));
    size = elements_size(dtype, (size_t)tensor->numel);
    bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    to = bytes ? PyBytes_AsString(bytes) : NULL;
    if (!to)
        return NULL;
    long_work_begin(&long_work, views_lock(session));
    status = copy_elements(session->model, tensor, to, size, &long_work.work, &err);
    if (!long_work_end(&long_work) || status < 0) {
        Py_DECREF(bytes);
        return PyErr_Occurred() ? NULL : ext_raise(&err);
    }
    shape = dims_object(tensor_shape(session->model, tensor), tensor->rank);
    return Py_BuildValue("(NsN)", bytes, dtype_name(dtype), shape);
}

PyObject *model_object(PyObject *self, PyObject *name)
{
    const struct model_type *of = model_of(self);
    uint32_t place = find_place(of->session, name), number;
    PyObject *found = NULL;

    if (place == NO_PLACE)
        return NULL;
    number = of->session->model->object[place];
    if (of->live && of->session->model->kind[place] == PLACE_TENSOR)
        found = live_tensor_of(of->live, number);
    else if (of->live && of->session->model->kind[place] == PLACE_MODULE)
        found = live_module(of->live, number);
    return found ? found : Py_NewRef(Py_None);
}

PyObject *model_names(PyObject *self, PyObject *unused)
{
    const struct model *model = model_of(self)->session->model;
    PyObject *list = PyList_New(0);

    (void)unused;
    for (uint32_t place = 1; list && place < model->n_places; place++)
        if (!list_add(list, path_object(model, place)))
            Py_CLEAR(list);
    return list;
}

/* ---- attributes ---- */

static PyObject *attribute_dict(const struct attribute *one)
{
    static const char *const flags[] = {"class", "property", "item", "raised", "rest"};
    PyObject *dict = PyDict_New(), *names = PyList_New(0);

    for (unsigned i = 0; names && i < COUNT_OF(flags); i++)
        if ((one->flags & 1u << i) && !list_add(names, PyUnicode_FromString(flags[i])))
            Py_CLEAR(names);
    if (!dict || !names || !dict_text(dict, "name", one->name) ||
        !dict_text(dict, "text", one->text) ||
        !dict_put(dict, "flags", Py_NewRef(names)) ||
        (one->handle != NO_ATTRIBUTE && !dict_number(dict, "handle", one->handle)) ||
        (one->place != NO_PLACE && !dict_number(dict, "place", one->place)))
        Py_CLEAR(dict);
    Py_XDECREF(names);
    return dict;
}

PyObject *model_attributes(PyObject *self, PyObject *of)
{
    const struct session *session = model_of(self)->session;
    struct attribute_of what = {NO_PLACE, NO_ATTRIBUTE};
    struct attribute *found = NULL;
    struct err err = {0};
    struct arena arena;
    PyObject *list = NULL;
    uint32_t n = 0;

    if (PyTuple_Check(of)) {
        if (!PyArg_ParseTuple(of, "I", &what.attribute))
            return NULL;
    } else {
        what.place = find_place(session, of);
        if (what.place == NO_PLACE)
            return NULL;
    }
    arena_init(&arena, 0);
    if (source_attributes(session->model->source, &what, &arena, &found, &n, &err) < 0)
        ext_raise(&err);
    else
        list = PyList_New(0);
    for (uint32_t i = 0; list && i < n; i++)
        if (!list_add(list, attribute_dict(&found[i])))
            Py_CLEAR(list);
    arena_release(&arena);
    return list;
}

PyObject *model_forget(PyObject *self, PyObject *unused)
{
    (void)unused;
    source_forget(model_of(self)->session->model->source);
    Py_RETURN_NONE;
}
