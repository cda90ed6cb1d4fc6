#include <stdlib.h>
#include <string.h>

#include "text/escape.h"
#include "tui/palette_in.h"
#include "tui/term_in.h"
#include "tui/terminfo_in.h"

/* The terminal's cursor and style while a frame is written. */
struct pen_state {
    unsigned column, row;
    bool known;  /* the position is known */
    bool styled; /* `style` is the terminal's current style */
    struct cell style;
};

static bool same_style(const struct cell *a, const struct cell *b)
{
    return a->colour == b->colour && a->flags == b->flags && a->back == b->back;
}

static bool same_cell(const struct cell *a, const struct cell *b)
{
    return same_style(a, b) && strcmp(a->text, b->text) == 0;
}

/* Right-to-left scripts begin at U+0590. */
static bool may_be_rtl(const struct cell *cell)
{
    return (unsigned char)cell->text[0] >= 0xd6;
}

static bool is_blank(const struct cell *cell)
{
    return strcmp(cell->text, " ") == 0 && !cell->back &&
           !(cell->flags & (SPAN_UNDERLINE | SPAN_REVERSE));
}

static void move_to(struct term *term, struct pen_state *pen, unsigned column,
                    unsigned row)
{
    if (pen->known && pen->column == column && pen->row == row)
        return;
    if (pen->known && pen->row == row && column > 0)
        buf_printf(&term->out, "\033[%uG", column + 1);
    else
        terminfo_move(&term->out, column, row);
    pen->column = column;
    pen->row = row;
    pen->known = true;
}

static void set_style(struct term *term, struct pen_state *pen, const struct cell *cell)
{
    if (pen->styled && same_style(&pen->style, cell))
        return;
    palette_style(&term->out, term->colours, term->light, cell);
    pen->style = *cell;
    pen->styled = true;
}

/* Write cells of one style, from `column` to `end`. */
static void write_run(struct term *term, struct pen_state *pen, const struct cell *row,
                      unsigned column, unsigned end)
{
    struct buf text = BUF_INIT;
    bool rtl = false, odd = false;

    set_style(term, pen, &row[column]);
    for (unsigned i = column; i < end; i++) {
        rtl = rtl || may_be_rtl(&row[i]);
        /* Terminals disagree about the width of such characters. */
        odd = odd || row[i].text[0] == '\0' || (row[i].text[0] & 0x80 && rtl);
        buf_text(&text, row[i].text);
    }
    if (rtl)
        escape_isolate(&term->out, buf_span(&text));
    else
        buf_str(&term->out, buf_span(&text));
    pen->column = end;
    pen->known = !odd && end < term->shown.columns;
    buf_release(&text);
}

/* The end of a run of changed cells with the same style. A wide character ends it, so
 * that the next cell is positioned explicitly. */
static unsigned run_end(const struct cell *row, unsigned column, unsigned end)
{
    unsigned at = column + 1;

    while (at < end && row[at].text[0] == '\0')
        at++;
    if (at > column + 1)
        return at;
    while (at < end && same_style(&row[column], &row[at]) &&
           !(at + 1 < end && row[at + 1].text[0] == '\0'))
        at++;
    return at;
}

/* The first column of the trailing blanks. */
static unsigned blank_from(const struct cell *row, unsigned columns)
{
    while (columns > 0 && is_blank(&row[columns - 1]))
        columns--;
    return columns;
}

static void write_span(struct term *term, struct pen_state *pen, const struct cell *row,
                       unsigned y, unsigned begin, unsigned end)
{
    while (begin > 0 && row[begin].text[0] == '\0')
        begin--;
    while (begin < end) {
        unsigned next = run_end(row, begin, end);

        move_to(term, pen, begin, y);
        write_run(term, pen, row, begin, next);
        begin = next;
    }
}

