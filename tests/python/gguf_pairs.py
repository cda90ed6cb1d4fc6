"""Small models of transformers with random weights, and their GGUF written with gguf-py as
llama.cpp's convert_hf_to_gguf.py does: its names, its order of rows, its shifts."""

import re

import gguf
import numpy
import torch
from gguf import GGMLQuantizationType as Type
from gguf import quants

LAYERS, HEADS, KV_HEADS, WIDE, INNER, VOCABULARY = 2, 4, 2, 64, 128, 96
SIZES = {
    "hidden_size": WIDE,
    "intermediate_size": INNER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 32,
    "pad_token_id": 0,
}
# Class and configuration of transformers, what else it is made with.
MODELS = {
    "llama": ("Llama", {"tie_word_embeddings": False}),
    "mistral": ("Mistral", {}),
    "qwen2": ("Qwen2", {}),
    "qwen3": ("Qwen3", {"head_dim": WIDE // HEADS}),
    "gemma": ("Gemma", {"head_dim": WIDE // HEADS}),
    "gemma2": ("Gemma2", {"head_dim": WIDE // HEADS}),
    "gemma3": ("Gemma3Text", {"head_dim": WIDE // HEADS}),
    "phi3": ("Phi3", {}),
    "mixtral": ("Mixtral", {"num_local_experts": 3}),
    "qwen2moe": ("Qwen2Moe", {"num_experts": 3, "moe_intermediate_size": 32,
                              "shared_expert_intermediate_size": 64}),
    "qwen3moe": ("Qwen3Moe", {"num_experts": 3, "moe_intermediate_size": 32,
                              "head_dim": WIDE // HEADS}),
    "gpt2": ("GPT2", {"n_embd": WIDE, "n_layer": LAYERS, "n_head": HEADS,
                      "vocab_size": VOCABULARY, "n_positions": 32}),
    "bert": ("Bert", {}),
    "bloom": ("Bloom", {"n_layer": LAYERS, "n_head": HEADS}),
    "gptneox": ("GPTNeoX", {}),
    "falcon": ("Falcon", {"multi_query": False, "new_decoder_architecture": False}),
    "mpt": ("Mpt", {"d_model": WIDE, "n_layers": LAYERS, "n_heads": HEADS}),
    "starcoder": ("GPTBigCode", {"n_embd": WIDE, "n_layer": LAYERS, "n_head": HEADS,
                                 "n_positions": 32}),
    "starcoder2": ("Starcoder2", {}),
    "phi2": ("Phi", {}),
    "stablelm": ("StableLm", {"qk_layernorm": True}),
    "olmo": ("Olmo", {}),
    "olmo2": ("Olmo2", {}),
    "olmoe": ("Olmoe", {"num_experts": 3, "intermediate_size": 32}),
    "command-r": ("Cohere", {"use_qk_norm": True}),
    "granite": ("Granite", {}),
    "glm4": ("Glm4", {"head_dim": WIDE // HEADS}),
    "exaone4": ("Exaone4", {}),
    "apertus": ("Apertus", {}),
    "hunyuan-dense": ("HunYuanDenseV1", {"head_dim": WIDE // HEADS}),
    "ernie4_5": ("Ernie4_5", {"head_dim": WIDE // HEADS}),
    "smollm3": ("SmolLM3", {}),
    "nemotron": ("Nemotron", {}),
    "deepseek2": ("DeepseekV3", {
        "n_routed_experts": 4, "n_group": 1, "topk_group": 1, "num_experts_per_tok": 1,
        "moe_intermediate_size": 32, "first_k_dense_replace": 1, "q_lora_rank": 32,
        "kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8,
        "v_head_dim": 16, "num_key_value_heads": HEADS}),
    "gpt-oss": ("GptOss", {"num_local_experts": 3, "head_dim": WIDE // HEADS}),
    "mamba": ("Mamba", {"state_size": 8}),
    "falcon-mamba": ("FalconMamba", {"state_size": 8}),
    "mamba2": ("Mamba2", {"num_heads": 8, "head_dim": 16, "n_groups": 2,
                          "state_size": 8}),
    "t5": ("T5", {"d_model": WIDE, "d_kv": 16, "d_ff": INNER, "num_layers": LAYERS,
                  "num_heads": HEADS}),
    "t5encoder": ("T5", {"d_model": WIDE, "d_kv": 16, "d_ff": INNER, "num_heads": HEADS,
                         "num_layers": LAYERS, "feed_forward_proj": "gated-gelu"}),
    "modern-bert": ("ModernBert", {"bos_token_id": 1, "eos_token_id": 2,
                                   "cls_token_id": 1, "sep_token_id": 2}),
}
# Without an output layer, or with one of their own.
HEADS_OF = {"bert": "Model", "gpt2": "LMHeadModel", "t5encoder": "EncoderModel",
            "t5": "ForConditionalGeneration", "modern-bert": "Model"}
# One key and value for each query.
SQUARE = ("gpt2", "bert", "phi3", "bloom", "gptneox", "falcon", "mpt", "starcoder", "t5",
          "t5encoder", "modern-bert", "mamba", "falcon-mamba", "mamba2", "deepseek2")
# Names of architectures in GGUF, where they are not the key above.
ARCHITECTURES = {"mistral": "llama", "mixtral": "llama", "falcon-mamba": "mamba"}
# Whose q and k are permuted, and whose fused qkv is grouped.
PERMUTED = ("llama", "granite", "olmo", "smollm3")
GROUPED = ("bloom", "gptneox", "falcon")


def make(kind):
    """The model, every weight random; norms near their initial value."""
    import transformers

    name, more = MODELS[kind]
    config = getattr(transformers, f"{name.removesuffix('Text')}TextConfig"
                     if name.endswith("Text") else f"{name}Config")
    sizes = {**SIZES, **more}
    if kind == "gpt2":
        sizes = more
    elif kind in ("t5", "t5encoder", "mpt", "starcoder"):
        sizes = {**more, "vocab_size": VOCABULARY}
    model = HEADS_OF.get(kind, "ForCausalLM")
    torch.manual_seed(1)
    made = getattr(transformers, name.removesuffix("Text") + model)(config(**sizes))
    with torch.no_grad():
        for one in made.parameters():
            one.add_(torch.randn_like(one) * 0.1)
    return made.eval()


def permuted(weights, heads):
    """As in convert_hf_to_gguf.py."""
    half = weights.shape[0] // heads // 2
    parts = weights.reshape(heads, 2, half, *weights.shape[1:])
    return parts.swapaxes(1, 2).reshape(weights.shape)


def grouped(value):
    """The rows of q, of k and of v of all heads, as for Bloom."""
    parts = value.reshape(HEADS, 3, -1, *value.shape[1:])
    return numpy.concatenate([parts[:, i].reshape(-1, *value.shape[1:])
                              for i in range(3)])


def changed_mamba(kind, name, value):
    if name.endswith(".A_log"):
        value = (-torch.exp(torch.from_numpy(value))).numpy()
    if name.endswith(".conv1d.weight"):
        value = value.squeeze()
    if kind == "mamba2" and name.endswith((".A_log", ".D")):
        value = value.reshape(*value.shape, 1)
    if kind == "mamba2" and name.endswith("mixer.norm.weight"):
        value = value.reshape(2, -1)
    return value


def changed(kind, name, value):
    """What llama.cpp stores for a tensor, as numbers."""
    architecture = ARCHITECTURES.get(kind, kind)
    if architecture in PERMUTED:
        if ".q_proj." in name:
            return permuted(value, HEADS)
        if ".k_proj." in name:
            return permuted(value, KV_HEADS)
    if kind in GROUPED and ".query_key_value." in name:
        return grouped(value)
    if kind.startswith("gemma") and name.endswith("norm.weight"):
        return value + numpy.float32(1)
    if kind == "nemotron" and "norm.weight" in name:
        return value + numpy.float32(1)
    if "mamba" in kind:
        return changed_mamba(kind, name, value)
    conv1d = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
    if kind == "gpt2" and name.endswith(conv1d):
        return numpy.ascontiguousarray(value.T)
    return value




def stacked(state):
    """The state with the experts of a layer as one tensor."""
    lists, rest = {}, {}
    for name, value in state.items():
        head, dot, tail = name.partition(".experts.")
        number, _, tail = tail.partition(".")
        if dot and number.isdigit():
            lists.setdefault(f"{head}.experts.{tail}", {})[int(number)] = value
        else:
            rest[name] = value
    for name in [one for one in rest if "_layernorm.norms." in one]:
        head, _, tail = name.partition(".norms.")
        number, _, tail = tail.partition(".")
        lists.setdefault(f"{head}.norms.{tail}", {})[int(number)] = rest.pop(name)
    for name, values in lists.items():
        rest[name] = numpy.stack([values[i] for i in range(len(values))])
    return rest


# Tensors that the converter renames before it looks them up.
RENAMES = {".dt_bias": ".dt_proj.bias",
           "e_score_correction_bias": "e_score_correction.bias"}
RENAMED = re.compile("|".join(re.escape(one) for one in RENAMES))


def converted(kind, state):
    """{name in GGUF: (names in `state`, numbers)}"""
    architecture = next(arch for arch, name in gguf.MODEL_ARCH_NAMES.items()
                        if name == ARCHITECTURES.get(kind, kind))
    names = gguf.get_tensor_name_map(architecture, LAYERS)
    found = {}
    for name, value in stacked(state).items():
        looked_up = name.replace(".norms.", ".")
        looked_up = RENAMED.sub(lambda at: RENAMES[at[0]], looked_up)
        if kind == "bloom":
            looked_up = looked_up.removeprefix("transformer.")
        new = names.get_name(looked_up, try_suffixes=(".weight", ".bias"))
        if new and not (kind == "gpt-oss" and "experts" in name):
            new += ".weight" if name.endswith(".sinks") else ""
            found[new] = (name, changed(kind, name, value))
    return found


def write(path, kind, tensors, type_of, more=()):
    """A GGUF of `converted` tensors; type_of(name, value) gives the type of each."""
    writer = gguf.GGUFWriter(path, ARCHITECTURES.get(kind, kind))
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS if kind in SQUARE else KV_HEADS)
    stored = {}
    for name, (_, value) in tensors.items():
        kept = type_of(name, value)
        stored[name] = quants.quantize(value, kept)
        writer.add_tensor(name, stored[name], raw_dtype=kept)
        stored[name] = quants.dequantize(stored[name], kept)
    for name, value in more:
        writer.add_tensor(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return stored


def plain(name, value):
    return Type.F32


def matrices(kept):
    """The rule of llama.cpp: matrices in this type, the rest as float32."""
    def type_of(name, value):
        return kept if value.ndim > 1 and value.shape[-1] % 32 == 0 else Type.F32
    return type_of


def state_of(model):
    """As save_pretrained() writes it: names and numbers, tied tensors once."""
    import tempfile
    from safetensors.numpy import load_file

    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        return load_file(f"{folder}/model.safetensors")
