"""Live models from the shell: the program starts Python for model.py::make, and python -m
torchoscope does the same by itself."""

import contextlib
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import types
import unittest

import scope
from folder import TemporaryFolder

import torchoscope
from torchoscope import _core, shell, targets

HERE = None  # in this process, which has imported torch: starting a new Python is slow
PROGRAM = [scope.PROGRAM]
MODULE = [sys.executable, "-m", "torchoscope"]
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(torchoscope.__file__)))

MODEL = """
import sys
import torch
import helper

print("made in", __name__, len(sys.argv))

def make(width=3, deep=False):
    torch.manual_seed(0)
    layers = [torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 2)]
    return torch.nn.Sequential(*(layers * 2 if deep else layers))

class Net(torch.nn.Module):
    def __init__(self, width=helper.WIDTH):
        super().__init__()
        self.head = torch.nn.Linear(width, 3)

    def forward(self, x, scale=1.0):
        print("forward")
        return self.head(x) * scale

class Spoilt(Net):
    def forward(self, x):
        return self.head(x) / 0

class Slow(Net):
    def forward(self, x):
        import time
        print("waiting", flush=True)
        time.sleep(60)

net = Net()
number = 3

def tensor():
    return torch.ones(2, 4)

def two():
    return torch.ones(2, 4), 2.0

def named():
    return {"x": torch.ones(2, 4), "scale": 3.0}

def shape():
    return 7, 4

def wrong():
    raise ValueError("no such weights")

def leave():
    sys.exit(3)
"""


