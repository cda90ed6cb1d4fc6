/* stats_planes_in.h - counting exponents without a table; a part of stats_run_in.h.
 * A table needs one store per element. But weights have few exponents: nearly all of a
 * block are in a window of 16. A byte holds which of them an element has, and a lookup
 * in a register turns it into one bit of 8. Then, for each of the 8 bits of each byte,
 * the vectors in which it is set are counted in planes, like adding binary numbers by
 * hand: plane k holds the k-th binary digit of all counts, and adding a vector to it
 * gives the carry for the next. There are four such sets: for the lower and upper half
 * of the window, for positive elements and for all.
 *
 * A group with an element outside of the window is counted in the table. If there are
 * many such groups, the rest of the run uses the table. */

#define PLANES       11                      /* enough to count the vectors of a run */
#define MANY_STRAYS  (BLOCK / RUN_GROUP / 3) /* groups */
#define VECTOR_BYTES (4 * LANES)
#define AT_ONCE      32 /* vectors added before a carry moves up */

_Static_assert(RUN / RUN_GROUP < 1 << PLANES, "a run's vectors can be counted");
_Static_assert(BLOCK / RUN_GROUP % AT_ONCE == 0, "a block is made of whole parts");
_Static_assert(RUN_GROUP == VECTOR_BYTES, "a group gives a vector of bytes");

struct stats_planes_window {
    words planes[2][2][PLANES]; /* lower and upper half; positive elements, all */
    uint32_t lowest;            /* exponent in the window, in the type's own bits */
    uint32_t strays;            /* groups of the last block with elements outside */
};

/* The layout of a 16-bit float; float32 uses its upper half, a bfloat16. */
struct code_form {
    uint32_t mantissa;  /* bits */
    uint32_t exponents; /* without that of infinities and NaN */
    uint32_t bias;      /* added to get float32's exponent */
};

#define FORM_bf16 ((struct code_form){7, 255, 0})
#define FORM_f32  FORM_bf16
#define FORM_f16  ((struct code_form){10, 31, 112})

/* Exponent 0 (zeros and denormals) is never inside. */
INLINE void window_move(struct stats_planes_window *window, uint32_t lowest)
{
    for (size_t k = 0; k < 4; k++)
        for (size_t plane = 0; plane < PLANES; plane++)
            window->planes[k / 2][k % 2][plane] = words_zero();
    window->lowest = lowest;
}

/* Add a and b to a plane; returns the carry. */
INLINE words plane_add(words *plane, words a, words b)
{
    words before = *plane, odd = words_xor(before, a);

    *plane = words_xor(odd, b);
    return words_or(words_and(before, a), words_and(odd, b));
}

INLINE words add_2(words *planes, const char *x, words bits)
{
    return plane_add(&planes[0], bytes_pick(bits, load_words(x)),
                     bytes_pick(bits, load_words(x + VECTOR_BYTES)));
}

/* Twice as many: both carries go to the next plane. */
#define ADD_TWICE(n, half, plane)                                                      \
    INLINE words add_##n(words *planes, const char *x, words bits)                     \
    {                                                                                  \
        words a = add_##half(planes, x, bits);                                         \
        words b = add_##half(planes, x + (half)*VECTOR_BYTES, bits);                   \
                                                                                       \
        return plane_add(&planes[plane], a, b);                                        \
    }

ADD_TWICE(4, 2, 1)
ADD_TWICE(8, 4, 2)
ADD_TWICE(16, 8, 3)
ADD_TWICE(32, 16, 4)

/* The bit for each exponent, 8 of 16 in a row. The lookup uses the lower 4 bits, so the
 * row starts where the window does. */
#define EIGHT_BITS 1, 2, 4, 8, 16, 32, 64, 128
#define NO_BITS    0, 0, 0, 0, 0, 0, 0, 0
static const uint8_t bits_of[80] = {EIGHT_BITS, NO_BITS, EIGHT_BITS, NO_BITS,
                                    EIGHT_BITS, NO_BITS, EIGHT_BITS, NO_BITS,
                                    EIGHT_BITS, NO_BITS};

/* Count the exponents `first` to `first + 8` in x (BLOCK). */
INLINE void planes_add(words *planes, const char *x, uint32_t first)
{
    words bits = load_words((const char *)bits_of + (16 - first % 16) % 16);
    words low[5], carry;

    for (size_t plane = 0; plane < 5; plane++)
        low[plane] = planes[plane];
    for (size_t i = 0; i < BLOCK; i += AT_ONCE * VECTOR_BYTES) {
        carry = add_32(low, x + i, bits);
        for (size_t plane = 5; plane < PLANES; plane++) {
            words sum = words_xor(planes[plane], carry);

            carry = words_and(planes[plane], carry);
            planes[plane] = sum;
        }
    }
    for (size_t plane = 0; plane < 5; plane++)
        planes[plane] = low[plane];
}

/* Count the exponents of a block: of positive elements, and of all. */
static __attribute__((noinline)) void window_count(struct stats_planes_window *window,
                                                   char exponents[2][BLOCK])
{
    for (uint32_t half = 0; half < 2; half++)
        for (size_t k = 0; k < 2; k++)
            planes_add(window->planes[half][k], exponents[k],
                       window->lowest + 8 * half);
}

