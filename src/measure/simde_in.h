/* simde_in.h - for tests: AVX-512 in plain C, to run stats_avx512.c on any machine.
 * SIMDe has most of it; these are the conversions it lacks. */
#ifndef MEASURE_SIMDE_IN_H
#define MEASURE_SIMDE_IN_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <string.h>

#include "measure/small_float_in.h"

#define kernels_avx512 kernels_simde

/* Lane by lane: `get` is lane i of the result. */
#define CONVERSION(name, to_vector, to_type, from_vector, from_type, get)              \
    static inline to_vector name(from_vector x)                                        \
    {                                                                                  \
        from_type from[sizeof x / sizeof(from_type)];                                  \
        to_type to[sizeof(to_vector) / sizeof(to_type)];                               \
        to_vector result;                                                              \
                                                                                       \
        memcpy(from, &x, sizeof x);                                                    \
        for (size_t i = 0; i < sizeof to / sizeof *to; i++)                            \
            to[i] = get;                                                               \
        memcpy(&result, to, sizeof result);                                            \
        return result;                                                                 \
    }

CONVERSION(simde_cvtph_ps, __m512, float, __m256i, uint16_t, small_float_f16(from[i]))
CONVERSION(simde_cvtepu16_epi32, __m512i, int32_t, __m256i, uint16_t, from[i])
CONVERSION(simde_cvtepi16_epi32, __m512i, int32_t, __m256i, int16_t, from[i])
CONVERSION(simde_cvtepi32_ps, __m512, float, __m512i, int32_t, (float)from[i])
CONVERSION(simde_cvtepi32_pd, __m512d, double, __m256i, int32_t, from[i])
CONVERSION(simde_cvtepu32_pd, __m512d, double, __m256i, uint32_t, from[i])
CONVERSION(simde_cvtps_pd, __m512d, double, __m256, float, from[i])
CONVERSION(simde_srai_31, __m512i, int32_t, __m512i, int32_t, from[i] >> 31)
CONVERSION(simde_cvttps_epi32, __m512i, int32_t, __m512, float, (int32_t)from[i])
CONVERSION(simde_upper_half, __m256, float, __m512, float, from[8 + i])

#define _mm512_cvtph_ps              simde_cvtph_ps
#define _mm512_cvtepu16_epi32        simde_cvtepu16_epi32
#define _mm512_cvtepi16_epi32        simde_cvtepi16_epi32
#define _mm512_cvtepi32_ps           simde_cvtepi32_ps
#define _mm512_cvtepi32_pd           simde_cvtepi32_pd
#define _mm512_cvtepu32_pd           simde_cvtepu32_pd
#define _mm512_cvtps_pd              simde_cvtps_pd
#define _mm512_srai_epi32(x, n)      simde_srai_31(x)
#define _mm512_cvttps_epi32          simde_cvttps_epi32
#define _mm512_extractf32x8_ps(x, i) simde_upper_half(x)

#endif
