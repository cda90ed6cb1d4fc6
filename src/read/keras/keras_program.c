/* Turns the graph of a configuration into the program of the file. A call of a layer is
 * a call of a module with one operation, which is named after the class. Each call of a
 * model inside a model is a call that contains those of its layers. */
#include <string.h>

#include "base/base.h"
#include "read/file/program_facts_in.h"
#include "read/keras/keras_graph_in.h"

#define RANK_MOST  64
#define STEPS_MOST (64 * MIB) /* limits models that call each other */

struct keras_making {
    struct keras_graphs graphs;
    struct keras *keras;
    struct build *build;
    uint32_t *weights_at;    /* by layer + 1: its first in `weights` */
    uint32_t *weights;       /* nodes of tensors, by layer */
    uint32_t *weight_values; /* of the program */
    uint32_t method;         /* string id: "call" */
    uint64_t steps;          /* layers and results of the calls so far */
};

/* One model that is being called. */
struct keras_frame {
    const struct keras_graph *graph;
    uint32_t call;    /* of the program */
    bool first;       /* the first call of it, and of the models around it */
    uint32_t *values; /* by slot */
};

/* ---- weights ---- */

/* The layer in a list of layers that a node is inside of; KERAS_NONE: none. */
static uint32_t layer_around(const struct keras_making *m, const struct map *by_node,
                             uint32_t node)
{
    uint32_t layer;

    for (; node != NO_PLACE; node = m->build->model->parent[node])
        if (map_find(by_node, node, &layer))
            return layer;
    return KERAS_NONE;
}

/* Counts the weights of each layer, or lists them. */
static void each_weight(struct keras_making *m, const struct map *by_node)
{
    for (uint32_t i = m->build->n_nodes; i-- > 0;) {
        uint32_t layer = build_tensor_at(m->build, i) != NO_OBJECT
                             ? layer_around(m, by_node, i)
                             : KERAS_NONE;

        if (layer == KERAS_NONE)
            continue;
        if (m->weights)
            m->weights[--m->weights_at[layer + 1]] = i;
        else
            m->weights_at[layer + 1]++;
    }
}

static int index_weights(struct keras_making *m)
{
    struct arena *arena = &m->build->scratch;
    uint32_t n = m->keras->n_layers, n_weights;
    struct map by_node;

    map_init(&by_node, arena);
    for (uint32_t i = 0; i < n; i++)
        if (m->keras->layers[i].listed && !m->graphs.of_layer[i] &&
            map_put(&by_node, m->keras->layers[i].node, i) < 0)
            return -1;
    m->weights_at = arena_array(arena, (size_t)n + 2, sizeof *m->weights_at);
    if (!m->weights_at)
        return -1;
    each_weight(m, &by_node);
    for (uint32_t i = 0; i <= n; i++)
        m->weights_at[i + 1] += m->weights_at[i];
    n_weights = m->weights_at[n];
    m->weights = arena_array(arena, (size_t)n_weights + 1, sizeof *m->weights);
    m->weight_values = arena_array(arena, (size_t)n_weights + 1, sizeof(uint32_t));
    if (!m->weights || !m->weight_values)
        return -1;
    for (uint32_t i = 0; i < n_weights; i++)
        m->weight_values[i] = PROGRAM_NONE;
    each_weight(m, &by_node);
    return 0;
}

/* ---- values ---- */

/* [null, 8, 8, 3] */
static void set_shape(struct keras_making *m, struct program_value *value,
                      uint32_t shape)
{
    const struct values *values = build_values(m->build);
    uint32_t n = value_at(values, shape)->n;
    int64_t dims[RANK_MOST];

    if (value_at(values, shape)->kind != VALUE_LIST || n > RANK_MOST)
        return;
    for (uint32_t i = 0; i < n; i++) {
        const struct value *size = value_at(values, value_items(values, shape)[i]);

        if (size->kind != VALUE_NONE && (size->kind != VALUE_INT || size->integer < 0))
            return;
        dims[i] = size->kind == VALUE_INT ? size->integer : -1;
    }
    value->shape = build_dims(m->build, dims, (int)n);
    value->rank = value->shape == PROGRAM_NONE ? 0 : (uint8_t)n;
    m->build->program->shapes = true;
}

