"""One pair of torch's global forward hooks serves all recordings under way.

Global hooks come and go in O(1), are no part of any module, and so do not follow a deep
copy, are not pickled and do not trouble scripting (tests/python/hooks_test.py). While
torch.compile works they are taken off, so that its code does not depend on them; where
it can not be watched, the functions that torch calls return at once and are traced into
nothing. Either way compiled graphs stay whole.

A module on which Module.compile() was called does not look at hooks. For the time of a
recording its compiled call is wrapped; torch leaves that attribute out when it pickles
or copies a module.
"""

import contextlib
import functools
import gc
import inspect
import sys
import threading
import types
import warnings
import weakref

import torch
from torch.nn.modules import module as torch_module

from torchoscope import _core, handed  # noqa: F401 (handed is asked by the core)

# What is called, as tuples that are replaced, never changed: a hook that runs on
# another thread sees the old ones or the new ones.
_before = ()
_after = ()
_raised = ()

_lock = threading.RLock()
_listeners = []
_handles = []
_wrapped = {}  # id of a module -> _Wrapped
_watches = []  # functions that end a watch_calls()
_compiling = False
_local = threading.local()

_options = inspect.signature(torch_module.register_module_forward_hook).parameters
_call = torch.nn.Module._call_impl.__code__
_shown_keywords = "with_kwargs" in _options  # to hooks after the call
SEES_KEYWORDS = _shown_keywords or "kwargs" in _call.co_varnames + _call.co_cellvars
SEES_EXCEPTIONS = "always_call" in _options


def _never(*_):
    return False


if hasattr(torch, "compiler") and hasattr(torch.compiler, "is_compiling"):
    _is_compiling = torch.compiler.is_compiling
else:
    _is_compiling = _never
_is_jit_tracing = torch._C._get_tracing_state
# A flag that is read where it lies: asking for it by its function writes to the log.
_fx = sys.modules.get("torch.fx._symbolic_trace") or types.SimpleNamespace()
if not hasattr(_fx, "_is_fx_tracing_flag"):
    _fx = types.SimpleNamespace(_is_fx_tracing_flag=False)


class Listener:
    """Who wants to hear of calls: before(module, args), with kwargs as well where
    they are known; after(module, args, kwargs or None, result); raised(module, args,
    exception); compiled(module, True): the call that just began is that of a module
    compiled in place, False: but it runs as plain Python; backward(roots, gradients):
    a backward begins."""

    __slots__ = ("before", "after", "raised", "compiled", "backward")

    def __init__(self, before, after, raised):
        self.before, self.after, self.raised = before, after, raised
        self.compiled = self.backward = _never


def add(listener):
    with _lock:
        _listeners.append(listener)
        if not (_handles or _compiling):
            _install()
        _publish()
        _engine.watch()


def remove(listener):
    """Take a listener off; one that is not there is no mistake."""
    with _lock:
        if listener not in _listeners:
            return
        _listeners.remove(listener)
        _publish()
        if not _listeners:
            _take_off()
            _unwatch_compiler()
            _engine.leave()


def is_used():
    return bool(_listeners)


def changed():
    """A listener wants other functions called."""
    with _lock:
        _publish()


@contextlib.contextmanager
def without():
    """No hook of ours is there meanwhile; for measuring, so briefly."""
    with _lock:
        was = bool(_handles)
        _take_off()
        try:
            yield
        finally:
            if was:
                _install()


@contextlib.contextmanager
def doing_nothing():
    """Our hooks are there, but tell nobody."""
    with _lock:
        _hub.paused = True
        try:
            yield
        finally:
            _hub.paused = False


def _publish():
    global _before, _after, _raised
    _before = tuple(one.before for one in _listeners)
    _after = tuple(one.after for one in _listeners)
    _raised = tuple(one.raised for one in _listeners)
    _hub.listen(_before, _after, tuple(one.backward for one in _listeners))


class _Engine:
    """torch says nowhere that a backward begins. All of them, Tensor.backward() and
    torch.autograd.grad() alike, ask Variable for its engine: for the time of recordings
    that is one which tells us and does the same."""

    def __init__(self):
        self._real = self._ours = None

    def watch(self):
        variable = torch.autograd.Variable
        current = variable._execution_engine
        if current is self._ours:
            return
        if current is not self._real:
            run = functools.partial(_hub.run_backward, current.run_backward)
            members = {"run_backward": staticmethod(run), "__module__": __name__}
            self._real = current
            self._ours = type("Engine", (type(current),), members)()
        variable._execution_engine = self._ours

    def leave(self):
        variable = torch.autograd.Variable
        if variable._execution_engine is self._ours:
            variable._execution_engine = self._real


_engine = _Engine()


def _install():
    options = {"with_kwargs": _shown_keywords, "always_call": SEES_EXCEPTIONS}
    options = {name: True for name, there in options.items() if there}
    register = torch_module.register_module_forward_hook
    _handles.append(torch_module.register_module_forward_pre_hook(_hook_before))
    _handles.append(register(_hook_after, **options))
    _handles.append(_Silence())


