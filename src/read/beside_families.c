/* THE TABLE of transformers' classes. A module has no rule if its class differs between
 * versions of transformers or depends on more than the file. The names are those in
 * files: the modules of version 4. Version 5 renames some while it loads them.
 * tests/python/folder_model_test.py compares it with the library. */
#include "read/beside_families_in.h"

#include "base/base.h"

/* clang-format off */
#define CLASS(at, name) {.path = at, .kind = RULE_CLASS, .word = name}
#define CLASS_IF(at, name, key)                                                        \
    {.path = at, .kind = RULE_CLASS, .word = name, .when = key}
#define PLAIN(at, name) {.path = at, .kind = RULE_PLAIN, .word = name}
#define NORM(at) {.path = at, .kind = RULE_NORM}
#define ABOVE(at, name) {.path = at, .kind = RULE_ABOVE, .word = name}
#define MOE(at) {.path = at, .kind = RULE_MOE}
#define BLOCK_IN(at, of, in) {.path = at, .kind = RULE_BLOCK, .size = of, .section = in}
#define BLOCK(at) BLOCK_IN(at, SIZE_BLOCKS, SECTION_WHOLE)
#define SIZE_IN(at, at_dim, of, in)                                                    \
    {.path = at, .kind = RULE_SIZE, .dim = at_dim, .size = of, .section = in}
#define SIZE(at, at_dim, of) SIZE_IN(at, at_dim, of, SECTION_WHOLE)
/* clang-format on */

/* ---- decoders of text ---- */

static const struct class_rule llama_rules[] = {
    PLAIN("layers", "ModuleList"),
    CLASS("layers.*", "DecoderLayer"),
    CLASS("layers.*.self_attn", "Attention"),
    NORM("layers.*.self_attn.q_norm|k_norm|q_a_layernorm|kv_a_layernorm"),
    NORM("layers.*.self_attn.query_layernorm|key_layernorm"),
    CLASS("layers.*.linear_attn", "GatedDeltaNet"),
    CLASS("layers.*.linear_attn.norm", "RMSNormGated"),
    CLASS("layers.*.mlp|feed_forward", "MLP"),
    MOE("layers.*.mlp.experts"),
    CLASS("layers.*.mlp.experts.*", "MLP"),
    ABOVE("layers.*.mlp.experts.gate_up_proj_bias", "Experts"),
    CLASS("layers.*.mlp.router", "TopKRouter"),
    CLASS("layers.*.mlp.shared_expert|shared_experts", "MLP"),
    MOE("layers.*.feed_forward.router"),
    CLASS("layers.*.feed_forward.experts", "Experts"),
    CLASS("layers.*.feed_forward.shared_expert", "MLP"),
    CLASS("layers.*.block_sparse_moe", "SparseMoeBlock"),
    PLAIN("layers.*.block_sparse_moe.experts", "ModuleList"),
    CLASS("layers.*.block_sparse_moe.experts.*", "BlockSparseTop2MLP"),
    NORM("layers.*.input_layernorm|post_attention_layernorm"),
    NORM("layers.*.pre_feedforward_layernorm|post_feedforward_layernorm"),
    NORM("layers.*.post_self_attn_layernorm|post_mlp_layernorm"),
    NORM("layers.*.attention_layernorm|feedforward_layernorm"),
    NORM("norm"),
    BLOCK("layers.*"),
    SIZE("embed_tokens.weight", 0, SIZE_VOCABULARY),
    SIZE("embed_tokens.weight", 1, SIZE_EMBEDDING),
    SIZE("layers.*.mlp.down_proj.weight", 1, SIZE_INNER),
    SIZE("layers.*.mlp.fc1.weight", 0, SIZE_INNER),
    SIZE("layers.*.mlp.dense_h_to_4h.weight", 0, SIZE_INNER),
};

