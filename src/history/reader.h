/* reader.h - queries a history, also while another process or thread writes it.
 *
 * Each query is one short transaction, so a reader never keeps the writer's -wal from
 * being reset. While the file is being written, the connection is closed between
 * queries. The file is not trusted: only tables with the expected columns are read, no
 * SQL from the file is run, every row is checked; bad rows are skipped and counted. A
 * reader belongs to one thread at a time. Results are allocated in the caller's
 * arena. */
#ifndef HISTORY_READER_H
#define HISTORY_READER_H

#include "base/arena.h"
#include "base/err.h"
#include "history/history.h"

struct history;
struct history_ranks;

/* Opens the history in a file, or those in a folder of ranks as one (ranks.h).
 * ERR_NOT_FOUND: it has none. `codec` merges histograms; NULL: history_spreads. */
struct history *history_open(const char *path, const struct history_codec *codec,
                             struct err *err);
/* The same for a file in memory, whose bytes must outlive the reader. */
struct history *history_open_memory(const void *at, size_t size, const char *name,
                                    const struct history_codec *codec, struct err *err);
void history_close(struct history *history);

/* The files of a folder; NULL for a single file. */
struct history_ranks *history_ranks_of(const struct history *history);

/* Makes all queries until history_let_go() one transaction: they see the same steps,
 * and the file is opened once. Keep it short, because the writer's -wal grows
 * meanwhile. Calls nest. A folder has one transaction per file; files that appear
 * meanwhile are not held. */
int history_hold(struct history *history, struct err *err);
void history_let_go(struct history *history);

/* Does the file hold a model? If not, series and alarms are identified by name only,
 * and history_place() returns HISTORY_NONE. */
bool history_has_model(const struct history *history);
uint32_t history_place(const struct history *history, uint32_t place);
/* Copies the whole file, also while it is being written. Does nothing if `path` is the
 * same file. Replaces an existing file, but refuses one that is live or has a
 * history. */
int history_copy(struct history *history, const char *path, struct err *err);

/* The number of invalid rows that were skipped. */
uint64_t history_damaged(const struct history *history);
/* The number of rows read so far: the work of queries, for tests. */
uint64_t history_rows_read(const struct history *history);

/* All series (names of scalars, segments), by index. Segments are those of the first
 * rank. */
int history_read_series(struct history *history, struct arena *arena,
                        struct history_series **ret_series, uint32_t *ret_n,
                        struct err *err);
int history_read_names(struct history *history, struct arena *arena,
                       struct str **ret_names, uint32_t *ret_n, struct err *err);
int history_read_segments(struct history *history, struct arena *arena,
                          struct history_segment **ret_segments, uint32_t *ret_n,
                          struct err *err);

/* A range of steps. Steps that a later segment repeats are excluded unless `all` is
 * set. */
struct history_range {
    uint64_t from, to; /* step numbers, inclusive; to 0: up to the newest */
    uint8_t phase;     /* enum history_phase */
    bool all;
};
int history_read_steps(struct history *history, const struct history_range *range,
                       struct arena *arena, struct history_step **ret_steps,
                       uint32_t *ret_n, struct err *err);
/* The newest step; `merged` is 0 if there is none. */
int history_newest(struct history *history, struct history_step *ret_step,
                   struct err *err);

/* The points of a series. The phase of the range is that of the series. */
struct history_wanted {
    uint32_t series; /* or the name of a scalar */
    struct history_range range;
    uint32_t most; /* most samples: neighbouring steps are merged; 0: all */
    uint32_t each; /* most steps to read per sample, evenly spaced, for a view that must
                      be quick; 0: all */
    bool histograms;       /* false: faster, points have none */
    const uint64_t *first; /* instead of `most`: (n_first) increasing step numbers at
                              which samples begin; or NULL */
    uint32_t n_first;
};
struct history_sample {
    struct history_step step; /* merged; `block` means nothing */
    struct history_point point;
};
struct history_scalar_sample {
    struct history_step step;
    struct history_scalar scalar;
};
int history_read_points(struct history *history, const struct history_wanted *wanted,
                        struct arena *arena, struct history_sample **ret_samples,
                        uint32_t *ret_n, struct err *err);
int history_read_scalars(struct history *history, const struct history_wanted *wanted,
                         struct arena *arena,
                         struct history_scalar_sample **ret_samples, uint32_t *ret_n,
                         struct err *err);

/* All points (scalars) of one step from history_read_steps(), by index of their series
 * (name). Of a single file: walk.h reads the steps of a folder. */
int history_read_step_points(struct history *history, const struct history_step *step,
                             bool histograms, struct arena *arena,
                             struct history_point **ret_points, uint32_t *ret_n,
                             struct err *err);
int history_read_step_scalars(struct history *history, const struct history_step *step,
                              struct arena *arena, struct history_scalar **ret_scalars,
                              uint32_t *ret_n, struct err *err);
/* All points of one step: of the newest row of steps that begins at or before `number`
 * and has points, without histograms; `step.merged` is 0 if there is none. Scalars are
 * those of the newest rows at or before `number`. */
struct history_moment {
    struct history_step step;
    struct history_point *points; /* by series */
    struct history_scalar *scalars;
    uint32_t n_points, n_scalars;
};
int history_read_moment(struct history *history, uint64_t number, uint8_t phase,
                        struct arena *arena, struct history_moment *ret_moment,
                        struct err *err);

/* Alarms (notes) from index `from` on, at most `most`. */
int history_read_alarms(struct history *history, uint32_t from, uint32_t most,
                        struct arena *arena, struct history_alarm **ret_alarms,
                        uint32_t *ret_n, struct err *err);
int history_read_notes(struct history *history, uint32_t from, uint32_t most,
                       struct arena *arena, struct history_note **ret_notes,
                       uint32_t *ret_n, struct err *err);

#endif
