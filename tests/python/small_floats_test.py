"""Types of 4, 6 and 8 bits in safetensors files: every code has the value that its type
defines, in statistics, histograms, slices, values and hashes; and files of the
safetensors package and torch are read. The values come from tables computed here from
the published layouts: sign, exponent, mantissa, bias and special codes."""

import hashlib
import json
import math
import struct
import unittest
from fractions import Fraction

import folder
import safetensors
import scope
import torch
from safetensors.torch import load_file, save_file

import torchoscope

# Code of safetensors: bits of exponent and mantissa, bias, and what is special. "ieee": the
# highest exponent is infinity or NaN. "fn": all ones is NaN. "fnuz": the code of -0 is NaN.
KINDS = {
    "F4": (2, 1, 1, "finite"),
    "F6_E2M3": (2, 3, 1, "finite"),
    "F6_E3M2": (3, 2, 3, "finite"),
    "F8_E4M3": (4, 3, 7, "fn"),
    "F8_E5M2": (5, 2, 15, "ieee"),
    "F8_E4M3FNUZ": (4, 3, 8, "fnuz"),
    "F8_E5M2FNUZ": (5, 2, 16, "fnuz"),
}
TORCH = {
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "F8_E8M0": torch.float8_e8m0fnu,
    "F8_E4M3FNUZ": torch.float8_e4m3fnuz,
    "F8_E5M2FNUZ": torch.float8_e5m2fnuz,
}
# The largest finite value and the smallest above zero, from the publications.
LIMITS = {
    "F4": (6, 0.5),
    "F6_E2M3": (7.5, 0.125),
    "F6_E3M2": (28, 0.0625),
    "F8_E4M3": (448, 2**-9),
    "F8_E5M2": (57344, 2**-16),
    "F8_E8M0": (2.0**127, 2.0**-127),
    "F8_E4M3FNUZ": (240, 2**-10),
    "F8_E5M2FNUZ": (57344, 2**-17),
}


def number(kind, code):
    if kind == "F8_E8M0":
        return math.nan if code == 255 else 2.0 ** (code - 127)
    exponent_bits, mantissa_bits, bias, special = KINDS[kind]
    sign = -1 if code >> exponent_bits + mantissa_bits else 1
    exponent = code >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = code & (1 << mantissa_bits) - 1
    ones = exponent == (1 << exponent_bits) - 1
    if special == "fnuz" and sign < 0 and exponent == mantissa == 0:
        return math.nan
    if special == "fn" and ones and mantissa == (1 << mantissa_bits) - 1:
        return math.nan
    if special == "ieee" and ones:
        return math.nan if mantissa else sign * math.inf
    part = Fraction(mantissa, 1 << mantissa_bits)
    if exponent == 0:
        return sign * float(part * Fraction(2) ** (1 - bias))
    return sign * float((1 + part) * Fraction(2) ** (exponent - bias))


def bits_of(kind):
    return 8 if kind == "F8_E8M0" else 1 + sum(KINDS[kind][:2])


def table(kind):
    return [number(kind, code) for code in range(1 << bits_of(kind))]


