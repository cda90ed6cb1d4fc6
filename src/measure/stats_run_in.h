/* stats_run_in.h - the kernels for runs of many blocks; a part of stats_kernel_in.h.
 * A run has one shift for all its blocks, so blocks merge by addition and need no
 * padding. In addition to the list in stats_kernel_in.h, the including file defines
 *
 *   pair_f16(x, a, b) pair_bf16(x, a, b)    2 * LANES elements, in any order
 *   singles_upper(a, b)                     2 * LANES upper halves, in any order
 *   codes_max                               of 16-bit lanes, as signed numbers
 *   codes_max_unsigned codes_min_unsigned   and as unsigned ones
 *   codes_add codes_sub codes_one           1 in each lane
 *   codes_right(x, n)                       n constant
 *   words_set16 words_and words_or words_xor long_add
 *   words_any(a, b)                         does a & b have any bit?
 *   bytes_blend(a, b)                       of 16-bit lanes: upper bytes of a, lower of b
 *   bytes_total(x)                          sum of each 8 bytes, as a 64-bit integer
 *   bytes_pick(table, x)                    table[x % 16], 0 if x >= 128; by 16 bytes
 *   PICK_IS_FAST                            is bytes_pick one instruction?
 *
 * Counting in a table is bound by stores, one per element. It is interleaved with the
 * sums of a group, which then cost nothing. Where registers can be looked up,
 * stats_planes_in.h is faster for most blocks. */

#define RUN_SETS  4 /* sums: enough to hide the latency of an addition */
#define RUN_GROUP (RUN_SETS * LANES)

_Static_assert(TALLY_WAYS == 4, "the ways are spelled out below");
_Static_assert(BLOCK % RUN_GROUP == 0, "a block is made of whole groups");

/* The codes of 16-bit floats of one sign are in the order of the floats, reversed for
 * negative ones. So the greatest code as unsigned is the lowest number if any is
 * negative, and the greatest as signed is the highest number if any is positive. Twice a
 * code drops the sign: the least of these is nearest to zero, which is the other end of
 * numbers of one sign. */
struct code_range {
    words max, max_unsigned, nearest;
};

struct single_range {
    singles min, max;
};

#include "measure/stats_planes_in.h"

/* The state of a run between blocks. */
struct stats_run {
    doubles sum[SETS], squares[SETS];
    struct single_range singles; /* float32 */
    struct code_range codes;     /* 16-bit types */
    words nearest;               /* of the last block's codes */
    uint32_t zeros;
    struct stats_planes_window window; /* counts exponents */
};

/* What to do with a block. Always a constant, so that loops have no branches. */
struct look {
    bool shifted, counted;
};

/* The sums of one block. A group is added up before it goes to the sum: a sum that does
 * not fit in a register would delay all additions. */
struct run_sums {
    singles sum, squares[RUN_SETS];
};

INLINE void run_sums_init(struct run_sums *sums)
{
    sums->sum = singles_zero();
    for (size_t k = 0; k < RUN_SETS; k++)
        sums->squares[k] = singles_zero();
}

INLINE void run_sums_add(struct run_sums *sums, const singles v[RUN_SETS],
                         singles shift, bool shifted)
{
    singles d[RUN_SETS];

    for (size_t k = 0; k < RUN_SETS; k++) {
        d[k] = shifted ? singles_sub(v[k], shift) : v[k];
        sums->squares[k] = singles_fma(d[k], d[k], sums->squares[k]);
    }
    sums->sum = singles_add(
        sums->sum, singles_add(singles_add(d[0], d[1]), singles_add(d[2], d[3])));
}

INLINE void widen_sums(const struct run_sums *from, struct stats_run *to)
{
    to->sum[0] = doubles_add(to->sum[0], singles_low(from->sum));
    to->sum[1] = doubles_add(to->sum[1], singles_high(from->sum));
    for (size_t k = 0; k < RUN_SETS; k++) {
        to->squares[0] = doubles_add(to->squares[0], singles_low(from->squares[k]));
        to->squares[1] = doubles_add(to->squares[1], singles_high(from->squares[k]));
    }
}

/* Keeps gcc from carrying counters between groups and comparing addresses. */
#define COUNTS_ARE_STORED __asm__ volatile("" ::: "memory")

