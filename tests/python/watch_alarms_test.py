"""Alarms of a watched training: who produced NaN, and no alarm in healthy ones."""

import contextlib
import functools
import io
import math
import os
import subprocess
import unittest
import warnings
from unittest import mock

import torch
from alarm_cases import CASES, FORWARD, Trap
from alarm_cases_more import MORE
from folder import TemporaryFolder
from healthy_cases import HEALTHY, small, square, train
from torch import nn
from torch.nn import functional as F

import torchoscope
from identity_test import all_of_it, bits, left_behind, seed
from torchoscope import watch_alarms

torch.set_num_threads(1)
SOAK = bool(os.environ.get("ALARMS_SOAK"))
HEALTHY_STEPS = 3


class Watched(TemporaryFolder):
    def watch(self, model, **options):
        options = {"log_freq": 1, "on_alarm": None, **options}
        handle = torchoscope.watch(model, dir=str(self.folder), **options)
        self.addCleanup(handle.close)
        return handle

    def alarms(self, handle):
        handle.close()
        return torchoscope.open(handle.path).alarms()


class Table(Watched):
    """The step is logged: the module is named."""

    def check(self, case):
        seed()
        scene = case.make()
        handle = self.watch(scene.model)
        for step in range(HEALTHY_STEPS + 2):
            if step == HEALTHY_STEPS:
                scene.turn_on()
            scene.optimizer.zero_grad()
            scene.loss(scene.model, scene.inputs()).backward()
            scene.optimizer.step()
        found = [one for one in self.alarms(handle) if one["severity"] == "alarm"]
        self.assertEqual(found[0]["step"], HEALTHY_STEPS, found)
        self.assertEqual({one["name"] for one in found}, {case.name}, found)
        self.assertIn(case.word, found[0]["text"])
        self.assertEqual(found[0]["kind"], "nan")


class Operations(Watched):
    """The optimizer leaves the step out: the next one tells the operation."""

    def check(self, case):
        seed()
        scene = case.make()
        handle = self.watch(scene.model, log_freq=1000)
        for step in range(HEALTHY_STEPS + 2):
            if step == HEALTHY_STEPS:
                scene.turn_on()
            scene.optimizer.zero_grad()
            scene.loss(scene.model, scene.inputs()).backward()
            self.step_if_finite(scene)
        found = [one for one in self.alarms(handle) if one["severity"] == "alarm"]
        self.assertEqual(len(found), 2, found)
        self.assertEqual(found[0]["step"], HEALTHY_STEPS, found)
        self.assertIn("was not logged", found[0]["text"])
        self.assertEqual(found[1]["step"], HEALTHY_STEPS + 1, found)
        self.assertEqual(found[1]["name"], case.name, found)
        self.assertTrue(found[1]["line"].startswith(f"{case.op}, "), found)

    def step_if_finite(self, scene):
        """Calls step(), whose hooks see the gradients; if they are bad, puts the
        parameters back."""
        before = [one.detach().clone() for one in scene.model.parameters()]
        bad = any(not p.grad.isfinite().all() for p in scene.model.parameters())
        scene.optimizer.step()
        if bad:
            with torch.no_grad():
                for parameter, old in zip(scene.model.parameters(), before):
                    parameter.copy_(old)


for _i, (_name, _case) in enumerate(CASES.items()):
    if SOAK or _i % 3 == 0 or _i >= 42:
        setattr(Table, f"test_{_name}", lambda self, case=_case: self.check(case))
    if _case.op and (SOAK or _i % 4 == 0):
        setattr(Operations, f"test_{_name}", lambda self, case=_case: self.check(case))
for _name, _case in MORE.items():
    setattr(Table, f"test_{_name}", lambda self, case=_case: self.check(case))
    if _case.op:
        setattr(Operations, f"test_{_name}", lambda self, case=_case: self.check(case))


class Healthy(Watched):
    """No alarm, no hint."""

    def check(self, make, log_freq):
        seed()
        handle = make(functools.partial(self.watch, log_freq=log_freq))
        self.assertEqual(self.alarms(handle), [])
        self.assertEqual(handle._alarms.found, [])
        self.assertEqual(handle._first_hit, None)


def healthy_test(make, log_freq):
    return lambda self: self.check(make, log_freq)


for _i, (_name, _make) in enumerate(HEALTHY.items()):
    if SOAK or _i % 2 == 0:
        setattr(Healthy, f"test_{_name}", healthy_test(_make, 1))
    setattr(Healthy, f"test_{_name}_not_logged", healthy_test(_make, 1000))


# --- trends and hints


