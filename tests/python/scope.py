"""For the tests: runs the program, and makes the sample files."""

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests" / "samples"
PROGRAM = os.environ.get("TORCHOSCOPE", str(ROOT / "build/torchoscope"))
MODELS = ROOT.parent / "shared" / "models"
VENV = ROOT / "build" / "venv" / "bin" / "python3"
DEBIAN = Path("/usr/bin/python3")
# Seconds until a process counts as hung. No test depends on the machine's speed.
PATIENCE = 300
# ASan does not give memory back at once: it grows, and no address is used again.
UNDER_ASAN = "libasan" in os.environ.get("LD_PRELOAD", "")

sys.path.insert(0, str(SAMPLES))


def built(name, program=PROGRAM):
    """The path of another program of the same build."""
    build = Path(program).resolve().parent
    return (build.parent if build.name == "src" else build) / name


def run(*arguments, seconds=PATIENCE, **options):
    """The finished program: returncode, stdout and stderr as bytes."""
    command = [PROGRAM, *map(str, arguments)]
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(command, capture_output=True, timeout=seconds, **options)


def document(*arguments, seconds=PATIENCE, **options):
    """The program's document with --json. Its exit status may be 0 or 1, never 2."""
    done = run(*arguments, "--json", seconds=seconds, **options)
    if done.returncode not in (0, 1):
        said = done.stderr.decode(errors="replace")
        raise AssertionError(f"{arguments}: status {done.returncode}: {said}")
    return json.loads(done.stdout)


def interrupt(child, worked=0.0):
    """Send SIGINT once the program has a handler for it (before that it would be
    killed) and has used some seconds of processor time. Its stdout and stderr."""
    ticks = worked * os.sysconf("SC_CLK_TCK")
    while child.poll() is None:
        status = Path(f"/proc/{child.pid}/status").read_text()
        caught = int(status.partition("SigCgt:")[2].split()[0], 16)
        used = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
        if caught >> (signal.SIGINT - 1) & 1 and int(used[11]) + int(used[12]) >= ticks:
            break
        time.sleep(0.001)
    child.send_signal(signal.SIGINT)
    return child.communicate(timeout=PATIENCE)


@functools.lru_cache
def has_torch(python, version=""):
    """Whether a Python has a torch whose version starts with this."""
    find = "import importlib.util as u, sys; sys.exit(not u.find_spec('torch'))"
    if version:
        find = f"import sys, torch as t; sys.exit(not t.__version__.startswith('{version}'))"
    return subprocess.run([python, "-c", find], capture_output=True).returncode == 0


# A child inherits the peak of its parent: start it from a small process.
PEAK = """
import os, sys
quiet = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_WRONLY, 0) for fd in (1, 2)]
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""


def peak(*words):
    """(exit status, most bytes of memory) of a command."""
    command = [sys.executable, "-ISc", PEAK, PROGRAM, *map(str, words)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    status, kilobytes = map(int, done.stdout.split())
    return status, kilobytes * 1024


def demo_folder():
    """The folder of the demo models: resnet18.pth, finetuned.pth."""
    folder = ROOT / "build" / "demo"
    script = ROOT / "tools" / "demo_model.py"
    for name, words in (("resnet18.pth", []), ("finetuned.pth", ["--finetuned"])):
        if not (folder / name).exists():
            command = [sys.executable, script, *words, folder / name]
            subprocess.run(command, check=True)
    return folder


@functools.lru_cache
def runs_folder():
    """Recordings with fixed figures, made by a program of the same build."""
    maker = built("tests/screens/make_runs")
    folder = maker.parent / "runs"
    if maker.exists():
        folder.mkdir(exist_ok=True)
        subprocess.run([maker, folder], check=True)
    return folder


@functools.lru_cache
def formats_folder():
    """Small files of many formats, made with the packages of build/venv."""
    folder, script = ROOT / "build" / "formats", SAMPLES / "format_files.py"
    old = folder.exists() and folder.stat().st_mtime < script.stat().st_mtime
    if VENV.exists() and (old or not folder.exists()):
        new = Path(tempfile.mkdtemp(dir=ROOT / "build"))
        subprocess.run([VENV, script, new], check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
        os.utime(folder)
    return folder


@functools.lru_cache
def samples():
    """(folder, manifest) of the samples, made again if they are out of date, with the
    torch of this Python or of any other."""
    pythons = [Path(sys.executable)] if find_spec("torch") else []
    pythons += [one for one in (VENV, DEBIAN) if one.exists()]
    python = next(one for one in pythons if one == pythons[0] or has_torch(one))
    done = subprocess.run(
        [python, SAMPLES / "make.py"], stdout=subprocess.PIPE, text=True, check=True
    )
    folder = Path(done.stdout.strip())
    return folder, json.loads((folder / "manifest.json").read_text())
