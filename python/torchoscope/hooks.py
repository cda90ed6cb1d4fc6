"""One pair of torch's global forward hooks serves all active recordings.

Global hooks are added and removed in O(1). They are not part of a module, so they are
not deep-copied or pickled and do not disturb scripting (tests/python/hooks_test.py).
They are removed while torch.compile works, so that its code does not depend on them. If
the compiler cannot be watched, the hooks return at once and trace to nothing. Either
way there are no graph breaks.

A module compiled with Module.compile() does not call hooks. During a recording its
compiled call is wrapped; torch omits that attribute when it pickles or copies a module.
"""

import contextlib
import functools
import inspect
import sys
import threading
import types
import warnings
import weakref

import torch
from torch.nn.modules import module as torch_module

from torchoscope import _core, handed  # noqa: F401 (the core calls handed)

# The listeners' functions. These tuples are replaced, never modified: a hook on another
# thread sees either the old or the new one.
_before = ()
_after = ()
_raised = ()

_lock = threading.RLock()
_listeners = []
_backwards = []  # functions of add_backward()
_handles = []
_wrapped = {}  # id of a module -> _Wrapped
_watches = set()  # weak references to what wrap_calls() returned
_compiling = False
_local = threading.local()

_options = inspect.signature(torch_module.register_module_forward_hook).parameters
_call = torch.nn.Module._call_impl.__code__
_shown_keywords = "with_kwargs" in _options  # to forward hooks
SEES_KEYWORDS = _shown_keywords or "kwargs" in _call.co_varnames + _call.co_cellvars
SEES_EXCEPTIONS = "always_call" in _options


def _never(*_):
    return False


if hasattr(torch, "compiler") and hasattr(torch.compiler, "is_compiling"):
    _is_compiling = torch.compiler.is_compiling
else:
    _is_compiling = _never
_is_jit_tracing = torch._C._get_tracing_state
# Read the flag directly: torch's function for it writes to the log.
_fx = sys.modules.get("torch.fx._symbolic_trace") or types.SimpleNamespace()
if not hasattr(_fx, "_is_fx_tracing_flag"):
    _fx = types.SimpleNamespace(_is_fx_tracing_flag=False)


class Listener:
    """Callbacks of a recording:

    before(module, args[, kwargs])      kwargs if known
    after(module, args, kwargs or None, result)
    raised(module, args, exception)
    compiled(module, is_compiled)       True: the call that just began is of a module
                                        compiled in place; False: but it runs as Python
    backward(roots, gradients)          a backward begins; backward(None, None): it ended
    """

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
    """Remove a listener, if present."""
    with _lock:
        if listener not in _listeners:
            return
        _listeners.remove(listener)
        _publish()
        if not _listeners:
            _take_off()
            _unwatch_compiler()
        if not (_listeners or _backwards):
            _engine.leave()


def add_backward(function):
    """Call function(roots, gradients) when a backward begins, and function(None, None)
    when it ended. Installs no hook of modules."""
    with _lock:
        _backwards.append(function)
        _publish()
        _engine.watch()


def remove_backward(function):
    """Remove such a function, if present."""
    with _lock:
        if function in _backwards:
            _backwards.remove(function)
            _publish()
        if not (_listeners or _backwards):
            _engine.leave()


def is_used():
    return bool(_listeners)


def changed():
    """Call this after a listener's functions change."""
    with _lock:
        _publish()


@contextlib.contextmanager
def without():
    """Removes the hooks during the block. For short measurements."""
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
    """Keeps the hooks installed but calls no listeners."""
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
    backwards = [one.backward for one in _listeners]
    _hub.listen(_before, _after, (*backwards, *_backwards))


