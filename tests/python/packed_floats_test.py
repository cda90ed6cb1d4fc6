"""Weights of 4, 6 and 8 bits with shared exponents (NVFP4, MXFP4, MXFP6, MXFP8, the blocks of
gpt-oss): shape and values equal those of formulas written here, of compressed-tensors and
of transformers. Tensors that do not fit exactly are shown as stored."""

import json
import unittest
from importlib.util import find_spec

import packed_folder
import scope
import torch

import torchoscope

E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
E2M1 += [-value for value in E2M1]


def e2m3(code):
    """A sign, two bits of exponent with bias 1, three of mantissa; all finite."""
    exponent, mantissa = code >> 3 & 3, code & 7
    size = mantissa / 8 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 1)
    return -size if code & 32 else size


def halves(data):
    """The low and the high four bits of each byte, one after the other."""
    return torch.stack([data & 15, data >> 4], -1).flatten(-2).long()


def sixes(data):
    """Four codes of six bits in three bytes, the lowest bits first."""
    byte = data.long().unflatten(-1, (-1, 3))
    word = byte[..., 0] | byte[..., 1] << 8 | byte[..., 2] << 16
    return torch.stack([word >> shift & 63 for shift in (0, 6, 12, 18)], -1).flatten(-2)


def random_bytes(*shape):
    return torch.randint(0, 256, shape, dtype=torch.uint8)


def exponents(*shape):
    return torch.randint(112, 125, shape, dtype=torch.uint8)


def power(codes):
    return torch.ldexp(torch.ones(codes.shape), codes.int() - 127)


