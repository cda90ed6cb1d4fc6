"""Module.compile() of torch's own layers: torch compiles nothing, so their operations
are recorded; with a class or hook of the user below them, torch compiles something."""

import unittest

try:
    import torch
    from torch import nn
    import torchoscope
    from torchoscope import op_kinds
except ImportError as error:
    raise unittest.SkipTest(f"no torch: {error}")

if op_kinds.why_not() or not hasattr(nn.Module, "compile"):
    raise unittest.SkipTest("torch has no Module.compile() or no dispatch modes")

X = torch.ones(2, 4)


class Own(nn.Module):
    def forward(self, x):
        return x.relu() * 2


def layers():
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU())


def hooked():
    model = layers()
    model[0].register_forward_hook(lambda module, args, result: result * 2)
    return model


def replaced():
    model = layers()
    model[0].forward = lambda x: x * 2
    return model


class InPlace(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        self.addCleanup(torch._dynamo.reset)

    def record(self, model):
        """The recording, and whether torch compiled anything."""
        expected = model(X)
        model.compile(backend="eager")
        call = model._compiled_call_impl
        with torchoscope.record(model, ops=True) as recording:
            result = model(X)
        self.assertTrue(torch.equal(result, expected))
        self.assertIs(model._compiled_call_impl, call)
        stats = torch._dynamo.utils.counters["stats"]
        return recording, stats["unique_graphs"] > 0

    def test_torch_does_not_compile_its_own_layers(self):
        makers = {
            "layers": layers,
            "layer": lambda: nn.Linear(4, 4),
            "nested": lambda: nn.Sequential(layers(), nn.Sequential(layers())),
            "encoder": lambda: nn.TransformerEncoderLayer(4, 2, 8, 0.0),
        }
        for name, make in makers.items():
            with self.subTest(name):
                model = make()
                recording, compiled = self.record(model)
                self.assertFalse(compiled)
                names = [op.name for op in recording.ops()]
                self.assertNotIn("compiled::region", names)
                self.assertIn("aten::addmm", names)
                self.assertNotIn("compiled", [gap.kind for gap in recording.gaps])
                for call in recording.calls():
                    self.assertNotIn("compiled", call.flags)

    def test_every_call_inside_is_recorded(self):
        recording, _ = self.record(nn.Sequential(layers(), layers()))
        names = [call.name for call in recording.calls()]
        self.assertEqual(names, ["", "0", "0.0", "0.1", "1", "1.0", "1.1"])

    def test_torch_compiles_with_user_classes_or_hooks(self):
        makers = {
            "an own class": lambda: nn.Sequential(nn.Linear(4, 4), Own()),
            "an own class alone": Own,
            "a hook": hooked,
            "another forward": replaced,
        }
        for name, make in makers.items():
            with self.subTest(name):
                torch._dynamo.reset()
                torch._dynamo.utils.counters.clear()
                recording, compiled = self.record(make())
                self.assertTrue(compiled)
                names = [op.name for op in recording.ops()]
                self.assertEqual(names, ["compiled::region"])

    def test_a_layer_inside_a_model_that_is_not_compiled(self):
        model = nn.Sequential(layers(), Own())
        model[0].compile(backend="eager")
        model[1].compile(backend="eager")
        with torchoscope.record(model, ops=True) as recording:
            model(X)
        regions = [op.module for op in recording.ops(name="compiled::region")]
        self.assertEqual(regions, ["1"])
        self.assertEqual(len(recording.ops("0", name="addmm")), 1)


if __name__ == "__main__":
    unittest.main()
