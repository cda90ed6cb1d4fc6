"""Weights of torchao: its tensor subclasses pickled by torch.save, and flattened into
safetensors. Shape and values are those of torchao's dequantize() where it has one. The
subclasses of torchao before 0.15, which newer ones no longer have, are made here."""

import json
import sys
import types
import unittest
import warnings
from importlib.util import find_spec
from unittest import mock

import packed_folder
import scope
import torch
from safetensors.torch import save_file

import torchoscope


class Subclass(torch.Tensor):
    """A wrapper subclass with attributes, pickled as torch pickles any."""

    @staticmethod
    def __new__(cls, shape, dtype=torch.bfloat16, **attributes):
        made = torch.Tensor._make_wrapper_subclass(cls, shape, dtype=dtype)
        made.__dict__.update(attributes)
        return made

    @classmethod
    def __torch_dispatch__(cls, function, kinds, args=(), kwargs=None):
        return args[0] if args[0].__class__ is cls else function(*args, **(kwargs or {}))


class ZeroPointDomain:
    def __init__(self, number):
        self.number = number

    def __reduce__(self):
        return type(self), (self.number,)


class Files(packed_folder.Folder):
    def named(self, path, kind=Subclass):
        """A class of this full name, which pickled() makes importable."""
        module, name = path.rsplit(".", 1)
        made = type(name, (kind,), {"__module__": module, "__qualname__": name})
        words = module.split(".")
        for n in range(1, len(words) + 1):
            part = ".".join(words[:n])
            self.modules.setdefault(part, types.ModuleType(part))
        return self.modules[module].__dict__.setdefault(name, made)

    def setUp(self):
        super().setUp()
        self.modules = {}

    def pickled(self, weight):
        path = self.folder / "m.pt"
        with mock.patch.dict(sys.modules, self.modules):
            torch.save({"fc.weight": weight, "fc.bias": torch.ones(3)}, path)
        return path

    def check_pickled(self, weight, real, packing, bits=8):
        path = self.pickled(weight)
        got = torchoscope.open(path)["fc.weight"].values()
        self.assertEqual(got.dtype, torch.float32)
        self.assertTrue(torch.equal(got, real), (got - real).abs().max())
        shown = scope.document("show", path, "fc.weight")["tensor"]
        self.assertTrue(shown["derived"])
        self.assertEqual(shown["bytes"], 0)
        self.assertEqual(shown["layout"], "wrapped")
        self.assertEqual(shown["extra"]["packing"], packing)
        self.assertEqual(shown["extra"]["bits"], bits)
        self.assertEqual(shown["extra"]["dtype"], "bfloat16")
        text = scope.run("show", path, "fc.weight").stdout
        self.assertIn(b"its values are computed from its parts", text)
        [mine] = [one for one in scope.document("stats", path)["tensors"]
                  if one["name"] == "fc.weight"]  # fmt: skip
        self.assertEqual(mine["min"], real.min().item())
        counts = scope.document("info", path)["counts"]
        self.assertEqual(counts["unique"], real.numel() + 3)
        return path

    def left_alone(self, path):
        done = scope.document("tree", path)
        self.assertEqual([one["name"] for one in done["tensors"] if one.get("derived")], [])
        return done


