#include "history/modules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint32_t history_series_module(const struct history_series *series,
                               const struct model *model)
{
    uint32_t place = series->place;

    if (place >= model->n_places)
        return NO_PLACE;
    if (series->kind >= HISTORY_PARAM && place > 0 &&
        model->kind[place] == PLACE_TENSOR)
        return model->parent[place];
    return place;
}

int history_modules_init(struct history_modules *modules, const struct model *model,
                         uint32_t columns, struct arena *arena, struct err *err)
{
    *modules =
        (struct history_modules){.model = model, .arena = arena, .columns = columns};
    modules->index =
        arena_array(arena, (size_t)model->n_places + 1, sizeof *modules->index);
    if (!modules->index)
        return arena_err(arena, "the modules", err);
    for (uint32_t i = 0; i < model->n_places; i++)
        modules->index[i] = HISTORY_NONE;
    return 0;
}

static double *make_numbers(struct history_modules *modules)
{
    double *numbers =
        arena_array(modules->arena, (size_t)modules->columns + 1, sizeof *numbers);

    for (uint32_t i = 0; numbers && i < modules->columns; i++)
        numbers[i] = NAN;
    return numbers;
}

/* The module of this place; NULL: no memory. */
static struct history_module *module_at(struct history_modules *modules, uint32_t place)
{
    struct history_module new = {.place = place, .first_bad = modules->columns};

    if (modules->index[place] != HISTORY_NONE)
        return &modules->at[modules->index[place]];
    new.gradient = make_numbers(modules);
    new.ratio = make_numbers(modules);
    new.dead = make_numbers(modules);
    new.bad = arena_array(modules->arena, (size_t)modules->columns + 1, 1);
    if (!new.gradient || !new.ratio || !new.dead || !new.bad ||
        arena_room(modules->arena, &modules->at, modules->n, &modules->room,
                   sizeof *modules->at) < 0)
        return NULL;
    memset(new.bad, 0, (size_t)modules->columns + 1);
    modules->index[place] = modules->n;
    modules->at[modules->n] = new;
    return &modules->at[modules->n++];
}

static void add_gradient(struct history_module *to, uint32_t column, double norm)
{
    double before = to->gradient[column];

    to->has_gradient = true;
    to->gradient[column] = (isnan(before) ? 0 : before) + norm * norm;
}

/* The mean ratio of the steps of a column. */
static void add_ratio(struct history_module *to, uint32_t column,
                      const struct history_point *point)
{
    const struct history_number *ratio = &point->extra[EXTRA_RATIO];

    if (ratio->n == 0)
        return;
    to->has_ratio = true;
    to->ratio[column] = history_number_mean(ratio);
}

static void add_dead(struct history_module *to, uint32_t column,
                     const struct history_point *point)
{
    const struct history_number *dead = &point->extra[EXTRA_DEAD];

    if (dead->n == 0 || point->units == 0)
        return;
    to->has_dead = true;
    to->dead[column] = history_number_mean(dead) / (double)point->units;
}

/* Is this parameter larger than the one whose ratio is shown? Then it takes over. */
static bool leads(struct history_module *module, const struct history_series *series,
                  const struct history_point *const *points, uint32_t columns)
{
    uint64_t count = 0;

    if (series->kind < HISTORY_PARAM)
        return false;
    for (uint32_t i = 0; i < columns && count == 0; i++)
        if (points[i] && points[i]->extra[EXTRA_RATIO].n > 0)
            count = points[i]->stats.count;
    if (count <= module->ratio_count)
        return false;
    module->ratio_count = count;
    for (uint32_t i = 0; i < columns; i++)
        module->ratio[i] = NAN;
    return true;
}

int history_modules_add(struct history_modules *modules,
                        const struct history_series *series,
                        const struct history_point *const *points, struct err *err)
{
    uint32_t place = history_series_module(series, modules->model);
    struct history_module *to;
    bool bad, leading;

    if (place == NO_PLACE)
        return 0;
    to = module_at(modules, place);
    if (!to)
        return arena_err(modules->arena, "the modules", err);
    leading = leads(to, series, points, modules->columns);
    for (uint32_t i = 0; i < modules->columns; i++) {
        double norm;

        if (!points[i])
            continue;
        norm = history_point_norm(points[i]);
        bad = !isfinite(norm);
        if (bad) {
            to->bad[i] = 1;
            to->first_bad = i < to->first_bad ? i : to->first_bad;
        }
        if (series->kind == HISTORY_GRAD_PARAM && !bad)
            add_gradient(to, i, norm);
        if (leading)
            add_ratio(to, i, points[i]);
        if (series->kind == HISTORY_OUTPUT && series->call == 0)
            add_dead(to, i, points[i]);
    }
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct history_module *left = a, *right = b;

    return left->place < right->place ? -1 : left->place > right->place;
}

static bool has_params(const struct model *model, uint32_t place)
{
    for (uint32_t c = place_first(model, place); c != NO_PLACE;
         c = place_next(model, c))
        if (model->kind[c] == PLACE_TENSOR && !(model->flags[c] & PLACE_EMPTY))
            return true;
    return false;
}

void history_modules_finish(struct history_modules *modules)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < modules->n; i++) {
        struct history_module *module = &modules->at[i];

        if (!module->has_gradient && !module->has_ratio && !module->has_dead &&
            !has_params(modules->model, module->place))
            continue;
        for (uint32_t k = 0; k < modules->columns; k++)
            module->gradient[k] = sqrt(module->gradient[k]);
        modules->at[n++] = *module;
    }
    modules->n = n;
    if (n > 1)
        qsort(modules->at, n, sizeof *modules->at, by_place);
}
