"""torchoscope.compat.torchexplorer: the assertions of TorchExplorer's own tests hold,
its examples run with only the import changed (seeds.py), and the training is
unchanged."""

import contextlib
import copy
import gc
import io
import json
import math
import os
import pickle
import resource
import subprocess
import sys
import types
import unittest
import warnings
import weakref
from unittest import mock

import torch
from torch import nn

import seeds
import vision_models
from architectures import ARCHITECTURES
from folder import TemporaryFolder
from identity_test import all_of_it, bits, left_behind, seed
from torchoscope import hooks
from torchoscope.compat import torchexplorer
from torchoscope.compat.torchexplorer import StructureWrapper, attach, core, rows, watch
from torchoscope.compat.torchexplorer.core import (
    HistogramParams,
    IncrementalHistogram,
    ModuleInvocationHistograms,
    ModuleInvocationStructure,
)

torch.set_num_threads(1)
STEPS = 15


def train(model, x, y, steps=STEPS, pick=None, between=None):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(steps):
        made = model(x)
        if between is not None:
            between()
        loss = nn.functional.mse_loss(made if pick is None else made[pick], y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def followed(model, x, y, steps=STEPS, pick=None, **options):
    """The structure of a model that was trained."""
    wrapper = watch(model, **{"log_freq": 1, "backend": "none", **options})
    train(model, x, y, steps, pick)
    return wrapper.structure


def sizes(structure):
    return len(structure.inner_graph.nodes), len(structure.inner_graph.edges)


def edges(structure):
    """The edges of a graph as pairs of names."""

    def name(node):
        return node if isinstance(node, str) else type(node.module).__name__

    return sorted((name(a), name(b)) for a, b in structure.inner_graph.edges)


class Strict(TemporaryFolder):
    """Warnings are errors."""

    def setUp(self):
        super().setUp()
        seed()
        self.addCleanup(gc.collect)  # models with a step without backward
        self.addCleanup(torchexplorer._close_pages)
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("error")

    def columns(self, hists, n):
        self.assertTrue(hists)
        self.assertEqual([len(one.history_bins) for one in hists], [n] * len(hists))


# --- assertions of TorchExplorer's tests


class InPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(10, 10)

    def forward(self, x):
        made = self.fc1(x)
        made += x
        return made


class Rounded(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 20)

    def forward(self, x):
        return torch.round(self.fc1(x)).long().float()


class NotDifferentiable(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.submodule = nn.Linear(10, 20), Rounded()
        self.fc2 = nn.Linear(20, 10)

    def forward(self, x):
        x = self.fc1(x)
        return self.fc2(self.submodule(x) + x)


class Quantizer(nn.Module):
    """The quantizer of a VQ-VAE: four results, one without a gradient."""

    def __init__(self):
        super().__init__()
        self.codes = nn.Embedding(16, 8)

    def forward(self, x):
        flat = x.permute(0, 2, 3, 1).reshape(-1, 8)
        at = torch.cdist(flat, self.codes.weight).argmin(1)
        chosen = nn.functional.one_hot(at, 16).float()
        found = (chosen @ self.codes.weight).view(x.shape[0], *x.shape[2:], 8)
        found = found.permute(0, 3, 1, 2)
        loss = (found.detach() - x).square().mean() + (found - x.detach()).square().mean()
        entropy = -(chosen.mean(0) * (chosen.mean(0) + 1e-10).log()).sum()
        return loss, x + (found - x).detach(), entropy.exp(), chosen


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(True))
        self.before, self.quantizer = nn.Conv2d(8, 8, 1), Quantizer()
        self.decoder = nn.ConvTranspose2d(8, 3, 3)

    def forward(self, x):
        loss, found, perplexity, _ = self.quantizer(self.before(self.encoder(x)))
        return loss, self.decoder(found), perplexity


class Groups(Strict):
    x, y = torch.randn(5, 10), torch.randn(5, 2)

    def check_chain(self, model, structure):
        self.assertIsInstance(structure, ModuleInvocationStructure)
        self.assertEqual(sizes(structure), (len(model) + 2, len(model) + 1))
        for node in structure.inner_structures():
            self.assertIn(node.module, list(model))

    def check_histograms(self, structure, calls):
        for node in structure.inner_structures():
            metadata = node.module_metadata()
            self.assertIs(metadata, node.module.torchexplorer_metadata)
            wanted = calls.get(type(node.module), 1)
            for table in (metadata.invocation_hists, metadata.invocation_grad_hists):
                self.assertEqual(list(table), list(range(wanted)))
                self.assertIsInstance(table[0], ModuleInvocationHistograms)
                self.columns(table[0].input_hists, STEPS)
                self.columns(table[0].output_hists, STEPS)
                self.assertEqual(len(table[0].input_hists), 1)
                self.assertEqual(len(table[0].output_hists), 1)

    def test_basic_mlp(self):
        model = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 2))
        structure = followed(model, self.x, self.y)
        self.check_chain(model, structure)
        for node in structure.inner_structures():
            self.assertEqual(node.invocation_id, 0)
            self.assertEqual(sizes(node), (2, 1))
        self.check_histograms(structure, {})
        shared = model[0].torchexplorer_metadata.shared_hists
        self.columns([*shared.param_hists.values()], STEPS)
        self.columns([*shared.param_grad_hists.values()], STEPS)

    def test_a_relu_that_is_used_twice(self):
        relu = nn.ReLU()
        model = nn.Sequential(nn.Linear(10, 20), relu, nn.Linear(20, 2), relu)
        structure = followed(model, self.x, self.y)
        self.check_chain(model, structure)
        nodes = list(structure.inner_graph.nodes)
        self.assertEqual(nodes[:2], ["Input 0", "Output 0"])
        self.assertEqual([one.invocation_id for one in nodes[2:]], [1, 0, 0, 0])
        self.assertEqual({sizes(one) for one in nodes[2:]}, {(2, 1)})
        self.check_histograms(structure, {nn.ReLU: 2})

    def test_a_relu_that_is_also_used_inside(self):
        relu = nn.ReLU()
        inner = nn.Sequential(relu, nn.Linear(20, 20))
        model = nn.Sequential(nn.Linear(10, 20), inner, relu, nn.Linear(20, 2), relu)
        structure = followed(model, self.x, self.y)
        self.check_chain(model, structure)
        nodes = list(structure.inner_graph.nodes)
        self.assertEqual([one.invocation_id for one in nodes[2:]], [2, 0, 1, 0, 0])
        self.assertEqual(sizes(nodes[5]), (4, 3))
        self.assertEqual({sizes(one) for one in nodes[2:] if one is not nodes[5]}, {(2, 1)})

    def test_in_place(self):
        model = nn.Sequential(
            InPlace(), nn.Linear(10, 20), nn.ReLU(inplace=True), nn.Linear(20, 2)
        )
        options = {"ignore_io_grad_classes": [InPlace], "disable_inplace": True}
        for chosen in (options, {}):
            structure = followed(model, self.x, self.y, **chosen)
            self.check_chain(model, structure)
            for node in structure.inner_structures():
                inner = isinstance(node.module, InPlace)
                self.assertEqual(sizes(node), (3, 3) if inner else (2, 1))
                self.assertEqual(node.invocation_id, 0)
            shown = model[0].torchexplorer_metadata.invocation_grad_hists
            below = model[0].fc1.torchexplorer_metadata.invocation_grad_hists
            self.assertEqual((len(shown), len(below)), (0, 0) if chosen else (1, 1))
        self.assertFalse(model[2].inplace)

    def test_not_differentiable(self):
        model = NotDifferentiable()
        structure = followed(model, self.x, torch.randn(5, 10))
        self.assertEqual(sizes(structure), (5, 5))
        inner = structure.get_inner_structure(model.submodule, 0)
        self.assertEqual(list(inner.inner_graph.nodes), ["Input 0", "Output 0"])
        self.assertEqual(sizes(inner), (2, 0))
        for node in structure.inner_structures():
            metadata = node.module_metadata()
            self.columns(metadata.invocation_hists[0].input_hists, STEPS)
            self.columns(metadata.invocation_hists[0].output_hists, STEPS)
            if node.module is model.submodule:
                self.assertEqual(metadata.invocation_grad_hists, {})
            else:
                self.columns(metadata.invocation_grad_hists[0].input_hists, STEPS)
                self.columns(metadata.invocation_grad_hists[0].output_hists, STEPS)

    def test_vqvae(self):
        x = torch.randn(2, 3, 8, 8)
        model = VQVAE()
        structure = followed(model, x, x, pick=1, steps=3)
        self.assertEqual(sizes(structure), (8, 7))
        quantizer = structure.get_inner_structure(model.quantizer, 0)
        names = [one for one in quantizer.inner_graph.nodes if isinstance(one, str)]
        self.assertEqual(len(names), 1 + 4)
        wanted = [("Input 0", "Output 0"), ("Input 0", "Output 1")]
        self.assertEqual(edges(quantizer), wanted)

    def test_evaluation_between_forward_and_backward(self):
        model = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 2))
        watch(model, log_freq=1, backend="none")

        def evaluate():
            model.eval()
            with torch.no_grad():
                model(torch.randn(7, 10) + 100)
            model.train()

        train(model, self.x, self.y, 1, between=evaluate)
        metadata = model[0].torchexplorer_metadata
        self.columns([metadata.shared_hists.param_hists["weight"]], 1)
        self.columns(metadata.invocation_hists[0].input_hists, 1)
        self.assertEqual(metadata.input_sizes[0][0].size, [5, 10])
        self.assertLess(metadata.invocation_hists[0].input_hists[0].max, 50)


