/* ranks.h - the histories of several processes of one training run as one: a folder with
 * a file of each rank. Series with equal names, points of the same steps and scalars are
 * merged exactly, as if one process had measured all. (A parameter that every rank holds
 * is counted once for each of them.) Rules as in reader.h. */
#ifndef HISTORY_RANKS_H
#define HISTORY_RANKS_H

#include "history/reader.h"

struct history_ranks;

/* All histories in a folder, by name; other files are ignored. ERR_NOT_FOUND: none. */
struct history_ranks *history_ranks_open(const char *folder,
                                         const struct history_codec *codec,
                                         struct err *err);
void history_ranks_close(struct history_ranks *ranks);
uint32_t history_ranks_count(const struct history_ranks *ranks);
/* The reader of one of them, for questions about it alone. */
struct history *history_ranks_at(struct history_ranks *ranks, uint32_t i);

/* The series (names) of all, each once, in the order of the files. They are numbered anew
 * at each call; the other functions take these numbers. */
int history_ranks_series(struct history_ranks *ranks, struct arena *arena,
                         struct history_series **ret_series, uint32_t *ret_n,
                         struct err *err);
int history_ranks_names(struct history_ranks *ranks, struct arena *arena,
                        struct str **ret_names, uint32_t *ret_n, struct err *err);

/* As those of one history. Steps that overlap in two files are merged. */
int history_ranks_points(struct history_ranks *ranks,
                         const struct history_wanted *wanted, struct arena *arena,
                         struct history_sample **ret_samples, uint32_t *ret_n,
                         struct err *err);
int history_ranks_scalars(struct history_ranks *ranks,
                          const struct history_wanted *wanted, struct arena *arena,
                          struct history_scalar_sample **ret_samples, uint32_t *ret_n,
                          struct err *err);

/* As history_read_moment(); points of all ranks that logged that step. */
int history_ranks_moment(struct history_ranks *ranks, uint64_t number, uint8_t phase,
                         struct arena *arena, struct history_moment *ret_moment,
                         struct err *err);

#endif
