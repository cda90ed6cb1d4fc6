#include "measure/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "measure/compare_naive_in.h"
#include "measure/decode_in.h"

static const struct tolerance exact = {0, 0};

/* A row of n elements over these bytes. */
static void row_init(struct sample_model *sample, enum dtype dtype, const void *bytes,
                     uint64_t n)
{
    uint64_t size = 0;

    CHECK(dtype_size(dtype, n, &size));
    sample_init(sample, dtype, bytes, size, (int64_t[]){(int64_t)n}, NULL, 1);
}

static struct compared compare_rows(enum dtype left, const void *left_bytes,
                                    enum dtype right, const void *right_bytes,
                                    uint64_t n, struct tolerance tolerance)
{
    struct sample_model a, b;
    struct compared by;

    row_init(&a, left, left_bytes, n);
    row_init(&b, right, right_bytes, n);
    CHECK_INT(compare_tensors(side_of(&a), side_of(&b), tolerance, NULL, &by, NULL), 0);
    return by;
}

TEST(one_different_value_is_found_anywhere)
{
    enum { N = 300000 }; /* several blocks of reading */
    static const size_t places[] = {0, 1, 1023, 1024, 65535, 65536, 131071, N - 1};
    float *left = calloc(N, sizeof *left), *right = calloc(N, sizeof *right);

    CHECK(left && right);
    for (size_t i = 0; i < N; i++)
        left[i] = right[i] = (float)(i % 1000);
    for (size_t k = 0; k < COUNT_OF(places); k++) {
        struct compared by;

        right[places[k]] += 2;
        by = compare_rows(DTYPE_FLOAT32, left, DTYPE_FLOAT32, right, N, exact);
        CHECK_INT(by.count, N);
        CHECK_INT(by.different, 1);
        CHECK_INT(by.beyond, 1);
        CHECK_INT(by.max_at, places[k]);
        CHECK_NEAR(by.max_abs, 2, 0);
        CHECK_NEAR(by.squares, 4, 0);
        CHECK_NEAR(by.left_squares, 99850050000., 0); /* 300 times 999*1000*1999/6 */
        CHECK(!by.rounding);
        right[places[k]] = left[places[k]];
    }
    free(left);
    free(right);
}

TEST(the_first_of_equal_differences_is_reported)
{
    enum { N = 200000 };
    float *left = calloc(N, sizeof *left), *right = calloc(N, sizeof *right);
    struct compared by;

    CHECK(left && right);
    for (size_t i = 70000; i < N; i += 1000)
        right[i] = i % 2000 ? 1 : -1;
    by = compare_rows(DTYPE_FLOAT32, left, DTYPE_FLOAT32, right, N, exact);
    CHECK_INT(by.max_at, 70000);
    CHECK_INT(by.different, 130);
    CHECK(isinf(compared_relative(&by)));
    free(left);
    free(right);
}

TEST(every_pair_of_types_is_compared_correctly)
{
    enum { N = 1100 }; /* more than a chunk */
    static uint8_t left[N * 16], right[N * 16];
    struct sample_model a, b;

    fill_bytes(left, sizeof left, 1);
    fill_bytes(right, sizeof right, 2);
    /* Equal values, and values halved on one side; both sides have the same type. */
    memcpy(right + 100, left + 100, 1000);
    for (int i = 1; i < DTYPE_COUNT; i++)
        for (int k = 1; k <= i; k++) {
            const struct dtype_info *of_a = dtype_info((enum dtype)i);
            const struct dtype_info *of_b = dtype_info((enum dtype)k);

            if (!decode_has_values((enum dtype)i) ||
                !decode_has_values((enum dtype)k) || of_a->values > 1 ||
                of_b->values > 1 || of_a->quantised != of_b->quantised)
                continue;
            if (of_a->quantised && i != k)
                continue;
            row_init(&a, (enum dtype)i, left, N);
            row_init(&b, (enum dtype)k, right, N);
            check_naively(&a, &b, (i + k) % 2 ? exact : (struct tolerance){0.25, 0.1});
        }
}

TEST(two_values_in_one_element_count_twice)
{
    uint8_t left[] = {0x21, 0x43, 0x65}, right[] = {0x21, 0x47, 0x65};
    struct compared by = compare_rows(DTYPE_FLOAT4_E2M1FN_X2, left,
                                      DTYPE_FLOAT4_E2M1FN_X2, right, 3, exact);
    struct sample_model a, b;
    struct err err;

    CHECK_INT(by.count, 6);
    CHECK_INT(by.different, 1);
    CHECK_INT(by.max_at, 1); /* the element, not the half */
    CHECK_NEAR(by.max_abs, 4.5, 0);
    row_init(&a, DTYPE_FLOAT4_E2M1FN_X2, left, 3);
    row_init(&b, DTYPE_UINT8, right, 3);
    CHECK_INT(compare_tensors(side_of(&a), side_of(&b), exact, NULL, &by, &err), -1);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
}

