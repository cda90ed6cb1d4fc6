"""Operations in unusual cases: recorded, or reported as a gap; results are the same as
without recording, and nothing raises."""

import copy
import resource
import threading
import unittest
import warnings
from concurrent.futures import ThreadPoolExecutor

try:
    import torch
    from torch import nn
    from torch._dynamo.utils import counters
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
    from torch.nn.attention import flex_attention
    from torch.utils import _python_dispatch as dispatch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_map_only
    from torch.utils.checkpoint import checkpoint
    import torchoscope
    from torchoscope import op_kinds
except ImportError as error:
    raise unittest.SkipTest(f"no torch, or an old one: {error}")

if op_kinds.why_not():
    raise unittest.SkipTest(op_kinds.why_not())

torch.set_num_threads(1)


def numbers(result):
    """The bits of a result to compare."""
    if isinstance(result, (list, tuple)):
        return [numbers(one) for one in result]
    if not isinstance(result, torch.Tensor):
        return result
    if result.is_nested:
        return [numbers(one) for one in result.unbind()]
    result = result.detach()
    if result.layout != torch.strided:
        result = result.to_dense()
    if result.device.type == "meta" or type(result) is FakeTensor:
        return tuple(result.shape), result.dtype
    result = result.int_repr() if result.is_quantized else result.resolve_conj()
    return result.as_subclass(torch.Tensor).tolist()


class Calls(nn.Module):
    """A linear layer, and a forward that is a function of the module and its input."""

    def __init__(self, function, *inner):
        super().__init__()
        self.lin, self.inner = nn.Linear(4, 4), nn.ModuleList(inner)
        self.function = function

    def forward(self, *args):
        return self.function(self, *args)


def one_pass(model, *args):
    """The result and all gradients."""
    result = model(*args)
    if result.requires_grad:
        result.sum().backward()
    return [result, *(one.grad for one in model.parameters() if one.grad is not None)]


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 3 * x**2


class Wrapper(torch.Tensor):
    """Computes with another tensor."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args, kwargs = tree_map_only(cls, lambda one: one.inner, (args, kwargs or {}))
        return tree_map_only(torch.Tensor, cls, func(*args, **kwargs))


class Named(torch.Tensor):
    """Defines __torch_function__."""

    seen = 0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen += 1
        return super().__torch_function__(func, types, args, kwargs or {})


class Counts(TorchDispatchMode):
    """A dispatch mode of the user."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func._schema.name)
        return func(*args, **(kwargs or {}))


class OddCase(unittest.TestCase):
    def same(self, make, **options):
        """Run make()() with and without recording; results must be equal. make() is
        called with None or the recording."""
        results, recording = [], None
        for recorded in (False, True):
            torch.manual_seed(0)
            model, go = make()
            torch.manual_seed(1)
            if recorded:
                with torchoscope.record(model, ops=True, **options) as recording:
                    result = go()
            else:
                result = go()
            results.append(numbers(result))
        self.assertEqual(str(results[1]), str(results[0]))
        self.assertEqual(torch._C._len_torch_dispatch_stack(), 0)
        self.assertFalse(dispatch._is_in_torch_dispatch_mode)
        self.assertEqual(recording.facts.get("errors", 0), 0)
        self.assertNotIn("error", [gap.kind for gap in recording.gaps])
        return recording

    def passes(self, function, *inner):
        """One pass of Calls(function)."""

        def make():
            model, x = Calls(function, *map(copy.deepcopy, inner)), torch.randn(2, 4)
            return model, lambda: one_pass(model, x)

        return self.same(make)

    def names(self, recording, **wanted):
        return [op.name for op in recording.ops(**wanted)]

    def gap(self, recording, text):
        self.assertIn(text, " ".join(gap.text for gap in recording.gaps))


