"""History: the series of a watched training, read from its .scope file."""

import os
import warnings

from torchoscope import _core
from torchoscope.recording import Recording

KINDS = ("input", "output", "grad_input", "grad_output")
KINDS += ("param", "grad_param", "update", "grad_input_norm", "grad_output_norm")
PHASES = ("train", "eval")
VIEW = ("bins", "reject_outlier_proportion")


def open_run(path):
    """A Recording from a .scope file, or a History if the file has one."""
    run = _core.open_run(path)
    try:
        history = _core.History(path)
    except KeyError:  # a plain recording
        return Recording(run, path)
    except _core.Error as problem:
        warnings.warn(f"torchoscope: its history cannot be read: {problem}", stacklevel=3)
        return Recording(run, path)
    return History(run, path, history)


class Series:
    """Numbers over the steps of a training. `series["mean"]` is a list with a number
    for each step; `columns` lists the names."""

    def __init__(self, name, rows, load=None, view=None):
        self._name, self._rows, self._load = name, rows, load
        self._view = view or {}  # options of watch() for grid()

    @property
    def columns(self):
        """The names of the lists, a list of str."""
        return [key for key in (self._rows[0] if self._rows else ()) if key != "histogram"]

    @property
    def steps(self):
        """The step number of each point; for merged steps the last one."""
        return [row["last"] for row in self._rows]

    @property
    def histograms(self):
        """For each point a dict: edges (one more than counts), counts, counted, and
        `of`: the number of elements of the tensor; if it exceeds counted, counts are a
        sample. None if it has no histogram."""
        rows = self._load() if self._load else ()
        return [row["histogram"] for row in rows]

    def grid(self, bins=None, reject_outlier_proportion=None):
        """The histograms in equal bins that all steps share, for a picture: a dict with
        edges (one more than bins), counts (a list for each point), below and above
        (what lies outside). reject_outlier_proportion: the share of all elements to
        exclude, farthest from the median. The defaults are the options of watch()."""
        view = {"bins": 30, "reject_outlier_proportion": 0.0, **self._view}
        wanted = {"bins": bins, "reject_outlier_proportion": reject_outlier_proportion}
        view.update((key, value) for key, value in wanted.items() if value is not None)
        return histogram_grid(
            self.histograms, int(view["bins"]), float(view["reject_outlier_proportion"])
        )

    def numpy(self, column):
        """A list as a numpy array."""
        import numpy

        return numpy.array(self[column])

    def to_pandas(self):
        """A pandas.DataFrame with a column for each list, by step."""
        import pandas

        data = {key: self[key] for key in self.columns if key != "last"}
        return pandas.DataFrame(data, index=pandas.Index(self.steps, name="step"))

    def __getitem__(self, column):
        if self._rows and column not in self.columns:
            raise KeyError(f"no column {column!r}; there are {', '.join(self.columns)}")
        return [row[column] for row in self._rows]

    def __len__(self):
        return len(self._rows)

    def __repr__(self):
        return f"<torchoscope.Series {self._name}: {len(self)} points>"


def histogram_grid(histograms, bins, reject):
    """Series.grid(). A bin of a histogram counts where its middle lies."""
    if bins < 1 or not 0 <= reject < 1:
        raise ValueError(f"not possible: {bins} bins, {reject} rejected")
    columns = [_bins_of(one) for one in histograms]
    low, high = _bounds([one for column in columns for one in column], reject)
    width = (high - low) / bins
    grid = {"edges": [low + i * width for i in range(bins)] + [high], "counts": []}
    grid.update(below=[], above=[])
    for column in columns:
        counts, below, above = [0] * bins, 0, 0
        for middle, start, end, count in column:
            if middle < low:
                below += count
            elif middle > high:
                above += count
            else:
                at = int((middle - low) / width) if width > 0 else 0
                counts[min(at, bins - 1)] += count
        grid["counts"].append(counts)
        grid["below"].append(below)
        grid["above"].append(above)
    return grid


def _bins_of(histogram):
    """[(middle, start, end, count)] of the bins that are not empty."""
    if histogram is None:
        return []
    edges, counts = histogram["edges"], histogram["counts"]
    return [
        ((start + end) / 2, start, end, count)
        for start, end, count in zip(edges, edges[1:], counts)
        if count
    ]


