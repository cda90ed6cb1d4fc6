#!/usr/bin/env python3
"""Write files as people write them, with the torch of the Python that runs this.

    ordinary.py FOLDER

FOLDER/manifest.json says of each file which verdicts are right: "safe" for what is made
of tensors, plain values and torch's own classes; "needs code" where classes are
somebody's own. None of them may ever be called unsafe. Classes of packages that are not
installed are made up here, under the names that real files have."""

import argparse
import collections
import datetime
import decimal
import enum
import fractions
import functools
import io
import json
import logging
import pathlib
import pickle
import re
import sys
import types
import uuid
import warnings
from pathlib import Path

import numpy
import torch
from torch import nn

SAFE, CODE = ["safe"], ["needs code"]
EITHER = SAFE + CODE


def pretend(module, **members):
    """A module of that name, with these classes and functions as its own."""
    parts = module.split(".")
    for i in range(1, len(parts) + 1):
        name = ".".join(parts[:i])
        sys.modules.setdefault(name, types.ModuleType(name))
    for name, member in members.items():
        member.__module__, member.__qualname__ = module, name
        member.__name__ = name
        setattr(sys.modules[module], name, member)
    return sys.modules[module]


def own(module, name, base=object, **body):
    made = type(name, (base,), body)
    return getattr(pretend(module, **{name: made}), name)


def net():
    return nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2)
    )


class Files:
    def __init__(self, folder):
        self.folder, self.manifest = Path(folder), {}
        self.folder.mkdir(parents=True, exist_ok=True)

    def write(self, name, data, verdicts):
        (self.folder / name).write_bytes(data)
        self.manifest[name] = verdicts

    def save(self, name, thing, verdicts, **options):
        done = io.BytesIO()
        torch.save(thing, done, **options)
        self.write(name, done.getvalue(), verdicts)

    def all_ways(self, name, thing, verdicts):
        for protocol in (2, 3, 4, 5):
            file = f"{name}_{protocol}.pt"
            self.save(file, thing, verdicts, pickle_protocol=protocol)
        self.save(
            f"{name}_old.pt", thing, verdicts, _use_new_zipfile_serialization=False
        )
        for protocol in range(6):
            data = pickle.dumps(thing, protocol)
            self.write(f"{name}_{protocol}.pkl", data, verdicts)

    def both_ways(self, name, thing, verdicts):
        self.save(f"{name}.pt", thing, verdicts)
        self.write(f"{name}.pkl", pickle.dumps(thing, 4), verdicts)


