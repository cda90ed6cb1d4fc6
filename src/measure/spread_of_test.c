/* The elements of a tensor that a spread counts. */
#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/test.h"
#include "measure/elements.h"
#include "measure/spread_test_in.h"

/* Element i of a sample, straight from its definition. */
static uint64_t place_of(uint64_t i, uint64_t n, uint64_t m)
{
    uint64_t first = i * n / m, stride = (i + 1) * n / m - first;

    return first +
           (uint64_t)((uint32_t)(i * i * 0x9e3779b1u) * 0x1p-32 * (double)stride);
}

/* Copy the elements of a sample, straight from its definition. Returns how many. */
static size_t copy_sample(const struct memory *memory, bool all, uint8_t *to)
{
    size_t size = elements_size(memory->dtype, 1);
    uint64_t n = 1, m;

    for (int d = 0; d < memory->rank; d++)
        n *= (uint64_t)memory->shape[d];
    m = all || n < SPREAD_SAMPLE ? n : SPREAD_SAMPLE;
    for (uint64_t i = 0; i < m; i++) {
        uint64_t at = place_of(i, n, m), place = 0;

        for (int d = memory->rank - 1; d >= 0; d--) {
            place += at % (uint64_t)memory->shape[d] * (uint64_t)memory->strides[d];
            at /= (uint64_t)memory->shape[d];
        }
        memcpy(to + i * size, (const uint8_t *)memory->at + place * size, size);
        if (memory->neg)
            to[i * size + size - 1] ^= 0x80;
    }
    return (size_t)m;
}

/* The spread of memory must count the elements of the definition. */
static void check_memory(struct spread_counter *counter, const struct memory *memory,
                         uint8_t *room)
{
    struct spread got = {0}, expected = {0};
    uint64_t n = 1;

    for (int d = 0; d < memory->rank; d++)
        n *= (uint64_t)memory->shape[d];
    for (int all = 0; all < 2; all++) {
        size_t m = copy_sample(memory, all, room);

        CHECK(spread_memory(counter, memory, all ? SPREAD_ALL : SPREAD_SOME, &got,
                            NULL) == 0);
        spread_test_naive(memory->dtype, room, m, &expected);
        CHECK_INT(expected.of, m);
        expected.of = n;
        CHECK(spread_equal(&got, &expected));
        CHECK(spread_sampled(&got) == (m < n));
    }
    spread_release(&got);
    spread_release(&expected);
}

TEST(a_sample_has_the_same_elements_for_any_strides)
{
    static const struct {
        int rank;
        int64_t shape[4], strides[4];
        bool neg;
    } cases[] = {
        {1, {16384}, {1}, false},
        {1, {16385}, {1}, false},
        {1, {50021}, {1}, false},
        {1, {50021}, {1}, true},
        {1, {20011}, {3}, false},
        {2, {300, 200}, {1, 300}, false},            /* transposed */
        {2, {300, 200}, {210, 1}, true},             /* part of a wider matrix */
        {3, {7, 5000, 3}, {3, 0, 1}, false},         /* expanded */
        {4, {5, 17, 19, 23}, {23, 115, 0, 1}, true}, /* both */
        {4, {2, 3, 1, 4}, {12, 4, 99, 1}, false},
        {2, {0, 5}, {5, 1}, false},
        {0, {0}, {0}, false},
    };
    static const enum dtype types[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_BFLOAT16,
                                       DTYPE_FLOAT16};
    struct spread_counter *counter = spread_counter_new(NULL);
    uint8_t *data = malloc(70000 * 8), *room = malloc(200000 * 8);
    uint64_t state = 0x853c49e6748fea9bu;

    CHECK(counter != NULL && data != NULL && room != NULL);
    for (size_t t = 0; t < COUNT_OF(types); t++)
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            struct memory memory = {.at = data,
                                    .dtype = types[t],
                                    .rank = cases[i].rank,
                                    .shape = cases[i].shape,
                                    .strides = cases[i].strides,
                                    .neg = cases[i].neg};

            spread_test_fill(types[t], SPREAD_TEST_TAILS, data, 70000, &state);
            check_memory(counter, &memory, room);
        }
    free(data);
    free(room);
    spread_counter_free(counter);
}