# --- models that its remote tests train


class Several(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(10, 10), nn.Linear(10, 10)

    def forward(self, a, b):
        return self.fc1(a), self.fc2(b)


class Mixed(nn.Module):
    """Several inputs and outputs; tensors are attached if `names` has them."""

    def __init__(self, *names):
        super().__init__()
        self.fc1, self.inner, self.fc2 = nn.Linear(10, 10), Several(), nn.Linear(10, 10)
        self.names = names

    def attach(self, x, name):
        return attach(x, self, name) if name in self.names else x

    def forward(self, x):
        y1 = self.attach(self.fc1(x), "y1")
        y2, y3 = self.inner(y1, y1 * 5)
        y2, y3 = self.attach(y2, "y2"), self.attach(y3, "y3")
        return self.attach(self.fc2(y2) + self.fc2(y3), "y4")


class Others(Strict):
    x, y = torch.randn(5, 10), torch.randn(5, 10)

    def test_several_inputs_and_outputs(self):
        structure = followed(Mixed(), self.x, self.y, 2)
        self.assertEqual(sizes(structure), (6, 6))
        inner = structure.inner_structures()[2]
        self.assertEqual(
            edges(inner),
            [("Input 0", "Linear"), ("Input 1", "Linear")]
            + [("Linear", "Output 0"), ("Linear", "Output 1")],
        )
        found = inner.module_metadata().invocation_grad_hists[0]
        self.assertEqual((len(found.input_hists), len(found.output_hists)), (2, 2))

    def test_attach(self):
        model = Mixed("y1", "y2", "y3", "y4")
        plain = Mixed()
        plain.load_state_dict(model.state_dict())
        structure = followed(model, self.x, self.y, 3)
        train(plain, self.x, self.y, 3)
        self.assertEqual(bits(plain.fc1.weight), bits(model.fc1.weight))
        nodes = structure.inner_structures()
        attached = [one for one in nodes if isinstance(one.module, core.DummyAttachModule)]
        names = [one.module.attach_name for one in attached]
        self.assertEqual(sorted(names), ["y1", "y2", "y3", "y4"])
        for one in attached:
            metadata = one.module_metadata()
            self.columns(metadata.invocation_hists[0].input_hists, 3)
            self.columns(metadata.invocation_grad_hists[0].output_hists, 3)
        self.assertIn(("DummyAttachModule", "Output 0"), edges(structure))
        self.assertIn(("DummyAttachModule", "Several"), edges(structure))
        self.assertEqual(sizes(structure), (10, 10))
        other = Mixed("y1")
        self.assertIs(attach(self.x, other, "y"), self.x)  # it is not watched
        self.assertEqual(list(model.state_dict()), list(plain.state_dict()))

    def test_two_forwards_before_a_backward(self):
        for name in ("delay_log_multi_backward", "delay_log_multibackward"):
            repeated = nn.Linear(10, 10)
            model = nn.Sequential(repeated, nn.ReLU(), repeated)
            watch(model, log_freq=1, backend="none", sample_n=None, **{name: True})
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            for _ in range(3):
                made = model(self.x) * 0 + model(self.x + 5)
                nn.functional.mse_loss(made, self.y).backward()
                optimizer.step()
                optimizer.zero_grad()
            model(self.x)
            metadata = repeated.torchexplorer_metadata
            self.columns(metadata.invocation_hists[0].input_hists, 3)
            first = metadata.invocation_hists[0].input_hists[0].history_bins[0]
            self.assertEqual(sum(first), 2 * (50 - 5))  # both passes, without outliers
            self.columns([metadata.shared_hists.param_grad_hists["weight"]], 3)

    def test_many_forwards_before_a_backward(self):
        model = nn.Linear(10, 10)
        watch(model, log_freq=1, backend="none", sample_n=None)
        for _ in range(70):
            made = model(self.x)
        made.sum().backward()
        hist = model.torchexplorer_metadata.invocation_hists[0].input_hists[0]
        self.assertEqual([sum(one) for one in hist.history_bins], [6 * 45])

    def test_two_backwards_without_an_option(self):
        model = nn.Linear(10, 10)
        watch(model, log_freq=1, backend="none")
        first, second = model(self.x), model(self.x)
        first.sum().backward()
        with self.assertWarnsRegex(UserWarning, "delay_log_multi_backward=True"):
            warnings.simplefilter("always")
            second.sum().backward()
        weight = model.torchexplorer_metadata.shared_hists.param_hists["weight"]
        self.columns([weight], 1)

    def test_embedding_and_encoder(self):
        model = nn.Sequential(nn.Embedding(10, 8), nn.Linear(8, 8))
        structure = followed(model, torch.arange(10).view(2, 5), torch.randn(2, 5, 8), 2)
        self.assertEqual(sizes(structure), (4, 2))
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        model = nn.TransformerEncoder(layer, 2)
        x = torch.randn(3, 4, 16)
        structure = followed(model, x, x, 2)
        self.assertEqual(sizes(structure), (4, 3))

    def test_resnet18_unchanged(self):
        model = vision_models.resnet18()
        self.assertTrue(any(getattr(one, "inplace", 0) for one in model.modules()))
        x, y = torch.randn(2, 3, 32, 32), torch.randn(2, 10)
        structure = followed(model, x, y, 2, standalone_dir=self.folder, verbose=False)
        self.assertEqual(sizes(structure), (12, 11))
        for module in model.modules():
            metadata = module.torchexplorer_metadata
            for hists in metadata.invocation_grad_hists.values():
                self.columns(hists.input_hists, 2)
                self.columns(hists.output_hists, 2)

    def test_models_on_which_it_failed(self):
        for name in ("gpt2", "lstm", "moe", "dynamic"):
            name = next(one for one in ARCHITECTURES if one.lower().startswith(name))
            made = ARCHITECTURES[name]
            model = made.make_model()
            wrapper = watch(model, log_freq=1, backend="standalone", verbose=False)
            for _ in range(3):
                inputs = made.make_inputs()
                made.loss(model(*inputs), *inputs).backward()
            self.assertGreater(len(wrapper.structure.inner_structures()), 0, name)
            self.assertTrue(json.loads(rows_of(wrapper)), name)

    def setUp(self):
        super().setUp()
        here = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, here)


