/* order_chains.c - chains: boxes that feed one another and share a column, so that the
 * lines between them are straight. The main chain is the heaviest path through the
 * group (order_flow.c); it leaves at the axis if any line does. */
#include <stdlib.h>

#include "layout/order_in.h"

/* The best of several candidates, by the first number that differs; ties go to the
 * first. */
#define RULES 4
struct order_best {
    int64_t by[RULES];
    uint32_t end; /* or node */
};

static void consider(struct order_best *best, struct order_best other)
{
    int rule = 0;

    while (rule + 1 < RULES && other.by[rule] == best->by[rule])
        rule++;
    if (best->end == PLAN_NONE || other.by[rule] > best->by[rule])
        *best = other;
}

/* Does the path leave the group: 2 at the axis, 1 elsewhere, 0 not at all? */
static int64_t leaves(int64_t height)
{
    return (height >= ORDER_LEAVES) + (height >= ORDER_LEAVES_MAIN);
}

static int64_t end_leaves(const struct ordering *o, uint32_t end)
{
    uint32_t to = target_node(o, &o->plan->ends[end]);

    if (to != o->out)
        return leaves(o->nodes[to].height);
    return o->plan->ends[end].slot == 0 ? 2 : 1;
}

/* May a chain continue along this line? Only the line at the axis of OUT is straight,
 * and only the main chain has column 0. */
static bool may_link(const struct ordering *o, uint32_t from, uint32_t end, bool main)
{
    uint32_t to = target_node(o, &o->plan->ends[end]);

    if (leads_back(o, from, to) || o->nodes[to].prev != PLAN_NONE)
        return false;
    if (to == o->out)
        return main && o->plan->ends[end].slot == 0;
    return o->nodes[to].rank > o->nodes[from].rank;
}

/* The end by which a chain continues from a node, or PLAN_NONE: one that leaves the
 * group if any does, then the one with most weight after and before it. Of equal ones
 * the first, but with three or more candidates the middle one: k of q, k, v. Called
 * twice: first to count the candidates, then to choose. */
static uint32_t scan_ends(const struct ordering *o, uint32_t from, bool main,
                          uint32_t *n)
{
    const struct order_node *node = &o->nodes[from];
    int64_t middle = *n > 2 ? *n / 2 : 0;
    struct order_best best = {{0}, PLAN_NONE};

    *n = 0;
    for (uint32_t k = 0; k < node->n_nets; k++) {
        uint32_t index = o->exits[node->nets + k];
        const struct plan_net *net = &o->plan->nets[index];

        /* From outside, only a value at the axis can continue straight. */
        if (from == o->in && net->slot != 0)
            continue;
        for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++)
            if (may_link(o, from, e, main)) {
                int64_t off = llabs((int64_t)(*n)++ - middle);

                consider(&best, (struct order_best){
                                    {end_leaves(o, e), (int64_t)o->flow->below[e],
                                     (int64_t)o->flow->above[index], -off},
                                    e});
            }
    }
    return best.end;
}

static uint32_t best_end(const struct ordering *o, uint32_t from, bool main)
{
    uint32_t n = 0, end = scan_ends(o, from, main, &n);

    return n > 2 ? scan_ends(o, from, main, &n) : end;
}

static void link_nodes(struct ordering *o, uint32_t from, uint32_t end)
{
    uint32_t to = target_node(o, &o->plan->ends[end]);

    o->nodes[from].next = to;
    o->nodes[from].link = end;
    o->nodes[to].prev = from;
}

/* The first node of the main chain if not IN: the topmost node of the heaviest path. */
static uint32_t heaviest_node(const struct ordering *o)
{
    struct order_best best = {{0}, PLAN_NONE};

    for (uint32_t i = 0; i < o->n; i++) {
        const struct order_node *node = &o->nodes[i];
        uint64_t most = 0;

        for (uint32_t k = 0; k < node->n_nets; k++) {
            uint32_t net = o->exits[node->nets + k];
            uint64_t all = o->flow->above[net] + o->flow->net_below[net];

            most = all > most ? all : most;
        }
        consider(&best, (struct order_best){
                            {leaves(node->height), (int64_t)most, node->height}, i});
    }
    return best.end;
}

/* The heaviest path may begin inside a group: extend it up to the boxes that feed that
 * group. */
static void extend_up(struct ordering *o, uint32_t at)
{
    struct order_best best;

    do {
        const struct order_node *node = &o->nodes[at];

        best = (struct order_best){{0}, PLAN_NONE};
        for (uint32_t k = 0; k < node->n_ends; k++) {
            uint32_t end = o->entries[node->ends + k], net = o->plan->ends[end].net;
            uint32_t from = source_node(o, &o->plan->nets[net]);

            if (from != o->in && o->nodes[from].next == PLAN_NONE &&
                may_link(o, from, end, true))
                consider(&best,
                         (struct order_best){{(int64_t)o->flow->above[net]}, end});
        }
        if (best.end != PLAN_NONE) {
            at = source_node(o, &o->plan->nets[o->plan->ends[best.end].net]);
            link_nodes(o, at, best.end);
            o->nodes[at].chain = 0;
        }
    } while (best.end != PLAN_NONE);
}

/* Follows the heaviest path from IN, or from its first node. */
static void main_chain(struct ordering *o)
{
    uint32_t at = o->in, end;

    if (best_end(o, o->in, true) == PLAN_NONE) {
        at = heaviest_node(o);
        extend_up(o, at);
    }
    o->nodes[o->in].chain = o->nodes[o->out].chain = o->nodes[at].chain = 0;
    while (at != o->out && (end = best_end(o, at, true)) != PLAN_NONE) {
        link_nodes(o, at, end);
        at = o->nodes[at].next;
        o->nodes[at].chain = 0;
    }
}

