/* order_extend.c - lets a box that is alone in its chain extend over rows that nothing
 * else needs in its column: an open group beside a long chain then does not push the
 * chain apart. */
#include "layout/order_in.h"

#define ROWS_MAX   64 /* rows over which a box may extend: placing stays linear */
#define LOOKS_EACH 64 /* lines examined per box of the group: for the same reason */

/* Lines that run through a row into the side of a box: one list per row. */
struct order_side_line {
    struct order_cover cover;
    uint32_t next;
};
struct order_side_lines {
    uint32_t *first; /* per row, in `lines`; PLAN_NONE */
    struct order_side_line *lines;
    uint32_t n;
};

static void add_side_line(const struct ordering *o, struct order_side_lines *sides,
                          const struct plan_end *end)
{
    const struct plan_net *net = &o->plan->nets[end->net];
    const struct order_node *target = &o->nodes[target_node(o, end)];
    int32_t a = target->column, b = INT32_MAX;

    if (end->way == PLAN_ALONG_SIDE)
        b = o->nodes[source_node(o, net)].column;
    else if (end->way != PLAN_LANE_SIDE)
        return;
    sides->lines[sides->n] = (struct order_side_line){{a < b ? a : b, a < b ? b : a},
                                                      sides->first[target->rank]};
    sides->first[target->rank] = sides->n++;
}

static int find_side_lines(struct ordering *o, struct order_side_lines *sides)
{
    const struct plan_group *group = o->group;
    size_t room = 0;

    for (uint32_t k = group->nets; k < group->nets + group->n_nets; k++)
        room += o->plan->nets[k].n_ends;
    sides->first = order_array(o, (size_t)o->rows, sizeof(*sides->first));
    sides->lines = order_array(o, room, sizeof(*sides->lines));
    if (!sides->first || !sides->lines)
        return -1;
    for (int32_t r = 0; r < o->rows; r++)
        sides->first[r] = PLAN_NONE;
    for (uint32_t k = group->nets; k < group->nets + group->n_nets; k++) {
        const struct plan_net *net = &o->plan->nets[k];

        for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++)
            add_side_line(o, sides, &o->plan->ends[e]);
    }
    return 0;
}

/* The last row before one of its lines turns, or its own if it may not extend. */
static int32_t last_wanted(const struct ordering *o, const struct order_node *node)
{
    bool alone = (node->prev == PLAN_NONE || node->prev == o->in) &&
                 (node->next == PLAN_NONE || node->next == o->out);
    int32_t last = node->rank + ROWS_MAX;
    const struct plan_net *net;

    if (!alone || node->sides || node->n_nets != 1 ||
        o->plan->boxes[node->box].flags & PLAN_EARLY)
        return node->rank;
    net = &o->plan->nets[o->exits[node->nets]];
    if (net->track != PLAN_NONE || net->n_ends == 0)
        return node->rank;
    for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++) {
        int32_t row = o->nodes[target_node(o, &o->plan->ends[e])].rank;

        last = row - 1 < last ? row - 1 : last;
    }
    return last;
}

/* Is the column free of horizontal lines from one row to the next? */
static bool may_pass(const struct ordering *o, const struct order_side_lines *sides,
                     int32_t column, int32_t row, int64_t *looks)
{
    for (uint32_t k = o->cover_at[row]; k < o->cover_at[row + 1]; k++)
        if (--*looks < 0 || (o->covers[k].low <= column && o->covers[k].high >= column))
            return false;
    for (uint32_t k = sides->first[row]; k != PLAN_NONE; k = sides->lines[k].next)
        if (--*looks < 0 || (sides->lines[k].cover.low <= column &&
                             sides->lines[k].cover.high >= column))
            return false;
    return true;
}

int order_extend(struct ordering *o)
{
    int64_t looks = (int64_t)o->n * LOOKS_EACH;
    struct order_side_lines sides = {0};

    if (find_side_lines(o, &sides) < 0)
        return -1;
    for (uint32_t i = 0; i < o->n; i++) {
        struct order_node *node = &o->nodes[i];
        int32_t last = last_wanted(o, node);

        while (node->last < last &&
               may_pass(o, &sides, node->column, node->last + 1, &looks))
            node->last++;
    }
    return 0;
}
