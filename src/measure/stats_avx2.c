/* AVX2, FMA and F16C: vectors of 8 floats. See stats_kernel_in.h. */
#include <immintrin.h>
#include <stdint.h>

#define LANES   8
#define singles __m256
#define doubles __m256d
#define words   __m256i

#define SHORT static inline __attribute__((always_inline))

SHORT words load_words(const char *x)
{
    return _mm256_loadu_si256((const __m256i *)x);
}

SHORT __m128i load_half(const char *x)
{
    return _mm_loadu_si128((const __m128i *)x);
}

SHORT singles load_f32(const char *x)
{
    return _mm256_castsi256_ps(load_words(x));
}

SHORT singles load_f16(const char *x)
{
    return _mm256_cvtph_ps(load_half(x));
}

SHORT singles load_bf16(const char *x)
{
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(load_half(x)), 16));
}

SHORT singles load_i16(const char *x)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(load_half(x)));
}

SHORT singles load_u16(const char *x)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(load_half(x)));
}

SHORT doubles load_f64(const char *x)
{
    return _mm256_castsi256_pd(load_words(x));
}

SHORT doubles load_i32(const char *x)
{
    return _mm256_cvtepi32_pd(load_half(x));
}

/* There is no conversion of unsigned numbers: move them down by 2^31, and up again. */
SHORT doubles load_u32(const char *x)
{
    __m128i moved = _mm_xor_si128(load_half(x), _mm_set1_epi32(INT32_MIN));

    return _mm256_add_pd(_mm256_cvtepi32_pd(moved), _mm256_set1_pd(0x1p31));
}

#define singles_zero       _mm256_setzero_ps
#define singles_set        _mm256_set1_ps
#define singles_add        _mm256_add_ps
#define singles_sub        _mm256_sub_ps
#define singles_fma        _mm256_fmadd_ps
#define singles_min        _mm256_min_ps
#define singles_max        _mm256_max_ps
#define singles_store      _mm256_storeu_ps
#define doubles_zero       _mm256_setzero_pd
#define doubles_set        _mm256_set1_pd
#define doubles_add        _mm256_add_pd
#define doubles_sub        _mm256_sub_pd
#define doubles_fma        _mm256_fmadd_pd
#define doubles_min        _mm256_min_pd
#define doubles_max        _mm256_max_pd
#define doubles_store      _mm256_storeu_pd
#define words_zero         _mm256_setzero_si256
#define words_store(to, x) _mm256_storeu_si256((__m256i *)(to), x)
#define long_set(x)        _mm256_set1_epi64x((long long)(x))
#define long_xor           _mm256_xor_si256
#define long_sub           _mm256_sub_epi64

/* A comparison that holds gives all ones, which is -1. */
SHORT words zeros_single(words count, singles x)
{
    singles is = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_EQ_OQ);

    return _mm256_sub_epi32(count, _mm256_castps_si256(is));
}

SHORT words zeros_double(words count, doubles x)
{
    doubles is = _mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_EQ_OQ);

    return _mm256_sub_epi64(count, _mm256_castpd_si256(is));
}

/* Twice the bits of a zero are zero, and of nothing else: the least of them tells. */
SHORT words seen_none(void)
{
    return _mm256_set1_epi32(-1);
}

SHORT words seen_single(words seen, singles x)
{
    words bits = _mm256_castps_si256(x);

    return _mm256_min_epu32(seen, _mm256_add_epi32(bits, bits));
}

SHORT int seen_any(words seen)
{
    return _mm256_movemask_epi8(_mm256_cmpeq_epi32(seen, _mm256_setzero_si256()));
}

SHORT words long_zeros(words count, words x)
{
    return _mm256_sub_epi64(count, _mm256_cmpeq_epi64(x, _mm256_setzero_si256()));
}

SHORT words long_min(words a, words b)
{
    return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b));
}

SHORT words long_max(words a, words b)
{
    return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b));
}

/* 1.5 * 2^52 has its units in the lowest bit: adding x to its bits adds x to its value.
 */
SHORT doubles long_double(words x)
{
    doubles magic = _mm256_set1_pd(0x1.8p52);
    words sum = _mm256_add_epi64(x, _mm256_castpd_si256(magic));

    return _mm256_sub_pd(_mm256_castsi256_pd(sum), magic);
}

SHORT doubles singles_low(singles x)
{
    return _mm256_cvtps_pd(_mm256_castps256_ps128(x));
}

SHORT doubles singles_high(singles x)
{
    return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
}

SHORT int singles_equal(singles a, singles b)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ));
}

SHORT int doubles_equal(doubles a, doubles b)
{
    return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_EQ_OQ));
}

SHORT void singles_bins(singles a, singles b, uint16_t *to)
{
    words packed = _mm256_packs_epi32(_mm256_srli_epi32(_mm256_castps_si256(a), 20),
                                      _mm256_srli_epi32(_mm256_castps_si256(b), 20));

    words_store(to, _mm256_permute4x64_epi64(packed, 0xd8));
}

SHORT words singles_upper(singles a, singles b)
{
    return _mm256_blend_epi16(_mm256_srli_epi32(_mm256_castps_si256(a), 16),
                              _mm256_castps_si256(b), 0xaa);
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

    *a = _mm256_castsi256_ps(_mm256_slli_epi32(codes, 16));
    *b = _mm256_castsi256_ps(_mm256_and_si256(codes, _mm256_set1_epi32(-65536)));
}

#define codes_max          _mm256_max_epi16
#define codes_max_unsigned _mm256_max_epu16
#define codes_min_unsigned _mm256_min_epu16
#define codes_add          _mm256_add_epi16
#define codes_sub          _mm256_sub_epi16
#define codes_right        _mm256_srli_epi16
#define codes_one()        _mm256_set1_epi16(1)
#define words_set16(x)     _mm256_set1_epi16((short)(x))
#define words_and          _mm256_and_si256
#define words_or           _mm256_or_si256
#define words_xor          _mm256_xor_si256
#define words_any(a, b)    (!_mm256_testz_si256(a, b))
#define bytes_blend(a, b)  _mm256_blendv_epi8(b, a, _mm256_set1_epi16(-256))
#define bytes_total(x)     _mm256_sad_epu8(x, _mm256_setzero_si256())
#define long_add           _mm256_add_epi64
#define bytes_pick         _mm256_shuffle_epi8
#define PICK_IS_FAST       1

#include "measure/stats_kernel_in.h"

const struct kernels kernels_avx2 = KERNELS("avx2");
