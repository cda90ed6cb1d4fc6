/* place_labels.c - labels beside lines. A label is right of the vertical piece at its
 * box. If several lines meet the box, the label of the leftmost line is left of it and
 * the others are stacked right of the rightmost line, so no line crosses a label. */
#include "layout/place_in.h"

/* Below the source. Coordinates are from the axis at the box's lower edge. */
static void label_exit(const struct plan_style *style, struct place_mark *mark,
                       struct plan_net *net)
{
    int32_t pad = place_pad(style, net->label_height), used = pad + net->label_height;

    if (mark->n_exits > 1 && net->slot == mark->exit_low) {
        net->label_x =
            mark->exit_low * style->slot - style->label_space - net->label_width;
        net->label_y = pad;
    } else {
        int32_t begin = mark->exit_labels > pad ? mark->exit_labels : pad;

        net->label_x = mark->exit_high * style->slot + style->label_space;
        net->label_y = begin;
        used = begin + net->label_height;
    }
    if (used > mark->exit_labels)
        mark->exit_labels = used;
    place_widen(&mark->exit, -net->label_x, (int64_t)net->label_x + net->label_width);
    place_widen(&mark->all, mark->exit.left, mark->exit.right);
}

/* The height by which labels at the sides of a box exceed it. */
static int32_t above_box(const struct place_mark *mark, const struct plan_box *box)
{
    int32_t stack = mark->side_labels[mark->side_labels[1] > mark->side_labels[0]];

    return stack - box->h / 2;
}

/* Above the target, and above labels at its sides; from the axis at its upper edge. */
static void label_entry(const struct plan_style *style, struct place_mark *mark,
                        struct plan_end *end, int32_t least)
{
    int32_t pad = place_pad(style, end->label_height);
    int32_t begin = pad > least ? pad : least;

    if (mark->n_entries > 1 && end->slot == mark->entry_low) {
        end->label_x =
            mark->entry_low * style->slot - style->label_space - end->label_width;
    } else {
        end->label_x = mark->entry_high * style->slot + style->label_space;
        if (mark->entry_labels > begin)
            begin = mark->entry_labels;
    }
    end->label_y = -(begin + end->label_height);
    if (begin + end->label_height > mark->entry_labels)
        mark->entry_labels = begin + end->label_height;
    place_widen(&mark->entry, -end->label_x, (int64_t)end->label_x + end->label_width);
    place_widen(&mark->all, mark->entry.left, mark->entry.right);
}

/* Above the lines at one side; from the axis at the middle of the box. */
static void label_side(const struct plan_style *style, struct place_mark *mark,
                       const struct plan_box *box, struct plan_end *end, bool right)
{
    int32_t begin = mark->side_reach * style->side + style->label_space / 3;
    int32_t *stack = &mark->side_labels[right];

    if (*stack < begin)
        *stack = begin;
    *stack += end->label_height;
    end->label_y = -*stack;
    end->label_x = right ? box->w - box->axis + style->label_space
                         : -box->axis - style->label_space - end->label_width;
    place_widen(&mark->all, (int64_t)style->label_space - end->label_x,
                (int64_t)end->label_x + end->label_width + style->label_space);
}

static bool from_right(const struct plan *plan, const struct plan_end *end)
{
    const struct plan_net *net = &plan->nets[end->net];

    return end->way == PLAN_LANE_SIDE ||
           plan->boxes[net->source].column > plan->boxes[end->target].column;
}

/* Labels of one net. Those at sides come first: the others lie above them. */
static void label_net(struct placing *p, struct place_grid *grid, struct plan_net *net,
                      bool sides)
{
    uint32_t group = grid->group->box;
    struct plan *plan = p->plan;

    if (!sides && net->label_width > 0)
        label_exit(p->style, net->source == group ? &grid->in : &p->marks[net->source],
                   net);
    for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++) {
        struct plan_end *end = &plan->ends[e];
        const struct plan_box *box = &plan->boxes[end->target];
        bool at_side = end->way == PLAN_ALONG_SIDE || end->way == PLAN_LANE_SIDE;
        bool border = end->target == group;
        struct place_mark *mark = border ? &grid->out : &p->marks[end->target];

        if (end->label_width == 0 || at_side != sides)
            continue;
        if (at_side)
            label_side(p->style, mark, box, end, from_right(plan, end));
        else
            label_entry(p->style, mark, end, border ? 0 : above_box(mark, box));
    }
}

void place_labels(struct placing *p, struct place_grid *grid)
{
    const struct plan_group *group = grid->group;

    for (int pass = 0; pass < 2; pass++)
        for (uint32_t k = group->nets; k < group->nets + group->n_nets; k++)
            label_net(p, grid, &p->plan->nets[k], pass == 0);
}
