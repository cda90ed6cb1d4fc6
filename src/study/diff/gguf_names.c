/* The table of names, and which tensors llama.cpp's converter changes. */
#include "study/diff/gguf_names.h"

#include "base/base.h"

/* Names in a GGUF, and the modules of other files that become them. Names with a layer
 * are compared whole, behind the number of the layer; the others by their end. "{}" is
 * the number of an expert: the experts of a layer are one tensor in a GGUF. A name that
 * is there twice is looked for in this order. */
static const struct gguf_row {
    const char *gguf, *module;
} rows[] = {
    {"token_embd", "embed_tokens"},
    {"token_embd", "wte"},
    {"token_embd", "tok_embeddings"},
    {"token_embd", "word_embeddings"},
    {"token_embd", "embed_in"},
    {"token_types", "token_type_embeddings"},
    {"position_embd", "wpe"},
    {"position_embd", "position_embeddings"},
    {"token_embd_norm", "embeddings.LayerNorm"},
    {"token_embd_norm", "word_embeddings_layernorm"},
    {"output_norm", "norm"},
    {"output_norm", "ln_f"},
    {"output_norm", "final_layernorm"},
    {"output_norm", "final_layer_norm"},
    {"output", "lm_head"},
    {"output", "output"},
    {"output", "embed_out"},
    {"token_embd", "lm_head"}, /* tied: stored once */
    {"cls", "classifier.dense"},
    {"cls.output", "classifier.out_proj"},

    {"blk.attn_norm", "input_layernorm"},
    {"blk.attn_norm", "attention_norm"},
    {"blk.attn_norm", "ln_1"},
    {"blk.attn_qkv", "self_attn.qkv_proj"},
    {"blk.attn_qkv", "attn.c_attn"},
    {"blk.attn_qkv", "self_attention.query_key_value"},
    {"blk.attn_qkv", "attention.query_key_value"},
    {"blk.attn_q", "self_attn.q_proj"},
    {"blk.attn_k", "self_attn.k_proj"},
    {"blk.attn_v", "self_attn.v_proj"},
    {"blk.attn_output", "self_attn.o_proj"},
    {"blk.attn_q", "attention.wq"},
    {"blk.attn_k", "attention.wk"},
    {"blk.attn_v", "attention.wv"},
    {"blk.attn_output", "attention.wo"},
    {"blk.attn_q", "attention.self.query"},
    {"blk.attn_k", "attention.self.key"},
    {"blk.attn_v", "attention.self.value"},
    {"blk.attn_output", "attention.output.dense"},
    {"blk.attn_q", "attention.q_lin"},
    {"blk.attn_k", "attention.k_lin"},
    {"blk.attn_v", "attention.v_lin"},
    {"blk.attn_output", "attention.out_lin"},
    {"blk.attn_output", "attn.c_proj"},
    {"blk.attn_output", "self_attn.dense"},
    {"blk.attn_output", "self_attention.dense"},
    {"blk.attn_output", "attention.dense"},
    {"blk.attn_q_norm", "self_attn.q_norm"},
    {"blk.attn_k_norm", "self_attn.k_norm"},
    {"blk.attn_q_norm", "self_attn.q_layernorm"},
    {"blk.attn_k_norm", "self_attn.k_layernorm"},
    {"blk.attn_output_norm", "attention.output.LayerNorm"},
    {"blk.attn_output_norm", "sa_layer_norm"},
    /* Gemma2 normalises behind the attention, Llama before the feed-forward part. */
    {"blk.post_attention_norm", "post_attention_layernorm"},
    {"blk.ffn_norm", "post_attention_layernorm"},
    {"blk.ffn_norm", "pre_feedforward_layernorm"},
    {"blk.ffn_norm", "ffn_norm"},
    {"blk.ffn_norm", "ln_2"},
    {"blk.post_ffw_norm", "post_feedforward_layernorm"},
    {"blk.layer_output_norm", "output.LayerNorm"},
    {"blk.layer_output_norm", "output_layer_norm"},

    {"blk.ffn_gate", "mlp.gate_proj"},
    {"blk.ffn_up", "mlp.up_proj"},
    {"blk.ffn_down", "mlp.down_proj"},
    {"blk.ffn_up", "mlp.gate_up_proj"}, /* Phi3 keeps the two as one */
    {"blk.ffn_gate", "feed_forward.w1"},
    {"blk.ffn_down", "feed_forward.w2"},
    {"blk.ffn_up", "feed_forward.w3"},
    {"blk.ffn_up", "mlp.c_fc"},
    {"blk.ffn_down", "mlp.c_proj"},
    {"blk.ffn_up", "mlp.fc1"},
    {"blk.ffn_down", "mlp.fc2"},
    {"blk.ffn_up", "mlp.dense_h_to_4h"},
    {"blk.ffn_down", "mlp.dense_4h_to_h"},
    {"blk.ffn_up", "intermediate.dense"},
    {"blk.ffn_down", "output.dense"},
    {"blk.ffn_up", "ffn.lin1"},
    {"blk.ffn_down", "ffn.lin2"},

    {"blk.ffn_gate_inp", "block_sparse_moe.gate"},
    {"blk.ffn_gate_exps", "block_sparse_moe.experts.{}.w1"},
    {"blk.ffn_down_exps", "block_sparse_moe.experts.{}.w2"},
    {"blk.ffn_up_exps", "block_sparse_moe.experts.{}.w3"},
    {"blk.ffn_gate_inp", "mlp.gate"},
    {"blk.ffn_gate_exps", "mlp.experts.{}.gate_proj"},
    {"blk.ffn_down_exps", "mlp.experts.{}.down_proj"},
    {"blk.ffn_up_exps", "mlp.experts.{}.up_proj"},
    {"blk.ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
    {"blk.ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
    {"blk.ffn_down_shexp", "mlp.shared_expert.down_proj"},
    {"blk.ffn_up_shexp", "mlp.shared_expert.up_proj"},
    {"blk.ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
    {"blk.ffn_down_shexp", "mlp.shared_experts.down_proj"},
    {"blk.ffn_up_shexp", "mlp.shared_experts.up_proj"},
};

/* What only one of the files has, and nobody misses: tables that are computed, heads
 * that llama.cpp does not run. Compared by their end, without the last component. */
static const char *const made[] = {"rope_freqs", "rope_factors_long",
                                   "rope_factors_short"};
static const char *const left_out[] = {
    "rotary_emb.inv_freq",   "attn.bias",
    "attn.masked_bias",      "attention.bias",
    "attention.masked_bias", "embeddings.position_ids",
    "pooler.dense"};

/* Architectures of which q and k are permuted: models that Transformers runs with halves
 * rotated against each other, llama.cpp with neighbours. */
static const char *const permuting[] = {"llama",   "mistral3", "granite", "granitemoe",
                                        "minicpm", "arcee",    "smollm3", "deci",
                                        "olmo",    "xverse",   "deepseek"};
/* Whose norms multiply by 1 + weight. */
static const char *const shifted[] = {"gemma", "gemma2", "gemma3", "gemma-embedding",
                                      "nemotron"};

static bool is_one_of(struct str word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(word, words[i]))
            return true;
    return false;
}

/* ---- names ---- */

/* Do components first to end of a name equal this text? *ret_expert: what "{}" is. */
static bool is_called(const struct rename_parts *parts, uint32_t first, uint32_t end,
                      const char *text, uint64_t *ret_expert)
{
    struct str rest = str_of(text), part;

    while (rest.len > 0 && str_split(&rest, '.', &part)) {
        if (first == end)
            return false;
        if (!str_is(part, "{}") ? !str_eq(part, parts->at[first])
                                : !rename_number(parts->at[first], ret_expert))
            return false;
        first++;
    }
    return first == end;
}

static uint32_t count_parts(const char *text)
{
    uint32_t n = 1;

    for (; *text; text++)
        n += *text == '.';
    return n;
}

static bool ends_in(const struct rename_parts *parts, uint32_t end, const char *text)
{
    uint32_t n = count_parts(text);
    uint64_t none;

    return n <= end && is_called(parts, end - n, end, text, &none);
}

/* Parts of a model that have a GGUF of their own. */
static bool is_apart(struct str part)
{
    return str_find(part, STR("vision")) >= 0 || str_find(part, STR("visual")) >= 0 ||
           str_find(part, STR("audio")) >= 0;
}

bool gguf_name_split(struct gguf_name *name, struct str text)
{
    *name = (struct gguf_name){.row = -1};
    rename_split(text, &name->parts);
    if (name->parts.n < 2)
        return false;
    name->end = name->parts.n - 1;
    while (name->layer < name->end && !name->parts.number[name->layer])
        name->layer++;
    for (uint32_t i = 0; i < name->layer; i++)
        if (is_apart(name->parts.at[i]))
            return false;
    return true;
}

bool gguf_name_next(struct gguf_name *name, struct buf *to)
{
    const struct rename_parts *parts = &name->parts;
    bool layered = name->layer < name->end;

    while (++name->row < (int)COUNT_OF(rows)) {
        const struct gguf_row *row = &rows[name->row];
        bool in_layer = str_starts(str_of(row->gguf), STR("blk."));

        name->expert = GGUF_NO_EXPERT;
        if (in_layer != layered)
            continue;
        if (layered ? !is_called(parts, name->layer + 1, name->end, row->module,
                                 &name->expert)
                    : !ends_in(parts, name->end, row->module))
            continue;
        buf_clear(to);
        if (layered)
            buf_printf(to, "blk.%.*s%s", STR_ARG(parts->at[name->layer]),
                       row->gguf + 3);
        else
            buf_text(to, row->gguf);
        buf_char(to, '.');
        buf_str(to, parts->at[name->end]);
        return true;
    }
    return false;
}

bool gguf_name_beside(const struct gguf_name *name, bool in_gguf)
{
    const char *const *words = in_gguf ? made : left_out;
    size_t n = in_gguf ? COUNT_OF(made) : COUNT_OF(left_out);
    /* inv_freq, masks and ids are buffers: their own name is part of it. */
    uint32_t whole = name->parts.n;

    for (size_t i = 0; i < n; i++)
        if (ends_in(&name->parts, name->end, words[i]) ||
            (!in_gguf && ends_in(&name->parts, whole, words[i])))
            return true;
    return false;
}

/* ---- conversions ---- */

struct compare_edit gguf_edit(const struct gguf_name *name,
                              const struct gguf_model *model, bool *ret_usual)
{
    const struct gguf_row *row = &rows[name->row];
    struct str last = name->parts.at[name->end], gguf = str_of(row->gguf);
    bool key = str_is(gguf, "blk.attn_k"), query = str_is(gguf, "blk.attn_q");
    struct compare_edit edit = {EDIT_NONE, false, 0};

    *ret_usual = true;
    if (name->expert != GGUF_NO_EXPERT) {
        edit.kind = EDIT_SLICE;
        edit.n = (uint32_t)name->expert;
    } else if (query || key) {
        edit.kind = EDIT_PERMUTED;
        edit.n = key ? model->kv_heads : model->heads;
        /* Files of Meta have the order that llama.cpp needs. */
        *ret_usual = str_ends(str_of(row->module), STR("_proj")) &&
                     is_one_of(model->architecture, permuting, COUNT_OF(permuting));
    } else if (str_starts(gguf, STR("blk.")) && str_is(last, "weight") &&
               str_find(str_of(row->module), STR(".c_")) >= 0) {
        edit.kind = EDIT_TRANSPOSED; /* Conv1D of GPT-2 */
        *ret_usual = str_is(model->architecture, "gpt2");
    } else if (str_ends(gguf, STR("norm")) && str_is(last, "weight") &&
               is_one_of(model->architecture, shifted, COUNT_OF(shifted))) {
        edit.kind = EDIT_PLUS_ONE;
    }
    return edit;
}

/* ---- the model ---- */

static bool find_fact(const struct model *model, struct str key,
                      struct value *ret_value)
{
    for (uint32_t i = 0; i < model->n_metadata; i++)
        if (str_eq(model_string(model, model->metadata[i].key), key)) {
            *ret_value = *value_at(&model->values, model->metadata[i].value);
            return true;
        }
    return false;
}

static uint32_t find_count(const struct gguf_model *gguf, const struct model *model,
                           const char *name, uint32_t otherwise)
{
    struct buf key = BUF_INIT;
    struct value value;
    bool found;

    buf_printf(&key, "%.*s.%s", STR_ARG(gguf->architecture), name);
    found = find_fact(model, buf_span(&key), &value);
    buf_release(&key);
    return found && value.kind == VALUE_INT && value.integer > 0 &&
                   value.integer <= UINT16_MAX
               ? (uint32_t)value.integer
               : otherwise;
}

bool gguf_model_read(struct gguf_model *gguf, const struct model *model)
{
    struct value value;

    if (!find_fact(model, STR("general.architecture"), &value) ||
        value.kind != VALUE_STR)
        return false;
    for (uint32_t i = 0; i < model->n_metadata; i++)
        if (str_is(model_string(model, model->metadata[i].key), "general.architecture"))
            gguf->architecture = value_text(&model->values, model->metadata[i].value);
    gguf->heads = find_count(gguf, model, "attention.head_count", 0);
    gguf->kv_heads = find_count(gguf, model, "attention.head_count_kv", gguf->heads);
    return true;
}
