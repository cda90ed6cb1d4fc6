/* op_table.h - THE TABLE of operations: the family of each, and how to count its FLOPs.
 *
 * A multiply-add is two FLOPs. Only *matrix work* has formulas: matrix products,
 * convolutions, attention, recurrent layers and their backward; elementwise operations
 * and the like are listed as not counted, never as zero. Where torch.utils.flop_counter
 * knows an operation, the numbers are equal. */
#ifndef RUN_OP_TABLE_H
#define RUN_OP_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "model/value.h"

enum op_family {
    OP_FAMILY_OTHER,
    OP_FAMILY_MATMUL,
    OP_FAMILY_CONV,
    OP_FAMILY_ATTENTION,
    OP_FAMILY_RNN,
    OP_FAMILY_NORM,
    OP_FAMILY_ACTIVATION,
    OP_FAMILY_ELEMENTWISE,
    OP_FAMILY_REDUCTION,
    OP_FAMILY_POOL,
    OP_FAMILY_EMBEDDING,
    OP_FAMILY_INDEX, /* gather, scatter, cat, split, sort */
    OP_FAMILY_VIEW,
    OP_FAMILY_COPY, /* copies, casts, allocations */
    OP_FAMILY_RANDOM,
    OP_FAMILY_LOSS,
    OP_FAMILY_OPTIMIZER,
    OP_FAMILY_LINALG, /* solve, svd, fft */
    OP_FAMILY_COUNT
};

/* A tensor among the arguments or results of an operation. */
struct op_tensor {
    const int64_t *sizes;
    uint8_t rank, dtype;
    uint16_t arg, item; /* as in struct run_op_io */
};

/* An operation that ran, as far as counting needs it. */
struct op_seen {
    struct str name;            /* "aten::convolution" */
    const struct op_tensor *in; /* lists are flattened */
    uint32_t n_in;
    const struct op_tensor *out;
    uint32_t n_out;
    const struct values *plain;
    uint32_t attributes; /* a dict in `plain`: the arguments that are not tensors */
};

/* The family of an operation; OP_FAMILY_OTHER if the table does not have it. */
enum op_family op_family_of(struct str name);
const char *op_family_name(enum op_family family); /* "matmul" */
/* Does a family do matrix work, so that operations of it should have a formula? */
bool op_family_is_matrix(enum op_family family);
/* Does the table have a formula for this operation? */
bool op_has_flops(struct str name);
/* Its FLOPs; OP_NO_FLOPS: there is no formula, or the arguments are not as expected. */
int64_t op_flops(const struct op_seen *seen);

#endif
