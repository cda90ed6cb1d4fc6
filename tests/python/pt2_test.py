"""Exported programs (.pt2) as torch.export sees them: tensors, modules, operations,
attributes, edges, shapes; packages with native code; damaged and hostile archives."""

import collections
import json
import math
import os
import tempfile
import unittest
import zipfile
from pathlib import Path

import pt2_models
import scope
import torch
import truth

HIGHER = torch._ops.HigherOrderOperator
INLINED = {"wrap_with_set_grad_enabled"}


def sha(tensor):
    return truth.describe("x", tensor)["sha256"]


def op_name(target):
    """("aten::conv2d", overload or None) of a node's target."""
    if isinstance(target, torch._ops.OpOverload):
        space, _, name = target._schema.name.partition("::")
        overload = target._overloadname
        return f"{space}::{name}", None if overload == "default" else overload
    return f"{target.__module__}.{target.__name__}", None


class Nodes:
    """The operations of a program in order, with those of graphs inside."""

    def __init__(self, program):
        self.ops, self.edges, self.plain = [], collections.Counter(), True
        self.graph(program.graph_module, [])

    def graph(self, module, given):
        made = {}  # node -> index of the operation that made its value, or None
        views = {}  # node -> the node that it is a view of
        inputs = [n for n in module.graph.nodes if n.op == "placeholder"]
        for node, value in zip(inputs, given):
            made[node] = value
        for node in module.graph.nodes:
            if node.op == "call_function":
                self.node(module, node, made, views)
            elif node.op == "output":
                flat = torch.utils._pytree.tree_leaves(node.args)
                return [made.get(one) if isinstance(one, torch.fx.Node) else None
                        for one in flat]  # fmt: skip

    def node(self, module, node, made, views):
        if getattr(node.target, "__name__", "") == "getitem" and node.args[0] in made:
            source = made[node.args[0]]
            made[node] = source[node.args[1]] if isinstance(source, list) else source
            return
        if isinstance(node.target, HIGHER):
            made[node] = self.higher(module, node, made)
            return
        index = len(self.ops)
        self.ops.append(node)
        for one in node.all_input_nodes:
            source = made.get(one)
            if source is not None:
                self.edges[source, index] = 1
        made[node] = index
        name, _ = op_name(node.target)
        first = node.args[0] if node.args and isinstance(node.args[0], torch.fx.Node) else None
        if first is None:
            return
        if name.endswith("_") and not name.endswith("__"):
            while first is not None:
                made[first] = index
                first = views.get(first)
        elif name.removeprefix("aten::") in {"view", "detach", "slice", "select", "split",
                                             "split_with_sizes", "unsqueeze", "expand",
                                             "transpose", "permute", "flatten", "reshape"}:
            views[node] = first

    def higher(self, module, node, made):
        name = node.target._name
        graphs = [a for a in node.args if isinstance(a, torch.fx.Node) and a.op == "get_attr"]
        self.plain = self.plain and name in INLINED
        if name in INLINED:
            at = node.args.index(graphs[0])
            given = [made.get(one) if isinstance(one, torch.fx.Node) else None
                     for one in node.args[at + 1 :]]  # fmt: skip
            return self.graph(getattr(module, graphs[0].target), given)
        for one in graphs:
            self.graph(getattr(module, one.target), [])
        return None


def sizes(value):
    return [s if isinstance(s, int) else None for s in value.shape]


