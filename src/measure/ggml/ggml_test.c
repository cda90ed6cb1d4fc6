#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "measure/elements_in.h"
#include "measure/ggml/ggml_in.h"
#include "measure/kernels_test_in.h"
#include "measure/measure.h"
#include "measure/sample_model_in.h"

#define BLOCKS 6

/* tests/python/gguf_test.py tests that the values equal ggml's, against gguf-py. */

static void fill(uint8_t *bytes, size_t n)
{
    uint64_t state = 7;

    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(test_random(&state) >> 30);
}

/* Same bits; all NaN are alike. */
static bool same(const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof a[i]) != 0 && !(isnan(a[i]) && isnan(b[i])))
            return false;
    return true;
}

/* Read elements first to first + n. */
static void read_elements(struct sample_model *sample, uint64_t first, uint64_t n,
                          float *to)
{
    struct elements *e =
        elements_open(&sample->model, &sample->tensor, first, n, false, NULL);
    uint64_t done = 0;
    const void *at;
    size_t some;

    CHECK(e);
    while (elements_next(e, NULL, &at, &some, NULL) == 1) {
        CHECK(done + some <= n);
        memcpy(to + done, at, some * sizeof *to);
        done += some;
    }
    CHECK_INT(done, n);
    elements_close(e);
}

TEST(exactly_the_scaled_dtypes_have_a_decoder)
{
    for (int d = 0; d < DTYPE_COUNT; d++)
        CHECK_INT(ggml_type((enum dtype)d), dtype_info((enum dtype)d)->scaled);
    for (uint32_t i = 0; i < 100; i++)
        CHECK(i != 12 || dtype_by_ggml(i) == DTYPE_Q4_K);
    CHECK(dtype_by_ggml(4) == DTYPE_UNKNOWN && dtype_by_ggml(43) == DTYPE_UNKNOWN);
    CHECK(dtype_by_ggml(UINT32_MAX) == DTYPE_UNKNOWN);
}

TEST(a_range_may_begin_and_end_inside_a_block)
{
    uint8_t bytes[BLOCKS * 300];
    float all[BLOCKS * GGML_BLOCK], some[BLOCKS * GGML_BLOCK];

    fill(bytes, sizeof bytes);
    for (int d = 1; d < DTYPE_COUNT; d++) {
        const struct dtype_info *info = dtype_info((enum dtype)d);
        int64_t n = BLOCKS * info->block, shape[] = {n};
        struct sample_model sample;

        if (!info->scaled)
            continue;
        CHECK(elements_dtype((enum dtype)d) == DTYPE_FLOAT32);
        ggml_decode((enum dtype)d, bytes, BLOCKS, all);
        sample_init(&sample, (enum dtype)d, bytes, BLOCKS * info->bytes, shape, NULL,
                    1);
        for (int64_t first = 0; first < n; first += 13)
            for (int64_t count = 1; count <= n - first; count += 61) {
                read_elements(&sample, (uint64_t)first, (uint64_t)count, some);
                CHECK(same(some, all + first, (size_t)count));
            }
        sample.tensor.offset = 5;
        sample.dims[0] = n - 5;
        sample.tensor.numel = (uint64_t)n - 5;
        read_elements(&sample, 0, (uint64_t)n - 5, some);
        CHECK(same(some, all + 5, (size_t)n - 5));
    }
}

TEST(transposed_blocks_are_gathered)
{
    uint8_t bytes[BLOCKS * 300];
    float all[BLOCKS * GGML_BLOCK], turned[BLOCKS * GGML_BLOCK], got[COUNT_OF(turned)];

    fill(bytes, sizeof bytes);
    for (int d = 1; d < DTYPE_COUNT; d++) {
        const struct dtype_info *info = dtype_info((enum dtype)d);
        int64_t block = info->block;
        int64_t shape[] = {block, BLOCKS}, strides[] = {1, block};
        struct sample_model sample;

        if (!info->scaled)
            continue;
        ggml_decode((enum dtype)d, bytes, BLOCKS, all);
        for (int64_t i = 0; i < block; i++)
            for (int64_t k = 0; k < BLOCKS; k++)
                turned[i * BLOCKS + k] = all[k * block + i];
        sample_init(&sample, (enum dtype)d, bytes, BLOCKS * info->bytes, shape, strides,
                    2);
        read_elements(&sample, 0, (uint64_t)block * BLOCKS, got);
        CHECK(same(got, turned, (size_t)block * BLOCKS));
    }
}

