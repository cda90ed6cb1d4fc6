"""Makes torch_vis's graph of a recording and of autograd's nodes."""

import bisect

from torchoscope.compat.torch_vis.causes import find_causes
from torchoscope.compat.torch_vis.graph import Drawn, OperationType

_MEMORY = ("copy", "view")  # families that compute nothing


def build(tracker, recording, watch, began, only_model):
    """The Drawn graph, with `seconds` and `bytes` of all of it (None: not tracked)."""
    return _Builder(tracker, recording, watch, began, only_model).build()


class _Builder:
    def __init__(self, tracker, recording, watch, began, only_model):
        self.tracker, self.recording, self.watch = tracker, recording, watch
        self.began, self.only_model = began, only_model
        self.drawn = Drawn()
        self.calls = recording.calls()
        self.modules = dict(tracker.model.named_modules())
        self.by_call, self.by_op = {}, {}  # -> GraphNode
        self.op_bytes = {}  # GraphNode.id -> bytes
        self.has_ops = recording._now().n_ops is not None
        self.names = {p: name for name, p in tracker.model.named_parameters()}

    def build(self):
        graph = self.recording.graph("modules")
        self._add_layers()
        made = self._add_forward(graph)
        self._add_data_flow(graph, made)
        self._add_calls()
        self._add_backward()
        self._add_memory()
        self.drawn.seconds = self._seconds()
        nodes = self.drawn.nodes.values()
        used = [node.memory_usage for node in nodes if self._counts(node)]
        self.drawn.bytes = sum(used) if self.tracker.track_memory else None
        return self.drawn

    # --- times and bytes

    def _time(self, ns):
        return ns / 1e9 if self.tracker.track_timing else None

    def _stamp(self, ns):
        """Seconds since the tracking began."""
        return max(ns - self.began, 0) / 1e9 if self.tracker.track_timing else None

    def _bytes(self, count):
        return count if self.tracker.track_memory else None

    def _counts(self, node):
        """A layer contains others, which are counted themselves."""
        return node.operation_type is not OperationType.LAYER_OP

    def _seconds(self):
        if not self.tracker.track_timing:
            return None
        nodes = [node for node in self.drawn.nodes.values() if self._counts(node)]
        passes = sum(
            call.time_ns
            for call in self.calls
            if call.parent is None and "recomputed" not in call.flags
        )
        apart = (
            node.execution_time
            for node in nodes
            if node.operation_type
            in (OperationType.BACKWARD, OperationType.GRADIENT_OP)
            or node.metadata.get("phase") == "backward"
            or node.module_name is None
        )
        return passes / 1e9 + sum(apart)

    # --- modules

    def _add_layers(self):
        """Calls that call other modules."""
        inside = {call.parent for call in self.calls if call.parent is not None}
        for call in self.calls:
            if call.call in inside and "recomputed" not in call.flags:
                name = f"Layer: {call.name or '(root)'}"
                kind = OperationType.LAYER_OP
                self.by_call[call.call] = self._add_call(kind, call, name)

    def _add_call(self, kind, call, name):
        module = self.modules.get(call.name)
        inputs, outputs = call.inputs, call.outputs
        return self.drawn.add(
            kind,
            call.name or "root",
            name,
            module_name=call.name,
            input_shapes=_shapes(inputs),
            output_shapes=_shapes(outputs),
            parameters=_parameters(module),
            execution_time=self._time(call.time_ns),
            memory_usage=self._bytes(call.new_bytes or 0),
            timestamp=self._stamp(call["start_ns"]),
            metadata={
                "module_type": call.class_name,
                "module_parameters": _parameters(module)["count"],
                "input_count": len(inputs),
                "output_count": len(outputs),
                "call": call.number,
                "line": call.line,
                "phase": "forward",
            },
        )

    # --- forward

    def _add_forward(self, graph):
        """{id in the recording's graph: GraphNode}"""
        made = {}
        for node in graph.nodes:
            if node.kind == "call":
                call = self.calls[node.call]
                name = f"Forward: {call.name or '(root)'}"
                one = self._add_call(OperationType.FORWARD, call, name)
                self.by_call[node.call] = made[node.id] = one
            elif node.kind == "op" and not (self.only_model and node.module is None):
                made[node.id] = self._add_op(node)
        return made

    def _add_op(self, node):
        op = self.recording._now().op(node.op)
        values = self.recording._now().op_values(node.op)
        short = op["name"].partition("::")[2]
        kind = _kind_of(op)
        words = {OperationType.MEMORY_OP: "Memory", OperationType.CUSTOM: "Custom"}
        inputs = values["inputs"]
        one = self.drawn.add(
            kind,
            short,
            f"{words.get(kind, 'Tensor')} {short.rstrip('_')}",
            module_name=op["module"],
            input_shapes=[tuple(value["shape"]) for value in inputs],
            output_shapes=[tuple(value["shape"]) for value in values["outputs"]],
            parameters=op["attributes"],
            execution_time=self._time(op["ns"]),
            memory_usage=self._bytes(op["new_bytes"]),
            timestamp=self._stamp(op["start_ns"]),
            metadata={
                "operation": op["name"],
                "overload": op["overload"],
                "dtypes": [value["dtype"] for value in inputs],
                "devices": [value.get("device") for value in inputs],
                "flops": op["flops"],
                "line": op["line"],
                "phase": op["phase"],
            },
        )
        self.by_op[node.op] = one
        return one

    def _add_data_flow(self, graph, made):
        for edge in graph.edges:
            source, target = made.get(edge.source), made.get(edge.target)
            if source is not None and target is not None:
                members = {"dtype": edge.dtype, "exact": graph.exact and not edge.loose}
                self.drawn.connect(source, target, "data_flow", edge.shape, **members)

    def _add_calls(self):
        """A layer calls what is directly inside it."""
        for call in self.calls:
            layer = self.by_call.get(call.parent)
            inner = self.by_call.get(call.call)
            if layer is not None and inner is not None:
                shape = next(iter(inner.input_shapes), None)
                members = {"number": call.number}
                self.drawn.connect(layer, inner, "call", shape, **members)
        for number, node in self.by_op.items():
            layer = self.by_call.get(self.recording._now().op(number)["call"])
            if layer is not None:
                shape = next(iter(node.input_shapes), None)
                self.drawn.connect(layer, node, "call", shape, number=0)

    # --- backward

    def _add_backward(self):
        windows = self.watch.windows()
        ops = self._ops_of(windows)
        run = self.recording._now()
        causes = find_causes(self.watch.ran, ops, run) if self.has_ops else {}
        made = {}
        for step in self.watch.ran:
            mine = [op for op in ops.get(step, ()) if op["phase"] == "backward"]
            made[step] = self._add_step(step, mine, causes.get(step))
        for step in self.watch.steps.values() if not _has_prehooks(self.watch) else ():
            if step.is_leaf and step not in made:  # unknown in an old torch
                made[step] = self._add_step(step, [], None)
        for step, node in made.items():
            for other, at in step.next:
                if other in made:
                    shape = other.shapes[at] if at < len(other.shapes) else None
                    shape = shape if shape is not None else _leaf_shape(other)
                    self.drawn.connect(
                        node, made[other], "gradient_flow", shape, input=at
                    )
        self._fill_modules(made)
        self._add_causes(made, causes)

    def _ops_of(self, windows):
        """{Step: [op]}: operations that began while it ran."""
        if not self.has_ops:
            return {}
        begins = [begin for begin, _, _ in windows]
        run, found = self.recording._now(), {}
        for op in map(
            run.op, memoryview(run.find_ops(None, None, "backward")).cast("I")
        ):
            at = bisect.bisect_right(begins, op["start_ns"]) - 1
            if at >= 0 and op["start_ns"] <= windows[at][1]:
                found.setdefault(windows[at][2], []).append(op)
        return found

    def _add_step(self, step, ops, cause):
        kind = OperationType.BACKWARD
        if step.is_leaf:
            kind = OperationType.GRADIENT_OP
        elif step.is_custom:
            kind = OperationType.CUSTOM
        leaf = self._leaf_of(step)
        module = leaf.rpartition(".")[0] if leaf else None
        if cause is not None:
            module = self.recording._now().op(cause)["module"]
        spans = [end - begin for begin, end in zip(step.begins, step.ends)]
        ns = sum(op["ns"] for op in ops) if self.has_ops else sum(spans)
        shapes = [shape for shape in step.shapes if shape is not None]
        sent = [other.shapes[at] for other, at in step.next if at < len(other.shapes)]
        if step.is_leaf:
            sent = [_leaf_shape(step)]
        return self.drawn.add(
            kind,
            step.name if leaf is None else leaf or "input",
            step.name if leaf is None else f"AccumulateGrad: {leaf or 'input'}",
            module_name=module,
            input_shapes=shapes or ([_leaf_shape(step)] if step.is_leaf else []),
            output_shapes=[shape for shape in sent if shape is not None],
            parameters=self._leaf_facts(step, leaf),
            execution_time=self._time(ns),
            memory_usage=self._bytes(sum(op["new_bytes"] for op in ops)),
            timestamp=self._stamp(step.begins[0] if step.begins else self.began),
            metadata={
                "module_type": self._class_of(module),
                "operations": [op["name"] for op in ops],
                "grad_output_count": len(shapes),
                "grad_input_count": len(sent),
                "runs": len(step.begins),
                "phase": "backward",
            },
        )

    def _leaf_of(self, step):
        """The name of a leaf's parameter; "" for another tensor; None: not a leaf."""
        return self.names.get(step.node.variable, "") if step.is_leaf else None

    def _leaf_facts(self, step, leaf):
        if leaf is None:
            return {}
        shape = _leaf_shape(step)
        return {
            "name": leaf or "input",
            "shape": shape,
            "count": step.node.variable.numel(),
        }

    def _class_of(self, name):
        module = self.modules.get(name)
        return None if module is None else type(module).__name__

    def _fill_modules(self, made):
        """An autograd node without operations belongs to the module of the next node,
        or of the previous one. Without any operations, the module is known only for
        nodes that lead to a parameter."""
        for step, node in reversed(list(made.items())):
            after = [made[o] for o, _ in step.next if o in made]
            after = [one for one in after if self.has_ops or _is_leaf(one)]
            names = (one.module_name for one in after if one.module_name is not None)
            if node.module_name is None:
                node.module_name = next(names, None)
        for step, node in made.items() if self.has_ops else ():
            for other, _ in step.next:
                if other in made and made[other].module_name is None:
                    made[other].module_name = node.module_name
        for node in made.values():
            if node.metadata["module_type"] is None:
                node.metadata["module_type"] = self._class_of(node.module_name)

    def _add_causes(self, made, causes):
        """From a forward node to the autograd nodes that belong to it."""
        run = self.recording._now()
        for step, cause in causes.items():
            source = self.by_op.get(cause) or self.by_call.get(run.op(cause)["call"])
            if source is not None:
                shape = next(iter(source.output_shapes), None)
                self.drawn.connect(
                    source, made[step], "backward_of", shape, cause=cause
                )

    # --- memory of calls

    def _add_memory(self):
        """The bytes allocated by the operations of a call, if known."""
        if not self.tracker.track_memory or not self.has_ops:
            return
        run, sums = self.recording._now(), {}
        for op in map(
            run.op, memoryview(run.find_ops(None, None, "forward")).cast("I")
        ):
            sums[op["call"]] = sums.get(op["call"], 0) + op["new_bytes"]
        for call in reversed(self.calls):  # inner calls begin later
            if call.parent is not None:
                sums[call.parent] = sums.get(call.parent, 0) + sums.get(call.call, 0)
        for number, node in self.by_call.items():
            node.memory_usage = sums.get(number, 0)


def _kind_of(op):
    if op.get("custom") or op.get("region"):
        return OperationType.CUSTOM
    return (
        OperationType.MEMORY_OP if op["family"] in _MEMORY else OperationType.TENSOR_OP
    )


def _is_leaf(node):
    return node.operation_type is OperationType.GRADIENT_OP


def _shapes(values):
    return [tuple(value.shape) for value in values if value.shape is not None]


def _parameters(module):
    """The module's own parameters: their count, and the shape of each by name."""
    own = {} if module is None else dict(module.named_parameters(recurse=False))
    every = [] if module is None else list(module.parameters())
    shapes = {name: tuple(one.shape) for name, one in own.items()}
    return {"count": sum(one.numel() for one in every), **shapes}


def _leaf_shape(step):
    return tuple(step.node.variable.shape) if step.is_leaf else None


def _has_prehooks(watch):
    return all(hasattr(node, "register_prehook") for node in watch.steps)