/* Count a group of floats by their upper 16 bits, which are adjacent. */
INLINE void count_upper(counters *counts, const char *upper)
{
    for (size_t i = 0; i < RUN_GROUP; i += 4) {
        uint64_t four;

        memcpy(&four, upper + 2 * i, sizeof four);
        counts[four >> 4 & 0xfff][0]++;
        counts[four >> 20 & 0xfff][1]++;
        counts[four >> 36 & 0xfff][2]++;
        counts[four >> 52][3]++;
    }
    COUNTS_ARE_STORED;
}

/* Count a group of float32 in place. */
INLINE void count_f32(counters *counts, const char *x)
{
    for (size_t i = 0; i < RUN_GROUP; i += 4)
        for (size_t way = 0; way < 4; way++) {
            uint16_t upper;

            memcpy(&upper, x + 4 * (i + way) + 2, sizeof upper);
            counts[upper >> 4][way]++;
        }
    COUNTS_ARE_STORED;
}

INLINE void store_upper(const singles v[RUN_SETS], char *upper)
{
    words_store(upper, singles_upper(v[0], v[1]));
    words_store(upper + 4 * LANES, singles_upper(v[2], v[3]));
}

/* Prefetching while a block is read: the memory AHEAD of it up to the end of the block,
 * then where reading continues. */
struct ahead {
    const char *at, *end, *next;
};

INLINE struct ahead ahead_of(const char *x, size_t bytes, const char *next)
{
    if (bytes <= AHEAD)
        return (struct ahead){next + (AHEAD - bytes), NULL, next};
    return (struct ahead){x + AHEAD, x + bytes, next};
}

INLINE void prefetch_group(struct ahead *ahead, size_t bytes)
{
    for (size_t line = 0; line < bytes; line += 64)
        __builtin_prefetch(ahead->at + line);
    ahead->at += bytes;
    if (ahead->at == ahead->end)
        ahead->at = ahead->next;
}

/* One block of float32. */
INLINE void run_singles(struct stats_run *run, const char *x, const char *next,
                        singles shift, counters *counts, struct look look)
{
    struct ahead ahead = ahead_of(x, 4 * BLOCK, next);
    struct single_range range = run->singles;
    words seen = seen_none();
    struct run_sums sums;
    const char *first = x;

    run_sums_init(&sums);
    for (const char *end = x + 4 * BLOCK; x < end; x += 4 * RUN_GROUP) {
        singles v[RUN_SETS];

        prefetch_group(&ahead, 4 * RUN_GROUP);
        for (size_t k = 0; k < RUN_SETS; k++) {
            v[k] = load_f32(x + 4 * k * LANES);
            range.min = singles_min(range.min, v[k]);
            range.max = singles_max(range.max, v[k]);
            seen = seen_single(seen, v[k]);
        }
        run_sums_add(&sums, v, shift, look.shifted);
        if (look.counted)
            count_f32(counts, x);
    }
    run->singles = range;
    widen_sums(&sums, run);
    if (seen_any(seen)) /* the block is still in the first-level cache */
        run->zeros += count_zeros(first, BLOCK, 4, load_f32);
}

INLINE words codes_twice(words codes)
{
    return codes_add(codes, codes);
}

/* How many codes of a block are 0 or -0: min(2 * code, 1) counts those that are not. */
INLINE uint32_t count_zero_codes(const char *x)
{
    words others = words_zero();
    uint16_t counts[2 * LANES];
    uint32_t zeros = BLOCK;

    for (const char *end = x + 2 * BLOCK; x < end; x += 4 * LANES) {
        words twice = codes_twice(load_words(x));

        others = codes_add(others, codes_min_unsigned(twice, codes_one()));
    }
    words_store(counts, others);
    for (size_t i = 0; i < 2 * LANES; i++)
        zeros -= counts[i];
    return zeros;
}

/* Is one of the 16-bit lanes zero? Only a zero borrows from its highest bit. */
INLINE bool any_zero_lane(words lanes)
{
    uint64_t out[LANES / 2], borrowed = 0;

    words_store(out, lanes);
    for (size_t i = 0; i < LANES / 2; i++)
        borrowed |= (out[i] - 0x0001000100010001u) & ~out[i] & 0x8000800080008000u;
    return borrowed != 0;
}

