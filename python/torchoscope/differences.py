"""diff(): compare two models."""

import os

from torchoscope import _core
from torchoscope.model import Model, open
from torchoscope.notebook import few_lines
from torchoscope.recording import Recording
from torchoscope.shown import terminal_width


class Diff:
    """The differences between two models. str() is what `torchoscope diff` prints."""

    def __init__(self, left, right, **wanted):
        self._sides, self._wanted = (left, right), wanted
        self._found = _core.diff(left, right, width=terminal_width(), **wanted)

    @property
    def equal(self):
        """Whether all tensors are the same, or close, ignoring a prefix of names."""
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


def diff(a, b, *, structure=False, rtol=0.0, atol=0.0):
    """Compare two models; returns a Diff: how `a` became `b`.

    Each is a module, a state_dict, a path, a Model or a Recording. structure=True
    compares names, shapes and dtypes only. Values are close if
    |a - b| <= atol + rtol |a|."""
    sides = _side(a, "a"), _side(b, "b")
    return Diff(*sides, structure=structure, rtol=rtol, atol=atol)


def _side(one, letter):
    if not isinstance(one, (Model, Recording, str, bytes, os.PathLike)):
        # The letter distinguishes two modules of the same class.
        one = Model(one, f"{letter} ({type(one).__name__})")
    return open(one)._now()
