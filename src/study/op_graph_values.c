/* Exact edges: from the producer of each value that an operation read. */
#include "study/op_graph_in.h"

/* Keys of walk->others: values, followed by tensors of the model. */
#define TENSOR_KEY ((uint64_t)1 << 32)

static const struct run_op_value *value_at_op(const struct op_graph_walk *walk,
                                              uint32_t value)
{
    return &walk->run->ops->values[value];
}

/* ---- values from outside ---- */

static struct op_graph_node outside_node(const struct op_graph_walk *walk,
                                         uint32_t value)
{
    const struct model *model = walk->run->model;
    uint32_t tensor = value_at_op(walk, value)->tensor;
    struct op_graph_node node = {.kind = OP_GRAPH_OUTSIDE,
                                 .op = RUN_NONE,
                                 .call = RUN_NONE,
                                 .io = RUN_NONE,
                                 .tensor = RUN_NONE,
                                 .value = value};

    if (tensor >= model->n_tensors)
        return node;
    node.tensor = tensor;
    node.kind = model->tensors[tensor].role == ROLE_BUFFER ? OP_GRAPH_BUFFER
                                                           : OP_GRAPH_PARAMETER;
    return node;
}

/* The node of a value that no operation of the graph made. All views of a parameter are
 * one node. */
static uint32_t other_node(struct op_graph_walk *walk, uint32_t value)
{
    struct op_graph_node node = outside_node(walk, value);
    uint64_t key = node.tensor == RUN_NONE ? value : TENSOR_KEY + node.tensor;
    uint32_t found;

    if (map_find(&walk->others, value, &found) || map_find(&walk->others, key, &found))
        return found;
    found = graph_node(walk, node);
    if (found == NO_NODE || map_put(&walk->others, key, found) < 0)
        return NO_NODE;
    return found;
}

/* Does a value from outside need no node? The parameters of a call are part of it. */
static bool is_own(const struct op_graph_walk *walk, uint32_t value, uint32_t target)
{
    return walk->graph->nodes[target].kind == OP_GRAPH_CALL &&
           value_at_op(walk, value)->tensor < walk->run->model->n_tensors;
}

/* ---- edges ---- */

static int push(struct op_graph_walk *walk, uint32_t value)
{
    if (walk->followed[value] == walk->readings)
        return 0;
    walk->followed[value] = walk->readings;
    if (arena_room(&walk->scratch, &walk->stack, walk->n_stack, &walk->stack_room,
                   sizeof *walk->stack) < 0)
        return -1;
    walk->stack[walk->n_stack++] = value;
    return 0;
}

/* Is it an argument of the call that the graph is limited to? It may have a producer,
 * outside of the graph. */
static bool find_given(const struct op_graph_walk *walk, uint32_t value,
                       uint32_t *ret_node)
{
    return walk->inside && map_find(&walk->others, value, ret_node) &&
           walk->graph->nodes[*ret_node].kind == OP_GRAPH_INPUT;
}

/* An edge from the maker of `part`, of which `value` consists, to the reader. */
static int add_part(struct op_graph_walk *walk, uint32_t part, uint32_t value,
                    uint32_t target)
{
    const struct run_op_value *of = value_at_op(walk, part);
    uint32_t source = NO_NODE;

    if (!map_find(&walk->makers, part, &source) && !find_given(walk, part, &source) &&
        of->producer != RUN_NONE)
        source = walk->op_node[of->producer];
    if (source == NO_NODE && of->producer == RUN_NONE && of->n_sources > 0) {
        for (uint32_t i = of->n_sources; i > 0; i--)
            if (push(walk, walk->run->ops->sources[of->sources + i - 1]) < 0)
                return -1;
        return 0;
    }
    if (source == NO_NODE) {
        if (is_own(walk, part, target))
            return 0;
        source = other_node(walk, part);
        if (source == NO_NODE)
            return -1;
    }
    return graph_edge(walk, (struct op_graph_edge){
                                .source = source, .target = target, .value = value});
}

