/* stats_kernel_in.h - the fast kernels, written once for all instruction sets.
 * A file such as stats_avx2.c defines the operations below (those that differ only in
 * prefix through stats_vector_in.h), includes this file and ends with its table. It
 * defines
 *
 *   LANES           floats in a vector; half as many doubles or 64-bit integers
 *   singles doubles words               the vectors; words are integers of any width
 *   load_f32 load_f16 load_bf16 load_i16 load_u16    -> singles
 *   load_f64 load_i32 load_u32                       -> doubles
 *   load_words
 *   singles_zero _add _sub _fma _min _max _store     fma(a, b, c) is a * b + c
 *   singles_low singles_high                         half of the lanes -> doubles
 *   singles_set, singles_equal(a, b)                 is any lane equal?
 *   singles_bins(a, b, to)                           2 * LANES counters, in order
 *   doubles_set, doubles_equal(a, b)
 *   doubles_zero _add _sub _fma _min _max _store
 *   words_zero, words_store
 *   zeros_single(count, x) zeros_double(count, x)    count + 1 where x is 0 or -0
 *   seen_none, seen_single(seen, x), seen_any(seen)  was any x 0 or -0?
 *   long_set long_xor long_sub long_min long_max     on 64-bit integers
 *   long_zeros(count, x), long_double(x)             |x| < 2^51, exactly
 *
 * Loads take any address. A load of LANES 16-bit elements reads half a vector.
 *
 * All sums are of distances from the block's first element. A last incomplete group is
 * padded with that element, whose distance is 0. */

#include "measure/kernels_in.h"

#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

#define SETS        2 /* independent sums, so that additions overlap */
#define GROUP       (SETS * LANES)
#define LONG_LANES  (LANES / 2)
#define LONG_GROUP  (SETS * LONG_LANES)
#define GROUP_BYTES (SETS * LANES * 4) /* of both kinds of groups, at most */

/* Prefetch distance: one page, where hardware prefetching stops. */
#define AHEAD 4096

_Static_assert(BLOCK % GROUP == 0, "a padded group must fit in a block");

/* Write n elements to `pad`: the `left` ones at `x`, then copies of `first`. */
INLINE const char *padded(char *pad, const char *x, size_t left, const char *first,
                          size_t n, size_t size)
{
    memcpy(pad, x, left * size);
    for (size_t i = left; i < n; i++)
        memcpy(pad + i * size, first, size);
    return pad;
}

/* Padded elements of the last group; they count as zeros if the first element is 0. */
INLINE uint32_t padding(size_t n, size_t group)
{
    return (uint32_t)((group - n % group) % group);
}

/* The sums of a block in f32. It is cheaper to detect a zero than to count zeros, so
 * they are counted afterwards, if there are any. */
struct single_sums {
    singles sum[SETS], squares[SETS], min, max;
    words seen;
};

/* One group (SETS, LANES). */
INLINE void add_singles(struct single_sums *to, singles shift, const char *x,
                        size_t size, singles (*load)(const char *))
{
    for (size_t k = 0; k < SETS; k += 2) {
        singles a = load(x + k * LANES * size), b = load(x + (k + 1) * LANES * size);
        singles da = singles_sub(a, shift), db = singles_sub(b, shift);

        to->sum[k] = singles_add(to->sum[k], da);
        to->squares[k] = singles_fma(da, da, to->squares[k]);
        to->sum[k + 1] = singles_add(to->sum[k + 1], db);
        to->squares[k + 1] = singles_fma(db, db, to->squares[k + 1]);
        to->min = singles_min(to->min, singles_min(a, b));
        to->max = singles_max(to->max, singles_max(a, b));
        to->seen = seen_single(seen_single(to->seen, a), b);
    }
}

INLINE uint32_t count_zeros(const char *x, size_t n, size_t size,
                            singles (*load)(const char *))
{
    const char *first = x;
    char pad[GROUP_BYTES];
    words zeros = words_zero();
    uint32_t counts[LANES], total = 0;

    for (size_t i = 0; i < n; i += LANES, x += LANES * size) {
        if (n - i < LANES)
            x = padded(pad, x, n - i, first, LANES, size);
        zeros = zeros_single(zeros, load(x));
    }
    words_store(counts, zeros);
    for (size_t lane = 0; lane < LANES; lane++)
        total += counts[lane];
    return total;
}

