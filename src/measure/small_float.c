#include "measure/small_float_in.h"

#include <math.h>
#include <string.h>

/* What the codes without an ordinary number mean. */
enum specials {
    ALL_FINITE,        /* every code is a number */
    IEEE,              /* the highest exponent: infinity, or NaN with a mantissa */
    NAN_ALL_ONES,      /* exponent and mantissa all ones: NaN; no infinity */
    NAN_NEGATIVE_ZERO, /* the code of -0: NaN; no infinity */
};

struct small_float {
    uint8_t exponent_bits, mantissa_bits;
    uint8_t bias;
    uint8_t specials;
};

static const struct small_float e4m3fn = {4, 3, 7, NAN_ALL_ONES};
static const struct small_float e5m2 = {5, 2, 15, IEEE};
static const struct small_float e4m3fnuz = {4, 3, 8, NAN_NEGATIVE_ZERO};
static const struct small_float e5m2fnuz = {5, 2, 16, NAN_NEGATIVE_ZERO};
static const struct small_float e2m3 = {2, 3, 1, ALL_FINITE};
static const struct small_float e3m2 = {3, 2, 3, ALL_FINITE};
static const struct small_float e2m1 = {2, 1, 1, ALL_FINITE};

float bfloat16_value(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &wide, sizeof value);
    return value;
}

/* Shifted into place, a float16 is a float32 that is 2^112 too small, denormals
 * included; only infinities and NaN need their exponent filled up. */
float float16_value(uint16_t bits)
{
    uint32_t wide = (uint32_t)(bits & 0x7fff) << 13;
    float value;

    memcpy(&value, &wide, sizeof value);
    value *= 0x1p112f;
    memcpy(&wide, &value, sizeof wide);
    if ((bits & 0x7c00) == 0x7c00)
        wide |= 0x7f800000;
    wide |= (uint32_t)(bits & 0x8000) << 16;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static double small_value(const struct small_float *type, unsigned code)
{
    unsigned highest = (1u << type->exponent_bits) - 1;
    unsigned ones = (1u << type->mantissa_bits) - 1;
    unsigned mantissa = code & ones;
    unsigned exponent = code >> type->mantissa_bits & highest;
    bool negative = code >> type->mantissa_bits >> type->exponent_bits & 1;
    double value;

    if (type->specials == IEEE && exponent == highest)
        value = mantissa ? NAN : INFINITY;
    else if (type->specials == NAN_ALL_ONES && exponent == highest && mantissa == ones)
        value = NAN;
    else if (type->specials == NAN_NEGATIVE_ZERO && negative && !exponent && !mantissa)
        value = NAN;
    else if (exponent == 0)
        value = ldexp(mantissa, 1 - type->bias - type->mantissa_bits);
    else
        value = ldexp(mantissa + ones + 1,
                      (int)exponent - type->bias - type->mantissa_bits);
    return negative ? -value : value;
}

unsigned code_bits(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_FLOAT8_E4M3FN:
    case DTYPE_FLOAT8_E5M2:
    case DTYPE_FLOAT8_E4M3FNUZ:
    case DTYPE_FLOAT8_E5M2FNUZ:
    case DTYPE_FLOAT8_E8M0FNU:
    case DTYPE_INT8:
    case DTYPE_UINT8:
    case DTYPE_BOOL:
    case DTYPE_QINT8:
    case DTYPE_QUINT8:
        return 8;
    case DTYPE_FLOAT6_E2M3:
    case DTYPE_FLOAT6_E3M2:
        return 6;
    case DTYPE_FLOAT4_E2M1:
    case DTYPE_FLOAT4_E2M1FN_X2:
    case DTYPE_QUINT4X2:
        return 4;
    case DTYPE_QUINT2X4:
        return 2;
    default:
        return 0;
    }
}

double code_value(enum dtype dtype, uint8_t code)
{
    switch (dtype) {
    case DTYPE_FLOAT8_E4M3FN:
        return small_value(&e4m3fn, code);
    case DTYPE_FLOAT8_E5M2:
        return small_value(&e5m2, code);
    case DTYPE_FLOAT8_E4M3FNUZ:
        return small_value(&e4m3fnuz, code);
    case DTYPE_FLOAT8_E5M2FNUZ:
        return small_value(&e5m2fnuz, code);
    case DTYPE_FLOAT8_E8M0FNU:
        return code == 255 ? NAN : ldexp(1, code - 127);
    case DTYPE_FLOAT6_E2M3:
        return small_value(&e2m3, code & 63);
    case DTYPE_FLOAT6_E3M2:
        return small_value(&e3m2, code & 63);
    case DTYPE_FLOAT4_E2M1:
    case DTYPE_FLOAT4_E2M1FN_X2:
        return small_value(&e2m1, code & 15);
    case DTYPE_INT8:
    case DTYPE_QINT8:
        return (int8_t)code;
    case DTYPE_BOOL:
        return code != 0;
    default:
        return code;
    }
}
