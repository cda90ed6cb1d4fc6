/* columns.h - THE TABLE of columns beside a tree. Text, terminal, Markdown, pages and
 * Python all take their cells from it. columns.c explains how to add a column. */
#ifndef ROWS_COLUMNS_H
#define ROWS_COLUMNS_H

#include "base/buf.h"
#include "base/str.h"
#include "rows/figure.h"
#include "rows/rows.h"
#include "rows/show.h"

enum column_of {
    COLUMN_OF_RUN = 1,      /* a recording */
    COLUMN_OF_OPS = 2,      /* a recording with operations */
    COLUMN_OF_TRAINING = 4, /* a step of a training run */
};

struct column {
    const char *id;     /* for --columns */
    const char *header; /* above the column */
    const char *title;  /* longer header for pages; NULL: use the header */
    const char *about;  /* what it shows, in one line */
    uint8_t kind;       /* enum figure_kind: type of its cells, and how to cut them */
    bool right;         /* aligned to the right, header too */
    uint8_t rank;       /* if space is short, the lowest rank is dropped first */
    uint8_t sort;       /* enum rows_sort: sorts rows by this column; 0: none */
    /* Fill the cell of a row. Empty text: not applicable. */
    void (*cell)(struct figure *to, const struct show *show, const struct row *row);
    uint8_t of; /* bits of enum column_of: needs one of them; 0: needs nothing */
};

extern const struct column column_table[];
extern const size_t n_column_table;

const struct column *column_find(struct str id); /* or NULL */
/* The column that shows the sort key; NULL: none. */
const struct column *column_sorted(const struct show *show, enum rows_sort sort);
const char *column_title(const struct column *column);
/* Does the session have the data for the column? */
bool column_applies(const struct column *column, const struct show *show);

/* Make the cell of a row and append its text to `to`. Bars have the default width;
 * column_bar() makes them `cells` wide. */
struct figure column_figure(struct buf *to, const struct column *column,
                            const struct show *show, const struct row *row);
struct figure column_bar(struct buf *to, const struct column *column,
                         const struct show *show, const struct row *row,
                         unsigned cells);

/* The same for a page, which has no empty cells: "–" if not applicable, "<1μs". */
struct figure column_on_page(struct buf *to, const struct column *column,
                             const struct show *show, const struct row *row);

/* Does the row have frozen parameters and no trainable ones? */
bool row_frozen(const struct show *show, const struct row *row);

/* The row's parameters and bytes. Tied tensors count at their first place only. */
uint64_t row_params(const struct show *show, const struct row *row);
uint64_t row_bytes(const struct show *show, const struct row *row);
/* The same, without modules below the row. */
uint64_t row_own_params(const struct show *show, const struct row *row);
uint64_t row_own_bytes(const struct show *show, const struct row *row);

/* Sums of a recording; 0 without one. Those of operations are sums over all modules
 * below, forward only. */
enum run_amount {
    RUN_CALLS,
    RUN_TOTAL,
    RUN_SELF,
    RUN_BACKWARD,
    RUN_DEVICE,
    RUN_NAN,
    RUN_INF,
    RUN_SAVED, /* bytes saved for backward */
    RUN_OPS,
    RUN_FLOPS,
    RUN_MATRIX,   /* operations that do matrix work */
    RUN_UNCOUNTED /* of these, the number without known FLOPs */
};
uint64_t row_run(const struct show *show, const struct row *row, enum run_amount what);
/* A number of the row at the step of show->step; for several equal siblings, of all
 * together. False: unknown. */
bool row_at_step(const struct show *show, const struct row *row, enum step_number which,
                 double *ret_value);
/* Does a column show numbers of a step? */
bool column_at_step(const struct column *column);
/* Does the row have FLOPs? No: no operations were recorded, or none does matrix work,
 * or none of those was counted. *ret_least (unless NULL): some of them were not
 * counted. */
bool row_flops(const struct show *show, const struct row *row, bool *ret_least);

#endif
