"""state_guard(): restore a model after a pass that should leave no trace."""

import collections
import contextlib
import random
import sys
import warnings

import torch


def roots_of(holder):
    """The modules of an object by name: an nn.Module itself as "", else the modules among
    the attributes."""
    if isinstance(holder, torch.nn.Module):
        return {"": holder}
    found = _modules_in(getattr(holder, "__dict__", None))
    if not found:  # a diffusion pipeline
        found = _modules_in(getattr(holder, "components", None))
    return found


def _modules_in(named):
    if not isinstance(named, dict):
        return {}
    kind, found = torch.nn.Module, {}
    for name, value in named.items():
        if isinstance(value, kind):
            found[name] = value
            continue
        inside = value if isinstance(value, dict) else {}
        if isinstance(value, (list, tuple)):
            inside = dict(enumerate(value))
        for key, one in inside.items():
            if isinstance(one, kind):
                found[f"{name}.{key}"] = one
    return found


def modules_of(holder):
    """(name, module) for every module of an object, once each, by its first name."""
    seen = set()
    for prefix, root in roots_of(holder).items():
        for name, module in root.named_modules(memo=seen, prefix=prefix):
            yield name, module


@contextlib.contextmanager
def state_guard(model):
    """Restore `model` after a with block: its members, buffers, gradients, random state
    and train or eval mode.

    Values of parameters are not copied: do not step an optimizer inside. Parameters
    have no gradients inside the block. A warning names what cannot be restored."""
    saved = [_Saved(name, module) for name, module in modules_of(model)]
    grads = _take_gradients(saved)
    chance = _saved_random()
    try:
        yield model
    finally:
        failed = _Failed()
        _restore_random(chance, failed)
        for one in saved:
            one.restore(failed)
        for name, parameter, grad in grads:
            with failed.noting(f"the gradient of {name}"):
                parameter.grad = grad
        failed.warn()


class Attributes:
    """A copy of the plain attributes of all modules, with the contents of lists, dicts,
    sets and deques: counters and caches of forward."""

    def __init__(self, model):
        self._saved = []
        for _, module in modules_of(model):
            own = module.__dict__
            held = [(one, one.copy()) for one in own.values() if _is_container(one)]
            self._saved.append((own, own.copy(), held))

    def restore(self):
        """Put them back."""
        for now, was, held in self._saved:
            for one, contents in held:
                if not _same_contents(one, contents):
                    one.clear()
                    put = one.extend if hasattr(one, "extend") else one.update
                    put(contents)
            _set_members(now, was)


def _is_container(value):
    return type(value) in (list, dict, set, collections.deque, collections.OrderedDict)


def _same_contents(a, b):
    """Compares identity, not equality."""
    if isinstance(a, dict):
        return list(a) == list(b) and _same_contents(list(a.values()), list(b.values()))
    if isinstance(a, set):
        return a == b
    return len(a) == len(b) and all(one is other for one, other in zip(a, b))


class _Failed:
    """Collects what could not be restored."""

    def __init__(self):
        self._texts = []

    @contextlib.contextmanager
    def noting(self, what):
        try:
            yield
        except Exception as error:
            self._texts.append(f"{what} ({type(error).__name__}: {error})")

    def warn(self):
        if self._texts:
            text = "; ".join(self._texts)
            warnings.warn(f"torchoscope could not restore {text}", stacklevel=4)


class _Saved:
    """The state of a module."""

    def __init__(self, name, module):
        self.name, self._module, self._training = name, module, module.training
        self.parameters = {
            key: _SavedTensor(one, copy=False)
            for key, one in module._parameters.items()
        }
        self._buffers = {
            key: _SavedTensor(one, copy=True) for key, one in module._buffers.items()
        }
        self._modules = dict(module._modules.items())
        self._transient = set(getattr(module, "_non_persistent_buffers_set", ()))
        # A shallow copy.
        self._attributes = dict(module.__dict__)

    def restore(self, failed):
        module = self._module
        with failed.noting(f"the mode of {self.name or 'the model'}"):
            module.training = self._training
        with failed.noting(f"the members of {self.name or 'the model'}"):
            self._restore_members()
        for key, one in (*self.parameters.items(), *self._buffers.items()):
            with failed.noting(f"{self.name}.{key}".lstrip(".")):
                one.restore()

    def _restore_members(self):
        module = self._module
        wanted = (
            (module._parameters, _objects(self.parameters)),
            (module._buffers, _objects(self._buffers)),
            (module._modules, self._modules),
        )
        # A layer made in forward often comes with a flag ("built") or replaces a plain
        # attribute: if members changed, attributes are restored too.
        if any(not _same_members(now, was) for now, was in wanted):
            _set_members(module.__dict__, self._attributes)
            getattr(module, "_non_persistent_buffers_set", set()).clear()
            getattr(module, "_non_persistent_buffers_set", set()).update(self._transient)
        for now, was in wanted:
            _set_members(now, was)


