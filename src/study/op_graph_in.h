/* op_graph_in.h - shared by op_graph*.c:
 *   op_graph.c         its parts: nodes, edges, which calls are nodes
 *   op_graph_values.c  exact edges, from operations
 *   op_graph_calls.c   edges from the values of calls */
#ifndef STUDY_OP_GRAPH_IN_H
#define STUDY_OP_GRAPH_IN_H

#include "base/map.h"
#include "study/op_graph.h"

#define NO_NODE UINT32_MAX

/* A graph being made. */
struct op_graph_walk {
    struct op_graph *graph;
    const struct run *run;
    struct arena *arena;  /* of the graph */
    struct arena scratch; /* of the members below */
    uint32_t *call_node;  /* by call: its node, or NO_NODE */
    uint32_t *op_node;    /* by operation */
    uint32_t *call_ops;   /* by call: number of its own operations */
    struct map edges;     /* hash -> edge, to avoid duplicates */
    struct map makers;    /* value -> the node that returned it last: for calls that
                             return their argument; without operations, for all calls */
    struct map others;    /* value, or tensor -> node of kind INPUT .. OUTSIDE */
    struct map storages;  /* without operations: storage -> the call that returned it */
    uint32_t *stack;      /* values whose sources remain to be followed */
    uint32_t n_stack, stack_room;
    uint32_t *followed; /* by value: the reading that followed it last, so that each
                           reading follows it once */
    uint32_t readings;
    uint32_t within; /* limits the graph to this call; RUN_NONE: everything */
    bool *inside;    /* by call: it is that call or inside it; NULL: all are */
};

/* A new node; NO_NODE: out of memory. */
uint32_t graph_node(struct op_graph_walk *walk, struct op_graph_node node);
/* Adds an edge, unless it exists or leads to its own source. -1: out of memory. */
int graph_edge(struct op_graph_walk *walk, struct op_graph_edge edge);
/* Is it the outermost call of a pass and not a recomputation, or the call that the
 * graph is limited to? */
bool graph_is_pass(const struct op_graph_walk *walk, uint32_t call);

int graph_by_ops(struct op_graph_walk *walk);
int graph_by_calls(struct op_graph_walk *walk);

#endif
