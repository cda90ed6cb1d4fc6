# flavours: both
"""Recordings as the program writes them: --json and --csv against the numbers of torch
and of the Recording itself."""

import csv
import io
import json
import subprocess
import tempfile
import unittest
from pathlib import Path

import torch
from torch import nn

import scope
import torchoscope
from torchoscope import _core

NEAR = 1e-6
torch.set_num_threads(1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x, scale=None):
        return torch.relu(self.norm(self.conv(x)))


class Net(nn.Module):
    """A module that is called twice, one that is never called, two results."""

    def __init__(self):
        super().__init__()
        self.block = Block()
        self.head = nn.Linear(4, 2)
        self.unused = nn.Linear(1, 1)

    def forward(self, x):
        hidden = self.block(x).mean((2, 3))
        return self.head(hidden), self.head(hidden * 2)


class Saved(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name) / "run.scope"
        torch.manual_seed(0)
        cls.model, cls.x = Net(), torch.randn(2, 3, 6, 6)
        cls.seen = {}
        taken = [
            module.register_forward_hook(cls.note(name))
            for name, module in cls.model.named_modules()
        ]
        with torchoscope.record(cls.model, keep="head", mode="exact") as cls.recording:
            first, second = cls.model(cls.x)
            (first + second).sum().backward()
        for one in taken:
            one.remove()
        cls.recording.save(cls.path)

    @classmethod
    def note(cls, name):
        def hook(module, inputs, outputs):
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            pair = [x.detach().clone() for x in inputs], [
                x.detach().clone() for x in outputs
            ]
            cls.seen.setdefault(name, []).append(pair)

        return hook

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def near(self, told, true, what):
        self.assertLessEqual(abs(told - true), NEAR * max(1, abs(true)), what)

    def compare(self, stats, tensor, what):
        """Compare the statistics in JSON with those of torch."""
        tensor = tensor.detach().double()
        self.assertEqual(stats["count"], tensor.numel(), what)
        self.assertEqual(stats["nan"], int(tensor.isnan().sum()), what)
        self.assertEqual(stats["zeros"], int((tensor == 0).sum()), what)
        self.near(stats["min"], float(tensor.min()), what)
        self.near(stats["max"], float(tensor.max()), what)
        self.near(stats["mean"], float(tensor.mean()), what)
        self.near(stats["std"], float(tensor.std()), what)
        self.near(stats["l2"], float(tensor.norm()), what)
        self.assertEqual(float(tensor[tuple(stats["min_at"])]), stats["min"], what)


