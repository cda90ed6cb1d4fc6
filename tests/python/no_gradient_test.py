"""Parameters without a gradient, and the reasons, in real models."""

import unittest

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import torchoscope


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)


def why(net, loss=None, steps=1, **options):
    """name -> (why, name of the operation or None), and the notes as text."""
    x = torch.randn(3, 4)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    with torchoscope.record(net, ops=True, **options) as recording:
        for _ in range(steps):
            optimizer.zero_grad()
            result = net(x)
            (result.pow(2).mean() if loss is None else loss(result)).backward()
            optimizer.step()
    found = recording.json["run"]["no_gradient"]
    names = {
        one["name"]: (one["why"], one["op"] and one["op"]["op_name"]) for one in found
    }
    return names, recording.tree()


class Cuts(unittest.TestCase):
    def check(self, forward, expected, **options):
        net = type("Net", (Base,), {"forward": forward})()
        found, text = why(net, **options)
        self.assertEqual(found, {f"a.{one}": expected for one in ("weight", "bias")})
        return text

    def test_detach(self):
        text = self.check(
            lambda self, x: self.b(self.a(x).detach()), ("detached", "aten::detach")
        )
        self.assertRegex(
            text,
            r"✗ a\.weight, a\.bias get no gradient: no_gradient_test\.py:\d+ "
            r"detach\(\) in Net cut the path",
        )

    def test_detach_in_every_step(self):
        forward = lambda self, x: self.b(self.a(x).relu().detach())  # noqa: E731
        self.check(forward, ("detached", "aten::detach"), steps=3)

    def test_argmax(self):
        def forward(self, x):
            return self.b(x) * self.a(x).argmax(1, keepdim=True)

        self.check(forward, ("not_differentiable", "aten::argmax"))

    def test_indices_of_topk(self):
        def forward(self, x):
            _, at = self.a(x).topk(2)
            return self.b(x).gather(1, at)

        self.check(forward, ("not_differentiable", "aten::topk"))

    def test_comparison(self):
        def forward(self, x):
            return self.b(x) * (self.a(x) > 0)

        self.check(forward, ("not_differentiable", "aten::gt"))

    def test_no_grad(self):
        def forward(self, x):
            with torch.no_grad():
                x = self.a(x).relu()
            return self.b(x)

        found, text = why(type("Net", (Base,), {"forward": forward})())
        self.assertEqual({one for one, _ in found.values()}, {"no_grad"})
        self.assertEqual(set(found), {"a.weight", "a.bias"})
        self.assertIn("ran without autograd (no_grad)", text)

    def test_data(self):
        def forward(self, x):
            return self.b(x) @ self.a.weight.data + self.a.bias.data

        found, _ = why(type("Net", (Base,), {"forward": forward})())
        self.assertEqual({one for one, _ in found.values()}, {"detached"})
        self.assertEqual(set(found), {"a.weight", "a.bias"})

    def test_data_of_a_result(self):
        def forward(self, x):
            return self.b(self.a(x).data)

        found, _ = why(type("Net", (Base,), {"forward": forward})())
        self.assertEqual({one for one, _ in found.values()}, {"detached"})
        self.assertEqual(set(found), {"a.weight", "a.bias"})

    def test_unused_layer(self):
        text = self.check(lambda self, x: self.b(x), ("not_read", None))
        self.assertIn("! a.weight, a.bias get no gradient: no operation read", text)

    def test_a_result_that_is_not_part_of_the_loss(self):
        def forward(self, x):
            self.aux = self.a(x).relu()
            return self.b(x)

        self.check(forward, ("not_in_loss", "aten::relu"))

    def test_a_result_that_is_only_logged(self):
        def forward(self, x):
            self.seen = self.a(x).detach().mean().item()
            return self.b(x)

        found, _ = why(type("Net", (Base,), {"forward": forward})())
        self.assertEqual({one for one, _ in found.values()}, {"not_in_loss"})

    def test_custom_function_that_returns_none(self):
        class Give(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return None

        def forward(self, x):
            return self.b(x) + Give.apply(self.a(x))

        found, text = why(type("Net", (Base,), {"forward": forward})())
        self.assertEqual({one for one, _ in found.values()}, {"intact"})
        self.assertIn("- a.weight, a.bias get no gradient", text)


class NoAlarm(unittest.TestCase):
    def check(self, forward, **options):
        found, text = why(type("Net", (Base,), {"forward": forward})(), **options)
        self.assertEqual(found, {})
        self.assertNotIn("gradient:", text)

    def test_plain(self):
        self.check(lambda self, x: self.b(self.a(x).relu()), steps=2)

    def test_straight_through(self):
        def forward(self, x):
            h = self.a(x)
            return self.b(h + (h.round() - h).detach())

        self.check(forward)

    def test_straight_through_function(self):
        class Sign(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.sign()

            @staticmethod
            def backward(ctx, grad):
                return grad

        self.check(lambda self, x: self.b(Sign.apply(self.a(x))))

    def test_gumbel_softmax(self):
        functional = nn.functional
        self.check(
            lambda self, x: self.b(functional.gumbel_softmax(self.a(x), hard=True))
        )

    def test_frozen_by_the_user(self):
        net = type("Net", (Base,), {"forward": lambda self, x: self.b(self.a(x))})()
        net.a.requires_grad_(False)
        found, _ = why(net)
        self.assertEqual(found, {})

    def test_checkpoint(self):
        for reentrant in (False, True):
            with self.subTest(reentrant):

                def forward(self, x, reentrant=reentrant):
                    h = self.a(x)
                    return checkpoint(self.b, h, use_reentrant=reentrant)

                self.check(forward)

    def test_tied_weights(self):
        class Net(Base):
            def __init__(self):
                super().__init__()
                self.b.weight = self.a.weight

            def forward(self, x):
                return self.b(self.a(x))

        self.assertEqual(why(Net())[0], {})

    def test_teacher_and_target(self):
        """Labels computed by the model without gradients: its parameters still get
        them."""

        def forward(self, x):
            with torch.no_grad():
                target = self.b(self.a(x))
            return self.b(self.a(x)) - target

        self.check(forward)

    def test_no_backward(self):
        net = type("Net", (Base,), {"forward": lambda self, x: self.b(x)})()
        with torchoscope.record(net, ops=True) as recording:
            net(torch.randn(3, 4))
        self.assertEqual(recording.json["run"]["no_gradient"], [])

    def test_gradients_of_the_input_only(self):
        """torch.autograd.grad() gives parameters no gradient: no alarm, a note."""
        net = type("Net", (Base,), {"forward": lambda self, x: self.b(self.a(x))})()
        with torchoscope.record(net, ops=True) as recording:
            x = torch.randn(3, 4, requires_grad=True)
            torch.autograd.grad(net(x).sum(), x)
        whys = {one["why"] for one in recording.json["run"]["no_gradient"]}
        self.assertEqual(whys, {"intact"})
        self.assertNotIn("✗", recording.tree())

    def test_standard_layers(self):
        torch.manual_seed(0)
        layers = [
            nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.PReLU()),
            nn.Sequential(nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 2, 3), nn.MaxPool1d(2)),
            nn.Sequential(
                nn.Unflatten(1, (2, 2)),
                nn.TransformerEncoderLayer(2, 1, 4, batch_first=True),
            ),
            nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Dropout(), nn.GELU()),
        ]
        for layer in layers:
            with self.subTest(layer):
                self.assertEqual(why(layer)[0], {})

    def test_lstm(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lstm = nn.LSTM(4, 3, num_layers=2)

            def forward(self, x):
                return self.lstm(x)[0]

        self.assertEqual(why(Net())[0], {})

    def names(self, net, step):
        with torchoscope.record(net, ops=True) as recording:
            step()
        found = recording.json["run"]["no_gradient"]
        return {one["name"]: one["why"] for one in found}

    def test_unusual_layers(self):
        normed = nn.utils.parametrizations
        x, ids = torch.randn(3, 4), torch.randint(0, 10, (3,))
        nets = [
            (nn.Sequential(nn.Embedding(10, 4, sparse=True), nn.Linear(4, 2)), ids),
            (normed.weight_norm(nn.Linear(4, 4)), x),
            (normed.spectral_norm(nn.Linear(4, 4)), x),
        ]
        for net, given in nets:
            with self.subTest(net):
                found = self.names(net, lambda: net(given).sum().backward())
                self.assertEqual(found, {})

    def test_torch_func_computes_with_copies(self):
        net, x = nn.Linear(4, 2), torch.randn(3, 4)
        own = {name: one.detach() for name, one in net.named_parameters()}
        call = torch.func.functional_call

        def step():
            torch.func.grad(lambda params: call(net, params, (x,)).sum())(own)

        self.assertEqual(self.names(net, step), {})

    def test_gradients_from_before_do_not_count(self):
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        x = torch.randn(3, 4)
        net(x).sum().backward()
        found = self.names(net, lambda: net[0](x).sum().backward())
        self.assertEqual(found, {"1.weight": "not_read", "1.bias": "not_read"})

    def test_a_result_written_into_another_tensor(self):
        net, x = nn.Linear(4, 4), torch.randn(3, 4)

        def step():
            out = torch.zeros(3, 8)
            out[:, :4] = net(x)
            out[:, 4:] = 1
            out.sum().backward()

        self.assertEqual(self.names(net, step), {})

        def cut():
            out = torch.zeros(3, 4)
            out[:, :4] = net(x).detach()
            (out * net.bias).sum().backward()

        self.assertEqual(self.names(net, cut), {"weight": "detached"})


if __name__ == "__main__":
    unittest.main()
