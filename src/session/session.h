/* session.h - what is open now, and the questions one may ask about it.
 * Opening reads the model and counts it. Numbers about values are computed when asked,
 * once, and kept. A session is used by one thread.
 *
 * The tour of the room:
 *   session.c   opening; one tensor's statistics, and those of many
 *   find.c      which place a person means by a name
 *   numbers.h   all that can be asked about one tensor, at once
 *   jobs.h      the same in the background, and what else takes long (made.h)
 *   pair.h      two sessions side by side, compared
 *   file_list.h the model files below a folder, while they are being found
 *
 * Whoever includes this header may also ask measure/ about the session's tensors: exact
 * quantiles, linear histograms and digests are passes of their own and are not kept. */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "base/arena.h"
#include "base/err.h"
#include "base/work.h"
#include "measure/measure.h"
#include "model/model.h"
#include "run/run.h"
#include "study/safety/verdict.h"
#include "study/study.h"

/* How many values have which base-2 exponent, both signs together: counts[i] values x
 * with 2^(first + i) <= |x| < 2^(first + i + 1). Zeros are not among them. */
struct exponents {
    int first;
    uint32_t n;
    uint64_t counts[];
};

struct session {
    const struct model *model; /* with the source that this session asks */
    const struct run *run;     /* what was recorded; NULL for model files */
    const struct model
        *own_model;      /* freed with the session; NULL: somebody else's, or */
    struct run *own_run; /* the run's */
    struct model
        view; /* `model`, if the session asks another source than the model's */
    struct arena arena;
    struct counts total;
    struct place_counts places;
    struct verdict_sum verdict;
    enum measure_mode mode; /* of statistics not yet computed; MEASURE_FULL first */
    bool want_exponents;    /* count exponents in the same pass; false at first */
    bool want_sha256;       /* digest what session_stats_many() measures; likewise */
    struct stats **stats;   /* by tensor; NULL until asked; private to the session */
    struct exponents **exponents; /* likewise */
    const char **why;             /* likewise: why there are no statistics */
    const char **sha256;          /* likewise: 64 digits */
};

/* Open a file or folder, or a recording (.scope). NULL when there is nothing to show.
 */
struct session *session_open(const char *path, struct work *work, struct err *err);
/* The same for a model that is there already, which it takes (also when it fails). */
struct session *session_of(const struct model *model, struct err *err);
/* The same for a model that stays with its owner and outlives the session. */
struct session *session_on(const struct model *model, struct err *err);
/* The same for a recording. The statistics of parameters that it holds are known then;
 * of those measured several times, the latest. */
struct session *session_of_run(struct run *run, struct err *err);
/* The same for a recording that stays with its owner and outlives the session, as does
 * `source`: what is asked about the run's model instead of its own source, such as that
 * of the live model that the run is of. NULL: its own. */
struct session *session_on_run(const struct run *run, struct source *source,
                               struct err *err);
void session_close(struct session *session); /* NULL is allowed */

/* Is there a verdict? Of a live module, and of a recording of one that is still in
 * memory, there is none: it is no file. */
bool session_judged(const struct session *session);

/* The statistics of a tensor (an index in model->tensors). Kept for the next time. */
int session_stats(struct session *session, uint32_t tensor, struct work *work,
                  const struct stats **ret_stats, struct err *err);

/* The statistics of n tensors, read in the order in which they lie in the file; `work`
 * counts bytes. What cannot be read keeps a reason and is not a failure; a cancelled
 * call fails with ERR_CANCELLED and keeps what it has. */
int session_stats_many(struct session *session, const uint32_t *tensors, uint32_t n,
                       struct work *work, struct err *err);

/* Put tensors in the order in which they lie in the file. */
void session_file_order(const struct session *session, uint32_t *tensors, uint32_t n);

/* Keep the statistics of a tensor that somebody else measured, in place of those that
 * are known. */
int session_learn(struct session *session, uint32_t tensor, const struct stats *stats,
                  struct err *err);
/* Forget all that is known of values: those of a live model change. */
void session_forget(struct session *session);

/* What is known of a tensor by now: its statistics, its exponents, why there are none,
 * its digest. NULL: not asked yet. */
const struct stats *session_known(const struct session *session, uint32_t tensor);
const struct exponents *session_exponents(const struct session *session,
                                          uint32_t tensor);
const char *session_why(const struct session *session, uint32_t tensor);
const char *session_sha256(const struct session *session, uint32_t tensor);

/* The place that a person means by `name`: a full name; a full name with the file's
 * common prefix left out; or, if nothing else fits, the only place whose name ends so.
 * Fails with ERR_NOT_FOUND, naming the nearest. */
int session_find(const struct session *session, struct str name, uint32_t *ret_place,
                 struct err *err);

#endif
