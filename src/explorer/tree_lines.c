#include "explorer/tree_lines.h"

#include <string.h>

#include "base/base.h"
#include "explorer/alarms_in.h"
#include "explorer/tree_writer_in.h"
#include "rows/below.h"
#include "text/glyph.h"
#include "text/width.h"

#define LEAST_LABEL 4    /* cells after the guides */
#define LARGE       4096 /* places; larger models have an index */

/* --- The gutter */

enum tree_lines_mark { MARK_NONE, MARK_SAME, MARK_MATCH, MARK_WARNING, MARK_ALARM };

/* The mark for a finding at this place, or below it if it is folded. */
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

/* The strongest mark of a row, apart from the cursor. */
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

static struct str cell_text(const struct tree_writer *w, struct tree_cell cell)
{
    return str_span(w->layout.text.at + cell.begin, cell.end - cell.begin);
}

/* Does any shown column have text for this row? */
static bool has_cells(struct tree_writer *w, uint32_t row)
{
    bool any = false;

    for (unsigned c = 0; c < w->layout.table.n; c++) {
        struct tree_cell cell = {0};

        if (w->layout.table.at[c].shown)
            cell = tree_cell(&w->layout, w->explorer, row, c);
        any = any || cell.end > cell.begin;
    }
    return any;
}

/* A number wider than its column may use blanks on its left. */
static void put_cell(struct tree_writer *w, const struct layout_column *at,
                     struct str cell, enum colour colour, unsigned flags)
{
    unsigned width = (unsigned)text_width(cell), begin = at->end - at->cells;

    if (width == 0)
        return;
    if (at->column->right)
        begin = at->end > width ? at->end - width : 0;
    if (begin < w->used + 1)
        begin = w->used + 1;
    if (begin + width > at->end) {
        if (begin >= at->end)
            return;
        buf_clear(&w->cut);
        figure_cut(&w->cut, at->column->kind, cell, at->end - begin, w->ascii);
        cell = buf_span(&w->cut);
        if (at->column->right)
            begin = at->end - (unsigned)text_width(cell);
    }
    tree_pad(w, begin);
    tree_put(w, colour, flags, cell);
}

static void put_cells(struct tree_writer *w, uint32_t row, struct tree_look look)
{
    for (unsigned c = 0; c < w->layout.table.n; c++) {
        const struct layout_column *at = &w->layout.table.at[c];
        struct tree_cell cell;
        enum colour colour;

        if (!at->shown)
            continue;
        cell = tree_cell(&w->layout, w->explorer, row, c);
        colour = (enum colour)cell.role;
        if (look.frozen && colour == COLOUR_NONE)
            colour = COLOUR_DIM;
        put_cell(w, at, cell_text(w, cell), colour,
                 strcmp(at->column->id, "in") == 0 ? SPAN_ITALIC : 0);
    }
}

/* --- Lines */

/* Does a tied tensor show what it is tied to instead of its size, because space is
 * short? */
static bool speaks_up(const struct tree_writer *w, const struct row *row, size_t room)
{
    return !w->explorer->show.pair && w->label.tail.len > 0 && w->label.is_shape &&
           !(row->flags & ROW_MORE) && label_width(&w->label) > room;
}

static bool is_frozen(const struct tree_writer *w, const struct row *row)
{
    const struct counts *total = &w->explorer->show.session->total;

    if (w->explorer->show.pair || total->frozen == 0)
        return false;
    if (row->place == 0 && !(row->flags & ROW_MORE))
        return total->trainable == 0;
    return row_frozen(&w->explorer->show, row);
}

