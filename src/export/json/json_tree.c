#include "export/export_in.h"

#include "base/base.h"

/* ---- what every document has ---- */

/* Chains the places of each tied tensor in one backward scan. If memory runs out, only
 * `also_at` is missing. */
static void chain_same(struct document *doc)
{
    const struct model *model = doc->model;
    uint32_t *last = NULL, *next = NULL;
    bool tied = false;
    uint32_t place;

    for (place = 0; place < model->n_places && !tied; place++)
        tied = model->kind[place] == PLACE_TENSOR && !counts_here(model, place);
    if (!tied)
        return;
    next = arena_array(&doc->arena, model->n_places, sizeof *next);
    last = arena_array(&doc->arena, model->n_tensors, sizeof *last);
    if (!next || !last)
        return;
    for (place = 0; place < model->n_tensors; place++)
        last[place] = NO_PLACE;
    for (place = model->n_places; place-- > 0;) {
        next[place] = NO_PLACE;
        if (model->kind[place] != PLACE_TENSOR)
            continue;
        next[place] = last[model->object[place]];
        last[model->object[place]] = place;
    }
    doc->next_same = next;
}

static void write_counts(struct document *doc)
{
    const struct counts *counts = &doc->session->total;
    struct json *json = doc->json;

    json_object(json, "counts");
    json_u64(json, "stored", counts->stored);
    json_u64(json, "unique", counts->params);
    json_u64(json, "logical", counts->logical);
    /* Without parameters the count is 0, not unknown. */
    if (counts->grad_known > 0 || counts->param_tensors == 0) {
        json_u64(json, "trainable", counts->trainable);
        json_u64(json, "frozen", counts->frozen);
    } else {
        json_null(json, "trainable");
        json_text(json, "trainable_why", document_unsaid(doc));
        json_null(json, "frozen");
        json_text(json, "frozen_why", document_unsaid(doc));
    }
    json_u64(json, "buffers", counts->buffers);
    json_u64(json, "bytes", counts->bytes);
    json_u64(json, "others", counts->others);
    json_u64(json, "other_bytes", counts->other_bytes);
    json_u64(json, "tensors", counts->tensors);
    json_u64(json, "param_tensors", counts->param_tensors);
    json_u64(json, "buffer_tensors", counts->buffer_tensors);
    json_u64(json, "modules", counts->modules);
    json_object_end(json);
}

/* A verdict that makes the exit status 1 is listed as a finding. */
static void write_verdict_finding(struct json *json, enum verdict verdict)
{
    static const char *const says[][2] = {
        [VERDICT_UNSAFE] = {"unsafe", "a plain load of this file would run something: "
                                      "see `torchoscope check`"},
        [VERDICT_NEEDS_CODE] = {"needs-code",
                                "a load needs classes or functions outside the "
                                "allow-list: `torchoscope check` lists them"},
        [VERDICT_INCONCLUSIVE] =
            {"inconclusive", "the file could not be fully decoded, so the code that "
                             "a load would run is unknown"},
    };

    json_object(json, NULL);
    json_text(json, "code", says[verdict][0]);
    json_text(json, "severity", verdict == VERDICT_NEEDS_CODE ? "warning" : "alarm");
    json_text(json, "text", says[verdict][1]);
    json_object_end(json);
}

void document_findings(struct document *doc, const struct finding *findings, uint32_t n,
                       enum verdict verdict)
{
    json_array(doc->json, "findings");
    if (verdict != VERDICT_SAFE)
        write_verdict_finding(doc->json, verdict);
    for (uint32_t i = 0; i < n; i++) {
        const struct finding *finding = &findings[i];

        json_object(doc->json, NULL);
        json_text(doc->json, "code", finding_name(finding->code));
        json_text(doc->json, "severity", severity_name(finding->severity));
        json_text(doc->json, "text", finding->text);
        document_named(doc, finding->place);
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
}

void export_verdict(struct json *json, const struct session *session)
{
    if (session_judged(session)) {
        json_text(json, "verdict", verdict_name(session->verdict.verdict));
        return;
    }
    json_null(json, "verdict");
    json_text(json, "verdict_why", "a live module is not a file");
}

/* The verdict if it makes the exit status of every command 1, else VERDICT_SAFE. */
static enum verdict alarming(const struct session *session)
{
    enum verdict verdict = session->verdict.verdict;

    return !session_judged(session) || verdict == VERDICT_NEEDS_CODE ? VERDICT_SAFE
                                                                     : verdict;
}

void document_begin(struct document *doc, struct json *json,
                    const struct session *session, const char *kind)
{
    const struct model *model = session->model;

    *doc = (struct document){.json = json, .session = session, .model = model};
    arena_init(&doc->arena, GIB);
    chain_same(doc);
    if (session->run)
        document_set_run(doc, session->run);
    json_object(json, NULL);
    json_u64(json, "torchoscope", 1);
    json_text(json, "kind", kind);
    json_text(json, "path", model->path);
    json_text(json, "format", model->format ? model->format : "");
    json_u64(json, "bytes", model->file_bytes);
    json_bool(json, "partial", model->partial);
    export_verdict(json, session);
    write_counts(doc);
    document_findings(doc, model->findings, model->n_findings, alarming(session));
    if (doc->run)
        document_run(doc);
    export_step(doc->json, doc->session->step);
}

const char *document_unsaid(const struct document *doc)
{
    return doc->run ? "this recording does not say" : "this file does not say";
}

void document_end(struct document *doc)
{
    json_object_end(doc->json);
    buf_release(&doc->path);
    arena_release(&doc->arena);
}

/* ---- the tree ---- */

static void write_all(struct document *doc, const char *key, enum place_kind kind,
                      struct export_choice choice,
                      void (*write)(struct document *doc, uint32_t place))
{
    json_array(doc->json, key);
    for (uint32_t place = 0; place < doc->model->n_places; place++) {
        if (doc->model->kind[place] != kind || !export_keeps(choice, place))
            continue;
        json_object(doc->json, NULL);
        write(doc, place);
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
}

void export_tree_json(struct json *json, const struct session *session,
                      struct export_choice choice)
{
    struct document doc;

    document_begin(&doc, json, session, "tree");
    write_all(&doc, "modules", PLACE_MODULE, choice, document_module);
    write_all(&doc, "groups", PLACE_GROUP, choice, document_module);
    write_all(&doc, "tensors", PLACE_TENSOR, choice, document_tensor);
    write_all(&doc, "values", PLACE_VALUE, choice, document_plain);
    document_end(&doc);
}
