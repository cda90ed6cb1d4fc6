# flavours: both
"""torchoscope.compat.rp: every example of the documents that describe rp runs with only
its import line changed (seeds.py), and the functions that they define give the same
results here."""

import asyncio
import contextlib
import dataclasses
import io
import json
import os
import random
import re
import sys
import tempfile
import types
import typing
import unittest
from pathlib import Path
from unittest import mock

import torch
from torch import nn

import seeds
import torchoscope.compat.rp as rp
from architectures import ARCHITECTURES
from torchoscope.compat import analysis

torch.set_num_threads(1)


# --- stand-ins for other imports of the examples


class StableDiffusionPipeline:
    """A text encoder, a denoiser that is called once per step, and a decoder."""

    def __init__(self, dtype):
        self.text_encoder = nn.Embedding(256, 8)
        self.unet = nn.Sequential(
            nn.Conv2d(4, 8, 3, padding=1), nn.SiLU(), nn.Conv2d(8, 4, 3, padding=1)
        )
        self.vae = nn.ConvTranspose2d(4, 3, 2, stride=2)
        self.dtype = dtype

    @classmethod
    def from_pretrained(cls, name, revision, torch_dtype):
        assert name == "CompVis/stable-diffusion-v1-4" and revision == "fp16"
        return cls(torch_dtype)

    def to(self, device):
        # An old torch has no half-precision convolution on the CPU.
        dtype = torch.float32 if device.type == "cpu" else self.dtype
        for part in (self.text_encoder, self.unet, self.vae):
            part.to(device, dtype)
        return self

    @torch.no_grad()
    def __call__(self, prompt, num_inference_steps):
        words = self.text_encoder(torch.tensor(list(prompt.encode())))
        picture = words.mean() + torch.zeros(1, 4, 8, 8)
        for _ in range(num_inference_steps):
            picture = picture - 0.1 * self.unet(picture)
        return self.vae(picture)


def module(name, **parts):
    made = types.ModuleType(name)
    vars(made).update(parts)
    return made


def resnet50(pretrained):
    return ARCHITECTURES["resnet"].make_model()


def stand_ins():
    def work(exclusive):
        return lambda function: function

    worker = {n: type(n, (Exception,), {}) for n in ("WorkerCancelled", "WorkerFailed")}
    models = module("torchvision.models", resnet50=resnet50)
    return {
        "torchvision": module("torchvision", models=models),
        "torchvision.models": models,
        "diffusers": module("d", StableDiffusionPipeline=StableDiffusionPipeline),
        "textual": module("textual", work=work),
        "textual.widgets": module("textual.widgets"),
        "textual.widgets._tree": module("_tree", Tree=object, TreeNode=object),
        "textual.worker": module("textual.worker", Worker=object, **worker),
        "textual.await_complete": module("await_complete", AwaitComplete=object),
    }


# --- running examples


def small():
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.Flatten(), nn.Linear(4 * 64, 2)
    )


def prompt(model=None):
    """The names at rp's prompt, which imports rp and its functions."""
    worker = stand_ins()["textual.worker"]
    return {
        **{name: getattr(rp, name) for name in rp.__all__},
        **vars(typing),
        "rp": rp,
        "torch": torch,
        "asyncio": asyncio,
        "dataclass": dataclasses.dataclass,
        "work": stand_ins()["textual"].work,
        "WorkerCancelled": worker.WorkerCancelled,
        "model": model or small(),
        "input_data": torch.randn(2, 3, 8, 8),
    }


@contextlib.contextmanager
def terminal(typed):
    """Standard input is a terminal, as at a prompt."""
    master, slave = os.openpty()
    os.write(master, typed.encode())
    try:
        with open(slave, encoding="utf-8") as stdin:
            with mock.patch.object(sys, "stdin", stdin):
                yield
    finally:
        os.close(master)


