#include "rows/textual.h"

#include <string.h>

#include "rows/layout.h"
#include "text/colour.h"
#include "text/escape.h"
#include "text/glyph.h"
#include "text/number.h"
#include "text/width.h"

#define LEAST_LABEL 24 /* cells; columns are dropped before labels get narrower */
#define LEAST_NAME  4  /* cells after the guides */
#define LEAST_TEXT  12 /* cells; minimum width of a text column */
#define MOST_GUIDES 64 /* levels; deeper rows show their depth as a number */
#define FEW_GUIDES  3  /* on the narrowest line */
#define GUIDE_CELLS 4

/* All cells and labels are made before the first line is written, so that columns can
 * be aligned. Texts of cells are stored one after the other, row by row. */
struct textual_table {
    const struct textual *what;
    struct arena arena;
    struct table_layout layout;
    struct buf text, cell, label_text;
    struct label label; /* the current label */
    struct label_parts parts;
    struct label_kept *labels;
    uint32_t *cells;      /* width of each label, with its guides */
    uint32_t *ends;       /* of each cell's text */
    uint8_t *roles;       /* of each cell: enum colour */
    bool *last;           /* by depth: is the ancestor the last of its siblings? */
    uint32_t most_guides; /* cells of the widest guides before a label */
};

/* --- Guides */

/* The number of levels with guides. Together with the depth number of deeper rows, they
 * take at most half the line. */
static uint32_t most_guides(const struct textual *what)
{
    uint32_t half = what->width / 2 / GUIDE_CELLS;

    if (what->width == 0 || half > MOST_GUIDES + 2)
        return MOST_GUIDES;
    return half < FEW_GUIDES + 2 ? FEW_GUIDES : half - 2;
}

static uint32_t guide_width(const struct textual *what, const struct row *row)
{
    uint32_t most = most_guides(what);

    return (row->depth > most ? most + 2 : row->depth) * GUIDE_CELLS;
}

static void add_guides(struct buf *to, struct textual_table *table,
                       const struct row *row)
{
    static const char *const signs[2][3] = {{"│   ", "├── ", "└── "},
                                            {"|   ", "|-- ", "`-- "}};
    const char *const *sign = signs[table->what->ascii];
    uint32_t most = most_guides(table->what);
    uint32_t shown = row->depth > most ? most : row->depth;

    if (row->depth <= most)
        table->last[row->depth] = row->flags & ROW_LAST;
    for (uint32_t level = 1; level < shown; level++)
        buf_text(to, table->last[level] ? "    " : sign[0]);
    if (row->depth > most)
        buf_printf(to, "(%5u) ", row->depth % 100000); /* eight cells, as two levels */
    if (row->depth > 0)
        buf_text(to, sign[row->flags & ROW_LAST ? 2 : 1]);
}

/* --- Cells */

static struct str cell_at(const struct textual_table *table, size_t i)
{
    size_t begin = i > 0 ? table->ends[i - 1] : 0;

    return str_span(table->text.at + begin, table->ends[i] - begin);
}

static void make_label(struct textual_table *table, uint32_t r, const struct row *row)
{
    const struct textual *what = table->what;

    label_make(&table->label, what->show, row, what->name);
    label_keep(&table->labels[r], &table->label_text, &table->label);
    table->cells[r] = (uint32_t)label_width(&table->label) + guide_width(what, row);
}

/* Make the cells of a row, in ASCII if requested; true: some are not empty. */
static bool make_cells(struct textual_table *table, uint32_t r, const struct row *row)
{
    const struct textual *what = table->what;
    size_t at = r * what->n_columns;
    bool any = false;

    for (unsigned c = 0; c < what->n_columns; c++, at++) {
        struct buf *to = what->ascii ? &table->cell : &table->text;
        size_t width;

        buf_clear(&table->cell);
        table->roles[at] =
            (uint8_t)layout_cell(to, what->columns[c], what->show, row).role;
        if (what->ascii)
            glyph_to_ascii(&table->text, table->cell.at, table->cell.len);
        table->ends[at] = (uint32_t)table->text.len;
        width = text_width(cell_at(table, at));
        layout_widen(&table->layout.at[c], width);
        any = any || width > 0;
    }
    return any;
}