class Shell(TemporaryFolder):
    def setUp(self):
        super().setUp()
        self.write("a b/model.py", MODEL)
        self.write("a b/helper.py", "WIDTH = 4\n")
        self.model = f"{self.folder}/a b/model.py"

    def run_here(self, words):
        out, err = io.StringIO(), io.StringIO()
        path, argv = sys.path[:], sys.argv[:]
        live = _core.live("torchoscope", *words)
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out):
            with contextlib.redirect_stderr(err):
                status = shell.run(*live)
        sys.path[:], sys.argv[:] = path, argv
        targets._loaded.clear()
        for name in set(sys.modules) & {"model", "helper", "here", "needs", "broken"}:
            del sys.modules[name]
        return types.SimpleNamespace(
            returncode=status, stdout=out.getvalue(), stderr=err.getvalue()
        )

    def run_words(self, *words, which=HERE, **env):
        words = list(map(str, words))
        if which is HERE and not env:
            return self.run_here(words)
        which = which or PROGRAM
        env = {**os.environ, "TORCHOSCOPE_PYTHON": sys.executable, **env}
        if env.get("PYTHONPATH"):
            env["PYTHONPATH"] = PACKAGE
        return subprocess.run(
            [*which, *words],
            capture_output=True,
            text=True,
            timeout=scope.PATIENCE,
            cwd=self.folder,
            env={key: value for key, value in env.items() if value is not None},
        )

    def good(self, *words, status=0, **options):
        done = self.run_words(*words, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def bad(self, *words, **options):
        """The last sentence of the error; only the user's own traceback may be
        shown."""
        done = self.run_words(*words, **options)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertNotIn("shell.py", done.stderr)
        self.assertNotIn("targets.py", done.stderr)
        last = done.stderr.splitlines()[-1]
        self.assertTrue(last.startswith("torchoscope: "), done.stderr)
        return last.partition(": ")[2], done

    def target(self, name):
        return f"{self.model}::{name}"


class Summary(Shell):
    def test_the_program_and_the_module_show_one_pass(self):
        for which in (PROGRAM, MODULE):
            done = self.good(
                "summary", self.target("make"), "--inputs", "5x4", which=which
            )
            self.assertIn("made in model 1\n", done.stdout)
            self.assertIn("input 5×4 float32, made at random", done.stdout)
            self.assertRegex(done.stdout, r"2: Linear\(3→2\).* 5×3 5×2 ")
            # A user who chose the Python knows it.
            self.assertEqual(done.stderr.count("with "), which is PROGRAM)
            self.assertEqual(done.stderr.count(", torch "), which is PROGRAM)

    def test_json_is_valid_although_the_model_prints(self):
        done = self.good("summary", self.target("Net"), "-i", "2x4", "--json")
        self.assertEqual(json.loads(done.stdout)["run"]["calls"], 2)
        self.assertIn("forward\n", done.stderr)

    def test_columns_and_depth_are_those_of_a_tree(self):
        words = ("--columns", "params", "--depth", "0")
        done = self.good("summary", self.target("make"), *words)
        self.assertRegex(done.stdout, r"(?m)^Sequential: Sequential +23$")
        self.assertNotIn("Linear", done.stdout)
        last, _ = self.bad("summary", self.target("make"), "--columns", "pramas")
        self.assertIn("params", last)

    def test_a_target_is_a_function_a_class_a_model_or_a_call_with_plain_values(self):
        for name, params in (
            ("Net", 15),
            ("net", 15),
            ("make(5, deep=True)", 37),
            ("Net(width=9)", 30),
        ):
            done = self.good("summary", self.target(name), "--json")
            self.assertEqual(json.loads(done.stdout)["counts"]["unique"], params)
        self.assertIn("Net.forward takes (x, scale=1.0)", done.stderr)
        # A target without a command is explored.
        self.assertIn("Linear(4→3)", self.good(self.target("net")).stdout)

    def test_inputs_are_shapes_or_the_result_of_a_function(self):
        for words, shape in (
            (["2x4:float32"], [2, 4]),
            ([self.target("tensor")], [2, 4]),
            ([self.target("two")], [2, 4]),
            ([self.target("named")], [2, 4]),
            ([self.target("shape")], [7, 4]),
            (["6x4", "6x3"], [6, 4]),
        ):
            given = [word for one in words for word in ("--inputs", one)]
            done = self.good("summary", self.target("net"), "--json", *given)
            rows = json.loads(done.stdout)["modules"]
            self.assertEqual(rows[-1]["in_shape"], shape)

    def test_a_non_finite_result_is_a_finding(self):
        done = self.good("summary", self.target("Spoilt"), "-i", "2x4", status=1)
        self.assertIn("✗", done.stdout)

    def test_a_module_is_found_by_its_name(self):
        folder = self.folder / "a b"
        self.write("a b/inner/__init__.py", "")
        self.write("a b/inner/nets.py", "from model import make")
        words = ["summary", "inner.nets::make", "--json"]
        for which in (PROGRAM, MODULE):
            done = self.good(*words, which=["env", "-C", folder, *which])
            self.assertEqual(json.loads(done.stdout)["counts"]["unique"], 23)

    @unittest.skipUnless(importlib.util.find_spec("transformers"), "no transformers")
    def test_a_model_of_transformers_is_made_as_usual(self):
        done = self.good("summary", "transformers::BertTinyModel", status=2)
        self.assertIn("there is no 'BertTinyModel'", done.stderr)
        words = ("transformers::SqueezeBertModel", "-i", "1x5:int64", "--json")
        facts = json.loads(self.good("summary", *words).stdout)
        self.assertEqual(facts["modules"][0]["in_shape"], [1, 5])

    def test_a_screen_of_a_live_model_is_printed(self):
        words = ("explore", self.target("net"), "-i", "2x4", "--panel", "5")
        lines = self.good(*words, "--print=100x24").stdout.splitlines()
        self.assertEqual(len(lines), 24)
        self.assertIn("  live  ", lines[0])
        self.assertIn("── 5 Performance ──", lines[1])
        self.assertIn("--print is a size", self.bad(*words, "--print=7")[0])

    def test_a_file_is_shown_as_tree_shows_it(self):
        self.good("record", self.target("net"), "-i", "2x4", "-o", "x.scope")
        tree = self.good("tree", "x.scope", which=PROGRAM).stdout
        for which in (PROGRAM, MODULE):
            for command in ("explore", "summary"):
                done = self.good(command, "x.scope", which=which)
                self.assertEqual((done.stdout, done.stderr), (tree, ""))
        last, _ = self.bad("summary", "x.scope", "-i", "2x4", which=PROGRAM)
        self.assertIn("is not run", last)


class Files(Shell):
    def test_record_writes_a_file_and_prints_how_to_open_it(self):
        done = self.good("record", self.target("Net"), "-i", "2x4", "--keep", "he*")
        self.assertIn("torchoscope: wrote Net.scope, 2 calls", done.stderr)
        self.assertIn("look at it: torchoscope Net.scope\n", done.stderr)
        recording = torchoscope.open(self.folder / "Net.scope")
        self.assertEqual(recording.values("head")[0].shape, (2, 3))
        self.assertEqual(recording.calls("head")[0].grad_outputs, [])

    def test_train_also_runs_backward(self):
        words = ("-i", "2x4", "--train", "--mode", "exact", "-o", "t.scope")
        self.good("record", self.target("make"), *words)
        recording = torchoscope.open(self.folder / "t.scope")
        self.assertEqual(recording.facts["mode"], "exact")
        self.assertEqual(recording.calls("2")[0].grad_outputs[0].mean, 1)

    def test_export_writes_every_format(self):
        for form in ("txt", "md", "json", "csv", "html"):
            words = ("-i", "5x4", "-o", f"x.{form}")
            self.good("export", self.target("make"), *words)
            self.assertIn("Linear", (self.folder / f"x.{form}").read_text())
        words = ("-i", "5x4", "-o", "x.html")
        self.good("export", self.target("make"), *words, which=PROGRAM)
        page = (self.folder / "x.html").read_text()
        self.assertTrue(page.startswith("<!doctype html>"))
        self.assertNotIn("SAFE", page)  # a live module is not a file
        words = ("-i", "5x4", "-o", "-", "--form", "json")
        done = self.good("export", self.target("Net(4)"), *words)
        self.assertEqual(json.loads(done.stdout)["run"]["calls"], 2)
        last, _ = self.bad("export", self.target("wrong"), "-o", "x.pdf")
        self.assertIn("pdf", last)
        words = ("-i", "5x4", "-o", "x.page", "--form", "html")
        self.good("export", self.target("make"), *words)
        page = (self.folder / "x.page").read_text()
        self.assertTrue(page.startswith("<!doctype html>"))
        # Atomic: the old file stays until the new one is complete.
        (self.folder / "old").mkdir()
        before = self.folder / "old" / "x.md"
        before.write_text("as it was")
        before.parent.chmod(0o500)
        if not os.access(before.parent, os.W_OK):  # root may write everywhere
            self.bad("export", self.target("make"), "-i", "5x4", "-o", "old/x.md")
            self.assertEqual(before.read_text(), "as it was")
        before.parent.chmod(0o700)
        last, _ = self.bad("export", self.target("make"), "-o", "not/there.md")
        self.assertEqual(last, "not/there.md: No such file or directory")


class Diff(Shell):
    def test_a_live_model_and_a_file_are_compared(self):
        import torch

        torch.manual_seed(0)
        layers = torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2)
        state = torch.nn.Sequential(*layers).state_dict()
        torch.save(state, self.folder / "same.pth")
        state["2.weight"] += 1
        torch.save(state, self.folder / "other.pth")
        for which in (HERE, PROGRAM):
            words = "diff", self.target("make")
            self.good(*words, "same.pth", which=which)
            done = self.good(*words, "other.pth", status=1, which=which)
            self.assertIn("2.weight", done.stdout)
        done = self.good(*words, "other.pth", "--json", status=1)
        self.assertFalse(json.loads(done.stdout)["equal"])
        self.good(*words, "other.pth", "--atol", "2")
        done = self.good(*words, "other.pth", "--quiet", status=1)
        self.assertEqual(done.stdout, "")
        done = self.good(*words, self.target("make(5)"), "--md", status=1)
        self.assertIn("|", done.stdout)
        look = "--ascii", "--color=always"
        done = self.good(*words, self.target("make(5)"), *look, status=1)
        self.assertTrue(done.stdout.isascii())
        self.assertIn("\x1b[", done.stdout)
        last, _ = self.bad(*words, "other.pth", "--progress")
        self.assertIn("--progress is for two files", last)

    def test_all_shows_rows_that_are_otherwise_cut(self):
        code = "nn.ModuleDict({chr(97 + i) * i: nn.Linear(i, n) for i in range(1, 26)})"
        self.write("many.py", f"from torch import nn\ndef of(n):\n    return {code}\n")
        words = "diff", "many.py::of(2)", "many.py::of(3)"
        self.assertIn("more (--all)", self.good(*words, status=1).stdout)
        self.assertNotIn("more (--all)", self.good(*words, "--all", status=1).stdout)

    def test_a_missing_side_is_reported(self):
        last, _ = self.bad("diff", self.target("make"), "no.pth")
        self.assertEqual(last.count("no.pth"), 1)
        last, _ = self.bad("diff", self.target("mak"), "no.pth")
        self.assertIn("did you mean make?", last)


