# flavours: both
"""Gradients of calls, case by case: hooks on autograd's nodes of a model against
torch's full backward hooks on a twin that writes nothing in place. The numbers are the
same: extremes and zeros equal, sums within 1e-11 of each other. Gradients that cannot
be measured are gaps, listed here and in docs/python.md."""

import math
import os
import threading
import unittest
import warnings

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

import torch  # noqa: E402
from torch import nn  # noqa: E402

from torchoscope import record  # noqa: E402

torch.set_num_threads(1)
NEW = hasattr(torch, "compiler")


def numbers(gradient):
    """The numbers that identify a gradient."""
    gradient = gradient.detach()
    if gradient.is_sparse:
        gradient = gradient.to_dense()
    wide = gradient.double()
    return {
        "shape": list(gradient.shape),
        "dtype": str(gradient.dtype).removeprefix("torch."),
        "min": wide.min().item(),
        "max": wide.max().item(),
        "zeros": int((wide == 0).sum()),
        "mean": wide.mean().item(),
        "l2": wide.norm().item(),
    }


def told(value):
    names = ("dtype", "min", "max", "zeros", "mean", "l2")
    return {"shape": list(value.shape), **{key: getattr(value, key) for key in names}}


def same(a, b):
    exact = all(a[key] == b[key] for key in ("shape", "dtype", "min", "max", "zeros"))
    sums = (math.isclose(a[k], b[k], rel_tol=1e-11, abs_tol=1e-9) for k in ("mean", "l2"))
    return exact and all(sums)


def by_full_hooks(model, run):
    """name -> [(gradients of arguments, of results), ...] in the order of the calls."""
    found, ends = {}, []
    for name, module in model.named_modules():

        def full(module, inputs, outputs, name=name):
            pair = [[numbers(g) for g in one if g is not None] for one in (inputs, outputs)]
            found.setdefault(name, []).append(pair)

        ends.append(module.register_full_backward_hook(full))
    run(model)
    for end in ends:
        end.remove()
    return {name: calls[::-1] for name, calls in found.items()}


def weights(n):
    return torch.linspace(-1, 2, n)


def weighted(made):
    return (made * weights(made.numel()).reshape(made.shape)).sum()


# --- models; each is made with in_place true and false, from one seed


class Affine(nn.Module):
    """Views and writing in place, in one module and between modules."""

    def __init__(self, in_place):
        super().__init__()
        self.in_place = in_place
        self.first = nn.Linear(6, 8)
        self.relu = nn.ReLU(in_place)
        self.last = nn.Linear(8, 2)

    def forward(self, x):
        y = self.first(x) * 1.5
        if self.in_place:
            y[:, 6:].mul_(2)
            self.relu(y[:, 2:6])
        else:
            y = torch.cat([y[:, :2], self.relu(y[:, 2:6]), y[:, 6:] * 2], 1)
        return self.last(y)


class Scale(nn.Module):
    def __init__(self, in_place):
        super().__init__()
        self.in_place = in_place

    def forward(self, x):
        return x.mul_(2).add_(0.25) if self.in_place else x * 2 + 0.25


class Chain(nn.Module):
    """Written several times in a row, across modules."""

    def __init__(self, in_place):
        super().__init__()
        self.in_place = in_place
        self.first, self.norm = nn.Linear(6, 8), nn.BatchNorm1d(8)
        self.scale, self.relu = Scale(in_place), nn.ReLU(in_place)

    def forward(self, x):
        y = self.scale(self.norm(self.first(x)))
        if self.in_place:
            y -= 0.5
        else:
            y = y - 0.5
        return self.relu(self.scale(y))


class Shares(nn.Module):
    def __init__(self, in_place):
        super().__init__()
        self.layer = nn.Linear(6, 6)
        self.tied = self.layer

    def forward(self, x):
        return self.tied(x + self.layer(torch.tanh(self.layer(x))))


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(6, 3), nn.Linear(6, 4)

    def forward(self, x):
        return self.left(x), self.right(x)