static void fill(struct textual_table *table)
{
    const struct textual *what = table->what;

    for (uint32_t r = 0; r < what->rows->n; r++) {
        const struct row row = rows_at(what->rows, r);
        uint32_t guides = guide_width(what, &row);

        make_label(table, r, &row);
        /* A label without cells needs no room in its column. */
        if (!make_cells(table, r, &row))
            continue;
        if (table->cells[r] > table->layout.label)
            table->layout.label = table->cells[r];
        table->most_guides = guides > table->most_guides ? guides : table->most_guides;
    }
}

/* Columns of text may be cut; bars and numbers are shown whole or not at all. */
static void add_columns(struct textual_table *table)
{
    const struct textual *what = table->what;

    for (size_t c = 0; c < what->n_columns; c++) {
        struct layout_column *to = layout_add(&table->layout, what->columns[c]);

        if (!to->column->right && to->column->kind != FIGURE_BAR)
            to->least = LEAST_TEXT;
        if (what->header)
            layout_widen(to, text_width(str_of(to->column->header)));
    }
}

static int begin(struct textual_table *table, struct err *err)
{
    const struct textual *what = table->what;
    size_t n = what->rows->n, per_row = what->n_columns;

    arena_init(&table->arena, 0);
    table->label.ascii = what->ascii;
    table->layout = (struct table_layout){.width = what->width,
                                          .gap = 1,
                                          .label = what->header ? 4 : 0, /* "name" */
                                          .ascii = what->ascii,
                                          .colour = what->colour,
                                          .isolate = what->isolate};
    table->layout.at =
        arena_array(&table->arena, per_row + 1, sizeof *table->layout.at);
    table->ends = arena_array(&table->arena, n * per_row + 1, sizeof *table->ends);
    table->cells = arena_array(&table->arena, n, sizeof *table->cells);
    table->labels = arena_array(&table->arena, n, sizeof *table->labels);
    table->roles = arena_array(&table->arena, n * per_row + 1, 1);
    table->last = arena_array(&table->arena, MOST_GUIDES + 1, sizeof *table->last);
    if (table->arena.spent)
        return arena_err(&table->arena, "the lines of the tree", err);
    return 0;
}

static int measure(struct textual_table *table, struct err *err)
{
    uint32_t least = LEAST_LABEL;

    add_columns(table);
    fill(table);
    if (table->text.bad || table->label_text.bad || table->text.len > UINT32_MAX ||
        table->label_text.len > UINT32_MAX)
        return err_set(err, ERR_LIMIT,
                       "the tree is too long to print; shorten it with --depth or "
                       "--filter");
    if (table->most_guides + LEAST_NAME > least)
        least = table->most_guides + LEAST_NAME;
    table->layout.least_label = least;
    layout_fit(&table->layout);
    return 0;
}

/* --- Lines */

/* The width available to a row's label: its column, or the line if it has no cells. */
static uint32_t label_room(const struct textual_table *table, uint32_t r)
{
    size_t first = r * table->what->n_columns, n = table->what->n_columns;
    uint32_t begin = first > 0 ? table->ends[first - 1] : 0;

    if (n > 0 && begin != table->ends[first + n - 1])
        return table->layout.label;
    return table->what->width ? table->what->width : UINT32_MAX;
}

/* Append the label of a row, cut to its column; returns its width. */
static uint32_t add_label(struct buf *to, struct textual_table *table, uint32_t r,
                          uint32_t guides)
{
    struct label label = label_again(&table->labels[r], &table->label_text);
    uint32_t room = label_room(table, r), width = table->cells[r];

    label.colour = table->what->colour;
    if (width <= room) {
        label_fit(&table->parts, &label, 0);
    } else {
        room = room > guides + LEAST_NAME ? room - guides : LEAST_NAME;
        label_fit(&table->parts, &label, room);
        width = guides + (uint32_t)text_width(buf_span(&table->parts.text));
    }
    label_write_parts(to, &label, &table->parts);
    return width;
}

