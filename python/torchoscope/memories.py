"""memory(): how much memory a training step or a pass takes, and the largest batch."""

import contextlib
import html
import json
import re
import types

import torch

from torchoscope.inputs import Inputs, forward_keywords
from torchoscope.memory_fit import fitted_figures, fitted_peak
from torchoscope.memory_steps import (
    Batches,
    CannotPredict,
    FakeSteps,
    RealSteps,
    optimizer_class,
)
from torchoscope.notebook import Displayed
from torchoscope.recorder import parse_size
from torchoscope.restore import modules_of, state_guard
from torchoscope.summaries import unlazy

MOST_BATCH = 1 << 20
MOST_PROBES = 24  # predictions in the search for the largest batch
MOST_MEASURED = 16  # the batch size that is run if fake tensors cannot
MOST_BLOCKS = 3  # classes of blocks that are tried under checkpointing
MOST_MODULES = 3  # named in the table
KINDS = {
    "parameters": "parameters",
    "buffers": "buffers",
    "gradients": "gradients",
    "optimizer": "optimizer state",
    "saved": "activations",
    "recomputed": "recomputed",
    "other": "other",
}
# Operations whose results are smaller as fake tensors.
HIDDEN = {"aten::mkldnn_rnn_layer": "the size of its workspace is known only by running it"}
NOT_INCLUDED = (
    "tensor memory only: the allocator of an accelerator, its context and scratch memory "
    "inside operations come on top"
)


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
    **more,
):
    """Predict the tensor memory of a training step of `model`, without running it, and
    return a Memory; str() is the table. The model is not changed.

    inputs     tensors or shapes, (1, 3, 224, 224) or "8x128:int64"; by default an
               example input of the model or its library
    kwargs     keyword arguments of forward; other keywords go to forward too, unless they
               are options of memory()
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
    options = {name: value for name, value in locals().items() if name in _OPTIONS}
    keywords = forward_keywords(memory, model, kwargs, more, options)
    wanted = _wanted(model, dtype, training, optimizer, loss, device)
    if limit is not None:
        limit = _limit(limit)
    if not 0 <= margin < 1:
        raise ValueError(f"margin must be at least 0 and below 1, not {margin!r}")
    if batch is not None and (type(batch) is not int or batch < 1):
        raise ValueError(f"batch must be 1 or more, not {batch!r}")
    given = Inputs(model, inputs, keywords)
    if given.is_empty:
        name = type(model).__name__
        raise TypeError(f"memory() needs inputs for {name}: pass a tensor or a shape")
    return _Prediction(model, given, batch, batch_dim, wanted).make(limit, margin, measure)


_OPTIONS = (
    *("batch", "batch_dim", "dtype", "training", "optimizer", "loss", "device", "limit"),
    *("margin", "measure"),
)


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


class Memory(Displayed):
    """The memory of a step, in bytes. str() is the table.

    parameters, buffers, gradients, optimizer, activations, recomputed, other
                   the most of each that is alive at one time; activations are those
                   saved for backward
    peak           the most that is alive in all; at_peak: its parts, a dict
    peak_op        where: a dict with `op_name`, `phase`, `line`, `name` (the module)
    modules        what each module saves for backward: name -> bytes
    batch          the batch size; None: the inputs have no batch
    source         "fake tensors", or "fitted" to two measured batch sizes (why: `why`)
    measured       with measure=True: the peak of a real step
    rss            resident memory of this process, before anything was predicted
    limit, margin, largest_batch, largest_peak, largest_why
    checkpointing  a list of dicts: `blocks` (names), `class`, `peak`, `saves`
    cache_per_token   bytes of keys and values that generation keeps per token and
                   sequence; None: unknown
    recording      the recording of the step (of fake tensors: without statistics)"""

    def __init__(self, heading):
        self.heading = heading
        self.parameters = self.buffers = self.gradients = self.optimizer = 0
        self.activations = self.recomputed = self.other = self.peak = 0
        self.at_peak, self.modules, self.checkpointing = {}, {}, []
        self.peak_op = self.batch = self.why = self.measured = self.recording = None
        self.limit = self.largest_batch = self.largest_peak = self.largest_why = None
        self.margin, self.source, self.loss = 0.1, "fake tensors", None
        self.cache_per_token = None
        self.rss = resident()

    def _take(self, found):
        """Takes the figures of Recording.memory()."""
        for kind in KINDS:
            name = "activations" if kind == "saved" else kind
            setattr(self, name, found["most"][f"{kind}_bytes"])
            if found["at_peak"] is not None:
                self.at_peak[name] = found["at_peak"][f"{kind}_bytes"]
        self.peak, self.peak_op = found["peak_bytes"], found["peak_op"]
        self.modules = {
            one["name"]: one["saved_bytes"] for one in found["modules"] if one["name"]
        }

    @property
    def json(self):
        """All of it as a dict: the document "memory" of docs/json.md."""
        sizes = ("parameters", "buffers", "gradients", "optimizer", "activations")
        sizes += ("recomputed", "other", "peak")
        return {
            "torchoscope": 1,
            "kind": "memory",
            "heading": self.heading,
            "source": self.source,
            "why": self.why,
            "batch": self.batch,
            "loss": self.loss,
            **{f"{name}_bytes": getattr(self, name) for name in sizes},
            "at_peak": {f"{name}_bytes": n for name, n in self.at_peak.items()},
            "peak_op": self.peak_op,
            "modules": [
                {"name": name, "saved_bytes": n} for name, n in self.modules.items()
            ],
            "measured_bytes": self.measured,
            "rss_bytes": self.rss,
            "limit_bytes": self.limit,
            "margin": self.margin,
            "largest_batch": self.largest_batch,
            "largest_peak_bytes": self.largest_peak,
            "largest_why": self.largest_why,
            "checkpointing": [
                {
                    "class": one["class"],
                    "blocks": one["blocks"],
                    "peak_bytes": one["peak"],
                    "saves_bytes": one["saves"],
                }
                for one in self.checkpointing
            ],
            "cache_bytes_per_token": self.cache_per_token,
        }

    def to_json(self):
        """The same as text."""
        return json.dumps(self.json, ensure_ascii=False, indent=1)

    # --- the table

    def rows(self):
        """The rows of the table: (name, the most of it, its part of the peak, note)."""
        rows = []
        for kind, words in KINDS.items():
            name = "activations" if kind == "saved" else kind
            most, now = getattr(self, name), self.at_peak.get(name)
            text = "" if now is None else size(now)
            if most:
                rows.append((words, size(most), text, self._note(kind)))
        rows.append(("peak", "", size(self.peak), self._where()))
        if self.measured is not None:
            off = (self.peak - self.measured) / self.measured if self.measured else 0
            note = f"with real tensors; the prediction is {off:+.1%} off"
            rows.append(("measured", "", size(self.measured), note))
        rows.append(("process", "", size(self.rss), "RSS of this Python before, with code"))
        return rows

    def _note(self, kind):
        if kind == "saved":
            leaves = _largest(self.modules)
            most = ", ".join(f"{name} {size(n)}" for name, n in leaves)
            return "saved for backward" + (f": {most}" if most else "")
        if kind == "other":
            return "inputs and temporaries"
        return ""

    def _where(self):
        op = self.peak_op
        if op is None:
            return ""
        name = op["op_name"].removeprefix("aten::")
        line = f"{op['line']} " if "line" in op else ""
        module = f" in {op['name']}" if op.get("name") else ""
        return f"at {line}{name}(){module}, in {op['phase']}"

    def lines(self):
        """The sentences below the table."""
        lines = []
        if self.limit is not None:
            lines.append(self._fits())
        for one in self.checkpointing:
            names = _span(one["blocks"])
            lines.append(
                f"checkpointing {len(one['blocks'])} × {one['class']} ({names}): peak "
                f"{size(one['peak'])}, {size(one['saves'])} less"
            )
        if self.cache_per_token is not None:
            text = size(self.cache_per_token)
            lines.append(f"generation keeps {text} of keys and values per token")
        if self.loss:
            lines.append(f"the loss is {self.loss}")
        if self.why:
            lines.append(self.why)
        lines.append(NOT_INCLUDED)
        return lines

    def _fits(self):
        room = f"{size(self.limit)} with a margin of {self.margin:.0%}"
        if self.largest_batch:
            peak = size(self.largest_peak)
            why = f"; {self.largest_why}" if self.largest_why else ""
            return f"largest batch in {room}: {self.largest_batch:,}, peak {peak}{why}"
        if self.largest_batch == 0:
            return f"not even a batch of 1 fits in {room}: peak {size(self.largest_peak)}"
        return f"largest batch in {room}: not known: {self.largest_why}"

    def __str__(self):
        rows = [("", "most", "at peak", ""), *self.rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = [self.heading]
        for name, most, now, note in rows:
            line = f"{name:<{widths[0]}}  {most:>{widths[1]}}  {now:>{widths[2]}}  {note}"
            lines.append(line.rstrip())
        return "\n".join([*lines, *self.lines()])

    def __repr__(self):
        return f"<torchoscope.Memory: {self.heading}, peak {size(self.peak)}>"

    def _notebook(self):
        cells = "".join(
            f"<tr><td>{html.escape(name)}</td>"
            f'<td style="text-align:right">{most}</td>'
            f'<td style="text-align:right">{now}</td>'
            f'<td style="text-align:left">{html.escape(note)}</td></tr>'
            for name, most, now, note in self.rows()
        )
        below = "".join(f"<div>{html.escape(line)}</div>" for line in self.lines())
        head = "<tr><th></th><th>most</th><th>at peak</th><th></th></tr>"
        return (
            f"<div><b>{html.escape(self.heading)}</b><table>{head}{cells}</table>"
            f"{below}</div>"
        )


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
        parts = [type(self._model).__name__, self._given.told]
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
        for kind, blocks in _block_classes(self._steps.model, found.modules)[:MOST_BLOCKS]:
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
        """Two small batches: this takes memory and time. Some models need two samples."""
        low = max(1, min(max(own, self._size), MOST_MEASURED) // 2)
        known = {2 * low: self._measure(2 * low)}
        try:
            known[low] = self._measure(low)
        except Exception:
            known[4 * low] = self._measure(4 * low)
        return dict(sorted(known.items()))

    def _fit(self, found, error):
        """Fake tensors could not run it: measure two batch sizes and draw a line."""
        args, kwargs = self._given.make()
        self._batches = Batches(args, kwargs, self._dim)
        own = self._batches.size
        self._size = self._batch or own
        known = {None: self._measure(None)} if own is None else self._measure_two(own)
        found.recording, found.loss = self._recording, getattr(self._steps, "loss", None)
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
    The peak is a convex function of the batch: flat as long as the optimizer has it."""
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
    """[(class, [(name, module)])] of repeated modules with modules inside, those that save
    the most first. Lists of modules have no forward of their own to repeat."""
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
    sums = {id(blocks): sum(saved.get(name, 0) for name, _ in blocks) for _, blocks in found}
    found.sort(key=lambda one: -sums[id(one[1])])
    return [one for one in found if sums[id(one[1])] > 0]


def _largest(modules):
    """(name, bytes) of the modules that save the most, none inside another. A module that
    saves hardly more than one inside it is left out for that."""
    wrappers = {
        name.rpartition(".")[0]
        for name, n in modules.items()
        if n >= 0.9 * modules.get(name.rpartition(".")[0], n + 1)
    }
    found = []
    for name, n in sorted(modules.items(), key=lambda one: (-one[1], one[0])):
        inside = any(name.startswith(f"{other}.") for other, _ in found)
        if name in wrappers or inside:
            continue
        found.append((name, n))
        if len(found) == MOST_MODULES:
            break
    return found


def _span(names):
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"


def size(n):
    """1536 -> "1.5KB", as everywhere in torchoscope."""
    if n < 1024:
        return f"{n}B"
    for unit in ("KB", "MB", "GB", "TB", "PB", "EB"):
        n /= 1024
        if n < 1023.95:
            break
    return f"{n:.1f}{unit}"


def resident():
    """Bytes of this process in memory; 0 if unknown."""
    try:
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    import resource

    return pages * resource.getpagesize()
