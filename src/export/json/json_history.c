/* The history of a training run in few columns: the document `history`. The report
 * carries it, so names can be escaped for display, and its size has a limit. */
#include "export/json/json_history_in.h"

#include <math.h>

#include "base/base.h"
#include "text/escape.h"

#define MOST_SCALARS 100u
#define MOST_ALARMS  200u
#define MOST_READS   600000u /* points */

const char *history_writing_phase(uint8_t phase)
{
    return phase == HISTORY_EVAL ? "eval" : "train";
}

void history_writing_text(struct history_writing *self, const char *key,
                          struct str text)
{
    if (!self->wanted->shown) {
        json_str(self->json, key, text);
        return;
    }
    buf_clear(&self->name);
    escape_terminal(&self->name, text);
    json_str(self->json, key, buf_span(&self->name));
}

void history_writing_short(struct json *json, double value)
{
    export_short(json, NULL, value);
}

/* ---- columns ---- */

static void put_grid(struct json *json, const char *key,
                     const struct history_grid *grid)
{
    json_object(json, key);
    json_u64(json, "columns", grid->columns);
    json_array(json, "first");
    for (uint32_t i = 0; i < grid->columns; i++)
        json_u64(json, NULL, grid->first[i]);
    json_array_end(json);
    json_array(json, "last");
    for (uint32_t i = 0; i < grid->columns; i++)
        json_u64(json, NULL, grid->last[i]);
    json_array_end(json);
    json_array(json, "steps");
    for (uint32_t i = 0; i < grid->columns; i++)
        json_u64(json, NULL, grid->merged[i]);
    json_array_end(json);
    if (grid->each > 0)
        json_u64(json, "read", grid->each);
    json_object_end(json);
}

/* How many columns the series may have so that all fit into the limit. */
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
        put_grid(self->json, "scalar_columns", &self->scalars[phase]);
        put_grid(self->json, "series_columns", &self->points[phase]);
        json_object_end(self->json);
    }
    json_array_end(self->json);
}

/* ---- segments and alarms ---- */

static int put_segments(struct history_writing *self)
{
    struct history_segment *segments;
    struct json *json = self->json;
    uint32_t n;

    if (history_read_segments(self->history, self->arena, &segments, &n, self->err) < 0)
        return -1;
    json_array(json, "segments");
    for (uint32_t i = 0; i < n; i++) {
        json_object(json, NULL);
        json_u64(json, "first", segments[i].first);
        json_u64(json, "time_ns", segments[i].wall_ns);
        json_u64(json, "gap_ns", segments[i].gap_ns);
        json_i64(json, "gap_steps", segments[i].gap_steps);
        if (segments[i].ranks > 0) {
            json_u64(json, "rank", segments[i].rank);
            json_u64(json, "ranks", segments[i].ranks);
        }
        history_writing_text(self, "text", segments[i].text);
        json_object_end(json);
    }
    json_array_end(json);
    return 0;
}

static void put_alarm(struct history_writing *self, const struct history_alarm *alarm)
{
    static const char *const severities[] = {[SEVERITY_NOTE] = "note",
                                             [SEVERITY_WARNING] = "warning",
                                             [SEVERITY_ALARM] = "alarm"};
    struct json *json = self->json;

    json_object(json, NULL);
    json_u64(json, "step", alarm->step);
    json_text(json, "severity", severities[alarm->severity % 3]);
    history_writing_text(self, "kind", alarm->kind);
    history_writing_text(self, "name", alarm->name);
    if (alarm->place < self->model->n_places)
        json_u64(json, "place", alarm->place);
    if (alarm->line.len > 0)
        history_writing_text(self, "line", alarm->line);
    history_writing_text(self, "text", alarm->text);
    json_object_end(json);
}

static int put_alarms(struct history_writing *self)
{
    struct history_alarm *alarms;
    uint32_t n;

    if (history_read_alarms(self->history, 0, UINT16_MAX, self->arena, &alarms, &n,
                            self->err) < 0)
        return -1;
    json_array(self->json, "alarms");
    for (uint32_t i = 0; i < n && i < MOST_ALARMS; i++)
        put_alarm(self, &alarms[i]);
    json_array_end(self->json);
    json_u64(self->json, "alarms_left_out", n > MOST_ALARMS ? n - MOST_ALARMS : 0);
    return 0;
}