def state_dicts(files):
    model = net()
    files.all_ways("state", model.state_dict(), SAFE)
    files.all_ways("tensor", torch.ones(2, 3), SAFE)
    files.all_ways("parameter", nn.Parameter(torch.ones(2, 3)), SAFE)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 1, 4, 4)).sum().backward()
    optimizer.step()
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    files.all_ways(
        "checkpoint",
        {
            "epoch": 3,
            "state_dict": {f"module.{k}": v for k, v in model.state_dict().items()},
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
            "rng": torch.get_rng_state(),
            "numpy_rng": numpy.random.get_state(),
            "best": numpy.float64(0.5),
            "args": argparse.Namespace(lr=0.1, path=pathlib.PurePosixPath("x")),
        },
        SAFE,
    )
    dtypes = [torch.float16, torch.bfloat16, torch.complex64, torch.bool, torch.int8]
    dtypes += [d for d in (getattr(torch, "float8_e5m2", None),) if d]
    files.save("dtypes.pt", {str(d): torch.zeros(2, dtype=d) for d in dtypes}, SAFE)
    files.save("meta.pt", {"w": torch.empty(2, device="meta")}, SAFE)
    bare = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2))
    sparse = {"coo": bare, "csr": torch.eye(3).to_sparse_csr()}
    files.save("sparse.pt", sparse, SAFE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantised = {
            "whole": torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
            "rows": torch.quantize_per_channel(
                torch.ones(2, 2), torch.ones(2), torch.zeros(2), 0, torch.quint8
            ),
        }
        files.save("quantised.pt", quantised, SAFE)
        if not torch.__version__.startswith("1."):  # which cannot save them
            nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
            files.save("nested.pt", nested, SAFE)
    named = nn.Parameter(torch.ones(2))
    named.note = "kept"
    files.save("parameter_note.pt", {"w": named}, SAFE)
    files.save("max.pt", torch.ones(2, 2).max(dim=0), SAFE)
    mine = own("my.tensors", "Weighted", torch.Tensor)
    files.save("subclass.pt", torch.ones(2).as_subclass(mine), CODE)


ARGUMENTS = {
    "AdaptiveLogSoftmaxWithLoss": (8, 20, [5, 10]),
    "Bilinear": (2, 2, 2),
    "ChannelShuffle": (2,),
    "Embedding": (4, 2),
    "EmbeddingBag": (4, 2),
    "Fold": (2, 2),
    "FractionalMaxPool2d": (2, 2),
    "FractionalMaxPool3d": (2, 2),
    "GroupNorm": (1, 2),
    "MultiheadAttention": (4, 2),
    "PixelShuffle": (2,),
    "PixelUnshuffle": (2,),
    "Threshold": (0.1, 0.2),
    "Transformer": (4, 2, 1, 1, 8),
    "TransformerDecoderLayer": (4, 2, 8),
    "TransformerEncoderLayer": (4, 2, 8),
    "Unflatten": (1, (2, 2)),
}


def build(kind):
    """A module of this class with some arguments that fit, or None."""
    tries = [ARGUMENTS[kind.__name__]] if kind.__name__ in ARGUMENTS else []
    for arguments in [*tries, (), (2,), (2, 2), (2, 2, 2), (0.1, 0.2)]:
        try:
            return kind(*arguments)
        except (TypeError, ValueError, AssertionError, NotImplementedError):
            continue
    return None


def modules(files):
    kinds = [kind for name, kind in sorted(vars(nn).items()) if isinstance(kind, type)]
    built = 0
    for kind in kinds:
        if not issubclass(kind, nn.Module) or kind.__name__ == "Container":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = build(kind)
        if module is None:
            continue
        built += 1
        files.save(f"module_{kind.__name__}.pt", module, SAFE)
    assert built > 120, built
    files.all_ways("module", net(), SAFE)
    files.all_ways("lazy", nn.Sequential(*[nn.LazyLinear(2) for _ in range(20)]), SAFE)
    hooked = nn.utils.weight_norm(nn.Linear(2, 2))
    hooked = nn.Sequential(hooked, nn.utils.spectral_norm(nn.Linear(2, 2)))
    files.save("weight_norm.pt", hooked, SAFE)
    pruned = nn.Linear(2, 2)
    from torch.nn.utils import prune

    prune.l1_unstructured(pruned, "weight", 1)
    files.save("pruned.pt", pruned, SAFE)
    gelu = nn.TransformerEncoderLayer(4, 2, 8, activation=nn.functional.gelu)
    tanh = nn.TransformerEncoderLayer(4, 2, 8, activation=torch.tanh)
    files.both_ways("activation", nn.ModuleList([gelu, tanh]), SAFE)
    norm = functools.partial(nn.LayerNorm, eps=1e-6)
    files.both_ways("partial", {"norm": norm, "act": nn.functional.relu}, SAFE)
    files.save("script.pt", net().state_dict(), SAFE)
    torch.jit.script(net()).save(str(files.folder / "scripted.pt"))
    files.manifest["scripted.pt"] = SAFE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.ao.quantization import quantize_dynamic

        files.save("quantised_net.pt", quantize_dynamic(net(), {nn.Linear}), EITHER)
    observer = torch.ao.quantization.MinMaxObserver()
    fake = torch.ao.quantization.FakeQuantize()
    files.save("observers.pt", nn.ModuleList([observer, fake]), SAFE)


def optimizers(files):
    for name, kind in sorted(vars(torch.optim).items()):
        if not isinstance(kind, type) or kind is torch.optim.Optimizer:
            continue
        if not issubclass(kind, torch.optim.Optimizer):
            continue
        model = nn.Linear(2, 2, bias=False)
        try:
            optimizer = kind(model.parameters(), lr=0.1)
        except (TypeError, ValueError):
            continue
        files.save(f"optimizer_{name}.pt", optimizer, SAFE)
        files.save(f"optimizer_state_{name}.pt", optimizer.state_dict(), SAFE)
    optimizer = torch.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    files.save("scheduler_state.pt", scheduler.state_dict(), SAFE)
    files.save("scaler.pt", torch.cuda.amp.GradScaler(enabled=False), SAFE)
    data = torch.utils.data.TensorDataset(torch.ones(4, 2))
    files.save("dataset.pt", torch.utils.data.Subset(data, [0, 1]), SAFE)
    files.save("normal.pt", torch.distributions.Normal(torch.zeros(2), 1.0), SAFE)


def plain_values(files):
    values = {
        "date": datetime.datetime(2024, 1, 2, 3, 4, 5),
        "zone": datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc),
        "span": datetime.timedelta(days=1),
        "path": pathlib.PosixPath("/x/y"),
        "pure": pathlib.PureWindowsPath("c:/x"),
        "uuid": uuid.UUID(int=5),
        "decimal": decimal.Decimal("1.5"),
        "fraction": fractions.Fraction(1, 3),
        "complex": 1 + 2j,
        "range": range(3),
        "slice": slice(1, 2),
        "set": {1, 2},
        "frozen": frozenset({1}),
        "bytes": b"\x80\x02 just bytes",
        "bytearray": bytearray(b"abc"),
        "deque": collections.deque([1], 4),
        "counter": collections.Counter("abca"),
        "default": collections.defaultdict(list, a=[1]),
        "chain": collections.ChainMap({"a": 1}),
        "pattern": re.compile("a+", re.I),
        "logger": logging.getLogger("x"),
        "space": types.SimpleNamespace(a=1),
        "args": argparse.Namespace(a=1),
        "size": torch.Size([1]),
        "device": torch.device("cpu"),
        "dtype": torch.float32,
        "print": print,
        "big": 10**60,
        "ellipsis": ...,
    }
    for protocol in range(6):
        data = pickle.dumps(values, protocol)
        files.write(f"values_{protocol}.pkl", data, SAFE)
    files.save("values.pt", values, SAFE)
    arrays = {
        "floats": numpy.arange(4.0),
        "fortran": numpy.asfortranarray(numpy.ones((2, 3))),
        "objects": numpy.array([{"a": 1}, None], dtype=object),
        "strings": numpy.array(["ab", "c"]),
        "dates": numpy.array(["2024-01-01"], dtype="datetime64[D]"),
        "records": numpy.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
        "masked": numpy.ma.masked_array([1, 2], [0, 1]),
        "scalar": numpy.int64(3),
        "bool": numpy.bool_(True),
        "dtype": numpy.dtype("f4"),
        "state": numpy.random.RandomState(1),
        "generator": numpy.random.default_rng(1),
    }
    for protocol in (0, 2, 4, 5):
        data = pickle.dumps(arrays, protocol)
        files.write(f"arrays_{protocol}.pkl", data, SAFE)
    files.save("arrays.pt", arrays, SAFE)
    files.save("storage.pt", torch.ones(3).storage(), SAFE)
    nested = {"inner": pickle.dumps({"epoch": 1, "names": ["a", "b"]}, 4)}
    files.save("pickle_in_bytes.pt", nested, SAFE)