def finds(kind, name, severity, make, **options):
    """A test: training what make() gives has one alarm of this kind, and no other worse
    than it."""

    def test(self):
        seed()
        handle = train(self.watch, *make(), **options)
        found = [(one["kind"], one["name"], one["severity"]) for one in self.alarms(handle)]
        self.assertIn((kind, name, severity), found)
        self.assertEqual(len(set(found)), len(found))
        self.assertEqual({one[2] for one in found}, {severity})

    return test


def spike():
    model = small()
    loss = lambda m, step: square(m, step) * (400 if step == 40 else 1)  # noqa: E731
    return model, loss, torch.optim.SGD(model.parameters(), lr=1e-4)


def exploding():
    model = small()

    def loss(model, step):
        return square(model, step) * (3000 if step == 40 else 1)

    return model, loss, torch.optim.SGD(model.parameters(), lr=1e-3)


def vanishing():
    layers = [one for _ in range(14) for one in (nn.Linear(8, 8), nn.Sigmoid())]
    model = nn.Sequential(*layers, nn.Linear(8, 1))
    return model, lambda m, step: m(torch.randn(8, 8)).square().mean()


def dead():
    model = small()
    model[0].bias.data.fill_(-100)
    return model, square


def relu_last():
    def loss(model, step):
        return F.mse_loss(model(torch.randn(8, 6)), torch.randn(8, 3))

    return nn.Sequential(*small(), nn.ReLU()), loss


def raw_bytes():
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(144, 3))
    loss = lambda m, _: m(torch.rand(4, 1, 8, 8) * 255).square().mean()  # noqa: E731
    return model, loss, torch.optim.SGD(model.parameters(), lr=1e-9)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.mu = nn.Linear(6, 8), nn.Linear(8, 4)
        self.logvar, self.decoder = nn.Linear(8, 4), nn.Linear(4, 6)
        self.mu.bias.data.fill_(20)

    def forward(self, x):
        x = self.body(x).tanh()
        mean, spread = self.mu(x), (self.logvar(x) / 2).exp()
        return self.decoder(mean + torch.randn_like(mean) * spread)


def latents():
    return Encoder(), lambda m, step: square(m, step) / 1000


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.sum = nn.Linear(6, 6), nn.Linear(6, 6), Sum()

    def forward(self, x):
        return self.sum(self.first(x), self.second(x))


class Sum(nn.Module):
    def forward(self, a, b):
        return a + b * 1e-5


class Trends(Watched):
    test_a_loss_spike = finds("spike", "loss", "warning", spike)
    test_an_exploding_gradient = finds("gradient", "2.weight", "warning", exploding)
    test_a_vanishing_gradient = finds(
        "vanishing", "0.weight", "warning", vanishing, steps=25
    )
    test_a_dead_layer = finds("dead", "1", "warning", dead, steps=15)
    test_a_final_relu = finds("relu", "3", "note", relu_last, steps=3)
    test_inputs_that_are_not_normalised = finds("inputs", "0", "note", raw_bytes, steps=3)
    test_latents = finds("latents", "mu", "note", latents, steps=25)
    test_one_input_has_all_of_the_gradient = finds(
        "one-input", "sum", "note", lambda: (Two(), square), steps=25
    )

    def test_spikes_in_steps_that_are_not_logged(self):
        seed()
        handle = train(self.watch, *spike(), log_freq=1000)
        found = self.alarms(handle)
        self.assertEqual([(one["kind"], one["step"]) for one in found], [("spike", 40)])


# --- what happens at an alarm


def diverge(model, optimizer, steps=6, skips=False):
    """From step 3 on the loss is infinite; returns the losses."""
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = model(torch.randn(8, 6)).square().mean()
        if step >= 3:
            loss = loss / (loss * 0)
        losses.append(loss.item())
        if skips and not loss.isfinite():
            continue
        loss.backward()
        optimizer.step()
    return losses


