"""The NaN capsule: the state at the start of a training step, so that it can run again.

Each pass keeps the inputs of the model and the states of random generators. Large
inputs are kept by reference; if one is overwritten before it is needed, the capsule
reports that. When a value is not finite, capsule_file.py saves them with the parameters
and buffers; replaying.py reads the file."""

import contextlib
import functools
import time
import weakref

import torch

from torchoscope import _core, hooks
from torchoscope.plain_tree import Writer

HELD_MOST = 64 << 20  # bytes of inputs and gradients, of one step
COPIED_MOST = 1 << 20  # larger tensors are held by reference
PASSES_MOST = 64  # of one step
_LEARN = 16  # detect changing buffers in the first steps, then in every 16th
_CREDIT = 10_000_000  # nanoseconds that may be spent before the share applies
_OUTPUTS_MOST = 64  # results whose gradients are held


class _Held:
    """A tensor at a point in time: a copy of its elements, or the tensor and marks to
    detect writes."""

    __slots__ = ("tensor", "copy", "mark", "where", "lost", "_seen")

    def __init__(self, tensor, left, where=None):
        self.tensor = self.copy = self.lost = None
        self.where, self.mark = where, _core.mark(tensor)
        layout = tensor.layout
        strides = tensor.stride() if layout is torch.strided else None
        grad = tensor.requires_grad
        self._seen = tensor.shape, tensor.dtype, tensor.device, grad, strides
        if self.mark is None or strides is None:
            self.lost = f"a tensor of layout {layout} is not saved"
        elif self.mark[2] > left:
            self.lost = f"{_core.format_bytes(self.mark[2])} are too many to hold"
        else:
            if self.mark[3]:
                self.copy = _core.copy(tensor, COPIED_MOST)
            if self.copy is None:
                self.tensor = tensor

    @property
    def size(self):
        return 0 if self.lost else self.mark[2]

    @property
    def about(self):
        shape, dtype, device, grad, strides = self._seen
        found = {"at": self.where, "shape": list(shape), "dtype": _word(dtype)}
        found |= {"device": str(device), "grad": grad}
        return {**found, "strides": None if strides is None else list(strides)}

    def dense(self):
        """A tensor on the CPU, in C order; None with `lost` set."""
        if self.lost is None and self.tensor is not None:
            if _core.mark(self.tensor)[:2] != self.mark[:2]:
                self.lost = "overwritten after the step began"
        if self.lost is not None:
            return None
        if self.copy is None:
            return dense(self.tensor)
        return tensor_of(self.copy, *self._seen[:2])


def dense(tensor):
    """The same elements on the CPU, in C order; copied only if necessary."""
    return tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()


def tensor_of(data, shape, dtype):
    if not len(data):
        return torch.empty(shape, dtype=dtype)
    flat = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    return flat.view(dtype).reshape(shape)


class _Pass:
    """One call of the model."""

    __slots__ = ("module", "args", "kwargs", "held", "lost", "modes", "random", "grads")
    __slots__ += ("n_grads", "__weakref__")


def _paid(work):
    """Counts the time of a method."""

    @functools.wraps(work)
    def counted(self, *args):
        began = time.perf_counter_ns()
        try:
            return work(self, *args)
        finally:
            self._credit -= time.perf_counter_ns() - began

    return counted


