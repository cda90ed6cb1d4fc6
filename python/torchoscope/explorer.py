"""explore(): show an object in the terminal, in a notebook or as text."""

import functools
import os
import sys

from torchoscope import _core, terminal
from torchoscope import open as open_file
from torchoscope.differences import Diff
from torchoscope.keywords import takes_inputs
from torchoscope.shown import Shown, terminal_width


_FILES = (str, os.PathLike, dict, list, tuple)  # what open() takes


def _is_run(thing):
    return not isinstance(thing, _FILES) and not _shows_itself(thing)


@functools.partial(takes_inputs, is_run=_is_run)
def explore(thing, *inputs, warmup=None, kwargs=None):
    """Show a model (after one pass with `inputs`, see summary()), a recording, a
    summary, a diff, a state_dict or a file: in the terminal explorer, until the user
    leaves it; in a notebook as HTML; without a terminal as text on standard output."""
    error = live = again = None
    if isinstance(thing, _FILES):
        thing = open_file(thing)
    if not _shows_itself(thing):
        from torchoscope.summaries import look

        live, again = thing, _recorder(thing, inputs, kwargs, warmup)
        thing, error = look(thing, inputs, kwargs, warmup=warmup)
    elif inputs or kwargs:
        raise TypeError(f"{type(thing).__name__} is not run: it takes no inputs")
    if in_notebook():
        _display(thing)
    elif not on_terminal(thing, live, again):
        _print(thing)
    if error is not None:
        print("\n".join(_lines_of(error)), flush=True)


def on_terminal(thing, live=None, again=None, **wanted):
    """Open the explorer on a torchoscope object. `live` is the recorded model, `again`
    a function that records it again. Returns False if there is no terminal."""
    part = getattr(thing, "_model", None)
    if isinstance(thing, Diff):
        left, right = thing._sides
        return terminal.show(left, beside=right, **thing._wanted, **wanted)
    if isinstance(thing, Shown):
        core = thing._now()
        wanted.setdefault("depth", getattr(thing, "_view", {}).get("depth"))
        live = live if live is not None else thing._alive()
    elif isinstance(part, Shown):  # a module or a tensor of a model
        core, wanted["at"] = part._now(), thing.name
    else:
        return False
    if not isinstance(core, _core.Run):
        live = None
    elif live is None:
        (getattr(thing, "recording", None) or thing)._keep_code()
    return terminal.show(core, live_core(live), again, **wanted)


def live_core(model):
    """A _core.Model of a live model; None for None."""
    return None if model is None else _core.Model(model, type(model).__name__)


def _recorder(model, inputs, kwargs, warmup):
    """A function that runs the model again and returns a _core.Run and a _core.Model,
    for the explorer. None if there are no inputs to call the model with."""
    from torchoscope.inputs import Inputs
    from torchoscope.summaries import look

    if Inputs(model, inputs, kwargs).is_empty:
        return None

    def again():
        found, error = look(model, inputs, kwargs, warmup=warmup)
        if found.recording is None:
            raise error or RuntimeError("the model cannot be run with its own inputs")
        return found._now(), live_core(model)

    return again


def in_notebook():
    """Is this the kernel of a notebook? False for IPython in a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    names = {kind.__name__ for kind in type(shell).__mro__}
    return "ZMQInteractiveShell" in names


def _shows_itself(thing):
    """Is it a torchoscope object (model, recording, summary, tensor)?"""
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
    """What a text stream can show, as keywords of tree()."""
    utf = "utf" in (getattr(out, "encoding", None) or "utf-8").lower()
    return {"colour": _is_colourful(out), "ascii": not utf}


def _is_colourful(out):
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb":
        return False
    return getattr(out, "isatty", lambda: False)()


def _lines_of(error):
    yield f"{type(error).__name__}: {error}"
    yield from getattr(error, "__notes__", ())
