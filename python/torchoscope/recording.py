"""Recordings as Python objects: classes around the lists and dicts of the C core."""

import os

from torchoscope.shown import Shown


class Row:
    """A read-only dict whose keys are attributes too. Keys that this row lacks but
    others of its kind have are None."""

    __slots__ = ("_row",)
    _known = frozenset()

    def __init__(self, row):
        object.__setattr__(self, "_row", row)

    def __getattr__(self, name):
        try:
            return self._row[name]
        except KeyError:
            if name in self._known:
                return None
        raise AttributeError(f"{type(self).__name__} has no {name!r}")

    def __setattr__(self, name, value):
        raise AttributeError(f"{type(self).__name__} is read-only")

    def __getitem__(self, key):
        return self._row[key]

    def __contains__(self, key):
        return key in self._row

    def get(self, key, otherwise=None):
        """The value of a key, or `otherwise`."""
        return self._row.get(key, otherwise)

    def keys(self):
        """Its names in docs/json.md; dict(row) uses this."""
        return self._row.keys()

    def __dir__(self):
        return sorted({*super().__dir__(), *self._row, *self._known})

    def __eq__(self, other):
        return type(other) is type(self) and other._row == self._row

    __hash__ = None

    def __reduce__(self):
        return type(self), (self._row,)


class Value(Row):
    """A tensor that a module took or returned: shape, dtype and statistics."""

    __slots__ = ()
    _known = frozenset(
        "path shape dtype device requires_grad numel bytes min max mean std l2 nan "
        "pos_inf neg_inf zeros min_at max_at why stats_why sampled".split()
    )

    def __getattr__(self, name):
        stats = self._row.get("stats")
        if stats and name in stats:
            return stats[name]
        return super().__getattr__("stats_why" if name == "why" else name)

    def __repr__(self):
        shape = "?" if self.shape is None else list(self.shape)
        path = f"{self.path}: " if self.path else ""
        text = f"<{path}{self.dtype} {shape}"
        if self.mean is not None and self.std is not None:
            text += f" mean {self.mean:.4g} std {self.std:.4g}"
        bad = sum(n or 0 for n in (self.nan, self.pos_inf, self.neg_inf))
        return text + (f", {bad} not finite>" if bad else ">")


class Call(Row):
    """One call of a module."""

    __slots__ = ()
    _known = frozenset(
        "name number step parent thread line error time_ns self_ns backward_ns "
        "device_ns device_bytes flags out_bytes new_bytes".split()
    )

    @property
    def class_name(self):
        """The class without its module; `call["class"]` is qualified."""
        return (self._row.get("class") or "").rpartition(".")[2]

    def _values(self, kind):
        return [Value(row) for row in self._row.get(kind) or ()]

    @property
    def inputs(self):
        """The tensors among its arguments, a list of Value."""
        return self._values("inputs")

    @property
    def outputs(self):
        """The tensors among its results, a list of Value."""
        return self._values("outputs")

    @property
    def grad_outputs(self):
        """The gradients that reached its results, a list of Value."""
        return self._values("grad_outputs")

    @property
    def grad_inputs(self):
        """The gradients that left through its arguments, a list of Value."""
        return self._values("grad_inputs")

    def __repr__(self):
        def shapes(values):
            return ", ".join(str(list(v.shape or ())) for v in values)

        name = self.name or "(root)"
        text = f"<{name} ({self.class_name}) #{self.number}: {shapes(self.inputs)}"
        text += f" -> {shapes(self.outputs)}"
        if self.time_ns is not None:
            text += f", {self.time_ns / 1e6:.3g} ms"
        return text + (f", {self.error}>" if self.error else ">")


class Gap(Row):
    """Something that was not recorded, and why."""

    __slots__ = ()
    _known = frozenset("kind name text".split())

    def __repr__(self):
        name = "" if self.name is None else f" {self.name or '(root)'}"
        return f"<{self.kind}{name}: {self.text}>"


