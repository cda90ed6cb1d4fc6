"""What a replay of recorded operations needs: their functions and arguments, and copies
of what was in memory before. Kept in this process only, never in a file."""

import torch


class Slot:
    """The place of a tensor among the arguments of an operation."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Replay:
    """Called by the recorder; ops.h of the extension describes the interface.

    `storages` has, by number, a copy of each storage that an operation read before any
    had written to it. `ops` has, by number, (func, args, kwargs, values, random state):
    in `args` and `kwargs` a Slot stands for each tensor, `values` has the numbers of the
    values read, returned and written, in that order."""

    def __init__(self):
        self.storages, self.ops, self._state = {}, {}, None

    def storage(self, number, storage):
        self.storages[number] = storage.clone()

    def before(self, func):
        self._state = torch.random.get_rng_state()

    def op(self, number, func, args, kwargs, values):
        state, self._state = self._state, None
        given = iter(values)
        args = tuple(_template(one, given) for one in args)
        kwargs = {key: _template(one, given) for key, one in (kwargs or {}).items()}
        mode = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        self.ops[number] = func, args, kwargs, values, state, mode


def _template(given, values):
    if isinstance(given, torch.Tensor):
        return Slot(next(values))
    if type(given) in (list, tuple):
        return type(given)(_template(one, values) for one in given)
    return given
