"""A pass that is only there to look leaves a model as it found it."""

import contextlib
import random
import sys

import torch


def roots_of(holder):
    """The modules of an object by name: of an nn.Module itself, under the name "", of
    another object those among its attributes."""
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
    """(name, module) for every module of an object, each once, by its first name."""
    seen = set()
    for prefix, root in roots_of(holder).items():
        for name, module in root.named_modules(memo=seen, prefix=prefix):
            yield name, module


@contextlib.contextmanager
def state_guard(model):
    """Buffers, gradients, random state and train/eval mode are the same after the block
    as before it. Parameters are not copied. Inside, parameters have no gradients."""
    modules = [module for _, module in modules_of(model)]
    flags = [module.training for module in modules]
    buffers = [(module, _saved_buffers(module)) for module in modules]
    grads = _take_gradients(modules)
    chance = _saved_random()
    try:
        yield model
    finally:
        _restore_random(chance)
        for module, training in zip(modules, flags):
            module.training = training
        for module, saved in buffers:
            _restore_buffers(module, saved)
        for parameter, grad in grads:
            parameter.grad = grad


def _saved_buffers(module):
    return [
        (name, buffer, _copy(buffer), buffer is not None and buffer.requires_grad)
        for name, buffer in module._buffers.items()
    ]


def _copy(buffer):
    if buffer is None or torch.nn.parameter.is_lazy(buffer):
        return None
    return buffer.detach().clone()


def _restore_buffers(module, saved):
    # What the pass added goes, and what it replaced comes back, the very same object
    # with the values it had.
    known = {name for name, *_ in saved}
    # Of TorchScript these are no dicts, though they have keys().
    for name in [name for name in module._buffers.keys() if name not in known]:
        del module._buffers[name]
    for name, buffer, values, requires_grad in saved:
        module._buffers[name] = buffer
        if values is None:
            continue
        with torch.no_grad():
            if buffer.is_inference() and not torch.is_inference_mode_enabled():
                with torch.inference_mode():
                    buffer.copy_(values)
            elif not _equal(buffer, values):
                buffer.copy_(values)
        if buffer.grad_fn is not None:
            buffer.detach_().requires_grad_(requires_grad)


def _equal(a, b):
    """Nothing is written, and no version counted up, where nothing changed."""
    try:
        # The first is one step instead of seven, and nearly always enough.
        return torch.equal(a, b) or bool(((a == b) | ((a != a) & (b != b))).all())
    except Exception:
        return False


def _take_gradients(modules):
    taken, seen = [], set()
    for module in modules:
        for parameter in module._parameters.values():
            if parameter is None or id(parameter) in seen:
                continue
            seen.add(id(parameter))
            if torch.nn.parameter.is_lazy(parameter):
                continue
            taken.append((parameter, parameter.grad))
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


def _restore_random(saved):
    torch.set_rng_state(saved["torch"])
    random.setstate(saved["python"])
    if "cuda" in saved:
        torch.cuda.set_rng_state_all(saved["cuda"])
    if "mps" in saved:
        torch.mps.set_rng_state(saved["mps"])
    if "xpu" in saved:
        torch.xpu.set_rng_state_all(saved["xpu"])
    if "numpy" in saved:
        sys.modules["numpy.random"].set_state(saved["numpy"])
