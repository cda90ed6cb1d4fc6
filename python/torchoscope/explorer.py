"""explore(): show a thing where the user sits, and return nothing."""

import os
import sys

from torchoscope import open as open_file
from torchoscope.shown import Shown, terminal_width


def explore(thing, *inputs, **kwargs):
    """Show a model (after one pass with `inputs`, see summary()), a recording, a
    summary or a file: in a notebook as HTML, else as text on standard output."""
    error = None
    if isinstance(thing, (str, os.PathLike)):
        thing = open_file(thing)
    if not _shows_itself(thing):
        from torchoscope.summaries import look

        thing, error = look(thing, inputs, kwargs)
    elif inputs or kwargs:
        raise TypeError(f"{type(thing).__name__} is not run: it takes no inputs")
    if in_notebook():
        _display(thing)
    else:
        _print(thing)
    if error is not None:
        print("\n".join(_lines_of(error)), flush=True)


def in_notebook():
    """Is this the kernel of a notebook? IPython in a terminal is none."""
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    names = {kind.__name__ for kind in type(shell).__mro__}
    return "ZMQInteractiveShell" in names


def _shows_itself(thing):
    """All of ours do: models, recordings, summaries, tensors."""
    return type(thing).__module__.partition(".")[0] == "torchoscope"


def _display(thing):
    from IPython.display import display

    display(thing)


def _print(thing):
    text = str(thing)
    if isinstance(thing, Shown):
        out = sys.stdout
        width = getattr(thing, "_view", {}).get("width") or terminal_width()
        text = thing.tree(width=width or 120, **abilities(out))
    print(text, flush=True)


def abilities(out):
    """What a file for text can show, as keywords of text()."""
    utf = "utf" in (getattr(out, "encoding", None) or "utf-8").lower()
    return {"colour": _is_colourful(out), "ascii": not utf}


def _is_colourful(out):
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb":
        return False
    return getattr(out, "isatty", lambda: False)()


def _lines_of(error):
    yield f"{type(error).__name__}: {error}"
    yield from getattr(error, "__notes__", ())
