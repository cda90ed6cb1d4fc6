/* spread_test_in.h - for tests: elements of all kinds, and their spread straight from
 * the definition. */
#ifndef MEASURE_SPREAD_TEST_IN_H
#define MEASURE_SPREAD_TEST_IN_H

#include "measure/kernels_test_in.h"
#include "measure/spread_counter_in.h"

/* What the elements are like. */
enum flavour_of_spread {
    SPREAD_TEST_BITS, /* any bits at all: NaN, infinities, denormals, every exponent */
    SPREAD_TEST_BELL,
    SPREAD_TEST_ZEROS,    /* half of them 0 or -0 */
    SPREAD_TEST_CONSTANT, /* one value, another one for each call */
    SPREAD_TEST_CLOSE,    /* a few steps of the type around one value */
    SPREAD_TEST_TAILS,    /* a narrow bell and far outliers */
    SPREAD_TEST_EDGES,    /* small multiples of a power of two: edges of bins */
    SPREAD_TEST_TINY,     /* denormals of the type, and 0 */
    SPREAD_TEST_HUGE,     /* the largest numbers of either sign, infinities and NaN */
    SPREAD_TEST_NEGATIVE,
    SPREAD_TEST_FLAVOURS
};

/* Fill n elements of a type. */
void spread_test_fill(enum dtype dtype, enum flavour_of_spread flavour, void *to,
                      size_t n, uint64_t *state);

/* The spread of n elements, all of them. */
void spread_test_naive(enum dtype dtype, const void *at, size_t n,
                       struct spread *ret_spread);

#endif
