"""Weights packed in several tensors (GPTQ, AWQ, bitsandbytes, compressed-tensors, FP8 with
scales): shape and values of the real weight are those of formulas written here with torch,
and of bitsandbytes and compressed-tensors where they are installed."""

import json
import math
import unittest
from importlib.util import find_spec

import packed_folder
import scope
import torch
from safetensors.torch import load_file

import torchoscope

AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


def random_words(rows, columns):
    return torch.randint(-(2**31), 2**31, (rows, columns), dtype=torch.int32)


def stream(words, bits):
    """Codes of each row, which is a stream of bits."""
    places = torch.arange(32)
    ones = (words.long().unsqueeze(2) >> places & 1).flatten(1)
    ones = ones[:, :ones.shape[1] // bits * bits].reshape(len(words), -1, bits)
    return (ones << torch.arange(bits)).sum(2)


def gptq(into, out, bits, groups, dtype=torch.float16, shuffled=False):
    """Tensors of a module, and its real weight."""
    g_idx = torch.arange(into, dtype=torch.int32) // (into // groups)
    if shuffled:
        g_idx = g_idx[torch.randperm(into)]
    parts = {"qweight": random_words(into * bits // 32, out),
             "qzeros": random_words(groups, out * bits // 32),
             "scales": (torch.randn(groups, out) / 8).to(dtype), "g_idx": g_idx}  # fmt: skip
    codes = stream(parts["qweight"].t().contiguous(), bits).t()
    zeros = stream(parts["qzeros"], bits) + 1
    group = g_idx.long()
    real = (codes - zeros[group]).float() * parts["scales"].float()[group]
    return parts, real.t()


def awq(into, out, group):
    parts = {"qweight": random_words(into, out // 8),
             "qzeros": random_words(into // group, out // 8),
             "scales": (torch.randn(into // group, out) / 8).half()}  # fmt: skip

    def codes(words):
        nibbles = stream(words, 4).reshape(len(words), -1, 8)
        ordered = torch.empty_like(nibbles)
        for i, column in enumerate(AWQ_ORDER):
            ordered[:, :, column] = nibbles[:, :, i]
        return ordered.flatten(1)

    spread = [codes(parts["qzeros"]), parts["scales"].float()]
    zeros, scales = (one.repeat_interleave(group, 0) for one in spread)
    return parts, ((codes(parts["qweight"]) - zeros).float() * scales).t()


class Formulas(packed_folder.Folder):
    def test_gptq(self):
        for bits in (2, 3, 4, 8):
            for shuffled in (False, True):
                parts, real = gptq(256, 96, bits, 4, shuffled=shuffled)
                with self.subTest(bits=bits, shuffled=shuffled):
                    self.check(parts, real, "fc.weight", "GPTQ")

    def test_words_of_7_bits_are_not_read_as_8(self):
        """Old files put four codes of 7 bits into a word, as wide as four of 8."""
        parts = {"weight_packed": random_words(16, 32) & 0x0FFFFFFF,
                 "weight_scale": torch.rand(16, 1),
                 "weight_shape": torch.tensor([16, 128])}  # fmt: skip
        path = self.save("m.safetensors", {"fc": parts})
        names = [one["name"] for one in scope.document("tree", path)["tensors"]]
        self.assertNotIn("fc.weight", names)
        parts["weight_packed"] |= 7 << 28
        path = self.save("m.safetensors", {"fc": parts})
        names = [one["name"] for one in scope.document("tree", path)["tensors"]]
        self.assertIn("fc.weight", names)

    def real_with(self, parts, config):
        """The decoded weight beside a config.json, or None."""
        config = {"model_type": "llama", "quantization_config": config}
        (self.folder / "config.json").write_text(json.dumps(config))
        path = self.save("model.safetensors", {"fc": parts})
        names = [one["name"] for one in scope.document("tree", path)["tensors"]
                 if one.get("derived")]  # fmt: skip
        return torchoscope.open(path)[names[0]].values() if names else None

    def test_zero_points_of_gptq_by_configuration(self):
        """auto-round and gptqmodel also write zero points as they are."""
        parts, minus_one = gptq(64, 32, 4, 2)
        codes = stream(parts["qweight"].t().contiguous(), 4).t()
        group = parts["g_idx"].long()
        stored = (codes - stream(parts["qzeros"], 4)[group]).float()
        stored = (stored * parts["scales"].float()[group]).t()
        auto = {"quant_method": "auto-round", "bits": 4}
        for config, real in (
            ({"quant_method": "gptq", "bits": 4}, minus_one),
            ({"quant_method": "gptq", "checkpoint_format": "gptq"}, minus_one),
            ({"quant_method": "gptq", "checkpoint_format": "gptq_v2"}, stored),
            ({"quant_method": "gptq", "format": "gptq_v2"}, stored),
            ({"quant_method": "gptq", "format": "gptq_p"}, stored),
            (auto | {"packing_format": "auto_round:auto_gptq"}, minus_one),
            (auto | {"packing_format": "auto_round:gptq"}, minus_one),
            (auto | {"packing_format": "auto_round:gptqmodel"}, stored),
            (auto | {"packing_format": "auto_round:exllamav2"}, stored),
            ({"quant_method": "intel/auto-round", "backend": "autoround:exllamav2"}, stored),
        ):
            with self.subTest(config=config):
                self.assertTrue(torch.equal(self.real_with(parts, config), real))

    def test_planes_of_3_bits_are_left_alone(self):
        parts, real = gptq(64, 32, 3, 2)
        config = {"quant_method": "gptq", "bits": 3}
        self.assertTrue(torch.equal(self.real_with(parts, config), real))
        self.assertIsNone(self.real_with(parts, config | {"format": "gptq_p"}))

    def test_blocks_of_fp8_by_configuration(self):
        codes, scale = torch.randn(300, 200).to(torch.float8_e4m3fn), torch.rand(3, 2)
        for size in 128, 100:
            spread = scale.repeat_interleave(size, 0).repeat_interleave(size, 1)
            real = self.real_with({"weight": codes, "weight_scale_inv": scale},
                                  {"quant_method": "fp8", "weight_block_size": [size, size]})  # fmt: skip
            self.assertTrue(torch.equal(real, codes.float() * spread[:300, :200]))
        for odd in [64, 64], [128, 64], [0, 0], [-1, 128]:
            config = {"quant_method": "fp8", "weight_block_size": odd}
            parts = {"weight": codes, "weight_scale_inv": scale}
            self.assertIsNone(self.real_with(parts, config))

    def test_gptq_wider_than_a_window_and_without_groups_index(self):
        parts, real = gptq(64, 2080, 4, 2, torch.bfloat16)
        del parts["g_idx"]
        self.check(parts, real, "fc.weight", "GPTQ")

    def test_awq(self):
        for into, out, group in (128, 64, 32), (64, 3000, 64):
            with self.subTest(out=out):
                self.check(*awq(into, out, group), "fc.weight", "AWQ")

    def test_awq_for_gemv(self):
        """Rows of qzeros and scales are padded. The second one would fit GPTQ's shapes."""
        for into, out, group, words in (1024, 64, 64, 2), (256, 48, 32, 4), (128, 24, 128, 1):
            parts = {"qweight": random_words(out, into // 8), "qzeros": random_words(out, words),
                     "scales": torch.randn(out, words * 8).half()}  # fmt: skip
            groups = into // group
            codes, zeros = stream(parts["qweight"], 4), stream(parts["qzeros"], 4)[:, :groups]
            real = (codes - zeros.repeat_interleave(group, 1)).float()
            real *= parts["scales"].float()[:, :groups].repeat_interleave(group, 1)
            for version in "gemv", "GEMV":
                config = {"quant_method": "awq", "version": version, "group_size": group}
                self.assertTrue(torch.equal(self.real_with(parts, config), real))
            for group_size in 0, -1, group // 2 + 1, 1 << 40:
                config["group_size"] = group_size
                self.assertIsNone(self.real_with(parts, config))

    def test_int8(self):
        codes = torch.randint(-128, 128, (48, 1100), dtype=torch.int8)
        scale = torch.rand(48)
        self.check({"weight": codes, "SCB": scale},
                   codes.float() * scale[:, None] * 7.874015718698502e-3,
                   packing="bitsandbytes int8")  # fmt: skip
        for scale in torch.rand(1), torch.rand(48), torch.rand(48, 1), torch.rand(48, 11):
            spread = scale if len(scale) == 1 else scale.reshape(48, -1)
            width = 1100 // spread.shape[-1] if spread.dim() > 1 else 1
            real = codes.float() * spread.repeat_interleave(width, -1)
            self.check({"weight": codes, "weight_scale": scale}, real)

    def test_fp8(self):
        for kind in torch.float8_e4m3fn, torch.float8_e5m2:
            codes = torch.randn(300, 200).to(kind)
            scale = torch.rand(300, 1).bfloat16()
            self.check({"weight": codes, "weight_scale": scale},
                       codes.float() * scale.float())  # fmt: skip
            scale = torch.rand(3, 2)
            spread = scale.repeat_interleave(128, 0).repeat_interleave(128, 1)
            self.check({"weight": codes, "weight_scale_inv": scale},
                       codes.float() * spread[:300, :200])  # fmt: skip


@unittest.skipUnless(find_spec("bitsandbytes"), "bitsandbytes is not installed")
class Bitsandbytes(packed_folder.Folder):
    def test_four_bits(self):
        from bitsandbytes import functional

        for kind in "nf4", "fp4":
            for nested in False, True:
                for shape in (96, 128), (33, 65), (5, 4, 40):
                    weight = torch.randn(shape)
                    packed, state = functional.quantize_4bit(
                        weight, blocksize=64, quant_type=kind, compress_statistics=nested
                    )
                    parts = {f"weight.{name}": part.clone()
                             for name, part in state.as_dict(packed=True).items()}  # fmt: skip
                    real = functional.dequantize_4bit(packed, state)
                    with self.subTest(kind=kind, nested=nested, shape=shape):
                        path = self.check({"weight": packed, **parts}, real,
                                          packing=f"bitsandbytes {kind}")  # fmt: skip
                        info = scope.document("info", path)
                        self.assertEqual(info["counts"]["unique"], weight.numel())

    def test_diff_compares_the_real_values(self):
        from bitsandbytes import functional

        weight = torch.randn(64, 128)
        packed, state = functional.quantize_4bit(weight, blocksize=64, quant_type="nf4")
        parts = {f"weight.{name}": part.clone()
                 for name, part in state.as_dict(packed=True).items()}  # fmt: skip
        right = self.save("q.safetensors", {"fc": {"weight": packed, **parts}})
        left = self.save("f.safetensors", {"fc": {"weight": weight}})
        off = functional.dequantize_4bit(packed, state) - weight
        for sides in (left, right), (right, left):
            document = json.loads(scope.run("diff", *sides, "--json").stdout)
            self.assertEqual(document["counts"]["changed"], 1)
            [part] = [one for one in document["tensors"] if one["state"] == "changed"]
            self.assertAlmostEqual(part["max_abs"], off.abs().max().item(), 12)

    def test_int8(self):
        from bitsandbytes import functional

        codes, scale, _ = functional.int8_vectorwise_quant(torch.randn(40, 72).half())
        real = functional.int8_vectorwise_dequant(codes, scale)
        parts = {"weight": codes, "SCB": scale}
        path = self.check(parts | {"weight_format": torch.tensor(0, dtype=torch.uint8)},
                          real.float())  # fmt: skip
        self.assertEqual(scope.document("info", path)["counts"]["unique"], real.numel())


@unittest.skipUnless(find_spec("compressed_tensors"), "compressed-tensors is not installed")
class CompressedTensors(packed_folder.Folder):
    def test_packed(self):
        from compressed_tensors.compressors import PackedQuantizationCompressor
        from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme

        for bits in 2, 3, 4, 5, 8:
            for group, symmetric in (32, True), (32, False), (None, True), (None, False):
                args = QuantizationArgs(num_bits=bits, symmetric=symmetric, group_size=group,
                                        strategy="group" if group else "channel")  # fmt: skip
                scheme = QuantizationScheme(targets=["Linear"], weights=args)
                groups = 160 // group if group else 1
                half = 2 ** (bits - 1)
                zeros = torch.zeros(48, groups, dtype=torch.int8)
                if not symmetric:
                    zeros = torch.randint(-half, half, (48, groups), dtype=torch.int8)
                state = {"weight": torch.randn(48, 160),
                         "weight_scale": torch.rand(48, groups) / half + 0.01,
                         "weight_zero_point": zeros}  # fmt: skip
                packed = PackedQuantizationCompressor.compress(state, scheme)
                real = PackedQuantizationCompressor.decompress(packed, scheme)["weight"]
                with self.subTest(bits=bits, group=group, symmetric=symmetric):
                    self.check(packed, real, "fc.weight", "compressed-tensors")


class Commands(packed_folder.Folder):
    """Other commands on a file with packed weights."""

    def setUp(self):
        super().setUp()
        self.parts, self.real = gptq(64, 64, 4, 2)
        self.path = self.save("q.safetensors",
                              {"a": self.parts, "b": {"weight": torch.ones(3)}})  # fmt: skip

    def test_diff_gives_the_quantisation_error(self):
        before = self.real + 0.01 * torch.randn(64, 64)
        float_path = self.save("f.safetensors",
                               {"a": {"weight": before}, "b": {"weight": torch.ones(3)}})  # fmt: skip
        done = scope.run("diff", float_path, self.path, "--json")
        document = json.loads(done.stdout)
        [part] = [one for one in document["tensors"] if one["state"] == "changed"]
        off = (self.real - before).double()
        want = math.sqrt(((off**2).sum() / (before.double() ** 2).sum()).item())
        self.assertAlmostEqual(part["rel"], want, 9)
        self.assertAlmostEqual(part["max_abs"], off.abs().max().item(), 12)

    def test_counts_are_logical_and_bytes_are_stored_ones(self):
        counts = scope.document("info", self.path)["counts"]
        self.assertEqual(counts["unique"], 64 * 64 + 3)
        want = sum(one.numel() * one.element_size() for one in self.parts.values()) + 12
        self.assertEqual(counts["bytes"], want)

    def test_packed_parts_are_buffers(self):
        text = scope.run("info", self.path).stdout.decode()
        [line] = [one for one in text.splitlines() if one.startswith("buffers")]
        self.assertIn("in 4 tensors", line)
        self.assertNotIn("guessed", line)

    def test_export_and_convert_write_what_is_stored(self):
        for command in "export", "convert":
            to = self.folder / f"{command}.safetensors"
            done = scope.run(command, self.path, "-o", to)
            self.assertEqual(done.returncode, 0, done.stderr)
            got, want = load_file(to), load_file(self.path)
            self.assertEqual(got.keys(), want.keys())
            for name in want:
                self.assertTrue(torch.equal(got[name], want[name]), name)

    def test_check_is_safe_and_a_pickle_gives_the_same_values(self):
        self.assertEqual(scope.document("check", self.path, "--values")["verdict"], "safe")
        path = self.folder / "q.pth"
        torch.save(load_file(self.path), path)
        self.assertTrue(torch.equal(torchoscope.open(path)["a.weight"].values(), self.real))

    def test_a_file_cut_short_has_no_real_weight(self):
        data = self.path.read_bytes()
        cut = self.folder / "cut.safetensors"
        for size in range(len(data) - 1, len(data) - 40, -7):
            cut.write_bytes(data[:size])
            done = scope.run("tree", cut, "--json")
            self.assertIn(done.returncode, (0, 1, 2), done.stderr)
            self.assertNotIn(b'"derived": true', done.stdout)


if __name__ == "__main__":
    unittest.main()