/* Also Bloom, Falcon and GPT-J. */
static const struct class_rule gpt2_rules[] = {
    PLAIN("h", "ModuleList"),
    CLASS("h.*", "Block"),
    CLASS("h.*.attn|self_attention", "Attention"),
    CLASS("h.*.attn.attention", "SelfAttention"),
    CLASS("h.*.mlp", "MLP"),
    BLOCK("h.*"),
    SIZE("wte|word_embeddings.weight", 0, SIZE_VOCABULARY),
    SIZE("wte|word_embeddings.weight", 1, SIZE_EMBEDDING),
};

/* GPT-2 stores its matrices transposed. */
static const struct class_rule gpt2_inner_rules[] = {
    PLAIN("h", "ModuleList"),
    CLASS("h.*", "Block"),
    CLASS("h.*.attn", "Attention"),
    CLASS("h.*.mlp", "MLP"),
    BLOCK("h.*"),
    SIZE("wte.weight", 0, SIZE_VOCABULARY),
    SIZE("wte.weight", 1, SIZE_EMBEDDING),
    SIZE("h.*.mlp.c_fc.weight", 1, SIZE_INNER),
};

static const struct class_rule falcon_rules[] = {
    PLAIN("h", "ModuleList"),
    CLASS("h.*", "DecoderLayer"),
    CLASS("h.*.self_attention", "Attention"),
    CLASS("h.*.mlp", "MLP"),
    BLOCK("h.*"),
    SIZE("word_embeddings.weight", 0, SIZE_VOCABULARY),
    SIZE("word_embeddings.weight", 1, SIZE_EMBEDDING),
};

static const struct class_rule gpt_neox_rules[] = {
    PLAIN("layers", "ModuleList"),
    CLASS("layers.*", "Layer"),
    CLASS("layers.*.attention", "Attention"),
    CLASS("layers.*.mlp", "MLP"),
    BLOCK("layers.*"),
    SIZE("embed_in.weight", 0, SIZE_VOCABULARY),
    SIZE("embed_in.weight", 1, SIZE_EMBEDDING),
    SIZE("layers.*.mlp.dense_h_to_4h.weight", 0, SIZE_INNER),
};

static const struct class_rule mpt_rules[] = {
    PLAIN("blocks", "ModuleList"),
    CLASS("blocks.*", "Block"),
    CLASS("blocks.*.attn", "Attention"),
    CLASS("blocks.*.ffn", "MLP"),
    BLOCK("blocks.*"),
    SIZE("wte.weight", 0, SIZE_VOCABULARY),
    SIZE("wte.weight", 1, SIZE_EMBEDDING),
};

static const struct class_rule opt_rules[] = {
    CLASS("decoder", "Decoder"),
    PLAIN("decoder.layers", "ModuleList"),
    CLASS("decoder.layers.*", "DecoderLayer"),
    CLASS("decoder.layers.*.self_attn", "Attention"),
    BLOCK("decoder.layers.*"),
    SIZE("decoder.embed_tokens.weight", 0, SIZE_VOCABULARY),
    SIZE("decoder.layers.*.self_attn.q_proj.weight", 1, SIZE_EMBEDDING),
    SIZE("decoder.layers.*.fc1.weight", 0, SIZE_INNER),
};

static const struct class_rule mamba_rules[] = {
    PLAIN("layers", "ModuleList"),
    CLASS("layers.*", "Block"),
    CLASS("layers.*.mixer", "Mixer"),
    PLAIN("layers.*.mixer.norm", "MambaRMSNormGated"),
    NORM("layers.*.norm"),
    NORM("norm_f"),
    BLOCK("layers.*"),
    SIZE("embeddings.weight", 0, SIZE_VOCABULARY),
    SIZE("embeddings.weight", 1, SIZE_EMBEDDING),
};

static const struct class_rule rwkv_rules[] = {
    PLAIN("blocks", "ModuleList"),
    CLASS("blocks.*", "Block"),
    CLASS("blocks.*.attention", "SelfAttention"),
    CLASS("blocks.*.feed_forward", "FeedForward"),
    BLOCK("blocks.*"),
    SIZE("embeddings.weight", 0, SIZE_VOCABULARY),
    SIZE("embeddings.weight", 1, SIZE_EMBEDDING),
};

/* ---- encoders of text ---- */

