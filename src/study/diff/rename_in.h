/* rename_in.h - what the files of rename share.
 *
 *   rename.c             what a rule does to a name
 *   rename_align.c       two names side by side: which components changed
 *   rename_candidates.c  rules that might explain what changed, with how much they
 * would rename_shift.c       the same for numbers that moved rename_find.c        takes
 * the best of them that contradict nothing, again and again rename_match.c       which
 * name is which, where only shapes are known */
#ifndef STUDY_DIFF_RENAME_IN_H
#define STUDY_DIFF_RENAME_IN_H

#include <stdbool.h>

#include "base/map.h"
#include "study/diff/rename.h"

#define RENAME_HOLES 8  /* at most so many in one rule */
#define RENAME_PARTS 48 /* names of more components are not looked into */

/* Append what a rule that is not a NAME makes of a name. False: it does not touch it,
 * and nothing was appended. */
bool rename_apply_rule(const struct rename_rule *rule, struct str name, struct buf *to);

/* The components of a name. */
struct rename_parts {
    struct str at[RENAME_PARTS];
    uint64_t hash[RENAME_PARTS];
    bool number[RENAME_PARTS]; /* digits and nothing else */
    uint32_t n;                /* 0: more of them than are looked into */
};
void rename_split(struct str name, struct rename_parts *ret_parts);

/* A number that a SHIFT may change: at most 18 digits, no needless zero in front. */
bool rename_number(struct str part, uint64_t *ret_number);

/* Names side by side. Outside of hunks all components are equal. */
struct rename_hunk {
    uint32_t a, a_end, b, b_end;
};
#define RENAME_ALONE UINT8_MAX
struct rename_aligned {
    struct rename_parts a, b;
    uint8_t in_b[RENAME_PARTS]; /* the partner of each of a's, or RENAME_ALONE */
    uint8_t in_a[RENAME_PARTS]; /* and of each of b's */
    struct rename_hunk hunks[2 * RENAME_PARTS];
    uint32_t n;
};

/* How far apart two names are: 0 only if they are equal. */
uint32_t rename_distance(struct str a, struct str b);
/* False: too many components. */
bool rename_align(struct str a, struct str b, struct rename_aligned *ret_aligned);
/* What the components [a, a_end) and [b, b_end) add to the distance. */
uint32_t rename_cost(const struct rename_aligned *aligned, struct rename_hunk at);

/* A pair on its way from one name to the other. */
struct rename_way {
    struct str from, now, to;
    uint64_t hash;     /* of `now` */
    uint32_t distance; /* of `now` and `to` */
};

/* A rule that would explain something. */
struct rename_candidate {
    struct rename_rule rule;
    uint64_t gain; /* by how much it would bring all names together nearer, about */
    uint32_t order;
};
struct rename_candidates {
    struct arena *arena; /* for the candidates, borrowed */
    struct map seen;     /* a hash of the rule: an index in `sights` */
    struct rename_sight *sights;
    uint32_t n_sights, sights_room;
    struct rename_candidate *at;
    uint32_t n, room;
    bool doubtful; /* what is added now explains nothing that others do not */
    bool stuck;    /* the round before found nothing */
    const struct rename_way *way; /* that is being looked at */
    struct buf from, to;
};

/* Add what might explain one pair in `step` pairs that are not done; rules are the best
 * first. */
int rename_collect(struct rename_candidates *all, const struct rename_way *ways,
                   uint32_t n, uint32_t step);
int rename_collect_shifts(struct rename_candidates *all, const struct rename_way *ways,
                          uint32_t n, uint32_t step);
int rename_add_candidate(struct rename_candidates *all, const struct rename_rule *rule,
                         uint64_t gain);
bool rename_chosen(uint32_t i, uint32_t step); /* is it among the one in `step`? */

#endif
