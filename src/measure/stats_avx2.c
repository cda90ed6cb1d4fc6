/* AVX2, FMA and F16C: vectors of 8 floats. See stats_kernel_in.h. */
#include <immintrin.h>
#include <stdint.h>

#define LANES   8
#define VECTOR  _mm256
#define BITS    si256
#define singles __m256
#define doubles __m256d
#define words   __m256i

#define load_half(x)     _mm_loadu_si128((const __m128i *)(x))
#define half_f16         _mm256_cvtph_ps
#define half_i16         _mm256_cvtepi16_epi32
#define half_u16         _mm256_cvtepu16_epi32
#define bins_in_order(x) _mm256_permute4x64_epi64(x, 0xd8)

/* There is no conversion of unsigned integers: subtract 2^31 first, then add it. */
static inline __attribute__((always_inline)) __m256d half_u32(__m128i x)
{
    __m128i moved = _mm_xor_si128(x, _mm_set1_epi32(INT32_MIN));

    return _mm256_add_pd(_mm256_cvtepi32_pd(moved), _mm256_set1_pd(0x1p31));
}

#include "measure/stats_vector_in.h"

#define singles_fma        _mm256_fmadd_ps
#define doubles_fma        _mm256_fmadd_pd
#define long_set(x)        _mm256_set1_epi64x((long long)(x))
#define codes_max_unsigned _mm256_max_epu16
#define codes_min_unsigned _mm256_min_epu16
#define words_any(a, b)    (!_mm256_testz_si256(a, b))
#define bytes_blend(a, b)  _mm256_blendv_epi8(b, a, _mm256_set1_epi16(-256))
#define bytes_pick         _mm256_shuffle_epi8
#define PICK_IS_FAST       1

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

/* Only the bits of a zero are 0 when doubled: keep the least. */
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

SHORT words singles_upper(singles a, singles b)
{
    return _mm256_blend_epi16(_mm256_srli_epi32(_mm256_castps_si256(a), 16),
                              _mm256_castps_si256(b), 0xaa);
}

#define lanes_are             words
#define are_above             _mm256_cmpgt_epi32
#define are_equal(a, b)       _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_EQ_OQ))
#define are_both              words_and
#define words_choose(c, a, b) _mm256_blendv_epi8(b, a, c)

#include "measure/stats_kernel_in.h"

#include "measure/spread_kernel_in.h"

const struct kernels kernels_avx2 = KERNELS("avx2");
