/* Super-blocks whose codes select entries of a grid: 8 (or 4) magnitudes at once, with
 * signs beside them. grids.c has each entry as small numbers: 2 bits each for eight, 4
 * bits each for four. */
#include "measure/ggml/grids_in.h"
#include "measure/ggml/kernels_in.h"

/* The values of the numbers in the grids. */
static const float iq2_values[4] = {8, 25, 43, 0};
static const float iq3_xxs_values[8] = {4, 12, 20, 28, 36, 44, 52, 62};

static const int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};

static float signed_by(float value, unsigned signs, int i)
{
    return signs >> i & 1 ? -value : value;
}

/* Seven signs; the eighth makes the number of minus signs even. */
static unsigned even_signs(unsigned seven)
{
    return seven | (unsigned)__builtin_parity(seven) << 7;
}

static void put_eight(float d, uint16_t entry, unsigned signs, float *to)
{
    for (int i = 0; i < 8; i++)
        to[i] = signed_by(d * iq2_values[entry >> 2 * i & 3], signs, i);
}

/* d; for each 32 elements four bytes of codes, then four times seven signs and a scale
 * of 4 bits. */
void ggml_iq2_xxs(const uint8_t *x, float *to)
{
    float d = get_half(x);

    x += 2;
    for (int part = 0; part < 8; part++, x += 8) {
        uint32_t word = get_u32(x + 4);
        float scale = d * (0.5f + (float)(word >> 28)) * 0.25f;

        for (int k = 0; k < 4; k++, to += 8)
            put_eight(scale, ggml_iq2_xxs_grid[x[k]], even_signs(word >> 7 * k & 127),
                      to);
    }
}

/* d; 32 words of a 9-bit code and seven signs; 16 scales of 4 bits. */
void ggml_iq2_xs(const uint8_t *x, float *to)
{
    float d = get_half(x);

    for (int k = 0; k < 32; k++, to += 8) {
        uint16_t word = get_u16(x + 2 + 2 * k);
        float scale = d * (0.5f + (float)(x[66 + k / 4] >> k / 2 % 2 * 4 & 15)) * 0.25f;

        put_eight(scale, ggml_iq2_xs_grid[word & 511], even_signs(word >> 9), to);
    }
}

/* d; 32 bytes of codes, 32 of signs, 8 of two more bits for four codes each, 16 scales
 * of 4 bits. */
void ggml_iq2_s(const uint8_t *x, float *to)
{
    float d = get_half(x);

    for (int k = 0; k < 32; k++, to += 8) {
        unsigned high = x[66 + k / 4] >> k % 4 * 2 & 3u;
        float scale = d * (0.5f + (float)(x[74 + k / 4] >> k / 2 % 2 * 4 & 15)) * 0.25f;

        put_eight(scale, ggml_iq2_s_grid[x[2 + k] | high << 8], x[34 + k], to);
    }
}

/* d; 64 bytes of codes for four elements each; words of signs and scale as in iq2_xxs. */
void ggml_iq3_xxs(const uint8_t *x, float *to)
{
    float d = get_half(x);

    for (int k = 0; k < 64; k++, to += 4) {
        uint32_t word = get_u32(x + 66 + k / 8 * 4);
        float scale = d * (0.5f + (float)(word >> 28)) * 0.5f;
        unsigned signs = even_signs(word >> k / 2 % 4 * 7 & 127) >> k % 2 * 4;
        uint16_t entry = ggml_iq3_xxs_grid[x[2 + k]];

        for (int i = 0; i < 4; i++)
            to[i] = signed_by(scale * iq3_xxs_values[entry >> 4 * i & 7], signs, i);
    }
}

/* d; 64 bytes of codes, 64 ninth bits, 256 signs, 8 scales of 4 bits. */
void ggml_iq3_s(const uint8_t *x, float *to)
{
    float d = get_half(x);

    for (int k = 0; k < 64; k++, to += 4) {
        unsigned high = x[66 + k / 8] >> k % 8 & 1u;
        unsigned signs = x[74 + k / 2] >> k % 2 * 4;
        float scale = d * (float)(1 + 2 * (x[106 + k / 16] >> k / 8 % 2 * 4 & 15));
        uint16_t entry = ggml_iq3_s_grid[x[2 + k] | high << 8];

        for (int i = 0; i < 4; i++)
            to[i] = signed_by(scale * (float)(2 * (entry >> 4 * i & 7) + 1), signs, i);
    }
}

/* Eight times -1, 0 or 1, each moved by the same delta. */
static void put_moved(float d, uint16_t entry, bool down, float *to)
{
    float delta = down ? -0.125f : 0.125f;

    for (int i = 0; i < 8; i++)
        to[i] = d * ((float)((entry >> 2 * i & 3) - 1) + delta);
}

/* d; 32 bytes of codes; 8 words with three more bits of four codes, a scale of 3 bits
 * and the sign of delta. */
void ggml_iq1_s(const uint8_t *x, float *to)
{
    float d = get_half(x);

    for (int k = 0; k < 32; k++, to += 8) {
        uint16_t word = get_u16(x + 34 + k / 4 * 2);
        float scale = d * (float)(2 * (word >> 12 & 7) + 1);
        unsigned high = word >> 3 * (k % 4) & 7u;

        put_moved(scale, ggml_iq1_grid[x[k + 2] | high << 8], word & 0x8000, to);
    }
}

/* 32 bytes of codes; 32 halves of a byte with three more bits and the sign of delta; 4
 * words with four scales of 3 bits each and a quarter of the bits of d. */
void ggml_iq1_m(const uint8_t *x, float *to)
{
    const uint8_t *words = x + 48;
    uint16_t bits = 0;
    float d;

    for (int i = 0; i < 4; i++)
        bits |= (uint16_t)(get_u16(words + 2 * i) >> 12 << 4 * i);
    d = small_float_f16(bits);
    for (int k = 0; k < 32; k++, to += 8) {
        unsigned high = x[32 + k / 2] >> k % 2 * 4 & 15u;
        unsigned scale = get_u16(words + k / 8 * 2) >> k / 2 % 4 * 3 & 7u;

        put_moved(d * (float)(2 * scale + 1), ggml_iq1_grid[x[k] | (high & 7) << 8],
                  high & 8, to);
    }
}

static void put_iq4(float d, const uint8_t *codes, float *to)
{
    for (int i = 0; i < 16; i++) {
        to[i] = d * (float)iq4_values[codes[i] & 15];
        to[i + 16] = d * (float)iq4_values[codes[i] >> 4];
    }
}

/* d, 16 bytes of codes. */
void ggml_iq4_nl(const uint8_t *x, float *to)
{
    put_iq4(get_half(x), x + 2, to);
}

/* d; 8 scales of 6 bits less 32: the high two bits in a word, the low four in 4 bytes;
 * 128 bytes of codes. */
void ggml_iq4_xs(const uint8_t *x, float *to)
{
    float d = get_half(x);
    uint16_t high = get_u16(x + 2);

    for (int part = 0; part < 8; part++, to += 32) {
        int scale = (x[4 + part / 2] >> part % 2 * 4 & 15) | (high >> 2 * part & 3)
                                                                 << 4;

        put_iq4(d * (float)(scale - 32), x + 8 + 16 * part, to);
    }
}
