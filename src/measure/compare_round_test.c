/* Rounding from one type to another, checked by a search through all values of a
 * type. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "measure/compare_in.h"
#include "measure/compare_naive_in.h"

static const struct tolerance exact = {0, 0};

static double value_of(enum dtype dtype, unsigned code)
{
    uint8_t bytes[2] = {(uint8_t)code, (uint8_t)(code >> 8)};
    double value;

    elements_decode(dtype, bytes, 0, 1, &value);
    return value;
}

struct small {
    enum dtype dtype;
    unsigned bits;
    bool infinite;
    double over; /* from here on the rounding is an infinity, or missing */
};

static const struct small smalls[] = {
    {DTYPE_FLOAT16, 16, true, 65520},
    {DTYPE_BFLOAT16, 16, true, 0x1.ffp127},
    {DTYPE_FLOAT8_E4M3FN, 8, false, 0x1.d000000000001p8},
    {DTYPE_FLOAT8_E5M2, 8, true, 61440},
    {DTYPE_FLOAT8_E4M3FNUZ, 8, false, 248},
    {DTYPE_FLOAT8_E5M2FNUZ, 8, false, 61440},
    {DTYPE_FLOAT6_E2M3, 6, false, 7.75},
    {DTYPE_FLOAT6_E3M2, 6, false, 30},
    {DTYPE_FLOAT4_E2M1, 4, false, 7},
};

/* The nearest value of the type; of two, the one with the even code. */
static double nearest(const struct small *small, double x)
{
    double best = INFINITY, least = INFINITY;

    if (isnan(x) || isinf(x))
        return x;
    if (fabs(x) >= small->over)
        return copysign(INFINITY, x);
    for (unsigned code = 0; code < 1u << small->bits; code++) {
        double value = value_of(small->dtype, code), away = fabs(value - x);

        if (!isfinite(value))
            continue;
        if (away < least || (away == least && code % 2 == 0)) {
            best = value;
            least = away;
        }
    }
    return best;
}

static double some_number(const struct small *small, int i)
{
    unsigned code;
    double value;

    fill_bytes(&code, sizeof code, (uint64_t)i + 1000u * small->dtype);
    value = value_of(small->dtype, code & ((1u << small->bits) - 1));
    switch (i % 6) {
    case 0: /* an exact value */
        return value;
    case 1: /* half way to the next one in size, or twice the largest */
        return (value +
                value_of(small->dtype, (code + 1) & ((1u << small->bits) - 1))) /
               2;
    case 2: /* beside it */
        return value * (1 + (code >> 16) * 0x1p-22);
    case 3:
        return copysign(small->over, value);
    case 4:
        return nextafter(copysign(small->over, value), 0);
    default:
        return value * 0.51;
    }
}

TEST(values_are_rounded_to_the_nearest_of_a_small_type)
{
    for (size_t k = 0; k < COUNT_OF(smalls); k++) {
        const struct small *small = &smalls[k];

        for (int i = 0; i < 600; i++) {
            double x = some_number(small, i), y = nearest(small, x);
            bool has_one = small->infinite || !isinf(y);

            if (isnan(x))
                continue;
            if (compare_rounded(DTYPE_FLOAT32, small->dtype, &x, &y, 1) != has_one)
                test_fail(__FILE__, __LINE__, "%s: %a is not %a",
                          dtype_name(small->dtype), x, y);
            y = nextafter(y, i % 2 && y != 0 ? 0 : -1e9);
            CHECK(!compare_rounded(DTYPE_FLOAT32, small->dtype, &x, &y, 1));
        }
    }
}

TEST(values_are_rounded_to_float32_like_the_cpu_does)
{
    for (uint64_t i = 1; i < 20000; i++) {
        uint64_t bits;
        double x, y;

        fill_bytes(&bits, sizeof bits, i);
        if (i % 2) /* near the range of float32 */
            bits = (bits & ~(0x7ffull << 52)) | (860 + bits % 300) << 52;
        memcpy(&x, &bits, sizeof x);
        y = (double)(float)x;
        CHECK(compare_rounded(DTYPE_FLOAT64, DTYPE_FLOAT32, &x, &y, 1));
        if (isnan(x))
            continue;
        y = (double)nextafterf((float)y, y > 0 ? -1 : 1);
        CHECK(!compare_rounded(DTYPE_FLOAT64, DTYPE_FLOAT32, &x, &y, 1));
    }
}

