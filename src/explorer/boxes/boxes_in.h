/* boxes_in.h - shared by the files of boxes/. */
#ifndef EXPLORER_BOXES_BOXES_IN_H
#define EXPLORER_BOXES_BOXES_IN_H

#include "explorer/boxes/boxes.h"

/* The directions in which a line or a border leaves a cell. */
enum boxes_side { SIDE_UP = 1, SIDE_DOWN = 2, SIDE_LEFT = 4, SIDE_RIGHT = 8 };

struct boxes_cell {
    uint8_t lines, border; /* enum boxes_side */
    uint8_t arrow;         /* the side it points to; 0: none */
    bool not_finite;       /* its line carries NaN or Inf */
    uint32_t box;          /* the box whose border or inside this is; 0: none */
};

struct boxes_text {
    uint32_t row, column;
    struct str text;
    uint8_t colour, flags; /* enum colour, enum span_flag */
    uint32_t node;         /* it is bold if this is selected; BOXES_NONE */
};

/* The level of detail of boxes. */
enum boxes_detail {
    DETAIL_ALL,
    DETAIL_SOME,
    DETAIL_ARGS, /* no shapes between rows */
    DETAIL_CLASS,
    DETAIL_NAMES,
    DETAIL_COUNT
};

/* Distances in cells. */
extern const struct plan_style boxes_style;

/* fold.c: the boxes of the drawing, without sizes and lines. Sets `ends` to the boxes
 * of each link. */
struct boxes_ends {
    uint32_t value, source, target; /* boxes */
};
int boxes_fold(struct boxes_drawing *drawing, uint32_t most, struct arena *arena,
               struct boxes_ends **ret_ends, uint32_t *ret_n, struct err *err);
/* nets.c: the lines. The ends are sorted by value. */
int boxes_nets(struct boxes_drawing *drawing, const struct boxes_ends *ends, uint32_t n,
               struct arena *arena, struct err *err);
/* fit.c: texts and sizes; after plan_order(). */
int boxes_fit(struct boxes_drawing *drawing, enum boxes_detail detail,
              struct arena *arena, struct err *err);
/* The texts of a row of a box. */
struct boxes_row {
    struct str name, detail, shape; /* the last is at the right: the output shape */
};
void boxes_row(const struct boxes_drawing *drawing, uint32_t box, uint32_t row,
               enum boxes_detail detail, struct arena *arena,
               struct boxes_row *ret_row);
/* Cells of its name, including the blanks that align the next column. */
uint32_t boxes_name_cells(const struct boxes_box *box, const struct boxes_row *row);
/* paint.c: the grid. */
int boxes_paint(struct boxes_drawing *drawing, enum boxes_detail detail,
                struct arena *arena, struct err *err);

#endif
