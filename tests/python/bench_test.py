"""The benches: a failed peer has a reason instead of a figure."""

import contextlib
import io
import os
import shutil
import subprocess
import sys
import unittest

import scope
from folder import TemporaryFolder

BENCH = scope.ROOT / "tests" / "bench"
sys.path.insert(0, str(BENCH))

import bench  # noqa: E402

TORCH = scope.VENV if scope.VENV.exists() and scope.has_torch(scope.VENV, "2") else None


@unittest.skipUnless(shutil.which("cc"), "needs a C compiler")
class Peers(TemporaryFolder):
    def python(self, code):
        return [sys.executable, "-c", code]

    def measured(self, code, says="fine"):
        """The line of the table of a peer that runs this code."""
        peak = bench.Peak()
        self.addCleanup(peak.folder.cleanup)
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
            runs = bench.in_turn({"peer": peak.peer(self.python(code), says)}, 2)
            table = bench.Table("A table")
            table.time("the peer", runs["peer"], 1e-9)
            table.memory("its memory", runs["peer"])
            table.ratio("its ratio", bench.seconds(runs["peer"]), [1, 1])
        return shown.getvalue().splitlines()[-3:]

    def test_a_working_peer_has_figures(self):
        for line in self.measured("print('fine')"):
            self.assertRegex(line, r" \d+\.\d+ (ms|s|MB|x) ")

    def test_a_failing_peer_has_no_figures(self):
        for code, why in (
            ("import nowhere", "status 1: ModuleNotFoundError: No module named 'nowhere'"),
            ("raise SystemExit(3)", "status 3: it says nothing"),
            ("print('nothing')", "its output lacks 'fine'"),
        ):
            with self.subTest(code):
                for line in self.measured(code):
                    self.assertRegex(line, r"not run   \(")
                    self.assertIn(why, line)

    def test_a_peer_that_fails_later_has_no_figures(self):
        mark = self.folder / "mark"
        code = (
            f"import os; print('fine'); old = os.path.exists({str(mark)!r})\n"
            f"open({str(mark)!r}, 'w').close(); assert not old"
        )
        for line in self.measured(code):
            self.assertIn("not run   (status 1: AssertionError", line)

    def test_a_failure_of_torchoscope_ends_the_bench(self):
        peak = bench.Peak()
        self.addCleanup(peak.folder.cleanup)
        with self.assertRaisesRegex(RuntimeError, "status 2: .*nowhere.pth"):
            peak.run(bench.PROGRAM, "tree", "/nowhere.pth")

    @unittest.skipUnless(TORCH, "needs a torch 2 to make the files with")
    def test_files_without_safetensors(self):
        self.write("safetensors/__init__.py", "raise ImportError('not today')")
        small = {"BENCH_GB": "0.05", "BENCH_MANY": "50", "BENCH_ROUNDS": "1"}
        done = subprocess.run(
            [TORCH, BENCH / "files_bench.py"],
            env={**os.environ, **small, "PYTHONPATH": str(self.folder)},
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        safe, torch, ours = (
            [line for line in done.stdout.splitlines() if what in line]
            for what in ("safe_open(np)", "torch.load(mmap=True)", "torchoscope")
        )
        self.assertEqual(len(safe), 2)
        for line in safe:
            self.assertIn("not run   (status 1: ImportError: not today)", line)
        self.assertEqual(len(torch), 2)
        for line in torch + ours:
            self.assertNotIn("not run", line)


if __name__ == "__main__":
    unittest.main()
