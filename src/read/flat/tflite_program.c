/* Turns operators into the program. A single entry is the program; several are calls of
 * their modules. */
#include <stdio.h>

#include "base/base.h"
#include "read/file/program_facts_in.h"
#include "read/flat/tflite_program_in.h"

#define STEPS_EACH  64 /* limit on operators: this often each may be run */
#define STEPS_LEAST 20000

/* ---- values ---- */

static uint32_t string(struct tflite_walk *w, struct str text)
{
    uint32_t id = build_string(w->build, text);

    return id == INTERN_NONE ? 0 : id;
}

uint32_t tflite_value(struct tflite_walk *w, const struct tflite_graph *graph,
                      uint32_t tensor, enum program_value_kind kind)
{
    const struct tflite_tensor *of = &graph->tensors[tensor];
    struct program_value value = build_program_blank(kind);
    uint32_t id;

    if (w->stop || build_program_full(w->build)) {
        w->stop = true;
        return PROGRAM_NONE;
    }
    value.name = string(w, of->name);
    value.dtype = of->dtype;
    value.rank = of->rank;
    value.shape = of->shape;
    w->program->shapes |= of->shape != PROGRAM_NONE;
    if (kind == PROGRAM_TENSOR)
        value.tensor = of->tensor;
    if (kind == PROGRAM_TENSOR || kind == PROGRAM_STORED)
        value.place = of->node == NO_PLACE ? graph->node : of->node;
    id = build_program_value(w->build, &value);
    w->stop |= id == PROGRAM_NONE;
    return id;
}

void tflite_bind(struct tflite_walk *w, const struct tflite_frame *frame,
                 uint32_t tensor, uint32_t value)
{
    if (tensor != TFLITE_NONE && value != PROGRAM_NONE &&
        map_put(&w->values, (uint64_t)frame->instance << 32 | tensor, value) < 0)
        w->stop = true;
}

uint32_t tflite_tensor_at(struct tflite_walk *w, const struct tflite_graph *graph,
                          struct flat_vector list, uint32_t i)
{
    uint64_t index = flat_number(&w->tflite->flat, list.at + 4 * (uint64_t)i, 4);

    return index < graph->n_tensors ? (uint32_t)index : TFLITE_NONE;
}

/* The value of a tensor that is read: the result of its last writer, or a constant,
 * which is the same value in every instance. */
static uint32_t read_value(struct tflite_walk *w, const struct tflite_frame *frame,
                           uint32_t tensor)
{
    const struct tflite_tensor *of = &frame->graph->tensors[tensor];
    struct tflite_frame of_file = *frame;
    enum program_value_kind kind = PROGRAM_OPAQUE;
    uint32_t value;

    if (map_find(&w->values, (uint64_t)frame->instance << 32 | tensor, &value))
        return value;
    of_file.instance = (uint32_t)(frame->graph - w->tflite->graphs);
    if (map_find(&w->values, (uint64_t)of_file.instance << 32 | tensor, &value))
        return value;
    if (of->tensor != NO_OBJECT)
        kind = PROGRAM_TENSOR;
    else if (of->node != NO_PLACE || of->variable)
        kind = PROGRAM_STORED;
    value = tflite_value(w, frame->graph, tensor, kind);
    tflite_bind(w, kind == PROGRAM_OPAQUE ? frame : &of_file, tensor, value);
    return value;
}

void tflite_values(struct tflite_walk *w, const struct tflite_frame *frame,
                   struct flat_vector list, struct tflite_values *to)
{
    to->n = 0;
    for (uint32_t i = 0; i < list.n && i < TFLITE_IOS_MOST && !w->stop; i++) {
        uint32_t tensor = tflite_tensor_at(w, frame->graph, list, i);

        if (arena_room(w->arena, &to->at, to->n, &to->room, sizeof *to->at) < 0) {
            w->stop = true;
            return;
        }
        to->at[to->n++] =
            tensor == TFLITE_NONE ? PROGRAM_NONE : read_value(w, frame, tensor);
    }
}

/* ---- operations ---- */

static void add_io(struct tflite_walk *w, struct tflite_ios *to, uint32_t value,
                   uint32_t arg)
{
    if (value == PROGRAM_NONE || w->stop)
        return;
    if (arena_room(w->arena, &to->at, to->n, &to->room, sizeof *to->at) < 0) {
        w->stop = true;
        return;
    }
    to->at[to->n++] =
        (struct program_io){.value = value, .arg = arg, .item = PROGRAM_NONE};
}

/* The position of an argument as text. */
static uint32_t position(struct tflite_walk *w, uint32_t i)
{
    char text[16];

    snprintf(text, sizeof text, "%u", i);
    return string(w, str_of(text));
}

