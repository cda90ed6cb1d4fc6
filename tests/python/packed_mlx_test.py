"""Weights of MLX: shape and values are those of MLX's documented formula, written here with
torch. The shapes of the tensors only give bits * group size, so config.json decides; where
it does not, the weight is shown as stored."""

import json
import unittest

import packed_folder
import scope
import torch
from safetensors.torch import save_file

import torchoscope

E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
E2M1 += [-value for value in E2M1]


def pack(codes, bits):
    """Each row as a stream of bits, the lowest first, in words of 32 bits."""
    ones = (codes.unsqueeze(-1) >> torch.arange(bits) & 1).flatten(-2)
    words = (ones.unflatten(-1, (-1, 32)) << torch.arange(32)).sum(-1)
    return words.to(torch.uint32)


def quantised(bits, group, shape=(48, 512), dtype=torch.float32):
    """The tensors of a module, and its real weight."""
    codes = torch.randint(0, 2**bits, shape)
    groups = (*shape[:-1], shape[-1] // group)
    scales, biases = torch.rand(groups).to(dtype), torch.randn(groups).to(dtype)
    real = codes.unflatten(-1, (-1, group)) * scales.float().unsqueeze(-1)
    real = (real + biases.float().unsqueeze(-1)).flatten(-2)
    return {"weight": pack(codes, bits), "scales": scales, "biases": biases}, real


class Models(packed_folder.Folder):
    def model(self, modules, quantization=None, **more):
        config = {"model_type": "llama", **more}
        if quantization:
            config["quantization"] = quantization
        (self.folder / "config.json").write_text(json.dumps(config))
        return self.save("model.safetensors", modules)

    def check_real(self, path, name, real, packing, bits, group):
        tensor = torchoscope.open(path)[f"{name} (real values)"]
        self.assertTrue(torch.equal(tensor.values(), real))
        shown = scope.document("show", path, f"{name} (real values)")["tensor"]
        got = [shown["extra"][key] for key in ("packing", "bits", "group_size")]
        self.assertEqual(got, [packing, bits, group])

    def left_alone(self, path):
        done = scope.document("tree", path)
        self.assertEqual([one["name"] for one in done["tensors"] if one.get("derived")], [])
        info = scope.run("info", path).stdout.decode()
        self.assertIn("not supported, such as that of fc: shown and counted as stored", info)

    def test_every_number_of_bits_and_group_size(self):
        for bits in 1, 2, 3, 4, 5, 6, 8:
            for group in 32, 64, 128:
                parts, real = quantised(bits, group)
                path = self.model({"fc": parts}, {"bits": bits, "group_size": group})
                with self.subTest(bits=bits, group=group):
                    self.check_real(path, "fc.weight", real, "MLX", bits, group)
                    counts = scope.document("info", path)["counts"]
                    self.assertEqual(counts["unique"], real.numel())

    def test_scales_of_16_bits_rows_wider_than_a_window_and_experts(self):
        for dtype in torch.float16, torch.bfloat16:
            for shape in (5, 2176), (3, 8, 256):
                parts, real = quantised(5, 64, shape, dtype)
                path = self.model({"fc": parts}, {"bits": 5, "group_size": 64})
                self.check_real(path, "fc.weight", real, "MLX", 5, 64)

    def test_modules_that_differ_from_the_rest(self):
        """Both have 256 bits a group."""
        four, real4 = quantised(4, 64)
        eight, real8 = quantised(8, 32)
        six, real6 = quantised(6, 64)
        path = self.model(
            {"a.fc": four, "a.head": eight, "a.b": six},
            {"group_size": 64, "bits": 4, "mode": "affine", "a.b": {"group_size": 64, "bits": 6},
             "a.head": {"group_size": 32, "bits": 8}, "a.norm": False})  # fmt: skip
        self.check_real(path, "a.fc.weight", real4, "MLX", 4, 64)
        self.check_real(path, "a.head.weight", real8, "MLX", 8, 32)
        self.check_real(path, "a.b.weight", real6, "MLX", 6, 64)
        text = scope.run("info", path).stdout.decode()
        self.assertIn("quantised by mlx, 4 bits", text)

    def test_floats(self):
        e4m3 = torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn).float()
        codes = torch.randint(0, 256, (48, 256))
        codes[codes & 127 == 127] = 0  # NaN
        power = torch.randint(112, 125, (48, 8), dtype=torch.uint8)
        e8m0 = torch.ldexp(torch.ones(48, 8), power.int() - 127)
        four = torch.tensor(E2M1)[codes & 15]
        small = torch.randint(1, 126, (48, 16), dtype=torch.uint8)
        for packing, bits, group, table, scales, values in (
            ("MLX MXFP4", 4, 32, four, power, e8m0),
            ("MLX NVFP4", 4, 16, four, small, e4m3[small.long()]),
            ("MLX MXFP8", 8, 32, e4m3[codes], power, e8m0),
        ):
            parts = {"weight": pack(codes & (1 << bits) - 1, bits), "scales": scales}
            path = self.model({"fc": parts})
            real = table * values.repeat_interleave(group, 1)
            self.check_real(path, "fc.weight", real, packing, bits, group)

    def test_without_a_configuration_only_unambiguous_shapes_are_decoded(self):
        for bits, group, clear in (3, 32, True), (6, 128, True), (4, 64, False), (8, 32, False):
            parts, real = quantised(bits, group)
            path = self.save("other.safetensors", {"fc": parts})
            if clear:
                self.check_real(path, "fc.weight", real, "MLX", bits, group)
            else:
                self.left_alone(path)

    def test_parts_that_do_not_fit_are_left_alone(self):
        parts, _ = quantised(4, 64)
        good = {"bits": 4, "group_size": 64}
        for config in {"bits": 4, "group_size": 32}, {"bits": 7, "group_size": 64}, {}:
            self.left_alone(self.model({"fc": parts}, config))
        for config in {"bits": "4", "group_size": 64}, {"bits": -4, "group_size": -64}:
            self.left_alone(self.model({"fc": parts}, config))
        for change in (
            {"scales": parts["scales"][:47].clone()},
            {"scales": parts["scales"].int()},
            {"biases": parts["biases"][:, :4].clone()},
            {"biases": parts["biases"].int()},
            {"weight": parts["weight"].view(torch.int32)},
            {"weight": parts["weight"].view(torch.int32)[:, :60].clone().view(torch.uint32)},
        ):
            self.left_alone(self.model({"fc": parts | change}, good))
        del parts["biases"]
        self.left_alone(self.model({"fc": parts}, good))

    def test_an_odd_configuration_is_harmless(self):
        parts, _ = quantised(4, 64)
        path = self.model({"fc": parts})
        for odd in [], 5, None, {"fc": [], "bits": 4}, {"fc": {"bits": {}}}, {"modules": {"x": 1}}:
            config = {"model_type": "llama", "quantization": odd}
            (self.folder / "config.json").write_text(json.dumps(config))
            self.left_alone(path)


if __name__ == "__main__":
    unittest.main()
