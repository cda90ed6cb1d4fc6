# flavours: both
"""Tensors that only their device can read are measured by torch operations. Here these
operations run on the CPU and must give the numbers of the C kernel."""

import math
import os
import tempfile

os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_BF16"

import unittest
from unittest import mock

import torch
from torch import nn

import torchoscope
from torchoscope import _core, clock, device, recorder

NAN, INF = math.nan, math.inf
NUMBERS = "count nan pos_inf neg_inf zeros min max mean std l2 min_at max_at".split()
CLOSE = ("mean", "std", "l2")
DTYPES = """float64 float32 float16 bfloat16 complex64 complex128 int64 int32 int16 int8
    uint8 bool uint16 uint32 uint64 float8_e4m3fn float8_e5m2 float8_e4m3fnuz
    float8_e5m2fnuz""".split()


def sample(dtype, n=1000):
    """Values of both signs if the type has them, with zeros and equal extremes."""
    kind = getattr(torch, dtype)
    x = torch.linspace(-3, 3, n, dtype=torch.float64).sin() * 50
    x[n // 3] = 0
    if kind == torch.bool:
        return x > 0
    if kind.is_complex:
        return torch.complex(x, x.flip(0) / 2).to(kind)
    if dtype.startswith("uint"):
        x = x.abs()
    return x.to(kind)


def measured(tensor, force, mode="full"):
    """The statistics of a tensor that goes through a module."""
    model = nn.Identity()
    wished = {"mode": mode, "device": device.Device(mode), "force_device": force}
    recorder = _core.Recorder(model, "", **wished)
    recorder.pre(model, (tensor,))
    recorder.post(model, (tensor,), None, tensor)
    run = recorder.stop()
    return run.calls("")[0]["inputs"][0]


class Kept(unittest.TestCase):
    def test_kept_values_are_fetched_from_their_device(self):
        model, x, fetched, cpu = nn.Linear(4, 2), torch.randn(3, 4), [], torch.Tensor.cpu

        def fetch(tensor):
            fetched.append(tensor.shape)
            return cpu(tensor)

        ops = mock.patch.dict(os.environ, TORCHOSCOPE_DEVICE="ops")
        with ops, mock.patch.object(torch.Tensor, "cpu", fetch):
            with torchoscope.record(model, keep="*") as recording:
                wanted = model(x)
                self.assertEqual(fetched[:2], [(3, 4), (3, 2)])
        self.assertTrue(torch.equal(recording.values("")[0], wanted))
        self.assertTrue(torch.equal(recording.values("", kind="in")[0], x))
        self.assertFalse([gap for gap in recording.gaps if gap.kind == "limit"])


class SameNumbers(unittest.TestCase):
    def agree(self, tensor, mode="full"):
        host, ops = measured(tensor, False, mode), measured(tensor, True, mode)
        self.assertIsNotNone(host["stats"], host.get("why"))
        self.assertIsNotNone(ops["stats"], ops.get("why"))
        for name in NUMBERS:
            a, b = host["stats"].get(name), ops["stats"].get(name)
            if name in CLOSE and a is not None and b is not None:
                scale = max(abs(a), abs(host["stats"].get("std") or 0), 1e-30)
                self.assertLessEqual(abs(a - b), 1e-6 * scale, (name, a, b))
            else:
                self.assertEqual(a, b, name)

    def test_every_dtype(self):
        done = 0
        for dtype in DTYPES:
            if not hasattr(torch, dtype):
                continue
            with self.subTest(dtype):
                self.agree(sample(dtype))
                done += 1
        self.assertGreaterEqual(done, 12)

    def test_non_finite_values_are_counted_separately(self):
        self.agree(torch.tensor([1.0, NAN, 3.0, -2.0, 0.0, INF, -INF, -INF, 7.0]))
        self.agree(torch.tensor([NAN, INF]))
        self.agree(torch.tensor([NAN, 2.5]))
        self.agree(torch.tensor(4.0))
        self.agree(torch.tensor([[], []]))

    def test_strides_do_not_matter(self):
        x = torch.arange(120.0).reshape(4, 5, 6)
        for view in (x.permute(2, 0, 1), x[:, 1:4, ::2], x[1:2].expand(3, 5, 6)):
            self.agree(view)

    def test_a_mean_far_from_zero(self):
        x = torch.linspace(0, 1, 50000) + 1000
        self.agree(x)

    def test_counts_alone_can_be_measured(self):
        self.agree(torch.tensor([1.0, NAN, INF, 0.0]), "guard")

    def test_samples_are_the_same(self):
        for n in (1000, 65536, 8 * 2048 * 5 + 3000, 8 * 2048 * 4 + 100):
            x = sample("float32", n)
            x[17] = NAN
            self.agree(x, "sampled")
            value = measured(x, True, "sampled")
            self.assertEqual("sampled" in value["stats"], n >= 65536)

    def test_calls_that_are_merged(self):
        model = nn.Sequential(nn.Linear(6, 9), nn.Tanh())
        found = []
        for force in (False, True):
            torch.manual_seed(1)
            wished = {"device": device.Device(), "force_device": force, "calls": 2}
            recorder = _core.Recorder(model, "", **wished)
            for _ in range(6):
                x = torch.randn(5, 6)
                recorder.pre(model, (x,))
                recorder.pre(model[0], (x,))
                y = model[0](x)
                recorder.post(model[0], (x,), None, y)
                recorder.post(model, (x,), None, y.tanh())
            run = recorder.stop()
            found.append([run.merged("")[0], run.merged("0")[0], run.facts()])
        self.assertNotIn("times", found[0].pop())
        self.assertIn("host only", found[1].pop()["times"])
        for host, ops in zip(*found):
            self.assertEqual(host["calls"], 4)
            self.assertGreater(len(host["ios"]), 1)
            for a, b in zip(host["ios"], ops["ios"]):
                self.assertEqual(a["path"], b["path"])
                self.assertEqual(a["stats"]["count"], b["stats"]["count"])
                for name in ("min", "max", "mean", "std"):
                    self.assertAlmostEqual(a["stats"][name], b["stats"][name], places=6)

    def test_statistics_of_pieces_merge_to_those_of_the_whole(self):
        x = sample("float32", 5000)
        x[17], x[18], x[4000:] = NAN, INF, NAN
        whole = self.ops(x)
        piece, device.PIECE = device.PIECE, 512
        try:
            pieces = self.ops(x)
        finally:
            device.PIECE = piece
        for one, other in zip(whole, pieces):
            self.assertAlmostEqual(one, other, delta=1e-9 * max(1, abs(one)))

    def ops(self, tensor):
        measure = device.Device()
        measure.add(3, tensor)
        return measure.finish()[0]


class Unnoticed(unittest.TestCase):
    def test_several_values_are_fetched_together_and_once(self):
        measure = device.Device()
        for value in (5, 9, 2):
            measure.add(value, torch.full((4,), float(value)))
        rows = measure.finish()
        self.assertEqual([row[0] for row in rows], [5, 9, 2])
        self.assertEqual([row[8] for row in rows], [5.0, 9.0, 2.0])
        self.assertEqual(measure.finish(), [])

    def test_no_gradient_and_no_random_number_is_used(self):
        x = torch.ones(3, requires_grad=True)
        state = torch.get_rng_state()
        measure = device.Device()
        measure.add(0, x * 2)
        measure.finish()
        self.assertTrue(torch.equal(state, torch.get_rng_state()))
        self.assertIsNone(x.grad)

    def test_inference_mode_and_then_normal_mode(self):
        measure = device.Device()
        with torch.inference_mode():
            measure.add(0, torch.ones(2))
        measure.add(1, torch.zeros(2))
        self.assertEqual([row[8] for row in measure.finish()], [1.0, 0.0])

    @unittest.skipUnless(hasattr(torch, "compiler"), "no such modes")
    def test_user_modes_do_not_see_the_measurement(self):
        from torch.overrides import TorchFunctionMode
        from torch.utils._python_dispatch import TorchDispatchMode

        seen = []

        class Dispatch(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen.append(func)
                return func(*args, **(kwargs or {}))

        class Function(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append(func)
                return func(*args, **(kwargs or {}))

        x = torch.ones(3)
        measure = device.Device()
        with Dispatch(), Function():
            measure.add(0, x)
            rows = measure.finish()
        self.assertEqual((len(rows), seen), (1, []))

    def test_both_kernels_record_the_same_numbers(self):
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 2))
        x = torch.randn(5, 6)
        found = []
        for way in ("", "ops"):
            os.environ["TORCHOSCOPE_DEVICE"] = way
            with torchoscope.record(model) as recording:
                for _ in range(3):
                    model(x)
            found.append([c.outputs[0] for c in recording.calls()])
        os.environ.pop("TORCHOSCOPE_DEVICE")
        for host, ops in zip(*found, strict=True):
            self.assertAlmostEqual(host.std, ops.std, delta=1e-6 * host.std)
            self.assertEqual((host.min, host.max), (ops.min, ops.max))


class FakeClock:
    """Advances when a module says that its device works, and counts waits."""

    def __init__(self):
        self.now = self.bytes = self.waits = self.marks = 0
        self.capturing, self.broken, self.has_bytes = False, None, True

    def mark(self):
        if self.broken == "mark":
            raise RuntimeError("no more events")
        self.marks += 1
        return self.now

    def wait(self, event):
        self.waits += 1

    def between(self, a, b):
        if self.broken == "between":
            raise RuntimeError("not ready")
        return b - a

    def allocated(self):
        return self.bytes if self.has_bytes else None

    def is_capturing(self):
        return self.capturing


class Works(nn.Module):
    """Takes this long on its device, and allocates this many bytes."""

    def __init__(self, fake, ns, size=0, inner=(), error=None):
        super().__init__()
        self.fake, self.ns, self.size, self.error = fake, ns, size, error
        self.inner = nn.ModuleList(inner)
        self.waits = []

    def forward(self, x):
        self.waits.append(self.fake.waits)
        for inner in self.inner:
            x = inner(x)
        self.fake.now += self.ns
        self.fake.bytes += self.size
        if self.error is not None:
            raise self.error
        return x + 1


class Clocked(unittest.TestCase):
    def setUp(self):
        self.fake = fake = FakeClock()
        row = device._row

        def slow_row(*args):  # our own work takes time and memory there too
            fake.now += 10**6
            fake.bytes += 10**6
            return row(*args)

        for patch in (
            mock.patch.object(device, "_row", slow_row),
            mock.patch.object(recorder, "clock_of", lambda modules: fake),
            mock.patch.dict(os.environ, {"TORCHOSCOPE_DEVICE": "ops"}),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        self.x = torch.ones(2, 3)

    def model(self, error=None):
        fake = self.fake
        last = Works(fake, 700, 7, error=error)
        middle = Works(fake, 50, -20, [Works(fake, 300, 16), last])
        return Works(fake, 20, 4, [Works(fake, 1000, 64), middle])

    def record(self, model, passes=1, **wanted):
        with torchoscope.record(model, **wanted) as recording:
            for _ in range(passes):
                model(self.x)
            self.assertEqual(recording._core.errors, 0)
        return recording

    def told(self, recording, name):
        return [(call.device_ns, call.device_bytes) for call in recording.calls(name)]

    NUMBERS = {
        "": (2070, 71),
        "inner.0": (1000, 64),
        "inner.1": (1050, 3),
        "inner.1.inner.0": (300, 16),
        "inner.1.inner.1": (700, 7),
    }

    def test_the_time_of_each_call_excludes_the_recorder(self):
        recording = self.record(self.model(), passes=2)
        for name, numbers in self.NUMBERS.items():
            self.assertEqual(self.told(recording, name), [numbers] * 2, name)
        self.assertGreater(self.fake.now, 10**6)
        self.assertIn("device_ns", recording.facts["times"])

    def test_waiting_happens_at_the_end_of_a_pass_and_never_in_a_hook(self):
        model = self.model()
        self.record(model, passes=3)
        self.assertEqual(self.fake.waits, 3)
        for module in model.modules():
            if isinstance(module, Works):
                self.assertEqual(module.waits, [0, 1, 2])

    def test_merged_calls_have_the_sum_of_their_times(self):
        recording = self.record(self.model(), passes=5, calls=2)
        run = recording._now()
        for name, (ns, size) in self.NUMBERS.items():
            self.assertEqual(run.merged(name)[0]["device_ns"], 3 * ns, name)
            self.assertEqual(self.told(recording, name), [(ns, size)] * 3, name)

    def test_calls_that_raise_or_never_end(self):
        for error in (ValueError("no"), KeyboardInterrupt()):
            model = self.model(error)
            with torchoscope.record(model) as recording:
                with self.assertRaises(type(error)):
                    model(self.x)
                model.inner[1].inner[1].error = None
                model(self.x)
            for name, numbers in self.NUMBERS.items():
                first, second = self.told(recording, name)
                self.assertEqual(second, numbers, name)
                flags = recording.calls(name)[0].flags
                if "aborted" in flags:
                    self.assertEqual(first, (None, None), name)
                else:
                    self.assertGreater(first[0], 0)

    def test_no_event_is_recorded_or_read_during_graph_capture(self):
        model = self.model()
        self.fake.capturing = True
        recording = self.record(model)
        self.assertEqual((self.fake.marks, self.fake.waits), (0, 0))
        self.assertEqual(self.told(recording, ""), [(None, None)])
        self.assertEqual(recording.calls("")[0].outputs[0].mean, None)
        hook = model.inner[0].register_forward_pre_hook(
            lambda *_: setattr(self.fake, "capturing", True)
        )
        self.fake.capturing = False
        recording = self.record(model)
        self.assertEqual(self.fake.waits, 0)
        self.assertEqual(self.told(recording, ""), [(None, None)])
        hook.remove()
        self.fake.capturing = False
        self.assertEqual(self.told(self.record(model), ""), [self.NUMBERS[""]])

    def test_a_failing_clock_is_no_longer_used(self):
        for broken in ("mark", "between"):
            self.fake.broken = broken
            recording = self.record(self.model(), passes=2)
            self.assertEqual(self.told(recording, ""), [(None, None)] * 2)
            self.assertEqual(recording.facts["times"], "of the host only")
            self.assertIsNotNone(recording.calls("")[0].outputs[0].mean)

    def test_too_many_events_stop_at_a_limit(self):
        with mock.patch.object(clock, "MOST", 8):
            recording = self.record(self.model(), passes=2)
        self.assertEqual(self.told(recording, "inner.0"), [self.NUMBERS["inner.0"]] * 2)
        self.assertEqual(self.told(recording, ""), [(None, None)] * 2)

    def test_without_an_allocator(self):
        self.fake.has_bytes = False
        recording = self.record(self.model())
        self.assertEqual(self.told(recording, ""), [(2070, None)])

    def test_device_times_are_in_files_and_views(self):
        model = self.model()
        model.ns = 3_000_000
        recording = self.record(model)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.scope")
            recording.save(path)
            again = torchoscope.open(path)
            self.assertEqual(again.calls(), recording.calls())
            self.assertEqual(self.told(again, ""), [(3_002_050, 71)])
            text = again._now().text(width=120)
        self.assertIn("forward on the device 3.00ms", text)
        self.assertRegex(text.splitlines()[0], r"\bself +device\b")
        with mock.patch.object(recorder, "clock_of", lambda modules: None):
            text = self.record(model)._now().text(width=120)
        self.assertIn("(host times only)", text)
        self.assertNotIn("device", text.splitlines()[0])

    def test_only_one_accelerator_has_a_clock(self):
        model = nn.Linear(2, 2)
        self.assertIsNone(clock.clock_of([("", model)]))
        self.assertIsNone(clock.clock_of([("", nn.Linear(2, 2, device="meta"))]))
        self.assertFalse(clock.is_capturing(torch.device("cpu")))

    def test_events_work_with_the_api_of_each_torch_version(self):
        class Event:
            def __init__(self, enable_timing=False):
                assert enable_timing

            def record(self, stream):
                self.at = stream

            def elapsed_time(self, other):
                return 0.25

            def synchronize(self):
                pass

        kind = mock.Mock(spec_set=("Event", "current_stream"))
        kind.Event, kind.current_stream = Event, lambda where: f"stream of {where}"
        with mock.patch.object(torch, "privateuseone", kind, create=True):
            one = clock.Clock(torch.device("privateuseone:0"))
            event = one.mark()
            self.assertEqual(event.at, "stream of privateuseone:0")
            self.assertEqual(one.between(event, one.mark()), 250_000)
            self.assertIsNone(one.allocated())
            self.assertFalse(one.is_capturing())


if __name__ == "__main__":
    unittest.main()
