/* background.h - background threads, and a pipe with which they (or a signal handler)
 * wake a poll(). */
#ifndef BASE_BACKGROUND_H
#define BASE_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>

#include "base/err.h"

/* Open a pipe (read end, write end) that is close-on-exec and non-blocking. */
int background_pipe(int fds[2], struct err *err);

/* Start a thread that blocks all signals: they are for the main thread. False: failed.
 */
bool background_start(pthread_t *thread, void *(*run)(void *user), void *user);

#endif
