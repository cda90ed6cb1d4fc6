"""Pictures of networks: torchoscope graph and torchoscope.graph()."""

import functools
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
from xml.etree import ElementTree

import picture_models
import svg_geometry
import torch
import torchoscope

PROGRAM = os.environ["TORCHOSCOPE"]
SMALL = ("resnet18", "transformer", "lstm", "unet")
FONTS = [font for font in (svg_geometry.Arial(), svg_geometry.dejavu()) if font]
QUESTIONS = [
    {"level": level, "direction": direction, **opening}
    for level in ("modules", "ops")
    for direction in ("tb", "lr")
    for opening in ({}, {"depth": 99, "all": True})
]
# The parser of the real library; without a browser there is nothing to sanitize for.
MERMAID = """
const purify = await import(`${process.argv[1]}/dompurify/dist/purify.es.mjs`);
Object.assign(purify.default, {addHook() {}, sanitize: (text) => text});
const library = await import(`${process.argv[1]}/mermaid/dist/mermaid.core.mjs`);
let text = "";
for await (const part of process.stdin) text += part;
await library.default.parse(text);
"""


def parsed(text):
    root = ElementTree.fromstring(text)
    svg = svg_geometry.SVG
    nodes = {g.get("data-id"): g for g in root.iter(f"{svg}g") if g.get("class") == "node"}
    edges = [p for p in root.iter(f"{svg}path") if p.get("class") == "edge"]
    return root, nodes, edges


def column(text):
    """A column of a page's data: html_columns.c."""
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    numbers, number, shift = [], 0, 0
    for one in map(digits.index, text):
        number |= (one & 31) << shift
        shift += 5
        if one < 32:
            numbers.append(number)
            number = shift = 0
    found, values = iter(numbers), [0]
    for one in found:
        if one == 1:
            values.extend([values[-1]] * next(found))
        else:
            values.append(values[-1] + (-(one >> 1) if one & 1 else one >> 1))
    return values[1:]


def shown_ids(data):
    """The boxes that a page shows first, without frames."""
    sizes, flags = (column(data["boxes"][name]) for name in ("size", "flags"))
    found, at = set(), 1
    while at < len(sizes):
        is_frame = sizes[at] > 1 and flags[at] & 1
        if not is_frame:
            found.add(data["ids"][at])
        at += 1 if is_frame else sizes[at]
    return found


@functools.cache
def recorded(name):
    model, args, kwargs = picture_models.make(name)
    return torchoscope.trace(model, *args, kwargs=kwargs, backward=False)


