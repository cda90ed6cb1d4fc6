/* tree_lines.h - the tree as the terminal shows it: a header and a window of rows, each
 * exactly as wide as the room. (textual.h prints whole trees and measures every row;
 * this only reads the rows on the screen.)
 *
 *     name                                            params    %              memory
 *    ▌▾ resnet50.pth: state_dict                       25.6M 100% ██████████   97.7MB
 *     ├ ▸ conv1: ~conv 7×7, 3→64                        9.4K   0% ▏            36.8KB
 *
 * A gutter of one cell, guides of two cells a level, the fold sign, the label, columns.
 * Columns keep their widths while scrolling: columns of numbers are fixed, columns of
 * shapes grow with the cells shown. */
#ifndef EXPLORER_TREE_LINES_H
#define EXPLORER_TREE_LINES_H

#include "explorer/explorer.h"
#include "rows/columns.h"
#include "text/lines.h"

struct tree_room {
    unsigned width, height; /* including the header */
    bool no_colour;         /* mark the same class and matches in the gutter */
    bool narrow;            /* the screen has fewer than 100 columns */
    bool small; /* the screen is below 80×24: if narrow, one column of numbers */
};

/* Writes `height` lines of exactly `width` cells: the header, rows from browse_top()
 * on, then empty lines. line.target is the row. The caller draws the scroll bar. */
void tree_lines(struct lines *to, struct explorer *explorer,
                const struct tree_room *room);

/* For the mouse: the column whose header is at this cell, or NULL. */
const struct column *tree_column_at(struct explorer *explorer,
                                    const struct tree_room *room, unsigned cell);
extern const struct column tree_name_column; /* represents the names */
/* Is this cell of the row's line its fold sign? */
bool tree_is_arrow(struct explorer *explorer, const struct tree_room *room,
                   uint32_t row, unsigned cell);

/* The title line and the status line, exactly `width` wide:
 *     resnet50.pth   torch zip   320 tensors   25.6M params   97.7MB          ✓ SAFE
 *     layer1.0   Bottleneck   75.0K params          1 of 16 Bottleneck   row 7/29 */
void title_line(struct lines *to, struct explorer *explorer, unsigned width);
void status_line(struct lines *to, struct explorer *explorer, unsigned width);

#endif