def pack(codes, bits):
    """The first code in the lowest bits of the first byte."""
    whole = sum(code << i * bits for i, code in enumerate(codes))
    return whole.to_bytes(len(codes) * bits // 8, "little")


def write(path, kind, shape, data):
    header = {"t": {"dtype": kind, "shape": shape, "data_offsets": [0, len(data)]}}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path



class SmallFloats(folder.TemporaryFolder):
    def every_kind(self):
        """Files with every code once: [(code of the type, numbers, bytes, path)]."""
        made = []
        for kind in LIMITS:
            numbers = table(kind)
            data = pack(range(len(numbers)), bits_of(kind))
            path = write(self.folder / f"{kind}.safetensors", kind, [4, len(numbers) // 4], data)
            made.append((kind, numbers, data, path))
        return made

    def show(self, path, *options):
        return scope.document("show", path, "t", *options)["tensor"]

    def test_the_tables_have_the_published_limits(self):
        for kind, (most, least) in LIMITS.items():
            finite = [x for x in table(kind) if math.isfinite(x)]
            self.assertEqual(max(finite), most, kind)
            self.assertEqual(min(x for x in finite if x > 0), least, kind)

    def test_statistics(self):
        for kind, numbers, _, path in self.every_kind():
            [stats] = scope.document("stats", path)["tensors"]
            finite = [x for x in numbers if math.isfinite(x)]
            mean = math.fsum(finite) / len(finite)
            self.assertEqual(stats["count"], len(numbers))
            self.assertEqual(stats["nan"], sum(map(math.isnan, numbers)))
            self.assertEqual(stats["pos_inf"], numbers.count(math.inf))
            self.assertEqual(stats["neg_inf"], numbers.count(-math.inf))
            self.assertEqual(stats["zeros"], numbers.count(0))
            self.assertEqual((stats["min"], stats["max"]), (min(finite), max(finite)))
            self.assertAlmostEqual(stats["mean"] / max(finite), mean / max(finite), 7)
            squares = math.fsum(Fraction(x) ** 2 for x in finite)
            self.assertAlmostEqual(stats["l2"] / math.sqrt(squares), 1, 6)

    def test_values_and_slices(self):
        for kind, numbers, _, path in self.every_kind():
            row = len(numbers) // 4
            for r in range(4):
                shown = self.show(path, "--slice", f"{r},:")["slice"]
                got = [math.nan if x is None else float(x) for x in shown["values"]]
                for mine, want in zip(got, numbers[r * row : r * row + row], strict=True):
                    same = mine == want or mine != mine and want != want
                    self.assertTrue(same, (kind, mine, want))

    def test_histogram(self):
        for kind, numbers, _, path in self.every_kind():
            shown = self.show(path, "--hist", "8")["histogram"]
            finite = [x for x in numbers if math.isfinite(x)]
            low, high = shown["min"], shown["max"]
            want = [0] * 8
            for x in finite:
                want[min(int((x - low) / (high - low) * 8), 7)] += 1
            self.assertEqual((low, high), (min(finite), max(finite)))
            self.assertEqual(shown["bins"], want)

    def test_hash_is_that_of_the_bytes(self):
        for _, _, data, path in self.every_kind():
            shown = self.show(path, "--sha256")
            self.assertEqual(shown["sha256"], hashlib.sha256(data).hexdigest())

    def test_python_values(self):
        for kind, numbers, _, path in self.every_kind():
            tensor = torchoscope.open(path)["t"]
            got = tensor.values()
            self.assertEqual(got.dtype, TORCH.get(kind, torch.float32))
            want = torch.tensor(numbers, dtype=torch.float64).reshape(4, -1)
            same = (got.double() == want) | (got.double().isnan() & want.isnan())
            self.assertTrue(same.all())

    def test_packed_pairs_of_torch(self):
        """torch packs two 4-bit numbers into one element; the file counts them
        separately."""
        path = self.folder / "pairs.safetensors"
        codes = torch.arange(256, dtype=torch.uint8).reshape(16, 16)
        save_file({"t": codes.view(torch.float4_e2m1fn_x2)}, path)
        [one] = scope.document("tree", path)["tensors"]
        self.assertEqual((one["dtype"], one["shape"]), ("float4_e2m1", [16, 32]))
        want = torch.tensor(table("F4"))[torch.stack([codes & 15, codes >> 4], -1).long()]
        self.assertTrue(torch.equal(torchoscope.open(path)["t"].values(), want.flatten(1)))

    def test_files_of_torch(self):
        for kind, dtype in TORCH.items():
            path = self.folder / "torch.safetensors"
            codes = torch.arange(256, dtype=torch.uint8)
            save_file({"t": codes.view(dtype).reshape(16, 16)}, path)
            [one] = scope.document("tree", path)["tensors"]
            self.assertEqual(one["dtype"], str(dtype).removeprefix("torch."))
            [stats] = scope.document("stats", path)["tensors"]
            finite = [x for x in codes.view(dtype).double().tolist() if math.isfinite(x)]
            self.assertEqual((stats["min"], stats["max"]), (min(finite), max(finite)), kind)
            to = self.folder / "copy.safetensors"
            self.assertEqual(scope.run("export", path, "-o", to).returncode, 0)
            copy = load_file(to)["t"]
            self.assertEqual(copy.dtype, dtype)
            self.assertTrue(torch.equal(copy.view(torch.uint8).flatten(), codes))

    def test_the_safetensors_package_reads_exports(self):
        """It knows all these types, and their sizes, though torch has no names for some."""
        for kind, numbers, data, path in self.every_kind():
            to = self.folder / "copy.safetensors"
            self.assertEqual(scope.run("export", path, "-o", to).returncode, 0)
            raw = to.read_bytes()
            for file in path, to:
                [(name, one)] = safetensors.deserialize(file.read_bytes())
                self.assertEqual((name, one["dtype"]), ("t", kind))
                self.assertEqual(one["shape"], [4, len(numbers) // 4])
                self.assertEqual(bytes(one["data"]), data)
            self.assertTrue(raw.endswith(data))

    def test_a_size_that_does_not_fill_whole_bytes(self):
        for kind, shape, n in ("F4", [3], 2), ("F6_E2M3", [3], 3), ("F6_E3M2", [2], 3):
            path = write(self.folder / "m.safetensors", kind, shape, bytes(n))
            done = scope.document("tree", path)
            text = "".join(one["text"] for one in done["findings"])
            self.assertIn("do not fill whole bytes", text)


if __name__ == "__main__":
    unittest.main()
