"""Other destinations of a watched training's steps than the .scope file."""

import atexit
import importlib
import importlib.util
import math
import os

from torchoscope import _core
from torchoscope.history import KINDS
from torchoscope.recording import Recording
from torchoscope.watch_words import listed

_NATIVE = ("tensorboard", "csv")  # the thread of the core writes them
_TRACKERS = ("wandb", "trackio")
_BINS = 64  # bins of a histogram for a tracker
_STATISTICS = ("count", "nan", "pos_inf", "neg_inf", "zeros", "min", "max", "mean")
_STATISTICS += ("std", "l2", "sampled", "ratio")


class WatchPoint:
    """A tensor in a step: its series, statistics and histogram."""

    __slots__ = ("_row",)

    def __init__(self, row):
        self._row = row

    @property
    def place(self):
        """The name of the module or parameter."""
        return self._row["name"]

    @property
    def kind(self):
        """One of the kinds of History.series()."""
        return self._row["kind"]

    @property
    def call(self):
        """The call index of the module in this step, from 0."""
        return self._row["call"]

    @property
    def path(self):
        """The path of the tensor, as in Value.path; usually empty."""
        return self._row["path"]

    @property
    def tag(self):
        """A name for other programs: "grad_param/0.weight", "eval/output/lstm/[0]"."""
        return self._row["tag"]

    @property
    def stats(self):
        """A dict: the columns of a Series (count, nan, ..., mean, std, l2, ratio)."""
        return {key: self._row[key] for key in _STATISTICS}

    @property
    def histogram(self):
        """A dict: edges (one more than counts), counts, counted, of; or None."""
        return _core.bins(self._row["histogram"], 128)

    def __repr__(self):
        return f"<torchoscope.WatchPoint {self.tag}>"


class WatchStep:
    """A step of training, for a callback: watch(backend=callback)."""

    def __init__(self, row):
        self._row = row
        self._points = [WatchPoint(point) for point in row["points"]]

    @property
    def number(self):
        """The step number."""
        return self._row["number"]

    @property
    def phase(self):
        """Either "train" or "eval"."""
        return self._row["phase"]

    @property
    def time(self):
        """When it was logged, in seconds since 1970."""
        return self._row["time"]

    @property
    def scalars(self):
        """A dict: name -> float."""
        return self._row["scalars"]

    @property
    def points(self):
        """The tensors, a list of WatchPoint; empty if the step has only scalars."""
        return self._points

    @property
    def alarms(self):
        """Its alarms, a list of dicts, as in History.alarms()."""
        return self._row["alarms"]

    def __repr__(self):
        return f"<torchoscope.WatchStep {self.number}: {len(self._points)} points>"


class _Callback:
    """A callback of the user."""

    def __init__(self, function):
        self.step = function
        self.name = getattr(function, "__name__", type(function).__name__)

    def begin(self, run):
        pass

    def end(self, path):
        pass


class _Tracker:
    """A run of wandb; or of trackio, which has the same functions."""

    def __init__(self, name):
        self.name = name

    def open(self, stem):
        """Join the active run, or begin a new one."""
        self._package = importlib.import_module(self.name)
        self._run = self._active()
        self._own = self._run is None
        if self._own:
            project = os.environ.get(f"{self.name.upper()}_PROJECT", "torchoscope")
            self._run = self._package.init(project=project, name=stem)
        if self.name == "wandb":
            kinds = [before + kind for before in ("", "eval/") for kind in KINDS]
            self._run.define_metric("torchoscope/step", hidden=True)
            for kind in (*kinds, "update_ratio", "torchoscope"):
                self._run.define_metric(f"{kind}/*", step_metric="torchoscope/step")

    def _active(self):
        if self.name == "wandb":
            return self._package.run
        return self._package.context_vars.current_run.get()

    def begin(self, run):
        self._page(Recording(run).html)

    def step(self, step):
        before = "torchoscope/" if step.phase == "train" else "torchoscope/eval/"
        row = {before + name: value for name, value in step.scalars.items()}
        for point in step.points:
            bins = _core.bins(point._row["histogram"], _BINS)
            if bins and bins["counts"]:
                found = bins["counts"], bins["edges"]
                row[point.tag] = self._package.Histogram(np_histogram=_arrays(found))
            if not math.isnan(point._row["ratio"]):
                row[f"update_ratio/{point.place}"] = point._row["ratio"]
        row["torchoscope/step"] = step.number
        if self._joins():
            self._run.log(row, commit=False)
        else:
            self._run.log(row, step=step.number)

    def end(self, path):
        if path is not None and os.path.exists(path):
            from torchoscope.history import open_run

            self._page(open_run(path).html)
        if self._own:
            self._run.finish()

    def _joins(self):
        """In the user's run, wandb counts rows by the user's log() calls: ours is added
        to the next row, like that of wandb.watch()."""
        return self.name == "wandb" and not self._own

    def _page(self, html):
        """The explorer as a page in the run."""
        page = {"torchoscope/explorer": self._package.Html(html, inject=False)}
        self._run.log(page, **({"commit": False} if self.name == "wandb" else {}))


def _arrays(lists):
    import numpy

    return tuple(map(numpy.array, lists))


class Sinks:
    """The destinations in `backend`. A failure of one gives a single warning and does
    not affect others."""

    def __init__(self, backend):
        words = [backend] if callable(backend) else listed("backend", backend)
        known = ("file", "standalone", "none", *_NATIVE, *_TRACKERS)
        for word in words:
            if not callable(word) and (type(word) is not str or word not in known):
                names = ", ".join(map(repr, known))
                raise ValueError(
                    f"backend: no {word!r}; there are {names}, or a function"
                )
            if word in _TRACKERS and importlib.util.find_spec(word) is None:
                raise ModuleNotFoundError(
                    f"backend={word!r} needs the package {word}: pip install {word}"
                )
        self.words = [word for word in words if isinstance(word, str)]
        if "standalone" in self.words:  # a server of the file
            self.words.append("file")
        self._native = [word for word in _NATIVE if word in words]
        self._trackers = [_Tracker(word) for word in _TRACKERS if word in words]
        self._python = [_Callback(word) for word in words if callable(word)]
        self._python += self._trackers

    def open(self, stem):
        """Begin runs. Their errors are raised by watch()."""
        for tracker in self._trackers:
            tracker.open(stem)
        if self._trackers:  # atexit calls the newest first: before they end their run
            from torchoscope import watching

            atexit.register(watching._close_all)

    def begin(self, handle, writer, run):
        """The first step was recorded."""
        for name in self._native:
            self._try(handle, name, writer.add_sink, name, handle.folder, run)
        if self._python:
            writer.keep_steps()
        for sink in self._python:
            self._try(handle, sink.name, sink.begin, run)

    def give(self, handle, writer):
        """A step ended."""
        for row in writer.take_steps() if self._python else ():
            step = WatchStep(row)
            for sink in self._python:
                self._try(handle, sink.name, sink.step, step)

    def end(self, handle):
        """The file, if any, is complete."""
        for sink in self._python:
            self._try(handle, sink.name, sink.end, handle.path)

    def _try(self, handle, name, work, *args):
        try:
            work(*args)
        except Exception as problem:
            handle._say(f"backend {name}: {type(problem).__name__}: {problem}")
