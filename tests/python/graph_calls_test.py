# flavours: both
"""The graph of a run without operations, as torch 1.13 records it: its lines are values
that one call returned and another took."""

import tempfile
import unittest
from pathlib import Path

import torch
from torch import nn

import torchoscope

torch.set_num_threads(1)


class Block(nn.Module):
    """first -> second, a view of its result -> third; no module returns the sum."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = (nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        y = self.second(self.first(x))
        return self.third(y.view(-1, 4)) + x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block, self.head = Block(), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.block(x))


def lines(graph):
    """{(from, to)} by the names of modules, inputs and outputs."""
    nodes = {node.id: node for node in graph.nodes}
    return {tuple(nodes[at].name for at in (edge.source, edge.target)) for edge in graph.edges}


KNOWN = {("x", "block.first"), ("block.first", "block.second"), ("block.second", "block.third"),
         ("head", "")}


class Graph(unittest.TestCase):
    def check(self, recording):
        graph = recording.graph()
        self.assertFalse(graph.exact)
        self.assertEqual(lines(graph), KNOWN)
        with tempfile.TemporaryDirectory() as folder:
            graph.save(Path(folder) / "graph.html")
            text = (Path(folder) / "graph.html").read_text(encoding="utf-8")
        self.assertIn("so some may be missing: this recording has no operations", text)

    def test_a_recording(self):
        net = Net()
        with torchoscope.record(net) as recording:
            net(torch.randn(3, 4))
        self.check(recording)

    def test_a_training_without_logging(self):
        with tempfile.TemporaryDirectory() as folder:
            net = Net()
            with torchoscope.watch(net, dir=folder, log=[], log_freq=1, on_alarm=None) as handle:
                for _ in range(3):
                    net(torch.randn(3, 4)).sum().backward()
            run = torchoscope.open(Path(handle.path))
            graph = run.graph()
            if graph.exact:  # operations of the first step were recorded
                self.assertLessEqual(KNOWN, lines(graph))
            else:
                self.check(run)


if __name__ == "__main__":
    unittest.main()
