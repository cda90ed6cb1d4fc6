/* compare_in.h - what the files that compare values share.
 *
 *   compare.c           two tensors, walked side by side in chunks; the doors
 *   compare_view.c      a part of a tensor, or its transpose, as a tensor
 *   compare_quantiser.c what the integers of quantised tensors stand for
 *   compare_numbers.c   the sums over a chunk of doubles
 *   compare_round.c     is one number the other one, rounded?
 *   compare_sample.c    a number by which equal contents are found */
#ifndef MEASURE_COMPARE_IN_H
#define MEASURE_COMPARE_IN_H

#include "measure/compare.h"
#include "measure/elements_in.h"

/* Elements that are turned into doubles at once: both sides stay in the first cache. */
#define COMPARE_CHUNK 1024

/* ---- quantised tensors ---- */

/* value = (code - zero point) * scale, for the whole tensor or for each index of one
 * dimension; in float32 as torch does it, or in float64 and rounded to float32 then,
 * which is what it does with channels whose scales are float64. */
struct quantiser {
    bool scaled;              /* else the codes themselves are compared */
    double scale, zero;       /* of the whole tensor */
    double *scales, *zeros;   /* of each channel, owned; NULL: of the whole tensor */
    uint64_t channels, inner; /* element i is of channel i / inner % size */
    uint64_t size, shift;     /* of which `size` are walked, from `shift` on */
    bool wide;                /* the scales are float64 */
    int axis;
};

/* What the tensor says of itself. Fails where a scale is said but not at hand. */
int quantiser_open(struct quantiser *quantiser, struct compare_side side,
                   struct err *err);
/* Once more for a tensor that looks at the same elements in another shape. */
void quantiser_fit(struct quantiser *quantiser, struct compare_side side);
/* Do equal codes stand for equal values? */
bool quantiser_equal(const struct quantiser *a, const struct quantiser *b);
/* Turn n codes, the first of which is element `first`, into what they stand for. */
void quantiser_apply(const struct quantiser *quantiser, uint64_t first, size_t n,
                     double *values);
void quantiser_close(struct quantiser *quantiser);

/* One side of a comparison. */
struct compare_input {
    struct compare_side side;
    struct quantiser quantiser;
};

/* ---- views ---- */

/* A tensor over the storage of another, and a model that holds its sizes. */
struct compare_view {
    struct model model;
    struct tensor tensor;
    int64_t dims[2 * ELEMENTS_RANK];
};

/* Make the input look at `n` indices of dimension `dim`, from `from` on. */
void compare_narrow(struct compare_input *input, struct compare_view *view,
                    uint32_t dim, uint64_t from, uint64_t n);
/* Make it look at the transpose of its two dimensions. */
void compare_swap(struct compare_input *input, struct compare_view *view);

/* ---- numbers ---- */

/* A chunk of both sides as doubles. */
struct compare_chunk {
    size_t n;
    double left[2 * COMPARE_CHUNK], right[2 * COMPARE_CHUNK]; /* complex: pairs */
    /* What 64-bit integers have beyond their double. */
    double left_rest[COMPARE_CHUNK], right_rest[COMPARE_CHUNK];
    /* |left - right|; negative where one of them is not finite. */
    double distance[2 * COMPARE_CHUNK];
};

/* Count and sum what differs in the chunk: all but `count`, `max_at`, `rounding`. */
void compare_reals(struct compare_chunk *chunk, struct tolerance tolerance,
                   struct compared *ret_part);
/* The same with the rests of 64-bit integers. */
void compare_wide(struct compare_chunk *chunk, struct tolerance tolerance,
                  struct compared *ret_part);
/* The same of pairs. */
void compare_complex(struct compare_chunk *chunk, struct tolerance tolerance,
                     struct compared *ret_part);
/* Decode as elements_decode() does, faster for the common types. */
void compare_decode(enum dtype dtype, const void *at, size_t first, size_t n,
                    double *to);

/* Is each of n doubles on the right the one on the left, rounded to the nearest value
 * that `to` has, to even where there are two? An infinity is the rounding of what is
 * beyond the largest value, if the type has infinities. Types that are not floats hold
 * nothing rounded: there only equal values will do. */
bool compare_rounded(enum dtype from, enum dtype to, const double *left,
                     const double *right, size_t n);

#endif
