/* json_rows_in.h - the document `rows` being written: json_rows.c has the places,
 * json_rows_columns.c the columns. */
#ifndef EXPORT_JSON_JSON_ROWS_IN_H
#define EXPORT_JSON_JSON_ROWS_IN_H

#include "export/export_in.h"
#include "rows/columns.h"
#include "rows/rows_parts.h"

#define ROWS_COLUMNS 64 /* at least as many as THE TABLE has */

/* A run of equal siblings, which a tree shows as one row until it is opened. */
struct equal_run {
    uint32_t place, count;
    bool pairs;
};
struct equal_runs {
    struct equal_run *at;
    uint32_t n, room;
};

struct rows_writing {
    struct json *json;
    const struct session *session;
    const struct model *model;
    struct work *work;
    struct arena arena;
    struct show show;
    struct at_step step;
    struct rows_of of;           /* which places have rows, which siblings are equal */
    struct equal_runs runs, few; /* few: too short for a tree */
    struct intern texts;
    uint8_t *families; /* of leaves, by class: enum family + 1; 0: not looked up */
    bool chosen[ROWS_COLUMNS]; /* by column: it is written with its cells */
    bool asked;                /* the caller chose them: no places */
    struct buf spare;
    uint32_t *cells; /* texts of one column; JSON_NONE: none */
    double *numbers; /* NaN and not `known`: none */
    uint8_t *known;  /* bits */
    struct err *err;
};

/* The row of a place, and of run `i`. */
struct row rows_writing_row(uint32_t place);
struct row rows_writing_run(const struct rows_writing *w, uint32_t i);
/* Intern a text and clear it. */
uint32_t rows_writing_text(struct rows_writing *w, struct buf *text);
/* Cancelled? It asks every few thousand places. */
bool rows_writing_stopped(struct rows_writing *w, uint32_t i);
int rows_writing_spent(struct rows_writing *w);

/* Choose columns by their ids, or the usual ones (NULL). */
int rows_writing_choose(struct rows_writing *w, const char *columns);
/* "columns": those that have anything, the chosen ones with their cells. */
int rows_writing_columns(struct rows_writing *w);

#endif