class _Silence:
    """torch warns whenever a compiled module meets global hooks, that they are called
    for it as well as for the module inside. That is known here, and no news for users.
    """

    def __init__(self):
        text = r"Using `torch\.compile\(module\)` when there are global hooks"
        warnings.filterwarnings("ignore", text, UserWarning)
        self._filter = warnings.filters[0]

    def remove(self):
        # Others may have replaced the list in the meantime.
        with contextlib.suppress(ValueError, AttributeError):
            warnings.filters.remove(self._filter)
            warnings._filters_mutated()


def _take_off():
    with _lock:
        while _handles:
            handle = _handles.pop()
            handle.remove()
            # torch 2.13 forgets to forget this one, and then warns for ever.
            keywords = getattr(torch_module, "_global_forward_hooks_with_kwargs", {})
            keywords.pop(getattr(handle, "id", None), None)


def _compiler_begins(*_):
    global _compiling
    with _lock:
        _compiling = True
        _take_off()
        for end in list(_watches):
            with contextlib.suppress(Exception):
                end(True)


def _compiler_ends(*_):
    global _compiling
    with _lock:
        _compiling = False
        if _listeners and not _handles:
            _install()


_watching = False


def _watch_compiler():
    """Once torch's compiler is there, have it say when it begins and ends."""
    global _watching
    handler = getattr(sys.modules["torch._dynamo"], "callback_handler", None)
    with _lock, contextlib.suppress(Exception):
        if not _watching:
            _watching = _hub.watched = True
            handler.register_start_callback(_compiler_begins)
            handler.register_end_callback(_compiler_ends)


def _unwatch_compiler():
    global _watching, _compiling
    if not _watching or _watches:
        return
    _watching = _compiling = _hub.watched = False
    handler = getattr(sys.modules["torch._dynamo"], "callback_handler", None)
    with contextlib.suppress(Exception):  # torch._dynamo.reset() forgets them itself
        handler.remove_start_callback(_compiler_begins)
    with contextlib.suppress(Exception):
        handler.remove_end_callback(_compiler_ends)


# --- what torch calls

# Python between torch and the hub costs, for a call of a real layer leaves nothing of it
# in the processor's caches. But torch's compiler has to see that nothing happens here.


def _hook_before(module, args):
    if not _is_compiling():
        _tell_hub_before(module, args)


def _hook_after(*call):
    if not _is_compiling():
        _tell_hub_after(*call)


def _rare_before(module, args):
    if _is_jit_tracing() is not None or _fx._is_fx_tracing_flag:
        return
    if not _watching and "torch._dynamo" in sys.modules:
        _watch_compiler()
    if _wrapped and _told_by_wrapper(module, False):
        return
    kwargs = _keywords()
    _tell_before(module, args, *(() if kwargs is None else (kwargs,)))


def _keywords():
    """The keyword arguments of a call, which torch does not show to global hooks before
    it, and old ones to none: they stand in its frame. Looking there takes a microsecond,
    so it is done only where there may be some. None: not known."""
    frame = sys._getframe(0)
    here = frame.f_code.co_filename
    while frame is not None and frame.f_code.co_filename == here:
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename != torch_module.__file__:
        return None
    kwargs = frame.f_locals.get("kwargs")
    return kwargs if isinstance(kwargs, dict) else None


def _rare_after(module, args, *rest):
    # (module, args, kwargs, result), or (module, args, result) where torch does not show
    # keywords, and when forward raised, the result being None.
    if _is_jit_tracing() is not None or _fx._is_fx_tracing_flag:
        return
    if _wrapped and _told_by_wrapper(module, True):
        return
    if len(rest) == 2:
        _tell_after(module, args, rest[0], rest[1])
    elif rest[0] is None and (error := _error_of(sys._getframe(2))) is not None:
        _tell_raised(module, args, error)
    else:
        _tell_after(module, args, _keywords(), rest[0])


def _error_of(frame):
    """The exception that `frame` has just caught, or None: a module may well return
    None while its caller handles an exception of its own."""
    error = sys.exc_info()[1]
    trace = error.__traceback__ if error is not None else None
    return error if trace is not None and trace.tb_frame is frame else None


def _tell_before(*call):
    for before in _before:
        try:
            before(*call)
        except Exception:  # never into the user's forward
            pass


def _tell_compiled(module, is_compiled):
    for listener in _listeners:
        with contextlib.suppress(Exception):
            listener.compiled(module, is_compiled)


def _tell_after(module, args, kwargs, result):
    for after in _after:
        try:
            after(module, args, kwargs, result)
        except Exception:
            pass


def _tell_raised(module, args, error):
    for raised in _raised:
        try:
            raised(module, args, error)
        except Exception:
            pass


_hub = _core.Hub(_keywords, _rare_before, _rare_after, _is_jit_tracing, _fx)
_tell_hub_before, _tell_hub_after = _hub.tell_before, _hub.tell_after


# --- modules that were compiled in place


