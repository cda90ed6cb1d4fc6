/* parting.h - finds where two training runs part: the first step with differing
 * statistics, and in it the first such tensor in the order of execution; and the first
 * scalar that differs.
 *
 *   parting.c        compares step by step
 *   parting_order.c  the order of execution within a step
 *
 * Series are matched by name, call, kind, path and phase, scalars by name. Steps are
 * matched by number. Merged steps are not compared, because their statistics include
 * other steps. Without a tolerance everything must be equal bit for bit, including
 * histograms. With one, tensors are compared by the distance of divergence.h, scalars
 * by their relative difference.
 *
 * The order within a step: parameters (measured before the optimizer changes them),
 * arguments and results of modules in the order of forward, gradients in the order of
 * backward, gradients of parameters from the last to the first, updates. */
#ifndef STUDY_DIVERGE_PARTING_H
#define STUDY_DIVERGE_PARTING_H

#include "base/work.h"
#include "history/reader.h"

struct parting {
    double tolerance;         /* 0: equal, bit for bit */
    uint64_t steps[2];        /* logged steps of each side */
    uint64_t merged[2];       /* of these: merged with others, not compared */
    uint64_t common;          /* steps that were compared */
    uint64_t first, last;     /* their numbers */
    uint64_t with_tensors;    /* of these: steps at which tensors were compared */
    uint32_t series, scalars; /* on both sides */
    uint32_t only_series[2], only_scalars[2];

    bool tensor_differs; /* then: */
    uint64_t tensor_step;
    struct history_series tensor; /* on the left */
    struct stats stats[2];
    double distance;   /* see divergence.h; NaN: unknown */
    uint32_t together; /* series that differ in this step */

    bool scalar_differs; /* then: */
    uint64_t scalar_step;
    uint8_t scalar_phase; /* enum history_phase */
    struct str scalar;
    double values[2];
};

/* Was anything compared, and is everything equal? */
bool parting_agrees(const struct parting *parting);

/* Allocates texts in the arena. Fails with ERR_CANCELLED if `work` is cancelled. */
int parting_make(struct parting *parting, struct history *left, struct history *right,
                 double tolerance, struct arena *arena, struct work *work,
                 struct err *err);

#endif
