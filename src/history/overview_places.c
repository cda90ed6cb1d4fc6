/* Finds the places of the model with series at or below them, and the series to
 * read. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "history/overview_in.h"

#define PLACES_LIMIT (256 * MIB)

/* ---- series ---- */

static int take_series(struct overview_file *file, const struct history_series *series,
                       uint32_t n, struct err *err)
{
    struct arena *arena = &file->arena;

    file->n_series = n;
    file->series_at = arena_array(arena, (size_t)n + 1, sizeof *file->series_at);
    file->series_kind = arena_array(arena, (size_t)n + 1, 1);
    file->series_phase = arena_array(arena, (size_t)n + 1, 1);
    file->series_units = arena_array(arena, (size_t)n + 1, sizeof(bool));
    if (!file->series_at || !file->series_kind || !file->series_phase ||
        !file->series_units)
        return arena_err(arena, "the modules", err);
    for (uint32_t i = 0; i < n; i++) {
        file->series_kind[i] = series[i].kind;
        file->series_phase[i] = series[i].phase;
        file->series_at[i] =
            file->other ? place_find(file->model, series[i].name)
                        : at_step_place(file->history, file->model, &series[i]);
    }
    return 0;
}

/* ---- places ---- */

static void mark(const struct model *model, uint8_t *marks, uint32_t place, uint8_t how)
{
    while (place < model->n_places && marks[place] < how) {
        marks[place] = how;
        if (place == 0)
            break;
        place = model->parent[place];
    }
}

/* Marks the places of series, those above them, and modules above parameters (2). */
static uint8_t *mark_places(struct overview_file *file, const struct step_tie *ties,
                            uint32_t n_ties, struct err *err)
{
    const struct model *model = file->model;
    uint8_t *marks = arena_array(&file->arena, (size_t)model->n_places + 1, 1);

    if (!marks) {
        arena_err(&file->arena, "the modules", err);
        return NULL;
    }
    for (uint32_t i = 0; i < file->n_series; i++)
        mark(model, marks, file->series_at[i],
             history_kind_is_param(file->series_kind[i]) ? 2 : 1);
    for (uint32_t i = 0; i < n_ties; i++)
        if (marks[ties[i].first])
            mark(model, marks, ties[i].place, 2);
    return marks;
}

static int list_ties(struct overview_file *file, const uint32_t *index,
                     const uint8_t *marks, const struct step_tie *ties, uint32_t n,
                     struct err *err)
{
    file->ties = arena_array(&file->arena, (size_t)n + 1, sizeof *file->ties);
    if (!file->ties)
        return arena_err(&file->arena, "the modules", err);
    for (uint32_t i = 0; i < n; i++)
        if (marks[ties[i].first])
            file->ties[file->n_ties++] = (struct overview_tie){
                index[ties[i].place], index[ties[i].first], index[ties[i].top]};
    return 0;
}

static int list_places(struct overview_file *file, const uint8_t *marks,
                       const struct step_tie *ties, uint32_t n_ties, struct err *err)
{
    const struct model *model = file->model;
    uint32_t *index, n = 0;

    for (uint32_t p = 0; p < model->n_places; p++)
        n += marks[p] > 0;
    file->places = arena_array(&file->arena, (size_t)n + 1, sizeof *file->places);
    file->modules = arena_array(&file->arena, (size_t)n + 1, sizeof *file->modules);
    index = arena_array(&file->arena, (size_t)model->n_places + 1, sizeof *index);
    if (!file->places || !file->modules || !index)
        return arena_err(&file->arena, "the modules", err);
    for (uint32_t p = 0; p < model->n_places; p++) {
        struct overview_place *to = &file->places[file->n_places];

        if (marks[p] == 0)
            continue;
        index[p] = file->n_places++;
        to->place = p;
        to->parent = p > 0 ? index[model->parent[p]] : HISTORY_NONE;
        to->module = HISTORY_NONE;
        if (model->kind[p] != PLACE_TENSOR) {
            to->module = file->n_modules;
            file->modules[file->n_modules++] = p;
        }
    }
    for (uint32_t i = 0; i < file->n_series; i++)
        file->series_at[i] = file->series_at[i] < model->n_places
                                 ? index[file->series_at[i]]
                                 : HISTORY_NONE;
    return list_ties(file, index, marks, ties, n_ties, err);
}

