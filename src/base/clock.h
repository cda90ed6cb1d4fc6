/* clock.h - the time, for measuring. TORCHOSCOPE_CLOCK=ticks makes it repeatable: each
 * call adds 1 ms. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

uint64_t clock_ns(void); /* monotonic */

/* The absolute time `ms` from now on `clock` (CLOCK_REALTIME or CLOCK_MONOTONIC), for
 * the timed waits of pthread. Inline, so that modules without this room can use it. */
static inline struct timespec clock_later(clockid_t clock, unsigned ms)
{
    struct timespec until;

    clock_gettime(clock, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return until;
}

#endif
