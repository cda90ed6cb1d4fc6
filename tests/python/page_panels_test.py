"""Panels A to E in a real browser, for a live training, one that ended with NaN, a
recording of one step and a file: how they open, what they show, and pointer, keys and
screen readers. Covers each point of the sections "Panels" and "Histograms" of
TorchExplorer's description."""

import json
import re
import subprocess
import sys
import time
import unittest
from pathlib import Path

import torch

import browser
import scope
from folder import TemporaryFolder
from serve_test import Server

TRAINING = """
import sys, torch, torchoscope
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1)
        self.bn = nn.BatchNorm2d(4)
        self.act = nn.ReLU()
        self.two = nn.Bilinear(4, 4, 3)
        self.block = nn.Sequential(nn.Linear(3, 3))
        self.never = nn.Linear(2, 2)
        self.const = nn.Parameter(torch.full((5,), 2.0), requires_grad=False)

    def forward(self, image):
        x = self.act(self.bn(self.conv(image)))
        x = self.act(self.act(x - 0.2) - 0.1).mean((2, 3))
        x = torchoscope.attach(x + self.const.sum() * 0, self, "middle")
        return self.block(self.two(x, x * 2))

torch.manual_seed(0)
torch.set_num_threads(1)
model = Net()
log = ["io", "io_grad", "io_grad_norms", "params", "params_grad"]
handle = torchoscope.watch(model, dir=sys.argv[1], log=log, log_freq=1, name="net",
                           on_alarm=None)
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
for line in sys.stdin:
    word = line.strip()
    if word == "close":
        handle.close()
    elif word == "nan":
        model.conv.weight.data[0, 0] = float("nan")
    elif word == "eval":
        model.eval()
        with torch.no_grad():
            model(torch.randn(8, 2, 6, 6))
        model.train()
    else:
        for _ in range(int(word)):
            optimizer.zero_grad()
            model(torch.randn(8, 2, 6, 6)).square().mean().backward()
            optimizer.step()
    if word != "close":
        handle._writer.flush()
    print(handle.path, flush=True)
"""


