/* A recording: as a whole, by place, and all of it. */
#include "export/export_in.h"

#include <math.h>

#include "study/slowest.h"

#define MOST_SLOW 20

void document_set_run(struct document *doc, const struct run *run)
{
    doc->run = run;
    if (activity_of(&doc->activities, run, &doc->arena, NULL) < 0)
        doc->activities =
            (struct activities){.first_producer = NO_PLACE, .raised = NO_PLACE};
    if (run->ops)
        doc->ops = op_use_below(run, 1u << OP_FORWARD, &doc->arena, NULL);
    if (run->ops && memory_use_of(&doc->memory, run, &doc->arena, NULL) == 0)
        no_gradients_of(&doc->no_gradients, run, &doc->arena, NULL);
}

/* ---- the run as a whole ---- */

void document_run_facts(struct document *doc, const char *key)
{
    json_object(doc->json, key);
    for (uint32_t i = 0; i < doc->run->n_facts; i++) {
        json_key(doc->json, run_string(doc->run, doc->run->facts[i].key));
        document_value_of(doc, NULL, &doc->run->plain, doc->run->facts[i].value);
    }
    json_object_end(doc->json);
}

static uint64_t count_calls(const struct run *run)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < run->n_calls; i++)
        n += !(run->calls[i].flags & (RUN_LIGHT | RUN_RECOMPUTED));
    for (uint32_t i = 0; i < run->n_merged; i++)
        if (run->merged[i].newest == RUN_NONE ||
            !(run->calls[run->merged[i].newest].flags & RUN_RECOMPUTED))
            n += run->merged[i].calls;
    return n;
}

static void write_cost(struct json *json, const struct run *run)
{
    double share = run_cost_share(run);

    json_u64(json, "wall_ns", run->wall_ns);
    json_u64(json, "passes_ns", run_passes_ns(run));
    json_u64(json, "own_ns", run->own_ns);
    json_u64(json, "hooks_ns", run->hooks_ns);
    if (isnan(share))
        json_null(json, "share");
    else
        json_real(json, "share", share);
}

static void write_alarms(struct document *doc)
{
    const struct activities *all = &doc->activities;
    uint32_t call;

    if (all->first_producer != NO_PLACE) {
        json_object(doc->json, "producer");
        document_named(doc, all->first_producer);
        json_object_end(doc->json);
    }
    if (all->raised == NO_PLACE)
        return;
    call = all->at[all->raised].newest;
    json_object(doc->json, "raised");
    document_named(doc, all->raised);
    if (call != RUN_NONE) {
        const struct run_call *last = &doc->run->calls[call];

        json_u64(doc->json, "call", call);
        if (last->error)
            json_str(doc->json, "error", run_string(doc->run, last->error));
    }
    json_object_end(doc->json);
}

#define ALL_GAPS (NO_OBJECT - 1)

