# flavours: both
"""Recording changes nothing: twenty steps of training give the same bits with and
without it. And it records what torch's own hooks see in a second, equal pass."""

import functools
import hashlib
import inspect
import math
import random
import re
import unittest
import warnings

import numpy
import torch
from architectures import ARCHITECTURES
from torch.nn.modules import module as torch_module

import torchoscope

torch.set_num_threads(1)
NEW = hasattr(torch, "compiler")
STEPS = 20
MODES = [{"mode": mode} for mode in ("full", "sampled", "guard", "exact")]
MODES += [{"budget": 0.03}]


def seed():
    torch.manual_seed(11)
    random.seed(12)
    numpy.random.seed(13)


def for_each_architecture(case):
    """A test for each, so that one can be run alone."""
    for name in ARCHITECTURES:
        setattr(case, f"test_{name}", lambda self, name=name: self.check(name))
    return case


def bits(tensor):
    if tensor is None:
        return None
    tensor = tensor.detach()
    flat = (tensor.to_dense() if tensor.is_sparse else tensor).contiguous().reshape(-1)
    return hashlib.sha256(flat.numpy().tobytes()).hexdigest()


def chances():
    numbers = numpy.random.get_state()
    return bits(torch.get_rng_state()), random.getstate(), repr(numbers)


def all_of_it(model, step):
    """Everything that must not change, {name: value}."""
    found = {f"random state, step {step}": chances()}
    for name, one in model.named_parameters():
        found[f"{name}, step {step}"] = bits(one)
        found[f"gradient of {name}, step {step}"] = bits(one.grad)
    for name, one in model.named_buffers():
        found[f"buffer {name}, step {step}"] = bits(one)
    return found


def train(name, options=None):
    """Train a new model, recorded if options are given: ({name: result}, model,
recording)."""
    architecture = ARCHITECTURES[name]
    seed()
    model = architecture.make_model()
    weights = list(model.parameters())
    optimizers = [
        torch.optim.SGD(weights, lr=0.05, momentum=0.9),
        torch.optim.Adam(weights, lr=0.003),
    ]
    found, recording = {}, None
    if options is not None:
        recording = torchoscope.record(model, **options)
        recording.__enter__()
    for step in range(STEPS):
        inputs = architecture.make_inputs()
        optimizer = optimizers[step * len(optimizers) // STEPS]
        optimizer.zero_grad()
        loss = architecture.loss(model(*inputs), *inputs)
        loss.backward()
        found[f"loss, step {step}"] = bits(loss)
        random.random(), numpy.random.rand()
        optimizer.step()
        found.update(all_of_it(model, step))
    if recording is not None:
        recording.stop()
    return found, model, recording


def left_behind(model):
    """Hooks and attributes of modules and parameters."""
    return [
        (name, sorted(module.__dict__), [len(v) for v in hook_dicts(module)])
        for name, module in model.named_modules()
    ] + [(name, one._backward_hooks) for name, one in model.named_parameters()]


def hook_dicts(module):
    parts = sorted(vars(module).items())
    return [part for key, part in parts if "hook" in key and part is not None]


@for_each_architecture
class Identity(unittest.TestCase):
    def check(self, name):
        wanted, plain, _ = train(name)
        self.assertGreater(len({wanted[f"loss, step {i}"] for i in range(STEPS)}), 10)
        for options in MODES:
            with self.subTest(**options):
                found, model, recording = train(name, options)
                differ = [key for key in wanted if found[key] != wanted[key]]
                self.assertEqual(differ[:5], [])
                self.assertEqual(list(found), list(wanted))
                self.assertEqual(left_behind(model), left_behind(plain))
                self.assertGreater(len(recording.calls()), 0)
                self.assertNotIn("error", [gap.kind for gap in recording.gaps])
                self.assertEqual(recording.facts.get("errors", 0), 0)
        for hooks in (n for n in vars(torch_module) if n.startswith("_global_")):
            self.assertFalse(getattr(torch_module, hooks), hooks)


# --- values


def tensors_in(thing, path="", inside=0):
    """(path, tensor) of all tensors in an object."""
    if isinstance(thing, torch.Tensor):
        yield path, thing
    elif isinstance(thing, dict):
        for key, value in thing.items():
            yield from tensors_in(value, f"{path}.{key}" if path else key)
    elif isinstance(thing, (list, tuple)):
        for i, value in enumerate(thing):
            yield from tensors_in(value, f"{path}[{i}]")
    elif re.search("Cache|Layer", type(thing).__name__) and inside < 2:
        for key, value in vars(thing).items():
            inner = f"{path}.{key}" if path else key
            for i, part in enumerate(value if isinstance(value, list) else [value]):
                where = f"{inner}[{i}]" if isinstance(value, list) else inner
                yield from tensors_in(part, where, inside + 1)


def numbers(tensor):
    """As defined in docs/python.md: of the finite elements, with the count of
    others."""
    whole = tensor.detach().double()
    x = whole[whole.isfinite()]
    return {
        "shape": list(whole.shape),
        "count": whole.numel(),
        "min": x.min().item(),
        "max": x.max().item(),
        "mean": x.mean().item(),
        "std": x.std().item() if x.numel() > 1 else None,
        "l2": x.norm().item(),
        "zeros": (x == 0).sum().item(),
        "nan": whole.isnan().sum().item(),
        "pos_inf": (whole == math.inf).sum().item(),
        "neg_inf": (whole == -math.inf).sum().item(),
    }


def told(value):
    stats = value["stats"]
    found = {key: stats.get(key) for key in numbers(torch.ones(2)) if key != "shape"}
    return {"shape": value.shape, **found}


def agree(a, b):
    """Equal to 1e-6; a mean relative to the values that it is the mean of."""
    size = b["l2"] / math.sqrt(b["count"])
    for key, wanted in b.items():
        if key == "shape" or wanted is None:
            if a[key] != wanted and not (key == "std" and a[key] != a[key]):
                return False
        elif not math.isclose(
            a[key], wanted, rel_tol=1e-6, abs_tol=1e-6 * size if key == "mean" else 0
        ):
            return False
    return True


def argument_names(module):
    """The names of forward's arguments by position, from its signature."""
    names, rest = [], []
    for one in inspect.signature(module.forward).parameters.values():
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD):
            names.append(one.name)
        elif one.kind == one.VAR_POSITIONAL:
            rest = [f"{one.name}[{i}]" for i in range(9)]
    return names + rest


