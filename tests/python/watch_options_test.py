"""Options of watch(): several models, time, resuming, memory; attach(); reading while a
training runs."""

import math
import os
import subprocess
import sys
import unittest
import warnings

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import torchoscope
from identity_test import all_of_it, seed
from torchoscope.history import histogram_grid
from watch_test import Watched, small, train

torch.set_num_threads(1)


# --- attach


class Attaching(nn.Module):
    def __init__(self, attaches=True):
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 2)
        self.attaches, self.seen = attaches, []

    def forward(self, x):
        hidden = self.first(x)
        score = hidden.square()
        if self.attaches:
            same = torchoscope.attach(score, self, "score")
            assert same is score
            self.seen.append(score)
        return self.last(torch.relu(score))


class Attach(Watched):
    def test_its_value_and_gradient_are_series(self):
        seed()
        model = Attaching()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with self.watch(model) as handle:
            grads = []
            for _ in range(3):
                optimizer.zero_grad()
                made = model(torch.randn(3, 4))
                model.seen[-1].retain_grad()
                made.square().mean().backward()
                optimizer.step()
                grads.append(model.seen[-1].grad.double())
        history = torchoscope.open(handle.path)
        for kind, tensors in (("output", model.seen), ("grad_output", grads)):
            series = history.series("", kind, path="score")
            self.assertEqual(series.steps, [0, 1, 2])
            for at, tensor in enumerate(tensors):
                self.assertEqual(series["count"][at], tensor.numel())
                self.assertEqual(series["max"][at], tensor.max().item())
                wanted = tensor.detach().double().norm().item()
                self.assertTrue(math.isclose(series["l2"][at], wanted, rel_tol=1e-6))
                self.assertEqual(sum(series.histograms[at]["counts"]), tensor.numel())
        self.assertEqual(history.series("", "output")["count"], [6] * 3)

    def test_training_keeps_its_bits(self):
        found = []
        for attaches in (False, True):
            seed()
            model = Attaching(attaches)
            if attaches:
                self.watch(model, log_freq=2)
            losses = train(model, 6)
            found.append((losses, all_of_it(model, 0)))
        self.assertEqual(found[0], found[1])

    def test_hooks_only_on_logged_steps(self):
        model = Attaching()
        with self.watch(model, log_freq=2):
            for _ in range(4):
                model.zero_grad()
                model(torch.randn(3, 4)).sum().backward()
                for param in model.parameters():
                    param.grad = None
                torch.optim.SGD(model.parameters(), lr=0.1).step()
        hooked = [bool(one._backward_hooks) for one in model.seen]
        self.assertEqual(hooked, [True, False, True, False])

    def test_calls_evaluation_and_inner_modules(self):
        model = nn.Sequential(Attaching(), nn.ReLU())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with self.watch(model) as handle:
            for _ in range(2):
                for _ in range(2):
                    model(torch.randn(3, 4)).sum().backward()
                optimizer.step()
                with torch.no_grad():
                    model(torch.randn(5, 4))
        history = torchoscope.open(handle.path)
        for call in (0, 1):
            series = history.series("0", "grad_output", call=call, path="score")
            self.assertEqual(series["count"], [24, 24])
        series = history.series("0", "output", path="score", phase="eval")
        self.assertEqual(series["count"], [40, 40])

    def test_what_is_not_watched(self):
        x = torch.randn(3)
        other = Attaching()
        self.assertIs(torchoscope.attach(x, other, "x"), x)
        model = small()
        with self.watch(model) as handle:
            self.assertIs(torchoscope.attach(x, model, "x"), x)  # no step began
            model(torch.randn(3, 4))
            self.assertIs(torchoscope.attach(x, other, "x"), x)
            train(model, 1)
        paths = {row["path"] for row in torchoscope.open(handle.path).all_series()}
        self.assertNotIn("x", paths)

    def test_compiled_code(self):
        if not hasattr(torch, "compile"):
            self.skipTest("this torch does not compile")
        model, plain = Attaching(), Attaching(False)
        plain.load_state_dict(model.state_dict())
        model.seen = None

        def forward(x):  # the list of the test is not for a compiler
            score = torchoscope.attach(model.first(x).square(), model, "score")
            return model.last(torch.relu(score))

        with self.watch(model):
            compiled = torch.compile(forward, backend="eager", fullgraph=True)
            x = torch.randn(3, 4)
            self.assertTrue(torch.equal(compiled(x), plain(x)))

    def test_checkpoints_and_many_calls(self):
        class Saved(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Attaching()

            def forward(self, x):
                made = checkpoint(self.inner, x, use_reentrant=False)
                for _ in range(70):
                    torchoscope.attach(made, self, "made")
                return made

        model = Saved()
        with self.watch(model) as handle:
            train(model, 2)
        rows = torchoscope.open(handle.path).all_series()
        calls = [row["call"] for row in rows if row["path"] == "made"]
        self.assertEqual(max(calls), 63)
        inner = [row["call"] for row in rows if row["path"] == "score"]
        self.assertEqual(inner, [0] * len(inner))  # the recomputation does not count


# --- several models


class Several(Watched):
    def gan(self, **models):
        maker, judge = models.values()
        optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in (maker, judge)]
        for _ in range(4):
            for optimizer in optimizers:
                optimizer.zero_grad()
                judge(maker(torch.randn(3, 4))).square().mean().backward()
                optimizer.step()

    def test_a_list_and_a_dict(self):
        for given in (lambda a, b: [a, b], lambda a, b: {"maker": a, "judge": b}):
            seed()
            maker, judge = nn.Linear(4, 4), nn.Linear(4, 1)
            with self.watch(given(maker, judge)) as handle:
                self.gan(a=maker, b=judge)
            names = {row["name"] for row in torchoscope.open(handle.path).all_series()}
            a, b = "Linear", "Linear_2"
            if isinstance(given(0, 0), dict):
                a, b = "maker", "judge"
            self.assertTrue({a, b, f"{a}.weight", f"{b}.bias"} <= names, names)
            self.assertIn(f"{a}_{b}", os.path.basename(handle.path))

    def test_an_object_that_holds_models(self):
        class Pipeline:
            def __init__(self):
                self.net, self.name = small(), "pipeline"

        pipeline = Pipeline()
        with self.watch(pipeline) as handle:
            train(pipeline.net, 2)
        series = torchoscope.open(handle.path).series("net.0", "output")
        self.assertEqual(series.steps, [0, 1])

    def test_each_of_them_ends_it(self):
        one, two = small(), small()
        first = self.watch([one, two])
        second = self.watch(two)
        self.assertTrue(first._closed)
        torchoscope.unwatch([one, two])
        self.assertTrue(second._closed)
        with self.assertRaisesRegex(TypeError, "a is not a torch.nn.Module"):
            torchoscope.watch({"a": 3})
        with self.assertRaisesRegex(ValueError, "dot"):
            torchoscope.watch({"a.b": one})
        with self.assertRaisesRegex(TypeError, "contains no"):
            torchoscope.watch([])


