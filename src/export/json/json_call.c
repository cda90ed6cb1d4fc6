/* The parts of a run, one object each: values, calls, merged calls, gaps. */
#include "export/export_in.h"

#include "base/base.h"

static void write_number(struct document *doc, const char *key, uint32_t number)
{
    if (number == RUN_NONE)
        json_null(doc->json, key);
    else
        json_u64(doc->json, key, number);
}

/* ---- values ---- */

static void write_value_stats(struct document *doc, const struct run_value *value)
{
    const struct run *run = doc->run;

    if (value->stats == RUN_NONE) {
        json_null(doc->json, "stats");
        if (value->why)
            json_str(doc->json, "stats_why", run_string(run, value->why));
        return;
    }
    json_object(doc->json, "stats");
    export_stats_members(doc->json, &run->stats[value->stats], (enum dtype)value->dtype,
                         run->dims + value->shape, value->rank);
    json_object_end(doc->json);
}

void document_run_value(struct document *doc, uint32_t number)
{
    const struct run *run = doc->run;
    const struct run_value *value = &run->values[number];
    struct json *json = doc->json;

    json_u64(json, "value", number);
    export_list(json, "shape", run->dims + value->shape, value->rank);
    json_text(json, "dtype", dtype_name((enum dtype)value->dtype));
    if (value->device < run->n_devices)
        json_str(json, "device", run_string(run, run->devices[value->device]));
    json_text(json, "layout", export_layout_name(value->layout));
    json_u64(json, "numel", value->numel);
    json_u64(json, "bytes", value->bytes);
    if (value->strides != RUN_NONE)
        export_list(json, "strides", run->dims + value->strides, value->rank);
    if (value->storage != RUN_NONE)
        json_u64(json, "storage", value->storage);
    if (value->op_value != RUN_NONE)
        json_u64(json, "op_value", value->op_value);
    if (value->class_name)
        json_str(json, "class", run_string(run, value->class_name));
    json_bool(json, "requires_grad", value->flags & RUN_REQUIRES_GRAD);
    export_flag(doc->json, "leaf", value->flags & RUN_LEAF);
    export_flag(doc->json, "parameter", value->flags & RUN_PARAMETER);
    export_flag(doc->json, "new_storage", value->flags & RUN_NEW_STORAGE);
    export_flag(doc->json, "inference", value->flags & RUN_INFERENCE);
    write_value_stats(doc, value);
    if (value->kept != RUN_NONE)
        json_u64(json, "kept_bytes", run->kept[value->kept].bytes);
}

/* The whole value, or its number. */
static void write_or_name(struct document *doc, uint32_t value, enum run_values how)
{
    if (value == RUN_NONE)
        return;
    if (how == VALUES_BY_NUMBER)
        json_u64(doc->json, "value", value);
    else
        document_run_value(doc, value);
}

/* ---- calls ---- */

