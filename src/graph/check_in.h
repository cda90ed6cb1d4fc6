/* check_in.h - for tests: checks a diagram against the rules of graph.h and
 * layout.h. */
#ifndef GRAPH_CHECK_IN_H
#define GRAPH_CHECK_IN_H

#include "graph/graph.h"

/* Boxes are in pre-order, nets and ends are consistent, ids are unique. Returns NULL,
 * or a description of the problem. */
const char *check_plan(const struct diagram *diagram, struct arena *arena);

/* Every connection between two leaf boxes, found by following nets through group
 * borders; sorted, without duplicates. */
struct check_wire {
    uint32_t source, target;
};
struct check_wire *check_wires(const struct diagram *diagram, struct arena *arena,
                               uint32_t *ret_n);

/* The connections must be exactly those of the graph of operations (study/op_graph.h),
 * and every operation must be counted. Returns NULL, or a description of the
 * problem. */
const char *check_edges(const struct diagram *diagram, struct arena *arena);

#endif
