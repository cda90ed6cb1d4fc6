"""Files of other programs: the order of their layers, their names, messages about files
that are not models, and the exit status of every command."""

import hashlib
import io
import json
import pickle
import struct
import subprocess
import sys
import unittest

import numpy
import torch

import scope  # first: it knows where hostile is
import hostile
from folder import TemporaryFolder


def safetensors(names):
    """Tensors of two numbers, in the order given."""
    entries, data = {}, b""
    for name in names:
        entries[name] = hostile.entry("F32", (2,), (len(data), len(data) + 8))
        data += struct.pack("<2f", 1.0, 2.0)
    return hostile.safe(entries, data)


class Files(TemporaryFolder):
    def file(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def tree(self, path):
        done = scope.run("tree", path)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout.decode()

    def names(self, path):
        return [row["name"] for row in scope.document("tree", path)["modules"]]


class Order(Files):
    def layers(self, n, parts=("attn.weight", "mlp.weight")):
        return [f"h.{i}.{part}" for i in range(n) for part in parts]

    def test_layers_sorted_as_text_are_listed_in_numeric_order(self):
        names = sorted(self.layers(12)) + ["head.weight"]
        path = self.file("model.safetensors", safetensors(names))
        listed = [name for name in self.names(path) if name.count(".") == 1]
        self.assertEqual(listed, [f"h.{i}" for i in range(12)])
        self.assertIn(" 0-11: 12 equal modules", self.tree(path))

    def test_a_state_dict_in_any_order_is_listed_in_numeric_order(self):
        for order in (sorted, reversed):
            names = list(order(self.layers(12))) + ["head.weight"]
            path = self.folder / "model.pt"
            torch.save({name: torch.ones(2) for name in names}, path)
            self.assertIn(" 0-11: 12 equal modules", self.tree(path))

    def test_a_whole_module_keeps_the_order_of_its_registration(self):
        model = torch.nn.Module()
        for name in ("10", "2", "layer_1", "layer_10", "layer_2"):
            model.add_module(name, torch.nn.Linear(1, 1))
        path = self.folder / "model.pt"
        torch.save(model, path)
        order = ["10", "2", "layer_1", "layer_10", "layer_2"]
        self.assertEqual(self.names(path), ["", *order])

    def test_numbers_at_the_end_of_names_are_sorted_numerically(self):
        names = sorted(f"layer_{i}.weight" for i in range(12))
        path = self.file("model.safetensors", safetensors(names))
        self.assertEqual(self.names(path), [f"layer_{i}" for i in range(12)])
        path = self.file("fc.safetensors", safetensors(["fc2.weight", "fc1.weight"]))
        self.assertEqual(self.names(path), ["fc2", "fc1"])

    def test_layers_that_several_shards_share_are_equal(self):
        layers = self.layers(16)
        shards = [layers[:13], layers[13:23], layers[23:]]
        index = {}
        for i, shard in enumerate(shards, 1):
            name = f"model-0000{i}-of-00003.safetensors"
            # The second half of a layer comes in the next file, by name before the
            # first half of its neighbour.
            self.file(name, safetensors(sorted(shard, reverse=i == 2)))
            index |= {tensor: name for tensor in shard}
        text = json.dumps({"metadata": {}, "weight_map": index})
        self.file("model.safetensors.index.json", text.encode())
        self.assertIn(" 0-15: 16 equal modules", self.tree(self.folder))


MB = 1 << 20


class Plain(Files):
    """pickle.dump() of tensors: the data of each is a torch file in a byte string."""

    def dump(self, state, protocol=None):
        path = self.folder / "plain.pkl"
        with open(path, "wb") as file:
            pickle.dump(state, file, protocol=protocol)
        return path

    def check_sound(self, path, state):
        done = scope.run("check", "--values", path)
        text = done.stdout.decode()
        self.assertEqual(done.returncode, 0, text)
        self.assertIn(": ✓ SAFE\n", text)
        n = len(state)
        self.assertIn(f" {n} of {n} lie inside their storages\n", text)
        numbers = sum(tensor.numel() for tensor in state.values())
        self.assertIn(f" in {numbers:,} values\n", text)

    def test_hundreds_of_tensors_in_every_protocol(self):
        torch.manual_seed(0)
        state = {f"{i}.weight": torch.randn(3, i % 50 + 1) for i in range(300)}
        for protocol in range(2, 6):
            path = self.dump(state, protocol)
            self.check_sound(path, state)
            document = scope.document("stats", path)
            self.assertEqual(document["findings"], [])
            for found, (name, tensor) in zip(document["tensors"], state.items()):
                self.assertEqual(found["name"], name)
                self.assertEqual(found["shape"], list(tensor.shape))
                mean = tensor.double().mean().item()
                self.assertAlmostEqual(found["mean"], mean, places=7)

    def test_large_pickled_tensors_show_the_saved_values(self):
        state = {f"l{i}.w": torch.arange(i, i + 200_000.0) for i in range(5)}
        state["view"] = state["l0.w"][7::1000]
        path = self.dump({**state, "again": state["l3.w"]})
        text = scope.run("check", path).stdout.decode()
        self.assertIn(" 7 of 7 lie inside their storages\n", text)
        for name, tensor in state.items():
            found = scope.document("show", path, name, "--sha256")["tensor"]
            data = tensor.contiguous().numpy().tobytes()
            self.assertEqual(found["sha256"], hashlib.sha256(data).hexdigest())

    def test_large_pickled_tensors_take_little_memory(self):
        state = {f"{i}.w": torch.zeros(MB // 2) for i in range(16)}  # 32 MB
        arrays = {f"a{i}": numpy.zeros(MB) for i in range(4)}  # 32 MB
        for content, most in ((state, 24 * MB), (arrays, 56 * MB)):
            path = self.dump(content)
            status, peak = scope.peak("stats", path)
            self.assertEqual(status, 0)
            self.assertLess(peak, most)

    def test_a_torch_file_inside_bytes_is_part_of_the_verdict(self):
        evil = hostile.whole(hostile.SYSTEM)
        for size in (0, MB):  # large ones are not read into memory
            inner = legacy_file(evil + bytes(size))
            body = hostile.named("torch.storage", "_load_from_bytes")
            body += hostile.raw(inner) + b"\x85R"
            for name, data in (("shown", body), ("thrown", body + b"0N")):
                path = self.file(f"{name}.pkl", hostile.whole(data))
                done = scope.run("check", path)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn("UNSAFE", done.stdout.decode())


def field(number, data):
    """A field of a protobuf with a length."""
    length, size = b"", len(data)
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


class Names(Files):
    def said(self, name, data):
        done = scope.run("tree", self.file(name, data))
        self.assertEqual(done.returncode, 2, done.stdout)
        return done.stderr.decode()

    def test_tensorflow_graphs_are_not_reported_as_onnx(self):
        node = field(1, field(1, b"input") + field(2, b"Placeholder") + field(5, b"\x0a"))
        meta = field(1, field(1, field(1, b"\x0a\x04Cast"))) + field(2, node * 50)
        text = self.said("saved_model.pb", b"\x08\x01" + field(2, meta))
        self.assertIn("is a TensorFlow SavedModel;", text)
        self.assertIn("is a TensorFlow graph;", self.said("g.pb", node * 50))
        onnx = b"\x08\x07" + field(2, b"pytorch") + field(3, b"2.0") + field(7, node)
        done = scope.run("tree", self.file("m.onnx", onnx))
        self.assertIn("ONNX file, incomplete", done.stdout.decode())

    def test_tflite_with_metadata_is_not_read_as_a_zip(self):
        tail = hostile.archive([hostile.Entry("labels.txt", b"cat")])
        data = b"\x1c\0\0\0TFL3" + bytes(500) + tail
        self.assertIn("is a damaged TFLite file", self.said("m.tflite", data))

    def test_a_torch_zip_without_its_pickle(self):
        entries = [hostile.Entry(f"a/data/{i}", bytes(8)) for i in range(3)]
        entries.append(hostile.Entry("a/version", b"3\n"))
        text = self.said("model.pt", hostile.archive(entries))
        self.assertIn("without data.pkl", text)
        self.assertNotIn("unpack it", text)

    def test_unpacking_is_not_suggested_for_archives_that_escape_their_folder(self):
        for name in ("../../.bashrc", "/etc/cron.d/x", "a\\..\\b", "x/../../y"):
            entries = [hostile.Entry("a.txt", b"x"), hostile.Entry(name, b"x")]
            text = self.said("x.zip", hostile.archive(entries))
            self.assertIn("Do not unpack it", text)
        entries = [hostile.Entry("a.txt", b"x")]
        self.assertIn("unpack it and open", self.said("x.zip", hostile.archive(entries)))

    def test_a_pickle_without_its_archive_reports_the_missing_data(self):
        path = self.file("data.pkl", hostile.GOOD)
        done = scope.run("check", path)
        text = done.stdout.decode()
        self.assertEqual(done.returncode, 1, text)
        self.assertNotIn("nothing is missing", text)
        self.assertIn("is the data.pkl of a PyTorch zip file", text)
        self.assertIn("0 of 1 lies inside its storage", text)
        self.assertNotIn("tensor not usable", text)
        self.assertIn("weight  2 float32", scope.run("tree", path).stdout.decode())


class Statuses(Files):
    def test_every_command_reports_damage(self):
        evil = hostile.dictionary(weight=hostile.tensor(), x=hostile.SYSTEM)
        cut = hostile.torch_zip(data=hostile.GOOD[:-20])
        files = {
            "good.pt": (hostile.torch_zip(), 0, None),
            "unsafe.pt": (hostile.torch_zip(data=hostile.whole(evil)), 1, "unsafe"),
            "cut.pt": (cut, 1, "inconclusive"),
        }
        for name, (data, status, code) in files.items():
            path = self.file(name, data)
            for command in ("tree", "info", "stats", "show"):
                with self.subTest(file=name, command=command):
                    self.assertEqual(scope.run(command, path).returncode, status)
                    done = scope.run(command, path, "--json")
                    self.assertEqual(done.returncode, status)
                    found = json.loads(done.stdout)["findings"]
                    codes = [finding["code"] for finding in found]
                    self.assertEqual(code in codes if code else codes == [], True)

    def test_check_reports_damage(self):
        own = hostile.dictionary(x=hostile.named("my.code", "Config") + b")\x81")
        for body, code in ((own, "needs-code"), (hostile.SYSTEM, "unsafe")):
            path = self.file("m.pt", hostile.torch_zip(data=hostile.whole(body)))
            done = scope.run("check", path, "--json")
            self.assertEqual(done.returncode, 1)
            (file,) = json.loads(done.stdout)["checked"]
            self.assertIn(code, [finding["code"] for finding in file["findings"]])


class Dill(Files):
    """dill writes an import and an attribute as calls with constant arguments."""

    def verdict(self, body):
        return scope.document("info", self.file("m.pkl", hostile.whole(body)))["verdict"]

    def imports(self, module):
        return hostile.call("dill._dill", "_import_module", hostile.text(module))

    def member(self, module, name):
        owner = self.imports(module)
        return hostile.call("dill._dill", "_get_attr", owner, hostile.text(name))

    def test_imports_and_attributes_with_constant_names_need_code(self):
        for body in (
            self.imports("my.models"),
            self.imports("torch.nn"),
            self.member("my.models", "Net"),
            self.member("torch.nn.functional", "relu"),
        ):
            self.assertEqual(self.verdict(body), "needs code", body)

    def test_other_calls_are_unsafe(self):
        one = b"\x85R"
        names = hostile.dictionary(a=self.imports("my.models"))
        for body in (
            self.imports("os"),
            self.imports("os.system"),
            self.imports("torch.os"),
            self.imports("subprocess"),
            self.imports("my.__globals__"),
            self.member("os", "getcwd"),
            self.member("torch.os", "system"),
            self.member("my", "__dict__"),
            self.member("builtins", "eval"),
            self.member("my.models", "run") + hostile.text("x") + one,
            hostile.call("dill._dill", "_import_module", names),
            hostile.call("dill._dill", "_get_attr", names, hostile.text("x")),
            hostile.call("dill._dill", "_load_type", hostile.text("CodeType")),
            hostile.call("dill._dill", "_create_code", hostile.text("x")),
        ):
            self.assertEqual(self.verdict(body), "unsafe", body)


def legacy_file(body):
    """What torch.save() wrote before 1.6, with this as its object."""
    head = io.BytesIO()
    for value in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
        pickle.dump(value, head, protocol=2)
    return head.getvalue() + body


if __name__ == "__main__":
    unittest.main()
