"""record(): a context manager that records what a model does."""

import contextlib
import fnmatch
import functools
import importlib
import os
import re
import sys
import threading
import time
import warnings
import weakref

import torch

from torchoscope import _core, forward_stats, held, hooks, op_kinds, probes
from torchoscope.clock import clock_of
from torchoscope.device import Device
from torchoscope.notes import Notes
from torchoscope.op_replay import Kept
from torchoscope.recording import Recording
from torchoscope.restore import modules_of
from torchoscope.unseen import Unseen

MODES = ("full", "exact", "sampled", "guard")
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}
_UNITS |= {"KI": 2**10, "MI": 2**20, "GI": 2**30}


def record(
    model,
    *,
    mode="full",
    gradients=True,
    parameters=True,
    keep=None,
    limit="256MB",
    calls=64,
    budget=None,
    lines=True,
    inside=False,
    eager=False,
    ops=False,
    name=None,
):
    """Record what `model` does in a with block; `as` gives a Recording.

    model       an nn.Module, or an object with modules among its attributes
    mode        "full", "exact", "sampled" or "guard" (counts only NaN and infinities)
    gradients   also record gradients of arguments and results
    parameters  also record parameters and their gradients, at each optimizer step
    keep        names, patterns or a function: modules whose tensors to keep completely
    limit       memory limit for kept tensors: bytes, "256MB", "1.5GiB"
    calls       calls of each module to keep separately (the rest are merged), or "all"
    budget      the share of time that recording may take, for example 0.03
    lines       record the source line of each call
    inside      turn off torch's fused encoder layer
    eager       run compiled code as plain Python
    ops         also record operations: True; "stats" measures their results too;
                "replay" keeps what recording.replay() needs
    name        a name for the model

    docs/python.md has the details.
    """
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    if calls != "all" and (type(calls) is not int or calls < 1):
        raise ValueError(f"calls must be 1 or more, or 'all', not {calls!r}")
    if budget is not None and not 0 < budget < 1:
        raise ValueError(f"budget must be between 0 and 1, not {budget!r}")
    if ops not in (False, None, True, "stats", "replay"):
        raise ValueError(f"ops must be True, False, 'stats' or 'replay', not {ops!r}")
    began = _core.clock_ns()
    modules = list(modules_of(model))
    if not modules:
        raise TypeError(f"{type(model).__name__} contains no torch.nn.Module")
    wanted = {
        "mode": mode,
        "gradients": bool(gradients),
        "keep": _chooser(keep),
        "keep_limit": parse_size(limit),
        "calls": 0 if calls == "all" else calls,
        "lines": bool(lines),
    }
    name = type(model).__name__ if name is None else str(name)
    options = {"parameters": parameters, "inside": inside, "eager": eager, "ops": ops}
    recording = LiveRecording(model, modules, name, wanted, budget, options)
    recording._made_in = _core.clock_ns() - began
    return recording


def parse_size(text):
    """The number of bytes in 4096, "256MB" or "1.5GiB"."""
    if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
        return text
    found = re.fullmatch(r"\s*([0-9.]+)\s*([KMG]?I?)B?\s*", str(text).upper())
    if not found or found[1].count(".") > 1 or found[2] not in _UNITS:
        raise ValueError(f"not a size: {text!r}; write 4096, '256MB' or '1.5GiB'")
    return int(float(found[1]) * _UNITS[found[2]])


def forces_device():
    """For tests: are all tensors treated as if on a device?"""
    return os.environ.get("TORCHOSCOPE_DEVICE") == "ops"


def _chooser(keep):
    """A function that takes a module's name, or None."""
    if keep is None or callable(keep):
        return keep
    return Patterns([keep] if isinstance(keep, str) else keep)


class Patterns:
    """Does a name match a pattern? `unmatched` has the patterns without a match."""

    def __init__(self, patterns):
        self._patterns = list(patterns)
        self.unmatched = set(self._patterns)

    def __call__(self, name):
        found = [one for one in self._patterns if fnmatch.fnmatchcase(name, one)]
        self.unmatched.difference_update(found)
        return bool(found)


