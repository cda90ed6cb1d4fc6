#!/usr/bin/env python3
"""Every key of the explorer in a real terminal. A file of tests/screens/keys is a
transcript: what is pressed, and below it the lines of the screen that it changed.

    keys_test.py                    play all of them and compare
    keys_test.py --rewrite [NAME]   write down what the screen shows now; read the diff

    $ torchoscope resnet18.pth   80x24
     1 resnet18.pth   122 tensors ...               a new terminal: the whole screen
    ── j · down ───────────────────────────────────────────────────────────────────
     4▌├ ▸ conv1: ~conv 7×7 ...                     line 4 is now this
    15-22                                           these are blank now
    ── : "sort params" Enter ──────────────────────────────────────────────────────
    ── {click layer3} · a row ─────────────────────────────────────────────────────

Keys are named as the manual page names them; "..." is typed; {...} is the mouse on the
text that it names. Behind the dot stands the action that the first key has in the table
of keys, or what the mouse is about, and further words ask for more to be written down:
italic, reversed, underlined, green: the parts of the screen that are; clipboard: what
the terminal got. Lines that begin with # are for the reader.
"""

import difflib
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import scope
import terminal

TRANSCRIPTS = scope.ROOT / "tests" / "screens" / "keys"
WIDTH = 82
START = re.compile(r"\$ (?P<command>.*?) +(?P<columns>\d+)x(?P<rows>\d+)$")
PRESS = re.compile(r"── (?P<keys>.+?)(?: · (?P<about>[^\"{}]+?))? ─+$")
TOKEN = re.compile(r'"[^"]*"|\{[^}]*\}|\S+')
TMUX_NAMES = {"PgUp": "PPage", "PgDn": "NPage", "Shift-Tab": "BTab", "Backspace": "BSpace",
              "Esc": "Escape", "space": "Space", "Delete": "DC"}
TMUX_SAME = {"Up", "Down", "Left", "Right", "Home", "End", "Enter", "Tab", "F5"}
LOOKS = {"bold": "1", "italic": "3", "underlined": "4", "reversed": "7", "green": "38;5;114"}


# --- What is written down


class Step:
    """A line that starts a terminal or presses keys, the remarks above it and what the
    screen then shows."""

    def __init__(self, head, remarks):
        self.head, self.remarks, self.shown = head, remarks, []
        self.start = START.match(head)
        press = PRESS.match(head)
        self.tokens = TOKEN.findall(press["keys"]) if press else []
        about = (press["about"] or "").split(", ") if press else []
        self.more = [word for word in about if word in LOOKS or word == "clipboard"]
        self.about = next((word for word in about if word not in self.more), None)

    def __str__(self):
        head = self.head if self.start else re.sub("─+$", "", self.head).ljust(WIDTH, "─")
        return "\n".join([*self.remarks, head, *self.shown])


class Transcript:
    def __init__(self, path):
        self.path, self.steps = path, []
        remarks = []
        for line in path.read_text().splitlines():
            if START.match(line) or PRESS.match(line):
                self.steps.append(Step(line, remarks))
                remarks = []
            elif line.startswith("#") or not line or not self.steps:
                remarks.append(line)
            else:
                self.steps[-1].shown.append(line)

    def __str__(self):
        return "\n".join(map(str, self.steps)) + "\n"

    def missing(self):
        """The reason to skip: this Python cannot explore a live model like torch
        2.13."""
        live = any(step.start and "python3" in step.head for step in self.steps)
        return live and not scope.has_torch(sys.executable, "2.13")


def transcripts(name=""):
    return [Transcript(path)
            for path in sorted(TRANSCRIPTS.glob("*.txt")) if name in path.name]


# --- Playing it


def make_folder():
    """A folder with the files of the transcripts, under short names. Its own name is as
long as the part of a path that a title shows."""
    folder = Path(tempfile.mkdtemp(prefix="torchoscope-keys-"), "where-the-models-are")
    folder.mkdir()
    for path in (*scope.demo_folder().glob("*.pth"), *scope.runs_folder().glob("*.scope"),
                 scope.SAMPLES / "keys_model.py"):
        (folder / path.name).symlink_to(path)
    (folder / "models" / "deep").mkdir(parents=True)
    for day, name in enumerate(("net.scope", "deep/raised.scope", "nan.scope"), 1):
        copy = shutil.copy(folder / Path(name).name, folder / "models" / name)
        set_day(copy, day)
    make_zoo(folder / "zoo")
    return folder


def set_day(path, day):
    when = time.mktime((2020, 1, day, 12, 0, 0, 0, 0, 0))
    os.utime(path, (when, when))


def safetensors(values):
    """One parameter of this many equal bytes."""
    about = {"dtype": "U8", "shape": [values], "data_offsets": [0, values]}
    header = json.dumps({"fc.weight": about}).encode()
    return struct.pack("<Q", len(header)) + header + bytes([values % 256]) * values


