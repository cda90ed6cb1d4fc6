"""Autograd's graph behind the results of a model: its nodes and edges, and when a
backward runs each of them. Every node is visited once, without recursion."""

import torch

from torchoscope import _core


class Step:
    """A node of autograd's graph."""

    __slots__ = ("node", "next", "begins", "ends", "shapes", "is_leaf")

    def __init__(self, node):
        self.node = node
        self.next = []  # (Step, input of it) for each gradient that it sends on
        self.begins, self.ends = [], []  # nanoseconds, once per backward
        self.shapes = []  # of the gradients that reached it
        self.is_leaf = hasattr(node, "variable")

    @property
    def name(self):
        return self.node.name().rpartition("::")[2]

    @property
    def is_custom(self):
        return isinstance(self.node, torch.autograd.function.BackwardCFunction)


class Watch:
    """The autograd nodes of all results passed to it."""

    def __init__(self):
        self.steps = {}  # node -> Step: holding a node keeps its identity
        self._handles = []
        self._last = None  # the Step that runs
        self.ran = []  # Steps in starting order
        self.enabled = True

    def add(self, result):
        """Walk the graph behind the tensors of a result."""
        tensors = [one for _, one in _core._walk(result)]
        found = [t.grad_fn for t in tensors if getattr(t, "grad_fn", None) is not None]
        todo = [self._enter(node) for node in found if node not in self.steps]
        while todo:
            step = todo.pop()
            for node, at in step.node.next_functions:
                if node is None:
                    continue
                if node not in self.steps:
                    todo.append(self._enter(node))
                step.next.append((self.steps[node], at))

    def _enter(self, node):
        step = self.steps[node] = Step(node)
        if hasattr(node, "register_prehook"):
            handle = node.register_prehook(lambda grads: self._begin(step, grads))
            self._handles.append(handle)
        elif not step.is_leaf:  # an old torch: a leaf with a hook copies its gradient
            handle = node.register_hook(lambda _, grads: self._begin(step, grads))
            self._handles.append(handle)
        return step

    def _begin(self, step, gradients):
        now = _core.clock_ns()
        if not self.enabled:
            return
        if self._last is None:
            engine = torch.autograd.Variable._execution_engine
            engine.queue_callback(self._end)
        else:
            self._last.ends.append(now)
        if not step.begins:
            self.ran.append(step)
            step.shapes = [None if g is None else tuple(g.shape) for g in gradients]
        self._last = step
        step.begins.append(_core.clock_ns())

    def _end(self):
        """The backward ended."""
        if self._last is not None:
            self._last.ends.append(_core.clock_ns())
            self._last = None

    def stop(self):
        self.enabled = False
        if self._last is not None and len(self._last.ends) < len(self._last.begins):
            self._end()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def windows(self):
        """[(begin, end, Step)] in the order of time."""
        found = [
            (begin, end, step)
            for step in self.ran
            for begin, end in zip(step.begins, step.ends)
        ]
        return sorted(found, key=lambda one: one[:2])
