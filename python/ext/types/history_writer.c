/* The type _core.HistoryWriter. */
#include "ext/types/history_types.h"

#include <string.h>

#include "base/err.h"
#include "ext/scalars.h"
#include "ext/types/answers_in.h"
#include "history/parcel.h"
#include "history/sinks/sinks.h"
#include "history/writer.h"

struct writer_object {
    PyObject_HEAD struct history_writer *writer; /* NULL: closed */
    PyObject *steps; /* kept ones, a list; NULL: not wanted */
};

struct history_writer *writer_of(PyObject *self)
{
    struct history_writer *writer = ((struct writer_object *)self)->writer;

    if (!writer)
        PyErr_SetString(PyExc_RuntimeError, "this history was closed");
    return writer;
}

/* Creates a file, continues one, or creates a history in memory. NULL: an exception is
 * set. */
static struct history_writer *open_writer(PyTypeObject *type, PyObject *run,
                                          PyObject *path, const char *how,
                                          const struct history_options *options)
{
    struct history_writer *writer = NULL;
    PyObject *bytes = NULL;
    struct err err = {0};

    if (strcmp(how, "memory") == 0) {
        writer = history_writer_memory(options, &err);
    } else if (path != Py_None && !PyUnicode_FSConverter(path, &bytes)) {
        return NULL;
    } else if (bytes && strcmp(how, "resume") == 0) {
        writer = history_writer_resume(PyBytes_AsString(bytes), options, &err);
    } else if (PyObject_TypeCheck(
                   run, (PyTypeObject *)ext_state((PyObject *)type)->run_type)) {
        writer =
            history_writer_create(bytes ? PyBytes_AsString(bytes) : NULL,
                                  answers_of(run), answers_source(run), options, &err);
    } else {
        PyErr_SetString(PyExc_TypeError, "a new history needs a Run");
    }
    Py_XDECREF(bytes);
    if (!writer && !PyErr_Occurred())
        ext_raise(&err);
    return writer;
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct history_options options = {0};
    struct history_writer *writer;
    unsigned long long limit = 0;
    PyObject *run, *path, *self;
    const char *text = "", *how = "new";

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "OO|KssII:HistoryWriter", &run, &path, &limit, &text,
                          &how, &options.rank, &options.ranks))
        return NULL;
    options.limit = limit;
    options.text = str_of(text);
    writer = open_writer(type, run, path, how, &options);
    if (!writer)
        return NULL;
    self = alloc(type, 0);
    if (self)
        ((struct writer_object *)self)->writer = writer;
    else
        history_writer_close(writer, NULL);
    return self;
}

static PyObject *get_path(PyObject *self, void *unused)
{
    struct history_writer *writer = writer_of(self);
    const char *path = writer ? history_writer_path(writer) : NULL;

    (void)unused;
    if (!writer)
        return NULL;
    return path ? PyUnicode_DecodeFSDefault(path) : Py_NewRef(Py_None);
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
    Py_CLEAR(((struct writer_object *)self)->steps);
    release(self);
    Py_DECREF(type);
}

/* replace_run(run): without the GIL, since it waits for the thread. */
static PyObject *replace_run(PyObject *self, PyObject *run)
{
    struct history_writer *writer = writer_of(self);
    PyTypeObject *type = (PyTypeObject *)ext_state((PyObject *)Py_TYPE(self))->run_type;
    const struct run *answers;
    struct source *code;
    PyThreadState *thread;
    struct err err = {0};
    int failed;

    if (!writer)
        return NULL;
    if (!PyObject_TypeCheck(run, type)) {
        PyErr_SetString(PyExc_TypeError, "replace_run() needs a Run");
        return NULL;
    }
    answers = answers_of(run);
    code = answers_source(run);
    thread = PyEval_SaveThread();
    failed = history_writer_replace_run(writer, answers, code, &err);
    PyEval_RestoreThread(thread);
    if (failed)
        return ext_raise(&err);
    Py_RETURN_NONE;
}

static PyObject *add_sink(PyObject *self, PyObject *args)
{
    struct history_writer *writer = writer_of(self);
    struct history_sink *sink = NULL;
    struct err err = {0};
    PyObject *folder, *run;
    const char *name;

    if (!writer ||
        !PyArg_ParseTuple(args, "sO&O!:add_sink", &name, PyUnicode_FSConverter, &folder,
                          ext_state((PyObject *)Py_TYPE(self))->run_type, &run))
        return NULL;
    if (str_is(str_of(name), "tensorboard"))
        sink = events_sink_open(PyBytes_AsString(folder), answers_of(run), &err);
    else if (str_is(str_of(name), "csv"))
        sink = csv_sink_open(PyBytes_AsString(folder), &err);
    else
        err_set(&err, ERR_USAGE, "no sink is called %s", name);
    Py_DECREF(folder);
    if (!sink)
        return ext_raise(&err);
    history_writer_add(writer, sink);
    Py_RETURN_NONE;
}

static PyObject *keep_steps(PyObject *self, PyObject *unused)
{
    struct writer_object *object = (struct writer_object *)self;

    (void)unused;
    if (!object->steps)
        object->steps = PyList_New(0);
    return object->steps ? Py_NewRef(Py_None) : NULL;
}

static PyObject *take_steps(PyObject *self, PyObject *unused)
{
    struct writer_object *object = (struct writer_object *)self;
    PyObject *taken = object->steps, *next = PyList_New(0);

    (void)unused;
    if (!next || !taken)
        return next;
    object->steps = next;
    return taken;
}

bool writer_keep_step(PyObject *self)
{
    struct writer_object *object = (struct writer_object *)self;
    PyObject *step;

    if (!object->writer || !object->steps)
        return true;
    step = step_object(object->writer);
    return step && list_add(object->steps, step);
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
    if (!scalars_add(writer, list) || !writer_keep_step(self))
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
    unsigned flags = 0;
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
        if (parcel_write(str_span(at, (size_t)len), (uint32_t)i, number, writer, &flags,
                         &err) < 0)
            return ext_raise(&err);
    }
    if (kind && text)
        add_alarm(writer, kind, text);
    if (!writer_keep_step(self))
        return NULL;
    history_writer_end(writer, flags);
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
        dict_number(dict, "merged", found.merged) &&
        dict_number(dict, "bytes", found.bytes) &&
        dict_number(dict, "step_bytes", found.step_bytes) &&
        dict_number(dict, "keeps", found.keeps) &&
        dict_number(dict, "disk_bytes", found.disk_bytes) &&
        dict_number(dict, "cpu_ns", found.cpu_ns) &&
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
    {"add_sink", add_sink, METH_VARARGS, "add_sink(name, folder, run)"},
    {"replace_run", replace_run, METH_O, "replace_run(run): in the file"},
    {"keep_steps", keep_steps, METH_NOARGS, "Keep steps for take_steps()."},
    {"take_steps", take_steps, METH_NOARGS, "The steps that were kept, as dicts."},
    {"scalars", scalars, METH_VARARGS, "scalars(number, phase, list): a step of them"},
    {"parcels", parcels, METH_VARARGS, "parcels(number, phase, list): a merged step"},
    {"state", state, METH_NOARGS, "Counts of written steps, and problems, as a dict."},
    {"flush", flush, METH_NOARGS, "Wait until everything is written."},
    {"close", close_file, METH_NOARGS, "Write the rest and close the file."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getters[] = {
    {"path", get_path, NULL, "for History() in this process", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, make},
    {Py_tp_getset, getters},
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
