# flavours: both
"""User-defined formulas for FLOPs: torchoscope.register_flops and flops_formula."""

import subprocess
import sys
import unittest
from importlib.util import find_spec

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import torchoscope
from torchoscope import flops

library = torch.library.Library("flopstest", "DEF")
library.define("project(Tensor x, Tensor weight, *, int times=1) -> Tensor")
library.define("both(Tensor[] parts, float scale) -> (Tensor, Tensor)")
library.define("plain(Tensor x) -> Tensor")
EVERYWHERE = "CompositeExplicitAutograd"
library.impl("project", lambda x, w, times=1: x @ w * times, EVERYWHERE)
library.impl("both", lambda parts, s: (parts[0] * s, parts[1] * s), EVERYWHERE)
library.impl("plain", lambda x: x.clone(), EVERYWHERE)
ops = torch.ops.flopstest


class Counted(TorchDispatchMode):
    """Calls the user's formulas like a recorder."""

    def __init__(self):
        super().__init__()
        self.flops = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        counter = flops.counter_of(func)
        if counter is not None:
            self.flops.append(counter(args, kwargs or {}, result))
        return result


def count(function):
    with Counted() as counted:
        function()
    return counted.flops


class Formulas(unittest.TestCase):
    def setUp(self):
        for name in ("project", "both", "plain"):
            self.addCleanup(torchoscope.register_flops, f"flopstest::{name}", None)

    def test_a_formula_gets_shapes_and_other_arguments(self):
        seen = []

        @torchoscope.flops_formula("flopstest::project")
        def project(x, weight, *, times=1, out_shape=None):
            seen.append((x, weight, times, out_shape))
            return 2 * x[0] * x[1] * weight[1]

        x, weight = torch.ones(2, 3), torch.ones(3, 4)
        self.assertEqual(count(lambda: ops.project(x, weight, times=5)), [48])
        self.assertEqual(seen, [((2, 3), (3, 4), 5, (2, 4))])
        self.assertEqual(project((2, 3), (3, 4)), 48)  # it is still a function

    def test_lists_of_tensors_are_lists_of_shapes(self):
        seen = []
        torchoscope.register_flops(
            ops.both,
            lambda parts, scale, out_shape: seen.append((parts, scale, out_shape)) or 7,
        )
        parts = [torch.ones(2), torch.ones(3)]
        self.assertEqual(count(lambda: ops.both(parts, 0.5)), [7])
        self.assertEqual(seen, [([(2,), (3,)], 0.5, ((2,), (3,)))])

    def test_an_operation_can_be_given_in_several_ways(self):
        for op in (
            "flopstest::plain",
            "flopstest::plain.default",
            ops.plain,
            ops.plain.default,
        ):
            torchoscope.register_flops(op, lambda x, out_shape: x[0])
            self.assertEqual(count(lambda: ops.plain(torch.ones(5))), [5])
            torchoscope.register_flops(op, None)
            self.assertEqual(count(lambda: ops.plain(torch.ones(5))), [])

    @unittest.skipUnless(hasattr(torch.library, "custom_op"), "needs torch 2.4")
    def test_a_custom_op_is_an_operation(self):
        @torch.library.custom_op("flopstest::made", mutates_args=())
        def made(x: torch.Tensor) -> torch.Tensor:
            return x + 1

        torchoscope.register_flops(made, lambda x, out_shape: 3 * x[0])
        self.addCleanup(torchoscope.register_flops, made, None)
        self.assertEqual(count(lambda: made(torch.ones(5))), [15])

    def test_a_second_formula_replaces_the_first(self):
        before = flops.version()
        torchoscope.register_flops(ops.plain, lambda x, out_shape: 1)
        between = flops.version()
        torchoscope.register_flops(ops.plain, lambda x, out_shape: 2)
        self.assertEqual(len({before, between, flops.version()}), 3)
        self.assertEqual(count(lambda: ops.plain(torch.ones(5))), [2])

    def test_a_formula_can_replace_that_of_a_torch_operation(self):
        torchoscope.register_flops("aten::mm", lambda a, b, out_shape: 11)
        self.addCleanup(torchoscope.register_flops, "aten::mm", None)
        self.assertEqual(count(lambda: torch.ones(2, 3) @ torch.ones(3, 4)), [11])

    def test_a_formula_that_fails_leaves_the_flops_unknown(self):
        for answer, words in (
            (-1, "it returned -1"),
            (2**63, "it returned 9223372036854775808"),
            (1.5, "TypeError"),
            (None, "TypeError"),
        ):
            torchoscope.register_flops(ops.plain, lambda x, out_shape: answer)
            self.assertEqual(count(lambda: ops.plain(torch.ones(5))), [None])
            self.assertIn(words, flops.errors()["flopstest::plain"])
        torchoscope.register_flops(ops.plain, lambda x: 1)  # without out_shape
        self.assertEqual(count(lambda: ops.plain(torch.ones(5))), [None])
        self.assertIn("out_shape", flops.errors()["flopstest::plain"])
        torchoscope.register_flops(ops.plain, None)
        self.assertNotIn("flopstest::plain", flops.errors())

    def test_wrong_arguments_are_refused(self):
        for op, formula, error in (
            ("plain", len, ValueError),
            ("::plain", len, ValueError),
            ("flopstest::", len, ValueError),
            (5, len, TypeError),
            ("flopstest::plain", 5, TypeError),
        ):
            with self.assertRaises(error):
                torchoscope.register_flops(op, formula)
        self.assertIsNone(flops.counter_of(ops.plain.default))


@unittest.skipUnless(find_spec("torch.utils.flop_counter"), "needs torch 2.1")
class OfTorch(unittest.TestCase):
    def test_formulas_registered_with_flop_counter_are_used(self):
        from torch.utils import flop_counter

        @flop_counter.register_flop_formula(ops.project)
        def project(x, weight, *, times=1, out_shape=None):
            return 10 * out_shape[0]

        self.addCleanup(flop_counter.flop_registry.pop, ops.project)

        @flop_counter.register_flop_formula(ops.plain, get_raw=True)
        def plain(x, out_val=None):
            return x.numel() + out_val.numel()

        self.addCleanup(flop_counter.flop_registry.pop, ops.plain)
        x, weight = torch.ones(2, 3), torch.ones(3, 4)
        self.assertEqual(count(lambda: ops.project(x, weight)), [20])
        self.assertEqual(count(lambda: ops.plain(torch.ones(5))), [10])
        # takes precedence
        torchoscope.register_flops(ops.plain, lambda x, out_shape: 1)
        self.addCleanup(torchoscope.register_flops, ops.plain, None)
        self.assertEqual(count(lambda: ops.plain(torch.ones(5))), [1])

    def test_built_in_formulas_of_flop_counter_are_not_used(self):
        import torch.utils.flop_counter  # noqa: F401

        self.assertEqual(count(lambda: torch.ones(2, 3) @ torch.ones(3, 4)), [])

    def test_registering_imports_nothing(self):
        code = (
            "import sys, torchoscope\n"
            "torchoscope.register_flops('a::b', len)\n"
            "assert 'torch' not in sys.modules\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    unittest.main()
