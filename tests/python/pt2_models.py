"""Models for pt2_test.py, exported, and files in the layouts of older torch."""

import io
import json
import re
import warnings
import zipfile

import torch
from torch import nn

warnings.filterwarnings("ignore")
DIM = torch.export.Dim


class Block(nn.Module):
    def __init__(self, into, out, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(into, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.down = nn.Conv2d(into, out, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + self.down(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2))
        self.layers = nn.ModuleList([Block(8, 8), Block(8, 16, 2)])
        self.fc = nn.Linear(16, 5)

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = layer(x)
        a, b = torch.split(self.fc(x.mean((2, 3))), [2, 3], 1)
        return {"a": a, "b": (b, b.shape[0])}


class Shared(nn.Module):
    """Tied weights, a view, a buffer that changes, one that is not saved, constants."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 6)
        self.head = nn.Linear(6, 11, bias=False)
        self.head.weight = self.embed.weight
        self.twice = nn.Linear(6, 6)
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.register_buffer("scale", torch.tensor([2.0] * 6), persistent=False)
        whole = torch.randn(4, 6)
        self.register_buffer("whole", whole)
        self.register_buffer("row", whole[2])
        self.table = torch.arange(6.0)

    def forward(self, tokens, extra=None):
        self.steps.add_(1)
        x = self.embed(tokens) * self.scale + self.table + self.row
        x = self.twice(torch.tanh(self.twice(x)))
        y = x.view(-1, 6)
        y.mul_(2.0)
        return self.head(x) + self.steps + torch.tensor([1.0]) + self.whole.sum()


class Dtypes(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("c64", torch.randn(3, dtype=torch.complex64))
        self.register_buffer("mask", torch.tensor([True, False, True]))
        self.register_buffer("bf16", torch.randn(3).bfloat16())
        self.register_buffer("f16", torch.randn(3).half())
        self.register_buffer("f8", torch.randn(3).to(torch.float8_e4m3fn))
        self.register_buffer("e5", torch.randn(3).to(torch.float8_e5m2))
        self.register_buffer("i8", torch.tensor([1, -2, 3], dtype=torch.int8))
        self.register_buffer("u16", torch.tensor([1, 2, 3], dtype=torch.uint16))
        self.register_buffer("f64", torch.randn(3).double())
        self.register_buffer("empty", torch.zeros(0, 3))

    def forward(self, x):
        x = x + self.bf16.float() + self.f16 + self.f8.to(torch.float32)
        x = x + self.e5.to(torch.float32) + self.i8 + self.u16.to(torch.int32)
        x = torch.where(self.mask, x, torch.full_like(x, float("-inf")))
        return x.double() + self.f64 + (self.c64 * 2j).real, self.empty + 1


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        def yes(x):
            return self.a(x) * 2

        def no(x):
            return self.b(x) - 1

        return torch.cond(x.sum() > 0, yes, no, (x,)).sin()


class Loops(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, i, x):
        from torch._higher_order_ops.while_loop import while_loop

        def more(i, x):
            return i < 3

        def body(i, x):
            return i + 1, self.a(x)

        i, x = while_loop(more, body, (i, x))
        return i + 1, x.cos()


class Each(nn.Module):
    def forward(self, x, y):
        from torch._higher_order_ops.map import map as each

        return each(lambda row, y: (row + y).sin(), x, y) * 2


class Sizes(nn.Module):
    def forward(self, x, n: int):
        y = x.new_zeros(x.shape[0] * 2, n)
        return torch.cat([x, x])[:, : x.shape[1]] + y.sum()


class NoGrad(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)

    def forward(self, x):
        with torch.no_grad():
            y = self.a(x).exp()
        return y + x


def transformer():
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=24, max_position_embeddings=20, attn_implementation="eager",
    )  # fmt: skip
    return BertModel(config).eval()


def export(name):
    """The ExportedProgram of this name."""
    torch.manual_seed(0)
    x = torch.randn
    batch, length = DIM("batch", min=2, max=64), DIM("length", min=2, max=20)
    make = {
        "cnn": lambda: (nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(),
                                      nn.Linear(144, 3)), (x(2, 1, 8, 8),), None),
        "resnet": lambda: (ResNet().eval(), (x(2, 3, 16, 16),), {"x": {0: batch}}),
        "training": lambda: (ResNet(), (x(2, 3, 16, 16),), None),
        "shared": lambda: (Shared(), (torch.tensor([[1, 2, 3]]),), None),
        "dtypes": lambda: (Dtypes(), (x(3),), None),
        "branches": lambda: (Branches(), (x(2, 4),), None),
        "loops": lambda: (Loops(), (torch.tensor(0), x(2, 4)), None),
        "each": lambda: (Each(), (x(3, 4), x(4)), None),
        "sizes": lambda: (Sizes(), (x(3, 4), 5), {"x": {0: batch}, "n": None}),
        "nograd": lambda: (NoGrad(), (x(2, 3),), None),
        "bert": lambda: (transformer(), (torch.ones(2, 7, dtype=torch.int64),),
                         {"input_ids": {0: batch, 1: length}}),
    }  # fmt: skip
    model, args, shapes = make[name]()
    return torch.export.export(model, args, dynamic_shapes=shapes)


NAMES = ("cnn", "resnet", "training", "shared", "dtypes", "branches", "loops", "each",
         "sizes", "nograd", "bert")  # fmt: skip


# ---- the layouts of older torch, from their documentation: it cannot run here ----

ARGUMENT = (
    "as_none as_tensor as_tensors as_int as_ints as_float as_floats as_string "
    "as_strings as_sym_int as_sym_ints as_scalar_type as_memory_format as_layout "
    "as_device as_bool as_bools as_sym_bool as_sym_bools as_graph as_optional_tensors"
).split()
SCALARS = {1: "BYTE", 2: "CHAR", 3: "SHORT", 4: "INT", 5: "LONG", 6: "HALF", 7: "FLOAT"}


def spelled_out(one):
    """JSON as in torch 2.1: unions with all members, enumerations as names, classes as
    Python prints them."""
    if isinstance(one, list):
        return [spelled_out(item) for item in one]
    if not isinstance(one, dict):
        return one
    made = {key: spelled_out(item) for key, item in one.items()}
    if len(one) == 1 and next(iter(one)) in ARGUMENT:
        return {**dict.fromkeys(ARGUMENT), **made}
    if "dtype" in one and "sizes" in one:
        made["dtype"] = SCALARS.get(one["dtype"], one["dtype"])
        made["layout"] = "Strided"
    if "nn_module_stack" in one:
        made["nn_module_stack"] = ";".join(
            ",".join([key, old_path(path), f"<class '{kind}'>"])
            for key, path, kind in (
                frame.split(",", 2) for frame in one["nn_module_stack"].split(";")
            )
        )
    return made


def old_path(path):
    path = path.split("@")[0]
    if not path:
        return "L['self']"
    head, *rest = path.split(".")
    made = f"L['self'].{head}"
    for part in rest:
        numbered = re.fullmatch(r"\d+", part)
        made = f"getattr({made}, '{part}')" if numbered else f"{made}.{part}"
    return made


def saved(thing):
    to = io.BytesIO()
    torch.save(thing, to)
    return to.getvalue()


def write_old(program, new, to, first=False):
    """The file `new` in the layout of 2.1 (first) or 2.2 to 2.7."""
    with zipfile.ZipFile(new) as archive:
        name = next(one for one in archive.namelist() if one.endswith("models/model.json"))
        document = json.loads(archive.read(name))
    if first:
        document = spelled_out(document)
        document["schema_version"] = 1
        del document["torch_version"]
    with zipfile.ZipFile(to, "w") as archive:
        archive.writestr("serialized_exported_program.json", json.dumps(document))
        state = "serialized_state_dict.json" if first else "serialized_state_dict.pt"
        archive.writestr(state, saved(dict(program.state_dict)))
        if not first or program.constants:
            archive.writestr("serialized_constants.pt", saved(dict(program.constants)))
        if not first:
            archive.writestr("serialized_example_inputs.pt", saved(program.example_inputs))
        archive.writestr("version", "1" if first else "8.2")
        archive.writestr("extra_files/note.txt", "hello")
