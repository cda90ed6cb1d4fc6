#include "measure/elements.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "base/test.h"
#include "measure/decode_in.h"
#include "measure/elements_in.h"
#include "measure/sample_model_in.h"

/* All elements of the sample, in the order returned; the caller frees them. */
static uint8_t *take_all(struct sample_model *sample, uint64_t first, uint64_t n,
                         bool any_order)
{
    struct elements *e =
        elements_open(&sample->model, &sample->tensor, first, n, any_order, NULL);
    size_t size = elements_size(sample->tensor.dtype, sample->tensor.numel);
    uint8_t *all = malloc(size + 8);
    size_t at = 0, some;
    const void *block;
    int more;

    CHECK(e && all);
    for (;;) {
        more = elements_next(e, NULL, &block, &some, NULL);
        if (more <= 0)
            break;
        CHECK(at + elements_size(sample->tensor.dtype, some) <= size);
        memcpy(all + at, block, elements_size(sample->tensor.dtype, some));
        at += elements_size(sample->tensor.dtype, some);
    }
    CHECK_INT(more, 0);
    elements_close(e);
    return all;
}

/* Element `i` in C order of a tensor of 4-byte elements, by the definition. */
static uint32_t element_by_definition(const struct sample_model *sample, uint64_t i)
{
    uint64_t place = sample->tensor.offset;
    uint32_t value;

    for (int d = sample->tensor.rank - 1; d >= 0; d--) {
        place += i % (uint64_t)sample->dims[d] *
                 (uint64_t)sample->dims[sample->tensor.rank + d];
        i /= (uint64_t)sample->dims[d];
    }
    memcpy(&value, sample->bytes + place * 4, 4);
    return value;
}

static void check_by_definition(struct sample_model *sample, uint64_t first)
{
    for (int memory = 0; memory < 2; memory++) {
        uint8_t *all;

        sample->in_memory = memory;
        all = take_all(sample, first, UINT64_MAX, false);
        for (uint64_t i = first; i < sample->tensor.numel; i++) {
            uint32_t value;

            memcpy(&value, all + (i - first) * 4, 4);
            if (value != element_by_definition(sample, i))
                test_fail(__FILE__, __LINE__, "element %llu is %u",
                          (unsigned long long)i, value);
        }
        free(all);
    }
}

/* n numbers 0, 1, 2, ... of 4 bytes. */
static uint32_t *counting(size_t n)
{
    uint32_t *numbers = malloc(n * sizeof *numbers);

    CHECK(numbers != NULL);
    for (size_t i = 0; i < n; i++)
        numbers[i] = (uint32_t)i;
    return numbers;
}

TEST(elements_of_any_strides_come_in_c_order)
{
    static const struct {
        int rank;
        int64_t shape[5], strides[5];
        uint64_t offset;
    } cases[] = {
        {0, {0}, {0}, 7},
        {1, {1000}, {1}, 3},
        {1, {500}, {37}, 5},
        {2, {30, 40}, {40, 1}, 0},
        {2, {40, 30}, {1, 40}, 0},
        {2, {700, 1500}, {1, 700}, 0},
        {2, {3, 400000}, {1, 3}, 0},
        {2, {2000, 600}, {1, 2001}, 1},
        {2, {100, 900}, {2000, 2}, 11},
        {2, {1000, 7}, {0, 1}, 2},
        {2, {7, 1000}, {1, 0}, 2},
        {3, {1000, 1, 1000}, {1000, 77, 1}, 0},
        {3, {300, 20, 3}, {1, 4000, 1300}, 0},
        {3, {3, 500, 600}, {1, 1800, 3}, 0},
        {4, {16, 32, 3, 3}, {288, 1, 96, 32}, 0},
        {4, {600, 64, 3, 3}, {576, 1, 192, 64}, 9},
        {3, {50, 50, 50}, {1, 1, 1}, 0},
        {2, {12, 5}, {100000, 3}, 1},
        {1, {12}, {100001}, 1},
        {3, {2, 600, 700}, {1, 2000, 2}, 0},
        {5, {2, 3, 4, 5, 6}, {1, 2, 6, 24, 120}, 0},
    };
    size_t room = 1300000;
    uint32_t *numbers = counting(room);
    struct sample_model sample;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sample_init(&sample, DTYPE_INT32, numbers, room * 4, cases[i].shape,
                    cases[i].strides, cases[i].rank);
        sample.tensor.offset = cases[i].offset;
        check_by_definition(&sample, 0);
        check_by_definition(&sample, sample.tensor.numel / 3);
    }
    free(numbers);
}

