"""Finds out who uses a tensor that a module returned unchanged.

Identity, Dropout in eval mode and similar modules return a tensor that the caller still
has. The autograd graph cannot distinguish `x + drop(x)`, where only one operand came
through the module, from `drop(x) + drop(x)`. The code of the callers can: if they reach
the tensor only through the result, and nothing else holds it (held.py), then every
later use is a use of the result. If this cannot be proved, the answer is UNKNOWN.
"""

import bisect
import dis
import functools
import os
import sys
import weakref

from torch.nn.modules import module as torch_module

from torchoscope import held, probes

NOT, ALONE, DROPPED, UNKNOWN = range(4)  # enum handed of python/ext/record/grads_in.h

_TORCHS, _OURS, _USERS = 1, 2, 3
_whose = {}  # file -> owner of its code
_NEWLOCALS = 2  # bit of co_flags: a function, not a module or a class
_known = weakref.WeakKeyDictionary()  # code -> _Code


def verdict(tensor, around, references, in_graph):
    """Called in a hook after a call. `around`: the module whose forward made the call,
    or None. `references`: the tensor's reference count when the hook began. `in_graph`:
    whether autograd nodes or views also hold the tensor."""
    references -= in_graph and held.graph_counts
    try:
        return _verdict(sys._getframe(0), tensor, around, references)
    except Exception:
        return UNKNOWN


def _verdict(frame, tensor, around, references):
    holders, inside = held.Holders(tensor, references), True
    for frame, group in _callers(frame):
        if held.is_learning() and frame.f_code.co_filename != probes.__file__:
            break
        code = _code_of(frame.f_code)
        call = code.find(frame.f_lasti)
        if not holders.forms:
            if code.drops(call) and held.is_known():
                return DROPPED
            if group is None or not held.can_tell():
                return UNKNOWN
        elif group is not None and group.module is around is not None:
            inside = False
        if group is not None:
            holders.see_call(group, code.how(call))
        else:
            holders.see_slot(code.how(call))
        names = holders.see_frame(frame, code.spread(call))
        if inside and not code.is_free(call, names):
            return UNKNOWN
        if holders.are_all():
            return ALONE
        if holders.unknown:
            return UNKNOWN
    held.note(holders)
    return UNKNOWN


def _callers(frame):
    """The user's frames, innermost first, without torchoscope's and those of
    torch.nn.Module. Each comes with a held.Group if it called a module, else None."""
    group = None
    while frame is not None:
        file = frame.f_code.co_filename
        whose = _whose.get(file) or _find_whose(file)
        if whose == _TORCHS:
            group = group or held.Group()
            group.see(frame)
        elif whose == _USERS:
            yield frame, group
            group = None
        frame = frame.f_back


def _find_whose(file):
    if file == torch_module.__file__:
        whose = _TORCHS
    elif os.path.dirname(file) == os.path.dirname(__file__) and file != probes.__file__:
        whose = _OURS
    else:
        whose = _USERS
    if len(_whose) < 10000:
        _whose[file] = whose
    return whose


def _code_of(code):
    found = _known.get(code)
    if found is None:
        found = _known[code] = _Code(code)
    return found


_DIRECT = frozenset(("__call__", "_call_impl", "_wrapped_call_impl"))
_ENDS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
_GOES = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE")

_WRITES_NOT = ("POP_", "STORE_", "DELETE_", "PRECALL", "KW_NAMES", "NOP", "RESUME")
_WRITES_NOT += ("EXTENDED_ARG", "JUMP_", "NOT_TAKEN", "END_")
_MOVES = ("COPY", "SWAP", "ROT", "DUP")
_COMPUTES = ("BINARY_OP", "UNARY_", "COMPARE_OP")


class _Code:
    """Bytecode analysis: what a function does after one of its calls."""

    def __init__(self, code):
        self._list = [one for one in dis.get_instructions(code) if one.opname != "CACHE"]
        self._offsets = [one.offset for one in self._list]
        self._optimized = bool(code.co_flags & _NEWLOCALS)
        self._shared = frozenset(code.co_cellvars + code.co_freevars)
        self._direct = not _DIRECT.isdisjoint(code.co_names)
        self.is_free = functools.lru_cache(64)(self.is_free)

    def find(self, offset):
        """The index of the instruction at an offset (or whose cache is there)."""
        return bisect.bisect_right(self._offsets, offset) - 1

    def how(self, call):
        """(the form of the call: f(x) or f(*x), whether it may call __call__ or a
        similar method directly); None if the instruction is not a call."""
        name = self._list[call].opname
        if not name.startswith("CALL"):
            return None
        return "EX" if name == "CALL_FUNCTION_EX" else "CALL", self._direct

    def _next(self, i):
        """(index, whether by a jump) of each instruction that may follow."""
        one = self._list[i]
        if one.opcode in dis.hasjrel or one.opcode in dis.hasjabs:
            yield self.find(one.argval), True
        if one.opname not in _ENDS + _GOES and i + 1 < len(self._list):
            yield i + 1, False

    @functools.cached_property
    def _depths(self):
        """The stack depth before each instruction, where known."""
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

    def spread(self, call):
        """The name x in a call f(*x) or f(*x, **y), or None."""
        if self._list[call].opname != "CALL_FUNCTION_EX":
            return None
        before = self._list[max(0, call - 8) : call]
        before = [one for one in before if one.opname not in ("PUSH_NULL", "NOP")]
        if [one.opname for one in before[-3::2]] == ["BUILD_MAP", "DICT_MERGE"]:
            before = before[:-3]
        loaded = _loads(before[-1]) if before else ()
        return loaded[-1] if loaded else None

    def drops(self, call):
        after = [self._list[j].opname for j, _ in self._next(call)]
        return after == ["POP_TOP"]

    def is_free(self, call, names):
        """Are the values of `names` unused after this call?"""
        if names & self._shared or (names and not self._optimized):
            return False
        return self._stack_is_free(call, names) and not self._uses(call, names)

    def _stack_is_free(self, call, names):
        """Is no value of `names` on the stack below the result of the call?"""
        after = min(self._depths[j] for j, _ in self._next(call))
        return all(self._is_free_at(n, call, names) for n in range(after - 1))

    def _is_free_at(self, place, call, names):
        """The same for one stack slot. The result of an operator is a new object."""
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
        if name.startswith(_MOVES):
            return False
        if name.startswith(_COMPUTES) and "=" not in self._list[last].argrepr:
            return True
        used = {n for one in self._list[begin : last + 1] for n in _loads(one)}
        return not used & names

    def _uses(self, call, names):
        """Is one of the names read after the call, before it is assigned again?"""
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
    """The locals that an instruction reads before it writes any."""
    name = one.opname
    if name == "STORE_FAST_LOAD_FAST":
        return _names(one)[1:] if _names(one)[0] != _names(one)[1] else ()
    if name == "LOAD_FAST_AND_CLEAR":  # a comprehension saves it
        return _names(one)
    return _names(one) if name.startswith("LOAD_FAST") else ()


def _stores(one):
    name = one.opname
    if name == "STORE_FAST_LOAD_FAST":
        return _names(one)[:1]
    return _names(one) if name.startswith(("STORE_FAST", "DELETE_FAST")) else ()
