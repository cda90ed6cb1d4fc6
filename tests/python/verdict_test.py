# flavours: both
"""Verdicts on every known way to run code when a file is loaded, and on ordinary files.
Nothing here is ever loaded by Python."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import scope  # first: it knows where hostile is
import hostile

MARK = Path(hostile.MARK)
MODEL_ENDINGS = {".pt", ".pth", ".bin", ".ckpt", ".pkl", ".jit", ".safetensors"}
# Among the models beside the project.
HOSTILE_MODELS = re.compile(
    r"picklescan/\S*(malicious|GHSA|exploit|sploit|bypass|injection|urlopen)"
    r"|modelaudit/\S*(malicious|exploits_|attack)"
)
OWN_CLASSES = re.compile(r"aegnn/last\.ckpt|pytorch-ml/net\.pth")


def info(path):
    """The program's document about a file; None if it refuses it."""
    done = scope.run("info", path, "--json")
    if done.returncode == 2:
        return None
    if done.returncode not in (0, 1):
        said = done.stderr[-300:]
        raise AssertionError(f"{path}: status {done.returncode}: {said!r}")
    return json.loads(done.stdout)


def all_infos(paths):
    paths = list(paths)
    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(zip(paths, pool.map(info, paths)))


def suspects(document):
    """The unknown globals, for a message."""
    return [
        (one["name"], one["trust"], one.get("about"))
        for one in document["globals"]
        if one["trust"] != "known"
    ]


class Unmarked(unittest.TestCase):
    """The commands in the samples would make this file."""

    def setUp(self):
        MARK.unlink(missing_ok=True)
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = Path(made.name)

    def tearDown(self):
        self.assertFalse(MARK.exists(), "something was run")


class Hostile(Unmarked):
    def setUp(self):
        super().setUp()
        self.expected = {}
        for name, data, expect in hostile.all_files():
            path = self.folder / name
            path.write_bytes(data)
            self.assertNotIn(path, self.expected, "two samples of one name")
            self.expected[path] = expect

    def check(self, path, document, expect):
        if document is None:
            self.assertTrue(
                expect.get("refused") or "verdict" not in expect, "it was refused"
            )
            return
        told = (suspects(document), document["findings"])
        if "verdict" in expect:
            self.assertIn(document["verdict"], expect["verdict"], told)
        codes = {finding["code"] for finding in document["findings"]}
        if expect.get("findings"):
            self.assertTrue(codes & set(expect["findings"]), (expect, codes))
        if "pickle-malformed" in codes or "pickle-override" in codes:
            self.assertIn(document["verdict"], ("unsafe", "inconclusive"), told)

    def test_every_technique_gets_its_verdict(self):
        judged = 0
        for path, document in all_infos(self.expected):
            with self.subTest(name=path.name):
                self.check(path, document, self.expected[path])
                judged += "verdict" in self.expected[path]
        self.assertGreater(judged, 250)

    def test_findings_survive_damage(self):
        """Cut anywhere behind the payload, or with anything behind it, a pickle is
        still unsafe; a zip around it is never safe."""
        body = hostile.whole(hostile.SYSTEM + b"0" + hostile.storage() * 20)
        payload = body.index(b"R") + 1
        paths = {}
        for at in range(payload, len(body), 23):
            tails = {"cut": b"", "junk": b"\xff" * 9, "zip": b"PK\3\4"}
            for word, tail in tails.items():
                path = self.folder / f"damaged_{word}_{at}.pkl"
                path.write_bytes(body[:at] + tail)
                paths[path] = ("unsafe",)
        packed = hostile.torch_zip(body)
        for at in range(packed.index(body) + payload, len(packed), 41):
            path = self.folder / f"damaged_{at}.pt"
            path.write_bytes(packed[:at])
            paths[path] = ("unsafe", "inconclusive")
        for path, document in all_infos(paths):
            with self.subTest(name=path.name):
                self.assertIsNotNone(document)
                self.assertIn(document["verdict"], paths[path])

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_nothing_is_run_and_only_the_model_is_opened(self):
        log = self.folder / "trace"
        kinds = "trace=%process,%network,%file"
        chosen = [p for p in self.expected if p.name.startswith(("runs_", "zip_evil"))]
        # strace of each file would take too long: run every third.
        for path in chosen[::3]:
            command = ["strace", "-f", "-qq", "-o", log, "-e", kinds, "env", "-i"]
            command += [f"PATH={self.folder}", scope.PROGRAM, "info", "--json", path]
            done = subprocess.run(list(map(str, command)), capture_output=True)
            self.assertIn(done.returncode, (0, 1, 2), done.stderr)
            with self.subTest(name=path.name):
                self.check_trace(log.read_text(), path)

    def check_trace(self, trace, path):
        lines = [line.split(None, 1)[1] for line in trace.splitlines()]
        starts = [i for i, line in enumerate(lines) if line.startswith("execve(")]
        for line in lines[starts[-1] + 1 :]:
            self.assertNotRegex(line, r"^(exec|fork|vfork|socket|connect|unlink|kill)")
            opened = re.match(r'(?:open|creat)\w*\((?:AT_FDCWD, )?"([^"]*)"', line)
            if opened and opened[1] != str(path):
                self.assertRegex(opened[1], r"^/(etc/ld\.so|lib|usr/lib|proc/|sys/)")
            self.assertNotRegex(line, r"O_WRONLY|O_RDWR|O_CREAT")


