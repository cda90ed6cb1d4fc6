/* trace_ops.h - records the operations of a run as they happen. Part of a trace
 * (trace.h), with the same rules: no function here fails its caller.
 *
 * The recorder knows tensors; this file knows numbers. The recorder assigns a number to
 * each new storage (trace_op_storage) and reports when it is freed; it assigns numbers
 * to kinds and types; and after each operation it reports the inputs and outputs
 * (trace_op). This file derives values, their producers and sources. */
#ifndef RUN_TRACE_OPS_H
#define RUN_TRACE_OPS_H

#include "run/ops.h"
#include "run/trace.h"

/* Operations kept individually by default; later ones only enter the totals. */
#define TRACE_OPS_MOST (1u << 18)

/* Starts recording operations and keeps up to `most`; 0: TRACE_OPS_MOST. False: out of
 * memory. */
bool trace_ops_begin(struct trace *trace, uint32_t most);

/* Adds a kind and returns its number; the recorder caches it. */
uint32_t trace_op_kind(struct trace *trace, const char *name, const char *overload,
                       const char *const *args, uint32_t n_args, uint8_t flags);
/* The number of a type. `like` has all but shape, strides, numel and bytes; strides may
 * be NULL. RUN_NONE: out of memory. */
uint32_t trace_op_type(struct trace *trace, const struct run_op_type *like,
                       const int64_t *sizes, const int64_t *strides);
/* Adds a new storage. It belongs to the operation that returns it next; if it appears
 * as an argument first, it existed before. */
uint32_t trace_op_storage(struct trace *trace, uint64_t bytes, uint16_t device,
                          uint32_t tensor, enum op_storage_role role);
void trace_op_died(struct trace *trace, uint32_t storage);
void trace_op_role(struct trace *trace, uint32_t storage, enum op_storage_role role,
                   uint32_t tensor);
/* Did detach() return a tensor in this storage? Then a tensor in it that requires a
 * gradient may be that one, after requires_grad_(). */
bool trace_op_detached(const struct trace *trace, uint32_t storage);
/* The storage was written outside of recorded operations: its values are new. */
void trace_op_touched(struct trace *trace, uint32_t storage);

/* An input or output tensor of an operation. */
struct trace_op_tensor {
    uint32_t type, storage; /* storage may be RUN_NONE */
    uint64_t offset;
    uint16_t arg, item;
    uint8_t kind;  /* enum op_io_kind; OP_WRITTEN: the argument that was written to, in
                      its state after the operation */
    uint8_t flags; /* of an argument: OP_VALUE_GRAD (optionally with TRACE_OP_LEAF) or
                      OP_VALUE_NO_GRAD; of a result 0 */
};
/* It requires a gradient, but no operation with gradients made it. Needed only if
 * trace_op_detached(). */
#define TRACE_OP_LEAF 0x40

struct trace_op_given {
    uint32_t kind, attributes;
    uint8_t phase, flags;
    uint32_t thread, line;
    uint32_t call, place; /* call: of the trace, with its serial; or RUN_NONE */
    uint64_t serial;
    uint32_t cause, gradient;
    uint64_t sequence; /* the recorder's own */
    uint64_t start_ns, ns;
    int64_t flops; /* from a formula of the user; OP_NO_FLOPS: use the table */
    const struct trace_op_tensor *tensors; /* arguments, then results, then written */
    uint32_t n_tensors;
};
/* Records an operation and sets values[0..n_tensors) to the value of each tensor.
 * Returns its number; RUN_NONE: beyond the limit, and `values` is unchanged. */
uint32_t trace_op(struct trace *trace, const struct trace_op_given *op,
                  uint32_t *values);
/* The number of the next operation. */
uint32_t trace_op_next(const struct trace *trace);

/* The current value of a tensor outside of an operation: an argument or result of a
 * module. RUN_NONE: unknown. */
uint32_t trace_op_value(struct trace *trace, uint32_t type, uint32_t storage,
                        uint64_t offset);
/* Sets the call, place and line of `to` to those of the operation that made a tensor
 * which autograd treats as a leaf. False: no recorded operation did. */
bool trace_op_made(struct trace *trace, const struct trace_op_tensor *leaf,
                   struct trace_op_given *to);
/* Is the value from before the recording and outside of the model, with unknown
 * content? */
bool trace_op_unknown(const struct trace *trace, uint32_t value);
/* The statistics of a value. */
void trace_op_stats(struct trace *trace, uint32_t value, const struct stats *stats);

/* The open call on this thread, its serial and its place; RUN_NONE: none. */
uint32_t trace_open_call(const struct trace *trace, uint32_t thread,
                         uint64_t *ret_serial, uint32_t *ret_place);

#endif
