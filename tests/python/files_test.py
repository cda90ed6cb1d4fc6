"""The list of files of a folder: text, terminal and `check` show the same files,
verdicts and counts, and damage is marked."""

import re
import tempfile
import unittest
from pathlib import Path

import scope
import torch

LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 12345\n" % ("4d" * 32)


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.holder.name)
        torch.save({"weight": torch.zeros(40, 40)}, cls.folder / "whole.pth")
        data = (cls.folder / "whole.pth").read_bytes()
        (cls.folder / "cut.pth").write_bytes(data[:3000])
        (cls.folder / "empty.pth").write_bytes(b"")
        (cls.folder / "page.safetensors").write_text("<!DOCTYPE html><html></html>")
        (cls.folder / "pointer.bin").write_text(LFS)
        (cls.folder / "notes.txt").write_text("plain text\n")

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def rows(self, text):
        """{name: verdict} of the lines of a list."""
        rows = {}
        for line in text.splitlines():
            found = re.match(r"[ ▌] (\S+\.\w+) .*?([✓!✗?] .*?)$", line.rstrip())
            if found:
                rows[found[1]] = found[2]
        return rows

    def test_text_terminal_and_check_agree(self):
        said = scope.run(self.folder)
        self.assertEqual(said.returncode, 0, said.stderr)
        text = said.stdout.decode()
        expected = {
            "whole.pth": "✓ SAFE",
            "cut.pth": "✓ SAFE damaged",
            "empty.pth": "? INCONCLUSIVE",
            "page.safetensors": "? INCONCLUSIVE",
            "pointer.bin": "? INCONCLUSIVE",
        }
        self.assertEqual(self.rows(text), expected)
        screen = scope.run(self.folder, "--print=100x20").stdout.decode()
        self.assertEqual(self.rows(screen), expected)
        self.assertIn("5 files in 1 folder   1 other file skipped", screen)
        checked = scope.run("check", self.folder).stdout.decode().splitlines()[-1]
        self.assertEqual(text.splitlines()[-1], checked.split(" (1 text")[0])
        self.assertIn("2 safe (1 with findings)", checked)

    def test_names_keep_their_width(self):
        with tempfile.TemporaryDirectory() as folder:
            names = ["a" * n + "-long-name.pth" for n in (30, 60, 90, 130)]
            for name in [*names, "b.pth"]:
                torch.save({"weight": torch.zeros(2)}, Path(folder, name))
            for columns, whole in ((80, 1), (120, 2), (140, 3), (200, 4)):
                screen = scope.run(folder, f"--print={columns}x10").stdout.decode()
                shown = [name in screen for name in names]
                self.assertEqual(shown, [i < whole for i in range(4)], screen)

    def test_text_and_terminal_sort_and_filter_alike(self):
        """--sort, --reverse and --filter mean the same on both, and leave the same rows."""
        asked = {
            ("--sort", "name"): "cut empty page pointer whole",
            ("--sort", "name", "--reverse"): "whole pointer page empty cut",
            ("--sort", "size"): "whole cut pointer page empty",
            ("--sort", "bytes", "-r"): "empty page pointer cut whole",
            ("--sort", "verdict"): "empty page pointer cut whole",
            ("--filter", "damaged"): "cut",
            ("--filter", "safe", "-s", "name"): "cut whole",
            ("--filter", "not a model", "-s", "name"): "empty page pointer",
            ("--filter", "!safe|page", "-s", "name"): "empty pointer",
            ("--filter", "*.pth", "-s", "name"): "cut empty whole",
            ("--filter", "unsafe"): "",
        }
        for words, expected in asked.items():
            for more in (), ("--print=100x20",):
                with self.subTest([*words, *more]):
                    said = scope.run(self.folder, *words, *more)
                    self.assertEqual(said.returncode, 0, said.stderr)
                    rows = self.rows(said.stdout.decode())
                    self.assertEqual(" ".join(Path(r).stem for r in rows), expected)

    def test_the_shown_and_total_counts_are_given(self):
        said = scope.run(self.folder, "--filter", "safe", "--print=100x20")
        screen = said.stdout.decode()
        self.assertIn("2 of 5 files in 1 folder", screen)
        self.assertIn("/safe · row 1/2", screen)
        text = scope.run(self.folder, "--filter", "safe").stdout.decode()
        self.assertIn("; 2 of 5 shown", text)
        text = scope.run(self.folder, "--top", "1").stdout.decode()
        self.assertIn("; 1 of 5 shown", text)
        top = scope.run(self.folder, "--sort", "name", "--top", "2").stdout.decode()
        self.assertEqual(list(self.rows(top)), ["cut.pth", "empty.pth"])

    def test_an_invalid_order_or_pattern_is_reported(self):
        for words in (("--sort", "verdit"), ("--filter", "/[/")):
            for more in (), ("--print=80x20",):
                said = scope.run(self.folder, *words, *more)
                self.assertEqual(said.returncode, 2)
                self.assertRegex(said.stderr, b"did you mean verdict|not a regular expression")

    def test_a_file_with_only_the_start_of_a_model_is_damaged(self):
        with tempfile.TemporaryDirectory() as folder:
            whole = (self.folder / "whole.pth").read_bytes()
            Path(folder, "part.pth").write_bytes(whole[:200])
            header = b"\x40\0\0\0\0\0\0\0" + b'{"weight"'
            Path(folder, "part.safetensors").write_bytes(header)
            rows = self.rows(scope.run(folder, "--filter", "damaged").stdout.decode())
            self.assertEqual(set(rows), {"part.pth", "part.safetensors"})
            self.assertEqual(set(rows.values()), {"? damaged"})

    def test_a_folder_without_models(self):
        with tempfile.TemporaryDirectory() as folder:
            said = scope.run(folder)
            self.assertEqual(said.returncode, 2)
            self.assertIn(b"no model file in this folder", said.stderr)


class Words(unittest.TestCase):
    def test_two_files_suggest_diff(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(Path(folder, name)) for name in ("a.pth", "b.pth")]
            for path in paths:
                torch.save({"weight": torch.zeros(2)}, path)
            for words in (paths, ["tree", *paths], ["explore", *paths]):
                said = scope.run(*words)
                self.assertEqual(said.returncode, 2)
                self.assertIn(f"torchoscope diff {' '.join(paths)}", said.stderr.decode())


if __name__ == "__main__":
    unittest.main()
