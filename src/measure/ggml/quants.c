/* Blocks with one scale d (a float16 unless said otherwise), some with a minimum m. Codes
 * of 4 bits: the low halves of the bytes are the first half of the block. */
#include "measure/ggml/kernels_in.h"

/* d, 16 bytes of codes: x = d (code - 8). */
void ggml_q4_0(const uint8_t *x, float *to)
{
    float d = get_half(x);

    x += 2;
    for (int i = 0; i < 16; i++) {
        to[i] = d * (float)((x[i] & 15) - 8);
        to[i + 16] = d * (float)((x[i] >> 4) - 8);
    }
}

/* d, m, 16 bytes of codes: x = d code + m. */
void ggml_q4_1(const uint8_t *x, float *to)
{
    float d = get_half(x), m = get_half(x + 2);

    x += 4;
    for (int i = 0; i < 16; i++) {
        to[i] = d * (float)(x[i] & 15) + m;
        to[i + 16] = d * (float)(x[i] >> 4) + m;
    }
}

/* The codes of q5_0 and q5_1: 32 fifth bits, then 16 bytes as in q4_0. */
static void get_five(const uint8_t *x, int8_t codes[32])
{
    uint32_t high = get_u32(x);

    x += 4;
    for (int i = 0; i < 16; i++) {
        codes[i] = (int8_t)((x[i] & 15) | (high >> i & 1) << 4);
        codes[i + 16] = (int8_t)((x[i] >> 4) | (high >> (i + 16) & 1) << 4);
    }
}

void ggml_q5_0(const uint8_t *x, float *to)
{
    float d = get_half(x);
    int8_t codes[32];

    get_five(x + 2, codes);
    for (int i = 0; i < 32; i++)
        to[i] = d * (float)(codes[i] - 16);
}

void ggml_q5_1(const uint8_t *x, float *to)
{
    float d = get_half(x), m = get_half(x + 2);
    int8_t codes[32];

    get_five(x + 4, codes);
    for (int i = 0; i < 32; i++)
        to[i] = d * (float)codes[i] + m;
}

static void scale_bytes(float d, const uint8_t *codes, int n, float *to)
{
    for (int i = 0; i < n; i++)
        to[i] = d * (float)(int8_t)codes[i];
}

void ggml_q8_0(const uint8_t *x, float *to)
{
    scale_bytes(get_half(x), x + 2, 32, to);
}

/* d, the sum of the block (not needed), 32 codes. */
void ggml_q8_1(const uint8_t *x, float *to)
{
    scale_bytes(get_half(x), x + 4, 32, to);
}

/* d, 128 signs, lowest bit first. */
void ggml_q1_0(const uint8_t *x, float *to)
{
    float d = get_half(x);

    x += 2;
    for (int i = 0; i < 128; i++)
        to[i] = x[i / 8] >> i % 8 & 1 ? d : -d;
}

/* d, 64 codes of 2 bits, lowest first: x = d (code - 1). */
void ggml_q2_0(const uint8_t *x, float *to)
{
    float d = get_half(x);

    x += 2;
    for (int i = 0; i < 64; i++)
        to[i] = d * (float)((x[i / 4] >> 2 * (i % 4) & 3) - 1);
}

/* n bytes that hold `digits` ternary digits each: the byte is a fraction of 256, and
 * each multiplication by 3 moves a digit before the point. The first digits of all bytes
 * come first. */
static void get_ternary(float d, const uint8_t *x, int n, int digits, float *to)
{
    uint8_t power = 1;

    for (int digit = 0; digit < digits; digit++, power = (uint8_t)(power * 3))
        for (int i = 0; i < n; i++, to++) {
            uint8_t rest = (uint8_t)(x[i] * power);

            *to = d * (float)((rest * 3 >> 8) - 1);
        }
}

/* 48 bytes of five digits (in groups of 32 and 16), 4 of four, d. */
void ggml_tq1_0(const uint8_t *x, float *to)
{
    float d = get_half(x + 52);

    get_ternary(d, x, 32, 5, to);
    get_ternary(d, x + 32, 16, 5, to + 160);
    get_ternary(d, x + 48, 4, 4, to + 240);
}

/* Two groups of 32 bytes with four codes of 2 bits each, d. */
void ggml_tq2_0(const uint8_t *x, float *to)
{
    float d = get_half(x + 64);

    for (int group = 0; group < 2; group++, x += 32)
        for (int shift = 0; shift < 8; shift += 2, to += 32)
            for (int i = 0; i < 32; i++)
                to[i] = d * (float)((x[i] >> shift & 3) - 1);
}

/* Twice the value of a 4-bit float (e2m1). */
static const int8_t fp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* Half of 2^(exponent - 127): the codes are doubled. */
static float half_power(uint8_t exponent)
{
    uint32_t bits =
        exponent < 2 ? 0x200000u << exponent : (uint32_t)(exponent - 1) << 23;
    float power;

    memcpy(&power, &bits, sizeof power);
    return power;
}

/* An exponent, 16 bytes of codes. */
void ggml_mxfp4(const uint8_t *x, float *to)
{
    float d = half_power(x[0]);

    x += 1;
    for (int i = 0; i < 16; i++) {
        to[i] = d * (float)fp4[x[i] & 15];
        to[i + 16] = d * (float)fp4[x[i] >> 4];
    }
}

/* Half of a float8 (e4m3) whose sign is ignored; 0x7f is 0. */
static float half_e4m3(uint8_t code)
{
    int exponent = code >> 3 & 15, mantissa = code & 7;
    uint32_t bits = (uint32_t)(exponent + 119) << 23 | (uint32_t)mantissa << 20;
    float value;

    if (code == 0x7f)
        return 0;
    if (exponent == 0)
        return (float)mantissa * 0x1p-10f;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Four scales, then 8 bytes of codes for each. */
void ggml_nvfp4(const uint8_t *x, float *to)
{
    for (int part = 0; part < 4; part++, to += 16) {
        const uint8_t *codes = x + 4 + 8 * part;
        float d = half_e4m3(x[part]);

        for (int i = 0; i < 8; i++) {
            to[i] = d * (float)fp4[codes[i] & 15];
            to[i + 8] = d * (float)fp4[codes[i] >> 4];
        }
    }
}
