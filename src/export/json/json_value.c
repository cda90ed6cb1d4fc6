#include "export/export_in.h"

#define MOST_LEVELS       64
#define MOST_ITEMS        100000u  /* per value */
#define MOST_ITEMS_IN_ALL 1000000u /* per document, plus ... */
#define ITEMS_PER_PLACE   64u      /* ... this many per place and operation */
#define TEXT_PER_ITEM     64

/* Values may share their parts, so a small file can hold a value that is huge when
 * written out: depth and length are limited. */
struct value_walk {
    struct document *doc;
    const struct values *values;
    uint32_t left; /* items that may still be written */
};

/* A long text counts as several items; the first text is always written whole. */
static void spend(struct value_walk *walk, struct str text)
{
    size_t cost = 1 + text.len / TEXT_PER_ITEM;

    walk->left = cost < walk->left ? walk->left - (uint32_t)cost : 0;
}

static void write_any(struct value_walk *walk, const char *key, uint32_t id, int level);

static void write_cut(struct json *json, const char *key, struct str why, uint64_t n)
{
    json_object(json, key);
    json_str(json, "$cut", why);
    if (n > 0)
        json_u64(json, "left_out", n);
    json_object_end(json);
}

/* Are all keys strings that do not begin with "$"? */
static bool has_plain_keys(const struct values *values, uint32_t id)
{
    const uint32_t *items = value_items(values, id);

    for (uint32_t i = 0; i + 1 < value_at(values, id)->n; i += 2) {
        struct str key = value_text(values, items[i]);

        if (value_at(values, items[i])->kind != VALUE_STR ||
            (key.len > 0 && key.at[0] == '$'))
            return false;
    }
    return true;
}

static void write_members(struct value_walk *walk, const char *key, uint32_t id,
                          int level)
{
    const uint32_t *items = value_items(walk->values, id);

    json_object(walk->doc->json, key);
    for (uint32_t i = 0; i + 1 < value_at(walk->values, id)->n; i += 2) {
        spend(walk, value_text(walk->values, items[i]));
        json_key(walk->doc->json, value_text(walk->values, items[i]));
        write_any(walk, NULL, items[i + 1], level + 1);
    }
    json_object_end(walk->doc->json);
}

static void write_pairs(struct value_walk *walk, const char *key, uint32_t id,
                        int level)
{
    const uint32_t *items = value_items(walk->values, id);
    struct json *json = walk->doc->json;

    json_object(json, key);
    json_array(json, "$dict");
    for (uint32_t i = 0; i + 1 < value_at(walk->values, id)->n; i += 2) {
        json_array(json, NULL);
        write_any(walk, NULL, items[i], level + 1);
        write_any(walk, NULL, items[i + 1], level + 1);
        json_array_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

static void write_dict(struct value_walk *walk, const char *key, uint32_t id, int level)
{
    if (has_plain_keys(walk->values, id))
        write_members(walk, key, id, level);
    else
        write_pairs(walk, key, id, level);
}

static void write_items(struct value_walk *walk, const char *key, uint32_t id,
                        int level)
{
    const uint32_t *items = value_items(walk->values, id);

    json_array(walk->doc->json, key);
    for (uint32_t i = 0; i < value_at(walk->values, id)->n; i++)
        write_any(walk, NULL, items[i], level + 1);
    json_array_end(walk->doc->json);
}

static void write_bytes(struct json *json, const char *key, struct str head, uint64_t n)
{
    static const char digits[] = "0123456789abcdef";
    struct buf hex = BUF_INIT;

    for (size_t i = 0; i < head.len && i < 64; i++) {
        buf_char(&hex, digits[(unsigned char)head.at[i] >> 4]);
        buf_char(&hex, digits[(unsigned char)head.at[i] & 15]);
    }
    json_object(json, key);
    json_u64(json, "$bytes", n);
    json_str(json, "head_hex", buf_span(&hex));
    json_object_end(json);
    buf_release(&hex);
}

static void write_tensor_name(struct document *doc, const char *key, int64_t tensor)
{
    uint32_t place = NO_PLACE;

    if (tensor >= 0 && tensor < doc->model->n_tensors)
        place = doc->model->tensors[tensor].place;
    json_object(doc->json, key);
    if (place < doc->model->n_places)
        document_path(doc, "$tensor", place);
    else
        json_i64(doc->json, "$tensor", tensor);
    json_object_end(doc->json);
}

/* A call or an object: its name, and its arguments or attributes. */
static void write_made(struct value_walk *walk, const char *key, uint32_t id, int level)
{
    struct json *json = walk->doc->json;
    bool call = value_at(walk->values, id)->kind == VALUE_CALL;

    json_object(json, key);
    json_str(json, call ? "$call" : "$object", value_text(walk->values, id));
    if (call)
        write_items(walk, "args", id, level);
    else
        write_dict(walk, "attributes", id, level);
    json_object_end(json);
}

static void write_any(struct value_walk *walk, const char *key, uint32_t id, int level)
{
    const struct value *value = value_at(walk->values, id);
    struct str text = value_text(walk->values, id);
    struct json *json = walk->doc->json;

    if (level > MOST_LEVELS || walk->left == 0) {
        write_cut(json, key, level > MOST_LEVELS ? STR("too deep") : STR("too long"),
                  0);
        return;
    }
    spend(walk, text);
    switch ((enum value_kind)value->kind) {
    case VALUE_NONE:
        json_null(json, key);
        break;
    case VALUE_BOOL:
        json_bool(json, key, value->integer != 0);
        break;
    case VALUE_INT:
        json_i64(json, key, value->integer);
        break;
    case VALUE_REAL:
        json_real(json, key, value->real);
        break;
    case VALUE_STR:
        json_str(json, key, text);
        break;
    case VALUE_BYTES:
        write_bytes(json, key, text, value->n);
        break;
    case VALUE_LIST:
    case VALUE_TUPLE:
    case VALUE_SET:
        write_items(walk, key, id, level);
        break;
    case VALUE_DICT:
        write_dict(walk, key, id, level);
        break;
    case VALUE_CALL:
    case VALUE_OBJECT:
        write_made(walk, key, id, level);
        break;
    case VALUE_BIGINT:
    case VALUE_GLOBAL:
        json_object(json, key);
        json_str(json, value->kind == VALUE_GLOBAL ? "$global" : "$bigint", text);
        json_object_end(json);
        break;
    case VALUE_TENSOR:
        write_tensor_name(walk->doc, key, value->integer);
        break;
    case VALUE_CUT:
        write_cut(json, key, text, value->n);
        break;
    }
}

/* A value is cut if it is too long, or if the total of all values of the document is:
 * many places can share one value. */
void document_value_of(struct document *doc, const char *key,
                       const struct values *values, uint32_t value)
{
    uint64_t owners =
        doc->model->n_places + (doc->run && doc->run->ops ? doc->run->ops->n_ops : 0);
    uint64_t most = MOST_ITEMS_IN_ALL + ITEMS_PER_PLACE * owners;
    uint64_t rest = doc->items < most ? most - doc->items : 0;
    uint32_t left = rest < MOST_ITEMS ? (uint32_t)rest : MOST_ITEMS;
    struct value_walk walk = {doc, values, left};

    write_any(&walk, key, value, 0);
    doc->items += left - walk.left;
}

void document_value(struct document *doc, const char *key, uint32_t value)
{
    document_value_of(doc, key, &doc->model->values, value);
}
