/* events_in.h - the parts of an event file. */
#ifndef HISTORY_SINKS_EVENTS_IN_H
#define HISTORY_SINKS_EVENTS_IN_H

#include "base/buf.h"
#include "run/run.h"

/* Appends a GraphDef of the first pass (of each part that is called by itself): a node
 * for each call of a module without calls inside, its inputs and the model's result.
 * Names are those of the modules with slashes, so that TensorBoard folds them like the
 * model.
 *
 * An edge means that a module took what another returned, or something in the same
 * memory. If unrecorded operations made it, all that is known is the order: then it is
 * a control edge from the newest node before. A module whose result was made by such
 * operations has a node of its own, "(result)".
 *
 * -1: no memory. Without a pass nothing is appended. */
int events_graph(const struct run *run, struct buf *to);

/* Appends a field that is a TensorShapeProto. */
void events_shape(struct buf *to, unsigned field, const int64_t *sizes, uint32_t n);

#endif