/* "float32", or {"class_name": "DTypePolicy", "config": {"name": "float32"}} */
static enum dtype dtype_of(const struct values *values, uint32_t id)
{
    uint32_t config;
    struct str name =
        value_at(values, id)->kind == VALUE_STR ? value_text(values, id) : STR("");

    if (name.len == 0 && value_json_get(values, id, "config", &config))
        name = keras_text(values, config, "name");
    return dtype_by_name(name);
}

static uint32_t new_value(struct keras_making *m, enum program_value_kind kind,
                          struct str name)
{
    struct program_value value = build_program_blank(kind);
    uint32_t id = name.len > 0 ? build_string(m->build, name) : 0;

    value.name = id == INTERN_NONE ? 0 : id;
    return build_program_value(m->build, &value);
}

/* Sets the shape and dtype of a result from the file, unless they are known: for
 * results of an inner model either its graph or the outer one has them. */
static void describe(struct keras_making *m, const struct keras_frame *frame,
                     uint32_t slot)
{
    const struct keras_graph *graph = frame->graph;
    uint32_t id = frame->values[slot];
    struct program_value *value;

    if (id >= m->build->program->n_values)
        return;
    value = &m->build->program->values[id];
    if (value->shape == PROGRAM_NONE &&
        (!graph->sequential || (graph->shapes && frame->first)))
        set_shape(m, value, graph->slots[slot].shape);
    if (value->dtype == DTYPE_UNKNOWN)
        value->dtype =
            (uint8_t)dtype_of(build_values(m->build), graph->slots[slot].dtype);
}

/* The inputs of a call. */
static uint32_t value_of(struct keras_making *m, const struct keras_frame *frame,
                         uint32_t ref)
{
    const struct keras_ref *at = &m->graphs.refs[ref];
    const struct keras_node *node;
    uint32_t *value;

    if (at->node == KERAS_NONE)
        return new_value(m, PROGRAM_OPAQUE, STR(""));
    node = &m->graphs.nodes[at->node];
    value = &frame->values[node->slot + at->result];
    if (*value == PROGRAM_NONE)
        *value = new_value(m, PROGRAM_OPAQUE, STR(""));
    return *value;
}

/* ---- calls ---- */

/* Inputs and results of a call that is being made. */
struct keras_ios {
    struct program_io *at;
    uint32_t n_in, n_weights, n_out;
};

static uint32_t string_of(struct keras_making *m, struct str text)
{
    uint32_t id = build_string(m->build, text);

    return id == INTERN_NONE ? 0 : id;
}

/* The value of weight i, the same in all calls. */
static uint32_t weight_value(struct keras_making *m, uint32_t i)
{
    const struct model *model = m->build->model;
    uint32_t tensor = build_tensor_at(m->build, m->weights[i]), id;
    struct program_value *value;

    if (m->weight_values[i] != PROGRAM_NONE)
        return m->weight_values[i];
    id = m->weight_values[i] = new_value(m, PROGRAM_TENSOR, STR(""));
    if (id == PROGRAM_NONE)
        return id;
    value = &m->build->program->values[id];
    value->tensor = tensor;
    value->place = m->weights[i];
    value->dtype = model->tensors[tensor].dtype;
    if (!(model->tensors[tensor].flags & TENSOR_INVALID)) {
        value->shape = model->tensors[tensor].shape;
        value->rank = model->tensors[tensor].rank;
    }
    return id;
}

/* Weight i of a layer as the argument that has its name: "cell.kernel". */
static struct program_io weight_io(struct keras_making *m, uint32_t layer, uint32_t i)
{
    struct program_io io = {.value = weight_value(m, i), .item = PROGRAM_NONE};
    struct buf path = BUF_INIT, around = BUF_INIT;

    build_path(m->build, m->weights[i], &path);
    build_path(m->build, m->keras->layers[layer].node, &around);
    if (path.len > around.len + 1)
        io.arg = string_of(m, str_from(buf_span(&path), around.len + 1));
    buf_release(&path);
    buf_release(&around);
    return io;
}

