/* answers_dict.c - helpers for dicts and lists, and a JSON sink that builds them from
 * the output of export/. */
#include "ext/types/answers_in.h"

#include "export/export.h"

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

/* --- the sink */

/* Stores a value in the innermost open dict or list, or as the answer; steals the
 * reference. */
static void put(struct json *json, const char *key, PyObject *value)
{
    struct dicts *dicts = json->user;
    struct str name = json_take_key(json, key);
    PyObject *into = NULL, *text = NULL;
    int failed = 0;

    if (!dicts->failed && dicts->depth > 0)
        into = dicts->open[dicts->depth - 1];
    if (dicts->failed || !value) {
        failed = -1;
    } else if (!into) {
        dicts->answer = Py_NewRef(value);
    } else if (name.at) {
        text = text_object(name);
        if (text)
            PyUnicode_InternInPlace(&text); /* many dicts share the same few keys */
        failed = text ? PyDict_SetItem(into, text, value) : -1;
    } else {
        failed = PyList_Append(into, value);
    }
    dicts->failed = failed < 0;
    Py_XDECREF(text);
    Py_XDECREF(value);
}

/* Opens a dict or list. Its container owns it. */
static void put_open(struct json *json, const char *key, char kind)
{
    struct dicts *dicts = json->user;
    PyObject *value = NULL;

    if (!dicts->failed && dicts->depth < DICTS_DEPTH)
        value = kind == '{' ? PyDict_New() : PyList_New(0);
    else if (!dicts->failed)
        PyErr_SetString(PyExc_RecursionError, "an answer is too deep");
    put(json, key, value);
    if (dicts->depth < DICTS_DEPTH)
        dicts->open[dicts->depth] = dicts->failed ? NULL : value;
    dicts->depth++;
}

static void put_end(struct json *json, char kind)
{
    (void)kind;
    ((struct dicts *)json->user)->depth--;
}

static void put_null(struct json *json, const char *key)
{
    put(json, key, Py_NewRef(Py_None));
}

static void put_bool(struct json *json, const char *key, bool value)
{
    put(json, key, PyBool_FromLong(value));
}

static void put_i64(struct json *json, const char *key, int64_t value)
{
    put(json, key, PyLong_FromLongLong(value));
}

static void put_u64(struct json *json, const char *key, uint64_t value)
{
    put(json, key, PyLong_FromUnsignedLongLong(value));
}

static void put_real(struct json *json, const char *key, double value)
{
    put(json, key, PyFloat_FromDouble(value));
}

static void put_str(struct json *json, const char *key, struct str value)
{
    put(json, key, text_object(value));
}

static const struct json_sink sink = {
    .begin = put_open,
    .end = put_end,
    .null = put_null,
    .boolean = put_bool,
    .i64 = put_i64,
    .u64 = put_u64,
    .real = put_real,
    .str = put_str,
};

void dicts_begin(struct dicts *dicts)
{
    dicts->json = (struct json){.sink = &sink, .user = dicts};
    dicts->answer = NULL;
    dicts->depth = 0;
    dicts->failed = false;
}

PyObject *dicts_end(struct dicts *dicts)
{
    if (dicts->failed)
        Py_CLEAR(dicts->answer);
    return dicts->answer;
}

PyObject *answers_stats(const struct stats *stats, enum dtype dtype,
                        const int64_t *shape, int rank)
{
    struct dicts dicts;

    dicts_begin(&dicts);
    export_numbers(&dicts.json, stats, dtype, shape, rank);
    return dicts_end(&dicts);
}
