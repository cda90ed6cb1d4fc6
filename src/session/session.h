/* session.h - what is open now, and the questions one may ask about it.
 * Opening reads the model and counts it. Numbers about values are computed when asked,
 * once, and kept. A session is used by one thread. */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "base/arena.h"
#include "base/err.h"
#include "base/work.h"
#include "measure/measure.h"
#include "model/model.h"
#include "study/study.h"

struct session {
    struct model *model;
    struct arena arena;
    struct counts total;
    struct place_counts places;
    struct verdict_sum verdict;
    struct stats **stats; /* by tensor; NULL until asked; private to the session */
};

/* Open a file or folder. NULL when there is nothing to show. */
struct session *session_open(const char *path, struct work *work, struct err *err);
void session_close(struct session *session); /* NULL is allowed */

/* The statistics of a tensor (an index in model->tensors). Kept for the next time. */
int session_stats(struct session *session, uint32_t tensor, struct work *work,
                  const struct stats **ret_stats, struct err *err);

/* The place that a person means by `name`: a full name; a full name with the file's
 * common prefix left out; or, if nothing else fits, the only place whose name ends so.
 * Fails with ERR_NOT_FOUND, naming the nearest. */
int session_find(const struct session *session, struct str name, uint32_t *ret_place,
                 struct err *err);

#endif
