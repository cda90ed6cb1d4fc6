"""Finds out, without hooks, why no call of a module was recorded.

If forward() is called directly, or another module uses the weights, torch calls no
hooks. The gradients and the code of the parent module show that the module was used.
"""

import contextlib
import dis
import sys
import types
import weakref
from operator import is_not

import torch

GOT_GRADIENTS = (
    "not called, but its parameters got gradients: its forward() was called directly, "
    "or its weights were used without it"
)
INSIDE_COMPILED = (
    "not recorded: no module of the model was called directly, and calls inside "
    "compiled functions are not recorded; eager=True runs these as Python"
)


class Unseen:
    """The check for one recording of [(name, module), ...]."""

    def __init__(self, modules):
        self._modules = modules
        self._before = {}  # id of a parameter -> _gradient() at the start
        for _, module in modules:
            for parameter in _parameters(module):
                mark = _gradient(parameter)
                if mark is not None:
                    self._before[id(parameter)] = mark

    def tell(self, core):
        """Report to the core why modules were not called, for those that stay so."""
        silent = [one for one in self._modules if not core.calls(one[1])]
        if not silent:
            return
        if len(silent) == len(self._modules) and _something_is_compiled():
            for name, module in silent:
                core.gap("compiled", name, INSIDE_COMPILED)
            return
        quiet = {id(module) for _, module in silent}
        parents = {}
        for name, module in self._modules:
            for child, inner in getattr(module, "_modules", {}).items():
                parents.setdefault(id(inner), (child, module))
        known = None  # ids of the parameters of modules that were called
        for name, module in silent:
            with contextlib.suppress(Exception):
                if type(module).forward is torch.nn.Module.forward:
                    core.gap("container", name, "defines no forward")
                    continue
                text = _own_call(module) or _from_code(module, parents, quiet)
                if text is None and (got := self._that_got_gradients(module)):
                    if known is None:
                        called = [one for one in self._modules if id(one[1]) not in quiet]
                        known = {id(p) for _, one in called for p in _parameters(one)}
                    text = None if got <= known else GOT_GRADIENTS
                if text is not None:
                    core.direct(name, text)

    def _that_got_gradients(self, module):
        """The ids of its parameters that got gradients during the recording."""
        return {
            id(one)
            for one in _parameters(module)
            if _gradient(one) not in (None, self._before.get(id(one)))
        }


def _something_is_compiled():
    """Has torch.compile compiled a function that still exists?"""
    frames = sys.modules.get("torch._dynamo.convert_frame")
    seen = getattr(getattr(frames, "input_codes", None), "seen", ())
    return any(code() is not None for code in seen)


def _parameters(module):
    try:
        return [one for one in module._parameters.values() if one is not None]
    except Exception:  # TorchScript stores them elsewhere
        return []


def _gradient(parameter):
    """A value that changes when the gradient does; None if there is no gradient."""
    try:
        gradient = parameter.grad if parameter.is_leaf else None
        return None if gradient is None else (id(gradient), gradient._version)
    except Exception:
        return None


def _own_call(module):
    """The message for a class that overrides __call__, or None."""
    call = type(module).__call__
    if call is torch.nn.Module.__call__ or call.__module__.startswith("torch."):
        return None
    kind = type(module).__name__
    return f"not recorded: {kind} overrides __call__, which may bypass hooks"


def _from_code(module, parents, quiet):
    """The message found in the code of the nearest called ancestor, or None."""
    found, steps = parents.get(id(module)), 1
    while found is not None and id(found[1]) in quiet:
        found, steps = parents.get(id(found[1])), steps + 1
    if found is None:
        return None
    name, around = found
    kind = type(around).__name__
    if isinstance(around, torch.nn.MultiheadAttention) and name == "out_proj":
        return f"not called: {kind} uses its weights without a call"
    for function in _callers(type(around)):
        if function.calls_forward_of(name, steps > 1):
            where = f"{kind}.{function.name}()"
            return f"not recorded: {where} calls forward() directly, bypassing hooks"
    return None


class _Caller:
    """A function that uses X.forward; its bytecode shows what X is."""

    def __init__(self, function):
        self.name = function.__name__
        self._names = set()  # x of self.x.forward
        self._is_item = False  # is some X a local variable or an item of a container?
        self._all_names = function.__code__.co_names
        before = None
        for step in dis.get_instructions(function):
            is_attribute = step.opname in ("LOAD_METHOD", "LOAD_ATTR")
            if is_attribute and step.argval == "forward":
                self._names.add(before.argval)
                is_item = before.opname.startswith(("LOAD_FAST", "BINARY_SUBSCR"))
                self._is_item |= is_item and before.argval != "self"
            before = step

    def calls_forward_of(self, name, is_inside):
        """Does it use NAME.forward? If the module is inside the container NAME: does it
        use NAME and X.forward, where X is not self or super()?"""
        if is_inside:
            return self._is_item and name in self._all_names
        return name in self._names


_known = weakref.WeakKeyDictionary()  # a class -> (its code objects, [_Caller, ...])


def _callers(kind):
    """The functions of a class that use X.forward. Cached, since disassembling is slow;
    computed again if the functions of the class were replaced."""
    functions = [one for one in vars(kind).values() if type(one) is types.FunctionType]
    codes = [one.__code__ for one in functions]
    known = _known.get(kind)
    if known is None or len(known[0]) != len(codes) or any(map(is_not, known[0], codes)):
        wanted = [one for one in functions if "forward" in one.__code__.co_names]
        known = _known[kind] = codes, [_Caller(one) for one in wanted]
    return known[1]
