/* grad_paths.h - how gradients split at forks. The gradient of a value that several
 * operations read is the sum of one part per reader; this computes the L2 norm of each
 * part.
 *
 *     y = f(x) + x     x has two readers, f and the +
 *
 * Norms are taken from measurements: the gradients of arguments and results of calls
 * (any recording with gradients) and the results of backward operations (ops="stats").
 * They are propagated only where that is exact: the + of equal shapes passes the
 * gradient of its result to both operands, views and copies keep the norm, and a value
 * with one reader has the gradient of that reader. All others are NAN.
 *
 * Not detected: a tensor hook that changes a gradient, and a backward that starts at an
 * intermediate value with a gradient given by the user. */
#ifndef STUDY_GRAD_PATHS_H
#define STUDY_GRAD_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "run/run.h"
#include "study/op_graph.h"

/* An operation that reads a value and may send a gradient back. */
struct grad_use {
    uint32_t value, op;
    double l2; /* of the part of the gradient through it; NAN: unknown */
};

/* A value and a call that reads or returns it, directly or in calls inside it. */
struct grad_call {
    uint32_t value, call;
    uint32_t n_uses, use; /* uses inside the call, and the last one */
    uint32_t n_in, n_out; /* number of its recorded gradients as an argument, as a
                             result */
    double in, out;       /* the norm, if there is exactly one gradient */
    bool returned;        /* it is a result of the call */
};

struct grad_paths {
    const struct run *run;
    bool any;              /* gradients were recorded */
    uint32_t n_values;     /* in run->ops->values; without operations: run->values */
    uint32_t *first;       /* by value: its first use; one more than values */
    struct grad_use *uses; /* by value, then by operation */
    double *total;         /* by value: the norm of its gradient; NAN: unknown */
    bool *hidden;          /* by value: it has readers that are not in `uses` */
    struct grad_call *calls;
    uint32_t n_calls, calls_room;
    struct map by_call; /* value << 32 | call -> index in calls */
};

/* Linear in operations, values and calls; no recursion. Allocates in the arena. */
int grad_paths_make(struct grad_paths *ret_paths, const struct run *run,
                    struct arena *arena, struct err *err);

/* A reader of a value: an operation, or a call with everything inside it. */
struct grad_reader {
    uint32_t op, call; /* one of them is RUN_NONE */
};

/* The norm of the part of the gradient of `value` (in run->ops->values; without
 * operations in run->values) that comes through `reader`. 0: none; NAN: unknown, or the
 * value has no gradient. */
double grad_paths_l2(const struct grad_paths *paths, uint32_t value,
                     struct grad_reader reader);

/* The share of each of `n` distinct readers in the sum of these norms, 0 to 1. Pass all
 * readers of the value: all shares are NAN if one is missing or unknown. A call that
 * only returns the value (Identity) has no share. */
void grad_paths_shares(const struct grad_paths *paths, uint32_t value,
                       const struct grad_reader *readers, uint32_t n,
                       double *ret_shares);

/* The gradient along an edge of a graph. */
struct grad_edge {
    double l2, share; /* as above; NAN: unknown */
};
/* Makes one for each edge of the graph, in the arena. The readers of a value are the
 * targets of its edges, except outputs of a pass. */
int grad_paths_edges(struct grad_edge **ret_edges, const struct grad_paths *paths,
                     const struct op_graph *graph, struct arena *arena,
                     struct err *err);

#endif
