/* ops.h - the operations of a run: every aten operation that torch executed during the
 * recording, its input and output values, and the storages that held them.
 *
 * A *kind* is one overload of an operation: aten::add, "Tensor". A *value* is the
 * content of a tensor between two writes, seen through one view: (storage, number of
 * writes to it so far, dtype, shape, strides, offset). **An edge is a value**: the
 * operation that produced it, and those that read it. The producer of a view is the
 * operation that made it; an in-place operation makes a new value.
 *
 * Some values were never the result of an operation as a whole: `a` after `a[0] = 1`.
 * Such a value has *sources*: the results that it consists of, oldest first; each
 * overwrites its part of the storage. A value without producer and sources came from
 * outside: an input, a parameter, or a tensor written by an unrecorded operation.
 *
 * Operations are numbered in execution order. Beyond a limit they are not kept
 * individually; `totals` always includes all of them. */
#ifndef RUN_OPS_H
#define RUN_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

struct run;

enum op_phase { OP_FORWARD, OP_BACKWARD, OP_RECOMPUTE, OP_OPTIMIZER, OP_PHASES };

enum op_kind_flag {
    OP_VIEW = 1,       /* its results share the storage of an argument; nothing is
                         computed */
    OP_WRITES = 2,     /* it writes to some of its arguments */
    OP_RANDOM = 4,     /* it draws random numbers */
    OP_MAKES = 8,      /* empty*: its result has no content yet */
    OP_REGION = 16,    /* not one operation but an opaque region: compiled, scripted,
                          fused, a higher-order operation */
    OP_CUSTOM = 32,    /* registered by torch.library, not torch's own */
    OP_COUNTED = 64,   /* there is a formula for its FLOPs */
    OP_DETACHES = 128, /* its result is the argument, detached */
};

/* The name of a kind that torch does not have: torchoscope.attach() gave the input
 * tensor the name in its attribute "name". It has no results and changes nothing. */
#define OP_ATTACH "torchoscope::attach"

/* One overload of an operation, by its schema. */
struct run_op_kind {
    uint32_t name;         /* string id: "aten::conv2d" */
    uint32_t overload;     /* string id: "Tensor"; 0: the default one */
    uint32_t args, n_args; /* names of arguments: string ids in ops->args */
    uint8_t flags;         /* enum op_kind_flag */
    uint8_t family;        /* enum op_family (op_table.h) */
};

/* What tensors with the same dtype, shape and layout share. */
struct run_op_type {
    uint8_t dtype, layout, rank;
    uint16_t device;         /* index in run->devices */
    uint32_t shape, strides; /* first index in run->dims; strides may be RUN_NONE */
    uint32_t class_name;     /* string id of a subclass, or 0: a plain tensor */
    uint64_t numel, bytes;   /* of its elements: numel times the element size */
};

enum op_value_flag {
    OP_VALUE_GRAD = 1,    /* it requires a gradient */
    OP_VALUE_NO_GRAD = 2, /* it was read and requires none; neither flag: never read */
    OP_VALUE_UNSEEN = 4,  /* its only producer is empty*, but it was read: an unrecorded
                             write happened */
};

struct run_op_value {
    uint32_t type;
    uint32_t storage;  /* index in ops->storages, or RUN_NONE: it has no storage */
    uint32_t write;    /* number of earlier writes to its storage */
    uint32_t producer; /* op, or RUN_NONE */
    uint16_t output;   /* index among the producer's results */
    uint8_t flags;     /* enum op_value_flag */
    uint32_t sources, n_sources; /* in ops->sources: values, oldest first */
    uint32_t tensor; /* the parameter or buffer (in model->tensors) with this storage;
                        or RUN_NONE */
    uint32_t stats;  /* index in run->stats, or RUN_NONE */
    uint64_t offset; /* of its first element, in elements */
};

/* Memory that held values. */
struct run_op_storage {
    uint64_t bytes;
    uint32_t born;   /* the op that allocated it; RUN_NONE: it existed before */
    uint32_t seen;   /* the op that first used it */
    uint32_t died;   /* freed before this op began (n_ops: after the last); RUN_NONE:
                        it outlived the recording */
    uint32_t tensor; /* its parameter or buffer in model->tensors, or RUN_NONE */
    uint16_t device;
    uint8_t role; /* enum op_storage_role */
};
enum op_storage_role {
    OP_STORAGE_OTHER, /* activations, temporaries, inputs */
    OP_STORAGE_PARAMETER,
    OP_STORAGE_BUFFER,
    OP_STORAGE_GRADIENT,  /* of a parameter: `tensor` */
    OP_STORAGE_OPTIMIZER, /* state: outlives a step of the optimizer that made it */
};

