#include "export/export_in.h"

#include "facts/details.h"
#include "facts/statistics.h"

/* ---- a tensor ---- */

static void write_numbers(struct json *json, const struct numbers *numbers)
{
    if (numbers->n_quantiles > 0) {
        json_array(json, "quantiles");
        for (uint32_t i = 0; i < numbers->n_quantiles; i++) {
            json_object(json, NULL);
            json_real(json, "q", numbers->at[i]);
            json_real(json, "value", numbers->quantiles[i]);
            json_object_end(json);
        }
        json_array_end(json);
    }
    if (numbers->n_bins > 0) {
        /* As in numpy: the range around a single value has width 1. */
        double half = numbers->stats->min == numbers->stats->max ? 0.5 : 0;

        json_object(json, "histogram");
        json_real(json, "min", numbers->stats->min - half);
        json_real(json, "max", numbers->stats->max + half);
        json_array(json, "bins");
        for (uint32_t i = 0; i < numbers->n_bins; i++)
            json_u64(json, NULL, numbers->bins[i]);
        json_array_end(json);
        json_object_end(json);
    }
    if (numbers->sha256[0])
        json_text(json, "sha256", numbers->sha256);
}

static void write_cell(struct json *json, const struct cells *cells, uint64_t i)
{
    switch (cells->kind) {
    case CELL_REAL:
        json_real(json, NULL, cells->reals[i]);
        break;
    case CELL_COMPLEX:
    case CELL_PAIR:
        json_array(json, NULL);
        json_real(json, NULL, cells->reals[2 * i]);
        json_real(json, NULL, cells->reals[2 * i + 1]);
        json_array_end(json);
        break;
    case CELL_INT:
        json_i64(json, NULL, cells->integers[i]);
        break;
    case CELL_UINT:
        json_u64(json, NULL, (uint64_t)cells->integers[i]);
        break;
    case CELL_BOOL:
        json_bool(json, NULL, cells->integers[i] != 0);
        break;
    }
}

static void write_slice(struct json *json, const struct export_values *values)
{
    int64_t shape[SLICE_RANK];
    int rank = slice_shape(values->slice, shape);

    json_object(json, "slice");
    json_str(json, "index", values->index);
    export_list(json, "shape", shape, rank);
    json_array(json, "values");
    for (uint64_t i = 0; i < values->cells->n; i++)
        write_cell(json, values->cells, i);
    json_array_end(json);
    json_object_end(json);
}

static void show_tensor(struct document *doc, uint32_t place,
                        const struct numbers *numbers,
                        const struct export_values *values)
{
    json_text(doc->json, "what", "tensor");
    json_object(doc->json, "tensor");
    document_tensor(doc, place);
    document_stats(doc, doc->model->object[place]);
    if (numbers)
        write_numbers(doc->json, numbers);
    if (values)
        write_slice(doc->json, values);
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

static void show_module(struct document *doc, uint32_t place)
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
    write_own(doc, place);
    write_children(doc, "modules", PLACE_MODULE, place, document_module);
    write_children(doc, "groups", PLACE_GROUP, place, document_module);
    write_children(doc, "tensors", PLACE_TENSOR, place, document_tensor);
    write_children(doc, "values", PLACE_VALUE, place, document_plain);
    document_calls(doc, place);
}

/* The lines that `show` prints. */
static void write_details(struct document *doc, uint32_t place,
                          const struct numbers *numbers)
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
        if (numbers)
            statistics_facts(&facts, doc->model, place_tensor(doc->model, place),
                             numbers, STATISTICS_ODD_COUNTS);
    } else {
        details_module(&facts, &show, place, DETAILS_NAME);
    }
    document_details(doc, &facts);
    facts_release(&facts);
}

void export_show_json(struct json *json, const struct session *session, uint32_t place,
                      const struct numbers *numbers, const struct export_values *values)
{
    struct document doc;

    document_begin(&doc, json, session, "show");
    document_path(&doc, "name", place);
    json_u64(json, "place", place);
    switch ((enum place_kind)session->model->kind[place]) {
    case PLACE_TENSOR:
        show_tensor(&doc, place, numbers, values);
        break;
    case PLACE_MODULE:
    case PLACE_GROUP:
        show_module(&doc, place);
        break;
    case PLACE_VALUE:
        json_text(json, "what", "value");
        json_object(json, "value");
        document_plain(&doc, place);
        json_object_end(json);
        break;
    }
    if (session->model->kind[place] != PLACE_VALUE)
        write_details(&doc, place, numbers);
    document_end(&doc);
}
