/* study.h - facts computed from a model, without changing it.
 *
 *   counts.h             parameters, bytes and tensors, in total and below every place
 *   family.h             the kind of work of a module: convolution, norm, activation
 *   activity.h           sums over the calls of each place in a run
 *   grad_paths.h         how gradients split at forks: skip or main path
 *   no_gradient.h        parameters without gradient, and the operation that caused it
 *   producer.h           the module or operation that produced NaN and infinities
 *   op_memory.h          tensor memory of a run: its curve, peak, saved activations
 *   slowest.h            exclusive times of a run, by place and by class
 *   timeline.h           a pass as nested boxes in time, without the recording overhead
 *   op_graph.h           operations or calls, and the values between them
 *   op_use.h             the operations that a run used: by name, by module, by phase
 *   program_use.h        the operations in the code of a file, by name
 *   safety/verdict.h     is it safe to load: an allow-list over the pickle log
 *   safety/check.h       is it safe, complete and as expected
 *   diff/diff.h          how two models differ; rename rules
 *   diverge/divergence.h  where the results of two recordings begin to differ */
#ifndef STUDY_STUDY_H
#define STUDY_STUDY_H

#include "study/counts.h"

#endif
