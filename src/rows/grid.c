#include "rows/grid.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/glyph.h"
#include "text/width.h"

#define FIRST_ROWS    2
#define FIRST_COLUMNS 5

int grid_first(struct slice *slice, const int64_t *shape, int rank, struct err *err)
{
    uint64_t rows = FIRST_ROWS;

    if (slice_all(slice, shape, rank, err) < 0)
        return -1;
    if (rank > 0)
        slice_cut(slice, rank - 1, FIRST_COLUMNS);
    for (int i = rank - 2; i >= 0; i--) {
        slice_cut(slice, i, rows);
        if (slice->dims[i].n > 1)
            rows = 1;
    }
    return 0;
}

/* ---- one format for all ---- */

/* Four decimals are too few for values below 0.01 and too many for large ones. */
const char *grid_format(const struct cells *cells)
{
    bool two = cells->kind == CELL_COMPLEX || cells->kind == CELL_PAIR;
    double most = 0;

    if (!cells->reals)
        return "";
    for (uint64_t i = 0; i < cells->n * (two ? 2 : 1); i++) {
        double size = fabs(cells->reals[i]);

        if (isfinite(size) && size > most)
            most = size;
    }
    return most != 0 && (most < 0.01 || most >= 1e5) ? "%.3e" : "%.4f";
}

static int real_cell(char *to, size_t room, const char *format, double value)
{
    if (isnan(value))
        return snprintf(to, room, "NaN");
    if (isinf(value))
        return snprintf(to, room, value > 0 ? "Inf" : "-Inf");
    if (strcmp(format, "%.3e") == 0)
        return snprintf(to, room, "%.3e", value);
    return snprintf(to, room, "%.4f", value);
}

void grid_cell(char to[GRID_CELL], const struct cells *cells, uint64_t i,
               const char *format)
{
    int n;

    switch (cells->kind) {
    case CELL_BOOL:
        snprintf(to, GRID_CELL, "%s", cells->integers[i] ? "True" : "False");
        break;
    case CELL_INT:
        snprintf(to, GRID_CELL, "%lld", (long long)cells->integers[i]);
        break;
    case CELL_UINT:
        snprintf(to, GRID_CELL, "%llu", (unsigned long long)cells->integers[i]);
        break;
    case CELL_REAL:
        real_cell(to, GRID_CELL, format, cells->reals[i]);
        break;
    case CELL_PAIR:
        n = real_cell(to, GRID_CELL, format, cells->reals[2 * i]);
        to[n++] = '|';
        real_cell(to + n, GRID_CELL - (size_t)n, format, cells->reals[2 * i + 1]);
        break;
    case CELL_COMPLEX:
        n = real_cell(to, GRID_CELL, format, cells->reals[2 * i]);
        if (!signbit(cells->reals[2 * i + 1]) || isnan(cells->reals[2 * i + 1]))
            to[n++] = '+';
        n += real_cell(to + n, GRID_CELL - (size_t)n, format, cells->reals[2 * i + 1]);
        snprintf(to + n, GRID_CELL - (size_t)n, "j");
        break;
    }
}

/* ---- lines ---- */

/* The dimension along a line: the last that is not a single index, or -1. */
static int line_dim(const struct slice *slice)
{
    int dim = slice->rank - 1;

    while (dim >= 0 && slice->dims[dim].single)
        dim--;
    return dim;
}

static void range_text(struct buf *to, const struct slice_dim *dim, uint64_t first,
                       uint64_t n)
{
    int64_t start = dim->start + (int64_t)first * dim->step;
    int64_t stop = start + (int64_t)(n - 1) * dim->step + (dim->step > 0 ? 1 : -1);

    buf_printf(to, "%lld:", (long long)start);
    if (stop >= 0)
        buf_printf(to, "%lld", (long long)stop);
    if (dim->step != 1)
        buf_printf(to, ":%lld", (long long)dim->step);
}

/* "[83, 220:225]" for `n` elements of line `line`, starting at `first`. */
static void line_label(struct buf *to, const struct slice *slice, int along,
                       uint64_t line, uint64_t first, uint64_t n)
{
    uint64_t lines = 1, below;

    for (int i = 0; i < along; i++)
        lines *= slice->dims[i].n;
    buf_char(to, '[');
    for (int i = 0; i < slice->rank; i++) {
        const struct slice_dim *dim = &slice->dims[i];

        if (i > 0)
            buf_text(to, ", ");
        if (i == along) {
            range_text(to, dim, first, n);
            continue;
        }
        if (i < along) {
            lines /= dim->n;
            below = line / lines % dim->n;
        } else {
            below = 0;
        }
        buf_printf(to, "%lld", (long long)(dim->start + (int64_t)below * dim->step));
    }
    buf_char(to, ']');
}

struct rows_grid {
    const struct slice *slice;
    const struct cells *cells;
    const char *format;
    int along;          /* the dimension along a line, or -1 */
    uint64_t length;    /* cells of a whole line */
    uint64_t chunk;     /* cells per line of text */
    size_t label, cell; /* widths */
};

/* Iterate over all lines of text: measure their labels, or write them. */
static void each_line(struct rows_grid *grid, struct buf *to, const char *more)
{
    uint64_t lines = grid->length ? grid->cells->n / grid->length : 0;
    struct buf label = BUF_INIT;
    char text[GRID_CELL];

    for (uint64_t i = 0, n; i < lines * grid->length; i += n) {
        uint64_t line = i / grid->length, first = i % grid->length;

        n = grid->length - first < grid->chunk ? grid->length - first : grid->chunk;
        buf_clear(&label);
        line_label(&label, grid->slice, grid->along, line, first, n);
        if (!to) {
            grid->label = label.len > grid->label ? label.len : grid->label;
        } else {
            text_pad(to, buf_span(&label), grid->label);
            for (uint64_t k = 0; k < n; k++) {
                grid_cell(text, grid->cells, i + k, grid->format);
                buf_text(to, "  ");
                text_pad_left(to, str_of(text), grid->cell);
            }
            buf_text(to, first + n == grid->length ? more : "");
            buf_char(to, '\n');
        }
    }
    buf_release(&label);
}

static bool goes_on(const struct slice *slice, int along, const int64_t *whole)
{
    const struct slice_dim *dim = along >= 0 ? &slice->dims[along] : NULL;

    return dim && dim->step == 1 && dim->start == 0 && dim->n < (uint64_t)whole[along];
}

void grid_text(struct buf *to, const struct slice *slice, const struct cells *cells,
               const int64_t *whole, unsigned columns, bool ascii)
{
    struct rows_grid grid = {.slice = slice, .cells = cells, .along = line_dim(slice)};
    struct buf more = BUF_INIT;
    char text[GRID_CELL];

    grid.format = grid_format(cells);
    grid.length = grid.along >= 0 ? slice->dims[grid.along].n : 1;
    grid.chunk = grid.length ? grid.length : 1;
    for (uint64_t i = 0; i < cells->n; i++) {
        grid_cell(text, cells, i, grid.format);
        grid.cell = strlen(text) > grid.cell ? strlen(text) : grid.cell;
    }
    each_line(&grid, NULL, "");
    if (columns > grid.label) {
        uint64_t fit = (columns - grid.label) / (grid.cell + 2);

        fit = fit > 0 ? fit : 1;
        grid.chunk = fit < grid.chunk ? fit : grid.chunk;
        each_line(&grid, NULL, "");
    }
    if (goes_on(slice, grid.along, whole))
        buf_printf(&more, " %s", glyph(GLYPH_ELLIPSIS, ascii));
    each_line(&grid, to, buf_cstr(&more));
    buf_release(&more);
}
