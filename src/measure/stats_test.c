#include "measure/stats_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "measure/decode_in.h"
#include "measure/kernels_test_in.h"
#include "measure/sample_model_in.h"

/* Statistics by their definitions, in long double and two passes. */
static struct stats by_definition(enum dtype dtype, const double *x, size_t n,
                                  long double *ret_std)
{
    long double sum = 0, m2 = 0;
    struct stats stats;

    stats_init(&stats, dtype);
    for (size_t i = 0; i < n; i++) {
        stats.count++;
        stats.nan += isnan(x[i]);
        stats.pos_inf += isinf(x[i]) && x[i] > 0;
        stats.neg_inf += isinf(x[i]) && x[i] < 0;
        stats.zeros += x[i] == 0;
        if (!isfinite(x[i]))
            continue;
        sum += x[i];
        if (!(x[i] >= stats.min)) {
            stats.min = x[i];
            stats.min_at = i;
        }
        if (!(x[i] <= stats.max)) {
            stats.max = x[i];
            stats.max_at = i;
        }
    }
    sum /= stats_finite(&stats);
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            m2 += (x[i] - sum) * (x[i] - sum);
    stats.mean = (double)sum;
    stats.m2 = (double)m2;
    *ret_std = sqrtl(m2 / (stats_finite(&stats) - 1));
    return stats;
}

static void check_counts(const struct stats *got, const struct stats *expected)
{
    CHECK_INT(got->count, expected->count);
    CHECK_INT(got->nan, expected->nan);
    CHECK_INT(got->pos_inf, expected->pos_inf);
    CHECK_INT(got->neg_inf, expected->neg_inf);
    CHECK_INT(got->zeros, expected->zeros);
    CHECK_NEAR(got->min, expected->min, 0);
    CHECK_NEAR(got->max, expected->max, 0);
    CHECK_INT(got->min_at, expected->min_at);
    CHECK_INT(got->max_at, expected->max_at);
}

static void check_stats(const struct stats *got, const struct stats *expected,
                        double tolerance)
{
    double std = stats_std(expected);

    check_counts(got, expected);
    CHECK_NEAR(got->mean, expected->mean,
               std * tolerance + fabs(expected->mean) * 1e-12);
    CHECK_NEAR(stats_std(got), std, std * tolerance);
}

static const char *const sets[] = {"plain", "sse2", "avx2", "avx512"};

/* A pseudo-random normal number. */
static double normal(uint64_t *state)
{
    double u = (double)((test_random(state) >> 11) + 1) * 0x1p-53;
    double v = (double)(test_random(state) >> 11) * 0x1p-53;

    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

static float *make_row(int row, size_t n)
{
    static const double means[] = {0, 1e4, 1e6, 0, 0, 0, 0, 0};
    static const double widths[] = {1, 1, 1, 1e-22, 1e25, 1, 1, 1};
    float *x = malloc(n * sizeof *x);
    uint64_t state = 12345 + (uint64_t)row;

    CHECK(x != NULL);
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)(means[row] + widths[row] * normal(&state));
        if ((row == 5 && i == 0) || (row == 6 && i % BLOCK == 0))
            x[i] = 1e8f;
        if (row == 7 && x[i] < 0)
            x[i] = 0;
    }
    return x;
}

/* The rows: N(0,1), N(1e4,1), N(1e6,1), N(0,1e-22), N(0,1e25), an outlier of 1e8 first,
 * one first in every block, and N(0,1) after relu. */
static void check_rows(const struct kernels *kernels)
{
    size_t n = 300001;
    double *wide = malloc(n * sizeof *wide);

    CHECK(wide != NULL);
    for (int row = 0; row < 8; row++) {
        float *x = make_row(row, n);
        struct stats_part part = {
            .kernels = kernels, .dtype = DTYPE_FLOAT32, .at = x, .n = n};
        struct stats full, exact, expected;
        long double std;

        for (size_t i = 0; i < n; i++)
            wide[i] = x[i];
        expected = by_definition(DTYPE_FLOAT32, wide, n, &std);
        stats_init(&full, DTYPE_FLOAT32);
        stats_add_part(&full, &part);
        check_counts(&full, &expected);
        CHECK_NEAR((double)((stats_std(&full) - std) / std), 0, 1e-6);
        part.mode = MEASURE_EXACT;
        stats_init(&exact, DTYPE_FLOAT32);
        stats_add_part(&exact, &part);
        check_counts(&exact, &expected);
        CHECK_NEAR((double)((stats_std(&exact) - std) / std), 0, 1e-12);
        free(x);
    }
    free(wide);
}

TEST(std_is_within_a_millionth_on_every_row_of_the_accuracy_table)
{
    for (size_t i = 0; i < COUNT_OF(sets); i++)
        if (kernels_find(sets[i]))
            check_rows(kernels_find(sets[i]));
}

