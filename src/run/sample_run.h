/* sample_run.h - for tests of this room and those above it: a small model, and runs of
 * it.
 *
 *     (root)   Net           object 0
 *       a      Linear        1: weight (tensor 0), bias (1)
 *       list   ModuleList    2: never called
 *         0    Block         3: act ReLU (4)
 *         1    Block again   3
 *       tail   Linear        5: weight, tied to a.weight; never called
 *       note   "text" */
#ifndef RUN_SAMPLE_RUN_H
#define RUN_SAMPLE_RUN_H

#include "run/trace.h"

enum { SAMPLE_NET, SAMPLE_A, SAMPLE_LIST, SAMPLE_BLOCK, SAMPLE_ACT, SAMPLE_TAIL };

const struct model *sample_model(void);
/* `n` modules m0, m1, ... below a root, which is object 0. */
const struct model *sample_chain(uint32_t n);

/* A float32 value of this shape with statistics whose mean is `mean`. */
uint32_t sample_value(struct trace *trace, int64_t rows, int64_t columns, double mean);

/* A step: Net calls a, and Block (at list.0 and list.1), which calls act; one gradient,
 * one parameter. Each reading of the clock adds 100 ns, 10 ns of them cost of
 * recording. */
void sample_step(struct trace *trace, uint64_t *clock);

/* A run with everything that a run can have. */
struct run *sample_run(uint32_t steps);

#endif
