/* columns.h - THE TABLE of columns beside a tree. Text, terminal, Markdown, pages and
 * Python take their cells from it; columns.c says how to add one. */
#ifndef ROWS_COLUMNS_H
#define ROWS_COLUMNS_H

#include "base/buf.h"
#include "base/str.h"
#include "rows/figure.h"
#include "rows/rows.h"
#include "rows/show.h"

struct column {
    const char *id;     /* for --columns */
    const char *header; /* above the column */
    const char *title;  /* the same on a page, where there is room; NULL: the header */
    const char *about;  /* what it shows, in one line */
    uint8_t kind;       /* enum figure_kind: what its cells are, and how they are cut */
    bool right;         /* aligned to the right, header too */
    uint8_t rank;       /* columns without room go, the lowest rank first */
    uint8_t sort;       /* enum rows_sort: the order of rows by it; 0: none */
    /* Fill in the cell of a row; no text: does not apply. */
    void (*cell)(struct figure *to, const struct show *show, const struct row *row);
};

extern const struct column column_table[];
extern const size_t n_column_table;

const struct column *column_find(struct str id); /* or NULL */
/* The column that shows what rows are sorted by; NULL: none does. */
const struct column *column_sorted(const struct show *show, enum rows_sort sort);
const char *column_title(const struct column *column);

/* The cell of a row; its text is appended to `to`. A bar has its usual width, or in
 * column_bar() so many cells. */
struct figure column_figure(struct buf *to, const struct column *column,
                            const struct show *show, const struct row *row);
struct figure column_bar(struct buf *to, const struct column *column,
                         const struct show *show, const struct row *row,
                         unsigned cells);

/* The same on a page, where no cell is empty: "–" does not apply, "<1μs". */
struct figure column_on_page(struct buf *to, const struct column *column,
                             const struct show *show, const struct row *row);

/* Is everything trainable at and below it frozen? */
bool row_frozen(const struct show *show, const struct row *row);

/* The row's parameters and bytes; tied ones count at their first place only. */
uint64_t row_params(const struct show *show, const struct row *row);
uint64_t row_bytes(const struct show *show, const struct row *row);
/* Without those of modules below it. */
uint64_t row_own_params(const struct show *show, const struct row *row);
uint64_t row_own_bytes(const struct show *show, const struct row *row);

/* Sums of a recording; 0 without one. */
enum run_amount {
    RUN_CALLS,
    RUN_TOTAL,
    RUN_SELF,
    RUN_BACKWARD,
    RUN_DEVICE,
    RUN_NAN,
    RUN_INF
};
uint64_t row_run(const struct show *show, const struct row *row, enum run_amount what);

#endif
