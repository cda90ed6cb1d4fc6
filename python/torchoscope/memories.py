"""memory(): the memory of a training step or a pass, and the largest batch."""

import contextlib
import re
import types

import torch

from torchoscope.inputs import Inputs
from torchoscope.keywords import takes_inputs
from torchoscope.memory_fit import fitted_figures, fitted_peak
from torchoscope.memory_result import Memory
from torchoscope.memory_steps import (
    Batches,
    CannotPredict,
    FakeSteps,
    RealSteps,
    optimizer_class,
)
from torchoscope.recorder import parse_size
from torchoscope.restore import modules_of, state_guard
from torchoscope.summaries import unlazy

MOST_BATCH = 1 << 20
MOST_PROBES = 24  # predictions in the search for the largest batch
MOST_MEASURED = 16  # the batch size to run if fake tensors cannot
MOST_BLOCKS = 3  # classes of blocks to try under checkpointing
# Operations whose results are smaller as fake tensors.
HIDDEN = {"aten::mkldnn_rnn_layer": "the size of its workspace is only known by running it"}


@takes_inputs
def memory(
    model,
    *inputs,
    kwargs=None,
    batch=None,
    batch_dim=0,
    dtype=None,
    training=True,
    optimizer="adam",
    loss=None,
    device=None,
    limit=None,
    margin=0.1,
    measure=False,
):
    """Predict the tensor memory of a training step of `model`, without running it, and
    return a Memory; str() is the table. The model is not changed.

    inputs     tensors or shapes, (1, 3, 224, 224) or "8x128:int64"; by default an
               example input of the model or its library
    kwargs     keyword arguments of forward; other keywords go to forward too, unless
               they are options of memory()
    batch      the batch size to predict for; by default that of the inputs
    batch_dim  the dimension of tensors that is the batch
    dtype      of parameters and floating-point inputs: "bfloat16"; by default theirs
    training   a whole training step; False: a pass in eval mode without gradients
    optimizer  a name of torch.optim, an optimizer of the model, a function of the
               parameters, or None
    loss       a function of the result that returns a loss; by default the result's own
               `loss`, else the sum of its floating-point tensors
    device     where the step will run, if not where the model is: on anything but "cpu"
               optimizers are assumed to use foreach
    limit      bytes, "24GB" (units of 1024): also look for the largest batch that fits
    margin     the share of the limit that stays free
    measure    also run a step of a copy with real tensors, and compare

    docs/python.md has the details."""
    wanted = _wanted(model, dtype, training, optimizer, loss, device)
    if limit is not None:
        limit = _limit(limit)
    if not 0 <= margin < 1:
        raise ValueError(f"margin must be at least 0 and below 1, not {margin!r}")
    if batch is not None and (type(batch) is not int or batch < 1):
        raise ValueError(f"batch must be 1 or more, not {batch!r}")
    given = Inputs(model, inputs, kwargs)
    if given.is_empty:
        name = type(model).__name__
        raise TypeError(f"memory() needs inputs for {name}: pass a tensor or a shape")
    prediction = _Prediction(model, given, batch, batch_dim, wanted)
    return prediction.make(limit, margin, measure)


def _wanted(model, dtype, training, optimizer, loss, device):
    if isinstance(model, type) and issubclass(model, torch.nn.Module):
        raise TypeError(f"{model.__name__} is a class; pass an instance of it")
    modules = [module for _, module in modules_of(model)]
    if not modules:
        raise TypeError(f"{type(model).__name__} contains no torch.nn.Module")
    if isinstance(dtype, str):
        found = getattr(torch, dtype.removeprefix("torch."), None)
        if not isinstance(found, torch.dtype):
            raise ValueError(f"dtype: torch has no dtype {dtype!r}")
        dtype = found
    if isinstance(optimizer, str):
        optimizer_class(optimizer)  # an unknown name raises now
    if device is None:
        first = next((one for module in modules for one in module.parameters()), None)
        device = "cpu" if first is None else first.device
    return types.SimpleNamespace(
        dtype=dtype,
        training=bool(training),
        optimizer=optimizer if training else None,
        loss=loss,
        foreach=torch.device(device).type not in ("cpu", "meta"),
    )


def _limit(text):
    """Bytes of "24GB": the memory of accelerators is counted in units of 1024."""
    if isinstance(text, str) and "i" not in text.lower():
        text = re.sub(r"(?i)([kmg])b?\s*$", r"\1iB", text)
    return parse_size(text)


class _Refused(ValueError):
    """The options do not fit the inputs."""


