"""Hooks around Optimizer.step() of all optimizers: torch's own or, before torch 2.0,
functions that replace step() while there is a hook."""

import functools
import gc
import sys
import threading

from torch.optim import Optimizer, optimizer

from torchoscope.hooks import hide, plainly

_own_before, _own_after = [], []  # lists of one hook, which are compared by identity
_undo = []  # functions
_local = threading.local()
_FRAMES = 6  # between two functions of torch around step(), at most
_lock = threading.Lock()


def before(hook):
    """Calls hook(optimizer, args, kwargs) before each step; its result, if not None,
    replaces the arguments. Call remove() of the returned handle to end it."""
    own = getattr(optimizer, "register_optimizer_step_pre_hook", None)
    return own(_outermost(hook)) if own else _Entry(_own_before, hook)


def after(hook):
    """The same after each step; the result of the hook is ignored."""
    own = getattr(optimizer, "register_optimizer_step_post_hook", None)
    return own(_outermost(hook)) if own else _Entry(_own_after, hook)


def _outermost(hook):
    """torch calls hooks again for super().step() in a step: this one does nothing then."""

    def call(one, args, kwargs):
        return plainly(look, sys._getframe(1), one, args, kwargs)

    def look(frame, one, args, kwargs):
        code = frame.f_code
        for _ in range(_FRAMES):
            frame = frame.f_back
            if frame is None:
                break
            if frame.f_code is code and frame.f_locals.get("self") is one:
                return None
        return hook(one, args, kwargs)

    return hide(call)


class _Entry:
    def __init__(self, hooks, hook):
        self._hooks, self._entry = hooks, [hook]
        with _lock:
            if not (_own_before or _own_after):
                _replace_all()
            hooks.append(self._entry)

    def remove(self):
        with _lock:
            self._hooks[:] = [one for one in self._hooks if one is not self._entry]
            if not (_own_before or _own_after):
                while _undo:
                    _undo.pop()()


def _replace_all():
    for kind in _classes():
        _replace_in(kind)
    # torch calls this method for each new optimizer. Its class may be new, too.
    prepare = Optimizer._hook_for_profile

    def prepare_and_replace(self):
        prepare(self)
        _replace_in(type(self))

    Optimizer._hook_for_profile = prepare_and_replace
    _undo.append(lambda: setattr(Optimizer, "_hook_for_profile", prepare))
    # A scheduler sets `step` of its optimizer to a function without `self`.
    for one in gc.get_objects():
        if issubclass(type(one), Optimizer) and "step" in vars(one):
            step = vars(one)["step"]
            run = functools.partial(_run, functools.partial(_without_self, step), one)
            _replace(one, step, run)


def _without_self(step, _, *args, **kwargs):
    return step(*args, **kwargs)


def _classes():
    found, waiting = set(), [Optimizer]
    while waiting:
        kinds = set(waiting.pop().__subclasses__()) - found
        found |= kinds
        waiting += kinds
    return found


def _replace_in(kind):
    for one in kind.__mro__[: kind.__mro__.index(Optimizer)]:
        step = vars(one).get("step")
        if callable(step) and not hasattr(step, "_torchoscope"):
            _replace(one, step, functools.partial(_run, step))


def _replace(owner, step, run):
    @functools.wraps(step)
    def call(*args, **kwargs):
        return run(*args, **kwargs)

    call._torchoscope = True
    owner.step = call

    def undo():
        if vars(owner).get("step") is call:
            owner.step = step

    _undo.append(undo)


def _run(step, *args, **kwargs):
    """A step with hooks. One inside another of the same optimizer (super().step()) has
    none."""
    one = args[0]
    inside = vars(_local).setdefault("inside", [])
    if any(other is one for other in inside):
        return step(*args, **kwargs)
    inside.append(one)
    try:
        for (hook,) in list(_own_before):
            args, kwargs = hook(one, args, kwargs) or (args, kwargs)
        result = step(*args, **kwargs)
        for (hook,) in list(_own_after):
            hook(one, args, kwargs)
        return result
    finally:
        inside.pop()
