"""Describes operations to the recorder in C, once per kind: names, defaults, the
arguments that are written to. ops.h of the extension describes the interface."""

import functools
import threading

import torch
from torch.utils import _python_dispatch as _modes

from torchoscope import _core, flops

# As in src/run/ops.h.
VIEW, WRITES, RANDOM, MAKES, REGION, CUSTOM, DETACHES = 1, 2, 4, 8, 16, 32, 128

# Operations that write to arguments without declaring it in their schema, and the
# argument that must be true for it: running statistics.
_UNANNOUNCED = {
    "aten::native_batch_norm": ((3, 4), 5),
    "aten::cudnn_batch_norm": ((3, 4), 5),
    "aten::miopen_batch_norm": ((3, 4), 5),
}
_OF_TORCH = frozenset(
    "aten prim prims quantized _quantized mkldnn onednn mkldnn_prepacked xnnpack sparse"
    " c10d _c10d_functional _dtensor rngprims inductor profiler symm_mem fsdp dataset"
    " torchvision torchaudio".split()
)

# The torch flags that a mode saves and restores.
_FLAGS_OF_MODES = (
    "old_dispatch_mode_flags",
    "old_non_infra_dispatch_mode_flags",
    "old_without_ignore_compile_internals_dispatch_mode_flags",
)


@functools.cache
def why_not():
    """Why operations cannot be recorded with this torch, as a sentence; or None."""
    if not hasattr(_modes, "_disable_current_modes"):
        return f"torch {torch.__version__} cannot record operations: use torch 2.1 or later"
    with _modes._disable_current_modes():  # the user's
        return _storage_problem()


def _storage_problem():
    tensor = torch.zeros(1, device="cpu")
    if not hasattr(tensor, "untyped_storage") or not hasattr(
        torch._C, "_current_autograd_node"
    ):
        return f"torch {torch.__version__} cannot record operations: use torch 2.1 or later"
    if tensor.untyped_storage() is not tensor.untyped_storage():
        return f"torch {torch.__version__} does not let storages be followed"
    return None


class Wanted:
    """How to record operations; given to the recorder."""

    def __init__(self, stats=False, replay=None, limit=0):
        self.stats, self.replay, self.limit = stats, replay, limit
        self.mode = None  # makes a mode for the calling thread

    def describe(self, func):
        """(name, overload, names of arguments, defaults or ..., bits of arguments that
        it writes to, argument that must be true for that or -1, flags, what to call, the
        user's formula for FLOPs); None if it is not recorded: a mark for profilers."""
        schema = getattr(func, "_schema", None)
        if schema is None:  # a higher-order operation
            name = getattr(func, "name", None)
            name = name() if callable(name) else type(func).__name__
            return (f"higher_order::{name}", "", (), (), 0, -1, REGION, None, None)
        if schema.name.startswith("profiler::"):
            return None
        arguments = schema.arguments
        names = tuple(one.name for one in arguments)
        defaults = tuple(
            one.default_value if one.has_default_value() else ... for one in arguments
        )
        writes = sum(1 << i for i in written_arguments(func))
        training = _UNANNOUNCED.get(schema.name, ((), -1))[1]
        flags = _flags(func, schema, writes)
        call = getattr(func, "_op", func)
        formula = flops.counter_of(func)
        overload = schema.overload_name
        return (
            *(schema.name, overload, names, defaults, writes & (2**64 - 1), training),
            *(flags, call, formula),
        )

    def run(self, func, args, kwargs):
        """Run a higher-order operation. The operations inside it are not recorded:
        torch refuses to run it in a mode."""
        with _modes._disable_current_modes():
            return func(*args, **(kwargs or {}))

    def enter(self):
        """Enter a mode on this thread; a function that leaves it."""
        return Entered(self.mode(), flags=False).leave


class Entered:
    """A mode on the stack that torch keeps for this thread. `flags`: also set the flags
    that torch keeps for all threads. They are set while the recording lasts; a thread
    that leaves later than the one that made the recording would set them again."""

    def __init__(self, mode, flags=True):
        self._mode, self._flags, self._thread = mode, flags, threading.get_ident()
        _drop_stopped()
        if flags:
            mode.__enter__()
        else:
            _modes._push_mode(mode)

    def leave(self):
        """Leave it, if this is its thread. Modes entered later stay. While torch runs
        an operation for the mode, or compiles, it is not on the stack: then leave() does
        nothing and returns False."""
        if self._thread != threading.get_ident():
            return False
        at = next((i for i, one in enumerate(_stack()) if one is self._mode), None)
        if at is None:
            return False
        if self._flags and at == len(_stack()) - 1:
            self._mode.__exit__(None, None, None)
        else:
            _take_out(at)
        return True


def _stack():
    """The modes of this thread, the innermost last."""
    n = torch._C._len_torch_dispatch_stack()
    return [torch._C._get_dispatch_stack_at(i) for i in range(n)]


def _take_out(at):
    """Take a mode off the stack. The next one then restores the flags that this one
    would have restored."""
    mode, *later = _stack()[at:]
    for name in _FLAGS_OF_MODES:
        before = getattr(mode, name, None)
        if before:
            value = before.pop()
            if later and getattr(later[0], name, None):
                getattr(later[0], name)[-1] = value
    for _ in range(1 + len(later)):
        _modes._pop_mode()
    for one in later:
        _modes._push_mode(one)


def _drop_stopped():
    """Take modes off this thread's stack that a recording left there because it was
    stopped on another thread."""
    kind = getattr(_core, "_ops_mode_type", None)
    for i, mode in reversed(list(enumerate(_stack()))):
        if kind is not None and type(mode) is kind and not mode.under_way():
            _take_out(i)


def empty_mode():
    """A mode that only passes operations on, to measure torch's own overhead."""
    return _core.empty_mode()


def written_arguments(func):
    """The positions of the arguments that an operation writes to."""
    schema = func._schema
    known = set(_UNANNOUNCED.get(schema.name, ((), -1))[0])
    return known | {
        i
        for i, one in enumerate(schema.arguments)
        if one.alias_info is not None and one.alias_info.is_write
    }


def is_empty(func):
    """Does it return memory that no kernel has written?"""
    name = func._schema.name if hasattr(func, "_schema") else ""
    return name.startswith(("aten::empty", "aten::new_empty"))


def _flags(func, schema, writes):
    flags = WRITES if writes else 0
    returned = [one.alias_info for one in schema.returns]
    if not writes and any(one is not None for one in returned):
        flags |= VIEW
    if torch.Tag.nondeterministic_seeded in getattr(func, "tags", ()):
        flags |= RANDOM
    space = schema.name.partition("::")[0]
    if is_empty(func):
        flags |= MAKES
    if schema.name == "aten::detach":
        flags |= DETACHES
    if space not in _OF_TORCH:
        flags |= CUSTOM
    return flags
