#!/usr/bin/env python3
"""Random keys, clicks, pasted text and sizes: the explorer under ASan and UBSan must
not crash, hang or leak, and must restore the terminal.

    KEYS_SECONDS=60 random_keys_test.py     longer, as `make soak`; KEYS_SEED=7 the same
    keys
"""

import fcntl
import os
import random
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
from pathlib import Path

import scope

SECONDS = float(os.environ.get("KEYS_SECONDS", "1.5"))
SEED = int(os.environ.get("KEYS_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
SCENARIOS = scope.ROOT / "build" / "scenarios"
PROGRAM = os.environ.get("TORCHOSCOPE_ASAN") or os.environ.get("TORCHOSCOPE")

ARROWS = [f"\x1b[{c}" for c in "ABCDHF"] + ["\x1bOA", "\x1b[5~", "\x1b[6~", "\x1b[Z"]
# All except those that end or stop it: q, ^C, ^Z. They come last.
PLAIN = [c for c in map(chr, range(32, 127)) if c != "q"]
CONTROL = [chr(c) for c in (1, 2, 4, 5, 6, 8, 9, 12, 13, 14, 16, 18, 21, 23, 27, 127)]
WORDS = [
    "/conv\r", "/[(\r", "/(?=\r", "/!bn\r", "\x1b\x1b", ":fold 2\r", ":sort time\r",
    ":labels name,type\r", ":stats\r", ":hist 7\r", ":5\r", ":no such thing\r", "]0;é漢",
    "[0, 3:9\r", "[..., -1\r", "[99999\r", "ip", "ir", "i!", "ix", "yc\x1b", "yt\x1b",
    "4+", "+", "Z", "Z", "Z", "F", "F", "X", "L", "?fold\x1b", "1", "2", "3", "5", "6",
    "\x1b[200~pasted\ntext \x1b[201~", "\x1b[<999;999;999M", "\x1b[", "\x1bO", "\xff",
    "E", "R", "e", "A", "=", "D\t\r",
    ":set theme light\r", ":set color 16\r", ":set ascii yes\r",
    ":set ascii no\r", ":set mouse no\r", ":set remember yes\r", ":check\r", ":record\r",
    ":flat tensors\r", ":filter b*\r", ":stop\r", ":\x1b[A\x1b[A\r", ":go \t\t\r",
    "\x1b]11;rgb:ffff/ffff/ffff\x1b\\",
    "/\x1b[200~conv\x1b[201~\r", "y\x1b[Bn", "\x1b[I", "\x1b[106;5u",
    f":open {SCENARIOS}/resnet50.pth\r", f":open {SCENARIOS}\r",
    # in a list of files
    "im", "iv", "fu", "fs", "fx", "  ", "g G D", "G D", ":sort size reverse\r",
    ":filter safe|damaged\r", ":diff finetuned.pth\r", "n", "N",
]
SIGNALS = [signal.SIGWINCH, signal.SIGCONT]  # those that change nothing
SIZES = [(120, 36), (80, 24), (60, 20), (40, 8), (30, 6), (1, 1), (300, 100), (200, 60)]


def setUpModule():
    if scope.VENV.exists() and scope.has_torch(scope.VENV):
        maker = [scope.VENV, scope.SAMPLES / "scenarios.py"]
        subprocess.run(maker, check=True, stdout=subprocess.DEVNULL)


def mouse(chance):
    button = chance.choice([0, 0, 0, 2, 32, 64, 65])
    column, row = chance.randint(1, 130), chance.randint(1, 40)
    return f"\x1b[<{button};{column};{row}{chance.choice('MMm')}"


class Explorer:
    def __init__(self, words, folder):
        self.master, slave = os.openpty()
        self.slave, self.log = slave, Path(folder, "log")
        self.resize(120, 36)
        self.before = termios.tcgetattr(slave)
        environment = {
            **os.environ,
            "TERM": "xterm-256color",
            "LC_ALL": "C.UTF-8",
            "EDITOR": "true",
            "VISUAL": "true",
            "HOME": folder,
            "XDG_CONFIG_HOME": folder,
            "XDG_STATE_HOME": folder,
            "ASAN_OPTIONS": f"log_path={self.log}:exitcode=99:detect_leaks=1",
            "UBSAN_OPTIONS": f"log_path={self.log}:print_stacktrace=1:halt_on_error=1",
        }
        self.process = subprocess.Popen(
            [PROGRAM, *map(str, words)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            cwd=folder,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def resize(self, columns, rows):
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)

    def drain(self, seconds=0.0):
        seen = b""
        while select.select([self.master], [], [], seconds)[0]:
            try:
                seen += os.read(self.master, 1 << 16)
            except OSError:
                break
        return seen

    def press(self, text):
        """Write keys; returns the explorer's output meanwhile."""
        seen = b""
        data = text.encode("latin1" if text == "\xff" else "utf8")
        limit = time.monotonic() + scope.PATIENCE
        while data:
            # It may have to write before it can read.
            writable = select.select([], [self.master], [], 0.01)[1]
            if writable:
                data = data[os.write(self.master, data[:256]) :]
                limit = time.monotonic() + scope.PATIENCE
            elif time.monotonic() > limit:
                raise AssertionError("it reads no keys any more")
            seen += self.drain()
        return seen

    def answers(self, keys, wanted):
        """Press keys, and wait until the explorer has written `wanted`."""
        seen = self.press(keys)
        limit = time.monotonic() + scope.PATIENCE
        while wanted not in seen and time.monotonic() < limit:
            seen += self.drain(0.1)
        return wanted in seen

    def end(self, seconds=scope.PATIENCE):
        """Press the keys that end it until it ends; its status."""
        limit = time.monotonic() + seconds
        while self.process.poll() is None:
            if time.monotonic() > limit:
                self.process.kill()
                raise AssertionError("it does not end")
            self.press("\x03")
            self.drain(0.05)
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def complaints(self):
        return "\n".join(p.read_text() for p in self.log.parent.glob("log.*"))


def press_at_random(explorer, chance, seconds):
    """Press keys for a while; the last ones. It may have ended if `:q` was typed."""
    pressed, limit = [], time.monotonic() + seconds
    while time.monotonic() < limit and explorer.process.poll() is None:
        kind = chance.random()
        if kind < 0.02:
            explorer.resize(*chance.choice(SIZES))
            continue
        if kind < 0.025:
            explorer.process.send_signal(chance.choice(SIGNALS))
            continue
        table = (
            PLAIN if kind < 0.5 else ARROWS if kind < 0.65 else CONTROL if kind < 0.8 else WORDS
        )
        key = mouse(chance) if kind > 0.95 else chance.choice(table)
        pressed.append(key)
        explorer.press(key)
        if chance.random() < 0.3:
            explorer.drain(0.004)
    return [key[:60] for key in pressed[-60:]]


@unittest.skipUnless(PROGRAM, "run by tools/run_tests.py")
class RandomKeys(unittest.TestCase):
    def check_complaints(self, explorer, story):
        """Fail with the whole report, which assertEqual() would cut."""
        if explorer.complaints():
            self.fail(f"{story}\n{explorer.complaints()}")

    def check(self, *words):
        chance = random.Random(SEED)
        limit = time.monotonic() + SECONDS
        while time.monotonic() < limit:
            with tempfile.TemporaryDirectory() as folder:
                explorer = Explorer(words, folder)
                try:
                    explorer.drain(0.5)
                    left = limit - time.monotonic()
                    last = press_at_random(explorer, chance, max(left, 0.5))
                    story = f"seed {SEED}, {words}, last keys {last}"
                    status = explorer.end()
                    explorer.drain()
                    self.check_complaints(explorer, story)
                    self.assertIn(status, (0, 1, -signal.SIGINT), story)
                    after = termios.tcgetattr(explorer.slave)
                    self.assertEqual(after, explorer.before, story)
                finally:
                    explorer.close()

    def sample(self, name):
        path = SCENARIOS / name
        if not path.exists():
            self.skipTest("tests/samples/scenarios.py was not run")
        return path

    def test_a_file(self):
        self.check(self.sample("resnet50.pth"))

    def test_a_recording(self):
        self.check(self.sample("live.scope"))

    def test_an_unsafe_file(self):
        self.check(self.sample("model_best.pth.tar"))

    def test_two_models(self):
        self.check(self.sample("resnet50.pth"), "--diff", self.sample("finetuned.pth"))

    def test_a_folder(self):
        self.check(SCENARIOS if SCENARIOS.exists() else scope.ROOT)

    def test_settings_before_a_file_is_opened(self):
        with tempfile.TemporaryDirectory() as folder:
            explorer = Explorer([folder], folder)
            try:
                explorer.drain(0.5)
                keys, words = ":set theme light\r", b"theme: light"
                self.assertTrue(explorer.answers(keys, words))
                keys, words = ":set remember no\r", b"views are no longer saved"
                self.assertTrue(explorer.answers(keys, words))
                self.assertIn(explorer.end(), (0, 1, -signal.SIGINT))
                self.check_complaints(explorer, "settings")
            finally:
                explorer.close()

    def test_without_colours_in_ascii(self):
        self.check(self.sample("nan.scope"), "--ascii", "--color=never")

    def test_a_run_that_raised(self):
        self.check(self.sample("raised.scope"), "--plain")


if __name__ == "__main__":
    print(f"seed {SEED}", file=sys.stderr)
    unittest.main()
