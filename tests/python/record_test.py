# flavours: both
"""record(): its content, and that it leaves no trace in the model or in torch."""

import copy
import gc
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unittest
import weakref
from pathlib import Path
from unittest import mock

import torch
from torch import nn
from torch.nn.modules import module as torch_module

import scope
import torchoscope
from torchoscope import hooks, recorder

NEW = hasattr(torch, "compiler")


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.second(self.first(x).relu())


X = torch.linspace(-1, 1, 12).reshape(3, 4)


class Clean(unittest.TestCase):
    def tearDown(self):
        for name in [n for n in vars(torch_module) if n.startswith("_global_")]:
            self.assertFalse(getattr(torch_module, name), name)
        self.assertFalse(hooks._listeners or hooks._wrapped)
        if NEW:
            optimizer = sys.modules["torch.optim.optimizer"]
            self.assertFalse(optimizer._global_optimizer_pre_hooks)
            self.assertFalse(optimizer._global_optimizer_post_hooks)


class Told(Clean):
    def test_merged_calls_are_listed_under_their_caller(self):
        act = nn.ReLU()
        model = nn.Sequential(nn.Sequential(nn.Linear(4, 4), act), nn.Sequential(act))
        with torchoscope.record(model) as recording:
            for n in range(100):
                model(torch.ones(1 + (n == 90), 4)).sum().backward()
                model[0](X)
        wanted = {"": "100", "0": "200", "0.0": "200", "0.1": "200", "1": "100"}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "run.scope")
            recording.save(path)
            for one in (recording, torchoscope.open(path)):
                rows = one.rows(columns="calls,out", expand=True)
                calls = {row["name"]: row["calls"] for row in rows}
                self.assertEqual(calls, {**wanted, "1.0": "100"})
                merged = {m["name"]: m["calls"] for m in one.json["merged"]}
                self.assertEqual(merged["0.1"] + merged["1.0"], 300 - 64)
                self.assertIn("*", {r["name"]: r["out"] for r in rows}["1.0"])

    def test_calls_in_order_with_shapes_and_statistics(self):
        model = net()
        with torchoscope.record(model) as recording:
            y = model(X)
        calls = recording.calls()
        self.assertEqual([c.name for c in calls], ["", "0", "1", "2"])
        self.assertEqual([c.class_name for c in calls][:2], ["Sequential", "Linear"])
        out = recording.calls("2")[-1].outputs[0]
        self.assertEqual((out.shape, out.dtype, out.device), ([3, 2], "float32", "cpu"))
        self.assertAlmostEqual(out.mean, y.double().mean().item(), places=7)
        self.assertEqual((out.min, out.max), (y.min().item(), y.max().item()))
        self.assertEqual(calls[1].parent, 0)
        self.assertTrue(calls[1].line.startswith("record_test.py:"))
        self.assertIsNone(calls[1].error)
        self.assertGreaterEqual(calls[0].time_ns, calls[0].self_ns)

    def test_rows_are_read_only_and_convert_to_plain_data(self):
        model = net()
        with torchoscope.record(model) as recording:
            model(X)
        call = recording.calls()[0]
        with self.assertRaises(AttributeError):
            call.name = "x"
        with self.assertRaises(AttributeError):
            call.nothing
        self.assertEqual(dict(call)["name"], "")
        self.assertEqual(pickle.loads(pickle.dumps(call)), call)
        self.assertIn("[3, 4] -> [3, 2]", repr(call))
        self.assertIn("4 calls", repr(recording))

    def test_an_object_that_holds_modules(self):
        class Pipeline:
            def __init__(self):
                self.scale, self.first, self.second = 3, net(), nn.Linear(2, 2)
                self.more, self.unused = [nn.ReLU()], nn.Tanh()

        pipeline = Pipeline()
        with torchoscope.record(pipeline) as recording:
            pipeline.more[0](pipeline.second(pipeline.first(X)))
        names = [c.name for c in recording.calls()]
        wanted = ["first", "first.0", "first.1", "first.2", "second", "more.0"]
        self.assertEqual(names, wanted)
        self.assertEqual(len(pipeline.more[0].forward_stats), 1)
        gaps = [(gap.name, gap.kind) for gap in recording.gaps if gap.name]
        self.assertEqual(gaps, [("unused", "not called")])
        self.assertEqual(len(pipeline.second.forward_stats), 1)
        self.assertEqual(len(pipeline.first[0].forward_stats), 1)

    def test_kept_values_come_back_as_tensors(self):
        model = net()
        for keep in ("0", ["0"], lambda name: name == "0"):
            with torchoscope.record(model, keep=keep) as recording:
                model(X)
                model(X + 1)
            (value,) = recording.values("0")
            self.assertTrue(torch.equal(value, model[0](X + 1)))
            (value,) = recording.values("0", call=0)
            self.assertTrue(torch.equal(value, model[0](X)))
            with self.assertRaises(KeyError):
                recording.values("2")
            with self.assertRaises(KeyError):
                recording.values("0", call=7)

    def test_every_tensor_is_kept_or_reported(self):
        model = nn.Identity()
        quantised = torch.quantize_per_tensor(X, 0.5, 0, torch.qint8)
        cases = [
            (torch.zeros(0, 3), torch.zeros(0, 3)),
            (torch.tensor(2.5), torch.tensor(2.5)),
            (torch.tensor([1 + 2j, 3j]).conj(), torch.tensor([1 - 2j, -3j])),
            (quantised, quantised.int_repr()),
            (X.t(), X.t()),
            (X.to_sparse(), None),
            (torch.empty(3, device="meta"), None),
        ]
        for x, wanted in cases:
            with torchoscope.record(model, keep="*") as recording:
                model(x)
            said = [gap.text for gap in recording.gaps if gap.kind == "limit"]
            self.assertEqual(len(said), wanted is None)
            if wanted is None:
                continue
            self.assertTrue(torch.equal(recording.values("")[0], wanted), wanted)
            with tempfile.TemporaryDirectory() as folder:
                recording.save(f"{folder}/x.scope")
                again = torchoscope.open(f"{folder}/x.scope")
                self.assertTrue(torch.equal(again.values("")[0], wanted), wanted)

    def test_names_to_keep_are_resolved_at_the_start(self):
        model = net()
        with self.assertRaisesRegex(ValueError, "no module matches '1.x'"):
            with torchoscope.record(model, keep=["0", "1.x"]):
                self.fail("the block was entered")
        with self.assertRaises(ZeroDivisionError):
            with torchoscope.record(model, keep=lambda name: 1 / 0):
                self.fail("the block was entered")
        self.assertFalse(torch_module._global_forward_hooks)

    def test_a_shared_module_is_kept_by_any_of_its_names(self):
        model = net()
        model.again = model[0]
        with torchoscope.record(model, keep="again") as recording:
            model[0](X)
        self.assertTrue(torch.equal(recording.values("0")[0], model[0](X)))

    def test_values_of_merged_calls_are_not_kept_which_is_reported(self):
        model = net()
        with torchoscope.record(model, keep="0", calls=2) as recording:
            for i in range(5):
                model(X + i)
        self.assertTrue(torch.equal(recording.values("0", 1)[0], model[0](X + 1)))
        with self.assertRaisesRegex(KeyError, "only for its first 2 calls"):
            recording.values("0")
        said = [gap.text for gap in recording.gaps if gap.name == "0"]
        self.assertEqual(len(said), 1)
        self.assertIn("values of merged calls are not kept", said[0])

    def test_values_over_the_limit_are_a_gap(self):
        model = net()
        with torchoscope.record(model, keep="*", limit=64) as recording:
            model(X)
        self.assertIn("limit", [gap.kind for gap in recording.gaps])

    def test_modes(self):
        model = net()
        for mode in ("full", "exact", "sampled", "guard"):
            with torchoscope.record(model, mode=mode) as recording:
                model(X)
            out = recording.calls("2")[0].outputs[0]
            self.assertEqual(out.nan, 0)
            self.assertEqual(out.mean is None, mode == "guard")
            self.assertEqual(recording.facts["mode"], mode)

    def test_invalid_options_are_refused_at_the_start(self):
        model = net()
        for wish in ({"mode": "fast"}, {"calls": 0}, {"budget": 2}, {"limit": "much"}):
            with self.assertRaises(ValueError):
                torchoscope.record(model, **wish)
        with self.assertRaises(TypeError):
            torchoscope.record(object())

    def test_sizes(self):
        for text, size in (("256MB", 256 * 10**6), ("1.5GiB", 3 * 2**29), ("7", 7)):
            self.assertEqual(recorder.parse_size(text), size)
        self.assertEqual(recorder.parse_size(4096), 4096)

    def test_recordings_nest_and_run_side_by_side(self):
        one, two = net(), net()
        with torchoscope.record(one) as outer:
            one(X)
            with torchoscope.record(one) as inner, torchoscope.record(two) as other:
                one(X)
                two(X)
            one(X)
        found = [len(r.calls("0")) for r in (outer, inner, other)]
        self.assertEqual(found, [3, 1, 1])

    def test_it_can_be_queried_while_it_records(self):
        model = net()
        with torchoscope.record(model) as recording:
            self.assertEqual(recording.calls(), [])
            model(X)
            self.assertEqual(len(recording.calls()), 4)
            recording.stop()
            model(X)
        self.assertEqual(len(recording.calls()), 4)
        with self.assertRaises(RuntimeError):
            recording.__enter__()

    def test_calls_of_two_threads(self):
        model, together = net(), threading.Barrier(2)

        def run():
            together.wait()
            for _ in range(20):
                model(X)
            together.wait()

        with torchoscope.record(model) as recording:
            threads = [threading.Thread(target=run) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        calls = recording.calls()
        self.assertEqual(len(calls), 160)
        self.assertEqual({c.thread for c in calls}, {0, 1})
        self.assertTrue(all(c.parent is not None for c in calls if c.name))

    def test_a_budget_skips_passes(self):
        model = net()
        with torchoscope.record(model, budget=0.0001) as recording:
            for _ in range(50):
                model(X)
        facts = recording.facts
        self.assertEqual(facts["passes_recorded"] + facts["passes_left_out"], 50)
        self.assertGreater(facts["passes_left_out"], 0)
        self.assertEqual(len(recording.calls("")), facts["passes_recorded"])
        self.assertGreater(facts["passes_recorded"], 0)
        self.assertIn("every", facts["budget_fell_back"])
        self.assertGreater(facts["budget_cost"], 0)
        self.assertEqual(recording.cost["share"], facts["budget_cost"])
        self.assertNotIn("_compiled_call_impl", model.__dict__)

    @unittest.skipUnless(NEW, "hooks stay in place")
    def test_no_hook_is_installed_between_recorded_passes(self):
        class Looks(nn.Module):
            def forward(self, x):
                found.append(bool(torch_module._global_forward_hooks))
                return x

        found, model = [], nn.Sequential(Looks(), nn.Linear(4, 4))
        with torchoscope.record(model, budget=0.0001) as recording:
            for _ in range(50):
                model(X)
            twin, data = copy.deepcopy(model), pickle.dumps(model[1])
            torch.jit.script(model[1])
        self.assertEqual(found.count(True), recording.facts["passes_recorded"])
        self.assertGreater(found.count(False), 0)
        self.assertNotIn("_compiled_call_impl", twin.__dict__)
        self.assertNotIn(b"torchoscope", data)

    def test_a_budget_and_a_forward_that_raises(self):
        model = net()
        with torchoscope.record(model, budget=0.5) as recording:
            for _ in range(3):
                with self.assertRaises(RuntimeError):
                    model(X[:, :3])
            model(X)
        facts = recording.facts
        self.assertEqual(facts["passes_recorded"] + facts["passes_left_out"], 4)

    def test_a_sufficient_budget_skips_nothing(self):
        class Slow(nn.Module):
            def forward(self, x):
                time.sleep(0.01)
                return x

        model = Slow()
        owed = mock.patch.object(recorder.Budget, "owe")  # the time to start varies
        with owed, torchoscope.record(model, budget=0.9) as recording:
            for _ in range(5):
                model(X)
        self.assertEqual(recording.facts["passes_left_out"], 0)
        self.assertEqual(recording.facts["budget_fell_back"], "full")
        self.assertIsNotNone(recording.calls("")[-1].outputs[0].mean)

    def test_a_file_holds_what_was_recorded(self):
        model = net()
        with torchoscope.record(model, keep="0") as recording:
            model(X)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.scope"
            recording.save(path)
            again = torchoscope.open(path)
            self.assertEqual(again.calls(), recording.calls())
            self.assertEqual(again.parameters(), recording.parameters())
            self.assertEqual(again.gaps, recording.gaps)
            self.assertEqual(again.cost, recording.cost)
            self.assertTrue(torch.equal(again.values("0")[0], recording.values("0")[0]))
            self.assertIn("x.scope", repr(again))
        with self.assertRaises(OSError):
            torchoscope.open("/nowhere/x.scope")

    def test_cost(self):
        model = net()
        with torchoscope.record(model) as recording:
            model(X)
        cost = recording.cost
        self.assertGreater(cost["own_ns"], 0)
        self.assertGreater(cost["wall_ns"], cost["own_ns"])
        self.assertEqual(cost["passes_ns"], recording.calls("")[0].time_ns)

    def test_cost_includes_starting_and_stopping(self):
        model = net()
        slow = mock.patch.object(recorder.Unseen, "tell", lambda *_: time.sleep(0.02))
        with slow, torchoscope.record(model) as recording:
            inside = recording._core.cost_ns
            self.assertGreater(inside, 0)
        self.assertGreater(recording.cost["own_ns"], inside + 20_000_000)
        self.assertGreaterEqual(recording.cost["wall_ns"], recording.cost["own_ns"])

    def test_classes_are_disassembled_once(self):
        model = Own()
        model.unused = nn.Linear(4, 4)
        for _ in range(2):
            with torchoscope.record(model):
                model(X)
        with mock.patch("dis.get_instructions", side_effect=AssertionError) as asked:
            with torchoscope.record(model) as recording:
                model(X)
        self.assertFalse(asked.called)
        self.assertIn("unused", [gap.name for gap in recording.gaps])

    def test_the_share_is_of_the_passes_only(self):
        model = net()
        with torchoscope.record(model) as recording:
            model(X).sum().backward()
            time.sleep(0.2)
        cost, root = recording.cost, recording.calls("")[0]
        self.assertLess(cost["passes_ns"], cost["wall_ns"] - 200_000_000)
        self.assertEqual(cost["passes_ns"], root.time_ns + (root.backward_ns or 0))
        spent = cost["own_ns"] + cost["hooks_ns"]
        self.assertEqual(cost["share"], spent / cost["passes_ns"])
        with torchoscope.record(model) as recording:
            pass
        self.assertIsNone(recording.cost["share"])

    @unittest.skipUnless(hasattr(torch._C, "_current_autograd_node"), "needs torch 2.1")
    def test_the_cost_includes_the_dispatch_mode_of_torch(self):
        model, costs = net(), []
        for each in (0, 10**9):
            with mock.patch.object(recorder, "_op_ns", each):
                with torchoscope.record(model, ops=True) as recording:
                    model(X).sum().backward()
            costs.append(recording.cost["hooks_ns"])
        added = costs[1] - costs[0]
        self.assertEqual(round(added / 10**9), len(recording.ops()))

    @unittest.skipUnless(hasattr(torch._C, "_current_autograd_node"), "needs torch 2.1")
    def test_the_cost_of_the_dispatch_mode_is_measured(self):
        self.assertGreater(recorder._measure_mode(torch.zeros(())), 0)

    def test_bytes_of_results_exclude_older_storages(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Identity())
        with torch.no_grad(), torchoscope.record(model, calls=1) as recording:
            model(X)
            model(X)
        size = X.shape[0] * 4 * 4
        for call in recording.calls():
            self.assertEqual(call.out_bytes, size, call.name)
            self.assertEqual(call.new_bytes, size if call.name == "0" else 0, call.name)

    def test_unknown_figures_have_a_reason(self):
        with torchoscope.record(nn.ReLU()) as recording:
            pass
        for kind in ("tree", "info"):
            text = recording._now().json(kind)
            counts = json.loads(text)["counts"]
            self.assertEqual((counts["trainable"], counts["frozen"]), (0, 0))
            self.assertNotIn("this file", text)

    @unittest.skipUnless(NEW, "this torch cannot turn off fused layers")
    def test_inside_opens_the_fused_encoder(self):
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
        x = torch.ones(2, 3, 8)
        for inside in (False, True):
            with torch.no_grad(), torchoscope.record(layer, inside=inside) as recording:
                layer(x)
            self.assertEqual(len(recording.calls("linear1")), int(inside))
        self.assertTrue(torch.backends.mha.get_fastpath_enabled())


class Together(Clean):
    """Large tensors are measured by torch's threads, if it has several."""

    def setUp(self):
        threads = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, threads)
        torch.manual_seed(0)
        self.large = torch.randn(3, 500_001)
        self.large[2, 17], self.large[1, 3] = float("nan"), -77
        self.large[0, :1000] = 0

    def look(self, threads):
        torch.set_num_threads(threads)
        return torchoscope._core._look(self.large)["stats"]

    def test_the_numbers_are_the_same(self):
        alone, together = self.look(1), self.look(2)
        for _ in range(3):  # together, alone, and whichever was faster
            self.assertEqual(self.look(2), together)
        for name in ("count", "nan", "zeros", "min", "max", "min_at", "max_at"):
            self.assertEqual(together[name], alone[name], name)
        for name in ("mean", "std", "l2"):
            self.assertAlmostEqual(together[name] / alone[name], 1, delta=1e-9)
        self.assertEqual(together["min_at"], [1, 3])

    def test_a_forked_child_does_not_use_these_threads(self):
        self.look(2)
        child = os.fork()
        if child == 0:
            os._exit(0 if self.look(2)["nan"] == 1 else 1)
        deadline = time.monotonic() + scope.PATIENCE
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                self.fail("the child waits for threads that it does not have")
            time.sleep(0.01)
        self.assertEqual(ended[1], 0)


