/* stats_vector_in.h - vector operations that have the same name in every x86
 * instruction set except for the prefix; a part of stats_kernel_in.h.
 * The including file (stats_avx2.c) defines LANES, VECTOR (_mm256), BITS (si256), the
 * types singles, doubles and words, and what differs between instruction sets:
 *
 *   load_half(x)                           half a vector of bytes
 *   half_f16 half_i16 half_u16             half a vector to floats, to 32-bit integers
 *   half_u32                               half a vector to doubles
 *   bins_in_order(x)                       undoes the order of packs_epi32 */

#define PASTE_(a, b, c, d) a##b##c##d
#define PASTE(a, b, c, d)  PASTE_(a, b, c, d)
#define V(op)              PASTE(VECTOR, _, op, )        /* V(add_ps): _mm256_add_ps */
#define W(op)              PASTE(VECTOR, _, op##_, BITS) /* W(xor): _mm256_xor_si256 */
#define C(to)              PASTE(VECTOR, _cast, BITS, _##to) /* C(ps): _mm256_castsi256_ps */

#define SHORT static inline __attribute__((always_inline))

#define singles_zero       V(setzero_ps)
#define singles_set        V(set1_ps)
#define singles_add        V(add_ps)
#define singles_sub        V(sub_ps)
#define singles_min        V(min_ps)
#define singles_max        V(max_ps)
#define singles_store      V(storeu_ps)
#define doubles_zero       V(setzero_pd)
#define doubles_set        V(set1_pd)
#define doubles_add        V(add_pd)
#define doubles_sub        V(sub_pd)
#define doubles_min        V(min_pd)
#define doubles_max        V(max_pd)
#define doubles_store      V(storeu_pd)
#define words_zero         W(setzero)
#define words_store(to, x) W(storeu)((words *)(to), x)
#define words_set16(x)     V(set1_epi16)((short)(x))
#define words_and          W(and)
#define words_or           W(or)
#define words_xor          W(xor)
#define long_add           V(add_epi64)
#define long_sub           V(sub_epi64)
#define long_xor           W(xor)
#define codes_max          V(max_epi16)
#define codes_add          V(add_epi16)
#define codes_sub          V(sub_epi16)
#define codes_right        V(srli_epi16)
#define codes_one()        V(set1_epi16)(1)
#define bytes_total(x)     V(sad_epu8)(x, words_zero())

SHORT words load_words(const char *x)
{
    return W(loadu)((const words *)x);
}

SHORT singles load_f32(const char *x)
{
    return C(ps)(load_words(x));
}

SHORT singles load_f16(const char *x)
{
    return half_f16(load_half(x));
}

SHORT singles load_bf16(const char *x)
{
    return C(ps)(V(slli_epi32)(half_u16(load_half(x)), 16));
}

SHORT singles load_i16(const char *x)
{
    return V(cvtepi32_ps)(half_i16(load_half(x)));
}

SHORT singles load_u16(const char *x)
{
    return V(cvtepi32_ps)(half_u16(load_half(x)));
}

SHORT doubles load_f64(const char *x)
{
    return C(pd)(load_words(x));
}

SHORT doubles load_i32(const char *x)
{
    return V(cvtepi32_pd)(load_half(x));
}

SHORT doubles load_u32(const char *x)
{
    return half_u32(load_half(x));
}

/* The lowest bit of 1.5 * 2^52 is worth 1: adding x to its bits adds x to its value. */
SHORT doubles long_double(words x)
{
    doubles magic = doubles_set(0x1.8p52);

    return doubles_sub(C(pd)(long_add(x, W(castpd)(magic))), magic);
}

SHORT void singles_bins(singles a, singles b, uint16_t *to)
{
    words packed = V(packs_epi32)(V(srli_epi32)(W(castps)(a), 20),
                                  V(srli_epi32)(W(castps)(b), 20));

    words_store(to, bins_in_order(packed));
}

SHORT void pair_f16(const char *x, singles *a, singles *b)
{
    *a = load_f16(x);
    *b = load_f16(x + 2 * LANES);
}

/* The even elements and the odd ones. */
SHORT void pair_bf16(const char *x, singles *a, singles *b)
{
    words codes = load_words(x);

    *a = C(ps)(V(slli_epi32)(codes, 16));
    *b = C(ps)(words_and(codes, V(set1_epi32)(-65536)));
}
