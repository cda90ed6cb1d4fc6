"""The documents of a training run that the page asks for, against the series that
`torchoscope.open()` reads, and against `check` and `tree --step`."""

import base64
import json
import math
import subprocess
import unittest
import urllib.parse

import torch

import scope
import torchoscope
from folder import TemporaryFolder
from serve_test import Server

torch.set_num_threads(1)
STEPS = 37


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.act = torch.nn.Linear(4, 16), torch.nn.ReLU()
        self.blocks = torch.nn.Sequential(*(torch.nn.Linear(16, 16) for _ in range(2)))
        self.last = torch.nn.Linear(16, 2)

    def forward(self, x):
        return self.last(self.blocks(self.act(self.first(x))))


def train(folder, **options):
    """A run whose gradients are NaN from step 30 on."""
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    with torchoscope.watch(
        model, dir=str(folder), log_freq=1, on_alarm=None, capsule=False, **options
    ) as handle:
        for step in range(STEPS):
            optimizer.zero_grad()
            loss = model(torch.randn(8, 4)).square().mean()
            (loss * math.nan if step >= 30 else loss).backward()
            optimizer.step()
            if step % 10 == 5:
                model.eval()
                with torch.no_grad():
                    model(torch.randn(8, 4))
                model.train()
    return handle.path


def joined(norms):
    """The norm of several tensors together; None if it is not finite."""
    norm = math.sqrt(sum(one * one for one in norms))
    return norm if math.isfinite(norm) else None


