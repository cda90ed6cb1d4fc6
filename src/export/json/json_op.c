/* One operation: its facts and its tensors. */
#include "export/export_in.h"

#include "base/base.h"
#include "run/op_table.h"

/* Absent numbers are null, so that every operation has the same members. */
void export_number(struct json *json, const char *key, uint32_t number)
{
    if (number == RUN_NONE)
        json_null(json, key);
    else
        json_u64(json, key, number);
}

void document_line(struct document *doc, uint32_t line)
{
    if (line)
        json_str(doc->json, "line", run_string(doc->run, line));
    else
        json_null(doc->json, "line");
}

void document_op_module(struct document *doc, uint32_t place)
{
    if (place < doc->model->n_places)
        document_path(doc, "module", place);
    else
        json_null(doc->json, "module");
    export_number(doc->json, "place", place);
}

/* ---- tensors ---- */

static void write_type(struct document *doc, const struct run_op_type *type)
{
    const struct run *run = doc->run;
    struct json *json = doc->json;

    export_list(json, "shape", run->dims + type->shape, type->rank);
    json_text(json, "dtype", dtype_name((enum dtype)type->dtype));
    if (type->device < run->n_devices)
        json_str(json, "device", run_string(run, run->devices[type->device]));
    json_u64(json, "bytes", type->bytes);
    if (type->layout != LAYOUT_STRIDED)
        json_text(json, "layout", export_layout_name(type->layout));
    if (type->class_name)
        json_str(json, "class", run_string(run, type->class_name));
    if (type->strides == RUN_NONE)
        json_null(json, "strides");
    else
        export_list(json, "strides", run->dims + type->strides, type->rank);
}

#define MOST_PRODUCERS 64 /* on the stack */

/* The producers of one value, for callers that ask for a single operation. */
static void write_sources(struct document *doc, uint32_t number)
{
    const struct run_ops *ops = doc->run->ops;
    const struct run_op_value *value = &ops->values[number];
    uint32_t few[MOST_PRODUCERS], *list = few, most = MOST_PRODUCERS, n;
    struct arena arena;

    arena_init(&arena, 0);
    n = op_producers(ops, number, list, most);
    if (n > most) {
        list = arena_array(&arena, n, sizeof *list);
        n = list ? op_producers(ops, number, list, n) : 0;
    }
    json_u64(doc->json, "write", value->write);
    export_number(doc->json, "producer", value->producer);
    json_array(doc->json, "producers");
    for (uint32_t i = 0; i < n; i++)
        json_u64(doc->json, NULL, list[i]);
    json_array_end(doc->json);
    json_array(doc->json, "sources");
    for (uint32_t i = 0; i < value->n_sources; i++)
        json_u64(doc->json, NULL, ops->sources[value->sources + i]);
    json_array_end(doc->json);
    if (value->storage < ops->n_storages)
        json_u64(doc->json, "storage_bytes", ops->storages[value->storage].bytes);
    arena_release(&arena);
}

/* Is it a parameter or buffer with a name? In a damaged recording it may have no place
 * in the tree. */
static bool is_named(const struct document *doc, uint32_t tensor)
{
    return tensor < doc->model->n_tensors &&
           doc->model->tensors[tensor].place != NO_PLACE;
}

static void write_op_value(struct document *doc, uint32_t number, uint8_t flags)
{
    const struct run_op_value *value = &doc->run->ops->values[number];
    const struct run_op_type *type = &doc->run->ops->types[value->type];

    json_u64(doc->json, "value", number);
    write_type(doc, type);
    json_u64(doc->json, "offset", value->offset);
    export_number(doc->json, "storage", value->storage);
    if (flags & (OP_VALUE_GRAD | OP_VALUE_NO_GRAD))
        json_bool(doc->json, "requires_grad", flags & OP_VALUE_GRAD);
    if (is_named(doc, value->tensor))
        document_path(doc, "tensor", doc->model->tensors[value->tensor].place);
    export_flag(doc->json, "unseen", value->flags & OP_VALUE_UNSEEN);
    if (value->stats == RUN_NONE)
        return;
    json_object(doc->json, "stats");
    export_stats_members(doc->json, &doc->run->stats[value->stats],
                         (enum dtype)type->dtype, doc->run->dims + type->shape,
                         type->rank);
    json_object_end(doc->json);
}

void document_op_value(struct document *doc, uint32_t number)
{
    write_op_value(doc, number, doc->run->ops->values[number].flags);
    write_sources(doc, number);
}

struct str document_op_arg(const struct run *run, const struct run_op *op, uint16_t arg)
{
    const struct run_op_kind *kind = &run->ops->kinds[op->kind];