TEST(types_without_numbers_are_equal_or_unsupported)
{
    uint8_t left[] = {1, 2, 3}, right[] = {1, 2, 3};
    struct sample_model a, b;
    struct compared by;
    struct err err;

    row_init(&a, DTYPE_BITS8, left, 3);
    row_init(&b, DTYPE_BITS8, right, 3);
    CHECK_INT(compare_tensors(side_of(&a), side_of(&b), exact, NULL, &by, NULL), 0);
    CHECK_INT(by.different, 0);
    CHECK_INT(by.count, 3);
    right[2] = 4;
    CHECK_INT(compare_tensors(side_of(&a), side_of(&b), exact, NULL, &by, &err), -1);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
    row_init(&b, DTYPE_UINT8, right, 3);
    CHECK_INT(compare_tensors(side_of(&a), side_of(&b), exact, NULL, &by, &err), -1);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
}

TEST(all_nan_are_equal_and_so_are_both_zeros)
{
    uint32_t left[] = {0x7fc00000, 0x7fc00001, 0xffc12345, 0x80000000, 0x3f800000};
    uint32_t right[] = {0x7fc00001, 0xff800001, 0x7fffffff, 0, 0x3f800000};
    struct compared by =
        compare_rows(DTYPE_FLOAT32, left, DTYPE_FLOAT32, right, 5, exact);

    CHECK_INT(by.different, 0);
    CHECK_NEAR(by.left_squares, 0, 0);
    CHECK_NEAR(compared_relative(&by), 0, 0);
}

TEST(values_finite_on_one_side_only_are_counted_separately)
{
    double left[] = {INFINITY, -INFINITY, INFINITY, NAN, 1, 2, NAN, 3};
    double right[] = {INFINITY, INFINITY, NAN, 0, INFINITY, 2.5, NAN, 3};
    struct compared by = compare_rows(DTYPE_FLOAT64, left, DTYPE_FLOAT64, right, 8,
                                      (struct tolerance){1, 1e300});

    CHECK_INT(by.different, 5);
    CHECK_INT(by.one_sided, 4);
    CHECK_INT(by.beyond, 4);
    CHECK_INT(by.max_at, 5);
    CHECK_NEAR(by.max_abs, 0.5, 0);
    CHECK_NEAR(by.left_squares, 13, 0);
}

TEST(a_value_at_the_tolerance_is_close)
{
    double left[] = {1, 1, -4, -4, 0, 0};
    double right[] = {1.75, 1.7500001, -5.5, -5.5000001, 0.5, -0.5000001};
    struct compared by = compare_rows(DTYPE_FLOAT64, left, DTYPE_FLOAT64, right, 6,
                                      (struct tolerance){0.25, 0.5});

    CHECK_INT(by.different, 6);
    CHECK_INT(by.beyond, 3);
}

TEST(large_integers_are_compared_exactly)
{
    int64_t left[] = {INT64_MAX, INT64_MIN, (1ll << 53) + 1, -(1ll << 60) - 1, 7};
    int64_t right[] = {INT64_MAX - 1, INT64_MIN, 1ll << 53, -(1ll << 60), 7};
    uint64_t large[] = {1ull << 63, UINT64_MAX, (1ull << 53) + 1, 0, 7};
    double real[] = {0x1p63, -0x1p63, 0x1p53, -0x1p60, 7};
    struct compared by = compare_rows(DTYPE_INT64, left, DTYPE_INT64, right, 5, exact);

    CHECK_INT(by.different, 3);
    CHECK_NEAR(by.max_abs, 1, 0);
    CHECK_INT(by.max_at, 0);
    by = compare_rows(DTYPE_INT64, left, DTYPE_UINT64, large, 5, exact);
    CHECK_INT(by.different, 3);
    CHECK_NEAR(by.max_abs, 0x1p64 + 0x1p63, 0);
    CHECK_INT(by.max_at, 1);
    by = compare_rows(DTYPE_INT64, left, DTYPE_FLOAT64, real, 5, exact);
    CHECK_INT(by.different, 3);
    CHECK_NEAR(by.max_abs, 1, 0);
    CHECK(by.rounding);
}

