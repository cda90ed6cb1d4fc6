/* diff_rows_in.h - shared by the files that make rows. */
#ifndef COMPARE_DIFF_ROWS_IN_H
#define COMPARE_DIFF_ROWS_IN_H

#include "compare/diff_text.h"
#include "rows/name_runs.h"

/* Rows being made: the texts of the current row, and the length of its list. */
struct diff_rows_maker {
    struct diff_rows *rows;
    const struct diff *diff;
    struct buf what, amount, rest;
    struct buf name;           /* scratch */
    uint32_t listed, left_out; /* of the current list */
};

/* A list of rows of one kind; if it is cut, "12 more (--all)" is its last row. */
void diff_list_begin(struct diff_rows_maker *maker);
void diff_list_end(struct diff_rows_maker *maker);
/* Make a row of the current texts and clear them. */
void diff_row_add(struct diff_rows_maker *maker, const char *sign, enum colour colour);

void diff_name_rows(struct diff_rows_maker *maker);      /* rules, joins */
void diff_edit_rows(struct diff_rows_maker *maker);      /* what a converter changed */
void diff_quantised_rows(struct diff_rows_maker *maker); /* errors, by tensor */
void diff_tie_rows(struct diff_rows_maker *maker);       /* tied, untied */
void diff_dtype_rows(struct diff_rows_maker *maker);     /* other dtypes */
void diff_value_rows(struct diff_rows_maker *maker);     /* changed tensors, by part */
void diff_other_rows(
    struct diff_rows_maker *maker); /* plain values, arguments, classes */
void diff_unread_rows(struct diff_rows_maker *maker);

/* Append the name of a place, a pair or a node, escaped for a terminal. */
void diff_write_place(struct buf *to, const struct diff *diff, bool right,
                      uint32_t place);
void diff_write_pair(struct buf *to, const struct diff *diff, uint32_t pair);
void diff_write_node(struct buf *to, const struct diff *diff, uint32_t node);
/* The raw name of a node, in the arena; `root` for the root. */
struct str diff_keep_node(struct arena *arena, const struct diff *diff, uint32_t node,
                          struct str root);
/* The pair at or below a node whose largest difference is by->max_abs; or DIFF_NONE. */
uint32_t diff_largest(const struct diff *diff, uint32_t node,
                      const struct compared *by);
/* "64×3×7×7" or "scalar": the shape of the tensor at a place. */
void diff_shape(struct buf *to, const struct model *model, uint32_t place);
/* "4.1%": ||left - right|| / ||left||. */
void diff_relative(struct buf *to, const struct compared *by);

#endif
