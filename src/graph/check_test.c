#include "graph/check_in.h"

#include <stdlib.h>

#include "base/map.h"
#include "study/op_graph.h"

static bool is_group(const struct plan *plan, uint32_t box)
{
    return plan->boxes[box].end > box + 1;
}

static const char *check_boxes(const struct diagram *diagram, struct arena *arena)
{
    const struct plan *plan = &diagram->plan;
    struct name_map ids;
    uint32_t index;

    name_map_init(&ids, arena);
    if (plan->n_boxes == 0 || plan->boxes[0].parent != PLAN_NONE ||
        plan->boxes[0].end != plan->n_boxes)
        return "the root is not around everything";
    for (uint32_t i = 1; i < plan->n_boxes; i++) {
        uint32_t up = plan->boxes[i].parent;

        if (up >= i || plan->boxes[i].end <= i ||
            plan->boxes[i].end > plan->boxes[up].end)
            return "boxes are not in pre-order";
        if (i > up + 1 && plan->boxes[i - 1].parent != up &&
            plan->boxes[i - 1].end != i)
            return "siblings overlap";
        if (diagram->boxes[i].id.len == 0 || diagram->boxes[i].name.len == 0)
            return "a box has no name";
        if (name_map_add(&ids, diagram->boxes[i].id, &index) != 1)
            return "two boxes have the same id";
        if (diagram->boxes[i].words + diagram->boxes[i].n_words > diagram->n_words)
            return "words are missing";
    }
    return NULL;
}

static const char *check_end(const struct plan *plan, const struct plan_net *net,
                             uint32_t number)
{
    const struct plan_end *end = &plan->ends[number];
    bool leaves = end->target == net->group;

    if (end->net >= plan->n_nets || &plan->nets[end->net] != net)
        return "an end belongs to another net";
    if (!leaves && plan->boxes[end->target].parent != net->group)
        return "an end is not directly inside its group";
    if (leaves != (end->outer != PLAN_NONE))
        return "an end leaves its group and does not go on, or the reverse";
    if (leaves && (plan->nets[end->outer].inner != number ||
                   plan->nets[end->outer].source != net->group))
        return "the net outside does not know its inner end";
    if ((!leaves && is_group(plan, end->target)) != (end->inner != PLAN_NONE))
        return "an end at a group does not go on inside, or one at a leaf does";
    if (end->inner != PLAN_NONE && (plan->nets[end->inner].outer != number ||
                                    plan->nets[end->inner].group != end->target))
        return "the net inside does not know its outer end";
    return NULL;
}

static const char *check_net(const struct plan *plan, uint32_t number)
{
    const struct plan_net *net = &plan->nets[number];
    bool enters = net->source == net->group;
    const char *wrong = NULL;

    if (number > 0 && plan->nets[number - 1].group > net->group)
        return "nets are not by group";
    if (net->n_ends == 0 || net->ends != (number ? net[-1].ends + net[-1].n_ends : 0))
        return "ends are not by net";
    if (!enters && plan->boxes[net->source].parent != net->group)
        return "a source is not directly inside its group";
    if (enters != (net->outer != PLAN_NONE))
        return "a net enters and has no end outside, or the reverse";
    if ((!enters && is_group(plan, net->source)) != (net->inner != PLAN_NONE))
        return "a net of a group has no end inside, or the reverse";
    for (uint32_t e = net->ends; e < net->ends + net->n_ends && !wrong; e++)
        wrong = check_end(plan, net, e);
    return wrong;
}

const char *check_plan(const struct diagram *diagram, struct arena *arena)
{
    const struct plan *plan = &diagram->plan;
    const char *wrong = check_boxes(diagram, arena);

    for (uint32_t i = 0; i < plan->n_nets && !wrong; i++)
        wrong = check_net(plan, i);
    if (!wrong && plan->n_nets > 0 &&
        plan->nets[plan->n_nets - 1].ends + plan->nets[plan->n_nets - 1].n_ends !=
            plan->n_ends)
        return "there are ends without a net";
    return wrong;
}

/* ---- wires ---- */

