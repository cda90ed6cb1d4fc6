/* Chooses the groups of a diff that are open at first: those with changes inside, from
 * the outside inwards, small ones first, as long as not too many boxes show; then added
 * groups, then removed ones. Unchanged groups stay closed. Only the first block of a
 * repeat opens: the others have the same changes, and show how many. */
#include <stdlib.h>

#include "graph/parts_in.h"

struct changed_group {
    uint32_t cost, box;
};

struct changed_groups {
    struct diagram *diagram;
    uint32_t *inside; /* by box: number of direct children */
    uint32_t shown;
    struct changed_group *list;
};

static int by_cost(const void *a, const void *b)
{
    const struct changed_group *x = a, *y = b;

    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->box < y->box ? -1 : x->box > y->box;
}

static bool wants_open(const struct diagram *diagram, uint32_t box, uint8_t change)
{
    const struct diagram_box *of = &diagram->boxes[box];
    uint32_t up = diagram->plan.boxes[box].parent;

    if (diagram->plan.boxes[box].end == box + 1)
        return false;
    if (diagram->boxes[up].kind == DIAGRAM_REPEAT && box != up + 1)
        return false;
    if (change == DIAGRAM_CHANGED)
        return of->change == change && of->n_changes > 0;
    return of->change == change && of->kind != DIAGRAM_VIEW;
}

/* List closed groups inside open ones that should open. */
static uint32_t list_groups(struct changed_groups *g, uint8_t change)
{
    const struct plan *plan = &g->diagram->plan;
    uint32_t n = 0;

    for (uint32_t i = 1; i < plan->n_boxes; i++) {
        if (plan->boxes[i].flags & PLAN_OPEN)
            continue;
        if (wants_open(g->diagram, i, change))
            g->list[n++] = (struct changed_group){g->inside[i], i};
        i = plan->boxes[i].end - 1;
    }
    qsort(g->list, n, sizeof *g->list, by_cost);
    return n;
}

static void open_groups(struct changed_groups *g, uint8_t change)
{
    bool some = true;

    while (some) {
        uint32_t n = list_groups(g, change);

        some = false;
        for (uint32_t i = 0; i < n; i++) {
            if (g->shown + g->list[i].cost - 1 > GRAPH_BOXES)
                break;
            g->diagram->plan.boxes[g->list[i].box].flags |= PLAN_OPEN;
            g->shown += g->list[i].cost - 1;
            some = true;
        }
    }
}

int opening_changes(struct diagram *diagram, struct arena *scratch)
{
    const struct plan *plan = &diagram->plan;
    size_t n = (size_t)plan->n_boxes + 1;
    struct changed_groups g = {.diagram = diagram,
                               .inside = arena_array(scratch, n, sizeof(uint32_t)),
                               .list = arena_array(scratch, n, sizeof *g.list)};

    if (!g.inside || !g.list)
        return -1;
    for (uint32_t i = 1; i < plan->n_boxes; i++) {
        g.inside[plan->boxes[i].parent]++;
        if (plan->boxes[plan->boxes[i].parent].flags & PLAN_OPEN)
            g.shown += !(plan->boxes[i].flags & PLAN_OPEN);
    }
    open_groups(&g, DIAGRAM_CHANGED);
    open_groups(&g, DIAGRAM_ADDED);
    open_groups(&g, DIAGRAM_REMOVED);
    return 0;
}
