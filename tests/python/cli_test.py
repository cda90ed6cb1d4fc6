"""The program from outside: commands, exit statuses, JSON and CSV, escaping, files that
are not models, folders, signals; and that it executes nothing."""

import csv
import io
import json
import math
import os
import re
import signal
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

import scope  # first: it knows where hostile is
import hostile

COMMON = {
    "torchoscope": int,
    "kind": str,
    "path": str,
    "format": str,
    "bytes": int,
    "partial": bool,
    "verdict": str,
    "counts": dict,
    "findings": list,
}
COUNTS = (
    "stored unique logical buffers bytes others other_bytes tensors param_tensors "
    "buffer_tensors modules"
).split()
TENSOR = {
    "name": str,
    "place": int,
    "parent": (int, type(None)),
    "shape": list,
    "dtype": str,
    "numel": int,
    "role": str,
    "layout": str,
}
CODES = set(
    "truncated damaged trailing limit unsupported bad-tensor size-mismatch "
    "missing-record missing-shard shard-mismatch unsafe-path duplicate overlap hole "
    "checksum encrypted zip-trick pickle-malformed pickle-call pickle-override "
    "pickle-nested bad-text big-endian unsafe inconclusive".split()
)
VERDICTS = {"safe", "needs code", "unsafe", "inconclusive"}
# Characters that names from a file must not send to a terminal: controls, bidi,
# invisible.
RAW = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069]"
)


def plain_safetensors(count=2):
    """A small valid file, made without torch."""
    names = {f"layer{i}.weight": hostile.entry() for i in range(count)}
    for i, one in enumerate(names.values()):
        one["data_offsets"] = [8 * i, 8 * i + 8]
    return hostile.safe(names, b"".join(struct.pack("<2f", i, 1) for i in range(count)))


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def check_document(self, document, kind):
        self.assertEqual(list(document)[:2], ["torchoscope", "kind"])
        self.assertEqual((document["torchoscope"], document["kind"]), (1, kind))
        for key, of in COMMON.items():
            self.assertIsInstance(document[key], of, key)
        self.assertIn(document["verdict"], VERDICTS)
        for key in COUNTS:
            self.assertIsInstance(document["counts"][key], int, key)
        for finding in document["findings"]:
            self.assertIn(finding["code"], CODES)
            self.assertIn(finding["severity"], {"note", "warning", "alarm"})
            self.assertTrue(finding["text"])
        for tensor in document.get("tensors", []):
            for key, of in TENSOR.items():
                self.assertIsInstance(tensor[key], of, key)
            if tensor["layout"] == "strided":
                self.assertEqual(len(tensor["strides"]), len(tensor["shape"]))


