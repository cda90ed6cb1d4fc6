# flavours: both
"""watch() of tensors that only their device can read, with that path forced on the CPU:
the same numbers as in memory, and nothing waits for the device."""

import importlib
import importlib.util
import math
import os
import unittest
from unittest import mock

import torch
from folder import TemporaryFolder
from torch import nn

import torchoscope
from torchoscope import _core, watch_device

STEPS = 5
READS = ("item", "tolist", "cpu", "numpy", "__float__", "__bool__", "__int__")


def setUpModule():
    optimizer = importlib.import_module("torch.optim.optimizer")
    new = hasattr(optimizer, "register_optimizer_step_post_hook")
    if not new and importlib.util.find_spec("torchoscope.step_hooks") is None:
        raise unittest.SkipTest("this torch tells of no optimizer's step")


class Net(nn.Module):
    """A weight of more elements than a sample has, one of a multiple of it, and integers,
    half floats and complex numbers among the values."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(7, 128)
        self.odd = nn.Linear(128, 131)
        self.even = nn.Linear(131, 128)
        self.square = nn.Linear(128, 128)
        self.turn = Turn()

    def forward(self, words):
        x = self.square(self.even(self.odd(self.words(words)).relu()))
        return self.turn(x.bfloat16().float()).abs()


class Turn(nn.Module):
    def forward(self, x):
        return torch.view_as_complex(x.reshape(20, 9, 64, 2)).conj()


def train(folder, force, each=None, **options):
    """A watched training; its History."""
    torch.manual_seed(1)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    ops = {"TORCHOSCOPE_DEVICE": "ops"} if force else {}
    with mock.patch.dict(os.environ, ops):
        handle = torchoscope.watch(model, dir=folder, **{"log_freq": 1, **options})
        for step in range(STEPS):
            if each:
                each(step)
            optimizer.zero_grad()
            for _ in range(2):
                model(torch.randint(7, (20, 9))).square().mean().backward()
            optimizer.step()
            if handle._writer is not None:
                handle._writer.flush()  # a busy disk drops steps
        if each:
            each(None)
        handle.close()
    return torchoscope.open(handle.path)


class Same(TemporaryFolder):
    def agree(self, **options):
        here, there = (train(str(self.folder), force, **options) for force in (0, 1))
        self.assertEqual(here.steps, there.steps)
        self.assertEqual(here.all_series(), there.all_series())
        for row in here.all_series():
            which = row["name"], row["kind"], row["call"], row["path"], row["phase"]
            a, b = here.series(*which), there.series(*which)
            self.assertEqual(a.histograms, b.histograms, which)
            # torch and C round absolute values of complex numbers differently.
            close = ("min", "max") if row["name"] in ("", "turn") else ()
            for name in {"count", "nan", "zeros", "min", "max", "sampled"}.difference(close):
                self.assertEqual(a[name], b[name], (which, name))
            for name in ("mean", "std", "l2", "ratio", *close):
                for one, other in zip(a[name], b[name]):
                    near = math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-9)
                    self.assertTrue(near or one != one, (which, name, one, other))
        scalars = here.scalars(), there.scalars()
        self.assertEqual(*map(set, scalars))
        for name in scalars[0]:
            for one, other in zip(*(found[name]["value"] for found in scalars)):
                self.assertTrue(math.isclose(one, other, rel_tol=1e-5), name)

    def test_sampled(self):
        self.agree()

    def test_exact(self):
        self.agree(exact=True)

    def test_all_elements(self):
        self.agree(sample_n=None)


def train_badly(folder, force):
    """The loss jumps in step 30 and is NaN in the last; ([alarm, ...], its History, when
    the alarm about the spike came: the number of steps seen)."""
    torch.manual_seed(1)
    model, told, when = nn.Linear(4, 2), [], []

    def tell(alarm):
        told.append((alarm["kind"], alarm["step"], alarm["name"], alarm["severity"]))
        when.append(handle.steps)

    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    with mock.patch.dict(os.environ, {"TORCHOSCOPE_DEVICE": "ops"} if force else {}):
        handle = torchoscope.watch(model, dir=folder, log_freq=1, on_alarm=tell)
        for step in range(40):
            optimizer.zero_grad()
            x = torch.randn(8, 4) * (1e4 if step == 30 else 1)
            scale = math.nan if step == 39 else 1
            (model(x).square().mean() * scale).backward()
            optimizer.step()
            if handle._writer is not None:
                handle._writer.flush()
        handle.close()
    return told, torchoscope.open(handle.path), when


class Kernels(nn.Module):
    """A weight whose 9 taps differ, and an optimizer's step that changes one of them
    most. Its stride of 144 elements is a multiple of 9."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(512, 512, 3, bias=False)
        taps = torch.tensor([9.0, 0, 0, 0, 1, 0, 0, 0, 0]).reshape(3, 3)
        self.conv.weight.data.normal_(std=0.001).add_(taps)

    def forward(self, x):
        return self.conv(x)