class _Engine:
    """Detects the start of a backward, for which torch has no hook. Tensor.backward()
    and torch.autograd.grad() both get their engine from Variable. During recordings,
    this is a subclass that also notifies the hub."""

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
    """Suppresses torch's warning that global hooks are called both for a compiled
    module and for the module inside it. torchoscope handles that."""

    def __init__(self):
        text = r"Using `torch\.compile\(module\)` when there are global hooks"
        warnings.filterwarnings("ignore", text, UserWarning)
        self._filter = warnings.filters[0]

    def remove(self):
        # Other code may have replaced the list.
        with contextlib.suppress(ValueError, AttributeError):
            warnings.filters.remove(self._filter)
            warnings._filters_mutated()


def _take_off():
    with _lock:
        while _handles:
            handle = _handles.pop()
            handle.remove()
            # torch 2.13 does not remove this entry and would keep warning.
            keywords = getattr(torch_module, "_global_forward_hooks_with_kwargs", {})
            keywords.pop(getattr(handle, "id", None), None)


def _compiler_begins(*_):
    global _compiling
    with _lock:
        _compiling = True
        _take_off()
        for end in [weak() for weak in _watches]:
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
    """Register callbacks for the start and end of compilation."""
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
    with contextlib.suppress(Exception):  # torch._dynamo.reset() removes them
        handler.remove_start_callback(_compiler_begins)
    with contextlib.suppress(Exception):
        handler.remove_end_callback(_compiler_ends)


# --- what torch calls

# Keep the Python code between torch and the hub short: a real layer evicts it from the
# CPU caches. Some is needed, because torch's compiler must see that nothing happens
# here.


def _hook_before(module, args):
    if not _is_compiling():
        _notify_hub_before(module, args)


def _hook_after(*call):
    if not _is_compiling():
        _notify_hub_after(*call)


def _rare_before(module, args):
    if _is_jit_tracing() is not None or _fx._is_fx_tracing_flag:
        return
    if not _watching and "torch._dynamo" in sys.modules:
        _watch_compiler()
    if _wrapped and _notified_by_wrapper(module, False):
        return
    kwargs = _keywords()
    _notify_before(module, args, *(() if kwargs is None else (kwargs,)))


def _keywords():
    """The keyword arguments of a call, from torch's frame; None if unknown. torch does
    not pass them to global pre-hooks, and old versions pass them to no hook. This takes
    a microsecond, so call it only if there may be some."""
    frame = sys._getframe(0)
    here = frame.f_code.co_filename
    while frame is not None and frame.f_code.co_filename == here:
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename != torch_module.__file__:
        return None
    kwargs = frame.f_locals.get("kwargs")
    return kwargs if isinstance(kwargs, dict) else None


def _rare_after(module, args, *rest):
    # torch passes (module, args, kwargs, result), or (module, args, result) if it does
    # not pass keywords, or (module, args, None) if forward raised.
    if _is_jit_tracing() is not None or _fx._is_fx_tracing_flag:
        return
    if _wrapped and _notified_by_wrapper(module, True):
        return
    if len(rest) == 2:
        _notify_after(module, args, rest[0], rest[1])
    elif rest[0] is None and (error := _error_of(sys._getframe(2))) is not None:
        _notify_raised(module, args, error)
    else:
        _notify_after(module, args, _keywords(), rest[0])


def _error_of(frame):
    """The exception that `frame` has just caught, or None. A module may also return
    None while its caller is handling an exception."""
    error = sys.exc_info()[1]
    trace = error.__traceback__ if error is not None else None
    return error if trace is not None and trace.tb_frame is frame else None


def _notify_before(*call):
    for before in _before:
        try:
            before(*call)
        except Exception:  # must not reach the user's forward
            pass


def _notify_compiled(module, is_compiled):
    for listener in _listeners:
        with contextlib.suppress(Exception):
            listener.compiled(module, is_compiled)


def _notify_after(module, args, kwargs, result):
    for after in _after:
        try:
            after(module, args, kwargs, result)
        except Exception:
            pass


def _notify_raised(module, args, error):
    for raised in _raised:
        try:
            raised(module, args, error)
        except Exception:
            pass


_hub = _core.Hub(_keywords, _rare_before, _rare_after, _is_jit_tracing, _fx)
_notify_hub_before, _notify_hub_after = _hub.notify_before, _hub.notify_after


