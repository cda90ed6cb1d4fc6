#include "history/at_step.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "history/curves_in.h"

#define AT_STEP_LIMIT (256 * MIB) /* of points while they are read */

const struct step_word step_words[STEP_NUMBERS] = {
    [STEP_GRADIENT] = {"gradient_norm", "‖grad‖"},
    [STEP_WEIGHT] = {"weight_norm", "‖weight‖"},
    [STEP_RATIO] = {"update_ratio", "update/w"},
    [STEP_OUTPUT] = {"output_norm", "‖output‖"},
    [STEP_GRAD_OUTPUT] = {"grad_output_norm", "‖grad out‖"},
    [STEP_DEAD] = {"dead_share", "dead"},
};

/* ---- numbers ---- */

static bool knows(const struct step_numbers *numbers, enum step_number which)
{
    return numbers->known >> which & 1;
}

static void learn(struct step_numbers *to, enum step_number which, double value)
{
    to->of[which] = value;
    to->known |= 1u << which;
}

/* The first result of a module counts, of its first call. */
static void learn_first(struct step_numbers *to, enum step_number which, double value)
{
    if (!knows(to, which))
        learn(to, which, value);
}

/* The ratio is in the point of the update; without one, in another point of the
 * parameter. */
static void take_ratio(struct step_numbers *to, const struct history_point *point,
                       bool certain)
{
    double ratio;

    if ((knows(to, STEP_RATIO) && !certain) || !history_point_ratio(point, &ratio))
        return;
    learn(to, STEP_RATIO, ratio);
    to->parts = 1;
}

static void take_bad(struct step_numbers *to, enum history_kind kind,
                     const struct stats *stats)
{
    uint64_t bad = stats->nan + stats->pos_inf;

    if (stats->count == 0)
        return;
    if (kind != HISTORY_OUTPUT)
        bad += stats->neg_inf;
    if (history_kind_is_param((uint8_t)kind)) {
        to->seen[kind - HISTORY_PARAM] += stats->count;
        to->bad[kind - HISTORY_PARAM] += bad;
    } else if (kind == HISTORY_OUTPUT || kind == HISTORY_GRAD_OUTPUT ||
               kind == HISTORY_GRAD_INPUT) {
        to->own_bad = fmax(to->own_bad, (double)bad / (double)stats->count);
        to->has_own = true;
    }
}

bool step_bad(const struct step_numbers *numbers, double *ret_share)
{
    bool known = numbers->has_own;
    double share = numbers->own_bad;

    for (int i = 0; i < HISTORY_PARAM_KINDS; i++) {
        if (numbers->seen[i] == 0)
            continue;
        share = fmax(share, (double)numbers->bad[i] / (double)numbers->seen[i]);
        known = true;
    }
    *ret_share = share;
    return known;
}

static void take_dead(struct step_numbers *to, const struct history_point *point)
{
    if (point->extra[EXTRA_DEAD].n == 0 || point->units == 0 || knows(to, STEP_DEAD))
        return;
    to->dead = history_number_mean(&point->extra[EXTRA_DEAD]);
    to->units = (double)point->units;
    learn(to, STEP_DEAD, to->dead / to->units);
}

bool step_dead(const struct step_numbers *numbers, double *ret_share)
{
    if (knows(numbers, STEP_DEAD))
        return step_number(numbers, STEP_DEAD, ret_share);
    *ret_share = numbers->dead / numbers->units;
    return numbers->units > 0;
}

void step_numbers_take(struct step_numbers *to, enum history_kind kind,
                       const struct history_point *point)
{
    double norm = history_point_norm(point);

    take_bad(to, kind, &point->stats);
    switch (kind) {
    case HISTORY_OUTPUT:
        learn_first(to, STEP_OUTPUT, norm);
        take_dead(to, point);
        break;
    case HISTORY_GRAD_OUTPUT:
        learn_first(to, STEP_GRAD_OUTPUT, norm);
        break;
    case HISTORY_PARAM:
        learn(to, STEP_WEIGHT, norm);
        take_ratio(to, point, false);
        break;
    case HISTORY_GRAD_PARAM:
        learn(to, STEP_GRADIENT, norm);
        take_ratio(to, point, false);
        break;
    case HISTORY_UPDATE:
        to->update = norm;
        take_ratio(to, point, true);
        break;
    default:
        break;
    }
}

static void add_norm(struct step_numbers *to, const struct step_numbers *from,
                     enum step_number which)
{
    if (knows(from, which))
        learn(to, which,
              knows(to, which) ? stats_join_l2(to->of[which], from->of[which])
                               : from->of[which]);
}

/* A parameter of zeros has no ratio, but its update counts in the sum over parameters.
 * A non-finite ratio is not stored: it is NaN, not unknown. */
