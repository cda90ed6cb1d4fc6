#include "rows/textual.h"

#include <string.h>

#include "text/colour.h"
#include "text/escape.h"
#include "text/glyph.h"
#include "text/number.h"
#include "text/width.h"

#define LEAST_LABEL 24 /* cells; before labels get narrower, columns go */
#define LEAST_NAME  4  /* cells behind the guides */
#define LEAST_TEXT  12 /* cells; a last column of text with less room goes */
#define MOST_GUIDES 64 /* levels; deeper ones are told by a number */
#define FEW_GUIDES  3  /* on the narrowest line */
#define GUIDE_CELLS 4

/* A table whose cells are all written before the first line is, so that columns can be
 * aligned. Texts lie one behind the other, row by row: the label, then the columns. */
struct textual_table {
    const struct textual *what;
    struct arena arena;
    struct buf text, cell;
    struct label label;
    uint32_t *ends;   /* of each text */
    uint32_t *cells;  /* width of each label, with its guides */
    uint32_t *widths; /* of each column */
    uint8_t *roles;   /* of each cell that is not a label: enum colour */
    bool *shown;      /* by column: there is room for it */
    bool *last;       /* by depth: is the branch above us the last of its siblings? */
    uint32_t label_width;
    uint32_t most_guides; /* cells: the widest of those that stand before labels */
    size_t per_row;
};

/* --- Guides */

/* The levels that have guides: with the number of a deeper one they take half the line
 * at most. */
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

/* Add a text to the table, in ASCII if need be; its end. */
static uint32_t keep_text(struct textual_table *table, struct str text)
{
    if (table->what->ascii)
        glyph_to_ascii(&table->text, text.at, text.len);
    else
        buf_str(&table->text, text);
    return (uint32_t)table->text.len;
}

static struct str text_at(const struct textual_table *table, size_t i)
{
    size_t begin = i > 0 ? table->ends[i - 1] : 0;

    return str_span(table->text.at + begin, table->ends[i] - begin);
}

/* Everything that is not a label, and the labels' widths. */
static void fill_row(struct textual_table *table, uint32_t r)
{
    const struct textual *what = table->what;
    const struct row at = rows_at(what->rows, r), *row = &at;
    size_t first = r * table->per_row;
    bool alone = true;

    label_make(&table->label, what->show, row, what->name);
    label_write(&table->text, &table->label, 0);
    table->ends[first] = (uint32_t)table->text.len;
    table->cells[r] =
        (uint32_t)text_width(text_at(table, first)) + guide_width(what, row);
    for (size_t c = 0; c < what->n_columns; c++) {
        uint32_t width;

        buf_clear(&table->cell);
        table->roles[r * what->n_columns + c] =
            (uint8_t)column_led(&table->cell, what->columns[c], what->show, row).role;
        table->ends[first + 1 + c] = keep_text(table, buf_span(&table->cell));
        width = (uint32_t)text_width(text_at(table, first + 1 + c));
        if (width > table->widths[c])
            table->widths[c] = width;
        alone = alone && width == 0;
    }
    /* A label with nothing beside it needs no room in its column. */
    if (!alone && table->cells[r] > table->label_width)
        table->label_width = table->cells[r];
    if (!alone && guide_width(what, row) > table->most_guides)
        table->most_guides = guide_width(what, row);
}

static int fill(struct textual_table *table, struct err *err)
{
    const struct textual *what = table->what;
    uint32_t n = what->rows->n;

    table->per_row = what->n_columns + 1;
    table->ends = arena_array(&table->arena, n * table->per_row, sizeof *table->ends);
    table->cells = arena_array(&table->arena, n, sizeof *table->cells);
    table->roles = arena_array(&table->arena, n * what->n_columns + 1, 1);
    table->widths = arena_array(&table->arena, table->per_row, sizeof *table->widths);
    table->shown = arena_array(&table->arena, table->per_row, sizeof *table->shown);
    table->last = arena_array(&table->arena, MOST_GUIDES + 1, sizeof *table->last);
    if (!table->ends || !table->cells || !table->roles || !table->widths ||
        !table->shown || !table->last)
        return arena_err(&table->arena, "the lines of the tree", err);
    for (size_t c = 0; c < what->n_columns; c++) {
        table->shown[c] = true;
        if (what->header)
            table->widths[c] = (uint32_t)text_width(str_of(what->columns[c]->header));
    }
    for (uint32_t r = 0; r < n; r++)
        fill_row(table, r);
    if (table->text.bad || table->text.len > UINT32_MAX)
        return err_set(err, ERR_LIMIT,
                       "the tree is too long to be printed; --depth or "
                       "--filter make it shorter");
    return 0;
}

/* --- What fits */

static uint32_t columns_width(const struct textual_table *table)
{
    uint32_t sum = 0;

    for (size_t c = 0; c < table->what->n_columns; c++)
        if (table->shown[c] && table->widths[c] > 0)
            sum += 1 + table->widths[c];
    return sum;
}