/* "tflite::CONV_2D", or the name of a custom operator. */
static uint32_t make_name(struct tflite_walk *w, uint64_t index)
{
    enum { CUSTOM = 32 };
    struct flat *flat = &w->tflite->flat;
    struct flat_table code = flat_table_at(flat, w->tflite->codes.at + 4 * index);
    int64_t number = tflite_op_code(w->tflite, index);
    struct str custom = flat_text(flat, code, 1, 200, w->arena);
    const char *text;

    if (number == CUSTOM && custom.len > 0)
        text = arena_printf(w->arena, "tflite::CUSTOM:%.*s", STR_ARG(custom));
    else if (tflite_op_name(number))
        text = arena_printf(w->arena, "tflite::%s", tflite_op_name(number));
    else
        text = arena_printf(w->arena, "tflite::OPERATOR_%lld", (long long)number);
    return text ? string(w, str_of(text)) : 0;
}

static uint32_t name_of(struct tflite_walk *w, struct flat_table op)
{
    uint64_t index = (uint64_t)flat_int(&w->tflite->flat, op, 0, 4, 0) & UINT32_MAX;

    if (index >= w->tflite->codes.n)
        return string(w, STR("tflite::UNKNOWN"));
    if (w->names[index] == 0)
        w->names[index] = make_name(w, index);
    return w->names[index];
}

void tflite_op_add(struct tflite_walk *w, const struct tflite_frame *frame,
                   const struct tflite_op *op, const struct tflite_values *inputs)
{
    struct program_op made = {.name = name_of(w, op->table),
                              .attributes = tflite_options(w->tflite, op->table),
                              .call = frame->call,
                              .place = frame->graph->node,
                              .region = frame->region};

    if (made.attributes == VALUE_ID_FAILED)
        made.attributes = VALUE_ID_NONE;
    w->ios.n = 0;
    for (uint32_t i = 0; i < inputs->n; i++)
        add_io(w, &w->ios, inputs->at[i], position(w, i));
    made.n_in = (uint16_t)w->ios.n;
    for (uint32_t i = 0; i < op->outputs.n && i < TFLITE_IOS_MOST && !w->stop; i++) {
        uint32_t tensor = tflite_tensor_at(w, frame->graph, op->outputs, i), value;

        if (tensor == TFLITE_NONE)
            continue;
        value = tflite_value(w, frame->graph, tensor, PROGRAM_RESULT);
        if (value == PROGRAM_NONE)
            return;
        w->program->values[value].producer = w->program->n_ops;
        w->program->values[value].output = (uint16_t)i;
        tflite_bind(w, frame, tensor, value);
        add_io(w, &w->ios, value, 0);
    }
    made.n_out = (uint16_t)(w->ios.n - made.n_in);
    if (!w->stop && build_program_op(w->build, &made, w->ios.at) == PROGRAM_NONE)
        w->stop = true;
}

/* Counts an operator; false: stop. */
static bool take_step(struct tflite_walk *w)
{
    w->limit |= w->steps++ >= w->steps_most;
    w->stop |= w->limit || w->tflite->flat.bad || build_program_full(w->build) ||
               !work_step(w->build->work, 0);
    return !w->stop;
}

void tflite_ops(struct tflite_walk *w, const struct tflite_frame *frame)
{
    struct flat *flat = &w->tflite->flat;
    struct flat_vector ops = flat_vector(flat, frame->graph->table, 3, 4);

    for (uint32_t i = 0; i < ops.n && take_step(w); i++) {
        struct tflite_op op = {.table = flat_table_at(flat, ops.at + 4 * (uint64_t)i)};

        op.code = tflite_op_code(
            w->tflite, (uint64_t)flat_int(flat, op.table, 0, 4, 0) & UINT32_MAX);
        op.inputs = flat_vector(flat, op.table, 1, 4);
        op.outputs = flat_vector(flat, op.table, 2, 4);
        if (tflite_flow(w, frame, &op))
            continue;
        tflite_values(w, frame, op.inputs, &w->inputs);
        tflite_op_add(w, frame, &op, &w->inputs);
    }
}

/* ---- entries ---- */

void tflite_call_ios(struct tflite_walk *w, uint32_t call,
                     const struct tflite_graph *graph, const struct tflite_values *in,
                     const struct tflite_values *out)
{
    struct flat_vector lists[2] = {flat_vector(&w->tflite->flat, graph->table, 1, 4),
                                   flat_vector(&w->tflite->flat, graph->table, 2, 4)};
    uint32_t n_in = 0;

    w->ios.n = 0;
    for (int side = 0; side < 2; side++) {
        const struct tflite_values *values = side ? out : in;

        for (uint32_t i = 0; i < lists[side].n && i < values->n; i++) {
            uint32_t tensor = tflite_tensor_at(w, graph, lists[side], i);

            if (tensor != TFLITE_NONE)
                add_io(w, &w->ios, values->at[i],
                       string(w, graph->tensors[tensor].name));
        }
        n_in = side ? n_in : w->ios.n;
    }
    if (!w->stop &&
        build_program_call_ios(w->build, call, w->ios.at, n_in, w->ios.n - n_in) < 0)
        w->stop = true;
}

/* New values for the inputs of an entry. */
static void make_inputs(struct tflite_walk *w, struct tflite_graph *graph,
                        struct tflite_values *to)
{
    struct flat_vector list = flat_vector(&w->tflite->flat, graph->table, 1, 4);

