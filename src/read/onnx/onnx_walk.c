#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "read/onnx/walk_in.h"

#define STEPS_EACH  64 /* inlining repeats nodes: the most on average */
#define STEPS_LEAST 20000
#define ATTRS_MOST  1000
#define LABEL_MOST  200 /* bytes of the name of a node; longer ones are not shown */

/* ---- names ---- */

uint32_t walk_position(struct onnx_walk *w, uint32_t i)
{
    char text[16];
    uint32_t id;

    if (i < COUNT_OF(w->positions) && w->positions[i])
        return w->positions[i];
    snprintf(text, sizeof text, "%" PRIu32, i);
    id = build_string(w->build, str_of(text));
    if (id == INTERN_NONE)
        return 0;
    if (i < COUNT_OF(w->positions))
        w->positions[i] = id;
    return id;
}

void walk_line(const struct onnx_walk *w, const struct onnx_node *node,
               uint32_t *ret_file, uint32_t *ret_line)
{
    bool has_name = onnx_text(w->p, node->name).len <= LABEL_MOST;

    *ret_file = node->file ? node->file : has_name ? node->name : 0;
    *ret_line = node->file ? node->line : 0;
}

/* "onnx::Conv", "com.microsoft::Gelu". */
static uint32_t op_name(struct onnx_walk *w, const struct onnx_node *node)
{
    uint64_t key = (uint64_t)node->domain << 32 | node->op_type;
    struct str domain = onnx_text(w->p, node->domain);
    struct buf text = BUF_INIT;
    uint32_t id;

    if (map_find(&w->op_names, key, &id))
        return id;
    buf_str(&text, onnx_is_standard(domain) ? STR("onnx") : domain);
    buf_text(&text, "::");
    buf_str(&text, onnx_text(w->p, node->op_type));
    id = build_string(w->build, buf_span(&text));
    buf_release(&text);
    if (id == INTERN_NONE || map_put(&w->op_names, key, id) < 0)
        w->stop = true;
    return w->stop ? 0 : id;
}

/* ---- attributes ---- */

/* A tensor in an attribute: its numbers if they are few, else a reference. */
static uint32_t tensor_value(struct onnx_walk *w, uint32_t tensor)
{
    const struct onnx_tensor *t = &w->p->tensors[tensor];
    uint32_t value = onnx_tensor_value(w->m, tensor);

    if (value == VALUE_ID_NONE && t->tensor != NO_OBJECT)
        value = value_tensor(build_values(w->build), t->tensor);
    else if (value == VALUE_ID_NONE)
        value = onnx_typed_texts(w->p, t);
    return value;
}

/* VALUE_ID_FAILED: an attribute that is not shown. */
static uint32_t attr_value(struct onnx_walk *w, const struct onnx_attr *attr)
{
    switch (attr->type) {
    case ONNX_FLOAT:
    case ONNX_INT:
    case ONNX_STRING:
    case ONNX_FLOATS:
    case ONNX_INTS:
    case ONNX_STRINGS:
        return attr->value;
    case ONNX_TENSOR:
    case ONNX_SPARSE:
        return attr->tensor == ONNX_NONE ? VALUE_ID_FAILED
                                         : tensor_value(w, attr->tensor);
    default:
        return VALUE_ID_FAILED;
    }
}

/* {'kernel_shape': [3, 3], 'group': 1}, or None. */
static uint32_t attributes(struct onnx_walk *w, const struct onnx_node *node,
                           const struct onnx_scope *scope)
{
    uint32_t n = node->attrs.n < ATTRS_MOST ? node->attrs.n : ATTRS_MOST, k = 0, dict;
    uint32_t *items;

    if (n == 0)
        return VALUE_ID_NONE;
    items = arena_array(w->p->arena, 2 * (size_t)n, sizeof *items);
    if (!items) {
        w->stop = true;
        return VALUE_ID_NONE;
    }
    for
        ONNX_EACH(i, w->p, attrs, node->attrs)
        {
            const struct onnx_attr *attr =
                onnx_attr_resolve(w->p, scope, &w->p->attrs[i]);
            uint32_t value = attr ? attr_value(w, attr) : VALUE_ID_FAILED;

            if (value == VALUE_ID_FAILED || k >= 2 * n)
                continue;
            items[k++] =
                value_str(build_values(w->build), onnx_text(w->p, w->p->attrs[i].name));
            items[k++] = value;
        }
    if (k == 0)
        return VALUE_ID_NONE;
    dict = value_make(build_values(w->build), VALUE_DICT, STR(""), items, k);
    return dict == VALUE_ID_FAILED ? VALUE_ID_NONE : dict;
}

