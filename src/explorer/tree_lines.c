#include "explorer/tree_lines.h"

#include <string.h>

#include "base/base.h"
#include "explorer/alarms_in.h"
#include "explorer/tree_writer_in.h"
#include "rows/below.h"
#include "text/glyph.h"
#include "text/width.h"

#define LEAST_LABEL 4    /* cells behind the guides */
#define LARGE       4096 /* places; of more there is an index */

/* --- The gutter */

enum tree_lines_mark { MARK_NONE, MARK_SAME, MARK_MATCH, MARK_WARNING, MARK_ALARM };

/* What was found in the file at this place, or below it if that is folded. */
static enum tree_lines_mark found_mark(const struct tree_writer *w,
                                       const struct row *row)
{
    const struct alarm_place *found;
    uint32_t end = row->place + 1;

    if (row->place == 0 || w->explorer->show.pair || row->flags & ROW_MORE)
        return MARK_NONE;
    if (row->flags & ROW_CLOSED)
        end = w->explorer->show.model->end[row->place];
    found = alarms_at(&w->explorer->alarms, row->place, end);
    if (!found)
        return MARK_NONE;
    return found->place == row->place && found->severity == SEVERITY_ALARM
               ? MARK_ALARM
               : MARK_WARNING;
}

/* What the gutter says of a row, but for the cursor: the strongest. */
static enum tree_lines_mark row_mark(const struct tree_writer *w, const struct row *row)
{
    enum tree_lines_mark found = found_mark(w, row);

    if (w->label.sign.len > 0 && w->label.sign_colour == COLOUR_ALARM)
        return MARK_ALARM;
    if (w->label.sign.len > 0 && w->label.sign_colour == COLOUR_WARNING &&
        found < MARK_WARNING)
        return MARK_WARNING;
    if (found != MARK_NONE)
        return found;
    if (row->flags & ROW_MATCH)
        return MARK_MATCH;
    return browse_is_same(w->explorer->browse, row) ? MARK_SAME : MARK_NONE;
}

static void put_text(struct tree_writer *w, enum colour colour, const char *text)
{
    tree_put(w, colour, 0, str_of(text));
}

static void put_gutter(struct tree_writer *w, enum tree_lines_mark mark, bool cursor)
{
    bool plain = w->room->no_colour;

    if (cursor)
        put_text(w, COLOUR_NONE, glyph(GLYPH_CURSOR, w->ascii));
    else if (mark == MARK_ALARM)
        put_text(w, COLOUR_ALARM, glyph(GLYPH_BAD, w->ascii));
    else if (mark == MARK_WARNING)
        put_text(w, COLOUR_WARNING, "!");
    else if (mark == MARK_MATCH && plain)
        put_text(w, COLOUR_MATCH, "*");
    else
        put_text(w, COLOUR_SAME, mark == MARK_SAME && plain ? "=" : " ");
}

/* --- The columns */

static struct str cell_at(const struct tree_writer *w, unsigned c)
{
    size_t begin = c > 0 ? w->ends[c - 1] : 0;

    return str_span(w->cell.at + begin, w->ends[c] - begin);
}

/* All cells of a row; true: some of those that are shown say something. */
static bool make_cells(struct tree_writer *w, const struct row *row)
{
    const struct show *show = &w->explorer->show;
    struct buf text = BUF_INIT;
    bool any = false;

    buf_clear(&w->cell);
    for (unsigned c = 0; c < w->layout.n; c++) {
        const struct tree_column *column = &w->layout.at[c];
        size_t begin = w->cell.len;

        buf_clear(&text);
        w->figures[c] = (struct figure){0};
        if (column->shown && column->bar)
            column->bar(&text, show, row, (int)column->cells);
        else if (column->shown)
            w->figures[c] = column_led(&text, column->column, show, row);
        while (text.len > 0 && text.at[text.len - 1] == ' ')
            text.len--; /* a bar has blanks behind it */
        if (w->ascii)
            glyph_to_ascii(&w->cell, text.at, text.len);
        else
            buf_str(&w->cell, buf_span(&text));
        w->ends[c] = w->cell.len;
        any = any || w->cell.len > begin;
    }
    buf_release(&text);
    return any;
}

