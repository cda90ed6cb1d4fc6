/* The names of forward's arguments. torch passes hooks a tuple, so the names come
 * from the function, when an object is first called. */
#include <stdlib.h>
#include <string.h>

#include "ext/record/recorder_in.h"

#define MOST_WRAPPERS 16
#define HAS_REST      4 /* in co_flags: the function takes *rest */

static PyObject *attribute(PyObject *object, enum torch_attribute name)
{
    PyObject *found = PyObject_GetAttr(object, torch_find()->names[name]);

    ext_swallow();
    return found;
}

/* The function behind methods and decorators (as inspect.signature() finds it), and
 * whether its first parameter is the module. NULL if that is unknown, as with a
 * decorated plain function. */
static PyObject *function_of(PyObject *module, bool *ret_has_self)
{
    PyObject *at = attribute(module, NAME_forward), *inner;
    bool is_wrapped = false;

    *ret_has_self = false;
    for (int i = 0; at && i < MOST_WRAPPERS; i++) {
        inner = attribute(at, NAME___func__);
        if (inner) {
            *ret_has_self = true;
        } else {
            inner = attribute(at, NAME___wrapped__);
            is_wrapped |= inner && !*ret_has_self;
        }
        if (!inner)
            break;
        Py_DECREF(at);
        at = inner;
    }
    if (is_wrapped && !*ret_has_self)
        Py_CLEAR(at);
    return at;
}

/* The names of positional arguments, then of *rest or None; NULL: unknown. */
static PyObject *names_of(PyObject *code, int64_t first)
{
    PyObject *all = attribute(code, NAME_co_varnames), *names = NULL;
    int64_t n = torch_int(code, NAME_co_argcount, -1);
    int64_t only = torch_int(code, NAME_co_kwonlyargcount, -1);
    bool has_rest = torch_int(code, NAME_co_flags, 0) & HAS_REST;

    if (all && PyTuple_Check(all) && n >= first && only >= 0 &&
        PyTuple_Size(all) >= n + only + has_rest)
        names = PyTuple_New(n - first + 1);
    for (int64_t i = first; names && i <= n; i++) {
        PyObject *name = i < n      ? PyTuple_GetItem(all, i)
                         : has_rest ? PyTuple_GetItem(all, n + only)
                                    : Py_None;

        PyTuple_SetItem(names, i - first, Py_NewRef(name));
    }
    ext_swallow();
    Py_XDECREF(all);
    return names;
}

/* A compiled module's forward takes anything, so the names come from the module
 * inside it. Other classes are not asked: they may define __getattr__. */
static PyObject *module_inside(PyObject *module)
{
    char name[TORCH_CLASS_NAME];

    return str_is(torch_class_name(module, name), "OptimizedModule")
               ? attribute(module, NAME__orig_mod)
               : NULL;
}

/* Py_None: unknown. */
static PyObject *find_names(PyObject *module)
{
    bool has_self;
    PyObject *function = function_of(module, &has_self), *names;
    PyObject *code = function ? attribute(function, NAME___code__) : NULL;

    names = code ? names_of(code, has_self) : NULL;
    Py_XDECREF(code);
    Py_XDECREF(function);
    return names ? names : Py_NewRef(Py_None);
}

/* Like find_names(), but cached per forward function. */
static PyObject *shared_names(struct recorder *recorder, PyObject *module)
{
    PyObject *forward = torch_class_forward(module), *names = NULL, *inside;

    if (forward)
        names = Py_XNewRef(PyDict_GetItemWithError(recorder->forwards, forward));
    ext_swallow();
    if (!names) {
        inside = module_inside(module);
        names = find_names(inside ? inside : module);
        if (forward && !inside)
            PyDict_SetItem(recorder->forwards, forward, names);
        ext_swallow();
        Py_XDECREF(inside);
    }
    Py_XDECREF(forward);
    return names;
}

PyObject *recorder_names(struct recorder *recorder, PyObject *module, uint32_t object)
{
    PyObject *names;

    if (object >= recorder->n_names || !recorder->forwards)
        return NULL;
    if (!recorder->names[object]) {
        names = shared_names(recorder, module);
        if (recorder->names[object]) /* another thread set it meanwhile */
            Py_DECREF(names);
        else
            recorder->names[object] = names;
    }
    names = recorder->names[object];
    return names == Py_None ? NULL : names;
}

void recorder_forget_names(struct recorder *recorder)
{
    for (size_t i = 0; i < recorder->n_names; i++)
        Py_XDECREF(recorder->names[i]);
    free(recorder->names);
}