INLINE double total_doubles(const doubles sum[SETS])
{
    double out[LONG_LANES], total = 0;

    doubles_store(out, doubles_add(sum[0], sum[1]));
    for (size_t lane = 0; lane < LONG_LANES; lane++)
        total += out[lane];
    return total;
}

/* Lanes and sets are added up in f64. */
INLINE double total_singles(const singles sum[SETS])
{
    doubles wide[SETS];

    for (size_t k = 0; k < SETS; k++)
        wide[k] = doubles_add(singles_low(sum[k]), singles_high(sum[k]));
    return total_doubles(wide);
}

INLINE void end_range(singles least, singles greatest, struct block *block)
{
    float out[2][LANES], min, max;

    singles_store(out[0], least);
    singles_store(out[1], greatest);
    min = out[0][0];
    max = out[1][0];
    for (size_t lane = 0; lane < LANES; lane++) {
        min = out[0][lane] < min ? out[0][lane] : min;
        max = out[1][lane] > max ? out[1][lane] : max;
    }
    block->min = min;
    block->max = max;
}

INLINE void end_singles(const struct single_sums *sums, struct block *block)
{
    end_range(sums->min, sums->max, block);
    block->sum = total_singles(sums->sum);
    block->squares = total_singles(sums->squares);
}

/* x (n) of `size` bytes each; at most BLOCK / GROUP additions in each f32 sum. */
INLINE void sum_singles(const char *x, size_t n, size_t size,
                        singles (*load)(const char *), struct block *block)
{
    const char *first = x;
    char pad[GROUP_BYTES];
    singles shift = load(padded(pad, x, 0, first, LANES, size));
    struct single_sums sums = {.min = shift, .max = shift, .seen = seen_none()};
    float start[LANES];
    size_t left = n;

    for (size_t k = 0; k < SETS; k++)
        sums.sum[k] = sums.squares[k] = singles_zero();
    for (; left >= GROUP; left -= GROUP, x += GROUP * size) {
        for (size_t line = 0; line < GROUP * size; line += 64)
            __builtin_prefetch(x + AHEAD + line);
        add_singles(&sums, shift, x, size, load);
    }
    if (left > 0)
        add_singles(&sums, shift, padded(pad, x, left, first, GROUP, size), size, load);
    singles_store(start, shift);
    *block = (struct block){.shift = start[0]};
    end_singles(&sums, block);
    if (seen_any(sums.seen)) {
        block->zeros = count_zeros(first, n, size, load);
        if (block->shift == 0)
            block->zeros -= padding(n, LANES);
    }
}

/* The same in f64. */
struct double_sums {
    doubles sum[SETS], squares[SETS], min, max;
    words zeros;
};

INLINE void add_doubles(struct double_sums *to, doubles shift, const char *x,
                        size_t size, doubles (*load)(const char *))
{
    const size_t step = LONG_LANES * size;

    for (size_t k = 0; k < SETS; k += 2) {
        doubles a = load(x + k * step), b = load(x + (k + 1) * step);
        doubles da = doubles_sub(a, shift), db = doubles_sub(b, shift);

        to->sum[k] = doubles_add(to->sum[k], da);
        to->squares[k] = doubles_fma(da, da, to->squares[k]);
        to->sum[k + 1] = doubles_add(to->sum[k + 1], db);
        to->squares[k + 1] = doubles_fma(db, db, to->squares[k + 1]);
        to->min = doubles_min(to->min, doubles_min(a, b));
        to->max = doubles_max(to->max, doubles_max(a, b));
        to->zeros = zeros_double(zeros_double(to->zeros, a), b);
    }
}

INLINE uint32_t total_zeros(words zeros)
{
    uint64_t out[LONG_LANES], total = 0;

    words_store(out, zeros);
    for (size_t lane = 0; lane < LONG_LANES; lane++)
        total += out[lane];
    return (uint32_t)total;
}

