/* print.c - the grid as lines of text. */
#include "base/utf8.h"
#include "explorer/boxes/boxes_in.h"
#include "text/glyph.h"
#include "text/width.h"

/* By the sides of a cell: up 1, down 2, left 4, right 8. */
static const char *const line_signs[16] = {" ", "│", "│", "│", "─", "╯", "╮", "┤",
                                           "─", "╰", "╭", "├", "─", "┴", "┬", "┼"};
static const char *const border_signs[16] = {" ", "│", "│", "│", "─", "┘", "┐", "┤",
                                             "─", "└", "┌", "├", "─", "┴", "┬", "┼"};
static const char *const double_signs[16] = {" ", "║", "║", "║", "═", "╝", "╗", "╢",
                                             "═", "╚", "╔", "╟", "═", "╧", "╤", "╪"};

struct printing {
    const struct boxes_drawing *drawing;
    struct lines *to;
    uint32_t selected, box; /* the node, and its box */
    struct buf run;         /* text of one role */
    uint8_t colour, flags;
    bool ascii;
};

static void flush(struct printing *p)
{
    if (p->run.len > 0)
        lines_add(p->to, (enum colour)p->colour, p->flags, buf_span(&p->run));
    buf_clear(&p->run);
}

static void emit(struct printing *p, struct str text, uint8_t colour, uint8_t flags)
{
    if (colour != p->colour || flags != p->flags)
        flush(p);
    p->colour = colour;
    p->flags = flags;
    buf_str(&p->run, text);
}

/* ---- cells without text ---- */

static const char *arrow_sign(uint8_t side)
{
    return side == SIDE_DOWN   ? "▼"
           : side == SIDE_UP   ? "▲"
           : side == SIDE_LEFT ? "◄"
                               : "►";
}

/* The ends of a box without border: a sign has brackets, a selected box double
 * lines. */
static const char *bare_sign(const struct printing *p, uint32_t box, uint32_t column)
{
    const struct plan_box *plan = &p->drawing->plan.boxes[box];
    const struct boxes_box *of = &p->drawing->boxes[box];
    const struct boxes_node *node =
        &p->drawing->graph->nodes[p->drawing->rows[of->rows]];
    bool left = (int32_t)column == plan->x;

    if (!left && (int32_t)column != plan->x + plan->w - 1)
        return " ";
    if (box == p->box)
        return left ? "╡" : "╞";
    if (!(node->flags & DIAGRAM_SIGN))
        return " ";
    return left ? "(" : ")";
}

/* The mark before the selected row of a box with several. */
static bool is_marked(const struct printing *p, const struct boxes_cell *cell,
                      uint32_t column, uint32_t row)
{
    const struct plan_box *plan = &p->drawing->plan.boxes[cell->box];

    return cell->box == p->box && p->drawing->boxes[p->box].n_rows > 1 &&
           (int32_t)column == plan->x + 1 &&
           row == boxes_where(p->drawing, p->selected).row;
}

/* The ASCII twin of the lower left corner is for trees: "`". */
static const char *border_sign(const struct printing *p, uint8_t sides)
{
    return p->ascii && sides == (SIDE_UP | SIDE_RIGHT) ? "+" : border_signs[sides];
}

static void print_cell(struct printing *p, uint32_t column, uint32_t row)
{
    const struct boxes_cell *cell =
        &p->drawing->cells[(size_t)row * p->drawing->width + column];
    const struct boxes_box *box = &p->drawing->boxes[cell->box];
    bool mine = cell->box > 0 && cell->box == p->box;
    uint8_t sides = cell->lines | cell->border;
    uint8_t colour = cell->not_finite                               ? COLOUR_ALARM
                     : cell->box > 0 && cell->border && !box->frame ? COLOUR_NONE
                                                                    : COLOUR_DIM;
    const char *sign;

    if (cell->arrow)
        sign = arrow_sign(cell->arrow);
    else if (cell->box > 0 && box->bare)
        sign = bare_sign(p, cell->box, column);
    else if (mine && is_marked(p, cell, column, row))
        sign = glyph(GLYPH_CURSOR, p->ascii);
    else
        sign = mine && cell->border ? double_signs[sides]
               : cell->border       ? border_sign(p, sides)
                                    : line_signs[sides];
    if (sign[0] == ' ')
        colour = p->colour;
    else if (mine)
        colour = COLOUR_FOCUS;
    emit(p, str_of(sign), colour, sign[0] == ' ' ? p->flags : mine ? SPAN_BOLD : 0);
}

