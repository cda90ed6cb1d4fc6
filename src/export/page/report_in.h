/* report_in.h - the HTML report: one page that stands by itself.
 *   report.c          the page: its head, title, key figures, bars
 *   report_checks.c   its list of checks
 *   report_rows.c     its table: the rows as JSON, and the first of them for readers
 *                     without JavaScript
 *   report_details.c  what one row tells when it is asked
 *   report_picture.c  kept activations, small enough to be carried along
 *   report.css, report.js, report_table.js, report_details.js are carried in the
 * program (tools/embed.py) All text in the page is written here, numbers too; the
 * script only shows and sorts.
 */
#ifndef EXPORT_PAGE_REPORT_IN_H
#define EXPORT_PAGE_REPORT_IN_H

#include "base/arena.h"
#include "base/intern.h"
#include "export/exporters.h"
#include "rows/labels.h"
#include "rows/rows.h"
#include "rows/show.h"

enum report_cell {
    CELL_PARAMS,
    CELL_MEMORY,
    CELL_SHAPES,
    CELL_OUT,
    CELL_CALLS,
    CELL_TIME,
    CELL_NAN,
    CELL_CLASS,
    CELL_COUNT,
    CELL_BYTES,
    CELL_DEVICE,
    CELL_MODE,
    CELL_IN,
    CELL_SELF,
    CELL_AVERAGE,
    CELL_BACKWARD,
    CELL_OUT_MEM,
    REPORT_CELLS
};

struct report {
    struct out *out;
    struct session *session;
    const struct model *model;
    const struct run *run; /* or NULL */
    const struct export_wanted *wanted;
    struct arena arena;
    struct show show;
    struct rows rows;      /* every row there is, in the order of the model */
    uint64_t *time_below;  /* by place, of a recording: its time, or that of what it
                              holds where it was not called itself */
    uint32_t *gradient_of; /* by tensor, of a recording: the newest value of its
                              gradient, or RUN_NONE; NULL: none was recorded */
    const struct column *cells[REPORT_CELLS];
    struct intern texts;  /* of the table: a text that stands in many cells is
                             written once */
    uint32_t *picture_of; /* by kept value: the picture's number and 1; 0: none yet */
    struct buf pictures;  /* written ones: JSON, with commas between */
    uint32_t n_pictures, left_out;
    struct buf spare; /* for one text; anybody may use it and clears it first */
};

/* A text of ours or escape_terminal()'s as HTML. */
void report_html(struct out *out, struct str text);
/* A text as a JSON string that no HTML parser takes for markup. */
void report_json(struct out *out, struct str text);
/* A minus as it is drawn, U+2212, in a number from `from` on. */
void report_minus(struct buf *to, size_t from);

/* The statistics that the report tells: those of a file are read now, if they are
 * few. */
int report_measure(struct report *report, struct err *err);
int report_checks(struct report *report, struct err *err);

/* Append a cell of THE TABLE of columns. */
void report_cell(struct buf *to, const struct report *report, enum report_cell id,
                 const struct row *row);
/* Write the number of the text in `spare`, which is then empty. */
void report_text(struct report *report);
/* Find what details tell of weights; before the first of them. */
int report_find_gradients(struct report *report, struct err *err);
void report_details(struct report *report, const struct row *row);

int report_make_rows(struct report *report, struct err *err);
void report_static_rows(struct report *report);
int report_data(struct report *report, struct err *err);

/* The number of the picture of a kept value, made now if it is new; UINT32_MAX if there
 * is none: nothing to see, or no room. */
uint32_t report_picture(struct report *report, uint32_t value);

#endif
