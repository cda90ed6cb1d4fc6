"""The ten most common tasks on the page with the keyboard alone, in Chromium: a
training that ended with NaN beside a file of weights. After each key the focus is
visible."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch

import browser
from page_panels_test import Training
from serve_test import Server

# The focused element has an outline, or the row or field around it has one.
FOCUS = """
const at = document.activeElement;
const shown = (one) => one && getComputedStyle(one).outlineStyle !== 'none' &&
    parseFloat(getComputedStyle(one).outlineWidth) > 0;
return at === document.body || shown(at) || shown(at.querySelector('.cursor')) ||
    shown(at.closest('.search')) || at.querySelector('.ring.focus') !== null || at.outerHTML;
"""


class Keyboard(browser.BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        training = Training(folder.name)
        cls.addClassCleanup(training.close)
        cls.run_path = training.tell(20, "nan", 3, "close")
        cls.recording = Path(folder.name) / "one.scope"
        code = (
            "import sys, torch, torchoscope\n"
            "net = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(3, 4),"
            " torch.nn.ReLU()), torch.nn.Linear(4, 2))\n"
            "with torchoscope.record(net) as r:\n"
            "    net(torch.randn(5, 3)).sum().backward()\n"
            "r.save(sys.argv[1])\n"
        )
        subprocess.run([sys.executable, "-c", code, str(cls.recording)], check=True)
        torch.manual_seed(0)
        cls.files = [Path(folder.name) / name for name in ("weights.pth", "tuned.pth")]
        weights = {"fc.weight": torch.randn(30, 20), "fc.bias": torch.zeros(30)}
        torch.save(weights, cls.files[0])
        weights["fc.weight"][3, 4] += 1
        torch.save(weights, cls.files[1])
        cls.server = Server(cls.run_path, cls.recording, *cls.files, "--port", 0)
        cls.addClassCleanup(cls.server.close)
        shelf = cls.server.document("api/shelf")["files"]
        cls.ids = {one["path"]: one["file"] for one in shelf}

    def setUp(self):
        super().setUp()
        self.browser.size(1440)

    def open(self, path=None, view="", ready="document.body.dataset.ready"):
        file = f"#file={self.ids[str(path)]}&view={view}" if path else ""
        self.browser.open(self.server.address, file, ready=ready)

    def press(self, *keys):
        for key in keys:
            self.browser.press(key)
            self.assertIs(self.browser.run(FOCUS), True, key)

    def until(self, condition):
        self.browser.wait(f"return {condition}")

    def tab_to(self, condition, most=40):
        """Presses Tab until the focused element `e` is the wanted one."""
        for _ in range(most):
            self.press("Tab")
            if self.browser.run(f"const e = document.activeElement; return {condition}"):
                return
        self.fail(f"no Tab reaches {condition}")

    def hash(self):
        return self.browser.run("return decodeURIComponent(location.hash)")

    def test_a_file_of_a_folder_is_opened(self):
        self.open()
        self.until("document.querySelectorAll('tbody tr').length === 4")
        self.press("Down", "Down", "Enter")
        self.until("location.hash.includes('file=')")
        self.until("document.querySelector('.row')")

    def test_a_module_is_searched(self):
        self.open(self.run_path, "table", "document.querySelector('.trow')")
        self.press("/", *"conv")
        self.until("document.querySelectorAll('#found [role=option]').length > 0")
        self.press("Down", "Enter")
        self.until("location.hash.includes('at=conv')")

    def test_a_module_of_the_graph_is_entered_and_left(self):
        self.open(self.recording, "graph", "document.querySelector('.gr .node')")
        self.tab_to("e.closest('.gr') !== null && !e.matches('button')")
        self.press("Down", "Down", "Left")
        self.until("location.hash.endsWith('at=0')")
        self.press("Enter", "Enter")  # folds it, then goes in
        self.until("location.hash.includes('root=0')")
        self.press("Backspace")
        self.until("!location.hash.includes('root=')")

    def test_the_tree_folds(self):
        self.open(self.recording, "graph", "document.querySelector('.tree .row')")
        self.tab_to("e.role === 'tree'")
        self.press("Z")
        rows = "document.querySelectorAll('.tree .row').length"
        self.until(f"{rows} === 3")
        self.press("Down", "Right", "Right")
        self.until(f"{rows} === 5 && document.querySelector('.tree .sel').title === '0.0'")

    def test_a_table_is_sorted_and_filtered(self):
        self.open(self.run_path, "table", "document.querySelector('.trow')")
        self.press("i", "p")
        self.until("location.hash.includes('sort=params')")
        self.tab_to("e.placeholder === 'Filter'")
        self.press(*"conv")
        self.until("location.hash.includes('filter=conv')")

    def test_values_of_a_tensor_are_read(self):
        self.open(self.files[0], "details", "document.querySelector('.tree .row')")
        self.tab_to("e.role === 'tree'")
        self.press("End")
        self.until("document.querySelector('.atname .link')")
        self.tab_to("e.textContent === 'weight'")
        self.press("Enter")
        self.until("document.querySelector('.dtgrid')")
        self.press("[", *"[2:9, :]", "Enter")
        self.until("document.querySelectorAll('.dtgrid tbody tr').length === 7")
        self.tab_to("e.matches('.dtgrid')", 80)
        self.press("Down", "Right")
        self.until("document.querySelector('.dtcard p b')?.textContent === '[3, 1] '")
        self.browser.run(  # faster than the answers
            "for (const key of ['ArrowDown', 'ArrowRight', 'ArrowRight'])"
            " document.activeElement.dispatchEvent("
            "new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}))"
        )
        self.until("document.querySelector('.dtcard p b')?.textContent === '[4, 3] '")

    def test_a_panel_shows_a_module(self):
        self.open(self.run_path, "graph", "document.querySelector('.tree .row')")
        self.tab_to("e.role === 'tree'")
        self.press("Down", "A")
        self.until("document.querySelector('.panel .hg')")

    def test_steps_are_walked(self):
        self.open(self.run_path, "overview", "document.querySelector('.stack b')")
        step = "document.querySelector('.stack b').textContent"
        last = int(self.browser.run(f"return {step}").split()[1])
        self.press("(", "(")
        self.until(f"{step} === 'step {last - 2}'")
        self.press(")")
        self.until(f"{step} === 'step {last - 1}'")

    def test_an_alarm_is_visited(self):
        self.open(self.run_path, "graph", "document.querySelector('.stack b')")
        self.press("!")
        self.until("document.querySelector('.aline')")
        self.press("Enter")
        self.until("location.hash.includes('step=') && location.hash.includes('at=')")

    def test_two_files_are_compared_and_the_link_copied(self):
        self.open(self.files[0], "table", "document.querySelector('.trow')")
        self.tab_to("e.textContent === 'Compare'")
        self.press("Enter")
        self.until("document.querySelector('.empty .btn')")
        self.tab_to("e.closest('.empty') && e.textContent.startsWith('tuned.pth')", 60)
        self.press("Enter")
        self.until("document.querySelector('.cmp .banner')")
        self.assertIn("right=tuned.pth", self.hash())
        self.browser.press("y")
        self.until("document.querySelector('.toast')?.textContent === 'Link copied'")


if __name__ == "__main__":
    unittest.main()
