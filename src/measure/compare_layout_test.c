/* Tensors with different memory layouts, parts and transposes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "measure/compare.h"
#include "measure/compare_naive_in.h"

static const struct tolerance exact = {0, 0};

struct layout_case {
    int64_t shape[4], strides[4];
    int rank;
    uint64_t offset;
};

/* All have 210 elements, within 1000. */
static const struct layout_case layouts[] = {
    {{5, 6, 7}, {42, 7, 1}, 3, 0},
    {{5, 6, 7}, {42, 7, 1}, 3, 11},
    {{5, 6, 7}, {1, 5, 30}, 3, 0},
    {{5, 6, 7}, {7, 35, 1}, 3, 2},
    {{5, 6, 7}, {64, 9, 1}, 3, 0},
    {{5, 6, 7}, {100, 14, 2}, 3, 1},
    {{5, 6, 7}, {0, 7, 1}, 3, 0},
    {{5, 6, 7}, {0, 1, 6}, 3, 0},
    {{5, 6, 7}, {7, 0, 1}, 3, 3},
    {{5, 6, 7}, {0, 0, 0}, 3, 5},
    {{5, 6, 7}, {1, 1, 1}, 3, 0},
    {{210}, {1}, 1, 0},
    {{210}, {4}, 1, 0},
    {{14, 15}, {15, 1}, 2, 0},
    {{14, 15}, {1, 14}, 2, 0},
    {{1, 210, 1}, {9, 1, 0}, 3, 0},
    {{2, 3, 5, 7}, {105, 1, 21, 3}, 4, 0},
};

static void check_layouts(enum dtype dtype, unsigned flags, bool big_endian,
                          const uint8_t *left, const uint8_t *right)
{
    /* check_naively() compares each pair both ways. */
    for (size_t i = 0; i < COUNT_OF(layouts); i++)
        for (size_t k = i; k < COUNT_OF(layouts); k++) {
            const struct layout_case *l = &layouts[i], *r = &layouts[k];
            struct sample_model a, b;

            sample_init(&a, dtype, left, 8000, l->shape, l->strides, l->rank);
            sample_init(&b, dtype, right, 8000, r->shape, r->strides, r->rank);
            a.tensor.offset = l->offset;
            b.tensor.offset = r->offset;
            a.tensor.flags = (uint16_t)flags;
            if (big_endian)
                b.storage.flags = STORAGE_BIG_ENDIAN;
            check_naively(&a, &b, exact);
            if (!flags && !big_endian)
                continue;
            b.storage.flags = a.storage.flags;
            b.tensor.flags = a.tensor.flags;
            check_naively(&a, &b, exact);
        }
}

TEST(tensors_of_any_strides_are_compared_in_c_order)
{
    static uint8_t left[8000], right[8000];

    fill_bytes(left, sizeof left, 3);
    memcpy(right, left, sizeof right);
    check_layouts(DTYPE_FLOAT32, 0, false, left, right);
    fill_bytes(right + 1000, 100, 4);
    check_layouts(DTYPE_FLOAT32, 0, false, left, right);
    check_layouts(DTYPE_FLOAT16, TENSOR_NEG, true, left, right);
    check_layouts(DTYPE_COMPLEX64, TENSOR_CONJ, true, left, right);
    check_layouts(DTYPE_COMPLEX64, TENSOR_CONJ | TENSOR_NEG, false, left, right);
    check_layouts(DTYPE_INT64, TENSOR_NEG, true, left, right);
    check_layouts(DTYPE_FLOAT4_E2M1, 0, false, left, right);
    check_layouts(DTYPE_FLOAT6_E3M2, 0, false, left, right);
    check_layouts(DTYPE_BOOL, 0, false, left, right);
}

/* Small integers, so that many differences equal the largest one. */
TEST(the_first_of_equal_differences_is_reported_for_any_strides)
{
    static uint8_t left[8000], right[8000];

    fill_bytes(left, sizeof left, 5);
    fill_bytes(right, sizeof right, 6);
    for (size_t i = 0; i < sizeof left; i++) {
        left[i] &= 3;
        right[i] &= 3;
    }
    check_layouts(DTYPE_INT8, 0, false, left, right);
}

