/* torch.h - torch as found at run time, by features, never by version.
 * One instance per process. It is looked up in sys.modules and never imported: until
 * the user imports torch, nothing is a tensor.
 *
 * Files:
 *   torch.h    torch's types, dtypes, functions and features; attribute names
 *   tensor.h   describes a tensor and where its bytes are, in about 130 ns
 *     tensor_stats.c   its statistics, fingerprint and elements
 *   native.h   thread state queried for each operation, without calling Python
 *   walk.h     finds the tensors in nested arguments, each with its path
 *   team.h     uses torch's threads to measure large tensors */
#ifndef EXT_TORCH_TORCH_H
#define EXT_TORCH_TORCH_H

#include "ext/ext.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "model/dtype.h"

/* DLPack's description of a tensor, filled by its exchange table. */
struct dl_tensor {
    void *data;
    struct {
        int32_t type, id; /* type 1: CPU */
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides; /* owned by the tensor; strides in elements */
    uint64_t byte_offset;
};

/* Attribute and method names, interned once: torch->names[NAME_shape]. */
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
    X(__func__)                                                                        \
    X(__wrapped__)                                                                     \
    X(__code__)

#define TORCH_NAME_ENUM(name) NAME_##name,
enum torch_attribute { TORCH_NAMES(TORCH_NAME_ENUM) NAME_COUNT };
#undef TORCH_NAME_ENUM

/* A fast getter for an attribute of plain tensors, or of objects of another type. */
struct torch_getter {
    PyObject *descriptor;
    descrgetfunc get;
};

/* All references are owned until the process ends. NULL: missing in this torch. */
struct torch {
    PyObject *module, *c; /* torch, torch._C */
    PyTypeObject *tensor, *parameter;
    PyObject *module_type;         /* torch.nn.Module */
    PyObject *script_object;       /* torch.ScriptObject */
    PyObject *deque, *name_space;  /* collections.deque, types.SimpleNamespace */
    PyObject *encoder_forward;     /* of torch.nn.TransformerEncoderLayer */
    PyObject *dtypes[DTYPE_COUNT]; /* the singletons */
    PyObject *strided;             /* torch.strided, ... */
    PyObject *layouts[8];          /* by enum layout, strided and sparse ones */
    PyObject *mkldnn;              /* torch._mkldnn */
    PyObject *is_grad_enabled;     /* torch.is_grad_enabled */
    PyObject *any_autocast;        /* torch._C._is_any_autocast_enabled */
    PyObject *autocast[2];         /* fallback: CUDA's, the CPU's */
    PyObject *graph_task;          /* torch._C._current_graph_task_id */
    PyObject *no_dispatch;         /* torch._C._DisableTorchDispatch */
    PyObject *sequence_nr;         /* torch._C._autograd._get_sequence_nr */
    PyObject *current_node;        /* torch._C._current_autograd_node */
    PyObject *accumulate;          /* node type that ends at a leaf */
    PyObject *transpose;           /* node type of t() */
    PyObject *copy_slices;         /* node type of a write through a view */
    PyObject *function_modes;      /* torch._C._len_torch_function_stack */
    PyObject *no_function;         /* torch._C.DisableTorchFunction */
    PyObject *storage_of;          /* Tensor.untyped_storage, or if */
    bool storage_is_typed;         /* this is set: Tensor._storage */
    PyObject *is_wrapped, *is_batched, *is_tracking, *unwrap; /* functorch's */
    PyObject *folder; /* a str: torch's install directory, with a trailing "/" */
    PyObject *names[NAME_COUNT];
    struct torch_getter version, requires_grad; /* for exact tensors only */
    /* Fills a description without allocating; 0, or -1 and an exception. Only for
     * exact Tensor and Parameter: wrong for subclasses. */
    int (*describe)(void *tensor, struct dl_tensor *to);
};

/* NULL if torch is not imported. Never raises. */
const struct torch *torch_find(void);
/* A new reference to an imported Python module, or NULL. Never raises. */
PyObject *torch_imported(const char *name);

/* Calls it without arguments; returns the result as a boolean, or `otherwise` if the
 * callable is NULL or raises. Never raises. */
bool torch_ask(PyObject *callable, bool otherwise);
/* An attribute, or the result of a method without arguments, as a boolean or
 * integer; false or `otherwise` if it is missing. Never raise. */
bool torch_flag(PyObject *object, enum torch_attribute name);
int64_t torch_int(PyObject *object, enum torch_attribute name, int64_t otherwise);
int64_t torch_call_int(PyObject *object, enum torch_attribute name, int64_t otherwise);
bool torch_call_flag(PyObject *object, enum torch_attribute name);

/* The forward that a module inherits from its class, as a new reference. NULL: the
 * instance has its own, or the class computes it. Never raises. */
PyObject *torch_class_forward(PyObject *module);

/* The name of an object's class, without its module, truncated to fit `text`; "" if
 * it has none. Never raises. */
#define TORCH_CLASS_NAME 128
struct str torch_class_name(PyObject *object, char text[TORCH_CLASS_NAME]);

/* Looks up the name on the type once instead of for each object. `get` is NULL if the
 * type has no such attribute. Never raises. */
void torch_getter_find(struct torch_getter *one, PyTypeObject *type, const char *name);
/* An attribute of an exact tensor: a new reference, or NULL and an exception. */
PyObject *torch_get(const struct torch_getter *one, PyObject *tensor);

/* The element type of a torch.dtype, by identity. */
enum dtype torch_dtype(const struct torch *torch, PyObject *dtype);

/* Between quiet_begin() and quiet_end(), the user's __torch_function__ does not run:
 * that of modes and, with `subclass`, that of classes. quiet_end() takes the result
 * of quiet_begin(), which may be NULL. Both also call own_begin() and own_end(). */
PyObject *quiet_begin(const struct torch *torch, bool subclass);
void quiet_end(PyObject *quiet);

/* The same while we query one tensor: the __torch_function__ of a subclass does not
 * run. */
struct torch_quiet {
    PyObject *quiet;
    bool began;
};
struct torch_quiet quiet_for(const struct torch *torch, PyObject *tensor);
void quiet_for_end(struct torch_quiet quiet);

/* Between own_begin() and own_end(), which nest, operations on this thread are our own
 * and not recorded. */
void own_begin(void);
void own_end(void);
bool own_runs(void);

#endif