class Documents(TemporaryFolder):
    def setUp(self):
        super().setUp()
        self.path = train(self.folder)
        self.run = torchoscope.open(self.path)
        self.server = Server(self.path, "--port", "0")
        self.addCleanup(self.server.close)
        self.file = self.server.document("api/shelf")["files"][0]["file"]

    def ask(self, question, **args):
        args = urllib.parse.urlencode({"file": self.file, **args})
        document = self.server.document(f"api/{question}?{args}")
        self.assertEqual(document["kind"], question)
        self.assertEqual(document["newest"], STEPS - 1)
        return document

    def near(self, got, expected, digits=3):
        if expected is None or not math.isfinite(expected):
            self.assertIsNone(got)
        else:
            room = abs(expected) * 0.6 * 10 ** (1 - digits)
            self.assertAlmostEqual(got, expected, delta=room)

    def norms(self, kind, *names):
        """{step: figure} of these parameters together."""
        series = [self.run.series(name, kind) for name in names]

        def norm(one, i):
            bad = one["nan"][i] + one["pos_inf"][i] + one["neg_inf"][i]
            return math.nan if bad else one["l2"][i]

        return [joined(norm(one, i) for one in series) for i in range(STEPS)]

    def columns(self, document):
        """The steps of each column."""
        found = document["columns"]
        return [range(a, b + 1) for a, b in zip(found["first"], found["last"])]

    def test_modules_show_the_worst_of_the_steps(self):
        for asked in (100, 9):
            document = self.ask("modules", columns=asked)
            columns = self.columns(document)
            self.assertEqual(document["first_bad"], 30)
            self.assertLessEqual(len(columns), asked)
            steps = [step for one in columns for step in one]
            self.assertEqual(steps, list(range(STEPS)))
            modules = {one["name"]: one for one in document["modules"]}
            self.assertEqual(
                list(modules),
                ["", "first", "act", "blocks", "blocks.0", "blocks.1", "last"],
            )
            norms = {
                "last": self.norms("grad_param", "last.weight", "last.bias"),
                "": self.norms("grad_param", *(n for n, _ in Net().named_parameters())),
            }
            for name, expected in norms.items():
                for i, steps in enumerate(columns):
                    values = [expected[step] for step in steps]
                    worst = None if None in values else max(values)
                    self.near(modules[name]["gradient"][i], worst)
                    self.assertEqual(i in modules[name]["bad"], None in values)

    def test_ratios_are_those_of_all_parameters_together(self):
        document = self.ask("modules", columns=100)
        last = next(one for one in document["modules"] if one["name"] == "last")
        names = ("last.weight", "last.bias")
        ratios = [self.run.series(name, "update")["ratio"] for name in names]
        weights = [self.run.series(name, "param")["l2"] for name in names]
        for step in range(30):
            moved = joined(r[step] * w[step] for r, w in zip(ratios, weights))
            self.near(last["ratio"][step], moved / joined(w[step] for w in weights))

    def test_the_detail_window_is_around_the_first_bad_step(self):
        document = self.ask("modules")
        self.assertEqual(document["close_up"]["first"], list(range(20, 34)))
        for one in document["modules"]:
            # act has no parameters, but its gradient is NaN too
            self.assertEqual(one["close_up"], "0000000000" + "1111")
        document = self.ask("modules", around=3)
        self.assertEqual(document["close_up"]["first"], list(range(14)))

    def test_since_gives_only_newer_columns(self):
        whole = self.ask("modules", columns=9)
        part = self.ask("modules", columns=9, since=25)
        n = len(part["columns"]["first"])
        self.assertEqual(part["columns"]["width"], whole["columns"]["width"])
        self.assertLessEqual(part["columns"]["first"][0], 25)
        self.assertGreaterEqual(part["columns"]["last"][0], 25)
        for one, all_of in zip(part["modules"], whole["modules"]):
            if "gradient" in one:
                self.assertEqual(one["gradient"], all_of["gradient"][-n:])

    def test_a_step_document_equals_the_tree(self):
        program = [scope.PROGRAM, "tree", self.path, "--json", "--step", "12"]
        tree = subprocess.run(program, capture_output=True, check=True)
        tree = json.loads(tree.stdout)
        at = {
            one["place"]: one["at_step"]
            for kind in ("modules", "groups", "tensors")
            for one in tree[kind]
            if "at_step" in one
        }
        step = self.ask("step", step=12)
        self.assertEqual(step["text"], "step 12")
        self.assertEqual(step["scalars"], tree["step"]["scalars"])
        ends = ("_norm", "_ratio", "_share")
        lists = {key: step[key] for key in step if key.endswith(ends)}
        for i, place in enumerate(step["place"]):
            for key, values in lists.items():
                if place in at and key in at[place]:
                    self.assertEqual(values[i], at[place][key])
            self.assertEqual(lists["bad_share"][i], 0)
        self.assertLessEqual(set(at), set(step["place"]))
        newest = self.ask("step")
        self.assertEqual(newest["first"], STEPS - 1)
        self.assertEqual(newest["bad_share"][newest["place"].index(0)], 1)

    def test_series_have_the_numbers_of_every_step(self):
        document = self.ask("series", place="last", columns=100, rows=8, at=7)
        found = {(one["name"], one["kind"]): one for one in document["series"]}
        self.assertEqual(len(found), 4 + 6)
        for (name, kind), one in found.items():
            series = self.run.series(name, kind)
            for key in ("mean", "std", "min", "max"):
                for got, expected in zip(one[key], series[key]):
                    self.near(got, expected, 5)
            own = one["own"]
            self.assertEqual((own["first"], own["last"]), (7, 7))
            for key in ("count", "nan", "zeros", "min", "max", "mean", "std"):
                self.assertEqual(own[key], series[key][7])
            expected = series.histograms[7]
            for key in ("edges", "counts", "counted", "of"):
                self.assertEqual(own["histogram"][key], expected[key])

    def test_shades_are_the_shares_of_the_elements(self):
        document = self.ask("series", place="first.weight", columns=100, rows=8, log=0)
        one = next(s for s in document["series"] if s["kind"] == "param")
        shades, n = one["histogram"], len(document["columns"]["first"])
        codes = base64.b64decode(shades["codes"])
        self.assertEqual(len(codes), 8 * n)
        for i in range(30):  # later ones have no finite element
            shares = sum((codes[row * n + i] / 255) ** 2 for row in range(8))
            self.assertAlmostEqual(shares * shades["largest"], 1, delta=0.05)
        values = self.run.series("first.weight", "param")
        self.assertLessEqual(shades["low"], min(values["min"]))
        self.assertGreaterEqual(shades["high"], max(values["max"]))
        part = self.ask(
            "series", place="first.weight", columns=100, rows=8, log=0, since=STEPS - 2
        )
        new = next(s for s in part["series"] if s["kind"] == "param")["histogram"]
        self.assertEqual({**new, "codes": 0}, {**shades, "codes": 0})
        new = base64.b64decode(new["codes"])
        for row in range(8):
            end = row * n + n
            self.assertEqual(new[row * 2 : row * 2 + 2], codes[end - 2 : end])

    def test_the_verdict_of_a_training_is_that_of_check(self):
        document = self.ask("training", columns=100)
        check = [scope.PROGRAM, "check", self.path, "--json"]
        lines = json.loads(subprocess.run(check, capture_output=True).stdout)
        checks = lines["checked"][0]["checks"]
        texts = [one["text"] for one in checks if one["topic"] == "training"]
        self.assertEqual(document["verdict"]["role"], "alarm")
        self.assertIn(document["verdict"]["text"], texts)
        self.assertEqual(document["verdict"]["lead"], "healthy until step 29")
        self.assertEqual(document["first_bad"], 30)
        self.assertEqual(document["loss"], "loss")
        self.assertIs(document["live"], False)
        scalars = self.run.scalars()
        phase = document["phases"][0]
        self.assertEqual(phase["columns"]["first"], list(range(STEPS)))
        for one in document["scalars"]:
            if one["phase"] == "train":
                values = scalars[one["name"]]["value"]
                for got, value in zip(one["value"], values):
                    self.assertEqual(got, value if math.isfinite(value) else "NaN")
        self.assertEqual(document["phases"][1]["steps"], 4)
        self.assertTrue(document["logged"]["gradients"])
        self.assertTrue(document["logged"]["updates"])


class Healthy(TemporaryFolder):
    def test_a_healthy_run_is_reported_as_healthy(self):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        with torchoscope.watch(
            model, dir=str(self.folder), log_freq=1, log=["io"], on_alarm=None
        ) as handle:
            for _ in range(5):
                optimizer.zero_grad()
                model(torch.randn(8, 4)).square().mean().backward()
                optimizer.step()
        server = Server(handle.path, "--port", "0")
        self.addCleanup(server.close)
        file = server.document("api/shelf")["files"][0]["file"]
        document = server.document(f"api/training?file={file}")
        check = [scope.PROGRAM, "check", handle.path]
        check = subprocess.run(check, capture_output=True)
        verdict = {"role": "good", "text": "healthy in 5 logged steps"}
        self.assertEqual(document["verdict"], verdict)
        self.assertIn(b"healthy in 5 logged steps", check.stdout)
        self.assertFalse(document["logged"]["gradients"])
        self.assertIsNone(document["first_bad"])


if __name__ == "__main__":
    unittest.main()
