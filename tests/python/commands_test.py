#!/usr/bin/env python3
"""The explorer on a real terminal: commands after a colon, two models side by side, the
files of a folder, views that are passed on or remembered."""

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from urllib.request import Request, urlopen

import scope
import terminal


def demo(name):
    return scope.demo_folder() / name


def explore(*words, **how):
    return terminal.Terminal([scope.PROGRAM, *words], **how)


def escape(screen):
    """Esc alone: a key that follows at once would make it Alt and that key."""
    screen.keys("Escape")
    screen.settle()


def printed(*words):
    """The screen that --print writes."""
    done = subprocess.run([scope.PROGRAM, *map(str, words)], capture_output=True, text=True,
                          check=True)
    return done.stdout


class Command(unittest.TestCase):
    def command(self, screen, line):
        screen.type(":" + line)
        screen.keys("Enter")

    def test_tab_completes_commands_names_and_files(self):
        with explore(demo("resnet18.pth")) as screen:
            screen.wait("row 1/11")
            screen.type(":so")
            screen.wait("sort", "sort siblings")
            screen.keys("Tab")
            screen.wait("sort params", "most parameters first")
            screen.type("par")
            screen.keys("Tab", "Enter")
            screen.wait("params▾")
            screen.type(":layer1.0.c")
            screen.wait("layer1.0.conv1", "layer1.0.conv2")
            screen.keys("Tab", "Tab", "Enter")
            screen.wait("layer1.0.conv2 ~conv", gone=[": Command"])
            screen.keys(":", "Up")
            screen.wait(":layer1.0.conv2")
            escape(screen)
            screen.type(f":diff {scope.demo_folder()}/fine")
            screen.wait("finetuned.pth")
            screen.keys("Tab", "Enter")
            screen.wait("DIFFERENT")

    def test_enter_takes_the_highlighted_completion(self):
        with explore(demo("resnet18.pth"), folder=scope.demo_folder()) as screen:
            screen.wait("row 1/11")
            screen.type("Dfine")
            screen.wait("finetuned.pth")
            screen.keys("Enter")
            screen.wait("DIFFERENT", gone=["No such file"])

    def test_searches_match_types_and_alternatives(self):
        with explore(demo("resnet18.pth")) as screen:
            screen.wait("row 1/11")
            screen.type("/conv1|fc")
            screen.wait("a|b either", "1 of 10 matches")
            screen.keys("Enter", "BSpace")
            screen.wait("row 1/11", gone=["matches"])

    def test_export_asks_before_it_overwrites(self):
        with tempfile.TemporaryDirectory() as folder:
            to = Path(folder) / "x.csv"
            with explore(demo("resnet18.pth")) as screen:
                screen.wait("row 1/11")
                self.command(screen, f"export {to}")
                screen.wait("written to")
                whole = to.read_bytes()
                to.write_text("mine")
                self.command(screen, f"export {to}")
                screen.wait("is there already")
                escape(screen)
                self.assertEqual(to.read_text(), "mine")
                self.command(screen, f"export {to}")
                screen.wait("is there already")
                screen.keys("Enter")
                screen.wait("written to")
                self.assertEqual(to.read_bytes(), whole)
                self.command(screen, f"export {folder}/y.safetensors")
                screen.wait("y.safetensors")
                self.command(screen, f"open {folder}/y.safetensors")
                screen.wait("safetensors 122 tensors", "✓ SAFE")


class Serve(unittest.TestCase):
    def address(self, screen):
        screen.wait("http://localhost:", ":serve stop ends it")
        found = re.search(r"http://localhost:(\d+)/\?token=(\w+)", screen.squeezed())
        return found[1], found[2]

    def ask(self, port, token):
        ask = Request(f"http://localhost:{port}/api/shelf")
        ask.add_header("X-Torchoscope-Token", token)
        with urlopen(ask) as answer:
            return [file["file"] for file in json.load(answer)["files"]]

    def test_a_page_of_the_file_until_it_is_stopped(self):
        with explore(demo("resnet18.pth"), columns=120) as screen:
            screen.wait("row 1/11")
            screen.type(":serve x")
            screen.keys("Enter")
            screen.wait(":serve takes a port, or stop")
            screen.type(":serve stop")
            screen.keys("Enter")
            screen.wait("nothing is served")
            screen.type(":serve 0")
            screen.keys("Enter")
            port, token = self.address(screen)
            self.assertEqual(self.ask(port, token), ["resnet18.pth"])
            screen.type(":serve stop")
            screen.keys("Enter")
            screen.wait("the page has ended")
            with self.assertRaises(OSError):
                self.ask(port, token)


class Manual(unittest.TestCase):
    def test_the_manual_page_has_all_commands(self):
        table = (scope.ROOT / "src" / "tui" / "commands.c").read_text()
        page = (scope.ROOT / "docs" / "torchoscope.1").read_text()
        names = re.findall(r'^    \{"(\w+)", (?:NULL|")', table, re.M)
        self.assertGreater(len(names), 15)
        for name in names:
            self.assertRegex(page, rf"(?m)^\.It Ic \\&:{name}\b", name)