    for (uint32_t i = 0; i < list.n && i < TFLITE_IOS_MOST && !w->stop; i++) {
        uint32_t tensor = tflite_tensor_at(w, graph, list, i);

        if (arena_room(w->arena, &to->at, to->n, &to->room, sizeof *to->at) < 0)
            w->stop = true;
        else
            to->at[to->n++] = tensor == TFLITE_NONE
                                  ? PROGRAM_NONE
                                  : tflite_value(w, graph, tensor, PROGRAM_INPUT);
    }
}

/* A single entry: its operators are the program's. */
static void walk_one(struct tflite_walk *w, struct tflite_graph *graph)
{
    struct tflite_frame frame = {.graph = graph, .region = PROGRAM_NONE};
    struct tflite_values inputs = {0}, outputs = {0};

    make_inputs(w, graph, &inputs);
    tflite_run(w, &frame, &inputs, &outputs);
    tflite_call_ios(w, 0, graph, &inputs, &outputs);
}

/* Adds the inputs or outputs of an entry to those of the program: "encode:x", with the
 * names that its signature has for them. */
static void add_ends(struct tflite_walk *w, const struct tflite_graph *graph, bool in,
                     const struct tflite_values *values, struct tflite_ios *to)
{
    struct flat_vector list =
        flat_vector(&w->tflite->flat, graph->table, in ? 1 : 2, 4);

    for (uint32_t i = 0; i < list.n && i < values->n; i++) {
        uint32_t tensor = tflite_tensor_at(w, graph, list, i);
        struct str name = STR("");
        const char *text;

        if (tensor == TFLITE_NONE)
            continue;
        if (graph->signature != TFLITE_NONE)
            name = tflite_signature_name(
                w->tflite, &w->tflite->signatures[graph->signature], in, tensor);
        if (name.len == 0)
            name = graph->tensors[tensor].name;
        text = arena_printf(w->arena, "%.*s:%.*s", STR_ARG(graph->name), STR_ARG(name));
        add_io(w, to, values->at[i], text ? string(w, str_of(text)) : 0);
    }
}

/* Several entries: each is a call of its module. */
static void walk_entries(struct tflite_walk *w)
{
    struct tflite_frame frame = {.region = PROGRAM_NONE};
    struct tflite_ios in = {0}, out = {0};

    for (uint32_t i = 0; i < w->tflite->n_graphs && !w->stop; i++) {
        struct tflite_graph *graph = &w->tflite->graphs[i];
        struct tflite_values inputs = {0}, outputs = {0};

        if (!graph->entry)
            continue;
        make_inputs(w, graph, &inputs);
        tflite_call(w, &frame, graph, string(w, graph->name), &inputs, &outputs);
        add_ends(w, graph, true, &inputs, &in);
        add_ends(w, graph, false, &outputs, &out);
    }
    for (uint32_t i = 0; i < out.n; i++)
        add_io(w, &in, out.at[i].value, out.at[i].arg);
    if (!w->stop && build_program_call_ios(w->build, 0, in.at, in.n - out.n, out.n) < 0)
        w->stop = true;
}

/* ---- the program ---- */

static uint64_t count_ops(struct tflite *tflite)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < tflite->n_graphs; i++)
        n += flat_vector(&tflite->flat, tflite->graphs[i].table, 3, 4).n;
    return n;
}

static void say_trouble(struct tflite_walk *w)
{
    if (w->n_recursive > 0)
        build_finding(w->build, FINDING_DAMAGED, SEVERITY_WARNING, FINDING_NOWHERE,
                      "subgraphs run themselves, which TFLite does not allow");
    if (w->limit)
        build_finding(
            w->build, FINDING_LIMIT, SEVERITY_ALARM, FINDING_NOWHERE,
            "subgraphs run each other too often, possibly an attack: the rest "
            "of the program was skipped");
}

int tflite_program(struct tflite *tflite, struct err *err)
{
    struct build *build = tflite->build;
    struct program_call call = {
        .place = tflite->input->node, .parent = PROGRAM_NONE, .region = PROGRAM_NONE};
    struct tflite_walk w = {.tflite = tflite,
                            .build = build,
                            .arena = &build->scratch,
                            .n_instances = tflite->n_graphs,
                            .steps_most = STEPS_LEAST + STEPS_EACH * count_ops(tflite)};

    if (tflite->flat.bad || w.steps_most == STEPS_LEAST || !build_program(build))
        return 0;
    w.program = build->program;
    w.names = arena_array(w.arena, (size_t)tflite->codes.n + 1, sizeof *w.names);
    map_init(&w.values, w.arena);
    call.method = string(&w, STR("forward"));
    if (!w.names || build_program_call(build, &call) == PROGRAM_NONE) {
        build_program_drop(build);
        return 0;
    }
    w.program->method = call.method;
    if (tflite->n_entries == 1)
        walk_one(&w, &tflite->graphs[0]);
    else
        walk_entries(&w);
    w.program->calls[0].end = w.program->n_ops;
    w.program->cut |= w.stop;
    say_trouble(&w);
    if (!w.program->cut)
        program_facts(build);
    return work_cancelled(build->work)
               ? err_set_about(err, ERR_CANCELLED, tflite->input->path, ": stopped")
               : 0;
}