class Exported(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.programs = {}
        for name in pt2_models.NAMES:
            path = cls.folder / f"{name}.pt2"
            torch.export.save(pt2_models.export(name), path)
            cls.programs[name] = torch.export.load(path)

    def path(self, name):
        return self.folder / f"{name}.pt2"

    # ---- tensors ----

    def check_tensors(self, path, program, grad=True):
        document = scope.document("stats", path, "--sha256")
        measured = {one["place"]: one for one in document["tensors"]}
        tree = scope.document("tree", path)
        got = {one["name"]: {**one, **measured.get(one["place"], {})} for one in tree["tensors"]}
        wanted = {**program.state_dict}
        wanted |= {k: v for k, v in program.constants.items() if isinstance(v, torch.Tensor)}
        self.assertEqual(sorted(got), sorted(wanted))
        for name, tensor in wanted.items():
            one = got[name]
            self.assertEqual(one["shape"], list(tensor.shape), name)
            self.assertEqual(one["dtype"], str(tensor.dtype).removeprefix("torch."), name)
            self.assertEqual(one["strides"], list(tensor.stride()), name)
            self.assertEqual(one["offset"], tensor.storage_offset(), name)
            if grad:
                self.assertIs(one["requires_grad"], tensor.requires_grad, name)
            if "tied_to" not in one and tensor.numel():
                self.assertEqual(one["sha256"], sha(tensor.detach()), name)
        roles = {one["name"]: one["role"] for one in tree["tensors"]}
        signature = program.graph_signature
        for name in signature.parameters:
            self.assertEqual(roles[name], "parameter", name)
        for name in signature.buffers:
            self.assertEqual(roles[name], "buffer", name)
        return got

    def test_tensors_equal_those_of_the_program(self):
        for name, program in self.programs.items():
            with self.subTest(name):
                self.check_tensors(self.path(name), program)

    def test_tied_tensors_share_storage(self):
        got = self.check_tensors(self.path("shared"), self.programs["shared"])
        tied = {one["name"] for one in got.values() if one.get("also_at") or "tied_to" in one}
        self.assertEqual(tied, {"embed.weight", "head.weight"})
        self.assertEqual(got["row"]["storage"], got["whole"]["storage"])

    # ---- modules ----

    def test_modules_have_their_classes(self):
        for name, program in self.programs.items():
            with self.subTest(name):
                tree = scope.document("tree", self.path(name))
                got = {one["name"]: one.get("class") for one in tree["modules"]}
                for node in Nodes(program).ops:
                    for path, kind in (node.meta.get("nn_module_stack") or {}).values():
                        if not isinstance(kind, str):
                            kind = f"{kind.__module__}.{kind.__qualname__}"
                        self.assertEqual(got[path.split("@")[0]], kind, path)

    # ---- operations ----

    def check_attributes(self, op, node):
        if not isinstance(node.target, torch._ops.OpOverload):
            return
        names = [one.name for one in node.target._schema.arguments]
        given = dict(zip(names, node.args)) | dict(node.kwargs)
        for name, value in given.items():
            flat = value if isinstance(value, (list, tuple)) else [value]
            if any(isinstance(one, torch.fx.Node) for one in flat):
                self.assertIn(name, {one["arg"] for one in op["inputs"]}, node)
                continue
            self.assertIn(name, op["attributes"], node)
            got = op["attributes"][name]
            if isinstance(value, float) and not math.isfinite(value):
                self.assertEqual(float(got), value)
            elif value is None or isinstance(value, (bool, int, float, str)):
                self.assertEqual(got, value, (node, name))
            elif all(isinstance(one, int) for one in flat):
                self.assertEqual(got, list(flat), (node, name))
            elif isinstance(value, torch.dtype):
                self.assertIn(str(value), json.dumps(got))

    def check_ops(self, path, program):
        document = scope.document("ops", path)
        nodes = Nodes(program)
        self.assertFalse(document["cut"])
        self.assertEqual(
            [(one["name"], one["overload"]) for one in document["ops"]],
            [op_name(node.target) for node in nodes.ops],
        )
        for op, node in zip(document["ops"], nodes.ops):
            value = node.meta.get("val")
            self.check_attributes(op, node)
            if isinstance(value, torch.Tensor) and op["outputs"]:
                self.assertEqual(op["outputs"][0]["shape"], sizes(value), node)
                dtype = str(value.dtype).removeprefix("torch.")
                self.assertEqual(op["outputs"][0]["dtype"], dtype, node)
            stack = node.meta.get("nn_module_stack")
            if stack and nodes.plain:
                module = list(stack.values())[-1][0].split("@")[0]
                self.assertEqual(op["module"], module, node)
        if nodes.plain:
            edges = {(one["source"], one["target"]): 1 for one in document["edges"]}
            self.assertEqual(edges, dict(nodes.edges))
        return document

    def test_operations_attributes_shapes_and_edges(self):
        for name, program in self.programs.items():
            with self.subTest(name):
                self.check_ops(self.path(name), program)

    def test_inputs_and_outputs(self):
        for name, program in self.programs.items():
            with self.subTest(name):
                call = scope.document("ops", self.path(name))["calls"][0]
                wanted = [one for one in program.graph_signature.user_inputs
                          if isinstance(one, str)]  # fmt: skip
                got = [one["arg"] for one in call["inputs"]]
                self.assertEqual([one for one in got if one in wanted], wanted)
                outputs = len([s for s in program.graph_signature.output_specs
                               if isinstance(s.arg, torch.export.graph_signature.TensorArgument)])  # fmt: skip
                tensors = [one for one in call["outputs"] if one["dtype"]]
                self.assertEqual(len(tensors), outputs)

    def test_a_condition_has_two_branches(self):
        document = scope.document("ops", self.path("branches"))
        self.assertEqual([one["kind"] for one in document["regions"]], ["if", "else"])
        names = {one["id"]: one["name"] for one in document["ops"]}
        edges = {(names[e["source"]], names[e["target"]]) for e in document["edges"]}
        self.assertIn(("aten::mul", "aten::sin"), edges)
        self.assertIn(("aten::sub", "aten::sin"), edges)
        self.assertEqual(document["regions"][0]["condition"], document["regions"][1]["condition"])

    def test_a_loop_passes_values_on(self):
        document = scope.document("ops", self.path("loops"))
        self.assertEqual([one["kind"] for one in document["regions"]], ["loop"])
        names = {one["id"]: one["name"] for one in document["ops"]}
        edges = {(names[e["source"]], names[e["target"]]) for e in document["edges"]}
        self.assertIn(("aten::linear", "aten::linear"), edges)
        self.assertIn(("aten::linear", "aten::cos"), edges)
        self.assertIsNotNone(document["regions"][0]["condition"])

    def test_source_lines_are_those_of_the_user(self):
        document = scope.document("ops", self.path("resnet"))
        for one in document["ops"]:
            if one["name"] != "aten::sym_size":  # torch adds it
                self.assertIn("pt2_models.py:", one["line"] or "", one["name"])

    def test_info_lists_sizes_and_mutations(self):
        said = scope.run("info", self.path("bert")).stdout.decode()
        self.assertRegex(said, r"inputs +input_ids: int64 s\d+×s\d+")
        self.assertRegex(said, r"sizes +s\d+: 2 to 64, s\d+: 2 to 20")
        self.assertIn(f"torch {torch.__version__}", said)
        said = scope.run("info", self.path("training")).stdout.decode()
        self.assertNotIn("NEEDS CODE", said)
        functional = self.programs["shared"].run_decompositions()
        path = self.folder / "functional.pt2"
        torch.export.save(functional, path)
        self.assertRegex(scope.run("info", path).stdout.decode(), r"changes +steps")
        self.check_ops(path, torch.export.load(path))
        path.unlink()

    # ---- older layouts ----

    def test_older_layouts_give_the_same_model(self):
        for name in ("resnet", "shared", "dtypes", "branches", "bert"):
            for first in (False, True):
                with self.subTest(name, first=first):
                    program, path = self.programs[name], self.folder / f"old_{name}.pt2"
                    pt2_models.write_old(program, self.path(name), path, first)
                    self.check_tensors(path, program, grad=False)
                    self.check_ops(path, program)
                    tree = scope.document("tree", path)["modules"]
                    new = scope.document("tree", self.path(name))["modules"]
                    classes = [[(m["name"], m.get("class")) for m in one] for one in (tree, new)]
                    self.assertEqual(*classes)
                    path.unlink()

    # ---- views ----

    def test_every_view_works(self):
        for name in pt2_models.NAMES:
            for command in (["tree"], ["info"], ["check", "--values"], ["ops"], ["stats"]):
                done = scope.run(*command, self.path(name))
                self.assertEqual(done.returncode, 0, (name, command, done.stderr, done.stdout))
            picture = self.folder / f"{name}.svg"
            done = scope.run("graph", self.path(name), "-o", picture)
            self.assertEqual(done.returncode, 0, (name, done.stderr))
            self.assertIn("</svg>", picture.read_text())

    def test_diff_against_a_state_dict(self):
        path = self.folder / "weights.pth"
        torch.save(self.programs["resnet"].state_dict, path)
        done = scope.run("diff", self.path("resnet"), path)
        self.assertIn(b"equal", done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)

    # ---- safety ----

    def rewrite(self, name, to, change):
        """A copy of an archive, whose entries `change` may replace."""
        path = self.folder / to
        with zipfile.ZipFile(self.path(name)) as old, zipfile.ZipFile(path, "w") as new:
            entries = {one: old.read(one) for one in old.namelist()}
            change(entries)
            for one, content in entries.items():
                new.writestr(one, content)
        return path

    def test_native_code_is_unsafe(self):
        def add(entries):
            entries["cnn/data/aotinductor/model/abc.wrapper.so"] = b"\x7fELF"
            entries["cnn/data/aotinductor/model/abc_metadata.json"] = b"{}"

        path = self.rewrite("cnn", "native.pt2", add)
        done = scope.run("check", path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("UNSAFE", done.stdout.decode())
        self.assertIn("abc.wrapper.so is native code", done.stdout.decode())
        self.assertIn("abc_metadata.json", scope.run("tree", path, "--json").stdout.decode())

    def test_a_pickle_among_the_constants_is_part_of_the_verdict(self):
        def add(entries):
            config = {"path_name": "opaque_obj_0", "is_param": False, "use_pickle": True,
                      "tensor_meta": None}  # fmt: skip
            entries["cnn/data/constants/model_constants_config.json"] = json.dumps(
                {"config": {"thing": config}}
            ).encode()
            entries["cnn/data/constants/opaque_obj_0"] = b"cposix\nsystem\n(S'true'\ntR."

        done = scope.run("check", self.rewrite("cnn", "opaque.pt2", add))
        self.assertEqual(done.returncode, 1)
        self.assertIn("system", done.stdout.decode())

    def test_missing_and_malformed_parts_are_findings(self):
        def drop(entries):
            del entries["cnn/data/weights/weight_0"]

        def break_config(entries):
            entries["cnn/data/weights/model_weights_config.json"] = b'{"config": {"0.weight": {}}}'

        def no_config(entries):
            del entries["cnn/data/weights/model_weights_config.json"]

        for change in (drop, break_config, no_config):
            path = self.rewrite("cnn", "broken.pt2", change)
            with self.subTest(change.__name__):
                done = scope.run("check", path)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertEqual(scope.run("tree", path).returncode, 1)
                self.assertEqual(scope.run("ops", path).returncode, 0)

    def test_json_without_a_program_gives_a_clear_error(self):
        for text in (b"", b"{", b"[]", b'{"graph_module": 3}'):
            def put(entries, text=text):
                entries["cnn/models/model.json"] = text

            done = scope.run("tree", self.rewrite("cnn", "bad.pt2", put))
            self.assertEqual(done.returncode, 2, text)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_several_programs(self):
        path = self.folder / "two.pt2"
        from torch.export.pt2_archive._package import package_pt2

        with open(path, "wb") as to:
            package_pt2(to, exported_programs={"a": self.programs["cnn"],
                                               "b": self.programs["shared"]})  # fmt: skip
        said = scope.run("tree", path).stdout.decode()
        self.assertIn("a: Sequential", said)
        self.assertIn("b: Shared", said)
        self.assertEqual(scope.run("ops", path).returncode, 0)


if __name__ == "__main__":
    os.environ.setdefault("TORCHOSCOPE", str(scope.PROGRAM))
    unittest.main()
