/* order_flow.c - computes how much of the whole graph lies before and after each line:
 * the weight of all boxes on the heaviest path to it and after it, across the borders
 * of groups. It decides which line of a fork continues straight: of two values that go
 * from block to block, the heavier one is the main flow, and one that is only an extra
 * input of later blocks (a position bias, a mask) is not. It does not depend on what is
 * open. */
#include "layout/order_in.h"

/* Sums of weights fit into 64 bits: there are at most 1 << 24 boxes. */
static uint64_t weight_of(const struct plan *plan, uint32_t box)
{
    uint64_t weight = plan->boxes[box].weight, most = (uint64_t)1 << 38;

    return weight == 0 ? 1 : weight < most ? weight : most;
}

/* The box where the line of an end arrives: not an open group, so the line ends there;
 * PLAN_NONE: another net continues it. */
static uint32_t arrives_at(const struct plan *plan, const struct plan_end *end)
{
    if (end->inner != PLAN_NONE || end->outer != PLAN_NONE)
        return PLAN_NONE;
    return end->target == plan->nets[end->net].group ? PLAN_NONE : end->target;
}

/* Lists the nets of every value: first the one at its source, then those that continue
 * it. A net is continued by one net per end at most, so each is listed once. */
static uint32_t list_value(const struct plan *plan, uint32_t net, uint32_t *list)
{
    uint32_t n = 1;

    list[0] = net;
    for (uint32_t i = 0; i < n; i++) {
        const struct plan_net *at = &plan->nets[list[i]];

        for (uint32_t e = at->ends; e < at->ends + at->n_ends; e++) {
            const struct plan_end *end = &plan->ends[e];

            if (end->inner != PLAN_NONE)
                list[n++] = end->inner;
            if (end->outer != PLAN_NONE)
                list[n++] = end->outer;
        }
    }
    return n;
}

static int list_values(struct order_flow *flow, struct arena *scratch)
{
    const struct plan *plan = flow->plan;
    uint32_t *at = arena_array(scratch, (size_t)plan->n_boxes + 2, sizeof(*at));
    uint32_t *first = arena_array(scratch, (size_t)plan->n_nets + 1, sizeof(*first));
    uint32_t n = 0;

    flow->nets = arena_array(scratch, (size_t)plan->n_nets + 1, sizeof(*flow->nets));
    if (!at || !first || !flow->nets)
        return -1;
    for (uint32_t k = 0; k < plan->n_nets; k++)
        if (plan->nets[k].inner == PLAN_NONE && plan->nets[k].outer == PLAN_NONE)
            at[plan->nets[k].source + 2]++;
    for (uint32_t i = 0; i < plan->n_boxes; i++)
        at[i + 2] += at[i + 1];
    for (uint32_t k = 0; k < plan->n_nets; k++)
        if (plan->nets[k].inner == PLAN_NONE && plan->nets[k].outer == PLAN_NONE)
            first[at[plan->nets[k].source + 1]++] = k;
    for (uint32_t i = 0; i < at[plan->n_boxes]; i++)
        n += list_value(plan, first[i], &flow->nets[n]);
    flow->n_nets = n;
    return 0;
}

/* Paths to a line, from the first box on: nets are listed by source in execution order,
 * so a net's path is complete when its turn comes. */
static void follow_down(struct order_flow *flow, uint64_t *boxes)
{
    const struct plan *plan = flow->plan;

    for (uint32_t i = 0; i < flow->n_nets; i++) {
        const struct plan_net *net = &plan->nets[flow->nets[i]];
        bool begins = net->inner == PLAN_NONE && net->outer == PLAN_NONE;
        uint64_t before;

        if (begins)
            flow->above[flow->nets[i]] =
                boxes[net->source] + weight_of(plan, net->source);
        before = flow->above[flow->nets[i]];
        for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++) {
            const struct plan_end *end = &plan->ends[e];
            uint32_t to = arrives_at(plan, end);

            if (end->inner != PLAN_NONE)
                flow->above[end->inner] = before;
            else if (end->outer != PLAN_NONE)
                flow->above[end->outer] = before;
            else if (to != PLAN_NONE && to > net->source && boxes[to] < before)
                boxes[to] = before;
        }
    }
}

/* Paths from a line on, from the last box back. */
static void follow_up(struct order_flow *flow, uint64_t *boxes)
{
    const struct plan *plan = flow->plan;

    for (uint32_t i = flow->n_nets; i-- > 0;) {
        const struct plan_net *net = &plan->nets[flow->nets[i]];
        uint64_t most = 0;

        for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++) {
            const struct plan_end *end = &plan->ends[e];
            uint32_t to = arrives_at(plan, end);
            uint64_t after = 0;

            if (end->inner != PLAN_NONE)
                after = flow->net_below[end->inner];
            else if (end->outer != PLAN_NONE)
                after = flow->net_below[end->outer];
            else if (to != PLAN_NONE && to > net->source)
                after = boxes[to] + weight_of(plan, to);
            flow->below[e] = after;
            most = after > most ? after : most;
        }
        flow->net_below[flow->nets[i]] = most;
        if (net->inner == PLAN_NONE && net->outer == PLAN_NONE &&
            boxes[net->source] < most)
            boxes[net->source] = most;
    }
}

int order_flow(struct order_flow *flow, const struct plan *plan, struct arena *scratch)
{
    size_t nets = (size_t)plan->n_nets + 1;
    uint64_t *down = arena_array(scratch, plan->n_boxes, sizeof(*down));
    uint64_t *up = arena_array(scratch, plan->n_boxes, sizeof(*up));

    flow->plan = plan;
    flow->above = arena_array(scratch, nets, sizeof(*flow->above));
    flow->net_below = arena_array(scratch, nets, sizeof(*flow->net_below));
    flow->below = arena_array(scratch, (size_t)plan->n_ends + 1, sizeof(*flow->below));
    if (!down || !up || !flow->above || !flow->below || !flow->net_below ||
        list_values(flow, scratch) < 0)
        return -1;
    follow_down(flow, down);
    follow_up(flow, up);
    return 0;
}