INLINE void sum_doubles(const char *x, size_t n, size_t size,
                        doubles (*load)(const char *), struct block *block)
{
    const char *first = x;
    char pad[GROUP_BYTES];
    doubles shift = load(padded(pad, x, 0, first, LONG_LANES, size));
    struct double_sums sums = {.min = shift, .max = shift, .zeros = words_zero()};
    double out[3][LONG_LANES];
    size_t left = n;

    for (size_t k = 0; k < SETS; k++)
        sums.sum[k] = sums.squares[k] = doubles_zero();
    for (; left >= LONG_GROUP; left -= LONG_GROUP, x += LONG_GROUP * size) {
        for (size_t line = 0; line < LONG_GROUP * size; line += 64)
            __builtin_prefetch(x + AHEAD + line);
        add_doubles(&sums, shift, x, size, load);
    }
    if (left > 0)
        add_doubles(&sums, shift, padded(pad, x, left, first, LONG_GROUP, size), size,
                    load);
    doubles_store(out[0], shift);
    doubles_store(out[1], sums.min);
    doubles_store(out[2], sums.max);
    *block = (struct block){.shift = out[0][0],
                            .sum = total_doubles(sums.sum),
                            .squares = total_doubles(sums.squares),
                            .min = out[1][0],
                            .max = out[2][0],
                            .zeros = total_zeros(sums.zeros)};
    for (size_t lane = 1; lane < LONG_LANES; lane++) {
        block->min = out[1][lane] < block->min ? out[1][lane] : block->min;
        block->max = out[2][lane] > block->max ? out[2][lane] : block->max;
    }
    if (block->shift == 0)
        block->zeros -= padding(n, LONG_GROUP);
}

/* 64-bit integers: distances are exact as integers, and as doubles below 2^51; larger
 * ones make `squares` NaN. `flip` (the sign bit) maps the order of unsigned integers to
 * that of signed ones. */
struct long_sums {
    doubles sum[SETS], squares[SETS];
    words min, max, zeros;
};

INLINE void add_longs(struct long_sums *to, words first, words flips, const char *x)
{
    for (size_t k = 0; k < SETS; k++) {
        words bits = load_words(x + k * LONG_LANES * 8);
        words v = long_xor(bits, flips);
        doubles d = long_double(long_sub(v, first));

        to->sum[k] = doubles_add(to->sum[k], d);
        to->squares[k] = doubles_fma(d, d, to->squares[k]);
        to->min = long_min(to->min, v);
        to->max = long_max(to->max, v);
        to->zeros = long_zeros(to->zeros, bits);
    }
}

/* The range of all lanes; `squares` becomes NaN if distances were not exact. */
INLINE void end_longs(const struct long_sums *sums, uint64_t flip, struct block *block)
{
    int64_t out[2][LONG_LANES], min, max;

    words_store(out[0], sums->min);
    words_store(out[1], sums->max);
    min = out[0][0];
    max = out[1][0];
    for (size_t lane = 1; lane < LONG_LANES; lane++) {
        min = out[0][lane] < min ? out[0][lane] : min;
        max = out[1][lane] > max ? out[1][lane] : max;
    }
    if ((uint64_t)max - (uint64_t)min >= (uint64_t)1 << 51)
        block->squares = NAN;
    block->int_min = (int64_t)((uint64_t)min ^ flip);
    block->int_max = (int64_t)((uint64_t)max ^ flip);
}

