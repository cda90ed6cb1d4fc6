/* SSE2, which every x86-64 has: vectors of 4 floats. See stats_kernel_in.h. */
#include <emmintrin.h>
#include <stdint.h>

#define LANES   4
#define singles __m128
#define doubles __m128d
#define words   __m128i

#define SHORT static inline __attribute__((always_inline))

SHORT words load_words(const char *x)
{
    return _mm_loadu_si128((const __m128i *)x);
}

SHORT words load_half(const char *x)
{
    return _mm_loadl_epi64((const __m128i *)x);
}

SHORT singles load_f32(const char *x)
{
    return _mm_castsi128_ps(load_words(x));
}

SHORT words load_wide_u16(const char *x)
{
    return _mm_unpacklo_epi16(load_half(x), _mm_setzero_si128());
}

/* Shifted into place, a float16 is a float32 that is 2^112 too small, denormals
 * included; only infinities and NaN need their exponent filled up. */
SHORT singles load_f16(const char *x)
{
    words wide = load_wide_u16(x);
    words magnitude = _mm_and_si128(wide, _mm_set1_epi32(0x7fff));
    words sign = _mm_slli_epi32(_mm_xor_si128(wide, magnitude), 16);
    words special = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7bff));
    singles scaled = _mm_mul_ps(_mm_castsi128_ps(_mm_slli_epi32(magnitude, 13)),
                                _mm_set1_ps(0x1p112f));
    words top = _mm_and_si128(special, _mm_set1_epi32(0x7f800000));

    return _mm_or_ps(scaled, _mm_castsi128_ps(_mm_or_si128(sign, top)));
}

SHORT singles load_bf16(const char *x)
{
    return _mm_castsi128_ps(_mm_slli_epi32(load_wide_u16(x), 16));
}

SHORT singles load_i16(const char *x)
{
    words high = _mm_unpacklo_epi16(_mm_setzero_si128(), load_half(x));

    return _mm_cvtepi32_ps(_mm_srai_epi32(high, 16));
}

SHORT singles load_u16(const char *x)
{
    return _mm_cvtepi32_ps(load_wide_u16(x));
}

SHORT doubles load_f64(const char *x)
{
    return _mm_castsi128_pd(load_words(x));
}

SHORT doubles load_i32(const char *x)
{
    return _mm_cvtepi32_pd(load_half(x));
}

/* There is no conversion of unsigned numbers: move them down by 2^31, and up again. */
SHORT doubles load_u32(const char *x)
{
    words moved = _mm_xor_si128(load_half(x), _mm_set1_epi32(INT32_MIN));

    return _mm_add_pd(_mm_cvtepi32_pd(moved), _mm_set1_pd(0x1p31));
}

#define singles_zero         _mm_setzero_ps
#define singles_set          _mm_set1_ps
#define singles_add          _mm_add_ps
#define singles_sub          _mm_sub_ps
#define singles_fma(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
#define singles_min          _mm_min_ps
#define singles_max          _mm_max_ps
#define singles_store        _mm_storeu_ps
#define doubles_zero         _mm_setzero_pd
#define doubles_set          _mm_set1_pd
#define doubles_add          _mm_add_pd
#define doubles_sub          _mm_sub_pd
#define doubles_fma(a, b, c) _mm_add_pd(_mm_mul_pd(a, b), c)
#define doubles_min          _mm_min_pd
#define doubles_max          _mm_max_pd
#define doubles_store        _mm_storeu_pd
#define words_zero           _mm_setzero_si128
#define words_store(to, x)   _mm_storeu_si128((__m128i *)(to), x)
#define long_set(x)          _mm_set1_epi64x((long long)(x))
#define long_xor             _mm_xor_si128
#define long_sub             _mm_sub_epi64

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

/* Equal as 64 bits: both halves are. */
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

/* 1.5 * 2^52 has its units in the lowest bit: adding x to its bits adds x to its value.
 */
SHORT doubles long_double(words x)
{
    doubles magic = _mm_set1_pd(0x1.8p52);
    words sum = _mm_add_epi64(x, _mm_castpd_si128(magic));

    return _mm_sub_pd(_mm_castsi128_pd(sum), magic);
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

SHORT void singles_bins(singles a, singles b, uint16_t *to)
{
    words_store(to, _mm_packs_epi32(_mm_srli_epi32(_mm_castps_si128(a), 20),
                                    _mm_srli_epi32(_mm_castps_si128(b), 20)));
}

/* Packing keeps the upper halves as they are when they come as signed numbers. */
SHORT words singles_upper(singles a, singles b)
{
    return _mm_packs_epi32(_mm_srai_epi32(_mm_castps_si128(a), 16),
                           _mm_srai_epi32(_mm_castps_si128(b), 16));
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

    *a = _mm_castsi128_ps(_mm_slli_epi32(codes, 16));
    *b = _mm_castsi128_ps(_mm_and_si128(codes, _mm_set1_epi32(-65536)));
}

#define codes_max      _mm_max_epi16
#define codes_add      _mm_add_epi16
#define codes_sub      _mm_sub_epi16
#define codes_right    _mm_srli_epi16
#define codes_one()    _mm_set1_epi16(1)
#define words_set16(x) _mm_set1_epi16((short)(x))
#define words_and      _mm_and_si128
#define words_or       _mm_or_si128
#define words_xor      _mm_xor_si128
#define bytes_total(x) _mm_sad_epu8(x, _mm_setzero_si128())
#define long_add       _mm_add_epi64
#define PICK_IS_FAST   0

/* There is no comparison of unsigned numbers: move them down, and up again. */
SHORT words codes_moved(words codes)
{
    return _mm_xor_si128(codes, _mm_set1_epi16(INT16_MIN));
}

SHORT words codes_max_unsigned(words a, words b)
{
    return codes_moved(_mm_max_epi16(codes_moved(a), codes_moved(b)));
}

SHORT words codes_min_unsigned(words a, words b)
{
    return codes_moved(_mm_min_epi16(codes_moved(a), codes_moved(b)));
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

/* There is no such instruction: what needs it is left out. */
SHORT words bytes_pick(words table, words x)
{
    (void)table;
    return x;
}

#include "measure/stats_kernel_in.h"

const struct kernels kernels_sse2 = KERNELS("sse2");
