/* grid.h - a history in a few columns: all series and scalars of a phase over the same
 * groups of steps, for a page that shows them together. */
#ifndef HISTORY_GRID_H
#define HISTORY_GRID_H

#include "history/reader.h"
#include "measure/spread.h"

struct history_grid {
    uint8_t phase; /* enum history_phase */
    uint32_t columns;
    uint32_t each;  /* steps to read per column; 0: all. The caller may set it */
    uint64_t width; /* logged steps per column, for history_grid_steady(); else 0 */
    /* By column: */
    uint64_t *first, *last;       /* step numbers */
    uint64_t *begin_ns, *last_ns; /* when the first and the last step began */
    uint32_t *merged;             /* logged steps */
    uint32_t *skipped;            /* of these: skipped by the gradient scaler */
    uint32_t *segment;            /* of the first step */
};

/* Makes at most `most` columns. */
int history_grid_make(struct history_grid *grid, struct history *history,
                      enum history_phase phase, uint32_t most, struct arena *arena,
                      struct err *err);
/* Columns for a run in progress: boundaries do not move when steps are added; when
 * there are too many columns, all are merged in pairs. A column covers a power of two
 * of logged steps (of any phase) within one segment. */
struct history_steady {
    enum history_phase phase;
    uint64_t from, to; /* step numbers, inclusive; to 0: up to the newest */
    uint32_t most;     /* columns: the result has between most / 2 and most, if there
                          are enough steps */
    bool points;       /* only steps with points; false: also steps with scalars only */
    uint64_t since;    /* only columns from the one that holds this step on */
};
int history_grid_steady(struct history_grid *grid, struct history *history,
                        const struct history_steady *wanted, struct arena *arena,
                        struct err *err);
/* Keeps only the column that holds this step, and later ones. */
void history_grid_since(struct history_grid *grid, uint64_t since);
/* The index of the column that holds a step, or of the nearest one. Column i of n
 * begins with step first[i]. 0 if n is 0. */
uint32_t history_column(const uint64_t *first, uint32_t n, uint64_t step);

/* The points of a series (of a scalar) by column; NULL for a column without one. */
int history_grid_points(const struct history_grid *grid, struct history *history,
                        uint32_t series, struct arena *arena,
                        const struct history_point ***ret_points, struct err *err);
int history_grid_scalars(const struct history_grid *grid, struct history *history,
                         uint32_t name, struct arena *arena,
                         const struct history_scalar ***ret_scalars, struct err *err);

/* Histograms over columns as shades. */
struct history_shading {
    uint32_t rows;
    enum { AXIS_CHOSEN, AXIS_LINEAR, AXIS_LOG } axis;
    double clip; /* share of elements to cut at each end of the axis */
    /* Round the axis and `largest`, so that new columns seldom change them. */
    bool steady;
};
struct history_shades {
    struct spread_axis axis;
    bool can_log;   /* a logarithmic axis is possible */
    double cut;     /* share of all elements outside the axis */
    uint32_t rows;  /* 0: no histograms */
    double largest; /* the largest share of a column's elements in one cell */
    uint8_t *codes; /* (rows, columns), row 0 at the high end of the axis: 0 for none,
                       else 255 times the root of share / largest, at least 1 */
};
int history_shades_make(struct history_shades *shades,
                        const struct history_point *const *points, uint32_t columns,
                        const struct history_shading *how, struct arena *arena,
                        struct err *err);

#endif
