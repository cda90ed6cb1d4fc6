"""extract_unique_modules(): the modules of a model, equal ones once."""

import contextlib
import datetime
import inspect
import json
import os
import re
import sys

from torchoscope.compat.model_analysis.shapes import capture_shapes, format_tensor
from torchoscope.compat.model_analysis.tracer import (
    check_model,
    check_torch,
    trace_model,
)
from torchoscope.compat.model_analysis.types import ModuleInfo
from torchoscope.recording import Value

# The first keys of `parameters`, in this order.
_FIRST = (
    "in_channels out_channels in_features out_features kernel_size stride padding "
    "dilation groups bias padding_mode num_features eps momentum affine "
    "track_running_stats num_heads embed_dim kdim vdim batch_first normalized_shape "
    "elementwise_affine"
).split()
# The position of a module in a stack of layers is not configuration: the path has it.
_POSITION = re.compile(r"(layer|block)_?(idx|id|index|number)")


def extract_unique_modules(
    load_fn, get_sample_input, output_path="unique_modules.json"
):
    """Run the model that `load_fn` returns with what `get_sample_input` returns, and
    write its unique modules to a JSON file. Returns what it wrote, a dict."""
    trace = load_and_trace(load_fn, get_sample_input, ops=False)
    document = modules_document(trace, load_fn)
    write_json(document, output_path)
    return document


def load_and_trace(load_fn, get_sample_input, ops=True, guard=contextlib.nullcontext):
    """The Trace of a model, with operations if `ops`; calls each function once. The
    user's code runs in guard(function)."""
    if ops:
        check_torch()
    say(f"Loading model using {_name(load_fn)}...")
    with guard(load_fn):
        model = load_fn()
    check_model(model)
    say("Getting sample input...")
    with guard(get_sample_input):
        inputs = get_sample_input()
    say(f"Running forward pass to capture shapes{' and operations' * ops}...")
    with guard(load_fn):
        return trace_model(model, inputs, ops)


def modules_document(trace, load_fn):
    """The content of unique_modules.json."""
    modules = unique_modules(trace)
    say(f"Found {len(modules)} unique modules (from {len(trace.nodes)} total)")
    return {
        "metadata": {
            "load_fn_location": _location(load_fn),
            "load_fn_name": _name(load_fn),
            "model_class": trace.model_class,
            "total_modules": len(trace.nodes),
            "unique_modules": len(modules),
            "timestamp": timestamp(),
        },
        "modules": [one.to_dict() for one in modules],
    }


def unique_modules(trace):
    """A list of ModuleInfo, in the order of the model."""
    configured = _Configuration(trace.tree)
    keys, known, modules = {}, {}, {}
    for node in reversed(trace.nodes.values()):  # children before their parents
        shapes = capture_shapes(node.calls)
        parameters = configured.parameters(node)
        key = (
            node.row["class"],
            tuple(shapes),
            json.dumps(parameters, sort_keys=True),
            tuple((_last(one), keys[one.path]) for one in node.children),
        )
        keys[node.path] = known.setdefault(key, len(known))
    for node in trace.nodes.values():
        found = modules.get(keys[node.path])
        if found is None:
            found = modules[keys[node.path]] = _info(node, configured, len(modules))
        found.occurrences.append(node.shown_path)
    return list(modules.values())


def _last(node):
    return node.path.rpartition(".")[2]


def _info(node, configured, number):
    shapes = capture_shapes(node.calls)

    def every(field):
        return [one for call in shapes for one in getattr(call, field)]

    return ModuleInfo(
        id=f"mod_{number:03d}",
        class_name=node.row["class"].rpartition(".")[2],
        module_path=node.shown_path,
        parent=node.parent.shown_path if node.parent else None,
        input_shapes=every("input_shapes"),
        output_shapes=every("output_shapes"),
        input_dtypes=every("input_dtypes"),
        output_dtypes=every("output_dtypes"),
        parameters=configured.parameters(node),
        calls=[_call(one, n) for one, n in shapes.items()] if len(shapes) > 1 else None,
    )


def _call(shapes, count):
    lists = {name: list(texts) for name, texts in vars(shapes).items()}
    return {**lists, "count": count}


class _Configuration:
    """The configuration of modules, from the tree of docs/json.md."""

    def __init__(self, tree):
        self._own = {}  # place of a module -> [(name, tensor, or None if it is empty)]
        for row in tree["tensors"]:
            self._add(row, Value(row))
        for row in tree["values"]:
            if row.get("empty"):
                self._add(row, None)

    def _add(self, row, tensor):
        name = row["name"].rpartition(".")[2]
        self._own.setdefault(row["parent"], []).append((name, tensor))

    def parameters(self, node):
        """Documented names first, then the other attributes, and for classes that are
        not torch's the shapes of their own tensors, which torch's attributes imply."""
        found = {
            name: value
            for name, value in (node.row.get("args") or {}).items()
            if not _is_position(name, value, node.path)
        }
        own = self._own.get(node.row["place"], ())
        for name, tensor in own:
            if name == "bias":
                found.setdefault(name, tensor is not None)
            elif tensor and not node.row["class"].startswith("torch.nn.modules."):
                found.setdefault(name, format_tensor(tensor))
        return {
            **{name: found[name] for name in _FIRST if name in found},
            **{name: value for name, value in found.items() if name not in _FIRST},
        }


def _is_position(name, value, path):
    return bool(_POSITION.fullmatch(name)) and str(value) in path.split(".")


# --- functions and files


def _name(function):
    return getattr(function, "__name__", type(function).__name__)


def _location(function):
    """ "my_model.py:load_model", relative to the current folder if it is in there."""
    plain = inspect.unwrap(getattr(function, "func", function))
    try:
        file = inspect.getsourcefile(plain) or inspect.getfile(plain)
    except (TypeError, OSError):  # built in, or an object
        return f"{getattr(plain, '__module__', '?')}:{_name(function)}"
    near = os.path.relpath(file)
    return f"{file if near.startswith(os.pardir) else near}:{_name(function)}"


def timestamp():
    """The local time, "2026-02-02T10:30:00"."""
    return datetime.datetime.now().isoformat(timespec="seconds")


def write_json(document, path):
    """Write a file, completely or not at all."""
    path = os.fspath(path)
    text = json.dumps(document, indent=2, allow_nan=False)
    part = f"{path}.part"
    try:
        with open(part, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)
    say(f"Saved {path}")


def say(sentence):
    """Report progress."""
    print(sentence, file=sys.stderr, flush=True)