# --- what is recorded


class Recorded(Watched):
    def test_time(self):
        model = small()
        model.epoch = 0
        with self.watch(model, time_log=("epoch", lambda model, step: step / 2)) as handle:
            train(model, 4)
        scalars = torchoscope.open(handle.path).scalars()
        self.assertEqual(scalars["epoch"]["value"], [0, 0.5, 1, 1.5])
        broken = small()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            time_log = "epoch", lambda model, step: 1 / 0
            with self.watch(broken, time_log=time_log) as handle:
                losses = train(broken, 3)
        self.assertEqual(len(told), 1)
        self.assertEqual(losses, train(small(), 3))
        self.assertEqual(len(torchoscope.open(handle.path).steps), 3)

    def test_all_elements(self):
        for sample_n, counted in ((None, 40000), (16384, 16384)):
            seed()
            model = nn.Linear(200, 200)
            with self.watch(model, sample_n=sample_n) as handle:
                model(torch.randn(2, 200)).sum().backward()
                torch.optim.SGD(model.parameters(), lr=0.1).step()
            series = torchoscope.open(handle.path).series("weight", "param")
            histogram = series.histograms[0]
            self.assertEqual((histogram["counted"], histogram["of"]), (counted, 40000))
            self.assertEqual(sum(histogram["counts"]), counted)

    def test_gradients_that_are_ignored(self):
        inner = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        model = nn.ModuleDict({"a": inner, "b": nn.Linear(4, 4)})
        model.forward = lambda x: model["b"](model["a"](x))
        with self.watch(model, ignore_io_grad_classes=[nn.Sequential]) as handle:
            train(model, 2)
        kinds = {}
        for row in torchoscope.open(handle.path).all_series():
            kinds.setdefault(row["name"], set()).add(row["kind"])
        self.assertEqual(kinds["a"], {"input", "output"})
        self.assertEqual(kinds["a.0"], {"input", "output"})
        self.assertIn("grad_output", kinds["b"])
        self.assertIn("grad_param", kinds["a.0.weight"])

    def test_options_of_torchexplorer_that_change_nothing(self):
        model = small()
        options = {"disable_inplace": True, "delay_log_multi_backward": True}
        with self.watch(model, **options) as handle:
            losses = train(model, 3)
        self.assertTrue(model[1].inplace)
        self.assertEqual(losses, train(small(), 3))
        self.assertEqual(torchoscope.open(handle.path).steps, [0, 1, 2])

    def test_wrong_ones(self):
        """One sentence names the argument and what it got."""
        for name, *values in (
            ("sample_n", 100, "x"),
            ("bins", 0, "x"),
            ("reject_outlier_proportion", 1, "x"),
            ("backend", "disk", 3, None, [3]),
            ("log", "all of it", 3, [["io"]]),
            ("log_freq", 0, 1.5, True),
            ("budget", 0, 1, "x", None),
            ("limit", 0, "1KB", 1 << 70),
            ("ignore_io_grad_classes", nn.Linear, ["Linear"]),
            ("time_log", ("epoch", 3), ("epoch",), "epoch", 3),
            ("dir", 3, None, b"runs"),
            ("resume", 3),
            ("group", -1, "x", True),
            ("on_alarm", "stop", 3),
            ("port", -1, 65536),
        ):
            backend = {"backend": "standalone"} if name == "port" else {}
            for value in values:
                with self.subTest(**{name: value}):
                    with self.assertRaisesRegex((ValueError, TypeError), f"^{name}") as got:
                        torchoscope.watch(small(), **backend, **{name: value})
                    if (name, value) != ("group", True):  # it needs another argument
                        self.assertIn(repr(value).strip("[]"), str(got.exception))
        with self.assertRaisesRegex(ValueError, "resume needs a file"):
            torchoscope.watch(small(), backend="none", resume=True)
        for model in (None, [], {}, [3], {"a": 3}, nn.Linear, torch.ones(2)):
            with self.assertRaisesRegex(TypeError, "torch.nn.Module"):
                torchoscope.watch(model)
        self.assertEqual(torchoscope.watching.watches(), [])

    def test_what_log_takes(self):
        model = small()
        with self.watch(model) as handle, warnings.catch_warnings():
            warnings.simplefilter("error")
            loss = model(torch.randn(3, 4)).square().mean()
            handle.log(with_graph=loss, integer=3, tensor=torch.ones(1, 1))
            for wrong in ("x", None, torch.ones(2), 1j, 10**400):
                with self.assertRaisesRegex(TypeError, "loss must be a single number"):
                    handle.log(loss=wrong)
            loss.backward()
        found = torchoscope.open(handle.path).scalars()
        self.assertEqual(found["with_graph"]["value"], [loss.item()])
        self.assertEqual(found["tensor"]["value"], [1])

    def test_a_long_name(self):
        model = small()
        with self.watch(model, name="x" * 300) as handle:
            train(model, 1)
        self.assertEqual(torchoscope.open(handle.path).steps, [0])

    def test_forward_that_is_called_directly_is_a_gap(self):
        class Direct(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 2)

            def forward(self, x):
                return self.b(self.a.forward(x))

        model = Direct()
        with self.watch(model) as handle:
            train(model, 1)
        gaps = {gap.name: gap.text for gap in torchoscope.open(handle.path).gaps}
        self.assertIn("forward()", gaps["a"])
        self.assertNotIn("b", gaps)


