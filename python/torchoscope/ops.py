"""Operations of a recording as Python objects. Each is read from the C core on use,
because a recording may have hundreds of thousands."""

import fnmatch
import math
from array import array
from collections.abc import Sequence

from torchoscope.recording import Row
from torchoscope.tables import data_frame

_NAMES = (
    "id name overload family phase module place call step thread line gradient "
    "attributes start_ns ns new_bytes flops flops_why"
)
_FLAGS = (
    "raised grad inference outside view writes random empty region custom detaches"
).split()
_VALUE_NAMES = (
    "position item value dtype device bytes storage offset write tensor requires_grad "
    "stats unseen storage_bytes class"
)


class _Kept(Row):
    """A row of one recording: never equal to a row of another, and cannot be
    pickled."""

    __slots__ = ()

    def __reduce__(self):
        text = "is part of its recording and cannot be pickled; use dict()"
        raise TypeError(f"an {type(self).__name__} {text}")


class OpValue(_Kept):
    """A tensor that an operation read, made or wrote to."""

    __slots__ = ("_run",)
    _known = frozenset(_VALUE_NAMES.split())

    def __init__(self, row, run):
        super().__init__(row)
        object.__setattr__(self, "_run", run)

    @property
    def arg(self):
        """The name of the argument; for a result, its position."""
        return self._row.get("arg", self._row.get("position"))

    @property
    def numel(self):
        """The number of its elements."""
        return math.prod(self._row["shape"])

    @property
    def layout(self):
        """ "strided", "coo", ..."""
        return self._row.get("layout", "strided")

    @property
    def shape(self):
        """Its sizes, a tuple."""
        return tuple(self._row["shape"])

    @property
    def numel(self):
        """The number of its elements."""
        return math.prod(self._row["shape"])

    @property
    def sources(self):
        """The values that it consists of if no operation made it as a whole, oldest
        first: a list of OpValue."""
        numbers = self._row["sources"]
        return [OpValue(self._run.op_value(one), self._run) for one in numbers]

    @property
    def strides(self):
        """Its strides, a tuple; None if it has none (sparse)."""
        strides = self._row.get("strides")
        return None if strides is None else tuple(strides)

    @property
    def producer(self):
        """The Op that made it; None: no recorded operation did, or several made parts
        of it."""
        number = self._row["producer"]
        return None if number is None else Op(self._run, number)

    @property
    def producers(self):
        """All operations that made it or a part of it, a list of Op."""
        return [Op(self._run, number) for number in self._row["producers"]]

    def __repr__(self):
        arg = self.arg if self.item is None else f"{self.arg}[{self.item}]"
        text = f"<{arg}: {self.dtype} {list(self.shape)}"
        return text + (f" {self.tensor}>" if self.tensor else ">")


class Op(_Kept):
    """One operation that torch executed."""

    __slots__ = ("_run", "id", "_facts", "_values")
    _known = frozenset(_NAMES.split())

    def __init__(self, run, number):
        put = object.__setattr__
        put(self, "_run", run)
        put(self, "id", number)
        put(self, "_facts", None)
        put(self, "_values", None)

    @property
    def _row(self):
        if self._facts is None:
            object.__setattr__(self, "_facts", self._run.op(self.id))
        return self._facts

    def _tensors(self, kind):
        if self._values is None:
            object.__setattr__(self, "_values", self._run.op_values(self.id))
        return [OpValue(row, self._run) for row in self._values.get(kind, ())]

    @property
    def flags(self):
        """Its flags: a list of words, see docs/json.md."""
        return [name for name in _FLAGS if self._row.get(name)]

    @property
    def cause(self):
        """For a backward operation: the forward Op that caused it; else None."""
        number = self._row["cause"]
        return None if number is None else Op(self._run, number)

    @property
    def inputs(self):
        """The tensors among its arguments, a list of OpValue."""
        return self._tensors("inputs")

    @property
    def outputs(self):
        """Its results, a list of OpValue."""
        return self._tensors("outputs")

    @property
    def written(self):
        """The arguments that it wrote to, after the write: a list of OpValue."""
        return self._tensors("written")

    def __getattr__(self, name):
        if name in _FLAGS:
            return bool(self._row.get(name))
        return super().__getattr__(name)

    @property
    def json(self):
        """Everything about it, as a dict: see docs/json.md."""
        return {**self._row, **self._run.op_values(self.id)}

    def __eq__(self, other):
        if not isinstance(other, Op):
            return NotImplemented
        return other._run is self._run and other.id == self.id

    def __hash__(self):
        return hash(self.id)

    def __repr__(self):
        def shapes(values):
            return ", ".join(str(list(value.shape)) for value in values)

        where = "" if self.module is None else f" in {self.module or '(root)'}"
        text = f"<{self.id} {self.name}{where}: {shapes(self.inputs)}"
        return f"{text} -> {shapes(self.outputs)}, {self.ns / 1e3:.3g} μs>"


class Ops(Sequence):
    """Operations in the order of execution: a sequence of Op."""

    __slots__ = ("_run", "_ids")

    def __init__(self, run, ids=None):
        self._run = run
        self._ids = array("I", run.find_ops()) if ids is None else ids

    def __len__(self):
        return len(self._ids)

    def __getitem__(self, at):
        if isinstance(at, slice):
            return Ops(self._run, self._ids[at])
        return Op(self._run, self._ids[at])

    def __iter__(self):
        return (Op(self._run, number) for number in self._ids)

    def __contains__(self, op):
        return isinstance(op, Op) and op._run is self._run and op.id in self._ids

    def __eq__(self, other):
        if not isinstance(other, Ops):
            return NotImplemented
        return other._run is self._run and other._ids == self._ids

    __hash__ = None

    def filter(self, module=None, name=None, phase=None):
        """The operations of a module and the modules below it, of a name or a list of
        names (patterns; "aten::" may be omitted), and of a phase: "forward",
        "backward", "recompute" or "optimizer"."""
        kinds = None if name is None else _kinds(self._run, name)
        found = array("I", self._run.find_ops(module, kinds, phase))
        if len(self) == self._run.n_ops:
            return Ops(self._run, found)
        wanted = set(found)
        return Ops(self._run, array("I", (one for one in self._ids if one in wanted)))

    @property
    def lost(self):
        """The number of operations that ran after the recording's limit was reached and
        are not listed."""
        return self._run.lost_ops

    @property
    def json(self):
        """A list of dicts: see docs/json.md."""
        return [op.json for op in self]

    def to_pandas(self):
        """A pandas.DataFrame with a row for each operation, with the shapes of its
        tensors."""
        return data_frame(_rows(self))

    def __repr__(self):
        return f"<torchoscope.Ops: {len(self)} operations>"


def ops_of(run, module=None, name=None, phase=None):
    """The Ops of a _core.Run; an Error if it has none."""
    ops = Ops(run)
    if module is None and name is None and phase is None:
        return ops
    return ops.filter(module, name, phase)


def _kinds(run, name):
    """One byte for each kind of operation: 1 if its name matches."""
    patterns = [name] if isinstance(name, str) else list(name)
    return bytes(_is_named(kind, patterns) for kind in run.op_kinds())


def _is_named(kind, patterns):
    short = kind.partition("::")[2]
    match = fnmatch.fnmatchcase
    return any(match(kind, one) or match(short, one) for one in patterns)


def _rows(ops):
    """A generator of flat rows."""
    for op in ops:
        values = op._run.op_values(op.id)
        yield {
            **op._row,
            "in_shapes": [value["shape"] for value in values["inputs"]],
            "out_shapes": [value["shape"] for value in values["outputs"]],
        }
