/* op_graph.h - the graph of a run: nodes, and the values that flow between them.
 *
 * At the level of operations every operation is a node, and its edges are the values
 * that it read. At the level of modules, a call that calls no other module and its
 * operations become one node; operations outside of such calls stay separate nodes (the
 * `+` of a residual block). That level has forward operations only, and the parameters
 * of a module are part of its calls.
 *
 * At that level and in the graph of one call, a detach whose result is not read is
 * omitted: autograd detaches what it saves for backward.
 *
 * Equal views that several operations take of one tensor are one value; its producer is
 * the first of them. In the graph of one call it is the last one.
 *
 * A call without operations that returns its argument (Identity, Dropout in eval mode)
 * is the source of that value from then on.
 *
 * Without recorded operations, edges at the level of modules come from the values of
 * calls: one call returned a value that another took (`exact` is false). */
#ifndef STUDY_OP_GRAPH_H
#define STUDY_OP_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "run/run.h"

enum op_graph_level { OP_GRAPH_OPS, OP_GRAPH_MODULES };

enum op_graph_kind {
    OP_GRAPH_OP,
    OP_GRAPH_CALL,
    OP_GRAPH_INPUT,     /* an argument of a pass that no operation made */
    OP_GRAPH_PARAMETER, /* a parameter that operations read */
    OP_GRAPH_BUFFER,
    OP_GRAPH_OUTSIDE, /* another tensor that no operation made */
    OP_GRAPH_OUTPUT,  /* a result of a pass */
    OP_GRAPH_UNCLEAR, /* of a program: code that was not understood */
    OP_GRAPH_KINDS
};

struct op_graph_node {
    uint8_t kind;
    uint32_t op;     /* of OP; of CALL: the first one, or RUN_NONE */
    uint32_t n_ops;  /* of CALL */
    uint32_t call;   /* of CALL; of OP: the innermost; of INPUT and OUTPUT: the pass; or
                        RUN_NONE */
    uint32_t io;     /* of INPUT and OUTPUT: in run->ios; of UNCLEAR: the region; else
                        RUN_NONE */
    uint32_t tensor; /* of PARAMETER and BUFFER: in model->tensors; else RUN_NONE */
    uint32_t value;  /* its value or first result, as in an edge; or RUN_NONE */
    uint64_t flops;  /* of CALL: the sum of the known ones */
    bool has_flops;  /* of CALL: some are known */
    bool given;      /* it is an argument of a pass, or made one */
};

struct op_graph_edge {
    uint32_t source, target; /* nodes */
    uint32_t value; /* the value that the target reads: in run->ops->values; if the
                       graph is not exact, in run->values */
    bool loose;     /* only the storage is the same; never if exact */
};

struct op_graph {
    enum op_graph_level level;
    bool exact;
    bool cut; /* of a program: a limit was reached, edges are missing */
    struct op_graph_node
        *nodes; /* operations and calls first, as they ran; at the level
                                    of operations, node i is operation i unless some
                                    phases were left out */
    uint32_t n_nodes, nodes_room;
    struct op_graph_edge *edges; /* by target, in the order of reading */
    uint32_t n_edges, edges_room;
};

struct op_graph_wanted {
    enum op_graph_level level;
    unsigned phases; /* bits 1 << enum op_phase, at the level of operations; 0: all */
    uint32_t within; /* 1 + a call: limits the graph to what ran inside it, with its
                        arguments and results as inputs and outputs; 0: everything */
};

/* Linear in operations, calls and edges; no recursion. Allocates in the arena. Fails if
 * the level is OP_GRAPH_OPS and operations were not recorded. */
int op_graph_make(struct op_graph *ret_graph, const struct run *run,
                  struct op_graph_wanted wanted, struct arena *arena, struct err *err);

const char *op_graph_kind_name(enum op_graph_kind kind);    /* "op", "call", ... */
const char *op_graph_level_name(enum op_graph_level level); /* "ops", "modules" */

#endif