/* A few elements, most of them zero, measured with a first element that is `away`
 * standard deviations off. */
static void check_short_row(const struct kernels *kernels, size_t n, double away)
{
    float *x = make_row(7, n);
    double *wide = malloc(n * sizeof *wide);
    struct stats_part part = {
        .kernels = kernels, .dtype = DTYPE_FLOAT32, .at = x, .n = n};
    struct stats full, expected;
    long double std;

    CHECK(wide != NULL);
    x[0] = (float)(0.4 + 0.58 * away);
    for (size_t i = 0; i < n; i++)
        wide[i] = x[i];
    expected = by_definition(DTYPE_FLOAT32, wide, n, &std);
    stats_init(&full, DTYPE_FLOAT32);
    stats_add_part(&full, &part);
    check_counts(&full, &expected);
    CHECK_NEAR((double)((stats_std(&full) - std) / std), 0, 1e-6);
    free(wide);
    free(x);
}

TEST(std_is_within_a_millionth_for_any_first_element)
{
    for (size_t i = 0; i < COUNT_OF(sets); i++)
        for (double away = 0; away < 8; away += 0.25)
            for (size_t n = 64; kernels_find(sets[i]) && n < BLOCK; n += 160)
                check_short_row(kernels_find(sets[i]), n, away);
}

/* Element i of x, truncated to its type; float16 has no denormals here. */
static void put_float(enum dtype dtype, uint8_t *x, size_t i, float value)
{
    uint32_t bits;
    uint16_t half;

    memcpy(&bits, &value, sizeof bits);
    half = (uint16_t)(bits >> 16);
    if (dtype == DTYPE_FLOAT16) /* its exponent is smaller by 112 */
        half = (uint16_t)((half & 0x8000) | ((bits & 0x7fffffff) - 0x38000000) >> 13);
    if (dtype == DTYPE_FLOAT32)
        memcpy(x + 4 * i, &bits, sizeof bits);
    else
        memcpy(x + 2 * i, &half, sizeof half);
}

/* A run may be measured from 0, from its mean or block by block: the rows are N(0,1),
 * N(100,1), one number only, and the first with a NaN and an infinity in it. */
static void check_runs_of(const struct kernels *kernels, enum dtype dtype, int row)
{
    size_t n = 2 * RUN + BLOCK + 77;
    uint8_t *x = malloc(4 * n);
    double *reals = malloc(n * sizeof *reals);
    struct histogram *histograms = calloc(2, sizeof *histograms);
    uint64_t state = 31 + (uint64_t)row;
    struct tally tally;
    struct stats got, expected;
    long double std;

    CHECK(x && reals && histograms);
    for (size_t i = 0; i < n; i++) {
        double value = row == 2 ? 0.75 : (row == 1 ? 100 : 0) + normal(&state);

        if (fabs(value) < 0.001)
            value = 0.001;
        if (row == 3 && (i == 5000 || i == 40000))
            value = i == 5000 ? NAN : -INFINITY;
        put_float(dtype, x, i, (float)value);
    }
    if (row == 3 && dtype == DTYPE_FLOAT16) {
        memcpy(x + 2 * 5000, &(uint16_t){0x7e00}, 2);
        memcpy(x + 2 * 40000, &(uint16_t){0xfc00}, 2);
    }
    decode_reals(dtype, x, 0, n, reals);
    expected = by_definition(dtype, reals, n, &std);
    for (size_t i = 0; i < n; i++)
        if (isfinite(reals[i]))
            histograms[1].bins[histogram_bin(reals[i])]++;
    tally_init(&tally, &histograms[0], dtype, n);
    stats_init(&got, dtype);
    stats_add_part(
        &got,
        &(struct stats_part){
            .kernels = kernels, .tally = &tally, .dtype = dtype, .at = x, .n = n});
    tally_release(&tally);
    check_stats(&got, &expected, 1e-6);
    CHECK(memcmp(histograms[0].bins, histograms[1].bins, sizeof histograms[0].bins) ==
          0);
    free(x);
    free(reals);
    free(histograms);
}

TEST(runs_are_measured_correctly_and_once_by_every_kernel)
{
    static const enum dtype types[] = {DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16};

    for (size_t i = 0; i < COUNT_OF(sets); i++)
        for (size_t k = 0; kernels_find(sets[i]) && k < COUNT_OF(types); k++)
            for (int row = 0; row < 4; row++)
                check_runs_of(kernels_find(sets[i]), types[k], row);
}