def make_zoo(folder):
    """A file of every verdict, the last one is the newest."""
    folder.mkdir()
    files = {
        "step10.safetensors": safetensors(2048),
        "step2.safetensors": safetensors(8192),
        "cut.safetensors": safetensors(4096)[:3000],
        "net.pkl": b"\x80\x02c__main__\nNet\n)\x81.",
        "evil.pkl": b"\x80\x02cposix\nsystem\nX\x02\0\0\0idq\0\x85R.",
        "page.pth": b"<!DOCTYPE html><html><body>not found</body></html>",
    }
    for day, (name, content) in enumerate(files.items(), 1):
        (folder / name).write_bytes(content)
        set_day(folder / name, day)


def looking(coloured, code):
    """The parts of a screen with this attribute, in order."""
    off = {"1": "22", "3": "23", "4": "24", "7": "27"}.get(code, "39")
    found, on = [], False
    for line in coloured.split("\n"):
        part = ""
        for codes, text in re.findall(r"(?:\033\[([0-9;]*)m|^)([^\033]*)", line):
            codes = re.findall(r"[34]8;5;\d+|\d+", codes)
            on = code in codes or (on and not {"0", off}.intersection(codes) and not
                                   (off == "39" and any(c[0] == "3" for c in codes)))
            if not on and part:
                found.append(part)
                part = ""
            part += text.strip() if on else ""
        found += [part] if part else []
    return found


def changed_lines(before, now):
    """" 4 text" for line 4, "5-9" if lines 5 to 9 are now blank."""
    shown, blank = [], 0
    for i, (was, line) in enumerate(zip(before, now), 1):
        if was == line:
            blank = 0
        elif line:
            shown.append(f"{i:2}{line}")
            blank = 0
        elif blank:
            shown[-1] = f"{blank:2}-{i}"
        else:
            blank = i
            shown.append(f"{i:2}")
    return shown


