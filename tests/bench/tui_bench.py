"""The terminal explorer in a pseudo-terminal of 160x50: the time to the first screen,
and from a key to its frame, on files of many modules; compared with rp's explorer on
models that it can handle.

    BENCH_ROUNDS=15 tui_bench.py [MODULES...]      100000 and 1000000 without

torchoscope ends every frame with the mark of synchronised output. For rp (Textual) a
frame ends with the last byte before a second without output or work; a message that
disappears later does not count. Besides wall time, prints how long its main thread
worked and how long it waited for a processor. The files are kept in build/bench. """

import fcntl
import importlib.util
import io
import os
import pickletools
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bench  # noqa: E402

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "15"))
PEERS = Path(os.environ.get("BENCH_PEERS", bench.ROOT / "build" / "peers"))
FILES = bench.ROOT / "build" / "bench"
BUILD = bench.ROOT / "build" / "c"
PYTHON = sys.executable
END_OF_FRAME = b"\x1b[?2026l"
SIZE = struct.pack("HHHH", 50, 160, 0, 0)
STAGE = 601  # modules in a stage
RP_MODULES = 2_000  # at 20,000 `Z` alone takes it minutes
RP_MANY = 20_000  # only for the first screen, in which only the root is open
# In order, so that every round starts from the same screen. For several keys, the last
# one is timed.
KEYS = [
    ("one row down", "j"),
    ("one row up", "k"),
    ("Z: fold everything", "Z"),
    ("Z: unfold everything", "Z"),
    ("o: the same class", "o"),
    ("o: as it was", "o"),
    ("F: leaves alone", "F"),
    ("F: tensors alone", "F"),
    ("F: the tree", "F"),
    ("a label on", "d"),
    ("a label off", "d"),
    ("the last row", "G"),
    ("the first row", "g"),
    ("by parameters", "ip"),
    ("by name", "in"),
    ("as in the model", "ix"),
]
SEARCHES = ["line", "0.lin", "Linear(2", "/0.*lin/"]


class Terminal:
    """A program on a pseudo-terminal."""

    def __init__(self, command, environment):
        self.began = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, SIZE)
            os.environ.update(environment)
            os.execv(command[0], [str(word) for word in command])
        self.seen = b""

    def read(self, seconds):
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return b""
        try:
            more = os.read(self.fd, 1 << 20)
        except OSError:
            more = b""
        if not more:
            told = self.seen[-400:].decode("utf8", "replace")
            raise RuntimeError(f"the program ended: {told}")
        self.seen = (self.seen + more)[-10_000:]
        return more

    def byte(self, seconds=600):
        """Wait for the first byte; returns its time."""
        limit = time.perf_counter() + seconds
        while time.perf_counter() < limit:
            if self.read(1):
                return time.perf_counter()
        raise RuntimeError("not a byte came")

    def frame(self, seconds=120):
        """Wait for the end of a frame; returns its time."""
        limit = time.perf_counter() + seconds
        tail = b""
        while time.perf_counter() < limit:
            tail = tail[-16:] + self.read(1)
            if END_OF_FRAME in tail:
                return time.perf_counter()
        raise RuntimeError("no frame came")

    def busy(self):
        """The processor time of all its threads in ticks; is any thread runnable?"""
        words = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return int(words[11]) + int(words[12]), words[0] == "R"

    def rest(self, longest=600):
        """Wait until it neither writes nor works for a second; returns the time of the
        last byte."""
        last = began = quiet = time.perf_counter()
        ticks, _ = self.busy()
        while time.perf_counter() < began + longest:
            wrote = self.read(0.05)
            now = time.perf_counter()
            if wrote:
                last = now
            used, wants = self.busy()
            if wrote or wants or used > ticks + 5:
                quiet, ticks = now, used
            elif now - quiet > 1:
                return last
        raise RuntimeError("it did not come to rest")

    def press(self, key):
        os.write(self.fd, key.encode())

    def settle(self):
        while self.read(0.1):
            pass

    def processor(self):
        """Seconds that its main thread worked, and that it waited for a processor; 0 if
        the system does not report them."""
        try:
            words = Path(f"/proc/{self.pid}/schedstat").read_text().split()
        except OSError:
            return 0, 0
        return int(words[0]) / 1e9, int(words[1]) / 1e9

    def resident(self):
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(("VmHWM", "VmRSS")):
                yield int(line.split()[1]) / 1024

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def milliseconds(value):
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"


def megabytes(value):
    return f"{value:.0f} MB"


def really(modules):
    """The exact number of modules of a model of about this many."""
    return modules // STAGE * STAGE + 1