class HigherOrderTest(OddCase):
    def test_cond(self):
        def forward(self, x):
            return torch.cond(
                x.sum() > 0, lambda x: self.lin(x).relu(), lambda x: self.lin(x), (x,)
            )

        recording = self.passes(forward)
        regions = [op for op in recording.ops() if "region" in op.flags]
        self.assertEqual(
            [(op.name, op.phase) for op in regions],
            [("higher_order::cond", "forward"), ("higher_order::cond", "backward")],
        )
        self.assertEqual(regions[0].outputs[0].shape, (2, 4))
        self.assertEqual(len(regions[0].inputs), 4)

    def test_while_loop(self):
        def forward(self, x):
            with torch.no_grad():
                return torch.while_loop(
                    lambda i, x: i < 3, lambda i, x: (i + 1, self.lin(x)), (torch.tensor(0), x)
                )[1]

        recording = self.passes(forward)
        self.assertIn("higher_order::while_loop", self.names(recording))

    def test_flex_attention(self):
        def forward(self, x):
            q = self.lin(x).view(1, 1, 2, 4).detach()
            return flex_attention.flex_attention(q, q, q)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            recording = self.passes(forward)
        self.assertIn("higher_order::flex_attention", self.names(recording))

    def test_functions_of_torch_func(self):
        def sample_gradients(self, x):
            weights = dict(self.lin.named_parameters())

            def loss(weights, x):
                return torch.func.functional_call(self.lin, weights, (x,)).sum()

            return torch.vmap(torch.func.grad(loss), (None, 0))(weights, x)["weight"]

        forwards = {
            "vmap": lambda self, x: torch.vmap(self.lin)(x),
            "grad": lambda self, x: torch.func.grad(lambda z: self.lin(z).exp().sum())(x),
            "jvp": lambda self, x: torch.func.jvp(self.lin, (x,), (x,))[1],
            "jacrev": lambda self, x: torch.func.jacrev(self.lin)(x[0]),
            "samples": sample_gradients,
            "functional_call": lambda self, x: torch.func.functional_call(
                self.lin, {"weight": torch.eye(4)}, (x,)
            ),
        }
        for name, forward in forwards.items():
            with self.subTest(name):
                found = self.names(self.passes(forward), phase="forward")
                self.assertTrue([one for one in found if "mm" in one], found)

    def test_compiled_models(self):
        ran = []

        def backend(graph, example):
            def run(*args):
                ran.append(1)
                return graph(*args)

            return run

        def forward(self, x):
            return self.lin(x).relu()

        for when in ("before", "inside", "in place"):
            with self.subTest(when):
                torch._dynamo.reset()
                counters.clear()
                ran.clear()
                model, x = Calls(forward), torch.randn(2, 4)
                expected = numbers(model(x))
                compiled = model
                if when == "in place":
                    model.compile(backend=backend)
                elif when == "before":
                    compiled = torch.compile(model, backend=backend)
                if when != "inside":
                    compiled(x)
                with torchoscope.record(model, ops=True) as recording:
                    if when == "inside":
                        compiled = torch.compile(model, backend=backend)
                    self.assertEqual(numbers(compiled(x)), expected)
                    compiled(x).sum().backward()
                compiled(x)
                self.assertEqual(len(ran), 3 if when == "inside" else 4)
                self.assertEqual(counters["stats"]["unique_graphs"], 1)
                self.assertFalse(counters["graph_break"])
                regions = [op for op in recording.ops() if "region" in op.flags]
                self.assertEqual([op.name for op in regions], ["compiled::region"] * 2)
                for op in regions:
                    self.assertEqual([one.shape for one in op.inputs], [(2, 4)])
                    self.assertEqual([one.shape for one in op.outputs], [(2, 4)])

    def test_backward_of_compiled_code_is_a_gap(self):
        torch._dynamo.reset()
        model = nn.Linear(4, 4)
        compiled = torch.compile(model, backend="aot_eager")
        with torchoscope.record(model, ops=True) as recording:
            compiled(torch.randn(2, 4)).sum().backward()
        self.gap(recording, "Compiled code ran in backward")

    def test_torchscript(self):
        def model(make):
            inner = make(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
            whole, x = nn.Sequential(nn.Linear(4, 4), inner), torch.randn(2, 4)
            return whole, lambda: [one_pass(whole, x) for _ in range(3)]

        def traced(module):
            return torch.jit.trace(module, torch.randn(2, 4))

        for make in (torch.jit.script, traced):
            with self.subTest(make.__name__), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                recording = self.same(lambda make=make: model(make))
                self.gap(recording, "inside TorchScript")
                modules = {op.module for op in recording.ops(phase="forward")}
                self.assertEqual(modules, {"0", "1", None})


class KindsOfOperationsTest(OddCase):
    def test_custom_operations(self):
        with torch.library._scoped_library("ops_cases", "DEF") as library:
            library.define("twice(Tensor x) -> Tensor")
            library.define("fill(Tensor(a!) x, int n=2) -> ()")
            library.impl("twice", lambda x: x * 2, "CPU")
            library.impl("fill", lambda x, n=2: [x.fill_(n), None][1], "CPU")
            torch.library.register_autograd(
                "ops_cases::twice", lambda ctx, gradient: gradient * 2, lib=library
            )

            def forward(self, x):
                other = torch.zeros(2, 4)
                torch.ops.ops_cases.fill(other, 3)
                return torch.ops.ops_cases.twice(self.lin(x)) + other

            recording = self.passes(forward)
        twice, fill = (recording.ops(name=f"ops_cases::{one}")[0] for one in ("twice", "fill"))
        self.assertIn("custom", twice.flags)
        self.assertEqual(fill.attributes, {"n": 3})
        self.assertEqual([one.arg for one in fill.written], ["x"])
        after = recording.ops(phase="backward")
        self.assertIn("aten::mul", [op.name for op in after if op.cause == twice])

    def test_double_backward(self):
        def make():
            model = Calls(lambda self, x: Cube.apply(self.lin(x)))
            x = torch.randn(2, 4, requires_grad=True)

            def go():
                y = model(x)
                (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
                gradient.square().sum().backward()
                return [y, gradient, model.lin.weight.grad]

            return model, go

        recording = self.same(make)
        found = {op.module for op in recording.ops(phase="backward")}
        self.assertEqual(found, {"", "lin", None})
        # sum and square of the second loss, and the initial gradient of each backward
        outside = [op for op in recording.ops(phase="backward") if op.module is None]
        self.assertLess(len(outside), 9)

    def test_checkpoints(self):
        def whole(again):
            return lambda self, x: checkpoint(self.inner[0], self.lin(x), use_reentrant=again)

        def part(again):
            def forward(self, x):
                return checkpoint(lambda z: z.sin().exp(), self.lin(x), use_reentrant=again)

            return forward

        block = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Tanh())
        for again in (False, True):
            with self.subTest("module", use_reentrant=again):
                recording = self.passes(whole(again), block)
                found = [op for op in recording.ops(phase="recompute")]
                self.assertIn("aten::addmm", [op.name for op in found])
                self.assertEqual(
                    {op.module for op in found if op.name != "aten::detach"},
                    {"inner.0.0", "inner.0.1", "inner.0.2"},
                )
            with self.subTest("function", use_reentrant=again):
                found = self.names(self.passes(part(again)), phase="recompute")
                self.assertEqual([n for n in found if n == "aten::sin"], ["aten::sin"])

    def test_autocast_and_scaler(self):
        def make():
            model = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 4))
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            scaler, x = torch.amp.GradScaler("cpu"), torch.randn(2, 4)

            def go():
                for _ in range(2):
                    optimizer.zero_grad()
                    with torch.autocast("cpu", torch.bfloat16):
                        y = model(x)
                    scaler.scale(y.float().sum()).backward()
                    scaler.step(optimizer)
                    scaler.update()
                return [y, *model.parameters()]

            return model, go

        recording = self.same(make)
        found = [op for op in recording.ops("0", phase="forward")]
        self.assertIn("bfloat16", [one.dtype for op in found for one in op.outputs])
        self.assertTrue(recording.ops(phase="optimizer"))

    def test_layouts_and_dtypes(self):
        places = torch.tensor([[0, 1], [1, 0]])

        def sparse(self, x):
            return torch.sparse_coo_tensor(places, torch.ones(2), (2, 2)) @ self.lin(x)

        def nested(layout):
            def forward(self, x):
                pair = torch.nested.nested_tensor([x[:1], x], layout=layout)
                return torch.nested.to_padded_tensor(self.lin(pair), 0.0)

            return forward

        def quantised(self, x):
            q = torch.quantize_per_tensor(self.lin(x).detach(), 0.1, 0, torch.qint8)
            return q.dequantize()

        forwards = {
            "coo": sparse,
            "csr": lambda self, x: torch.eye(2).to_sparse_csr() @ self.lin(x),
            "strided": nested(torch.strided),
            "jagged": nested(torch.jagged),
            "quantised": quantised,
            "complex": lambda self, x: torch.fft.ifft(torch.fft.fft(self.lin(x)) * 1j).conj().real,
        }
        for name, forward in forwards.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                recording = self.passes(forward)
                modules = {op.module for op in recording.ops(phase="forward")}
                self.assertLessEqual({"", "lin"}, modules)

    def test_quantised_modules(self):
        def make():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = torch.ao.quantization.quantize_dynamic(
                    nn.Sequential(nn.Linear(4, 4), nn.ReLU()), {nn.Linear}
                )
            return model, lambda: model(torch.ones(2, 4))

        self.assertIn("quantized::linear_dynamic", self.names(self.same(make)))

    def test_tensors_without_memory(self):
        def meta():
            model, x = nn.Linear(4, 4, device="meta"), torch.randn(2, 4, device="meta")
            return model, lambda: one_pass(model, x)

        def fake():
            mode = FakeTensorMode()
            with mode:
                model, x = nn.Linear(4, 4), torch.randn(2, 4)

            def go():
                with mode:
                    return one_pass(model, x)

            return model, go

        for make in (meta, fake):
            with self.subTest(make.__name__):
                recording = self.same(make)
                self.assertIn("aten::addmm", self.names(recording, phase="forward"))
                self.assertIn("aten::mm", self.names(recording, phase="backward"))

    def test_subclasses(self):
        def wrapper():
            model, x = nn.Linear(4, 4), torch.randn(2, 4)

            def go():
                with torch.no_grad():
                    return model(Wrapper(x)).inner

            return model, go

        def named():
            model, x = nn.Linear(4, 4), torch.randn(2, 4).as_subclass(Named)

            def go():
                before = Named.seen
                result = model(x)
                return [result, Named.seen - before]

            return model, go

        self.assertIn("aten::addmm", self.names(self.same(wrapper)))
        self.assertIn("aten::addmm", self.names(self.same(named)))

    def test_writes(self):
        def out(self, x):
            with torch.no_grad():
                made = torch.empty(2, 4)
                torch.add(self.lin(x), 1, out=made)
                made[0] = 1
                made.t()[1:].mul_(3)
                made.data.add_(1)
                return made

        def data(self, x):
            self.lin.weight.data.mul_(0.5)
            self.lin.weight.data = self.lin.weight.data.clone()
            return self.lin(x)

        recording = self.passes(out)
        (added,) = recording.ops(name="aten::add", phase="forward").filter(module="")
        self.assertEqual([one.arg for one in added.written], ["out"])
        self.assertIn("aten::mul_", self.names(self.passes(data)))

    def test_generators(self):
        def drawn(self, x):
            chance = torch.Generator().manual_seed(3)
            return self.lin(x) + torch.rand(4, generator=chance)

        def make():
            model = Calls(lambda self, xs: sum(self.lin(x) for x in xs))
            return model, lambda: model(torch.ones(1, 4) * i for i in range(3))

        self.assertIn("aten::rand", self.names(self.passes(drawn)))
        self.assertEqual(self.names(self.same(make)).count("aten::addmm"), 3)

    def test_a_model_without_parameters(self):
        model = nn.Sequential(nn.ReLU(), nn.Flatten())
        x = torch.ones(2, 2, 2)
        recording = self.same(lambda: (model, lambda: model(x)))
        self.assertEqual(self.names(recording), ["aten::relu", "aten::view"])

    def test_a_deep_chain(self):
        def forward(self, x):
            x = self.lin(x)
            for _ in range(10000):
                x = x.sin()
            return x

        recording = self.passes(forward)
        self.assertEqual(self.names(recording).count("aten::sin"), 10000)
        self.assertEqual(len(recording.graph("ops").nodes) > 20000, True)

    def test_a_graph_made_before_the_recording(self):
        def make():
            model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
            y = model(torch.ones(2, 4))
            return model, lambda: [y.exp().sum().backward(), model[0].weight.grad]

        recording = self.same(make)
        known = {op.module for op in recording.ops(phase="backward")}
        self.assertEqual(known, {None, "0"})
        for op in recording.ops("0", phase="backward"):
            self.assertIsNotNone(op.gradient)

    def test_raising(self):
        def forward(self, x):
            return self.lin(x) @ torch.ones(3, 3)

        model = Calls(forward)
        with torchoscope.record(model, ops=True) as recording:
            with self.assertRaisesRegex(RuntimeError, "shapes cannot be multiplied"):
                model(torch.ones(2, 4))
        self.assertEqual(self.names(recording)[-2:], ["aten::ones", "aten::mm"])
        flags = [op.flags for op in recording.ops()]
        self.assertEqual(["raised" in one for one in flags], [False] * 4 + [True])
        self.assertEqual(recording.ops()[-1].outputs, [])

    def test_an_exception_survives_the_end_of_a_graph(self):
        def stop(error):
            raise error

        for error in (KeyboardInterrupt, ValueError):
            for ops in (False, True):
                # The result of lin is freed while the exception propagates.
                model = Calls(lambda self, x: [self.lin(x), stop(error("told"))])
                with torchoscope.record(model, ops=ops):
                    with self.assertRaisesRegex(error, "told"):
                        model(torch.ones(2, 4))