/* The column that is missed least: the one with the lowest rank, of equals the last. */
static size_t least_column(const struct textual_table *table)
{
    size_t least = table->what->n_columns;

    for (size_t c = 0; c < table->what->n_columns; c++)
        if (table->shown[c] &&
            (least == table->what->n_columns ||
             table->what->columns[c]->rank <= table->what->columns[least]->rank))
            least = c;
    return least;
}

static bool may_shrink(const struct column *column)
{
    return !column->right && column->cut != CUT_NEVER;
}

/* Cut the widest column of text, if that is enough beside labels of `least` cells. */
static bool shrink_widest(struct textual_table *table, uint32_t least)
{
    const struct textual *what = table->what;
    size_t widest = what->n_columns;
    uint32_t others;

    for (size_t c = 0; c < what->n_columns; c++)
        if (table->shown[c] && may_shrink(what->columns[c]) &&
            (widest == what->n_columns || table->widths[c] > table->widths[widest]))
            widest = c;
    if (widest == what->n_columns)
        return false;
    others = columns_width(table) - table->widths[widest] + least;
    if (others + LEAST_TEXT > what->width)
        return false;
    table->widths[widest] = what->width - others;
    return true;
}

static void fit(struct textual_table *table)
{
    const struct textual *what = table->what;
    uint32_t width = what->width, others, least, label = table->label_width;
    size_t last = what->n_columns;

    if (width == 0 || label + columns_width(table) <= width)
        return;
    /* A text that stands last may lose its end. */
    if (last > 0 && may_shrink(what->columns[last - 1])) {
        others = columns_width(table) - table->widths[last - 1];
        if (label + others + LEAST_TEXT <= width) {
            table->widths[last - 1] = width - label - others;
            return;
        }
        if (what->columns[last - 1]->rank == 0)
            table->shown[last - 1] = false;
    }
    least = table->most_guides + LEAST_NAME;
    least = least < LEAST_LABEL ? LEAST_LABEL : least;
    least = label < least ? label : least;
    while (columns_width(table) + least > width && !shrink_widest(table, least) &&
           least_column(table) < what->n_columns)
        table->shown[least_column(table)] = false;
    others = columns_width(table);
    if (label + others > width)
        table->label_width = width > others ? width - others : width;
}

/* --- Lines */

/* The cells that a row's label may take: its column, or the line if it stands alone. */
static uint32_t label_room(const struct textual_table *table, uint32_t r)
{
    size_t first = r * table->per_row;

    if (table->ends[first] != table->ends[first + table->what->n_columns])
        return table->label_width;
    return table->what->width ? table->what->width : UINT32_MAX;
}

/* The label of a row, shortened if it is wider than its column; its width. */
static uint32_t add_label(struct buf *to, struct textual_table *table, uint32_t r)
{
    const struct textual *what = table->what;
    const struct row at = rows_at(what->rows, r), *row = &at;
    uint32_t guides = guide_width(what, row), room = label_room(table, r);
    uint32_t width = table->cells[r];
    bool cut = width > room;

    if (!cut && !what->colour) {
        buf_str(to, text_at(table, r * table->per_row));
        return width;
    }
    room = room > guides + LEAST_NAME ? room - guides : LEAST_NAME;
    label_make(&table->label, what->show, row, what->name);
    if (cut) {
        buf_clear(&table->cell);
        label_write(&table->cell, &table->label, room);
        width = guides + (uint32_t)text_width(buf_span(&table->cell));
    }
    table->label.colour = what->colour;
    label_write(to, &table->label, cut ? room : 0);
    table->label.colour = false;
    return width;
}

static void cut_cell(struct buf *line, const struct textual_table *table, size_t c,
                     struct str cell)
{
    bool ascii = table->what->ascii;
    const char *ellipsis = glyph(GLYPH_ELLIPSIS, ascii);
    const char *times = glyph(GLYPH_TIMES, ascii);
    size_t cells = table->widths[c];

    switch ((enum cut)table->what->columns[c]->cut) {
    case CUT_END:
    case CUT_NEVER:
        text_cut(line, cell, cells, ellipsis);
        break;
    case CUT_FRONT:
        text_cut_front(line, cell, cells, ellipsis);
        break;
    case CUT_SHAPE:
        text_cut_shape(line, cell, cells, ellipsis, times);
        break;
    case CUT_SHAPES:
        text_cut_shapes(line, cell, cells, ellipsis, times);
        break;
    }
}

static void add_cell(struct buf *line, const struct textual_table *table, size_t c,
                     struct str cell, enum colour role)
{
    size_t width = text_width(cell);

