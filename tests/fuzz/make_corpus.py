#!/usr/bin/env python3
"""Seeds for the fuzz targets, from the samples and the hostile files.

    make_corpus.py [FOLDER]

They go to build/fuzz/corpus/NAME/, where tools/fuzz.sh also saves new inputs.
Inputs that once caused a failure are in tests/fuzz/corpus/NAME/ instead; `make test`
replays them.
"""

import hashlib
import io
import json
import os
import sqlite3
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "samples"))
sys.path.insert(0, str(ROOT / "tests" / "python"))

import flat_files  # noqa: E402
import gguf_files  # noqa: E402
import hostile  # noqa: E402
import scope  # noqa: E402

LARGEST = 30_000
SEPARATOR = b"\n----\n"


def members(path):
    try:
        with zipfile.ZipFile(path) as archive:
            return {
                name.split("/", 1)[-1]: archive.read(name)
                for name in archive.namelist()
            }
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError):
        return {}


def script_seed(parts):
    code = b"\n".join(data for name, data in parts.items() if name.endswith(".py"))
    pieces = [parts["data.pkl"], parts.get("constants.pkl", b""), code]
    return SEPARATOR.join([*pieces, parts.get("data/0", b"")])


def exported_seed(parts):
    config = parts.get("data/weights/model_weights_config.json", b"{}")
    return SEPARATOR.join([parts["models/model.json"], config])


def checkpoint_seed(folder):
    return SEPARATOR.join(
        [(folder / ".metadata").read_bytes(), (folder / "__0_0.distcp").read_bytes()]
    )


def recordings():
    """Recordings that unit tests of src/run write, with small pages to stay short."""
    yield from recording(
        "a_seed_for_the_fuzz_target",
        "",
        "INSERT INTO section VALUES(2, 'graph', 1)",
        "DELETE FROM call WHERE id > 3",
        "DELETE FROM value WHERE id > 3",
        "DELETE FROM model_place WHERE id > 3",
        "DROP TABLE section; PRAGMA user_version = 1",
    )
    yield from recording(
        "an_ops_seed_for_the_fuzz_target",
        "",
        "UPDATE section SET version = 2 WHERE name = 'ops'",
        "UPDATE section SET version = 1; DELETE FROM op_total",
        "DELETE FROM op_io WHERE id > 3",
        "DELETE FROM op WHERE id > 3",
        "ALTER TABLE value DROP COLUMN op_value",
    )


def histories():
    """Histories that a unit test of src/history writes."""
    yield from recording(
        "a_history_seed_for_the_fuzz_target",
        "",
        "DELETE FROM history_point WHERE id % 16777216 = 1",
        "DELETE FROM history_step WHERE id > 3",
        "UPDATE history_step SET phase = 1 WHERE id > 5",
        program="test_history",
    )


def requests():
    """Requests to the server: valid and invalid ones."""
    files = "recording", "w.safetensors", "run.scope"
    questions = [
        *("shelf", "news?since=0", "info?", "show?", "show?name=a.weight&slice=0,0&bins=3"),
        *("show?name=a.w&quantiles=5,50", "show?name=a.weight&step=newest", "check?"),
        *("diff?right=w.safetensors&all", "rows?", "rows?columns=params", "graph?level=ops"),
        *("training?columns=9", "modules?columns=7&from=1&to=5", "step?step=3"),
        *("series?place=a.weight&columns=9&rows=8", "timeline?", "code?name=a"),
        *("attributes?name=a", "nothing?"),
    ]
    for question in questions:
        for file in files if "?" in question and "since" not in question else ("",):
            yield f"GET api/{question}&file={file}\n" if file else f"GET api/{question}\n"
    static = "", "page.js", "more.js", "page.css"
    for path in *static, "events?since=3", "../etc/passwd", "%2e%2e%2f":
        yield f"GET {path}\nhost: hub.example.org:80\norigin: http://evil.example\n"
        yield f"HEAD {path}\nhost: localhost:1\ntoken: T\netag: \"0\"\n"
    yield "GET export?file=run.scope&form=csv\n"
    yield "POST api/shelf\nbody: 1\nodd: 1\n"