class Recording(Shown):
    """A recorded execution of a model, from a file or from record()."""

    _document = "run"
    _tables = ("modules", "calls", "parameters", "tensors")

    def __init__(self, run=None, source=None):
        self._run = run
        self._source = source

    def _now(self):
        """The _core.Run with the data."""
        if self._run is None:
            raise RuntimeError("nothing was recorded yet: use record() in a with statement")
        return self._run

    def calls(self, name=None):
        """All calls in the order in which they began, with recomputations; or those of
        one module, without recomputations, the newest last."""
        return [Call(row) for row in self._now().calls(name)]

    def values(self, name, call=-1, kind="out"):
        """The tensors kept (keep=) of a call, as a tuple. kind: "out" for its results,
        "in" for its arguments. call=-1 is the newest."""
        calls = self.calls(name)
        if not calls:
            raise KeyError(f"{name}: no call was recorded")
        try:
            chosen = calls[call]
        except IndexError:
            text = f"{name} has {len(calls)} recorded calls; there is no call={call}"
            raise KeyError(text) from None
        ios = {"out": chosen.outputs, "in": chosen.inputs}[kind]
        run = self._now()
        kept = [run.kept(name, chosen.number, kind, value.path) for value in ios]
        found = tuple(tensor_of(*one) for one in kept if one is not None)
        if not found and "light" in chosen.flags:
            first = sum("light" not in one.flags for one in calls)
            text = f"only for its first {first} calls (call=0 is the first); see calls="
            raise KeyError(f"{name}: values are kept {text}")
        if not found:
            raise KeyError(f"{name}: no tensors of this call were kept; see keep= and gaps")
        return found

    def parameters(self):
        """Statistics of parameters and gradients, step by step: a list of dicts."""
        return self._now().params()

    def modules(self):
        """The modules of the model, in order: a list of dicts."""
        return [row for row in self._now().places() if row["kind"] == "module"]

    def ops(self, module=None, name=None, phase=None):
        """The operations that torch executed, in order: a sequence of Op. Of one module
        and those below it, of one name or pattern ("conv*", with or without "aten::"),
        of one phase: "forward", "backward", "recompute" or "optimizer"."""
        from torchoscope.ops import ops_of

        return ops_of(self._now(), module, name, phase)

    def replay(self, shuffle=None):
        """Run the recorded operations of forward again, from copies of what they read: a
        Replay, whose `values` has a tensor for each value by its number. `shuffle`: a
        seed for a random order that the data flow allows. Needs ops="replay", in the
        process that recorded."""
        kept = getattr(self, "_replay", None)
        if kept is None:
            raise RuntimeError('record with ops="replay" to run operations again')
        from torchoscope.op_replay import Replay

        return Replay(kept, self.ops(), shuffle)

    def graph(self, level="modules", phase=None):
        """The Graph of operations (level="ops"; of one phase) or of calls of modules and
        the operations between them (level="modules"). Its picture shows forward."""
        from torchoscope.graphs import Graph

        core = self._now()
        return Graph(core.graph(level, phase), core, {"level": level})

    def forward_stats(self, name):
        """The same as module.forward_stats, by module name."""
        return self._stats_of(self._now().calls(name))

    def _stats_of(self, rows):
        from torchoscope.forward_stats import call_stats

        return [call_stats(Call(row)) for row in rows]

    @property
    def gaps(self):
        """What was not recorded, a list of Gap. Containers without a forward
        (ModuleList) are not gaps."""
        return [Gap(row) for row in self._now().gaps()]

    def memory(self):
        """The tensor memory of a recording with operations, as a dict: `memory` of
        docs/json.md, with `modules` (what each saves for backward) and `live_bytes` (the
        bytes alive during each operation)."""
        return self._now().memory()

    @property
    def facts(self):
        """Facts about the recording, as a dict: versions, mode, ..."""
        return self._now().facts()

    @property
    def cost(self):
        """The cost of recording, as a dict; `share` is relative to the passes."""
        return self._now().cost

    def save(self, path, *, code=True):
        """Write a .scope file for open() and the program. It includes the source code of
        the model's classes unless `code` is False."""
        if code:
            self._keep_code()
        self._now().save(os.fspath(path))

    def _keep_code(self):
        """Store the source code of the classes. A recording from a file has it or never
        will."""

    def _notebook(self):
        try:
            self._now()
        except RuntimeError:  # not begun
            return None
        return super()._notebook()

    def __repr__(self):
        if self._run is None:
            return "<torchoscope.Recording: not begun>"
        where = f" of {self._source}" if self._source else ""
        return f"<torchoscope.Recording{where}: {self._now().n_calls} calls>"


def tensor_of(data, dtype, shape):
    import torch

    # Quantised elements as stored integers; packed ones as bytes.
    dtype = {"qint8": "int8", "quint8": "uint8", "qint32": "int32"}.get(dtype, dtype)
    if dtype in ("quint4x2", "quint2x4"):
        dtype, shape = "uint8", [-1]
    kind = getattr(torch, dtype)
    if not len(data):
        return torch.empty(shape, dtype=kind)
    flat = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    return flat.view(kind).reshape(shape)
