"""Small models of transformers, one or more for each family whose classes torchoscope
knows, and the classes of the modules that version 5 renames while it loads a file."""

import re

TEXT = {"vocab_size": 96, "hidden_size": 32, "intermediate_size": 48,
        "num_hidden_layers": 3, "num_attention_heads": 4, "pad_token_id": 0}  # fmt: skip
PICTURE = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3,
           "num_attention_heads": 4, "image_size": 32, "patch_size": 8}  # fmt: skip
DECODER = {**TEXT, "num_key_value_heads": 2, "head_dim": 8}
EXPERTS = {**DECODER, "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4,
           "moe_num_experts": 4, "num_experts_per_tok": 1, "moe_k": 1,
           "moe_intermediate_size": 16, "shared_expert_intermediate_size": 24,
           "first_k_dense_replace": 1, "moe_layer_start_index": 1, "n_group": 1,
           "topk_group": 1}  # fmt: skip
DEEPSEEK = {**EXPERTS, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 4,
            "qk_nope_head_dim": 8, "v_head_dim": 8}  # fmt: skip
GPT = {"vocab_size": 96, "n_embd": 32, "n_layer": 3, "n_head": 4}
MAMBA = {"vocab_size": 96, "hidden_size": 32, "num_hidden_layers": 3, "pad_token_id": 0}
T5 = {"vocab_size": 96, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2,
      "num_decoder_layers": 3, "num_heads": 4, "pad_token_id": 0}  # fmt: skip