    if (arg >= kind->n_args)
        return (struct str){0};
    return run_string(run, run->ops->args[kind->args + arg]);
}

static void write_tensors(struct document *doc, const char *key,
                          const struct run_op *op, enum op_io_kind kind, bool sources)
{
    const struct run_op_io *io;
    struct str name;

    json_array(doc->json, key);
    for (uint32_t at = 0; (io = op_next(doc->run, op, kind, &at));) {
        name = document_op_arg(doc->run, op, io->arg);
        json_object(doc->json, NULL);
        json_u64(doc->json, "position", io->arg);
        if (kind != OP_OUT && name.at)
            json_str(doc->json, "arg", name);
        if (io->item != OP_NO_ITEM)
            json_u64(doc->json, "item", io->item);
        write_op_value(doc, io->value,
                       kind == OP_IN ? io->flags
                                     : doc->run->ops->values[io->value].flags);
        if (sources)
            write_sources(doc, io->value);
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
}

/* ---- one operation ---- */

static void write_flops(struct document *doc, const struct run_op *op)
{
    if (op->flops != OP_NO_FLOPS) {
        json_i64(doc->json, "flops", op->flops);
        return;
    }
    json_null(doc->json, "flops");
    json_text(doc->json, "flops_why",
              doc->run->ops->kinds[op->kind].flags & OP_COUNTED
                  ? "the formula does not cover these arguments"
                  : "there is no formula for this operation");
}

static void write_attributes(struct document *doc, const struct run_op *op)
{
    if (value_at(&doc->run->plain, op->attributes)->kind == VALUE_DICT) {
        document_value_of(doc, "attributes", &doc->run->plain, op->attributes);
        return;
    }
    json_object(doc->json, "attributes");
    json_object_end(doc->json);
}

static void write_flags(struct json *json, const struct run_op *op, uint8_t kind)
{
    export_flag(json, "raised", op->flags & OP_RAISED);
    export_flag(json, "grad", op->flags & OP_GRAD_MODE);
    export_flag(json, "inference", op->flags & OP_INFERENCE_MODE);
    export_flag(json, "outside", op->flags & OP_BEFORE_MODEL);
    export_flag(json, "view", kind & OP_VIEW);
    export_flag(json, "writes", kind & OP_WRITES);
    export_flag(json, "random", kind & OP_RANDOM);
    export_flag(json, "empty", kind & OP_MAKES);
    export_flag(json, "region", kind & OP_REGION);
    export_flag(json, "custom", kind & OP_CUSTOM);
    export_flag(json, "detaches", kind & OP_DETACHES);
}

void document_op_kind(struct document *doc, uint32_t number)
{
    const struct run_op_kind *kind = &doc->run->ops->kinds[number];

    json_str(doc->json, "name", run_string(doc->run, kind->name));
    json_str(doc->json, "overload", run_string(doc->run, kind->overload));
    json_text(doc->json, "family", op_family_name(kind->family));
}

void document_op_facts(struct document *doc, uint32_t number)
{
    const struct run_op *op = &doc->run->ops->ops[number];
    struct json *json = doc->json;

    json_u64(json, "id", number);
    document_op_kind(doc, op->kind);
    json_text(json, "phase", op_phase_name(op->phase));
    document_op_module(doc, op->place);
    export_number(json, "call", op->call);
    json_u64(json, "step", op->step);
    json_u64(json, "thread", op->thread);
    document_line(doc, op->line);
    export_number(json, "cause", op->cause);
    if (is_named(doc, op->gradient))
        document_path(doc, "gradient", doc->model->tensors[op->gradient].place);
    else
        json_null(json, "gradient");
    write_attributes(doc, op);
    json_u64(json, "start_ns", op->start_ns);
    json_u64(json, "ns", op->ns);
    json_u64(json, "new_bytes", op->new_bytes);
    write_flops(doc, op);
    write_flags(json, op, doc->run->ops->kinds[op->kind].flags);
}

static void write_all_tensors(struct document *doc, uint32_t number, bool sources)
{
    const struct run_op *op = &doc->run->ops->ops[number];
    uint32_t at = 0;

    write_tensors(doc, "inputs", op, OP_IN, sources);
    write_tensors(doc, "outputs", op, OP_OUT, sources);
    if (op_next(doc->run, op, OP_WRITTEN, &at))
        write_tensors(doc, "written", op, OP_WRITTEN, sources);
}

void document_op_values(struct document *doc, uint32_t number)
{
    write_all_tensors(doc, number, true);
}

void document_op(struct document *doc, uint32_t number)
{
    document_op_facts(doc, number);
    write_all_tensors(doc, number, false);
}
