/* Reads the calls of layers from the configuration and sorts them: each call comes
 * after the calls whose results it reads. */
#include "read/keras/keras_graph_in.h"

#include "base/base.h"

static bool is_functional(const struct keras_graphs *g, uint32_t layer)
{
    uint32_t ends;

    return keras_arg(g->keras, layer, "output_layers", &ends);
}

static bool is_sequential(const struct keras_graphs *g, uint32_t layer)
{
    return str_ends(g->keras->layers[layer].class_name, STR("Sequential")) &&
           !is_functional(g, layer);
}

/* ---- calls ---- */

static uint32_t add_node(struct keras_graphs *g, uint32_t layer)
{
    if (arena_room(g->arena, &g->nodes, g->n_nodes, &g->nodes_room, sizeof *g->nodes) <
        0)
        return KERAS_NONE;
    g->nodes[g->n_nodes] =
        (struct keras_node){.layer = layer, .refs = g->n_refs, .plain = VALUE_ID_NONE};
    if (layer != KERAS_NONE && g->n_layer_nodes[layer]++ == 0)
        g->first_node[layer] = g->n_nodes;
    return g->n_nodes++;
}

static bool is_input(const struct keras_graphs *g, uint32_t layer)
{
    return str_is(g->keras->layers[layer].class_name, "InputLayer");
}

/* Reads all calls of a layer in the list of a model. */
static int add_calls(struct keras_graphs *g, uint32_t model, uint32_t layer)
{
    const struct values *values = build_values(g->build);
    uint32_t calls, node;

    if (is_input(g, layer))
        return add_node(g, layer) == KERAS_NONE ? -1 : 0;
    if (!value_json_get(values, g->keras->layers[layer].config, "inbound_nodes",
                        &calls) ||
        value_at(values, calls)->kind != VALUE_LIST)
        return 0;
    for (uint32_t i = 0; i < value_at(values, calls)->n; i++) {
        node = add_node(g, layer);
        if (node == KERAS_NONE ||
            keras_refs_of_call(g, model, value_items(values, calls)[i],
                               &g->nodes[node]) < 0)
            return -1;
    }
    return 0;
}

/* The tensors that go into or out of a model. */
static int add_ends(struct keras_graphs *g, uint32_t model, const char *key,
                    uint32_t *ret_first, uint32_t *ret_n)
{
    uint32_t value;
    int64_t n = 0;

    *ret_first = g->n_refs;
    if (keras_arg(g->keras, model, key, &value))
        n = keras_refs_add(g, model, value, 0, true);
    *ret_n = (uint32_t)n;
    return n < 0 ? -1 : 0;
}

static int read_functional(struct keras_graphs *g, struct keras_graph *graph)
{
    uint32_t model = graph->layer;

    for (uint32_t i = 0; i < g->n_children[model]; i++)
        if (add_calls(g, model, g->first_child[model] + i) < 0)
            return -1;
    graph->n_nodes = g->n_nodes - graph->nodes;
    return add_ends(g, model, "input_layers", &graph->inputs, &graph->n_inputs) < 0 ||
                   add_ends(g, model, "output_layers", &graph->outputs,
                            &graph->n_outputs) < 0
               ? -1
               : 0;
}

/* ---- Sequential: each layer reads the result of the previous one ---- */

static int add_link(struct keras_graphs *g, uint32_t node, uint32_t arg)
{
    if (arena_room(g->arena, &g->refs, g->n_refs, &g->refs_room, sizeof *g->refs) < 0)
        return -1;
    g->refs[g->n_refs++] = (struct keras_ref){.layer = g->nodes[node].layer,
                                              .node = node,
                                              .shape = VALUE_ID_NONE,
                                              .dtype = VALUE_ID_NONE,
                                              .arg = arg,
                                              .item = PROGRAM_NONE};
    return 0;
}

static int read_sequential(struct keras_graphs *g, struct keras_graph *graph)
{
    uint32_t model = graph->layer, first = g->first_child[model];
    uint32_t arg = build_string(g->build, STR("0")), node;

    arg = arg == INTERN_NONE ? 0 : arg;
    graph->sequential = true;
    for (uint32_t i = 0; i < g->n_children[model]; i++) {
        if (i == 0 && !is_input(g, first) && add_node(g, KERAS_NONE) == KERAS_NONE)
            return -1;
        node = add_node(g, first + i);
        if (node == KERAS_NONE)
            return -1;
        if (node == graph->nodes)
            continue;
        if (add_link(g, node - 1, arg) < 0)
            return -1;
        g->nodes[node].n_refs = 1;
    }
    graph->n_nodes = g->n_nodes - graph->nodes;
    graph->inputs = g->n_refs;
    graph->outputs = g->n_refs + 1;
    graph->n_inputs = graph->n_outputs = 1;
    return add_link(g, graph->nodes, 0) < 0 || add_link(g, g->n_nodes - 1, 0) < 0 ? -1
                                                                                  : 0;
}

/* ---- results ---- */

