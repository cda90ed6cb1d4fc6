#include "ext/torch/tensor.h"

#include <string.h>

#include "ext/torch/torch.h"

#define DL_CPU  1
#define DL_HOST 3 /* pinned memory, readable like any other */

/* Tensors that the exchange table refuses, or that have no version, cost a C++
 * exception each. After such a tensor, the next 256 are checked first. */
#define CAREFUL 256
static int careful_describe, careful_version;

bool tensor_is(PyObject *object)
{
    const struct torch *torch;
    PyTypeObject *type = Py_TYPE(object);

    if (type == &PyLong_Type || type == &PyUnicode_Type || object == Py_None)
        return false;
    torch = torch_find();
    return torch && (type == torch->tensor || type == torch->parameter ||
                     PyType_IsSubtype(type, torch->tensor));
}

int64_t tensor_version(PyObject *tensor)
{
    const struct torch *torch = torch_find();
    PyObject *version;
    int64_t number;

    if (careful_version > 0) {
        careful_version--;
        if (torch_call_flag(tensor, NAME_is_inference)) {
            careful_version = CAREFUL;
            return -1;
        }
    }
    version = torch_get(&torch->version, tensor);
    if (!version) {
        ext_swallow();
        careful_version = CAREFUL;
        return -1;
    }
    number = (int64_t)PyLong_AsLongLong(version);
    Py_DECREF(version);
    ext_swallow();
    return number;
}

/* --- the fast way */

static uint8_t dtype_of_dl(const struct dl_tensor *from)
{
    enum { INT, UINT, FLOAT, BFLOAT = 4, COMPLEX, BOOL };
    unsigned bits = from->dtype.bits;

    switch (from->dtype.code) {
    case INT:
        return bits == 64   ? DTYPE_INT64
               : bits == 32 ? DTYPE_INT32
               : bits == 16 ? DTYPE_INT16
               : bits == 8  ? DTYPE_INT8
                            : DTYPE_UNKNOWN;
    case UINT:
        return bits == 8    ? DTYPE_UINT8
               : bits == 16 ? DTYPE_UINT16
               : bits == 32 ? DTYPE_UINT32
               : bits == 64 ? DTYPE_UINT64
                            : DTYPE_UNKNOWN;
    case FLOAT:
        return bits == 32   ? DTYPE_FLOAT32
               : bits == 16 ? DTYPE_FLOAT16
               : bits == 64 ? DTYPE_FLOAT64
                            : DTYPE_UNKNOWN;
    case BFLOAT:
        return bits == 16 ? DTYPE_BFLOAT16 : DTYPE_UNKNOWN;
    case COMPLEX:
        return bits == 64    ? DTYPE_COMPLEX64
               : bits == 128 ? DTYPE_COMPLEX128
               : bits == 32  ? DTYPE_COMPLEX32
                             : DTYPE_UNKNOWN;
    case BOOL:
        return bits == 8 ? DTYPE_BOOL : DTYPE_UNKNOWN;
    default:
        return DTYPE_UNKNOWN; /* the caller uses its torch dtype: more exact */
    }
}

static uint8_t own_dtype(const struct torch *torch, PyObject *tensor)
{
    PyObject *dtype = PyObject_GetAttr(tensor, torch->names[NAME_dtype]);
    enum dtype found = dtype ? torch_dtype(torch, dtype) : DTYPE_UNKNOWN;

    ext_swallow();
    Py_XDECREF(dtype);
    return (uint8_t)found;
}

static void own_device(const struct torch *torch, PyObject *tensor,
                       struct live_tensor *to)
{
    PyObject *device = PyObject_GetAttr(tensor, torch->names[NAME_device]);
    PyObject *name = device ? PyObject_Str(device) : NULL;
    Py_ssize_t len = 0;
    const char *text = name ? PyUnicode_AsUTF8AndSize(name, &len) : NULL;

    ext_swallow();
    if (!text)
        text = "?", len = 1;
    if ((size_t)len >= sizeof to->device)
        len = sizeof to->device - 1;
    memcpy(to->device, text, (size_t)len);
    to->device[len] = '\0';
    Py_XDECREF(name);
    Py_XDECREF(device);
}

