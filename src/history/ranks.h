/* ranks.h - the histories of several processes of one training run as one: a folder with
 * a file of each rank, rank0.scope, rank1.scope, ... Series with equal names, points of
 * the same steps and scalars are merged exactly, as if one process had measured all. (A
 * parameter that every rank holds is counted once for each of them.) Rules as in
 * reader.h, whose functions do the same: history_open() takes a folder too.
 *
 *   ranks.c        series, names, points, scalars
 *   ranks_files.c  which files there are
 *   ranks_lists.c  steps, alarms, notes
 *   ranks_drift.c  the alarm that parameters drift apart */
#ifndef HISTORY_RANKS_H
#define HISTORY_RANKS_H

#include "history/reader.h"

struct history_ranks;

/* A scalar in the file of each rank: a checksum of its parameters, before the optimizer's
 * step. And the kind of the alarm that ranks differ. */
#define HISTORY_CHECKSUM "params/checksum"
#define HISTORY_DRIFT    "rank-drift"

/* Is this the name of a rank's file? */
bool history_ranks_names_file(struct str name);
/* Is it a folder with the file of a rank? Looks at names only. */
bool history_ranks_is(const char *path);
/* The path of the lowest rank's file; NULL: there is none. */
const char *history_ranks_first(const char *folder, struct arena *arena,
                                struct err *err);

/* All files of ranks in a folder; others are ignored. Files that appear later are found
 * by later questions. ERR_NOT_FOUND: none. */
struct history_ranks *history_ranks_open(const char *folder,
                                         const struct history_codec *codec,
                                         struct err *err);
void history_ranks_close(struct history_ranks *ranks);
uint32_t history_ranks_count(const struct history_ranks *ranks);
/* The reader of one of them, for questions about it alone. */
struct history *history_ranks_at(struct history_ranks *ranks, uint32_t i);
uint64_t history_ranks_number(const struct history_ranks *ranks, uint32_t i); /* rank */
uint64_t history_ranks_damaged(const struct history_ranks *ranks);

/* The series (names) of all, each once, in the order of the files. They are numbered anew
 * at each call; the other functions take these numbers. */
int history_ranks_series(struct history_ranks *ranks, struct arena *arena,
                         struct history_series **ret_series, uint32_t *ret_n,
                         struct err *err);
int history_ranks_names(struct history_ranks *ranks, struct arena *arena,
                        struct str **ret_names, uint32_t *ret_n, struct err *err);

/* As those of one history. Steps that overlap in two files are merged. The newest value
 * of a scalar is the mean of the ranks'. */
int history_ranks_points(struct history_ranks *ranks,
                         const struct history_wanted *wanted, struct arena *arena,
                         struct history_sample **ret_samples, uint32_t *ret_n,
                         struct err *err);
int history_ranks_scalars(struct history_ranks *ranks,
                          const struct history_wanted *wanted, struct arena *arena,
                          struct history_scalar_sample **ret_samples, uint32_t *ret_n,
                          struct err *err);

/* The same of steps, alarms (by step, with their rank; also that ranks drift apart) and
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

/* As history_read_moment(); points of all ranks that logged that step. */
int history_ranks_moment(struct history_ranks *ranks, uint64_t number, uint8_t phase,
                         struct arena *arena, struct history_moment *ret_moment,
                         struct err *err);

#endif
