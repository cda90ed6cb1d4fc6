#include "tui/cells.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "text/glyph.h"
#include "text/width.h"

int cells_init(struct cell_grid *cells, unsigned columns, unsigned rows)
{
    size_t n = (size_t)columns * rows;

    *cells = (struct cell_grid){.columns = columns, .rows = rows};
    cells->at = calloc(n ? n : 1, sizeof *cells->at);
    if (!cells->at) {
        *cells = (struct cell_grid){0};
        return -1;
    }
    cells_clear(cells);
    return 0;
}

void cells_release(struct cell_grid *cells)
{
    free(cells->at);
    *cells = (struct cell_grid){0};
}

static const struct cell blank = {.text = " "};

void cells_clear(struct cell_grid *cells)
{
    size_t n = (size_t)cells->columns * cells->rows;

    for (size_t i = 0; i < n; i++)
        cells->at[i] = blank;
    cells->cursor_shown = false;
}

/* The area's cells in this row, and their number; NULL: outside. */
static struct cell *row_of(struct cell_grid *cells, const struct area *area,
                           unsigned row, unsigned *ret_end)
{
    unsigned end = area->column + area->columns;

    if (row >= area->rows || area->row + row >= cells->rows ||
        area->column >= cells->columns)
        return NULL;
    *ret_end = (end < cells->columns ? end : cells->columns) - area->column;
    return cells->at + (size_t)(area->row + row) * cells->columns + area->column;
}

/* Blank wide characters that are only partly overwritten; half of one would shift the
 * rest of the row on the terminal. */
static void part_wide(struct cell *row, unsigned column, unsigned end)
{
    unsigned first = column;

    while (first > 0 && row[first].text[0] == '\0')
        row[first--].text[0] = ' ';
    if (first < column)
        row[first].text[0] = ' ', row[first].text[1] = '\0';
    for (unsigned i = column + 1; i < end && row[i].text[0] == '\0'; i++) {
        row[i].text[0] = ' ';
        row[i].text[1] = '\0';
    }
}

static void put_mark(struct cell *row, unsigned column, struct str mark)
{
    size_t have;

    while (column > 0 && row[column].text[0] == '\0')
        column--;
    have = strlen(row[column].text);
    if (have + mark.len < CELL_BYTES) {
        memcpy(row[column].text + have, mark.at, mark.len);
        row[column].text[have + mark.len] = '\0';
    }
}

static void put_one(struct cell *row, unsigned column, unsigned end,
                    const struct cell *style, struct str text)
{
    uint8_t back = row[column].back;

    part_wide(row, column, end);
    row[column] = *style;
    row[column].back = back;
    memcpy(row[column].text, text.at, text.len);
    row[column].text[text.len] = '\0';
}

/* Texts are escaped earlier; this is a second guard against characters that would move
 * the terminal's cursor. */
static bool is_control(struct str one)
{
    const unsigned char *c = (const unsigned char *)one.at;

    /* The last test covers direction marks and embeddings, U+200E to U+202E, which a
     * typed file name may contain. Isolates are written by torchoscope itself. */
    return c[0] < 0x20 || c[0] == 0x7f ||
           (c[0] == 0xc2 && one.len > 1 && c[1] < 0xa0) ||
           (c[0] == 0xe2 && one.len > 2 && c[1] == 0x80 &&
            (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xaa && c[2] <= 0xae)));
}

static unsigned put_text(struct cell *row, unsigned column, unsigned end,
                         const struct cell *style, struct str text)
{
    unsigned begin = column;

    while (text.len > 0) {
        uint32_t code;
        int len = utf8_decode(text, &code);
        struct str one = len > 0 ? str_head(text, (size_t)len) : STR("?");
        size_t width;

        text = str_from(text, len > 0 ? (size_t)len : 1);
        if (is_control(one))
            one = STR("?");
        width = text_width(one);
        if (width == 0) {
            if (column > begin)
                put_mark(row, column - 1, one);
            continue;
        }
        if (column + width > end) {
            /* A blank instead of half a character at the edge. */
            if (column < end)
                put_one(row, column++, end, style, STR(" "));
            break;
        }
        put_one(row, column, end, style, one);
        for (size_t i = 1; i < width; i++) {
            put_one(row, column + (unsigned)i, end, style, STR(""));
            memcpy(row[column].text, one.at, one.len); /* part_wide() blanked it */
            row[column].text[one.len] = '\0';
        }
        column += (unsigned)width;
    }
    return column;
}

