# flavours: both
"""summary() and explore(): compared with torchinfo and torch's own numbers; their
inputs, their output, and that they leave nothing behind."""

import contextlib
import copy
import gc
import importlib.util
import io
import json
import random
import re
import sys
import tempfile
import threading
import time
import types
import unittest
import warnings
import weakref
from pathlib import Path
from unittest import mock

import torch
from torch import nn

import torchoscope
from architectures import ARCHITECTURES, MoE, ResNet, Translator
from torchoscope import explorer, op_kinds, summary
from torchoscope.inputs import Inputs, parse_shape

torch.set_num_threads(1)
warnings.simplefilter("ignore")
HAS_TORCHINFO = importlib.util.find_spec("torchinfo") is not None
HAS_TRANSFORMERS = "gpt2" in ARCHITECTURES
NEW_TORCH = not torch.__version__.startswith("1.")


def made(name):
    torch.manual_seed(3)
    one = ARCHITECTURES[name]
    return one.make_model(), one.make_inputs()


def elements(tensors):
    return sum(one.numel() for one in {id(one): one for one in tensors}.values())


# --- side by side


class Counts(unittest.TestCase):
    def test_counts_equal_those_of_torch_for_all_architectures(self):
        for name in ARCHITECTURES:
            with self.subTest(name):
                model, inputs = made(name)
                first = next(model.parameters()).requires_grad_(False)
                counts = summary(model, *inputs).json["counts"]
                params = elements(model.parameters())
                self.assertEqual(counts["unique"], params)
                self.assertEqual(counts["frozen"], first.numel())
                self.assertEqual(counts["trainable"], params - first.numel())
                self.assertEqual(counts["buffers"], elements(model.buffers()))

    def test_every_call_has_the_shapes_that_a_hook_sees(self):
        for name in ARCHITECTURES:
            with self.subTest(name):
                model, inputs = made(name)
                found = summary(model, *inputs).recording
                seen = {}
                model, inputs = made(name)
                for path, module in model.named_modules():
                    module.register_forward_hook(noting(seen.setdefault(path, [])))
                model(*inputs)
                for path, shapes in seen.items():
                    ours = [call.outputs[0].shape for call in found.calls(path)]
                    self.assertEqual(list(map(list, ours)), shapes, path)


def noting(shapes):
    def hook(module, args, result):
        while not isinstance(result, torch.Tensor):
            values = result.values() if isinstance(result, dict) else result
            result = next(iter(values))
        shapes.append(list(result.shape))

    return hook


@unittest.skipUnless(HAS_TORCHINFO, "torchinfo is not installed")
class BesideTorchinfo(unittest.TestCase):
    COUNTS_TIED_TWICE = {"lstm", "gpt2"}

    def torchinfo(self, model, inputs, **options):
        import torchinfo

        options = {"input_data": list(inputs), "mode": "train", **options}
        return torchinfo.summary(model, verbose=0, depth=99, **options)

    def test_figures_equal_those_of_torchinfo_where_it_is_correct(self):
        for name in ARCHITECTURES:
            with self.subTest(name):
                model, inputs = made(name)
                counts = summary(model, *inputs).json["counts"]
                theirs = self.torchinfo(model, inputs)
                equal = self.assertEqual
                if name in self.COUNTS_TIED_TWICE:
                    equal = self.assertNotEqual
                    self.assertEqual(counts["stored"], theirs.total_params)
                equal(counts["unique"], theirs.total_params)
                equal(counts["trainable"], theirs.trainable_params)

    def test_shapes_equal_for_every_call(self):
        for name in ARCHITECTURES:
            with self.subTest(name):
                model, inputs = made(name)
                ours = summary(model, *inputs).recording
                model, inputs = made(name)
                theirs = {}
                names = {id(one): path for path, one in model.named_modules()}
                for info in self.torchinfo(model, inputs).summary_list:
                    if info.output_size:
                        calls = theirs.setdefault(names[info.layer_id], [])
                        calls.append(list(info.output_size))
                self.assertGreater(len(theirs), 4)
                for path, shapes in theirs.items():
                    found = [list(one.outputs[0].shape) for one in ours.calls(path)]
                    self.assertEqual(found, shapes, path)

    @unittest.skipUnless(HAS_TRANSFORMERS, "transformers is not installed")
    def test_gpt2_has_124_million_parameters(self):
        from transformers import GPT2Config, GPT2LMHeadModel

        with torch.device("meta"):
            model = GPT2LMHeadModel(GPT2Config())
        found = summary(model, (1, 4))
        self.assertEqual(found.json["counts"]["unique"], 124_439_808)
        text = "124,439,808, all trainable; 38,597,376 more are tied"
        self.assertIn(text, str(found))
        self.assertIn("(38.6M)", str(found))  # the head, in brackets
        self.assertIn("12 × GPT2Block", str(found))
        rows = {row["name"]: row for row in found.rows()}
        attention = rows["transformer.h.0.attn.c_attn"]
        self.assertEqual(attention["params"], "1.8M")  # 768 x 2304 + 2304
        self.assertTrue(attention["label"].endswith("Conv1D(768→2304)"))
        self.assertEqual(attention["out"], "1×4×2304")

    @unittest.skipUnless(HAS_TRANSFORMERS, "transformers is not installed")
    def test_torchinfo_counts_the_head_of_gpt2_again(self):
        model, inputs = made("gpt2")
        tied = model.lm_head.weight.numel()
        theirs = self.torchinfo(model, inputs).total_params
        ours = summary(model, *inputs).json["counts"]["unique"]
        self.assertEqual(theirs - ours, tied)