def recording(test, *changes, program="test_run"):
    """The recording that a unit test writes, after each of the changes."""
    program = ROOT / "build/c/src" / program
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seed.scope"
        subprocess.run(
            [program, test],
            env={**os.environ, "TORCHOSCOPE_SEED": str(path)},
            cwd=ROOT,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        database = sqlite3.connect(path)
        for change in changes:
            database.executescript(change)
            database.execute("PRAGMA page_size = 512")
            database.execute("VACUUM")
            yield path.read_bytes()
        database.close()


PACKED = (
    "fc.qweight I32 8,32\nfc.qzeros I32 4,4\nfc.scales F16 4,32\nfc.g_idx I32 64",
    "fc.qweight I32 64,4\nfc.qzeros I32 4,4\nfc.scales F16 4,32",
    "fc.weight U8 16,1\nfc.weight.absmax F32 4\nfc.weight.quant_map F32 16\n"
    "fc.weight.quant_state.bitsandbytes__nf4 U8 52",
    "fc.weight I8 4,6\nfc.SCB F32 4",
    "fc.weight_packed I32 4,8\nfc.weight_scale F16 4,2\nfc.weight_shape I64 2\n"
    "fc.weight_zero_point I32 1,2",
    "fc.weight F8_E4M3 130,9\nfc.weight_scale_inv F32 2,1",
    "fc.weight_packed U8 4,16\nfc.weight_scale F8_E4M3 4,2\nfc.weight_global_scale F32 1",
    "fc.weight U8 4,16\nfc.weight_scale F8_E4M3 4,2\nfc.weight_scale_2 F32",
    "fc.weight_packed U8 4,32\nfc.weight_scale U8 4,2",
    "fc.weight_packed U8 4,48\nfc.weight_scale F8_E8M0 4,2",
    "fc.weight F8_E4M3 4,64\nfc.weight_scale U8 4,2",
    "fc.up_blocks U8 2,6,4,16\nfc.up_scales U8 2,6,4\nfc.up F32 1",
    "fc.weight U32 3,4,6\nfc.scales F16 3,4,2\nfc.biases F16 3,4,2",
    "fc.weight U32 4,8\nfc.scales U8 4,2",
    "fc.weight U32 4,8\nfc.scales U8 4,4",
    "fc.weight U32 4,16\nfc.scales U8 4,2",
    "fc.weight._data I8 4,2,3\nfc.weight._scale F32 4,1,1\nfc.input_scale F32",
    "fc.weight._data._data U8 2,3,3\nfc.weight._scale F32 4,1,1\nfc.weight._shift F32 4,1,1",
    "fc.codes U8 4,8\nfc.codebooks F16 4,8\nfc.scales F16 4",
)
# The bytes begin with bits, axis, and the shape.
HQQ = "fc.nbits I32\nfc.axis I32\nfc.shape I64 2\n" \
      "fc.W_q {} 2,8\nfc.scale F32 {}\nfc.zero F32 {}"  # fmt: skip
FLATTENED = {
    "Int8Tensor": ("fc._weight_qdata I8 4,8\nfc._weight_scale F32 4,1\n"
                   "fc._weight_zero_point I8 4,1", [1, 8]),
    "Float8Tensor": ("fc._weight_qdata F8_E4M3 2,4,8\nfc._weight_scale F32 2,1,1", [1, 4, 8]),
    "IntxUnpackedToInt8Tensor": ("fc._weight_qdata I8 4,64\nfc._weight_scale BF16 4,2\n"
                                 "fc._weight_zero_point I8 4,2", [1, 32]),
    "Int4Tensor": ("fc._weight_qdata I8 4,32\nfc._weight_scale BF16 2,4\n"
                   "fc._weight_zero_point BF16 2,4", [1, 32]),
    "MXTensor": ("fc._weight_qdata U8 4,32\nfc._weight_scale F8_E8M0 32,16", 32),
    "NVFP4Tensor": ("fc._weight_qdata U8 2,4,32\nfc._weight_scale F8_E4M3 2,4,4\n"
                    "fc._weight_per_tensor_scale F32 2,1,1", 16),
}  # fmt: skip


def packed():
    """Lists of tensors, metadata, and bytes: see fuzz_packed.c."""
    state = b'{"quant_type":"nf4","blocksize":8,"shape":[4,8]}    '
    for tensors in PACKED:
        yield SEPARATOR.join([tensors.encode(), b"", bytes(range(90)) + state])
    for bits, axis, rows in (4, 1, 4), (4, 0, 4), (3, 1, 17), (8, 1, 2), (1, 1, 16):
        sides = f"{rows},1" if axis else "1,8"
        tensors = HQQ.format("I32" if bits == 3 else "U8", sides, sides)
        data = struct.pack("<2i2q", bits, axis, rows, 8) + bytes(range(64))
        yield SEPARATOR.join([tensors.encode(), b"", data])
    for kind, (tensors, blocks) in FLATTENED.items():
        said = {"_type": kind, "_data": {"block_size": blocks,
                "elem_dtype": "float4_e2m1fn_x2", "is_swizzled_scales": kind == "MXTensor",
                "target_dtype": {"_type": "torch.dtype", "_data": "int4"}}}  # fmt: skip
        parts = [tensors.encode(), json.dumps(said).encode(), bytes(range(64))]
        yield SEPARATOR.join(parts)


def arrays():
    """Headers of numpy, and a zip of arrays."""
    for kind in "<f4", ">f8", "|b1", "<c16", "|S3", "<U2", "|O", "<M8[ns]", "|V5":
        for order in "True", "False":
            text = f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': (2, 3), }}\n"
            yield text.encode() + bytes(range(96))
    yield b"{'descr': [('a', '<f4'), ('b', '|u1', (2,))], 'fortran_order': False, " \
          b"'shape': (), }\n123456"  # fmt: skip
    head = b"\x93NUMPY\x01\x00\x3a\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("a.npy", head.ljust(67) + b"\n12345678")
        archive.writestr("b/c.npy", head.ljust(67) + b"\n1234")
    yield held.getvalue()


def beside():
    """Configurations and tokenizers of a model's folder: see fuzz_beside.c."""
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 6,
              "hidden_size": 4, "num_hidden_layers": 1, "torch_dtype": "torch.float16",
              "auto_map": {}, "rope_scaling": {"rope_type": "yarn", "factor": 2.5},
              "text_config": {"hidden_size": 8},
              "quantization_config": {"quant_method": "gptq", "bits": 4,
                                      "checkpoint_format": "gptq_v2"}}  # fmt: skip
    adapter = {"peft_type": "LORA", "r": 8, "lora_alpha": 16.5, "target_modules": ["q_proj"],
               "base_model_name_or_path": "a/b"}  # fmt: skip
    settings = {"tokenizer_class": "LlamaTokenizer", "bos_token": {"content": "<s>"},
                "eos_token": "</s>", "model_max_length": 1e30,
                "chat_template": "{{ x }}"}  # fmt: skip
    tokenizer = {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]},
                 "added_tokens": [{"id": 5, "content": "<s>", "special": True}]}  # fmt: skip
    texts = [json.dumps(one).encode() for one in (config, adapter, settings, tokenizer)]
    yield SEPARATOR.join(texts)
    for i in range(4):
        yield SEPARATOR.join(text if i == j else b"" for j, text in enumerate(texts))
    for family in "gpt2", "bert", "phi3", "gemma2", "qwen3":
        yield json.dumps({"model_type": family, "n_embd": 4, "n_layer": 1}).encode()


