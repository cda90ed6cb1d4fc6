#include "study/diverge/parting.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "history/walk.h"
#include "study/diverge/divergence_in.h"
#include "study/diverge/parting_in.h"

#define STEP_LIMIT GIB /* of the points of one step */

struct parting_side {
    struct history_walk walk;
    struct history_point **points; /* of one step, by series of the left; or NULL */
};

struct partings {
    struct parting *to;
    struct parting_side side[2];
    uint32_t *series_match, *name_match; /* by right one: the left one, or none */
    uint64_t *order;                     /* by left series */
    bool histograms; /* are compared: steps of several ranks have none */
    struct arena *arena;
    struct work *work;
    struct err *err;
};

bool parting_agrees(const struct parting *parting)
{
    return parting->common > 0 && !parting->tensor_differs && !parting->scalar_differs;
}

/* ---- what belongs together ---- */

static struct str key_of(struct buf *to, const struct history_series *series)
{
    buf_clear(to);
    buf_printf(to, "%u %u %" PRIu32 " %zu ", (unsigned)series->kind,
               (unsigned)series->phase, series->call, series->name.len);
    buf_str(to, series->name);
    buf_str(to, series->path);
    return buf_span(to);
}

static int arena_spent(struct partings *self)
{
    return arena_err(self->arena, "a comparison of two runs", self->err);
}

/* Indices of the left side by key; a damaged file may have duplicate keys. */
struct left_keys {
    struct name_map map;
    uint32_t *numbers;
};

static int left_keys_init(struct left_keys *keys, struct partings *self, uint32_t n)
{
    name_map_init(&keys->map, self->arena);
    keys->numbers = arena_array(self->arena, (size_t)n + 1, sizeof *keys->numbers);
    return keys->numbers ? 0 : arena_spent(self);
}

static int left_keys_add(struct left_keys *keys, struct partings *self, struct str key,
                         uint32_t number)
{
    struct str kept = arena_str(self->arena, key);
    uint32_t at;
    int added = kept.at ? name_map_add(&keys->map, kept, &at) : -1;

    if (added > 0)
        keys->numbers[at] = number;
    return added < 0 ? arena_spent(self) : 0;
}

static uint32_t left_keys_find(const struct left_keys *keys, struct str key)
{
    uint32_t at;

    return name_map_find(&keys->map, key, &at) ? keys->numbers[at] : HISTORY_NONE;
}

static int match_series(struct partings *self)
{
    const struct history_walk *left = &self->side[0].walk, *right = &self->side[1].walk;
    struct left_keys keys;
    struct buf key = BUF_INIT;
    int status = left_keys_init(&keys, self, left->n_series);

    for (uint32_t i = 0; status == 0 && i < left->n_series; i++)
        status = left_keys_add(&keys, self, key_of(&key, &left->series[i]), i);
    self->series_match =
        arena_array(self->arena, (size_t)right->n_series + 1, sizeof(uint32_t));
    if (status == 0 && !self->series_match)
        status = arena_spent(self);
    for (uint32_t i = 0; status == 0 && i < right->n_series; i++) {
        self->series_match[i] = left_keys_find(&keys, key_of(&key, &right->series[i]));
        self->to->series += self->series_match[i] != HISTORY_NONE;
    }
    buf_release(&key);
    self->to->only_series[0] = left->n_series - self->to->series;
    self->to->only_series[1] = right->n_series - self->to->series;
    return status;
}

static int match_names(struct partings *self)
{
    const struct history_walk *left = &self->side[0].walk, *right = &self->side[1].walk;
    struct left_keys keys;
    int status = left_keys_init(&keys, self, left->n_names);

    for (uint32_t i = 0; status == 0 && i < left->n_names; i++)
        status = left_keys_add(&keys, self, left->names[i], i);
    self->name_match =
        arena_array(self->arena, (size_t)right->n_names + 1, sizeof(uint32_t));
    if (status == 0 && !self->name_match)
        status = arena_spent(self);
    for (uint32_t i = 0; status == 0 && i < right->n_names; i++) {
        self->name_match[i] = left_keys_find(&keys, right->names[i]);
        self->to->scalars += self->name_match[i] != HISTORY_NONE;
    }
    self->to->only_scalars[0] = left->n_names - self->to->scalars;
    self->to->only_scalars[1] = right->n_names - self->to->scalars;
    return status;
}

