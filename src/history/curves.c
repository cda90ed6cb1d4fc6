#include "history/curves.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "history/at_step.h"
#include "history/curves_in.h"
#include "history/grid.h"

#define CURVES_LIMIT (64 * MIB) /* of points while they are read */

struct curves_making {
    struct history *history;
    const struct curves_wanted *wanted;
    struct arena *arena;
    struct curves *to;
    uint64_t newest, newest_points; /* step numbers */
    uint32_t n_steps;
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
    self->n_steps = n;
    for (uint32_t i = 0; i < n; i++) {
        self->newest = steps[i].first;
        if (steps[i].points > 0)
            self->newest_points = steps[i].first;
    }
    for (uint32_t i = 0; i < to->columns; i++) {
        to->first[i] = steps[(uint64_t)i * n / to->columns].first;
        to->last[i] = steps[(uint64_t)(i + 1) * n / to->columns - 1].last;
    }
    return 0;
}

uint32_t curves_column(const struct curves *curves, uint64_t step)
{
    return history_column(curves->first, curves->columns, step);
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

/* The numbers of a place in each column, and of the newest step after them. */
static struct step_numbers *columns_new(struct curves_making *self)
{
    size_t n = (size_t)self->to->columns + 1;
    struct step_numbers *columns = arena_array(self->arena, n, sizeof *columns);

    if (!columns)
        arena_err(self->arena, "the curves", self->err);
    return columns;
}

/* Takes the points of a series. */
static int take_series(struct curves_making *self, struct step_numbers *columns,
                       uint32_t series, enum history_kind kind)
{
    struct history_sample *samples;
    uint32_t n;

    if (read_points(self, series, 0, false, &samples, &n) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        step_numbers_take(&columns[curves_column(self->to, samples[i].step.first)],
                          kind, &samples[i].point);
    if (read_points(self, series, self->newest_points, false, &samples, &n) < 0)
        return -1;
    if (n > 0)
        step_numbers_take(&columns[self->to->columns], kind, &samples[n - 1].point);
    return 0;
}

/* A curve of one of the numbers; none if no column has it. */
static void add_numbers(struct curves_making *self, const struct step_numbers *columns,
                        enum step_number which, enum curve_role role)
{
    struct curves *to = self->to;
    struct curve *curve = NULL;
    double value;

    for (uint32_t i = 0; i <= to->columns; i++) {
        if (!step_number(&columns[i], which, &value))
            continue;
        if (!curve)
            curve = next_curve(to, role, STR(""));
        if (!curve)
            return;
        if (i < to->columns) {
            curve->at[i] = value;
            curve->state[i] = state_of(value, false);
        } else {
            curve->now = value;
            curve->now_state = state_of(value, false);
        }
    }
}

/* All parameters at and below the place, together. */
static int sum_params(struct curves_making *self, const struct curves_series *found,
                      struct step_numbers *sum)
{
    for (uint32_t k = 0; k < found->n_params; k++) {
        struct step_numbers *param = columns_new(self);

        if (!param)
            return -1;
        for (int i = 0; i < HISTORY_PARAM_KINDS; i++)
            if (take_series(self, param, found->params[k].of[i],
                            (enum history_kind)(HISTORY_PARAM + i)) < 0)
                return -1;
        for (uint32_t i = 0; i <= self->to->columns; i++) {
            step_numbers_close(&param[i]);
            step_numbers_add(&sum[i], &param[i]);
        }
    }
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
                       const struct history *history, const struct model *model)
{
    to->step = from->step;
    to->place = history_place(history, from->place);
    if (to->place >= model->n_places)
        to->place = from->name.len > 0 ? place_find(model, from->name) : HISTORY_NONE;
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
        copy_alarm(&to->alarms[i - first], &alarms[i], self->history, model);
    return 0;
}

/* ---- all of it ---- */

/* The parameters share the read limit. */
static void share_reads(struct curves *to, uint32_t n_params, uint32_t n_steps)
{
    uint32_t reads = n_params > 1 ? CURVES_READS / n_params : CURVES_READS;

    if (to->columns == 0 || n_steps <= reads)
        return;
    to->each = reads / to->columns > 0 ? reads / to->columns : 1;
}

/* The norm of all gradients is a scalar: no need to read them. */
static int add_gradient(struct curves_making *self, const struct step_numbers *columns,
                        const struct str *names, uint32_t n_names)
{
    uint32_t before = self->to->n;

    add_numbers(self, columns, STEP_GRADIENT, CURVE_GRADIENT);
    if (self->to->n > before)
        return 0;
    return add_named(self, names, n_names, "grad_norm",
                     self->wanted->place == 0 ? CURVE_GRADIENT : CURVE_SCALAR);
}

static int add_curves(struct curves_making *self, const struct model *model)
{
    uint32_t place = self->wanted->place, n_names;
    struct curves_series found;
    struct step_numbers *columns = columns_new(self);
    struct str *names;

    if (!columns ||
        curves_find(self->history, model, place, self->to->phase, self->arena, &found,
                    self->err) < 0 ||
        history_read_names(self->history, self->arena, &names, &n_names, self->err) <
            0 ||
        add_named(self, names, n_names, "loss", CURVE_LOSS) < 0)
        return -1;
    share_reads(self->to, found.n_params, self->n_steps);
    if (sum_params(self, &found, columns) < 0 ||
        (found.n_params == 0 &&
         (take_series(self, columns, found.output, HISTORY_OUTPUT) < 0 ||
          take_series(self, columns, found.grad_output, HISTORY_GRAD_OUTPUT) < 0)) ||
        add_gradient(self, columns, names, n_names) < 0)
        return -1;
    add_numbers(self, columns, STEP_WEIGHT, CURVE_WEIGHT);
    add_numbers(self, columns, STEP_RATIO, CURVE_RATIO);
    add_numbers(self, columns, STEP_OUTPUT, CURVE_OUTPUT);
    add_numbers(self, columns, STEP_GRAD_OUTPUT, CURVE_GRAD_OUTPUT);
    if (add_named(self, names, n_names, "lr", CURVE_RATE) < 0 ||
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
    if (history_hold(history, err) < 0)
        return -1;
    arena_init(&arena, CURVES_LIMIT);
    self.arena = &arena;
    if (make_columns(&self) == 0 && add_curves(&self, model) == 0 &&
        add_alarms(&self, model) == 0)
        status = 0;
    arena_release(&arena);
    history_let_go(history);
    return status;
}