unsigned cells_text(struct cell_grid *cells, const struct area *area, unsigned column,
                    unsigned row, enum colour colour, unsigned flags, struct str text)
{
    struct cell style = {.colour = (uint8_t)colour, .flags = (uint8_t)flags};
    struct buf ascii = BUF_INIT;
    unsigned end;
    struct cell *at = row_of(cells, area, row, &end);

    if (!at || column >= end)
        return column;
    if (cells->ascii) {
        /* Alone it is the cursor mark; in a longer text, half a bar. */
        if (str_eq(text, str_of(glyph(GLYPH_CURSOR, false))))
            buf_text(&ascii, glyph(GLYPH_CURSOR, true));
        else
            glyph_to_ascii(&ascii, text.at, text.len);
        text = buf_span(&ascii);
    }
    column = put_text(at, column, end, &style, text);
    buf_release(&ascii);
    return column;
}

/* The length of a line without trailing blanks. */
static size_t line_end(const struct lines *lines, uint32_t line)
{
    size_t at = 0, end = 0;

    for (uint32_t i = 0; i < lines->at[line].n; i++) {
        struct str text = span_text(lines, &lines->spans[lines->at[line].first + i]);
        size_t width = text_width(text);

        while (text.len > 0 && text.at[text.len - 1] == ' ')
            text.len--;
        if (text.len > 0)
            end = at + text_width(text);
        at += width;
    }
    return end;
}

/* Half-block cells: the letter's colour is the upper half, the background the lower. */
static unsigned put_halves(struct cell_grid *cells, const struct area *area,
                           unsigned column, unsigned row, const struct span *span,
                           size_t n)
{
    unsigned end;
    struct cell *at = row_of(cells, area, row, &end);

    for (; n > 0; n--) {
        if (at && column < end)
            at[column].back = span->below;
        column = cells_text(cells, area, column, row, span->colour, 0, STR("▀"));
    }
    return column;
}

void cells_line(struct cell_grid *cells, const struct area *area, unsigned row,
                const struct lines *lines, uint32_t line)
{
    unsigned column = 0;

    if (line >= lines->n || area->columns == 0)
        return;
    for (uint32_t i = 0; i < lines->at[line].n && column < area->columns; i++) {
        const struct span *span = &lines->spans[lines->at[line].first + i];

        column = span->below != COLOUR_NONE
                     ? put_halves(cells, area, column, row, span,
                                  text_width(span_text(lines, span)))
                     : cells_text(cells, area, column, row, span->colour, span->flags,
                                  span_text(lines, span));
    }
    if (column >= area->columns && line_end(lines, line) > area->columns)
        cells_text(cells, area, area->columns - 1, row, COLOUR_DIM, 0,
                   str_of(glyph(GLYPH_ELLIPSIS, false)));
}

void cells_back(struct cell_grid *cells, const struct area *area, unsigned row,
                enum colour back, unsigned flags)
{
    unsigned end;
    struct cell *at = row_of(cells, area, row, &end);

    for (unsigned i = 0; at && i < end; i++) {
        at[i].back = (uint8_t)back;
        at[i].flags |= (uint8_t)flags;
    }
}

void cells_print(const struct cell_grid *cells, struct buf *to)
{
    for (unsigned row = 0; row < cells->rows; row++) {
        const struct cell *at = cells->at + (size_t)row * cells->columns;
        unsigned end = cells->columns;

        while (end > 0 && strcmp(at[end - 1].text, " ") == 0)
            end--;
        for (unsigned i = 0; i < end; i++)
            buf_text(to, at[i].text);
        buf_char(to, '\n');
    }
}
