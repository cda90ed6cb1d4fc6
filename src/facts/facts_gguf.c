/* The metadata of a GGUF file about its model, and the quantisation of its tensors;
 * and, in the same words, the files beside a model: config.json, adapter_config.json
 * and those of the tokenizer. */
#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "facts/facts.h"
#include "rows/value_text.h"
#include "text/escape.h"
#include "text/number.h"

#define TEXT_SHOWN 100

/* general.file_type, by llama.cpp's enum llama_ftype. NULL: removed. */
static const char *const file_types[] = {
    [0] = "F32",      [1] = "F16",     [2] = "Q4_0",    [3] = "Q4_1",
    [7] = "Q8_0",     [8] = "Q5_0",    [9] = "Q5_1",    [10] = "Q2_K",
    [11] = "Q3_K_S",  [12] = "Q3_K_M", [13] = "Q3_K_L", [14] = "Q4_K_S",
    [15] = "Q4_K_M",  [16] = "Q5_K_S", [17] = "Q5_K_M", [18] = "Q6_K",
    [19] = "IQ2_XXS", [20] = "IQ2_XS", [21] = "Q2_K_S", [22] = "IQ3_XS",
    [23] = "IQ3_XXS", [24] = "IQ1_S",  [25] = "IQ4_NL", [26] = "IQ3_S",
    [27] = "IQ3_M",   [28] = "IQ2_S",  [29] = "IQ2_M",  [30] = "IQ4_XS",
    [31] = "IQ1_M",   [32] = "BF16",   [36] = "TQ1_0",  [37] = "TQ2_0",
    [38] = "MXFP4",   [39] = "NVFP4",  [40] = "Q1_0",
};

/* Sizes of the model: the key after "ARCHITECTURE.", and its words. */
static const struct {
    const char *key, *before, *one, *many;
} sizes[] = {
    {"block_count", "", "block", "blocks"},
    {"decoder_block_count", "", "block of the decoder", "blocks of the decoder"},
    {"context_length", "context ", NULL, NULL},
    {"embedding_length", "embedding ", NULL, NULL},
    {"attention.head_count", "", "head", "heads"},
    {"attention.head_count_kv", "", "of keys and values", "of keys and values"},
    {"expert_count", "", "expert", "experts"},
};

static void add_size(struct facts *to, size_t i, uint64_t n)
{
    buf_text(&to->text, sizes[i].before);
    if (sizes[i].one)
        fact_plural(to, sizes[i].key, n, sizes[i].one, sizes[i].many);
    else
        fact_count(to, sizes[i].key, n);
}

static bool find_entry(const struct model *model, const char *key, uint32_t *ret_value)
{
    for (uint32_t i = 0; i < model->n_metadata; i++)
        if (str_is(model_string(model, model->metadata[i].key), key)) {
            *ret_value = model->metadata[i].value;
            return true;
        }
    return false;
}

static bool find_text(const struct model *model, const char *key, struct str *ret_text)
{
    uint32_t value;

    if (!find_entry(model, key, &value) ||
        value_at(&model->values, value)->kind != VALUE_STR)
        return false;
    *ret_text = value_text(&model->values, value);
    return true;
}

static bool find_count(const struct model *model, const char *key, uint64_t *ret_count)
{
    const struct value *at;
    uint32_t value;

    if (!find_entry(model, key, &value))
        return false;
    at = value_at(&model->values, value);
    if (at->kind != VALUE_INT || at->integer < 0)
        return false;
    *ret_count = (uint64_t)at->integer;
    return true;
}

/* The length of an array, even if only a summary was stored. */
static bool find_length(const struct model *model, const char *key, uint64_t *ret_n)
{
    const struct value *at;
    uint32_t value, count;

    if (!find_entry(model, key, &value))
        return false;
    at = value_at(&model->values, value);
    *ret_n = at->n;
    if (at->kind == VALUE_LIST)
        return true;
    if (!value_get(&model->values, value, "count", &count))
        return false;
    *ret_n = (uint64_t)value_at(&model->values, count)->integer;
    return true;
}

/* ---- the model ---- */

static void add_file_type(struct facts *to, const struct model *model)
{
    uint64_t type;

    if (!find_count(model, "general.file_type", &type))
        return;
    buf_text(&to->text, ", file type ");
    if (type < COUNT_OF(file_types) && file_types[type])
        fact_text(to, "file_type", str_of(file_types[type]));
    else
        fact_count(to, "file_type", type);
}

/* "llama "Tiny", file type Q4_K_M, 32 blocks, context 4,096, …" */
static void add_model(struct facts *to, const struct model *model)
{
    struct str architecture, name;
    char key[160];
    uint64_t n;

    if (!find_text(model, "general.architecture", &architecture))
        return;
    fact_text(to, "architecture", str_head(architecture, 60));
    if (find_text(model, "general.name", &name)) {
        buf_text(&to->text, " “");
        fact_text(to, "name", str_head(name, 100));
        buf_text(&to->text, "”");
    }
    add_file_type(to, model);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        snprintf(key, sizeof key, "%.*s.%s", STR_ARG(str_head(architecture, 60)),
                 sizes[i].key);
        if (!find_count(model, key, &n))
            continue;
        buf_text(&to->text, ", ");
        add_size(to, i, n);
    }
    fact_end(to, "model", COLOUR_NONE);
}

