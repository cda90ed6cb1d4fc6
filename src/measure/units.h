/* units.h - dead and saturated units of an activation in memory. A unit is a channel:
 * dim 1 of (N, C) and (N, C, ...), the last dim of (N, T, C). Most units are settled by
 * their first elements; those that are dead are read completely, so the counts are
 * exact. */
#ifndef MEASURE_UNITS_H
#define MEASURE_UNITS_H

#include "measure/stats.h"

struct memory; /* measure/memory.h */

struct units {
    uint32_t n;         /* 0: unknown */
    uint32_t dead;      /* all elements are 0 */
    uint32_t saturated; /* all elements are within 0.001 of -1 or 1; of a tensor without
                           negative elements: of 0 or 1. 0 if others are outside */
};

/* `stats` are those of all elements. Unknown if a unit has a single element, there are
 * too many units, or the type is not float16, bfloat16, float32 or float64; saturated
 * units are only counted in the last two. */
struct units units_count(const struct memory *memory, const struct stats *stats);

#endif
