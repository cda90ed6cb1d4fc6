#!/usr/bin/env python3
"""Write a ResNet-18 state_dict like PyTorch, with only the standard library.

    demo_model.py build/demo/resnet18.pth
    demo_model.py --finetuned build/demo/finetuned.pth

Names and shapes are torchvision's, so torch.load() reads the file and load_state_dict()
takes it. The weights are pseudo-random, on the scale of trained ones, and the same each
time. A fine-tuned one has ten classes, another layer4, and twenty more steps in all
BatchNorms.
"""

import array
import collections
import io
import math
import os
import pickle
import random
import struct
import sys
import types
import zipfile

# --- The model


def layers():
    """All layers in order: (name, kind, shape of the weight if it has one)."""
    yield "conv1", "conv", (64, 3, 7, 7)
    yield "bn1", "bn", (64,)
    yield "relu", "relu", None
    yield "maxpool", "pool", None
    channels = 64
    for stage, width in enumerate((64, 128, 256, 512), start=1):
        for block in range(2):
            name = f"layer{stage}.{block}"
            yield name + ".conv1", "conv", (width, channels, 3, 3)
            yield name + ".bn1", "bn", (width,)
            yield name + ".relu", "relu", None
            yield name + ".conv2", "conv", (width, width, 3, 3)
            yield name + ".bn2", "bn", (width,)
            if channels != width:
                yield name + ".downsample.0", "conv", (width, channels, 1, 1)
                yield name + ".downsample.1", "bn", (width,)
            channels = width
    yield "avgpool", "pool", None
    yield "fc", "fc", (1000, 512)


def state_dict():
    """Full names to tensors, with the `_metadata` that Module.state_dict() adds."""
    draw = Weights(seed=0)
    state = collections.OrderedDict()
    for name, kind, shape in layers():
        if kind == "bn":
            state[name + ".weight"] = draw.normal(shape, mean=0.35, std=0.06)
            state[name + ".bias"] = draw.normal(shape, mean=-0.05, std=0.1)
            state[name + ".running_mean"] = draw.normal(shape, mean=-0.2, std=0.3)
            state[name + ".running_var"] = draw.normal(shape, mean=0.5, std=0.08)
            steps = struct.pack("<q", 450_450)
            state[name + ".num_batches_tracked"] = Tensor("LongStorage", (), steps)
        elif kind == "conv":
            std = math.sqrt(2 * shape[1] / math.prod(shape))  # Kaiming, by fan-out
            state[name + ".weight"] = draw.normal(shape, mean=0.0, std=std)
        elif kind == "fc":
            state[name + ".weight"] = draw.normal(shape, mean=0.0, std=0.044)
            state[name + ".bias"] = draw.normal(shape[:1], mean=0.0, std=0.02)
    state._metadata = module_versions()
    return state


def fine_tuned(state):
    """The weights after twenty steps with only layer4 and a new fc trainable."""
    draw = Weights(seed=1)
    for name, tensor in state.items():
        if name.endswith("num_batches_tracked"):
            state[name] = Tensor("LongStorage", (), struct.pack("<q", 450_470))
        elif name.startswith("layer4") or "running" in name:
            state[name] = draw.moved(tensor, by=0.001)
    state["fc.weight"] = draw.normal((10, 512), mean=0.0, std=0.044)
    state["fc.bias"] = draw.normal((10,), mean=0.0, std=0.02)
    return state


def module_versions():
    """{"": {"version": 1}, "conv1": ...}: all modules, also those without a tensor."""
    versions = collections.OrderedDict({"": {"version": 1}})
    for name, kind, _ in layers():
        parts = name.split(".")
        for depth in range(1, len(parts)):
            versions.setdefault(".".join(parts[:depth]), {"version": 1})
        versions[name] = {"version": 2 if kind == "bn" else 1}
    return versions