/* Compare n values in these two types. */
static struct compared compare_types(enum dtype left, const void *left_bytes,
                                     enum dtype right, const void *right_bytes,
                                     int64_t n)
{
    struct sample_model a, b;
    struct compared by;

    sample_init(&a, left, left_bytes, elements_size(left, (size_t)n), &n, NULL, 1);
    sample_init(&b, right, right_bytes, elements_size(right, (size_t)n), &n, NULL, 1);
    CHECK_INT(compare_tensors(side_of(&a), side_of(&b), exact, NULL, &by, NULL), 0);
    return by;
}

TEST(a_rounded_tensor_is_recognised)
{
    enum { N = 5000 };
    static float left[N], back[N];
    static uint16_t right[N];
    struct compared by;

    for (int i = 0; i < N; i++) {
        uint32_t bits;

        left[i] = sinf((float)i) * 3;
        memcpy(&bits, &left[i], 4);
        right[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        bits = (uint32_t)right[i] << 16;
        memcpy(&back[i], &bits, 4);
    }
    by = compare_types(DTYPE_FLOAT32, left, DTYPE_BFLOAT16, right, N);
    CHECK(by.rounding && by.different > N / 2);
    by = compare_types(DTYPE_BFLOAT16, right, DTYPE_FLOAT32, left, N);
    CHECK(!by.rounding);
    by = compare_types(DTYPE_BFLOAT16, right, DTYPE_FLOAT32, back, N);
    CHECK(by.rounding && by.different == 0);
    by = compare_types(DTYPE_FLOAT32, back, DTYPE_FLOAT32, left, N);
    CHECK(!by.rounding);
    right[N - 1]++;
    by = compare_types(DTYPE_FLOAT32, left, DTYPE_BFLOAT16, right, N);
    CHECK(!by.rounding);
}

TEST(infinities_are_roundings_only_of_values_beyond_the_type)
{
    float left[] = {65519.99f, 65520, -1e30f, INFINITY, NAN, 1};
    uint16_t right[] = {0x7bff, 0x7c00, 0xfc00, 0x7c00, 0x7e01, 0x3c00};
    uint8_t eight[] = {0x7e, 0x7f};
    float large[] = {450, 1000};

    CHECK(compare_types(DTYPE_FLOAT32, left, DTYPE_FLOAT16, right, 6).rounding);
    right[0] = 0x7c00;
    CHECK(!compare_types(DTYPE_FLOAT32, left, DTYPE_FLOAT16, right, 6).rounding);
    /* float8_e4m3fn has no infinity: a value that became NaN is not a rounding. */
    CHECK(compare_types(DTYPE_FLOAT32, large, DTYPE_FLOAT8_E4M3FN, eight, 1).rounding);
    CHECK(!compare_types(DTYPE_FLOAT32, large, DTYPE_FLOAT8_E4M3FN, eight, 2).rounding);
}

TEST(integers_are_equal_or_different_but_never_rounded)
{
    float left[] = {1, 2, 3};
    int32_t right[] = {1, 2, 3};
    int64_t large = (1ll << 40) + 1;
    float rounded = 0x1p40f;

    CHECK(compare_types(DTYPE_FLOAT32, left, DTYPE_INT32, right, 3).rounding);
    left[1] = 2.25f;
    CHECK(!compare_types(DTYPE_FLOAT32, left, DTYPE_INT32, right, 3).rounding);
    CHECK(compare_types(DTYPE_INT64, &large, DTYPE_FLOAT32, &rounded, 1).rounding);
}

TEST(complex_numbers_are_rounded_by_their_parts)
{
    double left[] = {0.1, 0.2, 3, NAN};
    float right[] = {0.1f, 0.2f, 3, NAN}, reals[] = {1, 2}, pairs[] = {1, 0, 2, 0};

    CHECK(compare_types(DTYPE_COMPLEX128, left, DTYPE_COMPLEX64, right, 2).rounding);
    right[1] = 0.3f;
    CHECK(!compare_types(DTYPE_COMPLEX128, left, DTYPE_COMPLEX64, right, 2).rounding);
    CHECK(compare_types(DTYPE_FLOAT32, reals, DTYPE_COMPLEX64, pairs, 2).rounding);
}

/* torch rounds a float64 to float32 first: 1 + 2^-11 + 2^-40 becomes 1 + 2^-11, and
 * that is half way between two float16. */
TEST(a_double_may_be_rounded_in_two_steps)
{
    double left = 1 + 0x1p-11 + 0x1p-40;
    uint16_t once = 0x3c01, twice = 0x3c00;

    CHECK(compare_types(DTYPE_FLOAT64, &left, DTYPE_FLOAT16, &once, 1).rounding);
    CHECK(compare_types(DTYPE_FLOAT64, &left, DTYPE_FLOAT16, &twice, 1).rounding);
    once = 0x3c02;
    CHECK(!compare_types(DTYPE_FLOAT64, &left, DTYPE_FLOAT16, &once, 1).rounding);
}
