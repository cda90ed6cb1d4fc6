"""Samples of tensors and checkpoints: every dtype, layout and way of sharing."""

import argparse
import collections
import dataclasses
import datetime
import decimal
import enum
import pathlib
import uuid

import numpy
import torch
from torch import nn

SPECIAL = [0.0, -0.0, 1.5, -2.25, float("nan"), float("inf"), float("-inf"), 0.5, 3.0]

FLOATS = [torch.float16, torch.float32, torch.float64, torch.bfloat16]
INTEGERS = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8]
NEWER = [
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float4_e2m1fn_x2",
    "uint16",
    "uint32",
    "uint64",
    "complex32",
    "bits8",
    "bits16",
    "bits1x8",
    "bits2x4",
    "bits4x2",
]


class Colour(enum.Enum):
    RED = 1
    BLUE = "blue"


@dataclasses.dataclass
class Settings:
    lr: float = 0.125
    layers: tuple = (1, 2, 3)
    name: str = "run"


class Weighted(torch.Tensor):
    """A tensor subclass, which torch saves with _rebuild_from_type_v2."""


def raw(dtype, count):
    """All byte patterns in turn, viewed as elements of this dtype."""
    size = torch.empty(1, dtype=dtype).element_size()
    numbers = torch.arange(count * size, dtype=torch.int64) * 37 % 256
    return numbers.to(torch.uint8).view(dtype)


def all_dtypes():
    tensors = {}
    for dtype in FLOATS:
        name = str(dtype).replace("torch.", "")
        tensors[f"special_{name}"] = torch.tensor(SPECIAL, dtype=dtype)
        tensors[f"normal_{name}"] = torch.randn(7, 5).to(dtype)
    for dtype in INTEGERS:
        info = torch.iinfo(dtype)
        ends = torch.tensor([info.min, info.max, 0, 1, 100], dtype=dtype)
        tensors["ends_" + str(dtype).replace("torch.", "")] = ends
    tensors["bool"] = torch.tensor([[True, False], [True, True]])
    tensors["complex64"] = torch.randn(3, 4, dtype=torch.complex64)
    tensors["complex128"] = torch.randn(5, dtype=torch.complex128)
    for name in NEWER:
        dtype = getattr(torch, name, None)
        if dtype is not None:
            try:
                tensors[f"raw_{name}"] = raw(dtype, 256)
            except (RuntimeError, NotImplementedError):
                pass  # this torch has the dtype, but cannot make a tensor of it
    return tensors


def views():
    base = torch.arange(60, dtype=torch.float32).reshape(3, 4, 5)
    matrix = torch.randn(6, 7)
    return {
        "base": base,
        "slice": base[1:, ::2, 1:4],
        "transposed": base.transpose(0, 2),
        "matrix.t": matrix.t(),
        "row": matrix[2],
        "column": matrix[:, 3],
        "expanded": torch.randn(1, 5).expand(4, 5),
        "scalar_expanded": torch.tensor(2.5).expand(3, 2),
        "unfolded": torch.arange(10.0).unfold(0, 4, 2),
        "diagonal": matrix.diagonal(),
        "channels_last": torch.randn(2, 3, 4, 4).contiguous(
            memory_format=torch.channels_last
        ),
        "offset": torch.arange(100, dtype=torch.int16)[90:],
        "as_strided": torch.arange(20.0).as_strided((3, 3), (4, 1), 5),
        "empty_slice": matrix[3:3],
    }


def odd_shapes():
    return {
        "scalar": torch.tensor(3.5),
        "empty": torch.empty(0),
        "empty_2d": torch.empty(3, 0, 2),
        "one": torch.ones(1, 1, 1, 1),
        "deep": torch.randn(*[2] * 10),
        "ones_inside": torch.randn(2, 1, 3, 1),
    }


def conj_and_neg():
    """torch cannot save two tensors that view one storage as different types."""
    number, other = torch.randn(4, 3, 2).unbind(2), torch.randn(4, 3, 2)
    number = torch.complex(*number)
    return {
        "plain": number,
        "conj": number.conj(),
        "conj.t": number.conj().t(),
        "neg_imag": torch.view_as_complex(other).conj().imag,
        "both": torch.randn(5, dtype=torch.complex128).conj()[1:4],
    }


