"""The graph of the page: a real server, real recordings, mouse and keys in Chromium."""

import math
import subprocess
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

import torch
from torch import nn

import browser
import graph_pages
import torchoscope
from serve_test import Server

torch.set_num_threads(1)

NODE = ".gr .node[data-id=\"{0}\"], .gr .title[data-id=\"{0}\"]"


class Listed(nn.Module):
    """Blocks in a list, which is never called; the same module twice."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([graph_pages.Block(4, 4), graph_pages.Block(4, 6)])
        self.again = nn.Sequential(nn.Tanh(), nn.Linear(6, 6), nn.ReLU())

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.again(self.again(x.mean((2, 3))))


class Log(nn.Module):
    def forward(self, x):
        return torch.log(x)


class Bad(nn.Module):
    """The logarithm of negative numbers, and operations on its result."""

    def __init__(self):
        super().__init__()
        self.log, self.conv = Log(), nn.Conv2d(4, 4, 1)

    def forward(self, x):
        return self.conv(self.log(x).relu())


class Attaching(nn.Module):
    """It attaches an inner tensor; a layer runs twice."""

    def __init__(self):
        super().__init__()
        self.first, self.again = nn.Linear(3, 4), nn.Linear(4, 4)

    def forward(self, x, labels):
        x = torchoscope.attach(self.first(x).tanh(), self, "latent")
        return nn.functional.mse_loss(self.again(self.again(x)), labels)


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Attaching()

    def forward(self, x, labels):
        return self.inner(2 * x, labels)


class Apart(nn.Module):
    """The input is read by one of nine layers that have nothing to do with each other."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, size) for size in range(2, 11))

    def forward(self, x):
        first, *others = self.layers
        return first(x), *(layer(torch.zeros(1, 3)) for layer in others)


class Wide(nn.Module):
    """More operations than the first answer contains."""

    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(*[graph_pages.Part(i) for i in range(130)])

    def forward(self, x):
        return self.parts(x)


def train(folder):
    """A training; its first pass is a warm-up."""
    torch.manual_seed(0)
    model = Outer()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torchoscope.watch(model, dir=folder, log_freq=1, on_alarm=None) as handle:
        with torch.no_grad():
            model(torch.randn(2, 3), torch.randn(2, 4))
        for step in range(4):
            optimizer.zero_grad()
            model(torch.randn(2, 3), torch.randn(2, 4)).backward()
            optimizer.step()
    Path(handle.path).rename(folder / "run.scope")


def record(folder):
    train(folder)
    torch.manual_seed(0)
    image = torch.randn(2, 4, 8, 8)
    torchoscope.trace(Listed(), image).save(folder / "listed.scope")
    torchoscope.trace(Bad(), image).save(folder / "nan.scope")
    wide = torchoscope.trace(Wide(), torch.randn(2, 3), backward=False)
    wide.save(folder / "wide.scope")
    apart = Apart()
    with torchoscope.record(apart) as recording:
        apart(torch.zeros(1, 3))
    recording.save(folder / "apart.scope")


