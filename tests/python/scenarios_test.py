#!/usr/bin/env python3
"""Ten common tasks in the explorer, in a real terminal (tmux): keys in, the screen's
text out. tests/samples/scenarios.py makes the files. """

import contextlib
import os
import re
import shutil
import subprocess
import sys
import textwrap
import unittest
from pathlib import Path

import scope
from terminal import Terminal

SCENARIOS = scope.ROOT / "build" / "scenarios"
CIFARNET = scope.MODELS / "pytorch-ml" / "CNN_cifarnet.ckpt"
PYTHON = scope.VENV if scope.VENV.exists() else Path(sys.executable)


def setUpModule():
    if not shutil.which("tmux"):
        raise unittest.SkipTest("no tmux")
    if not scope.has_torch(PYTHON):
        raise unittest.SkipTest("no torch makes the files")
    maker = [PYTHON, scope.SAMPLES / "scenarios.py"]
    subprocess.run(maker, check=True, stdout=subprocess.DEVNULL)


def blanks(text):
    return re.sub(r"\s+", " ", text)


def divider(t):
    """The column between tree and panels, which may hold the tree's scroll bar."""
    line = t.text().splitlines()[5]
    return 20 + re.search("[│┃]", line[20:]).start()


class Scenario(unittest.TestCase):
    """Finds texts regardless of the number of blanks between words."""

    def start(self, words, **options):
        return self.enterContext(Terminal(words, **options))

    def open(self, *words, **options):
        return self.start([scope.PROGRAM, *words], **options)

    def file(self, name, *words, **options):
        return self.open(SCENARIOS / name, *words, **options)

    def live(self, code="", **options):
        """A Python that explores ResNet-50 after a forward pass."""
        before, _, call = code.partition("---")
        script = textwrap.dedent(f"""
            import sys
            sys.path.insert(0, {str(scope.SAMPLES)!r})
            import torch, torchoscope, scenario_models
            torch.set_num_threads(1)
            model = scenario_models.resnet50().eval()
            {before}
            with torch.no_grad():
                {call or "torchoscope.explore(model, torch.randn(1, 3, 224, 224))"}
            print("back in Python")
        """)
        return self.python(script, **options)

    def python(self, script, settings=None, **options):
        """A program in Python, once its explorer is open."""
        path = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        terminal = self.start([PYTHON, "-c", script], settings={**path, **(settings or {})},
                              **options)
        for _ in range(5):  # torch takes its time to be imported
            with contextlib.suppress(AssertionError):
                terminal.wait("row 1/")
                return terminal
        raise AssertionError(terminal.text())

    def press(self, terminal, *keys):
        """Press keys by name; type anything else."""
        for key in keys:
            if key in ("Enter", "Escape", "BSpace"):
                terminal.keys(key)
            else:
                terminal.type(key)

    def shows(self, terminal, *texts):
        terminal.wait(*texts)

    def row(self, terminal, name):
        """The line of the tree with `name`, runs of blanks as one."""
        for line in terminal.text().splitlines():
            if re.search(rf"[ ▌*=!✗]({re.escape(name)})(:| |$)", line[:60]):
                return blanks(line)
        raise AssertionError(f"no row {name!r} in\n{terminal.text()}")

    def selected(self, terminal):
        """The row of the cursor."""
        for line in terminal.text().splitlines():
            if line.startswith("▌"):
                return blanks(line)
        raise AssertionError(f"no cursor in\n{terminal.text()}")


