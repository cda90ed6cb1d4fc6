/* cells.h - the screen as a grid of cells: redrawn for every frame, compared with the
 * previous frame, printed as text by tests. Independent of the terminal. */
#ifndef TUI_CELLS_H
#define TUI_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "text/lines.h"

/* One character with its combining marks; further marks are dropped. */
#define CELL_BYTES 20

struct cell {
    char text[CELL_BYTES]; /* UTF-8, NUL-terminated; "" continues a wide character */
    uint8_t colour, flags; /* enum colour, enum span_flag */
    uint8_t back;          /* enum colour: COLOUR_CURSOR, heat maps, or COLOUR_NONE */
};

struct cell_grid {
    unsigned columns, rows;
    struct cell *at; /* rows of columns */
    bool ascii;      /* draw the ASCII replacements of all characters */
    unsigned cursor_column, cursor_row; /* the terminal's cursor: the position of typed
                                           text */
    bool cursor_shown;
};

struct area {
    unsigned column, row, columns, rows;
};

int cells_init(struct cell_grid *cells, unsigned columns, unsigned rows);
void cells_release(struct cell_grid *cells);
void cells_clear(struct cell_grid *cells);

/* Draw a text, clipped at the area's right edge; returns the column after it. A wide
 * character that would straddle the edge becomes a blank. */
unsigned cells_text(struct cell_grid *cells, const struct area *area, unsigned column,
                    unsigned row, enum colour colour, unsigned flags, struct str text);
/* Draw a line of spans on a row of the area, from its first column; a clipped line ends
 * in "…". */
void cells_line(struct cell_grid *cells, const struct area *area, unsigned row,
                const struct lines *lines, uint32_t line);
/* Set the background of some cells in a row (the cursor's row). */
void cells_back(struct cell_grid *cells, const struct area *area, unsigned row,
                enum colour back, unsigned flags);

/* The grid as text, one line a row, without trailing blanks. */
void cells_print(const struct cell_grid *cells, struct buf *to);

#endif
