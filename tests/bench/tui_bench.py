"""The terminal explorer through a pseudo-terminal: how long until the first screen, and
from a key to its frame; beside rp's explorer on a model that it can still carry.

    tui_bench.py [MODULES...]      100000 and 1000000 without

Ours ends every frame by the mark of synchronised output, so a frame is known by it. Of
rp's (Textual) the last byte before it falls silent counts; it gets as long as it wants.
"""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bench  # noqa: E402

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "9"))
PEERS = Path(os.environ.get("BENCH_PEERS", bench.ROOT / "build" / "peers"))
PYTHON = sys.executable
END_OF_FRAME = b"\x1b[?2026l"
SIZE = struct.pack("HHHH", 50, 160, 0, 0)
RP_MODULES = 2_000  # at 20,000 a single key takes it minutes
# Each is pressed and undone, so that every round meets the same screen.
KEYS = [
    ("one row down, up", ["j", "k"]),
    ("Z: everything", ["Z", "Z"]),
    ("o: the same class", ["o", "o"]),
    ("F: flat lists, the tree", ["F", "F", "F"]),
    ("a label on, off", ["d", "d"]),
    ("the last row, the first", ["G", "g"]),
    ("by parameters, as it was", ["ip", "ix"]),
]
LETTERS = "line"


class Terminal:
    """A program on a pseudo-terminal of 160x50."""

    def __init__(self, command, environment):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, SIZE)
            os.environ.update(environment)
            os.execv(command[0], command)
        self.began = time.perf_counter()
        self.taken = None  # when the first byte came: a file is read before that
        self.seen = b""

    def read(self, seconds):
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return b""
        try:
            return os.read(self.fd, 1 << 20)
        except OSError:
            raise RuntimeError("the program ended: " + self.seen[-400:].decode("utf8", "replace"))

    def frame(self, seconds=120):
        """Wait for the end of a frame; when it came."""
        limit = time.perf_counter() + seconds
        tail = b""
        while time.perf_counter() < limit:
            more = self.read(1)
            if more and not self.taken:
                self.taken = time.perf_counter()
            self.seen = (self.seen + more)[-100_000:]
            tail = tail[-16:] + more
            if END_OF_FRAME in tail:
                return time.perf_counter()
        raise RuntimeError("no frame came")

    def silence(self, seconds, longest):
        """Wait until nothing comes any more; when the last byte came."""
        last, limit = None, time.perf_counter() + longest
        while time.perf_counter() < limit:
            more = self.read(0.02)
            now = time.perf_counter()
            if more:
                last = now
            elif last and now - last > seconds:
                return last
        return last or limit

    def press(self, key):
        os.write(self.fd, key.encode())

    def settle(self):
        while self.read(0.2):
            pass

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def milliseconds(value):
    return f"{value * 1e3:.1f} ms" if value < 10 else f"{value:.1f} s"


# --- The models


MAKE = """
import sys, torch
from torch import nn
weight = torch.zeros(2, 2)
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()
        self.linear = nn.Linear(2, 2, bias=False, device="meta")
        self.linear.weight = nn.Parameter(weight.view(2, 2))
        self.tail = nn.Sequential(nn.Tanh(), nn.ReLU())
net = nn.Sequential(*[nn.Sequential(*[Block() for _ in range(100)])
                      for _ in range(int(sys.argv[1]) // 601 or 1)])
"""


def blocks(folder, modules):
    """About so many modules, in three levels; one storage for all, so that the file
    stays small."""
    path = Path(folder, f"blocks{modules}.pth")
    code = MAKE + "torch.save(net, sys.argv[2])"
    subprocess.run([PYTHON, "-c", code, str(modules), path], check=True)
    return path


# --- Ours


def start(path, *words):
    environment = {
        "TERM": "xterm-256color",
        "LC_ALL": "C.UTF-8",
        "COLORTERM": "truecolor",
        "TORCHOSCOPE_THEME": "dark",  # nobody is there who could be asked
    }
    return Terminal([bench.PROGRAM, str(path), *words], environment)


def key_times(terminal, keys):
    """Press keys one after the other; what each took. Keys of several letters are timed
    at their last."""
    took = []
    for key in keys:
        for letter in key[:-1]:
            terminal.press(letter)
            terminal.frame()
        terminal.settle()
        begin = time.perf_counter()
        terminal.press(key[-1])
        took.append(terminal.frame() - begin)
    return took


def ours(folder, modules):
    path = blocks(folder, modules)
    targets = modules <= 100_000
    table = bench.Table(f"torchoscope, {modules:,} modules in a file")
    firsts, reads = [], []
    for _ in range(ROUNDS):
        terminal = start(path)
        firsts.append(terminal.frame() - terminal.taken)
        reads.append(terminal.taken - terminal.began)
        terminal.settle()
        terminal.close()
    table.line("first screen, once the file is read", firsts, milliseconds,
               0.05 if targets else None)
    table.line("  reading it", reads, milliseconds)
    terminal = start(path)
    terminal.frame()
    terminal.settle()
    everything = []
    for key in "XZ":  # repeats one by one: the tree has as many rows as modules
        terminal.press(key)
        terminal.frame()
    for what, keys in KEYS:
        took = [t for _ in range(ROUNDS) for t in key_times(terminal, keys)]
        everything += took
        table.line(what, took, milliseconds, 0.016 if targets else None)
    everything.sort()
    ninety_nine = everything[int(len(everything) * 0.99)]
    table.line("all of them, 99 %", [ninety_nine], milliseconds, 0.033 if targets else None)
    typed = []
    for _ in range(ROUNDS):
        terminal.press("/")
        terminal.frame()
        typed += key_times(terminal, LETTERS)
        terminal.press("\x1b")
        terminal.frame()
        terminal.settle()
    table.line("a letter of a search", typed, milliseconds, 0.1)
    terminal.close()
    return table.short


# --- rp


RP = (
    "import sys; sys.path.insert(0, sys.argv[2])\n"
    + MAKE
    + "import rp\nrp.explore_torch_module(net)"
)


def peer():
    if not (PEERS / "rp").exists():
        command = [PYTHON, "-m", "pip", "install", "-q", "--target", PEERS]
        names = "rp textual[syntax] easydict cachetools six lazy-loader requests".split()
        done = subprocess.run([*command, *names], capture_output=True, text=True)
        if done.returncode:
            print(f"rp: can not be had ({done.stderr.strip().splitlines()[-1]})")
            return
    table = bench.Table(f"rp's explorer, {RP_MODULES:,} live modules (screen of 160x50)")
    environment = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    terminal = Terminal([PYTHON, "-c", RP, str(RP_MODULES), str(PEERS)], environment)
    first = terminal.silence(3, 180) - terminal.began
    table.line("first screen, with its imports", [first], milliseconds)
    for what, key in (("one row down", "j"), ("Z", "Z"), ("t: a label", "t")):
        begin = time.perf_counter()
        terminal.press(key)
        table.line(what, [terminal.silence(3, 300) - begin], milliseconds)
    os.kill(terminal.pid, 9)
    terminal.close()


def main():
    sizes = [int(word) for word in sys.argv[1:]] or [100_000, 1_000_000]
    with tempfile.TemporaryDirectory() as folder:
        for modules in sizes:
            ours(folder, modules)
    peer()


if __name__ == "__main__":
    main()
