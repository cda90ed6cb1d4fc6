#include "export/export_in.h"

#include <math.h>

void export_index(struct json *json, const char *key, uint64_t at, enum dtype dtype,
                  const int64_t *shape, int rank)
{
    int64_t index[SLICE_RANK];

    if (rank > SLICE_RANK)
        return;
    at /= dtype_info(dtype)->values;
    for (int i = rank - 1; i >= 0; i--) {
        index[i] = shape[i] > 0 ? (int64_t)(at % (uint64_t)shape[i]) : 0;
        at = shape[i] > 0 ? at / (uint64_t)shape[i] : 0;
    }
    export_list(json, key, index, rank);
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

static void write_finite(struct json *json, const struct stats *stats, enum dtype dtype,
                         const int64_t *shape, int rank)
{
    write_extreme(json, "min", stats->kind, stats->min, stats->int_min);
    write_extreme(json, "max", stats->kind, stats->max, stats->int_max);
    json_real(json, "mean", stats->mean);
    if (stats_finite(stats) > 1)
        json_real(json, "std", stats_std(stats));
    json_real(json, "l2", stats_l2(stats));
    if (!shape)
        return;
    export_index(json, "min_at", stats->min_at, dtype, shape, rank);
    export_index(json, "max_at", stats->max_at, dtype, shape, rank);
    if (dtype_info(dtype)->kind == DTYPE_KIND_COMPLEX)
        json_text(json, "of", "abs");
}

void export_stats_members(struct json *json, const struct stats *stats,
                          enum dtype dtype, const int64_t *shape, int rank)
{
    json_u64(json, "count", stats->count);
    json_u64(json, "nan", stats->nan);
    json_u64(json, "pos_inf", stats->pos_inf);
    json_u64(json, "neg_inf", stats->neg_inf);
    if (stats_measured(stats) || stats_finite(stats) == 0)
        json_u64(json, "zeros", stats->zeros);
    if (stats_measured(stats))
        write_finite(json, stats, dtype, shape, rank);
    if (stats->sampled)
        json_bool(json, "sampled", true);
}

void export_numbers(struct json *json, const struct stats *stats, enum dtype dtype,
                    const int64_t *shape, int rank)
{
    json_object(json, NULL);
    export_stats_members(json, stats, dtype, shape, rank);
    json_object_end(json);
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

void document_stats(struct document *doc, uint32_t tensor)
{
    const struct tensor *t = &doc->model->tensors[tensor];
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
    export_stats_members(json, stats, (enum dtype)t->dtype, tensor_shape(doc->model, t),
                         t->rank);
    if (exponents)
        write_exponents(doc, exponents);
}

void export_stats_json(struct json *json, const struct session *session,
                       struct export_choice choice, bool complete)
{
    const struct model *model = session->model;
    struct document doc;

    document_begin(&doc, json, session, "stats");
    if (session->run)
        json_text(json, "mode", "recorded");
    else
        json_text(json, "mode", session->mode == MEASURE_EXACT ? "exact" : "full");
    json_bool(json, "complete", complete);
    json_array(json, "tensors");
    for (uint32_t place = 0; place < model->n_places; place++) {
        if (model->kind[place] != PLACE_TENSOR || !export_keeps(choice, place))
            continue;
        json_object(json, NULL);
        document_tensor(&doc, place);
        document_stats(&doc, model->object[place]);
        json_object_end(json);
    }
    json_array_end(json);
    document_end(&doc);
}
