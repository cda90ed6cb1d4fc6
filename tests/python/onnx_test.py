"""ONNX files: tensors, operations, attributes and shapes are those of the onnx package."""

import hashlib
import math
import os
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import onnx_models
import scope
from onnx import TensorProto, helper, inliner, numpy_helper, shape_inference

FLOW = {"If", "Loop", "Scan"}
DTYPES = {
    "FLOAT": "float32", "DOUBLE": "float64", "HALF": "float16", "FLOAT16": "float16",
    "COMPLEX64": "complex64", "COMPLEX128": "complex128", "FLOAT8E4M3FN": "float8_e4m3fn",
    "FLOAT8E4M3FNUZ": "float8_e4m3fnuz", "FLOAT8E5M2": "float8_e5m2",
    "FLOAT8E5M2FNUZ": "float8_e5m2fnuz", "FLOAT8E8M0": "float8_e8m0fnu",
    "FLOAT4E2M1": "float4_e2m1",
}
BITS = {"UINT4": 4, "INT4": 4, "FLOAT4E2M1": 4, "UINT2": 2, "INT2": 2}
SMALL = 16  # elements of a constant that is shown as numbers


def kind_of(tensor):
    return TensorProto.DataType.Name(tensor.data_type)


def dtype_of(kind):
    name = TensorProto.DataType.Name(kind)
    return DTYPES.get(name, name.lower())


def content(tensor, folder):
    """The bytes of its elements; sub-byte elements are packed."""
    array = numpy_helper.to_array(tensor, str(folder))
    bits = BITS.get(kind_of(tensor))
    if not bits:
        return np.ascontiguousarray(array).tobytes()
    codes = array.ravel().view(np.uint8) & ((1 << bits) - 1)
    per = 8 // bits
    codes = np.concatenate([codes, np.zeros(-len(codes) % per, np.uint8)]).reshape(-1, per)
    return sum(codes[:, k] << bits * k for k in range(per)).astype(np.uint8).tobytes()


def graphs_of(graph):
    yield graph
    for node in graph.node:
        for attr in node.attribute:
            for inner in ([attr.g] if attr.type == attr.GRAPH else attr.graphs):
                yield from graphs_of(inner)


def constants(graph):
    """Tensors that have a place: initialisers, and large constants."""
    for tensor in graph.initializer:
        yield tensor.name, tensor
    for node in graph.node:
        for attr in node.attribute if node.op_type == "Constant" else []:
            if attr.name == "value" and math.prod(attr.t.dims) > SMALL:
                yield node.output[0], attr.t


def plain(attr):
    """The JSON of an attribute; None: it is omitted."""
    value = helper.get_attribute_value(attr)
    if attr.type in (attr.GRAPH, attr.GRAPHS, attr.TYPE_PROTO, attr.TYPE_PROTOS):
        return None
    if attr.type == attr.STRING:
        return value.decode()
    if attr.type == attr.STRINGS:
        return [item.decode() for item in value]
    if attr.type == attr.TENSOR:
        numbers = math.prod(value.dims) <= SMALL and len(value.dims) <= 1
        return numpy_helper.to_array(value).tolist() if numbers else value
    return list(value) if attr.type in (attr.INTS, attr.FLOATS) else value


