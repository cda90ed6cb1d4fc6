/* ranks_in.h - the inside of ranks.h, for ranks*.c. */
#ifndef HISTORY_RANKS_IN_H
#define HISTORY_RANKS_IN_H

#include "history/ranks.h"

/* The numbers of a series (a name) in each file; HISTORY_NONE: it has none. */
struct rank_table {
    struct arena arena;
    uint32_t *of; /* (n, files) */
    uint32_t n, room;
    uint32_t files; /* that there were when it was made */
};

struct history_ranks {
    char *folder;
    const struct history_codec *codec;
    struct history **files; /* by rank */
    uint64_t *numbers;      /* their ranks, as their names say */
    uint32_t n, room;
    struct rank_table series, names;
};

/* Opens files that are new in the folder. -1: the folder cannot be read. */
int history_ranks_find(struct history_ranks *ranks, struct err *err);

/* Adds the step of another file (`same`), or a later one. */
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
