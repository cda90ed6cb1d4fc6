/* "results" of a diff of two recordings. */
#include <math.h>

#include "compare/divergence_text.h"
#include "export/export_in.h"

#define MOST_ALONE 10

struct results {
    struct json *json;
    const struct divergence *divergence;
    struct buf path;
};

static void real_or_null(struct json *json, const char *key, double value)
{
    if (isnan(value))
        json_null(json, key);
    else
        json_real(json, key, value);
}

static void write_value(struct results *to, const struct divergence_value *value,
                        bool right)
{
    const struct run *run = to->divergence->run[right];
    const struct stats *stats = divergence_stats(run, *value);
    enum dtype dtype = divergence_dtype(run, *value);
    int rank;
    const int64_t *shape = divergence_shape(run, *value, &rank);

    export_list(to->json, "shape", shape, rank);
    json_text(to->json, "dtype", dtype_name(dtype));
    if (stats)
        export_stats_members(to->json, stats, dtype, shape, rank);
}

static void write_amount(struct json *json, const struct divergence_amount *by)
{
    real_or_null(json, "distance", by->distance);
    json_text(json, "by", divergence_how_name((enum divergence_how)by->how));
    if (!isnan(by->max_abs))
        json_real(json, "max_abs", by->max_abs);
    if (!isnan(by->max_rel))
        json_real(json, "max_rel", by->max_rel);
    if (!isnan(by->mean))
        json_real(json, "rms", by->mean);
    export_flag(json, "not_finite", by->not_finite);
    if (by->why)
        json_text(json, "why", by->why);
}

static void write_place(struct results *to, const struct run *run, uint32_t place)
{
    if (place == NO_PLACE) {
        json_null(to->json, "name");
        return;
    }
    buf_clear(&to->path);
    place_path(run->model, place, &to->path);
    json_str(to->json, "name", buf_span(&to->path));
}

static void write_side(struct results *to, const struct divergence_result *result,
                       bool right)
{
    const struct run *run = to->divergence->run[right];
    struct str line = divergence_line(to->divergence, result, right);
    uint32_t at = result->at[right], place = result->place[right];
    struct json *json = to->json;

    json_object(json, right ? "right" : "left");
    write_place(to, run, place);
    if (place != NO_PLACE && run->model->kind[place] != PLACE_TENSOR)
        json_str(json, "class", class_short(place_class(run->model, place)));
    if (result->what == DIVERGENCE_OP) {
        json_str(json, "op", op_name(run, &run->ops->ops[at]));
        json_u64(json, "id", at);
    } else if (result->what != DIVERGENCE_PARAMETER) {
        json_u64(json, "call", run->calls[at].number);
        json_str(json, "path", run_string(run, result->path[right]));
    }
    if (line.len > 0)
        json_str(json, "line", line);
    write_value(to, &result->value[right], right);
    json_object_end(json);
}

static void write_inputs(struct results *to, uint32_t index)
{
    struct divergence_input *inputs;
    struct arena arena;
    uint32_t n;

    arena_init(&arena, 0);
    inputs = divergence_inputs(to->divergence, index, &arena, &n);
    json_array(to->json, "inputs");
    for (uint32_t i = 0; i < n; i++) {
        json_object(to->json, NULL);
        json_str(to->json, "name", inputs[i].name);
        export_flag(to->json, "parameter", inputs[i].parameter);
        write_amount(to->json, &inputs[i].by);
        for (int right = 0; right < 2; right++) {
            json_object(to->json, right ? "right" : "left");
            write_value(to, &inputs[i].value[right], right);
            json_object_end(to->json);
        }
        json_object_end(to->json);
    }
    json_array_end(to->json);
    arena_release(&arena);
}

static void write_attributes(struct results *to, const struct divergence_result *result)
{
    struct divergence_attribute one = {.name = BUF_INIT};
    struct json *json = to->json;

    json_array(json, "attributes");
    for (uint32_t at = 0;
         divergence_next_attribute(to->divergence, result, &at, &one);) {
        json_object(json, NULL);
        json_str(json, "name", buf_span(&one.name));
        if (one.left.len > 0)
            json_str(json, "left", buf_span(&one.left));
        if (one.right.len > 0)
            json_str(json, "right", buf_span(&one.right));
        json_object_end(json);
    }
    json_array_end(json);
    divergence_attribute_release(&one);
}

