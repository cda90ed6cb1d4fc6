#include "history/grid.h"

#include <math.h>
#include <string.h>

/* ---- columns ---- */

static int make_lists(struct history_grid *grid, struct arena *arena, struct err *err)
{
    size_t n = (size_t)grid->columns + 1;

    grid->first = arena_array(arena, n, sizeof *grid->first);
    grid->last = arena_array(arena, n, sizeof *grid->last);
    grid->begin_ns = arena_array(arena, n, sizeof *grid->begin_ns);
    grid->last_ns = arena_array(arena, n, sizeof *grid->last_ns);
    grid->merged = arena_array(arena, n, sizeof *grid->merged);
    grid->skipped = arena_array(arena, n, sizeof *grid->skipped);
    grid->segment = arena_array(arena, n, sizeof *grid->segment);
    if (!grid->first || !grid->last || !grid->begin_ns || !grid->last_ns ||
        !grid->merged || !grid->skipped || !grid->segment)
        return arena_err(arena, "the columns", err);
    return 0;
}

/* Column i covers steps from..end. */
static void set_column(struct history_grid *grid, uint32_t i,
                       const struct history_step *steps, uint32_t from, uint32_t end)
{
    grid->first[i] = steps[from].first;
    grid->last[i] = steps[end - 1].last;
    grid->begin_ns[i] = steps[from].wall_ns;
    grid->last_ns[i] = steps[end - 1].last_ns;
    grid->segment[i] = steps[from].segment;
    grid->merged[i] = grid->skipped[i] = 0;
    for (uint32_t k = from; k < end; k++) {
        grid->merged[i] += steps[k].merged;
        grid->skipped[i] += steps[k].skipped;
    }
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
    for (uint32_t i = 0; i < grid->columns; i++)
        set_column(grid, i, steps, (uint32_t)((uint64_t)i * n / grid->columns),
                   (uint32_t)((uint64_t)(i + 1) * n / grid->columns));
    return 0;
}

/* ---- columns of a growing run ---- */

/* Keeps the wanted steps, in place; returns their number. */
static uint32_t keep_wanted(struct history_step *steps, uint32_t n,
                            const struct history_steady *wanted)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n; i++)
        if (!wanted->points || steps[i].points > 0)
            steps[kept++] = steps[i];
    return kept;
}

/* Does a column begin with step i? Step numbers of columns increase, even if the file
 * is damaged. */
static bool begins(const struct history_step *steps, uint32_t i, int shift, bool apart,
                   uint64_t first)
{
    return i == 0 || ((steps[i].id >> shift != steps[i - 1].id >> shift ||
                       (apart && steps[i].segment != steps[i - 1].segment)) &&
                      steps[i].first > first);
}

/* Counts the columns, and sets those of the grid if it has lists. */
static uint32_t divide(struct history_grid *grid, const struct history_step *steps,
                       uint32_t n, int shift, bool apart)
{
    uint32_t columns = 0, from = 0;
    uint64_t first = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (!begins(steps, i, shift, apart, first))
            continue;
        if (grid->first && i > 0)
            set_column(grid, columns - 1, steps, from, i);
        columns++;
        from = i;
        first = steps[i].first;
    }
    if (grid->first && n > 0)
        set_column(grid, columns - 1, steps, from, n);
    return columns;
}

void history_grid_since(struct history_grid *grid, uint64_t since)
{
    uint32_t at = history_column(grid->first, grid->columns, since);

    grid->columns -= at;
    grid->first += at;
    grid->last += at;
    grid->begin_ns += at;
    grid->last_ns += at;
    grid->merged += at;
    grid->skipped += at;
    grid->segment += at;
}

int history_grid_steady(struct history_grid *grid, struct history *history,
                        const struct history_steady *wanted, struct arena *arena,
                        struct err *err)
{
    struct history_range range = {
        .from = wanted->from, .to = wanted->to, .phase = (uint8_t)wanted->phase};
    struct history_step *all, *steps;
    bool apart = true;
    int shift = 0;
    uint32_t n;

