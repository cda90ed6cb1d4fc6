"""module.forward_stats: a list with the inputs and outputs of its calls, newest last.

It is not stored in the module. A descriptor on the class nn.Module looks the module up
in a table of weak references. For a module that was never recorded it raises
AttributeError; torch then looks among parameters, buffers and modules, as it would
without the descriptor.
"""

import re
import threading
import weakref

import torch

NAME = "forward_stats"
FIRST = ("sample", "tensor", "hidden_states", "last_hidden_state", "logits", "values")
FIRST += ("pred",)

_lock = threading.Lock()
_table = {}  # id of a module -> (weak reference to it, its Recording, its name)


class ForwardStats(dict):
    """A call, with access by key and by attribute. Pickles as a plain dict, which loads
    without torchoscope."""

    __slots__ = ()

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value

    def __reduce__(self):
        return dict, (dict(self),)

    def __copy__(self):
        return ForwardStats(self)

    def __deepcopy__(self, memo):
        return ForwardStats(self)  # values are immutable: numbers, shapes, names


class _Descriptor:
    """A module's own attribute takes precedence. The attribute can be set and deleted
    like any other: rp, where the name comes from, does so before it records."""

    def __get__(self, module, owner=None):
        if module is None:
            return self
        if NAME in module.__dict__:
            return module.__dict__[NAME]
        entry = _table.get(id(module))
        if entry is None or entry[0]() is not module or _has_own(module):
            if owner.__module__.startswith("torch._dynamo"):
                return None  # dynamo reads every name in dir() of its modules
            raise AttributeError(
                f"{type(module).__name__!r} object has no attribute {NAME!r}"
            )
        return entry[1].module_stats(entry[2])

    def __set__(self, module, value):
        module.__dict__[NAME] = value

    def __delete__(self, module):
        entry = _table.get(id(module))
        if NAME in module.__dict__:
            del module.__dict__[NAME]
        elif entry is not None and entry[0]() is module:
            del _table[id(module)]
        else:
            raise AttributeError(NAME)


def _has_own(module):
    parts = (module._parameters, module._buffers, module._modules)
    return any(NAME in part for part in parts)


def install():
    """Install the descriptor, once per process. Does not replace an existing attribute
    of nn.Module."""
    if NAME not in torch.nn.Module.__dict__:
        setattr(torch.nn.Module, NAME, _Descriptor())


def attach(recording, modules):
    """Make forward_stats of these (name, module) return data of this recording."""
    install()
    with _lock:
        for name, module in modules:
            key = id(module)
            entry = _table.get(key)
            known = entry is not None and entry[0]() is module
            weak = entry[0] if known else weakref.ref(module, _dropper(key))
            _table[key] = weak, recording, name


def recorded(module):
    """(the recording attached to this module, its name there), or None."""
    entry = _table.get(id(module))
    return entry[1:] if entry is not None and entry[0]() is module else None


def stats_of(module):
    """Its recorded forward_stats, or None. Does not access the module's attributes."""
    found = recorded(module)
    return found and found[0].module_stats(found[1])


def detach(recording):
    with _lock:
        for key in [k for k, entry in _table.items() if entry[1] is recording]:
            del _table[key]


def _dropper(key):
    table = _table  # the global may be gone at interpreter exit

    def drop(reference):
        entry = table.get(key)
        if entry is not None and entry[0] is reference:
            table.pop(key, None)

    return drop


def call_stats(call):
    """The ForwardStats of a Call."""
    stats = ForwardStats(runtime=call.time_ns / 1e9)
    for prefix, value in (("in", _first_in(call)), ("out", _first(call.outputs))):
        if value is not None:
            for key, what in _described(value).items():
                stats[f"{prefix}_{key}"] = what
    return stats


def _first_in(call):
    """The tensor of the first argument that has one. The argument's name is the start
    of the path."""
    values = [value for value in call.inputs if value.shape is not None]
    if not values:
        return None
    name = re.match(r"(\[.*?\]|[^.\[{]*)", values[0].path)[0]
    return _first(values, name)


def _first(values, beginning=""):
    values = [value for value in values if value.shape is not None]
    for value in values:
        if value.path in (beginning, f"{beginning}[0]"):
            return value
    for name in FIRST:
        for value in values:
            if value.path.removeprefix(beginning).removeprefix(".") == name:
                return value
    return values[0] if values else None


def _described(value):
    return {
        "shape": torch.Size(value.shape),
        "dtype": getattr(torch, value.dtype.removeprefix("torch."), value.dtype),
        "device": _device(value.device),
        "min": _number(value.min),
        "max": _number(value.max),
        "mean": _number(value.mean),
        "std": _number(value.std),
        "requires_grad": bool(value.requires_grad),
        "has_grad": False,
        "memory_bytes": value.bytes,
    }


def _device(name):
    try:
        return torch.device(name)
    except Exception:
        return name


def _number(x):
    return float("nan") if x is None else float(x)
