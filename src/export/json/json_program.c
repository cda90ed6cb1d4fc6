/* The operations of a file's program, as the document "ops". Members that only a run
 * has are null. */
#include "export/export_in.h"

#include "base/base.h"
#include "run/op_table.h"
#include "study/program_use.h"

static void write_name(struct document *doc, struct str name, struct str overload)
{
    json_str(doc->json, "name", name);
    if (overload.len > 0)
        json_str(doc->json, "overload", overload);
    else
        json_null(doc->json, "overload");
    json_text(doc->json, "family", op_family_name(op_family_of(name)));
}

void document_program_line(struct document *doc, uint32_t file, uint32_t line)
{
    struct buf text = BUF_INIT;

    if (program_line(&text, doc->model, file, line))
        json_str(doc->json, "line", buf_span(&text));
    else
        json_null(doc->json, "line");
    buf_release(&text);
}

static void write_sum(struct json *json, uint64_t count)
{
    json_u64(json, "count", count);
    json_null(json, "ns");
    json_null(json, "new_bytes");
    json_null(json, "flops");
    json_u64(json, "counted", 0);
}

static void write_uses(struct document *doc, const struct op_use_list *uses)
{
    json_array(doc->json, "uses");
    for (uint32_t i = 0; i < uses->n; i++) {
        const struct op_use *use = &uses->at[i];
        const struct program_op *op = &doc->model->program->ops[use->first];

        json_object(doc->json, NULL);
        write_name(doc, use->name, use->overload);
        write_sum(doc->json, use->sum.count);
        json_null(doc->json, "share");
        document_op_module(doc, use->place);
        document_program_line(doc, op->file, op->line);
        export_number(doc->json, "id", use->first);
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
}

/* ---- values ---- */

/* A size that is not fixed is null. */
static void write_sizes(struct json *json, const int64_t *sizes, int rank)
{
    json_array(json, "shape");
    for (int i = 0; i < rank; i++) {
        if (sizes[i] < 0)
            json_null(json, NULL);
        else
            json_i64(json, NULL, sizes[i]);
    }
    json_array_end(json);
}

void document_program_shape(struct document *doc, const struct program_value *value)
{
    const struct model *model = doc->model;

    if (value->shape == PROGRAM_NONE)
        json_null(doc->json, "shape");
    else
        write_sizes(doc->json, model->dims + value->shape, value->rank);
    if (value->dtype == DTYPE_UNKNOWN)
        json_null(doc->json, "dtype");
    else
        json_text(doc->json, "dtype", dtype_name((enum dtype)value->dtype));
}

static void write_io(struct document *doc, const struct program_io *io)
{
    const struct program_value *value = &doc->model->program->values[io->value];
    struct json *json = doc->json;

    json_object(json, NULL);
    if (io->arg)
        json_str(json, "arg", model_string(doc->model, io->arg));
    if (io->item != PROGRAM_NONE)
        json_u64(json, "item", io->item);
    json_u64(json, "value", io->value);
    if (value->name)
        json_str(json, "name", model_string(doc->model, value->name));
    document_program_shape(doc, value);
    if (value->kind == PROGRAM_TENSOR && value->place < doc->model->n_places)
        document_path(doc, "tensor", value->place);
    if (value->kind == PROGRAM_STORED && value->place < doc->model->n_places)
        document_path(doc, "stored", value->place);
    json_object_end(json);
}

static void write_ios(struct document *doc, uint32_t first, uint32_t n_in,
                      uint32_t n_out)
{
    const struct program_io *ios = doc->model->program->ios;

    json_array(doc->json, "inputs");
    for (uint32_t i = 0; i < n_in; i++)
        write_io(doc, &ios[first + i]);
    json_array_end(doc->json);
    json_array(doc->json, "outputs");
    for (uint32_t i = n_in; i < n_in + n_out; i++)
        write_io(doc, &ios[first + i]);
    json_array_end(doc->json);
}

/* ---- operations, calls, regions ---- */

static void write_attributes(struct document *doc, uint32_t attributes)
{
    if (attributes != VALUE_ID_NONE) {
        document_value(doc, "attributes", attributes);
        return;
    }
    json_object(doc->json, "attributes");
    json_object_end(doc->json);
}

static void write_op(struct document *doc, uint32_t i)
{
    const struct program_op *op = &doc->model->program->ops[i];
    unsigned flags = program_region_flags(doc->model->program, op->region);

    json_u64(doc->json, "id", i);
    write_name(doc, model_string(doc->model, op->name),
               model_string(doc->model, op->overload));
    document_op_module(doc, op->place);
    export_number(doc->json, "call", op->call);
    export_number(doc->json, "region", op->region);
    document_program_line(doc, op->file, op->line);
    write_attributes(doc, op->attributes);
    write_ios(doc, op->io, op->n_in, op->n_out);
    json_null(doc->json, "flops");
    json_text(doc->json, "flops_why",
              doc->model->program->shapes ? "a file was not run"
                                          : "shapes are not in the file");
    export_flag(doc->json, "repeated", flags & PROGRAM_REPEATED);
    export_flag(doc->json, "conditional", flags & PROGRAM_CONDITIONAL);
    export_flag(doc->json, "not_taken", flags & PROGRAM_DEAD);
}

static void write_call(struct document *doc, uint32_t i)
{
    const struct program_call *call = &doc->model->program->calls[i];

    json_u64(doc->json, "id", i);
    document_op_module(doc, call->place);
    json_str(doc->json, "method", model_string(doc->model, call->method));
    export_number(doc->json, "parent", call->parent);
    export_number(doc->json, "region", call->region);
    document_program_line(doc, call->file, call->line);
    json_u64(doc->json, "ops", call->ops);
    json_u64(doc->json, "end", call->end);
    write_ios(doc, call->io, call->n_in, call->n_out);
}

static void write_region(struct document *doc, uint32_t i)
{
    const struct program_region *region = &doc->model->program->regions[i];

    json_u64(doc->json, "id", i);
    json_text(doc->json, "kind",
              program_region_name((enum program_region_kind)region->kind));
    export_number(doc->json, "parent", region->parent);
    export_number(doc->json, "call", region->call);
    export_number(doc->json, "condition", region->condition);
    if (region->taken < 0)
        json_null(doc->json, "taken");
    else
        json_bool(doc->json, "taken", region->taken);
    if (region->kind == PROGRAM_UNCLEAR)
        json_str(doc->json, "text", model_string(doc->model, region->text));
    document_program_line(doc, region->file, region->line);
    json_u64(doc->json, "ops", region->ops);
    json_u64(doc->json, "end", region->end);
}

/* ---- the data flow ---- */

static void write_edges(struct document *doc, struct program_walk *walk)
{
    const struct program *program = doc->model->program;

    json_array(doc->json, "edges");
    for (uint32_t target = 0; target < program->n_ops; target++)
        for (uint32_t i = 0; i < program->ops[target].n_in; i++) {
            const struct program_io *io = &program->ios[program->ops[target].io + i];
            uint32_t n = program_walk(walk, io->value);

            for (uint32_t k = 0; k < n; k++) {
                json_object(doc->json, NULL);
                json_u64(doc->json, "source", walk->found[k]);
                json_u64(doc->json, "target", target);
                json_u64(doc->json, "value", io->value);
                json_str(doc->json, "arg", model_string(doc->model, io->arg));
                json_object_end(doc->json);
            }
        }
    json_array_end(doc->json);
}

int export_script_json(struct json *json, const struct session *session,
                       const struct op_use_list *uses, struct err *err)
{
    const struct program *program = session->model->program;
    struct program_walk walk;
    struct document doc;
    struct arena arena;

    arena_init(&arena, 0);
    if (program_walk_init(&walk, program, &arena) < 0) {
        arena_err(&arena, "the data flow", err);
        arena_release(&arena);
        return -1;
    }
    document_begin(&doc, json, session, "ops");
    json_str(json, "method", model_string(doc.model, program->method));
    json_bool(json, "cut", program->cut);
    json_null(json, "totals");
    json_null(json, "coverage");
    json_text(json, "totals_why",
              program->shapes ? "a file was not run"
                              : "a file was not run; shapes are not in the file");
    json_u64(json, "lost", 0);
    write_uses(&doc, uses);
    document_list(&doc, "ops", program->n_ops, write_op);
    write_edges(&doc, &walk);
    document_list(&doc, "calls", program->n_calls, write_call);
    document_list(&doc, "regions", program->n_regions, write_region);
    document_end(&doc);
    arena_release(&arena);
    return 0;
}
