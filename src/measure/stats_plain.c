/* The reference kernels: plain loops in doubles, easy to verify by reading. The fast
 * kernels must agree with these. */
#include "measure/kernels_in.h"

#include <math.h>
#include <string.h>

#include "measure/small_float_in.h"

/* Element i of x, at any address, as a double; `value` is the result for a stored v. */
#define GET(name, type, value)                                                         \
    static double get_##name(const char *x, size_t i)                                  \
    {                                                                                  \
        type v;                                                                        \
                                                                                       \
        memcpy(&v, x + i * sizeof v, sizeof v);                                        \
        return value;                                                                  \
    }

GET(f32, float, v)
GET(f64, double, v)
GET(f16, uint16_t, small_float_f16(v))
GET(bf16, uint16_t, small_float_bf16(v))
GET(i16, int16_t, v)
GET(u16, uint16_t, v)
GET(i32, int32_t, v)
GET(u32, uint32_t, v)

/* The upper bits by which a tally counts, also of infinities and NaN. */
static uint16_t bin_of(double value)
{
    float single = (float)value;
    uint32_t bits;

    memcpy(&bits, &single, sizeof bits);
    return (uint16_t)(bits >> 20);
}

/* One pass. Subtracting a number close to the elements keeps the sums small. */
static inline void run(const char *x, size_t n, double (*get)(const char *, size_t),
                       double shift, counters *counts, struct block *block)
{
    *block = (struct block){.shift = shift, .min = get(x, 0), .max = get(x, 0)};
    for (size_t i = 0; i < n; i++) {
        double value = get(x, i), d = value - shift;

        block->sum += d;
        block->squares += d * d;
        block->min = value < block->min ? value : block->min;
        block->max = value > block->max ? value : block->max;
        block->zeros += value == 0;
        if (counts)
            counts[bin_of(value)][0]++;
    }
}

static inline void sums(const char *x, size_t n, double (*get)(const char *, size_t),
                        struct block *block)
{
    run(x, n, get, get(x, 0), NULL, block);
}

/* 64-bit integers: min, max and distances are exact, only the sums are rounded. `flip`
 * (the sign bit) maps the order of unsigned integers to that of signed ones. */
static void sums_64(const char *x, size_t n, uint64_t flip, struct block *block)
{
    uint64_t first;
    int64_t min = INT64_MAX, max = INT64_MIN;

    memcpy(&first, x, sizeof first);
    *block = (struct block){.shift = flip ? (double)first : (double)(int64_t)first};
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        int64_t ordered;
        double d;

        memcpy(&bits, x + i * sizeof bits, sizeof bits);
        ordered = (int64_t)(bits ^ flip);
        if (ordered < (int64_t)(first ^ flip))
            d = -(double)(first - bits);
        else
            d = (double)(bits - first);
        block->sum += d;
        block->squares += d * d;
        min = ordered < min ? ordered : min;
        max = ordered > max ? ordered : max;
        block->zeros += bits == 0;
    }
    block->int_min = (int64_t)((uint64_t)min ^ flip);
    block->int_max = (int64_t)((uint64_t)max ^ flip);
}

static inline bool all_finite(const char *x, size_t n,
                              double (*get)(const char *, size_t))
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(get(x, i)))
            return false;
    return true;
}

static inline void bins(const char *x, size_t n, double (*get)(const char *, size_t),
                        uint16_t *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = bin_of(get(x, i));
}

static inline size_t find(const char *x, size_t n, double (*get)(const char *, size_t),
                          double value)
{
    size_t i = 0;

    while (i < n && get(x, i) != value)
        i++;
    return i;
}

#define SUMS(type)                                                                     \
    static void sums_##type(const void *x, size_t n, struct block *ret_block)          \
    {                                                                                  \
        sums(x, n, get_##type, ret_block);                                             \
    }                                                                                  \
    static size_t find_##type(const void *x, size_t n, double value)                   \
    {                                                                                  \
        return find(x, n, get_##type, value);                                          \
    }
#define NARROW(type)                                                                   \
    SUMS(type)                                                                         \
    static void widen_##type(const void *x, size_t n, double *to)                      \
    {                                                                                  \
        for (size_t i = 0; i < n; i++)                                                 \
            to[i] = get_##type(x, i);                                                  \
    }
#define FLOATS(type)                                                                   \
    NARROW(type)                                                                       \
    static void run_##type(const void *x, size_t n, const void *next, float shift,     \
                           counters *counts, struct block *ret_block)                  \
    {                                                                                  \
        (void)next;                                                                    \
        run(x, n, get_##type, shift, counts, ret_block);                               \
    }                                                                                  \
    static bool finite_##type(const void *x, size_t n)                                 \
    {                                                                                  \
        return all_finite(x, n, get_##type);                                           \
    }                                                                                  \
    static void bins_##type(const void *x, size_t n, uint16_t *to)                     \
    {                                                                                  \
        bins(x, n, get_##type, to);                                                    \
    }

FLOATS(f32)
FLOATS(f16)
FLOATS(bf16)
SUMS(f64)
NARROW(i16)
NARROW(u16)
SUMS(i32)
SUMS(u32)

static bool finite_f64(const void *x, size_t n)
{
    return all_finite(x, n, get_f64);
}

static void sums_i64(const void *x, size_t n, struct block *ret_block)
{
    sums_64(x, n, 0, ret_block);
}

static void sums_u64(const void *x, size_t n, struct block *ret_block)
{
    sums_64(x, n, (uint64_t)1 << 63, ret_block);
}

const struct kernels kernels_plain = {
    .name = "plain",
    .sums = {sums_f32, sums_f16, sums_bf16, sums_i16, sums_u16, sums_f64, sums_i32,
             sums_u32, sums_i64, sums_u64},
    .run = {[LOAD_F32] = run_f32, [LOAD_F16] = run_f16, [LOAD_BF16] = run_bf16},
    .finite = {[LOAD_F32] = finite_f32,
               [LOAD_F16] = finite_f16,
               [LOAD_BF16] = finite_bf16,
               [LOAD_F64] = finite_f64},
    .widen = {widen_f32, widen_f16, widen_bf16, widen_i16, widen_u16},
    .find = {find_f32, find_f16, find_bf16, find_i16, find_u16, find_f64, find_i32,
             find_u32},
    .bins = {[LOAD_F32] = bins_f32, [LOAD_F16] = bins_f16, [LOAD_BF16] = bins_bf16},
    .spread_range = spread_range_plain,
    .spread_keys = spread_keys_plain,
};
