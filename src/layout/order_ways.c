/* order_ways.c - chooses how each line runs, and which nets need a lane. */
#include <stdlib.h>

#include "layout/order_in.h"

/* The nodes of every row, by column. */
static int by_column(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static int index_rows(struct ordering *o)
{
    size_t rows = (size_t)o->rows;
    uint32_t *at = order_array(o, rows + 2, sizeof(*at));
    int64_t *keys = order_array(o, o->n, sizeof(*keys));

    o->row_at = at;
    o->row_columns = order_array(o, o->n, sizeof(*o->row_columns));
    o->gaps = order_array(o, (size_t)o->n + rows + 1, sizeof(*o->gaps));
    if (!at || !keys || !o->row_columns || !o->gaps)
        return -1;
    for (uint32_t i = 0; i < o->n; i++)
        at[o->nodes[i].rank + 1]++;
    for (size_t r = 0; r < rows; r++)
        at[r + 1] += at[r];
    for (uint32_t i = 0; i < o->n; i++)
        keys[i] = (int64_t)o->nodes[i].rank * ((int64_t)1 << 32) + o->nodes[i].column;
    qsort(keys, o->n, sizeof(*keys), by_column);
    for (uint32_t i = 0; i < o->n; i++) /* the low half, with its sign */
        o->row_columns[i] = (int32_t)(uint32_t)((uint64_t)keys[i] & UINT32_MAX);
    return 0;
}

/* The number of boxes of a row in columns up to `column`. */
static uint32_t boxes_up_to(const struct ordering *o, int32_t row, int32_t column)
{
    uint32_t low = o->row_at[row], high = o->row_at[row + 1];

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (o->row_columns[middle] <= column)
            low = middle + 1;
        else
            high = middle;
    }
    return low - o->row_at[row];
}

/* No box between two columns of a row, both excluded? */
static bool row_clear(const struct ordering *o, int32_t row, int32_t a, int32_t b)
{
    int32_t low = a < b ? a : b, high = a < b ? b : a;

    return boxes_up_to(o, row, high - 1) == boxes_up_to(o, row, low);
}

/* Lines into the sides of two neighbours in a row come out of the same gap: those to
 * the left one must begin left of those to the right one, or they would overlap.
 * Records the line and returns true if that holds. */
static bool may_enter_side(struct ordering *o, const struct order_node *source,
                           const struct order_node *target)
{
    uint32_t row = (uint32_t)target->rank;
    struct order_gap *gap =
        &o->gaps[o->row_at[row] + row + boxes_up_to(o, target->rank, source->column)];

    if (!row_clear(o, target->rank, source->column, target->column))
        return false;
    if (target->column < source->column) {
        if (gap->to_right > 0 && source->column >= gap->first_to_right)
            return false;
        if (gap->to_left++ == 0 || source->column > gap->last_to_left)
            gap->last_to_left = source->column;
    } else {
        if (gap->to_left > 0 && source->column <= gap->last_to_left)
            return false;
        if (gap->to_right++ == 0 || source->column < gap->first_to_right)
            gap->first_to_right = source->column;
    }
    return true;
}

/* A line beside the axis between the border and the first or last box of the main column
 * keeps its slot: it needs no turn. Slots of the border are free at that box. */
static bool keeps_slot(const struct ordering *o, uint32_t from, uint32_t end)
{
    const struct plan_net *net = &o->plan->nets[o->plan->ends[end].net];
    uint32_t to = target_node(o, &o->plan->ends[end]);

    if (from == o->in)
        return to != o->out && net->slot != 0 && o->nodes[to].column == 0 &&
               o->nodes[to].rank == 0 && !o->nodes[to].sides;
    return to == o->out && o->plan->ends[end].slot != 0 && o->nodes[from].column == 0 &&
           o->nodes[from].rank == o->rows - 1 && !o->nodes[from].sides &&
           o->plan->ends[end].net != o->nodes[from].straight;
}

static enum plan_way way_of(struct ordering *o, uint32_t from, uint32_t end)
{
    const struct order_node *source = &o->nodes[from];
    uint32_t to = target_node(o, &o->plan->ends[end]);
    const struct order_node *target = &o->nodes[to];
    bool down = target->rank > source->rank, axis;

    if (end == source->link || (end != target->over && keeps_slot(o, from, end)))
        return PLAN_DOWN;
    if (end == target->over)
        return PLAN_OVER;
    axis = down && o->plan->ends[end].net == source->straight;
    if (source->next != PLAN_NONE)
        axis &= target->rank <= o->nodes[source->next].rank;
    else
        axis &= source->chain != 0 || to != o->out;
    if (axis && target->sides && target->column != source->column &&
        (source->next == PLAN_NONE || target->rank < o->nodes[source->next].rank) &&
        may_enter_side(o, source, target))
        return PLAN_ALONG_SIDE;
    if (target->rank == source->rank + 1)
        return PLAN_OVER;
    if (axis)
        return PLAN_ALONG;
    if (target->sides && row_clear(o, target->rank, target->column, INT32_MAX))
        return PLAN_LANE_SIDE;
    return PLAN_LANE;
}

/* The range of channels of the net's lane. */
static bool lane_range(const struct ordering *o, struct plan_net *net)
{
    uint32_t low = (uint32_t)(o->nodes[source_node(o, net)].rank + 1), high = low;
    bool any = false;

    for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++) {
        const struct plan_end *end = &o->plan->ends[e];
        uint32_t row = (uint32_t)o->nodes[target_node(o, end)].rank;

        if (end->way != PLAN_LANE && end->way != PLAN_LANE_SIDE)
            continue;
        any = true;
        low = row < low ? row : low;
        high = row > high ? row : high;
    }
    net->first_row = low;
    net->last_row = high;
    return any;
}

/* Short lanes first: they are the inner ones. */
struct order_lane {
    uint32_t length, first, net;
};
static int by_length(const void *a, const void *b)
{
    const struct order_lane *x = a, *y = b;

    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->net < y->net ? -1 : x->net > y->net;
}

static int number_lanes(struct ordering *o)
{
    struct plan_group *group = o->group;
    struct order_lane *lanes = order_array(o, group->n_nets, sizeof(*lanes));

    if (!lanes)
        return -1;
    group->n_lanes = 0;
    for (uint32_t k = group->nets; k < group->nets + group->n_nets; k++) {
        struct plan_net *net = &o->plan->nets[k];

        net->lane = PLAN_NONE;
        if (lane_range(o, net))
            lanes[group->n_lanes++] =
                (struct order_lane){net->last_row - net->first_row, net->first_row, k};
    }
    qsort(lanes, group->n_lanes, sizeof(*lanes), by_length);
    for (uint32_t i = 0; i < group->n_lanes; i++) {
        o->plan->lanes[group->lanes + i] = lanes[i].net;
        o->plan->nets[lanes[i].net].lane = i;
    }
    return 0;
}

int order_ways(struct ordering *o)
{
    const struct plan_group *group = o->group;

    if (index_rows(o) < 0)
        return -1;
    for (uint32_t k = group->nets; k < group->nets + group->n_nets; k++) {
        const struct plan_net *net = &o->plan->nets[k];
        uint32_t from = source_node(o, net);

        for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++)
            o->plan->ends[e].way = (uint8_t)way_of(o, from, e);
    }
    return number_lanes(o);
}
