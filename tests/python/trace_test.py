"""trace(): its options, its inputs, its loss, and the state that it restores."""

import inspect
import unittest
from unittest import mock

try:
    import torch
    from torch import nn
    import torchoscope
    from torchoscope import op_kinds, trace
    from torchoscope.traces import warm_trace
except ImportError as error:
    raise unittest.SkipTest(f"no torch: {error}")

if op_kinds.why_not():
    raise unittest.SkipTest(op_kinds.why_not())

import replay_test

SUM = "the sum of the floating-point results"


class Counting(nn.Module):
    """Counts in an attribute, and outside the model."""

    def __init__(self, limit=9):
        super().__init__()
        self.lin, self.turn, self.limit = nn.Linear(4, 4), 0, limit

    def forward(self, x, rows=()):
        self.turn += 1
        OUTSIDE.append(self.turn)
        if len(OUTSIDE) > self.limit:
            raise RuntimeError("only so often")
        return sum((self.lin(x) for _ in rows), self.lin(x))


OUTSIDE = []


class Named(nn.Module):
    """Arguments with the names of trace()'s options."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x, mode=None, loss=None, warmup=None, scale=1.0):
        return self.lin(x) * (scale if mode is None else -scale)


class Bad(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        return self.lin(x) @ torch.ones(3, 3)


class Cut(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        return self.lin(x).argmax(-1)


class Noisy(nn.Module):
    """Everything that a pass may change."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(2, 2, 1), nn.BatchNorm1d(2)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        self.train()
        return self.drop(self.norm(self.conv(x)))


class InputsTest(unittest.TestCase):
    x = torch.randn(2, 4)

    def scales(self, recording):
        found = recording.ops(name="aten::mul", phase="forward")
        return [op.attributes["other"] for op in found]

    def test_keywords(self):
        model = Named()
        self.assertEqual(self.scales(trace(model, self.x, scale=3.0)), [3.0])
        self.assertEqual(self.scales(trace(model, self.x, kwargs={"scale": 3.0})), [3.0])
        both = {"mode": "other", "scale": 3.0}
        self.assertEqual(self.scales(trace(model, self.x, kwargs=both)), [-3.0])
        self.assertEqual(self.scales(trace(model, (2, 4), mode="guard", kwargs={})), [1.0])

    def test_ambiguous_keywords_are_refused(self):
        model = Named()
        calls = [
            ("trace", {"mode": "other"}),
            ("trace", {"loss": torch.sum}),
            ("summary", {"mode": "other"}),
            ("memory", {"loss": torch.sum}),
            # The default of the option: the argument of forward may still be meant.
            ("trace", {"mode": "full"}),
            ("trace", {"loss": None}),
            ("summary", {"mode": "full"}),
            ("memory", {"loss": None}),
            ("explore", {"warmup": None}),
        ]
        for name, given in calls:
            function = getattr(torchoscope, name)
            (option,) = given
            text = rf"{option} is an option of {name}\(\) and an argument of Named.forward"
            text += rf"\(\): pass kwargs={{'{option}': \.\.\.}} for forward"
            with self.subTest(name, **given):
                with self.assertRaisesRegex(TypeError, text):
                    function(model, self.x, **given)

    def test_an_option_stays_an_option_if_forward_takes_kwargs(self):
        model = Named()
        for kwargs in ({}, {"mode": None}, {"scale": 1.0}):
            recording = trace(model, self.x, mode="full", loss=None, kwargs=kwargs)
            self.assertEqual(self.scales(recording), [1.0])

    def test_signatures_show_the_options(self):
        text = str(inspect.signature(trace))
        self.assertTrue(text.startswith("(model, *inputs, kwargs=None, backward=True"), text)
        self.assertTrue(text.endswith("keep=None, **more)"), text)
        self.assertEqual(trace.__name__, "trace")
        self.assertEqual(len(trace(model=Named(), x=self.x).calls()), 2)
        with self.assertRaisesRegex(TypeError, "missing 1 required positional"):
            trace()

    def test_other_mistakes(self):
        model, linear = Named(), nn.Linear(4, 4)
        cases = {
            "given twice": lambda: trace(model, self.x, kwargs={"scale": 2.0}, scale=3.0),
            "must be a dict": lambda: trace(model, self.x, kwargs=[1]),
            "needs inputs": lambda: trace(model),
            "unexpected keyword": lambda: trace(linear, self.x, foo=1),
            "ops must be True": lambda: trace(linear, self.x, ops=False),
            "loss must return a tensor": lambda: trace(linear, self.x, loss=lambda y: 3.0),
            "that requires a gradient": lambda: trace(
                linear, self.x, loss=lambda y: y.detach().sum()
            ),
        }
        for text, call in cases.items():
            with self.subTest(text), self.assertRaisesRegex((TypeError, ValueError), text):
                call()
            self.assertEqual(torch._C._len_torch_dispatch_stack(), 0)

    def test_summary_takes_the_same_inputs(self):
        kwargs = {"mode": "other", "scale": 2.0}
        summary = torchoscope.summary(Named(), self.x, kwargs=kwargs)
        self.assertEqual(len(summary.recording.calls("lin")), 1)


