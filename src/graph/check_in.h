/* check_in.h - for tests: holds a diagram against the rules of graph.h and layout.h. */
#ifndef GRAPH_CHECK_IN_H
#define GRAPH_CHECK_IN_H

#include "graph/graph.h"

/* Boxes are in pre-order, nets and ends agree with one another, ids are unique. Returns
 * NULL, or what is wrong. */
const char *check_plan(const struct diagram *diagram, struct arena *arena);

/* Every connection between two boxes without boxes inside, found by following nets
 * through the borders of groups; sorted, none twice. */
struct check_wire {
    uint32_t source, target;
};
struct check_wire *check_wires(const struct diagram *diagram, struct arena *arena,
                               uint32_t *ret_n);

/* The same connections as in the graph of operations (study/op_graph.h), no more and no
 * less; and all operations are counted. Returns NULL, or what is wrong. */
const char *check_edges(const struct diagram *diagram, struct arena *arena);

#endif
