# flavours: both
"""watch() in a process that is killed, interrupted, forked, or shares its file: training is
never harmed, and no step that was written is lost.

WATCH_KILLS: how many trainings to kill (10); `make soak` kills more."""

import ctypes.util
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import traceback
import unittest
import warnings

import torch

import torchoscope
from torchoscope import _core
from watch_test import Watched, small, train

torch.set_num_threads(1)
KILLS = int(os.environ.get("WATCH_KILLS", 10))


class Child:
    """A process that runs work(say), where say(number) tells this one."""

    def __init__(self, work):
        out, into = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                os.close(out)
                work(lambda number: os.write(into, b"%d\n" % number))
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(into)
        self._out = os.fdopen(out)

    def told(self):
        """The next number, or None if it ended."""
        line = self._out.readline()
        return int(line) if line.endswith("\n") else None

    def end(self, number=None):
        """Wait for its end, after a signal if there is one. Its status, and the last
        number that it told."""
        if number is not None:
            os.kill(self.pid, number)
        newest = None
        while (told := self.told()) is not None:
            newest = told
        self._out.close()
        return os.waitpid(self.pid, 0)[1], newest


def step_of(model, optimizer):
    optimizer.zero_grad()
    model(torch.randn(3, 4)).square().mean().backward()
    optimizer.step()


class Processes(Watched):
    def setUp(self):
        super().setUp()
        self.made = 0

    def child(self, steps=20000, between=lambda folder: None):
        """Trains until a signal comes, and tells how many steps are in the file."""
        self.made += 1
        folder = self.folder / str(self.made)

        def work(say):
            model = small()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            handle = torchoscope.watch(model, dir=folder, log_freq=1)
            try:
                for _ in range(steps):
                    between(folder)
                    step_of(model, optimizer)
                    if handle._writer is not None:
                        say(handle._writer.state()["written"])
                raise TimeoutError("no signal came")
            except KeyboardInterrupt:
                pass
            for _ in range(3):
                step_of(model, optimizer)
            handle.close()
            say(handle.steps)

        return Child(work), folder

    def steps_in(self, folder):
        (path,) = folder.glob("*.scope")
        history = torchoscope.open(path)
        if history.steps:
            series = history.series("0.weight", "grad_param")
            self.assertEqual(series.steps, history.steps)
        return history.steps

    def test_a_killed_training_keeps_what_was_written(self):
        chance = random.Random(5)
        for _ in range(KILLS):
            child, folder = self.child()
            written = 0
            for _ in range(chance.randrange(1, 60)):
                written = child.told()
            status, newest = child.end(signal.SIGKILL)
            self.assertEqual(status, signal.SIGKILL)
            steps = self.steps_in(folder)
            self.assertGreaterEqual(len(steps), newest or written)
            self.assertEqual(steps, sorted(set(steps)))

    def test_a_killed_training_that_listed_its_folder_keeps_it_all(self):
        """Whatever opened the file beside SQLite would drop its locks; then another
        process may take the file for abandoned."""

        def listed(folder):
            if not silent:
                silent.append(os.open(os.devnull, os.O_WRONLY))
                os.dup2(silent[0], 1)
            _core.main("torchoscope", str(folder))

        silent = []

        child, folder = self.child(between=listed)
        for _ in range(4):
            for _ in range(10):
                written = child.told()
            (path,) = folder.glob("*.scope")
            done = subprocess.run(
                [sys.executable, "-c", READ, path], capture_output=True, text=True
            )
            self.assertGreaterEqual(int(done.stdout), written, done.stderr)
        status, newest = child.end(signal.SIGKILL)
        self.assertEqual(status, signal.SIGKILL)
        self.assertGreaterEqual(len(self.steps_in(folder)), newest or written)

    def test_a_terminated_training_keeps_what_was_written(self):
        child, folder = self.child()
        for _ in range(20):
            written = child.told()
        status, newest = child.end(signal.SIGTERM)
        self.assertEqual(status, signal.SIGTERM)
        self.assertGreaterEqual(len(self.steps_in(folder)), newest or written)

    def test_an_interrupt_that_training_handles(self):
        child, folder = self.child()
        for _ in range(20):
            child.told()
        status, steps = child.end(signal.SIGINT)
        self.assertEqual(status, 0)
        found = self.steps_in(folder)
        self.assertTrue(set(range(steps - 3, steps)) <= set(found))
        self.assertEqual(len(list(folder.iterdir())), 1)

    def test_a_disk_that_is_full(self):
        def work(say):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
            wanted = train(small(), 300)
            model = small()
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                handle = torchoscope.watch(model, dir=self.folder, log_freq=1)
                losses = train(model, 300)
                handle._writer.flush()
                say(handle._writer.state()["written"])
                handle.close()
            texts = [str(one.message) for one in found]
            assert losses == wanted and len(texts) == 1, texts
            assert "Training continues" in texts[0], texts

        status, written = Child(work).end()
        self.assertEqual(status, 0)
        self.assertTrue(0 < written < 300)
        steps = self.steps_in(self.folder)
        self.assertGreaterEqual(len(steps), written)


    def test_a_disk_that_is_full_from_the_start(self):
        def work(say):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                handle = torchoscope.watch(small(), dir=self.folder, log_freq=1)
                train(handle._recorder._model, 3)
                handle.close()
            (text,) = [str(one.message) for one in found]
            assert "training is not watched" in text, text
            assert ".tmp" not in text and handle.path in text, text

        self.assertEqual(Child(work).end()[0], 0)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_disk_that_is_full_when_the_run_ends(self):
        """The -wal fits only in part into the file, which makes no sense without it."""

        def work(say):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            model = small()
            handle = torchoscope.watch(model, dir=self.folder, log_freq=1)
            train(model, 60)
            handle._writer.flush()
            say(handle._writer.state()["written"])
            limit = os.path.getsize(handle.path) + 8192
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            handle.close()

        status, written = Child(work).end()
        self.assertEqual(status, 0)
        (path,) = self.folder.glob("*.scope")
        left = os.path.getsize(f"{path}-wal")
        self.assertGreater(left, 0)
        self.assertGreaterEqual(len(self.steps_in(self.folder)), written)
        done = subprocess.run([os.environ["TORCHOSCOPE"], "info", path], capture_output=True)
        self.assertIn(b"steps of training", done.stdout)
        with self.assertRaisesRegex(ValueError, "the history of a training"):
            with torchoscope.record(small()) as recording:
                pass
            recording.save(path)


