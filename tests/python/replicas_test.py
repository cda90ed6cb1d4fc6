# flavours: both
"""Copies of a recorded model, and unusual calls of it: results are bit-identical to
those without a recording, and gradients are correct or a reported gap."""

import contextlib
import copy
import pickle
import threading
import unittest
import warnings

import torch
from torch import nn

import torchoscope

torch.set_num_threads(1)
NEW = hasattr(torch, "func")
X = torch.linspace(-1, 1, 24).reshape(4, 6)


def make():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Linear(6, 4), nn.Dropout(0.0), nn.Tanh(), nn.Linear(4, 1)
    ).eval()


def backward(made, model):
    made.sum().backward()
    return made, [one.grad for one in model.parameters()]


# --- actions: each returns tensors that a recording must not change


def plain(model):
    return backward(model(X), model)


def data_parallel(model):
    return backward(nn.DataParallel(model)(X), model)


def deep_copy(model):
    other = copy.deepcopy(model)
    return backward(other(X * 2), other), plain(model)


def copy_between(model):
    made = model(X)
    other = copy.deepcopy(model)
    return backward(other(X * 2), other), backward(made, model)


def pickled(model):
    other = pickle.loads(pickle.dumps(model))
    return plain(model), backward(other(X * 2), other)


def averaged(model):
    from torch.optim.swa_utils import AveragedModel

    average = AveragedModel(model)
    found = plain(model)
    average.update_parameters(model)
    return found, average(X)


def replicate(model):
    """Like torch.nn.parallel.replicate(), without accelerators."""
    copies = {one: one._replicate_for_data_parallel() for one in model.modules()}
    for one, other in copies.items():
        for name, child in one._modules.items():
            other._modules[name] = copies[child]
        for name, tensor in one._parameters.items():
            other._parameters.pop(name, None)
            other.__dict__[name] = tensor * 1  # as a plain attribute
    return copies[model]


def replicas(model):
    made = sum(replicate(model)(X) for _ in range(2))
    return backward(made, model)


def replicas_and_itself(model):
    return replicas(model), plain(model)


def copy_of_dict(model):
    """As packages for meta-learning do it: without copy.copy()."""
    other = nn.Sequential.__new__(nn.Sequential)
    other.__dict__.update(model.__dict__)
    other._modules = {name: copy.deepcopy(one) for name, one in model._modules.items()}
    with torch.no_grad():
        other[0].weight.mul_(2)
    return backward(other(X), other), plain(model)


