/* marks.c - reads tensors without torch's dispatcher, for capsule.py, so that dispatch
 * modes of the user do not see it. */
#include "ext/types/types.h"

#include <string.h>

#include "ext/torch/tensor.h"
#include "measure/elements.h"

/* mark(tensor) -> (version, fingerprint, bytes, readable) or None */
static PyObject *mark(PyObject *module, PyObject *tensor)
{
    struct live_tensor look;
    bool readable;

    (void)module;
    if (!tensor_is(tensor) || !tensor_look(tensor, &look))
        Py_RETURN_NONE;
    readable = look.flags & LIVE_READABLE;
    return Py_BuildValue(
        "(LKKN)", (long long)look.version,
        (unsigned long long)(readable ? tensor_print(&look) : 0),
        (unsigned long long)elements_size((enum dtype)look.dtype, (size_t)look.numel),
        PyBool_FromLong(readable));
}

/* copy(tensor, most) -> bytes: its elements, dense and in C order; None: unreadable, or
 * more than `most` bytes */
static PyObject *copy(PyObject *module, PyObject *args)
{
    struct live_tensor look;
    PyObject *bytes, *tensor;
    unsigned long long most;
    size_t size;

    (void)module;
    if (!PyArg_ParseTuple(args, "OK:copy", &tensor, &most))
        return NULL;
    if (!tensor_is(tensor) || !tensor_look(tensor, &look) ||
        !(look.flags & LIVE_READABLE))
        Py_RETURN_NONE;
    size = elements_size((enum dtype)look.dtype, (size_t)look.numel);
    if (size > most)
        Py_RETURN_NONE;
    bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (bytes && size > 0 && !tensor_copy(&look, PyBytes_AsString(bytes), size)) {
        Py_DECREF(bytes);
        Py_RETURN_NONE;
    }
    return bytes;
}

/* versions(list) -> bytes: the versions of these tensors, 64 bits each */
static PyObject *versions(PyObject *module, PyObject *list)
{
    Py_ssize_t n = PyList_Size(list);
    PyObject *bytes = n < 0 ? NULL : PyBytes_FromStringAndSize(NULL, 8 * n);

    (void)module;
    for (Py_ssize_t i = 0; bytes && i < n; i++) {
        PyObject *tensor = PyList_GetItem(list, i);
        int64_t version = tensor_is(tensor) ? tensor_version(tensor) : -1;

        memcpy(PyBytes_AsString(bytes) + 8 * i, &version, sizeof version);
    }
    return bytes;
}

PyMethodDef marks_functions[] = {
    {"mark", mark, METH_O, "mark(tensor): marks that detect writes, its size"},
    {"copy", copy, METH_VARARGS, "copy(tensor, most): its elements, as bytes"},
    {"versions", versions, METH_O, "versions(list): of these tensors, as bytes"},
    {NULL, NULL, 0, NULL},
};
