/* judge.h - what is wrong with a training, said while it runs.
 *
 * A judge sees the recording of each logged step, and the loss of each step. It keeps a
 * few numbers per parameter and per place, whatever the number of steps, and gives
 * alarms for the history:
 *
 *   SEVERITY_ALARM    NaN and infinities: the module that produced the first one. What
 *                     followed is counted, not listed.
 *   SEVERITY_WARNING  a loss spike, gradients that explode or vanish, a dead layer:
 *                     compared with the last 50 steps
 *   SEVERITY_NOTE     a hint: nothing is wrong yet
 *
 * The tour:
 *   judge.c           a step: is it sick, and is that news?
 *   judge_forward.c   NaN and infinities in forward and in the loss
 *   judge_backward.c  ... in backward, in the optimizer, in an operation
 *   judge_trend.c     the loss, gradients and dead layers
 *   judge_hints.c     hints
 *   judge_words.c     the texts of alarms
 *   recent.h          running medians */
#ifndef JUDGE_JUDGE_H
#define JUDGE_JUDGE_H

#include "history/run_points.h"

struct judge;

struct judge *judge_new(void); /* NULL: out of memory */
void judge_free(struct judge *judge);

struct judge_step {
    const struct run *run; /* the recording of this step */
    const struct history_update *updates;
    uint32_t n_updates;
    uint64_t number;
    bool training; /* it had a backward */
    bool
        skipped; /* a gradient scaler skipped the optimizer: bad gradients are normal */
    bool has_loss;
    double loss;
    double lr;      /* NaN: unknown */
    bool relu_loss; /* the loss reads the result of a ReLU, and needs negative values */
};

/* The alarms of a logged step: of the first `n` elements that *ret_alarms points to.
 * They are valid until the next call with this judge. */
uint32_t judge_step(struct judge *judge, const struct judge_step *step,
                    const struct history_alarm **ret_alarms);

/* A step that was not logged: its loss. Likewise. */
uint32_t judge_loss(struct judge *judge, uint64_t number, double loss,
                    const struct history_alarm **ret_alarms);

/* In a step that was not logged, `what` ("the loss", "fc.weight.grad") is not finite;
 * `text` says so. Likewise: nothing if that was known. */
uint32_t judge_guard(struct judge *judge, uint64_t number, struct str what,
                     struct str text, const struct history_alarm **ret_alarms);

/* The operation that produced the first non-finite value, in a recording with
 * operations and their statistics. Likewise. */
uint32_t judge_operation(struct judge *judge, uint64_t number, const struct run *run,
                         const struct history_alarm **ret_alarms);

#endif