class LossTest(unittest.TestCase):
    x = torch.randn(2, 4)

    def test_kinds_of_loss(self):
        linear = nn.Linear(4, 4)
        self.assertEqual(trace(linear, self.x).facts["loss"], SUM)
        self.assertEqual(trace(nn.LSTM(4, 4), (3, 2, 4)).facts["loss"], SUM)
        given = trace(linear, self.x, loss=lambda y: y.square().mean())
        self.assertEqual(given.facts["loss"], "given by the caller")
        self.assertTrue(given.ops(name="aten::mean"))
        kind = torch.complex64
        number = trace(nn.Linear(4, 4, dtype=kind), self.x.to(kind))
        self.assertTrue(number.ops(phase="backward"))

    def test_results_without_gradients(self):
        recording = trace(Cut(), self.x)
        text = "none: nothing in the result requires a gradient"
        self.assertEqual(recording.facts["loss"], text)
        self.assertFalse(recording.ops(phase="backward"))
        self.assertTrue(recording.ops(name="aten::argmax"))

    def test_without_backward(self):
        recording = trace(nn.Linear(4, 4), self.x, backward=False)
        self.assertEqual({op.phase for op in recording.ops()}, {"forward"})
        self.assertEqual({"grad" in op.flags for op in recording.ops()}, {False})
        self.assertNotIn("loss", recording.facts)

    def test_under_no_grad(self):
        with torch.no_grad():
            recording = trace(nn.Linear(4, 4), self.x)
            self.assertFalse(torch.is_grad_enabled())
        self.assertTrue(recording.ops(phase="backward"))

    def test_the_loss_of_transformers(self):
        try:
            model, kwargs = replay_test.gpt2()
        except ImportError:
            self.skipTest("no transformers")
        ids = kwargs["input_ids"]
        self.assertEqual(trace(model, **kwargs).facts["loss"], SUM)
        for recording in (
            trace(model, **kwargs, labels=ids),
            trace(model, kwargs={**kwargs, "labels": ids}),
            trace(model, {**kwargs, "labels": ids}),
        ):
            self.assertEqual(recording.facts["loss"], "the result's loss")
            self.assertTrue(recording.ops(name="aten::nll_loss_backward"))


class StateTest(unittest.TestCase):
    def test_an_error_has_the_recording(self):
        with self.assertRaisesRegex(RuntimeError, "cannot be multiplied") as caught:
            trace(Bad(), torch.randn(2, 4))
        found = [(op.name, "raised" in op.flags) for op in caught.exception.recording.ops()]
        self.assertEqual(found[-1], ("aten::mm", True))
        self.assertIn(("aten::addmm", False), found)

    def test_an_error_of_the_loss_has_the_recording(self):
        def loss(result):
            raise KeyError("no loss")

        model = nn.Linear(4, 4)
        with self.assertRaises(KeyError) as caught:
            trace(model, torch.randn(2, 4), loss=loss)
        self.assertEqual(len(caught.exception.recording.ops()), 2)
        self.assertEqual(torch._C._len_torch_dispatch_stack(), 0)

    def test_in_the_middle_of_training(self):
        def run(traced):
            torch.manual_seed(3)
            model, x = Noisy().eval(), torch.randn(3, 2, 5)
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            for _ in range(3):
                for _ in range(2):  # gradients add up
                    model(x).square().sum().backward()
                    model.eval()
                    grads = [one.grad for one in model.parameters()]
                    if traced:
                        trace(model, x)
                        self.assertFalse(any(one.training for one in model.modules()))
                    for one, grad in zip(model.parameters(), grads):
                        self.assertIs(one.grad, grad)
                optimizer.step()
            return [*model.state_dict().values(), torch.get_rng_state()]

        for a, b in zip(run(True), run(False)):
            self.assertTrue(replay_test.same_bits(a, b))

    def test_a_warm_trace_is_a_second_pass_like_the_first(self):
        for limit, inputs, turns in (
            (9, (torch.ones(2, 4),), [1, 1]),
            (1, (torch.ones(2, 4),), [1, 1]),  # the second one raises
            (9, (torch.ones(2, 4), (i for i in (1, 2))), [1]),  # can be read once
        ):
            with self.subTest(limit=limit, inputs=len(inputs)):
                OUTSIDE.clear()
                with mock.patch("torchoscope.traces.WARM_UP_BELOW", 1e9):
                    found = warm_trace(Counting(limit), inputs, None)
                self.assertEqual(OUTSIDE, turns)
                names = [op.name for op in found.ops(phase="forward")]
                self.assertEqual(names.count("aten::addmm"), 1 + 2 * (len(inputs) - 1))

    def test_inputs_are_not_changed(self):
        x = torch.randn(2, 4, requires_grad=True)
        before = x.detach().clone()
        trace(nn.Sequential(nn.Flatten(), nn.ReLU(inplace=True), nn.Linear(4, 1)), x)
        self.assertIsNone(x.grad)
        self.assertTrue(torch.equal(x.detach(), before))


if __name__ == "__main__":
    unittest.main()
