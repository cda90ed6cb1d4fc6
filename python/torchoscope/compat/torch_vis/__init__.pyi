"""The types of what docs/python.md, "From torch_vis", describes."""

import enum
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from torchoscope import Recording

__all__ = [
    "ComputationalGraphTracker",
    "GraphEdge",
    "GraphNode",
    "OperationType",
    "analyze_computational_graph_execution",
    "export_computational_graph",
    "track_computational_graph_execution",
    "visualize_computational_graph",
]

_Given = torch.Tensor | Sequence[Any] | Mapping[str, Any]
_Renderer = Literal["plotly", "matplotlib"]

class OperationType(enum.Enum):
    FORWARD = "forward"
    BACKWARD = "backward"
    TENSOR_OP = "tensor_op"
    LAYER_OP = "layer_op"
    GRADIENT_OP = "gradient_op"
    MEMORY_OP = "memory_op"
    CUSTOM = "custom"

@dataclass
class GraphNode:
    id: str
    name: str
    operation_type: OperationType
    module_name: str | None = ...
    input_shapes: list[tuple[int, ...]] | None = ...
    output_shapes: list[tuple[int, ...]] | None = ...
    parameters: dict[str, Any] | None = ...
    execution_time: float | None = ...
    memory_usage: int | None = ...
    metadata: dict[str, Any] | None = ...
    parent_ids: list[str] | None = ...
    child_ids: list[str] | None = ...
    timestamp: float | None = ...

@dataclass
class GraphEdge:
    source_id: str
    target_id: str
    edge_type: str
    tensor_shape: tuple[int, ...] | None = ...
    metadata: dict[str, Any] | None = ...

class ComputationalGraphTracker:
    model: torch.nn.Module
    track_memory: bool
    track_timing: bool
    track_tensor_ops: bool
    is_tracking: bool
    why: str | None
    recording: Recording | None
    def __init__(
        self,
        model: torch.nn.Module,
        track_memory: bool = True,
        track_timing: bool = True,
        track_tensor_ops: bool = True,
    ) -> None: ...
    @property
    def nodes(self) -> dict[str, GraphNode]: ...
    @property
    def edges(self) -> list[GraphEdge]: ...
    def start_tracking(self) -> None: ...
    def stop_tracking(self) -> None: ...
    def get_graph_summary(self) -> dict[str, Any]: ...
    def get_graph_data(self) -> dict[str, Any]: ...
    def layer_analysis(self) -> dict[str, list[dict[str, Any]]]: ...
    def export_graph(
        self, filepath: str | os.PathLike[str], format: Literal["json"] = "json"
    ) -> str: ...
    def visualize_graph(self, renderer: _Renderer = "plotly") -> Any: ...

def track_computational_graph_execution(
    model: torch.nn.Module,
    input_tensor: _Given,
    track_memory: bool = True,
    track_timing: bool = True,
    track_tensor_ops: bool = True,
) -> ComputationalGraphTracker: ...
def analyze_computational_graph_execution(
    model: torch.nn.Module, input_tensor: _Given, detailed: bool = True
) -> dict[str, Any]: ...
def visualize_computational_graph(
    model: torch.nn.Module, input_tensor: _Given, renderer: _Renderer = "plotly"
) -> Any: ...
def export_computational_graph(
    model: torch.nn.Module,
    input_tensor: _Given,
    filepath: str | os.PathLike[str],
    format: Literal["json"] = "json",
) -> str: ...
