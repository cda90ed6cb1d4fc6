#include "measure/update.h"

#include <math.h>
#include <stdlib.h>

#include "base/test.h"

#define N 40000

static struct memory dense(const float *at, const int64_t *shape,
                           const int64_t *strides)
{
    return (struct memory){.at = at,
                           .dtype = DTYPE_FLOAT32,
                           .rank = 2,
                           .shape = shape,
                           .strides = strides};
}

static struct update_change change(const struct memory *memory, float *at, uint32_t n,
                                   struct spread *spread)
{
    struct spread_counter *counter;
    struct update update = {0};
    struct update_change found = {.ratio = -1};
    struct err err = {0};

    counter = spread_counter_new(&err);
    CHECK(update_keep(&update, memory, SPREAD_SOME, &err) == 0);
    for (uint32_t i = 0; i < n; i++)
        at[i] += i % 2 ? 0.5f : -0.5f;
    CHECK(update_measure(&update, memory, counter, spread, &found, &err) == 0);
    CHECK_STR(err.text, "");
    update_release(&update);
    spread_counter_free(counter);
    return found;
}

TEST(the_update_of_a_small_tensor_is_exact)
{
    const int64_t shape[] = {2, 3}, strides[] = {3, 1};
    float at[6] = {1, 1, 1, 1, 1, 1};
    struct memory memory = dense(at, shape, strides);
    struct spread spread = {0};
    struct update_change found = change(&memory, at, 6, &spread);

    CHECK(found.ratio == 0.5);
    CHECK(found.stats.min == -0.5 && found.stats.max == 0.5 && found.stats.mean == 0);
    CHECK_INT(found.stats.count, 6);
    CHECK(!found.stats.sampled && spread.of == 6 && spread.counted == 6);
    spread_release(&spread);
}

TEST(a_large_tensor_is_sampled_at_the_same_indices_for_any_strides)
{
    static float at[N], turned[N];
    const int64_t shape[] = {200, 200}, plain[] = {200, 1}, across[] = {1, 200};
    struct memory memory = dense(at, shape, plain),
                  other = dense(turned, shape, across);
    struct spread a = {0}, b = {0};
    struct update_change found, same;

    for (uint32_t i = 0; i < N; i++)
        at[i] = turned[i % 200 * 200 + i / 200] = (float)i;
    found = change(&memory, at, N, &a);
    same = change(&other, turned, N, &b);
    CHECK(found.stats.sampled && a.of == N && a.counted == SPREAD_SAMPLE);
    CHECK_INT(found.stats.count, SPREAD_SAMPLE);
    CHECK(found.ratio > 0 && found.ratio < 1e-3);
    CHECK(fabs(found.ratio - same.ratio) < 1e-12);
    spread_release(&a);
    spread_release(&b);
}

/* If the taps of kernels differ, a stride that is a multiple of 9 would be biased. */
TEST(a_weight_whose_taps_differ_has_an_unbiased_std_and_ratio)
{
    const int64_t shape[] = {512 * 512, 9}, strides[] = {9, 1}, size = 512 * 512 * 9;
    float *at = malloc((size_t)size * sizeof *at);
    struct memory memory = dense(at, shape, strides);
    struct spread_counter *counter = spread_counter_new(NULL);
    struct update update = {0};
    struct update_change found;
    struct spread before = {0}, spread = {0};
    double sum = 0, squares = 0, change = 0;

    CHECK(at != NULL && counter != NULL);
    for (int64_t i = 0; i < size; i++)
        at[i] = i % 9 == 4 ? 1 : 0.01f * (float)(i % 9 - 4);
    CHECK(update_keep(&update, &memory, SPREAD_SOME, NULL) == 0);
    CHECK(spread_memory(counter, &memory, SPREAD_SOME, &before, NULL) == 0);
    CHECK_NEAR((double)before.linear[before.n_linear - 1], SPREAD_SAMPLE / 9.0, 100);
    for (int64_t i = 0; i < size; i++) {
        double by = i % 9 == 0 ? 0.01 : 0.001;

        sum += by, change += by * by, squares += (double)at[i] * at[i];
        at[i] += (float)by;
    }
    CHECK(update_measure(&update, &memory, counter, &spread, &found, NULL) == 0);
    CHECK_NEAR(found.stats.mean, sum / size, 0.05 * sum / size);
    CHECK_NEAR(stats_std(&found.stats), sqrt(change / size - sum / size * (sum / size)),
               0.0001);
    CHECK_NEAR(found.ratio, sqrt(change / squares), 0.05 * sqrt(change / squares));
    update_release(&update);
    spread_release(&before);
    spread_release(&spread);
    spread_counter_free(counter);
    free(at);
}

TEST(integers_are_not_kept_and_a_parameter_of_zeros_has_no_ratio)
{
    const int64_t shape[] = {2, 2}, strides[] = {2, 1};
    float at[4] = {0};
    struct memory memory = dense(at, shape, strides);
    struct spread spread = {0};
    struct update update = {0};
    struct err err = {0};

    CHECK(isnan(change(&memory, at, 4, &spread).ratio));
    spread_release(&spread);
    memory.dtype = DTYPE_INT32;
    CHECK(update_keep(&update, &memory, SPREAD_SOME, &err) < 0);
    CHECK(err.code == ERR_UNSUPPORTED && !update.values);
}

TEST(all_elements_are_kept_if_wanted_and_have_a_checksum)
{
    static float at[N];
    const int64_t shape[] = {200, 200}, strides[] = {200, 1};
    struct memory memory = dense(at, shape, strides);
    struct spread_counter *counter = spread_counter_new(NULL);
    struct update_change found;
    struct update update = {0};
    struct spread spread = {0};
    uint64_t before;

    for (uint32_t i = 0; i < N; i++)
        at[i] = (float)i;
    CHECK(update_keep(&update, &memory, SPREAD_ALL, NULL) == 0);
    CHECK(update.n == N && update.of == N);
    before = update_checksum(&update);
    at[N - 2] += 1;
    CHECK(update_measure(&update, &memory, counter, &spread, &found, NULL) == 0);
    CHECK(found.stats.max == 1 && found.stats.zeros == N - 1 && !found.stats.sampled);
    CHECK_INT(spread.counted, N);
    CHECK(update_keep(&update, &memory, SPREAD_ALL, NULL) == 0);
    CHECK(update_checksum(&update) != before);
    at[N - 2] -= 1;
    CHECK(update_keep(&update, &memory, SPREAD_ALL, NULL) == 0);
    CHECK(update_checksum(&update) == before);
    update_release(&update);
    spread_release(&spread);
    spread_counter_free(counter);
}
