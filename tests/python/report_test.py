"""The HTML report of a file, a recording and a live model, in Chromium."""

import base64
import json
import re
import tempfile
import unittest
from pathlib import Path

import torch
from torch import nn

import browser
import scope
import torchoscope
from torchoscope import _core

torch.set_num_threads(1)

HOSTILE = [
    "</script><script>document.title='x'</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "a\u2028b\u2029c",
    "quote\"'&amp;",
    "\u202egnp.exe",
    "]]>\\u003c",
]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(8, 8, 3, padding=1)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(self.conv(x))


class Root(nn.Module):
    """Makes NaN of negative numbers."""

    def forward(self, x):
        return x.sqrt()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3)
        self.blocks = nn.Sequential(*[Block() for _ in range(9)])
        self.root = Root()
        self.head = nn.Linear(8, 5)
        self.spare = nn.Linear(2, 2)

    def forward(self, x):
        x = self.root(self.blocks(self.stem(x)) - 0.5)
        return self.head(x.mean((2, 3)))


def make_hostile():
    """A module whose children have hostile names and classes."""
    net = nn.Module()
    for i, name in enumerate(HOSTILE):
        child = type(f"</script>{i}", (nn.Linear,), {})(1, 1 + i)
        net._modules[name] = child
    return net


class Report(browser.BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        torch.manual_seed(0)
        cls.net = Net()
        torch.save(cls.net.state_dict(), cls.folder / "net.pth")
        with torchoscope.record(cls.net, keep=["stem", "root", "head"]) as recording:
            cls.net(torch.randn(2, 3, 12, 12))
        recording.save(cls.folder / "run.scope")
        for name in ("net.pth", "run.scope"):
            done = scope.run(
                "export", cls.folder / name, "-o", cls.folder / f"{name}.html"
            )
            assert done.returncode == 0, done.stderr

    def write(self, name, thing):
        path = self.folder / name
        path.write_text(_core.Model(thing, "thing").export("html"))
        return path

    def names(self):
        """The names of the rows shown."""
        return self.browser.run(
            "return [...document.querySelectorAll('tr[data-row] b')]"
            ".map(one => one.textContent)"
        )

    def row(self, name, script):
        """Run a script on the first row of that name, which is `row`."""
        return self.browser.run(
            "const row = [...document.querySelectorAll('tr[data-row]')].find(one => "
            f"one.querySelector('b').textContent === arguments[0]); {script}",
            name,
        )

    def search(self, words):
        """Type a search: / focuses the field."""
        self.browser.run("document.activeElement.blur()")
        self.browser.press("/")
        self.browser.run("document.querySelector('.search input').select()")
        self.browser.press(*words)

    # --- content

    def test_the_report_of_a_file_has_the_rows_of_tree(self):
        self.browser.open(self.folder / "net.pth.html")
        body = self.browser.run("return document.body.innerText")
        self.assertIn("SAFE", body)
        self.assertRegex(body, r"No NaN or infinity in 24 tensors, 5,531 values")
        self.assertEqual(self.names()[:4], ["net.pth", "stem", "blocks", "0-8"])
        cells = self.row("stem", "return [...row.cells].map(one => one.innerText)")
        self.assertEqual(cells[1], "224")
        self.assertEqual(cells[3], "896B")
        self.assertEqual(cells[4], "weight: 8×3×3×3, bias: 8")

    def test_a_finding_links_to_its_row(self):
        net = Net()
        net.blocks[4].conv.bias.data[3] = float("nan")
        torch.save(net.state_dict(), self.folder / "nan.pth")
        path = self.folder / "nan.html"
        done = scope.run("export", self.folder / "nan.pth", "-o", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.browser.open(path)
        self.assertNotIn("4", self.names())
        self.browser.run("document.querySelector('.ck a').click()")
        self.assertEqual(
            self.browser.run("return document.querySelector('.ck a').textContent"),
            "blocks.4.conv.bias",
        )
        focused = self.browser.run("return document.activeElement.innerText")
        self.assertRegex(focused, r"^\s*(conv|bias)\b")
        self.assertIn("4", self.names())

    def test_a_recording_shows_the_producer_of_nan(self):
        self.browser.open(self.folder / "run.scope.html")
        body = self.browser.run("return document.body.innerText")
        self.assertRegex(body, r"root.*NaN")
        self.assertIn("Where the time goes", body)
        self.assertIn("not called", body)
        self.assertEqual(
            self.row("root", "return row.querySelectorAll('.mk.alarm').length"), 1
        )
        self.assertEqual(
            self.row("head", "return row.querySelectorAll('.dot').length"), 1
        )
        self.assertEqual(
            self.row("stem", "return row.querySelectorAll('.dot, .mk').length"), 0
        )

    def test_a_box_of_the_graph_links_to_its_row(self):
        self.browser.open(self.folder / "run.scope.html")
        boxes = self.browser.run(
            "return [...document.querySelectorAll('.graph .node')]"
            ".map(one => one.dataset.id)"
        )
        self.assertLessEqual(len(boxes), 20)
        for name in ("stem", "blocks.0.conv", "blocks.1…8", "root", "head"):
            self.assertIn(name, boxes)
        self.assertNotIn("conv", self.names())
        self.browser.run(
            "document.querySelector('.graph a[data-name=\"blocks.0.conv\"] text')"
            ".dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))"
        )
        focused = self.browser.run("return document.activeElement.innerText")
        self.assertRegex(focused, r"^\s*conv\b")

    def test_the_graph_follows_the_theme_and_is_light_on_paper(self):
        fill = (
            "return getComputedStyle(document.querySelector("
            "'.graph [data-id=\"stem\"] rect')).fill"
        )
        self.browser.open(self.folder / "run.scope.html")
        self.assertEqual(self.browser.run(fill), "rgb(234, 242, 251)")
        self.browser.prefer("dark")
        self.assertEqual(self.browser.run(fill), "rgb(32, 46, 63)")
        media = {"media": "print", "features": []}
        self.browser.devtools("Emulation.setEmulatedMedia", media)
        self.assertEqual(self.browser.run(fill), "rgb(234, 242, 251)")

    def test_a_file_without_code_has_no_graph(self):
        page = (self.folder / "net.pth.html").read_text()
        self.assertNotIn("<h2>Graph</h2>", page)
        self.assertNotIn('class="graph"', page)

    def test_details_have_statistics_and_pictures(self):
        self.browser.open(self.folder / "run.scope.html")
        self.row("root", "row.cells[1].click()")
        detail = "document.querySelector('tr.detail')"
        text = self.browser.run(f"return {detail}.innerText")
        self.assertRegex(text, r"output\s+2×8×10×10\s+float32")
        self.assertIn("8 channels, the first of 2, 10×10", text)
        self.assertIn("hatched: NaN or Inf", text)
        self.assertGreater(
            self.browser.run(f"return {detail}.querySelectorAll('td.nan').length"), 0
        )
        alarm = self.browser.run(
            f"const c = {detail}.querySelector('canvas');"
            "const at = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
            "let n = 0; for (let i = 0; i < at.length; i += 4)"
            "n += at[i] === 0xC4 && at[i + 1] === 0x12 && at[i + 2] === 0x2F; return n"
        )
        self.assertGreater(alarm, 100)

    def test_pictures_hold_the_values(self):
        """The points of a small activation are its values, to one part in 127."""
        page = (self.folder / "run.scope.html").read_text()
        data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
        with torch.no_grad():
            torch.manual_seed(0)
            Net()
            x = self.net.stem(torch.randn(2, 3, 12, 12))
        kept = next(one for one in data["pictures"] if one["note"].startswith("8 ch"))
        self.assertEqual((kept["n"], kept["height"], kept["width"]), (8, 10, 10))
        self.assertEqual(float(kept["most"]), float(f"{x[0].abs().max():.4g}"))
        first = [float(one.replace("−", "-")) for one in kept["grid"][0]]
        for told, true in zip(first, x[0, 0, 0].tolist()):
            self.assertAlmostEqual(told, true, delta=1e-3 * abs(true) + 1e-6)
        points = torch.tensor(list(base64.b64decode(kept["points"]))).view(8, 10, 10)
        wanted = 127 + 127 * x[0] / x[0].abs().max()
        self.assertLessEqual((points - wanted).abs().max().item(), 0.51)

    # --- actions

    def test_a_click_folds_and_unfolds(self):
        self.browser.open(self.folder / "net.pth.html")
        before = self.names()
        self.row("0-8", "row.querySelector('.name').click()")
        opened = self.names()
        self.assertEqual(len(opened), len(before) + 9)
        self.row("3", "row.querySelector('.name').click()")
        self.assertIn("conv", self.names())
        self.row("blocks", "row.querySelector('.name').click()")
        self.assertNotIn("0-8", self.names())

    def test_search_keeps_the_parents_of_matches(self):
        self.browser.open(self.folder / "net.pth.html")
        self.search("blocks.3.conv")
        self.assertEqual(self.names(), ["net.pth", "blocks", "0-8", "3", "conv"])
        self.assertEqual(
            self.browser.run("return document.querySelectorAll('tr.hit').length"), 1
        )
        self.search("head")
        self.assertEqual(self.names(), ["net.pth", "head"])
        self.search("nothing at all")
        body = self.browser.run("return document.body.innerText")
        self.assertIn("No name or class has \u201cnothing at all\u201d in it", body)
        self.browser.press("Escape")
        self.assertIn("stem", self.names())

    def test_a_header_sorts_siblings(self):
        self.browser.open(self.folder / "net.pth.html")
        head = "document.querySelector('th.c-params')"
        top = ("stem", "blocks", "head", "spare")
        self.browser.run(f"{head}.click()")
        order = [name for name in self.names() if name in top]
        self.assertEqual(order, ["blocks", "stem", "head", "spare"])
        self.assertEqual(self.browser.run(f"return {head}.ariaSort"), "descending")
        self.browser.run(f"{head}.click()")
        order = [name for name in self.names() if name in top]
        self.assertEqual(order, ["spare", "head", "stem", "blocks"])
        self.browser.run(f"{head}.click()")
        order = [name for name in self.names() if name in top]
        self.assertEqual(order, ["stem", "blocks", "head", "spare"])

    def test_every_action_has_a_key(self):
        self.browser.open(self.folder / "net.pth.html")
        focus = "return document.activeElement.querySelector('b')?.textContent"
        self.search("")
        self.browser.press("Down")
        self.assertEqual(self.browser.run(focus), "net.pth")
        self.browser.press("Down", "Down", "Down")
        self.assertEqual(self.browser.run(focus), "0-8")
        self.browser.press("Right", "Right")
        self.assertEqual(self.browser.run(focus), "0")
        self.browser.press("Left", "Left")
        self.assertEqual(self.browser.run(focus), "0-8")
        self.assertNotIn("7", self.names())
        self.browser.press("Up", "Up", "Enter")
        self.assertEqual(self.browser.run(focus), "stem")
        self.assertTrue(self.browser.run("return !!document.querySelector('.detail')"))
        outline = "return getComputedStyle(document.activeElement).outlineStyle"
        self.assertEqual(self.browser.run(outline), "solid")

    # --- how it looks

    def ground(self):
        style = "getComputedStyle(document.body)"
        return self.browser.run(f"return {style}.backgroundColor")

    def test_the_theme_follows_the_reader(self):
        path, dark, light = (
            self.folder / "net.pth.html",
            "rgb(16, 18, 22)",
            "rgb(244, 245, 247)",
        )
        self.browser.open(path)
        self.addCleanup(self.browser.run, "localStorage.clear()")
        self.assertEqual(self.ground(), light)
        self.browser.prefer("dark")
        self.assertEqual(self.ground(), dark)
        self.browser.prefer("light")
        click = "document.getElementById('theme').click()"
        self.browser.run(click)
        self.assertEqual(self.ground(), dark)
        self.check_kept(
            lambda: self.browser.run(click),
            lambda: self.browser.open(path),
            lambda: self.ground() == dark,
        )
        self.browser.run("document.getElementById('theme').click()")
        self.assertEqual(self.ground(), light)
        self.browser.run("localStorage.clear()")
        self.browser.open(path, "#dark")
        self.assertEqual(self.ground(), dark)

    def test_there_is_no_horizontal_scroll_bar(self):
        for name in ("net.pth.html", "run.scope.html"):
            self.browser.open(self.folder / name)
            self.row("stem", "row.cells[1].click()")
            for width in (1440, 1024, 390):
                self.browser.size(width)
                wide = self.browser.run("return document.documentElement.scrollWidth")
                self.assertLessEqual(wide, width, name)

    def test_it_prints(self):
        self.browser.open(self.folder / "run.scope.html", "#dark")
        pdf = self.browser.pdf()
        self.assertTrue(pdf.startswith(b"%PDF"))
        self.assertEqual(self.ground(), "rgb(16, 18, 22)", "dark again afterwards")
        self.browser.run(
            "window.print = () => {}; document.querySelector('.btn').click()"
        )
        self.assertGreater(len(self.names()), 25)
        self.assertGreater(len(self.browser.pdf()), len(pdf))
        self.assertLess(len(self.names()), 25)

    def test_it_makes_no_network_requests(self):
        self.browser.open(self.folder / "run.scope.html")
        self.row("root", "row.cells[1].click()")
        asked = [url for url in self.browser.requests() if not url.startswith("file:")]
        self.assertEqual([url for url in asked if not url.startswith("about:")], [])
        page = (self.folder / "run.scope.html").read_text()
        self.assertNotRegex(page, r'src=|href=(?!"#)|@import|url\(')
        self.browser.run(
            "const s = document.createElement('script');"
            "s.textContent = 'window.bad = 1';"
            "document.head.append(s)"
        )
        self.assertIsNone(self.browser.run("return window.bad"))
        self.assertIn("Content Security Policy", " ".join(self.browser.log()))

    def test_the_first_rows_are_shown_without_javascript(self):
        page = (self.folder / "net.pth.html").read_text()
        static = re.search(r"<noscript>(.*?)</noscript>", page, re.S)[1]
        self.assertEqual(static.count("<tr>"), 33)
        self.assertIn("<b>stem</b>", static)

    # --- hostile and large ones

    def test_hostile_names_are_escaped(self):
        path = self.write("hostile.html", make_hostile())
        page = path.read_text()
        self.assertEqual(page.count("<script"), 2)
        self.assertEqual(page.count("</script"), 2)
        self.assertNotIn("<!--", page)
        self.assertNotIn("<img", page)
        self.browser.open(path)
        names = self.names()
        self.assertEqual(len(names), 1 + len(HOSTILE))
        self.assertIn(HOSTILE[0], names)
        self.assertIn("a\\u2028b\\u2029c", names)
        self.assertIn("\\u202egnp.exe", names)
        self.row(HOSTILE[1], "row.cells[1].click()")
        self.assertEqual(
            self.browser.run("return document.title"), "Module, torchoscope report"
        )

    def test_a_title_and_a_theme_can_be_given(self):
        path = self.folder / "titled.html"
        model = _core.Model(self.net, "net")
        path.write_text(model.export("html", title="<b>&", theme="dark"))
        self.browser.open(path)
        title = self.browser.run("return document.title")
        self.assertEqual(title, "<b>&, torchoscope report")
        self.assertEqual(self.ground(), "rgb(16, 18, 22)")

    def test_a_hundred_thousand_modules(self):
        groups = [nn.Sequential(*[nn.ReLU() for _ in range(999)]) for _ in range(100)]
        for i, group in enumerate(groups):
            group.append(nn.Linear(1, 1 + i))  # all different
        path = self.write("many.html", nn.Sequential(*groups))
        self.browser.open(path)
        self.assertIn("100,101", self.browser.run("return document.body.innerText"))
        self.assertLess(len(self.names()), 200)
        open_all = "document.getElementById('open').click()"
        self.browser.run(open_all)
        self.assertEqual(len(self.names()), 1000)
        self.browser.run("document.querySelector('tr.more button').click()")
        self.assertEqual(len(self.names()), 2000)
        self.browser.run(open_all)
        self.search("57.999")
        self.assertEqual(self.names()[-1], "999")

    def test_colours_are_those_of_the_design(self):
        look = scope.ROOT.parent / "shared" / "look" / "tokens.css"
        if not look.exists():
            self.skipTest("the look is not here")
        page = (self.folder / "net.pth.html").read_text()
        wanted = re.findall(r"--([\w-]+): (#\w+);", look.read_text())
        told = re.findall(r"--([\w-]+):(#\w+)[;}]", page)
        self.assertEqual(told, wanted)


if __name__ == "__main__":
    unittest.main()
