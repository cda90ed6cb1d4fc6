/* torch_fold_state_in.h - shared by the parts of the torch fold.
 *
 *   torch_fold.c          the walk: an explicit stack of things to unfold
 *   torch_thing.c         the kind of a node: tensor, module, dict, list, object, value
 *   torch_names.c         known globals; persistent ids
 *   torch_tensor.c        one tensor with its wrappers
 *   torch_rebuild.c       rebuild functions
 *   torch_tensor_parts.c  tensors made of tensors
 *   torch_numpy.c         numpy arrays
 *   torch_module.c        nn.Modules
 *   torch_checkpoint.c    dicts, lists, state_dicts, optimizers, other objects
 *
 * Nothing here recurses. An unfolder makes the places of all children in order, folds
 * the leaves (tensors, plain values) at once and pushes the others; the walk pops them
 * in pre-order. A node is unfolded only once, so that the work is linear in the nodes
 * and references. */
#ifndef READ_TORCH_TORCH_FOLD_STATE_IN_H
#define READ_TORCH_TORCH_FOLD_STATE_IN_H

#include "base/map.h"
#include "model/build.h"
#include "read/pickle/pickle_in.h"
#include "read/torch/torch_fold_in.h"

#define FOLD_MAX_RANK  64
#define FOLD_MAX_NAME  4096
#define FOLD_MAX_DEPTH 1000                /* of the places shown */
#define FOLD_MAX_PLAIN ((uint32_t)1 << 18) /* places made for plain values */

#define FOLD_CLASS_SHIFT 8

/* Known globals (torch_names.c). */
enum torch_name {
    NAME_NOT_SEEN, /* not looked up yet */
    NAME_OTHER,
    NAME_REBUILD_TENSOR,
    NAME_REBUILD_TENSOR_V2,
    NAME_REBUILD_TENSOR_V3,
    NAME_REBUILD_QTENSOR,
    NAME_REBUILD_SPARSE,
    NAME_REBUILD_SPARSE_CSR,
    NAME_REBUILD_NESTED,
    NAME_REBUILD_META,
    NAME_REBUILD_WRAPPER,
    NAME_REBUILD_FROM_NUMPY,
    NAME_REBUILD_FROM_CPU,
    NAME_REBUILD_PARAMETER,
    NAME_REBUILD_PARAMETER_STATE,
    NAME_REBUILD_FROM_TYPE,
    NAME_PARAMETER_CLASS, /* torch.nn.parameter.Parameter, Buffer */
    NAME_UNINITIALIZED,   /* a lazy module's parameter: no shape yet */
    NAME_TENSOR_CLASS,    /* torch.FloatTensor, Variable, with a state (0.1 - 0.3) */
    NAME_LAST_TENSOR = NAME_TENSOR_CLASS,
    NAME_LOAD_FROM_BYTES,
    NAME_GRAPH_MODULE,
    NAME_NUMPY_RECONSTRUCT,
    NAME_NUMPY_FROMBUFFER,
    NAME_JOBLIB_ARRAY, /* its elements follow it in the file */
    NAME_NUMPY_PLAIN,  /* numpy.dtype and scalars: always plain values */
    NAME_METHOD,       /* getattr(object, name): always a plain value */
    NAME_TYPE_TAG,     /* restore_type_tag(object, type): the object */
    NAME_JIT_LIST,     /* build_intlist([...]) and others: a list */
    NAME_SIZE,         /* torch.Size((...)) */
    NAME_OMEGACONF,    /* its content is in _content or _val */
};

/* The kind of a node in the tree. */
enum thing {
    THING_NOT_SEEN,
    THING_VALUE, /* the leaves come first */
    THING_TENSOR,
    THING_STORAGE, /* a bare storage: shown as a tensor of one dimension */
    THING_ARRAY,   /* a numpy array of numbers: likewise a tensor */
    THING_MODULE,
    THING_DICT,
    THING_LIST,
    THING_OBJECT, /* anything else with attributes or items of its own */
    THING_FILE,   /* bytes that hold a whole torch file, or a pickle of joblib's */
};

/* The kind of content below a node; each includes those before it. */
enum weight {
    WEIGHT_NOT_SEEN,
    WEIGHT_BUSY, /* being computed: the node contains itself */
    WEIGHT_FLAT, /* scalars, and lists of them */
    WEIGHT_STRUCTURE,
    WEIGHT_HOLDS, /* tensors or modules */
};

/* Added to a role that is guessed by name (in a state_dict). */
#define FOLD_GUESSED 0x10u

/* The meaning of a persistent id. */
enum persistent_kind { PERSISTENT_OTHER, PERSISTENT_STORAGE, PERSISTENT_CLASS };
struct persistent {
    uint8_t kind;
    uint8_t dtype; /* of the storage; UNKNOWN if untyped */
    bool untyped;
    uint16_t device;
    uint32_t id; /* the storage, or the class */
};

/* A thing that has a place but is not unfolded yet. */
struct fold_task {
    node_id node;
    uint32_t place;
    uint16_t depth;
    uint8_t role; /* of plain tensors below it: ROLE_PLAIN, ROLE_STATE */
};

/* Value ids for a DICT: key, value, ... */
struct fold_values {
    uint32_t *at;
    uint32_t n, room;
};

