"""The types of what docs/python.md describes."""

import os
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from types import TracebackType
from typing import Any, Literal, Self, TypedDict, TypeVar, Unpack, overload

import torch

from torchoscope._core import Error as Error

__version__: str
__all__ = [
    "Alarm",
    "BoxChange",
    "Call",
    "Diff",
    "Difference",
    "Edge",
    "Error",
    "Finding",
    "Gap",
    "Graph",
    "GraphDiff",
    "History",
    "LineChange",
    "Memory",
    "Model",
    "Module",
    "Node",
    "Op",
    "OpValue",
    "Ops",
    "Recording",
    "Replayed",
    "Series",
    "Server",
    "Summary",
    "Tensor",
    "Value",
    "Watch",
    "WatchPoint",
    "WatchStep",
    "attach",
    "diff",
    "explore",
    "flops_formula",
    "graph",
    "memory",
    "open",
    "record",
    "register_flops",
    "replay",
    "serve",
    "state_guard",
    "summary",
    "trace",
    "unwatch",
    "watch",
]

_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_Phase = Literal["forward", "backward", "recompute", "optimizer"]
_Mode = Literal["full", "exact", "sampled", "guard"]
_T = TypeVar("_T")
_Formula = TypeVar("_Formula", bound=Callable[..., int])

# --- common to models and recordings

class _View(TypedDict, total=False):
    columns: str | None
    depth: int | None
    top: int | None
    sort: str | None
    reverse: bool
    filter: str | None
    flat: Literal["leaves", "tensors"] | bool | None
    all: bool
    expand: bool
    width: int | None
    ascii: bool
    colour: bool
    closing: bool

class _Page(_View, total=False):
    source: bool
    paths: bool
    values: bool
    title: str | None
    theme: Literal["light", "dark", "auto"] | None

class _Shown:
    def tree(self, **wanted: Unpack[_View]) -> str: ...
    def rows(self, **wanted: Unpack[_View]) -> list[dict[str, Any]]: ...
    def to_pandas(
        self, table: Literal["tensors", "modules", "calls", "parameters"] | None = None
    ) -> Any: ...
    @property
    def json(self) -> dict[str, Any]: ...
    @property
    def html(self) -> str: ...
    def export(self, path: _Path, **wanted: Unpack[_Page]) -> None: ...
    def explore(self) -> None: ...

class _Row:
    def __getitem__(self, key: str) -> Any: ...
    def __contains__(self, key: object) -> bool: ...
    def get(self, key: str, otherwise: Any = None) -> Any: ...
    def keys(self) -> KeysView[str]: ...

# --- models

class Finding(_Row):
    severity: str
    code: str
    text: str
    name: str | None
    place: int | None

class _Part(_Row):
    name: str
    place: int
    def __init__(self, row: dict[str, Any], model: Any = None) -> None: ...
    @property
    def class_name(self) -> str: ...

class Module(_Part):
    args: dict[str, Any] | None
    bases: list[str] | None
    training: bool | None
    same_as: str | None
    params: int
    bytes: int
    tensors: int
    @property
    def children(self) -> list[str]: ...

class Tensor(_Part):
    shape: Sequence[int]
    dtype: str
    device: str | None
    role: str | None
    requires_grad: bool | None
    tied_to: str | None
    also_at: list[str] | None
    numel: int
    bytes: int
    count: int | None
    min: float | None
    max: float | None
    mean: float | None
    std: float | None
    l2: float | None
    nan: int | None
    pos_inf: int | None
    neg_inf: int | None
    zeros: int | None
    min_at: list[int] | None
    max_at: list[int] | None
    @property
    def statistics(self) -> dict[str, Any]: ...
    @property
    def quantiles(self) -> dict[float, float]: ...
    @property
    def histogram(self) -> dict[str, Any] | None: ...
    @property
    def why(self) -> str | None: ...
    def values(self) -> torch.Tensor: ...

