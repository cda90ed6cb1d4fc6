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

/* The range of n floats, for spreads. Magnitudes are bits without the sign. */
struct spread_range {
    int32_t min, max;     /* as spread_float_order(); not meaningful with NaN */
    uint32_t least, most; /* magnitudes: the least that is not 0 (0: none), the most */
};

/* Bits of a float to a number in the order of the values (-0 is -1), and back. */
static inline int32_t spread_float_order(uint32_t bits)
{
    return (int32_t)(bits ^ (bits >> 31 ? 0x7fffffff : 0));
}

/* One key gives an element's bins in both histograms of a spread, because the finer of
 * the two bins lies inside the other one. With t = the magnitude / 2^k, rounded down:
 *
 *   t < 4                          the upper 11 bits: sign, exponent, 2 of the mantissa
 *   t >= 4                         SPREAD_FAR + (floor(x / 2^k) & 127)
 *   negative, and exactly t * 2^k  SPREAD_EDGE + (t & 127): the linear bin is the one
 *                                  above -t * 2^k, the log bin the one below */
#define SPREAD_FAR   2048
#define SPREAD_EDGE  (SPREAD_FAR + 128)
#define SPREAD_JOINT (SPREAD_EDGE + 128)

struct kernels {
    const char *name;
    /* x (n), 1 <= n <= BLOCK */
    void (*sums[LOAD_COUNT])(const void *x, size_t n, struct block *ret_block);
    /* The same for a run: x (n), n a multiple of BLOCK and at most RUN, summed as
     * distances from `shift`. Prefetches `next`, the address where reading continues,
     * if not NULL. counts (TALLY_BINS) may be NULL; otherwise all elements are counted
     * there, including NaN and infinities. F32, F16, BF16 only. */
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
    /* The range of x (n) of float32, n > 0. */
    void (*spread_range)(const void *x, size_t n, struct spread_range *ret_range);
    /* The keys of x (n) of float32, n <= BLOCK: keys (n, rounded up to a whole block).
     * All are 0 or normal numbers below 2^31 / scale; scale is 2^-k. */
    void (*spread_keys)(const void *x, size_t n, float scale, uint16_t *keys);
};

void spread_range_plain(const void *x, size_t n, struct spread_range *ret_range);
void spread_keys_plain(const void *x, size_t n, float scale, uint16_t *keys);

extern const struct kernels kernels_plain;
extern const struct kernels kernels_sse2;
extern const struct kernels kernels_avx2;
extern const struct kernels kernels_avx512;

/* The kernels for this machine, selected once. */
const struct kernels *kernels_best(void);
/* By name; NULL if this machine does not support them. */
const struct kernels *kernels_find(const char *name);

#endif
