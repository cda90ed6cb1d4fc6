"""watch(): follows a training and appends series to a .scope file."""

import atexit
import contextlib
import itertools
import os
import shlex
import socket
import sys
import threading
import time
import warnings
import weakref

import torch

from torchoscope import _core, capsule_file, serving
from torchoscope import watch_alarms, watch_group, watch_page
from torchoscope.capsule import Capsule
from torchoscope.history import KINDS
from torchoscope.notebook import Displayed
from torchoscope.recorder import parse_size
from torchoscope.restore import modules_of
from torchoscope.watch_ops import FirstStep
from torchoscope.watch_options import SAMPLE, Options, Reading, Target, stem_of, together
from torchoscope.watch_words import check_path, checked_limit, is_number, listed, number_of
from torchoscope.watch_sinks import Sinks
from torchoscope.watch_steps import Recorder, Rounds, Steps
from torchoscope.watch_updates import Updates

_LOGS = {
    "io": ("input", "output"),
    "io_grad": ("grad_input", "grad_output"),
    "params": ("param", "update"),
    "params_grad": ("grad_param",),
}
# wandb's words
_WORDS = {None: (), "gradients": ("params_grad",), "parameters": ("params",)}
_WORDS["all"] = tuple(_LOGS)
_LOGS["io_grad_norms"] = ("grad_input_norm", "grad_output_norm")
_FEW = 1000  # steps: if the file keeps fewer, print how many
_MOST_PASSES = 64  # of a step without an optimizer and backward
_MOST_AWAITED = 4096  # of any step
_FIRST_PASSES = 4  # of a step that was hit, if no backward was seen before
_TRAIN, _EVAL = 0, 1

# Packages whose code is not the user's; contextlib is called in between.
_NOT_USER = tuple(os.path.dirname(one) + os.sep for one in (__file__, torch.__file__))
_NOT_USER += (contextlib.__file__,)

_watched = {}  # id of a model -> its Watch
_lock = threading.RLock()
_forks = [0]  # number of forks between the start of the program and this process


def _forked():
    _forks[0] += 1


# os.getpid() is a system call: too slow for each step.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def watch(
    model,
    log=("io", "io_grad", "params", "params_grad"),
    log_freq=None,
    dir="runs",
    name=None,
    budget=0.03,
    limit="256MB",
    backend="file",
    capsule=True,
    on_alarm="print",
    resume=False,
    time_log=None,
    sample_n=SAMPLE,
    ignore_io_grad_classes=(),
    bins=30,
    reject_outlier_proportion=0.0,
    disable_inplace=False,
    delay_log_multi_backward=False,
    exact=False,
    group=False,
    port=serving.PORT,
    host=serving.LOCAL,
    allow_hosts=(),
    token=None,
):
    """Follow the training of `model`: writes series over its steps to a .scope file.

    model     an nn.Module, or a list or dict of them; a second watch() of it replaces
              the first
    log       what to log: "io", "io_grad", "params", "params_grad"; also
              "io_grad_norms", the norm of each sample's gradient, "gradients",
              "parameters", "all"; [] or None: the structure and the first step only
    log_freq  log every n-th step; None: as often as the budget allows
    dir       the folder of the file
    name      part of the file's name; the model's class if not given
    budget    the share of time that logging may take; ignored with log_freq
    limit     the maximum size of the file: old steps are merged to keep it
    backend   where steps go, one or a list: "file", "standalone" (a file, and a page in
              the browser), "tensorboard", "csv", "wandb", "trackio", or a function that
              is called with each WatchStep; "none" keeps the history in memory
    capsule   save the first step with a value that is not finite, for replay()
    on_alarm  what to do about NaN, loss spikes and the like: "print", "raise" (at the end
              of a step with NaN), a function that takes a dict, or None; they are in the
              file in any case
    resume    a file to continue, or True: the newest run of this name in `dir`
    time_log  (unit, function(model, step)): a scalar `unit` for each logged step
    sample_n  how many elements of a tensor histograms count; None: all
    ignore_io_grad_classes    no "io_grad" of these classes and of what is inside them
    bins, reject_outlier_proportion    how Series.grid() shows histograms
    disable_inplace, delay_log_multi_backward    not needed; they change nothing
    exact     count all elements in histograms and updates, sums in double precision
    group     True, or a timeout in seconds: rank 0 writes the steps of all ranks into one
              file; needs log_freq
    port, host, allow_hosts, token    of the page, as in serve(); for "standalone"

    Returns a Watch. docs/python.md has the details.
    """
    wanted = _wanted(log)
    options = Options(
        *(sample_n, exact, time_log),
        *(ignore_io_grad_classes, bins, reject_outlier_proportion),
    )
    if log_freq is not None and (type(log_freq) is not int or log_freq < 1):
        text = "log_freq must be a whole number of 1 or more, or None"
        raise ValueError(f"{text}, not {log_freq!r}")
    if not is_number(budget) or not 0 < budget < 1:
        raise ValueError(f"budget must be a number between 0 and 1, not {budget!r}")
    if group is not True and group and not (is_number(group) and group > 0):
        raise ValueError(f"group must be True or a number of seconds, not {group!r}")
    if group and log_freq is None:
        raise ValueError("group needs log_freq: all ranks must log the same steps")
    for key, path in (("dir", dir), ("resume", resume)):
        if key == "dir" or path not in (True, False, None):
            check_path(key, path)
    size, sinks = checked_limit(parse_size(limit), limit), Sinks(backend)
    server = watch_page.Wanted(sinks.words, port, host, allow_hosts, token).server()
    on_alarm = watch_alarms.checked(on_alarm)
    model, members, default = together(model)
    if not list(modules_of(model)):
        raise TypeError(f"{type(model).__name__} contains no torch.nn.Module")
    for one in members:
        unwatch(one)
    name = default if name is None else str(name)
    steps, target = Steps(budget, log_freq), Target(sinks.words, resume, dir, name, _path)
    sinks.open(target.title)
    handle = Watch(model, name, wanted, steps, target, size, options, sinks, on_alarm)
    try:
        handle._group = watch_group.make(group, target.place)
        if capsule:
            share = steps.capsule_share if log_freq is None else None
            handle._capsule = Capsule(handle._recorder._modules, share)
    except BaseException:
        handle.close()
        raise
    with _lock:
        _watched.update((id(one), handle) for one in members)
    if server is not None:
        handle._page = watch_page.Page(server)
        handle._page.begin(handle)
    return handle