TEST(a_sample_takes_one_element_of_each_stride)
{
    static const uint64_t sizes[] = {1,       16384,   16385,      32768,
                                     2359296, 5000011, 3221225479, UINT64_C(1) << 45};
    static uint64_t places[SPREAD_SAMPLE];

    CHECK_INT(spread_places(0, places), 0);
    for (size_t k = 0; k < COUNT_OF(sizes); k++) {
        uint64_t n = sizes[k], m = spread_places(n, places);

        CHECK_INT(m, n < SPREAD_SAMPLE ? n : SPREAD_SAMPLE);
        for (uint64_t i = 0; i < m; i++) {
            CHECK(places[i] >= i * n / m && places[i] < (i + 1) * n / m);
            CHECK_INT(places[i], place_of(i, n, m));
        }
    }
}

/* A weight (512, 512, 3, 3), whose stride of 144 is a multiple of the 9 taps. */
TEST(a_sample_of_kernels_sees_all_taps_and_channels_alike)
{
    static const uint32_t periods[] = {2, 4, 8, 64};
    static uint64_t places[SPREAD_SAMPLE];
    uint64_t m = spread_places((uint64_t)512 * 512 * 9, places);

    for (size_t k = 0; k < COUNT_OF(periods); k++) {
        uint32_t counts[9 * 64] = {0}, cells = 9 * periods[k];
        double expected = (double)m / cells, chi = 0;

        for (uint64_t i = 0; i < m; i++)
            counts[places[i] % 9 * periods[k] + i % periods[k]]++;
        for (uint32_t c = 0; c < cells; c++)
            chi += (counts[c] - expected) * (counts[c] - expected) / expected;
        CHECK(chi < cells + 4 * sqrt(2 * cells)); /* as for random positions */
    }
}

TEST(packed_and_complex_elements_are_sampled)
{
    struct spread_counter *counter = spread_counter_new(NULL);
    struct spread spread = {0};
    uint8_t *data = malloc(50000);
    float *pairs = malloc(40000 * sizeof *pairs);

    CHECK(counter != NULL && data != NULL && pairs != NULL);
    for (size_t i = 0; i < 50000; i++)
        data[i] = (uint8_t)(i & 1 ? 0x53 : 0x31);
    /* 100,000 codes: 1, 3, 3, 5 again and again. */
    CHECK(spread_of(counter, DTYPE_QUINT4X2, data, 100000, SPREAD_SOME, &spread,
                    NULL) == 0);
    CHECK(spread.of == 100000 && spread.seen == SPREAD_SAMPLE && spread.n_log == 3);
    CHECK(spread.min == 1 && spread.max == 5);
    CHECK(spread.log[1].count > SPREAD_SAMPLE * 4 / 10);
    /* Two values in each element. */
    CHECK(spread_of(counter, DTYPE_FLOAT4_E2M1FN_X2, data, 50000, SPREAD_SOME, &spread,
                    NULL) == 0);
    CHECK(spread.of == 100000 && spread.seen == 2 * SPREAD_SAMPLE);
    for (size_t i = 0; i < 20000; i++) {
        pairs[2 * i] = 3;
        pairs[2 * i + 1] = -4;
    }
    CHECK(spread_of(counter, DTYPE_COMPLEX64, pairs, 20000, SPREAD_SOME, &spread,
                    NULL) == 0);
    CHECK(spread.min == 5 && spread.max == 5 && spread.counted == SPREAD_SAMPLE);
    spread_release(&spread);
    free(data);
    free(pairs);
    spread_counter_free(counter);
}

TEST(elements_without_numbers_or_beyond_64_bits_are_refused)
{
    struct spread_counter *counter = spread_counter_new(NULL);
    struct spread spread = {.of = 77};
    struct err err = {0};

    CHECK(counter != NULL);
    CHECK(spread_of(counter, DTYPE_BITS8, "x", 1, SPREAD_ALL, &spread, &err) < 0);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
    CHECK(spread_of(counter, DTYPE_FLOAT32, "x", UINT64_MAX, SPREAD_ALL, &spread,
                    &err) < 0);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_INT(spread.of, 77);
    spread_counter_free(counter);
}
