/* AVX-512 (F, BW, DQ, VL): vectors of 16 floats. See stats_kernel_in.h. */
#ifdef MEASURE_SIMDE
#include "measure/simde_in.h"
#else
#include <immintrin.h>
#endif
#include <stdint.h>

#define LANES   16
#define VECTOR  _mm512
#define BITS    si512
#define singles __m512
#define doubles __m512d
#define words   __m512i

#define load_half(x) _mm256_loadu_si256((const __m256i *)(x))
#define half_f16     _mm512_cvtph_ps
#define half_i16     _mm512_cvtepi16_epi32
#define half_u16     _mm512_cvtepu16_epi32
#define half_u32     _mm512_cvtepu32_pd
/* packs_epi32 works within each 128 bits: a0 b0 a1 b1 a2 b2 a3 b3. */
#define bins_in_order(x)                                                               \
    _mm512_permutexvar_epi64(_mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0), x)

#include "measure/stats_vector_in.h"

#define singles_fma        _mm512_fmadd_ps
#define doubles_fma        _mm512_fmadd_pd
#define long_set(x)        _mm512_set1_epi64((long long)(x))
#define long_min           _mm512_min_epi64
#define long_max           _mm512_max_epi64
#define codes_max_unsigned _mm512_max_epu16
#define codes_min_unsigned _mm512_min_epu16
#define words_any(a, b)    (_mm512_test_epi32_mask(a, b) != 0)
#define bytes_blend(a, b)  _mm512_mask_blend_epi8(0xaaaaaaaaaaaaaaaa, b, a)
#define bytes_pick         _mm512_shuffle_epi8
#define PICK_IS_FAST       1

/* Subtract -1 where the comparison holds. */
SHORT words zeros_single(words count, singles x)
{
    uint16_t is = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_EQ_OQ);

    return _mm512_mask_sub_epi32(count, is, count, _mm512_set1_epi32(-1));
}

SHORT words zeros_double(words count, doubles x)
{
    uint8_t is = _mm512_cmp_pd_mask(x, _mm512_setzero_pd(), _CMP_EQ_OQ);

    return _mm512_mask_sub_epi64(count, is, count, _mm512_set1_epi64(-1));
}

/* Only the bits of a zero are 0 when doubled: keep the least. */
SHORT words seen_none(void)
{
    return _mm512_set1_epi32(-1);
}

SHORT words seen_single(words seen, singles x)
{
    words bits = _mm512_castps_si512(x);

    return _mm512_min_epu32(seen, _mm512_add_epi32(bits, bits));
}

SHORT int seen_any(words seen)
{
    return _mm512_cmpeq_epi32_mask(seen, _mm512_setzero_si512());
}

SHORT words long_zeros(words count, words x)
{
    uint8_t is = _mm512_cmpeq_epi64_mask(x, _mm512_setzero_si512());

    return _mm512_mask_sub_epi64(count, is, count, _mm512_set1_epi64(-1));
}

SHORT doubles singles_low(singles x)
{
    return _mm512_cvtps_pd(_mm512_castps512_ps256(x));
}

SHORT doubles singles_high(singles x)
{
    return _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
}

SHORT int singles_equal(singles a, singles b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}

SHORT int doubles_equal(doubles a, doubles b)
{
    return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ);
}

SHORT words singles_upper(singles a, singles b)
{
    return _mm512_mask_blend_epi16(0xaaaaaaaa,
                                   _mm512_srli_epi32(_mm512_castps_si512(a), 16),
                                   _mm512_castps_si512(b));
}

#define lanes_are             uint16_t
#define are_above             _mm512_cmpgt_epi32_mask
#define are_equal(a, b)       _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ)
#define are_both(a, b)        ((uint16_t)((a) & (b)))
#define words_choose(c, a, b) _mm512_mask_blend_epi32(c, b, a)

#include "measure/stats_kernel_in.h"

#include "measure/spread_kernel_in.h"

const struct kernels kernels_avx512 = KERNELS("avx512");
