#include "export/export_in.h"

#include <math.h>

#include "base/base.h"
#include "compare/diff_text.h"

/* Two documents in one: each side writes its own names and values. */
struct two {
    struct json *json;
    const struct diff *diff;
    const struct divergence *divergence; /* or NULL */
    const struct parting *parting;       /* or NULL */
    bool equal;
    struct document side[2];
    struct buf name;
};

static const struct model *model_of(const struct two *two, bool right)
{
    return right ? two->diff->right : two->diff->left;
}

/* ---- what was compared ---- */

static void write_side(struct two *two, bool right)
{
    const struct session *session = two->side[right].session;
    struct str prefix = right ? two->diff->right_prefix : two->diff->left_prefix;
    struct json *json = two->json;

    json_object(json, right ? "right" : "left");
    json_text(json, "path", session->model->path);
    json_text(json, "format", session->model->format ? session->model->format : "");
    json_u64(json, "bytes", session->model->file_bytes);
    export_verdict(json, session);
    json_u64(json, "tensors", session->total.tensors);
    if (prefix.len > 0)
        json_str(json, "prefix", prefix);
    json_object_end(json);
}

static void write_counts(struct two *two)
{
    const struct diff_sums *total = &two->diff->total;

    json_object(two->json, "counts");
    json_u64(two->json, "tensors", total->tensors);
    for (int i = 0; i < DIFF_STATE_COUNT; i++)
        json_u64(two->json, diff_state_name((enum diff_state)i), total->states[i]);
    json_u64(two->json, "renamed", total->renamed);
    json_object_end(two->json);
}

static void write_text_or_null(struct two *two, const char *key, const struct buf *text)
{
    if (text->len > 0)
        json_str(two->json, key, buf_span(text));
    else
        json_null(two->json, key);
}

static void write_sentence(struct two *two)
{
    struct buf text = BUF_INIT;

    if (!diff_equal(two->diff))
        diff_sentence(&text, two->diff);
    write_text_or_null(two, "sentence", &text);
    buf_release(&text);
}

static void write_correlation(struct json *json, const struct compared *by)
{
    double correlation = compared_correlation(by);

    if (!isnan(correlation))
        json_real(json, "correlation", correlation);
}

/* ---- parts ---- */

static void write_part(struct two *two, const struct diff_part *part)
{
    const struct diff_sums *sums = &two->diff->nodes[part->node].sums;
    const struct compared *by = diff_apart(sums);
    struct json *json = two->json;

    buf_clear(&two->name);
    diff_node_name(two->diff, part->node, &two->name);
    json_object(json, NULL);
    json_str(json, "name", buf_span(&two->name));
    json_text(json, "fate", diff_fate_name(part->fate));
    json_u64(json, "tensors", sums->tensors);
    json_u64(json, "differ", diff_count_different(two->diff, sums));
    if (by && by->different > 0)
        json_real(json, "rel", compared_relative(by));
    if (by)
        write_correlation(json, by);
    if (sums->max_pair != DIFF_NONE)
        json_real(json, "max_abs", sums->max_abs);
    json_object_end(json);
}

/* ---- tensors ---- */

static void write_one_side(struct two *two, bool right, uint32_t place)
{
    const struct tensor *tensor;

    if (place == NO_PLACE)
        return;
    tensor = place_tensor(model_of(two, right), place);
    json_object(two->json, right ? "right" : "left");
    document_path(&two->side[right], "name", place);
    export_list(two->json, "shape", tensor_shape(model_of(two, right), tensor),
                tensor->rank);
    json_text(two->json, "dtype", dtype_name(tensor->dtype));
    json_object_end(two->json);
}

static void write_compared(struct two *two, const struct diff_pair *pair)
{
    const struct compared *by = &pair->by;
    enum dtype quantised = diff_quantised(two->diff, pair);
    const struct tensor *counted;
    const struct model *model;
    struct json *json = two->json;

    if (by->count == 0)
        return;
    counted = diff_indexed(two->diff, pair, &model);
    json_u64(json, "count", by->count);
    json_u64(json, "different", by->different);
    json_u64(json, "beyond", by->beyond);
    json_u64(json, "one_sided", by->one_sided);
    if (by->different > 0) {
        json_real(json, "max_abs", by->max_abs);
        export_index(json, "max_at", by->max_at, (enum dtype)counted->dtype,
                     tensor_shape(model, counted), counted->rank);
        json_real(json, "rel", compared_relative(by));
        json_real(json, "rms", diff_rms(by));
        write_correlation(json, by);
    }
    export_flag(json, "rounding", by->rounding);
    if (quantised != DTYPE_UNKNOWN)
        json_text(json, "quantised", dtype_name(quantised));
}