class Unnoticed(Clean):
    def test_results_gradients_and_random_state_are_the_same(self):
        model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
        found = []
        for record in (False, True):
            torch.manual_seed(5)
            model.zero_grad()
            if record:
                with torchoscope.record(model, keep="*"):
                    y = model(X)
                    y.sum().backward()
            else:
                y = model(X)
                y.sum().backward()
            found.append((y, model[0].weight.grad.clone(), torch.get_rng_state()))
        for one, other in zip(*found):
            self.assertTrue(torch.equal(one, other))

    def test_copies_made_inside_the_block_have_no_traces(self):
        model = net()
        plain = pickle.dumps(model)
        with torchoscope.record(model) as recording:
            model(X)
            data, twin = pickle.dumps(model), copy.deepcopy(model)
            twin(X)
            script = torch.jit.script(model)
        self.assertEqual(data, plain)
        self.assertEqual(len(recording.calls("0")), 1)
        self.assertTrue(torch.equal(script(X), model(X)))

    def test_nothing_is_left_after_an_exception(self):
        model = net()
        with self.assertRaises(KeyError):
            with torchoscope.record(model, inside=True, eager=True):
                model(X)
                raise KeyError("the user's own")

    def test_nothing_is_left_when_the_start_fails(self):
        model, attach = net(), recorder.forward_stats.attach
        recorder.forward_stats.attach = None
        try:
            with self.assertRaises(TypeError):
                torchoscope.record(model).__enter__()
        finally:
            recorder.forward_stats.attach = attach

    def test_the_model_is_not_kept_alive(self):
        model = net()
        with torchoscope.record(model) as recording:
            model(X).sum().backward()
        weak = weakref.ref(model), weakref.ref(model[0])
        del model
        gc.collect()
        self.assertEqual([one() for one in weak], [None, None])
        self.assertEqual(len(recording.calls()), 4)

    def test_importing_does_not_import_torch(self):
        code = "import torchoscope, sys; assert 'torch' not in sys.modules"
        subprocess.run([sys.executable, "-c", code], check=True)

    @unittest.skipUnless(NEW, "no torch.compile")
    def test_compiled_models_stay_compiled(self):
        torch._dynamo.reset()
        counters = torch._dynamo.utils.counters
        counters.clear()
        model = Own()
        model.compile(backend="eager", fullgraph=True)
        model(X)
        with torchoscope.record(model) as at_boundary:
            model(X)
        with torchoscope.record(model, eager=True) as whole:
            model(X)
        model(X)
        self.assertEqual(counters["stats"]["unique_graphs"], 1)
        self.assertEqual([c.name for c in at_boundary.calls()], [""])
        self.assertEqual([c.name for c in whole.calls()], ["", "first", "second"])


    @unittest.skipUnless(NEW, "no torch.compile")
    def test_a_compiled_wrapper_is_recorded_at_its_boundary(self):
        model = Own()
        compiled = torch.compile(model, backend="eager", fullgraph=True)
        compiled(X)
        with torchoscope.record(compiled) as at_boundary:
            compiled(X)
        with torchoscope.record(model, eager=True) as whole:
            compiled(X)
        self.assertEqual([c.name for c in at_boundary.calls()], [""])
        self.assertIn("compiled", [gap.kind for gap in at_boundary.gaps])
        self.assertEqual([c.name for c in whole.calls()], ["", "first", "second"])


