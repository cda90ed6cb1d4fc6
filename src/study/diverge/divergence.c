#include "study/diverge/divergence.h"

#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "study/diverge/divergence_in.h"

#define SCRATCH_LIMIT (4 * GIB)

/* By value of an operation: the first equal value of a module. */
static int link_values(struct diverging *d)
{
    for (int side = 0; side < 2; side++) {
        const struct run *run = d->run[side];
        uint32_t n = run->ops ? run->ops->n_values : 0;
        uint32_t *to = diverging_none(d->arena, n);

        d->divergence->module_value[side] = to;
        if (!to)
            return -1;
        for (uint32_t i = run->n_values; i-- > 0;)
            if (run->values[i].op_value < n)
                to[run->values[i].op_value] = i;
    }
    return 0;
}

/* The tolerance follows the coarsest dtype so far: a float32 result computed from a
 * bfloat16 value is no more exact than the bfloat16. */
static void coarsen(double *tolerance, const struct divergence *divergence,
                    const struct divergence_result *result)
{
    for (int side = 0; side < 2; side++) {
        double own = divergence_tolerance(
            divergence_dtype(divergence->run[side], result->value[side]));

        if (own > *tolerance)
            *tolerance = own;
    }
}

static int compare_results(struct diverging *d)
{
    struct divergence *divergence = d->divergence;
    double coarse = 0;

    divergence->first = RUN_NONE;
    divergence->closest = NAN;
    for (uint32_t i = 0; i < divergence->n_results; i++) {
        struct divergence_result *result = &divergence->results[i];

        if (d->work && !work_step(d->work, 0))
            return -1;
        coarsen(&coarse, divergence, result);
        result->inputs = result->parameters = NAN;
        result->by =
            diverging_compare(d, divergence, result->value[0], result->value[1]);
        result->tolerance = diverging_limit(divergence->tolerance, coarse,
                                            (enum divergence_how)result->by.how);
        result->beyond = result->by.distance > result->tolerance;
        divergence->elements += result->by.how == DIVERGENCE_ELEMENTS;
        divergence->unmeasured += result->by.how == DIVERGENCE_NOT;
        if (result->beyond && divergence->beyond++ == 0)
            divergence->first = i;
        if (!result->beyond && !isnan(result->by.distance) &&
            !(result->by.distance <= divergence->closest))
            divergence->closest = result->by.distance;
    }
    return 0;
}

/* ---- the largest ---- */

struct far {
    double distance;
    uint32_t result;
};

static int by_distance(const void *a, const void *b)
{
    const struct far *x = a, *y = b;

    if (x->distance != y->distance)
        return x->distance > y->distance ? -1 : 1;
    return x->result < y->result ? -1 : 1;
}

static int find_later(struct diverging *d)
{
    struct divergence *divergence = d->divergence;
    struct far *far =
        arena_array(&d->scratch, (size_t)divergence->beyond + 1, sizeof *far);
    uint32_t n = 0;

    divergence->later = diverging_none(d->arena, divergence->beyond);
    if (!far || !divergence->later)
        return -1;
    for (uint32_t i = 0; i < divergence->n_results; i++) {
        const struct divergence_result *result = &divergence->results[i];

        if (result->beyond && i != divergence->first)
            far[n++] = (struct far){result->by.distance, i};
    }
    qsort(far, n, sizeof *far, by_distance);
    for (uint32_t i = 0; i < n; i++)
        divergence->later[i] = far[i].result;
    divergence->n_later = n;
    return 0;
}

/* ---- the whole ---- */

static int compare_all(struct diverging *d)
{
    if (link_values(d) < 0 || diverging_calls(d) < 0 || diverging_ops(d) < 0 ||
        diverging_list(d) < 0 || compare_results(d) < 0 || diverging_begins(d) < 0 ||
        diverging_sums(d) < 0)
        return -1;
    return find_later(d);
}

int divergence_make(struct divergence *divergence, const struct run *left,
                    const struct run *right, const struct diff *diff,
                    const struct divergence_wanted *wanted, struct arena *arena,
                    struct work *work, struct err *err)
{
    struct diverging d = {.divergence = divergence,
                          .run = {left, right},
                          .diff = diff,
                          .arena = arena,
                          .work = work};
    int status;

    *divergence = (struct divergence){
        .run = {left, right}, .tolerance = wanted->tolerance, .first = RUN_NONE};
    arena_init(&d.scratch, SCRATCH_LIMIT);
    map_init(&d.known, &d.scratch);
    status = compare_all(&d);
    arena_release(&d.scratch);
    if (status == 0)
        return 0;
    if (work_cancelled(work))
        return err_set(err, ERR_CANCELLED, "stopped");
    return err_set(err, ERR_LIMIT, "no memory left to compare the recordings");
}

uint32_t divergence_pairs(const struct divergence_matched *matched)
{
    return matched->by_name + matched->by_rule + matched->by_order;
}

bool divergence_agrees(const struct divergence *divergence)
{
    return divergence->first == RUN_NONE && !isnan(divergence->closest);
}

static bool is_alone(const struct divergence *divergence, bool ops, bool right,
                     uint32_t at)
{
    const struct run *run = divergence->run[right];

    if (ops)
        return divergence->op_match[right][at] == RUN_NONE &&
               run->ops->ops[at].phase != OP_RECOMPUTE;
    return divergence->call_match[right][at] == RUN_NONE &&
           !(run->calls[at].flags & RUN_RECOMPUTED);
}

uint32_t divergence_next_alone(const struct divergence *divergence, bool ops,
                               bool right, uint32_t from)
{
    const struct run *run = divergence->run[right];
    uint32_t n = ops ? run->ops->n_ops : run->n_calls;

    if (ops && !divergence->op_match[right])
        return RUN_NONE;
    while (from < n && !is_alone(divergence, ops, right, from))
        from++;
    return from < n ? from : RUN_NONE;
}
