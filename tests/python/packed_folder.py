"""A temporary folder for files with packed weights."""

import folder
import scope
import torch
from safetensors.torch import save_file

import torchoscope


class Folder(folder.TemporaryFolder):
    def setUp(self):
        super().setUp()
        torch.manual_seed(5)

    def save(self, name, modules):
        """{"fc": parts} as safetensors."""
        path = self.folder / name
        save_file({f"{module}.{part}": tensor.contiguous()
                   for module, parts in modules.items()
                   for part, tensor in parts.items()}, path)  # fmt: skip
        return path

    def check(self, parts, real, name="fc.weight (real values)", packing=None):
        path = self.save("m.safetensors", {"fc": parts})
        tensor = torchoscope.open(path)[name]
        got = tensor.values()
        self.assertEqual(tuple(got.shape), tuple(real.shape))
        self.assertEqual(got.dtype, torch.float32)
        self.assertTrue(torch.equal(got, real), (got - real).abs().max())
        shown = scope.document("show", path, name)["tensor"]
        self.assertTrue(shown["derived"])
        self.assertEqual(shown["bytes"], 0)
        self.assertEqual(shown["role"], "parameter")
        if packing:
            self.assertEqual(shown["extra"]["packing"], packing)
        stats = scope.document("stats", path)
        [mine] = [one for one in stats["tensors"] if one["name"] == name]
        self.assertEqual(mine["min"], real.min().item())
        self.assertAlmostEqual(mine["mean"], real.double().mean().item(), 6)
        return path
