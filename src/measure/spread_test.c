#include "measure/spread.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/test.h"
#include "measure/elements.h"
#include "measure/spread_test_in.h"

static const enum dtype types[] = {
    DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16,      DTYPE_INT8,
    DTYPE_UINT8,   DTYPE_INT16,   DTYPE_INT32,   DTYPE_INT64,         DTYPE_UINT64,
    DTYPE_BOOL,    DTYPE_UINT16,  DTYPE_UINT32,  DTYPE_FLOAT8_E4M3FN, DTYPE_COMPLEX64};

/* The spread must equal the one from the definition. */
static void check_naive(struct spread_counter *counter, enum dtype dtype,
                        const void *at, size_t n)
{
    struct spread got = {0}, expected = {0};

    CHECK(spread_of(counter, dtype, at, n, SPREAD_ALL, &got, NULL) == 0);
    spread_test_naive(dtype, at, n, &expected);
    CHECK(spread_equal(&got, &expected));
    CHECK(!spread_sampled(&got));
    spread_release(&got);
    spread_release(&expected);
}

static void check_counting(const struct kernels *kernels)
{
    static const size_t sizes[] = {0, 1, 2, 5, 40, 511, 512, 513, 3000, 16384, 40001};
    struct spread_counter *counter = spread_counter_new(NULL);
    uint8_t *room = malloc((size_t)40001 * 8 + 8);
    uint64_t state = 0x9e3779b97f4a7c15u;

    CHECK(counter != NULL && room != NULL);
    counter->kernels = kernels;
    for (size_t t = 0; t < COUNT_OF(types); t++)
        for (int flavour = 0; flavour < SPREAD_TEST_FLAVOURS; flavour++)
            for (size_t i = 0; i < COUNT_OF(sizes); i++) {
                uint8_t *at = room + i % 5; /* at any alignment */

                if (sizes[i] > 3000 && t > 3)
                    continue;
                spread_test_fill(types[t], (enum flavour_of_spread)flavour, at,
                                 sizes[i], &state);
                check_naive(counter, types[t], at, sizes[i]);
            }
    free(room);
    spread_counter_free(counter);
}

TEST(plain_counting_follows_the_definition)
{
    check_counting(&kernels_plain);
}

TEST(counting_with_avx2_follows_the_definition)
{
    if (!kernels_find("avx2"))
        SKIP("this machine has no AVX2");
    check_counting(kernels_find("avx2"));
}

TEST(counting_with_avx512_follows_the_definition)
{
    if (!kernels_find("avx512"))
        SKIP("this machine has no AVX-512");
    check_counting(kernels_find("avx512"));
}

/* Each chunk is ten times as wide as those before: all counts move to wider bins. */
TEST(a_range_that_grows_with_every_chunk_is_counted_exactly)
{
    struct spread_counter *counter = spread_counter_new(NULL);
    size_t n = 12 * SPREAD_CHUNK;
    float *x = malloc(n * sizeof *x), scale = 1e-20f;
    uint64_t state = 88172645463325252u;

    CHECK(counter != NULL && x != NULL);
    for (size_t i = 0; i < n; i++) {
        scale *= i % SPREAD_CHUNK == 0 ? 10 : 1;
        x[i] = scale * (float)((double)(int64_t)test_random(&state) * 0x1p-63);
    }
    check_naive(counter, DTYPE_FLOAT32, x, n);
    check_naive(counter, DTYPE_FLOAT32, x, 1); /* nothing remains of the first one */
    free(x);
    spread_counter_free(counter);
}

TEST(all_pairs_of_extreme_values_have_at_most_128_bins)
{
    static const double extremes[] = {
        0,     0x1p-1074, 0x1.8p-1073, DBL_MIN, 0x1p-149, 1e-3,
        1,     1.5,       1000.1,      FLT_MAX, 0x1p53,   0x1p62,
        1e300, DBL_MAX,   0x1p1023,    0x1p-60, 3,        0x1.fffffffffffffp-1};
    struct spread_counter *counter = spread_counter_new(NULL);
    struct spread spread = {0};

    CHECK(counter != NULL);
    for (size_t i = 0; i < 2 * COUNT_OF(extremes); i++)
        for (size_t j = 0; j < 2 * COUNT_OF(extremes); j++) {
            double x[2] = {extremes[i / 2] * (i % 2 ? -1 : 1),
                           extremes[j / 2] * (j % 2 ? -1 : 1)};

            check_naive(counter, DTYPE_FLOAT64, x, 2);
            CHECK(spread_of(counter, DTYPE_FLOAT64, x, 2, SPREAD_ALL, &spread, NULL) ==
                  0);
            CHECK(spread.n_linear >= 1 && spread.n_linear <= SPREAD_LINEAR);
            CHECK(llabs(spread.first) <= (int64_t)1 << 53);
            CHECK(x[0] == x[1] ? spread.n_linear == 1 : spread.counted == 2);
        }
    spread_release(&spread);
    spread_counter_free(counter);
}

