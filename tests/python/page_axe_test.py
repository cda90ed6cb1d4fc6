"""axe-core looks for barriers in every view of the page: a training that ended with NaN, a
recording with operations, a file and the list of all three; dark, and on a phone."""

import importlib.util
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
from pathlib import Path

import torch

import browser
from page_panels_test import Training
from serve_test import Server

found = importlib.util.find_spec("axe_playwright_python")
AXE = found and Path(found.origin).with_name("axe.min.js")

RECORDING = """
import sys, torch, torchoscope
net = torch.nn.Sequential(torch.nn.Conv2d(2, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                          torch.nn.Linear(64, 4))
with torchoscope.record(net, ops=True) as r:
    net(torch.randn(5, 2, 6, 6)).sum().backward()
r.save(sys.argv[1])
"""
# Each rule that fails: its name, the sentence about it, the elements.
LOOK = """
const done = arguments[0];
const line = (node) => `${node.target.join(' ')}: ${node.failureSummary}`;
const named = ({id, nodes}) => `${id}: ${nodes.map(line).join('; ')}`;
return axe.run(document).then((found) => found.violations.map(named));
"""


@unittest.skipUnless(AXE, "axe-playwright-python is not installed")
class Axe(browser.BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        training = Training(folder.name)
        cls.addClassCleanup(training.close)
        cls.run_path = training.tell(12, "nan", 3, "close")
        cls.recording = Path(folder.name) / "one.scope"
        subprocess.run([sys.executable, "-c", RECORDING, str(cls.recording)], check=True)
        cls.weights = Path(folder.name) / "weights.pth"
        torch.save({"fc.weight": torch.randn(30, 20), "fc.bias": torch.zeros(30)}, cls.weights)
        cls.server = Server(cls.run_path, cls.recording, cls.weights, "--port", 0)
        cls.addClassCleanup(cls.server.close)
        shelf = cls.server.document("api/shelf")["files"]
        cls.ids = {one["path"]: one["file"] for one in shelf}

    def look(self, path=None, ready="document.body.dataset.ready", **state):
        state = {"file": self.ids[str(path)], **state} if path else state
        self.browser.open(
            self.server.address, "#" + urllib.parse.urlencode(state, doseq=True), ready=ready
        )
        self.browser.wait("return !document.querySelector('.bones')")
        self.browser.run(AXE.read_text(encoding="utf-8") + "; window.axe = axe")
        self.assertEqual(self.browser.run(LOOK), [], f"{path}, {state}")

    def look_everywhere(self):
        self.look()
        for view in "overview graph table curves details timeline compare safety".split():
            self.look(self.run_path, view=view)
        self.look(self.run_path, view="graph", panels=["conv", "conv.weight", ""])
        for view in ["graph", "timeline"]:
            self.look(self.recording, view=view, level="ops")
        self.look(self.recording, view="compare", right=self.ids[str(self.weights)])
        self.look(self.weights, view="details", at="fc.weight")

    def test_wide_and_light(self):
        self.browser.size(1440)
        self.look_everywhere()

    def test_dark(self):
        self.browser.size(1024)
        self.browser.prefer("dark")
        self.look_everywhere()

    def test_on_a_phone(self):
        self.browser.size(390, 844)
        self.look_everywhere()

    def test_overlays(self):
        """Menus, help, the search's list and a tooltip."""
        self.browser.size(1440)
        self.look(self.run_path, view="graph")
        for keys in (["?"], ["Escape", "/", "c", "o", "n"], ["Escape", "Escape", "!"]):
            self.browser.press(*keys)
            self.assertEqual(self.browser.run(LOOK), [], keys)


if __name__ == "__main__":
    unittest.main()