class Model(_Shown):
    def __init__(self, what: object, name: str | None = None) -> None: ...
    def stats(self, name: str) -> dict[str, Any]: ...
    def graph(self, level: Literal["ops", "modules"] = "modules") -> Graph: ...
    @property
    def findings(self) -> list[Finding]: ...
    @property
    def verdict(self) -> str | None: ...
    # A Tensor, a Module or a plain value, depending on the name.
    def __getitem__(self, name: str) -> Any: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __contains__(self, name: object) -> bool: ...

# A path opens as a Model or a Recording, depending on the file.
@overload
def open(what: _Path) -> Any: ...
@overload
def open(what: Recording) -> Recording: ...  # type: ignore[overload-overlap]
@overload
def open(what: object) -> Model: ...

class Difference(_Row):
    what: str
    phase: str
    step: int
    distance: float | None
    by: str
    max_abs: float | None
    max_rel: float | None
    rms: float | None
    not_finite: bool | None
    tolerance: float
    beyond: bool
    inputs_distance: float | None
    parameters_distance: float | None
    attributes: list[dict[str, str]] | None
    unmatched_inside: bool | None
    parameter: bool | None
    begins: bool | None
    random: bool | None
    why: str | None
    @property
    def left(self) -> Value: ...
    @property
    def right(self) -> Value: ...
    @property
    def name(self) -> str | None: ...
    @property
    def op(self) -> str | None: ...
    @property
    def line(self) -> str | None: ...
    @property
    def inputs(self) -> list[Difference]: ...

class Diff:
    def __init__(self, left: Any, right: Any, **wanted: Any) -> None: ...
    @property
    def equal(self) -> bool: ...
    @property
    def json(self) -> dict[str, Any]: ...
    @property
    def markdown(self) -> str: ...
    @property
    def python(self) -> str: ...
    @property
    def first(self) -> Difference | None: ...
    @property
    def later(self) -> list[Difference]: ...
    @property
    def results(self) -> list[Difference]: ...
    @property
    def training(self) -> dict[str, Any]: ...
    def explore(self) -> None: ...

def diff(
    a: object,
    b: object,
    *,
    structure: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
    tolerance: float | None = None,
) -> Diff: ...

# --- recordings

class Value(_Row):
    path: str
    shape: list[int] | None
    dtype: str | None
    device: str | None
    requires_grad: bool | None
    numel: int | None
    bytes: int | None
    min: float | None
    max: float | None
    mean: float | None
    std: float | None
    l2: float | None
    nan: int | None
    pos_inf: int | None
    neg_inf: int | None
    zeros: int | None
    min_at: list[int] | None
    max_at: list[int] | None
    sampled: bool | None
    why: str | None

class Call(_Row):
    name: str
    call: int
    number: int
    parent: int | None
    step: int | None
    thread: int | None
    line: str | None
    error: str | None
    time_ns: int
    self_ns: int
    backward_ns: int | None
    device_ns: int | None
    device_bytes: int | None
    flags: list[str]
    out_bytes: int | None
    new_bytes: int | None
    @property
    def class_name(self) -> str: ...
    @property
    def inputs(self) -> list[Value]: ...
    @property
    def outputs(self) -> list[Value]: ...
    @property
    def grad_outputs(self) -> list[Value]: ...
    @property
    def grad_inputs(self) -> list[Value]: ...

class Gap(_Row):
    kind: str
    name: str | None
    text: str

# --- operations and graphs

class OpValue(_Row):
    position: int
    item: int | None
    value: int
    dtype: str
    device: str | None
    bytes: int
    storage: int | None
    offset: int
    write: int
    tensor: str | None
    requires_grad: bool | None
    stats: dict[str, Any] | None
    unseen: bool | None
    storage_bytes: int | None
    def __init__(self, row: dict[str, Any], run: Any) -> None: ...
    @property
    def arg(self) -> str | int: ...
    @property
    def layout(self) -> str: ...
    @property
    def numel(self) -> int: ...
    @property
    def sources(self) -> list[OpValue]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...] | None: ...
    @property
    def producer(self) -> Op | None: ...
    @property
    def producers(self) -> list[Op]: ...