class What(Watched):
    def test_it_is_printed_once_and_in_the_file(self):
        model, printed = small(), io.StringIO()
        with contextlib.redirect_stderr(printed):
            handle = self.watch(model, on_alarm="print")
            diverge(model, torch.optim.SGD(model.parameters(), lr=0.1))
            found = self.alarms(handle)
        lines = printed.getvalue().splitlines()
        self.assertEqual(len(found), 1)
        self.assertEqual(len(lines), 3, lines)
        self.assertEqual(lines[0], f"torchoscope: step 3: loss: {found[0]['text']}")
        wanted = f"torchoscope: {handle.path}: 6 steps, 1 alarm: loss at step 3"
        self.assertIn("step 3 can run again: torchoscope replay ", lines[1])
        self.assertEqual(lines[2], wanted)
        self.assertEqual(handle._first_hit, ("forward", "loss: the loss is Inf"))

    def test_the_verdict_of_a_healthy_training(self):
        model, printed = small(), io.StringIO()
        with contextlib.redirect_stderr(printed):
            handle = train(self.watch, model, square, steps=1, on_alarm="print")
            handle.close()
            handle.close()
        self.assertEqual(
            printed.getvalue(), f"torchoscope: {handle.path}: 1 step, healthy\n"
        )

    def test_raise_at_the_end_of_the_step(self):
        for log_freq in (1, 1000):
            model = small()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            handle = self.watch(model, on_alarm="raise", log_freq=log_freq)
            with self.assertRaisesRegex(torchoscope.Alarm, "step 3: loss") as caught:
                diverge(model, optimizer)
            self.assertEqual(caught.exception.alarm["severity"], "alarm")
            self.assertEqual(handle.steps, 4)
            self.assertTrue(all(p.isnan().all() for p in model[2].parameters()))
            handle.log(accuracy=0.5)
            self.assertEqual(len(self.alarms(handle)), 1)

    def test_a_function_gets_all_of_them_and_may_raise(self):
        model, got = small(), []

        def take(alarm):
            got.append(alarm)
            raise RuntimeError("in the user's function")

        handle = self.watch(model, on_alarm=take)
        diverge(model, torch.optim.SGD(model.parameters(), lr=0.1))
        found = self.alarms(handle)
        self.assertEqual([one["text"] for one in got], [one["text"] for one in found])

    def test_options_that_are_wrong(self):
        with self.assertRaisesRegex(ValueError, "on_alarm must be"):
            torchoscope.watch(small(), on_alarm="email")
        with mock.patch.object(watch_alarms, "_ranks", lambda: 2):
            with self.assertRaisesRegex(ValueError, "would end one rank"):
                torchoscope.watch(small(), on_alarm="raise")

    def test_the_steps_after_a_hit_are_logged(self):
        model = small()
        handle = self.watch(model, log_freq=1000)
        diverge(model, torch.optim.SGD(model.parameters(), lr=0.1), 12)
        handle.close()
        logged = torchoscope.open(handle.path).series("0.weight", "param").steps
        self.assertEqual(logged, [0, 4, 5, 6, 7])

    def test_parameters_that_are_spoilt_tell_no_operation(self):
        model = small()
        handle = self.watch(model, log_freq=1000)
        diverge(model, torch.optim.AdamW(model.parameters(), foreach=False))
        (found,) = self.alarms(handle)
        self.assertEqual((found["step"], found["line"]), (3, ""))

    def test_alarms_of_steps_that_are_dropped_are_kept(self):
        for _ in range(3):
            handle = train(self.watch, *dead(), steps=200)
            told = [one["kind"] for one in handle._alarms.found]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # steps came too fast
                self.assertEqual([one["kind"] for one in self.alarms(handle)], told)

    def test_numbers_of_steps_given_by_the_user(self):
        model = small()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        handle = self.watch(model)
        for step in range(100, 103):
            optimizer.zero_grad()
            loss = square(model, step)
            (loss / (loss * 0) if step == 101 else loss).backward()
            optimizer.step()
            handle.log(step=step)
            if handle._writer is not None:
                handle._writer.flush()  # a busy disk drops steps
        handle.close()
        history = torchoscope.open(handle.path)
        self.assertEqual(history.steps, [100, 101, 102])
        self.assertEqual([one["step"] for one in history.alarms()], [101])

    def test_a_step_with_several_passes_is_logged_once(self):
        for first, log_freq in ((0, 1), (3, 1), (3, 2), (3, None)):
            model = small()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
            handle = self.watch(model, log_freq=log_freq)
            for step in range(6):
                optimizer.zero_grad()
                bad = math.nan if step in (first, first + 1) else 1.0
                one, two = model(torch.randn(4, 6) * bad), model(torch.randn(4, 6))
                (one.mean() + two.square().mean()).backward()
                for parameter in model.parameters():
                    parameter.grad.nan_to_num_(0)
                optimizer.step()
                handle.log(number=step)
                if handle._writer is not None:
                    handle._writer.flush()  # a busy disk drops steps
            handle.close()
            history = torchoscope.open(handle.path)
            numbers = history.scalars()["number"]
            self.assertEqual(handle.steps, 6)
            self.assertEqual(numbers.steps, list(range(6)))
            self.assertEqual(numbers["value"], list(range(6)))
            if log_freq == 1:
                self.assertEqual(history.steps, list(range(6)))
            self.assertEqual(history.alarms()[0]["step"], first)

    def test_a_loop_that_leaves_steps_of_two_passes_out(self):
        model = small()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        handle = self.watch(model)
        for step in range(8):
            optimizer.zero_grad()
            bad = math.nan if step in (3, 5) else 1.0
            loss = model(torch.randn(4, 6) * bad).mean() + model(torch.randn(4, 6)).mean()
            if loss.isfinite():
                loss.backward()
                optimizer.step()
            if handle._writer is not None:
                handle._writer.flush()  # a busy disk drops steps
        handle.close()
        self.assertEqual(torchoscope.open(handle.path).steps, list(range(8)))
        found = [one["step"] for one in self.alarms(handle) if one["kind"] == "nan"]
        self.assertEqual(found, [3], self.alarms(handle))  # 5: the same NaN, too soon

    def test_a_loop_that_leaves_bad_steps_out(self):
        model = small()
        handle = self.watch(model, log_freq=1000)
        diverge(model, torch.optim.SGD(model.parameters(), lr=0.1), skips=True)
        self.assertEqual(self.alarms(handle), [])  # the model is fine
        self.assertEqual(handle.steps, 3)

    def test_skipped_steps_are_counted(self):
        for name in ("gradient_scaler", "gradient_scaler_and_fused_optimizer"):
            seed()
            handle = HEALTHY[name](self.watch)
            handle.close()
            self.assertEqual(handle.steps, 30)
            self.assertEqual(handle._alarms.skips, 1)
            self.assertIn("1 skipped by the gradient scaler", handle._alarms.verdict())
            history = torchoscope.open(handle.path)
            losses = history.scalars()["loss"]["value"]
            self.assertTrue(all(0 < one < 1e6 for one in losses), losses)
        for method in (torch.amp.GradScaler.step, torch.amp.GradScaler.scale):
            self.assertFalse(hasattr(method, "of_torchoscope"))

    def test_evaluation(self):
        model = nn.Sequential(nn.Linear(6, 6), Trap(FORWARD["log of a negative"][0]))
        model[1].on = True
        handle = self.watch(model)
        with torch.no_grad():
            model(torch.randn(4, 6))
        (found,) = self.alarms(handle)
        self.assertEqual((found["name"], found["kind"]), ("1", "nan"))

    def test_check_and_hints(self):
        for make, options, status in ((relu_last, {}, 0), (dead, {}, 1)):
            handle = train(self.watch, *make(), steps=15, **options)
            handle.close()
            done = subprocess.run(
                [os.environ["TORCHOSCOPE"], "check", handle.path],
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, status, done.stdout)


