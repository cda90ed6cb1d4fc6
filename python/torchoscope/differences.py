"""diff(): how two models differ."""

import os

from torchoscope import _core
from torchoscope.model import Model, open
from torchoscope.notebook import few_lines
from torchoscope.recording import Recording
from torchoscope.shown import terminal_width


class Diff:
    """How two models differ. str() is what `torchoscope diff` prints."""

    def __init__(self, left, right, **wanted):
        self._sides, self._wanted = (left, right), wanted
        self._found = _core.diff(left, right, width=terminal_width(), **wanted)

    @property
    def equal(self):
        """Is every tensor the same, or close, ignoring a prefix of all names?"""
        return self._found["equal"]

    @property
    def json(self):
        """All facts, as a dict: the document `diff` of docs/json.md."""
        from json import loads

        return loads(self._found["json"])

    @property
    def markdown(self):
        """For a pull request."""
        return self._found["markdown"]

    @property
    def python(self):
        """The code that makes a state_dict of the left one fit the right one; "" if
        nothing was renamed, fused, split or transposed."""
        return self._found["python"]

    def explore(self):
        """As explore(this): side by side in the terminal explorer, where there is a
        terminal."""
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
    """How `a` became `b`: each a module, a state_dict, a file's name, a Model or a
    Recording.
    structure=True: names, shapes and dtypes only. Values are close if
    |a - b| <= atol + rtol |a|."""
    sides = _side(a, "a"), _side(b, "b")
    return Diff(*sides, structure=structure, rtol=rtol, atol=atol)


def _side(one, letter):
    if not isinstance(one, (Model, Recording, str, bytes, os.PathLike)):
        # Two modules may well be of one class: they are told apart.
        one = Model(one, f"{letter} ({type(one).__name__})")
    return open(one)._now()
