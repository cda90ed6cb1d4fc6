/* op_graph_in.h - declarations shared by the files of the graph of a run.
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
    struct arena scratch; /* of what follows */
    uint32_t *call_node;  /* by call: its node, or NO_NODE */
    uint32_t *op_node;    /* by operation */
    uint32_t *call_ops;   /* by call: how many operations it has itself */
    struct map edges;     /* hash -> edge, so that none is entered twice */
    struct map makers;    /* value -> the node that returned it last: of calls that
                             return what they were given; without operations, of all */
    struct map others;    /* value, or tensor -> node of kind INPUT .. OUTSIDE */
    struct map storages;  /* without operations: storage -> the call that returned it */
    uint32_t *stack;      /* values whose sources are being followed */
    uint32_t n_stack, stack_room;
    uint32_t *followed; /* by value: the number of the reading that followed it last, so
                           that values with common sources cost no more */
    uint32_t readings;
    uint32_t within; /* only what ran inside this call; RUN_NONE: everything */
    bool *inside;    /* by call: it is that call or inside it; NULL: all are */
};

/* A new node; NO_NODE: out of memory. */
uint32_t graph_node(struct op_graph_walk *walk, struct op_graph_node node);
/* A new edge, unless there is an equal one or it would lead back. -1: out of memory. */
int graph_edge(struct op_graph_walk *walk, struct op_graph_edge edge);
/* Is it the outermost call of a pass, and no recomputation? Or the one call asked for. */
bool graph_is_pass(const struct op_graph_walk *walk, uint32_t call);

int graph_by_ops(struct op_graph_walk *walk);
int graph_by_calls(struct op_graph_walk *walk);

#endif
