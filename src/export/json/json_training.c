/* A training run for the page: the document `training`. */
#include <math.h>

#include "base/base.h"
#include "export/json/json_history_in.h"
#include "facts/training.h"

void history_writing_begin(struct history_writing *self, const struct session *session,
                           const char *kind)
{
    struct json *json = self->json;

    json_object(json, NULL);
    json_pack(json);
    json_u64(json, "torchoscope", 1);
    json_text(json, "kind", kind);
    json_text(json, "path", session->history_path);
}

void history_writing_newest(struct history_writing *self, uint64_t since)
{
    bool some = false;
    uint64_t newest = 0;

    for (int phase = 0; phase < HISTORY_PHASES; phase++) {
        const struct history_grid *grid = &self->scalars[phase];

        if (grid->columns > 0 && grid->last[grid->columns - 1] >= newest) {
            newest = grid->last[grid->columns - 1];
            some = true;
        }
    }
    if (some)
        json_u64(self->json, "newest", newest);
    else
        json_null(self->json, "newest");
    if (since > 0)
        json_u64(self->json, "since", since);
    else
        json_null(self->json, "since");
}

/* ---- what is logged ---- */

static bool has_kind(const struct history_writing *self, unsigned kinds)
{
    for (uint32_t i = 0; i < self->n_series; i++)
        if (kinds >> self->series[i].kind & 1)
            return true;
    return false;
}

static void put_logged(struct history_writing *self, uint32_t n_names)
{
    static const struct {
        const char *key;
        unsigned kinds;
    } parts[] = {
        {"values", 1u << HISTORY_INPUT | 1u << HISTORY_OUTPUT},
        {"value_gradients", 1u << HISTORY_GRAD_INPUT | 1u << HISTORY_GRAD_OUTPUT},
        {"parameters", 1u << HISTORY_PARAM},
        {"gradients", 1u << HISTORY_GRAD_PARAM},
        {"updates", 1u << HISTORY_UPDATE},
    };

    json_object(self->json, "logged");
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        json_bool(self->json, parts[i].key, has_kind(self, parts[i].kinds));
    json_u64(self->json, "series", self->n_series);
    json_u64(self->json, "scalars", n_names);
    json_object_end(self->json);
}

/* ---- the verdict ---- */

static const char *role_name(enum colour role)
{
    return role == COLOUR_ALARM     ? "alarm"
           : role == COLOUR_WARNING ? "warning"
           : role == COLOUR_GOOD    ? "good"
                                    : "none";
}

static int put_verdict(struct history_writing *self, const struct session *session,
                       const struct history_alarm *alarms, uint32_t n)
{
    struct training_verdict verdict;
    struct json *json = self->json;

    if (training_verdict(session, alarms, n, self->arena, &verdict, self->err) < 0)
        return -1;
    if (!verdict.text) {
        json_null(json, "verdict");
        json_text(json, "verdict_why", "no step of training was logged");
        return 0;
    }
    json_object(json, "verdict");
    json_text(json, "role", role_name(verdict.role));
    json_text(json, "text", verdict.text);
    if (verdict.lead)
        json_text(json, "lead", verdict.lead);
    if (verdict.name)
        json_text(json, "name", verdict.name);
    if (verdict.place != NO_PLACE)
        json_u64(json, "place", verdict.place);
    if (verdict.has_step)
        json_u64(json, "step", verdict.step);
    json_object_end(json);
    return 0;
}

/* ---- the first step that is not finite ---- */

struct first_bad {
    bool some;
    uint64_t step;
};

static void note_bad(struct first_bad *to, uint64_t step)
{
    if (!to->some || step < to->step)
        to->step = step;
    to->some = true;
}

/* The rows of a column that has one. Steps skipped by the gradient scaler are
 * normal. */
