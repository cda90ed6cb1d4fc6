"""Positions of torch_vis's nodes and edges in a figure, in pixels from the top left, by
the layout of torchoscope's own pictures. Forward runs down, its layers are frames;
autograd runs up beside it, mirrored, so that its longest chain is next to forward."""

from torchoscope import _core

HEIGHT = 24  # of a box
BAND = 24  # of a frame's title
_LETTER = 6.4  # pixels of a letter
_APART = 120  # between forward and backward
_MARGIN = 20


class Places:
    """`boxes` is {id: (x, y, w, h)}, `frames` the ids of those that contain others,
    outer ones first. `lines` is a list of (GraphEdge, corners)."""

    def __init__(self, nodes, edges):
        self.boxes, self.frames, self.lines = {}, [], []
        forward = [n for n in nodes.values() if n.metadata.get("phase") != "backward"]
        backward = [n for n in nodes.values() if n.metadata.get("phase") == "backward"]
        parents = {e.target_id: e.source_id for e in edges if e.edge_type == "call"}
        first = _Part(forward, parents, edges, upwards=False)
        second = _Part(backward, {}, edges, upwards=True)
        right = first.width + _APART if forward else 0
        self.width, self.height = second.width, max(first.height, second.height)
        self.width += 2 * _MARGIN + right if backward else first.width - second.width
        self._take(first, _MARGIN, _MARGIN)
        self._take(second, _MARGIN + right, _MARGIN + self.height - second.height)
        self.height += 2 * _MARGIN
        drawn = {id(edge) for edge, _ in self.lines}
        for edge in edges:
            if edge.edge_type != "call" and id(edge) not in drawn:
                self.lines.append((edge, self._across(edge)))

    def _take(self, part, left, top):
        for name, (x, y, w, h) in part.boxes.items():
            self.boxes[name] = (x + left, y + top, w, h)
        self.frames += part.frames
        for edge, corners in part.lines:
            self.lines.append((edge, [(x + left, y + top) for x, y in corners]))

    def _across(self, edge):
        """From one part to the other, or to a frame: from side to side."""
        x0, y0, w0, h0 = self.boxes[edge.source_id]
        x1, y1, w1, h1 = self.boxes[edge.target_id]
        start = x0 + w0 if x1 >= x0 else x0
        end = x1 if x1 >= x0 else x1 + w1
        y0, y1, turn = y0 + h0 / 2, y1 + h1 / 2, end + (-20 if x1 >= x0 else 20)
        return [(start, y0), (turn, y0), (turn, y1), (end, y1)]


class _Part:
    """A graph that is arranged by itself."""

    def __init__(self, nodes, parents, edges, upwards):
        mine = {node.id: node for node in nodes}
        parents = {name: up for name, up in parents.items() if {name, up} <= set(mine)}
        groups = set(parents.values())
        order = _outer_first(mine, parents, groups)
        order = order[::-1] if upwards else order
        index = {name: at for at, name in enumerate(order)}
        boxes = [
            (index.get(parents.get(name), -1), _width(mine[name]), HEIGHT)
            for name in order
        ]
        flow = "gradient_flow" if upwards else "data_flow"
        inside = [
            edge
            for edge in edges
            if edge.edge_type == flow
            and {edge.source_id, edge.target_id} <= set(mine)
            and edge.source_id != edge.target_id
            and not {edge.source_id, edge.target_id} & groups
        ]
        ends = [(index[edge.source_id], index[edge.target_id]) for edge in inside]
        ends = [(target, source) for source, target in ends] if upwards else ends
        self.width, self.height, places, lines = _core._arrange(boxes, ends)
        if upwards:
            places = [(self.width - x - w, y, w, h) for x, y, w, h in places]
            lines = [[(self.width - x, y) for x, y in line[::-1]] for line in lines]
        self.boxes = dict(zip(order, places))
        self.frames = [name for name in order if name in groups]
        self.lines = [one for one in zip(inside, lines) if one[1]]


def _width(node):
    return 28 + int(_LETTER * len(node.name))


def _outer_first(nodes, parents, groups):
    """Ids in the order of execution, each frame before its content."""
    below, order = {}, []
    for name in nodes:
        if name not in groups:
            while name is not None and name not in below.setdefault(
                parents.get(name), {}
            ):
                below[parents.get(name)][name] = True  # a dict keeps the order
                name = parents.get(name)
    stack = [iter(below.get(None, ()))]
    while stack:
        name = next(stack[-1], None)
        if name is None:
            stack.pop()
        else:
            order.append(name)
            stack.append(iter(below.get(name, ())))
    return order