static void write_row(struct out *out, struct textual_table *table, struct buf *line,
                      uint32_t r)
{
    const struct textual *what = table->what;
    const struct row row = rows_at(what->rows, r);
    size_t at = r * what->n_columns;
    bool dim = what->colour && row.depth > 0;
    uint32_t width;

    buf_text(line, colour_begin(COLOUR_DIM, dim));
    add_guides(line, table, &row);
    buf_text(line, colour_end(COLOUR_DIM, dim));
    width = add_label(line, table, r, guide_width(what, &row));
    if (width < table->layout.label)
        buf_fill(line, ' ', table->layout.label - width);
    for (unsigned c = 0; c < table->layout.n; c++, at++)
        layout_put(line, &table->layout, c, cell_at(table, at),
                   (enum colour)table->roles[at]);
    layout_end_line(out, &table->layout, line);
}

static void release(struct textual_table *table)
{
    buf_release(&table->text);
    buf_release(&table->cell);
    buf_release(&table->label_text);
    buf_release(&table->parts.text);
    label_release(&table->label);
    arena_release(&table->arena);
}

int textual_wide(struct out *out, const struct textual *what, struct err *err)
{
    struct textual_table table = {.what = what};
    struct buf line = BUF_INIT;
    int status = begin(&table, err);

    if (status == 0)
        status = measure(&table, err);
    if (status == 0 && what->header) {
        layout_put_header(&line, &table.layout);
        layout_end_line(out, &table.layout, &line);
    }
    for (uint32_t r = 0; status == 0 && r < what->rows->n && !out->bad; r++)
        write_row(out, &table, &line, r);
    buf_release(&line);
    release(&table);
    return status;
}

/* --- The narrow form */

/* " [456 params]", or nothing if params do not apply. */
static void add_params(struct buf *to, const struct textual *what,
                       const struct row *row)
{
    size_t begin = to->len;

    buf_text(to, " [");
    column_figure(to, column_find(STR("params")), what->show, row);
    if (to->len == begin + 2)
        to->len = begin;
    else
        buf_text(to, " params]");
}

static void write_narrow_row(struct out *out, struct textual_table *table,
                             struct buf *line, const struct row *row)
{
    const struct textual *what = table->what;
    uint32_t guides = guide_width(what, row);
    size_t used, room = 0;

    buf_clear(&table->cell);
    if (row->place != 0 || row->flags & ROW_MORE)
        add_params(&table->cell, what, row); /* has no glyphs */
    used = guides + text_width(buf_span(&table->cell));
    if (what->width > 0)
        room = what->width > used + LEAST_NAME ? what->width - used : LEAST_NAME;
    add_guides(line, table, row);
    label_make(&table->label, what->show, row, what->name);
    label_write(line, &table->label, room);
    buf_str(line, buf_span(&table->cell));
    layout_end_line(out, &table->layout, line);
}

/* The first line below the root has the total. */
static void write_total(struct out *out, const struct textual_table *table,
                        struct buf *line)
{
    const struct textual *what = table->what;
    const char *branch = what->rows->n > 1 ? "├── " : "└── ";

    if (what->ascii)
        branch = what->rows->n > 1 ? "|-- " : "`-- ";
    buf_text(line, branch);
    text_count(line, what->show->session->total.params);
    buf_text(line,
             what->show->session->total.params == 1 ? " parameter" : " parameters");
    layout_end_line(out, &table->layout, line);
}

int textual_narrow(struct out *out, const struct textual *what, struct err *err)
{
    struct textual_table table = {.what = what};
    struct buf line = BUF_INIT;
    int status = begin(&table, err);

    for (uint32_t r = 0; status == 0 && r < what->rows->n && !out->bad; r++) {
        const struct row row = rows_at(what->rows, r);

        write_narrow_row(out, &table, &line, &row);
        if (r == 0 && what->name == LABEL_NAME)
            write_total(out, &table, &line);
    }
    buf_release(&line);
    release(&table);
    return status;
}