class Op(_Row):
    id: int
    name: str
    overload: str
    family: str
    phase: _Phase
    module: str | None
    call: int | None
    step: int
    thread: int
    line: str | None
    gradient: str | None
    attributes: dict[str, Any]
    start_ns: int
    ns: int
    new_bytes: int
    flops: int | None
    flops_why: str | None
    raised: bool
    grad: bool
    inference: bool
    outside: bool
    view: bool
    writes: bool
    random: bool
    empty: bool
    region: bool
    custom: bool
    detaches: bool
    def __init__(self, run: Any, number: int) -> None: ...
    @property
    def flags(self) -> list[str]: ...
    @property
    def cause(self) -> Op | None: ...
    @property
    def inputs(self) -> list[OpValue]: ...
    @property
    def outputs(self) -> list[OpValue]: ...
    @property
    def written(self) -> list[OpValue]: ...
    @property
    def json(self) -> dict[str, Any]: ...
    def __hash__(self) -> int: ...

class Ops(Sequence[Op]):
    def __init__(self, run: Any, ids: Any = None) -> None: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, at: int) -> Op: ...
    @overload
    def __getitem__(self, at: slice) -> Ops: ...
    def __contains__(self, op: object) -> bool: ...
    def __iter__(self) -> Iterator[Op]: ...
    def filter(
        self,
        module: str | int | None = None,
        name: str | Iterable[str] | None = None,
        phase: _Phase | None = None,
    ) -> Ops: ...
    @property
    def lost(self) -> int: ...
    @property
    def json(self) -> list[dict[str, Any]]: ...
    def to_pandas(self) -> Any: ...

class Node(_Row):
    id: int
    kind: str
    name: str
    op: int | None
    call: int | None
    module: str | None
    number: int | None
    phase: _Phase | None
    family: str | None
    line: str | None
    step: int | None
    ns: int | None
    flops: int | None
    ops: int | None
    dtype: str | None
    @property
    def class_name(self) -> str | None: ...
    @property
    def shape(self) -> tuple[int, ...] | None: ...

class Edge(_Row):
    source: int
    target: int
    value: int
    dtype: str | None
    gradient_l2: float | None
    gradient_share: float | None
    loose: bool | None
    @property
    def shape(self) -> tuple[int, ...] | None: ...

class _Drawn:
    @cached_property
    def json(self) -> dict[str, Any]: ...
    @property
    def level(self) -> Literal["ops", "modules"]: ...
    def picture(self, form: str, **options: Any) -> Any: ...
    @property
    def svg(self) -> str: ...
    @property
    def html(self) -> str: ...
    def save(self, path: str | os.PathLike[str], **options: Any) -> None: ...

class Graph(_Drawn):
    @cached_property
    def nodes(self) -> list[Node]: ...
    @cached_property
    def edges(self) -> list[Edge]: ...
    def __init__(
        self,
        document: dict[str, Any] | Callable[[], dict[str, Any]],
        core: Any = None,
        options: Mapping[str, Any] | None = None,
    ) -> None: ...
    @property
    def exact(self) -> bool: ...
    @property
    def why(self) -> str | None: ...
    @property
    def inputs(self) -> list[Node]: ...
    @property
    def outputs(self) -> list[Node]: ...
    def to_networkx(self) -> Any: ...
    def to_pandas(self, table: Literal["edges", "nodes"] = "edges") -> Any: ...

class BoxChange(_Row):
    id: str
    kind: Literal["module", "op", "view", "input", "output", "repeat"]
    name: str
    inside: str | None
    words: list[str]
    change: Literal["added", "removed", "changed"] | None

class LineChange(_Row):
    source: str
    target: str
    change: Literal["added", "removed"] | None

