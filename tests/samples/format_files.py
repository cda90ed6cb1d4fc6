"""Small files of many formats with fixed contents, for the golden screens:

    format_files.py FOLDER
"""

import json
import os
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import nn

warnings.filterwarnings("ignore")


def numbers(*shape):
    """Fixed values, as float32."""
    count = int(np.prod(shape))
    return np.sin(np.arange(count, dtype=np.float64)).astype(np.float32).reshape(shape)


def safetensors(path, arrays):
    header, at = {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape),
                        "data_offsets": [at, at + array.nbytes]}  # fmt: skip
        at += array.nbytes
    text = json.dumps(header).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(len(text).to_bytes(8, "little") + text
                     + b"".join(array.tobytes() for array in arrays.values()))  # fmt: skip


def npz(folder):
    """Parameters as flax saves them, and an array of objects."""
    np.savez(folder / "weights.npz", **{
        "params/Dense_0/kernel": numbers(4, 8), "params/Dense_0/bias": numbers(8),
        "params/Dense_1/kernel": np.asfortranarray(numbers(8, 2).astype(">f4")),
        "batch_stats/mean": numbers(8), "step": np.array(300),
        "names": np.array(["cat", "dog"]), "labels": np.array([{"cat": 0}], dtype=object),
    })  # fmt: skip


# Executed under a fixed name: exported programs keep the lines of the user's code.
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 4)
        self.head = nn.Linear(4, 9, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("scale", torch.ones(4))

    def forward(self, x):
        y = torch.relu(self.embed(x) * self.scale).mean(1)
        y = torch.cond(y.sum() > 0, lambda y: y * 2, lambda y: y - 1, (y,))
        return self.head(y)
"""


def fixed(module):
    with torch.no_grad():
        for one in module.parameters():
            one.copy_(torch.from_numpy(numbers(*one.shape)))
    return module.eval()


def program(folder):
    names = {"torch": torch, "nn": nn, "__name__": "net"}
    exec(compile(NET, "net.py", "exec"), names)
    batch = torch.export.Dim("batch", min=1, max=64)
    x = torch.zeros(2, 5, dtype=torch.long)
    made = torch.export.export(fixed(names["Net"]()), (x,), dynamic_shapes={"x": {0: batch}})
    torch.export.save(made, folder / "program.pt2")


def distributed(folder):
    import torch.distributed.checkpoint as dcp

    net = fixed(nn.Sequential(nn.Linear(6, 4), nn.LayerNorm(4)))
    state = {"model": net.state_dict(), "step": 300}
    dcp.save(state, checkpoint_id=folder / "dcp", no_dist=True)
    shutil.copytree(folder / "dcp", folder / "dcp_missing")
    (folder / "dcp_missing" / "__0_0.distcp").unlink()


def keras(folder):
    os.environ["KERAS_BACKEND"] = "torch"
    import keras

    model = keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            keras.layers.Conv2D(4, 3, activation="relu", name="conv"),
            keras.layers.Flatten(name="flatten"),
            keras.layers.Dense(2, name="head"),
        ],
        name="net",
    )
    model.set_weights([numbers(*one.shape) for one in model.get_weights()])
    model.save(folder / "net.keras")


CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 24,
    "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 64,
    "torch_dtype": "float32",
}  # fmt: skip
LAYER = {
    "input_layernorm": (8,), "self_attn.q_proj": (8, 8), "self_attn.k_proj": (4, 8),
    "self_attn.v_proj": (4, 8), "self_attn.o_proj": (8, 8),
    "post_attention_layernorm": (8,), "mlp.gate_proj": (12, 8), "mlp.up_proj": (12, 8),
    "mlp.down_proj": (8, 12),
}  # fmt: skip


def hugging_face(folder):
    """A checkpoint of a Trainer, and an adapter of the model."""
    inner = {f"model.layers.0.{name}.weight": numbers(*shape) for name, shape in LAYER.items()}
    whole = {"model.embed_tokens.weight": numbers(24, 8), **inner,
             "model.norm.weight": numbers(8), "lm_head.weight": numbers(24, 8)}  # fmt: skip
    safetensors(folder / "llama" / "model.safetensors", whole)
    (folder / "llama" / "config.json").write_text(json.dumps(CONFIG))
    torch.save({"state": {}, "param_groups": []}, folder / "llama" / "optimizer.pt")
    pairs = {}
    for name in ("q_proj", "v_proj"):
        at = f"base_model.model.model.layers.0.self_attn.{name}"
        pairs[f"{at}.lora_A.weight"] = numbers(2, 8)
        pairs[f"{at}.lora_B.weight"] = numbers(LAYER[f"self_attn.{name}"][0], 2)
    safetensors(folder / "adapter" / "adapter_model.safetensors", pairs)
    (folder / "adapter" / "adapter_config.json").write_text(json.dumps(
        {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["q_proj", "v_proj"],
         "base_model_name_or_path": "org/llama"}))  # fmt: skip


def main():
    folder = Path(sys.argv[1])
    for make in (npz, program, distributed, keras, hugging_face):
        make(folder)


if __name__ == "__main__":
    main()