static void put_row(struct tree_writer *w, uint32_t r)
{
    const struct row row = rows_at(browse_rows(w->explorer->browse), r);
    struct tree_look look = {.cursor = r == browse_cursor(w->explorer->browse),
                             .frozen = is_frozen(w, &row)};
    bool any = has_cells(w, r);
    unsigned end = w->layout.table.label;
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
        tree_put_flowing(
            w, &row, look,
            w->layout.table.width > w->used ? w->layout.table.width - w->used : 0);
        return;
    }
    if (!any || speaks_up(w, &row, end > w->used ? end - w->used : 0)) {
        end = w->layout.table.width;
        any = false;
    }
    tree_put_label(w, &row, look,
                   end > w->used + LEAST_LABEL ? end - w->used : LEAST_LABEL);
    if (any)
        put_cells(w, r, look);
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
    buf_clear(&w->cut);
    figure_cut(&w->cut, FIGURE_TEXT, buf_span(&text), w->layout.table.label, w->ascii);
    tree_put(w, COLOUR_DIM, 0, buf_span(&w->cut));
    buf_release(&text);
}

static void put_column_header(struct tree_writer *w, unsigned c, const char *sign,
                              unsigned spare)
{
    struct layout_column at = w->layout.table.at[c];
    const char *title = w->layout.more[c].header;
    struct buf header = BUF_INIT;

    if (w->ascii)
        glyph_to_ascii(&header, title, strlen(title));
    else
        buf_text(&header, title);
    if ((int)c == w->layout.sort)
        buf_text(&header, sign);
    at.end -= spare;
    at.cells -= spare < at.cells ? spare : at.cells;
    put_cell(w, &at, buf_span(&header), COLOUR_DIM, 0);
    buf_release(&header);
}

static bool has_room(const struct tree_writer *w, unsigned c)
{
    return w->layout.table.at[c].shown && w->layout.table.at[c].cells > 0;
}

/* Would the last column's title be cut if it lost this many cells? */
static bool is_tight(const struct tree_writer *w, unsigned last, unsigned cells)
{
    const struct layout_column *at = &w->layout.table.at[last];
    unsigned room = at->cells, before = (unsigned)strlen(" name"), title;

    if (w->layout.table.n == 0 || room == 0)
        return false;
    title = (unsigned)text_width(str_of(w->layout.more[last].header));
    for (unsigned c = 0; c < last; c++)
        if (has_room(w, c))
            before = w->layout.table.at[c].end;
    if (at->column->right)
        room = at->end - before - 1; /* it may use blanks on its left */
    return title + ((int)last == w->layout.sort) + cells > room;
}

/* The line ends in »3 if three columns do not fit; if that would cut the last title,
 * it follows the name instead. */
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
    for (unsigned c = 0; c < w->layout.table.n; c++)
        if (has_room(w, c))
            last = c;
    tight = width > 0 && is_tight(w, last, width);
    put_name_header(w, sign, tight ? buf_span(&hidden) : STR(""));
    if (tight) {
        buf_clear(&hidden);
        width = 0;
    }
    for (unsigned c = 0; c < w->layout.table.n; c++)
        if (w->layout.table.at[c].shown)
            put_column_header(w, c, sign, c == last ? width : 0);
    if (w->used + width <= w->layout.table.width) {
        tree_pad(w, w->layout.table.width - width);
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
    tree_layout_release(&w.layout);
    label_release(&w.label);
    buf_release(&w.parts.text);
    buf_release(&w.cell);
    buf_release(&w.cut);
    buf_release(&w.path);
}

/* --- For the mouse */

const struct column tree_name_column = {.id = "name", .sort = SORT_NAME};

const struct column *tree_column_at(struct explorer *explorer,
                                    const struct tree_room *room, unsigned cell)
{
    const struct column *found = NULL;
    struct tree_layout layout;

    tree_layout_make(&layout, explorer, room);
    if (cell < layout.table.label)
        found = &tree_name_column;
    for (unsigned c = 0; c < layout.table.n && !found; c++)
        if (layout.table.at[c].shown && cell < layout.table.at[c].end)
            found = layout.table.at[c].column;
    tree_layout_release(&layout);
    return found;
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
    tree_layout_release(&w.layout);
    return cell == at || cell == at + 1;
}
