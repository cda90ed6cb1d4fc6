# flavours: both
"""watch() on odd trainings: the same bits with it and without it, and the steps, gradients
and parameters in the file are those of the training."""

import contextlib
import copy
import io
import unittest
import warnings

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import torchoscope
from identity_test import NEW, all_of_it, bits, seed
from watch_test import Watched, small

torch.set_num_threads(1)
STEPS = 20
SKIPPED = (5, 11)  # by the gradient scaler


class Note:
    """What an odd training did, by name; `before()` and `after()` are called around each
    step of an optimizer."""

    def __init__(self, model):
        self.model, self.found = model, {}
        self.gradients, self.params = [], []

    def before(self):
        named = list(self.model.named_parameters())
        self.params.append({name: one.detach().clone() for name, one in named})
        grads = [(name, one.grad) for name, one in named if one.grad is not None]
        self.gradients.append({name: one.to_dense().clone() for name, one in grads})

    def after(self, loss, step):
        self.found[f"loss, step {step}"] = bits(loss.double())
        self.found.update(all_of_it(self.model, step))


def plainly(model, note, loss_of, steps=STEPS, optimizer=None):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(steps):
        optimizer.zero_grad()
        loss = loss_of(step)
        loss.backward()
        note.before()
        optimizer.step()
        note.after(loss, step)


# --- the trainings: functions of (watch, Note) that make, watch and train a model


class Saved(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.inner = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.ReLU())
        self.last, self.options = nn.Linear(8, 2), {"use_reentrant": reentrant}

    def forward(self, x):
        x = checkpoint(self.inner, self.first(x), **self.options)
        return self.last(checkpoint(self.inner, x, **self.options))


def checkpointed(watch, reentrant=False):
    seed()
    model = Saved(reentrant)
    note = watch(model)
    plainly(model, note, lambda _: model(torch.randn(3, 4)).square().mean())
    return note


def checkpointed_reentrant(watch):
    return checkpointed(watch, True)


def accumulated(watch):
    """Three forwards, then one backward; every other step has a second round."""
    model = small()
    note = watch(model)

    def loss_of(step):
        results = [model(torch.randn(3, 4)) for _ in range(3)]
        loss = torch.stack([one.square().mean() for one in results]).sum()
        if step % 2:
            loss.backward()
            loss = model(torch.randn(3, 4)).sum()
        return loss

    plainly(model, note, loss_of)
    return note


def closure(watch):
    model = small()
    note = watch(model)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
    for step in range(STEPS):
        x, first = torch.randn(5, 4), []

        def find():
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            if not first:
                note.before()
            first.append(loss)
            return loss

        note.after(optimizer.step(find), step)
    return note


class Tree(nn.Module):
    """Calls itself, as deep as the step says."""

    def __init__(self):
        super().__init__()
        self.cell, self.deep = nn.Linear(4, 4), 0

    def forward(self, x, depth=0):
        x = self.cell(x).tanh()
        return self(x, depth + 1) + x if depth < self.deep else x


def recursive(watch):
    seed()
    model = Tree()
    note = watch(model)

    def loss_of(step):
        model.deep = step % 4
        return model(torch.randn(3, 4)).square().mean()

    plainly(model, note, loss_of)
    return note