/* The gaps of an object; NO_OBJECT: of the run as a whole. */
static void write_gaps(struct document *doc, uint32_t object)
{
    json_array(doc->json, "gaps");
    for (uint32_t i = 0; i < doc->run->n_gaps; i++) {
        const struct run_gap *gap = &doc->run->gaps[i];

        if ((gap->object != object && object != ALL_GAPS) || !run_is_gap(gap))
            continue;
        json_object(doc->json, NULL);
        document_gap(doc, i);
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
}

void document_run(struct document *doc)
{
    const struct activities *all = &doc->activities;

    json_object(doc->json, "run");
    json_text(doc->json, "name", doc->run->name);
    document_run_facts(doc, "facts");
    json_u64(doc->json, "passes", all->passes);
    json_u64(doc->json, "calls", count_calls(doc->run));
    json_u64(doc->json, "time_ns", all->total_ns);
    export_nonzero(doc->json, "backward_ns", all->backward_ns);
    export_nonzero(doc->json, "device_ns", all->device_ns);
    write_cost(doc->json, doc->run);
    write_alarms(doc);
    document_no_gradient(doc);
    document_memory(doc);
    write_gaps(doc, NO_OBJECT);
    json_object_end(doc->json);
}

/* ---- the activity of a place ---- */

static void write_shape(struct document *doc, const char *key, uint32_t call,
                        enum run_io_kind kind)
{
    uint32_t number = activity_value(doc->run, call, kind);
    const struct run_value *value;

    if (number == RUN_NONE)
        return;
    value = &doc->run->values[number];
    export_list(doc->json, key, doc->run->dims + value->shape, value->rank);
}

static void write_times(struct document *doc, const struct activity *did)
{
    json_u64(doc->json, "time_ns", did->total_ns);
    json_u64(doc->json, "self_ns", did->self_ns);
    export_nonzero(doc->json, "backward_ns", did->backward_ns);
    export_nonzero(doc->json, "device_ns", did->device_ns);
    if (did->newest != RUN_NONE) {
        write_shape(doc, "in_shape", did->newest, RUN_IN);
        write_shape(doc, "out_shape", did->newest, RUN_OUT);
    }
    export_flag(doc->json, "in_varies", did->flags & ACTIVITY_IN_VARIES);
    export_flag(doc->json, "out_varies", did->flags & ACTIVITY_OUT_VARIES);
    json_u64(doc->json, "out_bytes", did->out_bytes);
    json_u64(doc->json, "nan", did->nan);
    json_u64(doc->json, "inf", did->inf);
}

/* Forward operations of a module and all below it. */
static void write_op_sum(struct document *doc, const struct op_sum *sum)
{
    json_u64(doc->json, "ops", sum->count);
    if (sum->flops == 0 && sum->matrix_unknown > 0)
        json_null(doc->json, "flops");
    else
        json_u64(doc->json, "flops", sum->flops);
    if (sum->matrix_unknown > 0)
        json_u64(doc->json, "flops_missing", sum->matrix_unknown);
}

/* ---- numbers of a step of a training run ---- */

void export_step(struct json *json, const struct at_step *at)
{
    if (!at)
        return;
    json_object(json, "step");
    if (at->asked != STEP_NEWEST)
        json_u64(json, "asked", at->asked);
    if (at->step.merged > 0) {
        json_u64(json, "first", at->step.first);
        json_u64(json, "last", at->step.last);
        json_u64(json, "merged", at->step.merged);
    }
    json_object(json, "scalars");
    for (uint32_t i = 0; i < at->n_scalars; i++)
        json_real(json, at->scalars[i].name, at->scalars[i].value);
    json_object_end(json);
    json_object_end(json);
}

void document_at_step(struct document *doc, uint32_t place)
{
    const struct at_step *at = doc->session->step;
    double value;

    if (!at || at->at[place].known == 0)
        return;
    json_object(doc->json, "at_step");
    for (int i = 0; i < STEP_NUMBERS; i++)
        if (step_number(&at->at[place], (enum step_number)i, &value))
            json_real(doc->json, step_words[i].key, value);
    json_object_end(doc->json);
}

void document_activity(struct document *doc, uint32_t place)
{
    const struct activity *did;

    if (place >= doc->activities.n || doc->model->kind[place] != PLACE_MODULE)
        return;
    did = &doc->activities.at[place];
    json_u64(doc->json, "calls", did->calls);
    if (did->calls > 0)
        write_times(doc, did);
    document_saved(doc, place);
    if (doc->ops)
        write_op_sum(doc, &doc->ops[place]);
    if (did->gap != RUN_NONE) {
        const struct run_gap *gap = &doc->run->gaps[did->gap];

        json_text(doc->json, "gap", run_gap_name(gap->kind));
        json_str(doc->json, "gap_text", run_string(doc->run, gap->text));
    }
    export_flag(doc->json, "container", did->flags & ACTIVITY_CONTAINER);
    export_flag(doc->json, "raised", did->flags & ACTIVITY_RAISED);
    export_flag(doc->json, "producer", did->flags & ACTIVITY_PRODUCER);
    export_flag(doc->json, "trouble_below", did->flags & ACTIVITY_BELOW);
    export_flag(doc->json, "not_reached", did->flags & ACTIVITY_NOT_REACHED);
}

void document_calls(struct document *doc, uint32_t place)
{
    uint32_t object = doc->model->object[place], *calls, n = 0;
    struct arena arena;

    if (!doc->run || doc->model->kind[place] != PLACE_MODULE || object == NO_OBJECT)
        return;
    arena_init(&arena, 0);
    calls = run_calls_at(doc->session->run, place, false, &arena, &n);
    json_array(doc->json, "calls");
    for (uint32_t i = 0; calls && i < n; i++) {
        json_object(doc->json, NULL);
        document_call(doc, calls[i], VALUES_WHOLE);
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
    arena_release(&arena);
    json_array(doc->json, "merged");
    for (uint32_t i = 0; i < doc->run->n_merged; i++) {
        if (doc->run->merged[i].object != object)
            continue;
        json_object(doc->json, NULL);
        document_merged(doc, i);
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
    write_gaps(doc, object);
}

/* ---- slowest calls and classes ---- */

void document_slowest(struct document *doc)
{
    struct slow_list places = {0}, classes = {0};

    slowest_of(&places, &classes, &doc->activities, doc->model, &doc->arena, NULL);
    json_array(doc->json, "slowest");
    for (uint32_t i = 0; i < places.n && i < MOST_SLOW; i++) {
        const struct slow *slow = &places.at[i];

        json_object(doc->json, NULL);
        document_named(doc, slow->place);
        json_str(doc->json, "class", place_class(doc->model, slow->place));
        json_u64(doc->json, "calls", slow->calls);
        json_u64(doc->json, "time_ns", doc->activities.at[slow->place].total_ns);
        json_u64(doc->json, "self_ns", slow->self_ns);
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
    json_array(doc->json, "classes");
    for (uint32_t i = 0; i < classes.n; i++) {
        json_object(doc->json, NULL);
        json_str(doc->json, "class", place_class(doc->model, classes.at[i].place));
        json_u64(doc->json, "places", classes.at[i].places);
        json_u64(doc->json, "calls", classes.at[i].calls);
        json_u64(doc->json, "self_ns", classes.at[i].self_ns);
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
}

/* ---- parts of it ---- */

static void write_part(struct json *json, const struct run *run, uint32_t i,
                       void (*write)(struct document *doc, uint32_t i))
{
    struct document doc = {.json = json, .model = run->model, .run = run};

    json_object(json, NULL);
    write(&doc, i);
    json_object_end(json);
    buf_release(&doc.path);
}

static void write_whole_call(struct document *doc, uint32_t call)
{
    document_call(doc, call, VALUES_WHOLE);
}

static void write_whole_param(struct document *doc, uint32_t param)
{
    document_param(doc, param, VALUES_WHOLE);
}

void export_call(struct json *json, const struct run *run, uint32_t call)
{
    write_part(json, run, call, write_whole_call);
}

void export_merged(struct json *json, const struct run *run, uint32_t merged)
{
    write_part(json, run, merged, document_merged);
}

void export_param(struct json *json, const struct run *run, uint32_t param)
{
    write_part(json, run, param, write_whole_param);
}

void export_gap(struct json *json, const struct run *run, uint32_t gap)
{
    write_part(json, run, gap, document_gap);
}

void export_op(struct json *json, const struct run *run, uint32_t op)
{
    write_part(json, run, op, document_op_facts);
}

void export_op_values(struct json *json, const struct run *run, uint32_t op)
{
    write_part(json, run, op, document_op_values);
}

void export_op_value(struct json *json, const struct run *run, uint32_t value)
{
    write_part(json, run, value, document_op_value);
}

void export_facts(struct json *json, const struct run *run)
{
    struct document doc = {.json = json, .model = run->model, .run = run};

    document_run_facts(&doc, NULL);
    buf_release(&doc.path);
}

/* ---- all of it ---- */

static void write_numbered_call(struct document *doc, uint32_t call)
{
    document_call(doc, call, VALUES_BY_NUMBER);
}

static void write_numbered_param(struct document *doc, uint32_t param)
{
    document_param(doc, param, VALUES_BY_NUMBER);
}

void export_run_json(struct json *json, const struct session *session)
{
    const struct run *run = session->run;
    struct document doc;

    document_begin(&doc, json, session, "run");
    document_list(&doc, "calls", run->n_calls, write_numbered_call);
    document_list(&doc, "values", run->n_values, document_run_value);
    document_list(&doc, "merged", run->n_merged, document_merged);
    document_list(&doc, "params", run->n_params, write_numbered_param);
    write_gaps(&doc, ALL_GAPS);
    document_live_bytes(&doc);
    document_end(&doc);
}
