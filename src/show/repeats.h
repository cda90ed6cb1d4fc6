/* repeats.h - which siblings are equal: the same classes, configuration and shapes, all
 * the way down; their own names and their values may differ. */
#ifndef SHOW_REPEATS_H
#define SHOW_REPEATS_H

#include "show/show.h"

/* Fewer equal siblings than this are shown one by one. */
#define REPEATS_LEAST 8

/* A number for each place, in the arena: equal subtrees have equal numbers. One
 * backward scan. NULL: the arena is spent. */
uint64_t *repeats_shapes(const struct show *show, struct arena *arena);

/* How many of places[0 .. n), siblings in order, are one run from the first on: equal
 * places, or (period 2) equal pairs. 1 if there is no run of REPEATS_LEAST, or with
 * `blocks` no two equal modules that have modules below them. */
uint32_t repeats_run(const struct model *model, const uint64_t *shapes, bool blocks,
                     const uint32_t *places, uint32_t n, uint32_t *ret_period);

#endif
