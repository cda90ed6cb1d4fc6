"""Where the nodes and edges of a structure lie: pixels, y upwards, the inputs centred at
(0, 0). By the layout of torchoscope's own pictures."""

from torchoscope import _core
from torchoscope.compat.torchexplorer.core import DummyAttachModule

_HEIGHT, _ARROW, _HALF = 36, 10, 3.5
_STEP = 20  # most pixels between the points of a line


def label_of(node, graph):
    """What a node is called in its graph."""
    if isinstance(node, str):
        kind, number = node.split()
        return node if f"{kind} 1" in graph or number != "0" else kind
    if isinstance(node.module, DummyAttachModule):
        return f"{node.module.attach_name} ᴬ"
    return type(node.module).__name__


def _in_order(graph):
    """The nodes, each after those that it depends on; outputs last."""
    missing = {node: graph.in_degree(node) for node in graph.nodes}
    found = [node for node, n in missing.items() if n == 0 and not _is_output(node)]
    for node in found:  # grows
        for target in graph.successors(node):
            missing[target] -= 1
            if missing[target] == 0 and not _is_output(target):
                found.append(target)
    known = set(found)
    return found + [node for node in graph.nodes if node not in known]


def _is_output(node):
    return isinstance(node, str) and node.startswith("Output")


class Places:
    """`boxes` is {node: (left, bottom, right, top)}, `lines` a list of (points of the
    line, points of its arrowhead)."""

    def __init__(self, graph):
        nodes = _in_order(graph)
        index = {node: i for i, node in enumerate(nodes)}
        widths = [max(54, 14 + 8 * len(label_of(node, graph))) for node in nodes]
        edges = [(index[a], index[b]) for a, b in graph.edges]
        sizes = [(-1, width, _HEIGHT) for width in widths]
        _, _, places, lines = _core._arrange(sizes, edges)
        inputs = [
            (x + w / 2, -(y + h / 2))
            for node, (x, y, w, h) in zip(nodes, places)
            if isinstance(node, str) and node.startswith("Input")
        ]
        count = max(1, len(inputs))
        self._left = sum(x for x, _ in inputs) / count
        self._top = sum(y for _, y in inputs) / count
        found = {
            node: (*self._at(x, y + h), *self._at(x + w, y))
            for node, (x, y, w, h) in zip(nodes, places)
        }
        self.boxes = {node: found[node] for node in graph.nodes}
        self.lines = [
            self._line([self._at(x, y) for x, y in line] or self._straight(nodes, edge))
            for edge, line in zip(edges, lines)
        ]

    def _at(self, x, y):
        return x - self._left, -y - self._top

    def _straight(self, nodes, edge):
        source, target = (self.boxes[nodes[i]] for i in edge)
        return [
            ((source[0] + source[2]) / 2, source[1]),
            ((target[0] + target[2]) / 2, target[3]),
        ]

    def _line(self, points):
        x, y = points[-1]
        shaft = [*points[:-1], (x, y + _ARROW)]
        return _dense(shaft), [
            (x + _HALF, y + _ARROW),
            (x, y),
            (x - _HALF, y + _ARROW),
        ]


def _dense(points):
    """With more points, so that none is far from the next."""
    found = points[:1]
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        steps = int(length // _STEP)
        found += [
            (x0 + (x1 - x0) * i * _STEP / length, y0 + (y1 - y0) * i * _STEP / length)
            for i in range(1, steps + 1)
            if i * _STEP < length
        ]
        found.append((x1, y1))
    return found