/* ---- operations ---- */

/* An operation while it is made. */
struct making_op {
    const struct onnx_node *node;
    const struct onnx_frame *frame;
    uint32_t call;
    uint32_t *inputs; /* values; PROGRAM_NONE: omitted */
    struct onnx_known *in, *out;
    struct program_io *ios;
    uint32_t n_in, n_out; /* ios */
};

/* The tensor of a Constant, or ONNX_NONE. */
static uint32_t constant_tensor(const struct onnx_walk *w, const struct onnx_node *node,
                                const struct onnx_scope *scope)
{
    const struct onnx_attr *attr;

    if (!str_is(onnx_text(w->p, node->op_type), "Constant") ||
        !onnx_is_standard(onnx_text(w->p, node->domain)))
        return ONNX_NONE;
    attr = onnx_attr_in(w->p, scope, node, "value");
    return attr && attr->type == ONNX_TENSOR ? attr->tensor : ONNX_NONE;
}

static int64_t standard_opset(const struct onnx_walk *w)
{
    for (uint32_t i = 0; i < w->p->n_opsets; i++)
        if (onnx_is_standard(onnx_text(w->p, w->p->opsets[i].domain)))
            return w->p->opsets[i].version;
    return 1;
}

static void infer(struct onnx_walk *w, struct making_op *op, uint32_t constant)
{
    struct onnx_known known;
    struct infer f = {.m = w->m,
                      .node = op->node,
                      .scope = op->frame->scope,
                      .in = op->in,
                      .n_in = op->node->inputs.n,
                      .out = op->out,
                      .n_out = op->node->outputs.n,
                      .opset = standard_opset(w)};

    if (constant != ONNX_NONE) {
        known = walk_tensor_known(w, constant);
        f.constant = &known;
    }
    onnx_infer(&f);
    w->stop = w->stop || f.spent;
}

/* Is the result plain: Shape, Size, or computed from constants only? */
static bool is_plain(const struct onnx_walk *w, const struct making_op *op)
{
    struct str name = onnx_text(w->p, op->node->op_type);

    if (str_is(name, "Shape") || str_is(name, "Size"))
        return true;
    for (uint32_t i = 0; i < op->node->inputs.n; i++)
        if (op->inputs[i] != PROGRAM_NONE && !w->values[op->inputs[i]].plain)
            return false;
    return !str_starts(name, STR("Random"));
}

/* Adds the results. The result of a Constant with a place is its tensor. */
static void add_outputs(struct onnx_walk *w, struct making_op *op, uint32_t constant)
{
    bool plain = is_plain(w, op);
    uint32_t k = 0;

    for
        ONNX_EACH(at, w->p, names, op->node->outputs)
        {
            uint32_t name = w->p->names[at].name, made;
            struct onnx_known known =
                walk_known(w, op->frame->graph, name, &op->out[k]);
            struct program_value value = walk_unknown(PROGRAM_RESULT, name);

            value.output = (uint16_t)k;
            value.producer = w->program->n_ops;
            k++;
            if (name == 0 || w->stop)
                continue;
            if (constant != ONNX_NONE && w->p->tensors[constant].place != NO_PLACE)
                made = walk_tensor(w, constant, name, op->call);
            else
                made = walk_value(w, &value, &known, op->call, plain);
            op->ios[op->n_in + op->n_out++] =
                (struct program_io){made, 0, PROGRAM_NONE};
            walk_bind(w, op->frame->instance, name, made);
        }
}

