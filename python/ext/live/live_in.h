/* live_in.h - declarations shared by the files of live/.
 *
 *   live.c         entry points; maps Python objects to objects of the model
 *   live_walk.c    walks modules and their containers, from the root down
 *   live_state.c   state_dicts and checkpoints in memory
 *   live_tensor.c  adds one tensor and its storage to the build
 *   live_parts.c   tensors that are not plain: sparse, quantised, wrapped, meta, ...
 *   live_value.c   plain values, and the names of classes and functions
 *   live_bytes.c   the source: reads the bytes of tensors in place
 *   live_code.c    the source text of classes
 *   live_attributes.c  lists the attributes of an object, one level at a time
 *   live_text.c    describes any object in one line
 *
 * The input cannot cause unbounded recursion. While the model is built, all visited
 * objects are kept alive, so that addresses are unique; later only weak references
 * remain. */
#ifndef EXT_LIVE_LIVE_IN_H
#define EXT_LIVE_LIVE_IN_H

#include "ext/live/live.h"

#include "base/map.h"
#include "ext/torch/torch.h"
#include "model/build.h"

#define LIVE_LIMIT      ((size_t)2 << 30) /* bytes for the model of one object */
#define LIVE_NAME       4096              /* bytes of a name */
#define LIVE_MOST_SIZES 64                /* dimensions of a tensor */

/* A Python object that is part of the model. */
struct live_known {
    PyObject *weak;  /* owned; NULL for lists and dicts, which cannot have one */
    uint32_t number; /* index in model->objects or model->tensors */
};

struct live {
    struct arena arena;
    struct live_source *source;      /* of the model; NULL once that is freed */
    struct map by_module, by_tensor; /* address -> index in `modules`, `tensors` */
    struct map by_hooks; /* address of a module's dict of forward hooks -> its index */
    struct live_known *modules, *tensors;
    uint32_t n_modules, modules_room, n_tensors, tensors_room;
    uint32_t *module_of, *tensor_of; /* by number: index + 1; 0: none */
    uint32_t n_module_of, n_tensor_of;
    uint32_t *roots; /* indices in `modules` */
    uint32_t n_roots, roots_room;
    PyObject **classes; /* by class id: a weak reference, owned; or NULL */
    uint32_t n_classes, classes_room;
};

/* One storage, and how to find its tensor again. */
struct live_storage {
    PyObject *weak;  /* owned; to a tensor in this storage, or to its owner */
    PyObject *names; /* owned; a tuple of attributes or methods that lead from the owner
                        to the tensor; NULL: `weak` is the tensor itself */
    const char *why; /* not NULL: why its bytes cannot be read */
    uint64_t identity; /* torch's id of the storage, valid while it exists */
    uint64_t at, bytes;
};

struct live_source {
    struct source source;
    struct arena arena;
    struct live_storage *storages; /* by the model's number */
    uint32_t n_storages, storages_room;
    const struct model
        *model;        /* the model that this is the source of; NULL if `live` is */
    struct live *live; /* NULL until the model is built, and once `live` is freed */
    struct live_handle *handles; /* of attributes; malloc */
    uint32_t n_handles, handles_room;
};

struct live_source *live_source_new(void); /* NULL: no memory */

/* Gets the current storage of a tensor. Returns 0, or -1 without an exception if it has
 * none. CPU tensors only. */
int live_look_storage(PyObject *tensor, uint64_t *ret_identity, uint64_t *ret_at,
                      uint64_t *ret_bytes);

/* live_attributes.c: implements struct source_ops. */
int live_attributes(struct source *source, const struct attribute_of *what,
                    struct arena *arena, struct attribute **ret_attributes,
                    uint32_t *ret_n, struct err *err);
void live_forget(struct source *source);
/* live_code.c: likewise. */
int live_code(struct source *source, uint32_t class_id, struct arena *arena,
              struct class_code *ret_code, struct err *err);

/* live_text.c: describes an object in one line, without running user code. True: the
 * object can be unfolded to see more. */
bool live_describe(struct buf *to, const struct torch *torch, PyObject *object);
/* Appends a str, truncated if long. */
void live_text_name(struct buf *to, PyObject *text);
/* The length of a list, tuple, dict or set; -1 for other objects. */
Py_ssize_t live_length(PyObject *object);
/* An attribute that all types have, read without running a metaclass's
 * __getattribute__(): a new reference, or NULL. */
PyObject *live_type_attribute(PyTypeObject *type, const char *name);

/* The kind of a module's attribute, by its name. */
enum live_key_kind {
    KEY_PUBLIC,
    KEY_HIDDEN,
    KEY_OWN, /* internal to torch, not listed */
    KEY_HOOKS,
    KEY_TRAINING,
    KEY_PARAMETERS,
    KEY_BUFFERS,
    KEY_MODULES,
    KEY_CODE,          /* of a GraphModule's forward() */
    KEY_TEMPORARY,     /* _non_persistent_buffers_set */
    KEY_FORWARD_HOOKS, /* like KEY_HOOKS; also identifies a replica's original */
};
struct live_key {
    enum live_key_kind kind;
    uint32_t name; /* string id */
};