class Affine(Files):
    """AffineQuantizedTensor: its tensor_impl has int_data, scale and zero_point."""

    def affine(self, codes, scale, zero, blocks, domain=1, impl="PlainAQTTensorImpl", **more):
        dtypes = "torchao.dtypes"
        impl_class = self.named(f"{dtypes}.uintx.plain_layout.{impl}")
        tensor = self.named(f"{dtypes}.affine_quantized_tensor.AffineQuantizedTensor")
        of = self.named("torchao.quantization.quant_primitives.ZeroPointDomain",
                        ZeroPointDomain)  # fmt: skip
        name = "float8_data" if codes.is_floating_point() else "int_data"
        inner = impl_class(codes.shape, codes.dtype, **{name: codes}, scale=scale,
                           zero_point=zero, **more.pop("inner", {}))  # fmt: skip
        return tensor(more.pop("shape", codes.shape), tensor_impl=inner, block_size=blocks,
                      zero_point_domain=of(domain), **more)  # fmt: skip

    def test_int8_by_rows_and_by_groups(self):
        codes = torch.randint(-128, 128, (24, 96), dtype=torch.int8)
        scale = torch.rand(24).bfloat16()
        zero = torch.randint(-3, 4, (24,))
        real = (codes - zero[:, None]).float() * scale.float()[:, None]
        weight = self.affine(codes, scale, zero, (1, 96), quant_min=None, quant_max=None)
        self.check_pickled(weight, real, "torchao affine")
        scale, zero = torch.rand(24, 3), torch.randint(-3, 4, (24, 3))
        real = (codes.unflatten(1, (3, 32)) - zero[..., None]).float() * scale[..., None]
        weight = self.affine(codes, scale, zero, (1, 32), quant_min=-8, quant_max=7)
        path = self.check_pickled(weight, real.flatten(1), "torchao affine", bits=4)
        shown = scope.document("show", path, "fc.weight")["tensor"]
        self.assertEqual(shown["extra"]["group_size"], 32)

    def test_float8(self):
        codes = torch.randn(24, 96).to(torch.float8_e4m3fn)
        scale = torch.rand(24).bfloat16()
        weight = self.affine(codes, scale, None, (1, 96), 3, "Float8AQTTensorImpl",
                             inner={"transposed": False})  # fmt: skip
        real = codes.float() * scale.float()[:, None]
        self.check_pickled(weight, real, "torchao float8")
        weight = self.affine(codes, scale, None, (1, 96), 3, "Float8AQTTensorImpl",
                             inner={"transposed": True})  # fmt: skip
        self.left_alone(self.pickled(weight))

    def test_with_dynamic_activations(self):
        codes = torch.randint(-8, 8, (24, 96), dtype=torch.int8)
        scale = torch.rand(24, 3)
        weight = self.affine(codes, scale, torch.zeros(24, 3), (1, 32), quant_min=-8,
                             quant_max=7)  # fmt: skip
        outer = self.named("torchao.quantization.linear_activation_quantized_tensor."
                           "LinearActivationQuantizedTensor")  # fmt: skip
        real = codes.float() * scale.repeat_interleave(32, 1)
        self.check_pickled(outer(codes.shape, original_weight_tensor=weight), real,
                           "torchao affine", bits=4)  # fmt: skip

    def test_unsupported_attributes_are_left_alone(self):
        codes = torch.randint(-8, 8, (24, 96), dtype=torch.int8)
        scale, zero = torch.rand(24, 3), torch.zeros(24, 3)
        for weight in (
            self.affine(codes, scale, zero, (1, 32), domain=2),  # zero points are floats
            self.affine(codes, scale, zero, (1, 16)),
            self.affine(codes, scale, zero, (1, 33)),
            self.affine(codes, scale, zero, (0, 32)),
            self.affine(codes, scale, zero, (1, 1, 32)),
            self.affine(codes, scale, zero[:, :2].contiguous(), (1, 32)),
            self.affine(codes, scale.t().contiguous(), zero, (1, 32)),
            self.affine(codes.t(), scale, zero, (1, 32)),
            self.affine(codes, scale, zero, (1, 32), shape=(96, 24)),
            self.affine(codes, scale, zero, (1, 32), impl="MarlinSparseAQTTensorImpl"),
        ):
            self.left_alone(self.pickled(weight))

    def test_the_other_commands(self):
        codes = torch.randint(-128, 128, (24, 96), dtype=torch.int8)
        scale = torch.rand(24).bfloat16() / 128
        path = self.pickled(self.affine(codes, scale, None, (1, 96), 3))
        real = codes.float() * scale.float()[:, None]
        before = self.folder / "before.pt"
        torch.save({"fc.weight": real + 0.01, "fc.bias": torch.ones(3)}, before)
        document = json.loads(scope.run("diff", before, path, "--json").stdout)
        [part] = [one for one in document["tensors"] if one["state"] == "changed"]
        self.assertEqual(part["name"], "fc.weight")
        self.assertAlmostEqual(part["max_abs"], 0.01, 6)
        done = scope.run("convert", path, "-o", self.folder / "c.safetensors")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"computed from the parts below it", done.stderr)
        to = self.folder / "e.safetensors"
        self.assertEqual(scope.run("export", path, "-o", to).returncode, 0)
        self.assertNotIn(b'"fc.weight":', to.read_bytes())
        self.assertIn(b'"fc.weight.tensor_impl.int_data":', to.read_bytes())


