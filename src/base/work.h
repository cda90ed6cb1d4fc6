/* work.h - progress and cancellation of long work. Every function that may take over 10
 * ms takes a `struct work *`, which may be NULL. It calls work_step() at least every
 * megabyte or 64k items; a cancelled call keeps its partial results and returns
 * ERR_CANCELLED. */
#ifndef BASE_WORK_H
#define BASE_WORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct work {
    atomic_int cancel; /* may be set from anywhere: a signal handler, a key, Python */
    _Atomic uint64_t done, total; /* bytes or items; total 0: unknown */
    /* Called from work_step(), at most every 50 ms; may be NULL. */
    void (*progress)(struct work *work);
    void *user;
    _Atomic uint64_t reported_ns; /* when progress was last called; 0: not yet */
};

void work_init(struct work *work);
/* Resets it, even while another thread uses it; the callback stays. */
void work_again(struct work *work);
/* Add to `done`; false: stop. */
bool work_step(struct work *work, uint64_t more);
bool work_cancelled(struct work *work);

/* What this thread is working on, for code that waits and is not given the work: a
 * request to a web server inside blob_read(). Returns the previous one, which
 * work_leave() restores. */
struct work *work_enter(struct work *work);
void work_leave(struct work *previous);
/* A step of it; false: stop waiting. */
bool work_wait(void);

#endif
