/* repeats.h - which siblings are equal: the same classes, configuration and shapes, all
 * the way down; their own names and their values may differ. */
#ifndef ROWS_REPEATS_H
#define ROWS_REPEATS_H

#include "rows/rows.h"
#include "rows/show.h"

/* Fewer equal siblings than this are shown one by one. */
#define REPEATS_LEAST 8

/* Two bits for each place of a model: is it equal to its next sibling, and to the one
 * after that? Both are modules then: the values in groups differ, and people want to
 * see them. */
struct repeats {
    const uint8_t *next, *second;
};

/* Find them, in one backward scan; the bits are in the arena. -1: it is spent. */
int repeats_find(struct repeats *repeats, const struct show *show, struct arena *arena);

/* How many siblings are one run from `place` on: equal places, or (period 2) equal
 * pairs, which count as two each. 1 if there is no run of REPEATS_LEAST, or with
 * `blocks` no two equal modules that have modules below them. */
uint32_t repeats_run(const struct repeats *repeats, const struct model *model,
                     bool blocks, uint32_t place, uint32_t *ret_period);

#endif
