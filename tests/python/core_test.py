# flavours: both
"""The hot path of the extension: its figures for tensors equal those of torch, each
value is measured once, threads do not disturb each other, and nothing is left
behind."""

import collections
import dataclasses
import gc
import math
import os
import threading
import unittest
import warnings
import weakref

import torch
from scope import UNDER_ASAN
from torch import nn
from torch.nn.modules import module as hooks

from torchoscope import _core

NEAR = 1e-6
HAS_KEYWORDS = hasattr(torch, "compiler")  # of the global forward hook


class Recording:
    """`with Recording(model) as recording: ...`, then recording.run."""

    def __init__(self, model, name="net", **options):
        self.recorder = _core.Recorder(model, name, **options)

    def __enter__(self):
        pre, post = self.recorder.pre, self.recorder.post
        self.handles = [hooks.register_module_forward_pre_hook(pre)]
        register = hooks.register_module_forward_hook
        if HAS_KEYWORDS:
            self.handles.append(register(post, with_kwargs=True))
        else:
            self.handles.append(register(post))
        return self

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()
        self.errors = self.recorder.errors
        self.run = self.recorder.stop()


def kinds():
    """{name: tensor} of measurable tensors."""
    torch.manual_seed(1)
    real = torch.randn(5, 7)
    odd = real.clone()
    odd[0, 0], odd[1, 1], odd[2, 2], odd[3, 3] = math.nan, math.inf, -math.inf, 0
    numbers = torch.randn(6, dtype=torch.complex64)
    with torch.inference_mode():
        inference = torch.randn(4, 4)
    found = {
        "plain": real,
        "large": torch.randn(300, 301) * 3 + 5,
        "parameter": nn.Parameter(torch.randn(3, 4)),
        "not a leaf": nn.Parameter(torch.randn(3, 4)) * 2,
        "not finite": odd,
        "all NaN": torch.full((3,), math.nan),
        "transposed": real.t(),
        "sliced": real[1:4, ::2],
        "expanded": torch.randn(3, 1).expand(3, 5),
        "channels last": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        "no dimension": torch.tensor(2.5),
        "empty": torch.empty(0, 3),
        "size 1": torch.randn(1, 4, 1)[:, ::2],
        "conjugated": numbers.conj(),
        "negated": numbers.conj().imag,
        "negated, no dimension": numbers[0].conj().imag,
        "zeros": torch.zeros(10),
        "inference": inference,
    }
    for dtype in "float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split():
        found[dtype] = (torch.randn(40) * 20).to(getattr(torch, dtype))
    for dtype in "float8_e4m3fn float8_e5m2 uint16 uint32".split():
        if hasattr(torch, dtype):
            found[dtype] = (torch.rand(40) * 20).to(getattr(torch, dtype))
    return found


def truth(tensor):
    """The statistics computed by torch in float64."""
    tensor = tensor.detach()
    if tensor.is_complex():
        tensor = tensor.resolve_conj().abs()
    elif tensor.is_neg():
        tensor = tensor.resolve_neg()
    values = tensor.double().flatten()
    finite = values[torch.isfinite(values)]
    answer = {
        "count": values.numel(),
        "nan": int(values.isnan().sum()),
        "pos_inf": int((values == math.inf).sum()),
        "neg_inf": int((values == -math.inf).sum()),
        "zeros": int((values == 0).sum()),
    }
    if len(finite):
        answer["min"], answer["max"] = float(finite.min()), float(finite.max())
        answer["mean"] = float(finite.mean())
        answer["l2"] = float(finite.norm())
    if len(finite) > 1:
        answer["std"] = float(finite.std())
    return answer


