"""extract_pytorch_ops(): the operations of a model, equal ones once."""

import json
import os

from torchoscope.compat.model_analysis.module_extractor import (
    load_and_trace,
    say,
    timestamp,
    write_json,
)
from torchoscope.compat.model_analysis.op_names import attributes, torch_name
from torchoscope.compat.model_analysis.shapes import format_tensor
from torchoscope.compat.model_analysis.types import OpInfo


def extract_pytorch_ops(
    modules_json_path, load_fn, get_sample_input, output_path="pytorch_ops.json"
):
    """Run the model that `load_fn` returns with what `get_sample_input` returns, and
    write its unique operations to a JSON file. Module ids are those of the file that
    extract_unique_modules() wrote. Returns what it wrote, a dict."""
    modules = _read_modules(modules_json_path)
    trace = load_and_trace(load_fn, get_sample_input)
    document = ops_document(trace, modules, modules_json_path, output_path)
    write_json(document, output_path)
    return document


def _read_modules(path):
    with open(path, encoding="utf-8") as file:
        try:
            return modules_by_path(json.load(file))
        except (ValueError, KeyError, TypeError) as error:
            text = f"{path} is not a file of extract_unique_modules()"
            raise ValueError(f"{text}: {error!r}") from None


def modules_by_path(document):
    """{path: (id, class)} of the content of unique_modules.json."""
    return {
        path: (one["id"], one["class_name"])
        for one in document["modules"]
        for path in one["occurrences"]
    }


def ops_document(trace, modules, modules_json_path, output_path):
    """The content of pytorch_ops.json. `modules`: {path: (id, class)}."""
    _check_modules(trace, modules, modules_json_path)
    ops = unique_ops(trace, modules)
    total = sum(len(one.occurrences) for one in ops)
    say(f"Found {len(ops)} unique operations (from {total} total)")
    if trace.lost:
        say(f"{trace.lost} later operations are missing: a recording keeps {total}")
    beside = os.path.dirname(os.path.abspath(output_path))
    return {
        "metadata": {
            "source_modules_json": os.path.relpath(modules_json_path, beside),
            "total_ops": total,
            "unique_ops": len(ops),
            "timestamp": timestamp(),
        },
        "ops": [one.to_dict() for one in ops],
    }


def _check_modules(trace, modules, path):
    for node in trace.nodes.values():
        kind = node.row["class"].rpartition(".")[2]
        found = modules.get(node.shown_path)
        if found is None or found[1] != kind:
            text = f"it has no {kind} {node.shown_path!r}"
            raise ValueError(f"{path} describes another model: {text}")


def unique_ops(trace, modules):
    """A list of OpInfo, in the order of first execution."""
    found, names = {}, {}
    for op, node in trace.operations:
        name, settings, types = torch_name(op), attributes(op), tensor_types(op)
        key = (name, json.dumps(settings, sort_keys=True), json.dumps(types))
        module_id, module_class = modules[node.shown_path]
        if key not in found:
            number = f"op_{len(found):03d}"
            found[key] = OpInfo(number, name, module_id, module_class, settings, types)
        node_name = _numbered(name.rpartition(".")[2], names)
        found[key].occurrences.append(
            {"source_module_id": module_id, "node_name": node_name}
        )
    return list(found.values())


def _numbered(name, names):
    """conv2d, conv2d_1, conv2d_2: unique in the whole pass."""
    count = names[name] = names.get(name, -1) + 1
    return f"{name}_{count}" if count else name


def tensor_types(op):
    """Its results as "output", "output_1", ...; then its arguments by their names in
    the schema, those of a list as "tensors[0]"."""
    found = {
        f"output_{at}" if at else "output": format_tensor(value)
        for at, value in enumerate(op.outputs)
    }
    for value in op.inputs:
        item = "" if value.item is None else f"[{value.item}]"
        found[f"{value.arg}{item}"] = format_tensor(value)
    return found