def sparse():
    dense = torch.tensor([[0.0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 0, 4], [0, 0, 5, 0]])
    tensors = {
        "coo": dense.to_sparse(),
        "coo_uncoalesced": torch.sparse_coo_tensor(
            torch.tensor([[0, 0, 1], [1, 1, 2]]), torch.tensor([1.0, 2, 3]), (2, 3)
        ),
        "coo_hybrid": torch.sparse_coo_tensor(
            torch.tensor([[0, 2]]), torch.ones(2, 3), (4, 3)
        ),
        "csr": dense.to_sparse_csr(),
    }
    for name in ("csc", "bsr", "bsc"):
        make = getattr(dense, f"to_sparse_{name}", None)
        try:
            tensors[name] = make((2, 2)) if name[0] == "b" else make()
        except (RuntimeError, TypeError, AttributeError):
            pass
    return tensors


def quantised():
    matrix = torch.randn(4, 6)
    scales, zeros = torch.rand(4, dtype=torch.float64) + 0.01, torch.arange(4)
    return {
        "per_tensor": torch.quantize_per_tensor(matrix, 0.05, 10, torch.quint8),
        "per_tensor_int8": torch.quantize_per_tensor(matrix, 0.1, 0, torch.qint8),
        "per_tensor_int32": torch.quantize_per_tensor(matrix, 0.001, 3, torch.qint32),
        "per_channel": torch.quantize_per_channel(
            matrix, scales, zeros, 0, torch.qint8
        ),
        "per_channel_float": torch.quantize_per_channel(
            matrix, scales.float(), torch.rand(4), 0, torch.quint8
        ),
        "per_channel_4bit": torch.quantize_per_channel(
            matrix, scales.float(), torch.rand(4), 0, torch.quint4x2
        ),
    }


def tied():
    weight = torch.randn(4, 3)
    same = nn.Parameter(torch.randn(2, 2))
    return {
        "embed.weight": weight,
        "head.weight": weight,
        "head.view": weight.view(3, 4),
        "other": weight.clone(),
        "a": same,
        "b": same,
        "again": {"embed": weight},
    }


def with_attributes():
    tensor = torch.randn(3)
    tensor.note = "kept beside the numbers"
    parameter = nn.Parameter(torch.randn(2))
    parameter.tag = 7
    return {"tensor": tensor, "parameter": parameter}


def subclass():
    weighted = torch.randn(2, 3).as_subclass(Weighted)
    weighted.note = "torch 1.13 cannot load one without"
    return {"weighted": weighted}


def small_net():
    return nn.Sequential(
        collections.OrderedDict(
            conv=nn.Conv2d(3, 4, 3, padding=1),
            bn=nn.BatchNorm2d(4),
            act=nn.ReLU(),
            block=nn.Sequential(nn.Conv2d(4, 4, 1, bias=False), nn.BatchNorm2d(4)),
            flat=nn.Flatten(),
            fc=nn.Linear(64, 5),
        )
    )


def training(net=None):
    """A checkpoint after two steps of Adam, with a scheduler."""
    net = net or small_net()
    adam = torch.optim.Adam(
        [
            {"params": list(net.conv.parameters()), "lr": 0.01},
            {"params": list(net.fc.parameters())},
        ],
        weight_decay=0.1,
    )
    schedule = torch.optim.lr_scheduler.StepLR(adam, 3, gamma=0.5)
    for _ in range(2):
        adam.zero_grad()
        net(torch.randn(2, 3, 4, 4)).square().mean().backward()
        adam.step()
        schedule.step()
    return net, adam, schedule


def checkpoint():
    net, adam, schedule = training()
    return {
        "epoch": 12,
        "best_acc1": 0.875,
        "arch": "small",
        "model": net.state_dict(),
        "optimizer": adam.state_dict(),
        "scheduler": schedule.state_dict(),
    }


