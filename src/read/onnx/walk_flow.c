/* Subgraphs and functions. If runs one of two graphs, Loop and Scan run one repeatedly.
 * A subgraph sees the names of the enclosing graphs. A function of the file is inlined:
 * its operations belong to the module that calls it. */
#include <string.h>

#include "base/base.h"
#include "read/onnx/walk_in.h"

#define FRAMES_MOST (2 * ONNX_DEPTH)

static const struct onnx_known nothing = {.rank = -1};

struct onnx_frame *walk_push(struct onnx_walk *w, enum frame_kind kind, uint32_t graph,
                             const struct onnx_frame *from)
{
    struct onnx_frame frame = {.kind = kind,
                               .graph = graph,
                               .node = w->p->graphs[graph].nodes.n > 0
                                           ? w->p->graphs[graph].nodes.first
                                           : ONNX_NONE,
                               .instance = w->n_outer,
                               .region = PROGRAM_NONE};
    uint32_t outer = ONNX_NONE;

    if (from) {
        frame.call = from->call;
        frame.region = from->region;
        frame.scope = from->scope;
        outer = kind == FRAME_SUBGRAPH ? from->instance : ONNX_NONE;
    }
    if (arena_room(w->p->arena, &w->outer, w->n_outer, &w->outer_room,
                   sizeof *w->outer) < 0 ||
        arena_room(w->p->arena, &w->frames, w->n_frames, &w->frames_room,
                   sizeof *w->frames) < 0) {
        w->stop = true;
        return NULL;
    }
    w->outer[w->n_outer++] = outer;
    w->frames[w->n_frames++] = frame;
    return &w->frames[w->n_frames - 1];
}

static struct onnx_frame *top(struct onnx_walk *w)
{
    return &w->frames[w->n_frames - 1];
}

/* Binds the outputs of a node to values; PROGRAM_NONE becomes an unknown value. */
static void bind_outputs(struct onnx_walk *w, const struct onnx_node *node,
                         const uint32_t *values, uint32_t n)
{
    uint32_t i = 0;

    for
        ONNX_EACH(at, w->p, names, node->outputs)
        {
            uint32_t name = w->p->names[at].name;
            uint32_t value = i < n ? values[i] : PROGRAM_NONE;

            if (value == PROGRAM_NONE && name)
                value = walk_simple(w, PROGRAM_OPAQUE, name, &nothing, top(w)->call);
            walk_bind(w, top(w)->instance, name, value);
            i++;
        }
}

/* ---- functions ---- */

static uint32_t find_function(const struct onnx_walk *w, const struct onnx_node *node)
{
    uint64_t key =
        hash_mix(hash_mix(hash_u64(node->domain), node->op_type), node->overload);
    const struct onnx_function *f;
    uint32_t i;

    if (!map_find(&w->m->by_function, key, &i))
        return ONNX_NONE;
    f = &w->p->functions[i];
    return f->domain == node->domain && f->name == node->op_type &&
                   f->overload == node->overload
               ? i
               : ONNX_NONE;
}

/* torch's exporter of 2023 wrote each module as a function. */
static uint32_t call_of_module(struct onnx_walk *w, const struct onnx_node *node,
                               uint32_t call)
{
    uint32_t place = w->program->calls[call].place, module;
    int depth = 0;

    if (!str_starts(onnx_text(w->p, node->domain), STR("pkg.torch")) ||
        w->call_infos[call].depth >= 32)
        return call;
    module = onnx_descend(
        w->m, place, onnx_text(w->p, node->name ? node->name : node->op_type), &depth);
    return module == NO_PLACE ? call : walk_call_new(w, call, module, top(w)->region);
}

static bool enter_function(struct onnx_walk *w, uint32_t node, uint32_t function,
                           const uint32_t *inputs, uint32_t n, uint32_t call)
{
    struct onnx_function *f = &w->p->functions[function];
    struct onnx_scope *scope = arena_alloc(w->p->arena, sizeof *scope);
    struct onnx_frame *frame;
    uint32_t i = 0, instance;

    if (f->active || w->n_frames >= FRAMES_MOST) {
        w->recursive += f->active;
        return false;
    }
    call = call_of_module(w, &w->p->nodes[node], call);
    if (!scope || w->stop) {
        w->stop = true;
        return true;
    }
    *scope = (struct onnx_scope){&w->p->nodes[node], f, top(w)->scope};
    frame = walk_push(w, FRAME_FUNCTION, f->graph, top(w));
    if (!frame)
        return true;
    frame->call = call;
    frame->scope = scope;
    frame->caller = node;
    frame->function = function;
    instance = frame->instance;
    f->active = true;
    for
        ONNX_EACH(at, w->p, names, f->inputs)
        {
            uint32_t value = i < n ? inputs[i] : PROGRAM_NONE;

            if (value == PROGRAM_NONE)
                value =
                    walk_simple(w, PROGRAM_MERGE, w->p->names[at].name, &nothing, call);
            walk_bind(w, instance, w->p->names[at].name, value);
            i++;
        }
    return true;
}

