/* study.h - facts computed from a model, without changing it.
 *
 *   counts.h             parameters, bytes and tensors, in total and below every place
 *   family.h             what kind of work a module does: convolution, norm, activation
 *   activity.h           what each place did in a run: its calls added up
 *   grad_paths.h         where gradients flow at forks: skip or main path
 *   no_gradient.h        parameters without gradient, and the operation to blame
 *   producer.h           who produced NaN and infinities: a module, an operation
 *   op_memory.h          tensor memory of a run: its curve, peak, saved activations
 *   slowest.h            where the time of a run went, by place and by class
 *   timeline.h           a pass as boxes in time, without the cost of recording
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
