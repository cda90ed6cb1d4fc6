"""Nodes and edges as torch_vis documents them."""

import dataclasses
import enum
from typing import Any, Dict, List, Optional, Tuple


class OperationType(enum.Enum):
    """The kind of a node."""

    FORWARD = "forward"  # a call of a module that calls no other module
    BACKWARD = "backward"  # a node of autograd's graph, run by a backward
    TENSOR_OP = "tensor_op"  # an operation between modules that computes something
    LAYER_OP = "layer_op"  # a call of a module that calls other modules
    GRADIENT_OP = "gradient_op"  # adds a gradient to the .grad of a parameter or input
    MEMORY_OP = "memory_op"  # between modules: allocates, copies or views memory
    CUSTOM = "custom"  # not torch's own: a custom operator, an autograd.Function


@dataclasses.dataclass
class GraphNode:
    """A node of the computational graph."""

    id: str
    name: str
    operation_type: OperationType
    module_name: Optional[str] = None
    input_shapes: Optional[List[Tuple[int, ...]]] = None
    output_shapes: Optional[List[Tuple[int, ...]]] = None
    parameters: Optional[Dict[str, Any]] = None
    execution_time: Optional[float] = None
    memory_usage: Optional[int] = None
    metadata: Optional[Dict[str, Any]] = None
    parent_ids: Optional[List[str]] = None
    child_ids: Optional[List[str]] = None
    timestamp: Optional[float] = None


@dataclasses.dataclass
class GraphEdge:
    """An edge of the computational graph."""

    source_id: str
    target_id: str
    edge_type: str  # "data_flow", "gradient_flow", "backward_of" or "call"
    tensor_shape: Optional[Tuple[int, ...]] = None
    metadata: Optional[Dict[str, Any]] = None


def as_plain(one):
    """A node or edge as a dict for JSON; an OperationType becomes its value."""
    row = dict(vars(one))
    if "operation_type" in row:
        row["operation_type"] = one.operation_type.value
    return row


class Drawn:
    """Nodes and edges being collected. An edge also enters the parents and children of
    its nodes."""

    def __init__(self):
        self.nodes, self.edges = {}, []

    def add(self, kind, label, name, **fields):
        """A new node; its id is unique and begins with the type."""
        node = GraphNode(
            id=f"{kind.value}_{label}_{len(self.nodes)}",
            name=name,
            operation_type=kind,
            parent_ids=[],
            child_ids=[],
            **fields,
        )
        self.nodes[node.id] = node
        return node

    def connect(self, source, target, kind, shape=None, **metadata):
        shape = None if shape is None else tuple(shape)
        self.edges.append(GraphEdge(source.id, target.id, kind, shape, metadata))
        if target.id not in source.child_ids:
            source.child_ids.append(target.id)
            target.parent_ids.append(source.id)
