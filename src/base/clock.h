/* clock.h - the time, for measuring. TORCHOSCOPE_CLOCK=ticks makes it repeatable: each
 * call adds 1 ms. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_ns(void); /* monotonic */

#endif
