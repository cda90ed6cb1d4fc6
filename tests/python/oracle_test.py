# flavours: both
"""torchoscope's facts about tensors equal those of torch: names, shapes, dtypes,
strides, offsets, ties, the digest of the elements, statistics."""

import hashlib
import math
import os
import sys
import tempfile
import unittest
from fractions import Fraction
from pathlib import Path

import torch

import scope
import truth

FULL, EXACT = 1e-6, 1e-12  # tolerance of std and mean, by mode


def places_of(document):
    """Name to tensor of a document, without the parts of sparse and wrapped tensors."""
    return {t["name"]: t for t in document["tensors"] if "part_of" not in t}


def parts_of(document, name):
    return [t for t in document["tensors"] if t.get("part_of") == name]


class Oracle(unittest.TestCase):
    maxDiff = None

    def near(self, got, expected, bound, what):
        if isinstance(got, str):
            got = float(got)
        if math.isnan(expected) or math.isinf(expected):
            self.assertEqual(str(got), str(expected), what)
        elif abs(got - expected) > bound:
            self.fail(f"{what}: {got} instead of {expected}, more than {bound} off")

    def check_statistics(self, got, stats, where, bound=FULL):
        for key in ("count", "nan", "pos_inf", "neg_inf", "zeros"):
            self.assertEqual(got.get(key), stats[key], f"{where}: {key}")
        for key in ("min", "max"):
            self.assertEqual(key in got, key in stats, f"{where}: {key}")
            if key not in stats:
                continue
            if got.get("of") == "abs":  # a square root may round either way
                self.near(got[key], stats[key], 4e-7 * abs(stats[key]), where)
            else:
                self.assertEqual(got[key], stats[key], f"{where}: {key}")
        if "mean" not in stats:
            return
        scale = max(abs(stats["mean"]), stats.get("std", 0))
        self.near(got["mean"], stats["mean"], bound * scale, f"{where}: mean")
        self.near(got["l2"], stats["l2"], bound * stats["l2"], f"{where}: l2")
        self.assertEqual("std" in got, "std" in stats, f"{where}: std")
        if "std" in stats:
            small = 1e-15 * abs(stats["mean"])  # all values equal: nothing to compare
            self.near(got["std"], stats["std"], bound * stats["std"] + small, where)

    def check_tensor(self, got, fact, where):
        for key in ("shape", "dtype", "layout"):
            self.assertEqual(got[key], fact[key], f"{where}: {key}")
        self.assertEqual(got["numel"], math.prod(fact["shape"]), where)
        if fact["layout"] == "strided":
            self.assertEqual(got["strides"], fact["strides"], f"{where}: strides")
            self.assertEqual(got["offset"], fact.get("offset", 0), f"{where}: offset")
        if "requires_grad" in fact:
            said = got["requires_grad"]
            if said is None:  # a state_dict has False for everything: unknown
                self.assertIn("requires_grad_why", got, where)
                said = False
            self.assertEqual(said, fact["requires_grad"], f"{where}: requires_grad")
        if fact.get("meta"):
            self.assertIs(got["readable"], False, where)
        if "sha256" in fact:
            self.assertEqual(got.get("sha256"), fact["sha256"], f"{where}: sha256")
        if fact.get("stats"):
            self.check_statistics(got, fact["stats"], where)
        elif "stats" in fact:
            self.assertIn("stats_why", got, where)

    def check_file(self, path, facts, loose=()):
        """Compare one file with the truth; gives the document."""
        document = scope.document("stats", path, "--sha256")
        measured = {tensor["place"]: tensor for tensor in document["tensors"]}
        document["tensors"] = scope.document("tree", path)["tensors"]
        for tensor in document["tensors"]:
            tensor.update(measured.get(tensor["place"], {}))
        got = places_of(document)
        names = {fact["name"] for fact in facts}
        for name in sorted(names - set(got)):
            self.fail(f"{path.name}: no tensor {name!r} among {sorted(got)[:30]}")
        for fact in facts:
            where = f"{path.name}: {fact['name']}"
            self.check_tensor(got[fact["name"]], fact, where)
            ties = {n for n in (got[fact["name"]].get("also_at") or [])}
            if "tied_to" in got[fact["name"]]:
                first = got[got[fact["name"]]["tied_to"]]
                ties = {first["name"], *first["also_at"]}
            if "ties" in fact:
                ties.add(fact["name"])
                self.assertEqual(sorted(ties & names), fact["ties"], f"{where}: ties")
            parts = parts_of(document, fact["name"])
            for part, truth_of_part in zip(parts, fact.get("parts", [])):
                truth_of_part.pop("identity", None)
                self.check_tensor(part, truth_of_part, f"{where}, part {part['name']}")
            self.assertEqual(len(parts) >= len(fact.get("parts", [])), True, where)
        extra = {
            name: tensor
            for name, tensor in got.items()
            if name not in names and not name.startswith("CONSTANTS.") and not loose
        }
        self.assertEqual(extra, {}, f"{path.name}: tensors that torch does not see")
        self.check_loose(path, document, loose)
        return document

    def check_loose(self, path, document, loose):
        """Tensors whose names torch does not give: some place must hold them."""
        have = {(str(t["shape"]), t.get("sha256")) for t in document["tensors"]}
        for fact in loose:
            self.assertIn((str(fact["shape"]), fact["sha256"]), have, path.name)