    buf_char(line, ' ');
    if (table->what->columns[c]->right && width < table->widths[c])
        buf_fill(line, ' ', table->widths[c] - width);
    buf_text(line, colour_begin(role, table->what->colour));
    if (width > table->widths[c])
        cut_cell(line, table, c, cell);
    else
        buf_str(line, cell);
    buf_text(line, colour_end(role, table->what->colour));
    if (!table->what->columns[c]->right && width < table->widths[c])
        buf_fill(line, ' ', table->widths[c] - width);
}

/* End a line: no blanks at its end. */
static void end_line(struct out *out, const struct textual *what, struct buf *line)
{
    struct buf isolated = BUF_INIT;

    while (line->len > 0 && line->at[line->len - 1] == ' ')
        line->len--;
    buf_char(line, '\n');
    if (what->isolate) {
        escape_isolate(&isolated, buf_span(line));
        out_str(out, buf_span(&isolated));
        buf_release(&isolated);
    } else {
        out_str(out, buf_span(line));
    }
    buf_clear(line);
}

/* The names of the columns; behind "name", how many there was no room for. */
static void write_header(struct out *out, const struct textual_table *table,
                         struct buf *line)
{
    const struct textual *what = table->what;
    struct buf name = BUF_INIT;
    size_t hidden = 0;

    for (size_t c = 0; c < what->n_columns; c++)
        hidden += !table->shown[c];
    buf_text(&name, "name");
    if (hidden > 0)
        buf_printf(&name, " %s%zu", what->ascii ? ">" : "»", hidden);
    text_pad(line, buf_span(&name), table->label_width);
    for (size_t c = 0; c < what->n_columns; c++) {
        const char *header = what->columns[c]->header;

        if (!table->shown[c] || table->widths[c] == 0)
            continue;
        buf_clear(&name);
        if (what->ascii)
            glyph_to_ascii(&name, header, strlen(header));
        else
            buf_text(&name, header);
        add_cell(line, table, c, buf_span(&name), COLOUR_NONE);
    }
    buf_release(&name);
    end_line(out, what, line);
}

static void write_row(struct out *out, struct textual_table *table, struct buf *line,
                      uint32_t r)
{
    const struct textual *what = table->what;
    const struct row row = rows_at(what->rows, r);
    size_t first = r * table->per_row;
    bool dim = what->colour && row.depth > 0;
    uint32_t width;

    buf_text(line, colour_begin(COLOUR_DIM, dim));
    add_guides(line, table, &row);
    buf_text(line, colour_end(COLOUR_DIM, dim));
    width = add_label(line, table, r);
    if (width < table->label_width)
        buf_fill(line, ' ', table->label_width - width);
    for (size_t c = 0; c < what->n_columns; c++)
        if (table->shown[c] && table->widths[c] > 0)
            add_cell(line, table, c, text_at(table, first + 1 + c),
                     (enum colour)table->roles[r * what->n_columns + c]);
    end_line(out, what, line);
}

static void release(struct textual_table *table)
{
    buf_release(&table->text);
    buf_release(&table->cell);
    label_release(&table->label);
    arena_release(&table->arena);
}

int textual_wide(struct out *out, const struct textual *what, struct err *err)
{
    struct textual_table table = {.what = what, .label = {.ascii = what->ascii}};
    struct buf line = BUF_INIT;
    int status;

    arena_init(&table.arena, 0);
    status = fill(&table, err);
    if (status == 0) {
        fit(&table);
        if (what->header)
            write_header(out, &table, &line);
        for (uint32_t r = 0; r < what->rows->n && !out->bad; r++)
            write_row(out, &table, &line, r);
    }
    buf_release(&line);
    release(&table);
    return status;
}

/* --- The narrow form */

/* " [456 params]", or nothing for what has none to count. */
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
    end_line(out, what, line);
}

/* The first line below the root says how much there is in all. */
static void write_total(struct out *out, const struct textual *what, struct buf *line)
{
    const char *branch = what->rows->n > 1 ? "├── " : "└── ";

    if (what->ascii)
        branch = what->rows->n > 1 ? "|-- " : "`-- ";
    buf_text(line, branch);
    text_count(line, what->show->session->total.params);
    buf_text(line,
             what->show->session->total.params == 1 ? " parameter" : " parameters");
    end_line(out, what, line);
}

int textual_narrow(struct out *out, const struct textual *what, struct err *err)
{
    struct textual_table table = {.what = what, .label = {.ascii = what->ascii}};
    struct buf line = BUF_INIT;

    arena_init(&table.arena, 0);
    table.last = arena_array(&table.arena, MOST_GUIDES + 1, sizeof *table.last);
    if (!table.last)
        return arena_err(&table.arena, "the lines of the tree", err);
    for (uint32_t r = 0; r < what->rows->n && !out->bad; r++) {
        const struct row row = rows_at(what->rows, r);

        write_narrow_row(out, &table, &line, &row);
        if (r == 0 && what->name == LABEL_NAME)
            write_total(out, what, &line);
    }
    buf_release(&line);
    release(&table);
    return 0;
}