TEST(a_transposed_tensor_in_any_order_is_read_once_with_its_indices)
{
    int64_t shape[] = {800, 900}, strides[] = {1, 800};
    uint32_t *numbers = counting(720000);
    struct elements *e;
    struct sample_model sample;
    const void *at;
    size_t n;

    sample_init(&sample, DTYPE_INT32, numbers, 720000 * 4, shape, strides, 2);
    e = elements_open(&sample.model, &sample.tensor, 0, UINT64_MAX, true, NULL);
    CHECK(e != NULL);
    for (uint64_t done = 0; elements_next(e, NULL, &at, &n, NULL) > 0; done += n)
        for (size_t i = 0; i < n; i += 97) {
            uint32_t value;

            memcpy(&value, (const char *)at + i * 4, 4);
            CHECK_INT(value,
                      element_by_definition(&sample, elements_index(e, done + i)));
        }
    CHECK_INT(sample.bytes_read, 720000 * 4);
    elements_close(e);
    free(numbers);
}

TEST(gathering_reads_little_more_than_it_returns)
{
    static const struct {
        int64_t shape[2], strides[2];
        uint64_t most_reads, most_bytes;
    } cases[] = {
        {{1000, 1000}, {1, 1000}, 70000, 12000000}, /* transposed */
        {{1000, 4}, {1000, 1}, 1000, 4000000},      /* a few columns */
        {{1, 1000}, {1, 1000}, 1000, 4000000},      /* one column */
        {{1000, 1000}, {0, 1}, 1, 1000000},         /* one row, expanded */
        {{1000, 500}, {1000, 2}, 20, 5000000},      /* every second column */
    };
    uint32_t *numbers = counting(1000000);
    struct sample_model sample;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sample_init(&sample, DTYPE_INT32, numbers, 4000000, cases[i].shape,
                    cases[i].strides, 2);
        free(take_all(&sample, 0, UINT64_MAX, false));
        if (sample.reads > cases[i].most_reads ||
            sample.bytes_read > cases[i].most_bytes)
            test_fail(__FILE__, __LINE__, "case %zu: %llu reads, %llu bytes", i,
                      (unsigned long long)sample.reads,
                      (unsigned long long)sample.bytes_read);
    }
    free(numbers);
}

TEST(an_expanded_tensor_gives_each_element_once_if_repeats_do_not_matter)
{
    int64_t shape[] = {50, 6, 70}, strides[] = {0, 1, 0};
    uint32_t *numbers = counting(6);
    struct elements *e;
    struct sample_model sample;
    uint64_t times;
    const void *at;
    size_t n;

    sample_init(&sample, DTYPE_INT32, numbers, 24, shape, strides, 3);
    e = elements_open_distinct(&sample.model, &sample.tensor, &times, NULL);
    CHECK(e && elements_next(e, NULL, &at, &n, NULL) == 1);
    CHECK_INT(n, 6);
    CHECK_INT(times, 50 * 70);
    CHECK_INT(elements_index(e, 2), 2 * 70);
    elements_close(e);
    free(numbers);
}

TEST(big_endian_elements_are_byte_swapped)
{
    const uint8_t bytes[] = {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0};
    const float meant[] = {1, -2};
    const float complex pair = 1 - 2 * I;
    int64_t shape[] = {2}, one[] = {1};
    struct sample_model sample;
    uint8_t *all;

    sample_init(&sample, DTYPE_FLOAT32, bytes, sizeof bytes, shape, NULL, 1);
    sample.storage.flags = STORAGE_BIG_ENDIAN;
    all = take_all(&sample, 0, UINT64_MAX, false);
    CHECK_MEM(all, meant, sizeof meant);
    free(all);
    sample_init(&sample, DTYPE_COMPLEX64, bytes, sizeof bytes, one, NULL, 1);
    sample.storage.flags = STORAGE_BIG_ENDIAN;
    all = take_all(&sample, 0, UINT64_MAX, false);
    CHECK_MEM(all, &pair, sizeof pair);
    free(all);
}

TEST(conjugated_and_negated_tensors_give_their_logical_values)
{
    const float complex pairs[] = {1 + 2 * I, -3 + 4 * I},
                        both[] = {-1 + 2 * I, 3 + 4 * I};
    const int16_t integers[] = {1, -5, INT16_MIN}, negated[] = {-1, 5, INT16_MIN};
    int64_t shape[] = {2}, three[] = {3};
    struct sample_model sample;
    uint8_t *all;

    for (int memory = 0; memory < 2; memory++) {
        sample_init(&sample, DTYPE_COMPLEX64, pairs, sizeof pairs, shape, NULL, 1);
        sample.in_memory = memory;
        sample.tensor.flags = TENSOR_CONJ | TENSOR_NEG;
        all = take_all(&sample, 0, UINT64_MAX, false);
        CHECK_MEM(all, both, sizeof both);
        free(all);
        sample_init(&sample, DTYPE_INT16, integers, sizeof integers, three, NULL, 1);
        sample.in_memory = memory;
        sample.tensor.flags = TENSOR_NEG;
        all = take_all(&sample, 0, UINT64_MAX, false);
        CHECK_MEM(all, negated, sizeof negated);
        free(all);
    }
}

