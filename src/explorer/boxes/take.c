/* take.c - the initially shown part of a diagram, as nodes and links. */
#include <math.h>
#include <stdlib.h>

#include "explorer/boxes/boxes_in.h"
#include "text/escape.h"

struct taking {
    const struct diagram *diagram;
    struct boxes_graph *graph;
    struct arena *arena;
    uint32_t *node_of; /* by box of the diagram; BOXES_NONE: not shown */
    uint32_t frame;    /* the frame around everything, which is omitted; 0: none */
};

static bool is_group(const struct diagram *diagram, uint32_t box)
{
    return diagram->plan.boxes[box].end > box + 1;
}

static bool is_open(const struct diagram *diagram, uint32_t box)
{
    return box == 0 ||
           (diagram->plan.boxes[box].flags & PLAN_OPEN && is_group(diagram, box));
}

/* The open frame of the drawn call. */
static uint32_t find_frame(const struct diagram *diagram)
{
    const struct plan *plan = &diagram->plan;

    for (uint32_t i = 1; i < plan->n_boxes; i = plan->boxes[i].end)
        if (diagram->boxes[i].kind == DIAGRAM_MODULE && is_open(diagram, i) &&
            diagram->boxes[i].place == diagram->boxes[0].place &&
            diagram->boxes[i].call == diagram->boxes[0].call)
            return i;
    return 0;
}

static struct str keep(struct taking *t, struct buf *text)
{
    struct str kept = STR("");

    if (text->bad)
        t->arena->spent = true;
    else if (text->len > 0)
        kept = arena_str(t->arena, buf_span(text));
    buf_clear(text);
    return kept;
}

static struct str shown_text(struct taking *t, struct str raw)
{
    struct buf text = BUF_INIT;
    struct str kept;

    escape_terminal(&text, raw);
    kept = keep(t, &text);
    buf_release(&text);
    return kept;
}

/* ---- nodes ---- */

static void take_words(struct taking *t, struct boxes_node *node, uint32_t box)
{
    const struct diagram *diagram = t->diagram;
    const struct diagram_box *of = &diagram->boxes[box];

    node->words = t->graph->n_words;
    node->n_words = of->n_words;
    for (uint32_t k = 0; k < of->n_words; k++)
        t->graph->words[t->graph->n_words++] =
            (struct boxes_word){diagram_before_word(diagram, box, k),
                                shown_text(t, diagram->words[of->words + k])};
}

/* "36.9K params, 1.52ms" */
static struct str facts_of(struct taking *t, uint32_t box)
{
    const struct diagram_box *of = &t->diagram->boxes[box];
    struct buf text = BUF_INIT;
    struct str kept;

    if (!diagram_is_tensor(of->kind)) {
        diagram_value(&text, t->diagram, box, DIAGRAM_PARAMS);
        if (text.len > 0 && !(of->flags & DIAGRAM_SHARED))
            buf_text(&text, " params");
        if (!isnan(of->metric[DIAGRAM_TIME])) {
            buf_text(&text, text.len > 0 ? "   " : "");
            diagram_value(&text, t->diagram, box, DIAGRAM_TIME);
        }
    }
    kept = keep(t, &text);
    buf_release(&text);
    return kept;
}

/* Enter on a repeat goes to its first block, and on a group of names to its first
 * box. */
static uint32_t target_of(const struct diagram *diagram, uint32_t box)
{
    uint32_t end = diagram->plan.boxes[box].end;

    while (diagram->boxes[box].place == NO_PLACE && box + 1 < end &&
           (diagram->boxes[box].kind == DIAGRAM_REPEAT ||
            diagram->boxes[box].flags & DIAGRAM_ALIKE))
        box++;
    return box;
}

static void take_node(struct taking *t, uint32_t box)
{
    const struct diagram *diagram = t->diagram;
    const struct diagram_box *of = &diagram->boxes[box];
    uint32_t up = diagram->plan.boxes[box].parent, to = target_of(diagram, box);
    uint32_t n = t->graph->n_nodes++;
    struct boxes_node *node = &t->graph->nodes[n];
    bool module = of->kind == DIAGRAM_MODULE || of->kind == DIAGRAM_REPEAT;
    bool recorded = module && diagram->session->run; /* else calls of a program */
    struct buf calls = BUF_INIT;

    t->node_of[box] = n;
    *node = (struct boxes_node){.parent = t->node_of[up],
                                .kind = of->kind,
                                .flags = of->flags,
                                .open = is_open(diagram, box),
                                .inside = is_group(diagram, box),
                                .place = module ? diagram->boxes[to].place : NO_PLACE,
                                .call = recorded ? diagram->boxes[to].call : RUN_NONE,
                                .name = shown_text(t, of->name),
                                .id = shown_text(t, of->id),
                                .line = shown_text(t, of->line),
                                .facts = facts_of(t, box)};
    if (of->n_calls > 1)
        buf_printf(&calls, "%u/%u", of->number, of->n_calls);
    node->calls = keep(t, &calls);
    buf_release(&calls);
    take_words(t, node, box);
}

/* Calls visit() for every shown box but the root and the frame around everything. */
static void each_shown(struct taking *t, void (*visit)(struct taking *, uint32_t))
{
    const struct plan *plan = &t->diagram->plan;

    for (uint32_t i = 1; i < plan->n_boxes;) {
        if (i != t->frame)
            visit(t, i);
        i = is_open(t->diagram, i) ? i + 1 : plan->boxes[i].end;
    }
}

static void count_node(struct taking *t, uint32_t box)
{
    t->graph->n_nodes++;
    t->graph->n_words += t->diagram->boxes[box].n_words;
}

