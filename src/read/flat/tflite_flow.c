/* Operators that run subgraphs: IF and CASE become branches, WHILE a loop, others
 * calls. A subgraph that an operation applies to elements (REDUCE) becomes a loop after
 * it. */
#include "base/base.h"
#include "read/flat/tflite_program_in.h"

#define DEPTH_MOST    32 /* subgraphs inside subgraphs */
#define BRANCHES_MOST 64

/* ---- calls ---- */

void tflite_run(struct tflite_walk *w, struct tflite_frame *frame,
                const struct tflite_values *on, struct tflite_values *results)
{
    struct tflite_graph *graph = frame->graph;
    struct flat_vector inputs = flat_vector(&w->tflite->flat, graph->table, 1, 4);
    struct flat_vector outputs = flat_vector(&w->tflite->flat, graph->table, 2, 4);

    frame->instance = w->n_instances++;
    for (uint32_t i = 0; i < inputs.n && i < on->n && !w->stop; i++)
        tflite_bind(w, frame, tflite_tensor_at(w, graph, inputs, i), on->at[i]);
    graph->active = true;
    tflite_ops(w, frame);
    graph->active = false;
    tflite_values(w, frame, outputs, results);
}

void tflite_call(struct tflite_walk *w, const struct tflite_frame *frame,
                 struct tflite_graph *graph, uint32_t method,
                 const struct tflite_values *on, struct tflite_values *results)
{
    struct program_call call = {.place = graph->node,
                                .parent = frame->call,
                                .region = frame->region,
                                .method = method,
                                .ops = w->program->n_ops,
                                .end = w->program->n_ops};
    struct tflite_frame inside = {
        .graph = graph, .region = frame->region, .depth = frame->depth + 1};

    inside.call = w->stop ? PROGRAM_NONE : build_program_call(w->build, &call);
    if (inside.call == PROGRAM_NONE) {
        w->stop = true;
        return;
    }
    tflite_run(w, &inside, on, results);
    w->program->calls[inside.call].end = w->program->n_ops;
    tflite_call_ios(w, inside.call, graph, on, results);
}

/* An operator that runs subgraphs. */
struct subgraph_run {
    struct tflite_walk *w;
    const struct tflite_frame *frame;
    const struct tflite_op *op;
    struct tflite_values inputs;
    struct tflite_graph *graphs[BRANCHES_MOST];
    uint32_t n_graphs;
    uint32_t method; /* string id */
};

/* Calls graph i in a region; PROGRAM_NONE: the one around the operator. */
static void call_graph(struct subgraph_run *f, uint32_t i, uint32_t region,
                       const struct tflite_values *on, struct tflite_values *results)
{
    struct tflite_frame frame = *f->frame;

    if (region != PROGRAM_NONE)
        frame.region = region;
    tflite_call(f->w, &frame, f->graphs[i], f->method, on, results);
}

/* ---- regions ---- */

static uint32_t open_region(struct subgraph_run *f, enum program_region_kind kind,
                            uint32_t condition)
{
    struct program_region region = {.kind = (uint8_t)kind,
                                    .taken = -1,
                                    .parent = f->frame->region,
                                    .call = f->frame->call,
                                    .condition = condition,
                                    .ops = f->w->program->n_ops,
                                    .end = f->w->program->n_ops};
    uint32_t id =
        f->w->stop ? PROGRAM_NONE : build_program_region(f->w->build, &region);

    f->w->stop |= id == PROGRAM_NONE;
    return id;
}

static void close_region(struct subgraph_run *f, uint32_t region)
{
    if (region != PROGRAM_NONE)
        f->w->program->regions[region].end = f->w->program->n_ops;
}

/* A merge of the sources that are known. */
static uint32_t merge(struct subgraph_run *f, uint32_t tensor, const uint32_t *sources,
                      uint32_t n)
{
    struct tflite_walk *w = f->w;
    uint32_t kept[BRANCHES_MOST], n_kept = 0, value;

    value = tflite_value(w, f->frame->graph, tensor, PROGRAM_MERGE);
    for (uint32_t i = 0; i < n; i++)
        if (sources[i] != PROGRAM_NONE)
            kept[n_kept++] = sources[i];
    if (!w->stop && build_program_sources(w->build, value, kept, n_kept) < 0)
        w->stop = true;
    return value;
}

static uint32_t output_at(struct subgraph_run *f, uint32_t i)
{
    return i < f->op->outputs.n
               ? tflite_tensor_at(f->w, f->frame->graph, f->op->outputs, i)
               : TFLITE_NONE;
}

static uint32_t item(const struct tflite_values *values, uint32_t i)
{
    return i < values->n ? values->at[i] : PROGRAM_NONE;
}

static struct tflite_values after(const struct tflite_values *values, uint32_t n)
{
    n = n < values->n ? n : values->n;
    return (struct tflite_values){.at = values->at + n, .n = values->n - n};
}