INLINE void sum_longs(const char *x, size_t n, uint64_t flip, struct block *block)
{
    const char *start = x;
    char pad[GROUP_BYTES];
    words flips = long_set(flip);
    words first = long_xor(load_words(padded(pad, x, 0, start, LONG_LANES, 8)), flips);
    struct long_sums sums = {.min = first, .max = first, .zeros = words_zero()};
    size_t left = n;
    int64_t shift;

    for (size_t k = 0; k < SETS; k++)
        sums.sum[k] = sums.squares[k] = doubles_zero();
    for (; left >= LONG_GROUP; left -= LONG_GROUP, x += LONG_GROUP * 8) {
        for (size_t line = 0; line < LONG_GROUP * 8; line += 64)
            __builtin_prefetch(x + AHEAD + line);
        add_longs(&sums, first, flips, x);
    }
    if (left > 0)
        add_longs(&sums, first, flips, padded(pad, x, left, start, LONG_GROUP, 8));
    memcpy(&shift, start, sizeof shift);
    *block = (struct block){.shift = flip ? (double)(uint64_t)shift : (double)shift,
                            .sum = total_doubles(sums.sum),
                            .squares = total_doubles(sums.squares),
                            .zeros = total_zeros(sums.zeros)};
    end_longs(&sums, flip, block);
    if (shift == 0)
        block->zeros -= padding(n, LONG_GROUP);
}

/* x * 0 is 0 for finite x, and NaN for all others. */
INLINE bool finite_singles(const char *x, size_t n, size_t size,
                           singles (*load)(const char *))
{
    const char *first = x;
    char pad[GROUP_BYTES];
    singles sum[SETS];

    for (size_t k = 0; k < SETS; k++)
        sum[k] = singles_zero();
    for (size_t i = 0; i < n; i += GROUP, x += GROUP * size) {
        if (n - i < GROUP)
            x = padded(pad, x, n - i, first, GROUP, size);
        for (size_t line = 0; line < GROUP * size; line += 64)
            __builtin_prefetch(x + AHEAD + line);
        for (size_t k = 0; k < SETS; k++)
            sum[k] = singles_fma(load(x + k * LANES * size), singles_zero(), sum[k]);
    }
    return total_singles(sum) == 0;
}

INLINE bool finite_doubles(const char *x, size_t n, size_t size,
                           doubles (*load)(const char *))
{
    const size_t step = LONG_LANES * size;
    const char *first = x;
    char pad[GROUP_BYTES];
    doubles sum[SETS];

    for (size_t k = 0; k < SETS; k++)
        sum[k] = doubles_zero();
    for (size_t i = 0; i < n; i += LONG_GROUP, x += LONG_GROUP * size) {
        if (n - i < LONG_GROUP)
            x = padded(pad, x, n - i, first, LONG_GROUP, size);
        for (size_t line = 0; line < LONG_GROUP * size; line += 64)
            __builtin_prefetch(x + AHEAD + line);
        for (size_t k = 0; k < SETS; k++)
            sum[k] = doubles_fma(load(x + k * step), doubles_zero(), sum[k]);
    }
    return total_doubles(sum) == 0;
}

INLINE void widen_singles(const char *x, size_t n, size_t size,
                          singles (*load)(const char *), double *to)
{
    const char *first = x;
    char pad[GROUP_BYTES];

    for (size_t i = 0; i < n; i += LANES, x += LANES * size) {
        singles v;

        if (n - i < LANES)
            x = padded(pad, x, n - i, first, LANES, size);
        v = load(x);
        doubles_store(to + i, singles_low(v));
        doubles_store(to + i + LONG_LANES, singles_high(v));
    }
}

/* Find the vector that holds the value, then its lane. */
INLINE size_t find_singles(const char *x, size_t n, size_t size,
                           singles (*load)(const char *), double value)
{
    singles wanted = singles_set((float)value);
    const char *first = x;
    char pad[GROUP_BYTES];
    float out[LANES];

    for (size_t i = 0; i < n; i += LANES, x += LANES * size) {
        if (n - i < LANES)
            x = padded(pad, x, n - i, first, LANES, size);
        if (!singles_equal(load(x), wanted))
            continue;
        singles_store(out, load(x));
        for (size_t lane = 0; lane < LANES; lane++)
            if (out[lane] == (float)value)
                return i + lane;
    }
    return n;
}

INLINE size_t find_doubles(const char *x, size_t n, size_t size,
                           doubles (*load)(const char *), double value)
{
    doubles wanted = doubles_set(value);
    const char *first = x;
    char pad[GROUP_BYTES];
    double out[LONG_LANES];

    for (size_t i = 0; i < n; i += LONG_LANES, x += LONG_LANES * size) {
        if (n - i < LONG_LANES)
            x = padded(pad, x, n - i, first, LONG_LANES, size);
        if (!doubles_equal(load(x), wanted))
            continue;
        doubles_store(out, load(x));
        for (size_t lane = 0; lane < LONG_LANES; lane++)
            if (out[lane] == value)
                return i + lane;
    }
    return n;
}