class Pairs(nn.Module):
    """A result that is a tuple."""

    def __init__(self, in_place):
        super().__init__()
        self.pair = Pair()

    def forward(self, x):
        return torch.cat(self.pair(x), 1)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 3 * x * x * gradient


class Custom(nn.Module):
    def forward(self, x):
        return Cube.apply(x)


class Changed(nn.Module):
    """A hook of the user on a tensor changes its gradient."""

    def __init__(self, in_place):
        super().__init__()
        self.first, self.last = nn.Linear(6, 6), nn.Linear(6, 2)

    def forward(self, x):
        y = self.first(x)
        y.register_hook(lambda gradient: gradient * 2 + 1)
        return self.last(y)


class Waves(nn.Module):
    def __init__(self, in_place):
        super().__init__()
        self.first, self.turn, self.last = nn.Linear(6, 6), Turn(), nn.Linear(6, 2)

    def forward(self, x):
        return self.last(self.turn(torch.complex(self.first(x), x)).abs())


class Turn(nn.Module):
    def forward(self, x):
        return x * torch.tensor(1 + 2j, dtype=torch.complex64)


class Words(nn.Module):
    def __init__(self, in_place):
        super().__init__()
        self.words = nn.Embedding(9, 6, sparse=True)
        self.last = nn.Linear(6, 2)

    def forward(self, x):
        return self.last(self.words(x.abs().long().clamp(0, 8)).sum(1))


def sequence(*layers):
    return lambda in_place: nn.Sequential(*(make(in_place) for make in layers))


def plain(kind, *args):
    return lambda in_place: kind(*args)


CASES = {
    "in-place ReLU after BN": sequence(
        plain(nn.Linear, 6, 5), plain(nn.BatchNorm1d, 5), nn.ReLU, plain(nn.Linear, 5, 2)
    ),
    "views written in place": Affine,
    "written several times": Chain,
    "tied and called again": Shares,
    "a tuple": Pairs,
    "custom Function": sequence(plain(nn.Linear, 6, 5), plain(Custom)),
    "a hook that changes gradients": Changed,
    "sparse": Words,
}


def calls_of(model, name, recording):
    """All calls of a module, by whichever of its names."""
    module = model.get_submodule(name)
    names = {n for n, one in model.named_modules(remove_duplicate=False) if one is module}
    return [call for call in recording.calls() if call.name in names]


