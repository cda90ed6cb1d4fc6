/* place_lanes.c - the positions of a group's lanes: right of everything in the rows
 * that they pass, and of shorter lanes beside them. */
#include "layout/place_in.h"

/* Rows count from 1 here: 0 is the upper border, rows + 1 the lower one. */
static void raise_boxes(struct placing *p, const struct place_grid *grid,
                        struct place_tree *rows)
{
    const struct plan_box *boxes = p->plan->boxes;
    uint32_t box = grid->group->box;
    int64_t middle = grid->axis[-grid->group->first_column];

    place_tree_raise(rows, 0, 0, middle + grid->in.all.right);
    place_tree_raise(rows, grid->group->rows + 1, grid->group->rows + 1,
                     middle + grid->out.all.right);
    for (uint32_t c = box + 1; c < boxes[box].end; c = boxes[c].end)
        place_tree_raise(rows, boxes[c].rank + 1, boxes[c].last + 1,
                         grid->axis[boxes[c].column - grid->group->first_column] +
                             p->marks[c].all.right);
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
        place_tree_raise(rows, from, to,
                         grid->axis[column - grid->group->first_column]);
}

int place_lanes(struct placing *p, struct place_grid *grid)
{
    const struct plan_group *group = grid->group;
    struct place_tree rows, lanes;

    grid->lanes = 0;
    if (group->n_lanes == 0)
        return 0;
    if (place_tree_init(p, &rows, group->rows + 2) < 0 ||
        place_tree_init(p, &lanes, group->rows + 1) < 0)
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
        int64_t boxes = place_tree_most(&rows, net->first_row, net->last_row + 1);
        int64_t inner = place_tree_most(&lanes, net->first_row, net->last_row);
        int64_t x = boxes + p->style->lane_first;

        if (inner > 0)
            x = place_larger(x, inner + p->style->lane);
        place_tree_raise(&lanes, net->first_row, net->last_row, x);
        p->lane_x[k] = x;
        grid->lanes = place_larger(grid->lanes, x);
    }
    return 0;
}
