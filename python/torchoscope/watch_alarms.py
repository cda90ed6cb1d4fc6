"""Alarms of a watched training: guards on every step, and the handling of hits."""

import contextlib
import functools
import math
import sys
import time
import weakref

import torch

from torchoscope import _core, hooks, op_kinds
from torchoscope.recorder import LiveRecording, forces_device

_AFTER_HIT = 4  # steps to log in full after a hit
_CALM = 8  # steps without a hit after which the next one is reported again
_LEAST_BYTES = 4 << 20  # of gradients to scan on each step
_BYTES_PER_NS = 5  # estimated speed of a scan
_GUARD_SHARE = 0.004  # of a step, for scanning gradients
_SOME = 256  # gradients to scan on each step, if there are very many
_MOST_TENSORS = 64  # tensors of a result to scan
_SIGNS = {"alarm": "", "warning": "warning: ", "note": "hint: "}


class Alarm(RuntimeError):
    """Raised at the end of a step with NaN or infinities, with on_alarm="raise".
    `alarm` is a dict, as in History.alarms()."""

    def __init__(self, alarm):
        super().__init__(text_of(alarm))
        self.alarm = alarm


def text_of(alarm):
    """An alarm as one line."""
    line = f" ({alarm['line']})" if alarm["line"] else ""
    return f"step {alarm['step']}: {alarm['name']}: {alarm['text']}{line}"


def checked(on_alarm, group=None):
    """The option on_alarm; ValueError if it is invalid."""
    if not (on_alarm in ("print", "raise", None) or callable(on_alarm)):
        raise ValueError(
            f"on_alarm must be 'print', 'raise', a function or None, not {on_alarm!r}"
        )
    if on_alarm == "raise" and group is None and _ranks() > 1:
        raise ValueError(
            "on_alarm='raise' would end one rank while the others wait for it: "
            "use 'print' or a function"
        )
    return on_alarm


def _ranks():
    distributed = getattr(torch, "distributed", None)
    try:
        return distributed.get_world_size() if distributed.is_initialized() else 1
    except (AttributeError, RuntimeError):
        return 1