class Player:
    """One terminal after the other; at most one at a time."""

    def __init__(self):
        self.screen, self.lines = None, []
        self.folder = make_folder()

    def close(self):
        self.end()
        shutil.rmtree(self.folder.parent)

    def end(self):
        if self.screen:
            self.screen.__exit__()
        self.screen = None

    def begin(self, step):
        self.end()
        settings, words = {}, shlex.split(step.start["command"])
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            settings[name] = value
        programs = {"torchoscope": scope.PROGRAM, "python3": sys.executable}
        words[0] = programs[words[0]]
        settings |= {"DISPLAY": "", "WAYLAND_DISPLAY": "", "HOME": self.folder,
                     "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        size = {"columns": int(step.start["columns"]), "rows": int(step.start["rows"])}
        self.screen = terminal.Terminal(words, settings=settings, folder=self.folder,
                                        jobs=True, **size)
        self.screen.__enter__()
        self.screen._tmux("set-option", "-s", "set-clipboard", "on")
        self.lines = []

    def place(self, text):
        """The first cell of this text on the screen."""
        row = self.screen.row_of(text)
        return self.screen.lines()[row].index(text), row

    def mouse(self, token):
        verb, _, rest = token[1:-1].partition(" ")
        if verb == "drag":  # {drag │ by -18,0}
            text, _, by = rest.rpartition(" by ")
            column, row = self.place(text)
            right, down = map(int, by.split(","))
            to = f"{column + right + 1};{row + down + 1}"
            self.screen.type(f"\033[<0;{column + 1};{row + 1}M\033[<32;{to}M\033[<0;{to}m")
        else:
            column, row = self.place(rest)
            at = f"{column + 1};{row + 1}"
            click = f"\033[<0;{at}M\033[<0;{at}m"
            self.screen.type({"click": click, "double": click * 2,
                              "wheel-up": f"\033[<64;{at}M",
                              "wheel-down": f"\033[<65;{at}M"}[verb])

    def press(self, token):
        if token[0] == "{" and token[-1] == "}":
            self.mouse(token)
        elif token[0] == '"' and len(token) > 1:
            self.screen.type(token[1:-1])
        elif token in TMUX_NAMES or token in TMUX_SAME:
            self.screen.keys(TMUX_NAMES.get(token, token))
        elif token[0] == "^" and len(token) == 2:
            self.screen.keys(f"C-{token[1].lower()}")
        else:
            self.screen.type(token)

    def now(self, step):
        """The changes since the previous step, as in a transcript; and all lines."""
        lines = [line.rstrip() for line in self.screen.text().rstrip("\n").split("\n")]
        lines += [""] * (self.screen.size[1] - len(lines))
        before = self.lines or [""] * len(lines)
        shown = changed_lines(before, lines) or ["  (the same screen)"]
        for word in step.more:
            if word == "clipboard":
                text = self.screen.buffer().rstrip("\n").split("\n")
                shown += [f"  clipboard: {line[:78]}".rstrip() for line in text]
            else:
                found = looking(self.screen.coloured(), LOOKS[word])
                shown.append(f"  {word}: " + (" | ".join(found) or "nothing"))
        return shown, lines

    def play(self, step):
        if step.start:
            self.begin(step)
        for token in step.tokens:
            self.press(token)

    def compare(self, step):
        """Play a step and wait for the expected screen; None, or the difference."""
        self.play(step)
        end = time.monotonic() + terminal.PATIENCE
        while True:
            shown, lines = self.now(step)
            if shown == step.shown or time.monotonic() > end:
                break
            time.sleep(0.004)
        self.lines = lines
        if shown == step.shown:
            return None
        return "\n".join(difflib.unified_diff(step.shown, shown, "written", "now", n=99))

    def rewrite(self, step):
        self.play(step)
        if step.start:
            self.screen.wait(" row ")
        text = self.screen.settle()
        while re.search("being measured|measuring the rest", text):
            text = self.screen.settle()
        if not self.screen.lines()[self.screen.size[1] - 1] and "✗" not in text:
            self.screen.wait("[stopped]" if step.about == "suspend" else "[ended ")
        step.shown, self.lines = self.now(step)


# --- Is there a transcript for every key?


def table():
    """[(keys, names of actions, what they do)] of the table of keys."""
    text = scope.run("__keys").stdout.decode().replace("\\e", "\\").replace("\\-", "-")
    items = re.findall(r"^\.It (.*)\n((?:[^.].*\n)+)\.Pq (.*)", text, re.M)
    return [(re.findall(r"Ic \\&(\S+)", keys), names.split(", "), about)
            for keys, about, names in items]


# The tables of the module explorer's first description; these keys stay what they are.
PROMISED = """
up: Up k; down: Down j; left: Left h; right: Right l; fold: space; fold-subtree: z;
fold-all: Z; fold-siblings: s; fold-siblings-below: S; fold-class: o; fold-class-below: O;
label-shapes: t; label-memory: b; label-counts: p; label-device: d; label-forward: f;
align: A; code: c; attributes: a; labels: L; panels-larger: <; panels-smaller: >; help: ?;
label-toggle: space Enter; label-down: J; label-up: K"""
MOUSE = """a row; the arrow; twice on a row; a column title; the title again; a hint; a panel;
the wheel over the tree; the wheel over a panel; the rule between tree and panels;
the scroll bar; a box"""


def listed(text):
    return [part.strip() for part in text.split(";")]


class Keys(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.steps = [step for one in transcripts() for step in one.steps]
        cls.pressed = {(step.about, step.tokens[0]) for step in cls.steps if step.tokens}

    def test_every_key_of_the_table_is_pressed(self):
        items = table()
        self.assertGreater(len(items), 40)
        for keys, names, about in items:
            with self.subTest(names):
                done = {(name, key) for name, key in self.pressed if name in names}
                self.assertEqual({key for _, key in done}, set(keys))
                self.assertEqual({name for name, _ in done}, set(names))
                choices = re.search(r"then ((?:\S )*\S)[;:]", about)
                if choices:  # i n, y c
                    second = {step.tokens[1] for step in self.steps if len(step.tokens) > 1
                              and step.about in names}
                    self.assertLessEqual(set(choices[1].split()), second)

    def test_every_promised_key_is_pressed(self):
        for line in listed(PROMISED):
            name, _, keys = line.partition(": ")
            for key in keys.split():
                self.assertIn((name, key), self.pressed)

    def test_every_command_is_typed(self):
        source = (scope.ROOT / "src" / "tui" / "commands.c").read_text()
        names = set(re.findall(r'^    \{"(\w+)", (?:NULL|")', source, re.M))
        self.assertGreater(len(names), 15)
        typed = {token.strip('"').split()[0] for step in self.steps if step.about == "command"
                 for token in step.tokens if len(token) > 2 and token[0] == '"'}
        self.assertEqual(names - typed, set())

    def test_every_mouse_action_is_in_a_transcript(self):
        done = {step.about for step in self.steps if step.tokens and "{" in step.tokens[0]}
        self.assertEqual(set(listed(MOUSE.replace("\n", " "))) - done, set())


class Played(unittest.TestCase):
    """Each transcript is a test, made below."""

    def play(self, transcript):
        if transcript.missing():
            self.skipTest("a live model needs torch 2.13")
        player = Player()
        self.addCleanup(player.close)
        for step in transcript.steps:
            wrong = player.compare(step)
            if wrong:
                self.fail(f"{transcript.path.name}: {step.head}\n{wrong}")


def make_tests():
    for one in transcripts():
        def test(self, one=one):
            self.play(one)
        setattr(Played, f"test_{one.path.stem}", test)


def rewrite(name):
    for one in transcripts(name):
        if one.missing():
            continue
        player = Player()
        try:
            for step in one.steps:
                player.rewrite(step)
        finally:
            player.close()
            one.path.write_text(str(one))


if sys.argv[1:2] == ["--rewrite"]:
    rewrite("".join(sys.argv[2:3]))
else:
    make_tests()
    unittest.main()