/* A value that an op read or made. */
enum op_io_kind {
    OP_IN,
    OP_OUT,
    OP_WRITTEN, /* an argument after the op wrote to it; also if it is returned */
};
struct run_op_io {
    uint32_t value;
    uint16_t arg;  /* position among the arguments (of OP_OUT: the results) */
    uint16_t item; /* position in a list; OP_NO_ITEM: not a list */
    uint8_t kind;  /* enum op_io_kind */
    uint8_t flags; /* of OP_IN: OP_VALUE_GRAD or OP_VALUE_NO_GRAD, as it was read */
};
#define OP_NO_ITEM UINT16_MAX

enum op_flag {
    OP_RAISED = 1,
    OP_GRAD_MODE = 2, /* autograd was enabled */
    OP_INFERENCE_MODE = 4,
    OP_BEFORE_MODEL = 8, /* ran outside of all calls of the model */
};

struct run_op {
    uint32_t kind;       /* index in ops->kinds */
    uint32_t attributes; /* the arguments that are not tensors, under their names in the
                            schema: a dict in run->plain */
    uint8_t phase;       /* enum op_phase */
    uint8_t flags;       /* enum op_flag */
    uint16_t n_ios;
    uint32_t ios;   /* in ops->ios: inputs, then results, then written arguments */
    uint32_t call;  /* innermost call that contains it; in backward that of the forward
                       operation; RUN_NONE: none, or merged */
    uint32_t place; /* of the module; NO_PLACE: outside the model */
    uint32_t step, thread;
    uint32_t line;     /* string id, "net.py:41"; in backward that of `cause`; or 0 */
    uint32_t cause;    /* of a backward operation: the forward one; or RUN_NONE */
    uint32_t gradient; /* it accumulates the gradient of this parameter (in
                            model->tensors); or RUN_NONE */
    uint64_t start_ns, ns; /* without the cost of recording */
    uint64_t new_bytes;    /* of storages that it allocated */
    int64_t flops;         /* a multiply-add is two; OP_NO_FLOPS: not known */
};
#define OP_NO_FLOPS (-1)

/* All operations of one kind, phase, place and line, kept or not. */
struct run_op_total {
    uint32_t kind, place, line;
    uint8_t phase;
    uint32_t first; /* op; RUN_NONE: not kept */
    uint64_t count, ns, new_bytes;
    uint64_t flops;   /* of those whose FLOPs are known */
    uint64_t unknown; /* number of those without */
};

struct run_ops {
    struct run_op_kind *kinds;
    uint32_t n_kinds;
    uint32_t *args; /* string ids */
    uint32_t n_args;
    struct run_op_type *types;
    uint32_t n_types;
    struct run_op_value *values;
    uint32_t n_values;
    uint32_t *sources; /* values */
    uint32_t n_sources;
    struct run_op_storage *storages;
    uint32_t n_storages;
    struct run_op *ops;
    uint32_t n_ops;
    struct run_op_io *ios;
    uint32_t n_ios;
    struct run_op_total *totals; /* by phase, then the largest time first */
    uint32_t n_totals;
    uint64_t lost; /* number of operations beyond the limit: only in totals */
};

/* "forward", "backward", "recompute", "optimizer" */
const char *op_phase_name(enum op_phase phase);
/* The name of an op's kind: "aten::add". */
struct str op_name(const struct run *run, const struct run_op *op);
/* Does it use only the shape of its arguments: zeros_like, new_empty? */
bool op_only_shape(const struct run *run, const struct run_op *op);

/* Its inputs (`kind` OP_IN) or results, in order; NULL after the last. *at begins at 0:
 *   for (uint32_t at = 0; (io = op_next(run, op, OP_IN, &at));) */
const struct run_op_io *op_next(const struct run *run, const struct run_op *op,
                                enum op_io_kind kind, uint32_t *at);
/* The value of the argument with this name; NULL: it has none, or a list. */
const struct run_op_value *op_input(const struct run *run, const struct run_op *op,
                                    const char *name);
/* An attribute, as a value id of run->plain; VALUE_ID_NONE if it has no such
 * attribute. */
uint32_t op_attribute(const struct run *run, const struct run_op *op, const char *name);

/* The operations that made (part of) `value`: its producer, or those of its sources.
 * Returns their number; the first `most` go to `to`. */
uint32_t op_producers(const struct run_ops *ops, uint32_t value, uint32_t *to,
                      uint32_t most);

/* The same for many values, and for values with thousands of sources: each search takes
 * time linear in its results. */
struct op_walk {
    const struct run_ops *ops;
    uint32_t *found; /* the producers of the last search */
    uint32_t *stack;
    uint32_t *op_seen, *value_seen; /* index of the search */
    uint32_t search;
};
/* In the arena; -1 if it is spent. */
int op_walk_init(struct op_walk *walk, const struct run_ops *ops, struct arena *arena);
/* Fills walk->found and returns its length. */
uint32_t op_walk(struct op_walk *walk, uint32_t value);

#endif
