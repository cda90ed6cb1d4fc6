/* sequence.h - matches the items of two sequences in order: a nearly longest common
 * subsequence in nearly linear time.
 *
 * Items are 64-bit signatures. Signatures that occur once on each side are anchors, of
 * which the longest increasing run is kept. Between anchors the same is repeated, and
 * the rest is compared exactly if that takes few edits. */
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

/* Matches more items. Existing matches are kept, and those that are in order on both
 * sides act as separators. -1: the arena is spent. */
int sequence_align(struct sequence_side *left, struct sequence_side *right,
                   struct arena *scratch);

#endif
