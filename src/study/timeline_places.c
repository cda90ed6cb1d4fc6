/* Exclusive times by place: nothing is counted twice. */
#include "study/timeline.h"

#include <stdlib.h>

struct timeline_adding {
    const struct timeline *timeline;
    const struct run *run;
    struct timeline_place *at; /* by place */
    struct timeline_place outside[TIMELINE_PHASES];
    uint64_t *inside; /* by call: backward of the calls inside */
    bool *some;       /* by place */
};

static bool is_back(const struct timeline_box *box)
{
    return box->phase == TIMELINE_BACK || box->phase == TIMELINE_RECOMPUTE;
}

/* Does backward have operations whose times are known? */
static bool has_back_ops(const struct timeline *timeline)
{
    return timeline->sums[TIMELINE_BACK].ops.ns > 0;
}

/* A backward operation adds its time to its place; a forward operation adds only FLOPs,
 * because its call includes its time. */
static void add_op(struct timeline_adding *a, const struct timeline_box *box)
{
    const struct run_op *op = &a->run->ops->ops[box->index];
    bool known = box->place < a->run->model->n_places;
    struct timeline_place *to =
        known ? &a->at[box->place]
              : &a->outside[is_back(box) ? (uint8_t)TIMELINE_LOSS : box->phase];

    if (known)
        a->some[box->place] = true;
    if (is_back(box)) {
        to->backward += box->ns;
        to->has_backward = true;
    } else if (box->phase != TIMELINE_OPTIMIZER) {
        op_sum_op(&to->ops, a->run, op);
    }
}

/* Recomputed calls are part of backward: their operations count there. */
static void add_call(struct timeline_adding *a, const struct timeline_box *box)
{
    const struct run_call *call = &a->run->calls[box->index];
    struct timeline_place *to = &a->at[box->place];

    if (box->phase != TIMELINE_FORWARD)
        return;
    a->some[box->place] = true;
    to->forward += box->own;
    if (has_back_ops(a->timeline) || call->backward_ns == 0)
        return;
    to->has_backward = true;
    if (call->backward_ns > a->inside[box->index])
        to->backward += call->backward_ns - a->inside[box->index];
}

static void add_inside(struct timeline_adding *a)
{
    for (uint32_t i = 0; i < a->run->n_calls; i++)
        if (a->run->calls[i].parent < a->run->n_calls)
            a->inside[a->run->calls[i].parent] += a->run->calls[i].backward_ns;
}

static int by_sum(const void *a, const void *b)
{
    const struct timeline_place *x = a, *y = b;
    uint64_t one = x->forward + x->backward, other = y->forward + y->backward;

    if (one != other)
        return one > other ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->phase < y->phase ? -1 : x->phase > y->phase;
}

static void gather(struct timeline_adding *a, struct timeline_places *places)
{
    for (uint32_t p = 0; p < a->run->model->n_places; p++)
        if (a->some[p]) {
            places->at[places->n] = a->at[p];
            places->at[places->n++].place = p;
        }
    for (uint8_t phase = 0; phase < TIMELINE_PHASES; phase++) {
        struct timeline_place *outside = &a->outside[phase];
        const struct timeline_sum *sum = &a->timeline->sums[phase];

        if (phase != TIMELINE_LOSS && phase != TIMELINE_OUTSIDE &&
            phase != TIMELINE_OPTIMIZER)
            continue;
        outside->place = NO_PLACE;
        outside->phase = phase;
        if (phase == TIMELINE_OPTIMIZER) {
            outside->backward = sum->ns; /* it follows backward */
            outside->has_backward = true;
        } else {
            outside->forward = sum->ns;
        }
        if (sum->boxes > 0 || outside->backward > 0)
            places->at[places->n++] = *outside;
    }
    qsort(places->at, places->n, sizeof *places->at, by_sum);
}

int timeline_places_of(struct timeline_places *ret_places,
                       const struct timeline *timeline, const struct run *run,
                       struct arena *arena, struct err *err)
{
    struct timeline_adding a = {.timeline = timeline, .run = run};
    struct timeline_places places = {0};
    struct arena scratch;
    int status = -1;
    size_t n = (size_t)run->model->n_places + 1;

    arena_init(&scratch, 0);
    a.at = arena_array(&scratch, n, sizeof *a.at);
    a.some = arena_array(&scratch, n, sizeof *a.some);
    a.inside = arena_array(&scratch, (size_t)run->n_calls + 1, sizeof *a.inside);
    places.at = arena_array(arena, n + TIMELINE_PHASES, sizeof *places.at);
    if (!a.at || !a.some || !a.inside || !places.at) {
        arena_err(&scratch, "the times of modules", err);
        goto out;
    }
    add_inside(&a);
    for (uint32_t i = 0; i < timeline->n; i++)
        if (timeline->boxes[i].kind == TIMELINE_OP)
            add_op(&a, &timeline->boxes[i]);
        else if (timeline->boxes[i].kind == TIMELINE_CALL)
            add_call(&a, &timeline->boxes[i]);
    gather(&a, &places);
    *ret_places = places;
    status = 0;

out:
    arena_release(&scratch);
    return status;
}