class Samples(Oracle):
    @classmethod
    def setUpClass(cls):
        cls.folder, manifest = scope.samples()
        cls.files = manifest["files"]

    def test_every_sample_is_as_torch_says(self):
        for name, entry in self.files.items():
            if entry.get("opaque") or entry.get("nested"):
                continue
            if name.endswith(".pkl") or name == "none.pt":
                continue
            with self.subTest(file=name):
                loose = entry.get("loose", ())
                document = self.check_file(self.folder / name, entry["tensors"], loose)
                self.assertFalse(document["partial"], name)
                self.assertTrue(document["complete"], name)

    def test_exact_mode_is_exact(self):
        for name in ("views.pt", "state_dict.pt", "every_code.safetensors"):
            got = places_of(scope.document("stats", self.folder / name, "--exact"))
            for fact in self.files[name]["tensors"]:
                where = f"{name}: {fact['name']}"
                self.check_statistics(got[fact["name"]], fact["stats"], where, EXACT)

    def test_format_is_named_by_content(self):
        for name, entry in self.files.items():
            if "format" in entry:
                with self.subTest(file=name):
                    said = scope.document("info", self.folder / name)["format"]
                    self.assertIn(entry["format"].split()[-1], said.lower())

    def test_modules_have_their_classes(self):
        for name, entry in self.files.items():
            if "modules" not in entry:
                continue
            with self.subTest(file=name):
                tree = scope.document("tree", self.folder / name)
                got = {m["name"]: m.get("class") for m in tree["modules"]}
                for path, kind in entry["modules"].items():
                    self.assertEqual(got.get(path), kind, f"{name}: {path}")

    def test_scripts_have_their_classes(self):
        for name, entry in self.files.items():
            if "classes" not in entry or "frozen" in name:
                continue
            with self.subTest(file=name):
                tree = scope.document("tree", self.folder / name)
                got = {m["name"]: m.get("class") or "" for m in tree["modules"]}
                for path, kind in entry["classes"].items():
                    self.assertIn(path, got, name)
                    self.assertEqual(got[path].split(".")[-1], kind, f"{name}: {path}")

    def test_plain_values_are_in_the_tree(self):
        for name, entry in self.files.items():
            if "values" not in entry:
                continue
            tree = scope.document("tree", self.folder / name)
            got = {v["name"]: v["value"] for v in tree["values"]}
            for path, value in entry["values"].items():
                self.assertEqual(got.get(path), value, f"{name}: {path}")

    def test_tensors_inside_pickled_bytes_are_found(self):
        for name, entry in self.files.items():
            if entry.get("nested"):
                self.check_file(self.folder / name, [], loose=entry["tensors"])

    def test_protocol_0_is_read_or_reported(self):
        for name, entry in self.files.items():
            if entry.get("opaque"):
                document = scope.document("tree", self.folder / name)
                listed = [t["name"] for t in document["tensors"]]
                if "weight" not in listed:
                    self.assertTrue(document["findings"], name)

    def test_quantiser_facts_are_shown(self):
        tree = places_of(scope.document("tree", self.folder / "quantised.pt"))
        self.assertEqual(tree["per_tensor"]["extra"]["scale"], 0.05)
        self.assertEqual(tree["per_tensor"]["extra"]["zero_point"], 10)
        self.assertEqual(tree["per_channel"]["extra"]["axis"], 0)