/* ---- one step ---- */

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool same_point(const struct history_point *a, const struct history_point *b)
{
    const struct stats *left = &a->stats, *right = &b->stats;

    return left->count == right->count && left->nan == right->nan &&
           left->pos_inf == right->pos_inf && left->neg_inf == right->neg_inf &&
           left->zeros == right->zeros && same_bits(left->min, right->min) &&
           same_bits(left->max, right->max) && same_bits(left->mean, right->mean) &&
           same_bits(left->m2, right->m2) && str_eq(a->histogram, b->histogram);
}

static bool points_differ(const struct parting *to, const struct history_point *a,
                          const struct history_point *b)
{
    struct divergence_amount by;

    if (same_point(a, b))
        return false;
    if (to->tolerance <= 0 || a->stats.count != b->stats.count)
        return true;
    by = diverging_statistics(&a->stats, &b->stats);
    return by.distance > diverging_limit(to->tolerance, 0, DIVERGENCE_STATISTICS);
}

/* The points of one step, by series of the left. */
static int read_side(struct partings *self, int side, struct arena *arena)
{
    struct parting_side *of = &self->side[side];
    uint32_t n_left = self->side[0].walk.n_series, n;
    struct history_point *points;

    of->points = arena_array(arena, (size_t)n_left + 1, sizeof *of->points);
    if (!of->points)
        return arena_err(arena, "a step", self->err);
    memset(of->points, 0, ((size_t)n_left + 1) * sizeof *of->points);
    if (history_walk_points(&of->walk, self->histograms, arena, &points, &n,
                            self->err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = points[i].series;

        at = side == 0 ? at : self->series_match[at];
        if (at != HISTORY_NONE)
            of->points[at] = &points[i];
    }
    return 0;
}

static void note_tensor(struct partings *self, uint32_t series)
{
    struct parting *to = self->to;

    to->tensor_differs = true;
    to->tensor_step = self->side[0].walk.number;
    to->tensor = self->side[0].walk.series[series];
    for (int side = 0; side < 2; side++)
        to->stats[side] = self->side[side].points[series]->stats;
    to->distance = diverging_statistics(&to->stats[0], &to->stats[1]).distance;
}

static int compare_points(struct partings *self)
{
    uint32_t first = HISTORY_NONE, differ = 0, compared = 0;
    struct arena arena;
    int status;

    arena_init(&arena, STEP_LIMIT);
    status = read_side(self, 0, &arena);
    if (status == 0)
        status = read_side(self, 1, &arena);
    for (uint32_t i = 0; status == 0 && i < self->side[0].walk.n_series; i++) {
        const struct history_point *a = self->side[0].points[i];
        const struct history_point *b = self->side[1].points[i];

        compared += a && b;
        if (!a || !b || !points_differ(self->to, a, b))
            continue;
        differ++;
        if (first == HISTORY_NONE || self->order[i] < self->order[first])
            first = i;
    }
    self->to->with_tensors += compared > 0;
    if (first != HISTORY_NONE) {
        self->to->together = differ;
        note_tensor(self, first);
    }
    arena_release(&arena);
    return status;
}

static bool values_differ(const struct parting *to, double a, double b)
{
    if (same_bits(a, b) || (isnan(a) && isnan(b)))
        return false;
    return !(to->tolerance > 0 && isfinite(a) && isfinite(b) &&
             fabs(a - b) <= to->tolerance * fmax(fabs(a), fabs(b)));
}

/* The scalars of one step by name of the left, in `values` and `known`. */
static int read_values(struct partings *self, int side, struct arena *arena,
                       double *values, bool *known)
{
    struct history_scalar *scalars;
    uint32_t n;

    if (history_walk_scalars(&self->side[side].walk, arena, &scalars, &n, self->err) <
        0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = scalars[i].name;

        at = side == 0 ? at : self->name_match[at];
        if (at == HISTORY_NONE)
            continue;
        values[at] = scalars[i].last;
        known[at] = true;
    }
    return 0;
}

static int compare_scalars(struct partings *self, uint8_t phase)
{
    const struct history_walk *left = &self->side[0].walk;
    uint32_t n = left->n_names;
    double *values[2];
    bool *known[2];
    struct arena arena;
    int status = 0;

    arena_init(&arena, STEP_LIMIT);
    for (int side = 0; side < 2 && status == 0; side++) {
        values[side] = arena_array(&arena, (size_t)n + 1, sizeof **values);
        known[side] = arena_array(&arena, (size_t)n + 1, sizeof **known);
        if (!values[side] || !known[side]) {
            status = arena_err(&arena, "a step", self->err);
        } else {
            memset(known[side], 0, (size_t)n * sizeof **known);
            status = read_values(self, side, &arena, values[side], known[side]);
        }
    }
    for (uint32_t i = 0; status == 0 && i < n && !self->to->scalar_differs; i++)
        if (known[0][i] && known[1][i] &&
            values_differ(self->to, values[0][i], values[1][i])) {
            self->to->scalar_differs = true;
            self->to->scalar_step = left->number;
            self->to->scalar_phase = phase;
            self->to->scalar = left->names[i];
            self->to->values[0] = values[0][i];
            self->to->values[1] = values[1][i];
        }
    arena_release(&arena);
    return status;
}

/* ---- all steps ---- */

static int compare_step(struct partings *self, uint8_t phase)
{
    uint64_t number = self->side[0].walk.number;
    struct parting *to = self->to;

    if (to->common == 0 || number < to->first)
        to->first = number;
    if (to->common == 0 || number > to->last)
        to->last = number;
    to->common++;
    /* An earlier phase may have found a later step. */
    if (!to->tensor_differs || number < to->tensor_step)
        if (compare_points(self) < 0)
            return -1;
    if (!to->scalar_differs)
        return compare_scalars(self, phase);
    return 0;
}

static int begin_phase(struct partings *self, uint8_t phase)
{
    for (int side = 0; side < 2; side++) {
        struct history_walk *walk = &self->side[side].walk;

        if (history_walk_begin(walk, phase, self->err) < 0)
            return -1;
        self->to->steps[side] += walk->steps;
        self->to->merged[side] += walk->merged;
    }
    return 0;
}

static int compare_phase(struct partings *self, uint8_t phase)
{
    struct history_walk *left = &self->side[0].walk, *right = &self->side[1].walk;

    if (begin_phase(self, phase) < 0)
        return -1;
    while (!left->done && !right->done) {
        uint64_t a = left->number, b = right->number;

        if (!work_step(self->work, 1))
            return err_set(self->err, ERR_CANCELLED, "cancelled");
        if (a == b && compare_step(self, phase) < 0)
            return -1;
        if (a <= b)
            history_walk_next(left);
        if (b <= a)
            history_walk_next(right);
    }
    return 0;
}

static int compare_all(struct partings *self)
{
    const struct history_walk *left = &self->side[0].walk;

    self->order = parting_order(left->series, left->n_series, self->arena);
    if (!self->order)
        return arena_spent(self);
    if (match_series(self) < 0 || match_names(self) < 0)
        return -1;
    for (uint8_t phase = 0; phase < HISTORY_PHASES; phase++)
        if (compare_phase(self, phase) < 0)
            return -1;
    return 0;
}

int parting_make(struct parting *parting, struct history *left, struct history *right,
                 double tolerance, struct arena *arena, struct work *work,
                 struct err *err)
{
    struct partings self = {.to = parting,
                            .histograms = tolerance <= 0 && !history_ranks_of(left) &&
                                          !history_ranks_of(right),
                            .arena = arena,
                            .work = work,
                            .err = err};
    int status;

    *parting = (struct parting){.tolerance = tolerance};
    status = history_walk_open(&self.side[0].walk, left, arena, err);
    if (status == 0) {
        status = history_walk_open(&self.side[1].walk, right, arena, err);
        if (status == 0)
            status = compare_all(&self);
        history_walk_close(&self.side[1].walk);
    }
    history_walk_close(&self.side[0].walk);
    return status;
}
