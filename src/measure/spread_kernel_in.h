/* spread_kernel_in.h - the fast kernels for spreads, written once for AVX2 and AVX-512.
 * Included after stats_kernel_in.h. The including file also defines, on lanes of 32 bits,
 *
 *   lanes_are                  the result of a comparison
 *   are_above(a, b)            a > b, as signed integers
 *   are_equal(a, b)            of singles
 *   are_both(a, b)
 *   words_choose(are, a, b)    a where it holds, else b */

#define words_set32(x) V(set1_epi32)((int)(x))

#define RANGE_SETS 2 /* independent results, so that instructions overlap */

/* As struct spread_range; `least` is one less, so that 0 is the largest. */
struct range_lanes {
    words min, max, least, most;
};

SHORT void add_range(struct range_lanes *to, words bits)
{
    words magnitude = words_and(bits, words_set32(0x7fffffff));
    words flip = V(srli_epi32)(V(srai_epi32)(bits, 31), 1);
    words order = words_xor(bits, flip);

    to->min = V(min_epi32)(to->min, order);
    to->max = V(max_epi32)(to->max, order);
    to->least = V(min_epu32)(to->least, V(sub_epi32)(magnitude, words_set32(1)));
    to->most = V(max_epu32)(to->most, magnitude);
}

/* Merge `lanes` results. */
SHORT void fold_range(struct range_lanes *sets, struct spread_range *range)
{
    int32_t min[RANGE_SETS * LANES], max[RANGE_SETS * LANES];
    uint32_t least[RANGE_SETS * LANES], most[RANGE_SETS * LANES], low = UINT32_MAX;

    for (size_t k = 0; k < RANGE_SETS; k++) {
        words_store(min + k * LANES, sets[k].min);
        words_store(max + k * LANES, sets[k].max);
        words_store(least + k * LANES, sets[k].least);
        words_store(most + k * LANES, sets[k].most);
    }
    *range = (struct spread_range){INT32_MAX, INT32_MIN, 0, 0};
    for (size_t i = 0; i < RANGE_SETS * LANES; i++) {
        range->min = min[i] < range->min ? min[i] : range->min;
        range->max = max[i] > range->max ? max[i] : range->max;
        range->most = most[i] > range->most ? most[i] : range->most;
        low = least[i] < low ? least[i] : low;
    }
    range->least = low + 1;
}

/* An incomplete vector is padded with its first element. */
static void spread_range_best(const void *at, size_t n, struct spread_range *ret_range)
{
    const char *x = at;
    char pad[LANES * 4];
    struct range_lanes sets[RANGE_SETS];
    size_t i = 0;

    for (size_t k = 0; k < RANGE_SETS; k++)
        sets[k] = (struct range_lanes){words_set32(INT32_MAX), words_set32(INT32_MIN),
                                       words_set32(-1), words_zero()};
    for (; i + RANGE_SETS * LANES <= n; i += RANGE_SETS * LANES)
        for (size_t k = 0; k < RANGE_SETS; k++)
            add_range(&sets[k], load_words(x + 4 * (i + k * LANES)));
    for (; i < n; i += LANES)
        add_range(&sets[0], load_words(n - i >= LANES ? x + 4 * i
                                                      : padded(pad, x + 4 * i, n - i,
                                                               x + 4 * i, LANES, 4)));
    fold_range(sets, ret_range);
}

/* As key_of() in spread_plain.c. */
SHORT words spread_keys_of(words bits, singles scale)
{
    words magnitude = words_and(bits, words_set32(0x7fffffff));
    words negative = V(srai_epi32)(bits, 31);
    singles scaled = V(mul_ps)(C(ps)(magnitude), scale);
    words t = V(cvttps_epi32)(scaled), low = words_set32(127);
    words far =
        words_or(words_and(words_xor(t, negative), low), words_set32(SPREAD_FAR));
    words edge = words_or(words_and(t, low), words_set32(SPREAD_EDGE));
    lanes_are exact = are_both(are_equal(V(cvtepi32_ps)(t), scaled),
                               are_above(words_and(t, negative), words_zero()));
    words keys =
        words_choose(are_above(t, words_set32(3)), far, V(srli_epi32)(bits, 21));

    return words_choose(exact, edge, keys);
}

static void spread_keys_best(const void *at, size_t n, float scale, uint16_t *keys)
{
    const char *x = at;
    char pad[2 * LANES * 4];
    singles scales = singles_set(scale);

    for (size_t i = 0; i < n; i += 2 * LANES) {
        const char *from = x + 4 * i;
        words a, b;

        if (n - i < 2 * LANES)
            from = padded(pad, from, n - i, from, 2 * LANES, 4);
        a = spread_keys_of(load_words(from), scales);
        b = spread_keys_of(load_words(from + 4 * LANES), scales);
        words_store(keys + i, bins_in_order(V(packs_epi32)(a, b)));
    }
}
