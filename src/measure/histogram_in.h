/* histogram_in.h - counting for the exponent histogram. */
#ifndef MEASURE_HISTOGRAM_IN_H
#define MEASURE_HISTOGRAM_IN_H

#include <stddef.h>
#include <stdint.h>

#include "measure/histogram.h"

/* The table is indexed by the upper bits of a float32 (bits >> 20) and folded to the
 * histogram's counters at the end. A normal number may be counted anywhere in the row of
 * 8 of its exponent. NaN and infinities have rows too. */
#define TALLY_BINS 4096

/* Several counters per bin, so that equal neighbours do not stall. */
#define TALLY_WAYS 4
typedef uint32_t counters[TALLY_WAYS];

/* Counts for a histogram, kept in a table until they are flushed. */
struct tally {
    struct histogram *histogram;
    counters *counts; /* (TALLY_BINS), or NULL: few values, counted directly in the
                         histogram */
    uint64_t n;       /* in the table; stays below 2^32 */
};

/* A tally for about n elements of a type. With a NULL histogram nothing may be counted.
 */
void tally_init(struct tally *tally, struct histogram *histogram, enum dtype dtype,
                uint64_t n);
/* Flush all counts and free the table. */
void tally_release(struct tally *tally);

/* Count n elements by their upper bits, possibly with NaN and infinities. */
void tally_add(struct tally *tally, const uint16_t *uppers, size_t n);
/* Report that a kernel counted n elements in the tally's table. */
void tally_counted(struct tally *tally, size_t n);
/* Count a finite value `times` times. */
void tally_value(struct tally *tally, double value, uint64_t times);

/* The upper bits of a finite double, clamped to float32's range. */
uint16_t tally_upper(double value);
/* The histogram's counter for these upper bits; HISTOGRAM_BINS for NaN and infinities.
 */
uint32_t histogram_fold(uint32_t upper);
/* The histogram's counter for a finite double. */
uint32_t histogram_bin(double value);

#endif