class Sample(TemporaryFolder):
    def test_the_positions_are_those_of_the_core(self):
        device = watch_device.WatchDevice("full")
        for n in (16385, 32768, 512 * 512 * 9, 1000003):
            places = memoryview(_core.sample_places(n)).cast("q").tolist()
            piece = watch_device._Piece(torch.arange(n), device._places_of(torch.empty(n)))
            self.assertEqual(piece.bytes.view(torch.int64).tolist(), places)
            strides = [(i * n // 16384, (i + 1) * n // 16384) for i in range(16384)]
            inside = [low <= at < high for at, (low, high) in zip(places, strides)]
            self.assertTrue(all(inside))

    def test_taps_of_kernels_have_their_share_and_their_part_of_the_update(self):
        for force in (False, True):
            torch.manual_seed(1)
            model = Kernels()
            weight = model.conv.weight
            optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
            change = torch.tensor([0.5, 0, 0, 0, 0, 0, 0, 0, 0.1]).reshape(3, 3)
            before = weight.detach().double()
            truth = change.expand_as(weight).double().norm() / before.norm()
            with mock.patch.dict(os.environ, {"TORCHOSCOPE_DEVICE": "ops"} if force else {}):
                options = {"dir": str(self.folder), "log": ["params", "params_grad"]}
                with torchoscope.watch(model, log_freq=1, **options) as handle:
                    model(torch.randn(1, 512, 3, 3)).sum().backward()
                    weight.grad.copy_(-change.expand_as(weight))
                    optimizer.step()
            run = torchoscope.open(handle.path)
            update = run.series("conv.weight", "update")
            self.assertLess(abs(update["ratio"][0] / truth - 1), 0.03)
            self.assertLess(abs(update["mean"][0] / change.mean() - 1), 0.03)
            self.assertLess(abs(update["std"][0] / change.std(unbiased=False) - 1), 0.03)
            shown = run.series("conv.weight", "param").histograms[0]
            edges, counts = shown["edges"], shown["counts"]
            tap = sum(n for low, n in zip(edges, counts) if low > 5)
            self.assertLess(abs(tap - 16384 / 9), 120)


class Judged(TemporaryFolder):
    def test_a_step_is_judged_when_its_device_is_done(self):
        here, run, when = train_badly(str(self.folder), False)
        there, other, later = train_badly(str(self.folder), True)
        self.assertIn("nan", [kind for kind, *_ in here])
        self.assertGreater(len(here), 1)
        self.assertEqual(here, there)
        self.assertEqual(later[0], when[0] + 1)  # with the next step
        for one, told in ((run, here), (other, there)):
            kinds = [(row["kind"], row["step"]) for row in one.alarms()]
            self.assertEqual(kinds, [row[:2] for row in told])


class Waiting(TemporaryFolder):
    def test_a_step_is_copied_once_and_read_when_the_next_is_logged(self):
        log, real = [], watch_device.WatchDevice

        class Noted(real):
            def send(self):
                sent = super().send()
                log.append("send" if sent else "nothing")
                return sent

            def fetch(self, sent):
                log.append("fetch")
                return super().fetch(sent)

            def finish(self):
                log.append("finish")
                return super().finish()

        with mock.patch("torchoscope.watch_steps.WatchDevice", Noted):
            run = train(str(self.folder), True, lambda step: log.append(step), log_freq=2)
        # The first step waits: the file is made with its recording. Each later logged
        # step (2, 4) is sent when it ends, and read when the next ends, or at the end.
        wanted = [0, 1, "finish", "send", 2, 3, "fetch", "send", 4, None]
        self.assertEqual(log[: len(wanted)], wanted)
        self.assertEqual(log[len(wanted) :], ["fetch", "send", "fetch"])
        self.assertEqual(run.steps, [0, 2, 4])

    def test_no_step_but_the_first_reads_a_tensor(self):
        reads, steps = [], []

        def noted(name, real):
            def read(tensor, *args, **kwargs):
                if steps and steps[-1] not in (0, 1, None):
                    reads.append((steps[-1], name))
                return real(tensor, *args, **kwargs)

            return read

        def fetch(device, sent, real=watch_device.WatchDevice.fetch):
            steps.append(None)  # what was sent is in the host's memory
            found = real(device, sent)
            steps.pop()
            return found

        patches = [
            mock.patch.object(torch.Tensor, name, noted(name, getattr(torch.Tensor, name)))
            for name in READS
        ]
        patches.append(mock.patch.object(watch_device.WatchDevice, "fetch", fetch))
        for one in patches:
            one.start()
            self.addCleanup(one.stop)
        run = train(str(self.folder), True, steps.append)
        self.assertEqual(run.steps, list(range(STEPS)))
        self.assertEqual(reads, [])


if __name__ == "__main__":
    unittest.main()
