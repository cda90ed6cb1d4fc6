/* ranks.h - reads a folder with one file per rank (rank0.scope, rank1.scope, ...) as
 * one history. Series with equal names, points of the same steps and scalars are merged
 * exactly, as if one process had measured everything. (A parameter that every rank
 * holds counts once per rank.) The rules are those of reader.h, whose functions work
 * for folders too: history_open() accepts a folder.
 *
 *   ranks.c        series, names, points, scalars
 *   ranks_files.c  finds and opens the files
 *   ranks_lists.c  steps, alarms, notes
 *   ranks_drift.c  the alarm about parameters that drift apart */
#ifndef HISTORY_RANKS_H
#define HISTORY_RANKS_H

#include "history/reader.h"

struct history_ranks;

/* The name of a scalar in each rank's file: a checksum of its parameters before the
 * optimizer's step. And the kind of the alarm raised when ranks differ. */
#define HISTORY_CHECKSUM "params/checksum"
#define HISTORY_DRIFT    "rank-drift"

/* Is this the name of a rank's file? */
bool history_ranks_names_file(struct str name);
/* Is it a folder that contains a rank's file? Looks at names only. */
bool history_ranks_is(const char *path);
/* The path of the lowest rank's file; NULL if the folder has none. */
const char *history_ranks_first(const char *folder, struct arena *arena,
                                struct err *err);

/* Opens all rank files in a folder; ignores other files. Later queries find files that
 * appear later. ERR_NOT_FOUND: the folder has none. */
struct history_ranks *history_ranks_open(const char *folder,
                                         const struct history_codec *codec,
                                         struct err *err);
void history_ranks_close(struct history_ranks *ranks);
uint32_t history_ranks_count(const struct history_ranks *ranks);
/* The reader of one file, for queries about that rank only. */
struct history *history_ranks_at(struct history_ranks *ranks, uint32_t i);
uint64_t history_ranks_number(const struct history_ranks *ranks, uint32_t i); /* rank */
uint64_t history_ranks_damaged(const struct history_ranks *ranks);

/* The series (names) of all files without duplicates, in the order of the files. Each
 * call renumbers them; the other functions take these numbers. */
int history_ranks_series(struct history_ranks *ranks, struct arena *arena,
                         struct history_series **ret_series, uint32_t *ret_n,
                         struct err *err);
int history_ranks_names(struct history_ranks *ranks, struct arena *arena,
                        struct str **ret_names, uint32_t *ret_n, struct err *err);

/* Like history_read_points() and history_read_scalars(). Steps that overlap in two
 * files are merged. The newest value of a scalar is the mean over the ranks. */
int history_ranks_points(struct history_ranks *ranks,
                         const struct history_wanted *wanted, struct arena *arena,
                         struct history_sample **ret_samples, uint32_t *ret_n,
                         struct err *err);
int history_ranks_scalars(struct history_ranks *ranks,
                          const struct history_wanted *wanted, struct arena *arena,
                          struct history_scalar_sample **ret_samples, uint32_t *ret_n,
                          struct err *err);

/* The same for steps, alarms (by step, with their rank, including drift alarms) and
 * notes. */
int history_ranks_steps(struct history_ranks *ranks, const struct history_range *range,
                        struct arena *arena, struct history_step **ret_steps,
                        uint32_t *ret_n, struct err *err);
int history_ranks_newest(struct history_ranks *ranks, struct history_step *ret_step,
                         struct err *err);
int history_ranks_alarms(struct history_ranks *ranks, uint32_t from, uint32_t most,
                         struct arena *arena, struct history_alarm **ret_alarms,
                         uint32_t *ret_n, struct err *err);
int history_ranks_notes(struct history_ranks *ranks, uint32_t from, uint32_t most,
                        struct arena *arena, struct history_note **ret_notes,
                        uint32_t *ret_n, struct err *err);

/* Like history_read_moment(), with the points of all ranks that logged that step. */
int history_ranks_moment(struct history_ranks *ranks, uint64_t number, uint8_t phase,
                         struct arena *arena, struct history_moment *ret_moment,
                         struct err *err);

#endif
