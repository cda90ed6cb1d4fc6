#include "measure/small_float_in.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"

/* sign * 2^(exponent - bias) * (1 + mantissa / 2^bits), denormals without the 1. */
static double by_formula(unsigned code, unsigned exponent_bits, unsigned mantissa_bits,
                         int bias)
{
    unsigned mantissa = code % (1u << mantissa_bits);
    int exponent = (int)(code >> mantissa_bits) % (1 << exponent_bits);
    double sign = code >> (exponent_bits + mantissa_bits) ? -1 : 1;
    double part = mantissa / pow(2, mantissa_bits);

    if (exponent == 0)
        return sign * pow(2, 1 - bias) * part;
    return sign * pow(2, exponent - bias) * (1 + part);
}

TEST(eight_bit_floats_follow_their_formulas)
{
    for (unsigned code = 0; code < 256; code++) {
        uint8_t c = (uint8_t)code;
        double e4m3 = code % 128 == 127 ? NAN : by_formula(code, 4, 3, 7);
        double e5m2 = by_formula(code, 5, 2, 15);

        if (code % 128 > 0x7c)
            e5m2 = NAN;
        else if (code % 128 == 0x7c)
            e5m2 = code > 128 ? -INFINITY : INFINITY;
        CHECK_NEAR(small_float_value(DTYPE_FLOAT8_E4M3FN, c), e4m3, 0);
        CHECK_NEAR(small_float_value(DTYPE_FLOAT8_E5M2, c), e5m2, 0);
        CHECK_NEAR(small_float_value(DTYPE_FLOAT8_E4M3FNUZ, c),
                   code == 128 ? NAN : by_formula(code, 4, 3, 8), 0);
        CHECK_NEAR(small_float_value(DTYPE_FLOAT8_E5M2FNUZ, c),
                   code == 128 ? NAN : by_formula(code, 5, 2, 16), 0);
        CHECK_NEAR(small_float_value(DTYPE_FLOAT8_E8M0FNU, c),
                   code == 255 ? NAN : pow(2, (int)code - 127), 0);
    }
}

TEST(known_values_of_small_floats_are_right)
{
    static const double e2m1[] = {0, .5, 1, 1.5, 2, 3, 4, 6};

    for (uint8_t code = 0; code < 8; code++) {
        CHECK_NEAR(small_float_value(DTYPE_FLOAT4_E2M1, code), e2m1[code], 0);
        CHECK_NEAR(small_float_value(DTYPE_FLOAT4_E2M1FN_X2, code + 8), -e2m1[code], 0);
    }
    CHECK_NEAR(small_float_value(DTYPE_FLOAT8_E4M3FN, 0x7e), 448, 0);
    CHECK_NEAR(small_float_value(DTYPE_FLOAT8_E5M2, 0x7b), 57344, 0);
    CHECK_NEAR(small_float_value(DTYPE_FLOAT8_E4M3FNUZ, 0x7f), 240, 0);
    CHECK_NEAR(small_float_value(DTYPE_FLOAT6_E2M3, 0x1f), 7.5, 0);
    CHECK_NEAR(small_float_value(DTYPE_FLOAT6_E3M2, 0x1f), 28, 0);
    CHECK_NEAR(small_float_value(DTYPE_FLOAT6_E3M2, 0x3f), -28, 0);
}

TEST(float16_follows_its_formula)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        double value = by_formula(bits, 5, 10, 15);

        if (bits % 32768 > 0x7c00)
            value = NAN;
        else if (bits % 32768 == 0x7c00)
            value = bits > 32768 ? -INFINITY : INFINITY;
        CHECK_NEAR(small_float_f16((uint16_t)bits), value, 0);
        CHECK(isnan(value) ||
              !signbit(small_float_f16((uint16_t)bits)) == (bits < 32768));
    }
    CHECK_NEAR(small_float_bf16(0xc049), -3.140625, 0);
}
