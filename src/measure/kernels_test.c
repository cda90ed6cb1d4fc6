#include "measure/kernels_test_in.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"

static const size_t load_sizes[LOAD_COUNT] = {4, 2, 2, 2, 2, 8, 4, 4, 8, 8};

uint64_t test_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The kind of elements in a block. */
enum flavour { ANY_BITS, ORDINARY, WITH_ZEROS, WITH_SPECIALS, CONSTANT, FLAVOURS };

static void put(enum load load, uint8_t *at, double value, uint64_t bits)
{
    float single = (float)value;
    uint32_t word;

    memcpy(&word, &single, sizeof word);
    if (load == LOAD_F32)
        memcpy(at, &single, 4);
    else if (load == LOAD_F64)
        memcpy(at, &value, 8);
    else if (load == LOAD_BF16)
        memcpy(at, &(uint16_t){(uint16_t)(word >> 16)}, 2);
    else if (load == LOAD_F16) /* of [0.5, 2), with either sign */
        memcpy(at,
               &(uint16_t){(uint16_t)((bits & 0x83ff) | 0x3800 | (bits >> 7 & 0x400))},
               2);
    else
        memcpy(at, &(int64_t){(int64_t)(value * 100)}, load_sizes[load]);
}

static void put_special(enum load load, uint8_t *at, uint64_t which)
{
    static const uint32_t specials[] = {0x7f800000, 0xff800000, 0x7fc00000, 0x00000001,
                                        0x80000000, 0x807fffff, 0x7f7fffff, 0};
    static const uint16_t halves[] = {0x7c00, 0xfc00, 0x7e00, 0x0001,
                                      0x8000, 0x83ff, 0x7bff, 0};
    uint32_t bits = specials[which % 8];
    float single;

    memcpy(&single, &bits, sizeof single);
    if (load == LOAD_F32)
        memcpy(at, &bits, 4);
    else if (load == LOAD_F64)
        memcpy(at, &(double){which % 16 < 8 ? single : DBL_MAX}, 8);
    else if (load == LOAD_BF16)
        memcpy(at, &(uint16_t){(uint16_t)(bits >> 16)}, 2);
    else if (load == LOAD_F16)
        memcpy(at, &halves[which % 8], 2);
    else
        memset(at, which % 3 == 0 ? 0 : which % 3 == 1 ? 0x7f : 0x80, load_sizes[load]);
}

static void fill(enum load load, enum flavour flavour, uint8_t *at, size_t n,
                 uint64_t *state)
{
    size_t size = load_sizes[load];

    for (size_t i = 0; i < n; i++, at += size) {
        uint64_t bits = test_random(state);
        double value = (double)(bits >> 20) * 0x1p-44 * 2 - 1;

        if (flavour == ANY_BITS)
            memcpy(at, &bits, size);
        else
            put(load, at, flavour == CONSTANT ? 0.75 : value,
                flavour == CONSTANT ? 0 : bits);
        if (flavour == WITH_ZEROS && bits % 3 == 0)
            memset(at, 0, size);
        if (flavour == WITH_SPECIALS && bits % 29 == 0)
            put_special(load, at, bits >> 32);
    }
}

/* A float32 kernel's sums only approximate those in doubles. */
static void check_sums(enum load load, const struct block *got,
                       const struct block *expected, size_t n)
{
    double tolerance = load < LOAD_F64 ? 2e-6 : 1e-13;
    double square = expected->squares / (double)n;

    CHECK_NEAR(got->shift, expected->shift, 0);
    CHECK_INT(got->zeros, expected->zeros);
    if (load == LOAD_I64 || load == LOAD_U64) {
        CHECK_INT(got->int_min, expected->int_min);
        CHECK_INT(got->int_max, expected->int_max);
    } else {
        CHECK_NEAR(got->min, expected->min, 0);
        CHECK_NEAR(got->max, expected->max, 0);
    }
    CHECK_NEAR(got->sum, expected->sum, sqrt(square) * (double)n * tolerance);
    CHECK_NEAR(got->squares, expected->squares, expected->squares * tolerance);
}

