"""open() and Model: files and live modules as Python objects."""

import os

from torchoscope import _core
from torchoscope.notebook import Displayed
from torchoscope.recording import Recording, Row, tensor_of
from torchoscope.shown import Shown

_STATISTICS = frozenset(
    "count min max mean std l2 nan pos_inf neg_inf zeros min_at max_at of".split()
)


class Finding(Row):
    """Something unusual or wrong in a file."""

    __slots__ = ()
    _known = frozenset("code severity text name place".split())

    def __repr__(self):
        return f"<{self.severity}: {self.text}>"


class Part(Row):
    """A module or tensor of a model."""

    __slots__ = ("_model",)

    def __init__(self, row, model=None):
        super().__init__(row)
        object.__setattr__(self, "_model", model)

    @property
    def _core(self):
        return self._model._now()

    @property
    def class_name(self):
        """The class without its module; `part["class"]` is qualified."""
        return (self._row.get("class") or "").rpartition(".")[2]


class Module(Part):
    """A module, or another group of tensors."""

    __slots__ = ()
    _known = frozenset("args bases training same_as params bytes tensors".split())

    @property
    def children(self):
        """The names of its direct children."""
        lists = ("modules", "groups", "tensors", "values")
        shown = self._core.show(self.place)
        below = [row for key in lists for row in shown[key]]
        return [row["name"] for row in sorted(below, key=lambda row: row["place"])]

    def __repr__(self):
        name = self.name or "(root)"
        kind = f" ({self.class_name})" if self.class_name else ""
        return f"<{name}{kind}: {self.params:,} parameters>"


class Tensor(Displayed, Part):
    """A parameter, buffer or other tensor. Statistics are computed on first use and
    cached: to see new values of a live tensor, get it from the model again."""

    __slots__ = ("_found",)
    _known = frozenset("device role requires_grad tied_to also_at numel bytes".split())

    def __init__(self, row, model=None):
        super().__init__(row, model)
        object.__setattr__(self, "_found", {})

    def _ask(self, key, **wanted):
        if key not in self._found:
            shown = self._core.show(self.place, measure=True, **wanted)
            self._found[key] = shown["tensor"]
        return self._found[key]

    @property
    def statistics(self):
        """A dict: count, min, max, mean, std, l2, nan, pos_inf, neg_inf, zeros, and the
        positions of min and max; empty if the values cannot be read (see `why`)."""
        found = self._ask("statistics")
        return {key: found[key] for key in found if key in _STATISTICS}

    @property
    def quantiles(self):
        """Exact quantiles, as a dict: 0.05, 0.25, 0.5, 0.75, 0.95."""
        at = (0.05, 0.25, 0.5, 0.75, 0.95)
        found = self._ask("quantiles", quantiles=at).get("quantiles", ())
        return {one["q"]: one["value"] for one in found}

    @property
    def histogram(self):
        """A dict: min, max and bins, the counts of 50 bins of equal width; None if no
        value is finite or they cannot be read."""
        return self._ask("histogram", bins=50).get("histogram")

    @property
    def why(self):
        """Why its values cannot be read; None if they can."""
        return self._row.get("readable_why")

    def values(self):
        """A torch.Tensor: the live one, detached, or a new one from the file, on the CPU.
        Raises torchoscope.Error if the values cannot be read."""
        if self._core.live:
            tensor = self._core.object(self.place)
            if tensor is None:
                raise _core.Error(f"{self.name} was deleted since the model was opened")
            return tensor.detach()
        return tensor_of(*self._core.bytes(self.place))

    def _notebook(self):
        return self._model._now().export("notebook", place=self.place)

    def __getattr__(self, name):
        if name in _STATISTICS:
            return self.statistics.get(name)
        return super().__getattr__(name)

    def __dir__(self):
        return sorted({*super().__dir__(), *_STATISTICS})

    def __repr__(self):
        shape = " × ".join(map(str, self.shape)) or "scalar"
        return f"<{self.name}: {self.dtype} {shape}>"

    def __str__(self):
        text = repr(self)[1:-1]
        if self.why:
            return f"{text}, {self.why}"
        found = self.statistics
        for key in ("mean", "std", "min", "max"):
            if key in found:
                text += f", {key} {found[key]:.4g}"
        for key in ("nan", "pos_inf", "neg_inf"):
            if found.get(key):
                text += f", {found[key]:,} {key}"
        return text


class Model(Shown):
    """The structure and values of a file or a live module. `model[name]` is the module,
    tensor or plain value of that name. For a live module, the structure is that at the
    time of open(); values are read on use."""

    def __init__(self, what, name=None):
        self._model = _core.Model(what, name or type(what).__name__)
        self._what = what if self._model.live else None  # kept alive by this

    def _now(self):
        return self._model

    def stats(self, name):
        """The statistics of a tensor, measured now, as a dict."""
        return self._model.stats(name)

    def graph(self, level="modules"):
        """The Graph of a TorchScript archive: what its code computes; it is not run."""
        from torchoscope.graphs import graph

        return graph(self, level=level)

    @property
    def findings(self):
        """What is unusual or wrong in the file, a list of Finding."""
        return [Finding(row) for row in self.json["findings"]]

    @property
    def verdict(self):
        """Whether the file is safe to load with torch: "safe", "needs code", "unsafe" or
        "inconclusive"; None for a live module."""
        return self._model.show(0)["verdict"]

    def __getitem__(self, name):
        if not isinstance(name, str):
            raise KeyError(f"a name is a str, not {name!r}")
        shown = self._model.show(name)
        what = shown["what"]
        if what == "value":
            return shown["value"]["value"]
        return (Tensor if what == "tensor" else Module)(shown[what], self)

    def __iter__(self):
        return iter(self._model.names())

    def __len__(self):
        return self._model.n_places - 1

    def __bool__(self):
        return True

    def __contains__(self, name):
        try:
            self[name]
        except KeyError:
            return False
        return True

    def __repr__(self):
        counts = self._model.show(0)
        kind = counts["format"]
        n = counts["counts"]
        return (
            f"<torchoscope.Model {counts['path']}: {kind}, {n['tensors']:,} tensors, "
            f"{n['unique']:,} parameters>"
        )


def open(what):
    """Open a model. Returns a Recording for a .scope file (a History if it is one of a
    training), else a Model.

    `what` is the path of a file or folder, a live module or an object that contains
    modules, or a state_dict or checkpoint in memory. Nothing in a file is executed."""
    if isinstance(what, (Model, Recording)):
        return what
    if isinstance(what, (str, bytes, os.PathLike)) and _core.is_run(what):
        from torchoscope.history import open_run

        return open_run(os.fsdecode(what))
    return Model(what)
