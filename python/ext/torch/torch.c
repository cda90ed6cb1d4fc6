#include "ext/torch/torch.h"

#include <string.h>

#include "model/model.h"

/* DLPack's exchange table, version 1. */
struct exchange {
    struct {
        uint32_t major, minor;
        struct exchange *earlier;
    } header;
    void *allocate, *managed_from, *managed_to;
    int (*describe)(void *tensor, struct dl_tensor *to);
    void *stream;
};

static struct torch found;
static bool is_found;

/* An attribute, or NULL without an exception. */
static PyObject *attribute(PyObject *object, const char *name)
{
    PyObject *value = object ? PyObject_GetAttrString(object, name) : NULL;

    ext_swallow();
    return value;
}

PyObject *torch_imported(const char *name)
{
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
    PyObject *module = modules ? PyMapping_GetItemString(modules, name) : NULL;

    ext_swallow();
    return module;
}

static void find_dtypes(struct torch *torch)
{
    for (int i = DTYPE_UNKNOWN + 1; i < DTYPE_COUNT; i++) {
        const char *name = dtype_name((enum dtype)i);
        PyObject *dtype = attribute(torch->module, name);

        torch->dtypes[i] = dtype;
    }
}

static void find_layouts(struct torch *torch)
{
    static const char *const names[] = {
        [LAYOUT_STRIDED] = "strided", [LAYOUT_COO] = "sparse_coo",
        [LAYOUT_CSR] = "sparse_csr",  [LAYOUT_CSC] = "sparse_csc",
        [LAYOUT_BSR] = "sparse_bsr",  [LAYOUT_BSC] = "sparse_bsc",
        [LAYOUT_NESTED] = "jagged",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        torch->layouts[i] = attribute(torch->module, names[i]);
    torch->strided = torch->layouts[LAYOUT_STRIDED];
    torch->mkldnn = attribute(torch->module, "_mkldnn");
}

static void find_functions(struct torch *torch)
{
    PyObject *functorch = attribute(torch->c, "_functorch");
    PyObject *autograd = attribute(torch->c, "_autograd");
    PyObject *nodes = attribute(torch->c, "_functions");

    torch->is_grad_enabled = attribute(torch->c, "is_grad_enabled");
    if (!torch->is_grad_enabled)
        torch->is_grad_enabled = attribute(torch->module, "is_grad_enabled");
    torch->any_autocast = attribute(torch->c, "_is_any_autocast_enabled");
    if (!torch->any_autocast) {
        torch->autocast[0] = attribute(torch->module, "is_autocast_enabled");
        torch->autocast[1] = attribute(torch->module, "is_autocast_cpu_enabled");
    }
    torch->graph_task = attribute(torch->c, "_current_graph_task_id");
    torch->sequence_nr = attribute(autograd, "_get_sequence_nr");
    torch->no_dispatch = attribute(torch->c, "_DisableTorchDispatch");
    torch->current_node = attribute(torch->c, "_current_autograd_node");
    torch->accumulate = attribute(nodes, "AccumulateGrad");
    torch->transpose = attribute(nodes, "TBackward0");
    torch->copy_slices = attribute(nodes, "CopySlices");
    torch->function_modes = attribute(torch->c, "_len_torch_function_stack");
    torch->no_function = attribute(torch->c, "DisableTorchFunction");
    torch->storage_of = attribute((PyObject *)torch->tensor, "untyped_storage");
    torch->storage_is_typed = !torch->storage_of;
    if (!torch->storage_of)
        torch->storage_of = attribute((PyObject *)torch->tensor, "_storage");
    torch->is_wrapped = attribute(functorch, "is_functorch_wrapped_tensor");
    torch->unwrap = attribute(functorch, "get_unwrapped");
    if (!torch->is_wrapped) {
        torch->is_batched = attribute(functorch, "is_batchedtensor");
        torch->is_tracking = attribute(functorch, "is_gradtrackingtensor");
    }
    Py_XDECREF(nodes);
    Py_XDECREF(autograd);
    Py_XDECREF(functorch);
}

/* Finds the exchange table on the type; a newer version links to the older ones. */
static void find_exchange(struct torch *torch)
{
    PyObject *capsule =
        attribute((PyObject *)torch->tensor, "__dlpack_c_exchange_api__");
    struct exchange *table = NULL;

    if (capsule && PyCapsule_CheckExact(capsule))
        table = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    ext_swallow();
    while (table && table->header.major != 1)
        table = table->header.earlier;
    if (table)
        torch->describe = table->describe;
    Py_XDECREF(capsule);
}

static void find_folder(struct torch *torch)
{
    PyObject *file = attribute(torch->module, "__file__");
    const char *text = file ? PyUnicode_AsUTF8AndSize(file, NULL) : NULL;
    const char *slash = text ? strrchr(text, '/') : NULL;

    if (slash)
        torch->folder = PyUnicode_FromStringAndSize(text, slash + 1 - text);
    ext_swallow();
    Py_XDECREF(file);
}

static bool intern_names(struct torch *torch)
{
#define NAME_TEXT(name) #name,
    static const char *const names[] = {TORCH_NAMES(NAME_TEXT)};
#undef NAME_TEXT

    for (int i = 0; i < NAME_COUNT; i++) {
        torch->names[i] = PyUnicode_InternFromString(names[i]);
        if (!torch->names[i])
            return false;
    }
    return true;
}

void torch_getter_find(struct torch_getter *one, PyTypeObject *type, const char *name)
{
    one->descriptor = attribute((PyObject *)type, name);
    if (one->descriptor)
        one->get =
            (descrgetfunc)PyType_GetSlot(Py_TYPE(one->descriptor), Py_tp_descr_get);
    ext_swallow();
}

/* Python types without a name in the C API. */
static void find_types(struct torch *torch)
{
    PyObject *module = PyImport_ImportModule("collections");
    PyObject *space = PySys_GetObject("implementation"); /* a namespace; borrowed */

    torch->deque = attribute(module, "deque");
    if (space)
        torch->name_space = Py_NewRef((PyObject *)Py_TYPE(space));
    Py_XDECREF(module);
}

static bool find(struct torch *torch)
{
    PyObject *nn, *encoder;

    torch->module = torch_imported("torch");
    torch->c = attribute(torch->module, "_C");
    torch->tensor = (PyTypeObject *)attribute(torch->module, "Tensor");
    nn = attribute(torch->module, "nn");
    torch->parameter = (PyTypeObject *)attribute(nn, "Parameter");
    torch->module_type = attribute(nn, "Module");
    encoder = attribute(nn, "TransformerEncoderLayer");
    torch->encoder_forward = attribute(encoder, "forward");
    Py_XDECREF(encoder);
    torch->script_object = attribute(torch->c, "ScriptObject");
    Py_XDECREF(nn);
    /* torch is still being imported. */
    if (!torch->c || !torch->tensor || !torch->parameter || !torch->module_type ||
        !PyType_Check((PyObject *)torch->tensor) || !intern_names(torch)) {
        ext_swallow();
        Py_CLEAR(torch->module);
        return false;
    }
    find_types(torch);
    find_dtypes(torch);
    find_layouts(torch);
    find_functions(torch);
    find_exchange(torch);
    find_folder(torch);
    torch_getter_find(&torch->version, torch->tensor, "_version");
    torch_getter_find(&torch->requires_grad, torch->tensor, "requires_grad");
    return torch->version.get && torch->requires_grad.get;
}

const struct torch *torch_find(void)
{
    if (!is_found) {
        memset(&found, 0, sizeof found);
        is_found = find(&found);
    }
    return is_found ? &found : NULL;
}

/* Converts a reference to a boolean and drops it. */
static bool truth_of(PyObject *answer, bool otherwise)
{
    int truth = answer ? PyObject_IsTrue(answer) : -1;

    Py_XDECREF(answer);
    if (truth < 0)
        ext_swallow();
    return truth < 0 ? otherwise : truth != 0;
}

static int64_t integer_of(PyObject *answer, int64_t otherwise)
{
    int64_t value = answer ? (int64_t)PyLong_AsLongLong(answer) : -1;

    Py_XDECREF(answer);
    return value == -1 && ext_swallow() ? otherwise : value;
}

bool torch_ask(PyObject *callable, bool otherwise)
{
    return callable ? truth_of(PyObject_CallNoArgs(callable), otherwise) : otherwise;
}

bool torch_flag(PyObject *object, enum torch_attribute name)
{
    return truth_of(PyObject_GetAttr(object, found.names[name]), false);
}

struct str torch_class_name(PyObject *object, char text[TORCH_CLASS_NAME])
{
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
    Py_ssize_t len = 0;
    const char *utf8 = name ? PyUnicode_AsUTF8AndSize(name, &len) : NULL;

    ext_swallow();
    len = utf8 && len < TORCH_CLASS_NAME ? len : utf8 ? TORCH_CLASS_NAME - 1 : 0;
    memcpy(text, utf8 ? utf8 : "", (size_t)len);
    text[len] = 0;
    Py_XDECREF(name);
    return str_span(text, (size_t)len);
}

PyObject *torch_class_forward(PyObject *module)
{
    PyObject *name = found.names[NAME_forward];
    PyObject *state = PyObject_GenericGetDict(module, NULL), *forward = NULL;

    if (state && PyDict_Contains(state, name) == 0)
        forward = PyObject_GetAttr((PyObject *)Py_TYPE(module), name);
    ext_swallow();
    if (forward && !PyCallable_Check(forward)) /* a property */
        Py_CLEAR(forward);
    Py_XDECREF(state);
    return forward;
}

int64_t torch_int(PyObject *object, enum torch_attribute name, int64_t otherwise)
{
    return integer_of(PyObject_GetAttr(object, found.names[name]), otherwise);
}

int64_t torch_call_int(PyObject *object, enum torch_attribute name, int64_t otherwise)
{
    return integer_of(PyObject_CallMethodObjArgs(object, found.names[name], NULL),
                      otherwise);
}

bool torch_call_flag(PyObject *object, enum torch_attribute name)
{
    return truth_of(PyObject_CallMethodObjArgs(object, found.names[name], NULL), false);
}

PyObject *torch_get(const struct torch_getter *one, PyObject *tensor)
{
    return one->get(one->descriptor, tensor, (PyObject *)Py_TYPE(tensor));
}

enum dtype torch_dtype(const struct torch *torch, PyObject *dtype)
{
    for (int i = DTYPE_UNKNOWN + 1; i < DTYPE_COUNT; i++)
        if (torch->dtypes[i] == dtype)
            return (enum dtype)i;
    return DTYPE_UNKNOWN;
}

static _Thread_local unsigned own_depth;

void own_begin(void)
{
    own_depth++;
}

void own_end(void)
{
    own_depth--;
}

bool own_runs(void)
{
    return own_depth > 0;
}

PyObject *quiet_begin(const struct torch *torch, bool subclass)
{
    PyObject *quiet, *entered;

    own_begin();
    if (!torch->no_function)
        return NULL;
    if (!subclass && (!torch->function_modes ||
                      integer_of(PyObject_CallNoArgs(torch->function_modes), 0) == 0))
        return NULL;
    quiet = PyObject_CallNoArgs(torch->no_function);
    entered = quiet ? PyObject_CallMethod(quiet, "__enter__", NULL) : NULL;
    if (!entered)
        Py_CLEAR(quiet);
    ext_swallow();
    Py_XDECREF(entered);
    return quiet;
}

void quiet_end(PyObject *quiet)
{
    PyObject *left;

    own_end();
    if (!quiet)
        return;
    left = PyObject_CallMethod(quiet, "__exit__", "OOO", Py_None, Py_None, Py_None);
    ext_swallow();
    Py_XDECREF(left);
    Py_DECREF(quiet);
}

struct torch_quiet quiet_for(const struct torch *torch, PyObject *tensor)
{
    struct torch_quiet quiet = {.began = Py_TYPE(tensor) != torch->tensor &&
                                         Py_TYPE(tensor) != torch->parameter};

    if (quiet.began)
        quiet.quiet = quiet_begin(torch, true);
    return quiet;
}

void quiet_for_end(struct torch_quiet quiet)
{
    if (quiet.began)
        quiet_end(quiet.quiet);
}
