/* Which series belong to a place: those of the place itself, and of its parameters. */
#include <string.h>

#include "history/curves_in.h"

/* Is the series about the place, by number, or by name if it has no number? */
static bool is_of(const struct history_series *series, uint32_t place, struct str path)
{
    return series->place == HISTORY_NONE ? str_eq(series->name, path)
                                         : series->place == place;
}

/* The part of a parameter's name after the module's, or an empty one if it is not below
 * the module. */
static struct str name_below(struct str name, struct str path)
{
    if (path.len == 0)
        return name;
    if (!str_starts(name, path) || name.len <= path.len || name.at[path.len] != '.')
        return STR("");
    return str_from(name, path.len + 1);
}

/* Is it about a parameter at or below the place? *ret_own: directly below it. */
static bool is_param_of(const struct history_series *series, const struct model *model,
                        uint32_t place, struct str path, bool *ret_own)
{
    uint32_t at = series->place;
    struct str name;

    *ret_own = false;
    if (!history_kind_is_param(series->kind))
        return false;
    if (at != HISTORY_NONE && at >= model->n_places)
        return false;
    if (at != HISTORY_NONE) {
        *ret_own = at == place || model->parent[at] == place;
        return at >= place && at < model->end[place];
    }
    if (str_eq(series->name, path)) {
        *ret_own = true;
        return true;
    }
    name = name_below(series->name, path);
    *ret_own = name.len > 0 && !memchr(name.at, '.', name.len);
    return name.len > 0;
}

/* The parameter to show: `weight` if there is one, else the first. */
static uint32_t choose_param(const struct curves_series *found,
                             const struct model *model, uint32_t place, struct str path,
                             uint8_t phase)
{
    uint32_t chosen = HISTORY_NONE;

    for (uint32_t i = 0; i < found->n; i++) {
        const struct history_series *series = &found->all[i];
        bool own;

        if (series->phase != phase || !is_param_of(series, model, place, path, &own) ||
            !own)
            continue;
        if (str_is(series->name, "weight") || str_ends(series->name, STR(".weight")))
            return i;
        if (chosen == HISTORY_NONE)
            chosen = i;
    }
    return chosen;
}

static void note(uint32_t *to, uint32_t series)
{
    if (*to == HISTORY_NONE)
        *to = series;
}

/* The first series of each kind; the same parameter for all kinds. */
static void sort_out(struct curves_series *found, uint32_t place, struct str path,
                     uint32_t param, uint8_t phase)
{
    for (uint32_t i = 0; i < found->n; i++) {
        const struct history_series *series = &found->all[i];
        bool own = param != HISTORY_NONE && history_kind_is_param(series->kind) &&
                   str_eq(series->name, found->all[param].name);

        if (series->phase != phase || !(own || is_of(series, place, path)))
            continue;
        if (series->kind == HISTORY_OUTPUT)
            note(&found->output, i);
        else if (series->kind == HISTORY_GRAD_OUTPUT)
            note(&found->grad_output, i);
        else if (own && series->kind == HISTORY_PARAM)
            note(&found->param, i);
        else if (own && series->kind == HISTORY_GRAD_PARAM)
            note(&found->grad_param, i);
    }
}

/* Groups the series of all parameters at and below the place. */
static void gather_params(struct curves_series *found, const struct model *model,
                          uint32_t place, struct str path, uint8_t phase)
{
    struct str names[CURVES_PARAMS];
    bool own;

    for (uint32_t i = 0; i < found->n; i++) {
        const struct history_series *series = &found->all[i];
        uint32_t k = 0;

        if (series->phase != phase || !is_param_of(series, model, place, path, &own))
            continue;
        while (k < found->n_params && !str_eq(names[k], series->name))
            k++;
        if (k == CURVES_PARAMS) {
            found->n_params = 0;
            return;
        }
        if (k == found->n_params) {
            names[k] = series->name;
            memset(&found->params[found->n_params++], 0xff, sizeof found->params[0]);
        }
        note(&found->params[k].of[series->kind - HISTORY_PARAM], i);
    }
}

int curves_find(struct history *history, const struct model *model, uint32_t place,
                uint8_t phase, struct arena *arena, struct curves_series *ret_series,
                struct err *err)
{
    struct curves_series found = {.param = HISTORY_NONE,
                                  .grad_param = HISTORY_NONE,
                                  .output = HISTORY_NONE,
                                  .grad_output = HISTORY_NONE};
    struct buf path = BUF_INIT;
    uint32_t param;

    if (history_read_series(history, arena, &found.all, &found.n, err) < 0)
        return -1;
    for (uint32_t i = 0; i < found.n; i++)
        found.all[i].place = history_place(history, found.all[i].place);
    place_path(model, place, &path);
    param = choose_param(&found, model, place, buf_span(&path), phase);
    sort_out(&found, place, buf_span(&path), param, phase);
    gather_params(&found, model, place, buf_span(&path), phase);
    buf_release(&path);
    *ret_series = found;
    return 0;
}
