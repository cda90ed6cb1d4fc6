/* The series of one module with their histograms over steps: the document `series`. */
#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "export/json/json_history_in.h"

#define MOST_SERIES 200u
#define MOST_STEPS  8000u /* steps read of a series */

struct series_writing {
    struct history_writing writing;
    const struct export_series_wanted *wanted;
    struct history_memo *memo;
    struct history_grid all, grid; /* all columns; the ones written */
    struct history_step at;        /* the row of the requested step; merged 0: none */
    struct listed_series {
        uint32_t number, place;
        uint8_t order; /* in its place: a value before its gradient */
        uint32_t call;
    } * list;
    uint32_t n, left_out;
};

/* ---- which series ---- */

static uint8_t order_of(uint8_t kind)
{
    static const uint8_t orders[HISTORY_KINDS] = {
        [HISTORY_INPUT] = 0,           [HISTORY_GRAD_INPUT] = 1,
        [HISTORY_OUTPUT] = 3,          [HISTORY_GRAD_OUTPUT] = 4,
        [HISTORY_PARAM] = 6,           [HISTORY_GRAD_PARAM] = 7,
        [HISTORY_UPDATE] = 8,          [HISTORY_GRAD_INPUT_NORM] = 2,
        [HISTORY_GRAD_OUTPUT_NORM] = 5};

    return orders[kind];
}

static bool is_wanted(const struct series_writing *self, uint32_t place, uint8_t phase)
{
    const struct model *model = self->writing.model;
    uint32_t of = self->wanted->place;

    if (phase != self->writing.phase || place < of || place >= model->end[of])
        return false;
    return self->wanted->below || place == of ||
           (model->kind[place] == PLACE_TENSOR && model->parent[place] == of);
}

