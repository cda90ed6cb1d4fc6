/* run_in.h - what run.c shares with trace_finish.c and the file. */
#ifndef RUN_RUN_IN_H
#define RUN_RUN_IN_H

#include "run/run.h"

/* An empty run with memory of its own; NULL: none left. */
struct run *run_new(size_t limit);

/* The last step of whoever makes a run, once it has its model: the index of calls. From
 * then on the run does not change, and threads may read it. -1: no memory. */
int run_seal(struct run *run);

/* The file that kept values are read from (file_read.c). NULL is allowed. */
void run_source_close(struct run_source *source);

#endif