TEST(statistics_of_every_type_are_those_by_definition)
{
    const size_t n = 5003;
    uint8_t *bytes = malloc(16 * n);
    double *reals = malloc(2 * n * sizeof *reals);
    uint64_t state = 99;

    CHECK(bytes && reals);
    for (size_t i = 0; i < 16 * n; i++)
        bytes[i] = (uint8_t)(test_random(&state) >> 30);
    for (int dtype = 1; dtype < DTYPE_COUNT; dtype++) {
        const struct dtype_info *info = dtype_info((enum dtype)dtype);
        struct stats got, expected;
        long double std;

        /* Any bits of a double have squares beyond its range. */
        if (!decode_has_values((enum dtype)dtype) || dtype == DTYPE_FLOAT64 ||
            dtype == DTYPE_COMPLEX128 ||
            elements_dtype((enum dtype)dtype) != (enum dtype)dtype)
            continue;
        stats_init(&got, (enum dtype)dtype);
        stats_add(&got, NULL, (enum dtype)dtype, bytes, n, 0, MEASURE_FULL);
        decode_reals((enum dtype)dtype, bytes, 0, n, reals);
        expected = by_definition((enum dtype)dtype, reals, n * info->values, &std);
        expected.min_at /= info->values;
        expected.max_at /= info->values;
        check_stats(&got, &expected, 1e-6);
        if (got.kind == STATS_INT)
            CHECK_NEAR((double)got.int_min, expected.min, 0);
        if (got.kind == STATS_UINT)
            CHECK_NEAR((double)(uint64_t)got.int_max, expected.max, 0);
    }
    free(bytes);
    free(reals);
}

TEST(doubles_of_any_size_are_counted_and_ranged)
{
    double x[5000];
    uint64_t state = 5;
    struct stats got, expected;
    long double std;

    for (size_t i = 0; i < COUNT_OF(x); i++) {
        uint64_t bits = test_random(&state);

        memcpy(&x[i], &bits, sizeof bits);
    }
    stats_init(&got, DTYPE_FLOAT64);
    stats_add(&got, NULL, DTYPE_FLOAT64, x, COUNT_OF(x), 0, MEASURE_FULL);
    expected = by_definition(DTYPE_FLOAT64, x, COUNT_OF(x), &std);
    check_counts(&got, &expected);
    CHECK_NEAR(got.mean, expected.mean, fabs(expected.mean) * 1e-12);
    CHECK(got.m2 < 0); /* it is too large for a double, and its root is not */
    CHECK_NEAR(stats_std(&got), (double)std, (double)std * 1e-12);
}

TEST(sixty_four_bit_integers_keep_every_digit)
{
    int64_t x[3000];
    struct stats stats;

    for (size_t i = 0; i < COUNT_OF(x); i++)
        x[i] = INT64_MAX - 5000 + (int64_t)i;
    x[1234] = INT64_MAX;
    x[99] = INT64_MIN;
    x[100] = INT64_MIN + 1;
    x[2] = 0;
    stats_init(&stats, DTYPE_INT64);
    stats_add(&stats, NULL, DTYPE_INT64, x, COUNT_OF(x), 7, MEASURE_FULL);
    CHECK(stats.int_min == INT64_MIN && stats.int_max == INT64_MAX);
    CHECK_INT(stats.min_at, 99 + 7);
    CHECK_INT(stats.max_at, 1234 + 7);
    CHECK_INT(stats.zeros, 1);
    stats_init(&stats, DTYPE_UINT64);
    stats_add(&stats, NULL, DTYPE_UINT64, x, COUNT_OF(x), 0, MEASURE_FULL);
    CHECK((uint64_t)stats.int_max == (uint64_t)INT64_MIN + 1);
    CHECK(stats.int_min == 0 && stats.max_at == 100);
}

TEST(statistics_of_parts_merge_to_those_of_the_whole)
{
    const size_t n = 20000;
    float *x = make_row(1, n);
    struct histogram *all = calloc(1, sizeof *all), *sum = calloc(1, sizeof *sum);
    struct stats whole;

    CHECK(all && sum);
    x[5000] = NAN;
    x[6000] = -INFINITY;
    x[7000] = 0;
    x[8000] = x[9000]; /* of equal ones the first counts */
    stats_init(&whole, DTYPE_FLOAT32);
    stats_add(&whole, all, DTYPE_FLOAT32, x, n, 0, MEASURE_EXACT);
    for (size_t cut = 0; cut <= n; cut += 1237) {
        struct stats a, b;

        memset(sum, 0, sizeof *sum);
        stats_init(&a, DTYPE_FLOAT32);
        stats_init(&b, DTYPE_FLOAT32);
        stats_add(&a, sum, DTYPE_FLOAT32, x, cut, 0, MEASURE_EXACT);
        stats_add(&b, sum, DTYPE_FLOAT32, x + cut, n - cut, 0, MEASURE_EXACT);
        stats_merge(&a, &b, cut);
        check_counts(&a, &whole);
        CHECK_NEAR(a.mean, whole.mean, fabs(whole.mean) * 1e-12);
        CHECK_NEAR(a.m2, whole.m2, whole.m2 * 1e-12);
        CHECK_MEM(sum, all, sizeof *sum);
    }
    free(x);
    free(all);
    free(sum);
}

