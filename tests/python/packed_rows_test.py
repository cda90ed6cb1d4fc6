"""Weights of HQQ, optimum-quanto and BitNet, which pack several rows into one: shape and values are
those of formulas written here with torch, as the packages compute them."""

import json
import unittest
from importlib.util import find_spec

import packed_folder
import scope
import torch

import torchoscope


def stack(codes, bits, parts, dtype, high):
    """Packs rows that are len(codes) / parts apart; rows that are missing are 0."""
    step = -(-len(codes) // parts)
    padded = torch.zeros(step * parts, codes.shape[1], dtype=torch.int64)
    padded[: len(codes)] = codes
    packed = torch.zeros(step, codes.shape[1], dtype=torch.int64)
    for i in range(parts):
        packed |= padded[i * step : (i + 1) * step] << bits * (parts - 1 - i if high else i)
    return packed.to(dtype)


class Hqq(packed_folder.Folder):
    def quantised(self, bits, group, axis, shape=(96, 256), dtype=torch.float32):
        numel = shape[0] * shape[1]
        size = (numel // group, group) if axis else (group, numel // group)
        codes = torch.randint(0, 2**bits, size)
        sides = (size[0], 1) if axis else (1, size[1])
        scale, zero = torch.rand(sides).to(dtype), (torch.rand(sides) * 2**bits).to(dtype)
        real = ((codes - zero.float()) * scale.float()).reshape(shape)
        parts = 10 if bits == 3 else 8 // bits
        kind = torch.int32 if bits == 3 else torch.uint8
        text = f"{bits}bit_{'32' if bits == 3 else 'u8'}"
        return {"W_q": stack(codes, bits, parts, kind, True), "scale": scale, "zero": zero,
                "nbits": torch.tensor(bits, dtype=torch.int32),
                "group_size": torch.tensor(group, dtype=torch.int32),
                "axis": torch.tensor(axis, dtype=torch.int32),
                "shape": torch.tensor(shape),
                "packing": torch.tensor(list(text.encode()), dtype=torch.uint8)}, real  # fmt: skip

    def test_bits_groups_and_axes(self):
        for bits in 1, 2, 3, 4, 8:
            for group, axis in (64, 1), (16, 1), (256, 1), (64, 0):
                if bits == 3 and axis == 0:
                    continue
                for dtype in torch.float32, torch.bfloat16:
                    parts, real = self.quantised(bits, group, axis, dtype=dtype)
                    with self.subTest(bits=bits, group=group, axis=axis):
                        path = self.check(parts, real, "fc.weight", "HQQ")
                        counts = scope.document("info", path)["counts"]
                        self.assertEqual(counts["unique"], real.numel())

    def test_a_row_of_groups_wider_than_a_window(self):
        self.check(*self.quantised(4, 2048, 1, (48, 2048)), "fc.weight", "HQQ")
        self.check(*self.quantised(4, 64, 0, (64, 4096)), "fc.weight", "HQQ")

    def test_parts_that_do_not_fit_are_left_alone(self):
        parts, _ = self.quantised(4, 64, 1)
        for change in (
            {"nbits": torch.tensor(2, dtype=torch.int32)},
            {"nbits": torch.tensor(5, dtype=torch.int32)},
            {"nbits": torch.tensor([4, 4], dtype=torch.int32)},
            {"axis": torch.tensor(0, dtype=torch.int32)},
            {"axis": torch.tensor(2, dtype=torch.int32)},
            {"shape": torch.tensor([96, 255])},
            {"shape": torch.tensor([-96, -256])},
            {"shape": torch.tensor([2**62, 2**62])},
            {"shape": torch.ones(9, dtype=torch.int64)},
            {"zero": parts["zero"][:-1].clone()},
            {"scale": parts["scale"].int()},
            {"W_q": parts["W_q"].to(torch.int32)},
            {"W_q": parts["W_q"].view(torch.float16)},
            {"W_q": parts["W_q"][:-1].clone()},
        ):
            path = self.save("m.safetensors", {"fc": parts | change})
            names = [one["name"] for one in scope.document("tree", path)["tensors"]]
            self.assertNotIn("fc.weight", names)


class Quanto(packed_folder.Folder):
    REAL = "fc.weight (real values)"

    def scales(self):
        return {"input_scale": torch.tensor(1.0), "output_scale": torch.tensor(1.0)}

    def check_counted(self, parts, real, packing):
        path = self.check(parts | self.scales(), real, self.REAL, packing)
        counts = scope.document("info", path)["counts"]
        self.assertEqual(counts["unique"], real.numel())

    def test_bytes(self):
        for shape in (96, 256), (8, 16, 3, 3):
            codes = torch.randint(-128, 128, shape, dtype=torch.int8)
            scale = torch.rand(shape[0], *[1] * (len(shape) - 1))
            parts = {"weight._data": codes, "weight._scale": scale}
            self.check_counted(parts, codes.float() * scale, "quanto int8")
            for kind in torch.float8_e4m3fn, torch.float8_e5m2:
                codes = torch.randn(shape).to(kind)
                parts = {"weight._data": codes, "weight._scale": scale.half()}
                real = codes.float() * scale.half().float()
                self.check_counted(parts, real, "quanto float8")

    def bits(self, bits, shape):
        codes = torch.randint(0, 2**bits, shape)
        scale = torch.rand(shape[0], *[1] * (len(shape) - 1))
        shift = torch.randn(scale.shape)
        packed = stack(codes.flatten(1), bits, 8 // bits, torch.uint8, False)
        packed = packed.reshape(-1, *shape[1:])
        return {"weight._data._data": packed, "weight._scale": scale,
                "weight._shift": shift}, scale * codes - shift  # fmt: skip

    def test_4_and_2_bits(self):
        for bits in 4, 2:
            for shape in (96, 256), (16, 1100), (8, 16, 3, 3):
                self.check_counted(*self.bits(bits, shape), "quanto")

    def test_groups_are_left_alone_because_their_shape_is_not_in_the_file(self):
        parts, _ = self.bits(4, (192, 128))
        path = self.save("m.safetensors", {"fc": parts})
        done = scope.document("tree", path)
        self.assertEqual([one["name"] for one in done["tensors"] if one.get("derived")], [])
        text = scope.run("info", path).stdout.decode()
        self.assertIn("1 packed weight in a layout that is not supported", text)

    def test_parts_that_do_not_fit_are_left_alone(self):
        one = {"weight._data": torch.ones(96, 256, dtype=torch.int8),
               "weight._scale": torch.rand(96, 1)}  # fmt: skip
        four, _ = self.bits(4, (96, 256))
        for parts in (
            one | {"weight._data": torch.tensor(1, dtype=torch.int8)},
            one | {"weight._data": torch.ones(96, dtype=torch.int8)},
            one | {"weight._data": torch.ones(96, 256)},
            one | {"weight._scale": torch.rand(95, 1)},
            one | {"weight._scale": torch.rand(1, 96)},
            one | {"weight._scale": torch.tensor(1.0)},
            four | {"weight._data._data": torch.tensor(1, dtype=torch.uint8)},
            four | {"weight._shift": torch.ones(96, 1, dtype=torch.int8)},
            four | {"weight._shift": torch.rand(48, 1)},
            four | {"weight._scale": torch.rand(97, 1)},
        ):
            path = self.save("m.safetensors", {"fc": parts})
            names = [one["name"] for one in scope.document("tree", path)["tensors"]]
            self.assertNotIn(self.REAL, names)

    def test_a_pickle_gives_the_same_values(self):
        parts, real = self.bits(4, (96, 256))
        path = self.folder / "q.pt"
        torch.save({f"fc.{name}": part for name, part in parts.items()}, path)
        self.assertTrue(torch.equal(torchoscope.open(path)[self.REAL].values(), real))


class BitNet(packed_folder.Folder):
    def model(self, parts, **config):
        config = {"model_type": "bitnet", "quantization_config": config}
        (self.folder / "config.json").write_text(json.dumps(config))
        return self.save("model.safetensors", {"fc": parts})

    def test_both_classes_of_layers(self):
        ternary = torch.randint(-1, 2, (96, 1100))
        packed = stack(ternary + 1, 2, 4, torch.uint8, False)
        parts = {"weight": packed, "weight_scale": torch.tensor([1.71875]).bfloat16()}
        for name, real in (("autobitlinear", ternary * 1.71875),
                           ("bitlinear", ternary / torch.tensor(1.71875)),
                           (None, ternary / torch.tensor(1.71875))):  # fmt: skip
            more = {"linear_class": name} if name else {}
            path = self.model(parts, quant_method="bitnet", **more)
            got = torchoscope.open(path)["fc.weight (real values)"].values()
            self.assertTrue(torch.equal(got, real))
            counts = scope.document("info", path)["counts"]
            self.assertEqual(counts["unique"], 96 * 1100)
            if find_spec("transformers"):
                from transformers.integrations.bitnet import unpack_weights

                self.assertTrue(torch.equal(unpack_weights(packed, torch.float32), ternary))

    def test_other_configurations_are_left_alone(self):
        parts = {"weight": torch.ones(8, 16, dtype=torch.uint8), "weight_scale": torch.ones(1)}
        for config in (
            {"quant_method": "other"},
            {"quant_method": "bitnet", "linear_class": "x"},
            {},
        ):
            path = self.model(parts, **config)
            done = scope.document("tree", path)
            self.assertFalse(any(one.get("derived") for one in done["tensors"]))


if __name__ == "__main__":
    unittest.main()
