/* nets.c - links between boxes become the nets of a plan: a line that crosses borders of
 * groups is a chain of nets, one in each group. */
#include "explorer/boxes/boxes_in.h"

struct boxes_net {
    uint32_t group, source, value;
    uint32_t inner, outer; /* ends */
    uint32_t first, last;  /* its ends, a list */
    uint32_t index;        /* in the plan */
};
struct boxes_end {
    uint32_t net, target;
    uint32_t inner, outer; /* nets */
    uint32_t next;
    uint32_t index;
};

struct netting {
    struct boxes_drawing *drawing;
    struct arena *arena;
    struct boxes_net *nets;
    struct boxes_end *ends;
    uint32_t n_nets, nets_room, n_ends, ends_room;
    uint32_t *net_in; /* by group: the net of the current value there */
    uint32_t *stack;  /* private */
};

static uint32_t parent_of(const struct netting *n, uint32_t box)
{
    return n->drawing->plan.boxes[box].parent;
}

static bool holds(const struct netting *n, uint32_t group, uint32_t box)
{
    return box > group && box < n->drawing->plan.boxes[group].end;
}

static uint32_t add_net(struct netting *n, uint32_t value, uint32_t group,
                        uint32_t source)
{
    if (arena_room(n->arena, &n->nets, n->n_nets, &n->nets_room, sizeof *n->nets) < 0)
        return BOXES_NONE;
    n->nets[n->n_nets] = (struct boxes_net){group,     source,    value,     PLAN_NONE,
                                            PLAN_NONE, PLAN_NONE, PLAN_NONE, 0};
    n->net_in[group] = n->n_nets;
    return n->n_nets++;
}

static uint32_t add_end(struct netting *n, uint32_t net, uint32_t target)
{
    uint32_t end = n->n_ends;

    if (arena_room(n->arena, &n->ends, n->n_ends, &n->ends_room, sizeof *n->ends) < 0)
        return BOXES_NONE;
    n->ends[end] = (struct boxes_end){net, target, PLAN_NONE, PLAN_NONE, PLAN_NONE, 0};
    if (n->nets[net].last == PLAN_NONE)
        n->nets[net].first = end;
    else
        n->ends[n->nets[net].last].next = end;
    n->nets[net].last = end;
    return n->n_ends++;
}

/* Leads the value out of groups, up to the one that also holds `target`. */
static int lead_out(struct netting *n, uint32_t value, uint32_t group, uint32_t target,
                    uint32_t *ret_group)
{
    while (!holds(n, group, target)) {
        uint32_t up = parent_of(n, group), end, net;

        if (n->net_in[up] == BOXES_NONE) {
            end = add_end(n, n->net_in[group], group);
            net = add_net(n, value, up, group);
            if (end == BOXES_NONE || net == BOXES_NONE)
                return -1;
            n->ends[end].outer = net;
            n->nets[net].inner = end;
        }
        group = up;
    }
    *ret_group = group;
    return 0;
}

/* Leads the value into groups, down to `target`. */
static int lead_in(struct netting *n, uint32_t value, uint32_t group, uint32_t target)
{
    uint32_t depth = 0;

    for (uint32_t at = parent_of(n, target); at != group; at = parent_of(n, at))
        n->stack[depth++] = at;
    while (depth > 0) {
        uint32_t into = n->stack[--depth], end, net;

        if (n->net_in[into] == BOXES_NONE) {
            end = add_end(n, n->net_in[group], into);
            net = add_net(n, value, into, into);
            if (end == BOXES_NONE || net == BOXES_NONE)
                return -1;
            n->ends[end].inner = net;
            n->nets[net].outer = end;
        }
        group = into;
    }
    return add_end(n, n->net_in[group], target) == BOXES_NONE ? -1 : 0;
}

