# flavours: both
"""Recording with many threads, across a fork, over ten thousand passes and around
saving and compiling: nothing is disturbed, and nothing is left behind."""

import contextlib
import copy
import functools
import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref
from pathlib import Path

import torch
from architectures import ARCHITECTURES
from scope import UNDER_ASAN
from torch import nn
from torch.nn.modules import module as torch_module

import torchoscope
from torchoscope import hooks

torch.set_num_threads(1)
NEW = hasattr(torch, "compiler")
ROUNDS = 5 if UNDER_ASAN else 15


def net():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(4, 8), nn.ReLU(True), nn.Sequential(nn.Linear(8, 8)), nn.Linear(8, 2)
    )


X = torch.linspace(-1, 1, 12).reshape(3, 4)
CALLS = len(list(net().modules()))


def step(model):
    """A forward and a backward with autograd.grad(), so that threads share no
    gradients."""
    weights = list(model.parameters())
    return torch.autograd.grad(model(X).pow(2).sum(), weights)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class Clean(unittest.TestCase):
    def tearDown(self):
        for name in [n for n in vars(torch_module) if n.startswith("_global_")]:
            self.assertFalse(getattr(torch_module, name), name)
        self.assertFalse(hooks._listeners or hooks._wrapped or hooks._handles)


class Threads(Clean):
    def together(self, *jobs):
        """Run the jobs at once, each on a thread, and raise what one of them raised."""
        barrier, problems = threading.Barrier(len(jobs)), []

        def run(job):
            try:
                barrier.wait()
                job()
            except BaseException as problem:
                problems.append(problem)

        threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise problems[0]

    def same(self, gradients):
        self.assertTrue(all(map(torch.equal, gradients, self.wanted)))

    def setUp(self):
        self.wanted = step(net())

    def test_four_threads_record_a_model_each(self):
        def job(model):
            for _ in range(ROUNDS):
                with torchoscope.record(model) as recording:
                    self.same(step(model))
                self.check_whole(recording, 1)

        self.together(*(functools.partial(job, net()) for _ in range(4)))

    def check_whole(self, recording, passes):
        calls = recording.calls()
        self.assertEqual(len(calls), passes * CALLS)
        self.assertTrue(all(c.outputs[0].mean is not None for c in calls))
        self.assertTrue(all(len(c.grad_outputs) == 1 for c in calls))
        self.assertEqual(sum(c.parent is None for c in calls), passes)

    def test_four_threads_run_the_model_that_is_recorded(self):
        model = net()

        def job():
            for _ in range(ROUNDS):
                self.same(step(model))

        with torchoscope.record(model, calls="all") as recording:
            self.together(job, job, job, job)
        self.check_whole(recording, 4 * ROUNDS)
        self.assertEqual({c.thread for c in recording.calls()}, {0, 1, 2, 3})

    def test_four_threads_record_the_same_model(self):
        model = net()

        def job():
            for _ in range(ROUNDS):
                with torchoscope.record(model, calls="all") as outer:
                    self.same(step(model))
                    with torchoscope.record(model) as inner:
                        self.same(step(model))
                for recording, least in ((outer, 2), (inner, 1)):
                    self.assertGreaterEqual(len(recording.calls("")), least)
                    self.assertEqual(recording.facts.get("errors", 0), 0)

        self.together(job, job, job, job)

    def test_recordings_begin_and_end_while_others_run(self):
        model, done = net(), threading.Event()

        def runs():
            while not done.is_set():
                self.same(step(model))

        def records():
            try:
                for i in range(ROUNDS):
                    options = {"budget": 0.5} if i % 4 == 3 else {"keep": "0"}
                    with torchoscope.record(model, **options) as recording:
                        self.same(step(model))
                        recording.calls()
                        if i % 2:
                            recording.stop()
                    recording.calls()
                    recording.gaps
            finally:
                done.set()

        self.together(runs, runs, records, records)

    def test_a_recording_that_another_thread_stops(self):
        model = net()
        for _ in range(ROUNDS):
            with torchoscope.record(model) as recording:
                self.together(recording.stop, lambda: self.same(step(model)))
            recording.calls()


