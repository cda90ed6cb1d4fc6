/* Lists of a run folder: steps, segments, alarms and notes of all ranks. */
#include <stdlib.h>
#include <string.h>

#include "history/ranks_in.h"

/* ---- steps ---- */

struct rank_steps {
    struct rank_step {
        struct history_step step;
        uint32_t rank;
    } * at;
    uint32_t n, room;
};

static int by_first(const void *a, const void *b)
{
    const struct rank_step *x = a, *y = b;

    if (x->step.first != y->step.first)
        return x->step.first < y->step.first ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int collect(struct history_ranks *ranks, const struct history_range *range,
                   struct arena *arena, struct rank_steps *to, struct err *err)
{
    for (uint32_t rank = 0; rank < ranks->n; rank++) {
        struct history_step *steps;
        uint32_t n;

        if (history_read_steps(ranks->files[rank], range, arena, &steps, &n, err) < 0)
            return -1;
        for (uint32_t i = 0; i < n; i++) {
            if (arena_room(arena, &to->at, to->n, &to->room, sizeof *to->at) < 0)
                return arena_err(arena, "the steps", err);
            to->at[to->n++] = (struct rank_step){steps[i], rank};
        }
    }
    if (to->n > 1)
        qsort(to->at, to->n, sizeof *to->at, by_first);
    return 0;
}

/* Is it the row of scalars that were logged after a step of the same rank? */
static bool is_again(const struct history_step *newest, const struct rank_step *from)
{
    return from->step.merged == 1 && from->step.first == newest->last;
}

int history_ranks_steps(struct history_ranks *ranks, const struct history_range *range,
                        struct arena *arena, struct history_step **ret_steps,
                        uint32_t *ret_n, struct err *err)
{
    struct rank_steps all = {0};
    struct history_step *steps;
    uint32_t n = 0, first = 0;

    if (history_ranks_find(ranks, err) < 0 ||
        collect(ranks, range, arena, &all, err) < 0)
        return -1;
    steps = arena_array(arena, (size_t)all.n + 1, sizeof *steps);
    if (!steps)
        return arena_err(arena, "the steps", err);
    for (uint32_t i = 0; i < all.n; i++) {
        const struct rank_step *from = &all.at[i];

        if (n > 0 && from->step.first <= steps[n - 1].last) {
            history_ranks_join(&steps[n - 1], &from->step,
                               first != from->rank || is_again(&steps[n - 1], from));
        } else {
            steps[n++] = from->step;
            first = from->rank;
        }
    }
    *ret_steps = steps;
    *ret_n = n;
    return 0;
}

int history_ranks_newest(struct history_ranks *ranks, struct history_step *ret_step,
                         struct err *err)
{
    struct history_step newest = {0}, step;

    if (history_ranks_find(ranks, err) < 0)
        return -1;
    for (uint32_t rank = 0; rank < ranks->n; rank++) {
        if (history_newest(ranks->files[rank], &step, err) < 0)
            return -1;
        if (step.merged && (!newest.merged || step.last > newest.last))
            newest = step;
    }
    *ret_step = newest;
    return 0;
}

/* ---- alarms and notes ---- */

static int by_alarm(const void *a, const void *b)
{
    const struct history_alarm *x = a, *y = b;

    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->wall_ns > y->wall_ns) - (x->wall_ns < y->wall_ns);
}

static int by_note(const void *a, const void *b)
{
    const struct history_note *x = a, *y = b;

    return (x->wall_ns > y->wall_ns) - (x->wall_ns < y->wall_ns);
}

static int collect_alarms(struct history_ranks *ranks, struct arena *arena,
                          struct rank_alarms *to, struct err *err)
{
    bool drift = false;

    for (uint32_t rank = 0; rank < ranks->n; rank++) {
        struct history_alarm *some;
        uint32_t n;

        if (history_read_alarms(ranks->files[rank], 0, UINT32_MAX, arena, &some, &n,
                                err) < 0)
            return -1;
        for (uint32_t i = 0; i < n; i++) {
            if (arena_room(arena, &to->at, to->n, &to->room, sizeof *some) < 0)
                return arena_err(arena, "the alarms", err);
            some[i].rank = (uint32_t)ranks->numbers[rank];
            drift = drift || str_is(some[i].kind, HISTORY_DRIFT);
            to->at[to->n++] = some[i];
        }
    }
    return drift ? 0 : history_ranks_drift(ranks, arena, to, err);
}

/* The part of a list from number `from` on. */
static uint32_t part_of(uint32_t n, uint32_t from, uint32_t most)
{
    uint32_t left = from < n ? n - from : 0;

    return left < most ? left : most;
}

int history_ranks_alarms(struct history_ranks *ranks, uint32_t from, uint32_t most,
                         struct arena *arena, struct history_alarm **ret_alarms,
                         uint32_t *ret_n, struct err *err)
{
    struct rank_alarms all = {0};

    if (history_ranks_find(ranks, err) < 0 ||
        collect_alarms(ranks, arena, &all, err) < 0)
        return -1;
    if (all.n > 1)
        qsort(all.at, all.n, sizeof *all.at, by_alarm);
    *ret_n = part_of(all.n, from, most);
    *ret_alarms = *ret_n > 0 ? all.at + from : NULL;
    return 0;
}

int history_ranks_notes(struct history_ranks *ranks, uint32_t from, uint32_t most,
                        struct arena *arena, struct history_note **ret_notes,
                        uint32_t *ret_n, struct err *err)
{
    struct history_note *all = NULL, *some;
    uint32_t n = 0, room = 0, n_some;

    if (history_ranks_find(ranks, err) < 0)
        return -1;
    for (uint32_t rank = 0; rank < ranks->n; rank++) {
        if (history_read_notes(ranks->files[rank], 0, UINT32_MAX, arena, &some, &n_some,
                               err) < 0)
            return -1;
        for (uint32_t i = 0; i < n_some; i++) {
            if (arena_room(arena, &all, n, &room, sizeof *all) < 0)
                return arena_err(arena, "the notes", err);
            all[n++] = some[i];
        }
    }
    if (n > 1)
        qsort(all, n, sizeof *all, by_note);
    *ret_n = part_of(n, from, most);
    *ret_notes = *ret_n > 0 ? all + from : NULL;
    return 0;
}
