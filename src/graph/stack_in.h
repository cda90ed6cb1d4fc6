/* stack_in.h - for tests: a run of n equal residual blocks, one after the other.
 *
 *     (root)       Stack
 *       layers     ModuleList
 *         0..n-1   Block: x + b(a(x))
 *           a, b   Linear, ReLU */
#ifndef GRAPH_STACK_IN_H
#define GRAPH_STACK_IN_H

#include "run/run.h"

struct stack_wanted {
    uint32_t n;
    uint32_t other;  /* 1 + the block whose `a` runs another operation; 0: none */
    uint32_t skip;   /* 1 + the block that adds the model's input; 0: none */
    uint32_t nested; /* additional modules around `a`, nested */
};
struct run *stack_run(struct stack_wanted wanted);

#endif