def unwatch(model):
    """End watching a model, or several. Does nothing if it is not watched."""
    for one in together(model)[1]:
        with _lock:
            handle = _watched.get(id(one))
        if handle is not None:
            handle.close()


def watches():
    """Each Watch that is open, a list."""
    return list(dict.fromkeys(_watched.values()))


def _wanted(log):
    """The words of `log` as a set of "io", "io_grad", "params", "params_grad"."""
    words = listed("log", log)
    found = set()
    for word in words:
        if (word is not None and type(word) is not str) or (
            word not in _WORDS and word not in _LOGS
        ):
            known = ", ".join(map(repr, [*_LOGS, *filter(None, _WORDS)]))
            raise ValueError(f"log: no {word!r}; there are {known}")
        found.update(_WORDS.get(word, (word,)))
    return found


def _path(folder, name):
    when = time.strftime("%Y-%m-%d_%H-%M-%S")
    stem = f"{when}_{stem_of(name)}"
    path, number = os.path.join(os.fspath(folder), f"{stem}.scope"), 1
    taken = {handle._target.own for handle in watches()}
    while path in taken or os.path.exists(path) or os.path.exists(path[:-6]):
        number += 1
        path = os.path.join(os.fspath(folder), f"{stem}_{number}.scope")
    return path


