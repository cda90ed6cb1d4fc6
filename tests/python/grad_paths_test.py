"""Gradients at forks: the gradient that each reader of a value returns, against torch.

The oracle is the same model with every use of a forked value replaced by a copy that
keeps its gradient: the gradient of the copy is the part through that use.
"""

import os
import tempfile
import unittest

import torch
import torch.nn.functional as F
from architectures import ARCHITECTURES
from torch import nn

import torchoscope

EXACT = 1e-5


class Forks:
    """fork(x, name) is x; between begin() and norms() it is a copy with a gradient."""

    def __init__(self):
        self.copies = None

    def __call__(self, x, name):
        if self.copies is None:
            return x
        copy = x * 1
        copy.retain_grad()
        self.copies[name] = copy
        return copy

    def begin(self):
        self.copies = {}

    def norms(self):
        copies, self.copies = self.copies, None
        return {name: copy.grad.norm().item() for name, copy in copies.items()}


fork = Forks()


class Residual(nn.Module):
    def __init__(self, in_place=False, scale=1.0):
        super().__init__()
        self.in_place, self.scale = in_place, scale
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.conv = nn.Conv2d(4, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.relu = nn.ReLU(in_place)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        x = self.stem(x)
        y = self.norm(self.conv(fork(x, "0 conv")))
        if self.in_place:
            y += fork(x, "0 aten::add_")
        elif self.scale != 1:
            y = torch.add(y, fork(x, "0 aten::add"), alpha=self.scale)
        else:
            y = fork(x, "0 aten::add") + y
        return self.head(self.relu(y).mean((2, 3)))


class PreNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(8, 8)
        self.norm1, self.norm2 = nn.LayerNorm(8), nn.LayerNorm(8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))

    def forward(self, x):
        x = self.embed(x)
        h = self.norm1(fork(x, "0 norm1"))
        x = fork(x, "0 aten::add") + self.attention(h, h, h, need_weights=False)[0]
        return fork(x, "1 aten::add") + self.mlp(self.norm2(fork(x, "1 norm2")))


class Skip(nn.Module):
    """An encoder and a decoder."""

    def __init__(self):
        super().__init__()
        self.enter, self.down = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 8, 2, 2)
        self.up, self.last = nn.ConvTranspose2d(8, 4, 2, 2), nn.Conv2d(8, 1, 1)

    def forward(self, x):
        x = self.enter(x)
        y = self.up(self.down(fork(x, "0 down")))
        return self.last(torch.cat([fork(x, "0 aten::cat"), y], 1))


class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(8, 4)
        self.d = nn.Linear(12, 2)

    def forward(self, x):
        a = self.a(x)
        b = self.b(fork(a, "0 b"))
        c = self.c(torch.cat([fork(a, "0 aten::cat"), b], 1))
        return self.d(torch.cat([fork(a, "0 aten::cat 2"), b, c], 1))


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.unused = nn.Linear(4, 6), nn.Linear(6, 2)
        self.one, self.two = nn.Linear(6, 3), nn.Linear(6, 2)

    def forward(self, x):
        x = self.body(x).tanh()
        self.unused(x)
        return self.one(fork(x, "0 one")).sum() * 3 + self.two(fork(x, "0 two")).sum()