static const struct class_rule bert_rules[] = {
    CLASS("embeddings", "Embeddings"),
    CLASS("encoder", "Encoder"),
    PLAIN("encoder.layer", "ModuleList"),
    CLASS("encoder.layer.*", "Layer"),
    CLASS("encoder.layer.*.attention", "Attention"),
    CLASS("encoder.layer.*.attention.self", "SelfAttention"),
    CLASS("encoder.layer.*.attention.output", "SelfOutput"),
    CLASS("encoder.layer.*.intermediate", "Intermediate"),
    CLASS("encoder.layer.*.output", "Output"),
    CLASS("pooler", "Pooler"),
    BLOCK("encoder.layer.*"),
    SIZE("embeddings.word_embeddings.weight", 0, SIZE_VOCABULARY),
    SIZE("embeddings.word_embeddings.weight", 1, SIZE_EMBEDDING),
    SIZE("encoder.layer.*.intermediate.dense.weight", 0, SIZE_INNER),
};

/* The embedding may be narrower than the layers. */
static const struct class_rule electra_rules[] = {
    CLASS("embeddings", "Embeddings"),
    CLASS("encoder", "Encoder"),
    PLAIN("encoder.layer", "ModuleList"),
    CLASS("encoder.layer.*", "Layer"),
    CLASS("encoder.layer.*.attention", "Attention"),
    CLASS("encoder.layer.*.attention.self", "SelfAttention"),
    CLASS("encoder.layer.*.attention.output", "SelfOutput"),
    CLASS("encoder.layer.*.intermediate", "Intermediate"),
    CLASS("encoder.layer.*.output", "Output"),
    BLOCK("encoder.layer.*"),
    SIZE("embeddings.word_embeddings.weight", 0, SIZE_VOCABULARY),
    SIZE("embeddings.word_embeddings.weight", 1, SIZE_FIRST),
    SIZE("encoder.layer.*.intermediate.dense.weight", 0, SIZE_INNER),
    SIZE("encoder.layer.*.intermediate.dense.weight", 1, SIZE_EMBEDDING),
};

static const struct class_rule deberta_rules[] = {
    CLASS("embeddings", "Embeddings"),
    CLASS("encoder", "Encoder"),
    PLAIN("encoder.layer", "ModuleList"),
    CLASS("encoder.layer.*", "Layer"),
    CLASS("encoder.layer.*.attention", "Attention"),
    PLAIN("encoder.layer.*.attention.self", "DisentangledSelfAttention"),
    CLASS("encoder.layer.*.attention.output", "SelfOutput"),
    CLASS("encoder.layer.*.intermediate", "Intermediate"),
    CLASS("encoder.layer.*.output", "Output"),
    PLAIN("encoder.conv", "ConvLayer"),
    NORM("embeddings.LayerNorm"),
    NORM("encoder.layer.*.attention.output.LayerNorm"),
    NORM("encoder.layer.*.output.LayerNorm"),
    BLOCK("encoder.layer.*"),
    SIZE("embeddings.word_embeddings.weight", 0, SIZE_VOCABULARY),
    SIZE("encoder.layer.*.intermediate.dense.weight", 0, SIZE_INNER),
    SIZE("encoder.layer.*.intermediate.dense.weight", 1, SIZE_EMBEDDING),
};

static const struct class_rule mpnet_rules[] = {
    CLASS("embeddings", "Embeddings"),
    CLASS("encoder", "Encoder"),
    PLAIN("encoder.layer", "ModuleList"),
    CLASS("encoder.layer.*", "Layer"),
    CLASS("encoder.layer.*.attention", "Attention"),
    CLASS("encoder.layer.*.attention.attn", "SelfAttention"),
    CLASS("encoder.layer.*.intermediate", "Intermediate"),
    CLASS("encoder.layer.*.output", "Output"),
    CLASS("pooler", "Pooler"),
    BLOCK("encoder.layer.*"),
    SIZE("embeddings.word_embeddings.weight", 0, SIZE_VOCABULARY),
    SIZE("embeddings.word_embeddings.weight", 1, SIZE_EMBEDDING),
    SIZE("encoder.layer.*.intermediate.dense.weight", 0, SIZE_INNER),
};