# --- nothing is left behind


def train(name, between, steps=20):
    """The whole state after some steps."""
    model, _ = made(name)
    random.seed(1)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(steps):
        inputs = ARCHITECTURES[name].make_inputs()
        optimizer.zero_grad()
        loss = ARCHITECTURES[name].loss(model(*inputs), *inputs)
        loss.backward()
        between(model, inputs)
        optimizer.step()
    grads = [None if one.grad is None else one.grad for one in model.parameters()]
    flags = [one.training for one in model.modules()]
    return {
        "state": model.state_dict(),
        "buffers": list(model.buffers()),
        "grads": grads,
        "optimizer": optimizer.state_dict(),
        "random": [torch.get_rng_state(), random.getstate()],
        "training": flags,
    }


class Restored(unittest.TestCase):
    def same(self, a, b, path=""):
        self.assertIs(type(a), type(b), path)
        if isinstance(a, torch.Tensor):
            same = a.dtype == b.dtype and a.shape == b.shape
            self.assertTrue(same, path)
            a, b = a.numpy(force=True), b.numpy(force=True)
            self.assertEqual(a.tobytes(), b.tobytes(), path)
        elif isinstance(a, dict):
            self.assertEqual(list(a), list(b), path)
            for key in a:
                self.same(a[key], b[key], f"{path}.{key}")
        elif isinstance(a, (list, tuple)):
            self.assertEqual(len(a), len(b), path)
            for i, (one, other) in enumerate(zip(a, b)):
                self.same(one, other, f"{path}[{i}]")
        else:
            self.assertEqual(a, b, path)

    def test_a_summary_between_steps_does_not_change_training_by_a_bit(self):
        names = [one for one in ("resnet", "vqvae", "gpt2") if one in ARCHITECTURES]

        def recorded(model, inputs):
            with torchoscope.state_guard(model), torchoscope.record(model):
                model(*inputs)

        looks = {
            "summary": lambda model, inputs: summary(model, *inputs),
            "backward": lambda model, inputs: summary(model, *inputs, backward=True),
            "shape": lambda model, inputs: summary(model, inputs[0].shape),
            "record": recorded,
        }
        for name in names:
            bare = train(name, lambda model, inputs: None)
            for how, look in looks.items():
                if how == "shape" and name == "gpt2":
                    continue  # as with its own inputs
                with self.subTest(name, how=how):
                    self.same(train(name, look), bare)

    def test_inputs_are_not_written(self):
        model = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 4))
        x = torch.randn(3, 4, requires_grad=True)
        made = x * 2
        before = made.detach().clone()
        summary(model, made, backward=True)
        self.assertTrue(torch.equal(made, before))
        self.assertIsNone(x.grad)
        made.sum().backward()  # its graph is still there

    def test_a_lazy_model_stays_lazy(self):
        model = nn.Sequential(nn.LazyLinear(4), nn.ReLU())
        self.assertIn("Linear(6→4)", str(summary(model, (2, 6))))
        self.assertIsInstance(model[0], nn.LazyLinear)

    def test_lazy_buffers(self):
        model = nn.Sequential(nn.LazyConv2d(4, 1), nn.LazyBatchNorm2d())
        found = summary(model, (3, 2, 5, 5))
        self.assertEqual(found.json["counts"]["unique"], 2 * 4 + 4 + 4 + 4)
        self.assertEqual(found.recording.calls("1")[-1].outputs[0].shape, [3, 4, 5, 5])
        self.assertTrue(torch.nn.parameter.is_lazy(model[1].running_mean))
        with torch.no_grad():
            model(torch.randn(3, 2, 5, 5))
        self.assertEqual(model[1].num_batches_tracked.item(), 1)

    def test_the_model_is_not_kept_alive(self):
        model = ResNet()
        gone = weakref.ref(model)
        found = summary(model, (1, 3, 16, 16))
        with contextlib.suppress(RuntimeError):
            summary(model, (1, 2, 16, 16))
        del model
        gc.collect()
        self.assertIsNone(gone())
        self.assertIn("BatchNorm2d", str(found))

    def test_train_and_eval_are_those_of_the_model(self):
        model = nn.Sequential(nn.Dropout(0.5), nn.Linear(8, 8))
        self.assertIn("Sequential (train)", str(summary(model, (64, 8))))
        x = torch.ones(64, 8)
        dropped = summary(model, x).recording.calls("0")[0].outputs[0]
        self.assertGreater(dropped.zeros, 0)
        dropped = summary(model.eval(), x).recording.calls("0")[0].outputs[0]
        self.assertEqual(dropped.zeros, 0)
        model[0].train()
        self.assertIn("Sequential (mixed)", str(summary(model)))
        self.assertTrue(model[0].training)
        self.assertFalse(model.training)


