"""A real terminal for tests: a program in tmux, keys in, the screen's text out.

    with terminal.Terminal([scope.PROGRAM, "model.pth"], columns=80, rows=24) as screen:
        screen.wait("SAFE")
        screen.keys("j", "Enter")
        screen.type("/conv2")
        assert "row 4/37" in screen.text()

Every terminal has its own tmux server, which ends with it.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

TMUX = shutil.which("tmux")
TSTP = 128 + signal.SIGTSTP  # how a shell says that its job was stopped
PATIENCE = 120  # seconds: the machine may be busy


class Terminal:
    def __init__(self, words, columns=120, rows=36, settings=None, term="xterm-256color",
                 folder=None, jobs=False):
        if not TMUX:
            raise unittest.SkipTest("no tmux")
        self.folder = tempfile.TemporaryDirectory(prefix="torchoscope-tmux-")
        self.words = [str(word) for word in words]
        self.size = columns, rows
        self.where = folder or os.getcwd()
        self.jobs = jobs
        self.settings = {"TERM": term, "TORCHOSCOPE_THEME": "dark", **(settings or {})}

    def __enter__(self):
        columns, rows = self.size
        unset = ["NO_COLOR", "COLORTERM", "COLORFGBG", "TMUX", "LC_ALL", "COLUMNS", "LINES"]
        line = ["env", *(word for name in unset for word in ("-u", name))]
        line += ["LANG=C.UTF-8", f"XDG_CONFIG_HOME={self.folder.name}"]
        line += [f"{name}={value}" for name, value in self.settings.items()]
        # A shell that keeps running shows what the program left behind.
        command = shlex.join([*line, *self.words])
        if self.jobs:  # one that suspends itself is continued by Enter
            command = f"set -m; {command}; while [ $? = {TSTP} ]; do echo '[stopped]'; read x; fg >/dev/null; done"
        script = f"{command}; echo \"\n[ended $?]\"; stty -a | tr ' ' '\\n' >{self.folder.name}/stty; exec cat"
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", rows,
                   "-c", self.where, "sh", "-c", script)
        self._tmux("set-option", "-g", "status", "off")
        self._tmux("set-option", "-s", "escape-time", "0")
        self.resize(columns, rows)
        return self

    def __exit__(self, *_):
        subprocess.run(self._words("kill-server"), capture_output=True)
        self.folder.cleanup()

    def _words(self, *words):
        return [TMUX, "-S", f"{self.folder.name}/socket", *map(str, words)]

    def _tmux(self, *words):
        done = subprocess.run(self._words(*words), capture_output=True, text=True,
                              env={**os.environ, "TMUX": ""})
        if done.returncode:
            raise RuntimeError(f"tmux {words}: {done.stderr}")
        return done.stdout

    def keys(self, *names):
        """Keys by tmux's names: "Enter", "Escape", "Up", "C-c", "j"."""
        for name in names:
            self._tmux("send-keys", "--", name)

    def type(self, text):
        self._tmux("send-keys", "-l", "--", text)

    def click(self, column, row, button=0):
        """A press and a release, both from 0."""
        for last in "Mm":
            self.type(f"\033[<{button};{column + 1};{row + 1}{last}")

    def resize(self, columns, rows):
        self._tmux("resize-window", "-x", columns, "-y", rows)

    def text(self):
        """The text of the screen, without blanks at the ends of lines."""
        return self._tmux("capture-pane", "-p")

    def lines(self):
        return self.text().split("\n")

    def coloured(self):
        """The same with its escape codes."""
        return self._tmux("capture-pane", "-p", "-e")

    def buffer(self):
        """The text copied to the clipboard by OSC 52, once set-clipboard is on."""
        done = subprocess.run(self._words("show-buffer"), capture_output=True, text=True)
        return done.stdout

    def squeezed(self):
        """The same with every run of blanks as one."""
        return re.sub(r"[ \t]+", " ", self.text())

    def wait(self, *texts, gone=()):
        """Wait until the screen shows all of the texts, ignoring runs of blanks, and
        none of the texts in `gone`. Returns the screen."""
        end = time.monotonic() + PATIENCE
        while True:
            now = self.squeezed()
            if all(text in now for text in texts) and not any(text in now for text in gone):
                return now
            if time.monotonic() > end:
                raise AssertionError(f"{texts} (gone: {gone}) not on the screen:\n{self.text()}")
            time.sleep(0.03)

    def settle(self):
        """Wait until the screen no longer changes. Returns the screen."""
        before, same = self.text(), 0
        while same < 3:
            time.sleep(0.05)
            now = self.text()
            same = same + 1 if now == before else 0
            before = now
        return before

    def row_of(self, text):
        """The first line that holds the text."""
        for number, line in enumerate(self.lines()):
            if text in line:
                return number
        raise AssertionError(f"{text!r} is on no line:\n{self.text()}")

    def cursor(self):
        """The line of the tree's cursor."""
        return next((line for line in self.lines() if line.startswith(("▌", ">"))), "")

    def pid(self):
        """Of the program itself."""
        shell = self._tmux("display-message", "-p", "#{pane_pid}").strip()
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", shell], capture_output=True,
                                  text=True).stdout.split()
        return int(children[0])

    def ended(self):
        """Wait until the program ends; its status, 128 and more: a signal."""
        self.wait("[ended ")
        return int(re.search(r"\[ended (\d+)\]", self.text())[1])

    def stty(self):
        """The terminal's settings after the program, from stty."""
        self.ended()
        with open(f"{self.folder.name}/stty") as file:
            return file.read().split()
