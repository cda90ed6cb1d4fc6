"""watch(): follows a training and appends series to a .scope file."""

import atexit
import contextlib
import math
import os
import re
import socket
import threading
import time
import warnings
import weakref

import torch

from torchoscope import _core, watch_group, watch_ranks
from torchoscope.history import KINDS
from torchoscope.recorder import parse_size
from torchoscope.restore import modules_of
from torchoscope.watch_steps import Recorder, Rounds, Steps

_LOGS = {
    "io": ("input", "output"),
    "io_grad": ("grad_input", "grad_output"),
    "params": ("param", "update"),
    "params_grad": ("grad_param",),
}
# wandb's words
_WORDS = {None: (), "gradients": ("params_grad",), "parameters": ("params",)}
_WORDS["all"] = tuple(_LOGS)
_MOST_PASSES = 64  # of one step, if no optimizer ends it
_TRAIN, _EVAL = 0, 1

_watched = {}  # id of a model -> its Watch
_lock = threading.RLock()


def watch(
    model,
    log=("io", "io_grad", "params", "params_grad"),
    log_freq=None,
    dir="runs",
    name=None,
    budget=0.03,
    limit="256MB",
    exact=False,
    group=False,
):
    """Follow the training of `model`: writes series over its steps to a .scope file.

    model     an nn.Module; a second watch() of it replaces the first
    log       what to log: "io", "io_grad", "params", "params_grad"; also "gradients",
              "parameters", "all"; [] or None: the structure and the first step only
    log_freq  log every n-th step; None: as often as the budget allows
    dir       the folder of the file
    name      part of the file's name; the model's class if not given
    budget    the share of time that logging may take; ignored with log_freq
    limit     the most that the file may have: old steps are merged to keep it
    exact     count all elements in histograms and updates, sums in double precision
    group     True, or a timeout in seconds: rank 0 writes the steps of all ranks into one
              file; needs log_freq

    Returns a Watch. docs/python.md has the details.
    """
    wanted = _wanted(log)
    if log_freq is not None and (type(log_freq) is not int or log_freq < 1):
        raise ValueError(f"log_freq must be 1 or more, or None, not {log_freq!r}")
    if not 0 < budget < 1:
        raise ValueError(f"budget must be between 0 and 1, not {budget!r}")
    if group and log_freq is None:
        raise ValueError("group needs log_freq: all ranks must log the same steps")
    size = parse_size(limit)
    if not list(modules_of(model)):
        raise TypeError(f"{type(model).__name__} contains no torch.nn.Module")
    model = watch_ranks.unwrapped(model)
    unwatch(model)
    name = watch_ranks.class_name(model) if name is None else str(name)
    place = watch_ranks.Place(_path(dir, name), name)
    handle = Watch(model, name, wanted, Steps(budget, log_freq), place, size, exact)
    handle._group = watch_group.make(group, place)
    with _lock:
        _watched[id(model)] = handle
    return handle


def unwatch(model):
    """End watching a model. Does nothing if it is not watched."""
    with _lock:
        handle = _watched.get(id(watch_ranks.unwrapped(model)))
    if handle is not None:
        handle.close()


def _wanted(log):
    """The words of `log` as a set of "io", "io_grad", "params", "params_grad"."""
    words = [log] if log is None or isinstance(log, str) else list(log)
    found = set()
    for word in words:
        if word not in _WORDS and word not in _LOGS:
            known = ", ".join(map(repr, [*_LOGS, *filter(None, _WORDS)]))
            raise ValueError(f"log: no {word!r}; there are {known}")
        found.update(_WORDS.get(word, (word,)))
    return found


def _path(folder, name):
    when = time.strftime("%Y-%m-%d_%H-%M-%S")
    stem = f"{when}_{re.sub(r'[^A-Za-z0-9_.-]+', '_', name) or 'model'}"
    path, number = os.path.join(os.fspath(folder), f"{stem}.scope"), 1
    taken = {handle._place._own for handle in _watched.values()}
    while path in taken or os.path.exists(path) or os.path.exists(path[: -len(".scope")]):
        number += 1
        path = os.path.join(os.fspath(folder), f"{stem}_{number}.scope")
    return path


