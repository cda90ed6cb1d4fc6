# flavours: both
"""Gradients of calls equal those of torch's full backward hooks on a twin of the model
that writes nothing in place; and no trace is left in the user's graph."""

import copy
import gc
import math
import sys
import unittest
import warnings
import weakref

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from torchoscope import record

torch.set_num_threads(1)
NUMBERED = hasattr(torch._C._autograd, "_get_sequence_nr")


def summary(gradient):
    """The figures of a gradient that both sides have."""
    gradient = gradient.detach().double()
    return tuple(gradient.shape), gradient.mean().item(), gradient.norm().item()


def seen(value):
    return tuple(value.shape), value.mean, value.l2


def close(a, b):
    return a[0] == b[0] and all(
        math.isclose(x, y, rel_tol=5e-6, abs_tol=1e-7) for x, y in zip(a[1:], b[1:])
    )


def by_hooks(model, run):
    """name -> [(gradients of inputs, of results), ...] in the order of the calls, by
    torch's own hooks. They run in the order of the backward, so calls are numbered by
    the order in which they ended."""
    found, ends = {}, []
    for name, module in model.named_modules():

        def full(module, inputs, outputs, name=name):
            inputs = [summary(g) for g in inputs if g is not None]
            outputs = [summary(g) for g in outputs if g is not None]
            found.setdefault(name, []).append((inputs, outputs))

        ends.append(module.register_full_backward_hook(full))
    run(model)
    for end in ends:
        end.remove()
    return {name: calls[::-1] for name, calls in found.items()}


def by_recording(model, run, **options):
    with record(model, **options) as recording:
        run(model)
    found = {}
    for call in recording.calls():
        pair = [list(map(seen, v)) for v in (call.grad_inputs, call.grad_outputs)]
        found.setdefault(call.name, []).append(tuple(pair))
    return found, recording


def losses(*inputs):
    """A forward, and a backward from its result."""

    def run(model):
        made = model(*inputs)
        if not isinstance(made, torch.Tensor):
            made = made[0]
        weights = torch.linspace(-1, 2, made.numel()).reshape(made.shape)
        (made * weights).sum().backward()

    return run


class Compared(unittest.TestCase):
    def setUp(self):
        warnings.filterwarnings("ignore", "Full backward hook is firing")

    def compare(self, model, twin, run, inputs=True):
        """Every gradient that torch reports for the twin is recorded for the model."""
        wanted = by_hooks(twin, run)
        found, recording = by_recording(model, run)
        self.assertEqual([g.text for g in recording.gaps if g.kind == "gradient"], [])
        n = 0
        for name, calls in wanted.items():
            self.assertEqual(len(calls), len(found[name]), name)
            for mine, torchs in zip(found[name], calls):
                for kind, a, b in zip(("in", "out"), mine, torchs):
                    if kind == "in" and not inputs:
                        continue
                    self.assertEqual(len(a), len(b), (name, kind, a, b))
                    for one, other in zip(a, b):
                        self.assertTrue(close(one, other), (name, kind, one, other))
                        n += 1
        self.assertGreater(n, 2)
        return recording