class GraphDiff(_Drawn):
    @cached_property
    def nodes(self) -> list[BoxChange]: ...
    @cached_property
    def edges(self) -> list[LineChange]: ...
    def __init__(
        self,
        old: Any,
        new: Any,
        options: Mapping[str, Any] | None = None,
        document: dict[str, Any] | None = None,
    ) -> None: ...
    @property
    def added(self) -> list[BoxChange]: ...
    @property
    def removed(self) -> list[BoxChange]: ...
    @property
    def changed(self) -> list[BoxChange]: ...
    @property
    def is_equal(self) -> bool: ...

class _ForwardStats(dict[str, Any]):
    def __getattr__(self, name: str) -> Any: ...

class Recording(_Shown):
    def __init__(self, run: Any = None, source: str | None = None) -> None: ...
    def calls(self, name: str | None = None) -> list[Call]: ...
    def values(
        self, name: str, call: int = -1, kind: Literal["out", "in"] = "out"
    ) -> tuple[torch.Tensor, ...]: ...
    def parameters(self) -> list[dict[str, Any]]: ...
    def modules(self) -> list[dict[str, Any]]: ...
    def ops(
        self,
        module: str | int | None = None,
        name: str | Iterable[str] | None = None,
        phase: _Phase | None = None,
    ) -> Ops: ...
    def replay(self, shuffle: int | None = None) -> Any: ...
    def graph(
        self, level: Literal["ops", "modules"] = "modules", phase: _Phase | None = None
    ) -> Graph: ...
    def forward_stats(self, name: str) -> list[_ForwardStats]: ...
    @property
    def gaps(self) -> list[Gap]: ...
    def memory(self) -> dict[str, Any]: ...
    @property
    def facts(self) -> dict[str, Any]: ...
    @property
    def cost(self) -> dict[str, Any]: ...
    def save(self, path: str | os.PathLike[str], *, code: bool = True) -> None: ...

class _LiveRecording(Recording):
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Literal[False]: ...
    def stop(self) -> None: ...

class Series:
    def __init__(
        self,
        name: str,
        rows: list[dict[str, Any]],
        load: Callable[[], list[dict[str, Any]]] | None = None,
        view: dict[str, Any] | None = None,
    ) -> None: ...
    @property
    def columns(self) -> list[str]: ...
    @property
    def steps(self) -> list[int]: ...
    @property
    def histograms(self) -> list[dict[str, Any] | None]: ...
    def grid(
        self, bins: int | None = None, reject_outlier_proportion: float | None = None
    ) -> dict[str, Any]: ...
    def numpy(self, column: str) -> Any: ...
    def to_pandas(self) -> Any: ...
    def __getitem__(self, column: str) -> list[Any]: ...
    def __len__(self) -> int: ...

class History(Recording):
    def __init__(self, run: Any, source: str, history: Any) -> None: ...
    @property
    def steps(self) -> list[int]: ...
    def eval_steps(self) -> list[int]: ...
    @property
    def ranks(self) -> list[int] | None: ...
    def rank(self, number: int) -> History: ...
    def all_series(self) -> list[dict[str, Any]]: ...
    def series(
        self,
        place: str,
        kind: str,
        call: int = 0,
        path: str = "",
        phase: Literal["train", "eval"] = "train",
    ) -> Series: ...
    def scalars(self, phase: Literal["train", "eval"] = "train") -> dict[str, Series]: ...
    def alarms(self) -> list[dict[str, Any]]: ...

class Alarm(RuntimeError):
    alarm: dict[str, Any]
    def __init__(self, alarm: dict[str, Any]) -> None: ...

