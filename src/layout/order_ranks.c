/* order_ranks.c - rows: a box lies below everything that it reads. */
#include "layout/order_in.h"

/* Earliest rows, by the longest path. A node that depends on nothing but constants is
 * free to move down. */
static void early_ranks(struct ordering *o)
{
    bool any_early = o->nodes[o->in].n_nets > 0;

    for (uint32_t i = 0; i < o->n; i++)
        any_early |= o->plan->boxes[o->nodes[i].box].flags & PLAN_EARLY;
    for (uint32_t i = 0; i < o->n; i++) {
        struct order_node *node = &o->nodes[i];
        bool early = o->plan->boxes[node->box].flags & PLAN_EARLY;

        node->rank = 0;
        node->is_free = !early && (any_early || i > 0);
        for (uint32_t k = 0; k < node->n_ends; k++) {
            const struct plan_end *end = &o->plan->ends[o->entries[node->ends + k]];
            uint32_t from = source_node(o, &o->plan->nets[end->net]);

            if (leads_back(o, from, i))
                continue;
            if (from == o->in || !o->nodes[from].is_free)
                node->is_free = false;
            if (from != o->in && o->nodes[from].rank >= node->rank)
                node->rank = o->nodes[from].rank + 1;
        }
        if (node->rank >= o->rows)
            o->rows = node->rank + 1;
    }
    o->nodes[o->in].rank = -1;
    o->nodes[o->out].rank = o->rows;
}

/* What reads a node, without lines that lead back. */
struct order_readers {
    int32_t first_rank;
    int64_t height;
};
static struct order_readers look_down(const struct ordering *o, uint32_t from)
{
    const struct order_node *node = &o->nodes[from];
    struct order_readers ret = {INT32_MAX, 0};

    for (uint32_t k = 0; k < node->n_nets; k++) {
        const struct plan_net *net = &o->plan->nets[o->exits[node->nets + k]];

        for (uint32_t e = 0; e < net->n_ends; e++) {
            const struct plan_end *end = &o->plan->ends[net->ends + e];
            uint32_t to = target_node(o, end);
            int64_t height = o->nodes[to].height;

            if (leads_back(o, from, to))
                continue;
            if (to == o->out)
                height = end->slot == 0 ? ORDER_LEAVES_MAIN : ORDER_LEAVES;
            if (height + 1 > ret.height)
                ret.height = height + 1;
            if (o->nodes[to].rank < ret.first_rank)
                ret.first_rank = o->nodes[to].rank;
        }
    }
    return ret;
}

void order_ranks(struct ordering *o)
{
    early_ranks(o);
    for (uint32_t i = o->n; i-- > 0;) {
        struct order_node *node = &o->nodes[i];
        struct order_readers readers = look_down(o, i);

        node->height = readers.height;
        if (node->is_free && readers.first_rank != INT32_MAX)
            node->rank = readers.first_rank - 1;
    }
    for (uint32_t i = 0; i < o->n; i++)
        o->nodes[i].last = o->nodes[i].rank;
    o->nodes[o->in].last = -1;
    o->nodes[o->out].last = o->rows;
}
