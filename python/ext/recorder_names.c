/* What forward calls its arguments: torch shows hooks a tuple, but the function knows
 * the names. They are looked up when an object is first called. */
#include <stdlib.h>
#include <string.h>

#include "ext/recorder_in.h"

#define MOST_WRAPPERS 16
#define HAS_REST      4 /* of co_flags: it takes *rest */

static PyObject *attribute(PyObject *object, const char *name)
{
    PyObject *found = PyObject_GetAttrString(object, name);

    ext_swallow();
    return found;
}

/* The function behind methods and decorators (as inspect.signature() has it), and
 * whether its first parameter is the module. Where that is not known, as of what
 * decorates a plain function, NULL. */
static PyObject *function_of(PyObject *module, bool *ret_has_self)
{
    PyObject *at = attribute(module, "forward"), *inner;
    bool is_wrapped = false;

    *ret_has_self = false;
    for (int i = 0; at && i < MOST_WRAPPERS; i++) {
        inner = attribute(at, "__func__");
        if (inner) {
            *ret_has_self = true;
        } else {
            inner = attribute(at, "__wrapped__");
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

static long number(PyObject *code, const char *name)
{
    PyObject *found = attribute(code, name);
    long n = found ? PyLong_AsLong(found) : -1;

    ext_swallow();
    Py_XDECREF(found);
    return n;
}

/* The positional ones, then *rest or None; NULL: they are not known. */
static PyObject *names_of(PyObject *code, long first)
{
    PyObject *all = attribute(code, "co_varnames"), *names = NULL;
    long n = number(code, "co_argcount"), only = number(code, "co_kwonlyargcount");
    bool has_rest = number(code, "co_flags") & HAS_REST;

    if (all && PyTuple_Check(all) && n >= first && only >= 0 &&
        PyTuple_Size(all) >= n + only + has_rest)
        names = PyTuple_New(n - first + 1);
    for (long i = first; names && i <= n; i++) {
        PyObject *name = i < n      ? PyTuple_GetItem(all, i)
                         : has_rest ? PyTuple_GetItem(all, n + only)
                                    : Py_None;

        PyTuple_SetItem(names, i - first, Py_NewRef(name));
    }
    ext_swallow();
    Py_XDECREF(all);
    return names;
}

/* What torch.compile() gave has a forward that takes anything: that of the module
 * inside it tells. Others are not asked: they may have a __getattr__ of their own. */
static PyObject *module_inside(PyObject *module)
{
    PyObject *name = attribute((PyObject *)Py_TYPE(module), "__name__");
    const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    bool is_compiled = text && strcmp(text, "OptimizedModule") == 0;

    ext_swallow();
    Py_XDECREF(name);
    return is_compiled ? attribute(module, "_orig_mod") : NULL;
}

static PyObject *find_names(PyObject *module)
{
    PyObject *inside = module_inside(module), *function, *code, *names;
    bool has_self;

    function = function_of(inside ? inside : module, &has_self);
    code = function ? attribute(function, "__code__") : NULL;
    names = code ? names_of(code, has_self) : NULL;
    Py_XDECREF(code);
    Py_XDECREF(function);
    Py_XDECREF(inside);
    return names;
}

PyObject *recorder_names(struct recorder *recorder, PyObject *module, uint32_t object)
{
    PyObject *names;

    if (object >= recorder->n_names)
        return NULL;
    if (!recorder->names[object]) {
        names = find_names(module);
        recorder->names[object] = names ? names : Py_NewRef(Py_None);
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
