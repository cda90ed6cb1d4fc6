/* ops_in.h - shared by ops_*.c; ops.h lists them. The GIL is the lock. */
#ifndef EXT_RECORD_OPS_IN_H
#define EXT_RECORD_OPS_IN_H

#include "ext/record/ops.h"
#include "ext/record/recorder_in.h"

#include "base/map.h"
#include "run/trace_ops.h"

/* The properties of a kind of operation. */
struct ops_kind {
    PyObject *func;    /* the OpOverload or higher-order operation, held */
    PyObject *call;    /* the function to call; NULL: a higher-order operation */
    PyObject *names;   /* a tuple of str: argument names */
    PyObject *formula; /* the user's, for FLOPs; or NULL */
    uint32_t number;
    uint8_t flags; /* enum op_kind_flag */
    bool seeds;    /* backward() makes its first gradient with it: ones_like */
    uint32_t n_args;
    uint64_t writes;    /* bit i: it writes to argument i */
    int training;       /* writes only if this argument is true; -1: always */
    uint32_t *defaults; /* value ids by argument; VALUE_ID_FAILED: none */
};

/* A table of pointers. An entry is valid while its storage is not dead; invalid ones are
 * dropped when the table grows. */
struct ops_table_entry {
    uintptr_t key; /* 0: free */
    uint32_t index;
};
struct ops_table {
    struct ops_table_entry *entries;
    uint32_t n, mask;
};

/* A storage, tracked by a weak reference to its Python object, which lives exactly as
 * long as the storage. */
struct ops_storage {
    PyObject *ref;
    uintptr_t base; /* the address of its first byte; 0: none */
    uint64_t bytes;
    uint32_t number; /* of the trace */
    bool dead;
};

/* The origin of autograd nodes: an operation or (op: RUN_NONE) a call. The backward of
 * the nodes belongs to it. */
struct ops_origin {
    uint64_t sequence; /* the number of the next node after it */
    uint64_t serial;
    uint32_t kind, op, call, place, line;
};
#define OPS_NO_SEQUENCE UINT64_MAX

/* The nodes that a thread made. */
struct ops_origins {
    struct ops_origin *at; /* ascending by sequence */
    uint32_t n, room;
    uint64_t lowest; /* nodes with lower numbers are unknown */
};

enum ops_node_class {
    OPS_NODE_PLAIN,
    OPS_NODE_AFTER, /* made after its operation: a write to a slice */
};

/* Cached properties of a class of autograd nodes. Only torch's own classes, which are
 * never freed. */
struct ops_node_type {
    PyTypeObject *type;
    PyObject *method; /* _sequence_nr, held */
    bool looked;      /* `class` is set */
    enum ops_node_class class;
};
#define OPS_NODE_TYPES 32u

struct ops_thread {
    struct ops_origins origins;
    uint32_t optimizing; /* step() calls under way */
    const void *step;    /* the Python frame of the outermost; only compared */
    PyObject *leave;     /* leaves the mode that we entered here; or NULL */
    uint32_t backwards;  /* running, if the first of them entered the mode */
    bool has_mode;       /* operations are seen on this thread */
};

/* An operation under way. Tensors are those of the trace. */
struct ops_tensors {
    struct trace_op_tensor *at;
    uint32_t *values;
    uint32_t n, room;
};