static void check_block(const struct kernels *kernels, enum load load, const uint8_t *x,
                        size_t n)
{
    struct block got, expected;

    kernels_plain.sums[load](x, n, &expected);
    kernels->sums[load](x, n, &got);
    if (isfinite(got.squares))
        check_sums(load, &got, &expected, n);
    else if (load >= LOAD_I64) /* too wide: the range still counts */
        CHECK(got.int_min == expected.int_min && got.int_max == expected.int_max);
    else /* too large for float32, or not finite at all */
        CHECK(!isfinite(expected.squares) ||
              (load < LOAD_F64 && expected.squares > 1e36));
    if (kernels->finite[load])
        CHECK_INT(kernels->finite[load](x, n), kernels_plain.finite[load](x, n));
}

static void check_find(const struct kernels *kernels, enum load load, const uint8_t *x,
                       size_t n, uint64_t pick)
{
    double reals[BLOCK];

    if (kernels->widen[load]) {
        double expected[BLOCK];

        kernels->widen[load](x, n, reals);
        kernels_plain.widen[load](x, n, expected);
        for (size_t i = 0; i < n; i++)
            CHECK(isnan(reals[i]) ? isnan(expected[i])
                                  : memcmp(&reals[i], &expected[i], 8) == 0);
        if (kernels->find[load] && !isnan(reals[pick % n]))
            CHECK_INT(kernels->find[load](x, n, reals[pick % n]),
                      kernels_plain.find[load](x, n, reals[pick % n]));
    }
    if (kernels->find[load])
        CHECK_INT(kernels->find[load](x, n, 1e9), kernels_plain.find[load](x, n, 1e9));
    if (kernels->bins[load]) {
        uint16_t got[BLOCK], expected[BLOCK];

        kernels->bins[load](x, n, got);
        kernels_plain.bins[load](x, n, expected);
        for (size_t i = 0; i < n; i++) /* a NaN may come with other bits: not counted */
            CHECK(got[i] == expected[i] || expected[i] % 2048 >= 2040);
    }
}

/* The counts of a run, and everything else that must be bit-identical. */
static void check_counts(const struct kernels *kernels, enum load load,
                         const uint8_t *x, size_t n, float shift, struct block *ret_got,
                         struct block *ret_expected)
{
    counters *counts = calloc(2 * TALLY_BINS, sizeof *counts);
    uint64_t bins[2][HISTOGRAM_BINS + 1] = {{0}}, counted[2] = {0};

    CHECK(counts != NULL);
    kernels->run[load](x, n, x, shift, counts, ret_got);
    kernels_plain.run[load](x, n, x, shift, counts + TALLY_BINS, ret_expected);
    for (uint32_t i = 0; i < 2 * TALLY_BINS; i++) {
        uint32_t bin = histogram_fold(i % TALLY_BINS), which = i / TALLY_BINS;

        for (size_t way = 0; way < TALLY_WAYS; way++) {
            bins[which][bin] += counts[i][way];
            counted[which] += counts[i][way];
        }
    }
    CHECK_MEM(bins[0], bins[1], sizeof bins[0]);
    CHECK(counted[0] == n && counted[1] == n);
    CHECK(isnan(ret_expected->squares) || ret_got->zeros == ret_expected->zeros);
    free(counts);
}

static void check_run(const struct kernels *kernels, enum load load, const uint8_t *x,
                      size_t n, float shift)
{
    struct block got, expected;

    check_counts(kernels, load, x, n, shift, &got, &expected);
    if (isfinite(got.squares))
        check_sums(load, &got, &expected, n);
    else
        CHECK(!isfinite(expected.squares) || expected.squares > 1e36);
    kernels->run[load](x, n, x, shift, NULL, &expected);
    CHECK(memcmp(&got, &expected, sizeof got) == 0 || isnan(got.squares));
}