def flatbuffers():
    """Models of every kind, and real files if they are at hand."""
    for makers in flat_files.TFLITE, flat_files.EXECUTORCH:
        yield from (make() for make in makers.values())
    yield flat_files.turning(3, 2)
    yield flat_files.turning(3, 2, to_itself=True)
    for name in ("*/*.tflite", "*/*.pte"):
        for path in sorted(scope.MODELS.glob(name)):
            yield path.read_bytes()


def hdf5_files():
    """Files made with h5py, if the tests' Python has it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [scope.VENV, ROOT / "tests/samples/hdf5_files.py", folder]
        if subprocess.run(command, capture_output=True).returncode == 0:
            for path in sorted(Path(folder).iterdir()):
                yield path.read_bytes()


def networks():
    """ONNX files, if the package is installed: whole, and their graphs alone."""
    try:
        import onnx
        import onnx_models
    except ImportError:
        return
    for maker in onnx_models.MADE.values():
        model = maker()
        yield model.SerializeToString()
        yield model.graph.SerializeToString()
    folder = scope.MODELS
    for path in sorted(folder.rglob("*.onnx")) if folder.exists() else []:
        if path.stat().st_size <= LARGEST:
            yield path.read_bytes()
            yield onnx.load(path, load_external_data=False).graph.SerializeToString()


def seeds():
    """(target, bytes) of every seed."""
    for data in hdf5_files():
        yield "hdf5", data
    for data in flatbuffers():
        yield "flatbuffer", data
    for data in networks():
        yield "onnx", data
    for data in packed():
        yield "packed", data
    for data in arrays():
        yield "npy", data
    for data in beside():
        yield "beside", data
    for data in recordings():
        yield "scope", data
    for data in histories():
        yield "history", data
    for text in requests():
        yield "web", text.encode()
    folder, manifest = scope.samples()
    files = [folder / name for name in manifest["files"]]
    for path in files:
        if (path / "__0_0.distcp").exists():
            yield "dcp", checkpoint_seed(path)
        if path.is_dir():
            continue
        data = path.read_bytes()
        if path.suffix == ".gguf":
            continue  # too long: gguf_files.seeds() has shorter ones
        if path.suffix == ".safetensors":
            yield "safetensors", data
            yield "json", data[8 : 8 + int.from_bytes(data[:8], "little")]
        elif path.suffix == ".json":
            yield "json", data
        elif path.suffix == ".pkl":
            yield "pickle", data[2:] if data[0] == 0x80 else data
        else:
            yield "torch", data
        parts = members(path)
        if parts:
            yield "zip", data
        if "data.pkl" in parts:
            yield "pickle", parts["data.pkl"][2:]
        if "models/model.json" in parts:
            yield "pt2", exported_seed(parts)
        if "constants.pkl" in parts:
            yield "torchscript", script_seed(parts)
    for data in gguf_files.seeds():
        yield "gguf", data
    for name, data, _ in hostile.all_files():
        kind = name.split("_")[0]
        target = {"zip": "zip", "safe": "safetensors", "gguf": "gguf"}.get(kind, "torch")
        if name.endswith(".pkl"):
            target, data = "pickle", data[2:]
        yield target, data


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/fuzz/corpus"
    for target, data in seeds():
        if len(data) <= LARGEST or target == "flatbuffer" and len(data) < 64_000:
            name = hashlib.sha1(data).hexdigest()
            place = folder / target
            place.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(data)
    for place in sorted(folder.iterdir()):
        print(place.name, len(list(place.iterdir())))


if __name__ == "__main__":
    main()