class Colour(enum.Enum):
    """Made where it can be pickled; its module is named in main()."""

    RED = 1
    GREEN = 2


def own_classes(files):
    numbers = enum.Enum("Numbers", [f"N{i}" for i in range(40)], module="my.enums")
    pretend("my.enums", Numbers=numbers, Colour=Colour)
    files.all_ways("enum", {"all": list(numbers), "one": Colour.RED}, CODE)
    outer = own("my.models", "Outer")
    names = {"__module__": "my.models", "__qualname__": "Outer.Inner"}
    inner = type("Inner", (), names)
    outer.Inner = inner
    files.all_ways("inner_class", [inner() for _ in range(40)], CODE)

    def run(self):
        return self

    holder = own("my.models", "Holder", run=run)
    run.__module__, run.__qualname__ = "my.models", "Holder.run"
    files.both_ways("bound_method", [holder().run for _ in range(3)], CODE)
    files.both_ways("function", {"f": Holder_function()}, CODE)
    settings = own("my.config", "Settings", __slots__=("lr",))
    files.both_ways("slots", slotted(settings), CODE)
    point = collections.namedtuple("Point", "x y", module="my.models")
    pretend("my.models", Point=point)
    files.all_ways("namedtuple", point(1, 2), CODE)
    block = own("my.models", "Block", nn.Module)
    whole = nn.Sequential(block(), nn.Linear(2, 2))
    files.all_ways("own_module", whole, CODE)
    dictionary = own("my.config", "Config", dict)
    files.all_ways("own_dict", dictionary(a=1, b=[2]), CODE)
    files.all_ways("own_list", own("my.config", "Steps", list)([1, 2]), CODE)
    script = own("test", "Net", nn.Module)
    files.save("script_named_test.pt", script(), CODE)
    main_net = own("__main__", "MainNet", nn.Module)
    files.save("from_main.pt", main_net(), CODE)


