# flavours: both
"""record(): the newest call, recomputations, and the place of each call; all views
agree on the counts."""

import json
import tempfile
import unittest
from pathlib import Path

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import torchoscope

X = torch.linspace(-1, 1, 12).reshape(3, 4)


class Halves(nn.Module):
    """Calls itself on both halves of its rows."""

    def __init__(self):
        super().__init__()
        self.leaf = nn.Linear(4, 4)

    def forward(self, x):
        if len(x) == 1:
            return self.leaf(x)
        half = len(x) // 2
        return torch.cat([self(x[:half]), self(x[half:])])


def told_by(recording):
    """The recording, and the document of its file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.scope")
        recording.save(path)
        return recording, torchoscope.open(path)


def tree_of(recording):
    return json.loads(recording._now().json("tree"))


class Counted(unittest.TestCase):
    def check_counts(self, recording):
        """modules(), the tree and calls(name) give the same count."""
        for one in told_by(recording):
            rows = one.rows(columns="calls", expand=True)
            tree = {row["name"]: int(row["calls"] or 0) for row in rows}
            told = {row["name"]: row["calls"] for row in one.modules()}
            self.assertEqual({k: tree[k] for k in told}, told)
        return told


class Recursion(Counted):
    def test_the_newest_call_is_the_outermost(self):
        for passes in (1, 20):  # 15 calls each: beyond 64 they are merged
            model = Halves()
            with torchoscope.record(model) as recording:
                for _ in range(passes):
                    model(torch.ones(8, 4))
            for one in told_by(recording):
                self.assertEqual(one.calls("")[-1].inputs[0].shape, [8, 4])
                self.assertEqual(one.forward_stats("")[-1].in_shape, (8, 4))
                (root, *_) = one.rows(columns="in,out,calls,time")
                self.assertEqual((root["in"], root["out"]), ("8×4*", "8×4*"))
            self.assertEqual(model.forward_stats[-1].in_shape, (8, 4))
            self.assertEqual(self.check_counts(recording)[""], 15 * passes)

    def test_calls_are_listed_in_the_order_in_which_they_ended(self):
        model = Halves()
        with torchoscope.record(model):
            model(torch.ones(4, 4))
        rows = [one.in_shape[0] for one in model.forward_stats]
        self.assertEqual(rows, [1, 1, 2, 1, 1, 2, 4])

    def test_a_summary_covers_the_whole_pass(self):
        text = str(torchoscope.summary(Halves(), torch.ones(8, 4), width=0))
        self.assertIn("128B of inputs", text)

    def test_the_time_is_that_of_the_outermost_call(self):
        model = Halves()
        with torchoscope.record(model) as recording:
            for _ in range(20):
                model(torch.ones(8, 4))
        document = tree_of(recording)
        run, root = document["run"], document["modules"][0]
        self.assertEqual(root["time_ns"], run["time_ns"])
        self.assertEqual(run["time_ns"], run["passes_ns"])


class Current(unittest.TestCase):
    def test_statistics_beyond_the_limit_of_kept_calls(self):
        model = nn.Linear(4, 2)
        with torchoscope.record(model):
            for n in range(1, 71):
                model(torch.ones(n, 4))
                self.assertEqual(model.forward_stats[-1].in_shape[0], n)
            same = model.forward_stats
            self.assertIs(model.forward_stats, same)

    def test_statistics_read_during_a_pass(self):
        seen = []

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(4, 2)

            def forward(self, x):
                y = self.inner(x)
                seen.append((dict(self.inner.forward_stats[-1]), len(net.forward_stats)))
                return y

        net = Net()
        with torchoscope.record(net):
            net(X)
        self.assertEqual(seen[0][0]["out_shape"], (3, 2))
        self.assertEqual(net.forward_stats[-1].out_shape, (3, 2))
        self.assertEqual(len(net.forward_stats), 1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x):
        return self.down(self.up(x).relu())


class Checkpointed(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.reentrant = reentrant
        self.blocks = nn.ModuleList(Block() for _ in range(2))

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=self.reentrant)
        return x


class Recomputed(Counted):
    def record(self, reentrant, passes):
        model = Checkpointed(reentrant)
        with torchoscope.record(model) as recording:
            for _ in range(passes):
                model(X.clone().requires_grad_()).sum().backward()
        return recording

    def test_a_recomputation_does_not_count_as_a_call(self):
        for reentrant in (True, False):
            for passes in (2, 70):
                recording = self.record(reentrant, passes)
                counts = self.check_counts(recording)
                del counts["blocks"]
                self.assertEqual(set(counts.values()), {passes})
                again = [c for c in recording.calls() if "recomputed" in c.flags]
                self.assertTrue({c.name for c in again} >= {"blocks.0", "blocks.1.up"})

    def test_the_newest_call_has_results(self):
        for reentrant in (True, False):
            recording = self.record(reentrant, 2)
            for name in ("blocks.0", "blocks.0.up", "blocks.1.down"):
                (value,) = recording.calls(name)[-1].outputs
                self.assertEqual(value.shape[0], 3)
                self.assertEqual(recording.calls(name)[-1].number, 1)
            rows = recording.rows(columns="out", expand=True)
            out = {row["name"]: row["out"] for row in rows}
            self.assertEqual((out["blocks.0"], out["blocks.0.up"]), ("3×4", "3×8"))

    def test_gradients_belong_to_the_recomputed_call(self):
        for reentrant in (True, False):
            recording = self.record(reentrant, 2)
            for call in recording.calls("blocks.0.up"):
                self.assertEqual([g.shape for g in call.grad_outputs], [[3, 8]])

    def test_the_time_of_recomputation_is_not_forward_time(self):
        for reentrant in (True, False):
            recording = self.record(reentrant, 3)
            calls = recording.calls()
            for call in calls:
                if call.parent is not None:
                    self.assertLessEqual(call.time_ns, calls[call.parent].time_ns)
            forward = {}
            for call in calls:
                if "recomputed" not in call.flags:
                    forward[call.name] = forward.get(call.name, 0) + call.time_ns
            modules = tree_of(recording)["modules"]
            told = {one["name"]: one.get("time_ns", 0) for one in modules}
            self.assertEqual(forward, {k: v for k, v in told.items() if v})


class Places(Counted):
    def test_one_module_at_several_places_of_a_sequential(self):
        act = nn.ReLU()
        parts = nn.Linear(4, 4), act, nn.Linear(4, 4), act, nn.Sequential(act)
        model = nn.Sequential(*parts)
        with torchoscope.record(model) as recording:
            for _ in range(2):
                model(X)
        counts = self.check_counts(recording)
        for name in ("1", "3", "4.0"):
            self.assertEqual(counts[name], 2)
            self.assertEqual({c.name for c in recording.calls(name)}, {name})
        self.assertEqual(len(act.forward_stats), 6)

    def test_more_calls_than_names(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = self.second = nn.ReLU()

            def forward(self, x):
                return self.first(self.second(self.first(x)))

        model = Net()
        with torchoscope.record(model) as recording:
            model(X)
        counts = self.check_counts(recording)
        self.assertEqual(counts, {"": 1, "first": 2, "second": 1})

    def test_looking_up_another_name_of_a_shared_module(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(4, 4)
                self.layers = nn.ModuleList([self.first])

            def forward(self, x):
                return self.layers[0](x)

        model = Net()
        with torchoscope.record(model) as recording:
            model(X)
        for name in ("first", "layers.0"):
            self.assertEqual(len(recording.calls(name)), 1)
            self.assertEqual(len(recording.forward_stats(name)), 1)
        self.check_counts(recording)


class Names(unittest.TestCase):
    def test_an_unknown_name_suggests_the_nearest(self):
        model = Checkpointed(False)
        with torchoscope.record(model) as recording:
            model(X)
        for one in told_by(recording):
            for ask in (one.calls, one.forward_stats, one.values):
                with self.assertRaisesRegex(KeyError, "near it: blocks.0.down"):
                    ask("blocks.0.dwon")
        with self.assertRaisesRegex(KeyError, "is not a module"):
            recording.calls("blocks.0.up.weight")

    def test_a_gap_names_its_module(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        with torchoscope.record(model) as recording:
            model[0](X)
        text = repr([gap for gap in recording.gaps if gap.name == "1"])
        self.assertEqual(text, "[<not called 1: never called>]")

    def test_containers_are_not_gaps(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.list = nn.ModuleList([nn.Linear(4, 4)])
                self.dict = nn.ModuleDict({"a": nn.Linear(4, 4)})
                self.parameters_ = nn.ParameterList([nn.Parameter(torch.ones(4))])

            def forward(self, x):
                return self.dict["a"](self.list[0](x)) + self.parameters_[0]

        model = Net()
        with torchoscope.record(model) as recording:
            model(X)
        for one in told_by(recording):
            self.assertEqual([g for g in one.gaps if g.kind != "keywords"], [])


class Lazy(unittest.TestCase):
    def test_materialised_parameters_are_shown(self):
        model = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d(), nn.LazyLinear(1))
        with torchoscope.record(model) as recording:
            model(X).sum().backward()
            inside = recording.modules()[1]["class"]
        self.assertTrue(inside.endswith(".Linear"))
        params = sum(one.numel() for one in model.parameters())
        for one in told_by(recording):
            self.assertIn("Linear(4→3)", str(one))
            self.assertEqual(one.json["counts"]["unique"], params)
            rows = [r for r in one.parameters() if r["name"] == "0.weight"]
            self.assertEqual([r["shape"] for r in rows], [[3, 4], [3, 4]])


if __name__ == "__main__":
    unittest.main()
