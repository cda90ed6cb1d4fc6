/* team.h - the threads that torch computes with, for work of ours.
 * Where torch is told to use several threads, those wait for their next task while we
 * measure what they made. They are a team of OpenMP's, which is found by name among
 * what the process has loaded (GNU's, as in torch's own builds). Where there is none,
 * or one thread is all that torch may use, the caller does everything. */
#ifndef EXT_TORCH_TEAM_H
#define EXT_TORCH_TEAM_H

#include <stddef.h>

/* How many threads torch would use for a task of the calling thread; 1: only this. */
size_t team_size(void);

/* work(user, i) for each i below n, in any order; it returns when all is done. `amount`
 * says how much there is to do, in any unit that is always the same. On several
 * threads, as long as that proves to be faster: where other programs want the same
 * processors, a team waits for its slowest member. Not to be called with the GIL held,
 * nor from within itself. */
void team_run(void (*work)(void *user, size_t i), void *user, size_t n, double amount);

#endif
