"""The truth about a TorchScript archive from torch itself: operations, module calls and
data flow of forward(), from the graphs that torch makes of the code. Not from
inlined_graph, which torch has simplified."""

import collections

import torch

# Nodes that only carry values from one place to another.
GLUE = {
    "prim::" + name
    for name in (
        "Constant GetAttr SetAttr CallMethod CallFunction TupleConstruct TupleUnpack "
        "TupleIndex TupleSlice ListConstruct ListUnpack DictConstruct If Loop "
        "unchecked_cast unchecked_unwrap_optional Uninitialized Enter Exit fork"
    ).split()
}


class Module:
    def __init__(self, module, path):
        self.module, self.path = module, path


class Oracle:
    """`ops` counts operations by name, `calls` calls by the name of the module, `edges`
    (producer, reader) pairs of operations. `straight`: there are no conditions and
loops, so all edges are known."""

    def __init__(self, path):
        self.unit = torch._C.CompilationUnit()
        args = [self.unit, str(path), None, {}]
        if "arg4" in torch._C.import_ir_module.__doc__:
            args.append(False)
        self.root = torch._C.import_ir_module(*args)
        self.ops = collections.Counter()
        self.calls = collections.Counter()
        self.edges = collections.Counter()
        self.names = set()  # of arguments: (operation, position, name)
        self.straight = True
        self.enter(Module(self.root, ""), "forward", [])

    def enter(self, owner, method, args):
        self.calls[owner.path] += 1
        return self.run(owner.module._get_method(method).graph, [owner, *args], owner.path)

    def run(self, graph, args, path):
        """An item is the name of the operation that made it, a list of items, a Module,
        or None: unknown."""
        items = dict(zip((value.debugName() for value in graph.inputs()), args))
        self.block(graph, items, path)
        results = [items.get(value.debugName()) for value in graph.outputs()]
        return results[0] if len(results) == 1 else results

    def block(self, block, items, path):
        for node in block.nodes():
            inputs = [items.get(value.debugName()) for value in node.inputs()]
            made = self.follow(node, inputs, path)
            items.update(zip((value.debugName() for value in node.outputs()), made))
            for inner in node.blocks():
                self.straight = False
                self.block(inner, items, path)

    def follow(self, node, inputs, path):
        kind = node.kind()
        if kind in ("prim::TupleConstruct", "prim::ListConstruct", "prim::DictConstruct"):
            return [inputs]
        if kind in ("prim::TupleUnpack", "prim::ListUnpack"):
            n = node.outputsSize()
            return inputs[0] if isinstance(inputs[0], list) else inputs * n
        if kind == "prim::TupleIndex":
            index = list(node.inputs())[1].toIValue()
            return [inputs[0][index] if isinstance(inputs[0], list) else inputs[0]]
        if kind == "prim::unchecked_cast":
            return inputs
        if kind == "prim::GetAttr":
            return [self.attribute(inputs[0], node.s("name"))]
        if kind == "prim::CallMethod":
            return [self.method(inputs[0], node.s("name"), inputs[1:], path)]
        if kind == "prim::CallFunction":
            name = next(node.inputs()).type().annotation_str
            return [self.run(self.unit.find_function(name).graph, inputs[1:], path)]
        if kind == "prim::fork":
            self.straight = False
            return [self.run(node.g("Subgraph"), inputs, path)]
        return self.operation(node, kind, inputs)

    def operation(self, node, kind, inputs):
        if kind in GLUE:
            return [None] * node.outputsSize()
        self.ops[kind] += 1
        for item in inputs:
            self.edges.update((source, kind) for source in self.sources(item))
        if kind == "aten::append":
            self.straight = False  # the list changes here
        return [kind] * node.outputsSize()

    def sources(self, item):
        if isinstance(item, list):
            return [source for part in item for source in self.sources(part)]
        return [item] if isinstance(item, str) else []

    def attribute(self, owner, name):
        if not isinstance(owner, Module) or not owner.module.hasattr(name):
            return None
        child = owner.module.getattr(name)
        if not hasattr(child, "_get_method"):
            return None
        return Module(child, f"{owner.path}.{name}" if owner.path else name)

    def method(self, owner, name, args, path):
        if owner.path != path:
            return self.enter(owner, name, args)
        graph = owner.module._get_method(name).graph  # part of this call
        return self.run(graph, [owner, *args], path)
