/* Super-blocks of 256 elements in 8 or 16 parts: the float16 d scales the scales of the
 * parts, dmin their minimums. */
#include "measure/ggml/kernels_in.h"

/* 16 scales and minimums of 4 bits, 64 bytes of codes, d, dmin. A byte holds elements of
 * four parts that are 32 apart. */
void ggml_q2_k(const uint8_t *x, float *to)
{
    float d = get_half(x + 80), dmin = get_half(x + 82);
    const uint8_t *scales = x, *codes = x + 16;

    for (int part = 0; part < 16; part++, to += 16) {
        const uint8_t *from = codes + part / 8 * 32 + part % 2 * 16;
        int shift = part / 2 % 4 * 2;
        float scale = d * (float)(scales[part] & 15);
        float min = dmin * (float)(scales[part] >> 4);

        for (int i = 0; i < 16; i++)
            to[i] = scale * (float)(from[i] >> shift & 3) - min;
    }
}

/* The scales of q3_K, 6 bits less 32: 8 bytes hold the low four bits of two, 4 bytes the
 * high two bits of four. */
static int q3_scale(const uint8_t *x, int part)
{
    int low = x[part % 8] >> part / 8 * 4 & 15;
    int high = x[8 + part % 4] >> part / 4 * 2 & 3;

    return (low | high << 4) - 32;
}

/* 32 bytes of third bits, 64 bytes of codes as in q2_K, scales, d. A third bit that is
 * not set subtracts 4. */
void ggml_q3_k(const uint8_t *x, float *to)
{
    float d = get_half(x + 108);

    for (int part = 0; part < 16; part++, to += 16) {
        const uint8_t *from = x + 32 + part / 8 * 32 + part % 2 * 16;
        const uint8_t *third = x + part % 2 * 16;
        int shift = part / 2 % 4 * 2, bit = part / 2;
        float scale = d * (float)q3_scale(x + 96, part);

        for (int i = 0; i < 16; i++)
            to[i] =
                scale * (float)((from[i] >> shift & 3) - (third[i] >> bit & 1 ? 0 : 4));
    }
}

/* Eight scales and minimums of 6 bits: four of each in a byte; of the other four, the
 * low four bits in 4 bytes, the high two in the free bits of the first 8. */
static void get_scales(const uint8_t *x, uint8_t scales[8], uint8_t mins[8])
{
    for (int i = 0; i < 4; i++) {
        scales[i] = x[i] & 63;
        mins[i] = x[i + 4] & 63;
        scales[i + 4] = (uint8_t)((x[i + 8] & 15) | (x[i] >> 2 & 48));
        mins[i + 4] = (uint8_t)((x[i + 8] >> 4) | (x[i + 4] >> 2 & 48));
    }
}

/* d, dmin, scales, 128 bytes of codes: of 32 bytes, the low halves are one part, the
 * high halves the next. */
void ggml_q4_k(const uint8_t *x, float *to)
{
    float d = get_half(x), dmin = get_half(x + 2);
    uint8_t scales[8], mins[8];

    get_scales(x + 4, scales, mins);
    x += 16;
    for (int part = 0; part < 8; part += 2, to += 64, x += 32) {
        float low = d * (float)scales[part], high = d * (float)scales[part + 1];
        float low_min = dmin * (float)mins[part],
              high_min = dmin * (float)mins[part + 1];

        for (int i = 0; i < 32; i++)
            to[i] = low * (float)(x[i] & 15) - low_min;
        for (int i = 0; i < 32; i++)
            to[i + 32] = high * (float)(x[i] >> 4) - high_min;
    }
}

/* d, dmin, scales, 32 bytes of fifth bits (one of each part), codes as in q4_K. */
void ggml_q5_k(const uint8_t *x, float *to)
{
    float d = get_half(x), dmin = get_half(x + 2);
    const uint8_t *fifth = x + 16, *codes = x + 48;
    uint8_t scales[8], mins[8];

    get_scales(x + 4, scales, mins);
    for (int part = 0; part < 8; part++, to += 32) {
        float scale = d * (float)scales[part], min = dmin * (float)mins[part];
        const uint8_t *from = codes + part / 2 * 32;
        int shift = part % 2 * 4;

        for (int i = 0; i < 32; i++)
            to[i] =
                scale * (float)((from[i] >> shift & 15) | (fifth[i] >> part & 1) << 4) -
                min;
    }
}

/* 128 bytes of low halves, 64 of high two bits, 16 scales of 8 bits, d. Half a block is
 * four runs of 32: the low halves of two lines of bytes, then the high halves. */
void ggml_q6_k(const uint8_t *x, float *to)
{
    float d = get_half(x + 208);
    const int8_t *scales = (const int8_t *)(x + 192);

    for (int run = 0; run < 8; run++, to += 32, scales += 2) {
        const uint8_t *low = x + run / 4 * 64 + run % 2 * 32;
        const uint8_t *high = x + 128 + run / 4 * 32;
        int low_shift = run / 2 % 2 * 4, high_shift = run % 4 * 2;

        for (int i = 0; i < 32; i++)
            to[i] = (float)(((low[i] >> low_shift & 15) | (high[i] >> high_shift & 3)
                                                              << 4) -
                            32);
        for (int i = 0; i < 16; i++)
            to[i] = d * (float)scales[0] * to[i];
        for (int i = 16; i < 32; i++)
            to[i] = d * (float)scales[1] * to[i];
    }
}

/* The float32 d, 256 codes, sums (not needed). */
void ggml_q8_k(const uint8_t *x, float *to)
{
    float d;

    memcpy(&d, x, sizeof d);
    x += 4;
    for (int i = 0; i < 256; i++)
        to[i] = d * (float)(int8_t)x[i];
}
