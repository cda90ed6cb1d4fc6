"""The interface of rp's PyTorch module explorer and torch hooks:

    import torchoscope.compat.rp as rp

Every example in rp's documentation runs with this import. docs/python.md lists the
differences."""

import builtins
import contextlib
import os
import sys
import weakref
from pathlib import Path

import torch

from torchoscope import _core, forward_stats
from torchoscope.compat.analysis import (
    ModuleInfo,
    analyze_memory_usage,
    analyze_model_async,
    analyze_module,
    analyze_module_detailed,
    build_parent_map,
    get_forward_stats,
    get_module_by_path,
    get_parameter_statistics,
    lazy_parameter_analysis,
)
from torchoscope.compat.diagrams import (
    extract_model_graph,
    generate_architecture_diagram,
    plot_network_graph,
)
from torchoscope.compat.display import (
    ExplorerConfig,
    display_timing_in_explorer,
    explore_module,
    generate_html_summary,
    generate_json_summary,
    generate_text_summary,
)
from torchoscope.recorder import record
from torchoscope.restore import roots_of, state_guard

__all__ = [
    "EMA",
    "ExplorerConfig",
    "ModuleInfo",
    "add_forward_hooks",
    "analyze_memory_usage",
    "analyze_model_async",
    "analyze_module",
    "analyze_module_detailed",
    "build_parent_map",
    "calculate_tensor_memory",
    "display_timing_in_explorer",
    "explore_model",
    "explore_module",
    "explore_torch_module",
    "explore_torch_module_with_stats",
    "export_model_summary",
    "extract_model_graph",
    "extract_tensor",
    "find_modules_in_object",
    "format_devices",
    "format_param_count",
    "format_percentage",
    "format_shape",
    "format_time",
    "generate_architecture_diagram",
    "generate_html_summary",
    "generate_json_summary",
    "generate_model_summary",
    "generate_text_summary",
    "get_forward_stats",
    "get_module_by_path",
    "get_parameter_statistics",
    "human_readable_file_size",
    "input_select_file",
    "lazy_parameter_analysis",
    "plot_network_graph",
    "record_module_forward_stats",
    "record_torch_module_forward_stats",
    "save_text_file",
    "select_torch_device",
    "stats_collection",
]

# --- exploring

explore_torch_module = explore_model = explore_module
generate_model_summary = generate_text_summary


def export_model_summary(model, format="text", config=None):
    """The summary of a model as a str: "text", "json" or "html"."""
    writers = {
        "text": generate_text_summary,
        "json": generate_json_summary,
        "html": generate_html_summary,
    }
    if format not in writers:
        raise ValueError(f"format is one of text, json and html, not {format}")
    return writers[format](model, config)


def explore_torch_module_with_stats(obj, *args, **kwargs):
    """Call a model, or the first module of an object that is not callable, record it
    and show it. Restores buffers, gradients and the random state."""
    call = obj if callable(obj) else next(iter(roots_of(obj).values()), None)
    if call is None:
        raise TypeError(f"{type(obj).__name__} is not an nn.Module and contains none")
    with state_guard(obj), stats_collection(obj):
        call(*args, **kwargs)
    explore_module(obj)


class _Command:
    """rp's prompt command EMA: shows the last result if it is or contains a module,
    else the object recorded last."""

    def __repr__(self):
        shown = getattr(builtins, "_", None)
        if shown is None or not roots_of(shown):
            shown = _last()
        if shown is None:
            return "EMA explores the last result, which is not a module"
        return generate_text_summary(shown).rstrip("\n")


EMA = _Command()


# --- recording


def _nothing():
    return None


_last = _nothing  # a weak reference to the object recorded last


@contextlib.contextmanager
def stats_collection(obj):
    """Record every call of every module of a model, or of an object that contains
    modules, into module.forward_stats. `as` gives the Recording."""
    global _last
    with contextlib.suppress(TypeError):  # no support for weak references
        _last = weakref.ref(obj)
    with record(obj, calls="all") as recording:
        yield recording


record_torch_module_forward_stats = stats_collection
record_module_forward_stats = stats_collection


class _Handle:
    def __init__(self, module):
        self._open = contextlib.ExitStack()
        self._open.enter_context(stats_collection(module))

    def remove(self):
        self._open.close()


def add_forward_hooks(module):
    """Like stats_collection(), until remove() is called on the handle in the list."""
    return [_Handle(module)]


def find_modules_in_object(obj):
    """{attribute: module}; {"": module} for a module itself."""
    return dict(roots_of(obj))


def extract_tensor(obj):
    """The first tensor in an argument or result of a module, or None."""
    if isinstance(obj, torch.Tensor):
        return obj
    found = dict(_core._walk(obj)) or getattr(obj, "__dict__", {})
    first = [found.get(name, getattr(obj, name, None)) for name in forward_stats.FIRST]
    every = (*first, *found.values())
    return next((one for one in every if isinstance(one, torch.Tensor)), None)


def calculate_tensor_memory(tensor):
    """Bytes of its elements and of its gradient."""
    held = [tensor]
    if tensor.is_leaf and tensor.grad is not None:  # .grad of a non-leaf warns
        held.append(tensor.grad)
    return sum(one.nelement() * one.element_size() for one in held)


# --- texts


def format_shape(shape):
    """3×224×224 for (3, 224, 224)."""
    return _core.format_shape(shape or ())


def format_param_count(count):
    """999, 1.0K, 25.6M, 1.0B."""
    return _core.format_count(int(count))


def format_time(seconds):
    """306.22μs, 1.52ms, 1.0000s."""
    return _core.format_time(seconds)


def format_percentage(percentage):
    """A percentage (0 to 100) without decimals: " 9%", "100%"."""
    return _core.format_percent(percentage)


def human_readable_file_size(size):
    """1023B, 1KB, 1.5KB, 97.7MB."""
    return _core.format_bytes(int(size))


def format_devices(devices):
    """cpu/cuda:0,1 for {cuda:0, cuda:1, cpu}."""
    return _core.format_devices(map(str, devices))


# --- other functions that rp's examples use


def select_torch_device():
    """The available accelerator, else the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    mps = getattr(torch.backends, "mps", None)
    return torch.device("mps" if mps and mps.is_available() else "cpu")


def save_text_file(text, path):
    """Write a text file as UTF-8."""
    Path(path).write_text(text, encoding="utf-8")


_MODEL_FILES = "pt pth ckpt bin safetensors scope"


def input_select_file(folder=".", extension_filter=None):
    """Ask on the terminal for a model file in a folder or below; returns its path.
    `extension_filter`: one extension or several: "pth", "pt pth"."""
    endings = (extension_filter or _MODEL_FILES).replace(",", " ").split()
    endings = tuple("." + ending.strip().lstrip("*.").lower() for ending in endings)
    files = sorted(
        os.path.join(place, name)
        for place, _, names in os.walk(folder)
        for name in names
        if name.lower().endswith(endings)
    )
    if not files:
        raise FileNotFoundError(f"no {' or '.join(endings)} file found in {folder}")
    if not sys.stdin.isatty():
        raise RuntimeError("input_select_file() needs a terminal")
    for number, file in enumerate(files, 1):
        print(f"{number:>4}  {file}")
    while True:
        answer = input(f"Which file, 1 to {len(files)}? ").strip()
        if answer.isdecimal() and 1 <= int(answer) <= len(files):
            return files[int(answer) - 1]