class Raising(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        raise ArithmeticError("backward")


class Interrupted(Watched):
    """Errors in the middle of a step; training goes on after each."""

    def test_backward_and_optimizer_raise(self):
        model = small()
        handle = self.watch(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def fail():
            raise ArithmeticError("closure")

        for _ in range(3):
            step_of(model, optimizer)
            with self.assertRaises(ArithmeticError):
                model[1].register_forward_hook(lambda *_: None).remove()
                Raising.apply(model(torch.randn(3, 4))).sum().backward()
            with self.assertRaises(ArithmeticError):
                optimizer.step(fail)
        train(model, 2)
        handle.close()
        self.assertFalse(handle._reported)
        history = torchoscope.open(handle.path)
        self.assertEqual(history.steps, list(range(5)))
        self.assertEqual(len(history.series("2.weight", "update")), 5)


class Together(Watched):
    def test_two_watches_in_one_process(self):
        models = [small(), torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh())]
        optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in models]
        handles = [self.watch(one, name=name) for one, name in zip(models, "ab")]
        for i in range(6):
            for model, optimizer in list(zip(models, optimizers))[: 1 + i % 2]:
                step_of(model, optimizer)
        for handle in handles:
            handle.close()
        found = [torchoscope.open(handle.path) for handle in handles]
        self.assertEqual([len(one.steps) for one in found], [6, 3])
        names = [{row["name"] for row in one.all_series()} for one in found]
        self.assertIn("2.weight", names[0])
        self.assertNotIn("2.weight", names[1])

    def test_a_model_and_a_part_of_it(self):
        model = small()
        whole, part = self.watch(model, name="whole"), self.watch(model[2], name="part")
        train(model, 4)
        for handle in (whole, part):
            handle.close()
            self.assertEqual(len(torchoscope.open(handle.path).steps), 4)
        names = {row["name"] for row in torchoscope.open(part.path).all_series()}
        self.assertEqual(names, {"", "weight", "bias"})

    def test_workers_of_a_data_loader(self):
        model = small()
        data = torch.utils.data.TensorDataset(torch.randn(12, 4))
        loader = torch.utils.data.DataLoader(data, batch_size=3, num_workers=2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        handle = self.watch(model)
        for _ in range(2):
            for (x,) in loader:
                optimizer.zero_grad()
                model(x).square().mean().backward()
                optimizer.step()
        handle.close()
        self.assertEqual(torchoscope.open(handle.path).steps, list(range(8)))
        self.assertEqual(len(os.listdir(self.folder)), 1)

    def test_a_folder_without_permission(self):
        wanted = train(small())
        model = small()
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            handle = torchoscope.watch(model, dir="/proc/self", log_freq=1)
            losses = train(model)
            handle.close()
        self.assertEqual(losses, wanted)
        self.assertEqual(len(found), 1)
        self.assertIn("training is not watched", str(found[0].message))


READ = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]);"
READ += "print(db.execute('SELECT count(*) FROM history_step').fetchone()[0]); db.close()"


class OtherReaders(Watched):
    """SQLite of others on a live file: in this process, which drops the locks of ours, and
    then in another, which may take the file for abandoned."""

    def check(self, read_here):
        model = small()
        handle = self.watch(model)
        for i in range(4):
            train(model, 5)
            handle._writer.flush()
            read_here(handle.path)
            done = subprocess.run(
                [sys.executable, "-c", READ, handle.path], capture_output=True, text=True
            )
            self.assertEqual((done.stdout, done.stderr), (f"{5 * i + 4}\n", ""))
        train(model, 5)
        handle.close()
        self.assertFalse(handle._reported)
        self.assertEqual(torchoscope.open(handle.path).steps, list(range(25)))

    def test_only_another_process(self):
        self.check(lambda path: None)

    def test_the_folder_is_listed(self):
        self.check(lambda path: [os.stat(entry) for entry in os.scandir(self.folder)])

    def test_the_sqlite_of_python(self):
        def read(path):
            db = sqlite3.connect(path)
            (steps,) = db.execute("SELECT count(*) FROM history_step").fetchone()
            self.assertGreater(steps, 3)
            db.close()

        self.check(read)

    def test_another_copy_of_sqlite(self):
        name = ctypes.util.find_library("sqlite3")
        if name is None:
            self.skipTest("no shared library of SQLite")
        library = ctypes.CDLL(name)

        def read(path):
            db = ctypes.c_void_p()
            library.sqlite3_open(os.fsencode(path), ctypes.byref(db))
            sql = b"SELECT count(*) FROM history_step"
            self.assertEqual(library.sqlite3_exec(db, sql, None, None, None), 0)
            library.sqlite3_close(db)

        self.check(read)


if __name__ == "__main__":
    unittest.main()
