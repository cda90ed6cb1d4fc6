/* Which series belong to a place: those of the place itself, and of its parameters. */
#include <string.h>

#include "history/curves_in.h"

/* Is the series about the place, by number, or by name if it has no number? */
static bool is_of(const struct history_series *series, uint32_t place, struct str path)
{
    return series->place == HISTORY_NONE ? str_eq(series->name, path)
                                         : series->place == place;
}

/* Is it about a parameter directly below the module? */
static bool is_param_of(const struct history_series *series, const struct model *model,
                        uint32_t place, struct str path)
{
    struct str name = series->name;

    if (series->kind < HISTORY_PARAM)
        return false;
    if (series->place != HISTORY_NONE)
        return series->place == place || (series->place < model->n_places &&
                                          model->parent[series->place] == place);
    if (path.len > 0) {
        if (!str_starts(name, path) || name.len <= path.len || name.at[path.len] != '.')
            return false;
        name = str_span(name.at + path.len + 1, name.len - path.len - 1);
    }
    return name.len > 0 && !memchr(name.at, '.', name.len);
}

/* The parameter to show: `weight` if there is one, else the first. */
static uint32_t choose_param(const struct curves_series *found,
                             const struct model *model, uint32_t place, struct str path,
                             uint8_t phase)
{
    uint32_t chosen = HISTORY_NONE;

    for (uint32_t i = 0; i < found->n; i++) {
        const struct history_series *series = &found->all[i];

        if (series->phase != phase || !is_param_of(series, model, place, path))
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
        bool own = param != HISTORY_NONE && series->kind >= HISTORY_PARAM &&
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
        else if (own && series->kind == HISTORY_UPDATE)
            note(&found->update, i);
    }
}

int curves_find(struct history *history, const struct model *model, uint32_t place,
                uint8_t phase, struct arena *arena, struct curves_series *ret_series,
                struct err *err)
{
    struct curves_series found = {
        HISTORY_NONE, HISTORY_NONE, HISTORY_NONE, HISTORY_NONE, HISTORY_NONE, NULL, 0};
    struct buf path = BUF_INIT;
    uint32_t param = HISTORY_NONE;

    if (history_read_series(history, arena, &found.all, &found.n, err) < 0)
        return -1;
    place_path(model, place, &path);
    if (model->kind[place] == PLACE_TENSOR) {
        for (uint32_t i = 0; i < found.n && param == HISTORY_NONE; i++)
            if (found.all[i].kind >= HISTORY_PARAM && found.all[i].phase == phase &&
                (is_of(&found.all[i], place, buf_span(&path)) ||
                 str_eq(found.all[i].name, buf_span(&path))))
                param = i;
    } else {
        param = choose_param(&found, model, place, buf_span(&path), phase);
    }
    sort_out(&found, place, buf_span(&path), param, phase);
    buf_release(&path);
    *ret_series = found;
    return 0;
}
