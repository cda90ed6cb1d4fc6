/* The history of a training run, condensed to few columns: the document `history`. The
 * report embeds it, so names can be escaped for display, and its size has a limit. */
#include "export/json/json_history_in.h"

#include <math.h>

#include "base/base.h"
#include "text/escape.h"

#define MOST_READS 600000u /* points */

const char *history_writing_phase(uint8_t phase)
{
    return phase == HISTORY_EVAL ? "eval" : "train";
}

void history_writing_text(struct history_writing *self, const char *key,
                          struct str text)
{
    if (!self->shown) {
        json_str(self->json, key, text);
        return;
    }
    buf_clear(&self->name);
    escape_terminal(&self->name, text);
    json_str(self->json, key, buf_span(&self->name));
}

/* ---- columns ---- */

static void put_list(struct json *json, const char *key, const uint64_t *items,
                     uint32_t n)
{
    json_array(json, key);
    for (uint32_t i = 0; i < n; i++)
        json_u64(json, NULL, items[i]);
    json_array_end(json);
}

static void put_counts(struct json *json, const char *key, const uint32_t *items,
                       uint32_t n)
{
    json_array(json, key);
    for (uint32_t i = 0; i < n; i++)
        json_u64(json, NULL, items[i]);
    json_array_end(json);
}

/* The width and the start of fixed columns. */
static void put_steady(struct json *json, const struct history_grid *grid)
{
    bool skipped = false;

    json_u64(json, "width", grid->width);
    json_array(json, "time_ms");
    for (uint32_t i = 0; i < grid->columns; i++)
        json_u64(json, NULL, grid->begin_ns[i] / 1000000);
    json_array_end(json);
    for (uint32_t i = 0; i < grid->columns; i++)
        skipped = skipped || grid->skipped[i] > 0;
    if (skipped)
        put_counts(json, "skipped", grid->skipped, grid->columns);
}

void history_writing_columns(struct json *json, const char *key,
                             const struct history_grid *grid)
{
    json_object(json, key);
    json_u64(json, "columns", grid->columns);
    put_list(json, "first", grid->first, grid->columns);
    put_list(json, "last", grid->last, grid->columns);
    put_counts(json, "steps", grid->merged, grid->columns);
    if (grid->width > 0)
        put_steady(json, grid);
    if (grid->each > 0)
        json_u64(json, "read", grid->each);
    json_object_end(json);
}

/* The number of columns with which all series fit into the limit. */
static uint32_t series_columns(const struct history_writing *self)
{
    uint64_t each = self->wanted->bytes / POINT_BYTES / (self->n_series + 1u);
    uint32_t most = self->wanted->columns;

    if (each < COLUMNS_LEAST)
        each = COLUMNS_LEAST;
    return each < most ? (uint32_t)each : most;
}

static int make_grids(struct history_writing *self)
{
    uint32_t most = series_columns(self);
    uint64_t reads;

    for (int phase = 0; phase < HISTORY_PHASES; phase++) {
        struct history_grid *points = &self->points[phase];

        if (history_grid_make(&self->scalars[phase], self->history,
                              (enum history_phase)phase, self->wanted->columns,
                              self->arena, self->err) < 0 ||
            history_grid_make(points, self->history, (enum history_phase)phase, most,
                              self->arena, self->err) < 0)
            return -1;
        reads = MOST_READS / (((uint64_t)self->n_series + 1) * (points->columns + 1u));
        for (uint32_t i = 0; i < points->columns; i++)
            if (points->merged[i] > reads + 1)
                points->each = (uint32_t)reads + 1;
    }
    self->phase =
        self->points[HISTORY_TRAIN].columns > 0 ? HISTORY_TRAIN : HISTORY_EVAL;
    return 0;
}