static int by_wire(const void *a, const void *b)
{
    const struct check_wire *x = a, *y = b;

    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

/* The leaf box that a net comes from. */
static uint32_t origin(const struct plan *plan, uint32_t net)
{
    for (;;) {
        const struct plan_net *of = &plan->nets[net];

        if (of->outer != PLAN_NONE)
            net = plan->ends[of->outer].net;
        else if (of->inner != PLAN_NONE)
            net = plan->ends[of->inner].net;
        else
            return of->source;
    }
}

struct check_wire *check_wires(const struct diagram *diagram, struct arena *arena,
                               uint32_t *ret_n)
{
    const struct plan *plan = &diagram->plan;
    struct check_wire *wires =
        arena_array(arena, (size_t)plan->n_ends + 1, sizeof *wires);
    uint32_t n = 0, kept = 0;

    for (uint32_t i = 0; i < plan->n_ends; i++)
        if (plan->ends[i].inner == PLAN_NONE && plan->ends[i].outer == PLAN_NONE)
            wires[n++] = (struct check_wire){.source = origin(plan, plan->ends[i].net),
                                             .target = plan->ends[i].target};
    qsort(wires, n, sizeof *wires, by_wire);
    for (uint32_t i = 0; i < n; i++)
        if (kept == 0 || by_wire(&wires[kept - 1], &wires[i]) != 0)
            wires[kept++] = wires[i];
    *ret_n = kept;
    return wires;
}

/* ---- against the graph of operations ---- */

struct check_boxes_of {
    struct map ops, calls; /* op, call -> its leaf box */
};

static bool is_work(const struct diagram *diagram, uint32_t box)
{
    uint8_t kind = diagram->boxes[box].kind;

    return kind == DIAGRAM_MODULE || kind == DIAGRAM_OP || kind == DIAGRAM_VIEW;
}

static void find_boxes(const struct diagram *diagram, struct check_boxes_of *of)
{
    for (uint32_t i = 1; i < diagram->plan.n_boxes; i++) {
        const struct diagram_box *box = &diagram->boxes[i];

        if (is_group(&diagram->plan, i) || !is_work(diagram, i))
            continue;
        if (box->op != RUN_NONE)
            map_put(&of->ops, box->op, i);
        if (box->kind == DIAGRAM_MODULE && box->call != RUN_NONE)
            map_put(&of->calls, box->call, i);
    }
}

static bool box_of_node(const struct check_boxes_of *of,
                        const struct op_graph_node *node, uint32_t *ret_box)
{
    if (node->kind == OP_GRAPH_CALL)
        return map_find(&of->calls, node->call, ret_box);
    return node->kind == OP_GRAPH_OP && map_find(&of->ops, node->op, ret_box);
}

static struct check_wire *wires_of(const struct diagram *diagram,
                                   const struct op_graph *graph, struct arena *arena,
                                   uint32_t *ret_n)
{
    struct check_wire *wires =
        arena_array(arena, (size_t)graph->n_edges + 1, sizeof *wires);
    struct check_boxes_of of;
    uint32_t n = 0, kept = 0;

    map_init(&of.ops, arena);
    map_init(&of.calls, arena);
    find_boxes(diagram, &of);
    for (uint32_t i = 0; i < graph->n_edges; i++) {
        struct check_wire wire;

        if (box_of_node(&of, &graph->nodes[graph->edges[i].source], &wire.source) &&
            box_of_node(&of, &graph->nodes[graph->edges[i].target], &wire.target) &&
            wire.source != wire.target)
            wires[n++] = wire;
    }
    qsort(wires, n, sizeof *wires, by_wire);
    for (uint32_t i = 0; i < n; i++)
        if (kept == 0 || by_wire(&wires[kept - 1], &wires[i]) != 0)
            wires[kept++] = wires[i];
    *ret_n = kept;
    return wires;
}

/* Forward operations inside the drawn call. */
static uint32_t count_ops(const struct run *run, uint32_t call)
{
    uint32_t n = 0;

    for (uint32_t i = 0; run->ops && i < run->ops->n_ops; i++) {
        uint32_t at = run->ops->ops[i].call;

        while (at != RUN_NONE && at != call)
            at = run->calls[at].parent;
        n += run->ops->ops[i].phase == OP_FORWARD && at == call;
    }
    return n;
}

const char *check_edges(const struct diagram *diagram, struct arena *arena)
{
    const struct run *run = diagram->session->run;
    uint32_t call = diagram->boxes[0].call, n_drawn, n_real, at = 0;
    struct op_graph_wanted wanted = {
        .level = diagram->wanted.level == GRAPH_OPS ? OP_GRAPH_OPS : OP_GRAPH_MODULES,
        .phases = 1u << OP_FORWARD,
        .within = call + 1};
    const struct check_wire *drawn = check_wires(diagram, arena, &n_drawn), *real;
    struct op_graph graph;

    if (op_graph_make(&graph, run, wanted, arena, NULL) < 0)
        return "there is no graph of operations";
    real = wires_of(diagram, &graph, arena, &n_real);
    for (uint32_t i = 0; i < n_drawn; i++) {
        if (!is_work(diagram, drawn[i].source) || !is_work(diagram, drawn[i].target))
            continue;
        if (at == n_real || by_wire(&drawn[i], &real[at]) != 0)
            return "a line is drawn that is not there, or one is missing";
        at++;
    }
    if (at != n_real)
        return "a line is missing";
    if (diagram->boxes[0].n_ops != count_ops(run, call))
        return "operations are not counted";
    return NULL;
}
