#!/usr/bin/env python3
"""The explorer on a real terminal: it opens, answers keys, survives resizing and
signals, and restores the terminal."""

import json
import math
import os
import signal
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

import scope
import terminal


def explore(*words, **how):
    model = scope.demo_folder() / "resnet18.pth"
    return terminal.Terminal([scope.PROGRAM, model, *words], **how)


class Opening(unittest.TestCase):
    def test_a_file_opens_at_80x24(self):
        with explore(columns=80, rows=24) as screen:
            screen.wait("✓ SAFE", "122 tensors", "params %", "row 1/11", "q quit")
            self.assertIn("8.4M 72% ███████▏ 32.0MB", screen.squeezed())
            screen.keys("G")
            screen.wait("row 11/11", "fc")
            self.assertIn("fc: ~linear 512→1000", screen.cursor())
            screen.keys("l")
            screen.wait("row 11/13", "weight 1000×512", "bias 1000")
            screen.keys("q")
            self.assertEqual(screen.ended(), 0)

    def test_not_a_terminal_prints_the_tree(self):
        model = scope.demo_folder() / "resnet18.pth"
        done = subprocess.run([scope.PROGRAM, model], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
        self.assertIn("├── conv1", done.stdout)
        with explore(term="dumb") as screen:
            self.assertIn(screen.ended(), (0, 1))
            self.assertIn("├── conv1", screen.text())

    def test_print_writes_the_first_screen(self):
        model = scope.demo_folder() / "resnet18.pth"
        done = subprocess.run([scope.PROGRAM, model, "--print=120x36"], text=True,
                              capture_output=True, check=True)
        with explore() as screen:
            screen.wait("row 1/11", "122 tensors measured")
            now = [line.rstrip() for line in screen.lines()[:36]]
        self.assertEqual(done.stdout.rstrip("\n").split("\n"), now)


class Measured(unittest.TestCase):
    """A small file is measured automatically when it is opened."""

    def test_nan_is_shown_without_a_key(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "broken.safetensors")
            header = {"a.weight": [0, 16], "b.weight": [16, 32]}
            header = json.dumps({name: {"dtype": "F32", "shape": [4], "data_offsets": at}
                                 for name, at in header.items()}).encode()
            path.write_bytes(struct.pack("<Q", len(header)) + header
                             + struct.pack("<8f", 1, 2, 3, 4, 5, math.nan, 7, math.inf))
            with terminal.Terminal([scope.PROGRAM, path], columns=80, rows=24) as screen:
                screen.wait("✗ NaN", "2 tensors measured: NaN or Inf in 1", "! goes to it")
                self.assertTrue(any(line.startswith("!└ ▸ b") for line in screen.lines()),
                                screen.text())
                screen.type("!")
                screen.wait("✗ b.weight has NaN 1 Inf 1", "✗ values NaN 1 Inf 1;")
                screen.type("4")
                screen.wait("NaN 1 +Inf 1 -Inf 0")


class Manual(unittest.TestCase):
    def test_the_manual_page_has_the_table_of_keys(self):
        """If it fails: put the output of torchoscope __keys between its two
        comments."""
        keys = subprocess.run([scope.PROGRAM, "__keys"], text=True, capture_output=True,
                              check=True).stdout
        page = (scope.ROOT / "docs" / "torchoscope.1").read_text()
        begin = page.index("\n", page.index("is what torchoscope __keys writes")) + 1
        end = page.index('.\\" End of what torchoscope __keys writes')
        self.assertEqual(page[begin:end], keys)


class Panels(unittest.TestCase):
    def test_panels_open_close_and_change_size(self):
        with explore() as screen:
            screen.wait("1 Details", "122 tensors measured")
            first = screen.text()
            self.assertEqual(first.split("\n")[5].index("│"), 65)
            screen.keys("1", "1")
            screen.wait("row 1/11", gone=["1 Details"])
            screen.keys("1", "Escape")
            screen.wait("1 Details")
            self.assertEqual(screen.settle(), first)
            screen.keys("<", "<", "<")
            screen.settle()
            self.assertEqual(screen.lines()[5].index("│"), 47)
            screen.keys(">", ">", ">", "\\")
            screen.settle()
            self.assertTrue(screen.lines()[26].startswith("── 1 Details"))
            screen.keys("\\", "Tab", "+")
            screen.settle()
            self.assertTrue(screen.lines()[1].startswith("── 1 Details"))
            screen.keys("Escape", "Escape")
            self.assertEqual(screen.settle(), first)

    def test_hint_lines_have_at_most_eight_keys(self):
        with explore() as screen:
            screen.wait("row 1/11")
            for keys in ([], ["1"], ["Escape", "L"], ["Escape", "F"]):
                screen.keys(*keys)
                hints = screen.settle().rstrip("\n").split("\n")[-1]
                self.assertLessEqual(len(hints.split("   ")), 8, hints)


class Sizes(unittest.TestCase):
    def test_the_first_screen_comes_back(self):
        with explore() as screen:
            screen.wait("row 1/11", "122 tensors measured")
            screen.keys("j", "j", "j")
            first = screen.settle()
            screen.resize(60, 20)
            screen.wait("row 4/11", gone=["1 Details", "q quit"])
            screen.resize(30, 6)
            screen.wait("needs 40×8; this is 30×6", "relu")
            screen.resize(120, 36)
            screen.wait("1 Details", "q quit")
            self.assertEqual(screen.settle(), first)

    def test_ascii_writes_no_byte_above_7e(self):
        with explore("--ascii") as screen:
            screen.wait("row 1/11", "+ SAFE")
            screen.keys("Z", "L", "Escape", "?")
            screen.settle()
            self.assertTrue(all(ord(c) < 0x7f for c in screen.text()))


class Colours(unittest.TestCase):
    def test_no_color_writes_no_colours_and_reverses_the_cursor_row(self):
        with explore(settings={"NO_COLOR": "1"}) as screen:
            screen.wait("row 1/11")
            coloured = screen.coloured()
            self.assertNotRegex(coloured, r"\033\[[0-9;]*(3[0-8]|4[0-8]|9[0-7])[;m]")
            line = next(line for line in coloured.split("\n") if "▌" in line)
            self.assertRegex(line, r"\033\[[0-9;]*7m")

    def test_colours_are_those_of_the_theme(self):
        for theme, back in (("dark", "48;5;237"), ("light", "48;5;254")):
            with explore("--theme", theme) as screen:
                screen.wait("row 1/11")
                self.assertIn(back, screen.coloured())


class Kinds(unittest.TestCase):
    def test_it_opens_on_terminals_of_all_kinds(self):
        for term in ("xterm", "linux", "vt100", "vt220", "rxvt", "screen", "tmux-256color",
                     "ansi"):
            with self.subTest(term), explore(term=term) as screen:
                screen.wait("row 1/11", "1 Details", "q quit")
                screen.keys("Down", "End")
                screen.wait("row 11/11")
                screen.keys("q")
                self.assertEqual(screen.ended(), 0)

    def test_an_unknown_terminal_gets_the_tree(self):
        with explore(term="no-such-terminal") as screen:
            screen.ended()
            self.assertIn("├── conv1", screen.text())


class Clipboard(unittest.TestCase):
    def test_a_copy_reaches_the_terminal(self):
        with explore() as screen:
            screen._tmux("set-option", "-s", "set-clipboard", "on")
            screen.wait("row 1/11")
            screen.keys("j", "y", "n")
            screen.wait("sent 5 bytes by OSC 52")
            self.assertEqual(screen._tmux("show-buffer"), "conv1")


class Ending(unittest.TestCase):
    """However it ends, the terminal is restored, and the status shows the reason."""

    def ends(self, number):
        with explore() as screen:
            screen.wait("row 1/11")
            os.kill(screen.pid(), number)
            self.assertEqual(screen.ended(), 128 + number)
            self.assertIn("echo", screen.stty())
            self.assertIn("icanon", screen.stty())
            self.assertNotIn("row 1/11", screen.text())

    def test_signals_restore_the_terminal(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGSEGV,
                       signal.SIGABRT):
            with self.subTest(number):
                self.ends(number)

    def test_control_c_ends_it_at_once(self):
        with explore() as screen:
            screen.wait("row 1/11")
            screen.keys("C-c")
            self.assertEqual(screen.ended(), 0)
            self.assertIn("echo", screen.stty())

    def test_suspended_and_continued(self):
        with explore() as screen:
            screen.wait("row 1/11")
            pid = screen.pid()
            screen.keys("j")
            screen.wait("row 2/11")
            os.kill(pid, signal.SIGSTOP)
            os.kill(pid, signal.SIGCONT)
            screen.keys("j")
            screen.wait("row 3/11")


if __name__ == "__main__":
    unittest.main()
