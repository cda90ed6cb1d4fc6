/* order_in.h - the state of plan_order() while it arranges one group, and its steps.
 *
 * The boxes directly inside the group are *nodes*, in their order. Two extra nodes
 * represent its border: IN, in row -1, where values enter, and OUT, below the last row,
 * where values leave. Both are in column 0. */
#ifndef LAYOUT_ORDER_IN_H
#define LAYOUT_ORDER_IN_H

#include "layout/layout.h"

/* Heights: leaving the group, and leaving it at its axis, outweighs any length. */
#define ORDER_LEAVES      ((int64_t)1 << 30)
#define ORDER_LEAVES_MAIN ((int64_t)1 << 31)

struct order_node {
    uint32_t box;
    uint32_t nets, n_nets; /* that leave it, in ordering.exits */
    uint32_t ends, n_ends; /* that enter it, in ordering.entries */
    int32_t rank, last;
    int32_t column;
    int64_t height; /* boxes on the longest path down, more if that leaves the group */
    uint32_t chain;
    uint32_t prev, next; /* in its chain */
    uint32_t link;       /* the end that leads to `next`: a straight line */
    uint32_t over;       /* the end that enters the first of a chain along the axis */
    uint32_t straight;   /* the net that leaves at the axis, slot 0 */
    bool is_free;        /* depends on nothing: as late as possible */
    bool sides;          /* lines may enter at its sides */
};

/* Columns that a horizontal line covers. */
struct order_cover {
    int32_t low, high;
};

/* Between two neighbours of a row: lines that enter them from there, and the columns in
 * which those lines come down. */
struct order_gap {
    uint32_t to_left, to_right;
    int32_t last_to_left, first_to_right;
};

/* The weight of the whole graph before and after each line: sums of box weights. */
struct order_flow {
    uint64_t *above;     /* by net: on the heaviest path to it */
    uint64_t *below;     /* by end: on the heaviest path after it */
    uint64_t *net_below; /* by net: the maximum of its ends */

    /* Private. */
    const struct plan *plan;
    uint32_t *nets, n_nets; /* value by value, in the order of their sources */
};

struct ordering {
    struct plan *plan;
    struct plan_group *group;
    struct arena *scratch;
    const uint32_t *local; /* node of a box within its parent */
    const struct order_flow *flow;

    struct order_node *nodes;
    uint32_t n, in, out; /* nodes[n] is IN, nodes[n + 1] is OUT */
    int32_t rows;
    uint32_t *exits;   /* nets by source */
    uint32_t *entries; /* ends by target */
    uint32_t *row_at;  /* columns with a box in row r, sorted:
                         row_columns[row_at[r]] up to row_at[r + 1] */
    int32_t *row_columns;
    struct order_gap *gaps; /* row r has one more than boxes: from row_at[r] + r on */
    uint32_t n_chains;
    uint32_t *chain_first;  /* node; chain 0 is the main one */
    bool in_axis, out_axis; /* a value crosses the border at the axis, but is not part
                               of the main chain */
    uint32_t *cover_at;     /* columns covered by the lines of a channel, in `covers` */
    struct order_cover *covers;
    int32_t in_reach, out_reach; /* largest slot used at IN and at OUT */
};

/* A node of the group: the source of a net, the target of an end. */
static inline uint32_t source_node(const struct ordering *o, const struct plan_net *net)
{
    return net->source == net->group ? o->in : o->local[net->source];
}
static inline uint32_t target_node(const struct ordering *o, const struct plan_end *end)
{
    const struct plan_net *net = &o->plan->nets[end->net];

    return end->target == net->group ? o->out : o->local[end->target];
}

/* Does the line run against the execution order? Then it does not affect ranks. */
static inline bool leads_back(const struct ordering *o, uint32_t from, uint32_t to)
{
    return from != o->in && to != o->out && to <= from;
}

/* Positions across a group, from left to right: slots of columns, then lanes. */
#define ORDER_LANES ((int64_t)1 << 62)
static inline int64_t order_place(int32_t column, int32_t slot)
{
    return (int64_t)column * ((int64_t)1 << 33) + slot;
}
static inline int32_t order_column(int64_t place)
{
    return (int32_t)((place + ((int64_t)1 << 32)) >> 33);
}

/* An array of zeros; `n` may be 0. */
void *order_array(struct ordering *o, size_t n, size_t item);

/* order_check.c: is the plan consistent? */
int order_check(const struct plan *plan, struct err *err);

/* order_flow.c: of the whole plan, before the first group. */
int order_flow(struct order_flow *flow, const struct plan *plan, struct arena *scratch);

/* The steps, in this order. Each returns -1 if the scratch arena is spent. */
void order_ranks(struct ordering *o);  /* order_ranks.c */
int order_chains(struct ordering *o);  /* order_chains.c: chains, straight lines */
int order_columns(struct ordering *o); /* order_columns.c */
int order_ways(struct ordering *o);    /* order_ways.c: ways and lanes */
int order_slots(struct ordering *o);   /* order_slots.c: slots of all lines */
int order_tracks(struct ordering *o);  /* order_tracks.c */
int order_extend(struct ordering *o);  /* order_extend.c: `last` */

#endif
