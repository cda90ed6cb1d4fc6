/* walk.h - visits the steps of a history in the order of their numbers, for comparisons
 * of whole runs. The list of steps and the rows of each step are read once, so a walk
 * takes time linear in the size of the history. In a folder of ranks, a step has the
 * rows of all ranks.
 *
 * Steps that were merged are counted, but not visited; likewise those that a rank has
 * merged. Steps that are logged during the walk are not visited; those that are merged
 * during it have no points. */
#ifndef HISTORY_WALK_H
#define HISTORY_WALK_H

#include "base/map.h"
#include "history/reader.h"

struct walk_file;
struct walk_row;

struct history_walk {
    struct history_series *series; /* of all ranks, by index */
    struct str *names;             /* of scalars, by index */
    uint32_t n_series, n_names;

    uint64_t steps, merged; /* logged steps of the phase; of these: merged ones */
    bool done;              /* no step is left */
    uint64_t number;        /* of the current step */

    /* Private. */
    struct history *history;
    struct walk_file *files;
    uint32_t n_files;
    struct walk_row *rows;       /* by number, then by rank, of steps to visit */
    uint32_t n_rows, first, end; /* of all; of the current step */
    uint32_t *slots;             /* by series (name): its point in a list, or none */
    struct arena *arena;         /* of the lists above */
    struct arena rows_arena;
    uint32_t visited; /* steps since the files were held; 0: they are not */
};

/* Lists series and names. `arena` and `history` must outlive the walk. Close it, also
 * after a failure. */
int history_walk_open(struct history_walk *walk, struct history *history,
                      struct arena *arena, struct err *err);
void history_walk_close(struct history_walk *walk);

/* Begins with the first step of a phase (enum history_phase). */
int history_walk_begin(struct history_walk *walk, uint8_t phase, struct err *err);
void history_walk_next(struct history_walk *walk);

/* All points (scalars) of the current step, by index of their series (name). Points of
 * several ranks are merged, and have no histograms. The newest value of a scalar is the
 * mean over the ranks. */
int history_walk_points(struct history_walk *walk, bool histograms, struct arena *arena,
                        struct history_point **ret_points, uint32_t *ret_n,
                        struct err *err);
int history_walk_scalars(struct history_walk *walk, struct arena *arena,
                         struct history_scalar **ret_scalars, uint32_t *ret_n,
                         struct err *err);

#endif
