"""rp's displays and exports of a model, implemented with torchoscope."""

import dataclasses
import html
import json
import re
import sys
from typing import Optional

import torch

from torchoscope import _core, forward_stats, terminal
from torchoscope.compat import analysis
from torchoscope.explorer import abilities, in_notebook, live_core
from torchoscope.restore import modules_of
from torchoscope.shown import terminal_width

# color_scheme -> (the CSS color-scheme, the theme; None: the reader's preference).
_SCHEMES = {
    "dark": ("dark", "dark"),
    "light": ("light", "light"),
    "auto": ("light dark", None),
    "none": ("light", "light"),
}
# Field of the configuration -> the keys of a JSON summary that it controls.
_FACTS = {
    "show_parameter_counts": "parameter_count total_params trainable_params "
    "non_trainable_params",
    "show_shapes": "shapes input_shape output_shape",
    "show_timing": "timing_stats",
    "show_memory": "memory_usage",
}
_THEMES = ("dark", "light")
_BUFFERS = ("running_mean", "running_var", "num_batches_tracked")


@dataclasses.dataclass
class ExplorerConfig:
    """What to show and export. compact_view folds equal blocks, omits percentages, self
    times and the lines below the tree, and writes JSON on one line. color_scheme
    applies to HTML; "none" also turns off colours on a terminal. max_depth counts
    levels below the model."""

    show_parameter_counts: bool = True
    show_shapes: bool = True
    show_timing: bool = True
    show_memory: bool = True
    compact_view: bool = False
    color_scheme: str = "dark"
    max_depth: Optional[int] = None

    def __post_init__(self):
        if self.color_scheme not in _SCHEMES:
            names = ", ".join(_SCHEMES)
            raise ValueError(f"color_scheme is one of {names}, not {self.color_scheme}")

    def _columns(self, recorded):
        whole = not self.compact_view
        wanted = {
            "params": self.show_parameter_counts,
            "percent": self.show_parameter_counts and whole,
            "memory": self.show_memory,
            "in": recorded and self.show_shapes,
            "out": recorded and self.show_shapes,
            "calls": recorded and self.show_timing,
            "time": recorded and self.show_timing,
            "time%": recorded and self.show_timing and whole,
            "self": recorded and self.show_timing and whole,
            "backward": recorded and self.show_timing,
            "shapes": self.show_shapes,
        }
        return ",".join(name for name, shown in wanted.items() if shown)

    def _view(self, recorded, path):
        """Keywords of python/ext/types/views.h, for the module at `path`."""
        deep = self.max_depth is not None
        return {
            "columns": self._columns(recorded),
            "depth": self.max_depth + len(path) if deep else None,
            # A regular expression with a dot matches full names.
            "filter": f"/^{re.escape('.'.join(path))}$/" if path else None,
            "expand": not self.compact_view,
            "closing": not self.compact_view,
        }

    def _look(self, recorded, path):
        """Keywords of python/ext/types/explore.h, for the terminal explorer."""
        all_shown = all(getattr(self, field) for field in _FACTS)
        labels = None if all_shown else f"name,type,args,{self._columns(recorded)}"
        return {
            "at": ".".join(path) or None,
            "depth": self.max_depth,
            "labels": labels and labels.rstrip(","),
            "theme": self.color_scheme if self.color_scheme in _THEMES else None,
            "colour": "never" if self.color_scheme == "none" else None,
        }


def explore_module(obj, config=None):
    """Show a module, or an object that contains modules, with recorded data: in the
    terminal explorer; in a notebook as HTML; else as text on standard output."""
    config = config or ExplorerConfig()
    if in_notebook():
        from IPython.display import HTML, display

        display(HTML(_html(_model_of(obj), config)))
        return
    if _on_terminal(_model_of(obj), config):
        return
    wanted = abilities(sys.stdout)
    wanted["colour"] = wanted["colour"] and config.color_scheme != "none"
    text = _text(obj, config, width=terminal_width(), **wanted)
    print(text, end="", flush=True)


def _on_terminal(model, config):
    core, recorded, path = _sources(model)[0]
    live = live_core(model) if recorded else None
    return terminal.show(core, live, None, **config._look(recorded, path))


