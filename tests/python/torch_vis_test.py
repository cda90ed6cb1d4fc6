# flavours: both
"""torchoscope.compat.torch_vis: the examples of the document that describes torch_vis
run, with only the import line changed (seeds.py), and its graphs are what was
executed."""

import contextlib
import dataclasses
import enum
import importlib.util
import io
import json
import re
import typing
import unittest
from unittest import mock

import torch
from torch import nn

import seeds
import vision_models
from folder import TemporaryFolder
from torchoscope import _core, op_kinds
from torchoscope.compat import torch_vis
from torchoscope.compat.torch_vis import OperationType
from torchoscope.compat.torch_vis.places import Places

torch.set_num_threads(1)
HAS = {
    name: importlib.util.find_spec(name) is not None
    for name in ("plotly", "matplotlib")
}
HAS_OPS = op_kinds.why_not() is None
BACKWARD = ("backward", "gradient_op")


def autograd_size(results):
    """(nodes, edges) of autograd's graph: every node once."""
    roots = {one.grad_fn for one in results}
    seen, todo, edges = set(roots), list(roots), 0
    while todo:
        for node, _ in todo.pop().next_functions:
            if node is not None:
                edges += 1
                if node not in seen:
                    seen.add(node)
                    todo.append(node)
    return len(seen), edges


def mlp():
    return nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 1))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        y = self.first(x).mul(2)
        y += x
        return self.second(y.view(1, -1, 4).clone())


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * 2

    @staticmethod
    def backward(context, gradient):
        return gradient * 2


