/* compare_naive_in.h - for tests: compares two tensors by the definition, element by
 * element. */
#ifndef MEASURE_COMPARE_NAIVE_IN_H
#define MEASURE_COMPARE_NAIVE_IN_H

#include "measure/compare.h"
#include "measure/sample_model_in.h"

struct compare_side side_of(struct sample_model *sample);

/* All but `rounding`; types of one number an element, or of a complex one. */
struct compared compare_naively(const struct sample_model *left,
                                const struct sample_model *right,
                                struct tolerance tolerance);

/* Both must agree: counts exactly, sums approximately. */
void check_compared(const struct compared *got, const struct compared *expected);

/* Compare both ways, with bytes in memory and read from the source. */
void check_naively(struct sample_model *left, struct sample_model *right,
                   struct tolerance tolerance);

/* Random bytes, determined by the seed. */
void fill_bytes(void *to, size_t n, uint64_t seed);

#endif