class Documents(Saved):
    def test_modules_in_the_tree_have_their_calls(self):
        tree = scope.document("tree", self.path)
        modules = {one["name"]: one for one in tree["modules"]}
        for name, module in modules.items():
            calls = self.recording.calls(name)
            self.assertEqual(module["calls"], len(calls), name)
            if not calls:
                continue
            self.assertEqual(module["time_ns"], sum(c.time_ns for c in calls), name)
            self.assertEqual(module["self_ns"], sum(c.self_ns for c in calls), name)
            self.assertEqual(module["out_bytes"], calls[-1].out_bytes, name)
            inputs, outputs = self.seen[name][-1]
            self.assertEqual(module["in_shape"], list(inputs[0].shape), name)
            self.assertEqual(module["out_shape"], list(outputs[0].shape), name)
            self.assertEqual((module["nan"], module["inf"]), (0, 0), name)
        self.assertEqual(modules["head"]["calls"], 2)
        self.assertEqual(modules["unused"]["calls"], 0)
        self.assertEqual(modules["unused"]["gap"], "not called")
        self.assertTrue(modules["unused"]["gap_text"])
        self.assertNotIn("time_ns", modules["unused"])

    def test_every_document_describes_the_run(self):
        cost, facts = self.recording.cost, self.recording.facts
        for command in ("tree", "info", "stats", "show"):
            run = scope.document(command, self.path)["run"]
            self.assertEqual(run["facts"], facts)
            self.assertEqual(run["facts"]["torch"], torch.__version__)
            self.assertRegex(run["facts"]["when"], r"^\d{4}-\d\d-\d\dT[\d:]{8}Z$")
            for key in ("wall_ns", "passes_ns", "own_ns", "hooks_ns"):
                self.assertEqual(run[key], cost[key])
            self.near(run["share"], cost["share"], "share")
            root = self.recording.calls("")
            self.assertEqual(run["passes"], 1)
            self.assertEqual(run["calls"], len(self.recording.calls()))
            self.assertEqual(run["time_ns"], root[0].time_ns)
            self.assertNotIn("raised", run)
            self.assertNotIn("producer", run)

    def test_the_article_a_or_an_fits_the_class(self):
        path = Path(self.folder.name) / "word.scope"
        for name in ("an N", "an LSTM", "a LeNet", "a UNet", "an Own", "a GPT2"):
            model = type(name.split()[1], (nn.Sequential,), {})(nn.Linear(1, 1))
            with torchoscope.record(model) as recording:
                model(torch.ones(1))
            recording.save(path)
            told = scope.run("info", path).stdout.decode()
            self.assertIn(f" {name}: 2 tensors", told)

    def test_a_module_is_shown_with_all_its_calls(self):
        show = scope.document("show", self.path, "head")
        calls = self.recording.calls("head")
        self.assertEqual(len(show["calls"]), 2)
        for told, call, (inputs, outputs) in zip(
            show["calls"], calls, self.seen["head"]
        ):
            for key in ("number", "step", "parent", "line", "time_ns", "self_ns"):
                self.assertEqual(told[key], call[key], key)
            self.assertEqual(told["end_ns"] - told["start_ns"] - told["own_ns"],
                             told["time_ns"])
            self.assertEqual(told["outputs"][0]["shape"], [2, 2])
            self.assertEqual(told["outputs"][0]["strides"], [2, 1])
            self.assertEqual(told["outputs"][0]["dtype"], "float32")
            self.assertEqual(told["outputs"][0]["device"], "cpu")
            self.assertTrue(told["outputs"][0]["requires_grad"])
            self.assertEqual(told["outputs"][0]["kept_bytes"], 2 * 2 * 4)
            self.compare(told["inputs"][0]["stats"], inputs[0], "in")
            self.compare(told["outputs"][0]["stats"], outputs[0], "out")
            self.compare(told["grad_outputs"][0]["stats"], torch.ones(2, 2), "grad")
        self.assertEqual((show["merged"], show["gaps"]), ([], []))
        gaps = scope.document("show", self.path, "unused")["gaps"]
        self.assertEqual([gap["kind"] for gap in gaps], ["not called"])

    def test_the_whole_recording_holds_each_value_once(self):
        run = scope.document("show", self.path)
        self.assertEqual(run["kind"], "run")
        self.assertEqual([v["value"] for v in run["values"]],
                         list(range(len(run["values"]))))
        calls = self.recording.calls()
        self.assertEqual(len(run["calls"]), len(calls))
        for told, call in zip(run["calls"], calls):
            self.assertEqual((told["name"], told["call"]), (call.name, call["call"]))
            for kind in ("inputs", "outputs", "grad_inputs", "grad_outputs"):
                mine = [io.get("value") for io in told[kind]]
                self.assertEqual(mine, [v.get("value") for v in getattr(call, kind)])
                for io, value in zip(told[kind], getattr(call, kind)):
                    self.assertEqual(io["path"], value.path)
                    if "value" not in io:
                        continue
                    whole = run["values"][io["value"]]
                    self.assertEqual(whole["shape"], value.shape)
                    self.assertEqual(whole["stats"]["mean"], value.mean)
                    self.assertEqual(whole["stats"].get("std"), value.std)
        block = next(c for c in run["calls"] if c["name"] == "block")
        made = run["values"][block["outputs"][0]["value"]]
        self.compare(made["stats"], self.seen["block"][0][1][0], "block")
        self.assertEqual(
            {gap.get("name") for gap in run["gaps"]},
            {gap.name for gap in self.recording.gaps},
        )

    def test_python_gives_the_same_documents(self):
        recording = torchoscope.open(self.path)
        for kind, words in (("run", ["show"]), ("tree", ["tree"]), ("info", ["info"])):
            told = scope.document(*words, self.path)
            self.assertEqual(json.loads(_core.open_run(self.path).json(kind)), told)
        live, run = self.recording.json, recording.json
        self.assertEqual(run, scope.document("show", self.path))
        for key in ("calls", "values", "params", "gaps", "merged", "run"):
            self.assertEqual(live[key], run[key], key)
        head = scope.document("show", self.path, "head")
        self.assertEqual([dict(call) for call in recording.calls("head")],
                         head["calls"])
        self.assertEqual([dict(gap) for gap in recording.gaps], run["gaps"])
        with self.assertRaises(ValueError):
            _core.open_run(self.path).json("poem")

    def test_parameters_and_gradients_are_those_of_torch(self):
        run = scope.document("show", self.path)
        found = {}
        for param in run["params"]:
            stats = run["values"][param["value"]]["stats"]
            found[param["name"], param["gradient"]] = stats
        for name, parameter in self.model.named_parameters():
            if parameter.numel() == 1:
                self.assertEqual(found[name, False]["max"], parameter.item())
                continue
            self.compare(found[name, False], parameter, name)
            self.compare(found[name, True], parameter.grad, name)

    def test_info_shows_the_slowest_modules(self):
        info = scope.document("info", self.path)
        slowest = [one["self_ns"] for one in info["slowest"]]
        self.assertEqual(slowest, sorted(slowest, reverse=True))
        calls = self.recording.calls()
        self.assertEqual(sum(slowest), sum(c.self_ns for c in calls))
        classes = {one["class"]: one for one in info["classes"]}
        linear = classes["torch.nn.modules.linear.Linear"]
        self.assertEqual((linear["calls"], linear["places"]), (2, 1))
        self.assertEqual(sum(one["self_ns"] for one in classes.values()), sum(slowest))

    def test_the_table_has_modules_and_tensors(self):
        text = scope.run("tree", self.path, "--csv").stdout.decode()
        rows = {row["name"]: row for row in csv.DictReader(io.StringIO(text))}
        modules = dict(self.model.named_modules())
        tensors = self.model.state_dict()
        self.assertEqual(set(rows), {*modules, *tensors})
        self.assertEqual(rows["head"]["calls"], "2")
        self.assertEqual(json.loads(rows["block"]["out_shape"]), [2, 4, 4, 4])
        self.assertEqual(rows["unused"]["gap"], "not called")
        self.assertEqual(rows["head.weight"]["shape"], "[2, 4]")
        self.assertEqual(rows["head.weight"]["calls"], "")