class Custom(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return Doubled.apply(self.layer(x))


def common(one, other):
    """The intersection of two boxes (x, y, w, h), or None."""
    left, top = max(one[0], other[0]), max(one[1], other[1])
    right = min(one[0] + one[2], other[0] + other[2])
    bottom = min(one[1] + one[3], other[1] + other[3])
    apart = left >= right or top >= bottom
    return None if apart else (left, top, right - left, bottom - top)


def track(model, given, **options):
    return torch_vis.track_computational_graph_execution(model, given, **options)


class Graphs(unittest.TestCase):
    def check(self, tracker, whole=True):
        """Checks that hold for every graph."""
        nodes = tracker.nodes
        self.assertEqual(len(nodes), len({node.id for node in nodes.values()}))
        for name, node in nodes.items():
            self.assertEqual(name, node.id)
            empty = [key for key, one in vars(node).items() if one is None]
            self.assertEqual(empty, [] if whole else empty, node)
        parents = {name: set() for name in nodes}
        children = {name: set() for name in nodes}
        for edge in tracker.edges:
            self.assertIsNotNone(edge.tensor_shape, edge)
            self.assertIsNotNone(edge.metadata, edge)
            children[edge.source_id].add(edge.target_id)
            parents[edge.target_id].add(edge.source_id)
        for name, node in nodes.items():
            self.assertEqual(sorted(node.parent_ids), sorted(parents[name]))
            self.assertEqual(sorted(node.child_ids), sorted(children[name]))

    def names(self, tracker, kind):
        found = tracker.nodes.values()
        return [node.name for node in found if node.operation_type.value == kind]

    def autograd_part(self, tracker):
        nodes = [n for n in tracker.nodes.values() if n.metadata["phase"] == "backward"]
        edges = [edge for edge in tracker.edges if edge.edge_type == "gradient_flow"]
        return len(nodes), len(edges)

    @unittest.skipUnless(HAS_OPS, "needs a torch that records operations")
    def test_the_graph_of_a_perceptron_has_its_calls_and_autograd_nodes(self):
        tracker = track(mlp(), torch.randn(1, 10, requires_grad=True))
        self.check(tracker)
        summary = tracker.get_graph_summary()
        counts = {"layer_op": 1, "forward": 3, "backward": 5, "gradient_op": 5}
        self.assertEqual(summary["operation_types"], counts)
        self.assertEqual(summary["total_nodes"], 14)
        self.assertEqual(self.autograd_part(tracker), (10, 9))
        self.assertEqual(
            self.names(tracker, "forward"), ["Forward: 0", "Forward: 1", "Forward: 2"]
        )
        self.assertIn("AccumulateGrad: 2.bias", self.names(tracker, "gradient_op"))
        linear = tracker.nodes[next(n for n in tracker.nodes if "forward_2" in n)]
        self.assertEqual(linear.input_shapes, [(1, 20)])
        self.assertEqual(linear.output_shapes, [(1, 1)])
        self.assertEqual(
            linear.parameters, {"count": 21, "weight": (1, 20), "bias": (1,)}
        )
        self.assertEqual(linear.memory_usage, 4)
        self.assertEqual(linear.metadata["module_type"], "Linear")
        modules = {n.name: n.module_name for n in tracker.nodes.values()}
        self.assertEqual(modules["ReluBackward0"], "1")
        summed = sum(
            n.memory_usage
            for n in tracker.nodes.values()
            if n.operation_type is not OperationType.LAYER_OP
        )
        self.assertEqual(summary["memory_usage"], summed)

    def test_autograd_has_the_nodes_and_edges_of_an_independent_walk(self):
        known = {
            "alexnet": (42, 41),
            "resnet18": (133, 140),
            "resnet50": (338, 353),
            "densenet121": (797, 1331),
        }
        for name, size in known.items():
            with self.subTest(name):
                model = getattr(vision_models, name)()
                side = 224 if name == "alexnet" else 64
                x = torch.randn(2, 3, side, side, requires_grad=True)
                tracker = track(model, x)
                self.check(tracker, whole=HAS_OPS)
                truth = autograd_size([model(x)])
                self.assertEqual(self.autograd_part(tracker), truth)
                self.assertEqual(truth, size)

    @unittest.skipUnless(HAS_OPS, "needs a torch that records operations")
    def test_operations_between_modules_have_nodes_and_edges(self):
        tracker = track(Residual(), torch.randn(3, 4))
        self.check(tracker)
        self.assertEqual(self.names(tracker, "tensor_op"), ["Tensor mul", "Tensor add"])
        self.assertEqual(
            self.names(tracker, "memory_op"), ["Memory view", "Memory clone"]
        )
        nodes = {node.name: node for node in tracker.nodes.values()}
        flow = {
            (tracker.nodes[e.source_id].name, tracker.nodes[e.target_id].name)
            for e in tracker.edges
            if e.edge_type == "data_flow"
        }
        chain = ["Forward: first", "Tensor mul", "Tensor add", "Memory view"]
        chain += ["Memory clone", "Forward: second"]
        self.assertEqual(flow, set(zip(chain, chain[1:])))
        self.assertIn(nodes["AddBackward0"].id, nodes["Tensor add"].child_ids)
        self.assertEqual(nodes["Tensor add"].parameters, {"alpha": 1})
        self.assertEqual(nodes["Tensor add"].input_shapes, [(3, 4), (3, 4)])

    @unittest.skipUnless(HAS_OPS, "needs a torch that records operations")
    def test_functions_of_the_user_are_custom(self):
        tracker = track(Custom(), torch.randn(3, 4))
        self.check(tracker)
        self.assertEqual(self.names(tracker, "custom"), ["DoubledBackward"])
        self.assertEqual(self.names(tracker, "tensor_op"), ["Tensor mul"])

    def test_a_backward_is_run_though_the_input_needs_no_gradient(self):
        model, x = mlp(), torch.randn(1, 10)
        tracker = track(model, x)
        self.assertEqual(self.autograd_part(tracker), autograd_size([model(x)]))

    def test_the_model_and_the_input_are_unchanged(self):
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout())
        x = torch.randn(2, 3, 8, 8, requires_grad=True)
        model(x).sum().backward()
        before = {n: one.clone() for n, one in model.state_dict().items()}
        grads = [one.grad.clone() for one in (*model.parameters(), x)]
        state = torch.random.get_rng_state()
        track(model, x)
        self.assertTrue(torch.equal(state, torch.random.get_rng_state()))
        for name, one in model.state_dict().items():
            self.assertTrue(torch.equal(one, before[name]), name)
        for one, grad in zip((*model.parameters(), x), grads):
            self.assertTrue(torch.equal(one.grad, grad))
        self.assertFalse(model._forward_hooks)

    def test_untracked_figures_are_none_and_cost_less(self):
        model, x = vision_models.resnet18(), torch.randn(1, 3, 64, 64)
        bare = track(model, x, track_memory=False, track_timing=False)
        for node in bare.nodes.values():
            self.assertIsNone(node.execution_time)
            self.assertIsNone(node.timestamp)
            self.assertIsNone(node.memory_usage)
        self.assertIsNone(bare.get_graph_summary()["execution_time"])
        self.assertIsNone(bare.get_graph_summary()["memory_usage"])
        few = track(model, x, track_tensor_ops=False)
        self.assertEqual(self.names(few, "tensor_op"), [])
        self.assertIsNone(few.recording._now().n_ops)  # operations were not recorded
        self.check(few, whole=False)
        self.assertEqual(self.autograd_part(few), autograd_size([model(x)]))
        self.assertGreater(few.get_graph_summary()["execution_time"], 0)

    def test_several_arguments_and_keywords(self):
        model = nn.Bilinear(3, 4, 2)
        for given in (
            (torch.randn(2, 3), torch.randn(2, 4)),
            {"input1": torch.randn(2, 3), "input2": torch.randn(2, 4)},
        ):
            tracker = track(model, given)
            self.assertEqual(
                tracker.get_graph_summary()["operation_types"]["forward"], 1
            )

    def test_a_chain_of_thousands_of_layers_works(self):
        model = nn.Sequential(*(nn.Tanh() for _ in range(3000)))
        x = torch.randn(2, requires_grad=True)
        tracker = track(model, x)
        self.assertEqual(self.autograd_part(tracker), (3001, 3000))
        self.assertEqual(len(self.names(tracker, "forward")), 3000)

    def test_two_backwards_of_manual_tracking_are_added_up(self):
        model, x = mlp(), torch.randn(1, 10)
        tracker = torch_vis.ComputationalGraphTracker(model)
        self.assertRaisesRegex(
            RuntimeError, "start_tracking", tracker.get_graph_summary
        )
        tracker.start_tracking()
        loss = model(x).sum()
        loss.backward(retain_graph=True)
        during = self.autograd_part(tracker)
        loss.backward()
        tracker.stop_tracking()
        self.assertEqual(self.autograd_part(tracker), during)
        runs = [
            n.metadata["runs"] for n in tracker.nodes.values() if "runs" in n.metadata
        ]
        # An old torch does not report the accumulation of gradients.
        self.assertEqual({one for one in runs if one or HAS_OPS}, {2})
        first = tracker.get_graph_summary()
        self.assertEqual(first, tracker.get_graph_summary())  # it has stopped

    def test_a_model_that_raises_stops_the_tracking(self):
        model = mlp()
        with self.assertRaises(RuntimeError):
            track(model, torch.randn(1, 3))
        self.assertFalse(model._forward_hooks)


