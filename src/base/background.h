/* background.h - threads of our own, and the pipe by which they (or a signal) wake
 * whoever waits in poll(). */
#ifndef BASE_BACKGROUND_H
#define BASE_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>

#include "base/err.h"

/* A pipe (to read, to write) that no child gets and nobody blocks on. */
int background_pipe(int fds[2], struct err *err);

/* A thread that takes no signals: they are for the one that has the terminal, or for
 * Python's. False: none can be started. */
bool background_start(pthread_t *thread, void *(*run)(void *user), void *user);

#endif
