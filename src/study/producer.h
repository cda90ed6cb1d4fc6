/* producer.h - finds what produced NaN and infinities in a run, as opposed to passing
 * them on.
 *
 *   producer.c           modules in forward
 *   producer_backward.c  modules in backward
 *   producer_op.c        the operation, if operations and their statistics were recorded
 *
 * -Inf is often intended: attention masks contain it. A value with -Inf, but without
 * NaN or +Inf, counts as a mask if it is an argument of the whole model, if a call that
 * reads it returns finite results, or if attention or a softmax reads it. */
#ifndef STUDY_PRODUCER_H
#define STUDY_PRODUCER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "run/run.h"

/* Are all measured elements finite? True for RUN_NONE. */
bool producer_finite(const struct run *run, uint32_t value);

enum producer_masks {
    PRODUCER_MAKES_MASKS = 1, /* its results hold harmless -Inf */
    PRODUCER_READS_MASKS = 2, /* its arguments do */
};

struct producers {
    bool *calls;    /* by call: it turned finite inputs and parameters (as far as known)
                        into non-finite results, and no call inside it did */
    uint32_t first; /* the one that ended first, or RUN_NONE */
    uint32_t spoilt; /* the earliest call with non-finite results, or RUN_NONE */
};
/* `masks` (may be NULL): by place, enum producer_masks from earlier runs. Linear in
 * calls and places. -1: the arena is spent. */
int producers_find(const struct run *run, const uint8_t *masks, struct arena *arena,
                   struct producers *ret_producers);

/* Where the first non-finite gradient came from. */
enum producer_backward_kind {
    PRODUCER_NOWHERE,  /* all known gradients are finite */
    PRODUCER_LOSS,     /* the gradient that reached the model was not finite */
    PRODUCER_CALL,     /* the backward of `call` */
    PRODUCER_OWN_CODE, /* the backward of the own code of `call`, between the calls
                          inside it: it reached the results of `inner` */
};
struct producer_backward {
    enum producer_backward_kind kind;
    uint32_t call, inner; /* RUN_NONE if they do not apply */
    uint32_t
        value; /* a gradient that is not finite: index in run->values, or RUN_NONE */
    uint32_t tensor; /* its parameter in model->tensors, or RUN_NONE */
};
int producer_backward(const struct run *run, struct arena *arena,
                      struct producer_backward *ret_found);

/* Finds the first operation that turned finite values (or masks) into non-finite ones
 * with lasting effect: an infinity that vanishes again (1 / Inf) does no harm. Needs
 * statistics of operations. Linear in operations. */
struct producer_op {
    uint32_t op; /* index in run->ops->ops, or RUN_NONE */
    bool masked; /* ... and its inputs hold -Inf */
    bool bad;    /* some non-finite value lasted, perhaps one from outside */
    uint32_t
        reader; /* if no operation produced it: the first one that read a non-finite
                        value from outside and passed it on; or RUN_NONE */
};
int producer_op(const struct run *run, struct arena *arena,
                struct producer_op *ret_found);

#endif