/* Its blocks share their weights: there is one of them. */
static const struct class_rule albert_rules[] = {
    CLASS("embeddings", "Embeddings"),
    CLASS("encoder", "Transformer"),
    PLAIN("encoder.albert_layer_groups", "ModuleList"),
    CLASS("encoder.albert_layer_groups.*", "LayerGroup"),
    PLAIN("encoder.albert_layer_groups.*.albert_layers", "ModuleList"),
    CLASS("encoder.albert_layer_groups.*.albert_layers.*", "Layer"),
    CLASS("encoder.albert_layer_groups.*.albert_layers.*.attention", "Attention"),
    SIZE("embeddings.word_embeddings.weight", 0, SIZE_VOCABULARY),
    SIZE("embeddings.word_embeddings.weight", 1, SIZE_FIRST),
    SIZE("encoder.albert_layer_groups.*.albert_layers.*.ffn.weight", 0, SIZE_INNER),
    SIZE("encoder.albert_layer_groups.*.albert_layers.*.ffn.weight", 1, SIZE_EMBEDDING),
};

static const struct class_rule distilbert_rules[] = {
    PLAIN("embeddings", "Embeddings"),
    PLAIN("transformer", "Transformer"),
    PLAIN("transformer.layer", "ModuleList"),
    PLAIN("transformer.layer.*", "TransformerBlock"),
    CLASS("transformer.layer.*.attention", "SelfAttention"),
    PLAIN("transformer.layer.*.ffn", "FFN"),
    BLOCK("transformer.layer.*"),
    SIZE("embeddings.word_embeddings.weight", 0, SIZE_VOCABULARY),
    SIZE("embeddings.word_embeddings.weight", 1, SIZE_EMBEDDING),
    SIZE("transformer.layer.*.ffn.lin1.weight", 0, SIZE_INNER),
};

static const struct class_rule modernbert_rules[] = {
    CLASS("embeddings", "Embeddings"),
    PLAIN("layers", "ModuleList"),
    CLASS("layers.*", "EncoderLayer"),
    CLASS("layers.*.attn", "Attention"),
    CLASS("layers.*.mlp", "MLP"),
    BLOCK("layers.*"),
    SIZE("embeddings.tok_embeddings.weight", 0, SIZE_VOCABULARY),
    SIZE("embeddings.tok_embeddings.weight", 1, SIZE_EMBEDDING),
    SIZE("layers.*.mlp.Wo.weight", 1, SIZE_INNER),
};

/* ---- encoders with a decoder ---- */

static const struct class_rule t5_rules[] = {
    CLASS("encoder|decoder", "Stack"),
    PLAIN("encoder|decoder.block", "ModuleList"),
    CLASS("encoder|decoder.block.*", "Block"),
    PLAIN("encoder|decoder.block.*.layer", "ModuleList"),
    ABOVE("encoder|decoder.block.*.layer.*.SelfAttention", "LayerSelfAttention"),
    CLASS("encoder|decoder.block.*.layer.*.SelfAttention", "Attention"),
    ABOVE("encoder|decoder.block.*.layer.*.EncDecAttention", "LayerCrossAttention"),
    CLASS("encoder|decoder.block.*.layer.*.EncDecAttention", "Attention"),
    ABOVE("encoder|decoder.block.*.layer.*.DenseReluDense", "LayerFF"),
    ABOVE("encoder|decoder.block.*.layer.*.DenseReluDense.wi", "DenseActDense"),
    ABOVE("encoder|decoder.block.*.layer.*.DenseReluDense.wi_0", "DenseGatedActDense"),
    NORM("encoder|decoder.block.*.layer.*.layer_norm"),
    NORM("encoder|decoder.final_layer_norm"),
    BLOCK("encoder.block.*"),
    BLOCK_IN("decoder.block.*", SIZE_DECODER_BLOCKS, SECTION_WHOLE),
    SIZE("shared.weight", 0, SIZE_VOCABULARY),
    SIZE("shared.weight", 1, SIZE_EMBEDDING),
    SIZE("encoder|decoder.block.*.layer.*.DenseReluDense.wi|wi_0.weight", 0,
         SIZE_INNER),
};

