"""The NaN capsule: a step with a non-finite value is saved, replays bit for bit, and
the producing operation is named."""

import contextlib
import gc
import io
import json
import os
import random
import subprocess
import sys
import types
import unittest
import unittest.mock
import warnings
import weakref

import scope

try:
    import torch
    from torch import nn

    import torchoscope
    from torchoscope import _core, op_kinds
except ImportError as error:
    raise unittest.SkipTest(f"no torch: {error}")

if op_kinds.why_not():
    raise unittest.SkipTest(op_kinds.why_not())

from folder import TemporaryFolder

from torchoscope import capsule, capsule_file, replaying, shell, targets

torch.set_num_threads(1)

NET = '''
import torch
from torch import nn

class Net(nn.Module):
    """NaN in forward if a row of x is 0, in backward if scale is 0."""

    def __init__(self, width=4):
        super().__init__()
        self.fc, self.norm = nn.Linear(width, 8), nn.BatchNorm1d(8)
        self.drop, self.head = nn.Dropout(0.5), nn.Linear(8, 2)
        self.register_buffer("seen", torch.zeros(3), persistent=False)

    def forward(self, x, scale=1.0, more=None):
        with torch.no_grad():
            self.seen.add_(1)
        size = x.square().sum(1, keepdim=True)
        x = x / size.sqrt().clamp(min=0)
        h = self.drop(self.norm(self.fc(x)))
        return self.head(h) + (h.square().sum() * scale).sqrt()
'''
names = {}
exec(compile(NET, "net.py", "exec"), names)
Net = names["Net"]


def bits(tensor):
    return bytes(tensor.contiguous().view(torch.uint8).numpy())


def unguarded(handle):
    """The tests report non-finite values themselves."""
    handle._alarms._hit_once = handle._alarms.tell = lambda *_: None
    return handle


class Capsules(TemporaryFolder):
    def setUp(self):
        super().setUp()
        torch.manual_seed(7)
        said = contextlib.redirect_stderr(io.StringIO())
        self.said = said.__enter__()
        self.addCleanup(said.__exit__, None, None, None)

    def watch(self, model, **options):
        options = {"log_freq": 3, **options}
        handle = torchoscope.watch(model, dir=str(self.folder), **options)
        self.addCleanup(handle.close)
        return unguarded(handle)

    def step(self, model, optimizer, *args, **kwargs):
        """One step; the result of forward."""
        optimizer.zero_grad()
        result = model(*args, **kwargs)
        result.sum().backward()
        return result.detach()

    def hit(self, where="forward", steps=3, model=None, bad=None, **kwargs):
        """Train, with a bad last batch; (path, its result)."""
        model = model or Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        handle = self.watch(model)
        for _ in range(steps - 1):
            self.step(model, optimizer, torch.randn(5, 4))
            optimizer.step()
        x = torch.randn(5, 4)
        if bad is not None:
            x[bad] = 0
        result = self.step(model, optimizer, x, **kwargs)
        path = handle._hit(where, "something is not finite")
        return path, result


