"""Two watched trainings compared: diff names the step and tensor where they part."""

import unittest

import torch
from folder import TemporaryFolder

import scope
import torchoscope

torch.set_num_threads(1)


def make_model(number=0):
    torch.manual_seed(number)
    return torch.nn.Sequential(
        torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 3)
    )


class Diff(TemporaryFolder):
    def train(self, name, number=0, steps=8, before=None, **options):
        """Train under watch(); `before(model, step)` runs first in each step."""
        model = make_model(number)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        data = torch.Generator().manual_seed(1)
        folder = self.folder / name
        with torchoscope.watch(model, dir=str(folder), **{"log_freq": 1, **options}) as w:
            for step in range(steps):
                x = torch.randn(5, 6, generator=data)
                if before:
                    x = before(model, step, x)
                optimizer.zero_grad()
                loss = model(x).square().mean()
                loss.backward()
                optimizer.step()
                w.log(loss=loss.item())
        (path,) = folder.glob("*.scope")
        return path

    def diff(self, *args):
        done = scope.run("diff", *args)
        self.assertEqual(done.stderr, b"")
        return done.returncode, done.stdout.decode()

    def test_the_same_training_twice_is_equal(self):
        a, b = self.train("a"), self.train("b", steps=11)
        status, text = self.diff(a, b)
        self.assertEqual(status, 0)
        self.assertIn("equal over 8 common steps", text)
        self.assertIn("left has 8, right 11", text)

    def test_other_weights_differ_from_the_first_step_on(self):
        status, text = self.diff(self.train("a"), self.train("b", number=1))
        self.assertEqual(status, 1)
        self.assertIn("the runs part at step 0", text)
        self.assertIn("first       0.weight  parameter  step 0", text)

    def test_a_changed_weight_is_named_with_its_step(self):
        def change(model, step, x):
            if step == 5:
                with torch.no_grad():
                    model[2].weight[1, 3] += 0.01
            return x

        a, b = self.train("a"), self.train("b", before=change)
        found = torchoscope.diff(torchoscope.open(a), b)
        self.assertFalse(found.equal)
        first = found.training["first"]
        self.assertEqual((first["step"], first["name"]), (5, "2.weight"))
        self.assertEqual(first["kind"], "param")
        self.assertNotEqual(first["left"]["mean"], first["right"]["mean"])
        scalar = found.training["scalar"]
        self.assertEqual(scalar["step"], 5)
        self.assertEqual(found.json["training"], found.training)
        self.assertIn("2.weight", str(found))
        self.assertIn("2.weight", found.markdown)
        status, text = self.diff(a, b, "--tolerance", "0.5")
        self.assertEqual(status, 0, text)
        self.assertIn("equal within 0.5 over 8 common steps", text)

    def test_other_data_is_the_input_of_the_model(self):
        def other(model, step, x):
            return x + (0.1 if step == 3 else 0)

        found = torchoscope.diff(self.train("a"), self.train("b", before=other))
        first = found.training["first"]
        self.assertEqual((first["step"], first["name"]), (3, ""))
        self.assertEqual(first["kind"], "input")

    def test_other_log_freq_compares_the_steps_that_both_logged(self):
        a = self.train("a", steps=12)
        b = self.train("b", steps=12, log_freq=4)
        status, text = self.diff(a, b)
        self.assertEqual(status, 0, text)
        self.assertIn("tensors at 3 of them", text)

    def test_a_training_and_a_recording(self):
        model = make_model()
        with torchoscope.record(model) as recording:
            model(torch.randn(5, 6))
        plain = self.folder / "plain.scope"
        recording.save(plain)
        found = torchoscope.diff(self.train("a"), plain)
        with self.assertRaises(ValueError):
            found.training
        self.assertNotIn("training", found.json)


if __name__ == "__main__":
    unittest.main()