class Answers(TemporaryFolder):
    def setUp(self):
        super().setUp()
        self.model, self.x = mlp(), torch.randn(1, 10, requires_grad=True)

    def test_the_analysis_has_all_keys_of_the_document(self):
        analyze = torch_vis.analyze_computational_graph_execution
        analysis = analyze(self.model, self.x)
        summary, performance = analysis["summary"], analysis["performance"]
        self.assertEqual(performance["total_execution_time"], summary["execution_time"])
        self.assertEqual(performance["memory_usage"], summary["memory_usage"])
        speed = summary["total_nodes"] / summary["execution_time"]
        self.assertAlmostEqual(performance["operations_per_second"], speed)
        layers = analysis["layer_analysis"]
        self.assertLessEqual({"(root)", "0", "1", "2"}, set(layers))
        first = layers["0"][0]
        self.assertEqual(first["operation_type"], "forward")
        self.assertEqual(first["output_shapes"], [(1, 20)])
        few = analyze(self.model, self.x, detailed=False)
        self.assertEqual(set(few), {"summary", "graph_data"})
        self.assertIsNone(few["graph_data"])

    def test_the_file_has_the_same_graph(self):
        path = self.folder / "graph.json"
        made = torch_vis.export_computational_graph(self.model, self.x, str(path))
        self.assertEqual(made, str(path))
        data = json.loads(path.read_text())
        self.assertEqual(set(data), {"nodes", "edges", "summary"})
        self.assertEqual(len(data["nodes"]), data["summary"]["total_nodes"])
        self.assertEqual(len(data["edges"]), data["summary"]["total_edges"])
        ids = {node["id"] for node in data["nodes"]}
        for edge in data["edges"]:
            self.assertLessEqual({edge["source_id"], edge["target_id"]}, ids)
        kinds = {node["operation_type"] for node in data["nodes"]}
        self.assertLessEqual(kinds, {one.value for one in OperationType})
        with self.assertRaisesRegex(ValueError, "json"):
            torch_vis.export_computational_graph(self.model, self.x, path, "xml")

    def test_a_missing_renderer_gives_a_clear_error(self):
        for name in HAS:
            with mock.patch.dict("sys.modules", {name: None}):
                with self.assertRaisesRegex(ImportError, f"pip install {name}"):
                    torch_vis.visualize_computational_graph(self.model, self.x, name)
        with self.assertRaisesRegex(ValueError, "graphviz"):
            torch_vis.visualize_computational_graph(self.model, self.x, "graphviz")

    def test_boxes_lie_apart_and_lines_join_them(self):
        for model, x in (
            (mlp(), torch.randn(1, 10)),
            (Residual(), torch.randn(2, 4)),
            (vision_models.resnet18(), torch.randn(1, 3, 64, 64)),
        ):
            with self.subTest(type(model).__name__):
                tracker = track(model, x)
                self.check_places(tracker, Places(tracker.nodes, tracker.edges))

    def test_invalid_graphs_are_refused_by_the_layout(self):
        box = (-1, 80, 24)
        for boxes, edges, error in (
            ([(-1, 0, 24)], [], ValueError),
            ([(0, 80, 24)], [], ValueError),
            ([box, box], [(0, 2)], ValueError),
            ([box, box], [(0, -1)], ValueError),
            ([box, (0, 80, 24), box], [(0, 2)], ValueError),  # a frame has no lines
            ([80], [], TypeError),
            ([box], [0], TypeError),
            ((box,), [], TypeError),
        ):
            with self.assertRaises(error):
                _core._arrange(boxes, edges)
        self.assertEqual(_core._arrange([], [])[2:], ([], []))

    def check_places(self, tracker, at):
        self.assertEqual(set(at.boxes), set(tracker.nodes))
        for x, y, w, h in at.boxes.values():
            self.assertTrue(0 <= x <= x + w <= at.width, (x, w, at.width))
            self.assertTrue(0 <= y <= y + h <= at.height, (y, h, at.height))
        calls = [edge for edge in tracker.edges if edge.edge_type == "call"]
        for edge in calls:  # a layer is a frame around what it calls
            outer, inner = at.boxes[edge.source_id], at.boxes[edge.target_id]
            self.assertEqual(common(outer, inner), inner)
        leaves = [box for name, box in at.boxes.items() if name not in at.frames]
        for i, one in enumerate(leaves):
            for other in leaves[:i]:
                self.assertIsNone(common(one, other))
        self.assertEqual(len(at.lines) + len(calls), len(tracker.edges))
        for edge, line in at.lines:
            for (x0, y0), (x1, y1) in zip(line, line[1:]):
                self.assertTrue(x0 == x1 or y0 == y1, line)
            for name, (x, y) in ((edge.source_id, line[0]), (edge.target_id, line[-1])):
                left, top, w, h = at.boxes[name]
                self.assertIn(True, (x in (left, left + w), y in (top, top + h)))
                self.assertTrue(left <= x <= left + w and top <= y <= top + h)
            if edge.edge_type == "data_flow" and HAS_OPS:
                self.assertGreater(line[-1][1], line[0][1])  # down
            if edge.edge_type == "gradient_flow":
                self.assertLess(line[-1][1], line[0][1])  # up

    @unittest.skipUnless(HAS["plotly"], "needs plotly")
    def test_plotly_shows_every_node(self):
        tracker = track(self.model, self.x)
        figure = tracker.visualize_graph("plotly")
        shown = [name for one in figure.data if one.text for name in one.text]
        self.assertCountEqual(shown, [node.name for node in tracker.nodes.values()])

    @unittest.skipUnless(HAS["matplotlib"], "needs matplotlib")
    def test_matplotlib_draws_into_the_current_figure(self):
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        visualize = torch_vis.visualize_computational_graph
        figure = visualize(self.model, self.x, "matplotlib")
        self.addCleanup(plt.close, "all")
        self.assertIs(plt.gcf(), figure)
        kinds = {kind.value for kind in OperationType}
        drawn = figure.axes[0].collections
        boxes = sum(len(c.get_paths()) for c in drawn if c.get_label() in kinds)
        nodes = track(self.model, self.x).nodes
        self.assertEqual(boxes, len(nodes))
        shown = [text.get_text() for text in figure.axes[0].texts]
        self.assertCountEqual(shown, [node.name for node in nodes.values()])


