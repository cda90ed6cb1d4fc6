# flavours: both
"""python -m torchoscope is the program: the same arguments, output, exit status and
signals. And what `import torchoscope` imports, and its error where it cannot work."""

import os
import signal
import subprocess
import sys
import unittest

import scope  # first: it knows where hostile is
import hostile
from folder import TemporaryFolder

PROGRAM = [scope.PROGRAM]
MODULE = [sys.executable, "-m", "torchoscope"]


def python(code):
    """Run code in a Python that has imported nothing yet."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


class Main(TemporaryFolder):
    def setUp(self):
        super().setUp()
        self.sample = self.folder / "sample.safetensors"
        names = {
            f"layer{i}.weight": hostile.entry(place=(8 * i, 8 * i + 8))
            for i in range(4000)
        }
        self.sample.write_bytes(hostile.safe(names, bytes(8 * 4000)))
        self.unsafe = self.folder / "unsafe.pkl"
        self.unsafe.write_bytes(b"cposix\nsystem\n(S'true'\ntR.")

    def same(self, *words, status):
        """Both print the same and exit with this status."""
        first, second = (
            subprocess.run([*which, *words], capture_output=True, timeout=scope.PATIENCE)
            for which in (PROGRAM, MODULE)
        )
        self.assertEqual(first.returncode, status, first.stderr)
        self.assertEqual(second.returncode, status, second.stderr)
        self.assertEqual(second.stdout, first.stdout)
        self.assertEqual(second.stderr, first.stderr)

    def test_it_takes_the_same_arguments(self):
        self.same(status=0)
        self.same("--version", status=0)
        self.same("tree", "--help", status=0)
        self.same(self.sample, "--depth", "1", status=0)
        self.same("tree", self.sample, "--json", status=0)
        self.same("stats", self.sample, "--csv", status=0)
        self.same("check", self.sample, status=0)

    def test_it_exits_with_the_same_status(self):
        self.same("check", self.unsafe, status=1)
        self.same("tree", self.folder / "not there", status=2)
        self.same("tree", "--no-such-option", status=2)

    def test_a_name_that_is_not_utf_8_is_found(self):
        odd = os.fsencode(self.folder) + b"/\xff\xfe.pkl"
        os.rename(self.unsafe, odd)
        self.same("check", odd, status=1)

    def blocked(self, which):
        """A process that blocks on writing its long output."""
        child = subprocess.Popen(
            [*which, "tree", self.sample, "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.stdout.close)
        self.assertEqual(child.stdout.read(1), b"{")
        return child

    def test_a_second_ctrl_c_ends_it(self):
        for which in (PROGRAM, MODULE):
            child = self.blocked(which)
            for _ in range(1000):
                child.send_signal(signal.SIGINT)
                try:
                    child.wait(timeout=0.02)
                    break
                except subprocess.TimeoutExpired:
                    pass
            self.assertEqual(child.wait(timeout=scope.PATIENCE), -signal.SIGINT, which)
            self.assertEqual(child.stderr.read(), b"")

    def test_it_ends_when_its_output_is_closed(self):
        for which in (PROGRAM, MODULE):
            child = self.blocked(which)
            child.stdout.close()
            self.assertEqual(child.wait(timeout=scope.PATIENCE), -signal.SIGPIPE, which)
            self.assertEqual(child.stderr.read(), b"")


class Import(unittest.TestCase):
    def test_importing_it_imports_nothing_else(self):
        code = (
            "import sys; before = set(sys.modules); import torchoscope\n"
            "new = {name.split('.')[0] for name in set(sys.modules) - before}\n"
            "print(*sorted(new), torchoscope.__version__)"
        )
        version = scope.run("--version").stdout.decode().split()[1]
        self.assertEqual(python(code).stdout, f"torchoscope {version}\n")

    def test_a_free_threaded_python_gets_a_clear_error(self):
        done = python("import sys; sys.abiflags = 't'; import torchoscope")
        last = done.stderr.splitlines()[-1]
        self.assertIn("ImportError: torchoscope needs a Python with", last)


if __name__ == "__main__":
    unittest.main()
