"""memory(): predictions against measured tensor memory, and its table."""

import copy
import gc
import json
import os
import sys
import tempfile
import unittest
import weakref
from pathlib import Path

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")  # some VMs claim AMX

import scope
import torch
from architectures import ARCHITECTURES
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

import torchoscope
from torchoscope.memory_steps import map_tensors, tensors_in
from torchoscope.traces import loss_of

CUT = {"a.weight", "a.bias"}
HAS_TRANSFORMERS = "gpt2" in ARCHITECTURES


# --- two independent measurements of real steps


class Storages(TorchDispatchMode):
    """Adds up the storages of all tensors that operations return, until they are
    freed."""

    def __init__(self, tensors):
        super().__init__()
        self.known, self.now, self.peak = {}, 0, 0
        for one in tensors:
            self.add(one)

    def add(self, tensor):
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.known:
            return
        n = storage.nbytes()
        self.known[key] = weakref.finalize(storage, self.free, key, n)
        self.now += n
        self.peak = max(self.peak, self.now)

    def free(self, key, n):
        del self.known[key]
        self.now -= n

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for one in tensors_in(result):
            self.add(one)
        return result


def train(model, inputs, optimizer):
    optimizer.zero_grad()
    result = model(*inputs)
    loss, _ = loss_of(result, None)
    loss.backward()
    optimizer.step()


def dispatched(model, given):
    """The peak of the second step of a copy, by a dispatch mode in Python."""
    model, inputs = copy.deepcopy(model), map_tensors(given, torch.clone)
    optimizer = torch.optim.Adam(model.parameters())
    own = [*model.parameters(), *model.buffers(), *tensors_in(inputs)]
    with Storages(own) as mode:
        train(model, inputs, optimizer)
        optimizer.zero_grad()
        mode.peak = 0
        train(model, inputs, optimizer)
    return mode.peak


def profiled(make, given):
    """The peak of allocations that torch's profiler saw, scratch memory inside
    operations included. It starts before the model is built: otherwise it misses frees
    of older memory."""
    gc.collect()
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=cpu, profile_memory=True) as profile:
        model = make()
        inputs = map_tensors(given, torch.clone)
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(2):
            train(model, inputs, optimizer)
    now = peak = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            now += event.nbytes()
            peak = max(peak, now)
    return peak


def repeated(given, size, dim=0):
    """The inputs with another batch size, made with plain torch."""
    first = next(tensors_in(given)).shape[dim]

    def change(one):
        at = torch.arange(size) % first
        return one.index_select(dim, at) if one.shape[dim] == first else one

    return map_tensors(given, change)


class Accuracy(unittest.TestCase):
    """Small variants; tests/bench/predict_bench.py has ResNet-50 and GPT-2."""

    # Their shapes depend on data; so does the depth of "dynamic".
    FITTED = ("moe", "lstm", "transformer")

    def test_architectures(self):
        for name, one in ARCHITECTURES.items():
            if name == "dynamic":
                continue
            with self.subTest(name):
                torch.manual_seed(0)
                dim = int(name == "lstm")
                given, model = one.make_inputs(), one.make_model()
                found = torchoscope.memory(model, *given, batch=64, batch_dim=dim)
                real = dispatched(model, repeated(given, 64, dim))
                self.assertAlmostEqual(found.peak / real, 1, delta=0.1)
                fitted = name in self.FITTED
                self.assertEqual(found.source == "fitted", fitted)
                self.assertEqual("fake tensors cannot" in str(found), fitted)

    def test_predictions_agree_with_the_torch_profiler(self):
        for name in ("resnet", "vit", "encoder", "gpt2", "llama"):
            if name not in ARCHITECTURES:
                continue
            with self.subTest(name):
                one = ARCHITECTURES[name]
                torch.manual_seed(0)
                given = one.make_inputs()
                found = torchoscope.memory(one.make_model(), *given, batch=64)
                real = profiled(one.make_model, repeated(given, 64))
                self.assertAlmostEqual(found.peak / real, 1, delta=0.03)

    def test_a_measured_step(self):
        one = ARCHITECTURES["resnet"]
        found = torchoscope.memory(one.make_model(), *one.make_inputs(), measure=True)
        self.assertAlmostEqual(found.peak / found.measured, 1, delta=0.01)
        self.assertRegex(str(found), r"measured +\S+  with real tensors; the pred")

    def test_dynamic_depth_is_fitted_and_marked(self):
        one = ARCHITECTURES["dynamic"]
        found = torchoscope.memory(one.make_model(), *one.make_inputs(), batch=64)
        self.assertEqual(found.source, "fitted")
        self.assertIn("measured with batch 8 and 16 and fitted", found.why)
        self.assertEqual(found.at_peak, {})