class Case(unittest.TestCase):
    """The comparison; files that the tests make are in `self.folder`."""

    @classmethod
    def setUpClass(cls):
        cls.holder = TemporaryDirectory()
        cls.addClassCleanup(cls.holder.cleanup)
        cls.folder = Path(cls.holder.name)

    def tree(self, path):
        return scope.document("tree", path)

    def check_tensors(self, path, model):
        stats = scope.document("stats", path, "--sha256")
        shas = {tensor["name"]: tensor.get("sha256") for tensor in stats["tensors"]}
        found = {}
        for tensor in self.tree(path)["tensors"]:
            found.setdefault(tensor.get("storage_key"), []).append(tensor)
        for graph in graphs_of(model.graph):
            for name, tensor in constants(graph):
                if kind_of(tensor).startswith("FLOAT6"):
                    continue  # an unknown dtype
                if tensor.data_type == TensorProto.STRING or name not in found:
                    self.assertEqual(tensor.data_type, TensorProto.STRING, (path, name))
                    continue
                seen = [
                    one for one in found[name] if one["shape"] == list(tensor.dims)
                    and one["dtype"] == dtype_of(tensor.data_type)]
                self.assertTrue(seen, (path, name, found[name], tensor.dims))
                if not tensor.dims or math.prod(tensor.dims) > 0:
                    wanted = hashlib.sha256(content(tensor, path.parent)).hexdigest()
                    self.assertIn(wanted, [shas.get(one["name"]) for one in seen], (path, name))

    def check_attributes(self, path, op, node):
        seen = op["attributes"]
        for attr in node.attribute:
            wanted = plain(attr)
            if wanted is None:
                self.assertNotIn(attr.name, seen)
            elif isinstance(wanted, TensorProto):
                self.assertIn("$tensor", seen[attr.name], (path, node.name))
            elif isinstance(wanted, float) and not math.isfinite(wanted):
                self.assertEqual(float(seen[attr.name]), wanted)
            else:
                self.assertEqual(seen[attr.name], wanted, (path, node.name, attr.name))
        self.assertEqual(len(seen), sum(plain(attr) is not None for attr in node.attribute))

    def check_node(self, path, op, node):
        domain = "onnx" if node.domain in ("", "ai.onnx") else node.domain
        self.assertEqual(op["name"], f"{domain}::{node.op_type}", path)
        inputs = [(str(k), name) for k, name in enumerate(node.input) if name]
        self.assertEqual([(io["arg"], io["name"]) for io in op["inputs"]], inputs, path)
        self.assertEqual([io["name"] for io in op["outputs"]],
                         [name for name in node.output if name], path)
        self.check_attributes(path, op, node)

    def check_shapes(self, path, model, ops):
        """Sizes that both know are equal; returns how many we and onnx know."""
        try:
            wanted = shape_inference.infer_shapes(model, data_prop=True)
        except Exception:  # some test models are invalid on purpose
            return 0, 0
        types = {v.name: v.type for v in [*wanted.graph.value_info, *wanted.graph.output]}
        known = ours = 0
        for op in ops:
            for io in op["outputs"]:
                kind = types.get(io["name"])
                if not kind or not kind.HasField("tensor_type"):
                    continue
                tensor = kind.tensor_type
                if io["dtype"] is not None and tensor.elem_type not in (0, TensorProto.STRING):
                    self.assertEqual(io["dtype"], dtype_of(tensor.elem_type), (path, io))
                if not tensor.HasField("shape"):
                    continue
                sizes = [d.dim_value if d.HasField("dim_value") else None
                         for d in tensor.shape.dim]
                known += sum(size is not None for size in sizes) + 1
                if io["shape"] is None:
                    continue
                self.assertEqual(len(io["shape"]), len(sizes), (path, op["name"], io, sizes))
                ours += 1
                for size, other in zip(io["shape"], sizes):
                    ours += size is not None and other is not None
                    if size is not None and other is not None:
                        self.assertEqual(size, other, (path, op["name"], io, sizes))
        return ours, known

    def check_program(self, path, model):
        """Operations in order, with inputs, outputs and attributes; edges follow."""
        if model.functions:
            model = inliner.inline_local_functions(model)
        nodes = [node for graph in graphs_of(model.graph) for node in graph.node]
        flow = [node for node in nodes if node.op_type in FLOW]
        document = scope.document("ops", path)
        self.assertFalse(document["cut"], path)
        self.assertEqual(sum(use["count"] for use in document["uses"]), len(nodes) - len(flow))
        branches = sum(2 if node.op_type == "If" else 1 for node in flow)
        self.assertEqual(len(document["regions"]), branches, path)
        if flow or model.functions or len(nodes) != len(document["ops"]):
            return 0, 0
        for op, node in zip(document["ops"], nodes):
            if not onnx_has_functions(path):
                self.check_node(path, op, node)
        made = {name: i for i, node in enumerate(nodes) for name in node.output if name}
        inits = {tensor.name for tensor in model.graph.initializer}
        edges = sorted((made[name], i, str(k)) for i, node in enumerate(nodes)
                       for k, name in enumerate(node.input) if name in made)
        self.assertFalse(inits & set(made))
        large = {node.output[0] for node in nodes if node.op_type == "Constant"
                 and any(math.prod(a.t.dims) > SMALL for a in node.attribute if a.name == "value")}
        edges = [edge for edge in edges if nodes[edge[0]].output[0] not in large]
        seen = sorted((e["source"], e["target"], e["arg"]) for e in document["edges"])
        self.assertEqual(seen, edges, path)
        return self.check_shapes(path, model, document["ops"])

    def check_info(self, path, model):
        facts = scope.document("info", path)["facts"]
        self.assertEqual(facts["IR version"], model.ir_version)
        inits = {tensor.name for tensor in model.graph.initializer}
        inputs = [v for v in model.graph.input if v.name not in inits]
        for key, values in ("inputs", inputs), ("outputs", model.graph.output):
            self.assertEqual([end["name"] for end in facts[key]], [v.name for v in values])
            for end, value in zip(facts[key], values):
                tensor = value.type.tensor_type
                if not value.type.HasField("tensor_type") or not tensor.HasField("shape"):
                    continue
                wanted = [d.dim_value if d.HasField("dim_value") else d.dim_param or None
                          for d in tensor.shape.dim]
                self.assertEqual(end["shape"], wanted, path)

    def check(self, path):
        model = onnx.load(path, load_external_data=False)
        self.check_tensors(path, model)
        self.check_info(path, model)
        return self.check_program(path, model)


