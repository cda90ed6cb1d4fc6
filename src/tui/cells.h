/* cells.h - a screen as a grid of cells of our own: drawn into anew for every frame,
 * compared with the frame before, printed as text by tests. Knows no terminal. */
#ifndef TUI_CELLS_H
#define TUI_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "text/lines.h"

#define CELL_BYTES                                                                     \
    20 /* of one character with its combining marks; further marks go                  \
        */

struct cell {
    char text[CELL_BYTES]; /* UTF-8, ended by 0; "" continues a wide character */
    uint8_t colour, flags; /* enum colour, enum span_flag */
    uint8_t back;          /* enum colour: COLOUR_CURSOR, heat maps; COLOUR_NONE */
};

struct cell_grid {
    unsigned columns, rows;
    struct cell *at;                    /* rows of columns */
    bool ascii;                         /* texts are written as their ASCII twins */
    unsigned cursor_column, cursor_row; /* of the terminal; where typing goes */
    bool cursor_shown;
};

struct area {
    unsigned column, row, columns, rows;
};

int cells_init(struct cell_grid *cells, unsigned columns, unsigned rows);
void cells_release(struct cell_grid *cells);
void cells_clear(struct cell_grid *cells);

/* Draw a text from a cell on, cut at the area's right edge; the cell behind it. A wide
 * character never straddles the edge: a blank is put instead. */
unsigned cells_text(struct cell_grid *cells, const struct area *area, unsigned column,
                    unsigned row, enum colour colour, unsigned flags, struct str text);
/* Draw a line of spans on a row of the area, from its first cell on; one that is cut
 * ends in "…". */
void cells_line(struct cell_grid *cells, const struct area *area, unsigned row,
                const struct lines *lines, uint32_t line);
/* The background of some cells of a row: the cursor's row. */
void cells_back(struct cell_grid *cells, const struct area *area, unsigned row,
                enum colour back, unsigned flags);

/* All as text, one line for each row, blanks at the ends cut. */
void cells_print(const struct cell_grid *cells, struct buf *to);

#endif