struct recorder_ops {
    struct recorder *recorder;
    PyObject *describe, *run, *enter, *replay, *watch; /* watch: the weak callback */
    bool stats;
    bool over;                   /* ops_end() */
    struct recorder_ops *before; /* an ended one; or NULL */
    uint64_t count, own_ns;
    uint32_t idle; /* consecutive operations outside calls, backwards and steps */
    bool reading;  /* reading arguments, not results */
    bool full;     /* the limit is reached: values are no longer followed */
    struct ops_kind **kinds;
    uint32_t n_kinds, kinds_room;
    struct ops_table by_func; /* to kinds */
    struct ops_storage *storages;
    uint32_t n_storages, storages_room;
    struct ops_table by_object, by_address, by_ref; /* to storages */
    struct ops_thread *threads;                     /* by number */
    uint32_t n_threads, threads_room;
    struct ops_origins *retired; /* of threads that ended */
    uint32_t n_retired, retired_room;
    bool compiled; /* compiled code ran in backward */
    uint64_t
        ambiguous; /* backward operations whose node several threads could have made */
    struct ops_node_type node_types[OPS_NODE_TYPES]; /* by address */
    struct arena arena;
    struct map attributes;     /* hash of arguments -> value id */
    struct ops_tensors *spare; /* free lists of tensors: one per operation under way */
    uint32_t n_spare, spare_room;
    uint32_t region; /* the kind of compiled regions, or RUN_NONE */
    uint32_t attach; /* likewise, of ops_attach() */
    uint16_t cpu;    /* device number */
};

/* ---- ops_kinds.c ---- */
struct ops_kind *ops_kind(struct recorder_ops *ops, PyObject *func);
void ops_kinds_free(struct recorder_ops *ops);
/* The non-tensor arguments, as a dict of the trace. Never raises. */
uint32_t ops_attributes(struct recorder_ops *ops, const struct ops_kind *kind,
                        PyObject *args, PyObject *kwargs);
/* The position of a keyword argument, or UINT32_MAX. */
uint32_t ops_position(const struct ops_kind *kind, PyObject *name);
/* Does it hold tensors? If so, it is not an attribute. */
bool ops_has_tensors(PyObject *object);
/* FLOPs by the user's formula; OP_NO_FLOPS: none, or it failed. */
int64_t ops_formula(const struct ops_kind *kind, PyObject *args, PyObject *kwargs,
                    PyObject *result);

/* ---- ops_mode.c ---- */
/* One operation, from its beginning to its end. */
struct op_visit {
    struct recorder_ops *ops;
    struct stack *stack;
    struct ops_kind *kind;
    PyObject *func, *args, *kwargs;
    struct trace_op_given given;
    struct ops_tensors tensors;
    uint64_t began_ns;
};
/* Whether an operation of this kind writes to the argument. */
static inline bool ops_writes(const struct ops_kind *kind, uint32_t arg)
{
    return arg < 64 && kind->writes >> arg & 1;
}

/* ---- ops_measure.c ---- */
/* The operation returned this result, and its tensors have their values. */
void ops_measure(struct op_visit *visit, PyObject *result);

/* ---- ops_memory.c ---- */
bool ops_table_find(const struct ops_table *table, const void *key,
                    uint32_t *ret_index);
void ops_table_put(struct ops_table *table, const struct recorder_ops *ops,
                   const void *key, uint32_t index);
bool ops_memory_begin(struct recorder_ops *ops);
void ops_memory_end(struct recorder_ops *ops);
/* Describes a tensor for the trace: type, storage, offset. False: unknown. */
bool ops_look(struct recorder_ops *ops, PyObject *tensor, struct trace_op_tensor *to);

/* ---- ops_cause.c ---- */
struct ops_thread *ops_thread(struct recorder_ops *ops, uint32_t number);
/* The cached properties of a node's class; NULL: the class may be freed. */
struct ops_node_type *ops_node_type(struct recorder_ops *ops, PyObject *node);
/* Fills phase, flags, thread, call, place, line, cause and gradient of an operation of
 * this kind (NULL: none). */
void ops_cause(struct recorder_ops *ops, struct stack *stack,
               const struct ops_kind *kind, struct trace_op_given *given);
/* The number of the next node of autograd on this thread, or OPS_NO_SEQUENCE. */
uint64_t ops_sequence(void);

/* ---- ops_origin.c ---- */
/* Records the origin of an operation's nodes; call it after the operation ran. */
void ops_origin(struct recorder_ops *ops, const struct trace_op_given *given,
                uint32_t op);
/* The origin of a node; false: unknown. */
bool ops_find_origin(struct recorder_ops *ops, PyObject *node, uint64_t sequence,
                     struct ops_origin *ret_origin);
void ops_origins_free(struct recorder_ops *ops);

#endif
