"""Options of watch() about what is recorded and where it is written; reading a training
while it runs."""

import contextlib
import os
import re

from torchoscope import _core
from torchoscope.history import History, open_run
from torchoscope.watch_ranks import Place, class_name, find_rank, unwrapped
from torchoscope.watch_words import is_number, listed

_TIME = "time_log must be (unit, function(model, step))"
_NAME_MOST = 100  # bytes of a file's name
SAMPLE = 16384  # SPREAD_SAMPLE of src/measure/spread.h


class Models:
    """Several models that are watched as one: its attributes."""


def together(model):
    """(what to watch, the models in it, a name for it): several models become one."""
    if isinstance(model, (list, tuple)):
        named = {}
        for one in map(unwrapped, model):
            name, number = class_name(one), 1
            while name in named:
                number += 1
                name = f"{class_name(one)}_{number}"
            named[name] = one
    elif isinstance(model, dict):
        named = {str(name): unwrapped(one) for name, one in model.items()}
    else:
        model = unwrapped(model)
        return model, [model], class_name(model)
    if not named:
        raise TypeError("an empty list or dict contains no torch.nn.Module")
    for name, one in named.items():
        if not hasattr(one, "named_modules"):
            kind = type(one).__name__
            raise TypeError(f"{name} is not a torch.nn.Module, but of type {kind}")
        if "." in name:
            raise ValueError(f"the name of a model must not contain a dot: {name!r}")
    found = Models()
    vars(found).update(named)
    return found, list(named.values()), "_".join(named)


class Options:
    """The options of watch() besides the words of `log`."""

    def __init__(self, sample_n, exact, time_log, ignored, bins, reject):
        if sample_n not in (None, SAMPLE):
            text = f"sample_n must be {SAMPLE}, or None for all elements"
            raise ValueError(f"{text}, not {sample_n!r}")
        if time_log is not None:
            try:
                unit, time = time_log
            except (TypeError, ValueError):
                raise TypeError(f"{_TIME}, not {time_log!r}") from None
            if not isinstance(unit, str) or not callable(time):
                raise TypeError(f"{_TIME}, not {time_log!r}")
        if type(bins) is not int or bins < 1:
            raise ValueError(f"bins must be an int of 1 or more, not {bins!r}")
        if not is_number(reject) or not 0 <= reject < 1:
            text = "reject_outlier_proportion must be 0 or more, and below 1"
            raise ValueError(f"{text}, not {reject!r}")
        self.mode = "exact" if exact else "full"
        self._all, self._time = sample_n is None, time_log
        self._ignored = tuple(listed("ignore_io_grad_classes", ignored))
        if not all(isinstance(one, type) for one in self._ignored):
            raise TypeError(f"ignore_io_grad_classes must be classes, not {ignored!r}")
        self._view = {"bins": bins, "reject_outlier_proportion": reject}

    def begin(self, recorder):
        """Configure the recorder."""
        core = recorder._core
        core.all_elements = recorder._device.all_elements = self._all
        for key, value in self._view.items():
            core.fact(key, value)
        graded, modules = set(), dict(recorder._modules)
        for name, module in modules.items():  # a module comes before what is inside it
            above = name.rpartition(".")[0]
            if type(module) not in self._ignored and (
                name == "" or above in graded or above not in modules
            ):
                graded.add(name)
            else:
                core.ungraded(module)

    def stamp(self, handle):
        """Add the time of a logged step to its scalars."""
        if self._time is not None:
            unit, time = self._time
            value = float(time(handle._recorder._model, handle._number))
            handle._scalars.setdefault(unit, value)


