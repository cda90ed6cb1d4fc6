#include "ext/program.h"

#include <signal.h>

#include "cli/cli.h"

/* Each word as the bytes that the shell gave, in a new list; NULL and an exception if
 * a word is no text. */
static PyObject *words_as_bytes(PyObject *words)
{
    PyObject *list = PyList_New(0);
    Py_ssize_t n = PyTuple_Size(words);

    for (Py_ssize_t i = 0; list && i < n; i++) {
        PyObject *bytes = NULL;

        if (!PyUnicode_FSConverter(PyTuple_GetItem(words, i), &bytes) ||
            PyList_Append(list, bytes) < 0)
            Py_CLEAR(list);
        Py_XDECREF(bytes);
    }
    return list;
}

/* Python catches Ctrl-C and ignores a pipe whose reader left; the program lives by what
 * is usual for programs. */
static void give_signals_back(void)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
}

PyObject *program_main(PyObject *module, PyObject *words)
{
    Py_ssize_t n = PyTuple_Size(words);
    PyObject *list = words_as_bytes(words);
    PyThreadState *thread;
    char **argv = NULL;
    int status;

    (void)module;
    if (list)
        argv = PyMem_Calloc((size_t)n + 1, sizeof *argv);
    if (!argv) {
        Py_XDECREF(list);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < n; i++)
        argv[i] = PyBytes_AsString(PyList_GetItem(list, i));
    give_signals_back();
    thread = PyEval_SaveThread();
    status = cli_main((int)n, argv);
    PyEval_RestoreThread(thread);
    PyMem_Free(argv);
    Py_DECREF(list);
    return PyLong_FromLong(status);
}
