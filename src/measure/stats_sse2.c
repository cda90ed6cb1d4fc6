/* SSE2, which every x86-64 has: vectors of 4 floats. See stats_kernel_in.h. */
#include <emmintrin.h>
#include <stdint.h>

#define LANES   4
#define VECTOR  _mm
#define BITS    si128
#define singles __m128
#define doubles __m128d
#define words   __m128i

#define load_half(x)     _mm_loadl_epi64((const __m128i *)(x))
#define half_u16(x)      _mm_unpacklo_epi16(x, _mm_setzero_si128())
#define half_i16(x)      _mm_srai_epi32(_mm_unpacklo_epi16(_mm_setzero_si128(), x), 16)
#define bins_in_order(x) (x)

/* As small_float_f16(). */
static inline __attribute__((always_inline)) __m128 half_f16(__m128i x)
{
    words wide = half_u16(x);
    words magnitude = _mm_and_si128(wide, _mm_set1_epi32(0x7fff));
    words sign = _mm_slli_epi32(_mm_xor_si128(wide, magnitude), 16);
    words special = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7bff));
    singles scaled = _mm_mul_ps(_mm_castsi128_ps(_mm_slli_epi32(magnitude, 13)),
                                _mm_set1_ps(0x1p112f));
    words top = _mm_and_si128(special, _mm_set1_epi32(0x7f800000));

    return _mm_or_ps(scaled, _mm_castsi128_ps(_mm_or_si128(sign, top)));
}

/* There is no conversion of unsigned integers: subtract 2^31 first, then add it. */
static inline __attribute__((always_inline)) __m128d half_u32(__m128i x)
{
    words moved = _mm_xor_si128(x, _mm_set1_epi32(INT32_MIN));

    return _mm_add_pd(_mm_cvtepi32_pd(moved), _mm_set1_pd(0x1p31));
}

#include "measure/stats_vector_in.h"

#define singles_fma(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
#define doubles_fma(a, b, c) _mm_add_pd(_mm_mul_pd(a, b), c)
#define long_set(x)          _mm_set1_epi64x((long long)(x))
#define PICK_IS_FAST         0

/* A comparison that holds gives all ones, which is -1. */
SHORT words zeros_single(words count, singles x)
{
    return _mm_sub_epi32(count, _mm_castps_si128(_mm_cmpeq_ps(x, _mm_setzero_ps())));
}

SHORT words zeros_double(words count, doubles x)
{
    return _mm_sub_epi64(count, _mm_castpd_si128(_mm_cmpeq_pd(x, _mm_setzero_pd())));
}

SHORT words seen_none(void)
{
    return _mm_setzero_si128();
}

SHORT words seen_single(words seen, singles x)
{
    return _mm_or_si128(seen, _mm_castps_si128(_mm_cmpeq_ps(x, _mm_setzero_ps())));
}

SHORT int seen_any(words seen)
{
    return _mm_movemask_epi8(seen);
}

/* 64 bits are equal where both halves are. */
SHORT words long_zeros(words count, words x)
{
    words equal = _mm_cmpeq_epi32(x, _mm_setzero_si128());
    words other = _mm_shuffle_epi32(equal, _MM_SHUFFLE(2, 3, 0, 1));

    return _mm_sub_epi64(count, _mm_and_si128(equal, other));
}

/* a > b as 64 bits: by the upper halves, and where these are equal by the sign of the
 * difference b - a. */
SHORT words long_above(words a, words b)
{
    words equal = _mm_and_si128(_mm_cmpeq_epi32(a, b), _mm_sub_epi64(b, a));
    words above = _mm_or_si128(equal, _mm_cmpgt_epi32(a, b));

    return _mm_shuffle_epi32(_mm_srai_epi32(above, 31), _MM_SHUFFLE(3, 3, 1, 1));
}

SHORT words choose(words which, words a, words b)
{
    return _mm_or_si128(_mm_and_si128(which, a), _mm_andnot_si128(which, b));
}

SHORT words long_min(words a, words b)
{
    return choose(long_above(a, b), b, a);
}

SHORT words long_max(words a, words b)
{
    return choose(long_above(a, b), a, b);
}

SHORT doubles singles_low(singles x)
{
    return _mm_cvtps_pd(x);
}

SHORT doubles singles_high(singles x)
{
    return _mm_cvtps_pd(_mm_movehl_ps(x, x));
}

SHORT int singles_equal(singles a, singles b)
{
    return _mm_movemask_ps(_mm_cmpeq_ps(a, b));
}

SHORT int doubles_equal(doubles a, doubles b)
{
    return _mm_movemask_pd(_mm_cmpeq_pd(a, b));
}

/* Packing keeps the upper halves unchanged if they are signed. */
SHORT words singles_upper(singles a, singles b)
{
    return _mm_packs_epi32(_mm_srai_epi32(_mm_castps_si128(a), 16),
                           _mm_srai_epi32(_mm_castps_si128(b), 16));
}

/* There is no comparison of unsigned codes: flip the sign bit before and after. */
SHORT words codes_flipped(words codes)
{
    return _mm_xor_si128(codes, _mm_set1_epi16(INT16_MIN));
}

SHORT words codes_max_unsigned(words a, words b)
{
    return codes_flipped(_mm_max_epi16(codes_flipped(a), codes_flipped(b)));
}

SHORT words codes_min_unsigned(words a, words b)
{
    return codes_flipped(_mm_min_epi16(codes_flipped(a), codes_flipped(b)));
}

SHORT int words_any(words a, words b)
{
    words none = _mm_cmpeq_epi8(_mm_and_si128(a, b), _mm_setzero_si128());

    return _mm_movemask_epi8(none) != 0xffff;
}

SHORT words bytes_blend(words a, words b)
{
    return choose(_mm_set1_epi16(-256), a, b);
}

/* SSE2 has no such instruction; PICK_IS_FAST says not to use this. */
SHORT words bytes_pick(words table, words x)
{
    (void)table;
    return x;
}

#include "measure/stats_kernel_in.h"

/* SSE2 lacks most of what these need. */
#define spread_range_best spread_range_plain
#define spread_keys_best  spread_keys_plain

const struct kernels kernels_sse2 = KERNELS("sse2");