class Alarms:
    """Handles the alarms of a Watch. Its methods are called from hooks, guarded."""

    def __init__(self, watch, on_alarm):
        self._watch, self._on_alarm = weakref.ref(watch), on_alarm
        self.found = []  # all alarms so far, limited by the judge
        self.raising = None  # an Alarm to raise when the step has ended
        self.quiet = False  # another Watch prints the verdict
        self.skipped = False  # a GradScaler skipped this step
        self.relu_loss = False  # the loss needs negative values, but the model has none
        self.skips = 0  # steps skipped so far
        self.model_losses = []  # .loss of results in this step
        self.criterion_losses = []
        self._shares = False  # model_losses are parts of one loss
        self._loss = None  # of the newest step
        self._pending = None  # (where, name, text): a hit in this step
        self._backwards = 0  # backwards of this step when it was hit
        self._left = 0  # steps to log in full
        self._calm = _CALM  # steps since the last hit
        self._ops = 0  # steps to record with operations
        self._recording = None  # ... now
        self._turn = 0
        self._last = None  # when gradients were scanned last
        self._looked = False  # a final ReLU was searched
        self._stepping = None  # id of the optimizer that stepped last
        self._forced = forces_device()

    # --- beginning and end

    def begin(self, modules, stack):
        """Install hooks for backwards, criteria and gradient scalers."""
        hooks.add_backward(self._backward)
        stack.callback(hooks.remove_backward, self._backward)
        kinds = getattr(torch.nn.modules.loss, "_Loss", ())
        criteria = [one for _, one in modules if isinstance(one, kinds)]
        if criteria:
            unwatch = hooks.watch_calls(criteria, _nothing, self._criterion, _nothing)
            if unwatch is not None:
                stack.callback(unwatch)
        _scalers.add(self)
        stack.callback(_scalers.remove, self)

    def close(self):
        self._end_ops()

    def verdict(self):
        """One line about the whole training."""
        watch = self._watch()
        text = f"{watch._target}: {watch.steps:,} step{'' if watch.steps == 1 else 's'}"
        if self.skips:
            text += f", {self.skips:,} skipped by the gradient scaler"
        worse = [one for one in self.found if one["severity"] != "note"]
        if not worse:
            hints = len(self.found)
            plural = f", {hints} hint{'s' if hints > 1 else ''}" if hints else ""
            found = ", healthy" if watch._logged else ": nothing could be recorded"
            return f"{text}{found if watch.steps else ': none was completed'}{plural}"
        plural = f"{len(worse)} alarm{'s' if len(worse) > 1 else ''}"
        worst = next((one for one in worse if one["severity"] == "alarm"), worse[0])
        return f"{text}, {plural}: {worst['name']} at step {worst['step']}"

    def say_verdict(self):
        if self._on_alarm is not None and (self.found or not _is_other_rank()):
            self._watch()._say_again()
            if not self.quiet:
                _print(self.verdict())

    # --- a step

    @property
    def wants_full(self):
        """Should the step that begins now be logged regardless of the cost?"""
        return self._left > 0

    @property
    def is_hit(self):
        return self._pending is not None

    @property
    def raises(self):
        """Must a step that was hit be judged before its optimizer returns?"""
        return self._on_alarm == "raise"

    @property
    def waits(self):
        """Does this step have anything not judged yet?"""
        return self.is_hit or self.model_losses or self.criterion_losses

    @property
    def gave_up(self):
        """Was this step hit, and did no backward begin after the usual number of
        passes? Then the user's loop continues without an optimizer step."""
        watch = self._watch()
        if not self.is_hit or watch._backwards != self._backwards:
            return False
        return not watch._waits_for_backward

    def step_begins(self):
        self.skipped = False
        self._left -= self._left > 0
        self._calm += 1
        self._end_ops()
        if self._ops > 0 and self._recording is None:
            self._ops -= 1
            self._begin_ops()

    def pass_begins(self, kwargs):
        """The trainer of transformers tells its models how many items all passes of a
        step have together: then .loss of each is its share, not a mean of its own."""
        self._shares = bool(kwargs) and kwargs.get("num_items_in_batch") is not None

    def pass_ends(self, result):
        watch = self._watch()
        tensors = _tensors(result)
        loss = _loss_of(result)
        if loss is not None:
            self.model_losses.append(self._read(loss))
        found = watch._recorder._core.guard(tensors, False, 64 << 20, self._turn)
        if found is not None:
            at, *counts = found
            path = "" if len(tensors) == 1 else f" (result {at})"
            self._hit("forward", watch._name, f"outputs{path}", counts)

    def _backward(self, roots, gradients):
        watch = self._watch()
        if watch is None or not watch._mine():
            return
        with contextlib.suppress(Exception):
            if roots is None:
                watch._updates.backward_ended()
                return
            watch._backward(roots)
            if self._needs_look(roots):
                self._looked = True
                self.relu_loss = _wants_negative(roots[0].grad_fn)

    def _needs_look(self, roots):
        return not self._looked and len(roots) == 1 and roots[0].grad_fn is not None

    def loss(self, loss):
        """A backward begins at this loss; returns it, as a float if that does not make
        the host wait. A GradScaler's loss may overflow: the scaler then skips the
        step."""
        value = self._read(loss)
        if type(value) is not float:
            return value
        if not math.isfinite(value) and not _scalers.is_used(self):
            self._hit_once("forward", "loss", f"the loss is {_number(value)}")
            self._backwards = -1  # one is about to begin
        return value

    def _read(self, loss):
        """A tensor of one element as a float; unchanged if it is on a device."""
        _core.own(True)
        try:
            here = loss.is_cpu and not self._forced
            return float(loss.item()) if here else loss.detach()
        finally:
            _core.own(False)

    def _criterion(self, module, result):
        with contextlib.suppress(Exception):
            if result.numel() == 1 and result.requires_grad:
                self.criterion_losses.append(self._read(result))

    def before_step(self, optimizer, params):
        """Scan the gradients, before they change the parameters."""
        bad = getattr(optimizer, "found_inf", None)  # a scaler, and a fused optimizer
        if isinstance(bad, torch.Tensor):
            if bad.is_cpu and bad.item():
                self.skip()
            return
        now = time.perf_counter_ns()
        size = 1 << 62 if self._last is None or self._left > 0 else self._bytes(now)
        self._last = now
        self._turn += 1
        core, params = self._watch()._recorder._core, self._some(params)
        found = core.guard(params, True, size, self._turn)
        if found is not None:
            name = self._name_of(params[found[0]])
            self._hit("backward", name, "gradients", found[1:])

    def _some(self, params):
        """If there are very many, the first ones and some others, another part each
        time. The first layers come last in backward, so non-finite values reach
        them."""
        if len(params) <= 2 * _SOME or self._left > 0:
            return params
        parts = -(-len(params) // _SOME)
        return params[:32] + params[self._turn % parts :: parts]

    def _bytes(self, now):
        """The bytes of gradients that a step may scan in full."""
        return max(_LEAST_BYTES, int((now - self._last) * _GUARD_SHARE * _BYTES_PER_NS))

    def _name_of(self, parameter):
        for name, module in self._watch()._recorder._modules:
            for own, one in module._parameters.items():
                if one is parameter:
                    return f"{name}.{own}" if name else own
        return "a parameter"

    def stepped(self, optimizer):
        self._stepping = id(optimizer)

    def take_loss(self, losses):
        """The loss of a step, or None: the model's own, else the tensor of backward(),
        else the result of a criterion. The mean of several. None also if it is on a
        device: then it comes with the rest of the step."""
        if self._shares:
            self.model_losses = [len(self.model_losses) * one for one in self.model_losses]
        losses = self.model_losses or losses or self.criterion_losses
        self.model_losses, self.criterion_losses = [], []
        left = self._watch()._recorder.leave("loss", losses)
        numbers = [] if left else [float(one) for one in losses]
        self._loss = sum(numbers) / len(numbers) if numbers else None
        return self._loss

    def about_step(self):
        """The arguments of the judge for a logged step. The loss is the detected one,
        not the user's, because steps that are not logged have no other."""
        return self.skipped, self.relu_loss, self._loss

    def judge_losses(self, number, losses, training):
        """The losses of a step that is not logged; returns its loss, or None. Losses on
        a device are skipped, because the host would have to wait."""
        found = *self.model_losses, *losses, *self.criterion_losses
        if not all(type(one) is float for one in found):
            losses = self.model_losses = self.criterion_losses = []
        loss, watch = self.take_loss(losses), self._watch()
        if training and loss is not None and not self.skipped and watch._filed:
            core = watch._recorder._core
            with watch._writing():
                found = core.judge_loss(watch._writer, number, loss)
            self.tell(found)
        return loss if training else None

    def step_ended(self, number, logged):
        """The step ended, and was judged if it was logged."""
        pending, self._pending = self._pending, None
        watch = self._watch()
        if pending is not None and not logged:
            _, what, text = pending
            text += f"; the step was not logged: {watch._how_to_find()}"
            core = watch._recorder._core
            with watch._writing():
                found = core.judge_guard(watch._writer, number, what, text)
            self.tell(found)
        self.step_done()

    def step_done(self):
        """Stop recording operations: later ones are not part of this step."""
        if self._recording is not None:
            self._recording.leave()

    def skip(self):
        """A scaler skipped the optimizer: it expects bad gradients."""
        self.skipped = True
        self.skips += 1
        watch = self._watch()
        watch._losses = [one for one in watch._losses if math.isfinite(one)]
        if self._pending is not None and self._pending[0] != "forward":
            self._pending = None
            self._left = self._ops = 0

    # --- a hit

    def _hit(self, where, name, what, counts):
        nan, inf, negative, of = counts
        kind, n = ("NaN", nan) if nan else ("infinite", inf + negative)
        are = "is" if n == 1 else "are"
        self._hit_once(where, name, f"{n:,} of {of:,} {what} {are} {kind}")

    def _hit_once(self, where, name, text):
        watch = self._watch()
        if self._pending is not None:
            return
        self._pending, self._backwards = (where, name, text), watch._backwards
        if not _scalers.is_used(self):
            watch._hit(where, f"{name}: {text}")
        if self._calm >= _CALM:  # else it is the same NaN
            self._left, self._ops = _AFTER_HIT, 1
        self._calm = 0

    def tell(self, alarms):
        for alarm in alarms or ():
            self.found.append(alarm)
            if alarm["severity"] == "alarm":
                self._watch()._hit("optimizer", alarm["text"])
            if callable(self._on_alarm):
                with contextlib.suppress(Exception):
                    self._on_alarm(alarm)
            elif self._on_alarm == "raise" and alarm["severity"] == "alarm":
                self.raising = self.raising or Alarm(alarm)
            elif self._on_alarm is not None:
                _print(_SIGNS[alarm["severity"]] + text_of(alarm))
                if alarm["severity"] == "alarm":
                    self._watch()._say_again()

    def take_raising(self):
        raising, self.raising = self.raising, None
        return raising

    # --- operations of the step after a hit

    def _begin_ops(self):
        recorder = self._watch()._recorder
        if op_kinds.why_not() is not None or not recorder._budget._watched:
            return
        if not self._watch()._rounds.began:  # the end of the step is not known
            return
        core = {"mode": "full", "gradients": False, "keep": None, "keep_limit": 0}
        core |= {"calls": 64, "lines": True}
        options = {"inside": False, "eager": False, "ops": "stats", "parameters": True}
        args = recorder._model, recorder._modules, recorder._name
        self._recording = _Operations(*args, core, None, options)
        self._recording.__enter__()

    def judge_operations(self, number):
        """Runs before the step is judged by its modules, because an operation is more
        precise."""
        watch = self._watch()
        if self._recording is not None and watch._filed:
            core, run = watch._recorder._core, self._recording._now()
            with watch._writing():
                found = core.judge_run(watch._writer, number, run)
            self.tell(found)

    def _end_ops(self):
        """The recording ends when the next step begins: an optimizer's hook must not
        remove others."""
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.stop()
            recording.leave()


class _Operations(LiveRecording):
    """A recording in addition to the watch."""

    def _show_stats(self):
        pass

    def leave(self):
        """End the recording of operations."""
        if self._mode is not None:
            self._mode.leave()


def _nothing(*_):
    pass


def _print(text):
    with contextlib.suppress(Exception):
        print(f"torchoscope: {text}", file=sys.stderr)


def _is_other_rank():
    try:
        return _ranks() > 1 and torch.distributed.get_rank() > 0
    except Exception:
        return False


def _number(value):
    return "NaN" if math.isnan(value) else "Inf" if value > 0 else "-Inf"


def _tensors(result):
    """The tensors in a result: in tuples, lists, dicts and dataclasses, some levels
    deep."""
    if isinstance(result, torch.Tensor):
        return [result]
    found, waiting = [], [(result, 0)]
    while waiting and len(found) < _MOST_TENSORS:
        one, depth = waiting.pop()
        if isinstance(one, torch.Tensor):
            found.append(one)
        elif depth < 4 and isinstance(one, (tuple, list)):
            waiting += [(item, depth + 1) for item in reversed(one)]
        elif depth < 4 and isinstance(one, dict):
            waiting += [(item, depth + 1) for item in reversed(list(one.values()))]
        elif depth < 4 and hasattr(type(one), "__dataclass_fields__"):
            items = [getattr(one, name, None) for name in type(one).__dataclass_fields__]
            waiting += [(item, depth + 1) for item in reversed(items)]
    return found


def _loss_of(result):
    """The loss in the result of a Hugging Face model: `.loss`, a single number."""
    if isinstance(result, torch.Tensor):
        return None
    with contextlib.suppress(Exception):
        loss = result.get("loss") if type(result) is dict else getattr(result, "loss", None)
        if isinstance(loss, torch.Tensor) and loss.numel() == 1:
            return loss
    return None


# --- a final ReLU

# Nodes between the start of backward() and a loss, and between a loss and the last
# layer.
_NUMBERS = ("Div", "Mul", "Mean", "Sum", "ToCopy")
_VIEWS = ("View", "UnsafeView", "Reshape", "Squeeze", "Unsqueeze", "Select", "ToCopy")
_LOGITS = "BinaryCrossEntropyWithLogitsBackward"
_DISTANCES = ("MseLossBackward", "SmoothL1LossBackward", "HuberLossBackward")


def _skip(node, names):
    """Skips nodes with these names; at most eight."""
    for _ in range(8):
        name = type(node).__name__.partition("Backward")[0]
        if name not in names or not node.next_functions:
            break
        node = node.next_functions[0][0]
    return node


def _wants_negative(node):
    """Does this graph begin with a loss that reads a ReLU's result but needs negative
    values to become small?"""
    loss = _skip(node, _NUMBERS)
    name = type(loss).__name__.rstrip("0123456789")
    if name != _LOGITS and name not in _DISTANCES:
        return False
    last = _skip(loss.next_functions[0][0], _VIEWS)
    if not type(last).__name__.startswith("ReluBackward"):
        return False
    if name == _LOGITS:
        return True
    target = loss._saved_target.detach()
    return bool(target.is_cpu and target.numel() and target.min() < 0)


# --- gradient scalers


class _Scalers:
    """Notifies Alarms when a GradScaler skips an optimizer's step. torch has no hook
    for that, so this wraps scale() and step() while there are Alarms."""

    def __init__(self):
        self._notified = []
        self._class, self._real = None, {}
        self._using = weakref.WeakKeyDictionary()  # Alarms -> True

    def add(self, alarms):
        self._notified.append(alarms)
        if self._real:
            return
        amp = getattr(torch, "amp", None)
        self._class = getattr(amp, "GradScaler", None) or torch.cuda.amp.GradScaler
        self._real = {name: getattr(self._class, name) for name in ("scale", "step")}
        self._class.scale = self._scale_wrapper(self._real["scale"])
        self._class.step = self._step_wrapper(self._real["step"])

    def remove(self, alarms):
        self._notified = [one for one in self._notified if one is not alarms]
        if self._notified:
            return
        for name, real in self._real.items():
            if hasattr(getattr(self._class, name), "of_torchoscope"):
                setattr(self._class, name, real)
        self._real = {}

    def is_used(self, alarms):
        return alarms in self._using

    def _scale_wrapper(self, real):
        @functools.wraps(real)
        def scale(scaler, outputs):
            with contextlib.suppress(Exception):
                if scaler.is_enabled():
                    self._using.update(dict.fromkeys(self._notified, True))
            return real(scaler, outputs)

        scale.of_torchoscope = True
        return scale

    def _step_wrapper(self, real):
        @functools.wraps(real)
        def step(scaler, optimizer, *args, **kwargs):
            notified = list(self._notified)
            for alarms in notified:
                alarms._stepping = None
                alarms._watch()._guard(self._scale, alarms, scaler, optimizer)
            result = real(scaler, optimizer, *args, **kwargs)
            for alarms in notified:
                if alarms._stepping != id(optimizer):
                    with contextlib.suppress(Exception):
                        alarms._watch()._skipped(optimizer)
            return result

        step.of_torchoscope = True
        return step

    def _scale(self, alarms, scaler, optimizer):
        """Losses were multiplied by the scale: divide them again."""
        watch = alarms._watch()
        if not scaler.is_enabled() or not watch._recorder.is_ours(optimizer):
            return
        scale = scaler._scale
        if scale is not None and scale.is_cpu:
            watch._losses = [float(one) / scale.item() for one in watch._losses]


_scalers = _Scalers()