class Ordinary(Unmarked):
    @unittest.skipUnless(find_spec("torch"), "torch is not installed")
    def test_ordinary_files_are_never_unsafe(self):
        made = self.folder / "made"
        command = [sys.executable, scope.SAMPLES / "safety" / "ordinary.py", made]
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
        manifest = json.loads((made / "manifest.json").read_text())
        self.assertGreater(len(manifest), 350)
        for path, document in all_infos(made / name for name in manifest):
            with self.subTest(name=path.name):
                self.assertIsNotNone(document)
                verdict = document["verdict"]
                self.assertIn(verdict, manifest[path.name], suspects(document))

    def test_the_samples_of_all_formats_are_never_unsafe(self):
        folder, manifest = scope.samples()
        names = [n for n in manifest["files"] if (folder / n).suffix in MODEL_ENDINGS]
        for path, document in all_infos(folder / name for name in names):
            if document is None:
                continue
            with self.subTest(name=path.name):
                # A GraphModule is source code that is run when it is loaded.
                right = ["unsafe"] if "graph" in path.name else ["safe", "needs code"]
                right = ["safe"] if "state_dict" in path.name else right
                self.assertIn(document["verdict"], right, suspects(document))


@unittest.skipUnless(scope.MODELS.is_dir(), "no models beside the project")
class Found(Unmarked):
    """Real files: the attacks of other scanners, and published models."""

    def models(self):
        for path in sorted(scope.MODELS.rglob("*")):
            if path.is_file() and path.suffix in MODEL_ENDINGS:
                yield path

    def test_hostile_files_are_detected_without_false_alarms(self):
        caught = ordinary = 0
        for path, document in all_infos(self.models()):
            name = str(path.relative_to(scope.MODELS))
            if document is None:  # not a pickle
                self.assertIsNone(HOSTILE_MODELS.match(name), name)
                continue
            verdict = document["verdict"]
            with self.subTest(name=name):
                if HOSTILE_MODELS.match(name):
                    caught += 1
                    self.assertIn(verdict, ("unsafe", "inconclusive"))
                else:
                    ordinary += 1
                    right = "needs code" if OWN_CLASSES.match(name) else "safe"
                    self.assertEqual(verdict, right, suspects(document))
        self.assertGreaterEqual(caught, 40)
        self.assertGreaterEqual(ordinary, 80)


if __name__ == "__main__":
    unittest.main()
