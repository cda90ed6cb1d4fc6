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

/* Opens new files of the folder. -1: the folder cannot be read. */
int history_ranks_find(struct history_ranks *ranks, struct err *err);

/* Adds a step: the same one from another file (`same`), or a later one. */
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