/* Edges to a node that reads a value. */
static int read_value(struct op_graph_walk *walk, uint32_t value, uint32_t target)
{
    walk->n_stack = 0;
    walk->readings++;
    if (push(walk, value) < 0)
        return -1;
    while (walk->n_stack > 0)
        if (add_part(walk, walk->stack[--walk->n_stack], value, target) < 0)
            return -1;
    return 0;
}

static uint32_t value_of_io(const struct run *run, const struct run_io *io)
{
    uint32_t value =
        io->value < run->n_values ? run->values[io->value].op_value : RUN_NONE;

    return value < run->ops->n_values ? value : RUN_NONE;
}

/* ---- passes ---- */

/* Marks the operation that made an argument of a pass; false: none did, or it ran
 * before the pass and is not in the graph. */
static bool mark_maker(struct op_graph_walk *walk, uint32_t value)
{
    const struct run_op_value *of = value_at_op(walk, value);

    if (walk->inside)
        return false;
    if (of->producer != RUN_NONE && walk->op_node[of->producer] != NO_NODE)
        walk->graph->nodes[walk->op_node[of->producer]].given = true;
    return of->producer != RUN_NONE || of->n_sources > 0;
}

/* A node for each argument of a pass that no operation made. */
static int add_inputs(struct op_graph_walk *walk, uint32_t call)
{
    const struct run *run = walk->run;
    const struct run_call *pass = &run->calls[call];

    for (uint32_t i = pass->ios; i < pass->ios + pass->n_ios; i++) {
        uint32_t value = value_of_io(run, &run->ios[i]), node;
        struct op_graph_node input;

        if (run->ios[i].kind != RUN_IN || value == RUN_NONE ||
            mark_maker(walk, value) || map_find(&walk->others, value, &node))
            continue;
        input = outside_node(walk, value);
        if (input.tensor != RUN_NONE)
            continue; /* a parameter that is passed as an argument */
        input.kind = OP_GRAPH_INPUT;
        input.given = true;
        input.call = call;
        input.io = i;
        node = graph_node(walk, input);
        if (node == NO_NODE || map_put(&walk->others, value, node) < 0)
            return -1;
    }
    return 0;
}

static int add_outputs(struct op_graph_walk *walk, uint32_t call)
{
    const struct run *run = walk->run;
    const struct run_call *pass = &run->calls[call];

    for (uint32_t i = pass->ios; i < pass->ios + pass->n_ios; i++) {
        uint32_t value = value_of_io(run, &run->ios[i]), node;

        if (run->ios[i].kind != RUN_OUT || value == RUN_NONE)
            continue;
        node = graph_node(walk, (struct op_graph_node){.kind = OP_GRAPH_OUTPUT,
                                                       .op = RUN_NONE,
                                                       .call = call,
                                                       .io = i,
                                                       .tensor = RUN_NONE,
                                                       .value = value});
        if (node == NO_NODE || read_value(walk, value, node) < 0)
            return -1;
    }
    return 0;
}

static int each_pass(struct op_graph_walk *walk,
                     int (*add)(struct op_graph_walk *walk, uint32_t call))
{
    for (uint32_t i = 0; i < walk->run->n_calls; i++)
        if (graph_is_pass(walk, i) && add(walk, i) < 0)
            return -1;
    return 0;
}

/* ---- calls without operations ---- */