def in_threads(model):
    copies, found = [copy.deepcopy(model) for _ in range(3)], [None] * 3

    def run(i):
        found[i] = backward(copies[i](X * i), copies[i])

    threads = [threading.Thread(target=run, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found, plain(model)


def jacobian(model):
    return torch.autograd.functional.jacobian(model, X[0])


def functional_call(model):
    weights = {name: one * 2 for name, one in model.named_parameters()}
    return backward(torch.func.functional_call(model, weights, (X,)), model)


def grad_of_weights(model):
    weights = {name: one.detach() for name, one in model.named_parameters()}
    call = torch.func.functional_call
    return torch.func.grad(lambda weights: call(model, weights, (X,)).sum())(weights)


def grad_of_input(model):
    return torch.func.grad(lambda x: model(x).sum())(X)


def grad_then_backward(model):
    return backward(model(X + grad_of_input(model)), model)


def mapped(model):
    return torch.func.vmap(model)(X)


def mapped_then_backward(model):
    return backward(torch.func.vmap(model)(X), model)


def ensemble(model):
    weights, buffers = torch.func.stack_module_state([make(), make()])
    call = torch.func.functional_call
    run = torch.func.vmap(lambda w, b: call(model, (w, b), (X,)))
    return run(weights, buffers)


def jacrev(model):
    return torch.func.jacrev(model)(X[0])


def hessian(model):
    return torch.func.hessian(lambda x: model(x).sum())(X[0])


def forward_mode(model):
    return torch.func.jvp(model, (X,), (torch.ones_like(X),))


LIKE_PLAIN = [plain, data_parallel, deep_copy, copy_between, pickled, averaged]
LIKE_PLAIN += [in_threads]
TRANSFORMS = [grad_of_weights, grad_of_input, grad_then_backward, mapped, jacrev]
TRANSFORMS += [mapped_then_backward, ensemble, hessian, forward_mode]


def tensors(thing):
    if isinstance(thing, torch.Tensor):
        return [thing]
    if isinstance(thing, dict):
        return tensors(list(thing.values()))
    return [one for part in thing for one in tensors(part)]


def gradients(recording):
    return [
        (call.name, value.path, value.shape, value.mean, value.l2)
        for call in recording.calls()
        for value in call.grad_inputs + call.grad_outputs
    ]


def gaps(recording):
    return {gap.name for gap in recording.gaps if gap.kind == "gradient"}


class Replicas(unittest.TestCase):
    def setUp(self):
        warnings.filterwarnings("ignore", module="torch")

    def run_both(self, run):
        wanted, model = run(make()), make()
        with torchoscope.record(model) as recording:
            found = run(model)
        pairs = list(zip(tensors(wanted), tensors(found)))
        self.assertEqual(len(pairs), len(tensors(wanted)))
        self.assertGreater(len(pairs), 0)
        for a, b in pairs:
            self.assertTrue(torch.equal(a, b))
        self.assertEqual(recording.facts.get("errors", 0), 0)
        return recording

    def test_copies_are_not_recorded(self):
        wanted = gradients(self.run_both(plain))
        self.assertEqual(len(wanted), 8 if NEW else 6)
        for run in LIKE_PLAIN:
            with self.subTest(run.__name__):
                recording = self.run_both(run)
                self.assertEqual(gradients(recording), wanted)
                self.assertEqual(gaps(recording), {"1"} if not NEW else set())

    def test_replicas_are_recorded_as_the_model(self):
        wanted = gradients(self.run_both(plain))
        for run, times in ((replicas, 2), (replicas_and_itself, 3)):
            with self.subTest(run.__name__):
                recording = self.run_both(run)
                self.assertEqual(gradients(recording), wanted * times)
                self.assertEqual(gaps(recording), {"1"} if not NEW else set())

    def test_results_are_the_same_in_a_watched_model(self):
        for run in [*LIKE_PLAIN, copy_of_dict, replicas, replicas_and_itself]:
            for budget in (None,) if run is copy_of_dict else (None, 0.9):
                with self.subTest(run.__name__, budget=budget):
                    wanted, model = run(make()), make()
                    with contextlib.ExitStack() as stack:
                        options = {"backend": "none", "on_alarm": None}
                        stack.enter_context(torchoscope.watch(model, **options))
                        if budget:
                            stack.enter_context(torchoscope.record(model, budget=budget))
                        found = run(model)
                    for a, b in zip(tensors(wanted), tensors(found), strict=True):
                        self.assertTrue(torch.equal(a, b))

    def test_a_jacobian(self):
        self.assertEqual(gaps(self.run_both(jacobian)), {"1"} if not NEW else set())

    @unittest.skipUnless(NEW, "torch.func came with torch 2")
    def test_functional_call(self):
        recording = self.run_both(functional_call)
        doubled = make()
        with torch.no_grad():
            for one in doubled.parameters():
                one *= 2
        with torchoscope.record(doubled) as other:
            plain(doubled)
        self.assertEqual(gradients(recording), gradients(other))
        self.assertEqual(gaps(recording), set())

    @unittest.skipUnless(NEW, "torch.func came with torch 2")
    def test_transforms_are_a_gap(self):
        for run in TRANSFORMS:
            with self.subTest(run.__name__):
                recording = self.run_both(run)
                self.assertLessEqual({"0", "2", "3"}, gaps(recording))
                numbers = [l2 for *_, l2 in gradients(recording) if l2 is not None]
                self.assertEqual(bool(numbers), run is grad_then_backward)
        (text,) = {gap.text for gap in recording.gaps if gap.kind == "gradient"}
        self.assertIn("torch.func", text)

    @unittest.skipUnless(NEW, "torch.func came with torch 2")
    def test_no_gap_if_nothing_requires_a_gradient(self):
        model = make().requires_grad_(False)
        with torchoscope.record(model) as recording:
            mapped(model)
        self.assertEqual(gaps(recording), set())


if __name__ == "__main__":
    unittest.main()