class Target:
    """The destination of the history: a new file (`place`, per rank), a continued one
    (`place` is None), memory, or only sinks."""

    def __init__(self, words, resume, folder, name, new_path):
        self.first, self._file_run, self.place = 0, None, None
        if resume and "file" not in words:
            raise ValueError('resume needs a file: `backend` must name "file"')
        if resume and find_rank()[1]:
            raise ValueError("resume: a training with several ranks begins a new folder")
        found = _newest(folder, name) if resume is True else resume or None
        path = os.fspath(found) if found else new_path(folder, name)
        self._path = os.path.abspath(path)  # the script may change its folder
        self._from = None if os.path.isabs(path) else os.getcwd()
        self._has_file = "file" in words
        self.how = "memory" if not self._has_file and "none" in words else "new"
        if found and os.path.exists(self._path):
            self._continue()
        elif not found:
            self.place = Place(self._path, name)

    @property
    def own(self):
        """The path of the file, if there is one and this process trains alone."""
        return self._path

    @property
    def path(self):
        """The path of the file, or None. May wait for rank 0, once."""
        return self._where() if self._has_file else None

    @property
    def stem(self):
        """The common path of all outputs, without suffix. May wait, too."""
        return self._where().removesuffix(".scope")

    @property
    def title(self):
        """A name of the run for other programs."""
        title = os.path.basename(self._path).removesuffix(".scope")
        return f"{title}_rank{self.rank}" if self.ranks else title

    @property
    def rank(self):
        return self.place.rank if self.place else 0

    @property
    def ranks(self):
        return self.place.ranks if self.place else 0

    @property
    def is_late(self):
        """Did rank 0 not announce its folder?"""
        return self.how != "memory" and bool(self._where() and self.place and self.place.late)

    def _where(self):
        return self.place.path() if self.place else self._path

    def _continue(self):
        self.how, self._file_run = "resume", _core.open_run(self._path)
        try:
            history = _core.History(self._path)
        except KeyError:
            text = "a recording, not a training: it cannot be resumed"
            raise ValueError(f"{self.path}: {text}") from None
        last = [row["last"] for phase in (0, 1) for row in history.steps(phase)]
        self.first = max(last, default=-1) + 1

    def check(self, recorder):
        """A file can only be continued with the same model."""
        if self._file_run is None:
            return
        runs = recorder._now(), self._file_run
        here, there = ([row["name"] for row in run.places()] for run in runs)
        if here != there:
            differ = sorted(set(here) ^ set(there))[:1]
            what = f", for example {differ[0]}" if differ else ""
            text = f"its model has other modules or parameters{what}; start a new run"
            raise ValueError(f"{self.path}: {text}")

    def open(self, run, limit, text):
        """(writer, the Run that goes with it)."""
        path = self.path
        if self.how == "new":
            if path is not None:
                os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            who = self.rank, self.ranks
            return _core.HistoryWriter(run, path, limit, text, "new", *who), run
        writer = _core.HistoryWriter(None, path, limit, text, self.how)
        return writer, self._file_run or run

    def __str__(self):
        if self.how == "memory":
            return "in memory"
        found = self.shown(str(self.place) if self.place else self._path)
        return found if self._has_file else found.removesuffix(".scope")

    def shown(self, path):
        """A path relative to the folder in which the training began."""
        return os.path.relpath(path, self._from) if self._from else path


def _newest(folder, name):
    """The newest run of this name in a folder, or None."""
    stem = re.escape(stem_of(name))
    pattern = re.compile(rf"(\d{{4}}-\d\d-\d\d_\d\d-\d\d-\d\d)_{stem}(?:_(\d+))?\.scope")
    found = []
    with contextlib.suppress(FileNotFoundError):
        for one in os.listdir(folder):
            if match := pattern.fullmatch(one):
                found.append((match[1], int(match[2] or 1), one))
    return os.path.join(os.fspath(folder), max(found)[2]) if found else None


def stem_of(name):
    """A name as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name)[:_NAME_MOST] or "model"


class Reading:
    """Reading the training of a Watch while it runs, and after it."""

    _run = _memory = None

    def history(self):
        """The History so far, also while the file is being written. Each query sees
        newly written steps."""
        writer = self._writer
        if writer is not None:
            self._must_be_mine()
            self._guard(self._settle)
            writer.flush()
            if writer.path is None:
                raise RuntimeError('nothing is kept: `backend` names neither "file" nor "none"')
            return History(self._run, str(self._target), _core.History(writer.path))
        if self._memory is not None:
            return History(self._run, str(self._target), self._memory)
        if self._run is None:
            raise RuntimeError("nothing was logged yet")
        return open_run(self.path)

    def _must_be_mine(self):
        if not self._is_mine():
            raise RuntimeError("the process that forked this one writes the history")

    def _keep_memory(self, writer):
        """A history in memory can be read after the end too."""
        if self._target.how == "memory" and self._is_mine():
            self._memory = _core.History(writer.path)

    def series(self, place, kind, call=0, path="", phase="train"):
        """Like History.series(), for the steps written so far."""
        return self.history().series(place, kind, call, path, phase)

    def scalars(self, phase="train"):
        """Like History.scalars(), for the steps written so far."""
        return self.history().scalars(phase)

    def alarms(self):
        """Like History.alarms(), for the steps written so far."""
        return self.history().alarms()
