/* jobs.h - numbers of tensors computed in the background, for whoever must not wait.
 * At most two threads of our own, which never touch Python: what only its owner may ask
 * (source.any_thread is false) is computed in jobs_poll(), piece by piece, by whoever
 * calls it. Results are kept in the session (session_learn) and here. */
#ifndef SESSION_JOBS_H
#define SESSION_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "session/made.h"
#include "session/numbers.h"
#include "session/session.h"

struct jobs;

/* The session is borrowed and outlives it. */
struct jobs *jobs_new(struct session *session, struct err *err);
void jobs_free(struct jobs *jobs); /* stops what is being done; NULL is allowed */

/* I would like to know: statistics, the quantiles of the panel, a histogram of 48 bins.
 * Wishes are answered newest first; those beyond 64 are dropped. */
void jobs_want(struct jobs *jobs, uint32_t tensor);
/* Forget wishes that nobody began with: the cursor moved on. */
void jobs_drop(struct jobs *jobs);
/* Statistics of all tensors, in the order of the file: the long job; one at a time. A
 * quiet one, which nobody asked for, reports no progress; asking for it makes it loud.
 */
enum jobs_voice { JOBS_LOUD, JOBS_QUIET };
void jobs_want_all(struct jobs *jobs, enum jobs_voice voice);
/* Is the long job running, quiet or not? */
bool jobs_measuring(const struct jobs *jobs);
/* Forget what was found, so that it can be asked for again: values changed. */
void jobs_forget(struct jobs *jobs);
/* Esc. False: there was nothing to stop. */
bool jobs_stop(struct jobs *jobs);

/* Take what is done. True: there is something new to show. */
bool jobs_poll(struct jobs *jobs);
/* Readable when there is something to poll, for poll(2). */
int jobs_fd(const struct jobs *jobs);

/* What is known of a tensor by now; NULL: nothing. *ret_busy: it is wanted or begun;
 * *ret_why: why there will be nothing, or NULL. */
const struct numbers *jobs_numbers(struct jobs *jobs, uint32_t tensor, bool *ret_busy,
                                   const char **ret_why);
/* Wait for a wish to be answered, but no longer than this: for what is small, so that
 * the first frame has it. */
void jobs_wait(struct jobs *jobs, uint32_t tensor, unsigned ms);

/* Anything else that is made of values (made.h), within this many milliseconds if it
 * can be; one of each function at a time, of four functions at most: asking for another
 * forgets the last. NULL: it is being made (*ret_busy), or *ret_why says why there is
 * none. Good until another of its kind is asked for. */
const void *jobs_made(struct jobs *jobs, const struct making *making, unsigned ms,
                      bool *ret_busy, const char **ret_why);
/* The long job, for the status line: bytes done and in all; false: there is none, or it
 * is quiet. */
bool jobs_progress(struct jobs *jobs, uint64_t *ret_done, uint64_t *ret_total,
                   uint64_t *ret_began_ns);

#endif