/* ---- texts ---- */

/* The part of a text in columns `from` up to `to`; half of a wide character is a
 * blank. */
static void print_text(struct printing *p, const struct boxes_text *text, uint32_t from,
                       uint32_t to)
{
    bool bold = text->node != BOXES_NONE && text->node == p->selected;
    uint8_t flags = bold ? SPAN_BOLD : 0;
    struct str rest = text->text;
    uint32_t column = text->column;

    while (rest.len > 0) {
        uint32_t code;
        int len = utf8_decode(rest, &code);
        struct str one = str_head(rest, len > 0 ? (size_t)len : 1);
        uint32_t cells = (uint32_t)text_width(one);

        rest = str_from(rest, one.len);
        if (column >= from && column + cells <= to && (cells > 0 || column > from))
            emit(p, one, text->colour, flags);
        else
            for (uint32_t c = column; c < column + cells; c++)
                if (c >= from && c < to)
                    emit(p, STR(" "), text->colour, flags);
        column += cells;
    }
}

static void print_row(struct printing *p, uint32_t row, uint32_t left, uint32_t right)
{
    const struct boxes_drawing *drawing = p->drawing;
    uint32_t t = drawing->texts_at[row], end = drawing->texts_at[row + 1];
    uint32_t column = left;

    while (column < right) {
        const struct boxes_text *text = t < end ? &drawing->texts[t] : NULL;
        uint32_t cells = text ? (uint32_t)text_width(text->text) : 0;

        if (text && text->column + cells <= column) {
            t++;
        } else if (text && text->column <= column) {
            print_text(p, text, left, right);
            column = text->column + cells < right ? text->column + cells : right;
            t++;
        } else {
            print_cell(p, column++, row);
        }
    }
}

void boxes_lines(struct lines *to, const struct boxes_drawing *drawing,
                 uint32_t selected, uint32_t left, uint32_t width, bool ascii)
{
    struct printing p = {
        .drawing = drawing, .to = to, .selected = selected, .ascii = ascii};
    uint64_t right = (uint64_t)left + width;

    if (right > drawing->width)
        right = drawing->width;
    if (selected < drawing->graph->n_nodes && drawing->box_of[selected] != BOXES_NONE)
        p.box = drawing->box_of[selected];
    for (uint32_t row = 0; row < drawing->height; row++) {
        print_row(&p, row, left, (uint32_t)right);
        flush(&p);
        lines_end(to);
    }
    buf_release(&p.run);
}

/* ---- the selected node in words ---- */

static void say(struct lines *to, const struct buf *text, uint32_t width)
{
    struct buf cut = BUF_INIT;

    text_cut(&cut, buf_span(text), width - 2, "…");
    lines_text(to, COLOUR_NONE, " ");
    lines_add(to, COLOUR_NONE, 0, buf_span(&cut));
    lines_end(to);
    buf_release(&cut);
}

void boxes_about(struct lines *to, const struct boxes_drawing *drawing,
                 uint32_t selected, uint32_t width, uint32_t most)
{
    const struct boxes_graph *graph = drawing->graph;
    const struct boxes_node *node = &graph->nodes[selected];
    bool module = node->kind == DIAGRAM_MODULE && node->id.len > 0;
    struct buf text = BUF_INIT;

    if (most == 0 || width < 8)
        return;
    buf_str(&text, module ? node->id : node->name);
    for (uint32_t k = 0; k < node->n_words; k++) {
        buf_text(&text, k == 0 ? "  " : graph->words[node->words + k].before);
        buf_str(&text, graph->words[node->words + k].text);
    }
    if (most > 1) {
        say(to, &text, width);
        buf_clear(&text);
    }
    if (node->facts.len > 0)
        buf_printf(&text, "%s%.*s", text.len > 0 ? "   " : "", STR_ARG(node->facts));
    if (node->line.len > 0)
        buf_printf(&text, "%s%.*s", text.len > 0 ? "   " : "", STR_ARG(node->line));
    say(to, &text, width);
    buf_release(&text);
}
