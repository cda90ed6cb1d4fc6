#include <float.h>
#include <math.h>
#include <string.h>

#include "measure/compare_in.h"

/* A float type by the numbers it can hold. */
struct grid {
    int mantissa;   /* bits behind the leading one */
    int exponent;   /* of its smallest normal number */
    double largest; /* finite one */
    bool infinite;  /* more than that becomes an infinity; else it has no rounding */
};

static bool find_grid(enum dtype dtype, struct grid *ret_grid)
{
    switch (dtype) {
    case DTYPE_FLOAT64:
    case DTYPE_COMPLEX128:
        *ret_grid = (struct grid){52, -1022, DBL_MAX, true};
        return true;
    case DTYPE_FLOAT32:
    case DTYPE_COMPLEX64:
        *ret_grid = (struct grid){23, -126, (double)FLT_MAX, true};
        return true;
    case DTYPE_FLOAT16:
    case DTYPE_COMPLEX32:
        *ret_grid = (struct grid){10, -14, 65504, true};
        return true;
    case DTYPE_BFLOAT16:
        *ret_grid = (struct grid){7, -126, 0x1.fep127, true};
        return true;
    case DTYPE_FLOAT8_E4M3FN:
        *ret_grid = (struct grid){3, -6, 448, false};
        return true;
    case DTYPE_FLOAT8_E5M2:
        *ret_grid = (struct grid){2, -14, 57344, true};
        return true;
    case DTYPE_FLOAT8_E4M3FNUZ:
        *ret_grid = (struct grid){3, -7, 240, false};
        return true;
    case DTYPE_FLOAT8_E5M2FNUZ:
        *ret_grid = (struct grid){2, -15, 57344, false};
        return true;
    case DTYPE_FLOAT8_E8M0FNU:
        *ret_grid = (struct grid){0, -127, 0x1p127, false};
        return true;
    case DTYPE_FLOAT6_E2M3:
        *ret_grid = (struct grid){3, 0, 7.5, false};
        return true;
    case DTYPE_FLOAT6_E3M2:
        *ret_grid = (struct grid){2, -2, 28, false};
        return true;
    case DTYPE_FLOAT4_E2M1:
    case DTYPE_FLOAT4_E2M1FN_X2:
        *ret_grid = (struct grid){1, 0, 6, false};
        return true;
    default:
        return false;
    }
}

/* Added to x and taken away again, a number whose last bit is worth the last bit that
 * the type has near x leaves x rounded, to even as all sums are. What is beyond a type
 * without infinities comes as a number that the type does not have. */
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
    return fabs(x) < 0x1p960 ? result : x; /* the others have no magic number */
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

/* Of a few lines, so that it becomes vectors: how many differ from their rounding,
 * taking all for ordinary numbers. */
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
    struct grid grid;

    if (!find_grid(to, &grid))
        return false;
    if (grid.mantissa < 52 && count_others(&grid, left, right, n) == 0)
        return true;
    for (size_t i = 0; i < n; i++) {
        /* torch goes through float32 on the way from float64 to what is smaller. */
        double step = from == DTYPE_FLOAT64 || from == DTYPE_COMPLEX128
                          ? (double)(float)left[i]
                          : left[i];

        if (!rounded_to(&grid, left[i], right[i]) && !rounded_to(&grid, step, right[i]))
            return false;
    }
    return true;
}
