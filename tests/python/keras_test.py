"""Files of h5py and Keras, against what these libraries read: every dataset by its hash,
layers with their classes and arguments, and what check says of code in a configuration."""

import gzip
import hashlib
import io
import json
import logging
import os
import pickle
import unittest
import warnings
import zipfile

import scope
from folder import TemporaryFolder

os.environ.setdefault("KERAS_BACKEND", "torch")
try:
    import h5py
    import numpy
except ImportError:
    h5py = None
try:
    logging.getLogger("absl").setLevel(logging.ERROR)
    warnings.simplefilter("ignore", DeprecationWarning)
    import keras
except ImportError:
    keras = None


class Folder(TemporaryFolder):
    def shown(self, path, name):
        return scope.document("show", path, name, "--sha256")["tensor"]

    def lines(self, command, path, *options):
        done = scope.run(command, path, *options)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout.decode()


def digest(array):
    array = numpy.asarray(array)
    little = array.astype(array.dtype.newbyteorder("<"))
    return hashlib.sha256(little.tobytes()).hexdigest()


TYPES = "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 ? c8 c16 >f4 >i2 >u8".split()

# name, chunks, largest shape, options: each gives another index or other filters.
LAYOUTS = [
    ("whole", None, None, {}),
    ("chunks", (30, 20), None, {}),
    ("gzip", (30, 20), None, {"compression": "gzip"}),
    ("all", (30, 20), None, {"compression": "gzip", "shuffle": True, "fletcher32": True}),
    ("sums", (30, 20), None, {"fletcher32": True}),
    ("lzf", (30, 20), None, {"compression": "lzf", "shuffle": True}),
    ("single", (100, 70), None, {"compression": "gzip"}),
    ("single_plain", (100, 70), None, {}),
    ("grows_0", (30, 20), (None, 70), {}),
    ("grows_1", (3, 2), (200, None), {"compression": "gzip"}),
    ("grows_both", (3, 2), (None, None), {"compression": "gzip"}),
    ("larger", (7, 9), (300, 333), {}),
    ("tiny", (1, 7), None, {}),
]


