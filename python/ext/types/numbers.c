#include "ext/types/types.h"

#include <math.h>

#include "ext/types/answers_in.h"
#include "text/number.h"

/* Converts `text` to a str and releases it. */
static PyObject *take_text(struct buf *text)
{
    PyObject *answer = text->bad ? PyErr_NoMemory() : text_object(buf_span(text));

    buf_release(text);
    return answer;
}

static PyObject *with_integer(PyObject *number, void (*write)(struct buf *, uint64_t))
{
    struct buf text = BUF_INIT;
    uint64_t n = PyLong_AsUnsignedLongLong(number);

    if (PyErr_Occurred())
        return NULL;
    write(&text, n);
    return take_text(&text);
}

static PyObject *format_count(PyObject *module, PyObject *number)
{
    (void)module;
    return with_integer(number, text_count);
}

static PyObject *format_bytes(PyObject *module, PyObject *number)
{
    (void)module;
    return with_integer(number, text_bytes_rp); /* only compat uses it */
}

static PyObject *format_time(PyObject *module, PyObject *seconds)
{
    struct buf text = BUF_INIT;
    double value = PyFloat_AsDouble(seconds);

    (void)module;
    if (PyErr_Occurred())
        return NULL;
    text_time(&text, value);
    return take_text(&text);
}

static PyObject *format_percent(PyObject *module, PyObject *percent)
{
    struct buf text = BUF_INIT;
    double value = PyFloat_AsDouble(percent);

    (void)module;
    if (PyErr_Occurred())
        return NULL;
    text_percent(&text, floor(value), 100); /* rp rounds down, text_percent() rounds */
    return take_text(&text);
}

static PyObject *format_shape(PyObject *module, PyObject *dimensions)
{
    PyObject *dims = PySequence_Tuple(dimensions);
    Py_ssize_t rank = dims ? PyTuple_Size(dims) : 0;
    struct buf text = BUF_INIT;

    (void)module;
    for (Py_ssize_t i = 0; dims && i < rank; i++) {
        int64_t dim = PyLong_AsLongLong(PyTuple_GetItem(dims, i));

        if (PyErr_Occurred()) {
            Py_CLEAR(dims);
            break;
        }
        if (i > 0)
            buf_text(&text, "×");
        text_shape(&text, &dim, 1);
    }
    if (!dims) {
        buf_release(&text);
        return NULL;
    }
    Py_DECREF(dims);
    return take_text(&text);
}

/* The strings of a tuple, borrowed from it; NULL: an exception is set. */
static struct str *names_of(PyObject *tuple, size_t n)
{
    struct str *names = PyMem_Calloc(n + 1, sizeof(*names));

    if (!names)
        PyErr_NoMemory();
    for (size_t i = 0; names && i < n; i++) {
        Py_ssize_t len;
        const char *at =
            PyUnicode_AsUTF8AndSize(PyTuple_GetItem(tuple, (Py_ssize_t)i), &len);

        if (!at) {
            PyMem_Free(names);
            return NULL;
        }
        names[i] = (struct str){at, (size_t)len};
    }
    return names;
}

static PyObject *format_devices(PyObject *module, PyObject *devices)
{
    PyObject *tuple = PySequence_Tuple(devices);
    size_t n = tuple ? (size_t)PyTuple_Size(tuple) : 0;
    struct str *names = tuple ? names_of(tuple, n) : NULL;
    bool good = names != NULL;
    struct buf text = BUF_INIT;

    (void)module;
    if (good)
        text_devices(&text, names, n);
    PyMem_Free(names);
    Py_XDECREF(tuple);
    return good ? take_text(&text) : NULL;
}

PyMethodDef numbers_functions[] = {
    {"format_count", format_count, METH_O, "999 1.0K 25.6M 1.0B"},
    {"format_bytes", format_bytes, METH_O, "1023B 1KB 1.5KB 97.7MB"},
    {"format_time", format_time, METH_O, "of seconds: 306.22μs 1.52ms 1.0000s"},
    {"format_percent", format_percent, METH_O, "of 0 to 100: ' 9%' '100%'"},
    {"format_shape", format_shape, METH_O, "3×224×224"},
    {"format_devices", format_devices, METH_O, "of names: cpu/cuda:0,1"},
    {NULL, NULL, 0, NULL},
};