class Grids(Watched):
    def test_equal_bins(self):
        one = {"edges": [0, 1, 2, 3, 4], "counts": [1, 2, 0, 1]}
        two = {"edges": [8, 10], "counts": [4]}
        grid = histogram_grid([one, None, two], 5, 0)
        self.assertEqual(grid["edges"], [0, 2, 4, 6, 8, 10])
        self.assertEqual(grid["counts"], [[3, 1, 0, 0, 0], [0] * 5, [0, 0, 0, 0, 4]])
        grid = histogram_grid([one, two], 4, 0.5)
        self.assertEqual((grid["edges"][0], grid["edges"][-1]), (0, 4))
        self.assertEqual((grid["below"], grid["above"]), ([0, 0], [0, 4]))
        self.assertEqual(histogram_grid([None], 2, 0)["counts"], [[0, 0]])
        with self.assertRaises(ValueError):
            histogram_grid([one], 0, 0)

    def test_what_watch_was_told(self):
        model = small()
        with self.watch(model, bins=7, reject_outlier_proportion=0.1) as handle:
            train(model, 3)
        series = torchoscope.open(handle.path).series("0", "output")
        grid = series.grid()
        self.assertEqual([len(column) for column in grid["counts"]], [7] * 3)
        outside = sum(grid["below"]) + sum(grid["above"])
        self.assertEqual(outside + sum(map(sum, grid["counts"])), 3 * 24)
        self.assertLessEqual(outside, 7)
        self.assertEqual(len(series.grid(bins=3)["edges"]), 4)


