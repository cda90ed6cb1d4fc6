"""torch's facts about the tensors in an object: the truth that tests compare with.

`tensors_of(obj)` walks dicts, lists, modules and plain objects, names tensors like
torchoscope (names from below the root, joined by dots), and gives one dict per place of
a tensor. Statistics are computed with numpy in double precision from torch's own
elements. """

import ctypes
import hashlib
import warnings

import numpy
import torch

warnings.filterwarnings("ignore")

HIDDEN = {"_flat_weights"}  # lists of tensors that are in _parameters as well
FLOAT4 = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6]


def dtype_name(dtype):
    return str(dtype).replace("torch.", "")


def dense_bytes(tensor):
    """The bytes of the elements in C order (little-endian on this machine)."""
    if tensor.is_conj():
        tensor = tensor.resolve_conj()
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    tensor = tensor.detach().contiguous()
    size = tensor.numel() * tensor.element_size()
    if dtype_name(tensor.dtype) == "quint4x2":
        size = (tensor.numel() + 1) // 2
    elif dtype_name(tensor.dtype) == "quint2x4":
        size = (tensor.numel() + 3) // 4
    return ctypes.string_at(tensor.data_ptr(), size) if size else b""


def values_of(tensor):
    """All values, flat, as doubles or as 64-bit integers; None: not numbers."""
    name = dtype_name(tensor.dtype)
    if name.startswith("bits"):
        return None
    raw = dense_bytes(tensor)
    if name == "float4_e2m1fn_x2":
        return numpy.array([FLOAT4[h] for b in raw for h in (b & 15, b >> 4)], float)
    if name == "quint4x2":
        halves = [h for b in raw for h in (b & 15, b >> 4)]
        return numpy.array(halves[: tensor.numel()], numpy.int64)
    if name == "quint2x4":
        parts = [b >> s & 3 for b in raw for s in (0, 2, 4, 6)]
        return numpy.array(parts[: tensor.numel()], numpy.int64)
    plain = {"bool": "u1", "qint8": "i1", "quint8": "u1", "qint32": "i4"}.get(name)
    if not plain and name.startswith(("int", "uint")):
        plain = name
    if plain:
        array = numpy.frombuffer(raw, plain)
        wide = numpy.uint64 if array.dtype.kind == "u" else numpy.int64
        return array.astype(wide)
    if name == "complex32":
        pairs = numpy.frombuffer(raw, "f2").astype(float)
        return numpy.hypot(pairs[0::2], pairs[1::2])
    if name in ("complex64", "complex128"):
        array = numpy.frombuffer(raw, name).astype(complex)
        return numpy.hypot(array.real, array.imag)
    if name in ("float16", "float32", "float64"):
        return numpy.frombuffer(raw, name).astype(float)
    flat = tensor.detach().contiguous().flatten()
    return flat.to(torch.float32).numpy().astype(float)


def statistics(tensor):
    """The expected output of `torchoscope stats`; {} if there is nothing to measure."""
    values = values_of(tensor)
    return {} if values is None else summary(values)


def summary(values):
    """The statistics of a flat numpy array of doubles or of 64-bit integers."""
    facts = {"count": int(values.size), "zeros": int((values == 0).sum())}
    finite = values
    if values.dtype.kind == "f":
        facts["nan"] = int(numpy.isnan(values).sum())
        facts["pos_inf"] = int(numpy.isposinf(values).sum())
        facts["neg_inf"] = int(numpy.isneginf(values).sum())
        finite = values[numpy.isfinite(values)]
    else:
        facts["nan"] = facts["pos_inf"] = facts["neg_inf"] = 0
    if finite.size:
        number = float if values.dtype.kind == "f" else int
        facts["min"] = number(finite.min())
        facts["max"] = number(finite.max())
        wide = finite.astype(numpy.longdouble)
        if abs(wide).max() < 1e150:  # beyond that squares overflow
            mean = wide.sum() / wide.size
            facts["mean"] = float(mean)
            facts["l2"] = float(numpy.sqrt((wide * wide).sum()))
            if wide.size > 1:
                squares = ((wide - mean) ** 2).sum()
                facts["std"] = float(numpy.sqrt(squares / (wide.size - 1)))
    return facts


def layout_of(tensor):
    return dtype_name(tensor.layout)