class Fork(Clean):
    def child(self, function):
        """The line that a child prints; it exits without the parent's cleanup."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            with contextlib.suppress(BaseException):
                os.write(writing, str(function()).encode())
                status = 0
            os._exit(status)
        os.close(writing)
        with os.fdopen(reading) as file:
            said = file.read()
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        return said

    def test_a_child_does_not_record_for_its_parent(self):
        model = net()
        wanted = step(model)
        with torchoscope.record(model) as recording:
            step(model)

            def function():
                fine = all(map(torch.equal, step(model), wanted))
                return fine, len(recording.calls(""))

            self.assertEqual(self.child(function), "(True, 1)")
            step(model)
        self.assertEqual(len(recording.calls("")), 2)

    def test_a_child_may_record(self):
        model = net()
        with torchoscope.record(model):

            def function():
                with torchoscope.record(model) as own:
                    step(model)
                return len(own.calls())

            self.assertEqual(self.child(function), str(CALLS))


class Left(Clean):
    def test_models_die_after_an_exception(self):
        for raised in (False, True):
            model = net()
            with contextlib.suppress(KeyError):
                with torchoscope.record(model, keep="*") as recording:
                    step(model)
                    if raised:
                        raise KeyError
            self.assertEqual(model._forward_hooks, {})
            self.assertEqual(sorted(vars(model)), sorted(vars(net())))
            parts = [*map(weakref.ref, (*model.modules(), *model.parameters()))]
            del model
            gc.collect()
            self.assertEqual([one() for one in parts if one() is not None], [])
            self.assertEqual(len(recording.calls()), CALLS)

    def test_a_forward_that_raises_leaves_no_tensor(self):
        model, x = net(), torch.randn(3, 5)
        there = weakref.ref(x)
        with torchoscope.record(model):
            with contextlib.suppress(RuntimeError):
                model(x)
            del x
            gc.collect()
            self.assertIsNone(there())

    def test_objects_do_not_grow_from_recording_to_recording(self):
        model = net()

        def once():
            with torchoscope.record(model, keep="0") as recording:
                step(model)
            recording.calls()

        for _ in range(5):
            once()
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(50):
            once()
        gc.collect()
        self.assertLess(len(gc.get_objects()) - before, 50)

    @unittest.skipIf(UNDER_ASAN, "the allocator keeps freed memory")
    def test_ten_thousand_passes_take_no_more_memory(self):
        model = net()

        def passes(forwards, steps):
            with torch.no_grad():
                for _ in range(forwards):
                    model(X)
            for _ in range(steps):
                step(model)
            gc.collect()
            return resident(), len(gc.get_objects())

        with torchoscope.record(model) as recording:
            before = passes(1000, 200)
            after = passes(8000, 800)
        self.assertLess(after[0] - before[0], 8 << 20)
        self.assertLess(after[1] - before[1], 2000)
        self.assertEqual(recording.modules()[0]["calls"], 10000)

    @unittest.skipUnless("gpt2" in ARCHITECTURES, "no transformers")
    @unittest.skipIf(UNDER_ASAN, "the allocator keeps freed memory")
    def test_five_hundred_tokens_take_no_more_memory(self):
        torch.manual_seed(0)
        model = ARCHITECTURES["gpt2"].make_model().eval()
        start = torch.tensor([[5, 6, 7]])

        def generate(n):
            torch.manual_seed(1)
            return model.generate(
                start, max_new_tokens=n, min_new_tokens=n, do_sample=True
            )

        wanted = generate(500)
        with torchoscope.record(model) as recording:
            generate(100)
            gc.collect()
            before, objects = resident(), len(gc.get_objects())
            self.assertTrue(torch.equal(generate(500), wanted))
            gc.collect()
            self.assertLess(len(gc.get_objects()) - objects, 2000)
            self.assertLess(resident() - before, 8 << 20)
        counts = {row["name"]: row["calls"] for row in recording.modules()}
        self.assertEqual(counts["lm_head"], 600)
        there = weakref.ref(model)
        del model
        gc.collect()
        self.assertIsNone(there())


class Elsewhere(Clean):
    def test_files_saved_while_recording_load_without_torchoscope(self):
        model = net()
        with tempfile.TemporaryDirectory() as folder:
            for i, options in enumerate(({}, {"budget": 0.5}, {"keep": "*"})):
                with torchoscope.record(model, **options):
                    step(model)
                    model.forward_stats
                    torch.save(model, Path(folder) / f"{i}.pt")
                    torch.save(model.state_dict(), Path(folder) / f"{i}.pth")
            code = (
                "import sys\n"
                "sys.modules['torchoscope'] = None  # as if it were not installed\n"
                "import torch\n"
                "for i in range(3):\n"
                "    whole = {'weights_only': False} if sys.argv[1] == 'new' else {}\n"
                "    model = torch.load(f'{i}.pt', **whole)\n"
                "    model.load_state_dict(torch.load(f'{i}.pth'))\n"
                "    print(model(torch.ones(1, 4)).tolist())\n"
            )
            env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
            done = subprocess.run(
                [sys.executable, "-c", code, "new" if NEW else "old"],
                cwd=folder,
                env=env,
                capture_output=True,
                text=True,
            )
        self.assertEqual(done.returncode, 0, done.stderr)
        wanted = str(model(torch.ones(1, 4)).tolist())
        self.assertEqual(done.stdout.split("\n")[:3], [wanted] * 3)

    def test_a_copy_is_not_recorded(self):
        model = net()
        for options in ({}, {"budget": 0.5}):
            with torchoscope.record(model, **options) as recording:
                step(model)
                twin = copy.deepcopy(model)
                for one, other in zip(model.modules(), twin.modules()):
                    self.assertEqual(hasattr(one, "forward_stats"), True)
                    self.assertEqual(hasattr(other, "forward_stats"), False)
                n = len(recording.calls())
                step(twin)
                step(copy.copy(twin))
                self.assertEqual(len(recording.calls()), n)

    @unittest.skipUnless(NEW, "no torch.compile")
    def test_compiling_while_recorded_gives_the_same_graphs(self):
        found = []
        for recorded in (False, True):
            torch._dynamo.reset()
            counters = torch._dynamo.utils.counters
            counters.clear()
            torch.manual_seed(0)
            model = ARCHITECTURES["resnet"].make_model()
            compiled = torch.compile(model, backend="aot_eager")
            x, results = torch.ones(2, 3, 16, 16), []
            for i in range(4):
                with contextlib.ExitStack() as stack:
                    if recorded and i % 2 == 0:
                        stack.enter_context(torchoscope.record(compiled))
                    torch.manual_seed(i)
                    loss = compiled(x).sum()
                    loss.backward()
                    results.append(loss.item())
            self.assertEqual(dict(counters["graph_break"]), {})
            found.append((counters["stats"]["unique_graphs"], results))
            self.assertEqual(found[-1][0], 1)
        self.assertEqual(found[0], found[1])


class Sleeps(nn.Module):
    def forward(self, x):
        time.sleep(0.02)
        return x


class Times(Clean):
    def test_the_time_of_nested_wrappers_is_counted_once(self):
        inner = Sleeps()
        model = inner
        for _ in range(5):
            model = nn.Sequential(model)
        with torchoscope.record(model) as recording:
            for _ in range(3):
                model(X)
        for number in range(3):
            calls = [c for c in recording.calls() if c.number == number]
            self.assertEqual(len(calls), 6)
            self.assertGreaterEqual(calls[-1].self_ns, 20_000_000)
            self.assertEqual(sum(c.self_ns for c in calls), calls[0].time_ns)
            for outer, inside in zip(calls, calls[1:]):
                self.assertEqual(outer.time_ns - outer.self_ns, inside.time_ns)


if __name__ == "__main__":
    unittest.main()
