/* nets_in.h - nets and ends under construction. */
#ifndef GRAPH_NETS_IN_H
#define GRAPH_NETS_IN_H

#include "graph/parts_in.h"

/* Values from one box to the same set of boxes; they share all their lines. */
struct signal {
    uint32_t source;
    uint32_t links, n_targets; /* in nets->links, those of its first value */
    uint32_t values, n_values; /* in nets->signal_values */
};

struct new_net {
    uint32_t group, source, inner, outer;
    uint32_t first, last, n_ends; /* a list of ends */
    uint32_t signal;              /* the only one; PLAN_NONE: several */
    uint32_t source_signals;      /* of a leaf's net: its first signal */
    uint8_t change;               /* enum diagram_change */
};

struct new_end {
    uint32_t net, target, inner, outer, next;
    uint32_t signal; /* the only one; PLAN_NONE: several */
    uint32_t n_signals;
    uint8_t change; /* enum diagram_change */
};

struct nets {
    const struct parts *parts;
    struct diagram *diagram;
    struct box_link *links; /* by source, value, target */
    uint32_t n_links;
    struct signal *signals;
    uint32_t n_signals, signals_room;
    uint32_t *signal_values;
    uint32_t n_signal_values, signal_values_room;
    struct new_net *nets;
    uint32_t n_nets, nets_room;
    struct new_end *ends;
    uint32_t n_ends, ends_room;

    /* By box, valid if the stamp beside it is the current one. */
    uint32_t *around;      /* 1 + the box that it surrounds */
    uint32_t *up, *up_for; /* the net that carries the signal up into the group */
    uint32_t *in, *in_for; /* the net that carries it into the group from outside */
    uint32_t *leaf_end;    /* the newest end at a leaf box */
    uint32_t *first_value; /* the first value it reads; PART_NONE */
};

/* Derives the changes of ends and nets from those of ends at leaf boxes. */
void nets_changes(struct nets *nets, const uint32_t *new_of);
/* Writes the labels of nets and ends, once the plan is made; new_of[i] is the new net
 * of net i. */
int nets_words(struct nets *nets, const uint32_t *new_of, const uint32_t *new_end_of);

#endif
