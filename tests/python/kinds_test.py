# flavours: both
"""Kinds of tensors, modules and nested arguments: each is recorded correctly, or the
reason is given."""

import os

os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_BF16"

import collections
import collections.abc
import dataclasses
import functools
import tempfile
import types
import unittest
import warnings

import torch
from torch import nn
from torch.nn.utils import parametrizations

import torchoscope

NEW = hasattr(torch, "compiler")
X = torch.ones(3, 4)
torch.set_num_threads(1)
warnings.simplefilter("ignore")


class Pass(nn.Module):
    def forward(self, x):
        return x


def recorded(x):
    model = Pass()
    with torchoscope.record(model) as recording:
        model(x)
    return recording


def value_of(x):
    (value,) = recorded(x).calls("")[0].inputs
    return value


def gaps_of(recording):
    return {gap.name: gap.kind for gap in recording.gaps if gap.name is not None}


class Tensors(unittest.TestCase):
    def test_plain_tensors(self):
        value = value_of(torch.tensor(2.5))
        self.assertEqual((value.shape, value.mean, value.numel), ([], 2.5, 1))
        value = value_of(torch.zeros(0, 3))
        self.assertEqual((value.shape, value.numel, value.nan), ([0, 3], 0, 0))
        self.assertIsNone(value.mean)
        value = value_of(torch.tensor([3 + 4j, 0j]))
        self.assertEqual((value.dtype, value.max, value.zeros), ("complex64", 5.0, 1))

    def test_tensors_without_statistics_have_a_reason(self):
        matrix = torch.tensor([[0.0, 1.0], [2.0, 0.0]])
        cases = [
            (torch.empty(3, device="meta"), "meta"),
            (matrix.to_sparse(), "sparse"),
            (matrix.to_sparse_csr(), "sparse"),
            (torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), "nested"),
        ]
        if NEW:
            from torch._subclasses.fake_tensor import FakeTensorMode

            parts = [torch.ones(2, 3), torch.ones(3, 3)]
            jagged = torch.nested.nested_tensor(parts, layout=torch.jagged)
            with FakeTensorMode():
                fake = torch.empty(3, 4)
            cases += [(jagged, "nested"), (fake, "fake")]
        for tensor, why in cases:
            value = value_of(tensor)
            self.assertIn(why, value.why)
            self.assertEqual((value.dtype, value.mean), ("float32", None))
            self.assertEqual(len(value.shape), tensor.dim())

    def test_quantised_tensors_are_measured_as_stored(self):
        tensor = torch.tensor([1.0, 2.0])
        value = value_of(torch.quantize_per_tensor(tensor, 0.1, 10, torch.quint8))
        self.assertEqual((value.dtype, value.min, value.max), ("quint8", 20, 30))
        scales, zeros = torch.tensor([0.1, 0.2]), torch.tensor([0, 0])
        ones = torch.ones(2, 2)
        quantised = torch.quantize_per_channel(ones, scales, zeros, 0, torch.qint8)
        value = value_of(quantised)
        self.assertEqual((value.dtype, value.min, value.max), ("qint8", 5, 10))

    def test_user_defined_tensor_classes(self):
        class Mine(torch.Tensor):
            pass

        value = value_of(torch.ones(2).as_subclass(Mine))
        self.assertEqual((value["class"], value.mean), ("Mine", 1.0))

    @unittest.skipUnless(NEW, "no torch.func")
    def test_function_transforms(self):
        model = Pass()
        with torchoscope.record(model) as recording:
            torch.vmap(model)(torch.ones(3, 2))
            torch.func.grad(lambda x: model(x).sum())(torch.ones(2))
        calls = recording.calls("")
        self.assertEqual([c.outputs[0].shape for c in calls], [[2], [2]])
        for call in calls:
            self.assertEqual(call.outputs[0].why, "inside a function transform")

    @unittest.skipUnless(NEW and torch.distributed.is_available(), "no DTensor")
    def test_distributed_tensors_are_their_local_part(self):
        from torch import distributed
        from torch.distributed import tensor as dtensor

        with tempfile.TemporaryDirectory() as folder:
            store = distributed.FileStore(os.path.join(folder, "store"), 1)
            distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
            try:
                mesh = dtensor.init_device_mesh("cpu", (1,))
                x = torch.arange(6.0).reshape(2, 3)
                x = dtensor.distribute_tensor(x, mesh, [dtensor.Shard(0)])
                model = dtensor.distribute_module(nn.Linear(3, 2), mesh)
                with torchoscope.record(model) as recording:
                    model(x).sum().backward()
            finally:
                distributed.destroy_process_group()
        call = recording.calls("")[0]
        value = call.inputs[0]
        self.assertEqual((value["class"], value.shape), ("DTensor", [2, 3]))
        self.assertEqual((value.mean, value.max), (2.5, 5.0))
        self.assertEqual(call.grad_outputs[0].mean, 1.0)
        rows = recording.parameters()
        self.assertTrue(any(row["gradient"] and row["stats"] for row in rows))