void step_numbers_close(struct step_numbers *param)
{
    double ratio = param->of[STEP_RATIO];

    if (!knows(param, STEP_RATIO) && !isfinite(param->update)) {
        learn(param, STEP_RATIO, NAN);
        param->moved = NAN;
        param->parts = 1;
        return;
    }

    if (!knows(param, STEP_RATIO)) {
        param->parts = param->update > 0 && knows(param, STEP_WEIGHT) &&
                       param->of[STEP_WEIGHT] == 0;
        return;
    }
    if (knows(param, STEP_WEIGHT))
        param->moved = param->of[STEP_WEIGHT];
    else if (ratio > 0)
        param->moved = param->update / ratio;
    else
        param->apart = true;
    param->update = ratio * param->moved;
}

static void add_ratio(struct step_numbers *to, const struct step_numbers *from)
{
    bool first = to->parts == 0, known;

    if (from->parts == 0)
        return;
    to->update = first ? from->update : stats_join_l2(to->update, from->update);
    to->moved = first ? from->moved : stats_join_l2(to->moved, from->moved);
    to->apart |= from->apart;
    to->parts += from->parts;
    known = first ? knows(from, STEP_RATIO) : !to->apart && !(to->moved == 0);
    to->known &= ~(1u << STEP_RATIO);
    if (known)
        learn(to, STEP_RATIO, first ? from->of[STEP_RATIO] : to->update / to->moved);
}

void step_numbers_add(struct step_numbers *to, const struct step_numbers *from)
{
    add_ratio(to, from);
    add_norm(to, from, STEP_GRADIENT);
    add_norm(to, from, STEP_WEIGHT);
    for (int i = 0; i < HISTORY_PARAM_KINDS; i++) {
        to->seen[i] += from->seen[i];
        to->bad[i] += from->bad[i];
    }
    if (knows(to, STEP_DEAD))
        return; /* its result is often that of its last module */
    to->dead += from->dead;
    to->units += from->units;
}

bool step_number(const struct step_numbers *numbers, enum step_number which,
                 double *ret_value)
{
    *ret_value = numbers->of[which];
    return knows(numbers, which);
}

/* ---- all places ---- */

struct at_step_making {
    const struct history *history;
    const struct model *model;
    const struct history_series *series;
    uint32_t n_series;
    struct at_step *to;
};

uint32_t at_step_place(const struct history *history, const struct model *model,
                       const struct history_series *series)
{
    uint32_t place = history_place(history, series->place);
    bool param = history_kind_is_param(series->kind);

    if (place < model->n_places && (model->kind[place] == PLACE_TENSOR) == param)
        return place;
    return place_find(model, series->name);
}

static void take_points(struct at_step_making *self,
                        const struct history_moment *moment)
{
    for (uint32_t i = 0; i < moment->n_points; i++) {
        const struct history_point *point = &moment->points[i];
        const struct history_series *series;
        uint32_t place;

        if (point->series >= self->n_series)
            continue;
        series = &self->series[point->series];
        place = at_step_place(self->history, self->model, series);
        if (place != NO_PLACE)
            step_numbers_take(&self->to->at[place], (enum history_kind)series->kind,
                              point);
    }
    for (uint32_t place = 0; place < self->to->n; place++)
        step_numbers_close(&self->to->at[place]);
}

/* Children follow their parents. */
static void add_up(struct at_step *to, const struct model *model)
{
    for (uint32_t p = to->n; p-- > 0;) {
        if (p > 0)
            step_numbers_add(&to->at[model->parent[p]], &to->at[p]);
        to->known |= to->at[p].known;
    }
}

int step_ties_list(const struct model *model, struct arena *arena,
                   struct step_tie **ret_ties, uint32_t *ret_n, struct err *err)
{
    uint32_t *newest = arena_array(arena, (size_t)model->n_tensors + 1, sizeof *newest);
    struct step_tie *ties = NULL;
    uint32_t n = 0, room = 0;

    if (!newest)
        return arena_err(arena, "tied tensors", err);
    for (uint32_t p = 0; p < model->n_places; p++) {
        uint32_t tensor = model->object[p], first, top = p;

        if (model->kind[p] != PLACE_TENSOR)
            continue;
        first = place_tensor(model, p)->place;
        if (first < p) {
            while (top > newest[tensor])
                top = model->parent[top];
            if (arena_room(arena, &ties, n, &room, sizeof *ties) < 0)
                return arena_err(arena, "tied tensors", err);
            ties[n++] = (struct step_tie){p, first, top};
        }
        newest[tensor] = p;
    }
    *ret_ties = ties;
    *ret_n = n;
    return 0;
}

