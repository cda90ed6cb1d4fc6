/* modules.h - what each module did over the columns of a grid: the norm of the gradients
 * of its own parameters, how much the optimizer changed them, dead units, and where
 * something was not finite. Add the points of all series, then finish. */
#ifndef HISTORY_MODULES_H
#define HISTORY_MODULES_H

#include "history/grid.h"
#include "model/model.h"

/* By column; NaN where nothing was logged. */
struct history_module {
    uint32_t place;
    bool has_gradient, has_ratio, has_dead;
    double *gradient;     /* root of the sum of squares */
    double *ratio;        /* of its largest parameter: update / parameter */
    double *dead;         /* share of the units of its result */
    uint8_t *bad;         /* 1: something is NaN or infinite */
    uint32_t first_bad;   /* column; `columns` if there is none */
    uint64_t ratio_count; /* private: elements of that parameter */
};

struct history_modules {
    const struct model *model;
    struct arena *arena;
    uint32_t columns;
    struct history_module *at; /* in the order of the model, once finished */
    uint32_t n, room;
    uint32_t *index; /* private: by place */
};

int history_modules_init(struct history_modules *modules, const struct model *model,
                         uint32_t columns, struct arena *arena, struct err *err);
int history_modules_add(struct history_modules *modules,
                        const struct history_series *series,
                        const struct history_point *const *points, struct err *err);
/* Leaves out modules without parameters, dead units and trouble. */
void history_modules_finish(struct history_modules *modules);

/* The module that a series is about: of a parameter, the one that holds it; NO_PLACE if
 * unknown. */
uint32_t history_series_module(const struct history_series *series,
                               const struct model *model);

#endif