class Pictures(unittest.TestCase):
    def test_the_geometry_of_every_picture(self):
        for name in picture_models.MODELS:
            graph = recorded(name).graph()
            for question in QUESTIONS:
                with self.subTest(name, **question):
                    text = graph.picture("svg", **question)
                    self.assertEqual(svg_geometry.problems(text, FONTS), [])

    def test_the_geometry_check_finds_errors(self):
        text = recorded("resnet18").graph().svg
        drawing = svg_geometry.Drawing(text)
        fc, other = drawing.boxes["fc"], drawing.boxes["layers.1.1.relu"]
        band = drawing.bands["layers.1"]
        through = 'd="M{0} {1}L{0} {2}" fill="none"'
        edge = re.search(r'(?<=data-to="out:0" )d="[^"]*" fill="none"', text)[0]
        label = re.search(r'<text class="edge-label" x="(\d+)" y="(\d+)"', text)
        place, name = 'x="{0.left:g}" y="{0.top:g}"', ">fc</text>"
        for old, new, said in (
            (edge, through.format(other.left + 9, 0, other.bottom), "through box"),
            (edge, through.format(band.left + 9, 0, fc.top), "through the title"),
            (edge, through.format(*map(int, label.groups()), 9999), "through the label"),
            (edge, through.format(4, 4, 9), "does not arrive"),
            (place.format(fc), place.format(other), "overlap"),
            (name, f">{'wide' * 20}</text>", "leaves fc"),
            ('font-size="11"', 'font-size="9"', "under 11"),
        ):
            with self.subTest(said):
                self.assertIn(old, text)
                found = svg_geometry.problems(text.replace(old, new, 1), FONTS)
                self.assertIn(said, " ".join(found))

    def test_the_first_picture_is_one_readable_page(self):
        for name in picture_models.MODELS:
            for level in ("modules", "ops"):
                with self.subTest(name, level=level):
                    text = recorded(name).graph().picture("svg", level=level)
                    drawing = svg_geometry.Drawing(text)
                    self.assertLessEqual(len(drawing.boxes), 40)
                    self.assertLessEqual(drawing.width, 1200)
                    self.assertLessEqual(drawing.height, 2400)

    def test_an_explicit_depth_is_obeyed_on_any_page(self):
        graph = recorded("mixtral").graph()
        first, deep = (
            svg_geometry.Drawing(graph.picture("svg", **question))
            for question in ({}, {"depth": 9})
        )
        self.assertNotIn("model.layers.0.mlp.experts", first.frames)
        self.assertIn("model.layers.0.mlp.experts", deep.frames)
        self.assertGreater(deep.height, 2400)

    def test_the_page_opens_what_the_svg_shows(self):
        for name in ("transformer", "t5", "mixtral"):
            graph = recorded(name).graph()
            page = graph.picture("html")
            data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
            self.assertEqual(shown_ids(data), set(svg_geometry.Drawing(graph.svg).boxes))

    def test_a_dark_picture_has_the_same_geometry(self):
        for name in SMALL:
            graph = recorded(name).graph()
            light, dark = (graph.picture("svg", theme=theme) for theme in ("light", "dark"))
            self.assertNotEqual(light, dark)
            self.assertEqual(*(re.sub("#[0-9A-F]{6}", "", one) for one in (light, dark)))

    @unittest.skipUnless(shutil.which("dot"), "needs Graphviz")
    def test_graphviz_reads_dot(self):
        for name in SMALL:
            text = recorded(name).graph().picture("dot")
            done = subprocess.run(["dot", "-Tsvg"], input=text.encode(), capture_output=True)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            _, nodes, _ = parsed(recorded(name).graph().svg)
            self.assertEqual(done.stdout.count(b'class="node"'), len(nodes))

    def test_mermaid_parses_the_output(self):
        folder = os.environ.get("NODE_MODULES", "")
        if not (os.path.isdir(os.path.join(folder, "mermaid")) and shutil.which("node")):
            self.skipTest("needs node, and $NODE_MODULES with mermaid")
        for name in SMALL:
            text = recorded(name).graph().picture("mmd")
            command = ["node", "--input-type=module", "-e", MERMAID, folder]
            done = subprocess.run(command, input=text.encode(), capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr.decode()[-500:])
        done = subprocess.run(command, input=b"flowchart TB\n a[", capture_output=True)
        self.assertNotEqual(done.returncode, 0)

    def test_the_same_recording_gives_the_same_bytes(self):
        for name in SMALL:
            recording = recorded(name)
            self.assertEqual(recording.graph().svg, recording.graph().svg)

    def test_an_input_lies_above_its_readers(self):
        # The longest path of GPT-2 begins inside `transformer`, at its positions.
        boxes = svg_geometry.Drawing(recorded("gpt2").graph().svg).boxes
        above, below = boxes["in:input_ids"], boxes["lm_head"]
        self.assertEqual(above.left + above.right, below.left + below.right)

    def test_a_residual_block_has_its_skip(self):
        model, args, kwargs = picture_models.make("resnet18")
        graph = torchoscope.graph(model, *args, root="layers.1.1", depth=9)
        _, nodes, edges = parsed(graph.svg)
        into = {}
        for one in edges:
            into.setdefault(one.get("data-to"), set()).add(one.get("data-from"))
        signs = [key for key, node in nodes.items() if node.get("data-name") == "+"]
        self.assertEqual([len(into[key]) for key in signs], [2])

    def test_every_form_is_written(self):
        recording = recorded("lstm")
        starts = {"svg": b"<svg", "pdf": b"%PDF", "html": b"<!", "dot": b"digraph"}
        starts |= {"mmd": b"", "json": b"{"}
        with tempfile.TemporaryDirectory() as folder:
            for form, start in starts.items():
                path = os.path.join(folder, f"x.{form}")
                recording.graph().save(path)
                with open(path, "rb") as file:
                    self.assertTrue(file.read().lstrip().startswith(start), form)

    def test_png_needs_librsvg(self):
        # Here and not in C: fontconfig keeps memory, which a leak checker would report.
        graph = recorded("lstm").graph()
        try:
            data = graph.picture("png")
        except torchoscope.Error as error:
            self.assertIn("librsvg2-2", str(error))
            self.skipTest("librsvg is not installed")
        self.assertTrue(data.startswith(b"\x89PNG"))
        with self.assertRaisesRegex(ValueError, "32767"):
            graph.picture("png", scale=1000)

    def test_the_program_and_python_draw_the_same(self):
        recording = recorded("unet")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "unet.scope")
            recording.save(path)
            done = subprocess.run(
                [PROGRAM, "graph", path, "-o", "-", "--form", "svg", "--color", "flops"],
                capture_output=True,
                check=True,
                text=True,
            )
        self.assertEqual(done.stdout, recording.graph().picture("svg", color="flops"))

    def test_without_a_name_the_browser_shows_a_page(self):
        with tempfile.TemporaryDirectory() as folder:
            path, told = os.path.join(folder, "unet.scope"), os.path.join(folder, "told")
            recorded("unet").save(path)
            browser = os.path.join(folder, "browser")
            with open(browser, "w") as file:
                file.write(f'#!/bin/sh\ncp "$1" {told}.html && mv {told}.html {told}\n')
            os.chmod(browser, 0o700)
            bare = {**os.environ, "TMPDIR": folder, "DISPLAY": "", "BROWSER": ""}
            bare.pop("WAYLAND_DISPLAY", None)
            for one, words in (("", "no desktop"), (browser, "opened"), ("/no", "BROWSER")):
                done = subprocess.run(
                    [PROGRAM, "graph", path],
                    env={**bare, "BROWSER": one},
                    **{"capture_output": True, "text": True, "check": True},
                )
                self.assertIn(words, done.stderr)
                page = re.search(r"\S+\.html", done.stderr)[0].rstrip(";")
                with open(page) as file:
                    self.assertIn("<title>UNet", file.read())
            end = time.monotonic() + 60  # the program does not wait for it
            while not os.path.exists(told) and time.monotonic() < end:
                time.sleep(0.01)
            self.assertTrue(os.path.exists(told))

    def test_a_state_dict_has_no_graph(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.pth")
            torch.save(torch.nn.Linear(2, 2).state_dict(), path)
            done = subprocess.run([PROGRAM, "graph", path], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("torchoscope graph", done.stderr)

    def test_a_notebook_gets_a_frame_and_an_svg(self):
        bundle = recorded("lstm").graph()._repr_mimebundle_()
        self.assertTrue(bundle["image/svg+xml"].startswith("<svg"))
        self.assertIn('sandbox="allow-scripts" srcdoc="', bundle["text/html"])


if __name__ == "__main__":
    unittest.main()