/* The number of the first call of a layer. In Keras 3, the ends of a model count those
 * of a Functional model from 1. In Keras 2, all count those of models with inputs of
 * their own from 1; as all calls that are saved are used, the lowest number is the
 * first. */
static uint32_t first_number(const struct keras_graphs *g,
                             const struct keras_graph *graph,
                             const struct keras_ref *ref)
{
    if (ref->tensor || g->n_children[ref->layer] == 0)
        return 0;
    return graph->keras_3 ? is_functional(g, ref->layer) : g->least[ref->layer];
}

static void resolve(struct keras_graphs *g, struct keras_graph *graph, uint32_t ref)
{
    struct keras_ref *at = &g->refs[ref];
    uint32_t number;

    if (at->node != KERAS_NONE || at->layer == KERAS_NONE)
        return;
    number = at->number - first_number(g, graph, at);
    if (number < g->n_layer_nodes[at->layer] && at->result < KERAS_RESULTS_MOST)
        at->node = g->first_node[at->layer] + number;
}

static void note_form(struct keras_graphs *g, struct keras_graph *graph, uint32_t ref)
{
    graph->keras_3 |= g->refs[ref].tensor;
}

/* Resolves all tensors that calls read and that the model returns. */
static void each_ref(struct keras_graphs *g, struct keras_graph *graph,
                     void (*act)(struct keras_graphs *g, struct keras_graph *graph,
                                 uint32_t ref))
{
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        struct keras_node *node = &g->nodes[graph->nodes + i];

        for (uint32_t k = 0; k < node->n_refs; k++)
            act(g, graph, node->refs + k);
    }
    for (uint32_t i = 0; i < graph->n_inputs; i++)
        act(g, graph, graph->inputs + i);
    for (uint32_t i = 0; i < graph->n_outputs; i++)
        act(g, graph, graph->outputs + i);
}

static void count_result(struct keras_graphs *g, struct keras_graph *graph,
                         uint32_t ref)
{
    struct keras_ref *at = &g->refs[ref];

    (void)graph;
    if (at->node != KERAS_NONE && at->result >= g->nodes[at->node].n)
        g->nodes[at->node].n = at->result + 1;
}

static void note_shape(struct keras_graphs *g, struct keras_graph *graph, uint32_t ref)
{
    struct keras_ref *at = &g->refs[ref];
    struct keras_slot *slot;

    if (at->node == KERAS_NONE)
        return;
    slot = &graph->slots[g->nodes[at->node].slot + at->result];
    if (slot->shape == VALUE_ID_NONE)
        slot->shape = at->shape;
    if (slot->dtype == VALUE_ID_NONE)
        slot->dtype = at->dtype;
}

/* The shape and dtype that an InputLayer states; in Keras 2 any first layer may. */
static void note_input(struct keras_graphs *g, struct keras_graph *graph,
                       uint32_t layer, struct keras_slot *slot)
{
    uint32_t dtype;

    if (!keras_arg(g->keras, layer, "batch_shape", &slot->shape) &&
        !keras_arg(g->keras, layer, "batch_input_shape", &slot->shape) &&
        !(graph->sequential &&
          keras_arg(g->keras, graph->layer, "build_input_shape", &slot->shape)))
        slot->shape = VALUE_ID_NONE;
    if (is_input(g, layer) && keras_arg(g->keras, layer, "dtype", &dtype))
        slot->dtype = dtype;
}

/* The shape that a layer of a Sequential was built for is that of the result before it.
 * One that was built for another model before may have another: then the first shape
 * differs from that of the input. */
static void note_built(struct keras_graphs *g, struct keras_graph *graph)
{
    const struct values *values = build_values(g->build);

    graph->shapes = true;
    for (uint32_t i = 1; i < graph->n_nodes; i++) {
        struct keras_node *node = &g->nodes[graph->nodes + i];
        struct keras_slot *slot = &graph->slots[node[-1].slot];
        uint32_t built, shape;

        if (!value_json_get(values, g->keras->layers[node->layer].config,
                            "build_config", &built) ||
            !value_json_get(values, built, "input_shape", &shape) ||
            value_at(values, shape)->kind != VALUE_LIST)
            continue;
        if (i == 1 && slot->shape != VALUE_ID_NONE && slot->shape != shape)
            graph->shapes = false;
        if (slot->shape == VALUE_ID_NONE)
            slot->shape = shape;
    }
}

static int make_slots(struct keras_graphs *g, struct keras_graph *graph)
{
    each_ref(g, graph, note_form);
    each_ref(g, graph, resolve);
    each_ref(g, graph, count_result);
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        struct keras_node *node = &g->nodes[graph->nodes + i];

        node->slot = graph->n_slots;
        node->n = node->n > 0 ? node->n : 1;
        if (__builtin_add_overflow(graph->n_slots, node->n, &graph->n_slots))
            return -1;
    }
    graph->slots =
        arena_array(g->arena, (size_t)graph->n_slots + 1, sizeof *graph->slots);
    if (!graph->slots)
        return -1;
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        uint32_t layer = g->nodes[graph->nodes + i].layer;
        struct keras_slot *slot = &graph->slots[g->nodes[graph->nodes + i].slot];

        if (layer == KERAS_NONE)
            note_input(g, graph, g->first_child[graph->layer], slot);
        else if (is_input(g, layer))
            note_input(g, graph, layer, slot);
    }
    each_ref(g, graph, note_shape);
    if (graph->sequential)
        note_built(g, graph);
    return 0;
}

