/* compare.h - how the values of two tensors of one shape differ.
 * Equal bytes are found first, at the speed of reading; where the bytes differ, the
 * values are compared as numbers, across dtypes, strides and byte orders. Two NaN are
 * equal, and so are 0 and -0. Quantised tensors with one scale are compared by the
 * values that they stand for (`extra`: scale, zero_point), complex ones by absolute
 * value of the difference. */
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
    uint64_t one_sided; /* of those, where one side alone is finite, or the infinities
                           (or NaN and an infinity) differ */
    double max_abs;     /* the largest |left - right| of two finite values; 0 if none */
    uint64_t max_at;    /* where it stands, in C order */
    double squares;     /* sum of (left - right)^2 over pairs of finite values */
    double left_squares; /* sum of left^2 over the same pairs; 0 if nothing differs, for
                            then nobody asked */
    /* Over the same pairs, likewise 0 if nothing differs. Sums of the tensors' values;
     * of complex ones both stay 0. */
    uint64_t finite;
    double left_sum, right_sum, right_squares;
    /* Sums of squares about the mean of each tensor, and of products of these: all 0
     * where one of the tensors is constant. */
    double left_spread, right_spread, joint_spread;
    bool rounding; /* the dtypes differ, and every right value is the left one rounded
                      to its dtype */
    bool cut;      /* one of them ended early; compare_tensors() fails instead, with
                      ERR_UNSUPPORTED and "cut short" */
};

/* ||left - right|| / ||left||; 0 if nothing differs; infinite where left is all 0. */
double compared_relative(const struct compared *compared);
/* The correlation of left and right values, each tensor about its own mean: 1 if they
 * are in proportion, near 0 if one says nothing about the other. NaN: not known, as
 * nothing differs or all values of one side are equal. */
double compared_correlation(const struct compared *compared);
/* Are these values that have nothing to do with each other, as two initialisations
 * have? Measured by correlation, since training can move weights farther than their
 * norm: 3000 steps that made a small net learn random labels by heart left 0.5 to 0.8
 * of it, while the norm of the difference was 1.4 to 4.9 times that of the weights;
 * other seeds gave 0 +- 1/sqrt(n). The line is at 0.1, and at three times that chance
 * (0.75 at most). */
bool compared_unrelated(const struct compared *compared);
/* Tensors with fewer values are too small to be judged by themselves. */
#define COMPARED_FEW 1024
void compared_merge(struct compared *into, const struct compared *more);

struct compare_side {
    const struct model *model;
    const struct tensor *tensor;
};

/* Both have the same number of elements, taken in C order (so a reshaped tensor may be
 * compared too). `work` counts the bytes of both. Fails with ERR_UNSUPPORTED and a
 * sentence where values cannot be read or hold no numbers that can be compared;
 * ERR_CANCELLED when stopped. */
int compare_tensors(struct compare_side left, struct compare_side right,
                    struct tolerance tolerance, struct work *work,
                    struct compared *ret_compared, struct err *err);

/* Part of one against the whole of the other: elements of `whole` whose index in
 * dimension `dim` (0 or 1) lies in [from, from + the part's size there). This is how a
 * fused tensor (qkv) holds its parts. The whole is the left one of the numbers. */
int compare_part(struct compare_side whole, uint32_t dim, uint64_t from,
                 struct compare_side part, struct work *work,
                 struct compared *ret_compared, struct err *err);

/* Is `right` the transpose of `left` (two dimensions)? 1, 0 or -1. */
int compare_transposed(struct compare_side left, struct compare_side right,
                       struct work *work, struct err *err);

/* A number by which equal contents are found: of dtype, count and up to 1536 elements
 * (the first, the last and some between). Equal tensors have equal numbers; what has an
 * equal number is probably equal, and compare_tensors() tells. A tensor whose elements
 * in the sample are all equal (ones, zeros) says so in *ret_plain: its content tells
 * nothing about which one it is. */
int compare_sample(struct compare_side side, uint64_t *ret_sample, bool *ret_plain,
                   struct err *err);

#endif
