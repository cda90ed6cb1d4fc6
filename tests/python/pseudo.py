"""A pseudo-terminal for tests, without any terminal program: bytes in, bytes out.

    with pseudo.Terminal([scope.PROGRAM, "model.pth"]) as screen:
        screen.wait("SAFE")
        screen.press("j")
        screen.press("q")
        assert screen.ended() == 0

Instead of arguments a function can be given: it is called in a forked child, which
inherits all imports. The child has the terminal to itself, as in a shell.
"""

import ctypes
import fcntl
import os
import re
import select
import signal
import struct
import termios
import time

PATIENCE = 120  # seconds: the machine may be busy


class Terminal:
    def __init__(self, what, settings=None, columns=80, rows=24, unset=()):
        gone = {"NO_COLOR", "COLORTERM", "COLORFGBG", "TMUX", "DISPLAY", "LC_ALL", *unset}
        gone |= {"WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY", "COLUMNS", "LINES"}
        kept = {name: text for name, text in os.environ.items() if name not in gone}
        environment = {
            **kept,
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "TORCHOSCOPE_THEME": "dark",
            "XDG_CONFIG_HOME": "/nonexistent",
            **(settings or {}),
        }
        self.environment = {k: v for k, v in environment.items() if v is not None}
        self.what, self.size = what, (columns, rows)
        self.seen, self.status = b"", None

    def __enter__(self):
        self.master, self.slave = os.openpty()
        self.resize(*self.size)
        self.before = termios.tcgetattr(self.slave)
        self.pid = os.fork()
        if self.pid == 0:
            self._child()
        return self

    def _child(self):
        status = 99
        try:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(self.slave, fd)
            os.close(self.master)
            os.close(self.slave)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if callable(self.what):
                os.environ.clear()
                os.environ.update(self.environment)
                self.what()
                if "libasan" in os.environ.get("LD_PRELOAD", ""):
                    getattr(ctypes.CDLL(None), "__lsan_do_recoverable_leak_check")()
                status = 0
            else:
                words = [str(word) for word in self.what]
                os.execve(words[0], words, self.environment)
        except BaseException as error:
            os.write(2, f"\r\n[{error!r}]\r\n".encode())
        finally:
            os._exit(status)

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.hang_up()
        os.close(self.slave)

    def hang_up(self):
        if self.master >= 0:
            os.close(self.master)
        self.master = -1

    def resize(self, columns, rows):
        self.size = columns, rows
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)

    def press(self, keys):
        data = keys if isinstance(keys, bytes) else keys.encode()
        end = time.monotonic() + PATIENCE
        while data:
            # It may have to write before it can read.
            if select.select([], [self.master], [], 0.01)[1]:
                data = data[os.write(self.master, data[:256]) :]
                end = time.monotonic() + PATIENCE
            elif time.monotonic() > end:
                raise AssertionError("it reads no keys any more")
            self.read(0)

    def read(self, seconds):
        """The output within this time, after at least one read; also added to
        `seen`."""
        new = b""
        while select.select([self.master], [], [], 0 if new else seconds)[0]:
            try:
                part = os.read(self.master, 1 << 16)
            except OSError:
                break
            if not part:
                break
            new += part
        self.seen += new
        return new

    def until(self, found, why):
        end = time.monotonic() + PATIENCE
        while True:
            got = found()
            if got:
                return got
            if time.monotonic() > end:
                raise AssertionError(f"{why}; it wrote {self.seen[-3000:]!r}")
            self.read(0.05)

    def wait_bytes(self, wanted, since=0):
        """Wait until this was written; the output from there on."""
        return self.until(
            lambda: wanted in self.seen[since:] and self.seen[since:].partition(wanted)[2],
            f"{wanted!r} was not written",
        )

    def shown(self):
        """The screen as text. A change of size redraws all of it."""
        columns, rows = self.size
        whole = re.compile(rb"\x1b\[2J(.*?)\x1b\[\?2026l", re.S)
        for width in (columns + 1, columns):
            since = len(self.seen)
            self.resize(width, rows)
            found = self.until(lambda: whole.search(self.seen, since), "nothing is drawn")
        text = re.sub(rb"\x1b\[[\d;]*H", b"\n", found[1])
        return re.sub(rb"\x1b(\[[?\d;]*[A-Za-z]|\(B)", b"", text).decode()

    def wait(self, *texts):
        """Wait until the screen shows all of these; the screen."""
        def all_there():
            screen = self.shown()
            return all(text in screen for text in texts) and screen

        return self.until(all_there, f"not all of {texts} came")

    def ended(self):
        """Wait until it ends; its status, below 0: the signal that ended it."""

        def over():
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            return bool(pid)

        self.until(over, "it does not end")
        if self.master >= 0:
            self.read(0)
        return self.status

    def is_as_before(self):
        """The settings, the alternate screen, the mouse, the cursor, the paste mode."""
        last = {}
        for number, how in re.findall(rb"\x1b\[\?(\d+)([hl])", self.seen):
            last[int(number)] = how
        left = {n: how for n, how in last.items() if how != (b"h" if n in (7, 25) else b"l")}
        return not left and termios.tcgetattr(self.slave) == self.before
