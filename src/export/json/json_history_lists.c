/* Lists of the documents about a training run: segments, alarms, scalars by column. */
#include <math.h>

#include "base/base.h"
#include "export/json/json_history_in.h"
#include "history/ranks.h"

#define MOST_SCALARS 100u
#define MOST_ALARMS  200u

/* ---- segments and alarms ---- */

int history_writing_segments(struct history_writing *self)
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
    json_u64(json, "time_ms", alarm->wall_ns / 1000000);
    if (history_ranks_of(self->history))
        json_u64(json, "rank", alarm->rank);
    json_object_end(json);
}

int history_writing_alarms(struct history_writing *self,
                           const struct history_alarm **ret_alarms, uint32_t *ret_n)
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
    if (ret_alarms) {
        *ret_alarms = alarms;
        *ret_n = n;
    }
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

int history_writing_scalars(struct history_writing *self)
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
