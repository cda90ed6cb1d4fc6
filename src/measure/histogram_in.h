/* histogram_in.h - counting for the exponent histogram. */
#ifndef MEASURE_HISTOGRAM_IN_H
#define MEASURE_HISTOGRAM_IN_H

#include <stddef.h>
#include <stdint.h>

#include "measure/histogram.h"

/* The table is indexed by the upper bits of a float32, bits >> 20, which are found at
 * no cost; it is folded to the histogram's counters at the end. An element may be
 * counted anywhere in the row of 8 that its exponent has; not so denormals, and NaN
 * and infinities have rows too. */
#define TALLY_BINS 4096

/* Counters side by side, so that equal neighbours do not wait for each other. */
#define TALLY_WAYS 4
typedef uint32_t counters[TALLY_WAYS];

/* Counts on their way to a histogram, in a table that many of them share. */
struct tally {
    struct histogram *histogram;
    counters *counts; /* (TALLY_BINS), or NULL: few values, counted straight into the
                         histogram */
    uint64_t n;       /* in the table; stays below 2^32 */
};

/* For about n elements of a type, on their way to `histogram`; NULL gives a tally that
 * nothing may be counted in. */
void tally_init(struct tally *tally, struct histogram *histogram, enum dtype dtype,
                uint64_t n);
/* Bring all counts to the histogram. */
void tally_release(struct tally *tally);

/* Count elements (n) by their upper bits; NaN and infinities may be among them. */
void tally_add(struct tally *tally, const uint16_t *uppers, size_t n);
/* `n` more were counted into the table by a kernel. */
void tally_counted(struct tally *tally, size_t n);
/* Count one value that is neither, `times` times. */
void tally_value(struct tally *tally, double value, uint64_t times);
/* Move the table's counts to the histogram; drop those of NaN and infinities. */
void tally_flush(struct tally *tally);

/* The upper bits of a double that is not NaN or infinite, taken into float32's range.
 */
uint16_t tally_upper(double value);
/* The histogram's counter of these upper bits; HISTOGRAM_BINS for NaN and infinities.
 */
uint32_t histogram_fold(uint32_t upper);
/* The histogram's counter of a double that is not NaN or infinite. */
uint32_t histogram_bin(double value);

#endif