class Watch(Reading, Displayed):
    """A watched training; made by watch(). Use it as a context manager, or call close()
    at the end; it is also called when the process ends."""

    def __init__(
        self, model, name, wanted, steps, target, limit, options, sinks, on_alarm
    ):
        self._name, self._limit, self._sinks = name, limit, sinks
        self._wanted, self._budget = wanted, steps
        self._target, self._options, self._group = target, options, None
        chosen = {kind for word in wanted for kind in _LOGS[word]}
        self._kinds = sum(1 << KINDS.index(kind) for kind in chosen)
        self._writer = self._capsule = None
        self._forks = _forks[0]
        self._closed = self._reported = False
        self._filed = False  # a step was logged
        self._kept = None  # steps; reported once
        self._logged = True  # was any step? Known at the end
        self._count, self._next, self._number = 0, target.first, target.first
        self._scalars, self._losses = {}, []
        self._rounds, self._updates = Rounds(), Updates(self)
        self._training = False  # the newest pass
        self._ahead = 0  # maximum number of passes before a backward so far
        self._alarms = watch_alarms.Alarms(self, on_alarm)
        self._first_hit = self._again = self._saved = self._page = self._run = None
        self._forget()
        self._recorder = self._begin(model, steps)

    def _begin(self, model, steps):
        norms = "io_grad_norms" in self._wanted
        gradients = norms or "io_grad" in self._wanted
        core = {"mode": self._options.mode, "gradients": gradients, "keep": None}
        core |= {"keep_limit": 0, "calls": 64, "lines": True, "watch": True}
        options = {"inside": False, "eager": False, "ops": False, "parameters": True}
        modules = list(modules_of(model))
        recorder = Recorder(model, modules, self._name, core, None, options)
        recorder._budget = steps
        recorder.watch = steps.watch = weakref.ref(self)
        recorder._optimizers = weakref.WeakKeyDictionary()
        recorder.__enter__()
        recorder._core.several = self._target.ranks > 1
        recorder._core.norms = norms
        self._first = FirstStep(recorder, steps, self._limit, self._target.how == "resume")
        try:
            self._options.begin(recorder)
            self._target.check(recorder)
            self._alarms.begin(modules, recorder._ending)
        except Exception:
            recorder.stop()
            raise
        return recorder

    def _forget(self):
        """A step begins."""
        self._in_step = self._done = self._graded = self._written = False
        self._passes = self._backwards = 0
        self._since = 0  # passes since the last backward
        self._attached = {}  # (id of a module, name) -> count in this step

    # --- for users

    @property
    def path(self):
        """The path of the .scope file, of this rank if there are several. It exists
        after the first logged step. None if `backend` names no file."""
        return self._target.path

    @property
    def folder(self):
        """The folder of event files and CSV tables."""
        return self._target.stem

    @property
    def url(self):
        """The address of the page, with backend="standalone"; else None."""
        return self._page.url if self._page is not None else None

    @property
    def steps(self):
        """The number of training steps so far, logged or not."""
        return self._count

    @property
    def keeps(self):
        """The approximate number of logged steps that fit into the file at full
        resolution; older ones are merged. None until a step was written."""
        state = self._writer.state() if self._writer and self._mine() else {}
        return state["keeps"] if state.get("written") else self._kept

    def log(self, step=None, **scalars):
        """Add numbers to the newest step: log(loss=0.5, accuracy=0.9). They are also
        written if the step is not logged. `step`: its number; counting continues from
        it."""
        found = {name: number_of(name, value) for name, value in scalars.items()}
        if step is not None and (type(step) is not int or step < 0):
            raise ValueError(f"step must be an int of 0 or more, not {step!r}")
        with _lock:
            if step is not None and (self._done or self._written):
                self._number, self._next = step, step + 1
            elif step is not None:
                self._next = step
            self._scalars.update(found)
            if not self._in_step and not self._done:
                if step is not None:
                    self._number = step
                self._guard(self._write_scalars)

    def close(self):
        """Write pending steps and end. Further calls do nothing."""
        with _lock:
            if self._closed:
                return
            kept = self.keeps
            self._guard(self._write_rest)
            self._guard(self._settle)
            self._guard(self._end_group)
            self._guard(self._alarms.close)
            self._guard(self._first.close)
            self._kept = kept or self.keeps
            self._closed, self._capsule = True, None
            self._forget_watch()
            if self._writer is not None:
                self._guard(self._keep_memory, self._writer)
            writer, self._writer = self._writer, None
            self._guard(self._recorder.stop)
        if not self._is_mine():
            return
        if writer is not None:
            self._guard(writer.flush)
            state = writer.state()
            dropped, self._logged = state["dropped"], state["written"] > 0
            if dropped and self._alarms.found:  # alarms of such steps wait for another
                self._guard(writer.scalars, self._number, _TRAIN, [])
            self._guard(writer.close)
            if dropped:
                self._say(f"{dropped} steps came faster than they could be written")
        self._sinks.end(self)
        if writer is not None:
            self._guard(self._alarms.say_verdict)
        self._end_page()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        return False

    def __repr__(self):
        state = "closed" if self._closed else f"{self._count} steps"
        keeps = f", keeps about {self.keeps} logged steps" if self.keeps else ""
        return f"<torchoscope.Watch of {self._name}: {state}, {self._target}{keeps}>"

    def _notebook(self):
        """The recording so far, and a link to the page."""
        text = ""
        with contextlib.suppress(Exception):  # nothing was logged yet
            text = self.history()._notebook()
        return text + (serving.link_html(self._page.server) if self._page else "") or None

    # --- called by hooks

    def _is_mine(self):
        """Not in a forked process?"""
        return _forks[0] == self._forks

    def _mine(self):
        return not self._closed and self._is_mine()

    def _pass_begins(self, module, args, kwargs):
        if not self._mine():
            return
        waits = self._budget.on or self._scalars or self._losses or self._alarms.waits
        if self._done and not waits:
            self._forget()
        elif self._done or self._graded or self._passes:
            self._end_before(module)
        self._training = module.training
        if not self._in_step and not self._closed:
            self._in_step = True
            self._written = False
            self._budget.decide(self._alarms.wants_full)
            if self._budget.on:
                self._guard(self._recorder.look_again, self._filed)
            self._guard(self._alarms.step_begins)
            if self._budget.on:
                self._timed(self._first.step_begins)
            if self._capsule is not None:
                self._timed(self._capsule.step)
        if self._capsule is not None:
            self._timed(self._capsule.begins, module, args, kwargs)
        self._guard(self._alarms.pass_begins, kwargs)
        self._first.pass_begins()

    def _end_before(self, module):
        """Did a step end before this pass?"""
        with self._own_time():
            if self._done:
                self._guard(self._write, _TRAIN)
            elif self._alarms.gave_up:
                self._end_step()
                self._guard(self._write, _TRAIN)
            elif self._graded and not self._backwards and not module.training:
                self._guard(self._write, _EVAL)
            elif self._is_over():
                self._end_own_step()
                self._guard(self._write, _TRAIN)

    def _is_over(self):
        """Has the step ended without an optimizer? Some models are called hundreds of
        times before their optimizer steps (differential equations)."""
        if self._passes >= _MOST_AWAITED:
            return True
        enough = self._backwards or self._passes >= _MOST_PASSES
        return bool(enough) and self._updates.are_manual()

    def _end_own_step(self):
        """End a step without an optimizer."""
        if self._budget.on:
            self._guard(self._recorder._core.after_step)
        self._end_step()

    def _pass_ends(self, result):
        if not self._mine():
            return
        self._first.pass_ends(result)
        self._passes += 1
        self._since += 1
        if self._capsule is not None:
            self._timed(self._capsule.ends, result)
        self._timed(self._alarms.pass_ends, result)
        if torch.is_grad_enabled():
            self._graded |= result is not None  # else it probably raised
        elif not self._graded:
            with self._own_time():
                self._guard(self._write, _EVAL)

    def _backward(self, roots):
        self._backwards += 1
        self._ahead, self._since = max(self._ahead, self._since), 0
        with contextlib.suppress(Exception):
            if len(roots) == 1 and roots[0].numel() == 1:
                self._losses.append(self._alarms.loss(roots[0]))

    def _before_step(self, optimizer):
        if not self._mine() or not self._recorder.is_ours(optimizer):
            return
        groups = [group["params"] for group in optimizer.param_groups]
        params = groups[0]  # not copied: there may be thousands
        if len(groups) > 1 or type(params) is not list:
            params = [*itertools.chain(*groups)]
        self._look(optimizer, params)

    def _look(self, optimizer, params):
        """These parameters are about to change, by an optimizer or (None) otherwise."""
        self._timed(self._alarms.before_step, optimizer, params)
        if not self._budget.on:
            return
        has, hit = self._wanted.__contains__, self._alarms.is_hit
        core = self._recorder._core
        kept = has("params") or core.several
        core.before_step(params, has("params") or hit, has("params_grad"), kept)

    def _stepped(self, optimizer):
        found = self._recorder.is_ours(optimizer) if self._mine() else None
        if not found:
            return None
        if not self._rounds.began:
            self._timed(self._begin_rounds, found[0], optimizer)
        self._alarms.stepped(optimizer)
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
            is_rooted = self._in_step
            self._end_step()
            if not is_rooted:  # only parts of it ran: the next pass may not be detected
                with self._own_time():
                    self._guard(self._write, _TRAIN)
                if not self._closed:
                    self._budget.decide(self._alarms.wants_full)
            elif self._alarms.is_hit and self._alarms.raises:
                self._guard(self._write, _TRAIN)
                self._written = True
        return self._alarms.take_raising()

    def _begin_rounds(self, number, optimizer):
        """The first optimizer stepped: other existing optimizers are part of each
        step."""
        self._rounds.began = True
        self._rounds.expect(number, optimizer)
        for other in self._updates.besides(optimizer):
            if not self._rounds.knows(other):
                self._rounds.expect(*self._recorder.is_ours(other), other)

    def _skipped(self, optimizer):
        """A GradScaler skipped the step of an optimizer."""
        found = self._recorder.is_ours(optimizer) if self._mine() else None
        if found and not self._rounds.began:
            self._timed(self._begin_rounds, found[0], optimizer)
        if found and self._rounds.ends(found[0], optimizer):
            self._alarms.skip()
            self._end_step()

    def _end_step(self):
        self._done = True
        self._count += 1
        self._number, self._next = self._next, self._next + 1
        self._guard(self._alarms.step_done)
        self._guard(self._first.step_ends)
        if self._page is not None:
            self._timed(self._page.pump, self._number)

    def _hit(self, where, text):
        """A value is not finite: save the state at the start of the step, for replay().
        `where` is "forward", "backward" or "optimizer". Returns the path, or None; only
        the first hit has a capsule."""
        self._first_hit = self._first_hit or (where, text)
        capsule, self._capsule = self._capsule, None
        if capsule is None or not self._mine():
            return None
        step = self._number if self._done else self._next
        if not capsule.passes:
            self._capsule = capsule
            if not capsule.holds:
                capsule.hold_all()
                why = "steps are too short to hold them all; from now on they are"
                _print(f"step {step} was not saved for replay: {why}")
            return None
        path = f"{self._target.stem}.nan.scope"
        about = {"step": step, "where": where, "text": text}
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            capsule_file.save(capsule, path, self._recorder._model, self._name, about)
        except Exception as problem:
            self._say(f"the step could not be saved for replay: {problem}")
            return None
        shown = shlex.quote(self._target.shown(path))
        how = f"torchoscope replay {shown} FILE.py::FUNCTION"
        self._again = f"step {step} can run again: {how}"
        self._saved = os.path.basename(path)
        return path

    @property
    def _waits_for_backward(self):
        """Have there been fewer passes since the last backward than there may be before
        the next one? In the first step that is not known yet."""
        return self._since < (self._ahead or _FIRST_PASSES)

    def _how_to_find(self):
        """How to find the cause of a non-finite value in a step that was not logged."""
        if self._saved is None:
            return "the next steps are logged in full"
        return f"torchoscope replay {self._saved} finds the operation"

    def _say_again(self):
        """How to run the saved step again; printed once, after its alarm."""
        text, self._again = self._again, None
        if text is not None:
            _print(text)

    # --- writing

    @contextlib.contextmanager
    def _own_time(self):
        core = self._recorder._core
        began, counted = _core.clock_ns(), core.cost_ns
        yield
        if self._recorder._core is core:
            core.spend(began, counted)

    def _timed(self, work, *args):
        """Run `work`, guarded, and count its time as our own."""
        core = self._recorder._core
        began, counted = _core.clock_ns(), core.cost_ns
        self._guard(work, *args)
        core.spend(began, counted)

    def _guard(self, work, *args):
        """Run `work`. An error never reaches the training; the first one is a warning.
        Operations in it are not recorded."""
        _core.own(True)
        try:
            work(*args)
        except Exception as problem:
            self._say(f"the history is incomplete: {problem}")
        finally:
            _core.own(False)

    def _say(self, text):
        if self._reported:
            return
        self._reported = True
        with contextlib.suppress(Exception):  # a filter may turn warnings into errors
            warnings.warn(f"torchoscope: {text} ({self._target})", stacklevel=_level())

    def _take_scalars(self):
        loss = self._alarms.take_loss(self._losses)
        found = {} if loss is None else {"loss": loss}
        found.update(self._scalars)
        self._scalars, self._losses = {}, []
        return list(found.items())

    def _write(self, phase):
        """The step ends: what was recorded becomes points. Restarts the trace."""
        recorded = self._budget.on
        try:
            if recorded:
                self._write_points(phase)
            else:
                losses, self._losses = self._losses, []
                training = phase == _TRAIN
                loss = self._alarms.judge_losses(self._number, losses, training)
                if loss is not None and self._budget.may_tell():
                    self._scalars.setdefault("loss", loss)
                self._write_scalars()
        finally:
            self._forget()
        self._alarms.step_ended(self._number, recorded)

    def _write_points(self, phase):
        if phase == _EVAL and not self._count:  # no optimizer: passes are steps
            self._number, self._next = self._next, self._next + 1
        core, alarms = self._recorder._core, self._alarms
        self._guard(self._first.step_ends)
        self._guard(self._options.stamp, self)
        is_new = self._writer is None
        receiver = self._receiver(core)
        self._guard(self._first.logged, self, is_new)
        alarms.judge_operations(self._number)
        args = self._number, phase, self._kinds, self._take_scalars()
        alarms.tell(core.log(receiver, *args, *alarms.about_step()))
        if alarms.is_hit:
            alarms.tell(core.settle())
        self._give()

    def _give(self):
        """Passes the written steps to the other backends."""
        if self._writer is not None:
            self._check()
            self._sinks.give(self, self._writer)

    def _settle(self):
        """Write the step that still waits for its device."""
        if self._mine() and self._filed:
            self._alarms.tell(self._recorder._core.settle())
            self._give()

    def _receiver(self, core):
        """The destination of a step: the writer, or rank 0."""
        group = self._group
        if group is not None and group.problem is not None:
            self._say(f"each rank now writes its own file: {group.problem}")
            self._create_once(core)
            for number, phase, parcel in group.left():
                self._writer.parcels(number, phase, [parcel])
            group = self._group = None
        if group is None or self._target.rank == 0:
            self._create_once(core)
        self._filed = True
        if group is None:
            return self._writer
        group.writer = self._writer
        return group.put

    def _create_once(self, core):
        if self._writer is None:
            self._create(core)

    def _end_group(self):
        if self._group is not None and self._mine():
            self._group.close()
            if self._group.problem is not None:
                self._receiver(self._recorder._core)
            self._give()

    def _writing(self):
        """While something is written that is not a logged step."""
        return self._group.lock if self._group else contextlib.nullcontext()

    def _write_scalars(self):
        if self._writer is not None and (scalars := self._take_scalars()):
            with self._writing():
                self._writer.scalars(self._number, _TRAIN, scalars)
            self._give()

    def _write_rest(self):
        if not self._mine():
            return
        # A step that no optimizer ended was interrupted and is dropped, unless it was
        # hit.
        cut = self._rounds.began and self._training and not self._done
        if cut and not self._alarms.is_hit:
            self._write_scalars()
        elif self._done or self._backwards or (cut and self._graded):
            if not self._done:
                self._end_own_step()
            self._write(_TRAIN)
        elif self._graded:
            self._write(_EVAL)
        elif self._in_step and self._budget.on and not (self._filed or self._group):
            self._create_once(self._recorder._core)  # includes a pass that raised
        else:
            self._write_scalars()

    def _create(self, core):
        """The file, with the model and the recording of this first step."""
        began = _core.clock_ns()
        try:
            with contextlib.suppress(Exception):  # forward() was called directly
                self._recorder._unseen.tell(core)
            run = self._recorded()
            text = f"{socket.gethostname()} {os.getpid()}"
            if self._target.is_late:
                self._say("rank 0 did not announce its folder: this rank uses its own")
            self._writer, self._run = self._target.open(run, self._limit, text)
            self._sinks.begin(self, self._writer, run)
            if self._page is not None:
                self._guard(self._page.filed, self)
            self._budget.created(self._writer, _core.clock_ns() - began)
        except Exception as problem:
            self._say(f"training is not watched: {problem}")
            self._closed = True
            self._forget_watch()
            self._recorder.stop()
            self._sinks.end(self)
            self._end_page()
            raise

    def _recorded(self):
        """The recording of this step, with the code of the model, as a Run."""
        kinds = {type(module) for _, module in self._recorder._modules}
        self._recorder._kinds = [weakref.ref(kind) for kind in kinds]
        self._recorder._keep_code()
        return self._recorder._now()

    def _end_page(self):
        if self._page is not None:
            self._page.close()

    def _forget_watch(self):
        with _lock:
            for key in [key for key, one in _watched.items() if one is self]:
                del _watched[key]

    def _check(self):
        state = self._writer.state()
        if state["problem"]:
            self._say(f"the history is incomplete: {state['problem']}")
        if self._kept is None and state["written"]:
            self._kept = state["keeps"]
            if self._kept < _FEW and sys.stderr is not None:
                text = f"torchoscope: {self._target} keeps about {self._kept} logged steps"
                how = "older ones are merged; a larger limit= keeps more"
                with contextlib.suppress(OSError):
                    print(f"{text}: {how}", file=sys.stderr)


def _level():
    """The stack level of the user's code, for a warning."""
    frame, level = sys._getframe(1), 1
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_USER):
        frame, level = frame.f_back, level + 1
    return level


def _print(text):
    with contextlib.suppress(Exception):  # stderr may be closed
        print(f"torchoscope: {text}", file=sys.stderr, flush=True)


@atexit.register
def _close_all():
    for handle in watches():
        handle.close()