/* "keras::Conv2D"; of a function of TensorFlow "tf::math.add". */
static uint32_t op_name(struct keras_making *m, uint32_t layer)
{
    struct str name = m->keras->layers[layer].class_name;
    const char *text;
    uint32_t function;

    if ((str_is(name, "TFOpLambda") || str_is(name, "SlicingOpLambda")) &&
        keras_arg(m->keras, layer, "function", &function) &&
        value_text(build_values(m->build), function).len > 0)
        text = arena_printf(&m->build->scratch, "tf::%.*s",
                            STR_ARG(value_text(build_values(m->build), function)));
    else
        text = arena_printf(&m->build->scratch, "keras::%.*s",
                            STR_ARG(name.len > 0 ? name : STR("Layer")));
    return text ? string_of(m, str_of(text)) : 0;
}

/* The arguments of the layer, then the constants of the call. */
static uint32_t attributes_of(struct keras_making *m, uint32_t layer, uint32_t plain)
{
    struct values *values = build_values(m->build);
    const struct object *object = build_object(m->build, m->keras->layers[layer].node);
    uint32_t parts[2] = {object ? object->args : VALUE_ID_NONE, plain}, n = 0, made;
    uint32_t *items;

    for (int i = 0; i < 2; i++)
        if (value_at(values, parts[i])->kind != VALUE_DICT)
            parts[i] = VALUE_ID_NONE;
    if (parts[0] == VALUE_ID_NONE || parts[1] == VALUE_ID_NONE)
        return parts[0] == VALUE_ID_NONE ? parts[1] : parts[0];
    items = arena_array(&m->build->scratch,
                        (size_t)value_at(values, parts[0])->n +
                            value_at(values, parts[1])->n,
                        sizeof *items);
    for (int i = 0; items && i < 2; i++)
        for (uint32_t k = 0; k < value_at(values, parts[i])->n; k++)
            items[n++] = value_items(values, parts[i])[k];
    made = items ? value_make(values, VALUE_DICT, STR(""), items, n) : VALUE_ID_FAILED;
    return made == VALUE_ID_FAILED ? VALUE_ID_NONE : made;
}

/* The operation of a layer: it also takes the weights. */
static void add_op(struct keras_making *m, const struct keras_node *node, uint32_t call,
                   struct keras_ios *ios)
{
    struct program *program = m->build->program;
    struct program_op op = {.name = op_name(m, node->layer),
                            .attributes = attributes_of(m, node->layer, node->plain),
                            .call = call,
                            .place = m->keras->layers[node->layer].node,
                            .region = PROGRAM_NONE,
                            .n_out = (uint16_t)ios->n_out};
    uint32_t first = ios->n_in + ios->n_weights;

    op.n_in = (uint16_t)first;
    for (uint32_t i = 0; i < ios->n_out; i++) {
        struct program_value *value = &program->values[ios->at[first + i].value];

        value->producer = program->n_ops;
        value->output = (uint16_t)i;
    }
    build_program_op(m->build, &op, ios->at);
}

static void call_model(struct keras_making *m, struct keras_frame *frame,
                       const uint32_t *inputs, uint32_t n_inputs, uint32_t *outputs);

/* Calls the model that a node is a call of: its results are those of the layers inside.
 */
static void call_inside(struct keras_making *m, const struct keras_frame *frame,
                        const struct keras_node *node, uint32_t call,
                        struct keras_ios *ios)
{
    struct arena *arena = &m->build->scratch;
    const struct keras_graph *graph = m->graphs.of_layer[node->layer];
    uint32_t first_node = m->graphs.first_node[node->layer];
    struct keras_frame inner = {.graph = graph,
                                .call = call,
                                .first = frame->first &&
                                         node == &m->graphs.nodes[first_node]};
    uint32_t *inputs = arena_array(arena, (size_t)ios->n_in + 1, sizeof *inputs);
    uint32_t *outputs =
        arena_array(arena, (size_t)graph->n_outputs + 1, sizeof *outputs);

    for (uint32_t i = 0; inputs && i < ios->n_in; i++)
        inputs[i] = ios->at[i].value;
    if (inputs && outputs)
        call_model(m, &inner, inputs, ios->n_in, outputs);
    for (uint32_t i = 0; i < ios->n_out; i++)
        ios->at[ios->n_in + i].value =
            inputs && outputs && i < graph->n_outputs ? outputs[i] : PROGRAM_NONE;
}

