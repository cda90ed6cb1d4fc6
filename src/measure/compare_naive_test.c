#include <complex.h>
#include <math.h>
#include <string.h>

#include "base/test.h"
#include "measure/compare_naive_in.h"
#include "measure/elements.h"
#include "measure/ggml/ggml_in.h"

struct compare_side side_of(struct sample_model *sample)
{
    return (struct compare_side){&sample->model, &sample->tensor};
}

void fill_bytes(void *to, size_t n, uint64_t seed)
{
    uint8_t *bytes = to;
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;

    for (size_t i = 0; i < n; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes[i] = (uint8_t)(state >> 32);
    }
}

/* Long doubles hold 64-bit integers and all floats exactly. */
struct number {
    long double real, imaginary;
};

static void turn_around(uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        uint8_t byte = bytes[i];

        bytes[i] = bytes[n - 1 - i];
        bytes[n - 1 - i] = byte;
    }
}

/* Element i in C order. */
static struct number element(const struct sample_model *sample, uint64_t i)
{
    enum dtype dtype = (enum dtype)sample->tensor.dtype;
    const struct dtype_info *info = dtype_info(dtype);
    bool is_complex = info->kind == DTYPE_KIND_COMPLEX;
    uint64_t place = sample->tensor.offset;
    struct number number = {0, 0};
    uint8_t bytes[16] = {0};
    double values[2] = {0};
    float block[GGML_BLOCK];
    int64_t integer;

    for (int d = sample->tensor.rank - 1; d >= 0; d--) {
        place += i % (uint64_t)sample->dims[d] *
                 (uint64_t)sample->dims[sample->tensor.rank + d];
        i /= (uint64_t)sample->dims[d];
    }
    if (!ggml_type(dtype))
        memcpy(bytes, sample->bytes + place / info->block * info->bytes, info->bytes);
    if (sample->storage.flags & STORAGE_BIG_ENDIAN && info->block == 1) {
        turn_around(bytes, is_complex ? info->bytes / 2u : info->bytes);
        if (is_complex)
            turn_around(bytes + info->bytes / 2, info->bytes / 2u);
    }
    if (ggml_type(dtype)) {
        ggml_decode(dtype, sample->bytes + place / info->block * info->bytes, 1, block);
        values[0] = (double)block[place % info->block];
    } else {
        elements_decode(dtype, bytes, place % info->block, 1, values);
    }
    number.real = values[0];
    if (is_complex)
        number.imaginary = values[1];
    memcpy(&integer, bytes, 8);
    if (dtype == DTYPE_INT64)
        number.real = integer;
    if (dtype == DTYPE_UINT64)
        number.real = (uint64_t)integer;
    if (sample->tensor.flags & TENSOR_CONJ)
        number.imaginary = -number.imaginary;
    if (sample->tensor.flags & TENSOR_NEG)
        number = (struct number){-number.real, -number.imaginary};
    return number;
}

static long double absolute(long double real, long double imaginary)
{
    return imaginary == 0 ? fabsl(real) : hypotl(real, imaginary);
}

static void add_finite(struct compared *by, struct number l, struct number r)
{
    long double size = absolute(l.real, l.imaginary);
    long double right = absolute(r.real, r.imaginary);

    by->left_squares += (double)(size * size);
    by->right_squares += (double)(right * right);
    by->finite++;
}

static void add_naively(struct compared *by, struct number l, struct number r,
                        struct tolerance tolerance, uint64_t index)
{
    bool l_nan = isnan(l.real) || isnan(l.imaginary);
    bool r_nan = isnan(r.real) || isnan(r.imaginary);
    bool finite = isfinite(l.real) && isfinite(l.imaginary) && isfinite(r.real) &&
                  isfinite(r.imaginary);
    long double away = absolute(l.real - r.real, l.imaginary - r.imaginary);
    long double size = absolute(l.real, l.imaginary);

    if ((l_nan && r_nan) || (l.real == r.real && l.imaginary == r.imaginary)) {
        if (finite)
            add_finite(by, l, r);
        return;
    }
    by->different++;
    if (!finite) {
        by->beyond++;
        by->one_sided++;
        return;
    }
    by->beyond +=
        away > (long double)tolerance.absolute + (long double)tolerance.relative * size;
    by->squares += (double)(away * away);
    add_finite(by, l, r);
    if ((double)away > by->max_abs) {
        by->max_abs = (double)away;
        by->max_at = index;
    }
}

struct compared compare_naively(const struct sample_model *left,
                                const struct sample_model *right,
                                struct tolerance tolerance)
{
    struct compared by = {.count = left->tensor.numel};

    for (uint64_t i = 0; i < left->tensor.numel; i++)
        add_naively(&by, element(left, i), element(right, i), tolerance, i);
    if (by.different == 0)
        by.left_squares = by.right_squares = by.finite = 0;
    return by;
}

static void check_sum(double got, double expected)
{
    if (got != expected)
        CHECK_NEAR(got, expected, 1e-9 * fabs(expected));
}

void check_compared(const struct compared *got, const struct compared *expected)
{
    CHECK_INT(got->count, expected->count);
    CHECK_INT(got->different, expected->different);
    CHECK_INT(got->beyond, expected->beyond);
    CHECK_INT(got->one_sided, expected->one_sided);
    check_sum(got->max_abs, expected->max_abs);
    CHECK_INT(got->max_at, expected->max_at);
    check_sum(got->squares, expected->squares);
    check_sum(got->left_squares, expected->left_squares);
    check_sum(got->right_squares, expected->right_squares);
    CHECK_INT(got->finite, expected->finite);
}

static void check_one_way(struct sample_model *left, struct sample_model *right,
                          struct tolerance tolerance)
{
    struct compared got, expected = compare_naively(left, right, tolerance);

    for (int memory = 0; memory < 3; memory++) {
        left->in_memory = memory & 1;
        right->in_memory = memory & 2;
        CHECK_INT(
            compare_tensors(side_of(left), side_of(right), tolerance, NULL, &got, NULL),
            0);
        check_compared(&got, &expected);
    }
}

void check_naively(struct sample_model *left, struct sample_model *right,
                   struct tolerance tolerance)
{
    check_one_way(left, right, tolerance);
    check_one_way(right, left, tolerance);
}