class Block(nn.Module):
    def __init__(self, width=64, checkpointed=False):
        super().__init__()
        self.a, self.b = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.checkpointed = checkpointed

    def forward(self, x):
        if self.checkpointed:
            return checkpoint(self.inner, x, use_reentrant=False)
        return self.inner(x)

    def inner(self, x):
        return x + self.b(self.a(x).relu())


def blocks(n=4, **options):
    return nn.Sequential(*[Block(**options) for _ in range(n)])


class Optimizers(unittest.TestCase):
    """Four parameters of one size: an Adam step needs 16 times that size, and in a loop
    three, with foreach four more."""

    def setUp(self):
        self.net = nn.Sequential(*[nn.Linear(512, 512, bias=False) for _ in range(4)])
        self.unit = 512 * 512 * 4

    def units(self, **options):
        found = torchoscope.memory(self.net, (1, 512), **options)
        return round(found.peak / self.unit, 1), found

    def test_names(self):
        self.assertEqual(self.units(optimizer="Adam")[0], 19)
        self.assertEqual(self.units(optimizer="sgd")[1].optimizer, 0)
        self.assertEqual(self.units(optimizer=None)[0], 8)
        with self.assertRaisesRegex(ValueError, "has no 'adamx', but .*adamw"):
            self.units(optimizer="adamx")

    def test_foreach_is_assumed_for_accelerators(self):
        peak, found = self.units(device="cuda")
        self.assertEqual(peak, 20)
        self.assertIn("Adam (foreach)", found.heading)

    def test_instances(self):
        adam = torch.optim.Adam
        params = list(self.net.parameters())
        self.assertEqual(self.units(optimizer=adam(params, foreach=True))[0], 20)
        self.assertEqual(self.units(optimizer=adam(params, fused=True))[0], 16)
        momentum = torch.optim.SGD(params[:2], 0.1, momentum=0.9)
        found = self.units(optimizer=momentum)[1]
        self.assertEqual(found.optimizer, 2 * self.unit)
        self.assertFalse(momentum.state)
        stranger = torch.optim.SGD(nn.Linear(2, 2).parameters(), 0.1)
        with self.assertRaisesRegex(ValueError, "has no parameter of the model"):
            self.units(optimizer=stranger)

    def test_a_function_of_the_parameters(self):
        make = lambda params: torch.optim.SGD(params, 0.1, momentum=0.9)  # noqa: E731
        self.assertEqual(self.units(optimizer=make)[1].optimizer, 4 * self.unit)


