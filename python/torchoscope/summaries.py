"""summary(): run a model once and show a table."""

import contextlib
import copy
import time
from typing import NamedTuple

import torch

from torchoscope import _core, op_kinds
from torchoscope.inputs import Inputs
from torchoscope.keywords import takes_inputs
from torchoscope.recorder import record
from torchoscope.recording import Recording
from torchoscope.restore import Attributes, modules_of, state_guard
from torchoscope.shown import Shown, terminal_width
from torchoscope.traces import WARM_UP_BELOW, differentiable

OUTSIDE_A_TERMINAL = 120  # cells


@takes_inputs
def summary(
    model,
    *inputs,
    mode="full",
    backward=False,
    depth=None,
    columns=None,
    width=None,
    warmup=None,
    kwargs=None,
):
    """Run `model` once and return a Summary; the model is left as it was.

    inputs    tensors or shapes, (1, 3, 224, 224) or "8x128:int64"; by default an
              example input of the model or its library
    mode      as for record()
    backward  also run a backward and record gradients
    depth, columns, width   of the table
    warmup    run a pass first that is not shown; None: if it takes under a second
    kwargs    keyword arguments of forward; other keywords go to forward too, unless they
              are options of summary()

    docs/python.md has the details."""
    view = {"depth": depth, "columns": columns, "width": width}
    found, error = look(model, inputs, kwargs, mode, backward, view, warmup=warmup)
    if error is None:
        return found
    try:
        raise error
    finally:
        del error  # else a reference cycle of frame and error keeps the model alive


class Summary(Shown):
    """The structure of a model and one pass of it. str() is the table."""

    def __init__(self, core, recording, title, given, view):
        self._core = core  # a _core.Run, or a _core.Model if nothing ran
        self.recording = recording
        self._title = title  # the class and its mode
        self._heading = f"{title}, {given}"  # with the inputs, or why it did not run
        self._view = view

    def _now(self):
        return self._core

    @property
    def _tables(self):
        return Recording._tables if self.recording else ("modules", "tensors")

    def _alive(self):
        return self.recording and self.recording._alive()

    def _wanted(self, wanted):
        """The keywords, with the defaults of a summary."""
        return {**self._view, "totals": True, **wanted}

    def tree(self, **wanted):
        """The table as text; keywords as for Model.tree()."""
        wanted = self._wanted(wanted)
        if wanted["width"] is None:
            wanted["width"] = terminal_width() or OUTSIDE_A_TERMINAL
        return f"{self._heading}\n{self._core.text(**wanted)}".rstrip("\n")

    def rows(self, **wanted):
        """The rows of tree(**wanted), as a list of dicts of strings."""
        return self._core.rows(**self._in_full(wanted))

    @property
    def html(self):
        """A self-contained HTML page, as a str."""
        return self._core.export("html", **self._in_full({}))

    def export(self, path, **wanted):
        """Write a file. Its suffix selects the format:

        .txt .md .json .csv .html .safetensors
        """
        self._core.write(path, **self._in_full(wanted))

    def _notebook(self):
        # The facts of a recording include the inputs.
        title = self._title if self.recording else self._heading
        return self._core.export("notebook", title=title, depth=self._view["depth"])

    def _in_full(self, wanted):
        """Without a width limit, unless one is given."""
        wanted = {"title": self._heading, **self._wanted(wanted)}
        return {**wanted, "width": wanted["width"] or 0}

    def __str__(self):
        return self.tree()

    def __repr__(self):
        return f"<torchoscope.Summary: {self._heading}>"


# --- one pass


def look(
    model,
    inputs=(),
    kwargs=None,
    mode="full",
    backward=False,
    view=None,
    keep=None,
    warmup=None,
):
    """(Summary, None), or (Summary of what was recorded, the error of the pass)."""
    view = view or {"depth": None, "columns": None, "width": None}
    if isinstance(model, type) and issubclass(model, torch.nn.Module):
        raise TypeError(f"{model.__name__} is a class; pass an instance of it")
    if not any(True for _ in modules_of(model)):
        raise TypeError(f"{type(model).__name__} contains no torch.nn.Module")
    given = Inputs(model, inputs, kwargs)
    if given.is_empty:
        why = "give it a tensor or a shape to see it run"
        return _structure(model, f"not run: {why}", view), None
    wanted = _Wanted(mode, backward, keep, warmup)
    recording, error = _run(unlazy(model, given.make), given, wanted)
    if error is not None and given.source:
        # Default inputs: show the structure rather than an error.
        why = f"not run: its {given.source} do not fit: {_first_line(error)}"
        while error is not None and given.try_others():
            recording, error = _run(unlazy(model, given.make), given, wanted)
        if error is not None:
            return _structure(model, why, view), None
    title = f"{type(model).__name__}{_mode_of(model)}"
    return Summary(recording._now(), recording, title, given.description, view), error


