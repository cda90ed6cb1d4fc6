#include "measure/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "measure/histogram.h"
#include "measure/kernels_test_in.h"
#include "measure/sample_model_in.h"

/* A tensor measured in any way must give the statistics of its elements, copied one by
 * one in C order. */
static void check_tensor(struct sample_model *sample)
{
    uint64_t n = sample->tensor.numel;
    float *copy = malloc((size_t)n * sizeof *copy);
    struct histogram *own = calloc(1, sizeof *own), *direct = calloc(1, sizeof *direct);
    struct stats got, expected;

    CHECK(copy && own && direct);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t rest = i, place = sample->tensor.offset;

        for (int d = sample->tensor.rank - 1; d >= 0; d--) {
            place += rest % (uint64_t)sample->dims[d] *
                     (uint64_t)sample->dims[sample->tensor.rank + d];
            rest /= (uint64_t)sample->dims[d];
        }
        memcpy(&copy[i], sample->bytes + 4 * place, 4);
    }
    stats_init(&expected, DTYPE_FLOAT32);
    stats_add(&expected, direct, DTYPE_FLOAT32, copy, n, 0, MEASURE_EXACT);
    CHECK_INT(stats_tensor(&sample->model, &sample->tensor, MEASURE_EXACT, NULL, own,
                           &got, NULL),
              0);
    CHECK_INT(got.count, expected.count);
    CHECK_INT(got.zeros, expected.zeros);
    CHECK_NEAR(got.min, expected.min, 0);
    CHECK_NEAR(got.max, expected.max, 0);
    CHECK_INT(got.min_at, expected.min_at);
    CHECK_INT(got.max_at, expected.max_at);
    CHECK_NEAR(got.mean, expected.mean, 1e-9);
    CHECK_NEAR(got.m2, expected.m2, expected.m2 * 1e-12);
    CHECK_MEM(own, direct, sizeof *own);
    free(copy);
    free(own);
    free(direct);
}

TEST(statistics_do_not_depend_on_strides)
{
    static const struct {
        int rank;
        int64_t shape[4], strides[4];
    } cases[] = {
        {0, {0}, {0}},
        {1, {200000}, {1}},
        {2, {300, 500}, {1, 300}},
        {2, {500, 300}, {0, 1}},
        {3, {40, 50, 60}, {1, 0, 40}},
        {2, {200, 300}, {700, 2}},
        {4, {20, 30, 5, 5}, {750, 1, 150, 30}},
        {2, {100, 100}, {1, 1}},
    };
    const size_t room = 300000;
    float *x = malloc(room * sizeof *x);
    uint64_t state = 42;
    struct sample_model sample;

    CHECK(x != NULL);
    for (int ties = 0; ties < 2; ties++) {
        /* Few distinct values, so that min and max occur often; or all different. */
        for (size_t i = 0; i < room; i++)
            x[i] = ties ? (float)(test_random(&state) % 5)
                        : (float)(test_random(&state) >> 40) - 1e6f;
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            sample_init(&sample, DTYPE_FLOAT32, x, room * 4, cases[i].shape,
                        cases[i].strides, cases[i].rank);
            check_tensor(&sample);
            sample.in_memory = true;
            check_tensor(&sample);
        }
    }
    free(x);
}

TEST(the_min_of_a_sampled_transposed_tensor_is_at_its_reported_index)
{
    int64_t shape[] = {300, 1000}, strides[] = {1, 300};
    float *x = malloc(300000 * sizeof *x);
    uint64_t state = 7;
    struct sample_model sample;
    struct stats stats;

    CHECK(x != NULL);
    for (size_t i = 0; i < 300000; i++)
        x[i] = (float)(test_random(&state) >> 40);
    sample_init(&sample, DTYPE_FLOAT32, x, 1200000, shape, strides, 2);
    CHECK_INT(stats_tensor(&sample.model, &sample.tensor, MEASURE_SAMPLED, NULL, NULL,
                           &stats, NULL),
              0);
    CHECK(stats.sampled);
    CHECK_NEAR(x[stats.min_at % 1000 * 300 + stats.min_at / 1000], stats.min, 0);
    CHECK_NEAR(x[stats.max_at % 1000 * 300 + stats.max_at / 1000], stats.max, 0);
    free(x);
}

TEST(a_hugely_expanded_element_is_measured_at_once)
{
    int64_t shape[] = {1 << 30, 1 << 30}, strides[] = {0, 0};
    const float x = 2;
    struct sample_model sample;
    struct stats stats;

    sample_init(&sample, DTYPE_FLOAT32, &x, 4, shape, strides, 2);
    CHECK_INT(stats_tensor(&sample.model, &sample.tensor, MEASURE_FULL, NULL, NULL,
                           &stats, NULL),
              0);
    CHECK(stats.count == (uint64_t)1 << 60);
    CHECK_NEAR(stats.mean, 2, 0);
}

TEST(a_truncated_tensor_gives_an_error_and_no_statistics)
{
    int64_t shape[] = {100};
    float x[100] = {0};
    struct err err = {0};
    struct stats stats = {.count = 77};
    struct sample_model sample;

    sample_init(&sample, DTYPE_FLOAT32, x, sizeof x, shape, NULL, 1);
    sample_cut(&sample, 399);
    CHECK_INT(stats_tensor(&sample.model, &sample.tensor, MEASURE_FULL, NULL, NULL,
                           &stats, &err),
              -1);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
    CHECK_INT(stats.count, 77);
}

TEST(a_read_that_fails_half_way_is_reported)
{
    int64_t shape[] = {200000};
    float *x = calloc(200000, sizeof *x);
    struct err err = {0};
    struct stats stats;
    struct sample_model sample;

    CHECK(x != NULL);
    sample_init(&sample, DTYPE_FLOAT32, x, 800000, shape, NULL, 1);
    sample.fails_from = 500000;
    CHECK_INT(stats_tensor(&sample.model, &sample.tensor, MEASURE_FULL, NULL, NULL,
                           &stats, &err),
              -1);
    CHECK_INT(err.code, ERR_IO);
    free(x);
}

TEST(a_cancelled_measurement_fails_with_its_code)
{
    int64_t shape[] = {4};
    float x[4] = {0};
    struct err err = {0};
    struct stats stats;
    struct sample_model sample;
    struct work work;

    work_init(&work);
    work.cancel = 1;
    sample_init(&sample, DTYPE_FLOAT32, x, sizeof x, shape, NULL, 1);
    CHECK_INT(stats_tensor(&sample.model, &sample.tensor, MEASURE_FULL, &work, NULL,
                           &stats, &err),
              -1);
    CHECK_INT(err.code, ERR_CANCELLED);
}

TEST(a_type_without_numbers_is_refused)
{
    int64_t shape[] = {4};
    uint8_t x[4] = {0};
    struct err err = {0};
    struct stats stats;
    struct sample_model sample;

    sample_init(&sample, DTYPE_BITS8, x, sizeof x, shape, NULL, 1);
    CHECK_INT(stats_tensor(&sample.model, &sample.tensor, MEASURE_FULL, NULL, NULL,
                           &stats, &err),
              -1);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
}