def rows_of(wrapper):
    return json.dumps(rows.Rows(wrapper.structure).now())


# --- histograms


class Histograms(Strict):
    def test_bins_bounds_and_doubling(self):
        hist = IncrementalHistogram(HistogramParams(bins=4, sample_n=None))
        hist.update(torch.tensor([0.0, 1.0, 2.0]))
        self.assertAlmostEqual(hist.min, -3, places=3)
        self.assertAlmostEqual(hist.max, 3, places=3)
        self.assertEqual(hist.bin_counts, [0, 0, 2, 1])
        hist.push_history(7)
        hist.update(torch.tensor([8.0]))
        self.assertAlmostEqual(hist.max, 9, places=2)
        self.assertEqual(hist.history_bins, [[0, 3, 0, 0]])
        self.assertEqual(hist.bin_counts, [0, 0, 0, 1])
        hist.update(torch.tensor([-14.0]))
        self.assertEqual(hist.history_bins, [[0, 0, 3, 0]])
        self.assertEqual(hist.history_times, [7])
        odd = IncrementalHistogram(HistogramParams(bins=3, sample_n=None))
        for value in (1.0, 100.0, -1000.0):
            odd.update(torch.tensor([value]))
        self.assertEqual(sum(odd.bin_counts), 3)

    def test_sampling_and_outliers(self):
        params = HistogramParams(bins=8, sample_n=100, reject_outlier_proportion=0.1)
        hist = IncrementalHistogram(params)
        before = torch.get_rng_state()
        hist.update(torch.randn(1000, generator=torch.Generator().manual_seed(1)))
        self.assertTrue(torch.equal(torch.get_rng_state(), before))
        self.assertEqual(sum(hist.bin_counts), 90)
        hist = IncrementalHistogram(HistogramParams(4, None, 0.25))
        hist.update(torch.tensor([1.0, 2.0, 3.0, 1000.0]))
        self.assertLess(hist.max, 6)

    def test_values_that_are_not_finite_or_large(self):
        hist = IncrementalHistogram(HistogramParams(bins=4, sample_n=None))
        for values in ([math.nan], [math.inf, -math.inf], []):
            hist.update(torch.tensor(values))
        self.assertEqual((hist.min, sum(hist.bin_counts)), (None, 0))
        hist.update(torch.tensor([math.nan, 1.0, math.inf]))
        hist.update(torch.tensor([3e38, -3e38]))
        # not representable in float32
        hist.update(torch.tensor([1e300], dtype=torch.float64))
        self.assertEqual(sum(hist.bin_counts), 3)
        constant = IncrementalHistogram(HistogramParams(bins=4, sample_n=None))
        constant.update(torch.full((5,), 1e30))
        self.assertEqual(sum(constant.bin_counts), 5)

    def test_fewer_columns(self):
        hist = IncrementalHistogram(HistogramParams(bins=2, sample_n=None))
        for step in range(23):
            hist.count([0.0] * (step + 1))
            hist.push_history(step)
        columns, times = hist.subsample_history(10)
        self.assertEqual(times, [0, 2, 5, 7, 10, 12, 15, 17, 20, 22])
        self.assertEqual([sum(one) for one in columns][:3], [2, 4, 7])
        self.assertEqual(sum(columns[-1]), 23)

    def test_gradients_are_norms_of_samples(self):
        model = nn.Linear(3, 2, bias=False)
        watch(model, log_freq=1, backend="none", sample_n=None, reject_outlier_proportion=0)
        x = torch.randn(4, 3)
        model(x).square().sum().backward()
        metadata = model.torchexplorer_metadata
        hist = metadata.invocation_grad_hists[0].output_hists[0]
        norms = (2 * model(x)).norm(dim=1)
        self.assertEqual(sum(hist.history_bins[0]), 4)
        low, high = norms.min().item(), norms.max().item()
        self.assertAlmostEqual(hist.min, low - 1.5 * (high - low), places=3)
        inputs = metadata.invocation_grad_hists[0].input_hists[0]
        norms = (2 * model(x) @ model.weight).norm(dim=1)
        low, high = norms.min().item(), norms.max().item()
        self.assertAlmostEqual(inputs.max, low + 1.5 * (high - low), places=3)
        self.assertIsNone(x.grad)
        self.assertFalse(x.requires_grad)

    def test_time_and_frequency(self):
        model = nn.Linear(3, 2)
        model.current_epoch = 4
        options = {"backend": "none", "log_freq": 3}
        watch(model, time_log=torchexplorer.LIGHTNING_EPOCHS, **options)
        train(model, torch.randn(4, 3), torch.randn(4, 2), 7)
        hist = model.torchexplorer_metadata.shared_hists.param_hists["weight"]
        self.assertEqual(hist.history_times, [4, 4, 4])
        self.assertEqual(hist.params.time_unit, "epoch")
        watch(model, time_log=None, **options)
        train(model, torch.randn(4, 3), torch.randn(4, 2), 7)
        hist = model.torchexplorer_metadata.shared_hists.param_hists["weight"]
        self.assertEqual(hist.history_times, [0, 3, 6])