static void write_row(struct term *term, struct pen_state *pen, const struct cell *row,
                      const struct cell *old, unsigned y)
{
    unsigned columns = term->shown.columns, blank = blank_from(row, columns);
    unsigned old_blank = old ? blank_from(old, columns) : columns, at = 0;
    bool whole = !old;

    for (unsigned i = 0; i < columns && !whole && old; i++)
        whole = (may_be_rtl(&row[i]) || may_be_rtl(&old[i])) &&
                !same_cell(&row[i], &old[i]);
    while (at < blank) {
        unsigned end;

        if (!whole && same_cell(&row[at], &old[at])) {
            at++;
            continue;
        }
        /* Rewriting a few unchanged cells is cheaper than a cursor move. */
        for (end = at + 1; end < blank; end++)
            if (!whole && same_cell(&row[end], &old[end]) &&
                (end + 3 >= blank || (same_cell(&row[end + 1], &old[end + 1]) &&
                                      same_cell(&row[end + 2], &old[end + 2]) &&
                                      same_cell(&row[end + 3], &old[end + 3]))))
                break;
        while (end < blank && row[end].text[0] == '\0')
            end++;
        write_span(term, pen, row, y, at, end);
        at = end;
    }
    if (blank < columns && (whole || old_blank > blank)) {
        static const struct cell plain = {.text = " "};

        move_to(term, pen, blank, y);
        set_style(term, pen, &plain);
        buf_text(&term->out, "\033[K");
    }
}

static bool same_rows(const struct cell *a, const struct cell *b, unsigned columns)
{
    for (unsigned i = 0; i < columns; i++)
        if (!same_cell(&a[i], &b[i]))
            return false;
    return true;
}

/* Save the frame; false: out of memory, and the next one is drawn completely. */
static bool keep(struct term *term, const struct cell_grid *cells)
{
    size_t n = (size_t)cells->columns * cells->rows;

    if (term->shown.columns != cells->columns || term->shown.rows != cells->rows) {
        cells_release(&term->shown);
        if (cells_init(&term->shown, cells->columns, cells->rows) < 0)
            return false;
        term->whole = true;
    }
    memcpy(term->shown.at, cells->at, n * sizeof *cells->at);
    return true;
}

static void write_rows(struct term *term, struct pen_state *pen,
                       const struct cell_grid *cells)
{
    for (unsigned y = 0; y < cells->rows; y++) {
        const struct cell *row = cells->at + (size_t)y * cells->columns;
        const struct cell *old = term->shown.at + (size_t)y * cells->columns;

        if (term->whole || !same_rows(row, old, cells->columns))
            write_row(term, pen, row, term->whole ? NULL : old, y);
    }
}

void term_draw(struct term *term, const struct cell_grid *cells)
{
    struct pen_state pen = {0};
    size_t empty;

    if (!term->ours || term->hung)
        return;
    if (term->shown.columns != cells->columns || term->shown.rows != cells->rows) {
        term->whole = true;
        if (!keep(term, cells))
            return;
    }
    buf_clear(&term->out);
    if (term->synchronised)
        buf_text(&term->out, "\033[?2026h");
    buf_text(&term->out, "\033[?25l");
    if (term->whole)
        buf_text(&term->out, "\033[0m\033[2J");
    empty = term->out.len;
    write_rows(term, &pen, cells);
    if (cells->cursor_shown) {
        move_to(term, &pen, cells->cursor_column, cells->cursor_row);
        buf_text(&term->out, "\033[0m\033[?25h");
    } else if (pen.styled) {
        buf_text(&term->out, "\033[0m");
    }
    if (term->synchronised)
        buf_text(&term->out, "\033[?2026l");
    /* Do not write a frame without changes. */
    if (term->whole || term->out.len > empty + 8 ||
        cells->cursor_shown != term->shown.cursor_shown)
        term_write(term->fd, term->out.at, term->out.len);
    keep(term, cells);
    term->shown.cursor_shown = cells->cursor_shown;
    term->whole = false;
}

void term_redraw(struct term *term)
{
    term->whole = true;
}
