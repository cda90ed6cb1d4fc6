#include "run/run_times.h"

#include <stdlib.h>

#include "run/ops.h"

/* A moment that both runs have: a call began or ended. */
struct run_moment {
    uint64_t from, to;
};

static bool same_calls(const struct run *a, const struct run *b)
{
    const unsigned compared = RUN_RAISED | RUN_ABORTED | RUN_RECOMPUTED;

    if (a->n_calls != b->n_calls || a->n_merged != b->n_merged)
        return false;
    for (uint32_t i = 0; i < a->n_calls; i++) {
        const struct run_call *one = &a->calls[i], *other = &b->calls[i];

        if (one->object != other->object || one->place != other->place ||
            one->parent != other->parent || one->thread != other->thread ||
            (one->flags & compared) != (other->flags & compared))
            return false;
    }
    for (uint32_t i = 0; i < a->n_merged; i++)
        if (a->merged[i].object != b->merged[i].object ||
            a->merged[i].calls != b->merged[i].calls)
            return false;
    return true;
}

static int compare_moments(const void *a, const void *b)
{
    const struct run_moment *one = a, *other = b;

    if (one->from != other->from)
        return one->from < other->from ? -1 : 1;
    return one->to < other->to ? -1 : one->to > other->to;
}

static struct run_moment *moments_of(const struct run *run, const struct run *of)
{
    struct run_moment *moments =
        malloc((2 * (size_t)run->n_calls + 1) * sizeof *moments);
    uint32_t n = 0;

    if (!moments)
        return NULL;
    for (uint32_t i = 0; i < run->n_calls; i++) {
        moments[n++] =
            (struct run_moment){run->calls[i].start_ns, of->calls[i].start_ns};
        moments[n++] = (struct run_moment){run->calls[i].end_ns, of->calls[i].end_ns};
    }
    qsort(moments, n, sizeof *moments, compare_moments);
    return moments;
}

/* Map a time to the other run: interpolate between the same two moments. */
static uint64_t mapped(const struct run_moment *moments, uint32_t n, uint64_t ns)
{
    uint32_t low = 0, high = n;
    const struct run_moment *before, *after;

    if (n == 0 || ns <= moments[0].from)
        return n ? moments[0].to : ns;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (moments[middle].from <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    before = &moments[low - 1];
    if (low == n)
        return before->to + (ns - before->from);
    after = &moments[low];
    if (after->to <= before->to)
        return before->to;
    return before->to + (uint64_t)((double)(ns - before->from) /
                                   (double)(after->from - before->from) *
                                   (double)(after->to - before->to));
}

static void move_ops(const struct run_ops *ops, const struct run_moment *moments,
                     uint32_t n)
{
    for (uint32_t i = 0; i < ops->n_ops; i++) {
        ops->ops[i].start_ns = mapped(moments, n, ops->ops[i].start_ns);
        ops->ops[i].ns = 0;
    }
    for (uint32_t i = 0; i < ops->n_totals; i++)
        ops->totals[i].ns = 0;
}

static void take_call(struct run_call *to, const struct run_call *from)
{
    const uint16_t own = RUN_BACKWARD_GAP | RUN_DEVICE_BYTES;

    to->start_ns = from->start_ns;
    to->end_ns = from->end_ns;
    to->own_ns = from->own_ns;
    to->children_ns = from->children_ns;
    to->backward_ns = from->backward_ns;
    to->device_ns = from->device_ns;
    to->device_bytes = from->device_bytes;
    to->flags = (uint16_t)((to->flags & ~own) | (from->flags & own));
}

static void take_merged(struct run_merged *to, const struct run_merged *from)
{
    to->inclusive_ns = from->inclusive_ns;
    to->exclusive_ns = from->exclusive_ns;
    to->least_ns = from->least_ns;
    to->most_ns = from->most_ns;
    to->backward_ns = from->backward_ns;
    to->device_ns = from->device_ns;
}

/* Facts that are durations: the warm-up, all passes. */
static void take_facts(struct run *run, const struct run *of)
{
    for (uint32_t i = 0; i < run->n_facts; i++) {
        struct str key = run_string(run, run->facts[i].key);
        uint32_t id = VALUE_ID_NONE, made;

        if (!str_is(key, "warm_up_ns") && !str_is(key, RUN_FORWARD_FACT))
            continue;
        id = run_fact_id(of, key.at);
        if (value_at(&of->plain, id)->kind != VALUE_INT)
            continue;
        made = value_int(&run->plain, value_at(&of->plain, id)->integer);
        if (made != VALUE_ID_FAILED)
            run->facts[i].value = made;
    }
}

bool run_take_times(struct run *run, const struct run *of)
{
    struct run_moment *moments;

    if (!same_calls(run, of))
        return false;
    if (run->ops) {
        moments = moments_of(run, of);
        if (!moments)
            return false;
        move_ops(run->ops, moments, 2 * run->n_calls);
        free(moments);
    }
    for (uint32_t i = 0; i < run->n_calls; i++)
        take_call(&run->calls[i], &of->calls[i]);
    for (uint32_t i = 0; i < run->n_merged; i++)
        take_merged(&run->merged[i], &of->merged[i]);
    run->wall_ns = of->wall_ns;
    run->own_ns = of->own_ns;
    run->hooks_ns = of->hooks_ns;
    take_facts(run, of);
    return true;
}
