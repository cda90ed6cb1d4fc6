/* histogram.h - how values are spread.
 * The exponent histogram has one counter per sign, base-2 exponent and 3 bits of
 * mantissa: it needs no range, so it is filled in the same pass as the statistics and
 * merges exactly. The linear one counts between a min and a max known beforehand. */
#ifndef MEASURE_HISTOGRAM_H
#define MEASURE_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/work.h"
#include "model/model.h"

/* float32's sign, exponent and upper 3 mantissa bits: bits >> 20. Doubles beyond its
 * range go to the outermost counter; values below it (and zeros) to counters 0 and
 * 2048. NaN and infinities are not counted. */
#define HISTOGRAM_BINS 4096

struct histogram {
    uint64_t bins[HISTOGRAM_BINS];
    bool sampled;
};

void histogram_merge(struct histogram *a, const struct histogram *b);
/* The values that a counter stands for: [low, high). */
void histogram_range(uint32_t bin, double *ret_low, double *ret_high);
/* The q-quantile (0..1) within 6 %; NaN when empty. */
double histogram_quantile(const struct histogram *histogram, double q);

/* Exact counts of the finite elements in n equal steps from min to max (as
 * numpy.histogram: the last step includes max). A second pass over the tensor. */
int histogram_linear(const struct model *model, const struct tensor *tensor, double min,
                     double max, uint64_t *bins, uint32_t n, struct work *work,
                     struct err *err);

#endif