/* Also Whisper. */
static const struct class_rule bart_rules[] = {
    CLASS("encoder", "Encoder"),
    PLAIN("encoder|decoder.layers", "ModuleList"),
    CLASS("encoder.layers.*", "EncoderLayer"),
    CLASS("decoder", "Decoder"),
    CLASS("decoder.layers.*", "DecoderLayer"),
    CLASS("encoder|decoder.layers.*.self_attn|encoder_attn", "Attention"),
    BLOCK("encoder.layers.*"),
    BLOCK_IN("decoder.layers.*", SIZE_DECODER_BLOCKS, SECTION_WHOLE),
    SIZE("shared.weight", 0, SIZE_VOCABULARY),
    SIZE("decoder.embed_tokens.weight", 0, SIZE_VOCABULARY),
    SIZE("shared.weight", 1, SIZE_EMBEDDING),
    SIZE("decoder.embed_tokens.weight", 1, SIZE_EMBEDDING),
    SIZE("encoder.layers.*.fc1.weight", 0, SIZE_INNER),
};

/* ---- pictures and sound ---- */

static const struct class_rule vit_rules[] = {
    CLASS("embeddings", "Embeddings"),
    CLASS("embeddings.patch_embeddings", "PatchEmbeddings"),
    CLASS("encoder", "Encoder"),
    PLAIN("encoder.layer", "ModuleList"),
    CLASS("encoder.layer.*", "Layer"),
    CLASS("encoder.layer.*.attention", "Attention"),
    CLASS("encoder.layer.*.attention.attention", "SelfAttention"),
    CLASS("encoder.layer.*.attention.output", "SelfOutput"),
    CLASS("encoder.layer.*.intermediate", "Intermediate"),
    CLASS("encoder.layer.*.output", "Output"),
    CLASS("encoder.layer.*.mlp", "MLP"),
    CLASS("encoder.layer.*.layer_scale1|layer_scale2", "LayerScale"),
    CLASS("pooler", "Pooler"),
    BLOCK("encoder.layer.*"),
    SIZE("embeddings.patch_embeddings.projection.weight", 0, SIZE_EMBEDDING),
    SIZE("encoder.layer.*.intermediate.dense.weight", 0, SIZE_INNER),
};

static const struct class_rule swin_rules[] = {
    CLASS("embeddings", "Embeddings"),
    CLASS("embeddings.patch_embeddings", "PatchEmbeddings"),
    CLASS("encoder", "Encoder"),
    PLAIN("encoder.layers", "ModuleList"),
    CLASS("encoder.layers.*", "Stage"),
    PLAIN("encoder.layers.*.blocks", "ModuleList"),
    CLASS("encoder.layers.*.blocks.*", "Layer"),
    CLASS("encoder.layers.*.blocks.*.attention", "Attention"),
    CLASS("encoder.layers.*.blocks.*.attention.self", "SelfAttention"),
    CLASS("encoder.layers.*.blocks.*.attention.output", "SelfOutput"),
    CLASS("encoder.layers.*.blocks.*.intermediate", "Intermediate"),
    CLASS("encoder.layers.*.blocks.*.output", "Output"),
    CLASS("encoder.layers.*.downsample", "PatchMerging"),
    BLOCK("encoder.layers.*"),
    SIZE("embeddings.patch_embeddings.projection.weight", 0, SIZE_FIRST),
};

static const struct class_rule segformer_rules[] = {
    CLASS("encoder", "Encoder"),
    PLAIN("encoder.patch_embeddings|block|layer_norm", "ModuleList"),
    CLASS("encoder.patch_embeddings.*", "OverlapPatchEmbeddings"),
    PLAIN("encoder.block.*", "ModuleList"),
    CLASS("encoder.block.*.*", "Layer"),
    CLASS("encoder.block.*.*.attention", "Attention"),
    CLASS("encoder.block.*.*.attention.self", "EfficientSelfAttention"),
    CLASS("encoder.block.*.*.attention.output", "SelfOutput"),
    CLASS("encoder.block.*.*.mlp", "MixFFN"),
    CLASS("encoder.block.*.*.mlp.dwconv", "DWConv"),
    SIZE("encoder.patch_embeddings.0.proj.weight", 0, SIZE_FIRST),
};