TEST(equally_expanded_tensors_are_read_once)
{
    float left[] = {1, 2, 3}, right[] = {1, 2, 4};
    int64_t shape[] = {1ll << 40, 3, 1 << 10}, strides[] = {0, 1, 0};
    struct sample_model a, b;
    struct compared by;
    struct err err;

    sample_init(&a, DTYPE_FLOAT32, left, sizeof left, shape, strides, 3);
    sample_init(&b, DTYPE_FLOAT32, right, sizeof right, shape, strides, 3);
    CHECK_INT(compare_tensors(side_of(&a), side_of(&b), exact, NULL, &by, NULL), 0);
    CHECK_INT(by.count, 3ll << 50);
    CHECK_INT(by.different, 1ll << 50);
    CHECK_INT(by.max_at, 2 << 10);
    CHECK_NEAR(by.squares, 0x1p50, 0);
    CHECK_NEAR(by.left_squares, 14 * 0x1p50, 0);
    b.dims[b.tensor.rank + 1] = 0;
    b.dims[b.tensor.rank + 2] = 0;
    CHECK_INT(compare_tensors(side_of(&a), side_of(&b), exact, NULL, &by, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
}

/* Parts of a whole of 6 rows, 10 columns and 2 numbers in each. */
static void check_part(enum dtype dtype, uint32_t dim, uint64_t from, uint64_t n)
{
    int64_t shape[] = {6, 10, 2}, strides[] = {20, 2, 1}, part_shape[] = {6, 10, 2};
    static uint8_t bytes[2000], part_bytes[2000];
    struct sample_model whole, part, cut;
    struct compared by, expected;

    fill_bytes(bytes, sizeof bytes, 7);
    fill_bytes(part_bytes, sizeof part_bytes, 8);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] &= 1;
        part_bytes[i] &= 1;
    }
    part_shape[dim] = (int64_t)n;
    sample_init(&whole, dtype, bytes, sizeof bytes, shape, NULL, 3);
    sample_init(&cut, dtype, bytes, sizeof bytes, part_shape, strides, 3);
    cut.tensor.offset = from * (uint64_t)strides[dim];
    sample_init(&part, dtype, part_bytes, sizeof part_bytes, part_shape, NULL, 3);
    expected = compare_naively(&cut, &part, exact);
    CHECK_INT(compare_part(side_of(&whole), dim, from, side_of(&part), NULL, &by, NULL),
              0);
    check_compared(&by, &expected);
}

TEST(a_part_is_compared_with_its_rows_or_columns_of_the_whole)
{
    static const enum dtype types[] = {DTYPE_FLOAT32, DTYPE_INT8, DTYPE_FLOAT4_E2M1,
                                       DTYPE_COMPLEX128};

    for (size_t i = 0; i < COUNT_OF(types); i++)
        for (uint64_t from = 0; from < 6; from++)
            for (uint64_t n = 0; n <= 6 - from; n++) {
                check_part(types[i], 0, from, n);
                check_part(types[i], 1, from + 3, n);
            }
}

TEST(a_part_must_fit_into_the_whole)
{
    float values[60] = {0};
    struct sample_model whole, part;
    struct compared by;
    struct err err;

    sample_init(&whole, DTYPE_FLOAT32, values, 240, (int64_t[]){6, 10}, NULL, 2);
    sample_init(&part, DTYPE_FLOAT32, values, 240, (int64_t[]){2, 10}, NULL, 2);
    CHECK_INT(compare_part(side_of(&whole), 0, 4, side_of(&part), NULL, &by, &err), 0);
    CHECK_INT(compare_part(side_of(&whole), 0, 5, side_of(&part), NULL, &by, &err), -1);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
    CHECK_INT(compare_part(side_of(&whole), 1, 0, side_of(&part), NULL, &by, &err), -1);
    CHECK_INT(compare_part(side_of(&whole), 2, 0, side_of(&part), NULL, &by, &err), -1);
    CHECK_INT(
        compare_part(side_of(&whole), 0, UINT64_MAX, side_of(&part), NULL, &by, &err),
        -1);
}

TEST(columns_are_read_without_their_neighbours)
{
    enum { ROWS = 200, COLUMNS = 10000, PART = 500 };
    float *values = calloc(ROWS * COLUMNS, sizeof *values);
    struct sample_model whole, part;
    struct compared by;

    CHECK(values != NULL);
    sample_init(&whole, DTYPE_FLOAT32, values, ROWS * COLUMNS * 4,
                (int64_t[]){ROWS, COLUMNS}, NULL, 2);
    sample_init(&part, DTYPE_FLOAT32, values, ROWS * PART * 4, (int64_t[]){ROWS, PART},
                NULL, 2);
    CHECK_INT(compare_part(side_of(&whole), 1, 7000, side_of(&part), NULL, &by, NULL),
              0);
    CHECK_INT(by.count, ROWS * PART);
    CHECK(whole.bytes_read <= ROWS * PART * 4);
    free(values);
}