static int make_scratch(struct overview_file *file, struct err *err)
{
    size_t n = (size_t)file->n_places + 1;

    file->now = arena_array(&file->arena, n, sizeof *file->now);
    file->high = arena_array(&file->arena, n, sizeof *file->high);
    file->low = arena_array(&file->arena, n, sizeof *file->low);
    if (!file->now || !file->high || !file->low)
        return arena_err(&file->arena, "the modules", err);
    return 0;
}

int overview_places_make(struct overview_file *file, struct err *err)
{
    struct history_series *series;
    struct step_tie *ties;
    struct arena scratch;
    uint8_t *marks;
    uint32_t n, n_ties;
    int status = -1;

    arena_release(&file->arena);
    arena_init(&file->arena, PLACES_LIMIT);
    arena_init(&scratch, PLACES_LIMIT);
    file->n_places = file->n_modules = file->n_series = file->n_ties = 0;
    if (history_read_series(file->history, &scratch, &series, &n, err) < 0 ||
        take_series(file, series, n, err) < 0 ||
        step_ties_list(file->model, &scratch, &ties, &n_ties, err) < 0)
        goto out;
    marks = mark_places(file, ties, n_ties, err);
    if (marks && list_places(file, marks, ties, n_ties, err) == 0 &&
        make_scratch(file, err) == 0)
        status = overview_spans_make(file, err);

out:
    arena_release(&scratch);
    return status;
}

/* ---- spans ---- */

enum span_of { SPAN_PARAMS, SPAN_UPDATES, SPAN_UNITS, SPAN_WHOLE };

static bool is_in(const struct overview_file *file, uint32_t series, enum span_of of)
{
    uint8_t kind = file->series_kind[series];

    if (of == SPAN_PARAMS)
        return kind == HISTORY_PARAM || kind == HISTORY_GRAD_PARAM;
    if (of == SPAN_UPDATES)
        return kind == HISTORY_UPDATE;
    if (of == SPAN_UNITS)
        return file->series_units[series];
    return history_kind_is_param(kind) || kind == HISTORY_OUTPUT ||
           kind == HISTORY_GRAD_OUTPUT || kind == HISTORY_GRAD_INPUT;
}

static int add_span(struct series_spans *to, uint32_t *room, struct arena *arena,
                    uint32_t series, struct err *err)
{
    to->points++;
    if (to->n > 0 && series == to->at[to->n - 1].to + 1) {
        to->at[to->n - 1].to = series;
        return 0;
    }
    if (arena_room(arena, &to->at, to->n, room, sizeof *to->at) < 0)
        return arena_err(arena, "the modules", err);
    to->at[to->n++] = (struct series_span){series, series};
    return 0;
}

static int make_spans(struct overview_file *file, uint8_t phase, enum span_of of,
                      struct series_spans *to, struct err *err)
{
    uint32_t room = 0;

    *to = (struct series_spans){0};
    for (uint32_t i = 0; i < file->n_series; i++)
        if (file->series_phase[i] == phase && file->series_at[i] != HISTORY_NONE &&
            is_in(file, i, of) && add_span(to, &room, &file->arena, i, err) < 0)
            return -1;
    return 0;
}

int overview_spans_make(struct overview_file *file, struct err *err)
{
    file->units_changed = false;
    for (uint8_t i = 0; i < HISTORY_PHASES; i++) {
        struct series_phase *phase = &file->phases[i];

        if (make_spans(file, i, SPAN_PARAMS, &phase->params, err) < 0 ||
            make_spans(file, i, SPAN_UPDATES, &phase->updates, err) < 0 ||
            make_spans(file, i, SPAN_UNITS, &phase->units, err) < 0 ||
            make_spans(file, i, SPAN_WHOLE, &phase->whole, err) < 0)
            return -1;
    }
    return 0;
}
