/* rename_match_in.h - what rename_match.c and rename_guess.c share. */
#ifndef STUDY_DIFF_RENAME_MATCH_IN_H
#define STUDY_DIFF_RENAME_MATCH_IN_H

#include <stdbool.h>

#include "base/map.h"
#include "study/diff/rename.h"

enum { LEFT, RIGHT };

struct matching {
    struct arena *arena;          /* lives for one call */
    struct rename_item *items[2]; /* LEFT and RIGHT */
    uint32_t n[2];
    struct map right_names; /* hash of a name: its index on the right */
};

uint32_t matching_find(const struct matching *m, struct str name); /* or RENAME_NONE */
void matching_join(struct matching *m, uint32_t left, uint32_t right);
/* Are both still free, and of one shape? `right` may be RENAME_NONE. */
bool matching_fits(const struct matching *m, uint32_t left, uint32_t right);
/* All that are matched; `pairs` has room for as many as are on the left. */
uint32_t matching_pairs(const struct matching *m, struct rename_pair *pairs);

/* Match by order and shape, where names agree. -1: the arena is spent. */
int rename_guess(struct matching *m);

#endif
