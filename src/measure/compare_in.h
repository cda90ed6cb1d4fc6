/* compare_in.h - shared by the files that compare values.
 *
 *   compare.c            walks two tensors side by side in chunks; exported functions
 *   compare_view.c       a slice or transpose of a tensor, as a tensor
 *   compare_quantiser.c  dequantises integers
 *   compare_numbers.c    sums over a chunk of doubles
 *   compare_round.c      is one number the other, rounded?
 *   compare_sample.c     the hash by which equal contents are found */
#ifndef MEASURE_COMPARE_IN_H
#define MEASURE_COMPARE_IN_H

#include "measure/compare.h"
#include "measure/elements_in.h"

/* Elements decoded at once: both sides fit in the first-level cache. */
#define COMPARE_CHUNK 1024

/* ---- quantised tensors ---- */

/* value = (code - zero point) * scale, per tensor or per channel (index of one
 * dimension). Like torch, computed in float32, or for float64 scales in float64 and then
 * rounded to float32. */
struct quantiser {
    bool scaled;              /* false: compare the codes themselves */
    double scale, zero;       /* per tensor */
    double *scales, *zeros;   /* per channel, owned; NULL: per tensor */
    uint64_t channels, inner; /* element i has channel i / inner % size + shift */
    uint64_t size, shift;
    bool wide; /* the scales are float64 */
    int axis;
};

/* The quantiser of a tensor. Fails if it has one that cannot be read. */
int quantiser_open(struct quantiser *quantiser, struct compare_side side,
                   struct err *err);
/* Adapt to a view of the same elements with another shape. */
void quantiser_fit(struct quantiser *quantiser, struct compare_side side);
/* Do equal codes have equal values? */
bool quantiser_equal(const struct quantiser *a, const struct quantiser *b);
/* Dequantise n codes in place; the first is element `first`. */
void quantiser_apply(const struct quantiser *quantiser, uint64_t first, size_t n,
                     double *values);
void quantiser_close(struct quantiser *quantiser);

/* One side of a comparison. */
struct compare_input {
    struct compare_side side;
    struct quantiser quantiser;
    uint8_t edit; /* EDIT_PLUS_ONE or EDIT_EXPONENT: done to each value */
};

/* ---- views ---- */

/* A tensor over the storage of another, and a model that holds its shape. */
struct compare_view {
    struct model model;
    struct tensor tensor;
    int64_t dims[2 * ELEMENTS_RANK];
};

/* Narrow the input to indices [from, from + n) of dimension `dim`. */
void compare_narrow(struct compare_input *input, struct compare_view *view,
                    uint32_t dim, uint64_t from, uint64_t n);
/* Make the change to a side for which compare_editable() is true. */
void compare_edit(struct compare_input *input, struct compare_view *view,
                  struct compare_edit edit);
/* Transpose its two dimensions. */
void compare_swap(struct compare_input *input, struct compare_view *view);

/* ---- numbers ---- */

/* A chunk of both sides as doubles. */
struct compare_chunk {
    size_t n;
    double left[2 * COMPARE_CHUNK], right[2 * COMPARE_CHUNK]; /* complex: pairs */
    /* 64-bit integers: exact value minus its double. */
    double left_rest[COMPARE_CHUNK], right_rest[COMPARE_CHUNK];
    /* |left - right|; negative where one of them is not finite. */
    double distance[2 * COMPARE_CHUNK];
};

/* Compare the chunk: all fields but `count`, `max_at` and `rounding`. */
void compare_reals(struct compare_chunk *chunk, struct tolerance tolerance,
                   struct compared *ret_part);
/* The same for 64-bit integers, exactly. */
void compare_wide(struct compare_chunk *chunk, struct tolerance tolerance,
                  struct compared *ret_part);
/* The same for complex numbers. */
void compare_complex(struct compare_chunk *chunk, struct tolerance tolerance,
                     struct compared *ret_part);
/* As elements_decode(), faster for the common types. */
void compare_decode(enum dtype dtype, const void *at, size_t first, size_t n,
                    double *to);

/* Is each right value the left one, rounded to the nearest value of type `to` (ties to
 * even)? Values beyond the largest round to infinity if the type has one. False for
 * types that are not floats. */
bool compare_rounded(enum dtype from, enum dtype to, const double *left,
                     const double *right, size_t n);

#endif