class Functional(nn.Module):
    """Only its last layer is a module: norms come from operations."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 6))
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        x = F.linear(x, self.weight)
        x = fork(x, "0 aten::add") + F.relu(fork(x, "0 aten::relu"))
        gate = torch.sigmoid(fork(x, "1 aten::mean").mean(0, keepdim=True))
        x = fork(x, "1 aten::mul") * gate
        return self.head(x)


CASES = {
    "residual": (Residual, (2, 3, 4, 4)),
    "in place": (lambda: Residual(in_place=True), (2, 3, 4, 4)),
    "scaled": (lambda: Residual(scale=0.25), (2, 3, 4, 4)),
    "pre-norm": (PreNorm, (2, 3, 8)),
    "skip": (Skip, (2, 3, 4, 4)),
    "dense": (Dense, (5, 4)),
    "heads": (Heads, (5, 4)),
    "functional": (Functional, (5, 6)),
}
# Without statistics of operations: slices of a cat's gradient, and the backward of
# operations outside of modules, are not measured.
NEED_STATS = {
    "skip": {"0 aten::cat"},
    "dense": {"0 aten::cat", "0 aten::cat 2"},
    "functional": {"0 aten::add", "0 aten::relu", "1 aten::mean", "1 aten::mul"},
}


def record(model, inputs, loss, ops):
    with torchoscope.record(model, ops=ops) as recording:
        loss(model(*inputs)).backward()
    return recording


def forks_of(graph):
    """The edges of each value that several nodes read, outputs aside."""
    groups = {}
    for edge in graph.edges:
        if graph.nodes[edge.target].kind != "output":
            groups.setdefault(edge.value, []).append(edge)
    forks = [groups[value] for value in sorted(groups)]
    return [edges for edges in forks if len({e.target for e in edges}) > 1]


def named(graph, edges):
    """{"conv": edge}; a second one of a name is "conv 2"."""
    found = {}
    for edge in sorted(edges, key=lambda edge: edge.target):
        name, number = graph.nodes[edge.target].name, 1
        while (key := name if number == 1 else f"{name} {number}") in found:
            number += 1
        found[key] = edge
    return found


def all_named(graph):
    """The edges of all forks: "0 conv" is an edge of the first one."""
    return {
        f"{number} {name}": edge
        for number, edges in enumerate(forks_of(graph))
        for name, edge in named(graph, edges).items()
    }


def close(a, b):
    return abs(a - b) <= EXACT * max(abs(a), abs(b)) + 1e-12


class SmallModels(unittest.TestCase):
    def compare(self, name, ops):
        make, shape = CASES[name]
        torch.manual_seed(1)
        model, x = make(), torch.randn(shape)
        fork.begin()
        model(x).square().sum().backward()
        wanted = fork.norms()
        model.zero_grad()
        recording = record(model, (x,), lambda y: y.square().sum(), ops)
        graph = recording.graph("modules")
        edges = all_named(graph)
        unknown = set()
        for reader, norm in wanted.items():
            l2 = edges[reader].gradient_l2
            if l2 is None:
                unknown.add(reader)
            else:
                self.assertTrue(close(l2, norm), (name, ops, reader, l2, norm))
        return unknown, graph

    def test_norms_are_those_of_torch(self):
        for name in CASES:
            with self.subTest(name, ops="stats"):
                self.assertEqual(self.compare(name, "stats")[0], set())
            with self.subTest(name, ops=True):
                self.assertEqual(
                    self.compare(name, True)[0], NEED_STATS.get(name, set())
                )

    def test_shares_of_a_fork_add_up_to_one(self):
        for name in CASES:
            graph = self.compare(name, "stats")[1]
            for edges in forks_of(graph):
                shares = [edge.gradient_share for edge in edges]
                if all(edge.gradient_l2 is None for edge in edges):
                    continue  # no gradient: an input
                with self.subTest(name, edges=edges):
                    self.assertNotIn(None, shares)
                    self.assertAlmostEqual(sum(shares), 1)

    def test_a_reader_without_gradient_has_zero(self):
        graph = self.compare("heads", True)[1]
        edges = all_named(graph)
        self.assertEqual(edges["0 unused"].gradient_l2, 0)
        self.assertEqual(edges["0 unused"].gradient_share, 0)

    def test_a_picture_has_shares_and_norms_beside_its_lines(self):
        torch.manual_seed(1)
        model, x = Residual(), torch.randn(2, 3, 4, 4)
        results = []
        hook = model.stem.register_forward_hook(lambda *call: results.append(call[2]))
        fork.begin()
        y = model(x)
        results[0].retain_grad()
        y.square().sum().backward()
        hook.remove()
        norms = fork.norms()
        main, skip = norms["0 conv"], norms["0 aten::add"]
        recording = record(model, (x,), lambda y: y.square().sum(), "stats")
        svg = recording.graph().svg
        share = 100 * skip / (main + skip)
        self.assertIn(f">skip {share:.0f}%<", svg)
        self.assertIn(f">{100 - share:.0f}%<", svg)
        self.assertNotIn(">grad ", svg)
        colored = recording.graph().picture("svg", color="grad")
        self.assertIn(f">grad {results[0].grad.norm().item():.4g}<", colored)

    def test_without_operations_calls_have_norms_but_no_shares(self):
        torch.manual_seed(1)
        model, x = Residual(), torch.randn(2, 3, 4, 4)
        recording = record(model, (x,), lambda y: y.square().sum(), False)
        graph = recording.graph("modules")
        self.assertFalse(graph.exact)
        names = {graph.nodes[edge.target].name: edge for edge in graph.edges}
        self.assertGreater(names["conv"].gradient_l2, 0)
        self.assertIsNone(names["conv"].gradient_share)

    def test_without_backward_all_shares_are_unknown(self):
        model = Residual()
        with torchoscope.record(model, ops="stats") as recording:
            model(torch.randn(2, 3, 4, 4))
        for level in ("ops", "modules"):
            for edge in recording.graph(level).edges:
                self.assertIsNone(edge.gradient_l2)
                self.assertIsNone(edge.gradient_share)

    def test_two_backwards_of_one_graph_are_not_added_up(self):
        torch.manual_seed(1)
        model, x = Residual(), torch.randn(2, 3, 4, 4)
        with torchoscope.record(model, ops="stats") as recording:
            y = model(x)
            y.sum().backward(retain_graph=True)
            y.square().sum().backward()
        graph = recording.graph("modules")
        edges = all_named(graph)
        for name in ("0 conv", "0 aten::add"):
            self.assertIsNone(edges[name].gradient_l2)

    def test_the_share_of_a_custom_function_is_unknown(self):
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2 + 1

            @staticmethod
            def backward(ctx, gradient):
                return gradient * 2 + gradient

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 2)

            def forward(self, x):
                x = self.a(x)
                return self.b(x + Twice.apply(x))

        graph = record(Net(), (torch.randn(3, 4),), torch.sum, "stats").graph("modules")
        (edges,) = forks_of(graph)
        for edge in edges:
            self.assertIsNone(edge.gradient_share)

    def test_a_recording_read_from_a_file_has_the_same_shares(self):
        torch.manual_seed(1)
        model, x = PreNorm(), torch.randn(2, 3, 8)
        recording = record(model, (x,), lambda y: y.square().sum(), "stats")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.scope")
            recording.save(path)
            again = torchoscope.open(path).graph("modules").json
        self.assertEqual(recording.graph("modules").json["edges"], again["edges"])


class PartOfEachReader:
    """The gradients of torch for the readers of tensors in a whole model. A module
    reads a
