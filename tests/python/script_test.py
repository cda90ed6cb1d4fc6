# flavours: both
"""torchoscope ops of TorchScript archives: operations, module calls and data flow equal
those of the graphs that torch makes of the same file."""

import collections
import csv
import io
import json
import re
import subprocess
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Dict, List, NamedTuple, Optional, Tuple

import scope
import torch
import torch.nn as nn
import torch.nn.functional as F
from jit_oracle import Oracle


class Residual(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, groups=2)
        self.norm2 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU()
        self.same = nn.Identity()

    def forward(self, x):
        y = self.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        return self.relu(y + self.same(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, 2), nn.MaxPool2d(2))
        self.blocks = nn.Sequential(Residual(), Residual())
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        x = F.gelu(self.blocks(self.stem(x)))
        x = F.adaptive_avg_pool2d(x, (1, 1)).flatten(1)
        return F.softmax(self.head(F.dropout(x, 0.1, self.training)), dim=-1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 5, 2, batch_first=True, bidirectional=True)
        self.gru = nn.GRUCell(10, 4)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        return self.gru(y[:, -1]), torch.cat([h, c], 0)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.out = nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)
        self.register_buffer("scale", torch.tensor(0.5))

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(-2, -1) * self.scale, dim=-1)
        return x + self.out(torch.einsum("bij,bjk->bik", weights, v))


class Shared(nn.Module):
    """One layer at two places, another method, and a list of layers."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.again = self.first
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Tanh()])

    def forward(self, x):
        x = self.again(self.first(x))
        for layer in self.layers:
            x = layer(x)
        return x


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


def halve(x, floor: float):
    while bool(x.abs().max() > floor):
        x = x / 2
    return x


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.count = 0
        self.state = torch.zeros(4)

    def helper(self, x, times: int):
        for i in range(times):
            if i % 2 == 0:
                x = self.linear(x) * i
            elif x.sum() > 0:
                x = x - 1
            else:
                x = -x
        return x

    def forward(self, x, times: int = 3, mask: Optional[torch.Tensor] = None):
        if mask is not None:
            x = x.masked_fill(mask, float("-inf"))
        parts: List[torch.Tensor] = []
        for i in range(x.size(0)):
            parts.append(self.helper(x[i], times))
        self.count += 1
        self.state = torch.stack(parts).mean(0)
        named: Dict[str, torch.Tensor] = {"state": self.state, "x": x}
        pair = Pair(halve(x, 1.0), named["x"])
        if x.dim() > 5:
            raise ValueError(f"{x.dim()} dimensions")
        return pair.left + pair.right, [p.sum() for p in parts], len(named)


class Odd(nn.Module):
    """Parts of TorchScript other than tensors: forks, strings, casts, tuples."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    @torch.jit.export
    def encode(self, x):
        return torch.relu(self.linear(x))

    def forward(self, x, text: str, size: Tuple[int, int]):
        future = torch.jit.fork(halve, x, 2.0)
        words = sorted(text.split(" "))
        y = self.encode(x)
        y[0] = 1.0
        numbers: List[float] = x[0].tolist()
        if torch.jit.isinstance(x, List[int]):
            y = y + 1
        n = int(y.sum()) + ord(text[0]) + size[0] * len(words)
        return torch.jit.wait(future) + y, f"{n} {words[0]}", max(numbers)


def scripted(model, folder, name="model.pt"):
    path = str(Path(folder) / name)
    torch.jit.save(torch.jit.script(model.eval()), path)
    return path


def traced(model, inputs, folder, name="model.pt"):
    path = str(Path(folder) / name)
    torch.jit.save(torch.jit.trace(model.eval(), inputs, check_trace=False), path)
    return path