class Stats(Saved):
    def test_recorded_statistics_are_in_every_format(self):
        document = scope.document("stats", self.path)
        self.assertEqual(document["mode"], "recorded")
        text = scope.run("stats", self.path, "--csv").stdout.decode()
        rows = {row["name"]: row for row in csv.DictReader(io.StringIO(text))}
        told = {one["name"]: one for one in document["tensors"]}
        for name, parameter in self.model.named_parameters():
            if parameter.numel() < 2:
                continue
            self.compare(told[name], parameter, name)
            self.assertEqual(float(rows[name]["std"]), told[name]["std"])
            self.assertIs(told[name]["readable"], False)
        said = scope.run("stats", self.path).stdout.decode()
        self.assertIn("as recorded: the elements are not in the file", said)

    def test_a_parameter_is_shown_with_its_recorded_statistics(self):
        tensor = scope.document("show", self.path, "head.weight")["tensor"]
        self.compare(tensor, self.model.head.weight, "head.weight")
        self.assertNotIn("quantiles", tensor)
        said = scope.run("show", self.path, "head.weight")
        self.assertEqual(said.returncode, 0)
        self.assertIn(b"values are not in a recording", said.stdout)
        said = scope.run("show", self.path, "head.weight", "--slice", "[0]")
        self.assertEqual(said.returncode, 2)
        self.assertIn(b"values are not in a recording", said.stderr)

    def test_the_table_gives_the_reason_for_missing_statistics(self):
        path = Path(self.folder.name) / "bare.scope"
        with torchoscope.record(self.model, parameters=False) as recording:
            self.model(self.x)
        recording.save(path)
        for one in scope.document("stats", path)["tensors"]:
            self.assertIsNone(one["count"])
            self.assertEqual(one["stats_why"], "values are not in a recording")

    def test_guarded_recordings_have_counts_and_no_means(self):
        path = Path(self.folder.name) / "guard.scope"
        with torchoscope.record(self.model, mode="guard") as recording:
            self.model(self.x)
        recording.save(path)
        for one in scope.document("stats", path)["tensors"]:
            if one["role"] == "parameter":
                self.assertEqual((one["count"], one["nan"]), (one["numel"], 0))
            for key in ("min", "mean", "std", "zeros"):
                self.assertNotIn(key, one)
        said = scope.run("stats", path)
        self.assertEqual(said.returncode, 0)
        self.assertNotIn(b"nan", said.stdout)


