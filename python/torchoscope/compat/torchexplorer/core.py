"""The interface for TorchExplorer's tests and tools: the metadata of a module, and the
structure of its calls."""

import weakref
from dataclasses import dataclass, field
from typing import Any, Optional

import torch

from torchoscope.compat.torchexplorer.histogram import (
    HistogramParams,
    IncrementalHistogram,
)

__all__ = [
    "DummyAttachModule",
    "ExplorerMetadata",
    "HistogramParams",
    "IncrementalHistogram",
    "ModuleInvocationHistograms",
    "ModuleInvocationStructure",
    "ModuleSharedHistograms",
    "SizeTracker",
]


@dataclass
class SizeTracker:
    """The shape of a tensor over all logged passes: a dimension that varies is None; the
    whole is None if the number of dimensions varies. `type` as tensor.type()."""

    size: Optional[list]
    type: str

    def see(self, shape):
        """A later pass had this shape."""
        if self.size is not None and len(self.size) != len(shape):
            self.size = None
        elif self.size is not None:
            self.size = [a if a == b else None for a, b in zip(self.size, shape)]


@dataclass
class ModuleInvocationHistograms:
    """The histograms of one invocation of a module."""

    input_hists: list = field(default_factory=list)
    output_hists: list = field(default_factory=list)


@dataclass
class ModuleSharedHistograms:
    """The histograms of a module's own parameters, by name."""

    param_hists: dict = field(default_factory=dict)
    param_grad_hists: dict = field(default_factory=dict)


@dataclass
class ExplorerMetadata:
    """`module.torchexplorer_metadata` of a watched module. The keys are invocation ids:
    the index of a call among those of the module in a pass."""

    invocation_hists: dict = field(default_factory=dict)
    invocation_grad_hists: dict = field(default_factory=dict)
    shared_hists: ModuleSharedHistograms = field(default_factory=ModuleSharedHistograms)
    input_sizes: dict = field(default_factory=dict)
    output_sizes: dict = field(default_factory=dict)
    forward_invocation_counter: int = 0
    backward_invocation_counter: int = 0

    def histograms(self):
        """All of them, a list."""
        of_calls = [
            *self.invocation_hists.values(),
            *self.invocation_grad_hists.values(),
        ]
        found = [one for h in of_calls for one in (*h.input_hists, *h.output_hists)]
        shared = self.shared_hists
        return [*found, *shared.param_hists.values(), *shared.param_grad_hists.values()]


class DummyAttachModule(torch.nn.Module):
    """Represents a tensor that was passed to attach()."""

    def __init__(self, name):
        super().__init__()
        self.attach_name = name

    def forward(self, x):
        return x


class ModuleInvocationStructure:
    """A call of a module and what is inside it. `inner_graph` is a networkx.DiGraph. Its
    nodes are "Input 0", ..., "Output 0", ... and then ModuleInvocationStructures in the
    reverse order of their execution; its edges have upstream_output_index and
    downstream_input_index."""

    def __init__(self, module, invocation_id, structure_id, input_n, output_n):
        import networkx

        self.module = module
        self.invocation_id = invocation_id
        self.structure_id = structure_id
        self.inner_graph: Any = networkx.DiGraph()
        names = [f"Input {i}" for i in range(input_n)]
        names += [f"Output {i}" for i in range(output_n)]
        for name in names:
            self.inner_graph.add_node(name, memory_id=None, label=name)

    def module_metadata(self):
        """The ExplorerMetadata of its module."""
        return self.module.torchexplorer_metadata

    def inner_structures(self):
        """The nodes that are calls, a list."""
        nodes = self.inner_graph.nodes
        return [one for one in nodes if isinstance(one, ModuleInvocationStructure)]

    def get_inner_structure(self, module, invocation_id):
        """The node of this call, or None."""
        for one in self.inner_structures():
            if one.module is module and one.invocation_id == invocation_id:
                return one
        return None

    def get_inner_structure_from_memory_id(self, memory_id):
        """The node with this id(), or None."""
        found = (one for one in self.inner_structures() if id(one) == memory_id)
        return next(found, None)

    def get_inner_structure_from_id(self, structure_id):
        """The node with this structure_id, or None."""
        found = (one for one in self.inner_structures() if one.structure_id == structure_id)
        return next(found, None)

    def str_impl(self):
        return f"{type(self.module).__name__}, Invocation {self.invocation_id}"


# --- module.torchexplorer_metadata

NAME = "torchexplorer_metadata"
_table = {}  # id of a module -> (weak reference to it, ExplorerMetadata, its watcher)


class _Descriptor:
    """Finds the metadata in a table. It is not stored in the module, so copies and
    pickles of the module do not contain it."""

    def __get__(self, module, owner=None):
        if module is None:
            return self
        entry = _entry(module)
        if entry is None:
            name = type(module).__name__
            raise AttributeError(f"{name!r} object has no attribute {NAME!r}")
        return entry[1]


def _entry(module):
    entry = _table.get(id(module))
    return entry if entry is not None and entry[0]() is module else None


def give_metadata(module, watcher):
    """A new ExplorerMetadata for a module. `watcher` is not held."""
    if NAME not in torch.nn.Module.__dict__:
        setattr(torch.nn.Module, NAME, _Descriptor())
    key = id(module)
    weak = weakref.ref(module, lambda gone: _forget(key, gone))
    _table[key] = weak, ExplorerMetadata(), weakref.ref(watcher)


def watcher_of(module):
    """The watcher passed to give_metadata() for this module, or None."""
    entry = _entry(module)
    return None if entry is None else entry[2]()


def _forget(key, gone):
    if key in _table and _table[key][0] is gone:
        del _table[key]
