/* kernels_in.h - the inner loops, one set for each instruction set.
 * A kernel measures one block of at most BLOCK elements, at any alignment. Its result is
 * valid if `squares` is finite. Non-finite elements, and those too large for the
 * kernel's precision, make it NaN or infinite; the block is then repeated in doubles. */
#ifndef MEASURE_KERNELS_IN_H
#define MEASURE_KERNELS_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/histogram_in.h"

#define BLOCK 2048
#define RUN   (8 * BLOCK)

/* The types that kernels load. 16-bit types and f32 are summed in f32, others in f64. */
enum load {
    LOAD_F32,
    LOAD_F16,
    LOAD_BF16,
    LOAD_I16,
    LOAD_U16,
    LOAD_F64,
    LOAD_I32,
    LOAD_U32,
    LOAD_I64,
    LOAD_U64,
    LOAD_COUNT
};

struct block {
    double shift;        /* the first element, or the shift of the run */
    double sum, squares; /* of x - shift, and of its square */
    double min, max;
    int64_t int_min, int_max; /* I64 and U64 (cast), instead of min and max */
    uint32_t zeros;           /* 0 and -0 */
};

struct kernels {
    const char *name;
    /* x (n), 1 <= n <= BLOCK */
    void (*sums[LOAD_COUNT])(const void *x, size_t n, struct block *ret_block);
    /* The same for a run: x (n), n a multiple of BLOCK and at most RUN, summed as
     * distances from `shift`. Prefetches `next`, where reading continues, if anywhere.
     * counts (TALLY_BINS) may be NULL, else all elements are counted there, also NaN and
     * infinities. F32, F16, BF16 only. */
    void (*run[LOAD_COUNT])(const void *x, size_t n, const void *next, float shift,
                            counters *counts, struct block *ret_block);
    /* Are all of x (n) finite? F32, F16, BF16, F64 only. */
    bool (*finite[LOAD_COUNT])(const void *x, size_t n);
    /* Convert x (n) to doubles: to (n, rounded up to a whole block). F32 and 16-bit types
     * only. */
    void (*widen[LOAD_COUNT])(const void *x, size_t n, double *to);
    /* The first index of the value in x (n); n if absent. Not I64 and U64. */
    size_t (*find[LOAD_COUNT])(const void *x, size_t n, double value);
    /* The upper bits by which a tally counts: bins (n, rounded up to a whole block).
     * F32, F16, BF16 only. */
    void (*bins[LOAD_COUNT])(const void *x, size_t n, uint16_t *bins);
};

extern const struct kernels kernels_plain;
extern const struct kernels kernels_sse2;
extern const struct kernels kernels_avx2;
extern const struct kernels kernels_avx512;

/* The kernels for this machine, selected once. */
const struct kernels *kernels_best(void);
/* By name; NULL if this machine does not support them. */
const struct kernels *kernels_find(const char *name);

#endif
