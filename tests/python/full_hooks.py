"""Recorded gradients beside those of torch's own full backward hooks.

    compare(model, run) -> Compared

The hooks run in a first pass, the recording in a second one that does the same. Full
hooks refuse tensors that are written in place: with copies=True they give the modules
copies, which changes no gradient."""

import contextlib
import inspect
import math
import warnings

import torch
from torch.nn.modules import _functions

import torchoscope

NEAR = 1e-6


class Compared:
    """The result: the numbers of compared calls and gradients, a line for each wrong
gradient, and the names of modules whose gradients are gaps."""

    def __init__(self):
        self.calls = self.gradients = 0
        self.wrong, self.gaps = [], []
        self.recording = None

    def __repr__(self):
        counts = f"{self.calls} calls, {self.gradients} gradients"
        return f"<{counts}, {len(self.wrong)} wrong, {len(self.gaps)} gaps>"


def compare(model, run, copies=False, **options):
    """`run(model)` does a forward and a backward. It seeds its random numbers."""
    with _copies() if copies else contextlib.nullcontext():
        hooked = by_full_hooks(model, run)
    model.zero_grad()
    options = {"calls": "all", "parameters": False, **options}
    with torchoscope.record(model, **options) as recording:
        run(model)
    model.zero_grad()
    found = Compared()
    found.recording = recording
    found.gaps = [g.name for g in recording.gaps if g.kind == "gradient"]
    for name, rows in hooked.items():
        _compare_module(found, name, argument_names(model.get_submodule(name)), rows)
    return found


@contextlib.contextmanager
def _copies():
    function = _functions.BackwardHookFunction
    plain = function.__dict__["forward"]

    def forward(ctx, *tensors):
        made = [one.clone() for one in tensors]
        pairs = zip(made, tensors)
        ctx.mark_non_differentiable(*[one for one, t in pairs if not t.requires_grad])
        return tuple(made)

    function.forward = staticmethod(forward)
    try:
        yield
    finally:
        function.forward = plain


def by_full_hooks(model, run):
    """name -> [(gradients of arguments, of results), ...], by position; as numbers."""
    found, ends = {}, []
    for name, module in model.named_modules():

        def full(module, inputs, outputs, name=name):
            row = [brief(g) for g in inputs], [brief(g) for g in outputs]
            found.setdefault(name, []).append(row)

        ends.append(module.register_full_backward_hook(full))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about tensors that the hooks miss
            run(model)
    finally:
        for end in ends:
            end.remove()
    return found


def brief(gradient):
    if gradient is None:
        return None
    if gradient.is_sparse:
        gradient = gradient.to_dense()
    x = gradient.detach().double()
    return list(x.shape), x.mean().item(), x.norm().item()


def argument_names(module):
    """The names of forward's arguments by position, from its signature."""
    names, rest = [], []
    for one in inspect.signature(module.forward).parameters.values():
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD):
            names.append(one.name)
        elif one.kind == one.VAR_POSITIONAL:
            rest = [f"{one.name}[{i}]" for i in range(99)]
    return names + rest


def is_near(value, wanted):
    """A mean may be tiny compared with the values that it is the mean of."""
    shape, mean, l2 = wanted
    size = l2 / math.sqrt(max(1, math.prod(shape)))
    return (
        list(value.shape) == shape
        and value.l2 is not None
        and abs(value.l2 - l2) <= NEAR * l2 + 1e-30
        and abs(value.mean - mean) <= NEAR * size + 1e-30
    )


def _compare_module(found, name, names, rows):
    """Hooks run in the order of the backward, so any call may match."""
    left = found.recording.calls(name)
    found.calls += len(rows)
    for inputs, outputs in rows:
        problems = None
        for call in left:
            new = _problems(call, names, inputs, outputs, name in found.gaps)
            if problems is None or len(new) < len(problems):
                problems, best = new, call
            if not new:
                break
        if problems is None:
            found.wrong.append(f"{name}: no call is left")
            continue
        left.remove(best)
        found.gradients += sum(g is not None for g in inputs + outputs)
        found.wrong += [f"{name}: {one}" for one in problems]


def _problems(call, names, inputs, outputs, gap):
    """The differences. A missing gradient may be a gap; a recorded one must be
    correct."""
    told = {v.path: v for v in call.grad_outputs}
    paths = _result_paths(call, len(outputs))
    found = []
    for path, wanted in zip(paths, outputs):
        if path in told and told[path].get("summed"):
            continue  # it is also a result elsewhere, which hooks do not see
        found += _differs(f"result {path}", told.get(path), wanted, gap)
    told = {v.path: v for v in call.grad_inputs}
    inputs = dict(zip(names, inputs))
    order = [path for path in told if path in inputs]
    if order != [path for path in inputs if path in order]:
        found.append(f"arguments are not in order: {order}")
    for path, wanted in inputs.items():
        value = told.get(path)
        group = _equal_arguments(call, path, inputs)
        first = next((told[one] for one in group if one in told), None)
        if first is None or not first.get("summed"):
            found += _differs(path, value, wanted, gap)
    return found


def _result_paths(call, n):
    paths = [value.path for value in call.outputs]
    if n == 1 and "" in paths:
        return [""]
    if any(path.startswith("[") for path in paths):
        return [f"[{i}]" for i in range(n)]
    return paths  # a named tuple


def _equal_arguments(call, path, inputs):
    """Arguments that are the same tensor share a gradient, which is their sum."""
    values = {v.path: v for v in call.inputs if v.path in inputs}
    if path not in values:
        return [path]
    return [p for p, v in values.items() if v["value"] == values[path]["value"]]


def _differs(where, value, wanted, gap):
    if wanted is None or wanted[2] == 0:  # hooks invent zeros
        is_zero = value is None or (wanted is not None and is_near(value, wanted))
        return [] if is_zero else [f"{where} has {value.l2}, not None"]
    if value is None:
        return [] if gap else [f"{where} has none, not {wanted}"]
    if is_near(value, wanted):
        return []
    return [f"{where} has {(value.shape, value.mean, value.l2)}, not {wanted}"]