def parts_of(tensor):
    """The strided parts of a sparse tensor, in the order of the file."""
    layout = layout_of(tensor)
    if layout == "sparse_coo":
        return [tensor._indices(), tensor._values()]
    if layout in ("sparse_csr", "sparse_bsr"):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if layout in ("sparse_csc", "sparse_bsc"):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return []


def describe(name, tensor):
    """One tensor as in the manifest."""
    fact = {
        "name": name,
        "shape": list(tensor.shape),
        "dtype": dtype_name(tensor.dtype),
        "layout": layout_of(tensor),
        "requires_grad": bool(tensor.requires_grad),
    }
    if fact["layout"] != "strided":
        fact["parts"] = [describe("", part) for part in parts_of(tensor)]
        return fact
    fact["strides"] = list(tensor.stride())
    fact["offset"] = tensor.storage_offset()
    if tensor.device.type == "meta":
        fact["meta"] = True
        return fact
    fact["identity"] = f"{storage_address(tensor)}"
    fact["sha256"] = hashlib.sha256(dense_bytes(tensor)).hexdigest()
    fact["stats"] = statistics(tensor)
    return fact


def storage_address(tensor):
    try:
        return tensor.untyped_storage().data_ptr()
    except AttributeError:
        return tensor.storage().data_ptr()


def as_tensor(one):
    """Does torchoscope list it as a tensor? Arrays of numbers and storages count."""
    if isinstance(one, numpy.ndarray) and one.dtype.kind in "biufc":
        try:
            return torch.from_numpy(one)
        except TypeError:  # a dtype that an old torch lacks
            return torch.from_numpy(one.view(f"i{one.itemsize}"))
    if hasattr(one, "pickle_storage_type"):
        return torch.empty(0, dtype=one.dtype).set_(one)
    return one if isinstance(one, torch.Tensor) else None


def children_of(obj):
    """(name, child) of objects below obj that may hold tensors, in file order."""
    if isinstance(obj, torch.nn.Module):
        for group in (obj._parameters, obj._buffers, obj._modules):
            yield from ((name, child) for name, child in group.items())
        inner = {"_parameters", "_buffers", "_modules"} | HIDDEN
        for name, child in obj.__dict__.items():
            if name not in inner and isinstance(child, torch.Tensor):
                yield name, child
    elif isinstance(obj, dict):
        yield from ((str(key), child) for key, child in obj.items())
    elif isinstance(obj, (list, tuple)):
        yield from ((str(i), child) for i, child in enumerate(obj))
    elif hasattr(obj, "__dict__") and type(obj).__module__ != "builtins":
        if not isinstance(obj, (type, numpy.ndarray)) and not callable(obj):
            yield from vars(obj).items()


def tensors_of(obj):
    """One dict per place of a tensor; `ties` are the names of the same tensor."""
    found, seen, stack = [], set(), [("", obj)]
    while stack:
        name, one = stack.pop()
        tensor = as_tensor(one)
        if tensor is not None:
            found.append(describe(name if one is not obj else "tensor", tensor))
            if tensor is not one:
                found[-1].pop("requires_grad")
            if isinstance(one, numpy.ndarray) and one.dtype.kind == "u":
                found[-1]["dtype"] = one.dtype.name
                found[-1]["stats"] = summary(one.flatten().astype(numpy.uint64))
            continue
        if isinstance(one, (torch.nn.Module, dict, list)):
            if id(one) in seen:
                continue  # a shared module: listed at its first place
            seen.add(id(one))
        below = [(f"{name}.{k}" if name else k, v) for k, v in children_of(one)]
        stack.extend(reversed(below))
    add_ties(found)
    return found


def add_ties(found):
    same = {}
    for fact in found:
        storage = fact.pop("identity", None)
        if storage and storage != "0":
            kind = [fact[k] for k in ("shape", "strides", "offset", "dtype", "sha256")]
            key = storage, str(kind)  # the digest distinguishes a conjugated twin
            same.setdefault(key, []).append(fact)
    for group in same.values():
        for fact in group:
            if len(group) > 1:
                fact["ties"] = sorted({one["name"] for one in group})


def modules_of(module, prefix=""):
    """{name: qualified class} of each module, shared ones once."""
    names = {}
    for name, one in module.named_modules():
        kind = type(one)
        names[f"{prefix}{name}"] = f"{kind.__module__}.{kind.__qualname__}"
    return names
