/* repeats.h - finds equal siblings: modules with the same classes, configuration and
 * shapes all the way down. Their own names and their values may differ. */
#ifndef ROWS_REPEATS_H
#define ROWS_REPEATS_H

#include "rows/rows.h"
#include "rows/show.h"

/* Fewer equal siblings than this are shown one by one. */
#define REPEATS_LEAST 8

/* Two bits for each place: is it equal to its next sibling, and to the one after that?
 * Only modules repeat: values in groups differ, and users want to see them. */
struct repeats {
    const uint8_t *next, *second;
};

/* Find them in one backward scan; allocates the bits in the arena. -1: it is full. */
int repeats_find(struct repeats *repeats, const struct show *show, struct arena *arena);

/* Number of siblings in the run that starts at `place`: equal places, or (period 2)
 * equal pairs, which count as two each. 1: no run. A run has at least REPEATS_LEAST
 * places or pairs; with `blocks`, two equal modules that contain modules are enough. */
uint32_t repeats_run(const struct repeats *repeats, const struct model *model,
                     bool blocks, uint32_t place, uint32_t *ret_period);

#endif
