"""A watched training in the terminal: the tree has the numbers that series() gives, and a
file that grows is followed."""

import glob
import json
import math
import os
import unittest

import scope
import torch
from folder import TemporaryFolder

import terminal
import torchoscope

torch.set_num_threads(1)
STEPS = 12


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.ReLU(), torch.nn.Linear(8, 2)
    )


def train(model, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        optimizer.step()


class Trained(TemporaryFolder):
    def setUp(self):
        super().setUp()
        self.model = network()
        self.handle = torchoscope.watch(self.model, dir=str(self.folder), log_freq=1)
        train(self.model, STEPS)

    def path(self):
        return glob.glob(os.path.join(str(self.folder), "*.scope"))[0]

    def tree(self, *words):
        done = scope.run("tree", self.path(), "--json", *words)
        return json.loads(done.stdout)


class Numbers(Trained):
    def setUp(self):
        super().setUp()
        self.handle.close()
        self.run_ = torchoscope.open(self.path())

    def at(self, name, kind, column, step):
        series = self.run_.series(name, kind)
        return series[column][series.steps.index(step)]

    def test_the_tree_has_the_numbers_of_series(self):
        for step in (0, 5, STEPS - 1):
            tree = self.tree("--step", str(step))
            self.assertEqual((tree["step"]["first"], tree["step"]["last"]), (step, step))
            for tensor in tree["tensors"]:
                name, at = tensor["name"], tensor["at_step"]
                for key, kind, column in (
                    ("gradient_norm", "grad_param", "l2"),
                    ("weight_norm", "param", "l2"),
                    ("update_ratio", "update", "ratio"),
                ):
                    value = self.at(name, kind, column, step)
                    if math.isnan(value):  # the update of zeros has no ratio
                        self.assertNotIn(key, at)
                    else:
                        self.assertEqual(at[key], value, (name, key))

    def test_a_module_has_those_of_its_parameters_as_one_vector(self):
        tree = self.tree("--step", "5")
        at = {one["name"]: one["at_step"] for one in tree["modules"] if "at_step" in one}
        for module, names in (("0", ("0.weight", "0.bias")), ("1", ("1.weight", "1.bias"))):
            for key, kind in (("gradient_norm", "grad_param"), ("weight_norm", "param")):
                expected = math.hypot(*(self.at(name, kind, "l2", 5) for name in names))
                self.assertAlmostEqual(at[module][key], expected, delta=1e-12 * expected)
        scalars = self.run_.scalars()
        norm = scalars["grad_norm"]["value"][scalars["grad_norm"].steps.index(5)]
        self.assertAlmostEqual(at[""]["gradient_norm"], norm, delta=1e-9 * norm)
        self.assertEqual(tree["step"]["scalars"]["grad_norm"], norm)

    def test_a_step_after_the_last_has_the_numbers_of_the_last(self):
        tree = self.tree("--step", "1000")
        self.assertEqual((tree["step"]["asked"], tree["step"]["last"]), (1000, STEPS - 1))
        text = scope.run("tree", self.path(), "--step", "1000").stdout.decode()
        self.assertIn(f"numbers of step {STEPS - 1}, the newest logged at or before 1000", text)

    def test_show_has_the_same(self):
        text = scope.run("show", self.path(), "0.weight", "--step", "5").stdout.decode()
        norm = self.at("0.weight", "grad_param", "l2", 5)
        self.assertIn(f"‖grad‖ {norm:.4g}", text)


class Followed(Trained):
    def test_a_training_is_followed_while_it_is_written(self):
        # A step is complete when the next one begins.
        with terminal.Terminal([scope.PROGRAM, self.path()]) as screen:
            screen.wait("7 Training", "loss", f"step {STEPS - 2}")
            train(self.model, 5)
            screen.wait(f"step {STEPS + 3}")
            screen.keys("(")
            screen.wait(f"at step {STEPS + 3} of {STEPS + 3}")
            train(self.model, 3)
            screen.wait(f"at step {STEPS + 3} of {STEPS + 6}")
            screen.resize(60, 20)
            screen.wait("‖grad‖", gone=("7 Training",))
            screen.resize(120, 36)
            screen.type(":step newest")
            screen.keys("Enter")
            screen.wait("now")
            self.handle.close()
            screen.wait(f"step {STEPS + 7}")
        self.assertEqual(len(torchoscope.open(self.path()).steps), STEPS + 8)


if __name__ == "__main__":
    unittest.main()
