/* flow_in.h - the interface between the graph of a flow and its drawing. */
#ifndef FACTS_FLOW_IN_H
#define FACTS_FLOW_IN_H

#include "facts/flow.h"

/* Assign a column and rail cells to every row. The edges must be known. */
int flow_lay(struct flow *flow, struct arena *arena, struct err *err);

#endif