def _bounds(found, reject):
    """The range of elements, without the share farthest from the median."""
    if not found:
        return 0.0, 1.0
    found.sort()
    total, seen = sum(one[3] for one in found), 0
    for median, _, _, count in found:
        seen += count
        if 2 * seen >= total:
            break
    kept, room = [], total - int(total * reject)
    for one in sorted(found, key=lambda one: abs(one[0] - median)):
        if room <= 0:
            break
        room -= one[3]
        kept.append(one)
    return min(one[1] for one in kept), max(one[2] for one in kept)


class History(Recording):
    """A watched training: the recording of its first step, and series over all logged
    steps. While the file is being written, each query sees the newest steps."""

    def __init__(self, run, source, history):
        super().__init__(run, source)
        self._history = history

    @property
    def steps(self):
        """The numbers of the training steps in the file, a list: logged steps, and
        steps with scalars only. For merged steps the last one."""
        return self._numbers(0)

    def eval_steps(self):
        """The step numbers at which evaluation passes were logged, a list."""
        return self._numbers(1)

    def _numbers(self, phase):
        # Scalars that were logged after their step have a separate row.
        return list(dict.fromkeys(row["last"] for row in self._history.steps(phase)))

    def all_series(self):
        """The series in the file, a list of dicts: name, kind, call, path, phase."""
        return self._history.series()

    def series(self, place, kind, call=0, path="", phase="train"):
        """The Series of a tensor. place: the name of a module or parameter; kind:
        "input", "output", "grad_input", "grad_output" of a module, "grad_input_norm",
        "grad_output_norm" (norms of the samples), "param", "grad_param", "update" of a
        parameter; call: the call index of the module in a step; path: that of the
        tensor if there are several, as in Value.path; phase: "train" or "eval"."""
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
        if phase not in PHASES:
            raise ValueError(f"phase must be 'train' or 'eval', not {phase!r}")
        wanted = {"name": place, "kind": kind, "call": call, "phase": phase}
        found = {
            row["path"]: number
            for number, row in enumerate(self._history.series())
            if wanted.items() <= row.items()
        }
        if path not in found and not (path == "" and len(found) == 1):
            raise KeyError(self._missing(place, kind, found))
        number = found.get(path, next(iter(found.values())))
        points, at = self._history.points, PHASES.index(phase)
        name = f"{place} {kind}".strip()
        facts = self.facts
        view = {key: facts[key] for key in VIEW if key in facts}
        return Series(name, points(number, at), lambda: points(number, at, True), view)

    def _missing(self, place, kind, found):
        name = place or "the root"
        if found:
            return f"{kind} of {name} has several tensors: path= {', '.join(found)}"
        known = {row["name"] for row in self._history.series()}
        if place not in known:
            return f"nothing of {name} was logged"
        return f"no {kind} of {name} was logged with this call and phase"

    def scalars(self, phase="train"):
        """A dict: name of a scalar (loss, grad_norm, lr/0, ...) -> its Series, with
        columns value, mean, min and max."""
        if phase not in PHASES:
            raise ValueError(f"phase must be 'train' or 'eval', not {phase!r}")
        names = enumerate(self._history.names())
        at = PHASES.index(phase)
        found = {name: self._history.scalars(number, at) for number, name in names}
        return {name: Series(name, rows) for name, rows in found.items() if rows}

    def alarms(self):
        """The alarms of the training, a list of dicts: step, kind, name, text, ... In a
        folder of ranks each has its `rank`."""
        return self._history.alarms()

    @property
    def ranks(self):
        """The ranks whose files are in the folder, a list; None if it is one file."""
        return self._history.ranks()

    def rank(self, number):
        """The History of one rank of a folder."""
        if number not in (self.ranks or ()):
            raise KeyError(f"no rank {number!r}; there are {self.ranks}")
        return open_run(os.path.join(self._source, f"rank{number}.scope"))

    def save(self, path, *, code=True):
        """Copy the file, with the history; `code` has no effect. For a folder of ranks
        copy each file: run.rank(0).save(path)."""
        if self.ranks is not None:
            raise ValueError(f"{self._source}: a folder of ranks; save each: rank(0).save()")
        # A separate reader: copying does not hold the GIL.
        _core.History(self._source).save(os.fspath(path))

    def __repr__(self):
        return f"<torchoscope.History of {self._source}: {len(self.steps)} steps>"