static const struct class_rule resnet_rules[] = {
    CLASS("embedder", "Embeddings"),
    CLASS("embedder.embedder", "ConvLayer"),
    CLASS("encoder", "Encoder"),
    PLAIN("encoder.stages", "ModuleList"),
    CLASS("encoder.stages.*", "Stage"),
    PLAIN("encoder.stages.*.layers", "Sequential"),
    PLAIN("encoder.stages.*.layers.*.layer", "Sequential"),
    CLASS("encoder.stages.*.layers.*.layer.*", "ConvLayer"),
    CLASS("encoder.stages.*.layers.*.shortcut", "ShortCut"),
    SIZE("embedder.embedder.convolution.weight", 0, SIZE_FIRST),
};

static const struct class_rule convnext_rules[] = {
    CLASS("embeddings", "Embeddings"),
    CLASS("embeddings.layernorm", "LayerNorm"),
    CLASS("encoder", "Encoder"),
    PLAIN("encoder.stages", "ModuleList"),
    CLASS("encoder.stages.*", "Stage"),
    PLAIN("encoder.stages.*.layers", "ModuleList"),
    CLASS("encoder.stages.*.layers.*", "Layer"),
    CLASS("encoder.stages.*.layers.*.layernorm", "LayerNorm"),
    PLAIN("encoder.stages.*.downsampling_layer", "ModuleList"),
    CLASS("encoder.stages.*.downsampling_layer.0", "LayerNorm"),
    SIZE("embeddings.patch_embeddings.weight", 0, SIZE_FIRST),
};

static const struct class_rule clip_rules[] = {
    CLASS("text_model.embeddings", "TextEmbeddings"),
    CLASS("vision_model.embeddings", "VisionEmbeddings"),
    CLASS("text_model|vision_model.encoder", "Encoder"),
    PLAIN("text_model|vision_model.encoder.layers", "ModuleList"),
    CLASS("text_model|vision_model.encoder.layers.*", "EncoderLayer"),
    CLASS("text_model|vision_model.encoder.layers.*.self_attn", "Attention"),
    CLASS("text_model|vision_model.encoder.layers.*.mlp", "MLP"),
    CLASS("vision_model.head", "MultiheadAttentionPoolingHead"),
    PLAIN("vision_model.head.attention", "MultiheadAttention"),
    CLASS("vision_model.head.mlp", "MLP"),
    BLOCK_IN("text_model.encoder.layers.*", SIZE_BLOCKS, SECTION_TEXT),
    BLOCK_IN("vision_model.encoder.layers.*", SIZE_BLOCKS, SECTION_VISION),
    SIZE_IN("text_model.embeddings.token_embedding.weight", 0, SIZE_VOCABULARY,
            SECTION_TEXT),
    SIZE_IN("text_model.embeddings.token_embedding.weight", 1, SIZE_EMBEDDING,
            SECTION_TEXT),
    SIZE_IN("text_model.encoder.layers.*.mlp.fc1.weight", 0, SIZE_INNER, SECTION_TEXT),
    SIZE_IN("vision_model.embeddings.patch_embedding.weight", 0, SIZE_EMBEDDING,
            SECTION_VISION),
    SIZE_IN("vision_model.encoder.layers.*.mlp.fc1.weight", 0, SIZE_INNER,
            SECTION_VISION),
};

