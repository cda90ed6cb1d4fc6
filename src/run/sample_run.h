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

#include "run/trace_ops.h"

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

/* A run that uses every feature. */
struct run *sample_run(uint32_t steps);

/* A training step with its operations. x is a 2x3 input that existed before.
 *
 *   0 aten::t           a         (3,2) view of a.weight     net.py:5
 *   1 aten::addmm       a         y = (2,2), 24 FLOPs        net.py:5
 *   2 aten::relu        list.0.act   r                        net.py:9
 *   3 aten::add_        (root)    r += y, a residual         net.py:12
 *   4 aten::detach      (root)    d, used by nobody          net.py:13
 *   5 aten::sum         outside   the loss                   train.py:3
 *   6 aten::threshold_backward  list.0.act  backward of 2
 *   7 aten::mm          a         backward of 1: the gradient of a.weight
 *   8 aten::add_        optimizer a.weight += its gradient   train.py:5 */
struct run *sample_ops(void);
/* An operation of n tensors, for tests with their own operations. */
struct sample_tensor {
    uint32_t storage;
    uint8_t kind; /* enum op_io_kind */
    uint16_t arg;
    int64_t rows, columns;
    uint64_t offset;
    int64_t stride; /* of rows; 0: dense */
    uint8_t flags;
};
uint32_t sample_op(struct trace *trace, uint32_t kind,
                   const struct sample_tensor *tensors, uint32_t n, uint32_t *values);

#endif