static void add_op(struct onnx_walk *w, struct making_op *op)
{
    uint32_t constant = constant_tensor(w, op->node, op->frame->scope), k = 0;
    struct program_op made = {.name = op_name(w, op->node),
                              .call = op->call,
                              .place = w->program->calls[op->call].place,
                              .region = op->frame->region};

    for
        ONNX_EACH(at, w->p, names, op->node->inputs)
        {
            if (op->inputs[k] != PROGRAM_NONE)
                op->ios[op->n_in++] = (struct program_io){
                    op->inputs[k], walk_position(w, k), PROGRAM_NONE};
            k++;
            (void)at;
        }
    infer(w, op, constant);
    add_outputs(w, op, constant);
    if (op->n_in > UINT16_MAX || op->n_out > UINT16_MAX)
        w->stop = true;
    made.attributes = w->stop ? 0 : attributes(w, op->node, op->frame->scope);
    made.n_in = (uint16_t)op->n_in;
    made.n_out = (uint16_t)op->n_out;
    walk_line(w, op->node, &made.file, &made.line);
    if (w->stop || build_program_op(w->build, &made, op->ios) == PROGRAM_NONE) {
        w->stop = true;
        return;
    }
    walk_call_grow(w, op->call);
}

/* Allocates arrays for the inputs and outputs of a node. */
static bool allocate(struct onnx_walk *w, struct making_op *op)
{
    size_t n_in = op->node->inputs.n, n_out = op->node->outputs.n;
    struct arena *arena = w->p->arena;

    op->inputs = arena_array(arena, n_in + 1, sizeof *op->inputs);
    op->in = arena_array(arena, n_in + 1, sizeof *op->in);
    op->out = arena_array(arena, n_out + 1, sizeof *op->out);
    op->ios = arena_array(arena, n_in + n_out + 1, sizeof *op->ios);
    return op->inputs && op->in && op->out && op->ios;
}

static void step(struct onnx_walk *w, uint32_t node)
{
    struct onnx_frame frame = w->frames[w->n_frames - 1];
    struct making_op op = {.node = &w->p->nodes[node], .frame = &frame};
    uint32_t k = 0, place;

    if (w->steps++ >= w->steps_most || !allocate(w, &op)) {
        w->stop = true;
        return;
    }
    for
        ONNX_EACH(at, w->p, names, op.node->inputs)
        {
            uint32_t name = w->p->names[at].name;

            op.inputs[k] = name ? walk_read(w, &frame, name) : PROGRAM_NONE;
            op.in[k] = (struct onnx_known){.rank = -1};
            if (w->stop)
                return;
            if (op.inputs[k] != PROGRAM_NONE)
                op.in[k] = w->values[op.inputs[k]].known;
            k++;
        }
    place = op.node->scope == NO_PLACE ? w->program->calls[frame.call].place
                                       : op.node->scope;
    op.call = op.node->inputs.n == 0 ? frame.call
                                     : walk_call_of(w, &frame, place, op.inputs, k);
    if (w->stop || walk_enter(w, node, op.inputs, k, op.call))
        return;
    add_op(w, &op);
    if (!w->stop)
        walk_body(w, node, op.call);
}

/* ---- the program ---- */

/* Adds the inputs of the graph, except those with an initialiser, which are tensors. */
static uint32_t add_inputs(struct onnx_walk *w, struct program_io *ios)
{
    const struct onnx_graph *graph = &w->p->graphs[0];
    static const struct onnx_known nothing = {.rank = -1};
    uint32_t n = 0;

    for
        ONNX_EACH(at, w->p, types, graph->inputs)
        {
            uint32_t name = w->p->types[at].name, value;
            struct onnx_known known = walk_known(w, 0, name, &nothing);

            if (onnx_initialiser(w->m, 0, name) != ONNX_NONE)
                continue;
            value = walk_simple(w, PROGRAM_INPUT, name, &known, 0);
            if (value == PROGRAM_NONE)
                break;
            walk_bind(w, 0, name, value);
            ios[n++] = (struct program_io){value, name, PROGRAM_NONE};
        }
    return n;
}

