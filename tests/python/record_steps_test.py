# flavours: both
"""record(): parameters and their gradients, and which step a call belongs to."""

import gc
import unittest

import torch

import torchoscope
from record_test import NEW, Clean, X, net


class Steps(Clean):
    def test_parameters_and_gradients(self):
        model = net()
        with torchoscope.record(model) as recording:
            model(X).sum().backward()
        rows = [(r["name"], r["gradient"]) for r in recording.parameters()]
        self.assertIn(("0.weight", False), rows)
        self.assertIn(("0.weight", True), rows)
        with torchoscope.record(model, parameters=False) as recording:
            model(X)
        self.assertEqual(recording.parameters(), [])

    @unittest.skipUnless(NEW, "this torch does not report optimizer steps")
    def test_parameters_are_read_before_each_step(self):
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        means = []
        with torchoscope.record(model) as recording:
            for _ in range(3):
                optimizer.zero_grad()
                model(X).sum().backward()
                means.append(model[0].weight.double().mean().item())
                optimizer.step()
        rows = [r for r in recording.parameters() if r["name"] == "0.weight"]
        told = [r["stats"]["mean"] for r in rows if not r["gradient"]]
        self.assertEqual(len(told), 3)
        for one, other in zip(told, means):
            self.assertAlmostEqual(one, other, places=7)

    def steps(self, model, block, **options):
        """The step of each pass that the block makes."""
        with torchoscope.record(model, **options) as recording:
            block()
        roots = [call for call in recording.calls() if call.parent is None]
        return [call.step for call in roots]

    def test_every_pass_is_a_step_without_an_optimizer(self):
        model = net()
        other = torch.optim.SGD(net().parameters(), lr=0.1)

        def evaluate():
            for _ in range(3):
                model(X)
                other.step()  # belongs to another model

        self.assertEqual(self.steps(model, evaluate), [0, 1, 2])

    @unittest.skipUnless(NEW, "this torch does not report optimizer steps")
    def test_micro_batches_are_passes_of_one_step(self):
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def train():
            for _ in range(2):
                for _ in range(4):
                    model(X).sum().backward()
                optimizer.step()

        for options in ({}, {"parameters": False}):
            self.assertEqual(self.steps(model, train, **options), [0] * 4 + [1] * 4)

    @unittest.skipUnless(NEW, "this torch does not report optimizer steps")
    def test_the_slowest_of_two_optimizers_counts_steps(self):
        model = net()
        fast = torch.optim.SGD(model[0].parameters(), lr=0.1)
        slow = torch.optim.SGD(model[2].parameters(), lr=0.1)

        def train():
            for _ in range(2):
                for _ in range(3):
                    model(X).sum().backward()
                    fast.step()
                slow.step()

        self.assertEqual(self.steps(model, train), [0] * 3 + [1] * 3)

    @unittest.skipUnless(NEW, "this torch does not report optimizer steps")
    def test_the_passes_of_a_closure_belong_to_its_step(self):
        model = net()
        optimizer = torch.optim.LBFGS(model.parameters(), lr=0.01, max_iter=3)

        def closure():
            optimizer.zero_grad()
            loss = model(X).square().sum()
            loss.backward()
            return loss

        def train():
            optimizer.step(closure)
            optimizer.step(closure)

        steps = self.steps(model, train)
        self.assertEqual(sorted(set(steps)), [0, 1])
        self.assertEqual(steps, sorted(steps))
        self.assertGreater(len(steps), 2)

    @unittest.skipUnless(NEW, "this torch does not report optimizer steps")
    def test_a_new_optimizer_replaces_a_freed_one(self):
        model = net()

        def train():
            for _ in range(3):
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                for _ in range(2):
                    model(X).sum().backward()
                    optimizer.step()
                del optimizer
                gc.collect()

        self.assertEqual(self.steps(model, train), [0, 1, 2, 3, 4, 5])


if __name__ == "__main__":
    unittest.main()
