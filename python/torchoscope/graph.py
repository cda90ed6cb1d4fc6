"""The graph of a recording: operations or calls, and the values between them."""

from torchoscope.recording import Row
from torchoscope.tables import data_frame

_NODE = (
    "id kind name op call module class number phase family line step ns flops ops "
    "shape dtype"
)


class Node(Row):
    """An operation, a call of a module, or a tensor that none of them made."""

    __slots__ = ()
    _known = frozenset(_NODE.split()) - {"class", "shape"}

    @property
    def class_name(self):
        """Of a call: the class of its module, without the module's name; else None."""
        name = self._row.get("class")
        return None if name is None else name.rpartition(".")[2]

    @property
    def shape(self):
        """Of its first result, a tuple; None if it has none."""
        shape = self._row["shape"]
        return None if shape is None else tuple(shape)

    def __repr__(self):
        name = self.name or ("(root)" if self.kind == "call" else "")
        shape = "" if self.shape is None else f" {list(self.shape)}"
        return f"<{self.id} {self.kind} {name}".rstrip() + f"{shape}>"


class Edge(Row):
    """A value that one node made and another reads."""

    __slots__ = ()
    _known = frozenset("source target value dtype loose".split())

    @property
    def shape(self):
        """Of the value, a tuple."""
        return tuple(self._row["shape"])

    def __repr__(self):
        return f"<{self.source} -> {self.target} {list(self.shape)}>"


class Graph:
    """Nodes, and the values that go from one to another. `json` is the document `graph`
    of docs/json.md, a dict."""

    def __init__(self, document):
        self.json = document
        self.nodes = [Node(row) for row in document["nodes"]]
        self.edges = [Edge(row) for row in document["edges"]]

    @property
    def level(self):
        """ "ops" or "modules"."""
        return self.json["level"]

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
        """The nodes of the tensors that a pass was given, or of the operations that
        made them before it."""
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
