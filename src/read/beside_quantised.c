/* beside_quantised.c - what config.json says of packed weights. Most packages write
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
    beside_add_text(dict, "checkpoint_format",
                    beside_text_of(config, how, "checkpoint_format"));
    add_number_of(dict, config, how, "bits");
}