# --- inputs


class Keywords(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(7, 4), nn.Linear(4, 2)

    def forward(self, *, tokens, scale, sizes=None):
        self.got = sizes
        return self.head(self.embed(tokens) * scale)


class Batch(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 2)

    def forward(self, batch):
        return self.head(batch["x"])


class Given(unittest.TestCase):
    def heading(self, *args, **kwargs):
        return str(summary(*args, **kwargs)).splitlines()[0]

    def test_a_shape_as_tuple_list_size_and_string(self):
        model = nn.Linear(4, 2).double()
        for shape in ((3, 4), [3, 4], torch.Size((3, 4)), "3x4", "3×4", " 3 x 4 "):
            with self.subTest(shape):
                told = "Linear (train), input 3×4 float64, made at random"
                self.assertEqual(self.heading(model, shape), told)
        told = "Linear (train), input 3×4 float64"
        self.assertEqual(self.heading(model, torch.ones(3, 4).double()), told)

    def test_a_string_gives_shape_and_dtype(self):
        self.assertIs(parse_shape("2x3:int64").dtype, torch.int64)
        self.assertEqual(parse_shape("8:torch.bool").sizes, (8,))
        self.assertIsNone(parse_shape("a cat"))
        self.assertIsNone(parse_shape("2x"))
        with self.assertRaisesRegex(ValueError, "torch has no dtype 'int65'"):
            parse_shape("2:int65")

    def test_a_list_of_shapes_is_several_arguments(self):
        model = nn.Bilinear(3, 4, 2)
        told = "inputs 5×3 float32, 5×4 float32, made at random"
        self.assertTrue(self.heading(model, [(5, 3), (5, 4)]).endswith(told))
        self.assertTrue(self.heading(model, (5, 3), "5x4").endswith(told))
        told = "inputs 5×3 float32, 5×4 float32 (random)"
        self.assertTrue(self.heading(model, torch.ones(5, 3), (5, 4)).endswith(told))

    def test_values_are_the_same_each_time_and_the_random_state_is_not_touched(self):
        before = torch.get_rng_state()
        first, second = (Inputs(nn.Linear(2, 2), [(4, 2)]).make()[0][0] for _ in "12")
        torch.set_rng_state(before)
        summary(nn.Identity(), (4, 2))
        self.assertTrue(torch.equal(torch.get_rng_state(), before))
        self.assertTrue(torch.equal(first, second))

    def test_float_inputs_of_an_embedding_are_replaced_by_integers(self):
        told = "inputs 3×6 int64, 3×5 int64, made at random"
        self.assertTrue(self.heading(Translator(), (3, 6), (3, 5)).endswith(told))
        model, _ = made("lstm")
        told = "inputs 7×3 int64, 2×3×16 float32, 2×3×16 float32, made at random"
        state = (2, 3, 16)
        self.assertTrue(self.heading(model, (7, 3), (state, state)).endswith(told))

    def test_indices_fit_the_smallest_embedding(self):
        model = nn.ModuleList([nn.Embedding(50, 2), nn.Embedding(3, 2)])
        found = Inputs(model, ["1000:int64"]).make()[0][0]
        self.assertEqual(sorted(set(found.tolist())), [0, 1, 2])

    def test_a_dict_becomes_keywords_if_forward_has_them(self):
        model = Keywords()
        told = "inputs tokens 2×3 int64, scale 1 float32, made at random"
        given = {"tokens": (2, 3), "scale": "1"}
        self.assertTrue(self.heading(model, given).endswith(told))
        self.assertTrue(self.heading(model, tokens=(2, 3), scale=(1,)).endswith(told))
        summary(model, tokens=(2, 3), scale=(1,), sizes=[7, 7])
        self.assertEqual(model.got, [7, 7])  # a list stays one
        told = "input 2×4 float32, made at random"
        self.assertTrue(self.heading(Batch(), {"x": (2, 4)}).endswith(told))

    def test_half_precision_models_get_half_precision_inputs(self):
        model = nn.Identity()
        model.register_buffer("scale", torch.ones(1, dtype=torch.bfloat16))
        self.assertIn("input 2×2 bfloat16", self.heading(model, (2, 2)))

    def test_objects_without_a_module_are_refused(self):
        with self.assertRaisesRegex(TypeError, "Linear is a class; pass an instance"):
            summary(nn.Linear)
        with self.assertRaisesRegex(TypeError, "int contains no torch.nn.Module"):
            summary(3, (1, 2))


class GivenNothing(unittest.TestCase):
    def test_only_the_structure_is_shown_with_a_note(self):
        found = summary(MoE())
        text = "MoE (train), not run: give it a tensor or a shape to see it run"
        self.assertEqual(str(found).splitlines()[0], text)
        self.assertIsNone(found.recording)
        self.assertEqual(found.rows()[0]["params"], "1.8K")
        self.assertIn("params     1,829, all trainable", str(found))

    def test_example_input_array_of_lightning_is_used(self):
        model = nn.Bilinear(3, 4, 2)
        model.example_input_array = torch.ones(5, 3), torch.ones(5, 4)
        told = "Bilinear (train), example_input_array 5×3 float32, 5×4 float32"
        self.assertEqual(str(summary(model)).splitlines()[0], told)
        model = Keywords()
        model.example_input_array = {
            "tokens": torch.tensor([1, 2]),
            "scale": torch.ones(1),
        }
        self.assertIn("example_input_array tokens 2 int64", str(summary(model)))

    def test_an_example_that_does_not_fit_falls_back_to_the_structure(self):
        model = nn.Linear(4, 2)
        model.example_input_array = torch.ones(1, 5)
        found = summary(model)
        told = "not run: its example_input_array do not fit: RuntimeError: mat1"
        self.assertIn(told, str(found))
        self.assertIsNone(found.recording)

    @unittest.skipUnless(HAS_TRANSFORMERS, "transformers is not installed")
    def test_dummy_inputs_of_transformers(self):
        model, _ = made("gpt2")
        told = "GPT2LMHeadModel (train), dummy_inputs input_ids 3×5 int64"
        self.assertEqual(str(summary(model)).splitlines()[0], told)

    @unittest.skipUnless(HAS_TRANSFORMERS, "transformers is not installed")
    def test_integer_inputs_of_transformers_are_known_by_name(self):
        model, _ = made("llama")
        found = summary(model, input_ids=(2, 5), attention_mask=(2, 5))
        told = "input_ids 2×5 int64, attention_mask 2×5 int64 of ones"
        self.assertIn(told, str(found).splitlines()[0])
        self.assertIn("input 2×5 int64, made at random", str(summary(model, (2, 5))))


# --- output


class Errors(unittest.TestCase):
    def test_the_users_own_error_with_our_notes(self):
        model, _ = made("moe")
        with self.assertRaisesRegex(RuntimeError, "mat1 and mat2") as caught:
            summary(model, (4, 7))
        notes = "\n".join(caught.exception.__notes__)
        self.assertIn("embed (Linear) got [4, 7]; its weight [8, 6] expects", notes)

    def test_explore_shows_the_calls_before_the_error_and_the_error(self):
        model = nn.Sequential(nn.Linear(4, 3), nn.Linear(4, 2))
        text = shown(model, (1, 4))
        self.assertRegex(text, r"0: Linear\(4→3\).* 1×4 1×3 ")
        self.assertIn("✗ 1: Linear(4→2)", text)
        self.assertIn("\nRuntimeError: mat1 and mat2", text)
        self.assertIn("\ntorchoscope: 1 (Linear) got [1, 3]", text)


def shown(*args, **kwargs):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert torchoscope.explore(*args, **kwargs) is None
    return out.getvalue()


class Sparse(nn.Module):
    def forward(self, x):
        return x.to_sparse()


class Activations(unittest.TestCase):
    """Their bytes: those of storages, or a lower bound that is marked."""

    def memory(self, model):
        lines = str(summary(model, (3, 4))).splitlines()
        return next(line for line in lines if line.startswith("memory"))

    def layers(self):
        return nn.Sequential(nn.Linear(4, 8), nn.ReLU(inplace=True), nn.Flatten())

    def test_without_data_bytes_follow_from_shapes(self):
        meta = self.memory(self.layers().to("meta"))
        self.assertEqual(meta, self.memory(self.layers()))
        self.assertIn("96B of activations = 304B", meta)

    @unittest.skipUnless(NEW_TORCH, "fake tensors as of torch 2")
    def test_with_fake_tensors_bytes_follow_from_shapes(self):
        from torch._subclasses import FakeTensorMode

        with FakeTensorMode(), warnings.catch_warnings():
            warnings.simplefilter("error")
            text = str(summary(self.layers(), torch.randn(3, 4)))
        self.assertIn("96B of activations = 304B", text)

    def test_with_an_unknown_storage_the_total_is_a_lower_bound(self):
        text = self.memory(nn.Sequential(nn.Linear(4, 4), Sparse()))
        self.assertIn("+ at least 48B of activations = at least 176B", text)
        self.assertIn("48B of inputs + activations (not known)", self.memory(Sparse()))


class Seeing(nn.Module):
    """Records what each pass sees: random numbers, buffers, attributes and inputs."""

    def __init__(self, seconds=0):
        super().__init__()
        self.norm, self.drop = nn.BatchNorm1d(4), nn.Dropout()
        self.seconds, self.passes, self.cache, self.last = seconds, 0, [], None
        self.seen = NOTES  # belongs to another module: not restored

    def forward(self, x, given=None):
        self.passes += 1
        self.cache.append(x)
        y = self.drop(self.norm(x))
        mean = self.norm.running_mean.tolist()
        if given is not None:
            given.items.append(1)
        items = None if given is None else len(given.items)
        seen = (y.tolist(), mean, self.passes, len(self.cache), self.last, items)
        self.seen.all.append((seen, random.random()))
        self.last = 7
        time.sleep(self.seconds)
        return y


class Notes:
    def __init__(self):
        self.all, self.items = [], []


NOTES = Notes()


class Slow(nn.Module):
    def forward(self, x):
        time.sleep(0.2)
        return x


class Report(unittest.TestCase):
    """The HTML page of a pass."""

    def setUp(self):
        torch.manual_seed(0)
        body = nn.Sequential(nn.Linear(8, 64), Slow(), nn.Linear(64, 64))
        self.model = nn.Sequential()
        self.model.add_module("body", body)
        self.model.add_module("head", nn.Linear(64, 2))
        self.page = summary(self.model, (4, 8), backward=True).html

    def bar(self, title):
        """The words below a bar, without markup."""
        found = self.page.partition(f"<h2>{title}</h2>")[2].partition("</div>\n")[0]
        return re.sub(r"<[^>]+>", "", found)

    def test_bars_continue_inside_a_dominant_part(self):
        text = self.bar("Where the parameters are")
        self.assertIn("body.2 Linear, 4.2K, ", text)
        self.assertIn("body.0 Linear, 576, ", text)
        self.assertIn("head 130, ", text)
        self.assertNotIn("weight", text)
        self.assertRegex(self.bar("Where the time goes"), r"body\.1 Slow, \d\d")

    def test_a_part_among_others_is_not_split(self):
        model = nn.Sequential(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), nn.Linear(8, 8))
        self.page = summary(model, (4, 8)).html
        self.assertIn("0 Sequential, 72, ", self.bar("Where the parameters are"))

    def test_gradients_of_weights(self):
        data = json.loads(re.search(r'id="data">(.*?)</script>', self.page, re.S)[1])
        self.assertIn("gradient of weight", data["texts"])
        self.assertIn("gradient of bias", data["texts"])
        page = summary(self.model, (4, 8)).html
        self.assertNotIn("gradient of weight", page)


