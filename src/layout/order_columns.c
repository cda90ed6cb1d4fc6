/* order_columns.c - assigns columns to chains. A chain owns the axis of its column from
 * the point where the line that enters it turns into the column to the point where its
 * last line turns out of it. Side chains take the nearest free column: right of their
 * fork if they ran after the straight line, else left. */
#include <stdlib.h>

#include "layout/order_in.h"

/* Positions down a group, in half rows: 2 * r is the channel above row r, 2 * r + 1 the
 * row. */
struct order_stay {
    int32_t from, to;
    uint32_t first; /* node */
    uint32_t fork;  /* the node that it goes beside; PLAN_NONE */
    bool left;
};

/* How far down its axis the last box of a chain reaches. */
static int32_t stay_end(const struct ordering *o, uint32_t at)
{
    const struct order_node *node = &o->nodes[at];
    int32_t to = 2 * node->rank + 1;
    const struct plan_net *net;

    if (node->straight == PLAN_NONE)
        return to;
    net = &o->plan->nets[node->straight];
    for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++) {
        const struct order_node *target = &o->nodes[target_node(o, &o->plan->ends[e])];
        int32_t reach = 2 * (node->rank + 1);

        if (e != target->over && target->rank > node->rank) {
            if (target->sides)
                reach = 2 * target->rank + 1;
            else if (target->rank > node->rank + 1)
                reach = 2 * target->rank;
        }
        if (reach > to)
            to = reach;
    }
    return to;
}

/* The target node of a chain without an entering line: the reader of its last box. */
static uint32_t reader_of(const struct ordering *o, uint32_t last)
{
    const struct order_node *node = &o->nodes[last];

    for (uint32_t k = 0; k < node->n_nets; k++) {
        const struct plan_net *net = &o->plan->nets[o->exits[node->nets + k]];

        if (net->n_ends > 0)
            return target_node(o, &o->plan->ends[net->ends]);
    }
    return PLAN_NONE;
}

static struct order_stay measure(const struct ordering *o, uint32_t first)
{
    const struct order_node *node = &o->nodes[first];
    struct order_stay stay = {2 * node->rank + 1, 0, first, PLAN_NONE, false};
    uint32_t last = first;

    while (o->nodes[last].next != PLAN_NONE)
        last = o->nodes[last].next;
    stay.to = stay_end(o, last);
    if (node->over != PLAN_NONE) {
        const struct plan_end *end = &o->plan->ends[node->over];

        stay.fork = source_node(o, &o->plan->nets[end->net]);
        stay.from = 2 * (o->nodes[stay.fork].rank + 1);
        stay.left =
            o->nodes[stay.fork].next != PLAN_NONE && first < o->nodes[stay.fork].next;
    } else {
        stay.fork = reader_of(o, last);
        stay.left = stay.fork != PLAN_NONE;
    }
    return stay;
}

/* By start; nearest to their fork first: chains on the right in their order, those on
 * the left in reverse. */
static int by_start(const void *a, const void *b)
{
    const struct order_stay *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->left != y->left)
        return x->left ? 1 : -1;
    return (x->first < y->first) == x->left ? 1 : -1;
}

/* The columns of one side, from 1: a tree of minima over the position from which each
 * is free, which finds the nearest free one in logarithmic time. */
struct order_side {
    int32_t *free; /* 2 * size numbers, the leaves from `size` on */
    uint32_t size;
};

static int side_init(struct ordering *o, struct order_side *side, uint32_t n)
{
    side->size = 1;
    while (side->size < n + 2)
        side->size *= 2;
    side->free = order_array(o, (size_t)side->size * 2, sizeof(*side->free));
    if (!side->free)
        return -1;
    for (uint32_t i = 0; i < side->size * 2; i++)
        side->free[i] = INT32_MIN;
    return 0;
}

/* The first column from `least` on that is free at `from`. */
static uint32_t side_find(const struct order_side *side, uint32_t least, int32_t from)
{
    uint32_t at = least + side->size;

    while (side->free[at] >= from) {
        while (at & 1) /* up, while it is a right child */
            at /= 2;
        at++;
    }
    while (at < side->size)
        at = side->free[2 * at] < from ? 2 * at : 2 * at + 1;
    return at - side->size;
}

static void side_take(struct order_side *side, uint32_t column, int32_t to)
{
    uint32_t at = column + side->size;

    side->free[at] = to;
    while ((at /= 2) > 0) {
        int32_t a = side->free[2 * at], b = side->free[2 * at + 1];

        side->free[at] = a < b ? a : b;
    }
}

static void take_column(struct ordering *o, const struct order_stay *stay,
                        struct order_side *sides)
{
    int32_t fork = stay->fork == PLAN_NONE ? 0 : o->nodes[stay->fork].column;
    bool left = fork != 0 ? fork < 0 : stay->left;
    struct order_side *side = &sides[left];
    uint32_t column = side_find(side, (uint32_t)abs(fork) + 1, stay->from);

    side_take(side, column, stay->to);
    for (uint32_t at = stay->first; at != PLAN_NONE; at = o->nodes[at].next)
        o->nodes[at].column = left ? -(int32_t)column : (int32_t)column;
}

static void note_range(struct ordering *o)
{
    int32_t least = 0, most = 0;

    for (uint32_t i = 0; i < o->n; i++) {
        int32_t column = o->nodes[i].column;

        least = column < least ? column : least;
        most = column > most ? column : most;
    }
    o->group->first_column = least;
    o->group->n_columns = most - least + 1;
}

int order_columns(struct ordering *o)
{
    uint32_t n = o->n_chains - 1;
    struct order_stay *stays = order_array(o, n, sizeof(*stays));
    struct order_side sides[2];

    if (!stays || side_init(o, &sides[0], o->n_chains * 2) < 0 ||
        side_init(o, &sides[1], o->n_chains * 2) < 0)
        return -1;
    for (uint32_t c = 0; c < n; c++)
        stays[c] = measure(o, o->chain_first[c + 1]);
    qsort(stays, n, sizeof(*stays), by_start);
    for (uint32_t c = 0; c < n; c++)
        take_column(o, &stays[c], sides);
    note_range(o);
    return 0;
}
