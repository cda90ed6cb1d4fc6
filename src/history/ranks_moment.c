/* All points of one step of several histories. */
#include <string.h>

#include "base/map.h"
#include "history/ranks.h"

struct ranks_moment {
    struct arena *arena;
    struct history_moment *moments; /* of each rank */
    struct name_map series, names;  /* of all */
    uint32_t *at; /* by series of all: its point in `to`, or HISTORY_NONE */
    struct history_moment to;
    struct err *err;
};

/* The key that equal series of two ranks share. */
static struct str series_key(const struct history_series *series, struct arena *arena)
{
    return str_of(arena_printf(arena, "%u %u %u %zu %.*s %.*s", series->kind,
                               series->phase, series->call, series->name.len,
                               STR_ARG(series->name), STR_ARG(series->path)));
}

/* Numbers the series and names as history_ranks_series() does. */
static int number_all(struct ranks_moment *self, struct history_ranks *ranks)
{
    struct history_series *series;
    struct str *names;
    uint32_t n, at;

    name_map_init(&self->series, self->arena);
    name_map_init(&self->names, self->arena);
    if (history_ranks_series(ranks, self->arena, &series, &n, self->err) < 0)
        return -1;
    self->at = arena_array(self->arena, (size_t)n + 1, sizeof *self->at);
    self->to.points = arena_array(self->arena, (size_t)n + 1, sizeof *self->to.points);
    if (!self->at || !self->to.points)
        return arena_err(self->arena, "the history", self->err);
    memset(self->at, 0xff, n * sizeof *self->at);
    for (uint32_t i = 0; i < n; i++) {
        struct str key = series_key(&series[i], self->arena);

        if (!key.at || name_map_add(&self->series, key, &at) < 0)
            return arena_err(self->arena, "the history", self->err);
    }
    if (history_ranks_names(ranks, self->arena, &names, &n, self->err) < 0)
        return -1;
    self->to.scalars =
        arena_array(self->arena, (size_t)n + 1, sizeof *self->to.scalars);
    for (uint32_t i = 0; self->to.scalars && i < n; i++)
        if (name_map_add(&self->names, names[i], &at) < 0)
            self->to.scalars = NULL;
    return self->to.scalars ? 0 : arena_err(self->arena, "the history", self->err);
}

static int add_points(struct ranks_moment *self, struct history *file,
                      const struct history_moment *from, struct buf *scratch)
{
    struct history_series *series;
    uint32_t n, at;

    if (history_read_series(file, self->arena, &series, &n, self->err) < 0)
        return -1;
    for (uint32_t i = 0; i < from->n_points; i++) {
        const struct history_point *point = &from->points[i];
        struct str key;

        if (point->series >= n)
            continue;
        key = series_key(&series[point->series], self->arena);
        if (!key.at)
            return arena_err(self->arena, "the history", self->err);
        if (!name_map_find(&self->series, key, &at))
            continue; /* declared meanwhile */
        if (self->at[at] == HISTORY_NONE) {
            self->at[at] = self->to.n_points;
            self->to.points[self->to.n_points] = *point;
            self->to.points[self->to.n_points++].series = at;
        } else {
            history_point_merge(&self->to.points[self->at[at]], point, &history_spreads,
                                scratch);
        }
    }
    return 0;
}

static int add_scalars(struct ranks_moment *self, struct history *file,
                       const struct history_moment *from)
{
    struct str *names;
    uint32_t n, at, k;

    if (history_read_names(file, self->arena, &names, &n, self->err) < 0)
        return -1;
    for (uint32_t i = 0; i < from->n_scalars; i++) {
        const struct history_scalar *scalar = &from->scalars[i];

        if (scalar->name >= n || !name_map_find(&self->names, names[scalar->name], &at))
            continue;
        for (k = 0; k < self->to.n_scalars && self->to.scalars[k].name != at;)
            k++;
        if (k < self->to.n_scalars) {
            history_number_merge(&self->to.scalars[k].number, &scalar->number);
            self->to.scalars[k].last = scalar->last;
        } else {
            self->to.scalars[self->to.n_scalars] = *scalar;
            self->to.scalars[self->to.n_scalars++].name = at;
        }
    }
    return 0;
}

/* Skips ranks that have not logged the newest step. */
static int add_ranks(struct ranks_moment *self, struct history_ranks *ranks)
{
    struct buf scratch = BUF_INIT;
    int status = 0;

    for (uint32_t i = 0; status == 0 && i < history_ranks_count(ranks); i++) {
        const struct history_moment *from = &self->moments[i];

        if (from->step.merged == 0 || from->step.last < self->to.step.first)
            continue;
        if (from->step.first < self->to.step.first)
            self->to.step.first = from->step.first;
        status = add_points(self, history_ranks_at(ranks, i), from, &scratch);
        if (status == 0)
            status = add_scalars(self, history_ranks_at(ranks, i), from);
    }
    buf_release(&scratch);
    return status;
}

int history_ranks_moment(struct history_ranks *ranks, uint64_t number, uint8_t phase,
                         struct arena *arena, struct history_moment *ret_moment,
                         struct err *err)
{
    struct ranks_moment self = {.arena = arena, .err = err};
    uint32_t n = history_ranks_count(ranks);

    self.moments = arena_array(arena, (size_t)n + 1, sizeof *self.moments);
    if (!self.moments)
        return arena_err(arena, "the history", err);
    if (number_all(&self, ranks) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        const struct history_step *step = &self.moments[i].step;

        if (history_read_moment(history_ranks_at(ranks, i), number, phase, arena,
                                &self.moments[i], err) < 0)
            return -1;
        if (step->merged > 0 &&
            (self.to.step.merged == 0 || step->first > self.to.step.first))
            self.to.step = *step;
    }
    if (add_ranks(&self, ranks) < 0)
        return -1;
    *ret_moment = self.to;
    return 0;
}
