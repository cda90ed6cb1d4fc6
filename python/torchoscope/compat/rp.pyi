"""The types of what docs/python.md, "From rp", describes."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

from torchoscope import Graph, Recording

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

@dataclasses.dataclass
class ExplorerConfig:
    show_parameter_counts: bool = True
    show_shapes: bool = True
    show_timing: bool = True
    show_memory: bool = True
    compact_view: bool = False
    color_scheme: str = "dark"
    max_depth: int | None = None
    def __post_init__(self) -> None: ...

@dataclasses.dataclass
class ModuleInfo:
    name: str
    module_type: str
    parameter_count: int
    shapes: dict[str, tuple[int, ...]]
    timing_stats: dict[str, float] | None = None
    memory_usage: int | None = None
    input_shape: tuple[int, ...] | None = None
    output_shape: tuple[int, ...] | None = None
    gradient: bool | None = None

class _Handle:
    def __init__(self, module: object) -> None: ...
    def remove(self) -> None: ...

_Stats = dict[str, list[dict[str, Any]]]

EMA: object

def explore_module(obj: object, config: ExplorerConfig | None = None) -> None: ...
def explore_model(obj: object, config: ExplorerConfig | None = None) -> None: ...
def explore_torch_module(obj: object, config: ExplorerConfig | None = None) -> None: ...
def explore_torch_module_with_stats(
    obj: object, *args: Any, **kwargs: Any
) -> None: ...
def export_model_summary(
    model: object, format: str = "text", config: ExplorerConfig | None = None
) -> str: ...
def generate_text_summary(
    model: object, config: ExplorerConfig | None = None
) -> str: ...
def generate_model_summary(
    model: object, config: ExplorerConfig | None = None
) -> str: ...
def generate_json_summary(
    model: object, config: ExplorerConfig | None = None
) -> str: ...
def generate_html_summary(
    model: object, config: ExplorerConfig | None = None
) -> str: ...
def display_timing_in_explorer(timing_data: _Stats) -> None: ...
def extract_model_graph(model: object, *inputs: Any, **keywords: Any) -> Graph: ...
def plot_network_graph(
    graph_data: Graph, path: str | os.PathLike[str] | None = None, **options: Any
) -> Graph: ...
def generate_architecture_diagram(
    model: object,
    *inputs: Any,
    path: str | os.PathLike[str] | None = None,
    **keywords: Any,
) -> Graph: ...

# --- recording

def stats_collection(obj: object) -> AbstractContextManager[Recording]: ...
def record_module_forward_stats(obj: object) -> AbstractContextManager[Recording]: ...
def record_torch_module_forward_stats(
    obj: object,
) -> AbstractContextManager[Recording]: ...
def add_forward_hooks(module: object) -> list[_Handle]: ...
def get_forward_stats(model: object) -> _Stats: ...

# --- analysis

def analyze_memory_usage(model: object) -> dict[str, int]: ...
async def analyze_model_async(model: object) -> dict[str, ModuleInfo]: ...
def analyze_module(name: str, module: torch.nn.Module) -> ModuleInfo: ...
def analyze_module_detailed(module: torch.nn.Module) -> ModuleInfo: ...
def build_parent_map(model: object) -> dict[torch.nn.Module, torch.nn.Module]: ...
def calculate_tensor_memory(tensor: torch.Tensor) -> int: ...
def extract_tensor(obj: object) -> torch.Tensor | None: ...
def find_modules_in_object(obj: object) -> dict[str, torch.nn.Module]: ...
def get_module_by_path(model: object, path: str) -> torch.nn.Module: ...
def get_parameter_statistics(model: object) -> dict[str, int]: ...
def lazy_parameter_analysis(model: object) -> Callable[[str], ModuleInfo]: ...

# --- texts

def format_shape(shape: Sequence[int] | None) -> str: ...
def format_param_count(count: int) -> str: ...
def format_time(seconds: float) -> str: ...
def format_percentage(percentage: float) -> str: ...
def human_readable_file_size(size: int) -> str: ...
def format_devices(devices: Iterable[object]) -> str: ...

# --- other

def select_torch_device() -> torch.device: ...
def save_text_file(text: str, path: str | os.PathLike[str]) -> None: ...
def input_select_file(
    folder: str = ".", extension_filter: str | None = None
) -> str: ...