static void leave_function(struct onnx_walk *w)
{
    struct onnx_frame frame = *top(w);
    struct onnx_function *f = &w->p->functions[frame.function];
    uint32_t *values =
        arena_array(w->p->arena, (size_t)f->outputs.n + 1, sizeof *values);
    uint32_t n = 0;

    f->active = false;
    for
        ONNX_EACH(at, w->p, names, f->outputs)
    if (values)
        values[n++] = walk_read(w, &frame, w->p->names[at].name);
    w->n_frames--;
    bind_outputs(w, &w->p->nodes[frame.caller], values, n);
}

/* ---- subgraphs ---- */

/* The graphs in the attributes of a node; then_branch of an If comes first. */
static uint32_t list_graphs(struct onnx_walk *w, const struct onnx_node *node,
                            uint32_t *to)
{
    uint32_t n = 0;

    for
        ONNX_EACH(i, w->p, attrs, node->attrs)
        {
            const struct onnx_attr *attr = &w->p->attrs[i];

            if (attr->type != ONNX_GRAPH && attr->type != ONNX_GRAPHS)
                continue;
            for (uint32_t g = attr->graph; g != ONNX_NONE; g = w->p->graphs[g].next) {
                if (to)
                    to[n] = g;
                n++;
            }
        }
    if (to && n == 2 &&
        str_is(onnx_text(w->p, w->p->graphs[to[0]].attr), "else_branch")) {
        uint32_t first = to[0];

        to[0] = to[1];
        to[1] = first;
    }
    return n;
}

static uint32_t add_region(struct onnx_walk *w, const struct onnx_flow *flow)
{
    struct program_region region = {.taken = -1,
                                    .parent = top(w)->region,
                                    .call = flow->call,
                                    .condition = PROGRAM_NONE,
                                    .ops = w->program->n_ops,
                                    .end = w->program->n_ops};
    uint32_t i;

    if (flow->branches)
        region.kind = flow->next == 0 ? PROGRAM_IF : PROGRAM_ELSE;
    else
        region.kind = PROGRAM_LOOP;
    if (flow->branches || flow->n_carried > 0)
        for (uint32_t k = 0; k < flow->n_inputs && k < (flow->branches ? 1 : 2); k++)
            if (region.condition == PROGRAM_NONE)
                region.condition = flow->inputs[k];
    walk_line(w, &w->p->nodes[flow->node], &region.file, &region.line);
    i = build_program_region(w->build, &region);
    if (i == PROGRAM_NONE)
        w->stop = true;
    return i;
}

/* What is known of a loop-carried value in every iteration: its shape may change. */
static struct onnx_known known_of(const struct onnx_walk *w, uint32_t value, bool shape)
{
    struct onnx_known known = {.rank = -1};

    if (value == PROGRAM_NONE)
        return known;
    if (shape)
        return w->values[value].known;
    known.dtype = w->values[value].known.dtype;
    return known;
}

/* Binds the inputs of the body of a loop: carried values, slices of an input (Scan) or
 * the iteration number. */
static void bind_body(struct onnx_walk *w, struct onnx_flow *flow,
                      const struct onnx_frame *frame)
{
    const struct onnx_graph *graph = &w->p->graphs[frame->graph];
    bool loop = str_is(onnx_text(w->p, w->p->nodes[flow->node].op_type), "Loop");
    uint32_t k = 0, skip = loop ? 2 : 0;

    for
        ONNX_EACH(at, w->p, types, graph->inputs)
        {
            uint32_t input = k - skip + flow->first_carried,
                     name = w->p->types[at].name;
            uint32_t from = k >= skip && input < flow->n_inputs ? flow->inputs[input]
                                                                : PROGRAM_NONE;
            struct onnx_known known = known_of(w, from, false);
            uint32_t value;

            known = walk_known(w, frame->graph, name, &known);
            value = walk_simple(w, PROGRAM_MERGE, name, &known, frame->call);
            if (value == PROGRAM_NONE)
                return;
            w->values[value].plain = from == PROGRAM_NONE;
            w->program->values[value].loop = true;
            if (k >= skip && k - skip < flow->n_carried)
                flow->carried[k - skip] = value;
            else if (from != PROGRAM_NONE &&
                     build_program_sources(w->build, value, &from, 1) < 0)
                w->stop = true;
            walk_bind(w, frame->instance, name, value);
            k++;
        }
}