class Verdicts(Saved):
    def test_a_recording_is_safe(self):
        for words in (["check"], ["check", "--values"]):
            checked = scope.document(*words, self.path)["checked"][0]
            self.assertEqual((checked["verdict"], checked["status"]), ("safe", 0))
            self.assertEqual(checked["format"], "recording")
        said = {one["text"] for one in checked["checks"]}
        self.assertIn("nothing was recorded of 3 tensors", said)  # buffers

    def test_a_recording_in_memory_has_no_verdict(self):
        net = nn.Linear(2, 2)
        with torchoscope.record(net) as recording:
            net(torch.ones(1, 2))
        for one in (recording, torchoscope.Model(net)):
            for text in (str(one), one.html, one._repr_mimebundle_()["text/html"]):
                self.assertNotIn("SAFE", text)
        recording.save(path := self.path.with_name("verdict.scope"))
        one = torchoscope.open(path)
        for text in (str(one), one.html, one._repr_mimebundle_()["text/html"]):
            self.assertIn("SAFE", text)

    def test_recordings_differ_in_structure(self):
        path = Path(self.folder.name) / "weights.pth"
        torch.save(self.model.state_dict(), path)
        for pair in ((self.path, path), (path, self.path)):
            diff = scope.document("diff", *pair)
            self.assertFalse(diff["equal"])
            self.assertEqual(diff["counts"]["unread"], diff["counts"]["tensors"])
            self.assertEqual({one["why"] for one in diff["tensors"]},
                             {"values are not in a recording"})
            said = scope.run("diff", *pair)
            self.assertEqual(said.returncode, 1)
            self.assertIn(b"values are not in a recording", said.stdout)
        state = self.model.state_dict()
        state["head.weight"] = torch.zeros(3, 4)
        del state["unused.bias"]
        torch.save(state, path)
        counts = scope.document("diff", self.path, path)["counts"]
        self.assertEqual((counts["reshaped"], counts["only_left"]), (1, 1))

    def test_problems_of_the_run_are_reported(self):
        path = Path(self.folder.name) / "wrong.scope"
        model = Net()
        model.head.weight.data.fill_(3e38)
        with torchoscope.record(model, name="odd \"name\"\n") as recording:
            with self.assertRaises(RuntimeError):
                model.unused(model.head(torch.full((1, 4), 3e38)))
        recording.save(path)
        tree = scope.document("tree", path)
        self.assertEqual(tree["run"]["name"], "odd \"name\"\n")
        self.assertEqual(tree["run"]["producer"]["name"], "head")
        self.assertEqual(tree["run"]["raised"]["name"], "unused")
        if hasattr(torch, "compiler"):
            self.assertIn("RuntimeError", tree["run"]["raised"]["error"])
        modules = {one["name"]: one for one in tree["modules"]}
        self.assertTrue(modules["head"]["producer"])
        self.assertEqual(modules["head"]["inf"], 2)
        self.assertTrue(modules["unused"]["raised"])
        self.assertTrue(modules[""]["trouble_below"])


class Again(Saved):
    def test_kept_values_survive_saving_a_recording_read_from_a_file(self):
        first = torchoscope.open(self.path)
        path = Path(self.folder.name) / "again.scope"
        first.save(path)
        again = torchoscope.open(path)
        again.save(path)  # over the file that it reads from
        third = torchoscope.open(path)
        for number, (_, outputs) in enumerate(self.seen["head"]):
            for one in (self.recording, first, again, third):
                kept = one.values("head", number)
                self.assertEqual(len(kept), 1)
                self.assertTrue(torch.equal(kept[0], outputs[0]))
        self.assertEqual(third.calls(), self.recording.calls())
        self.assertEqual(third.facts, self.recording.facts)