class Losses(Watched):
    def losses(self, handle):
        handle.close()
        return torchoscope.open(handle.path).scalars()["loss"]["value"]

    def test_the_loss_in_the_result(self):
        class Result(dict):
            @property
            def loss(self):
                return self["loss"]

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = small()

            def forward(self, x):
                found = self.net(x)
                return Result(loss=found.square().mean(), logits=found)

        model, wanted = Model(), []
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        handle = self.watch(model)
        for _ in range(3):
            loss = model(torch.randn(8, 6)).loss
            wanted.append(loss.item())
            (loss / 4).backward()
            optimizer.step()
        self.assertEqual(self.losses(handle), wanted)

    def test_a_loss_on_another_scale_is_no_spike(self):
        model = small()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
        handle = self.watch(model, log_freq=5)
        for step in range(60):
            square(model, step).backward()
            optimizer.step()
            handle.log(loss=100.0)
            if handle._writer is not None:
                handle._writer.flush()
        self.assertEqual(handle._alarms.found, [])
        self.assertEqual(self.losses(handle)[::5], [100.0] * 12)

    def test_a_criterion_of_the_model(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.net, self.criterion = small(), nn.MSELoss()

            def forward(self, x):
                return self.net(x)

        model, wanted = Model(), []
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        handle = self.watch(model)
        for _ in range(2):
            result = model(torch.randn(8, 6))
            loss = model.criterion(result, torch.zeros(8, 3))
            wanted.append(loss.item())
            torch.autograd.backward([loss, result.sum()])
            optimizer.step()
        self.assertEqual(self.losses(handle), wanted)


class Identity(Watched):
    """Guards, hits and operations change nothing."""

    def run_one(self, watched, log_freq):
        seed()
        scene = CASES["sqrt of a negative, transformer"].make()
        scene.optimizer = torch.optim.Adam(scene.model.parameters())
        scene.model.blocks[1].mlp.append(nn.Dropout(0.5))
        if watched:
            self.watch(scene.model, log_freq=log_freq)
        found = []
        for step in range(12):
            if step == 4:
                scene.turn_on()
            if step == 8:
                scene.model.blocks[1].mlp[2].on = False
            scene.optimizer.zero_grad()
            loss = scene.loss(scene.model, scene.inputs())
            found.append(bits(loss))
            if loss.isfinite():
                loss.backward()
                scene.optimizer.step()
            found.append(all_of_it(scene.model, step))
        torchoscope.unwatch(scene.model)
        return found, left_behind(scene.model)

    def test_bits(self):
        wanted = self.run_one(False, 1)
        for log_freq in (1, 3, 1000):
            self.assertEqual(self.run_one(True, log_freq), wanted)


if __name__ == "__main__":
    unittest.main()