/* Copies sizes and strides; false if the tensor is not in C order. */
static bool copy_dims(const struct dl_tensor *from, struct live_tensor *to)
{
    int64_t stride = 1;
    uint64_t numel = 1;
    bool in_order = from->ndim > 0;

    for (int i = from->ndim - 1; i >= 0; i--) {
        int64_t size = from->shape[i];

        to->shape[i] = size;
        to->strides[i] = from->strides ? from->strides[i] : stride;
        in_order = in_order && to->strides[i] == stride;
        stride *= size;
        numel *= (uint64_t)size;
    }
    to->numel = numel;
    return in_order;
}

/* Reads the bits that the exchange table omits, only if they can be set. Only
 * complex tensors are conjugated. A negated tensor is the imaginary part of a
 * conjugated one, so its elements are not contiguous. */
static void look_at_bits(PyObject *tensor, bool in_order, struct live_tensor *to)
{
    if (dtype_info((enum dtype)to->dtype)->kind == DTYPE_KIND_COMPLEX &&
        torch_call_flag(tensor, NAME_is_conj))
        to->flags |= LIVE_CONJ;
    if (!in_order && torch_call_flag(tensor, NAME_is_neg))
        to->flags |= LIVE_NEG;
}

static void look_at_graph(const struct torch *torch, PyObject *tensor,
                          struct live_tensor *to)
{
    PyObject *grad = torch_get(&torch->requires_grad, tensor);

    ext_swallow();
    Py_XDECREF(grad); /* True and False are never freed */
    if (grad == Py_True) {
        to->flags |= LIVE_GRAD;
        if (Py_TYPE(tensor) == torch->parameter || torch_flag(tensor, NAME_is_leaf))
            to->flags |= LIVE_LEAF;
    }
    to->version = tensor_version(tensor);
    if (to->version < 0)
        to->flags |= LIVE_INFERENCE;
}

static const char *odd_kind(const struct torch *torch, PyObject *tensor,
                            struct live_tensor *to);

/* Describes a tensor by the exchange table; false: the table does not support it. */
static bool look_fast(const struct torch *torch, PyObject *tensor,
                      struct live_tensor *to)
{
    struct dl_tensor from;
    bool in_order;

    if (careful_describe > 0) {
        careful_describe--;
        if (odd_kind(torch, tensor, to) || torch_flag(tensor, NAME_is_quantized)) {
            careful_describe = CAREFUL;
            return false;
        }
    }
    if (torch->describe(tensor, &from) != 0 || from.ndim > LIVE_RANK) {
        ext_swallow();
        careful_describe = CAREFUL;
        return false;
    }
    to->flags = LIVE_EXACT;
    to->layout = LAYOUT_STRIDED;
    to->why = NULL;
    to->rank = (uint8_t)from.ndim;
    in_order = copy_dims(&from, to);
    to->at = (char *)from.data + from.byte_offset;
    to->dtype = dtype_of_dl(&from);
    if (to->dtype == DTYPE_UNKNOWN)
        to->dtype = own_dtype(torch, tensor);
    if (from.device.type == DL_CPU || from.device.type == DL_HOST) {
        memcpy(to->device, "cpu", 4);
        to->flags |= LIVE_READABLE;
        if (!from.data && to->numel > 0) {
            to->flags &= ~(unsigned)LIVE_READABLE;
            to->why = "no memory of its own";
        }
    } else {
        own_device(torch, tensor, to);
        to->flags |= LIVE_DEVICE;
        to->why = "on a device";
    }
    look_at_bits(tensor, in_order, to);
    look_at_graph(torch, tensor, to);
    return true;
}

/* --- the slow way */

/* Compared by address. */
static const char no_data_meta[] = "no data (meta)";
static const char no_data_fake[] = "no data (fake)";

#define TRANSFORMS 8 /* nested transforms */

static bool call_with(PyObject *callable, PyObject *tensor)
{
    PyObject *answer =
        callable ? PyObject_CallFunctionObjArgs(callable, tensor, NULL) : NULL;
    bool yes = answer == Py_True;

    ext_swallow();
    Py_XDECREF(answer);
    return yes;
}

