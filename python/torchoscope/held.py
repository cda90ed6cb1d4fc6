"""Who holds a tensor? All its references are counted, so that none can hide.

A tensor that a module returns as it got it may be held by anything: a cache, a closure,
an object of some class. Its reference count tells how many there are. Those of the
functions that are running are found in their frames; those of torch's way to call a
module are the same for every call of one form, and are learnt from modules of our own.
If that is all, nobody else holds the tensor.
"""

import contextlib
import sys

import torch
from torch.nn.modules import module as torch_module

_OPTIMIZED = 1  # of co_flags: f_locals is a copy
_MOST = 1000  # entries of a container that are looked at

_known = {}  # form of a call -> how many references to an argument it has; see Group
_tries = 0
_learning = None  # a list of (forms, references that are left): see learn()


def locals_of(frame):
    """A new dict. Python keeps a copy of the variables with the frame, which would hold
    them until the function ends: it is emptied, unless somebody else has it."""
    there = frame.f_locals
    found = dict(there)
    if type(there) is dict and frame.f_code.co_flags & _OPTIMIZED:
        if sys.getrefcount(there) == _copy_references:
            there.clear()
        else:
            found[""] = there  # locals(): it holds all of them
    return found


def _count_copy():
    frame = sys._getframe(0)
    there = frame.f_locals
    return sys.getrefcount(there)


_copy_references = _count_copy()


class Group:
    """Torch's frames of one call of a module, and the form of the call."""

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
        """Sets `form`: None: the tensor is no argument; False: not known."""
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
        """Hooks are given the arguments, and may keep them."""
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
    """Who holds a tensor, from the caller of a module outwards: how many of the
    references to it are not found yet?"""

    def __init__(self, tensor, references):
        self._tensor, self.left = tensor, references
        self.forms, self.unknown = [], False
        self._slot = None  # is the tensor among args, among kwargs of a __call__?

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
        """The names of variables by which the tensor can be reached. `spread`: the one
        whose elements are the arguments of the call, f(*args)."""
        found, names = locals_of(frame), []
        code = frame.f_code
        self._calls_slot(code, found)
        shared = code.co_cellvars + code.co_freevars
        for name, value in found.items():
            n = 1 if value is self._tensor else self._count(value, name == spread)
            if n:
                names.append(name)
            # Cells, globals and locals() may be used by others.
            if name and name not in shared and code.co_flags & _OPTIMIZED:
                self.left -= n
        return frozenset(names)

    def _calls_slot(self, code, found):
        """Is it the __call__ of a class of the user's? Then whoever called it did so
        as torch's would be called."""
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
        """The next frame outwards, if it called no module of torch's."""
        if self._slot is not None and any(self._slot) and not (how and how[1]):
            self._add(how is not None and (*how, self._slot[1], "slot"))

    def _count(self, value, is_spread):
        """References by a container. It counts if nobody else has the container."""
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


_containers = set()  # (is spread, references to a container that one variable holds)


# --- learning


def _learn_containers():
    thing = object()
    box = (thing,)  # noqa: F841 (found in the frame)
    Holders(thing, 0).see_frame(sys._getframe(0))


def is_known():
    return bool(_known)


graph_counts = 0  # references to a tensor that nodes or views hold: depends on torch


def is_learning():
    return _learning is not None


def is_wanted():
    """Is there something to learn? Not every time anew where that fails."""
    return not _known and _tries < 3 and hasattr(torch._C._autograd, "_get_sequence_nr")


def can_tell():
    """A debugger's trace function holds variables, too."""
    return sys.gettrace() is None and (_known or _learning is not None)


def note(holders):
    if _learning is not None:
        _learning.append((holders.forms, holders.left))


@contextlib.contextmanager
def learn(graph):
    """In the block a recording asks about calls of each form, of tensors that nobody
    else holds. `graph`: see graph_counts."""
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
