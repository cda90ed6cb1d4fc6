#include "history/curves.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "history/curves_in.h"

#define CURVES_LIMIT (64 * MIB) /* of points while they are read */

struct curves_making {
    struct history *history;
    const struct curves_wanted *wanted;
    struct arena *arena;
    struct curves *to;
    uint64_t newest; /* step */
    struct err *err;
};

void curves_copy(char *to, size_t room, struct str from)
{
    size_t len = from.len < room ? from.len : room - 1;

    /* Not in the middle of a character. */
    while (len > 0 && len < from.len && ((unsigned char)from.at[len] & 0xc0) == 0x80)
        len--;
    memcpy(to, from.at, len);
    to[len] = '\0';
}

/* ---- columns ---- */

/* The same groups of steps as history_read_points() makes. */
static int make_columns(struct curves_making *self)
{
    struct curves *to = self->to;
    struct history_range range = {.phase = HISTORY_TRAIN};
    struct history_step *steps;
    uint32_t n;

    if (history_read_steps(self->history, &range, self->arena, &steps, &n, self->err) <
        0)
        return -1;
    if (n == 0) {
        range.phase = HISTORY_EVAL;
        if (history_read_steps(self->history, &range, self->arena, &steps, &n,
                               self->err) < 0)
            return -1;
    }
    to->phase = range.phase;
    to->columns = n < self->wanted->columns ? n : self->wanted->columns;
    if (to->columns > 0 && n > CURVES_READS) {
        to->each = CURVES_READS / to->columns;
        to->each = to->each > 0 ? to->each : 1;
    }
    self->newest = n > 0 ? steps[n - 1].first : 0;
    for (uint32_t i = 0; i < to->columns; i++) {
        to->first[i] = steps[(uint64_t)i * n / to->columns].first;
        to->last[i] = steps[(uint64_t)(i + 1) * n / to->columns - 1].last;
    }
    return 0;
}

