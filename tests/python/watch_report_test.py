"""The report of a watched training, looked at in Chromium."""

import json
import re
import sqlite3
import tempfile
import unittest
from pathlib import Path

import torch
from torch import nn

import browser
import scope
import torchoscope

torch.set_num_threads(1)

HOSTILE = [
    "</script><script>document.title='x'</script>",
    "<img src=x onerror=alert(1)>",
    "\u202egnp",
]
STEPS, NAN = 60, 50
ALARM = (
    "INSERT INTO history_alarm VALUES(?,?,1,0,?,?,?,'net.py:12',?,"
    "4,1,0,0,0,0,0,1,0,0,0,0,0,0,0)"
)


def make_net():
    torch.manual_seed(0)
    net = nn.Sequential()
    net.add_module("stem", nn.Linear(6, 16))
    net.add_module("act", nn.ReLU())
    for name in HOSTILE:
        net._modules[name] = nn.Linear(16, 16)
    net.add_module("head", nn.Linear(16, 2))
    return net


def train(folder):
    """A training that ends in NaN, with a gap and alarms."""
    net = make_net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    with torchoscope.watch(net, dir=str(folder), log_freq=1) as w:
        for step in range(STEPS):
            if step == NAN:
                with torch.no_grad():
                    net.head.weight[0, 0] = float("nan")
            optimizer.zero_grad()
            loss = net(torch.randn(4, 6)).square().mean()
            loss.backward()
            optimizer.step()
            w.log(loss=loss.item(), **{HOSTILE[0]: float(step)})
    path = Path(w.path)
    path = path.rename(folder / "run.scope")
    with sqlite3.connect(path) as db:
        db.execute(
            "UPDATE history_step SET first = first + 20, last = last + 20, segment = 1 "
            "WHERE first >= 30"
        )
        db.execute("INSERT INTO history_segment VALUES(1, 50, 1, 9, 20, 0, 0, 'b')")
        db.execute("DELETE FROM history_alarm")
        db.execute(ALARM, (0, 12, 1, "dead", "act", "12 of 16 units"))
        db.execute(ALARM, (1, NAN + 20, 2, "nan", "head", HOSTILE[1]))
    db.close()
    return path