BART = {"vocab_size": 96, "d_model": 32, "encoder_layers": 2, "decoder_layers": 3,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4,
        "encoder_ffn_dim": 48, "decoder_ffn_dim": 40, "pad_token_id": 0,
        "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}  # fmt: skip
SOUND = {"vocab_size": 32, "hidden_size": 32, "num_hidden_layers": 3,
         "num_attention_heads": 4, "intermediate_size": 48, "conv_dim": (16, 16),
         "conv_stride": (2, 2), "conv_kernel": (3, 3), "num_feat_extract_layers": 2,
         "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4}  # fmt: skip
STABLE = {**SOUND, "do_stable_layer_norm": True, "feat_extract_norm": "layer"}
SWIN = {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [1, 2],
        "num_heads": [2, 2], "window_size": 4}  # fmt: skip
BOTH = {"text_config": TEXT, "vision_config": PICTURE}

# {(class, class of its configuration): settings}
MODELS = {
    **{(f"{one}ForCausalLM", f"{one}Config"): DECODER for one in
       "Llama Mistral Qwen2 Qwen3 Gemma Gemma2 Phi3 Granite Olmo2 Olmo3 SmolLM3 Glm "
       "Glm4 Helium Ernie4_5 Exaone4 Arcee Apertus SeedOss Ministral HunYuanDenseV1 "
       "VaultGemma Cohere Cohere2 Nemotron Olmo StableLm Starcoder2 Phi".split()},
    **{(f"{one}ForCausalLM", f"{one}Config"): EXPERTS for one in
       "Mixtral Phimoe Qwen2Moe Qwen3Moe Olmoe Glm4Moe GptOss Qwen3Next "
       "Ernie4_5_Moe".split()},
    **{(f"Deepseek{one}ForCausalLM", f"Deepseek{one}Config"): DEEPSEEK
       for one in ("V2", "V3")},
    ("Gemma3ForCausalLM", "Gemma3TextConfig"): DECODER,
    ("Llama4ForCausalLM", "Llama4TextConfig"): DECODER,
    ("PersimmonForCausalLM", "PersimmonConfig"): TEXT,
    ("GPT2LMHeadModel", "GPT2Config"): {**GPT, "n_inner": 48},
    ("GPTJForCausalLM", "GPTJConfig"): {**GPT, "rotary_dim": 4},
    ("CodeGenForCausalLM", "CodeGenConfig"): {**GPT, "rotary_dim": 4},
    ("GPTBigCodeForCausalLM", "GPTBigCodeConfig"): GPT,
    ("GPTNeoForCausalLM", "GPTNeoConfig"): {
        "vocab_size": 96, "hidden_size": 32, "num_layers": 2, "num_heads": 4,
        "attention_types": [[["global", "local"], 1]]},
    ("BloomForCausalLM", "BloomConfig"): {
        "vocab_size": 96, "hidden_size": 32, "n_layer": 3, "n_head": 4},
    ("FalconForCausalLM", "FalconConfig"): TEXT,
    ("GPTNeoXForCausalLM", "GPTNeoXConfig"): TEXT,
    ("MptForCausalLM", "MptConfig"): {
        "vocab_size": 96, "d_model": 32, "n_layers": 3, "n_heads": 4},
    ("OPTForCausalLM", "OPTConfig"): {**TEXT, "ffn_dim": 48, "word_embed_proj_dim": 16},
    ("MambaForCausalLM", "MambaConfig"): MAMBA,
    ("FalconMambaForCausalLM", "FalconMambaConfig"): MAMBA,
    ("Mamba2ForCausalLM", "Mamba2Config"): {
        **MAMBA, "num_heads": 8, "head_dim": 8, "n_groups": 1, "state_size": 8},
    ("RwkvForCausalLM", "RwkvConfig"): {
        "vocab_size": 96, "hidden_size": 32, "num_hidden_layers": 3},
    **{(f"{one}ForMaskedLM", f"{one}Config"): TEXT for one in
       "Bert Roberta XLMRoberta Camembert Ernie XLMRobertaXL RoFormer Longformer "
       "LayoutLM Esm MPNet".split()},
    **{(f"{one}ForMaskedLM", f"{one}Config"): {
        **TEXT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"],
        "conv_kernel_size": 3} for one in ("Deberta", "DebertaV2")},
    ("RobertaForSequenceClassification", "RobertaConfig"): TEXT,
    ("ElectraForPreTraining", "ElectraConfig"): {**TEXT, "embedding_size": 16},
    ("AlbertForMaskedLM", "AlbertConfig"): {**TEXT, "embedding_size": 16},
    ("DistilBertForMaskedLM", "DistilBertConfig"): {
        "vocab_size": 96, "dim": 32, "hidden_dim": 48, "n_layers": 3, "n_heads": 4,
        "pad_token_id": 0},
    ("ModernBertForMaskedLM", "ModernBertConfig"): {
        **TEXT, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1,
        "sep_token_id": 2},
    **{(f"{one}ForConditionalGeneration", f"{one}Config"): T5
       for one in ("T5", "MT5", "UMT5")},
    ("T5EncoderModel", "T5Config"): {**T5, "feed_forward_proj": "gated-gelu"},
    ("T5ForSequenceClassification", "T5Config"): T5,
    ("MarianMTModel", "MarianConfig"): BART,
    **{(f"{one}ForConditionalGeneration", f"{one}Config"): BART for one in
       "Bart MBart Pegasus M2M100 Blenderbot PLBart".split()},
    ("WhisperForConditionalGeneration", "WhisperConfig"): {**BART, "num_mel_bins": 16},
    **{(f"{one}ForImageClassification", f"{one}Config"): PICTURE for one in
       "ViT DeiT Beit Dinov2 Dinov2WithRegisters".split()},
    ("ViTMAEForPreTraining", "ViTMAEConfig"): PICTURE,
    ("ASTForAudioClassification", "ASTConfig"): {
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 48, "max_length": 64, "num_mel_bins": 32},
    ("SwinForImageClassification", "SwinConfig"): SWIN,
    ("Swinv2ForImageClassification", "Swinv2Config"): SWIN,
    ("SegformerForSemanticSegmentation", "SegformerConfig"): {
        "num_encoder_blocks": 2, "depths": [1, 2], "sr_ratios": [2, 1],
        "hidden_sizes": [16, 32], "patch_sizes": [7, 3], "strides": [4, 2],
        "num_attention_heads": [1, 2], "mlp_ratios": [2, 2],
        "decoder_hidden_size": 16},
    ("ResNetForImageClassification", "ResNetConfig"): {
        "embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 2]},
    ("ConvNextForImageClassification", "ConvNextConfig"): {
        "hidden_sizes": [16, 32], "depths": [1, 2], "num_stages": 2},
    ("CLIPModel", "CLIPConfig"): {**BOTH, "projection_dim": 16},
    ("CLIPTextModel", "CLIPTextConfig"): TEXT,
    ("CLIPTextModelWithProjection", "CLIPTextConfig"): TEXT,
    ("CLIPVisionModelWithProjection", "CLIPVisionConfig"): PICTURE,
    ("SiglipModel", "SiglipConfig"): BOTH,
    ("Siglip2Model", "Siglip2Config"): {"text_config": TEXT, "vision_config": {
        key: value for key, value in PICTURE.items() if key != "image_size"}},
    ("SiglipVisionModel", "SiglipVisionConfig"): PICTURE,
    ("Wav2Vec2ForCTC", "Wav2Vec2Config"): SOUND,
    ("HubertForCTC", "HubertConfig"): STABLE,
    ("WavLMForCTC", "WavLMConfig"): STABLE,
}  # fmt: skip

_VIT = {
    "encoder": "*Encoder", "encoder.layer": "ModuleList", "encoder.layer.*": "*Layer",
    "encoder.layer.*.attention": "*Attention",
    "encoder.layer.*.attention.attention": "*SelfAttention",
    "encoder.layer.*.attention.output": "*SelfOutput",
    "encoder.layer.*.intermediate": "*Intermediate",
    "encoder.layer.*.output": "*Output",
}  # fmt: skip
_MIXTRAL = {
    "layers.*.block_sparse_moe": "*SparseMoeBlock",
    "layers.*.block_sparse_moe.experts": "ModuleList",
    "layers.*.block_sparse_moe.experts.*": "*BlockSparseTop2MLP",
}
_SWIN = "encoder.layers.*.blocks.*"
_SEGFORMER = {
    "encoder": "*Encoder", "encoder.block": "ModuleList",
    "encoder.block.*": "ModuleList", "encoder.block.*.*": "*Layer",
    "encoder.block.*.*.attention": "*Attention",
    "encoder.block.*.*.attention.output": "*SelfOutput",
    "encoder.block.*.*.attention.self": "*EfficientSelfAttention",
    "encoder.block.*.*.mlp": "*MixFFN", "encoder.block.*.*.mlp.dwconv": "*DWConv",
    "encoder.layer_norm": "ModuleList", "encoder.patch_embeddings": "ModuleList",
    "encoder.patch_embeddings.*": "*OverlapPatchEmbeddings",
}  # fmt: skip
# Modules that version 5 does not have, though it writes files with their names: below
# the base model, with the classes of version 4.57. "*" is the name of the family.
OLD = {
    **{one: _VIT for one in ("ViT", "ViTMAE", "DeiT", "Beit", "AST", "Dinov2",
                             "Dinov2WithRegisters")},
    **{one: _MIXTRAL for one in ("Mixtral", "Phimoe")},
    **{one: {"layers.*.mlp.experts.*": "*MLP"} for one in
       "Qwen2Moe Qwen3Moe Olmoe DeepseekV2 DeepseekV3 Glm4Moe Qwen3Next "
       "Ernie4_5_Moe".split()},
    "Swin": {f"{_SWIN}.attention.output": "*SelfOutput", f"{_SWIN}.output": "*Output",
             f"{_SWIN}.attention.self": "*SelfAttention",
             f"{_SWIN}.intermediate": "*Intermediate"},
    "Segformer": _SEGFORMER,
}  # fmt: skip


def family_of(name):
    """ "Llama" of LlamaForCausalLM."""
    heads = "For|LMHeadModel|MTModel|EncoderModel|(Text|Vision)?Model"
    return re.match(rf"(.+?)({heads})", name)[1]


def build(name, config=None, **more):
    """A model with random weights."""
    import torch
    import transformers

    config = config or next(of for one, of in MODELS if one == name)
    settings = {**MODELS.get((name, config), {}), **more}
    torch.manual_seed(0)
    return getattr(transformers, name)(getattr(transformers, config)(**settings))


def true_classes(model, tensors):
    """{name: class} of the modules that hold these tensors, as the file names them."""
    family, base = family_of(type(model).__name__), model.base_model_prefix + "."
    modules = {name: type(one).__name__ for name, one in model.named_modules()}
    old, found = OLD.get(family, {}), {}
    for tensor in tensors:
        parts = tensor.split(".")[:-1]
        for end in range(len(parts) + 1):
            name = ".".join(parts[:end])
            below = re.sub(r"\.\d+(?=\.|$)", ".*", name.removeprefix(base))
            if name in modules:
                found[name] = modules[name]
            elif below in old:
                found[name] = old[below].replace("*", family)
    return found
