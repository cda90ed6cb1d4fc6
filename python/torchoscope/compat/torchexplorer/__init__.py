"""TorchExplorer's interface: histograms of a training, and the structure of the model.

    from torchoscope.compat import torchexplorer

Every example in TorchExplorer's documentation runs with this import. docs/python.md,
"From TorchExplorer", lists the differences."""

import atexit
import weakref
from dataclasses import dataclass
from typing import Optional

from torchoscope.compat.torchexplorer import core

__all__ = [
    "LIGHTNING_EPOCHS",
    "StructureWrapper",
    "attach",
    "core",
    "setup",
    "watch",
]

_LOGS = ("io", "io_grad", "params", "params_grad")
_STEPS = ("step", lambda module, step: step)
LIGHTNING_EPOCHS = ("epoch", lambda module, step: module.current_epoch)

_explorers = weakref.WeakSet()
_count = 0
_pages = {}  # id of a module -> its page


@dataclass
class StructureWrapper:
    """The result of watch(). `structure` is None before the first training pass."""

    structure: Optional[core.ModuleInvocationStructure] = None


def setup(ulimit=50000):
    """Raise the limit of open files for wandb; call it before wandb.init(). A hard limit
    of the system that is lower is kept."""
    import resource
    import sys

    wandb = sys.modules.get("wandb")
    if getattr(wandb, "run", None) is not None:
        raise ValueError("call torchexplorer.setup() before wandb.init()")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ulimit if hard == resource.RLIM_INFINITY else min(ulimit, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def watch(
    module,
    log=_LOGS,
    log_freq=500,
    ignore_io_grad_classes=(),
    disable_inplace=False,
    bins=30,
    sample_n=1000,
    reject_outlier_proportion=0.1,
    time_log=_STEPS,
    delay_log_multi_backward=False,
    backend="wandb",
    standalone_dir="./torchexplorer_standalone",
    standalone_port=5000,
    verbose=True,
    **misspelt,
):
    """Follow the training of a module: histograms of its tensors and its structure.

    log                        any of "io", "io_grad", "params", "params_grad"
    log_freq                   log every n-th backward, beginning with the first
    ignore_io_grad_classes     show no "io_grad" of these classes and what is below them
    disable_inplace            set `inplace` of all modules to False; not needed here
    bins                       of a histogram
    sample_n                   elements of a tensor to count, at random; None: all
    reject_outlier_proportion  the share that is not counted, farthest from the median
    time_log                   (unit, function(module, step)): the times of a histogram
    delay_log_multi_backward   a step ends with the next forward, not with a backward
    backend                    "wandb", "standalone" (a page at http://localhost:5000, and
                               standalone_dir/data/data.json) or "none"
    standalone_port            of the page, or the next free one
    verbose                    print where the data is

    Returns a StructureWrapper. docs/python.md has the details.
    """
    options = _options(log, log_freq, ignore_io_grad_classes, time_log)
    correct = {
        "reject_outlier_proportion": reject_outlier_proportion,
        "delay_log_multi_backward": delay_log_multi_backward,
    }
    _take_misspelt(correct, misspelt)
    reject = correct["reject_outlier_proportion"]
    options["delay"] = bool(correct["delay_log_multi_backward"])
    _check(bins, sample_n, reject)
    _check_torch()
    target = _backend(backend, standalone_dir, verbose)
    if disable_inplace:
        for one in module.modules():
            if hasattr(one, "inplace"):
                one.inplace = False
    if backend == "standalone":
        shown = {"log": list(options["log"]), "log_freq": log_freq, "bins": bins}
        shown |= {"reject_outlier_proportion": min(reject, 0.99)}
        shown |= {"ignore_io_grad_classes": options["ignored"]}
        shown |= {"sample_n": None} if sample_n is None else {}
        shown |= {"time_log": time_log} if time_log not in (None, _STEPS) else {}
        _open_page(module, standalone_dir, standalone_port, shown)
    params = core.HistogramParams(bins, sample_n, reject, options["unit"])
    return _begin(module, options, params, target)


def _open_page(module, folder, port, options):
    """Replaces the page of a module."""
    from torchoscope.compat.torchexplorer import backends

    old = _pages.pop(id(module), None)
    if old is not None:
        old.close()
    _pages[id(module)] = backends.Page(module, folder, port, options)
    # atexit functions of servers and watches were registered before: this runs first.
    atexit.unregister(_end_all)
    atexit.register(_end_all)


def _begin(module, options, params, target):
    global _count
    from torchoscope.compat.torchexplorer.explorer import Explorer
    from torchoscope.recorder import learn_holders

    former = core.watcher_of(module)
    if former is not None and former.is_of(module):
        former.end()
    learn_holders()
    wrapper = StructureWrapper()
    _explorers.add(Explorer(module, options, params, wrapper, target))
    _count += 1
    return wrapper


def attach(tensor, parent, name):
    """Show a tensor of a forward in the graph of the module `parent`, as a node `name`.
    Returns the tensor itself. Does nothing if `parent` is not watched."""
    watcher = core.watcher_of(parent)
    if watcher is not None:
        watcher.attach(tensor, parent, str(name))
    return tensor


# --- options


def _options(log, log_freq, ignored, time_log):
    log = (log,) if isinstance(log, str) else tuple(log or ())
    for word in log:
        if word not in _LOGS:
            raise ValueError(f"log: no {word!r}; there are {', '.join(map(repr, _LOGS))}")
    if type(log_freq) is not int or log_freq < 1:
        raise ValueError(f"log_freq must be an int of 1 or more, not {log_freq!r}")
    unit, time = _STEPS if time_log is None else time_log
    options = {"log": log, "log_freq": log_freq, "ignored": tuple(ignored)}
    return {**options, "unit": str(unit), "time": time}


def _take_misspelt(options, given):
    """Alternative spellings in TorchExplorer's documentation."""
    known = {
        "reject_outlier_propertion": "reject_outlier_proportion",
        "delay_log_multibackward": "delay_log_multi_backward",
    }
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"watch() got an unexpected keyword argument {name!r}")
        options[known[name]] = value


def _check(bins, sample_n, reject):
    if type(bins) is not int or bins < 1:
        raise ValueError(f"bins must be an int of 1 or more, not {bins!r}")
    if sample_n is not None and (type(sample_n) is not int or sample_n < 1):
        raise ValueError(f"sample_n must be an int of 1 or more, or None, not {sample_n!r}")
    if not 0 <= reject <= 1:
        raise ValueError(f"reject_outlier_proportion must be from 0 to 1, not {reject!r}")


def _check_torch():
    from torchoscope import op_kinds

    why = op_kinds.why_not()
    if why is not None:
        raise RuntimeError(f"watch() finds the structure by operations: {why}")
    try:
        import networkx  # noqa: F401
    except ImportError as error:
        text = "watch() needs networkx, which is not installed: pip install networkx"
        raise ImportError(text, name="networkx") from error


def _backend(name, folder, verbose):
    from torchoscope.compat.torchexplorer import backends

    if name == "none":
        return backends.Nowhere()
    if name == "standalone":
        return backends.Standalone(folder, verbose)
    if name != "wandb":
        text = "backend must be 'wandb', 'standalone' or 'none'"
        raise ValueError(f"{text}, not {name!r}")
    return backends.Wandb(_count)


def _close_pages():
    while _pages:
        _pages.popitem()[1].close()


@atexit.register
def _end_all():
    for explorer in list(_explorers):
        explorer.end()
    for page in list(_pages.values()):
        page.stay()
