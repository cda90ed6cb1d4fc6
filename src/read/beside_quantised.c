/* beside_quantised.c - the settings of packed weights in config.json. Most packages write
 *     "quantization_config": {"quant_method": "gptq", "bits": 4}
 * MLX writes, with the modules that differ from the rest by name,
 *     "quantization": {"group_size": 64, "bits": 4, "mode": "affine",
 *                      "model.embed_tokens": {"group_size": 64, "bits": 8}} */
#include "base/base.h"
#include "read/beside_in.h"

#define MOST_MODULES 4096

static void add_number_of(struct beside_dict *dict, const struct json_doc *tree,
                          uint32_t at, const char *key)
{
    int64_t n;

    if (json_doc_int(tree, json_doc_get(tree, at, key), &n))
        beside_add_count(dict, key, n);
}

static void add_mlx(struct beside_dict *dict, const struct json_doc *tree, uint32_t at)
{
    add_number_of(dict, tree, at, "bits");
    add_number_of(dict, tree, at, "group_size");
    beside_add_text(dict, "mode", beside_text_of(tree, at, "mode"));
}

/* {"model.embed_tokens": {"bits": 8, "group_size": 64}} */
static void add_modules(struct beside_dict *dict, const struct json_doc *tree,
                        uint32_t at)
{
    uint32_t items[2 * MOST_MODULES], n = 0;

    for (uint32_t i = json_doc_first(tree, at); i; i = json_doc_next(tree, i)) {
        struct beside_dict one = {.values = dict->values};
        uint32_t value = json_doc_value(tree, i);

        if (json_doc_kind(tree, value) != JSON_OBJECT || n == COUNT_OF(items))
            continue;
        add_mlx(&one, tree, value);
        items[n++] = value_str(dict->values, json_doc_text(tree, i));
        items[n++] = value_make(dict->values, VALUE_DICT, STR(""), one.items, one.n);
        if (items[n - 2] == VALUE_ID_FAILED || items[n - 1] == VALUE_ID_FAILED)
            return;
    }
    if (n > 0)
        beside_add(dict, "modules",
                   value_make(dict->values, VALUE_DICT, STR(""), items, n));
}

/* The text of `key` or, if it is missing, of an older or newer name of it. */
static void add_first(struct beside_dict *dict, const struct json_doc *tree,
                      uint32_t at, const char *key, const char *other)
{
    struct str text = beside_text_of(tree, at, key);

    beside_add_text(dict, key, text.len > 0 ? text : beside_text_of(tree, at, other));
}

/* "weight_block_size": [128, 128] */
static void add_block_size(struct beside_dict *dict, const struct json_doc *tree,
                           uint32_t at)
{
    uint32_t list = json_doc_get(tree, at, "weight_block_size"), items[2], n = 0;
    int64_t size;

    for (uint32_t i = json_doc_first(tree, list); i && n < COUNT_OF(items);
         i = json_doc_next(tree, i))
        if (json_doc_int(tree, i, &size))
            items[n++] = value_int(dict->values, size);
    if (n == COUNT_OF(items) && json_doc_kind(tree, list) == JSON_ARRAY)
        beside_add(dict, "weight_block_size",
                   value_make(dict->values, VALUE_LIST, STR(""), items, n));
}

void beside_quantised(struct beside_dict *dict, const struct json_doc *config)
{
    uint32_t how = json_doc_get(config, JSON_DOC_ROOT, "quantization_config");
    uint32_t mlx = json_doc_get(config, JSON_DOC_ROOT, "quantization");
    struct str method = beside_text_of(config, how, "quant_method");

    if (method.len == 0 && json_doc_kind(config, mlx) == JSON_OBJECT) {
        beside_add_text(dict, "quantised", STR("mlx"));
        add_mlx(dict, config, mlx);
        add_modules(dict, config, mlx);
        return;
    }
    beside_add_text(dict, "quantised", method);
    add_first(dict, config, how, "checkpoint_format", "format");
    add_first(dict, config, how, "packing_format", "backend"); /* auto-round */
    beside_add_text(dict, "linear_class", beside_text_of(config, how, "linear_class"));
    beside_add_text(dict, "version", beside_text_of(config, how, "version"));
    add_number_of(dict, config, how, "bits");
    add_number_of(dict, config, how, "group_size");
    add_block_size(dict, config, how);
}
