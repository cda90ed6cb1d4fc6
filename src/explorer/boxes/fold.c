/* fold.c - the boxes of a drawing: groups are closed until not too many boxes show, and
 * nodes that feed only one another become one box. */
#include <stdlib.h>

#include "explorer/boxes/boxes_in.h"

struct boxes_folding {
    struct boxes_drawing *drawing;
    const struct boxes_graph *graph;
    bool *open;       /* by node: drawn with its content */
    uint32_t *at;     /* by node: itself, or the closed group around it */
    uint32_t *next;   /* by node: the one row below it in its box, or BOXES_NONE */
    uint32_t *before; /* the one above */
    uint32_t *n_in;   /* by node: lines that arrive and leave */
    uint32_t *n_out;
    uint32_t *inside;        /* by node: number of direct children */
    struct boxes_ends *ends; /* of nodes, then of boxes */
    uint32_t n_ends;
};

/* ---- what is open ---- */

static void count_inside(struct boxes_folding *f)
{
    for (uint32_t i = 1; i < f->graph->n_nodes; i++)
        f->inside[f->graph->nodes[i].parent]++;
}

/* Opens the groups of one depth, as far as they fit; false: there are none. */
static bool open_level(struct boxes_folding *f, const uint32_t *depth, uint32_t level,
                       uint32_t most, uint32_t *shown)
{
    bool any = false;

    for (uint32_t i = 1; i < f->graph->n_nodes; i++) {
        const struct boxes_node *node = &f->graph->nodes[i];

        if (depth[i] != level || !node->open || !f->open[node->parent] ||
            f->inside[i] == 0)
            continue;
        any = true;
        if (*shown + f->inside[i] - 1 > most)
            continue;
        f->open[i] = true;
        *shown += f->inside[i] - 1;
    }
    return any;
}

static int choose_open(struct boxes_folding *f, uint32_t most, struct arena *arena)
{
    uint32_t *depth = arena_array(arena, f->graph->n_nodes, sizeof *depth);
    uint32_t shown = f->inside[0], level = 1;

    if (!depth)
        return -1;
    for (uint32_t i = 1; i < f->graph->n_nodes; i++)
        depth[i] = depth[f->graph->nodes[i].parent] + 1;
    f->open[0] = true;
    while (open_level(f, depth, level, most, &shown))
        level++;
    for (uint32_t i = 0; i < f->graph->n_nodes; i++) {
        uint32_t up = i > 0 ? f->graph->nodes[i].parent : 0;

        f->at[i] = i > 0 && !f->open[f->at[up]] ? f->at[up] : i;
    }
    return 0;
}

/* ---- lines between what is shown ---- */

