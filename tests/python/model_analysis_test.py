"""torchoscope.compat.model_analysis: the examples of the document that describes
tt-model-analysis run, with only the import line changed (seeds.py), and both files
describe the model correctly."""

import contextlib
import importlib.util
import io
import json
import os
import re
import tempfile
import unittest
from pathlib import Path

import torch
from torch import nn

import seeds
from folder import TemporaryFolder
from torchoscope.compat.model_analysis import (
    ModuleInfo,
    OpInfo,
    cli,
    extract_pytorch_ops,
    extract_unique_modules,
)

torch.set_num_threads(1)
HAS_TRANSFORMERS = importlib.util.find_spec("transformers") is not None
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"


def analysed(model, inputs):
    """(unique_modules.json, pytorch_ops.json); they are checked against each other."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("modules.json", "ops.json")]
        with contextlib.redirect_stderr(io.StringIO()):
            modules = extract_unique_modules(lambda: model, lambda: inputs, paths[0])
            ops = extract_pytorch_ops(paths[0], lambda: model, lambda: inputs, paths[1])
        for path, document in zip(paths, (modules, ops)):
            assert json.loads(Path(path).read_text()) == document
        assert sorted(os.listdir(folder)) == ["modules.json", "ops.json"]
    check(modules, ops)
    return modules, ops


def check(modules, ops):
    """Checks that hold for every model."""
    entries, about = modules["modules"], modules["metadata"]
    paths = [path for one in entries for path in one["occurrences"]]
    assert about["total_modules"] == len(paths) == len(set(paths)), paths
    assert about["unique_modules"] == len(entries)
    for at, one in enumerate(entries):
        assert one["id"] == f"mod_{at:03d}"
    for one in entries:
        path = one["module_path"]
        assert one["occurrences"][0] == path
        above = path.rpartition(".")[0] or "(root)"
        assert one["parent"] == (None if path == "(root)" else above)
    classes = {one["id"]: one["class_name"] for one in entries}
    nodes = [node for op in ops["ops"] for node in op["occurrences"]]
    assert ops["metadata"]["total_ops"] == len(nodes)
    assert len({node["node_name"] for node in nodes}) == len(nodes)
    assert ops["metadata"]["unique_ops"] == len(ops["ops"])
    for at, op in enumerate(ops["ops"]):
        assert op["id"] == f"op_{at:03d}"
        assert op["source_module_class"] == classes[op["source_module_id"]]
        assert op["source_module_id"] == op["occurrences"][0]["source_module_id"]
        assert all(node["source_module_id"] in classes for node in op["occurrences"])
        assert callable(named(op["op_name"])), op["op_name"]


def named(name):
    """torch.nn.functional.linear, by its name."""
    found = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def entry(document, path):
    return next(one for one in document["modules"] if path in one["occurrences"])


def names(ops):
    return [op["op_name"] for op in ops["ops"]]


class Block(nn.Module):
    def __init__(self, planes, out, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(planes, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.downsample = None
        if stride > 1:
            conv = nn.Conv2d(planes, out, 1, stride, bias=False)
            self.downsample = nn.Sequential(conv, nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


class ResNet18(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        sizes = [width, width, 2 * width, 4 * width, 8 * width]
        for at, (before, out) in enumerate(zip(sizes, sizes[1:]), 1):
            first = Block(before, out, 1 if at == 1 else 2)
            self.add_module(f"layer{at}", nn.Sequential(first, Block(out, out)))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(8 * width, 10)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class Tied(nn.Module):
    """One Sequential by two names, called by both with different shapes; one Linear by
    two names, called by the first; one ReLU called twice."""

    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
        self.b = self.a
        self.c = nn.Linear(4, 4, bias=False)
        self.d = self.c
        self.act = nn.ReLU()

    def forward(self, x):
        y = self.b(torch.cat([self.a(x), self.c(x)]))
        return self.act(y) + self.act(x)


class TheDocument(TemporaryFolder):
    def blocks(self, language):
        blocks = seeds.blocks(seeds.copy("003"))
        return [code for _, kind, code in blocks if kind == language]

    def setUp(self):
        super().setUp()
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        self.model, self.api = self.blocks("python")
        (self.folder / "my_model.py").write_text(self.model)

    def run_command(self):
        """Runs the command exactly as in the document."""
        example = self.blocks("bash")[2]
        words = example.split()
        self.assertEqual(words[0], "tt-model-analysis")
        said = io.StringIO()
        out = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(out):
            self.assertEqual(cli.main(words[1:]), 0, said.getvalue())
        self.assertEqual(out.getvalue(), "")
        documents = [
            json.loads((self.folder / "Sequential" / name).read_text())
            for name in ("unique_modules.json", "pytorch_ops.json")
        ]
        return said.getvalue(), *documents

    def test_the_command(self):
        said, modules, ops = self.run_command()
        check(modules, ops)
        self.assertIn("Loading model using load_model...\n", said)
        self.assertIn("Found 5 unique modules (from 7 total)\n", said)
        about = dict(modules["metadata"])
        self.assertRegex(about.pop("timestamp"), f"^{TIME}$")
        wanted = {
            "load_fn_location": "my_model.py:load_model",
            "load_fn_name": "load_model",
            "model_class": "Sequential",
            "total_modules": 7,
            "unique_modules": 5,
        }
        self.assertEqual(about, wanted)
        occurrences = [one["occurrences"] for one in modules["modules"]]
        wanted = [["(root)"], ["0"], ["1", "4"], ["2", "5"], ["3"]]
        self.assertEqual(occurrences, wanted)
        about = dict(ops["metadata"])
        self.assertRegex(about.pop("timestamp"), f"^{TIME}$")
        wanted = {"source_modules_json": "unique_modules.json"}
        self.assertEqual(about, {**wanted, "total_ops": 6, "unique_ops": 4})
        wanted = ["torch.conv2d", "torch.batch_norm", "torch.relu", "torch.conv2d"]
        self.assertEqual(names(ops), wanted)

    def test_the_files_match_the_document(self):
        _, modules, ops = self.run_command()
        theirs, operations = map(json.loads, self.blocks("json"))
        self.assertEqual(list(modules), list(theirs))
        self.assertEqual(list(modules["metadata"]), list(theirs["metadata"]))
        for our, their in zip(modules["modules"], theirs["modules"]):
            self.assertEqual(list(our), list(their))
            wanted = their.pop("parameters")
            parameters = our.pop("parameters")
            self.assertEqual(list(parameters)[: len(wanted)], list(wanted))
            self.assertLessEqual(wanted.items(), parameters.items())
            self.assertEqual(our, their)
        self.assertEqual(list(ops), list(operations))
        self.assertEqual(list(ops["metadata"]), list(operations["metadata"]))
        our, their = ops["ops"][0], operations["ops"][0]
        self.assertEqual(list(our), list(their))
        wanted, types = their.pop("tensor_types"), our.pop("tensor_types")
        self.assertEqual(our, their)
        self.assertEqual(types.pop("output"), wanted["output"])
        shapes = {name: one["shape"] for name, one in types.items()}
        wanted = {"input": "1x3x224x224", "weight": "64x3x3x3", "bias": "64"}
        self.assertEqual(shapes, wanted)

    def test_the_interface(self):
        found = {"__name__": "example"}
        with contextlib.redirect_stderr(io.StringIO()):
            exec(compile(self.api, "example.py", "exec"), found)
        modules, ops = found["modules"], found["ops"]
        check(modules, ops)
        for name, document in (("unique_modules", modules), ("pytorch_ops", ops)):
            self.assertEqual(json.loads(Path(f"{name}.json").read_text()), document)
        classes = [one["class_name"] for one in modules["modules"]]
        self.assertEqual(classes, ["Sequential", "Linear", "ReLU", "Linear"])
        linear = "torch.nn.functional.linear"
        self.assertEqual(names(ops), [linear, "torch.relu", linear])
        self.assertEqual(ops["ops"][2]["tensor_types"]["weight"]["shape"], "10x20")

    def test_all_modules_of_the_document_exist(self):
        tree = self.blocks("")[-1]
        for name in re.findall(r"(\w+)\.py", tree):
            importlib.import_module(f"torchoscope.compat.model_analysis.{name}")


class Modules(unittest.TestCase):
    def test_resnet18(self):
        modules, ops = analysed(ResNet18(), torch.randn(1, 3, 64, 64))
        self.assertEqual(modules["metadata"]["total_modules"], 68)
        self.assertEqual(modules["metadata"]["unique_modules"], 39)
        self.assertEqual(
            entry(modules, "layer1.1")["occurrences"], ["layer1.0", "layer1.1"]
        )
        norms = ["layer1.0.bn1", "layer1.0.bn2", "layer1.1.bn1", "layer1.1.bn2"]
        self.assertEqual(entry(modules, norms[3])["occurrences"], norms)
        # The residual sum belongs to the block, in both branches of its forward.
        sums = [op for op in ops["ops"] if op["op_name"] == "torch.Tensor.add_"]
        self.assertEqual({op["source_module_class"] for op in sums}, {"Block"})
        self.assertEqual(sum(len(op["occurrences"]) for op in sums), 8)
        self.assertEqual(ops["metadata"]["total_ops"], 20 + 20 + 17 + 1 + 8 + 1 + 1 + 1)

    def test_all_configuration_counts(self):
        pairs = [
            (lambda: nn.Dropout(0.1), lambda: nn.Dropout(0.9)),
            (lambda: nn.LeakyReLU(0.1), lambda: nn.LeakyReLU(0.2)),
            (lambda: nn.AvgPool2d(2), lambda: nn.AvgPool2d(2, ceil_mode=True)),
            (lambda: nn.LayerNorm(4), lambda: nn.LayerNorm(4, 1e-4)),
            (lambda: nn.Linear(4, 4), lambda: nn.Linear(4, 4, bias=False)),
            (lambda: nn.Sequential(nn.ReLU()), lambda: nn.Sequential(nn.Tanh())),
            (nn.Identity, nn.ReLU),
        ]
        for one, other in pairs:
            model = nn.ModuleList([one(), other(), one()])
            model.forward = lambda x, layers=tuple(model): [one(x) for one in layers]
            modules, _ = analysed(model, torch.zeros(1, 1, 4, 4))
            self.assertEqual(entry(modules, "2")["occurrences"], ["0", "2"], model)
            self.assertEqual(entry(modules, "1")["occurrences"], ["1"])

    def test_classes_of_one_name_differ(self):
        other = type("ReLU", (nn.ReLU,), {"__module__": "elsewhere"})
        modules, _ = analysed(nn.Sequential(nn.ReLU(), other()), torch.zeros(2))
        self.assertEqual(modules["metadata"]["unique_modules"], 3)

    def test_dtypes_differ(self):
        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Identity(), nn.Identity()

            def forward(self, x):
                return self.a(x), self.b(x.double())

        modules, _ = analysed(Two(), torch.zeros(2))
        self.assertEqual(modules["metadata"]["unique_modules"], 3)
        self.assertEqual(entry(modules, "b")["input_dtypes"], ["float64"])
        self.assertEqual(modules["modules"][0]["output_dtypes"], ["float32", "float64"])

    def test_tensors_of_other_classes_are_configuration(self):
        class Table(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.rows = nn.Parameter(torch.zeros(size, 3))

            def forward(self, x):
                return self.rows[x]

        both = nn.ModuleList([Table(5), Table(6), Table(5)])
        both.forward = lambda x: [one(x) for one in both]
        modules, _ = analysed(both, torch.tensor([1, 2]))
        self.assertEqual(entry(modules, "2")["occurrences"], ["0", "2"])
        rows = entry(modules, "1")["parameters"]["rows"]
        self.assertEqual(rows, {"shape": "6x3", "dtype": "float32"})

    def test_the_position_is_not_part_of_the_configuration(self):
        class Layer(nn.Module):
            def __init__(self, index):
                super().__init__()
                self.layer_idx, self.scale = index, 2.0

            def forward(self, x):
                return x * self.scale

        model = nn.Sequential(Layer(0), Layer(1), Layer(7))
        modules, _ = analysed(model, torch.zeros(1))
        self.assertEqual(entry(modules, "0")["occurrences"], ["0", "1"])
        self.assertEqual(entry(modules, "0")["parameters"], {"scale": 2.0})
        self.assertEqual(entry(modules, "2")["parameters"]["layer_idx"], 7)

    def test_documented_parameters_come_first(self):
        model = nn.Sequential(nn.MultiheadAttention(4, 2), nn.LSTM(3, 4, 2))
        model.forward = lambda x: (model[0](x, x, x), model[1](x[..., :3]))
        modules, _ = analysed(model, torch.zeros(2, 1, 4))
        found = entry(modules, "0")["parameters"]
        wanted = ["num_heads", "embed_dim", "kdim", "vdim", "batch_first"]
        self.assertEqual(list(found)[:5], wanted)
        found = entry(modules, "1")["parameters"]
        self.assertEqual(list(found)[:2], ["bias", "batch_first"])
        sizes = [found[name] for name in ("input_size", "hidden_size", "num_layers")]
        self.assertEqual(sizes, [3, 4, 2])

    def test_shared_modules_keep_all_paths_and_shapes(self):
        modules, ops = analysed(Tied(), torch.randn(1, 4))
        shapes = {}
        for one in modules["modules"]:
            for path in one["occurrences"]:
                shapes[path] = one["input_shapes"]
        wanted = {
            **{"(root)": ["1x4"], "a": ["1x4"], "a.0": ["1x4"], "a.1": ["1x4"]},
            **{"b": ["2x4"], "b.0": ["2x4"], "b.1": ["2x4"]},
            **{"c": ["1x4"], "d": ["1x4"], "act": ["2x4", "1x4"]},
        }
        self.assertEqual(shapes, wanted)
        self.assertEqual(entry(modules, "c")["occurrences"], ["c", "d"])
        first = entry(modules, "b.0")["id"]
        linear = "torch.nn.functional.linear"
        found = [op["source_module_id"] for op in ops["ops"] if op["op_name"] == linear]
        self.assertIn(first, found)

    def test_several_calls_keep_their_shapes(self):
        modules, _ = analysed(Tied(), torch.randn(1, 4))
        found = entry(modules, "act")
        both = [(["2x4"], ["2x4"], 1), (["1x4"], ["1x4"], 1)]
        keys = ("input_shapes", "output_shapes", "count")
        calls = [tuple(one[key] for key in keys) for one in found["calls"]]
        self.assertEqual(calls, both)
        self.assertEqual(found["output_shapes"], ["2x4", "1x4"])
        self.assertNotIn("calls", entry(modules, "c"))
        again = nn.Sequential(nn.Identity())
        again.forward = lambda x: [again[0](x) for _ in range(100)][-1]
        modules, _ = analysed(again, torch.zeros(3))
        self.assertEqual(entry(modules, "0")["input_shapes"], ["3"])

    def test_containers_and_modules_that_were_not_called(self):
        model = nn.Module()
        model.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
        model.unused = nn.ModuleDict({"x": nn.Linear(2, 2)})
        model.forward = lambda x: model.layers[1](model.layers[0](x))
        modules, _ = analysed(model, torch.zeros(1, 2))
        found = entry(modules, "layers")
        self.assertEqual(found["class_name"], "ModuleList")
        self.assertEqual(found["input_shapes"], [])
        found = entry(modules, "unused.x")
        self.assertEqual((found["parent"], found["output_shapes"]), ("unused", []))
        found = entry(modules, "layers.1")
        self.assertEqual(found["occurrences"], ["layers.0", "layers.1"])

    def test_lazy_modules(self):
        model = nn.Sequential(nn.LazyLinear(3), nn.ReLU())
        modules, ops = analysed(model, torch.zeros(1, 4))
        parameters = entry(modules, "0")["parameters"]
        self.assertEqual((parameters["in_features"], parameters["bias"]), (4, True))
        self.assertEqual(ops["metadata"]["total_ops"], 2)
        self.assertTrue(torch.nn.parameter.is_lazy(model[0].weight))


class Inputs(unittest.TestCase):
    class Add(nn.Module):
        def forward(self, x, y=None, scale=1):
            return (x if y is None else x + y) * scale

    def test_tensor_tuple_list_dict(self):
        x = torch.zeros(2, 3)
        shapes = [
            (x, ["2x3"]),
            ((x, x), ["2x3", "2x3"]),
            ([x, torch.zeros(3), 4], ["2x3", "3"]),
            ({"y": torch.zeros(1), "x": x}, ["1", "2x3"]),
        ]
        for inputs, wanted in shapes:
            modules, _ = analysed(self.Add(), inputs)
            self.assertEqual(modules["modules"][0]["input_shapes"], wanted)

    def test_a_dict_passed_as_one_argument(self):
        class Head(nn.Module):
            def forward(self, batch):
                return {"sum": batch["image"].sum(), "parts": (batch["image"][:1],)}

        modules, _ = analysed(Head(), {"image": torch.zeros(2, 3)})
        found = modules["modules"][0]
        self.assertEqual(found["input_shapes"], ["2x3"])
        self.assertEqual(found["output_shapes"], ["", "1x3"])


class Operations(unittest.TestCase):
    def test_control_flow_follows_the_inputs(self):
        class Choice(nn.Module):
            def __init__(self):
                super().__init__()
                self.small, self.large = nn.Linear(2, 2), nn.Linear(2, 2)

            def forward(self, x):
                while x.sum() > 4:
                    x = x / 2
                return torch.tanh(self.large(x)) if x.max() > 1 else self.small(x)

        _, ops = analysed(Choice(), torch.full((1, 2), 4.0))
        self.assertEqual(names(ops).count("torch.div"), 1)
        self.assertIn("torch.tanh", names(ops))
        self.assertEqual(len(find(ops, "torch.sum")["occurrences"]), 2)
        modules, ops = analysed(Choice(), torch.full((1, 2), 0.5))
        self.assertNotIn("torch.div", names(ops))
        self.assertEqual(entry(modules, "large")["input_shapes"], [])

    def test_attributes(self):
        layers = [
            nn.Conv1d(2, 4, 3, stride=2, padding=1, dilation=2, groups=2),
            nn.ConvTranspose1d(4, 4, 2, output_padding=0),
            nn.AdaptiveAvgPool1d(2),
            nn.Flatten(),
            nn.Softmax(-1),
        ]
        _, ops = analysed(nn.Sequential(*layers), torch.zeros(1, 2, 16))
        wanted = {"stride": [2], "padding": [1], "dilation": [2], "groups": 2}
        self.assertEqual(find(ops, "torch.conv1d")["attributes"], wanted)
        wanted = ["stride", "padding", "output_padding", "groups", "dilation"]
        found = find(ops, "torch.conv_transpose1d")["attributes"]
        self.assertEqual(list(found), wanted)
        found = find(ops, "torch.flatten")["attributes"]
        self.assertEqual(found, {"start_dim": 1, "end_dim": -1})
        self.assertEqual(find(ops, "torch.softmax")["attributes"], {"dim": -1})
        self.assertEqual(len(ops["ops"]), 5)

    def test_interpolation(self):
        net = nn.Sequential(nn.Upsample(scale_factor=2), nn.Upsample(8, mode="bilinear"))
        _, ops = analysed(net, torch.zeros(1, 1, 2, 2))
        name = "torch.nn.functional.interpolate"
        self.assertEqual(names(ops), [name, name])
        first, second = (op["attributes"] for op in ops["ops"])
        self.assertEqual(first, {"mode": "nearest", "scale_factors": [2.0, 2.0]})
        self.assertEqual((second["mode"], second["output_size"]), ("bilinear", [8, 8]))

    def test_higher_order_operations(self):
        model = nn.Module()
        model.forward = lambda x: torch.cond(
            x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (x,)
        )
        _, ops = analysed(model, torch.ones(2))
        wanted = ["torch.sum", "torch.gt", "torch.ops.higher_order.cond"]
        self.assertEqual(names(ops), wanted)

    def test_names(self):
        class Net(nn.Module):
            def forward(self, x):
                y = nn.Softmax(-1)(x).view(4) + torch.fft.fft(x[0]).abs()
                return y * torch.linalg.norm(x) @ torch.tensor([1.0, 2, 3, 4])

        _, ops = analysed(Net(), torch.ones(1, 4))
        wanted = "softmax Tensor.view select fft.fft abs add linalg.norm mul tensor"
        wanted = [f"torch.{name}" for name in [*wanted.split(), "matmul"]]
        self.assertEqual(names(ops), wanted)
        self.assertEqual({op["source_module_id"] for op in ops["ops"]}, {"mod_000"})

    def test_scripted_and_compiled_models(self):
        net = nn.Sequential(nn.Linear(4, 2), nn.ReLU())
        for model in (torch.jit.script(net), torch.compile(net)):
            _, ops = analysed(model, torch.zeros(1, 4))
            self.assertEqual(names(ops), ["torch.nn.functional.linear", "torch.relu"])

    def test_the_same_operation_of_different_modules_is_one(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.act = nn.ReLU()

            def forward(self, x):
                return torch.relu(self.act(x))

        modules, ops = analysed(Net(), torch.zeros(3))
        wanted = [
            {"source_module_id": "mod_001", "node_name": "relu"},
            {"source_module_id": "mod_000", "node_name": "relu_1"},
        ]
        self.assertEqual(find(ops, "torch.relu")["occurrences"], wanted)
        self.assertEqual(ops["metadata"]["unique_ops"], 1)

    def test_results_and_lists_of_tensors(self):
        model = nn.Module()
        model.forward = lambda x: torch.cat(x.split(1)[:2])
        _, ops = analysed(model, torch.zeros(3, 2))
        split = find(ops, "torch.split")["tensor_types"]
        self.assertEqual(list(split), ["output", "output_1", "output_2", "self"])
        cat = find(ops, "torch.cat")["tensor_types"]
        self.assertEqual(list(cat), ["output", "tensors[0]", "tensors[1]"])
        self.assertEqual(cat["output"], {"shape": "2x2", "dtype": "float32"})

    def test_values_that_json_cannot_represent(self):
        model = nn.Module()
        model.forward = lambda x: x.masked_fill(x > 0, float("-inf")).to(torch.float64)
        _, ops = analysed(model, torch.ones(2))
        found = find(ops, "torch.masked_fill")["attributes"]
        self.assertEqual(found, {"value": "-Infinity"})
        self.assertEqual(find(ops, "torch.Tensor.to")["attributes"]["dtype"], "float64")

    def test_a_forward_that_needs_autograd(self):
        class Force(nn.Module):
            def __init__(self):
                super().__init__()
                self.energy = nn.Conv2d(1, 1, 1)

            def forward(self, x):
                x = x.detach().requires_grad_()
                return torch.autograd.grad(self.energy(x).sum(), x)[0]

        modules, ops = analysed(Force(), torch.zeros(1, 1, 2, 2))
        self.assertEqual(entry(modules, "energy")["output_shapes"], ["1x1x2x2"])
        wanted = {"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1], "groups": 1}
        self.assertEqual(find(ops, "torch.conv2d")["attributes"], wanted)

    def test_the_model_is_left_as_it_was(self):
        class Cache(nn.BatchNorm1d):
            def forward(self, x):
                self.last = x * 1
                return super().forward(x)

        model = nn.Sequential(Cache(2), nn.Dropout(0.5))
        before = {name: one.clone() for name, one in model.state_dict().items()}
        analysed(model, torch.randn(3, 2))
        self.assertTrue(model.training and model[1].training)
        self.assertFalse(hasattr(model[0], "last"))
        for name, one in model.state_dict().items():
            self.assertTrue(torch.equal(one, before[name]))
        model(torch.randn(3, 2)).sum().backward()

    def test_a_file_about_another_model_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.json")
            with contextlib.redirect_stderr(io.StringIO()):
                extract_unique_modules(nn.Identity, lambda: torch.zeros(1), path)
                arguments = (lambda: nn.Sequential(nn.ReLU()), lambda: torch.zeros(1))
                with self.assertRaisesRegex(ValueError, "describes another model"):
                    extract_pytorch_ops(path, *arguments, os.path.join(folder, "o"))
                Path(path).write_text("{}")
                with self.assertRaisesRegex(ValueError, "is not a file of extract"):
                    extract_pytorch_ops(path, *arguments, os.path.join(folder, "o"))
                with self.assertRaises(FileNotFoundError):
                    extract_pytorch_ops(f"{folder}/no", *arguments)
            self.assertEqual(os.listdir(folder), ["m.json"])

    def test_the_classes(self):
        op = OpInfo("op_000", "torch.relu", "mod_000", "ReLU")
        self.assertEqual(op.to_dict()["occurrences"], [])
        info = ModuleInfo("mod_000", "ReLU", "(root)", None)
        self.assertEqual(list(info.to_dict())[-2:], ["parameters", "occurrences"])


def find(ops, name):
    return next(op for op in ops["ops"] if op["op_name"] == name)


@unittest.skipUnless(HAS_TRANSFORMERS, "transformers is not installed")
class Transformers(unittest.TestCase):
    def test_gpt2(self):
        from transformers import GPT2Config, GPT2LMHeadModel

        sizes = {"n_layer": 3, "n_head": 2, "n_embd": 8, "n_positions": 16}
        tokens = {"vocab_size": 50, "bos_token_id": 0, "eos_token_id": 1}
        model = GPT2LMHeadModel(GPT2Config(**sizes, **tokens))
        modules, ops = analysed(model, torch.zeros(1, 4, dtype=torch.int64))
        blocks = entry(modules, "transformer.h.2")["occurrences"]
        self.assertEqual(blocks, [f"transformer.h.{n}" for n in range(3)])
        self.assertEqual(entry(modules, "lm_head")["output_shapes"], ["1x4x50"])
        name = "torch.nn.functional.scaled_dot_product_attention"
        self.assertEqual(len(find(ops, name)["occurrences"]), 3)
        self.assertEqual(find(ops, name)["source_module_class"], "GPT2Attention")

    def test_t5(self):
        from transformers import T5Config, T5ForConditionalGeneration

        sizes = {"num_layers": 3, "d_model": 8, "d_kv": 4, "num_heads": 2, "d_ff": 16}
        model = T5ForConditionalGeneration(T5Config(vocab_size=50, **sizes))
        tokens = torch.zeros(1, 4, dtype=torch.int64)
        inputs = {"input_ids": tokens, "decoder_input_ids": tokens[:, :3]}
        modules, ops = analysed(model, inputs)
        self.assertEqual(modules["modules"][0]["input_shapes"], ["1x4", "1x3"])
        # Only the first block has the bias of positions; the others get it.
        blocks = [f"encoder.block.{n}" for n in range(3)]
        self.assertEqual(entry(modules, blocks[0])["occurrences"], blocks[:1])
        self.assertEqual(entry(modules, blocks[2])["occurrences"], blocks[1:])
        norm = entry(modules, "encoder.block.0.layer.0.layer_norm")
        self.assertEqual(norm["parameters"]["weight"]["shape"], "8")
        self.assertIn("torch.rsqrt", names(ops))


if __name__ == "__main__":
    unittest.main()