class _Prediction:
    """Makes a Memory."""

    def __init__(self, model, given, batch, batch_dim, wanted):
        self._given, self._wanted, self._dim = given, wanted, batch_dim
        self._model, self._batch = model, batch

    def make(self, limit, margin, measure):
        found = Memory("")
        found.limit, found.margin = limit, margin
        found.source, fake_error = "fake tensors", None
        try:
            recording = self._first()
        except _Refused:
            raise
        except Exception as error:
            fake_error = error
        if fake_error is not None:
            return self._fit(found, fake_error)
        self._describe(found, recording)
        if limit is not None:
            self._search(
                found, lambda batch: self._steps.run(batch).memory()["peak_bytes"]
            )
        if self._wanted.training:
            self._try_checkpoints(found)
        self._cache(found)
        if measure:
            found.measured = self._measure(self._size)["peak_bytes"]
        return found

    # --- predictions

    def _first(self):
        """The first prediction. Replaces inputs that do not fit, as summary() does."""
        while True:
            args, kwargs = self._given.make()
            self._batches = Batches(args, kwargs, self._dim)
            self._size = self._batch or self._batches.size
            if self._batch and self._batches.size is None:
                raise _Refused(
                    f"batch: no tensor among the inputs has a dimension {self._dim}"
                )
            model = unlazy(self._model, self._given.make)
            try:
                _run_lazy(model, args, kwargs)
                self._steps = FakeSteps(model, self._batches, self._wanted)
                recording = self._steps.run(self._size)
                for name, why in HIDDEN.items():
                    if len(recording.ops(name=name)):
                        raise CannotPredict(f"{name}: {why}")
                return recording
            except Exception as error:
                if self._given.fits_after(error):
                    continue
                if self._given.source and self._given.try_others():
                    continue
                raise

    def _describe(self, found, recording):
        found.recording = recording
        found.batch = self._size
        found.loss = getattr(self._steps, "loss", None)
        found._take(recording.memory())
        self._head(found)

    def _head(self, found):
        wanted = self._wanted
        parts = [type(self._model).__name__, self._given.description]
        if found.batch is not None and found.batch != self._batches.size:
            parts.append(f"batch {found.batch}")
        if wanted.dtype is not None:
            parts.append(str(wanted.dtype).replace("torch.", ""))
        parts.append(self._what())
        parts.append("predicted" if found.source == "fake tensors" else "fitted")
        found.heading = ", ".join(parts)

    def _what(self):
        optimizer = self._wanted.optimizer
        if not self._wanted.training:
            return "inference"
        if optimizer is None:
            return "training without optimizer"
        name = getattr(self._steps._optimizer, "__class__", type(None)).__name__
        how = " (foreach)" if self._wanted.foreach else ""
        return f"training with {name}{how}"

    def _search(self, found, peak_of):
        """The largest batch whose peak is below the limit: each guess is predicted."""
        if self._size is None:
            found.largest_why = "the inputs have no batch"
            return
        room = found.limit * (1 - found.margin)
        known = {self._size: found.peak}
        for turn in range(MOST_PROBES):
            guess = _guess(known, room, turn)
            if guess is None:
                break
            try:
                known[guess] = peak_of(guess)
            except Exception as error:
                text = str(error).strip().splitlines() or [""]
                kind = type(error).__name__
                found.largest_why = f"batch {guess} raises {kind}: {text[0]}"
                break
        fits = max((b for b, peak in known.items() if peak <= room), default=0)
        if not fits and (1 in known or not found.largest_why):
            found.largest_batch, found.largest_peak = 0, known[min(known)]
            return
        if fits >= MOST_BATCH:
            found.largest_why = "the peak hardly depends on the batch"
        found.largest_batch = fits or None
        found.largest_peak = known.get(fits)

    def _try_checkpoints(self, found):
        """Predict with each class of repeated blocks checkpointed."""
        classes = _block_classes(self._steps.model, found.modules)
        for kind, blocks in classes[:MOST_BLOCKS]:
            modules = [module for _, module in blocks]
            with contextlib.suppress(Exception):  # a block that cannot be repeated
                peak = self._steps.run(self._size, modules).memory()["peak_bytes"]
                if peak < found.peak:
                    found.checkpointing.append(
                        {
                            "class": kind.__name__,
                            "blocks": [name for name, _ in blocks],
                            "peak": peak,
                            "saves": found.peak - peak,
                        }
                    )
        found.checkpointing.sort(key=lambda one: one["peak"])

    def _cache(self, found):
        """Models of transformers return keys and values on request."""
        if not hasattr(getattr(self._model, "config", None), "use_cache"):
            return
        with contextlib.suppress(Exception):
            cached = self._steps.cache(self._size)
            if cached is not None:
                bytes_, (sequences, tokens) = cached[0], cached[1][:2]
                found.cache_per_token = round(bytes_ / (sequences * tokens))

    # --- measurements

    def _measure(self, batch):
        model = unlazy(self._model, self._given.make)
        self._steps = RealSteps(model, self._batches, self._wanted)
        recording = self._recording = self._steps.run(batch)

        def op_of(number):
            op = recording.ops()[number]
            found = {"op": number, "op_name": op.name, "phase": op.phase}
            found |= {"line": op.line} if op.line else {}
            return found | ({"name": op.module} if op.module else {})

        return {**recording.memory(), "op_of": op_of}

    def _measure_two(self, own):
        """Two small batches, because this takes memory and time. Some models need two
        samples."""
        low = max(1, min(max(own, self._size), MOST_MEASURED) // 2)
        known = {2 * low: self._measure(2 * low)}
        try:
            known[low] = self._measure(low)
        except Exception:
            known[4 * low] = self._measure(4 * low)
        return dict(sorted(known.items()))

    def _fit(self, found, error):
        """Fake tensors could not run it: measure two batch sizes and interpolate
        linearly."""
        args, kwargs = self._given.make()
        self._batches = Batches(args, kwargs, self._dim)
        own = self._batches.size
        self._size = self._batch or own
        known = {None: self._measure(None)} if own is None else self._measure_two(own)
        found.recording = self._recording
        found.loss = getattr(self._steps, "loss", None)
        found.source, found.batch = "fitted", self._size
        found._take(fitted_figures(known, self._size))
        lines = str(error).strip().splitlines() or [""]
        kind = "" if isinstance(error, CannotPredict) else f"{type(error).__name__}: "
        sizes = " and ".join(map(str, known)) if own else ""
        how = f"measured with batch {sizes} and fitted" if sizes else "measured"
        found.why = f"{how}: fake tensors cannot run this model ({kind}{lines[0]})"
        self._head(found)
        if found.limit is not None:
            self._search(found, lambda batch: fitted_peak(known, batch)[0])
        return found


# --- helpers


def _run_lazy(model, args, kwargs):
    """A model that is still lazy got inputs that it cannot take: raises its error."""
    is_lazy = torch.nn.parameter.is_lazy
    for _, module in modules_of(model):
        if any(map(is_lazy, [*module.parameters(False), *module.buffers(False)])):
            with state_guard(model), torch.no_grad():
                model(*args, **kwargs)
            return


def _guess(known, room, turn):
    """The next batch size to predict; None: the largest is known within half a percent.
    The peak is a convex function of the batch: flat while the optimizer determines
    it."""
    fits = max((b for b, peak in known.items() if peak <= room), default=0)
    bursts = min((b for b, peak in known.items() if peak > room), default=None)
    step = max(1, fits // 200)
    if bursts is None:
        if fits >= MOST_BATCH:
            return None
        (b0, p0), (b1, p1) = ([(0, 0)] + sorted(known.items()))[-2:]
        slope = (p1 - p0) / (b1 - b0) if b0 else 0
        guess = int(b1 + (room - p1) / slope) if slope > 0 else 8 * fits
        return min(max(guess, fits + step), MOST_BATCH)
    if bursts - fits <= step or bursts == 1:
        return None
    if not fits:
        return max(1, bursts // 8)
    if known[fits] > 0.995 * room:
        return min(fits + step, bursts - 1)
    share = (room - known[fits]) / (known[bursts] - known[fits])
    guess = fits + int((bursts - fits) * (share if turn % 2 else 0.5))
    return min(max(guess, fits + step), bursts - 1)


def _block_classes(model, saved):
    """[(class, [(name, module)])] of repeated modules with modules inside, those that
    save the most first. Lists of modules have no forward to repeat."""
    lists = (torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.Sequential)
    classes = {}
    for name, module in modules_of(model):
        own = classes.setdefault(type(module), [])
        inside = any(name.startswith(f"{other}.") for other, _ in own)
        if name and next(module.children(), None) is not None and not inside:
            own.append((name, module))
    found = [
        (kind, blocks)
        for kind, blocks in classes.items()
        if len(blocks) > 1 and not issubclass(kind, lists)
    ]
    found = found or [
        (type(module), [(name, module)])
        for name, module in modules_of(model)
        if name and "." not in name and next(module.children(), None) is not None
        if not isinstance(module, lists[:2])
    ]

    def sum_of(one):
        return sum(saved.get(name, 0) for name, _ in one[1])

    return sorted(filter(sum_of, found), key=sum_of, reverse=True)