class WarmUp(unittest.TestCase):
    def setUp(self):
        NOTES.all.clear()

    def ran(self, found):
        lines = str(found).splitlines()
        return next(line for line in lines if line.startswith("ran"))

    def test_the_second_pass_has_the_same_state_as_the_first(self):
        model, given = Seeing(), Notes()
        torch.manual_seed(1)
        found = summary(model, (3, 4), given=given)
        first, second = NOTES.all
        self.assertEqual(first, second)
        self.assertEqual((model.passes, len(model.cache), model.last), (1, 1, 7))
        self.assertEqual(given.items, [1])
        self.assertEqual(len(found.recording.calls("")), 1)
        self.assertIn("1 pass after a warm-up of ", self.ran(found))
        self.assertGreater(found.recording.facts["warm_up_ns"], 0)

    def test_warm_up_is_an_option(self):
        found = summary(Seeing(), (3, 4), warmup=False)
        self.assertEqual(len(NOTES.all), 1)
        self.assertIn("1 pass without a warm-up, forward ", self.ran(found))
        self.assertEqual(found.recording.facts["warm_up_ns"], 0)
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            torchoscope.explore(Seeing(), (3, 4), warmup=False)
        self.assertEqual(len(NOTES.all), 2)
        self.assertIn("without a warm-up", shown.getvalue())

    def test_slow_models_run_once_by_default(self):
        with mock.patch("torchoscope.summaries.WARM_UP_BELOW", 0.01):
            found = summary(Seeing(seconds=0.02), (3, 4))
            self.assertEqual(len(NOTES.all), 1)
            self.assertIn("without a warm-up", self.ran(found))
            summary(Seeing(seconds=0.02), (3, 4), warmup=True)
            self.assertEqual(len(NOTES.all), 3)

    def test_inputs_that_cannot_be_copied_are_used_once(self):
        class Takes(nn.Module):
            def forward(self, batches):
                return next(batches) * 2

        found = summary(Takes(), iter_of(torch.ones(2)))
        self.assertIn("without a warm-up", self.ran(found))
        self.assertEqual(found.recording.calls("")[-1].outputs[0].max, 2)

    def test_a_model_that_can_run_only_once(self):
        class Once(nn.Module):
            def forward(self, x):
                NOTES.all.append(x)
                if len(NOTES.all) > 1:
                    raise RuntimeError("again")
                return x

        found = summary(Once(), (3, 4))
        self.assertIn("without a warm-up", self.ran(found))

    def test_an_error_is_raised_by_the_first_pass(self):
        with self.assertRaises(RuntimeError):
            summary(Seeing(), (3, 5))
        self.assertEqual(NOTES.all, [])

    def test_record_has_no_warm_up(self):
        with torchoscope.record(nn.ReLU()) as recording:
            nn.ReLU()(torch.ones(1))
        self.assertNotIn("warm_up_ns", recording.facts)
        self.assertNotIn("warm-up", str(recording))


