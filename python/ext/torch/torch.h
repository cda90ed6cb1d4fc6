/* torch.h - torch as found at run time, by its features, never by its version.
 * One for the process, as torch itself is. It is looked for in sys.modules and never
 * imported: as long as nobody imported torch, nothing is a tensor. */
#ifndef EXT_TORCH_TORCH_H
#define EXT_TORCH_TORCH_H

#include "ext/ext.h"

#include <stdbool.h>
#include <stdint.h>

#include "model/dtype.h"

/* DLPack's description of a tensor, as its exchange table fills it. */
struct dl_tensor {
    void *data;
    struct {
        int32_t type, id; /* type 1: the processor */
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides; /* of the tensor; strides in elements */
    uint64_t byte_offset;
};

/* Names of attributes and methods, interned once: torch->names[NAME_shape]. */
#define TORCH_NAMES(X)                                                                 \
    X(shape)                                                                           \
    X(stride)                                                                          \
    X(dtype)                                                                           \
    X(device)                                                                          \
    X(layout)                                                                          \
    X(nbytes)                                                                          \
    X(storage_offset)                                                                  \
    X(data_ptr)                                                                        \
    X(numel)                                                                           \
    X(dim)                                                                             \
    X(size)                                                                            \
    X(is_cpu)                                                                          \
    X(is_meta)                                                                         \
    X(is_nested)                                                                       \
    X(is_quantized)                                                                    \
    X(is_conj)                                                                         \
    X(is_neg)                                                                          \
    X(is_leaf)                                                                         \
    X(is_inference)                                                                    \
    X(requires_grad)                                                                   \
    X(grad)                                                                            \
    X(training)                                                                        \
    X(untyped_storage)                                                                 \
    X(_version)                                                                        \
    X(_cdata)                                                                          \
    X(_storage)                                                                        \
    X(_local_tensor)                                                                   \
    X(__dict__)                                                                        \
    X(__tensor_flatten__)                                                              \
    X(__dataclass_fields__)                                                            \
    X(_fields)                                                                         \
    X(items)                                                                           \
    X(f_back)                                                                          \
    X(f_lasti)                                                                         \
    X(co_filename)                                                                     \
    X(co_argcount)                                                                     \
    X(co_kwonlyargcount)                                                               \
    X(co_flags)                                                                        \
    X(co_varnames)                                                                     \
    X(grad_fn)                                                                         \
    X(output_nr)                                                                       \
    X(next_functions)                                                                  \
    X(metadata)                                                                        \
    X(_forward_hooks)                                                                  \
    X(_use_count)                                                                      \
    X(_sequence_nr)                                                                    \
    X(register_prehook)                                                                \
    X(register_hook)                                                                   \
    X(_base)                                                                           \
    X(view_as)                                                                         \
    X(as_strided)                                                                      \
    X(contiguous)                                                                      \
    X(is_contiguous)                                                                   \
    X(detach)                                                                          \
    X(queue_callback)                                                                  \
    X(add)                                                                             \
    X(finish)                                                                          \
    X(start)                                                                           \
    X(end)                                                                             \
    X(rest)                                                                            \
    X(times)                                                                           \
    X(forward)                                                                         \
    X(_orig_mod)                                                                       \
    X(__name__)                                                                        \
    X(__func__)                                                                        \
    X(__wrapped__)                                                                     \
    X(__code__)

#define TORCH_NAME_ENUM(name) NAME_##name,
enum torch_attribute { TORCH_NAMES(TORCH_NAME_ENUM) NAME_COUNT };
#undef TORCH_NAME_ENUM

/* An attribute of plain tensors that is read for each of them, found once. */
struct torch_getter {
    PyObject *descriptor;
    descrgetfunc get;
};

/* All references are owned and stay for the life of the process; NULL: this torch has
 * no such thing. */
struct torch {
    PyObject *module, *c; /* torch, torch._C */
    PyTypeObject *tensor, *parameter;
    PyObject *module_type;         /* torch.nn.Module */
    PyObject *script_object;       /* torch.ScriptObject */
    PyObject *deque, *name_space;  /* types of Python: collections.deque and
                                      types.SimpleNamespace */
    PyObject *encoder_forward;     /* of torch.nn.TransformerEncoderLayer */
    PyObject *dtypes[DTYPE_COUNT]; /* the singletons */
    PyObject *strided;             /* torch.strided, ... */
    PyObject *layouts[8];          /* by enum layout, strided and sparse ones */
    PyObject *mkldnn;              /* torch._mkldnn */
    PyObject *is_grad_enabled;     /* functions */
    PyObject *any_autocast;        /* torch._C._is_any_autocast_enabled */
    PyObject *autocast[2];         /* without it: of CUDA, of the processor */
    PyObject *graph_task;          /* torch._C._current_graph_task_id */
    PyObject *sequence_nr;         /* torch._C._autograd._get_sequence_nr */
    PyObject *accumulate;          /* the type of nodes that end at a leaf */
    PyObject *transpose;           /* the type of nodes of t() */
    PyObject *copy_slices;         /* the type of nodes of writes through a view */
    PyObject *function_modes;      /* torch._C._len_torch_function_stack */
    PyObject *no_function;         /* torch._C.DisableTorchFunction */
    PyObject *storage_of;          /* Tensor.untyped_storage; an earlier torch: */
    bool storage_is_typed;         /* Tensor._storage */
    PyObject *is_wrapped, *is_batched, *is_tracking, *unwrap; /* of functorch */
    PyObject *folder; /* a str: where torch is installed, with a "/" */
    PyObject *names[NAME_COUNT];
    struct torch_getter version, requires_grad; /* of exact tensors */
    /* Fills a description without allocation; 0, or -1 and a Python exception. For
     * exact Tensor and Parameter only: of subclasses it tells nonsense. */
    int (*describe)(void *tensor, struct dl_tensor *to);
};

/* NULL: torch is not imported. Never raises. */
const struct torch *torch_find(void);
/* A new reference to a module that somebody imported, or NULL. Never raises. */
PyObject *torch_imported(const char *name);

/* Call something without arguments: its truth, or `otherwise` if it is NULL or fails.
 * Never raises. */
bool torch_ask(PyObject *callable, bool otherwise);
/* An attribute's truth; an attribute or the answer of a method without arguments as an
 * integer. False or `otherwise` where there is none. Never raise. */
bool torch_flag(PyObject *object, enum torch_attribute name);
int64_t torch_int(PyObject *object, enum torch_attribute name, int64_t otherwise);
int64_t torch_call_int(PyObject *object, enum torch_attribute name, int64_t otherwise);
bool torch_call_flag(PyObject *object, enum torch_attribute name);

/* The forward that a module takes from its class, a new reference. NULL: it has one of
 * its own, or the class makes it up. Never raises. */
PyObject *torch_class_forward(PyObject *module);

/* An attribute of an exact tensor: a new reference, or NULL and an exception. */
PyObject *torch_get(const struct torch_getter *one, PyObject *tensor);

/* The element type of a torch.dtype, by identity. */
enum dtype torch_dtype(const struct torch *torch, PyObject *dtype);

/* For as long as we look at tensors, the user's __torch_function__ (of modes, and with
 * `subclass` of classes) is not run. quiet_end() takes what quiet_begin() gave, NULL
 * too. */
PyObject *quiet_begin(const struct torch *torch, bool subclass);
void quiet_end(PyObject *quiet);

#endif