INLINE void bins_singles(const char *x, size_t n, size_t size,
                         singles (*load)(const char *), uint16_t *bins)
{
    const char *first = x;
    char pad[GROUP_BYTES];

    for (size_t i = 0; i < n; i += GROUP, x += GROUP * size) {
        if (n - i < GROUP)
            x = padded(pad, x, n - i, first, GROUP, size);
        for (size_t k = 0; k < SETS; k += 2)
            singles_bins(load(x + k * LANES * size), load(x + (k + 1) * LANES * size),
                         bins + i + k * LANES);
    }
}

/* Kernels of every type; of floats; of narrow types. */
#define COMMON(kind, type, size)                                                       \
    static void sums_##type(const void *x, size_t n, struct block *ret_block)          \
    {                                                                                  \
        sum_##kind(x, n, size, load_##type, ret_block);                                \
    }                                                                                  \
    static size_t find_##type(const void *x, size_t n, double value)                   \
    {                                                                                  \
        return find_##kind(x, n, size, load_##type, value);                            \
    }
#define FINITE(kind, type, size)                                                       \
    static bool finite_##type(const void *x, size_t n)                                 \
    {                                                                                  \
        return finite_##kind(x, n, size, load_##type);                                 \
    }
#define NARROW(type, size)                                                             \
    COMMON(singles, type, size)                                                        \
    static void widen_##type(const void *x, size_t n, double *to)                      \
    {                                                                                  \
        widen_singles(x, n, size, load_##type, to);                                    \
    }
#define BINS(type, size)                                                               \
    static void bins_##type(const void *x, size_t n, uint16_t *bins)                   \
    {                                                                                  \
        bins_singles(x, n, size, load_##type, bins);                                   \
    }

NARROW(f32, 4)
NARROW(f16, 2)
NARROW(bf16, 2)
NARROW(i16, 2)
NARROW(u16, 2)
COMMON(doubles, f64, 8)
COMMON(doubles, i32, 4)
COMMON(doubles, u32, 4)
FINITE(singles, f32, 4)
FINITE(singles, f16, 2)
FINITE(singles, bf16, 2)
FINITE(doubles, f64, 8)
BINS(f32, 4)
BINS(f16, 2)
BINS(bf16, 2)

#include "measure/stats_run_in.h"

static void sums_i64(const void *x, size_t n, struct block *ret_block)
{
    sum_longs(x, n, 0, ret_block);
}

static void sums_u64(const void *x, size_t n, struct block *ret_block)
{
    sum_longs(x, n, (uint64_t)1 << 63, ret_block);
}

/* The table of kernels. */
#define KERNELS(set)                                                                   \
    {                                                                                  \
        .name = set, .sums = {sums_f32, sums_f16, sums_bf16, sums_i16, sums_u16,       \
                              sums_f64, sums_i32, sums_u32,  sums_i64, sums_u64},      \
        .run = {[LOAD_F32] = run_f32, [LOAD_F16] = run_f16, [LOAD_BF16] = run_bf16},   \
        .finite = {[LOAD_F32] = finite_f32,                                            \
                   [LOAD_F16] = finite_f16,                                            \
                   [LOAD_BF16] = finite_bf16,                                          \
                   [LOAD_F64] = finite_f64},                                           \
        .widen = {widen_f32, widen_f16, widen_bf16, widen_i16, widen_u16},             \
        .find = {find_f32, find_f16, find_bf16, find_i16,                              \
                 find_u16, find_f64, find_i32,  find_u32},                             \
        .bins =                                                                        \
            {[LOAD_F32] = bins_f32, [LOAD_F16] = bins_f16, [LOAD_BF16] = bins_bf16},   \
        .spread_range = spread_range_best, .spread_keys = spread_keys_best,            \
    }
