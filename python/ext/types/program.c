#include "ext/types/types.h"

#include <signal.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/python.h"
#include "ext/types/keywords.h"

/* Converts each argument to the original bytes from the shell, in a new list; NULL and
 * an exception if an argument cannot be converted. */
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

/* Python catches SIGINT and ignores SIGPIPE; the program expects the defaults. */
static void give_signals_back(void)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
}

/* Converts the arguments to an argv, owned by *ret_list. NULL: an exception is set. */
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

/* --- Commands for live models */

/* Zeroed memory for the options of any command: none given. */
static void *options_blank(const struct command_options *all)
{
    size_t size = sizeof(struct settings);
    char *to;

    for (size_t s = 0; s < COMMAND_SETS; s++)
        for (size_t i = 0; i < all->sets[s].n; i++)
            if (size < all->sets[s].options[i].at + sizeof(struct option_list))
                size = all->sets[s].options[i].at + sizeof(struct option_list);
    to = PyMem_Calloc(1, size);
    for (size_t s = 0; to && s < COMMAND_SETS - 1; s++)
        for (size_t i = 0; i < all->sets[s].n; i++) {
            const struct option *option = &all->sets[s].options[i];

            if (option->kind == OPTION_COUNT)
                *(uint32_t *)(void *)(to + option->at) = OPTION_UNSET;
            else if (option->kind == OPTION_REAL)
                *(double *)(void *)(to + option->at) = -1;
        }
    return to;
}

/* The options that were given, except the common ones. */
static PyObject *options_dict(const struct command_options *all, const void *from)
{
    PyObject *dict = PyDict_New();

    for (size_t s = 0; s < COMMAND_SETS - 1; s++)
        for (size_t i = 0; dict && i < all->sets[s].n; i++) {
            const struct option *option = &all->sets[s].options[i];
            PyObject *value = keywords_value(option, from);

            if (!value || (value != Py_None &&
                           PyDict_SetItemString(dict, option->name, value) < 0))
                Py_CLEAR(dict);
            Py_XDECREF(value);
        }
    return dict;
}

/* The settings that explore() takes, by their Python names. */
static PyObject *view_dict(const struct command *command, const void *from)
{
    const unsigned groups = SETTINGS_VIEW | SETTINGS_LOOK;

    if ((command->settings & groups) != groups)
        return PyDict_New();
    return keywords_dict(groups, from);
}

/* argv[0 .. n) as a list of str. */
static PyObject *words_list(int n, char **argv)
{
    PyObject *list = PyList_New(0);

    for (int i = 0; list && i < n; i++) {
        PyObject *word = PyUnicode_DecodeFSDefault(argv[i]);

        if (!word || PyList_Append(list, word) < 0)
            Py_CLEAR(list);
        Py_XDECREF(word);
    }
    return list;
}

/* The words after the options: those of a script are not parsed. */
static PyObject *other_words(const struct command *command, int n, char **argv,
                             int n_script, char **script)
{
    if (!command->script)
        return words_list(n, argv);
    if (n_script > 0 && strcmp(script[0], "--") == 0)
        return words_list(n_script - 1, script + 1);
    return words_list(n_script, script);
}

static PyObject *live_answer(const struct command *command, int argc, char **argv)
{
    int own = command_own_words(command, argc, argv), n = own;
    struct command_options all;
    PyObject *answer = NULL;
    void *options;
    struct cli cli;

    command_options(&all, command, NULL, NULL);
    options = options_blank(&all);
    if (!options)
        return PyErr_NoMemory();
    if (cli_read(&cli, command, options, &n, argv) < 0) {
        PyObject *status = PyLong_FromLong(STATUS_TROUBLE);

        PyErr_SetObject(PyExc_SystemExit, status);
        Py_XDECREF(status);
    } else {
        answer = Py_BuildValue(
            "(sNN{s:N,s:N,s:N,s:N,s:N,s:I})", command->name,
            other_words(command, n, argv, argc - own, argv + own),
            options_dict(&all, options), "view", view_dict(command, options), "json",
            PyBool_FromLong(cli.json), "csv", PyBool_FromLong(cli.csv), "ascii",
            PyBool_FromLong(cli.ascii), "colour", PyBool_FromLong(cli.colour), "width",
            cli.columns);
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