def nvfp4(out, into, divides=True):
    """Tensors of a module, and its real weight."""
    codes = random_bytes(out, into // 2)
    scale = torch.rand(out, into // 16).mul(400).to(torch.float8_e4m3fn)
    whole = torch.tensor([2688 / 3.1])
    if not divides:
        whole = 1 / whole
    scales = scale.float() / whole if divides else scale.float() * whole
    real = torch.tensor(E2M1)[halves(codes)] * scales.repeat_interleave(16, 1)
    return codes, scale, whole, real


class Formulas(packed_folder.Folder):
    def test_nvfp4(self):
        for out, into in (48, 160), (3, 32), (5, 4112):
            codes, scale, whole, real = nvfp4(out, into)
            with self.subTest(out=out, into=into):
                self.check({"weight_packed": codes, "weight_scale": scale,
                            "weight_global_scale": whole},
                           real, "fc.weight", "compressed-tensors NVFP4")  # fmt: skip

    def test_nvfp4_of_modelopt_multiplies(self):
        codes, scale, whole, real = nvfp4(48, 160, divides=False)
        self.check({"weight": codes, "weight_scale": scale, "weight_scale_2": whole[0]},
                   real, packing="ModelOpt NVFP4")  # fmt: skip

    def test_mxfp4(self):
        for kind in torch.uint8, torch.float8_e8m0fnu:
            codes, scale = random_bytes(48, 80), exponents(48, 5)
            real = torch.tensor(E2M1)[halves(codes)]
            real *= power(scale).repeat_interleave(32, 1)
            self.check({"weight_packed": codes, "weight_scale": scale.view(kind)},
                       real, "fc.weight", "compressed-tensors MXFP4")  # fmt: skip

    def test_mxfp6(self):
        table = torch.tensor([e2m3(code) for code in range(64)])
        for into in 160, 1088:
            codes, scale = random_bytes(12, into * 6 // 8), exponents(12, into // 32)
            real = table[sixes(codes)] * power(scale).repeat_interleave(32, 1)
            self.check({"weight_packed": codes, "weight_scale": scale},
                       real, "fc.weight", "compressed-tensors MXFP6")  # fmt: skip

    def test_mxfp8(self):
        codes, scale = torch.randn(48, 160).to(torch.float8_e4m3fn), exponents(48, 5)
        self.check({"weight": codes, "weight_scale": scale},
                   codes.float() * power(scale).repeat_interleave(32, 1),
                   packing="MXFP8")  # fmt: skip

    def test_the_smallest_and_largest_exponents(self):
        """2 ** -127 is a denormal number, and 255 is NaN."""
        scale = torch.tensor([[0], [1], [254], [255]], dtype=torch.uint8)
        codes = torch.full((4, 16), 0x21, dtype=torch.uint8)
        path = self.save("m.safetensors",
                         {"fc": {"weight_packed": codes, "weight_scale": scale}})  # fmt: skip
        got = torchoscope.open(path)["fc.weight"].values()[:, :2]
        want = torch.tensor([[0.5 * 2.0**-127, 2.0**-127], [2.0**-127, 2.0**-126],
                             [2.0**126, 2.0**127]])  # fmt: skip
        self.assertTrue(torch.equal(got[:3], want), got)
        self.assertTrue(got[3].isnan().all())


class Blocks(packed_folder.Folder):
    """gpt-oss: NAME_blocks and NAME_scales."""

    def parts(self, experts=3, out=10, groups=4):
        return random_bytes(experts, out, groups, 16), exponents(experts, out, groups)

    def test_both_weights_of_the_experts(self):
        up, down = self.parts(), self.parts(3, 64, 2)
        parts = {"gate_up_proj_blocks": up[0], "gate_up_proj_scales": up[1],
                 "gate_up_proj_bias": torch.randn(3, 10),
                 "down_proj_blocks": down[0], "down_proj_scales": down[1]}  # fmt: skip
        for name, (blocks, scales) in {"gate_up_proj": up, "down_proj": down}.items():
            real = torch.tensor(E2M1)[halves(blocks)] * power(scales).unsqueeze(-1)
            real = real.flatten(2).transpose(1, 2)
            path = self.check(parts, real, f"fc.{name}", "MXFP4 in blocks")
            shown = scope.document("show", path, f"fc.{name}", "--slice", "1,:3,:4")
            self.assertEqual(shown["tensor"]["strides"], list(real.stride()))
        counts = scope.document("info", path)["counts"]
        want = 3 * 10 * 128 + 3 * 10 + 3 * 64 * 64
        self.assertEqual(counts["unique"], want)

    @unittest.skipUnless(find_spec("transformers"), "transformers is not installed")
    def test_values_equal_those_of_transformers(self):
        from transformers.integrations.mxfp4 import convert_moe_packed_tensors

        blocks, scales = self.parts(2, 24, 3)
        scales[0, 0] = torch.tensor([0, 60, 200])
        real = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32)
        self.check({"proj_blocks": blocks, "proj_scales": scales}, real, "fc.proj")

    def test_a_tensor_of_the_name_keeps_it(self):
        blocks, scales = self.parts()
        parts = {"p": torch.ones(2), "p_blocks": blocks, "p_scales": scales}
        path = self.save("m.safetensors", {"fc": parts})
        names = [one["name"] for one in scope.document("tree", path)["tensors"]]
        self.assertIn("fc.p", names)
        self.assertIn("fc.p (real values)", names)


@unittest.skipUnless(find_spec("compressed_tensors"), "compressed-tensors is not installed")
class CompressedTensors(packed_folder.Folder):
    def compressor(self, form, bits, group):
        from compressed_tensors.compressors import BaseCompressor
        from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme

        strategy = "tensor_group" if group == 16 else "group"
        args = QuantizationArgs(num_bits=bits, type="float", symmetric=True,
                                strategy=strategy, group_size=group)  # fmt: skip
        scheme = QuantizationScheme(targets=["Linear"], weights=args)
        return BaseCompressor.get_value_from_registry(form), scheme

    def check_form(self, form, bits, group, name="fc.weight"):
        kind, scheme = self.compressor(form, bits, group)
        weight = torch.randn(48, 160)
        scale = weight.unflatten(1, (-1, group)).abs().amax(2) / {4: 6, 6: 7.5, 8: 448}[bits]
        state = {"weight": weight, "weight_scale": scale}
        if form.startswith("nvfp4"):
            state["weight_global_scale"] = torch.tensor([448 * 6 / weight.abs().max()])
            state["weight_scale"] = scale * state["weight_global_scale"]
        else:
            state["weight_scale"] = torch.exp2(scale.log2().floor())
        packed_parts = kind.compress(state, scheme)
        real = kind.decompress(packed_parts, scheme)["weight"]
        path = self.save("m.safetensors", {"fc": dict(packed_parts)})
        got = torchoscope.open(path)[name].values()
        self.assertTrue(torch.equal(got.to(real.dtype), real))
        self.assertLess((got - weight).norm() / weight.norm(), 0.25)

    def test_nvfp4(self):
        self.check_form("nvfp4-pack-quantized", 4, 16)

    def test_mxfp4(self):
        self.check_form("mxfp4-pack-quantized", 4, 32)


class OddOnes(packed_folder.Folder):
    """Tensors that do not fit a layout exactly are shown as stored."""

    def left_alone(self, parts):
        path = self.save("m.safetensors", {"fc": parts})
        done = scope.document("tree", path)
        self.assertEqual([one["name"] for one in done["tensors"] if one.get("derived")], [])
        self.assertEqual(len(done["tensors"]), len(parts))
        return path

    def test_nvfp4_without_a_part_or_with_one_more(self):
        codes, scale, whole, _ = nvfp4(32, 64)
        good = {"weight_packed": codes, "weight_scale": scale, "weight_global_scale": whole}
        for name in good:
            self.left_alone({key: value for key, value in good.items() if key != name})
        self.left_alone(good | {"weight_zero_point": torch.zeros(32, 4, dtype=torch.int8)})
        self.left_alone(good | {"weight_g_idx": torch.zeros(64, dtype=torch.int32)})
        self.left_alone(good | {"weight_global_scale": torch.ones(2)})
        self.left_alone(good | {"weight_global_scale": torch.ones(1, dtype=torch.float64)})
        for wrong in scale[:, :3], scale[:31], scale.float(), scale.t().contiguous():
            self.left_alone(good | {"weight_scale": wrong.contiguous()})
        self.left_alone(good | {"weight_packed": codes.view(torch.int8)})

    def test_groups_of_other_sizes(self):
        for group in 8, 16, 64:
            self.left_alone({"weight_packed": random_bytes(8, 64),
                             "weight_scale": exponents(8, 128 // group)})  # fmt: skip
        self.left_alone({"weight": random_bytes(8, 64).view(torch.float8_e4m3fn),
                         "weight_scale": exponents(8, 4)})  # fmt: skip

    def test_blocks_of_other_shapes(self):
        blocks, scales = random_bytes(2, 6, 4, 16), exponents(2, 6, 4)
        self.left_alone({"p_blocks": blocks})
        self.left_alone({"p_blocks": blocks, "q_scales": scales})
        self.left_alone({"p_blocks": blocks, "p_scales": scales[:, :5].contiguous()})
        self.left_alone({"p_blocks": blocks[..., :8].contiguous(), "p_scales": scales})
        self.left_alone({"p_blocks": blocks[0].clone(), "p_scales": scales[0].clone()})
        self.left_alone({"p_blocks": blocks.view(torch.int8), "p_scales": scales})

    def test_a_file_cut_short_has_no_real_weight(self):
        codes, scale, whole, _ = nvfp4(32, 64)
        path = self.save("m.safetensors",
                         {"fc": {"weight_packed": codes, "weight_scale": scale,
                                 "weight_global_scale": whole}})  # fmt: skip
        data = path.read_bytes()
        for size in len(data) - 1, len(data) - 400:
            path.write_bytes(data[:size])
            done = scope.run("tree", path, "--json")
            self.assertNotIn(b'"derived": true', done.stdout)
            json.loads(done.stdout)


if __name__ == "__main__":
    unittest.main()
