"""Figures of torch_vis's graph, by plotly or matplotlib: boxes and the lines between
them, at the places that places.py finds."""

from torchoscope.compat.torch_vis.graph import OperationType
from torchoscope.compat.torch_vis.places import BAND, Places

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
    "gradient_flow": "#c98477",
    "backward_of": "#d9dde3",
}
_TEXT = "#1b1f27"
_TINT = 0.14  # of a type's colour in its boxes
_FRAME_TINT = 0.05
_LARGEST = 12000  # pixels: browsers and files get slow beyond
_LEAST_SCALE = 0.6  # below, labels would cover one another
_INCH = 96  # pixels


def check_renderer(renderer):
    """Raise an error if the renderer is missing."""
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
    return _RENDERERS[renderer](nodes, Places(nodes, edges), title)


# --- texts


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


# --- shapes


def _by_type(nodes, at):
    """{type: [node]}; frames come first, outer ones before those inside."""
    ordered = [nodes[name] for name in at.frames]
    frames = set(at.frames)
    ordered += [node for node in nodes.values() if node.id not in frames]
    found = {}
    for node in ordered:
        found.setdefault(node.operation_type, []).append(node)
    return found


def _corners(box):
    x, y, w, h = box
    return [(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)]


def _band(box):
    """The title of a frame: lines run behind it."""
    x, y, w, _ = box
    return _corners((x + 1, y + 1, w - 2, BAND - 2))


def _head(line):
    """The arrowhead at the end of a line."""
    (x0, y0), (x, y) = line[-2:]
    across, down = (x > x0) - (x < x0), (y > y0) - (y < y0)
    back = (x - 7 * across, y - 7 * down)
    return [
        (x, y),
        (back[0] - 3.2 * down, back[1] - 3.2 * across),
        (back[0] + 3.2 * down, back[1] + 3.2 * across),
        (x, y),
    ]


def _label_at(node, at):
    """The middle of a box; the title of a frame is at its top."""
    x, y, w, h = at.boxes[node.id]
    is_frame = node.id in at.frames
    return (x + 9, y + BAND / 2) if is_frame else (x + w / 2, y + h / 2)


def _mixed(colour, share):
    """The colour in white."""
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(255 + share * (one - 255)):02x}" for one in parts)


def _fill(kind):
    share = _FRAME_TINT if kind is OperationType.LAYER_OP else _TINT
    return _mixed(_COLOURS[kind], share)


def _scale(at):
    return min(1, _LARGEST / max(at.width, at.height, 1))


# --- plotly


def _joined(lines):
    """{x, y} of several lines, with gaps between them."""
    xs, ys = [], []
    for line in lines:
        xs += [*(x for x, _ in line), None]
        ys += [*(y for _, y in line), None]
    return {"x": xs, "y": ys}


def _plotly_lines(go, at, kind, colour):
    lines = [line for edge, line in at.lines if edge.edge_type == kind]
    same = {"legendgroup": kind, "hoverinfo": "skip", "mode": "lines"}
    line = {"color": colour, "width": 1.25}
    if lines:
        name = kind.replace("_", " ")
        yield go.Scatter(**_joined(lines), name=name, line=line, **same)
        heads = {"fill": "toself", "fillcolor": colour, "line": {"width": 0}}
        same |= {"showlegend": False, "name": name}
        yield go.Scatter(**_joined(map(_head, lines)), **heads, **same)


def _plotly_boxes(go, at, kind, group):
    shapes = [_corners(at.boxes[node.id]) for node in group]
    filled = {"fill": "toself", "fillcolor": _fill(kind), "mode": "lines"}
    line = {"color": _mixed(_COLOURS[kind], 0.6), "width": 1}
    same = {"legendgroup": kind.value, "name": kind.value}
    yield go.Scatter(**_joined(shapes), line=line, hoverinfo="skip", **filled, **same)


def _plotly_bands(go, at, kind, group):
    shapes = [_band(at.boxes[node.id]) for node in group]
    filled = {"fill": "toself", "fillcolor": _fill(kind), "mode": "lines"}
    same = {"legendgroup": kind.value, "name": kind.value, "showlegend": False}
    line = {"width": 0}
    yield go.Scatter(**_joined(shapes), line=line, hoverinfo="skip", **filled, **same)


