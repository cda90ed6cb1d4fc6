"""GGUF files: names, shapes and metadata equal those of gguf-py, and the values of
every quantised type are bit-identical."""

import hashlib
import json
import math
import shutil
import subprocess
import sys
import unittest

import gguf
import numpy
import torch
from gguf import GGMLQuantizationType as Type
from gguf import quants

import folder
import scope
import torchoscope

import gguf_files  # after scope, which knows the folder of samples

BLOCKS = 600
SIZES = gguf.constants.GGML_QUANT_SIZES


def same(left, right):
    """Equal bits; all NaN are alike."""
    equal = left.view(numpy.uint32) == right.view(numpy.uint32)
    return bool((equal | (numpy.isnan(left) & numpy.isnan(right))).all())


def halves(raw, at):
    return raw[:, at:at + 2].copy().view(numpy.float16).astype(numpy.float32)


def by_hand(raw, kind):
    """Decodes the types that gguf-py lacks, by the definition of their blocks."""
    if kind == "q8_1":
        return halves(raw, 0) * raw[:, 4:].view(numpy.int8).astype(numpy.float32)
    if kind == "q8_K":
        scale = raw[:, :4].copy().view(numpy.float32)
        return scale * raw[:, 4:260].view(numpy.int8).astype(numpy.float32)
    codes = numpy.unpackbits(raw[:, 2:], axis=1, bitorder="little").astype(numpy.float32)
    if kind == "q1_0":
        return halves(raw, 0) * (2 * codes - 1)
    pairs = codes.reshape(len(raw), -1, 2)  # q2_0
    return halves(raw, 0) * (pairs[:, :, 0] + 2 * pairs[:, :, 1] - 1)


def decoded(raw, kind):
    """`raw` has a block in each row."""
    with numpy.errstate(all="ignore"):
        if kind != "q2_0" and Type[kind.upper()] in quants._type_traits:
            return quants.dequantize(raw, Type[kind.upper()])
        return by_hand(raw, kind)


def random_blocks(size, seed):
    """All byte patterns, NaN and infinite scales among them."""
    raw = numpy.random.default_rng(seed).integers(0, 256, (BLOCKS, size), numpy.uint8)
    for i, edge in enumerate((0x00, 0xFF, 0x7C, 0xFC, 0x7E, 0x80, 0x01)):
        raw[i] = edge
    return raw