class Weights:
    """Draws millions of normal numbers: one block of them, rotated and scaled."""

    BLOCK = 65_521  # a prime, so that the rows of a matrix do not repeat each other

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.block = [self.random.gauss(0.0, 1.0) for _ in range(self.BLOCK)]

    def normal(self, shape, mean, std):
        number = math.prod(shape)
        return self.repeated(shape, [mean + std * x for x in self.turned()[:number]])

    def moved(self, tensor, by):
        """The tensor with each number changed a little."""
        values = array.array("f", tensor.data[: 4 * self.BLOCK])
        if sys.byteorder == "big":
            values.byteswap()
        near = [x + by * y for x, y in zip(values, self.turned())]
        return self.repeated(tensor.shape, near)

    def turned(self):
        start = self.random.randrange(self.BLOCK)
        return self.block[start:] + self.block[:start]

    def repeated(self, shape, numbers):
        values = array.array("f", numbers)
        if sys.byteorder == "big":
            values.byteswap()
        number = math.prod(shape)
        repeats = -(-number // len(values))
        return Tensor("FloatStorage", shape, (values.tobytes() * repeats)[: 4 * number])


# --- The pickle


class Tensor:
    """Pickled like a torch tensor: a call with a storage, sizes and strides."""

    def __init__(self, storage, shape, data):
        self.storage = storage  # the name of its class in torch
        self.shape = shape
        self.data = data

    def __reduce__(self):
        strides = tuple(math.prod(self.shape[i + 1 :]) for i in range(len(self.shape)))
        rebuild = torch_name("torch._utils", "_rebuild_tensor_v2")
        requires_grad, hooks = False, collections.OrderedDict()
        return rebuild, (Storage(self), 0, self.shape, strides, requires_grad, hooks)


class Storage:
    """The object behind a persistent id: the bytes of one tensor."""

    def __init__(self, tensor):
        self.tensor = tensor


class Pickler(pickle.Pickler):
    """Collects the bytes of each storage; the pickle has the number of its record."""

    def __init__(self, file):
        super().__init__(file, protocol=2)
        self.records = []

    def persistent_id(self, obj):
        if not isinstance(obj, Storage):
            return None
        tensor = obj.tensor
        key = str(len(self.records))
        self.records.append(tensor.data)
        kind = torch_name("torch", tensor.storage)
        return "storage", kind, key, "cpu", math.prod(tensor.shape)


def torch_name(module, name):
    """A stand-in for a torch object: only its name goes into the file."""
    for part in ("torch", module):
        sys.modules.setdefault(part, types.ModuleType(part))
    home = sys.modules[module]
    if not hasattr(home, name):
        setattr(home, name, type(name, (), {"__module__": module}))
    return getattr(home, name)


# --- The archive


def write(path, root, state):
    """A zip of stored records below `root`, each payload at a multiple of 64 bytes."""
    pickled = io.BytesIO()
    pickler = Pickler(pickled)
    pickler.dump(state)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        write_record(archive, f"{root}/data.pkl", pickled.getvalue())
        write_record(archive, f"{root}/byteorder", b"little")
        for key, data in enumerate(pickler.records):
            write_record(archive, f"{root}/data/{key}", data)
        write_record(archive, f"{root}/version", b"3\n")


def write_record(archive, name, data):
    info = zipfile.ZipInfo(name)  # its date is always 1980-01-01
    start = archive.fp.tell() + 30 + len(name) + 4
    padding = -start % 64
    info.extra = struct.pack("<2sH", b"FB", padding) + b"Z" * padding
    archive.writestr(info, data)


def main():
    words = sys.argv[1:]
    tuned = words[:1] == ["--finetuned"]
    if len(words) != 1 + tuned:
        sys.exit("usage: demo_model.py [--finetuned] FILE.pth")
    path = words[-1]
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    root = os.path.splitext(os.path.basename(path))[0]
    state = state_dict()
    part = f"{path}.{os.getpid()}.part"  # another process may be making the same file
    write(part, root, fine_tuned(state) if tuned else state)
    os.replace(part, path)


main()