static const char *odd_layout(const struct torch *torch, PyObject *tensor,
                              struct live_tensor *to)
{
    PyObject *layout = PyObject_GetAttr(tensor, torch->names[NAME_layout]);
    const char *why = NULL;

    ext_swallow();
    to->layout = LAYOUT_STRIDED;
    if (layout != torch->strided) {
        why = "a layout without strides";
        to->layout = LAYOUT_WRAPPED;
        for (int i = LAYOUT_COO; i <= LAYOUT_NESTED; i++)
            if (layout && layout == torch->layouts[i]) {
                to->layout = (uint8_t)i;
                why = i == LAYOUT_NESTED ? "nested" : "sparse";
            }
        if (layout && layout == torch->mkldnn)
            why = "held by oneDNN in its own order";
    }
    Py_XDECREF(layout);
    return why;
}

/* Whether a tensor inside transforms, or a tensor that it wraps, requires a
 * gradient. */
static bool inner_requires_grad(const struct torch *torch, PyObject *tensor)
{
    PyObject *at = Py_NewRef(tensor);
    bool grad = torch_flag(tensor, NAME_requires_grad);

    for (int i = 0; !grad && at && i < TRANSFORMS; i++) {
        PyObject *inner = torch->unwrap
                              ? PyObject_CallFunctionObjArgs(torch->unwrap, at, NULL)
                              : NULL;

        ext_swallow();
        Py_DECREF(at);
        at = inner;
        grad = at && torch_flag(at, NAME_requires_grad);
    }
    Py_XDECREF(at);
    return grad;
}

/* Why a tensor's memory cannot be read, or NULL; sets the layout. Uses nothing that
 * raises in C++. */
static const char *odd_kind(const struct torch *torch, PyObject *tensor,
                            struct live_tensor *to)
{
    const char *why = odd_layout(torch, tensor, to);

    if (torch_flag(tensor, NAME_is_nested)) {
        to->layout = LAYOUT_NESTED;
        return "nested";
    }
    if (why)
        return why;
    if (!torch_flag(tensor, NAME_is_cpu) && torch_flag(tensor, NAME_is_meta))
        return no_data_meta;
    if (call_with(torch->is_wrapped, tensor) || call_with(torch->is_batched, tensor) ||
        call_with(torch->is_tracking, tensor)) {
        if (inner_requires_grad(torch, tensor))
            to->flags |= LIVE_INNER_GRAD;
        return "inside a function transform";
    }
    return NULL;
}

/* Copies a sequence of integers, with -1 for other items; returns the count, or -1. */
static int integers_of(PyObject *sequence, int64_t to[LIVE_RANK])
{
    Py_ssize_t n = sequence ? PySequence_Size(sequence) : -1;

    if (n > LIVE_RANK)
        n = -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);

        to[i] = item && PyLong_Check(item) ? (int64_t)PyLong_AsLongLong(item) : -1;
        Py_XDECREF(item);
        ext_swallow();
    }
    ext_swallow();
    Py_XDECREF(sequence);
    return (int)n;
}

/* The sizes of a nested tensor, whose `shape` raises; -1 where they vary. */
static int nested_sizes(const struct torch *torch, PyObject *tensor, int64_t *to)
{
    int64_t rank = torch_call_int(tensor, NAME_dim, -1);

    if (rank > LIVE_RANK)
        return -1;
    for (int i = 0; i < rank; i++)
        to[i] = -1;
    if (rank > 0) {
        PyObject *first = PyLong_FromLong(0);
        PyObject *size =
            PyObject_CallMethodObjArgs(tensor, torch->names[NAME_size], first, NULL);

        to[0] = size ? (int64_t)PyLong_AsLongLong(size) : -1;
        ext_swallow();
        Py_XDECREF(size);
        Py_XDECREF(first);
    }
    return (int)rank;
}

static bool look_at_shape(const struct torch *torch, PyObject *tensor,
                          struct live_tensor *to)
{
    int rank = -1;