static void write_pair(struct two *two, uint32_t index)
{
    const struct diff_pair *pair = &two->diff->pairs[index];
    bool left = pair->left != NO_PLACE;
    const struct model *model = model_of(two, !left);
    struct json *json = two->json;

    buf_clear(&two->name);
    diff_pair_name(two->diff, index, &two->name);
    json_object(json, NULL);
    json_str(json, "name", buf_span(&two->name));
    json_text(json, "state", diff_state_name((enum diff_state)pair->state));
    write_one_side(two, false, pair->left);
    write_one_side(two, true, pair->right);
    json_text(
        json, "role",
        export_role_name(place_tensor(model, left ? pair->left : pair->right)->role));
    export_flag(json, "renamed", pair->flags & DIFF_RENAMED);
    export_flag(json, "by_content", pair->flags & DIFF_BY_CONTENT);
    export_flag(json, "transposed", pair->flags & DIFF_TRANSPOSED);
    if (pair->edit.kind == EDIT_PERMUTED)
        json_u64(json, "permuted", pair->edit.n);
    export_flag(json, "plus_one", pair->edit.kind == EDIT_PLUS_ONE);
    export_flag(json, "exponent", pair->edit.kind == EDIT_EXPONENT);
    if (pair->edit.kind == EDIT_GROUPED)
        json_u64(json, "grouped", pair->edit.n);
    export_flag(json, "reshape", pair->edit.kind == EDIT_RESHAPED);
    export_flag(json, "by_converter", pair->flags & DIFF_BESIDE);
    export_flag(json, "tied", pair->flags & DIFF_TIED);
    export_flag(json, "untied", pair->flags & DIFF_UNTIED);
    write_compared(two, pair);
    if (pair->why)
        json_text(json, "why", pair->why);
    json_object_end(json);
}

/* Listed without --all? */
static bool is_listed(const struct diff *diff, const struct diff_pair *pair)
{
    if (pair->flags & (DIFF_RENAMED | DIFF_TIED | DIFF_UNTIED))
        return true;
    if (pair->state == DIFF_UNREAD)
        return diff->values || pair->why;
    return pair->state != DIFF_SAME;
}

/* ---- joins, other facts, rules ---- */

static void write_join(struct two *two, const struct diff_join *join)
{
    struct json *json = two->json;

    json_object(json, NULL);
    json_text(json, "kind", join->fused ? "fused" : "split");
    export_flag(json, "stacked", join->stacked);
    document_path(&two->side[join->fused], "one", join->one);
    json_array(json, "many");
    for (uint32_t i = 0; i < join->n; i++)
        document_path(&two->side[!join->fused], NULL, join->many[i]);
    json_array_end(json);
    json_u64(json, "dim", join->dim);
    json_object_end(json);
}

static void write_other_side(struct two *two, const struct diff_other *other,
                             bool right)
{
    const struct model *model = model_of(two, right);
    const char *key = right ? "right" : "left";
    uint32_t at = right ? other->right : other->left;
    const struct object *object;

    if (at == NO_PLACE)
        return;
    switch (other->kind) {
    case DIFF_VALUE:
        document_value(&two->side[right], key, model->object[at]);
        break;
    case DIFF_CLASS:
        json_str(two->json, key, place_class(model, at));
        break;
    case DIFF_ARGS:
        object = place_object(model, at);
        document_value(&two->side[right], key, object ? object->args : VALUE_ID_NONE);
        break;
    case DIFF_METADATA:
        document_value(&two->side[right], key, model->metadata[at].value);
        break;
    case DIFF_CODE:
        if (other->code[0].len + other->code[1].len > 0)
            json_str(two->json, key, other->code[right]);
        break;
    case DIFF_FACT_KINDS:
        break;
    }
}

static void write_other(struct two *two, const struct diff_other *other)
{
    bool right = other->right != NO_PLACE;
    uint32_t at = right ? other->right : other->left;
    const struct model *model = model_of(two, right);

    json_object(two->json, NULL);
    json_text(two->json, "kind", diff_fact_name(other->kind));
    buf_clear(&two->name);
    if (other->kind == DIFF_METADATA)
        buf_str(&two->name, model_string(model, model->metadata[at].key));
    else
        diff_name(two->diff, right, at, &two->name);
    json_str(two->json, "name", buf_span(&two->name));
    write_other_side(two, other, false);
    write_other_side(two, other, true);
    json_object_end(two->json);
}

