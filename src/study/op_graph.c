#include "study/op_graph_in.h"

const char *op_graph_kind_name(enum op_graph_kind kind)
{
    static const char *const names[OP_GRAPH_KINDS] = {
        "op", "call", "input", "parameter", "buffer", "outside", "output", "unclear"};

    return kind < OP_GRAPH_KINDS ? names[kind] : "";
}

const char *op_graph_level_name(enum op_graph_level level)
{
    return level == OP_GRAPH_OPS ? "ops" : "modules";
}

uint32_t graph_node(struct op_graph_walk *walk, struct op_graph_node node)
{
    struct op_graph *graph = walk->graph;

    if (arena_room(walk->arena, &graph->nodes, graph->n_nodes, &graph->nodes_room,
                   sizeof *graph->nodes) < 0)
        return NO_NODE;
    graph->nodes[graph->n_nodes] = node;
    return graph->n_nodes++;
}

static bool same_edge(const struct op_graph_edge *a, const struct op_graph_edge *b)
{
    return a->source == b->source && a->target == b->target && a->value == b->value;
}

int graph_edge(struct op_graph_walk *walk, struct op_graph_edge edge)
{
    struct op_graph *graph = walk->graph;
    uint64_t key =
        hash_mix((uint64_t)edge.source << 32 | edge.target, (uint64_t)edge.value);
    uint32_t before;

    if (edge.source == edge.target)
        return 0;
    for (; map_find(&walk->edges, key, &before); key++)
        if (same_edge(&graph->edges[before], &edge))
            return 0;
    if (arena_room(walk->arena, &graph->edges, graph->n_edges, &graph->edges_room,
                   sizeof *graph->edges) < 0 ||
        map_put(&walk->edges, key, graph->n_edges) < 0)
        return -1;
    graph->edges[graph->n_edges++] = edge;
    return 0;
}

bool graph_is_pass(const struct op_graph_walk *walk, uint32_t number)
{
    const struct run_call *call = &walk->run->calls[number];

    if (walk->inside)
        return number == walk->within;
    return call->parent == RUN_NONE && !(call->flags & RUN_RECOMPUTED);
}

/* ---- nodes that ran ---- */

static bool is_inside(const struct op_graph_walk *walk, uint32_t call)
{
    return !walk->inside || (call < walk->run->n_calls && walk->inside[call]);
}

/* Marks the calls that are nodes with 0: those that call no other module. */
static void find_leaves(struct op_graph_walk *walk)
{
    const struct run *run = walk->run;

    for (uint32_t i = 0; i < run->n_calls; i++)
        walk->call_node[i] =
            run->calls[i].flags & RUN_RECOMPUTED || !is_inside(walk, i) ? NO_NODE : 0;
    for (uint32_t i = 0; i < run->n_calls; i++)
        if (run->calls[i].parent < run->n_calls)
            walk->call_node[run->calls[i].parent] = NO_NODE;
}

static int add_call(struct op_graph_walk *walk, uint32_t call)
{
    struct op_graph_node node = {.kind = OP_GRAPH_CALL,
                                 .op = RUN_NONE,
                                 .call = call,
                                 .io = RUN_NONE,
                                 .tensor = RUN_NONE,
                                 .value = RUN_NONE};

    walk->call_node[call] = graph_node(walk, node);
    return walk->call_node[call] == NO_NODE ? -1 : 0;
}

static uint32_t first_result(const struct run *run, const struct run_op *op)
{
    const struct run_op_io *io;
    uint32_t at = 0;

    io = op_next(run, op, OP_OUT, &at);
    at = 0;
    if (!io)
        io = op_next(run, op, OP_WRITTEN, &at);
    return io ? io->value : RUN_NONE;
}

static int add_op(struct op_graph_walk *walk, uint32_t number)
{
    const struct run_op *op = &walk->run->ops->ops[number];
    struct op_graph_node node = {.kind = OP_GRAPH_OP,
                                 .op = number,
                                 .call = op->call,
                                 .io = RUN_NONE,
                                 .tensor = RUN_NONE,
                                 .value = first_result(walk->run, op)};

    walk->op_node[number] = graph_node(walk, node);
    return walk->op_node[number] == NO_NODE ? -1 : 0;
}

/* Adds an operation to the node of its call. */
static void join_call(struct op_graph_walk *walk, uint32_t number)
{
    const struct run_op *op = &walk->run->ops->ops[number];
    struct op_graph_node *node = &walk->graph->nodes[walk->call_node[op->call]];

    walk->op_node[number] = walk->call_node[op->call];
    if (node->n_ops++ == 0)
        node->op = number;
    if (op->flops != OP_NO_FLOPS) {
        node->flops += (uint64_t)op->flops;
        node->has_flops = true;
    }
}

static bool is_wanted(const struct op_graph_wanted *wanted, const struct run_op *op)
{
    if (wanted->level == OP_GRAPH_MODULES)
        return op->phase == OP_FORWARD;
    return !wanted->phases || wanted->phases >> op->phase & 1;
}