static const struct class_rule wav2vec2_rules[] = {
    CLASS("feature_extractor", "FeatureEncoder"),
    PLAIN("feature_extractor.conv_layers", "ModuleList"),
    CLASS("feature_projection", "FeatureProjection"),
    CLASS("encoder", "Encoder"),
    CLASS_IF("encoder", "EncoderStableLayerNorm", "do_stable_layer_norm"),
    CLASS("encoder.pos_conv_embed", "PositionalConvEmbedding"),
    PLAIN("encoder.layers", "ModuleList"),
    CLASS("encoder.layers.*", "EncoderLayer"),
    CLASS_IF("encoder.layers.*", "EncoderLayerStableLayerNorm", "do_stable_layer_norm"),
    CLASS("encoder.layers.*.attention", "Attention"),
    CLASS("encoder.layers.*.feed_forward", "FeedForward"),
    BLOCK("encoder.layers.*"),
    SIZE("feature_projection.projection.weight", 0, SIZE_EMBEDDING),
    SIZE("encoder.layers.*.feed_forward.intermediate_dense.weight", 0, SIZE_INNER),
};

/* Divides by 0, which is an error, if there are too many rules. */
#define RULES(list)                                                                    \
    .rules = list, .n = COUNT_OF(list) / (COUNT_OF(list) <= FAMILY_RULES_LIMIT)

