"""The explorer on a bare pseudo-terminal: clipboards, the editor, unusual terminals,
input that arrives late, in pieces or never; and a clean exit."""

import base64
import os
import pathlib
import re
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import pseudo
import scope

# The place at which E must open this file:
LINE = sys._getframe().f_lineno + 5
try:
    import torch
    import torchoscope

    class Layer(torch.nn.Linear):
        size = 3
except ImportError:
    torch = None


def children(pid):
    done = subprocess.run(["ps", "-o", "stat=", "--ppid", str(pid)], capture_output=True,
                          text=True)
    return done.stdout.split()


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def script(self, name, text):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def model(self, names=("first.weight", "second.weight")):
        """A small safetensors file."""
        tensors = ",".join(
            f'"{name}":{{"dtype":"U8","shape":[1],"data_offsets":[{i},{i + 1}]}}'
            for i, name in enumerate(names)
        )
        head = f"{{{tensors}}}".encode()
        path = self.folder / "m.safetensors"
        path.write_bytes(struct.pack("<Q", len(head)) + head + bytes(len(names)))
        return path

    def explore(self, *words, names=("first.weight", "second.weight"), **how):
        return pseudo.Terminal([scope.PROGRAM, self.model(names), *words], **how)


class Clipboard(Folder):
    NAME = "second"

    def copy(self, screen):
        """Copy the name of the last row: the message, and the text sent by OSC 52."""
        screen.wait("row 1/3")
        since = len(screen.seen)
        screen.press("Gyn")
        shown = screen.wait("bytes by")
        sent = re.search(rb"\x1b\]52;c;([^\a]*)\a", screen.seen[since:])
        self.assertEqual(children(screen.pid), [], "something stayed behind")
        screen.press("q")
        self.assertEqual(screen.ended(), 0)
        return re.search(r"(copied|sent) \d+ bytes by \S+ ?\w*", shown)[0], (
            base64.b64decode(sent[1]).decode() if sent else None
        )

    def settings(self, **more):
        return {"PATH": f"{self.folder}:{os.environ['PATH']}", "DISPLAY": ":7", **more}

    def test_the_clipboard_program_is_named(self):
        self.script("xclip", f"echo $* >{self.folder}/how; cat >{self.folder}/got")
        with self.explore(settings=self.settings()) as screen:
            self.assertEqual(self.copy(screen), ("copied 6 bytes by xclip", None))
        self.assertEqual((self.folder / "got").read_text(), self.NAME)
        self.assertEqual((self.folder / "how").read_text(), "-selection clipboard\n")

    def test_wayland_comes_first_and_a_program_may_stay_alive_like_xclip(self):
        self.script("wl-copy", f"cat >{self.folder}/got; sleep 20 & echo $! >{self.folder}/pid")
        settings = self.settings(WAYLAND_DISPLAY="w")
        with self.explore(settings=settings) as screen:
            self.assertEqual(self.copy(screen), ("copied 6 bytes by wl-copy", None))
        self.assertEqual((self.folder / "got").read_text(), self.NAME)
        os.kill(int((self.folder / "pid").read_text()), signal.SIGKILL)

    def test_failing_hanging_and_missing_programs_are_not_trusted(self):
        sent = ("sent 6 bytes by OSC 52", self.NAME)
        for text in ("exit 1", "cat >/dev/null; exit 3", "kill -9 $$", "exec sleep 60"):
            self.script("xclip", text)
            with self.subTest(text), self.explore(settings=self.settings()) as screen:
                self.assertEqual(self.copy(screen), sent)
        (self.folder / "xclip").unlink()
        with self.explore(settings={"PATH": str(self.folder), "DISPLAY": ":7"}) as screen:
            screen.wait("row 1/3")
            screen.press("Gyn")
            screen.wait("sent 6 bytes by OSC 52")

    def test_over_ssh_only_the_terminal_is_used(self):
        self.script("xclip", f"cat >{self.folder}/got")
        for name in ("SSH_TTY", "SSH_CONNECTION"):
            with self.explore(settings=self.settings(**{name: "x"})) as screen:
                self.assertEqual(self.copy(screen), ("sent 6 bytes by OSC 52", self.NAME))
        self.assertFalse((self.folder / "got").exists())

    def test_a_long_text_is_copied_whole_or_an_error_is_shown(self):
        name = "n" * 200_000  # more than a pipe holds
        for text, said in ((f"cat >{self.folder}/got", "copied 200000 bytes by xclip"),
                           ("exec sleep 60 <&-", "sent 200000 bytes by OSC 52"),
                           ("exec sleep 60", "sent 200000 bytes by OSC 52")):
            self.script("xclip", text)
            settings = self.settings()
            with self.subTest(text), self.explore(names=[name], settings=settings) as screen:
                screen.wait("row 1/2")
                screen.press("Gyn")
                screen.wait(said)
                self.assertEqual(children(screen.pid), [])
        self.assertEqual((self.folder / "got").read_text(), name)