class Documents(Folder):
    def test_every_sample_gives_valid_documents(self):
        folder, manifest = scope.samples()
        for name in manifest["files"]:
            for kind in ("tree", "info", "stats"):
                with self.subTest(file=name, kind=kind):
                    document = scope.document(kind, folder / name)
                    self.check_document(document, kind)
                    self.assertEqual(document["path"], str(folder / name))

    def test_places_are_numbered_in_order(self):
        folder, _ = scope.samples()
        tree = scope.document("tree", folder / "checkpoint.pt")
        every = [x for k in ("modules", "groups", "tensors", "values") for x in tree[k]]
        places = [one["place"] for one in every]
        self.assertEqual(len(places), len(set(places)))
        for one in every:
            if one["place"] > 0:
                self.assertLess(one["parent"], one["place"])
                parent = next(p for p in every if p["place"] == one["parent"])
                self.assertTrue(one["name"].startswith(parent["name"]))
        counts = tree["counts"]
        tensors = [t for t in tree["tensors"] if "part_of" not in t]
        self.assertEqual(counts["tensors"], len(tensors))
        stored = sum(t["numel"] for t in tensors if t["role"] == "parameter")
        self.assertEqual(counts["stored"], stored)

    def test_hostile_files_get_their_verdict(self):
        for name, data, expect in hostile.all_files():
            path = self.write(name, data)
            with self.subTest(file=name):
                done = scope.run("tree", path, "--json")
                said = done.stderr.decode(errors="replace")
                self.assertIn(done.returncode, (0, 1, 2), said)
                if done.returncode == 2:
                    self.assertIn("torchoscope: ", said)
                    if expect:
                        self.assertTrue(expect.get("refused"), f"not opened: {said}")
                    continue
                document = json.loads(done.stdout)
                self.check_document(document, "tree")
                self.check_expectation(document, expect)
                grave = {f["severity"] for f in document["findings"]} - {"note"}
                status = 1 if grave or document["verdict"] == "unsafe" else 0
                self.assertEqual(done.returncode, status)
        self.assertFalse(Path(hostile.MARK).exists(), "something was executed")

    def check_expectation(self, document, expect):
        codes = {finding["code"] for finding in document["findings"]}
        if "findings" in expect:
            self.assertTrue(codes & set(expect["findings"]), f"only {sorted(codes)}")
        if "verdict" in expect:
            self.assertIn(document["verdict"], expect["verdict"])
        tensors = {t["name"]: t for t in document["tensors"]}
        for name in expect.get("tensors", []):
            self.assertIn(name, tensors)
        for name in expect.get("bad", []):
            if name in tensors:
                self.assertIs(tensors[name].get("readable"), False, tensors[name])