/* ---- scalars ---- */

static double scalar_value(const struct history_scalar *scalar)
{
    return scalar->number.bad > 0 ? NAN : history_number_mean(&scalar->number);
}

static double scalar_min(const struct history_scalar *scalar)
{
    return scalar->number.min;
}

static double scalar_max(const struct history_scalar *scalar)
{
    return scalar->number.max;
}

static void put_scalar_row(struct json *json, const char *key,
                           const struct history_scalar *const *row, uint32_t n,
                           double (*number)(const struct history_scalar *scalar))
{
    json_array(json, key);
    for (uint32_t i = 0; i < n; i++)
        if (row[i] && (number == scalar_value || row[i]->number.n > 0))
            json_real(json, NULL, number(row[i]));
        else
            json_null(json, NULL);
    json_array_end(json);
}

/* 1: written, 0: it has no values. */
static int put_scalar(struct history_writing *self, uint32_t name, struct str text,
                      uint8_t phase)
{
    const struct history_grid *grid = &self->scalars[phase];
    const struct history_scalar **row;
    bool merged = false;
    struct arena arena;
    uint32_t last = HISTORY_NONE;
    int status;

    arena_init(&arena, SERIES_LIMIT);
    status = history_grid_scalars(grid, self->history, name, &arena, &row, self->err);
    for (uint32_t i = 0; status == 0 && i < grid->columns; i++) {
        last = row[i] ? i : last;
        merged = merged || (row[i] && row[i]->number.n > 1);
    }
    if (status == 0 && last != HISTORY_NONE) {
        json_object(self->json, NULL);
        history_writing_text(self, "name", text);
        json_u64(self->json, "index", name);
        json_text(self->json, "phase", history_writing_phase(phase));
        json_real(self->json, "newest", row[last]->last);
        put_scalar_row(self->json, "value", row, grid->columns, scalar_value);
        if (merged) {
            put_scalar_row(self->json, "min", row, grid->columns, scalar_min);
            put_scalar_row(self->json, "max", row, grid->columns, scalar_max);
        }
        json_object_end(self->json);
        status = 1;
    }
    arena_release(&arena);
    return status;
}

static int put_scalars(struct history_writing *self)
{
    uint32_t n, written = 0, left_out = 0;
    struct str *names;
    int status;

    if (history_read_names(self->history, self->arena, &names, &n, self->err) < 0)
        return -1;
    json_array(self->json, "scalars");
    for (uint32_t i = 0; i < n; i++)
        for (uint8_t phase = 0; phase < HISTORY_PHASES; phase++) {
            if (written >= MOST_SCALARS) {
                left_out += phase == 0;
                continue;
            }
            status = put_scalar(self, i, names[i], phase);
            if (status < 0)
                return -1;
            written += (uint32_t)status;
        }
    json_array_end(self->json);
    json_u64(self->json, "scalars_left_out", left_out);
    return 0;
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
            history_writing_short(json, value);
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
    status = put_segments(self);
    if (status == 0)
        status = put_alarms(self);
    if (status == 0)
        status = put_scalars(self);
    if (status == 0)
        status = history_writing_series(self);
    if (status == 0)
        status = put_modules(self);
    json_object_end(json);
    return status;
}

int export_history_json(struct json *json, const struct session *session,
                        const struct export_history_wanted *wanted, struct err *err)
{
    struct history_writing self = {.json = json,
                                   .history = session->history,
                                   .model = session->model,
                                   .wanted = wanted,
                                   .err = err};
    struct arena arena;
    int status = -1;

    if (!session->history)
        return err_set(
            err, ERR_UNSUPPORTED,
            "%s: no history of a training run; torchoscope.watch() writes one",
            session->model->path);
    arena_init(&arena, GIB);
    self.arena = &arena;
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
