"""graph(): the graph of a model, a recording or a TorchScript file, as nodes and edges and
as a picture."""

import functools
import html as escaping
import json as json_module
import os
from functools import cached_property

from torchoscope import _core
from torchoscope.keywords import takes_inputs
from torchoscope.recording import Recording, Row
from torchoscope.tables import data_frame

# A sandboxed page, which cannot access the notebook around it.
_FRAME = (
    '<iframe sandbox="allow-scripts" srcdoc="{}" title="graph of the network" '
    'style="width:100%;height:640px;border:0"></iframe>'
)

_NODE = (
    "id kind name op call module class number phase family line step ns flops ops "
    "shape dtype"
)


class Node(Row):
    """An operation, a call of a module, or a tensor that neither of them made."""

    __slots__ = ()
    _known = frozenset(_NODE.split()) - {"class", "shape"}

    @property
    def class_name(self):
        """For a call: the class of its module, without the Python module; else None."""
        name = self._row.get("class")
        return None if name is None else name.rpartition(".")[2]

    @property
    def shape(self):
        """The shape of its first result, a tuple; None if it has none."""
        shape = self._row["shape"]
        return None if shape is None else tuple(shape)

    def __repr__(self):
        name = self.name or ("(root)" if self.kind == "call" else "")
        shape = "" if self.shape is None else f" {list(self.shape)}"
        return f"<{self.id} {self.kind} {name}".rstrip() + f"{shape}>"


class Edge(Row):
    """A value that one node made and another reads."""

    __slots__ = ()
    _known = frozenset(
        "source target value dtype gradient_l2 gradient_share loose".split()
    )

    @property
    def shape(self):
        """The shape of the value, a tuple; None if a file does not record it."""
        shape = self._row["shape"]
        return None if shape is None else tuple(shape)

    def __repr__(self):
        shape = "" if self.shape is None else f" {list(self.shape)}"
        return f"<{self.source} -> {self.target}{shape}>"


class _Drawn:
    """Something that can be drawn: a document, and a picture in several forms."""

    def __init__(self, document, core, options):
        self._document = document  # a dict, or a function that returns it
        self._core = core  # draws the picture
        self._options = options or {}

    @cached_property
    def json(self):
        """The document of docs/json.md, a dict."""
        return self._document() if callable(self._document) else self._document

    @property
    def level(self):
        """ "ops" or "modules"."""
        return self.json["level"]

    def _checked(self, options):
        if self._core is None:
            raise ValueError("this graph was made from a document: it cannot be drawn")
        return {**self._options, **options}

    def picture(self, form, **options):
        """The picture in a form: "svg", "png", "pdf", "html", "dot", "mmd" or "json"; bytes
        for png and pdf, else a str. The options are those of graph()."""
        data = self._draw(form, self._checked(options))
        return data if form.lower() in ("png", "pdf") else data.decode()

    @property
    def svg(self):
        """The picture as SVG, a str."""
        return self.picture("svg")

    @property
    def html(self):
        """The interactive picture, a self-contained HTML page, a str."""
        return self.picture("html")

    def save(self, path, **options):
        """Write the picture. The suffix of the path selects the form:

        .svg .png .pdf .html .dot .mmd .json
        """
        self._write(os.fspath(path), self._checked(options))

    def _repr_mimebundle_(self, include=None, exclude=None):
        if self._core is None:
            return {"text/plain": repr(self)}
        frame = _FRAME.format(escaping.escape(self.html))
        return {"text/plain": repr(self), "text/html": frame, "image/svg+xml": self.svg}


