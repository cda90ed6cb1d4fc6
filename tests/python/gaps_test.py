# flavours: both
"""Calls and values that hooks miss: they are recorded anyway, or reported as a gap.
Never an exception, never silently missing."""

import contextlib
import os
import tempfile
import threading
import unittest

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import scope
import torchoscope

NEW = hasattr(torch, "compiler")
X = torch.linspace(-1, 1, 12).reshape(3, 4)
torch.set_num_threads(1)


def gaps_of(recording):
    return {gap.name: gap for gap in recording.gaps if gap.name is not None}


def flags_of(recording, name):
    return [set(call.flags) for call in recording.calls(name)]


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.second(self.first(x).relu())


@unittest.skipUnless(NEW, "no torch.compile")
class Compiled(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()

    def graphs(self):
        return torch._dynamo.utils.counters["stats"]["unique_graphs"]

    def compiled(self, model, **options):
        return torch.compile(model, backend="eager", **options)

    def test_a_compiled_wrapper_is_recorded_at_its_boundary(self):
        for fullgraph in (False, True):
            model = Own()
            compiled = self.compiled(model, fullgraph=fullgraph)
            with torchoscope.record(model) as recording:
                result = compiled(X).detach()
                compiled(X)
            self.assertEqual([c.name for c in recording.calls()], ["", ""])
            self.assertTrue(all("compiled" in f for f in flags_of(recording, "")))
            out = recording.calls("")[0].outputs[0]
            self.assertAlmostEqual(out.mean, result.double().mean().item(), places=6)
            kinds = {name: gap.kind for name, gap in gaps_of(recording).items()}
            self.assertEqual(kinds, {"first": "compiled", "second": "compiled"})

    def test_a_compiled_submodule_is_recorded_at_its_boundary(self):
        inner = Own()
        model = nn.Sequential(nn.Linear(4, 4), self.compiled(inner), nn.ReLU())
        with torchoscope.record(inner) as recording:
            model(X)
        self.assertEqual([c.name for c in recording.calls()], [""])
        self.assertEqual(gaps_of(recording)["first"].kind, "compiled")

    def test_a_compiled_model_run_eagerly_is_one_call(self):
        model = Own()
        compiled = self.compiled(model)
        for it in (model, compiled):
            with torchoscope.record(it, eager=True) as recording:
                compiled(X)
            names = [c.name.rpartition(".")[2] for c in recording.calls()]
            self.assertEqual(names[-2:], ["first", "second"])
            self.assertFalse(any("compiled" in c.flags for c in recording.calls()))
            self.assertEqual(recording.gaps, [])
        self.assertEqual(self.graphs(), 0)

    def test_a_graph_that_breaks_is_still_compiled(self):
        class Breaks(Own):
            def forward(self, x):
                x = self.first(x)
                torch._dynamo.graph_break()
                return self.second(x)

        model = Breaks()
        with torchoscope.record(model) as recording:
            self.compiled(model)(X)
        self.assertEqual([c.name for c in recording.calls()], [""])
        self.assertEqual(gaps_of(recording)["second"].kind, "compiled")

    def test_a_model_inside_a_compiled_function(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        function = torch.compile(lambda x: model(x), backend="eager")
        x = torch.ones(2, 4)
        function(x)
        with torchoscope.record(model) as recording:
            function(x).sum().backward()
        kinds = {gap.name: gap.kind for gap in recording.gaps}
        self.assertEqual(set(kinds.values()), {"compiled"})
        self.assertIn("", kinds)
        with torchoscope.record(model, eager=True) as recording:
            function(x)
        self.assertEqual([call.name for call in recording.calls()], ["", "0", "1"])

    def test_inside_a_module_compiled_in_place(self):
        model = nn.Sequential(Own(), nn.Linear(2, 2))
        model[0].compile(backend="eager")
        with torchoscope.record(model) as recording:
            model(X)
        self.assertIn("compiled", flags_of(recording, "0")[0])
        self.assertNotIn("compiled", flags_of(recording, "1")[0])
        self.assertEqual(gaps_of(recording)["0.first"].kind, "compiled")
        with torchoscope.record(model) as recording:
            with torch.compiler.set_stance("force_eager"):
                model(X)
        self.assertNotIn("compiled", flags_of(recording, "0")[0])
        self.assertEqual(len(recording.calls("0.first")), 1)

    def test_compiling_in_place_inside_the_block_is_reported(self):
        for budget in (None, 0.5):
            model = nn.Sequential(Own(), nn.Linear(2, 2))
            with torchoscope.record(model, budget=budget) as recording:
                model[0].compile(backend="eager")
                model(X)
            kinds = {name: gap.kind for name, gap in gaps_of(recording).items()}
            wanted = dict.fromkeys(("0", "0.first", "0.second"), "compiled")
            self.assertEqual(kinds, wanted)
            self.assertIn("in the block", gaps_of(recording)["0"].text)
            self.assertEqual(len(recording.calls("1")), 1)

    def test_eager_also_applies_to_modules_compiled_in_the_block(self):
        model = Own()
        with torchoscope.record(model, eager=True) as recording:
            self.compiled(model)(X)
            model.compile(backend="eager")
            model(X)
        self.assertEqual(len(recording.calls("first")), 2)
        self.assertEqual(self.graphs(), 0)

    def test_a_budget_does_not_recompile(self):
        for before in (True, False):
            torch._dynamo.reset()
            torch._dynamo.utils.counters.clear()
            model = Own()
            compiled = self.compiled(model)
            if before:
                compiled(X)
            with torchoscope.record(model, budget=0.0001) as recording:
                for _ in range(20):
                    compiled(X)
            compiled(X)
            self.assertEqual(self.graphs(), 1)
            facts = recording.facts
            self.assertEqual(len(recording.calls("")), facts["passes_recorded"])
            self.assertEqual(facts["passes_recorded"] + facts["passes_left_out"], 20)
            self.assertNotIn("_compiled_call_impl", model.__dict__)
            handler = torch._dynamo.callback_handler
            self.assertFalse(handler.start_callbacks or handler.end_callbacks)


class CalledDirectly(unittest.TestCase):
    def direct(self, model, run, names):
        with torchoscope.record(model) as recording:
            run()
        gaps = gaps_of(recording)
        for name in names:
            self.assertEqual(gaps[name].kind, "called directly", gaps[name])
        return gaps

    def test_calling_forward_directly_is_a_gap_of_the_caller(self):
        class Past(Own):
            def forward(self, x):
                return self.second(self.first.forward(x))

        model = Past()
        gaps = self.direct(model, lambda: model(X), ["first"])
        self.assertEqual(set(gaps), {"first"})
        self.assertIn("Past.forward() calls forward() directly", gaps["first"].text)

    def test_calling_forward_of_modules_in_a_list(self):
        class Past(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Tanh()])
                self.other = nn.Linear(4, 4)

            def forward(self, x):
                return self.run(x)

            def run(self, x):
                for layer in self.layers:
                    x = layer.forward(x)
                return x

        model = Past()
        gaps = self.direct(model, lambda: model(X), ["layers.0", "layers.1"])
        self.assertIn("Past.run()", gaps["layers.0"].text)
        self.assertEqual(gaps["other"].kind, "not called")
        self.assertNotIn("layers", gaps)

    def test_calling_forward_of_super_is_not_a_gap(self):
        class Sub(Own):
            def __init__(self):
                super().__init__()
                self.unused = nn.Linear(2, 2)

            def forward(self, x):
                return super().forward(x)

        model = Sub()
        with torchoscope.record(model) as recording:
            model(X).sum().backward()
        self.assertEqual(gaps_of(recording)["unused"].kind, "not called")

    def test_a_class_with_its_own_call_method(self):
        class Called(Own):
            def __call__(self, x):
                return self.forward(x)

        model = nn.Sequential(Called(), nn.ReLU())
        gaps = self.direct(model, lambda: model(X), ["0"])
        self.assertIn("Called overrides __call__", gaps["0"].text)

    def test_gradients_of_a_direct_call_are_a_gap(self):
        class Uses(Own):
            def forward(self, x):
                return nn.functional.linear(x, self.first.weight).sum()

        model = Uses()

        def run(optimizer):
            model(X).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        gaps = self.direct(model, lambda: model(X).backward(), ["first"])
        self.assertIn("got gradients", gaps["first"].text)
        self.assertEqual(gaps["second"].kind, "not called")
        if NEW:  # an older torch does not report steps
            self.direct(model, lambda: run(optimizer), ["first"])
        # Gradients from before the block do not count.
        model(X).backward()
        with torchoscope.record(model) as recording:
            model(X)
        self.assertEqual(gaps_of(recording)["first"].kind, "not called")

    def test_a_weight_shared_with_a_called_module_is_not_a_gap(self):
        model = Own()
        model.tied = nn.Linear(4, 8)
        model.tied.weight = model.first.weight
        model.tied.bias = None
        with torchoscope.record(model) as recording:
            model(X).sum().backward()
        self.assertEqual(gaps_of(recording)["tied"].kind, "not called")

    def test_attention_uses_the_weights_of_its_projection(self):
        model = nn.MultiheadAttention(8, 2)
        x = torch.ones(3, 1, 8)
        gaps = self.direct(model, lambda: model(x, x, x), ["out_proj"])
        self.assertIn("uses its weights without a call", gaps["out_proj"].text)


class Fused(unittest.TestCase):
    INNER = "self_attn self_attn.out_proj linear1 dropout linear2 norm1 norm2".split()

    def gaps(self, model, x):
        with torch.no_grad(), torchoscope.record(model) as recording:
            model(x)
        return recording, gaps_of(recording)

    def test_the_parts_of_a_fused_encoder_are_gaps(self):
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        model = nn.TransformerEncoder(layer, 2).eval()
        recording, gaps = self.gaps(model, torch.ones(2, 3, 8))
        for number in "01":
            self.assertEqual(flags_of(recording, f"layers.{number}"), [{"fused"}])
            for name in self.INNER:
                gap = gaps[f"layers.{number}.{name}"]
                self.assertEqual(gap.kind, "fused", gap)
        self.assertEqual(flags_of(recording, ""), [set()])
        rows = {row["name"]: row for row in recording._now().rows(columns="out")}
        self.assertEqual(rows["layers.0.linear1"]["out"], "fused")

    def test_a_layer_that_is_not_fused_has_no_gap(self):
        class Own(nn.TransformerEncoderLayer):
            def forward(self, x):
                return x + 1

        for layer in (nn.TransformerEncoderLayer(8, 2, 16), Own(8, 2, 16).eval()):
            recording, gaps = self.gaps(layer, torch.ones(3, 2, 8))
            self.assertNotIn("fused", recording.calls("")[0].flags)
            self.assertNotIn("fused", [gap.kind for gap in gaps.values()])


class Sets(unittest.TestCase):
    class Sums(nn.Module):
        def forward(self, *sets):
            return {sum(one for each in sets for one in each)}

    def test_tensors_in_sets_are_seen(self):
        class Kept(set):
            def __iter__(self):
                raise AssertionError("the user's code was run")

        model, a, b = self.Sums(), X + 1, X + 2
        with torchoscope.record(model) as recording:
            (y,) = model({a}, frozenset([b]))
        (call,) = recording.calls("")
        self.assertEqual([v.path for v in call.inputs], ["sets[0]{0}", "sets[1]{0}"])
        self.assertEqual([v.path for v in call.outputs], ["{0}"])
        self.assertAlmostEqual(call.inputs[1].mean, float(b.mean()), places=6)
        self.assertAlmostEqual(call.outputs[0].mean, float(y.mean()), places=6)
        model = nn.Identity()
        with torchoscope.record(model) as recording:
            model(Kept([a]))
        self.assertEqual([v.path for v in recording.calls("")[0].inputs], ["input{0}"])
        self.assertEqual([gap.kind for gap in recording.gaps if gap.name], [])

    def test_a_large_set_is_cut_and_reported(self):
        model = nn.Identity()
        with torchoscope.record(model, mode="guard") as recording:
            model({torch.empty(0) for _ in range(5000)})
        self.assertEqual(len(recording.calls("")[0].inputs), 4096)
        self.assertIn("limit", [gap.kind for gap in recording.gaps])


class Stops(nn.Module):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def forward(self, x):
        if self.error is not None:
            raise self.error
        return x


class Interrupted(unittest.TestCase):
    def test_the_next_call_starts_clean(self):
        for error in (KeyboardInterrupt(), SystemExit(), GeneratorExit()):
            inner = nn.Sequential(nn.Linear(4, 4), Stops(error))
            model = nn.Sequential(nn.Linear(4, 4), inner)
            with torchoscope.record(model) as recording:
                with self.assertRaises(type(error)):
                    model(X)
                inner[1].error = None
                model(X).sum().backward()
                inner[1].error = error
                with self.assertRaises(type(error)):
                    inner(X)
                inner[1].error = None
                inner(X)
            first, second = recording.calls("")
            self.assertIn("aborted", first.flags)
            self.assertNotIn("aborted", second.flags)
            self.assertEqual((first.parent, second.parent), (None, None))
            self.assertEqual([c.step for c in recording.calls("")], [0, 1])
            self.assertEqual([c.step for c in recording.calls("1")], [0, 1, 2, 3])
            parents = [c.parent is None for c in recording.calls("1")]
            self.assertEqual(parents, [False, False, True, True])
            aborted = ["aborted" in c.flags for c in recording.calls("1.1")]
            self.assertEqual(aborted, [True, False, True, False])
            self.assertEqual(len(recording.calls("1.0")[1].grad_outputs), 1)

    def test_calls_after_an_interrupted_call_have_no_parent(self):
        stops = Stops(KeyboardInterrupt())
        inner = nn.Sequential(nn.Linear(4, 4), stops)
        model = nn.Sequential(nn.Linear(4, 4), inner)
        for part in (model[0], inner, inner[0]):
            stops.error = KeyboardInterrupt()
            with torchoscope.record(model) as recording:
                with self.assertRaises(KeyboardInterrupt):
                    model(X)
                stops.error = None
                part(X)
                model(X)
            roots = [c for c in recording.calls() if c.parent is None]
            names = {id(module): name for name, module in model.named_modules()}
            self.assertEqual([c.name for c in roots], ["", names[id(part)], ""])
            aborted = [c.name for c in recording.calls() if "aborted" in c.flags]
            self.assertEqual(aborted, ["", "1", "1.1"])

    def test_calls_around_a_caught_interrupt_continue(self):
        class Catches(nn.Module):
            def __init__(self):
                super().__init__()
                self.stops, self.other = Stops(KeyboardInterrupt()), nn.Linear(4, 4)

            def forward(self, x):
                try:
                    self.stops(x)
                except KeyboardInterrupt:
                    return self.other(x)

        model = nn.Sequential(Catches(), nn.ReLU())
        with torchoscope.record(model) as recording:
            model(X)
        calls = recording.calls()
        self.assertEqual([c.name for c in calls], ["", "0", "0.stops", "0.other", "1"])
        self.assertEqual([c.parent for c in calls], [None, 0, 1, 1, 0])
        aborted = [c.name for c in calls if "aborted" in c.flags]
        self.assertEqual(aborted, ["0.stops"])

    def test_a_recursive_module_does_not_count_as_interrupted(self):
        class Again(nn.Module):
            def forward(self, x, depth=2):
                return self(x, depth - 1) if depth else x

        model = Again()
        with torchoscope.record(model) as recording:
            model(X)
        self.assertEqual([c.parent for c in recording.calls()], [None, 0, 1])
        self.assertFalse(any("aborted" in c.flags for c in recording.calls()))

    def test_modules_that_are_not_registered_keep_their_parent(self):
        class Borrows(nn.Module):
            def __init__(self, other):
                super().__init__()
                self.others = [other]  # not registered

            def forward(self, x):
                return self.others[0](x)

        other = nn.Linear(4, 4)
        model = nn.ModuleDict({"other": other, "borrows": Borrows(other)})
        with torchoscope.record(model) as recording:
            model["borrows"](X)
        self.assertEqual([c.parent for c in recording.calls()], [None, 0])

    @unittest.skipUnless(NEW, "this torch has none")
    def test_a_checkpoint_that_stops_early_raises_nothing(self):
        class Checked(nn.Module):
            def __init__(self):
                super().__init__()
                self.block = nn.Sequential(nn.Linear(4, 4), nn.Sigmoid(), nn.Identity())

            def forward(self, x):
                return checkpoint(self.block, x, use_reentrant=False)

        model = Checked()
        x = X.clone().requires_grad_()
        with torchoscope.record(model) as recording:
            for _ in range(2):
                model(x).sum().backward()
        again = [c for c in recording.calls() if "recomputed" in c.flags]
        self.assertGreaterEqual(len(again), 4)
        self.assertEqual([c.error for c in again], [None] * len(again))
        self.assertFalse(any("raised" in c.flags for c in again))
        self.assertTrue(any("aborted" in c.flags for c in again))
        self.assertEqual([c.step for c in recording.calls("")], [0, 1])


def replicas_of(model, n):
    """Like torch.nn.parallel.replicate(), which only works on accelerators."""
    modules = list(model.modules())
    index = {module: i for i, module in enumerate(modules)}
    copies = [[m._replicate_for_data_parallel() for m in modules] for _ in range(n)]
    for i, module in enumerate(modules):
        for made in copies:
            for key, child in module._modules.items():
                made[i]._modules[key] = made[index[child]]
            for key, parameter in module._parameters.items():
                setattr(made[i], key, parameter.view_as(parameter))
    return [made[0] for made in copies]


class DataParallel(nn.Module):
    """Has the name and the behaviour of torch's own class."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        results = [None, None]

        def run(i, replica):
            results[i] = replica(x + i)

        replicas = replicas_of(self.module, 2)
        threads = [
            threading.Thread(target=run, args=one) for one in enumerate(replicas)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return torch.cat(results)


class Replicas(unittest.TestCase):
    def test_calls_of_replicas_are_calls_of_the_original(self):
        model = DataParallel(Own())
        with torchoscope.record(model) as recording:
            for _ in range(2):
                model(X).sum().backward()
        calls = recording.calls()
        self.assertEqual(len(recording.calls("module")), 4)
        self.assertEqual(len(recording.calls("module.second")), 4)
        wrappers = [i for i, c in enumerate(calls) if not c.name]
        for call in recording.calls("module"):
            self.assertIn(call.parent, wrappers)
            self.assertEqual(call.step, calls[call.parent].step)
            self.assertNotEqual(call.thread, calls[call.parent].thread)
        self.assertEqual([c.step for c in recording.calls("")], [0, 1])
        self.assertEqual(gaps_of(recording), {})

    def test_replicas_without_dataparallel_have_no_parent_and_a_gap(self):
        model = DataParallel(Own())
        with torchoscope.record(model.module) as recording:
            model(X)
        self.assertEqual(len(recording.calls("")), 2)
        self.assertEqual([c.parent for c in recording.calls("")], [None, None])
        self.assertTrue(all(c.parent is not None for c in recording.calls("first")))
        self.assertIn("no parent", recording.facts["replicas"])

    def test_calls_on_a_user_thread_have_no_parent(self):
        model = nn.Sequential(Own(), nn.ReLU())
        with torchoscope.record(model) as recording:
            thread = threading.Thread(target=model, args=(X,))
            thread.start()
            thread.join()
            model(X)
        self.assertEqual([c.parent for c in recording.calls("")], [None, None])
        self.assertNotIn("replicas", recording.facts)


class Outside(unittest.TestCase):
    """Called modules outside the model are reported."""

    def check(self, model, run, names, said):
        with torchoscope.record(model) as recording:
            run()
        gaps = gaps_of(recording)
        self.assertEqual({name: gaps[name].kind for name in gaps}, names)
        self.assertIn(said, gaps[""].text)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.scope")
            recording.save(path)
            kinds = {gap.kind for gap in torchoscope.open(path).gaps}
        self.assertIn("outside", kinds)
        return recording

    def test_modules_made_in_forward_are_reported(self):
        class Late(Own):
            def forward(self, x):
                return nn.Softmax(-1)(super().forward(x))

        model = Late()
        recording = self.check(model, lambda: model(X), {"": "outside"}, "Softmax")
        self.assertIn("Softmax", str(recording))

    def test_modules_replaced_in_the_block_are_reported(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

        def run():
            model(X)
            model[0] = nn.Bilinear(4, 4, 4)
            with contextlib.suppress(TypeError):
                model(X)

        self.check(model, run, {"": "outside"}, "called Bilinear")

    def test_uncalled_modules_are_still_reported(self):
        class Late(Own):
            def __init__(self):
                super().__init__()
                self.unused = nn.ReLU()

            def forward(self, x):
                return nn.Softmax(-1)(super().forward(x))

        model = Late()
        names = {"": "outside", "unused": "not called"}
        self.check(model, lambda: model(X), names, "Softmax")

    def test_other_models_are_ignored(self):
        model, other = Own(), Own()
        with torchoscope.record(model) as recording:
            other(X)
            model(X)
            other(X)
        self.assertEqual(gaps_of(recording), {})


class Containers(unittest.TestCase):
    """A ModuleList has no forward: no view reports it as a gap."""

    def test_containers_are_never_uncalled_in_any_view(self):
        class Lists(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
                self.names = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(4, 2)})

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return self.names["a"](x)

        model = Lists()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.scope")
            with torchoscope.record(model) as recording:
                model(X)
            recording.save(path)
            tree = scope.document("tree", path)
            show = scope.document("show", path, "layers")
            table = os.path.join(folder, "x.csv")
            whole = os.path.join(folder, "x.json")
            self.assertEqual(scope.run("export", path, "-o", table).returncode, 0)
            self.assertEqual(scope.run("export", path, "-o", whole).returncode, 0)
            text = [scope.run(*words).stdout.decode() for words in (("tree", path),)]
            for file in (table, whole):
                with open(file) as stream:
                    text.append(stream.read())
            opened = [gap.name for gap in torchoscope.open(path).gaps]
        self.assertEqual([gap.name for gap in recording.gaps], ["names.b"])
        self.assertEqual(opened, ["names.b"])
        modules = {row["name"]: row for row in all_modules(tree)}
        for name in ("layers", "names"):
            self.assertTrue(modules[name]["container"])
            self.assertNotIn("gap", modules[name])
        self.assertNotIn("container", modules["names.b"])
        self.assertEqual(modules["names.b"]["gap"], "not called")
        self.assertEqual(show["gaps"], [])
        for one in text:
            self.assertNotIn("defines no forward", one)
        self.assertNotIn(",container", text[1])


def all_modules(thing):
    if isinstance(thing, dict):
        if "calls" in thing and "name" in thing:
            yield thing
        for value in thing.values():
            yield from all_modules(value)
    elif isinstance(thing, list):
        for value in thing:
            yield from all_modules(value)


class Numbers(unittest.TestCase):
    def test_a_limited_number_of_calls_is_kept_individually(self):
        model = Own()
        for calls, kept in ((1, 2), (3, 4), (64, 10), ("all", 10)):
            with torchoscope.record(model, calls=calls) as recording:
                for _ in range(10):
                    model(X)
            self.assertEqual(len(recording.calls("first")), kept)  # and the newest
            modules = {row["name"]: row["calls"] for row in recording.modules()}
            self.assertEqual(modules["first"], 10)

    def test_merged_calls_are_reported(self):
        class Thrice(Own):
            def forward(self, x):
                return self.first(x) + self.first(x + 1) + self.first(x + 2)

        model = Thrice()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.scope")
            with torchoscope.record(model, calls=2) as recording:
                for i in range(4):
                    model(X)
            recording.save(path)
            shown = scope.run("show", path, "first").stdout.decode()
            flow = scope.run(path, "--print=140x30", "--panel", "6").stdout.decode()
        self.assertIn("12 calls, ", shown)
        merged = "10 calls are merged, .* each\n +in +input +3×4 +min -1  max 3"
        self.assertRegex(shown, merged)
        self.assertIn("call 12 ", shown)
        self.assertIn("not shown: calls that were merged", flow)
        self.assertIn("used by no module call that was kept", flow)

    def test_wrong_numbers_are_refused(self):
        for calls in (0, -1, 2.5, True, "many", None):
            with self.assertRaises(ValueError):
                torchoscope.record(Own(), calls=calls)


if __name__ == "__main__":
    unittest.main()