class ModesAndThreadsTest(OddCase):
    def test_modes_of_the_user(self):
        def make():
            # Its input has two gradients, which the recording adds up too.
            model = nn.Sequential(nn.Linear(4, 4), Calls(lambda self, x: self.lin(x) + x))

            def go():
                with Counts() as counts:
                    model(torch.ones(2, 4)).sum().backward()
                return [model[0].weight.grad, counts.names]

            return model, go

        recording = self.same(make)
        self.assertIn("aten::addmm", self.names(recording))
        model = nn.Linear(4, 4)
        with Counts() as counts, torchoscope.record(model, ops=True) as recording:
            model(torch.ones(2, 4))
        self.assertEqual(self.names(recording), ["aten::ones", "aten::t", "aten::addmm"])
        self.assertEqual(counts.names, self.names(recording))

    def test_stop_under_a_mode_of_the_user(self):
        model = nn.Linear(4, 4)
        recording = torchoscope.record(model, ops=True)
        recording.__enter__()
        with Counts() as counts:
            model(torch.ones(2, 4))
            recording.stop()
            self.assertEqual(op_kinds._stack(), [counts])
            model(torch.ones(2, 4))
        self.assertEqual(len(counts.names), 6)
        self.assertEqual(len(recording.ops()), 3)
        self.assertEqual(torch._C._len_torch_dispatch_stack(), 0)
        self.assertFalse(dispatch._is_in_torch_dispatch_mode)

    def test_two_recordings(self):
        first, second, x = nn.Linear(4, 4), nn.Linear(4, 4), torch.ones(2, 4)
        with torchoscope.record(first, ops="stats") as outer:
            with torchoscope.record(second, ops="replay") as inner:
                second(first(x) + first(x)).sum().backward()
        for one in ("forward", "backward"):
            self.assertEqual(self.names(outer, phase=one), self.names(inner, phase=one))
        self.assertEqual({op.module for op in outer.ops()}, {"", None})
        self.assertEqual(len(inner.ops("", name="addmm")), 1)
        self.assertEqual(len(outer.ops("", name="addmm")), 2)

    def test_recordings_that_overlap(self):
        model = nn.Linear(4, 4)
        first, second = (torchoscope.record(model, ops=True) for _ in range(2))
        first.__enter__()
        second.__enter__()
        model(torch.ones(2, 4))
        first.stop()
        model(torch.ones(2, 4))
        second.stop()
        self.assertEqual((len(first.ops()), len(second.ops())), (3, 6))
        self.assertEqual(torch._C._len_torch_dispatch_stack(), 0)
        self.assertFalse(dispatch._is_in_torch_dispatch_mode)

    def test_stop_on_another_thread_and_in_the_middle(self):
        def run(action):
            thread = threading.Thread(target=action)
            thread.start()
            thread.join()

        for stop in (lambda one: run(one.stop), lambda one: one.stop()):
            model = Calls(lambda self, x: [self.lin(x), stop(recording), x * 2][-1])
            with torchoscope.record(model, ops=True) as recording:
                model(torch.ones(2, 4))
            self.assertEqual(self.names(recording)[-1], "aten::addmm")
            self.assertEqual(torch._C._len_torch_dispatch_stack(), 0)
            self.assertFalse(dispatch._is_in_torch_dispatch_mode)

    def test_calls_on_threads(self):
        def make():
            model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
            inputs, barrier = [torch.randn(2, 4) for _ in range(4)], threading.Barrier(4)

            def call(x):
                barrier.wait()  # one thread each
                return model(x), torch._C._len_torch_dispatch_stack()

            def go():
                with ThreadPoolExecutor(4) as pool:
                    made, modes = zip(*pool.map(call, inputs))
                sum(one.sum() for one in made).backward()
                return [*made, modes]

            return model, go

        recording = self.same(make)
        found = recording.ops(name="addmm")
        self.assertEqual(len({op.thread for op in found}), 4)
        self.assertEqual({op.module for op in found}, {"0"})
        self.gap(recording, "Several threads made nodes of autograd")
        tanh = recording.ops(name="tanh_backward")
        self.assertEqual({op.module for op in tanh}, {"1"})

    def test_backward_on_another_thread(self):
        def make():
            model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

            def go():
                loss = model(torch.ones(2, 4)).sum()
                with ThreadPoolExecutor(1) as pool:
                    pool.submit(loss.backward).result()
                    left = pool.submit(torch._C._len_torch_dispatch_stack).result()
                return [model[0].weight.grad, left]

            return model, go

        recording = self.same(make)
        found = recording.ops(phase="backward")
        self.assertEqual({op.module for op in found}, {"0", "1", None})
        self.assertEqual({op.thread for op in found}, {1})

    def test_a_step_that_raises(self):
        class Bad(torch.optim.SGD):
            def step(self, closure=None):
                super().step()
                raise ValueError("bad")

        model = nn.Linear(4, 4)
        bad, good = Bad(model.parameters(), 0.1), torch.optim.SGD(model.parameters(), 0.1)
        with torchoscope.record(model, ops=True) as recording:
            model(torch.ones(2, 4)).sum().backward()
            with self.assertRaises(ValueError):
                bad.step()
            torch.zeros(2) * 2
            good.step()
            torch.zeros(2) * 2
        phases = [op.phase for op in recording.ops() if op.name in ("aten::mul", "aten::add_")]
        muls = {op.phase for op in recording.ops(name="aten::mul")}
        self.assertEqual(muls, {"forward"}, phases)
        self.assertTrue(recording.ops(phase="optimizer"))

    def test_a_closure(self):
        def make():
            model, x = nn.Linear(4, 4), torch.ones(2, 4)
            optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)

            def closure():
                optimizer.zero_grad()
                loss = model(x).square().sum()
                loss.backward()
                return loss

            return model, lambda: [optimizer.step(closure), *model.parameters()]

        recording = self.same(make)
        self.assertEqual({op.phase for op in recording.ops("")}, {"forward", "backward"})
        self.assertTrue(recording.ops(phase="optimizer"))


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


