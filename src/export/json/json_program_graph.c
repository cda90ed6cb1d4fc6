/* The graph of a program: the document "graph" of a file. Members that only a run has
 * are null. */
#include "export/export_in.h"

#include "run/op_table.h"
#include "study/program_graph.h"
#include "study/program_use.h"

/* Members that only a run has. */
static void write_nulls(struct json *json)
{
    json_null(json, "step");
    json_null(json, "ns");
    json_null(json, "flops");
}

static void write_region(struct document *doc, uint32_t region)
{
    export_number(doc->json, "region", region);
}

static void write_op(struct document *doc, const struct op_graph_node *node)
{
    const struct program_op *op = &doc->model->program->ops[node->op];
    struct str name = model_string(doc->model, op->name);

    json_str(doc->json, "name", name);
    json_u64(doc->json, "op", node->op);
    export_number(doc->json, "call", node->call);
    document_op_module(doc, op->place);
    write_region(doc, op->region);
    json_null(doc->json, "phase");
    json_text(doc->json, "family", op_family_name(op_family_of(name)));
    document_program_line(doc, op->file, op->line);
    write_nulls(doc->json);
}

/* Calls of the same place are numbered in the order of the code. */
static void write_call(struct document *doc, const struct op_graph_node *node)
{
    const struct program_call *call = &doc->model->program->calls[node->call];

    document_path(doc, "name", call->place);
    export_number(doc->json, "op", node->op);
    json_u64(doc->json, "call", node->call);
    document_path(doc, "module", call->place);
    json_str(doc->json, "class", place_class(doc->model, call->place));
    write_region(doc, call->region);
    json_null(doc->json, "number");
    document_program_line(doc, call->file, call->line);
    write_nulls(doc->json);
    json_u64(doc->json, "ops", node->n_ops);
}

static void write_unclear(struct document *doc, const struct op_graph_node *node)
{
    const struct program_region *region = &doc->model->program->regions[node->io];

    json_str(doc->json, "name", model_string(doc->model, region->text));
    export_number(doc->json, "call", node->call);
    write_region(doc, region->parent);
    document_program_line(doc, region->file, region->line);
}

/* A node for a tensor: input, parameter, output, ... */
static void write_tensor(struct document *doc, const struct op_graph_node *node)
{
    const struct program_value *value = &doc->model->program->values[node->value];
    struct buf path = BUF_INIT;

    if (value->kind == PROGRAM_TENSOR && node->io == RUN_NONE &&
        value->place < doc->model->n_places) {
        document_path(doc, "name", value->place);
        return;
    }
    if (node->io != RUN_NONE)
        program_io_path(&path, doc->model, node->io);
    else
        buf_str(&path, model_string(doc->model, value->name));
    json_str(doc->json, "name", buf_span(&path));
    if (node->io != RUN_NONE)
        json_u64(doc->json, "call", node->call);
    buf_release(&path);
}

static void write_shape(struct document *doc, uint32_t value)
{
    if (value < doc->model->program->n_values) {
        document_program_shape(doc, &doc->model->program->values[value]);
    } else {
        json_null(doc->json, "shape");
        json_null(doc->json, "dtype");
    }
}

static void write_node(struct document *doc, const struct op_graph_node *node,
                       uint32_t id)
{
    json_object(doc->json, NULL);
    json_u64(doc->json, "id", id);
    json_text(doc->json, "kind", op_graph_kind_name((enum op_graph_kind)node->kind));
    if (node->kind == OP_GRAPH_OP)
        write_op(doc, node);
    else if (node->kind == OP_GRAPH_CALL)
        write_call(doc, node);
    else if (node->kind == OP_GRAPH_UNCLEAR)
        write_unclear(doc, node);
    else
        write_tensor(doc, node);
    write_shape(doc, node->value);
    json_object_end(doc->json);
}

static void write_edge(struct document *doc, const struct op_graph_edge *edge)
{
    json_object(doc->json, NULL);
    json_u64(doc->json, "source", edge->source);
    json_u64(doc->json, "target", edge->target);
    json_u64(doc->json, "value", edge->value);
    write_shape(doc, edge->value);
    json_null(doc->json, "gradient_l2");
    json_null(doc->json, "gradient_share");
    json_bool(doc->json, "loose", false);
    json_object_end(doc->json);
}

/* Why some edges may be missing; NULL: the graph is exact. */
static const char *why_inexact(const struct program *program,
                               const struct op_graph *graph)
{
    if (program->cut || graph->cut)
        return "a limit was reached: the rest of the code is missing";
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        if (graph->nodes[i].kind == OP_GRAPH_UNCLEAR)
            return "parts of the code were not understood, so their inputs are unknown";
    return NULL;
}

void export_program_graph(struct json *json, const struct model *model,
                          const struct op_graph *graph)
{
    struct document doc = {.json = json, .model = model};

    export_graph_begin(json, graph, why_inexact(model->program, graph));
    json_str(json, "method", model_string(model, model->program->method));
    json_array(json, "nodes");
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        write_node(&doc, &graph->nodes[i], i);
    json_array_end(json);
    json_array(json, "edges");
    for (uint32_t i = 0; i < graph->n_edges; i++)
        write_edge(&doc, &graph->edges[i]);
    json_array_end(json);
    export_graph_end(json, graph);
    buf_release(&doc.path);
}
