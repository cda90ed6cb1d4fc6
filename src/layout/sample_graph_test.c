/* sample_graph_test.c - graphs for tests. A value that crosses the borders of groups
 * becomes one net per group that it passes through. */
#include "layout/sample_graph.h"

#include <stdlib.h>

#include "base/test.h"

void sample_init(struct sample_graph *graph)
{
    *graph = (struct sample_graph){0};
    arena_init(&graph->arena, 0);
    sample_box(graph, PLAN_NONE, PLAN_OPEN);
}

void sample_release(struct sample_graph *graph)
{
    arena_release(&graph->arena);
}

uint32_t sample_box(struct sample_graph *graph, uint32_t parent, uint8_t flags)
{
    struct plan *plan = &graph->plan;
    struct plan_box box = {.parent = parent,
                           .end = plan->n_boxes + 1,
                           .flags = flags,
                           .width = 160,
                           .height = 44,
                           .least_width = 180,
                           .gap = 18};

    if (flags & PLAN_SIDE)
        box.width = box.height = 26;
    CHECK(arena_room(&graph->arena, &plan->boxes, plan->n_boxes, &graph->box_room,
                     sizeof(box)) == 0);
    plan->boxes[plan->n_boxes++] = box;
    for (uint32_t at = parent; at != PLAN_NONE; at = plan->boxes[at].parent)
        plan->boxes[at].end = plan->n_boxes;
    return plan->n_boxes - 1;
}

uint32_t sample_value(struct sample_graph *graph)
{
    CHECK(arena_room(&graph->arena, &graph->first_net, graph->n_values,
                     &graph->value_room, sizeof(uint32_t)) == 0);
    graph->first_net[graph->n_values] = PLAN_NONE;
    return graph->n_values++;
}

/* The net of a value in a group, added if new. */
static uint32_t net_of(struct sample_graph *graph, uint32_t value, uint32_t group,
                       uint32_t source, bool *made)
{
    struct sample_net net = {value,     group,     source,    PLAN_NONE, PLAN_NONE,
                             PLAN_NONE, PLAN_NONE, PLAN_NONE, 0};

    for (uint32_t k = graph->first_net[value]; k != PLAN_NONE; k = graph->nets[k].next)
        if (graph->nets[k].group == group) {
            *made = false;
            return k;
        }
    CHECK(arena_room(&graph->arena, &graph->nets, graph->n_nets, &graph->net_room,
                     sizeof(net)) == 0);
    net.next = graph->first_net[value];
    graph->first_net[value] = graph->n_nets;
    graph->nets[graph->n_nets] = net;
    *made = true;
    return graph->n_nets++;
}

static uint32_t add_end(struct sample_graph *graph, uint32_t net, uint32_t target)
{
    struct sample_end end = {net, target, PLAN_NONE, PLAN_NONE, PLAN_NONE};
    uint32_t index = graph->n_ends;

    CHECK(arena_room(&graph->arena, &graph->ends, index, &graph->end_room,
                     sizeof(end)) == 0);
    graph->ends[graph->n_ends++] = end;
    if (graph->nets[net].n++ == 0)
        graph->nets[net].first = index;
    else
        graph->ends[graph->nets[net].last].next = index;
    graph->nets[net].last = index;
    return index;
}

static bool inside(const struct plan *plan, uint32_t box, uint32_t group)
{
    return box > group && box < plan->boxes[group].end;
}

/* The net of the value in the group that holds both boxes: continues it out of the
 * groups around its source. */
static uint32_t lead_out(struct sample_graph *graph, uint32_t value, uint32_t from,
                         uint32_t to)
{
    const struct plan_box *boxes = graph->plan.boxes;
    uint32_t at = boxes[from].parent, net;
    bool made;

    net = net_of(graph, value, at, from, &made);
    while (!inside(&graph->plan, to, at)) {
        uint32_t outer = net_of(graph, value, boxes[at].parent, at, &made);

        if (made) {
            uint32_t end = add_end(graph, net, at);

            graph->ends[end].outer = outer;
            graph->nets[outer].inner = end;
        }
        net = outer;
        at = boxes[at].parent;
    }
    return net;
}