@contextlib.contextmanager
def folder():
    """Change into an empty folder."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        try:
            yield name
        finally:
            os.chdir(before)


def no_init(layer):
    """CustomNet has 1.6 GB of weights, which are never read."""


def run(code, names):
    """Run an example; its output."""
    out = io.StringIO()
    init = mock.patch.object(nn.Linear, "reset_parameters", no_init)
    with folder(), terminal("1\n"), mock.patch.dict(sys.modules, stand_ins()), init:
        torch.save(small().state_dict(), "model.pth")
        with contextlib.redirect_stdout(out):
            exec(compile(code, "example", "exec"), names)
        names["files"] = {file.name: file.read_bytes() for file in Path(".").iterdir()}
    return out.getvalue()


def example(heading, model=None):
    """(names after it, what it printed) of the example of 000 below a heading."""
    code = next(code for h, _, code in seeds.blocks(seeds.copy("000")) if h == heading)
    names = prompt(model)
    return names, run(code, names)


def recorded(model, *inputs):
    with rp.record_torch_module_forward_stats(model):
        model(*inputs)
    return model


class TheDocuments(unittest.TestCase):
    def test_the_copies_are_those_of_the_documents(self):
        for number in seeds.NUMBERS:
            text = seeds.original(number)
            if text is None:
                self.skipTest("../shared/seeds is not there")
            wanted = [(h, l, seeds.changed(c)) for h, l, c in seeds.blocks(text)]
            self.assertEqual(seeds.blocks(seeds.copy(number)), wanted)

    def test_no_example_imports_rp_itself(self):
        for number in seeds.NUMBERS:
            self.assertNotRegex(seeds.copy(number), r"(?m)^ *(import rp|from rp)\b")

    def test_all_examples_of_000_run_each_by_itself(self):
        ran = 0
        for heading, language, code in seeds.blocks(seeds.copy("000")):
            if language == "python":
                with self.subTest(heading):
                    run(code, prompt())
                    ran += 1
        self.assertEqual(ran, 19)

    def test_all_examples_of_001_run_one_after_the_other(self):
        names, printed = {}, []
        for heading, language, code in seeds.blocks(seeds.copy("001")):
            self.assertEqual(language, "python")
            printed.append(run(code, names))
        self.assertEqual(len(printed), 6)
        self.assertIs(names["rp"], rp)
        explored = printed[2]
        self.assertIn("6: Linear(32768→10)", explored)
        self.assertNotIn("calls", explored.split("Sequential: Sequential")[0])
        self.assertIn("1×3×32×32  1×64×32×32", explored)  # after the pass
        self.assertIn("Input shape: torch.Size([1, 3, 32, 32])", printed[4])
        self.assertRegex(printed[4], r"Value range: -\d\.\d{3} to \d\.\d{3}")
        self.assertEqual(len(names["pipe"].unet.forward_stats), 3)
        self.assertFalse(hasattr(names["pipe"].vae, "forward_stats"))
        self.assertRegex(printed[5], r"0: Conv2d\(4→8, 3×3\).* 1×4×8×8 1×8×8×8 +3 ")


class WhatTheyDefine(unittest.TestCase):
    """Their definitions compared with torchoscope's."""

    def models(self):
        for name in ("resnet", "lstm", "transformer", "vqvae"):
            model = ARCHITECTURES[name].make_model()
            next(model.parameters()).requires_grad_(False)
            yield model
        tied = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        tied[1].weight = tied[0].weight
        yield tied

    def test_formatters(self):
        random.seed(5)
        theirs, _ = example("Time Formatting")
        for _ in range(2000):
            seconds = 10 ** random.uniform(-10, 6)
            wanted = theirs["format_time"](seconds)
            self.assertEqual(rp.format_time(seconds), wanted, seconds)
        theirs, _ = example("Parameter Count Formatting")
        for _ in range(2000):
            count = int(10 ** random.uniform(0, 13))
            wanted = theirs["format_param_count"](count)
            self.assertEqual(rp.format_param_count(count), wanted, count)
        theirs, _ = example("Shape Formatting")
        for shape in ((), None, (3, 224, 224), torch.Size([7]), [0, -1]):
            self.assertEqual(rp.format_shape(shape), theirs["format_shape"](shape))

    def test_statistics_and_memory(self):
        statistics, _ = example("Parameter Statistics")
        memory, _ = example("Memory Analysis")
        for model in self.models():
            wanted = statistics["get_parameter_statistics"](model)
            self.assertEqual(rp.get_parameter_statistics(model), wanted)
            self.assertEqual(list(rp.get_parameter_statistics(model)), list(wanted))
            wanted = memory["analyze_memory_usage"](model)
            self.assertEqual(rp.analyze_memory_usage(model), wanted)

    def test_module_info_begins_with_their_fields(self):
        theirs = dataclasses.fields(example("Data Structures")[0]["ModuleInfo"])
        ours = dataclasses.fields(rp.ModuleInfo)[: len(theirs)]
        for their, our in zip(theirs, ours, strict=True):
            for what in ("name", "type", "default"):
                self.assertEqual(getattr(their, what), getattr(our, what))

    def test_configuration(self):
        theirs = example("Display Settings")[0]["ExplorerConfig"]
        fields = dataclasses.fields(rp.ExplorerConfig)
        ours = {field.name: (field.type, field.default) for field in fields}
        wanted = typing.get_type_hints(theirs)
        self.assertEqual(
            ours, {name: (kind, getattr(theirs, name)) for name, kind in wanted.items()}
        )

    def test_export_lazy_and_asynchronous(self):
        model = small()
        names, _ = example("Export Options", model)
        for form in ("text", "json", "html"):
            theirs = names["export_model_summary"](model, form)
            self.assertEqual(rp.export_model_summary(model, format=form), theirs)
        names, _ = example("Memory Optimization", model)
        info = names["lazy_parameter_analysis"](model)("2")
        self.assertEqual((info.parameter_count, info.module_type), (514, "Linear"))
        names, _ = example("Large Model Handling", model)
        self.assertIsNone(asyncio.run(names["analyze_model_async"](model)))

    def test_usage(self):
        names, printed = example("Usage Workflow")
        self.assertRegex(repr(names["EMA"]), r"0: Conv2d\(3→4, 3×3\).*2×3×8×8 2×4×8×8")
        _, printed = example("Basic Model Exploration")
        self.assertIn("layer2: Sequential", printed)
        _, printed = example("Custom Model Analysis")
        self.assertIn("fc: Linear(401408→1000)", printed)
        self.assertRegex(printed, r"CustomNet: CustomNet +401\.5M")
        model = recorded(small(), torch.randn(2, 3, 8, 8))
        _, printed = example("Integration with torch_hooks.py", model)
        self.assertRegex(printed, r"(?m)^0 +1 call +\S+s  2×3×8×8 → 2×4×8×8$")
        _, printed = example("Model Loading Integration")
        self.assertIn("1  ./model.pth", printed)
        self.assertRegex(printed, r"2: Module +514 .*weight: 2×256, bias: 2")
        names, _ = example("Export Integration")
        self.assertIn("2: Linear(256→2)", names["files"]["model_analysis.txt"].decode())

    def test_their_diagram_equals_ours(self):
        names, _ = example("Visualization Integration")
        theirs = names["generate_architecture_diagram"]
        self.assertIsNot(theirs, rp.generate_architecture_diagram)
        for function in (theirs, rp.generate_architecture_diagram):
            # it never ran: the input size 8×8 is found by trying
            diagram = function(small())
            self.assert_small(diagram, batch=2)
            diagram = function(recorded(small(), torch.randn(3, 3, 8, 8)))
            self.assert_small(diagram, batch=3)
        diagram = rp.generate_architecture_diagram(small(), (5, 3, 8, 8))
        self.assert_small(diagram, batch=5)
        with folder():
            rp.generate_architecture_diagram(small(), path="small.svg")
            drawn = Path("small.svg").read_text(encoding="utf-8")
        for name in "012":
            self.assertIn(f'data-id="{name}"', drawn)

    def assert_small(self, diagram, batch):
        calls = {node.name: node for node in diagram.nodes if node.kind == "call"}
        self.assertLessEqual({"0", "1", "2"}, set(calls))
        self.assertEqual(calls["2"].class_name, "Linear")
        self.assertEqual(calls["2"].shape, (batch, 2))
        lines = {
            (diagram.nodes[edge.source].name, diagram.nodes[edge.target].name)
            for edge in diagram.edges
        }
        self.assertLessEqual({("0", "1"), ("1", "2")}, lines)
        self.assertIn('data-from="0" data-to="1"', diagram.svg)

    def test_a_model_runs_with_inputs_that_fit_its_first_layer(self):
        text = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 2))
        self.assertEqual(rp.extract_model_graph(text).outputs[0].shape, (2, 16, 2))
        norm = nn.Sequential(nn.BatchNorm2d(3), nn.Conv2d(3, 1, 1)).eval()
        self.assertEqual(len(rp.extract_model_graph(norm).outputs[0].shape), 4)
        before = {name: one.clone() for name, one in norm.state_dict().items()}
        rp.extract_model_graph(norm)
        for name, one in norm.state_dict().items():
            self.assertTrue(torch.equal(one, before[name]))
        with self.assertRaisesRegex(ValueError, "pass inputs or shapes, or record"):
            rp.extract_model_graph(nn.Bilinear(2, 3, 4))
        with self.assertRaisesRegex(TypeError, "not an nn.Module"):
            rp.extract_model_graph(3)
        with self.assertRaisesRegex(TypeError, "extract_model_graph"):
            rp.plot_network_graph([(0, 1)])


