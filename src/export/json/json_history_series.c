/* The series of the document `history`: numbers and histograms by column. */
#include "export/json/json_history_in.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "export/look/look.h"

#define SHADE_ROWS 24

static double point_mean(const struct history_point *point)
{
    return point->stats.mean;
}

static double point_std(const struct history_point *point)
{
    return stats_finite(&point->stats) > 1 ? stats_std(&point->stats) : 0;
}

static double point_min(const struct history_point *point)
{
    return point->stats.min;
}

static double point_max(const struct history_point *point)
{
    return point->stats.max;
}

static double point_bad(const struct history_point *point)
{
    return (double)(point->stats.nan + point->stats.pos_inf + point->stats.neg_inf) /
           (double)point->stats.count;
}

static double point_ratio(const struct history_point *point)
{
    double ratio;

    history_point_ratio(point, &ratio);
    return ratio;
}

/* A number of a point; `some`: only series in which some point has it. */
static const struct point_number {
    const char *key;
    double (*number)(const struct history_point *point);
    bool some;
} point_numbers[] = {
    {"norm", history_point_norm, false}, {"mean", point_mean, false},
    {"std", point_std, false},           {"min", point_min, false},
    {"max", point_max, false},           {"bad", point_bad, true},
    {"ratio", point_ratio, true},
};

static bool has_number(const struct point_number *of, const struct history_point *point)
{
    const struct history_number *ratio = &point->extra[EXTRA_RATIO];

    if (of->number == point_bad)
        return stats_finite(&point->stats) < point->stats.count;
    if (of->number == point_ratio)
        return ratio->n + ratio->bad > 0;
    return of->number == history_point_norm || stats_measured(&point->stats);
}

void history_writing_numbers(struct json *json,
                             const struct history_point *const *points, uint32_t from,
                             uint32_t n)
{
    for (size_t k = 0; k < COUNT_OF(point_numbers); k++) {
        const struct point_number *of = &point_numbers[k];
        bool some = !of->some;

        for (uint32_t i = 0; i < n && !some; i++)
            some = points[i] && has_number(of, points[i]);
        if (!some)
            continue;
        json_array(json, of->key);
        for (uint32_t i = from; i < n; i++)
            if (points[i] && has_number(of, points[i]))
                export_short(json, NULL, of->number(points[i]), 5);
            else
                json_null(json, NULL);
        json_array_end(json);
    }
}

/* Rows of the columns from `from` on. */
static void put_codes(struct json *json, const struct history_shades *shades,
                      uint32_t from, uint32_t n, struct arena *arena)
{
    uint32_t wide = n - from;
    uint8_t *codes = shades->codes;
    struct buf text = BUF_INIT;

    if (from > 0)
        codes = arena_array(arena, (size_t)shades->rows * wide + 1, 1);
    for (uint32_t row = 0; from > 0 && codes && row < shades->rows; row++)
        memcpy(codes + (size_t)row * wide, shades->codes + (size_t)row * n + from,
               wide);
    if (codes)
        look_base64(&text, codes, (size_t)shades->rows * wide);
    json_str(json, "codes", buf_span(&text));
    buf_release(&text);
}

int history_writing_shades(struct history_writing *self,
                           const struct history_point *const *points, uint32_t from,
                           uint32_t n, const struct history_shading *how,
                           struct arena *arena)
{
    struct history_shades shades;
    struct json *json = self->json;

    if (history_shades_make(&shades, points, n, how, arena, self->err) < 0)
        return -1;
    if (shades.rows == 0)
        return 0;
    json_object(json, "histogram");
    json_u64(json, "rows", shades.rows);
    json_real(json, "low", shades.axis.low);
    json_real(json, "high", shades.axis.high);
    json_real(json, "least", shades.axis.least);
    json_real(json, "zero", spread_axis_place(&shades.axis, 0));
    json_real(json, "largest", shades.largest);
    if (how->steady)
        json_bool(json, "can_log", shades.can_log);
    if (how->clip > 0)
        json_real(json, "cut", shades.cut);
    put_codes(json, &shades, from, n, arena);
    json_object_end(json);
    return arena->spent ? arena_err(arena, "the histograms", self->err) : 0;
}

/* The name of a series' module: of a parameter, without its last part. */
static void put_module(struct history_writing *self,
                       const struct history_series *series)
{
    uint32_t place = at_step_place(self->history, self->model, series);
    struct buf path = BUF_INIT;

    if (place != NO_PLACE) {
        json_u64(self->json, "place", place);
        if (self->model->kind[place] == PLACE_TENSOR && place > 0)
            place = self->model->parent[place];
        place_path(self->model, place, &path);
    } else {
        buf_str(&path, series->name);
    }
    history_writing_text(self, "module", buf_span(&path));
    buf_release(&path);
}

void history_writing_series_name(struct history_writing *self,
                                 const struct history_series *series)
{
    history_writing_text(self, "name", series->name);
    put_module(self, series);
    json_text(self->json, "kind", history_kind_name(series->kind));
    json_u64(self->json, "call", series->call);
    history_writing_text(self, "path", series->path);
    json_text(self->json, "phase", history_writing_phase(series->phase));
}

static int put_series(struct history_writing *self, const struct history_series *series,
                      const struct history_point *const *points, struct arena *arena)
{
    const struct history_shading how = {.rows = SHADE_ROWS};
    uint32_t n = self->points[series->phase].columns;
    int status;

    json_object(self->json, NULL);
    history_writing_series_name(self, series);
    history_writing_numbers(self->json, points, 0, n);
    status = history_writing_shades(self, points, 0, n, &how, arena);
    json_object_end(self->json);
    return status;
}

static int add_series(struct history_writing *self, uint32_t number)
{
    const struct history_series *series = &self->series[number];
    const struct history_point **points;
    struct arena arena;
    int status;

    arena_init(&arena, SERIES_LIMIT);
    status = history_grid_points(&self->points[series->phase], self->history, number,
                                 &arena, &points, self->err);
    if (status == 0 && series->phase == self->phase)
        status = history_modules_add(&self->modules, series, points, self->err);
    if (status == 0)
        status = put_series(self, series, points, &arena);
    arena_release(&arena);
    return status;
}

/* If there is not enough room for all, the most useful ones first. */
int history_writing_series(struct history_writing *self)
{
    static const enum history_kind order[] = {
        HISTORY_GRAD_PARAM,     HISTORY_PARAM,
        HISTORY_UPDATE,         HISTORY_OUTPUT,
        HISTORY_GRAD_OUTPUT,    HISTORY_INPUT,
        HISTORY_GRAD_INPUT,     HISTORY_GRAD_OUTPUT_NORM,
        HISTORY_GRAD_INPUT_NORM};
    uint64_t most = self->wanted->bytes / POINT_BYTES / COLUMNS_LEAST;
    uint32_t written = 0;

    json_array(self->json, "series");
    for (size_t k = 0; k < COUNT_OF(order); k++)
        for (uint32_t i = 0; i < self->n_series && written < most; i++) {
            if (self->series[i].kind != order[k])
                continue;
            if (add_series(self, i) < 0)
                return -1;
            written++;
        }
    json_array_end(self->json);
    json_u64(self->json, "series_left_out", self->n_series - written);
    return 0;
}