@unittest.skipUnless(torch, "no torch")
class Live(Folder):
    def live(self, **how):
        net = torch.nn.Sequential(Layer(3, 3), torch.nn.ReLU())
        return pseudo.Terminal(lambda: torchoscope.explore(net), **how)

    def edit(self, editor, **more):
        """Press E on the layer with this editor. The arguments that it got."""
        told = self.folder / "told"
        told.unlink(missing_ok=True)
        settings = {"VISUAL": editor, "PATH": f"{self.folder}:{os.environ['PATH']}", **more}
        with self.live(settings=settings, columns=120, rows=30) as screen:
            screen.wait("row 1/3")
            since = len(screen.seen)
            screen.press("jE")
            screen.wait_bytes(b"\x1b[?1049l", since)
            back = screen.wait_bytes(b"\x1b[?1049h", since)  # and entered again
            self.assertNotIn(b"\x1b[?1049l", back)
            shown = screen.shown()
            screen.press("j")
            screen.wait("row 3/3")
            screen.press("q")
            self.assertEqual(screen.ended(), 0)
            self.assertTrue(screen.is_as_before())
        return told.read_text().split() if told.exists() else None, shown

    def test_editors_get_the_line_number(self):
        tell = f"echo $* >{self.folder}/told; stty -a >{self.folder}/stty"
        self.script("ed it", tell)
        for name in ("vi", "code", "zed", "nano"):
            self.script(name, tell)
        file = os.path.abspath(__file__)
        vi, code = [f"+{LINE}", file], ["-g", f"{file}:{LINE}"]
        for settings, words in (
            ({"editor": "vi"}, vi),
            ({"editor": "nano -w  -x"}, ["-w", "-x", *vi]),
            ({"editor": "code --wait"}, ["--wait", *code]),
            ({"editor": f"{self.folder}/zed"}, code[1:]),
            ({"editor": None, "EDITOR": "nano"}, vi),
            ({"editor": "", "EDITOR": None}, vi),  # vi is the fallback
        ):
            with self.subTest(**settings):
                self.assertEqual(self.edit(**settings)[0], words)
                stty = (self.folder / "stty").read_text().split()
                self.assertIn("icanon", stty)
                self.assertIn("isig", stty)

    def test_the_exit_of_an_editor_is_reported(self):
        self.script("failing", "exit 3")
        self.script("killed", "kill -9 $$")
        self.script("traps", "trap 'exit 0' INT; kill -INT $$; exit 5")
        for editor, said in (("failing", "failing ended with status 3"),
                             ("killed", "killed was ended by signal 9"),
                             ("absent -x", "absent: No such file")):
            with self.subTest(editor):
                self.assertIn(said, self.edit(editor)[1])
        # SIGINT goes to the editor only, as in a shell.
        self.assertNotIn("ended", self.edit("traps")[1])

    def test_resizing_and_stopping_work_while_an_editor_runs(self):
        go = self.folder / "go"
        os.mkfifo(go)
        self.script("slow", f"read word <{go}")
        with self.live(settings={"VISUAL": f"{self.folder}/slow"}) as screen:
            screen.wait("row 1/3")
            since = len(screen.seen)
            screen.press("jE")
            screen.wait_bytes(b"\x1b[?1049l", since)
            quiet = len(screen.seen)
            screen.resize(100, 30)
            # As when a shell continues the job: the terminal is the editor's.
            os.kill(screen.pid, signal.SIGCONT)
            screen.read(0.3)
            self.assertNotIn(b"\x1b[?1049h", screen.seen[quiet:])
            go.write_text("on\n")
            screen.wait_bytes(b"\x1b[?1049h", quiet)
            lines = screen.wait("row 2/3").split("\n")
            self.assertGreater(max(map(len, lines)), 95)
            screen.press("q")
            self.assertEqual(screen.ended(), 0)
            self.assertTrue(screen.is_as_before())

    def test_other_threads_run_while_the_terminal_is_slow(self):
        count = self.folder / "count"

        def work():
            with count.open("ab", buffering=0) as file:
                for _ in range(10_000):
                    file.write(b".")
                    time.sleep(0.005)

        def explore():
            threading.Thread(target=work, daemon=True).start()
            net = torch.nn.Sequential(*(Layer(3, 3) for _ in range(40)))
            torchoscope.explore(net)

        with pseudo.Terminal(explore, columns=300, rows=100) as screen:
            screen.wait("row 1/")
            # Nothing reads, and every change of size is drawn whole, until the buffer
            # is full.
            for n in range(40):
                screen.resize(300 + n % 2, 100)
                time.sleep(0.01)
            before, end = count.stat().st_size, time.monotonic() + pseudo.PATIENCE
            while count.stat().st_size < before + 5 and time.monotonic() < end:
                time.sleep(0.01)
            self.assertGreaterEqual(count.stat().st_size, before + 5)
            screen.press("G")
            screen.wait("row 2/2")
            screen.press("q")
            self.assertEqual(screen.ended(), 0)

    def test_keys_of_all_kinds_in_a_live_model(self):
        """For the sanitizers: panels, attributes, code, labels, prompts."""
        keys = ["Z", "G", "k", "1", "2", "3", "jjjl", "h", "4", "5", "6", "+", "\x1b",
                "/la\r", "n", "\x1b", "L", "jj ", "L", ":stats\r", "F", "F", "ip", "A",
                "y\x1b", "?", "\x1b", "\x1b[<0;5;5M\x1b[<0;5;5m", "R", "X", "o", "a", "c"]
        with self.live(columns=130, rows=40) as screen:
            screen.wait("row 1/3")
            for key in keys:
                screen.press(key)
                screen.shown()
            screen.press("\x03")
            self.assertEqual(screen.ended(), 0)
            self.assertTrue(screen.is_as_before())


