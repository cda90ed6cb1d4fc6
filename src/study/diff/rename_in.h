/* rename_in.h - shared by the files of rename.h.
 *
 *   rename.c             applies rules to a name
 *   rename_align.c       aligns two names: which components changed
 *   rename_candidates.c  collects rules that might explain changes
 *   rename_shift.c       the same for shifted numbers
 *   rename_find.c        repeatedly takes the best rules that contradict nothing
 *   rename_match.c       matches names of equal shapes
 *   rename_guess.c       matches names by order and shape */
#ifndef STUDY_DIFF_RENAME_IN_H
#define STUDY_DIFF_RENAME_IN_H

#include <stdbool.h>

#include "base/map.h"
#include "study/diff/rename.h"

#define RENAME_HOLES 8  /* most holes in a rule */
#define RENAME_PARTS 48 /* most components of a name; longer names are not split */

/* Append the result of a rule (not RENAME_NAME). False: the rule does not apply, and
 * nothing was appended. */
bool rename_apply_rule(const struct rename_rule *rule, struct str name, struct buf *to);

/* The components of a name. */
struct rename_parts {
    struct str at[RENAME_PARTS];
    uint64_t hash[RENAME_PARTS];
    bool number[RENAME_PARTS]; /* digits only */
    uint32_t n;                /* 0: more than RENAME_PARTS */
};
void rename_split(struct str name, struct rename_parts *ret_parts);

/* Parse a number that a SHIFT may change: at most 18 digits, no leading zero. */
bool rename_number(struct str part, uint64_t *ret_number);

/* Two aligned names. Components outside of hunks are equal. */
struct rename_hunk {
    uint32_t a, a_end, b, b_end;
};
#define RENAME_ALONE UINT8_MAX
struct rename_aligned {
    struct rename_parts a, b;
    uint8_t in_b[RENAME_PARTS]; /* by component of a: its partner, or RENAME_ALONE */
    uint8_t in_a[RENAME_PARTS]; /* by component of b */
    struct rename_hunk hunks[2 * RENAME_PARTS];
    uint32_t n;
};

/* The distance of two names: 0 only if they are equal. */
uint32_t rename_distance(struct str a, struct str b);
/* False: too many components. */
bool rename_align(struct str a, struct str b, struct rename_aligned *ret_aligned);
/* The distance of the components [a, a_end) and [b, b_end). */
uint32_t rename_cost(const struct rename_aligned *aligned, struct rename_hunk at);

/* A pair, with the rules found so far applied. */
struct rename_way {
    struct str from, now, to;
    uint64_t hash;     /* of `now` */
    uint32_t distance; /* of `now` and `to` */
};

struct rename_candidate {
    struct rename_rule rule;
    uint64_t gain; /* by how much it would reduce all distances, approximately */
    uint32_t order;
};
struct rename_candidates {
    struct arena *arena; /* for the candidates, borrowed */
    struct map seen;     /* hash of a rule to its index in `sights` */
    struct rename_sight *sights;
    uint32_t n_sights, sights_room;
    struct rename_candidate *at;
    uint32_t n, room;
    bool doubtful;                /* other rules explain the current change too */
    bool stuck;                   /* the previous round found nothing */
    const struct rename_way *way; /* current pair */
    struct buf from, to;
};

/* Add candidates from one in `step` pairs that are not equal yet. */
int rename_collect(struct rename_candidates *all, const struct rename_way *ways,
                   uint32_t n, uint32_t step);
int rename_collect_shifts(struct rename_candidates *all, const struct rename_way *ways,
                          uint32_t n, uint32_t step);
int rename_add_candidate(struct rename_candidates *all, const struct rename_rule *rule,
                         uint64_t gain);
bool rename_chosen(uint32_t i, uint32_t step); /* is pair i one of these? */

#endif