class Cases(unittest.TestCase):
    def setUp(self):
        warnings.filterwarnings("ignore", "Full backward hook is firing")

    def compare(self, make, run):
        torch.manual_seed(1)
        model = make(True)
        torch.manual_seed(1)
        wanted = by_full_hooks(make(False), run)
        with record(model, mode="exact") as recording:
            run(model)
        self.assertEqual([g.text for g in recording.gaps if g.kind == "gradient"], [])
        self.assertEqual(recording.facts.get("errors", 0), 0)
        n = 0
        for name, rows in wanted.items():
            found = calls_of(model, name, recording)
            self.assertEqual(len(found), len(rows), name)
            for call, (inputs, outputs) in zip(found, rows):
                n += self.check(name, call.grad_inputs, inputs)
                n += self.check(name, call.grad_outputs, outputs)
        self.assertGreater(n, 2)
        return recording

    def check(self, name, values, wanted):
        """Gradients in the order of their paths; backward gives them in its own
        order."""
        self.assertEqual(len(values), len(wanted), (name, values, wanted))
        for value, gradient in zip(sorted(values, key=lambda v: v.path), wanted):
            self.assertTrue(same(told(value), gradient), (name, told(value), gradient))
        return len(wanted)

    def test_all_cases(self):
        for needs in (True, False):
            x = torch.linspace(-3, 4, 24).reshape(4, 6).requires_grad_(needs)
            for case, make in CASES.items():
                if case == "a hook that changes gradients" and not NEW:
                    continue  # torch 1.13 runs it after the recorder's
                with self.subTest(case, needs=needs):
                    self.compare(make, lambda model: weighted(model(x)).backward())

    def test_autocast(self):
        x = torch.linspace(-3, 4, 24).reshape(4, 6).requires_grad_()

        def run(model):
            with torch.autocast("cpu", torch.bfloat16):
                made = model(x)
            weighted(made.float()).backward()

        make = sequence(plain(nn.Linear, 6, 5), nn.ReLU, plain(nn.Linear, 5, 2))
        recording = self.compare(make, run)
        (value,) = recording.calls("0")[0].grad_outputs
        self.assertEqual(value.dtype, "bfloat16")

    def test_accumulated_over_several_backwards(self):
        xs = [torch.randn(4, 6, requires_grad=True) for _ in range(3)]

        def run(model):
            made = [weighted(model(x)) for x in xs]
            for one in made[::-1]:
                one.backward()

        self.compare(Chain, run)

    def test_gradients_of_gradients(self):
        """The first backward is recorded as torch reports it. In the second, gradients
        also reach calls by other paths; what each call got is recorded, too."""
        x = torch.linspace(-3, 4, 24).reshape(4, 6).requires_grad_()
        make = sequence(plain(nn.Linear, 6, 5), plain(nn.Tanh), plain(nn.Linear, 5, 2))

        def once(model):
            return torch.autograd.grad(weighted(model(x)), x, create_graph=True)[0]

        torch.manual_seed(1)
        wanted = by_full_hooks(make(False), once)
        torch.manual_seed(1)
        model = make(True)
        with record(model, mode="exact") as recording:
            once(model).pow(2).sum().backward()
        for name, ((inputs, outputs),) in wanted.items():
            (call,) = recording.calls(name)
            self.check(name, call.grad_inputs[:1], inputs)
            self.check(name, call.grad_outputs[:1], outputs)
        self.assertEqual(len(recording.calls("1")[0].grad_outputs), 2)

    def test_an_unused_result_has_no_gradient(self):
        """No gradient reaches it and none is recorded; full backward hooks report
        zeros."""
        x = torch.linspace(-3, 4, 24).reshape(4, 6).requires_grad_()
        torch.manual_seed(1)
        model = Pair()

        def run(model):
            weighted(model(x)[1]).backward()

        wanted = by_full_hooks(model, run)
        with record(model, mode="exact") as recording:
            run(model)
        ((inputs, outputs),) = wanted[""]
        (call,) = recording.calls("")
        self.assertEqual([value.path for value in call.grad_outputs], ["[1]"])
        self.check("", call.grad_outputs, outputs)
        self.check("", call.grad_inputs, inputs)
        ((inputs, _),) = wanted["left"]
        self.assertEqual(inputs[0]["zeros"], 24)
        (call,) = recording.calls("left")
        self.assertEqual(call.grad_inputs + call.grad_outputs, [])

    @unittest.skipUnless(NEW, "this torch does not number the nodes of its graph")
    def test_thousands_of_tensors_of_earlier_calls(self):
        class Store(nn.Module):
            def __init__(self):
                super().__init__()
                self.kept = []

            def forward(self, x):
                if len(self.kept) < 20000:
                    self.kept.extend(x * i for i in range(20000))
                    return x * 2
                return torch.stack(self.kept).sum(0) * x

        model = Store()
        x = torch.linspace(-3, 4, 4).requires_grad_()
        with record(model, mode="exact") as recording:
            first = model(x * 1)
            weighted(model(x * 3)).backward()
        self.assertIsNotNone(first)
        (value,) = recording.calls("")[1].grad_inputs
        kept = x.detach() * sum(range(20000))
        self.assertAlmostEqual(value.l2 / (kept * weights(4)).norm().item(), 1, 5)

    def test_complex(self):
        """Complex numbers are counted, not measured: `why` says so, or they have
        numbers. The layers around them are measured as usual."""
        x = torch.linspace(-3, 4, 24).reshape(4, 6).requires_grad_()
        model = Waves(True)
        with record(model) as recording:
            weighted(model(x)).backward()
        (call,) = recording.calls("turn")
        for values in (call.grad_inputs, call.grad_outputs):
            (value,) = values
            self.assertEqual((value.dtype, list(value.shape)), ("complex64", [4, 6]))
        (value,) = recording.calls("first")[0].grad_inputs
        self.assertIsNotNone(value.l2)

    def test_expanded(self):
        """sum() returns one number, expanded to 12."""
        model = nn.Linear(6, 3)
        with record(model) as recording:
            model(torch.randn(4, 6)).sum().backward()
        (value,) = recording.calls("")[0].grad_outputs
        self.assertEqual((value.numel, value.min, value.max), (12, 1, 1))

    def test_a_dict(self):
        """Full backward hooks do not see these: compared with hooks on tensors."""

        class Dict(nn.Module):
            def forward(self, x):
                return {"a": x * 2, "b": [x * 3, None, x.detach()]}

        model = Dict()
        x = torch.linspace(-3, 4, 24).reshape(4, 6).requires_grad_()
        with record(model, mode="exact") as recording:
            made = model(x)
            (weighted(made["a"]) + weighted(made["b"][0]) * 5).backward()
        (call,) = recording.calls("")
        paths = {value.path: told(value) for value in call.grad_outputs}
        self.assertEqual(sorted(paths), ["a", "b[0]"])
        one = torch.linspace(-1, 2, 24).reshape(4, 6)
        self.assertTrue(same(paths["a"], numbers(one)))
        self.assertTrue(same(paths["b[0]"], numbers(one * 5)))
        (value,) = call.grad_inputs
        self.assertTrue(same(told(value), numbers(x.grad)))

    def test_threads(self):
        """One graph made by several threads: replicas like those of DataParallel."""

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleList([nn.Linear(6, 3), nn.Linear(6, 3)])

            def forward(self, x):
                made = [None, None]

                def run(i):
                    # The second thread has made many nodes before, so node numbers are
                    # not comparable.
                    for _ in range(20 * i):
                        self.parts[i](x)
                    made[i] = self.parts[i](torch.tanh(x))

                for i in (0, 1):
                    thread = threading.Thread(target=run, args=(i,))
                    thread.start()
                    thread.join()
                return torch.cat(made, 1)

        model = Net()
        x = torch.linspace(-3, 4, 24).reshape(4, 6).requires_grad_()
        with record(model, mode="exact") as recording:
            weighted(model(x)).backward()
        (value,) = recording.calls("")[0].grad_inputs
        self.assertTrue(same(told(value), numbers(x.grad)))
        for name in ("parts.0", "parts.1"):
            (values,) = (c.grad_inputs for c in recording.calls(name) if c.grad_inputs)
            self.assertEqual(len(values), 1)

    def test_backwards_at_the_same_time(self):
        model = Shares(True)
        xs = [torch.full((4, 6), i + 1.0, requires_grad=True) for i in range(4)]

        def run(x):
            for _ in range(8):
                x.grad = None
                model(x).sum().backward()

        with record(model, mode="exact") as recording:
            threads = [threading.Thread(target=run, args=(x,)) for x in xs]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(recording.facts.get("errors", 0), 0)
        wanted = sorted(numbers(x.grad)["l2"] for x in xs)
        found = sorted(c.grad_inputs[0].l2 for c in recording.calls(""))[::8]
        for a, b in zip(found, wanted):
            self.assertTrue(math.isclose(a, b, rel_tol=1e-6))

    @unittest.skipUnless(NEW, "torch.func came with torch 2")
    def test_torch_func_is_a_gap(self):
        """grad() and vmap() of torch.func run a separate graph inside forward; its
        nodes are
freed when forward ends, or carry no information. Calls are recorded without
gradients, and the result is the same as without a recording."""
        model = nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 1))
        weights = dict(model.named_parameters())
        x = torch.randn(4, 6)

        def loss(weights, x):
            return torch.func.functional_call(model, weights, (x,)).sum()

        each = torch.func.vmap(torch.func.grad(loss), (None, 0))
        wanted = each(weights, x)
        with record(model) as recording:
            found = each(weights, x)
        for name in wanted:
            self.assertTrue(torch.equal(found[name], wanted[name]))
        self.assertEqual(recording.facts.get("errors", 0), 0)
        for call in recording.calls():
            for value in call.grad_inputs + call.grad_outputs:
                self.assertIsNone(value.l2)
                self.assertIsNotNone(value.why)

    @unittest.skipUnless(NEW, "this torch has no compiler")
    def test_a_compiled_module_has_gradients_at_its_border(self):
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 2))
        x = torch.linspace(-3, 4, 24).reshape(4, 6).requires_grad_()
        try:
            compiled = torch.compile(model, backend="aot_eager")
            compiled(x)
        except Exception as error:
            self.skipTest(f"it does not compile here: {error}")
        with record(compiled, mode="exact") as recording:
            weighted(compiled(x)).backward()
        call = recording.calls("")[0]
        wanted = by_full_hooks(model, lambda model: weighted(model(x)).backward())
        ((inputs, outputs),) = wanted[""]
        self.check("", call.grad_inputs, inputs)
        self.check("", call.grad_outputs, outputs)


