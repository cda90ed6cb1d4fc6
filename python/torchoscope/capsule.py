"""The NaN capsule: what a step of training began with, so that it can run again.

At each pass the inputs of the model and the states of random generators are held, the
inputs by reference if they are large: they may be overwritten before they are needed, and
then the capsule says so. When a value is not finite, they are saved with the parameters
and buffers by capsule_file.py; replaying.py reads the file."""

import contextlib
import functools
import weakref

import torch

from torchoscope import _core
from torchoscope.plain_tree import Writer

HELD_MOST = 64 << 20  # bytes of inputs and gradients, of one step
COPIED_MOST = 1 << 20  # larger tensors are held by reference
PASSES_MOST = 64  # of one step
_OUTPUTS_MOST = 64  # results whose gradients are held


class _Held:
    """A tensor as it was: a copy of its elements, or itself and how to see a write."""

    __slots__ = ("tensor", "copy", "mark", "about", "lost")

    def __init__(self, tensor, left):
        self.tensor = self.copy = self.lost = None
        self.mark = _core.mark(tensor)
        size = self.mark[2] if self.mark else 0
        self.about = {
            "shape": list(tensor.shape),
            "dtype": _word(tensor.dtype),
            "device": str(tensor.device),
            "grad": tensor.requires_grad,
        }
        if self.mark is None or tensor.layout is not torch.strided:
            self.lost = f"a tensor of layout {tensor.layout} is not saved"
            return
        self.about["strides"] = list(tensor.stride())
        if size > left:
            self.lost = f"{_core.format_bytes(size)} are too many to hold"
            return
        if self.mark[3] and size <= COPIED_MOST:
            self.copy = _core.copy(tensor)
        if self.copy is None:
            self.tensor = tensor

    @property
    def size(self):
        return 0 if self.lost else self.mark[2]

    def dense(self):
        """A tensor on the CPU, in C order; None with `lost` set."""
        if self.lost is None and self.tensor is not None:
            if _core.mark(self.tensor)[:2] != self.mark[:2]:
                self.lost = "overwritten after the step began"
        if self.lost is not None:
            return None
        if self.copy is None:
            return dense(self.tensor)
        return tensor_of(self.copy, self.about)


def dense(tensor):
    """The same elements on the CPU, in C order, without a copy if they are so already."""
    return tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()


def tensor_of(data, about):
    kind = getattr(torch, about["dtype"])
    if not len(data):
        return torch.empty(about["shape"], dtype=kind)
    flat = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    return flat.view(kind).reshape(about["shape"])


class _Pass:
    """One call of the model."""

    __slots__ = ("module", "args", "kwargs", "held", "lost", "modes", "random", "grads")
    __slots__ += ("n_grads", "__weakref__")


class Capsule:
    """Holds what a step began with. `modules`: (name, module) of the whole model."""

    def __init__(self, modules):
        self._modules = modules
        self._names = {id(module): name for name, module in modules}
        self._params = [one for _, one in tensors_of(modules, "_parameters")]
        self._buffers = [
            (dotted(name, key), module._buffers, key)
            for name, module in modules
            for key in module._buffers
        ]
        self._changing = None  # names of buffers that passes write to; None: unknown
        self._state = []  # (name, buffer, mark, copy or None), as the step began
        self._versions = b""  # of the parameters
        self.passes, self.dropped, self._left = [], 0, HELD_MOST

    # --- each step

    def step(self):
        """A step begins."""
        self._learn()
        self.passes, self.dropped, self._left = [], 0, HELD_MOST
        self._versions = _core.versions(self._params)
        self._state, left = [], HELD_MOST
        for name, buffers, key in self._buffers:
            tensor = buffers.get(key)
            if tensor is None:
                continue
            mark, copy = _core.mark(tensor), None
            if self._changing is None or name in self._changing:
                if mark and mark[3] and mark[2] <= left:
                    copy, left = _core.copy(tensor), left - mark[2]
            self._state.append((name, tensor, mark, copy))

    def _learn(self):
        """Which buffers change: only those are copied from the second step on."""
        if not self.passes:
            return
        self._changing = self._changing or set()
        for name, tensor, mark, _ in self._state:
            if name not in self._changing and _core.mark(tensor) != mark:
                self._changing.add(name)

    def begins(self, module, args, kwargs):
        """A pass begins."""
        module = module._modules.get("_orig_mod", module)
        if id(module) not in self._names:
            return
        if len(self.passes) == PASSES_MOST:
            del self.passes[0]
            self.dropped += 1
        one, seen = _Pass(), {}
        one.held = []

        def take(tensor, where):
            if id(tensor) not in seen:
                held = _Held(tensor, self._left)
                held.about["at"] = where
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

    def ends(self, result):
        """The pass returned: its results' gradients will be held too."""
        if not self.passes or not torch.is_grad_enabled():
            return
        one = self.passes[-1]
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
        """((name, parameter) of now, did one change since the step began?)"""
        now = list(tensors_of(self._modules, "_parameters"))
        same = [id(one) for _, one in now] == [id(one) for one in self._params]
        return now, not same or _core.versions(self._params) != self._versions

    def buffers(self):
        """{name: (the model's buffer, a tensor with its elements when the step began, or
        None: they were overwritten)}"""
        found = {name: (one, one) for name, one in tensors_of(self._modules, "_buffers")}
        for name, tensor, mark, copy in self._state:
            if name not in found:
                continue
            then = tensor if _core.mark(tensor) == mark else None
            if copy is not None:
                about = {"shape": tensor.shape, "dtype": _word(tensor.dtype)}
                then = tensor_of(copy, about)
            found[name] = found[name][0], then
        return found


def dotted(name, key):
    return f"{name}.{key}" if name else key


def tensors_of(modules, kind):
    """(name, tensor) for the parameters or buffers of modules. A tied one has several."""
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
