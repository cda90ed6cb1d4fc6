"""attach(): records a tensor inside a forward as a series of a watched training."""

import torch

from torchoscope.watching import watches

_MOST = 64  # per name and step
_is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", bool)


def attach(tensor, module, name):
    """Follow a tensor that no module takes or returns, as series of `module`: its value
    and its gradient are "output" and "grad_output" with path=name. Returns the tensor
    itself; does nothing if `module` is not watched."""
    if not _is_compiling():
        for handle in watches():
            if handle._budget.on and handle._in_step and handle._mine():
                handle._guard(_take, handle, tensor, module, str(name))
    return tensor


def _take(handle, tensor, module, name):
    counts, core = handle._attached, handle._recorder._core
    key = id(module), name
    number = counts.get(key, 0)
    if number >= _MOST:
        return
    graded = torch.is_grad_enabled()
    if not core.attach(module, tensor, name, number, False, graded):
        return
    counts[key] = number + 1
    if "io_grad" not in handle._wanted or not graded or not tensor.requires_grad:
        return

    def reached(gradient):
        if handle._attached is counts and handle._mine():  # still the same step
            handle._guard(core.attach, module, gradient, name, number, True, True)

    tensor.register_hook(reached)
