"""explore(): show a thing where the user sits, and return nothing."""

import os
import sys

from torchoscope import open as open_file
from torchoscope.shown import Shown


def explore(thing, *inputs, **kwargs):
    """Show a model (after one pass with `inputs`, see summary()), a recording, a summary
    or a file: in a notebook as HTML, else as text on standard output."""
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
    kind = type(thing)
    ours = kind.__module__.partition(".")[0] == "torchoscope"
    return ours or isinstance(thing, Shown)


def _display(thing):
    from IPython.display import HTML, display

    shows = hasattr(thing, "_repr_mimebundle_")
    display(thing if shows else HTML(_core_of(thing).export("notebook")))


def _core_of(thing):
    return thing._now() if isinstance(thing, Shown) else thing._core


def _print(thing):
    from torchoscope.summaries import Summary

    out = sys.stdout
    wanted = abilities(out)
    if isinstance(thing, Summary):
        text = thing.text(**wanted)
    else:
        import shutil

        width = shutil.get_terminal_size((120, 24)).columns
        text = _core_of(thing).text(width=width, **wanted)
    out.write(text)
    out.flush()


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
