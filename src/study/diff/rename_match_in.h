/* rename_match_in.h - shared by rename_match.c and rename_guess.c. */
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
    struct map right_names; /* hash of a name to its index on the right */
};

uint32_t matching_find(const struct matching *m, struct str name); /* or RENAME_NONE */
void matching_join(struct matching *m, uint32_t left, uint32_t right);
/* Are both unmatched and of one shape? `right` may be RENAME_NONE. */
bool matching_fits(const struct matching *m, uint32_t left, uint32_t right);
/* All matches; `pairs` has room for as many as there are on the left. */
uint32_t matching_pairs(const struct matching *m, struct rename_pair *pairs);
/* The name of the module that holds a tensor. */
struct str matching_module(struct str name);

/* How many items of each side have a key, and the last of them. */
struct matching_count {
    uint32_t n[2], at[2];
};
struct matching_counts {
    struct map map;
    struct matching_count *at;
    uint32_t n, room;
};
void matching_counts_init(const struct matching *m, struct matching_counts *counts);
int matching_count(struct matching *m, struct matching_counts *counts, uint64_t key,
                   uint32_t side, uint32_t i);
const struct matching_count *matching_count_find(const struct matching_counts *counts,
                                                 uint64_t key); /* or NULL */

/* Match by order and shape, where names agree. -1: arena spent. */
int rename_guess(struct matching *m);

#endif
