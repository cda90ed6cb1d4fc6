"""One place, one step, one number: in the page, in the terminal and in Python."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import torch
from torch import nn

import browser
import torchoscope
import scope
from serve_test import Server

torch.set_num_threads(1)
STEP = 16  # the newest logged step before it is 15


def train(folder):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torchoscope.watch(model, dir=folder, log_freq=3, log=["io", "params", "params_grad"],
                           on_alarm=None) as handle:
        for _ in range(29):
            optimizer.zero_grad()
            loss = model(torch.randn(4, 6)).square().sum()
            loss.backward()
            optimizer.step()
            handle.log(loss=loss)
    return Path(handle.path)


class Numbers(browser.BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = train(folder.name)
        cls.run_ = torchoscope.open(cls.path)
        cls.server = Server(cls.path, "--port", 0)
        cls.addClassCleanup(cls.server.close)

    def open(self, view, more=""):
        self.browser.size(1440)
        self.browser.open(self.server.address, f"#view={view}&step={STEP}{more}",
                          ready="document.querySelector('.row')")

    def told(self, place):
        """{'grad': '1.2', ...} of `torchoscope show`."""
        command = [scope.PROGRAM, "show", self.path, place, "--step", str(STEP)]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        line = next(one for one in text.splitlines() if one.startswith("history"))
        return {"grad": re.search(r"‖grad‖ (\S+)", line)[1],
                "ratio": re.search(r"update/w (\S+)", line)[1]}

    def test_python_and_the_terminal(self):
        at = list(self.run_.series("2.weight", "grad_param")["first"]).index(15)
        told = self.told("2.weight")
        for name, kind, column in (("grad", "grad_param", "l2"), ("ratio", "update", "ratio")):
            value = self.run_.series("2.weight", kind)[column][at]
            self.assertEqual(float(told[name]), float(f"{value:.4g}"))

    def test_the_table(self):
        self.open("table")
        told = self.told("2")
        cells = ("[...document.querySelectorAll('.row[title=\"2\"] [role=gridcell]')]"
                 ".map((one) => one.textContent)")
        self.browser.wait(f"return {cells}.includes('{told['grad']}')")
        self.assertIn(told["ratio"], self.browser.run(f"return {cells}"))
        self.browser.press(")")  # another step, other numbers
        self.browser.wait(f"return !{cells}.includes('{told['ratio']}')"
                          " || location.hash.includes('step=17')")
        self.browser.run("location.hash = location.hash.replace(/step=\\d+/, 'step=27')")
        self.browser.wait(f"return !{cells}.includes('{told['grad']}')")

    def test_the_overview(self):
        self.open("overview")
        told = self.told("2")
        cell = ("document.querySelector('.first[title=\"2\"]')?.closest('.row')"
                ".querySelector('.n-{}').textContent")
        self.browser.wait("return " + cell.format("gradient") + f" === '{told['grad']}'")
        self.assertIn(told["ratio"], self.browser.run("return " + cell.format("ratio")))
        loss = self.browser.run("return document.querySelector('.spark .cap>b:last-child')"
                                ".textContent")
        self.assertEqual(loss, f"{self.run_.scalars()['loss']['value'][STEP]:.4g}")

    def test_the_details_follow_the_cursor(self):
        self.open("details", "&at=2")
        told = self.told("2")
        fact = ("[...document.querySelectorAll('.dtfact')].map((one) => one.textContent)"
                ".find((one) => one.startsWith('history'))")
        self.browser.wait(f"return {fact}?.includes('{told['grad']} ')")
        self.assertIn("of step 15, the newest logged at or before 16",
                      self.browser.run(f"return {fact}"))
        self.browser.run("location.hash = location.hash.replace('step=16', 'step=27')")
        self.browser.wait(f"return {fact}?.includes('of step 27')")

    def test_a_panel(self):
        self.open("details", "&panels=2.weight")
        told, numbers = self.told("2.weight"), ("[...document.querySelectorAll('.panel .hg')].map("
                                                "(one) => one.querySelector('.st')?.textContent)")
        self.browser.wait(f"return {numbers}[1]?.endsWith('norm {told['grad']}')")
        self.assertEqual(self.browser.run(f"return {numbers}.at(-1)"), f"ratio {told['ratio']}")


if __name__ == "__main__":
    unittest.main()
