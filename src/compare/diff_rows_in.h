/* diff_rows_in.h - what the files that make rows share. */
#ifndef COMPARE_DIFF_ROWS_IN_H
#define COMPARE_DIFF_ROWS_IN_H

#include "compare/diff_text.h"
#include "rows/name_runs.h"

/* Rows being made: the texts of the one at hand, and how long the list at hand is. */
struct diff_rows_maker {
    struct diff_rows *rows;
    const struct diff *diff;
    struct buf what, amount, rest, name;
    uint32_t listed, left_out; /* of the list at hand */
};

/* A list of rows of one kind begins; it ends with "12 more (--all)" where it is cut. */
void diff_list_begin(struct diff_rows_maker *maker);
void diff_list_end(struct diff_rows_maker *maker);
/* The texts at hand become a row; they are empty again. */
void diff_row_add(struct diff_rows_maker *maker, const char *sign, enum colour colour);

void diff_name_rows(struct diff_rows_maker *maker);  /* rules, joins */
void diff_tie_rows(struct diff_rows_maker *maker);   /* tied, untied */
void diff_dtype_rows(struct diff_rows_maker *maker); /* other dtypes */
void diff_value_rows(struct diff_rows_maker *maker); /* changed tensors, by part */
void diff_other_rows(
    struct diff_rows_maker *maker); /* plain values, arguments, classes */
void diff_unread_rows(struct diff_rows_maker *maker);

/* "4.1%", of ||left - right|| / ||left||. */
void diff_relative(struct buf *to, const struct compared *by);

#endif
