#!/usr/bin/env python3
"""README.md: its examples print the shown output.

    readme_test.py             compare
    readme_test.py --rewrite   update the output of the commands on the demo models

Commands on the demo models are compared exactly, Python without times."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

import scope
from folder import TemporaryFolder

PAGE = scope.ROOT / "README.md"
SHELL = re.compile(r"^```\n\$ (torchoscope [^\n]+)\n(.*?)^```", re.M | re.S)
PYTHON = re.compile(r"^```python\n(.*?)^```\n\n```\n(.*?)^```", re.M | re.S)


def printed(line):
    """The output of a command, or None if its files are not the demo models."""
    demo = scope.demo_folder()
    files = re.findall(r"\S+\.(?:pth|scope|safetensors)", line)
    if not all((demo / file).exists() for file in files):
        return None
    path = f"{Path(scope.PROGRAM).resolve().parent}:{os.environ['PATH']}"
    settings = {"PATH": path, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        line, shell=True, cwd=demo, env=settings, capture_output=True, text=True
    )
    return done.stdout + done.stderr


class Readme(TemporaryFolder):
    def test_commands_print_the_shown_output(self):
        compared = 0
        for line, shown in SHELL.findall(PAGE.read_text()):
            said = printed(line)
            if said is not None:
                compared += 1
                self.assertEqual(said, shown, line)
        self.assertGreaterEqual(compared, 3)

    def test_python_prints_the_shown_output(self):
        import torch

        if torch.__version__.startswith("1."):
            self.skipTest("the answers are those of torch 2")
        from gallery_test import masked, run_python

        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        for lines, shown in PYTHON.findall(PAGE.read_text()):
            said = run_python(lines, {"__name__": "readme"})
            self.assertEqual(masked(said), masked(shown), said)

    def test_links_are_valid(self):
        text = PAGE.read_text()
        heads = {
            re.sub(r"[^\w -]", "", head).lower().replace(" ", "-")
            for head in re.findall(r"^#+ (.+)$", text, re.M)
        }
        for link in re.findall(r"\]\(([^)]+)\)", text):
            if link.startswith("#"):
                self.assertIn(link[1:], heads)
            else:
                self.assertTrue((scope.ROOT / link).exists(), link)


def rewrite():
    def now(block):
        said = printed(block[1])
        return block[0] if said is None else f"```\n$ {block[1]}\n{said}```"

    PAGE.write_text(SHELL.sub(now, PAGE.read_text()))


if sys.argv[1:] == ["--rewrite"]:
    rewrite()
elif __name__ == "__main__":
    unittest.main()
