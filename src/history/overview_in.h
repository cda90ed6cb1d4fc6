/* overview_in.h - the rows of one file, for overview*.c. */
#ifndef HISTORY_OVERVIEW_IN_H
#define HISTORY_OVERVIEW_IN_H

#include "base/map.h"
#include "history/numbers_in.h"
#include "history/overview.h"

/* Series that are read together: by number, from..to. */
struct series_span {
    uint32_t from, to;
};
struct series_spans {
    struct series_span *at;
    uint32_t n, points; /* how many series are in them */
};

/* A row of steps: the numbers of each module. */
struct overview_row {
    struct overview_cell *cells; /* NULL: not read yet */
    bool full; /* everything was read; else parameters and units only */
};

struct overview_file {
    struct history *history;
    const struct model *model;
    uint64_t rank;
    bool other; /* another file than that of the model: places go by name */

    /* Places that have series at or below them, in the order of the model. */
    struct arena arena; /* of the lists */
    struct overview_place {
        uint32_t place;
        uint32_t parent; /* index in this list, or HISTORY_NONE */
        uint32_t module; /* index of a module with numbers, or HISTORY_NONE */
    } * places;
    uint32_t n_places;
    struct overview_tie {
        uint32_t at, from, top; /* as a struct step_tie, indices in `places` */
    } * ties;
    uint32_t n_ties;
    uint32_t *modules; /* their places */
    uint32_t n_modules;
    uint32_t n_series;
    uint32_t *series_at;   /* by series: index of its place, or HISTORY_NONE */
    uint8_t *series_kind;  /* by series: enum history_kind */
    uint8_t *series_phase; /* by series */
    bool *series_units;    /* by series: results with dead units were seen */
    bool units_changed;
    struct series_phase {
        struct series_spans params, updates, units; /* read of each row */
        struct series_spans whole; /* read where it matters; also if there are no
                                      parameters */
    } phases[HISTORY_PHASES];
    struct step_numbers *now, *high, *low; /* by place, of the row being read */

    /* Rows, by block. */
    struct arena rows_arena;
    struct map blocks;
    struct overview_row *rows;
    uint32_t n_rows, rows_room;
    struct file_key key; /* of the file that they are from */
};

/* While its history is held: finds out what is new. */
int overview_file_refresh(struct overview_file *file, struct err *err);
void overview_file_release(struct overview_file *file);

/* The row if it was read, as far as wanted; or NULL. */
struct overview_row *overview_row_known(struct overview_file *file,
                                        const struct history_step *step, bool full);
/* Reads it; valid until the next one is read. */
struct overview_row *overview_row_read(struct overview_file *file,
                                       struct numbers_reader *reader,
                                       const struct history_step *step, bool full,
                                       struct err *err);
int overview_reader_open(struct overview_file *file, struct numbers_reader *reader,
                         struct err *err);

/* overview_places.c: lists of places and series. `units` were found: spans anew. */
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
    uint32_t *row_of; /* by place: of the table, or HISTORY_NONE */
    uint64_t *alarms; /* steps with an alarm that something is not finite */
    uint32_t n_alarms;
    struct err *err;
};

struct column_rows {
    struct overview_file *file;
    struct numbers_reader reader;
    uint64_t quota;              /* rows of a column that may be read */
    struct overview_cell *cells; /* (modules of the file, columns) */
    struct history_step *steps;
    uint32_t n;
};

/* The cells of a file, while its history is held. */
int overview_columns(struct overview_making *making, struct column_rows *rows);

#endif
