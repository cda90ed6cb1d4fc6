/* layout.h - the widths of a table: one for the label, one for each column behind it.
 * Columns that have no room shrink, then go, the lowest rank first; the label shrinks
 * last. Bars, guides, separators and colours belong to the renderers. */
#ifndef ROWS_LAYOUT_H
#define ROWS_LAYOUT_H

#include "base/out.h"
#include "rows/columns.h"

#define LAYOUT_STAYS 255 /* the rank of a column that never goes */

struct layout_column {
    const struct column *column;
    unsigned cells; /* without the gap before it; 0: nothing to show */
    unsigned least; /* it may shrink to this; UINT32_MAX: it cannot shrink */
    unsigned end;   /* the position behind it, once fitted */
    uint8_t rank;
    bool shown; /* it has room */
};

struct table_layout {
    struct layout_column *at;
    unsigned n;
    unsigned width;       /* of a line, in cells; 0: no limit */
    unsigned gap;         /* blanks before each column */
    unsigned label;       /* width that the labels need; once fitted, that they have */
    unsigned least_label; /* columns go before labels get narrower than this */
    bool ascii, colour, isolate; /* for lines of text: see struct textual */
};

/* Add a column as THE TABLE ranks it; `at` has room for it. */
struct layout_column *layout_add(struct table_layout *layout,
                                 const struct column *column);
/* Make a column at least so wide. */
void layout_widen(struct layout_column *column, size_t cells);
/* The cells of all columns that have room, with the gaps before them. */
unsigned layout_width(const struct table_layout *layout);
void layout_fit(struct table_layout *layout);
/* How many columns have no room. */
unsigned layout_hidden(const struct table_layout *layout);

/* The cell of a row in a table of text: as column_figure(), with a line before shapes,
 * which stand last: "| weight: 6×3×5×5". */
struct figure layout_cell(struct buf *to, const struct column *column,
                          const struct show *show, const struct row *row);

/* --- Lines of text */

/* Append a cell with the gap before it, aligned and cut; nothing for a column without
 * room. */
void layout_put(struct buf *line, const struct table_layout *layout, unsigned column,
                struct str text, enum colour role);
/* The line of headers: "name", how many columns have no room, the others. */
void layout_put_header(struct buf *line, const struct table_layout *layout);
/* Write a line without the blanks at its end, and clear it. */
void layout_end_line(struct out *out, const struct table_layout *layout,
                     struct buf *line);

#endif
