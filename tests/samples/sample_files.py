"""Files written byte by byte: safetensors, torch 0.1 tar, zips packed anew, shards."""

import collections
import hashlib
import io
import json
import math
import pickle
import struct
import tarfile
import zipfile

import numpy
import torch

import truth

# safetensors code: torchoscope's name, bits of an element, how to read it. Small floats
# are (exponent bits, mantissa bits, bias, what the topmost patterns mean).
CODES = {
    "BOOL": ("bool", 8, "u1"),
    "U8": ("uint8", 8, "u1"),
    "I8": ("int8", 8, "i1"),
    "I16": ("int16", 16, "<i2"),
    "U16": ("uint16", 16, "<u2"),
    "F16": ("float16", 16, "<f2"),
    "BF16": ("bfloat16", 16, "bf16"),
    "I32": ("int32", 32, "<i4"),
    "U32": ("uint32", 32, "<u4"),
    "F32": ("float32", 32, "<f4"),
    "F64": ("float64", 64, "<f8"),
    "I64": ("int64", 64, "<i8"),
    "U64": ("uint64", 64, "<u8"),
    "C64": ("complex64", 64, "<c8"),
    "F8_E4M3": ("float8_e4m3fn", 8, (4, 3, 7, "fn")),
    "F8_E5M2": ("float8_e5m2", 8, (5, 2, 15, "ieee")),
    "F8_E4M3FNUZ": ("float8_e4m3fnuz", 8, (4, 3, 8, "uz")),
    "F8_E5M2FNUZ": ("float8_e5m2fnuz", 8, (5, 2, 16, "uz")),
    "F8_E8M0": ("float8_e8m0fnu", 8, "e8m0"),
    "F6_E2M3": ("float6_e2m3", 6, (2, 3, 1, "finite")),
    "F6_E3M2": ("float6_e3m2", 6, (3, 2, 3, "finite")),
    "F4": ("float4_e2m1", 4, (2, 1, 1, "finite")),
}


def small_float(code, exponent_bits, mantissa_bits, bias, top):
    """The value of one minifloat, by its definition."""
    sign = -1.0 if code >> (exponent_bits + mantissa_bits) & 1 else 1.0
    exponent = code >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = code & (1 << mantissa_bits) - 1
    highest = exponent == (1 << exponent_bits) - 1
    if top == "uz" and code == 1 << (exponent_bits + mantissa_bits):
        return math.nan
    if top == "ieee" and highest:
        return math.nan if mantissa else sign * math.inf
    if top == "fn" and highest and mantissa == (1 << mantissa_bits) - 1:
        return math.nan
    if exponent == 0:
        return sign * mantissa * 2.0 ** (1 - bias - mantissa_bits)
    return sign * (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)


def numbers_of(how, bits, count, raw):
    """The values in `raw`, by the description in CODES."""
    if isinstance(how, tuple):
        whole = int.from_bytes(raw, "little")
        codes = [whole >> i * bits & (1 << bits) - 1 for i in range(count)]
        return numpy.array([small_float(code, *how) for code in codes], float)
    if how == "e8m0":
        return numpy.array([math.nan if b == 255 else 2.0 ** (b - 127) for b in raw])
    if how == "bf16":
        wide = numpy.frombuffer(raw, "<u2").astype("<u4") << 16
        return wide.astype("<u4").view("<f4").astype(float)
    array = numpy.frombuffer(raw, how)
    if array.dtype.kind == "c":
        return numpy.hypot(array.real.astype(float), array.imag.astype(float))
    wide = {"i": numpy.int64, "u": numpy.uint64, "f": float}
    return array.astype(wide[array.dtype.kind])


