"""The structure of a pass, from a recording of its calls and operations.

An edge leads from one call to another if autograd could follow the values between them:
through operations on floating-point values, not through detach(), integers or code
without gradients. Inputs and results of modules count as differentiable, as they do in
TorchExplorer. Each operation is looked at once."""

from torchoscope.compat.torchexplorer.core import ModuleInvocationStructure


class Call:
    """A call of a module, or a tensor that was attached."""

    def __init__(self, module, invocation, inputs, outputs, start, end):
        self.module, self.invocation = module, invocation
        self.inputs, self.outputs = inputs, outputs  # rows of values
        self.start, self.end = start, end  # nanoseconds
        self.row = None  # of the recording; None for a tensor
        self.inner = []  # Calls directly inside it
        self.ops = []  # rows of the operations directly inside it


def calls_of(run, modules, root, attached=()):
    """{index of a call in the recording: Call} of the passes of `root`, with the calls
    inside each, in order. modules: {name: module}; attached: the Attached of the pass."""
    rows = [row for row in run.calls(None) if "recomputed" not in row["flags"]]
    seen, found = {}, {}
    for row in rows:
        module, parent = modules.get(row["name"]), found.get(row["parent"])
        if module is None or (parent is None and module is not root):
            continue
        if parent is None:  # a pass: invocations are counted in it
            seen.clear()
        invocation = seen[id(module)] = seen.get(id(module), -1) + 1
        inputs, outputs = row.get("inputs", ()), row.get("outputs", ())
        times = row["start_ns"], row.get("end_ns") or row["start_ns"]
        call = found[row["call"]] = Call(module, invocation, inputs, outputs, *times)
        call.row = row
        if parent is not None:
            parent.inner.append(call)
    for one in attached:
        _put_attached(found, one)
    return found


def _put_attached(calls, attached):
    """An attached tensor is a call in the innermost call of its module at that time."""
    around = [
        call
        for call in calls.values()
        if call.module is attached.parent and call.start <= attached.time <= call.end
    ]
    if around:
        value = [{"op_value": attached.op_value, "dtype": attached.dtype}]
        times = attached.time, attached.time
        call = Call(attached.module, attached.invocation, value, value, *times)
        around[-1].inner.append(call)


def extract(run, calls, root):
    """The ModuleInvocationStructure of a Call and of everything inside it."""
    for number in range(run.n_ops or 0):
        op = run.op(number)
        if op["phase"] == "forward" and op["call"] in calls:
            calls[op["call"]].ops.append(op)
    made, todo = [0], []

    def structure_of(call):
        counts = len(call.inputs), len(call.outputs)
        one = ModuleInvocationStructure(call.module, call.invocation, made[0], *counts)
        made[0] += 1
        todo.append((call, one))
        return one

    top = structure_of(root)
    while todo:
        call, structure = todo.pop()
        _Level(run, call).fill(structure.inner_graph, structure_of)
    return top


class _Level:
    """What happens directly inside one call. A source is a pair: "Input i" or a Call, and
    the index of its result."""

    def __init__(self, run, call):
        self._run, self._call = run, call
        self._sources = {}  # value -> sources, a dict without values: it keeps the order
        self._owners = None  # operation -> the Call directly inside that ran it
        self._upstream = {}  # (Call or "Output i", input) -> sources
        for i, value in enumerate(call.inputs):
            if _is_real(value):
                self._put(value, (f"Input {i}", i), add=True)
        events = [(one.start, 1, i) for i, one in enumerate(call.inner)]
        events += [(op["start_ns"], 0, i) for i, op in enumerate(call.ops)]
        for _, kind, i in sorted(events):
            if kind == 1:
                self._pass_call(call.inner[i])
            else:
                self._pass_op(call.ops[i])
        for i, value in enumerate(call.outputs):
            self._read(f"Output {i}", i, value)

    def _put(self, value, source, add=False):
        number = value.get("op_value")
        if number is not None:
            before = self._sources.get(number, {}) if add else {}
            self._sources[number] = {**before, source: None}

    def _read(self, node, index, value):
        if _is_real(value) and value.get("op_value") is not None:
            self._upstream[node, index] = self._of(value["op_value"])

    def _pass_call(self, call):
        for i, value in enumerate(call.inputs):
            self._read(call, i, value)
        for i, value in enumerate(call.outputs):
            if _is_real(value):
                self._put(value, (call, i))

    def _pass_op(self, op):
        values = self._run.op_values(op["id"])
        inputs = [one for one in values["inputs"] if _is_real(one)]
        outputs = [one for one in values["outputs"] if _is_real(one)]
        graded = any(one.get("requires_grad") for one in inputs)
        found = {}
        if op.get("grad") and not op.get("detaches"):
            for one in inputs:
                found.update(self._of(one["value"], one))
        for one in outputs:
            cut = graded and one.get("requires_grad") is False
            self._sources[one["value"]] = {} if cut else found

    def _of(self, number, row=None):
        """The sources of a value."""
        if number in self._sources:
            return self._sources[number]
        row = row or self._run.op_value(number)
        found = {}
        for part in row.get("sources") or ():  # it was written piece by piece
            if part != number:
                found.update(self._sources.get(part, {}))
        for op in row.get("producers") or ():
            owner = self._owner(op)
            if owner is not None and not found:
                found[owner, 0] = None
        self._sources[number] = found
        return found

    def _owner(self, op):
        """The call directly inside this one that ran an operation, perhaps further
        inside."""
        if self._owners is None:
            self._owners = {}
            for call in self._call.inner:
                todo = [call]
                while todo:
                    one = todo.pop()
                    self._owners.update(dict.fromkeys((o["id"] for o in one.ops), call))
                    todo += one.inner
        return self._owners.get(op)

    def fill(self, graph, structure_of):
        """Add the calls that the outputs depend on, and the edges, to a graph."""
        nodes = {}
        outputs = [f"Output {i}" for i in range(len(self._call.outputs))]
        inputs_of = {}
        for (node, index), sources in self._upstream.items():
            inputs_of.setdefault(node, []).append((index, sources))
        todo = list(outputs)
        for node in todo:  # grows
            for index, sources in inputs_of.get(node, ()):
                latest = sorted(sources, key=_when, reverse=True)
                for source, result in latest:
                    if not isinstance(source, str) and source not in nodes:
                        nodes[source] = one = structure_of(source)
                        graph.add_node(one, structure_id=one.structure_id)
                        todo.append(source)
                    graph.add_edge(
                        nodes.get(source, source),
                        nodes.get(node, node),
                        upstream_output_index=result,
                        downstream_input_index=index,
                    )


def _when(source):
    return -1 if isinstance(source[0], str) else source[0].start


def _is_real(value):
    return value.get("dtype", "").startswith(("float", "bfloat", "complex"))
