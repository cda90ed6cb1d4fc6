"""Whole pickled modules, and modules for TorchScript."""

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """Residual, with a buffer that is not saved and a plain tensor attribute."""

    def __init__(self, width: int = 4):
        super().__init__()
        self.width = width
        self.ratio = 0.5
        self.options = {"mode": "same", "dilations": (1, 2)}
        self.conv = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.act = nn.ReLU(inplace=True)
        self.register_buffer("mask", torch.ones(width))
        self.register_buffer("cache", torch.zeros(2), persistent=False)
        self.register_buffer("nothing", None)
        self.register_parameter("gate", None)
        self.anchor = torch.arange(3.0)

    def forward(self, x):
        return x + self.act(self.norm(self.conv(x)))


class Shared(nn.Module):
    """One sub-module at two places, and one weight at two places."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = self.first
        self.embed = nn.Embedding(5, 3)
        self.head = nn.Linear(3, 5, bias=False)
        self.head.weight = self.embed.weight
        self.missing = None


class Holder(nn.Module):
    """Containers of modules and of parameters."""

    def __init__(self):
        super().__init__()
        self.by_name = nn.ModuleDict({"a": nn.Linear(2, 2), "b-c": nn.ReLU()})
        self.listed = nn.ModuleList([nn.Linear(2, 1), nn.Identity()])
        self.params = nn.ParameterList([nn.Parameter(torch.randn(2)) for _ in range(2)])
        self.named = nn.ParameterDict({"x": nn.Parameter(torch.randn(3))})


class Plain(nn.Module):
    """For scripting: a loop, an if, a constant and a sub-module of each common kind."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, stride=2)
        self.norm = nn.BatchNorm2d(4)
        self.drop = nn.Dropout(0.25)
        self.blocks = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.scale = 3
        self.names = ["a", "b"]
        self.register_buffer("shift", torch.arange(4.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.drop(F.relu(self.norm(self.conv(x)))).mean((2, 3))
        for block in self.blocks:
            x = block(x) * self.scale
        if x.sum() > 0:
            x = x + self.shift
        return x


def forward_hook(module, inputs, output):
    return None


def pre_hook(module, inputs):
    return None


def hooked():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    net[0].register_forward_hook(forward_hook)
    net[1].register_forward_pre_hook(pre_hook)
    return net


def quantised_linear():
    net = nn.Sequential(nn.Linear(6, 4), nn.ReLU())
    try:
        from torch.ao.quantization import quantize_dynamic
    except ImportError:
        from torch.quantization import quantize_dynamic
    return quantize_dynamic(net, {nn.Linear}, dtype=torch.qint8)


def graph_module():
    return torch.fx.symbolic_trace(
        nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))
    )


def normed():
    """Weight norm and spectral norm, implemented by hooks."""
    net = nn.Sequential(
        nn.utils.weight_norm(nn.Linear(3, 2)),
        nn.utils.spectral_norm(nn.Linear(2, 2)),
    )
    net(torch.randn(1, 3))
    return net


def plain_modules():
    """{name: function that makes a module to pickle whole}."""
    return {
        "own_class": lambda: nn.Sequential(Block(), Block(2)),
        "linear": lambda: nn.Linear(4, 3),
        "attention": lambda: nn.MultiheadAttention(8, 2),
        "lstm": lambda: nn.LSTM(3, 4, num_layers=2, bidirectional=True),
        "transformer": lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
        "data_parallel": lambda: nn.DataParallel(nn.Linear(3, 2)),
        "shared": Shared,
        "holder": Holder,
        "hooked": hooked,
        "frozen": frozen,
    }


def frozen():
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2)).eval()
    net[0].requires_grad_(False)
    return net
