"""The rows of TorchExplorer's data.json: a list of flat dicts, one for each node and edge,
with nested lists as text: `::` between elements, `;` between lists, `!!` between fields
and `|` between histograms."""

from torch.nn import ModuleDict, ModuleList

from torchoscope.compat.torchexplorer.core import (
    DummyAttachModule,
    ModuleInvocationHistograms,
    ModuleSharedHistograms,
)
from torchoscope.compat.torchexplorer.places import Places, label_of

DASH = "–"
_NODE = "id child_ids parent_stack display_name tooltip input_histograms "
_NODE += "output_histograms param_histograms corners active_on_id"
_EDGE = "path_points arrowhead_points active_on_id"
KEYS = [f"nodes:{key}" for key in _NODE.split()]
KEYS += [*(f"edges:{key}" for key in _EDGE.split()), "type"]
_END = [(-10000.0, -10000.0)]
_LETTER = 6.4  # pixels of a letter in a tooltip


class Rows:
    """The rows of one structure. Places are found once: the structure does not change."""

    def __init__(self, structure):
        self._structure = structure
        self._places = {}  # structure_id -> Places

    def now(self):
        """The rows with the histograms of this moment, a list of dicts."""
        root = _Node(None, self._structure, None, type(self._structure.module).__name__)
        nodes, edges, todo = [], [], [root]
        while todo:  # nodes before what is inside them
            node = todo.pop()
            node.number = len(nodes)
            nodes.append(node)
            if node.structure is not None:
                places = self._of(node.structure)
                edges += [(node.number, *line) for line in places.lines]
                todo += reversed(self._inside(node, places))
        for node in nodes:
            above = node.parent
            while above is not None:
                above.below.append(node.number)
                above = above.parent
        found = [_row("nodes", node.members()) for node in nodes]
        return found + [_row("edges", _edge(*edge)) for edge in edges]

    def _of(self, structure):
        if structure.structure_id not in self._places:
            self._places[structure.structure_id] = Places(structure.inner_graph)
        return self._places[structure.structure_id]

    def _inside(self, parent, places):
        graph, found = parent.structure.inner_graph, []
        for one, box in places.boxes.items():
            structure = None if isinstance(one, str) else one
            node = _Node(parent, structure, box, label_of(one, graph))
            if structure is None:
                node.show_tensor(one)
            else:
                node.show_call()
            found.append(node)
        return found


def _row(kind, members):
    row = dict.fromkeys(KEYS)
    row.update((f"{kind}:{key}", value) for key, value in members.items())
    row["type"] = kind
    return row


def _edge(owner, path, arrow):
    return {
        "path_points": _lists([*path, *_END]),
        "arrowhead_points": _lists([*arrow, *_END]),
        "active_on_id": owner,
    }


class _Node:
    def __init__(self, parent, structure, box, name):
        self.parent, self.structure, self.name = parent, structure, name
        self.box = box or (0, 0, 0, 0)
        self.number, self.below = None, []
        self.tooltip = ""
        self.hists = self.grads = ModuleInvocationHistograms()
        self.shared = ModuleSharedHistograms()

    def show_call(self):
        """A call of a module, or an attached tensor."""
        structure, parent = self.structure, self.parent.structure
        metadata, call = structure.module_metadata(), structure.invocation_id
        if isinstance(structure.module, DummyAttachModule):
            self._show_size(metadata.input_sizes.get(call))
        else:
            title = _name_in(structure.module, parent.module)
            self._set_tooltip(title, _sizes(metadata, call) + _extra(structure.module))
        self.hists = metadata.invocation_hists.get(call, self.hists)
        self.grads = metadata.invocation_grad_hists.get(call, self.grads)
        self.shared = metadata.shared_hists

    def show_tensor(self, name):
        """An input or output of the module."""
        metadata = self.parent.structure.module_metadata()
        call = self.parent.structure.invocation_id
        kind, number = name.split()
        sizes = metadata.input_sizes if kind == "Input" else metadata.output_sizes
        self._show_size(sizes.get(call, [])[int(number) :][:1])

        def only(table):
            hists = table.get(call, ModuleInvocationHistograms())
            hists = hists.input_hists if kind == "Input" else hists.output_hists
            one = hists[int(number) :][:1]
            return ModuleInvocationHistograms(one, one)

        self.hists = only(metadata.invocation_hists)
        self.grads = only(metadata.invocation_grad_hists)

    def _show_size(self, trackers):
        for tracker in trackers or ():
            title = tracker.type.rpartition(".")[2]
            self._set_tooltip(title, [("size", _size(tracker))])

    def _set_tooltip(self, title, pairs):
        keys = [key if len(key) <= 10 else f"{key[:9]}..." for key, _ in pairs]
        values = [value for _, value in pairs]
        longest = max(map(len, [title, *map("".join, zip(keys, values))]))
        width, height = longest * _LETTER * 0.95 + 20, 33 + 13 * len(keys)
        left, middle = self.box[2] + 20, (self.box[1] + self.box[3]) / 2
        corners = left, middle - height / 2, left + width, middle + height / 2
        parts = [_list(corners), title, _list(keys), _list(values)]
        self.tooltip = "!!".join(parts)

    def members(self):
        stack, node = [], self
        while node is not None:
            stack.append((node.name, node.number))
            node = node.parent
        return {
            "id": self.number,
            "child_ids": _list(self.below),
            "parent_stack": _lists(reversed(stack)),
            "display_name": self.name,
            "tooltip": self.tooltip,
            "input_histograms": _of_call(
                "input", self.hists.input_hists, self.grads.input_hists
            ),
            "output_histograms": _of_call(
                "output", self.hists.output_hists, self.grads.output_hists
            ),
            "param_histograms": _of_params(self.shared),
            "corners": _list(self.box),
            "active_on_id": -1 if self.parent is None else self.parent.number,
        }


