"""trace(): run a model once and record every operation."""

import contextlib
import time

import torch

from torchoscope.inputs import Inputs
from torchoscope.keywords import takes_inputs
from torchoscope.recorder import record
from torchoscope.restore import Attributes, state_guard

WARM_UP_BELOW = 1.0  # seconds: a model that takes longer runs once


@takes_inputs
def trace(
    model,
    *inputs,
    kwargs=None,
    backward=True,
    loss=None,
    mode="full",
    ops=True,
    keep=None,
):
    """Run `model` once, forward and backward, and return a Recording with every operation.
    The model is left as it was: gradients, buffers, random state, train or eval mode.

    inputs    tensors or shapes, (1, 3, 224, 224) or "8x128:int64"; by default an
              example input of the model or its library
    kwargs    keyword arguments of forward; other keywords go to forward too, unless they
              are options of trace()
    backward  also run a backward
    loss      a function of the result that returns a loss; by default the result's own
              `loss`, else the sum of its floating-point tensors. recording.facts tells
              which
    mode, ops, keep   as for record()

    If the model raises, so does trace(); the error's attribute `recording` has the
    recording up to that point. docs/python.md has the details."""
    given = Inputs(model, inputs, kwargs)
    if given.is_empty:
        name = type(model).__name__
        raise TypeError(f"trace() needs inputs for {name}: pass a tensor or a shape")
    if not ops:
        raise ValueError("trace() records operations: ops must be True, 'stats' or 'replay'")
    options = {"mode": mode, "ops": ops, "keep": keep}
    return _recorded(model, given, backward, loss, options)


def warm_trace(model, inputs, kwargs, backward=True, loss=None):
    """trace(), and if that took under a second once more: the times of a first pass are
    those of a cold start."""
    given = Inputs(model, inputs, kwargs)
    repeats = given.can_repeat()
    attributes = Attributes(model) if repeats else None
    start = time.perf_counter()
    first = _recorded(model, given, backward, loss, {"ops": True}, repeats)
    if not repeats or time.perf_counter() - start >= WARM_UP_BELOW:
        return first
    attributes.restore()
    try:
        return _recorded(model, given, backward, loss, {"ops": True})
    except Exception:  # it keeps state elsewhere and cannot run twice
        return first


def _recorded(model, given, backward, loss, options, with_copies=False):
    while True:
        args, keywords = given.make(with_copies)
        gradients = {"gradients": bool(backward), "parameters": bool(backward)}
        recording = record(model, **options, **gradients)
        try:
            _run(model, recording, given, args, keywords, backward, loss)
        except Exception as error:
            if given.fits_after(error):
                continue
            if given.source and given.try_others():
                continue
            with contextlib.suppress(Exception):
                error.recording = recording
            raise
        return recording


def _run(model, recording, given, args, kwargs, backward, loss):
    with state_guard(model), recording, torch.set_grad_enabled(bool(backward)):
        recording._core.fact("input", given.description)
        result = model(*args, **kwargs)
        if backward:
            total, source = loss_of(result, loss)
            recording._core.fact("loss", source)
            if total is not None:
                total.backward()


def loss_of(result, loss):
    """(a loss or None, where it comes from)."""
    if loss is not None:
        total = loss(result)
        if not isinstance(total, torch.Tensor) or not total.requires_grad:
            raise ValueError("loss must return a tensor that requires a gradient")
        return total, "given by the caller"
    own = getattr(result, "loss", None)
    if isinstance(own, torch.Tensor) and own.requires_grad:
        return own, "the result's loss"
    found = list(differentiable(result))
    if not found:
        return None, "none: nothing in the result requires a gradient"
    return sum(one.sum() for one in found), "the sum of the floating-point results"


def differentiable(result):
    """The tensors of a result that a loss can be made of."""
    if isinstance(result, torch.Tensor):
        if result.requires_grad:
            # A loss must be real: add up both parts of complex numbers.
            yield torch.view_as_real(result) if result.is_complex() else result
    elif isinstance(result, dict):
        for one in result.values():
            yield from differentiable(one)
    elif isinstance(result, (list, tuple)):
        for one in result:
            yield from differentiable(one)
