"""The types that the package declares: mypy accepts them, and the code matches."""

import importlib.util
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

import torchoscope
from folder import TemporaryFolder

HERE = Path(__file__).resolve().parent
PACKAGE = Path(torchoscope.__file__).resolve().parents[1]
HAS_MYPY = importlib.util.find_spec("mypy") is not None
# torch is typed as well, and reading all of it would take minutes.
SETTINGS = """[mypy]
strict = True
cache_dir = cache
[mypy-torchoscope.*]
ignore_errors = True
[mypy-torch.*,IPython.*]
follow_imports = skip
"""
# Modules without a stub are not public; importing __main__ would run the program.
NOT_PUBLIC = r"""torchoscope\.__main__
torchoscope\.(?!_core|compat\.rp|compat\.(model_analysis|torch_vis)\.([eA-Z]|\w+_graph))[a-z_.]+\..*
"""


@unittest.skipUnless(HAS_MYPY, "mypy is not installed")
class Types(TemporaryFolder):
    def setUp(self):
        super().setUp()
        self.write("mypy.ini", SETTINGS)

    def run_tool(self, *words):
        return subprocess.run(
            [sys.executable, "-m", *map(str, words)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(PACKAGE)},
            capture_output=True,
            text=True,
        )

    def test_mypy_finds_exactly_the_marked_mistakes(self):
        file = HERE / "typing_user.py"
        lines = file.read_text().splitlines()
        wrong = {at for at, line in enumerate(lines, 1) if line.endswith("# wrong")}
        self.assertGreater(len(wrong), 5)
        done = self.run_tool("mypy", "--config-file", "mypy.ini", file)
        said = re.findall(r"typing_user\.py:(\d+): error", done.stdout)
        self.assertEqual(set(map(int, said)), wrong, done.stdout + done.stderr)

    def test_the_stubs_match_the_code(self):
        self.write("not_public", NOT_PUBLIC)
        words = ("--mypy-config-file", "mypy.ini", "--concise", "torchoscope")
        allow = ("--allowlist", "not_public", "--ignore-unused-allowlist")
        done = self.run_tool("mypy.stubtest", *allow, *words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
