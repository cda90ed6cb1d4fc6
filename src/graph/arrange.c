#include "graph/arrange.h"

#include "base/base.h"
#include "base/map.h"
#include "graph/parts_in.h"

#define LARGEST 100000 /* of a box: sums stay small */
#define GAP     18

/* Part 0 is the root: box i of the caller is part i + 1. */
static int check(const struct arrangement *a, struct err *err)
{
    for (uint32_t i = 0; i < a->n_boxes; i++) {
        const struct arrange_box *box = &a->boxes[i];

        if (box->parent != PLAN_NONE && box->parent >= i)
            return err_set(err, ERR_USAGE, "box %u: its parent must come before it", i);
        if (box->width < 1 || box->width > LARGEST || box->height < 1 ||
            box->height > LARGEST)
            return err_set(err, ERR_USAGE, "box %u: sizes are 1 to %d", i, LARGEST);
    }
    for (uint32_t i = 0; i < a->n_edges; i++)
        if (a->edges[i].source >= a->n_boxes || a->edges[i].target >= a->n_boxes ||
            a->edges[i].source == a->edges[i].target)
            return err_set(err, ERR_USAGE, "edge %u: it must join two boxes", i);
    return 0;
}

static int enter(struct parts *parts, const struct arrangement *a)
{
    if (parts_add(parts, DIAGRAM_MODULE, PART_NONE) != PART_ROOT)
        return -1;
    for (uint32_t i = 0; i < a->n_boxes; i++) {
        uint32_t up = a->boxes[i].parent;

        if (parts_add(parts, DIAGRAM_OP, up == PLAN_NONE ? PART_ROOT : up + 1) ==
                PART_NONE ||
            parts_value(parts, (struct part_value){.shape = STR("")}) == PART_NONE)
            return -1;
    }
    for (uint32_t i = 0; i < a->n_edges; i++) /* one value per box: edges share a
                                                 trunk */
        if (parts_link(parts, a->edges[i].source + 1, a->edges[i].target + 1,
                       a->edges[i].source) < 0)
            return -1;
    tree_link(parts);
    return tree_number(parts);
}

static int check_ends(const struct arrangement *a, const struct parts *parts,
                      struct err *err)
{
    for (uint32_t i = 0; i < a->n_edges; i++)
        if (parts->at[a->edges[i].source + 1].n_inside > 0 ||
            parts->at[a->edges[i].target + 1].n_inside > 0)
            return err_set(err, ERR_USAGE, "edge %u: it ends at a group", i);
    return 0;
}

static void fill_sizes(struct plan *plan, const struct arrangement *a,
                       const struct parts *parts)
{
    plan->boxes[0].flags = PLAN_OPEN;
    for (uint32_t i = 0; i < a->n_boxes; i++) {
        struct plan_box *box = &plan->boxes[parts->box_of[i + 1]];

        box->width = box->least_width = a->boxes[i].width;
        box->height = box->least_height = a->boxes[i].height;
        box->gap = GAP;
        box->flags = parts->at[i + 1].n_inside > 0 ? PLAN_OPEN : 0;
    }
}

static uint64_t key_of(uint32_t source, uint32_t target)
{
    return (uint64_t)source << 32 | target;
}

/* Find the line of every edge; edges between the same boxes share one. */
static int find_lines(struct arrangement *a, const struct parts *parts,
                      const struct plan *plan, struct arena *arena, struct err *err)
{
    struct plan_route *routes =
        arena_array(parts->scratch, (size_t)plan->n_ends + 1, sizeof *routes);
    struct map found;
    uint32_t end;

    map_init(&found, parts->scratch);
    if (!routes)
        return arena_err(parts->scratch, "the arrangement", err);
    for (uint32_t e = 0; e < plan->n_ends; e++) {
        if (!plan_arrives(plan, e))
            continue;
        if (plan_route(plan, e, arena, &routes[e], err) < 0)
            return -1;
        if (map_put(&found, key_of(routes[e].from, routes[e].to), e) < 0)
            return arena_err(parts->scratch, "the arrangement", err);
    }
    for (uint32_t i = 0; i < a->n_edges; i++) {
        struct arrange_edge *edge = &a->edges[i];

        if (!map_find(&found,
                      key_of(parts->box_of[edge->source + 1],
                             parts->box_of[edge->target + 1]),
                      &end))
            continue;
        edge->points = routes[end].points;
        edge->n_points = routes[end].n;
    }
    return 0;
}

static void take_places(struct arrangement *a, const struct parts *parts,
                        const struct plan *plan)
{
    for (uint32_t i = 0; i < a->n_boxes; i++) {
        const struct plan_box *box = &plan->boxes[parts->box_of[i + 1]];

        a->boxes[i].x = box->x;
        a->boxes[i].y = box->y;
        a->boxes[i].w = box->w;
        a->boxes[i].h = box->h;
    }
    a->width = plan->width;
    a->height = plan->height;
}

static int make(struct arrangement *a, struct parts *parts, struct arena *arena,
                struct err *err)
{
    struct diagram diagram = {0};
    struct plan *plan = &diagram.plan;

    if (enter(parts, a) < 0)
        return arena_err(parts->scratch, "the arrangement", err);
    if (check_ends(a, parts, err) < 0)
        return -1;
    if (diagram_boxes(&diagram, parts) < 0 || nets_make(&diagram, parts) < 0)
        return arena_err(arena->spent ? arena : parts->scratch, "the arrangement", err);
    fill_sizes(plan, a, parts);
    for (uint32_t n = 0; n < plan->n_nets; n++)
        plan->nets[n].label_width = plan->nets[n].label_height = 0;
    if (plan_order(plan, arena, err) < 0 ||
        plan_place(plan, &plan_pixels, arena, err) < 0 ||
        find_lines(a, parts, plan, arena, err) < 0)
        return -1;
    take_places(a, parts, plan);
    return 0;
}

int arrange(struct arrangement *arrangement, struct arena *arena, struct err *err)
{
    struct arena scratch;
    struct parts parts;
    int status;

    if (check(arrangement, err) < 0)
        return -1;
    arena_init(&scratch, 0);
    parts_init(&parts, arena, &scratch);
    status = make(arrangement, &parts, arena, err);
    arena_release(&scratch);
    return status;
}
