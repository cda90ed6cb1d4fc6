/* report_in.h - the HTML report: one self-contained page.
 *   page_in.h         shared with the notebook: title, key figures, notes
 *   report.c          the page: its head, key figures, bars
 *   report_checks.c   the list of checks
 *   report_rows.c     the table: the rows as JSON, and the first of them for readers
 *                     without JavaScript
 *   report_details.c  the details of a row
 *   report_picture.c  kept activations as small pictures
 *   report*.css, report*.js are embedded in the program (tools/embed.py).
 * The C code writes all texts and formatted numbers; the script only shows and sorts
 * them. */
#ifndef EXPORT_PAGE_REPORT_IN_H
#define EXPORT_PAGE_REPORT_IN_H

#include "base/arena.h"
#include "base/intern.h"
#include "export/exporters.h"
#include "facts/fact.h"
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
    CELL_FLOPS,
    CELL_NAN,
    CELL_COUNT,
    CELL_BYTES,
    CELL_DEVICE,
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
    struct rows rows;      /* all rows, in the order of the model */
    uint64_t *time_below;  /* by place of a recording: its time, or the sum of its
                              children's if it was not called */
    uint32_t *gradient_of; /* by tensor of a recording: the newest value of its
                              gradient, or RUN_NONE; NULL: no gradients were recorded */
    const struct column *cells[REPORT_CELLS];
    struct intern texts;  /* of the table; a repeated text is written once */
    uint32_t *picture_of; /* by kept value: the picture's number + 1; 0: none yet */
    struct buf pictures;  /* JSON, separated by commas */
    uint32_t n_pictures, left_out;
    struct facts facts; /* scratch for the details of a row */
    struct buf spare;   /* scratch for one text; empty between uses */
    struct buf other;   /* the same for a second text */
};

/* Text that escape_terminal() has been applied to, as HTML. */
void report_html(struct out *out, struct str text);
/* Write `spare`, which holds HTML or JSON, and clear it. */
void report_put(struct report *report);

/* Measure the tensors of a file, unless they are too large. */
int report_measure(struct report *report, struct err *err);
int report_checks(struct report *report, struct err *err);

/* Append a cell of THE TABLE of columns. */
void report_cell(struct buf *to, const struct report *report, enum report_cell id,
                 const struct row *row);
/* Intern the text in `spare`, write its number and clear `spare`. */
void report_text(struct report *report);
/* Fill gradient_of; call it before report_details(). */
int report_find_gradients(struct report *report, struct err *err);
void report_details(struct report *report, const struct row *row);

int report_make_rows(struct report *report, struct err *err);
void report_static_rows(struct report *report);
int report_data(struct report *report, struct err *err);

/* The number of the picture of a kept value, drawn on first use; UINT32_MAX if it
 * cannot be drawn or the page is full. */
uint32_t report_picture(struct report *report, uint32_t value);

#endif
