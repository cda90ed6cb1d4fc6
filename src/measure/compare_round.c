#include <float.h>
#include <math.h>
#include <string.h>

#include "measure/compare_in.h"

/* The numbers that a float type can hold. */
struct grid {
    int mantissa;   /* bits after the leading one */
    int exponent;   /* of the smallest normal number */
    double largest; /* finite number; 0: not a float type */
    bool infinite;  /* larger numbers round to infinity; else they have no rounding */
};

static const struct grid grids[DTYPE_COUNT] = {
    [DTYPE_FLOAT64] = {52, -1022, DBL_MAX, true},
    [DTYPE_COMPLEX128] = {52, -1022, DBL_MAX, true},
    [DTYPE_FLOAT32] = {23, -126, (double)FLT_MAX, true},
    [DTYPE_COMPLEX64] = {23, -126, (double)FLT_MAX, true},
    [DTYPE_FLOAT16] = {10, -14, 65504, true},
    [DTYPE_COMPLEX32] = {10, -14, 65504, true},
    [DTYPE_BFLOAT16] = {7, -126, 0x1.fep127, true},
    [DTYPE_FLOAT8_E4M3FN] = {3, -6, 448, false},
    [DTYPE_FLOAT8_E5M2] = {2, -14, 57344, true},
    [DTYPE_FLOAT8_E4M3FNUZ] = {3, -7, 240, false},
    [DTYPE_FLOAT8_E5M2FNUZ] = {2, -15, 57344, false},
    [DTYPE_FLOAT8_E8M0FNU] = {0, -127, 0x1p127, false},
    [DTYPE_FLOAT6_E2M3] = {3, 0, 7.5, false},
    [DTYPE_FLOAT6_E3M2] = {2, -2, 28, false},
    [DTYPE_FLOAT4_E2M1] = {1, 0, 6, false},
    [DTYPE_FLOAT4_E2M1FN_X2] = {1, 0, 6, false},
};

/* Adding a number whose last bit has the worth of the type's last bit near x, and
 * subtracting it again, rounds x (to even). Beyond the largest value of a type without
 * infinities this gives a number that the type does not have. */
static inline double rounded(double x, const struct grid *grid)
{
    uint64_t exponent_bits = 0x7ffull << 52, sign = 1ull << 63;
    uint64_t least = (uint64_t)(grid->exponent + 1023) << 52;
    uint64_t bits, power;
    double magic, result;

    memcpy(&bits, &x, sizeof bits);
    power = bits & exponent_bits;
    power = (power > least ? power : least) + ((uint64_t)(52 - grid->mantissa) << 52);
    power |= bits & sign;
    memcpy(&magic, &power, sizeof magic);
    result = (x + magic) - magic;
    if (grid->infinite && fabs(result) > grid->largest)
        result = copysign(INFINITY, x);
    return fabs(x) < 0x1p960 ? result : x; /* beyond, `magic` would overflow */
}

static bool rounded_to(const struct grid *grid, double left, double right)
{
    if (isnan(left) || isnan(right))
        return isnan(left) && isnan(right);
    if (left == right)
        return true;
    if (fabs(left) >= 0x1p960)
        return grid->infinite && grid->largest < 0x1p960 &&
               right == copysign(INFINITY, left);
    return rounded(left, grid) == right;
}

/* The number of values that differ from their rounding, if all are ordinary numbers.
 * Short, so that the compiler vectorises it. */
static uint64_t count_others(const struct grid *grid, const double *left,
                             const double *right, size_t n)
{
    const struct grid local = *grid;
    uint64_t others = 0;

    for (size_t i = 0; i < n; i++)
        others += rounded(left[i], &local) != right[i];
    return others;
}

bool compare_rounded(enum dtype from, enum dtype to, const double *left,
                     const double *right, size_t n)
{
    const struct grid *grid = &grids[to];

    if (grid->largest == 0)
        return false;
    if (grid->mantissa < 52 && count_others(grid, left, right, n) == 0)
        return true;
    for (size_t i = 0; i < n; i++) {
        /* torch converts float64 to smaller types through float32. */
        double step = from == DTYPE_FLOAT64 || from == DTYPE_COMPLEX128
                          ? (double)(float)left[i]
                          : left[i];

        if (!rounded_to(grid, left[i], right[i]) && !rounded_to(grid, step, right[i]))
            return false;
    }
    return true;
}
