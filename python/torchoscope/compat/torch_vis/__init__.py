"""The computational graph of a model's execution, with the interface of torch_vis:

    from torchoscope.compat.torch_vis import track_computational_graph_execution

Every example in torch_vis's documentation runs with this import. docs/python.md, "From
torch_vis", describes each field."""

from torchoscope.compat.torch_vis.graph import GraphEdge, GraphNode, OperationType
from torchoscope.compat.torch_vis.tracker import ComputationalGraphTracker, run_tracked

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


def track_computational_graph_execution(
    model, input_tensor, track_memory=True, track_timing=True, track_tensor_ops=True
):
    """Run a model forward and backward on an input, and return the tracker with what
    was executed. Gradients, buffers and the random state are left as they were.

    input_tensor      a tensor; a tuple or list of arguments; a dict of keywords
    track_memory      bytes that each node allocated
    track_timing      seconds that each node took, and when it began
    track_tensor_ops  operations between modules; without them the run costs less, and
                      edges are only those that the arguments of modules prove
    """
    tracker = ComputationalGraphTracker(
        model, track_memory, track_timing, track_tensor_ops
    )
    run_tracked(tracker, input_tensor)
    return tracker


def analyze_computational_graph_execution(model, input_tensor, detailed=True):
    """Run a model as track_computational_graph_execution() does and return a dict:
    `summary`, `graph_data` and, unless `detailed` is False, `performance` and
    `layer_analysis`."""
    tracker = track_computational_graph_execution(model, input_tensor)
    summary = tracker.get_graph_summary()
    if not detailed:
        return {"summary": summary, "graph_data": None}
    seconds = summary["execution_time"]
    return {
        "summary": summary,
        "graph_data": tracker.get_graph_data(),
        "performance": {
            "total_execution_time": seconds,
            "memory_usage": summary["memory_usage"],
            "operations_per_second": (
                summary["total_nodes"] / seconds if seconds else 0.0
            ),
        },
        "layer_analysis": tracker.layer_analysis(),
    }


def visualize_computational_graph(model, input_tensor, renderer="plotly"):
    """Run a model and draw its graph: a plotly figure, or (renderer="matplotlib") a
    matplotlib figure, which is pyplot's current one."""
    from torchoscope.compat.torch_vis.pictures import check_renderer

    check_renderer(renderer)  # before the model runs
    tracker = track_computational_graph_execution(model, input_tensor)
    return tracker.visualize_graph(renderer)


def export_computational_graph(model, input_tensor, filepath, format="json"):
    """Run a model and write its graph to a file as JSON. Returns the path."""
    if format != "json":
        raise ValueError(f"format must be 'json', not {format!r}")
    tracker = track_computational_graph_execution(model, input_tensor)
    return tracker.export_graph(filepath, format)
