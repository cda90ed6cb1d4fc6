"""diff: pairs of files that people have beside each other. What is said of them must be
true, in the text as in JSON, and the printed Python must do what the rows say."""

import unittest

import scope  # first: it knows where the program is
import torch
from torch import nn

from diff_test import Pair


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return torch.sigmoid(self.linear(x))


def small(x: torch.Tensor) -> torch.Tensor:
    return torch.cos(x)


def smaller(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x)


class Relu(nn.Module):
    def __init__(self, scale=1.5):
        super().__init__()
        self.inner = Inner()
        self.scale = scale

    def forward(self, x):
        return torch.relu(self.inner(x)) * self.scale


class Tanh(Relu):
    def forward(self, x):
        return torch.tanh(self.inner(x)) * self.scale


class Script(Pair):
    """TorchScript: its code is part of the model."""

    def script(self, name, module, code=None):
        """Save a scripted module; the state is always the same."""
        torch.manual_seed(0)
        for value in module.parameters():
            nn.init.normal_(value)
        path = self.folder / name
        torch.jit.script(module).save(str(path))
        return path

    def facts(self, document):
        return {(fact["kind"], fact["name"]) for fact in document["others"]}

    def test_another_function_in_forward(self):
        Tanh.__name__ = Tanh.__qualname__ = "Relu"
        left, right = self.script("a.pt", Relu()), self.script("b.pt", Tanh())
        document, text = self.diff(left, right)
        self.assertFalse(document["equal"])
        self.assertEqual(document["counts"]["same"], 2)
        self.assertEqual(self.facts(document), {("code", "")})
        (fact,) = document["others"]
        self.assertIn("torch.relu(", fact["left"])
        self.assertIn("torch.tanh(", fact["right"])
        self.assertIn("~ (root) code: ", text)
        self.assertIn("the code of 1 module differs.", text)
        self.assertNotIn("are the same", text)

    def test_the_same_model_scripted_twice_under_other_numbers(self):
        left, right = self.script("a.pt", Relu()), self.script("b.pt", Relu())
        torch.jit.script(Inner())
        again = torch.jit.trace(Relu(), torch.zeros(1, 4))
        again.save(str(self.folder / "c.pt"))
        again = torch.jit.trace(Relu(), torch.zeros(1, 4))
        again.save(str(self.folder / "d.pt"))
        document, _ = self.diff(left, right)
        self.assertTrue(document["equal"])
        document, _ = self.diff(self.folder / "c.pt", self.folder / "d.pt", "--structure")
        self.assertTrue(document["equal"], document["others"])

    def test_a_function_that_a_module_calls(self):
        def make(function):
            class Calls(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.linear = nn.Linear(4, 4)

                def forward(self, x):
                    return function(self.linear(x))

            return Calls()

        smaller.__name__ = smaller.__qualname__ = "small"
        left = self.script("a.pt", make(small))
        right = self.script("b.pt", make(smaller))
        document, text = self.diff(left, right)
        self.assertEqual(self.facts(document), {("code", "")})
        self.assertNotIn("left", document["others"][0])
        self.assertIn("code of functions that it calls", text)

    def test_an_attribute_of_the_root(self):
        left, right = self.script("a.pt", Relu(1.5)), self.script("b.pt", Relu(2.5))
        document, text = self.diff(left, right)
        self.assertEqual(self.facts(document), {("args", "")})
        self.assertIn("scale 1.5 → 2.5", text)

    def test_against_its_own_state_dict(self):
        module = Relu()
        document, _ = self.diff(self.script("a.pt", module), module.state_dict())
        self.assertTrue(document["equal"])


if __name__ == "__main__":
    unittest.main()
