/* flow_in.h - between the graph of a flow and its drawing. */
#ifndef FACTS_FLOW_IN_H
#define FACTS_FLOW_IN_H

#include "facts/flow.h"

/* Give every row a column, and its cells. For a flow whose edges are known. */
int flow_lay(struct flow *flow, struct arena *arena, struct err *err);

#endif
