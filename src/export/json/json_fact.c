/* Facts as JSON: "Facts" in docs/json.md. */
#include "base/base.h"
#include "export/export_in.h"

static void write_role(struct json *json, enum colour role)
{
    static const char *const names[COLOUR_COUNT] = {[COLOUR_DIM] = "dim",
                                                    [COLOUR_GOOD] = "good",
                                                    [COLOUR_WARNING] = "warning",
                                                    [COLOUR_ALARM] = "alarm"};

    if (names[role])
        json_text(json, "role", names[role]);
}

static void write_number(struct document *doc, const struct fact_part *part)
{
    switch (part->kind) {
    case FIGURE_TEXT:
    case FIGURE_NOT_FINITE:
        break;
    case FIGURE_SHARE:
    case FIGURE_REAL:
        json_real(doc->json, "value", part->real);
        break;
    case FIGURE_SHAPE:
        export_list(doc->json, "value", part->dims, (int)part->n);
        break;
    case FIGURE_DTYPE:
        json_text(doc->json, "value", dtype_name((enum dtype)part->n));
        break;
    case FIGURE_PLACE:
        document_path(doc, "name", (uint32_t)part->n);
        json_u64(doc->json, "value", part->n);
        break;
    default:
        json_u64(doc->json, "value", part->n);
    }
}

const char *export_kind_name(enum figure_kind kind)
{
    static const char *const names[] = {
        [FIGURE_NAME] = "text",       [FIGURE_SHAPES] = "text",
        [FIGURE_COUNT] = "count",     [FIGURE_BYTES] = "bytes",
        [FIGURE_TIME] = "ns",         [FIGURE_SHARE] = "share",
        [FIGURE_REAL] = "real",       [FIGURE_BAR] = "share",
        [FIGURE_SHAPE] = "shape",     [FIGURE_DTYPE] = "dtype",
        [FIGURE_PLACE] = "place",     [FIGURE_CALL] = "call",
        [FIGURE_LINE] = "line",       [FIGURE_OFFSET] = "offset",
        [FIGURE_NOT_FINITE] = "text", [FIGURE_TEXT] = "text"};

    return names[kind];
}

static void write_part(struct document *doc, const struct facts *facts,
                       const struct fact_part *part, bool first)
{
    json_object(doc->json, NULL);
    json_str(doc->json, "text", fact_part_text(facts, part));
    write_role(doc->json, part->role);
    export_flag(doc->json, "gap", !first && !part->joined);
    if (part->name) {
        json_text(doc->json, "key", part->name);
        json_text(doc->json, "kind", export_kind_name(part->kind));
        write_number(doc, part);
    }
    json_object_end(doc->json);
}

static void write_fact(struct document *doc, const struct facts *facts,
                       const struct fact *fact)
{
    struct buf text = BUF_INIT;

    json_object(doc->json, NULL);
    json_text(doc->json, "id", fact->id);
    if (fact->label && *fact->label)
        json_text(doc->json, "label", fact->label);
    for (uint32_t i = 0; i < fact->n; i += fact_group_length(facts, fact, i)) {
        buf_text(&text, i > 0 ? "   " : "");
        buf_str(&text, fact_group_text(facts, fact, i));
    }
    json_str(doc->json, "text", buf_span(&text));
    buf_release(&text);
    write_role(doc->json, fact->role);
    document_named(doc, fact->target);
    if (fact->share > 0)
        json_real(doc->json, "share", fact->share);
    json_array(doc->json, "parts");
    for (uint32_t i = 0; i < fact->n; i++)
        write_part(doc, facts, &facts->parts[fact->first + i], i == 0);
    json_array_end(doc->json);
    json_object_end(doc->json);
}

void document_facts(struct document *doc, const char *key, const struct facts *facts)
{
    json_array(doc->json, key);
    for (uint32_t i = 0; i < facts->n; i++)
        write_fact(doc, facts, &facts->at[i]);
    json_array_end(doc->json);
}

void document_no_details(struct document *doc, const struct err *err)
{
    json_null(doc->json, "details");
    json_text(doc->json, "details_why", err->text);
}
