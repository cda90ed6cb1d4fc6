/* events_in.h - the parts of an event file. */
#ifndef HISTORY_SINKS_EVENTS_IN_H
#define HISTORY_SINKS_EVENTS_IN_H

#include "base/buf.h"
#include "run/run.h"

/* Appends a GraphDef of the first pass (of each part that is called separately): a node
 * for each call of a leaf module, the inputs and the model's result. Names are module
 * names with slashes, so that TensorBoard folds them like the model.
 *
 * An edge means that a module took a tensor that another returned, or one in the same
 * memory. If unrecorded operations made it, only the order is known: it becomes a
 * control edge from the newest node before. A module whose result was made by such
 * operations gets an extra node, "(result)".
 *
 * -1: out of memory. Appends nothing without a pass. */
int events_graph(const struct run *run, struct buf *to);

/* Appends a field that is a TensorShapeProto. */
void events_shape(struct buf *to, unsigned field, const int64_t *sizes, uint32_t n);

#endif
