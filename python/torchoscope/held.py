"""Finds out who holds a tensor, by accounting for all of its references.

A tensor that a module returns unchanged may also be held by a cache, a closure or any
other object. Its reference count gives the total. References from running functions are
found in their frames. The number of references from torch's own call path is the same
for every call of one form, and is learnt by calling test modules (probes.py). If these
add up to the total, nothing else holds the tensor.
"""

import contextlib
import sys

import torch
from torch.nn.modules import module as torch_module

_OPTIMIZED = 1  # bit of co_flags: f_locals is a copy
_MOST = 1000  # larger containers are not searched

_known = {}  # form of a call -> its references to an argument; see Group
_tries = 0
_learning = None  # a list of (forms, unexplained references): see learn()


def locals_of(frame):
    """The local variables, as a new dict. Python caches a dict of them in the frame,
    which would keep them alive until the function returns. It is cleared here, unless
    something else refers to it."""
    there = frame.f_locals
    found = dict(there)
    if type(there) is dict and frame.f_code.co_flags & _OPTIMIZED:
        if sys.getrefcount(there) == _copy_references:
            there.clear()
        else:
            found[""] = there  # the result of locals() also holds them all
    return found


def _count_copy():
    frame = sys._getframe(0)
    there = frame.f_locals
    return sys.getrefcount(there)


_copy_references = _count_copy()


class Group:
    """Torch's frames in one call of a module, and the form of the call."""

    def __init__(self):
        self.module = self.form = None
        self._args = self._kwargs = self._result = None
        self._several = False

    def see(self, frame):
        if frame.f_code.co_name == "_call_impl":
            found = locals_of(frame)
            self._several |= self.module is not None
            self.module = found.get("self")
            self._args = found.get("args")
            self._kwargs = found.get("kwargs")
            self._result = found.get("result")

    def find_form(self, how, tensor, first):
        """Sets `form`: None if the tensor is not an argument, False if unknown."""
        args = sum(arg is tensor for arg in self._args or ())
        kwargs = sum(arg is tensor for arg in (self._kwargs or {}).values())
        if args + kwargs == 0 and not first:
            self.form = None
        elif args + kwargs != 1 or self._several or self._is_hooked():
            self.form = False
        else:
            result = _how_returned(self._result, tensor) if first else "outer"
            known = how is not None and result is not None
            self.form = known and (*how, kwargs, result)

    def _is_hooked(self):
        """Are there other hooks? They get the arguments and may keep them."""
        there = self.module.__dict__
        return (
            there["_forward_pre_hooks"]
            or there["_forward_hooks"]
            or there["_backward_hooks"]
            or there["_backward_pre_hooks"]
            or len(torch_module._global_forward_pre_hooks) > 1
            or len(torch_module._global_forward_hooks) > 1
        )


def _how_returned(result, tensor):
    if result is tensor:
        return "bare"
    if type(result) in (tuple, list) and len(result) <= _MOST:
        held = sum(one is tensor for one in result)
    elif type(result) is dict and len(result) <= _MOST:
        held = sum(one is tensor for one in result.values())
    else:
        held = 0
    return f"held {sys.getrefcount(result)}" if held == 1 else None


class Holders:
    """Walks from the caller of a module outwards; `left` is the number of references to
    the tensor that are not yet accounted for."""

    def __init__(self, tensor, references):
        self._tensor, self.left = tensor, references
        self.forms, self.unknown = [], False
        self._slot = None  # is the tensor in (args, kwargs) of a user's __call__?

    def are_all(self):
        return self.left == 0 and not self.unknown

    def see_call(self, group, how):
        group.find_form(how, self._tensor, not self.forms)
        self._add(group.form)

    def _add(self, form):
        self.forms.append(form)
        if form is not None and _learning is None:
            self.unknown |= form not in _known
            self.left -= _known.get(form, 0)

    def see_frame(self, frame, spread=None):
        """The names of the variables that hold the tensor, directly or in a container.
        `spread`: the name of args in a call f(*args)."""
        found, names = locals_of(frame), []
        code = frame.f_code
        self._calls_slot(code, found)
        shared = code.co_cellvars + code.co_freevars
        for name, value in found.items():
            n = 1 if value is self._tensor else self._count(value, name == spread)
            if n:
                names.append(name)
            # Other code may use cells, globals and locals().
            if name and name not in shared and code.co_flags & _OPTIMIZED:
                self.left -= n
        return frozenset(names)

    def _calls_slot(self, code, found):
        """Sets `_slot` if this frame is a __call__ in a user's class. Its caller calls
        it the way torch's __call__ is called."""
        self._slot = None
        if code.co_name == "__call__" and isinstance(found.get("self"), torch.nn.Module):
            names = code.co_varnames[code.co_argcount :][:2]
            args, kwargs = [found.get(name) for name in (*names, None, None)][:2]
            self._slot = (
                type(args) is tuple and any(one is self._tensor for one in args),
                type(kwargs) is dict
                and any(one is self._tensor for one in kwargs.values()),
            )

    def see_slot(self, how):
        """The next outer frame, if torch's own __call__ was not called there."""
        if self._slot is not None and any(self._slot) and not (how and how[1]):
            self._add(how is not None and (*how, self._slot[1], "slot"))

    def _count(self, value, is_spread):
        """References from a container; unknown if others share the container."""
        if type(value) in (tuple, list) and len(value) <= _MOST:
            n = sum(one is self._tensor for one in value)
        elif type(value) is dict and len(value) <= _MOST:
            n = sum(one is self._tensor for one in value.values())
        else:
            return 0
        references = is_spread, sys.getrefcount(value)
        if n and _learning is not None:
            _containers.add(references)
        elif n and references not in _containers:
            self.unknown = True
        return n


_containers = set()  # (is spread, reference count of a container in one variable)


# --- learning


def _learn_containers():
    thing = object()
    box = (thing,)  # noqa: F841 (found in the frame)
    Holders(thing, 0).see_frame(sys._getframe(0))


def is_known():
    return bool(_known)


graph_counts = 0  # references from autograd nodes or views: depends on torch


def is_learning():
    return _learning is not None


def is_wanted():
    """Should learn() run? At most three times if it fails."""
    return not _known and _tries < 3 and hasattr(torch._C._autograd, "_get_sequence_nr")


def can_tell():
    """Can references be counted? Not under a debugger: it also holds variables."""
    return sys.gettrace() is None and (_known or _learning is not None)


def note(holders):
    if _learning is not None:
        _learning.append((holders.forms, holders.left))


@contextlib.contextmanager
def learn(graph):
    """Learns the reference counts of each form of call. The block must record such
    calls with tensors that nothing else holds. `graph`: see graph_counts."""
    global _learning, _tries, graph_counts
    graph_counts = graph
    _learning, _tries = [], _tries + 1
    try:
        _learn_containers()
        yield
        for forms, left in _learning:
            _take(forms, left)
    except Exception:
        _known.clear()
    finally:
        _learning = None


def _take(forms, left):
    forms = [form for form in forms if form is not None]
    last = forms.pop()
    left -= sum(_known[form] for form in forms)
    if last:
        _known[last] = min(left, _known.get(last, left))