class Replays(Capsules):
    def test_forward_with_dropout_and_batch_norm_bit_for_bit(self):
        model = Net()
        path, result = self.hit(model=model, bad=2)
        self.assertTrue(path.endswith(".nan.scope"))
        buffers = {name: one.clone() for name, one in model.named_buffers()}
        torch.manual_seed(1234)
        state = torch.get_rng_state()
        fresh = Net()
        found = torchoscope.replay(path, fresh)
        self.assertTrue(found.reproduced)
        self.assertTrue(found.results[0].isnan().any())
        self.assertEqual(bits(found.results[0].detach()), bits(result))
        op = found.op
        self.assertEqual((op.name, op.module, op.phase), ("aten::div", "", "forward"))
        self.assertEqual(found.op.line, "net.py:18")
        text = str(found)
        self.assertRegex(text, r"step 2, forward: something is not finite\n")
        self.assertIn("reproduced: aten::div in the model (net.py:18), forward\n", text)
        self.assertRegex(text, r"\n  self +float32 5×4  min ")
        self.assertRegex(text, r"\n  result +float32 5×4  4 of 20 NaN")
        # The model has its state at the start of the step; the caller's generator is
        # kept.
        for name, one in fresh.named_parameters():
            self.assertTrue(torch.equal(one, model.get_parameter(name)), name)
        self.assertTrue(torch.equal(fresh.seen, buffers["seen"] - 1))
        self.assertEqual(int(fresh.norm.num_batches_tracked), 2)
        # Net() drew numbers
        self.assertFalse(torch.equal(torch.get_rng_state(), state))
        self.assertIsNone(fresh.fc.weight.grad)

    def test_backward_from_the_gradients_that_the_loss_gave(self):
        path, _ = self.hit("backward", scale=0.0)
        found = torchoscope.replay(path, Net())
        self.assertTrue(found.reproduced)
        self.assertEqual((found.op.phase, found.op.name), ("backward", "aten::div"))
        self.assertEqual(found.op.cause.name, "aten::sqrt")
        self.assertEqual(found.notes, [])
        self.assertIn("the backward of aten::sqrt", str(found))

    def test_gradient_accumulation_runs_all_passes_of_the_step(self):
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        handle = self.watch(model)
        results = []
        for scale in (1.0, 0.0, 1.0):
            result = model(torch.randn(5, 4), scale=scale)
            results.append(result.detach())
            result.sum().backward()
        path = handle._hit("backward", "the gradient norm is NaN")
        optimizer.step()
        found = torchoscope.replay(path, Net())
        self.assertEqual(len(found.results), 3)
        for one, other in zip(found.results, results):
            self.assertTrue(torch.equal(one.detach(), other))
        self.assertEqual(found.op.cause.name, "aten::sqrt")

    def test_modes_of_torch_and_of_the_model(self):
        model = Net()
        model.norm.eval()
        model.fc.bias.requires_grad_(False)
        handle = self.watch(model)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            result = model(torch.zeros(5, 4))
        path = handle._hit("forward", "NaN")
        fresh = Net().eval()
        found = torchoscope.replay(path, fresh)
        self.assertEqual(found.results[0].dtype, result.dtype)
        self.assertTrue(found.reproduced)
        self.assertTrue(fresh.training and fresh.drop.training)
        self.assertFalse(fresh.norm.training)
        self.assertFalse(fresh.fc.bias.requires_grad)
        self.assertTrue(fresh.fc.weight.requires_grad)

    def test_inputs_keep_strides_identity_and_nesting(self):
        class Odd(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(()))

            def forward(self, pair, *, table, kind, pack, limit, size):
                self.got = pair, table, kind, pack, limit, size
                return self.w / 0 + pair[0].sum()

        x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
        pack = nn.utils.rnn.pack_sequence([torch.ones(3, 2), torch.ones(1, 2)])
        given = {"table": {"a": [x, None], 3: (True, "t", 2.5, 1j)}}
        given |= {"kind": torch.float16}
        given |= {"pack": pack, "limit": float("inf"), "size": torch.Size((2, 3))}
        model = Odd()
        handle = self.watch(model)
        wide = torch.randn(4, 1).expand(4, 3)
        model((x, wide), **given)
        path = handle._hit("forward", "Inf")
        fresh = Odd()
        self.assertTrue(torchoscope.replay(path, fresh).reproduced)
        (first, second), table, kind, packed, limit, size = fresh.got
        self.assertIs(first, table["a"][0])
        self.assertEqual(first.stride(), x.stride())
        self.assertTrue(torch.equal(first, x) and torch.equal(second, wide))
        self.assertEqual(table[3], (True, "t", 2.5, 1j))
        self.assertEqual((kind, limit, size), (torch.float16, float("inf"), (2, 3)))
        self.assertTrue(torch.equal(packed.data, pack.data))

    def test_bad_data_and_bad_losses_are_reported_as_the_cause(self):
        model = Net()
        handle = self.watch(model)
        x = torch.randn(5, 4)
        x[1, 2] = float("nan")
        model(x)
        found = torchoscope.replay(handle._hit("forward", "NaN"), Net())
        self.assertTrue(found.reproduced)
        self.assertIn("an input was not finite: argument 0", str(found))
        model = Net()
        handle = self.watch(model)
        (model(torch.randn(5, 4)).sum() * float("inf")).backward()
        found = torchoscope.replay(handle._hit("backward", "Inf"), Net())
        self.assertIn("the gradient that reached the model was not finite", str(found))
        self.assertTrue(found.reproduced)

    def test_running_statistics_are_not_blamed_in_training(self):
        model = Net()
        model.norm.running_var[0] = float("inf")
        handle = self.watch(model)
        model(torch.zeros(5, 4))
        found = torchoscope.replay(handle._hit("forward", "NaN"), Net())
        self.assertEqual(found.op.name, "aten::div")