INLINE void range_add(struct code_range *range, words a, words b)
{
    words nearest = codes_min_unsigned(codes_twice(a), codes_twice(b));

    range->max = codes_max(range->max, codes_max(a, b));
    range->max_unsigned =
        codes_max_unsigned(range->max_unsigned, codes_max_unsigned(a, b));
    range->nearest = codes_min_unsigned(range->nearest, nearest);
}

/* Add the range of a block, and count its zeros if there are any. */
INLINE void range_end(struct stats_run *run, struct code_range *range, const char *x)
{
    if (any_zero_lane(range->nearest))
        run->zeros += count_zero_codes(x);
    run->nearest = range->nearest;
    range->nearest = codes_min_unsigned(range->nearest, run->codes.nearest);
    run->codes = *range;
}

/* One block of float16 or bfloat16. `same`: a code is the upper half of its float32. */
INLINE void run_codes(struct stats_run *run, const char *x, const char *next,
                      singles shift, counters *counts, struct look look, bool same,
                      void (*pair)(const char *, singles *, singles *))
{
    struct code_range range = {run->codes.max, run->codes.max_unsigned,
                               codes_twice(load_words(x))};
    struct ahead ahead = ahead_of(x, 2 * BLOCK, next);
    struct run_sums sums;
    char upper[2 * BLOCK];

    run_sums_init(&sums);
    for (size_t i = 0; i < 2 * BLOCK; i += 2 * RUN_GROUP) {
        singles v[RUN_SETS];

        prefetch_group(&ahead, 2 * RUN_GROUP);
        pair(x + i, &v[0], &v[1]);
        pair(x + i + 4 * LANES, &v[2], &v[3]);
        run_sums_add(&sums, v, shift, look.shifted);
        range_add(&range, load_words(x + i), load_words(x + i + 4 * LANES));
        if (look.counted && same)
            count_upper(counts, x + i);
        else if (look.counted)
            store_upper(v, upper + i);
    }
    for (size_t i = 0; look.counted && !same && i < 2 * BLOCK; i += 2 * RUN_GROUP)
        count_upper(counts, upper + i);
    widen_sums(&sums, run);
    range_end(run, &range, x);
}

INLINE void run_init(struct stats_run *run, const char *x)
{
    words codes = load_words(x);

    run->singles = (struct single_range){load_f32(x), load_f32(x)};
    run->codes = (struct code_range){codes, codes, codes_twice(codes)};
    run->zeros = 0;
    run->window.lowest = 0; /* none yet */
    run->window.strays = 0;
    for (size_t k = 0; k < SETS; k++)
        run->sum[k] = run->squares[k] = doubles_zero();
}

/* The range as numbers. */
INLINE void end_codes(const struct code_range *range, singles (*load)(const char *),
                      struct block *block)
{
    int16_t max[2 * LANES];
    uint16_t lowest[2 * LANES], nearest[2 * LANES], codes[2 * LANES] = {0};
    float out[LANES];

    words_store(max, range->max);
    words_store(lowest, range->max_unsigned);
    words_store(nearest, range->nearest);
    for (size_t i = 1; i < 2 * LANES; i++) {
        max[0] = max[i] > max[0] ? max[i] : max[0];
        lowest[0] = lowest[i] > lowest[0] ? lowest[i] : lowest[0];
        nearest[0] = nearest[i] < nearest[0] ? nearest[i] : nearest[0];
    }
    codes[0] = lowest[0] >= 0x8000 ? lowest[0] : nearest[0] / 2;
    codes[1] = (uint16_t)(max[0] >= 0 ? max[0] : 0x8000 + nearest[0] / 2);
    singles_store(out, load((const char *)codes));
    block->min = out[0];
    block->max = out[1];
}

INLINE void run_end(const struct stats_run *run, size_t size,
                    singles (*load)(const char *), struct block *block)
{
    block->sum = total_doubles(run->sum);
    block->squares = total_doubles(run->squares);
    block->zeros = run->zeros;
    if (size == 2)
        end_codes(&run->codes, load, block);
    else
        end_range(run->singles.min, run->singles.max, block);
}

/* Count a group in the table. */
INLINE void stray_f32(counters *counts, const char *x)
{
    count_f32(counts, x);
}

INLINE void stray_bf16(counters *counts, const char *x)
{
    count_upper(counts, x);
}