/* Enters the next graph of a node. */
static void push_graph(struct onnx_walk *w, struct onnx_flow *flow)
{
    uint32_t region = add_region(w, flow);
    struct onnx_frame *frame, copy;

    if (w->stop)
        return;
    frame = walk_push(w, FRAME_SUBGRAPH, flow->graphs[flow->next], top(w));
    if (!frame)
        return;
    frame->region = region;
    frame->call = flow->call;
    frame->flow = flow;
    frame->caller = flow->node;
    copy = *frame;
    if (!flow->branches)
        bind_body(w, flow, &copy);
}

static struct onnx_flow *new_flow(struct onnx_walk *w, uint32_t node, uint32_t call,
                                  const uint32_t *inputs, uint32_t n)
{
    const struct onnx_node *of = &w->p->nodes[node];
    struct arena *arena = w->p->arena;
    struct str name = onnx_text(w->p, of->op_type);
    struct onnx_flow *flow = arena_alloc(arena, sizeof *flow);

    if (!flow)
        return NULL;
    *flow = (struct onnx_flow){.node = node, .call = call, .n_inputs = n};
    flow->n_graphs = list_graphs(w, of, NULL);
    flow->n_results = of->outputs.n;
    flow->graphs = arena_array(arena, (size_t)flow->n_graphs + 1, sizeof(uint32_t));
    flow->inputs = arena_array(arena, (size_t)n + 1, sizeof(uint32_t));
    flow->carried = arena_array(arena, (size_t)n + 1, sizeof(uint32_t));
    flow->results = arena_array(arena, (size_t)flow->n_graphs * flow->n_results + 1,
                                sizeof(uint32_t));
    if (!flow->graphs || !flow->inputs || !flow->carried || !flow->results)
        return NULL;
    list_graphs(w, of, flow->graphs);
    if (n > 0)
        memcpy(flow->inputs, inputs, n * sizeof *inputs);
    for (uint32_t i = 0; i <= n; i++)
        flow->carried[i] = PROGRAM_NONE;
    flow->branches = str_is(name, "If");
    if (str_is(name, "Loop")) {
        flow->first_carried = 2;
        flow->n_carried = n > 2 ? n - 2 : 0;
        flow->skip = 1; /* the condition */
    } else if (str_is(name, "Scan")) {
        const struct onnx_attr *attr = onnx_attr_find(w->p, of, "num_scan_inputs");
        int64_t scans = attr && attr->type == ONNX_INT
                            ? value_at(&w->build->model->values, attr->value)->integer
                            : 0;

        flow->n_carried = scans >= 0 && scans <= n ? n - (uint32_t)scans : 0;
    }
    return flow;
}

/* Records the values that the graph of the last frame returns, by output of the node.
 */
static void take_results(struct onnx_walk *w, struct onnx_flow *flow,
                         const struct onnx_frame *frame)
{
    const struct onnx_graph *graph = &w->p->graphs[frame->graph];
    uint32_t *to = flow->results + (size_t)flow->next * flow->n_results, k = 0;

    for (uint32_t i = 0; i < flow->n_results; i++)
        to[i] = PROGRAM_NONE;
    for
        ONNX_EACH(at, w->p, types, graph->outputs)
        {
            if (k >= flow->skip && k - flow->skip < flow->n_results)
                to[k - flow->skip] = walk_read(w, frame, w->p->types[at].name);
            k++;
        }
}

/* What two values have in common: dtype, rank and equal sizes. */
static struct onnx_known both(struct onnx_walk *w, const struct onnx_known *a,
                              const struct onnx_known *b)
{
    struct onnx_known known = {.rank = -1, .dtype = a->dtype};
    int64_t *dims;

    if (a->dtype != b->dtype)
        known.dtype = DTYPE_UNKNOWN;
    if (a->rank < 0 || a->rank != b->rank)
        return known;
    dims = arena_array(w->p->arena, (size_t)a->rank + 1, sizeof *dims);
    if (!dims)
        return known;
    for (int32_t i = 0; i < a->rank; i++)
        dims[i] = a->dims[i] == b->dims[i] ? a->dims[i] : ONNX_ANY;
    known.rank = a->rank;
    known.dims = dims;
    return known;
}

