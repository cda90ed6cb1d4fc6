#include "measure/ggml/ggml_in.h"
#include "measure/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "measure/decode_in.h"
#include "measure/kernels_test_in.h"
#include "measure/sample_model_in.h"

static const double qs[] = {0, 0.001, 0.25, 0.5, 0.5, 0.75, 0.9, 0.999, 1};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The quantile of n sorted numbers. */
static double by_sorting(const double *sorted, size_t n, double q)
{
    double position = q * (double)(n - 1), below = floor(position);
    double low = sorted[(size_t)below], high = sorted[(size_t)ceil(position)];

    return low + (high - low) * (position - below);
}

static void check_quantiles(struct sample_model *sample, double *reals, size_t n)
{
    double got[COUNT_OF(qs)];
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (isfinite(reals[i]))
            reals[kept++] = reals[i];
    qsort(reals, kept, sizeof *reals, by_value);
    CHECK_INT(quantile_exact(&sample->model, &sample->tensor, qs, got, COUNT_OF(qs),
                             NULL, NULL),
              0);
    for (size_t i = 0; i < COUNT_OF(qs); i++) {
        double expected = kept ? by_sorting(reals, kept, qs[i]) : NAN;

        CHECK_NEAR(got[i], expected, fabs(expected) * 1e-12);
    }
}

/* The first n elements of blocks with scales. */
static void decode_blocks(enum dtype dtype, const uint8_t *bytes, size_t n,
                          double *reals)
{
    const struct dtype_info *info = dtype_info(dtype);
    float values[GGML_BLOCK];

    for (size_t i = 0; i < n; i++) {
        if (i % info->block == 0)
            ggml_decode(dtype, bytes + i / info->block * info->bytes, 1, values);
        reals[i] = (double)values[i % info->block];
    }
}

TEST(quantiles_of_every_type_equal_those_of_sorting)
{
    const size_t n = 3001;
    uint8_t *bytes = malloc(16 * n);
    double *reals = malloc(2 * n * sizeof *reals);
    int64_t shape[] = {(int64_t)n};
    uint64_t state = 17;
    struct sample_model sample;

    CHECK(bytes && reals);
    for (size_t i = 0; i < 16 * n; i++)
        bytes[i] = (uint8_t)(test_random(&state) >> 30);
    for (int dtype = 1; dtype < DTYPE_COUNT; dtype++) {
        if (!decode_has_values((enum dtype)dtype))
            continue;
        /* Halved, the difference of any two doubles is within their range. */
        if (dtype == DTYPE_FLOAT64 || dtype == DTYPE_COMPLEX128)
            for (size_t i = 7; i < 16 * n; i += 8)
                bytes[i] &= 0xbf;
        sample_init(&sample, (enum dtype)dtype, bytes, 16 * n, shape, NULL, 1);
        if (ggml_type((enum dtype)dtype))
            decode_blocks((enum dtype)dtype, bytes, n, reals);
        else
            decode_reals((enum dtype)dtype, bytes, 0, n, reals);
        check_quantiles(&sample, reals, n * dtype_info((enum dtype)dtype)->values);
    }
    free(bytes);
    free(reals);
}

TEST(quantiles_of_an_expanded_tensor_count_every_copy)
{
    static const float x[] = {1, 5, 2};
    int64_t shape[] = {4, 3}, strides[] = {0, 1};
    double reals[] = {1, 1, 1, 1, 2, 2, 2, 2, 5, 5, 5, 5};
    struct sample_model sample;

    sample_init(&sample, DTYPE_FLOAT32, x, sizeof x, shape, strides, 2);
    check_quantiles(&sample, reals, 12);
}

TEST(quantiles_of_no_elements_and_of_one)
{
    static const float x[] = {NAN, 3};
    int64_t shape[] = {1};
    const double q[] = {0.3, 1};
    double got[2];
    struct sample_model sample;

    sample_init(&sample, DTYPE_FLOAT32, x, sizeof x, shape, NULL, 1);
    CHECK_INT(quantile_exact(&sample.model, &sample.tensor, q, got, 2, NULL, NULL), 0);
    CHECK(isnan(got[0]) && isnan(got[1]));
    sample.tensor.offset = 1;
    CHECK_INT(quantile_exact(&sample.model, &sample.tensor, q, got, 2, NULL, NULL), 0);
    CHECK(got[0] == 3 && got[1] == 3);
}

TEST(a_quantile_beyond_one_is_refused)
{
    static const float x[] = {1};
    int64_t shape[] = {1};
    const double q[] = {1.5};
    double got[1];
    struct err err = {0};
    struct sample_model sample;

    sample_init(&sample, DTYPE_FLOAT32, x, sizeof x, shape, NULL, 1);
    CHECK_INT(quantile_exact(&sample.model, &sample.tensor, q, got, 1, NULL, &err), -1);
    CHECK_INT(err.code, ERR_USAGE);
}
