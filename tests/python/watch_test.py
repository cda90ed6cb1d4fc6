# flavours: both
"""watch(): a training is followed into a .scope file."""

import contextlib
import copy
import glob
import io
import math
import os
import pickle
import shutil
import subprocess
import sys
import unittest
import unittest.mock
import warnings

import torch
from folder import TemporaryFolder
from torch.utils.checkpoint import checkpoint

import torchoscope
from identity_test import left_behind, seed
from torchoscope import watch_steps

torch.set_num_threads(1)


def small():
    seed()
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.ReLU(inplace=True), torch.nn.Linear(8, 2)
    )


def train(model, steps=5, handle=None):
    """Plain training; returns its losses."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(torch.randn(3, 4)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class Watched(TemporaryFolder):
    def watch(self, model, **options):
        handle = torchoscope.watch(model, dir=str(self.folder), **{"log_freq": 1, **options})
        self.addCleanup(handle.close)
        return handle


# --- values


class Values(Watched):
    def same(self, series, at, tensor):
        x = tensor.detach().double()
        self.assertEqual(series["count"][at], x.numel())
        self.assertEqual(series["min"][at], x.min().item())
        self.assertEqual(series["max"][at], x.max().item())
        self.assertTrue(math.isclose(series["l2"][at], x.norm().item(), rel_tol=1e-6))
        histogram = series.histograms[at]
        self.assertEqual(sum(histogram["counts"]), x.numel())
        low, high = histogram["edges"][0], histogram["edges"][-1]
        self.assertTrue(low <= x.min() and x.max() <= high)

    def test_the_norms_of_samples_of_gradients(self):
        model, expected = torch.nn.Sequential(torch.nn.Linear(4, 2)), []
        model[0].register_full_backward_hook(
            lambda module, gave, got: expected.append(
                got[0].double().flatten(1).norm(dim=1)
            )
        )
        handle = self.watch(model, log=["io_grad_norms"])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(4):
            optimizer.zero_grad()
            x = torch.randn(3, 4, requires_grad=True)
            if step == 3:
                x.data[1] = math.inf
            model(x).square().mean().backward()
            optimizer.step()
        handle.close()
        run = torchoscope.open(handle.path)
        series = run.series("0", "grad_output_norm")
        self.assertEqual(len(expected), 4)
        for at, norms in enumerate(expected[:3]):
            self.assertEqual(series["count"][at], 3)
            for column, value in ("min", norms.min()), ("mean", norms.mean()):
                self.assertAlmostEqual(series[column][at], value.item(), 9)
        self.assertEqual(series["nan"][3], int((~expected[3].isfinite()).sum()))
        self.assertEqual(series.histograms[0]["counted"], 3)
        kinds = {one["kind"] for one in run.all_series()}
        self.assertEqual(kinds, {"grad_input_norm", "grad_output_norm"})

    def test_parameters_and_clipped_gradients_are_those_of_the_optimizer_step(self):
        model = small()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        handle, by_hand = self.watch(model), []
        for _ in range(4):
            optimizer.zero_grad()
            loss = model(torch.randn(3, 4)).square().mean()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
            before = {n: p.detach().clone() for n, p in model.named_parameters()}
            grads = {n: p.grad.clone() for n, p in model.named_parameters()}
            optimizer.step()
            after = {n: p.detach().clone() for n, p in model.named_parameters()}
            by_hand.append((before, grads, after, loss.item()))
        handle.close()
        history = torchoscope.open(handle.path)
        scalars = history.scalars()
        for at, (before, grads, after, loss) in enumerate(by_hand):
            for name in before:
                self.same(history.series(name, "param"), at, before[name])
                self.same(history.series(name, "grad_param"), at, grads[name])
                update = history.series(name, "update")
                change = after[name].double() - before[name].double()
                self.same(update, at, change)
                ratio = (change.norm() / before[name].double().norm()).item()
                self.assertTrue(math.isclose(update["ratio"][at], ratio, rel_tol=1e-9))
            norm = torch.stack([one.double().norm() for one in grads.values()]).norm()
            found = scalars["grad_norm"]["value"][at]
            self.assertTrue(math.isclose(found, norm.item(), rel_tol=1e-6))
            self.assertEqual(scalars["loss"]["value"][at], loss)
            self.assertEqual(scalars["lr/0"]["value"][at], 0.01)

    def test_a_large_parameter_is_sampled(self):
        seed()
        model = torch.nn.Linear(200, 200)
        handle = self.watch(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.randn(2, 200)).sum().backward()
        optimizer.step()
        handle.close()
        history = torchoscope.open(handle.path)
        update = history.series("weight", "update")
        self.assertEqual(update["count"], [16384])
        self.assertEqual(update["sampled"], [True])
        self.assertEqual(update.histograms[0]["of"], 40000)
        self.assertEqual(history.series("weight", "param")["count"], [40000])

    def test_results_of_each_call_of_a_step(self):
        model = small()
        handle, results = self.watch(model), []
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            for _ in range(2):  # accumulation
                result = model(torch.randn(3, 4))
                result.square().mean().backward()
                results.append(result.detach().clone())
            optimizer.step()
            optimizer.zero_grad()
        handle.close()
        history = torchoscope.open(handle.path)
        self.assertEqual(history.steps, [0, 1, 2])
        for i, result in enumerate(results):
            series = history.series("", "output", call=i % 2)
            self.same(series, i // 2, result)
        self.assertEqual(len(history.series("2", "grad_input", call=1)), 3)
        with self.assertRaisesRegex(KeyError, "nothing of absent"):
            history.series("absent", "output")
        with self.assertRaisesRegex(ValueError, "kind must be"):
            history.series("", "outputs")

    def test_checkpointed_calls_count_once_and_closures_belong_to_a_step(self):
        class Saved(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner, self.last = small(), torch.nn.Linear(2, 2)

            def forward(self, x):
                return self.last(checkpoint(self.inner, x, use_reentrant=False))

        model = Saved()
        handle = self.watch(model)
        optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)

        def closure():
            optimizer.zero_grad()
            loss = model(torch.ones(3, 4)).square().mean()
            loss.backward()
            return loss

        for _ in range(2):
            optimizer.step(closure)
        handle.close()
        history = torchoscope.open(handle.path)
        self.assertEqual(history.steps, [0, 1])
        calls = {row["call"] for row in history.all_series() if row["name"] == "inner"}
        rows = {row["call"] for row in history.all_series() if row["name"] == "last"}
        self.assertEqual(calls, rows)
        self.assertGreater(len(calls), 1)


# --- steps


class Which(Watched):
    def test_log_freq_and_what_other_steps_cost(self):
        model = small()
        handle = self.watch(model, log_freq=3)
        core, counts = handle._recorder._core, []
        for _ in range(7):
            train(model, 1)
            counts.append(core.hook_calls)
        handle.close()
        changed = [a != b for a, b in zip([0, *counts], counts)]
        self.assertEqual(changed, [True, False, False, True, False, False, True])
        self.assertEqual(torchoscope.open(handle.path).steps, [0, 3, 6])
        self.assertEqual(handle.steps, 7)

    def test_scalars_of_steps_that_are_not_logged(self):
        model = small()
        with self.watch(model, log_freq=10) as handle:
            for i in range(5):
                train(model, 1)
                handle.log(accuracy=i / 10)
        history = torchoscope.open(handle.path)
        accuracy = history.scalars()["accuracy"]
        self.assertEqual(accuracy.steps, [0, 1, 2, 3, 4])
        self.assertEqual(accuracy["value"], [0, 0.1, 0.2, 0.3, 0.4])
        self.assertEqual(len(history.series("0.weight", "param")), 1)

    def test_numbers_of_steps_given_by_the_user(self):
        model = small()
        with self.watch(model) as handle:
            for step in (1000, 1001):
                train(model, 1)
                handle.log(step=step, seen=step * 8)
            train(model, 1)
        history = torchoscope.open(handle.path)
        self.assertEqual(history.steps, [1000, 1001, 1002])
        self.assertEqual(history.scalars()["seen"]["value"], [8000, 8008])
        with self.assertRaises(ValueError):
            handle.log(step=-1)

    def test_without_a_budget_for_it_the_first_step_is_logged(self):
        model = small()
        with unittest.mock.patch.object(watch_steps, "NOTIFY_NS", 1 << 60):
            with torchoscope.watch(model, dir=self.folder, budget=1e-9) as handle:
                train(model, 6)
        self.assertEqual(torchoscope.open(handle.path).steps, [0])

    def test_the_loss_of_steps_that_are_not_logged(self):
        model, losses = small(), []
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with unittest.mock.patch.object(watch_steps, "NOTIFY_NS", 0):
            with torchoscope.watch(model, dir=self.folder, budget=1e-9) as handle:
                for _ in range(6):
                    optimizer.zero_grad()
                    loss = model(torch.randn(3, 4)).square().mean()
                    loss.backward()
                    optimizer.step()
                    losses.append(loss.item())
        history = torchoscope.open(handle.path)
        self.assertEqual(history.scalars()["loss"]["value"], losses)
        self.assertEqual(history.series("0.weight", "param").steps, [0])

    def test_two_optimizers_make_one_step(self):
        model = small()
        first = torch.optim.SGD(model[0].parameters(), lr=0.1)
        second = torch.optim.SGD(model[2].parameters(), lr=0.2)
        with self.watch(model) as handle:
            for _ in range(6):
                for optimizer in (first, second):
                    optimizer.zero_grad()
                    model(torch.randn(3, 4)).square().mean().backward()
                    optimizer.step()
        history = torchoscope.open(handle.path)
        self.assertEqual(handle.steps, 6)
        self.assertEqual(len(history.series("2.weight", "param")), 6)
        self.assertEqual(len(history.series("0.weight", "update")), 6)

    def test_an_optimizer_that_does_not_step_keeps_no_other_waiting_for_long(self):
        model = small()
        first = torch.optim.SGD(model[0].parameters(), lr=0.1)
        later = torch.optim.SGD(model[2].parameters(), lr=0.1)
        whole = torch.optim.SGD(model.parameters(), lr=0.1)  # awaited by nobody
        with self.watch(model) as handle:
            for _ in range(12):
                model(torch.randn(3, 4)).square().mean().backward()
                first.step()
        self.assertEqual(handle.steps, 12 - watch_steps._PATIENCE)
        del later, whole

    def test_an_optimizer_for_each_parameter(self):
        """As those that step inside of backward."""
        model = small()
        own = {one: torch.optim.SGD([one], lr=0.1) for one in model.parameters()}
        with self.watch(model) as handle:
            for _ in range(4):
                model(torch.randn(3, 4)).square().mean().backward()
                for one in reversed(own):
                    own[one].step()
        self.assertEqual(handle.steps, 4)
        self.assertEqual(len(torchoscope.open(handle.path).series("0.bias", "update")), 4)

    def test_evaluation_only(self):
        model = small().eval()
        with self.watch(model) as handle:
            for _ in range(3):
                model(torch.randn(2, 4))  # with gradients, but never used
            with torch.no_grad():
                model(torch.randn(2, 4))
        history = torchoscope.open(handle.path)
        self.assertEqual(history.steps, [])
        self.assertGreater(len(history.eval_steps()), 2)
        self.assertEqual(len(history.series("0", "output", phase="eval")), 4)

    def test_the_words_of_log(self):
        kinds = {
            "gradients": {"grad_param"},
            "parameters": {"param", "update"},
            "io": {"input", "output"},
            None: set(),
        }
        for log, wanted in kinds.items():
            model = small()
            with self.watch(model, log=log) as handle:
                train(model, 2)
            history = torchoscope.open(handle.path)
            self.assertEqual({row["kind"] for row in history.all_series()}, wanted)
            self.assertIn("loss", history.scalars())
        model = small()
        with self.watch(model, log=[]) as handle:
            train(model, 1)
        self.assertEqual(torchoscope.open(handle.path).all_series(), [])
        with self.assertRaisesRegex(ValueError, "no 'weights'"):
            torchoscope.watch(model, log=["weights"])
        with self.assertRaisesRegex(ValueError, "log_freq"):
            torchoscope.watch(model, log_freq=0)
        with self.assertRaisesRegex(TypeError, "contains no"):
            torchoscope.watch(3)


# --- never in the way


class Harmless(Watched):
    def test_a_second_watch_replaces_the_first(self):
        model = small()
        first = self.watch(model)
        train(model, 2)
        second = self.watch(model)
        train(model, 3)
        torchoscope.unwatch(model)
        torchoscope.unwatch(model)
        train(model, 1)
        self.assertNotEqual(first.path, second.path)
        self.assertEqual(len(torchoscope.open(first.path).steps), 2)
        self.assertEqual(len(torchoscope.open(second.path).steps), 3)
        self.assertEqual(glob.glob(f"{self.folder}/*-wal"), [])

    def told(self, work):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            work()
        return [str(one.message) for one in found if "torchoscope" in str(one.message)]

    def test_a_folder_that_cannot_be_written(self):
        with open(f"{self.folder}/file", "w"):
            pass
        wanted = train(small())
        model = small()
        handle = torchoscope.watch(model, dir=f"{self.folder}/file/runs")
        losses = []
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            losses.extend(train(model))
        self.assertEqual({one.filename for one in found}, {__file__})  # not ours
        told = [str(one.message) for one in found] + self.told(handle.close)
        self.assertEqual(losses, wanted)
        self.assertEqual(len(told), 1, told)
        self.assertIn("training is not watched", told[0])

    def test_a_folder_that_vanishes(self):
        wanted = train(small(), 12)
        model = small()
        inner = f"{self.folder}/inner"
        handle, losses = torchoscope.watch(model, dir=inner, log_freq=1), []

        def work():
            losses.extend(train(model, 2))
            handle._writer.flush()
            shutil.rmtree(inner)
            losses.extend(train(model, 10))
            handle.close()

        told = self.told(work)
        self.assertEqual(losses, wanted)
        self.assertLessEqual(len(told), 1)

    def test_steps_that_are_dropped_are_told(self):
        class Slow:
            def state(self):
                return {"dropped": 3, "written": 1, "keeps": 9, "problem": ""}

            def scalars(self, *_):
                pass

            close = flush = scalars

        handle = self.watch(small())
        handle._writer = Slow()
        told = self.told(handle.close)
        self.assertEqual(len(told), 1)
        self.assertIn("3 steps came faster", told[0])

    def test_warnings_that_are_errors_do_not_reach_training(self):
        model = small()
        with open(f"{self.folder}/file", "w"):
            pass
        torchoscope.watch(model, dir=f"{self.folder}/file/runs")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            train(model, 3)
            torchoscope.unwatch(model)

    def test_a_first_forward_that_raises(self):
        """The recording says which call raised; no step is called healthy."""
        model, printed = small(), io.StringIO()
        with contextlib.redirect_stderr(printed):
            with self.watch(model) as handle, self.assertRaises(RuntimeError):
                model(torch.randn(3, 5))
        self.assertEqual(
            printed.getvalue(), f"torchoscope: {handle.path}: 0 steps: none was completed\n"
        )
        history = torchoscope.open(handle.path)
        self.assertEqual((history.steps, history.eval_steps()), ([], []))
        self.assertIn(history.calls("0")[0].flags[0], ("raised", "aborted"))
        self.check(handle.path, 1, "! training no step was logged")

    def check(self, path, status, text):
        done = subprocess.run(
            [os.environ["TORCHOSCOPE"], "check", path], capture_output=True, text=True
        )
        self.assertEqual(done.returncode, status, done.stdout)
        self.assertIn(text, done.stdout)

    def test_evaluation_is_no_healthy_training(self):
        model, printed = small().eval(), io.StringIO()
        with contextlib.redirect_stderr(printed), self.watch(model) as handle:
            for _ in range(3):
                with torch.no_grad():
                    model(torch.randn(3, 4))
        self.assertIn(": 0 steps: none was completed", printed.getvalue())
        self.check(handle.path, 0, "- training no step was logged, only 3 of evaluation")
        train_it = small()
        with contextlib.redirect_stderr(printed), self.watch(train_it) as handle:
            train(train_it, 2)
        folder = os.path.dirname(handle.path)
        self.check(folder, 0, "; training: no step was logged, only 3 of evaluation\n")
        self.check(folder, 0, "; training: healthy in 2 logged steps\n")

    def test_a_step_that_is_interrupted(self):
        """It is no step, and no evaluation; if it was hit, it is there with its alarm."""
        for spoil, steps in ((1, [0, 1, 2]), (math.nan, [0, 1, 2, 3])):
            for backward in (False, True):
                model = small()
                with self.watch(model, on_alarm=None) as handle:
                    train(model, 3)
                    loss = model(torch.randn(3, 4) * spoil).sum()
                    if backward:
                        loss.backward()
                history = torchoscope.open(handle.path)
                self.assertEqual((history.steps, history.eval_steps()), (steps, []))
                found = [one["step"] for one in history.alarms()]
                self.assertEqual(found, [3] * (len(steps) - 3))

    def test_a_forward_that_raises(self):
        model = small()
        handle = self.watch(model)
        train(model, 1)
        with self.assertRaises(RuntimeError):
            model(torch.randn(3, 5))
        train(model, 2)
        handle.close()
        self.assertEqual(len(torchoscope.open(handle.path).steps), 3)

    def test_a_forked_child_writes_nothing(self):
        model = small()
        handle = self.watch(model)
        train(model, 2)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                train(model, 3)
                handle.log(lost=1.0)
                handle.close()
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        train(model, 2)
        handle.close()
        history = torchoscope.open(handle.path)
        self.assertEqual(history.steps, [0, 1, 2, 3])
        self.assertNotIn("lost", history.scalars())

    def test_an_interpreter_that_ends_without_close(self):
        code = (
            "import torch, torchoscope\n"
            "model = torch.nn.Linear(3, 2)\n"
            "torchoscope.watch(model, dir='.', log_freq=1)\n"
            "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "for _ in range(3):\n"
            "    model(torch.ones(1, 3)).sum().backward()\n"
            "    optimizer.step()\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=self.folder, capture_output=True, text=True
        )
        self.assertRegex(done.stderr, r"^torchoscope: .*: 3 steps, healthy\n$")
        self.assertEqual(done.returncode, 0)
        (path,) = glob.glob(f"{self.folder}/*")
        self.assertEqual(torchoscope.open(path).steps, [0, 1, 2])

    def test_copies_and_pickles_know_nothing_of_it(self):
        model = small()
        self.watch(model)
        train(model, 1)
        twin = copy.deepcopy(model)
        again = pickle.loads(pickle.dumps(model))
        plain = small()
        self.assertEqual(left_behind(twin), left_behind(copy.deepcopy(plain)))
        self.assertEqual(left_behind(again), left_behind(pickle.loads(pickle.dumps(plain))))


# --- reading


class Reading(Watched):
    def test_numpy_pandas_and_while_it_is_written(self):
        model = small()
        handle = self.watch(model)
        train(model, 3)
        handle._writer.flush()
        with self.assertRaisesRegex(torchoscope.Error, "still writing it"):
            torchoscope.open(handle.path)
        code = "import sys, torchoscope; print(torchoscope.open(sys.argv[1]).steps)"
        done = subprocess.run(
            [sys.executable, "-c", code, handle.path], capture_output=True, text=True
        )
        # The newest step may still get scalars.
        self.assertEqual((done.stdout, done.stderr), ("[0, 1]\n", ""))
        handle.close()
        history = torchoscope.open(handle.path)
        series = history.series("0", "output")
        self.assertEqual(series.numpy("mean").shape, (3,))
        self.assertEqual(history.alarms(), [])
        with self.assertRaisesRegex(KeyError, "no column"):
            series["median"]
        try:
            import pandas  # noqa: F401
        except ImportError:
            return
        frame = series.to_pandas()
        self.assertEqual(list(frame.index), [0, 1, 2])
        self.assertEqual(list(frame["mean"]), series["mean"])

    def test_a_plain_recording_stays_one(self):
        model = small()
        with torchoscope.record(model) as recording:
            model(torch.randn(3, 4))
        recording.save(f"{self.folder}/plain.scope")
        opened = torchoscope.open(f"{self.folder}/plain.scope")
        self.assertIs(type(opened), torchoscope.Recording)

    def test_the_program_shows_the_model_and_its_first_step(self):
        model = small()
        with self.watch(model, name="my net/1") as handle:
            train(model, 2)
        self.assertTrue(handle.path.endswith("_my_net_1.scope"))
        done = subprocess.run(
            [os.environ["TORCHOSCOPE"], "tree", handle.path],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Linear(4→8)", done.stdout)
        recorded = torchoscope.open(handle.path)
        self.assertEqual(len(recorded.calls("0")), 1)
        self.assertEqual(len(recorded.calls("0")[0].grad_outputs), 1)


if __name__ == "__main__":
    unittest.main()
