/* spread_in.h - the two grids of a spread, in integers: exact for all finite doubles,
 * whatever the rounding mode and the flushing of denormals. */
#ifndef MEASURE_SPREAD_IN_H
#define MEASURE_SPREAD_IN_H

#include <math.h>
#include <string.h>

#include "measure/kernels_in.h"
#include "measure/spread.h"

#define SPREAD_SIGN ((uint64_t)1 << 63)

/* The linear bins that min to max need. */
struct spread_window {
    int32_t exponent;
    int64_t first, last;
};

static inline uint64_t spread_bits(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double spread_double(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The number, or minus the number if x is negative; without a branch, which would be
 * mispredicted half of the time. */
static inline int64_t spread_signed(uint64_t bits, uint64_t number)
{
    uint64_t minus = 0 - (bits >> 63);

    return (int64_t)((number ^ minus) - minus);
}

/* A number that orders finite doubles as their values; 0 and -0 are equal. */
static inline int64_t spread_order(double x)
{
    uint64_t bits = spread_bits(x);

    return spread_signed(bits, bits & ~SPREAD_SIGN);
}

/* The value with this order; never -0. */
static inline double spread_ordered(int64_t order)
{
    return spread_double(order < 0 ? (uint64_t)-order | SPREAD_SIGN : (uint64_t)order);
}

/* The exponent of the lowest bit of a finite double. */
static inline int32_t spread_ulp(double x)
{
    int32_t field = (int32_t)(spread_bits(x) >> 52 & 2047);

    return (field ? field : 1) - 1075;
}

/* floor(x / 2^k) of a finite x, for k >= spread_ulp(x). */
static inline int64_t spread_index(double x, int32_t k)
{
    uint64_t bits = spread_bits(x), mantissa = bits & (((uint64_t)1 << 52) - 1);
    int32_t shift = k - spread_ulp(x);

    mantissa |= (uint64_t)((bits >> 52 & 2047) != 0) << 52;
    /* The shift rounds down, negative numbers too. */
    return spread_signed(bits, mantissa) >> (shift < 63 ? shift : 63);
}

/* The key of the log bin of a magnitude, as bits. */
static inline int32_t spread_magnitude_key(uint64_t magnitude)
{
    return magnitude ? 1 + (int32_t)(magnitude >> 50) : 0;
}

/* The key of the log bin of a finite double. */
static inline int32_t spread_key(double x)
{
    uint64_t bits = spread_bits(x);

    return (int32_t)spread_signed(bits,
                                  (uint64_t)spread_magnitude_key(bits & ~SPREAD_SIGN));
}

struct spread_window spread_window_of(double min, double max);

/* Linear bins in a ring: bin i is at i & 127, which is unique in a window. Move them to
 * a window with a larger exponent. */
void spread_widen(uint64_t ring[SPREAD_LINEAR], const struct spread_window *from,
                  const struct spread_window *to);

/* Make room for n log bins. */
int spread_log_room(struct spread *spread, uint32_t n, struct err *err);

/* Where an element of a linear bin far from 0 is in the log grid: bins outside -4 to 3
 * nest in log bins, except for negative elements on the edge of a bin. */
#define SPREAD_NESTS 4
static inline int32_t spread_key_of_index(int64_t index, int32_t k)
{
    double magnitude = (double)(index < 0 ? ~index : index);
    int32_t key = spread_key(magnitude) + 4 * k;

    /* Times 2^k is 4 * k bins further on, but for denormals and beyond the largest. */
    if (key <= 4 || key > SPREAD_KEYS)
        key = spread_key(ldexp(magnitude, k));
    return index < 0 ? -key : key;
}

#endif
