"""Runs a model once and records its modules and operations.

The pass runs in eval mode and under torch.inference_mode(): there, torch hands over
its operations as they were called (conv2d, linear) and not what they are made of
(convolution; t and addmm). The model is left as it was.
"""

import contextlib
import json
from collections.abc import Mapping

import torch

from torchoscope import op_kinds
from torchoscope.inputs import takes_keywords
from torchoscope.recorder import record
from torchoscope.restore import Attributes, state_guard
from torchoscope.summaries import unlazy

ROOT = "(root)"
_TENSOR = ("aten::lift_fresh", "aten::detach_")


class Node:
    """A module at one of its paths. `row` is its entry in the tree of docs/json.md."""

    def __init__(self, path, row, parent):
        self.path = path
        self.row = row
        self.parent = parent
        self.children = []
        self.calls = []  # by this path

    @property
    def shown_path(self):
        return self.path or ROOT


class Trace:
    """One recorded pass: `nodes` by path, in the order of the model; `operations` with
    the node that each of them belongs to, and how many more were `lost`, beyond the
    limit of a recording."""

    def __init__(self, recording, model, ops):
        self.model_class = type(model).__name__
        self.tree = json.loads(recording._now().json("tree"))
        self.nodes = _expanded(self.tree["modules"])
        calls = recording.calls()
        paths = self._paths(calls)
        for call in calls:
            self.nodes[paths[call.call]].calls.append(call)
        self._share_calls()
        ran = recording.ops() if ops else ()
        self.lost = ran.lost if ops else 0
        self.operations = [
            (op, self._node(paths.get(op.call, op.module))) for op in _called(ran)
        ]

    def _paths(self, calls):
        """{call: path}. A recording names a module inside a shared one by its first
        path; the call around it tells which path was used."""
        paths, first = {}, {}
        for call in calls:
            path, around = call.name, paths.get(call.parent)
            if around and path.startswith(f"{first[call.parent]}."):
                path = around + path[len(first[call.parent]) :]
            node = self._node(path)
            paths[call.call], first[call.call] = node.path, node.row["name"]
        return paths

    def _node(self, path):
        """The node at a path, or the nearest one above: a module that the model does
        not register has none."""
        while path not in self.nodes:
            path = path.rpartition(".")[0]
        return self.nodes[path]

    def _share_calls(self):
        """A path by which a shared module was never called gets the calls by its other
        paths."""
        known = {}
        for node in self.nodes.values():
            known.setdefault(node.row["place"], []).extend(node.calls)
        for node in self.nodes.values():
            node.calls = node.calls or known[node.row["place"]]


def _called(ops):
    """The operations inside the model, without marks for profilers. torch.tensor() is
    two: lift_fresh, detach_."""
    before = None
    for op in ops:
        is_mark = op.name.startswith("profiler::")
        if op.module is not None and not is_mark and (before, op.name) != _TENSOR:
            yield op
        before = op.name


def _expanded(rows):
    """{path: Node} for every path of every module, in pre-order. The tree lists what is
    in a shared module at its first place only."""
    first = {}
    for row in rows:
        first.setdefault(row["name"], row)
    inside = {}
    for row in rows[1:]:
        inside.setdefault(row["parent"], []).append(row)
    nodes, todo = {}, [("", rows[0], None)]
    while todo:
        path, row, parent = todo.pop()
        own = first[row.get("same_as", row["name"])]
        node = nodes[path] = Node(path, own, parent)
        if parent:
            parent.children.append(node)
        prefix = len(own["name"]) + 1 if own["name"] else 0
        for child in reversed(inside.get(own["place"], ())):
            name = child["name"][prefix:]
            below = f"{path}.{name}" if path else name
            todo.append((below, child, node))
    return nodes


def check_model(model):
    """Raises TypeError if it is not a module."""
    if not isinstance(model, torch.nn.Module):
        kind = type(model).__name__
        raise TypeError(f"the model function returned {kind}, not a torch.nn.Module")


def check_torch():
    """Raises RuntimeError if this torch does not let us record operations."""
    why = op_kinds.why_not()
    if why is not None:
        raise RuntimeError(why)


def trace_model(model, inputs, ops=True):
    """Call the model with sample inputs: a tensor, several in a tuple or list, or
    keyword arguments in a dict. Returns a Trace, with operations if `ops`."""
    args, kwargs = arguments(model, inputs)
    model = unlazy(model, lambda: (args, kwargs))
    recording = None
    with contextlib.suppress(Exception):
        recording = _run(model, args, kwargs, ops, torch.inference_mode())
    if recording is None:
        # Perhaps forward needs autograd; its operations are then those of autograd.
        recording = _run(model, args, kwargs, ops, torch.enable_grad())
    return Trace(recording, model, ops)


def _run(model, args, kwargs, ops, mode):
    wanted = {"mode": "guard", "calls": "all", "gradients": False, "parameters": False}
    with contextlib.ExitStack() as stack:
        # An attribute that forward sets may be an inference tensor, of no use outside.
        stack.callback(Attributes(model).restore)
        stack.enter_context(state_guard(model))
        model.eval()
        stack.enter_context(mode)
        recording = stack.enter_context(
            record(model, ops=ops, inside=True, eager=True, **wanted)
        )
        model(*args, **kwargs)
    return recording


def arguments(model, inputs):
    """(args, kwargs) for a call of the model with its sample inputs."""
    if isinstance(inputs, Mapping) and takes_keywords(model, inputs):
        return (), dict(inputs)
    if type(inputs) in (tuple, list):
        return tuple(inputs), {}
    return (inputs,), {}
