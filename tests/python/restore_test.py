# flavours: both
"""state_guard(): undoes everything that a pass may do to a model."""

import unittest
import warnings
from unittest import mock

import torch
from torch import nn

import torchoscope
from torchoscope import restore, summary

torch.set_num_threads(1)


class Base(nn.Module):
    """A model whose BatchNorm and gradients show whether all of it was restored."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("seen", torch.zeros(0))
        self.register_buffer("kept", torch.arange(3.0))
        self.register_buffer("last", torch.ones(1), persistent=False)
        self.weight = nn.Parameter(torch.arange(4.0))
        self.late, self.built = None, False
        for one in self.parameters():
            one.grad = torch.full_like(one, 5)

    def forward(self, x):
        self.change(x)
        return self.norm(x)


class Resizes(Base):
    def change(self, x):
        self.seen.resize_(len(x)).fill_(2)
        self.kept.resize_(1).fill_(7)
        self.weight.data = torch.zeros(9)


class Replaces(Base):
    def change(self, x):
        self.kept = self.kept + 1
        self.seen = torch.ones(5, dtype=torch.int64)
        self.weight = nn.Parameter(torch.ones(2))
        self.last = None


class Adds(Base):
    def change(self, x):
        if not self.built:
            self.built, self.late = True, nn.Linear(4, 4)
            self.extra = nn.Parameter(torch.ones(1))
            self.register_buffer("more", torch.ones(1), persistent=False)
        self.late(x) + self.extra + self.more


class Deletes(Base):
    def change(self, x):
        if hasattr(self, "kept"):
            del self.kept, self.weight, self.last


class OtherMemory(Base):
    def change(self, x):
        storage = getattr(self.kept, "untyped_storage", self.kept.storage)()
        storage.resize_(0)
        self.seen.data = torch.ones(6)
        self.weight.requires_grad_(False)


def state_of(model):
    """Everything that must be restored: objects by identity, and values."""
    tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    found = {"names": list(model.state_dict()), "all": list(tensors)}
    found["modules"] = [(name, id(one)) for name, one in model.named_modules()]
    found["plain"] = (model.late, model.built, set(model._non_persistent_buffers_set))
    for name, one in tensors.items():
        grad = None if one.grad is None else one.grad.tolist()
        found[name] = (id(one), one.tolist(), one.dtype, one.requires_grad, grad)
    return found


class WhatAPassDoes(unittest.TestCase):
    def check(self, run):
        for kind in (Resizes, Replaces, Adds, Deletes, OtherMemory):
            with self.subTest(kind.__name__):
                model = kind()
                before = state_of(model)
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    run(model)
                self.assertEqual(state_of(model), before)
                model(torch.randn(3, 4))  # and it still works

    def test_a_summary_restores_the_model(self):
        self.check(lambda model: summary(model, (3, 4)))

    def test_a_summary_with_backward_restores_the_model(self):
        self.check(lambda model: summary(model, (3, 4), backward=True))

    def test_a_pass_that_raises_restores_the_model(self):
        def run(model):
            with self.assertRaises(RuntimeError):
                summary(model, (3, 5))

        self.check(run)

    def test_unchanged_tensors_are_not_written(self):
        model = Base()
        model.change = lambda x: None
        versions = {name: one._version for name, one in model.named_buffers()}
        with torchoscope.state_guard(model):
            model.eval()(torch.randn(3, 4))
        self.assertTrue(model.training)
        self.assertEqual(
            {name: one._version for name, one in model.named_buffers()}, versions
        )


class OneThatFails(unittest.TestCase):
    """A tensor that cannot be restored is named, and the others are restored."""

    def test_a_buffer(self):
        model = Resizes()
        before = state_of(model)
        whole = restore._SavedTensor.restore

        def broken(self):
            if self.tensor is model.seen:
                raise RuntimeError("no such memory")
            whole(self)

        with mock.patch.object(restore._SavedTensor, "restore", broken):
            with self.assertWarnsRegex(UserWarning, r"restore seen .*no such memory"):
                summary(model, (3, 4))
        after = state_of(model)
        self.assertEqual(len(after.pop("seen")[1]), 3)
        before.pop("seen")
        self.assertEqual(after, before)

    def test_the_random_state(self):
        model = Resizes()
        before = state_of(model)
        with mock.patch("random.setstate", side_effect=ValueError("odd")):
            with self.assertWarnsRegex(UserWarning, "random state of python"):
                with torchoscope.state_guard(model):
                    model(torch.randn(3, 4))
        self.assertEqual(state_of(model), before)

    def test_a_tensor_class_that_cannot_be_copied(self):
        class Odd(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                if func in (torch.Tensor.detach, torch.Tensor.clone):
                    raise NotImplementedError("not for Odd")
                return super().__torch_function__(func, types, args, kwargs or {})

        model = Resizes()
        model.register_buffer("odd", torch.ones(2).as_subclass(Odd))
        with self.assertWarnsRegex(UserWarning, "restore odd .*not for Odd"):
            with torchoscope.state_guard(model):
                model(torch.randn(3, 4))
        self.assertEqual(model.norm.running_mean.tolist(), [0] * 4)
        self.assertEqual(model.weight.tolist(), [0, 1, 2, 3])


@unittest.skipIf(torch.__version__.startswith("1."), "quantisation as of torch 2")
class Observers(unittest.TestCase):
    def test_quantisation_aware_training(self):
        from torch.ao.quantization import FakeQuantize, PerChannelMinMaxObserver

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = nn.Sequential(
                nn.BatchNorm1d(4),
                FakeQuantize(observer=PerChannelMinMaxObserver, ch_axis=1),
            )
        before = {key: one.clone() for key, one in model.state_dict().items()}
        summary(model, (3, 4))
        after = model.state_dict()
        self.assertEqual(list(after), list(before))
        for key, one in before.items():
            self.assertTrue(torch.equal(after[key], one), key)


if __name__ == "__main__":
    unittest.main()