class Hooked:
    """Plain hooks on every module: name, inputs before forward and results after it, in
    the order in which calls begin."""

    def __init__(self, model):
        self.calls, self._ends = [], []
        under_way = []

        def before(module, args, kwargs={}):
            named = dict(zip(argument_names(module), args))
            inputs = tensors_in({**named, **kwargs})
            seen = {path: numbers(x) for path, x in inputs}
            self.calls.append((names[module], seen, {}))
            under_way.append(self.calls[-1])

        def after(module, args, result):
            results = under_way.pop()[-1]
            results.update((path, numbers(x)) for path, x in tensors_in(result))

        names = {module: name for name, module in model.named_modules()}
        for module in names:
            if NEW:
                end = module.register_forward_pre_hook(before, with_kwargs=True)
                self._ends.append(end.remove)
                self._ends.append(module.register_forward_hook(after).remove)
            else:  # this torch shows hooks no keywords
                self._ends.append(wrap_forward(module, before, after))

    def remove(self):
        for end in self._ends:
            end()


def wrap_forward(module, before, after):
    inner = module.forward

    @functools.wraps(inner)
    def forward(*args, **kwargs):
        before(module, args, kwargs)
        result = inner(*args, **kwargs)
        after(module, args, result)
        return result

    module.forward = forward
    return lambda: delattr(module, "forward")


def two_steps(name, model):
    architecture = ARCHITECTURES[name]
    for _ in range(2):
        inputs = architecture.make_inputs()
        model.zero_grad()
        architecture.loss(model(*inputs), *inputs).backward()


@for_each_architecture
class Values(unittest.TestCase):
    def check(self, name):
        seed()
        model = ARCHITECTURES[name].make_model()
        hooked = Hooked(model)
        two_steps(name, model)
        hooked.remove()
        seed()
        model = ARCHITECTURES[name].make_model()
        with torchoscope.record(model, calls="all") as recording:
            two_steps(name, model)
        calls = recording.calls()
        self.assertEqual([c.name for c in calls], [call[0] for call in hooked.calls])
        for call, (_, inputs, results) in zip(calls, hooked.calls):
            self.compare(call, call.inputs, inputs)
            self.compare(call, call.outputs, results)
            self.times_add_up(call, [c for c in calls if c.parent == call["call"]])

    def compare(self, call, values, wanted):
        where = f"{call.name} {call.number}"
        found = {value.path: told(value) for value in values}
        self.assertEqual(sorted(found), sorted(wanted), where)
        for path in wanted:
            if not agree(found[path], wanted[path]):
                self.fail(f"{where} {path}: {found[path]}, not {wanted[path]}")

    def times_add_up(self, call, inside):
        rest = call.time_ns - call.self_ns - sum(one.time_ns for one in inside)
        self.assertLess(abs(rest), 1000, call)