static uint32_t add_results(struct onnx_walk *w, const struct onnx_frame *frame,
                            struct program_io *ios)
{
    uint32_t n = 0, value;

    for
        ONNX_EACH(at, w->p, types, w->p->graphs[0].outputs)
        {
            value = walk_read(w, frame, w->p->types[at].name);
            if (value == PROGRAM_NONE)
                break;
            ios[n++] = (struct program_io){value, w->p->types[at].name, PROGRAM_NONE};
        }
    return n;
}

static void follow(struct onnx_walk *w, struct err *err)
{
    const struct onnx_graph *graph = &w->p->graphs[0];
    struct program_io *ios = arena_array(
        w->p->arena, (size_t)graph->inputs.n + graph->outputs.n + 1, sizeof *ios);
    struct onnx_frame *frame, first;
    uint32_t n_in, n_out;

    if (!ios || walk_call_new(w, PROGRAM_NONE, w->m->root, PROGRAM_NONE) != 0)
        return;
    frame = walk_push(w, FRAME_MAIN, 0, NULL);
    if (!frame)
        return;
    first = *frame;
    n_in = add_inputs(w, ios);
    while (!w->stop && w->n_frames > 0) {
        uint32_t node = w->frames[w->n_frames - 1].node;

        if (!work_step(w->build->work, 0)) {
            err_set_about(err, ERR_CANCELLED, w->m->input->path, ": stopped");
            return;
        }
        if (node == ONNX_NONE) {
            walk_leave(w);
            continue;
        }
        w->frames[w->n_frames - 1].node = w->p->nodes[node].next;
        step(w, node);
    }
    if (w->stop)
        return;
    n_out = add_results(w, &first, ios + n_in);
    if (n_in > UINT16_MAX || n_out > UINT16_MAX ||
        build_program_call_ios(w->build, 0, ios, n_in, n_out) < 0 ||
        walk_call_ends(w) < 0)
        w->stop = true;
}

static void say_trouble(const struct onnx_walk *w)
{
    if (w->undefined > 0)
        build_finding(w->build, FINDING_DAMAGED, SEVERITY_WARNING, FINDING_NOWHERE,
                      "nodes read %" PRIu32
                      " names that no earlier node, input or initialiser defines; "
                      "the first is %.*s",
                      w->undefined,
                      STR_ARG(str_head(onnx_text(w->p, w->first_undefined), 100)));
    if (w->recursive > 0)
        build_finding(w->build, FINDING_DAMAGED, SEVERITY_WARNING, FINDING_NOWHERE,
                      "functions in the file are recursive, which ONNX does not allow");
}

static void begin(struct onnx_walk *w)
{
    map_init(&w->names, w->p->arena);
    map_init(&w->types, w->p->arena);
    map_init(&w->calls, w->p->arena);
    map_init(&w->op_names, w->p->arena);
    map_init(&w->call_ios, w->p->arena);
    w->steps_most = STEPS_LEAST + (uint64_t)STEPS_EACH * w->p->n_nodes;
    w->program->method = build_string(
        w->build, w->p->graphs[0].name ? onnx_text(w->p, w->p->graphs[0].name)
                                       : STR("the graph"));
    if (w->program->method == INTERN_NONE)
        w->program->method = 0;
    w->stop = walk_index_types(w) < 0;
}

int onnx_program(struct onnx_making *m, struct err *err)
{
    struct err why = {0};
    struct onnx_walk w = {.m = m, .p = m->p, .build = m->build};

    if (!m->p->has_graph)
        return 0;
    w.program = build_program(m->build);
    if (!w.program)
        return 0;
    begin(&w);
    if (!w.stop)
        follow(&w, &why);
    if (why.code != ERR_NONE)
        return err_copy(err, &why);
    w.program->cut = w.program->cut || w.stop;
    say_trouble(&w);
    if (w.program->n_calls == 0)
        build_program_drop(m->build);
    return 0;
}
