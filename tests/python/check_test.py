"""torchoscope check: the four verdicts and their statuses, folders, allow files and
expectations, values, JSON and SARIF, and the promises of docs/ci.md."""

import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

import scope  # first: it knows where hostile is
import hostile

MARKS = {"good", "note", "warning", "alarm", "not looked at"}
TOPICS = {"pickle", "zip", "shards", "file", "tensors", "values", "expect"}
VERDICTS = {"safe", "needs code", "unsafe", "inconclusive"}
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]")

SAFE = hostile.torch_zip()
UNSAFE = hostile.torch_zip(data=hostile.whole(hostile.SYSTEM))
OWN = hostile.torch_zip(
    data=hostile.whole(
        hostile.dictionary(
            weight=hostile.tensor(),
            config=hostile.named("models.yolo", "Config") + b")\x81",
        )
    )
)
CUT = hostile.torch_zip(data=hostile.GOOD[:-20])


def safetensors(names=("a", "b"), values=(1.0, 2.0), dtype="F32", shape=(2,)):
    entries, data = {}, b""
    for name in names:
        entries[name] = hostile.entry(dtype, shape, (len(data), len(data) + 8))
        data += struct.pack("<2f", *values)
    return hostile.safe(entries, data)


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def check(self, *words, **options):
        """(status, standard output)"""
        done = scope.run("check", *words, **options)
        self.assertIn(done.returncode, (0, 1, 2), done.stderr)
        return done.returncode, done.stdout.decode()

    def json(self, *words):
        done = scope.run("check", "--json", *words)
        document = json.loads(done.stdout)
        self.assertEqual(document["status"], done.returncode)
        return document


class Verdicts(Folder):
    def test_each_verdict_has_its_word_and_its_status(self):
        for name, data, status, word in (
            ("safe.pt", SAFE, 0, "✓ SAFE"),
            ("own.pt", OWN, 1, "! NEEDS CODE"),
            ("unsafe.pt", UNSAFE, 1, "✗ UNSAFE"),
            ("cut.pt", CUT, 2, "? INCONCLUSIVE"),
        ):
            with self.subTest(file=name):
                path = self.write(name, data)
                got, text = self.check(path)
                self.assertEqual(got, status, text)
                self.assertEqual(text.split("\n")[0], f"{path}: {word}")
        self.assertFalse(Path(hostile.MARK).exists(), "something was executed")

    def test_a_call_is_shown_with_its_arguments_and_location(self):
        _, text = self.check(self.write("unsafe.pt", UNSAFE))
        lines = text.split("\n")
        call = f'  ✗ pickle   posix.system("touch {hostile.MARK}")'
        self.assertEqual(lines[1], call)
        self.assertRegex(lines[2], r"^ {13}a/data\.pkl, REDUCE at byte \d+$")
        self.assertIn("  ✓ zip      3 entries, sizes and checksums agree", text)
        self.assertIn("  - values   not checked (--values)\n", text)
        narrow = dict(os.environ, COLUMNS="50")
        _, text = self.check(self.folder / "unsafe.pt", env=narrow)
        self.assertIn('…")\n', text)
        self.assertLessEqual(max(map(len, text.split("\n")[1:])), 50)

    def test_an_allowed_class_makes_a_file_safe(self):
        path = self.write("own.pt", OWN)
        _, text = self.check(path)
        self.assertIn("  ! pickle   models.yolo.Config 1 use\n", text)
        self.assertEqual(self.check(path, "--allow", "models.yolo.*")[0], 0)
        self.assertEqual(self.check(path, "--allow=other.*", "-a", "models.*")[0], 0)
        self.assertEqual(self.check(path, "--allow", "models.vgg.*")[0], 1)
        listed = self.write("allow.txt", "# ours\n\n  models.yolo.*  \n")
        self.assertEqual(self.check(path, "--allow-file", listed)[0], 0)
        self.assertEqual(self.check(path, "--allow-file", self.folder / "no")[0], 2)
        commented = self.write("none.txt", "# models.yolo.*\n")
        self.assertEqual(self.check(path, "--allow-file", commented)[0], 1)
        document = self.json(path, "--allow", "models.yolo.*")
        self.assertEqual(document["allow"], ["models.yolo.*"])
        self.assertTrue(document["checked"][0]["globals"][0]["allowed"])

    def test_dangerous_callables_cannot_be_allowed(self):
        path = self.write("unsafe.pt", UNSAFE)
        self.assertEqual(self.check(path, "--allow", "*")[0], 1)
        self.assertEqual(self.check(path, "--allow", "posix.*")[0], 1)

    def test_an_allow_file_in_the_folder_is_not_used_automatically(self):
        self.write("own.pt", OWN)
        for name in ("allow.txt", ".torchoscope", "allow-file"):
            self.write(name, "*\n")
        self.assertEqual(self.check(self.folder)[0], 1)

    def test_every_state_dict_is_safe(self):
        folder, manifest = scope.samples()
        for name in manifest["files"]:
            if not re.match(r"(deflated_)?state_dict|tied|protocol", name):
                continue
            with self.subTest(file=name):
                self.assertEqual(self.check(folder / name)[0], 0)


