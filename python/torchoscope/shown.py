"""What models and recordings have in common: how they show themselves."""

import os
import sys

from torchoscope.notebook import Displayed


def terminal_width():
    """Of the terminal that standard output is; 0, no limit, if it is none."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (AttributeError, OSError, ValueError):
        return 0


class Shown(Displayed):
    """str() is the tree. `_now()` gives what answers: a _core.Model or _core.Run."""

    _document = "tree"
    _tables = ("tensors", "modules")  # the first is what to_pandas() gives

    def tree(self, **wanted):
        """The tree as text. By keywords: columns ("params,memory"), depth, top, sort,
        reverse, filter, flat (True or "leaves", "tensors"), all, expand, width, ascii, colour,
        closing (False: without the lines below it)."""
        return self._now().text(**wanted).rstrip("\n")

    def explore(self):
        """As explore(this): in the terminal explorer, where there is a terminal."""
        from torchoscope.explorer import explore

        explore(self)

    def _alive(self):
        """The live model that a recording is one of, as long as it lives; or None."""
        return None

    def rows(self, **wanted):
        """The rows of tree(**wanted), as a list of dicts of texts."""
        return self._now().rows(**wanted)

    def to_pandas(self, table=None):
        """A table as a pandas.DataFrame, with the names of docs/json.md: "tensors",
        "modules"; of a recording or summary also "calls", "parameters"."""
        from torchoscope.tables import frame

        return frame(self._now(), table or self._tables[0], self._tables)

    @property
    def json(self):
        """All facts, as a dict: the document of docs/json.md."""
        from json import loads

        return loads(self._now().json(self._document))

    @property
    def html(self):
        """One page that needs nothing else, as text."""
        return self._now().export("html")

    def export(self, path, **wanted):
        """Write it to a file whose name tells the form.

        .txt .md .json .csv .html .safetensors
        """
        self._now().write(path, **wanted)

    def _notebook(self):
        return self._now().export("notebook")

    def __str__(self):
        return self.tree(width=terminal_width())