class ManyOperationsTest(OddCase):
    def test_beyond_the_limit_memory_is_flat(self):
        limit, more, memory = 1 << 18, 100_000, {}

        def forward(self, x):
            x = self.lin(x)
            for i in range(limit + 2 * more - 2):
                x = x.add(float(i))  # other arguments each time
                if i in (limit + more, limit + 2 * more - 3):
                    memory[i] = resident_bytes()
            return x

        model, x = Calls(forward), torch.ones(1, 4)
        with torchoscope.record(model, ops=True) as recording, torch.no_grad():
            model(x)
        ops = recording.ops()
        self.assertEqual((len(ops), ops.lost), (limit, 2 * more))
        text = f"only the first {limit} operations are kept one by one; {2 * more} more"
        self.gap(recording, text)
        first, last = memory.values()
        self.assertLess(last - first, 4 << 20)

    def test_generating_text(self):
        try:
            from transformers import GPT2Config, GPT2LMHeadModel
        except ImportError:
            self.skipTest("no transformers")

        def make():
            small = {"n_layer": 2, "n_head": 2, "n_embd": 16, "vocab_size": 50}
            special = {"bos_token_id": 0, "eos_token_id": None, "pad_token_id": 0}
            model = GPT2LMHeadModel(GPT2Config(**small, **special)).eval()
            ids = torch.arange(6).view(1, 6)
            options = {"max_new_tokens": 64, "do_sample": True, "use_cache": True}
            return model, lambda: model.generate(ids, **options)

        recording = self.same(make)
        self.assertEqual(recording.ops().lost, 0)
        attention = recording.ops(name="aten::_scaled_dot_product_flash_attention_for_cpu")
        self.assertEqual(len(attention), 2 * 64)
        # The cache grows by one token each time.
        lengths = [op.inputs[1].shape[2] for op in attention.filter("transformer.h.0")]
        self.assertEqual(lengths, list(range(6, 70)))


if __name__ == "__main__":
    unittest.main()
