/* kernels_in.h - the kernels of ggml.c: each decodes one block. Plain loops, which the
 * compiler vectorises. Products are not fused into additions (-ffp-contract=off). */
#ifndef MEASURE_GGML_KERNELS_IN_H
#define MEASURE_GGML_KERNELS_IN_H

#include <stdint.h>
#include <string.h>

#include "measure/small_float_in.h"

static inline uint16_t get_u16(const uint8_t *at)
{
    uint16_t word;

    memcpy(&word, at, sizeof word);
    return word;
}

static inline uint32_t get_u32(const uint8_t *at)
{
    uint32_t word;

    memcpy(&word, at, sizeof word);
    return word;
}

static inline float get_half(const uint8_t *at)
{
    return small_float_f16(get_u16(at));
}

void ggml_q4_0(const uint8_t *x, float *to);
void ggml_q4_1(const uint8_t *x, float *to);
void ggml_q5_0(const uint8_t *x, float *to);
void ggml_q5_1(const uint8_t *x, float *to);
void ggml_q8_0(const uint8_t *x, float *to);
void ggml_q8_1(const uint8_t *x, float *to);
void ggml_q1_0(const uint8_t *x, float *to);
void ggml_q2_0(const uint8_t *x, float *to);
void ggml_tq1_0(const uint8_t *x, float *to);
void ggml_tq2_0(const uint8_t *x, float *to);
void ggml_mxfp4(const uint8_t *x, float *to);
void ggml_nvfp4(const uint8_t *x, float *to);

void ggml_q2_k(const uint8_t *x, float *to);
void ggml_q3_k(const uint8_t *x, float *to);
void ggml_q4_k(const uint8_t *x, float *to);
void ggml_q5_k(const uint8_t *x, float *to);
void ggml_q6_k(const uint8_t *x, float *to);
void ggml_q8_k(const uint8_t *x, float *to);

void ggml_iq1_s(const uint8_t *x, float *to);
void ggml_iq1_m(const uint8_t *x, float *to);
void ggml_iq2_xxs(const uint8_t *x, float *to);
void ggml_iq2_xs(const uint8_t *x, float *to);
void ggml_iq2_s(const uint8_t *x, float *to);
void ggml_iq3_xxs(const uint8_t *x, float *to);
void ggml_iq3_s(const uint8_t *x, float *to);
void ggml_iq4_nl(const uint8_t *x, float *to);
void ggml_iq4_xs(const uint8_t *x, float *to);

#endif
