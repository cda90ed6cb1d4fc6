/* tree_columns_in.h - the columns beside the terminal's tree, their widths, and the
 * cells of the rows on the screen. */
#ifndef EXPLORER_TREE_COLUMNS_IN_H
#define EXPLORER_TREE_COLUMNS_IN_H

#include "explorer/tree_lines.h"
#include "rows/layout.h"

struct tree_column {
    const char *header;
    uint8_t slot;  /* index in label_set.widest */
    bool grows;    /* as wide as the widest cell shown so far */
    uint8_t least; /* minimum width if it grows; 0: no limit */
    bool spare;    /* can give up one cell if space is short */
};

/* A cell of a row on the screen, made once per frame. */
struct tree_cell {
    uint32_t begin, end; /* its text in tree_layout.text */
    uint8_t role;        /* enum colour */
    bool made;
};

struct tree_layout {
    struct table_layout table;
    struct layout_column columns[LABELS_MOST];
    struct tree_column more[LABELS_MOST]; /* more about the same columns */
    unsigned hidden;                      /* labels that do not fit */
    unsigned rows;                        /* lines for rows */
    uint32_t top, end;                    /* the rows on the screen */
    int sort;                             /* the sort column; -1: none */
    bool sort_name;
    unsigned levels, left_out; /* guides: levels drawn at most, upper levels hidden */
    struct buf text;
    struct tree_cell *cells; /* by row, then by column; NULL: out of memory */
};

/* Lay out the columns. Release it after use; do not copy it, it points into itself. */
void tree_layout_make(struct tree_layout *layout, struct explorer *explorer,
                      const struct tree_room *room);
void tree_layout_release(struct tree_layout *layout);

/* The cell of a row on the screen. */
struct tree_cell tree_cell(struct tree_layout *layout, const struct explorer *explorer,
                           uint32_t row, unsigned column);

#endif
