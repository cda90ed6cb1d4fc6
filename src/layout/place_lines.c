/* place_lines.c - the corners of every shown line, in the picture, and its labels. */
#include "layout/place_in.h"

struct placed_end {
    struct plan_point from, to; /* on the borders of source and target */
    int32_t middle;             /* of the target's side */
};

/* Adds a corner, unless it lies where the last one is. */
static void add(struct plan *plan, struct plan_end *end, int64_t x, int64_t y)
{
    struct plan_point point = {(int32_t)x, (int32_t)y};

    if (end->n_points > 0) {
        const struct plan_point *last = &plan->points[plan->n_points - 1];

        if (last->x == point.x && last->y == point.y)
            return;
    }
    plan->points[plan->n_points++] = point;
    end->n_points++;
}

static int64_t track_y(const struct placing *p, const struct plan_group *group,
                       uint32_t channel, uint32_t track)
{
    return p->plan->boxes[group->box].y + p->track_y[group->channels + channel] +
           (int64_t)track * p->style->track;
}

/* Where the line leaves and enters. */
static struct placed_end find_borders(const struct placing *p,
                                      const struct plan_net *net,
                                      const struct plan_end *end)
{
    const struct plan_box *source = &p->plan->boxes[net->source];
    const struct plan_box *target = &p->plan->boxes[end->target];
    struct placed_end ret;

    ret.from.x = source->x + source->axis + net->slot * p->style->slot;
    ret.from.y = source->y + (net->source == net->group ? 0 : source->h);
    ret.to.x = target->x + target->axis + end->slot * p->style->slot;
    ret.to.y = target->y + (end->target == net->group ? target->h : 0);
    ret.middle = target->y + target->h / 2 + end->slot * p->style->side;
    return ret;
}

static void trace(struct placing *p, const struct plan_group *group,
                  const struct plan_net *net, struct plan_end *end)
{
    struct plan *plan = p->plan;
    const struct plan_box *target = &plan->boxes[end->target];
    struct placed_end at = find_borders(p, net, end);
    uint32_t below = net->source == net->group ? 0 : plan->boxes[net->source].last + 1;
    uint32_t above = end->target == net->group ? group->rows : target->rank;
    int64_t lane = plan->boxes[group->box].x + p->lane_x[net - plan->nets];
    int64_t exit = track_y(p, group, below, net->track);
    int64_t entry = track_y(p, group, above, end->track);

    end->points = plan->n_points;
    add(plan, end, at.from.x, at.from.y);
    switch ((enum plan_way)end->way) {
    case PLAN_DOWN:
        add(plan, end, at.to.x, at.to.y);
        return;
    case PLAN_OVER:
        entry = exit;
        break;
    case PLAN_ALONG:
        break;
    case PLAN_ALONG_SIDE:
        lane = at.from.x;
        break;
    case PLAN_LANE:
    case PLAN_LANE_SIDE:
        add(plan, end, at.from.x, exit);
        add(plan, end, lane, exit);
        break;
    }
    if (end->way == PLAN_LANE_SIDE || end->way == PLAN_ALONG_SIDE) {
        add(plan, end, lane, at.middle);
        add(plan, end, lane > target->x ? target->x + target->w : target->x, at.middle);
        return;
    }
    add(plan, end, end->way == PLAN_LANE ? lane : at.from.x, entry);
    add(plan, end, at.to.x, entry);
    add(plan, end, at.to.x, at.to.y);
}

/* Labels were placed relative to the axis of their boxes. */
static void move_labels(struct placing *p, const struct plan_group *group,
                        struct plan_net *net)
{
    const struct plan_box *source = &p->plan->boxes[net->source];

    if (net->label_width > 0) {
        bool inside = net->source == group->box;

        net->label_x += source->x + source->axis;
        net->label_y += source->y + (!inside           ? source->h
                                     : group->box == 0 ? p->style->margin
                                                       : p->style->frame_top);
    }
    for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++) {
        struct plan_end *end = &p->plan->ends[e];
        const struct plan_box *target = &p->plan->boxes[end->target];

        if (end->label_width == 0)
            continue;
        end->label_x += target->x + target->axis;
        end->label_y += target->y;
        if (end->way == PLAN_ALONG_SIDE || end->way == PLAN_LANE_SIDE)
            end->label_y += target->h / 2;
        else if (end->target == group->box)
            end->label_y += target->h;
    }
}

int place_lines(struct placing *p, struct arena *arena)
{
    struct plan *plan = p->plan;

    plan->n_points = 0;
    plan->points =
        arena_array(arena, (size_t)plan->n_ends * 6 + 1, sizeof(*plan->points));
    if (!plan->points)
        return -1;
    for (uint32_t e = 0; e < plan->n_ends; e++)
        plan->ends[e].points = plan->ends[e].n_points = 0;
    for (uint32_t g = 0; g < plan->n_groups; g++) {
        const struct plan_group *group = &plan->groups[g];

        if (plan->boxes[group->box].w == 0 || !place_open(plan, group->box))
            continue;
        for (uint32_t k = group->nets; k < group->nets + group->n_nets; k++) {
            struct plan_net *net = &plan->nets[k];

            for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++)
                trace(p, group, net, &plan->ends[e]);
            move_labels(p, group, net);
        }
    }
    return 0;
}