struct torch_fold {
    struct build *build;
    const struct pickle *pickle;
    const struct torch_dialect *dialect;
    uint32_t n_nodes; /* of the pickle: the length of the next three arrays */
    /* By kind of node. GLOBAL: enum torch_name, and above FOLD_CLASS_SHIFT its class
     * + 1; PERSISTENT: its index in `persistents` + 1; a location string: its device
     * + 1; a tensor: its number + 1; anything with a place: that place + 1. */
    uint32_t *mark;
    uint8_t *thing;  /* enum thing */
    uint8_t *weight; /* enum weight */
    struct persistent *persistents;
    uint32_t n_persistents, persistents_room;
    struct fold_task *tasks;
    uint32_t n_tasks, tasks_room;
    struct fold_look *looks; /* the stack of fold_weight() */
    uint32_t n_looks, looks_room;
    struct map values; /* node -> value id: long strings, arrays that are not tensors */
    struct map files;  /* a torch file in bytes -> its storage's index in `persistents`;
                          the data of an array -> its storage */
    struct map opened; /* the torch files in bytes that were read */
    struct fold_values args, hidden, hooks; /* of the module being unfolded */
    uint32_t n_plain;                       /* places of plain values */
    uint32_t parameter_class;
    node_id mesh; /* of the last DTensor, or NO_NODE */
    /* The first items of the last persistent id; almost all are the same. */
    node_id storage_word, storage_class;
    enum dtype storage_dtype;
    bool storage_untyped;
    uint64_t looks_left; /* a limit, see fold_next() */
    bool said_depth, said_plain, said_looks;
};

/* torch_names.c */
enum torch_name fold_name(struct torch_fold *fold, node_id global);
enum torch_name fold_callee_name(struct torch_fold *fold, node_id node);
/* The meaning of a PERSISTENT node. The pointer is valid until the next call. */
const struct persistent *fold_persistent(struct torch_fold *fold, node_id node);
/* The class of an object (a GLOBAL, or a persistent id with source); NO_CLASS. */
uint32_t fold_class(struct torch_fold *fold, node_id class_node);
uint16_t fold_device(struct torch_fold *fold, node_id location);
enum dtype fold_dtype(struct torch_fold *fold, node_id global); /* torch.float16 */

/* torch_thing.c */
enum thing fold_thing(struct torch_fold *fold, node_id node);
enum weight fold_weight(struct torch_fold *fold, node_id node);
/* The node inside of wrappers: type tags, omegaconf's value nodes. */
node_id fold_inner(struct torch_fold *fold, node_id node);
/* The dict of an object's attributes (its BUILD state), or NO_NODE; *ret_slots is the
 * second one of a (dict, slots) pair. */
node_id fold_attributes(struct torch_fold *fold, node_id node, node_id *ret_slots);

/* The pairs of a dict in any representation:
 *     struct fold_pairs pairs = fold_pairs(fold, dict);
 *     while (fold_next(fold, &pairs, &key, &value)) ... */
struct fold_pairs {
    const node_id *items; /* key, value, ...; NULL: ask pickle_dict_at() */
    node_id dict;
    uint32_t n, next;
};
struct fold_pairs fold_pairs(struct torch_fold *fold, node_id dict);
void fold_pair(const struct torch_fold *fold, const struct fold_pairs *pairs,
               uint32_t i, node_id *ret_key, node_id *ret_value);
/* The next pair; false: no more pairs, or fold_go_on() returned false. */
bool fold_next(struct torch_fold *fold, struct fold_pairs *pairs, node_id *ret_key,
               node_id *ret_value);
/* The node with the pairs or items of a container: itself, except for TorchScript's
 * lists, arrays of objects and omegaconf's containers. */
node_id fold_content(struct torch_fold *fold, node_id node);

/* torch_fold.c */
/* Make a place for `node` below `parent`, then fold or push it. `role` is for tensors
 * (perhaps with FOLD_GUESSED), `flags` are the place's. */
void fold_add(struct torch_fold *fold, const struct fold_task *up, uint32_t parent,
              struct str name, node_id node, unsigned role, unsigned flags);
/* The same, but always push it: the parts of a tensor may be tensors with parts, to any
 * depth. Ignores NO_NODE. */
void fold_add_later(struct torch_fold *fold, const struct fold_task *up,
                    uint32_t parent, struct str name, node_id node);
uint32_t fold_value(struct torch_fold *fold, node_id node);
struct str fold_index_name(char text[16], uint32_t i);
/* May a loop over a container continue? False if memory is spent, the work is
 * cancelled, or a file makes us walk the same containers too many times, which adds a
 * finding. */
bool fold_go_on(struct torch_fold *fold);
/* The text of a key as a name of limited length; empty: not a text. */
struct str fold_key(const struct torch_fold *fold, node_id key);

/* Read the torch file in the argument of the call `node` into `place`. */
int fold_open_bytes(struct torch_fold *fold, uint32_t place, node_id node,
                    struct err *err);

/* torch_tensor.c */
void fold_tensor(struct torch_fold *fold, const struct fold_task *up, uint32_t place,
                 node_id node, unsigned role);

/* torch_module.c, torch_checkpoint.c: unfold one thing below its place. */
bool fold_is_module(struct torch_fold *fold, node_id node);
void unfold_module(struct torch_fold *fold, const struct fold_task *task);
void unfold_dict(struct torch_fold *fold, const struct fold_task *task);
void unfold_items(struct torch_fold *fold, const struct fold_task *task);
void unfold_object(struct torch_fold *fold, const struct fold_task *task);

/* `id` must be a node of the pickle. */
static inline const struct node *fold_node(const struct torch_fold *fold, node_id id)
{
    return &fold->pickle->nodes[id];
}

/* The state that BUILD set, or NO_NODE. */
static inline node_id fold_state(const struct torch_fold *fold, node_id id)
{
    return node_state(fold->pickle, fold_node(fold, id));
}

static inline bool fold_is(const struct torch_fold *fold, node_id id,
                           enum node_kind kind)
{
    return id < fold->n_nodes && fold->pickle->nodes[id].kind == kind;
}

#endif
