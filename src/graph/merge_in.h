/* merge_in.h - two networks become one: which parts belong together, and what differs.
 *
 *   merge_hash.c    what a part is, as numbers that both sides share
 *   merge_match.c   which parts of both sides belong together
 *   merge_words.c   what differs between two parts, in words: "64→128 (was 64→64)"
 *   merge.c         the parts, links and values of both
 *
 * Matching goes from the outside inwards: only parts inside matched parts can match. A
 * part with parts inside never matches one without. Within one pair of groups, in this
 * order, each step with what the steps before it left:
 *
 *   1. equal in name and in all that is inside; operations: name, arguments, result
 *   2. equal in name and class; operations: in name
 *   3. modules that have the same name, unless it is a number: their class changed
 *   4. modules that are equal but for their name, as many on both sides: renamed
 *   5. modules of the same number
 *   6. one operation between matched neighbours
 *
 * Steps 1 and 2 go by order first (study/diverge/sequence.h, nearly linear), then modules
 * also match out of order. The two sides are always compared in the same order, whichever
 * is the old one, so the diff from B to A is the mirror image of that from A to B. */
#ifndef GRAPH_MERGE_IN_H
#define GRAPH_MERGE_IN_H

#include "graph/parts_in.h"

enum { MERGE_OLD, MERGE_NEW, MERGE_SIDES };

struct merge_side {
    const struct parts *parts;
    uint64_t *hash; /* by part: what it is, with all that is inside, without its name */
    uint32_t *match;     /* by part: the part of the other side, or PART_NONE */
    uint32_t *first_out; /* by part: its first link in `out`; one more at the end */
    uint32_t *out;       /* links by source */
    uint32_t *merged;    /* by part: the part in the merged parts */
};

struct merge {
    struct merge_side side[MERGE_SIDES];
    struct arena *scratch;
};

/* Allocates, and fills hash, first_out and out. */
int merge_prepare(struct merge *merge);
/* Fills match. */
int merge_match(struct merge *merge);

static inline bool merge_is_leaf(const struct merge_side *side, uint32_t part)
{
    return side->parts->at[part].first == PART_NONE;
}
/* Do two parts without parts inside make different tensors? */
bool merge_other_results(const struct merge *merge, uint32_t old, uint32_t new);
/* Appends the words of a matched pair to a part of `to`. *ret_changed: they differ. */
int merge_words(struct parts *to, uint32_t part, const struct merge *merge,
                uint32_t old, uint32_t new, bool *ret_changed);

#endif
