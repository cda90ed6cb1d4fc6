"""When a step of training begins and ends, and which steps are logged."""

import contextlib
import gc
import weakref

import torch

from torchoscope import _core, step_hooks
from torchoscope.recorder import SKIP, Budget, LiveRecording, forces_device
from torchoscope.restore import modules_of
from torchoscope.watch_device import WatchDevice
from torchoscope.watch_pace import Paced

_RENEWALS = 64  # of the model, at most; some code replaces parameters in every step
NOTIFY_NS = 100_000_000
_PATIENCE = 8  # rounds that another optimizer may skip before it is no longer awaited


class _Every:
    """The rule of log_freq, in place of a budget's."""

    writer = None

    def __init__(self, n):
        self._n, self._at = n, 0

    def next(self):
        self._at += 1
        return "full" if (self._at - 1) % self._n == 0 else SKIP

    def report(self, *_):
        pass

    owe = report


class Steps(Budget):
    """Decides which steps are logged, and notifies the Watch when passes begin and end.
    A logged step is measured in full; if that is too expensive, fewer steps are
    logged."""

    def __init__(self, share, log_freq):
        super().__init__(share)
        self.watch = None  # a weak reference
        self._notified = 0  # when
        self._rule = Paced(self._rule) if log_freq is None else _Every(log_freq)

    def created(self, writer, took_ns):
        """The file was created: that time is not part of the cost of a step."""
        self._rule.writer, self._notified = writer, _core.clock_ns()
        self.excuse(took_ns)

    def excuse(self, took_ns):
        """Exclude the time of work that only this step does."""
        self._rule.owe(took_ns)
        when, spent, measured = self._last
        self._last = when + took_ns, spent + took_ns, measured

    def may_tell(self):
        """Should the loss of a step that is not logged be written? With a budget ten
        times a second, with log_freq never."""
        now = _core.clock_ns()
        if isinstance(self._rule, _Every) or now - self._notified < NOTIFY_NS:
            return False
        self._notified = now
        return True

    def capsule_share(self):
        """The share of the time for the capsule. It is small while the training owes
        time, for example after its first logged step."""
        return self.share / (3 if self._rule.cost <= self.share else 12)

    @property
    def on(self):
        return self._on

    def decide(self, full=False):
        """A step begins. `full`: log it regardless of the budget."""
        self._decide()
        if full and not self._on:
            self._now = "full"
            self._turn(True)
        self._core.mode = self.device.mode = self._mode

    def _lost(self):
        super()._lost()
        watch = self.watch()
        if watch is not None:
            watch._guard(watch._first.compiles)

    def tell(self, core):
        """No facts: this recording is dropped, its steps are in the file."""

    def _begins(self, module, args, kwargs):
        if self._outer in (None, id(module)):
            self._outer = id(module)
            self.watch()._pass_begins(module, args, kwargs)

    def _ends(self, module, result):
        if id(module) == self._outer:
            self._outer = None
            self.watch()._pass_ends(result)


class Recorder(LiveRecording):
    """Hooks, as in a recording, that feed a Watch."""

    _renewals = 0

    def _show_stats(self):
        pass

    def _make_device(self):
        return WatchDevice(self._wanted["mode"])  # without a clock, which would wait

    def leave(self, name, numbers):
        """Compute a scalar, the mean of some tensors, on their device if they are on
        one, because reading them here would wait for it."""
        tensors = [one for one in numbers if isinstance(one, torch.Tensor)]
        if not tensors or (all(one.is_cpu for one in tensors) and not forces_device()):
            return False
        self._device.scalar(name, tensors)
        return True

    def _looks_at_parameters(self, core):
        return False

    def _optimizer_hooks(self):
        return step_hooks.before, step_hooks.after

    def _look_at_parameters(self, optimizer):
        try:
            self.watch()._before_step(optimizer)
        except Exception:  # must not reach the training
            pass

    def _stepped(self, optimizer, args, kwargs):
        raising = None
        try:
            raising = self.watch()._stepped(optimizer)
        except Exception:
            pass
        if raising is not None:
            raise raising

    def look_again(self, has_file):
        """A logged step begins: were modules or parameters replaced?"""
        began, counted = _core.clock_ns(), self._core.cost_ns
        if self._renewals < _RENEWALS and self._core.look_again(
            self._model, self._name, has_file
        ):
            self._renewals += 1
            self._modules = list(modules_of(self._model))
            for optimizer in [one for one, ours in self._optimizers.items() if not ours]:
                del self._optimizers[optimizer]
        self._core.spend(began, counted)

    def _watch_optimizer(self, optimizer):
        self._modules = list(modules_of(self._model))  # it may be of new ones
        return super()._watch_optimizer(optimizer)

    def optimizers(self):
        """The optimizers of the model, in the order of its parameters."""
        order = {}
        for _, module in self._modules:
            for one in module.parameters(False):
                order.setdefault(id(one), len(order))
        placed, kinds = [], _kinds_of(torch.optim.Optimizer)
        for one in [one for one in gc.get_objects() if type(one) in kinds]:
            owned = [order[key] for key in owned_by(one) if key in order]
            if owned:
                placed.append((min(owned), len(placed), one))
        return [one for _, _, one in sorted(placed)]

    def is_ours(self, optimizer):
        """The number of an optimizer of the model as a tuple, or None."""
        found = self._optimizers.get(optimizer, False)
        if found is False:
            found = self._optimizers[optimizer] = self._watch_optimizer(optimizer)
        return found


class Rounds:
    """A step ends when each optimizer of the model has stepped. Optimizers are given by
    the numbers of Recorder.is_ours()."""

    def __init__(self):
        self.began = False
        self._times = {}  # number -> its steps in this round
        self._owned = {}  # number -> ids of its parameters
        self._ended = 0

    def __len__(self):
        return len(self._times)

    def knows(self, optimizer):
        """Does a known one have parameters of this optimizer?"""
        own = owned_by(optimizer)
        return any(not own.isdisjoint(self._owned[key]) for key in self._times)

    def expect(self, number, optimizer):
        """Makes a step wait for this optimizer although it has not stepped yet."""
        self._join(number, optimizer)
        self._times[number] = 0

    def ends(self, number, optimizer):
        """Has each of the model's optimizers stepped since the last step ended?"""
        rounds = self._times
        if len(rounds) == 1 and number in rounds:
            self._ended += 1
            return True
        if number not in rounds:
            self._join(number, optimizer)
            if self._ended < _PATIENCE:  # those before it do not wait for its first time
                rounds.update(dict.fromkeys(rounds, 1))
        rounds[number] = rounds.get(number, 0) + 1
        if rounds[number] > _PATIENCE:
            for other in [one for one, times in rounds.items() if not times]:
                del rounds[other]
        if not all(rounds.values()):
            return False
        rounds.update(dict.fromkeys(rounds, 0))
        self._ended += 1
        return True

    def _join(self, number, optimizer):
        """An optimizer replaces those that share parameters with it."""
        if number not in self._owned:
            self._owned[number] = owned_by(optimizer)
            weakref.finalize(optimizer, self._times.pop, number, None)
        for other in list(self._times):
            if not self._owned[number].isdisjoint(self._owned[other]):
                del self._times[other]


def _kinds_of(kind):
    """A class and all classes derived from it."""
    found, waiting = set(), [kind]
    while waiting:
        found.add(one := waiting.pop())
        waiting += set(one.__subclasses__()) - found
    return found


def owned_by(optimizer):
    """The ids of its parameters; none while it is being constructed."""
    groups = [group["params"] for group in getattr(optimizer, "param_groups", ())]
    return {id(one) for group in groups for one in group}