static void put_phases(struct history_writing *self)
{
    json_array(self->json, "phases");
    for (int phase = 0; phase < HISTORY_PHASES; phase++) {
        json_object(self->json, NULL);
        json_text(self->json, "phase", history_writing_phase((uint8_t)phase));
        history_writing_columns(self->json, "scalar_columns", &self->scalars[phase]);
        history_writing_columns(self->json, "series_columns", &self->points[phase]);
        json_object_end(self->json);
    }
    json_array_end(self->json);
}

/* ---- modules ---- */

static void put_row(struct json *json, const char *key,
                    const struct history_module *module, enum step_number which,
                    uint32_t n)
{
    if (!(module->known >> which & 1))
        return;
    json_array(json, key);
    for (uint32_t i = 0; i < n; i++) {
        double value;

        if (step_number(&module->now[i], which, &value) && isfinite(value))
            export_short(json, NULL, value, 5);
        else
            json_null(json, NULL);
    }
    json_array_end(json);
}

static void put_module_row(struct history_writing *self,
                           const struct history_module *module)
{
    struct json *json = self->json;
    struct buf path = BUF_INIT;
    uint32_t n = self->modules.columns;

    place_path(self->model, module->place, &path);
    json_object(json, NULL);
    history_writing_text(self, "name", buf_span(&path));
    json_u64(json, "place", module->place);
    history_writing_text(self, "class",
                         class_short(place_class(self->model, module->place)));
    put_row(json, "gradient", module, STEP_GRADIENT, n);
    put_row(json, "ratio", module, STEP_RATIO, n);
    put_row(json, "dead", module, STEP_DEAD, n);
    json_array(json, "bad");
    for (uint32_t i = 0; i < n; i++)
        if (module->bad[i])
            json_u64(json, NULL, i);
    json_array_end(json);
    json_object_end(json);
    buf_release(&path);
}

static int put_modules(struct history_writing *self)
{
    if (history_modules_finish(&self->modules, self->err) < 0)
        return -1;
    json_text(self->json, "modules_phase", history_writing_phase(self->phase));
    json_array(self->json, "modules");
    for (uint32_t i = 0; i < self->modules.n; i++)
        put_module_row(self, &self->modules.at[i]);
    json_array_end(self->json);
    return 0;
}

/* ---- all of it ---- */

static int put_document(struct history_writing *self, const struct session *session)
{
    struct json *json = self->json;
    int status;

    json_object(json, NULL);
    json_u64(json, "torchoscope", 1);
    json_text(json, "kind", "history");
    history_writing_text(self, "path", str_of(session->history_path));
    put_phases(self);
    status = history_writing_segments(self);
    if (status == 0)
        status = history_writing_alarms(self, NULL, NULL);
    if (status == 0)
        status = history_writing_scalars(self);
    if (status == 0)
        status = history_writing_series(self);
    if (status == 0)
        status = put_modules(self);
    json_object_end(json);
    return status;
}

int history_writing_init(struct history_writing *self, struct json *json,
                         const struct session *session, struct arena *arena,
                         struct err *err)
{
    *self = (struct history_writing){.json = json,
                                     .history = session->history,
                                     .model = session->model,
                                     .arena = arena,
                                     .err = err};
    if (session->history)
        return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "%s: no history of a training run; torchoscope.watch() writes one",
                   session->model->path);
}

int export_history_json(struct json *json, const struct session *session,
                        const struct export_history_wanted *wanted, struct err *err)
{
    struct history_writing self;
    struct arena arena;
    int status = -1;

    if (history_writing_init(&self, json, session, &arena, err) < 0)
        return -1;
    arena_init(&arena, GIB);
    self.wanted = wanted;
    self.shown = wanted->shown;
    if (history_read_series(self.history, &arena, &self.series, &self.n_series, err) ==
            0 &&
        make_grids(&self) == 0 &&
        history_modules_init(&self.modules, self.history, self.model,
                             self.points[self.phase].columns, &arena, err) == 0)
        status = put_document(&self, session);
    buf_release(&self.name);
    arena_release(&arena);
    return status;
}