@unittest.skipUnless(h5py, "h5py is not installed")
class Hdf5(Folder):
    def datasets(self, file):
        random = numpy.random.default_rng(0)
        values = random.standard_normal((100, 70)).astype("f4")
        for kind in TYPES:
            name = kind.replace(">", "big_").replace("?", "bool")
            file[f"types/{name}"] = (random.standard_normal((3, 4)) * 10).astype(kind)
        for name, chunks, most, options in LAYOUTS:
            file.create_dataset(f"layouts/{name}", data=values, chunks=chunks,
                                maxshape=most, **options)
        long = random.standard_normal(20_000)
        file.create_dataset("long/pages", data=long, chunks=(7,))
        file.create_dataset("long/grows", data=long, chunks=(7,), maxshape=(None,))
        file.create_dataset("long/packed", data=long[:5000], chunks=(3,),
                            maxshape=(None,), compression="gzip")
        partly = file.create_dataset("fill/partly", (100, 70), "f4", chunks=(10, 10),
                                     fillvalue=2.5)
        partly[20:25, 3:30] = 1
        file.create_dataset("fill/never", (100, 70), "f4", chunks=(10, 10), fillvalue=-1.5)
        file.create_dataset("fill/whole", (4, 5), "f8")
        smaller = file.create_dataset("fill/smaller", data=values, chunks=(30, 20),
                                      maxshape=(None, None))
        smaller.resize((50, 30))
        file.create_dataset("deep/four", data=random.standard_normal((7, 8, 9, 5)),
                            chunks=(2, 3, 4, 5), compression="gzip", shuffle=True)
        file["scalar"] = numpy.float32(3.5)
        file["empty"] = numpy.zeros((0, 4), "f4")
        for i in range(40):
            file[f"many/d{i}"] = numpy.full(2, i, "f4")
            file["many"].attrs[f"a{i}"] = i

    def check(self, libver, track=False):
        path = self.folder / f"{libver[0]}.h5"
        with h5py.File(path, "w", libver=libver, track_order=track) as file:
            self.datasets(file)
        wanted = {}
        with h5py.File(path) as file:
            file.visititems(
                lambda name, item: wanted.update({name: item[()]})
                if isinstance(item, h5py.Dataset)
                else None
            )
        self.assertGreater(len(wanted), 70)
        for name, array in wanted.items():
            if name.startswith("many/") and not name.endswith("7"):
                continue
            array = numpy.asarray(array)
            with self.subTest(name, libver=libver):
                found = self.shown(path, name.replace("/", "."))
                self.assertEqual(tuple(found["shape"]), array.shape)
                self.assertEqual(found["dtype"], array.dtype.newbyteorder("=").name)
                self.assertEqual(found["sha256"], digest(array))
        info = scope.document("info", path)
        self.assertEqual(info["findings"], [])
        self.assertEqual(info["verdict"], "safe")

    def test_every_dataset_of_the_oldest_format(self):
        self.check(("earliest", "latest"))

    def test_every_dataset_of_hdf5_1_10(self):
        self.check(("v110", "v110"), track=True)

    def test_every_dataset_of_the_newest_format(self):
        self.check(("latest", "latest"))

    def test_links_and_attributes(self):
        path = self.folder / "links.h5"
        with h5py.File(path, "w") as file:
            file["g/w"] = numpy.arange(4.0)
            file["again"] = file["g/w"]
            file["up"] = file["/"]
            file["soft"] = h5py.SoftLink("/g/w")
            file["other"] = h5py.ExternalLink("secret.h5", "/x")
            file["g"].attrs["title"] = "a text of any length"
            file["g"].attrs["sizes"] = numpy.arange(3)
        tree = self.lines("tree", path)
        self.assertIn('up: link("/")', tree)
        self.assertIn('soft: link("/g/w")', tree)
        self.assertIn('other: link("secret.h5:/x")', tree)
        shown = scope.run("show", path, "g").stdout.decode()
        self.assertIn('"title": "a text of any length"', shown)
        self.assertIn('"sizes": [0, 1, 2]', shown)
        findings = scope.document("info", path)["findings"]
        self.assertEqual([f["code"] for f in findings], ["unsafe-path"])
        self.assertIn("is not followed", findings[0]["text"])

    def test_a_filter_that_is_not_known_is_named(self):
        path = self.folder / "packed.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=numpy.arange(100, dtype="i4"), chunks=(50,),
                                scaleoffset=0)
        text = self.lines("check", path)
        self.assertIn("packed with scaleoffset, which is not supported", text)

    def test_a_file_cut_anywhere_says_so(self):
        path = self.folder / "whole.h5"
        with h5py.File(path, "w") as file:
            self.datasets(file)
        data = path.read_bytes()
        for part in (0.02, 0.3, 0.6, 0.99):
            cut = self.folder / "cut.h5"
            cut.write_bytes(data[: int(len(data) * part)])
            done = scope.run("check", cut)
            self.assertEqual(done.returncode, 1, part)
            self.assertIn("Download it again", (done.stdout + done.stderr).decode())


def sequential():
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Conv2D(4, 3, name="first"),
            keras.layers.BatchNormalization(),
            keras.layers.Flatten(),
            keras.layers.Dropout(0.3),
            keras.layers.Dense(5, activation="relu"),
            keras.layers.Dense(3),
        ]
    )
    model.compile(optimizer="adam", loss="mse")
    random = numpy.random.default_rng(0)
    model.fit(random.random((4, 8, 8, 1)), random.random((4, 3)), verbose=0)
    return model


def functional(code=False):
    tokens = keras.Input((10,))
    embedded = keras.layers.Embedding(20, 6)(tokens)
    last = keras.layers.Bidirectional(keras.layers.LSTM(7))(embedded)
    dense = keras.layers.Dense(7)(last)
    if code:
        dense = keras.layers.Lambda(lambda x: x * 2, name="twice")(dense)
    inner = keras.Sequential(
        [keras.layers.Dense(4), keras.layers.LayerNormalization()], name="inner"
    )
    attended = keras.layers.MultiHeadAttention(2, 3)(embedded, embedded)
    pooled = keras.layers.GlobalAveragePooling1D()(keras.layers.Dense(4)(attended))
    return keras.Model(tokens, keras.layers.Add()([inner(dense), pooled]))


