/* printed.h - prints a tree as requested: the output of `torchoscope tree`, of
 * str(model) in Python and of an exported .txt. */
#ifndef FACTS_PRINTED_H
#define FACTS_PRINTED_H

#include "rows/labels.h"
#include "rows/rows.h"
#include "text/pen.h"

#define PRINTED_COLUMNS 32 /* at most */

struct printed_wanted {
    const char *columns; /* "params,memory"; NULL: the default ones */
    const char *sort;    /* a word of rows_orders: "params", "flops"; or NULL */
    const char *step;    /* for the caller: session_take_step() before this; or NULL */
    const char *filter;  /* NULL: all */
    const char *flat;    /* "leaves" or "", "tensors"; NULL: a tree */
    uint32_t depth, top; /* ALL_ROWS: no limit */
    unsigned width;      /* of the output; 0: no limit. Decides the default columns */
    bool reverse, all, expand;
    bool totals; /* a summary: its default columns, and totals at the end */
};
#define PRINTED_WANTED_INIT                                                            \
    {                                                                                  \
        .depth = ALL_ROWS, .top = ALL_ROWS                                             \
    }

struct printed {
    const struct session *session; /* borrowed */
    struct arena arena;
    struct show show;
    struct view view; /* as requested */
    struct rows rows; /* filled by printed_rows() */
    const struct column *columns[PRINTED_COLUMNS];
    size_t n_columns;
    uint32_t matches; /* rows that match the filter */
    bool chosen;      /* the user chose the columns */
    bool totals;      /* the user asked for a summary */
};

/* Check and apply a request. ERR_USAGE: unknown column or order, or one that this
 * session cannot have. Call printed_end() even if it fails. */
int printed_begin(struct printed *printed, const struct session *session,
                  const struct printed_wanted *wanted, struct err *err);
void printed_end(struct printed *printed);

/* Does a column need values that are not measured yet (session_stats_many)? */
bool printed_wants_values(const struct printed *printed);

/* Make the rows, unless they exist. */
int printed_rows(struct printed *printed, struct err *err);

/* Write the tree; with `closing` also the findings, the counts, the verdict, and the
 * notes of a recording. */
int printed_write(struct printed *printed, const struct pen *pen, bool closing,
                  struct err *err);

/* The findings of a file, one line each; "N more" after the first `most`. */
void printed_findings(const struct pen *pen, const struct model *model, uint32_t most);
/* The alarms and gaps of a recording, one line each; nothing without a recording. */
int printed_run_notes(const struct pen *pen, const struct show *show, struct err *err);

#endif