def weights_only(path):
    """The result of torch's safe loading, or None. Never a full load: some files are
    hostile."""
    try:
        return torch.load(path, weights_only=True, map_location="cpu")
    except Exception:
        return None


def safetensors_facts(path):
    """The truth of a safetensors file by its own header."""
    import json

    import sample_files

    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + size])
    header.pop("__metadata__", None)
    facts = []
    for name, one in header.items():
        begin, end = (8 + size + at for at in one["data_offsets"])
        facts.append(
            {
                "name": name,
                "shape": one["shape"],
                "dtype": sample_files.CODES[one["dtype"]][0],
                "layout": "strided",
                "strides": sample_files.c_strides(one["shape"]),
                "sha256": hashlib.sha256(raw[begin:end]).hexdigest(),
            }
        )
    return facts


@unittest.skipUnless(scope.MODELS.is_dir(), "no folder of real models")
@unittest.skipUnless(hasattr(torch, "float8_e5m2"), "only a new torch loads safely")
class RealFiles(Oracle):
    def test_every_file_that_torch_loads_safely(self):
        loaded = 0
        for path in sorted(scope.MODELS.rglob("*")):
            if not path.is_file() or path.suffix in (".onnx", ".gguf", ".npy", ".npz"):
                continue
            with self.subTest(file=path.name):
                if path.suffix == ".safetensors":
                    facts = safetensors_facts(path)
                else:
                    obj = weights_only(path)
                    if obj is None:
                        continue
                    facts = truth.tensors_of(obj)
                self.check_file(path, facts)
                loaded += 1
        self.assertGreater(loaded, 50)

    def test_every_other_file_is_opened_or_identified(self):
        for path in sorted(scope.MODELS.rglob("*")):
            if path.is_file():
                done = scope.run("tree", path, "--json")
                self.assertIn(done.returncode, (0, 1, 2), path.name)
                if done.returncode == 2:
                    self.assertIn(path.name.encode(), done.stderr)


def exact(values):
    """(mean, std, l2) in rational numbers; the roots to 60 binary digits."""
    fractions = [Fraction(value) for value in values]
    mean = sum(fractions) / len(fractions)
    spread = sum((value - mean) ** 2 for value in fractions) / (len(fractions) - 1)
    return mean, root(spread), root(sum(value * value for value in fractions))


def root(square):
    shift = 60 + 1100
    return Fraction(math.isqrt(int(square * 4**shift)), 2**shift)


class Huge(unittest.TestCase):
    """Doubles whose squares overflow, by every kernel and in several blocks."""

    def test_std_and_norm_are_those_of_exact_arithmetic(self):
        torch.manual_seed(0)
        base = torch.randn(9001, dtype=torch.float64)
        ones = torch.ones(4096, dtype=torch.float64)
        tensors = {
            "1e300": base * 1e300,
            "near_the_end": base[:3000] / base[:3000].abs().max() * 1.7e308 / 64,
            "both_ends": torch.stack([ones, -ones]).flatten() * 1e306,
            "far_mean": base * 1e296 + 1e300,
            "small_then_huge": torch.cat([base[:5000], base[:4000] * 1e200]),
            "two": torch.tensor([1e308, -0.5e308], dtype=torch.float64),
            "plain": base,
        }
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "huge.pt"
            torch.save(tensors, path)
            for kernel in ("plain", "sse2", "avx2", "avx512"):
                env = {**os.environ, "TORCHOSCOPE_SIMD": kernel}
                for got in scope.document("stats", path, env=env)["tensors"]:
                    want = exact(tensors[got["name"]].tolist())
                    for key, value in zip(("mean", "std", "l2"), want):
                        with self.subTest(kernel=kernel, name=got["name"], key=key):
                            scale = max(abs(value), abs(want[1])) * Fraction(1e-9)
                            self.assertNotIsInstance(got[key], str)
                            self.assertLess(abs(Fraction(got[key]) - value), scale)


if __name__ == "__main__":
    sys.exit(unittest.main())
