#include "study/program_graph.h"

#include "base/map.h"
#include "study/program_data.h"

#define NODE_NONE UINT32_MAX
/* Limits the steps from readers back to sources: consecutive conditions could multiply
 * them. */
#define STEPS_EACH  8 /* for each value that is read or merged */
#define STEPS_LEAST 20000

struct program_making {
    const struct model *model;
    const struct program *program;
    struct arena *arena;
    struct op_graph graph;
    struct program_data data;
    uint32_t within, begin, end; /* the call, and its operations */
    bool *inside;                /* by call: it is done, and within the call */
    bool *leaf;                  /* by call: inside, and calls no other module */
    bool *passes;                /* by call: a leaf that returns what it was given */
    uint32_t *op_node;           /* by operation */
    uint32_t *call_node;         /* by call */
    uint32_t *region_node;       /* by region: of code that was not understood */
    uint32_t *from;              /* by value: the node that it comes from; NODE_NONE:
                                    its producer */
    uint32_t *stack, *seen;      /* private: values being followed */
    uint32_t search;
    uint64_t steps, steps_most;
    struct map edges; /* existing edges */
};

/* ---- what is part of it ---- */

static bool is_dead(const struct program_making *m, uint32_t region)
{
    return program_region_flags(m->program, region) & PROGRAM_DEAD;
}

/* Is an operation a part of the graph? */
static bool is_node(const struct program_making *m, uint32_t op)
{
    return op >= m->begin && op < m->end && m->data.op[op] &&
           m->inside[m->program->ops[op].call] &&
           !is_dead(m, m->program->ops[op].region);
}

/* NULL if it takes and returns nothing: the program may have no ios at all. */
static const struct program_io *ios_of(const struct program_making *m,
                                       const struct program_call *call)
{
    return call->n_in + call->n_out > 0 ? &m->program->ios[call->io] : NULL;
}

/* Does a leaf without operations return what it was given? */
static bool passes_on(struct program_making *m, uint32_t call)
{
    const struct program_call *of = &m->program->calls[call];
    const struct program_io *ios = ios_of(m, of);

    for (uint32_t i = of->ops; i < of->end && i < m->program->n_ops; i++)
        if (is_node(m, i))
            return false;
    m->search++;
    for (uint32_t i = 0; i < of->n_in; i++)
        if (m->data.value[ios[i].value])
            m->seen[ios[i].value] = m->search;
    for (uint32_t i = of->n_in; i < (uint32_t)of->n_in + of->n_out; i++)
        if (m->seen[ios[i].value] == m->search)
            return true;
    return false;
}

static void find_calls(struct program_making *m)
{
    const struct program_call *calls = m->program->calls;

    for (uint32_t i = m->within; i < m->program->n_calls; i++) {
        m->inside[i] = m->leaf[i] =
            i == m->within ||
            (i > m->within && calls[i].parent < i && m->inside[calls[i].parent] &&
             !is_dead(m, calls[i].region));
        if (m->inside[i] && i > m->within)
            m->leaf[calls[i].parent] = false;
    }
    for (uint32_t i = m->within; i < m->program->n_calls; i++)
        m->passes[i] = m->leaf[i] && passes_on(m, i);
}

/* ---- nodes ---- */

static uint32_t add_node(struct program_making *m, enum op_graph_kind kind,
                         uint32_t value)
{
    struct op_graph *graph = &m->graph;

    if (arena_room(m->arena, &graph->nodes, graph->n_nodes, &graph->nodes_room,
                   sizeof *graph->nodes) < 0)
        return NODE_NONE;
    graph->nodes[graph->n_nodes] = (struct op_graph_node){.kind = (uint8_t)kind,
                                                          .op = RUN_NONE,
                                                          .call = RUN_NONE,
                                                          .io = RUN_NONE,
                                                          .tensor = RUN_NONE,
                                                          .value = value};
    return graph->n_nodes++;
}

/* The first result of an operation or call that is data. */
static uint32_t first_result(const struct program_making *m, uint32_t io, uint32_t n_in,
                             uint32_t n_out)
{
    for (uint32_t i = io + n_in; i < io + n_in + n_out; i++)
        if (m->data.value[m->program->ios[i].value])
            return m->program->ios[i].value;
    return RUN_NONE;
}

