/* The type _core.HistoryWriter. */
#include "ext/types/history_types.h"

#include "base/err.h"
#include "ext/scalars.h"
#include "ext/types/answers_in.h"
#include "history/parcel.h"
#include "history/writer.h"

struct writer_object {
    PyObject_HEAD struct history_writer *writer; /* NULL: closed */
};

struct history_writer *writer_of(PyObject *self)
{
    struct history_writer *writer = ((struct writer_object *)self)->writer;

    if (!writer)
        PyErr_SetString(PyExc_RuntimeError, "this history was closed");
    return writer;
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct history_options options = {0};
    struct history_writer *writer;
    unsigned long long limit = 0;
    struct err err = {0};
    PyObject *run, *path, *self;
    const char *text = "";

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!O&|KsII:HistoryWriter",
                          ext_state((PyObject *)type)->run_type, &run,
                          PyUnicode_FSConverter, &path, &limit, &text, &options.rank,
                          &options.ranks))
        return NULL;
    options.limit = limit;
    options.text = str_of(text);
    writer = history_writer_create(PyBytes_AsString(path), answers_of(run),
                                   answers_source(run), &options, &err);
    Py_DECREF(path);
    if (!writer)
        return ext_raise(&err);
    self = alloc(type, 0);
    if (self)
        ((struct writer_object *)self)->writer = writer;
    else
        history_writer_close(writer, &err);
    return self;
}

/* Without the GIL: it waits for the disk. */
static int finish(PyObject *self, struct err *err)
{
    struct history_writer *writer = ((struct writer_object *)self)->writer;
    PyThreadState *thread;
    int failed = 0;

    ((struct writer_object *)self)->writer = NULL;
    if (!writer)
        return 0;
    thread = PyEval_SaveThread();
    failed = history_writer_close(writer, err);
    PyEval_RestoreThread(thread);
    return failed;
}

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    struct err err = {0};

    finish(self, &err);
    release(self);
    Py_DECREF(type);
}

static PyObject *scalars(PyObject *self, PyObject *args)
{
    struct history_writer *writer = writer_of(self);
    unsigned long long number;
    PyObject *list;
    int phase;

    if (!writer ||
        !PyArg_ParseTuple(args, "KiO!:scalars", &number, &phase, &PyList_Type, &list))
        return NULL;
    history_writer_begin(writer, number, phase ? HISTORY_EVAL : HISTORY_TRAIN, 0);
    if (!scalars_add(writer, list))
        return NULL;
    history_writer_end(writer, 0);
    Py_RETURN_NONE;
}

/* An alarm about the current step as a whole. */
static void add_alarm(struct history_writer *writer, const char *kind, const char *text)
{
    struct history_alarm alarm = {.place = HISTORY_NONE,
                                  .severity = SEVERITY_ALARM,
                                  .kind = str_of(kind),
                                  .text = str_of(text)};

    stats_init(&alarm.stats, DTYPE_FLOAT32);
    history_writer_alarm(writer, &alarm);
}

static PyObject *parcels(PyObject *self, PyObject *args)
{
    struct history_writer *writer = writer_of(self);
    const char *kind = NULL, *text = NULL;
    unsigned long long number;
    struct err err = {0};
    PyObject *list;
    int phase;

    if (!writer || !PyArg_ParseTuple(args, "KiO!|ss:parcels", &number, &phase,
                                     &PyList_Type, &list, &kind, &text))
        return NULL;
    history_writer_begin(writer, number, phase ? HISTORY_EVAL : HISTORY_TRAIN, 0);
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
        char *at = NULL;
        Py_ssize_t len = 0;

        if (PyBytes_AsStringAndSize(PyList_GetItem(list, i), &at, &len) < 0)
            return NULL;
        if (parcel_write(str_span(at, (size_t)len), writer, &err) < 0)
            return ext_raise(&err);
    }
    if (kind && text)
        add_alarm(writer, kind, text);
    history_writer_end(writer, 0);
    Py_RETURN_NONE;
}

static PyObject *state(PyObject *self, PyObject *unused)
{
    struct history_writer *writer = writer_of(self);
    struct history_state found;
    PyObject *dict;

    (void)unused;
    if (!writer)
        return NULL;
    history_writer_state(writer, &found);
    dict = PyDict_New();
    if (dict && dict_number(dict, "written", found.written) &&
        dict_number(dict, "dropped", found.dropped) &&
        dict_number(dict, "bytes", found.bytes) &&
        dict_number(dict, "step_bytes", found.step_bytes) &&
        dict_text(dict, "problem", str_of(found.problem)))
        return dict;
    Py_XDECREF(dict);
    return NULL;
}

static PyObject *flush(PyObject *self, PyObject *unused)
{
    struct history_writer *writer = writer_of(self);
    PyThreadState *thread;

    (void)unused;
    if (!writer)
        return NULL;
    thread = PyEval_SaveThread();
    history_writer_flush(writer);
    PyEval_RestoreThread(thread);
    Py_RETURN_NONE;
}

static PyObject *close_file(PyObject *self, PyObject *unused)
{
    struct err err = {0};

    (void)unused;
    if (finish(self, &err) < 0)
        return ext_raise(&err);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"scalars", scalars, METH_VARARGS, "scalars(number, phase, list): a step of them"},
    {"parcels", parcels, METH_VARARGS, "parcels(number, phase, list): a merged step"},
    {"state", state, METH_NOARGS, "What was written, and what went wrong, as a dict."},
    {"flush", flush, METH_NOARGS, "Wait until everything is written."},
    {"close", close_file, METH_NOARGS, "Write the rest and close the file."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec writer_spec = {
    .name = "torchoscope._core.HistoryWriter",
    .basicsize = sizeof(struct writer_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