static int add_links(struct netting *n, const struct boxes_ends *ends, uint32_t n_ends)
{
    uint32_t n_boxes = n->drawing->plan.n_boxes, group;

    for (uint32_t i = 0; i < n_ends; i++) {
        const struct boxes_ends *link = &ends[i];

        if (i == 0 || ends[i - 1].value != link->value) {
            for (uint32_t k = 0; k < n_boxes; k++)
                n->net_in[k] = BOXES_NONE;
            if (add_net(n, link->value, parent_of(n, link->source), link->source) ==
                BOXES_NONE)
                return -1;
        }
        if (lead_out(n, link->value, parent_of(n, link->source), link->target, &group) <
                0 ||
            lead_in(n, link->value, group, link->target) < 0)
            return -1;
    }
    return 0;
}

/* Nets of one group are consecutive; groups are in the order of their boxes. */
static void number(struct netting *n, uint32_t *begin)
{
    uint32_t n_boxes = n->drawing->plan.n_boxes, ends = 0;
    uint32_t *order = n->drawing->value_of; /* temporarily the order of nets by index */

    for (uint32_t i = 0; i < n->n_nets; i++)
        begin[n->nets[i].group + 1]++;
    for (uint32_t g = 0; g < n_boxes; g++)
        begin[g + 1] += begin[g];
    for (uint32_t i = 0; i < n->n_nets; i++) {
        n->nets[i].index = begin[n->nets[i].group]++;
        order[n->nets[i].index] = i;
    }
    for (uint32_t i = 0; i < n->n_nets; i++)
        for (uint32_t e = n->nets[order[i]].first; e != PLAN_NONE; e = n->ends[e].next)
            n->ends[e].index = ends++;
}

static uint32_t net_index(const struct netting *n, uint32_t net)
{
    return net == PLAN_NONE ? PLAN_NONE : n->nets[net].index;
}

static uint32_t end_index(const struct netting *n, uint32_t end)
{
    return end == PLAN_NONE ? PLAN_NONE : n->ends[end].index;
}

static void fill(struct netting *n)
{
    struct plan *plan = &n->drawing->plan;

    for (uint32_t i = 0; i < n->n_nets; i++) {
        const struct boxes_net *net = &n->nets[i];
        struct plan_net *to = &plan->nets[net->index];

        *to = (struct plan_net){.group = net->group,
                                .source = net->source,
                                .inner = end_index(n, net->inner),
                                .outer = end_index(n, net->outer),
                                .ends = end_index(n, net->first)};
        n->drawing->value_of[net->index] = net->value;
    }
    for (uint32_t i = 0; i < n->n_ends; i++) {
        const struct boxes_end *end = &n->ends[i];

        plan->ends[end->index] = (struct plan_end){.net = net_index(n, end->net),
                                                   .target = end->target,
                                                   .inner = net_index(n, end->inner),
                                                   .outer = net_index(n, end->outer)};
        plan->nets[net_index(n, end->net)].n_ends++;
    }
    plan->n_nets = n->n_nets;
    plan->n_ends = n->n_ends;
}

int boxes_nets(struct boxes_drawing *drawing, const struct boxes_ends *ends, uint32_t n,
               struct arena *arena, struct err *err)
{
    struct netting netting = {.drawing = drawing, .arena = arena};
    size_t n_boxes = (size_t)drawing->plan.n_boxes + 2;
    uint32_t *begin = arena_array(arena, n_boxes, sizeof *begin);

    netting.net_in = arena_array(arena, n_boxes, sizeof *netting.net_in);
    netting.stack = arena_array(arena, n_boxes, sizeof *netting.stack);
    if (!begin || !netting.net_in || !netting.stack || add_links(&netting, ends, n) < 0)
        return arena_err(arena, "the drawing", err);
    drawing->plan.nets =
        arena_array(arena, (size_t)netting.n_nets + 1, sizeof *drawing->plan.nets);
    drawing->plan.ends =
        arena_array(arena, (size_t)netting.n_ends + 1, sizeof *drawing->plan.ends);
    drawing->value_of =
        arena_array(arena, (size_t)netting.n_nets + 1, sizeof *drawing->value_of);
    drawing->labels =
        arena_array(arena, (size_t)netting.n_nets + 1, sizeof *drawing->labels);
    if (!drawing->plan.nets || !drawing->plan.ends || !drawing->value_of ||
        !drawing->labels)
        return arena_err(arena, "the drawing", err);
    number(&netting, begin);
    fill(&netting);
    return 0;
}
