"""torchoscope ops: the operations of a recording and of a live model, lists of allowed
operations, and the formats .ops.json and .trace.json."""

import contextlib
import csv
import io
import json
import os
import subprocess
import sys
import types
import unittest
from pathlib import Path

import scope
import torch
from folder import TemporaryFolder

import torchoscope
from torchoscope import _core, shell, targets

CODE = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.head = torch.nn.Linear(4, 2)

    def forward(self, x):
        h = torch.relu(self.conv(x))
        rows = torch.empty(2, 4)
        for i in range(2):
            rows[i] = h[i].mean((1, 2))
        return self.head(rows)

class Broken(Net):
    def forward(self, x):
        return self.head(self.conv(x))

def make():
    print("making")
    torch.manual_seed(0)
    return Net()

def inputs():
    return torch.ones(2, 3, 5, 5)
"""


def recorded(folder):
    """A training step of the model, and its file."""
    spaces = {"__name__": "net"}
    exec(compile(CODE, str(Path(folder) / "net.py"), "exec"), spaces)
    with contextlib.redirect_stdout(io.StringIO()):
        model = spaces["make"]()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torchoscope.record(model, ops=True) as recording:
        model(spaces["inputs"]()).sum().backward()
        optimizer.step()
    path = Path(folder) / "run.scope"
    recording.save(path)
    return recording, path


def without_makers(op):
    """An operation as in the document: `edges` has the producers of its inputs."""
    op = dict(op)
    for key in {"inputs", "outputs", "written"} & op.keys():
        makers = {"write", "producer", "producers", "sources", "storage_bytes"}
        op[key] = [
            {name: value[name] for name in value if name not in makers}
            for value in op[key]
        ]
    return op


class Recordings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = TemporaryFolder("setUp")
        cls.place.setUp()
        cls.addClassCleanup(cls.place.doCleanups)
        cls.folder = cls.place.folder
        cls.recording, cls.path = recorded(cls.folder)
        cls.ops = cls.recording.ops().json

    def table(self, *words, status=0):
        done = scope.run("ops", self.path, *words)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stdout.decode()

    def rows(self, *words):
        return list(csv.DictReader(io.StringIO(self.table("--csv", *words))))

    def test_a_file_has_the_operations_that_were_recorded(self):
        again = torchoscope.open(self.path)
        self.assertGreater(len(self.ops), 20)
        self.assertEqual(again.ops().json, self.ops)
        self.assertEqual(again.graph("ops").json, self.recording.graph("ops").json)

    def test_the_document_has_every_operation_its_sums_and_its_edges(self):
        document = scope.document("ops", self.path)
        self.assertEqual(document["kind"], "ops")
        self.assertEqual(document["ops"], [without_makers(op) for op in self.ops])
        for phase in ("forward", "backward", "recompute", "optimizer"):
            mine = [op for op in self.ops if op["phase"] == phase]
            counted = [op["flops"] for op in mine if op["flops"] is not None]
            expected = {
                "count": len(mine),
                "ns": sum(op["ns"] for op in mine),
                "new_bytes": sum(op["new_bytes"] for op in mine),
                "flops": sum(counted),
                "counted": len(counted),
            }
            self.assertEqual(document["totals"][phase], expected)
        coverage = document["coverage"]
        self.assertEqual(coverage["ops"], len(self.ops))
        self.assertEqual(coverage["matrix_ops"], coverage["matrix_counted"])
        self.assertEqual(
            {(edge["source"], edge["target"]) for edge in document["edges"]},
            {
                (made, op["id"])
                for op in self.ops
                for value in op["inputs"]
                for made in value["producers"]
            },
        )

    def test_the_exported_document_is_the_same(self):
        path = self.folder / "a.ops.json"
        done = scope.run("export", self.path, "-o", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(path.read_text()), scope.document("ops", self.path))
        whole = scope.run("export", self.path, "-o", "-", "--form", "json")
        self.assertNotIn("ops", json.loads(whole.stdout))

    def test_rows_add_up_the_operations_of_a_name(self):
        rows = self.rows()
        self.assertEqual(sum(int(row["count"]) for row in rows), len(self.ops))
        self.assertAlmostEqual(sum(float(row["share"]) for row in rows), 1)
        for row in rows:
            key = row["name"], row["overload"]
            mine = [op for op in self.ops if (op["name"], op["overload"]) == key]
            self.assertEqual(int(row["count"]), len(mine))
            self.assertEqual(int(row["ns"]), sum(op["ns"] for op in mine))
            self.assertEqual(int(row["flops"]), sum(op["flops"] or 0 for op in mine))
            self.assertEqual(int(row["id"]), mine[0]["id"])
            self.assertEqual(row["module"], mine[0]["module"] or "")
            self.assertEqual(row["line"], mine[0]["line"] or "")

    def test_rows_are_sorted_cut_and_of_one_phase(self):
        times = [int(row["ns"]) for row in self.rows()]
        self.assertEqual(times, sorted(times, reverse=True))
        names = [row["name"] for row in self.rows("--sort", "name")]
        self.assertEqual(names, sorted(names))
        flops = [int(row["flops"]) for row in self.rows("--sort", "flops", "--top", "3")]
        self.assertEqual(len(flops), 3)
        self.assertEqual(flops, sorted(flops, reverse=True))
        mine = {op["name"] for op in self.ops if op["phase"] == "optimizer"}
        rows = self.rows("--phase", "optimizer")
        self.assertEqual({row["name"] for row in rows}, mine)

    def test_the_table_ends_with_sums_and_coverage(self):
        lines = self.table("--top", "2").splitlines()
        self.assertRegex(lines[0], "name +family +count +time +share +FLOPs +memory +first")
        self.assertEqual(len(lines), 6)
        self.assertRegex(lines[3], rf"^{len(self.ops)} operations of \d+ kinds, ")
        self.assertRegex(lines[4], "^forward .* FLOPs; backward .* FLOPs; optimizer ")
        counted = sum(op["flops"] is not None for op in self.ops)
        self.assertEqual(
            lines[5],
            f"{counted} of {len(self.ops)} operations have a FLOPs formula: "
            "100% of the matrix work",
        )

    def test_operations_that_are_not_in_a_list_are_named(self):
        names = sorted({op["name"] for op in self.ops} - {"aten::relu"})
        path = self.folder / "list.txt"
        path.write_text("# known\n" + "\n".join(names) + "   # the last\n\n")
        text = self.table("--allow-ops", path, status=1)
        self.assertRegex(text, r"(?m)^aten::relu +activation +1 .* \(root\) net\.py:11$")
        self.assertIn(" of operations is not in ", text)
        self.assertEqual(len(text.splitlines()), 3)
        with path.open("a") as file:
            file.write("relu\n")
        text = self.table("--allow-ops", path)
        self.assertRegex(text, r"^all \d+ kinds of operations are in .*list\.txt\n$")

    def test_names_of_a_list_have_their_namespace_and_overload_or_not(self):
        path = self.folder / "some.txt"
        for line, allowed in (
            ("mean", True),
            ("aten::mean", True),
            ("mean.dim", True),
            ("aten::mean.dim", True),
            ("aten.mean.dim", True),
            ("mean.default", False),
            ("other::mean", False),
            ("mea", False),
        ):
            path.write_text(line)
            text = self.table("--allow-ops", path, status=1)
            self.assertEqual("aten::mean.dim " not in text, allowed, line)
        path.write_text("aten.relu.default")
        self.assertNotIn("aten::relu ", self.table("--allow-ops", path, status=1))

    def test_without_operations_the_error_says_how_to_record_them(self):
        path = self.folder / "plain.scope"
        model = torch.nn.Linear(2, 2)
        with torchoscope.record(model) as recording:
            model(torch.ones(1, 2))
        recording.save(path)
        for file in (path, scope.demo_folder() / "resnet18.pth"):
            done = scope.run("ops", file)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"record(model, ops=True)", done.stderr)
            self.assertEqual(done.stdout, b"")

    def test_wrong_arguments_give_a_clear_error(self):
        for words in (
            ["--unique"],
            ["--dir", "x"],
            ["--inputs", "2x2"],
            ["--phase", "sideways"],
            ["--sort", "taste"],
            ["--allow-ops", self.folder / "nowhere.txt"],
        ):
            done = scope.run("ops", self.path, *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_a_trace_nests_operations_in_calls(self):
        path = self.folder / "run.trace.json"
        done = scope.run("export", self.path, "-o", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(path.read_text())
        events = [event for event in document["traceEvents"] if event["ph"] == "X"]
        calls = self.recording.calls()
        self.assertEqual(len(events), len(self.ops) + len(calls))
        self.assertEqual(min(event["ts"] for event in events), 0)
        open_until = {}
        for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
            ends = open_until.setdefault(event["tid"], [])
            while ends and ends[-1] <= event["ts"]:
                ends.pop()
            end = event["ts"] + event["dur"]
            self.assertTrue(not ends or end <= ends[-1] + 1e-6, event)
            ends.append(end)
        conv = next(event for event in events if event["name"] == "aten::convolution")
        self.assertEqual(conv["cat"], "op,forward")
        self.assertEqual(conv["args"]["module"], "conv")
        self.assertEqual(conv["args"]["line"], "net.py:11")
        self.assertEqual(conv["args"]["inputs"][0], "2x3x5x5 float32")
        self.assertGreater(conv["args"]["flops"], 0)
        around = next(event for event in events if event["name"] == "conv")
        self.assertEqual(around["cat"], "module,forward")
        self.assertLessEqual(around["ts"], conv["ts"])
        self.assertGreaterEqual(
            around["ts"] + around["dur"] + 1e-6, conv["ts"] + conv["dur"]
        )

    def test_a_file_without_times_has_no_trace(self):
        path = self.folder / "none.trace.json"
        done = scope.run("export", scope.demo_folder() / "resnet18.pth", "-o", path)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"trace.json needs one", done.stderr)
        self.assertFalse(path.exists())


class Live(TemporaryFolder):
    def setUp(self):
        super().setUp()
        self.write("net.py", CODE)

    def run_program(self, *words):
        env = {**os.environ, "TORCHOSCOPE_PYTHON": sys.executable}
        return subprocess.run(
            [scope.PROGRAM, *words],
            capture_output=True,
            text=True,
            timeout=scope.PATIENCE,
            cwd=self.folder,
            env=env,
        )

    def test_a_live_model_is_run_and_listed(self):
        words = ("ops", "net.py::make", "--inputs", "net.py::inputs")
        done = self.run_program(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("making\nname "), done.stdout)
        self.assertRegex(done.stdout, r"(?m)^aten::convolution +conv +1 .* conv net\.py:11$")
        self.assertNotIn("backward", done.stdout)
        done = self.run_program(*words, "--train", "--phase", "backward", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertGreater(document["totals"]["backward"]["flops"], 0)
        self.assertIn(
            "aten::convolution_backward", [use["name"] for use in document["uses"]]
        )

    def test_a_list_of_allowed_operations_works_with_a_live_model(self):
        self.write("list.txt", "convolution\n")
        words = ("--inputs", "2x3x5x5", "--allow-ops", "list.txt")
        done = self.run_program("ops", "net.py::make", *words)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertNotIn("aten::convolution", done.stdout)
        self.assertIn("aten::addmm", done.stdout)

    def test_a_pass_that_raises_lists_the_operations_before_it(self):
        done = self.run_program("ops", "net.py::Broken", "--inputs", "2x3x5x5")
        self.assertEqual(done.returncode, 2)
        self.assertIn("aten::convolution", done.stdout)
        self.assertIn("net.py:19", done.stderr.splitlines()[-1])

    def here(self, *words):
        err = io.StringIO()
        live = _core.live("torchoscope", *words)
        with contextlib.chdir(self.folder), contextlib.redirect_stderr(err):
            status = shell.run(*live)
        targets._loaded.clear()
        return status, err.getvalue()

    def test_a_model_that_needs_inputs_is_reported(self):
        with contextlib.redirect_stdout(io.StringIO()):
            status, said = self.here("ops", "net.py::make")
        self.assertEqual(status, 2)
        self.assertIn("Net.forward takes (x), which --inputs can give", said)

    def test_unique_is_passed_to_the_analysis(self):
        given = []
        name = "torchoscope.compat.model_analysis"
        package = types.ModuleType(name)
        package.cli = types.ModuleType(f"{name}.cli")
        package.cli.main = lambda words: given.append(words) or 0
        before = {key: sys.modules.get(key) for key in (name, f"{name}.cli")}
        sys.modules.update({name: package, f"{name}.cli": package.cli})
        try:
            words = ("ops", "--unique", "net.py::make", "--inputs", "net.py::inputs")
            self.assertEqual(self.here(*words), (0, ""))
            self.assertEqual(self.here(*words, "--dir", "out")[0], 0)
            status, said = self.here("ops", "--unique", "net.py::make", "-i", "2x2")
            self.assertEqual(status, 2)
            self.assertIn("--unique needs --inputs FILE.py::FUNCTION", said)
            self.assertEqual(self.here(*words, "--top", "3")[0], 2)
            self.assertEqual(self.here(*words, "--json")[0], 2)
        finally:
            for key, module in before.items():
                sys.modules.pop(key)
                if module is not None:
                    sys.modules[key] = module
        asked = ["--model-path", "net.py::make", "--inputs-path", "net.py::inputs"]
        self.assertEqual(given, [asked, [*asked, "--dir", "out"]])


if __name__ == "__main__":
    unittest.main()