class Statuses(Folder):
    def test_help_names_all_commands_and_goes_to_stdout(self):
        done = scope.run("--help")
        self.assertEqual(done.returncode, 0)
        for command in ("tree", "show", "stats", "info"):
            self.assertIn(command.encode(), done.stdout)
            self.assertEqual(scope.run(command, "--help").returncode, 0)
        self.assertEqual(scope.run("--version").returncode, 0)

    def test_usage_errors_go_to_stderr_with_status_2(self):
        good = self.write("good.safetensors", plain_safetensors())
        for words in (
            ["treee"],
            ["tree"],
            ["tree", good, "--no-such-option"],
            ["tree", good, "--depth", "many"],
            ["tree", good, "--sort", "colour"],
            ["tree", self.folder / "absent.pt"],
            ["show", good, "no.such.name"],
            ["tree", good, "--filter", "/(/"],
            ["stats", good, "--json", "--csv"],
            ["show", good, "layer0.weight", "--slice", "[99]"],
        ):
            with self.subTest(words=words):
                done = scope.run(*words)
                self.assertEqual(done.returncode, 2, done.stdout[:200])
                self.assertEqual(done.stdout, b"")
                self.assertTrue(done.stderr.startswith(b"torchoscope: "), done.stderr)
                self.assertLessEqual(done.stderr.count(b"\n"), 3)

    def test_an_unknown_name_suggests_the_nearest(self):
        good = self.write("good.safetensors", plain_safetensors())
        done = scope.run("show", good, "layer0.weigth")
        self.assertIn(b"layer0.weight", done.stderr)

    def test_valid_files_exit_with_0_and_findings_with_1(self):
        good = self.write("good.safetensors", plain_safetensors())
        for command in ("tree", "info", "stats"):
            self.assertEqual(scope.run(command, good).returncode, 0, command)
        self.assertEqual(scope.run(good).stdout, scope.run("tree", good).stdout)
        cut = self.write("cut.safetensors", plain_safetensors()[:-4])
        self.assertEqual(scope.run("tree", cut).returncode, 1)

    def test_files_that_are_not_models_are_identified(self):
        for name, data, word in hostile.not_models():
            with self.subTest(file=name):
                done = scope.run("tree", self.write(name, data))
                self.assertEqual(done.returncode, 2)
                self.assertIn(word.lower().encode(), done.stderr.lower())
                self.assertIn(name.encode(), done.stderr)

    def test_pipes_and_devices_do_not_block(self):
        os.mkfifo(self.folder / "pipe")
        for path in (self.folder / "pipe", "/dev/zero", "/dev/null"):
            done = scope.run("tree", path)
            self.assertEqual(done.returncode, 2)
        self.assertEqual(scope.run("tree", self.folder).returncode, 2)

    def test_a_closed_pipe_ends_the_program_quietly(self):
        big = self.write("big.safetensors", plain_safetensors(5000))
        child = subprocess.Popen(
            [scope.PROGRAM, "tree", big, "--flat"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        child.stdout.read(10)
        child.stdout.close()
        self.assertEqual(child.stderr.read(), b"")
        child.stderr.close()
        self.assertIn(child.wait(), (0, 1, 2, -signal.SIGPIPE))

    def test_a_full_disk_is_reported(self):
        good = self.write("good.safetensors", plain_safetensors())
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [scope.PROGRAM, "tree", good, "--json"],
                stdout=full,
                stderr=subprocess.PIPE,
            )
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"torchoscope: ", done.stderr)

    def test_ctrl_c_stops_statistics_and_prints_partial_results(self):
        path = self.folder / "big.safetensors"
        size, count = 1 << 30, 1024  # measuring all of it would take minutes
        header = {
            f"t{i}": hostile.entry(shape=(size // 4,), place=(i * size, (i + 1) * size))
            for i in range(count)
        }
        path.write_bytes(hostile.safe(header, b""))
        with open(path, "ab") as file:
            file.truncate(path.stat().st_size + size * count)  # a hole: reads as zeros
        child = subprocess.Popen(
            [scope.PROGRAM, "stats", path, "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        out, _ = scope.interrupt(child, worked=0.03)
        document = json.loads(out)
        self.assertIs(document["complete"], False)
        self.assertEqual(child.returncode, 2)
        counted = [t for t in document["tensors"] if t.get("count")]
        self.assertLess(len(counted), count)

    def test_a_file_truncated_while_it_is_measured_is_reported(self):
        path = self.write("shrinking.safetensors", plain_safetensors(2000))
        child = subprocess.Popen(
            [scope.PROGRAM, "stats", path, "--json"], stdout=subprocess.PIPE
        )
        os.truncate(path, 100)
        out, _ = child.communicate(timeout=scope.PATIENCE)
        self.assertIn(child.returncode, (0, 1, 2))
        if out:
            json.loads(out)


class Text(Folder):
    def lines(self, *arguments):
        done = scope.run(*arguments)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout.decode()

    def test_names_never_reach_the_terminal_raw(self):
        evil = "a\x1b[2J\u202eb\x07\nc\u200bd\x9b"
        entry = hostile.entry()
        metadata = {"note" + evil: evil}
        data = hostile.safe({"__metadata__": metadata, evil: entry})
        safe = self.write("evil.safetensors", data)
        body = hostile.dictionary(**{evil: hostile.tensor(), "v": hostile.text(evil)})
        torch_file = self.write("evil.pt", hostile.torch_zip(hostile.whole(body)))
        bad = hostile.tensor(size=(-1,))
        body = hostile.dictionary(**{evil: bad})
        lying = self.write("lying\x1b[31m.pt", hostile.torch_zip(hostile.whole(body)))
        for path in (safe, torch_file, lying):
            for words in (
                ["tree", path],
                ["tree", path, "--flat"],
                ["tree", path, "--color", "never", "--ascii"],
                ["info", path],
                ["stats", path],
                ["tree", path, "--csv"],
                ["stats", path, "--csv"],
                ["show", path, evil],
                ["show", path, "nothing\x1b[31mlike it"],
            ):
                done = scope.run(*words)
                for stream in (done.stdout, done.stderr):
                    text = stream.decode().replace("\r\n", "\n")
                    found = RAW.search(text)
                    self.assertIsNone(found, f"{words[0]} {words[2:]}: {text!r}")

    def test_json_keeps_raw_names_escaped(self):
        evil = "a\x1b[2J\u202e\x00b"
        path = self.write("e.safetensors", hostile.safe({evil: hostile.entry()}))
        done = scope.run("tree", path, "--json")
        self.assertNotIn(b"\x1b", done.stdout)
        names = [t["name"] for t in json.loads(done.stdout)["tensors"]]
        self.assertEqual(names, [evil])

    def test_ascii_mode_writes_only_ascii(self):
        folder, _ = scope.samples()
        for name in ("checkpoint.pt", "module_own_class.pt", "plain_values.pt"):
            for command in ("tree", "info", "stats"):
                done = scope.run(command, folder / name, "--ascii")
                self.assertTrue(all(b < 127 for b in done.stdout), (command, name))

    def test_no_colour_unless_asked(self):
        good = self.write("good.safetensors", plain_safetensors())
        self.assertNotIn("\x1b", self.lines("tree", good))
        env = {**os.environ, "NO_COLOR": "1"}
        done = scope.run("tree", good, env=env)
        self.assertNotIn(b"\x1b", done.stdout)
        self.assertIn("\x1b[", self.lines("tree", good, "--color", "always"))

    def test_output_fits_the_requested_width(self):
        folder, _ = scope.samples()
        env = {**os.environ, "COLUMNS": "40"}
        done = scope.run("tree", folder / "state_dict.pt", env=env)
        for line in done.stdout.decode().splitlines():
            self.assertLessEqual(len(line), 60, line)

    def test_csv_has_a_row_for_each_tensor(self):
        folder, manifest = scope.samples()
        for name in ("state_dict.pt", "tied.pt", "odd_keys.pt", "views.pt"):
            facts = {fact["name"]: fact for fact in manifest["files"][name]["tensors"]}
            for command in ("tree", "stats"):
                text = self.lines(command, folder / name, "--csv")
                rows = list(csv.DictReader(io.StringIO(text, newline="")))
                self.assertEqual(len(rows), len(facts), name)
                self.assertTrue(text.endswith("\r\n"))
                for row in rows:
                    self.assertEqual(json.loads(row["shape"]).__class__, list)
                    self.assertNotIn(row["name"][:1], ("=", "+", "-", "@"))

    def test_sorting_filtering_and_limiting(self):
        folder, _ = scope.samples()
        path = folder / "state_dict.pt"

        def names(*words):
            return [t["name"] for t in scope.document("tree", path, *words)["tensors"]]

        every = names()
        self.assertEqual(
            names("--filter", "*.bias"), [n for n in every if n.endswith(".bias")]
        )
        self.assertEqual(
            names("--filter", "/^fc/"), [n for n in every if n.startswith("fc")]
        )
        self.assertEqual(
            names("--filter", "!*.bias"), [n for n in every if not n.endswith(".bias")]
        )
        self.assertEqual(names("--filter", "nothing*"), [])
        largest = self.lines("tree", path, "--flat", "--sort", "params", "--top", "1")
        self.assertIn("fc", largest)
        shallow = self.lines("tree", path, "--depth", "1")
        self.assertLess(
            len(shallow.splitlines()), len(self.lines("tree", path).splitlines())
        )


class Show(Folder):
    def test_a_tensor_in_full(self):
        data = hostile.safe(
            {"a.w": hostile.entry(shape=(2, 3), place=(0, 24))},
            struct.pack("<6f", -1, 0, 1, 2, math.nan, math.inf),
        )
        path = self.write("one.safetensors", data)
        tensor = scope.document("show", path, "a.w", "--sha256")["tensor"]
        self.assertEqual((tensor["min"], tensor["max"]), (-1, 2))
        self.assertEqual((tensor["min_at"], tensor["max_at"]), ([0, 0], [1, 0]))
        self.assertEqual((tensor["nan"], tensor["pos_inf"], tensor["zeros"]), (1, 1, 1))
        self.assertEqual(len(tensor["sha256"]), 64)
        self.assertEqual(tensor["mean"], 0.5)

    def test_quantiles_are_exact(self):
        values = [float(x * x % 101) for x in range(1000)]
        data = hostile.safe(
            {"w": hostile.entry(shape=(1000,), place=(0, 4000))},
            struct.pack("<1000f", *values),
        )
        path = self.write("many.safetensors", data)
        tensor = scope.document("show", path, "w")["tensor"]
        values.sort()
        for one in tensor["quantiles"]:
            at = one["q"] * 999
            low = values[math.floor(at)]
            high = values[math.ceil(at)]
            expected = low + (high - low) * (at - math.floor(at))
            self.assertAlmostEqual(one["value"], expected, places=9)
        bins = tensor["histogram"]["bins"]
        self.assertEqual(sum(bins), 1000)

    def test_slices_equal_those_of_python(self):
        data = hostile.safe(
            {"w": hostile.entry(shape=(4, 5), place=(0, 80))},
            struct.pack("<20f", *range(20)),
        )
        path = self.write("grid.safetensors", data)
        for text, shape, values in (
            ("[1]", [5], [5, 6, 7, 8, 9]),
            ("1, 2:4", [2], [7, 8]),
            ("[-1, -2:]", [2], [18, 19]),
            ("[::2, 0]", [2], [0, 10]),
        ):
            said = scope.document("show", path, "w", "--slice", text)["tensor"]["slice"]
            self.assertEqual((said["shape"], said["values"]), (shape, values), text)

    def test_a_module_with_its_arguments_and_source(self):
        folder, manifest = scope.samples()
        path = folder / "module_own_class.legacy.pt"
        module = scope.document("show", path, "0.conv")["module"]
        self.assertEqual(module["class"], "torch.nn.modules.conv.Conv2d")
        self.assertEqual(module["args"]["kernel_size"], [3, 3])
        if "module_own_class.legacy.pt" in manifest["files"]:
            block = scope.document("show", path, "0")["module"]
            self.assertIn("class Block(nn.Module)", block["source"])
            self.assertEqual(block["args"]["ratio"], 0.5)


class Folders(Folder):
    def shards(self, folder, weight_map=None):
        folder.mkdir(parents=True, exist_ok=True)
        for i in (1, 2):
            data = hostile.safe({f"w{i}": hostile.entry()}, struct.pack("<2f", i, i))
            (folder / f"model-0000{i}-of-00002.safetensors").write_bytes(data)
        names = {f"w{i}": f"model-0000{i}-of-00002.safetensors" for i in (1, 2)}
        index = {"metadata": {"total_size": 16}, "weight_map": weight_map or names}
        path = folder / "model.safetensors.index.json"
        path.write_text(json.dumps(index))
        return path

    def names(self, path):
        return sorted(t["name"] for t in scope.document("tree", path)["tensors"])

    def test_an_index_and_its_folder_are_one_model(self):
        index = self.shards(self.folder / "m")
        for path in (index, self.folder / "m"):
            document = scope.document("stats", path)
            self.assertEqual(self.names(path), ["w1", "w2"])
            self.assertEqual(document["findings"], [])
            self.assertEqual([t["mean"] for t in document["tensors"]], [1, 2])
            files = {t["file"] for t in document["tensors"]}
            self.assertEqual(len(files), 2)

    def test_a_folder_without_an_index_is_one_model_too(self):
        self.shards(self.folder / "m").unlink()
        self.assertEqual(self.names(self.folder / "m"), ["w1", "w2"])

    def test_a_missing_shard_is_reported(self):
        index = self.shards(self.folder / "m")
        (self.folder / "m/model-00002-of-00002.safetensors").unlink()
        document = scope.document("tree", index)
        self.assertIn("missing-shard", {f["code"] for f in document["findings"]})
        self.assertTrue(document["partial"])
        self.assertIn("w1", {t["name"] for t in document["tensors"]})

    def test_a_cache_of_links_is_followed(self):
        """The layout of huggingface_hub: snapshots of links into blobs."""
        index = self.shards(self.folder / "real")
        blobs = self.folder / "models--a--b" / "blobs"
        snapshot = self.folder / "models--a--b" / "snapshots" / "0123abcd"
        blobs.mkdir(parents=True)
        snapshot.mkdir(parents=True)
        for number, path in enumerate(sorted(index.parent.iterdir())):
            path.rename(blobs / f"{number:064x}")
            (snapshot / path.name).symlink_to(f"../../blobs/{number:064x}")
        self.assertEqual(self.names(snapshot), ["w1", "w2"])
        self.assertEqual(self.names(snapshot / index.name), ["w1", "w2"])
        one = snapshot / "model-00001-of-00002.safetensors"
        self.assertEqual(self.names(one), ["w1"])

    def test_paths_in_an_index_never_lead_outside(self):
        secret = self.write("secret.safetensors", plain_safetensors(1))
        for name in (
            "../secret.safetensors",
            str(secret),
            "x/../../secret.safetensors",
            "./../secret.safetensors",
            "..",
            "",
            "sub/../../secret.safetensors",
            "a\0b",
        ):
            with self.subTest(name=name):
                weights = {
                    "w1": "model-00001-of-00002.safetensors",
                    "layer0.weight": name,
                }
                index = self.shards(self.folder / "m", weights)
                document = scope.document("tree", index)
                codes = {f["code"] for f in document["findings"]}
                self.assertTrue(codes & {"unsafe-path", "missing-shard"}, codes)
                for tensor in document["tensors"]:
                    if tensor["name"] == "layer0.weight":
                        self.assertIs(tensor.get("readable"), False)


class Alone(Folder):
    """With no Python and an empty PATH; watched by strace."""

    FORBIDDEN = re.compile(
        r"^(?:execve|execveat|fork|vfork|socket|connect|bind|unlink|rename|mkdir"
        r"|chmod|kill|ptrace)\w*\("
    )

    def trace(self, *words):
        log = self.folder / "trace"
        command = [
            "strace",
            "-f",
            "-qq",
            "-o",
            log,
            "-e",
            "trace=%process,%network,%file",
        ]
        command += ["env", "-i", "PATH=", scope.PROGRAM, *map(str, words)]
        done = subprocess.run(command, capture_output=True, timeout=scope.PATIENCE)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        lines = [line.split(None, 1)[1] for line in log.read_text().splitlines()]
        starts = [i for i, line in enumerate(lines) if line.startswith("execve(")]
        mine = [i for i in starts if "torchoscope" in lines[i] and "= 0" in lines[i]]
        return lines[mine[-1] + 1 :]

    def check(self, *words):
        for line in self.trace(*words):
            self.assertIsNone(self.FORBIDDEN.match(line), line)
            self.assertNotIn("python", line.replace(str(scope.ROOT), ""), line)
            if re.match(r"(open|openat|creat)\w*\(", line):
                self.assertNotRegex(line, "O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", line)

    def test_it_starts_no_process_writes_no_file_and_opens_no_socket(self):
        folder, _ = scope.samples()
        attack = hostile.torch_zip(hostile.whole(hostile.SYSTEM))
        attacker = self.write("attack.pt", attack)
        for path in (
            folder / "checkpoint.pt",
            folder / "module_own_class.legacy.pt",
            folder / "script_scripted.pt",
            folder / "sharded",
            attacker,
        ):
            for words in (["tree", path], ["stats", path, "--json"], ["info", path]):
                with self.subTest(words=words):
                    self.check(*words)
        self.check("show", folder / "state_dict.pt", "fc.weight")
        self.assertFalse(Path(hostile.MARK).exists())


if __name__ == "__main__":
    unittest.main()