@unittest.skipUnless(find_spec("torchao"), "torchao is not installed")
class Torchao(Files):
    @classmethod
    def setUpClass(cls):
        warnings.simplefilter("ignore")
        from torchao import quantization

        cls.ao = quantization

    def quantised(self, config, out=48, into=96):
        module = torch.nn.Linear(into, out, dtype=torch.bfloat16)
        self.ao.quantize_(module, config)
        return module.weight.data

    def real(self, weight):
        """In float32, of which dequantize() is the rounding."""
        kinds = {"Int8Tensor", "Float8Tensor", "IntxUnpackedToInt8Tensor"}
        self.assertIn(type(weight).__name__, kinds)
        codes = weight.qdata.float()
        zero = getattr(weight, "zero_point", None)
        for i, size in enumerate(weight.block_size):
            codes = codes.unflatten(2 * i, (-1, size))
        scale = weight.scale.float().reshape(*codes.shape[::2])
        shift = 0 if zero is None else zero.float().reshape(scale.shape)[:, None, :, None]
        real = ((codes - shift) * scale[:, None, :, None]).reshape(weight.shape)
        rounded = weight.dequantize()
        self.assertTrue(torch.allclose(real.to(rounded.dtype), rounded, rtol=2**-7, atol=0))
        return real

    def configs(self):
        from torchao.quantization import PerGroup, PerRow, PerTensor

        yield self.ao.Int8WeightOnlyConfig(), "torchao int8", 8
        yield self.ao.Int8DynamicActivationInt8WeightConfig(), "torchao int8", 8
        for grain in PerRow(), PerTensor():
            config = self.ao.Float8WeightOnlyConfig(granularity=grain)
            yield config, "torchao float8", 8
        for bits in 2, 4, 8:
            kind = getattr(torch, f"int{bits}")
            config = self.ao.IntxWeightOnlyConfig(weight_dtype=kind, granularity=PerGroup(32))
            yield config, "torchao intx", bits

    def test_pickled_and_in_safetensors(self):
        for config, packing, bits in self.configs():
            with self.subTest(config=config):
                weight = self.quantised(config)
                real = self.real(weight)
                self.check_pickled(weight, real, packing, bits)
                self.check_flat(weight, real, packing, bits)

    def flatten(self, weight):
        from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict

        path = self.folder / "flat.safetensors"
        tensors, metadata = flatten_tensor_state_dict(
            {"a.fc.weight": weight, "a.fc.bias": torch.ones(3)}
        )
        save_file(tensors, path, metadata=metadata)
        return path, tensors, metadata

    def check_flat(self, weight, real, packing, bits):
        path, _, _ = self.flatten(weight)
        got = torchoscope.open(path)["a.fc.weight"].values()
        self.assertTrue(torch.equal(got, real))
        shown = scope.document("show", path, "a.fc.weight")["tensor"]
        self.assertEqual(shown["extra"]["packing"], packing)
        self.assertEqual(shown["extra"]["bits"], bits)
        counts = scope.document("info", path)["counts"]
        self.assertEqual(counts["unique"], real.numel() + 3)

    def test_int4(self):
        """As FBGEMM quantises, of which torchao's packing needs a GPU: codes around 0, and
        zero points that are values. Off by half a step at most."""
        for out, into, group in (48, 256, 64), (16, 2304, 128):
            weight = torch.randn(out, into)
            groups = weight.unflatten(1, (-1, group))
            least, most = groups.amin(2, True), groups.amax(2, True)
            step = (most - least) / 15
            codes = ((groups - least) / step).round().clamp(0, 15).to(torch.int8) - 8
            codes = codes.flatten(1)
            packed = ((codes[:, 1::2] << 4) | (codes[:, ::2] & 15)).to(torch.int8)
            scale = step.squeeze(2).t().contiguous().bfloat16()
            zero = (least + 8 * step).squeeze(2).t().contiguous().bfloat16()
            tensor = self.ao.Int4Tensor(packed, scale, zero, [1, group], weight.shape)
            real = codes.float().unflatten(1, (-1, group))
            real = real * scale.float().t()[..., None] + zero.float().t()[..., None]
            real = real.flatten(1)
            self.assertLess(((real - weight).abs() - step.max() / 2).max(), 0.05)
            self.check_pickled(tensor, real, "torchao int4", 4)
            self.check_flat(tensor, real, "torchao int4", 4)

    def test_states_of_optimizers(self):
        from torchao.optim.subclass_4bit import OptimState4bit
        from torchao.optim.subclass_8bit import OptimState8bit
        from torchao.optim.subclass_fp8 import OptimStateFp8

        signed = [torch.randn(64, 144), torch.rand(64, 144)]
        for kind, sign in ((OptimState4bit, True), (OptimState8bit, True),
                           (OptimState8bit, False), (OptimStateFp8, None)):  # fmt: skip
            settings = [] if sign is None else [sign]
            state = kind.zeros((64, 144), *settings, 128, "cpu")
            state.copy_(signed[sign is False])
            path = self.folder / "o.pt"
            torch.save({"state": {0: {"exp_avg": state}}}, path)
            with self.subTest(kind=kind, sign=sign):
                shown = scope.document("show", path, "state.0.exp_avg")["tensor"]
                self.assertEqual(shown["extra"]["bits"], 4 if kind is OptimState4bit else 8)
                self.assertEqual(shown["extra"]["group_size"], 128)
                got = torchoscope.open(path)["state.0.exp_avg"].values()
                self.assertTrue(torch.equal(got, state.dequantize()))
                self.assertGreater(got.unique().numel(), 100)

    def test_int8_training(self):
        from torchao.prototype.quantized_training.int8 import Int8QuantizedTrainingLinearWeight

        weight = Int8QuantizedTrainingLinearWeight.from_float(torch.randn(40, 96))
        got = torchoscope.open(self.pickled(weight))["fc.weight"].values()
        self.assertTrue(torch.equal(got, weight.dequantize()))

    def test_states_that_do_not_fit_are_left_alone(self):
        good = {"codes": torch.randint(0, 256, (64, 128), dtype=torch.uint8),
                "scale": torch.rand(64), "qmap": torch.rand(256)}  # fmt: skip
        kind = self.named("torchao.optim.subclass_8bit.OptimState8bit")
        for change in (
            {"qmap": torch.rand(255)},
            {"qmap": torch.rand(16)},
            {"qmap": torch.rand(256).double()},
            {"scale": torch.rand(63)},
            {"codes": good["codes"].view(torch.int8)},
            {"codes": good["codes"][:32].clone()},
        ):
            self.left_alone(self.pickled(kind((64, 128), **good | change)))
        path = self.pickled(kind((64, 128), **good))
        real = good["qmap"][good["codes"].long()] * good["scale"][:, None]
        self.assertTrue(torch.equal(torchoscope.open(path)["fc.weight"].values(), real))

    def test_mx(self):
        from torchao.prototype.mx_formats.mx_tensor import MXTensor

        kinds = {torch.float8_e4m3fn: 8, torch.float8_e5m2: 8, "fp6_e2m3": 6, "fp6_e3m2": 6,
                 torch.float4_e2m1fn_x2: 4}  # fmt: skip
        for kind, bits in kinds.items():
            for shape, block, tiled in (
                ((48, 256), 32, False),
                ((48, 256), 16, False),
                ((48, 256), 32, True),
                ((300, 1312), 32, True),
                ((2, 128, 128), 32, True),
                ((3, 40, 256), 32, False),
            ):
                weight = torch.randn(shape, dtype=torch.bfloat16)
                weight *= torch.exp2(torch.randint(-20, 20, (*shape[:-1], 1)))
                weight = MXTensor.to_mx(weight, kind, block, is_swizzled_scales=tiled)
                real = weight.dequantize(torch.float32)
                with self.subTest(kind=kind, shape=shape, block=block, tiled=tiled):
                    path = self.check_pickled(weight, real, "torchao MX", bits)
                    self.check_flat(weight, real, "torchao MX", bits)
                    shown = scope.document("show", path, "fc.weight")["tensor"]
                    self.assertEqual(shown["extra"]["group_size"], block)

    def test_nvfp4(self):
        from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor

        for shape, tiled in (
            ((48, 256), False),
            ((48, 256), True),
            ((260, 1104), True),
            ((3, 128, 64), True),
            ((3, 40, 256), False),
        ):
            weight = torch.randn(shape, dtype=torch.bfloat16)
            wholes = [None, weight.float().abs().max() / 2688]
            if len(shape) == 3:
                wholes.append(weight.float().abs().amax((1, 2), keepdim=True) / 1000)
            for whole in wholes:
                packed = NVFP4Tensor.to_nvfp4(weight, per_tensor_scale=whole,
                                              is_swizzled_scales=tiled)  # fmt: skip
                real = packed.dequantize(torch.float32)
                with self.subTest(shape=shape, tiled=tiled, whole=whole):
                    self.check_pickled(packed, real, "torchao NVFP4", 4)
                    self.check_flat(packed, real, "torchao NVFP4", 4)

    def test_mx_that_does_not_fit_is_left_alone(self):
        from torchao.prototype.mx_formats.mx_tensor import MXTensor

        weight = MXTensor.to_mx(torch.randn(48, 256), torch.float8_e4m3fn, 32)
        path, tensors, metadata = self.flatten(weight)
        said = json.loads(metadata["a.fc.weight"])
        for change in (
            {"elem_dtype": "fp6_e2m3"},
            {"elem_dtype": "fp6_e9m9"},
            {"elem_dtype": None},
            {"block_size": 16},
            {"block_size": 0},
            {"block_size": -32},
            {"block_size": 1 << 62},
            {"block_size": [1, 32]},
            {"is_swizzled_scales": True},
        ):
            changed = {**said, "_data": {**said["_data"], **change}}
            save_file(tensors, path, {**metadata, "a.fc.weight": json.dumps(changed)})
            self.left_alone(path)
        self.left_alone(self.pickled(weight.t()))

    def test_layouts_of_one_processor_are_shown_as_stored(self):
        """int4 in the tiles of tensor cores: NVIDIA's and AMD's differ in a way that a file
        does not say. The shape is known, the values are not."""
        tiles = torch.randint(-(2**31), 2**31, (8, 8, 32, 4), dtype=torch.int32)
        scales = torch.rand(32, 64, 2).bfloat16()
        weight = self.ao.Int4TilePackedTo4dTensor(tiles, scales, [1, 32], (64, 1024))
        path = self.pickled(weight)
        self.left_alone(path)
        self.assertEqual(scope.document("info", path)["counts"]["unique"], 64 * 1024 + 3)
        path, _, _ = self.flatten(weight)
        self.left_alone(path)
        text = scope.run("info", path).stdout.decode()
        self.assertIn("1 packed weight in a layout that is not supported", text)

    def test_metadata_that_does_not_fit(self):
        weight = self.quantised(self.ao.Int8WeightOnlyConfig())
        path, tensors, metadata = self.flatten(weight)
        said = json.loads(metadata["a.fc.weight"])
        for change in (
            {"_type": "Int4Tensor"},
            {"_type": "MXTensor"},
            {"_type": 8},
            {"_data": {"block_size": [1, 48]}},
            {"_data": {"block_size": [48, 1]}},
            {"_data": {"block_size": [1]}},
            {"_data": {"block_size": [1] * 9}},
            {"_data": {"block_size": [1, -96]}},
            {"_data": {"block_size": "1, 96"}},
            {"_data": None},
        ):
            save_file(tensors, path, {**metadata, "a.fc.weight": json.dumps(said | change)})
            self.left_alone(path)
        for text in "", "{", "[]", "8", "[" * 100_000:
            save_file(tensors, path, {**metadata, "a.fc.weight": text})
            self.left_alone(path)
        save_file(tensors, path)
        self.left_alone(path)


if __name__ == "__main__":
    unittest.main()