# --- data.json


class Data(Strict):
    def data(self, model, x, y, steps=3, **options):
        wanted = {"log_freq": 1, "backend": "standalone", "standalone_dir": self.folder}
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            watch(model, **{**wanted, **options})
            train(model, x, y, steps)
        text = (self.folder / "data" / "data.json").read_text()
        return json.loads(text), told.getvalue()

    def test_rows(self):
        model = Mixed("y1")
        found, told = self.data(model, torch.randn(5, 10), torch.randn(5, 10), bins=10)
        self.assertEqual(told.count("\n"), 1)
        self.assertIn(str(self.folder / "data" / "data.json"), told)
        self.assertTrue(all(list(row) == rows.KEYS for row in found))
        self.assertEqual(len(rows.KEYS), 14)
        nodes = [row for row in found if row["type"] == "nodes"]
        lines = [row for row in found if row["type"] == "edges"]
        self.assertEqual([row["nodes:id"] for row in nodes], list(range(len(nodes))))
        root = nodes[0]
        self.assertEqual(root["nodes:parent_stack"], "Mixed::0")
        self.assertEqual(root["nodes:active_on_id"], -1)
        below = "::".join(map(str, range(1, len(nodes))))
        self.assertEqual(root["nodes:child_ids"], below)
        named = {row["nodes:display_name"]: row for row in reversed(nodes)}
        self.assertIn("y1 ᴬ", named)
        linear = named["Linear"]
        title, keys, values = linear["nodes:tooltip"].split("!!")[1:]
        self.assertEqual(title, "fc2")
        self.assertEqual(keys, "in_size::out_size::in_featur...::out_featu...::bias")
        self.assertEqual(values, "[5, 10]::[5, 10]::10::10::True")
        params = linear["nodes:param_histograms"].split("|")
        names = [one.split("!!")[0] for one in params]
        self.assertEqual(names[:2], ["bias:: raw val", "bias::grad"])
        fields = params[0].split("!!")
        self.assertEqual(fields[3:6], ["step", "0.0e+0::2", "0::1::2"])
        self.assertEqual([len(one.split("::")) for one in fields[6].split(";")], [10] * 3)
        inner = named["Several"]["nodes:input_histograms"].split("|")
        self.assertEqual(
            [one.split("!!")[0] for one in inner],
            ["input 0::raw val", "input 0::grad norm"]
            + ["input 1::raw val", "input 1::grad norm"],
        )
        self.assertEqual(named["Input"]["nodes:tooltip"].split("!!")[1], "FloatTensor")
        for row in lines:
            for key in ("edges:path_points", "edges:arrowhead_points"):
                self.assertTrue(row[key].endswith("-10000.0::-10000.0"))
            self.assertEqual(row["edges:arrowhead_points"].count(";"), 3)
            self.assertIn(row["edges:active_on_id"], range(len(nodes)))

    def test_places(self):
        found, _ = self.data(Mixed(), torch.randn(5, 10), torch.randn(5, 10))
        boxes = {}
        for row in found:
            if row["type"] == "nodes" and row["nodes:active_on_id"] == 0:
                corners = [float(one) for one in row["nodes:corners"].split("::")]
                boxes[row["nodes:display_name"], row["nodes:id"]] = corners
        (left, bottom, right, top) = next(v for k, v in boxes.items() if k[0] == "Input")
        self.assertEqual((left + right, bottom + top), (0, 0))
        output = next(v for k, v in boxes.items() if k[0] == "Output")
        self.assertTrue(all(output[3] < one[1] for one in boxes.values() if one != output))
        for row in found:
            points = row["edges:path_points"]
            if points is None:
                continue
            points = [tuple(map(float, one.split("::"))) for one in points.split(";")][:-1]
            far = [math.dist(a, b) for a, b in zip(points, points[1:])]
            self.assertLessEqual(max(far), 20.001)

    def test_numbers(self):
        wanted = {-0.23: "–0.23", 0.031: "3.1e–2", 0: "0.0e+0", 2: "2", 3.14: "3.1"}
        wanted |= {1234.5: "1.2e+3", 0.5892: "0.59", "noon": "noon"}
        self.assertEqual({key: rows.short(key) for key in wanted}, wanted)

    def test_only_what_is_logged(self):
        kinds = {"io": "raw val", "io_grad": "grad norm"}
        for log, word in kinds.items():
            model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
            x = torch.randn(3, 4)
            found, _ = self.data(model, x, x, 1, log=[log], verbose=False)
            text = json.dumps(found)
            self.assertIn(word, text)
            self.assertNotIn(kinds["io" if log == "io_grad" else "io_grad"], text)
        found, _ = self.data(model, x, x, 1, log=[])
        self.assertEqual({row["nodes:input_histograms"] for row in found[:3]}, {""})

    def test_sizes_that_vary(self):
        model = nn.Linear(4, 2)
        wrapper = watch(model, log_freq=1, backend="none")
        for n in (3, 5):
            model(torch.randn(n, 4)).sum().backward()
        self.assertEqual(model.torchexplorer_metadata.input_sizes[0][0].size, [None, 4])
        self.assertIn("[–, 4]", json.loads(rows_of(wrapper))[1]["nodes:tooltip"])

    def test_wandb(self):
        logged = []
        fake = types.ModuleType("wandb")
        fake.run, fake.Table = None, lambda **given: given
        fake.plot_table = lambda **given: given
        fake.log = lambda data, commit: logged.append(data)
        x = torch.randn(3, 4)
        with mock.patch.dict(sys.modules, {"wandb": None}):
            with self.assertRaisesRegex(ImportError, "backend='standalone'"):
                watch(nn.Linear(4, 4))
        with mock.patch.dict(sys.modules, {"wandb": fake}):
            torchexplorer.setup()
            fake.run = object()
            with self.assertRaisesRegex(ValueError, "before wandb.init"):
                torchexplorer.setup()
            model = nn.Linear(4, 4)
            watch(model, log_freq=1)
            train(model, x, x, 2)
        self.assertEqual(len(logged), 2)
        ((name, chart),) = logged[1].items()
        self.assertRegex(name, r"explorer_chart_\d+")
        self.assertEqual(chart["data_table"]["columns"], rows.KEYS)

    def test_setup_keeps_a_hard_limit(self):
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        try:
            torchexplorer.setup()
            self.assertEqual(resource.getrlimit(resource.RLIMIT_NOFILE)[1], before[1])
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)