class Raised(Clean):
    def raised(self, model, x, **options):
        with self.assertRaises(Exception) as caught:
            with torchoscope.record(model, **options) as self.recording:
                model(x)
        return caught.exception, getattr(caught.exception, "__notes__", [])

    def test_two_notes_show_the_mismatch_and_where_the_shape_changed(self):
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(99, 5))
        error, notes = self.raised(model, torch.ones(2, 3, 6, 6))
        wanted = [
            "torchoscope: 2 (Linear) got [2, 64]; its weight [5, 99] expects [..., 99]",
            "torchoscope: the shape last changed in 1 (Flatten): "
            "[2, 4, 4, 4] -> [2, 64]",
        ]
        self.assertEqual(len(notes), 2)
        self.assertEqual(notes[0], wanted[0])
        self.assertTrue(notes[1].startswith(wanted[1]), notes[1])
        self.assertIn(wanted[0], "".join(traceback.format_exception(error)))

    def test_the_recording_ends_at_the_error(self):
        self.raised(net(), X[:, :3])
        calls = self.recording.calls()
        self.assertEqual([c.name for c in calls], ["", "0"])
        flags = {flag for c in calls for flag in c.flags}
        self.assertTrue(flags & {"raised", "aborted"})

    def test_notes_for_common_modules(self):
        cases = [
            (nn.Conv2d(3, 4, 3), torch.ones(1, 5, 8, 8), "expects [*, 3, *, *]"),
            (nn.BatchNorm2d(3), torch.ones(1, 5, 8, 8), "expects [*, 3, ...]"),
            (nn.LayerNorm(6), torch.ones(2, 5), "expects [..., 6]"),
            (nn.Conv2d(3, 4, 3), torch.ones(5, 8, 8), "expects [3, *, *]"),
            (nn.GroupNorm(2, 4), torch.ones(2, 6, 3), "expects [*, 4, ...]"),
            (nn.LSTM(4, 5), torch.ones(3, 2, 6), "got [3, 2, 6]; it expects [..., 4]"),
            (
                nn.Embedding(4, 2),
                torch.tensor([1, 9]),
                "got [2] with values from 1 to 9; its weight [4, 2] "
                "expects indices from 0 to 3",
            ),
        ]
        for model, x, text in cases:
            with self.subTest(type(model).__name__):
                _, notes = self.raised(model, x)
                self.assertIn(text, notes[0])
                self.assertIn("the model (", notes[0])

    def test_matching_shapes_are_not_blamed(self):
        class Own(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(3, 3))

            def forward(self, x):
                raise ValueError("of the user's own")

        double = torch.ones(2, 4, dtype=torch.float64)
        small, one = torch.ones(1, 3, 2, 2), torch.ones(1, 3)
        cases = [
            (nn.Linear(4, 2), double, "[2, 4]; its weight [2, 4] is float32, not float64"),
            (nn.Conv2d(3, 4, 3), small, "[1, 3, 2, 2]; its weight [4, 3, 3, 3]"),
            (nn.BatchNorm1d(3), one, "[1, 3]; its weight [3]"),
            (nn.Sequential(nn.Linear(4, 6), Own()), X, "[3, 6]"),
        ]
        for model, x, text in cases:
            _, notes = self.raised(model, x)
            self.assertEqual(len(notes), 1)
            self.assertEqual(notes[0].partition(" got ")[2], text)

    def test_there_are_no_notes_without_tensors(self):
        model = nn.Linear(4, 2)
        with self.assertRaises(RuntimeError) as caught:
            with torchoscope.record(model):
                model(input=torch.ones(2, 5))
        self.assertEqual(getattr(caught.exception, "__notes__", []), [])

    def test_attention_of_another_width(self):
        model, x = nn.MultiheadAttention(8, 2), torch.ones(3, 1, 6)
        with self.assertRaises(Exception) as caught:
            with torchoscope.record(model):
                model(x, x, x)
        self.assertIn("; it expects [..., 8]", caught.exception.__notes__[0])

    def test_interrupts_get_no_notes(self):
        class Stops(nn.Module):
            def forward(self, x):
                raise KeyboardInterrupt

        model = Stops()
        with self.assertRaises(KeyboardInterrupt) as caught:
            with torchoscope.record(model):
                model(X)
        self.assertFalse(hasattr(caught.exception, "__notes__"))

    @unittest.skipUnless(hooks.SEES_EXCEPTIONS, "this torch does not report exceptions")
    def test_a_caught_exception_has_notes_and_recording_continues(self):
        model = net()
        with torchoscope.record(model) as recording:
            with self.assertRaises(RuntimeError) as caught:
                model(X[:, :3])
            model(X)
        self.assertEqual(len(caught.exception.__notes__), 1)
        self.assertEqual(len(recording.calls("2")), 1)


