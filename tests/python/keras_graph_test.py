"""Graphs of Keras models, against the nodes and edges of the models themselves: Sequential
and Functional, shared layers, models inside models, several inputs and outputs."""

import json
import logging
import os
import unittest
import warnings
import zipfile

import scope
import svg_geometry
from folder import TemporaryFolder

os.environ.setdefault("KERAS_BACKEND", "torch")
try:
    logging.getLogger("absl").setLevel(logging.ERROR)
    warnings.simplefilter("ignore", DeprecationWarning)
    import keras
    from keras import layers
except ImportError:
    keras = None


def sequential():
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(4, 3, name="first"),
            layers.BatchNormalization(),
            layers.Flatten(),
            layers.Dropout(0.3),
            layers.Dense(3),
        ]
    )


def residual():
    x = image = keras.Input((16, 16, 3), name="image")
    for i in range(3):
        y = layers.Conv2D(3, 3, padding="same", name=f"conv{i}")(x)
        y = layers.ReLU(name=f"relu{i}")(layers.BatchNormalization(name=f"bn{i}")(y))
        x = layers.Add(name=f"sum{i}")([x, y])
    return keras.Model(image, layers.GlobalAveragePooling2D(name="pool")(x))


def several_ends():
    x, y = keras.Input((4,), name="x"), keras.Input((6,), name="y", dtype="int32")
    embedded = layers.Flatten(name="flat")(layers.Embedding(9, 2, name="embed")(y))
    both = layers.Concatenate(name="both")([x, embedded])
    return keras.Model(
        {"a": x, "b": y},
        {"z": layers.Dense(2, name="left")(both), "c": layers.Dense(3, name="right")(x)},
    )


def shared_layers():
    x, y = keras.Input((4,), name="x"), keras.Input((4,), name="y")
    dense = layers.Dense(4, name="dense")
    once = dense(x)
    return keras.Model([x, y], layers.Multiply(name="times")([dense(once), dense(y), once]))


def nested():
    inside = keras.Input((4,), name="inside")
    hidden = layers.Dense(4, activation="relu", name="hidden")(inside)
    inner = keras.Model(inside, [hidden, layers.Dense(2, name="narrow")(hidden)], name="inner")
    chain = keras.Sequential([layers.Dense(4, name="link"), layers.ReLU(name="act")], name="chain")
    x, y = keras.Input((4,), name="x"), keras.Input((4,), name="y")
    wide, first = inner(chain(x))
    wide, second = inner(wide)
    return keras.Model([x, y], [layers.Add(name="sum")([first, second]), chain(y), wide])


def operations():
    x, y = keras.Input((4,), name="x"), keras.Input((4,), name="y")
    attended = layers.MultiHeadAttention(2, 3, name="att")(
        layers.Reshape((2, 2), name="query")(x), value=layers.Reshape((2, 2), name="value")(y)
    )
    return keras.Model([x, y], keras.ops.sum(attended, axis=1) * 2.0 + 1.0)


MODELS = [sequential, residual, several_ends, shared_layers, nested, operations]


class Expected:
    """What Keras says of a model: each call by its layer, class and what it takes, in full.
    Calls of models are replaced by the calls inside them."""

    def __init__(self, model):
        self.calls, self.shapes = [], {}
        given = [f"input {tensor._keras_history.operation.name}" for tensor in model.inputs]
        self.outputs = self.walk(model, "", given)

    def walk(self, model, path, given):
        graph = getattr(model, "_functional", None) or model
        made = dict(zip(map(id, graph.inputs), given))
        for depth in sorted(graph._nodes_by_depth, reverse=True):
            for node in graph._nodes_by_depth[depth]:
                if not node.is_input:
                    self.call(node, path, made)
        return [made[id(tensor)] for tensor in graph.outputs]

    def call(self, node, path, made):
        layer = node.operation
        name = f"{path}.{layer.name}".strip(".")
        taken = [made[id(tensor)] for tensor in node.arguments.keras_tensors]
        results = node.output_tensors
        if isinstance(layer, keras.Model):
            calls = self.walk(layer, name, taken)
        else:
            calls = [f"{name}: {type(layer).__name__}({', '.join(taken)})"]
            self.calls += calls
        made.update(zip(map(id, results), calls))
        self.shapes.update({call: tuple(r.shape) for call, r in zip(calls, results)})