class Mistakes(Shell):
    def test_an_unknown_name_is_reported(self):
        last, _ = self.bad("summary", self.target("mak"))
        self.assertEqual(last, f"{self.model}::mak: there is no 'mak'; did you mean make?")
        last, _ = self.bad("summary", self.target("q"))
        self.assertIn("there are Net, Slow, Spoilt, leave, make", last)
        last, _ = self.bad("summary", "nowhere.py::make")
        self.assertEqual(last, "nowhere.py: no such file")
        last, _ = self.bad("summary", "no_such_package.part::make")
        self.assertIn("has no module 'no_such_package'", last)
        self.write("here.py", "")
        last, _ = self.bad("summary", "here::make")
        self.assertEqual(last, "here::make: there is no 'make'")
        last, _ = self.bad("summary", "here.py", which=PROGRAM)
        self.assertIn("write here.py::FUNCTION", last)
        last, _ = self.bad("record", "here.py", which=PROGRAM)
        self.assertIn("FILE.py::FUNCTION", last)

    def test_only_plain_values_are_accepted(self):
        for name in ("make(x)", "make(__import__('os'))", "make()()", "a b", "", "1"):
            last, done = self.bad("summary", self.target(name))
            self.assertIn("write", last)
            self.assertNotIn("made in", done.stdout)

    def test_objects_that_are_not_models_are_refused(self):
        last, _ = self.bad("summary", self.target("tensor"))
        self.assertIn("gives a Tensor, and no torch.nn.Module", last)
        last, _ = self.bad("summary", self.target("number"))
        self.assertIn("gives an int", last)
        last, _ = self.bad("summary", self.target("make(1, 2, 3)"))
        self.assertIn("takes (width=3, deep=False): too many", last)

    def test_the_users_own_traceback_is_shown(self):
        for which in (PROGRAM, MODULE):
            last, done = self.bad("summary", self.target("wrong"), which=which)
            self.assertEqual(last, f"{self.model}::wrong: ValueError: no such weights")
            self.assertIn('raise ValueError("no such weights")', done.stderr)
            self.assertEqual(done.stderr.count('  File "'), 1, done.stderr)

    def test_code_that_cannot_be_parsed_or_exits(self):
        self.write("broken.py", "def make(:\n")
        last, done = self.bad("summary", "broken.py::make")
        self.assertIn("broken.py::make: SyntaxError: ", last)
        self.assertEqual(done.stderr.count('  File "'), 1, done.stderr)
        self.write("needs.py", "import not_installed_here\n")
        for word in ("needs.py::make", "needs::make"):
            last, done = self.bad("summary", word)
            self.assertIn("No module named 'not_installed_here'", last)
            self.assertEqual(done.stderr.count('  File "'), 1, done.stderr)
        last, _ = self.bad("summary", self.target("leave"))
        self.assertEqual(last, f"{self.model}::leave: it called sys.exit(3)")

    def test_inputs_that_do_not_fit(self):
        last, done = self.bad("summary", self.target("net"), "-i", "2x5")
        self.assertIn("mat1 and mat2 shapes cannot be multiplied", last)
        self.assertIn("(model.py:", last)
        self.assertIn("Net.forward takes (x, scale=1.0)", last)
        self.assertIn("✗ head", done.stdout)
        last, _ = self.bad("record", self.target("net"))
        self.assertIn("it was not run; Net.forward takes (x, scale=1.0)", last)
        last, _ = self.bad("summary", self.target("net"), "-i", "2xq")
        self.assertIn("--inputs 2xq: write 1x3x224x224", last)
        last, _ = self.bad("summary", self.target("net"), "-i", "2x4:flat32")
        self.assertIn("torch has no dtype 'flat32'", last)
        words = ("summary", self.target("net"), "--inptus", "2x4")
        last, _ = self.bad(*words, which=PROGRAM)
        self.assertIn("did you mean --inputs?", last)

    def test_a_file_named_like_a_module_of_python(self):
        self.write("random.py", "import torch\ndef make():\n    return torch.nn.ReLU()\n")
        for which in (PROGRAM, MODULE):
            self.good("summary", "random.py::make", "-i", "3", which=which)

    def test_ctrl_c_ends_it_quietly(self):
        for which in (PROGRAM, MODULE):
            child = subprocess.Popen(
                [*which, "summary", self.target("Slow"), "-i", "2x4"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={
                    **os.environ,
                    "TORCHOSCOPE_PYTHON": sys.executable,
                    "PYTHONPATH": PACKAGE,
                },
            )
            self.addCleanup(child.stdout.close)
            self.addCleanup(child.stderr.close)
            self.assertTrue(any("waiting" in line for line in child.stdout))
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.wait(timeout=scope.PATIENCE), 130)
            self.assertNotIn("Traceback", child.stderr.read())


