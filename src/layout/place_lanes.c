/* place_lanes.c - where the lanes of a group run: right of everything in the rows that
 * they pass, and of shorter lanes beside them. */
#include "layout/place_in.h"

/* Numbers 0 .. size - 1 of which ranges are raised to a value; asks for the largest of a
 * range. Both take logarithmic time. */
struct place_tree {
    int64_t *least; /* a whole subtree is at least this */
    int64_t *most;  /* largest in the subtree, without `least` of those above */
    uint32_t size;
};

static int tree_init(struct placing *p, struct place_tree *tree, uint32_t n)
{
    tree->size = 1;
    while (tree->size < n)
        tree->size *= 2;
    tree->least = place_array(p, (size_t)tree->size * 2, sizeof(int64_t));
    tree->most = place_array(p, (size_t)tree->size * 2, sizeof(int64_t));
    return tree->least && tree->most ? 0 : -1;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void tree_refresh(struct place_tree *tree, uint32_t at)
{
    while ((at /= 2) > 0)
        tree->most[at] =
            larger(tree->least[at], larger(tree->most[2 * at], tree->most[2 * at + 1]));
}

static void raise_node(struct place_tree *tree, uint32_t at, int64_t value)
{
    tree->least[at] = larger(tree->least[at], value);
    tree->most[at] = larger(tree->most[at], value);
}

/* Raises the numbers from `from` to `to`, both included. */
static void tree_raise(struct place_tree *tree, uint32_t from, uint32_t to,
                       int64_t value)
{
    uint32_t low = from + tree->size, high = to + tree->size + 1;

    for (; low < high; low /= 2, high /= 2) {
        if (low & 1)
            raise_node(tree, low++, value);
        if (high & 1)
            raise_node(tree, --high, value);
    }
    tree_refresh(tree, from + tree->size);
    tree_refresh(tree, to + tree->size);
}

static int64_t tree_most(const struct place_tree *tree, uint32_t from, uint32_t to)
{
    uint32_t low = from + tree->size, high = to + tree->size + 1;
    int64_t most = 0;

    for (; low < high; low /= 2, high /= 2) {
        if (low & 1)
            most = larger(most, tree->most[low++]);
        if (high & 1)
            most = larger(most, tree->most[--high]);
    }
    for (low = from + tree->size; low > 0; low /= 2)
        most = larger(most, tree->least[low]);
    for (high = to + tree->size; high > 0; high /= 2)
        most = larger(most, tree->least[high]);
    return most;
}

/* Rows count from 1 here: 0 is the upper border, rows + 1 the lower one. */
static void raise_boxes(struct placing *p, const struct place_grid *grid,
                        struct place_tree *rows)
{
    const struct plan_box *boxes = p->plan->boxes;
    uint32_t box = grid->group->box;
    int64_t middle = grid->axis[-grid->group->first_column];

    tree_raise(rows, 0, 0, middle + grid->in.right);
    tree_raise(rows, grid->group->rows + 1, grid->group->rows + 1,
               middle + grid->out.right);
    for (uint32_t c = box + 1; c < boxes[box].end; c = boxes[c].end)
        tree_raise(rows, boxes[c].rank + 1, boxes[c].last + 1,
                   grid->axis[boxes[c].column - grid->group->first_column] +
                       p->marks[c].right);
}

/* A line that runs down a column beyond its boxes. */
static void raise_line(struct placing *p, const struct place_grid *grid,
                       struct place_tree *rows, const struct plan_end *end)
{
    const struct plan_net *net = &p->plan->nets[end->net];
    const struct plan_box *source = &p->plan->boxes[net->source];
    const struct plan_box *target = &p->plan->boxes[end->target];
    bool from_in = net->source == net->group, to_out = end->target == net->group;
    uint32_t from = from_in ? 1 : source->last + 2;
    uint32_t to = to_out ? grid->group->rows : target->rank;
    int32_t column = from_in ? 0 : source->column;

    if (end->way == PLAN_LANE || end->way == PLAN_LANE_SIDE)
        return;
    if (end->way == PLAN_OVER)
        column = to_out ? 0 : target->column;
    if (end->way == PLAN_ALONG_SIDE)
        to++;
    if (from <= to)
        tree_raise(rows, from, to, grid->axis[column - grid->group->first_column]);
}

int place_lanes(struct placing *p, struct place_grid *grid)
{
    const struct plan_group *group = grid->group;
    struct place_tree rows, lanes;

    grid->lanes = 0;
    if (group->n_lanes == 0)
        return 0;
    if (tree_init(p, &rows, group->rows + 2) < 0 ||
        tree_init(p, &lanes, group->rows + 1) < 0)
        return -1;
    raise_boxes(p, grid, &rows);
    for (uint32_t k = group->nets; k < group->nets + group->n_nets; k++) {
        const struct plan_net *net = &p->plan->nets[k];

        for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++)
            raise_line(p, grid, &rows, &p->plan->ends[e]);
    }
    for (uint32_t i = 0; i < group->n_lanes; i++) {
        uint32_t k = p->plan->lanes[group->lanes + i];
        const struct plan_net *net = &p->plan->nets[k];
        int64_t boxes = tree_most(&rows, net->first_row, net->last_row + 1);
        int64_t inner = tree_most(&lanes, net->first_row, net->last_row);
        int64_t x = boxes + p->style->lane_first;

        if (inner > 0)
            x = larger(x, inner + p->style->lane);
        tree_raise(&lanes, net->first_row, net->last_row, x);
        p->lane_x[k] = x;
        grid->lanes = larger(grid->lanes, x);
    }
    return 0;
}
