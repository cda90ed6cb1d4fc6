/* layout.h - the widths of a table: the label column and the columns after it. If space
 * is short, columns shrink, then the lowest rank is dropped first; the label shrinks
 * last. Renderers add bars, guides, separators and colours. */
#ifndef ROWS_LAYOUT_H
#define ROWS_LAYOUT_H

#include "base/out.h"
#include "rows/columns.h"

#define LAYOUT_STAYS 255 /* rank of a column that is never dropped */

struct layout_column {
    const struct column *column;
    unsigned cells; /* without the gap before it; 0: nothing to show */
    unsigned least; /* minimum width; UINT32_MAX: cannot shrink */
    unsigned end;   /* position after its last cell, once fitted */
    uint8_t rank;
    bool shown; /* it fits */
};

struct table_layout {
    struct layout_column *at;
    unsigned n;
    unsigned width;       /* of a line, in cells; 0: no limit */
    unsigned gap;         /* blanks before each column */
    unsigned label;       /* width the labels need; once fitted, the width they get */
    unsigned least_label; /* columns are dropped before labels get narrower */
    bool ascii, colour, isolate; /* for lines of text: see struct textual */
};

/* Add a column with its rank from THE TABLE; `at` must have room for it. */
struct layout_column *layout_add(struct table_layout *layout,
                                 const struct column *column);
/* Make a column at least `cells` wide. */
void layout_widen(struct layout_column *column, size_t cells);
/* The width of all columns that fit, including the gaps before them. */
unsigned layout_width(const struct table_layout *layout);
void layout_fit(struct table_layout *layout);
/* Number of columns that do not fit. */
unsigned layout_hidden(const struct table_layout *layout);

/* The cell of a row in a text table: as column_figure(), but shapes, the last column,
 * follow a vertical bar: "| weight: 6×3×5×5". */
struct figure layout_cell(struct buf *to, const struct column *column,
                          const struct show *show, const struct row *row);

/* --- Lines of text */

/* Append a gap and a cell, aligned and cut; nothing for a column that does not fit. */
void layout_put(struct buf *line, const struct table_layout *layout, unsigned column,
                struct str text, enum colour role);
/* Append the header line: "name", the number of hidden columns, the other headers. */
void layout_put_header(struct buf *line, const struct table_layout *layout);
/* Write a line without trailing blanks, and clear it. */
void layout_end_line(struct out *out, const struct table_layout *layout,
                     struct buf *line);

#endif