class Keywords(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(4, 4), nn.Bilinear(4, 4, 2)

    def forward(self, *, x, scale=None):
        y = self.one(input=x)
        y = y.mul_(2).clamp_(min=-1) if scale is None else y * scale
        return self.two(input1=y, input2=x)


def keywords_and_in_place(watch):
    seed()
    model = Keywords()
    note = watch(model)

    def loss_of(step):
        scale = torch.rand(3, 4) if step % 3 == 0 else None
        return model(x=torch.randn(3, 4), scale=scale).square().mean()

    plainly(model, note, loss_of)
    return note


def averaged(watch):
    """An average of the weights in a copy, which is made and called while watched."""
    model = small()
    note = watch(model)
    average = None

    def loss_of(step):
        nonlocal average
        if average is None and step == 2:
            average = copy.deepcopy(model)
        loss = model(torch.randn(3, 4)).square().mean()
        if average is not None:
            for old, new in zip(average.parameters(), model.parameters()):
                old.data.lerp_(new.data, 0.1)
            with torch.no_grad():
                note.found[f"average, step {step}"] = bits(average(torch.ones(1, 4)))
        return loss

    plainly(model, note, loss_of)
    return note


def sparse(watch):
    seed()
    model = nn.Sequential(nn.Embedding(50, 4, sparse=True), nn.Linear(4, 2))
    note = watch(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def loss_of(step):
        return model(torch.randint(0, 50, (3, 4))).square().mean()

    plainly(model, note, loss_of, optimizer=optimizer)
    return note


def adversarial(watch):
    """Two parts with an optimizer each; one steps twice as often."""
    seed()
    model = nn.ModuleDict({"make": nn.Linear(4, 4), "judge": nn.Linear(4, 1)})

    def forward(x):
        return model["judge"](model["make"](x).tanh())

    note = watch(model)
    first = torch.optim.Adam(model["make"].parameters(), lr=0.01)
    second = torch.optim.SGD(model["judge"].parameters(), lr=0.01)
    for step in range(STEPS):
        for optimizer in (second, second, first):
            optimizer.zero_grad()
            loss = forward(torch.randn(3, 4)).square().mean()
            loss.backward()
            optimizer.step()
        note.after(loss, step)
    return note


def replaced(watch):
    """A layer is replaced, then one of its parameters, then the data of a parameter."""
    model = small()
    note = watch(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(STEPS):
        if step == 4:
            model[2] = nn.Linear(8, 2)
        if step == 8:
            model[2].weight = nn.Parameter(torch.randn(2, 8))
        if step == 12:
            model[0].weight.data = torch.randn(8, 4)
        if step in (4, 8):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        optimizer.zero_grad()
        loss = model(torch.randn(3, 4)).square().mean()
        loss.backward()
        note.before()
        optimizer.step()
        note.after(loss, step)
    return note


def frozen_and_shared(watch):
    seed()
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    model[2].weight = model[0].weight
    note = watch(model)

    def loss_of(step):
        model[0].bias.requires_grad_(step % 5 < 3)
        return model(torch.randn(3, 4)).square().mean()

    plainly(model, note, loss_of)
    return note


def scaled(watch):
    """A gradient scaler, with overflows at which the optimizer does not step."""
    model = small()
    note = watch(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
    for step in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(torch.randn(3, 4)).square().mean()
        if step in SKIPPED:
            loss = loss * float("inf")
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        if step not in (5, 11):
            note.before()
        scaler.step(optimizer)
        scaler.update()
        note.after(loss, step)
    return note


def solved(watch):
    """More passes before a backward than a step without an optimizer may have."""
    seed()
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4))
    note = watch(model)

    def loss_of(step):
        x = torch.randn(3, 4)
        for _ in range(70):
            x = x + 0.01 * model(x)
        return x.square().mean()

    plainly(model, note, loss_of)
    return note


def parts_only(watch):
    """Evaluation calls the model, training only its layers (reinforcement learning)."""
    model = small()
    note = watch(model)

    def loss_of(step):
        if step in (4, 5, 9):
            model.eval()
            with torch.no_grad():
                model(torch.randn(3, 4))
            model.train()
        return model[2](model[0](torch.randn(3, 4)).relu()).square().mean()

    plainly(model, note, loss_of)
    return note


def by_hand(watch):
    """No optimizer: two backwards, then the user's own update."""
    model = small()
    note = watch(model)
    for step in range(STEPS):
        x = torch.randn(3, 4)
        found = model(x)
        found.abs().mean().backward(retain_graph=True)
        loss = found.square().mean()
        loss.backward()
        note.before()
        with torch.no_grad():
            for one in model.parameters():
                one -= 0.05 * one.grad
                one.grad = None
        note.after(loss, step)
        if step % 5 == 2:
            model.eval()
            with torch.no_grad():
                model(x)
            model.train()
    return note


SAME = [by_hand, solved, parts_only, checkpointed, checkpointed_reentrant, accumulated, closure, recursive]
SAME += [keywords_and_in_place, averaged, frozen_and_shared]

class Odd(Watched):
    def check(self, train):
        wanted, handles = train(Note), []

        def watched(model):
            handles.append(self.watch(model, **options))
            return Note(model)

        for options in ({"log_freq": 1}, {"log_freq": None}):
            found = train(watched)
            self.assertEqual(list(found.found), list(wanted.found))
            differ = [key for key in wanted.found if found.found[key] != wanted.found[key]]
            self.assertEqual(differ[:5], [])
            self.assertFalse(handles[-1]._reported)
            handles[-1].close()
        return wanted, torchoscope.open(handles[0].path)

    def same_as_by_hand(self, note, history):
        """One step in the file for each of the training, with its numbers."""
        self.assertEqual(history.steps, list(range(len(note.params))))
        for name in dict(note.model.named_parameters()):
            self.same(history, name, "param", note.params)
            self.same(history, name, "grad_param", note.gradients)

    def with_skipped_steps(self, note, history):
        for step in SKIPPED:
            note.params.insert(step, {})
            note.gradients.insert(step, {})
        self.same_as_by_hand(note, history)

    def replaced_layer(self, note, history):
        self.same_as_by_hand(note, history)
        self.assertEqual(len(history.series("2", "output")), STEPS)
        self.assertEqual(len(history.series("2", "grad_input")), STEPS)

    def two_optimizers(self, note, history):
        """The one that steps less often ends a step."""
        self.assertEqual(history.steps, list(range(STEPS)))
        for name in ("judge.weight", "make.weight"):
            self.assertEqual(history.series(name, "update").steps, history.steps)

    def no_sparse_gradients(self, note, history):
        for one in note.gradients:
            del one["0.weight"]
        self.same(history, "0.weight", "param", note.params)
        self.same(history, "1.weight", "grad_param", note.gradients)
        # One of them is not known: nor is the norm of all.
        self.assertNotIn("grad_norm", history.scalars())

    def same(self, history, name, kind, by_hand):
        wanted = {at: one[name] for at, one in enumerate(by_hand) if name in one}
        series = history.series(name, kind)
        self.assertEqual(series.steps, list(wanted))
        self.assertEqual(series["min"], [one.min().item() for one in wanted.values()])
        self.assertEqual(series["max"], [one.max().item() for one in wanted.values()])
        for found, one in zip(series["l2"], wanted.values()):
            self.assertAlmostEqual(found, one.double().norm().item(), 5)


def _add(train, check):
    setattr(Odd, f"test_{train.__name__}", lambda self: check(self, *self.check(train)))


for _train in SAME:
    _add(_train, Odd.same_as_by_hand)
_add(adversarial, Odd.two_optimizers)
if NEW:
    _add(scaled, Odd.with_skipped_steps)
_add(sparse, Odd.no_sparse_gradients)
_add(replaced, Odd.replaced_layer)


class Bypassing(nn.Linear):
    """Has a __call__ of its own, as the modules of gpytorch."""

    def __call__(self, x):
        return self.forward(x)


class Unseen(Watched):
    def test_a_training_without_anything_recorded_is_not_called_healthy(self):
        model, x = Bypassing(4, 2).requires_grad_(False), torch.randn(3, 4)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            with self.watch(model):
                model(x.requires_grad_()).square().mean().backward()
        self.assertIn("1 step: nothing could be recorded", said.getvalue())


class Borrowed(Watched):
    @unittest.skipUnless(NEW, "this torch has no torch.func")
    def test_parameters_that_are_replaced_for_the_time_of_a_call(self):
        model = small()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        with self.watch(model) as handle:
            for step in range(4):
                optimizer.zero_grad()
                doubled = {name: one * 2 for name, one in model.named_parameters()}
                x = (torch.randn(3, 4),)
                call = torch.func.functional_call(model, doubled, x) if step else model(*x)
                call.square().mean().backward()
                optimizer.step()
        history = torchoscope.open(handle.path)
        for kind in ("param", "grad_param", "update"):
            self.assertEqual(history.series("2.bias", kind).steps, [0, 1, 2, 3])

    def test_scripted_modules(self):
        """What is inside them calls no hooks; their parameters are there."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer torch would rather have no TorchScript
            scripted = torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)))
        for model in (scripted, nn.Sequential(scripted, nn.Linear(4, 2))):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            with self.watch(model) as handle:
                for _ in range(3):
                    model(torch.randn(3, 4)).square().mean().backward()
                    optimizer.step()
            self.assertFalse(handle._reported)
            history = torchoscope.open(handle.path)
            self.assertEqual(history.series("", "output").steps, [0, 1, 2])
            name = next(iter(dict(model.named_parameters())))
            self.assertEqual(history.series(name, "update").steps, [0, 1, 2])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = small()

    def forward(self, x):
        return self.layers(x).tanh()


@unittest.skipUnless(NEW, "this torch has no torch.compile()")
class Compiled(Watched):
    """No graph breaks, no recompilation, watched before the first compiled call or
    later."""

    make = Net

    def train(self, model, compiled, steps):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        found = []
        for _ in range(steps):
            optimizer.zero_grad()
            loss = compiled(torch.randn(3, 4)).square().mean()
            loss.backward()
            optimizer.step()
            found.append(bits(loss))
        return found

    def run_one(self, watch, compile, late):
        """The losses, and what the compiler did."""
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        model = self.make()
        handle = None if late or not watch else watch(model)
        compiled = compile(model)
        found = self.train(model, compiled, 4)
        if late and watch:
            handle = watch(model)
        found += self.train(model, compiled, 16)
        if handle:
            handle.close()
        counters = torch._dynamo.utils.counters
        breaks = sum(counters["graph_break"].values())
        return found, (breaks, counters["stats"]["unique_graphs"]), handle

    def check(self, compile, *lates):
        for late in lates:
            wanted, did, _ = self.run_one(None, compile, late)
            for options in ({"log_freq": 1}, {"log_freq": 3}, {"log_freq": None}):
                with self.subTest(late=late, **options):
                    found, does, handle = self.run_one(
                        lambda model: self.watch(model, **options), compile, late
                    )
                    self.assertEqual(found, wanted)
                    self.assertEqual(does, did)
                    self.assertEqual(does, (0, 1))
                if options["log_freq"] == 1:
                    history, n = torchoscope.open(handle.path), 16 if late else 20
                    self.assertEqual(len(history.steps), n)
                    name = next(iter(dict(self.make().named_parameters())))
                    series = history.series(name, "grad_param")
                    self.assertEqual(len(series), n)
                    self.assertEqual(len(history.series("", "output")), n)

    def test_the_result_of_compile_is_called(self):
        self.check(lambda model: torch.compile(model, backend="aot_eager"), False, True)

    def test_a_module_of_torch(self):
        self.make = small
        self.check(lambda model: torch.compile(model, backend="aot_eager"), False, True)

    def test_a_module_compiled_in_place(self):
        def compile(model):
            model.compile(backend="aot_eager")
            return model

        self.check(compile, True)


if __name__ == "__main__":
    unittest.main()
