/* live_in.h - what the parts of live.c share.
 *
 *   live.c         the door: which object of the model is which Python object
 *   live_walk.c    modules, and what holds them, from the root down
 *   live_state.c   state_dicts and checkpoints in memory
 *   live_tensor.c  one tensor into the build, with its storage
 *   live_parts.c   tensors made of tensors, or of none: sparse, quantised, wrapped, ...
 *   live_value.c   plain values, and the names of classes and functions
 *   live_bytes.c   the source: bytes where they lie
 *   live_code.c    the source text of classes
 *   live_attributes.c  what stands below an object, one level at a time
 *   live_text.c    any object in one line
 *
 * Nothing here recurses by what it is given. While the model is built all objects met
 * are held, so that an address means one object; afterwards only weak references stay.
 */
#ifndef EXT_LIVE_LIVE_IN_H
#define EXT_LIVE_LIVE_IN_H

#include "ext/live/live.h"

#include "base/map.h"
#include "ext/torch/torch.h"
#include "model/build.h"

#define LIVE_LIMIT      ((size_t)2 << 30) /* bytes for the model of one object */
#define LIVE_NAME       4096              /* bytes of a name */
#define LIVE_MOST_SIZES 64                /* dimensions of a tensor */

/* A Python object that stands in the model. */
struct live_known {
    PyObject *weak;  /* owned; NULL for lists and dicts, which cannot have one */
    uint32_t number; /* in model->objects, or model->tensors */
};

struct live {
    struct arena arena;
    struct live_source *source;      /* of its model, as long as that lives; or NULL */
    struct map by_module, by_tensor; /* address -> index in `modules`, `tensors` */
    struct map by_hooks; /* address of a module's dict of forward hooks -> its index */
    struct live_known *modules, *tensors;
    uint32_t n_modules, modules_room, n_tensors, tensors_room;
    uint32_t *module_of, *tensor_of; /* by number: index + 1; 0: none */
    uint32_t n_module_of, n_tensor_of;
    uint32_t *roots; /* indices in `modules` */
    uint32_t n_roots, roots_room;
    PyObject **classes; /* by class: a weak reference, owned; or NULL */
    uint32_t n_classes, classes_room;
};

/* One storage, and how its tensor is found again. */
struct live_storage {
    PyObject *weak;  /* owned; to a tensor that lies in it, or has one that does */
    PyObject *names; /* owned; a tuple of attributes or methods that lead from there to
                        a tensor in it; or NULL: it is itself one */
    const char *why; /* not NULL: why its bytes cannot be read */
    uint64_t identity; /* what torch calls it, while it lives */
    uint64_t at, bytes;
};

struct live_source {
    struct source source;
    struct arena arena;
    struct live_storage *storages; /* by the model's number */
    uint32_t n_storages, storages_room;
    const struct model
        *model;        /* which it is the source of, and who knows its objects; */
    struct live *live; /* both NULL until it is built, and once `live` is gone */
    struct live_handle *handles; /* of attributes; malloc */
    uint32_t n_handles, handles_room;
};

struct live_source *live_source_new(void); /* NULL: no memory */

/* The storage that a tensor lies in now; 0, or -1 without an exception if it has none.
 * For a tensor in the processor's memory only. */
int live_look_storage(PyObject *tensor, uint64_t *ret_identity, uint64_t *ret_at,
                      uint64_t *ret_bytes);

/* live_attributes.c: as in struct source_ops. */
int live_attributes(struct source *source, const struct attribute_of *what,
                    struct arena *arena, struct attribute **ret_attributes,
                    uint32_t *ret_n, struct err *err);
void live_forget(struct source *source);
/* live_code.c: likewise. */
int live_code(struct source *source, uint32_t class_id, struct arena *arena,
              struct class_code *ret_code, struct err *err);

/* live_text.c: an object in one line, and whether there is more below it than the text
 * tells; runs none of the user's code. */
bool live_describe(struct buf *to, const struct torch *torch, PyObject *object);
/* A str, cut where it is long. */
void live_text_name(struct buf *to, PyObject *text);
/* Of a list, tuple, dict or set; else -1. */
Py_ssize_t live_length(PyObject *object);
/* An attribute that all types have, by Python's own way: a new reference, or NULL. */
PyObject *live_type_attribute(PyTypeObject *type, const char *name);

/* What an attribute of a module is, by its name. */
enum live_key_kind {
    KEY_PUBLIC,
    KEY_HIDDEN,
    KEY_OWN, /* torch's, not worth telling */
    KEY_HOOKS,
    KEY_TRAINING,
    KEY_PARAMETERS,
    KEY_BUFFERS,
    KEY_MODULES,
    KEY_CODE,          /* of a GraphModule's forward() */
    KEY_TEMPORARY,     /* _non_persistent_buffers_set */
    KEY_FORWARD_HOOKS, /* as KEY_HOOKS; tells a replica's original, too */
};
struct live_key {
    enum live_key_kind kind;
    uint32_t name; /* string id */
};

