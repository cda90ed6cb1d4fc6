#include "show/tree_lines.h"

#include <string.h>

#include "base/base.h"
#include "show/tree_columns_in.h"
#include "text/glyph.h"
#include "text/width.h"

#define LEAST_LABEL 4 /* cells behind the guides */

/* One line that is being written. */
struct writer {
    struct lines *to;
    struct explorer *explorer;
    const struct tree_room *room;
    struct tree_layout layout;
    struct label label;
    struct label_parts parts;
    struct buf cell, cut;
    size_t ends[LABELS_MOST]; /* of the row's cells, one behind the other in `cell` */
    unsigned used;            /* cells of the line so far */
    bool ascii;
};

static void put(struct writer *w, enum colour colour, unsigned flags, struct str text)
{
    lines_add(w->to, colour, flags, text);
    w->used += (unsigned)text_width(text);
}

static void put_text(struct writer *w, enum colour colour, const char *text)
{
    put(w, colour, 0, str_of(text));
}

static void pad_to(struct writer *w, unsigned cells)
{
    struct buf blanks = BUF_INIT;

    if (w->used >= cells)
        return;
    buf_fill(&blanks, ' ', cells - w->used);
    put(w, COLOUR_NONE, 0, buf_span(&blanks));
    buf_release(&blanks);
}

/* --- The gutter and the guides */

enum mark { MARK_NONE, MARK_SAME, MARK_MATCH, MARK_WARNING, MARK_ALARM };

/* What the gutter says of a row, but for the cursor: the strongest. */
static enum mark row_mark(const struct writer *w, const struct row *row)
{
    const struct str sign = buf_span(&w->label.sign);

    if (str_find(sign, STR("✗")) >= 0)
        return MARK_ALARM;
    if (str_find(sign, STR("!")) >= 0)
        return MARK_WARNING;
    if (row->flags & ROW_MATCH)
        return MARK_MATCH;
    return browse_is_same(w->explorer->browse, row) ? MARK_SAME : MARK_NONE;
}

static void put_gutter(struct writer *w, enum mark mark, bool cursor)
{
    bool plain = w->room->no_colour;

    if (cursor)
        put_text(w, COLOUR_NONE, glyph(GLYPH_CURSOR, w->ascii));
    else if (mark == MARK_ALARM)
        put_text(w, COLOUR_ALARM, glyph(GLYPH_BAD, w->ascii));
    else if (mark == MARK_WARNING)
        put_text(w, COLOUR_WARNING, "!");
    else if (mark == MARK_MATCH)
        put_text(w, COLOUR_MATCH, "*");
    else
        put_text(w, COLOUR_SAME, mark == MARK_SAME && plain ? "=" : " ");
}

static bool in_tree(const struct writer *w)
{
    return browse_view(w->explorer->browse)->flat == FLAT_NO;
}

/* The levels of a row that have guides. */
static unsigned row_levels(const struct writer *w, const struct row *row)
{
    unsigned depth = row->depth > w->layout.left_out ? row->depth - w->layout.left_out
                                                     : (row->depth > 0);

    return depth < w->layout.levels + 2 ? depth : w->layout.levels + 2;
}

/* Is the branch of this row at `up` levels above it the last of its siblings? */
static bool is_last(const struct writer *w, const struct row *row, unsigned up)
{
    const struct rows *rows = browse_rows(w->explorer->browse);
    struct row at = *row;

    for (; up > 0 && at.above != NO_ROW; up--)
        at = rows_at(rows, at.above);
    return at.flags & ROW_LAST;
}

static void put_guides(struct writer *w, const struct row *row)
{
    static const char *const signs[2][4] = {{"  ", "│ ", "├ ", "└ "},
                                            {"  ", "| ", "|-", "`-"}};
    const char *const *sign = signs[w->ascii];
    unsigned levels = row_levels(w, row);
    struct buf text = BUF_INIT;

    for (unsigned up = levels; up-- > 0;)
        buf_text(&text, sign[(up == 0 ? 2 : 0) +
                             (up == 0 ? is_last(w, row, 0) : !is_last(w, row, up))]);
    put(w, COLOUR_DIM, 0, buf_span(&text));
    buf_release(&text);
}

/* --- The label */

/* The sign before the name: a fold sign, or what the label has. An alarm of something
 * that can be folded is told by the gutter. */