class Tensors(unittest.TestCase):
    def compare(self, got, expected, name):
        self.assertEqual(set(got) - {"min_at", "max_at", "of"}, set(expected), name)
        for key, value in expected.items():
            near = NEAR * max(1, abs(expected.get("max", 0)), abs(value))
            self.assertAlmostEqual(got[key], value, delta=near, msg=f"{name}: {key}")

    def test_statistics_are_those_of_torch(self):
        for name, tensor in kinds().items():
            look = _core._look(tensor)
            of_abs = look["stats"].get("of") == "abs"
            self.assertEqual(of_abs, tensor.is_complex() and tensor.numel() > 0, name)
            self.assertEqual(look["shape"], list(tensor.shape), name)
            self.assertEqual(look["strides"], list(tensor.stride()), name)
            self.assertEqual(f"torch.{look['dtype']}", str(tensor.dtype), name)
            self.assertEqual(look["grad"], tensor.requires_grad, name)
            self.assertEqual(look["numel"], tensor.numel(), name)
            self.compare(look["stats"], truth(tensor), name)

    def test_places_of_the_least_and_greatest_are_right(self):
        tensor = torch.randn(4, 5, 6).permute(2, 0, 1)
        stats = _core._look(tensor)["stats"]
        self.assertEqual(float(tensor[tuple(stats["min_at"])]), stats["min"])
        self.assertEqual(float(tensor[tuple(stats["max_at"])]), stats["max"])

    def test_tensors_without_statistics_have_a_reason(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = {
                "sparse": torch.eye(3).to_sparse(),
                "sparse rows": torch.eye(3).to_sparse_csr(),
                "meta": torch.empty(3, device="meta"),
                "nested": nested(),
                "not made yet": nn.LazyLinear(3).weight,
                "fake": fake(),
            }
            if torch.backends.mkldnn.is_available():
                found["oneDNN"] = torch.randn(2, 3).to_mkldnn()
        for name, tensor in found.items():
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                look = _core._look(tensor)
            self.assertFalse(look["readable"], name)
            self.assertNotIn("stats", look, name)
            self.assertTrue(look["why"], name)

    def test_function_transforms_are_described(self):
        looks = []

        def peek(x):
            looks.append(_core._look(x))
            return x.sum()

        try:
            from torch.func import grad, vmap
        except ImportError:
            from functorch import grad, vmap
        vmap(peek)(torch.randn(2, 3))
        grad(peek)(torch.randn(3))
        self.assertEqual([look["shape"] for look in looks], [[3], [3]])
        self.assertTrue(all("transform" in look["why"] for look in looks))

    def test_the_users_code_is_not_run(self):
        class Guarded(torch.Tensor):
            @classmethod
            def __torch_function__(cls, *_, **__):
                raise AssertionError("__torch_function__ was run")

        plain = torch.randn(3)
        look = _core._look(plain.as_subclass(Guarded))
        self.assertFalse(look["exact"])
        self.compare(look["stats"], truth(plain), "a subclass")

    def test_quantised_tensors_are_measured_as_stored(self):
        values = torch.tensor([-1.0, 0.0, 1.0, 2.0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tensor = torch.quantize_per_tensor(values, 0.1, 3, torch.qint8)
        look = _core._look(tensor)
        self.assertEqual(look["dtype"], "qint8")
        self.assertEqual((look["stats"]["min"], look["stats"]["max"]), (-7, 23))

    def test_other_objects_are_not_tensors(self):
        for thing in (1, "x", None, [], nn.Linear(1, 1), torch.Tensor, torch.float32):
            self.assertIsNone(_core._look(thing))


def nested():
    parts = [torch.randn(2, 3), torch.randn(4, 3)]
    make = getattr(torch.nested, "nested_tensor", None) or torch.nested_tensor
    return make(parts)


def fake():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.empty(3, 4)


@dataclasses.dataclass
class Output:
    loss: object = None
    states: object = None


class ModelOutput(collections.OrderedDict):
    """Like that of transformers: a dict whose items are also attributes."""


class Layer:
    def __init__(self, keys, values):
        self.keys, self.values = keys, values


class DynamicCache:
    def __init__(self, layers):
        self.layers = layers


class OldCache:
    def __init__(self, keys, values):
        self.key_cache, self.value_cache = keys, values


class Trap:
    def __init__(self, x):
        self.x = x

    @property
    def y(self):
        raise AssertionError("a property was run")

    def __getattr__(self, name):
        raise AssertionError("__getattr__ was run")


class Walk(unittest.TestCase):
    def paths(self, *things):
        return [path for path, _ in _core._walk(*things)]

    def test_paths_locate_tensors_in_arguments(self):
        x = torch.zeros(1)
        point = collections.namedtuple("point", "a b")
        self.assertEqual(self.paths(x), [""])
        self.assertEqual(self.paths((x, [x, None, x])), ["[0]", "[1][0]", "[1][2]"])
        self.assertEqual(self.paths((x, x), {"mask": x}), ["[0]", "[1]", "mask"])
        self.assertEqual(self.paths((point(x, (x,)),), {}), ["[0].a", "[0].b[0]"])
        self.assertEqual(self.paths({"a b": x, 3: x, (1, "k"): x}),
                         ["['a b']", "[3]", "[(1, 'k')]"])
        self.assertEqual(self.paths(Output(x, [x])), ["loss", "states[0]"])
        self.assertEqual(self.paths((1, ModelOutput(logits=(x, x, x)))),
                         ["[1].logits[0]", "[1].logits[1]", "[1].logits[2]"])

    def test_caches_are_entered(self):
        x = torch.zeros(1)
        self.assertEqual(self.paths((DynamicCache([Layer(x, x), Layer(x, x)]),), {}),
                         ["[0].layers[0].keys", "[0].layers[0].values",
                          "[0].layers[1].keys", "[0].layers[1].values"])
        self.assertEqual(self.paths(OldCache([x], [x])),
                         ["key_cache[0]", "value_cache[0]"])

    def test_mappings_that_are_not_dicts(self):
        x = torch.zeros(1)
        self.assertEqual(self.paths(collections.UserDict(ids=x)), ["ids"])

    def test_code_of_objects_is_not_run(self):
        self.assertEqual(self.paths(Trap(torch.zeros(1))), ["x"])

    def test_cycles_and_deep_nesting_stop_at_a_limit(self):
        x = torch.zeros(1)
        loop = [x]
        loop.append(loop)
        self.assertEqual(self.paths(loop), ["[0]"])
        deep = x
        for _ in range(100):
            deep = [deep]
        self.assertEqual(self.paths(deep), [])
        self.assertEqual(len(_core._walk([x] * 10000)), 4096)
        self.assertEqual(self.paths(list(range(100000)) + [x]), [])

    def test_sets_are_entered_and_modules_are_not(self):
        found = self.paths([nn.Linear(2, 2), {torch.zeros(1)}, "text"])
        self.assertEqual(found, ["[1]{0}"])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.act = nn.ReLU(inplace=True)
        self.second = nn.Linear(16, 4)

    def forward(self, x, scale=None):
        x = self.second(self.act(self.first(x)))
        return x if scale is None else x * scale


class Recorded(unittest.TestCase):
    def test_calls_have_parents_times_lines_and_values(self):
        net, x = Net(), torch.randn(3, 8)
        with Recording(net) as recording:
            y = net(x)
        calls = recording.run.calls()
        names = [call["name"] for call in calls]
        self.assertEqual(names, ["", "first", "act", "second"])
        self.assertEqual([call["parent"] for call in calls], [None, 0, 0, 0])
        self.assertEqual(recording.errors, 0)
        for call in calls:
            self.assertEqual(call["line"].split(":")[0], "core_test.py")
            self.assertGreaterEqual(call["time_ns"], call["self_ns"])
        self.assertGreaterEqual(
            calls[0]["time_ns"], sum(call["time_ns"] for call in calls[1:]))
        lines = {call["line"] for call in calls}
        self.assertEqual(len(lines), 2)  # that in forward, and that above
        stats = calls[0]["outputs"][0]["stats"]
        self.assertAlmostEqual(stats["mean"], float(y.detach().mean()), delta=NEAR)
        self.assertEqual(calls[0]["inputs"][0]["value"], calls[1]["inputs"][0]["value"])
        self.assertEqual(calls[3]["outputs"][0]["value"],
                         calls[0]["outputs"][0]["value"])

    def test_a_write_in_place_makes_a_new_value(self):
        net, x = Net(), torch.randn(3, 8)
        hidden = net.first(x).detach()
        with Recording(net) as recording:
            net(x)
        (act,) = recording.run.calls("act")
        before, after = act["inputs"][0], act["outputs"][0]
        self.assertTrue(before["replaced"])
        self.assertTrue(after["same"])
        self.assertNotEqual(before["value"], after["value"])
        self.assertAlmostEqual(before["stats"]["min"], float(hidden.min()), delta=NEAR)
        self.assertEqual(after["stats"]["min"], 0)

    def test_writes_in_place_are_seen_without_version_counters(self):
        net, x = Net(), torch.randn(3, 8)
        with Recording(net) as recording, torch.inference_mode():
            net(x)
        (act,) = recording.run.calls("act")
        self.assertTrue(act["inputs"][0]["replaced"])
        self.assertLess(act["inputs"][0]["stats"]["min"], 0)
        self.assertEqual(act["outputs"][0]["stats"]["min"], 0)
        self.assertTrue(act["outputs"][0]["inference"])

    def test_reused_memory_is_measured_again(self):
        class Reuse(nn.Module):
            def __init__(self):
                super().__init__()
                self.look = nn.Identity()

            def forward(self, x):
                for i in range(200):
                    self.look(torch.full((64,), float(i)))
                buffer = torch.zeros(64)
                for i in range(10):
                    self.look(buffer.add_(1))
                other = torch.full((64,), -1.0)
                self.look(other)
                other.data = torch.full((64,), -2.0)
                self.look(other)
                return x

        net = Reuse()
        with Recording(net, calls=0) as recording:
            net(torch.zeros(1))
        means = [c["inputs"][0]["stats"]["mean"] for c in recording.run.calls("look")]
        expected = [*range(200), *range(1, 11), -1, -2]
        self.assertEqual(means, expected)

    @unittest.skipUnless(HAS_KEYWORDS, "this torch does not show keyword arguments")
    def test_keywords_are_arguments(self):
        net = Net()
        with Recording(net) as recording:
            net(torch.randn(3, 8), scale=torch.tensor(2.0))
        root = recording.run.calls("")[0]
        self.assertEqual([i["path"] for i in root["inputs"]], ["x", "scale"])
        self.assertEqual(root["inputs"][1]["stats"]["max"], 2)

    def test_an_exception_ends_a_call(self):
        net = Net()
        recorder = _core.Recorder(net, "net")
        x = torch.randn(2, 8)
        recorder.pre(net, (x,))
        recorder.pre(net.first, (x,))
        recorder.raised(net, ValueError("too few"))
        recorder.pre(net, (x,))
        recorder.post(net, (x,), {}, None)
        calls = recorder.stop().calls()
        self.assertEqual([call["parent"] for call in calls], [None, 0, None])
        self.assertIn("raised", calls[0]["flags"])
        self.assertEqual(calls[0]["error"], "ValueError: too few")
        self.assertIn("aborted", calls[1]["flags"])
        self.assertEqual(calls[1]["inputs"][0]["shape"], [2, 8])

    def test_modules_of_others_are_left_alone(self):
        net, other = Net(), Net()
        with Recording(net) as recording:
            other(torch.randn(1, 8))
        self.assertEqual(recording.run.calls(), [])

    def test_flags_record_how_a_call_ran(self):
        net = Net().eval()
        with Recording(net) as recording:
            with torch.no_grad():
                net(torch.randn(1, 8))
            net.train()(torch.randn(1, 8))
        first, second = recording.run.calls("")
        self.assertEqual(first["flags"], [])
        self.assertEqual(second["flags"], ["training", "grad"])

    def test_kept_values_are_those_of_torch(self):
        net, x = Net(), torch.randn(3, 8)
        asked = []

        def keep(name):
            asked.append(name)
            return name == "second"

        with Recording(net, keep=keep, keep_limit=1 << 20) as recording:
            y = net(x)
            net(x)
        data, dtype, shape = recording.run.kept("second")
        again = torch.frombuffer(bytearray(data), dtype=getattr(torch, dtype))
        self.assertTrue(torch.equal(again.reshape(shape), y))
        self.assertIsNone(recording.run.kept("first"))
        self.assertEqual(len(asked), len(set(asked)))

    def test_parameters_and_gradients_before_a_step(self):
        net = Net()
        recorder = _core.Recorder(net, "net")
        net(torch.randn(3, 8)).sum().backward()
        recorder.step(None)
        params = recorder.stop().params()
        found = {(p["name"], p["gradient"]): p["stats"] for p in params}
        for name, parameter in net.named_parameters():
            mean = float(parameter.detach().mean())
            self.assertAlmostEqual(found[name, False]["mean"], mean, delta=NEAR)
            mean = float(parameter.grad.mean())
            self.assertAlmostEqual(found[name, True]["mean"], mean, delta=NEAR)

    def test_statistics_measured_on_a_device_are_recorded(self):
        class Device:
            def __init__(self):
                self.rows = []

            def add(self, value, tensor):
                x = tensor.detach().double()
                mean = x.mean()
                self.rows.append((
                    value, x.numel(), 0, 0, 0, int((x == 0).sum()), float(x.min()),
                    float(x.max()), float(mean), float(((x - mean) ** 2).sum()),
                    int(x.argmin()), int(x.argmax())))

            def finish(self):
                rows, self.rows = self.rows, []
                return rows

        net, x = Net(), torch.randn(3, 8)
        with Recording(net, device=Device(), force_device=True) as recording:
            y = net(x)
        self.assertEqual(recording.errors, 0)
        stats = recording.run.calls("")[0]["outputs"][0]["stats"]
        for key, value in truth(y).items():
            self.assertAlmostEqual(stats[key], value, delta=NEAR)

    def test_a_function_mode_does_not_see_the_recorder(self):
        try:
            from torch.overrides import TorchFunctionMode
        except ImportError:
            self.skipTest("this torch has no function modes")
        if not hasattr(torch._C, "DisableTorchFunctionSubclass"):
            self.skipTest("this torch cannot switch function modes off")

        class Count(TorchFunctionMode):
            def __init__(self):
                super().__init__()
                self.names = []

            def __torch_function__(self, func, types, args=(), kwargs=None):
                self.names.append(getattr(func, "__name__", str(func)))
                return func(*args, **(kwargs or {}))

        net, x = Net(), torch.randn(3, 8)
        with Count() as bare:
            net(x)
        with Recording(net), Count() as recorded:
            net(x)
        self.assertEqual(bare.names, recorded.names)

    def test_a_forked_child_records_nothing(self):
        net = Net()
        with Recording(net) as recording:
            child = os.fork()
            if child == 0:
                recording.recorder.pre(net, (torch.zeros(1, 8),))
                os._exit(int(recording.recorder.armed))
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertTrue(recording.recorder.armed)

    def test_internal_errors_end_the_recording_and_are_reported(self):
        class Broken:
            def add(self, value, tensor):
                raise RuntimeError("broken")

            def finish(self):
                return []

        net = Net()
        with Recording(net, device=Broken(), force_device=True) as recording:
            for _ in range(60):
                net(torch.randn(1, 8))
        self.assertEqual(recording.errors, 100)
        kinds = [gap["kind"] for gap in recording.run.gaps()]
        self.assertIn("error", " ".join(kinds))


class Threads(unittest.TestCase):
    def test_four_threads_have_separate_stacks(self):
        nets = nn.ModuleList(
            nn.Sequential(nn.Linear(600, 600), nn.ReLU(inplace=True), Net600())
            for _ in range(4))
        wrong = []

        def work(net, number):
            try:
                for _ in range(12):
                    net(torch.full((200, 600), float(number)))
            except Exception as error:  # noqa: BLE001
                wrong.append(error)

        with Recording(nets, calls=0) as recording:
            threads = [threading.Thread(target=work, args=(net, i))
                       for i, net in enumerate(nets)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual((wrong, recording.errors), ([], 0))
        calls = recording.run.calls()
        self.assertEqual(len(calls), 4 * 12 * 5)
        for call in calls:
            number = call["name"].split(".")[0]
            self.assertNotIn("aborted", call["flags"])
            if call["parent"] is not None:
                parent = calls[call["parent"]]
                self.assertEqual(parent["name"].split(".")[0], number)
                self.assertEqual(parent["thread"], call["thread"])
            else:
                stats = call["inputs"][0]["stats"]
                self.assertEqual((stats["min"], stats["max"]),
                                 (int(number), int(number)))

    def test_stopping_while_another_thread_runs(self):
        net = nn.Sequential(*(nn.Linear(400, 400) for _ in range(3)))
        go_on = True

        def work():
            while go_on:
                net(torch.randn(300, 400))

        thread = threading.Thread(target=work)
        thread.start()
        try:
            for _ in range(30):
                with Recording(net) as recording:
                    net(torch.randn(300, 400))
                    recording.recorder.snapshot().calls()
                self.assertEqual(recording.errors, 0)
                recording.run.calls()
        finally:
            go_on = False
            thread.join()


class Net600(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(600, 10)

    def forward(self, x):
        return {"out": self.inner(x)}


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


class NothingLeft(unittest.TestCase):
    def test_tensors_and_modules_die(self):
        net, x = Net(), torch.randn(3, 8)
        with Recording(net) as recording:
            y = net(x)
            gone = [weakref.ref(thing) for thing in (x, y)]
            del x, y
            gc.collect()
            self.assertEqual([ref() for ref in gone], [None, None])
            net_ref = weakref.ref(net)
            del net
            gc.collect()
            self.assertIsNone(net_ref())
        self.assertEqual(len(recording.run.calls()), 4)

    def test_the_number_of_tracked_objects_does_not_grow(self):
        def once():
            net = Net()
            with Recording(net) as recording:
                for _ in range(5):
                    net(torch.randn(3, 8)).sum().backward()
            recording.run.calls()

        for _ in range(3):
            once()
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(20):
            once()
        gc.collect()
        self.assertLess(len(gc.get_objects()) - before, 50)

    @unittest.skipIf(UNDER_ASAN, "the allocator keeps freed memory")
    def test_memory_stays_flat_over_10000_forwards(self):
        net, x = Net(), torch.randn(3, 8)
        with Recording(net) as recording, torch.no_grad():
            for _ in range(2000):
                net(x)
            gc.collect()
            before = resident()
            objects = len(gc.get_objects())
            for _ in range(10000):
                net(x)
            gc.collect()
            grown = resident() - before
            self.assertLess(len(gc.get_objects()) - objects, 2000)
        self.assertLess(grown, 4 << 20)
        (merged,) = recording.run.merged("first")
        self.assertEqual(merged["calls"] + 64, 12000)

    def test_stop_twice_is_an_error(self):
        recorder = _core.Recorder(Net(), "net")
        recorder.stop()
        self.assertRaises(RuntimeError, recorder.stop)
        self.assertRaises(RuntimeError, recorder.snapshot)

    def test_invalid_arguments_are_refused(self):
        self.assertRaises(TypeError, _core.Recorder, 3, "three")
        self.assertRaises(ValueError, _core.Recorder, Net(), "net", mode="quick")
        run = _core.Recorder(Net(), "net").stop()
        self.assertRaises(KeyError, run.calls, "nowhere")


if __name__ == "__main__":
    unittest.main()
