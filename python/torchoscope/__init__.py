"""torchoscope: look inside any neural network. See docs/python.md."""

import sys

if "t" in sys.abiflags:
    raise ImportError(
        "torchoscope needs a Python with a global lock; this one is free-threaded"
    )

from torchoscope import _core
from torchoscope._core import Error
from torchoscope.differences import Diff, Difference, diff
from torchoscope.model import Finding, Model, Module, Tensor, open
from torchoscope.recording import Call, Gap, Recording, Value

__version__ = _core.version
__all__ = [
    "Alarm",
    "BoxChange",
    "Call",
    "Diff",
    "Difference",
    "Edge",
    "Error",
    "Finding",
    "Gap",
    "Graph",
    "GraphDiff",
    "History",
    "LineChange",
    "Memory",
    "Model",
    "Module",
    "Node",
    "Op",
    "OpValue",
    "Ops",
    "Recording",
    "Replayed",
    "Series",
    "Server",
    "Summary",
    "Tensor",
    "Value",
    "Watch",
    "WatchPoint",
    "WatchStep",
    "attach",
    "diff",
    "explore",
    "flops_formula",
    "graph",
    "memory",
    "open",
    "record",
    "register_flops",
    "replay",
    "serve",
    "state_guard",
    "summary",
    "trace",
    "unwatch",
    "watch",
]

# Imported on first use: these need torch, which takes seconds to import, or rarely used
# modules of Python.
_LATER = {"record": "recorder", "state_guard": "restore"}
_LATER |= {"memory": "memories", "Memory": "memories"}
_LATER |= {"trace": "traces", "summary": "summaries", "Summary": "summaries"}
_LATER |= {"explore": "explorer", "Op": "ops", "Ops": "ops", "OpValue": "ops"}
_LATER |= {"Graph": "graphs", "Node": "graphs", "Edge": "graphs", "graph": "graphs"}
_LATER |= {"GraphDiff": "graphs", "BoxChange": "graphs", "LineChange": "graphs"}
_LATER |= {"watch": "watching", "unwatch": "watching", "Watch": "watching"}
_LATER |= {"WatchPoint": "watch_sinks", "WatchStep": "watch_sinks"}
_LATER |= {"serve": "serving", "Server": "serving"}
_LATER |= {"replay": "replaying", "Replayed": "replaying"}
_LATER |= {"Alarm": "watch_alarms"}
_LATER |= {"attach": "attaching", "History": "history", "Series": "history"}
_LATER |= {"flops_formula": "flops", "register_flops": "flops"}


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module 'torchoscope' has no attribute {name!r}")
    import importlib

    module = importlib.import_module(f"torchoscope.{_LATER[name]}")
    return globals().setdefault(name, getattr(module, name))


def load_ipython_extension(ipython):
    """Called by IPython for %load_ext torchoscope."""
    from torchoscope.notebook import load

    load(ipython)


def __dir__():
    return sorted({*globals(), *__all__})