TEST(a_constant_has_one_bin_of_the_width_of_an_ulp)
{
    struct spread_counter *counter = spread_counter_new(NULL);
    struct spread spread = {0};
    double x[3] = {-5, -5, -5}, low, high;

    CHECK(counter != NULL);
    CHECK(spread_of(counter, DTYPE_FLOAT64, x, 3, SPREAD_ALL, &spread, NULL) == 0);
    CHECK_INT(spread.n_linear, 1);
    CHECK_INT(spread.linear[0], 3);
    spread_linear_range(&spread, 0, &low, &high);
    CHECK(low == -5 && high == nextafter(-5, 0));
    CHECK_INT(spread.n_log, 1);
    spread_log_range(spread.log[0].key, &low, &high);
    CHECK(low == -6 && high == -5);
    spread_release(&spread);
    spread_counter_free(counter);
}

/* Parts of one set, each with its spread. */
#define PARTS 6
struct parts {
    struct spread spreads[PARTS], whole;
    uint8_t *elements;
    size_t ends[PARTS];
};

/* Parts of other flavours, sizes and, where the type allows it, magnitudes. */
static void make_parts(struct parts *parts, struct spread_counter *counter,
                       enum dtype dtype, uint64_t *state)
{
    size_t size = elements_size(dtype, 1), end = 0;

    for (size_t i = 0; i < PARTS; i++) {
        size_t n = test_random(state) % (test_random(state) % 8 ? 30 : 700);
        uint64_t flavour = test_random(state) % SPREAD_TEST_FLAVOURS;

        n = test_random(state) % 9 == 0 ? 0 : n;
        spread_test_fill(dtype, (enum flavour_of_spread)flavour,
                         parts->elements + end * size, n, state);
        CHECK(spread_of(counter, dtype, parts->elements + end * size, n, SPREAD_ALL,
                        &parts->spreads[i], NULL) == 0);
        end += n;
        parts->ends[i] = end;
    }
    CHECK(spread_of(counter, dtype, parts->elements, end, SPREAD_ALL, &parts->whole,
                    NULL) == 0);
}

/* Merge two at random until one is left. */
static void merge_parts(struct parts *parts, uint64_t *state)
{
    for (size_t left = PARTS; left > 1; left--) {
        size_t a = test_random(state) % left, b = test_random(state) % (left - 1);
        struct spread from;

        b += b >= a;
        CHECK(spread_merge(&parts->spreads[a], &parts->spreads[b], NULL) == 0);
        from = parts->spreads[b];
        parts->spreads[b] = parts->spreads[left - 1];
        parts->spreads[left - 1] = from;
    }
}

TEST(merged_spreads_are_the_spread_of_all_elements_bit_for_bit)
{
    struct spread_counter *counter = spread_counter_new(NULL);
    struct parts parts = {.elements = malloc((size_t)PARTS * 700 * 8)};
    uint64_t state = 0x2545f4914f6cdd1du;

    CHECK(counter != NULL && parts.elements != NULL);
    for (int round = 0; round < 3000; round++) {
        make_parts(&parts, counter, types[(size_t)round % COUNT_OF(types)], &state);
        merge_parts(&parts, &state);
        CHECK(spread_equal(&parts.spreads[0], &parts.whole));
    }
    for (size_t i = 0; i < PARTS; i++)
        spread_release(&parts.spreads[i]);
    spread_release(&parts.whole);
    free(parts.elements);
    spread_counter_free(counter);
}

TEST(merging_an_empty_spread_only_changes_the_represented_elements)
{
    struct spread_counter *counter = spread_counter_new(NULL);
    const float x[3] = {1, 2, -7}, nothing[2] = {NAN, INFINITY};
    struct spread some = {0}, none = {0}, both = {0};

    CHECK(counter != NULL);
    CHECK(spread_of(counter, DTYPE_FLOAT32, x, 3, SPREAD_ALL, &some, NULL) == 0);
    CHECK(spread_of(counter, DTYPE_FLOAT32, nothing, 2, SPREAD_ALL, &none, NULL) == 0);
    CHECK(none.counted == 0 && none.n_linear == 0 && none.n_log == 0 && none.seen == 2);
    CHECK(spread_merge(&both, &none, NULL) == 0);
    CHECK(spread_equal(&both, &none));
    CHECK(spread_merge(&both, &some, NULL) == 0);
    CHECK(both.of == 5 && both.counted == 3 && both.n_log == 3 && both.min == -7);
    CHECK(spread_merge(&some, &none, NULL) == 0);
    CHECK(spread_equal(&both, &some));
    spread_release(&some);
    spread_release(&none);
    spread_release(&both);
    spread_counter_free(counter);
}

TEST(merging_more_than_64_bits_of_elements_fails_and_changes_nothing)
{
    struct spread a = {.of = UINT64_MAX}, b = {.of = 1}, same = a;
    struct err err = {0};

    CHECK(spread_merge(&a, &b, &err) < 0);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK(spread_equal(&a, &same));
}
