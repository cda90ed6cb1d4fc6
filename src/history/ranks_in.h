/* ranks_in.h - internals of ranks.h, for ranks*.c. */
#ifndef HISTORY_RANKS_IN_H
#define HISTORY_RANKS_IN_H

#include "history/ranks.h"

/* The index of a series (a name) in each file; HISTORY_NONE: not in that file. */
struct rank_table {
    struct arena arena;
    uint32_t *of; /* (n, files) */
    uint32_t n, room;
    uint32_t files; /* number of files when it was made */
};

struct history_ranks {
    char *folder;
    const struct history_codec *codec;
    struct history **files; /* by rank */
    uint64_t *numbers;      /* their ranks, from the file names */
    uint32_t n, room;
    struct rank_table series, names;
};

/* Both lists of history_ranks_series() and history_ranks_names(), of the same files. */
struct rank_lists {
    struct history_series *series;
    struct str *names;
    uint32_t n_series, n_names;
};
int history_ranks_lists(struct history_ranks *ranks, struct arena *arena,
                        struct rank_lists *ret_lists, struct err *err);

/* By series (name) of one file: its index in a table, or HISTORY_NONE. */
struct rank_numbers {
    uint32_t *at, n;
};
int rank_numbers_make(struct rank_numbers *numbers, const struct rank_table *table,
                      uint32_t file, struct arena *arena, struct err *err);
static inline uint32_t rank_number(const struct rank_numbers *numbers, uint32_t own)
{
    return own < numbers->n ? numbers->at[own] : HISTORY_NONE;
}

/* Opens new files of the folder. -1: the folder cannot be read. */
int history_ranks_find(struct history_ranks *ranks, struct err *err);

/* history_hold() and history_let_go() of all files. */
int history_ranks_hold(struct history_ranks *ranks, struct err *err);
void history_ranks_let_go(struct history_ranks *ranks);

/* Adds a step to another: a later one or, if `same`, the one of another rank. */
void history_ranks_join(struct history_step *to, const struct history_step *from,
                        bool same);

/* Appends an alarm to `alarms` (n, room) if ranks whose parameters were equal differ
 * later. */
struct rank_alarms {
    struct history_alarm *at;
    uint32_t n, room;
};
int history_ranks_drift(struct history_ranks *ranks, struct arena *arena,
                        struct rank_alarms *alarms, struct err *err);

#endif
