/* overview.h - four numbers of every module for each row of steps: norm of its
 * gradients, update ratio, dead units, non-finite share. They are shown in columns,
 * where a cell holds the worst of its steps and ranks.
 *
 * Rows never change in the file, so each is read once and cached; later queries read
 * only new rows. The numbers are those of at_step.h. For merged steps, the ratio and
 * the share of dead units are the worst that merging kept (with several parameters: as
 * if all worst values fell in one step); the norm is the root mean square. A non-finite
 * gradient of a step that the gradient scaler skipped is ignored.
 *
 *   overview.c         columns, the worst
 *   overview_rows.c    the rows of one file
 *   overview_places.c  which places there are, and their series */
#ifndef HISTORY_OVERVIEW_H
#define HISTORY_OVERVIEW_H

#include "history/at_step.h"
#include "history/grid.h"
#include "model/model.h"

struct overview;

/* `history` and `model` must outlive it. A folder of ranks has the rows of each rank.
 * Opens no file. */
struct overview *overview_new(struct history *history, const struct model *model);
void overview_free(struct overview *overview);

enum overview_number {
    OVERVIEW_GRADIENT,
    OVERVIEW_RATIO,
    OVERVIEW_DEAD,
    OVERVIEW_BAD, /* step_bad() */
    OVERVIEW_NUMBERS
};

/* NaN: not logged. Infinite: not finite. */
struct overview_cell {
    float of[OVERVIEW_NUMBERS];
};

#define OVERVIEW_ALL_RANKS UINT64_MAX

struct overview_wanted {
    const struct history_grid *grid;
    uint64_t rank; /* or OVERVIEW_ALL_RANKS */
    uint64_t most; /* approximate limit of points to read: in a large history some rows
                      are skipped, evenly spaced, and the next query reads more. 0: no
                      limit */
};

struct overview_table {
    uint32_t n; /* modules with parameters at or below them (also tied ones) or with
                   units */
    const uint32_t *places; /* of the model */
    /* By module: the module that owns all its (tied) parameters and counts them; or
     * NO_PLACE. */
    const uint32_t *tied;
    uint32_t columns;
    struct overview_cell *cells; /* (n, columns): the worst; see overview_worse() */
    /* For several ranks: the rank of that worst value, and the best rank's worst. NULL:
     * one file. */
    struct overview_cell *least;
    uint16_t (*worst_rank)[OVERVIEW_NUMBERS]; /* (n, columns): index in `ranks` */
    uint16_t (*least_rank)[OVERVIEW_NUMBERS];
    uint64_t *ranks;
    uint32_t n_ranks;
    uint64_t unread; /* rows of steps that were skipped */
    bool has_bad;
    uint64_t first_bad; /* the first step in which something was not finite */
};

int overview_read(struct overview *overview, const struct overview_wanted *wanted,
                  struct arena *arena, struct overview_table *ret_table,
                  struct err *err);

/* Is b worse than a? A ratio is worse the farther it is from 1e-3, other numbers the
 * larger they are. A logged number is worse than NaN (not logged). */
bool overview_worse(enum overview_number which, float a, float b);

/* A few neighbouring steps, module by module. */
#define CLOSE_UP 14
enum close_up_state { CLOSE_UP_NOTHING, CLOSE_UP_FINITE, CLOSE_UP_BAD };
struct close_up {
    uint32_t n;
    uint64_t first[CLOSE_UP], last[CLOSE_UP]; /* step numbers */
    uint8_t (*states)[CLOSE_UP]; /* (modules of the table); the worst of all ranks */
};
/* The steps around a step: up to ten of them before it. */
int overview_close_up(struct overview *overview, const struct overview_table *table,
                      uint8_t phase, uint64_t around, uint64_t rank,
                      struct arena *arena, struct close_up *ret_close_up,
                      struct err *err);

#endif
