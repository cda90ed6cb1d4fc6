"""torchoscope run: watches an unmodified script without affecting it."""

import glob
import os
import signal
import subprocess
import sys
import unittest

import scope

try:
    import torch.optim

    import torchoscope
except ImportError as error:
    raise unittest.SkipTest(f"no torch: {error}")

optimizers = sys.modules["torch.optim.optimizer"]
if not hasattr(optimizers, "register_optimizer_step_post_hook"):
    raise unittest.SkipTest("this torch has no hooks for optimizers")

from folder import TemporaryFolder

PROGRAM = [scope.PROGRAM, "run"]
MODULE = [sys.executable, "-m", "torchoscope", "run"]
PYTHON = [sys.executable]
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(torchoscope.__file__)))

TRAIN = """
def train(model, steps, make):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        loss = model(make()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()
"""

# Everything that a script can see of how it was started.
ODD = (
    """
import builtins, os, pickle, sys
import helper
if __name__ == "__main__":
    print("torch" in sys.modules, sys.argv, __file__, __package__, __spec__, __cached__)
    print(sys.path[0], sorted(globals()), type(__loader__))
    print(sys.modules["__main__"].__file__, __doc__, flush=True)
os.environ["OMP_NUM_THREADS"] = "1"
import torch
import multiprocessing

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return torch.full((4,), float(i))

def child(queue):
    queue.put((__name__, sys.argv, sys.modules["__main__"].__file__))
"""
    + TRAIN
    + """
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    process.join(100)
    print(queue.get(timeout=1), process.exitcode)
    print(type(torch.__spec__.loader), "exec_module" in vars(torch.__spec__.loader))
    print(type(pickle.loads(pickle.dumps(Data()))) is Data, sys.stdin.read())
    torch.manual_seed(1)
    model = torch.nn.Linear(4, 1)
    rows = [row for _ in range(2) for row in torch.utils.data.DataLoader(
        Data(), batch_size=4, num_workers=1, multiprocessing_context="fork")]
    print(train(model, 6, rows.pop), torch.rand(1), torch.nn.Linear.__call__.__name__)
    sys.exit(3)
"""
)

GAN = """
import torch

class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def forward(self, x):
        return self.layer(x)

class Large(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(4, 30), torch.nn.Linear(30, 2))

    def forward(self, x):
        return self.body(x)

large, small, loss = Large(), Small(), torch.nn.MSELoss()
first = torch.optim.Adam(small.parameters())
second = torch.optim.Adam(large.parameters())
frozen = torch.nn.Linear(500, 500)
for _ in range(5):
    frozen(torch.ones(1, 500))
    made = large(torch.randn(8, 4))
    first.zero_grad()
    loss(small(made.detach()), torch.zeros(8, 1)).backward()
    first.step()
    second.zero_grad()
    loss(small(made), torch.ones(8, 1)).backward()
    second.step()
raise ValueError("at the end")
"""


class Runs(TemporaryFolder):
    def run_words(self, *words, status=0, input="", **env):
        env = {**os.environ, "TORCHOSCOPE_PYTHON": sys.executable, **env}
        env["PYTHONPATH"] = PACKAGE
        env.pop("PYTHONSAFEPATH", None)
        done = subprocess.run(
            list(map(str, words)),
            capture_output=True,
            text=True,
            input=input,
            timeout=scope.PATIENCE,
            cwd=self.folder,
            env=env,
        )
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def files(self, folder="runs"):
        return sorted(glob.glob(f"{self.folder}/{folder}/*.scope"))