def onnx_has_functions(path):
    return len(onnx.load(path, load_external_data=False).functions) > 0


class Made(Case):
    def test_models_of_onnx_helper(self):
        for name, path in onnx_models.make(self.folder).items():
            with self.subTest(name):
                ours, known = self.check(path)
                if name == "shapes":
                    self.assertGreaterEqual(ours, 0.97 * known, (ours, known))

    def test_exports_of_torch(self):
        for dynamo in (False, True):
            for name, path in onnx_models.export(self.folder, dynamo).items():
                with self.subTest(name):
                    ours, known = self.check(path)
                    self.assertGreaterEqual(ours, 0.9 * known, (name, ours, known))

    def test_sample_models(self):
        ours = known = 0
        files = sorted(scope.MODELS.rglob("*.onnx")) if scope.MODELS.exists() else []
        for path in files:
            if "external" in path.name:
                continue  # its data file is not in this folder
            with self.subTest(path.name):
                more, all_known = self.check(path)
                ours, known = ours + more, known + all_known
        if not files:
            self.skipTest("no sample models")
        self.assertGreaterEqual(ours, 0.9 * known, (ours, known))

    def test_modules_and_their_classes_come_from_names(self):
        paths = onnx_models.export(self.folder, True)
        tree = {row["name"]: row for row in self.tree(paths["cnn_new"])["modules"]}
        self.assertTrue(tree["blocks.0.act"]["class"].endswith("ReLU"))
        self.assertTrue(tree["stem"]["class"].endswith("Sequential"))
        paths = onnx_models.export(self.folder, False)
        tree = {row["name"]: row for row in self.tree(paths["cnn_old"])["modules"]}
        self.assertIn("blocks.1.act", tree)
        calls = scope.document("ops", paths["cnn_old"])["calls"]
        self.assertIn("stem.0", [call["module"] for call in calls])

    def test_quantised_tensors_have_scale_and_zero_point(self):
        path = onnx_models.make(self.folder)["quantised"]
        tensors = {t["name"]: t for t in self.tree(path)["tensors"]}
        self.assertEqual(tensors["w_q"]["extra"]["zero_point"], 3)
        self.assertAlmostEqual(tensors["w_q"]["extra"]["scale"], 0.02, 6)
        self.assertEqual(tensors["w_q"]["role"], "parameter")
        self.assertEqual(tensors["w_scale"]["role"], "buffer")

    def test_integers_that_an_operation_multiplies_are_parameters(self):
        """As quantize_dynamic writes them: the scale is applied by a later node."""
        path = self.folder / "dynamic.onnx"
        make = numpy_helper.from_array
        tensors = [make(np.ones((3, 4), np.int8), "w"), make(np.int8(0), "w_zero"),
                   make(np.float32(0.1), "w_scale"), make(np.ones((4, 1, 8), np.uint8), "packed"),
                   make(np.ones((4, 1), np.float32), "scales")]
        nodes = [helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
                 helper.make_node("MatMulInteger", ["q", "w", "z", "w_zero"], ["i"]),
                 helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
                 helper.make_node("Mul", ["s", "w_scale"], ["both"]),
                 helper.make_node("Mul", ["f", "both"], ["m"]),
                 helper.make_node("MatMulNBits", ["m", "packed", "scales"], ["y"],
                                  domain="com.microsoft", K=4, N=4, bits=4, block_size=16)]
        onnx.save(onnx_models.model(nodes, [onnx_models.info("x", TensorProto.FLOAT, [2, 3])],
                                    [onnx_models.info("y")], tensors), path)
        roles = {t["name"]: t["role"] for t in self.tree(path)["tensors"]}
        self.assertEqual((roles["w"], roles["packed"]), ("parameter", "parameter"))
        self.assertEqual((roles["w_zero"], roles["scales"]), ("buffer", "buffer"))

    def test_types_of_inputs_that_are_not_tensors(self):
        """As scikit-learn's classifiers return them: a sequence of maps."""
        scores = helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(
            TensorProto.FLOAT, None))
        boxes = helper.make_optional_type_proto(helper.make_sequence_type_proto(
            helper.make_tensor_type_proto(TensorProto.INT64, ["n", 4])))
        inputs = [helper.make_value_info("scores", helper.make_sequence_type_proto(scores)),
                  helper.make_value_info("boxes", boxes)]
        path = self.folder / "types.onnx"
        onnx.save(onnx_models.model([], inputs, inputs), path)
        found = [(one["of"], one["dtype"], one["shape"])
                 for one in scope.document("info", path)["facts"]["inputs"]]
        self.assertEqual(found, [("sequence of map of string to", "float32", None),
                                 ("optional sequence of", "int64", ["n", 4])])

    def test_tensors_of_branches_are_below_the_node(self):
        """Those with the name of another tensor are in the module of their graph."""
        def branch(value):
            tensor = numpy_helper.from_array(np.full(3, value, np.float32), "k")
            return helper.make_graph([helper.make_node("Add", ["x", "k"], ["o"])], "b", [],
                                     [onnx_models.info("o")], [tensor])

        nodes = [helper.make_node("If", ["c"], ["y"], name="/gate/If",
                                  then_branch=branch(1), else_branch=branch(2))]
        path = self.folder / "branches.onnx"
        onnx.save(onnx_models.model(
            nodes, [onnx_models.info("x", TensorProto.FLOAT, [3]),
                    onnx_models.info("c", TensorProto.BOOL, [])], [onnx_models.info("y")],
            [numpy_helper.from_array(np.zeros(2, np.float32), "k")]), path)
        found = {t["name"]: t["min"] for t in scope.document("stats", path)["tensors"]}
        self.assertEqual(found, {"k": 0, "gate.If.then_branch.k": 1, "gate.If.else_branch.k": 2})

    def test_lines_are_those_of_the_network_not_of_generated_code(self):
        node = helper.make_node("Relu", ["x"], ["y"])
        entry = node.metadata_props.add()
        entry.key = "pkg.torch.onnx.stack_trace"
        entry.value = ('File "/home/me/net.py", line 41, in forward\n  y = self.act(x)\n'
                       'File "<eval_with_key>.3", line 5, in forward\n  relu = x.relu()')
        path = self.folder / "lines.onnx"
        onnx.save(onnx_models.model([node], [onnx_models.info("x")], [onnx_models.info("y")]), path)
        op, = scope.document("ops", path)["ops"]
        self.assertEqual(op["line"], "net.py:41")

    def test_functions_are_inlined_with_the_attributes_of_the_call(self):
        path = onnx_models.make(self.folder)["functions"]
        ops = scope.document("ops", path)["ops"]
        self.assertEqual([op["attributes"].get("value_float") for op in ops],
                         [3.0, None, 4.0, None, None])
        self.assertEqual(ops[-1]["inputs"][0]["shape"], [2, 3])

    def test_constants_of_functions_and_graphs_with_the_same_name_are_different(self):
        """Each has its own values, and no finding."""
        def large(start):
            return helper.make_node("Constant", [], ["val_0"], value=numpy_helper.from_array(
                np.arange(start, start + 40, dtype=np.float32)))

        functions = [helper.make_function(
            domain, "Shift", ["a"], ["b"],
            [large(start), helper.make_node("Add", ["a", "val_0"], ["b"])],
            [helper.make_opsetid("", 21)]) for domain, start in (("one", 100), ("two", 200))]
        nodes = [large(0), helper.make_node("Add", ["x", "val_0"], ["h"])]
        nodes += [helper.make_node("Shift", ["h"], ["i"], domain="one"),
                  helper.make_node("Shift", ["i"], ["y"], domain="two")]
        path = self.folder / "same_names.onnx"
        onnx.save(onnx_models.model(
            nodes, [onnx_models.info("x", TensorProto.FLOAT, [40])], [onnx_models.info("y")],
            functions=functions, opset_imports=[helper.make_opsetid(d, 1 if d else 21)
                                                for d in ("", "one", "two")]), path)
        found = {t["name"]: t["min"] for t in scope.document("stats", path)["tensors"]}
        self.assertEqual(found, {"val_0": 0, "one::Shift.val_0": 100, "two::Shift.val_0": 200})
        self.assertEqual(scope.document("check", path)["checked"][0]["findings"], [])

    def test_small_constants_of_every_type_are_numbers(self):
        kinds = [TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.FLOAT8E4M3FN,
                 TensorProto.FLOAT8E5M2, TensorProto.FLOAT4E2M1, TensorProto.INT4,
                 TensorProto.UINT2, TensorProto.UINT64, TensorProto.INT16]
        nodes = [helper.make_node("Constant", [], [f"c{kind}"], value=helper.make_tensor(
            "", kind, [3], [1, 0, 1])) for kind in kinds]
        nodes.append(helper.make_node("Constant", [], ["half"], value=helper.make_tensor(
            "", TensorProto.FLOAT16, [], [-0.375])))
        path = self.folder / "small.onnx"
        onnx.save(onnx_models.model(nodes, [], [onnx_models.info("half")]), path)
        values = [op["attributes"]["value"] for op in scope.document("ops", path)["ops"]]
        self.assertEqual(values, [[1, 0, 1]] * len(kinds) + [-0.375])

    def test_a_type_that_is_unknown_is_one_finding(self):
        path = self.folder / "unknown.onnx"
        for data in {"raw_data": b"abcd"}, {"int32_data": [1, 2, 3, 4]}:
            tensor = TensorProto(name="w", data_type=99, dims=[4], **data)
            onnx.save(onnx_models.model([], [], [onnx_models.info("w")], [tensor]), path)
            findings = scope.document("check", path)["checked"][0]["findings"]
            self.assertEqual([f["text"] for f in findings], ["w: unknown dtype 99"])

    def test_pictures_pages_and_differences(self):
        path = onnx_models.export(self.folder, True)["cnn_new"]
        for name in ("net.svg", "net.html", "net.txt"):
            command = "graph" if name != "net.txt" else "export"
            done = scope.run(command, path, "-o", self.folder / name)
            self.assertEqual(done.returncode, 0, done.stderr)
        svg = (self.folder / "net.svg").read_text()
        self.assertIn("blocks", svg)
        self.assertIn("8→8", svg)
        self.assertEqual(scope.run("diff", path, path).returncode, 0)


