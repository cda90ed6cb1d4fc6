/* A recording in the Trace Event Format, which Perfetto and chrome://tracing open: calls
 * of modules and operations as complete events, nested by time on their threads. */
#include <stdio.h>

#include "export/export_in.h"
#include "export/exporters.h"

#define PROCESS 1

struct chrome_trace {
    struct json *json;
    const struct run *run;
    uint64_t origin; /* the first moment; times are relative to it */
    struct buf text;
};

/* ---- parts of an event ---- */

static uint64_t first_moment(const struct run *run)
{
    uint64_t first = UINT64_MAX;

    for (uint32_t i = 0; i < run->n_calls; i++)
        if (run->calls[i].start_ns < first)
            first = run->calls[i].start_ns;
    for (uint32_t i = 0; run->ops && i < run->ops->n_ops; i++)
        if (run->ops->ops[i].start_ns < first)
            first = run->ops->ops[i].start_ns;
    return first;
}

static struct str path_of(struct chrome_trace *trace, uint32_t place)
{
    buf_clear(&trace->text);
    place_path(trace->run->model, place, &trace->text);
    return buf_span(&trace->text);
}

/* Times of the format are microseconds. */
static void begin_event(struct chrome_trace *trace, const char *category,
                        uint32_t thread, uint64_t start_ns, uint64_t ns)
{
    struct json *json = trace->json;

    json_text(json, "cat", category);
    json_text(json, "ph", "X");
    json_real(json, "ts", (double)(start_ns - trace->origin) / 1000);
    json_real(json, "dur", (double)ns / 1000);
    json_u64(json, "pid", PROCESS);
    json_u64(json, "tid", thread);
    json_object(json, "args");
}

static void end_event(struct chrome_trace *trace)
{
    json_object_end(trace->json);
    json_object_end(trace->json);
}

static void write_line(struct chrome_trace *trace, uint32_t line)
{
    if (line)
        json_str(trace->json, "line", run_string(trace->run, line));
}

/* "2x3 float32" */
static void write_tensor(struct chrome_trace *trace, const int64_t *sizes, int rank,
                         uint8_t dtype)
{
    buf_clear(&trace->text);
    for (int i = 0; i < rank; i++)
        buf_printf(&trace->text, i ? "x%lld" : "%lld", (long long)sizes[i]);
    buf_printf(&trace->text, "%s%s", rank ? " " : "scalar ",
               dtype_name((enum dtype)dtype));
    json_str(trace->json, NULL, buf_span(&trace->text));
}

/* ---- calls ---- */

static void write_call_tensors(struct chrome_trace *trace, const char *key,
                               const struct run_call *call, enum run_io_kind kind)
{
    const struct run *run = trace->run;

    json_array(trace->json, key);
    for (uint32_t i = 0; i < call->n_ios; i++) {
        const struct run_io *io = &run->ios[call->ios + i];
        const struct run_value *value;

        if (io->kind != kind || io->value == RUN_NONE)
            continue;
        value = &run->values[io->value];
        write_tensor(trace, run->dims + value->shape, value->rank, value->dtype);
    }
    json_array_end(trace->json);
}

static void write_call(struct chrome_trace *trace, uint32_t number)
{
    const struct run *run = trace->run;
    const struct run_call *call = &run->calls[number];
    uint64_t ns = call->end_ns > call->start_ns ? call->end_ns - call->start_ns : 0;
    struct str class = place_class(run->model, call->place);
    struct str name = path_of(trace, call->place);

    json_object(trace->json, NULL);
    json_str(trace->json, "name", name.len ? name : class);
    begin_event(trace,
                call->flags & RUN_RECOMPUTED ? "module,recompute" : "module,forward",
                call->thread, call->start_ns, ns);
    json_str(trace->json, "class", class);
    json_u64(trace->json, "call", number);
    json_u64(trace->json, "step", call->step);
    write_line(trace, call->line);
    write_call_tensors(trace, "inputs", call, RUN_IN);
    write_call_tensors(trace, "outputs", call, RUN_OUT);
    export_flag(trace->json, "raised", call->flags & RUN_RAISED);
    end_event(trace);
}

/* ---- operations ---- */

static void write_op_tensors(struct chrome_trace *trace, const char *key,
                             const struct run_op *op, enum op_io_kind kind)
{
    const struct run *run = trace->run;
    const struct run_op_io *io;

    json_array(trace->json, key);
    for (uint32_t at = 0; (io = op_next(run, op, kind, &at));) {
        const struct run_op_type *type =
            &run->ops->types[run->ops->values[io->value].type];

        write_tensor(trace, run->dims + type->shape, type->rank, type->dtype);
    }
    json_array_end(trace->json);
}

static void write_op(struct chrome_trace *trace, uint32_t number)
{
    const struct run *run = trace->run;
    const struct run_op *op = &run->ops->ops[number];
    char category[32];

    snprintf(category, sizeof category, "op,%s",
             op_phase_name((enum op_phase)op->phase));
    json_object(trace->json, NULL);
    json_str(trace->json, "name", op_name(run, op));
    begin_event(trace, category, op->thread, op->start_ns, op->ns);
    json_u64(trace->json, "id", number);
    json_str(trace->json, "overload",
             run_string(run, run->ops->kinds[op->kind].overload));
    if (op->place < run->model->n_places)
        json_str(trace->json, "module", path_of(trace, op->place));
    json_u64(trace->json, "step", op->step);
    write_line(trace, op->line);
    write_op_tensors(trace, "inputs", op, OP_IN);
    write_op_tensors(trace, "outputs", op, OP_OUT);
    if (op->flops != OP_NO_FLOPS)
        json_i64(trace->json, "flops", op->flops);
    json_u64(trace->json, "new_bytes", op->new_bytes);
    if (op->cause != RUN_NONE)
        json_u64(trace->json, "cause", op->cause);
    export_flag(trace->json, "raised", op->flags & OP_RAISED);
    end_event(trace);
}

/* ---- the document ---- */

static void write_process(struct chrome_trace *trace)
{
    struct json *json = trace->json;

    json_object(json, NULL);
    json_text(json, "name", "process_name");
    json_text(json, "ph", "M");
    json_u64(json, "pid", PROCESS);
    json_object(json, "args");
    json_text(json, "name", trace->run->name);
    json_object_end(json);
    json_object_end(json);
}

int export_chrome_trace(struct out *out, struct session *session,
                        const struct export_wanted *wanted, struct err *err)
{
    const struct run *run = session->run;
    struct json json;
    struct chrome_trace trace = {.json = &json, .run = run, .text = BUF_INIT};

    (void)wanted;
    if (!run)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: only a recording has times; trace.json needs one",
                       session->model->path);
    trace.origin = first_moment(run);
    json_init_text(&json, out);
    json_object(&json, NULL);
    json_text(&json, "displayTimeUnit", "ns");
    json_array(&json, "traceEvents");
    write_process(&trace);
    for (uint32_t i = 0; i < run->n_calls; i++)
        write_call(&trace, i);
    for (uint32_t i = 0; run->ops && i < run->ops->n_ops; i++)
        write_op(&trace, i);
    json_array_end(&json);
    json_object_end(&json);
    buf_release(&trace.text);
    return 0;
}