# --- modules that were compiled in place


class _Wrapped:
    __slots__ = ("module", "inner", "call", "uses")


def wrap_compiled(modules):
    """Wrap the compiled calls of these modules. Pass the result to
    unwrap_compiled()."""
    done = []
    with _lock:
        for module in modules:
            inner = module.__dict__.get("_compiled_call_impl")
            if inner is None or getattr(inner, "only_watches", False):
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
    make = _plain_call if _compiles_nothing(module) else _wrapper
    entry.call = make(entry.module, inner)
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
            # If it was compiled again, keep the new call.
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
        _notify_before(module, args, kwargs)
        _notify_compiled(module, True)
        try:
            result = inner(*args, **kwargs)
        except BaseException as error:
            _notify_raised(module, args, error)
            raise
        else:
            _notify_after(module, args, kwargs, result)
            return result
        finally:
            frames.pop()

    return compiled_call


def _compiles_nothing(module):
    """Does torch run this module as plain Python although it was compiled in place?
    torch does not compile its own layers, so only user code below them counts: a class,
    a hook, a function that replaces forward()."""
    rules = sys.modules.get("torch._dynamo.trace_rules")
    try:
        return all(
            rules.check(one.forward)
            and "forward" not in one.__dict__
            and not any(getattr(one, name, None) for name in _HOOKS)
            for one in module.modules()
        )
    except Exception:  # another version of torch
        return False


_HOOKS = "_forward_hooks _forward_pre_hooks _backward_hooks _backward_pre_hooks".split()


def _plain_call(reference, inner):
    """Calls a module that torch does not compile without the compiler, which would
    ignore our hooks."""

    def plain_call(*args, **kwargs):
        module = reference()
        if _is_compiling() or module is None:
            return inner(*args, **kwargs)
        return module._call_impl(*args, **kwargs)

    return plain_call


def compiled_inner(module):
    """The module that torch.compile() wrapped in this one, or the module itself."""
    modules = module._modules  # for scripted modules a torch object
    return modules.get("_orig_mod", module) if isinstance(modules, dict) else module


def is_ours(call):
    """Is this compiled call of a module wrapped or watched?"""
    return getattr(call, "__module__", None) == __name__


def watch_calls(modules, begins, ends, lost):
    """Call begins(module, args, kwargs) and ends(module, result) around calls of these
    modules (result: None if it raised), without hooks, so that other calls cost nothing.
    Returns and fails as wrap_calls()."""

    def around(module, go, args, kwargs):
        result = None
        _notify_plainly(begins, module, args, kwargs)
        try:
            result = go(*args, **kwargs)
            return result
        finally:
            _notify_plainly(ends, module, result)

    return wrap_calls(modules, around, lost)


def wrap_calls(modules, around, lost):
    """Let around(module, go, args, kwargs) make the calls of these modules, by
    go(*args, **kwargs). Returns a function that ends this, which the caller holds.
    Returns None if this torch lacks the attribute, or if compiled code has guards on it
    and would be recompiled. When torch starts to compile, it ends and calls lost()."""
    if not hasattr(torch.nn.Module, "_compiled_call_impl") or _has_compiled(modules):
        return None
    if not _watching and "torch._dynamo" in sys.modules:
        _watch_compiler()
    _skip_code(around.__code__)
    done = [(weakref.ref(module), *_watch(module, around)) for module in modules]

    def unwatch(is_lost=False):
        with _lock:
            _watches.discard(weak)
            if not _listeners:
                _unwatch_compiler()
        if is_lost:
            lost()
        for reference, call, inner in done:
            module = reference()
            if module is None or module.__dict__.get("_compiled_call_impl") is not call:
                continue
            if inner is None:
                del module.__dict__["_compiled_call_impl"]
            else:
                module.__dict__["_compiled_call_impl"] = inner
        done.clear()

    with _lock:
        weak = weakref.ref(unwatch, _watches.discard)
        _watches.add(weak)
    return unwatch


