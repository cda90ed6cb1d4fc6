/* memory.h - statistics of elements in memory: activations, gradients. Needs no model
 * and copies no elements. */
#ifndef MEASURE_MEMORY_H
#define MEASURE_MEMORY_H

#include "measure/histogram.h"
#include "measure/stats.h"

/* Elements in native byte order. Strides are in elements and not negative. */
struct memory {
    const void *at;
    enum dtype dtype;
    int rank;
    const int64_t *shape, *strides;
    bool conj, neg; /* torch's lazy conjugation and negation */
};

/* The same statistics as stats_tensor(). Dense elements in C order need no allocation.
 */
int stats_memory(const struct memory *memory, enum measure_mode mode,
                 struct histogram *histogram, struct stats *ret_stats, struct err *err);

/* Copy all elements to `to`, dense in C order; `size` is their elements_size(). */
int memory_copy(const struct memory *memory, void *to, size_t size, struct err *err);

#endif