class Found:
    """The same of the program that torchoscope reads."""

    def __init__(self, path):
        program = scope.document("ops", path)
        self.calls, self.shapes, made = [], {}, {}
        for tensor in program["calls"][0]["inputs"]:
            made[tensor["value"]] = f"input {tensor['name']}"
        for op in program["ops"]:
            taken = [made[t["value"]] for t in op["inputs"] if "tensor" not in t]
            kind = op["name"].removeprefix("keras::")
            call = f"{op['module']}: {kind}({', '.join(taken)})"
            self.calls.append(call)
            for tensor in op["outputs"]:
                made[tensor["value"]] = call
                if tensor["shape"] is not None:
                    self.shapes[call] = tuple(tensor["shape"])
        self.program = program
        self.outputs = [made[t["value"]] for t in program["calls"][0]["outputs"]]


@unittest.skipUnless(keras, "keras is not installed")
class KerasGraphs(TemporaryFolder):
    def setUp(self):
        super().setUp()
        keras.utils.clear_session()

    def save(self, model, form="keras"):
        path = self.folder / f"m.{form}"
        model.save(path)
        return path

    def test_calls_and_edges_are_those_of_keras(self):
        for make in MODELS:
            model = make()
            expected = Expected(model)
            for form in ("keras", "h5"):
                with self.subTest(make.__name__, form=form):
                    found = Found(self.save(model, form))
                    self.assertEqual(sorted(found.calls), sorted(expected.calls))
                    self.assertEqual(sorted(found.outputs), sorted(expected.outputs))

    def test_shapes_are_those_of_keras_where_the_file_has_them(self):
        for make in MODELS:
            model = make()
            expected = Expected(model)
            found = Found(self.save(model))
            with self.subTest(make.__name__):
                self.assertGreater(len(found.shapes), len(found.calls) // 2)
                for call, shape in found.shapes.items():
                    self.assertEqual(shape, expected.shapes[call], call)

    def test_a_layer_that_was_built_for_another_model_has_no_shapes_from_there(self):
        conv = layers.Conv2D(3, 3, padding="same", name="conv")
        keras.Sequential([keras.Input((8, 8, 3)), conv, layers.ReLU(name="act")])
        model = keras.Sequential([keras.Input((32, 32, 3)), conv, layers.ReLU(name="other")])
        found = Found(self.save(model))
        self.assertNotIn((None, 8, 8, 3), found.shapes.values())

    def test_weights_are_inputs_of_the_operation(self):
        found = Found(self.save(shared_layers()))
        for op in found.program["ops"]:
            names = [t["tensor"] for t in op["inputs"] if "tensor" in t]
            wanted = ["dense.kernel", "dense.bias"] if op["module"] == "dense" else []
            self.assertEqual(names, wanted)
        self.assertEqual(sum(op["module"] == "dense" for op in found.program["ops"]), 3)

    def test_info_names_inputs_and_outputs(self):
        info = scope.run("info", self.save(several_ends())).stdout.decode()
        self.assertIn("inputs    a: float32 ?×4\n          b: int32 ?×6\n", info)
        self.assertRegex(info, r"outputs   c: .*\n          z: ")

    def test_pictures_of_all_models(self):
        for make in MODELS:
            for form in ("keras", "h5"):
                svg = self.folder / "m.svg"
                done = scope.run("graph", self.save(make(), form), "-o", svg)
                self.assertEqual(done.returncode, 0, done.stderr)
                text = svg.read_text()
                self.assertIn("From the configuration in the file", text)
                self.assertEqual(svg_geometry.problems(text, [svg_geometry.Arial()]), [])

    def test_sums_are_signs_and_models_inside_are_frames(self):
        path = self.folder / "g.dot"
        scope.run("graph", self.save(residual()), "-o", path)
        self.assertEqual(path.read_text().count('label="+"'), 3)
        scope.run("graph", self.save(nested()), "-o", path)
        text = path.read_text()
        for box in ("inner", "inner.hidden", "inner#2", "chain.link", "chain#2"):
            self.assertIn(f'id="{box}"', text)

    def test_a_long_flat_model_is_drawn_as_blocks(self):
        x = image = keras.Input((8, 8, 4), name="image")
        for stage in (1, 2):
            for block in range(1, 7):
                name = f"conv{stage}_block{block}"
                y = layers.Conv2D(4, 3, padding="same", name=f"{name}_1_conv")(x)
                y = layers.BatchNormalization(name=f"{name}_1_bn")(y)
                x = layers.ReLU()(layers.Add(name=f"{name}_add")([x, y]))
        model = keras.Model(image, layers.Dense(3, name="head")(layers.Flatten()(x)))
        for form in ("keras", "h5"):
            picture = self.folder / f"{form}.dot"
            path = self.save(model, form)
            scope.run("graph", path, "-d", "9", "-o", picture)
            text = picture.read_text()
            for box in ("conv1*", "conv1_block2*…6*", "conv1_block1_add", "head"):
                self.assertIn(f'id="{box}"', text)
            self.assertIn('label="1_conv', text)
            scope.run("graph", path, "-a", "-o", picture)
            self.assertNotIn('id="conv1*"', picture.read_text())

    def test_a_diff_of_two_versions_of_a_model(self):
        left, right = self.folder / "a.keras", self.folder / "b.keras"
        for path, units in ((left, 4), (right, 5)):
            x = keras.Input((4,), name="x")
            out = layers.Dense(2, name="out")(layers.Dense(units, name="hidden")(x))
            keras.Model(x, out).save(path)
        svg = self.folder / "d.svg"
        done = scope.run("graph", left, "--diff", right, "-o", svg)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("(was 4)", svg.read_text())

    def test_a_model_whose_class_is_code_says_why_it_has_no_graph(self):
        @keras.saving.register_keras_serializable(package="mine")
        class Own(keras.Model):
            def __init__(self, **options):
                super().__init__(**options)
                self.dense = layers.Dense(2)

            def call(self, x):
                return self.dense(x)

        model = Own()
        model(keras.ops.zeros((1, 3)))
        done = scope.run("graph", self.save(model), "-o", self.folder / "m.svg")
        self.assertEqual(done.returncode, 2)
        self.assertIn("code that is not in the file", done.stderr.decode())


def keras_2(name, inbound, kind="Dense", **arguments):
    return {
        "class_name": kind,
        "config": {"name": name, **arguments},
        "name": name,
        "inbound_nodes": inbound,
    }


class Configurations(TemporaryFolder):
    """Configurations as Keras 1 and 2 wrote them, and hostile ones: no library needed."""

    def write(self, config):
        path = self.folder / "m.keras"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("metadata.json", "{}")
            archive.writestr("config.json", json.dumps(config))
        return path

    def functional(self, layers, inputs, outputs):
        config = {"layers": layers, "input_layers": inputs, "output_layers": outputs}
        return self.write({"class_name": "Functional", "config": {"name": "m", **config}})

    def findings(self, path):
        return [f["text"] for f in scope.document("info", path)["findings"]]

    def test_keras_2_lists(self):
        inside = [
            keras_2("in", [], "InputLayer", batch_input_shape=[None, 4], dtype="float32"),
            keras_2("a", [[["in", 0, 0, {}]]]),
        ]
        inner = keras_2("inner", [[["x", 0, 0, {}]], [["inner", 1, 0, {"training": False}]]],
                        "Functional", layers=inside, input_layers=[["in", 0, 0]],
                        output_layers=[["a", 0, 0]])
        path = self.functional(
            [
                keras_2("x", [], "InputLayer", batch_input_shape=[None, 4], dtype="float32"),
                inner,
                keras_2("att", [[["inner", 2, 0, {"value": ["x", 0, 0], "names": ["no", 1, 2]}]]],
                        "MultiHeadAttention"),
                keras_2("sum", [[["att", 0, 0, {}], ["inner", 1, 0, {}]]], "Add"),
            ],
            [["x", 0, 0]],
            [["sum", 0, 0]],
        )
        found = Found(path)
        once = "inner.a: Dense(input x)"
        twice = f"inner.a: Dense({once})"
        attended = f"att: MultiHeadAttention({twice}, input x)"
        self.assertEqual(found.calls, [once, twice, attended, f"sum: Add({attended}, {once})"])
        self.assertEqual(found.program["ops"][2]["attributes"], {"names": ["no", 1, 2]})
        self.assertEqual(found.program["calls"][0]["inputs"][0]["shape"], [None, 4])
        self.assertEqual(len([e for e in self.findings(path) if "config" in e]), 0)

    def test_a_sequential_that_is_only_a_list(self):
        path = self.write({"class_name": "Sequential", "config": [
            {"class_name": "Dense", "config": {"name": "a", "batch_input_shape": [None, 3]}},
            {"class_name": "Dense", "config": {"name": "b"}}]})
        found = Found(path)
        self.assertEqual(found.calls, ["a: Dense(input inputs)", "b: Dense(a: Dense(input inputs))"])
        self.assertEqual(found.program["calls"][0]["inputs"][0]["shape"], [None, 3])
        self.assertIn("b: Dense", scope.run("tree", path).stdout.decode())

    def test_layers_that_need_themselves(self):
        path = self.functional(
            [keras_2("a", [[["b", 0, 0, {}]]]), keras_2("b", [[["a", 0, 0, {}]]])],
            [["a", 0, 0]], [["b", 0, 0]])
        self.assertIn("needs its own result", " ".join(self.findings(path)))
        self.assertEqual(len(scope.document("ops", path)["ops"]), 2)

    def test_layers_that_are_missing(self):
        path = self.functional([keras_2("a", [[["gone", 0, 0, {}]]])], [["gone", 0, 0]],
                               [["a", 7, 0], ["a", 0, 99999999]])
        self.assertIn("uses results of layer gone", " ".join(self.findings(path)))
        self.assertEqual(len(scope.document("ops", path)["ops"]), 1)

    def test_wrong_types_everywhere(self):
        layer = keras_2("a", [[["x", 0, 0, {}]]])
        good = {"layers": [keras_2("x", [], "InputLayer"), layer],
                "input_layers": [["x", 0, 0]], "output_layers": [["a", 0, 0]]}
        odd = [None, True, 3, -1, 1e300, "x", [], {}, [[]], [["x"]], ["x", "y", 0], [[[[0]]]],
               {"args": 3}, {"args": [], "kwargs": [1]}, [["x", -1, 0]], [["x", 0, 2**62]],
               {"class_name": "__keras_tensor__"},
               {"class_name": "__keras_tensor__", "config": {"keras_history": [1, 2, 3]}}]
        for value in odd:
            for key in good:
                done = scope.run("ops", self.write(
                    {"class_name": "Functional", "config": {"name": "m", **good, key: value}}))
                self.assertIn(done.returncode, (0, 1, 2), (key, value))
            for key in ("inbound_nodes", "name", "config", "class_name", "build_config"):
                done = scope.run("ops", self.write({"class_name": "Functional", "config": {
                    "name": "m", **good, "layers": [good["layers"][0], {**layer, key: value}]}}))
                self.assertIn(done.returncode, (0, 1, 2), (key, value))

    def test_models_that_call_each_other_twice_reach_a_limit(self):
        """40 models, each of which calls the next one twice: 2^40 calls."""
        model = keras_2("m40", [], "Dense")
        for i in reversed(range(40)):
            inner = {**model, "inbound_nodes": [[["x", 0, 0, {}]],
                                                [[f"m{i + 1}", 0, 0, {}]]]}
            model = keras_2(f"m{i}", [], "Functional", layers=[
                keras_2("x", [], "InputLayer"), inner], input_layers=[["x", 0, 0]],
                output_layers=[[f"m{i + 1}", 1, 0]])
        path = self.write(model)
        program = scope.document("ops", path)
        self.assertTrue(program["cut"])
        self.assertLess(len(program["ops"]), 2**22)


if __name__ == "__main__":
    unittest.main()