TEST(empty_tensors_and_single_values_are_compared)
{
    struct sample_model a, b;
    struct compared by;
    float one = 1, two = 2;

    sample_init(&a, DTYPE_FLOAT32, &one, 0, (int64_t[]){3, 0}, NULL, 2);
    sample_init(&b, DTYPE_FLOAT16, &two, 0, (int64_t[]){0}, NULL, 1);
    check_naively(&a, &a, exact);
    CHECK_INT(compare_tensors(side_of(&a), side_of(&b), exact, NULL, &by, NULL), 0);
    CHECK_INT(by.count, 0);
    CHECK(by.rounding);
    sample_init(&a, DTYPE_FLOAT32, &one, 4, NULL, NULL, 0);
    sample_init(&b, DTYPE_FLOAT32, &two, 4, NULL, NULL, 0);
    check_naively(&a, &b, exact);
    check_naively(&a, &a, exact);
}

TEST(unequal_counts_and_unreadable_values_are_refused)
{
    float values[10] = {0};
    struct sample_model a, b;
    struct compared by;
    struct err err;

    row_init(&a, DTYPE_FLOAT32, values, 10);
    row_init(&b, DTYPE_FLOAT32, values, 9);
    CHECK_INT(compare_tensors(side_of(&a), side_of(&b), exact, NULL, &by, &err), -1);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
    row_init(&b, DTYPE_FLOAT32, values, 10);
    sample_cut(&b, 39);
    CHECK_INT(compare_tensors(side_of(&a), side_of(&b), exact, NULL, &by, &err), -1);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
    CHECK_STR(err.text, "the values cannot be read: cut short");
    b.tensor.flags |= TENSOR_SHAPE_ONLY;
    CHECK_INT(compare_tensors(side_of(&b), side_of(&a), exact, NULL, &by, &err), -1);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
}

TEST(a_failed_read_ends_the_comparison_with_its_error)
{
    enum { N = 200000 };
    float *values = calloc(N, sizeof *values);
    struct sample_model a, b;
    struct compared by = {.count = 77};
    struct err err;

    CHECK(values != NULL);
    row_init(&a, DTYPE_FLOAT32, values, N);
    row_init(&b, DTYPE_FLOAT32, values, N);
    b.fails_from = N * 3;
    CHECK_INT(compare_tensors(side_of(&a), side_of(&b), exact, NULL, &by, &err), -1);
    CHECK_STR(err.text, "the disk is gone");
    CHECK_INT(by.count, 77);
    free(values);
}

static void stop_half_way(struct work *work)
{
    atomic_store(&work->cancel, 1);
}

TEST(a_comparison_can_be_stopped_and_counts_the_bytes_of_both)
{
    enum { N = 500000 };
    float *left = calloc(N, sizeof *left), *right = calloc(N, sizeof *right);
    struct sample_model a, b;
    struct compared by;
    struct work work;
    struct err err;

    CHECK(left && right);
    row_init(&a, DTYPE_FLOAT32, left, N);
    row_init(&b, DTYPE_FLOAT32, right, N);
    for (int differ = 0; differ < 2; differ++) {
        right[N - 1] = (float)differ;
        work_init(&work);
        CHECK_INT(compare_tensors(side_of(&a), side_of(&b), exact, &work, &by, NULL),
                  0);
        CHECK_INT(work.done, 2 * N * 4); /* squares of equal ones are not counted */
        work_init(&work);
        work.progress = stop_half_way;
        work.reported_ns = 1; /* long ago: progress is due */
        CHECK_INT(compare_tensors(side_of(&a), side_of(&b), exact, &work, &by, &err),
                  -1);
        CHECK_INT(err.code, ERR_CANCELLED);
        CHECK(work.done < 2 * N * 4);
    }
    free(left);
    free(right);
}

TEST(comparisons_are_merged)
{
    struct compared all = {0};
    struct compared one = {.count = 10,
                           .different = 2,
                           .beyond = 1,
                           .max_abs = 3,
                           .max_at = 4,
                           .squares = 9,
                           .left_squares = 36,
                           .rounding = true};
    struct compared two = {.count = 5, .different = 5, .one_sided = 5};

    compared_merge(&all, &one);
    CHECK(all.rounding);
    CHECK_NEAR(compared_relative(&all), 0.5, 0);
    compared_merge(&all, &two);
    CHECK(!all.rounding);
    CHECK_INT(all.count, 15);
    CHECK_INT(all.different, 7);
    CHECK_INT(all.beyond, 1);
    CHECK_INT(all.one_sided, 5);
    CHECK_INT(all.max_at, 4);
    CHECK_NEAR(all.max_abs, 3, 0);
}