class Honest(Capsules):
    def test_small_inputs_are_copied_and_overwritten_large_ones_are_reported(self):
        for rows, lost in ((5, False), (90_000, True)):
            model = Net()
            handle = self.watch(model)
            x = torch.zeros(rows, 4)
            model(x)
            x.fill_(1)
            path = handle._hit("forward", "NaN")
            found = torchoscope.replay(path, Net())
            self.assertEqual(found.reproduced, not lost)
            text = "not reproduced: it needs argument 0: overwritten after the step"
            self.assertEqual(text in str(found), lost, str(found))

    def test_a_write_that_bypasses_torch_is_detected(self):
        model = Net()
        handle = self.watch(model)
        x = torch.zeros(90_000, 4)
        model(x)
        x.data.fill_(1)  # the version stays
        found = torchoscope.replay(handle._hit("forward", "NaN"), Net())
        self.assertIn("argument 0: overwritten", found.lost[0])

    def test_inputs_over_the_size_limit_are_reported(self):
        with unittest.mock.patch.object(capsule, "HELD_MOST", 50):
            path, _ = self.hit()
        found = torchoscope.replay(path, Net())
        self.assertFalse(found.reproduced)
        self.assertIn("argument 0: 80B are too many to hold", found.lost)

    def test_objects_that_cannot_be_written_are_reported(self):
        path, _ = self.hit(more=object())
        found = torchoscope.replay(path, Net())
        text = "more: objects of builtins.object are not written"
        self.assertEqual(found.lost, [text])
        self.assertFalse(found.reproduced)
        self.assertIn("not reproduced: it needs more: objects of", str(found))

    def test_changed_and_large_parameters_are_reported(self):
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        handle = self.watch(model)
        self.step(model, optimizer, torch.randn(5, 4))
        optimizer.step()
        found = torchoscope.replay(handle._hit("optimizer", "NaN"), Net())
        self.assertFalse(found.reproduced)
        text = "every value is finite; parameters changed after the step"
        self.assertIn(text, str(found))
        with unittest.mock.patch.object(capsule_file, "STATE_MOST", 100):
            path, _ = self.hit(bad=1)
        found = torchoscope.replay(path, Net())
        self.assertIn("of parameters and buffers are too many", found.lost[0])
        self.assertTrue(found.reproduced)

    def test_very_short_steps_are_not_all_kept(self):
        model = Net()
        handle = self.watch(model, log_freq=None)
        handle._capsule._share, handle._capsule._credit = lambda: 1e-9, -1e12
        model(torch.zeros(5, 4))
        self.assertIsNone(handle._hit("forward", "NaN"))
        text = "was not saved for replay: steps are too short"
        self.assertIn(text, self.said.getvalue())
        model(torch.zeros(5, 4))
        model(torch.zeros(5, 4))
        self.assertIsNotNone(handle._hit("forward", "NaN"))

    def test_another_model_is_refused_with_a_clear_message(self):
        path, _ = self.hit()
        for model, text in (
            (Net(width=5), r"fc.weight is float32 \[8, 4\], but float"),
            (nn.Linear(4, 8), "the model has no fc.weight, fc.bias, norm.weight and "),
            (nn.Sequential(Net()), "the model has no fc.weight"),
            (Net().half(), r"but float16 \[8, 4\] in the model"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                torchoscope.replay(path, model)
        model = Net()
        model.extra = nn.Linear(2, 2)
        with self.assertRaisesRegex(ValueError, "the file has no extra.weight, "):
            torchoscope.replay(path, model)

    def test_other_files_are_refused(self):
        with torchoscope.record(Net(), name="x") as recording:
            pass
        path = str(self.folder / "plain.scope")
        recording.save(path)
        with self.assertRaisesRegex(ValueError, "is not a capsule"):
            torchoscope.replay(path, Net())
        with self.assertRaises(FileNotFoundError):
            torchoscope.replay(str(self.folder / "none.scope"), Net())


class Training(Capsules):
    def train(self, watched):
        torch.manual_seed(3)
        model = Net()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        handle = self.watch(model, capsule=True) if watched else None
        for i in range(8):
            self.step(model, optimizer, torch.randn(5, 4), scale=0.0 if i == 4 else 1.0)
            if i == 4:
                optimizer.zero_grad()
                if handle:
                    self.assertTrue(handle._hit("backward", "NaN"))
            optimizer.step()
        if handle:
            handle.close()
        return [*model.state_dict().values(), torch.get_rng_state()]

    def test_training_is_unchanged_even_after_a_capsule(self):
        for one, other in zip(self.train(False), self.train(True)):
            self.assertTrue(torch.equal(one, other))

    def test_nothing_is_kept_longer_than_a_step(self):
        model = nn.Linear(4, 2)
        handle = self.watch(model)
        x = torch.randn(90_000, 4)
        loss = model(x).sum()
        loss.backward()
        seen, x, loss = weakref.ref(x), None, None
        self.assertIsNotNone(seen())
        torch.optim.SGD(model.parameters(), lr=0.1).step()
        model(torch.randn(2, 4))
        gc.collect()
        self.assertIsNone(seen())
        y = torch.randn(90_000, 4)
        model(y)
        seen, y = weakref.ref(y), None
        handle.close()
        gc.collect()
        self.assertIsNone(seen())

    def test_a_guard_saves_a_capsule(self):
        model = Net()
        handle = torchoscope.watch(model, dir=str(self.folder), log_freq=9)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for scale in (1.0, 1.0, 0.0):
            x = torch.randn(5, 4) if scale else torch.zeros(5, 4)
            self.step(model, optimizer, x)
            optimizer.step()
        handle.close()
        path = f"{handle.folder}.nan.scope"
        lines = self.said.getvalue().splitlines()
        self.assertIn("step 2: ", lines[0])
        self.assertIn(f"step 2 can run again: torchoscope replay {path}", lines[1])
        found = torchoscope.replay(path, Net())
        self.assertTrue(found.reproduced)
        self.assertEqual((found.step, found.where), (2, "forward"))

    def test_only_the_first_hit_is_saved_and_only_if_enabled(self):
        model = Net()
        handle = self.watch(model)
        model(torch.zeros(5, 4))
        self.assertTrue(os.path.exists(handle._hit("forward", "NaN")))
        self.assertIsNone(handle._hit("forward", "NaN"))
        handle = self.watch(model, capsule=False)
        model(torch.zeros(5, 4))
        self.assertIsNone(handle._hit("forward", "NaN"))

    def test_a_folder_that_cannot_be_written_is_a_warning(self):
        model = Net()
        self.write("file", "")
        folder = str(self.folder / "file" / "in")
        handle = unguarded(torchoscope.watch(model, dir=folder, log_freq=9))
        self.addCleanup(handle.close)
        model(torch.zeros(5, 4))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            self.assertIsNone(handle._hit("forward", "NaN"))
        self.assertIn("could not be saved for replay", str(said[0].message))

    def test_only_buffers_that_change_are_copied(self):
        model = Net()
        model.register_buffer("mask", torch.ones(100, 100))
        handle = self.watch(model)
        for _ in range(3):
            model(torch.randn(5, 4)).sum().backward()
            torch.optim.SGD(model.parameters(), lr=0.1).step()
        model(torch.randn(5, 4))
        copies = handle._capsule._copies
        names = {handle._capsule._buffers[i][0] for i in copies}
        norm = "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"
        self.assertEqual(names, {*norm, "seen"})


class Files(Capsules):
    def test_the_program_shows_and_replays_it(self):
        self.write("net.py", NET)
        path, _ = self.hit(bad=0)
        done = scope.run("info", path).stdout.decode()
        self.assertIn("capsule   step 2, forward: something is not finite", done)
        done = scope.run("tree", path).stdout.decode()
        self.assertIn("torchoscope replay runs it again", done)
        self.assertNotIn("not called", done)
        saved = str(self.folder / "again.scope")
        target = f"{self.folder}/net.py::Net"
        status, out = self.shell("replay", path, target, "-o", saved)
        self.assertEqual(status, 1, out)
        self.assertIn("reproduced: aten::div", out)
        self.assertGreater(len(torchoscope.open(saved).ops()), 5)
        path, _ = self.hit()
        status, out = self.shell("replay", path, target)
        self.assertEqual((status, "not reproduced: every value is" in out), (0, True))
        status, out = self.shell("replay", path, f"{target}(9)")
        self.assertEqual(status, 2)
        self.assertRegex(out, r"torchoscope: .*: fc.weight is float32 \[8, 4\], ")

    def shell(self, *words):
        """(status, output)"""
        out, path, argv = io.StringIO(), sys.path[:], sys.argv[:]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = shell.run(*_core.live("torchoscope", *words))
        sys.path[:], sys.argv[:] = path, argv
        targets._loaded.clear()
        return status, out.getvalue()

    def test_inputs_and_weights_are_tensors_of_the_file(self):
        path, _ = self.hit(bad=0)
        recording = torchoscope.open(path)
        (x,) = recording.values("", kind="in")
        self.assertEqual((tuple(x.shape), float(x[0].abs().sum())), ((5, 4), 0.0))
        names = {row["name"] for row in recording.parameters()}
        self.assertLessEqual({"fc.weight", "norm.running_mean", "seen"}, names)

    def test_a_damaged_capsule_gives_a_clear_error(self):
        path, _ = self.hit(bad=0)
        run = _core.open_run(path)
        text = run.facts()["capsule"]
        draw = random.Random(0)
        for _ in range(300):
            fake = types.SimpleNamespace(facts=lambda: {"capsule": damaged(text, draw)})
            fake.kept_at = run.kept_at
            with unittest.mock.patch.object(_core, "open_run", lambda _: fake):
                with contextlib.suppress(ValueError):  # the model may take anything
                    opened = replaying._Opened(path)
                    model = Net()
                    opened.load(list(model.named_modules()))
                    modules = dict(model.named_modules())
                    for one in opened.passes:
                        replaying._Pass(opened, one, modules)


def damaged(text, draw):
    """JSON with one value replaced by another, or its text cut."""
    if draw.random() < 0.2:
        return text[: draw.randrange(len(text))]
    found = json.loads(text)
    holder = found
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = draw.choice(keys)
        inner = holder[key]
        if not inner or not isinstance(inner, (dict, list)) or draw.random() < 0.3:
            break
        holder = holder[key]
    odd = [None, -1, 10**30, 1.5, "x", [], {}, [[]], {"tensor": 99}, {"tuple": 3}]
    holder[key] = draw.choice(odd)
    return json.dumps(found)


class FirstBad(unittest.TestCase):
    def found(self, run):
        class Model(nn.Module):
            def forward(self, x):
                return run(x)

        model = Model()
        with torchoscope.record(model, ops="stats") as recording:
            model(torch.linspace(0, 200, 6))
        number, is_bad = recording._now().producer()
        return is_bad if number is None else recording.ops()[number].name

    def test_the_producer_is_found_but_not_masks_or_transient_infinities(self):
        inf = float("inf")
        self.assertIs(self.found(lambda x: x * 2), False)
        masked = self.found(lambda x: x.masked_fill(x > 1, -inf).softmax(0))
        self.assertIs(masked, False)
        for run, name in (
            (lambda x: x.fill_(-inf).softmax(0) + 1, "aten::_softmax"),
            (lambda x: (x.exp() - x.exp()).neg(), "aten::exp"),
            (lambda x: (1 / x.exp()) + (x - 1).log(), "aten::log"),
            (lambda x: (x.view(2, 3) / 0).t().neg(), "aten::div"),
        ):
            self.assertEqual(self.found(run), name)


if __name__ == "__main__":
    unittest.main()