/* Runs of one and of all blocks, also of one sign only, from 0 and from another
 * shift. */
static void check_runs(const struct kernels *kernels)
{
    uint8_t *room = malloc(RUN * 4 + 16);
    uint64_t state = 0x2545f4914f6cdd1du;

    CHECK(room != NULL);
    for (int load = 0; load <= LOAD_BF16; load++)
        for (int flavour = 0; flavour < FLAVOURS; flavour++)
            for (int sign = -1; sign <= 1; sign++) {
                uint8_t *x = room + (flavour * 3 + sign + 1) % 16;
                size_t size = load_sizes[load];

                fill((enum load)load, (enum flavour)flavour, x, RUN, &state);
                for (size_t i = 0; sign != 0 && i < RUN; i++) {
                    uint8_t *top = &x[i * size + size - 1];

                    *top = (uint8_t)(sign < 0 ? *top | 0x80 : *top & 0x7f);
                }
                check_run(kernels, (enum load)load, x, BLOCK, 0);
                check_run(kernels, (enum load)load, x, RUN, 0);
                check_run(kernels, (enum load)load, x, RUN, 0.25f);
            }
    free(room);
}

/* The distribution of exponents in a run. */
enum scatter { NARROW, ONE_STRAY, SOME_STRAYS, RISING, FALLING, SCATTERS };

static void put_exponent(enum load load, uint8_t *at, uint32_t exponent, uint64_t bits)
{
    uint32_t sign = (uint32_t)(bits >> 63);

    if (load == LOAD_F32)
        memcpy(at, &(uint32_t){sign << 31 | exponent << 23 | (bits & 0x7fffff)}, 4);
    else if (load == LOAD_BF16)
        memcpy(at, &(uint16_t){(uint16_t)(sign << 15 | exponent << 7 | (bits & 0x7f))},
               2);
    else
        memcpy(at,
               &(uint16_t){(uint16_t)(sign << 15 | exponent << 10 | (bits & 0x3ff))},
               2);
}

/* `wide` exponents from `base` on, with others among them or moving from block to
 * block. */
static void scatter_exponents(enum load load, enum scatter scatter, uint32_t base,
                              uint32_t wide, uint8_t *x, uint64_t *state)
{
    uint32_t all = load == LOAD_F16 ? 32 : 256;
    uint64_t stray = test_random(state) % BLOCK;

    for (size_t i = 0; i < RUN; i++) {
        uint64_t bits = test_random(state);
        uint32_t exponent = base + (uint32_t)(bits >> 32) % wide;

        if (scatter == RISING)
            exponent += (uint32_t)(i / BLOCK);
        else if (scatter == FALLING)
            exponent += 3 * (uint32_t)(RUN / BLOCK - i / BLOCK);
        else if (scatter == ONE_STRAY ? i % BLOCK == stray : bits % 100 == 0)
            exponent = scatter == NARROW ? exponent : (uint32_t)(bits >> 40);
        put_exponent(load, x + i * load_sizes[load], exponent % all, bits);
    }
}

/* Exponents that fill a window, and just do or do not fit, at either end and between.
 */
static void check_scatters(const struct kernels *kernels)
{
    static const uint32_t wides[] = {1, 8, 15, 16, 17, 40};
    uint8_t *room = malloc(RUN * 4 + 16);
    uint64_t state = 0x853c49e6748fea9bu;
    struct block got, expected;

    CHECK(room != NULL);
    for (int load = 0; load <= LOAD_BF16; load++)
        for (int scatter = 0; scatter < SCATTERS; scatter++)
            for (size_t i = 0; i < COUNT_OF(wides); i++)
                for (uint32_t base = 0; base < 256; base += base % 16 < 2 ? 1 : 13) {
                    uint8_t *x = room + base % 16;

                    if (load == LOAD_F16 && base >= 32)
                        break;
                    scatter_exponents((enum load)load, (enum scatter)scatter, base,
                                      wides[i], x, &state);
                    check_counts(kernels, (enum load)load, x, RUN, 0, &got, &expected);
                    check_counts(kernels, (enum load)load, x, BLOCK, 1, &got,
                                 &expected);
                }
    free(room);
}

