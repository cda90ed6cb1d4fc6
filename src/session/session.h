/* session.h - an open model or recording, and its cached statistics. Opening reads the
 * model and counts it. Statistics of values are computed on demand and cached. A
 * session belongs to one thread; several sessions, each with its own thread, may share
 * one model or run.
 *
 * The tour of the room:
 *   session.c    opening; statistics of one tensor and of many
 *   series_tree.c  the model of a history that has none
 *   has.c        which kinds of answers it has
 *   find.c       finds a place by name, suffix or spelling
 *   verify.c     a second, more thorough pass over the files
 *   numbers.h    statistics, quantiles, histogram and digest of one tensor
 *   jobs.h       the same in the background, and other long work (made.h)
 *   pair.h       two sessions, compared
 *   file_list.h  the model files below a folder
 *
 * Callers may also use measure/ on the session's tensors: exact quantiles, linear
 * histograms and digests take passes of their own and are not cached. */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "base/arena.h"
#include "base/err.h"
#include "base/work.h"
#include "history/at_step.h"
#include "history/memo.h"
#include "history/overview.h"
#include "history/summary.h"
#include "measure/measure.h"
#include "model/model.h"
#include "run/run.h"
#include "study/safety/check.h"
#include "study/safety/verdict.h"
#include "study/study.h"

/* Histogram of base-2 exponents: counts[i] values x with
 * 2^(first + i) <= |x| < 2^(first + i + 1). Zeros are not counted. */
struct exponents {
    int first;
    uint32_t n;
    uint64_t counts[];
};

struct session {
    const struct model *model;     /* with the source of this session */
    const struct run *run;         /* the recording; NULL for model files */
    const struct model *own_model; /* freed with the session; NULL: borrowed */
    struct run *own_run;           /* likewise */
    struct model view; /* `model`, if the session has another source than the model */
    struct arena arena;
    struct arena of_step; /* of `step`, anew for each */
    struct counts total;
    struct place_counts places;
    struct verdict_sum verdict;
    enum measure_mode mode; /* of later measurements; default: MEASURE_FULL */
    bool want_exponents;    /* count exponents in the same pass; default: false */
    bool want_sha256;       /* session_stats_many() computes digests; default: false */
    /* The history of a training run in the same file; all NULL: it has none. */
    struct history *history;          /* for this thread; others open history_path */
    struct history_summary *training; /* as of opening, or of the last refresh */
    const char *history_path;         /* also set if the history is unreadable */
    const char *history_why;          /* then the reason */
    const struct at_step *step;       /* see session_take_step() */
    struct overview *overview;        /* private: session_overview() */
    struct history_memo *memo;        /* private: session_memo() */
    struct stats **stats;             /* private: by tensor; NULL: not measured */
    struct exponents **exponents;     /* likewise */
    const char **why;                 /* likewise: why statistics are missing */
    const char **sha256;              /* likewise: 64 digits */
};

/* Opens a file or folder, or a recording (.scope). A folder with the recordings of
 * several ranks opens as the first one with the histories of all; a history without a
 * model gets the tree of its names. NULL: it cannot be opened. */
struct session *session_open(const char *path, struct work *work, struct err *err);
/* Opens a model; takes it, even on failure. */
struct session *session_of(const struct model *model, struct err *err);
/* Opens a borrowed model, which must outlive the session. */
struct session *session_on(const struct model *model, struct err *err);
/* Opens a recording; takes it, even on failure. The latest statistics of parameters in
 * the recording are known at once. */
struct session *session_of_run(struct run *run, struct err *err);
/* Opens a borrowed recording, which must outlive the session, with the history in its
 * file, if any. `source` (borrowed too) replaces the source of the run's model, for
 * example by the live model's; NULL: keep the run's. */
struct session *session_on_run(const struct run *run, struct source *source,
                               struct err *err);
/* Reads the summary of the history again: another process may be writing it. False: it
 * is unreadable now, and the old summary stays. */
bool session_refresh_training(struct session *session);
/* Reads the numbers of all places at a step of the history: a number or "newest". */
int session_take_step(struct session *session, const char *step, struct err *err);
/* Cached results of earlier questions about the history; created on first use. NULL:
 * out of memory. Only for sessions with a history. */
struct overview *session_overview(struct session *session, struct err *err);
struct history_memo *session_memo(struct session *session, struct err *err);
/* Checks the files more thoroughly than opening them does; `values`: compares the
 * checksums of all bytes, too. Adds the results to `ask`. */
int session_verify(const struct session *session, bool values, struct arena *arena,
                   struct work *work, struct check_ask *ask, struct err *err);
void session_close(struct session *session); /* NULL is allowed */

/* Does it have a verdict? A live module, or a recording in memory, has none: it is not
 * a file. */
bool session_judged(const struct session *session);

/* The kinds of answers it has, as flags. */
enum session_has {
    SESSION_GRAPH = 1, /* calls or operations */
    SESSION_OPS = 2,
    SESSION_CALLS = 4,
    SESSION_HISTORY = 8, /* of a training run */
    SESSION_VALUES = 16, /* elements of some tensor can be read */
    SESSION_RANKS = 32,  /* a history of several processes */
};
unsigned session_has(const struct session *session);

/* The reason for which a capsule (a step that can run again) was saved; NULL in `at`:
 * it is not a capsule. Ends with a NUL. */
struct str session_capsule(const struct session *session);

/* The statistics of a tensor (an index in model->tensors), cached. */
int session_stats(struct session *session, uint32_t tensor, struct work *work,
                  const struct stats **ret_stats, struct err *err);

/* Measures n tensors in file order; `work` counts bytes. An unreadable tensor gets a
 * reason (session_why) and is not a failure. A cancelled call fails with ERR_CANCELLED
 * and keeps the statistics so far. */
int session_stats_many(struct session *session, const uint32_t *tensors, uint32_t n,
                       struct work *work, struct err *err);

/* Sorts tensors by their position in the file. */
void session_file_order(const struct session *session, uint32_t *tensors, uint32_t n);

/* Sets the statistics of a tensor, measured elsewhere. */
int session_learn(struct session *session, uint32_t tensor, const struct stats *stats,
                  struct err *err);
/* Clears all caches: the values of a live model change. */
void session_forget(struct session *session);

/* From the cache: the statistics of a tensor, its exponents, why it has none, its
 * digest. NULL: not measured yet. */
const struct stats *session_known(const struct session *session, uint32_t tensor);
const struct exponents *session_exponents(const struct session *session,
                                          uint32_t tensor);
const char *session_why(const struct session *session, uint32_t tensor);
const char *session_sha256(const struct session *session, uint32_t tensor);

/* Finds a place by full name, by full name without the file's common prefix, or by a
 * suffix that only one place has. Fails with ERR_NOT_FOUND and suggests similar names.
 */
int session_find(const struct session *session, struct str name, uint32_t *ret_place,
                 struct err *err);

#endif
