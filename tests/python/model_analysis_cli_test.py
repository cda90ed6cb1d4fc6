# flavours: both
"""The command tt-model-analysis: what it calls and writes, its errors and status."""

import contextlib
import io
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

import torchoscope
from folder import TemporaryFolder
from model_analysis_test import check
from torchoscope.compat.model_analysis import cli, extract_unique_modules
from torchoscope.op_kinds import why_not

HAS_OPS = why_not() is None
needs_ops = unittest.skipUnless(HAS_OPS, "this torch cannot record operations")
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(torchoscope.__file__)))


class Command(TemporaryFolder):
    FILE = """
import torch
number = 3

def note(what):
    with open("calls", "a") as file:
        print(what, file=file)

note("imported")

class Net(torch.nn.Sequential):
    pass

def load():
    note("load")
    return Net(torch.nn.Linear(4, 2))

def inputs():
    note("inputs")
    return [torch.zeros(1, 4)]

def wrong():
    return torch.zeros(1, 5)

def fails():
    raise KeyError("no weights")

def text():
    return "model"
"""

    def setUp(self):
        super().setUp()
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        self.write("f.py", self.FILE)

    def run_it(self, model, inputs="f.py::inputs", *more):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            status = cli.main(["--model-path", model, "--inputs-path", inputs, *more])
        return status, said.getvalue()

    @unittest.skipIf(HAS_OPS, "this torch can record operations")
    def test_an_old_torch_lists_modules_only(self):
        status, said = self.run_it("f.py::load")
        self.assertEqual(status, 1)
        self.assertRegex(said, "^tt-model-analysis: torch .* use torch 2.1 or later\n$")
        self.assertEqual(Path("calls").read_text(), "imported\n")
        load, inputs = map(cli.load_function_from_path, ("f.py::load", "f.py::inputs"))
        with contextlib.redirect_stderr(io.StringIO()):
            modules = extract_unique_modules(load, inputs)
        self.assertEqual(modules["modules"][1]["input_shapes"], ["1x4"])

    @needs_ops
    def test_each_function_is_called_once(self):
        status, said = self.run_it("f.py::load")
        self.assertEqual(status, 0, said)
        self.assertEqual(Path("calls").read_text(), "imported\nload\ninputs\n")
        files = ["pytorch_ops.json", "unique_modules.json"]
        self.assertEqual(sorted(os.listdir("Net")), files)
        status, said = self.run_it("f.py::load", "f.py::inputs", "--dir", "a/b")
        self.assertEqual(status, 0, said)
        modules = json.loads(Path("a/b/unique_modules.json").read_text())
        check(modules, json.loads(Path("a/b/pytorch_ops.json").read_text()))

    @needs_ops
    def test_errors_are_one_clear_sentence(self):
        self.write("broken.py", "import torch\nraise ValueError('no')\n")
        inputs = "f.py::inputs"
        wanted = {
            ("f.py", inputs): "Expected 'file.py::function_name', got 'f.py'",
            ("f.py::", inputs): "Expected 'file.py::function_name', got 'f.py::'",
            ("none.py::load", inputs): "File not found: none.py",
            ("f.py::lod", inputs): "f.py has no function 'lod'",
            ("f.py::number", inputs): "'number' in f.py is int, which is not callable",
            ("f.py::load", "f.py::none"): "f.py has no function 'none'",
            ("f.py::text", inputs): "the model function returned str, not a torch.nn.M",
        }
        for words, sentence in wanted.items():
            status, said = self.run_it(*words)
            self.assertEqual(status, 1)
            last = said.splitlines()[-1]
            self.assertIn(f"tt-model-analysis: {sentence}", last)
            self.assertNotIn("Traceback", said)
        kinds = [ValueError, ValueError, FileNotFoundError, AttributeError, TypeError]
        for (path, _), kind in zip(wanted, kinds):
            with self.assertRaises(kind):
                cli.load_function_from_path(path)

    @needs_ops
    def test_errors_in_user_code_show_its_lines(self):
        self.write("broken.py", "import torch\nraise ValueError('no')\n")
        wanted = {
            ("f.py::fails", "f.py::inputs"): "f.py::fails: KeyError: 'no weights'",
            ("f.py::load", "f.py::fails"): "f.py::fails: KeyError: 'no weights'",
            ("broken.py::load", "f.py::inputs"): "broken.py::load: ValueError: no",
            ("f.py::load", "f.py::wrong"): "f.py::load: RuntimeError: mat1 and mat2",
        }
        for words, sentence in wanted.items():
            status, said = self.run_it(*words)
            self.assertEqual(status, 1)
            self.assertIn(f"tt-model-analysis: {sentence}", said.splitlines()[-1])
            self.assertNotIn("model_analysis/cli.py", said)
        self.assertFalse(Path("Net").exists())

    @needs_ops
    def test_a_folder_that_cannot_be_written(self):
        self.write("file", "")
        status, said = self.run_it("f.py::load", "f.py::inputs", "--dir", "file")
        self.assertEqual(status, 1)
        self.assertIn("tt-model-analysis: ", said.splitlines()[-1])

    def test_wrong_arguments(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as ended:
            cli.main(["--model-path", "f.py::load"])
        self.assertEqual(ended.exception.code, 2)
        self.assertIn("--inputs-path", said.getvalue())

    def test_without_torch(self):
        with mock.patch.dict(sys.modules, {"torch": None}):
            status, said = self.run_it("f.py::load")
        self.assertEqual(status, 1)
        self.assertIn("has no torch", said)

    @needs_ops
    def test_as_a_process(self):
        words = ["--model-path", "f.py::load", "--inputs-path", "f.py::inputs"]
        program = ["-P", "-m", "torchoscope.compat.model_analysis.cli"]
        done = subprocess.run(
            [sys.executable, *program, *words],
            env={**os.environ, "PYTHONPATH": PACKAGE},
            capture_output=True,
            text=True,
        )
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertTrue(Path("Net/pytorch_ops.json").exists())


if __name__ == "__main__":
    unittest.main()
