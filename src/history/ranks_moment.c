/* All points of one step of several histories. */
#include <string.h>

#include "history/ranks_in.h"

struct ranks_moment {
    struct history_ranks *ranks;
    struct arena *arena;
    struct history_moment *moments; /* of each rank */
    uint32_t *point_at;  /* by series: index of its point in `to`, or HISTORY_NONE */
    uint32_t *scalar_at; /* likewise by name */
    struct history_moment to;
    struct err *err;
};

static uint32_t *no_indices(uint32_t n, struct arena *arena)
{
    uint32_t *at = arena_array(arena, (size_t)n + 1, sizeof *at);

    if (at)
        memset(at, 0xff, (size_t)n * sizeof *at);
    return at;
}

static int begin(struct ranks_moment *self)
{
    struct arena *arena = self->arena;
    struct history_moment *to = &self->to;
    struct rank_lists lists;

    if (history_ranks_lists(self->ranks, arena, &lists, self->err) < 0)
        return -1;
    self->moments =
        arena_array(arena, (size_t)self->ranks->n + 1, sizeof *self->moments);
    self->point_at = no_indices(lists.n_series, arena);
    self->scalar_at = no_indices(lists.n_names, arena);
    to->points = arena_array(arena, (size_t)lists.n_series + 1, sizeof *to->points);
    to->scalars = arena_array(arena, (size_t)lists.n_names + 1, sizeof *to->scalars);
    if (!self->moments || !self->point_at || !self->scalar_at || !to->points ||
        !to->scalars)
        return arena_err(arena, "the history", self->err);
    return 0;
}

static int add_points(struct ranks_moment *self, uint32_t rank, struct buf *scratch)
{
    const struct history_moment *from = &self->moments[rank];
    struct rank_numbers numbers;

    if (rank_numbers_make(&numbers, &self->ranks->series, rank, self->arena,
                          self->err) < 0)
        return -1;
    for (uint32_t i = 0; i < from->n_points; i++) {
        uint32_t series = rank_number(&numbers, from->points[i].series), *at;

        if (series == HISTORY_NONE)
            continue; /* declared meanwhile */
        at = &self->point_at[series];
        if (*at == HISTORY_NONE) {
            *at = self->to.n_points;
            self->to.points[self->to.n_points] = from->points[i];
            self->to.points[self->to.n_points++].series = series;
        } else {
            history_point_merge(&self->to.points[*at], &from->points[i],
                                self->ranks->codec, scratch);
        }
    }
    return 0;
}

static int add_scalars(struct ranks_moment *self, uint32_t rank)
{
    const struct history_moment *from = &self->moments[rank];
    struct rank_numbers numbers;

    if (rank_numbers_make(&numbers, &self->ranks->names, rank, self->arena, self->err) <
        0)
        return -1;
    for (uint32_t i = 0; i < from->n_scalars; i++) {
        uint32_t name = rank_number(&numbers, from->scalars[i].name), *at;

        if (name == HISTORY_NONE)
            continue;
        at = &self->scalar_at[name];
        if (*at == HISTORY_NONE) {
            *at = self->to.n_scalars;
            self->to.scalars[self->to.n_scalars] = from->scalars[i];
            self->to.scalars[self->to.n_scalars++].name = name;
        } else {
            history_number_merge(&self->to.scalars[*at].number,
                                 &from->scalars[i].number);
            self->to.scalars[*at].last = from->scalars[i].last;
        }
    }
    return 0;
}

/* Skips ranks that have not logged the newest step. */
static int add_ranks(struct ranks_moment *self)
{
    struct buf scratch = BUF_INIT;
    int status = 0;

    for (uint32_t i = 0; status == 0 && i < self->ranks->n; i++) {
        const struct history_moment *from = &self->moments[i];

        if (from->step.merged == 0 || from->step.last < self->to.step.first)
            continue;
        if (from->step.first < self->to.step.first)
            self->to.step.first = from->step.first;
        status = add_points(self, i, &scratch);
        if (status == 0)
            status = add_scalars(self, i);
    }
    buf_release(&scratch);
    return status;
}

int history_ranks_moment(struct history_ranks *ranks, uint64_t number, uint8_t phase,
                         struct arena *arena, struct history_moment *ret_moment,
                         struct err *err)
{
    struct ranks_moment self = {.ranks = ranks, .arena = arena, .err = err};

    if (begin(&self) < 0)
        return -1;
    for (uint32_t i = 0; i < ranks->n; i++) {
        const struct history_step *step = &self.moments[i].step;

        if (history_read_moment(ranks->files[i], number, phase, arena, &self.moments[i],
                                err) < 0)
            return -1;
        if (step->merged > 0 &&
            (self.to.step.merged == 0 || step->first > self.to.step.first))
            self.to.step = *step;
    }
    if (add_ranks(&self) < 0)
        return -1;
    *ret_moment = self.to;
    return 0;
}
