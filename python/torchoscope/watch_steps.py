"""When a step of training begins and ends, and which steps are logged."""

import contextlib
import weakref

import torch

from torchoscope.recorder import SKIP, Budget, LiveRecording, forces_device
from torchoscope.watch_device import WatchDevice

_PATIENCE = 8  # rounds that another optimizer may leave out before it is not awaited


class _Every:
    """The rule of log_freq, in place of a budget's."""

    def __init__(self, n):
        self._n, self._at = n, 0

    def next(self):
        self._at += 1
        return "full" if (self._at - 1) % self._n == 0 else SKIP

    def told(self, *_):
        pass

    owe = told


class Steps(Budget):
    """Decides which steps are logged, and tells the Watch when passes begin and end. A
    step that is logged is measured in full: what is too expensive is logged less often."""

    def __init__(self, share, log_freq):
        super().__init__(share)
        self.watch = None  # a weak reference
        if log_freq is not None:
            self._rule = _Every(log_freq)

    def begin(self, core, listener, stack):
        tell = listener.backward

        def backward(roots, gradients):
            self.watch()._backward(roots)
            return tell(roots, gradients)

        listener.backward = backward
        super().begin(core, listener, stack)

    @property
    def on(self):
        return self._on

    def decide(self):
        self._decide()
        self._core.mode = self.device.mode = self._mode

    def tell(self, core):
        """The facts of a recording: this one is dropped, its steps are in the file."""

    def _begins(self, module):
        if self._outer in (None, id(module)):
            self._outer = id(module)
            self.watch()._pass_begins(module)

    def _ends(self, module):
        if id(module) == self._outer:
            self._outer = None
            self.watch()._pass_ends()


class Recorder(LiveRecording):
    """Hooks, as in a recording; what they see goes to a Watch."""

    def _show_stats(self):
        pass

    def _make_device(self):
        return WatchDevice(self._wanted["mode"])  # without a clock, which would wait

    def leave(self, name, numbers):
        """Leave a scalar, the mean of some tensors, to their device, if it has them: to
        read them here would wait for it."""
        tensors = [one for one in numbers if isinstance(one, torch.Tensor)]
        if not tensors or (all(one.is_cpu for one in tensors) and not forces_device()):
            return False
        self._device.scalar(name, tensors)
        return True

    def _looks_at_parameters(self, core):
        return False

    def _look_at_parameters(self, optimizer):
        with contextlib.suppress(Exception):
            self.watch()._before_step(optimizer)

    def _stepped(self, optimizer, args, kwargs):
        with contextlib.suppress(Exception):
            self.watch()._stepped(optimizer)

    def is_ours(self, optimizer):
        """The number of an optimizer of the model as a tuple, or None."""
        if optimizer not in self._optimizers:
            self._optimizers[optimizer] = self._watch_optimizer(optimizer)
        return self._optimizers[optimizer]


class Rounds:
    """A step ends when each optimizer of the model has stepped. Optimizers are numbers,
    as Recorder.is_ours() gives them."""

    def __init__(self):
        self._times = {}  # number -> its steps in this round
        self._owned = {}  # number -> ids of its parameters
        self._ended = 0

    def __len__(self):
        return len(self._times)

    def ends(self, number, optimizer):
        """Has each of the model's optimizers stepped since the last step ended?"""
        rounds = self._times
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
        """An optimizer takes the place of those that share parameters with it."""
        if number not in self._owned:
            groups = [group["params"] for group in optimizer.param_groups]
            self._owned[number] = {id(one) for group in groups for one in group}
            weakref.finalize(optimizer, self._times.pop, number, None)
        for other in list(self._times):
            if not self._owned[number].isdisjoint(self._owned[other]):
                del self._times[other]