class Training:
    """A process that trains up to the requested step."""

    def __init__(self, folder):
        self.process = subprocess.Popen([sys.executable, "-c", TRAINING, str(folder)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, *words):
        for word in words:
            self.process.stdin.write(f"{word}\n")
            self.process.stdin.flush()
            self.path = self.process.stdout.readline().strip()
        return Path(self.path)

    def close(self):
        self.process.communicate(timeout=scope.PATIENCE)


class Panels(TemporaryFolder, browser.BrowserTest):
    """One run that ended with NaN, one server, one browser for all."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        import tempfile
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        training = Training(folder.name)
        cls.addClassCleanup(training.close)
        cls.run_path = training.tell(20, "eval", 20, "eval", "nan", 4, "close")
        torch.manual_seed(0)
        cls.weights = Path(folder.name) / "weights.pth"
        torch.save({"fc.weight": torch.randn(300, 200), "fc.bias": torch.zeros(300),
                    "deep.inner.weight": torch.tensor([1.0, float("nan"), 2.0])}, cls.weights)
        cls.one = Path(folder.name) / "one.scope"
        code = ("import sys, torch, torchoscope\n"
                "net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())\n"
                "with torchoscope.record(net) as r:\n"
                "    net(torch.randn(5, 3)).sum().backward()\n"
                "r.save(sys.argv[1])\n")
        subprocess.run([sys.executable, "-c", code, str(cls.one)], check=True)
        cls.server = Server(cls.run_path, cls.weights, cls.one, "--port", 0)
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        super().setUp()
        self.browser.size(1440)

    # ---- helpers

    def ids(self, server):
        return {one["path"]: one["file"] for one in server.document("api/shelf")["files"]}

    def open(self, *panels, path=None, server=None, **state):
        server = server or self.server
        file = self.ids(server)[str(path or self.run_path)]
        words = [f"file={file}", *(f"{k}={v}" for k, v in state.items()),
                 *(f"panels={name}" for name in panels)]
        self.browser.open(server.address, "#" + "&".join(words),
                          ready="document.querySelector('.row')")
        if panels and panels != (".",):
            self.browser.wait("return document.querySelector('.figs .st,.figs .empty')")

    def js(self, code):
        return self.browser.run("return " + code)

    def state(self):
        pairs = self.js("[...new URLSearchParams(location.hash.slice(1))]")
        made = {}
        for key, value in pairs:
            made.setdefault(key, []).append(value)
        return made

    def captions(self, panel=0):
        """The headings of a panel, and its captions without marks."""
        return self.js(
            "[...document.querySelectorAll('.panel')[%d].querySelectorAll('h3,figcaption')]"
            ".map((one) => one.tagName === 'H3' ? '# ' + one.textContent :"
            " [...one.children].slice(0, 2).map((part) => part.textContent).join(' '))" % panel)

    def figure(self, caption, panel=0):
        """Index of the first figure with this caption."""
        names = [one for one in self.captions(panel) if one[0] != "#"]
        return names.index(caption)

    def at(self, figure, then, panel=0):
        return self.js(f"document.querySelectorAll('.panel')[{panel}]"
                       f".querySelectorAll('.hg')[{figure}].{then}")

    def box(self, selector):
        return self.js(f"(({{x, y, width, height}}) => [x, y, width, height])"
                       f"(document.querySelector('{selector}').getBoundingClientRect())")

    def pixels(self, figure):
        """The colours of a plot's columns as text, one for each pixel."""
        return self.at(figure, "querySelector('canvas')") and self.browser.run(
            "const c = document.querySelectorAll('.hg')[%d].querySelector('canvas'),"
            " pen = c.getContext('2d'), list = [];"
            "for (let x = 0; x < c.width; x++)"
            " list.push(pen.getImageData(x, 0, 1, c.height).data.join());"
            "return list" % figure)

    def drag(self, start, end):
        near = start[0] + 15, start[1] + 5
        pauses = ("pause", 150)
        self.browser.mouse(("move", *start), ("down",), ("move", *near), pauses,
                           ("move", end[0] - 5, end[1]), pauses, ("move", *end), pauses, ("up",))

    def row(self, name):
        x, y, width, height = self.box(f'.row[title="{name}"]')
        return x + 60, y + height / 2

    # ---- opening and closing

    def test_a_row_of_the_tree_is_dragged_into_a_column(self):
        self.open(view="graph")
        self.assertEqual(self.js("document.querySelector('.slot b').textContent"),
                         "Drag a module or tensor here")
        x, y, width, _ = self.box(".panel")
        self.drag(self.row("conv"), (x + width / 2, y + 200))
        self.browser.wait("return document.querySelector('.panel .hg')")
        self.assertEqual(self.state()["panels"], ["conv"])
        # The next panel: the drop target covers the view.
        self.drag(self.row("bn"), (x - 100, y + 200))
        self.browser.wait("return document.querySelectorAll('.panel').length === 2")
        self.assertEqual(self.state()["panels"], ["conv", "bn"])
        # On a used panel: the dropped module replaces its module.
        x, y, width, _ = self.box(".panel")
        self.drag(self.row("act"), (x + width / 2, y + 200))
        self.browser.wait("return location.hash.includes('panels=act')")
        self.assertEqual(self.state()["panels"], ["act", "bn"])
        self.assertIsNone(self.js("document.querySelector('.drop')"))

    def test_a_node_of_the_graph_is_dragged_into_a_column(self):
        self.open(view="graph")
        self.browser.wait("return document.querySelector('.panel')")
        self.browser.run(  # the graph's own code for dragging a box
            "const data = new DataTransfer(); data.setData('text/plain', 'block.0');"
            "const send = (name, at) => at.dispatchEvent(new DragEvent(name,"
            " {bubbles: true, cancelable: true, dataTransfer: data}));"
            "const panel = document.querySelector('.panel');"
            "send('dragstart', document.querySelector('main')); send('dragover', panel);"
            "send('drop', panel)")
        self.browser.wait("return location.hash.includes('panels=block.0')")

    def test_keys_open_and_go_to_panels(self):
        self.open(view="details", at="conv")
        self.browser.press("B")
        self.browser.wait("return document.querySelector('.panel .hg')")
        self.assertEqual(self.state()["panels"], [".", "conv"])
        self.assertEqual(self.js("document.querySelector('.slot span').textContent"),
                         "or select one and press A")
        self.browser.run("document.querySelector('.row[title=\"bn\"]').click()")
        self.browser.press("B")  # focuses it
        self.assertEqual(self.js("document.activeElement.ariaLabel"), "Panel B: conv Conv2d")
        self.browser.press("B")  # again: the selected module in it
        self.browser.wait("return location.hash.includes('panels=bn')")
        self.browser.press("A")
        self.browser.wait("return location.hash.includes('panels=bn&panels=.') ||"
                          " location.hash.includes('panels=bn')")
        self.browser.press("?")
        self.assertIn("go to it; empty, or again: what is selected",
                      self.js("document.querySelector('dialog').textContent"))
        self.browser.press("Escape")

    def test_five_panels_scroll_and_have_their_letters_and_colours(self):
        names = ["conv", "bn", "act", "two", "block.0"]
        self.open(*names, view="details")
        self.browser.wait("return document.querySelectorAll('.panel .hg').length > 20")
        self.assertEqual(self.js("[...document.querySelectorAll('.panel')].map((one) =>"
                                 " one.offsetWidth)"), [228] * 5)
        self.assertGreaterEqual(self.js("document.querySelector('main').offsetWidth"), 420)
        self.assertGreater(*self.js("(({scrollWidth, clientWidth}) => [scrollWidth, clientWidth])"
                                    "(document.querySelector('.panels'))"))
        letters = self.js("[...document.querySelectorAll('.panel .badge')].map((one) =>"
                          " one.textContent)")
        self.assertEqual("".join(letters), "ABCDE")
        tree = self.js("[...document.querySelectorAll('.row .badge')].map((one) =>"
                       " one.textContent).sort().join('')")
        self.assertEqual(tree, "ABCDE")
        colours = self.js("[...document.querySelectorAll('.panel')].map((one) =>"
                          " [getComputedStyle(one).borderTopColor,"
                          "  getComputedStyle(one.querySelector('.badge')).backgroundColor])")
        self.assertEqual(len({line for line, _ in colours}), 5)
        self.assertTrue(all(line == badge for line, badge in colours))

    def test_go_to_and_close(self):
        self.open("conv", "bn", view="details", at="act")
        self.browser.run("document.querySelector('[title=\"Show in graph\"]').click()")
        self.assertEqual(self.state()["at"], ["conv"])
        self.browser.run("document.querySelector('[title=\"Close panel A\"]').click()")
        # B stays B: its letter and colour mark it in graph and tree.
        self.assertEqual(self.state()["panels"], [".", "bn"])
        self.browser.run("document.querySelector('[title=\"Close panel A\"]').click()")
        self.assertEqual(self.state()["panels"], ["bn"])
        self.browser.run("document.querySelector('[title=\"Close panel A\"]').click()")
        self.assertNotIn("panels", self.state())
        self.browser.run("history.back()")
        self.browser.wait("return location.hash.includes('panels=bn')")

    # ---- content

    def test_calls_inputs_and_attached_tensors_apart(self):
        self.open("act", "two", "", view="details")
        self.browser.wait("return document.querySelectorAll('.panel').length === 3 &&"
                          " document.querySelectorAll('.panel')[2].querySelector('.hg')")
        heads = [one for one in self.captions(0) if one.startswith("#")]
        self.assertEqual(heads[:3], ["# call 1/3", "# call 2/3", "# call 3/3"])
        self.assertEqual(heads[3:], [f"# evaluation, call {i}/3" for i in (1, 2, 3)])
        inputs = [one for one in self.captions(1) if one.startswith("input")]
        self.assertEqual(inputs[0], "input1 values")
        self.assertIn("input2 grad", inputs)
        root = self.captions(2)
        self.assertEqual(root[0], "image values")
        self.assertIn("middle values", root)
        self.assertIn("middle grad", root)

    def test_one_tensor_in_a_panel(self):
        self.open("conv.weight", "@input:image", "@attached:middle", "two@input:input2",
                  "conv@output:", view="details")
        self.browser.wait("return [...document.querySelectorAll('.panel')].every((one) =>"
                          " one.querySelector('.hg .st'))")
        self.assertEqual(self.captions(0), ["weight values", "weight grad", "weight update",
                                            "weight update \u00f7 value"])
        for panel, name in enumerate(("image", "middle", "input2", "output"), 1):
            names = [one for one in self.captions(panel) if one[0] != "#"]
            self.assertEqual({one.split()[0] for one in names}, {name})
            self.assertEqual(names[0], f"{name} values")
        self.assertIn("middle grad", self.captions(2))
        heads = self.js("[...document.querySelectorAll('.panel>header')].map((one) =>"
                        " one.textContent)")
        self.assertEqual(heads, ["Aweightof conv", "Bimageinput of Net", "Cmiddleattached of Net",
                                 "Dinput2input of two", "Eoutputoutput of conv"])
        self.browser.run("document.querySelectorAll('[title=\"Show in graph\"]')[3].click()")
        self.assertEqual(self.state()["at"], ["two"])

    def test_a_figure_and_a_tensor_of_the_details_open_alone(self):
        self.open("conv", view="details", at="conv.weight")
        self.at(self.figure("input values"), "querySelector('.tool').click()")
        self.browser.run("[...document.querySelectorAll('.menu button')].find((one) =>"
                         " one.textContent === 'Open in a panel').click()")
        self.assertEqual(self.state()["panels"], ["conv", "conv@input:input"])
        self.browser.wait("return [...document.querySelectorAll('.viewbar .btn')].some((one) =>"
                          " one.textContent === 'Open in a panel' && (one.click(), true))")
        self.assertEqual(self.state()["panels"], ["conv", "conv@input:input", "conv.weight"])
        self.browser.wait("return [...document.querySelectorAll('.panel')].every((one) =>"
                          " one.querySelector('.hg .st'))")
        self.assertEqual({one.split()[0] for one in self.captions(1) if one[0] != "#"}, {"input"})

    def test_a_tensor_of_a_recording(self):
        self.open("0@input:input", "0.weight", "1@output:", path=self.one, view="details")
        self.browser.wait("return document.querySelectorAll('.panel:has(.hg .st)').length === 3")
        self.assertEqual([self.captions(i)[0] for i in range(3)],
                         ["input values", "weight values", "output values"])

    def test_only_direct_parameters_are_shown(self):
        self.open("block", "block.0", "act", view="details")
        self.browser.wait("return [...document.querySelectorAll('.panel')].every((one) =>"
                          " one.querySelector('.hg'))")
        names = [[one.split()[0] for one in self.captions(i)] for i in range(3)]
        self.assertNotIn("weight", names[0])
        self.assertIn("weight", names[1])
        self.assertFalse({"weight", "bias"} & set(names[2]))

    def test_cells_show_the_distribution_and_empty_cells_the_background(self):
        self.open("conv", view="details")
        i = self.figure("output values")
        ground = self.js("getComputedStyle(document.body).getPropertyValue('--surface')")
        colours = self.browser.run(
            "const c = document.querySelectorAll('.hg')[%d].querySelector('canvas');"
            "return [...c.getContext('2d').getImageData(10, 0, 1, c.height).data]" % i)
        cells = [tuple(colours[k:k + 4]) for k in range(0, len(colours), 4)]
        self.assertIn((0, 0, 0, 0), cells)  # no value: the background shows
        self.assertTrue(ground)
        self.assertGreater(len(set(cells)), 4)  # a count, by its colour

    def test_a_single_step_axis_at_the_bottom(self):
        self.open("conv", "bn", view="details")
        self.browser.wait("return document.querySelectorAll('.panel footer span').length === 6")
        self.assertEqual(self.js("[...document.querySelectorAll('.panel footer')].map((one) =>"
                                 " one.innerText.replaceAll('\\n', ' '))"), ["0 step 43"] * 2)

    def test_nan(self):
        self.open("conv", view="details", step=41)
        i = self.figure("output values")
        self.browser.wait("return document.querySelectorAll('.hg .mark').length")
        self.assertRegex(self.at(i, "querySelector('.mark').textContent"), r"^NaN \d+%$")
        i = self.figure("weight grad")
        self.browser.wait("return document.querySelectorAll('.hg')[%d].querySelector('.mark')" % i)
        self.assertEqual(self.at(i, "querySelector('.mark').textContent"), "NaN 100%")
        self.assertIn("mean \u2013", self.at(i, "querySelector('.st').textContent"))
        alarm = self.browser.run(
            "const c = document.querySelectorAll('.hg')[%d].querySelector('canvas'),"
            " data = c.getContext('2d').getImageData(c.width - 4, 0, 1, c.height).data;"
            "return new Set(Array.from({length: c.height}, (_, y) =>"
            " data.slice(4 * y, 4 * y + 3).join())).size" % i)
        self.assertGreater(alarm, 1)  # hatched
        # Earlier steps have no mark.
        self.open("conv", view="details", step=30)
        self.assertEqual(self.js("document.querySelectorAll('.hg .mark').length"), 0)

    def test_hovering_a_cell_shows_its_values(self):
        self.open("conv", view="details", step=30)
        i = self.figure("weight values")
        self.browser.run("document.querySelectorAll('.hp')[%d].scrollIntoView({block: 'center'})"
                         % i)
        x, y, width, height = self.js(
            "(({x, y, width, height}) => [x, y, width, height])"
            "(document.querySelectorAll('.hp')[%d].getBoundingClientRect())" % i)
        self.browser.mouse(("move", x + width * 0.3, y + height / 2))
        lines = self.js("document.querySelectorAll('.hvt')[%d].innerText" % i).split("\n")
        self.assertRegex(lines[0], r"^step \d+$")
        self.assertRegex(lines[1], r"^\S+ to \S+$")
        self.assertRegex(lines[2], r"^(about [\d,]+ values?, (under )?\d+% of all|no value)$")
        self.browser.click(x + width * 0.3, y + height / 2)
        self.assertEqual(self.state()["step"], [lines[0].split()[1]])

    def test_the_cursor_is_shared_by_all_views(self):
        self.open("conv", "bn", view="details", step=10)
        before = self.js("[...document.querySelectorAll('.cur')].map((one) => one.style.left)")
        self.browser.run("location.hash = location.hash.replace('step=10', 'step=20')")
        self.browser.wait(f"return document.querySelector('.cur').style.left !== '{before[0]}'")
        after = self.js("[...document.querySelectorAll('.cur')].map((one) => one.style.left)")
        self.assertEqual(len(set(after)), 1)
        numbers = "document.querySelector('.st').textContent"
        told = self.js(numbers)
        self.assertRegex(told, r"^mean \S+std \S+min \S+max \S+norm \S+$")
        exact = self.server.document(
            f"api/series?file={self.ids(self.server)[str(self.run_path)]}&name=conv&at=20")
        own = exact["series"][0]["own"]
        self.browser.wait(f"return document.querySelector('.st span').title.startsWith("
                          f"'mean {own['mean']}')")

    # ---- keyboard, screen reader, tables

    def test_every_action_has_a_key(self):
        self.open("conv", view="details", step=30)
        self.browser.run("document.querySelector('.hp').focus()")
        told = "document.activeElement.ariaValueText"
        self.assertRegex(self.js(told), r"^step 30, mean .*norm \S+$")
        self.assertEqual(self.js("document.activeElement.ariaLabel"), "input values, over steps")
        self.browser.press("Left", "Left", "Up")
        self.assertTrue(self.js(told).startswith("step 28, "))
        self.browser.press("Enter")
        self.assertEqual(self.state()["step"], ["28"])
        self.browser.press("Escape")
        self.assertTrue(self.js("document.querySelector('.hvt').classList.contains('off')"))
        self.browser.press("Tab")  # its menu
        self.assertEqual(self.js("document.activeElement.ariaLabel"), "More")
        self.assertEqual(self.js("getComputedStyle(document.activeElement).opacity"), "1")
        self.browser.press("Enter", "Enter")  # Numbers
        self.browser.wait("return document.querySelector('dialog table')")
        heads = self.js("[...document.querySelectorAll('dialog th[scope=col]')].map((one) =>"
                        " one.textContent)")
        self.assertEqual(heads[:2], ["first step", "last step"])
        self.assertIn("mean", heads)
        self.assertEqual(self.js("document.querySelectorAll('dialog tbody tr').length"), 44)
        self.browser.press("Escape")
        self.browser.wait("return document.querySelector('dialog') === null")

    def test_copies_and_pictures(self):
        self.open("conv", view="details", step=30)
        self.browser.run(
            "window.kept = {};"
            "navigator.clipboard.writeText = async (text) => { kept.text = text; };"
            "URL.createObjectURL = (blob) => { kept.blob = blob; return 'data:,'; };"
            "HTMLAnchorElement.prototype.click = function () { kept.name = this.download; };")

        def choose(figure, item):
            self.at(figure, "querySelector('.tool').click()")
            self.browser.run("[...document.querySelectorAll('.menu button')].find((one) =>"
                             f" one.textContent === '{item}').click()")

        choose(self.figure("output values"), "Copy as CSV")
        lines = self.js("kept.text").splitlines()
        self.assertEqual(lines[0][:21], "first step,last step,")
        self.assertEqual(len(lines), 45)
        choose(self.figure("output values"), "Copy as Python")
        self.assertEqual(self.js("kept.text"), f"torchoscope.open('{self.run_path}')"
                         ".series('conv', 'output').to_pandas()")
        choose(self.figure("weight grad"), "Copy as Python")
        code = self.js("kept.text").replace(".to_pandas()", "")
        done = subprocess.run([sys.executable, "-c", "import torchoscope\n"
                               f"print(len({code}['mean']))"], capture_output=True, text=True)
        self.assertEqual(done.stdout.strip(), "44", done.stderr)
        choose(self.figure("output values"), "Save as SVG")
        self.assertEqual(self.js("kept.name"), "conv_output_values.svg")
        svg = self.browser.run("return kept.blob.text()")
        self.assertIn("<title>conv</title>", svg)
        self.assertIn("output values", svg)
        self.assertNotIn("var(", svg)
        self.browser.run("kept.blob = null")
        choose(self.figure("output values"), "Save as PNG")
        self.browser.wait("return kept.blob?.type === 'image/png'")

    # ---- other files, states

    def test_a_file_has_histograms_of_its_parameters(self):
        self.open("fc", "deep", "deep.inner", path=self.weights, view="details")
        self.browser.wait("return document.querySelectorAll('.panel .bars').length === 3")
        self.assertEqual(self.captions(0), ["weight values", "bias values"])
        self.assertIn("60,000 values", self.js("document.querySelector('.one .hp').ariaLabel"))
        self.assertIn("NaN 33%", self.js("document.querySelectorAll('.panel')[2].textContent"))
        self.assertIn("no parameters of its own",
                      self.js("document.querySelectorAll('.panel')[1].textContent"))

    def test_a_recording_has_the_values_of_its_step(self):
        self.open("0", "nix", path=self.one, view="details")
        self.browser.wait("return document.querySelectorAll('.panel .bars').length >= 5")
        names = self.captions(0)
        self.assertEqual(names[:2], ["input values", "output values"])
        self.assertIn("weight values", names)
        self.assertIn("Not in this model",
                      self.js("document.querySelectorAll('.panel')[1].textContent"))

    def test_missing_data_has_a_reason(self):
        self.open("never", view="details")
        self.browser.wait("return document.querySelector('.figs')")
        self.assertIn("weight values", self.captions())
        self.assertIn("not called in this run", self.js("document.querySelector('.figs').innerText"))

    # ---- live

    # ---- narrow windows

    def test_two_panels_in_a_middle_window(self):
        self.browser.size(1024)
        self.open("conv", "bn", "act", view="details")
        self.assertEqual(self.js("document.querySelector('.panels').offsetWidth"), 456)

    def test_a_sheet_with_tabs_in_a_narrow_window(self):
        self.browser.size(390, 844)
        self.open("conv", "bn", view="details")
        self.assertEqual(self.js("[...document.querySelectorAll('[role=tab]')].map((one) =>"
                                 " one.textContent)"), ["Aconv", "Bbn"])
        self.assertEqual(self.js("document.querySelectorAll('.panel').length"), 1)
        half = self.box(".panels")[3]
        self.browser.run("document.querySelectorAll('[role=tab]')[1].click()")
        self.browser.wait("return document.querySelector('.panel').ariaLabel ==="
                          " 'Panel B: bn BatchNorm2d'")
        x, y, width, height = self.box(".grip")
        self.browser.mouse(("move", x + width / 2, y + 4), ("down",), ("move", x + 9, y - 90),
                           ("up",))
        full = self.box(".panels")[3]
        self.assertGreater(full, half + 100)
        x, y, width, height = self.box(".grip")
        for _ in range(2):
            self.browser.mouse(("move", x + width / 2, self.box(".grip")[1] + 4), ("down",),
                               ("move", x + 9, self.box(".grip")[1] + 80), ("up",))
        self.assertLess(self.box(".panels")[3], 80)
        self.assertLessEqual(self.js("document.documentElement.scrollWidth - innerWidth"), 0)


if __name__ == "__main__":
    unittest.main()
