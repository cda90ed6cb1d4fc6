/* op_table.h - THE TABLE of operations: the family of each, and how to count its FLOPs.
 *
 * A multiply-add is two FLOPs; a complex number counts as one. Only *matrix work* has
 * formulas: matrix products, convolutions, attention, recurrent layers, their backward,
 * and embedding bags (one addition per element, two FLOPs if samples have weights).
 * Other operations, such as elementwise ones, are not counted; they are not zero
 * either. Decompositions and FFTs (OP_FAMILY_LINALG) are not counted because the work
 * of an SVD depends on its values.
 *
 * The numbers equal those of torch.utils.flop_counter where it has any, with one
 * exception: for the weight gradient of a convolution with groups it counts every
 * group's input channels for every group; here each channel counts once. Like there,
 * padding, biases, causal masks and dropout are ignored. */
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
    OP_FAMILY_ACTIVATION, /* also softmax */
    OP_FAMILY_ELEMENTWISE,
    OP_FAMILY_REDUCTION, /* also cumsum */
    OP_FAMILY_POOL,      /* also resampling: upsample, grid_sample, roi_align */
    OP_FAMILY_EMBEDDING,
    OP_FAMILY_INDEX,  /* gather, scatter, cat, sort */
    OP_FAMILY_VIEW,   /* reshape, split, detach: nothing is computed */
    OP_FAMILY_COPY,   /* copies, casts, padding, new tensors */
    OP_FAMILY_RANDOM, /* also dropout */
    OP_FAMILY_LOSS,
    OP_FAMILY_OPTIMIZER, /* fused steps; others consist of elementwise operations */
    OP_FAMILY_LINALG,    /* solve, svd, fft */
    OP_FAMILY_COUNT
};

/* A tensor among the arguments or results of an operation. */
struct op_tensor {
    const int64_t *sizes;
    uint8_t rank, dtype;
    uint16_t arg, item; /* as in struct run_op_io */
    uint8_t layout;     /* enum layout; the sizes of a nested tensor are not used */
    int64_t stored;     /* elements that a sparse tensor stores; 0: not known */
};

/* An executed operation, reduced to what counting needs. */
struct op_seen {
    struct str name;            /* "aten::convolution" */
    const struct op_tensor *in; /* lists are flattened */
    uint32_t n_in;
    const struct op_tensor *out; /* of an in-place or out= operation: what it wrote */
    uint32_t n_out;
    const struct values *plain;
    uint32_t attributes; /* a dict in `plain`: the non-tensor arguments, including
                            defaults. A packed weight of a quantized convolution is a
                            dict or an object with the list `sizes` */
};

/* The name without the common namespace: "conv2d", "Conv". */
struct str op_short_name(struct str name);
/* The family of an operation; OP_FAMILY_OTHER if it is not in the table. In-place,
 * backward and similar variants have the family of the base operation. */
enum op_family op_family_of(struct str name);
const char *op_family_name(enum op_family family); /* "matmul" */
/* Does this family do matrix work? If one of its operations has no FLOPs, a sum is
 * incomplete. */
bool op_family_is_matrix(enum op_family family);
/* Does the table have a formula for this operation? */
bool op_has_flops(struct str name);
/* Its FLOPs; OP_NO_FLOPS: there is no formula, the arguments are not as expected, or
 * the number does not fit. */
int64_t op_flops(const struct op_seen *seen);

#endif