def iter_of(*items):
    yield from items


class Tied(unittest.TestCase):
    def test_tied_trainable_parameters_count_once_in_every_row(self):
        model = nn.ModuleDict({"a": nn.Linear(4, 4, bias=False), "b": nn.Linear(4, 4)})
        model["b"].weight = model["a"].weight
        model["b"].bias.requires_grad_(False)
        rows = summary(model).rows(columns="params,trainable")
        told = {row["name"]: (row["params"], row["trainable"]) for row in rows}
        self.assertEqual(told[""], ("20", "16 trainable"))
        self.assertEqual(told["a"], ("16", "trainable"))
        self.assertEqual(told["b"][1], "16 trainable")  # all it has, though tied
        model["b"].bias = None
        rows = summary(model).rows(columns="trainable")
        self.assertEqual([row["trainable"] for row in rows], ["trainable"] * 3)


class Scripted(unittest.TestCase):
    def test_a_scripted_model_is_run_and_left_as_it_was(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)))
        before = {name: one.clone() for name, one in model.state_dict().items()}
        text = str(summary(model, (3, 4)))
        self.assertIn("3×4 3×4 ", text)
        self.assertIn("2 modules were not seen inside TorchScript: 0, 1", text)
        self.assertIn('0: RecursiveScriptModule(original_name="Linear")', text)
        for name, one in model.state_dict().items():
            self.assertTrue(torch.equal(one, before[name]), name)


