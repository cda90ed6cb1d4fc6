#include "measure/small_float_in.h"

#include <math.h>
#include <string.h>

/* Which codes are infinity or NaN. */
enum specials {
    ALL_FINITE,        /* none */
    IEEE,              /* the highest exponent: infinity, or NaN with a mantissa */
    NAN_ALL_ONES,      /* NaN if exponent and mantissa are all ones; no infinity */
    NAN_NEGATIVE_ZERO, /* the code of -0 is NaN; no infinity */
};

struct small_float {
    uint8_t exponent_bits, mantissa_bits;
    uint8_t bias;
    uint8_t specials;
};

static const struct small_float types[DTYPE_COUNT] = {
    [DTYPE_FLOAT8_E4M3FN] = {4, 3, 7, NAN_ALL_ONES},
    [DTYPE_FLOAT8_E5M2] = {5, 2, 15, IEEE},
    [DTYPE_FLOAT8_E4M3FNUZ] = {4, 3, 8, NAN_NEGATIVE_ZERO},
    [DTYPE_FLOAT8_E5M2FNUZ] = {5, 2, 16, NAN_NEGATIVE_ZERO},
    [DTYPE_FLOAT6_E2M3] = {2, 3, 1, ALL_FINITE},
    [DTYPE_FLOAT6_E3M2] = {3, 2, 3, ALL_FINITE},
    [DTYPE_FLOAT4_E2M1] = {2, 1, 1, ALL_FINITE},
    [DTYPE_FLOAT4_E2M1FN_X2] = {2, 1, 1, ALL_FINITE},
};

float small_float_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &wide, sizeof value);
    return value;
}

/* Shifted into place, a float16 is a float32 that is 2^112 too small, denormals
 * included. Infinities and NaN get the highest exponent. */
float small_float_f16(uint16_t bits)
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

unsigned small_float_bits(enum dtype dtype)
{
    const struct dtype_info *info = dtype_info(dtype);
    unsigned bits;

    if (info->kind == DTYPE_KIND_NONE || info->scaled)
        return 0;
    bits = 8u * info->bytes / info->block / info->values;
    return bits <= 8 ? bits : 0;
}

double small_float_value(enum dtype dtype, uint8_t code)
{
    if (types[dtype].exponent_bits)
        return small_value(&types[dtype], code);
    switch (dtype) {
    case DTYPE_FLOAT8_E8M0FNU:
        return code == 255 ? NAN : ldexp(1, code - 127);
    case DTYPE_INT8:
    case DTYPE_QINT8:
        return (int8_t)code;
    case DTYPE_INT4:
        return (code ^ 8) - 8;
    case DTYPE_INT2:
        return (code ^ 2) - 2;
    case DTYPE_BOOL:
        return code != 0;
    default:
        return code;
    }
}