void sample_line(struct sample_graph *graph, uint32_t value, uint32_t from, uint32_t to)
{
    const struct plan_box *boxes = graph->plan.boxes;
    uint32_t net, at;

    CHECK(!inside(&graph->plan, from, to) && !inside(&graph->plan, to, from));
    net = lead_out(graph, value, from, to);
    at = graph->nets[net].group;
    while (at != boxes[to].parent) { /* into the groups around the target */
        uint32_t child = at + 1, inner, end;
        bool made;

        while (!inside(&graph->plan, to, child))
            child = boxes[child].end;
        inner = net_of(graph, value, child, child, &made);
        if (made) {
            end = add_end(graph, net, child);
            graph->ends[end].inner = inner;
            graph->nets[inner].outer = end;
        }
        net = inner;
        at = child;
    }
    for (uint32_t e = graph->nets[net].first; e != PLAN_NONE; e = graph->ends[e].next)
        if (graph->ends[e].target == to)
            return; /* a box reads a value once */
    add_end(graph, net, to);
}

void sample_link(struct sample_graph *graph, uint32_t from, uint32_t to)
{
    sample_line(graph, sample_value(graph), from, to);
}

/* Nets sorted by group; `place` receives the new number of each. */
static uint32_t *sort_nets(struct sample_graph *graph)
{
    uint32_t n = graph->plan.n_boxes;
    uint32_t *at = arena_array(&graph->arena, (size_t)n + 1, sizeof(*at));
    uint32_t *place = arena_array(&graph->arena, graph->n_nets + 1, sizeof(*place));

    CHECK(at && place);
    for (uint32_t k = 0; k < graph->n_nets; k++)
        at[graph->nets[k].group + 1]++;
    for (uint32_t i = 0; i < n; i++)
        at[i + 1] += at[i];
    for (uint32_t k = 0; k < graph->n_nets; k++)
        place[k] = at[graph->nets[k].group]++;
    return place;
}

void sample_finish(struct sample_graph *graph, int32_t net_label, int32_t end_label)
{
    struct plan *plan = &graph->plan;
    uint32_t *place = sort_nets(graph), n = 0;
    uint32_t *new_end = arena_array(&graph->arena, graph->n_ends + 1, sizeof(*new_end));
    uint32_t *old_net = arena_array(&graph->arena, graph->n_nets + 1, sizeof(*old_net));

    plan->nets = arena_array(&graph->arena, graph->n_nets + 1, sizeof(*plan->nets));
    plan->ends = arena_array(&graph->arena, graph->n_ends + 1, sizeof(*plan->ends));
    CHECK(new_end && old_net && plan->nets && plan->ends);
    plan->n_nets = graph->n_nets;
    plan->n_ends = graph->n_ends;
    for (uint32_t k = 0; k < graph->n_nets; k++)
        old_net[place[k]] = k;
    for (uint32_t k = 0; k < plan->n_nets; k++) {
        const struct sample_net *net = &graph->nets[old_net[k]];

        plan->nets[k] = (struct plan_net){.group = net->group,
                                          .source = net->source,
                                          .inner = net->inner,
                                          .outer = net->outer,
                                          .ends = n,
                                          .n_ends = net->n,
                                          .label_width = net_label,
                                          .label_height = net_label ? 14 : 0};
        for (uint32_t e = net->first; e != PLAN_NONE; e = graph->ends[e].next) {
            const struct sample_end *end = &graph->ends[e];

            new_end[e] = n;
            plan->ends[n++] = (struct plan_end){
                .net = k,
                .target = end->target,
                .inner = end->inner == PLAN_NONE ? PLAN_NONE : place[end->inner],
                .outer = end->outer == PLAN_NONE ? PLAN_NONE : place[end->outer],
                .label_width = end_label,
                .label_height = end_label ? 14 : 0};
        }
    }
    for (uint32_t k = 0; k < plan->n_nets; k++) {
        struct plan_net *net = &plan->nets[k];

        net->inner = net->inner == PLAN_NONE ? PLAN_NONE : new_end[net->inner];
        net->outer = net->outer == PLAN_NONE ? PLAN_NONE : new_end[net->outer];
    }
}