class Modules(unittest.TestCase):
    def run_once(self, model):
        with torchoscope.record(model) as recording:
            model(X).sum().backward()
        return recording

    def test_lazy_modules(self):
        model = nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(2))
        recording = self.run_once(model)
        self.assertEqual(recording.calls("2")[0].inputs[0].shape, [3, 8])
        names = {row["name"] for row in recording.parameters() if row["gradient"]}
        self.assertEqual(names, {"0.weight", "0.bias", "2.weight", "2.bias"})
        self.assertEqual(gaps_of(recording), {})

    def test_norms_of_weights(self):
        old = nn.utils.weight_norm, nn.utils.spectral_norm
        for norm in (*old, parametrizations.spectral_norm):
            recording = self.run_once(nn.Sequential(norm(nn.Linear(4, 2))))
            self.assertEqual(recording.calls("0")[0].outputs[0].shape, [3, 2])
            self.assertEqual(gaps_of(recording), {})
        call = recording.calls("0.parametrizations.weight")[0]
        self.assertEqual(recording.calls()[call.parent].name, "0")

    def test_torchscript_inside(self):
        inner = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        traced = torch.jit.trace(nn.Linear(4, 2), X)
        model = nn.Sequential(nn.Linear(4, 4), torch.jit.script(inner), traced)
        recording = self.run_once(model)
        flags = [set(recording.calls(name)[0].flags) for name in "012"]
        self.assertEqual(["scripted" in one for one in flags], [False, True, True])
        self.assertEqual(gaps_of(recording)["1.0"], "scripted")
        self.assertEqual(recording.calls("2")[0].outputs[0].shape, [3, 2])

    def test_modes_of_torch(self):
        model = nn.Sequential(nn.Linear(4, 4)).eval()
        with torchoscope.record(model) as recording:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                model(X)
            with torch.no_grad():
                model(X)
            with torch.inference_mode():
                model(X)
        calls = recording.calls("0")
        wanted = [{"autocast", "grad"}, set(), set()]
        self.assertEqual([set(c.flags) for c in calls], wanted)
        outputs = [c.outputs[0] for c in calls]
        self.assertEqual([v.dtype for v in outputs], ["bfloat16"] + 2 * ["float32"])
        self.assertEqual([v.requires_grad for v in outputs], [True, False, False])
        self.assertEqual(["inference" in v for v in outputs], [False, False, True])
        self.assertAlmostEqual(outputs[1].mean, outputs[2].mean)


Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Data:
    x: object
    y: object = None


@dataclasses.dataclass
class ModelOutput(collections.OrderedDict):
    """Like those of transformers: a dict and a dataclass at once."""

    logits: object = None
    states: object = None

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value


class Layer:
    def __init__(self):
        self.keys, self.values = torch.ones(1), torch.zeros(1)


class DynamicCache:
    def __init__(self):
        self.layers = [Layer(), Layer()]


class Wide(nn.Module):
    def forward(self, x, *rest, scale=None, **others):
        return x


class Decorated(nn.Module):
    @functools.wraps(Wide.forward)
    def forward(self, *args, **kwargs):
        return args[0]


class WithoutSelf(nn.Module):
    def forward(*args):
        return args[1]


class Static(nn.Module):
    @staticmethod
    def forward(first, second):
        return first