static int look_into_column(struct history_writing *self,
                            const struct history_grid *grid, uint32_t column,
                            uint32_t name, struct first_bad *to)
{
    const struct history_wanted wanted = {.series = name,
                                          .range = {.from = grid->first[column],
                                                    .to = grid->last[column],
                                                    .phase = grid->phase}};
    struct history_scalar_sample *samples;
    uint32_t n;

    if (history_read_scalars(self->history, &wanted, self->arena, &samples, &n,
                             self->err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        if (samples[i].scalar.number.bad > 0 && samples[i].step.skipped == 0)
            note_bad(to, samples[i].step.first);
    return 0;
}

static int look_at_scalar(struct history_writing *self, uint32_t name,
                          struct first_bad *to)
{
    const struct history_grid *grid = &self->scalars[HISTORY_TRAIN];
    const struct history_scalar **row;

    if (name == HISTORY_NONE)
        return 0;
    if (history_grid_scalars(grid, self->history, name, self->arena, &row, self->err) <
        0)
        return -1;
    for (uint32_t i = 0; i < grid->columns; i++) {
        struct first_bad found = {0};

        if (!row[i] || row[i]->number.bad == 0)
            continue;
        if (look_into_column(self, grid, i, name, &found) < 0)
            return -1;
        if (!found.some)
            continue;
        note_bad(to, found.step);
        return 0;
    }
    return 0;
}

static int put_first_bad(struct history_writing *self, const struct str *names,
                         uint32_t n_names, const struct history_alarm *alarms,
                         uint32_t n)
{
    uint32_t loss = history_find_name(names, n_names, "loss");
    uint32_t norm = history_find_name(names, n_names, "grad_norm");
    struct first_bad bad = {0};

    for (uint32_t i = 0; i < n; i++)
        if (alarms[i].severity == SEVERITY_ALARM && str_is(alarms[i].kind, "nan"))
            note_bad(&bad, alarms[i].step);
    if (look_at_scalar(self, loss, &bad) < 0 || look_at_scalar(self, norm, &bad) < 0)
        return -1;
    if (bad.some)
        json_u64(self->json, "first_bad", bad.step);
    else
        json_null(self->json, "first_bad");
    if (loss != HISTORY_NONE)
        history_writing_text(self, "loss", names[loss]);
    else
        json_null(self->json, "loss");
    return 0;
}

/* ---- the document ---- */

static int make_grids(struct history_writing *self,
                      const struct export_training_wanted *wanted)
{
    for (int phase = 0; phase < HISTORY_PHASES; phase++) {
        const struct history_steady steady = {.phase = (enum history_phase)phase,
                                              .most = wanted->columns,
                                              .since = wanted->since};

        if (history_grid_steady(&self->scalars[phase], self->history, &steady,
                                self->arena, self->err) < 0)
            return -1;
    }
    return 0;
}

static void put_phases(struct history_writing *self, const struct session *session)
{
    struct json *json = self->json;

    json_array(json, "phases");
    for (uint8_t phase = 0; phase < HISTORY_PHASES; phase++) {
        const struct history_phase_sum *sum = &session->training->phases[phase];

        json_object(json, NULL);
        json_text(json, "phase", history_writing_phase(phase));
        json_u64(json, "steps", sum->steps);
        if (sum->rows > 0) {
            json_u64(json, "first", sum->first);
            json_u64(json, "last", sum->last);
        }
        history_writing_columns(json, "columns", &self->scalars[phase]);
        json_object_end(json);
    }
    json_array_end(json);
}

static int put_document(struct history_writing *self, const struct session *session,
                        const struct export_training_wanted *wanted)
{
    const struct history_alarm *alarms;
    struct str *names;
    uint32_t n, n_names;

    if (history_read_names(self->history, self->arena, &names, &n_names, self->err) < 0)
        return -1;
    history_writing_begin(self, session, "training");
    history_writing_newest(self, wanted->since);
    if (wanted->live == EXPORT_LIVE_UNKNOWN)
        json_null(self->json, "live");
    else
        json_bool(self->json, "live", wanted->live == EXPORT_LIVE);
    put_logged(self, n_names);
    put_phases(self, session);
    if (history_writing_segments(self) < 0 ||
        history_writing_alarms(self, &alarms, &n) < 0 ||
        put_verdict(self, session, alarms, n) < 0 ||
        put_first_bad(self, names, n_names, alarms, n) < 0 ||
        history_writing_scalars(self) < 0)
        return -1;
    json_object_end(self->json);
    return 0;
}

int export_training_json(struct json *json, struct session *session,
                         const struct export_training_wanted *wanted, struct err *err)
{
    struct history_writing self;
    struct arena arena;
    int status = -1;

    if (history_writing_init(&self, json, session, &arena, err) < 0 ||
        history_hold(self.history, err) < 0)
        return -1;
    arena_init(&arena, GIB);
    session_refresh_training(session);
    if (history_read_series(self.history, &arena, &self.series, &self.n_series, err) ==
            0 &&
        make_grids(&self, wanted) == 0)
        status = put_document(&self, session, wanted);
    buf_release(&self.name);
    arena_release(&arena);
    history_let_go(session->history);
    return status;
}
