#include "ext/types/program.h"

#include <signal.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/python.h"

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

/* The words as main() gets them, in *ret_list, which owns them. NULL: an exception. */
static char **take_words(PyObject *words, PyObject **ret_list)
{
    Py_ssize_t n = PyTuple_Size(words);
    PyObject *list = words_as_bytes(words);
    char **argv;

    if (!list)
        return NULL;
    argv = PyMem_Calloc((size_t)n + 1, sizeof *argv);
    if (!argv) {
        Py_DECREF(list);
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        argv[i] = PyBytes_AsString(PyList_GetItem(list, i));
    *ret_list = list;
    return argv;
}

PyObject *program_main(PyObject *module, PyObject *words)
{
    PyThreadState *thread;
    PyObject *list;
    char **argv = take_words(words, &list);
    int status;

    (void)module;
    if (!argv)
        return NULL;
    give_signals_back();
    thread = PyEval_SaveThread();
    status = cli_main((int)PyTuple_Size(words), argv);
    PyEval_RestoreThread(thread);
    PyMem_Free(argv);
    Py_DECREF(list);
    return PyLong_FromLong(status);
}

/* --- Words about live models */

/* Options of any command, read into zeroed memory: what none of them can be means that
 * it was not given. */
static void *options_blank(const struct command *command)
{
    size_t size = sizeof(struct option_list);
    char *to;

    for (size_t i = 0; i < command->n_options; i++)
        if (size < command->options[i].at + sizeof(struct option_list))
            size = command->options[i].at + sizeof(struct option_list);
    to = PyMem_Calloc(1, size);
    for (size_t i = 0; to && i < command->n_options; i++) {
        const struct option *option = &command->options[i];

        if (option->kind == OPTION_COUNT)
            *(uint32_t *)(void *)(to + option->at) = UINT32_MAX;
        else if (option->kind == OPTION_REAL)
            *(double *)(void *)(to + option->at) = -1;
    }
    return to;
}

static PyObject *list_object(const struct option_list *list)
{
    PyObject *object = list->n ? PyList_New(0) : Py_NewRef(Py_None);

    for (uint32_t i = 0; object && i < list->n; i++) {
        PyObject *word = PyUnicode_DecodeFSDefault(list->words[i]);

        if (!word || PyList_Append(object, word) < 0)
            Py_CLEAR(object);
        Py_XDECREF(word);
    }
    return object;
}

/* What was given for an option; None: nothing. */
static PyObject *option_object(const struct option *option, const void *to)
{
    const void *at = (const char *)to + option->at;

    switch (option->kind) {
    case OPTION_FLAG:
        return *(const bool *)at ? Py_NewRef(Py_True) : Py_NewRef(Py_None);
    case OPTION_COUNT:
        if (*(const uint32_t *)at != UINT32_MAX)
            return PyLong_FromUnsignedLong(*(const uint32_t *)at);
        break;
    case OPTION_REAL:
        if (*(const double *)at >= 0)
            return PyFloat_FromDouble(*(const double *)at);
        break;
    case OPTION_TEXT:
    case OPTION_MAYBE:
        if (*(const char *const *)at)
            return PyUnicode_DecodeFSDefault(*(const char *const *)at);
        break;
    case OPTION_LIST:
        return list_object(at);
    }
    return Py_NewRef(Py_None);
}

static PyObject *options_dict(const struct command *command, const void *to)
{
    PyObject *dict = PyDict_New();

    for (size_t i = 0; dict && i < command->n_options; i++) {
        PyObject *value = option_object(&command->options[i], to);

        if (!value || (value != Py_None &&
                       PyDict_SetItemString(dict, command->options[i].name, value) < 0))
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

static PyObject *live_answer(const struct command *command, int argc, char **argv)
{
    struct option_list rest = {0};
    void *options = options_blank(command);
    PyObject *answer = NULL;
    struct cli cli;

    if (!options)
        return PyErr_NoMemory();
    if (cli_read(&cli, command, options, &argc, argv) < 0) {
        PyObject *status = PyLong_FromLong(STATUS_TROUBLE);

        PyErr_SetObject(PyExc_SystemExit, status);
        Py_XDECREF(status);
    } else {
        for (int i = 0; i < argc && rest.n < COUNT_OF(rest.words); i++)
            rest.words[rest.n++] = argv[i];
        answer = Py_BuildValue(
            "(sNN{s:N,s:N,s:N,s:N,s:I})", command->name, list_object(&rest),
            options_dict(command, options), "json", PyBool_FromLong(cli.json), "csv",
            PyBool_FromLong(cli.csv), "ascii", PyBool_FromLong(cli.ascii), "colour",
            PyBool_FromLong(cli.colour), "width", cli.columns);
    }
    PyMem_Free(options);
    return answer;
}

PyObject *program_live(PyObject *module, PyObject *words)
{
    int n = (int)PyTuple_Size(words), first;
    const struct command *command;
    PyObject *list, *answer;
    char **argv = take_words(words, &list);

    (void)module;
    if (!argv)
        return NULL;
    command = python_command(n, argv, &first);
    answer =
        command ? live_answer(command, n - first, argv + first) : Py_NewRef(Py_None);
    PyMem_Free(argv);
    Py_DECREF(list);
    return answer;
}