/* Add up a set of planes, from the highest digit down. */
static __attribute__((noinline)) void planes_total(const words *planes,
                                                   uint32_t sums[8])
{
    words totals[8];
    size_t plane = PLANES;

    for (size_t bit = 0; bit < 8; bit++)
        totals[bit] = words_zero();
    while (plane > 0 && !words_any(planes[plane - 1], planes[plane - 1]))
        plane--;
    while (plane-- > 0) {
        words digits = planes[plane];

        for (size_t bit = 0; bit < 8; bit++) {
            words ones = bytes_total(words_and(digits, words_set16(0x0101)));

            totals[bit] = long_add(long_add(totals[bit], totals[bit]), ones);
            digits = codes_right(digits, 1);
        }
    }
    for (size_t bit = 0; bit < 8; bit++) {
        uint64_t out[LANES / 2];

        words_store(out, totals[bit]);
        for (size_t i = 0; i < LANES / 2; i++)
            sums[bit] += (uint32_t)out[i];
    }
}

/* Add all counts to the table. */
static __attribute__((noinline)) void
window_flush(const struct stats_planes_window *window, struct code_form form,
             counters *counts)
{
    for (uint32_t half = 0; half < 2; half++) {
        counters *row = &counts[(window->lowest + form.bias + half * 8) * 8];
        uint32_t positive[8] = {0}, all[8] = {0};

        planes_total(window->planes[half][0], positive);
        planes_total(window->planes[half][1], all);
        for (uint32_t bit = 0; bit < 8; bit++, row += 8) {
            row[0][0] += positive[bit];
            row[TALLY_BINS / 2][0] += all[bit] - positive[bit];
        }
    }
}

/* The exponents of two vectors of codes, as bytes: the lower 4 bits select, the highest
 * bit (the sign, for `positive`) makes the lookup give nothing. In any order. */
INLINE void find_exponents(words a, words b, struct code_form form, words *all,
                           words *positive)
{
    if (form.mantissa == 7) {
        words bytes = bytes_blend(codes_add(b, b), codes_right(a, 7));
        words signs = bytes_blend(b, codes_right(a, 8));

        *all = words_and(bytes, words_set16(0x7f7f));
        *positive = words_or(*all, words_and(signs, words_set16(0x8080)));
    } else { /* 5 bits and the sign, which adding 3 bits carries up to the highest */
        *all = bytes_blend(codes_right(b, 2), codes_right(a, 10));
        *positive = codes_add(*all, words_set16(0x6060));
    }
}

/* Is one of two vectors of codes outside of the window? */
INLINE bool any_stray(words a, words b, words lowest, struct code_form form)
{
    words over = words_set16((uint16_t)(0xffff << (form.mantissa + 5)));

    return words_any(words_or(codes_sub(codes_add(a, a), lowest),
                              codes_sub(codes_add(b, b), lowest)),
                     over);
}

/* The greatest of the 16-bit lanes, ignoring signs. */
INLINE uint32_t greatest_code(words codes)
{
    uint16_t out[2 * LANES];
    uint32_t greatest = 0;

    words_store(out, codes);
    for (size_t i = 0; i < 2 * LANES; i++)
        greatest = (out[i] & 0x7fff) > greatest ? out[i] & 0x7fff : greatest;
    return greatest;
}

/* The least of the 16-bit lanes. */
INLINE uint32_t least_code(words codes)
{
    uint16_t out[2 * LANES];
    uint32_t least = UINT16_MAX;

    words_store(out, codes);
    for (size_t i = 0; i < 2 * LANES; i++)
        least = out[i] < least ? out[i] : least;
    return least;
}

/* Let the window end with this exponent, or the greatest finite one. */
INLINE void window_place(struct stats_planes_window *window, uint32_t top,
                         struct code_form form, counters *counts)
{
    uint32_t lowest;

    if (top >= form.exponents)
        top = form.exponents - 1;
    lowest = top > 15 ? top - 15 : 1;
    if (lowest == window->lowest)
        return;
    if (window->lowest)
        window_flush(window, form, counts);
    window_move(window, lowest);
}

/* Count a block. `codes` loads 2 * LANES codes, `stray` counts a group in the table.
 * Without `strays` all elements are known to be inside. */
INLINE void window_add(struct stats_planes_window *window, const char *x, size_t size,
                       struct code_form form, counters *counts, bool strays,
                       words (*codes)(const char *),
                       void (*stray)(counters *, const char *))
{
    words lowest = words_set16((uint16_t)(window->lowest << (form.mantissa + 1)));
    char exponents[2][BLOCK]; /* of positive ones, of all */

    window->strays = 0;
    for (size_t i = 0; i < BLOCK; i += RUN_GROUP, x += RUN_GROUP * size) {
        words a = codes(x), b = codes(x + RUN_GROUP / 2 * size), positive, all;

        find_exponents(a, b, form, &all, &positive);
        if (strays && any_stray(a, b, lowest, form)) {
            stray(counts, x);
            window->strays++;
            positive = all = words_set16(0x8080);
        }
        words_store(exponents[0] + i, positive);
        words_store(exponents[1] + i, all);
    }
    window_count(window, exponents);
}