class Wholeness(Folder):
    def test_findings_make_a_safe_file_fail(self):
        cut = self.write("cut.safetensors", safetensors()[:-4])
        status, text = self.check(cut)
        self.assertEqual(status, 1)
        self.assertIn(": ✓ SAFE, but ", text)
        self.assertIn("  ✗ ", text)
        status, text = self.check(self.write("bad.pt", hostile.torch_zip(
            data=hostile.whole(hostile.dictionary(
                good=hostile.tensor(), bad=hostile.tensor(offset=1))))))
        self.assertEqual(status, 1)
        self.assertIn("  ✗ tensors  bad: ", text)
        self.assertIn("  ✗ tensors  1 of 2 lie inside their storages\n", text)

    def test_check_and_info_count_the_same_findings(self):
        cut = self.write("cut.safetensors", safetensors()[:-4])
        info = json.loads(scope.run("info", "--json", cut).stdout)
        self.assertEqual(len(info["findings"]), 1)
        self.assertIn(": ✓ SAFE, but 1 finding\n", self.check(cut)[1])

    def test_the_whole_archive_is_checked_even_parts_that_opening_skips(self):
        entries = [hostile.Entry("a/data.pkl", hostile.GOOD),
                   hostile.Entry("a/version", b"3\n")]
        crc = self.write("crc.pt", hostile.archive(
            [*entries, hostile.Entry("a/data/0", hostile.ONES, crc=1)]))
        self.assertEqual(self.check(crc)[0], 0)
        status, text = self.check(crc, "--values")
        self.assertEqual(status, 1)
        self.assertIn("  ✗ zip      entry a/data/0 has checksum ", text)
        packed = self.write("packed.pt", hostile.archive(
            [*entries, hostile.Entry("a/data/0", hostile.ONES, crc=1, method=8)]))
        self.assertEqual(self.check(packed, "--values")[0], 1)
        for odd in ({"local_name": b"a/x"}, {"local_flags": 1}):
            path = self.write("local.pt", hostile.archive(
                [*entries, hostile.Entry("a/data/0", hostile.ONES, **odd)]))
            status, text = self.check(path)
            self.assertEqual(status, 1, odd)
            self.assertIn("  ✗ zip      entry a/data/0 ", text)

    def test_one_bad_entry_hides_nothing(self):
        path = self.write("both.pt", hostile.archive([
            hostile.Entry("a/data/0", hostile.ONES, flags=1),
            hostile.Entry("a/data.pkl", hostile.whole(hostile.SYSTEM), crc=1),
            hostile.Entry("a/version", b"3\n")]))
        status, text = self.check(path)
        self.assertEqual(status, 1)
        self.assertIn("posix.system", text)
        self.assertIn("encrypted", text)
        self.assertIn("checksum", text)

    def test_non_finite_values_are_found_on_request(self):
        path = self.write("odd.safetensors",
                          safetensors(values=(float("nan"), float("inf"))))
        self.assertEqual(self.check(path)[0], 0)
        status, text = self.check(path, "--values")
        self.assertEqual(status, 1)
        self.assertIn("  ✗ values   a holds 1 NaN and 1 infinity among 2 values\n", text)
        found = self.json(path, "--values")["checked"][0]["findings"]
        self.assertEqual([f["code"] for f in found], ["non-finite"] * 2)
        self.assertEqual([f["name"] for f in found], ["a", "b"])
        good = self.write("good.safetensors", safetensors())
        status, text = self.check(good, "--values")
        self.assertEqual(status, 0)
        self.assertIn("  ✓ values   no NaN, no infinity in 4 values\n", text)

    def test_truncated_files_never_pass(self):
        for name, data in (("cut.pt", SAFE), ("cut.safetensors", safetensors())):
            for end in range(0, len(data), 7):
                status, text = self.check(self.write(name, data[:end]))
                self.assertIn(status, (1, 2), f"{name} cut at {end}: {text}")

    def test_hostile_files_never_pass_with_a_finding(self):
        for name, data, expect in hostile.all_files():
            path = self.write(name, data)
            with self.subTest(file=name):
                document = self.json(path, "--values")
                one = document["checked"][0]
                grave = {f["severity"] for f in one.get("findings", [])} - {"note"}
                if grave or one["verdict"] != "safe":
                    self.assertNotEqual(document["status"], 0)
                if one["verdict"] == "inconclusive":
                    self.assertEqual(document["status"], 2)
        self.assertFalse(Path(hostile.MARK).exists(), "something was executed")


