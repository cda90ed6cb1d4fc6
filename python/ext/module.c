/* module.c - the module torchoscope._core: types, functions and exceptions. */
#include "ext/ext.h"

#include <errno.h>

#include "ext/record/record.h"
#include "ext/types/answers.h"
#include "ext/types/explore.h"
#include "ext/types/history_types.h"
#include "ext/types/model_type.h"
#include "ext/types/server_type.h"
#include "ext/types/types.h"
#include "ext/types/views.h"

#include "base/clock.h"
#include "base/err.h"

int ext_swallow(void)
{
    if (!PyErr_Occurred())
        return 0;
    /* Ctrl-C while our code ran was meant for the user's code: raise it again. */
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
        PyErr_SetInterrupt();
    PyErr_Clear();
    return 1;
}

/* torchoscope.Error, or its base class if it is not defined yet. A new reference. */
static PyObject *own_error(void)
{
    PyObject *module = PyImport_ImportModule("torchoscope._core");
    PyObject *type = module ? PyObject_GetAttrString(module, "Error") : NULL;

    Py_XDECREF(module);
    ext_swallow();
    return type ? type : Py_NewRef(PyExc_RuntimeError);
}

static PyObject *io_error(int number)
{
    if (number == ENOENT || number == ENOTDIR)
        return Py_NewRef(PyExc_FileNotFoundError);
    if (number == EACCES || number == EPERM)
        return Py_NewRef(PyExc_PermissionError);
    return Py_NewRef(PyExc_OSError);
}

static PyObject *exception_for(const struct err *err)
{
    switch (err->code) {
    case ERR_IO:
        return io_error(err->system);
    case ERR_NOT_FOUND:
        return Py_NewRef(PyExc_KeyError);
    case ERR_USAGE:
        return Py_NewRef(PyExc_ValueError);
    case ERR_LIMIT:
        return Py_NewRef(PyExc_MemoryError);
    case ERR_CANCELLED:
        return Py_NewRef(PyExc_KeyboardInterrupt);
    default:
        return own_error();
    }
}

PyObject *ext_raise(const struct err *err)
{
    PyObject *type = exception_for(err);

    PyErr_SetString(type, err->text);
    Py_DECREF(type);
    return NULL;
}

struct ext_state *ext_state(PyObject *module_or_type)
{
    if (PyType_Check(module_or_type))
        return PyType_GetModuleState((PyTypeObject *)module_or_type);
    return PyModule_GetState(module_or_type);
}

PyObject *ext_run(PyObject *module_or_type, struct run *run)
{
    return answers_run(ext_state(module_or_type)->run_type, run);
}

const struct run *ext_run_of(PyObject *module_or_type, PyObject *object)
{
    if (Py_TYPE(object) == (PyTypeObject *)ext_state(module_or_type)->run_type)
        return answers_of(object);
    PyErr_SetString(PyExc_TypeError, "not a Run");
    return NULL;
}

struct history_writer *ext_writer(PyObject *module_or_type, PyObject *object)
{
    PyObject *type = ext_state(module_or_type)->writer_type;

    if (Py_TYPE(object) == (PyTypeObject *)type)
        return writer_of(object);
    PyErr_SetString(PyExc_TypeError, "not a HistoryWriter");
    return NULL;
}

bool ext_writer_keep_step(PyObject *writer)
{
    return writer_keep_step(writer);
}

static PyObject *add_type(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);

    if (type && PyModule_AddType(module, (PyTypeObject *)type) < 0)
        Py_CLEAR(type);
    return type;
}

static int add_error(PyObject *module)
{
    PyObject *error = PyErr_NewExceptionWithDoc(
        "torchoscope.Error", "What is wrong with a file or a tensor, in one sentence.",
        PyExc_RuntimeError, NULL);
    int status = error ? PyModule_AddObjectRef(module, "Error", error) : -1;

    Py_XDECREF(error);
    return status;
}

static int fill_module(PyObject *module)
{
    struct ext_state *state = ext_state(module);
    PyObject *recorder_type, *budget_type, *hub_type, *history_type, *server_type;

    state->run_type = add_type(module, &run_spec);
    recorder_type = add_type(module, &recorder_spec);
    state->model_type = add_type(module, &model_spec);
    budget_type = add_type(module, &budget_spec);
    hub_type = add_type(module, &hub_spec);
    state->writer_type = add_type(module, &writer_spec);
    history_type = add_type(module, &history_spec);
    server_type = add_type(module, &server_spec);
    Py_XDECREF(recorder_type); /* the module holds these */
    Py_XDECREF(budget_type);
    Py_XDECREF(hub_type);
    Py_XDECREF(history_type);
    Py_XDECREF(server_type);
    if (!state->run_type || !state->model_type || !recorder_type || !budget_type ||
        !hub_type || !state->writer_type || !history_type || !server_type ||
        PyModule_AddFunctions(module, peek_functions) < 0 ||
        PyModule_AddFunctions(module, marks_functions) < 0 ||
        PyModule_AddFunctions(module, numbers_functions) < 0 || add_error(module) < 0)
        return -1;
    return PyModule_AddStringConstant(module, "version", TORCHOSCOPE_VERSION);
}

static int visit_module(PyObject *module, visitproc visit, void *arg)
{
    struct ext_state *state = ext_state(module);

    Py_VISIT(state->run_type);
    Py_VISIT(state->model_type);
    Py_VISIT(state->writer_type);
    return 0;
}

static int clear_module(PyObject *module)
{
    struct ext_state *state = ext_state(module);

    Py_CLEAR(state->run_type);
    Py_CLEAR(state->model_type);
    Py_CLEAR(state->writer_type);
    return 0;
}

static void free_module(void *module)
{
    clear_module(module);
}

static PyObject *clock_now(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromUnsignedLongLong(clock_ns());
}

static PyMethodDef functions[] = {
    {"_arrange", arrange_graph, METH_VARARGS, "_arrange(boxes, edges): their places"},
    {"bins", history_bins, METH_VARARGS, "bins(packed, most): a histogram"},
    {"clock_ns", clock_now, METH_NOARGS, "the clock of recordings (base/clock.h)"},
    {"main", program_main, METH_VARARGS, "main(*words): the program, in this process"},
    {"own", record_own, METH_O, "own(begins): do not record, until own(False)"},
    {"empty_mode", record_empty_mode, METH_NOARGS, "a mode that only passes ops on"},
    {"diff", KEYWORDS(pairs_diff), "diff(left, right, ...): how two models differ"},
    {"picture_diff", KEYWORDS(views_picture_diff),
     "picture_diff(old, new, form, path, ...): what differs, as a picture"},
    {"explore", KEYWORDS(explore), "explore(thing, ...): on the terminal"},
    {"is_run", answers_is_run, METH_O,
     "is_run(path): is it a .scope file, or a folder of ranks?"},
    {"live", program_live, METH_VARARGS,
     "live(*words): parse a command for a live model"},
    {"op_family", ops_family, METH_VARARGS,
     "op_family(name): the kind of an operation"},
    {"op_flops", ops_flops, METH_VARARGS,
     "op_flops(name, ...): the FLOPs of an operation"},
    {"open_run", answers_open, METH_O, "open_run(path): a Run from a .scope file"},
    {"sample_places", history_places, METH_O, "sample_places(n): a sample's positions"},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, fill_module},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "torchoscope._core",
    .m_doc = "The core of torchoscope, in C. Use the package torchoscope.",
    .m_size = sizeof(struct ext_state),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = visit_module,
    .m_clear = clear_module,
    .m_free = free_module,
};

PyMODINIT_FUNC PyInit__core(void); /* Python looks it up by name */

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
