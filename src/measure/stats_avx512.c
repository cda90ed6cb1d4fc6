/* AVX-512 (F, BW, DQ, VL): vectors of 16 floats. See stats_kernel_in.h. */
#ifdef MEASURE_SIMDE
#include "measure/simde_in.h"
#else
#include <immintrin.h>
#endif
#include <stdint.h>

#define LANES   16
#define singles __m512
#define doubles __m512d
#define words   __m512i

#define SHORT static inline __attribute__((always_inline))

SHORT words load_words(const char *x)
{
    return _mm512_loadu_si512(x);
}

SHORT __m256i load_half(const char *x)
{
    return _mm256_loadu_si256((const __m256i *)x);
}

SHORT singles load_f32(const char *x)
{
    return _mm512_castsi512_ps(load_words(x));
}

SHORT singles load_f16(const char *x)
{
    return _mm512_cvtph_ps(load_half(x));
}

SHORT singles load_bf16(const char *x)
{
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(load_half(x)), 16));
}

SHORT singles load_i16(const char *x)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(load_half(x)));
}

SHORT singles load_u16(const char *x)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(load_half(x)));
}

SHORT doubles load_f64(const char *x)
{
    return _mm512_castsi512_pd(load_words(x));
}

SHORT doubles load_i32(const char *x)
{
    return _mm512_cvtepi32_pd(load_half(x));
}

SHORT doubles load_u32(const char *x)
{
    return _mm512_cvtepu32_pd(load_half(x));
}

#define singles_zero       _mm512_setzero_ps
#define singles_set        _mm512_set1_ps
#define singles_add        _mm512_add_ps
#define singles_sub        _mm512_sub_ps
#define singles_fma        _mm512_fmadd_ps
#define singles_min        _mm512_min_ps
#define singles_max        _mm512_max_ps
#define singles_store      _mm512_storeu_ps
#define doubles_zero       _mm512_setzero_pd
#define doubles_set        _mm512_set1_pd
#define doubles_add        _mm512_add_pd
#define doubles_sub        _mm512_sub_pd
#define doubles_fma        _mm512_fmadd_pd
#define doubles_min        _mm512_min_pd
#define doubles_max        _mm512_max_pd
#define doubles_store      _mm512_storeu_pd
#define words_zero         _mm512_setzero_si512
#define words_store(to, x) _mm512_storeu_si512(to, x)
#define long_set(x)        _mm512_set1_epi64((long long)(x))
#define long_xor           _mm512_xor_si512
#define long_sub           _mm512_sub_epi64
#define long_min           _mm512_min_epi64
#define long_max           _mm512_max_epi64

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

/* Twice the bits of a zero are zero, and of nothing else: the least of them tells. */
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

/* 1.5 * 2^52 has its units in the lowest bit: adding x to its bits adds x to its value.
 */
SHORT doubles long_double(words x)
{
    doubles magic = _mm512_set1_pd(0x1.8p52);
    words sum = _mm512_add_epi64(x, _mm512_castpd_si512(magic));

    return _mm512_sub_pd(_mm512_castsi512_pd(sum), magic);
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

/* Packing works within each 128 bits, which then stand as a0 b0 a1 b1 a2 b2 a3 b3. */
SHORT void singles_bins(singles a, singles b, uint16_t *to)
{
    words packed = _mm512_packs_epi32(_mm512_srli_epi32(_mm512_castps_si512(a), 20),
                                      _mm512_srli_epi32(_mm512_castps_si512(b), 20));
    words order = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0);

    words_store(to, _mm512_permutexvar_epi64(order, packed));
}

SHORT words singles_upper(singles a, singles b)
{
    return _mm512_mask_blend_epi16(0xaaaaaaaa,
                                   _mm512_srli_epi32(_mm512_castps_si512(a), 16),
                                   _mm512_castps_si512(b));
}

SHORT void pair_f16(const char *x, singles *a, singles *b)
{
    *a = load_f16(x);
    *b = load_f16(x + 2 * LANES);
}

/* The even ones and the odd ones. */
SHORT void pair_bf16(const char *x, singles *a, singles *b)
{
    words codes = load_words(x);

    *a = _mm512_castsi512_ps(_mm512_slli_epi32(codes, 16));
    *b = _mm512_castsi512_ps(_mm512_and_si512(codes, _mm512_set1_epi32(-65536)));
}

#define codes_max          _mm512_max_epi16
#define codes_max_unsigned _mm512_max_epu16
#define codes_min_unsigned _mm512_min_epu16
#define codes_add          _mm512_add_epi16
#define codes_sub          _mm512_sub_epi16
#define codes_right        _mm512_srli_epi16
#define codes_one()        _mm512_set1_epi16(1)
#define words_set16(x)     _mm512_set1_epi16((short)(x))
#define words_and          _mm512_and_si512
#define words_or           _mm512_or_si512
#define words_xor          _mm512_xor_si512
#define words_any(a, b)    (_mm512_test_epi32_mask(a, b) != 0)
#define bytes_blend(a, b)  _mm512_mask_blend_epi8(0xaaaaaaaaaaaaaaaa, b, a)
#define bytes_total(x)     _mm512_sad_epu8(x, _mm512_setzero_si512())
#define long_add           _mm512_add_epi64
#define bytes_pick         _mm512_shuffle_epi8
#define PICK_IS_FAST       1

#include "measure/stats_kernel_in.h"

const struct kernels kernels_avx512 = KERNELS("avx512");
