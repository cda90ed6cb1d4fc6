#include "measure/histogram_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "measure/kernels_test_in.h"
#include "measure/measure.h"
#include "measure/sample_model_in.h"

TEST(a_value_lies_in_the_range_of_its_counter)
{
    static const double values[] = {1,     -1,     1.124, 1.126, 3e38,   -3.4e38, 1e-38,
                                    1e-39, -1e-40, 1e-45, 0.1,   123456, -7e-8};

    for (size_t i = 0; i < COUNT_OF(values); i++) {
        double low, high;

        histogram_range(histogram_bin(values[i]), &low, &high);
        if (values[i] > 0)
            CHECK(low <= values[i] && values[i] < high);
        else
            CHECK(low < values[i] && values[i] <= high);
    }
    CHECK_INT(histogram_bin(0), 0);
    CHECK_INT(histogram_bin(-0.0), HISTOGRAM_BINS / 2);
    CHECK_INT(histogram_bin(1e-300), 0);
    CHECK_INT(histogram_bin(1e300), HISTOGRAM_BINS / 2 - 1);
    CHECK_INT(histogram_bin(-1e300), HISTOGRAM_BINS - 1);
    CHECK_INT(histogram_fold(0x7f8), HISTOGRAM_BINS); /* infinity */
}

TEST(floats_are_counted_by_their_upper_bits_and_the_rest_is_left_out)
{
    const size_t n = 20011;
    uint32_t *bits = malloc(n * sizeof *bits);
    struct histogram *got = calloc(1, sizeof *got), *few = calloc(1, sizeof *few);
    uint64_t expected[HISTOGRAM_BINS] = {0}, state = 3;
    struct stats stats;

    CHECK(bits && got && few);
    for (size_t i = 0; i < n; i++) {
        bits[i] = (uint32_t)test_random(&state);
        if ((bits[i] >> 23 & 255) != 255)
            expected[histogram_fold(bits[i] >> 20)]++;
    }
    stats_init(&stats, DTYPE_FLOAT32);
    stats_add(&stats, got, DTYPE_FLOAT32, bits, n, 0, MEASURE_FULL);
    CHECK_MEM(got->bins, expected, sizeof expected);
    for (size_t i = 0; i < n; i += 1000) /* in parts that need no table */
        stats_add(&stats, few, DTYPE_FLOAT32, bits + i, n - i < 1000 ? n - i : 1000, i,
                  MEASURE_FULL);
    CHECK_MEM(few->bins, expected, sizeof expected);
    free(bits);
    free(got);
    free(few);
}

TEST(every_type_fills_the_histogram_with_its_finite_values)
{
    const size_t n = 9000;
    uint8_t *bytes = malloc(16 * n);
    uint64_t state = 11;

    CHECK(bytes != NULL);
    for (size_t i = 0; i < 16 * n; i++)
        bytes[i] = (uint8_t)(test_random(&state) >> 30);
    for (int dtype = 1; dtype < DTYPE_COUNT; dtype++) {
        struct histogram *histogram = calloc(1, sizeof *histogram);
        struct stats stats;
        uint64_t sum = 0;

        CHECK(histogram != NULL);
        if (elements_dtype((enum dtype)dtype) != (enum dtype)dtype) {
            free(histogram);
            continue;
        }
        stats_init(&stats, (enum dtype)dtype);
        stats_add(&stats, histogram, (enum dtype)dtype, bytes, n, 0, MEASURE_FULL);
        for (size_t i = 0; i < HISTOGRAM_BINS; i++)
            sum += histogram->bins[i];
        CHECK_INT(sum, stats_finite(&stats));
        free(histogram);
    }
    free(bytes);
}

