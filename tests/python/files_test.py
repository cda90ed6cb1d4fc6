"""The list of files of a folder: as text, in the terminal and by `check` it has the same
files, verdicts and counts, and damage is marked."""

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
            found = re.match(r"[ ▌](\S+\.\w+) .*?([✓!✗?] .*?)$", line.rstrip())
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

    def test_names_keep_their_room(self):
        with tempfile.TemporaryDirectory() as folder:
            name = "a-model-with-a-rather-long-name-step-000100.pth"
            torch.save({"weight": torch.zeros(2)}, Path(folder, name))
            torch.save({"weight": torch.zeros(2)}, Path(folder, "b.pth"))
            self.assertIn(name, scope.run(folder, "--print=80x10").stdout.decode())

    def test_a_folder_without_models(self):
        with tempfile.TemporaryDirectory() as folder:
            said = scope.run(folder)
            self.assertEqual(said.returncode, 2)
            self.assertIn(b"no model was found", said.stderr)


class Words(unittest.TestCase):
    def test_two_files_are_for_diff(self):
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