static int add_call(struct program_making *m, uint32_t call)
{
    const struct program_call *of = &m->program->calls[call];
    uint32_t node = m->call_node[call];

    if (node != NODE_NONE)
        return 0;
    node = add_node(m, OP_GRAPH_CALL, first_result(m, of->io, of->n_in, of->n_out));
    if (node == NODE_NONE)
        return -1;
    m->call_node[call] = node;
    m->graph.nodes[node].call = call;
    return 0;
}

static bool is_call_node(const struct program_making *m, uint32_t call)
{
    return m->graph.level == OP_GRAPH_MODULES && m->leaf[call];
}

static int add_op(struct program_making *m, uint32_t i)
{
    const struct program_op *op = &m->program->ops[i];
    uint32_t node;

    if (is_call_node(m, op->call)) {
        if (add_call(m, op->call) < 0)
            return -1;
        node = m->call_node[op->call];
        if (m->graph.nodes[node].n_ops++ == 0)
            m->graph.nodes[node].op = i;
    } else {
        node = add_node(m, OP_GRAPH_OP, first_result(m, op->io, op->n_in, op->n_out));
        if (node == NODE_NONE)
            return -1;
        m->graph.nodes[node].op = i;
        m->graph.nodes[node].call = op->call;
    }
    m->op_node[i] = node;
    return 0;
}

static int add_unclear(struct program_making *m, uint32_t i)
{
    const struct program_region *region = &m->program->regions[i];
    uint32_t node;

    if (region->call >= m->program->n_calls || !m->inside[region->call] ||
        is_dead(m, i))
        return 0;
    if (is_call_node(m, region->call)) {
        if (add_call(m, region->call) < 0)
            return -1;
        node = m->call_node[region->call];
    } else {
        node = add_node(m, OP_GRAPH_UNCLEAR, RUN_NONE);
        if (node == NODE_NONE)
            return -1;
        m->graph.nodes[node].call = region->call;
        m->graph.nodes[node].io = i;
    }
    m->region_node[i] = node;
    return 0;
}

/* Makes nodes in the order of the code: operations; unclear code before the operation
 * that follows it; calls without operations after earlier operations. */
struct program_order {
    uint32_t call, region; /* the next ones to add */
};

static bool next_call(const struct program_making *m, struct program_order *order,
                      uint32_t op, uint32_t *ret_call)
{
    const struct program *program = m->program;

    for (; order->call < program->n_calls; order->call++)
        if (m->passes[order->call]) {
            if (program->calls[order->call].end > op && op < m->end)
                return false;
            *ret_call = order->call++;
            return true;
        }
    return false;
}

static bool next_region(const struct program_making *m, struct program_order *order,
                        uint32_t op, uint32_t *ret_region)
{
    const struct program *program = m->program;

    for (; order->region < program->n_regions; order->region++)
        if (program->regions[order->region].kind == PROGRAM_UNCLEAR) {
            if (program->regions[order->region].ops > op && op < m->end)
                return false;
            *ret_region = order->region++;
            return true;
        }
    return false;
}

static int add_nodes(struct program_making *m)
{
    struct program_order order = {.call = m->within};
    uint32_t other;

    for (uint32_t i = m->begin; i <= m->end; i++) {
        while (next_call(m, &order, i, &other))
            if (add_call(m, other) < 0)
                return -1;
        while (next_region(m, &order, i, &other))
            if (add_unclear(m, other) < 0)
                return -1;
        if (i < m->end && is_node(m, i) && add_op(m, i) < 0)
            return -1;
    }
    return 0;
}

static int add_inputs(struct program_making *m)
{
    const struct program_call *call = &m->program->calls[m->within];

    for (uint32_t i = call->io; i < call->io + call->n_in; i++) {
        uint32_t value = m->program->ios[i].value, node;

        if (!m->data.value[value] || m->from[value] != NODE_NONE ||
            m->program->values[value].kind == PROGRAM_TENSOR)
            continue;
        node = add_node(m, OP_GRAPH_INPUT, value);
        if (node == NODE_NONE)
            return -1;
        m->graph.nodes[node].io = i;
        m->graph.nodes[node].call = m->within;
        m->graph.nodes[node].given = true;
        m->from[value] = node;
    }
    return 0;
}