static int too_many(const struct boxes_graph *graph, struct err *err)
{
    return err_set(err, ERR_LIMIT,
                   "%u boxes are too many to draw here; v shows them as rows, "
                   "torchoscope graph draws them on a page",
                   graph->n_nodes - 1);
}

static int take_nodes(struct taking *t, struct err *err)
{
    struct boxes_graph *graph = t->graph;
    size_t n_boxes = t->diagram->plan.n_boxes;

    graph->n_nodes = 1;
    each_shown(t, count_node);
    if (graph->n_nodes > BOXES_MOST)
        return too_many(graph, err);
    graph->nodes = arena_array(t->arena, graph->n_nodes, sizeof *graph->nodes);
    graph->words =
        arena_array(t->arena, (size_t)graph->n_words + 1, sizeof *graph->words);
    if (!graph->nodes || !graph->words)
        return arena_err(t->arena, "the drawing", err);
    for (size_t i = 0; i < n_boxes; i++)
        t->node_of[i] = BOXES_NONE;
    t->node_of[0] = t->node_of[t->frame] = 0;
    graph->nodes[0] = (struct boxes_node){.parent = BOXES_NONE,
                                          .kind = DIAGRAM_MODULE,
                                          .open = true,
                                          .place = NO_PLACE,
                                          .call = RUN_NONE};
    graph->n_nodes = 1;
    graph->n_words = 0;
    each_shown(t, take_node);
    for (uint32_t i = graph->n_nodes; i-- > 0;) {
        struct boxes_node *node = &graph->nodes[i];

        if (node->end <= i)
            node->end = i + 1;
        if (i > 0 && graph->nodes[node->parent].end < node->end)
            graph->nodes[node->parent].end = node->end;
    }
    return 0;
}

/* ---- links ---- */

/* The net that leaves the shown source node of the line of `end`, and the outermost net
 * on the way; PLAN_NONE: it has no source. */
static uint32_t trace_back(const struct taking *t, uint32_t end,
                           uint32_t *ret_outermost)
{
    const struct plan *plan = &t->diagram->plan;
    int64_t depth = 0, least = 1;
    uint32_t steps = 0;

    while (end != PLAN_NONE && steps++ <= plan->n_ends) {
        uint32_t n = plan->ends[end].net;
        const struct plan_net *net = &plan->nets[n];

        if (depth < least) {
            least = depth;
            *ret_outermost = n;
        }
        if (net->source == net->group) {
            depth--;
            end = net->outer;
        } else if (is_open(t->diagram, net->source)) {
            depth++;
            end = net->inner;
        } else {
            return n;
        }
    }
    return PLAN_NONE;
}

struct taken_link {
    uint32_t net, outermost, source, target;
};

static int by_net(const void *a, const void *b)
{
    const struct taken_link *x = a, *y = b;

    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->net != y->net)
        return x->net < y->net ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

static uint32_t find_links(const struct taking *t, struct taken_link *links)
{
    const struct plan *plan = &t->diagram->plan;
    uint32_t n = 0;

    for (uint32_t e = 0; e < plan->n_ends; e++) {
        uint32_t target = plan->ends[e].target, net, outermost = 0;

        if (t->node_of[target] == BOXES_NONE || is_open(t->diagram, target))
            continue;
        net = trace_back(t, e, &outermost);
        if (net == PLAN_NONE || t->node_of[plan->nets[net].source] == BOXES_NONE)
            continue;
        links[n++] = (struct taken_link){
            net, outermost, t->node_of[plan->nets[net].source], t->node_of[target]};
    }
    return n;
}

static void take_value(struct taking *t, const struct taken_link *link)
{
    const struct diagram_net *net = &t->diagram->nets[link->outermost];

    t->graph->values[t->graph->n_values++] =
        (struct boxes_value){.source = link->source,
                             .label = shown_text(t, net->label),
                             .changed = t->diagram->nets[link->net].changed,
                             .not_finite = net->not_finite,
                             .n_tensors = net->n_tensors};
}

static int take_links(struct taking *t, struct err *err)
{
    struct boxes_graph *graph = t->graph;
    size_t room = (size_t)t->diagram->plan.n_ends + 1;
    struct taken_link *links = calloc(room, sizeof *links);
    uint32_t n;

    if (!links)
        return err_set(err, ERR_LIMIT, "no memory is left for the drawing");
    n = find_links(t, links);
    qsort(links, n, sizeof *links, by_net);
    graph->links = arena_array(t->arena, (size_t)n + 1, sizeof *graph->links);
    graph->values = arena_array(t->arena, (size_t)n + 1, sizeof *graph->values);
    for (uint32_t i = 0; graph->links && graph->values && i < n; i++) {
        bool same = i > 0 && links[i - 1].net == links[i].net;

        if (!same)
            take_value(t, &links[i]);
        if (same && links[i - 1].target == links[i].target)
            continue;
        graph->links[graph->n_links++] =
            (struct boxes_link){graph->n_values - 1, links[i].target};
    }
    free(links);
    return t->arena->spent ? arena_err(t->arena, "the drawing", err) : 0;
}

int boxes_take(struct boxes_graph *ret_graph, const struct diagram *diagram,
               struct arena *arena, struct err *err)
{
    struct boxes_graph graph = {0};
    struct taking t = {.diagram = diagram,
                       .graph = &graph,
                       .arena = arena,
                       .frame = find_frame(diagram)};
    int status = -1;

    t.node_of = calloc((size_t)diagram->plan.n_boxes + 1, sizeof *t.node_of);
    if (!t.node_of)
        return err_set(err, ERR_LIMIT, "no memory is left for the drawing");
    if (take_nodes(&t, err) == 0 && take_links(&t, err) == 0) {
        graph.note = shown_text(&t, diagram->note);
        *ret_graph = graph;
        status = 0;
    }
    free(t.node_of);
    return status;
}
