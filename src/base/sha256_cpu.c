#include "base/sha256_in.h"

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>

/* CPUID leaf 7 reports the SHA instructions, leaf 1 SSSE3 and SSE4.1. */
static bool ask_cpu(void)
{
    unsigned a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3) || !(c & bit_SSE4_1))
        return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

bool sha256_has_cpu(void)
{
    static atomic_int known; /* 0 unknown, 1 no, 2 yes */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);

    if (answer == 0) {
        answer = ask_cpu() ? 2 : 1;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == 2;
}

/* Four rounds: two instructions of two rounds each, which read their round words from
 * the low half. The state is kept as (A B E F) and (C D G H), highest word first. */
__attribute__((target("sha,sse4.1"))) static inline void
four_rounds(__m128i *abef, __m128i *cdgh, __m128i words, const uint32_t *constants)
{
    __m128i sum = _mm_add_epi32(words, _mm_loadu_si128((const __m128i *)constants));

    *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, sum);
    *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(sum, 0x0e));
}

/* The next four words of the message schedule from the last sixteen, oldest first. */
__attribute__((target("sha,sse4.1"))) static inline __m128i
next_words(__m128i w0, __m128i w1, __m128i w2, __m128i w3)
{
    __m128i sum = _mm_sha256msg1_epu32(w0, w1);

    sum = _mm_add_epi32(sum, _mm_alignr_epi8(w3, w2, 4)); /* w[i - 7] */
    return _mm_sha256msg2_epu32(sum, w3);
}

__attribute__((target("sha,sse4.1"))) static inline __m128i
load_words(const uint8_t *at)
{
    const __m128i big_endian =
        _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);

    return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)at), big_endian);
}

__attribute__((target("sha,sse4.1"))) static void
cpu_block(__m128i *abef, __m128i *cdgh, const uint8_t *at)
{
    const __m128i abef_before = *abef, cdgh_before = *cdgh;
    __m128i w0 = load_words(at), w1 = load_words(at + 16);
    __m128i w2 = load_words(at + 32), w3 = load_words(at + 48);
    int i;

    for (i = 0; i < 48; i += 16) {
        four_rounds(abef, cdgh, w0, sha256_round + i);
        w0 = next_words(w0, w1, w2, w3);
        four_rounds(abef, cdgh, w1, sha256_round + i + 4);
        w1 = next_words(w1, w2, w3, w0);
        four_rounds(abef, cdgh, w2, sha256_round + i + 8);
        w2 = next_words(w2, w3, w0, w1);
        four_rounds(abef, cdgh, w3, sha256_round + i + 12);
        w3 = next_words(w3, w0, w1, w2);
    }
    four_rounds(abef, cdgh, w0, sha256_round + 48);
    four_rounds(abef, cdgh, w1, sha256_round + 52);
    four_rounds(abef, cdgh, w2, sha256_round + 56);
    four_rounds(abef, cdgh, w3, sha256_round + 60);
    *abef = _mm_add_epi32(*abef, abef_before);
    *cdgh = _mm_add_epi32(*cdgh, cdgh_before);
}

__attribute__((target("sha,sse4.1"))) void
sha256_blocks_cpu(uint32_t state[8], const uint8_t *at, size_t n)
{
    __m128i abef =
        _mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]);
    __m128i cdgh =
        _mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]);

    for (; n > 0; n--, at += 64)
        cpu_block(&abef, &cdgh, at);
    state[0] = (uint32_t)_mm_extract_epi32(abef, 3);
    state[1] = (uint32_t)_mm_extract_epi32(abef, 2);
    state[4] = (uint32_t)_mm_extract_epi32(abef, 1);
    state[5] = (uint32_t)_mm_extract_epi32(abef, 0);
    state[2] = (uint32_t)_mm_extract_epi32(cdgh, 3);
    state[3] = (uint32_t)_mm_extract_epi32(cdgh, 2);
    state[6] = (uint32_t)_mm_extract_epi32(cdgh, 1);
    state[7] = (uint32_t)_mm_extract_epi32(cdgh, 0);
}

#else

bool sha256_has_cpu(void)
{
    return false;
}

void sha256_blocks_cpu(uint32_t state[8], const uint8_t *at, size_t n)
{
    sha256_blocks_plain(state, at, n);
}

#endif
