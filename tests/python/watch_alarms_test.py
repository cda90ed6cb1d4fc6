"""Alarms of a watched training: who produced NaN, and no alarm in healthy ones."""

import contextlib
import io
import os
import unittest

import torch
from alarm_cases import CASES
from folder import TemporaryFolder
from healthy_cases import HEALTHY

import torchoscope
from identity_test import seed

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


class Healthy(Watched):
    """No alarm, no hint."""

    def check(self, make):
        seed()
        handle = make(self.watch)
        self.assertEqual(self.alarms(handle), [])
        self.assertEqual(handle._alarms.found, [])


for _i, (_name, _make) in enumerate(HEALTHY.items()):
    if SOAK or _i % 2 == 0:
        setattr(Healthy, f"test_{_name}", lambda self, make=_make: self.check(make))


if __name__ == "__main__":
    unittest.main()