class Outside(Case):
    """Data outside of the model's folder is never read."""

    def write(self, location, **more):
        tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4])
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in {"location": location, **more}.items():
            tensor.external_data.add(key=key, value=value)
        nodes = [helper.make_node("Identity", ["w"], ["y"])]
        model = onnx_models.model(nodes, [], [onnx_models.info("y")])
        model.graph.initializer.append(tensor)
        path = self.folder / "m" / "model.onnx"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(model.SerializeToString())
        return path

    def findings(self, path):
        return [(f["code"], f["text"]) for f in scope.document("check", path)["checked"][0]["findings"]]

    def refused(self, location, code="unsafe-path", **more):
        path = self.write(location, **more)
        codes = [one for one, _ in self.findings(path)]
        self.assertIn(code, codes, (location, self.findings(path)))
        self.assertEqual(scope.run("check", path).returncode, 1)
        stats = scope.document("stats", path)["tensors"][0]
        self.assertNotIn("mean", {k: v for k, v in stats.items() if v is not None}, stats)

    def test_paths_links_and_devices_are_refused(self):
        inside = self.folder / "m"
        inside.mkdir(exist_ok=True)
        secret = self.folder / "secret.bin"
        secret.write_bytes(np.ones(4, np.float32).tobytes())
        for location in ("../secret.bin", str(secret), "a\\b", "sub/../../secret.bin", "..", "/",
                         "", "a\0b"):
            self.refused(location)
        (inside / "link.bin").symlink_to(secret)
        self.refused("link.bin")
        os.link(secret, inside / "hard.bin")
        self.refused("hard.bin")
        (inside / "folder").symlink_to(self.folder)
        self.refused("folder/secret.bin")
        os.mkfifo(inside / "fifo")
        self.refused("fifo", "missing-record")
        self.refused("missing.bin", "missing-record")

    def test_data_in_the_folder_is_read_and_checked(self):
        inside = self.folder / "m"
        (inside / "sub").mkdir(parents=True, exist_ok=True)
        (inside / "sub" / "w.bin").write_bytes(b"\0" * 8 + np.arange(4, dtype=np.float32).tobytes())
        path = self.write("sub/w.bin", offset="8", length="16")
        stats = scope.document("stats", path)["tensors"][0]
        self.assertEqual((stats["min"], stats["max"]), (0, 3))
        self.assertEqual(self.findings(path), [])
        path = self.write("sub/w.bin", offset="12", length="16")
        self.assertEqual(self.findings(path)[0][0], "truncated")
        path = self.write("sub/w.bin", offset="8", length="12")
        self.assertIn("size-mismatch", [code for code, _ in self.findings(path)])
        path = self.write("sub/w.bin", offset="-8", length="16")
        self.assertEqual(self.findings(path)[0][0], "bad-tensor")

    def test_operators_that_need_code_are_findings(self):
        path = self.folder / "custom.onnx"
        nodes = [helper.make_node("PyOp", ["x"], ["y"], domain="ai.onnx.contrib")]
        onnx.save(onnx_models.model(nodes, [onnx_models.info("x")], [onnx_models.info("y")]), path)
        texts = " ".join(text for _, text in self.findings(path))
        self.assertIn("ai.onnx.contrib", texts)
        self.assertIn("Python", texts)


