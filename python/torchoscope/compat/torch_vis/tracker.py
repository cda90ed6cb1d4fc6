"""Tracks the execution of a model as torch_vis's graph. Modules and operations come
from a recording, the backward from autograd's own graph."""

import json
import os

import torch

from torchoscope import _core, op_kinds
from torchoscope.compat.torch_vis.autograd import Watch
from torchoscope.compat.torch_vis.builder import build
from torchoscope.compat.torch_vis.graph import as_plain
from torchoscope.recorder import record
from torchoscope.restore import state_guard
from torchoscope.traces import differentiable


class ComputationalGraphTracker:
    """Tracks what a model executes between start_tracking() and stop_tracking().

    nodes  {id: GraphNode}, in the order of forward, then of backward
    edges  a list of GraphEdge
    why    why operations between modules are missing, or None"""

    def __init__(
        self, model, track_memory=True, track_timing=True, track_tensor_ops=True
    ):
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"model must be an nn.Module, not {type(model).__name__}")
        self.model = model
        self.track_memory = bool(track_memory)
        self.track_timing = bool(track_timing)
        self.track_tensor_ops = bool(track_tensor_ops)
        self.why = (
            op_kinds.why_not() if track_tensor_ops else "track_tensor_ops is False"
        )
        self.recording = None
        self.is_tracking = False
        self._watch = self._hook = self._built = None
        self._began = 0
        self._only_model = False

    # --- tracking

    def start_tracking(self):
        """Begin; drops earlier results."""
        if self.is_tracking:
            return
        self._built, self._watch = None, Watch()
        self._began = _core.clock_ns()
        self.recording = record(
            self.model,
            ops=self.why is None,
            **{"mode": "guard", "gradients": False, "parameters": False},
            **{"calls": "all", "name": type(self.model).__name__},
        )
        self.recording.__enter__()
        watch = self._watch
        self._hook = self.model.register_forward_hook(
            lambda m, args, out: watch.add(out)
        )
        self.is_tracking = True

    def stop_tracking(self):
        """End, and collect the graph."""
        if not self.is_tracking:
            return
        self.is_tracking = False
        self._hook.remove()
        self._watch.stop()
        self.recording.__exit__(None, None, None)
        self._built = self._build()
        self._watch = None  # it holds autograd's graph

    def _build(self):
        return build(self, self.recording, self._watch, self._began, self._only_model)

    def _graph(self):
        if self._built is not None:
            return self._built
        if not self.is_tracking:
            raise RuntimeError("nothing was tracked yet: call start_tracking() first")
        return self._build()

    # --- results

    @property
    def nodes(self):
        """{id: GraphNode}"""
        return self._graph().nodes

    @property
    def edges(self):
        """A list of GraphEdge."""
        return self._graph().edges

    def get_graph_summary(self):
        """A dict: counts of nodes and edges, of operation types and of module types;
        seconds; bytes."""
        graph = self._graph()
        nodes = list(graph.nodes.values())
        kinds = [node.operation_type.value for node in nodes]
        modules = [node.metadata.get("module_type") for node in nodes]
        return {
            "total_nodes": len(nodes),
            "total_edges": len(graph.edges),
            "operation_types": _counted(kinds),
            "module_types": _counted(name for name in modules if name),
            "execution_time": graph.seconds,
            "memory_usage": graph.bytes,
        }

    def get_graph_data(self):
        """A dict: `nodes` and `edges` as lists of dicts, and `summary`."""
        graph = self._graph()
        return {
            "nodes": [as_plain(node) for node in graph.nodes.values()],
            "edges": [as_plain(edge) for edge in graph.edges],
            "summary": self.get_graph_summary(),
        }

    def layer_analysis(self):
        """{module: [operation]}: the nodes of each module in order, as dicts with
        `operation_type`, `execution_time`, `input_shapes` and `output_shapes`. The
        model itself is "(root)"."""
        keys = ("execution_time", "input_shapes", "output_shapes")
        found = {}
        for node in self._graph().nodes.values():
            if node.module_name is None:
                continue
            row = {"operation_type": node.operation_type.value}
            row.update({key: getattr(node, key) for key in keys})
            found.setdefault(node.module_name or "(root)", []).append(row)
        return found

    def export_graph(self, filepath, format="json"):
        """Write get_graph_data() as JSON; returns the path."""
        if format != "json":
            raise ValueError(f"format must be 'json', not {format!r}")
        text = json.dumps(self.get_graph_data(), indent=2)
        with open(filepath, "w", encoding="utf-8") as file:
            file.write(text)
        return os.fspath(filepath)

    def visualize_graph(self, renderer="plotly"):
        """A figure of the graph, by "plotly" or "matplotlib"."""
        from torchoscope.compat.torch_vis.pictures import draw

        graph = self._graph()
        return draw(graph.nodes, graph.edges, type(self.model).__name__, renderer)


def _counted(names):
    counts = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


# --- one run


def run_tracked(tracker, given):
    """Run the tracker's model forward and backward, and leave it as it was."""
    model = tracker.model
    tracker._only_model = True
    with state_guard(model), torch.enable_grad():
        args, kwargs = _arguments(given)
        tracker.start_tracking()
        try:
            result = model(*args, **kwargs)
            ends = list(differentiable(result))
            if ends:
                sum(one.sum() for one in ends).backward()
        finally:
            tracker.stop_tracking()


def _arguments(given):
    """(args, kwargs) with copies of all tensors, so that the user's get no gradient."""
    if isinstance(given, dict):
        return (), {key: _copied(one) for key, one in given.items()}
    if isinstance(given, (tuple, list)):
        return tuple(_copied(one) for one in given), {}
    return (_copied(given),), {}


def _copied(one):
    if not isinstance(one, torch.Tensor):
        return one
    return one.detach().clone().requires_grad_(one.requires_grad)
