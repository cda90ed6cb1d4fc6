"""Figures of torch_vis's graph, by plotly or matplotlib. Nodes are placed in layers:
each below all that its data and gradients come from."""

from torchoscope.compat.torch_vis.graph import OperationType

_COLOURS = {
    OperationType.FORWARD: "#2a78b5",
    OperationType.BACKWARD: "#c8553d",
    OperationType.TENSOR_OP: "#3b9e6f",
    OperationType.LAYER_OP: "#6b7280",
    OperationType.GRADIENT_OP: "#d69a2d",
    OperationType.MEMORY_OP: "#7d6bb0",
    OperationType.CUSTOM: "#b5478f",
}
_EDGES = {
    "data_flow": "#5b6b7b",
    "gradient_flow": "#dd9a8b",
    "backward_of": "#d3d3d3",
    "call": "#ececec",
}
_MOST_LABELS = 120  # beyond that labels would cover one another


def check_renderer(renderer):
    """Raise a sentence that says what is missing."""
    if renderer not in _RENDERERS:
        raise ValueError(f"renderer must be 'plotly' or 'matplotlib', not {renderer!r}")
    try:
        __import__(renderer)
    except ImportError as error:
        text = f"renderer={renderer!r} needs {renderer}, which is not installed"
        raise ImportError(f"{text}: pip install {renderer}", name=renderer) from error


def draw(nodes, edges, title, renderer):
    """The figure of {id: GraphNode} and a list of GraphEdge."""
    check_renderer(renderer)
    return _RENDERERS[renderer](nodes, edges, places(nodes, edges), title)


# --- where nodes are


def places(nodes, edges):
    """{id: (x, y)}: y is minus the layer; x spreads the nodes of a layer evenly, in the
    order of what is above them."""
    layers = _layers(nodes, edges)
    above = {}
    for edge in edges:
        if edge.edge_type != "call":
            above.setdefault(edge.target_id, []).append(edge.source_id)
    rows = {}
    for name in nodes:
        rows.setdefault(layers[name], []).append(name)
    found = {}
    for layer in sorted(rows):
        wanted = {name: _middle(name, above, found) for name in rows[layer]}
        row = sorted(rows[layer], key=lambda name: wanted[name])
        for at, name in enumerate(row):
            found[name] = (at - (len(row) - 1) / 2, -layer)
    return found


def _middle(name, above, found):
    places = [found[one][0] for one in above.get(name, ()) if one in found]
    return sum(places) / len(places) if places else 0.0


def _layers(nodes, edges):
    """{id: layer}, by the longest path; without recursion."""
    flow = [edge for edge in edges if edge.edge_type != "call"]
    flow += [edge for edge in edges if edge.edge_type == "call"]
    after, waiting = {}, dict.fromkeys(nodes, 0)
    for edge in flow:
        after.setdefault(edge.source_id, []).append(edge.target_id)
        waiting[edge.target_id] += 1
    layers = {}
    ready = [name for name in nodes if waiting[name] == 0]
    while ready:
        following = []
        for name in ready:
            layers.setdefault(name, 0)
            for other in after.get(name, ()):
                layers[other] = max(layers.get(other, 0), layers[name] + 1)
                waiting[other] -= 1
                if waiting[other] == 0:
                    following.append(other)
        ready = following
    return {name: layers.get(name, 0) for name in nodes}


def _path(start, end):
    """The points of an edge: bent if it would run behind the nodes between its ends."""
    (x0, y0), (x1, y1) = start, end
    if y0 - y1 <= 1 or abs(x0 - x1) > 0.5:
        return [start, end]
    side = (x0 + x1) / 2 - 0.4
    return [start, (side, y0 - 0.5), (side, y1 + 0.5), end]


# --- what is said


def _told(node):
    lines = [
        f"<b>{node.name}</b>",
        f"{node.operation_type.value}, {node.module_name or ''}",
    ]
    lines.append(f"in {_listed(node.input_shapes)}")
    lines.append(f"out {_listed(node.output_shapes)}")
    if node.execution_time is not None:
        lines.append(f"{node.execution_time * 1e6:.1f} μs")
    if node.memory_usage is not None:
        lines.append(f"{node.memory_usage:,} bytes")
    return "<br>".join(lines)


def _listed(shapes):
    return ", ".join("×".join(map(str, one)) or "scalar" for one in shapes or ())


def _by_type(nodes):
    found = {}
    for node in nodes.values():
        found.setdefault(node.operation_type, []).append(node)
    return found


# --- plotly


def _plotly(nodes, edges, at, title):
    import plotly.graph_objects as go

    figure = go.Figure()
    for kind, colour in reversed(_EDGES.items()):
        xs, ys = [], []
        for edge in edges:
            if edge.edge_type == kind:
                points = _path(at[edge.source_id], at[edge.target_id])
                xs += [*(x for x, _ in points), None]
                ys += [*(y for _, y in points), None]
        line = {"color": colour, "width": 1.5 if kind == "data_flow" else 1}
        if xs:
            label = kind.replace("_", " ")
            options = {"mode": "lines", "line": line, "hoverinfo": "skip"}
            figure.add_trace(go.Scatter(x=xs, y=ys, name=label, **options))
    mode = "markers+text" if len(nodes) <= _MOST_LABELS else "markers"
    for kind, group in _by_type(nodes).items():
        figure.add_trace(
            go.Scatter(
                x=[at[node.id][0] for node in group],
                y=[at[node.id][1] for node in group],
                mode=mode,
                name=kind.value,
                text=[node.name for node in group],
                textposition="middle right",
                marker={"size": 11, "color": _COLOURS[kind]},
                customdata=[_told(node) for node in group],
                hovertemplate="%{customdata}<extra></extra>",
            )
        )
    deep = 1 - min((y for _, y in at.values()), default=0)
    hidden = {"visible": False}
    figure.update_layout(
        title=f"Computational graph of {title}",
        height=max(600, min(40 * deep, 12000)),
        xaxis=hidden,
        yaxis=hidden,
        plot_bgcolor="white",
        hovermode="closest",
    )
    return figure


# --- matplotlib


def _matplotlib(nodes, edges, at, title):
    import matplotlib.pyplot as plt
    from matplotlib.collections import LineCollection

    deep = 1 - min((y for _, y in at.values()), default=0)
    wide = 1 + 2 * max((x for x, _ in at.values()), default=0)
    size = (min(6 + 1.2 * wide, 60), min(max(4, 0.45 * deep), 150))
    figure, axes = plt.subplots(figsize=size)
    for kind, colour in reversed(_EDGES.items()):
        lines = [
            _path(at[edge.source_id], at[edge.target_id])
            for edge in edges
            if edge.edge_type == kind
        ]
        label = kind.replace("_", " ") if lines else None
        axes.add_collection(LineCollection(lines, colors=colour, label=label, zorder=1))
    for kind, group in _by_type(nodes).items():
        xs, ys = zip(*(at[node.id] for node in group))
        axes.scatter(xs, ys, s=40, color=_COLOURS[kind], label=kind.value, zorder=2)
    for node in nodes.values() if len(nodes) <= _MOST_LABELS else ():
        x, y = at[node.id]
        axes.annotate(node.name, (x, y), (6, 0), textcoords="offset points", fontsize=7)
    axes.set_title(f"Computational graph of {title}")
    axes.legend(loc="upper right", fontsize=7)
    axes.margins(0.12)
    axes.set_axis_off()
    return figure


_RENDERERS = {"plotly": _plotly, "matplotlib": _matplotlib}
