"""Files that other programs wrote: the order of their layers, their names, what is said
of those that are no models, and the exit status of every command."""

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

    def test_layers_sorted_as_text_are_in_the_order_of_their_numbers(self):
        names = sorted(self.layers(12)) + ["head.weight"]
        path = self.file("model.safetensors", safetensors(names))
        listed = [name for name in self.names(path) if name.count(".") == 1]
        self.assertEqual(listed, [f"h.{i}" for i in range(12)])
        self.assertIn(" 0-11: 12 equal modules", self.tree(path))

    def test_a_state_dict_in_any_order_too(self):
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

    def test_numbers_at_the_end_of_names_where_they_were_sorted_as_text(self):
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
# A child inherits the peak of the process it was made from: let that be a small one.
PEAK = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(status, usage.ru_maxrss, file=sys.stderr)
"""


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

    def test_what_is_shown_of_a_large_one_is_what_was_saved(self):
        state = {f"l{i}.w": torch.arange(i, i + 200_000.0) for i in range(5)}
        state["view"] = state["l0.w"][7::1000]
        path = self.dump({**state, "again": state["l3.w"]})
        text = scope.run("check", path).stdout.decode()
        self.assertIn(" 7 of 7 lie inside their storages\n", text)
        for name, tensor in state.items():
            found = scope.document("show", path, name, "--sha256")["tensor"]
            data = tensor.contiguous().numpy().tobytes()
            self.assertEqual(found["sha256"], hashlib.sha256(data).hexdigest())

    def test_a_large_one_takes_little_memory(self):
        state = {f"{i}.w": torch.zeros(MB // 2) for i in range(16)}  # 32 MB
        arrays = {f"a{i}": numpy.zeros(MB) for i in range(4)}  # 32 MB
        for content, most in ((state, 24 * MB), (arrays, 56 * MB)):
            path = self.dump(content)
            command = [sys.executable, "-ISc", PEAK, scope.PROGRAM, "stats", path]
            done = subprocess.run(command, capture_output=True, check=True, text=True)
            status, kilobytes = map(int, done.stderr.split())
            self.assertEqual(status, 0)
            self.assertLess(kilobytes * 1024, most)

    def test_what_a_torch_file_in_bytes_does_is_judged(self):
        evil = hostile.whole(hostile.SYSTEM)
        for size in (0, MB):  # a large one is not read into memory
            inner = legacy_file(evil + bytes(size))
            body = hostile.named("torch.storage", "_load_from_bytes")
            body += hostile.raw(inner) + b"\x85R"
            for name, data in (("shown", body), ("thrown", body + b"0N")):
                path = self.file(f"{name}.pkl", hostile.whole(data))
                done = scope.run("check", path)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn("UNSAFE", done.stdout.decode())


def legacy_file(body):
    """What torch.save() wrote before 1.6, with this as its object."""
    head = io.BytesIO()
    for value in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
        pickle.dump(value, head, protocol=2)
    return head.getvalue() + body


if __name__ == "__main__":
    unittest.main()