def ninety_nine(values):
    return sorted(values)[int(len(values) * 0.99)]


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
net = nn.Sequential()
for i in range(int(sys.argv[1]) // 601 or 1):
    net.add_module(f"s{i:06}", nn.Sequential(*[Block() for _ in range(100)]))
"""


def three_stages():
    """The members of a file written by torch."""
    code = MAKE + "torch.save(net, sys.argv[2])"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "net.pth")
        subprocess.run([PYTHON, "-c", code, str(3 * STAGE), path], check=True)
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}


def memo_numbers(stage):
    """The offsets of memo numbers of a stage's own objects in its pickle."""
    puts, gets, first = [], [], None
    stream = io.BytesIO(b"\x80\x02" + stage + b".")
    for opcode, number, at in pickletools.genops(stream):
        if opcode.name == "LONG_BINPUT":
            first = first or number
            puts.append(at - 1)
        elif opcode.name == "LONG_BINGET":
            gets.append((at - 1, number))
        elif opcode.name == "BINPUT":
            raise RuntimeError("this object should have a longer number")
    return puts + [at for at, number in gets if number >= first], len(puts)


def blocks(modules):
    """A file of about this many modules, in three levels; one storage for all, so that it
    stays small. torch would take minutes for a million: it writes three stages, and the
    third is repeated with other numbers."""
    import numpy

    path = FILES / f"blocks{modules}.pth"
    if path.exists():
        return path
    FILES.mkdir(parents=True, exist_ok=True)
    members = three_stages()
    name = next(name for name in members if name.endswith("data.pkl"))
    pickle = members[name]
    second = pickle.index(b"X\x07\x00\x00\x00s000001")
    third = pickle.index(b"X\x07\x00\x00\x00s000002")
    stage = pickle[second:third]
    end = third + len(stage)
    numbers, step = memo_numbers(stage)
    places = (numpy.array(numbers)[:, None] + numpy.arange(4)).ravel()
    parts = [pickle[:second]]
    for i in range(modules // STAGE - 1):
        copy = numpy.frombuffer(stage, dtype=numpy.uint8).copy()
        copy[places] = (copy[places].view("<u4") + i * step).view(numpy.uint8)
        copy[5:12] = numpy.frombuffer(b"s%06d" % (i + 1), dtype=numpy.uint8)
        parts.append(copy.tobytes())
    members[name] = b"".join(parts) + pickle[end:]
    with zipfile.ZipFile(path.with_suffix(".part"), "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    path.with_suffix(".part").rename(path)
    return path


# --- torchoscope


def start(program, path, home):
    environment = {
        "TERM": "xterm-256color",
        "LC_ALL": "C.UTF-8",
        "COLORTERM": "truecolor",
        "TORCHOSCOPE_THEME": "dark",  # no terminal answers the query
        "XDG_CONFIG_HOME": home,
        "XDG_STATE_HOME": home,
    }
    return Terminal([program, path], environment)


class Times:
    """A stopwatch that starts now."""

    def __init__(self, terminal):
        self.terminal = terminal
        self.before = terminal.processor()
        self.begin = time.perf_counter()

    def until(self, end):
        """Wall time, and working and waiting time of the main thread."""
        self.terminal.settle()
        worked, waited = self.terminal.processor()
        return end - self.begin, worked - self.before[0], waited - self.before[1]


def timed(terminal, key):
    """Press a key and wait for its frame."""
    for letter in key[:-1]:
        terminal.press(letter)
        terminal.frame()
    terminal.settle()
    times = Times(terminal)
    terminal.press(key[-1])
    return times.until(terminal.frame())


def note(worked, waited):
    if not worked:
        return ""
    return f"worked {milliseconds(worked)}, waited {milliseconds(waited)}"


def time_line(table, what, found, target=None):
    wall, worked, waited = zip(*found)
    middle = (bench.spread(values)[0] for values in (worked, waited))
    table.line(what, wall, milliseconds, target, note=note(*middle))


def first_screens(table, path, home, target):
    """From the byte that bench_screen writes when the file is read."""
    firsts, reads, whole = [], [], []
    for _ in range(max(3, ROUNDS // 5)):
        terminal = start(BUILD / "tests/bench/bench_screen", path, home)
        read = terminal.byte()
        reads.append((read - terminal.began, *terminal.processor()))
        times = Times(terminal)
        firsts.append(times.until(terminal.frame()))
        terminal.close()
        terminal = start(bench.PROGRAM, path, home)
        whole.append(terminal.frame() - terminal.began)
        terminal.settle()
        terminal.close()
    time_line(table, "first screen, once the file is read", firsts, target)
    time_line(table, "reading it", reads)
    table.line("first screen, from the start", whole, milliseconds)


def press_all(table, terminal, median, most):
    """Time each key in each round, and add a line for all of them."""
    found = {what: [] for what, _ in KEYS}
    for _ in range(ROUNDS):
        for what, key in KEYS:
            found[what].append(timed(terminal, key))
    for what, times in found.items():
        time_line(table, what, times, median)
    everything = sum(found.values(), [])
    time_line(table, "all of them", everything, median)
    wall, worked, waited = (ninety_nine(values) for values in zip(*everything))
    told = note(worked, waited)
    table.line("all of them, 99 %", [wall], milliseconds, most, note=told)


def search_all(table, terminal):
    for text in SEARCHES:
        found = []
        for _ in range(max(3, ROUNDS // 5)):
            terminal.press("/")
            terminal.frame()
            found += [timed(terminal, letter) for letter in text]
            terminal.press("\x1b")
            terminal.frame()
            terminal.settle()
        time_line(table, f"a letter of the search {text}", found, 0.1)
        table.line("  the slowest", [max(found)[0]], milliseconds, 0.1)


def ours(modules, home):
    path = blocks(modules)
    targets = modules <= 100_000
    table = bench.Table(f"torchoscope, {really(modules):,} modules in a file")
    first_screens(table, path, home, 0.05 if targets else None)
    terminal = start(bench.PROGRAM, path, home)
    terminal.frame()
    terminal.settle()
    peak, first = terminal.resident()
    for key in "XZ":  # repeats one by one: the tree has as many rows as modules
        terminal.press(key)
        terminal.frame()
    press_all(table, terminal, 0.016 if targets else None, 0.033 if targets else None)
    search_all(table, terminal)
    _, last = terminal.resident()
    table.line("memory at the first screen", [first], megabytes, 150)
    table.line("memory after all keys", [last], megabytes)
    table.line("most memory while reading", [peak], megabytes)
    terminal.close()
    return table.short


# --- rp


# A line is printed when the model exists and rp is imported, before Textual is.
RP = (
    "import sys; sys.path.insert(0, sys.argv[2])\n"
    + MAKE
    + "import rp\nprint(flush=True)\nrp.explore_torch_module(net)"
)
RP_NEEDS = (
    "rp easydict cachetools six lazy-loader requests urllib3 certifi idna "
    "charset-normalizer textual rich pygments markdown-it-py mdurl mdit-py-plugins "
    "linkify-it-py uc-micro-py platformdirs typing-extensions tree-sitter "
    "tree-sitter-python tree-sitter-markdown"
)


def peer_is_there():
    if (PEERS / "rp").exists() and (PEERS / "textual").exists():
        return True
    command = [PYTHON, "-m", "pip", "install", "-q", "--no-deps", "--target", PEERS]
    done = subprocess.run([*command, *RP_NEEDS.split()], capture_output=True, text=True)
    if done.returncode:
        print(f"rp: cannot be installed ({done.stderr.strip().splitlines()[-1]})")
    return done.returncode == 0


def rp_start(table, modules):
    """Wait for the first screen; returns the terminal."""
    environment = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    terminal = Terminal([PYTHON, "-c", RP, str(modules), PEERS], environment)
    ready = terminal.byte()
    first = terminal.rest()
    table.line("rp: first screen, once there is a model", [first - ready], milliseconds)
    whole = first - terminal.began
    table.line("rp: first screen, from the start", [whole], milliseconds)
    return terminal


def rp_end(terminal):
    os.kill(terminal.pid, 9)
    terminal.close()


def beside_rp(home):
    """The same model: live in rp, as a file in torchoscope."""
    table = bench.Table(f"rp's explorer, {really(RP_MODULES):,} modules")
    theirs = rp_start(table, RP_MODULES)
    terminal = start(bench.PROGRAM, blocks(RP_MODULES), home)
    whole = terminal.frame() - terminal.began
    table.line("ours: first screen, from the start", [whole], milliseconds)
    terminal.press("X")
    terminal.frame()
    for what, key in (("one row down", "j"), ("Z: unfold everything", "Z"),
                      ("a label", "p"), ("Z: fold everything", "Z")):  # fmt: skip
        begin = time.perf_counter()
        theirs.press(key)
        took = theirs.rest() - begin
        table.line(f"rp: {what}", [took], milliseconds)
        table.line(f"ours: {what}", [timed(terminal, key)[0]], milliseconds)
    terminal.close()
    rp_end(theirs)
    table = bench.Table(f"rp's explorer, {really(RP_MANY):,} modules")
    rp_end(rp_start(table, RP_MANY))


def main():
    sizes = [int(word) for word in sys.argv[1:]] or [100_000, 1_000_000]
    target = "tests/bench/bench_screen"
    for name in ("torch", "numpy"):
        if not importlib.util.find_spec(name):
            print(f"tui_bench: not run (there is no {name})")
            return
    subprocess.run(["ninja", "-C", BUILD, "--quiet", target], check=True)
    with tempfile.TemporaryDirectory() as home:
        short = sum(ours(modules, home) for modules in sizes)
        if peer_is_there():
            try:
                beside_rp(home)
            except RuntimeError as why:  # it ended, or never became idle
                print(f"  rp: not run ({bench.last_line(str(why))})")
    print(f"\n{short} figures are short of their target" if short else "")


if __name__ == "__main__":
    main()