# --- histograms


def _of_call(word, values, gradients):
    def named(hists, suffix):
        several = len(hists) > 1
        return [
            ([f"{word} {i}" if several else word, suffix], hist)
            for i, hist in enumerate(hists)
        ]

    raw, grads = named(values, "raw val"), named(gradients, "grad norm")
    if len(raw) == len(grads):
        pairs = [one for pair in zip(raw, grads) for one in pair]
    else:
        pairs = raw + grads
    return _histograms(pairs)


def _of_params(shared):
    pairs = [([name, " raw val"], hist) for name, hist in shared.param_hists.items()]
    pairs += [([name, "grad"], hist) for name, hist in shared.param_grad_hists.items()]
    return _histograms(sorted(pairs, key=lambda pair: _list(pair[0])))


def _histograms(pairs):
    return "|".join(_histogram(name, hist) for name, hist in pairs if hist.history_bins)


def _histogram(name, hist):
    columns, times = hist.subsample_history()
    fields = [
        _list(name),
        _list([short(hist.min), short(hist.max)]),
        _list([hist.min, hist.max]),
        hist.params.time_unit,
        _list([short(times[0]), short(times[-1])]),
        _list(times),
        _lists(columns),
    ]
    return "!!".join(fields)


def short(number):
    """A number in a few letters, with a long minus."""
    try:
        size = abs(number)
    except TypeError:
        return str(number)
    if 1 < size < 100:
        text = str(number) if isinstance(number, int) else f"{number:.1f}"
    elif 0.1 < size < 100:
        text = f"{number:.2f}"
    else:
        mantissa, _, exponent = f"{number:.1e}".partition("e")
        text = f"{mantissa}e{int(exponent):+d}" if exponent else mantissa
    return text.replace("-", DASH)


def _list(items):
    return "::".join(map(str, items))


def _lists(lists):
    return ";".join(map(_list, lists))


# --- tooltips


def _size(tracker):
    return str(tracker.size).replace("None", DASH)


def _sizes(metadata, call):
    found = []
    for word, sizes in (("in", metadata.input_sizes), ("out", metadata.output_sizes)):
        trackers = sizes.get(call, [])
        for i, tracker in enumerate(trackers):
            number = i if len(trackers) > 1 else ""
            found.append((f"{word}{number}_size", _size(tracker)))
    return found


def _extra(module):
    """The parts of extra_repr() as pairs: key=value, or a dash and the value."""
    try:
        text = str(module.extra_repr())
    except Exception:  # code of the user
        return []
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    pairs = [part.strip().partition("=") for part in parts if part.strip()]
    return [(key, value) if equals else (DASH, key) for key, equals, value in pairs]


def _name_in(module, parent):
    for name, child in parent._modules.items():
        if child is module:
            return name
        if isinstance(child, (ModuleList, ModuleDict)):
            for key, one in child._modules.items():
                if one is module:
                    return f"{name}[{key}]"
    return ""
