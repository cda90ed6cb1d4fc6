"""diff(): compare two models, or the results of two recordings."""

import os

from torchoscope import _core
from torchoscope.model import Model, open
from torchoscope.notebook import few_lines
from torchoscope.recording import Recording, Row, Value
from torchoscope.shown import terminal_width


class _Side(Value):
    """A result in one of two recordings."""

    __slots__ = ()
    _known = Value._known | {"name", "class", "op", "id", "call", "line"}


class Difference(Row):
    """One result of two recordings: an operation's, a module's, or a gradient."""

    __slots__ = ()
    _known = frozenset(
        "what phase step distance by max_abs max_rel rms not_finite tolerance beyond "
        "inputs_distance parameters_distance attributes begins unmatched_inside random "
        "why".split()
    )

    def __getattr__(self, name):
        value = super().__getattr__(name)
        # JSON has no infinite numbers.
        return float(value) if value == "Infinity" else value

    @property
    def left(self):
        """The result in the first recording: a Value that also has `name` (of the
        module or parameter), `op`, `class`, `call` and `line` where they apply."""
        return _Side(self._row["left"])

    @property
    def right(self):
        """The same in the second recording."""
        return _Side(self._row["right"])

    @property
    def name(self):
        """The name of its module or parameter in the first recording."""
        return self._row["left"]["name"]

    @property
    def op(self):
        """The operation in the first recording, "aten::relu"; None for a module."""
        return self._row["left"].get("op")

    @property
    def line(self):
        """The source line in the first recording, "net.py:9"; None if unknown."""
        return self._row["left"].get("line")

    @property
    def inputs(self):
        """Its inputs: Differences with `name`; only for a result beyond the
        tolerance."""
        return [DifferentInput(row) for row in self._row.get("inputs", ())]

    def __repr__(self):
        what = f"{self.op} in {self.name}" if self.op else self.name or "(root)"
        text = f"<{self.what} {what}: {self.distance:.2g} apart"
        return text + (", begins here>" if self.begins else ">")


class DifferentInput(Difference):
    """An argument of a result, in both recordings."""

    __slots__ = ()
    _known = frozenset(
        "parameter distance by max_abs max_rel rms not_finite why".split()
    )

    @property
    def name(self):
        """The name of the argument."""
        return self._row["name"]

    def __repr__(self):
        apart = "not compared" if self.distance is None else f"{self.distance:.2g}"
        return f"<{self.name}: {apart}>"


class Diff:
    """The differences between two models. str() is what `torchoscope diff` prints."""

    def __init__(self, left, right, **wanted):
        self._sides, self._wanted = (left, right), wanted
        self._everything = None
        self._found = _core.diff(left, right, width=terminal_width(), **wanted)

    @property
    def equal(self):
        """Whether all tensors are the same, or close, ignoring a prefix of names. Of
        two recordings: whether all results agree within the tolerance. Of two watched
        trainings: whether all steps that both logged are equal."""
        return self._found["equal"]

    @property
    def json(self):
        """A dict: the document `diff` of docs/json.md."""
        from json import loads

        return loads(self._found["json"])

    @property
    def markdown(self):
        """The differences as Markdown, for a pull request."""
        return self._found["markdown"]

    @property
    def python(self):
        """Code that converts a state_dict of the left model to the right one; "" if
        nothing was renamed, fused, split or transposed."""
        return self._found["python"]

    @property
    def first(self):
        """Two recordings: the first result that differs, a Difference; None if all
        agree."""
        found = self._results["first"]
        return Difference(found) if found else None

    @property
    def later(self):
        """Two recordings: the other results that differ, the largest first."""
        return [Difference(row) for row in self._all_results["later"]]

    @property
    def results(self):
        """Two recordings: all compared results, in the order of execution."""
        return [Difference(row) for row in self._all_results["all"]]

    @property
    def training(self):
        """Two watched trainings: where they part, a dict ("training" of docs/json.md):
        `agree`, `common_steps`, `first` (step, name and kind of the first tensor that
        differs, or None), `scalar` (the first scalar that differs, or None), ..."""
        training = self.json.get("training")
        if training is None:
            raise ValueError("only a diff of two watched trainings has it")
        return training

    @property
    def _results(self):
        results = self.json.get("results")
        if results is None:
            raise ValueError("only a diff of two recordings compares results")
        return results

    @property
    def _all_results(self):
        if self._everything is None:
            self._results  # raises if there are none
            found = _core.diff(*self._sides, **{**self._wanted, "all": True})
            from json import loads

            self._everything = loads(found["json"])["results"]
        return self._everything

    def explore(self):
        """Show both models side by side in the terminal explorer; see explore()."""
        from torchoscope.explorer import explore

        explore(self)

    def __str__(self):
        return self._found["text"].rstrip("\n")

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": few_lines(str(self)), "text/markdown": self.markdown}

    def __repr__(self):
        document = self.json
        sides = (document[side]["path"] for side in ("left", "right"))
        return "<torchoscope.Diff of {} and {}: {}>".format(
            *sides, "equal" if self.equal else "they differ"
        )


def diff(a, b, *, structure=False, rtol=0.0, atol=0.0, tolerance=None):
    """Compare two models; returns a Diff: how `a` became `b`.

    Each is a module, a state_dict, a path, a Model or a Recording. structure=True
    compares names, shapes and dtypes only. Values are close if
    |a - b| <= atol + rtol |a|.

    For two recordings it compares the results: `first` is the first operation or module
    whose result differs. Results agree up to `tolerance` times their root mean square;
    None chooses by dtype.

    For two watched trainings `training` has the step and tensor at which they part.
    Without a tolerance, statistics must be equal bit for bit."""
    sides = _side(a, "a"), _side(b, "b")
    wanted = {"structure": structure, "rtol": rtol, "atol": atol}
    if tolerance is not None:
        wanted["tolerance"] = tolerance
    return Diff(*sides, **wanted)


def _side(one, letter):
    if not isinstance(one, (Model, Recording, str, bytes, os.PathLike)):
        # The letter distinguishes two modules of the same class.
        one = Model(one, f"{letter} ({type(one).__name__})")
    return open(one)._now()