class Layers(Compared):
    def test_linear_layers(self):
        torch.manual_seed(1)
        net = nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 3))
        x = torch.randn(4, 6, requires_grad=True)
        self.compare(net, copy.deepcopy(net), losses(x))

    def test_in_place_residual_network(self):
        torch.manual_seed(2)
        x = torch.randn(2, 3, 8, 8)
        net, twin = ResNet(True), ResNet(False)
        twin.load_state_dict(net.state_dict())
        self.compare(net, twin, losses(x))

    def test_modules_that_return_their_input(self):
        torch.manual_seed(3)
        net = nn.Sequential(
            nn.Linear(5, 5),
            nn.Sequential(nn.Identity(), nn.Dropout(0.5)),
            nn.Identity(),
            nn.Linear(5, 2),
        ).eval()
        x = torch.randn(3, 5, requires_grad=True)
        if NUMBERED:
            self.compare(net, copy.deepcopy(net), losses(x))
            return
        found, recording = by_recording(net, losses(x))
        gaps = [gap.name for gap in recording.gaps if gap.kind == "gradient"]
        self.assertEqual(sorted(gaps), ["1", "1.0", "1.1", "2"])
        for name in gaps:
            self.assertEqual(found[name], [([], [])])

    def test_a_module_called_four_times(self):
        torch.manual_seed(4)
        net = Shared()
        x = torch.randn(3, 6, requires_grad=True)
        self.compare(net, copy.deepcopy(net), losses(x))

    def test_lstm_has_gradients_of_its_nested_arguments_too(self):
        torch.manual_seed(5)
        net = nn.LSTM(4, 6, num_layers=2)
        x = torch.randn(5, 2, 4, requires_grad=True)
        state = tuple(torch.randn(2, 2, 6, requires_grad=True) for _ in range(2))
        run = losses(x, state)
        found, recording = by_recording(net, run)
        x.grad = state[0].grad = state[1].grad = None
        run(net)
        wanted = [summary(one.grad) for one in (x, *state)]
        call = recording.calls()[0]
        told = {value.path: seen(value) for value in call.grad_inputs}
        paths = ["input", "hx[0]", "hx[1]"]
        self.assertEqual(sorted(told), sorted(paths))
        for path, other in zip(paths, wanted):
            self.assertTrue(close(told[path], other), (path, told[path], other))
        self.assertIn("[0]", [value.path for value in call.grad_outputs])

    def test_equal_arguments_share_a_gradient(self):
        torch.manual_seed(6)
        net = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        x = torch.randn(2, 5, 8, requires_grad=True)
        run = losses(x)
        parts = {}

        def full(module, inputs, outputs):
            parts["in"] = sum(inputs)

        twin = copy.deepcopy(net)
        end = twin.self_attn.register_full_backward_hook(full)
        run(twin)
        end.remove()
        found, recording = by_recording(net, run)
        (call,) = recording.calls("self_attn")
        (value,) = call.grad_inputs
        self.assertTrue(value["summed"])
        self.assertTrue(close(seen(value), summary(parts["in"])))
        wanted = by_hooks(copy.deepcopy(net), run)
        for name in ("", "linear1", "linear2", "norm1", "norm2"):
            for mine, torchs in zip(found[name], wanted[name]):
                for a, b in zip(mine, torchs):
                    self.assertEqual(len(a), len(b), name)
                    self.assertTrue(all(map(close, a, b)), (name, a, b))

    def test_a_view_written_in_place(self):
        torch.manual_seed(7)
        x = torch.randn(3, 6)
        self.compare(Views(True), Views(False), losses(x))

    def test_a_view_written_and_more_computed_from_it(self):
        torch.manual_seed(7)
        x = torch.randn(3, 6)
        self.compare(Views(True, True), Views(False, True), losses(x))

    def test_keywords(self):
        net = Keywords()
        x = torch.randn(3, 4, requires_grad=True)
        found, recording = by_recording(net, lambda net: net(x=x).sum().backward())
        (call,) = recording.calls("")
        self.assertEqual([value.path for value in call.grad_inputs], ["x"])
        self.assertTrue(close(seen(call.grad_inputs[0]), summary(x.grad)))

    def test_keywords_that_forward_overwrites(self):
        for how in ("x", "view", "both"):
            told = {}
            for in_place in (True, False):
                torch.manual_seed(8)
                net = Overwrites(in_place)
                x = torch.randn(3, 4, requires_grad=True)

                def run(net):
                    y = x * 1.5
                    if how == "x":
                        made = net(1, x=y)
                    elif how == "view":
                        made = net(1, x=y[:, 1:3])
                    else:
                        made = net(1, x=y, other=y)
                    made.pow(2).sum().backward()

                found, recording = by_recording(net, run)
                (call,) = recording.calls("")
                told[in_place] = found[""][0]
                self.assertEqual([v.path for v in call.grad_inputs], ["x"])
                self.assertEqual("summed" in dict(call.grad_inputs[0]), how == "both")
                if in_place:
                    self.assertTrue(call.inputs[0]["replaced"])
            for one, other in zip(told[True], told[False]):
                self.assertEqual(len(one), 1)
                self.assertTrue(close(one[0], other[0]), (how, one, other))

    def test_a_part_not_reached_by_backward_is_zero(self):
        net = TwoResults()
        x = torch.randn(4, requires_grad=True)
        found, recording = by_recording(net, lambda net: net(x)[0].sum().backward())
        (value,) = recording.calls("")[0].grad_inputs
        self.assertTrue(close(seen(value), summary(torch.full((4,), 3.0))))


class Block(nn.Module):
    def __init__(self, width, in_place):
        super().__init__()
        self.in_place = in_place
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(in_place)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        y = self.conv2(self.relu(self.bn1(self.conv1(x))))
        if self.in_place:
            y += x
        else:
            y = y + x
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self, in_place):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3)
        self.blocks = nn.Sequential(Block(4, in_place), Block(4, in_place))
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x):
        for _ in range(4):
            x = x + self.layer(x)
        return x