def _plotly_labels(go, at, kind, group):
    labels = _scale(at) >= _LEAST_SCALE
    where = [_label_at(node, at) for node in group]
    frame = [node.id in at.frames for node in group]
    yield go.Scatter(
        x=[x for x, _ in where],
        y=[y for _, y in where],
        mode="markers+text" if labels else "markers",
        text=[node.name for node in group],
        textposition=["middle right" if one else "middle center" for one in frame],
        textfont={"size": 11, "color": _TEXT},
        marker={"size": 14, "opacity": 0, "color": _COLOURS[kind]},
        customdata=[_told(node) for node in group],
        hovertemplate="%{customdata}<extra></extra>",
        legendgroup=kind.value,
        name=kind.value,
        showlegend=False,
    )


def _plotly(nodes, at, title):
    import plotly.graph_objects as go

    groups = _by_type(nodes, at)
    layers = {k: v for k, v in groups.items() if k is OperationType.LAYER_OP}
    others = {k: v for k, v in groups.items() if k is not OperationType.LAYER_OP}
    figure = go.Figure()
    for kind, group in layers.items():
        figure.add_traces(list(_plotly_boxes(go, at, kind, group)))
    for kind, colour in reversed(_EDGES.items()):
        figure.add_traces(list(_plotly_lines(go, at, kind, colour)))
    for kind, group in layers.items():
        figure.add_traces(list(_plotly_bands(go, at, kind, group)))
    for kind, group in others.items():
        figure.add_traces(list(_plotly_boxes(go, at, kind, group)))
    for kind, group in groups.items():
        figure.add_traces(list(_plotly_labels(go, at, kind, group)))
    scale = _scale(at)
    figure.update_layout(
        title=f"Computational graph of {title}",
        width=max(scale * at.width, 400) + 200,
        height=max(scale * at.height, 200) + 70,
        margin={"l": 10, "r": 190, "t": 60, "b": 10},
        xaxis={"visible": False, "range": [0, max(at.width, 400 / scale)]},
        yaxis={"visible": False, "range": [max(at.height, 200 / scale), 0]},
        plot_bgcolor="white",
        hovermode="closest",
    )
    return figure


# --- matplotlib


def _matplotlib(nodes, at, title):
    import matplotlib.pyplot as plt
    from matplotlib.collections import LineCollection, PolyCollection

    scale = _scale(at)
    wide, high = max(at.width, 400 / scale) + 180 / scale, max(at.height, 200 / scale)
    size = (scale * wide / _INCH, scale * high / _INCH + 0.5)
    figure, axes = plt.subplots(figsize=size)
    figure.subplots_adjust(left=0, right=1, bottom=0, top=1 - 0.5 / size[1])
    for kind, colour in reversed(_EDGES.items()):
        lines = [line for edge, line in at.lines if edge.edge_type == kind]
        if not lines:
            continue
        made = LineCollection(lines, colors=colour, linewidths=0.9, zorder=2)
        made.set_label(kind.replace("_", " "))
        axes.add_collection(made)
        heads = PolyCollection([_head(line) for line in lines], zorder=3)
        heads.set(facecolor=colour, linewidth=0)
        axes.add_collection(heads)
    for kind, group in _by_type(nodes, at).items():
        shapes = [_corners(at.boxes[node.id]) for node in group]
        layer = kind is OperationType.LAYER_OP
        made = PolyCollection(shapes, label=kind.value, zorder=1 if layer else 4)
        made.set(facecolor=_fill(kind), edgecolor=_mixed(_COLOURS[kind], 0.6))
        axes.add_collection(made)
    bands = [_band(at.boxes[name]) for name in at.frames]
    made = PolyCollection(bands, facecolor=_fill(OperationType.LAYER_OP), zorder=3.5)
    axes.add_collection(made)
    for node in nodes.values() if scale >= _LEAST_SCALE else ():
        x, y = _label_at(node, at)
        side = "left" if node.id in at.frames else "center"
        options = {"ha": side, "va": "center", "color": _TEXT, "zorder": 5}
        axes.text(x, y, node.name, fontsize=7.5, **options)
    axes.set(xlim=(0, wide), ylim=(high, 0))
    axes.set_title(f"Computational graph of {title}", loc="left")
    axes.legend(loc="upper right", fontsize=7)
    axes.set_axis_off()
    return figure


_RENDERERS = {"plotly": _plotly, "matplotlib": _matplotlib}