TEST(packed_elements_that_begin_inside_a_byte_are_repacked)
{
    static const enum dtype types[] = {DTYPE_QUINT4X2,    DTYPE_QUINT2X4,
                                       DTYPE_FLOAT6_E2M3, DTYPE_FLOAT4_E2M1,
                                       DTYPE_INT4,        DTYPE_UINT2};
    int64_t shape[] = {41}, every_third[] = {3};
    uint8_t bytes[99], codes[128], got[41];
    struct sample_model sample;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 57 + 13);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (uint64_t offset = 0; offset < 5; offset++)
            for (int strided = 0; strided < 2; strided++) {
                unsigned bits =
                    8u * dtype_info(types[i])->bytes / dtype_info(types[i])->block;
                uint8_t *all;

                sample_init(&sample, types[i], bytes, sizeof bytes, shape,
                            strided ? every_third : NULL, 1);
                sample.tensor.offset = offset;
                all = take_all(&sample, 0, UINT64_MAX, false);
                decode_unpack(bits, bytes, offset, 125, codes);
                decode_unpack(bits, all, 0, 41, got);
                for (size_t k = 0; k < 41; k++)
                    CHECK_INT(got[k], codes[strided ? 3 * k : k]);
                free(all);
            }
}

TEST(an_unreadable_tensor_has_a_reason)
{
    int64_t shape[] = {4};
    struct err err = {0};
    struct sample_model sample;
    float x[4] = {0};

    sample_init(&sample, DTYPE_FLOAT32, x, sizeof x, shape, NULL, 1);
    sample_cut(&sample, 15);
    CHECK(!elements_open(&sample.model, &sample.tensor, 0, 4, false, &err));
    CHECK_INT(err.code, ERR_UNSUPPORTED);
    CHECK(strstr(err.text, "cut short"));
    /* A tensor that reaches beyond its storage is refused whatever the model says. */
    sample_init(&sample, DTYPE_FLOAT32, x, sizeof x, shape, NULL, 1);
    sample.tensor.offset = UINT64_MAX - 1;
    CHECK(!elements_open(&sample.model, &sample.tensor, 0, 4, false, &err));
}

TEST(a_cancelled_iteration_stops)
{
    int64_t shape[] = {4};
    struct err err = {0};
    struct sample_model sample;
    struct elements *e;
    struct work work;
    float x[4] = {0};
    const void *at;
    size_t n;

    work_init(&work);
    work.cancel = 1;
    sample_init(&sample, DTYPE_FLOAT32, x, sizeof x, shape, NULL, 1);
    e = elements_open(&sample.model, &sample.tensor, 0, 4, false, &err);
    CHECK(e && elements_next(e, &work, &at, &n, &err) == -1);
    CHECK_INT(err.code, ERR_CANCELLED);
    elements_close(e);
}

TEST(an_empty_tensor_has_no_elements)
{
    int64_t shape[] = {3, 0};
    struct sample_model sample;
    struct elements *e;
    const void *at;
    size_t n;

    sample_init(&sample, DTYPE_FLOAT32, NULL, 0, shape, NULL, 2);
    sample.tensor.storage = NO_STORAGE;
    e = elements_open(&sample.model, &sample.tensor, 0, UINT64_MAX, true, NULL);
    CHECK(e && elements_next(e, NULL, &at, &n, NULL) == 0);
    elements_close(e);
}

TEST(the_digest_is_that_of_the_elements_in_c_order)
{
    int64_t shape[] = {2, 3}, strides[] = {1, 2};
    const uint8_t bytes[] = {1, 4, 2, 5, 3, 6}, meant[] = {1, 2, 3, 4, 5, 6};
    char hex[65], expected[65];
    struct sample_model sample;
    struct sha256 sha;

    sha256_init(&sha);
    sha256_add(&sha, meant, sizeof meant);
    sha256_hex(&sha, expected);
    sample_init(&sample, DTYPE_UINT8, bytes, sizeof bytes, shape, strides, 2);
    CHECK_INT(elements_sha256(&sample.model, &sample.tensor, NULL, hex, NULL), 0);
    CHECK_STR(hex, expected);
}