class Keeps(nn.Module):
    """Several users of one tensor, views written in place, and a result passed on."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 6), nn.Sequential(nn.Identity(), Twice())
        self.clip = Clip(True, False)

    def forward(self, x):
        y = self.first(x) + x
        self.__dict__["between"] = weakref.ref(y)
        z = y + 1
        self.clip(z[:, 2:4])
        return self.last(z)


class Clip(nn.Module):
    def __init__(self, in_place, more):
        super().__init__()
        self.in_place, self.more = in_place, more

    def forward(self, x):
        x = x.mul_(3).tanh_() if self.in_place else (x * 3).tanh()
        return x * x if self.more else x


class Views(nn.Module):
    """A module changes half of a layer's result, in place or not."""

    def __init__(self, in_place, more=False):
        super().__init__()
        torch.manual_seed(9)
        self.in_place, self.more = in_place, more
        self.first = nn.Linear(6, 8)
        self.clip = Clip(in_place, more)
        self.last = nn.Linear(12 if more else 8, 2)

    def forward(self, x):
        y = self.first(x) * 1.5
        half = self.clip(y[:, 2:6])
        if self.more:
            whole = y if self.in_place else torch.cat([y[:, :2], half, y[:, 6:]], 1)
            both = torch.cat([y[:, :2].repeat(1, 4), half], 1)
            return self.last(both) + 0 * whole.sum()
        if not self.in_place:
            y = torch.cat([y[:, :2], half, y[:, 6:]], 1)
        return self.last(y)


class Keywords(nn.Module):
    def forward(self, x=None):
        return x * x


class Overwrites(nn.Module):
    """Does the same in place and not."""

    def __init__(self, in_place):
        super().__init__()
        self.in_place = in_place

    def forward(self, n, x=None, other=None):
        y = x.mul_(3) if self.in_place else x * 3
        z = y.tanh()
        return z if other is None else z + n


class TwoResults(nn.Module):
    def forward(self, x):
        return x * 3, x * 5


