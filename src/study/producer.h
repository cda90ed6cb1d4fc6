/* producer.h - who produced NaN and infinities in a run, rather than passed them on.
 *
 *   producer.c           modules in forward; activity.h has what they did
 *   producer_backward.c  modules in backward
 *   producer_op.c        the operation, if operations and their statistics were recorded
 *
 * -Inf is often no mistake: attention masks consist of it. A value that holds -Inf, but
 * no NaN or +Inf, is taken for a mask if it is an argument of the whole model, if a call
 * that reads it gives finite results, or if attention or a softmax reads it. */
#ifndef STUDY_PRODUCER_H
#define STUDY_PRODUCER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "run/run.h"

/* Are all elements finite, as far as they were measured? RUN_NONE is. */
bool producer_finite(const struct run *run, uint32_t value);

enum producer_masks {
    PRODUCER_MAKES_MASKS = 1, /* its results hold -Inf, which did no harm */
    PRODUCER_READS_MASKS = 2, /* its arguments do */
};

struct producers {
    bool *calls;    /* by call: it turned finite inputs and parameters (as far as known)
                        into non-finite results, and no call inside it did */
    uint32_t first; /* the one that ended first, or RUN_NONE */
    uint32_t spoilt; /* the earliest call with non-finite results, or RUN_NONE */
};
/* `masks` (may be NULL): by place, what is known of its -Inf from earlier runs. Linear
 * in calls and places. -1: the arena is spent. */
int producers_find(const struct run *run, const uint8_t *masks, struct arena *arena,
                   struct producers *ret_producers);

/* Where the first non-finite gradient came from. */
enum producer_backward_kind {
    PRODUCER_NOWHERE,  /* all gradients are finite, or none is known */
    PRODUCER_LOSS,     /* the gradient that reached the model was not finite */
    PRODUCER_CALL,     /* the backward of `call` */
    PRODUCER_OWN_CODE, /* the backward of code in `call`, between the calls inside it:
                          it reached the results of `inner` */
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

/* The first operation that turned finite values (or masks) into others that are not, and
 * of which something was left: an infinity that vanishes again (1 / Inf) does no harm.
 * Needs statistics of operations. Linear in them. */
struct producer_op {
    uint32_t op;     /* index in run->ops->ops, or RUN_NONE */
    bool masked;     /* ... and its inputs hold -Inf */
    bool bad;        /* something was left, perhaps of a value from outside */
    uint32_t reader; /* if nothing produced it: the first operation that read such a
                        value and passed it on; or RUN_NONE */
};
int producer_op(const struct run *run, struct arena *arena,
                struct producer_op *ret_found);

#endif