class Graph(_Drawn):
    """Nodes, and the values that flow between them. `json` is the document `graph` of
    docs/json.md, a dict. A notebook shows the picture of it."""

    def __init__(self, document, core=None, options=None):
        super().__init__(document, core, options)

    def _draw(self, form, options):
        return self._core.picture(form, **options)

    def _write(self, path, options):
        self._core.save_picture(path, **options)

    @cached_property
    def nodes(self):
        """A list of Node."""
        return [Node(row) for row in self.json["nodes"]]

    @cached_property
    def edges(self):
        """A list of Edge."""
        return [Edge(row) for row in self.json["edges"]]

    def __reduce__(self):
        return Graph, (self.json,)

    @property
    def exact(self):
        """Whether edges come from recorded operations."""
        return self.json["exact"]

    @property
    def why(self):
        """Why the graph is not exact; None if it is."""
        return self.json.get("exact_why")

    @property
    def inputs(self):
        """The nodes of the input tensors of a pass, or of the operations that made them
        before it."""
        return [self.nodes[number] for number in self.json["inputs"]]

    @property
    def outputs(self):
        """The nodes of the tensors that a pass returned."""
        return [self.nodes[number] for number in self.json["outputs"]]

    def to_networkx(self):
        """A networkx.MultiDiGraph. Nodes are ids; the members of nodes and edges are
        their attributes, and `value` is the key of an edge."""
        try:
            import networkx
        except ImportError as error:
            text = "to_networkx() needs networkx, which is not installed"
            text += ": pip install networkx"
            raise ImportError(text, name="networkx") from error
        graph = networkx.MultiDiGraph(level=self.level, exact=self.exact)
        for row in self.json["nodes"]:
            graph.add_node(row["id"], **{k: v for k, v in row.items() if k != "id"})
        for row in self.json["edges"]:
            ends = row["source"], row["target"]
            members = {k: v for k, v in row.items() if k not in ("source", "target")}
            graph.add_edge(*ends, key=row["value"], **members)
        return graph

    def to_pandas(self, table="edges"):
        """A pandas.DataFrame of the "edges" or the "nodes"."""
        if table not in ("edges", "nodes"):
            raise ValueError(f"table must be edges or nodes, not {table!r}")
        return data_frame(self.json[table])

    def __repr__(self):
        counts = f"{len(self.nodes)} nodes, {len(self.edges)} edges"
        how = "" if self.exact else ", not exact"
        return f"<torchoscope.Graph of {self.level}: {counts}{how}>"


class BoxChange(Row):
    """A box of two networks: a module, an operation, an input or output, or a group."""

    __slots__ = ()
    _known = frozenset("id kind name inside words change".split())

    def __repr__(self):
        return f"<{self.change or 'equal'} {self.kind} {self.id}>"


class LineChange(Row):
    """A line between two boxes of two networks."""

    __slots__ = ()
    _known = frozenset("source target change".split())

    def __repr__(self):
        return f"<{self.change or 'equal'} {self.source} -> {self.target}>"


class GraphDiff(_Drawn):
    """The differences between two graphs: the boxes and lines of both. `json` is the
    document `graph_diff` of docs/json.md, a dict. A notebook shows the picture of
    it."""

    def __init__(self, old, new, options=None, document=None):
        super().__init__(document or self._read, old, options)
        self._new = new

    def _read(self):
        return json_module.loads(self.picture("json"))

    def _draw(self, form, options):
        return _core.picture_diff(self._core, self._new, form, None, **options)

    def _write(self, path, options):
        _core.picture_diff(self._core, self._new, "", path, **options)

    @cached_property
    def nodes(self):
        """A list of BoxChange, groups before what is inside them."""
        return [BoxChange(row) for row in self.json["nodes"]]

    @cached_property
    def edges(self):
        """A list of LineChange."""
        return [LineChange(row) for row in self.json["edges"]]

    def _of(self, change):
        groups = {node.inside for node in self.nodes}
        found = (node for node in self.nodes if node.change == change)
        return [node for node in found if node.id not in groups]

    @property
    def added(self):
        """The innermost boxes that only the new network has."""
        return self._of("added")

    @property
    def removed(self):
        """The innermost boxes that only the old network has."""
        return self._of("removed")

    @property
    def changed(self):
        """The boxes whose class, arguments or results differ; `words` describes how."""
        return self._of("changed")

    @property
    def is_equal(self):
        """Whether there are no differences."""
        rows = [*self.json["nodes"], *self.json["edges"]]
        return all(row["change"] is None for row in rows)

    def __reduce__(self):
        return GraphDiff, (None, None, None, self.json)

    def __repr__(self):
        names = ("added", "removed", "changed", "equal")
        counts = ", ".join(f"{self.json[name]} {name}" for name in names)
        return f"<torchoscope.GraphDiff of {self.level}: {counts}>"


