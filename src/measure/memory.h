/* memory.h - numbers about elements that lie in memory already: activations, gradients.
 * No model is needed, and none of what is measured is copied. */
#ifndef MEASURE_MEMORY_H
#define MEASURE_MEMORY_H

#include "measure/histogram.h"
#include "measure/stats.h"

/* Elements in native byte order: where the first lies, and how to reach the others.
 * Strides are in elements and not negative. */
struct memory {
    const void *at;
    enum dtype dtype;
    int rank;
    const int64_t *shape, *strides;
    bool conj, neg; /* conjugated, negated on the fly */
};

/* The statistics, as stats_tensor() gives them. Elements side by side in C order cost
 * no allocation. */
int stats_memory(const struct memory *memory, enum measure_mode mode,
                 struct histogram *histogram, struct stats *ret_stats, struct err *err);

/* Copy all elements to `to`, dense in C order; `size` is what elements_size() says of
 * them. */
int memory_copy(const struct memory *memory, void *to, size_t size, struct err *err);

#endif
