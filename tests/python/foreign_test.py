"""Files that other programs wrote: the order of their layers, their names, what is said
of those that are no models, and the exit status of every command."""

import json
import struct
import unittest

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


if __name__ == "__main__":
    unittest.main()