class WatchPoint:
    def __init__(self, row: dict[str, Any]) -> None: ...
    @property
    def place(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def call(self) -> int: ...
    @property
    def path(self) -> str: ...
    @property
    def tag(self) -> str: ...
    @property
    def stats(self) -> dict[str, Any]: ...
    @property
    def histogram(self) -> dict[str, Any] | None: ...

class WatchStep:
    def __init__(self, row: dict[str, Any]) -> None: ...
    @property
    def number(self) -> int: ...
    @property
    def phase(self) -> Literal["train", "eval"]: ...
    @property
    def time(self) -> float: ...
    @property
    def scalars(self) -> dict[str, float]: ...
    @property
    def points(self) -> list[WatchPoint]: ...
    @property
    def alarms(self) -> list[dict[str, Any]]: ...

_Backend = str | Callable[[WatchStep], object]

class Watch:
    def __init__(
        self,
        model: Any,
        name: str,
        wanted: Any,
        steps: Any,
        target: Any,
        limit: int,
        options: Any,
        sinks: Any,
        on_alarm: Any,
    ) -> None: ...
    @property
    def path(self) -> str | None: ...
    @property
    def folder(self) -> str: ...
    @property
    def url(self) -> str | None: ...
    @property
    def steps(self) -> int: ...
    @property
    def keeps(self) -> int | None: ...
    def log(self, step: int | None = None, **scalars: Any) -> None: ...
    def history(self) -> History: ...
    def series(
        self,
        place: str,
        kind: str,
        call: int = 0,
        path: str = "",
        phase: Literal["train", "eval"] = "train",
    ) -> Series: ...
    def scalars(self, phase: Literal["train", "eval"] = "train") -> dict[str, Series]: ...
    def alarms(self) -> list[dict[str, Any]]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> Literal[False]: ...

def watch(
    model: object,
    log: str | Iterable[str] | None = ("io", "io_grad", "params", "params_grad"),
    log_freq: int | None = None,
    dir: str | os.PathLike[str] = "runs",
    name: str | None = None,
    budget: float = 0.03,
    limit: int | str = "256MB",
    backend: _Backend | Iterable[_Backend] = "file",
    capsule: bool = True,
    on_alarm: Literal["print", "raise"] | Callable[[dict[str, Any]], object] | None = "print",
    resume: bool | str | os.PathLike[str] = False,
    time_log: tuple[str, Callable[[Any, int], float]] | None = None,
    sample_n: int | None = 16384,
    ignore_io_grad_classes: Iterable[type] = (),
    bins: int = 30,
    reject_outlier_proportion: float = 0.0,
    disable_inplace: bool = False,
    delay_log_multi_backward: bool = False,
    exact: bool = False,
    group: bool | float = False,
    port: int = 8080,
    host: str = "127.0.0.1",
    allow_hosts: Iterable[str] = (),
    token: str | Literal[False] | None = None,
) -> Watch: ...

class Server:
    def __init__(
        self, host: str, port: int, allow_hosts: Iterable[str], token: Any
    ) -> None: ...
    @property
    def url(self) -> str: ...
    @property
    def port(self) -> int: ...
    def pump(self) -> int: ...
    def wait(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> Literal[False]: ...

def serve(
    what: object,
    port: int = 8080,
    host: str = "127.0.0.1",
    allow_hosts: Iterable[str] = (),
    open: bool = False,
    token: str | Literal[False] | None = None,
    name: str | None = None,
) -> Server: ...

class Replayed:
    path: str
    step: int
    where: str
    text: str
    reproduced: bool
    op: Op | None
    lost: list[str]
    notes: list[str]
    results: list[Any]
    recording: Recording | None
    def __init__(self, path: str, about: Any, lost: list[str]) -> None: ...

def replay(path: str | os.PathLike[str], model: object) -> Replayed: ...
def unwatch(model: object) -> None: ...
def attach(tensor: Any, module: Any, name: str) -> Any: ...
def record(
    model: object,
    *,
    mode: _Mode = "full",
    gradients: bool = True,
    parameters: bool = True,
    keep: str | Iterable[str] | Callable[[str], bool] | None = None,
    limit: int | str = "256MB",
    calls: int | Literal["all"] = 64,
    budget: float | None = None,
    lines: bool = True,
    inside: bool = False,
    eager: bool = False,
    ops: bool | Literal["stats", "replay"] = False,
    name: str | None = None,
) -> _LiveRecording: ...
def register_flops(op: object, formula: Callable[..., int] | None) -> None: ...
def flops_formula(op: object) -> Callable[[_Formula], _Formula]: ...
def state_guard(model: _T) -> AbstractContextManager[_T]: ...

# --- one pass

class Memory:
    heading: str
    source: str
    why: str | None
    batch: int | None
    loss: str | None
    parameters: int
    buffers: int
    gradients: int
    optimizer: int
    activations: int
    recomputed: int
    other: int
    peak: int
    at_peak: dict[str, int]
    peak_op: dict[str, Any] | None
    modules: dict[str, int]
    measured: int | None
    rss: int
    limit: int | None
    margin: float
    largest_batch: int | None
    largest_peak: int | None
    largest_why: str | None
    checkpointing: list[dict[str, Any]]
    cache_per_token: int | None
    recording: Recording | None
    def __init__(self, heading: str) -> None: ...
    @property
    def json(self) -> dict[str, Any]: ...
    def to_json(self) -> str: ...
    def rows(self) -> list[tuple[str, str, str, str]]: ...
    def lines(self) -> list[str]: ...

class Summary(_Shown):
    recording: Recording | None
    def __init__(
        self,
        core: Any,
        recording: Recording | None,
        title: str,
        given: str,
        view: Mapping[str, Any],
    ) -> None: ...

def summary(
    model: object,
    *inputs: object,
    mode: _Mode = "full",
    backward: bool = False,
    depth: int | None = None,
    columns: str | None = None,
    width: int | None = None,
    warmup: bool | None = None,
    kwargs: Mapping[str, object] | None = None,
    **more: object,
) -> Summary: ...
def memory(
    model: object,
    *inputs: object,
    kwargs: Mapping[str, object] | None = None,
    batch: int | None = None,
    batch_dim: int = 0,
    dtype: Any = None,
    training: bool = True,
    optimizer: Any = "adam",
    loss: Callable[[Any], Any] | None = None,
    device: Any = None,
    limit: int | str | None = None,
    margin: float = 0.1,
    measure: bool = False,
    **more: object,
) -> Memory: ...
def trace(
    model: object,
    *inputs: object,
    kwargs: Mapping[str, object] | None = None,
    backward: bool = True,
    loss: Callable[[Any], Any] | None = None,
    mode: _Mode = "full",
    ops: bool | Literal["stats", "replay"] = True,
    keep: str | Iterable[str] | Callable[[str], bool] | None = None,
    **more: object,
) -> Recording: ...
@overload
def graph(
    what: object,
    *inputs: object,
    kwargs: Mapping[str, object] | None = None,
    level: Literal["ops", "modules"] = "modules",
    root: str | None = None,
    depth: int | None = None,
    focus: str | None = None,
    neighbours: int | None = None,
    to: str | None = None,
    all: bool = False,
    color: Literal["family", "params", "time", "memory", "flops", "grad"] | None = None,
    direction: Literal["tb", "lr"] | None = None,
    theme: Literal["light", "dark"] | None = None,
    background: Literal["none", "theme"] | None = None,
    backward: bool | None = None,
    loss: Callable[[Any], Any] | None = None,
    diff: None = None,
    **more: object,
) -> Graph: ...
@overload
def graph(
    what: object,
    *inputs: object,
    diff: object,
    kwargs: Mapping[str, object] | None = None,
    level: Literal["ops", "modules"] = "modules",
    root: str | None = None,
    depth: int | None = None,
    focus: str | None = None,
    neighbours: int | None = None,
    to: str | None = None,
    all: bool = False,
    color: Literal["family", "params", "time", "memory", "flops", "grad"] | None = None,
    direction: Literal["tb", "lr"] | None = None,
    theme: Literal["light", "dark"] | None = None,
    background: Literal["none", "theme"] | None = None,
    backward: bool | None = None,
    loss: Callable[[Any], Any] | None = None,
    **more: object,
) -> GraphDiff: ...
def explore(
    thing: object,
    *inputs: object,
    warmup: bool | None = None,
    kwargs: Mapping[str, object] | None = None,
    **more: object,
) -> None: ...