/* ---- edges ---- */

static int add_edge(struct program_making *m, uint32_t source, uint32_t target,
                    uint32_t value)
{
    struct op_graph *graph = &m->graph;
    uint64_t key = hash_mix(hash_mix(hash_u64(source), target), value);
    uint32_t before;

    if (source == target || source == NODE_NONE || map_find(&m->edges, key, &before))
        return 0;
    if (map_put(&m->edges, key, graph->n_edges) < 0 ||
        arena_room(m->arena, &graph->edges, graph->n_edges, &graph->edges_room,
                   sizeof *graph->edges) < 0)
        return -1;
    graph->edges[graph->n_edges++] =
        (struct op_graph_edge){.source = source, .target = target, .value = value};
    return 0;
}

/* The node of a value that no operation inside made. */
static uint32_t add_tensor(struct program_making *m, uint32_t value)
{
    const struct program_value *of = &m->program->values[value];
    bool known = of->kind == PROGRAM_TENSOR && of->tensor < m->model->n_tensors;
    enum op_graph_kind kind = OP_GRAPH_OUTSIDE;

    if (of->kind == PROGRAM_TENSOR)
        kind = known && m->model->tensors[of->tensor].role == ROLE_PARAMETER
                   ? OP_GRAPH_PARAMETER
                   : OP_GRAPH_BUFFER;
    m->from[value] = add_node(m, kind, value);
    if (known && m->from[value] != NODE_NONE)
        m->graph.nodes[m->from[value]].tensor = of->tensor;
    return m->from[value];
}

/* Where a value that is not merged comes from; *ret_node may become NODE_NONE. */
static int find_source(struct program_making *m, uint32_t value, uint32_t *ret_node)
{
    const struct program_value *of = &m->program->values[value];

    *ret_node = m->from[value];
    if (*ret_node != NODE_NONE || of->kind == PROGRAM_STORED)
        return 0;
    if (of->kind == PROGRAM_OPAQUE) {
        if (of->producer < m->program->n_regions)
            *ret_node = m->region_node[of->producer];
        return 0;
    }
    if (of->kind == PROGRAM_RESULT && of->producer >= m->begin &&
        of->producer < m->end) {
        *ret_node = m->op_node[of->producer];
        return 0;
    }
    *ret_node = add_tensor(m, value);
    return *ret_node == NODE_NONE ? -1 : 0;
}

/* An edge from each node that a value may come from. */
static int link_value(struct program_making *m, uint32_t target, uint32_t value)
{
    const struct program *program = m->program;
    bool whole = m->graph.nodes[target].kind == OP_GRAPH_CALL;
    uint32_t n = 0;

    m->search++;
    m->stack[n++] = value;
    m->seen[value] = m->search;
    while (n > 0) {
        uint32_t at = m->stack[--n], node;
        const struct program_value *of = &program->values[at];

        if (m->steps++ >= m->steps_most) {
            m->graph.cut = true;
            return 0;
        }
        /* The parameters of a module are part of its calls. */
        if (!m->data.value[at] || (whole && of->kind == PROGRAM_TENSOR))
            continue;
        if (of->kind != PROGRAM_MERGE || m->from[at] != NODE_NONE) {
            if (find_source(m, at, &node) < 0 || add_edge(m, node, target, at) < 0)
                return -1;
            continue;
        }
        for (uint32_t i = of->n_sources; i-- > 0;) {
            uint32_t source = program->sources[of->sources + i];

            if (m->seen[source] != m->search) {
                m->seen[source] = m->search;
                m->stack[n++] = source;
            }
        }
    }
    return 0;
}

static int link_op(struct program_making *m, uint32_t i)
{
    const struct program_op *op = &m->program->ops[i];

    for (uint32_t k = op->io; k < op->io + op->n_in; k++)
        if (link_value(m, m->op_node[i], m->program->ios[k].value) < 0)
            return -1;
    return 0;
}

