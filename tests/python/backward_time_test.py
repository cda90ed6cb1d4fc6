# flavours: both
"""The backward time of a call, with layers whose backward sleeps. How long they really
sleep depends on the machine, so the recorded time is compared with their own
measurement. The margin is wide; time that must not be counted is longer than it."""

import threading
import time
import unittest

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from torchoscope import record

torch.set_num_threads(1)

NUMBERED = hasattr(torch.autograd, "_get_sequence_nr")
MS = 1_000_000
LONG = 300


class Sleep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, owner):
        ctx.owner = owner
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        began = time.monotonic_ns()
        time.sleep(ctx.owner.seconds)
        ctx.owner.slept += time.monotonic_ns() - began
        return gradient * 1, None


class Slow(nn.Module):
    def __init__(self, ms):
        super().__init__()
        self.seconds, self.slept = ms / 1000, 0

    def forward(self, x):
        return Sleep.apply(x, self)


def sleepers(module):
    return [one for one in module.modules() if isinstance(one, Slow)]


@unittest.skipUnless(NUMBERED, "this torch does not number the nodes of its graph")
class Times(unittest.TestCase):
    def told(self, recording, name, number=0):
        call = recording.calls(name)[number]
        self.assertNotIn("backward_gap", call.flags)
        return call.backward_ns

    def check(self, told, slept):
        """At least the time slept, and less than that plus one LONG sleep."""
        self.assertGreaterEqual(told, slept)
        self.assertLess(told, slept + LONG * MS)

    def test_a_chain(self):
        net = nn.Sequential(Slow(LONG), nn.Sequential(Slow(20), Slow(LONG)), Slow(10))
        with record(net) as recording:
            net(torch.randn(3, requires_grad=True)).sum().backward()
        inner = self.told(recording, "1")
        parts = {name: self.told(recording, name) for name in ("0", "1.0", "1.1", "2")}
        for name, part in parts.items():
            self.check(part, net.get_submodule(name).slept)
        self.check(inner, sum(one.slept for one in sleepers(net[1])))
        whole = self.told(recording, "")
        self.check(whole, sum(one.slept for one in sleepers(net)))
        self.assertGreaterEqual(inner, parts["1.0"] + parts["1.1"])
        self.assertGreaterEqual(whole, parts["0"] + inner + parts["2"])

    def test_a_call_without_inputs_that_need_gradients_has_no_backward_time(self):
        net = nn.Sequential(nn.Linear(3, 3), Slow(LONG), nn.Identity())
        with record(net) as recording:
            net(torch.randn(2, 3)).sum().backward()
        self.check(self.told(recording, ""), net[1].slept)
        self.assertGreater(self.told(recording, "0"), 0)
        self.assertLess(self.told(recording, "0"), net[1].slept)
        # It made no node, so it has no backward.
        self.assertIsNone(self.told(recording, "2"))

    def test_branches_of_one_thread(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.left = nn.Sequential(Slow(20), nn.Linear(3, 3), Slow(10))
                self.right = nn.Sequential(Slow(LONG), nn.Linear(3, 3))

            def forward(self, x):
                return self.left(x) * self.right(x) + self.left(x)

        net = Net()
        with record(net) as recording:
            net(torch.randn(2, 3, requires_grad=True)).sum().backward()
        self.check(self.told(recording, "right"), net.right[0].slept)
        both = self.told(recording, "left") + self.told(recording, "left", 1)
        self.check(both, sum(one.slept for one in sleepers(net.left)))

    def test_the_time_of_the_recorder_is_excluded(self):
        class Wide(nn.Module):
            def forward(self, x):
                return x[:, None].expand(-1, 500_000) * 1

        net = nn.Sequential(Slow(10), Wide())
        x = torch.randn(2, requires_grad=True)
        with record(net, mode="exact") as recording:
            out = net(x)
            ones = torch.ones_like(out)
            before = recording.cost["own_ns"]
            began = time.monotonic_ns()
            out.backward(ones)
            wall = time.monotonic_ns() - began
            own = recording.cost["own_ns"] - before
        self.assertGreater(own, 0)
        self.assertLessEqual(self.told(recording, "") + own, wall)

    def test_the_times_of_several_backwards_are_added(self):
        net = Slow(20)
        x = torch.randn(2, requires_grad=True)
        with record(net) as recording:
            out = net(x)
            for _ in range(3):
                out.sum().backward(retain_graph=True)
        self.assertEqual(len(recording.calls("")[0].grad_outputs), 3)
        self.check(self.told(recording, ""), net.slept)

    def test_gradients_of_gradients(self):
        net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), Slow(LONG))
        x = torch.randn(2, 3, requires_grad=True)
        with record(net) as recording:
            (g,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
            g.pow(2).sum().backward()
        self.check(self.told(recording, ""), net[2].slept)
        self.assertLess(self.told(recording, "0"), net[2].slept)

    def test_an_unused_result_has_no_backward_time(self):
        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = Slow(LONG), Slow(20)

            def forward(self, x):
                return self.first(x), self.second(x)

        net = Two()
        with record(net) as recording:
            net(torch.randn(2, requires_grad=True))[1].sum().backward()
        self.assertEqual(net.first.slept, 0)
        self.assertIsNone(self.told(recording, "first"))
        self.check(self.told(recording, ""), net.second.slept)

    def test_backward_through_an_earlier_call_is_not_counted_for_the_next(self):
        class Cell(nn.Module):
            def __init__(self):
                super().__init__()
                self.slow, self.state = Slow(10), None

            def forward(self, x):
                self.state = self.slow(x if self.state is None else x + self.state)
                return self.state

        cell = Cell()
        x = torch.randn(2, requires_grad=True)
        with record(cell) as recording:
            for _ in range(4):
                out = cell(x)
            out.sum().backward()
        calls = recording.calls("")
        self.check(sum(call.backward_ns for call in calls), cell.slow.slept)
        for call in calls:
            self.assertGreaterEqual(call.backward_ns, 10 * MS)
            self.assertEqual([value.path for value in call.grad_inputs], ["x"])
            self.assertAlmostEqual(call.grad_inputs[0].mean, 1)

    def test_checkpoints(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Sequential(Slow(20), nn.Linear(3, 3))

            def forward(self, x):
                return checkpoint(self.inner, x, use_reentrant=reentrant)

        for reentrant in (True, False):
            net = Net()
            with record(net) as recording:
                net(torch.randn(2, 3, requires_grad=True)).sum().backward()
            (told,) = (c.backward_ns for c in recording.calls("inner") if c.backward_ns)
            self.check(told, net.inner[0].slept)
            self.check(self.told(recording, ""), net.inner[0].slept)

    def test_nodes_of_several_threads_are_a_gap_or_correct(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleList(
                    nn.Sequential(Slow(20), nn.Linear(3, 3)) for _ in range(2)
                )

            def forward(self, x):
                made = [None, None]

                def run(i):
                    made[i] = self.parts[i](x)

                threads = [threading.Thread(target=run, args=(i,)) for i in (0, 1)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                return made[0] + made[1]

        net = Net()
        x = torch.randn(2, 3, requires_grad=True)
        with record(net) as recording:
            net(x).sum().backward()
        (root,) = recording.calls("")
        self.assertIn("backward_gap", root.flags)
        self.assertIsNone(root.backward_ns)
        (gradient,) = root.grad_inputs
        self.assertAlmostEqual(gradient.mean, x.grad.mean().item(), places=5)
        for name in ("parts.0", "parts.1"):
            (call,) = recording.calls(name)
            self.assertEqual("backward_gap" in call.flags, call.backward_ns is None)
            if call.backward_ns:
                self.check(call.backward_ns, net.get_submodule(name)[0].slept)

    def test_merged_calls(self):
        cell = nn.Linear(3, 3)
        x = torch.randn(2, 3, requires_grad=True)
        with record(cell) as recording:
            y = x
            for _ in range(80):
                y = cell(y)
            y.sum().backward()
        for call in recording.calls(""):
            self.assertGreater(call.backward_ns, 0)
            self.assertEqual(len(call.grad_outputs), 1)
            self.assertEqual(len(call.grad_inputs), 1)


if __name__ == "__main__":
    unittest.main()
