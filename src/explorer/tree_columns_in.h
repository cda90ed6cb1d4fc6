/* tree_columns_in.h - which columns stand beside the terminal's tree, and how wide all
 * of them are. */
#ifndef EXPLORER_TREE_COLUMNS_IN_H
#define EXPLORER_TREE_COLUMNS_IN_H

#include "explorer/tree_lines.h"
#include "rows/labels.h"

struct tree_column {
    const struct column *column;
    const char *id; /* of its label; of a bar that of its column */
    const char *header;
    row_bar *bar;   /* it is a bar; else NULL */
    unsigned cells; /* without the blank before it */
    unsigned spare; /* of them, where there is little room */
    unsigned end;   /* the cell behind it */
    uint8_t slot;   /* in label_set.widest */
    uint8_t goes;   /* the lowest goes first */
    bool grows;     /* it has no width of its own */
    uint8_t least;  /* then at least so wide; 0: as wide as what it says */
    bool shown;
};

struct tree_layout {
    struct tree_column at[LABELS_MOST];
    unsigned n;
    unsigned width;    /* of the line */
    unsigned name;     /* cells of gutter, guides and label */
    unsigned hidden;   /* labels that have no room */
    unsigned rows;     /* lines for rows */
    uint32_t top, end; /* the rows that are on the screen */
    int sort; /* the column by which rows are ordered; or -1: none, the model's order */
    bool sort_name;
    unsigned levels, left_out; /* guides: how many are drawn at most; how many of the
                                  tree's upper levels are left out */
};

void tree_layout_make(struct tree_layout *layout, struct explorer *explorer,
                      const struct tree_room *room);

#endif
