/* order_slots.c - where lines meet their boxes. Lines that leave use even slots, lines
 * that enter odd ones, 0 is the axis. Lines from the right enter right of the axis, the
 * nearest innermost, so that they do not cross one another. */
#include <stdlib.h>

#include "layout/order_in.h"

#define AT_SIDE 3 /* limit of lines at one side of a sign */
#define FEW     2 /* lines on one side of the axis that keep a wider distance */

/* One line at a box, with the position of its other end relative to the box. */
struct order_arrival {
    int64_t place;
    uint32_t index; /* of the end or the net */
    int32_t slot;
};

/* By distance; negative ones are on the left. */
static int by_distance(const void *a, const void *b)
{
    const struct order_arrival *x = a, *y = b;
    int64_t dx = llabs(x->place), dy = llabs(y->place);

    if (dx != dy)
        return dx < dy ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* A lane is right of everything. */
static int64_t lane_place(const struct plan_net *net)
{
    return ORDER_LANES + net->lane;
}

/* The position an end's line comes from, seen from its target. */
static int64_t arrival_place(const struct ordering *o, uint32_t index)
{
    const struct plan_end *end = &o->plan->ends[index];
    const struct plan_net *net = &o->plan->nets[end->net];
    const struct order_node *source = &o->nodes[source_node(o, net)];
    const struct order_node *target = &o->nodes[target_node(o, end)];

    if (end->way == PLAN_LANE || end->way == PLAN_LANE_SIDE)
        return lane_place(net);
    return order_place(source->column, net->slot) - order_place(target->column, 0);
}

/* The position a net goes to, seen from its source: its lane, else its farthest
 * target. */
static int64_t leaving_place(const struct ordering *o, uint32_t index)
{
    const struct plan_net *net = &o->plan->nets[index];
    int64_t own = order_place(o->nodes[source_node(o, net)].column, 0);
    int64_t low = 0, high = 0;

    if (net->lane != PLAN_NONE)
        return lane_place(net);
    for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++) {
        uint32_t to = target_node(o, &o->plan->ends[e]);
        int64_t place = order_place(o->nodes[to].column, 0) - own;

        low = place < low ? place : low;
        high = place > high ? place : high;
    }
    return high > 0 || low == 0 ? high : low;
}

/* Slots that the border uses in the same channel are taken. */
static int32_t border_exits(const struct ordering *o, const struct order_node *node)
{
    return node->column == 0 && node->rank == o->rows - 1 ? o->out_reach : 0;
}

static int32_t border_entries(const struct ordering *o, const struct order_node *node)
{
    return node->column == 0 && node->rank == 0 ? o->in_reach : 0;
}

/* Assigns slots beyond `taken`, even or odd ones, from the axis outwards. A few lines
 * keep a wider distance, except at a sign, which is small. */
static void deal(const struct order_node *node, struct order_arrival *list, uint32_t n,
                 int32_t taken, bool odd)
{
    uint32_t sides[2] = {0, 0};
    int32_t next[2], step[2];

    qsort(list, n, sizeof(*list), by_distance);
    for (uint32_t k = 0; k < n; k++)
        sides[list[k].place >= 0]++;
    for (int side = 0; side < 2; side++) {
        bool wide = sides[side] <= FEW && !node->sides;

        step[side] = wide ? 4 : 2;
        next[side] = (taken + 2) / 2 * 2 - odd;
        next[side] += next[side] <= taken ? 2 : 0;
        if (taken == 0 && !node->sides)
            next[side] = wide ? 4 - odd : 2 + odd;
    }
    for (uint32_t k = 0; k < n; k++) {
        bool right = list[k].place >= 0;

        list[k].slot = right ? next[1] : -next[0];
        next[right] += step[right];
    }
}

/* The slot at the lower border to which a net runs straight; 0: none. */
static int32_t border_slot(const struct ordering *o, uint32_t index)
{
    const struct plan_net *net = &o->plan->nets[index];

    for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++)
        if (o->plan->ends[e].target == net->group && o->plan->ends[e].way == PLAN_DOWN)
            return o->plan->ends[e].slot;
    return 0;
}