class Guarded(Clean):
    def pass_of(self, model):
        model(torch.randn(8, 4)).sum().backward()
        random.random()

    def test_everything_is_restored(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout())
        model[2].eval()
        model(X).sum().backward()
        grad = model[0].weight.grad
        for fails in (False, True):
            before = {k: v.clone() for k, v in model.state_dict().items()}
            chance = torch.get_rng_state(), random.getstate()
            values, buffer = grad.clone(), model[1].running_mean
            version = model[0].weight._version
            try:
                with torchoscope.state_guard(model):
                    model.train()
                    self.pass_of(model)
                    model[1].register_buffer("extra", torch.ones(1))
                    model[1].running_mean = torch.zeros(4)
                    if fails:
                        raise KeyError
            except KeyError:
                pass
            after = model.state_dict()
            self.assertEqual(list(after), list(before))
            self.assertTrue(all(torch.equal(after[k], before[k]) for k in before))
            self.assertIs(model[1].running_mean, buffer)
            self.assertIs(model[0].weight.grad, grad)
            self.assertTrue(torch.equal(grad, values))
            self.assertTrue(torch.equal(torch.get_rng_state(), chance[0]))
            self.assertEqual(random.getstate(), chance[1])
            self.assertEqual([m.training for m in model], [True, True, False])
            self.assertEqual(model[0].weight._version, version)


if __name__ == "__main__":
    unittest.main()