/* ---- the order ---- */

enum { NODE_NEW, NODE_OPEN, NODE_DONE };

struct keras_step {
    uint32_t node, next; /* and the next of its refs */
};

static void say_cycle(struct keras_graphs *g, uint32_t node)
{
    if (g->said_cycle)
        return;
    g->said_cycle = true;
    build_finding(g->build, FINDING_DAMAGED, SEVERITY_WARNING,
                  g->keras->layers[g->nodes[node].layer].node,
                  "layer %.*s needs its own result: edges of the graph are missing",
                  STR_ARG(str_head(g->keras->layers[g->nodes[node].layer].name, 100)));
}

/* Append a call after the calls that it depends on. */
static void add_ordered(struct keras_graphs *g, struct keras_graph *graph,
                        struct keras_step *stack, uint32_t first)
{
    uint32_t n = 0;

    stack[n++] = (struct keras_step){.node = first};
    g->nodes[first].state = NODE_OPEN;
    while (n > 0) {
        struct keras_step *step = &stack[n - 1];
        struct keras_node *node = &g->nodes[step->node];
        struct keras_ref *ref;

        if (step->next == node->n_refs) {
            node->state = NODE_DONE;
            graph->order[graph->n_order++] = step->node;
            n--;
            continue;
        }
        ref = &g->refs[node->refs + step->next++];
        if (ref->node == KERAS_NONE || g->nodes[ref->node].state == NODE_DONE)
            continue;
        if (g->nodes[ref->node].state == NODE_OPEN) {
            say_cycle(g, step->node);
            ref->node = KERAS_NONE;
            continue;
        }
        g->nodes[ref->node].state = NODE_OPEN;
        stack[n++] = (struct keras_step){.node = ref->node};
    }
}

static int make_order(struct keras_graphs *g, struct keras_graph *graph)
{
    struct keras_step *stack =
        arena_array(g->arena, (size_t)graph->n_nodes + 1, sizeof *stack);

    graph->order =
        arena_array(g->arena, (size_t)graph->n_nodes + 1, sizeof *graph->order);
    if (!stack || !graph->order)
        return -1;
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        if (g->nodes[graph->nodes + i].state == NODE_NEW)
            add_ordered(g, graph, stack, graph->nodes + i);
    return 0;
}

/* ---- all of it ---- */

static int read_graph(struct keras_graphs *g, uint32_t layer)
{
    struct keras_graph *graph = arena_alloc(g->arena, sizeof *graph);

    if (!graph)
        return -1;
    graph->layer = layer;
    graph->nodes = g->n_nodes;
    if ((is_functional(g, layer) ? read_functional(g, graph)
                                 : read_sequential(g, graph)) < 0 ||
        make_slots(g, graph) < 0 || make_order(g, graph) < 0)
        return -1;
    g->of_layer[layer] = graph;
    return 0;
}

static int allocate(struct keras_graphs *g)
{
    size_t n = (size_t)g->keras->n_layers + 1;

    g->of_layer = arena_array(g->arena, n, sizeof(struct keras_graph *));
    g->first_child = arena_array(g->arena, n, sizeof(uint32_t));
    g->n_children = arena_array(g->arena, n, sizeof(uint32_t));
    g->first_node = arena_array(g->arena, n, sizeof(uint32_t));
    g->n_layer_nodes = arena_array(g->arena, n, sizeof(uint32_t));
    g->least = arena_array(g->arena, n, sizeof(uint32_t));
    return g->of_layer && g->first_child && g->n_children && g->first_node &&
                   g->n_layer_nodes && g->least
               ? 0
               : -1;
}

int keras_graphs_read(struct keras_graphs *g, struct keras *keras, struct err *err)
{
    const struct keras_layer *layers = keras->layers;

    *g = (struct keras_graphs){
        .keras = keras, .build = keras->build, .arena = &keras->build->scratch};
    if (allocate(g) < 0)
        return arena_err(g->arena, keras->input->path, err);
    /* The listed children of a layer are consecutive. */
    for (uint32_t i = 0; i < keras->n_layers; i++) {
        g->least[i] = KERAS_NONE;
        if (layers[i].listed && g->n_children[layers[i].parent]++ == 0)
            g->first_child[layers[i].parent] = i;
    }
    for (uint32_t i = 0; i < keras->n_layers; i++) {
        bool reached = i == 0 || (layers[i].listed && g->of_layer[layers[i].parent]);

        if (reached && g->n_children[i] > 0 &&
            (is_functional(g, i) || is_sequential(g, i)) && read_graph(g, i) < 0)
            return arena_err(g->arena, keras->input->path, err);
        if (!work_step(keras->build->work, 0))
            return err_set_about(err, ERR_CANCELLED, keras->input->path, ": stopped");
    }
    return 0;
}
