"""Pictures of TorchScript archives: the code in a file, which is not run."""

import collections
import os
import subprocess
import tempfile
import unittest
import warnings
from xml.etree import ElementTree

import picture_models
import torch
import torchoscope
from torch import nn

PROGRAM = os.environ["TORCHOSCOPE"]
SVG = "{http://www.w3.org/2000/svg}"


class Turns(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)
        self.act = nn.ReLU()

    def forward(self, x, n: int, flag: bool):
        for _ in range(n):
            x = self.act(self.inner(x))
        if flag:
            x = torch.exp(x)
        else:
            x = torch.sin(x)
        if self.training:
            x = torch.cos(x)
        return x.view(x.size(0), -1)


class Encoder(nn.Module):
    """A small transformer whose layers have no fused path."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(16, 32)
        self.layers = nn.ModuleList(Layer() for _ in range(3))
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(32), nn.LayerNorm(32)
        self.qkv, self.proj = nn.Linear(32, 96), nn.Linear(32, 32)
        self.mlp = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(b, n, 3, 4, 8).permute(2, 0, 3, 1, 4)
        a = torch.softmax(q @ k.transpose(-1, -2) / 8**0.5, -1) @ v
        x = x + self.drop(self.proj(a.transpose(1, 2).reshape(b, n, c)))
        return x + self.mlp(self.norm2(x))


def saved(test, module):
    folder = tempfile.TemporaryDirectory()
    test.addCleanup(folder.cleanup)
    path = os.path.join(folder.name, "net.pt")
    module.save(path)
    return path


def traced(test, model, args):
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        return saved(test, torch.jit.trace(model, args, check_trace=False))


def scripted(test, model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return saved(test, torch.jit.script(model))


def nodes_of(svg):
    root = ElementTree.fromstring(svg)
    return {
        g.get("data-id"): g.get("data-kind")
        for g in root.iter(f"{SVG}g")
        if g.get("class") == "node"
    }


def groups_of(svg):
    root = ElementTree.fromstring(svg)
    return {g.get("data-id") for g in root.iter(f"{SVG}g") if g.get("class") == "group"}


def wiring(graph):
    """The edges between calls, inputs and outputs, through the operations between
    them."""
    names, count = {}, collections.Counter()
    for node in graph.nodes:
        if node.kind == "call":
            count[node.module] += 1
            names[node.id] = node.module, count[node.module]
        elif node.kind in ("input", "output"):
            names[node.id] = node.kind, node.name
    sources = collections.defaultdict(set)
    for edge in graph.edges:
        sources[edge.target].add(edge.source)
    found = set()
    for target, name in names.items():
        seen, stack = set(), [target]
        while stack:
            for source in sources[stack.pop()] - seen:
                seen.add(source)
                if source in names:
                    found.add((names[source], name))
                else:
                    stack.append(source)
    return found


class Programs(unittest.TestCase):
    def test_a_traced_file_is_wired_like_a_recording(self):
        resnet = picture_models.make("resnet18")[:2]
        unet = picture_models.make("unet")[:2]
        for model, args in (resnet, unet, (Encoder(), (torch.randn(2, 5, 16),))):
            with self.subTest(type(model).__name__):
                model.eval()
                file = torchoscope.graph(traced(self, model, args))
                run = torchoscope.graph(model, *args)
                self.assertEqual(wiring(file), wiring(run))
                for look in ({"depth": 99, "all": True}, {}):
                    one, other = file.picture("svg", **look), run.picture("svg", **look)
                    self.assertEqual(groups_of(one), groups_of(other))
                    self.assertEqual(
                        {i for i, kind in nodes_of(one).items() if kind == "module"},
                        {i for i, kind in nodes_of(other).items() if kind == "module"},
                    )

    def test_loops_and_branches_are_frames_and_numbers_are_left_out(self):
        graph = torchoscope.graph(scripted(self, Turns().eval()), level="ops")
        ops = [node.name for node in graph.nodes if node.kind == "op"]
        self.assertIn("aten::exp", ops)
        self.assertIn("aten::sin", ops)
        self.assertNotIn("aten::cos", ops)  # only runs in training
        self.assertNotIn("aten::size", ops)
        self.assertEqual([node.name for node in graph.inputs], ["x"])
        back = [edge for edge in graph.edges if edge.source > edge.target]
        linear = next(node.id for node in graph.nodes if node.name == "aten::linear")
        self.assertIn(linear, [edge.target for edge in back])
        svg = graph.picture("svg", all=True, depth=99)
        titles = [
            "".join(g.itertext())
            for g in ElementTree.fromstring(svg).iter(f"{SVG}g")
            if g.get("class") == "title"
        ]
        for word in ("loop", "if", "else"):
            self.assertTrue(any(word in title for title in titles), (word, titles))

    def test_the_missing_shapes_of_a_file_are_noted(self):
        graph = torchoscope.graph(scripted(self, Turns().eval()))
        self.assertTrue(graph.exact)
        self.assertIsNone(graph.edges[0].shape)
        self.assertEqual(graph.json["method"], "forward")
        self.assertIn("was not run", graph.svg)
        self.assertIn("not measured", graph.picture("svg", color="time"))
        self.assertNotIn("not measured", graph.picture("svg", color="params"))

    def test_a_model_gives_its_graph(self):
        path = traced(self, Encoder().eval(), (torch.randn(2, 5, 16),))
        model = torchoscope.open(path)
        self.assertEqual(model.graph("ops").json, torchoscope.graph(path, level="ops").json)
        self.assertEqual(torchoscope.graph(model).svg, torchoscope.graph(path).svg)
        with self.assertRaisesRegex(torchoscope.Error, "once it has run"):
            torchoscope.open(nn.Linear(2, 2)).graph().svg

    def test_the_options_work(self):
        path = traced(self, Encoder().eval(), (torch.randn(2, 5, 16),))
        graph = torchoscope.graph(path)
        root = nodes_of(graph.picture("svg", root="layers.1.mlp"))
        self.assertEqual(
            {name for name in root if name.startswith("layers")},
            {"layers.1.mlp.0", "layers.1.mlp.1", "layers.1.mlp.2"},
        )
        self.assertIn("in:argument_1", root)  # as torch named it in the file
        near = nodes_of(graph.picture("svg", focus="head", all=True))
        self.assertEqual({kind for i, kind in near.items() if i != "head"}, {"op", "output"})
        way = graph.picture("svg", focus="layers.0.qkv", to="layers.0.proj", depth=99)
        self.assertIn("layers.0.proj", nodes_of(way))
        self.assertNotIn("layers.0.norm2", nodes_of(way))
        self.assertEqual(len(nodes_of(graph.picture("svg", depth=0))), 6)
        with self.assertRaisesRegex(KeyError, "never calls layers;"):
            graph.picture("svg", root="layers")

    def test_the_same_file_gives_the_same_bytes(self):
        path = scripted(self, Turns().eval())
        for form in ("svg", "html", "dot", "mmd", "json", "pdf"):
            one, other = (torchoscope.graph(path).picture(form) for _ in range(2))
            self.assertEqual(one, other)

    def test_the_program_draws_files(self):
        path = scripted(self, Turns().eval())
        target = path + ".svg"
        subprocess.run([PROGRAM, "graph", path, "-o", target], check=True)
        with open(target) as file:
            self.assertIn("inner", nodes_of(file.read()))


class Refused(unittest.TestCase):
    def check(self, name, write, wanted):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name)
            write(path)
            done = subprocess.run(
                [PROGRAM, "graph", path, "-o", path + ".svg"],
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, 2)
            self.assertIn(wanted, done.stderr)
            self.assertIn("torchoscope graph model.py::make", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertFalse(os.path.exists(path + ".svg"))

    def test_files_without_code(self):
        layer = nn.Linear(2, 2)
        state = lambda path: torch.save(layer.state_dict(), path)  # noqa: E731
        whole = lambda path: torch.save(layer, path)  # noqa: E731
        self.check("a.pth", state, "a state_dict has no graph")
        self.check("b.pth", whole, "a pickled module has no graph")


if __name__ == "__main__":
    unittest.main()