def c_strides(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    return strides


def fact_of(name, code, shape, raw):
    dtype, bits, how = CODES[code]
    values = numbers_of(how, bits, math.prod(shape), raw)
    return {
        "name": name,
        "shape": list(shape),
        "dtype": dtype,
        "layout": "strided",
        "strides": c_strides(shape),
        "sha256": hashlib.sha256(raw).hexdigest(),
        "stats": truth.summary(values),
    }


def safetensors_bytes(tensors, metadata=None, pad=True):
    """[(name, code, shape, bytes)] as a safetensors file."""
    header, at = {}, 0
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, code, shape, raw in tensors:
        place = [at, at + len(raw)]
        header[name] = {"dtype": code, "shape": list(shape), "data_offsets": place}
        at += len(raw)
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    if pad:
        text += b" " * (-len(text) % 8)
    data = b"".join(tensor[3] for tensor in tensors)
    return struct.pack("<Q", len(text)) + text + data


def gguf_fact(name, shape, kind, raw):
    """The values of blocks are compared in tests/python/gguf_test.py."""
    codes = {"f32": "F32", "f16": "F16", "bf16": "BF16", "i32": "I32"}
    if kind in codes:
        return fact_of(name, codes[kind], shape, raw)
    return {"name": name, "shape": list(shape), "dtype": kind, "layout": "strided",
            "strides": c_strides(shape)}


def every_code():
    """One tensor of each dtype code, with all byte patterns in turn."""
    tensors = []
    for i, (code, (_, bits, _)) in enumerate(CODES.items()):
        shape = (4, 64)
        size = math.prod(shape) * bits // 8
        raw = bytes((b * 37 + 11 * i) % 256 for b in range(size))
        if code == "BOOL":
            raw = bytes(b & 1 for b in raw)
        tensors.append((f"all.{code}", code, shape, raw))
    tensors.append(("none.here", "F32", (0, 3), b""))
    tensors.append(("scalar", "F64", (), struct.pack("<d", 2.5)))
    tensors.append(("odd.F4", "F4", (2, 3), b"\x12\x34\x56"))
    return tensors


def net_tensors():
    """A small state_dict as a safetensors file."""
    tensors = []
    for name, shape in [
        ("embed.weight", (7, 4)),
        ("layers.0.norm.weight", (4,)),
        ("layers.0.proj.weight", (4, 4)),
        ("layers.1.norm.weight", (4,)),
        ("layers.1.proj.weight", (4, 4)),
        ("head.weight", (7, 4)),
    ]:
        raw = torch.randn(*shape).numpy().astype("<f4").tobytes()
        tensors.append((name, "F32", shape, raw))
    return tensors


def split(tensors, count):
    """Tensors split into `count` shards of consecutive names."""
    step = -(-len(tensors) // count)
    return [tensors[i * step : (i + 1) * step] for i in range(count)]


def index_text(weight_map, total):
    return json.dumps({"metadata": {"total_size": total}, "weight_map": weight_map})


def write_shards(folder, tensors, count, stem="model", suffix="safetensors"):
    """A sharded safetensors folder with its index; gives the truth."""
    folder.mkdir(parents=True, exist_ok=True)
    weight_map, total = {}, 0
    for i, part in enumerate(split(tensors, count)):
        name = f"{stem}-{i + 1:05}-of-{count:05}.{suffix}"
        (folder / name).write_bytes(safetensors_bytes(part, {"format": "pt"}))
        weight_map.update({tensor[0]: name for tensor in part})
        total += sum(len(tensor[3]) for tensor in part)
    index = index_text(weight_map, total)
    (folder / f"{stem}.{suffix}.index.json").write_text(index)
    return [fact_of(*tensor) for tensor in tensors]


def repack(data, method=zipfile.ZIP_DEFLATED):
    """The same zip as an ordinary archiver writes it."""
    done = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(
        done, "w", method
    ) as new:
        for name in old.namelist():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            new.writestr(info, old.read(name), method)
    return done.getvalue()


class TarPickler(pickle.Pickler):
    """Tensors by key, as torch 0.1 wrote them; a class with its source."""

    def __init__(self, to, keys):
        super().__init__(to, protocol=2)
        self.keys = keys

    def persistent_id(self, obj):
        if isinstance(obj, torch.Tensor):
            return str(self.keys[id(obj)])
        return None


def dumps(obj):
    return pickle.dumps(obj, protocol=2)


def tar_bytes(tensors, views=()):
    """A torch 0.1 file: an OrderedDict of float32 tensors, which may share storages."""
    storages, by_storage, keys = [], {}, {}
    for number, tensor in enumerate(tensors.values()):
        keys[id(tensor)] = 1000 + number
        address = truth.storage_address(tensor)
        if address not in by_storage:
            by_storage[address] = 1 + len(storages)
            flat = tensor.as_strided((tensor.storage().size(),), (1,), 0)
            storages.append(flat.numpy().astype("<f4").tobytes())
    storage_file = dumps(len(storages))
    for number, raw in enumerate(storages):
        storage_file += dumps((1 + number, "cpu", torch.FloatStorage))
        storage_file += struct.pack("<q", len(raw) // 4) + raw
    storage_file += dumps(list(views))
    tensor_file = dumps(len(tensors))
    for tensor in tensors.values():
        key = by_storage[truth.storage_address(tensor)]
        tensor_file += dumps((keys[id(tensor)], key, torch.FloatTensor))
        tensor_file += struct.pack("<ii", tensor.dim(), 0)
        numbers = [*tensor.shape, *tensor.stride(), tensor.storage_offset()]
        tensor_file += struct.pack(f"<{len(numbers)}q", *numbers)
    to = io.BytesIO()
    TarPickler(to, keys).dump(collections.OrderedDict(tensors))
    info = {"protocol_version": 1000, "little_endian": True}
    info["type_sizes"] = {"short": 2, "int": 4, "long": 8}
    return tar_of(
        [
            ("sys_info", dumps(info)),
            ("pickle", to.getvalue()),
            ("tensors", tensor_file),
            ("storages", storage_file),
        ]
    )


def tar_of(members):
    done = io.BytesIO()
    with tarfile.open(fileobj=done, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return done.getvalue()
