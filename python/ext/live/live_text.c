/* live_text.c - describes any Python object in one line, without running user code.
 * Short built-in values appear as in Python; other objects by their class name. */
#include "ext/live/live_in.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/buf.h"
#include "ext/torch/tensor.h"
#include "measure/elements.h"
#include "text/number.h"

#define TEXT_MOST   160 /* shown characters of a str */
#define BYTES_MOST  24
#define VALUES_MOST 6    /* shown values of a tensor */
#define COPY_MOST   4096 /* bytes of a tensor not in C order, to copy */
#define INLINE_MOST 8    /* items of a list shown in full: (3, 3) */

/* ---- names of classes ---- */

PyObject *live_type_attribute(PyTypeObject *type, const char *name)
{
    PyObject *text = PyUnicode_InternFromString(name);
    PyObject *value = text ? PyObject_GenericGetAttr((PyObject *)type, text) : NULL;

    ext_swallow();
    Py_XDECREF(text);
    return value;
}

static void add_object_text(struct buf *to, PyObject *text)
{
    Py_ssize_t len = 0;
    const char *at =
        text && PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
    PyObject *bytes;

    if (at) {
        buf_add(to, at, (size_t)len);
        return;
    }
    ext_swallow();
    if (!text || !PyUnicode_Check(text))
        return;
    /* A lone surrogate has no UTF-8 form: escape it. */
    bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
    if (bytes)
        buf_add(to, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
    ext_swallow();
    Py_XDECREF(bytes);
}

void live_text_name(struct buf *to, PyObject *text)
{
    PyObject *head = PyUnicode_GetLength(text) > TEXT_MOST
                         ? PyUnicode_Substring(text, 0, TEXT_MOST)
                         : NULL;

    ext_swallow();
    add_object_text(to, head ? head : text);
    if (head)
        buf_text(to, "…");
    Py_XDECREF(head);
}

static void add_class(struct buf *to, PyTypeObject *type)
{
    PyObject *name = PyType_GetName(type);

    ext_swallow();
    add_object_text(to, name);
    Py_XDECREF(name);
}

static bool class_is(PyTypeObject *type, const char *name)
{
    PyObject *text = PyType_GetName(type);
    bool is = text && PyUnicode_CompareWithASCIIString(text, name) == 0;

    ext_swallow();
    Py_XDECREF(text);
    return is;
}

/* ---- short values ---- */

static void add_repr(struct buf *to, PyObject *exact)
{
    PyObject *text = PyObject_Repr(exact);

    if (!text) { /* Python refuses to write thousands of decimal digits */
        ext_swallow();
        buf_text(to, "a very large number");
        return;
    }
    live_text_name(to, text);
    Py_DECREF(text);
}

/* 0.1, 1e-05, 1.0: as in Python, but with at most six digits. */
static void add_float(struct buf *to, double value)
{
    size_t from = to->len;

    if (!isfinite(value)) {
        buf_text(to, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return;
    }
    text_real_long(to, value);
    if (!to->bad && !memchr(to->at + from, '.', to->len - from) &&
        !memchr(to->at + from, 'e', to->len - from))
        buf_text(to, ".0");
}

static void add_text(struct buf *to, PyObject *text)
{
    bool is_long = PyUnicode_GetLength(text) > TEXT_MOST;
    PyObject *head = PyUnicode_Substring(text, 0, TEXT_MOST); /* an exact str */
    PyObject *shown = head ? PyObject_Repr(head) : NULL;

    ext_swallow();
    add_object_text(to, shown);
    if (is_long) {
        buf_text(to, "… ");
        text_commas(to, (uint64_t)PyUnicode_GetLength(text));
        buf_text(to, " characters");
    }
    Py_XDECREF(shown);
    Py_XDECREF(head);
}

static void add_bytes(struct buf *to, PyObject *bytes)
{
    Py_ssize_t n = PyBytes_Size(bytes);
    PyObject *head = PyBytes_FromStringAndSize(PyBytes_AsString(bytes),
                                               n < BYTES_MOST ? n : BYTES_MOST);
    PyObject *shown = head ? PyObject_Repr(head) : NULL;

    ext_swallow();
    add_object_text(to, shown);
    if (n > BYTES_MOST) {
        buf_text(to, "… ");
        text_commas(to, (uint64_t)n);
        buf_text(to, " bytes");
    }
    Py_XDECREF(shown);
    Py_XDECREF(head);
}

/* Appends a plain value; false: `object` is not one. */
static bool add_plain(struct buf *to, PyObject *object)
{
    if (object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object) ||
        PyComplex_CheckExact(object) || object == Py_Ellipsis)
        add_repr(to, object);
    else if (PyFloat_CheckExact(object))
        add_float(to, PyFloat_AsDouble(object));
    else if (PyUnicode_Check(object))
        add_text(to, object);
    else if (PyBytes_CheckExact(object))
        add_bytes(to, object);
    else
        return false;
    return true;
}

/* ---- lists and dicts ---- */

Py_ssize_t live_length(PyObject *object)
{
    if (PyDict_Check(object))
        return PyDict_Size(object);
    if (PyList_Check(object))
        return PyList_Size(object);
    if (PyTuple_Check(object))
        return PyTuple_Size(object);
    return PyAnySet_Check(object) ? PySet_Size(object) : -1;
}

static bool is_short(PyObject *items, Py_ssize_t n)
{
    if (n > INLINE_MOST)
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item =
            PyList_Check(items) ? PyList_GetItem(items, i) : PyTuple_GetItem(items, i);

        if (item != Py_None && !PyBool_Check(item) && !PyLong_CheckExact(item) &&
            !PyFloat_CheckExact(item) &&
            !(PyUnicode_CheckExact(item) && PyUnicode_GetLength(item) < 16))
            return false;
    }
    return true;
}