class Pythons(Shell):
    def fake(self, name, script):
        self.write(name, f"#!/bin/sh\n{script}\n")
        (self.folder / name).chmod(0o755)
        return str(self.folder / name)

    def test_the_python_is_found_in_order(self):
        told = 'echo "$0" "$2" "$3"'
        first = self.fake("first", told)
        second = self.fake("venv/bin/python", told)
        third = self.fake("path/python3", told)
        settings = {
            "TORCHOSCOPE_PYTHON": first,
            "VIRTUAL_ENV": str(self.folder / "venv"),
            "PATH": f"{self.folder}/path:{os.environ['PATH']}",
        }
        for python, left_out in (
            (first, None),
            (second, "TORCHOSCOPE_PYTHON"),
            (third, "VIRTUAL_ENV"),
        ):
            settings[left_out] = None
            settings.pop(None, None)
            done = self.good("summary", "x.py::make", **settings)
            self.assertEqual(done.stdout, f"{python} summary x.py::make\n")

    def test_a_missing_python_or_one_without_torch(self):
        last, _ = self.bad("summary", "x.py::make", TORCHOSCOPE_PYTHON="/not/there")
        self.assertIn('there is no "/not/there"', last)
        bare = self.fake("bare", f'exec "{sys.executable}" -S -E "$@"')
        last, _ = self.bad(
            "summary", "x.py::make", TORCHOSCOPE_PYTHON=bare, PYTHONPATH=None
        )
        self.assertIn(" has no torch; set TORCHOSCOPE_PYTHON", last)

    def test_a_python_that_is_too_old(self):
        # The error must be printed by a Python with older syntax.
        code = (
            "import sys; sys.version_info = (3, 9, 2, 'final', 0); sys.argv[:1] = []; "
            "exec(compile(open(sys.argv[0]).read(), sys.argv[0], 'exec'))"
        )
        old = self.fake("old", f'exec "{sys.executable}" -c "{code}" "$@"')
        last, _ = self.bad("summary", "x.py::make", TORCHOSCOPE_PYTHON=old)
        self.assertIn("Python 3.11 or later is needed, and ", last)
        self.assertIn(" is 3.9; set TORCHOSCOPE_PYTHON", last)

    def test_help_and_files_need_no_python(self):
        nowhere = {"TORCHOSCOPE_PYTHON": "/not/there"}
        self.assertIn("TARGET", self.good("record", "--help", **nowhere).stdout)
        self.write("odd::name.pkl", "")
        (self.folder / "odd::name.pkl").write_bytes(b"}.")
        done = self.good("explore", "odd::name.pkl", **nowhere)
        self.assertIn("odd::name.pkl", done.stdout)


if __name__ == "__main__":
    unittest.main()