def _structure(model, why, view):
    name = type(model).__name__
    core = _core.Model(model, name)
    return Summary(core, None, f"{name}{_mode_of(model)}", why, view)


class _Wanted(NamedTuple):
    mode: str
    backward: bool
    keep: object
    warmup: bool | None


def _run(model, given, wanted):
    """A recording of one pass, and what it raised. If a second pass is allowed, the
    first, cold one is a warm-up and its effects on plain attributes are undone. The first
    one records operations, the second one the times."""
    can_repeat = given.can_repeat()
    may_repeat = wanted.warmup is not False and can_repeat
    attributes = Attributes(model) if can_repeat else None
    ops = can_repeat and op_kinds.why_not() is None
    first, error, seconds = _run_until_it_fits(model, given, wanted, can_repeat, ops)
    if error is not None and ops:  # perhaps because operations were recorded
        attributes.restore()
        why = f"FLOPs are unknown: recording operations failed: {_first_line(error)}"
        plain = _run_until_it_fits(model, given, wanted, can_repeat, False, why)
        if plain[1] is None:
            first, error, seconds = plain
    if error is not None or not may_repeat:
        return first, error
    if not wanted.warmup and seconds >= WARM_UP_BELOW:
        return first, None
    attributes.restore()
    took = first.cost["passes_ns"]
    again, error, _ = _run_once(model, given, wanted, warm_up_ns=took)
    if error is not None:  # it keeps state elsewhere and cannot run twice
        return first, None
    if first._run.take_times(again._run):
        return first, None
    return again, None


def _run_until_it_fits(model, given, wanted, repeated, ops, why=None):
    """Replaces floats that reach an embedding by integers. `why`: a gap to report."""
    while True:
        found = _run_once(model, given, wanted, repeated=repeated, ops=ops, why=why)
        if found[1] is None or not given.fits_after(found[1]):
            return found


def _run_once(
    model, given, wanted, warm_up_ns=0, repeated=False, ops=False, why=None
):
    """(recording, what the pass raised or None, seconds)."""
    args, kwargs = given.make(repeated)
    backward = wanted.backward
    recording = record(
        model,
        mode=wanted.mode,
        gradients=backward,
        parameters=backward or "if spoilt",
        keep=wanted.keep,
        inside=hasattr(getattr(torch.backends, "mha", None), "set_fastpath_enabled"),
        eager=_is_compiled(model),
        ops=ops,
    )
    start = time.perf_counter()
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(state_guard(model))
            stack.enter_context(recording)
            stack.enter_context(torch.set_grad_enabled(bool(backward)))
            recording._core.fact("input", given.description)
            recording._core.fact("warm_up_ns", warm_up_ns)
            if why is not None:
                recording._core.gap("error", None, why)
            result = model(*args, **kwargs)
            if backward:
                _backward(result)
    except Exception as error:
        return recording, error, 0.0
    return recording, None, time.perf_counter() - start


def _backward(result):
    """From the result's loss if it has one, else from the sum of its tensors."""
    loss = getattr(result, "loss", None)
    found = [loss] if isinstance(loss, torch.Tensor) else list(differentiable(result))
    if not found:
        raise ValueError("backward: nothing in the result requires a gradient")
    sum(one.sum() for one in found).backward()


def unlazy(model, make):
    """A lazy model gets its shapes from its first call, which should be the user's. So a
    copy is called, once before it is recorded. make() returns (args, kwargs)."""
    is_lazy = torch.nn.parameter.is_lazy
    for _, module in modules_of(model):
        own = (*module._parameters.values(), *module._buffers.values())
        if any(one is not None and is_lazy(one) for one in own):
            model = copy.deepcopy(model, _lazy_buffers(model))
            with state_guard(model), torch.no_grad(), contextlib.suppress(Exception):
                args, kwargs = make()
                model(*args, **kwargs)
            return model
    return model


def _lazy_buffers(model):
    """For deepcopy(), by id: torch cannot copy lazy buffers, only lazy parameters."""
    copies = {}
    for _, module in modules_of(model):
        for one in module._buffers.values():
            if one is not None and torch.nn.parameter.is_lazy(one):
                kind = {"device": one.device, "dtype": one.dtype}
                copies[id(one)] = torch.nn.UninitializedBuffer(**kind)
    return copies


def _is_compiled(model):
    return hasattr(torch, "compiler") and any(
        getattr(module, "_compiled_call_impl", None) is not None
        or type(module).__name__ == "OptimizedModule"
        for _, module in modules_of(model)
    )


def _mode_of(model):
    flags = {module.training for _, module in modules_of(model)}
    return {(True,): " (train)", (False,): " (eval)"}.get(tuple(flags), " (mixed)")


def _first_line(error):
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"
