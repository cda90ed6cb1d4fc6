"""Small models of transformers with random weights, and their GGUF written with gguf-py as
llama.cpp's convert_hf_to_gguf.py does: its names, its order of rows, its shifts."""

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
}
# Names of architectures in GGUF, where they are not the key above.
ARCHITECTURES = {"mistral": "llama", "mixtral": "llama"}


def make(kind):
    """The model, every weight random; norms near their initial value."""
    import transformers

    name, more = MODELS[kind]
    config = getattr(transformers, f"{name.removesuffix('Text')}TextConfig"
                     if name.endswith("Text") else f"{name}Config")
    sizes = more if kind == "gpt2" else {**SIZES, **more}
    model = {"bert": "Model", "gpt2": "LMHeadModel"}.get(kind, "ForCausalLM")
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


def changed(kind, name, value):
    """What llama.cpp stores for a tensor, as numbers."""
    if ARCHITECTURES.get(kind, kind) == "llama":
        if ".q_proj." in name:
            return permuted(value, HEADS)
        if ".k_proj." in name:
            return permuted(value, KV_HEADS)
    if kind.startswith("gemma") and name.endswith("norm.weight"):
        return value + numpy.float32(1)
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
    for name, values in lists.items():
        rest[name] = numpy.stack([values[i] for i in range(len(values))])
    return rest


def converted(kind, state):
    """{name in GGUF: (names in `state`, numbers)}"""
    architecture = next(arch for arch, name in gguf.MODEL_ARCH_NAMES.items()
                        if name == ARCHITECTURES.get(kind, kind))
    names = gguf.get_tensor_name_map(architecture, LAYERS)
    found = {}
    for name, value in stacked(state).items():
        new = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if new:
            found[new] = (name, changed(kind, name, value))
    return found


def write(path, kind, tensors, type_of, more=()):
    """A GGUF of `converted` tensors; type_of(name, value) gives the type of each."""
    writer = gguf.GGUFWriter(path, ARCHITECTURES.get(kind, kind))
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS if kind in ("gpt2", "bert", "phi3") else KV_HEADS)
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