class Expectations(Folder):
    def expect(self, path):
        done = scope.run("tree", "--json", path)
        return self.write("shapes.json", done.stdout)

    def test_only_values_may_change(self):
        path = self.write("m.safetensors", safetensors())
        shapes = self.expect(path)
        status, text = self.check(path, "--expect", shapes)
        self.assertEqual(status, 0)
        self.assertIn("  ✓ expect   as expected: names, shapes and dtypes of 2 tensors",
                      text)
        self.write("m.safetensors", safetensors(values=(7.0, 8.0)))
        self.assertEqual(self.check(path, "--expect", shapes)[0], 0)
        for change, line in (
            ({"names": ("a",)}, "b: 2 float32 expected, not found"),
            ({"names": ("a", "b", "c")}, "c: not expected, 2 float32 found"),
            ({"shape": (2, 1)}, "a: 2 expected, 2×1 found"),
            ({"dtype": "I32"}, "a: float32 expected, int32 found"),
        ):
            with self.subTest(change=change):
                self.write("m.safetensors", safetensors(**change))
                status, text = self.check(path, "--expect", shapes)
                self.assertEqual(status, 1)
                self.assertIn(f"  ✗ expect   {line}\n", text)
        codes = {f["code"] for f in
                 self.json(path, "--expect", shapes)["checked"][0]["findings"]}
        self.assertEqual(codes, {"unexpected"})

    def test_every_sample_matches_its_own_expectation(self):
        folder, manifest = scope.samples()
        for name in manifest["files"]:
            with self.subTest(file=name):
                shapes = self.expect(folder / name)
                one = self.json(folder / name, "--expect", shapes)["checked"][0]
                marks = [c["mark"] for c in one["checks"] if c["topic"] == "expect"]
                self.assertEqual(marks, ["good"])

    def test_invalid_expectation_files_are_refused(self):
        path = self.write("m.safetensors", safetensors())
        for text in ("", "[]", "{}", '{"tensors": [3]}', '{"tensors": [', "\xff" * 9,
                     "[" * 100000):
            done = scope.run("check", path, "--expect", self.write("e.json", text))
            self.assertEqual((done.returncode, done.stdout), (2, b""), text[:20])
            self.assertIn(b"e.json", done.stderr)

    def test_expectations_need_exactly_one_model(self):
        path = self.write("d/m.safetensors", safetensors())
        shapes = self.expect(path)
        self.assertEqual(self.check(path.parent, "--expect", shapes)[0], 0)
        self.assertEqual(self.check(path, path, "--expect", shapes), (2, ""))
        self.write("d/n.safetensors", safetensors())
        self.assertEqual(self.check(path.parent, "--expect", shapes)[0], 2)