/* ---- how it is quantised ---- */

struct gguf_share {
    uint64_t tensors, bytes, elements;
};

/* "q4_K 4.1GB in 193 tensors, q6_K 1.0MB in 33; 4.85 bits per parameter" */
static void add_mix(struct facts *to, const struct model *model)
{
    struct gguf_share shares[DTYPE_COUNT] = {{0}}, all = {0};
    bool scaled = false;

    for (uint32_t i = 0; i < model->n_tensors; i++) {
        const struct tensor *tensor = &model->tensors[i];

        shares[tensor->dtype].tensors++;
        shares[tensor->dtype].bytes += tensor_bytes(tensor);
        all.bytes += tensor_bytes(tensor);
        all.elements += tensor->numel;
        scaled |= dtype_info(tensor->dtype)->scaled;
    }
    if (!scaled || all.elements == 0)
        return;
    for (int n = 0;; n++) {
        int most = -1; /* the remaining one with most bytes */

        for (int d = 0; d < DTYPE_COUNT; d++)
            if (shares[d].tensors && (most < 0 || shares[d].bytes > shares[most].bytes))
                most = d;
        if (most < 0)
            break;
        buf_text(&to->text, n ? ", " : "");
        fact_dtype(to, (enum dtype)most);
        buf_char(&to->text, ' ');
        fact_bytes(to, "bytes", shares[most].bytes);
        buf_text(&to->text, " in ");
        fact_plural(to, "tensors", shares[most].tensors, "tensor", "tensors");
        shares[most].tensors = 0;
    }
    buf_printf(&to->text, "; %.2f bits per element",
               8.0 * (double)all.bytes / (double)all.elements);
    fact_end(to, "mix", COLOUR_NONE);
}

/* ---- the tokenizer ---- */

static void add_tokenizer(struct facts *to, const struct model *model)
{
    static const struct {
        const char *key, *words;
    } ids[] = {{"tokenizer.ggml.bos_token_id", ", begin "},
               {"tokenizer.ggml.eos_token_id", ", end "},
               {"tokenizer.ggml.padding_token_id", ", padding "}};
    struct str text;
    uint64_t n;

    if (!find_text(model, "tokenizer.ggml.model", &text))
        return;
    fact_text(to, "tokenizer", str_head(text, 60));
    if (find_text(model, "tokenizer.ggml.pre", &text)) {
        buf_text(&to->text, " (");
        fact_text(to, "pre", str_head(text, 60));
        buf_char(&to->text, ')');
    }
    if (find_length(model, "tokenizer.ggml.tokens", &n)) {
        buf_text(&to->text, ", ");
        fact_plural(to, "tokens", n, "token", "tokens");
    }
    if (find_length(model, "tokenizer.ggml.merges", &n)) {
        buf_text(&to->text, ", ");
        fact_plural(to, "merges", n, "merge", "merges");
    }
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        if (find_count(model, ids[i].key, &n)) {
            buf_text(&to->text, ids[i].words);
            fact_count(to, NULL, n);
        }
    if (find_text(model, "tokenizer.chat_template", &text))
        buf_text(&to->text, ", a chat template (a program in Jinja, shown as text)");
    fact_end(to, "tokenizer", COLOUR_NONE);
}

void facts_gguf(struct file_facts *facts)
{
    const struct model *model = facts->show->model;

    if (!str_starts(str_of(model->format), STR("GGUF")))
        return;
    add_model(facts->to, model);
    add_mix(facts->to, model);
    add_tokenizer(facts->to, model);
}

/* ---- the files beside a model ---- */

/* A dict of facts, and the facts to append to. */
struct beside_facts {
    struct facts *to;
    const struct model *model;
    uint32_t dict;
};

static bool find_dict(const struct model *model, const char *key, uint32_t *ret_dict)
{
    for (uint32_t i = 0; i < model->n_facts; i++)
        if (str_is(model_string(model, model->facts[i].key), key) &&
            value_at(&model->values, model->facts[i].value)->kind == VALUE_DICT) {
            *ret_dict = model->facts[i].value;
            return true;
        }
    return false;
}

static void add_comma(struct beside_facts *f)
{
    if (!fact_is_empty(f->to))
        buf_text(&f->to->text, ", ");
}

static bool said_text(const struct beside_facts *f, const char *key,
                      struct str *ret_text)
{
    const struct values *values = &f->model->values;
    uint32_t value;

