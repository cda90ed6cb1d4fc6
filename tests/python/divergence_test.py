# flavours: both
"""Two recordings: the first differing result is found where it was planted."""

import copy
import json
import tempfile
import unittest
from pathlib import Path

import scope  # first: it knows where the program is
import torch
from torch import nn

import torchoscope
from torchoscope import op_kinds


class Block(nn.Module):
    def __init__(self, size, act):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.up = nn.Linear(size, 2 * size)
        self.act = act
        self.down = nn.Linear(2 * size, size)

    def forward(self, x):
        return x + self.down(self.act(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, depth=4, size=16):
        super().__init__()
        self.embed = nn.Linear(8, size)
        self.blocks = nn.Sequential(*(Block(size, nn.ReLU()) for _ in range(depth)))
        self.head = nn.Linear(size, 5)

    def forward(self, x):
        return self.head(self.blocks(self.embed(x)))


class Ported(nn.Module):
    """A port by another author: other names, classes and nesting."""

    class Layer(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.ln = nn.LayerNorm(size)
            self.mlp = nn.Sequential(
                nn.Linear(size, 2 * size), nn.ReLU(), nn.Linear(2 * size, size)
            )

        def forward(self, hidden):
            return hidden + self.mlp(self.ln(hidden))

    def __init__(self, net):
        super().__init__()
        size = net.head.in_features
        self.stem = copy.deepcopy(net.embed)
        self.encoder = nn.ModuleList(self.Layer(size) for _ in net.blocks)
        self.classifier = copy.deepcopy(net.head)
        for mine, theirs in zip(self.encoder, net.blocks):
            mine.ln.load_state_dict(theirs.norm.state_dict())
            mine.mlp[0].load_state_dict(theirs.up.state_dict())
            mine.mlp[2].load_state_dict(theirs.down.state_dict())

    def forward(self, images):
        hidden = self.stem(images)
        for layer in self.encoder:
            hidden = layer(hidden)
        return self.classifier(hidden)


def run(model, x, backward=False, calls=1, **wanted):
    """A recording of `calls` passes."""
    with torchoscope.record(model, **wanted) as recording:
        for _ in range(calls):
            y = model(x)
            if backward:
                y.float().sum().backward()
    return recording


class Base(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.net = Net()
        self.x = torch.randn(6, 8)

    def other(self, change):
        """A copy of the net after change(copy)."""
        net = copy.deepcopy(self.net)
        change(net)
        return net

    def compare(self, other, tolerance=None, x=None, **wanted):
        left = run(self.net, self.x, **wanted)
        right = run(other, self.x if x is None else x, **wanted)
        return torchoscope.diff(left, right, tolerance=tolerance)

    def assert_begins(self, found, name):
        self.assertFalse(found.equal)
        self.assertEqual(found.first.name, name, str(found))
        self.assertTrue(found.first.begins, str(found))
        self.assertIn("the error begins here", str(found))
        # The modules around it are not reported as well.
        self.assertFalse([one for one in found.later if one.begins], str(found))


class Divergence(Base):
    def test_a_model_agrees_with_itself(self):
        found = self.compare(copy.deepcopy(self.net), backward=True)
        self.assertTrue(found.equal)
        self.assertIsNone(found.first)
        self.assertEqual(found.later, [])
        self.assertTrue(found.results)
        self.assertTrue(all(result.distance == 0 for result in found.results))
        whats = {result.what for result in found.results}
        self.assertEqual(whats, {"input", "module", "gradient", "parameter"})
        self.assertIn("results agree", str(found))

    def test_a_swapped_activation_is_found(self):
        def swap(net):
            net.blocks[2].act = nn.GELU()

        found = self.compare(self.other(swap))
        self.assert_begins(found, "blocks.2.act")
        self.assertEqual(found.first.left["class"], "ReLU")
        self.assertEqual(found.first.right["class"], "GELU")
        self.assertEqual(found.first.inputs_distance, 0)
        self.assertEqual([one.name for one in found.first.inputs], ["input"])
        later = {one.name for one in found.later}
        self.assertIn("blocks.2.down", later)
        self.assertNotIn("blocks.1.down", later)
        distances = [one.distance for one in found.later]
        self.assertEqual(distances, sorted(distances, reverse=True))

    def test_a_wrong_eps_is_found(self):
        def change(net):
            net.blocks[1].norm.eps = 1e-3

        self.assert_begins(self.compare(self.other(change)), "blocks.1.norm")

    def test_a_changed_weight_is_found(self):
        def change(net):
            net.blocks[3].up.weight.data[0, 0] += 0.5

        found = self.compare(self.other(change))
        self.assert_begins(found, "blocks.3.up")
        self.assertEqual(found.first.inputs_distance, 0)
        self.assertGreater(found.first.parameters_distance, 0)
        self.assertIn("its parameters do not", str(found))

    def test_a_larger_tolerance_finds_the_second_error(self):
        def change(net):
            net.embed.weight.data *= 1 + 1e-3
            net.blocks[3].act = nn.Tanh()

        self.assert_begins(self.compare(self.other(change)), "embed")
        # The tolerance hides the first one.
        found = self.compare(self.other(change), tolerance=0.02)
        self.assert_begins(found, "blocks.3.act")

    def test_an_error_between_the_modules_is_found(self):
        class Doubled(Block):
            def forward(self, x):
                return super().forward(x) * 1.01

        def change(net):
            doubled = Doubled(16, nn.ReLU())
            doubled.load_state_dict(net.blocks[1].state_dict())
            net.blocks[1] = doubled

        found = self.compare(self.other(change))
        self.assertEqual((found.first.name, found.first.begins), ("blocks.1", True))
        self.assertIn("the error begins in its own code", str(found))

    def test_the_tolerance_is_an_option(self):
        def change(net):
            net.blocks[1].norm.eps = 1e-3

        self.assertTrue(self.compare(self.other(change), tolerance=0.5).equal)
        with self.assertRaises(ValueError):
            self.compare(self.net, tolerance=-1)

    def test_different_inputs_are_reported(self):
        found = self.compare(self.net, x=torch.randn(6, 8))
        self.assertEqual(found.first.what, "input")
        self.assertIn("different inputs", str(found))

    def test_another_batch_size_is_a_shape_difference(self):
        found = self.compare(self.net, x=torch.randn(3, 8))
        self.assertEqual((found.first.what, found.first.by), ("input", "shape"))
        self.assertEqual(found.first.distance, float("inf"))

    def test_kept_elements_show_differences_that_statistics_miss(self):
        class Flipped(nn.Linear):
            def forward(self, x):
                return super().forward(x).flip(0)

        def flip(net):
            flipped = Flipped(16, 5)
            flipped.load_state_dict(net.head.state_dict())
            net.head = flipped

        # Equal numbers in another order.
        self.assertTrue(self.compare(self.other(flip)).equal)
        found = self.compare(self.other(flip), keep="*")
        self.assert_begins(found, "head")
        self.assertEqual(found.first.by, "elements")
        self.assertGreater(found.first.rms, 0)
        self.assertGreaterEqual(found.first.max_abs, found.first.rms)

    def test_the_numbers_are_those_of_torch(self):
        def change(net):
            net.head.bias.data[2] += 0.25

        other = self.other(change)
        found = self.compare(other, keep="*")
        a, b = self.net(self.x).double(), other(self.x).double()
        rms = max(a.pow(2).mean().sqrt(), b.pow(2).mean().sqrt()).item()
        typical = (a - b).pow(2).mean().sqrt().item()
        largest = (a - b).abs().max().item()
        first = found.first
        self.assertAlmostEqual(first.rms, typical, places=6)
        self.assertAlmostEqual(first.max_abs, largest, places=6)
        self.assertAlmostEqual(first.max_rel, largest / rms, places=6)
        self.assertAlmostEqual(
            first.distance, max(typical, largest / 16) / rms, places=6
        )

    def test_nan_is_found(self):
        def spoil(net):
            net.blocks[2].down.bias.data[3] = float("nan")

        found = self.compare(self.other(spoil))
        self.assert_begins(found, "blocks.2.down")
        self.assertTrue(found.first.not_finite)
        self.assertEqual(found.first.distance, float("inf"))
        self.assertEqual((found.first.left.nan, found.first.right.nan), (0, 6))

    def test_a_wrong_backward_is_found(self):
        class Wrong(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.relu()

            @staticmethod
            def backward(ctx, gradient):
                (x,) = ctx.saved_tensors
                return gradient * (x > 0.2)

        class Act(nn.Module):
            def forward(self, x):
                return Wrong.apply(x)

        def swap(net):
            net.blocks[1].act = Act()

        found = self.compare(self.other(swap), backward=True)
        self.assertEqual((found.first.what, found.first.phase), ("gradient", "backward"))
        self.assert_begins(found, "blocks.1.act")

    def test_extra_calls_on_one_side_are_counted(self):
        left, right = run(self.net, self.x), run(self.net, self.x, calls=3)
        found = torchoscope.diff(left, right)
        self.assertTrue(found.equal)
        calls = found.json["results"]["calls"]
        self.assertEqual(calls["right"], 3 * calls["left"])
        self.assertEqual(calls["pairs"], calls["left"])

    def test_a_later_call_is_the_first_that_differs(self):
        x = self.x

        def record(third):
            with torchoscope.record(self.net) as recording:
                for batch in (x, x + 1, third):
                    self.net(batch)
            return recording

        found = torchoscope.diff(record(x), record(x * 2))
        self.assertEqual((found.first.what, found.first.left.call), ("input", 2))

    def test_models_without_a_run_cannot_be_compared(self):
        found = torchoscope.diff(self.net, self.net)
        self.assertNotIn("results", found.json)
        with self.assertRaises(ValueError):
            found.first
        found = torchoscope.diff(
            run(self.net, self.x), run(self.net, self.x), structure=True
        )
        self.assertNotIn("results", found.json)


class Precision(Base):
    """bfloat16 against float32."""

    def half(self, net):
        return copy.deepcopy(net).to(torch.bfloat16)

    def test_bfloat16_agrees_with_float32(self):
        found = self.compare(self.half(self.net), x=self.x.bfloat16())
        self.assertTrue(found.equal, str(found))
        self.assertGreater(found.json["results"]["closest"], 1e-4)
        self.assertEqual({one.tolerance for one in found.results}, {1e-2})
        found = self.compare(self.half(self.net), x=self.x.bfloat16(), tolerance=1e-6)
        self.assertFalse(found.equal)

    @unittest.skipIf(op_kinds.why_not(), "needs a torch that records operations")
    def test_statistics_saved_by_a_norm_are_not_compared(self):
        x = torch.randn(4, 64)
        x -= x.mean(1, keepdim=True)  # the mean of each row is rounding
        net = nn.Sequential(nn.LayerNorm(64), nn.LayerNorm(64))
        left = run(net, x, ops="stats")
        right = run(self.half(net), x.bfloat16(), ops="stats")
        found = torchoscope.diff(left, right)
        self.assertTrue(found.equal, str(found))

    def test_an_error_in_bfloat16_is_found(self):
        def swap(net):
            net.blocks[2].act = nn.GELU()

        other = self.half(self.other(swap))
        found = self.compare(other, x=self.x.bfloat16())
        self.assert_begins(found, "blocks.2.act")


class Port(Base):
    """A model by another author."""

    def test_a_correct_port_agrees(self):
        found = self.compare(Ported(self.net))
        self.assertTrue(found.equal, str(found))
        calls = found.json["results"]["calls"]
        # The net's Sequential is a ModuleList there; their Sequential is new.
        self.assertEqual(calls["left"] - calls["pairs"], 1, str(found))
        self.assertGreater(calls["renamed"] + calls["by_order"], 15)

    def test_an_error_of_a_port_is_found(self):
        port = Ported(self.net)
        port.encoder[2].mlp[1] = nn.GELU()
        found = self.compare(port)
        self.assert_begins(found, "blocks.2.act")
        self.assertEqual(found.first.right.name, "encoder.2.mlp.1")

    def test_a_compiled_model_is_compared(self):
        if not hasattr(torch, "compile") or torch.__version__ < "2.2":
            self.skipTest("this torch does not compile")
        compiled = torch.compile(copy.deepcopy(self.net), backend="aot_eager")
        try:
            compiled(self.x)
        except Exception as error:
            self.skipTest(f"torch.compile() does not work here: {error}")
        found = self.compare(compiled)
        self.assertTrue(found.equal, str(found))
        names = [one.name for one in found.results]
        self.assertIn("", names)  # at least its result

        def swap(net):
            net.blocks[2].act = nn.GELU()

        compiled = torch.compile(self.other(swap), backend="aot_eager")
        compiled(self.x)
        self.assertFalse(self.compare(compiled).equal)


class Attention(nn.Module):
    """Operations outside of modules."""

    def __init__(self, act=torch.relu, scale=1.0):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(8, 8) for _ in range(3))
        self.norm, self.out = nn.LayerNorm(8), nn.Linear(8, 4)
        self.act, self.scale = act, scale

    def attend(self, q, k, v):
        return (q @ k.transpose(-1, -2) / 8**0.5).softmax(-1) @ v

    def forward(self, x):
        mixed = self.attend(self.q(x), self.k(x), self.v(x))
        return self.out(self.act(self.norm(x + self.scale * mixed)))


class Reordered(Attention):
    """Other modules first, other operations."""

    def forward(self, x):
        v, k = self.v(x), self.k(x)
        mixed = self.attend(self.q(x), k, v)
        hidden = torch.add(self.scale * mixed, x).clone()
        return self.out(self.act(self.norm(hidden)))


@unittest.skipIf(torch.__version__.startswith("1."), "operations need a newer torch")
class Operations(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.net, self.x = Attention(), torch.randn(2, 5, 8)

    def compare(self, other, ops="stats", **wanted):
        other.load_state_dict(self.net.state_dict())
        recordings = []
        for model in (self.net, other):
            model.zero_grad(set_to_none=True)
            recordings.append(run(model, self.x, ops=ops, **wanted))
        return torchoscope.diff(*recordings)

    def assert_begins(self, found, op, text):
        self.assertFalse(found.equal)
        first = found.first
        self.assertEqual((first.what, first.op), ("op", op), str(found))
        self.assertTrue(first.begins, str(found))
        number = 1 + [text in line for line in LINES].index(True)
        self.assertEqual(first.line, f"divergence_test.py:{number}")

    def test_equal_models_agree(self):
        found = self.compare(Attention(), backward=True)
        self.assertTrue(found.equal, str(found))
        ops = found.json["results"]["operations"]
        self.assertEqual(ops["pairs"], ops["left"])
        self.assertEqual(ops["by_flow"], ops["left"])
        phases = {one.phase for one in found.results if one.what == "op"}
        self.assertEqual(phases, {"forward", "backward"})

    def test_another_order_of_modules_and_operations_agrees(self):
        found = self.compare(Reordered(), backward=True)
        self.assertTrue(found.equal, str(found))
        ops = found.json["results"]["operations"]
        self.assertIn("aten::clone", [one["op"] for one in ops["only_right"]])
        self.assertGreater(ops["pairs"], 0.9 * ops["left"])

    def test_an_error_in_a_function_outside_of_modules_is_found(self):
        for kind in (Attention, Reordered):
            found = self.compare(kind(act=nn.functional.gelu), backward=True)
            self.assert_begins(found, "aten::relu", "x + self.scale * mixed")
            self.assertEqual(found.first.right.op, "aten::gelu")
            self.assertEqual([one.distance for one in found.first.inputs], [0])

    def test_a_wrong_factor_is_found(self):
        found = self.compare(Attention(scale=1.01))
        self.assert_begins(found, "aten::mul", "x + self.scale * mixed")

    def test_attributes_that_differ_are_named(self):
        other = Attention()
        other.norm.eps = 1e-3
        found = self.compare(other)
        self.assertEqual((found.first.op, found.first.name), (NORM, "norm"))
        eps = {"name": "eps", "left": "1e-05", "right": "0.001"}
        self.assertEqual(found.first.attributes, [eps])
        self.assertIn("attributes  eps 1e-05 → 0.001\n", str(found))

    def test_a_fused_operation_is_compared_with_the_formula(self):
        class Formula(nn.Module):
            def forward(self, x):
                inner = 0.7978845608 * (x + 0.044715 * x**3)
                return 0.5 * x * (1 + torch.tanh(inner))

        self.net.act = Formula()
        found = self.compare(Attention(act=nn.GELU("tanh")))
        self.assertTrue(found.equal, str(found))
        found = self.compare(Attention(act=nn.GELU()))
        self.assertEqual((found.first.what, found.first.name), ("module", "act"))
        self.assertTrue(found.first.begins, str(found))
        self.assertLess(found.first.distance, 1e-2)

    def test_without_operation_statistics_the_line_of_the_result_is_given(self):
        class Late(Attention):
            def forward(self, x):
                return super().forward(x) * 1.5

        found = self.compare(Late(), ops=True)
        self.assertFalse(found.equal)
        self.assertGreater(found.json["results"]["unmeasured"], 0)

    def test_divergence_in_operations_is_found_in_files(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for scale in (1.0, 1.01):
                net = Attention(scale=scale)
                net.load_state_dict(self.net.state_dict())
                paths.append(Path(folder) / f"{scale}.scope")
                run(net, self.x, ops="stats").save(paths[-1])
            done = scope.run("diff", *paths)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("first       aten::mul in Attention", done.stdout.decode())


NORM = "aten::native_layer_norm"
LINES = Path(__file__).read_text().splitlines()


class Files(unittest.TestCase):
    """Recordings on disk, compared by the program."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        torch.manual_seed(0)
        self.net, self.x = Net(), torch.randn(6, 8)

    def save(self, name, model, **wanted):
        path = self.folder / name
        run(model, self.x, **wanted).save(path)
        return path

    def diff(self, *words):
        done = scope.run("diff", *words)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.returncode, done.stdout.decode()

    def test_the_program_compares_recordings(self):
        other = copy.deepcopy(self.net)
        other.blocks[1].norm.eps = 1e-2
        for wanted in ({}, {"keep": "*"}):
            a = self.save("a.scope", self.net, **wanted)
            b = self.save("b.scope", other, **wanted)
            self.assertEqual(self.diff(a, a)[0], 0)
            status, text = self.diff(a, b)
            self.assertEqual(status, 1)
            self.assertIn("first       blocks.1.norm  LayerNorm", text)
            self.assertIn("the error begins here", text)
            self.assertEqual(self.diff(a, b, "--tolerance", "0.5")[0], 0)
            self.assertEqual(self.diff(a, b, "-q"), (1, ""))
            status, text = self.diff(a, b, "--json", "--all")
            results = json.loads(text)["results"]
            self.assertEqual(results["first"]["left"]["name"], "blocks.1.norm")
            by = "elements" if wanted else "statistics"
            self.assertEqual(results["first"]["by"], by)
            self.assertEqual(results["compared"], len(results["all"]))
            self.assertEqual(results["beyond"], len(results["later"]) + 1)
            self.assertIn("**first** blocks.1.norm", self.diff(a, b, "--md")[1])
            # Python gives the same document.
            found = torchoscope.diff(a, b)
            mine = dict(found.json, left=None, right=None)
            theirs = dict(json.loads(self.diff(a, b, "--json")[1]), left=None, right=None)
            self.assertEqual(mine, theirs)

    def test_structure_compares_no_results(self):
        other = copy.deepcopy(self.net)
        other.head.weight.data += 1
        a, b = self.save("a.scope", self.net), self.save("b.scope", other)
        status, text = self.diff(a, b, "--structure")
        self.assertEqual(status, 0)
        self.assertNotIn("results ", text)

    def test_a_bad_tolerance_is_refused(self):
        a = self.save("a.scope", self.net)
        done = scope.run("diff", a, a, "--tolerance", "-1")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"tolerance", done.stderr)


if __name__ == "__main__":
    unittest.main()