# --- where it goes


class Resumed(Watched):
    def test_steps_continue(self):
        seed()
        model = small()
        with self.watch(model) as first:
            train(model, 3)
        with self.watch(model, resume=True) as second:
            train(model, 2)
            second.log(accuracy=0.5)
            self.assertEqual(second.history().steps[:4], [0, 1, 2, 3])
        self.assertEqual(first.path, second.path)
        history = torchoscope.open(second.path)
        self.assertEqual(history.steps, [0, 1, 2, 3, 4])
        self.assertEqual(len(history.series("0.weight", "param")), 5)
        self.assertEqual(history.scalars()["accuracy"].steps, [4])
        with self.watch(model, resume=second.path) as third:
            train(model, 1)
        self.assertEqual(torchoscope.open(third.path).steps, [0, 1, 2, 3, 4, 5])
        self.assertEqual(len(os.listdir(self.folder)), 1)

    def test_the_newest_of_this_name(self):
        model = small()
        with self.watch(model, resume=True, name="my net") as handle:  # there is none
            train(model, 1)
        for name in (
            "2001-01-01_00-00-00_my_net.scope",
            "2990-01-01_00-00-00_my_net_of_another.scope",
            "my_net.scope",
        ):
            self.write(name, "not a run")
        with self.watch(model, resume=True, name="my net") as again:
            train(model, 1)
        self.assertEqual(again.path, handle.path)
        path = str(self.folder / "chosen.scope")
        with self.watch(model, resume=path) as handle:  # new
            train(model, 1)
        self.assertEqual(torchoscope.open(path).steps, [0])

    def test_files_that_do_not_fit(self):
        model = small()
        with self.watch(model) as handle:
            train(model, 1)
        with self.assertRaisesRegex(ValueError, "other modules or parameters, for example"):
            self.watch(nn.Linear(4, 2), resume=handle.path)
        with torchoscope.record(model) as recording:
            model(torch.randn(3, 4))
        path = str(self.folder / "plain.scope")
        recording.save(path)
        with self.assertRaisesRegex(ValueError, "not a training"):
            self.watch(model, resume=path)
        self.write("text.scope", "text")
        with self.assertRaises(torchoscope.Error):
            self.watch(model, resume=self.folder / "text.scope")
        self.assertEqual(train(small(), 3), train(small(), 3))

    def test_another_process_sees_the_gap(self):
        model = small()
        for _ in range(2):
            with self.watch(model, resume=True) as handle:
                train(model, 2)
        code = (
            "import sqlite3, sys\n"
            "rows = sqlite3.connect(sys.argv[1]).execute(\n"
            "    'SELECT first, gap_steps FROM history_segment ORDER BY id')\n"
            "print(list(rows))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, handle.path], capture_output=True, text=True
        )
        self.assertEqual((done.stdout.strip(), done.stderr), ("[(0, 0), (2, 0)]", ""))


