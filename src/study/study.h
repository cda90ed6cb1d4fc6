/* study.h - facts about a model: computed from it, never changing it.
 *
 * The tour of the room:
 *   counts.h    parameters, bytes and tensors below every place
 *   verdict.h   is it safe to load: an allow-list over the pickle log
 *   check.h     is it safe, whole and as expected: what `check` says of one model
 *   activity.h  what each place did in a run: its calls put together
 *   slowest.h   where its time went, by place and by class
 *   family.h    what kind of work a module does: convolution, norm, activation
 *   diff.h      how two models differ           rename.h    renamed keys as rules
 */
#ifndef STUDY_STUDY_H
#define STUDY_STUDY_H

#include "study/counts.h"
#include "study/safety/verdict.h"

#endif