# --- the training is unchanged


class Harmless(Strict):
    def test_bits(self):
        for start in ("resnet", "vit", "lstm"):
            name = next(one for one in ARCHITECTURES if one.lower().startswith(start))
            made = ARCHITECTURES[name]
            results = []
            for watched in (False, True):
                seed()
                model = made.make_model()
                optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
                if watched:
                    watch(model, log_freq=2, backend="none")
                found = {}
                for step in range(6):
                    optimizer.zero_grad()
                    inputs = made.make_inputs()
                    loss = made.loss(model(*inputs), *inputs)
                    loss.backward()
                    optimizer.step()
                    found[f"loss, step {step}"] = bits(loss)
                    found.update(all_of_it(model, step))
                results.append(found)
            differ = [key for key in results[0] if results[0][key] != results[1][key]]
            self.assertEqual(differ, [], name)

    def test_nan_and_inf(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
        watch(model, log_freq=1, backend="standalone", standalone_dir=self.folder)
        with contextlib.redirect_stdout(io.StringIO()):
            for bad in (math.nan, math.inf, -math.inf, 1.0):
                x = torch.randn(3, 4)
                x[0, 0] = bad
                model(x).sum().backward()
        hist = model.torchexplorer_metadata.invocation_hists[0].input_hists[0]
        self.assertEqual(len(hist.history_bins), 4)
        self.assertTrue((self.folder / "data" / "data.json").exists())

    def test_copies_and_pickles_have_no_traces(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        plain = copy.deepcopy(model)
        watch(model, log_freq=1, backend="none")
        x = torch.randn(3, 4)
        train(model, x, x, 2)
        for twin_of in (copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))):
            twin = twin_of(model)
            self.assertFalse(hasattr(twin, "torchexplorer_metadata"))
            self.assertFalse(hasattr(twin[0], "torchexplorer_metadata"))
            self.assertEqual(left_behind(twin), left_behind(twin_of(plain)))

    def test_an_input_that_is_written_in_place(self):
        model = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 2))
        watch(model, log_freq=1, backend="none")
        x = -torch.ones(3, 4)
        model(x).sum().backward()
        self.assertTrue(torch.equal(x, torch.zeros(3, 4)))

    def test_a_forward_that_raises(self):
        model = nn.Linear(4, 2)
        watch(model, log_freq=1, backend="none")
        with self.assertRaises(RuntimeError):
            model(torch.randn(3, 5))
        model(torch.randn(3, 4)).sum().backward()
        hist = model.torchexplorer_metadata.invocation_hists[0].input_hists[0]
        self.assertEqual(len(hist.history_bins), 1)

    def test_a_model_that_is_freed(self):
        for backward in (True, False):
            model = nn.Linear(4, 2)
            watch(model, log_freq=1, backend="none")
            made = model(torch.randn(3, 4))
            if backward:
                made.sum().backward()
            self.assertIs(hooks.is_used(), not backward)
            gone = weakref.ref(model)
            del model, made
            gc.collect()
            self.assertIsNone(gone())
            self.assertFalse(hooks.is_used())

    def test_options(self):
        model = nn.Linear(4, 2)
        for wrong in (
            {"log": ["weights"]},
            {"log_freq": 0},
            {"bins": 0},
            {"sample_n": 0},
            {"reject_outlier_proportion": 2},
            {"backend": "nowhere"},
        ):
            with self.assertRaises(ValueError, msg=str(wrong)):
                watch(model, **{"backend": "none", **wrong})
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'bin'"):
            watch(model, backend="none", bin=3)
        wrapper = watch(model, backend="none", reject_outlier_propertion=0.5)
        self.assertEqual(wrapper, StructureWrapper(None))
        model(torch.randn(3, 4)).sum().backward()
        params = model.torchexplorer_metadata.shared_hists.param_hists["weight"].params
        self.assertEqual(params.reject_outlier_proportion, 0.5)
        watch(model, log_freq=1, backend="none")  # replaces the first
        model(torch.randn(3, 4)).sum().backward()
        hist = model.torchexplorer_metadata.shared_hists.param_hists["weight"]
        self.assertEqual(len(hist.history_bins), 1)

    def test_a_process_ends_by_itself(self):
        code = (
            "import torch\n"
            "from torchoscope.compat import torchexplorer\n"
            "model = torch.nn.Linear(3, 2)\n"
            "torchexplorer.watch(model, backend='standalone',"
            " delay_log_multi_backward=True)\n"
            "model(torch.ones(1, 3)).sum().backward()\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=self.folder, capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"^torchoscope: http://localhost:\d+/( \(.*\))?\n")
        self.assertNotIn("Warning", done.stderr)
        self.assertIn("data.json", done.stdout)
        path = self.folder / "torchexplorer_standalone" / "data" / "data.json"
        self.assertIn("nodes:id", path.read_text())


class Document(Strict):
    def test_its_examples(self):
        vision = types.ModuleType("torchvision")
        vision.models = types.SimpleNamespace(
            resnet18=lambda pretrained: vision_models.resnet18(),
            resnet=types.SimpleNamespace(BasicBlock=vision_models.Block),
        )
        here = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, here)
        found = [one for one in seeds.blocks(seeds.copy("004")) if one[1] == "python"]
        scripts = [code for _, _, code in found if "dummy_X" in code]
        self.assertEqual(len(scripts), 2)
        with mock.patch.dict(sys.modules, {"torchvision": vision}):
            for code in scripts:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(code, "004.md", "exec"), {"__name__": "example"})
                path = self.folder / "torchexplorer_standalone" / "data" / "data.json"
                self.assertGreater(len(json.loads(path.read_text())), 5)


if __name__ == "__main__":
    unittest.main()