/* Such a call reads its arguments and is the producer of its results. */
static int pass_on(struct op_graph_walk *walk, uint32_t call)
{
    const struct run *run = walk->run;
    const struct run_call *of = &run->calls[call];
    uint32_t node = walk->call_node[call];

    for (uint32_t i = of->ios; i < of->ios + of->n_ios; i++) {
        uint32_t value = value_of_io(run, &run->ios[i]);

        if (run->ios[i].kind == RUN_IN && value != RUN_NONE &&
            read_value(walk, value, node) < 0)
            return -1;
    }
    for (uint32_t i = of->ios; i < of->ios + of->n_ios; i++) {
        uint32_t value = value_of_io(run, &run->ios[i]);

        if (run->ios[i].kind != RUN_OUT || value == RUN_NONE)
            continue;
        if (walk->graph->nodes[node].value == RUN_NONE)
            walk->graph->nodes[node].value = value;
        if (map_put(&walk->makers, value, node) < 0)
            return -1;
    }
    return 0;
}

/* Handles the calls without operations that began before `until`, from *at on. */
static int pass_on_until(struct op_graph_walk *walk, uint32_t *at, uint64_t until)
{
    for (; *at < walk->run->n_calls; (*at)++) {
        if (walk->run->calls[*at].start_ns > until)
            return 0;
        if (walk->call_node[*at] != NO_NODE && walk->call_ops[*at] == 0 &&
            pass_on(walk, *at) < 0)
            return -1;
    }
    return 0;
}

/* The first result of a call that has operations. */
static void find_results(struct op_graph_walk *walk)
{
    const struct run *run = walk->run;

    for (uint32_t i = 0; i < walk->graph->n_nodes; i++) {
        struct op_graph_node *node = &walk->graph->nodes[i];
        const struct run_call *call;

        if (node->kind != OP_GRAPH_CALL)
            continue;
        call = &run->calls[node->call];
        walk->call_ops[node->call] = node->n_ops;
        for (uint32_t io = call->ios; io < call->ios + call->n_ios; io++)
            if (run->ios[io].kind == RUN_OUT && node->value == RUN_NONE)
                node->value = value_of_io(run, &run->ios[io]);
    }
}

static int read_inputs(struct op_graph_walk *walk, uint32_t op)
{
    const struct run_op *of = &walk->run->ops->ops[op];
    const struct run_op_io *io;

    for (uint32_t at = 0; (io = op_next(walk->run, of, OP_IN, &at));)
        if (read_value(walk, io->value, walk->op_node[op]) < 0)
            return -1;
    return 0;
}

static bool reads(const struct run *run, const struct run_op *op, uint32_t value)
{
    const struct run_op_io *io;

    for (uint32_t at = 0; (io = op_next(run, op, OP_IN, &at));)
        if (io->value == value)
            return true;
    return false;
}

/* A view that was taken before is the same value, but later readers got it from here:
 * each decoder layer transposes the memory again. A view that changes nothing does not
 * count. */
static int take_again(struct op_graph_walk *walk, uint32_t op)
{
    const struct run_op *of = &walk->run->ops->ops[op];
    const struct run_op_io *io;

    if (!(walk->run->ops->kinds[of->kind].flags & OP_VIEW))
        return 0;
    for (uint32_t at = 0; (io = op_next(walk->run, of, OP_OUT, &at));)
        if (value_at_op(walk, io->value)->producer != op &&
            !reads(walk->run, of, io->value) &&
            map_put(&walk->makers, io->value, walk->op_node[op]) < 0)
            return -1;
    return 0;
}

int graph_by_ops(struct op_graph_walk *walk)
{
    const struct run_ops *ops = walk->run->ops;
    bool lifted = walk->graph->level == OP_GRAPH_MODULES;
    uint32_t call = 0;

    find_results(walk);
    if (each_pass(walk, add_inputs) < 0)
        return -1;
    for (uint32_t i = 0; i < ops->n_ops; i++) {
        if (walk->op_node[i] == NO_NODE)
            continue;
        if ((lifted && pass_on_until(walk, &call, ops->ops[i].start_ns) < 0) ||
            read_inputs(walk, i) < 0 || (walk->inside && take_again(walk, i) < 0))
            return -1;
    }
    if (lifted && pass_on_until(walk, &call, UINT64_MAX) < 0)
        return -1;
    return each_pass(walk, add_outputs);
}