class Merged(unittest.TestCase):
    """Beyond 64 calls gradients are merged, except for those of the newest call."""

    def check(self, recording, gradients, newest):
        (merged,) = recording._run.merged("")
        (io,) = (io for io in merged["ios"] if io["kind"] == "grad_out")
        stats, rest = io["stats"], gradients[64:]
        shape = rest[0]["shape"]
        self.assertEqual(io["shapes"], [shape])
        self.assertEqual(stats["count"], len(rest) * math.prod(shape))
        self.assertEqual(stats["min"], min(one["min"] for one in rest))
        self.assertEqual(stats["max"], max(one["max"] for one in rest))
        mean = sum(one["mean"] for one in rest) / len(rest)
        self.assertAlmostEqual(stats["mean"], mean, places=9)
        l2 = math.sqrt(sum(one["l2"] ** 2 for one in rest))
        self.assertTrue(math.isclose(stats["l2"], l2, rel_tol=1e-9))
        call = recording.calls("")[-1]
        self.assertEqual(call.number, newest)
        (value,) = call.grad_outputs
        self.assertTrue(same(told(value), gradients[newest]), (value, gradients[newest]))

    def test_a_cell_that_is_unrolled(self):
        torch.manual_seed(1)
        cell = nn.Linear(6, 6)
        x = torch.randn(3, 6, requires_grad=True)

        def run(cell):
            y = x
            for _ in range(200):
                y = torch.tanh(cell(y))
            weighted(y).backward()

        wanted = [pair[1][0] for pair in by_full_hooks(cell, run)[""]]
        with record(cell, mode="exact") as recording:
            run(cell)
        self.assertEqual(len(wanted), 200)
        for i in range(64):
            (value,) = recording.calls("")[i].grad_outputs
            self.assertTrue(same(told(value), wanted[i]))
        self.check(recording, wanted, 199)

    def test_many_steps(self):
        torch.manual_seed(1)
        model = nn.Linear(6, 3)
        wanted = []
        with record(model, mode="exact") as recording:
            for step in range(100):
                scale = torch.full((2, 3), step + 1.0)
                wanted.append(numbers(scale))
                (model(torch.randn(2, 6)) * scale).sum().backward()
        self.check(recording, wanted, 99)

    def test_backwards_in_the_order_of_the_calls(self):
        torch.manual_seed(1)
        model = nn.Linear(6, 3)
        wanted, made = [], []
        with record(model, mode="exact") as recording:
            for step in range(100):
                scale = torch.full((2, 3), step + 1.0)
                wanted.append(numbers(scale))
                made.append((model(torch.randn(2, 6)) * scale).sum())
            for one in made:
                one.backward()
        self.check(recording, wanted, 99)


if __name__ == "__main__":
    unittest.main()
