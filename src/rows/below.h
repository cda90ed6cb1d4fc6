/* below.h - totals of a place and everything below it: dtypes, devices, trainable
 * parameters, gradients. Views of large models build an index first, so that even the
 * root of a million places takes microseconds per frame. Without an index, every call
 * walks all places. */
#ifndef ROWS_BELOW_H
#define ROWS_BELOW_H

#include "rows/show.h"

#define BELOW_DTYPES  4  /* distinct dtypes counted; 3 are shown */
#define BELOW_DEVICES 64 /* the number of bits in `devices` */

struct below {
    uint8_t dtypes[BELOW_DTYPES]; /* in order of appearance */
    uint8_t n_dtypes;
    uint64_t devices;           /* a bit for each index in model->devices */
    uint64_t trainable, frozen; /* elements of parameters, where known */
    uint64_t tied;              /* trainable elements counted elsewhere */
    double gradient;            /* sum of squares of the newest gradients */
    uint32_t n_gradients;       /* number of parameters with a gradient */
};

/* Gradients are summed only if the show has an index. */
void below_sum(const struct show *show, uint32_t place, struct below *ret_below);

/* Build the index in the arena, which must outlive the show. Out of memory: no index is
 * built and queries are slower. */
void below_index(struct show *show, struct arena *arena);

/* --- Counts over siblings, cached if there is an index */

/* The number of children of a place. */
uint32_t below_members(const struct show *show, uint32_t place);
/* The last of `count` siblings from `place` on. */
uint32_t below_last(const struct show *show, uint32_t place, uint32_t count);

/* A cache for sums over rows that represent many places; `kind` selects the sum. */
enum below_kind {
    BELOW_MEMBERS,
    BELOW_LAST,
    BELOW_OWN_PARAMS,
    BELOW_OWN_BYTES,
    BELOW_RUN, /* first of one kind per enum run_amount */
    BELOW_KINDS = BELOW_RUN + 16
};
bool below_known(const struct show *show, unsigned kind, uint32_t place, uint32_t count,
                 uint64_t *ret_value);
void below_learn(const struct show *show, unsigned kind, uint32_t place, uint32_t count,
                 uint64_t value);

#endif
