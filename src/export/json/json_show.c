#include "export/json/json_show_in.h"

#include <stdlib.h>

#include "base/base.h"
#include "facts/details.h"
#include "facts/objects/kept_text.h"
#include "facts/statistics.h"

/* ---- a tensor ---- */

static void write_slice(struct json *json, const struct export_values *values)
{
    int64_t shape[SLICE_RANK];
    int rank = slice_shape(values->slice, shape);

    json_object(json, "slice");
    json_str(json, "index", values->index);
    export_list(json, "shape", shape, rank);
    json_array(json, "values");
    for (uint64_t i = 0; i < values->cells->n; i++)
        show_values_cell(json, values->cells, i);
    json_array_end(json);
    json_object_end(json);
}

/* The shown data: numbers and values, or the parts that a page requested. */
struct shown {
    const struct numbers *numbers;
    const struct export_values *values;
    const struct show_values *page;
};

static void show_tensor(struct document *doc, uint32_t place, const struct shown *shown)
{
    json_text(doc->json, "what", "tensor");
    json_object(doc->json, "tensor");
    document_tensor(doc, place);
    document_stats(doc, doc->model->object[place]);
    if (shown->numbers)
        show_values_numbers(doc->json, shown->numbers);
    if (shown->values)
        write_slice(doc->json, shown->values);
    if (shown->page)
        show_values_write(doc->json, shown->page);
    json_object_end(doc->json);
}

/* The kept result of a call of the module, as a tensor. */
static void write_kept(struct document *doc, const struct show_values *v)
{
    const struct run_value *value = &doc->run->values[v->value];

    json_object(doc->json, "kept");
    json_u64(doc->json, "call", v->call);
    json_u64(doc->json, "number", doc->run->calls[v->call].number);
    document_run_value(doc, v->value);
    if (v->has_numbers) {
        export_stats_members(doc->json, v->numbers.stats, (enum dtype)value->dtype,
                             doc->run->dims + value->shape, value->rank);
        show_values_numbers(doc->json, &v->numbers);
    }
    show_values_write(doc->json, v);
    json_object_end(doc->json);
}

/* ---- a module or group ---- */