class Watch:
    """A training that is followed; made by watch(). Use it as a context manager, or call
    close() at the end; the end of the process does so too."""

    def __init__(self, model, name, wanted, steps, place, limit, exact):
        self._key, self._name, self._limit = id(model), name, limit
        self._wanted, self._budget, self._place = wanted, steps, place
        self._exact, self._group = bool(exact), None
        chosen = {kind for word in wanted for kind in _LOGS[word]}
        self._kinds = sum(1 << KINDS.index(kind) for kind in chosen)
        self._writer = None
        self._pid = os.getpid()
        self._closed = self._told = False
        self._count = self._next = self._number = 0
        self._scalars, self._losses = {}, []
        self._rounds = Rounds()
        self._forget()
        self._recorder = self._begin(model, steps)

    def _begin(self, model, steps):
        mode = "exact" if self._exact else "full"
        core = {"mode": mode, "gradients": "io_grad" in self._wanted, "keep": None}
        core |= {"keep_limit": 0, "calls": 64, "lines": True, "watch": True}
        options = {"inside": False, "eager": False, "ops": False}
        options["parameters"] = bool(self._wanted & {"params", "params_grad"})
        modules = list(modules_of(model))
        recorder = Recorder(model, modules, self._name, core, None, options)
        recorder._budget = steps
        recorder.watch = steps.watch = weakref.ref(self)
        recorder._optimizers = weakref.WeakKeyDictionary()
        recorder.__enter__()
        recorder._core.several = self._place.ranks > 1
        return recorder

    @property
    def _path(self):
        return str(self._place)

    def _forget(self):
        """A step begins."""
        self._in_step = self._done = self._graded = False
        self._passes = self._backwards = 0

    # --- for users

    @property
    def path(self):
        """The .scope file, of this rank if there are several. It exists from the end of
        the first logged step on."""
        return self._place.path()

    @property
    def steps(self):
        """How many steps of training were seen, logged or not."""
        return self._count

    def log(self, step=None, **scalars):
        """Add numbers to the newest step: log(loss=0.5, accuracy=0.9). They are written
        also if the step is not logged. `step`: its number; counting continues from it."""
        found = {name: float(value) for name, value in scalars.items()}
        if step is not None and (type(step) is not int or step < 0):
            raise ValueError(f"step must be an int of 0 or more, not {step!r}")
        with _lock:
            if step is not None and self._done:
                self._number, self._next = step, step + 1
            elif step is not None:
                self._next = step
            self._scalars.update(found)
            if not self._in_step and not self._done:
                if step is not None:
                    self._number = step
                self._guard(self._write_scalars)

    def close(self):
        """Write what is left and end. Further calls do nothing."""
        with _lock:
            if self._closed:
                return
            self._guard(self._write_rest)
            self._guard(self._end_group)
            self._closed = True
            if _watched.get(self._key) is self:
                del _watched[self._key]
            writer, self._writer = self._writer, None
            self._guard(self._recorder.stop)
        if writer is not None and os.getpid() == self._pid:
            dropped = writer.state()["dropped"]
            self._guard(writer.close)
            if dropped:
                self._say(f"{dropped} steps came faster than they could be written")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        return False

    def __repr__(self):
        state = "closed" if self._closed else f"{self._count} steps"
        return f"<torchoscope.Watch of {self._name}: {state}, {self._path}>"

    # --- what the hooks tell

    def _mine(self):
        return not self._closed and os.getpid() == self._pid

    def _pass_begins(self, module):
        if not self._mine():
            return
        with self._own_time():
            if self._done:
                self._guard(self._write, _TRAIN)
            elif self._graded and not self._backwards and not module.training:
                self._guard(self._write, _EVAL)
            elif self._passes >= _MOST_PASSES:
                self._end_step()
                self._guard(self._write, _TRAIN)
        if not self._in_step and not self._closed:
            self._in_step = True
            self._budget.decide()

    def _pass_ends(self):
        if not self._mine():
            return
        self._passes += 1
        if torch.is_grad_enabled():
            self._graded = True
        elif not self._graded:
            with self._own_time():
                self._guard(self._write, _EVAL)

    def _backward(self, roots):
        if roots is None or not self._mine():
            return
        self._backwards += 1
        with contextlib.suppress(Exception):
            if len(roots) == 1 and roots[0].numel() == 1:
                self._losses.append(roots[0].detach())

    def _before_step(self, optimizer):
        if not self._mine() or not self._budget.on or not self._recorder.is_ours(optimizer):
            return
        params = [one for group in optimizer.param_groups for one in group["params"]]
        has = self._wanted.__contains__
        core = self._recorder._core
        kept = has("params") or core.several
        core.before_step(params, has("params"), has("params_grad"), kept)

    def _stepped(self, optimizer):
        found = self._recorder.is_ours(optimizer) if self._mine() else None
        if not found:
            return
        if self._budget.on:
            self._recorder._core.after_step()
            for i, group in enumerate(optimizer.param_groups):
                with contextlib.suppress(Exception):
                    name = f"lr/{i}" if len(self._rounds) < 2 else f"lr/{found[0]}/{i}"
                    if not self._recorder.leave(name, [group["lr"]]):
                        self._scalars.setdefault(name, float(group["lr"]))
        if self._rounds.ends(found[0], optimizer):
            if self._done:  # no pass since the last step
                self._guard(self._write, _TRAIN)
            self._end_step()

    def _end_step(self):
        self._done = True
        self._count += 1
        self._number, self._next = self._next, self._next + 1

    # --- writing

    @contextlib.contextmanager
    def _own_time(self):
        core = self._recorder._core
        began, counted = _core.clock_ns(), core.cost_ns
        yield
        if self._recorder._core is core:
            core.spend(began, counted)

    def _guard(self, work, *args):
        """Run `work`. An error never reaches the training; the first one is a warning."""
        try:
            work(*args)
        except Exception as problem:
            self._say(f"the history is incomplete: {problem}")

    def _say(self, text):
        if self._told:
            return
        self._told = True
        with contextlib.suppress(Exception):  # a filter may turn warnings into errors
            warnings.warn(f"torchoscope: {text} ({self._path})", stacklevel=2)

    def _take_scalars(self):
        found, losses = {}, self._losses
        if losses and not self._recorder.leave("loss", losses):
            found["loss"] = math.fsum(float(one) for one in losses) / len(losses)
        found.update(self._scalars)
        self._scalars, self._losses = {}, []
        return list(found.items())

    def _write(self, phase):
        """The step ends: what was recorded becomes points. The trace begins anew."""
        recorded = self._budget.on
        if not recorded:
            self._write_scalars()
            self._forget()
            return
        if phase == _EVAL and not self._count:  # no optimizer: passes are steps
            self._number, self._next = self._next, self._next + 1
        core = self._recorder._core
        try:
            target = self._target(core)
            core.log(target, self._number, phase, self._kinds, self._take_scalars())
        finally:
            self._forget()
        self._check()

    def _target(self, core):
        """Where a step goes: to the file, or to rank 0."""
        group = self._group
        if group is not None and group.problem is not None:
            self._say(f"each rank writes a file of its own: {group.problem}")
            self._create_once(core)
            for number, phase, parcel in group.left():
                self._writer.parcels(number, phase, [parcel])
            group = self._group = None
        if group is None or self._place.rank == 0:
            self._create_once(core)
        if group is None:
            return self._writer
        group.writer = self._writer
        return group.put

    def _create_once(self, core):
        if self._writer is None:
            self._create(core)

    def _end_group(self):
        if self._group is not None and self._mine():
            self._recorder._core.settle()
            self._group.close()
            if self._group.problem is not None:
                self._target(self._recorder._core)

    def _write_scalars(self):
        if self._writer is not None and (scalars := self._take_scalars()):
            with self._group.lock if self._group else contextlib.nullcontext():
                self._writer.scalars(self._number, _TRAIN, scalars)
            self._check()

    def _write_rest(self):
        if not self._mine():
            return
        if self._done or self._backwards:
            if not self._done:
                self._end_step()
            self._write(_TRAIN)
        elif self._graded:
            self._write(_EVAL)
        else:
            self._write_scalars()

    def _create(self, core):
        """The file, with the model and the recording of this first step."""
        try:
            path = self._place.path()
            if self._place.late:
                self._say("rank 0 did not tell its folder: this rank has one of its own")
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            kinds = {type(module) for _, module in self._recorder._modules}
            self._recorder._kinds = [weakref.ref(kind) for kind in kinds]
            self._recorder._keep_code()
            run = self._recorder._now()
            text = f"{socket.gethostname()} {os.getpid()}"
            ranks = self._place.rank, self._place.ranks
            self._writer = _core.HistoryWriter(run, path, self._limit, text, *ranks)
        except Exception as problem:
            self._say(f"training is not watched: {problem}")
            self._closed = True
            with _lock:
                _watched.pop(self._key, None)
            self._recorder.stop()
            raise

    def _check(self):
        problem = self._writer.state()["problem"] if self._writer else None
        if problem:
            self._say(f"the history is incomplete: {problem}")


@atexit.register
def _close_all():
    for handle in list(_watched.values()):
        handle.close()