/* Typical weights: around zero, few exponents, an occasional zero. */
static void check_weights(enum dtype dtype, const uint16_t *codes, size_t n, size_t cut)
{
    struct histogram *parts = calloc(2, sizeof *parts), *expected;
    const uint8_t *at = (const uint8_t *)codes;
    struct stats stats;
    double real;

    expected = calloc(1, sizeof *expected);
    CHECK(parts && expected);
    stats_init(&stats, dtype);
    stats_add(&stats, &parts[0], dtype, at, cut, 0, MEASURE_FULL);
    stats_add(&stats, &parts[1], dtype, at + 2 * cut, n - cut, cut, MEASURE_FULL);
    histogram_merge(&parts[0], &parts[1]);
    for (size_t i = 0; i < n; i++) {
        elements_decode(dtype, at, i, 1, &real);
        expected->bins[histogram_bin(real)]++;
    }
    CHECK_MEM(parts[0].bins, expected->bins, sizeof expected->bins);
    free(parts);
    free(expected);
}

TEST(batches_count_like_single_elements_and_parts_merge)
{
    static const size_t lengths[] = {8193, 16383, 16384, 16385, 18431, 18432, 40000};
    uint16_t *codes = malloc(40000 * sizeof *codes);
    uint64_t state = 5;

    CHECK(codes != NULL);
    for (size_t i = 0; i < 40000; i++) {
        float sum = 0;
        uint32_t bits;

        for (int k = 0; k < 4; k++)
            sum += (float)(test_random(&state) >> 40) * 0x1p-24f - 0.5f;
        memcpy(&bits, &sum, sizeof bits);
        codes[i] = (uint16_t)(i % 999 == 0 ? 0 : bits >> 16);
    }
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        check_weights(DTYPE_BFLOAT16, codes, lengths[i], lengths[i] / 3);
        check_weights(DTYPE_FLOAT16, codes, lengths[i], lengths[i] - 1);
        check_weights(DTYPE_BFLOAT16, codes, lengths[i], 0);
    }
    free(codes);
}

TEST(a_linear_histogram_counts_like_numpy)
{
    /* numpy.histogram([0, .1, .2, .3, .5, .7, 1, 1], bins=10, range=(0, 1)) */
    static const double x[] = {0, .1, .2, .3, .5, .7, 1, 1, NAN, INFINITY, -1, 2};
    static const uint64_t expected[] = {1, 1, 2, 0, 0, 1, 1, 0, 0, 2};
    int64_t shape[] = {COUNT_OF(x)};
    uint64_t bins[10];
    struct sample_model sample;

    sample_init(&sample, DTYPE_FLOAT64, x, sizeof x, shape, NULL, 1);
    CHECK_INT(
        histogram_linear(&sample.model, &sample.tensor, 0, 1, bins, 10, NULL, NULL), 0);
    CHECK_MEM(bins, expected, sizeof bins);
}

TEST(a_linear_histogram_of_one_value_and_of_the_whole_range_works)
{
    static const double ends[] = {-1.7e308, 0, 1.7e308};
    int64_t shape[] = {3}, expanded[] = {4, 3}, strides[] = {0, 1};
    uint64_t bins[4];
    struct sample_model sample;

    sample_init(&sample, DTYPE_FLOAT64, ends, sizeof ends, shape, NULL, 1);
    CHECK_INT(histogram_linear(&sample.model, &sample.tensor, ends[0], ends[2], bins, 4,
                               NULL, NULL),
              0);
    CHECK(bins[0] == 1 && bins[1] == 0 && bins[2] == 1 && bins[3] == 1);
    sample_init(&sample, DTYPE_FLOAT64, ends, sizeof ends, expanded, strides, 2);
    CHECK_INT(
        histogram_linear(&sample.model, &sample.tensor, 0, 0, bins, 4, NULL, NULL), 0);
    CHECK(bins[0] == 0 && bins[1] == 0 && bins[2] == 4 && bins[3] == 0);
    CHECK_INT(
        histogram_linear(&sample.model, &sample.tensor, 1, 0, bins, 4, NULL, NULL), -1);
}
