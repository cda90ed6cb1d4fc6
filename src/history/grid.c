#include "history/grid.h"

#include <math.h>
#include <string.h>

/* ---- columns ---- */

static int make_lists(struct history_grid *grid, struct arena *arena, struct err *err)
{
    size_t n = (size_t)grid->columns + 1;

    grid->first = arena_array(arena, n, sizeof *grid->first);
    grid->last = arena_array(arena, n, sizeof *grid->last);
    grid->merged = arena_array(arena, n, sizeof *grid->merged);
    grid->segment = arena_array(arena, n, sizeof *grid->segment);
    if (!grid->first || !grid->last || !grid->merged || !grid->segment)
        return arena_err(arena, "the columns", err);
    return 0;
}

/* The same groups of steps as history_read_points() makes. */
int history_grid_make(struct history_grid *grid, struct history *history,
                      enum history_phase phase, uint32_t most, struct arena *arena,
                      struct err *err)
{
    struct history_range range = {.phase = (uint8_t)phase};
    struct history_step *steps;
    uint32_t n;

    *grid = (struct history_grid){.phase = (uint8_t)phase};
    if (history_read_steps(history, &range, arena, &steps, &n, err) < 0)
        return -1;
    grid->columns = n < most ? n : most;
    if (make_lists(grid, arena, err) < 0)
        return -1;
    for (uint32_t i = 0; i < grid->columns; i++) {
        uint32_t from = (uint32_t)((uint64_t)i * n / grid->columns);
        uint32_t end = (uint32_t)((uint64_t)(i + 1) * n / grid->columns);

        grid->first[i] = steps[from].first;
        grid->last[i] = steps[end - 1].last;
        grid->segment[i] = steps[from].segment;
        grid->merged[i] = 0;
        for (uint32_t k = from; k < end; k++)
            grid->merged[i] += steps[k].merged;
    }
    return 0;
}

uint32_t history_column(const uint64_t *first, uint32_t n, uint64_t step)
{
    uint32_t low = 0, high = n;

    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;

        if (first[middle] <= step)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static struct history_wanted wanted_of(const struct history_grid *grid, uint32_t series)
{
    return (struct history_wanted){
        .series = series,
        .range = {.phase = grid->phase, .to = grid->last[grid->columns - 1]},
        .most = grid->columns,
        .each = grid->each,
        .histograms = true};
}

/* An array with a NULL for each column. */
static void *make_row(const struct history_grid *grid, struct arena *arena,
                      struct err *err)
{
    const void **row = arena_array(arena, (size_t)grid->columns + 1, sizeof *row);

    if (!row)
        arena_err(arena, "the columns", err);
    else
        memset(row, 0, ((size_t)grid->columns + 1) * sizeof *row);
    return row;
}

int history_grid_points(const struct history_grid *grid, struct history *history,
                        uint32_t series, struct arena *arena,
                        const struct history_point ***ret_points, struct err *err)
{
    const struct history_point **row = make_row(grid, arena, err);
    struct history_wanted wanted;
    struct history_sample *samples;
    uint32_t n = 0;

    if (!row)
        return -1;
    if (grid->columns > 0) {
        wanted = wanted_of(grid, series);
        if (history_read_points(history, &wanted, arena, &samples, &n, err) < 0)
            return -1;
    }
    for (uint32_t i = 0; i < n; i++)
        row[history_column(grid->first, grid->columns, samples[i].step.first)] =
            &samples[i].point;
    *ret_points = row;
    return 0;
}

int history_grid_scalars(const struct history_grid *grid, struct history *history,
                         uint32_t name, struct arena *arena,
                         const struct history_scalar ***ret_scalars, struct err *err)
{
    const struct history_scalar **row = make_row(grid, arena, err);
    struct history_wanted wanted;
    struct history_scalar_sample *samples;
    uint32_t n = 0;

    if (!row)
        return -1;
    if (grid->columns > 0) {
        wanted = wanted_of(grid, name);
        if (history_read_scalars(history, &wanted, arena, &samples, &n, err) < 0)
            return -1;
    }
    for (uint32_t i = 0; i < n; i++)
        row[history_column(grid->first, grid->columns, samples[i].step.first)] =
            &samples[i].scalar;
    *ret_scalars = row;
    return 0;
}

/* ---- shades ---- */

static bool unpack(const struct history_point *point, struct spread *spread)
{
    return point && point->histogram.len > 0 &&
           spread_unpack(bytes_of(point->histogram.at, point->histogram.len), spread,
                         NULL) == 0 &&
           spread->counted > 0;
}

/* The axis that shows all of them. False: there is none. */
static bool find_axis(struct history_shades *shades,
                      const struct history_point *const *points, uint32_t columns)
{
    struct spread sum = {0}, one = {0};
    bool found;

    for (uint32_t i = 0; i < columns; i++)
        if (unpack(points[i], &one))
            (void)spread_merge(&sum, &one, NULL); /* a sum too large stays as it is */
    found = sum.counted > 0;
    if (found)
        shades->axis = spread_axis_of(&sum, spread_prefers_log(&sum), 1);
    spread_release(&sum);
    spread_release(&one);
    return found;
}

int history_shades_make(struct history_shades *shades,
                        const struct history_point *const *points, uint32_t columns,
                        uint32_t rows, struct arena *arena, struct err *err)
{
    struct spread one = {0};
    double *shares;

    *shades = (struct history_shades){0};
    if (!find_axis(shades, points, columns))
        return 0;
    shares = arena_array(arena, (size_t)columns * rows + 1, sizeof *shares);
    shades->codes = arena_array(arena, (size_t)columns * rows + 1, 1);
    if (!shares || !shades->codes)
        return arena_err(arena, "the histograms", err);
    memset(shares, 0, ((size_t)columns * rows + 1) * sizeof *shares);
    for (uint32_t i = 0; i < columns; i++) {
        double *column = shares + (size_t)i * rows; /* low end first */

        if (!unpack(points[i], &one))
            continue;
        spread_rows(&one, &shades->axis, column, rows, NULL, NULL);
        for (uint32_t k = 0; k < rows; k++) {
            column[k] /= (double)one.counted;
            shades->largest = fmax(shades->largest, column[k]);
        }
    }
    spread_release(&one);
    for (uint32_t i = 0; i < columns; i++)
        for (uint32_t k = 0; k < rows; k++) {
            double share = shares[(size_t)i * rows + rows - 1 - k];

            shades->codes[(size_t)k * columns + i] =
                share > 0 ? (uint8_t)fmax(1, round(255 * sqrt(share / shades->largest)))
                          : 0;
        }
    shades->rows = rows;
    return 0;
}