static void add_items(struct buf *to, PyObject *items, Py_ssize_t n)
{
    bool list = PyList_Check(items);

    buf_char(to, list ? '[' : '(');
    for (Py_ssize_t i = 0; i < n; i++) {
        if (i > 0)
            buf_text(to, ", ");
        add_plain(to, list ? PyList_GetItem(items, i) : PyTuple_GetItem(items, i));
    }
    if (!list && n == 1)
        buf_char(to, ',');
    buf_char(to, list ? ']' : ')');
}

/* "dict with 8 keys". torchoscope's ForwardStats is shown as a dict. */
static void add_count(struct buf *to, PyObject *object, Py_ssize_t n)
{
    bool dict = PyDict_Check(object);

    if (dict && class_is(Py_TYPE(object), "ForwardStats"))
        buf_text(to, "dict");
    else
        add_class(to, Py_TYPE(object));
    buf_text(to, " with ");
    text_commas(to, (uint64_t)n);
    buf_printf(to, " %s%s", dict ? "key" : "item", n == 1 ? "" : "s");
}

static void add_shape(struct buf *to, PyObject *size)
{
    int64_t dims[LIVE_RANK];
    Py_ssize_t n = PyTuple_Size(size);

    for (Py_ssize_t i = 0; i < n && i < LIVE_RANK; i++)
        dims[i] = PyLong_AsLongLong(PyTuple_GetItem(size, i));
    if (ext_swallow() || n > LIVE_RANK)
        buf_text(to, "Size");
    else
        text_shape(to, dims, (int)n);
}

/* Appends a list, tuple, dict or set. False: the text does not show everything. */
static bool add_container(struct buf *to, PyObject *object)
{
    Py_ssize_t n = live_length(object);
    bool items = PyList_CheckExact(object) || PyTuple_CheckExact(object);

    if (PyTuple_Check(object) && class_is(Py_TYPE(object), "Size")) {
        add_shape(to, object);
        return true;
    }
    if (n == 0 && PyDict_CheckExact(object)) {
        buf_text(to, "{}");
        return true;
    }
    if (items && is_short(object, n)) {
        add_items(to, object, n);
        return true;
    }
    add_count(to, object, n);
    return n == 0;
}

/* ---- torch objects, classes, functions and the rest ---- */

/* "  [1, 2.5, …]": the first values, if they can be read cheaply. */
static void add_values(struct buf *to, const struct live_tensor *tensor)
{
    const struct dtype_info *info = dtype_info((enum dtype)tensor->dtype);
    uint64_t bytes = tensor->numel * info->bytes, n;
    char copy[COPY_MOST];
    double values[VALUES_MOST];
    const void *at = tensor->at;

    n = tensor->numel < VALUES_MOST ? tensor->numel : VALUES_MOST;
    if (!(tensor->flags & LIVE_READABLE) || tensor->layout != LAYOUT_STRIDED ||
        info->kind == DTYPE_KIND_NONE || info->kind == DTYPE_KIND_COMPLEX ||
        info->block != 1 || info->values != 1 || info->quantised || n == 0)
        return;
    if (!tensor_in_c_order(tensor)) {
        if (bytes > sizeof copy || !tensor_copy(tensor, copy, sizeof copy))
            return;
        at = copy;
    }
    if (!elements_decode((enum dtype)tensor->dtype, at, 0, n, values))
        return;
    buf_text(to, tensor->rank > 0 ? "  [" : "  ");
    for (uint64_t i = 0; i < n; i++) {
        buf_text(to, i > 0 ? ", " : "");
        text_real(to, values[i]);
    }
    buf_text(to, tensor->rank == 0 ? "" : n < tensor->numel ? ", …]" : "]");
}