def _has_compiled(modules):
    """Has torch compiled code that may include these modules?"""
    dynamo = sys.modules.get("torch._dynamo.eval_frame")
    entries = getattr(dynamo, "_debug_get_cache_entry_list", None)
    if entries is None:
        return False
    calls = [torch.nn.Module._wrapped_call_impl, torch.nn.Module._call_impl]
    # A scripted module raises AttributeError.
    calls += [getattr(type(module), "forward", None) for module in modules]
    codes = [one.__code__ for one in calls if hasattr(one, "__code__")]
    # The compiler enters modules of torch through a function inside this one.
    utils = sys.modules.get("torch._dynamo.external_utils")
    wrap = getattr(getattr(utils, "wrap_inline", None), "__code__", None)
    codes += [one for one in getattr(wrap, "co_consts", ()) if hasattr(one, "co_code")]
    return any(entries(one) for one in codes)


# torch's compiler must not compile a watched call: that code would be useless after the
# watch ends. It compiles the forward inside instead.
_eval_frame = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)
_set_eval_frame = getattr(_eval_frame, "set_eval_frame", _never)


def _skip_code(code):
    with contextlib.suppress(Exception):
        if hasattr(_eval_frame, "set_code_exec_strategy"):
            action = _eval_frame._FrameAction
            rule = _eval_frame._FrameExecStrategy(action.SKIP, action.DEFAULT)
            _eval_frame.set_code_exec_strategy(code, rule)
        else:
            _eval_frame.skip_code(code)


def hide(function):
    """Torch's compiler neither compiles this function nor looks into it. What it calls may
    be compiled: see plainly()."""
    function._torchdynamo_disable = True
    _skip_code(function.__code__)
    return function


def plainly(work, *args):
    """The result of work(*args), as plain Python; for functions that are hidden."""
    before, inside = _set_eval_frame(None), in_compiled()
    _local.inside = inside or before is not None
    try:
        return work(*args)
    finally:
        _local.inside = inside
        _set_eval_frame(before)


def in_compiled():
    """In plainly(): is the caller compiled code?"""
    return getattr(_local, "inside", False)


_skip_code(plainly.__code__)


def _notify_plainly(notify, *args):
    """Calls notify(*args) as plain Python, in compiled code, too."""
    try:
        plainly(notify, *args)
    except Exception:  # must not reach the user's forward
        pass


_skip_code(_notify_plainly.__code__)


def called_by(frame, module):
    """The module whose call made `frame`, if that is torch's function for calls; else
    `module`. Code that copies a module's __dict__ (DataParallel, higher) also copies the
    attribute that wraps its calls."""
    if frame.f_code is not torch.nn.Module._wrapped_call_impl.__code__:
        return module
    return frame.f_locals["self"]


def _watch(module, around):
    reference, inner = weakref.ref(module), module.__dict__.get("_compiled_call_impl")

    def watched_call(*args, **kwargs):
        this = called = reference()
        if inner is None and not _is_compiling():
            called = called_by(sys._getframe(1), this)
        go = called._call_impl if inner is None else inner
        is_copy = called is not this and not getattr(called, "_is_replica", False)
        if is_copy or _is_compiling():
            return go(*args, **kwargs)
        if not _watching and "torch._dynamo" in sys.modules:
            _watch_compiler()
        return around(this, go, args, kwargs)

    watched_call.only_watches = inner is None
    _skip_code(watched_call.__code__)
    module.__dict__["_compiled_call_impl"] = watched_call
    return watched_call, inner


def _frames():
    try:
        return _local.frames
    except AttributeError:
        _local.frames = []
        return _local.frames


def _notified_by_wrapper(module, after):
    """Has the wrapper already reported this call? If torch does not compile after all
    (a stance, a limit), the hooks of a wrapped module run too."""
    frames = _frames()
    if not frames or frames[-1][0] is not module or frames[-1][1] is not after:
        return False
    frames[-1][1] = not after
    if not after:
        _notify_compiled(module, False)
    return True