class Display(unittest.TestCase):
    """Their drawings and torchoscope's show the same facts."""

    def block(self, heading):
        found = seeds.blocks(seeds.copy("000"))
        return next(code for h, _, code in found if h == heading)

    def test_tree(self):
        class BasicBlock(nn.Module):
            def __init__(self):
                super().__init__()
                for i in range(1, 5):
                    conv = nn.Conv2d(64, 64, 3, padding=1, bias=False)
                    self.add_module(f"conv{i}", conv)
                self.bn1, self.bn2 = nn.BatchNorm2d(64), nn.BatchNorm2d(64)

        class ResNet(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv1 = nn.Conv2d(3, 64, 7, padding=3, bias=False)
                self.bn1 = nn.BatchNorm2d(64)
                self.relu = nn.ReLU(inplace=True)
                self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
                self.layer1 = nn.Sequential(BasicBlock(), BasicBlock())
                self.fc = nn.Linear(2048, 1000)

        shown = rp.generate_text_summary(ResNet())
        # The sums in their sketch do not match its lines.
        drawn = self.block("Tree Structure").replace("295.9K", "295.4K")
        lines = [line for line in drawn.splitlines() if line.endswith(" params]")]
        self.assertEqual(len(lines), 10)
        for line in lines:
            label, count = line.removesuffix(" params]").split(" [")
            found = [one for one in shown.splitlines() if one.startswith(label)]
            found = found or [
                one for one in shown.splitlines() if label.lstrip("│├└─ ") in one
            ]
            self.assertTrue(found, f"{line} is not in {shown}")
            self.assertIn(count, found[0].replace(label, "").split(), line)
        total = rp.get_parameter_statistics(ResNet())["total_params"]
        self.assertIn(f"{total:,} parameters", shown)

    def test_performance(self):
        block = nn.Module()
        block.conv1 = nn.Conv2d(64, 64, 3, padding=1, bias=False)
        model = nn.Module()
        model.layer1 = nn.Sequential(block)
        with rp.record_torch_module_forward_stats(model):
            block.conv1(torch.randn(1, 64, 56, 56)).sum().backward()
        shown = str(rp.lazy_parameter_analysis(model)("layer1.0.conv1"))
        took = r"\d+\.\d+[μm]?s"
        drawn = self.block("Performance Overlay")
        # 147456 bytes are 144 KB here. An old torch has no backward times.
        drawn = drawn.replace("147KB", "144KB").replace("⚡", "").replace("📊", "")
        for line, wanted in zip(shown.splitlines(), drawn.splitlines(), strict=True):
            words, wanted = line.split(), wanted.split()
            if "backward()" in words and torch.__version__ < "2":
                wanted.remove("0.38ms")
            self.assertEqual(len(words), len(wanted), line)
            for word, want in zip(words, wanted):
                if re.fullmatch(took, want):
                    self.assertRegex(word, f"^{took}$")
                else:
                    self.assertEqual(word, want)


class Configuration(unittest.TestCase):
    """Every field has an effect in every format that supports it."""

    def setUp(self):
        torch.manual_seed(0)
        blocks = nn.Sequential(*(nn.Linear(6, 6) for _ in range(8)))
        self.model = recorded(nn.Sequential(blocks, nn.Linear(6, 7)), torch.randn(5, 6))

    def all(self, **fields):
        config = rp.ExplorerConfig(**fields)
        forms = ("text", "json", "html")
        return [rp.export_model_summary(self.model, form, config) for form in forms]

    def gone(self, fact, *texts, **fields):
        for one, plain, other in zip(texts, self.all(), self.all(**fields)):
            self.assertRegex(plain, one, fact)
            self.assertNotRegex(other, one, fact)

    def test_counts(self):
        one = r"\b385\b|\b(total|trainable)_params"
        text = r"Sequential: Sequential +385\b"
        self.gone("counts", text, one, ">385<", show_parameter_counts=False)

    def test_shapes(self):
        self.gone(
            "shapes", "7×6|5×7", r'"(shapes|\w+_shape)"', "7×6|5×7", show_shapes=False
        )

    def test_timing(self):
        self.gone("times", "calls", '"timing_stats"', ">calls<|forward", show_timing=False)

    def test_memory(self):
        self.gone("bytes", "1.5KB", '"memory_usage"', ">1.5KB<", show_memory=False)

    def test_depth(self):
        deep = r"2: Linear\(6→6\)"
        row = "<b>2</b> Linear 6→6"
        self.gone("depth", deep, r'"0\.2"', row, max_depth=1)
        text, document, page = self.all(max_depth=0)
        self.assertEqual(len(json.loads(document)["modules"]), 1)
        self.assertEqual(page.count('class="ts-r'), 2)  # its header is one
        # Also for a part of a recording.
        config = rp.ExplorerConfig(max_depth=0)
        self.assertNotRegex(rp.generate_text_summary(self.model[0], config), deep)
        self.assertIn("0: Sequential", rp.generate_text_summary(self.model[0], config))

    def test_compact(self):
        text, document, page = self.all(compact_view=True)
        self.assertNotIn("2: Linear", text)  # folded
        self.assertNotIn("%", text)
        self.assertNotIn("parameters, all trainable", text)
        self.assertEqual(document.count("\n"), 0)
        self.assertNotIn("<b>2</b> Linear", page)
        self.assertNotIn("%", page[page.index('class="ts-r'):].replace("%;", ""))

    def test_colours(self):
        _, _, dark = self.all()
        _, _, light = self.all(color_scheme="light")
        self.assertIn('lang="en" style="color-scheme: dark"', dark)
        self.assertIn('lang="en" style="color-scheme: light"', light)
        self.assertIn('<div class="torchoscope ts-dark">', dark)
        self.assertIn('<div class="torchoscope ts-light">', light)
        for scheme, coloured in (("dark", True), ("none", False)):
            out = io.StringIO()
            out.isatty = lambda: True
            terminal = mock.patch.dict(os.environ, {"TERM": "xterm", "NO_COLOR": ""})
            prints = mock.patch("torchoscope.terminal.can_show", lambda: False)
            with terminal, prints, contextlib.redirect_stdout(out):
                rp.explore_model(self.model, rp.ExplorerConfig(color_scheme=scheme))
            self.assertEqual("\x1b[" in out.getvalue(), coloured)
        with self.assertRaisesRegex(ValueError, "dark, light, auto, none, not pink"):
            rp.ExplorerConfig(color_scheme="pink")

    def test_pages_are_escaped_and_json_is_whole(self):
        model = nn.Module()
        model.add_module("<b>", nn.Linear(1, 1))
        page = rp.generate_html_summary(model)
        self.assertIn("<b>&lt;b&gt;</b>", page)
        document = json.loads(rp.generate_json_summary(self.model))
        self.assertEqual(document["total_params"], 385)
        last = document["modules"][-1]
        self.assertEqual((last["name"], last["output_shape"]), ("1", [5, 7]))
        self.assertEqual(last["timing_stats"]["calls"], 1)


class Recording(unittest.TestCase):
    def shown(self, function, *args, **kwargs):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            function(*args, **kwargs)
        return out.getvalue()

    def test_exploring_with_stats_records_and_leaves_the_model_unchanged(self):
        model = nn.Sequential(nn.Conv2d(3, 2, 3, padding=1), nn.BatchNorm2d(2))
        mean = model[1].running_mean.clone()
        printed = self.shown(
            rp.explore_torch_module_with_stats, model, torch.randn(1, 3, 8, 8)
        )
        self.assertRegex(printed, r"0: Conv2d\(3→2, 3×3\).*1×3×8×8 1×2×8×8 +1 ")
        self.assertEqual(model[0].forward_stats[-1].out_shape, (1, 2, 8, 8))
        self.assertTrue(torch.equal(model[1].running_mean, mean))

    def test_the_first_module_of_an_object_that_cannot_be_called(self):
        holder = types.SimpleNamespace(net=nn.Linear(2, 3), rest=nn.Linear(1, 1))
        printed = self.shown(
            rp.explore_torch_module_with_stats, holder, input=torch.ones(4, 2)
        )
        self.assertEqual(len(holder.net.forward_stats), 1)
        self.assertIn("rest: Linear(1→1)", printed)
        with self.assertRaisesRegex(TypeError, "is not an nn.Module and contains none"):
            rp.explore_torch_module_with_stats(object())

    def test_all_calls_are_listed_individually(self):
        model = nn.Linear(1, 1)
        with rp.stats_collection(model):
            for n in range(1, 101):
                model(torch.ones(n, 1))
        self.assertEqual([s.in_shape[0] for s in model.forward_stats], [*range(1, 101)])
        with rp.record_module_forward_stats(model):
            pass
        self.assertEqual(rp.get_forward_stats(model), {})

    def test_results_that_are_tuples(self):
        model = recorded(nn.LSTM(2, 3), torch.randn(4, 1, 2))
        self.assertEqual(model.forward_stats[-1].out_shape, (4, 1, 3))
        info = rp.analyze_module_detailed(model)
        self.assertEqual((info.input_shape, info.output_shape), ((4, 1, 2), (4, 1, 3)))

    def test_manual_hooks(self):
        model = nn.Sequential(nn.Linear(2, 2))
        handles = rp.add_forward_hooks(model)
        model(torch.ones(1, 2))
        for handle in handles:
            handle.remove()
        model(torch.ones(1, 2))
        self.assertEqual(len(model[0].forward_stats), 1)

    def test_parts_that_were_recorded_are_shown_with_the_whole(self):
        pipe = StableDiffusionPipeline(torch.float32)
        recorded(pipe.unet, torch.randn(1, 4, 8, 8))
        printed = self.shown(rp.explore_module, pipe)
        self.assertIn("vae: ConvTranspose2d", printed)
        self.assertRegex(printed, r"2: Conv2d.*1×8×8×8 1×4×8×8 +1 ")
        with rp.stats_collection(pipe):
            pipe("a cat", num_inference_steps=2)
        printed = self.shown(rp.explore_module, pipe)
        self.assertEqual(printed.count("vae: ConvTranspose2d"), 1)
        self.assertRegex(printed, r"unet: Sequential.*1×4×8×8 +1×4×8×8 +2 ")
        printed = self.shown(rp.explore_module, pipe.unet)
        self.assertNotIn("vae: ConvTranspose2d", printed)

    def test_a_part_that_was_recorded_under_another_name(self):
        net = nn.Linear(2, 2)
        other = types.SimpleNamespace(mynet=net)
        with rp.stats_collection(other):
            net(torch.ones(3, 2))
        printed = rp.generate_text_summary(types.SimpleNamespace(net=net))
        self.assertRegex(printed, r"mynet: Linear\(2→2\).* 3×2 3×2 +1 ")

    def test_a_notebook_gets_html_and_nothing_is_printed(self):
        shown = []
        fake = module("IPython.display", HTML=str, display=shown.append)
        parts = {"IPython": module("IPython", display=fake), "IPython.display": fake}
        where = mock.patch("torchoscope.compat.display.in_notebook", lambda: True)
        with where, mock.patch.dict(sys.modules, parts):
            self.assertEqual(self.shown(rp.explore_torch_module, small()), "")
        self.assertIn("<b>2</b> Linear 256→2", shown[0])
        self.assertNotRegex(shown[0], "<html|<script")

    def test_a_model_that_changed_since_is_shown_as_it_is(self):
        model = recorded(nn.Sequential(nn.Linear(2, 2)), torch.ones(1, 2))
        model.append(nn.Linear(2, 9))
        self.assertIn("1: Linear(2→9)", rp.generate_text_summary(model))


class Rest(unittest.TestCase):
    def test_golden_vectors(self):
        golden = {
            rp.format_time: {
                0: "0.0ns", 5e-10: "0.5ns", 9.999e-7: "999.9ns", 1e-6: "1.00μs",
                0.00012345: "123.45μs", 0.001: "1.00ms", 0.0123456: "12.35ms",
                0.9999: "999.90ms", 1.0: "1.0000s", 9.99999: "10.0000s", 10: "10.00s",
                59.999: "60.00s", 60: "1.0min", 3599: "60.0min", 3600: "1.0h",
                86400: "24.0h",
            },
            rp.format_param_count: {
                0: "0", 999: "999", 1000: "1.0K", 1050: "1.1K", 999949: "999.9K",
                999950: "1000.0K", 1000000: "1.0M", 25557032: "25.6M",
                999999999: "1000.0M", 1e9: "1.0B",
            },
            rp.format_percentage: {
                -1: " 0%", 0.99: " 0%", 1: " 1%", 9.99: " 9%", 99.99: "99%",
                100: "100%", 250: "100%",
            },
            rp.human_readable_file_size: {
                0: "0B", 1023: "1023B", 1024: "1KB", 1025: "1.0KB", 1536: "1.5KB",
                23675: "23.1KB", 2**20: "1MB", 1610612736: "1.5GB", 2**40: "1TB",
            },
            rp.format_shape: {(): "", (3, 224, 224): "3×224×224"},
        }  # fmt: skip
        for function, vectors in golden.items():
            for value, text in vectors.items():
                self.assertEqual(function(value), text)
        devices = {torch.device(d) for d in ("cuda:0", "cuda:1", "cpu")}
        self.assertEqual(rp.format_devices(devices), "cpu/cuda:0,1")
        for function in (rp.format_time, rp.human_readable_file_size, rp.format_shape):
            with self.assertRaises((TypeError, ValueError)):
                function("many")

    def test_paths(self):
        model = ARCHITECTURES["resnet"].make_model()
        conv = model.layer1[0].conv1
        for path in ("layer1.0.conv1", "layer1[0].conv1", "model.layer1[0].conv1"):
            self.assertIs(rp.get_module_by_path(model, path), conv)
        self.assertIs(rp.get_module_by_path(model, ""), model)
        with self.assertRaisesRegex(KeyError, "did you mean maxpool"):
            rp.get_module_by_path(model, "max_pool")

    def test_asynchronous_analysis_does_not_block_and_can_be_cancelled(self):
        model = nn.Sequential(*(nn.Linear(1, 1) for _ in range(50)))

        async def both():
            task = asyncio.ensure_future(rp.analyze_model_async(model))
            turns = 0
            while not task.done():
                await asyncio.sleep(0)
                turns += 1
            return task.result(), turns

        async def cancelled():
            task = asyncio.ensure_future(rp.analyze_model_async(model))
            await asyncio.sleep(0)
            task.cancel()
            await task

        with mock.patch.object(analysis, "_TURN_S", -1):
            infos, turns = asyncio.run(both())
            self.assertGreaterEqual(turns, 50)
            with self.assertRaises(asyncio.CancelledError):
                asyncio.run(cancelled())
        self.assertEqual(len(infos), 51)
        self.assertEqual(infos[""].parameter_count, 100)
        self.assertEqual(infos["7"].shapes, {"weight": (1, 1), "bias": (1,)})

    def test_tensors(self):
        x, y = torch.ones(2), torch.ones(3)
        self.assertIs(rp.extract_tensor(x), x)
        self.assertIs(rp.extract_tensor((None, [y, x])), y)
        self.assertIs(rp.extract_tensor({"mask": x, "logits": y}), y)
        self.assertIs(rp.extract_tensor(types.SimpleNamespace(a=x, sample=y)), y)
        self.assertIsNone(rp.extract_tensor("text"))
        weight = nn.Parameter(torch.ones(4))
        self.assertEqual(rp.calculate_tensor_memory(weight), 16)
        weight.sum().backward()
        self.assertEqual(rp.calculate_tensor_memory(weight), 32)
        x = torch.ones(2, dtype=torch.cfloat)
        self.assertEqual(rp.calculate_tensor_memory(x), 16)

    def test_modules_in_objects_and_their_parents(self):
        model = small()
        holder = types.SimpleNamespace(net=model, size=3)
        self.assertEqual(rp.find_modules_in_object(holder), {"net": model})
        self.assertEqual(rp.find_modules_in_object(model), {"": model})
        self.assertEqual(rp.build_parent_map(model), {part: model for part in model})

    def test_lazy_parameters_count_nothing(self):
        lazy = nn.Sequential(nn.LazyLinear(3), nn.Linear(3, 1))
        self.assertEqual(rp.get_parameter_statistics(lazy)["total_params"], 4)
        self.assertEqual(rp.analyze_module_detailed(lazy[0]).shapes, {})

    def test_objects_that_are_not_models(self):
        for function in (
            rp.explore_model,
            rp.get_parameter_statistics,
            rp.generate_json_summary,
        ):
            with self.assertRaisesRegex(TypeError, "int is not an nn.Module and"):
                function(3)
        with self.assertRaisesRegex(TypeError, "holds no tensors"):
            rp.explore_model({"epoch": 3})
        with self.assertRaisesRegex(ValueError, "text, json and html, not pdf"):
            rp.export_model_summary(small(), "pdf")

    def test_selecting_a_file(self):
        with folder():
            os.mkdir("below")
            for name in ("b.pth", "a.safetensors", "notes.txt", "below/c.PT"):
                open(name, "w").close()
            out = io.StringIO()
            with terminal("x\n9\n2\n"), contextlib.redirect_stdout(out):
                self.assertEqual(rp.input_select_file(), "./b.pth")
            self.assertNotIn("notes", out.getvalue())
            with open(os.devnull) as nothing, mock.patch.object(sys, "stdin", nothing):
                with self.assertRaisesRegex(RuntimeError, "needs a terminal"):
                    rp.input_select_file(extension_filter="pth")
            with self.assertRaisesRegex(FileNotFoundError, r"no \.gguf file found in"):
                rp.input_select_file(extension_filter="gguf")

    def test_all_names_exist(self):
        for name in rp.__all__:
            self.assertTrue(hasattr(rp, name), name)


if __name__ == "__main__":
    unittest.main()