static void put_sign(struct writer *w, const struct row *row)
{
    struct buf *sign = &w->label.sign;

    if (row->flags & (ROW_OPEN | ROW_CLOSED)) {
        put_text(w, COLOUR_DIM,
                 glyph(row->flags & ROW_OPEN ? GLYPH_OPEN : GLYPH_FOLDED, w->ascii));
        put_text(w, COLOUR_NONE, " ");
    } else if (sign->len > 0) {
        struct str all = buf_span(sign);
        ptrdiff_t blank = str_find_char(all, ' ');

        put(w, w->label.sign_colour, 0,
            str_head(all, blank < 0 ? all.len : (size_t)blank + 1));
    } else {
        put_text(w, COLOUR_NONE, "  ");
    }
    buf_clear(sign);
}

/* What is switched off is left out; tensors and values keep what they are. */
static void drop_parts(struct writer *w)
{
    const struct label_set *set = &w->explorer->labels;

    if (!w->label.is_class)
        return;
    if (!label_is_on(set, "args")) {
        buf_clear(&w->label.args);
        w->label.always = false;
    }
    if (!label_is_on(set, "type")) {
        buf_clear(&w->label.type);
        buf_clear(&w->label.args);
        w->label.always = false;
    }
    if (!label_is_on(set, "name")) {
        buf_clear(&w->label.name);
        w->label.joint = "";
    }
}

/* How a row looks as a whole. */
struct look {
    bool cursor, same, frozen;
};

static void put_label(struct writer *w, struct look look, size_t cells)
{
    label_fit(&w->parts, &w->label, cells);
    for (int part = PART_NAME; part < PART_COUNT; part++) {
        enum colour colour = label_part_colour(&w->label, part);
        unsigned flags = part == PART_NAME && look.cursor ? SPAN_BOLD : 0;

        if (look.frozen)
            colour = COLOUR_DIM;
        if (look.same && part <= PART_TYPE)
            colour = COLOUR_SAME;
        put(w, colour, flags, label_part(&w->parts, part));
    }
}

/* --- The columns */

static struct str cell_at(const struct writer *w, unsigned c)
{
    size_t begin = c > 0 ? w->ends[c - 1] : 0;

    return str_span(w->cell.at + begin, w->ends[c] - begin);
}

