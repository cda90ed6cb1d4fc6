/* jobs.h - computes numbers of tensors in the background, for the terminal.
 * Uses at most two threads, which never touch Python: if only the owner may read the
 * source (source.any_thread is false), jobs_poll() reads it in small parts on the
 * caller's thread. Results are cached in the session (session_learn) and here. All
 * functions are for the session's thread. */
#ifndef SESSION_JOBS_H
#define SESSION_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "session/made.h"
#include "session/numbers.h"
#include "session/session.h"

struct jobs;

/* The session is borrowed and must outlive the jobs. */
struct jobs *jobs_new(struct session *session, struct err *err);
void jobs_free(struct jobs *jobs); /* cancels running work; NULL is allowed */

/* Requests the numbers of a tensor: statistics, quantiles, a histogram of 48 bins. The
 * newest request is served first; the oldest beyond 64 are dropped. */
void jobs_want(struct jobs *jobs, uint32_t tensor);
/* Drops requests that are not started: the cursor moved on. */
void jobs_drop(struct jobs *jobs);
/* Starts the long job: statistics of all tensors, in file order; one at a time. A quiet
 * one reports no progress; requesting it again as JOBS_LOUD makes it loud. */
enum jobs_voice { JOBS_LOUD, JOBS_QUIET };
void jobs_want_all(struct jobs *jobs, enum jobs_voice voice);
/* Is the long job running, quiet or not? */
bool jobs_measuring(const struct jobs *jobs);
/* Clears the results, so that they can be requested again: values changed. */
void jobs_forget(struct jobs *jobs);
/* Cancels all work and requests. False: there was nothing to stop. */
bool jobs_stop(struct jobs *jobs);

/* Takes finished results. True: there is something new to show. */
bool jobs_poll(struct jobs *jobs);
/* For poll(2): readable when jobs_poll() has something to do. */
int jobs_fd(const struct jobs *jobs);

/* The numbers of a tensor so far, or NULL. *ret_busy: requested or running; *ret_why:
 * why they are unavailable, or NULL. */
const struct numbers *jobs_numbers(struct jobs *jobs, uint32_t tensor, bool *ret_busy,
                                   const char **ret_why);
/* Waits for a request, at most `ms`, so that the first frame shows small tensors. */
void jobs_wait(struct jobs *jobs, uint32_t tensor, unsigned ms);

/* Any other result computed from values (made.h). Waits for at most `ms`. One result
 * per function is kept, for at most eight functions; another question replaces it.
 * NULL: it is running (*ret_busy), or *ret_why has the reason. */
const void *jobs_made(struct jobs *jobs, const struct making *making, unsigned ms,
                      bool *ret_busy, const char **ret_why);
/* Progress of the long job, in bytes; false: none is running, or it is quiet. */
bool jobs_progress(struct jobs *jobs, uint64_t *ret_done, uint64_t *ret_total,
                   uint64_t *ret_began_ns);

#endif