def _objects(saved):
    return {key: one.tensor for key, one in saved.items()}


def _same_members(now, was):
    """Same names, and None in the same places. A replaced tensor is the same member."""
    # TorchScript's are not dicts but have keys().
    return list(now.keys()) == list(was) and all(
        (now[key] is None) == (one is None) for key, one in was.items()
    )


def _set_members(now, was):
    """Restores the same objects under the same names, in the same order."""
    if list(now.keys()) != list(was):
        now.clear()
        now.update(was)
        return
    for key, one in was.items():
        if now[key] is not one:
            now[key] = one


class _SavedTensor:
    """A parameter or buffer: its storage, and for a buffer its values."""

    def __init__(self, tensor, copy):
        self.tensor = tensor  # may be None
        self._alias = self._values = self._error = None
        if tensor is None or torch.nn.parameter.is_lazy(tensor):
            return
        self._requires_grad, self._leaf = tensor.requires_grad, tensor.is_leaf
        try:
            # Keeps storage, shape and strides, whatever happens to the tensor.
            alias = tensor.detach()
            self._stored = _bytes_stored(tensor)
            self._values = alias.clone() if copy else None
            self._alias = alias
        except Exception as error:  # a subclass that implements neither
            self._error = error if copy else None

    def restore(self):
        if self._error is not None:
            raise self._error
        if self._alias is None:
            return
        tensor = self.tensor
        if _is_cut(self._alias, self._stored):
            # The storage shrank, and values of parameters were not copied.
            if self._values is None:
                raise RuntimeError("its storage shrank")
            self._alias = self._values
        if not _lie_alike(tensor, self._alias):
            tensor.data = self._alias
        if self._values is not None:
            _write(tensor, self._values)
        if tensor.grad_fn is not None and self._leaf:
            tensor.detach_()
        if tensor.requires_grad != self._requires_grad and tensor.is_leaf:
            tensor.requires_grad_(self._requires_grad)


def _lie_alike(a, b):
    """Same memory, shape and strides."""
    if (a.shape, a.dtype, a.device) != (b.shape, b.dtype, b.device):
        return False
    if a.layout != torch.strided:
        return True
    if a.stride() != b.stride() or a.storage_offset() != b.storage_offset():
        return False
    one, other = _storage_of(a), _storage_of(b)
    return one is None or other is None or one._cdata == other._cdata


def _storage_of(tensor):
    """None for sparse tensors and wrappers."""
    try:
        if hasattr(tensor, "untyped_storage"):
            return tensor.untyped_storage()
        return tensor.storage()
    except (RuntimeError, NotImplementedError):
        return None


def _bytes_stored(tensor):
    storage = _storage_of(tensor)
    return None if storage is None else storage.nbytes()


def _is_cut(tensor, stored):
    return stored is not None and (_bytes_stored(tensor) or 0) < stored


def _write(buffer, values):
    with torch.no_grad():
        if buffer.is_inference() and not torch.is_inference_mode_enabled():
            with torch.inference_mode():
                buffer.copy_(values)
        elif not _equal(buffer, values):
            buffer.copy_(values)


def _equal(a, b):
    """An equal buffer is not written, so that its version stays the same."""
    try:
        # torch.equal() is quicker and nearly always enough.
        return torch.equal(a, b) or bool(((a == b) | ((a != a) & (b != b))).all())
    except Exception:
        return False


def _take_gradients(saved):
    taken, seen = [], set()
    for module in saved:
        for key, one in module.parameters.items():
            parameter = one.tensor
            if parameter is None or id(parameter) in seen:
                continue
            seen.add(id(parameter))
            if torch.nn.parameter.is_lazy(parameter):
                continue
            taken.append((f"{module.name}.{key}".lstrip("."), parameter, parameter.grad))
            parameter.grad = None
    return taken


def _saved_random():
    saved = {"torch": torch.get_rng_state(), "python": random.getstate()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        saved["cuda"] = torch.cuda.get_rng_state_all()
    for name in ("mps", "xpu"):
        device = getattr(torch, name, None)
        if device is None or not hasattr(device, "get_rng_state"):
            continue
        with contextlib.suppress(Exception):
            if name == "mps" and torch.backends.mps.is_available():
                saved[name] = device.get_rng_state()
            elif name == "xpu" and device.is_initialized():
                saved[name] = device.get_rng_state_all()
    if "numpy.random" in sys.modules:
        saved["numpy"] = sys.modules["numpy.random"].get_state()
    return saved


def _restore_random(saved, failed):
    restorers = {
        "torch": torch.set_rng_state,
        "python": random.setstate,
        "cuda": torch.cuda.set_rng_state_all,
        "mps": lambda state: torch.mps.set_rng_state(state),
        "xpu": lambda state: torch.xpu.set_rng_state_all(state),
        "numpy": lambda state: sys.modules["numpy.random"].set_state(state),
    }
    for name, state in saved.items():
        with failed.noting(f"the random state of {name}"):
            restorers[name](state)
