#!/usr/bin/env python3
"""Golden screens: tests/screens/NAME.txt has a command in its first line and its output
below.

    screens_test.py             compare
    screens_test.py --rewrite   update the files; read the diff

    $ COLUMNS=40 torchoscope tree DEMO/resnet18.pth        (exit 1)

DEMO, SAMPLES, MODELS and RUNS are folders: the demo model, what tests/samples/make.py
makes with PyTorch, real files, recordings made by tests/screens/make_runs.c; FORMATS what
tests/samples/format_files.py makes. A screen whose file is not there is skipped.
"""

import difflib
import os
import re
import shlex
import subprocess
import sys
import unittest

import scope

SCREENS = scope.ROOT / "tests" / "screens"
FIRST = re.compile(r"\$ (?P<settings>(?:[A-Z_]+=\S* )*)torchoscope (?P<words>.*?)"
                   r"(?:\s+\(exit (?P<status>\d)\))?$")


def samples_folder():
    manifests = sorted((scope.ROOT / "build" / "samples").glob("2.*/manifest.json"))
    return manifests[-1].parent if manifests else scope.ROOT / "no-samples"


FOLDERS = {
    "DEMO": scope.demo_folder,
    "SAMPLES": samples_folder,
    "MODELS": lambda: scope.MODELS,
    "RUNS": scope.runs_folder,
    "FORMATS": scope.formats_folder,
}


class Screen:
    def __init__(self, path):
        self.path = path
        self.first, _, self.text = path.read_text().partition("\n")
        found = FIRST.match(self.first)
        if not found:
            raise ValueError(f"{path}: the first line is no command: {self.first}")
        self.settings = dict(w.split("=", 1) for w in found["settings"].split())
        self.status = int(found["status"] or 0)
        self.words = [self.place(word) for word in shlex.split(found["words"])]

    def place(self, word):
        folder, slash, name = word.partition("/")
        return FOLDERS[folder]() / name if slash and folder in FOLDERS else word

    def missing(self):
        """The first missing file of the command."""
        paths = (word for word in self.words if not isinstance(word, str))
        return next((path for path in paths if not path.exists()), None)

    def run(self):
        env = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", **self.settings}
        done = scope.run(*self.words, env=env)
        text = done.stdout.decode() + done.stderr.decode()
        for name, folder in FOLDERS.items():
            text = text.replace(f"{folder()}/", f"{name}/")
        return done.returncode, text


def screens():
    return [Screen(path) for path in sorted(SCREENS.glob("*.txt"))]


class Screens(unittest.TestCase):
    def test_screens_equal_the_golden_files(self):
        for screen in screens():
            with self.subTest(screen=screen.path.name):
                if screen.missing():
                    self.skipTest("the file of a screen is missing")
                status, text = screen.run()
                diff = difflib.unified_diff(
                    screen.text.splitlines(), text.splitlines(), "written", "now", n=1
                )
                self.assertEqual(text, screen.text, "\n" + "\n".join(diff))
                self.assertEqual(status, screen.status)


def rewrite():
    for screen in screens():
        if screen.missing():
            continue
        status, text = screen.run()
        first = re.sub(r"\s+\(exit \d\)$", "", screen.first)
        if status:
            first += f"        (exit {status})"
        screen.path.write_text(f"{first}\n{text}")


if sys.argv[1:] == ["--rewrite"]:
    rewrite()
else:
    unittest.main()