class Capsule:
    """Keeps the state at the start of a step.

    modules  (name, module) of the whole model
    share    returns the share of the time that this may take: of steps that are too
             short only some are kept; None: all"""

    def __init__(self, modules, share=None):
        self._share, self._credit = share, _CREDIT
        self._last = time.perf_counter_ns()
        self.holds = True  # the current step
        self._open = None  # the running pass
        self._modules = modules
        self._names = {id(module): name for name, module in modules}
        self._params = [one for _, one in tensors_of(modules, "_parameters")]
        self._buffers = [
            (dotted(name, key), buffers, key)
            for name, module in modules
            for buffers in (_as_dict(module._buffers),)
            for key in buffers
        ]
        self._changing = None  # positions of buffers that passes change; None: unknown
        self._state = []  # the buffers when the step began
        self._copies, self._marks = {}, {}  # by position; marks detect writes
        self._versions = b""  # of the parameters
        self._steps = 0
        self.passes, self.dropped, self._left = [], 0, HELD_MOST

    def hold_all(self):
        """From the next step on."""
        self._share, self.holds = None, True

    # --- each step

    @_paid
    def step(self):
        """A step begins."""
        last, self._last = self._last, time.perf_counter_ns()
        self._open = None
        if self._share is not None:
            earned = self._share() * (self._last - last)
            self._credit = min(self._credit + earned, _CREDIT)
            self.holds = self._credit > 0
        if not self.holds:
            self.passes = []
            return
        self._learn()
        self.passes, self.dropped, self._left = [], 0, HELD_MOST
        self._versions = _core.versions(self._params)
        self._state = [buffers.get(key) for _, buffers, key in self._buffers]
        self._copies, self._marks, left = {}, {}, HELD_MOST
        for i, tensor in enumerate(self._state):
            if self._changing is None or i in self._changing:
                copy = _core.copy(tensor, left)
                if copy is not None:
                    self._copies[i], left = copy, left - len(copy)
            if self._changing is None or i not in self._copies:
                self._marks[i] = _core.mark(tensor)

    def _learn(self):
        """Finds the buffers that change: from the second step on only those are
        copied."""
        self._steps += 1
        if not self.passes or self._steps > _LEARN and self._steps % _LEARN:
            return
        self._changing = self._changing or set()
        self._changing.update(i for i in self._marks if self._wrote(i))

    def _wrote(self, i):
        """Was buffer i written to? Not all kernels raise its version."""
        return _core.mark(self._state[i]) != self._marks[i]

    @_paid
    def begins(self, module, args, kwargs):
        """A pass begins."""
        self._open = None
        if not self.holds:
            return
        module = hooks.compiled_inner(module)
        if id(module) not in self._names:
            return
        if len(self.passes) == PASSES_MOST:
            del self.passes[0]
            self.dropped += 1
        one, seen = _Pass(), {}
        one.held = []

        def take(tensor, where):
            if id(tensor) not in seen:
                held = _Held(tensor, self._left, where)
                self._left -= held.size
                seen[id(tensor)] = len(one.held)
                one.held.append(held)
            return seen[id(tensor)]

        writer = Writer(take)
        one.module = self._names[id(module)]
        one.args = [writer.write(a, f"argument {i}") for i, a in enumerate(args)]
        one.kwargs = {key: writer.write(a, key) for key, a in (kwargs or {}).items()}
        one.lost, one.grads, one.n_grads = writer.lost, {}, None
        one.modes, one.random = _modes(), _random()
        self.passes.append(one)
        self._open = one

    @_paid
    def ends(self, result):
        """The pass returned: the gradients of its results will be kept too."""
        one, self._open = self._open, None
        if one is None or not torch.is_grad_enabled():
            return
        found = list(outputs(result))
        one.n_grads = len(found)
        for i, tensor in enumerate(found[:_OUTPUTS_MOST]):
            node = tensor.grad_fn
            if hasattr(node, "register_prehook"):
                weak = weakref.ref(one)
                graded = functools.partial(self._graded, weak, i, tensor.output_nr)
                node.register_prehook(graded)

    def _graded(self, weak, i, position, gradients):
        with contextlib.suppress(Exception):
            one, gradient = weak(), gradients[position]
            if one is None or gradient is None or gradient.requires_grad:
                return
            held = _Held(gradient, self._left)
            self._left -= held.size
            if i in one.grads:
                held.lost = "several backwards reached it"
            one.grads[i] = held

    # --- a value is not finite

    @property
    def modules(self):
        """(name, module) of the model."""
        return self._modules

    def parameters(self):
        """([(name, current parameter)], did one change since the step began?)"""
        now = list(tensors_of(self._modules, "_parameters"))
        same = [id(one) for _, one in now] == [id(one) for one in self._params]
        return now, not same or _core.versions(self._params) != self._versions

    def buffers(self):
        """{name: (the model's buffer, a tensor with its elements when the step began;
        None: they were overwritten)}"""
        own = tensors_of(self._modules, "_buffers")
        found = {name: (one, one) for name, one in own}
        for i, (tensor, (name, _, _)) in enumerate(zip(self._state, self._buffers)):
            if tensor is None or name not in found:
                continue
            if i not in self._copies:
                then = None if self._wrote(i) else tensor
            else:
                then = tensor_of(self._copies[i], tensor.shape, tensor.dtype)
            found[name] = found[name][0], then
        return found


def _as_dict(own):
    """The buffers of a module. Scripted modules have them in a torch object."""
    return own if isinstance(own, dict) else dict(own.items())


def dotted(name, key):
    return f"{name}.{key}" if name else key


def tensors_of(modules, kind):
    """(name, tensor) for the parameters or buffers of modules; a tied one has several
    names."""
    for name, module in modules:
        for key, tensor in getattr(module, kind).items():
            if tensor is not None:
                yield dotted(name, key), tensor


def outputs(result):
    """The tensors of a result that have a gradient, in order."""
    if isinstance(result, torch.Tensor):
        if result.grad_fn is not None:
            yield result
    elif isinstance(result, dict):
        for one in result.values():
            yield from outputs(one)
    elif isinstance(result, (list, tuple)):
        for one in result:
            yield from outputs(one)


def _word(dtype):
    return str(dtype).partition(".")[2]


def _modes():
    """The modes of torch that a pass depends on."""
    found = {"grad": torch.is_grad_enabled(), "autocast": {}}
    found["inference"] = torch.is_inference_mode_enabled()
    for kind in ("cpu", "cuda"):
        with contextlib.suppress(TypeError):  # before torch 2.4
            if torch.is_autocast_enabled(kind):
                found["autocast"][kind] = _word(torch.get_autocast_dtype(kind))
    return found


def _random():
    """The states of torch's generators, by device."""
    found = {"cpu": torch.default_generator.get_state()}
    if torch.cuda.is_initialized():
        for i, generator in enumerate(torch.cuda.default_generators):
            found[f"cuda:{i}"] = generator.get_state()
    return found