class Odd(Folder):
    def check_keys_work(self, screen):
        screen.wait("row 1/3")
        screen.press("j")
        screen.wait("row 2/3")
        screen.press("q")
        self.assertEqual(screen.ended(), 0)
        self.assertTrue(screen.is_as_before())

    def test_the_background_colour_may_arrive_late_broken_in_pieces_or_never(self):
        question = b"\x1b]11;?\x1b\\\x1b[c"
        light, dark = b"\x1b]11;rgb:ffff/ffff/ffff", b"\x1b]11;rgb:0000/0000/0000"
        for parts, is_light in (
            ([], False),
            ([light + b"\x1b\\\x1b[?62;22c"], True),
            ([b"j", light + b"\a", b"k"], True),  # typed in between
            ([0.2, light + b"\x1b\\"], True),
            ([light[:9], 0.1, light[9:], 0.1, b"\x1b", b"\\\x1b[?6", 0.1, b"2c"], True),
            ([dark + b"\x1b\\\x1b[?62;22c"], False),
            ([b"\x1b]11;\x1b\\\x1b[?1;2c"], False),
            ([b"\x1b]\a\x1b]11;rgb:\a\x1b[?c"], False),
            ([b"\x1b]11;rgb:zz/q/\x1b\\"], False),
        ):
            with self.subTest(parts=parts), self.explore(
                settings={"TORCHOSCOPE_THEME": None}
            ) as screen:
                screen.wait_bytes(question)
                for part in parts:
                    if isinstance(part, float):
                        time.sleep(part)
                    else:
                        screen.press(part)
                # The cursor's row shows which palette is used.
                palette = b"48;5;254" if is_light else b"48;5;237"

                def right():
                    since = len(screen.seen)
                    return "row 1/3" in screen.shown() and palette in screen.seen[since:]

                screen.until(right, "not the right palette")
                shown = screen.shown()
                self.assertNotIn("does nothing", shown)
                self.assertNotIn("Copy", shown)
                self.check_keys_work(screen)

    def test_a_known_background_colour_is_not_requested(self):
        for settings, words in (({}, []), ({"TORCHOSCOPE_THEME": None}, ["--theme=light"]),
                                ({"TERM": "linux", "TORCHOSCOPE_THEME": None}, [])):
            with self.explore(*words, settings=settings) as screen:
                if "TERM" in settings:
                    screen.wait_bytes(b"row 1/3")
                else:
                    screen.wait("row 1/3")
                self.assertNotIn(b"\x1b]11", screen.seen)
        settings = {"TORCHOSCOPE_THEME": None, "COLORFGBG": "0;default;15"}
        with self.explore(settings=settings) as screen:
            screen.wait("row 1/3")
            self.assertIn(b"48;5;254", screen.seen)

    def test_pastes_focus_and_unknown_sequences_are_not_keys(self):
        with self.explore() as screen:
            screen.wait("row 1/3")
            for part in (b"\x1b[I\x1b[O", b"\x1b[200~qqq\x03q\r\x1b[201~", b"\x1b[99;99z",
                         b"\x1bP1$r0m\x1b\\", b"\x1b_Gi=1;OK\x1b\\", b"\x1b[57358u",
                         b"\x1b[M   ", b"\xff\xfe", b"\x1b[?1;2;3$y"):
                screen.press(part)
            # In pieces, as over a slow line.
            for parts in ((b"\x1b[200~q", b"q\x03", b"q\x1b[20", b"1~"),
                          (b"\x1b[<0;3", b"0;1", b"0M"), (b"\x1b]11;r", b"gb:qq\x1b\\")):
                for part in parts:
                    screen.press(part)
                    time.sleep(0.06)
            # Longer than the buffer.
            screen.press(b"\x1b[200~" + b"q" * 200_000 + b"\x1b[201~")
            self.check_keys_work(screen)

    def test_ctrl_c_ends_an_unfinished_paste(self):
        with self.explore() as screen:
            screen.wait("row 1/3")
            screen.press("\x1b[200~" + "x" * 100)
            screen.read(0.2)
            screen.press("\x03")
            self.assertEqual(screen.ended(), 0)
            self.assertTrue(screen.is_as_before())

    def test_pasted_text_is_typed_into_a_prompt(self):
        with self.explore() as screen:
            screen.wait("row 1/3")
            screen.press("/\x1b[200~sec\x1b[201~ond\r")
            screen.wait("1 of 1 match", "second")

    def test_keys_as_other_terminals_send_them(self):
        down = [b"\x1b[B", b"\x1bOB", b"j", b"\x1b[106u", b"\x1b[106;1u", b"\x1b[27;1;106~",
                b"\x1b[1;2B", b"\x1b[b"]
        for term in ("xterm-kitty", "xterm", "linux", "screen", "tmux-256color", "rxvt"):
            if subprocess.run(["infocmp", term], capture_output=True).returncode:
                continue
            with self.subTest(term), self.explore(settings={"TERM": term}) as screen:
                screen.until(lambda: b"1/3" in screen.seen, "it does not open")
                for key in down[: 3 if term in ("linux", "rxvt") else None]:
                    since = len(screen.seen)
                    screen.press(key)
                    screen.until(lambda: b"2" in screen.seen[since:], key)
                    screen.press("k")
                    screen.read(0.1)
                screen.press("q")
                self.assertEqual(screen.ended(), 0)
                self.assertTrue(screen.is_as_before())

    def test_dumb_terminals_get_the_tree(self):
        for term in ("dumb", None, "", "no-such-terminal"):
            with self.subTest(term), self.explore(settings={"TERM": term}) as screen:
                self.assertEqual(screen.ended(), 0)
                self.assertIn("── second", re.sub("\x1b\\[\\d*m", "", screen.seen.decode()))
                self.assertNotIn(b"\x1b[?1049h", screen.seen)

    def test_without_stdin_it_prints_the_tree_and_without_stdout_nothing(self):
        program = shlex.join([scope.PROGRAM, str(self.model())])
        for closed, tree in (("<&-", True), ("</dev/null", True), (">&-", False)):
            words = ["/bin/sh", "-c", f"{program} {closed}"]
            with self.subTest(closed), pseudo.Terminal(words) as screen:
                self.assertEqual(screen.ended(), 0 if tree else 2)
                self.assertEqual("second" in screen.seen.decode(), tree)
                self.assertTrue(screen.is_as_before())

    def test_an_unknown_size_is_80_by_24(self):
        with self.explore(columns=0, rows=0) as screen:
            screen.wait_bytes(b"row 1/3")
            screen.press("q")
            self.assertEqual(screen.ended(), 0)

    def test_a_hangup_of_the_terminal_ends_it(self):
        for line in ("{}", "trap '' HUP; {}"):
            mark = self.folder / "over"
            mark.unlink(missing_ok=True)
            program = shlex.join([scope.PROGRAM, str(self.model())])
            words = ["/bin/sh", "-c", f"trap : HUP; {line.format(program)}; :>{mark}"]
            with self.subTest(line), pseudo.Terminal(words) as screen:
                screen.wait("row 1/3")
                os.close(screen.slave)  # this was the last open descriptor of it
                screen.slave = os.open(os.devnull, os.O_RDONLY)
                screen.hang_up()
                end = time.monotonic() + pseudo.PATIENCE
                while not mark.exists() and time.monotonic() < end:
                    time.sleep(0.02)
                self.assertTrue(mark.exists(), "it runs on without a terminal")

    def test_no_output_is_lost_while_the_terminal_does_not_read(self):
        names = [f"layer{n:04d}.weight" for n in range(500)]
        with self.explore(names=names, columns=300, rows=100) as screen:
            screen.press("X")  # do not fold equal siblings into one row
            screen.wait("row 1/501")
            os.write(screen.master, b"j" * 100 + b"\x0c" * 20 + b"j" * 100)
            time.sleep(0.3)
            screen.wait("row 201/501")
            os.write(screen.master, b"\x0c" * 50)
            os.kill(screen.pid, signal.SIGTERM)
            self.assertEqual(screen.ended(), -signal.SIGTERM)
            self.assertTrue(screen.is_as_before())

    def test_names_from_right_to_left_are_isolated(self):
        with self.explore(names=["שכבה.weight", "latin.weight"]) as screen:
            screen.wait("row 1/3")
            since = len(screen.seen)
            screen.shown()
            drawn = screen.seen[since:].decode()
            self.assertRegex(drawn, "\u2067?\u2068?[\u2066-\u2068]שכבה[^\u05d0-\u05ea]*\u2069")
            # The text after it is placed by column, whatever width the terminal
            # assumes.
            self.assertRegex(drawn, "\u2069: \x1b\\[\\d+;12H")


if __name__ == "__main__":
    unittest.main()