def generate_text_summary(model, config=None):
    """The tree of a model as text."""
    return _text(model, config or ExplorerConfig())


def _text(model, config, **wanted):
    return "".join(
        core.text(**config._view(recorded, path), **wanted)
        for core, recorded, path in _sources(_model_of(model))
    )


def generate_json_summary(model, config=None):
    """The counts of a model and a ModuleInfo of each of its modules, as JSON text."""
    config = config or ExplorerConfig()
    model = _model_of(model)
    hidden = " ".join(_FACTS[field] for field in _FACTS if not getattr(config, field))
    infos = analysis.analyze_all(model, config.max_depth)
    document = {
        "name": type(model).__name__,
        **_without(hidden, analysis.get_parameter_statistics(model)),
        "modules": [_without(hidden, dataclasses.asdict(info)) for info in infos],
    }
    indent = None if config.compact_view else 2
    return json.dumps(document, indent=indent, ensure_ascii=False)


def _without(hidden, facts):
    return {key: fact for key, fact in facts.items() if key not in hidden.split()}


def generate_html_summary(model, config=None):
    """The tree of a model as a self-contained HTML page."""
    config = config or ExplorerConfig()
    model = _model_of(model)
    scheme = _SCHEMES[config.color_scheme][0]
    return (
        f'<!doctype html>\n<html lang="en" style="color-scheme: {scheme}"><head>'
        f'<meta charset="utf-8"><title>{html.escape(type(model).__name__)}</title>'
        f"</head><body>\n{_html(model, config)}</body></html>\n"
    )


def _html(model, config):
    """The HTML for a notebook."""
    theme = _SCHEMES[config.color_scheme][1]
    return "".join(
        core.export("notebook", theme=theme, **config._view(recorded, path))
        for core, recorded, path in _sources(model)
    )


def display_timing_in_explorer(timing_data):
    """Print the result of get_forward_stats(): calls, time and shapes per module."""
    width = max(map(len, timing_data), default=0)
    for name, stats in timing_data.items():
        took = _core.format_time(sum(call["runtime"] for call in stats))
        calls = f"{len(stats)} call" + "s" * (len(stats) != 1)
        moved = " → ".join(
            _core.format_shape(stats[-1].get(f"{side}_shape") or ())
            for side in ("in", "out")
        )
        print(f"{name or '(root)':<{max(width, 6)}}  {calls:>9}  {took:>9}  {moved}")


def _sources(model):
    """Data about a model: [(a _core object, is it a recording?, the path of the model
    in it)]. A recording of the whole model is enough. Otherwise the live model comes
    first, then recordings of its parts."""
    found, whole = {}, True
    for name, module in modules_of(model):
        recording, recorded = forward_stats.recorded(module) or (None, "")
        whole = whole and recording is not None
        if recording is not None and id(recording) not in found:
            above = f".{recorded}".removesuffix(f".{name}" if name else "")[1:]
            path = above.split(".") if above else []
            found[id(recording)] = recording._now(), True, path
    if whole and len(found) == 1:
        return list(found.values())
    return [(_core.Model(model, type(model).__name__), False, []), *found.values()]


def _model_of(thing):
    """The module or object that contains modules. A state_dict or checkpoint from
    torch.load becomes modules created from its names."""
    if not isinstance(thing, dict):
        return analysis.checked(thing)
    root = torch.nn.Module()
    if not _fill(root, thing):
        raise TypeError("this dict holds no tensors")
    return root


def _fill(module, named):
    """Add the tensors of a dict to `module` by name. Returns whether there are any."""
    filled = False
    for name, value in named.items():
        at, parts = module, str(name).split(".")
        if isinstance(value, torch.Tensor):
            name = parts.pop()
        elif not isinstance(value, dict):
            continue
        for part in parts:
            at = at._modules.setdefault(part, torch.nn.Module())
        if isinstance(value, dict):
            filled |= _fill(at, value)
            continue
        filled = True
        if name in _BUFFERS:
            at._buffers[name] = value
        else:
            trained = value.requires_grad
            at._parameters[name] = torch.nn.Parameter(value.detach(), trained)
    return filled
