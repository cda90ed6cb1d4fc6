/* The table of names, and which tensors llama.cpp's converter changes. */
#include "study/diff/gguf_names.h"

#include <string.h>

#include "base/base.h"

/* Names in a GGUF, and the modules of other files that become them. The names of a layer
 * are compared behind the number of the layer, or from the start of the row if it has
 * "#", the number; the others by their end. "{}" is the number of an expert: the experts
 * of a layer are one tensor in a GGUF. A name with several rows is looked for in this
 * order. "=": the row is about one tensor, and names it whole. "ARCHITECTURE:": the row is
 * only about that architecture. */
static const struct gguf_row {
    const char *gguf, *module;
} rows[] = {
    {"token_embd", "embed_tokens"},
    {"token_embd", "wte"},
    {"token_embd", "tok_embeddings"},
    {"token_embd", "word_embeddings"},
    {"token_embd", "embed_in"},
    {"token_embd", "shared"},
    {"token_embd", "backbone.embeddings"},
    {"token_types", "token_type_embeddings"},
    {"position_embd", "wpe"},
    {"position_embd", "position_embeddings"},
    {"token_embd_norm", "embeddings.LayerNorm"},
    {"token_embd_norm", "word_embeddings_layernorm"},
    {"token_embd_norm", "embeddings.norm"},
    {"token_embd_norm", "embedding_norm"},
    {"token_embd_norm", "emb_ln"},
    {"output_norm", "norm"},
    {"output_norm", "ln_f"},
    {"output_norm", "final_layernorm"},
    {"output_norm", "final_layer_norm"},
    {"output_norm", "norm_f"},
    {"output_norm", "final_norm"},
    {"enc.output_norm", "encoder.final_layer_norm"},
    {"dec.output_norm", "decoder.final_layer_norm"},
    {"output", "lm_head"},
    {"output", "output"},
    {"output", "embed_out"},
    {"token_embd", "lm_head"}, /* tied: stored once */
    {"cls", "classifier.dense"},
    {"cls", "head.dense"},
    {"cls.norm", "head.norm"},
    {"cls.output", "classifier.out_proj"},

    {"blk.attn_norm", "input_layernorm"},
    {"blk.attn_norm", "attention_norm"},
    {"blk.attn_norm", "ln_1"},
    {"blk.attn_norm", "norm_1"},
    {"blk.attn_norm", "norm"},
    {"blk.attn_norm", "attn_norm"},
    /* Falcon with two norms: the GGUF has the one of the attention second. */
    {"blk.attn_norm_2", "ln_attn"},
    {"blk.attn_norm", "ln_mlp"},
    {"blk.attn_norm", "attention_layernorm"},
    {"blk.attn_norm", "operator_norm"},
    {"blk.attn_qkv", "self_attn.qkv_proj"},
    {"blk.attn_qkv", "attn.c_attn"},
    {"blk.attn_qkv", "self_attention.query_key_value"},
    {"blk.attn_qkv", "attention.query_key_value"},
    {"blk.attn_qkv", "attn.Wqkv"},
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
    {"blk.attn_output", "attn.out_proj"},
    {"blk.attn_output", "attn.Wo"},
    {"blk.attn_output", "self_attn.out_proj"},
    {"blk.attn_output", "self_attn.dense"},
    {"blk.attn_output", "self_attention.dense"},
    {"blk.attn_output", "attention.dense"},
    {"blk.attn_q_norm", "self_attn.q_norm"},
    {"blk.attn_k_norm", "self_attn.k_norm"},
    {"blk.attn_q_norm", "self_attn.q_layernorm"},
    {"blk.attn_k_norm", "self_attn.k_layernorm"},
    {"blk.attn_q_norm", "self_attn.query_layernorm"},
    {"blk.attn_k_norm", "self_attn.key_layernorm"},
    {"blk.attn_q_norm", "self_attn.q_layernorm.norms.{}"},
    {"blk.attn_k_norm", "self_attn.k_layernorm.norms.{}"},
    {"blk.attn_q_a", "self_attn.q_a_proj"},
    {"blk.attn_q_b", "self_attn.q_b_proj"},
    {"blk.attn_q_a_norm", "self_attn.q_a_layernorm"},
    {"blk.attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
    {"blk.attn_kv_b", "self_attn.kv_b_proj"},
    {"blk.attn_kv_a_norm", "self_attn.kv_a_layernorm"},
    {"=blk.attn_sinks.weight", "self_attn.sinks"},
    {"blk.attn_output_norm", "attention.output.LayerNorm"},
    {"blk.attn_output_norm", "norm1"},
    {"blk.attn_output_norm", "sa_layer_norm"},
    {"blk.post_attention_norm", "post_self_attn_layernorm"},
    {"glm4:blk.ffn_norm", "post_attention_layernorm"},
    /* Gemma2 normalises behind the attention, Llama before the feed-forward part. */
    {"blk.post_attention_norm", "post_attention_layernorm"},
    {"blk.ffn_norm", "post_attention_layernorm"},
    {"blk.ffn_norm", "pre_feedforward_layernorm"},
    {"blk.ffn_norm", "ffn_norm"},
    {"blk.ffn_norm", "ln_2"},
    {"blk.ffn_norm", "norm_2"},
    {"blk.ffn_norm", "mlp_norm"},
    {"blk.ffn_norm", "feedforward_layernorm"},
    {"blk.ffn_norm", "pre_ff_layernorm"},
    {"blk.post_ffw_norm", "post_feedforward_layernorm"},
    {"blk.post_ffw_norm", "post_mlp_layernorm"},
    {"blk.layer_output_norm", "output.LayerNorm"},
    {"blk.layer_output_norm", "norm2"},
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
    {"blk.ffn_gate", "feed_forward.gate_proj"},
    {"blk.ffn_up", "feed_forward.up_proj"},
    {"blk.ffn_down", "feed_forward.down_proj"},
    {"blk.ffn_up", "ffn.up_proj"},
    {"blk.ffn_down", "ffn.down_proj"},
    {"blk.ffn_up", "mlp.Wi"},
    {"blk.ffn_down", "mlp.Wo"},
    {"blk.ffn_up", "mlp.fc11"},
    {"blk.ffn_gate", "mlp.fc12"},
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
    {"blk.ffn_gate_inp", "mlp.router"},
    {"blk.ffn_gate_inp", "feed_forward.router"},
    {"=blk.exp_probs_b.bias", "mlp.gate.e_score_correction_bias"},
    {"blk.ffn_gate_exps", "feed_forward.experts.{}.gate_proj"},
    {"blk.ffn_down_exps", "feed_forward.experts.{}.down_proj"},
    {"blk.ffn_up_exps", "feed_forward.experts.{}.up_proj"},
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

    {"blk.ssm_in", "mixer.in_proj"},
    {"blk.ssm_conv1d", "mixer.conv1d"},
    {"blk.ssm_x", "mixer.x_proj"},
    {"blk.ssm_dt", "mixer.dt_proj"},
    {"blk.ssm_out", "mixer.out_proj"},
    {"=blk.ssm_a", "mixer.A_log"},
    {"=blk.ssm_d", "mixer.D"},
    {"blk.ssm_in", "mamba.in_proj"},
    {"blk.ssm_conv1d", "mamba.conv1d"},
    {"blk.ssm_x", "mamba.x_proj"},
    {"blk.ssm_dt", "mamba.dt_proj"},
    {"blk.ssm_out", "mamba.out_proj"},
    {"=blk.ssm_a", "mamba.A_log"},
    {"=blk.ssm_d", "mamba.D"},
    {"=blk.ssm_dt.bias", "mixer.dt_bias"},
    {"blk.ssm_norm", "mixer.norm"},
    {"blk.ssm_dt_norm", "mamba.dt_layernorm"},
    {"blk.ssm_b_norm", "mamba.b_layernorm"},
    {"blk.ssm_c_norm", "mamba.c_layernorm"},
    {"blk.shortconv.in_proj", "conv.in_proj"},
    {"blk.shortconv.conv", "conv.conv"},
    {"blk.shortconv.out_proj", "conv.out_proj"},

    {"enc.blk.attn_q", "encoder.block.#.layer.0.SelfAttention.q"},
    {"enc.blk.attn_k", "encoder.block.#.layer.0.SelfAttention.k"},
    {"enc.blk.attn_v", "encoder.block.#.layer.0.SelfAttention.v"},
    {"enc.blk.attn_o", "encoder.block.#.layer.0.SelfAttention.o"},
    {"enc.blk.attn_rel_b",
     "encoder.block.#.layer.0.SelfAttention.relative_attention_bias"},
    {"enc.blk.attn_norm", "encoder.block.#.layer.0.layer_norm"},
    {"enc.blk.ffn_norm", "encoder.block.#.layer.1.layer_norm"},
    {"enc.blk.ffn_up", "encoder.block.#.layer.1.DenseReluDense.wi"},
    {"enc.blk.ffn_gate", "encoder.block.#.layer.1.DenseReluDense.wi_0"},
    {"enc.blk.ffn_up", "encoder.block.#.layer.1.DenseReluDense.wi_1"},
    {"enc.blk.ffn_down", "encoder.block.#.layer.1.DenseReluDense.wo"},
    {"dec.blk.attn_q", "decoder.block.#.layer.0.SelfAttention.q"},
    {"dec.blk.attn_k", "decoder.block.#.layer.0.SelfAttention.k"},
    {"dec.blk.attn_v", "decoder.block.#.layer.0.SelfAttention.v"},
    {"dec.blk.attn_o", "decoder.block.#.layer.0.SelfAttention.o"},
    {"dec.blk.attn_rel_b",
     "decoder.block.#.layer.0.SelfAttention.relative_attention_bias"},
    {"dec.blk.attn_norm", "decoder.block.#.layer.0.layer_norm"},
    {"dec.blk.cross_attn_q", "decoder.block.#.layer.1.EncDecAttention.q"},
    {"dec.blk.cross_attn_k", "decoder.block.#.layer.1.EncDecAttention.k"},
    {"dec.blk.cross_attn_v", "decoder.block.#.layer.1.EncDecAttention.v"},
    {"dec.blk.cross_attn_o", "decoder.block.#.layer.1.EncDecAttention.o"},
    {"dec.blk.cross_attn_norm", "decoder.block.#.layer.1.layer_norm"},
    {"dec.blk.ffn_norm", "decoder.block.#.layer.2.layer_norm"},
    {"dec.blk.ffn_up", "decoder.block.#.layer.2.DenseReluDense.wi"},
    {"dec.blk.ffn_gate", "decoder.block.#.layer.2.DenseReluDense.wi_0"},
    {"dec.blk.ffn_up", "decoder.block.#.layer.2.DenseReluDense.wi_1"},
    {"dec.blk.ffn_down", "decoder.block.#.layer.2.DenseReluDense.wo"},
};

/* Tensors that only one of the files has by design: computed tables, heads that
 * llama.cpp does not run. Compared by their end, without the last component. */
static const char *const made[] = {"rope_freqs", "rope_factors_long",
                                   "rope_factors_short"};
static const char *const left_out[] = {
    "rotary_emb.inv_freq",   "attn.bias",
    "attn.masked_bias",      "attention.bias",
    "attention.masked_bias", "embeddings.position_ids",
    "pooler.dense"};

/* Architectures whose q and k are permuted: transformers rotates the two halves of a
 * head against each other, llama.cpp neighbouring rows. */
static const char *const permuting[] = {"llama",   "mistral3", "granite", "granitemoe",
                                        "minicpm", "arcee",    "smollm3", "deci",
                                        "olmo",    "xverse",   "deepseek"};
/* Architectures whose rows of a fused qkv are grouped. */
static const char *const grouping[] = {"bloom", "gptneox", "falcon"};
/* Architectures whose norms multiply by 1 + weight. */
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
        if (str_is(part, "{}")  ? !rename_number(parts->at[first], ret_expert)
            : str_is(part, "#") ? !parts->number[first]
                                : !str_eq(part, parts->at[first]))
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

/* Is the name the one of this row? */
static bool is_row(struct gguf_name *name, const char *module, bool in_layer,
                   bool whole)
{
    const struct rename_parts *parts = &name->parts;
    uint32_t end = whole ? parts->n : name->end, before = 0;
    const char *number = strchr(module, '#');

    if (!in_layer)
        return ends_in(parts, end, module);
    for (const char *at = module; number && at < number; at++)
        before += *at == '.';
    return before <= name->layer &&
           is_called(parts, name->layer + 1 - !!number - before, end, module,
                     &name->expert);
}

/* The name in the GGUF, with the number of the layer behind "blk". */
static void write_row(const struct gguf_name *name, struct str gguf, bool whole,
                      struct buf *to)
{
    const struct rename_parts *parts = &name->parts;
    ptrdiff_t layer = str_find(gguf, STR("blk."));

    buf_clear(to);
    if (layer >= 0) {
        buf_str(to, str_head(gguf, (size_t)layer + 4));
        buf_str(to, parts->at[name->layer]);
        buf_str(to, str_from(gguf, (size_t)layer + 3));
    } else {
        buf_str(to, gguf);
    }
    if (whole)
        return;
    buf_char(to, '.');
    buf_str(to, parts->at[name->end]);
}

bool gguf_name_next(struct gguf_name *name, struct str architecture, struct buf *to)
{
    bool layered = name->layer < name->end;

    while (++name->row < (int)COUNT_OF(rows)) {
        const struct gguf_row *row = &rows[name->row];
        bool whole = row->gguf[0] == '=';
        struct str gguf = str_of(row->gguf + whole);
        ptrdiff_t colon = str_find(gguf, STR(":"));
        bool in_layer = str_find(gguf, STR("blk.")) >= 0;

        name->expert = GGUF_NO_EXPERT;
        if (colon >= 0 && !str_eq(str_head(gguf, (size_t)colon), architecture))
            continue;
        if (in_layer != layered || !is_row(name, row->module, in_layer, whole))
            continue;
        write_row(name, str_from(gguf, (size_t)(colon + 1)), whole, to);
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

static bool is_fused(const struct gguf_row *row)
{
    return str_ends(str_of(row->module), STR("query_key_value"));
}

static bool is_transposed(const struct gguf_row *row, struct str last)
{
    return str_starts(str_of(row->gguf), STR("blk.")) && str_is(last, "weight") &&
           str_find(str_of(row->module), STR(".c_")) >= 0;
}

static bool is_shifted(const struct gguf_row *row, const struct gguf_model *model,
                       struct str last)
{
    return str_ends(str_of(row->gguf), STR("norm")) && str_is(last, "weight") &&
           is_one_of(model->architecture, shifted, COUNT_OF(shifted));
}

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
    } else if (is_fused(row) && model->kv_heads == model->heads) {
        edit.kind = EDIT_GROUPED;
        edit.n = model->heads;
        *ret_usual = is_one_of(model->architecture, grouping, COUNT_OF(grouping));
    } else if (is_transposed(row, last)) {
        edit.kind = EDIT_TRANSPOSED; /* Conv1D of GPT-2 */
        *ret_usual = str_is(model->architecture, "gpt2");
    } else if (is_shifted(row, model, last)) {
        edit.kind = EDIT_PLUS_ONE;
    } else if (str_is(gguf, "=blk.ssm_a")) {
        edit.kind = EDIT_EXPONENT;
    } else if (str_find(gguf, STR("blk.ssm_")) >= 0 ||
               str_is(gguf, "blk.shortconv.conv")) {
        edit.kind = EDIT_RESHAPED;
    }
    return edit;
}

const char *gguf_obstacle(const struct gguf_name *name, const struct gguf_model *model)
{
    return is_fused(&rows[name->row]) && model->kv_heads > 1 &&
                   model->kv_heads != model->heads
               ? "llama.cpp reorders the rows of its queries, keys and values"
               : NULL;
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
