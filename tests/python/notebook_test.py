"""Output in notebooks: nbclient runs a real one, and Chromium shows it."""

import os
import re
import tempfile
import unittest
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import torch

import browser
import scope
import torchoscope

MOST = 300_000
SHOTS = os.environ.get("TORCHOSCOPE_SHOTS")  # a folder for screenshots

SETTING = """
import torch, torchoscope
torch.set_num_threads(1)
torch.manual_seed(0)
def block(n):
    conv = torch.nn.Conv2d(n, 8, 3, padding=1)
    return torch.nn.Sequential(conv, torch.nn.BatchNorm2d(8), torch.nn.ReLU())
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = block(3)
        self.body = torch.nn.Sequential(*[block(8) for _ in range(12)])
        self.unused = torch.nn.Linear(4, 4)
        self.head = torch.nn.Linear(8, 2)
    def forward(self, x):
        return self.head(self.body(self.stem(x)).mean((2, 3)))
net = Net().eval()
"""
OPEN_GRAPH = "document.querySelector('.ts-graph')?.setAttribute('open', '')"
CELLS = {
    "summary": "torchoscope.summary(net, (1, 3, 8, 8))",
    "recording": """
with torchoscope.record(net) as recording:
    net(torch.full((1, 3, 8, 8), float("inf"))).sum().backward()
recording""",
    "model": "model = torchoscope.open(net)\nmodel",
    "tensor": "model['stem.0.weight']",
    "explore": "torchoscope.explore(net, (1, 3, 8, 8))",
    "load": "%load_ext torchoscope",
    "expression": "%explore net, (1, 3, 8, 8)",
    "name": "net",
    "last": "%explore",
    "not begun": "torchoscope.record(net)",
    "nothing": "_ = ''\n%explore",
}