TEST(guard_counts_only_non_finite_elements)
{
    float x[3000] = {0};
    struct stats stats;

    x[10] = NAN;
    x[2900] = INFINITY;
    stats_init(&stats, DTYPE_FLOAT32);
    stats_add(&stats, NULL, DTYPE_FLOAT32, x, COUNT_OF(x), 0, MEASURE_GUARD);
    CHECK_INT(stats.count, 3000);
    CHECK_INT(stats.nan, 1);
    CHECK_INT(stats.pos_inf, 1);
    CHECK(isnan(stats.min) && isnan(stats.mean));
}

TEST(sampling_takes_every_eighth_block_for_any_split_into_parts)
{
    const size_t n = 100000;
    float *x = make_row(0, n);
    struct stats once, twice;

    stats_init(&once, DTYPE_FLOAT32);
    stats_add(&once, NULL, DTYPE_FLOAT32, x, n, 0, MEASURE_SAMPLED);
    CHECK(once.sampled);
    CHECK_INT(once.count, 6 * BLOCK + (n - 48 * BLOCK)); /* blocks 0, 8, ... 48 */
    stats_init(&twice, DTYPE_FLOAT32);
    stats_add(&twice, NULL, DTYPE_FLOAT32, x, 33333, 0, MEASURE_SAMPLED);
    stats_add(&twice, NULL, DTYPE_FLOAT32, x + 33333, n - 33333, 33333,
              MEASURE_SAMPLED);
    check_counts(&twice, &once);
    free(x);
}

TEST(without_finite_elements_there_are_only_counts)
{
    float x[3] = {NAN, INFINITY, -INFINITY};
    struct stats stats;

    stats_init(&stats, DTYPE_FLOAT32);
    CHECK(isnan(stats_std(&stats)) && stats_l2(&stats) == 0);
    stats_add(&stats, NULL, DTYPE_FLOAT32, x, 3, 0, MEASURE_FULL);
    CHECK(isnan(stats.min) && isnan(stats.max) && isnan(stats.mean));
    CHECK_INT(stats_finite(&stats), 0);
    CHECK(isnan(stats_std(&stats)) && stats_l2(&stats) == 0);
}

/* Numbers scaled by a power of two must have statistics scaled by it. */
TEST(huge_doubles_have_the_std_and_norm_of_small_ones)
{
    static double huge[5000], small[5000];
    struct stats all, first, rest, want;

    for (size_t i = 0; i < COUNT_OF(huge); i++) {
        small[i] = (double)(i * 7919 % 5003) * (i % 2 ? -1 : 1) + 100;
        huge[i] = small[i] * 0x1p1005;
    }
    stats_init(&all, DTYPE_FLOAT64);
    first = rest = want = all;
    stats_add(&want, NULL, DTYPE_FLOAT64, small, COUNT_OF(small), 0, MEASURE_EXACT);
    stats_add(&all, NULL, DTYPE_FLOAT64, huge, COUNT_OF(huge), 0, MEASURE_EXACT);
    stats_add(&first, NULL, DTYPE_FLOAT64, huge, 1234, 0, MEASURE_FULL);
    stats_add(&rest, NULL, DTYPE_FLOAT64, huge + 1234, COUNT_OF(huge) - 1234, 0,
              MEASURE_FULL);
    stats_merge(&first, &rest, 1234);
    for (int k = 0; k < 2; k++) {
        const struct stats *got = k ? &first : &all;

        CHECK(fabs(got->mean * 0x1p-1005 / want.mean - 1) < 1e-12);
        CHECK(fabs(stats_std(got) * 0x1p-1005 / stats_std(&want) - 1) < 1e-12);
        CHECK(fabs(stats_l2(got) * 0x1p-1005 / stats_l2(&want) - 1) < 1e-12);
    }
}

TEST(the_norm_and_std_of_a_few_numbers_are_right)
{
    const float x[] = {3, -4, 0, 12};
    struct stats stats;

    stats_init(&stats, DTYPE_FLOAT32);
    stats_add(&stats, NULL, DTYPE_FLOAT32, x, 4, 0, MEASURE_FULL);
    CHECK_NEAR(stats_l2(&stats), 13, 1e-12);
    CHECK_NEAR(stats.mean, 2.75, 1e-12);
    CHECK_NEAR(stats_std(&stats), 6.800735254367722, 1e-12);
    CHECK_INT(stats.zeros, 1);
}