class LiveRecording(Recording):
    """A recording made by record(). It can be entered once."""

    def __init__(self, model, modules, name, wanted, budget, options):
        super().__init__()
        if not hasattr(_core, "Recorder"):
            raise RuntimeError("this torchoscope was built without recordings")
        self._model, self._modules, self._name = model, modules, name
        self._weak = _weak_reference(model)
        self._kinds = ()  # weak references to the classes, after the end
        self._wanted, self._options = wanted, options
        self._budget = budget and Budget(budget)
        self._core = None
        self._ending = None  # an ExitStack: what to undo when the recording ends
        self._steps = 0
        self._numbers = []  # finalizers of the model's optimizers
        self._seen = None  # (when, the newest snapshot)
        self._stats = None, {}  # (when, name -> list)
        self._lock = threading.RLock()
        self._made_in = self._began = 0  # nanoseconds
        self._lazy = ()  # modules without parameters yet
        self._replay = self._mode = None

    # --- beginning and end

    def __enter__(self):
        if self._core is not None or self._run is not None:
            raise RuntimeError("a recording can be entered only once")
        began = self._began = _core.clock_ns() - self._made_in
        device = self._device = self._make_device()
        force = forces_device()
        ops = self._operations()
        core = _core.Recorder(
            *(self._model, self._name),
            **{"device": device, "force_device": force, "ops": ops, **self._wanted},
        )
        unmatched = getattr(self._wanted["keep"], "unmatched", None)
        if unmatched:
            names = ", ".join(map(repr, sorted(unmatched)))
            raise ValueError(f"keep: no module matches {names}")
        self._core = core
        self._add_facts()
        with contextlib.ExitStack() as stack:
            self._begin(stack)
            self._ending = stack.pop_all()
            if ops is not None:  # last: our own operations are not the user's
                core.op_ns = op_cost()
                ops.mode = core.ops_mode
                self._mode = op_kinds.Entered(core.ops_mode())
                self._ending.callback(self._mode.leave)
        core.begin_ns = began
        core.spend(began)
        if self._budget:
            self._budget.owe(core.cost_ns)
        return self

    def _make_device(self):
        return Device(self._wanted["mode"], clock_of(self._modules))

    def __exit__(self, kind, error, trace):
        if error is not None and not hooks.SEES_EXCEPTIONS and self._ending:
            with contextlib.suppress(Exception):
                self._notes.left_the_block(error)
        self.stop()
        if self._mode is not None:  # if stop() was called on another thread
            self._mode.leave()
            self._mode = None
        return False

    def stop(self):
        """End the recording and remove all hooks. Further calls do nothing."""
        with self._lock:
            ending, self._ending = self._ending, None
        if ending is None:
            return
        began, counted = _core.clock_ns(), self._core.cost_ns
        if not self._options["eager"]:
            with contextlib.suppress(Exception):
                self._say_compiled()
        ending.close()
        self._renew()
        core, self._core = self._core, None
        try:
            if self._looks_at_parameters(core):
                core.step(None)
            if self._budget:
                self._budget.tell(core)
            with contextlib.suppress(Exception):
                self._unseen.tell(core)
            if self._device.marks.has_times:
                core.fact("times", "of the host; device_ns by the clock of the device")
            self._run = core.stop()
        except Exception as problem:
            text = f"torchoscope: the recording is lost: {problem}"
            warnings.warn(text, stacklevel=3)
        kinds = {type(module) for _, module in self._modules}
        self._kinds = [weakref.ref(kind) for kind in kinds]
        # The run has only numbers and names. Do not keep the model alive.
        self._seen = self._model = self._modules = self._notes = None
        self._unseen = self._device = None
        counted = core.cost_ns - counted
        del core, ending
        if self._run is not None:
            now = _core.clock_ns()
            self._run.ended(max(0, now - began - counted), now - self._began)

    def _looks_at_parameters(self, core):
        """Record parameters at the end? Only if no optimizer stepped; in a summary,
        which should be quick, only if some value is not finite."""
        wanted = self._options["parameters"]
        if wanted == "if spoilt":
            return core.spoilt()
        return wanted and not self._steps

    def _begin(self, stack):
        """Install everything; the stack collects what to undo."""
        core = self._core
        names = {id(module): name for name, module in self._modules}
        self._notes = Notes(names, self.calls)
        if self._options["eager"]:
            self._force_eager(stack)
        elif wrapped := hooks.wrap_compiled(module for _, module in self._modules):
            stack.callback(hooks.unwrap_compiled, wrapped)
        if self._options["inside"]:
            self._open_fused(stack)
        self._follow_optimizers(stack)
        self._unseen = Unseen(self._modules)
        self._lazy = [module for _, module in self._modules if _is_lazy(module)]
        listener = hooks.Listener(core.pre, core.post, self._raised)
        listener.compiled = core.compiled
        if self._wanted["gradients"] or self._options["ops"]:
            listener.backward = core.backward
        if self._wanted["gradients"]:
            learn_holders()
        if self._budget:
            self._budget.begin(core, listener, stack)
            self._budget.device = self._device
        hooks.add(listener)
        stack.callback(hooks.remove, listener)
        _set_hook_cost(core)
        self._show_stats()

    def _show_stats(self):
        forward_stats.attach(self, self._modules)

    def _renew(self):
        """Show lazy modules with their parameters once they have them."""
        made = [module for module in self._lazy if not _is_lazy(module)]
        if made:
            with contextlib.suppress(Exception):
                self._core.renew(self._model, self._name)
            self._lazy = [module for module in self._lazy if _is_lazy(module)]

    def _raised(self, module, args, error):
        self._core.raised(module, error)
        self._notes.raised(module, args, error)

    # --- options

    def _operations(self):
        """How to record operations, or None."""
        ops = self._options["ops"]
        if not ops:
            return None
        why = op_kinds.why_not()
        if why is not None:
            raise RuntimeError(why)
        self._replay = Kept() if ops == "replay" else None
        return op_kinds.Wanted(stats=ops == "stats", replay=self._replay)

    def _say_compiled(self):
        """After Module.compile() in the block, a module calls no hooks."""
        inside = ()
        for name, module in self._modules:
            call = getattr(module, "_compiled_call_impl", None)
            if call is not None and not hooks.is_ours(call):
                text = "compiled in the block: its later calls were not recorded"
                inside += (f"{name}." if name else "",)
            elif name.startswith(inside) and not self._core.calls(module):
                text = "not recorded: it is inside compiled code"
            else:
                continue
            self._core.gap("compiled", name, text)

    def _force_eager(self, stack):
        try:
            # The stance also applies to what is compiled in the block.
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        except Exception:
            text = "eager=True: this torch cannot run compiled code as plain Python"
            self._core.gap("compiled", None, text)

    def _open_fused(self, stack):
        fused = getattr(torch.backends, "mha", None)
        if not hasattr(fused, "set_fastpath_enabled"):
            text = "inside=True: this torch cannot turn off its fused encoder layer"
            self._core.gap("fused", None, text)
            return
        stack.callback(fused.set_fastpath_enabled, fused.get_fastpath_enabled())
        fused.set_fastpath_enabled(False)

    def _follow_optimizers(self, stack):
        """Count the steps of the model's optimizers, and look at the parameters before
        each if requested. Without optimizer hooks in torch, no steps are counted."""
        before, after = self._optimizer_hooks()
        if after is not None:
            self._optimizers = weakref.WeakKeyDictionary()
            stack.callback(self._forget_optimizers)
            stack.callback(after(self._stepped).remove)
        if self._options["ops"] and before is not None and after is not None:
            core = self._core
            stack.callback(before(lambda *_: core.optimizer(True)).remove)
            stack.callback(after(lambda *_: core.optimizer(False)).remove)
        if before is None or self._options["parameters"] in (False, "if spoilt"):
            return

        def before_step(optimizer, args, kwargs):
            found = _closure_of(args, kwargs)
            if found is None:
                self._look_at_parameters(optimizer)
                return None
            # step() computes the gradients in the closure: gradients and weights match
            # when the closure first returns.
            closure = _then(found, functools.partial(self._look_at_parameters, optimizer))
            if "closure" in kwargs:
                return args, {**kwargs, "closure": closure}
            return (args[0], closure, *args[2:]), kwargs

        stack.callback(before(before_step).remove)

    def _optimizer_hooks(self):
        module = importlib.import_module("torch.optim.optimizer")
        names = "register_optimizer_step_pre_hook", "register_optimizer_step_post_hook"
        return [getattr(module, name, None) for name in names]

    def _stepped(self, optimizer, args, kwargs):
        """An optimizer returned from step(). If it is the model's, a step ends."""
        core = self._core
        with contextlib.suppress(Exception):
            began, counted = _core.clock_ns(), core.cost_ns
            if optimizer not in self._optimizers:
                self._optimizers[optimizer] = self._watch_optimizer(optimizer)
            watched = self._optimizers[optimizer]
            if watched:
                core.stepped(watched[0])
            core.spend(began, counted)

    def _watch_optimizer(self, optimizer):
        """Assigns a number to an optimizer of the model, as a tuple, and notifies the
        core when it is freed. None for an optimizer of another model."""
        own = {id(p) for _, module in self._modules for p in module.parameters(False)}
        groups = [group["params"] for group in optimizer.param_groups]
        if own.isdisjoint(id(p) for group in groups for p in group):
            return None
        number = len(self._numbers)
        self._numbers.append(
            weakref.finalize(optimizer, self._core.optimizer_gone, number)
        )
        return (number,)

    def _forget_optimizers(self):
        for number in self._numbers:
            number.detach()

    def _look_at_parameters(self, optimizer):
        core = self._core
        with contextlib.suppress(Exception):
            began, counted = _core.clock_ns(), core.cost_ns
            core.step(optimizer)
            if not self._steps:  # the gradients may be gone at the end
                self._unseen.tell(core)
            self._steps += 1
            core.spend(began, counted)

    def _add_facts(self):
        core = self._core
        core.fact("torch", str(torch.__version__))
        core.fact("python", ".".join(map(str, sys.version_info[:3])))
        core.fact("mode", self._wanted["mode"])
        core.fact("threads", torch.get_num_threads())
        core.fact("when", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
        if not hooks.SEES_KEYWORDS:
            text = "this torch does not show hooks the keyword arguments of a call"
            core.gap("keywords", None, text)

    def _alive(self):
        return self._weak()

    def _keep_code(self):
        from torchoscope.class_code import code_of

        codes = []
        for kind in [weak() for weak in self._kinds]:
            found = kind and code_of(kind)
            if found:
                codes.append((f"{kind.__module__}.{kind.__qualname__}", *found))
        self._now().keep_code(codes)

    # --- access during the recording

    def _now(self):
        with self._lock:
            core = self._core
            if core is None:
                return super()._now()
            self._renew()
            moment = self._moment()
            if self._seen is None or self._seen[0] != moment:
                self._seen = moment, core.snapshot()
            return self._seen[1]

    def _moment(self):
        """Changes with everything that is recorded; None after the end."""
        core = self._core
        return None if core is None else (core.hook_calls, core.cost_ns)

    def module_stats(self, name):
        """module.forward_stats: all calls of the module named `name`, by any of its
        names. The same list until something is recorded."""
        with self._lock:
            moment = self._moment()
            if self._stats[0] != moment:
                self._stats = moment, {}
            kept = self._stats[1]
            if name not in kept:
                kept[name] = self._stats_of(self._now().calls(name, True))
            return kept[name]

    def __repr__(self):
        if self._core is None:
            return super().__repr__()
        return f"<torchoscope.Recording of {self._name}: under way>"


def _closure_of(args, kwargs):
    """The closure passed to an optimizer's step(), or None."""
    closure = kwargs.get("closure", args[1] if len(args) > 1 else None)
    return closure if callable(closure) else None


def _then(closure, look):
    """Wraps a closure to call look() after its first call."""
    waiting = [look]

    @functools.wraps(closure)
    def call(*args, **kwargs):
        result = closure(*args, **kwargs)
        if waiting:
            waiting.pop()()
        return result

    return call


def _is_lazy(module):
    return isinstance(module, torch.nn.modules.lazy.LazyModuleMixin)


def _weak_reference(model):
    """Some objects that contain modules do not support weak references."""
    try:
        return weakref.ref(model)
    except TypeError:
        return lambda: None


SKIP = "not recorded"


class Budget:
    """Limits the share of time that recording takes. The core decides how to record
    each pass: as requested, sampled, only counted, or not at all."""

    def __init__(self, share):
        self.share = share
        self.passes = dict.fromkeys(("full", "sampled", "guard", SKIP), 0)
        self._rule = _core.Budget(share)
        self._idle_calls = 0  # hook calls while nothing was recorded
        self._outer = None  # id of the root being called

    def begin(self, core, listener, stack):
        self._core, self._listener = core, listener
        self._mode = core.mode  # as requested
        self._now = None  # the mode of the current pass
        self._last = time.perf_counter_ns(), 0, 0
        self._on = True
        roots = core.roots
        self._roots = set(map(id, roots))
        self._pre, self._post = core.pre, core.post
        unwatch = hooks.watch_calls(roots, self._begins, self._ends, self._lost)
        self._watched = unwatch is not None
        if self._watched:
            stack.callback(unwatch)
        else:
            listener.before, listener.after = self._before, self._after

    def owe(self, spent_ns):
        """Count what starting took."""
        self._rule.owe(spent_ns)
        self._last = time.perf_counter_ns(), self.spent(), 0

    def spent(self):
        core = self._core
        calls = core.hook_calls // 2 + self._idle_calls
        torchs = calls * core.hook_ns + core.n_ops * core.op_ns
        return core.cost_ns + torchs

    def _begins(self, module, args, kwargs):
        # If the outermost root is called again, the last pass was interrupted.
        if self._outer in (None, id(module)):
            self._outer = id(module)
            self._decide()

    def _ends(self, module, result):
        if id(module) == self._outer:
            self._outer = None

    def _lost(self):
        self._watched = False
        self._listener.before, self._listener.after = self._before, self._after
        if not self._on:
            hooks.add(self._listener)
        hooks.changed()

    # Used if calls cannot be watched without hooks.

    def _before(self, module, *rest):
        inner = hooks.compiled_inner(module)
        if id(module) in self._roots or id(inner) in self._roots:
            self._begins(module, *rest, *({},) * (2 - len(rest)))
        if self._on:
            self._pre(module, *rest)
        else:
            self._idle_calls += 1

    def _after(self, module, *rest):
        if self._on:
            self._post(module, *rest)
        self._ends(module, rest[-1])

    def _decide(self):
        """A pass begins: report what the last one took and choose the next mode."""
        now, spent, measured = time.perf_counter_ns(), self.spent(), self._core.bytes
        own = max(0, spent - self._last[1])
        if self._now is not None:
            user = max(0, now - self._last[0] - own)
            self._rule.report(self._now, user, own, measured - self._last[2])
        self._last = now, spent, measured
        self._now = self._rule.next()
        self.passes[self._now] += 1
        self._turn(self._now != SKIP)
        if self._on:
            # No mode is cheaper than guard.
            as_asked = self._now == "full" or self._mode == "guard"
            self._core.mode = self.device.mode = self._mode if as_asked else self._now

    def _turn(self, on):
        if on == self._on:
            return
        self._on = on
        (self._core.arm if on else self._core.disarm)()
        if self._watched:
            (hooks.add if on else hooks.remove)(self._listener)

    def tell(self, core):
        core.arm()
        # Idle hooks cost time too.
        calls = core.hook_calls // 2
        if calls:
            core.hook_ns = core.hook_ns * (calls + self._idle_calls) // calls
        core.fact("budget", self.share)
        core.fact("budget_cost", round(self._rule.cost, 5))
        core.fact("budget_fell_back", self._rule.fell_back)
        core.fact("passes_left_out", self.passes[SKIP])
        core.fact("passes_recorded", sum(self.passes.values()) - self.passes[SKIP])


_hook_ns = None


_learning = threading.Lock()


def learn_holders():
    """Record the test modules of probes.py, once per process: see held.py."""
    if not held.is_wanted() or hooks.is_used() or not _learning.acquire(blocking=False):
        return
    try:
        with probes.alone(), held.learn(probes.count_graph()):
            model = probes.Calls()
            core = _core.Recorder(
                model,
                "",
                device=Device("guard", clock_of(())),
                mode="guard",
                gradients=True,
                lines=False,
            )
            listener = hooks.Listener(core.pre, core.post, _ignore)
            hooks.add(listener)
            try:
                probes.run(model)
            finally:
                hooks.remove(listener)
                core.stop()
    finally:
        _learning.release()


def _ignore(*_):
    pass


def _set_hook_cost(core):
    """Sets the cost of torch's hooked path per call, measured once: an empty module
    with hooks that do nothing, and without hooks. The work of the hooks is measured
    separately, as it happens."""
    global _hook_ns
    if os.environ.get("TORCHOSCOPE_CLOCK") == "ticks":
        core.hook_ns = 0
        return
    if _hook_ns is None:
        _hook_ns = _measure_hooks(torch.nn.Identity())
    core.hook_ns = _hook_ns


_op_ns = None


def op_cost():
    """The overhead of a torch dispatch mode per operation, measured once: a tiny
    operation with and without a mode that only passes it on. Our work in the mode is
    measured separately, as it happens."""
    global _op_ns
    if os.environ.get("TORCHOSCOPE_CLOCK") == "ticks":
        return 0
    if _op_ns is None:
        with probes.alone(), torch.no_grad():
            _op_ns = _measure_mode(torch.zeros((), device="cpu"))
    return _op_ns


def _measure_mode(tensor, pairs=12):
    """The middle half of the differences, without the first pair, which warms up."""
    more = []
    for _ in range(pairs + 1):
        without = _ops_ns(tensor)
        with op_kinds.empty_mode():
            more.append(_ops_ns(tensor) - without)
    middle = sorted(more[1:])[pairs // 4 : -pairs // 4]
    return max(0, int(sum(middle) / len(middle)))


def _ops_ns(tensor, n=16):
    start = time.perf_counter_ns()
    for _ in range(n):
        tensor.neg()
    return (time.perf_counter_ns() - start) / n


def _measure_hooks(module, pairs=8):
    """The middle half of the differences between calls with and without hooks. Before
    each call, copies more memory than the caches hold: the layers of a real model also
    evict the hooks' code."""
    work, more = bytearray(8 << 20), []
    for _ in range(pairs):
        with hooks.without():
            without = _cold_ns(module, work)
        with hooks.doing_nothing():
            more.append(_cold_ns(module, work) - without)
    middle = sorted(more)[pairs // 4 : -pairs // 4]
    return max(0, sum(middle) // len(middle))


def _cold_ns(module, work):
    bytes(work)
    start = time.perf_counter_ns()
    module(None)
    return time.perf_counter_ns() - start
