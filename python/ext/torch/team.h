/* team.h - uses torch's own threads to measure large tensors.
 * If torch may use several threads, they are idle while we measure. They are an
 * OpenMP team; the library (GNU's, as in torch's own builds) is looked up by name in
 * the process. If it is missing, or torch may use only one thread, the caller does
 * all the work. */
#ifndef EXT_TORCH_TEAM_H
#define EXT_TORCH_TEAM_H

#include <stddef.h>

/* How many threads torch would use for a task of the calling thread; 1: only this
 * one. */
size_t team_size(void);

/* Calls work(user, i) for each i below n, in any order, and returns when all are
 * done. `amount` is the size of the work, in any constant unit. Uses several threads
 * only as long as that is faster: on a busy machine a team waits for its slowest
 * member. Do not call with the GIL held, or recursively. */
void team_run(void (*work)(void *user, size_t i), void *user, size_t n, double amount);

#endif