class Folder(Watched):
    def test_it_is_the_one_at_the_time_of_the_call(self):
        """A script may change its folder before the first step makes the file."""
        self.addCleanup(os.chdir, os.getcwd())
        (self.folder / "other").mkdir()
        os.chdir(self.folder)
        model = small()
        with torchoscope.watch(model, dir="runs", log_freq=1) as handle:
            os.chdir("other")
            train(model, 3)
        self.assertEqual(os.listdir(), [])
        found = [str(one) for one in (self.folder / "runs").glob("*.scope")]
        self.assertEqual(found, [handle.path])
        self.assertEqual(torchoscope.open(handle.path).steps, [0, 1, 2])


class Memory(Watched):
    def test_nothing_is_written(self):
        here = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, here)
        seed()
        model = small()
        with torchoscope.watch(model, log_freq=1, backend="none") as handle:
            self.assertIsNone(handle.path)
            self.assertIn("in memory", repr(handle))
            with self.assertRaisesRegex(RuntimeError, "nothing was logged"):
                handle.history()
            losses = train(model, 4)
            self.assertEqual(handle.history().steps, [0, 1, 2])
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEqual(losses, train(small(), 4))
        history = handle.history()
        self.assertEqual(history.steps, [0, 1, 2, 3])
        self.assertEqual(handle.scalars()["loss"]["value"], losses)
        self.assertEqual(len(handle.series("0", "output").histograms), 4)
        self.assertEqual(handle.alarms(), [])
        self.assertEqual(len(history.calls("0")), 1)

    def test_a_child_leaves_it_alone(self):
        model = small()
        handle = self.watch(model, backend="none")
        train(model, 2)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                train(model, 2)
                handle.close()
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        train(model, 1)
        handle.close()
        self.assertEqual(handle.history().steps, [0, 1, 2])


class WhileItRuns(Watched):
    def test_the_process_that_writes_reads_too(self):
        model = small()
        handle = self.watch(model)
        losses = []
        for step in range(6):
            losses += train(model, 1)
            if step:
                self.assertEqual(handle.history().steps, list(range(step)))
                self.assertEqual(handle.scalars()["loss"]["value"], losses[:-1])
        reader = handle.history()
        train(model, 2)
        handle._writer.flush()
        self.assertEqual(reader.steps, list(range(7)))  # the same object sees more
        handle.close()
        self.assertEqual(reader.steps, list(range(8)))
        self.assertEqual(handle.history().steps, list(range(8)))
        self.assertEqual(os.listdir(self.folder), [os.path.basename(handle.path)])


if __name__ == "__main__":
    unittest.main()