def ops(path, *options):
    command = [scope.PROGRAM, "ops", path, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def document(path):
    status, text, error = ops(path, "--json")
    assert status == 0, error
    return json.loads(text)


class OracleTest(unittest.TestCase):
    """The same counts and edges as torch's graphs."""

    def compare(self, path, straight=None):
        found, oracle = document(path), Oracle(path)
        names = [op["name"] for op in found["ops"]]
        self.assertEqual(collections.Counter(names), oracle.ops)
        modules = collections.Counter(call["module"] for call in found["calls"])
        self.assertEqual(modules, oracle.calls)
        self.assertFalse(found["cut"])
        unclear = [r for r in found["regions"] if r["kind"] == "not understood"]
        self.assertEqual(unclear, [])
        if straight is not None:
            self.assertEqual(oracle.straight, straight)
        if oracle.straight:
            edges = ((names[e["source"]], names[e["target"]]) for e in found["edges"])
            self.assertEqual(collections.Counter(edges), oracle.edges)
        return found

    def both(self, model, *inputs):
        with TemporaryDirectory() as folder:
            found = self.compare(traced(model, inputs, folder), straight=True)
            self.compare(scripted(model, folder, "scripted.pt"))
        return found

    def test_residual_blocks(self):
        found = self.both(Net(), torch.randn(1, 3, 32, 32))
        names = [op["name"] for op in found["ops"]]
        self.assertEqual(names.count("aten::_convolution"), 5)
        joins = [op for op in found["ops"] if op["name"] == "aten::add"]
        self.assertEqual([op["module"] for op in joins], ["blocks.0", "blocks.1"])
        sources = {e["source"] for e in found["edges"] if e["target"] == joins[1]["id"]}
        self.assertIn("aten::relu", {names[source] for source in sources})
        self.assertIn("aten::batch_norm", {names[source] for source in sources})

    def test_recurrent_layers(self):
        found = self.both(Recurrent(), torch.randn(2, 6, 3))
        (lstm,) = [op for op in found["ops"] if op["name"] == "aten::lstm"]
        self.assertEqual(lstm["attributes"]["bidirectional"], True)
        self.assertEqual(lstm["attributes"]["num_layers"], 2)
        weights = [i["tensor"] for i in lstm["inputs"] if i["arg"] == "params"]
        self.assertEqual(weights[:2], ["lstm.weight_ih_l0", "lstm.weight_hh_l0"])
        self.assertEqual(len(weights), 16)

    def test_attention(self):
        self.both(Attention(), torch.randn(2, 5, 8))

    def test_transformer(self):
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.both(nn.TransformerEncoder(layer, 2), torch.randn(2, 4, 8))

    def test_shared_layers(self):
        found = self.both(Shared(), torch.randn(2, 4))
        weights = [
            put.get("tensor")
            for op in found["ops"]
            for put in op["inputs"]
            if put.get("arg") == "weight"
        ]
        self.assertEqual(weights, ["first.weight", "first.weight", "layers.0.weight"])

    def test_conditions_and_loops(self):
        with TemporaryDirectory() as folder:
            found = self.compare(scripted(Branches(), folder), straight=False)
        kinds = collections.Counter(region["kind"] for region in found["regions"])
        self.assertGreaterEqual(kinds["loop"], 3)
        self.assertGreaterEqual(kinds["if"], 4)
        (stack,) = [op for op in found["ops"] if op["name"] == "aten::stack"]
        names = [op["name"] for op in found["ops"]]
        sources = [e["source"] for e in found["edges"] if e["target"] == stack["id"]]
        self.assertEqual({names[source] for source in sources}, {"aten::append"})

    def test_frozen(self):
        with TemporaryDirectory() as folder:
            path = str(Path(folder) / "frozen.pt")
            frozen = torch.jit.freeze(torch.jit.script(Net().eval()))
            torch.jit.save(frozen, path)
            found = self.compare(path)
        convolutions = [op for op in found["ops"] if op["name"] == "aten::conv2d"]
        self.assertEqual(len(convolutions), 5)
        weight = convolutions[0]["inputs"][1]
        self.assertEqual(weight["shape"], [4, 3, 3, 3])
        self.assertTrue(weight["tensor"].startswith("CONSTANTS.c"))

    def test_forks_strings_and_views(self):
        with TemporaryDirectory() as folder:
            found = self.compare(scripted(Odd(), folder), straight=False)
        names = [op["name"] for op in found["ops"]]
        (add,) = [
            op
            for op in found["ops"]
            if op["name"] == "aten::add" and op["inputs"][0].get("arg") == "self"
            and names[producer(found, op, 0)] == "aten::wait"
        ]
        # y[0] = 1.0 writes through a view: the sum reads the new value
        second = names[producer(found, add, 1)]
        self.assertIn(second, ("aten::fill_", "aten::copy_", "aten::add"))

    def test_quantized(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        quantize = torch.ao.quantization.quantize_dynamic
        with TemporaryDirectory() as folder:
            found = self.compare(scripted(quantize(model, {nn.Linear}), folder))
        linear = [op for op in found["ops"] if op["name"].startswith("quantized::")]
        names = {(op["name"], op["module"]) for op in linear}
        self.assertIn(("quantized::linear_dynamic", "0"), names)
        weight = linear[0]["inputs"][1]
        self.assertEqual(weight["tensor"], "0._packed_params._packed_params.0")
        self.assertEqual((weight["dtype"], weight["shape"]), ("qint8", [4, 4]))

    def test_architectures_of_transformers(self):
        try:
            import transformers
        except ImportError:
            self.skipTest("transformers is not installed")
        settings = dict(vocab_size=30, hidden_size=16, num_hidden_layers=2)
        settings.update(num_attention_heads=2, intermediate_size=32)
        config = transformers.BertConfig(**settings, return_dict=False)
        model = transformers.BertModel(config)
        gpt = transformers.GPT2Config(
            vocab_size=30, n_embd=16, n_layer=2, n_head=2, use_cache=False
        )
        gpt.return_dict = False
        for model in (model, transformers.GPT2Model(gpt)):
            with self.subTest(type(model).__name__), TemporaryDirectory() as folder:
                path = traced(model, torch.tensor([[1, 2, 3]]), folder)
                self.compare(path, straight=True)


def producer(found, op, position):
    """The operation that made an input of another."""
    value = op["inputs"][position]["value"]
    edges = found["edges"]
    sources = [e["source"] for e in edges if (e["target"], e["value"]) == (op["id"], value)]
    return sources[0] if sources else -1


class ContentTest(unittest.TestCase):
    def test_arguments_have_the_names_of_the_schema(self):
        wrong = []
        models = [
            (Net(), torch.randn(1, 3, 32, 32)),
            (Attention(), torch.randn(2, 5, 8)),
            (Recurrent(), torch.randn(2, 6, 3)),
        ]
        with TemporaryDirectory() as folder:
            for model, inputs in models:
                for path in (
                    traced(model, inputs, folder, "a.pt"),
                    scripted(model, folder, "b.pt"),
                ):
                    wrong += [
                        (op["name"], name)
                        for op in document(path)["ops"]
                        for name in self.names(op)
                        if not name.isdigit() and name not in self.known(op["name"])
                    ]
        self.assertEqual(wrong, [])

    def names(self, op):
        return [*op["attributes"], *(put["arg"] for put in op["inputs"])]

    def known(self, name):
        schemas = torch._C._jit_get_schemas_for_operator(name)
        return {arg.name for schema in schemas for arg in schema.arguments}

    def test_the_table_of_names_agrees_with_torch(self):
        source = Path(__file__).parents[2] / "src/read/torch/script_names.c"
        rows = re.findall(r'\{"(\w+)",\s*((?:"[^"]*"\s*)+)\}', source.read_text())
        table = {op: names.replace('"', " ").split() for op, names in rows}
        self.assertGreater(len(table), 100)
        missing = []
        for op, names in table.items():
            schemas = torch._C._jit_get_schemas_for_operator(f"aten::{op}")
            fits = [
                [arg.name for arg in schema.arguments][: len(names)] == names
                for schema in schemas
            ]
            if schemas and not any(fits):
                missing.append(op)
        self.assertEqual(missing, [])

    def test_constant_conditions_are_evaluated(self):
        with TemporaryDirectory() as folder:
            found = document(scripted(Net(), folder))
        dropouts = [op for op in found["ops"] if "dropout" in op["name"]]
        taken = {op["name"]: not op.get("not_taken", False) for op in dropouts}
        self.assertEqual(taken, {"aten::dropout": True, "aten::dropout_": False})
        tensors = {
            put["tensor"] for op in found["ops"] for put in op["inputs"] if "tensor" in put
        }
        self.assertIn("stem.0.weight", tensors)
        self.assertIn("blocks.1.norm2.running_mean", tensors)

    def test_inputs_are_the_arguments_of_forward(self):
        with TemporaryDirectory() as folder:
            found = document(scripted(Branches(), folder))
        call = found["calls"][0]
        self.assertEqual(found["method"], "forward")
        self.assertEqual([put["arg"] for put in call["inputs"]], ["x", "times", "mask"])
        self.assertEqual([put["name"] for put in call["inputs"]], ["x", "times", "mask"])

    def test_the_tree_is_unchanged(self):
        with TemporaryDirectory() as folder:
            path = scripted(Net(), folder)
            done = subprocess.run(
                [scope.PROGRAM, "info", "--json", path], capture_output=True, text=True
            )
        found = json.loads(done.stdout)
        self.assertEqual((found["verdict"], found["findings"]), ("safe", []))


class CommandTest(unittest.TestCase):
    def test_text_csv_and_the_list_of_allowed_operations(self):
        with TemporaryDirectory() as folder:
            path = scripted(Branches(), folder)
            status, text, _ = ops(path)
            self.assertEqual(status, 0)
            header = text.splitlines()[0].split()
            self.assertEqual(header, ["name", "family", "count", "FLOPs", "first"])
            self.assertIn("in the code of forward; it was not run", text)
            self.assertIn(" in loops: counted once, but run in every iteration\n", text)
            _, table, _ = ops(path, "--csv", "--sort", "name")
            rows = list(csv.DictReader(io.StringIO(table)))
            self.assertEqual([row["name"] for row in rows], sorted(r["name"] for r in rows))
            self.assertEqual({row["ns"] for row in rows}, {""})
            linear = next(row for row in rows if row["name"] == "aten::linear")
            self.assertEqual((linear["count"], linear["module"]), ("1", "linear"))
            allowed = Path(folder) / "list.txt"
            allowed.write_text("\n".join(r["name"] for r in rows if "linear" not in r["name"]))
            status, text, _ = ops(path, "--allow-ops", str(allowed))
            self.assertEqual(status, 1)
            self.assertIn("aten::linear", text)
            self.assertNotIn("aten::stack", text)

    def test_options_without_data_in_the_file_are_refused(self):
        with TemporaryDirectory() as folder:
            path = scripted(Residual(), folder)
            for options in (("--phase", "forward"), ("--sort", "time")):
                status, _, error = ops(path, *options)
                self.assertEqual(status, 2)
                self.assertIn("was not run", error)
            plain = str(Path(folder) / "plain.pt")
            torch.save(Residual().state_dict(), plain)
            status, _, error = ops(plain)
            self.assertEqual(status, 2)
            self.assertIn("does not store its computation", error)


if __name__ == "__main__":
    unittest.main()