static void write_result(struct results *to, const char *key, uint32_t index)
{
    const struct divergence_result *result = &to->divergence->results[index];
    struct json *json = to->json;

    json_object(json, key);
    json_text(json, "what", divergence_what_name((enum divergence_what)result->what));
    json_text(json, "phase", op_phase_name((enum op_phase)result->phase));
    json_u64(json, "step", result->step);
    write_amount(json, &result->by);
    json_real(json, "tolerance", result->tolerance);
    json_bool(json, "beyond", result->beyond);
    if (result->beyond) {
        real_or_null(json, "inputs_distance", result->inputs);
        real_or_null(json, "parameters_distance", result->parameters);
        json_bool(json, "begins", result->begins);
        export_flag(json, "unmatched_inside", result->inside);
    }
    export_flag(json, "random", result->random);
    write_side(to, result, false);
    write_side(to, result, true);
    if (result->beyond && result->what == DIVERGENCE_OP)
        write_attributes(to, result);
    if (result->beyond)
        write_inputs(to, index);
    json_object_end(json);
}

static void write_matched(struct json *json, const char *key,
                          const struct divergence_matched *matched, bool ops)
{
    json_object(json, key);
    json_u64(json, "left", matched->n[0]);
    json_u64(json, "right", matched->n[1]);
    json_u64(json, "pairs", divergence_pairs(matched));
    json_u64(json, ops ? "by_flow" : "by_name", matched->by_name);
    if (!ops)
        json_u64(json, "renamed", matched->by_rule);
    json_u64(json, "by_order", matched->by_order);
}

/* The first one that only one side has. */
static void write_alone(struct results *to, bool ops, bool right)
{
    const struct run *run = to->divergence->run[right];
    uint32_t at = divergence_next_alone(to->divergence, ops, right, 0);

    json_array(to->json, right ? "only_right" : "only_left");
    for (uint32_t n = 0; at != RUN_NONE && n < MOST_ALONE; n++) {
        uint32_t line = ops ? run->ops->ops[at].line : run->calls[at].line;

        json_object(to->json, NULL);
        write_place(to, run, ops ? run->ops->ops[at].place : run->calls[at].place);
        if (ops)
            json_str(to->json, "op", op_name(run, &run->ops->ops[at]));
        json_u64(to->json, ops ? "id" : "call", ops ? at : run->calls[at].number);
        if (line != 0)
            json_str(to->json, "line", run_string(run, line));
        json_object_end(to->json);
        at = divergence_next_alone(to->divergence, ops, right, at + 1);
    }
    json_array_end(to->json);
}

static void write_counts(struct results *to)
{
    const struct divergence *divergence = to->divergence;
    struct json *json = to->json;

    json_bool(json, "agree", divergence_agrees(divergence));
    if (divergence->tolerance > 0)
        json_real(json, "tolerance", divergence->tolerance);
    else
        json_null(json, "tolerance");
    json_u64(json, "compared", divergence->n_results);
    json_u64(json, "beyond", divergence->beyond);
    json_u64(json, "begins", divergence->begins);
    real_or_null(json, "closest", divergence->closest);
    json_u64(json, "elements", divergence->elements);
    json_u64(json, "unmeasured", divergence->unmeasured);
    write_matched(json, "calls", &divergence->calls, false);
    json_u64(json, "left_merged", divergence->merged[0]);
    json_u64(json, "right_merged", divergence->merged[1]);
    write_alone(to, false, false);
    write_alone(to, false, true);
    json_object_end(json);
    if (!divergence->op_match[0]) {
        json_null(json, "operations");
        return;
    }
    write_matched(json, "operations", &divergence->ops, true);
    json_u64(json, "left_lost", divergence->lost[0]);
    json_u64(json, "right_lost", divergence->lost[1]);
    write_alone(to, true, false);
    write_alone(to, true, true);
    json_object_end(json);
}

void export_divergence(struct json *json, const struct divergence *divergence, bool all)
{
    struct results to = {.json = json, .divergence = divergence};
    uint32_t n = divergence->n_later;

    if (!all && n > DIVERGENCE_LATER)
        n = DIVERGENCE_LATER;
    json_object(json, "results");
    write_counts(&to);
    if (divergence->first != RUN_NONE)
        write_result(&to, "first", divergence->first);
    else
        json_null(json, "first");
    json_array(json, "later");
    for (uint32_t i = 0; i < n; i++)
        write_result(&to, NULL, divergence->later[i]);
    json_array_end(json);
    if (all) {
        json_array(json, "all");
        for (uint32_t i = 0; i < divergence->n_results; i++)
            write_result(&to, NULL, i);
        json_array_end(json);
    }
    json_object_end(json);
    buf_release(&to.path);
}