static int by_place(const void *a, const void *b)
{
    const struct listed_series *x = a, *y = b;

    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    if (x->call != y->call)
        return x->call < y->call ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static int list_series(struct series_writing *self)
{
    struct history_writing *writing = &self->writing;

    if (history_read_series(writing->history, writing->arena, &writing->series,
                            &writing->n_series, writing->err) < 0)
        return -1;
    self->list =
        arena_array(writing->arena, (size_t)writing->n_series + 1, sizeof *self->list);
    if (!self->list)
        return arena_err(writing->arena, "the series", writing->err);
    for (uint32_t i = 0; i < writing->n_series; i++) {
        const struct history_series *series = &writing->series[i];
        uint32_t place = at_step_place(writing->history, writing->model, series);

        if (place != NO_PLACE && is_wanted(self, place, series->phase))
            self->list[self->n++] =
                (struct listed_series){i, place, order_of(series->kind), series->call};
    }
    if (self->n > 1)
        qsort(self->list, self->n, sizeof *self->list, by_place);
    self->left_out = self->n > MOST_SERIES ? self->n - MOST_SERIES : 0;
    self->n -= self->left_out;
    return 0;
}

/* ---- the numbers of one step ---- */

/* The row that represents a step number: as in the document `step`. */
static int find_row(struct series_writing *self)
{
    const struct history_range range = {.phase = self->writing.phase};
    struct history_step *steps;
    uint32_t n;

    if (!self->wanted->has_at)
        return 0;
    if (history_read_steps(self->writing.history, &range, self->writing.arena, &steps,
                           &n, self->writing.err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        if (steps[i].points > 0 && steps[i].first <= self->wanted->at &&
            (self->at.merged == 0 || steps[i].first >= self->at.first))
            self->at = steps[i];
    return 0;
}

static void put_bins(struct json *json, const struct spread *spread)
{
    double low, high = 0;

    json_object(json, "histogram");
    json_u64(json, "of", spread->of);
    json_u64(json, "counted", spread->counted);
    json_array(json, "edges");
    for (uint32_t b = 0; b < spread->n_linear; b++) {
        spread_linear_range(spread, b, &low, &high);
        json_real(json, NULL, low);
    }
    if (spread->n_linear > 0)
        json_real(json, NULL, high);
    json_array_end(json);
    json_array(json, "counts");
    for (uint32_t b = 0; b < spread->n_linear; b++)
        json_u64(json, NULL, spread->linear[b]);
    json_array_end(json);
    json_object_end(json);
}

static void put_number(struct json *json, const char *key, bool known, double value)
{
    if (known)
        json_real(json, key, value);
}

static void put_point(struct json *json, const struct history_sample *sample)
{
    const struct history_point *point = &sample->point;
    const struct history_number *dead = &point->extra[EXTRA_DEAD];
    const struct history_number *saturated = &point->extra[EXTRA_SATURATED];
    struct spread spread = {0};
    double ratio;
    bool has_ratio = history_point_ratio(point, &ratio);

    json_object(json, "own");
    json_u64(json, "first", sample->step.first);
    json_u64(json, "last", sample->step.last);
    json_u64(json, "merged", point->merged);
    export_stats_members(json, &point->stats, DTYPE_FLOAT64, NULL, 0);
    json_real(json, "norm", history_point_norm(point));
    put_number(json, "ratio", has_ratio, ratio);
    put_number(json, "dead_units", dead->n > 0, history_number_mean(dead));
    put_number(json, "saturated_units", saturated->n > 0,
               history_number_mean(saturated));
    if (point->units > 0)
        json_u64(json, "units", point->units);
    if (point->histogram.len > 0 &&
        spread_unpack(bytes_of(point->histogram.at, point->histogram.len), &spread,
                      NULL) == 0)
        put_bins(json, &spread);
    spread_release(&spread);
    json_object_end(json);
}

static int put_own(struct series_writing *self, uint32_t series)
{
    struct history_wanted wanted = {
        .series = series,
        .range = {.from = self->at.first,
                  .to = self->at.last > 0 ? self->at.last : 1, /* 0: all */
                  .phase = self->writing.phase},
        .histograms = true};
    struct history_sample *samples;
    struct arena arena;
    uint32_t n;
    int status;

    if (self->at.merged == 0)
        return 0;
    arena_init(&arena, SERIES_LIMIT);
    status = history_read_points(self->writing.history, &wanted, &arena, &samples, &n,
                                 self->writing.err);
    for (uint32_t i = 0; status == 0 && i < n; i++)
        if (samples[i].step.first == self->at.first) {
            put_point(self->writing.json, &samples[i]);
            break;
        }
    arena_release(&arena);
    return status;
}

/* ---- a series ---- */

static int put_series(struct series_writing *self, const struct listed_series *listed)
{
    struct history_shading how = self->wanted->shading;
    struct history_writing *writing = &self->writing;
    uint32_t n = self->all.columns, from = n - self->grid.columns;
    const struct history_point *const *points;
    struct arena arena;
    int status;

    how.rows = self->wanted->rows;
    how.steady = true;
    if (history_memo_points(self->memo, &self->all, listed->number, &points,
                            writing->err) < 0)
        return -1;
    json_object(writing->json, NULL);
    history_writing_series_name(writing, &writing->series[listed->number]);
    history_writing_numbers(writing->json, points, from, n);
    arena_init(&arena, SERIES_LIMIT);
    status = how.rows > 0
                 ? history_writing_shades(writing, points, from, n, &how, &arena)
                 : 0;
    arena_release(&arena);
    if (status == 0)
        status = put_own(self, listed->number);
    json_object_end(writing->json);
    return status;
}

/* ---- the document ---- */

static int make_grids(struct series_writing *self)
{
    struct history_writing *writing = &self->writing;
    struct history_steady steady = {.phase = self->wanted->eval ? HISTORY_EVAL
                                                                : HISTORY_TRAIN,
                                    .from = self->wanted->from,
                                    .to = self->wanted->to,
                                    .most = self->wanted->columns,
                                    .points = true};
    uint64_t rows;

    writing->phase = (uint8_t)steady.phase;
    if (history_grid_steady(&self->all, writing->history, &steady, writing->arena,
                            writing->err) < 0)
        return -1;
    rows = self->all.width * self->all.columns;
    if (self->all.columns > 0 && rows > MOST_STEPS)
        self->all.each = MOST_STEPS / self->all.columns + 1;
    self->grid = self->all;
    if (self->wanted->since > 0 && self->all.columns > 0)
        history_grid_since(&self->grid, self->wanted->since);
    return 0;
}

static int put_document(struct series_writing *self, const struct session *session)
{
    struct history_writing *writing = &self->writing;
    struct buf path = BUF_INIT;

    writing->scalars[writing->phase] = self->grid;
    history_writing_begin(writing, session, "series");
    history_writing_newest(writing, self->wanted->since);
    place_path(writing->model, self->wanted->place, &path);
    json_str(writing->json, "name", buf_span(&path));
    buf_release(&path);
    json_u64(writing->json, "place", self->wanted->place);
    json_text(writing->json, "phase", history_writing_phase(writing->phase));
    history_writing_columns(writing->json, "columns", &self->grid);
    json_array(writing->json, "series");
    for (uint32_t i = 0; i < self->n; i++)
        if (put_series(self, &self->list[i]) < 0)
            return -1;
    json_array_end(writing->json);
    json_u64(writing->json, "series_left_out", self->left_out);
    json_object_end(writing->json);
    return 0;
}

int export_series_json(struct json *json, struct session *session,
                       const struct export_series_wanted *wanted, struct err *err)
{
    struct series_writing self = {.wanted = wanted};
    struct arena arena;
    int status = -1;

    if (history_writing_init(&self.writing, json, session, &arena, err) < 0)
        return -1;
    if (wanted->place >= session->model->n_places)
        return err_set(err, ERR_NOT_FOUND, "no such place");
    self.memo = session_memo(session, err);
    if (!self.memo || history_hold(session->history, err) < 0)
        return -1;
    arena_init(&arena, GIB);
    if (make_grids(&self) == 0 && list_series(&self) == 0 && find_row(&self) == 0)
        status = put_document(&self, session);
    buf_release(&self.writing.name);
    arena_release(&arena);
    history_let_go(session->history);
    return status;
}
