/* merge_in.h - merges two networks: matches their parts and finds the differences.
 *
 *   merge_hash.c    hashes that are equal for equal parts of both sides
 *   merge_match.c   matches the parts of both sides
 *   merge_words.c   the differences of two parts in words: "64→128 (was 64→64)"
 *   merge.c         the merged parts, links and values
 *
 * Matching goes from the outside inwards: only parts inside matched parts can match. A
 * group never matches a leaf. The steps for each pair of groups, in this order; each
 * works on the parts that are still unmatched:
 *
 *   1. equal names and equal content; operations: name, arguments, result
 *   2. equal names and classes; operations: equal names
 *   3. modules with the same name that is no number: their class changed
 *   4. modules that differ only in name, equally many on both sides: renamed
 *   5. modules with the same number
 *   6. one operation between matched neighbours
 *
 * Steps 1 and 2 go by order first (study/diverge/sequence.h, nearly linear), then
 * modules also match out of order. The two sides are always compared in the same order,
 * whichever is the old one, so the diff from B to A is the mirror image of that from A
 * to B. */
#ifndef GRAPH_MERGE_IN_H
#define GRAPH_MERGE_IN_H

#include "graph/parts_in.h"

enum { MERGE_OLD, MERGE_NEW, MERGE_SIDES };

struct merge_side {
    const struct parts *parts;
    uint64_t *hash;  /* by part: hash of the part and its content, without its name */
    uint32_t *match; /* by part: the part of the other side, or PART_NONE */
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
/* Do two leaf parts produce different tensors? */
bool merge_other_results(const struct merge *merge, uint32_t old, uint32_t new);
/* Appends the words of a matched pair to a part of `to`. Sets *ret_changed if they
 * differ. */
int merge_words(struct parts *to, uint32_t part, const struct merge *merge,
                uint32_t old, uint32_t new, bool *ret_changed);

#endif
