/* judge.h - detects problems of a training while it runs.
 *
 * A judge gets the recording of each logged step and the loss of every step. It keeps a
 * few numbers per parameter and place, independent of the number of steps, and returns
 * alarms for the history:
 *
 *   SEVERITY_ALARM    NaN and infinities: the module that produced the first one. Later
 *                     ones are counted, not listed.
 *   SEVERITY_WARNING  a loss spike, gradients that explode or vanish, a dead layer:
 *                     compared with the last 50 steps
 *   SEVERITY_NOTE     a hint: nothing is wrong yet
 *
 * The tour:
 *   judge.c           a step: is something not finite, and is that new?
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
    bool training; /* it had a backward pass */
    bool
        skipped; /* a gradient scaler skipped the optimizer: bad gradients are normal */
    bool has_loss;
    double loss;
    double lr;      /* NaN: unknown */
    bool relu_loss; /* the loss needs negative values, but gets the result of a ReLU */
};

/* Judges a logged step. Returns the number of alarms in *ret_alarms, which are valid
 * until the next call with this judge. */
uint32_t judge_step(struct judge *judge, const struct judge_step *step,
                    const struct history_alarm **ret_alarms);

/* The same for the loss of a step that was not logged. */
uint32_t judge_loss(struct judge *judge, uint64_t number, double loss,
                    const struct history_alarm **ret_alarms);

/* The same for a value `what` ("the loss", "fc.weight.grad") that was not finite in a
 * step that was not logged; `text` describes it. No alarm if that was already known. */
uint32_t judge_guard(struct judge *judge, uint64_t number, struct str what,
                     struct str text, const struct history_alarm **ret_alarms);

/* Finds the operation that produced the first non-finite value, in a recording with
 * operations and their statistics. Returns alarms like judge_step(). */
uint32_t judge_operation(struct judge *judge, uint64_t number, const struct run *run,
                         const struct history_alarm **ret_alarms);

#endif