/* Something whose node is made and whose inside is still to be unfolded. */
struct live_task {
    PyObject *object; /* held */
    uint32_t node;
    uint32_t depth; /* of lists and dicts around it, since the last module */
    uint8_t role;   /* of tensors in lists and dicts: ROLE_PLAIN, ROLE_STATE */
};

/* Value ids under way into a DICT: key, value, ... */
struct live_pairs {
    uint32_t *at;
    uint32_t n, room;
};

/* The building of one model. */
struct live_walk {
    struct build build;
    const struct torch *torch;
    struct live *live;
    struct live_source *source;
    PyObject *held;           /* a list of all objects met */
    PyObject *function_types; /* a tuple: of methods, functions, built-in ones */
    struct live_task *tasks;
    uint32_t n_tasks, tasks_room;
    struct map by_key;     /* address of a name -> index in `keys` */
    struct map by_type;    /* address of a type -> its class */
    struct map by_object;  /* address of another object -> its value */
    struct map by_storage; /* what torch calls a storage -> its number */
    struct live_key *keys;
    uint32_t n_keys, keys_room;
    struct live_pairs args, hidden, hooks; /* of the module being unfolded */
    struct live_pairs collected; /* values of the containers being looked into */
    uint32_t values_left;        /* of one attribute that may still be made */
    PyObject *inside[4]; /* the objects whose attributes are being looked into */
    uint32_t n_inside;
    uint32_t parameter_class;
    bool is_checkpoint;   /* the root is a dict or list: its dicts may be state_dicts */
    bool role_is_guessed; /* of the tensor that is being added */
    bool is_bad;          /* Python has no memory left: an exception is set */
};

/* Hold an object until the model is built. False: it cannot be, stop. */
bool live_hold(struct live_walk *walk, PyObject *object);
bool live_is_module(const struct live_walk *walk, PyObject *object);
bool live_is_tensor(const struct live_walk *walk, PyObject *object);

/* The text of a str, cut where it is absurdly long; held. Empty if it is none. */
struct str live_text(struct live_walk *walk, PyObject *text);
/* live_walk.c: the object and all that stands below it. */
int live_walk(struct live_walk *walk, PyObject *object, struct err *err);

/* A node for `object` below the task's, settled or pushed. */
void live_add(struct live_walk *walk, const struct live_task *task, struct str name,
              PyObject *object, enum tensor_role role, unsigned flags);
/* live_state.c: does what a checkpoint holds beside tensors have rows of its own, as in
 * a file: a dict, or a list of dicts? */
bool live_has_entries(const struct live_walk *walk, PyObject *object);
/* Unfold a dict that is a state_dict; false: it is none. If it is the
 * state of an optimizer, the task's role says so from now on. */
bool live_unfold_state(struct live_walk *walk, struct live_task *task);

/* An object of TorchScript's in Python, such as packed weights; what it is made of, a
 * new tuple, and the name of its class; NULL, no exception: it does not say. */
bool live_is_script_object(const struct live_walk *walk, PyObject *object);
PyObject *live_script_parts(struct live_walk *walk, PyObject *object,
                            struct str *ret_class);

/* live_tensor.c */
void live_add_tensor(struct live_walk *walk, uint32_t node, PyObject *tensor,
                     enum tensor_role role);

/* How a tensor came to be looked at: it stands in the model itself (`names` NULL), or
 * is a part of `owner`, to which `names` lead. */
struct live_way {
    PyObject *owner, *names; /* borrowed */
    int depth;
    const char *why; /* not NULL: why its values cannot be read */
};
/* A tensor on its way into the build. */
struct live_spec {
    PyObject *object;
    uint32_t node;
    struct live_way way;
    struct tensor tensor;
    const char *why;  /* not NULL: why its values cannot be read */
    bool no_storage;  /* do not ask for one */
    bool has_strides; /* else in C order */
    int rank;
    int64_t shape[LIVE_MOST_SIZES], strides[LIVE_MOST_SIZES];
    uint32_t extra[16], n_extra;
};
uint32_t live_put_tensor(struct live_walk *walk, uint32_t node, PyObject *tensor,
                         enum tensor_role role, struct live_way way);
/* An attribute, or what a method without arguments answers: a new reference, or NULL
 * without an exception. */
PyObject *live_ask(PyObject *object, PyObject *name);
/* live_parts.c: what is not a plain strided tensor says so here, and makes its parts.
 */
void live_look_special(struct live_walk *walk, struct live_spec *spec);

/* live_value.c */
uint32_t live_value(struct live_walk *walk, PyObject *object);
uint32_t live_class(struct live_walk *walk, PyTypeObject *type); /* or NO_CLASS */
/* "torch.nn.functional.relu": a class, a function, or the class of an object. The text
 * is in the build's scratch arena. */
struct str live_global_name(struct live_walk *walk, PyObject *object);
bool live_is_function(const struct live_walk *walk, PyObject *object);

#endif
