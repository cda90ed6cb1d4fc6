/* printed.h - a tree as a person asked for it, and as text: what `torchoscope tree`
 * prints, what str() of a model gives in Python, what an exported .txt holds. */
#ifndef FACTS_PRINTED_H
#define FACTS_PRINTED_H

#include "rows/labels.h"
#include "rows/rows.h"
#include "text/pen.h"

#define PRINTED_COLUMNS 32 /* at most */

struct printed_wanted {
    const char *columns; /* "params,memory"; NULL: the usual ones */
    const char *sort;    /* "params", "bytes", "name", "time", "self", "calls"; NULL */
    const char *filter;  /* NULL: all */
    const char *flat;    /* "leaves" or "", "tensors"; NULL: a tree */
    uint32_t depth, top; /* ALL_ROWS: no limit */
    unsigned width;      /* that it will have; 0: no limit. Chooses the usual columns */
    bool reverse, all, expand;
    bool totals; /* a summary: its usual columns, and what it all comes to */
};
#define PRINTED_WANTED_INIT                                                            \
    {                                                                                  \
        .depth = ALL_ROWS, .top = ALL_ROWS                                             \
    }

struct printed {
    const struct session *session; /* borrowed */
    struct arena arena;
    struct show show;
    struct view view; /* what was asked for */
    struct rows rows; /* once printed_rows() made them */
    const struct column *columns[PRINTED_COLUMNS];
    size_t n_columns;
    uint32_t matches; /* of the filter */
    bool chosen;      /* the columns were asked for */
    bool totals;      /* so were they */
};

/* Understand what is wanted. ERR_USAGE: there is no such column, or it does not fit the
 * session. To be ended also when it fails. */
int printed_begin(struct printed *printed, const struct session *session,
                  const struct printed_wanted *wanted, struct err *err);
void printed_end(struct printed *printed);

/* Does a column tell of values that nobody measured yet (session_stats_many)? */
bool printed_wants_values(const struct printed *printed);

/* The rows, once. */
int printed_rows(struct printed *printed, struct err *err);

/* The tree; `closing`: and below it what was met in the file, the counts, the verdict,
 * what ran and what is to be said of it. */
int printed_write(struct printed *printed, const struct pen *pen, bool closing,
                  struct err *err);

/* What was met in the file, one line each; "N more" after the first `most`. */
void printed_findings(const struct pen *pen, const struct model *model, uint32_t most);
/* What is to be said of a recording: alarms and gaps, one line each. Nothing of other
 * sessions. */
int printed_run_notes(const struct pen *pen, const struct show *show, struct err *err);

#endif