TEST(a_storage_that_ends_inside_a_block_is_refused_beyond_it)
{
    uint8_t bytes[200] = {0};
    int64_t shape[] = {512};
    struct sample_model sample;
    struct err err = {0};

    sample_init(&sample, DTYPE_Q4_K, bytes, 200, shape, NULL, 1);
    CHECK(!elements_open(&sample.model, &sample.tensor, 0, 512, false, &err));
}

TEST(statistics_and_the_digest_are_those_of_the_decoded_values)
{
    uint8_t bytes[1024 * 34];
    float *values = malloc(1024 * 32 * sizeof *values);
    int64_t shape[] = {1024, 32};
    struct sample_model blocks, floats;
    char left[65], right[65];
    struct stats a, b;

    CHECK(values);
    fill(bytes, sizeof bytes);
    for (int i = 0; i < 1024; i++)
        bytes[34 * i + 1] &= 0xbf; /* finite scales */
    ggml_decode(DTYPE_Q8_0, bytes, 1024, values);
    sample_init(&blocks, DTYPE_Q8_0, bytes, sizeof bytes, shape, NULL, 2);
    sample_init(&floats, DTYPE_FLOAT32, values, 1024 * 32 * 4, shape, NULL, 2);
    CHECK(stats_tensor(&blocks.model, &blocks.tensor, MEASURE_FULL, NULL, NULL, &a,
                       NULL) == 0);
    CHECK(stats_tensor(&floats.model, &floats.tensor, MEASURE_FULL, NULL, NULL, &b,
                       NULL) == 0);
    CHECK(a.count == b.count && a.min == b.min && a.max == b.max && a.mean == b.mean &&
          a.m2 == b.m2 && a.zeros == b.zeros);
    CHECK(elements_sha256(&blocks.model, &blocks.tensor, NULL, left, NULL) == 0);
    CHECK(elements_sha256(&floats.model, &floats.tensor, NULL, right, NULL) == 0);
    CHECK_STR(left, right);
    free(values);
}

TEST(work_counts_stored_bytes)
{
    uint8_t bytes[4 * 144] = {0};
    int64_t shape[] = {1024};
    struct sample_model sample;
    struct stats stats;
    struct work work;

    work_init(&work);
    sample_init(&sample, DTYPE_Q4_K, bytes, sizeof bytes, shape, NULL, 1);
    CHECK(stats_tensor(&sample.model, &sample.tensor, MEASURE_FULL, &work, NULL, &stats,
                       NULL) == 0);
    CHECK_INT(work.done, sizeof bytes);
}

TEST(big_endian_blocks_are_byte_swapped_or_refused)
{
    uint8_t bytes[300], turned[300];
    float expected[GGML_BLOCK], got[GGML_BLOCK];

    fill(bytes, sizeof bytes);
    for (int d = 1; d < DTYPE_COUNT; d++) {
        const struct dtype_info *info = dtype_info((enum dtype)d);
        int64_t shape[] = {info->block};
        struct sample_model sample;
        struct err err = {0};

        if (!info->scaled)
            continue;
        memcpy(turned, bytes, sizeof turned);
        sample_init(&sample, (enum dtype)d, turned, info->bytes, shape, NULL, 1);
        sample.storage.flags |= STORAGE_BIG_ENDIAN;
        if (!ggml_swap((enum dtype)d, turned, 1)) {
            CHECK(
                !elements_open(&sample.model, &sample.tensor, 0, UINT64_MAX, 0, &err));
            CHECK(strstr(err.text, "big-endian"));
            continue;
        }
        ggml_decode((enum dtype)d, bytes, 1, expected);
        read_elements(&sample, 0, info->block, got);
        CHECK(same(got, expected, info->block));
    }
}

TEST(samples_of_blocks_are_their_values)
{
    uint8_t bytes[64 * 18];
    float all[64 * 32], got[100];
    int64_t shape[] = {64 * 32};
    struct sample_model sample;
    struct elements_sample places;
    struct sample_places expected = sample_places_begin(64 * 32, 100);
    struct elements *e;

    fill(bytes, sizeof bytes);
    ggml_decode(DTYPE_Q4_0, bytes, 64, all);
    sample_init(&sample, DTYPE_Q4_0, bytes, sizeof bytes, shape, NULL, 1);
    e = elements_open(&sample.model, &sample.tensor, 0, UINT64_MAX, false, NULL);
    CHECK(e && elements_sample_begin(&places, e, 100, NULL) == 0);
    CHECK(elements_sample_next(&places, 100, (uint8_t *)got, NULL) == 0);
    for (int i = 0; i < 100; i++)
        CHECK(same(&got[i], &all[sample_places_next(&expected)], 1));
    elements_close(e);
}