/* The first input selects the graph that runs on the others: for IF by its truth, for
 * CASE by its index. */
static void do_branches(struct subgraph_run *f, bool is_case)
{
    struct tflite_values results[BRANCHES_MOST] = {{0}};
    struct tflite_values on = after(&f->inputs, 1);
    uint32_t condition = item(&f->inputs, 0);

    for (uint32_t k = 0; k < f->n_graphs && !f->w->stop; k++) {
        uint32_t region =
            open_region(f, k == 0 || is_case ? PROGRAM_IF : PROGRAM_ELSE, condition);

        call_graph(f, k, region, &on, &results[k]);
        close_region(f, region);
    }
    for (uint32_t i = 0; i < f->op->outputs.n && i < TFLITE_IOS_MOST && !f->w->stop;
         i++) {
        uint32_t tensor = output_at(f, i), sources[BRANCHES_MOST];

        for (uint32_t k = 0; k < f->n_graphs; k++)
            sources[k] = item(&results[k], i);
        if (tensor != TFLITE_NONE)
            tflite_bind(f->w, f->frame, tensor, merge(f, tensor, sources, f->n_graphs));
    }
}

/* The values at the beginning of an iteration, one for each in `before`. */
static void begin_turn(struct subgraph_run *f, const struct tflite_values *before,
                       struct tflite_values *ret_turn)
{
    struct tflite_walk *w = f->w;

    ret_turn->n = 0;
    ret_turn->at = arena_array(w->arena, (size_t)before->n + 1, sizeof *ret_turn->at);
    w->stop |= !ret_turn->at;
    for (uint32_t i = 0; i < before->n && !w->stop; i++) {
        uint32_t tensor = output_at(f, i);

        ret_turn->at[i] = before->at[i];
        ret_turn->n = i + 1;
        if (tensor != TFLITE_NONE)
            ret_turn->at[i] = tflite_value(w, f->frame->graph, tensor, PROGRAM_MERGE);
        if (!w->stop && tensor != TFLITE_NONE)
            w->program->values[ret_turn->at[i]].loop = true;
    }
}

/* Sets the sources of carried values: from outside, then of the previous iteration. */
static void close_turn(struct subgraph_run *f, const struct tflite_values *before,
                       const struct tflite_values *turn,
                       const struct tflite_values *made)
{
    for (uint32_t i = 0; i < turn->n && !f->w->stop; i++) {
        uint32_t sources[2], n = 0, value = turn->at[i];

        if (value == PROGRAM_NONE || value == item(before, i))
            continue;
        if (item(before, i) != PROGRAM_NONE)
            sources[n++] = item(before, i);
        f->w->program->values[value].n_before = n;
        if (item(made, i) != PROGRAM_NONE && item(made, i) != value)
            sources[n++] = item(made, i);
        if (build_program_sources(f->w->build, value, sources, n) < 0)
            f->w->stop = true;
    }
}

/* The first graph computes the condition, the second the next values. */
static void do_while(struct subgraph_run *f)
{
    struct tflite_values turn = {0}, condition = {0}, made = {0};
    uint32_t region = open_region(f, PROGRAM_LOOP, PROGRAM_NONE);

    begin_turn(f, &f->inputs, &turn);
    call_graph(f, 0, region, &turn, &condition);
    call_graph(f, 1, region, &turn, &made);
    if (f->w->stop)
        return;
    f->w->program->regions[region].condition = item(&condition, 0);
    close_region(f, region);
    close_turn(f, &f->inputs, &turn, &made);
    for (uint32_t i = 0; i < turn.n; i++)
        tflite_bind(f->w, f->frame, output_at(f, i), turn.at[i]);
}

/* Runs its graph once. */
static void do_call(struct subgraph_run *f)
{
    struct tflite_values results = {0};

    call_graph(f, 0, PROGRAM_NONE, &f->inputs, &results);
    for (uint32_t i = 0; i < results.n && i < f->op->outputs.n; i++)
        tflite_bind(f->w, f->frame, output_at(f, i), results.at[i]);
}

/* An operation that applies its graph to elements, any number of times. The inputs of
 * the graph are elements and partial results: values without a source. */
static void do_body(struct subgraph_run *f)
{
    struct tflite_values on = {0}, results = {0};
    struct flat_vector inputs =
        flat_vector(&f->w->tflite->flat, f->graphs[0]->table, 1, 4);
    uint32_t region;

    tflite_op_add(f->w, f->frame, f->op, &f->inputs);
    region = open_region(f, PROGRAM_LOOP, PROGRAM_NONE);
    for (uint32_t i = 0; i < inputs.n && i < TFLITE_IOS_MOST && !f->w->stop; i++) {
        uint32_t tensor = tflite_tensor_at(f->w, f->graphs[0], inputs, i);

        if (arena_room(f->w->arena, &on.at, on.n, &on.room, sizeof *on.at) < 0)
            f->w->stop = true;
        else
            on.at[on.n++] = tensor == TFLITE_NONE ? PROGRAM_NONE
                                                  : tflite_value(f->w, f->graphs[0],
                                                                 tensor, PROGRAM_MERGE);
    }
    call_graph(f, 0, region, &on, &results);
    close_region(f, region);
}

