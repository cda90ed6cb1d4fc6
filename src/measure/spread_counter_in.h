/* spread_counter_in.h - counting for spreads.
 *
 *   spread_counter.c  counts blocks of floats or doubles
 *   spread_of.c       reads tensors, all elements or a sample */
#ifndef MEASURE_SPREAD_COUNTER_IN_H
#define MEASURE_SPREAD_COUNTER_IN_H

#include "measure/spread_in.h"

#define SPREAD_PART  BLOCK         /* doubles counted at a time */
#define SPREAD_CHUNK SPREAD_SAMPLE /* floats counted at a time; they stay in cache */

/* Several counters per key, so that equal neighbours do not stall. */
#define SPREAD_WAYS 8
typedef uint32_t spread_ways[SPREAD_WAYS];

/* Counts so far. Between tensors all counts are 0. */
struct spread_counter {
    const struct kernels *kernels;
    uint64_t seen, counted;
    double min, max;             /* if counted > 0 */
    struct spread_window window; /* of min and max */

    uint64_t linear[SPREAD_LINEAR];   /* a ring, see spread_widen() */
    uint64_t log[2][SPREAD_KEYS + 1]; /* by sign, then by magnitude of the key */
    int32_t log_first, log_last;      /* all others are 0, except for zeros: [..][0] */
    spread_ways joint[SPREAD_JOINT];  /* not yet in `linear` and `log` */
    uint64_t pending;                 /* elements in `joint`; stays below 2^32 */

    uint32_t least; /* the least magnitude in `joint` that is not 0, as bits */

    /* Scratch: elements as floats, as doubles (2 for one element at most), as they are
     * in memory. */
    float floats[SPREAD_CHUNK];
    double reals[2 * SPREAD_PART];
    uint16_t keys[BLOCK];
    uint8_t raw[16 * SPREAD_PART];
};

/* Count n doubles in reals[]; moves the finite ones to the front. */
void spread_count_reals(struct spread_counter *c, size_t n);
/* Count n <= SPREAD_CHUNK floats at any alignment. May overwrite floats[], reals[]. */
void spread_count_floats(struct spread_counter *c, const void *x, size_t n);

/* Reset all counts. */
void spread_count_drop(struct spread_counter *c);
/* Move the counts, each `times` times, to a spread of `of` elements. If that fails the
 * counts are dropped. */
int spread_count_finish(struct spread_counter *c, uint64_t times, uint64_t of,
                        struct spread *ret_spread, struct err *err);

#endif