class TheTen(Scenario):
    def test_1_a_file_is_opened(self):
        t = self.file("resnet50.pth", columns=80, rows=24)
        self.shows(t, "✓ SAFE", "320 tensors", "25,557,032", "row 1/11")
        self.assertRegex(blanks(t.text()), r"params % .*memory")
        self.assertRegex(self.row(t, "layer4"), r"15\.0M 59% \S+ 57\.2MB")
        self.press(t, "j" * 9)
        t.wait("row 10/11")
        self.assertIn("avgpool", self.selected(t))
        self.press(t, "G")
        t.wait("row 11/11")
        self.assertIn("fc", self.selected(t))
        self.press(t, "l")
        t.wait("row 11/13")
        self.assertIn("weight 1000×2048", blanks(t.text()))
        self.assertIn("bias 1000", blanks(t.text()))

    def test_2_search_fold_and_the_same_class(self):
        t = self.live()
        self.press(t, "Z")
        t.wait("row 1/151")
        self.press(t, "/conv2", "Enter")
        self.shows(t, "1 of 16 matches", "row 4/37", "layer1.0.conv2")
        self.press(t, "o")
        t.wait("row 4/53")
        self.press(t, "n")
        self.shows(t, "2 of 16", "layer1.1.conv2")
        self.press(t, "Escape")
        t.wait("/204")
        self.assertNotIn("matches", t.text())
        self.assertIn("layer1.1.conv2", t.text())
        self.press(t, "Z")
        t.wait("/11")
        self.assertIn("layer1", self.selected(t))

    def test_3_shapes_and_what_is_trainable(self):
        t = self.live()
        self.press(t, "\\", ":layer1.0.relu", "Enter")
        t.wait("layer1.0.relu", "row 14/")
        before = [line[:24] for line in t.text().splitlines()[1:20]]
        self.press(t, "f")
        t.wait("calls")
        self.assertRegex(self.selected(t), r"1×256×56×56\* 1×256×56×56\* 3 ")
        self.assertRegex(t.coloured(), r"\x1b\[[0-9;]*3m[^m]*1×256×56×56")
        self.press(t, "f")
        t.wait(gone=["calls"])
        self.assertNotIn("1×256×56×56*", self.selected(t))
        self.assertEqual([line[:24] for line in t.text().splitlines()[1:20]], before)
        self.assertIn("25.6M params, all trainable", t.text())

    def test_3_trainable_can_be_searched(self):
        t = self.live("model.requires_grad_(False); model.fc.requires_grad_(True)")
        t.wait("2.0M of 25.6M trainable")
        self.press(t, "/trainable", "Enter")
        t.wait("row 2/2")
        self.assertIn("fc", self.selected(t))

    def test_4_order_flowing_labels_and_the_flat_list(self):
        t = self.live()
        self.press(t, "i", "p")
        t.wait("params▾")
        order = re.findall(
            r"^.[├└] [▸▾ ] (\w+):", t.text(), re.MULTILINE
        )
        wanted = "layer4 layer3 fc layer2 layer1 conv1 bn1 relu maxpool avgpool"
        self.assertEqual(order, wanted.split())
        self.press(t, "i", "x")
        t.wait(gone=["params▾"])
        self.press(t, "A")
        t.wait("(layer4): Sequential")
        line = next(l for l in t.text().splitlines() if "(layer4): Sequential" in l)
        self.assertLess(line.index("57.2MB"), line.index("(layer4)"))
        self.press(t, "A", "F", "i", "p")
        t.wait("126 leaves", "params▾")
        self.press(t, "g")
        t.wait("row 1/126")
        rows = [re.match(r".([\w.]+)", l)[1] for l in t.text().splitlines()[2:7]]
        first = "layer4.0.conv2 layer4.1.conv2 layer4.2.conv2 layer4.0.downsample.0 fc"
        self.assertEqual(rows, first.split())
        self.press(t, "jjj", "Enter")
        t.wait("layer4.0.downsample.0 ")
        self.assertIn("├", t.text())
        self.assertRegex(self.selected(t), r"0: Conv2d")

    def test_5_the_same_class_and_the_code(self):
        t = self.live(settings={"NO_COLOR": "1"})
        self.press(t, "Z", ":layer1.0", "Enter")
        t.wait("1 of 16 Bottleneck")
        same = [l for l in t.text().splitlines() if l.startswith("=")]
        self.assertGreater(len(same), 1)
        before = t.text()
        self.press(t, "c")
        t.wait(gone=["2 Code"])
        self.press(t, "c", "a", "a")
        t.settle()
        self.assertEqual(t.text(), before)
        if "def forward(self, x):" not in before:
            self.press(t, "c")
        t.wait("def forward(self, x):")
        line = next(l for l in t.text().splitlines() if "def forward(self, x):" in l)
        self.assertIn("x 1×64×56×56", line)
        at = divider(t)
        self.press(t, "<<<")
        t.settle()
        self.assertAlmostEqual(divider(t), at - 18, delta=2)

    def test_6_an_unsafe_file(self):
        t = self.file("model_best.pth.tar")
        self.shows(t, "✗ UNSAFE", "posix.system")
        self.press(t, "!")
        t.settle()
        self.assertIn("best_acc1", self.selected(t))
        self.assertRegex(t.text(), r"byte 15,\d\d\d")

    def test_6_a_file_that_needs_code(self):
        t = self.file("lightning.ckpt")
        self.shows(t, "! NEEDS CODE", "__main__.CifarCNN")
        self.assertIn("? INCONCLUSIVE", self.file("cut.ckpt").wait("INCONCLUSIVE"))

    @unittest.skipUnless(CIFARNET.exists(), "the model files are not installed")
    def test_7_the_numbers_of_a_tensor(self):
        t = self.open(CIFARNET)
        self.press(t, "/fc1", "Enter", "l", "l", "Enter")
        self.shows(t, "-0.544408", "[83, 225]", "48,000", "NaN 0", "quantiles, exact")
        self.assertIn("-0.1610", t.text())
        self.press(t, "[", "83, 220:230", "Enter")
        t.wait("-0.5444")
        self.press(t, "Escape", "Escape")
        t.settle()
        self.assertNotIn("match", t.text())
        self.assertIn("fc1.weight", t.text())

    def test_7_a_kept_activation(self):
        t = self.file("live.scope", "--at", "layer1")
        self.press(t, "4")
        t.wait("of 256")

    def test_8_repeats_and_ties(self):
        script = textwrap.dedent("""
            import torch, torchoscope
            from transformers import GPT2Config, GPT2LMHeadModel
            with torch.device("meta"):
                model = GPT2LMHeadModel(GPT2Config())
            model.tie_weights()
            torchoscope.explore(model)
        """)
        if subprocess.run([PYTHON, "-c", "import transformers"]).returncode:
            self.skipTest("no transformers")
        t = self.python(script)
        self.press(t, "Z")
        self.shows(t, "12 × GPT2Block", "85.1M", "124.4M", "(38.6M)")
        self.press(t, ":lm_head", "Enter", "l", "l", "Enter")
        t.wait("transformer.wte.weight ")
        self.assertIn("weight", self.selected(t))
        self.press(t, "BSpace")
        t.wait("lm_head.weight")
        self.press(t, "X")
        self.shows(t, "0: GPT2Block", "11: GPT2Block")
        self.assertIn("7.1M", self.row(t, "11"))

    def test_9_two_files_side_by_side(self):
        t = self.file("resnet50.pth")
        self.press(t, "D", str(SCENARIOS / "finetuned.pth"), "Enter")
        t.wait("129 same")
        self.shows(t, "189 changed", "2 reshaped")
        self.press(t, "=")
        t.settle()
        self.assertNotRegex(t.text(), r"(?m)^.[├└] [▸▾ ] conv1")
        self.press(t, "n")
        t.settle()
        self.assertIn("bn1", self.selected(t))

    def test_10_sizes(self):
        t = self.file("resnet50.pth")
        t.wait("row 1/11", "320 tensors measured")
        t.settle()
        first = t.text()
        t.resize(60, 20)
        t.settle()
        t.resize(30, 6)
        t.wait("needs 40×8; this is 30×6")
        t.resize(120, 36)
        t.wait("row 1/11")
        t.settle()
        self.assertEqual(t.text(), first)


if __name__ == "__main__":
    unittest.main()
