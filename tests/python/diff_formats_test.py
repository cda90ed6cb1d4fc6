"""diff: one model in two formats. Equal weights are equal under any name, and
transposed matrices are found."""

import unittest

import numpy
import torch
import torch.distributed.checkpoint
from safetensors.torch import save_file
from torch import nn

from diff_test import Pair


class Net(nn.Module):
    """With a square matrix, whose transpose has the same shape."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.first = nn.Linear(16, 32)
        self.square = nn.Linear(32, 32, bias=False)
        self.head = nn.Linear(32, 10, bias=False)

    def forward(self, x):
        x = torch.relu(self.conv(x)).flatten(1)
        return self.head(torch.relu(self.square(torch.relu(self.first(x)) * 2)))


class Formats(Pair):
    def setUp(self):
        super().setUp()
        self.net = Net().eval()
        self.inputs = torch.randn(2, 3, 4, 4)
        self.state = self.net.state_dict()

    def files(self):
        state, net = self.state, self.net
        save_file(state, self.folder / "a.safetensors", metadata={"format": "pt"})
        yield self.folder / "a.safetensors"
        numpy.savez(self.folder / "a.npz", **{k: v.numpy() for k, v in state.items()})
        yield self.folder / "a.npz"
        traced = torch.jit.trace(net, self.inputs, check_trace=False)
        traced.save(str(self.folder / "a.ts"))
        yield self.folder / "a.ts"
        program = torch.export.export(net, (self.inputs,))
        torch.export.save(program, self.folder / "a.pt2")
        yield self.folder / "a.pt2"
        torch.distributed.checkpoint.save(state, checkpoint_id=self.folder / "a_dcp")
        yield self.folder / "a_dcp"

    def test_equal_weights_are_equal_in_any_format(self):
        first = self.save("a.pth", self.state)
        paths = [first, *self.files()]
        for path in paths:
            for left, right in ((first, path), (path, first), (paths[3], path)):
                with self.subTest(left=left.name, right=right.name):
                    document, text = self.diff(left, right)
                    self.assertTrue(document["equal"], text)

    def test_transposed_initialisers_of_onnx_are_found_by_content(self):
        path = self.folder / "a.onnx"
        torch.onnx.export(self.net, (self.inputs,), path, dynamo=False)
        for left, right in ((self.state, path), (path, self.save("b.pth", self.state))):
            document, text = self.diff(left, right)
            counts = document["counts"]
            self.assertEqual(counts["only_left"] + counts["only_right"], 0, text)
            self.assertEqual(counts["changed"], 0, text)
            turned = {t["left"]["name"].split(".")[0] for t in document["tensors"]
                      if t.get("transposed")}
            self.assertEqual(turned, {"square", "head"})
            self.assertNotIn("replaced", document["sentence"])
            self.assertIn("matrices are transposed, undone to compare (1 tensor)", text)

    def test_the_generated_python_transposes_onnx_weights(self):
        path = self.folder / "a.onnx"
        torch.onnx.export(self.net, (self.inputs,), path, dynamo=False)
        document, _ = self.diff(path, self.save("b.pth", self.state))
        import onnx
        from onnx import numpy_helper

        names = {}
        for value in onnx.load(path).graph.initializer:
            # Below the module that uses it, as in the tree.
            found = [t["left"]["name"] for t in document["tensors"]
                     if t["left"]["name"].endswith(value.name)]
            names[(found or [value.name])[0]] = torch.from_numpy(
                numpy_helper.to_array(value).copy())
        scope = {"state": names}
        exec(compile(document["python"], "snippet", "exec"), scope)
        expected = self.net(self.inputs)
        fresh = Net().eval()
        fresh.load_state_dict(scope["state"], strict=True)
        torch.testing.assert_close(fresh(self.inputs), expected)

    def test_a_transpose_that_changed_in_one_value_is_not_paired(self):
        other = {"other": self.state["square.weight"].t().contiguous()}
        other["other"][3, 4] += 1
        document, _ = self.diff({"square.weight": self.state["square.weight"]}, other)
        self.assertFalse(any(t.get("transposed") for t in document["tensors"]))


if __name__ == "__main__":
    unittest.main()