static bool fill_ios(struct keras_making *m, const struct keras_frame *frame,
                     const struct keras_node *node, bool model, struct keras_ios *ios)
{
    uint32_t first = m->weights_at[node->layer + 1];
    uint32_t weights = m->weights_at[node->layer + 2] - first, n = 0;

    *ios = (struct keras_ios){.n_in = node->n_refs, .n_out = node->n};
    ios->n_weights = model ? 0 : weights;
    if ((uint64_t)ios->n_in + ios->n_weights > UINT16_MAX)
        return false;
    ios->at = arena_array(&m->build->scratch,
                          (size_t)ios->n_in + ios->n_weights + ios->n_out + 1,
                          sizeof *ios->at);
    if (!ios->at)
        return false;
    for (uint32_t i = 0; i < node->n_refs; i++) {
        const struct keras_ref *ref = &m->graphs.refs[node->refs + i];

        ios->at[n++] = (struct program_io){.value = value_of(m, frame, node->refs + i),
                                           .arg = ref->arg,
                                           .item = ref->item};
    }
    for (uint32_t i = 0; i < ios->n_weights; i++)
        ios->at[n++] = weight_io(m, node->layer, first + i);
    for (uint32_t i = 0; i < ios->n_out; i++)
        ios->at[n++] = (struct program_io){
            .value = model ? PROGRAM_NONE : new_value(m, PROGRAM_RESULT, STR("")),
            .item = PROGRAM_NONE};
    return !build_program_full(m->build);
}

/* The call has no weights among its inputs. */
static void end_call(struct keras_making *m, uint32_t call, struct keras_ios *ios)
{
    memmove(ios->at + ios->n_in, ios->at + ios->n_in + ios->n_weights,
            ios->n_out * sizeof *ios->at);
    build_program_call_ios(m->build, call, ios->at, ios->n_in, ios->n_out);
    m->build->program->calls[call].end = m->build->program->n_ops;
}

static void make_call(struct keras_making *m, const struct keras_frame *frame,
                      const struct keras_node *node)
{
    bool model = m->graphs.of_layer[node->layer] != NULL;
    struct program_call call = {.place = m->keras->layers[node->layer].node,
                                .parent = frame->call,
                                .region = PROGRAM_NONE,
                                .method = m->method,
                                .ops = m->build->program->n_ops};
    struct keras_ios ios;
    uint32_t id;

    if (!fill_ios(m, frame, node, model, &ios))
        return;
    id = build_program_call(m->build, &call);
    if (id == PROGRAM_NONE)
        return;
    if (model)
        call_inside(m, frame, node, id, &ios);
    else
        add_op(m, node, id, &ios);
    for (uint32_t i = 0; i < ios.n_out; i++) {
        struct program_io *io = &ios.at[ios.n_in + ios.n_weights + i];

        if (io->value == PROGRAM_NONE) /* a model with fewer results */
            io->value = new_value(m, PROGRAM_OPAQUE, STR(""));
        frame->values[node->slot + i] = io->value;
        describe(m, frame, node->slot + i);
    }
    if (!build_program_full(m->build))
        end_call(m, id, &ios);
}

/* Is it a call that only represents an input of the model? */
static bool is_input(const struct keras_making *m, const struct keras_node *node)
{
    return node->layer == KERAS_NONE ||
           str_is(m->keras->layers[node->layer].class_name, "InputLayer");
}

static void call_model(struct keras_making *m, struct keras_frame *frame,
                       const uint32_t *inputs, uint32_t n_inputs, uint32_t *outputs)
{
    const struct keras_graph *graph = frame->graph;

    frame->values = arena_array(&m->build->scratch, (size_t)graph->n_slots + 1,
                                sizeof *frame->values);
    for (uint32_t i = 0; i < graph->n_outputs; i++)
        outputs[i] = PROGRAM_NONE;
    m->steps += (uint64_t)graph->n_order + graph->n_slots + 1;
    if (!frame->values || m->steps > STEPS_MOST) {
        m->build->program->cut = true;
        return;
    }
    for (uint32_t i = 0; i < graph->n_slots; i++)
        frame->values[i] = PROGRAM_NONE;
    for (uint32_t i = 0; i < graph->n_inputs && i < n_inputs; i++) {
        const struct keras_ref *ref = &m->graphs.refs[graph->inputs + i];
        uint32_t slot;

        if (ref->node == KERAS_NONE)
            continue;
        slot = m->graphs.nodes[ref->node].slot + ref->result;
        frame->values[slot] = inputs[i];
        if (frame->call == 0)
            describe(m, frame, slot);
    }
    for (uint32_t i = 0; i < graph->n_order && !build_program_full(m->build); i++) {
        const struct keras_node *node = &m->graphs.nodes[graph->order[i]];
        struct arena before;

        if (is_input(m, node))
            continue;
        before = build_scratch_begin(m->build);
        make_call(m, frame, node);
        build_scratch_end(m->build, before);
        if (!work_step(m->build->work, 0))
            return;
    }
    for (uint32_t i = 0; i < graph->n_outputs && !build_program_full(m->build); i++)
        outputs[i] = value_of(m, frame, graph->outputs + i);
}

