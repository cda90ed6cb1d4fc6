#include "ext/types/types.h"

#include <string.h>

#include "base/clock.h"
#include "ext/torch/tensor.h"
#include "ext/torch/walk.h"
#include "ext/types/answers_in.h"

static bool put_flags(PyObject *dict, unsigned flags)
{
    static const char *const names[] = {"readable", "grad",      "conj",
                                        "neg",      "on_device", "inference",
                                        "leaf",     "exact",     "local"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!dict_put(dict, names[i], PyBool_FromLong(flags >> i & 1)))
            return false;
    return true;
}

static PyObject *look_dict(struct live_tensor *look)
{
    PyObject *dict = PyDict_New();
    struct stats stats;
    bool measured = tensor_stats(look, MEASURE_FULL, &stats);

    if (!dict)
        return NULL;
    if (!dict_text(dict, "dtype", str_of(dtype_name((enum dtype)look->dtype))) ||
        !dict_number(dict, "layout", look->layout) ||
        !dict_put(dict, "shape", dims_object(look->shape, look->rank)) ||
        !dict_text(dict, "device", str_of(look->device)) ||
        !dict_put(dict, "version", PyLong_FromLongLong(look->version)) ||
        !dict_number(dict, "numel", look->numel) || !put_flags(dict, look->flags) ||
        (look->layout == LAYOUT_STRIDED &&
         !dict_put(dict, "strides", dims_object(look->strides, look->rank))) ||
        (look->why && !dict_text(dict, "why", str_of(look->why))) ||
        (measured && !dict_put(dict, "stats",
                               answers_stats(&stats, (enum dtype)look->dtype,
                                             look->shape, look->rank))))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *peek_look(PyObject *module, PyObject *tensor)
{
    struct live_tensor look;

    (void)module;
    if (!tensor_look(tensor, &look))
        Py_RETURN_NONE;
    return look_dict(&look);
}

static PyObject *peek_look_ns(PyObject *module, PyObject *args)
{
    struct live_tensor look;
    PyObject *tensor;
    unsigned long n;
    uint64_t began;

    (void)module;
    if (!PyArg_ParseTuple(args, "Ok", &tensor, &n))
        return NULL;
    began = clock_ns();
    for (unsigned long i = 0; i < n; i++)
        tensor_look(tensor, &look);
    return PyFloat_FromDouble((double)(clock_ns() - began) / (double)(n ? n : 1));
}

static int add_path(void *user, PyObject *tensor, const char *path, size_t len)
{
    PyObject *name = text_object((struct str){path, len});
    PyObject *pair = name ? PyTuple_Pack(2, name, tensor) : NULL;
    bool added = list_add(user, pair);

    Py_XDECREF(name);
    return added ? 0 : -1;
}

static PyObject *peek_walk(PyObject *module, PyObject *args)
{
    PyObject *first, *kwargs = NULL, *list;

    (void)module;
    if (!PyArg_ParseTuple(args, "O|O", &first, &kwargs))
        return NULL;
    list = PyList_New(0);
    if (list && kwargs)
        walk_arguments(first, kwargs, NULL, add_path, list, NULL);
    else if (list)
        walk_result(first, add_path, list, NULL);
    return list;
}

PyMethodDef peek_functions[] = {
    {"_look", peek_look, METH_O, NULL},
    {"_look_ns", peek_look_ns, METH_VARARGS, NULL},
    {"_walk", peek_walk, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
