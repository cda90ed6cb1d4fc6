/* Operations and their values, one object each. */
#include "export/export_in.h"

#include "base/base.h"
#include "run/op_table.h"

static void write_number(struct json *json, const char *key, uint32_t number)
{
    if (number == RUN_NONE)
        json_null(json, key);
    else
        json_u64(json, key, number);
}

/* "KEY": the name of a tensor of the model, or null. */
static void write_tensor_name(struct document *doc, const char *key, uint32_t tensor)
{
    if (tensor < doc->model->n_tensors)
        document_path(doc, key, doc->model->tensors[tensor].place);
    else
        json_null(doc->json, key);
}

/* ---- values ---- */

static void write_type(struct document *doc, const struct run_op_type *type)
{
    const struct run *run = doc->run;
    struct json *json = doc->json;

    export_list(json, "shape", run->dims + type->shape, type->rank);
    if (type->strides != RUN_NONE)
        export_list(json, "strides", run->dims + type->strides, type->rank);
    json_text(json, "dtype", dtype_name((enum dtype)type->dtype));
    if (type->device < run->n_devices)
        json_str(json, "device", run_string(run, run->devices[type->device]));
    json_text(json, "layout", export_layout_name(type->layout));
    if (type->class_name)
        json_str(json, "class", run_string(run, type->class_name));
    json_u64(json, "numel", type->numel);
    json_u64(json, "bytes", type->bytes);
}

#define MOST_PRODUCERS 64 /* on the stack */

static void write_producers(struct document *doc, uint32_t value)
{
    const struct run_ops *ops = doc->run->ops;
    uint32_t few[MOST_PRODUCERS], *list = few, most = MOST_PRODUCERS, n;
    struct arena arena;

    arena_init(&arena, 0);
    n = op_producers(ops, value, list, most);
    if (n > most) {
        list = arena_array(&arena, n, sizeof *list);
        n = list ? op_producers(ops, value, list, n) : 0;
    }
    write_number(doc->json, "producer", ops->values[value].producer);
    json_array(doc->json, "producers");
    for (uint32_t i = 0; i < n; i++)
        json_u64(doc->json, NULL, list[i]);
    json_array_end(doc->json);
    arena_release(&arena);
}

/* How it was read; of a result, how it was read later. */
static void write_requires_grad(struct document *doc, const struct run_op_io *io)
{
    unsigned flags =
        io->kind == OP_IN ? io->flags : doc->run->ops->values[io->value].flags;

    if (flags & (OP_VALUE_GRAD | OP_VALUE_NO_GRAD))
        json_bool(doc->json, "requires_grad", flags & OP_VALUE_GRAD);
    else
        json_null(doc->json, "requires_grad");
}

static void write_value(struct document *doc, const struct run_op_io *io)
{
    const struct run *run = doc->run;
    const struct run_op_value *value = &run->ops->values[io->value];
    const struct run_op_type *type = &run->ops->types[value->type];

    json_u64(doc->json, "value", io->value);
    write_type(doc, type);
    write_number(doc->json, "storage", value->storage);
    json_u64(doc->json, "offset", value->offset);
    json_u64(doc->json, "write", value->write);
    write_producers(doc, io->value);
    write_tensor_name(doc, "tensor", value->tensor);
    write_requires_grad(doc, io);
    export_flag(doc->json, "unseen", value->flags & OP_VALUE_UNSEEN);
    if (value->stats == RUN_NONE) {
        json_null(doc->json, "stats");
        return;
    }
    json_object(doc->json, "stats");
    export_stats_members(doc->json, &run->stats[value->stats], (enum dtype)type->dtype,
                         run->dims + type->shape, type->rank);
    json_object_end(doc->json);
}

/* ---- its tensors ---- */

static void write_arg(struct document *doc, const struct run_op_kind *kind,
                      const struct run_op_io *io)
{
    const struct run_ops *ops = doc->run->ops;

    if (io->kind != OP_OUT && io->arg < kind->n_args)
        json_str(doc->json, "arg",
                 run_string(doc->run, ops->args[kind->args + io->arg]));
    else
        json_u64(doc->json, "arg", io->arg);
    write_number(doc->json, "item", io->item == OP_NO_ITEM ? RUN_NONE : io->item);
}

static void write_ios(struct document *doc, const struct run_op *op, const char *key,
                      enum op_io_kind kind)
{
    const struct run_op_kind *of = &doc->run->ops->kinds[op->kind];
    const struct run_op_io *io;

    json_array(doc->json, key);
    for (uint32_t at = 0; (io = op_next(doc->run, op, kind, &at));) {
        json_object(doc->json, NULL);
        write_arg(doc, of, io);
        write_value(doc, io);
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
}

void document_op_values(struct document *doc, uint32_t number)
{
    const struct run_op *op = &doc->run->ops->ops[number];

    write_ios(doc, op, "inputs", OP_IN);
    write_ios(doc, op, "outputs", OP_OUT);
    write_ios(doc, op, "written", OP_WRITTEN);
}

/* ---- operations ---- */

static void write_op_flags(struct document *doc, unsigned kind_flags, unsigned flags)
{
    static const char *const of_kind[] = {"view",   "writes", "random",  "makes",
                                          "region", "custom", "counted", "detaches"};
    static const char *const own[] = {"raised", "grad", "inference", "outside"};

    json_array(doc->json, "flags");
    for (size_t i = 0; i < COUNT_OF(of_kind); i++)
        if (kind_flags >> i & 1)
            json_text(doc->json, NULL, of_kind[i]);
    for (size_t i = 0; i < COUNT_OF(own); i++)
        if (flags >> i & 1)
            json_text(doc->json, NULL, own[i]);
    json_array_end(doc->json);
}

static void write_module(struct document *doc, uint32_t place)
{
    if (place >= doc->model->n_places) {
        json_null(doc->json, "module");
        return;
    }
    document_path(doc, "module", place);
    json_u64(doc->json, "place", place);
}

static void write_attributes(struct document *doc, uint32_t attributes)
{
    if (attributes != VALUE_ID_NONE) {
        document_value_of(doc, "attributes", &doc->run->plain, attributes);
        return;
    }
    json_object(doc->json, "attributes");
    json_object_end(doc->json);
}

void document_op(struct document *doc, uint32_t number)
{
    const struct run *run = doc->run;
    const struct run_op *op = &run->ops->ops[number];
    const struct run_op_kind *kind = &run->ops->kinds[op->kind];
    struct json *json = doc->json;

    json_u64(json, "id", number);
    json_str(json, "name", run_string(run, kind->name));
    json_str(json, "overload", run_string(run, kind->overload));
    json_text(json, "family", op_family_name((enum op_family)kind->family));
    json_text(json, "phase", op_phase_name((enum op_phase)op->phase));
    write_module(doc, op->place);
    write_number(json, "call", op->call);
    json_u64(json, "step", op->step);
    json_u64(json, "thread", op->thread);
    if (op->line)
        json_str(json, "line", run_string(run, op->line));
    else
        json_null(json, "line");
    write_number(json, "cause", op->cause);
    write_tensor_name(doc, "gradient", op->gradient);
    write_attributes(doc, op->attributes);
    write_op_flags(doc, kind->flags, op->flags);
    json_u64(json, "start_ns", op->start_ns);
    json_u64(json, "ns", op->ns);
    json_u64(json, "new_bytes", op->new_bytes);
    if (op->flops == OP_NO_FLOPS)
        json_null(json, "flops");
    else
        json_i64(json, "flops", op->flops);
}