/* All cells of a row; true: some of those that are shown say something. */
static bool make_cells(struct writer *w, const struct row *row)
{
    const struct show *show = &w->explorer->show;
    struct buf text = BUF_INIT;
    bool any = false;

    buf_clear(&w->cell);
    for (unsigned c = 0; c < w->layout.n; c++) {
        const struct tree_column *column = &w->layout.at[c];
        size_t begin = w->cell.len;

        buf_clear(&text);
        if (column->shown && column->bar)
            column->bar(&text, show, row, (int)column->cells);
        else if (column->shown)
            column->column->cell(&text, show, row);
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

static void cut_cell(struct buf *to, enum cut cut, struct str cell, size_t cells,
                     bool ascii)
{
    const char *ellipsis = glyph(GLYPH_ELLIPSIS, ascii);
    const char *times = glyph(GLYPH_TIMES, ascii);

    buf_clear(to);
    switch (cut) {
    case CUT_END:
    case CUT_NEVER:
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

/* Zeros are there to be looked past, values that are not finite to be seen. */
static enum colour cell_colour(struct str cell)
{
    if (str_is(cell, "0") || str_is(cell, "0B") || str_is(cell, " 0%"))
        return COLOUR_DIM;
    return str_starts(cell, STR("NaN ")) || str_starts(cell, STR("Inf ")) ? COLOUR_ALARM
                                                                          : COLOUR_NONE;
}

/* A number that is wider than its column may take blanks on its left. */
static void put_cell(struct writer *w, const struct tree_column *column,
                     struct str cell, enum colour colour, unsigned flags)
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
        cut_cell(&w->cut, column->column->cut, cell, column->end - begin, w->ascii);
        cell = buf_span(&w->cut);
        if (column->column->right)
            begin = column->end - (unsigned)text_width(cell);
    }
    pad_to(w, begin);
    put(w, colour, flags, cell);
}

static void put_cells(struct writer *w, struct look look)
{
    for (unsigned c = 0; c < w->layout.n; c++) {
        const struct tree_column *column = &w->layout.at[c];
        struct str cell = cell_at(w, c);
        enum colour colour = cell_colour(cell);

        if (!column->shown)
            continue;
        if (look.frozen && colour == COLOUR_NONE)
            colour = COLOUR_DIM;
        put_cell(w, column, cell, colour,
                 str_is(str_of(column->id), "in") ? SPAN_ITALIC : 0);
    }
}

/* --- Lines */

/* The bar at the right edge: which part of all rows is on the screen. */
static void put_scroll_bar(struct writer *w, unsigned line)
{
    const struct tree_layout *layout = &w->layout;
    uint64_t n = browse_rows(w->explorer->browse)->n, height = layout->rows;
    uint64_t size = height * height / n, at;

    size = size == 0 ? 1 : size;
    at = n > height ? (uint64_t)layout->top * (height - size) / (n - height) : 0;
    pad_to(w, layout->width + 1);
    if (line >= at && line < at + size)
        put_text(w, COLOUR_NONE, glyph(GLYPH_SCROLL, w->ascii));
    else
        put_text(w, COLOUR_DIM, glyph(GLYPH_LINE, w->ascii));
}

/* A tied tensor says to what rather than how much, where both have no room. */
static bool speaks_up(const struct writer *w, const struct row *row, size_t room)
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

static void put_row(struct writer *w, uint32_t r)
{
    const struct row at = rows_at(browse_rows(w->explorer->browse), r), *row = &at;
    struct look look = {.cursor = r == browse_cursor(w->explorer->browse)};
    bool any = make_cells(w, row), tree = in_tree(w);
    unsigned end = w->layout.name;
    enum mark mark;

    label_make(&w->label, &w->explorer->show, row, tree ? LABEL_NAME : LABEL_PATH);
    drop_parts(w);
    mark = row_mark(w, row);
    look.same = mark == MARK_SAME && !look.cursor;
    put_gutter(w, mark, look.cursor);
    if (tree)
        put_guides(w, row);
    if (tree || w->label.sign.len > 0)
        put_sign(w, row);
    if (!any || speaks_up(w, row, end > w->used ? end - w->used : 0)) {
        end = w->layout.width;
        any = false;
    }
    put_label(w, look, end > w->used + LEAST_LABEL ? end - w->used : LEAST_LABEL);
    if (any)
        put_cells(w, look);
}

static void put_header(struct writer *w)
{
    const struct view *view = browse_view(w->explorer->browse);
    const char *sign = view->reverse ? "▴" : "▾";
    struct buf text = BUF_INIT;
    unsigned last = w->layout.n;

    if (w->ascii)
        sign = view->reverse ? "^" : "v";
    buf_printf(&text, " name%s", w->layout.sort_name ? sign : "");
    if (w->layout.left_out > 0)
        buf_printf(&text, " (%u levels further left)", w->layout.left_out);
    cut_cell(&w->cut, CUT_END, buf_span(&text), w->layout.name, w->ascii);
    put(w, COLOUR_DIM, 0, buf_span(&w->cut));
    for (unsigned c = 0; c < w->layout.n; c++)
        if (w->layout.at[c].shown && w->layout.at[c].cells > 0)
            last = c;
    for (unsigned c = 0; c < w->layout.n; c++) {
        struct tree_column column = w->layout.at[c];
        struct buf header = BUF_INIT;

        if (!column.shown)
            continue;
        buf_clear(&text);
        buf_text(&text, tree_header(&w->layout, w->explorer, c));
        if ((int)c == w->layout.sort)
            buf_text(&text, sign);
        if (c == last && w->layout.hidden > 0)
            buf_printf(&text, "%s%u", w->ascii ? ">" : "»", w->layout.hidden);
        if (w->ascii)
            glyph_to_ascii(&header, text.at, text.len);
        else
            buf_str(&header, buf_span(&text));
        put_cell(w, &column, buf_span(&header), COLOUR_DIM, 0);
        buf_release(&header);
    }
    buf_release(&text);
}

static void end_line(struct writer *w, uint32_t target)
{
    pad_to(w, w->room->width);
    lines_end_target(w->to, target);
    w->used = 0;
}

void tree_lines(struct lines *to, struct explorer *explorer,
                const struct tree_room *room)
{
    struct writer w = {
        .to = to, .explorer = explorer, .room = room, .ascii = explorer->ascii};

    w.label.ascii = w.ascii;
    tree_layout_make(&w.layout, explorer, room);
    if (room->height == 0)
        return;
    put_header(&w);
    end_line(&w, NO_TARGET);
    for (unsigned i = 0; i < w.layout.rows; i++) {
        uint32_t row = w.layout.top + i;

        if (row < w.layout.end)
            put_row(&w, row);
        if (w.layout.scroll_bar)
            put_scroll_bar(&w, i);
        end_line(&w, row < w.layout.end ? row : NO_TARGET);
    }
    label_release(&w.label);
    buf_release(&w.parts.text);
    buf_release(&w.cell);
    buf_release(&w.cut);
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
    struct writer w = {.explorer = explorer, .room = room};
    struct row at_row;
    unsigned at;

    if (row >= rows->n)
        return false;
    at_row = rows_at(rows, row);
    if (!(at_row.flags & (ROW_OPEN | ROW_CLOSED)))
        return false;
    tree_layout_make(&w.layout, explorer, room);
    if (!in_tree(&w))
        return false;
    at = 1 + 2 * row_levels(&w, &at_row);
    return cell == at || cell == at + 1;
}
