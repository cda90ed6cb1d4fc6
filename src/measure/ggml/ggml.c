#include "measure/ggml/ggml_in.h"

#include "measure/ggml/kernels_in.h"

/* A number of more than one byte in a block. */
struct number {
    uint16_t at;
    uint8_t bytes, count; /* count: several in a row */
};

struct ggml_kernel {
    void (*decode)(const uint8_t *x, float *to);
    bool swaps; /* all numbers of more than one byte are these; the rest is bytes */
    struct number numbers[2];
};

/* Only ggml's struct of a block defines which of its bytes a big-endian machine swaps.
 * Types that read words from arrays of bytes are omitted: machines disagree. */
/* clang-format off */
static const struct ggml_kernel kernels[DTYPE_COUNT] = {
    [DTYPE_Q4_0]    = {ggml_q4_0,    true,  {{0, 2, 1}}},
    [DTYPE_Q4_1]    = {ggml_q4_1,    true,  {{0, 2, 2}}},
    [DTYPE_Q5_0]    = {ggml_q5_0,    false, {{0}}},
    [DTYPE_Q5_1]    = {ggml_q5_1,    false, {{0}}},
    [DTYPE_Q8_0]    = {ggml_q8_0,    true,  {{0, 2, 1}}},
    [DTYPE_Q8_1]    = {ggml_q8_1,    true,  {{0, 2, 2}}},
    [DTYPE_Q2_K]    = {ggml_q2_k,    true,  {{80, 2, 2}}},
    [DTYPE_Q3_K]    = {ggml_q3_k,    false, {{0}}},
    [DTYPE_Q4_K]    = {ggml_q4_k,    true,  {{0, 2, 2}}},
    [DTYPE_Q5_K]    = {ggml_q5_k,    true,  {{0, 2, 2}}},
    [DTYPE_Q6_K]    = {ggml_q6_k,    true,  {{208, 2, 1}}},
    [DTYPE_Q8_K]    = {ggml_q8_k,    true,  {{0, 4, 1}, {260, 2, 16}}},
    [DTYPE_IQ1_S]   = {ggml_iq1_s,   false, {{0}}},
    [DTYPE_IQ1_M]   = {ggml_iq1_m,   false, {{0}}},
    [DTYPE_IQ2_XXS] = {ggml_iq2_xxs, false, {{0}}},
    [DTYPE_IQ2_XS]  = {ggml_iq2_xs,  false, {{0}}},
    [DTYPE_IQ2_S]   = {ggml_iq2_s,   true,  {{0, 2, 1}}},
    [DTYPE_IQ3_XXS] = {ggml_iq3_xxs, false, {{0}}},
    [DTYPE_IQ3_S]   = {ggml_iq3_s,   true,  {{0, 2, 1}}},
    [DTYPE_IQ4_NL]  = {ggml_iq4_nl,  true,  {{0, 2, 1}}},
    [DTYPE_IQ4_XS]  = {ggml_iq4_xs,  true,  {{0, 2, 2}}},
    [DTYPE_TQ1_0]   = {ggml_tq1_0,   true,  {{52, 2, 1}}},
    [DTYPE_TQ2_0]   = {ggml_tq2_0,   true,  {{64, 2, 1}}},
    [DTYPE_MXFP4]   = {ggml_mxfp4,   true,  {{0}}},
    [DTYPE_NVFP4]   = {ggml_nvfp4,   true,  {{0}}},
    [DTYPE_Q1_0]    = {ggml_q1_0,    true,  {{0, 2, 1}}},
    [DTYPE_Q2_0]    = {ggml_q2_0,    true,  {{0, 2, 1}}},
};
/* clang-format on */

bool ggml_type(enum dtype dtype)
{
    return dtype < DTYPE_COUNT && kernels[dtype].decode;
}

void ggml_decode(enum dtype dtype, const void *at, size_t n, float *to)
{
    const struct dtype_info *info = dtype_info(dtype);
    const uint8_t *block = at;

    for (; n > 0; n--, block += info->bytes, to += info->block)
        kernels[dtype].decode(block, to);
}

static void swap_numbers(uint8_t *block, struct number number)
{
    for (unsigned i = 0; i < number.count; i++) {
        uint8_t *at = block + number.at + i * number.bytes;

        for (unsigned k = 0; k < number.bytes / 2u; k++) {
            uint8_t byte = at[k];

            at[k] = at[number.bytes - 1 - k];
            at[number.bytes - 1 - k] = byte;
        }
    }
}

bool ggml_swap(enum dtype dtype, void *at, size_t n)
{
    uint8_t *block = at;

    if (!kernels[dtype].swaps)
        return false;
    for (; n > 0; n--, block += dtype_info(dtype)->bytes)
        for (int i = 0; i < 2; i++)
            swap_numbers(block, kernels[dtype].numbers[i]);
    return true;
}