class Same(Runs):
    def test_a_script_sees_the_same_environment_as_under_python(self):
        self.write("sub dir/train.py", ODD)
        self.write("sub dir/helper.py", "")
        words = "sub dir/train.py", "--help", "--dir", "x", "-m", "--", "a b"
        plain = self.run_words(*PYTHON, *words, status=3, input="in")
        words = "--log-freq", 1, *words
        watched = self.run_words(*PROGRAM, *words, status=3, input="in")
        self.assertEqual(watched.stdout, plain.stdout)
        self.assertEqual(plain.stderr, "")
        (path,) = self.files()
        name = os.path.relpath(path, self.folder)
        self.assertEqual(
            watched.stderr,
            f"torchoscope: {name}: 5 steps, healthy; look at it: torchoscope {name}\n",
        )
        self.assertEqual(list(torchoscope.open(path).steps), [1, 2, 3, 4, 5])

    def test_a_module_runs_with_its_traceback_and_the_larger_model_is_watched(self):
        self.write("package/__init__.py", "")
        text = "import sys; print(sys.argv, __spec__.name)\n" + GAN
        self.write("package/gan.py", text)
        words = "-m", "package.gan", "one"
        plain = self.run_words(*PYTHON, *words, status=1)
        watched = self.run_words(
            *MODULE, "--log-freq=1", "--dir", "here", "--name=gan", *words, status=1
        )
        self.assertEqual(watched.stdout, plain.stdout)
        *trace, last = watched.stderr.splitlines()
        own = [line for line in plain.stderr.splitlines() if "runpy" not in line]
        self.assertEqual(trace, own)
        self.assertRegex(last, r"^torchoscope: here/\S+_gan.scope: 4 steps, healthy; look at it: ")
        self.assertTrue(last.endswith("(also trained, not watched: Small)"), last)
        (path,) = self.files("here")
        names = {place["name"] for place in torchoscope.open(path).modules()}
        self.assertEqual(names, {"", "body", "body.0", "body.1"})

    def test_an_interrupt_ends_it_like_python(self):
        text = "import torch, os, signal, threading\n" + TRAIN
        text += "train(torch.nn.Linear(4, 1), 3, lambda: torch.ones(2, 4))\n"
        text += "os.kill(os.getpid(), signal.SIGINT)\nthreading.Event().wait()\n"
        self.write("stop.py", text)
        done = self.run_words(*PROGRAM, "stop.py", status=-signal.SIGINT)
        *trace, last = done.stderr.splitlines()
        self.assertEqual(trace[0], "Traceback (most recent call last):")
        file = trace[1].strip().partition(",")[0]
        self.assertEqual(file, f'File "{self.folder}/stop.py"')
        self.assertEqual(trace[-1], "KeyboardInterrupt")
        self.assertIn("_Linear.scope: 2 steps, healthy", last)


class Told(Runs):
    def test_the_reason_is_given_if_nothing_was_watched(self):
        self.write("none.py", "print('done')")
        done = self.run_words(*PROGRAM, "none.py")
        text = "torchoscope: nothing was watched: the script did not import torch\n"
        self.assertEqual((done.stdout, done.stderr), ("done\n", text))
        self.write("idle.py", "import torch; torch.nn.Linear(2, 2)(torch.ones(1, 2))")
        done = self.run_words(*MODULE, "idle.py")
        text = "torchoscope: nothing was watched: no optimizer stepped\n"
        self.assertEqual(done.stderr, text)
        self.assertEqual(self.files(), [])

    def test_wrong_arguments_are_refused(self):
        for words, text in (
            (["none.py"], "none.py: No such file or directory"),
            (["--budget", 2, "x.py"], "run: --budget must be between 0 and 1"),
            (["--log", "weights", "x.py"], "--log is one of io"),
            (["--nam", "x", "x.py"], "unknown option --nam"),
            ([], "usage: torchoscope run [OPTION]... SCRIPT|-m MODULE"),
            (["-m"], "run: -m needs the name of a module"),
        ):
            done = self.run_words(*PROGRAM, *words, status=2)
            self.assertIn(text, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
        done = self.run_words(*PROGRAM, "--help")
        self.assertIn("usage: torchoscope run", done.stdout)

    def test_a_script_that_watches_itself_keeps_its_watch(self):
        text = "import torch, torchoscope\n" + TRAIN
        text += "model = torch.nn.Linear(4, 1)\n"
        text += "torchoscope.watch(model, dir='mine', log_freq=1)\n"
        text += "train(model, 4, lambda: torch.ones(2, 4))\n"
        self.write("own.py", text)
        done = self.run_words(*PROGRAM, "own.py")
        text = "nothing was watched: the script calls watch() itself"
        self.assertIn(text, done.stderr)
        self.assertEqual((self.files(), len(self.files("mine"))), ([], 1))


if __name__ == "__main__":
    unittest.main()
