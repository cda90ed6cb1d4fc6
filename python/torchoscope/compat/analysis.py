"""rp's facts about modules: parameter counts, sizes and times."""

import asyncio
import dataclasses
import difflib
import json
import re
import time
from typing import Dict, Optional, Tuple

import torch

from torchoscope import _core, forward_stats
from torchoscope.restore import modules_of, roots_of

_TURN_S = 0.01  # seconds that an asynchronous analysis runs before it yields


@dataclasses.dataclass
class ModuleInfo:
    """Facts about a module. str() is what rp shows: counts, shapes and recorded
    data."""

    name: str
    module_type: str
    parameter_count: int
    shapes: Dict[str, Tuple[int, ...]]
    timing_stats: Optional[Dict[str, float]] = None  # calls, and total seconds
    memory_usage: Optional[int] = None  # bytes of the parameters
    input_shape: Optional[Tuple[int, ...]] = None
    output_shape: Optional[Tuple[int, ...]] = None
    gradient: Optional[bool] = None  # has any parameter a gradient now?

    def __str__(self):
        times = self.timing_stats or {}
        shapes = ", ".join(_core.format_shape(shape) for shape in self.shapes.values())
        line = [self.name or self.module_type]
        line.append(f"{_core.format_count(self.parameter_count)} params")
        line += [f"Shape: {shapes}"] * bool(shapes)
        if times:
            took = times["forward"] + times.get("backward", 0)
            line.append(f"Time: {_core.format_time(took)}")
        if self.memory_usage is not None:
            line.append(f"Mem: {_core.format_bytes(self.memory_usage)}")
        rows = [" ".join(row) for row in self._rows(times)]
        joints = ["├─ "] * (len(rows) - 1) + ["└─ "]
        return "\n".join(["   ".join(line), *map("".join, zip(joints, rows))])

    def _rows(self, times):
        if times:
            moved = f"Input: {_core.format_shape(self.input_shape or ())}  "
            moved += f"Output: {_core.format_shape(self.output_shape or ())}"
            yield "forward() ", _core.format_time(times["forward"]), "", moved
        if "backward" in times or self.gradient is not None:
            took = times.get("backward")
            took = [] if took is None else [_core.format_time(took), ""]
            gradient = "computed" if self.gradient else "none"
            yield "backward()", *took, f"Gradient: {gradient}"
        if self.memory_usage and self.parameter_count:
            each = self.memory_usage / self.parameter_count
            parameters = f"Parameters: {self.parameter_count:,} × {each:g} bytes"
            yield "memory    ", _core.format_bytes(self.memory_usage), "", parameters


def checked(model):
    """The model, if it is a module or contains modules; else raises TypeError."""
    if not roots_of(model):
        raise TypeError(f"{type(model).__name__} is not an nn.Module and contains none")
    return model


def parameters_of(model):
    """(name, parameter), each parameter once."""
    seen = set()
    for prefix, root in roots_of(checked(model)).items():
        for name, parameter in root.named_parameters(prefix=prefix):
            if id(parameter) not in seen:
                seen.add(id(parameter))
                yield name, parameter


def _numel(parameter):
    """The number of elements; 0 for a lazy parameter."""
    return 0 if torch.nn.parameter.is_lazy(parameter) else parameter.numel()


def _size(parameter):
    return _numel(parameter) * parameter.element_size() if _numel(parameter) else 0


def get_parameter_statistics(model):
    """Counts of all, trainable and frozen parameters, and their bytes. Tied parameters
    count once."""
    parameters = [parameter for _, parameter in parameters_of(model)]
    total = sum(map(_numel, parameters))
    trainable = sum(_numel(p) for p in parameters if p.requires_grad)
    return {
        "total_params": total,
        "trainable_params": trainable,
        "non_trainable_params": total - trainable,
        "memory_usage": sum(map(_size, parameters)),
    }


def analyze_memory_usage(model):
    """Bytes of each parameter, by name."""
    return {name: _size(parameter) for name, parameter in parameters_of(model)}