class Looked(HTMLParser):
    """Tags that are open, and those that must not be there."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.attributes = [], set(), set()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


class Case(unittest.TestCase):
    def check(self, html):
        """Small, well-formed, and without scripts or requests."""
        self.assertLessEqual(len(html.encode()), MOST)
        looked = Looked(html)
        self.assertEqual(looked.open, [])
        self.assertFalse(looked.tags & {"script", "link", "img", "iframe", "object"})
        self.assertFalse([name for name in looked.attributes if name.startswith("on")])
        self.assertNotRegex(html, r"url\(|https?:|javascript:")
        for names in re.findall(r'class="([^"]*)"', html):
            for name in names.split():
                self.assertRegex(name, "^(torchoscope|ts-.*)$")


class Bundles(Case):
    def test_modules_beyond_the_row_limit_are_counted(self):
        torch.manual_seed(0)
        parts = []
        for i in range(1000):
            part = torch.nn.Module()
            for k in range(99):  # all different, so that none are folded
                part.add_module(f"m{k}", torch.nn.Dropout(((i * 99 + k) % 9973) / 1e4))
            parts.append(part)
        model = torchoscope.open(torch.nn.Sequential(*parts))
        bundle = model._repr_mimebundle_()
        self.check(bundle["text/html"])
        self.assertIn("… 99 more modules", bundle["text/html"])
        self.assertIn("100,001", bundle["text/html"])
        self.assertLess(len(bundle["text/plain"]), 50_000)
        self.assertIn("more lines", bundle["text/plain"])

    def test_names_are_escaped(self):
        hostile = "</li><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\u202e"
        model = torch.nn.Module()
        model.add_module(hostile.replace(".", ""), torch.nn.Linear(2, 2))
        model.register_buffer("<b>", torch.zeros(2))
        opened = torchoscope.open(model)
        html = opened._repr_mimebundle_()["text/html"]
        self.check(html)
        self.assertIn("&lt;script&gt;", html)
        self.assertNotIn("\u202e", html)
        self.check(opened["<b>"]._repr_mimebundle_()["text/html"])

    def test_tensors_of_all_kinds_are_shown(self):
        model = torch.nn.Module()
        tensors = {
            "empty": torch.zeros(0, 3),
            "scalar": torch.tensor(3.5),
            "integers": torch.arange(10),
            "flags": torch.tensor([True, False]),
            "bad": torch.tensor([1.0, float("nan"), float("inf"), -float("inf")]),
            "complex": torch.tensor([1 + 2j, 3 - 1j]),
            "meta": torch.zeros(3, device="meta"),
            "sparse": torch.eye(3).to_sparse(),
            "deep": torch.rand(2, 2, 2, 2, 2),
        }
        for name, tensor in tensors.items():
            model.register_buffer(name, tensor)
        opened = torchoscope.open(model)
        for name in tensors:
            with self.subTest(name):
                bundle = opened[name]._repr_mimebundle_()
                self.check(bundle["text/html"])
                self.assertIn(f"<strong>{name}</strong>", bundle["text/html"])
        html = opened["bad"]._repr_mimebundle_()["text/html"]
        self.assertIn('<tr class="ts-alarm"><th>NaN</th><td>1 of 4</td>', html)
        self.assertIn('<tr class="ts-alarm"><th>−Inf</th><td>1 of 4</td>', html)

    def test_a_recording_that_has_not_begun_is_marked(self):
        bundle = torchoscope.record(torch.nn.ReLU())._repr_mimebundle_()
        self.assertEqual(bundle, {"text/plain": "<torchoscope.Recording: not begun>"})


def run_notebook():
    """The output of each cell of CELLS, by name."""
    import nbformat
    from nbclient import NotebookClient

    cells = [nbformat.v4.new_code_cell(source) for source in (SETTING, *CELLS.values())]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = NotebookClient(
        notebook, timeout=scope.PATIENCE, kernel_name="python3", allow_errors=True
    )
    client.execute()
    return dict(zip(("setting", *CELLS), (cell.outputs for cell in notebook.cells)))


@unittest.skipUnless(find_spec("nbclient") and find_spec("ipykernel"), "needs nbclient")
class Notebook(Case, browser.BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.outputs = run_notebook()
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)

    def html_of(self, name):
        (output,) = self.outputs[name]
        self.assertNotEqual(output.output_type, "error", output)
        return output.data["text/html"]

    def show(self, name, theme="light", before="", after=""):
        """The cell's output as in a notebook, in a separate page."""
        path = Path(self.folder.name) / "page.html"
        head = f"<!doctype html><meta charset=utf-8>{before}"
        path.write_text(f"{head}{self.html_of(name)}{after}", encoding="utf-8")
        self.browser.prefer(theme)
        self.browser.size(1000, 600)
        self.browser.open(path, ready="document.querySelector('.torchoscope') != null")

    def style(self, selector, name):
        return self.browser.run(
            "return getComputedStyle(document.querySelector(arguments[0]))"
            ".getPropertyValue(arguments[1])",
            selector,
            name,
        )

    def test_every_object_is_shown_in_a_cell(self):
        self.assertEqual(self.outputs["setting"], [])
        self.assertEqual(self.outputs["load"], [])
        for name in ("summary", "recording", "model", "tensor", "explore", "expression",
                     "last"):
            with self.subTest(name):
                html = self.html_of(name)
                self.check(html)
                self.assertTrue(self.outputs[name][0].data["text/plain"])
        self.assertIn("made at random", self.html_of("summary"))
        self.assertIn("12 × Sequential", self.html_of("model"))
        self.assertIn("made at random", self.html_of("expression"))
        self.assertIn("Net", self.html_of("last"))
        self.assertEqual(
            self.outputs["not begun"][0].data,
            {"text/plain": "<torchoscope.Recording: not begun>"},
        )
        self.assertIn("no last result", str(self.outputs["nothing"]))

    def test_alarms_and_gaps_are_shown(self):
        html = self.html_of("recording")
        self.assertIn('class="ts-alarm"', html)
        self.assertIn("unused", html)
        self.assertIn("not called", html)
        self.show("recording")
        self.assertEqual(self.style(".ts-notes .ts-alarm", "color"), "rgb(196, 18, 47)")

    def test_rows_line_up_at_any_depth(self):
        self.addCleanup(self.browser.size, 1200)
        for width in (1200, 900, 700, 420):
            with self.subTest(width):
                self.browser.size(width)
                self.show("summary")
                self.assert_lined_up()

    def assert_lined_up(self):
        opened = "for (const d of document.querySelectorAll('details')) d.open = true"
        self.browser.run(opened)
        ends = self.browser.run(
            "return [...document.querySelectorAll('.ts-r')]"
            ".filter(r => r.checkVisibility())"
            ".map(r => [...r.querySelectorAll(':scope>span')].slice(1)"
            ".map(s => Math.round(s.getBoundingClientRect().right)).join())"
        )
        self.assertGreater(len(ends), 5)
        self.assertEqual(len(set(ends)), 1)
        shown = "return document.body.innerText.includes('12 × Sequential')"
        self.assertTrue(self.browser.run(shown))
        width = (
            "return document.documentElement.scrollWidth <= innerWidth && "
            "[...document.querySelectorAll('.ts-tree')]"
            ".every(t => t.scrollWidth <= t.clientWidth)"
        )
        self.assertTrue(self.browser.run(width))

    def test_a_click_opens_a_block(self):
        self.show("model")
        count = ("return [...document.querySelectorAll('.ts-r')]"
                 ".filter(r => r.checkVisibility()).length")
        before = self.browser.run(count)
        first = "document.querySelector('details:not([open])>summary')"
        self.browser.run(f"{first}.click()")
        self.assertGreater(self.browser.run(count), before)

    def test_it_follows_the_theme_of_the_notebook(self):
        light, dark = "rgb(255, 255, 255)", "rgb(24, 27, 32)"
        themes = [
            ("light", "", light),
            ("dark", "", dark),
            ("dark", "<body data-jp-theme-light=true>", light),
            ("light", "<body data-jp-theme-light=false>", dark),
            ("light", "<body class=vscode-dark>", dark),
            ("dark", "<body class=vscode-light>", light),
        ]
        for system, body, wanted in themes:
            with self.subTest(f"{system} {body}"):
                self.show("summary", system, body)
                self.assertEqual(self.style(".torchoscope", "background-color"), wanted)

    def test_recordings_have_a_graph(self):
        box = '.ts-graph [data-id="head"] rect'
        for name in ("summary", "recording", "explore"):
            with self.subTest(name):
                self.show(name)
                self.browser.run(OPEN_GRAPH)
                self.assertEqual(self.style(box, "fill"), "rgb(232, 241, 240)")
                self.show(name, "dark")
                self.browser.run(OPEN_GRAPH)
                self.assertEqual(self.style(box, "fill"), "rgb(33, 52, 54)")
                self.assertIn("12 × Sequential", self.html_of(name))
        self.assertNotIn("ts-graph\"", self.html_of("model"))  # the model did not run

    def test_a_graph_without_its_style_is_light(self):
        html = re.sub(r"(?s)<style>.*?</style>", "", self.html_of("summary"))
        path = Path(self.folder.name) / "plain.html"
        path.write_text(f"<!doctype html><meta charset=utf-8>{html}", encoding="utf-8")
        self.browser.prefer("dark")
        self.browser.open(path, ready="document.querySelector('svg') != null")
        box = '.ts-graph [data-id="head"] rect'
        self.assertEqual(self.style(box, "fill"), "rgb(232, 241, 240)")

    @unittest.skipUnless(SHOTS, "nobody looks")
    def test_screenshots_are_written_on_request(self):
        for name in ("summary", "recording", "tensor", "model"):
            for theme, ground in (("light", "#fff"), ("dark", "#111")):
                self.show(name, theme, f"<body style='background:{ground}'>")
                self.browser.run(OPEN_GRAPH)
                path = Path(SHOTS) / f"{name}.{theme}.png"
                self.browser.screenshot(path, whole=True)

    def test_styles_of_the_notebook_and_torchoscope_do_not_interfere(self):
        # JupyterLab's styles for outputs.
        theirs = (
            "<style>.jp-RenderedHTMLCommon ul:not(.list-inline){padding-left:2em;"
            "margin:1em;list-style:disc}.jp-RenderedHTMLCommon td{padding:2em;"
            "text-align:right}.jp-RenderedHTMLCommon tbody tr:nth-child(odd)"
            "{background:red}</style><div class=jp-RenderedHTMLCommon><ul id=theirs>"
            "<li>theirs</li></ul>"
        )
        self.show("tensor", "light", theirs, "</div>")
        self.assertEqual(self.style(".ts-t tr", "background-color"), "rgba(0, 0, 0, 0)")
        self.assertEqual(self.style(".ts-t td", "padding-left"), "0px")
        self.show("summary", "light", theirs, "</div>")
        self.assertEqual(self.style(".ts-tree ul", "list-style-type"), "none")
        self.assertEqual(self.style(".ts-tree ul", "margin-top"), "0px")
        self.assertEqual(self.style("#theirs", "list-style-type"), "disc")

    def test_it_is_readable_without_its_style(self):
        html = re.sub(r"(?s)<style>.*?</style>", "", self.html_of("summary"))
        path = Path(self.folder.name) / "bare.html"
        path.write_text(f"<!doctype html><meta charset=utf-8>{html}", encoding="utf-8")
        self.browser.open(path, ready="document.querySelector('details') != null")
        text = self.browser.run("return document.body.innerText")
        self.assertRegex(text, r"head Linear 8→2 · 18 · 72B · 1×8 · 1×2 · 1 · ")
        indents = "return [...document.querySelectorAll('details[open] b')].map(" \
                  "b => b.getBoundingClientRect().left)"
        self.assertGreater(len(set(self.browser.run(indents))), 1)


if __name__ == "__main__":
    unittest.main()
