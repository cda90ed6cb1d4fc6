#include "facts/objects/value_grid.h"

#include <math.h>

#include "rows/grid.h"
#include "rows/slice.h"
#include "text/text.h"

#define LABEL_CELLS 5 /* of a row's index */
#define LEAST_CELL  8
#define GRID_MEMORY (16u << 20)

/* The visible part of a slice. */
struct value_grid_window {
    struct slice slice;
    int down, across;             /* dimensions, or -1 */
    uint64_t rows, columns;       /* shown */
    bool more_rows, more_columns; /* more than shown */
};

static void pass_by(struct slice_dim *dim, uint64_t n)
{
    n = dim->n == 0 ? 0 : n < dim->n ? n : dim->n - 1;
    dim->start += (int64_t)n * dim->step;
    dim->n -= n;
}

/* Choose the two dimensions to show, and their maximum sizes. */
static int choose(struct value_grid_window *window, const struct value_grid *grid,
                  struct err *err)
{
    const struct tensor *tensor = grid->tensor;
    struct slice *slice = &window->slice;
    uint64_t most = grid->width / 2 + 1;

    if (slice_parse(slice, grid->slice, tensor_shape(grid->model, tensor), tensor->rank,
                    err) < 0)
        return -1;
    slice_plane(slice, &window->down, &window->across);
    window->rows = window->columns = 1;
    if (window->across >= 0) {
        struct slice_dim *dim = &slice->dims[window->across];

        pass_by(dim, grid->left);
        window->columns = dim->n < most ? dim->n : most;
        window->more_columns = window->columns < dim->n;
        slice_cut(slice, window->across, most);
    }
    if (window->down >= 0) {
        struct slice_dim *dim = &slice->dims[window->down];

        window->rows = dim->n < grid->most_rows ? dim->n : grid->most_rows;
        window->more_rows = window->rows < dim->n;
        slice_cut(slice, window->down, grid->most_rows);
    }
    return 0;
}

static int64_t index_at(const struct value_grid_window *window, int dim, uint64_t i)
{
    const struct slice_dim *at = &window->slice.dims[dim];

    return at->start + (int64_t)i * at->step;
}

/* The index before a row: along `down`, else that of the dimension before the one that
 * runs across. */
static void row_label(struct buf *to, const struct value_grid_window *window,
                      uint64_t row)
{
    int dim = window->down >= 0 ? window->down : window->across - 1;

    if (dim >= 0)
        buf_printf(to, "%lld", (long long)index_at(window, dim, row));
}

/* ---- lines ---- */

struct value_grid_drawing {
    struct lines *to;
    const struct value_grid_window *window;
    const struct cells *cells;
    const char *format;
    uint64_t length; /* values read per row */
    size_t cell;     /* screen cells per value, including the blank before it */
};

/* The widest value or index sets the width of all columns; columns that do not fit are
 * hidden. */
static void measure(struct value_grid_drawing *d, struct value_grid_window *window,
                    unsigned width)
{
    char text[GRID_CELL];
    uint64_t fit;

    d->cell = LEAST_CELL;
    for (uint64_t i = 0; i < d->cells->n; i++) {
        size_t len;

        grid_cell(text, d->cells, i, d->format);
        len = strlen(text) + 1;
        d->cell = len > d->cell ? len : d->cell;
    }
    /* The arrow needs two cells. */
    fit = width > LABEL_CELLS + 5 ? (width - LABEL_CELLS - 5) / d->cell : 1;
    fit = fit > 0 ? fit : 1;
    if (window->columns > fit) {
        window->columns = fit;
        window->more_columns = true;
        window->slice.dims[window->across].n = fit;
    }
}

static void header_line(const struct value_grid_drawing *d)
{
    if (d->window->across < 0)
        return;
    lines_pad(d->to, LABEL_CELLS + 3);
    for (uint64_t i = 0; i < d->window->columns; i++)
        lines_printf(d->to, COLOUR_DIM, "%*lld", (int)d->cell,
                     (long long)index_at(d->window, d->window->across, i));
    lines_end(d->to);
}