def get_module_by_path(model, path):
    """The module at "layer1.0.conv1" or "layer1[0].conv1"; "" is the model itself."""
    modules = dict(_all_modules(checked(model)))
    plain = re.sub(r"\[(\w+)\]", r".\1", path).strip(".")
    if plain not in modules and plain.partition(".")[0] == "model":
        plain = plain.partition(".")[2]  # rp's name of the root
    if plain in modules:
        return modules[plain]
    near = difflib.get_close_matches(plain, modules, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise KeyError(f"no module is named {path}{hint}")


def _all_modules(model):
    """(name, module) for every name of every module."""
    for prefix, root in roots_of(model).items():
        yield from root.named_modules(prefix=prefix, remove_duplicate=False)
    if not isinstance(model, torch.nn.Module):
        yield "", model


def analyze_module(name, module):
    """A ModuleInfo of its parameters; the shapes are of its direct parameters only."""
    parameters = [parameter for _, parameter in parameters_of(module)]
    own = getattr(module, "_parameters", {})
    return ModuleInfo(
        name=name,
        module_type=type(module).__name__,
        parameter_count=sum(map(_numel, parameters)),
        shapes={
            key: tuple(parameter.shape)
            for key, parameter in own.items()
            if parameter is not None and not torch.nn.parameter.is_lazy(parameter)
        },
        memory_usage=sum(map(_size, parameters)),
        gradient=any(p.grad is not None for p in parameters) if parameters else None,
    )


def analyze_module_detailed(module):
    """A ModuleInfo that includes recorded data."""
    found = forward_stats.recorded(module)
    info = analyze_module(found[1] if found else "", module)
    return _with_recorded(info, module, {})


def _with_recorded(info, module, known):
    """Add recorded data. `known` caches the rows of recordings between calls."""
    found = forward_stats.recorded(module)
    if not found:
        return info
    recording, name = found
    if id(recording) not in known:
        rows = json.loads(recording._now().json("tree"))["modules"]
        known[id(recording)] = {row["name"]: row for row in rows}
    row = known[id(recording)].get(name, {})
    if row.get("calls"):
        info.timing_stats = {"calls": row["calls"], "forward": row["time_ns"] / 1e9}
        info.timing_stats["self"] = row["self_ns"] / 1e9
        if row.get("backward_ns"):  # 0: unknown
            info.timing_stats["backward"] = row["backward_ns"] / 1e9
        info.input_shape = _shape(row.get("in_shape"))
        info.output_shape = _shape(row.get("out_shape"))
    return info


def _shape(dimensions):
    return None if dimensions is None else tuple(dimensions)


def analyze_all(model, max_depth=None):
    """ModuleInfos of all modules, with recorded data, in model order."""
    known = {}
    for name, module in modules_of(checked(model)):
        if max_depth is None or len(name.split(".")) * bool(name) <= max_depth:
            yield _with_recorded(analyze_module(name, module), module, known)


async def analyze_model_async(model):
    """{name: ModuleInfo} of all modules. Yields to other tasks regularly, and can be
    cancelled."""
    infos, began = {}, time.monotonic()
    for info in analyze_all(model):
        infos[info.name] = info
        if time.monotonic() - began > _TURN_S:
            await asyncio.sleep(0)
            began = time.monotonic()
    await asyncio.sleep(0)
    return infos


def lazy_parameter_analysis(model):
    """A function that takes a path and analyzes that module when called."""

    def get_module_info(module_path):
        module = get_module_by_path(model, module_path)
        return dataclasses.replace(analyze_module_detailed(module), name=module_path)

    return get_module_info


def get_forward_stats(model):
    """{name: forward_stats} of all modules with recorded calls."""
    found = {}
    for name, module in modules_of(checked(model)):
        stats = getattr(module, forward_stats.NAME, None)
        if stats:
            found[name] = list(stats)
    return found


def build_parent_map(model):
    """{module: its parent}; for a shared module, the last parent."""
    return {
        child: module
        for _, module in modules_of(checked(model))
        for child in module.children()
    }
