/* modules.h - the numbers of at_step.h for each module over the columns of a grid, and
 * the columns with non-finite values. Add the points of all series, then call
 * finish. */
#ifndef HISTORY_MODULES_H
#define HISTORY_MODULES_H

#include "history/at_step.h"
#include "history/grid.h"
#include "model/model.h"

struct history_module {
    uint32_t place;
    unsigned known;                 /* in any column: bits 1 << enum step_number */
    const struct step_numbers *now; /* by column */
    const uint8_t *bad;             /* by column; 1: something is NaN or infinite */
};

struct history_modules {
    const struct history *history;
    const struct model *model;
    struct arena *arena;
    uint32_t columns;
    struct history_module *at; /* in the order of the model, once finished */
    uint32_t n;
    struct module_row **rows; /* private: by place */
};

int history_modules_init(struct history_modules *modules, const struct history *history,
                         const struct model *model, uint32_t columns,
                         struct arena *arena, struct err *err);
int history_modules_add(struct history_modules *modules,
                        const struct history_series *series,
                        const struct history_point *const *points, struct err *err);
/* Skips modules that were not logged, and those with neither parameters of their own nor
 * dead units. */
int history_modules_finish(struct history_modules *modules, struct err *err);

#endif
