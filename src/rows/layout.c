#include "rows/layout.h"

#include <string.h>

#include "text/text.h"

struct layout_column *layout_add(struct table_layout *layout,
                                 const struct column *column)
{
    struct layout_column *to = &layout->at[layout->n++];

    *to = (struct layout_column){
        .column = column, .rank = column->rank, .least = UINT32_MAX, .shown = true};
    return to;
}

void layout_widen(struct layout_column *column, size_t cells)
{
    if (cells > column->cells)
        column->cells = (unsigned)cells;
}

static bool has_room(const struct layout_column *column)
{
    return column->shown && column->cells > 0;
}

unsigned layout_width(const struct table_layout *layout)
{
    unsigned sum = 0;

    for (unsigned c = 0; c < layout->n; c++)
        if (has_room(&layout->at[c]))
            sum += layout->gap + layout->at[c].cells;
    return sum;
}

unsigned layout_hidden(const struct table_layout *layout)
{
    unsigned hidden = 0;

    for (unsigned c = 0; c < layout->n; c++)
        hidden += !layout->at[c].shown;
    return hidden;
}

/* The number of cells by which a column can shrink. */
static unsigned slack(const struct layout_column *column)
{
    return has_room(column) && column->cells > column->least
               ? column->cells - column->least
               : 0;
}

/* Take `cells` cells from columns that can shrink, the one with the most slack first;
 * false: not enough slack. */
static bool shrink(struct table_layout *layout, unsigned cells)
{
    unsigned sum = 0;

    for (unsigned c = 0; c < layout->n; c++)
        sum += slack(&layout->at[c]);
    if (sum < cells)
        return false;
    while (cells > 0) {
        struct layout_column *widest = &layout->at[0];
        unsigned taken;

        for (unsigned c = 1; c < layout->n; c++)
            if (slack(&layout->at[c]) > slack(widest))
                widest = &layout->at[c];
        taken = slack(widest) < cells ? slack(widest) : cells;
        widest->cells -= taken;
        cells -= taken;
    }
    return true;
}

/* Drop the column with the lowest rank, the last one if tied; false: none can be
 * dropped. */
static bool drop(struct table_layout *layout)
{
    struct layout_column *lowest = NULL;

    for (unsigned c = 0; c < layout->n; c++)
        if (layout->at[c].shown && layout->at[c].rank != LAYOUT_STAYS &&
            (!lowest || layout->at[c].rank <= lowest->rank))
            lowest = &layout->at[c];
    if (lowest)
        lowest->shown = false;
    return lowest != NULL;
}

/* Shrink the last column in favour of the labels, or drop it if it has the lowest rank.
 */
static void yield(struct table_layout *layout)
{
    struct layout_column *last = &layout->at[layout->n - 1];
    unsigned others = layout->label + layout_width(layout) - last->cells;

    if (!last->shown || last->least == UINT32_MAX)
        return;
    if (others + last->least <= layout->width)
        last->cells = layout->width - others;
    else if (last->rank == 0)
        last->shown = false;
}

/* Make room for labels of `label` cells. */
static void make_room(struct table_layout *layout, unsigned label)
{
    while (layout_width(layout) + label > layout->width) {
        unsigned over = layout_width(layout) + label - layout->width;

        if (shrink(layout, over) || !drop(layout))
            return;
    }
}

void layout_fit(struct table_layout *layout)
{
    unsigned label = layout->label, least = layout->least_label, used;

    if (layout->width > 0 && label + layout_width(layout) > layout->width) {
        if (layout->n > 0)
            yield(layout);
        make_room(layout, label < least ? label : least);
        used = layout_width(layout);
        used = layout->width > used ? layout->width - used : 0;
        layout->label = label < used ? label : used;
    }
    used = layout->label;
    for (unsigned c = 0; c < layout->n; c++) {
        if (has_room(&layout->at[c]))
            used += layout->gap + layout->at[c].cells;
        layout->at[c].end = used;
    }
}

struct figure layout_cell(struct buf *to, const struct column *column,
                          const struct show *show, const struct row *row)
{
    bool line = column->kind == FIGURE_SHAPES;
    size_t begin = to->len;
    struct figure figure;

    buf_text(to, line ? "| " : "");
    figure = column_figure(to, column, show, row);
    if (line && to->len == begin + 2)
        to->len = begin;
    return figure;
}

/* --- Lines of text */

void layout_put(struct buf *line, const struct table_layout *layout, unsigned column,
                struct str text, enum colour role)
{
    const struct layout_column *to = &layout->at[column];
    size_t width = text_width(text), blanks = to->cells > width ? to->cells - width : 0;

    if (!has_room(to))
        return;
    buf_fill(line, ' ', layout->gap + (to->column->right ? blanks : 0));
    buf_text(line, colour_begin(role, layout->colour));
    if (width > to->cells)
        figure_cut(line, to->column->kind, text, to->cells, layout->ascii);
    else
        buf_str(line, text);
    buf_text(line, colour_end(role, layout->colour));
    if (!to->column->right)
        buf_fill(line, ' ', blanks);
}

void layout_put_header(struct buf *line, const struct table_layout *layout)
{
    unsigned hidden = layout_hidden(layout);
    struct buf text = BUF_INIT, name = BUF_INIT;

    buf_text(&text, "name");
    if (hidden > 0)
        buf_printf(&text, " %s%u", layout->ascii ? ">" : "»", hidden);
    figure_cut(&name, FIGURE_NAME, buf_span(&text), layout->label, layout->ascii);
    text_pad(line, buf_span(&name), layout->label);
    for (unsigned c = 0; c < layout->n; c++) {
        const char *header = layout->at[c].column->header;

        buf_clear(&text);
        if (layout->ascii)
            glyph_to_ascii(&text, header, strlen(header));
        else
            buf_text(&text, header);
        layout_put(line, layout, c, buf_span(&text), COLOUR_NONE);
    }
    buf_release(&text);
    buf_release(&name);
}

void layout_end_line(struct out *out, const struct table_layout *layout,
                     struct buf *line)
{
    struct buf isolated = BUF_INIT;

    while (line->len > 0 && line->at[line->len - 1] == ' ')
        line->len--;
    buf_char(line, '\n');
    if (layout->isolate)
        escape_isolate(&isolated, buf_span(line));
    out_str(out, layout->isolate ? buf_span(&isolated) : buf_span(line));
    buf_release(&isolated);
    buf_clear(line);
}
