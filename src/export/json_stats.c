#include "export/export_in.h"

#include <math.h>

void write_index(struct document *doc, const char *key, const struct tensor *tensor,
                 uint64_t at)
{
    const int64_t *shape = tensor_shape(doc->model, tensor);
    int64_t index[SLICE_RANK];

    if (tensor->rank > SLICE_RANK)
        return;
    /* Of elements that stand for several values, the element is named. */
    at /= dtype_info(tensor->dtype)->values;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        index[i] = shape[i] > 0 ? (int64_t)(at % (uint64_t)shape[i]) : 0;
        at = shape[i] > 0 ? at / (uint64_t)shape[i] : 0;
    }
    write_list(doc->json, key, index, tensor->rank);
}

static void write_extreme(struct json *json, const char *key, enum stats_kind kind,
                          double real, int64_t integer)
{
    if (kind == STATS_REAL)
        json_real(json, key, real);
    else if (kind == STATS_INT)
        json_i64(json, key, integer);
    else
        json_u64(json, key, (uint64_t)integer);
}

static void write_finite(struct document *doc, const struct tensor *tensor,
                         const struct stats *stats)
{
    struct json *json = doc->json;

    write_extreme(json, "min", stats->kind, stats->min, stats->int_min);
    write_extreme(json, "max", stats->kind, stats->max, stats->int_max);
    json_real(json, "mean", stats->mean);
    if (stats_finite(stats) > 1)
        json_real(json, "std", stats_std(stats));
    json_real(json, "l2", stats_l2(stats));
    write_index(doc, "min_at", tensor, stats->min_at);
    write_index(doc, "max_at", tensor, stats->max_at);
    if (dtype_info(tensor->dtype)->kind == DTYPE_KIND_COMPLEX)
        json_text(json, "of", "abs");
}

static void write_exponents(struct document *doc, const struct exponents *exponents)
{
    json_object(doc->json, "exponents");
    json_i64(doc->json, "first", exponents->first);
    json_array(doc->json, "counts");
    for (uint32_t i = 0; i < exponents->n; i++)
        json_u64(doc->json, NULL, exponents->counts[i]);
    json_array_end(doc->json);
    json_object_end(doc->json);
}

void write_stats(struct document *doc, uint32_t tensor)
{
    const struct stats *stats = session_known(doc->session, tensor);
    const struct exponents *exponents = session_exponents(doc->session, tensor);
    const char *why = session_why(doc->session, tensor);
    const char *sha256 = session_sha256(doc->session, tensor);
    struct json *json = doc->json;

    if (sha256)
        json_text(json, "sha256", sha256);
    if (why) {
        json_null(json, "count");
        json_text(json, "stats_why", why);
    }
    if (!stats)
        return;
    json_u64(json, "count", stats->count);
    json_u64(json, "nan", stats->nan);
    json_u64(json, "pos_inf", stats->pos_inf);
    json_u64(json, "neg_inf", stats->neg_inf);
    json_u64(json, "zeros", stats->zeros);
    if (stats_finite(stats) > 0)
        write_finite(doc, &doc->model->tensors[tensor], stats);
    if (exponents)
        write_exponents(doc, exponents);
}

void export_stats_json(struct json *json, const struct session *session,
                       struct export_choice choice, bool complete)
{
    const struct model *model = session->model;
    struct document doc;

    document_begin(&doc, json, session, "stats");
    json_text(json, "mode", session->mode == MEASURE_EXACT ? "exact" : "full");
    json_bool(json, "complete", complete);
    json_array(json, "tensors");
    for (uint32_t place = 0; place < model->n_places; place++) {
        if (model->kind[place] != PLACE_TENSOR || !is_kept(choice, place))
            continue;
        json_object(json, NULL);
        write_tensor(&doc, place);
        write_stats(&doc, model->object[place]);
        json_object_end(json);
    }
    json_array_end(json);
    document_end(&doc);
}
