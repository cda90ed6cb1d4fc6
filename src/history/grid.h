/* grid.h - a history in few columns: every series and every scalar of a phase over the
 * same groups of steps, for a page that shows all of them. */
#ifndef HISTORY_GRID_H
#define HISTORY_GRID_H

#include "history/reader.h"
#include "measure/spread.h"

struct history_grid {
    uint8_t phase; /* enum history_phase */
    uint32_t columns;
    uint32_t each; /* steps of a column whose points are read; 0: all. The caller may
                      set it */
    /* By column: */
    uint64_t *first, *last; /* step numbers */
    uint32_t *merged;       /* logged steps */
    uint32_t *segment;      /* of the first step */
};

/* At most so many columns. */
int history_grid_make(struct history_grid *grid, struct history *history,
                      enum history_phase phase, uint32_t most, struct arena *arena,
                      struct err *err);
/* The column that holds a step, or the nearest, of n columns that begin with the steps
 * `first`; 0 if there is none. */
uint32_t history_column(const uint64_t *first, uint32_t n, uint64_t step);

/* The points of a series (of a scalar), by column; NULL where it has none. */
int history_grid_points(const struct history_grid *grid, struct history *history,
                        uint32_t series, struct arena *arena,
                        const struct history_point ***ret_points, struct err *err);
int history_grid_scalars(const struct history_grid *grid, struct history *history,
                         uint32_t name, struct arena *arena,
                         const struct history_scalar ***ret_scalars, struct err *err);

/* Histograms over columns as shades. */
struct history_shades {
    struct spread_axis axis;
    uint32_t rows;  /* 0: there are no histograms */
    double largest; /* the largest share of a column's elements in one cell */
    uint8_t *codes; /* (rows, columns), row 0 at the high end of the axis: 0 for none,
                       else 255 times the root of share / largest, at least 1 */
};
int history_shades_make(struct history_shades *shades,
                        const struct history_point *const *points, uint32_t columns,
                        uint32_t rows, struct arena *arena, struct err *err);

#endif
