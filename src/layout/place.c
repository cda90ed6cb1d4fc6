/* place.c - plan_place(): sizes from the innermost open group outwards, then places from
 * the root inwards, then lines. */
#include "layout/place_in.h"

#define LARGEST (1 << 30) /* of a picture, so that coordinates fit into 32 bits */

const struct plan_style plan_pixels = {
    .channel = 14,
    .label_gap = 32,
    .label_space = 6,
    .track_first = 14,
    .track = 12,
    .track_last = 25,
    .column = 36,
    .lane_first = 24,
    .lane = 16,
    .slot = 6,
    .side = 6,
    .corner = 5,
    .frame_top = 42,
    .frame_left = 16,
    .frame_right = 16,
    .frame_bottom = 16,
    .margin = 24,
    .round_to = 4,
};

void *place_array(struct placing *p, size_t n, size_t item)
{
    return arena_array(p->scratch, n > 0 ? n : 1, item);
}

/* A box is shown if all groups around it are open. Other boxes have no size. */
static void find_shown(struct placing *p)
{
    struct plan_box *boxes = p->plan->boxes;

    boxes[0].w = 1;
    for (uint32_t i = 1; i < p->plan->n_boxes; i++) {
        uint32_t parent = boxes[i].parent;

        boxes[i].w = boxes[parent].w > 0 && place_open(p->plan, parent);
        boxes[i].h = boxes[i].x = boxes[i].y = boxes[i].axis = 0;
    }
}

static bool is_shown(const struct plan *plan, const struct plan_group *group)
{
    return plan->boxes[group->box].w > 0 && place_open(plan, group->box);
}

/* Find the slots that lines use at each shown box. */
static void mark_lines(struct placing *p, const struct plan_group *group)
{
    const struct plan *plan = p->plan;

    for (uint32_t k = group->nets; k < group->nets + group->n_nets; k++) {
        const struct plan_net *net = &plan->nets[k];

        if (net->source != group->box)
            place_exit(&p->marks[net->source], net->slot);
        for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++) {
            const struct plan_end *end = &plan->ends[e];
            struct place_mark *mark = &p->marks[end->target];
            int32_t reach = end->slot < 0 ? -end->slot : end->slot;

            if (end->target == group->box)
                continue;
            if (end->way != PLAN_ALONG_SIDE && end->way != PLAN_LANE_SIDE)
                place_entry(mark, end->slot);
            else if (reach > mark->side_reach)
                mark->side_reach = reach;
        }
    }
}

/* Convert positions inside the parent to positions in the picture. */
static void move_boxes(struct plan *plan)
{
    for (uint32_t i = 1; i < plan->n_boxes; i++) {
        struct plan_box *box = &plan->boxes[i];

        if (box->w == 0)
            continue;
        box->x += plan->boxes[box->parent].x;
        box->y += plan->boxes[box->parent].y;
    }
}

static int place_all(struct placing *p, struct arena *arena, struct err *err)
{
    struct plan *plan = p->plan;

    find_shown(p);
    for (uint32_t g = 0; g < plan->n_groups; g++)
        if (is_shown(plan, &plan->groups[g]))
            mark_lines(p, &plan->groups[g]);
    for (uint32_t g = plan->n_groups; g-- > 0;) {
        if (!is_shown(plan, &plan->groups[g]))
            continue;
        if (place_group(p, &plan->groups[g]) < 0)
            return arena_err(p->scratch, "the layout of the graph", err);
        if (p->largest > LARGEST)
            return err_set(err, ERR_LIMIT,
                           "the picture would be wider or higher than %d; close some "
                           "groups",
                           LARGEST);
    }
    plan->width = plan->boxes[0].w;
    plan->height = plan->boxes[0].h;
    move_boxes(plan);
    if (place_lines(p, arena) < 0)
        return arena_err(arena, "the layout of the graph", err);
    return 0;
}

int plan_place(struct plan *plan, const struct plan_style *style, struct arena *arena,
               struct err *err)
{
    struct arena scratch;
    struct placing p = {.plan = plan, .style = style, .scratch = &scratch};
    uint32_t last = plan->n_groups - 1;
    size_t channels = plan->groups[last].channels + (size_t)plan->groups[last].rows + 1;
    int ret = -1;

    arena_init(&scratch, arena->limit);
    p.marks = place_array(&p, plan->n_boxes, sizeof(*p.marks));
    p.track_y = place_array(&p, channels, sizeof(*p.track_y));
    p.lane_x = place_array(&p, plan->n_nets, sizeof(*p.lane_x));
    if (p.marks && p.track_y && p.lane_x)
        ret = place_all(&p, arena, err);
    else
        arena_err(&scratch, "the layout of the graph", err);
    arena_release(&scratch);
    return ret;
}