static void slot_exits(struct ordering *o, const struct order_node *node,
                       struct order_arrival *list)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < node->n_nets; k++) {
        uint32_t net = o->exits[node->nets + k];

        o->plan->nets[net].slot = net == node->straight ? 0 : border_slot(o, net);
        if (net != node->straight && o->plan->nets[net].slot == 0)
            list[n++] = (struct order_arrival){leaving_place(o, net), net, 0};
    }
    deal(node, list, n, border_exits(o, node), false);
    for (uint32_t k = 0; k < n; k++)
        o->plan->nets[list[k].index].slot = list[k].slot;
}

/* The first three lines at a side stay there, evenly about the middle; others enter at
 * the top. */
static void slot_side(struct ordering *o, const struct order_arrival *list, uint32_t n,
                      bool left)
{
    uint32_t seen = 0, total = 0;

    for (uint32_t k = 0; k < n; k++)
        total += (list[k].place < 0) == left;
    if (total > AT_SIDE)
        total = AT_SIDE;
    for (uint32_t k = 0; k < n; k++) {
        struct plan_end *end = &o->plan->ends[list[k].index];

        if ((list[k].place < 0) != left)
            continue;
        if (seen == AT_SIDE)
            end->way = end->way == PLAN_ALONG_SIDE ? PLAN_ALONG : PLAN_LANE;
        else if (total == 2)
            end->slot = seen++ ? 1 : -1;
        else
            end->slot = (int32_t)seen++ - (total == 3);
    }
}

static void slot_sides(struct ordering *o, const struct order_node *node,
                       struct order_arrival *list)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < node->n_ends; k++) {
        uint32_t end = o->entries[node->ends + k];
        uint8_t way = o->plan->ends[end].way;

        if (way == PLAN_ALONG_SIDE || way == PLAN_LANE_SIDE)
            list[n++] = (struct order_arrival){arrival_place(o, end), end, 0};
    }
    qsort(list, n, sizeof(*list), by_distance);
    slot_side(o, list, n, true);
    slot_side(o, list, n, false);
}

/* The end that continues the chain of an end's source. */
static uint32_t node_link(const struct ordering *o, const struct plan_end *end)
{
    return o->nodes[source_node(o, &o->plan->nets[end->net])].link;
}

static void slot_entries(struct ordering *o, const struct order_node *node,
                         struct order_arrival *list)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < node->n_ends; k++) {
        uint32_t index = o->entries[node->ends + k];
        struct plan_end *end = &o->plan->ends[index];

        if (end->way == PLAN_ALONG_SIDE || end->way == PLAN_LANE_SIDE)
            continue;
        end->slot = end->way == PLAN_DOWN && index != node_link(o, end)
                        ? o->plan->nets[end->net].slot
                        : 0;
        if (end->way != PLAN_DOWN && index != node->over)
            list[n++] = (struct order_arrival){arrival_place(o, index), index, 0};
    }
    deal(node, list, n, border_entries(o, node), true);
    for (uint32_t k = 0; k < n; k++)
        o->plan->ends[list[k].index].slot = list[k].slot;
}

int order_slots(struct ordering *o)
{
    uint32_t most = 0;
    struct order_arrival *list;

    for (uint32_t i = 0; i < o->n; i++) {
        uint32_t n = o->nodes[i].n_ends + o->nodes[i].n_nets;

        most = n > most ? n : most;
    }
    list = order_array(o, most, sizeof(*list));
    if (!list)
        return -1;
    for (uint32_t i = 0; i < o->n; i++)
        slot_exits(o, &o->nodes[i], list);
    for (uint32_t i = 0; i < o->n; i++) {
        slot_sides(o, &o->nodes[i], list);
        slot_entries(o, &o->nodes[i], list);
    }
    return 0;
}
