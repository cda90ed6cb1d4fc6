"""Pictures of networks: torchoscope graph and torchoscope.graph()."""

import os
import subprocess
import tempfile
import unittest
from xml.etree import ElementTree

import picture_models
import torch
import torchoscope

PROGRAM = os.environ["TORCHOSCOPE"]
SVG = "{http://www.w3.org/2000/svg}"
SMALL = ("resnet18", "transformer", "lstm", "unet")


def parsed(text):
    root = ElementTree.fromstring(text)
    nodes = {g.get("data-id"): g for g in root.iter(f"{SVG}g") if g.get("class") == "node"}
    edges = [p for p in root.iter(f"{SVG}path") if p.get("class") == "edge"]
    return root, nodes, edges


def box_of(node):
    """(x0, y0, x1, y1) of a node's outline."""
    for one in node.iter():
        if one.tag == f"{SVG}rect" and "box" in (one.get("class") or ""):
            x, y, w, h = (float(one.get(k)) for k in ("x", "y", "width", "height"))
            return x, y, x + w, y + h
        if one.tag == f"{SVG}circle":
            x, y, r = (float(one.get(k)) for k in ("cx", "cy", "r"))
            return x - r, y - r, x + r, y + r
    return None


def recorded(name):
    model, args, kwargs = picture_models.make(name)
    return torchoscope.trace(model, *args, kwargs=kwargs, backward=False)


class Pictures(unittest.TestCase):
    def test_boxes_are_apart_and_lines_end_at_boxes(self):
        for name in picture_models.MODELS:
            with self.subTest(name):
                text = recorded(name).graph().svg
                root, nodes, edges = parsed(text)
                self.assertLessEqual(len(nodes), 40)
                ends = {p.get(k) for p in edges for k in ("data-from", "data-to")}
                self.assertLessEqual(ends, nodes.keys())
                boxes = [box_of(node) for node in nodes.values()]
                self.assertNotIn(None, boxes)
                for i, a in enumerate(boxes):
                    for b in boxes[:i]:
                        apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
                        self.assertTrue(apart, (name, a, b))

    def test_the_same_recording_gives_the_same_bytes(self):
        for name in SMALL:
            recording = recorded(name)
            self.assertEqual(recording.graph().svg, recording.graph().svg)

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

    def test_the_program_draws_what_python_draws(self):
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