static void write_ios(struct document *doc, const char *key, enum run_io_kind kind,
                      const struct run_call *call, enum run_values how)
{
    json_array(doc->json, key);
    for (uint32_t i = 0; i < call->n_ios; i++) {
        const struct run_io *io = &doc->run->ios[call->ios + i];

        if (io->kind != kind)
            continue;
        json_object(doc->json, NULL);
        json_str(doc->json, "path", run_string(doc->run, io->path));
        write_or_name(doc, io->value, how);
        export_flag(doc->json, "same", io->flags & RUN_IO_SAME);
        export_flag(doc->json, "replaced", io->flags & RUN_IO_REPLACED);
        export_flag(doc->json, "summed", io->flags & RUN_IO_SUMMED);
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
}

static void write_call_flags(struct document *doc, unsigned flags)
{
    static const char *const names[] = {
        "raised", "aborted",  "recomputed", "training", "grad",         "compiled",
        "fused",  "scripted", "autocast",   "direct",   "backward_gap", "light"};

    json_array(doc->json, "flags");
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (flags >> i & 1)
            json_text(doc->json, NULL, names[i]);
    json_array_end(doc->json);
}

static void write_call_times(struct json *json, const struct run_call *call)
{
    json_u64(json, "start_ns", call->start_ns);
    json_u64(json, "end_ns", call->end_ns);
    json_u64(json, "own_ns", call->own_ns);
    json_u64(json, "time_ns", run_inclusive(call));
    json_u64(json, "self_ns", run_exclusive(call));
    export_nonzero(json, "backward_ns", call->backward_ns);
    export_nonzero(json, "device_ns", call->device_ns);
    if (call->flags & RUN_DEVICE_BYTES)
        json_i64(json, "device_bytes", call->device_bytes);
    json_u64(json, "out_bytes", call->out_bytes);
    json_u64(json, "new_bytes", call->new_bytes);
}

void document_call(struct document *doc, uint32_t number, enum run_values how)
{
    const struct run_call *call = &doc->run->calls[number];
    struct json *json = doc->json;

    json_u64(json, "call", number);
    document_named(doc, call->place);
    if (call->place < doc->model->n_places)
        json_str(json, "class", place_class(doc->model, call->place));
    json_u64(json, "number", call->number);
    write_number(doc, "parent", call->parent);
    json_u64(json, "step", call->step);
    json_u64(json, "thread", call->thread);
    if (call->line)
        json_str(json, "line", run_string(doc->run, call->line));
    write_call_flags(doc, call->flags);
    if (call->error)
        json_str(json, "error", run_string(doc->run, call->error));
    write_call_times(json, call);
    write_ios(doc, "inputs", RUN_IN, call, how);
    write_ios(doc, "outputs", RUN_OUT, call, how);
    write_ios(doc, "grad_inputs", RUN_GRAD_IN, call, how);
    write_ios(doc, "grad_outputs", RUN_GRAD_OUT, call, how);
}

/* ---- merged calls ---- */

static void write_merged_io(struct document *doc, const struct run_merged_io *io)
{
    const int64_t *at = doc->run->dims + io->shapes;
    struct json *json = doc->json;

    json_text(json, "kind", run_io_name((enum run_io_kind)io->kind));
    json_str(json, "path", run_string(doc->run, io->path));
    json_array(json, "shapes");
    for (uint32_t i = 0; i < io->n_shapes; i++) {
        export_list(json, NULL, at + 1, (int)at[0]);
        at += 1 + at[0];
    }
    json_array_end(json);
    if (io->stats == RUN_NONE) {
        json_null(json, "stats");
        return;
    }
    json_object(json, "stats");
    export_stats_members(json, &doc->run->stats[io->stats], DTYPE_FLOAT32, NULL, 0);
    json_object_end(json);
}

void document_merged(struct document *doc, uint32_t number)
{
    const struct run_merged *merged = &doc->run->merged[number];
    struct json *json = doc->json;

    document_named(doc, merged->newest < doc->run->n_calls
                            ? doc->run->calls[merged->newest].place
                            : doc->model->objects[merged->object].place);
    json_u64(json, "calls", merged->calls);
    json_u64(json, "time_ns", merged->inclusive_ns);
    json_u64(json, "self_ns", merged->exclusive_ns);
    json_u64(json, "least_ns", merged->least_ns);
    json_u64(json, "most_ns", merged->most_ns);
    export_nonzero(json, "backward_ns", merged->backward_ns);
    export_nonzero(json, "device_ns", merged->device_ns);
    json_u64(json, "out_bytes", merged->out_bytes);
    json_u64(json, "new_bytes", merged->new_bytes);
    write_number(doc, "newest", merged->newest);
    json_array(json, "ios");
    for (uint32_t i = 0; i < merged->n_ios; i++) {
        json_object(json, NULL);
        write_merged_io(doc, &doc->run->merged_ios[merged->ios + i]);
        json_object_end(json);
    }
    json_array_end(json);
}

/* ---- the rest ---- */

void document_gap(struct document *doc, uint32_t number)
{
    const struct run_gap *gap = &doc->run->gaps[number];

    json_text(doc->json, "kind", run_gap_name(gap->kind));
    json_str(doc->json, "text", run_string(doc->run, gap->text));
    if (gap->object < doc->model->n_objects)
        document_named(doc, doc->model->objects[gap->object].place);
}

void document_param(struct document *doc, uint32_t number, enum run_values how)
{
    const struct run_param *param = &doc->run->params[number];

    document_named(doc, doc->model->tensors[param->tensor].place);
    json_u64(doc->json, "step", param->step);
    json_bool(doc->json, "gradient", param->gradient);
    write_or_name(doc, param->value, how);
}
