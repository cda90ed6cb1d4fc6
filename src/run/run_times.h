/* run_times.h - the times of one run for another.
 * Operations are recorded in one pass, times are measured in a second one without them:
 * recording operations makes small ones slower. */
#ifndef RUN_RUN_TIMES_H
#define RUN_RUN_TIMES_H

#include "run/run.h"

/* Replaces the times of `run` by those of `of`, before anybody reads it. Both must have
 * the same calls in the same order; false: they have not, and nothing is changed.
 * Operations keep their order between the calls; how long they took is then unknown. */
bool run_take_times(struct run *run, const struct run *of);

#endif
