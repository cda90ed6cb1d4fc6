# flavours: both
"""watch(): what it promises about its file and about the training."""

import contextlib
import io
import math
import os
import time
import unittest

import torch

import torchoscope
from watch_test import Watched, small, train

torch.set_num_threads(1)
STEPS = int(os.environ.get("WATCH_STEPS", 5000))


class Files(Watched):
    def trained(self, steps=4):
        model = small()
        with self.watch(model) as handle:
            train(model, steps)
        return handle.path


class Saving(Files):
    def recording(self):
        model = small()
        with torchoscope.record(model) as recording:
            model(torch.randn(3, 4))
        return recording

    def test_a_recording_does_not_replace_a_history(self):
        path = self.trained()
        with self.assertRaisesRegex(ValueError, "the history of a training"):
            self.recording().save(path)
        self.assertEqual(torchoscope.open(path).steps, [0, 1, 2, 3])
        self.assertEqual(len(os.listdir(self.folder)), 1)

    def test_a_history_is_copied(self):
        path, copy = self.trained(), f"{self.folder}/copy.scope"
        history = torchoscope.open(path)
        self.recording().save(copy)  # may be replaced
        history.save(copy)
        history.save(path)  # nothing to do
        again = torchoscope.open(copy)
        self.assertEqual(again.steps, [0, 1, 2, 3])
        series = [one.series("0.weight", "param") for one in (history, again)]
        self.assertEqual(series[0].histograms, series[1].histograms)
        with self.assertRaisesRegex(ValueError, "the history of a training"):
            history.save(self.trained(1))
        self.assertEqual(len(os.listdir(self.folder)), 3)
        # It does not depend on the first file.
        os.remove(path)
        self.assertEqual(len(again.calls("0")), 1)

    def test_nothing_is_saved_onto_a_file_that_is_written(self):
        model = small()
        handle = self.watch(model)
        train(model, 3)
        handle._writer.flush()
        history = torchoscope.open(self.trained())
        link = f"{self.folder}/link.scope"
        os.symlink(handle.path, link)
        for path in (handle.path, link):
            for one in (self.recording(), history):
                with self.assertRaisesRegex(ValueError, "still writing it"):
                    one.save(path)
        handle.close()
        self.assertEqual(torchoscope.open(handle.path).steps, [0, 1, 2])


class Optimizers(Watched):
    def test_schedulers_and_subclasses_count_one_step_each(self):
        """A torch without optimizer hooks gets functions in the place of step()."""

        class Twice(torch.optim.SGD):
            def step(self, closure=None):
                return super().step(closure)

        for kind in (torch.optim.SGD, Twice):
            model = small()
            optimizer = kind(model.parameters(), lr=0.1)
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)  # wraps step()
            handle = self.watch(model)
            for _ in range(4):
                optimizer.zero_grad()
                model(torch.randn(3, 4)).square().mean().backward()
                optimizer.step()
                schedule.step()
            handle.close()
            self.assertEqual(handle.steps, 4)
            history = torchoscope.open(handle.path)
            self.assertEqual(history.steps, [0, 1, 2, 3])
            found = [round(one, 6) for one in history.scalars()["lr/0"]["value"]]
            self.assertEqual(found, [0.1, 0.1, 0.01, 0.01])
            optimizer.step()
            self.assertEqual(handle.steps, 4)


class Units(Watched):
    def test_dead_and_saturated_units(self):
        torch.manual_seed(3)
        layers = [torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Dropout(0.9)]
        model = torch.nn.Sequential(*layers, torch.nn.Linear(6, 5), torch.nn.Tanh())
        with torch.no_grad():
            model[0].bias[:2] = -100
            model[3].bias[0] = 50
        with self.watch(model) as handle:
            for _ in range(3):
                model(torch.randn(64, 4)).square().mean().backward()
        history = torchoscope.open(handle.path)
        relu, tanh = history.series("1", "output"), history.series("4", "output")
        self.assertEqual((relu["dead"], relu["units"]), ([2.0] * 3, [6] * 3))
        self.assertEqual((tanh["saturated"], tanh["units"]), ([1.0] * 3, [5] * 3))
        self.assertTrue(math.isnan(relu["saturated"][0]))
        self.assertTrue(math.isnan(tanh["dead"][0]))
        for name in ("0", "2", "3"):  # nothing to count: no bounds, and chance
            series = history.series(name, "output")
            self.assertEqual(series["units"], [0] * 3)
            self.assertTrue(math.isnan(series["dead"][0]))


class Limits(Files):
    """STEPS: 5,000; `make soak` takes more, and asserts the times of a quiet machine."""

    def test_the_number_of_steps_that_the_file_keeps(self):
        model = small()
        with contextlib.redirect_stderr(io.StringIO()) as text:
            with self.watch(model, limit="1MB") as handle:
                self.assertIsNone(handle.keeps)
                for _ in range(6):
                    train(model, 10)
                    handle._writer.flush()
                keeps = handle.keeps
        self.assertTrue(50 < keeps < 1000)
        self.assertIn(f"keeps about {keeps} logged steps", repr(handle))
        self.assertEqual(text.getvalue().count(" keeps about "), 1)
        self.assertIn(f"{handle.path} keeps about", text.getvalue())
        with contextlib.redirect_stderr(io.StringIO()) as text:
            with self.watch(model) as handle:
                train(model, 3)
        self.assertNotIn(" keeps about ", text.getvalue())

    def test_the_estimate_is_honest(self):
        model, state = small(), {"merged": 0}
        handle = self.watch(model, limit="1MB")
        with contextlib.redirect_stderr(io.StringIO()):
            while not state["merged"] and handle.steps < 2000:
                train(model, 10)
                handle._writer.flush()
                state = handle._writer.state()
        self.assertTrue(0.6 < handle.keeps / state["written"] < 1.4, state)

    def test_a_long_training(self):
        model = torch.nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        handle, x, sizes, memory = self.watch(model, limit="1MB"), torch.ones(1, 3), [], []
        for step in range(STEPS):
            optimizer.zero_grad(set_to_none=True)
            model(x).sum().backward()
            optimizer.step()
            if step % 100 == 99:
                handle._writer.flush()
                sizes.append(handle._writer.state()["bytes"])
                memory.append(_rss())
        dropped = handle._writer.state()["dropped"]
        handle.close()
        self.assertEqual(dropped, 0)
        self.assertLessEqual(max(sizes), 1 << 20)
        self.assertLess(max(memory) - memory[len(memory) // 5], 8 << 20)
        began = time.perf_counter()
        history = torchoscope.open(handle.path)
        steps, opened = history.steps, time.perf_counter()
        series = history.series("weight", "param")
        read = time.perf_counter()
        self.assertEqual(sum(series["merged"]), STEPS)
        self.assertEqual(steps[-1], STEPS - 1)
        self.assertEqual(len(series.histograms), len(steps))
        took = (opened - began) * 1e3, (read - opened) * 1e3
        if STEPS > 5000:
            print(f"opened in {took[0]:.0f} ms, {len(steps)} points in {took[1]:.0f} ms")
            self.assertLess(took[0], 100)
            self.assertLess(took[1], 20 * max(1, len(steps) / 1000))


def _rss():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


if __name__ == "__main__":
    unittest.main()
