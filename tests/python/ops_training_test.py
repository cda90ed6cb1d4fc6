"""Recording operations changes nothing: training gives the same bits with
record(ops=True) around each step, with trace() before each step, and without. And
nothing is left behind, however the step ends."""

import gc
import random
import unittest
import weakref

try:
    import numpy
    import torch
    from torch import nn
    from torch.nn.modules import module as torch_module
    from torch.optim import optimizer as torch_optimizer
    from torch.utils import _python_dispatch as dispatch
    import torchoscope
    from torchoscope import op_kinds
except ImportError as error:
    raise unittest.SkipTest(f"no torch: {error}")

if op_kinds.why_not():
    raise unittest.SkipTest(op_kinds.why_not())

from architectures import ARCHITECTURES
from identity_test import all_of_it, bits, left_behind

torch.set_num_threads(1)
STEPS = 4


def tensors_of(result):
    if isinstance(result, torch.Tensor):
        yield result
    elif isinstance(result, dict):
        for one in result.values():
            yield from tensors_of(one)
    elif isinstance(result, (list, tuple)):
        for one in result:
            yield from tensors_of(one)


def state_of(optimizer):
    return [
        (key, bits(one) if isinstance(one, torch.Tensor) else one)
        for state in optimizer.state.values()
        for key, one in state.items()
    ]


def train(name, how):
    """Train a new model: ({name: result}, model)."""
    architecture = ARCHITECTURES[name]
    torch.manual_seed(11)
    random.seed(12)
    numpy.random.seed(13)
    model = architecture.make_model()
    optimizers = [
        torch.optim.AdamW(model.parameters(), lr=0.003, foreach=True),
        torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
    ]
    found = {}

    def step(number, inputs):
        optimizer = optimizers[number % 2]
        optimizer.zero_grad()
        result = model(*inputs)
        loss = architecture.loss(result, *inputs)
        loss.backward()
        optimizer.step()
        found[f"results, step {number}"] = [bits(one) for one in tensors_of(result)]
        found[f"loss, step {number}"] = bits(loss)
        found[f"optimizer, step {number}"] = state_of(optimizer)
        found.update(all_of_it(model, number))

    for number in range(STEPS):
        inputs = architecture.make_inputs()
        how(model, lambda: step(number, inputs), inputs)
    return found, model


def plainly(model, step, inputs):
    step()


def recorded(**options):
    def how(model, step, inputs):
        with torchoscope.record(model, **options) as recording:
            step()
        phases = {op.phase for op in recording.ops()}
        assert phases == {"forward", "backward", "optimizer"}, phases
        assert not recording.facts.get("errors", 0)

    return how


def traced(model, step, inputs):
    recording = torchoscope.trace(model, *inputs)
    assert {op.phase for op in recording.ops()} == {"forward", "backward"}
    step()


WAYS = {
    "record": recorded(ops=True),
    "stats": recorded(ops="stats"),
    "replay": recorded(ops="replay"),
    "without gradients": recorded(ops=True, gradients=False, parameters=False),
    "trace": traced,
}


def for_each_architecture(case):
    for name in ARCHITECTURES:
        setattr(case, f"test_{name}", lambda self, name=name: self.check(name))
    return case


class CleanCase(unittest.TestCase):
    def check_clean(self):
        self.assertEqual(torch._C._len_torch_dispatch_stack(), 0)
        self.assertFalse(dispatch._is_in_torch_dispatch_mode)
        for module in (torch_module, torch_optimizer):
            for name, one in vars(module).items():
                if name.startswith("_global_") and "hook" in name:
                    self.assertFalse(one, name)
        engine = torch.autograd.Variable._execution_engine
        self.assertEqual(type(engine).__module__, "torch._C")


@for_each_architecture
class TrainingTest(CleanCase):
    def check(self, name):
        wanted, plain = train(name, plainly)
        for way, how in WAYS.items():
            with self.subTest(way):
                found, model = train(name, how)
                differ = [key for key in wanted if found[key] != wanted[key]]
                self.assertEqual(differ[:5], [])
                self.assertEqual(list(found), list(wanted))
                self.assertEqual(left_behind(model), left_behind(plain))
                self.check_clean()


class Stops(nn.Module):
    """Raises `error` in the middle of forward."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 4)
        self.error = None

    def forward(self, x):
        x = self.first(x).relu()
        if self.error is not None:
            raise self.error
        return self.last(x)


class InBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, error):
        ctx.error = error
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        raise ctx.error


class NothingIsLeftTest(CleanCase):
    def step(self, where, error):
        """A step that raises; weak references to its tensors."""
        model, x = Stops(), torch.randn(2, 4)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        made = [weakref.ref(one) for one in (model, x, x.untyped_storage())]
        if where == "optimizer":

            def hook(*_):
                raise error

            optimizer.register_step_pre_hook(hook)
        if where == "forward":
            model.error = error
        try:
            with torchoscope.record(model, ops=True) as recording:
                y = model(x)
                made += [weakref.ref(y), weakref.ref(y.untyped_storage())]
                if where == "backward":
                    y = InBackward.apply(y, error)
                y.sum().backward()
                optimizer.step()
        except BaseException as caught:
            if caught is not error:
                raise
            caught.__traceback__ = None
        self.assertGreater(len(recording.ops()), 2)
        self.check_clean()
        return made, recording

    def test_after_an_error(self):
        for kind in (None, ValueError, KeyboardInterrupt):
            for where in ("forward", "backward", "optimizer") if kind else ("",):
                with self.subTest(where, error=kind):
                    made, recording = self.step(where, kind("stop") if kind else None)
                    gc.collect()
                    self.assertEqual([one() for one in made if one() is not None], [])

    def test_without_garbage(self):
        """References are dropped without help of the garbage collector."""
        self.step("", None)
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        made, recording = self.step("", None)
        self.assertEqual([one() for one in made if one() is not None], [])

    def test_storages_are_freed_as_early_as_without_recording(self):
        def lives(recorded):
            model, dead = nn.Sequential(*(nn.Linear(4, 4) for _ in range(4))), []
            x = torch.ones(2, 4)

            def forward(x):
                for i, layer in enumerate(model):
                    x = layer(x)
                    weakref.finalize(x.untyped_storage(), dead.append, i)
                    dead.append("called")
                return x

            def go():
                with torch.no_grad():
                    forward(x)
                dead.append("forward")
                forward(x).sum().backward()
                dead.append("backward")

            if recorded:
                with torchoscope.record(model, ops=True):
                    go()
            else:
                go()
            return dead

        self.assertEqual(lives(True), lives(False))

    def test_reference_counts(self):
        import sys

        model, x = nn.Linear(4, 4), torch.ones(2, 4)
        kept = [x, model, model.weight, model.bias]
        model(x).sum().backward()
        with torchoscope.record(model, ops=True):
            model(x).sum().backward()
        before = [sys.getrefcount(one) for one in kept]
        for _ in range(3):
            with torchoscope.record(model, ops=True) as recording:
                model(x).sum().backward()
        self.assertEqual([sys.getrefcount(one) for one in kept], before)
        del recording


if __name__ == "__main__":
    unittest.main()