@unittest.skipUnless(keras and h5py, "keras is not installed")
class Keras(Folder):
    def setUp(self):
        super().setUp()
        keras.utils.clear_session()

    def save(self, model, name):
        path = self.folder / name
        if name.endswith(".weights.h5"):
            model.save_weights(path)
        else:
            model.save(path)
        return path

    def check_weights(self, model, path):
        """Every weight is there under the path that Keras gives it."""
        prefix = model.name + "/"
        for weight in model.weights:
            if "seed_generator" in weight.path:
                continue
            name = weight.path.removeprefix(prefix).replace("/", ".")
            with self.subTest(weight.path):
                found = self.shown(path, name)
                array = keras.ops.convert_to_numpy(weight)
                self.assertEqual(tuple(found["shape"]), array.shape)
                self.assertEqual(found["sha256"], digest(array))

    def classes(self, path):
        rows = scope.document("tree", path)["modules"]
        return {row["name"]: row.get("class") for row in rows}

    def test_weights_of_all_forms(self):
        for make in (sequential, functional):
            model = make()
            for form in ("m.keras", "m.h5"):
                self.check_weights(model, self.save(model, form))

    def test_layers_have_the_classes_of_the_model(self):
        model = functional()
        for form in ("m.keras", "m.h5"):
            found = self.classes(self.save(model, form))
            for layer in model.layers:
                self.assertEqual(found[layer.name].split(".")[-1],
                                 type(layer).__name__)
            self.assertTrue(found["inner"].endswith("Sequential"))
            self.assertTrue(found["inner." + model.get_layer("inner").layers[0].name]
                            .endswith("Dense"))

    def test_the_tree_says_what_a_layer_does(self):
        tree = self.lines("tree", self.save(sequential(), "m.keras"))
        self.assertIn("first: Conv2D(4, 3×3) ", tree)
        self.assertIn('Dense(5, activation="relu")', tree)
        self.assertIn("Dropout(rate=0.3)", tree)
        self.assertIn("optimizer: Adam", tree)
        self.assertIn("kernel: 3×3×1×4, bias: 4", tree)

    def test_parameters_are_those_that_keras_counts(self):
        model = sequential()
        wanted = sum(int(numpy.prod(w.shape)) for w in model.trainable_weights)
        for form in ("m.keras", "m.h5"):
            info = scope.document("info", self.save(model, form))
            self.assertEqual(info["counts"]["stored"], wanted)

    def test_both_forms_of_a_model_have_equal_weights(self):
        model = functional()
        left, right = self.save(model, "m.keras"), self.save(model, "m.h5")
        done = scope.run("diff", left, right, "--json")
        pairs = json.loads(done.stdout)
        self.assertEqual(pairs.get("changed", []) or [], [])

    def test_weights_alone_keep_the_names_in_the_file(self):
        model = sequential()
        path = self.save(model, "m.weights.h5")
        found = self.shown(path, "layers.conv2d.vars.0")
        array = keras.ops.convert_to_numpy(model.get_layer("first").weights[0])
        self.assertEqual(found["sha256"], digest(array))

    def test_bfloat16_weights(self):
        keras.config.set_dtype_policy("bfloat16")
        try:
            model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        finally:
            keras.config.set_dtype_policy("float32")
        path = self.save(model, "m.keras")
        found = self.shown(path, model.layers[0].name + ".kernel")
        self.assertEqual(found["dtype"], "bfloat16")
        self.assertEqual(found["shape"], [3, 2])

    def test_weights_of_quantised_layers_have_names_and_roles(self):
        for mode, scales in (("int8", 1), ("int4", 3), ("float8", 6)):
            tokens = keras.Input((6,))
            embedded = keras.layers.Embedding(30, 8)(tokens)
            attended = keras.layers.MultiHeadAttention(2, 4)(embedded, embedded)
            dense = keras.layers.Dense(16, use_bias=mode != "int8", name="dense")(attended)
            model = keras.Model(tokens, dense)
            try:
                model.quantize(mode)
            except (ValueError, TypeError, NotImplementedError):
                continue  # an older version of Keras
            for form in ("m.keras", "m.h5"):
                path = self.save(model, form)
                self.check_weights(model, path)
                rows = scope.document("tree", path)["tensors"]
                roles = {row["name"]: row["role"] for row in rows}
                found = [roles[name] for name in roles if name.startswith("dense.")]
                self.assertEqual(roles["dense.kernel"], "parameter", form)
                self.assertEqual(found.count("buffer"), scales, (mode, form))
                self.assertEqual(self.verdict(path)[0], "safe")

    def test_weights_of_normalisation_and_of_recurrent_convolutions(self):
        norm = keras.layers.Normalization(name="norm")
        norm.adapt(numpy.random.default_rng(0).random((20, 4)))
        recurrent = keras.layers.ConvLSTM2D(3, 2, use_bias=False)
        for model in (
            keras.Sequential([keras.Input((4,)), norm]),
            keras.Sequential([keras.Input((3, 6, 6, 2)), recurrent]),
        ):
            for form in ("m.keras", "m.h5"):
                path = self.save(model, form)
                self.check_weights(model, path)
        path = self.save(keras.Sequential([keras.Input((4,)), norm]), "m.h5")
        self.assertEqual(scope.document("info", path)["counts"]["stored"], 0)

    def test_shards_of_weights_are_one_model(self):
        model = keras.Sequential(
            [keras.Input((200,)), *(keras.layers.Dense(300) for _ in range(3))]
        )
        path = self.folder / "m.weights.json"
        try:
            model.save_weights(path, max_shard_size=0.0005)
        except TypeError:
            self.skipTest("this version of Keras does not write shards")
        self.assertGreater(len(list(self.folder.glob("*.h5"))), 1)
        for i, layer in enumerate(model.layers):
            key = f"layers.dense{f'_{i}' if i else ''}.vars"
            for k, weight in enumerate(layer.weights):
                found = self.shown(path, f"{key}.{k}")
                array = keras.ops.convert_to_numpy(weight)
                self.assertEqual(found["sha256"], digest(array))
        info = scope.document("info", path)
        self.assertEqual((info["format"], info["findings"]), ("Keras shards", []))
        self.assertEqual(info["counts"]["stored"], model.count_params())
        (self.folder / "m_00001.weights.h5").unlink()
        self.assertIn("m_00001.weights.h5", self.lines("check", path))

    def verdict(self, path):
        done = scope.run("check", path, "--json")
        document = json.loads(done.stdout)
        return document["checked"][0]["verdict"], done.returncode, done.stdout.decode()

    def test_a_model_of_keras_own_layers_is_safe(self):
        for form in ("m.keras", "m.h5"):
            for make in (sequential, functional):
                verdict, status, text = self.verdict(self.save(make(), form))
                self.assertEqual((verdict, status), ("safe", 0), text)

    def test_bytecode_of_a_lambda_is_unsafe(self):
        for form in ("m.keras", "m.h5"):
            path = self.save(functional(code=True), form)
            verdict, status, text = self.verdict(path)
            self.assertEqual((verdict, status), ("unsafe", 1))
            self.assertIn("keras.__lambda__", text)
            self.assertIn('__lambda__("twice")', self.lines("check", path))

    def test_a_registered_class_needs_code(self):
        @keras.saving.register_keras_serializable(package="mine")
        class Twice(keras.layers.Layer):
            def call(self, x):
                return 2 * x

        for form in ("m.keras", "m.h5"):
            path = self.save(keras.Sequential([keras.Input((4,)), Twice()]), form)
            self.assertEqual(self.verdict(path)[:2], ("needs code", 1))
            self.assertIn("Twice", self.lines("check", path))

    def edited(self, change):
        """A .keras file whose configuration was changed as text."""
        path = self.save(sequential(), "m.keras")
        evil = self.folder / "evil.keras"
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(evil, "w") as new:
            for name in old.namelist():
                data = old.read(name)
                if name == "config.json":
                    data = change(data.decode()).encode()
                new.writestr(name, data)
        return evil

    def test_a_configuration_that_names_functions_of_python(self):
        for module, name in (("os", "system"), ("builtins", "eval"),
                             ("keras.utils", "get_file"), ("subprocess", "Popen")):
            path = self.edited(lambda text: text.replace(
                '"module": "keras.layers", "class_name": "Flatten"',
                f'"module": "{module}", "class_name": "{name}"'))
            self.assertEqual(self.verdict(path)[0], "unsafe", module)

    def test_classes_and_operations_of_keras_itself_are_safe(self):
        for module, name in (
            ("keras.src.applications.convnext", "LayerScale"),
            ("keras.src.ops.core", "Cast"),
            ("keras.src.ops.linalg", "Norm"),
        ):
            path = self.edited(lambda text: text.replace(
                '"module": "keras.layers", "class_name": "Flatten"',
                f'"module": "{module}", "class_name": "{name}"'))
            self.assertEqual(self.verdict(path)[0], "safe", module)

    def test_of_two_equal_keys_the_one_that_python_takes_is_judged(self):
        path = self.edited(lambda text: text.replace(
            '"module": "keras.layers", "class_name": "Flatten"',
            '"module": "keras.layers", "module": "os", '
            '"class_name": "Flatten", "class_name": "system"'))
        self.assertEqual(self.verdict(path)[0], "unsafe")

    def test_a_configuration_that_is_not_json_is_never_safe(self):
        path = self.edited(lambda text: text[: len(text) // 2])
        verdict, status, text = self.verdict(path)
        self.assertEqual((verdict, status), ("inconclusive", 2))
        self.assertIn("config.json cannot be read", text)
        found = self.shown(path, "first.0")
        self.assertEqual(found["shape"], [3, 3, 1, 4])

    def test_without_weights_the_layers_are_shown(self):
        path = self.save(sequential(), "m.keras")
        bare = self.folder / "bare.keras"
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(bare, "w") as new:
            for name in ("config.json", "metadata.json"):
                new.writestr(name, old.read(name))
        tree = self.lines("tree", bare)
        self.assertIn("first: Conv2D(4, 3×3)", tree)
        self.assertIn("no model.weights.h5", self.lines("check", bare))

    def test_older_files_without_names_of_layers(self):
        """Keras 3.0 wrote no names of layers: they are in the order of their classes."""
        model = sequential()
        path = self.save(model, "m.keras")
        old_path = self.folder / "old.keras"
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(old_path, "w") as new:
            for name in ("config.json", "metadata.json"):
                new.writestr(name, old.read(name))
            data = io.BytesIO(old.read("model.weights.h5"))
            with h5py.File(data, "a") as file:
                file.visititems(lambda _, item: item.attrs.pop("name", None))
            new.writestr("model.weights.h5", data.getvalue())
        self.check_weights(model, old_path)


class Bundles(Folder):
    def test_a_zip_of_checkpoints_opens_each(self):
        import torch

        path = self.folder / "all.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in ("a", "b"):
                torch.save({"w": torch.arange(6.0)}, self.folder / name)
                archive.write(self.folder / name, f"run/{name}.pt")
            archive.writestr("run/log.txt", "epoch 1")
        info = scope.document("info", path)
        self.assertEqual(info["format"], "zip bundle")
        self.assertEqual(info["verdict"], "safe")
        wanted = hashlib.sha256(torch.arange(6.0).numpy().tobytes()).hexdigest()
        for name in ("a", "b"):
            found = self.shown(path, f"run.{name}.pt.w")
            self.assertEqual(found["sha256"], wanted)


    def test_a_gzip_file_in_a_gzip_file(self):
        path = self.folder / "twice.gz"
        data = pickle.dumps({"epoch": 3})
        path.write_bytes(gzip.compress(gzip.compress(data)))
        self.assertIn("epoch: 3", self.lines("tree", path))
        path.write_bytes(gzip.compress(gzip.compress(gzip.compress(b"only text"))))
        self.assertEqual(scope.run("tree", path).returncode, 2)


if __name__ == "__main__":
    unittest.main()
