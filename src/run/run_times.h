/* run_times.h - copies the times of one run to another. Recording operations slows down
 * small ones, so operations are recorded in one pass and times are measured in a second
 * one without operations. */
#ifndef RUN_RUN_TIMES_H
#define RUN_RUN_TIMES_H

#include "run/run.h"

/* Replaces the times of `run` by those of `of`; call it before the run is shared. Both
 * must have the same calls in the same order; otherwise returns false and changes
 * nothing. Operations keep their order between the calls; their durations become
 * unknown. */
bool run_take_times(struct run *run, const struct run *of);

#endif