static int add_ops(struct op_graph_walk *walk, const struct op_graph_wanted *wanted)
{
    const struct run_ops *ops = walk->run->ops;
    bool lifted = wanted->level == OP_GRAPH_MODULES;
    uint32_t call = 0;

    for (uint32_t i = 0; i < ops->n_ops; i++) {
        const struct run_op *op = &ops->ops[i];

        walk->op_node[i] = NO_NODE;
        if (!is_wanted(wanted, op) || !is_inside(walk, op->call))
            continue;
        for (; lifted && call < walk->run->n_calls &&
               walk->run->calls[call].start_ns <= op->start_ns;
             call++)
            if (walk->call_node[call] != NO_NODE && add_call(walk, call) < 0)
                return -1;
        /* The node of a call that begins in the same clock tick as its operation does
         * not exist yet. */
        for (; lifted && op->call < walk->run->n_calls && call <= op->call; call++)
            if (walk->call_node[call] != NO_NODE && add_call(walk, call) < 0)
                return -1;
        if (lifted && op->call < walk->run->n_calls &&
            walk->call_node[op->call] != NO_NODE)
            join_call(walk, i);
        else if (add_op(walk, i) < 0)
            return -1;
    }
    for (; lifted && call < walk->run->n_calls; call++)
        if (walk->call_node[call] != NO_NODE && add_call(walk, call) < 0)
            return -1;
    return 0;
}

static int add_calls(struct op_graph_walk *walk)
{
    for (uint32_t i = 0; i < walk->run->n_calls; i++)
        if (walk->call_node[i] != NO_NODE && add_call(walk, i) < 0)
            return -1;
    return 0;
}

/* ---- what autograd saves ---- */

static bool is_detach(const struct op_graph_walk *walk,
                      const struct op_graph_node *node)
{
    const struct run_ops *ops = walk->run->ops;

    return node->kind == OP_GRAPH_OP &&
           ops->kinds[ops->ops[node->op].kind].flags & OP_DETACHES;
}

static void keep_edges(struct op_graph *graph, const uint32_t *number)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < graph->n_edges; i++) {
        struct op_graph_edge edge = graph->edges[i];

        if (number[edge.target] == NO_NODE)
            continue;
        edge.source = number[edge.source];
        edge.target = number[edge.target];
        graph->edges[n++] = edge;
    }
    graph->n_edges = n;
}

/* Removes each detach whose result is not read. */
static int drop_detached(struct op_graph_walk *walk)
{
    struct op_graph *graph = walk->graph;
    uint32_t n = 0, *number = arena_array(&walk->scratch, (size_t)graph->n_nodes + 1,
                                          sizeof *number);

    if (!number)
        return -1;
    for (uint32_t i = 0; i < graph->n_edges; i++)
        number[graph->edges[i].source] = 1;
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        if (!number[i] && is_detach(walk, &graph->nodes[i])) {
            number[i] = NO_NODE;
            continue;
        }
        graph->nodes[n] = graph->nodes[i];
        number[i] = n++;
    }
    graph->n_nodes = n;
    keep_edges(graph, number);
    return 0;
}

/* ---- the graph ---- */

static int begin(struct op_graph_walk *walk)
{
    const struct run_ops *ops = walk->run->ops;
    size_t n_calls = walk->run->n_calls, n_ops = ops ? ops->n_ops : 0;
    size_t n_values = ops ? ops->n_values : 0;

    arena_init(&walk->scratch, 0);
    map_init(&walk->edges, &walk->scratch);
    map_init(&walk->makers, &walk->scratch);
    map_init(&walk->others, &walk->scratch);
    map_init(&walk->storages, &walk->scratch);
    walk->call_node = arena_array(&walk->scratch, n_calls + 1, sizeof *walk->call_node);
    walk->op_node = arena_array(&walk->scratch, n_ops + 1, sizeof *walk->op_node);
    walk->call_ops = arena_array(&walk->scratch, n_calls + 1, sizeof *walk->call_ops);
    walk->followed = arena_array(&walk->scratch, n_values + 1, sizeof *walk->followed);
    return walk->call_node && walk->op_node && walk->call_ops && walk->followed ? 0
                                                                                : -1;
}

/* Marks the calls inside the one that the graph is limited to: they come after it. */
static int find_inside(struct op_graph_walk *walk)
{
    const struct run *run = walk->run;

    walk->inside = arena_array(&walk->scratch, (size_t)run->n_calls + 1, sizeof(bool));
    if (!walk->inside)
        return -1;
    walk->inside[walk->within] = true;
    for (uint32_t i = walk->within + 1; i < run->n_calls; i++)
        walk->inside[i] =
            run->calls[i].parent < i && walk->inside[run->calls[i].parent];
    return 0;
}

static int fill(struct op_graph_walk *walk, const struct op_graph_wanted *wanted)
{
    if (begin(walk) < 0 || (walk->within != RUN_NONE && find_inside(walk) < 0))
        return -1;
    find_leaves(walk);
    if (!walk->graph->exact)
        return add_calls(walk) < 0 ? -1 : graph_by_calls(walk);
    if (add_ops(walk, wanted) < 0 || graph_by_ops(walk) < 0)
        return -1;
    return wanted->level == OP_GRAPH_MODULES || walk->inside ? drop_detached(walk) : 0;
}

int op_graph_make(struct op_graph *ret_graph, const struct run *run,
                  struct op_graph_wanted wanted, struct arena *arena, struct err *err)
{
    struct op_graph graph = {.level = wanted.level, .exact = run->ops != NULL};
    struct op_graph_walk walk = {
        .graph = &graph, .run = run, .arena = arena, .within = wanted.within - 1};
    int status;

    if (wanted.level == OP_GRAPH_OPS && !run->ops)
        return err_set(err, ERR_UNSUPPORTED,
                       "this recording has no operations: record them with "
                       "record(model, ops=True) or trace(model, ...)");
    if (wanted.within > run->n_calls)
        return err_set(err, ERR_USAGE, "the recording has no call %u", walk.within);
    status = fill(&walk, &wanted);
    arena_release(&walk.scratch);
    if (status < 0)
        return arena_err(arena, "the graph", err);
    *ret_graph = graph;
    return 0;
}