static void write_rule(struct json *json, const struct rename_rule *rule)
{
    static const char *const kinds[] = {
        [RENAME_PREFIX] = "prefix", [RENAME_PART] = "part", [RENAME_SHIFT] = "shift",
        [RENAME_SWAP] = "swap",     [RENAME_NAME] = "name",
    };

    json_object(json, NULL);
    json_text(json, "kind", kinds[rule->kind]);
    json_str(json, "from", rule->from);
    json_str(json, "to", rule->to);
    json_u64(json, "uses", rule->uses);
    if (rule->kind == RENAME_SHIFT) {
        json_u64(json, "first", rule->first);
        if (rule->last != UINT64_MAX)
            json_u64(json, "last", rule->last);
        json_i64(json, "shift", rule->shift);
    }
    json_object_end(json);
}

/* The error of each quantised type. */
static void write_errors(struct two *two)
{
    struct diff_error errors[DTYPE_COUNT];
    uint32_t n = diff_errors(two->diff, errors);
    struct json *json = two->json;

    json_array(json, "errors");
    for (uint32_t i = 0; i < n; i++) {
        json_object(json, NULL);
        json_text(json, "dtype", dtype_name(errors[i].dtype));
        json_u64(json, "tensors", errors[i].tensors);
        json_u64(json, "count", errors[i].by.count);
        json_real(json, "max_abs", errors[i].by.max_abs);
        json_real(json, "rel", compared_relative(&errors[i].by));
        json_real(json, "rms", diff_rms(&errors[i].by));
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_lists(struct two *two, bool all)
{
    const struct diff *diff = two->diff;
    struct json *json = two->json;

    json_array(json, "parts");
    for (uint32_t i = 0; i < diff->n_parts; i++)
        write_part(two, &diff->parts[i]);
    json_array_end(json);
    json_array(json, "tensors");
    for (uint32_t i = 0; i < diff->n_pairs; i++)
        if (all || is_listed(diff, &diff->pairs[i]))
            write_pair(two, i);
    json_array_end(json);
    json_array(json, "joins");
    for (uint32_t i = 0; i < diff->n_joins; i++)
        write_join(two, &diff->joins[i]);
    json_array_end(json);
    json_array(json, "others");
    for (uint32_t i = 0; i < diff->n_others; i++)
        write_other(two, &diff->others[i]);
    json_array_end(json);
    json_array(json, "rules");
    for (uint32_t i = 0; i < diff->rules.n; i++)
        write_rule(json, &diff->rules.at[i]);
    json_array_end(json);
}

static void write_all(struct two *two, const struct tolerance *tolerance, bool all,
                      const struct buf *python)
{
    const struct diff *diff = two->diff;
    struct json *json = two->json;

    json_object(json, NULL);
    json_u64(json, "torchoscope", 1);
    json_text(json, "kind", "diff");
    write_side(two, false);
    write_side(two, true);
    json_bool(json, "equal", two->equal);
    json_bool(json, "values", diff->values);
    json_bool(json, "complete", diff->complete);
    json_real(json, "rtol", tolerance->relative);
    json_real(json, "atol", tolerance->absolute);
    write_counts(two);
    write_sentence(two);
    write_lists(two, all);
    write_errors(two);
    json_bool(json, "loads", diff->loads);
    json_object(json, "load");
    json_u64(json, "missing", diff->load.missing);
    json_u64(json, "unexpected", diff->load.unexpected);
    json_u64(json, "reshaped", diff->load.reshaped);
    json_u64(json, "packed", diff->load.packed);
    json_object_end(json);
    write_text_or_null(two, "python", python);
    if (two->divergence)
        export_divergence(json, two->divergence, all);
    if (two->parting)
        export_parting(json, two->parting);
    json_object_end(json);
}

int export_diff_json(struct json *json, const struct pair *pair,
                     const struct tolerance *tolerance, bool all, struct err *err)
{
    struct two two = {.json = json,
                      .diff = &pair->diff,
                      .divergence = pair->divergence,
                      .parting = pair->parting,
                      .equal = pair_equal(pair)};
    struct buf python = BUF_INIT;

    if (diff_python(&python, &pair->diff, err) < 0)
        return -1;
    for (int right = 0; right < 2; right++) {
        const struct session *session = right ? pair->right : pair->left;
        struct document *doc = &two.side[right];

        *doc = (struct document){
            .json = json, .session = session, .model = session->model};
        arena_init(&doc->arena, GIB);
    }
    write_all(&two, tolerance, all, &python);
    for (int right = 0; right < 2; right++) {
        buf_release(&two.side[right].path);
        arena_release(&two.side[right].arena);
    }
    buf_release(&two.name);
    buf_release(&python);
    return 0;
}
