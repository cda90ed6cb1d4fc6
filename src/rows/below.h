/* below.h - totals of everything at and below a place: dtypes, devices, trainable
 * parameters, gradients. Views of large models make an index first; then even the root of
 * a million places takes microseconds per frame. Without an index all places are walked.
 */
#ifndef ROWS_BELOW_H
#define ROWS_BELOW_H

#include "rows/show.h"

#define BELOW_DTYPES  4  /* distinct ones counted; 3 are shown */
#define BELOW_DEVICES 64 /* as many as there are bits to mark them */

struct below {
    uint8_t dtypes[BELOW_DTYPES]; /* in order of appearance */
    uint8_t n_dtypes;
    uint64_t devices;           /* a bit for each index in model->devices */
    uint64_t trainable, frozen; /* elements of parameters where it is known */
    uint64_t tied;              /* trainable ones counted elsewhere */
    double gradient;            /* the sum of the squares of the newest gradients */
    uint32_t n_gradients;       /* number of parameters with a gradient */
};

/* Gradients are summed only if the show has an index. */
void below_sum(const struct show *show, uint32_t place, struct below *ret_below);

/* Make the index in the arena, which must live as long as the show. Out of memory: there
 * is no index, and everything is slower. */
void below_index(struct show *show, struct arena *arena);

/* --- Counts over siblings, cached if there is an index */

/* The number of children of a place. */
uint32_t below_members(const struct show *show, uint32_t place);
/* The last of `count` siblings from `place` on. */
uint32_t below_last(const struct show *show, uint32_t place, uint32_t count);

/* A cache for sums of rows that stand for many places; `kind` says which sum. */
enum below_kind {
    BELOW_MEMBERS,
    BELOW_LAST,
    BELOW_OWN_PARAMS,
    BELOW_OWN_BYTES,
    BELOW_RUN, /* and the following: one for each enum run_amount */
    BELOW_KINDS = BELOW_RUN + 8
};
bool below_known(const struct show *show, unsigned kind, uint32_t place, uint32_t count,
                 uint64_t *ret_value);
void below_learn(const struct show *show, unsigned kind, uint32_t place, uint32_t count,
                 uint64_t value);

#endif