static void write_children(struct document *doc, const char *key, enum place_kind kind,
                           uint32_t place,
                           void (*write)(struct document *doc, uint32_t place))
{
    uint32_t child;

    json_array(doc->json, key);
    for (child = place_first(doc->model, place); child != NO_PLACE;
         child = place_next(doc->model, child)) {
        if (doc->model->kind[child] != kind)
            continue;
        json_object(doc->json, NULL);
        write(doc, child);
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
}

/* The sums of the tensors directly below it. */
static void write_own(struct document *doc, uint32_t place)
{
    uint64_t params = 0, bytes = 0;
    uint32_t child;

    for (child = place_first(doc->model, place); child != NO_PLACE;
         child = place_next(doc->model, child)) {
        if (doc->model->kind[child] != PLACE_TENSOR)
            continue;
        params += counts_params(&doc->session->places, child);
        bytes += counts_bytes(&doc->session->places, child);
    }
    json_object(doc->json, "own");
    json_u64(doc->json, "params", params);
    json_u64(doc->json, "bytes", bytes);
    json_object_end(doc->json);
}

static void show_module(struct document *doc, uint32_t place, const struct shown *shown)
{
    const struct object *object = place_object(doc->model, place);
    const char *what = doc->model->kind[place] == PLACE_MODULE ? "module" : "group";
    uint32_t source = 0;

    if (object && object->class_id != NO_CLASS)
        source = doc->model->classes[object->class_id].source;
    json_text(doc->json, "what", what);
    json_object(doc->json, what);
    document_module(doc, place);
    if (source)
        json_str(doc->json, "source", model_string(doc->model, source));
    if (object && object->hidden != VALUE_ID_NONE)
        document_value(doc, "hidden", object->hidden);
    json_object_end(doc->json);
    if (shown->page && shown->page->value != RUN_NONE)
        write_kept(doc, shown->page);
    write_own(doc, place);
    write_children(doc, "modules", PLACE_MODULE, place, document_module);
    write_children(doc, "groups", PLACE_GROUP, place, document_module);
    write_children(doc, "tensors", PLACE_TENSOR, place, document_tensor);
    write_children(doc, "values", PLACE_VALUE, place, document_plain);
    document_calls(doc, place);
}

/* "statistics": all numbers of the values, as lines. */
static void write_statistics(struct document *doc, const struct show_values *v)
{
    struct facts facts = {0};

    if (!v->has_numbers || !v->wanted->all)
        return;
    statistics_facts(&facts, v->model, v->tensor, &v->numbers, STATISTICS_ALL_COUNTS);
    document_facts(doc, "statistics", &facts);
    facts_release(&facts);
}

/* "kept_details": a description of the kept result, its producer and readers. */
static void write_kept_details(struct document *doc, const struct show *show,
                               const struct show_values *v)
{
    struct facts facts = {0};

    kept_facts(&facts, show, v->call, v->value);
    document_facts(doc, "kept_details", &facts);
    facts_release(&facts);
}

/* The lines that `show` prints. */
static void write_details(struct document *doc, uint32_t place,
                          const struct shown *shown)
{
    struct facts facts = {0};
    struct show show;
    struct err err = {0};

    if (show_init(&show, doc->session, &doc->arena, &err) < 0) {
        document_no_details(doc, &err);
        return;
    }
    if (doc->model->kind[place] == PLACE_TENSOR) {
        statistics_subject(&facts, doc->session, place);
        details_tensor(&facts, &show, place, true);
        if (shown->numbers)
            statistics_facts(&facts, doc->model, place_tensor(doc->model, place),
                             shown->numbers, STATISTICS_ODD_COUNTS);
    } else {
        details_module(&facts, &show, place, DETAILS_NAME);
    }
    document_facts(doc, "details", &facts);
    facts_release(&facts);
    if (!shown->page)
        return;
    write_statistics(doc, shown->page);
    if (shown->page->value != RUN_NONE)
        write_kept_details(doc, &show, shown->page);
}

static void write_show(struct json *json, const struct session *session, uint32_t place,
                       const struct shown *shown)
{
    struct document doc;

    document_begin(&doc, json, session, "show");
    document_path(&doc, "name", place);
    json_u64(json, "place", place);
    switch ((enum place_kind)session->model->kind[place]) {
    case PLACE_TENSOR:
        show_tensor(&doc, place, shown);
        break;
    case PLACE_MODULE:
    case PLACE_GROUP:
        show_module(&doc, place, shown);
        break;
    case PLACE_VALUE:
        json_text(json, "what", "value");
        json_object(json, "value");
        document_plain(&doc, place);
        json_object_end(json);
        break;
    }
    if (session->model->kind[place] != PLACE_VALUE)
        write_details(&doc, place, shown);
    document_end(&doc);
}

void export_show_json(struct json *json, const struct session *session, uint32_t place,
                      const struct numbers *numbers, const struct export_values *values)
{
    write_show(json, session, place, &(struct shown){numbers, values, NULL});
}

int export_show_page(struct json *json, struct session *session, uint32_t place,
                     const struct export_show_wanted *wanted, struct work *work,
                     struct err *err)
{
    struct show_values *values = calloc(1, sizeof *values); /* with a kept view */
    int status;

    if (!values)
        return err_set(err, ERR_LIMIT, "no memory for the values of a tensor");
    values->session = session;
    values->wanted = wanted;
    arena_init(&values->arena, GIB);
    status = show_values_read(values, place, work, err);
    if (status == 0) {
        const struct numbers *numbers =
            values->has_numbers && values->value == RUN_NONE ? &values->numbers : NULL;

        write_show(json, session, place, &(struct shown){numbers, NULL, values});
    }
    arena_release(&values->arena);
    free(values);
    return status;
}
