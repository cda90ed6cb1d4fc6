/* run_in.h - making a run, for trace_finish.c and file_read.c. */
#ifndef RUN_RUN_IN_H
#define RUN_RUN_IN_H

#include "run/run.h"

/* An empty run with its own arena; NULL: out of memory. */
struct run *run_new(size_t limit);

/* Freezes a run that has its model: builds the index of calls. From then on the run
 * does not change, and any thread may read it. -1: out of memory. */
int run_seal(struct run *run);

/* The file that kept values are read from (file_read.c). NULL is allowed. */
void run_source_close(struct run_source *source);

#endif