class NotFinite(unittest.TestCase):
    def test_a_nan_parameter_is_given_as_the_cause(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.assertEqual(summary(model, (2, 4)).recording.parameters(), [])
        with torch.no_grad():
            model[0].weight[0, 0] = float("nan")
        text = str(summary(model, (2, 4)))
        self.assertIn("0 gave the first NaN", text)
        self.assertIn("0.weight had some before", text)
        self.assertNotIn("all inputs were finite", text)


class Shown(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU())
        cls.model[0].requires_grad_(False)
        cls.summary = summary(cls.model, (5, 4))

    def test_the_table(self):
        text = str(self.summary)
        head = text.splitlines()
        has_ops = op_kinds.why_not() is None
        columns = "name params % trainable in out FLOPs calls time".split()
        if not has_ops:
            columns.remove("FLOPs")
        self.assertEqual(head[1].split(), columns)
        self.assertIn("params     21, 6 trainable, 15 frozen", text)
        self.assertIn("buffers    7 in 3 tensors", text)
        # 21 + 6 floats and an int64; 5 x 4 floats; twice 5 x 3, and ReLU once more
        memory = "116B of parameters and buffers + 80B of inputs + 180B of activations"
        self.assertIn(f"memory     {memory} = 376B", text)
        self.assertRegex(text, r"ran        1 pass after a warm-up of \S+, forward \d")
        flops = r"FLOPs      \d+ by \d of \d+ operations, all matrix work"
        self.assertEqual(bool(re.search(flops, text)), has_ops)

    def test_columns_depth_and_width(self):
        text = str(summary(self.model, (5, 4), columns="count,in", depth=0, width=60))
        self.assertEqual(text.splitlines()[1].split(), ["name", "params", "in"])
        self.assertNotIn("Linear", text)
        narrow = str(summary(self.model, (5, 4), width=70)).splitlines()
        self.assertLessEqual(len(narrow[2]), 70)

    def test_backward_is_recorded(self):
        found = summary(self.model, torch.ones(5, 4, requires_grad=True), backward=True)
        self.assertTrue(found.recording.calls("2")[0].grad_outputs)
        self.assertFalse(self.summary.recording.calls("2")[0].grad_outputs)

    def test_backward_of_complex_results(self):
        class Complex(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(4, dtype=torch.complex64))

            def forward(self, x):
                return x * self.weight

        found = summary(Complex(), (3, 4), backward=True)
        self.assertEqual(len(found.recording.calls("")[-1].grad_outputs), 1)

    def test_rows_json_and_files(self):
        self.assertEqual(self.summary.rows()[1]["out"], "5×3")
        self.assertEqual(self.summary.json["kind"], "tree")
        told = "input 5×4 float32, made at random"
        self.assertEqual(self.summary.json["run"]["facts"]["input"], told)
        with tempfile.TemporaryDirectory() as folder:
            for suffix in ("txt", "json", "csv", "md"):
                self.summary.export(Path(folder, f"x.{suffix}"))
            text = Path(folder, "x.txt").read_text(encoding="utf-8")
            self.assertEqual(text.rstrip("\n"), str(self.summary))
            self.summary.recording.save(Path(folder, "x.scope"))
            json.loads(Path(folder, "x.json").read_text(encoding="utf-8"))
            again = torchoscope.open(Path(folder, "x.scope"))
            self.assertEqual(again.facts["input"], told)
            self.assertIn("Linear(4→3)", shown(Path(folder, "x.scope")))
            with self.assertRaisesRegex((ValueError, torchoscope.Error), "doc"):
                self.summary.export(Path(folder, "x.doc"))

    def test_explore_shows_models_summaries_and_recordings(self):
        self.assertEqual(shown(self.summary).rstrip("\n"), str(self.summary))
        self.assertIn("Linear(4→3)", shown(self.summary.recording))
        text = shown(copy.deepcopy(self.model), torch.ones(5, 4))
        self.assertIn("Sequential (train), input 5×4 float32\n", text)
        with self.assertRaisesRegex(TypeError, "takes no inputs"):
            torchoscope.explore(self.summary, (1, 2))

    def test_explore_in_a_thread(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            thread = threading.Thread(target=torchoscope.explore, args=(self.summary,))
            thread.start()
            thread.join()
        self.assertIn("Linear(4→3)", out.getvalue())

    def test_in_a_notebook_it_is_displayed_and_not_printed(self):
        self.assertFalse(explorer.in_notebook())
        kernel = type("Shell", (type("ZMQInteractiveShell", (), {}),), {})
        displayed = []
        display = types.SimpleNamespace(display=displayed.append, HTML=str)
        ipython = types.SimpleNamespace(get_ipython=kernel, display=display)
        modules = {"IPython": ipython, "IPython.display": display}
        page = mock.patch.object(torchoscope.Summary, "html", "<p>")
        with mock.patch.dict(sys.modules, modules), page:
            self.assertTrue(explorer.in_notebook())
            self.assertEqual(shown(self.summary), "")
        self.assertEqual(len(displayed), 1)

    def test_a_pipeline(self):
        class Pipeline:
            def __init__(self):
                self.first, self.second = nn.Linear(4, 3), nn.Linear(3, 2)

            def __call__(self, x):
                return self.second(self.first(x))

        text = shown(Pipeline(), (1, 4))
        self.assertRegex(text, r"second: Linear\(3→2\).* 1×3 1×2 ")

    @unittest.skipUnless(NEW_TORCH, "torch 1.13 cannot record inside fused layers")
    def test_the_inside_of_fused_and_compiled_layers_is_shown(self):
        layer = nn.TransformerEncoderLayer(8, 2, 8, batch_first=True).eval()
        self.assertIn("linear1: Linear(8→8)", str(summary(layer, (1, 3, 8))))
        self.assertTrue(summary(layer, (1, 3, 8)).recording.calls("linear1"))
        compiled = torch.compile(nn.Sequential(nn.Linear(4, 2)), backend="eager")
        calls = summary(compiled, (1, 4)).recording.calls()
        self.assertIn("Linear", {call.class_name for call in calls})


if __name__ == "__main__":
    unittest.main()