class MadeUp(nn.Module):
    """Each of its modules has a different forward."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    @property
    def forward(self):
        return self.function


class Arguments(unittest.TestCase):
    """They have the names that forward gives them."""

    def paths(self, model, *args, **kwargs):
        with torchoscope.record(model) as recording:
            model(*args, **kwargs)
        return [value.path for value in recording.calls("")[0].inputs]

    def test_by_position(self):
        self.assertEqual(self.paths(nn.Linear(4, 2), X), ["input"])
        self.assertEqual(self.paths(Wide(), X, [X], X), ["x", "rest[0][0]", "rest[1]"])
        self.assertEqual(self.paths(Static(), X, X), ["first", "second"])
        self.assertEqual(self.paths(WithoutSelf(), X), ["[0]"])
        attention = nn.MultiheadAttention(4, 1)
        self.assertEqual(self.paths(attention, X, X, X), ["query", "key", "value"])

    def test_keyword_arguments_have_the_same_names(self):
        self.assertEqual(self.paths(nn.Linear(4, 2), input=X), ["input"])
        wanted = ["x", "rest[0]", "scale", "more"]
        self.assertEqual(self.paths(Wide(), X, X, scale=X, more=X), wanted)

    def test_decorated_and_replaced_forwards(self):
        self.assertEqual(self.paths(Decorated(), X, X), ["x", "rest[0]"])
        model = Wide()
        whole, model.forward = model.forward, lambda inner, *more: inner
        self.assertEqual(self.paths(model, X, X), ["inner", "more[0]"])
        # Like accelerate.
        model.forward = functools.update_wrapper(functools.partial(whole), whole)
        self.assertEqual(self.paths(model, X, X), ["x", "rest[0]"])
        model.forward = functools.wraps(Wide.forward)(lambda *args: args[0])
        self.assertEqual(self.paths(model, X), ["[0]"])
        model.forward = functools.partial(whole)
        self.assertEqual(self.paths(model, X, X), ["[0]", "[1]"])

    def test_modules_of_one_class_with_different_functions(self):
        one, two, three = Wide(), Wide(), Wide()
        two.forward = lambda inner: inner
        made_up = [MadeUp(lambda first: first), MadeUp(lambda second: second)]
        model = nn.ModuleList([one, two, three, *made_up])
        with torchoscope.record(model) as recording:
            for module in model:
                module(X)
        paths = [value.path for call in recording.calls() for value in call.inputs]
        self.assertEqual(paths, ["x", "inner", "x", "first", "second"])

    def test_too_many_arguments(self):
        with self.assertRaises(TypeError), torchoscope.record(Pass()) as recording:
            recording._model(X, X)
        paths = [value.path for value in recording.calls("")[0].inputs]
        self.assertEqual(paths, ["x", "[1]"])

    @unittest.skipUnless(NEW, "no compiler")
    def test_of_compiled_modules(self):
        compiled = torch.compile(Wide(), backend="eager")
        self.assertEqual(self.paths(compiled, X), ["x"])


class BaseSlots:
    __slots__ = "a"


class Slots(BaseSlots):
    __slots__ = ("b", "never_set")

    def __init__(self, a, b):
        self.a, self.b = a, b

    @property
    def c(self):
        raise RuntimeError("properties are not run")


class Graph:
    """Like torch_geometric: the tensors are in a mapping inside."""

    class Store(collections.abc.MutableMapping):
        def __init__(self, x):
            self._mapping = {"x": x}

        def fails(self, *_):
            raise RuntimeError("methods are not run")

        __getitem__ = __setitem__ = __delitem__ = __iter__ = __len__ = fails

    def __init__(self, x):
        self._store = self.Store(x)


class Nests(unittest.TestCase):
    def paths(self, x):
        self.recording = recorded(x)
        call = self.recording.calls("")[0]
        inside = [value.path.removeprefix("x") for value in call.inputs]
        results = [value.path for value in call.outputs]
        self.assertEqual([path.lstrip(".") for path in inside], results)
        return results

    def test_paths(self):
        one = torch.ones(1)
        more = [torch.ones(1) for _ in range(4)]
        cases = [
            (Pair(one, (more[0],)), ["a", "b[0]"]),
            (Data(one, {"k": [more[0]]}), ["x", "y.k[0]"]),
            (ModelOutput(one, (more[0], more[1])), ["logits", "states[0]", "states[1]"]),
            (
                {1: one, (1, 2): more[0], None: more[1], "a b": more[2], "c": more[3]},
                ["[1]", "[(1, 2)]", "[None]", "['a b']", "c"],
            ),
            (
                DynamicCache(),
                [f"layers[{i}].{name}" for i in (0, 1) for name in ("keys", "values")],
            ),
            ({"a": None, "b": 3, "c": "text"}, []),
            (collections.deque([one, [more[0]]]), ["[0]", "[1][0]"]),
            (types.SimpleNamespace(a=one, b=(more[0],)), ["a", "b[0]"]),
            (Slots(one, more[0]), ["a", "b"]),
            (Graph(one), ["_store._mapping.x"]),
        ]
        for nest, wanted in cases:
            self.assertEqual(self.paths(nest), wanted)
            self.assertEqual(gaps_of(self.recording), {})

    def test_arguments_that_are_too_deep_or_too_many_are_reported(self):
        deep = torch.ones(1)
        for _ in range(40):
            deep = [deep]
        model = nn.Sequential(Pass(), Pass())
        for nest, seen in ((deep, 0), ([torch.ones(1)] * 5000, 4096)):
            with torchoscope.record(model) as recording:
                model(nest)
            self.assertEqual(len(recording.calls("")[0].inputs), seen)
            self.assertEqual(gaps_of(recording), dict.fromkeys(("", "0", "1"), "limit"))
            texts = [gap.text for gap in recording.gaps if gap.kind == "limit"]
            self.assertTrue(all("more than is recorded" in text for text in texts))


if __name__ == "__main__":
    unittest.main()
