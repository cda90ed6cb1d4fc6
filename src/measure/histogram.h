/* histogram.h - the distribution of values.
 * The exponent histogram has one counter per sign and base-2 exponent. It needs no
 * range, so it is filled in the same pass as the statistics and merges exactly. The
 * linear histogram needs min and max first. */
#ifndef MEASURE_HISTOGRAM_H
#define MEASURE_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/work.h"
#include "model/model.h"

/* For each sign, positive first: a counter for zeros and magnitudes below 2^-129, 7 in
 * even steps up to 2^-126 (float32's denormals), and one for each of float32's 254
 * exponents. Larger doubles go to the last counter. NaN and infinities are not counted.
 */
#define HISTOGRAM_BINS 524

struct histogram {
    uint64_t bins[HISTOGRAM_BINS];
    bool sampled;
};

void histogram_merge(struct histogram *a, const struct histogram *b);
/* The values that a counter covers: [low, high). */
void histogram_range(uint32_t bin, double *ret_low, double *ret_high);

/* Exact counts of the finite elements in n equal steps from min to max, like
 * numpy.histogram: the last step includes max. A second pass over the tensor. */
int histogram_linear(const struct model *model, const struct tensor *tensor, double min,
                     double max, uint64_t *bins, uint32_t n, struct work *work,
                     struct err *err);

#endif