/* ---- the model itself ---- */

/* The name of an input or output of the model: of the argument, or of the layer. */
static struct str end_name(const struct keras_making *m, uint32_t ref)
{
    const struct keras_ref *at = &m->graphs.refs[ref];

    if (at->arg)
        return model_string(m->build->model, at->arg);
    return at->layer == KERAS_NONE ? STR("inputs") : m->keras->layers[at->layer].name;
}

static int make_program(struct keras_making *m, const struct keras_graph *graph)
{
    struct arena *arena = &m->build->scratch;
    uint32_t n = graph->n_inputs + graph->n_outputs;
    struct program_io *ios = arena_array(arena, (size_t)n + 1, sizeof *ios);
    uint32_t *values = arena_array(arena, (size_t)n + 1, sizeof *values);
    struct keras_frame frame = {.graph = graph, .first = true};

    if (!ios || !values)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        ios[i] = (struct program_io){.item = PROGRAM_NONE};
    for (uint32_t i = 0; i < graph->n_inputs; i++) {
        uint32_t layer = m->graphs.refs[graph->inputs + i].layer;
        struct str name =
            layer == KERAS_NONE ? STR("inputs") : m->keras->layers[layer].name;

        values[i] = ios[i].value = new_value(m, PROGRAM_INPUT, name);
        ios[i].arg = string_of(m, end_name(m, graph->inputs + i));
    }
    call_model(m, &frame, values, graph->n_inputs, values + graph->n_inputs);
    if (build_program_full(m->build))
        return 0;
    for (uint32_t i = graph->n_inputs; i < n; i++) {
        uint32_t ref = graph->outputs + (i - graph->n_inputs);

        ios[i].value = values[i];
        if (m->graphs.refs[ref].layer != KERAS_NONE)
            ios[i].arg = string_of(m, end_name(m, ref));
    }
    m->build->program->calls[0].end = m->build->program->n_ops;
    build_program_call_ios(m->build, 0, ios, graph->n_inputs, graph->n_outputs);
    program_facts(m->build);
    return 0;
}

static int begin_program(struct keras_making *m)
{
    struct program_call call = {
        .place = m->keras->root, .parent = PROGRAM_NONE, .region = PROGRAM_NONE};

    m->method = call.method = build_string(m->build, STR("call"));
    if (m->method == INTERN_NONE || build_program_call(m->build, &call) == PROGRAM_NONE)
        return -1;
    m->build->program->method = m->method;
    return 0;
}

int keras_program(struct keras *keras, struct err *err)
{
    struct keras_making m = {.keras = keras, .build = keras->build};
    struct err why = {0};

    if (keras->input->node != 0 || keras->n_layers == 0)
        return 0;
    if (keras_graphs_read(&m.graphs, keras, &why) < 0) {
        if (why.code == ERR_CANCELLED)
            return err_copy(err, &why);
        build_finding(keras->build, FINDING_LIMIT, SEVERITY_WARNING, FINDING_NOWHERE,
                      "the graph of the layers needs more memory than the limit "
                      "allows: it is left out");
        return 0;
    }
    if (!m.graphs.of_layer[0] || !build_program(keras->build))
        return 0;
    if (index_weights(&m) < 0 || begin_program(&m) < 0 ||
        make_program(&m, m.graphs.of_layer[0]) < 0)
        build_program_drop(keras->build);
    if (!work_step(keras->build->work, 0))
        return err_set_about(err, ERR_CANCELLED, keras->input->path, ": stopped");
    return 0;
}