INLINE void stray_f16(counters *counts, const char *x)
{
    singles v[RUN_SETS];
    char upper[2 * RUN_GROUP];

    pair_f16(x, &v[0], &v[1]);
    pair_f16(x + 4 * LANES, &v[2], &v[3]);
    store_upper(v, upper);
    count_upper(counts, upper);
}

INLINE words codes_f32(const char *x)
{
    return singles_upper(load_f32(x), load_f32(x + 4 * LANES));
}

#define codes_f16  load_words
#define codes_bf16 load_words

/* The greatest exponent of a run so far. */
INLINE uint32_t top_of_run(const struct stats_run *run, size_t size,
                           struct code_form form)
{
    uint32_t a, b;

    if (size == 4)
        return greatest_code(singles_upper(run->singles.min, run->singles.max)) >>
               form.mantissa;
    a = greatest_code(run->codes.max);
    b = greatest_code(run->codes.max_unsigned);
    return (a > b ? a : b) >> form.mantissa;
}

/* Count a block that is already part of the run's range. A NaN may have hidden elements
 * from the range of float32; that of codes is reliable. */
INLINE void run_window(struct stats_run *run, const char *x, size_t size,
                       struct code_form form, counters *counts,
                       words (*codes)(const char *),
                       void (*stray)(counters *, const char *))
{
    struct stats_planes_window *window = &run->window;
    uint32_t top = top_of_run(run, size, form);

    window_place(window, top, form, counts);
    if (size == 2 && top < form.exponents &&
        least_code(run->nearest) >> (form.mantissa + 1) >= window->lowest)
        window_add(window, x, size, form, counts, false, codes, stray);
    else
        window_add(window, x, size, form, counts, true, codes, stray);
}

/* Each block is a separate function, so that only its sums need registers. Three of them
 * sum; the one that also counts is the slowest. */
#define RUN_BLOCK(name, call)                                                          \
    static __attribute__((noinline)) void name(struct stats_run *run, const char *x,   \
                                               const char *next, singles shift,        \
                                               counters *counts)                       \
    {                                                                                  \
        call;                                                                          \
    }
#define RUN_KERNEL(type, size, function, ...)                                          \
    RUN_BLOCK(plain_##type, function(run, x, next, shift, counts,                      \
                                     ((struct look){false, false})__VA_ARGS__))        \
    RUN_BLOCK(shifted_##type, function(run, x, next, shift, counts,                    \
                                       ((struct look){true, false})__VA_ARGS__))       \
    RUN_BLOCK(counted_##type, function(run, x, next, shift, counts,                    \
                                       ((struct look){true, true})__VA_ARGS__))        \
    static __attribute__((noinline)) void window_##type(                               \
        struct stats_run *run, const char *x, counters *counts)                        \
    {                                                                                  \
        run_window(run, x, size, FORM_##type, counts, codes_##type, stray_##type);     \
    }                                                                                  \
    static void run_##type(const void *x, size_t n, const void *next, float shift,     \
                           counters *counts, struct block *ret_block)                  \
    {                                                                                  \
        singles shifts = singles_set(shift);                                           \
        const char *at = x, *end = at + n * (size);                                    \
        struct stats_run run;                                                          \
                                                                                       \
        run_init(&run, at);                                                            \
        for (; at < end; at += BLOCK * (size)) {                                       \
            bool windowed =                                                            \
                PICK_IS_FAST && counts && run.window.strays <= MANY_STRAYS;            \
            const char *then = at + BLOCK * (size) < end ? at + BLOCK * (size) : next; \
                                                                                       \
            if (counts && !windowed)                                                   \
                counted_##type(&run, at, then, shifts, counts);                        \
            else if (shift != 0)                                                       \
                shifted_##type(&run, at, then, shifts, NULL);                          \
            else                                                                       \
                plain_##type(&run, at, then, shifts, NULL);                            \
            if (windowed)                                                              \
                window_##type(&run, at, counts);                                       \
        }                                                                              \
        if (run.window.lowest)                                                         \
            window_flush(&run.window, FORM_##type, counts);                            \
        *ret_block = (struct block){.shift = shift};                                   \
        run_end(&run, size, load_##type, ret_block);                                   \
    }

RUN_KERNEL(f32, 4, run_singles)
RUN_KERNEL(f16, 2, run_codes, , false, pair_f16)
RUN_KERNEL(bf16, 2, run_codes, , true, pair_bf16)