class Report(browser.BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.path = train(cls.folder)
        cls.page = cls.folder / "run.html"
        done = scope.run("export", cls.path, "-o", cls.page)
        assert done.returncode == 0, done.stderr
        cls.run_of = torchoscope.open(cls.path)

    def setUp(self):
        super().setUp()
        self.browser.open(self.page)

    def js(self, script, *arguments):
        return self.browser.run(f"return {script}", *arguments)

    # --- curves

    def test_the_curves_are_there_and_read_out(self):
        names = self.js("[...document.querySelectorAll('.chart b')].map(b => b.innerText)")
        self.assertEqual(names[:2], ["loss", HOSTILE[0]])
        self.assertIn("grad_norm", names)
        self.assertIn("lr/0", names)
        loss = self.run_of.scalars()["loss"]
        box = self.js("document.querySelector('.plot').getBoundingClientRect().toJSON()")
        last = STEPS + 20 - 1
        self.browser.mouse(
            ("move", box["left"] + box["width"] * 10 / last, box["top"] + 40)
        )
        read = self.js("document.querySelector('.chart .read').innerText")
        self.assertEqual(read, f"step 10: {loss['value'][10]:.4g}")
        self.assertEqual(self.js("document.querySelectorAll('u.hover').length"), len(names))

    def test_keys_read_values_switch_the_axis_and_put_the_cursor(self):
        self.browser.run("document.querySelector('.plot').focus()")
        self.browser.press("Left", "Left")
        self.assertIn(
            f"step {STEPS + 17}: NaN", self.js("charts[0].read.textContent")
        )
        log = "document.querySelector('.chart').classList.contains('is-log')"
        before = self.js(log)
        self.browser.press("x")
        self.assertNotEqual(self.js(log), before)
        shown = "getComputedStyle(document.querySelector('.chart path.log')).display"
        self.assertEqual(self.js(shown) == "none", before)
        self.browser.press("Enter")
        self.assertEqual(self.js("cursor"), STEPS + 17)
        self.assertEqual(
            self.js("document.querySelectorAll('u.cursor').length"),
            self.js("charts.length"),
        )

    def test_gaps_nan_and_alarms_are_marked(self):
        gap = self.js("document.querySelector('.gap').title")
        self.assertEqual(gap, "resumed at step 50: 20 steps are missing")
        bad = self.js("document.querySelector('.bad-span').title")
        self.assertEqual(bad, f"NaN or Inf, steps {NAN + 20} to {STEPS + 19}")
        self.assertEqual(self.js("document.querySelector('.bad-span').innerText"), "×")
        marks = self.js("[...document.querySelector('.marks').children].map(a => a.title)")
        self.assertEqual(marks, ["step 12: act dead", f"step {NAN + 20}: head nan"])
        # The line is broken where steps are missing.
        line = self.js("document.querySelector('.chart path.lin:not(.grid)').outerHTML")
        self.assertEqual(line.count("M"), 2)

    # --- modules

    def test_the_heat_map_has_the_numbers_of_the_cursor(self):
        names = self.js("heatRows.map(row => row.module.name)")
        shown = [*HOSTILE[:2], "\\u202egnp"]
        self.assertEqual(names, ["stem", "act", *shown, "head"])
        self.browser.run("setCursor(10)")
        square = 0
        for name in ("stem.weight", "stem.bias"):
            series = self.run_of.series(name, "grad_param")
            square += series["l2"][10] ** 2
        moved = change = 0
        for name in ("stem.weight", "stem.bias"):
            norm = self.run_of.series(name, "param")["l2"][10]
            moved += norm**2
            change += (norm * self.run_of.series(name, "update")["ratio"][10]) ** 2
        ratio = (change / moved) ** 0.5
        cells = self.js("heatRows[0].numbers.map(cell => cell.textContent)")
        self.assertAlmostEqual(float(cells[0]), square**0.5, delta=1e-3 * square**0.5)
        self.assertAlmostEqual(float(cells[1].split()[-1]), ratio, delta=1e-3 * ratio)
        self.browser.run("setCursor(arguments[0])", STEPS + 19)
        cells = self.js("heatRows[0].numbers.map(cell => cell.textContent)")
        self.assertEqual(cells, ["NaN", "NaN", "–"])

    def test_a_row_opens_its_histograms(self):
        self.browser.run("heatRows[0].line.focus()")
        self.browser.press("Enter")
        titles = self.js(
            "[...document.querySelectorAll('.heat .histogram b')].map(b => b.innerText)"
        )
        self.assertIn("weight gradient", titles)
        self.assertIn("bias value", titles)
        self.assertIn("output", titles)
        self.browser.wait(  # something is drawn
            "const c = document.querySelector('.histogram canvas'), empty = "
            "document.createElement('canvas'); empty.width = c.width; empty.height = "
            "c.height; return c.width > 9 && c.toDataURL() !== empty.toDataURL()"
        )
        self.browser.press("Left")
        texts = self.js("document.querySelector('.heat .histogram p').innerText")
        self.assertTrue(texts.startswith(f"step {STEPS + 18}:"), texts)
        self.browser.press("Enter")
        self.assertEqual(self.js("document.querySelectorAll('.histogram').length"), 0)

    def test_a_row_of_the_tree_opens_them_too(self):
        self.browser.run(
            "const row = [...document.querySelectorAll('tr[data-row]')].find(one => "
            "one.querySelector('b').textContent === 'head'); row.cells[1].click()"
        )
        title = self.js("document.querySelector('#table .panel h4').innerText")
        self.assertEqual(title, "head over steps")

    def test_an_alarm_leads_to_its_step_and_module(self):
        self.browser.run("document.querySelectorAll('.alarms .btn')[1].click()")
        self.assertEqual(self.js("cursor"), NAN + 20)
        self.assertEqual(self.js("document.activeElement.querySelector('b').innerText"), "head")
        self.assertEqual(self.js("[...openModules]"), ["head"])

    # --- everywhere

    def test_hostile_names_are_harmless(self):
        page = self.page.read_text()
        self.assertEqual(page.count("<script"), 3)
        self.assertEqual(page.count("</script"), 3)
        self.assertNotIn("<img", page)
        for name in ("stem", *HOSTILE[:2]):
            self.browser.run("toggleModule(arguments[0])", name)
        self.assertEqual(self.js("document.title"), "Sequential, torchoscope report")
        self.assertEqual(self.js("document.querySelectorAll('img').length"), 0)
        asked = [url for url in self.browser.requests() if not url.startswith("about:")]
        self.assertEqual([url for url in asked if not url.startswith("file:")], [])
        self.assertNotRegex(page, r'src=(?!x on)|href=(?!"#)|@import|url\(')

    def test_nothing_scrolls_sideways_and_colours_follow(self):
        self.browser.run("toggleModule('stem')")
        for width in (1440, 1024, 390):
            self.browser.size(width)
            wide = self.js("document.documentElement.scrollWidth")
            self.assertLessEqual(wide, width)
        self.browser.size(1280)
        drawn = "document.querySelector('.heat td canvas').toDataURL()"
        self.browser.wait("return document.querySelector('.heat td canvas').width > 1")
        light = self.js(drawn)
        self.browser.prefer("dark")
        self.browser.wait(f"return {drawn} !== '{light}'")
        self.assertTrue(self.browser.pdf().startswith(b"%PDF"))

    def test_without_a_script_the_curves_are_drawn(self):
        page = re.sub(r"<script.*?</script>", "", self.page.read_text(), flags=re.S)
        self.assertEqual(page.count('<figure class="chart'), self.js("charts.length"))
        self.assertRegex(page, r'<path class="lin" [^>]*d="M0\.0 [\d.]+L')
        self.assertIn("Heat maps of modules need JavaScript.", page)
        self.assertIn('<tr id="alarm-1" class="alarm">', page)

    def test_the_data_are_the_history_document(self):
        path = self.folder / "x.history.json"
        done = scope.run("export", self.path, "-o", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(path.read_text())
        self.assertEqual(document["kind"], "history")
        carried = json.loads(self.js("document.getElementById('history').textContent"))
        self.assertEqual(carried["series"][0], document["series"][0])
        self.assertEqual(carried["phases"], document["phases"])
        self.assertEqual(document["scalars"][0]["name"] in self.run_of.scalars(), True)
        self.run_of.export(self.folder / "again.html")
        self.assertIn('id="training"', (self.folder / "again.html").read_text())


if __name__ == "__main__":
    unittest.main()
