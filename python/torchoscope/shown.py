"""The common base of models, recordings and summaries: text, pages, tables."""

import os
import sys

from torchoscope.notebook import Displayed


def terminal_width():
    """Columns of the terminal; 0, no limit, if standard output is not one."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (AttributeError, OSError, ValueError):
        return 0


class Shown(Displayed):
    """str() is the tree. `_now()` returns the _core.Model or _core.Run behind it."""

    _document = "tree"
    _tables = ("tensors", "modules")  # to_pandas() uses the first by default

    def tree(self, **wanted):
        """The tree as text. Keywords: columns ("params,memory"), depth, top, sort,
        reverse, filter, flat (True or "leaves", "tensors"), all, expand, width, ascii,
        colour, closing (False: omit the lines below it)."""
        return self._now().text(**wanted).rstrip("\n")

    def explore(self):
        """Show it in the terminal explorer; see torchoscope.explore()."""
        from torchoscope.explorer import explore

        explore(self)

    def _alive(self):
        """The live model of a recording, or None if it is gone."""
        return None

    def rows(self, **wanted):
        """The rows of tree(**wanted), as a list of dicts of strings."""
        return self._now().rows(**wanted)

    def to_pandas(self, table=None):
        """A pandas.DataFrame with the names of docs/json.md. `table` is "tensors" or
        "modules"; for a recording or summary also "calls" or "parameters"."""
        from torchoscope.tables import frame

        return frame(self._now(), table or self._tables[0], self._tables)

    @property
    def json(self):
        """All data as a dict: a document of docs/json.md."""
        from json import loads

        return loads(self._now().json(self._document))

    @property
    def html(self):
        """A self-contained HTML page, as a str."""
        return self._now().export("html")

    def export(self, path, **wanted):
        """Write a file. Its suffix selects the format:

        .txt .md .json .csv .html .safetensors
        """
        self._now().write(path, **wanted)

    def _notebook(self):
        return self._now().export("notebook")

    def __str__(self):
        return self.tree(width=terminal_width())