def Holder_function():
    def schedule(step):
        return step

    return getattr(pretend("my.schedules", warm_up=schedule), "warm_up")


def slotted(kind):
    made = kind()
    made.lr = 0.1
    return made


def packages(files):
    """Checkpoints as the well-known packages write them."""
    parsing = own("pytorch_lightning.utilities.parsing", "AttributeDict", dict)
    stop = own("pytorch_lightning.callbacks.early_stopping", "EarlyStopping")
    files.all_ways(
        "lightning",
        {
            "epoch": 1,
            "global_step": 10,
            "pytorch-lightning_version": "1.6.0",
            "state_dict": net().state_dict(),
            "callbacks": {stop: {"wait": 0, "best": torch.tensor(1.0)}},
            "optimizer_states": [],
            "hyper_parameters": parsing(lr=0.1, act=nn.functional.relu),
        },
        CODE,
    )
    conv = own("models.common", "Conv", nn.Module)
    yolo = own("models.yolo", "Model", nn.Module)
    model = yolo()
    model.model = nn.Sequential(conv(), nn.SiLU(), nn.Upsample(None, 2))
    files.all_ways("yolo", {"epoch": -1, "model": model, "date": "2024"}, CODE)
    for module, name in {
        "ultralytics.nn.tasks": "DetectionModel",
        "torchvision.models.resnet": "ResNet",
        "timm.models.vision_transformer": "VisionTransformer",
        "timm.layers.mlp": "Mlp",
        "transformers.models.bert.modeling_bert": "BertModel",
        "transformers.training_args": "TrainingArguments",
        "segmentation_models_pytorch.decoders.unet.model": "Unet",
        "fairseq.models.transformer": "TransformerModel",
        "mmengine.logging.history_buffer": "HistoryBuffer",
        "omegaconf.dictconfig": "DictConfig",
        "sklearn.preprocessing._data": "StandardScaler",
    }.items():
        kind = own(module, name, nn.Module if "models" in module else object)
        made = kind()
        made.__dict__.update(note="x", path=pathlib.PosixPath("/x"))
        files.both_ways(f"package_{name}", {"model": made}, CODE)
    value = own("omegaconf.nodes", "AnyNode")()
    config = own("omegaconf.dictconfig", "DictConfig")()
    metadata = own("omegaconf.base", "ContainerMetadata")()
    metadata.__dict__.update(ref_type=dict, object_type=dict, optional=True)
    config.__dict__.update(_content={"lr": value}, _metadata=metadata, _parent=None)
    value.__dict__.update(_parent=config, _val=0.1)
    files.all_ways("omegaconf", {"cfg": config}, CODE)


def main():
    Colour.__module__, Colour.__qualname__ = "my.enums", "Colour"
    torch.manual_seed(0)
    files = Files(sys.argv[1])
    warnings.simplefilter("ignore")
    for part in (state_dicts, modules, optimizers, plain_values, own_classes, packages):
        part(files)
    manifest = json.dumps(files.manifest, indent=1)
    (files.folder / "manifest.json").write_text(manifest)


if __name__ == "__main__":
    main()