/* Does a value cross the border at the axis without being part of the main chain? */
static void look_at_border(struct ordering *o)
{
    const struct order_node *in = &o->nodes[o->in], *out = &o->nodes[o->out];

    for (uint32_t k = 0; k < in->n_nets; k++) {
        int32_t slot = o->plan->nets[o->exits[in->nets + k]].slot;

        o->in_axis |= slot == 0 && in->next == PLAN_NONE;
        if (abs(slot) > o->in_reach)
            o->in_reach = abs(slot);
    }
    for (uint32_t k = 0; k < out->n_ends; k++) {
        int32_t slot = o->plan->ends[o->entries[out->ends + k]].slot;

        o->out_axis |= slot == 0 && out->prev == PLAN_NONE;
        if (abs(slot) > o->out_reach)
            o->out_reach = abs(slot);
    }
}

/* The predecessor that a node without a chain should continue: the lowest one, among
 * those that want it (`wish`) or, on the second try, among those directly above it. */
static uint32_t best_pred(const struct ordering *o, uint32_t to, const uint32_t *wish)
{
    const struct order_node *node = &o->nodes[to];
    struct order_best best = {{0}, PLAN_NONE};

    for (uint32_t k = 0; k < node->n_ends; k++) {
        uint32_t end = o->entries[node->ends + k];
        uint32_t from = source_node(o, &o->plan->nets[o->plan->ends[end].net]);

        if (from == o->in || o->nodes[from].next != PLAN_NONE ||
            !may_link(o, from, end, false))
            continue;
        if (wish ? wish[from] == end : o->nodes[from].rank + 1 == node->rank)
            consider(&best, (struct order_best){{o->nodes[from].rank}, end});
    }
    return best.end;
}

static int side_chains(struct ordering *o)
{
    uint32_t *wish = order_array(o, o->n, sizeof(*wish));

    if (!wish)
        return -1;
    for (uint32_t i = 0; i < o->n; i++)
        wish[i] = o->nodes[i].next == PLAN_NONE ? best_end(o, i, false) : PLAN_NONE;
    for (int try = 0; try < 2; try++)
        for (uint32_t i = 0; i < o->n; i++) {
            uint32_t end;

            if (o->nodes[i].prev != PLAN_NONE || o->nodes[i].chain == 0)
                continue;
            end = best_pred(o, i, try == 0 ? wish : NULL);
            if (end != PLAN_NONE)
                link_nodes(o, source_node(o, &o->plan->nets[o->plan->ends[end].net]),
                           end);
        }
    return 0;
}

/* Numbers the chains; chain 0 is the main one. IN and OUT belong to it. */
static int number_chains(struct ordering *o)
{
    o->chain_first = order_array(o, (size_t)o->n + 2, sizeof(*o->chain_first));
    if (!o->chain_first)
        return -1;
    o->n_chains = 1;
    for (uint32_t i = 0; i < o->n; i++) {
        if (o->nodes[i].prev != PLAN_NONE || o->nodes[i].chain == 0)
            continue;
        o->chain_first[o->n_chains] = i;
        for (uint32_t at = i; at != PLAN_NONE; at = o->nodes[at].next)
            o->nodes[at].chain = o->n_chains;
        o->n_chains++;
    }
    return 0;
}

/* The line that enters the first box of a chain along the axis: from the lowest source.
 * In column 0 another value may use the axis below IN. */
static void enter_chains(struct ordering *o)
{
    for (uint32_t i = 0; i < o->n; i++) {
        struct order_node *node = &o->nodes[i];
        int32_t lowest = INT32_MIN;

        if (node->prev != PLAN_NONE)
            continue;
        for (uint32_t k = 0; k < node->n_ends; k++) {
            uint32_t end = o->entries[node->ends + k];
            uint32_t from = source_node(o, &o->plan->nets[o->plan->ends[end].net]);
            int32_t rank = o->nodes[from].rank;

            if (rank >= node->rank || rank <= lowest)
                continue;
            if (node->chain == 0 && rank < 0 && o->in_axis)
                continue;
            lowest = rank;
            node->over = end;
        }
    }
}

/* The net that leaves at the axis: the one that continues the chain, else the first.
 * The axis of OUT must stay free for the value that leaves there. */
static void choose_straight(struct ordering *o)
{
    for (uint32_t i = 0; i < o->n; i++) {
        struct order_node *node = &o->nodes[i];

        if (node->link != PLAN_NONE)
            node->straight = o->plan->ends[node->link].net;
        else if (node->n_nets > 0)
            node->straight = o->exits[node->nets];
        if (node->chain == 0 && node->next == PLAN_NONE && node->rank == o->rows - 1 &&
            o->out_axis)
            node->straight = PLAN_NONE;
    }
    for (uint32_t k = 0; k < o->nodes[o->in].n_nets; k++) {
        uint32_t net = o->exits[o->nodes[o->in].nets + k];

        if (o->plan->nets[net].slot == 0)
            o->nodes[o->in].straight = net;
    }
}

int order_chains(struct ordering *o)
{
    for (uint32_t i = 0; i < o->n + 2; i++) {
        struct order_node *node = &o->nodes[i];

        node->prev = node->next = node->link = node->over = PLAN_NONE;
        node->straight = node->chain = PLAN_NONE;
    }
    main_chain(o);
    look_at_border(o);
    if (side_chains(o) < 0 || number_chains(o) < 0)
        return -1;
    enter_chains(o);
    choose_straight(o);
    return 0;
}