copy; the rest of the gradient went through other operations."""

    def __init__(self, model, wanted):
        self.found = {}  # name of the module -> (its argument, the copy)
        for name, module in model.named_modules():
            if wanted(name):
                module.register_forward_pre_hook(self.hook(name))

    def hook(self, name):
        def replace(module, args):
            copy = args[0] * 1
            copy.retain_grad()
            args[0].retain_grad()
            self.found[name] = args[0], copy
            return (copy, *args[1:])

        return replace

    def norms(self):
        for name, (whole, copy) in self.found.items():
            yield name, copy.grad.norm().item(), (whole.grad - copy.grad).norm().item()


class WholeModels(unittest.TestCase):
    """The residuals of a ResNet and a GPT-2: module and skip are known in both modes."""

    def run_model(self, name, wanted, ops, in_place):
        case = ARCHITECTURES[name]
        torch.manual_seed(3)
        model, inputs = case.make_model(in_place=in_place), case.make_inputs()
        model.train()
        state = torch.get_rng_state()
        with torchoscope.record(model, ops=ops) as recording:
            case.loss(model(*inputs), *inputs).backward()
        graph = recording.graph("modules")
        torch.manual_seed(3)
        twin = case.make_model(in_place=False)
        case.make_inputs()
        twin.train()
        torch.set_rng_state(state)
        parts = PartOfEachReader(twin, wanted)
        case.loss(twin(*inputs), *inputs).backward()
        return graph, list(parts.norms())

    def check(self, name, wanted, count, in_place=False):
        for ops in (True, "stats"):
            with self.subTest(name, ops=ops, in_place=in_place):
                graph, parts = self.run_model(name, wanted, ops, in_place)
                self.assertEqual(len(parts), count)
                forks = {
                    graph.nodes[edge.target].name: edges
                    for edges in forks_of(graph)
                    for edge in edges
                }
                for module, through, rest in parts:
                    self.compare(graph, forks[module], module, through, rest)

    def compare(self, graph, edges, module, through, rest):
        self.assertEqual(len(edges), 2)
        edges = named(graph, edges)
        main = edges.pop(module)
        (skip,) = edges.values()
        self.assertIsNotNone(main.gradient_l2, module)
        self.assertIsNotNone(skip.gradient_l2, module)
        self.assertTrue(close(main.gradient_l2, through), module)
        self.assertLess(abs(skip.gradient_l2 - rest), 3 * EXACT * rest, module)
        share = through / (through + rest)
        self.assertAlmostEqual(main.gradient_share, share, 4)
        self.assertAlmostEqual(skip.gradient_share, 1 - share, 4)

    def test_resnet(self):
        def wanted(name):
            return name.startswith("layer") and name.endswith(".conv1")

        for in_place in (False, True):
            self.check("resnet", wanted, 4, in_place)

    @unittest.skipUnless("gpt2" in ARCHITECTURES, "needs transformers")
    def test_gpt2(self):
        def wanted(name):
            return name.endswith(("ln_1", "ln_2"))

        self.check("gpt2", wanted, 4)


if __name__ == "__main__":
    unittest.main()