    *grid = (struct history_grid){.phase = (uint8_t)wanted->phase};
    if (history_read_steps(history, &range, arena, &all, &n, err) < 0)
        return -1;
    steps = arena_array(arena, (size_t)n + 1, sizeof *steps);
    if (!steps)
        return arena_err(arena, "the columns", err);
    if (n > 0)
        memcpy(steps, all, n * sizeof *steps);
    n = keep_wanted(steps, n, wanted);
    while ((grid->columns = divide(grid, steps, n, shift, apart)) > wanted->most) {
        if (++shift == 64) {
            if (!apart)
                break;
            apart = false;
            shift = 0;
        }
    }
    grid->width = (uint64_t)1 << shift;
    if (make_lists(grid, arena, err) < 0)
        return -1;
    divide(grid, steps, n, shift, apart);
    if (wanted->since > 0 && grid->columns > 0)
        history_grid_since(grid, wanted->since);
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
        .range = {.from = grid->width > 0 ? grid->first[0] : 0,
                  .phase = grid->phase,
                  .to = grid->last[grid->columns - 1]},
        .most = grid->columns,
        .first = grid->width > 0 ? grid->first : NULL,
        .n_first = grid->columns,
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

/* Rounds away from zero to one of 8 steps of a power of two. */
static double round_up(double value)
{
    int exponent;
    double part = frexp(fabs(value), &exponent);

    if (value == 0 || !isfinite(value))
        return value;
    part = copysign(ldexp(ceil(part * 16) / 16, exponent), value);
    return isfinite(part) ? part : value;
}

static double round_down(double value)
{
    int exponent;
    double part = frexp(fabs(value), &exponent);

    return copysign(ldexp(floor(part * 16) / 16, exponent), value);
}

static void make_steady(struct spread_axis *axis)
{
    double low = axis->low < 0 ? round_up(axis->low) : round_down(axis->low);
    double high = axis->high > 0 ? round_up(axis->high) : round_down(axis->high);

    if (isfinite(low) && isfinite(high) && low < high) {
        axis->low = low;
        axis->high = high;
    }
}

/* The axis that shows all of them. False: none. */
static bool find_axis(struct history_shades *shades,
                      const struct history_point *const *points, uint32_t columns,
                      const struct history_shading *how)
{
    struct spread sum = {0}, one = {0};
    bool found, log;

    for (uint32_t i = 0; i < columns; i++)
        if (unpack(points[i], &one))
            (void)spread_merge(&sum, &one, NULL); /* a sum too large stays as it is */
    found = sum.counted > 0;
    if (found) {
        shades->can_log = sum.min < sum.max;
        log = how->axis == AXIS_LOG && shades->can_log;
        if (how->axis == AXIS_CHOSEN)
            log = spread_prefers_log(&sum);
        shades->axis = spread_axis_of(&sum, log, 1 - 2 * how->clip);
        if (how->steady && how->clip == 0 && shades->axis.least == 0)
            make_steady(&shades->axis);
    }
    spread_release(&sum);
    spread_release(&one);
    return found;
}

/* The shares of each column, low end first. */
static void share_out(struct history_shades *shades,
                      const struct history_point *const *points, uint32_t columns,
                      uint32_t rows, double *shares)
{
    double below, above, cut = 0, all = 0;
    struct spread one = {0};

    for (uint32_t i = 0; i < columns; i++) {
        double *column = shares + (size_t)i * rows;

        if (!unpack(points[i], &one))
            continue;
        spread_rows(&one, &shades->axis, column, rows, &below, &above);
        cut += below + above;
        all += (double)one.counted;
        for (uint32_t k = 0; k < rows; k++) {
            column[k] /= (double)one.counted;
            shades->largest = fmax(shades->largest, column[k]);
        }
    }
    shades->cut = all > 0 ? cut / all : 0;
    spread_release(&one);
}

int history_shades_make(struct history_shades *shades,
                        const struct history_point *const *points, uint32_t columns,
                        const struct history_shading *how, struct arena *arena,
                        struct err *err)
{
    uint32_t rows = how->rows;
    double *shares;

    *shades = (struct history_shades){0};
    if (!find_axis(shades, points, columns, how))
        return 0;
    shares = arena_array(arena, (size_t)columns * rows + 1, sizeof *shares);
    shades->codes = arena_array(arena, (size_t)columns * rows + 1, 1);
    if (!shares || !shades->codes)
        return arena_err(arena, "the histograms", err);
    share_out(shades, points, columns, rows, shares);
    if (how->steady)
        shades->largest = fmin(1, round_up(shades->largest));
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