/* An object that has its node but is not unfolded yet. */
struct live_task {
    PyObject *object; /* held */
    uint32_t node;
    uint32_t depth; /* lists and dicts around it, up to the nearest module */
    uint8_t role;   /* of tensors in lists and dicts: ROLE_PLAIN, ROLE_STATE */
};

/* Value ids collected for a DICT: key, value, ... */
struct live_pairs {
    uint32_t *at;
    uint32_t n, room;
};

/* The state while one model is built. */
struct live_walk {
    struct build build;
    const struct torch *torch;
    struct live *live;
    struct live_source *source;
    PyObject *held;           /* a list of all visited objects */
    PyObject *function_types; /* a tuple of types: method, function, built-in */
    struct live_task *tasks;
    uint32_t n_tasks, tasks_room;
    struct map by_key;     /* address of a name -> index in `keys` */
    struct map by_type;    /* address of a type -> class id */
    struct map by_object;  /* address of any other object -> value id */
    struct map by_storage; /* torch's id of a storage -> storage number */
    struct live_key *keys;
    uint32_t n_keys, keys_room;
    struct live_pairs args, hidden, hooks; /* of the module being unfolded */
    struct live_pairs collected;           /* values of the containers being read */
    uint32_t values_left; /* how many more values this attribute may have */
    PyObject *inside[4];  /* the objects whose attributes are being read */
    uint32_t n_inside;
    uint32_t parameter_class;
    bool is_checkpoint;   /* the root is a dict or list: its dicts may be state_dicts */
    bool role_is_guessed; /* of the tensor being added */
    bool is_bad;          /* Python is out of memory: an exception is set */
};

/* Keeps an object alive until the model is built. False: out of memory, stop. */
bool live_hold(struct live_walk *walk, PyObject *object);
bool live_is_module(const struct live_walk *walk, PyObject *object);
bool live_is_tensor(const struct live_walk *walk, PyObject *object);

/* The text of a str, truncated if very long; kept alive. Empty if it is not a str. */
struct str live_text(struct live_walk *walk, PyObject *text);
/* live_walk.c: adds the object and everything below it. */
int live_walk(struct live_walk *walk, PyObject *object, struct err *err);

/* Adds a node for `object` below the task's node. Leaves are finished at once, others
 * pushed as tasks. */
void live_add(struct live_walk *walk, const struct live_task *task, struct str name,
              PyObject *object, enum tensor_role role, unsigned flags);
/* live_state.c: does this entry of a checkpoint get rows of its own, as in a file? True
 * for a dict and for a list of dicts. */
bool live_has_entries(const struct live_walk *walk, PyObject *object);
/* Unfolds a state_dict; false: the dict is not one. Sets the task's role if it is the
 * state of an optimizer. */
bool live_unfold_state(struct live_walk *walk, struct live_task *task);

/* A TorchScript object in Python, such as packed weights. live_script_parts() returns
 * its parts as a new tuple, and its class name; NULL, without an exception: unknown. */
bool live_is_script_object(const struct live_walk *walk, PyObject *object);
PyObject *live_script_parts(struct live_walk *walk, PyObject *object,
                            struct str *ret_class);

/* live_tensor.c */
void live_add_tensor(struct live_walk *walk, uint32_t node, PyObject *tensor,
                     enum tensor_role role);

/* How a tensor was reached: it is in the model itself (`names` is NULL), or it is a
 * part of `owner`, found by following `names`. */
struct live_way {
    PyObject *owner, *names; /* borrowed */
    int depth;
    const char *why; /* not NULL: why its values cannot be read */
};
/* The properties of a tensor being added to the build. */
struct live_spec {
    PyObject *object;
    uint32_t node;
    struct live_way way;
    struct tensor tensor;
    const char *why;  /* not NULL: why its values cannot be read */
    bool no_storage;  /* do not look for a storage */
    bool has_strides; /* false: C order */
    int rank;
    int64_t shape[LIVE_MOST_SIZES], strides[LIVE_MOST_SIZES];
    uint32_t extra[16], n_extra;
};
uint32_t live_put_tensor(struct live_walk *walk, uint32_t node, PyObject *tensor,
                         enum tensor_role role, struct live_way way);
/* The value of an attribute, or the result of a method called without arguments: a new
 * reference, or NULL without an exception. */
PyObject *live_ask(PyObject *object, PyObject *name);
/* live_parts.c: fills in the spec of a tensor that is not plain strided, and adds its
 * parts. */
void live_look_special(struct live_walk *walk, struct live_spec *spec);

/* live_value.c */
uint32_t live_value(struct live_walk *walk, PyObject *object);
uint32_t live_class(struct live_walk *walk, PyTypeObject *type); /* or NO_CLASS */
/* "torch.nn.functional.relu": a class, a function, or the class of an object. The text
 * is in the build's scratch arena. */
struct str live_global_name(struct live_walk *walk, PyObject *object);
bool live_is_function(const struct live_walk *walk, PyObject *object);

#endif
