/* sequence.h - which items of two sequences belong together, in order: a common
 * subsequence, nearly the longest, in nearly linear time.
 *
 * Items are 64-bit signatures. Those that occur once on each side are anchors (the
 * longest increasing run of them); between anchors the same is tried again, and what
 * remains is compared exactly if that takes few edits. */
#ifndef STUDY_DIVERGE_SEQUENCE_H
#define STUDY_DIVERGE_SEQUENCE_H

#include <stdint.h>

#include "base/arena.h"

#define SEQUENCE_NONE UINT32_MAX

struct sequence_side {
    const uint64_t *signatures; /* 0: matches nothing */
    uint32_t *match;            /* by item: the item of the other side, or
                                   SEQUENCE_NONE */
    uint32_t n;
};

/* Matches more items. Matches that are set stay, and those of them that are in order on
 * both sides separate the others. -1: the arena is spent. */
int sequence_align(struct sequence_side *left, struct sequence_side *right,
                   struct arena *scratch);

#endif