MB = 1 << 20


def varint(n):
    head = b""
    while n > 127:
        head += bytes([n & 127 | 128])
        n >>= 7
    return head + bytes([n])


def field(key, data, size=None):
    """A LEN field; `size`: its length, if more bytes follow."""
    return varint(key << 3 | 2) + varint(len(data) if size is None else size) + data


def number(key, value):
    return varint(key << 3) + varint(value)


def node(op, inputs, output, name=b""):
    ends = b"".join(field(1, one) for one in inputs) + field(2, output)
    return field(1, ends + field(3, name) + field(4, op))


def tensor(name, count, data, size=None):
    """An initialiser of float32; the zeros of a larger `size` come after it."""
    head = number(1, count) + number(2, 1) + field(8, name) + field(9, data, size)
    return field(5, head, size and len(head) + size - len(data))


class Memory(Case):
    """Reading takes at most 64 MB and 8 times the file."""

    def write(self, name, graph, zeros=0):
        head = number(1, 8) + field(8, number(2, 18))
        head += field(7, graph, len(graph) + zeros)
        path = self.folder / f"{name}.onnx"
        with open(path, "wb") as file:
            file.write(head)
            file.truncate(len(head) + zeros)
        return path

    def check_peak(self, path, statuses, most=None):
        most = most or 64 * MB + 8 * path.stat().st_size
        for command in ("tree", "info", "ops", "check"):
            status, peak = scope.peak(command, path)
            self.assertIn(status, statuses, (command, path))
            self.assertLess(peak, most, (command, path))

    def test_many_nodes(self):
        for n in (10, 1_000, 100_000):
            graph = bytearray()
            for i in range(n):
                name = b"/model/layers.%d/add_%d" % (i // 10, i)
                before = b"/model/layers.%d/add_%d_output_0" % ((i - 1) // 10, i - 1)
                weight = b"model.layers.%d.weight_%d" % (i // 10, i)
                ends = [before if i else weight, weight]
                graph += node(b"Add", ends, name + b"_output_0", name)
                graph += tensor(weight, 4, bytes(16))
            path = self.write("nodes", graph)
            tensors = scope.document("stats", path)["tensors"]
            self.assertEqual(len(tensors), n)
            self.check_peak(path, {0})

    def test_many_tiny_initialisers(self):
        """All of them, within the limit, and a name each."""
        for n in (100_000, 500_000):
            graph = bytearray(node(b"Identity", [b"x"], b"y") + field(11, field(1, b"x")))
            for i in range(n):
                value = number(2, 7) + field(7, varint(i)) if i % 2 else (
                    number(2, 1) + field(9, bytes([i & 255, i >> 8 & 255, 0, 64])))
                name = b"model.decoder.layers.%d.attention.scale" % i
                graph += field(5, value + field(8, name))
            path = self.write("tiny", graph)
            self.check_peak(path, {0})
            tensors = scope.document("stats", path)["tensors"]
            self.assertEqual(len(tensors), n)
            for i in (1, n - 1):
                at = next(t for t in tensors if t["name"] == f"model.decoder.layers.{i}.attention.scale")
                self.assertEqual((at["dtype"], at["min"]), ("int64", i))

    def test_a_large_tensor_is_not_read(self):
        count = 50 * MB
        graph = node(b"Identity", [b"w"], b"y") + tensor(b"w", count, b"", 4 * count)
        path = self.write("large", graph, 4 * count)
        self.assertGreater(path.stat().st_size, 200 * MB)
        self.check_peak(path, {0}, 48 * MB)
        document = scope.document("stats", path)
        self.assertEqual(document["tensors"][0]["zeros"], count)
        self.assertLess(scope.peak("stats", path)[1], 48 * MB)

    def test_millions_of_empty_parts(self):
        n = 1_000_000
        add = field(4, b"Add")
        inner = {f"{k} in a node": field(1, field(k, b"") * n + add) for k in (1, 2, 5)}
        outer = {f"{k} in the graph": field(k, b"") * n for k in (1, 5, 11, 12, 13, 14, 15)}
        for name, graph in {**inner, **outer}.items():
            with self.subTest(name):
                self.check_peak(self.write("empty", graph), {0, 1, 2})


if __name__ == "__main__":
    unittest.main()