/* "NaN 1.5K Inf 3.0M" loses its end by whole words: half a number is another one. */
static void cut_words(struct buf *to, struct str cell, size_t cells,
                      const char *ellipsis)
{
    struct str head = cell;

    while (text_width(head) + text_width(str_of(ellipsis)) > cells) {
        ptrdiff_t blank = str_find_last_char(head, ' ');

        if (blank <= 0)
            break;
        head = str_head(head, (size_t)blank);
    }
    buf_str(to, head);
    buf_text(to, ellipsis);
}

static void cut_cell(struct buf *to, enum cut cut, enum figure_kind kind,
                     struct str cell, size_t cells, bool ascii)
{
    const char *ellipsis = glyph(GLYPH_ELLIPSIS, ascii);
    const char *times = glyph(GLYPH_TIMES, ascii);

    buf_clear(to);
    switch (cut) {
    case CUT_END:
    case CUT_NEVER:
        if (kind == FIGURE_NOT_FINITE && text_width(cell) > cells)
            cut_words(to, cell, cells, ellipsis);
        else
            text_cut(to, cell, cells, ellipsis);
        break;
    case CUT_FRONT:
        text_cut_front(to, cell, cells, ellipsis);
        break;
    case CUT_SHAPE:
        text_cut_shape(to, cell, cells, ellipsis, times);
        break;
    case CUT_SHAPES:
        text_cut_shapes(to, cell, cells, ellipsis, times);
        break;
    }
}

/* A number that is wider than its column may take blanks on its left. */
static void put_cell(struct tree_writer *w, const struct tree_column *column,
                     struct str cell, enum figure_kind kind, enum colour colour,
                     unsigned flags)
{
    unsigned width = (unsigned)text_width(cell), begin = column->end - column->cells;

    if (width == 0)
        return;
    if (column->column->right && !column->bar)
        begin = column->end > width ? column->end - width : 0;
    if (begin < w->used + 1)
        begin = w->used + 1;
    if (begin + width > column->end) {
        if (begin >= column->end)
            return;
        cut_cell(&w->cut, column->column->cut, kind, cell, column->end - begin,
                 w->ascii);
        cell = buf_span(&w->cut);
        if (column->column->right)
            begin = column->end - (unsigned)text_width(cell);
    }
    tree_pad(w, begin);
    tree_put(w, colour, flags, cell);
}

static void put_cells(struct tree_writer *w, struct tree_look look)
{
    for (unsigned c = 0; c < w->layout.n; c++) {
        const struct tree_column *column = &w->layout.at[c];
        struct str cell = cell_at(w, c);
        enum colour colour = w->figures[c].role;

        if (!column->shown)
            continue;
        if (look.frozen && colour == COLOUR_NONE)
            colour = COLOUR_DIM;
        put_cell(w, column, cell, w->figures[c].kind, colour,
                 str_is(str_of(column->id), "in") ? SPAN_ITALIC : 0);
    }
}

/* --- Lines */

/* Does a tied tensor show what it is tied to instead of its size, for lack of room? */
static bool speaks_up(const struct tree_writer *w, const struct row *row, size_t room)
{
    struct buf whole = BUF_INIT;
    bool wide;

    if (w->explorer->show.pair || w->label.tail.len == 0 || !w->label.is_shape ||
        row->flags & ROW_MORE)
        return false;
    label_write(&whole, &w->label, 0);
    wide = text_width(buf_span(&whole)) > room;
    buf_release(&whole);
    return wide;
}

