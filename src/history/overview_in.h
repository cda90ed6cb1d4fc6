/* overview_in.h - the rows of one file, for overview*.c. */
#ifndef HISTORY_OVERVIEW_IN_H
#define HISTORY_OVERVIEW_IN_H

#include "base/map.h"
#include "history/numbers_in.h"
#include "history/overview.h"

/* A range of series indices, from..to, read together. */
struct series_span {
    uint32_t from, to;
};
struct series_spans {
    struct series_span *at;
    uint32_t n, points; /* points: the number of series in them */
};

/* A row of steps: the numbers of each module. */
struct overview_row {
    struct overview_cell *cells; /* NULL: not read yet */
    bool full; /* everything was read; false: parameters and units only */
};

struct overview_file {
    struct history *history;
    const struct model *model;
    uint64_t rank;
    bool other; /* not the model's file: match places by name */

    /* Places with series at or below them, in the order of the model. */
    struct arena arena; /* of the lists */
    struct overview_place {
        uint32_t place;
        uint32_t parent; /* index in this list, or HISTORY_NONE */
        uint32_t module; /* index of a module with numbers, or HISTORY_NONE */
    } * places;
    uint32_t n_places;
    struct overview_tie {
        uint32_t at, from, top; /* like struct step_tie, but indices in `places` */
    } * ties;
    uint32_t n_ties;
    uint32_t *modules; /* their places */
    uint32_t n_modules;
    uint32_t n_series;
    uint32_t *series_at;   /* by series: index of its place, or HISTORY_NONE */
    uint8_t *series_kind;  /* by series: enum history_kind */
    uint8_t *series_phase; /* by series */
    bool *series_units;    /* by series: results with dead units were found */
    bool units_changed;
    struct series_phase {
        struct series_spans params, updates, units; /* read in every row */
        struct series_spans whole; /* read only where needed, or if there are no
                                      parameters */
    } phases[HISTORY_PHASES];
    struct step_numbers *now, *high, *low; /* by place, of the row being read */

    /* Rows, by block. */
    struct arena rows_arena;
    struct map blocks;
    struct overview_row *rows;
    uint32_t n_rows, rows_room;
    struct file_key key; /* of the file the rows are from */
};

/* Call it while the history is held: finds new series and units. */
int overview_file_refresh(struct overview_file *file, struct err *err);
void overview_file_release(struct overview_file *file);

/* The cached row, or NULL if it was not read (or not in full, if `full`). */
struct overview_row *overview_row_known(struct overview_file *file,
                                        const struct history_step *step, bool full);
/* Reads a row; valid until the next one is read. */
struct overview_row *overview_row_read(struct overview_file *file,
                                       struct numbers_reader *reader,
                                       const struct history_step *step, bool full,
                                       struct err *err);
int overview_reader_open(struct overview_file *file, struct numbers_reader *reader,
                         struct err *err);

/* overview_places.c: lists of places and series. overview_spans_make() again after
 * units were found. */
int overview_places_make(struct overview_file *file, struct err *err);
int overview_spans_make(struct overview_file *file, struct err *err);

/* ---- several files ---- */

struct overview {
    struct history *history;
    const struct model *model;
    struct overview_file **files; /* by rank */
    uint32_t n;
};

bool overview_wants(const struct overview_file *file, uint64_t rank);

struct overview_making {
    struct overview *overview;
    const struct overview_wanted *wanted;
    const struct history_grid *grid;
    uint64_t rank;
    struct arena *arena; /* of the answer */
    struct arena scratch;
    struct overview_table table;
    uint32_t *row_of; /* by place: row of the table, or HISTORY_NONE */
    uint64_t *alarms; /* steps with an alarm about non-finite values */
    uint32_t n_alarms;
    struct err *err;
};

struct column_rows {
    struct overview_file *file;
    struct numbers_reader reader;
    uint64_t quota;              /* rows that may be read per column */
    struct overview_cell *cells; /* (modules of the file, columns) */
    struct history_step *steps;
    uint32_t n;
};

/* Fills the cells of a file; call it while the history is held. */
int overview_columns(struct overview_making *making, struct column_rows *rows);

#endif