class Exports(Saved):
    """torchoscope export, and the same from Python."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.here = Path(cls.folder.name)
        cls.weights = cls.here / "net.pth"
        torch.save(cls.model.state_dict(), cls.weights)

    def export(self, path, to, *words, status=0):
        done = scope.run("export", path, "-o", to, *words)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_each_format_equals_the_output_of_the_other_commands(self):
        for path in (self.path, self.weights):
            whole = "show" if path is self.path else "tree"
            want = {
                "txt": scope.run("tree", path).stdout,
                "csv": scope.run("tree", path, "--csv").stdout,
                "json": scope.run(whole, path, "--json").stdout,
            }
            for form, text in want.items():
                to = self.here / f"x.{form}"
                self.export(path, to)
                self.assertEqual(to.read_bytes(), text, form)
                self.assertEqual(self.export(path, "-", "--form", form).stdout, text)
                to.unlink()
                torchoscope.open(path).export(to)
                self.assertEqual(to.read_bytes(), text, form)

    def test_safetensors_exports_hold_the_values_of_the_file(self):
        to = self.here / "x.safetensors"
        self.export(self.weights, to)
        with open(to, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(size))
            data = file.read()
        want = torch.load(self.weights)
        self.assertEqual(set(header) - {"__metadata__"}, set(want))
        for name, tensor in want.items():
            begin, end = header[name]["data_offsets"]
            self.assertEqual(header[name]["shape"], list(tensor.shape))
            self.assertEqual(data[begin:end], tensor.contiguous().numpy().tobytes())

    def test_markdown_is_a_table_of_the_rows(self):
        to = self.here / "x.MD"
        self.export(self.weights, to, "--columns", "params", "--depth", "1")
        lines = to.read_text().splitlines()
        self.assertTrue("| :--- | ---: |" in lines, lines)
        self.assertTrue(any("head" in line and "10" in line for line in lines), lines)
        live = torchoscope.open(self.model)
        live.export(to, columns="params", depth=1)
        self.assertIn("head", to.read_text())
        live.export(to, columns="shapes")
        self.assertIn("| module | tensors |", to.read_text())
        self.assertIn("| weight: 2×4, bias: 2 |", to.read_text())
        self.assertNotIn("\\|", to.read_text())
        for wrong in ({"depth": -1}, {"theme": "pink"}, {"columns": "nope"}):
            words = r"a number from 0|light or dark|unknown column"
            with self.assertRaisesRegex(ValueError, words):
                live.export(to, **wrong)

    def test_a_failed_export_gives_a_clear_error_and_leaves_no_file(self):
        for name in ("x.poem", "x", "/no/such/folder/x.txt", "/dev/full"):
            words = ["--form", "txt"] if name == "/dev/full" else []
            done = self.export(self.weights, self.here / name, *words, status=2)
            said = done.stderr.decode()
            self.assertRegex(said, r"^torchoscope: [^\n]+\n$")
            self.assertFalse((self.here / "x").exists() or done.stdout)
        self.assertIn("No space", said)
        model = torchoscope.open(self.weights)
        for name, kind in (
            ("x.poem", ValueError),
            ("/no/such/folder/x.txt", FileNotFoundError),
        ):
            with self.assertRaisesRegex(kind, r"^[^\n]+$"):
                model.export(self.here / name)
        self.assertEqual(list(self.here.glob("*.tmp")), [])

    def test_options_that_a_format_does_not_support_are_refused(self):
        for name in ("less.html", "less.json", "less.csv", "less.safetensors"):
            done = self.export(self.weights, self.here / name, "-d", "1", status=2)
            self.assertIn(b"only txt and md take a depth", done.stderr)
        with self.assertRaisesRegex(ValueError, "only txt and md take columns"):
            torchoscope.open(self.weights).export(self.here / "less.html", columns="params")
        self.assertEqual(list(self.here.glob("less.*")), [])

    def test_a_failed_export_keeps_the_existing_file(self):
        to = self.here / "kept.txt"
        to.write_text("old")
        self.export(self.weights, to, "--columns", "poem", status=2)
        self.assertEqual(to.read_text(), "old")
        with self.assertRaisesRegex(ValueError, "poem"):
            self.recording.export(to, columns="poem")
        self.assertEqual(to.read_text(), "old")
        self.assertEqual(list(self.here.glob("*.tmp")), [])

    def test_a_full_disk_behind_stdout_is_reported(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [scope.PROGRAM, "export", self.weights, "-o", "-", "--form", "txt"],
                stdout=full, stderr=subprocess.PIPE,
            )
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"No space", done.stderr)


if __name__ == "__main__":
    unittest.main()