/* The value of output i, after all graphs of the node were followed. */
static uint32_t result(struct onnx_walk *w, const struct onnx_flow *flow, uint32_t name,
                       uint32_t i)
{
    uint32_t sources[2], n = 0, value;
    struct onnx_known known = {.rank = -1};

    if (!flow->branches && i < flow->n_carried)
        return flow->carried[i];
    for (uint32_t g = 0; g < flow->n_graphs && n < 2; g++) {
        uint32_t from = flow->results[(size_t)g * flow->n_results + i];

        if (from == PROGRAM_NONE)
            continue;
        if (flow->branches)
            known = n == 0 ? known_of(w, from, true)
                           : both(w, &known, &w->values[from].known);
        else
            known = known_of(w, from, false);
        sources[n++] = from;
    }
    known.numbers = NULL;
    known = walk_known(w, top(w)->graph, name, &known);
    value = walk_simple(w, PROGRAM_MERGE, name, &known, flow->call);
    if (value != PROGRAM_NONE && build_program_sources(w->build, value, sources, n) < 0)
        w->stop = true;
    return value;
}

/* A carried value comes from outside first, then from the previous iteration. */
static void close_loop(struct onnx_walk *w, const struct onnx_flow *flow)
{
    for (uint32_t i = 0; i < flow->n_carried; i++) {
        uint32_t sources[2], n = 0, input = flow->first_carried + i;

        if (flow->carried[i] == PROGRAM_NONE)
            continue;
        if (input < flow->n_inputs && flow->inputs[input] != PROGRAM_NONE)
            sources[n++] = flow->inputs[input];
        w->program->values[flow->carried[i]].n_before = n;
        if (i < flow->n_results && flow->results[i] != PROGRAM_NONE)
            sources[n++] = flow->results[i];
        if (build_program_sources(w->build, flow->carried[i], sources, n) < 0)
            w->stop = true;
    }
}

static void leave_subgraph(struct onnx_walk *w)
{
    struct onnx_frame frame = *top(w);
    struct onnx_flow *flow = frame.flow;
    const struct onnx_node *node = &w->p->nodes[flow->node];
    uint32_t *values, i = 0;

    take_results(w, flow, &frame);
    if (w->stop)
        return;
    w->program->regions[frame.region].end = w->program->n_ops;
    w->n_frames--;
    if (++flow->next < flow->n_graphs) {
        push_graph(w, flow);
        return;
    }
    if (flow->body)
        return;
    if (!flow->branches)
        close_loop(w, flow);
    values = arena_array(w->p->arena, (size_t)flow->n_results + 1, sizeof *values);
    for
        ONNX_EACH(at, w->p, names, node->outputs)
        {
            if (values && !w->stop)
                values[i] = result(w, flow, w->p->names[at].name, i);
            i++;
        }
    bind_outputs(w, node, values, values ? flow->n_results : 0);
}

/* ---- both ---- */

static bool is_flow(const struct onnx_walk *w, const struct onnx_node *node)
{
    struct str name = onnx_text(w->p, node->op_type);

    return onnx_is_standard(onnx_text(w->p, node->domain)) &&
           (str_is(name, "If") || str_is(name, "Loop") || str_is(name, "Scan"));
}

bool walk_enter(struct onnx_walk *w, uint32_t node, const uint32_t *inputs, uint32_t n,
                uint32_t call)
{
    uint32_t function = find_function(w, &w->p->nodes[node]);
    struct onnx_flow *flow;

    if (function != ONNX_NONE)
        return enter_function(w, node, function, inputs, n, call);
    if (!is_flow(w, &w->p->nodes[node]) || w->n_frames >= FRAMES_MOST ||
        list_graphs(w, &w->p->nodes[node], NULL) == 0)
        return false;
    flow = new_flow(w, node, call, inputs, n);
    if (flow)
        push_graph(w, flow);
    else
        w->stop = true;
    return true;
}

void walk_body(struct onnx_walk *w, uint32_t node, uint32_t call)
{
    struct onnx_flow *flow;

    if (is_flow(w, &w->p->nodes[node]) || w->n_frames >= FRAMES_MOST ||
        list_graphs(w, &w->p->nodes[node], NULL) == 0)
        return;
    flow = new_flow(w, node, call, NULL, 0);
    if (!flow) {
        w->stop = true;
        return;
    }
    flow->body = true;
    flow->n_results = 0;
    push_graph(w, flow);
}

void walk_leave(struct onnx_walk *w)
{
    struct onnx_frame *frame = top(w);

    if (frame->kind == FRAME_FUNCTION)
        leave_function(w);
    else if (frame->kind == FRAME_SUBGRAPH)
        leave_subgraph(w);
    else
        w->n_frames--;
}
