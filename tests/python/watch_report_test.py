"""The page of a watched training as one file, looked at in Chromium."""

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
from serve_test import Server

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


VIEWS = ("overview", "graph", "table", "curves", "details", "timeline")


class Page(browser.BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.path = train(cls.folder)
        cls.page = cls.folder / "run.html"
        cls.done = scope.run("export", cls.path, "-o", cls.page)
        assert cls.done.returncode == 0, cls.done.stderr
        cls.run_of = torchoscope.open(cls.path)

    def setUp(self):
        super().setUp()
        self.browser.size(1440)
        self.open()

    def open(self, fragment="", page=None):
        self.browser.requests()
        self.browser.open(page or self.page, fragment)

    def js(self, script, *arguments):
        return self.browser.run(f"return {script}", *arguments)

    def show(self, view, more=""):
        """Another view, by its address."""
        self.browser.run("location.hash = arguments[0]",
                         f"#file=run.scope&view={view}{more}")
        self.browser.wait(f"return document.body.dataset.ready === '{view}'")

    def answers(self, page):
        text = re.search(r'id="answers">(.*?)</script>', page.read_text(), re.S)[1]
        return json.loads(text)

    def test_it_opens_with_the_verdict_and_says_that_it_is_saved(self):
        self.assertIn("view=overview", self.js("location.hash"))
        self.browser.wait("return document.querySelector('.ov>.banner.alarm')")
        self.assertIn("saved, step 79", self.js("document.querySelector('.status').innerText"))

    def test_every_view_has_its_answers_and_none_comes_from_elsewhere(self):
        for view in VIEWS:
            with self.subTest(view=view):
                self.show(view, "&at=head")
                self.browser.wait("return !document.querySelector('.load')")
                self.assertEqual(self.js("document.querySelectorAll('.fail').length"), 0)
        asked = [one for one in self.browser.requests()
                 if one.split(":")[0] not in ("file", "data", "about", "chrome")]
        self.assertEqual(asked, [])

    def test_columns_and_panels_of_one_tensor(self):
        self.assertIn("rows all", self.answers(self.page))
        self.show("table", "&columns=params,weight,dtype&step=30")
        self.browser.wait("return document.querySelectorAll('[role=columnheader]').length === 4")
        self.show("details", "&at=head&panels=head.weight&panels=head@input:input")
        self.browser.wait("return document.querySelectorAll('.panel:has(.hg)').length === 2")
        names = self.js("[...document.querySelectorAll('.panel')].map((one) => new Set([...one"
                        ".querySelectorAll('figcaption b')].map((b) => b.textContent)).size)")
        self.assertEqual(names, [1, 1])
        self.assertEqual(self.js("document.querySelectorAll('.fail').length"), 0)

    def test_the_table_follows_the_steps_as_the_served_one_does(self):
        server = Server(self.path, "--port", 0)
        self.addCleanup(server.close)
        for step in (12, 79):
            with self.subTest(step=step):
                self.show("table", f"&columns=grad,update,weight&step={step}")
                self.browser.wait("return document.querySelector('.viewbar').innerText"
                                  f".includes('numbers of step {step}')")
                shown = self.js("[...document.querySelectorAll('.table .row')].map((row) =>"
                                " [row.title, ...[...row.querySelectorAll('.num')].map("
                                "(cell) => cell.textContent)])")
                wanted = server.document(
                    f"api/rows?columns=grad,update,weight&step={step}")
                texts, columns = wanted["texts"], wanted["columns"]
                self.assertEqual(wanted["step"]["last"], step)
                rows, names = server.document("api/rows"), [""]
                for at, above in zip(rows["name"][1:], rows["parent"][1:]):
                    names.append(f"{names[above]}.{rows['texts'][at]}".lstrip("."))
                for name, *cells in shown:
                    at = 0 if name == "Sequential" else names.index(name)
                    self.assertEqual(cells, [texts[one["text"][at]] for one in columns])

    def test_the_contents_are_listed_in_the_page_and_by_the_program(self):
        told = self.done.stdout.decode().splitlines()
        self.assertEqual(told[0], f"{self.page} has:")
        self.browser.run("document.querySelector('.status button').click()")
        heads = self.js("[...document.querySelectorAll('.menu .head')].map(e => e.innerText)")
        self.assertEqual([one[2:] for one in heads[1:]], [one[2:] for one in told[1:]])
        self.assertIn("the histograms of 7 modules, in at most 160 columns of 48 rows",
                      [one.strip() for one in told])

    def test_numbers_are_those_of_the_step(self):
        norm = sum(self.run_of.series(f"stem.{name}", "grad_param")["l2"][10] ** 2
                   for name in ("weight", "bias")) ** 0.5
        self.browser.run("location.hash += '&step=10'")
        self.browser.wait("return document.querySelector('.k-numbers b')?.textContent === '10'")
        shown = self.js("[...document.querySelectorAll('.ovtable .row')].find((row) =>"
                        " row.querySelector('.nm').innerText === 'stem')"
                        ".querySelector('.n-gradient').innerText")
        self.assertAlmostEqual(float(shown), norm, delta=1e-3 * norm)

    def test_a_step_between_two_that_are_stored_shows_the_one_before_and_says_so(self):
        self.browser.run("location.hash += '&step=40'")  # 20 steps are missing
        self.browser.wait("return document.querySelector('.k-numbers b')?.textContent === '29'")

    def test_curves_stop_where_steps_are_missing(self):
        self.show("curves", "&smooth=0")
        self.browser.wait("return document.querySelector('.curve')")
        titles = self.js("[...document.querySelectorAll('.curve .t')].map(e => e.innerText)")
        self.assertEqual(titles[:2], ["loss", HOSTILE[0]])
        self.assertIn("gradient norm", titles)

    def test_a_panel_has_the_histograms(self):
        self.show("overview", "&panels=head")
        self.browser.wait("return document.querySelectorAll('.panel .hg').length > 4")
        self.browser.wait(  # something is drawn
            "const c = document.querySelector('.hg canvas'), empty = "
            "document.createElement('canvas'); empty.width = c.width; empty.height = "
            "c.height; return c.width > 9 && c.toDataURL() !== empty.toDataURL()")
        self.browser.run("location.hash += '&step=12'")
        self.browser.wait("return document.querySelector('.k-numbers b')?.textContent === '12'")
        mean = self.run_of.series("head.weight", "param")["mean"][12]
        caption = "[...document.querySelectorAll('.hg')].find((one) => one.querySelector(" \
            "'figcaption').textContent.startsWith('weightvalues')).querySelector('.st b')"
        self.assertAlmostEqual(
            float(self.js(f"{caption}.innerText").replace("\u2212", "-")), mean,
            delta=1e-3 * abs(mean))

    def test_an_alarm_leads_to_its_step_and_module(self):
        self.browser.wait("return document.querySelector('.arow .link')")
        self.browser.run("document.querySelector('.arow .link').click()")
        self.assertIn(f"step={NAN + 20}", self.js("location.hash"))
        self.assertIn("at=head", self.js("location.hash"))

    def test_hostile_names_are_harmless(self):
        page = self.page.read_text()
        self.assertEqual(page.count("<script"), 2)
        self.assertNotIn("<img", page)
        self.assertIn("default-src 'none'", page)
        for view in VIEWS:
            self.show(view)
        self.assertEqual(self.js("document.title"), "run.scope - torchoscope")
        self.assertEqual(self.js("document.querySelectorAll('img').length"), 0)

    def test_nothing_scrolls_sideways_and_it_prints_light(self):
        for width in (1440, 1024, 390):
            self.browser.size(width)
            self.assertLessEqual(self.js("document.documentElement.scrollWidth"), width)
        self.browser.size(1280)
        self.browser.prefer("dark", media="print")
        ground = "getComputedStyle(document.body).backgroundColor"
        self.assertEqual(self.js(ground), "rgb(255, 255, 255)")
        self.assertTrue(self.browser.pdf().startswith(b"%PDF"))

    def test_the_answers_are_those_of_the_server(self):
        answers = self.answers(self.page)
        self.assertLess(self.page.stat().st_size, 10 << 20)
        server = Server(self.path, "--port", 0)
        self.addCleanup(server.close)
        for key, question in (
            ("training", "training?columns=1000"), ("step step=12", "step?step=12"),
            ("series phase=train place=1",
             "series?place=1&phase=train&columns=160&rows=48"),
            ("graph", "graph"), ("rows", "rows"), ("check", "check"),
        ):
            with self.subTest(key=key):
                self.assertEqual(answers[key], server.document(f"api/{question}"))

    def test_parts_can_be_left_out(self):
        bare = self.folder / "bare.html"
        done = scope.run("export", self.path, "-o", bare, "--no-source", "--no-paths",
                         "--no-values")
        self.assertEqual(done.returncode, 0, done.stderr)
        page, whole = bare.read_text(), self.page.read_text()
        for text in (str(self.folder), str(Path(torch.__file__).parent)):
            self.assertIn(text, whole)
            self.assertNotIn(text, page)
        self.assertIn("def forward", whole)
        self.assertNotIn("def forward", page)
        keys = {key.split()[0] for key in self.answers(bare)}
        self.assertTrue(keys.isdisjoint({"series", "show", "code"}), keys)
        self.assertLess({"modules", "training", "step", "graph"}, keys)
        told = done.stdout.decode()
        for line in ("no source code", "no paths of files", "no values: "):
            self.assertIn(f"  {line}", told)
        self.open("", bare)
        for view in ("overview", "graph", "curves"):
            self.show(view)
            self.assertEqual(self.js("document.querySelectorAll('.fail').length"), 0)
        again = self.folder / "again.html"
        self.run_of.export(again, source=False, paths=False, values=False)
        self.assertEqual(self.answers(again).keys(), self.answers(bare).keys())

    def test_only_this_page_has_parts_to_leave_out(self):
        path = self.folder / "net.pth"
        torch.save(make_net().state_dict(), path)
        for name in ("net.csv", "net.html"):
            done = scope.run("export", path, "-o", self.folder / name, "--no-values")
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"only the page of a training run", done.stderr)
            self.assertFalse((self.folder / name).exists())

    def test_title_and_theme(self):
        page = self.folder / "dark.html"
        done = scope.run("export", self.path, "-o", page, "--title", "<b>&", "--theme", "dark")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.open("", page)
        self.assertEqual(self.js("document.title"), "<b>& - torchoscope")
        self.assertEqual(self.js("document.documentElement.dataset.theme"), "dark")


if __name__ == "__main__":
    unittest.main()