uint32_t curves_column(const struct curves *curves, uint64_t step)
{
    uint32_t low = 0, high = curves->columns;

    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;

        if (curves->first[middle] <= step)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static struct history_wanted wanted_of(const struct curves_making *self,
                                       uint32_t series)
{
    return (struct history_wanted){.series = series,
                                   .range = {.phase = self->to->phase},
                                   .most = self->to->columns};
}

static struct curve *next_curve(struct curves *to, enum curve_role role,
                                struct str name)
{
    struct curve *curve = &to->at[to->n];

    if (to->n == CURVES_MOST)
        return NULL;
    to->n++;
    *curve = (struct curve){.role = (uint8_t)role};
    curves_copy(curve->name, sizeof curve->name, name);
    return curve;
}

static uint8_t state_of(double value, bool bad)
{
    return bad || !isfinite(value) ? CURVE_BAD : CURVE_FINITE;
}

static void set(struct curves_making *self, struct curve *curve,
                const struct history_step *step, double value, bool bad)
{
    uint32_t column = curves_column(self->to, step->first);

    curve->state[column] = state_of(value, bad);
    curve->at[column] = value;
}

/* ---- scalars ---- */

/* The newest step alone. */
static int set_newest_scalar(struct curves_making *self, uint32_t name,
                             struct curve *curve)
{
    struct history_wanted wanted = wanted_of(self, name);
    struct history_scalar_sample *samples;
    uint32_t n;

    wanted.range.from = self->newest;
    if (history_read_scalars(self->history, &wanted, self->arena, &samples, &n,
                             self->err) < 0)
        return -1;
    if (n > 0) {
        curve->now = samples[n - 1].scalar.last;
        curve->now_state = state_of(curve->now, false);
    }
    return 0;
}

static int add_scalar(struct curves_making *self, uint32_t name, struct str text,
                      enum curve_role role)
{
    struct history_wanted wanted = wanted_of(self, name);
    struct history_scalar_sample *samples;
    struct curve *curve;
    uint32_t n;

    if (name == HISTORY_NONE || self->to->columns == 0)
        return 0;
    if (history_read_scalars(self->history, &wanted, self->arena, &samples, &n,
                             self->err) < 0)
        return -1;
    curve = n > 0 ? next_curve(self->to, role, text) : NULL;
    if (!curve)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        set(self, curve, &samples[i].step,
            samples[i].scalar.number.bad > 0
                ? NAN
                : history_number_mean(&samples[i].scalar.number),
            samples[i].scalar.number.bad > 0);
    return set_newest_scalar(self, name, curve);
}

static int add_named(struct curves_making *self, const struct str *names, uint32_t n,
                     const char *name, enum curve_role role)
{
    uint32_t found = history_find_name(names, n, name);

    return add_scalar(self, found, found == HISTORY_NONE ? STR("") : names[found],
                      role);
}

/* Scalars that have no curve yet. */
static int add_others(struct curves_making *self, const struct str *names, uint32_t n)
{
    uint32_t rate = history_find_name(names, n, "lr");
    uint32_t loss = history_find_name(names, n, "loss");
    uint32_t norm = history_find_name(names, n, "grad_norm");

    for (uint32_t i = 0; i < n && self->to->n < CURVES_MOST; i++)
        if (i != rate && i != loss && i != norm &&
            add_scalar(self, i, names[i], CURVE_SCALAR) < 0)
            return -1;
    return 0;
}

/* ---- points ---- */

/* Of all steps, or of those from `from` on. */
static int read_points(struct curves_making *self, uint32_t series, uint64_t from,
                       bool histograms, struct history_sample **ret_samples,
                       uint32_t *ret_n)
{
    struct history_wanted wanted = wanted_of(self, series);

    *ret_n = 0;
    *ret_samples = NULL;
    wanted.histograms = histograms;
    wanted.each = self->to->each;
    wanted.range.from = from;
    if (series == HISTORY_NONE || self->to->columns == 0)
        return 0;
    return history_read_points(self->history, &wanted, self->arena, ret_samples, ret_n,
                               self->err);
}

static double ratio_of(const struct history_point *point, bool *ret_bad)
{
    const struct history_number *ratio = &point->extra[EXTRA_RATIO];

    *ret_bad = ratio->bad > 0;
    return *ret_bad ? NAN : history_number_mean(ratio);
}

static bool has_ratio(const struct history_point *point)
{
    return point->extra[EXTRA_RATIO].n + point->extra[EXTRA_RATIO].bad > 0;
}

/* A curve of a number of each point; none if no point has it. */
static int add_points(struct curves_making *self, const struct curves_series *found,
                      uint32_t series, enum curve_role role)
{
    double (*number)(const struct history_point *point, bool *ret_bad) =
        role == CURVE_RATIO ? ratio_of : history_point_norm;
    struct curve *curve = NULL;
    struct history_sample *samples;
    uint32_t n;
    bool bad;

    if (read_points(self, series, 0, false, &samples, &n) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        double value = number(&samples[i].point, &bad);

        if (role == CURVE_RATIO && !has_ratio(&samples[i].point))
            continue;
        if (!curve)
            curve = next_curve(self->to, role, found->all[series].name);
        if (!curve)
            return 0;
        set(self, curve, &samples[i].step, value, bad);
    }
    if (!curve || read_points(self, series, self->newest, false, &samples, &n) < 0)
        return curve ? -1 : 0;
    if (n > 0 && (role != CURVE_RATIO || has_ratio(&samples[n - 1].point))) {
        curve->now = number(&samples[n - 1].point, &bad);
        curve->now_state = state_of(curve->now, bad);
    }
    return 0;
}

/* The ratio is a number of the point of the update, or of the parameter. */
static int add_ratio(struct curves_making *self, const struct curves_series *found)
{
    const uint32_t tries[] = {found->update, found->param, found->grad_param};
    uint32_t before = self->to->n;

    for (size_t i = 0; i < COUNT_OF(tries) && self->to->n == before; i++)
        if (add_points(self, found, tries[i], CURVE_RATIO) < 0)
            return -1;
    return 0;
}

/* ---- the heat map ---- */

static uint32_t heat_series(const struct curves_wanted *wanted,
                            const struct curves_series *found)
{
    const uint32_t gradients[] = {found->grad_param, found->grad_output};
    const uint32_t values[] = {found->param, found->output};
    const uint32_t *first = wanted->view == CURVES_VALUES ? values : gradients;
    const uint32_t *then = wanted->view == CURVES_VALUES ? gradients : values;

    for (int i = 0; i < 2; i++)
        if (first[i] != HISTORY_NONE)
            return first[i];
    return then[0] != HISTORY_NONE ? then[0] : then[1];
}

static int add_heat(struct curves_making *self, const struct curves_series *found)
{
    struct curves_heat *heat = &self->to->heat;
    uint32_t series = heat_series(self->wanted, found), n, *columns;
    struct history_sample *samples;

    heat->kind = HISTORY_KINDS;
    if (self->wanted->rows == 0 || series == HISTORY_NONE)
        return 0;
    if (read_points(self, series, 0, true, &samples, &n) < 0)
        return -1;
    columns = arena_array(self->arena, (size_t)n + 1, sizeof *columns);
    if (!columns)
        return arena_err(self->arena, "the histograms", self->err);
    for (uint32_t i = 0; i < n; i++)
        columns[i] = curves_column(self->to, samples[i].step.first);
    heat->kind = found->all[series].kind;
    curves_copy(heat->name, sizeof heat->name, found->all[series].name);
    return curves_heat(heat, samples, columns, n, self->wanted->rows, self->err);
}

/* ---- alarms ---- */

static void copy_alarm(struct curves_alarm *to, const struct history_alarm *from,
                       const struct model *model)
{
    to->step = from->step;
    to->place = from->place < model->n_places ? from->place : HISTORY_NONE;
    to->severity = from->severity;
    curves_copy(to->kind, sizeof to->kind, from->kind);
    curves_copy(to->name, sizeof to->name, from->name);
    curves_copy(to->line, sizeof to->line, from->line);
    curves_copy(to->text, sizeof to->text, from->text);
}

static int add_alarms(struct curves_making *self, const struct model *model)
{
    struct curves *to = self->to;
    struct history_alarm *alarms;
    uint32_t n, first;

    if (history_read_alarms(self->history, 0, UINT16_MAX, self->arena, &alarms, &n,
                            self->err) < 0)
        return -1;
    first = n > CURVES_ALARMS ? n - CURVES_ALARMS : 0;
    to->earlier_alarms = first;
    to->n_alarms = n - first;
    for (uint32_t i = first; i < n; i++)
        copy_alarm(&to->alarms[i - first], &alarms[i], model);
    return 0;
}

/* ---- all of it ---- */

static int add_curves(struct curves_making *self, const struct model *model)
{
    uint32_t place = self->wanted->place, n_names;
    struct curves_series found;
    struct str *names;

    if (curves_find(self->history, model, place, self->to->phase, self->arena, &found,
                    self->err) < 0 ||
        history_read_names(self->history, self->arena, &names, &n_names, self->err) <
            0 ||
        add_named(self, names, n_names, "loss", CURVE_LOSS) < 0)
        return -1;
    if (found.grad_param != HISTORY_NONE || found.grad_output != HISTORY_NONE) {
        uint32_t series =
            found.grad_param != HISTORY_NONE ? found.grad_param : found.grad_output;

        if (add_points(self, &found, series, CURVE_GRADIENT) < 0)
            return -1;
    } else if (add_named(self, names, n_names, "grad_norm",
                         place == 0 ? CURVE_GRADIENT : CURVE_SCALAR) < 0) {
        return -1; /* of the whole model */
    }
    if (add_points(self, &found, found.param, CURVE_WEIGHT) < 0 ||
        (found.param == HISTORY_NONE &&
         add_points(self, &found, found.output, CURVE_OUTPUT) < 0) ||
        add_ratio(self, &found) < 0 ||
        add_named(self, names, n_names, "lr", CURVE_RATE) < 0 ||
        (place == 0 && add_others(self, names, n_names) < 0))
        return -1;
    return add_heat(self, &found);
}

int curves_read(struct history *history, const struct model *model,
                const struct curves_wanted *wanted, struct curves *ret_curves,
                struct err *err)
{
    struct curves_making self = {
        .history = history, .wanted = wanted, .to = ret_curves, .err = err};
    struct arena arena;
    int status = -1;

    memset(ret_curves, 0, sizeof *ret_curves);
    arena_init(&arena, CURVES_LIMIT);
    self.arena = &arena;
    if (make_columns(&self) == 0 && add_curves(&self, model) == 0 &&
        add_alarms(&self, model) == 0)
        status = 0;
    arena_release(&arena);
    return status;
}