/* Is all that can be trained at and below this row frozen? */
static bool is_frozen(const struct tree_writer *w, const struct row *row)
{
    const struct counts *total = &w->explorer->show.session->total;
    struct below below;

    if (w->explorer->show.pair || total->frozen == 0 || row->flags & ROW_MORE)
        return false;
    if (row->place == 0)
        return total->trainable == 0;
    below_sum(&w->explorer->show, row->place, &below);
    return below.frozen > 0 && below.trainable + below.tied == 0;
}

static void put_row(struct tree_writer *w, uint32_t r)
{
    const struct row row = rows_at(browse_rows(w->explorer->browse), r);
    struct tree_look look = {.cursor = r == browse_cursor(w->explorer->browse),
                             .frozen = is_frozen(w, &row)};
    bool any = make_cells(w, &row);
    unsigned end = w->layout.name;
    enum tree_lines_mark mark;

    label_make(&w->label, &w->explorer->show, &row, w->tree ? LABEL_NAME : LABEL_PATH);
    mark = row_mark(w, &row);
    look.same = !look.cursor &&
                (mark == MARK_SAME ||
                 (mark > MARK_SAME && browse_is_same(w->explorer->browse, &row)));
    put_gutter(w, mark, look.cursor);
    if (w->tree)
        tree_put_guides(w, &row);
    tree_put_sign(w, &row);
    if (w->explorer->labels.flowing && !w->explorer->show.pair) {
        tree_put_flowing(w, &row, look,
                         w->layout.width > w->used ? w->layout.width - w->used : 0);
        return;
    }
    if (!any || speaks_up(w, &row, end > w->used ? end - w->used : 0)) {
        end = w->layout.width;
        any = false;
    }
    tree_put_label(w, &row, look,
                   end > w->used + LEAST_LABEL ? end - w->used : LEAST_LABEL);
    if (any)
        put_cells(w, look);
}

/* " name", " name▾", " name »3", " name (12 levels further left)". */
static void put_name_header(struct tree_writer *w, const char *sign, struct str hidden)
{
    struct buf text = BUF_INIT;

    buf_printf(&text, " name%s", w->layout.sort_name ? sign : "");
    if (hidden.len > 0)
        buf_printf(&text, " %.*s", STR_ARG(hidden));
    if (w->layout.left_out > 0)
        buf_printf(&text, " (%u levels further left)", w->layout.left_out);
    cut_cell(&w->cut, CUT_END, FIGURE_TEXT, buf_span(&text), w->layout.name, w->ascii);
    tree_put(w, COLOUR_DIM, 0, buf_span(&w->cut));
    buf_release(&text);
}

static void put_column_header(struct tree_writer *w, unsigned c, const char *sign,
                              unsigned spare)
{
    struct tree_column column = w->layout.at[c];
    struct buf header = BUF_INIT;

    if (w->ascii)
        glyph_to_ascii(&header, column.header, strlen(column.header));
    else
        buf_text(&header, column.header);
    if ((int)c == w->layout.sort)
        buf_text(&header, sign);
    column.end -= spare;
    column.cells -= spare < column.cells ? spare : column.cells;
    put_cell(w, &column, buf_span(&header), FIGURE_TEXT, COLOUR_DIM, 0);
    buf_release(&header);
}

/* Would the last column's title be cut if so many cells were taken from it? */
static bool is_tight(const struct tree_writer *w, unsigned last, unsigned cells)
{
    const struct tree_column *column = &w->layout.at[last];
    unsigned title = (unsigned)text_width(str_of(column->header));
    unsigned room = column->cells, before = (unsigned)strlen(" name");

    if (w->layout.n == 0 || room == 0)
        return false;
    for (unsigned c = 0; c < last; c++)
        if (w->layout.at[c].shown && w->layout.at[c].cells > 0)
            before = w->layout.at[c].end;
    if (column->column->right && !column->bar)
        room = column->end - before - 1; /* it may take blanks on its left */
    return title + ((int)last == w->layout.sort) + cells > room;
}

