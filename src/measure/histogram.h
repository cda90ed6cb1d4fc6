/* histogram.h - how values are spread.
 * The exponent histogram has one counter per sign and base-2 exponent: it needs no
 * range, so it is filled in the same pass as the statistics and merges exactly. The
 * linear one counts between a min and a max known beforehand. */
#ifndef MEASURE_HISTOGRAM_H
#define MEASURE_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/work.h"
#include "model/model.h"

/* Of either sign, the positive one first: a counter for zeros and what is below 2^-129,
 * 7 in even steps up to 2^-126, where float32's denormals end, and one for each of its
 * 254 exponents. Doubles beyond its range go to the outermost counter. NaN and
 * infinities are not counted. */
#define HISTOGRAM_BINS 524

struct histogram {
    uint64_t bins[HISTOGRAM_BINS];
    bool sampled;
};

void histogram_merge(struct histogram *a, const struct histogram *b);
/* The values that a counter stands for: [low, high). */
void histogram_range(uint32_t bin, double *ret_low, double *ret_high);

/* Exact counts of the finite elements in n equal steps from min to max (as
 * numpy.histogram: the last step includes max). A second pass over the tensor. */
int histogram_linear(const struct model *model, const struct tensor *tensor, double min,
                     double max, uint64_t *bins, uint32_t n, struct work *work,
                     struct err *err);

#endif
