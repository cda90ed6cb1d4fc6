/* flow_in.h - the interface between the parts of a flow: its graph (flow.c), that of
 * operations (flow_ops.c), their folding (flow_fold.c) and the drawing (flow_rails.c).
 */
#ifndef FACTS_FLOW_IN_H
#define FACTS_FLOW_IN_H

#include "base/map.h"
#include "facts/flow.h"

/* The producers known so far while walking through the calls in order of time. */
struct flow_walk {
    struct flow *flow;
    const struct run *run;
    struct arena *arena;   /* of the flow */
    struct arena *scratch; /* of the walk */
    struct map values;     /* value -> the row that returned it last */
    struct map storages;   /* storage -> its holder */
    struct flow_holder *holders;
    uint32_t n_holders, holders_room;
    struct map unknown; /* values without a row -> the earlier call that returned
                           them, or RUN_NONE */
    uint32_t *row_of;   /* by call, from the first inside on: its row */
    uint32_t n_inside;  /* number of calls inspected from there on */
};

struct flow_row *flow_add_row(struct flow_walk *walk, enum flow_kind kind,
                              uint32_t call);
/* Append an edge to the last row's inputs. */
int flow_add_edge(struct flow_walk *walk, const struct flow_edge *edge, uint32_t user);
/* Is it an io of this kind with a tensor? Skips an argument that is the same object as
 * an earlier one. A result that is one of the arguments may hold a new value. */
bool flow_counts(const struct run_io *io, enum run_io_kind kind);
/* A row for each argument of the module. */
int flow_add_inputs(struct flow_walk *walk);
/* The row of a call inside the module, which begins a new one if it is directly inside;
 * NO_FLOW: not inside. *ret_failed is set if out of memory. */
uint32_t flow_call_row(struct flow_walk *walk, uint32_t call, bool *ret_failed);
/* Adds an edge from the call that returned the value of this io, if known. */
int flow_take_io(struct flow_walk *walk, uint32_t io, uint32_t user);
/* Records the results of a call as produced by its row. With `direct`, including those
 * that it only passed on. */
int flow_give_results(struct flow_walk *walk, uint32_t call, uint32_t row, bool direct);

/* Does an operation belong to the flow of this call, or of a call inside it? */
bool flow_op_counts(const struct run *run, const struct run_op *op, uint32_t call);
/* All rows and edges, from the operations. */
int flow_walk_ops(struct flow_walk *walk);
/* Join chains of views to one row, and shorten long sequences of operations. The edges
 * must be known. */
int flow_fold(struct flow *flow, struct arena *arena, struct arena *scratch);

/* Assign a column and rail cells to every row. The edges must be known. */
int flow_lay(struct flow *flow, struct arena *arena, struct err *err);

#endif