def lightning():
    net, adam, schedule = training()
    return {
        "epoch": 3,
        "global_step": 42,
        "pytorch-lightning_version": "2.1.0",
        "state_dict": net.state_dict(),
        "loops": {"fit_loop": {"state_dict": {}, "epoch_progress": {"current": 3}}},
        "callbacks": {"ModelCheckpoint": {"best_model_score": torch.tensor(0.5)}},
        "optimizer_states": [adam.state_dict()],
        "lr_schedulers": [schedule.state_dict()],
        "hparams_name": "kwargs",
        "hyper_parameters": {"lr": 0.01, "sizes": [1, 2, 3], "name": "demo"},
    }


def yolo():
    net = small_net().half()
    return {
        "epoch": -1,
        "best_fitness": None,
        "model": net,
        "ema": None,
        "date": "2024-05-01T12:00:00",
    }


def random_states():
    return {
        "cpu": torch.get_rng_state(),
        "cuda": [],
        "numpy": numpy.random.RandomState(3).get_state(),
        "python": (3, tuple(range(625)), None),
    }


def numpy_values():
    return {
        "array": numpy.arange(6, dtype=numpy.float64).reshape(2, 3),
        "fortran": numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3)),
        "ints": numpy.array([1, 2, 3], dtype=numpy.int16),
        "scalar": numpy.float32(1.5),
        "integer": numpy.int64(7),
        "text": numpy.array(["a", "bcd"]),
        "objects": numpy.array([1, None, "x"], dtype=object),
        "record": numpy.zeros(2, dtype=[("a", "i4"), ("b", "f8", (2,))]),
        "when": numpy.array(["2024-01-02"], dtype="datetime64[D]"),
        "tensor": torch.ones(2),
    }


def plain_values():
    return {
        "none": None,
        "yes": True,
        "small": 5,
        "large": 2**40,
        "huge": 2**100,
        "minus": -3,
        "real": 0.1,
        "nan": float("nan"),
        "text": "straße ☕",
        "bytes": b"\x00\xff raw",
        "complex": 1 + 2j,
        "list": [1, [2, [3]]],
        "tuple": (1, "a", None),
        "set": {3},
        "frozen": frozenset({4}),
        "ordered": collections.OrderedDict(a=1, b=2),
        "default": collections.defaultdict(list, a=[1]),
        "counter": collections.Counter("aab"),
        "deque": collections.deque([1, 2], maxlen=5),
        "range": range(1, 10, 2),
        "slice_like": {"start": 1},
        "when": datetime.datetime(2024, 5, 6, 7, 8, 9, 123456),
        "day": datetime.date(2024, 5, 6),
        "span": datetime.timedelta(days=1, seconds=2, microseconds=3),
        "path": pathlib.PurePosixPath("/data/set/train"),
        "uuid": uuid.UUID(int=5),
        "decimal": decimal.Decimal("1.25"),
        "colour": Colour.RED,
        "namespace": argparse.Namespace(lr=0.1, layers=[1, 2]),
        "settings": Settings(),
        "device": torch.device("cuda:1"),
        "dtype": torch.float16,
        "size": torch.Size([2, 3]),
        "function": torch.nn.functional.relu,
        "method": torch.relu,
        "kind": nn.Linear,
        "tensor": torch.arange(3),
    }


def deep_nesting():
    inner = {"leaf": torch.ones(2)}
    for level in range(200):
        inner = {f"d{level}": inner} if level % 2 else [inner]
    return inner


def odd_keys():
    return {
        1: torch.ones(1),
        "a.b": torch.ones(2),
        "": torch.ones(3),
        "with space": torch.ones(4),
        "esc\x1b[31m\nline": torch.ones(5),
        "bidi\u202eabc": torch.ones(6),
        'quote"\\': torch.ones(7),
        "=1+1": torch.ones(8),
    }


def cycle():
    inner = {"weight": torch.ones(2)}
    inner["self"] = inner
    many = [1]
    many.append(many)
    return {"inner": inner, "many": many}


def storages():
    tensor = torch.arange(4.0)
    return {"tensor": tensor, "view": tensor[1:3], "storage": tensor.storage()}