class PageGraph(browser.BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        record(cls.folder)
        files = sorted(cls.folder.glob("*.scope"))
        cls.server = Server(*files)
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        super().setUp()
        self.browser.size(1440)
        self.browser.prefer("light", "reduce")

    def open(self, name="listed", more=""):
        address = f"{self.server.address}#file={name}.scope&view=graph{more}"
        self.browser.call("POST", "/url", {"url": "about:blank"})
        self.browser.call("POST", "/url", {"url": address})
        self.browser.wait("return document.querySelector('.gr svg.graph .node') !== null")

    def js(self, script, *arguments):
        return self.browser.run(script, *arguments)

    def hash(self):
        return self.js(
            "return Object.fromEntries(new URLSearchParams(location.hash.slice(1)))"
        )

    def test_a_graph_wider_than_a_phone_begins_with_its_input(self):
        self.browser.size(390, 844)
        self.open("apart")
        left, right = self.js(
            "const [top] = [...document.querySelectorAll('.gr .node')].map((one) =>"
            " one.getBoundingClientRect()).sort((a, b) => a.top - b.top);"
            "return [top.left, top.right]")
        self.assertGreaterEqual(left, 0)
        self.assertLessEqual(right, 390)

    def wait_hash(self, name, value):
        self.browser.wait(
            "return (new URLSearchParams(location.hash.slice(1)).get("
            f"{name!r}) ?? '') === {value!r}"
        )

    def shown(self):
        return self.js(
            "return [...document.querySelectorAll('.gr .node')].map(e => e.dataset.id)"
        )

    def wait_shown(self, box):
        self.browser.wait(f"return document.querySelector('{NODE.format(box)}') !== null")

    def place(self, box, x=0.6):
        """Its position on the screen, once it has stopped moving."""
        self.wait_shown(box)
        left, top, wide, high = self.js(
            "const r = document.querySelector(arguments[0]).getBoundingClientRect();"
            "return [r.left, r.top, r.width, r.height]",
            NODE.format(box),
        )
        return left + wide * x, top + min(12, high / 2)

    def click(self, box, times=1, x=0.6):
        self.browser.mouse(("move", *self.place(box, x)))
        self.browser.click(*self.place(box, x), times=times)

    def text(self, selector):
        return self.js("return document.querySelector(arguments[0])?.textContent", selector)

    def texts(self, box):
        """The text drawn in a box."""
        return self.js(
            "return [...document.querySelectorAll(arguments[0] + ' text')]"
            ".map(e => e.textContent)",
            f'.gr .node[data-id="{box}"]',
        )

    def selected(self):
        """The box with the selection ring."""
        self.browser.wait("return document.querySelector('.gr .ring.selected') !== null")
        return self.js(
            "const ring = document.querySelector('.gr .ring.selected')"
            ".getBoundingClientRect();"
            "const all = [...document.querySelectorAll('.gr .node,.gr .title')];"
            "return all.find(e => {const r = e.getBoundingClientRect();"
            "return Math.abs(r.left - ring.left) < 5 && Math.abs(r.top - ring.top) < 5})"
            "?.dataset.id"
        )

    # --- selecting, going in, going up

    def test_a_click_selects_in_graph_tree_and_address(self):
        self.open()
        self.click("blocks.0.conv2")
        self.wait_hash("at", "blocks.0.conv2")
        self.assertEqual(self.selected(), "blocks.0.conv2")
        self.browser.wait(
            "return document.querySelector('.row.sel')?.title === 'blocks.0.conv2'"
        )
        self.js("document.querySelector('.row[title=\"blocks.0.conv1\"]').click()")
        self.wait_hash("at", "blocks.0.conv1")
        self.browser.wait(
            "return document.querySelector('.gr .ring.selected') !== null"
        )
        self.assertEqual(self.selected(), "blocks.0.conv1")
        self.js("history.back()")
        self.wait_hash("at", "blocks.0.conv2")
        self.assertEqual(self.selected(), "blocks.0.conv2")

    def test_double_click_goes_in_and_the_path_leads_back(self):
        self.open(more="&depth=0")
        self.click("blocks.1", times=2)
        self.wait_hash("root", "blocks.1")
        self.wait_shown("blocks.1.conv1")
        self.wait_shown("in:x")
        self.assertEqual(self.text(".crumbs b"), "1")
        self.js("document.querySelectorAll('.crumbs button')[0].click()")
        self.wait_hash("root", "")
        self.wait_shown("blocks.0")

    def test_backspace_skips_a_list_that_is_never_called(self):
        self.open(more="&root=blocks.1")
        self.wait_shown("blocks.1.conv1")
        self.js("document.querySelector('.gr').focus()")
        self.browser.press("Backspace")
        self.wait_hash("root", "")
        self.wait_shown("blocks.0.conv1")
        log = self.browser.log()  # the request about the list was refused
        self.assertTrue(all("404" in one for one in log), log)

    def test_keys_walk_select_and_go_in(self):
        self.open(more="&depth=0")
        self.js("document.querySelector('.gr').focus()")
        self.browser.press("Down", "Down")
        self.wait_hash("at", "blocks.0")
        before = self.js("return history.length")
        self.browser.press("Down")
        self.wait_hash("at", "blocks.1")
        self.assertEqual(self.js("return history.length"), before)
        label = self.js(
            "const id = document.querySelector('.gr').getAttribute("
            "'aria-activedescendant');"
            "return document.getElementById(id).getAttribute('aria-label')"
        )
        self.assertRegex(label, "^blocks.1 Block.*folded$")
        self.browser.press("z")
        self.wait_shown("blocks.1.conv1")
        self.browser.press("z", "Enter")
        self.wait_hash("root", "blocks.1")

    def test_calls_of_one_module_are_separate(self):
        self.browser.size(1440, 3000)
        self.open(more="&level=ops&depth=3&expand=1&at=again.0")
        self.wait_shown("again.1#2")
        self.assertIn("1/2", self.texts("again.1"))
        self.assertIn("2/2", self.texts("again.1#2"))
        self.click("again.1#2")
        self.wait_hash("at", "again.1")
        self.assertEqual(self.selected(), "again.1#2")

    # --- bar

    def test_operations_and_colours(self):
        self.open()
        kinds = "return new Set([...document.querySelectorAll('.gr .node')].map("
        kinds += "e => e.dataset.kind)).has('op')"
        self.js("[...document.querySelectorAll('.seg button')][1].click()")
        self.wait_hash("level", "ops")
        self.browser.wait(kinds)
        fill = "return document.querySelector('.gr .node.module').style"
        fill += ".getPropertyValue('--fill')"
        self.assertRegex(self.js(fill), r"--(t-|sunken)")
        self.js("document.querySelector('.viewbar > .btn').click()")
        self.js(
            "[...document.querySelectorAll('[role=menuitem]')].find("
            "e => e.textContent === 'parameters').click()"
        )
        self.wait_hash("colour", "params")
        self.browser.wait(f"{fill}.includes('heat')")
        self.assertIn("parameters", self.text(".gr-legend"))
        self.assertIn("parameters", self.text(".viewbar > .btn"))

    def test_a_tooltip_shows_arguments_as_key_and_value(self):
        self.open()
        self.browser.mouse(("move", *self.place("blocks.0.conv1")), ("pause", 300))
        self.browser.wait("return document.querySelector('.gr .tip:not([hidden])')")
        rows = self.js(
            "return [...document.querySelectorAll('.gr .tip dt')].map("
            "e => [e.textContent, e.nextSibling.textContent])"
        )
        self.assertIn(["in", "2\u00d74\u00d78\u00d78 float32"], rows)
        self.assertEqual(rows.count(["\u2013", "4"]), 2)
        self.assertIn(["kernel_size", "3\u00d73"], rows)
        self.assertNotIn("dilation", dict(rows))
        self.assertEqual(dict(rows)["parameters"], "148")
        self.assertRegex(dict(rows)["forward"], "of forward$")
        self.assertRegex(dict(rows)["backward"], "of backward$")
        self.browser.press("Escape")

    # --- marks

    def test_panels_have_letters_and_boxes_can_be_dragged_there(self):
        self.open(more="&panels=blocks.0.conv1&panels=blocks.0.conv2")
        letters = "return [...document.querySelectorAll('.gr .letter text')].map("
        letters += "e => e.textContent).sort().join('')"
        self.browser.wait(f"{letters} === 'AB'")
        self.browser.mouse(("move", *self.place("blocks.0.conv2")))
        self.browser.wait("return document.querySelector('.gr .handle:not([hidden])')")
        data = self.js(
            "const event = new DragEvent('dragstart', {bubbles: true,"
            "dataTransfer: new DataTransfer()});"
            "document.querySelector('.gr .handle').dispatchEvent(event);"
            "return event.dataTransfer.getData('text/plain')"
        )
        self.assertEqual(data, "blocks.0.conv2")

    def test_the_graph_of_a_training(self):
        self.open("run")
        boxes = self.shown()
        for box in ("in:x", "inner.again", "inner.again#2", "out:0", "in:labels"):
            self.assertIn(box, boxes)
        attached = next(box for box in boxes if box.startswith("attached:"))
        kind = "return document.querySelector(arguments[0]).dataset.kind"
        self.assertEqual(self.js(kind, NODE.format(attached)), "attached")
        self.assertEqual(self.texts(attached)[0], "latent")
        self.assertIn("2/2", " ".join(self.texts("inner.again#2")))
        lines = "return [...document.querySelectorAll('.gr path.edge')].map(e =>"
        lines = self.js(f"{lines} [e.dataset.from, e.dataset.to].join(' '))")
        self.assertIn("inner.again inner.again#2", lines)
        self.assertTrue(any(one.endswith(f" {attached}") for one in lines), lines)
        self.assertTrue(any(one.endswith(" out:0") for one in lines), lines)

    def test_tensors_open_in_panels(self):
        self.open("run")
        attached = next(box for box in self.shown() if box.startswith("attached:"))
        self.click(attached)
        self.wait_hash("at", "inner")
        self.browser.press("A")
        self.wait_hash("panels", "inner@attached:latent")
        titles = "[...document.querySelectorAll('.panel figcaption b')].map(e => e.textContent)"
        self.browser.wait(f"return {titles}.length > 0")
        self.assertEqual(set(self.js(f"return {titles}")), {"latent"})
        self.assertIn("attached of inner", self.js(
            "return document.querySelector('.panel header').textContent"))
        self.browser.wait("return document.querySelectorAll('.gr .letter').length === 1")
        for box, name in (("in:x", "@input:x"), (attached, "inner@attached:latent")):
            self.browser.mouse(("move", *self.place(box)))
            self.browser.wait(
                "const handle = document.querySelector('.gr .handle');"
                f"return !handle.hidden && handle.dataset.name === {name!r}"
            )

    def test_numbers_of_a_step_are_colours(self):
        run = torchoscope.open(self.folder / "run.scope")
        text = '.gr .node[data-id="inner.first"] text'
        norms = [run.series(f"inner.first.{name}", "grad_param")["l2"]
                 for name in ("weight", "bias")]
        for at, step in ((0, run.steps[0]), (3, run.steps[3])):
            self.open("run", f"&colour=grad&step={step}")
            wanted = math.hypot(*(norm[at] for norm in norms))
            self.browser.wait(
                f"return [...document.querySelectorAll('{text}')].some(e => Math.abs("
                f"e.textContent / {wanted} - 1) < 0.001)"
            )
        self.open("run", f"&colour=ratio&step={run.steps[1]}")
        self.browser.wait(
            f"return [...document.querySelectorAll('{text}')].some(e =>"
            " /^0\\.\\d+$/.test(e.textContent))"
        )

    def test_non_finite_values_are_marked(self):
        self.open("nan")
        pill = "document.querySelector('.gr .alarm text')?.textContent"
        self.browser.wait(f"return {pill} === 'NaN'")
        self.assertIn("carries NaN", self.text(".gr-legend"))

    # --- large ones

    def test_nodes_missing_from_the_first_answer_are_requested(self):
        first = self.server.ask("api/graph?file=wide.scope&level=ops")
        whole = self.server.ask("api/graph?file=wide.scope&level=ops&inside=*")
        self.assertLess(len(first.text), len(whole.text) * 0.9)
        self.open("wide", "&level=ops")
        self.js("document.querySelector('.gr').focus()")
        asked = "return performance.getEntriesByType('resource').filter("
        asked += "e => e.name.includes('inside=')).length"
        self.browser.press("Z")
        self.browser.wait(asked)
        self.browser.wait("return document.querySelector('.gr.painted') !== null")
        self.browser.press("Z")
        self.browser.wait("return document.querySelector('.gr.painted') === null")

    # --- the view as a part of the page

    def test_it_can_be_closed_and_opened_again(self):
        self.open()
        for _ in range(2):
            self.js("[...document.querySelectorAll('.tabs .btn')].find("
                    "e => e.textContent === 'Details').click()")
            self.browser.wait("return document.querySelector('.gr') === null")
            self.js("dispatchEvent(new Event('beforeprint'));"
                    "dispatchEvent(new Event('afterprint'));"
                    "document.documentElement.dataset.theme = 'dark';"
                    "delete document.documentElement.dataset.theme;"
                    "dispatchEvent(new Event('resize'))")
            self.js("history.back()")
            self.wait_shown("blocks.0.conv1")
        self.js("document.querySelector('.gr').focus()")
        self.browser.press("Down", "Down")
        self.assertEqual(self.js("return document.querySelectorAll('.gr').length"), 1)
        self.browser.wait("return document.querySelector('.gr .ring.focus') !== null")

    def test_hostile_names_are_escaped(self):
        self.open()
        leaked = self.js(
            "return ['scene', 'view', 'box', 'mountGraph', 'paint', 'stage', 'net']"
            ".filter(name => name in globalThis)"
        )
        self.assertEqual(leaked, [])

    def test_exported_pictures_have_literal_colours(self):
        self.open()
        self.js(
            "window.kept = []; const make = URL.createObjectURL;"
            "URL.createObjectURL = (blob) => {kept.push(blob); return make(blob)};"
            "HTMLAnchorElement.prototype.click = () => {}"
        )
        self.js("document.querySelector('[aria-label=Export]').click()")
        self.js("[...document.querySelectorAll('[role=menuitem]')].find("
                "e => e.textContent.startsWith('SVG')).click()")
        self.browser.wait("return kept.length > 0")
        svg = self.browser.call("POST", "/execute/async", {
            "script": "kept[0].text().then(arguments[0])", "args": []})
        root = ElementTree.fromstring(svg)
        self.assertTrue(root.tag.endswith("svg"))
        self.assertNotIn("var(", svg)
        self.assertNotIn("style=", svg)
        self.assertIn("blocks.0.conv1", svg)
        path = self.folder / "out.svg"
        path.write_text(svg)
        done = subprocess.run(["xmllint", "--noout", path], capture_output=True) \
            if Path("/usr/bin/xmllint").exists() else None
        self.assertFalse(done and done.returncode)

    def test_two_networks_are_one_diagram(self):
        both = self.server.document("api/graph?file=nan.scope&old=listed.scope")
        self.assertIn("\u2192", both["facts"])
        answer = self.server.ask("api/graph?file=nan.scope&old=nan.scope")
        self.assertEqual(answer.status, 400)
        for wrong in ("level=x", "root=nothing", "depth=-1", "call=x", "old=no"):
            self.assertIn(
                self.server.ask(f"api/graph?file=nan.scope&{wrong}").status, (400, 404)
            )

    def test_dark_and_on_a_phone(self):
        self.browser.prefer("dark", "reduce")
        self.browser.size(390, 844)
        self.open(more="&root=blocks.0")
        ground = "return getComputedStyle(document.querySelector('.gr').closest('.stage'))"
        self.assertEqual(self.js(f"{ground}.backgroundColor"), "rgb(24, 27, 32)")
        self.assertEqual(self.js("return document.documentElement.scrollWidth"), 390)
        small = self.js(
            "return [...document.querySelectorAll('.gr .zoom .btn')].filter(e => {"
            "const r = e.getBoundingClientRect(); return r.width < 44 || r.height < 44})"
            ".length"
        )
        self.assertEqual(small, 0)


if __name__ == "__main__":
    unittest.main()
