/* The graph of a run: nodes, and the values between them. */
#include "export/export_in.h"

#include <math.h>

#include "run/op_table.h"
#include "study/grad_paths.h"
#include "study/op_graph.h"

static void write_number(struct json *json, const char *key, uint32_t number)
{
    if (number == RUN_NONE)
        json_null(json, key);
    else
        json_u64(json, key, number);
}

static void write_line(struct document *doc, uint32_t line)
{
    if (line)
        json_str(doc->json, "line", run_string(doc->run, line));
    else
        json_null(doc->json, "line");
}

/* "shape", "dtype" of a value, by its number in the graph. */
static void write_shape(struct document *doc, const struct op_graph *graph,
                        uint32_t value)
{
    const struct run *run = doc->run;

    if (value == RUN_NONE) {
        json_null(doc->json, "shape");
        json_null(doc->json, "dtype");
    } else if (graph->exact) {
        const struct run_op_type *type = &run->ops->types[run->ops->values[value].type];

        export_list(doc->json, "shape", run->dims + type->shape, type->rank);
        json_text(doc->json, "dtype", dtype_name((enum dtype)type->dtype));
    } else {
        const struct run_value *of = &run->values[value];

        export_list(doc->json, "shape", run->dims + of->shape, of->rank);
        json_text(doc->json, "dtype", dtype_name((enum dtype)of->dtype));
    }
}

/* ---- nodes ---- */

static void write_op(struct document *doc, const struct op_graph_node *node)
{
    const struct run *run = doc->run;
    const struct run_op *op = &run->ops->ops[node->op];
    const struct run_op_kind *kind = &run->ops->kinds[op->kind];

    json_str(doc->json, "name", run_string(run, kind->name));
    json_u64(doc->json, "op", node->op);
    write_number(doc->json, "call", node->call);
    if (op->place < doc->model->n_places)
        document_path(doc, "module", op->place);
    else
        json_null(doc->json, "module");
    json_text(doc->json, "phase", op_phase_name((enum op_phase)op->phase));
    json_text(doc->json, "family", op_family_name((enum op_family)kind->family));
    write_line(doc, op->line);
    json_u64(doc->json, "step", op->step);
    json_u64(doc->json, "ns", op->ns);
    if (op->flops == OP_NO_FLOPS)
        json_null(doc->json, "flops");
    else
        json_i64(doc->json, "flops", op->flops);
}

static void write_call(struct document *doc, const struct op_graph_node *node)
{
    const struct run_call *call = &doc->run->calls[node->call];

    document_path(doc, "name", call->place);
    write_number(doc->json, "op", node->op);
    json_u64(doc->json, "call", node->call);
    document_path(doc, "module", call->place);
    json_str(doc->json, "class", place_class(doc->model, call->place));
    json_u64(doc->json, "number", call->number);
    write_line(doc, call->line);
    json_u64(doc->json, "step", call->step);
    json_u64(doc->json, "ns", run_inclusive(call));
    if (node->has_flops)
        json_u64(doc->json, "flops", node->flops);
    else
        json_null(doc->json, "flops");
    json_u64(doc->json, "ops", node->n_ops);
}

/* A node for a tensor: input, parameter, output, ... */
static void write_tensor(struct document *doc, const struct op_graph_node *node)
{
    const struct run *run = doc->run;

    if (node->tensor != RUN_NONE && doc->model->tensors[node->tensor].place != NO_PLACE)
        document_path(doc, "name", doc->model->tensors[node->tensor].place);
    else if (node->io != RUN_NONE)
        json_str(doc->json, "name", run_string(run, run->ios[node->io].path));
    else
        json_text(doc->json, "name", "");
    if (node->io != RUN_NONE)
        json_u64(doc->json, "call", node->call);
}

static void write_node(struct document *doc, const struct op_graph *graph, uint32_t id)
{
    const struct op_graph_node *node = &graph->nodes[id];

    json_object(doc->json, NULL);
    json_u64(doc->json, "id", id);
    json_text(doc->json, "kind", op_graph_kind_name((enum op_graph_kind)node->kind));
    if (node->kind == OP_GRAPH_OP)
        write_op(doc, node);
    else if (node->kind == OP_GRAPH_CALL)
        write_call(doc, node);
    else
        write_tensor(doc, node);
    write_shape(doc, graph, node->value);
    json_object_end(doc->json);
}

/* ---- edges ---- */

static void write_norm(struct json *json, const char *key, double norm)
{
    if (isnan(norm))
        json_null(json, key);
    else
        json_real(json, key, norm);
}

static void write_edge(struct document *doc, const struct op_graph *graph, uint32_t i,
                       const struct grad_edge *gradient)
{
    const struct op_graph_edge *edge = &graph->edges[i];

    json_object(doc->json, NULL);
    json_u64(doc->json, "source", edge->source);
    json_u64(doc->json, "target", edge->target);
    json_u64(doc->json, "value", edge->value);
    write_shape(doc, graph, edge->value);
    write_norm(doc->json, "gradient_l2", gradient->l2);
    write_norm(doc->json, "gradient_share", gradient->share);
    export_flag(doc->json, "loose", edge->loose);
    json_object_end(doc->json);
}

/* If memory runs out, gradients are unknown. */
static void write_edges(struct document *doc, const struct op_graph *graph)
{
    static const struct grad_edge unknown = {NAN, NAN};
    struct grad_edge *edges = NULL;
    struct grad_paths paths;
    struct err err = {0};
    struct arena arena;

    arena_init(&arena, 0);
    if (grad_paths_make(&paths, doc->run, &arena, &err) < 0 ||
        grad_paths_edges(&edges, &paths, graph, &arena, &err) < 0)
        edges = NULL;
    json_array(doc->json, "edges");
    for (uint32_t i = 0; i < graph->n_edges; i++)
        write_edge(doc, graph, i, edges ? &edges[i] : &unknown);
    json_array_end(doc->json);
    arena_release(&arena);
}

/* ---- the document ---- */

static bool is_input(const struct op_graph_node *node)
{
    return node->given;
}

static bool is_output(const struct op_graph_node *node)
{
    return node->kind == OP_GRAPH_OUTPUT;
}

static void write_ids(struct json *json, const char *key, const struct op_graph *graph,
                      bool (*is_wanted)(const struct op_graph_node *node))
{
    json_array(json, key);
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        if (is_wanted(&graph->nodes[i]))
            json_u64(json, NULL, i);
    json_array_end(json);
}

void export_graph_begin(struct json *json, const struct op_graph *graph,
                        const char *why)
{
    json_object(json, NULL);
    json_u64(json, "torchoscope", 1);
    json_text(json, "kind", "graph");
    json_text(json, "level", op_graph_level_name(graph->level));
    json_bool(json, "exact", !why);
    if (why)
        json_text(json, "exact_why", why);
}

void export_graph_end(struct json *json, const struct op_graph *graph)
{
    write_ids(json, "inputs", graph, is_input);
    write_ids(json, "outputs", graph, is_output);
    json_object_end(json);
}

void export_graph(struct json *json, const struct run *run,
                  const struct op_graph *graph)
{
    struct document doc = {.json = json, .model = run->model, .run = run};

    export_graph_begin(json, graph,
                       graph->exact
                           ? NULL
                           : "operations were not recorded: edges are values that one "
                             "call returned and another took");
    json_array(json, "nodes");
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        write_node(&doc, graph, i);
    json_array_end(json);
    write_edges(&doc, graph);
    export_graph_end(json, graph);
    buf_release(&doc.path);
}