# --- gradients


def brief(gradient):
    """The figures of a gradient that both sides have."""
    x = gradient.detach().double()
    return list(x.shape), x.mean().item(), x.norm().item()


def near(a, b):
    """Two passes that add in another order differ in the last bits; and a mean may be
    tiny
compared with the values that it is the mean of."""
    size = b[2] / math.sqrt(max(1, math.prod(b[0])))
    return (
        a[0] == b[0]
        and abs(a[1] - b[1]) <= 1e-5 * size + 1e-9
        and abs(a[2] - b[2]) <= 1e-5 * b[2] + 1e-9
    )


def by_full_hooks(model, run):
    """name -> [(gradients of arguments by position, of results), ...] for each call."""
    found, ends = {}, []
    for name, module in model.named_modules():

        def full(module, inputs, outputs, name=name):
            found.setdefault(name, []).append((inputs, outputs))

        ends.append(module.register_full_backward_hook(full))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about tensors that the hooks miss
        run(model)
    for end in ends:
        end.remove()
    return found


# torch's hooks see only bare tensors, by position.
RESULTS = ["", *(f"[{i}]" for i in range(9))]


def plain_values(values, paths):
    return {v.path: v for v in values if v.path in paths}


def is_near(value, gradient):
    return near((value.shape, value.mean, value.l2), brief(gradient))


def equal_arguments(call, path, inputs):
    """The names of the arguments that are the same tensor as the one at `path`."""
    values = plain_values(call.inputs, inputs)
    return [p for p, v in values.items() if v["value"] == values[path]["value"]]


def has_gradient(call, path, inputs):
    """Is torch's gradient of an argument recorded? Equal arguments may share one."""
    found = plain_values(call.grad_inputs, inputs)
    group = equal_arguments(call, path, inputs)
    value = next((found[p] for p in group if p in found), None)
    if value is None:
        return False
    if not value.get("summed"):
        return is_near(value, inputs[path])
    parts = [inputs[p] for p in group]
    return is_near(value, sum(g for g in parts if g is not None))


def same_gradients(call, names, inputs, outputs):
    made = list(plain_values(call.grad_outputs, RESULTS).values())
    outputs = [g for g in outputs if g is not None]
    if len(made) != len(outputs) or not all(map(is_near, made, outputs)):
        return False
    inputs = dict(zip(names, inputs))
    paths = [name for name, g in inputs.items() if g is not None]
    return all(has_gradient(call, path, inputs) for path in paths)


@for_each_architecture
class Gradients(unittest.TestCase):
    """The recorded gradients equal those of torch's full backward hooks, on a twin that
writes nothing in place, which the hooks do not allow."""

    def check(self, name):
        architecture = ARCHITECTURES[name]

        def run(model):
            seed()
            inputs = architecture.make_inputs()
            for x in inputs:
                if isinstance(x, torch.Tensor) and x.is_floating_point():
                    x.requires_grad_()
            architecture.loss(model(*inputs), *inputs).backward()

        seed()
        wanted = by_full_hooks(architecture.make_model(in_place=False), run)
        seed()
        model = architecture.make_model()
        with torchoscope.record(model, calls="all") as recording:
            run(model)
        self.assertEqual([g.text for g in recording.gaps if g.kind == "gradient"], [])
        self.assertGreater(len(wanted), 4)
        for module, hooked in wanted.items():
            calls = recording.calls(module)
            names = argument_names(model.get_submodule(module))
            self.assertEqual(len(calls), len(hooked), module)
            for one in hooked:
                found = [call for call in calls if same_gradients(call, names, *one)]
                if not found:
                    self.fail(f"{module}: {self.told(calls)}, not {self.briefs(one)}")
                calls.remove(found[0])

    def told(self, calls):
        return [
            [(v.path, v.shape, v.mean, v.l2) for v in values]
            for call in calls
            for values in (call.grad_inputs, call.grad_outputs)
        ]

    def briefs(self, hooked):
        return [[g is not None and brief(g) for g in part] for part in hooked]


if __name__ == "__main__":
    unittest.main()
