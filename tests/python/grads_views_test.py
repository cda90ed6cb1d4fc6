# flavours: both
"""Results that are views and that the caller writes in place. Their gradients equal
those of torch's full backward hooks on a twin that writes nothing in place, or are a
reported gap."""

import unittest

import torch
from full_hooks import argument_names, by_full_hooks, is_near
from torch import nn

from torchoscope import record

torch.set_num_threads(1)
NEW = hasattr(torch, "compiler")  # its graphs number their nodes


def weighted(made):
    scale = torch.linspace(-1, 2, made.numel(), dtype=made.dtype)
    return (made * scale.reshape(made.shape)).sum()


def add(in_place, x, y):
    if in_place:
        x += y
        return x
    return x + y


class Inner(nn.Module):
    """Makes a tensor and returns a view of it."""

    def __init__(self, how):
        super().__init__()
        self.first, self.second, self.how = nn.Linear(4, 6), nn.Linear(4, 6), how
        self.aside = None

    def forward(self, x):
        made = torch.cat([self.first(x), self.second(x)], 1)
        if self.how == "transposed":
            return made.reshape(-1, 4, 3).transpose(1, 2)
        if self.how == "two steps":
            return made.view(-1, 3, 4)[:, 1:]
        if self.how == "channels last":
            made = made.reshape(-1, 3, 2, 2).contiguous(memory_format=torch.channels_last)
            return (made * 2)[:, :2]
        if self.how == "two views":
            return made[:, :5], made[:, 3:]
        if self.how == "the base too":
            return made[:, :5], made
        if self.how == "of an argument":
            return x[:, :3]
        if self.how == "of an argument and more":
            return x[:, :3], x * 3
        if self.how == "base kept":
            self.aside = made
        if self.how == "base used":
            self.aside = made.tanh().sum()
        view = made[:, 2:7]
        if self.how == "view used":
            self.aside = view.tanh().sum()
        return view


class Outer(nn.Module):
    def __init__(self, how, in_place):
        super().__init__()
        self.how, self.in_place = how, in_place
        self.inner, self.act = Inner(how), nn.ReLU(in_place)

    def forward(self, x):
        y = self.inner(x * 2 if "argument" in self.how else x)
        rest = []
        if isinstance(y, tuple):
            y, *rest = y
        if self.how == "used before":
            rest = [y + 1]
        if self.how == "by a module":
            y = self.act(y)
        elif self.how != "not written":
            y = add(self.in_place, y, y.detach() * 0.5)
        if self.how == "written twice":
            y = y.mul_(2) if self.in_place else y * 2
        if self.how == "part of it":
            if self.in_place:
                y[:, 1:3] *= 3
            else:
                y = torch.cat([y[:, :1], y[:, 1:3] * 3, y[:, 3:]], 1)
        if self.how in ("two views", "the base too"):
            rest = []  # the twin does not know what the other view shows now
        loss = weighted(y) + sum(weighted(one) for one in rest)
        if self.how in ("base used", "view used"):
            loss = loss + self.inner.aside
        if self.how == "base kept" and self.in_place:
            self.inner.aside = None
        return loss


EXACT = ["not written"]
BY_NUMBERS = ["slice", "by a module", "written twice", "part of it", "used before"]
BY_NUMBERS += ["transposed", "two steps", "base used"]  # otherwise they are gaps
GAPS = ["channels last", "base kept", "two views", "the base too"]
GAPS += ["of an argument", "of an argument and more"]
GAPS += NEW * ["view used"]


class Views(unittest.TestCase):
    def compare(self, how):
        """(lines that differ, modules whose gradients are gaps, gradients compared)"""
        x = torch.linspace(-2, 3, 12, dtype=torch.double).reshape(3, 4).requires_grad_()

        def run(model):
            model(x).backward()

        torch.manual_seed(1)
        twin = Outer(how, False).double()
        torch.manual_seed(1)
        model = Outer(how, True).double()
        wanted = by_full_hooks(twin, run)
        twin_gradient, x.grad = x.grad, None
        with record(model) as recording:
            run(model)
        self.assertTrue(torch.equal(x.grad, twin_gradient) or "argument" in how)
        self.assertEqual(recording.facts.get("errors", 0), 0)
        gaps = {gap.name: gap.text for gap in recording.gaps if gap.kind == "gradient"}
        wrong, count = [], 0
        for name, ((inputs, outputs),) in wanted.items():
            (call,) = recording.calls(name)
            names = argument_names(model.get_submodule(name))
            paths = [""] if len(outputs) == 1 else [f"[{i}]" for i in range(len(outputs))]
            for told, rows in (
                (call.grad_inputs, zip(names, inputs)),
                (call.grad_outputs, zip(paths, outputs)),
            ):
                told = {value.path: value for value in told}
                for path, one in rows:
                    if one is None or one[2] == 0:
                        continue
                    value = told.get(path)
                    count += value is not None
                    if value is None and name not in gaps:
                        wrong.append(f"{name} {path}: none, not {one}")
                    elif value is not None and not is_near(value, one):
                        wrong.append(f"{name} {path}: {value.mean} {value.l2}, not {one}")
        return wrong, gaps, count

    def test_values(self):
        for how in EXACT + NEW * BY_NUMBERS:
            with self.subTest(how):
                wrong, gaps, count = self.compare(how)
                self.assertEqual((wrong, gaps), ([], {}))
                self.assertGreaterEqual(count, 6)

    def test_gaps(self):
        for how in GAPS + (not NEW) * BY_NUMBERS:
            with self.subTest(how):
                wrong, gaps, count = self.compare(how)
                self.assertEqual(wrong, [])
                self.assertEqual(list(gaps), ["inner"])
                if NEW:
                    self.assertIn("written in place", gaps["inner"])

    @unittest.skipUnless(NEW, "a gap with this torch")
    def test_backwards_one_after_the_other(self):
        """The first of two graphs writes, the second does not."""
        model = Outer("slice", True)
        with record(model) as recording:
            model(torch.ones(3, 4)).backward()
            model.how = "not written"
            model(torch.ones(3, 4)).backward()
        self.assertEqual([g for g in recording.gaps if g.kind == "gradient"], [])
        for call in recording.calls("inner"):
            self.assertEqual([len(v.shape) for v in call.grad_outputs], [2])


if __name__ == "__main__":
    unittest.main()