    if (!value_get(values, f->dict, key, &value) ||
        value_at(values, value)->kind != VALUE_STR)
        return false;
    *ret_text = str_head(value_text(values, value), TEXT_SHOWN);
    return true;
}

/* "BEFORE TEXT AFTER"; false: the file does not have it. */
static bool add_text(struct beside_facts *f, const char *key, const char *before,
                     const char *after)
{
    struct str text;

    if (!said_text(f, key, &text))
        return false;
    buf_text(&f->to->text, before);
    fact_text(f->to, key, text);
    buf_text(&f->to->text, after);
    return true;
}

static bool said_count(const struct beside_facts *f, const char *key, uint64_t *ret_n)
{
    const struct values *values = &f->model->values;
    uint32_t value;

    if (!value_get(values, f->dict, key, &value) ||
        value_at(values, value)->kind != VALUE_INT)
        return false;
    *ret_n = (uint64_t)value_at(values, value)->integer;
    return true;
}

static void add_count(struct beside_facts *f, const char *key, const char *before,
                      const char *after)
{
    uint64_t n;

    if (!said_count(f, key, &n))
        return;
    add_comma(f);
    buf_text(&f->to->text, before);
    fact_count(f->to, key, n);
    buf_text(&f->to->text, after);
}

static void add_plural(struct beside_facts *f, const char *key, const char *one,
                       const char *many)
{
    uint64_t n;

    if (!said_count(f, key, &n))
        return;
    add_comma(f);
    fact_plural(f->to, key, n, one, many);
}

/* "LlamaForCausalLM (llama), 32 blocks, context 8,192, …, bfloat16" */
static void add_config(struct beside_facts *f)
{
    uint64_t n;

    if (add_text(f, "class", "", ""))
        add_text(f, "architecture", " (", ")");
    else
        add_text(f, "architecture", "", "");
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        if (!said_count(f, sizes[i].key, &n))
            continue;
        add_comma(f);
        add_size(f->to, i, n);
    }
    add_count(f, "vocab_size", "vocabulary ", "");
    add_text(f, "dtype", ", ", "");
    if (add_text(f, "quantised", ", quantised by ", ""))
        add_count(f, "bits", "", " bits");
    fact_end(f->to, "model", COLOUR_NONE);
}

/* ": q_proj, v_proj" */
static void add_targets(struct beside_facts *f)
{
    const struct values *values = &f->model->values;
    const uint32_t *items;
    uint32_t list, n;

    if (add_text(f, "targets", ": ", "") ||
        !value_get(values, f->dict, "targets", &list) ||
        value_at(values, list)->kind != VALUE_LIST)
        return;
    items = value_items(values, list);
    n = value_at(values, list)->n;
    for (uint32_t i = 0; i < n; i++) {
        buf_text(&f->to->text, i ? ", " : ": ");
        fact_text(f->to, NULL, str_head(value_text(values, items[i]), TEXT_SHOWN));
    }
}

/* "LoRA rank 8, alpha 16, of meta-llama/Llama-3-8B: q_proj, v_proj" */
static void add_adapter(struct beside_facts *f)
{
    uint32_t alpha;
    uint64_t n;

    add_text(f, "kind", "", "");
    if (said_count(f, "rank", &n)) {
        buf_text(&f->to->text, " rank ");
        fact_count(f->to, "rank", n);
    }
    if (said_count(f, "virtual_tokens", &n)) {
        buf_text(&f->to->text, ", ");
        fact_plural(f->to, "virtual_tokens", n, "virtual token", "virtual tokens");
    }
    if (value_get(&f->model->values, f->dict, "alpha", &alpha)) {
        buf_text(&f->to->text, ", alpha ");
        value_show(&f->to->text, f->model, alpha, 40);
    }
    add_text(f, "base", ", of ", "");
    add_targets(f);
    fact_end(f->to, "adapter", COLOUR_NONE);
}

/* "BPE, 128,000 tokens, 256 added, 280,147 merges, a chat template (…)" */
static void add_tokens(struct beside_facts *f)
{
    uint32_t template;

    if (add_text(f, "kind", "", ""))
        add_text(f, "class", " (", ")");
    else
        add_text(f, "class", "", "");
    add_plural(f, "tokens", "token", "tokens");
    add_count(f, "added", "", " added");
    add_plural(f, "merges", "merge", "merges");
    if (value_get(&f->model->values, f->dict, "chat_template", &template))
        buf_text(&f->to->text, ", a chat template (a program in Jinja, not run)");
    fact_end(f->to, "tokenizer", COLOUR_NONE);
}

void facts_beside(struct file_facts *facts)
{
    static const struct {
        const char *key;
        void (*add)(struct beside_facts *f);
    } kinds[] = {
        {"model", add_config}, {"adapter", add_adapter}, {"tokenizer", add_tokens}};
    struct beside_facts f = {.to = facts->to, .model = facts->show->model};

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (find_dict(f.model, kinds[i].key, &f.dict))
            kinds[i].add(&f);
}