class Batch(unittest.TestCase):
    def test_a_batch_size_equals_inputs_of_that_size(self):
        net = blocks()
        one = torchoscope.memory(net, (2, 64), batch=32)
        other = torchoscope.memory(net, torch.zeros(32, 64))
        self.assertEqual(one.peak, other.peak)
        self.assertEqual((one.batch, other.batch), (32, 32))

    def test_batch_dim(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(16, 32)

            def forward(self, x, mask):
                return self.a(x) * mask

        given = torch.zeros(5, 3, 16), torch.zeros(5, 1, 1)
        found = torchoscope.memory(Net(), *given, batch=7, batch_dim=1)
        other = torchoscope.memory(Net(), torch.zeros(5, 7, 16), given[1])
        self.assertEqual(found.peak, other.peak)

    def test_the_largest_batch(self):
        net = blocks()
        found = torchoscope.memory(net, (2, 64), limit="8MB", margin=0.25)
        room = 6 * (1 << 20)
        self.assertLessEqual(found.largest_peak, room)
        more = found.largest_batch + max(1, found.largest_batch // 200)
        self.assertGreater(torchoscope.memory(net, (more, 64)).peak, room)
        exact = torchoscope.memory(net, (found.largest_batch, 64)).peak
        self.assertEqual(found.largest_peak, exact)
        self.assertIn("largest batch in 8.0MB with a margin of 25%", str(found))

    def test_no_batch_fits(self):
        found = torchoscope.memory(blocks(), (8, 64), limit="1MB")
        self.assertEqual(found.largest_batch, 0)
        self.assertIn("not even a batch of 1 fits in 1.0MB", str(found))

    def test_fitted_models_have_a_largest_batch(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(64, 64)

            def forward(self, x):
                return self.a(x[x.sum(1) > -1e9])

        net = Net()
        found = torchoscope.memory(net, (4, 64), batch=64, limit="1MB", margin=0)
        self.assertEqual(found.source, "fitted")
        peak = dispatched(net, (torch.zeros(found.largest_batch, 64),))
        self.assertAlmostEqual(peak / (1 << 20), 1, delta=0.05)

    def test_a_model_that_runs_with_one_batch_size_only(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(16, 16)

            def forward(self, x):
                return self.a(x.view(2, 4, 16))

        found = torchoscope.memory(Net(), (8, 16), limit="1GB")
        self.assertEqual(found.largest_batch, 8)
        self.assertIn("batch 64 raises", found.largest_why)

    def test_bad_options(self):
        net = nn.Linear(2, 2)
        for options, text in (
            ({"batch": 0}, "batch must be 1 or more"),
            ({"margin": 1}, "margin must be"),
            ({"limit": "lots"}, "not a size"),
            ({"dtype": "float99"}, "torch has no dtype"),
            ({"batch": 2, "batch_dim": 5}, "no tensor among .* has a dimension 5"),
        ):
            with self.subTest(options), self.assertRaisesRegex(ValueError, text):
                torchoscope.memory(net, (2, 2), **options)
        with self.assertRaisesRegex(TypeError, "needs inputs for Linear"):
            torchoscope.memory(net)


class Checkpointing(unittest.TestCase):
    def test_the_figures_are_those_of_a_checkpointed_model(self):
        options = {"batch": 4096, "optimizer": None}
        plain = torchoscope.memory(blocks(), (2, 64), **options)
        own = torchoscope.memory(blocks(checkpointed=True), (2, 64), **options)
        (one,) = plain.checkpointing
        self.assertEqual(one["class"], "Block")
        self.assertEqual(one["blocks"], ["0", "1", "2", "3"])
        self.assertAlmostEqual(one["peak"] / own.peak, 1, delta=0.02)
        self.assertEqual(one["saves"], plain.peak - one["peak"])
        self.assertGreater(own.recomputed, 0)
        self.assertIn("checkpointing 4 × Block (0 … 3): peak", str(plain))

    def test_the_copy_is_whole_again_afterwards(self):
        found = torchoscope.memory(blocks(), (64, 64), limit="64MB")
        again = torchoscope.memory(blocks(), (64, 64), limit="64MB")
        self.assertEqual(found.json["largest_batch"], again.json["largest_batch"])


class Figures(unittest.TestCase):
    def test_parts(self):
        net = nn.Sequential(nn.Linear(64, 32), nn.BatchNorm1d(32), nn.Linear(32, 8))
        found = torchoscope.memory(net, (16, 64))
        own = sum(one.numel() * 4 for one in net.parameters())
        self.assertEqual(found.parameters, own)
        self.assertEqual(found.gradients, own)
        self.assertEqual(found.optimizer, 2 * own + 6 * 4)  # and a step for each
        self.assertEqual(found.buffers, 32 * 4 * 2 + 8)
        self.assertEqual(sum(found.at_peak.values()), found.peak)
        self.assertEqual(found.recording.memory()["peak_bytes"], found.peak)
        self.assertEqual(found.modules["1"], 16 * 32 * 4 + 2 * 32 * 4)

    def test_dtype(self):
        net = nn.Linear(64, 64)
        one, half = (
            torchoscope.memory(net, (64, 64), dtype=dtype)
            for dtype in (None, "bfloat16")
        )
        self.assertEqual(half.parameters * 2, one.parameters)
        self.assertLess(half.activations, 0.51 * one.activations)
        self.assertEqual(net.weight.dtype, torch.float32)

    def test_inference(self):
        found = torchoscope.memory(blocks(), (64, 64), training=False)
        absent = found.gradients, found.optimizer, found.activations
        self.assertEqual(absent, (0, 0, 0))
        self.assertIn("inference", found.heading)

    def test_loss(self):
        given = {"loss": lambda result: result.exp().mean()}
        found = torchoscope.memory(nn.Linear(8, 8), (64, 8), **given)
        plain = torchoscope.memory(nn.Linear(8, 8), (64, 8))
        self.assertGreater(found.peak, plain.peak)
        self.assertEqual(found.loss, "given by the caller")

    def test_a_model_on_the_meta_device(self):
        with torch.device("meta"):
            layers = [nn.Linear(1 << 15, 1 << 15) for _ in range(2)]
            net = nn.Sequential(*layers)
        found = torchoscope.memory(net, (1, 1 << 15), limit="80GB")
        self.assertEqual(found.parameters, 2 * 4 * ((1 << 30) + (1 << 15)))

    @unittest.skipUnless(HAS_TRANSFORMERS, "needs transformers")
    def test_keys_and_values_per_token(self):
        one = ARCHITECTURES["gpt2"]
        model = one.make_model()
        model.config.use_cache = False
        found = torchoscope.memory(model, *one.make_inputs())
        config = model.config
        self.assertEqual(found.cache_per_token, 2 * 4 * config.n_layer * config.n_embd)
        self.assertIn("of keys and values per token", str(found))

    def test_embeddings_and_lazy_models(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.e, self.l = nn.Embedding(50, 16), nn.LazyLinear(4)

            def forward(self, x):
                return self.l(self.e(x))

        net = Net()
        found = torchoscope.memory(net, (8, 12))
        self.assertEqual(found.parameters, 4 * (50 * 16 + 16 * 4 + 4))
        self.assertTrue(torch.nn.parameter.is_lazy(net.l.weight))

    def test_tied_weights_count_once(self):
        net = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 64))
        net[1].weight = net[0].weight
        found = torchoscope.memory(net, (1, 64))
        self.assertEqual(found.parameters, 4 * (64 * 64 + 2 * 64))


class Untouched(unittest.TestCase):
    def test_the_model_is_left_as_it_was(self):
        for options in ({}, {"measure": True}, {"dtype": "bfloat16", "limit": "8MB"}):
            with self.subTest(options):
                torch.manual_seed(3)
                net = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout())
                net[0].weight.grad = torch.ones(8, 8)
                net[1].eval()
                before = copy.deepcopy(net.state_dict())
                members = [set(vars(one)) for one in net.modules()]
                chance = torch.random.get_rng_state()
                x = torch.randn(4, 8, generator=torch.Generator().manual_seed(0))
                copied = x.clone()
                torchoscope.memory(net, x, **options)
                for name, one in net.state_dict().items():
                    self.assertTrue(torch.equal(one, before[name]), name)
                self.assertTrue(torch.equal(chance, torch.random.get_rng_state()))
                self.assertTrue(torch.equal(x, copied))
                self.assertTrue(torch.equal(net[0].weight.grad, torch.ones(8, 8)))
                self.assertIsNone(net[0].bias.grad)
                flags = [one.training for one in net]
                self.assertEqual(flags, [True, False, True])
                self.assertEqual(members, [set(vars(one)) for one in net.modules()])

    def test_errors_of_the_model_are_raised(self):
        with self.assertRaisesRegex(RuntimeError, "mat1 and mat2 shapes"):
            torchoscope.memory(nn.Linear(3, 4), (2, 5))


class Keywords(unittest.TestCase):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 8)

        def forward(self, x, batch=None, scale=1):
            return self.a(x) * scale + (0 if batch is None else batch)

    def test_ambiguous_keyword_names_are_refused(self):
        with self.assertRaisesRegex(TypeError, r"pass kwargs=\{'batch'"):
            torchoscope.memory(self.Net(), (4, 8), batch=2)

    def test_other_keywords_go_to_forward(self):
        found = torchoscope.memory(self.Net(), (4, 8), kwargs={}, batch=2, scale=3)
        self.assertEqual(found.batch, 2)
        given = {"batch": torch.zeros(4, 8)}
        self.assertEqual(torchoscope.memory(self.Net(), (4, 8), kwargs=given).batch, 4)


class Shown(unittest.TestCase):
    def test_text_json_and_notebook(self):
        found = torchoscope.memory(blocks(), (8, 64), limit="64MB")
        text = str(found)
        words = ("parameters", "gradients", "optimizer state", "activations", "peak")
        for word in words:
            self.assertRegex(text, rf"(?m)^{word} ")
        self.assertIn("RSS", text)
        self.assertIn("the allocator of an accelerator", text)
        self.assertEqual(json.loads(found.to_json()), found.json)
        self.assertEqual(found.json["kind"], "memory")
        self.assertEqual(found.json["peak_bytes"], found.peak)
        bundle = found._repr_mimebundle_()
        self.assertEqual(bundle["text/plain"], text)
        self.assertIn("<table>", bundle["text/html"])
        self.assertNotIn("<script", bundle["text/html"])
        self.assertIn("<torchoscope.Memory: Sequential", repr(found))

    def test_docs_name_all_members(self):
        docs = (scope.ROOT / "docs" / "json.md").read_text()
        part = docs.partition("## Memory of a step")[2].partition("\n## ")[0]
        for key in torchoscope.memory(blocks(), (8, 64)).json:
            if key not in ("torchoscope", "kind"):
                self.assertIn(f"`{key}`", part)


class Recorded(unittest.TestCase):
    def test_the_memory_of_a_recording(self):
        net = blocks()
        recording = torchoscope.trace(net, (8, 64))
        found = recording.memory()
        self.assertEqual(max(found["live_bytes"]), found["peak_bytes"])
        self.assertEqual(len(found["live_bytes"]), len(recording.ops()))
        self.assertEqual(sum(found["at_peak"].values()), found["peak_bytes"])
        run = recording.json["run"]["memory"]
        self.assertEqual(run["peak_bytes"], found["peak_bytes"])
        self.assertIn("saved", recording.tree(columns="params,saved"))
        self.assertEqual(
            {one["name"]: one["saved_bytes"] for one in found["modules"]}[""],
            found["saved_bytes"] - found["saved_outside_bytes"],
        )

    def test_a_file_has_the_same_memory_figures(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

            def forward(self, x):
                return self.b(self.a(x).detach())

        recording = torchoscope.trace(Net(), (4, 8))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "net.scope")
            recording.save(path)
            again = torchoscope.open(path)
            self.assertEqual(again.memory(), recording.memory())
            run = again.json["run"]
            self.assertEqual(
                run["no_gradient"], recording.json["run"]["no_gradient"]
            )
            self.assertEqual({one["name"] for one in run["no_gradient"]}, CUT)
            done = scope.run("info", path)
            self.assertEqual(done.returncode, 1, "a parameter that was cut off")
            text = done.stdout.decode()
        self.assertRegex(text, r"(?m)^peak +\S+ of tensors at ")
        self.assertRegex(text, r"(?m)^saved +\S+ for backward")
        self.assertRegex(text, r"get no gradient: .*detach\(\) in Net cut the path")

    def test_a_recording_without_operations_has_none(self):
        net = nn.Linear(2, 2)
        with torchoscope.record(net) as recording:
            net(torch.zeros(1, 2))
        with self.assertRaisesRegex(torchoscope.Error, "ops=True"):
            recording.memory()


MODEL = """
from torch import nn
def make():
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
"""


class Program(unittest.TestCase):
    def run_words(self, *words):
        env = {**os.environ, "TORCHOSCOPE_PYTHON": sys.executable}
        return scope.run("memory", *words, env=env)

    def test_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder, "net.py")
            target.write_text(MODEL)
            word = f"{target}::make"
            done = self.run_words(
                *(word, "-i", "2x64", "--batch", 64, "--limit", "8MB"),
                *("--optimizer", "adamw", "--margin", "0.2"),
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            text = done.stdout.decode()
            self.assertIn("batch 64, training with AdamW, predicted", text)
            self.assertIn("largest batch in 8.0MB with a margin of 20%", text)
            done = self.run_words(word, "-i", "2x64", "--infer", "--json")
            self.assertEqual(json.loads(done.stdout)["gradients_bytes"], 0)
            done = self.run_words(word, "-i", "2x64", "--limit", "1KB")
            self.assertEqual(done.returncode, 1)
            done = self.run_words(word, "-i", "2x63")
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"Sequential.forward takes", done.stderr)


if __name__ == "__main__":
    unittest.main()
