"""Calls of modules that return their argument, in all forms that held.py learns. Only
the code in this file holds the tensors. handed.py treats this file as user code."""

import contextlib
import sys

import torch


class Same(torch.nn.Module):
    def forward(self, x):
        return x


class Pair(torch.nn.Module):
    def forward(self, x):
        return x, None


class Direct(Same):
    def __call__(self, *args, **kwargs):
        return super().__call__(*args, **kwargs)


class Passes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Same()

    def forward(self, x):
        x = self.inner(x)
        return -x


class DirectPasses(Passes):
    def __call__(self, *args, **kwargs):
        return super().__call__(*args, **kwargs)


class Calls(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.modules_ = torch.nn.ModuleList(
            kind() for kind in (Same, Pair, Direct, Passes, DirectPasses)
        )

    def forward(self, x):
        for module in self.modules_:
            call_directly(module, x)
            y = module(-x)
            y = -x
            y = module(y)
            y = module(x=-x)
            y = (-x,)
            y = module(*y)
            y = {"x": -x}
            y = module(**y)
        return y


def call_directly(module, x):
    y = type(module).__call__(module, -x)
    y = type(module).__call__(module, x=-x)
    return y


def count_graph():
    """The number of references that a view adds to its tensor."""
    tensor = -torch.zeros((), device="cpu", requires_grad=True)
    before = sys.getrefcount(tensor)
    view = tensor.view(())
    after = sys.getrefcount(tensor)
    del view
    return after - before


@contextlib.contextmanager
def alone():
    """Enables autograd, whatever the surrounding mode, and hides the block from the
    user's torch modes."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch._C.DisableTorchFunction())
        with contextlib.suppress(ImportError):
            from torch.utils._python_dispatch import _disable_current_modes

            stack.enter_context(_disable_current_modes())
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        yield


def run(model):
    model(torch.zeros((), device="cpu", requires_grad=True))