static int add_ties(struct at_step *to, const struct model *model,
                    struct arena *scratch, struct err *err)
{
    struct step_tie *ties;
    uint32_t n;

    if (step_ties_list(model, scratch, &ties, &n, err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t p = model->parent[ties[i].place]; p != ties[i].top;
             p = model->parent[p])
            step_numbers_add(&to->at[p], &to->at[ties[i].first]);
    return 0;
}

/* A later value of the same step replaces an earlier one. */
static void take_scalars(struct at_step *to, const struct history_moment *moment,
                         const struct str *names, uint32_t n_names)
{
    for (uint32_t i = 0; i < moment->n_scalars; i++) {
        const struct history_scalar *scalar = &moment->scalars[i];
        struct step_scalar one;
        uint32_t k = 0;

        if (scalar->name >= n_names)
            continue;
        curves_copy(one.name, sizeof one.name, names[scalar->name]);
        one.value =
            scalar->number.n + scalar->number.bad > 1
                ? (scalar->number.bad > 0 ? NAN : history_number_mean(&scalar->number))
                : scalar->last;
        while (k < to->n_scalars && strcmp(to->scalars[k].name, one.name) != 0)
            k++;
        if (k < STEP_SCALARS) {
            to->scalars[k] = one;
            to->n_scalars = k == to->n_scalars ? k + 1 : to->n_scalars;
        }
    }
}

bool at_step_scalar(const struct at_step *numbers, const char *name, double *ret_value)
{
    for (uint32_t i = 0; i < numbers->n_scalars; i++)
        if (strcmp(numbers->scalars[i].name, name) == 0) {
            *ret_value = numbers->scalars[i].value;
            return true;
        }
    return false;
}

static int read_moment(struct history *history, uint64_t step, struct arena *arena,
                       struct history_moment *ret_moment, uint8_t *ret_phase,
                       struct err *err)
{
    *ret_phase = HISTORY_TRAIN;
    if (history_read_moment(history, step, HISTORY_TRAIN, arena, ret_moment, err) < 0)
        return -1;
    if (ret_moment->step.merged > 0)
        return 0;
    *ret_phase = HISTORY_EVAL;
    return history_read_moment(history, step, HISTORY_EVAL, arena, ret_moment, err);
}

int at_step_parse(struct str text, uint64_t *ret_step, struct err *err)
{
    if (str_is(text, "newest"))
        *ret_step = STEP_NEWEST;
    else if (!str_to_u64(text, ret_step) || *ret_step == STEP_NEWEST)
        return err_set(err, ERR_USAGE, "a step is a number, or newest, not \"%.*s\"",
                       STR_ARG(str_head(text, 40)));
    return 0;
}

int at_step_read(struct history *history, const struct model *model, uint64_t step,
                 struct arena *arena, struct at_step *ret_numbers, struct err *err)
{
    struct at_step to = {.asked = step, .n = model->n_places};
    struct at_step_making self = {.history = history, .model = model, .to = &to};
    struct history_moment moment;
    struct history_series *series;
    struct arena scratch;
    struct str *names;
    uint32_t n_names;
    int status = -1;

    if (history_hold(history, err) < 0)
        return -1;
    arena_init(&scratch, AT_STEP_LIMIT);
    to.at = arena_array(arena, (size_t)to.n + 1, sizeof *to.at);
    if (!to.at) {
        arena_err(arena, "the numbers of a step", err);
        goto out;
    }
    if (history_read_series(history, &scratch, &series, &self.n_series, err) < 0 ||
        history_read_names(history, &scratch, &names, &n_names, err) < 0 ||
        read_moment(history, step, &scratch, &moment, &to.phase, err) < 0)
        goto out;
    self.series = series;
    to.step = moment.step;
    take_scalars(&to, &moment, names, n_names);
    take_points(&self, &moment);
    add_up(&to, model);
    if (add_ties(&to, model, &scratch, err) < 0)
        goto out;
    *ret_numbers = to;
    status = 0;

out:
    arena_release(&scratch);
    history_let_go(history);
    return status;
}

void at_step_text(struct buf *to, const struct at_step *numbers)
{
    const struct history_step *step = &numbers->step;

    if (step->merged == 0) {
        buf_text(to, "no step was logged");
        if (numbers->asked != STEP_NEWEST)
            buf_printf(to, " at or before %" PRIu64, numbers->asked);
        return;
    }
    if (step->first == step->last)
        buf_printf(to, "step %" PRIu64, step->first);
    else
        buf_printf(to, "steps %" PRIu64 " to %" PRIu64 ", merged", step->first,
                   step->last);
    if (numbers->asked != STEP_NEWEST && step->last < numbers->asked)
        buf_printf(to, ", the newest logged at or before %" PRIu64, numbers->asked);
}