/* The call is the source of what it passes on from here. */
static int link_call(struct program_making *m, uint32_t call)
{
    const struct program_call *of = &m->program->calls[call];
    const struct program_io *ios = ios_of(m, of);

    for (uint32_t i = 0; i < of->n_in; i++)
        if (link_value(m, m->call_node[call], ios[i].value) < 0)
            return -1;
    m->search++;
    for (uint32_t i = 0; i < of->n_in; i++)
        m->seen[ios[i].value] = m->search;
    for (uint32_t i = of->n_in; i < (uint32_t)of->n_in + of->n_out; i++)
        if (m->seen[ios[i].value] == m->search && m->data.value[ios[i].value])
            m->from[ios[i].value] = m->call_node[call];
    return 0;
}

static int add_edges(struct program_making *m)
{
    struct program_order order = {.call = m->within};
    uint32_t call;

    for (uint32_t i = m->begin; i <= m->end; i++) {
        while (next_call(m, &order, i, &call))
            if (link_call(m, call) < 0)
                return -1;
        if (i < m->end && m->op_node[i] != NODE_NONE && link_op(m, i) < 0)
            return -1;
    }
    return 0;
}

static int add_outputs(struct program_making *m)
{
    const struct program_call *call = &m->program->calls[m->within];
    uint32_t first = call->io + call->n_in;

    for (uint32_t i = first; i < first + call->n_out; i++) {
        uint32_t value = m->program->ios[i].value;
        uint32_t node = add_node(m, OP_GRAPH_OUTPUT, value);

        if (node == NODE_NONE)
            return -1;
        m->graph.nodes[node].io = i;
        m->graph.nodes[node].call = m->within;
        if (link_value(m, node, value) < 0)
            return -1;
    }
    return 0;
}

/* ---- all of it ---- */

static uint32_t *no_nodes(struct arena *arena, uint32_t n)
{
    uint32_t *nodes = arena_array(arena, (size_t)n + 1, sizeof *nodes);

    for (uint32_t i = 0; nodes && i <= n; i++)
        nodes[i] = NODE_NONE;
    return nodes;
}

static int prepare(struct program_making *m)
{
    const struct program *program = m->program;
    const struct program_call *call = &program->calls[m->within];
    size_t n_calls = (size_t)program->n_calls + 1,
           n_values = (size_t)program->n_values + 1;

    m->inside = arena_array(m->arena, n_calls, sizeof(bool));
    m->leaf = arena_array(m->arena, n_calls, sizeof(bool));
    m->passes = arena_array(m->arena, n_calls, sizeof(bool));
    m->op_node = no_nodes(m->arena, program->n_ops);
    m->call_node = no_nodes(m->arena, program->n_calls);
    m->region_node = no_nodes(m->arena, program->n_regions);
    m->from = no_nodes(m->arena, program->n_values);
    m->stack = arena_array(m->arena, n_values, sizeof *m->stack);
    m->seen = arena_array(m->arena, n_values, sizeof *m->seen);
    if (!m->inside || !m->leaf || !m->passes || !m->op_node || !m->call_node ||
        !m->region_node || !m->from || !m->stack || !m->seen ||
        program_data_find(&m->data, program, m->model, m->arena) < 0)
        return -1;
    map_init(&m->edges, m->arena);
    m->steps_most =
        STEPS_LEAST + STEPS_EACH * ((uint64_t)program->n_ios + program->n_sources);
    m->begin = call->ops < program->n_ops ? call->ops : program->n_ops;
    m->end = call->end < program->n_ops ? call->end : program->n_ops;
    if (m->end < m->begin)
        m->end = m->begin;
    for (uint32_t i = call->io + call->n_in; i < call->io + call->n_in + call->n_out;
         i++)
        program_data_add(&m->data, program, program->ios[i].value, m->stack);
    find_calls(m);
    return 0;
}

int program_graph_make(struct op_graph *ret_graph, const struct model *model,
                       struct program_graph_wanted wanted, struct arena *arena,
                       struct err *err)
{
    struct program_making m = {.model = model,
                               .program = model->program,
                               .arena = arena,
                               .graph = {.level = wanted.level, .exact = true},
                               .within = wanted.within};

    if (prepare(&m) < 0 || add_nodes(&m) < 0 || add_inputs(&m) < 0 ||
        add_edges(&m) < 0 || add_outputs(&m) < 0)
        return arena_err(arena, "the graph of the program", err);
    *ret_graph = m.graph;
    return 0;
}