TEST(a_transposed_tensor_is_recognised_up_to_the_first_difference)
{
    enum { ROWS = 700, COLUMNS = 500 };
    float *left = calloc(ROWS * COLUMNS, sizeof *left);
    float *right = calloc(ROWS * COLUMNS, sizeof *right);
    struct sample_model a, b;

    CHECK(left && right);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++) {
            left[i * COLUMNS + k] = (float)(i * 1000 + k);
            right[k * ROWS + i] = (float)(i * 1000 + k);
        }
    sample_init(&a, DTYPE_FLOAT32, left, ROWS * COLUMNS * 4, (int64_t[]){ROWS, COLUMNS},
                NULL, 2);
    sample_init(&b, DTYPE_FLOAT32, right, ROWS * COLUMNS * 4,
                (int64_t[]){COLUMNS, ROWS}, NULL, 2);
    CHECK_INT(compare_transposed(side_of(&a), side_of(&b), NULL, NULL), 1);
    CHECK_INT(compare_transposed(side_of(&b), side_of(&a), NULL, NULL), 1);
    right[10] += 1;
    b.reads = b.bytes_read = 0;
    CHECK_INT(compare_transposed(side_of(&a), side_of(&b), NULL, NULL), 0);
    CHECK(b.bytes_read < 300000);
    CHECK_INT(compare_transposed(side_of(&a), side_of(&a), NULL, NULL), 0);
    b.tensor.flags |= TENSOR_META;
    CHECK_INT(compare_transposed(side_of(&a), side_of(&b), NULL, NULL), -1);
    free(left);
    free(right);
}

static uint64_t sample_of_side(struct sample_model *sample, bool *ret_plain)
{
    uint64_t number;

    CHECK_INT(compare_sample(side_of(sample), &number, ret_plain, NULL), 0);
    return number;
}

TEST(equal_contents_have_equal_samples_for_any_strides)
{
    enum { ROWS = 300, COLUMNS = 200 };
    uint16_t *rows = calloc(ROWS * COLUMNS, 2), *columns = calloc(ROWS * COLUMNS, 2);
    struct sample_model a, b;
    bool plain;
    uint64_t number;

    CHECK(rows && columns);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++)
            rows[i * COLUMNS + k] = columns[k * ROWS + i] = (uint16_t)(i * 77 + k);
    sample_init(&a, DTYPE_BFLOAT16, rows, ROWS * COLUMNS * 2,
                (int64_t[]){ROWS, COLUMNS}, NULL, 2);
    sample_init(&b, DTYPE_BFLOAT16, columns, ROWS * COLUMNS * 2,
                (int64_t[]){ROWS, COLUMNS}, (int64_t[]){1, ROWS}, 2);
    number = sample_of_side(&a, &plain);
    CHECK(!plain);
    CHECK(a.reads <= 3 && a.bytes_read <= 3 * 4096 * 2);
    CHECK(number == sample_of_side(&b, &plain));
    b.tensor.dtype = DTYPE_FLOAT16;
    CHECK(number != sample_of_side(&b, &plain));
    b.tensor.dtype = DTYPE_BFLOAT16;
    columns[0] ^= 1;
    CHECK(number != sample_of_side(&b, &plain));
    columns[0] ^= 1;
    columns[ROWS * COLUMNS - 1] ^= 1;
    CHECK(number != sample_of_side(&b, &plain));
    a.dims[0]--;
    a.tensor.numel -= COLUMNS;
    CHECK(number != sample_of_side(&a, &plain));
    free(rows);
    free(columns);
}

TEST(a_sample_detects_a_constant_tensor)
{
    float values[1000], other[1000];
    struct sample_model a, b;
    bool plain;
    uint64_t number;

    for (int i = 0; i < 1000; i++) {
        values[i] = i % 2 ? 0.0f : -0.0f;
        other[i] = 0;
    }
    sample_init(&a, DTYPE_FLOAT32, values, 4000, (int64_t[]){1000}, NULL, 1);
    sample_init(&b, DTYPE_FLOAT32, other, 4000, (int64_t[]){1000}, NULL, 1);
    number = sample_of_side(&a, &plain);
    CHECK(plain && number == sample_of_side(&b, &plain));
    other[999] = 1;
    CHECK(number != sample_of_side(&b, &plain) && !plain);
    b.tensor.dtype = DTYPE_COMPLEX64;
    b.tensor.numel = (uint64_t)(b.dims[0] = 499);
    for (int i = 0; i < 1000; i++)
        other[i] = (float)(i % 2);
    sample_of_side(&b, &plain);
    CHECK(plain);
    b.tensor.numel = (uint64_t)(b.dims[0] = 0);
    sample_of_side(&b, &plain);
    CHECK(plain);
    b.tensor.dtype = DTYPE_BITS16;
    b.tensor.numel = (uint64_t)(b.dims[0] = 1000);
    sample_of_side(&b, &plain);
    CHECK(!plain);
    sample_cut(&b, 10);
    CHECK_INT(compare_sample(side_of(&b), &number, &plain, NULL), -1);
}