class Folders(Folder):
    def test_the_worst_verdict_wins(self):
        self.write("m/a.pt", SAFE)
        last = "1 file: 1 safe, 0 need code, 0 unsafe, 0 inconclusive\n"
        self.assertEqual(
            self.check(self.folder),
            (0, f"{self.folder}/m/a.pt: ✓ SAFE  1 tensor, torch zip, {len(SAFE)}B\n"
             + last))
        self.write("m/b.pt", OWN)
        self.assertEqual(self.json(self.folder)["verdict"], "needs code")
        self.write("m/c.pt", CUT)
        document = self.json(self.folder)
        self.assertEqual((document["verdict"], document["status"]), ("inconclusive", 2))
        self.write("m/d.pt", UNSAFE)
        status, text = self.check(self.folder)
        self.assertEqual(status, 1)
        self.assertEqual(
            text.split("\n")[-2],
            "4 files: 1 safe, 1 needs code, 1 unsafe, 1 inconclusive")
        quiet = self.check(self.folder, "--quiet")[1]
        self.assertNotIn("a.pt", quiet)
        self.assertIn("d.pt", quiet)

    def test_other_files_are_skipped_and_counted(self):
        self.write("a.pt", SAFE)
        self.write("README.md", "text")
        self.write("config.json", "{}")
        self.write("logo.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 20)
        self.write("nothing", "")
        self.write(".git/objects/evil.pt", UNSAFE)
        status, text = self.check(self.folder)
        self.assertEqual(status, 0, text)
        last = text.split("\n")[-2]
        for part in ("; 5 skipped (", "2 text", "1 picture", "1 empty",
                     "1 hidden folder"):
            self.assertIn(part, last)
        self.assertIn("README.md: - skipped: is plain text",
                      self.check(self.folder, "-v")[1])
        skipped = {Path(s["path"]).name: s["why"]
                   for s in self.json(self.folder)["skipped"]}
        self.assertEqual(set(skipped),
                         {"README.md", "config.json", "logo.png", "nothing", ".git"})
        self.assertIn("PNG", skipped["logo.png"])
        self.assertEqual(self.check(self.folder, "-q"), (0, ""))

    def test_named_files_that_are_not_models_are_skipped_on_request(self):
        model, text = self.write("a.pt", SAFE), self.write("README.md", "text")
        bad = self.write("b.pt", "text")
        self.assertEqual(self.check(model, text)[0], 2)
        self.assertEqual(self.check(model, text, "--skip")[0], 0)
        self.assertEqual(self.check(text, "--skip")[0], 0)
        self.assertEqual(self.check(model, bad, "--skip")[0], 2)
        document = self.json(model, text, "--skip")
        self.assertEqual([Path(s["path"]).name for s in document["skipped"]],
                         ["README.md"])

    def test_a_download_cache_is_read_once(self):
        blob = self.write("models--x--y/blobs/0123abcd", SAFE)
        snapshot = self.folder / "models--x--y/snapshots/1"
        snapshot.mkdir(parents=True)
        (snapshot / "model.pt").symlink_to("../../blobs/0123abcd")
        document = self.json(self.folder)
        self.assertEqual([Path(one["path"]).name for one in document["checked"]],
                         ["model.pt"])
        self.assertEqual([one["why"] for one in document["skipped"]],
                         ["a folder of a cache"])
        listed = subprocess.run([os.environ["TORCHOSCOPE"], self.folder],
                                capture_output=True, text=True).stdout
        self.assertIn("model.pt", listed)
        self.assertNotIn(blob.name, listed)

    def test_files_named_like_models_are_never_skipped(self):
        for name, data in (("m.bin", b"what is this\0"), ("x.gguf", b"GGUF" + b"\0" * 99),
                           ("y.dat", b"GGUF" + b"\0" * 99), ("w.7z", b"7z\xbc\xaf\x27\x1c"),
                           ("e.pth", b""), ("lfs.safetensors", "text"),
                           ("UPPER.PKL", b"?"), ("z.index.json", "{}")):
            with self.subTest(file=name):
                path = self.write(f"{name}.d/{name}", data)
                document = self.json(path.parent)
                if document["verdict"] == "safe":  # it is read by now
                    self.assertIn("gguf", document["checked"][0]["format"].lower())
                    continue
                self.assertEqual(document["status"], 2)
                self.assertEqual(document["skipped"], [])
                self.assertIn(name, document["checked"][0]["error"])

    def test_shards_are_one_model(self):
        folder, _ = scope.samples()
        for name in ("sharded", "sharded_bin"):
            copy = self.folder / name
            shutil.copytree(folder / name, copy)
            status, text = self.check(copy)
            self.assertEqual(status, 0, text)
            self.assertIn("1 file: 1 safe", text)
            self.assertIn("index.json: ✓ SAFE", text)
            shard = sorted(p for p in copy.iterdir() if "-of-" in p.name)[-1]
            shard.unlink()
            status, text = self.check(copy)
            self.assertEqual(status, 1, text)
            self.assertIn("  ✗ shards   ", text)
            next(copy.glob("*.index.json")).unlink()
            status, text = self.check(copy)
            self.assertEqual(status, 1, text)
            self.assertIn("missing", text)
            self.assertTrue(text.startswith(f"{copy}: "), text)

    def test_all_models_beside_shards_are_checked(self):
        folder, _ = scope.samples()
        copy = self.folder / "all"
        shutil.copytree(folder / "sharded", copy)
        self.write("all/training_args.bin", UNSAFE)
        document = self.json(copy)
        self.assertEqual(document["verdict"], "unsafe")
        self.assertEqual(len(document["checked"]), 2)

    def test_links_to_files_are_followed_and_links_to_folders_are_not(self):
        self.write("blobs/0123", SAFE)
        (self.folder / "snap").mkdir()
        (self.folder / "snap/m.pt").symlink_to("../blobs/0123")
        (self.folder / "snap/loop").symlink_to("..")
        (self.folder / "snap/dead.pt").symlink_to("nowhere")
        os.mkfifo(self.folder / "snap/pipe")
        (self.folder / "snap/notes").symlink_to("nowhere")
        document = self.json(self.folder / "snap")
        paths = {Path(one["path"]).name: one for one in document["checked"]}
        self.assertEqual(paths["m.pt"]["verdict"], "safe")
        self.assertEqual(paths["dead.pt"]["verdict"], "inconclusive")
        skipped = {Path(s["path"]).name: s["why"] for s in document["skipped"]}
        self.assertEqual(set(skipped), {"loop", "notes", "pipe"})
        self.assertEqual(skipped["notes"], "No such file or directory")
        (self.folder / "snap/dead.pt").unlink()
        self.assertEqual(self.check(self.folder / "snap")[0], 0)

    def test_a_missing_path_is_reported(self):
        done = scope.run("check", self.folder / "absent.pt")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(b"No such file", done.stderr)
        good = self.write("good.pt", SAFE)
        status, text = self.check(self.folder / "absent.pt", good)
        self.assertEqual(status, 2)
        self.assertIn("good.pt: ✓ SAFE", text)
        self.assertIn("2 files: 1 safe, 0 need code, 0 unsafe, 1 inconclusive", text)

    def test_deeply_nested_folders_end_at_a_limit(self):
        deep = self.folder
        for _ in range(300):
            deep = deep / "d"
        deep.mkdir(parents=True)
        (deep / "m.pt").write_bytes(SAFE)
        self.assertIn("1 file: 1 safe", self.check(self.folder)[1])


class Mistakes(Folder):
    def test_contradictory_options_are_refused(self):
        path = self.write("m.pt", SAFE)
        for words in ([], [path, "--csv"], [path, "--json", "--sarif"],
                      [path, "-q", "-v"], [path, "--allow"], [path, "--expect", "no"]):
            done = scope.run("check", *words)
            self.assertEqual((done.returncode, done.stdout), (2, b""), words)
            self.assertTrue(done.stderr.startswith(b"torchoscope: "))

    def test_names_from_files_and_folders_are_escaped(self):
        evil = "e\x1b[31m\u202evil\n"
        self.write(f"{evil}.safetensors", safetensors(names=(evil,))[:-4])
        self.write(f"{evil}.pt", hostile.torch_zip(data=hostile.whole(
            hostile.call("posix", "system", hostile.text("\x1b]0;x\x07")))))
        for words in ([], ["-v"], ["--json"], ["--sarif"], ["--values"]):
            done = scope.run("check", self.folder, *words)
            text = (done.stdout + done.stderr).decode()
            raw = re.compile("[\x00-\x09\x0b-\x1f]") if "--" in str(words[:1]) else RAW
            self.assertIsNone(raw.search(text), words)

    def test_it_stops_on_sigint(self):
        big = self.folder / "big.safetensors"
        header = json.dumps({f"t{i}": {"dtype": "F32", "shape": [1 << 26],
                                       "data_offsets": [i << 28, (i + 1) << 28]}
                             for i in range(4096)}).encode()
        with open(big, "wb") as file:  # a sparse file of 1 TiB
            file.write(struct.pack("<Q", len(header)) + header)
            file.truncate(8 + len(header) + (4096 << 28))
        child = subprocess.Popen(
            [scope.PROGRAM, "check", "--json", "--values", big],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, said = scope.interrupt(child, worked=0.03)
        self.assertEqual(child.returncode, 2)
        document = json.loads(out)
        self.assertIs(document["complete"], False)
        self.assertIn(b"stopped", said)


class Documents(Folder):
    def test_json_is_as_documented(self):
        for name, data in (("a.pt", SAFE), ("b.pt", OWN), ("c.pt", UNSAFE),
                           ("d.safetensors", safetensors()[:-4]), ("e.bin", b"?"),
                           ("f.txt", "text")):
            self.write(name, data)
        document = self.json(self.folder)
        self.assertEqual(list(document)[:2], ["torchoscope", "kind"])
        self.assertEqual((document["torchoscope"], document["kind"]), (1, "check"))
        self.assertEqual((document["verdict"], document["complete"]), ("unsafe", True))
        self.assertNotIn("allow", document)
        self.assertEqual(len(document["skipped"]), 1)
        self.assertEqual(len(document["checked"]), 5)
        for one in document["checked"]:
            self.assertIn(one["verdict"], VERDICTS)
            self.assertIn(one["status"], (0, 1, 2))
            if "error" in one:
                self.assertEqual(one["verdict"], "inconclusive")
                continue
            self.assertEqual(one["bytes"], Path(one["path"]).stat().st_size)
            self.assertIsInstance(one["format"], str)
            self.assertIsInstance(one["partial"], bool)
            for line in one["checks"]:
                self.assertEqual(set(line), {"topic", "mark", "text"})
                self.assertIn(line["topic"], TOPICS)
                self.assertIn(line["mark"], MARKS)
                self.assertNotIn("\n", line["text"])
            for finding in one["findings"]:
                self.assertLessEqual({"code", "severity", "text"}, set(finding))
        unsafe = document["checked"][2]
        (system,) = unsafe["globals"]
        self.assertEqual((system["name"], system["trust"]), ("posix.system", "danger"))
        (use,) = system["at"]
        self.assertEqual(use["act"], "calls")
        self.assertEqual(use["args"], [hostile.COMMAND.decode()])
        self.assertEqual(use["pickle"], "a/data.pkl")
        pickle = hostile.whole(hostile.SYSTEM)
        self.assertEqual(pickle[use["offset"]:use["offset"] + 1], b"R")

    def sarif(self, *words, **options):
        done = scope.run("check", "--sarif", *words, **options)
        document = json.loads(done.stdout)
        self.assertEqual(document["version"], "2.1.0")
        self.assertTrue(document["$schema"].endswith("sarif-2.1.0.json"))
        (run,) = document["runs"]
        self.assertEqual(run["invocations"][0]["exitCode"], done.returncode)
        return run

    def test_sarif_has_what_code_scanning_needs(self):
        self.write("a b/ü.pt", UNSAFE)
        self.write("own.pt", OWN)
        self.write("cut.safetensors", safetensors()[:-4])
        self.write("bare.pkl", hostile.whole(hostile.SYSTEM))
        self.write("e.bin", b"?")
        run = self.sarif(".", cwd=self.folder)
        driver = run["tool"]["driver"]
        self.assertEqual(driver["name"], "torchoscope")
        self.assertRegex(driver["version"], r"^\d+\.\d+")
        rules = driver["rules"]
        self.assertEqual(len({rule["id"] for rule in rules}), len(rules))
        for rule in rules:
            self.assertTrue(rule["shortDescription"]["text"])
            self.assertTrue(rule["help"]["text"])
            self.assertIn(rule["defaultConfiguration"]["level"],
                          {"note", "warning", "error"})
        fingerprints = set()
        for result in run["results"]:
            self.assertEqual(rules[result["ruleIndex"]]["id"], result["ruleId"])
            self.assertIn(result["level"], {"note", "warning", "error"})
            self.assertTrue(result["message"]["text"])
            (location,) = result["locations"]
            physical = location["physicalLocation"]
            self.assertRegex(physical["artifactLocation"]["uri"], r"^[A-Za-z0-9._~/%-]+$")
            self.assertEqual(physical["artifactLocation"]["uriBaseId"], "%SRCROOT%")
            self.assertEqual(physical["region"]["startLine"], 1)
            fingerprints.add(result["partialFingerprints"]["torchoscope/v1"])
        self.assertEqual(len(fingerprints), len(run["results"]))
        by_rule = {}
        for result in run["results"]:
            place = result["locations"][0]
            uri = place["physicalLocation"]["artifactLocation"]["uri"]
            by_rule.setdefault(result["ruleId"], {})[uri] = place
        self.assertEqual(set(by_rule["unsafe"]), {"a%20b/%C3%BC.pt", "bare.pkl"})
        self.assertEqual(set(by_rule["needs-code"]), {"own.pt"})
        self.assertEqual(set(by_rule["inconclusive"]), {"e.bin"})
        self.assertIn("cut.safetensors", by_rule["truncated"])
        bare = by_rule["unsafe"]["bare.pkl"]
        at = bare["physicalLocation"]["region"]["byteOffset"]
        self.assertEqual((self.folder / "bare.pkl").read_bytes()[at:at + 1], b"R")
        (logical,) = bare["logicalLocations"]
        self.assertEqual(logical["fullyQualifiedName"], "posix.system")

    def test_the_same_finding_has_the_same_fingerprint(self):
        path = self.write("own.pt", OWN)
        self.assertEqual(self.sarif(path)["results"], self.sarif(path)["results"])

    def test_messages_do_not_contain_links_from_the_file(self):
        path = self.write("x.pt", hostile.torch_zip(data=hostile.whole(
            hostile.call("posix", "system", hostile.text("[x](http://y) {0}")))))
        (result,) = self.sarif(path)["results"]
        self.assertIn(r"\[x\](http://y) {{0}}", result["message"]["text"])


class Promises(Folder):
    """The promises of docs/ci.md."""

    def git(self, *words):
        env = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1",
                   PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}",
                   GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b",
                   GIT_COMMITTER_NAME="a", GIT_COMMITTER_EMAIL="a@b")
        env.pop("COLUMNS", None)
        return subprocess.run(words, cwd=self.folder / "repo", env=env, check=True,
                              capture_output=True, text=True).stdout

    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_git_diff_shows_changes_of_weights(self):
        docs = (scope.ROOT / "docs" / "ci.md").read_text()
        (script,) = re.findall(r"```sh\n(echo.*?)```", docs, re.S)
        (self.folder / "bin").mkdir()
        (self.folder / "bin/torchoscope").symlink_to(Path(scope.PROGRAM).resolve())
        (self.folder / "repo").mkdir()
        self.git("git", "init", "-q")
        self.git("sh", "-ec", script)
        self.write("repo/m.safetensors", safetensors())
        self.write("repo/broken.pt", b"no model")
        self.git("git", "add", "-A")
        self.git("git", "commit", "-qm", "one")
        self.write("repo/m.safetensors", safetensors(names=("a", "c")))
        self.write("repo/broken.pt", b"still no model")
        self.git("git", "commit", "-qam", "two")
        diff = self.git("git", "diff", "HEAD~")
        lines = [" ".join(line.split()) for line in diff.split("\n")]
        self.assertTrue(any(re.match(r"-b 2 float32 1 2", line) for line in lines), diff)
        self.assertTrue(any(re.match(r"\+c 2 float32 1 2", line) for line in lines))
        self.assertFalse(any(re.match(r"[-+]a ", line) for line in lines))
        self.assertNotIn("Binary files", diff)

    def test_the_commands_in_the_page_exist(self):
        docs = (scope.ROOT / "docs" / "ci.md").read_text()
        said = scope.run("check", "--help").stdout.decode()
        for option in re.findall(r"torchoscope check[^`\n]*?(--[a-z-]+)", docs):
            self.assertIn(option, said)


if __name__ == "__main__":
    unittest.main()
