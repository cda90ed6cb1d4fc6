/* Finds the added and removed lines of a diff. An end at a group represents the lines
 * that continue inside or outside of it: it is added if all of them are. */
#include "graph/nets_in.h"

/* The change that all ends of a net share. */
static uint8_t joined(struct nets *nets, const struct new_net *net)
{
    uint8_t change = DIAGRAM_SAME;

    for (uint32_t e = net->first; e != PLAN_NONE; e = nets->ends[e].next) {
        struct new_end *end = &nets->ends[e];

        if (end->inner != PLAN_NONE)
            end->change = nets->nets[end->inner].change;
        else if (end->outer != PLAN_NONE)
            end->change = nets->nets[end->outer].change;
        if (e == net->first)
            change = end->change;
        else if (change != end->change)
            change = DIAGRAM_SAME;
    }
    return change;
}

void nets_changes(struct nets *nets, const uint32_t *new_of)
{
    /* Nets that enter a group continue in nested groups, which come later. */
    for (uint32_t i = nets->n_nets; i-- > 0;) {
        struct new_net *net = &nets->nets[new_of[i]];

        if (net->source == net->group)
            net->change = joined(nets, net);
    }
    /* Nets of inner boxes may continue in surrounding groups, which come earlier. */
    for (uint32_t i = 0; i < nets->n_nets; i++) {
        struct new_net *net = &nets->nets[new_of[i]];

        if (net->source != net->group)
            net->change = joined(nets, net);
    }
}