TEST(rows_of_q_k_and_v_can_be_grouped)
{
    /* Two heads; q, k and v of each have one row. */
    static const float left[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    static const float right[] = {0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11};
    struct compare_edit edit = {EDIT_GROUPED, false, 2};
    struct sample_model a, b;
    struct compared by;

    sample_init(&a, DTYPE_FLOAT32, left, sizeof left, (int64_t[]){6, 2}, NULL, 2);
    sample_init(&b, DTYPE_FLOAT32, right, sizeof right, (int64_t[]){6, 2}, NULL, 2);
    CHECK_INT(compare_edited(side_of(&a), side_of(&b), edit, exact, NULL, &by, NULL),
              0);
    CHECK_INT(by.different, 0);
    CHECK_INT(by.count, 12);
    edit.n = 4;
    CHECK(!compare_editable(side_of(&a), edit));
}

TEST(minus_exp_is_compared_but_for_its_last_bits)
{
    static const float left[] = {0, 1, -2, 3};
    float right[] = {-1, -2.7182817f, -0.13533528f, -20.085537f};
    struct compare_edit edit = {EDIT_EXPONENT, false, 0};
    struct sample_model a, b;
    struct compared by;

    sample_init(&a, DTYPE_FLOAT32, left, sizeof left, (int64_t[]){4}, NULL, 1);
    sample_init(&b, DTYPE_FLOAT32, right, sizeof right, (int64_t[]){4, 1}, NULL, 2);
    CHECK_INT(compare_edited(side_of(&a), side_of(&b), edit, exact, NULL, &by, NULL),
              0);
    CHECK_INT(by.different, 0);
    right[2] = -0.1353355f;
    CHECK_INT(compare_edited(side_of(&a), side_of(&b), edit, exact, NULL, &by, NULL),
              0);
    CHECK_INT(by.different, 1);
}

TEST(a_side_can_be_transformed_like_a_converter_did)
{
    /* Two heads of two halves of one row each; the right side interleaves the halves. */
    static const float left[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    static const float permuted[] = {0, 1, 4,  5,  2,  3,  6,  7,
                                     8, 9, 12, 13, 10, 11, 14, 15};
    static const float turned[] = {0, 2, 4, 6, 8, 10, 12, 14,
                                   1, 3, 5, 7, 9, 11, 13, 15};
    static const float more[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    const struct {
        struct compare_edit edit;
        const float *right;
        int64_t shape[2];
    } cases[] = {{{EDIT_PERMUTED, false, 2}, permuted, {8, 2}},
                 {{EDIT_TRANSPOSED, false, 0}, turned, {2, 8}},
                 {{EDIT_PLUS_ONE, false, 0}, more, {8, 2}}};
    struct sample_model a, b;
    struct compared by;
    struct err err = {0};

    sample_init(&a, DTYPE_FLOAT32, left, sizeof left, (int64_t[]){8, 2}, NULL, 2);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct compare_edit back = cases[i].edit;

        sample_init(&b, DTYPE_FLOAT32, cases[i].right, sizeof left, cases[i].shape,
                    NULL, 2);
        CHECK_INT(compare_edited(side_of(&a), side_of(&b), cases[i].edit, exact, NULL,
                                 &by, NULL),
                  0);
        CHECK_INT(by.different, 0);
        CHECK_INT(by.count, 16);
        back.right = true;
        CHECK_INT(
            compare_edited(side_of(&b), side_of(&a), back, exact, NULL, &by, NULL), 0);
        CHECK_INT(by.different, 0);
        CHECK_INT(compare_tensors(side_of(&a), side_of(&b), exact, NULL, &by, NULL), 0);
        CHECK(by.different > 0);
    }
    /* Index 3 of a stack. */
    sample_init(&b, DTYPE_FLOAT32, left + 6, 2 * sizeof *left, (int64_t[]){2}, NULL, 1);
    CHECK_INT(compare_edited(side_of(&b), side_of(&a),
                             (struct compare_edit){EDIT_SLICE, true, 3}, exact, NULL,
                             &by, NULL),
              0);
    CHECK_INT(by.different, 0);
    CHECK_INT(by.count, 2);
    /* 8 rows are not 3 heads; there is no index 8. */
    CHECK_INT(compare_edited(side_of(&a), side_of(&a),
                             (struct compare_edit){EDIT_PERMUTED, false, 3}, exact,
                             NULL, &by, &err),
              -1);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
    CHECK_INT(compare_edited(side_of(&b), side_of(&a),
                             (struct compare_edit){EDIT_SLICE, true, 8}, exact, NULL,
                             &by, &err),
              -1);
}
