/* Chooses the groups that are open at first: from the outside inwards, small groups
 * first, as long as not too many boxes show. A group with the structure of an open
 * group, or of a class that is open elsewhere, stays closed: one Bottleneck explains
 * the others. The class of a container (Sequential) explains nothing, so it does not
 * count. Chains of views stay closed. Repeats open last, and only their first block. */
#include <stdlib.h>

#include "base/base.h"
#include "graph/parts_in.h"

struct candidate {
    uint32_t cost, box;
};

struct openings {
    uint32_t *inside;       /* by box: number of direct children */
    uint32_t shown;         /* number of boxes shown now */
    uint32_t most;          /* limit of boxes shown */
    struct candidate *list; /* private */
    struct map seen;        /* class -> the group where it was opened */
    struct map built;       /* structures of open groups */
    uint64_t *structure;    /* by box: hash of its classes and those inside; see
                               below */
};

static int by_cost(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->box < y->box ? -1 : x->box > y->box;
}

static bool is_group(const struct plan *plan, uint32_t box)
{
    return plan->boxes[box].end > box + 1;
}

/* May it open without a request? */
static bool may_open(const struct diagram *diagram, uint32_t box)
{
    return is_group(&diagram->plan, box) &&
           (diagram->boxes[box].kind == DIAGRAM_MODULE ||
            diagram->boxes[box].kind == DIAGRAM_CONTROL);
}

static bool is_open(const struct plan *plan, uint32_t box)
{
    return plan->boxes[box].flags & PLAN_OPEN;
}

static uint32_t *count_inside(const struct plan *plan, struct arena *scratch)
{
    uint32_t *n = arena_array(scratch, (size_t)plan->n_boxes + 1, sizeof *n);

    for (uint32_t i = 1; n && i < plan->n_boxes; i++)
        n[plan->boxes[i].parent]++;
    return n;
}

/* Open the root, and the frame of the drawn call. */
static void open_outside(struct plan *plan, uint32_t frame)
{
    plan->boxes[0].flags |= PLAN_OPEN;
    if (frame != PLAN_NONE && is_group(plan, frame))
        plan->boxes[frame].flags |= PLAN_OPEN;
}

static uint32_t count_shown(const struct plan *plan)
{
    uint32_t n = 0;

    for (uint32_t i = 1; i < plan->n_boxes; i++) {
        if (is_open(plan, i))
            continue;
        n++;
        i = plan->boxes[i].end - 1;
    }
    return n;
}

/* A map key for the class of a box. */
static uint64_t class_key(const struct diagram *diagram, uint32_t box)
{
    const struct diagram_box *of = &diagram->boxes[box];

    return of->n_words > 0 ? str_hash(diagram->words[of->words]) : hash_u64(box);
}

/* Is it a class that says nothing about its content? */
static bool is_container(const struct diagram *diagram, uint32_t box)
{
    static const char *const names[] = {"Sequential", "ModuleList", "ModuleDict"};
    const struct diagram_box *of = &diagram->boxes[box];

    if (of->flags & DIAGRAM_ALIKE)
        return true;
    for (size_t i = 0; of->n_words > 0 && i < COUNT_OF(names); i++)
        if (str_is(diagram->words[of->words], names[i]))
            return true;
    return false;
}

/* Is a similar one open? */
static bool is_known(const struct diagram *diagram, const struct openings *o,
                     uint32_t box)
{
    uint32_t group;

    if (map_find(&o->built, o->structure[box], &group))
        return true;
    return !is_container(diagram, box) &&
           map_find(&o->seen, class_key(diagram, box), &group) &&
           group != diagram->plan.boxes[box].parent;
}

static int open_box(struct diagram *diagram, struct openings *o, uint32_t box)
{
    diagram->plan.boxes[box].flags |= PLAN_OPEN;
    if (map_put(&o->built, o->structure[box], box) < 0)
        return -1;
    return map_put(&o->seen, class_key(diagram, box), diagram->plan.boxes[box].parent);
}

/* Hash the structure of each box: classes and operations, without arguments and shapes;
 * equal neighbours count once. A repeat has the structure of its first block; views do
 * not count. */
static uint64_t *find_structures(const struct diagram *diagram, struct arena *scratch)
{
    const struct plan *plan = &diagram->plan;
    size_t n = (size_t)plan->n_boxes + 1;
    uint64_t *structure = arena_array(scratch, n, sizeof *structure);
    uint64_t *newest = arena_array(scratch, n, sizeof *newest);

    for (uint32_t i = plan->n_boxes; structure && newest && i-- > 1;) {
        const struct diagram_box *box = &diagram->boxes[i];
        uint32_t up = plan->boxes[i].parent;

        if (box->kind == DIAGRAM_VIEW)
            continue;
        if (box->kind == DIAGRAM_REPEAT)
            structure[i] = structure[i + 1];
        else if (!(box->flags & DIAGRAM_ALIKE))
            structure[i] = hash_mix(structure[i], box->kind == DIAGRAM_MODULE
                                                      ? class_key(diagram, i)
                                                      : str_hash(box->name));
        if (newest[up] != structure[i])
            structure[up] = hash_mix(structure[up], structure[i]);
        newest[up] = structure[i];
    }
    return newest ? structure : NULL;
}

