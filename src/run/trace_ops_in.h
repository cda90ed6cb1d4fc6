/* trace_ops_in.h - the operations of a trace, for trace_ops*.c only. */
#ifndef RUN_TRACE_OPS_IN_H
#define RUN_TRACE_OPS_IN_H

#include "base/map.h"
#include "run/op_table.h"
#include "run/trace_in.h"
#include "run/trace_ops.h"

/* The bytes that a type spans, from its first element. */
struct op_extent {
    uint64_t bytes;
    bool dense;      /* it has no holes: all of these bytes belong to it */
    uint8_t element; /* bytes of one */
    /* In elements: `inner` elements of every `row` belong to it, at the same offset in
     * each row (a chunk of the columns of a matrix). A row of 0: irregular or dense. */
    uint64_t row, inner;
};

/* A write to a storage: the value after it. */
struct op_write {
    uint32_t value;
    uint32_t before; /* the write before it, or RUN_NONE */
};

struct op_memory {
    struct run_op_storage storage;
    uint32_t writes; /* number of writes so far */
    uint32_t base;   /* number of writes when its content was last unknown */
    uint32_t newest; /* in ops->writes, or RUN_NONE */
    bool fresh;      /* no operation used it yet */
    bool valued;     /* it has values */
    bool detached;   /* some of them are results of detach() */
};

struct trace_ops {
    struct arena arena; /* released with the trace */
    uint32_t most;      /* operations kept one by one */
    struct run_op_kind *kinds;
    uint32_t n_kinds, kinds_room;
    uint32_t *args;
    uint32_t n_args, args_room;
    struct run_op_type *types;
    struct op_extent *extents; /* by type */
    uint32_t n_types, types_room, extents_room;
    struct map types_by_hash;
    uint32_t recent[4]; /* types, by rank: the next tensor is often like the last */
    struct run_op_value *values;
    uint32_t n_values, values_room;
    struct map values_by_key;
    uint32_t *sources;
    uint32_t n_sources, sources_room;
    struct op_memory *storages;
    uint32_t n_storages, storages_room;
    struct op_write *writes;
    uint32_t n_writes, writes_room;
    uint32_t *found; /* writes that make up a value: see find_writes() */
    uint32_t n_found, found_room;
    struct run_op *ops;
    uint64_t *serials; /* of the call of each */
    uint32_t n_ops, ops_room, serials_room;
    struct run_op_io *ios;
    uint32_t n_ios, ios_room;
    struct run_op_total *totals;
    uint32_t n_totals, totals_room;
    struct map totals_by_key;
    struct stats *stats;
    uint32_t n_stats, stats_room;
    /* FLOPs of operations seen before: by kind, attributes and types of tensors. */
    int64_t *flops;
    uint32_t n_flops, flops_room;
    struct map flops_by_key;
    struct op_tensor *tensors; /* of the operation being counted */
    uint32_t tensors_room;
    uint64_t lost;
};

/* While recording: the result of detach() differs from its argument by this bit in
 * `write`; `flags` has bits beyond these. */
#define OP_DETACHED_WRITE 0x80000000u
#define OP_VALUE_FLAGS    (OP_VALUE_GRAD | OP_VALUE_NO_GRAD | OP_VALUE_UNSEEN)

/* Adds sizes or strides to those of the trace, and returns their index; RUN_NONE: out
 * of memory (trace_value.c). */
uint32_t trace_dims(struct trace *trace, const int64_t *dims, int rank);
/* The FLOPs of an operation; OP_NO_FLOPS: unknown. */
int64_t trace_op_flops(struct trace *trace, const struct trace_op_given *op);

/* Copies the operations into a run (trace_ops_finish.c). `call_of` maps the serial of a
 * call to its index in the run, or RUN_NONE. */
int trace_ops_finish(const struct trace *trace, struct run *run,
                     uint32_t (*call_of)(const void *user, uint64_t serial),
                     const void *user);

#endif