static void add_tensor(struct buf *to, PyObject *tensor)
{
    struct live_tensor look;

    if (!tensor_look(tensor, &look)) {
        add_class(to, Py_TYPE(tensor));
        return;
    }
    add_class(to, Py_TYPE(tensor));
    buf_char(to, ' ');
    text_shape(to, look.shape, look.rank);
    buf_printf(to, " %s", dtype_name((enum dtype)look.dtype));
    if (strcmp(look.device, "cpu") != 0)
        buf_printf(to, " %s", look.device);
    add_values(to, &look);
}

/* torch.float32; device(type='cpu') as cpu. These types are implemented in C. */
static bool add_torch_constant(struct buf *to, const struct torch *torch,
                               PyObject *object)
{
    static const char *const kinds[] = {"dtype", "device", "layout", "memory_format"};
    PyObject *text;

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        PyObject *type = PyObject_GetAttrString(torch->module, kinds[i]);
        bool is = type == (PyObject *)Py_TYPE(object);

        ext_swallow();
        Py_XDECREF(type);
        if (!is)
            continue;
        text = PyObject_Str(object);
        ext_swallow();
        add_object_text(to, text);
        Py_XDECREF(text);
        return true;
    }
    return false;
}

/* A str in an object's __dict__: a new reference, or NULL. */
static PyObject *own_text(PyObject *object, const char *name)
{
    PyObject *state = PyObject_GenericGetDict(object, NULL), *value = NULL;

    ext_swallow();
    if (state && PyDict_Check(state))
        value = PyDict_GetItemString(state, name);
    value = value && PyUnicode_Check(value) ? Py_NewRef(value) : NULL;
    ext_swallow();
    Py_XDECREF(state);
    return value;
}

/* A member of an Enum: Colour.RED. */
static bool add_enum(struct buf *to, PyObject *object)
{
    PyTypeObject *meta = Py_TYPE((PyObject *)Py_TYPE(object));
    PyObject *name;

    if (!class_is(meta, "EnumType") && !class_is(meta, "EnumMeta"))
        return false;
    name = own_text(object, "_name_");
    if (!name)
        return false;
    add_class(to, Py_TYPE(object));
    buf_char(to, '.');
    add_object_text(to, name);
    Py_DECREF(name);
    return true;
}

static bool is_function(PyObject *object)
{
    static const char *const kinds[] = {"function", "builtin_function_or_method",
                                        "method", "method_descriptor", "ufunc"};

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (class_is(Py_TYPE(object), kinds[i]))
            return true;
    return false;
}

/* "class torch.nn.modules.conv.Conv2d", "function relu" */
static void add_named(struct buf *to, const char *kind, PyObject *module,
                      PyObject *name)
{
    buf_printf(to, "%s ", kind);
    if (module && PyUnicode_Check(module) &&
        PyUnicode_CompareWithASCIIString(module, "builtins") != 0) {
        add_object_text(to, module);
        buf_char(to, '.');
    }
    add_object_text(to, name);
    Py_XDECREF(module);
    Py_XDECREF(name);
}

static PyObject *plain_attribute(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);

    ext_swallow();
    return value;
}

/* Appends an object that is not worth unfolding; false: `object` is. */
static bool add_leaf(struct buf *to, const struct torch *torch, PyObject *object)
{
    if (add_plain(to, object))
        return true;
    if (PyType_Check(object))
        add_named(to, "class",
                  live_type_attribute((PyTypeObject *)object, "__module__"),
                  PyType_GetQualName((PyTypeObject *)object));
    else if (is_function(object))
        add_named(to, "function", plain_attribute(object, "__module__"),
                  plain_attribute(object, "__qualname__"));
    else if (PyModule_Check(object))
        add_named(to, "module", NULL, PyModule_GetNameObject(object));
    else if (add_enum(to, object))
        return true;
    else
        return torch && add_torch_constant(to, torch, object);
    ext_swallow();
    return true;
}

bool live_describe(struct buf *to, const struct torch *torch, PyObject *object)
{
    if (live_length(object) >= 0)
        return !add_container(to, object);
    if (torch && PyType_IsSubtype(Py_TYPE(object), torch->tensor)) {
        add_tensor(to, object);
        return true;
    }
    if (add_leaf(to, torch, object))
        return false;
    add_class(to, Py_TYPE(object));
    if (!torch ||
        !PyType_IsSubtype(Py_TYPE(object), (PyTypeObject *)torch->module_type))
        buf_text(to, " object");
    return true;
}