class TwoModels(unittest.TestCase):
    def test_a_diff_opens_over_a_file_and_q_returns(self):
        with explore(demo("resnet18.pth")) as screen:
            screen.wait("row 1/11")
            screen.type(":layer3")
            screen.keys("Enter", "D")
            screen.type(str(demo("finetuned.pth")))
            screen.keys("Enter")
            screen.wait("45 same", "75 changed", "2 reshaped", "DIFFERENT", "in short",
                        "layer4 was trained, fc replaced")
            self.assertIn("├ conv1", screen.squeezed())
            screen.keys("=")
            screen.wait("row 1/7", gone=["├ conv1 "])
            screen.keys("n")
            screen.wait("3 of 5 tensors differ")
            self.assertIn("bn1", screen.cursor())
            screen.keys("i", "d")
            screen.wait("rel Δ▾")
            screen.keys("q")
            screen.wait("✓ SAFE", "layer3", gone=["DIFFERENT"])
            self.assertIn("layer3", screen.cursor())
            screen.keys("q")
            self.assertEqual(screen.ended(), 0)

    def test_the_first_screen_of_two_models(self):
        text = printed(demo("resnet18.pth"), "--diff", demo("finetuned.pth"), "--print=120x24")
        self.assertIn("resnet18.pth ⇄ finetuned.pth   122 tensors   = 45 same", text)
        row = next(line for line in text.split("\n") if "layer4 " in line)
        self.assertRegex(row, r"▸ layer4 +~  30 of 30 +4\.\d% +0\.00\d+")
        self.assertRegex(text, r"\(both\) +~  77 of 122 +11\.7M +11\.2M")
        alike = printed(demo("resnet18.pth"), "--diff", demo("finetuned.pth"), "--structure",
                        "--print=120x24")
        self.assertIn("values not compared", alike)
        self.assertIn("2 reshaped", alike)


class Taken(unittest.TestCase):
    """A view is a command."""

    def copied(self, screen):
        screen.keys("y")
        screen.wait("y Copy")
        # a long command spans several lines
        text = re.sub(r" \\\n +", " ", screen.text())
        escape(screen)
        return re.search(r" command +(torchoscope .*)", text)[1].strip()

    def test_the_command_prints_the_same_screen(self):
        with explore(demo("resnet18.pth"), columns=120, settings={"NO_COLOR": "1"}) as screen:
            screen.wait("row 1/11")
            screen.type(":layer1.0.conv2")
            screen.keys("Enter", "l", "p", "i", "m")
            screen.wait("memory▾")
            command = self.copied(screen)
            before = screen.settle()
        words = shlex.split(command)
        self.assertEqual(words[0], "torchoscope")
        self.assertIn("--sort", words)
        now = printed(*words[1:], "--print=120x36")
        self.assertEqual(now.split("\n")[:34],
                         [line.rstrip() for line in before.split("\n")][:34])

    def test_views_are_remembered_once_enabled(self):
        with tempfile.TemporaryDirectory() as state:
            how = {"settings": {"XDG_STATE_HOME": state}}
            with explore(demo("resnet18.pth"), **how) as screen:
                screen.wait("row 1/11")
                screen.type(":layer2.1")
                screen.keys("Enter", "q")
                screen.ended()
            self.assertEqual(os.listdir(state), [])
            with explore(demo("resnet18.pth"), **how) as screen:
                screen.wait("row 1/11")
                screen.type(":set remember yes")
                screen.keys("Enter")
                screen.wait("views will be kept")
                screen.type(":layer2.1")
                screen.keys("Enter", "i", "p")
                screen.wait("params▾")
                screen.keys("q")
                screen.ended()
            with explore(demo("resnet18.pth"), **how) as screen:
                screen.wait("params▾", "layer2.1")
                screen.type(":set remember no")
                screen.keys("Enter", "q")
                screen.ended()
            with explore(demo("resnet18.pth"), **how) as screen:
                screen.wait("row 1/11", gone=["params▾"])


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        here = Path(self.folder.name)
        (here / "below" / "deep").mkdir(parents=True)
        (here / "below" / "loop").symlink_to(here)
        shutil.copy(demo("resnet18.pth"), here / "below" / "deep" / "net.pth")
        shutil.copy(scope.samples()[0] / "net.safetensors", here / "small.safetensors")
        shutil.copytree(scope.samples()[0] / "sharded", here / "sharded")
        (here / "notes.txt").write_text("nothing\n")
        os.utime(here / "small.safetensors", (1e9, 1e9))

    def test_a_folder_is_a_list_to_choose_from(self):
        with explore(self.folder.name) as screen:
            screen.wait("3 files in", "below/deep/net.pth", "sharded/", "3 shards",
                        "✓ SAFE", gone=["notes", "…", "loop"])
            self.assertIn("small.safetensors", screen.lines()[4])
            screen.type("/deep")
            screen.wait("row 1/1", gone=["small"])
            screen.keys("Enter", "Enter")
            screen.wait("net.pth torch zip 122 tensors")
            screen.keys("q")
            screen.wait("3 files in", "row 1/1")
            escape(screen)
            screen.wait("small.safetensors")
            screen.keys("G", "Enter")
            screen.wait("small.safetensors safetensors")
            screen.keys("q", "q")
            self.assertEqual(screen.ended(), 0)

    def test_a_printed_list_is_whole(self):
        for _ in range(5):
            text = printed(self.folder.name, "--print=100x12")
            self.assertIn("below/deep/net.pth", text)
            self.assertNotIn("no name matches", text)

    def test_without_arguments_the_current_folder_is_listed(self):
        words = ["sh", "-c", f"cd {self.folder.name} && exec {scope.PROGRAM}"]
        with terminal.Terminal(words) as screen:
            screen.wait("3 files in", "below/deep/net.pth")
            screen.keys("q")
            self.assertEqual(screen.ended(), 0)

    def test_a_folder_that_is_one_model_is_opened(self):
        with explore(Path(self.folder.name) / "sharded") as screen:
            screen.wait("sharded", "tensors", "row 1/", gone=["files in"])


if __name__ == "__main__":
    unittest.main()