static int by_value(const void *a, const void *b)
{
    const struct boxes_ends *x = a, *y = b;

    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

/* Sorts the ends and drops those that occur twice. */
static void tidy_ends(struct boxes_folding *f)
{
    uint32_t n = 0;

    qsort(f->ends, f->n_ends, sizeof *f->ends, by_value);
    for (uint32_t i = 0; i < f->n_ends; i++)
        if (n == 0 || by_value(&f->ends[n - 1], &f->ends[i]) != 0)
            f->ends[n++] = f->ends[i];
    f->n_ends = n;
}

static void map_links(struct boxes_folding *f)
{
    const struct boxes_graph *graph = f->graph;

    for (uint32_t i = 0; i < graph->n_links; i++) {
        uint32_t value = graph->links[i].value;
        uint32_t source = f->at[graph->values[value].source];
        uint32_t target = f->at[graph->links[i].target];

        if (source != target)
            f->ends[f->n_ends++] = (struct boxes_ends){value, source, target};
    }
    tidy_ends(f);
    for (uint32_t i = 0; i < f->n_ends; i++) {
        f->n_out[f->ends[i].source]++;
        f->n_in[f->ends[i].target]++;
    }
}

/* ---- chains ---- */

static bool may_chain(const struct boxes_folding *f, uint32_t node)
{
    const struct boxes_node *of = &f->graph->nodes[node];

    return !f->open[node] && !(of->flags & DIAGRAM_SIGN) &&
           !diagram_is_tensor(of->kind);
}

/* Only a later node can follow, so a chain is never circular. */
static void find_chains(struct boxes_folding *f)
{
    for (uint32_t i = 0; i < f->graph->n_nodes; i++)
        f->next[i] = f->before[i] = BOXES_NONE;
    for (uint32_t i = 0; i < f->n_ends; i++) {
        uint32_t a = f->ends[i].source, b = f->ends[i].target;

        if (f->n_out[a] != 1 || f->n_in[b] != 1 || a >= b ||
            f->graph->nodes[a].parent != f->graph->nodes[b].parent ||
            !may_chain(f, a) || !may_chain(f, b))
            continue;
        f->next[a] = b;
        f->before[b] = a;
    }
}

static uint32_t chain_length(const struct boxes_folding *f, uint32_t head)
{
    uint32_t n = 0;

    for (; head != BOXES_NONE; head = f->next[head])
        n++;
    return n;
}

/* Is a group nothing but one chain? Then its frame is the chain's box. */
static bool is_chain(const struct boxes_folding *f, uint32_t group)
{
    uint32_t first = group + 1;

    return group > 0 && f->open[group] && f->inside[group] > 1 && may_chain(f, first) &&
           chain_length(f, first) == f->inside[group];
}

/* ---- boxes ---- */

static void add_rows(struct boxes_folding *f, struct boxes_box *box, uint32_t index,
                     uint32_t head, uint32_t *n_rows)
{
    box->rows = *n_rows;
    for (; head != BOXES_NONE; head = f->next[head]) {
        f->drawing->rows[(*n_rows)++] = head;
        f->drawing->box_of[head] = index;
        box->n_rows++;
    }
}

static bool is_bare(const struct boxes_node *node)
{
    return node->flags & DIAGRAM_SIGN || node->kind == DIAGRAM_VIEW ||
           diagram_is_tensor(node->kind);
}

static uint8_t plan_flags(const struct boxes_box *box, const struct boxes_node *node)
{
    if (box->frame)
        return PLAN_OPEN;
    if (node->flags & DIAGRAM_SIGN)
        return PLAN_SIDE;
    if (node->kind == DIAGRAM_INPUT)
        return PLAN_EARLY;
    return box->bare ? 0 : PLAN_STRETCH;
}

static void add_box(struct boxes_folding *f, uint32_t node, uint32_t *n_rows)
{
    struct boxes_drawing *drawing = f->drawing;
    const struct boxes_node *of = &f->graph->nodes[node];
    uint32_t index = drawing->plan.n_boxes++;
    struct boxes_box *box = &drawing->boxes[index];
    bool chain = is_chain(f, node);

    *box = (struct boxes_box){.group = f->open[node] ? node : BOXES_NONE,
                              .frame = f->open[node] && !chain};
    drawing->box_of[node] = index;
    if (!box->frame)
        add_rows(f, box, index, chain ? node + 1 : node, n_rows);
    box->bare = box->n_rows == 1 && !chain && is_bare(of);
    drawing->plan.boxes[index] =
        (struct plan_box){.parent = node > 0 ? drawing->box_of[of->parent] : PLAN_NONE,
                          .end = index + 1,
                          .flags = plan_flags(box, of)};
}

static void add_boxes(struct boxes_folding *f)
{
    struct plan *plan = &f->drawing->plan;
    uint32_t n_rows = 0;

    for (uint32_t i = 0; i < f->graph->n_nodes; i++)
        f->drawing->box_of[i] = BOXES_NONE;
    for (uint32_t i = 0; i < f->graph->n_nodes; i++)
        if (f->at[i] == i && f->before[i] == BOXES_NONE &&
            f->drawing->box_of[i] == BOXES_NONE)
            add_box(f, i, &n_rows);
    for (uint32_t i = plan->n_boxes; i-- > 1;) {
        struct plan_box *up = &plan->boxes[plan->boxes[i].parent];

        if (up->end < plan->boxes[i].end)
            up->end = plan->boxes[i].end;
    }
}

static void map_ends(struct boxes_folding *f)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n_ends; i++) {
        uint32_t source = f->drawing->box_of[f->ends[i].source];
        uint32_t target = f->drawing->box_of[f->ends[i].target];

        if (source != target)
            f->ends[n++] = (struct boxes_ends){f->ends[i].value, source, target};
    }
    f->n_ends = n;
    tidy_ends(f);
}

static int allocate(struct boxes_folding *f, struct arena *arena)
{
    struct boxes_drawing *drawing = f->drawing;
    size_t n = f->graph->n_nodes;

    f->open = arena_array(arena, n, sizeof *f->open);
    f->at = arena_array(arena, n, sizeof *f->at);
    f->next = arena_array(arena, n, sizeof *f->next);
    f->before = arena_array(arena, n, sizeof *f->before);
    f->n_in = arena_array(arena, n, sizeof *f->n_in);
    f->n_out = arena_array(arena, n, sizeof *f->n_out);
    f->inside = arena_array(arena, n, sizeof *f->inside);
    f->ends = arena_array(arena, (size_t)f->graph->n_links + 1, sizeof *f->ends);
    drawing->boxes = arena_array(arena, n, sizeof *drawing->boxes);
    drawing->plan.boxes = arena_array(arena, n, sizeof *drawing->plan.boxes);
    drawing->rows = arena_array(arena, n, sizeof *drawing->rows);
    drawing->box_of = arena_array(arena, n, sizeof *drawing->box_of);
    return arena->spent ? -1 : 0;
}

int boxes_fold(struct boxes_drawing *drawing, uint32_t most, struct arena *arena,
               struct boxes_ends **ret_ends, uint32_t *ret_n, struct err *err)
{
    struct boxes_folding f = {.drawing = drawing, .graph = drawing->graph};

    drawing->plan = (struct plan){0};
    if (allocate(&f, arena) < 0)
        return arena_err(arena, "the drawing", err);
    count_inside(&f);
    if (choose_open(&f, most, arena) < 0)
        return arena_err(arena, "the drawing", err);
    map_links(&f);
    find_chains(&f);
    add_boxes(&f);
    map_ends(&f);
    *ret_ends = f.ends;
    *ret_n = f.n_ends;
    return 0;
}