    if (to->layout != LAYOUT_NESTED || Py_TYPE(tensor) != torch->tensor)
        rank =
            integers_of(PyObject_GetAttr(tensor, torch->names[NAME_shape]), to->shape);
    else
        rank = nested_sizes(torch, tensor, to->shape);
    if (rank < 0) { /* an uninitialised parameter of a lazy module */
        to->why = "has no shape yet";
        to->flags &= ~(unsigned)LIVE_READABLE;
        rank = 0;
        to->numel = 0;
        to->rank = 0;
        return false;
    }
    to->rank = (uint8_t)rank;
    to->numel = 1;
    for (int i = 0; i < rank; i++)
        to->numel *= to->shape[i] < 0 ? 0 : (uint64_t)to->shape[i];
    if (to->layout == LAYOUT_NESTED)
        to->numel = (uint64_t)torch_call_int(tensor, NAME_numel, 0);
    return true;
}

/* Why a subclass has no memory of its own, or NULL. Fake tensors and other wrappers
 * return 0 from data_ptr(), some with a warning, so it is not called on classes that
 * expose what they wrap. */
static const char *odd_class(PyObject *tensor)
{
    const struct torch *torch = torch_find();
    PyObject *type = (PyObject *)Py_TYPE(tensor);
    char text[TORCH_CLASS_NAME];
    const char *why = NULL;
    struct str name;

    if (PyObject_HasAttr(type, torch->names[NAME___tensor_flatten__]))
        why = "wraps other tensors";
    name = torch_class_name(tensor, text);
    if (str_is(name, "FakeTensor"))
        why = no_data_fake;
    else if (str_is(name, "AsyncCollectiveTensor"))
        why = "a collective is under way";
    return why;
}

static void look_at_memory(const struct torch *torch, PyObject *tensor,
                           struct live_tensor *to)
{
    int64_t at;

    if (integers_of(PyObject_CallMethodObjArgs(tensor, torch->names[NAME_stride], NULL),
                    to->strides) != to->rank) {
        to->why = "its strides are not known";
        return;
    }
    if (strcmp(to->device, "cpu") != 0) {
        to->flags |= LIVE_DEVICE;
        to->why = "on a device";
        return;
    }
    at = torch_call_int(tensor, NAME_data_ptr, -1);
    if (at == -1 || (at == 0 && to->numel > 0)) {
        to->why = "no memory of its own";
        return;
    }
    to->at = (const void *)(uintptr_t)at;
    to->flags |= LIVE_READABLE;
    look_at_bits(tensor, false, to);
}

static void look_slow(const struct torch *torch, PyObject *tensor,
                      struct live_tensor *to)
{
    bool exact =
        Py_TYPE(tensor) == torch->tensor || Py_TYPE(tensor) == torch->parameter;

    to->flags = exact ? LIVE_EXACT : 0;
    to->at = NULL;
    to->version = -1;
    to->dtype = own_dtype(torch, tensor);
    if (torch_flag(tensor, NAME_is_cpu))
        memcpy(to->device, "cpu", 4);
    else
        own_device(torch, tensor, to);
    to->why = odd_kind(torch, tensor, to);
    if (to->why == no_data_meta)
        to->flags |= LIVE_NO_DATA;
    if (!look_at_shape(torch, tensor, to))
        return;
    if (!to->why && !exact)
        to->why = odd_class(tensor);
    if (to->why == no_data_fake)
        to->flags |= LIVE_NO_DATA;
    if (to->why && to->layout == LAYOUT_STRIDED &&
        integers_of(PyObject_CallMethodObjArgs(tensor, torch->names[NAME_stride], NULL),
                    to->strides) != to->rank)
        to->layout = LAYOUT_WRAPPED;
    if (!to->why)
        look_at_memory(torch, tensor, to);
    look_at_graph(torch, tensor, to);
}

/* The local part of a DTensor, which is described in its place. */
static PyObject *local_part(const struct torch *torch, PyObject *tensor)
{
    PyObject *local = NULL;

    if (PyObject_HasAttr(tensor, torch->names[NAME__local_tensor]))
        local = PyObject_GetAttr(tensor, torch->names[NAME__local_tensor]);
    ext_swallow();
    if (local && (!tensor_is(local) || local == tensor))
        Py_CLEAR(local);
    return local;
}

