"""Pictures of the differences of two networks: torchoscope graph --diff and
torchoscope.graph(old, diff=new)."""

import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from xml.etree import ElementTree

import browser
import picture_models
import torch
import torchoscope
from torch import nn

PROGRAM = os.environ["TORCHOSCOPE"]
SVG = "{http://www.w3.org/2000/svg}"
MIRROR = {"added": "removed", "removed": "added", "changed": "changed", None: None}


class Squeeze(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(width, width // 4, 1)
        self.act = nn.ReLU()
        self.fc2 = nn.Conv2d(width // 4, width, 1)

    def forward(self, x):
        return x * torch.sigmoid(self.fc2(self.act(self.fc1(self.pool(x)))))


class Block(nn.Module):
    def __init__(self, width, inner=None, squeeze=False, act=nn.ReLU):
        super().__init__()
        inner = inner or width
        self.conv1 = nn.Conv2d(width, inner, 3, padding=1)
        self.act = act()
        self.conv2 = nn.Conv2d(inner, width, 3, padding=1)
        if squeeze:
            self.se = Squeeze(width)

    def forward(self, x):
        out = self.conv2(self.act(self.conv1(x)))
        return x + (self.se(out) if hasattr(self, "se") else out)


class Net(nn.Module):
    """Blocks of a width; `odd` has the options of the third one."""

    def __init__(self, blocks=4, odd=None, every=None):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3)
        options = [dict(every or {}) for _ in range(blocks)]
        options[2] |= odd or {}
        self.blocks = nn.Sequential(*(Block(8, **one) for one in options))
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


IMAGE = torch.zeros(1, 3, 10, 10)


def recorded(model, *inputs):
    inputs = inputs or (IMAGE,)
    return torchoscope.trace(model.eval(), *inputs, backward=False)


def diff(old, new, **options):
    return torchoscope.graph(old, IMAGE, diff=new, **options)


def ids(boxes):
    return [box.id for box in boxes]


def marked(text):
    """Kind of element and data-change of all elements that have one."""
    root = ElementTree.fromstring(text)
    return Counter((one.get("class"), one.get("data-change")) for one in root.iter()
                   if one.get("data-change"))


class Changes(unittest.TestCase):
    def test_a_widened_layer_shows_both_widths(self):
        found = diff(Net(), Net(odd={"inner": 12}))
        self.assertEqual((found.added, found.removed), ([], []))
        words = {box.id: box.words for box in found.changed}
        self.assertIn("8→12 (was 8→8)", words["blocks.2.conv1"])
        self.assertIn("12→8 (was 8→8)", words["blocks.2.conv2"])
        self.assertIn("result 1×12×8×8 (was 1×8×8×8)", words["blocks.2.act"])
        self.assertEqual(len(words), 3)
        root = ElementTree.fromstring(found.svg)
        drawn = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
        self.assertTrue(any("8→12 (was 8→8)" in text for text in drawn))
        self.assertTrue(any("result 1×12×8×8 (was 1×8×8×8)" in text for text in drawn))

    def test_a_new_block_is_added_with_its_lines(self):
        found = diff(Net(), Net(odd={"squeeze": True}))
        names = ["blocks.2.se.pool", "blocks.2.se.fc1", "blocks.2.se.act"]
        self.assertLessEqual({*names, "blocks.2.se.fc2"}, set(ids(found.added)))
        self.assertEqual((found.removed, found.changed), ([], []))
        lines = {(line.source, line.target): line.change for line in found.edges}
        self.assertEqual(lines["blocks.2.conv2", "blocks.2.se.pool"], "added")
        self.assertEqual(lines["blocks.2.conv1", "blocks.2.act"], None)
        gone = [ends for ends, change in lines.items() if change == "removed"]
        self.assertEqual([source for source, _ in gone], ["blocks.2.conv2"])

    def test_removed_layers_stay_in_the_picture(self):
        found = diff(Net(6), Net(4))
        self.assertEqual(len(found.removed), 8)
        self.assertTrue(all(name.startswith("old:") for name in ids(found.removed)))
        self.assertEqual(found.added, [])
        self.assertIn(("edge", "removed"), marked(found.svg))

    def test_only_groups_with_changes_are_open(self):
        found = diff(Net(8), Net(8, odd={"act": nn.GELU}))
        root = ElementTree.fromstring(found.svg)
        nodes = {g.get("data-id") for g in root.iter(f"{SVG}g") if g.get("class") == "node"}
        self.assertIn("blocks.2.act", nodes)
        self.assertIn("blocks.0…1", nodes)
        self.assertIn("blocks.3…7", nodes)

    def test_equal_changes_fold_and_are_counted(self):
        found = diff(Net(8), Net(8, every={"act": nn.GELU}))
        self.assertEqual(len(found.changed), 8)
        rest = next(node for node in found.nodes if node.id == "blocks.1…7")
        self.assertEqual(rest.words[:2], ["7 × Block", "7 changes"])
        self.assertEqual(rest.change, "changed")

    def test_another_function_is_a_changed_operation(self):
        class Functional(nn.Module):
            def __init__(self, function):
                super().__init__()
                self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
                self.function = function

            def forward(self, x):
                return self.b(self.function(self.a(x)))

        relu, tanh = Functional(torch.relu), Functional(torch.tanh)
        found = torchoscope.graph(relu, torch.zeros(1, 4), diff=tanh)
        self.assertEqual([box.words for box in found.changed], [["was relu"]])
        self.assertEqual([box.name for box in found.changed], ["tanh"])

    def test_a_renamed_module_keeps_its_box(self):
        old, new = Net(), Net()
        new.trunk = new.blocks
        del new.blocks
        new.forward = lambda x: new.head(new.trunk(new.stem(x)).mean((2, 3)))
        found = diff(old, new)
        self.assertEqual((found.added, found.removed), ([], []))
        trunk = next(node for node in found.nodes if node.id == "trunk")
        self.assertIn("renamed from blocks", trunk.words)


class Pairs(unittest.TestCase):
    def test_equal_networks_have_no_mark(self):
        for name in ("resnet18", "transformer", "lstm", "unet"):
            model, args, kwargs = picture_models.make(name)
            old = torchoscope.trace(model, *args, kwargs=kwargs, backward=False)
            for level in ("modules", "ops"):
                found = torchoscope.graph(old, diff=old, level=level)
                self.assertTrue(found.is_equal)
                self.assertEqual(marked(found.svg), {})
                self.assertNotIn('class="change"', found.svg)
                self.assertIn("nothing differs", found.svg)

    def test_the_reverse_diff_mirrors_the_diff(self):
        nets = [Net(), Net(6), Net(odd={"inner": 4}), Net(odd={"squeeze": True})]
        nets += [Net(5, every={"act": nn.Tanh}), nn.Sequential(Net(), nn.ReLU())]
        runs = [recorded(net) for net in nets]
        for level in ("modules", "ops"):
            for i, old in enumerate(runs):
                for new in runs[:i]:
                    there = torchoscope.graph(old, diff=new, level=level)
                    back = torchoscope.graph(new, diff=old, level=level)
                    self.assertFalse(there.is_equal)
                    for rows in ("nodes", "edges"):
                        a = Counter(row.change for row in getattr(there, rows))
                        b = Counter(MIRROR[row.change] for row in getattr(back, rows))
                        self.assertEqual(a, b)

    def test_the_same_pair_gives_the_same_bytes_in_every_process(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("a.scope", "b.scope")]
            recorded(Net()).save(paths[0])
            recorded(Net(6, odd={"squeeze": True})).save(paths[1])
            for form in ("svg", "pdf", "html", "dot", "mmd", "json"):
                words = ["graph", paths[0], "--diff", paths[1], "-o", "-", "--form", form]
                both = [
                    subprocess.run([PROGRAM, *words], capture_output=True, check=True)
                    for _ in range(2)
                ]
                self.assertEqual(both[0].stdout, both[1].stdout, form)
                self.assertGreater(len(both[0].stdout), 100)
            ours = torchoscope.graph(paths[0], diff=paths[1])
            words = ["graph", *paths[:1], "--diff", paths[1], "-o", "-", "--form", "svg"]
            done = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
            self.assertEqual(done.stdout, ours.svg)
            self.assertEqual(done.returncode, 0)
            self.assertIn("a → b · ", done.stdout)

    def test_counts_are_those_of_the_title(self):
        found = diff(Net(6), Net(4, odd={"squeeze": True, "inner": 12}))
        counts = {name: found.json[name] for name in ("added", "removed", "changed")}
        self.assertEqual(counts["added"], len(found.added))
        self.assertEqual(counts["removed"], len(found.removed))
        self.assertEqual(counts["changed"], len(found.changed))
        title = re.search(r"(\d+) added, (\d+) removed, (\d+) changed", found.svg)
        self.assertEqual([int(n) for n in title.groups()], list(counts.values()))


class Forms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.diff = diff(Net(6), Net(4, odd={"squeeze": True, "inner": 12}))

    def test_svg_marks_changes_not_only_by_colour(self):
        text = self.diff.svg
        found = marked(text)
        for change in ("added", "removed", "changed"):
            self.assertGreater(found["node", change], 0)
        self.assertGreater(found["group", "changed"], 0)
        self.assertGreater(found["edge", "added"], 0)
        self.assertGreater(found["edge", "removed"], 0)
        root = ElementTree.fromstring(text)
        for one in root.iter():
            change = one.get("data-change")
            if one.get("class") == "node" and change:
                signs = [g for g in one if g.get("class") == "change"]
                self.assertEqual(len(signs), 1)
            if one.get("class") == "edge":
                self.assertEqual(change == "removed", "stroke-dasharray" in one.attrib)
        ticks = [one for one in root.iter() if one.get("class") == "tick"]
        self.assertEqual(len(ticks), found["edge", "added"])
        legend = next(g for g in root.iter(f"{SVG}g") if g.get("class") == "legend")
        words = {"".join(one.itertext()) for one in legend.iter(f"{SVG}text")}
        self.assertLessEqual({"added", "removed", "changed"}, words)

    def test_dot_and_mermaid_have_signs(self):
        dot, mermaid = self.diff.picture("dot"), self.diff.picture("mmd")
        for sign in "+−~":
            self.assertIn(f'[label="{sign} ', dot)
        self.assertIn("style=dashed", dot)
        for name, arrow in (("added", "==>"), ("removed", "-.->"), ("changed", "-->")):
            self.assertRegex(mermaid, rf"(?m)^class n\d+ {name}$")
            self.assertRegex(mermaid, rf"(?m)^classDef {name} stroke:")
            self.assertIn(arrow, mermaid)

    def test_json_has_every_box_and_line(self):
        document = json.loads(self.diff.picture("json"))
        self.assertEqual(document["kind"], "graph_diff")
        ids = [node["id"] for node in document["nodes"]]
        self.assertEqual(len(ids), len(set(ids)))
        for edge in document["edges"]:
            self.assertLessEqual({edge["source"], edge["target"]}, set(ids))
        for node in document["nodes"]:
            self.assertIn(node["inside"], {None, *ids})

    def test_a_notebook_and_a_pickle(self):
        self.assertTrue(self.diff._repr_mimebundle_()["image/svg+xml"].startswith("<svg"))
        again = pickle.loads(pickle.dumps(self.diff))
        self.assertEqual(again.json, self.diff.json)
        self.assertEqual(repr(again), repr(self.diff))
        with self.assertRaisesRegex(ValueError, "cannot be drawn"):
            again.svg  # noqa: B018


class Page(browser.BrowserTest):
    def test_marks_follow_folding(self):
        found = diff(Net(6), Net(4, odd={"squeeze": True, "inner": 12}))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.html")
            found.save(path)
            self.browser.open(path)
            count = "return document.querySelectorAll(arguments[0]).length"
            svg = marked(found.svg)
            for kind in ("node", "edge"):
                for change in ("added", "removed"):
                    shown = self.browser.run(count, f'.{kind}[data-change="{change}"]')
                    self.assertEqual(shown, svg[kind, change], (kind, change))
            marks = self.browser.run(count, ".marks .change")
            both = sum(n for (kind, _), n in svg.items() if kind != "edge")
            self.assertEqual(marks, both)
            self.assertEqual(self.browser.run(count, "#legend .change"), 3)
            self.assertEqual(self.browser.log(), [])


class Trouble(unittest.TestCase):
    def test_graphs_that_cannot_be_compared_give_the_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            state, run = os.path.join(folder, "net.pth"), os.path.join(folder, "a.scope")
            torch.save(nn.Linear(2, 2).state_dict(), state)
            recorded(Net()).save(run)
            for words, text in (
                ([run, "--diff", state], "a state_dict has no graph"),
                ([run, "--diff", os.path.join(folder, "none.scope")], "No such file"),
                ([run, "--diff", run, "--root", "nope"], 'nothing is called "nope"'),
                ([run, "--diff", "model.py"], "is Python code"),
            ):
                done = subprocess.run(
                    [PROGRAM, "graph", *words, "-o", os.path.join(folder, "x.svg")],
                    capture_output=True,
                    text=True,
                )
                self.assertEqual(done.returncode, 2, words)
                self.assertIn(text, done.stderr)
        with self.assertRaisesRegex(TypeError, "it takes no inputs"):
            run = recorded(Net())
            torchoscope.graph(run, IMAGE, diff=run)

    def test_a_recording_and_a_model(self):
        run = recorded(Net())
        found = torchoscope.graph(run, IMAGE, diff=Net(6))
        self.assertEqual(len(found.added), 8)
        self.assertEqual(len(torchoscope.graph(Net(6), IMAGE, diff=run).removed), 8)

    def test_live_models_on_the_command_line(self):
        code = "from torch import nn\n"
        code += "def make(n): return nn.Sequential(nn.Linear(4, n), nn.ReLU())\n"
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "net.py"), "w") as file:
                file.write(code)
            words = ["graph", "net.py::make(8)", "--diff", "net.py::make(9)", "-i", "1x4"]
            done = subprocess.run(
                [PROGRAM, *words, "-o", "-", "--form", "json"],
                capture_output=True,
                text=True,
                cwd=folder,
                env={**os.environ, "TORCHOSCOPE_PYTHON": sys.executable},
            )
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual((document["old"], document["new"]),
                         ("net.py::make(8)", "net.py::make(9)"))
        self.assertEqual(document["changed"], 3)  # with the output


if __name__ == "__main__":
    unittest.main()
