"""The wheel from `make wheel`, installed with only a Python and pip: in a new venv of
every CPython found from 3.11 on, without network, torch or the project's folders.

`make test-wheel` runs this on a wheel made now, with TORCHOSCOPE_WHEEL naming it; in
`make test` there is none, and it is skipped."""

import functools
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path
from urllib.request import urlopen

import scope
from folder import TemporaryFolder

WHEEL = os.environ.get("TORCHOSCOPE_WHEEL")
VERSION = re.search(r"version: '(.+)'", (scope.ROOT / "meson.build").read_text())[1]
UNSAFE = b"cposix\nsystem\n(S'true'\ntR."

RECORD = """
import torch, torchoscope
model = torch.nn.Linear(4, 2)
with torchoscope.record(model) as recording:
    model(torch.ones(3, 4)).sum().backward()
assert recording.calls()[0].outputs[0].shape == [3, 2]
recording.save("run.scope")
assert len(torchoscope.open("run.scope").calls()) == 1
"""


def run(*command, env=None, cwd=None):
    return subprocess.run(
        command, capture_output=True, text=True, env=env, cwd=cwd, timeout=300
    )


@functools.lru_cache
def pythons():
    """A Python for each version that the wheel serves: {"3.11": path, ...}."""
    found = {}
    names = [shutil.which(f"python3.{minor}") for minor in range(11, 30)]
    names += [sys.executable, "/usr/bin/python3"]
    names += sorted(Path.home().glob(".pyenv/versions/*/bin/python3"))
    ask = (
        "import sys, ensurepip\n"
        "if sys.version_info >= (3, 11) and 't' not in sys.abiflags:\n"
        "    print('%d.%d' % sys.version_info[:2], sys._base_executable)"
    )
    for name in filter(None, names):
        if os.path.exists(name):
            said = run(name, "-c", ask).stdout
            if said:
                found.setdefault(*said.strip().split(" ", 1))
    return found


@unittest.skipUnless(WHEEL, "no wheel was made: make test-wheel")
class Wheel(TemporaryFolder):
    def must(self, *command, status=0, cwd=None, **env):
        """The stdout of a command, run without the test's environment variables."""
        done = run(*command, cwd=cwd, env={"LANG": "C.UTF-8", "PATH": "/none", **env})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def install(self, python, *options):
        command = [python, "-m", "pip", "install", "--no-index", "--quiet"]
        self.must(*command, "--disable-pip-version-check", *options, WHEEL)

    def install_into(self, folder):
        """Use the pip of a venv: Debian's Python has none without python3-pip."""
        venv = self.folder / "venv"
        self.must(next(iter(pythons().values())), "-m", "venv", venv)
        self.install(venv / "bin/python3", "--target", folder)

    def test_its_name_has_the_right_platform_tags(self):
        tag = re.search(r"-cp311-abi3-manylinux_2_(\d+)_x86_64\.whl$", WHEEL)
        self.assertTrue(tag, WHEEL)
        self.assertLessEqual(int(tag[1]), 36)

    def test_it_installs_on_every_python(self):
        self.assertTrue(pythons(), "no Python from 3.11 on has venv and pip")
        print("Pythons:", *pythons(), file=sys.stderr)
        sample, unsafe = self.folder / "resnet18.pth", self.folder / "unsafe.pkl"
        unsafe.write_bytes(UNSAFE)
        self.must(sys.executable, scope.ROOT / "tools/demo_model.py", sample)
        for version, python in pythons().items():
            with self.subTest(version):
                venv = self.folder / version
                self.must(python, "-m", "venv", venv)
                self.install(venv / "bin/python3")
                self.serves(venv, sample, unsafe)

    def serves(self, venv, sample, unsafe):
        """The program by its name, as a module, and the package."""
        python = venv / "bin/python3"
        for program in ([venv / "bin/torchoscope"], [python, "-m", "torchoscope"]):
            said = self.must(*program, "--version")
            self.assertEqual(said, f"torchoscope {VERSION}\n")
            self.assertIn("├── layer1", self.must(*program, "tree", sample))
            self.assertIn("SAFE", self.must(*program, "check", sample))
            self.must(*program, "check", unsafe, status=1)
            self.must(*program, "stats", sample)
            self.must(*program, "tree", sample, "--filter", "/conv[12]$/")
        said = self.must(venv / "bin/tt-model-analysis", "--help")
        self.assertIn("--model-path FILE.py::FUNCTION", said)
        code = "import torchoscope; print(torchoscope.__version__)"
        self.assertEqual(self.must(python, "-c", code), f"{VERSION}\n")
        self.assertTrue((venv / "share/man/man1/torchoscope.1").exists())

    def page(self, *command, **env):
        """The page that a command serves; ends the command."""
        env = {"LANG": "C.UTF-8", "PATH": "/none", **env}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env
        ) as process:
            said = process.stdout.readline()
            found = re.search(r"http://localhost:(\d+)/", said)
            page = found and urlopen(f"http://localhost:{found[1]}/").read()
            process.terminate()
            process.communicate()
        self.assertIsNotNone(found, said)
        return page.decode()

    def test_it_serves_a_page(self):
        sample = self.folder / "resnet18.pth"
        self.must(sys.executable, scope.ROOT / "tools/demo_model.py", sample)
        python = next(iter(pythons().values()))
        venv, folder = self.folder / "page", self.folder / "target"
        self.must(python, "-m", "venv", venv)
        self.install(venv / "bin/python3")
        self.install(venv / "bin/python3", "--target", folder)
        words = "serve", sample, "--port", "0"
        self.assertIn("page.js", self.page(venv / "bin/torchoscope", *words))
        self.assertIn("page.js", self.page(folder / "bin/torchoscope", *words))
        code = f"import torchoscope; torchoscope.serve({str(sample)!r}, port=0).wait()"
        self.assertIn("page.js", self.page(venv / "bin/python3", "-c", code))

    def test_it_runs_on_the_platforms_of_the_readme(self):
        glibc = re.search(r"manylinux_2_(\d+)_", Path(WHEEL).name)[1]
        said = re.search(r"glibc 2\.(\d+) or later", (scope.ROOT / "docs/install.md").read_text())
        self.assertLessEqual(int(glibc), int(said[1]))

    def test_it_bundles_its_libraries(self):
        folder = self.folder / "target"
        self.install_into(folder)
        usual = {"linux-vdso", "libc", "libm", "ld-linux-x86-64"}
        inside = ["torchoscope/_core.abi3.so", "torchoscope/torchoscope-http.so"]
        for file in [*inside, "bin/torchoscope"]:
            said = self.must("/usr/bin/ldd", folder / file, PATH="/usr/bin:/bin")
            needs = {Path(line.split()[0]).name for line in said.splitlines()}
            brought = {one.name for one in folder.glob("torchoscope.libs/*")}
            names = {name.split(".")[0] for name in needs - brought}
            self.assertLessEqual(names, usual)
            self.assertNotIn("not found", said)

    def test_it_records_where_there_is_a_torch(self):
        folder = self.folder / "target"
        self.install_into(folder)
        with_torch = [one for one in (scope.VENV, scope.DEBIAN) if scope.has_torch(one)]
        if not with_torch:
            self.skipTest("no torch")
        for python in with_torch:
            with self.subTest(python):
                self.must(python, "-c", RECORD, cwd=self.folder, PYTHONPATH=str(folder))
                file = self.folder / "run.scope"
                self.assertIn("Linear", self.must(folder / "bin/torchoscope", file))


if __name__ == "__main__":
    unittest.main()
