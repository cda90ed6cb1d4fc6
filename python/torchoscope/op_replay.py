"""Runs recorded operations again, from copies of the memory before them.

Values are immutable here: an operation that writes to an argument gets a copy of it, and
its result is another value. So the operations of forward can run in any order that their
edges allow, with the same results."""

import contextlib
import random

import torch

from torchoscope.op_kinds import is_empty, written_arguments

_AGAIN = ("forward",)


class Slot:
    """The place of a tensor among the arguments of an operation."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Kept:
    """Called by the recorder; ops.h of the extension describes the interface.

    `storages` has, by number, a copy of each storage that was read before an operation
    returned it. `ops` has, by number, (func, args, kwargs, values, random state, modes):
    in `args` and `kwargs` a Slot stands for each tensor, `values` has the numbers of the
    values read, returned and written, in that order. `unseen` has, by number, a copy of
    each value that an operation returned uninitialised and something else filled
    (pad_packed_sequence does that with lengths)."""

    def __init__(self):
        self.storages, self.ops, self._state = {}, {}, None
        self.unseen, self._blank = {}, set()

    def storage(self, number, storage):
        self.storages[number] = storage.clone()

    def before(self, args, kwargs):
        """An operation that draws random numbers is about to run."""
        given = [*args, *(kwargs or {}).values()]
        own = next((one for one in given if isinstance(one, torch.Generator)), None)
        self._state = own or torch.default_generator, None
        self._state = self._state[0], self._state[0].get_state()

    def op(self, number, func, args, kwargs, result, values):
        state, self._state = self._state, None
        if self._blank and hasattr(func, "_schema"):
            self._keep_unseen(func, args, kwargs, values)
        if is_empty(func):
            self._blank.update(values[_count(args, kwargs) :])
        given = iter(values)
        args = tuple(_template(one, given) for one in args)
        kwargs = {key: _template(one, given) for key, one in (kwargs or {}).items()}
        modes = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        self.ops[number] = func, args, kwargs, values, state, modes

    def _keep_unseen(self, func, args, kwargs, values):
        """Copies uninitialised values that are read, not written."""
        given, writes = iter(values), written_arguments(func)
        places = [one.name for one in func._schema.arguments]
        named = [(places.index(key), one) for key, one in (kwargs or {}).items()]
        for position, argument in [*enumerate(args), *named]:
            for tensor in tensors_in(argument):
                value = next(given)
                if value in self._blank and position not in writes:
                    self._blank.discard(value)
                    self.unseen[value] = _copy(tensor)


def _template(given, values):
    if isinstance(given, torch.Tensor):
        return Slot(next(values))
    if type(given) in (list, tuple):
        return type(given)(_template(one, values) for one in given)
    return given


def _slots(given):
    if isinstance(given, Slot):
        yield given
    elif type(given) in (list, tuple):
        for one in given:
            yield from _slots(one)


def tensors_in(result):
    """The tensors of an operation's result, in order."""
    if isinstance(result, torch.Tensor):
        yield result
    elif isinstance(result, (list, tuple)):
        for one in result:
            yield from tensors_in(one)


def _count(args, kwargs):
    return sum(1 for _ in tensors_in([*args, *(kwargs or {}).values()]))


class Replay:
    """The operations of a recording, run again. `values` has a tensor for each value, by
    its number."""

    def __init__(self, kept, ops, shuffle=None):
        self._kept = kept
        self.ops = [op for op in ops if op.phase in _AGAIN and op.id in kept.ops]
        self.values, self._known = {}, {}
        for op in self.ops:
            for value in (*op.inputs, *op.outputs, *op.written):
                self._known[value.value] = value
        chance = torch.random.get_rng_state()
        try:
            for op in self.ops if shuffle is None else self._shuffled(shuffle):
                self._run(op.id)
        finally:
            torch.random.set_rng_state(chance)

    def _shuffled(self, seed):
        """A random order that the edges allow."""
        draw, ops = random.Random(seed), {op.id: op for op in self.ops}
        waits, after = {}, {id: [] for id in ops}
        for op in self.ops:
            before = {one.id for value in op.inputs for one in value.producers}
            before &= ops.keys()
            waits[op.id] = len(before)
            for one in before:
                after[one].append(op.id)
        ready = [id for id, n in waits.items() if n == 0]
        while ready:
            at = draw.randrange(len(ready))
            ready[at], ready[-1] = ready[-1], ready[at]
            id = ready.pop()
            yield ops[id]
            for one in after[id]:
                waits[one] -= 1
                if waits[one] == 0:
                    ready.append(one)

    def _run(self, number):
        func, template, more, numbers, state, modes = self._kept.ops[number]
        writes, written = written_arguments(func), []
        places = {one.name: i for i, one in enumerate(func._schema.arguments)}

        def filled(given, is_written):
            if isinstance(given, Slot):
                tensor = self._tensor(given.value)
                if is_written:
                    tensor = _copy(tensor)
                    written.append(tensor)
                return tensor
            if type(given) in (list, tuple):
                return type(given)(filled(one, is_written) for one in given)
            return given

        args = [filled(one, i in writes) for i, one in enumerate(template)]
        kwargs = {key: filled(one, places.get(key) in writes) for key, one in more.items()}
        if state is not None:
            state[0].set_state(state[1])
        with torch.inference_mode(modes[1]), torch.set_grad_enabled(modes[0]):
            result = func(*args, **kwargs)
        given = sum(1 for _ in _slots([*template, *more.values()]))
        for id, tensor in zip(numbers[given:], [*tensors_in(result), *written]):
            self.values.setdefault(id, tensor)

    def _tensor(self, number):
        """A tensor with the content of a value."""
        if number in self._kept.unseen:
            return self._kept.unseen[number]
        if number in self.values:
            return self.values[number]
        value = self._known[number]
        if value.sources:
            size = value.storage_bytes
            storage = torch.UntypedStorage(size)
            for one in value.sources:
                self._known.setdefault(one.value, one)
                part = self._tensor(one.value)
                _view(storage, one).copy_(part)
        else:
            storage = self._kept.storages[value.storage]
        self.values[number] = _view(storage, value)
        return self.values[number]


def _view(storage, value):
    tensor = torch.empty(0, dtype=getattr(torch, value.dtype))
    return tensor.set_(storage, value.offset, value.shape, value.strides)


def _copy(tensor):
    """A copy with the same strides, at the same offset: a kernel may depend on both."""
    storage = tensor.untyped_storage().clone()
    with contextlib.ExitStack() as stack:
        if tensor.is_inference():
            stack.enter_context(torch.inference_mode())
        empty = torch.empty(0, dtype=tensor.dtype)
        return empty.set_(
            storage, tensor.storage_offset(), tensor.shape, tensor.stride()
        )
