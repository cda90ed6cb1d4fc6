/* below.h - what stands at and below a place, put together: element types, devices,
 * what is trained, gradients. Whoever shows one row after the other of a large model
 * has an index made first: then the root of a million places is asked in microseconds,
 * on every frame. Without it the places are walked through. */
#ifndef ROWS_BELOW_H
#define ROWS_BELOW_H

#include "rows/show.h"

#define BELOW_DTYPES  4  /* so many different ones are told apart; 3 are shown */
#define BELOW_DEVICES 64 /* as many as there are bits to mark them */

struct below {
    uint8_t dtypes[BELOW_DTYPES]; /* in the order in which they are met */
    uint8_t n_dtypes;
    uint64_t devices;           /* a bit for each index in model->devices */
    uint64_t trainable, frozen; /* elements of parameters of which that is known */
    uint64_t tied;              /* trainable ones that are counted elsewhere */
    double gradient;            /* the sum of the squares of the newest gradients */
    uint32_t n_gradients;       /* of so many parameters */
};

/* Gradients are known to a show with an index only. */
void below_sum(const struct show *show, uint32_t place, struct below *ret_below);

/* Make the index. It lives in the arena, as the show does; without memory nothing is
 * made, and all goes on slowly. */
void below_index(struct show *show, struct arena *arena);

/* --- Counts along a list of siblings, remembered where there is an index */

/* How many places stand right below a place. */
uint32_t below_members(const struct show *show, uint32_t place);
/* The last of `count` siblings from `place` on. */
uint32_t below_last(const struct show *show, uint32_t place, uint32_t count);

/* What only rows that stand for many ask for: an answer that was given before. `kind`
 * tells the askers apart. */
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