/* ---- operators that run subgraphs ---- */

enum run_way { WAY_IF, WAY_CASE, WAY_WHILE, WAY_CALL, WAY_BODY };

static const struct running {
    int16_t code; /* of the operator */
    uint8_t way;
    uint8_t more;      /* its options are the second union */
    uint8_t fields[2]; /* of the options: numbers of subgraphs; 255: none */
} running[] = {
    {31, WAY_CALL, 0, {0, 255}},  /* CALL */
    {118, WAY_IF, 0, {0, 1}},     /* IF */
    {119, WAY_WHILE, 0, {0, 1}},  /* WHILE */
    {129, WAY_CALL, 0, {0, 255}}, /* CALL_ONCE */
    {174, WAY_BODY, 1, {1, 255}}, /* STABLEHLO_REDUCE */
    {190, WAY_BODY, 1, {6, 255}}, /* STABLEHLO_SCATTER */
    {198, WAY_BODY, 1, {5, 255}}, /* STABLEHLO_REDUCE_WINDOW */
    {199, WAY_BODY, 1, {2, 255}}, /* STABLEHLO_SORT */
    {200, WAY_WHILE, 1, {0, 1}},  /* STABLEHLO_WHILE */
    {206, WAY_CALL, 1, {1, 255}}, /* STABLEHLO_COMPOSITE */
    {209, WAY_CASE, 1, {0, 255}}, /* STABLEHLO_CASE: a list of them */
};

static const struct running *running_of(int64_t code)
{
    for (size_t i = 0; i < COUNT_OF(running); i++)
        if (running[i].code == code)
            return &running[i];
    return NULL;
}

/* Adds a subgraph; false: it cannot be followed. */
static bool add_graph(struct subgraph_run *f, int64_t index)
{
    struct tflite *tflite = f->w->tflite;

    if (index < 0 || index >= tflite->n_graphs || f->n_graphs >= BRANCHES_MOST ||
        f->frame->depth >= DEPTH_MOST)
        return false;
    if (tflite->graphs[index].active) {
        f->w->n_recursive++;
        return false;
    }
    f->graphs[f->n_graphs++] = &tflite->graphs[index];
    return true;
}

static bool find_graphs(struct subgraph_run *f, const struct running *how,
                        struct flat_table options)
{
    struct flat *flat = &f->w->tflite->flat;

    if (options.at == 0)
        return false;
    if (how->way == WAY_CASE) {
        struct flat_vector list = flat_vector(flat, options, how->fields[0], 4);

        for (uint32_t i = 0; i < list.n; i++)
            if (!add_graph(f, (int32_t)flat_number(flat, list.at + 4 * (uint64_t)i, 4)))
                return false;
        return list.n > 0;
    }
    for (int i = 0; i < 2 && how->fields[i] != 255; i++)
        if (!add_graph(f, flat_int(flat, options, how->fields[i], 4, 0)))
            return false;
    return true;
}

/* The method of a call: the name of a composite, such as "odml.rms_norm". */
static uint32_t method_of(struct subgraph_run *f, struct flat_table options)
{
    enum { COMPOSITE = 206 };
    struct str name = STR("");
    uint32_t id;

    if (f->op->code == COMPOSITE)
        name = flat_text(&f->w->tflite->flat, options, 0, 200, f->w->arena);
    if (name.len == 0)
        return f->w->program->method;
    id = build_string(f->w->build, name);
    return id == INTERN_NONE ? 0 : id;
}

bool tflite_flow(struct tflite_walk *w, const struct tflite_frame *frame,
                 const struct tflite_op *op)
{
    const struct running *how = running_of(op->code);
    struct subgraph_run f = {.w = w, .frame = frame, .op = op};
    struct flat_table options;

    if (!how)
        return false;
    options = flat_table(&w->tflite->flat, op->table, how->more ? 12 : 4);
    if (!find_graphs(&f, how, options))
        return false;
    f.method = method_of(&f, options);
    tflite_values(w, frame, op->inputs, &f.inputs);
    if (w->stop)
        return true;
    switch (how->way) {
    case WAY_IF:
    case WAY_CASE:
        do_branches(&f, how->way == WAY_CASE);
        break;
    case WAY_WHILE:
        do_while(&f);
        break;
    case WAY_CALL:
        do_call(&f);
        break;
    default:
        do_body(&f);
    }
    return true;
}