class NothingChanges(unittest.TestCase):
    def gradients(self, listen, **options):
        torch.manual_seed(2)
        net = ResNet(True)
        x = torch.randn(2, 3, 8, 8, requires_grad=True)
        run = losses(x)
        if listen:
            with record(net, **options):
                run(net)
        else:
            run(net)
        return [x.grad, *(p.grad for p in net.parameters())]

    def test_gradients_are_the_same_bit_for_bit(self):
        for a, b in zip(self.gradients(True), self.gradients(False)):
            self.assertTrue(torch.equal(a, b))

    def test_results_die_and_memory_stays(self):
        net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(True), Twice(), nn.Linear(4, 2))
        x = torch.randn(2, 4, requires_grad=True)
        counts = []
        with record(net) as recording:
            for step in range(200):
                made = net(x)
                there = weakref.ref(made)
                mark = Mark()
                made.grad_fn.metadata["mark"] = mark
                node = weakref.ref(mark)
                made.sum().backward()
                del made, mark
                self.assertIsNone(there())
                self.assertIsNone(node())
                if step in (100, 199):
                    gc.collect()
                    # Weak references to measured values come and go in batches.
                    kinds = map(type, gc.get_objects())
                    counts.append(sum(kind is not weakref.ref for kind in kinds))
        self.assertLess(abs(counts[1] - counts[0]), 50)
        self.assertEqual(recording.calls("0")[0].grad_outputs[0].numel, 8)

    def test_a_graph_that_is_dropped_holds_nothing(self):
        net = nn.Linear(4, 4)
        with record(net):
            made = net(torch.randn(2, 4))
            there = weakref.ref(made)
            del made
            self.assertIsNone(there())

    def test_a_live_graph_keeps_no_tensors_model_or_recording_alive(self):
        net = Keeps()
        x = torch.randn(2, 6, requires_grad=True)
        for backward in (False, True):
            model = copy.deepcopy(net)
            with record(model) as recording:
                made = model(x)
                if backward:
                    made.sum().backward(retain_graph=True)
            there = [weakref.ref(one) for one in (model, model.first, recording)]
            there.append(model.between)  # a result that no node has saved
            del model, recording
            gc.collect()
            self.assertEqual([one() for one in there], [None] * 4)
            made.sum().backward()

    def test_a_thousand_steps_leak_nothing(self):
        net = Keeps()
        x = torch.randn(2, 6, requires_grad=True)
        left = []
        with record(net) as recording:
            for step in range(1000):
                made = net(x)
                made.sum().backward(retain_graph=step % 3 == 0)
                if step % 5 == 0:
                    made = net(x)  # without a backward
                del made
                if step in (399, 699, 999):
                    gc.collect()
                    left.append((sys.getallocatedblocks(), sys.getrefcount(x)))
        blocks, references = zip(*left)
        # One per step would be 300 each time. In a single sample some may still be in
        # use.
        grown = [after - before for before, after in zip(blocks, blocks[1:])]
        self.assertLess(min(grown), 150, grown)
        self.assertEqual(len(set(references)), 1, references)
        self.assertEqual(recording.facts.get("errors", 0), 0)

    def test_a_backward_after_the_end(self):
        net = Shared()
        x = torch.randn(2, 6, requires_grad=True)
        with record(net) as recording:
            made = net(x)
        made.sum().backward()
        self.assertEqual(recording.calls("layer")[0].grad_outputs, [])
        del recording
        gc.collect()
        self.assertIsNotNone(x.grad)

    def test_the_recording_ends_in_the_middle_of_a_backward(self):
        net = Shared()
        x = torch.randn(2, 6, requires_grad=True)
        with record(net) as recording:
            y = net(x)
            y.register_hook(lambda g: recording.stop())
            y.sum().backward()
        self.assertIsNotNone(x.grad)

    def test_two_backwards_are_recorded_twice(self):
        net = Shared()
        x = torch.randn(2, 6, requires_grad=True)
        with record(net) as recording:
            y = net(x)
            y.sum().backward(retain_graph=True)
            (y * 2).sum().backward()
        for call in recording.calls():
            for values in (call.grad_inputs, call.grad_outputs):
                self.assertEqual(len(values), 2)
                first, second = (value.l2 for value in values)
                self.assertTrue(math.isclose(first * 2, second, rel_tol=1e-5))

    def test_a_backward_that_raises(self):
        net = Shared()
        x = torch.randn(2, 6, requires_grad=True)

        def fail(gradient):
            raise ValueError("mine")

        with record(net) as recording:
            middle = x * 1
            middle.register_hook(fail)
            with self.assertRaisesRegex(ValueError, "mine"):
                net(middle).sum().backward()
            net(x).sum().backward()
        last = recording.calls("")[-1]
        self.assertNotIn("recomputed", last.flags)
        self.assertEqual(len(last.grad_inputs), 1)

    def test_gradients_of_gradients(self):
        net = Shared()
        x = torch.randn(2, 6, requires_grad=True)
        with record(net) as recording:
            (g,) = torch.autograd.grad((net(x) ** 2).sum(), x, create_graph=True)
            g.pow(2).sum().backward()
        self.assertEqual(recording.facts.get("errors", 0), 0)
        self.assertTrue(recording.calls("layer")[0].grad_outputs)

    def test_a_large_graph(self):
        """It is a gap if this torch does not number its nodes."""
        net = Long()
        with record(net) as recording:
            for _ in range(2):
                net(torch.randn(2, requires_grad=True)).sum().backward()
        gaps = [gap for gap in recording.gaps if gap.kind == "gradient"]
        self.assertEqual(len(gaps), 0 if NUMBERED else 1)
        for call in recording.calls(""):
            self.assertEqual(len(call.grad_inputs), 1 if NUMBERED else 0)
            self.assertEqual(len(call.grad_outputs), 1)


class Long(nn.Module):
    def forward(self, x):
        for _ in range(5000):
            x = x * 1
        return x


class Mark:
    """Lives as long as the node that it is attached to."""


class Twice(nn.Module):
    def forward(self, x):
        return x * x + x


class Recomputed(unittest.TestCase):
    def test_checkpoints(self):
        torch.manual_seed(3)
        inner = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner, self.last = inner, nn.Linear(4, 2)

            def forward(self, x):
                y = checkpoint(self.inner, x, use_reentrant=reentrant)
                return self.last(y)

        net = Net()
        for reentrant in (True, False):
            x = torch.randn(3, 4, requires_grad=True)
            found, recording = by_recording(net, losses(x))
            with_gradients = [
                call for call in recording.calls("inner.0") if call.grad_outputs
            ]
            self.assertEqual(len(with_gradients), 1, reentrant)
            (call,) = with_gradients
            self.assertNotIn("recomputed", call.flags)
            (value,) = call.grad_inputs
            self.assertTrue(close(seen(value), summary(x.grad)))


if __name__ == "__main__":
    unittest.main()