class Folder(folder.TemporaryFolder):
    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def write_gguf(self, name, tensors, **options):
        """{name: (array, type)} by gguf-py; blocks come as bytes."""
        path = self.folder / name
        writer = gguf.GGUFWriter(path, "llama", **options)
        writer.add_context_length(4096)
        for key, (array, kind) in tensors.items():
            writer.add_tensor(key, array, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path


class Decoding(Folder):
    def test_every_type_decodes_to_the_bits_of_ggml(self):
        tensors, wanted = {}, {}
        for kind in Type:
            if SIZES[kind][0] == 1 or kind == Type.Q8_1:
                continue
            raw = random_blocks(SIZES[kind][1], int(kind))
            name = f"blk.{int(kind)}.weight"
            tensors[name] = raw, kind
            shown = kind.name.lower().replace("_k", "_K")
            wanted[name] = decoded(raw, shown), shown
        self.assertGreater(len(wanted), 24)
        model = torchoscope.open(self.write_gguf("all.gguf", tensors))
        for name, (values, shown) in wanted.items():
            with self.subTest(type=shown):
                tensor = model[name]
                self.assertEqual(tensor.dtype, shown)
                self.assertEqual(tensor.bytes, tensors[name][0].nbytes)
                got = tensor.values().numpy()
                self.assertEqual(got.shape, values.shape)
                self.assertTrue(same(got, values))

    def test_types_that_gguf_py_does_not_know(self):
        """For q8_1 it has an old block size that no file uses."""
        for kind, number, elements, size in (("q8_1", 9, 32, 36), ("q2_0", 42, 64, 18)):
            raw = random_blocks(size, number)
            gguf_files.TYPES[kind] = (number, elements, size)
            data = gguf_files.gguf([("w", (BLOCKS, elements), kind, raw.tobytes())])
            tensor = torchoscope.open(self.write(f"{kind}.gguf", data))["w"]
            self.assertEqual(tensor.dtype, kind)
            self.assertTrue(same(tensor.values().numpy(), decoded(raw, kind)), kind)

    def test_the_grids_are_those_of_gguf_py(self):
        made = subprocess.run([sys.executable, scope.ROOT / "tools/ggml_grids.py"],
                              capture_output=True, check=True).stdout.decode()
        path = scope.ROOT / "src/measure/ggml/grids.c"
        self.assertEqual(path.read_text(), made)

    def test_big_endian_blocks(self):
        rng = numpy.random.default_rng(5)
        array = rng.normal(size=(4, 256)).astype(numpy.float32)
        little, big = {}, {}
        for kind, numbers in ((Type.Q8_0, [0]), (Type.Q4_0, [0]), (Type.Q4_1, [0, 2]),
                              (Type.F32, None)):
            raw = quants.quantize(array, kind)
            swapped = raw.copy() if numbers else raw
            size = SIZES[kind][1]
            for at in numbers or ():
                rows = swapped.reshape(-1, size)
                rows[:, at:at + 2] = rows[:, at:at + 2][:, ::-1]
            little[kind.name] = raw, kind
            big[kind.name] = swapped, kind
        left = torchoscope.open(self.write_gguf("little.gguf", little))
        path = self.write_gguf("big.gguf", big, endianess=gguf.GGUFEndian.BIG)
        right = torchoscope.open(path)
        self.assertIn("big-endian", [finding.code for finding in right.findings])
        for name in little:
            self.assertTrue(same(left[name].values().numpy(),
                                 right[name].values().numpy()), name)


class Views(Folder):
    """Every view of values shows the decoded ones."""

    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(3)
        self.array = rng.normal(0, 0.05, (40, 512)).astype(numpy.float32)
        raw = quants.quantize(self.array, Type.Q5_1)
        self.values = quants.dequantize(raw, Type.Q5_1)
        self.path = self.write_gguf("m.gguf", {
            "blk.0.ffn_up.weight": (raw, Type.Q5_1),
            "output_norm.weight": (self.array[0], Type.F32)})
        self.name = "blk.0.ffn_up.weight"

    def tensor(self, *arguments, command="stats"):
        for one in scope.document(command, self.path, *arguments)["tensors"]:
            if one["name"] == self.name:
                return one
        self.fail("no such tensor")

    def test_statistics_and_the_digest(self):
        got = self.tensor("--sha256", "--exact")
        self.assertEqual(got["sha256"],
                         hashlib.sha256(self.values.tobytes()).hexdigest())
        self.assertEqual(got["min"], float(self.values.min()))
        self.assertEqual(got["max"], float(self.values.max()))
        self.assertEqual(got["zeros"], int((self.values == 0).sum()))
        self.assertAlmostEqual(got["mean"], self.values.mean(dtype="f8"), places=12)
        self.assertAlmostEqual(got["std"], self.values.std(dtype="f8", ddof=1), places=12)
        self.assertEqual(got["bytes"], 40 * 512 // 32 * 24)
        self.assertEqual(got["numel"], self.values.size)

    def test_quantiles_histogram_and_cells(self):
        tensor = torchoscope.open(self.path)[self.name]
        for q, value in tensor.quantiles.items():
            self.assertAlmostEqual(value, numpy.quantile(self.values.astype("f8"), q), 12)
        bins = numpy.histogram(self.values.astype("f8"), 50)[0].tolist()
        self.assertEqual(tensor.histogram["bins"], bins)

    def test_a_slice_that_begins_inside_a_block(self):
        done = scope.document("show", self.path, self.name, "--slice", "7:9,29:37")
        cells = numpy.array(done["tensor"]["slice"]["values"], numpy.float32)
        self.assertEqual(cells.tolist(), self.values[7:9, 29:37].flatten().tolist())

    def test_export_writes_float32(self):
        from safetensors.torch import load_file

        out = self.folder / "out.safetensors"
        done = scope.run("export", self.path, "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        got = load_file(out)[self.name]
        self.assertEqual(got.dtype, torch.float32)
        self.assertTrue(same(got.numpy(), self.values))

    def test_diff_reports_the_quantisation_error(self):
        pth = self.folder / "m.pth"
        torch.save({self.name: torch.from_numpy(self.array),
                    "output_norm.weight": torch.from_numpy(self.array[0])}, pth)
        done = scope.run("diff", pth, self.path, "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(document["counts"]["same"], 1)
        self.assertEqual(document["counts"]["retyped"], 1)
        [part] = [part for part in document["parts"] if part["differ"]]
        off = self.values.astype("f8") - self.array
        want = math.sqrt((off ** 2).sum() / (self.array.astype("f8") ** 2).sum())
        self.assertAlmostEqual(part["rel"], want, 9)
        self.assertAlmostEqual(part["max_abs"], abs(off).max(), 12)

    def test_check_reports_safe(self):
        done = scope.document("check", self.path, "--values")
        self.assertEqual(done["verdict"], "safe")
        self.assertEqual(done["status"], 0)


class Headers(Folder):
    def check_against(self, path, reader):
        """Names, shapes, bytes and metadata are those of gguf-py."""
        tree = scope.document("tree", path)
        got = {one["name"]: one for one in tree["tensors"]}
        self.assertEqual(set(got), {one.name for one in reader.tensors})
        for one in reader.tensors:
            shape = [int(size) for size in reversed(one.shape)]
            self.assertEqual(got[one.name]["shape"], shape)
            self.assertEqual(got[one.name]["bytes"], one.n_bytes)
        metadata = scope.document("info", path)["metadata"]
        fields = [name for name in reader.fields if not name.startswith("GGUF.")]
        self.assertEqual(list(metadata), fields)
        for name in fields:
            self.check_field(metadata[name], reader.fields[name].contents(), name)

    def check_field(self, got, want, name):
        if not isinstance(want, list) or len(want) <= 64:
            if isinstance(want, float):
                self.assertEqual(numpy.float32(got), numpy.float32(want), name)
            else:
                self.assertEqual(got, want, name)
            return
        text = json.dumps(got)
        self.assertIn(str(len(want)), text, name)
        self.assertLess(len(text), 4000, name)

    @unittest.skipUnless(scope.MODELS.is_dir(), "no folder of real models")
    def test_real_files(self):
        paths = sorted(scope.MODELS.glob("gguf/*.gguf"))
        self.assertTrue(paths)
        for path in paths:
            with self.subTest(file=path.name):
                self.check_against(path, gguf.GGUFReader(path))

    def test_samples_are_read_like_gguf_py_does(self):
        samples, _ = scope.samples()
        for name in ("small.gguf", "aligned.gguf"):
            with self.subTest(file=name):
                self.check_against(samples / name, gguf.GGUFReader(samples / name))

    def test_file_types_have_the_names_of_llama_cpp(self):
        for kind in gguf.LlamaFileType:
            if kind == gguf.LlamaFileType.GUESSED:
                continue
            entries = [("general.architecture", gguf_files.TEXT, "llama"),
                       ("general.file_type", gguf_files.U32, int(kind))]
            path = self.write("t.gguf", gguf_files.gguf([], entries))
            said = scope.run("info", path).stdout.decode()
            name = kind.name.split("_", 1)[1].replace("_MOE", "")
            self.assertIn(f"file type {name}\n", said)


class Split(Folder):
    def setUp(self):
        super().setUp()
        writer = gguf.GGUFWriter(self.folder / "m.gguf", "llama", split_max_tensors=2)
        writer.add_name("whole")
        self.names = [f"blk.{i}.attn_q.weight" for i in range(5)]
        for i, name in enumerate(self.names):
            writer.add_tensor(name, numpy.full((2, 32), i, numpy.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        self.parts = sorted(self.folder.glob("m-*-of-00003.gguf"))
        self.assertEqual(len(self.parts), 3)

    def check_whole(self, path):
        document = scope.document("stats", path)
        self.assertEqual([one["name"] for one in document["tensors"]], self.names)
        self.assertEqual([one["max"] for one in document["tensors"]], [0, 1, 2, 3, 4])
        self.assertFalse(document["partial"])
        info = scope.document("info", path)
        self.assertEqual(len(info["files"]), 3)
        self.assertEqual(info["bytes"], sum(part.stat().st_size for part in self.parts))
        self.assertEqual(info["metadata"]["general.name"], "whole")

    def test_a_folder_or_any_part_opens_the_whole(self):
        for path in [self.folder, *self.parts]:
            with self.subTest(path=path.name):
                self.check_whole(path)

    def test_a_missing_part_is_a_finding(self):
        self.parts[1].unlink()
        for path in (self.folder, self.parts[2]):
            done = scope.run("tree", path, "--json")
            self.assertEqual(done.returncode, 1)
            document = json.loads(done.stdout)
            self.assertEqual([one["code"] for one in document["findings"]],
                             ["missing-shard"])
            self.assertIn("1 of 3 shards are missing: 2",
                          document["findings"][0]["text"])
            self.assertEqual(len(document["tensors"]), 3)

    def test_a_part_with_another_name_is_reported(self):
        alone = self.folder / "alone"
        alone.mkdir()
        shutil.copy(self.parts[1], alone / "x.gguf")
        document = json.loads(scope.run("tree", alone / "x.gguf", "--json").stdout)
        self.assertIn("part 2 of 3", document["findings"][0]["text"])


if __name__ == "__main__":
    unittest.main()