/* Open the closed groups inside open ones while they fit. Sets *ret_some if any
 * opened. */
static int open_depth(struct diagram *diagram, struct openings *o, bool *ret_some)
{
    struct plan *plan = &diagram->plan;
    uint32_t n = 0;

    *ret_some = false;
    for (uint32_t i = 1; i < plan->n_boxes; i++) {
        if (is_open(plan, i))
            continue;
        if (may_open(diagram, i))
            o->list[n++] = (struct candidate){.cost = o->inside[i], .box = i};
        i = plan->boxes[i].end - 1;
    }
    qsort(o->list, n, sizeof *o->list, by_cost);
    for (uint32_t i = 0; i < n; i++) {
        if (o->shown + o->list[i].cost - 1 > o->most)
            break;
        if (is_known(diagram, o, o->list[i].box))
            continue;
        if (open_box(diagram, o, o->list[i].box) < 0)
            return -1;
        o->shown += o->list[i].cost - 1;
        *ret_some = true;
    }
    return 0;
}

/* Open a repeat and its first block, if they fit and the class is not known. */
static int open_repeat(struct diagram *diagram, struct openings *o, bool *ret_some)
{
    struct plan *plan = &diagram->plan;

    *ret_some = false;
    for (uint32_t i = 1; i < plan->n_boxes; i++) {
        uint32_t cost;

        if (is_open(plan, i))
            continue;
        if (diagram->boxes[i].kind == DIAGRAM_REPEAT && may_open(diagram, i + 1) &&
            !is_known(diagram, o, i + 1)) {
            cost = o->inside[i] - 1 + o->inside[i + 1] - 1;
            if (o->shown + cost <= o->most) {
                plan->boxes[i].flags |= PLAN_OPEN;
                o->shown += cost;
                *ret_some = true;
                return open_box(diagram, o, i + 1);
            }
        }
        i = plan->boxes[i].end - 1;
    }
    return 0;
}

static int open_some(struct diagram *diagram, struct arena *scratch)
{
    struct plan *plan = &diagram->plan;
    struct openings o = {.inside = count_inside(plan, scratch),
                         .shown = count_shown(plan),
                         .most = diagram->wanted.boxes ? diagram->wanted.boxes
                                                       : GRAPH_BOXES};
    bool some = true;

    map_init(&o.seen, scratch);
    map_init(&o.built, scratch);
    o.structure = find_structures(diagram, scratch);
    o.list = arena_array(scratch, (size_t)plan->n_boxes + 1, sizeof *o.list);
    if (!o.inside || !o.list || !o.structure)
        return -1;
    while (some && o.shown < o.most) {
        if (open_depth(diagram, &o, &some) < 0)
            return -1;
        if (!some && open_repeat(diagram, &o, &some) < 0)
            return -1;
    }
    return 0;
}

/* Open groups down to a depth. The first block of a repeat counts as if it were
 * alone. */
static int open_to(struct diagram *diagram, uint32_t most, struct arena *scratch)
{
    struct plan *plan = &diagram->plan;
    uint32_t *depth = arena_array(scratch, (size_t)plan->n_boxes + 1, sizeof *depth);

    if (!depth)
        return -1;
    for (uint32_t i = 1; i < plan->n_boxes; i++) {
        uint32_t up = plan->boxes[i].parent;
        bool again = diagram->boxes[up].kind == DIAGRAM_REPEAT;

        depth[i] = depth[up] + (again ? 0 : 1);
        if (!is_group(plan, i) || !is_open(plan, up) || depth[i] > most)
            continue;
        if (diagram->boxes[i].kind == DIAGRAM_VIEW || (again && i != up + 1))
            continue;
        plan->boxes[i].flags |= PLAN_OPEN;
    }
    return 0;
}

int opening_choose(struct diagram *diagram, struct arena *scratch, uint32_t frame)
{
    int status;

    open_outside(&diagram->plan, frame);
    if (diagram->wanted.depth == GRAPH_AUTO && diagram->boxes[0].n_changes > 0)
        status = opening_changes(diagram, scratch);
    else if (diagram->wanted.depth == GRAPH_AUTO)
        status = open_some(diagram, scratch);
    else
        status = open_to(diagram, diagram->wanted.depth, scratch);
    diagram->n_shown = count_shown(&diagram->plan);
    return status;
}
