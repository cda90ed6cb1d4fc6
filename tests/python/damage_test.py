"""Files cut at every byte (large ones at every few bytes) and with bytes changed: no
crash, no leak, at most 10 s of processor time and 64 MB + 8 times the file. The C
program tests/damage, built with ASan and UBSan, does the work; this file chooses its
input."""

import concurrent.futures
import os
import resource
import subprocess
import tempfile
import unittest
from pathlib import Path

import scope  # first: it knows where hostile is
import hostile


def program(variable, default):
    """The damage program from the build of the program in this variable."""
    return scope.built("tests/damage/damage", os.environ.get(variable, default))


PLAIN = program("TORCHOSCOPE", scope.ROOT / "build/torchoscope")
SANITIZED = program("TORCHOSCOPE_ASAN", scope.ROOT / "build/asan/torchoscope")
SMALL = 1024  # cut at every byte up to here; above, at least this far apart:
APART = 7

# A file under one build: (the build's program, bytes between two cuts, damaged copies).


def plain_plan(size):
    return PLAIN, 1 if size <= SMALL else max(APART, size // 100), 20


def sanitized_plan(size):
    return SANITIZED, 61 if size <= SMALL else max(89, size // 12), 4


def damage(plan, path):
    """Run one file; returns (the failure or "", number of cases)."""
    build, stride, flips = plan
    with tempfile.NamedTemporaryFile() as case:
        command = [
            build,
            "--stride",
            stride,
            "--flips",
            flips,
            "--case",
            case.name,
            path,
        ]
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            errors="replace",
            # the program counts leaks itself
            env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
        )
        if done.returncode == 0:
            return "", int(done.stdout.split()[1])
        under_way = Path(case.name).read_bytes().split(b"\0")[0].decode()
        why = [line for line in done.stderr.splitlines() if line.strip()]
        return "\n".join([f"{under_way}: status {done.returncode}", *why[:25]]), 0


@unittest.skipUnless(PLAIN.exists() and SANITIZED.exists(), "make test builds these")
class Damaged(unittest.TestCase):
    def run_all(self, jobs):
        bad, cases = [], 0
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            for why, ran in pool.map(lambda job: damage(*job), jobs):
                cases += ran
                if why:
                    bad.append(why)
        self.assertEqual(bad, [], "\n\n".join(bad))
        return cases

    def test_cut_and_changed_samples_never_crash_it(self):
        folder, manifest = scope.samples()
        jobs = []
        for name in sorted(manifest["files"]):
            path = folder / name
            if path.is_file() and path.suffix != ".json":
                size = path.stat().st_size
                jobs.append((plain_plan(size), path))
                jobs.append((sanitized_plan(size), path))
        self.assertGreater(self.run_all(jobs), 30_000)

    def test_hostile_files_never_crash_it_intact_or_changed(self):
        with tempfile.TemporaryDirectory() as folder:
            jobs = []
            for name, data, _ in hostile.all_files():
                path = Path(folder, name)
                path.write_bytes(data)
                if "bomb" in name:  # their output is several megabytes
                    jobs.append(((PLAIN, len(data) // 30, 10), path))
                    jobs.append(((SANITIZED, 0, 1), path))
                elif len(data) > 20_000:
                    jobs.append(((PLAIN, 0, 0), path))
                    jobs.append(((SANITIZED, 0, 0), path))
                elif "pickle_" in name and name.endswith(".pt"):
                    jobs.append(((SANITIZED, 61, 3), path))
                else:
                    stride = 1 if len(data) <= SMALL else APART
                    jobs.append(((PLAIN, stride, 50), path))
                    jobs.append(((SANITIZED, 61, 3), path))
            self.assertGreater(self.run_all(jobs), 5_000)


class Limits(unittest.TestCase):
    """The program itself, with the limits set by the system."""

    def run_limited(self, *arguments, size):
        def limit():
            room = (64 << 20) + 8 * size + (64 << 20)  # plus the program itself
            resource.setrlimit(resource.RLIMIT_AS, (room, room))
            resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
            resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))

        return scope.run(*arguments, preexec_fn=limit)

    def test_hostile_files_stay_within_time_and_memory(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, data, _ in hostile.all_files():
                path = Path(folder, name)
                path.write_bytes(data)
                for command in ("tree", "stats"):
                    done = self.run_limited(command, path, "--json", size=len(data))
                    where = f"{command} {name}: {done.stderr[-300:]!r}"
                    self.assertIn(done.returncode, (0, 1, 2), where)


if __name__ == "__main__":
    unittest.main()
