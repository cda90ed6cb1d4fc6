/* sample_graph.h - for tests of this room and those above it: graphs from boxes and
 * values, and a check of the geometry of any plan. */
#ifndef LAYOUT_SAMPLE_GRAPH_H
#define LAYOUT_SAMPLE_GRAPH_H

#include "base/buf.h"
#include "layout/layout.h"

#define SAMPLE_BOXES 200000

struct sample_net {
    uint32_t value, group, source, inner, outer, next; /* next: of the same value */
    uint32_t first, last, n;                           /* its ends, a list */
};
struct sample_end {
    uint32_t net, target, inner, outer, next;
};

struct sample_graph {
    struct arena arena;
    struct plan plan;
    struct sample_net *nets;
    struct sample_end *ends;
    uint32_t n_nets, net_room, n_ends, end_room;
    uint32_t *first_net; /* per value: its nets */
    uint32_t n_values, value_room, box_room;
};

void sample_init(struct sample_graph *graph);
void sample_release(struct sample_graph *graph);

/* Add a box, in pre-order; the root is made by sample_init(). Boxes are 160 x 44, with
 * PLAN_SIDE circles of 26. */
uint32_t sample_box(struct sample_graph *graph, uint32_t parent, uint8_t flags);
/* A value that `from` makes; then its readers, anywhere in the tree. */
uint32_t sample_value(struct sample_graph *graph);
void sample_line(struct sample_graph *graph, uint32_t value, uint32_t from,
                 uint32_t to);
/* A value with one reader. */
void sample_link(struct sample_graph *graph, uint32_t from, uint32_t to);
/* Makes the plan's nets and ends; all labels get this width. */
void sample_finish(struct sample_graph *graph, int32_t net_label, int32_t end_label);

/* A random graph of about `n` boxes from a seed: nested groups, skips, fans, lines that
 * lead back. */
void sample_random(struct sample_graph *graph, uint64_t seed, uint32_t n);

/* Checks the whole geometry of a placed plan; returns false and describes the problem
 * in `why`. */
bool sample_geometry(const struct plan *plan, const struct plan_style *style,
                     struct buf *why);

#endif
