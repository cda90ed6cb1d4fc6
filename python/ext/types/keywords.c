#include "ext/types/keywords.h"

#include <string.h>

#include "base/base.h"

static void python_name(const struct option *option, char ret_name[32])
{
    size_t n = strlen(option->name);

    for (size_t i = 0; i <= n && i < 32; i++)
        ret_name[i] = option->name[i] == '-' ? '_' : option->name[i];
    ret_name[31] = '\0';
}

/* ---- from Python ---- */

static bool take_flag(PyObject *value, bool *to)
{
    int is_true = PyObject_IsTrue(value);

    *to = is_true > 0;
    return is_true >= 0;
}

static bool take_count(PyObject *value, const char *name, uint32_t *to)
{
    unsigned long number = PyLong_AsUnsignedLong(value);

    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError))
        PyErr_Format(PyExc_ValueError, "%s is a number from 0, not %R", name, value);
    if (PyErr_Occurred())
        return false;
    *to = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
    return true;
}

static bool take_real(PyObject *value, const char *name, double *to)
{
    double number = PyFloat_AsDouble(value);

    if (PyErr_Occurred())
        return false;
    if (!(number >= 0 && number <= 1e9)) {
        PyErr_Format(PyExc_ValueError, "%s is a number from 0, not %R", name, value);
        return false;
    }
    *to = number;
    return true;
}

static bool take_text(PyObject *value, const struct option *option, const char **to)
{
    struct err err = {0};
    const char *text;

    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s is a str or None, not %R", option->name,
                     value);
        return false;
    }
    text = PyUnicode_AsUTF8AndSize(value, NULL);
    if (!text)
        return false;
    if (option_check(option, text, &err) < 0) {
        PyErr_Format(PyExc_ValueError, "%s is one of %s, not %R", option->name,
                     option->value, value);
        return false;
    }
    *to = text;
    return true;
}

static bool take(PyObject *value, const struct option *option, const char *name,
                 void *to)
{
    void *at = (char *)to + option->at;

    if (option->kind == OPTION_FLAG)
        return take_flag(value, at);
    if (value == Py_None || (option->kind == OPTION_MAYBE && value == Py_False))
        return true;
    if (option->kind == OPTION_COUNT)
        return take_count(value, name, at);
    if (option->kind == OPTION_REAL)
        return take_real(value, name, at);
    if (option->kind == OPTION_MAYBE && value == Py_True) {
        *(const char **)at = "";
        return true;
    }
    return take_text(value, option, at);
}

PyObject *keywords_take_options(PyObject *kwargs, const struct option *options,
                                size_t n, void *to)
{
    PyObject *rest = kwargs ? PyDict_Copy(kwargs) : PyDict_New();

    for (size_t i = 0; rest && i < n; i++) {
        PyObject *value;
        char name[32];

        python_name(&options[i], name);
        value = PyDict_GetItemString(rest, name);
        if (value && (!take(value, &options[i], name, to) ||
                      PyDict_DelItemString(rest, name) < 0))
            Py_CLEAR(rest);
    }
    return rest;
}

PyObject *keywords_take(PyObject *kwargs, unsigned groups, void *to)
{
    struct option options[SETTINGS_MOST];
    size_t n = settings_options(groups, options);

    return keywords_take_options(kwargs, options, n, to);
}

/* ---- to Python ---- */

PyObject *keywords_list(const struct option_list *list)
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

PyObject *keywords_value(const struct option *option, const void *from)
{
    const void *at = (const char *)from + option->at;

    switch (option->kind) {
    case OPTION_FLAG:
        return *(const bool *)at ? Py_NewRef(Py_True) : Py_NewRef(Py_None);
    case OPTION_COUNT:
        if (*(const uint32_t *)at != OPTION_UNSET)
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
        return keywords_list(at);
    }
    return Py_NewRef(Py_None);
}

PyObject *keywords_dict(unsigned groups, const void *from)
{
    struct option options[SETTINGS_MOST];
    size_t n = settings_options(groups, options);
    PyObject *dict = PyDict_New();

    for (size_t i = 0; dict && i < n; i++) {
        PyObject *value = keywords_value(&options[i], from);
        char name[32];

        python_name(&options[i], name);
        if (!value || (value != Py_None && PyDict_SetItemString(dict, name, value) < 0))
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}