/* Ranges of anything; keys of zeros and normal numbers below 2^31 / scale. */
static void check_spread(const struct kernels *kernels, uint8_t *x, size_t n,
                         uint64_t *state)
{
    uint16_t got[BLOCK], expected[BLOCK];
    struct spread_range range, wanted;

    kernels->spread_range(x, n, &range);
    spread_range_plain(x, n, &wanted);
    CHECK_MEM(&range, &wanted, sizeof wanted);
    for (int k = -120; k <= 122; k += 11) {
        for (size_t i = 0; i < n; i++) {
            uint64_t bits = test_random(state);
            uint32_t exponent = (uint32_t)(bits >> 32) % (uint32_t)(127 + k + 31);
            uint32_t word = (uint32_t)bits & 0x807fffff;

            exponent = exponent > 254 ? 254 : exponent;
            if (bits >> 61 == 0) /* possibly a multiple of 2^k */
                word &= 0x80780000;
            if (bits >> 61 == 1) /* close to 2^k */
                exponent = (uint32_t)(127 + k) + (uint32_t)(bits >> 50 & 3);
            word = exponent == 0 ? word & 0x80000000 : word | exponent << 23;
            memcpy(x + 4 * i, &word, sizeof word);
        }
        kernels->spread_keys(x, n, ldexpf(1, -k), got);
        spread_keys_plain(x, n, ldexpf(1, -k), expected);
        CHECK_MEM(got, expected, n * sizeof *got);
    }
}

void check_kernels(const struct kernels *kernels)
{
    static const size_t lengths[] = {1,   2,   3,   7,   8,    15,   16,   17,
                                     31,  32,  33,  63,  64,   65,   127,  128,
                                     129, 255, 256, 500, 1000, 2015, 2047, 2048};
    uint8_t *room = malloc(BLOCK * 8 + 16);
    uint64_t state = 0x9e3779b97f4a7c15u;

    CHECK(room != NULL);
    for (int load = 0; load < LOAD_COUNT; load++)
        for (int flavour = 0; flavour < FLAVOURS; flavour++)
            for (size_t i = 0; i < COUNT_OF(lengths); i++) {
                uint8_t *x = room + (i * 3 + (size_t)flavour) % 16; /* at any address */

                fill((enum load)load, (enum flavour)flavour, x, lengths[i], &state);
                check_block(kernels, (enum load)load, x, lengths[i]);
                check_find(kernels, (enum load)load, x, lengths[i],
                           test_random(&state));
                if (load == LOAD_F32)
                    check_spread(kernels, x, lengths[i], &state);
            }
    free(room);
    check_runs(kernels);
    check_scatters(kernels);
}

TEST(the_sse2_kernel_agrees_with_the_plain_one)
{
    const struct kernels *kernels = kernels_find("sse2");

    if (!kernels)
        SKIP("this machine has no SSE2");
    check_kernels(kernels);
}

TEST(the_avx2_kernel_agrees_with_the_plain_one)
{
    const struct kernels *kernels = kernels_find("avx2");

    if (!kernels)
        SKIP("this machine has no AVX2");
    check_kernels(kernels);
}

TEST(the_avx512_kernel_agrees_with_the_plain_one)
{
    const struct kernels *kernels = kernels_find("avx512");

    if (!kernels)
        SKIP("this machine has no AVX-512");
    check_kernels(kernels);
}

TEST(an_unknown_kernel_is_not_found)
{
    CHECK(kernels_find("abacus") == NULL);
    CHECK(kernels_find("plain") == &kernels_plain);
    CHECK(kernels_best() != NULL);
}
