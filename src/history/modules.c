#include "history/modules.h"

#include <math.h>
#include <string.h>

/* A place, by column. */
struct module_row {
    struct step_numbers *now;
    uint8_t *bad;
};

int history_modules_init(struct history_modules *modules, const struct history *history,
                         const struct model *model, uint32_t columns,
                         struct arena *arena, struct err *err)
{
    *modules = (struct history_modules){
        .history = history, .model = model, .arena = arena, .columns = columns};
    modules->rows =
        arena_array(arena, (size_t)model->n_places + 1, sizeof *modules->rows);
    return modules->rows ? 0 : arena_err(arena, "the modules", err);
}

/* The row of a place, made if there is none; NULL: no memory. */
static struct module_row *row_at(struct history_modules *modules, uint32_t place)
{
    size_t n = (size_t)modules->columns + 1;
    struct module_row *row = modules->rows[place];

    if (row)
        return row;
    row = arena_alloc(modules->arena, sizeof *row);
    if (!row)
        return NULL;
    row->now = arena_array(modules->arena, n, sizeof *row->now);
    row->bad = arena_array(modules->arena, n, 1);
    if (!row->now || !row->bad)
        return NULL;
    modules->rows[place] = row;
    return row;
}

int history_modules_add(struct history_modules *modules,
                        const struct history_series *series,
                        const struct history_point *const *points, struct err *err)
{
    uint32_t place = at_step_place(modules->history, modules->model, series);
    struct module_row *row;

    if (place == NO_PLACE)
        return 0;
    row = row_at(modules, place);
    if (!row)
        return arena_err(modules->arena, "the modules", err);
    for (uint32_t i = 0; i < modules->columns; i++) {
        if (!points[i])
            continue;
        step_numbers_take(&row->now[i], (enum history_kind)series->kind, points[i]);
        row->bad[i] |= !isfinite(history_point_norm(points[i]));
    }
    return 0;
}

/* Adds the numbers of a place to its parent: of parameters, and where they are bad. */
static void add_up(struct history_modules *modules, uint32_t place,
                   struct module_row *to)
{
    const struct module_row *from = modules->rows[place];
    bool tensor = modules->model->kind[place] == PLACE_TENSOR;

    for (uint32_t i = 0; i < modules->columns; i++) {
        step_numbers_add(&to->now[i], &from->now[i]);
        to->bad[i] |= tensor && from->bad[i];
    }
}

static bool has_params(const struct model *model, uint32_t place)
{
    for (uint32_t c = place_first(model, place); c != NO_PLACE;
         c = place_next(model, c))
        if (model->kind[c] == PLACE_TENSOR && !(model->flags[c] & PLACE_EMPTY))
            return true;
    return false;
}

static void take_module(struct history_modules *modules, uint32_t place)
{
    const struct module_row *row = modules->rows[place];
    struct history_module module = {.place = place, .now = row->now, .bad = row->bad};

    for (uint32_t i = 0; i < modules->columns; i++)
        module.known |= row->now[i].known;
    if (module.known >> STEP_DEAD & 1 || has_params(modules->model, place))
        modules->at[modules->n++] = module;
}

int history_modules_finish(struct history_modules *modules, struct err *err)
{
    const struct model *model = modules->model;
    uint32_t n = 0;

    /* Children follow their parents. */
    for (uint32_t p = model->n_places; p-- > 0;) {
        struct module_row *row = modules->rows[p], *to;

        if (!row)
            continue;
        for (uint32_t i = 0; i < modules->columns; i++)
            if (model->kind[p] == PLACE_TENSOR)
                step_numbers_close(&row->now[i]);
        n += model->kind[p] != PLACE_TENSOR;
        if (p == 0)
            continue;
        to = row_at(modules, model->parent[p]);
        if (!to)
            return arena_err(modules->arena, "the modules", err);
        add_up(modules, p, to);
    }
    modules->at = arena_array(modules->arena, (size_t)n + 1, sizeof *modules->at);
    if (!modules->at)
        return arena_err(modules->arena, "the modules", err);
    for (uint32_t p = 0; p < model->n_places; p++)
        if (modules->rows[p] && model->kind[p] != PLACE_TENSOR)
            take_module(modules, p);
    return 0;
}