# --- the examples


class Examples(TemporaryFolder):
    """Blocks of the document, in order; each sees the names of those before it."""

    def setUp(self):
        super().setUp()
        self.names = {"__name__": "example", **vars(torch_vis), **vars(typing)}
        self.names.update(dataclass=dataclasses.dataclass, Enum=enum.Enum)

    def run_block(self, code):
        """Its output. Without plotly or matplotlib, an example that draws ends with the
        error that says so."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.chdir(self.folder):
            try:
                exec(code, self.names)
            except ImportError as error:
                missing = [name for name, there in HAS.items() if not there]
                self.assertIn(error.name.partition(".")[0], missing)
        return printed.getvalue()

    def test_all_of_them_run_and_print_true_values(self):
        if HAS["matplotlib"]:
            import matplotlib

            matplotlib.use("Agg")
        shows = contextlib.ExitStack()
        self.addCleanup(shows.close)
        if HAS["plotly"]:
            shows.enter_context(mock.patch("plotly.graph_objects.Figure.show"))
        found = [one for one in seeds.blocks(seeds.copy("002")) if one[1] == "python"]
        self.assertGreater(len(found), 13)
        outputs = {}
        for heading, _, code in found:
            if heading in ("GraphNode", "GraphEdge", "OperationType"):
                self.same_definition(heading, code)
            elif code.startswith("# Wrap your existing training loop"):
                self.train(code)
            else:
                outputs[heading] = self.run_block(code)
        self.values_are_true(outputs)

    def values_are_true(self, outputs):
        model, x = self.names["model"], self.names["input_tensor"]
        nodes, edges = autograd_size([model(x)])
        total = 1 + 3 + nodes  # the Sequential, its layers, autograd
        text = outputs["Quick Start"]
        self.assertIn(f"Total operations: {total}\n", text)
        self.assertRegex(text, r"Execution time: \d\.\d{4}s")
        text = next(one for name, one in outputs.items() if "`track_" in name)
        flow = edges + 2 + 3  # gradients, data between layers, calls
        self.assertIn(f"Operations: {total}\nNodes: {total}\nEdges: ", text)
        got = int(re.search(r"Edges: (\d+)", text)[1])
        owners = 5 if HAS_OPS else 0  # of backward nodes
        self.assertEqual(got, flow + owners)
        text = next(one for name, one in outputs.items() if "`analyze_" in name)
        self.assertIn(f"Total operations: {total}\n", text)
        self.assertRegex(text, r"Operations per second: \d+\.\d\d\n")
        self.assertIn("0: 6 operations\n" if HAS_OPS else "(root): ", text)
        text = next(one for name, one in outputs.items() if "`export_" in name)
        self.assertIn("Graph exported to: graph.json\n", text)
        self.assertIn(f"Nodes: {total}\n", text)
        text = outputs["Performance Analysis"]
        self.assertIn("  - forward: [(1, 10)] -> [(1, 20)]\n", text)
        summary = self.names["summary"]  # of manual tracking
        self.assertGreaterEqual(summary["total_nodes"], total)

    def same_definition(self, name, code):
        """The document's class and ours have the same members."""
        scope = dict(self.names)
        exec(code, scope)
        shown, ours = scope[name], getattr(torch_vis, name)
        if name == "OperationType":
            self.assertEqual(
                {o.name: o.value for o in shown}, {o.name: o.value for o in ours}
            )
            return

        def fields(kind):
            return [
                (one.name, one.type, one.default) for one in dataclasses.fields(kind)
            ]

        expected = [(n, _ours(kind), default) for n, kind, default in fields(shown)]
        self.assertEqual(expected, fields(ours))

    def train(self, code):
        model = mlp()
        data = [(torch.randn(2, 10), torch.randn(2, 1)) for _ in range(3)]
        options = {
            "optimizer": torch.optim.SGD(model.parameters(), 0.1),
            "criterion": nn.MSELoss(),
        }
        self.names.update(options)
        self.run_block(code)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.names["train_with_tracking"](model, data, 2)
        nodes, _ = autograd_size([model(data[0][0])])
        lines = [f"Epoch {epoch}: {4 + nodes} operations" for epoch in range(2)]
        self.assertEqual(printed.getvalue().splitlines(), lines)


def _ours(kind):
    """The document's class replaces torchoscope's."""
    return OperationType if getattr(kind, "__name__", "") == "OperationType" else kind


if __name__ == "__main__":
    unittest.main()