/* clang-format off */
/* THE TABLE. */
const struct class_family class_families[] = {
    {"Llama", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Mistral", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Qwen2", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Qwen3", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Gemma", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Gemma2", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Phi3", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Granite", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Olmo2", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Olmo3", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"SmolLM3", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Glm", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Glm4", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Helium", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Ernie4_5", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Exaone4", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Arcee", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Apertus", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"SeedOss", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Ministral", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"HunYuanDenseV1", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Mixtral", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Gemma3", "model", RULES(llama_rules), .norm = "RMSNorm", .model = "TextModel"},
    {"Qwen2Moe", "model", RULES(llama_rules),
     .norm = "RMSNorm", .moe = "SparseMoeBlock"},
    {"Qwen3Moe", "model", RULES(llama_rules),
     .norm = "RMSNorm", .moe = "SparseMoeBlock"},
    {"Olmoe", "model", RULES(llama_rules), .norm = "RMSNorm", .moe = "SparseMoeBlock"},
    {"DeepseekV2", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"DeepseekV3", "model", RULES(llama_rules), .norm = "RMSNorm", .moe = "MoE"},
    {"Qwen3Next", "model",
     RULES(llama_rules), .norm = "RMSNorm", .moe = "SparseMoeBlock"},
    {"Ernie4_5_Moe", "model",
     RULES(llama_rules), .norm = "RMSNorm", .moe = "SparseMoeBlock"},
    {"VaultGemma", "model", RULES(llama_rules), .norm = "RMSNorm"},
    {"Phimoe", "model", RULES(llama_rules)},
    {"Glm4Moe", "model", RULES(llama_rules), .norm = "RMSNorm", .moe = "MoE"},
    {"GptOss", "model", RULES(llama_rules), .norm = "RMSNorm", .moe = "MLP"},
    {"Llama4", "model", RULES(llama_rules),
     .norm = "RMSNorm", .moe = "Moe", .classes = "Llama4Text"},
    {"Cohere", "model", RULES(llama_rules), .norm = "LayerNorm"},
    {"Cohere2", "model", RULES(llama_rules), .norm = "LayerNorm"},
    {"Nemotron", "model", RULES(llama_rules), .norm = "LayerNorm1P"},
    {"Olmo", "model", RULES(llama_rules)},
    {"StableLm", "model", RULES(llama_rules)},
    {"Starcoder2", "model", RULES(llama_rules)},
    {"Phi", "model", RULES(llama_rules)},
    {"Persimmon", "model", RULES(llama_rules)},
    {"GPT2", "transformer", RULES(gpt2_inner_rules)},
    {"GPTNeo", "transformer", RULES(gpt2_rules)},
    {"GPTJ", "transformer", RULES(gpt2_rules)},
    {"GPTBigCode", "transformer", RULES(gpt2_rules)},
    {"Bloom", "transformer", RULES(gpt2_rules)},
    {"CodeGen", "transformer", RULES(gpt2_rules)},
    {"Falcon", "transformer", RULES(falcon_rules)},
    {"GPTNeoX", "gpt_neox", RULES(gpt_neox_rules)},
    {"Mpt", "transformer", RULES(mpt_rules)},
    {"OPT", "model", RULES(opt_rules)},
    {"Mamba", "backbone", RULES(mamba_rules), .norm = "RMSNorm"},
    {"Mamba2", "backbone", RULES(mamba_rules), .norm = "RMSNorm"},
    {"FalconMamba", "backbone", RULES(mamba_rules), .norm = "RMSNorm"},
    {"Rwkv", "rwkv", RULES(rwkv_rules)},
    {"Bert", "bert", RULES(bert_rules)},
    {"Roberta", "roberta", RULES(bert_rules)},
    {"XLMRoberta", "roberta", RULES(bert_rules)},
    {"Camembert", "roberta", RULES(bert_rules)},
    {"Ernie", "ernie", RULES(bert_rules)},
    {"XLMRobertaXL", "roberta", RULES(bert_rules)},
    {"RoFormer", "roformer", RULES(bert_rules)},
    {"Longformer", "longformer", RULES(bert_rules)},
    {"LayoutLM", "layoutlm", RULES(bert_rules)},
    {"Esm", "esm", RULES(bert_rules)},
    {"Deberta", "deberta", RULES(deberta_rules), .norm = "LayerNorm"},
    {"Electra", "electra", RULES(electra_rules)},
    {"DebertaV2", "deberta", RULES(deberta_rules)},
    {"MPNet", "mpnet", RULES(mpnet_rules)},
    {"Albert", "albert", RULES(albert_rules)},
    {"DistilBert", "distilbert", RULES(distilbert_rules)},
    {"ModernBert", "model", RULES(modernbert_rules)},
    {"T5", "transformer", RULES(t5_rules), .norm = "LayerNorm", .model = ""},
    {"MT5", "transformer", RULES(t5_rules), .norm = "LayerNorm", .model = ""},
    {"UMT5", "transformer", RULES(t5_rules), .norm = "LayerNorm", .model = ""},
    {"Bart", "model", RULES(bart_rules)},
    {"MBart", "model", RULES(bart_rules)},
    {"Marian", "model", RULES(bart_rules)},
    {"Pegasus", "model", RULES(bart_rules)},
    {"M2M100", "model", RULES(bart_rules)},
    {"Blenderbot", "model", RULES(bart_rules)},
    {"PLBart", "model", RULES(bart_rules)},
    {"Whisper", "model", RULES(bart_rules)},
    {"ViT", "vit", RULES(vit_rules)},
    {"DeiT", "deit", RULES(vit_rules)},
    {"Beit", "beit", RULES(vit_rules)},
    {"ViTMAE", "vit", RULES(vit_rules)},
    {"Dinov2", "dinov2", RULES(vit_rules)},
    {"Dinov2WithRegisters", "dinov2_with_registers", RULES(vit_rules)},
    {"AST", "audio_spectrogram_transformer", RULES(vit_rules)},
    {"Swin", "swin", RULES(swin_rules)},
    {"Swinv2", "swinv2", RULES(swin_rules)},
    {"Segformer", "segformer", RULES(segformer_rules)},
    {"ResNet", "resnet", RULES(resnet_rules)},
    {"ConvNext", "convnext", RULES(convnext_rules)},
    {"CLIP", NULL, RULES(clip_rules), .model = ""},
    {"Siglip", NULL, RULES(clip_rules), .model = ""},
    {"Siglip2", NULL, RULES(clip_rules), .model = ""},
    {"CLIPText", "text_model", RULES(clip_rules),
     .classes = "CLIP", .model = "", .within = "text_model"},
    {"CLIPVision", "vision_model", RULES(clip_rules),
     .classes = "CLIP", .model = "", .within = "vision_model"},
    {"SiglipText", "text_model", RULES(clip_rules),
     .classes = "Siglip", .model = "", .within = "text_model"},
    {"SiglipVision", "vision_model", RULES(clip_rules),
     .classes = "Siglip", .model = "", .within = "vision_model"},
    {"Wav2Vec2", "wav2vec2", RULES(wav2vec2_rules)},
    {"Hubert", "hubert", RULES(wav2vec2_rules)},
    {"WavLM", "wavlm", RULES(wav2vec2_rules)},
};
/* clang-format on */
const size_t n_class_families = COUNT_OF(class_families);
