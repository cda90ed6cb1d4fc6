/* compare.h - compares the values of two tensors of one shape. Equal bytes are skipped
 * at the speed of reading; from the first difference on, values are compared as
 * numbers, across dtypes, strides and byte orders. NaN equals NaN and 0 equals -0.
 * Quantised tensors are compared by their dequantised values, complex ones by the
 * absolute value of the difference. */
#ifndef MEASURE_COMPARE_H
#define MEASURE_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/work.h"
#include "model/model.h"

/* Two values are close if |left - right| <= absolute + relative * |left|. */
struct tolerance {
    double relative, absolute; /* both 0: only equal values are close */
};

struct compared {
    uint64_t count;     /* values compared */
    uint64_t different; /* not equal */
    uint64_t beyond;    /* of those, not close */
    uint64_t one_sided; /* of those, pairs that are not two finite values */
    double max_abs;     /* the largest |left - right| of two finite values; 0 if none */
    uint64_t max_at;    /* its index in C order */
    double squares;     /* sum of (left - right)^2 over pairs of finite values */
    /* Over the same pairs; all 0 if nothing differs. For complex values left_sum and
     * right_sum are 0. */
    uint64_t finite; /* number of these pairs */
    double left_squares, right_squares;
    double left_sum, right_sum;
    /* Sums of squares about the mean of each tensor, and of their products; all 0 if one
     * of the tensors is constant. */
    double left_spread, right_spread, joint_spread;
    bool rounding; /* the dtypes differ, and every right value is the left one rounded
                      to its dtype */
};

/* ||left - right|| / ||left||; 0 if nothing differs; infinite if left is all 0. */
double compared_relative(const struct compared *compared);
/* The correlation of left and right values, about the mean of each tensor. NaN if
 * nothing differs or all values of one side are equal. */
double compared_correlation(const struct compared *compared);
/* Are the values unrelated, like two random initialisations? Decided by correlation,
 * because training can move weights farther than their norm: 3000 steps in which a small
 * net memorised random labels left a correlation of 0.5 to 0.8, while the difference had
 * 1.4 to 4.9 times the norm of the weights; other seeds gave 0 +- 1/sqrt(n). The
 * threshold is 0.1 or 3/sqrt(n), whichever is larger, at most 0.75. */
bool compared_unrelated(const struct compared *compared);
/* Tensors with fewer values are too small for compared_unrelated(). */
#define COMPARED_FEW 1024
void compared_merge(struct compared *into, const struct compared *more);

struct compare_side {
    const struct model *model;
    const struct tensor *tensor;
};

/* Compare two tensors with the same number of elements in C order (so a reshaped tensor
 * too). `work` counts the bytes of both. Fails with ERR_UNSUPPORTED if values cannot be
 * read or are not comparable numbers, with ERR_CANCELLED when stopped. */
int compare_tensors(struct compare_side left, struct compare_side right,
                    struct tolerance tolerance, struct work *work,
                    struct compared *ret_compared, struct err *err);

/* What a converter did to the numbers of one side: done to that side while it is read,
 * so that only other differences remain. */
enum compare_edit_kind {
    EDIT_NONE,
    EDIT_PERMUTED,   /* rows, as llama.cpp orders those of q and k: in each of `n` heads
                        the two halves are interleaved */
    EDIT_TRANSPOSED, /* two dimensions */
    EDIT_PLUS_ONE,   /* 1 added, in float32 */
    EDIT_EXPONENT,   /* -exp(x), in float32; its last bits are not compared */
    EDIT_GROUPED, /* rows, as llama.cpp orders those of a fused qkv: those of q, k and v
                        of each of `n` heads become those of q, of k, of v */
    EDIT_RESHAPED, /* the shape alone */
    EDIT_SLICE,    /* index `n` of the first dimension: one tensor of a stack */
};
struct compare_edit {
    uint8_t kind; /* enum compare_edit_kind */
    bool right;   /* the side to change is the right one */
    uint32_t n;
};
/* Does the side to change have a shape for this? */
bool compare_editable(struct compare_side side, struct compare_edit edit);

/* As compare_tensors(), with an edit. Elements are counted in the order that it makes.
 * Fails with ERR_UNSUPPORTED if the shape does not allow it. */
int compare_edited(struct compare_side left, struct compare_side right,
                   struct compare_edit edit, struct tolerance tolerance,
                   struct work *work, struct compared *ret_compared, struct err *err);

/* Compare a slice of `whole` with `part`: indices [from, from + the part's size) of
 * dimension `dim` (0 or 1), as in a fused tensor (qkv). `whole` is the left side. */
int compare_part(struct compare_side whole, uint32_t dim, uint64_t from,
                 struct compare_side part, struct work *work,
                 struct compared *ret_compared, struct err *err);

/* Is `right` the transpose of `left` (two dimensions)? 1, 0 or -1. */
int compare_transposed(struct compare_side left, struct compare_side right,
                       struct work *work, struct err *err);

/* A hash of dtype, count and up to 1536 elements (first, middle, last). Equal tensors
 * have equal hashes; equal hashes mean probably equal, compare_tensors() confirms.
 * *ret_plain: all sampled elements are equal (ones, zeros), so the content does not
 * identify the tensor. */
int compare_sample(struct compare_side side, uint64_t *ret_sample, bool *ret_plain,
                   struct err *err);
/* The same of its transpose; it has two dimensions. */
int compare_sample_transposed(struct compare_side side, uint64_t *ret_sample,
                              bool *ret_plain, struct err *err);

#endif