static bool is_finite_cell(const struct cells *cells, uint64_t i)
{
    switch (cells->kind) {
    case CELL_REAL:
        return isfinite(cells->reals[i]);
    case CELL_COMPLEX:
    case CELL_PAIR:
        return isfinite(cells->reals[2 * i]) && isfinite(cells->reals[2 * i + 1]);
    default:
        return true;
    }
}

static void row_line(const struct value_grid_drawing *d, uint64_t row)
{
    struct buf label = BUF_INIT;
    char text[GRID_CELL];

    row_label(&label, d->window, row);
    lines_printf(d->to, COLOUR_DIM, "%*s  │", LABEL_CELLS, buf_cstr(&label));
    for (uint64_t i = 0; i < d->window->columns; i++) {
        uint64_t cell = row * d->length + i;

        grid_cell(text, d->cells, cell, d->format);
        lines_printf(d->to, is_finite_cell(d->cells, cell) ? COLOUR_NONE : COLOUR_ALARM,
                     "%*s", (int)d->cell, text);
    }
    if (d->window->more_columns)
        lines_text(d->to, COLOUR_DIM, " →");
    lines_end(d->to);
    buf_release(&label);
}

static void range_text(struct buf *to, const struct slice_dim *dim)
{
    int64_t last = dim->start + (int64_t)(dim->n ? dim->n - 1 : 0) * dim->step;

    buf_printf(to, "%lld", (long long)dim->start);
    if (dim->single)
        return;
    buf_char(to, ':');
    if (dim->step > 0 || last > 0)
        buf_printf(to, "%lld", (long long)(last + (dim->step > 0 ? 1 : -1)));
    if (dim->step != 1)
        buf_printf(to, ":%lld", (long long)dim->step);
}

static void write_title(struct buf *to, const struct value_grid *grid,
                        const struct value_grid_window *window)
{
    const struct tensor *tensor = grid->tensor;

    buf_text(to, "values [");
    for (int i = 0; i < window->slice.rank; i++) {
        buf_text(to, i > 0 ? ", " : "");
        range_text(to, &window->slice.dims[i]);
    }
    buf_text(to, "] of ");
    buf_text(to, tensor->rank == 0 ? "a " : "");
    text_shape(to, tensor_shape(grid->model, tensor), tensor->rank);
}

static void draw(struct lines *to, struct buf *title, const struct value_grid *grid,
                 struct value_grid_window *window, const struct cells *cells)
{
    struct value_grid_drawing d = {.to = to,
                                   .window = window,
                                   .cells = cells,
                                   .format = grid_format(cells),
                                   .length = window->columns};

    measure(&d, window, grid->width);
    write_title(title, grid, window);
    header_line(&d);
    for (uint64_t row = 0; row < window->rows; row++)
        row_line(&d, row);
    lines_printf(to, COLOUR_DIM, "%*s", LABEL_CELLS + 1, "");
    lines_text(to, COLOUR_DIM, window->more_rows ? "↓" : " ");
    lines_text(to, COLOUR_DIM, "  [ slices:  [80:86, 220:240:2]  [..., 0]  [83]");
    lines_end(to);
}

bool value_grid_lines(struct lines *to, struct buf *title, struct value_grid *grid)
{
    struct value_grid_window window = {.rows = 0};
    struct err err = {0};
    struct cells cells;
    struct arena arena;
    bool done = false;

    arena_init(&arena, GRID_MEMORY);
    grid->more = false;
    grid->columns = 0;
    if (choose(&window, grid, &err) == 0 &&
        cells_read(grid->model, grid->tensor, &window.slice, &arena, NULL, &cells,
                   &err) == 0) {
        if (window.slice.n > 0) {
            draw(to, title, grid, &window, &cells);
        } else {
            buf_text(title, "values");
            lines_text(to, COLOUR_DIM, " no values: the slice is empty");
            lines_end(to);
        }
        grid->more = window.more_columns;
        grid->columns = window.columns;
        done = true;
    } else {
        buf_text(title, "values");
        lines_text(to, COLOUR_NONE, " ");
        lines_wrap(to, COLOUR_WARNING, str_of(err.text), grid->width, 1);
    }
    arena_release(&arena);
    return done;
}