static bool look_subclass(const struct torch *torch, PyObject *tensor,
                          struct live_tensor *to)
{
    PyObject *quiet = quiet_begin(torch, true);
    PyObject *local = local_part(torch, tensor);

    look_slow(torch, local ? local : tensor, to);
    if (local) {
        to->flags |= LIVE_LOCAL;
        to->flags &= ~(unsigned)LIVE_EXACT;
        if (torch_flag(tensor, NAME_requires_grad))
            to->flags |= LIVE_GRAD;
    }
    Py_XDECREF(local);
    quiet_end(quiet);
    return true;
}

bool tensor_look(PyObject *tensor, struct live_tensor *to)
{
    const struct torch *torch = torch_find();

    if (!torch || !tensor_is(tensor))
        return false;
    if (Py_TYPE(tensor) != torch->tensor && Py_TYPE(tensor) != torch->parameter)
        return look_subclass(torch, tensor, to);
    if (!torch->describe || !look_fast(torch, tensor, to))
        look_slow(torch, tensor, to);
    return true;
}

/* Whether the exchange table describes it; false: ask tensor_look(). */
static bool outline_fast(const struct torch *torch, PyObject *tensor, bool grad,
                         struct live_tensor *to)
{
    struct dl_tensor from;
    PyObject *answer;

    if (!torch->describe || careful_describe > 0 ||
        (Py_TYPE(tensor) != torch->tensor && Py_TYPE(tensor) != torch->parameter))
        return false;
    if (torch->describe(tensor, &from) != 0 || from.ndim > LIVE_RANK) {
        ext_swallow();
        careful_describe = CAREFUL;
        return false;
    }
    if (from.device.type != DL_CPU)
        return false;
    to->flags = LIVE_EXACT | LIVE_CPU | LIVE_READABLE;
    to->layout = LAYOUT_STRIDED;
    to->why = NULL;
    to->rank = (uint8_t)from.ndim;
    copy_dims(&from, to);
    to->at = (char *)from.data + from.byte_offset;
    to->dtype = dtype_of_dl(&from);
    if (to->dtype == DTYPE_UNKNOWN)
        to->dtype = own_dtype(torch, tensor);
    if (!grad)
        return true;
    answer = torch_get(&torch->requires_grad, tensor);
    if (answer == Py_True)
        to->flags |= LIVE_GRAD;
    Py_XDECREF(answer);
    return true;
}

bool tensor_outline(PyObject *tensor, bool grad, struct live_tensor *to)
{
    const struct torch *torch = torch_find();

    if (!torch)
        return false;
    if (outline_fast(torch, tensor, grad, to))
        return true;
    if (!tensor_look(tensor, to))
        return false;
    if (strcmp(to->device, "cpu") == 0)
        to->flags |= LIVE_CPU;
    return true;
}

/* --- address and storage */

const void *tensor_at(PyObject *tensor)
{
    const struct torch *torch = torch_find();
    struct dl_tensor from;

    if (torch->describe &&
        (Py_TYPE(tensor) == torch->tensor || Py_TYPE(tensor) == torch->parameter)) {
        if (torch->describe(tensor, &from) == 0)
            return (char *)from.data + from.byte_offset;
        ext_swallow();
        return NULL;
    }
    return (const void *)(uintptr_t)torch_call_int(tensor, NAME_data_ptr, 0);
}

uint64_t tensor_storage(PyObject *tensor, PyObject **ret_object)
{
    const struct torch *torch = torch_find();
    PyObject *storage = NULL;
    uint64_t number = 0;

    if (torch->storage_of)
        storage = PyObject_CallFunctionObjArgs(torch->storage_of, tensor, NULL);
    if (storage)
        number = (uint64_t)torch_int(storage, NAME__cdata, 0);
    ext_swallow();
    if (ret_object) {
        /* An older torch returns a new object each time, so use the tensor instead. */
        *ret_object =
            !storage ? NULL : Py_NewRef(torch->storage_is_typed ? tensor : storage);
    }
    Py_XDECREF(storage);
    return number;
}