def _is_model(what):
    paths = isinstance(what, (str, os.PathLike, Recording))
    return not paths and hasattr(what, "forward")


@functools.partial(takes_inputs, is_run=_is_model)
def graph(
    what,
    *inputs,
    kwargs=None,
    level="modules",
    root=None,
    depth=None,
    focus=None,
    neighbours=None,
    to=None,
    all=False,
    color=None,
    direction=None,
    theme=None,
    background=None,
    backward=None,
    loss=None,
    diff=None,
):
    """The Graph of a model, a recording or the code in a file, which draws itself.

    what      a model, which is run once with `inputs` as trace() does; a Recording or
              its path; a TorchScript archive, which is not run: its path or a Model
    diff      a newer one: the result is the GraphDiff from `what` to it. A model
             runs with the same inputs
    kwargs    keyword arguments of forward; other keywords go to forward too, unless they
              are options of graph()
    level     "modules", or "ops": every operation
    root      only what is inside this module
    depth     how many levels are open at first; by default what fits one page
    focus     only this module and what is `neighbours` (1) lines away from it, or with
              `to` what is on a path to that module
    all       do not fold repeated blocks, chains of views and boxes with similar names
    color     "family", "params", "time", "memory", "flops" or "grad"
    direction "tb", top to bottom, or "lr"
    theme     "light" or "dark"; background="none" is transparent
    backward, loss   as for trace(); by default only if color is "grad"

    docs/python.md has the details."""
    look = {
        **{"level": level, "root": root, "depth": depth, "focus": focus},
        **{"neighbours": neighbours, "to": to, "all": all, "color": color},
        **{"direction": direction, "theme": theme, "background": background},
    }
    things = [what] if diff is None else [what, diff]
    if (inputs or kwargs) and not any(map(_is_model, things)):
        raise TypeError(f"graph(): a {type(what).__name__} is not run: it takes no inputs")
    drawn = [_drawn(thing, inputs, kwargs, backward, loss, color) for thing in things]
    if diff is not None:
        return GraphDiff(*(one._now() for one in drawn), look)
    core = drawn[0]._now()
    if isinstance(drawn[0], Recording):
        return Graph(lambda: core.graph(level), core, look)
    return Graph(lambda: json_module.loads(core.picture("json", level=level)), core, look)


def _drawn(thing, inputs, kwargs, backward, loss, color):
    """A Recording or Model as it is, or from its path; a model is run."""
    if isinstance(thing, (str, os.PathLike)):
        from torchoscope import open as open_file

        return open_file(thing)
    if _is_model(thing):
        return _traced(thing, inputs, kwargs, backward, loss, color)
    if not hasattr(thing, "_now"):
        kind = type(thing).__name__
        why = "; a state_dict has no graph, its model has" if isinstance(thing, dict) else ""
        raise TypeError(f"graph() draws a model, a recording or a file, not a {kind}{why}")
    return thing


def _traced(model, inputs, kwargs, backward, loss, color):
    from torchoscope.inputs import Inputs
    from torchoscope.traces import trace, warm_trace

    if Inputs(model, inputs, kwargs).is_empty:
        name = type(model).__name__
        raise TypeError(f"graph() needs inputs for {name}: pass a tensor or a shape")
    if backward is None:
        backward = loss is not None or color == "grad"
    if color == "time":
        return warm_trace(model, inputs, kwargs, backward=backward, loss=loss)
    return trace(model, *inputs, kwargs=kwargs, backward=backward, loss=loss)