/* The line ends in »3 where three have no room; if that would cut the last title, this
 * stands behind the first. */
static void put_header(struct tree_writer *w)
{
    static const char *const signs[2][2] = {{"▾", "▴"}, {"v", "^"}};
    const char *sign = signs[w->ascii][browse_view(w->explorer->browse)->reverse];
    struct buf hidden = BUF_INIT;
    unsigned last = 0, width;
    bool tight;

    if (w->layout.hidden > 0)
        buf_printf(&hidden, "%s%u", w->ascii ? ">" : "»", w->layout.hidden);
    width = (unsigned)text_width(buf_span(&hidden));
    for (unsigned c = 0; c < w->layout.n; c++)
        if (w->layout.at[c].shown && w->layout.at[c].cells > 0)
            last = c;
    tight = width > 0 && is_tight(w, last, width);
    put_name_header(w, sign, tight ? buf_span(&hidden) : STR(""));
    if (tight) {
        buf_clear(&hidden);
        width = 0;
    }
    for (unsigned c = 0; c < w->layout.n; c++)
        if (w->layout.at[c].shown)
            put_column_header(w, c, sign, c == last ? width : 0);
    if (w->used + width <= w->layout.width) {
        tree_pad(w, w->layout.width - width);
        tree_put(w, COLOUR_DIM, 0, buf_span(&hidden));
    }
    buf_release(&hidden);
}

static void end_line(struct tree_writer *w, uint32_t target)
{
    tree_pad(w, w->room->width);
    lines_end_target(w->to, target);
    w->used = 0;
}

void tree_lines(struct lines *to, struct explorer *explorer,
                const struct tree_room *room)
{
    struct tree_writer w = {
        .to = to, .explorer = explorer, .room = room, .ascii = explorer->ascii};

    if (room->height == 0)
        return;
    if (!explorer->show.index && !explorer->show.pair &&
        (explorer->show.model->n_places > LARGE || explorer->show.activity))
        below_index(&explorer->show, &explorer->arena);
    w.tree = browse_view(explorer->browse)->flat == FLAT_NO;
    w.label.ascii = w.ascii;
    w.search = browse_found(explorer->browse);
    tree_layout_make(&w.layout, explorer, room);
    put_header(&w);
    end_line(&w, NO_TARGET);
    for (unsigned i = 0; i < w.layout.rows; i++) {
        uint32_t row = w.layout.top + i;

        if (row < w.layout.end)
            put_row(&w, row);
        end_line(&w, row < w.layout.end ? row : NO_TARGET);
    }
    label_release(&w.label);
    buf_release(&w.parts.text);
    buf_release(&w.cell);
    buf_release(&w.cut);
    buf_release(&w.path);
}

/* --- For the mouse */

const char *tree_column_at(struct explorer *explorer, const struct tree_room *room,
                           unsigned cell)
{
    struct tree_layout layout;

    tree_layout_make(&layout, explorer, room);
    if (cell < layout.name)
        return "name";
    for (unsigned c = 0; c < layout.n; c++)
        if (layout.at[c].shown && cell < layout.at[c].end)
            return layout.at[c].id;
    return NULL;
}

bool tree_is_arrow(struct explorer *explorer, const struct tree_room *room,
                   uint32_t row, unsigned cell)
{
    const struct rows *rows = browse_rows(explorer->browse);
    struct tree_writer w = {.explorer = explorer, .room = room};
    struct row at_row;
    unsigned at;

    if (row >= rows->n)
        return false;
    at_row = rows_at(rows, row);
    if (!(at_row.flags & (ROW_OPEN | ROW_CLOSED)))
        return false;
    if (browse_view(explorer->browse)->flat != FLAT_NO)
        return false;
    tree_layout_make(&w.layout, explorer, room);
    at = 1 + tree_guides(&w, &at_row);
    return cell == at || cell == at + 1;
}
