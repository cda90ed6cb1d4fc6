/* grad_paths_in.h - shared by grad_paths*.c:
 *   grad_paths.c           makes the result and queries it
 *   grad_paths_kinds.c     the effect of operations on the norm of a gradient
 *   grad_paths_uses.c      which operations may send a gradient back
 *   grad_paths_calls.c     norms from the arguments and results of calls
 *   grad_paths_backward.c  norms from backward operations
 *   grad_paths_edges.c     norms and shares for the edges of a graph */
#ifndef STUDY_GRAD_PATHS_IN_H
#define STUDY_GRAD_PATHS_IN_H

#include "study/grad_paths.h"

enum grad_kind {
    GRAD_OTHER,
    GRAD_DETACH, /* sends nothing back */
    GRAD_SEED,   /* ones_like: backward starts at its argument */
    GRAD_FIRST,  /* backward may run no operation for its first argument */
    GRAD_SILENT, /* ... for any argument */
    GRAD_ADD,    /* from here on: like GRAD_SILENT, but the effect on norms is known */
    GRAD_SUB,
    GRAD_MUL,
    GRAD_DIV,
    GRAD_SAME, /* its result has all elements of its argument, in some order */
    GRAD_EXPAND,
};

struct grad_walk {
    struct grad_paths *paths;
    const struct run *run;
    const struct run_ops *ops; /* not NULL */
    struct arena *arena;       /* of the result */
    struct arena scratch;      /* of the members below */
    uint8_t *kinds;            /* by kind: enum grad_kind */
    uint32_t *result;          /* by operation: its only result, or RUN_NONE */
    bool *again;  /* by value: several operations make it: equal views of one tensor,
                     whose gradients cannot be distinguished */
    bool *may;    /* by forward operation: it may send a gradient back */
    double *norm; /* by value: of its elements; NAN: not measured */
};

/* grad_paths_kinds.c */
int grad_find_kinds(struct grad_walk *walk);
/* The norm of the gradient's part for `value`, divided by the norm of the gradient of
 * the operation's only result; 0: unknown. */
double grad_scale(const struct grad_walk *walk, uint32_t op, uint32_t value);
/* The norm of the only result divided by that of the first argument; 0: unknown. */
double grad_norm_factor(const struct grad_walk *walk, uint32_t op);
bool grad_is_plain_sum(const struct grad_walk *walk, const struct run_op *op);
bool grad_same_shape(const struct run *run, uint32_t a, uint32_t b);
/* The exact norm of the measured values; NAN: unknown. */
double grad_norm(const struct run *run, uint32_t stats);

/* grad_paths_uses.c */
int grad_find_uses(struct grad_walk *walk);
/* Does it make the first gradient of a backward? Such an operation has no forward
 * operation. */
bool grad_is_seed(const struct grad_walk *walk, const struct run_op *op);
struct grad_use *grad_find_use(const struct grad_paths *paths, uint32_t value,
                               uint32_t op);
uint32_t grad_count_uses(const struct grad_paths *paths, uint32_t value);

/* grad_paths_calls.c; without operations too */
int grad_from_calls(struct grad_paths *paths, struct arena *scratch);
const struct grad_call *grad_find_call(const struct grad_paths *paths, uint32_t value,
                                       uint32_t call);

/* grad_paths_backward.c: fills in what is still unknown */
int grad_from_backward(struct grad_walk *walk);

#endif
