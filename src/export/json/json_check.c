#include "export/export_in.h"

#include "base/base.h"
#include "facts/check_text.h"

#define USES_SHOWN 4u /* per global */

void export_check_begin(struct json *json)
{
    json_object(json, NULL);
    json_u64(json, "torchoscope", 1);
    json_text(json, "kind", "check");
    json_array(json, "checked");
}

static void write_items(struct document *doc, const struct check *check)
{
    struct facts facts = {0};
    struct buf text = BUF_INIT;

    json_array(doc->json, "checks");
    for (uint32_t i = 0; i < check->n; i++) {
        const struct check_item *item = &check->items[i];

        buf_clear(&text);
        facts_clear(&facts);
        check_facts(&facts, doc->model, check, item, 0);
        facts_join(&text, &facts, " ");
        json_object(doc->json, NULL);
        json_text(doc->json, "topic", check_topic_name(item->topic));
        json_text(doc->json, "mark", check_mark_name(item->mark));
        json_str(doc->json, "text", buf_span(&text));
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
    facts_release(&facts);
    buf_release(&text);
}

static void write_uses(struct document *doc, uint32_t global)
{
    struct verdict_use uses[USES_SHOWN];
    uint32_t n = verdict_uses(doc->model, global, uses, USES_SHOWN);

    json_array(doc->json, "at");
    for (uint32_t i = 0; i < n; i++) {
        json_object(doc->json, NULL);
        json_text(doc->json, "act", uses[i].act);
        json_text(doc->json, "opcode", uses[i].opcode);
        json_str(doc->json, "pickle", uses[i].stream);
        json_u64(doc->json, "offset", uses[i].offset);
        document_value(doc, "args", uses[i].args);
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
}

/* Globals outside the allow-list; marks those named by --allow. */
static void write_globals(struct document *doc, const struct check *check)
{
    json_array(doc->json, "globals");
    for (uint32_t i = 0; i < doc->model->pickle.n_globals; i++) {
        if (verdict_judge(doc->model, &doc->session->verdict, i, NULL) == TRUST_KNOWN)
            continue;
        json_object(doc->json, NULL);
        document_global(doc, i);
        if (verdict_judge(doc->model, &check->verdict, i, NULL) == TRUST_KNOWN)
            json_bool(doc->json, "allowed", true);
        write_uses(doc, i);
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
}

void export_check_model(struct json *json, const struct session *session,
                        const struct check *check)
{
    const struct model *model = session->model;
    struct document doc = {.json = json, .session = session, .model = model};

    arena_init(&doc.arena, GIB);
    json_object(json, NULL);
    json_text(json, "path", model->path);
    json_text(json, "format", model->format);
    json_u64(json, "bytes", model->file_bytes);
    json_bool(json, "partial", model->partial);
    json_text(json, "verdict", verdict_name(check->verdict.verdict));
    json_i64(json, "status", check->status);
    write_items(&doc, check);
    write_globals(&doc, check);
    document_findings(&doc, check->findings, check->n_findings, check->verdict.verdict);
    json_object_end(json);
    buf_release(&doc.path);
    arena_release(&doc.arena);
}

void export_check_error(struct json *json, const char *path, const char *error)
{
    json_object(json, NULL);
    json_text(json, "path", path);
    json_text(json, "verdict", verdict_name(VERDICT_INCONCLUSIVE));
    json_i64(json, "status", 2);
    json_text(json, "error", error);
    json_object_end(json);
}

void export_check_end(struct json *json, const struct export_checked *checked)
{
    json_array_end(json);
    json_array(json, "skipped");
    for (uint32_t i = 0; i < checked->n_skipped; i++) {
        json_object(json, NULL);
        json_text(json, "path", checked->skipped[i].path);
        json_text(json, "why", checked->skipped[i].why);
        json_object_end(json);
    }
    json_array_end(json);
    if (checked->allow.n > 0) {
        json_array(json, "allow");
        for (uint32_t i = 0; i < checked->allow.n; i++)
            json_text(json, NULL, checked->allow.patterns[i]);
        json_array_end(json);
    }
    json_text(json, "verdict", verdict_name(checked->verdict));
    json_i64(json, "status", checked->status);
    json_bool(json, "complete", checked->complete);
    json_object_end(json);
}
