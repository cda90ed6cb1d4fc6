"""Who uses a tensor that a module gave back as it was?

Identity, Dropout in eval mode and modules that hand an argument on return a tensor that
the caller still has. Autograd's graph does not tell `x + drop(x)`, where only one
operand came through the module, from `drop(x) + drop(x)`. The code of the callers does:
where none of them can reach the tensor but by the result, whoever uses it after the call
uses the result. What cannot be shown is not known.
"""

import bisect
import dis
import functools
import sys
import weakref

import torch
from torch.nn.modules import module as torch_module

NOT, ALONE, DROPPED, UNKNOWN = range(4)  # enum handed of python/ext/grads_in.h

_HERE = __name__.rpartition(".")[0]
_NEWLOCALS = 2  # of co_flags: a function, not a module or a class
_MOST = 1000  # entries of a container that are looked at
_known = weakref.WeakKeyDictionary()  # code -> _Code


def verdict(tensor, around, again):
    """Asked in a hook after a call. `around`: the module whose forward made it, or None;
    `again`: another call has handed the tensor on before."""
    try:
        return _verdict(sys._getframe(0), tensor, around, again)
    except Exception:
        return UNKNOWN


def _verdict(frame, tensor, around, again):
    first = True
    for frame in _callers(frame, around):
        code = _code_of(frame.f_code)
        if first and code.drops(frame.f_lasti):
            return DROPPED
        if not code.is_free(frame.f_lasti, _holders(frame, tensor), again):
            return UNKNOWN
        first = False
    return ALONE


def _callers(frame, around):
    """The frames of those who may use the result: up to where torch calls `around`. Not
    our own, nor those of torch's way to call a module."""
    started = False
    while frame is not None:
        if frame.f_code.co_filename == torch_module.__file__:
            if started and frame.f_locals.get("self") is around is not None:
                return
        elif not _is_ours(frame):
            started = True
            yield frame
        frame = frame.f_back


def _is_ours(frame):
    name = frame.f_globals.get("__name__") or ""
    return name == _HERE or name.startswith(_HERE + ".")


def _holders(frame, tensor):
    """Names of locals by which the tensor can be reached."""
    return frozenset(
        name for name, value in frame.f_locals.items() if _holds(value, tensor)
    )


def _holds(value, tensor, depth=2):
    if value is tensor:
        return True
    if depth == 0:
        return False
    if isinstance(value, (tuple, list)):
        return any(_holds(one, tensor, depth - 1) for one in value[:_MOST])
    if isinstance(value, torch.nn.Module):
        # Its modules and parameters are no places where results are kept.
        values = [one for one in vars(value).values() if type(one) is not dict]
        return any(_holds(one, tensor, 1) for one in values)
    if isinstance(value, dict) and len(value) <= _MOST:
        return any(_holds(one, tensor, depth - 1) for one in list(value.values()))
    return False


def _code_of(code):
    found = _known.get(code)
    if found is None:
        found = _known[code] = _Code(code)
    return found


_ENDS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
_GOES = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE")

_WRITES_NOT = ("POP_", "STORE_", "DELETE_", "PRECALL", "KW_NAMES", "NOP", "RESUME")
_WRITES_NOT += ("EXTENDED_ARG", "JUMP_", "NOT_TAKEN", "END_")
_MOVES = ("COPY", "SWAP", "ROT", "DUP")
_COMPUTES = ("BINARY_OP", "UNARY_", "COMPARE_OP")


class _Code:
    """What happens in a function after a call that it makes."""

    def __init__(self, code):
        self._list = [one for one in dis.get_instructions(code) if one.opname != "CACHE"]
        self._offsets = [one.offset for one in self._list]
        self._optimized = bool(code.co_flags & _NEWLOCALS)
        self._shared = frozenset(code.co_cellvars + code.co_freevars)
        self._depths = self._find_depths()
        self.is_free = functools.lru_cache(64)(self.is_free)

    def _find(self, offset):
        """The instruction at an offset, or the one whose cache is there."""
        return bisect.bisect_right(self._offsets, offset) - 1

    def _next(self, i):
        """Instructions that may follow."""
        one = self._list[i]
        if one.opcode in dis.hasjrel or one.opcode in dis.hasjabs:
            yield self._find(one.argval), True
        if one.opname not in _ENDS + _GOES and i + 1 < len(self._list):
            yield i + 1, False

    def _find_depths(self):
        """Of the stack before each instruction, where it is known."""
        depths, todo = {0: 0}, [0]
        while todo:
            i = todo.pop()
            one = self._list[i]
            has_argument = one.opcode >= dis.HAVE_ARGUMENT
            for j, jumps in self._next(i):
                effect = dis.stack_effect(
                    one.opcode, one.arg if has_argument else None, jump=jumps
                )
                if j not in depths:
                    depths[j] = depths[i] + effect
                    todo.append(j)
        return depths

    def drops(self, offset):
        i = self._find(offset)
        after = [self._list[j].opname for j, _ in self._next(i)]
        return after == ["POP_TOP"]

    def is_free(self, offset, names, again):
        """Is what `names` hold not used after the call at this offset?"""
        if names & self._shared or (names and not self._optimized):
            return False
        i = self._find(offset)
        return self._stack_is_free(i, names, again) and not self._uses(i, names)

    def _stack_is_free(self, call, names, again):
        """Does the stack below the result of the call hold none of it?"""
        after = min(self._depths[j] for j, _ in self._next(call))
        return all(self._is_free_at(n, call, names, again) for n in range(after - 1))

    def _is_free_at(self, place, call, names, again):
        """The same of one place of the stack. What an operator gives is new; what
        something that was given the tensor gives may be the tensor."""
        begin = last = None
        for i in range(call):
            depth, then = self._depths.get(i), self._depths.get(i + 1)
            if depth is None or then is None:
                continue
            if depth <= place < then:
                begin = i
            if then == place + 1 and not self._list[i].opname.startswith(_WRITES_NOT):
                last = i
        if begin is None or last is None or last < begin:
            return False
        name = self._list[last].opname
        if name.startswith(_MOVES) or (again and "CALL" in name):
            return False
        if name.startswith(_COMPUTES) and "=" not in self._list[last].argrepr:
            return True
        used = {n for one in self._list[begin : last + 1] for n in _loads(one)}
        return not used & names

    def _uses(self, call, names):
        """Is one of the names read after the call, before it is set anew?"""
        todo = [(j, names) for j, _ in self._next(call)]
        met = set()
        while todo:
            at = todo.pop()
            if at in met:
                continue
            met.add(at)
            i, left = at
            one = self._list[i]
            if set(_loads(one)) & left:
                return True
            left = left - set(_stores(one))
            if left:
                todo.extend((j, left) for j, _ in self._next(i))
        return False


def _names(one):
    return one.argval if isinstance(one.argval, tuple) else (one.argval,)


def _loads(one):
    """Names of locals that an instruction reads before it sets any."""
    name = one.opname
    if name == "STORE_FAST_LOAD_FAST":
        return _names(one)[1:] if _names(one)[0] != _names(one)[1] else ()
    if name == "LOAD_FAST_AND_CLEAR":  # a comprehension keeps it aside
        return _names(one)
    return _names(one) if name.startswith("LOAD_FAST") else ()


def _stores(one):
    name = one.opname
    if name == "STORE_FAST_LOAD_FAST":
        return _names(one)[:1]
    return _names(one) if name.startswith(("STORE_FAST", "DELETE_FAST")) else ()