class _Wrapped:
    __slots__ = ("module", "inner", "call", "uses")


def wrap_compiled(modules):
    """Wrap the compiled calls among these modules. Give what this returns to
    unwrap_compiled()."""
    done = []
    with _lock:
        for module in modules:
            inner = module.__dict__.get("_compiled_call_impl")
            if inner is None:
                continue
            entry = _wrapped.get(id(module))
            if entry is None or entry.module() is not module:
                entry = _wrap(module, inner)
            entry.uses += 1
            done.append(entry)
    return done


def _wrap(module, inner):
    entry = _Wrapped()
    entry.module, entry.inner, entry.uses = weakref.ref(module), inner, 0
    entry.call = _wrapper(entry.module, inner)
    _wrapped[id(module)] = entry
    _hub.rare = True
    module.__dict__["_compiled_call_impl"] = entry.call
    return entry


def unwrap_compiled(entries):
    with _lock:
        for entry in entries:
            entry.uses -= 1
            if entry.uses:
                continue
            module = entry.module()
            for key in [key for key, one in _wrapped.items() if one is entry]:
                del _wrapped[key]
            _hub.rare = bool(_wrapped)
            # Somebody may have compiled it anew: that stays.
            here = {} if module is None else module.__dict__
            if here.get("_compiled_call_impl") is entry.call:
                here["_compiled_call_impl"] = entry.inner


def _wrapper(reference, inner):
    def compiled_call(*args, **kwargs):
        module = reference()
        if _is_compiling() or module is None:
            return inner(*args, **kwargs)
        if not _watching and "torch._dynamo" in sys.modules:
            _watch_compiler()
        frames = _frames()
        frames.append([module, False])
        _tell_before(module, args, kwargs)
        _tell_compiled(module, True)
        try:
            result = inner(*args, **kwargs)
        except BaseException as error:
            _tell_raised(module, args, error)
            raise
        else:
            _tell_after(module, args, kwargs, result)
            return result
        finally:
            frames.pop()

    return compiled_call


def is_ours(call):
    """Is this compiled call of a module wrapped or watched?"""
    return getattr(call, "__module__", None) == __name__


def watch_calls(modules, begins, ends, lost):
    """Call begins(module) and ends(module) around calls of these modules, with no hook
    in torch, so that all others cost nothing. Gives a function that ends it, or None if
    it can not be done: this torch has no place for it, or compiled code looks there
    (dynamo's guards) and would be compiled again. When torch begins to compile, the
    watch ends by itself: lost()."""
    if not hasattr(torch.nn.Module, "_compiled_call_impl") or _has_compiled(modules):
        return None
    done = [(module, *_watch(module, begins, ends)) for module in modules]

    def unwatch(is_lost=False):
        with _lock:
            if unwatch in _watches:
                _watches.remove(unwatch)
            if not _listeners:
                _unwatch_compiler()
        if is_lost:
            lost()
        for module, call, inner in done:
            if module.__dict__.get("_compiled_call_impl") is not call:
                continue
            if inner is None:
                del module.__dict__["_compiled_call_impl"]
            else:
                module.__dict__["_compiled_call_impl"] = inner
        done.clear()

    with _lock:
        _watches.append(unwatch)
    return unwatch


def _has_compiled(modules):
    """Has torch compiled code of which these modules may be part, or is it about to?"""
    dynamo = sys.modules.get("torch._dynamo.eval_frame")
    entries = getattr(dynamo, "_debug_get_cache_entry_list", None)
    if entries is None:
        return False
    holders = [one for one in gc.get_referrers(*modules) if type(one) is dict]
    if any("_orig_mod" in one for one in holders):
        return True
    calls = [torch.nn.Module._wrapped_call_impl, torch.nn.Module._call_impl]
    calls += [type(module).forward for module in modules]
    return any(entries(one.__code__) for one in calls if hasattr(one, "__code__"))


def _watch(module, begins, ends):
    reference, inner = weakref.ref(module), module.__dict__.get("_compiled_call_impl")

    def watched_call(*args, **kwargs):
        this = reference()
        go = this._call_impl if inner is None else inner
        if _is_compiling():
            return go(*args, **kwargs)
        if not _watching and "torch._dynamo" in sys.modules:
            _watch_compiler()
        with contextlib.suppress(Exception):
            begins(this)
        try:
            return go(*args, **kwargs)
        finally:
            with contextlib.suppress(Exception):
                ends(this)

    module.__dict__["_compiled_call_impl"] = watched_call
    return watched_call, inner


def _frames():
    try:
        return _local.frames
    except AttributeError:
        _local.frames = []
        return _local.frames


def _told_by_wrapper(module, after):
    """Where torch does not compile after all (a stance, a limit), the hooks of a
    wrapped module run too; the wrapper has told already."""
    frames = _frames()
    if not frames or frames[-1][0] is not module or frames[-1][1] is not after:
        return False
    frames[-1][1] = not after
    if not after:
        _tell_compiled(module, False)
    return True
