/* Edges from the values of calls, for a run without operations: one call returned a
 * value, and another took it. If only the storage is the same, an operation viewed it
 * or wrote to it: the edge is loose. */
#include "study/op_graph_in.h"

static bool has_value(const struct run_io *io, enum run_io_kind kind)
{
    return io->kind == kind && io->value != RUN_NONE;
}

static int take(struct op_graph_walk *walk, uint32_t value, uint32_t target)
{
    const struct run_value *of = &walk->run->values[value];
    struct op_graph_edge edge = {.target = target, .value = value};

    if (!map_find(&walk->makers, value, &edge.source)) {
        if (of->flags & RUN_PARAMETER || of->storage == RUN_NONE ||
            !map_find(&walk->storages, of->storage, &edge.source))
            return 0;
        edge.loose = true;
    }
    return graph_edge(walk, edge);
}

static int give(struct op_graph_walk *walk, uint32_t value, uint32_t node)
{
    const struct run_value *of = &walk->run->values[value];

    if (map_put(&walk->makers, value, node) < 0)
        return -1;
    if (of->flags & RUN_PARAMETER || of->storage == RUN_NONE)
        return 0;
    return map_put(&walk->storages, of->storage, node);
}

static int add_io(struct op_graph_walk *walk, uint32_t call, uint32_t io,
                  enum op_graph_kind kind, uint32_t *ret_node)
{
    struct op_graph_node node = {.kind = (uint8_t)kind,
                                 .op = RUN_NONE,
                                 .call = call,
                                 .io = io,
                                 .tensor = RUN_NONE,
                                 .value = walk->run->ios[io].value,
                                 .given = kind == OP_GRAPH_INPUT};

    *ret_node = graph_node(walk, node);
    return *ret_node == NO_NODE ? -1 : 0;
}

/* The arguments of a pass: nodes, unless an earlier call returned them. */
static int begin_pass(struct op_graph_walk *walk, uint32_t call)
{
    const struct run *run = walk->run;
    const struct run_call *pass = &run->calls[call];

    for (uint32_t i = pass->ios; i < pass->ios + pass->n_ios; i++) {
        uint32_t node;

        if (!has_value(&run->ios[i], RUN_IN) ||
            run->values[run->ios[i].value].flags & RUN_PARAMETER)
            continue;
        if (map_find(&walk->makers, run->ios[i].value, &node)) {
            walk->graph->nodes[node].given = true;
            continue;
        }
        if (add_io(walk, call, i, OP_GRAPH_INPUT, &node) < 0 ||
            give(walk, run->ios[i].value, node) < 0)
            return -1;
    }
    return 0;
}

static int run_call_node(struct op_graph_walk *walk, uint32_t call)
{
    const struct run *run = walk->run;
    const struct run_call *of = &run->calls[call];
    uint32_t node = walk->call_node[call];

    for (uint32_t i = of->ios; i < of->ios + of->n_ios; i++)
        if (has_value(&run->ios[i], RUN_IN) && take(walk, run->ios[i].value, node) < 0)
            return -1;
    for (uint32_t i = of->ios; i < of->ios + of->n_ios; i++) {
        if (!has_value(&run->ios[i], RUN_OUT))
            continue;
        if (walk->graph->nodes[node].value == RUN_NONE)
            walk->graph->nodes[node].value = run->ios[i].value;
        if (give(walk, run->ios[i].value, node) < 0)
            return -1;
    }
    return 0;
}

static int end_pass(struct op_graph_walk *walk, uint32_t call)
{
    const struct run *run = walk->run;
    const struct run_call *pass = &run->calls[call];

    for (uint32_t i = pass->ios; i < pass->ios + pass->n_ios; i++) {
        uint32_t node;

        if (!has_value(&run->ios[i], RUN_OUT))
            continue;
        if (add_io(walk, call, i, OP_GRAPH_OUTPUT, &node) < 0 ||
            take(walk, run->ios[i].value, node) < 0)
            return -1;
    }
    return 0;
}

/* Calls are in the order in which they began, so a pass ends before the next begins;
 * passes on other threads end with the last of all. */
int graph_by_calls(struct op_graph_walk *walk)
{
    const struct run *run = walk->run;
    uint32_t pass = RUN_NONE;

    for (uint32_t i = 0; i < run->n_calls; i++) {
        if (graph_is_pass(walk, i)) {
            if (pass != RUN_NONE && end_pass(walk, pass) < 0)
                return -1;
            pass = i;
            if (begin_pass(walk, i) < 0)
                return -1;
        }
        if (walk->call_node[i] != NO_NODE && run_call_node(walk, i) < 0)
            return -1;
    }
    return pass != RUN_NONE ? end_pass(walk, pass) : 0;
}
