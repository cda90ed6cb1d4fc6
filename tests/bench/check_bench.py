"""`check` compared with picklescan, fickling and modelscan on the same files: time per
file, hostile files caught, ordinary files flagged.

    BENCH_SCANNERS=FOLDER check_bench.py

The hostile files are those of tests/samples, for which torchoscope's verdict was made:
they show which techniques the others do not know, not how good they are. The scanners
are installed from PyPI into a venv (BENCH_SCANNERS, or build/scanners); the table names
missing ones. BENCH_FILES is the number of files of each kind to run (24). """

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bench  # noqa: E402

SAMPLES = bench.ROOT / "tests" / "samples"
sys.path.insert(0, str(SAMPLES))

import hostile  # noqa: E402

VENV = Path(os.environ.get("BENCH_SCANNERS", bench.ROOT / "build" / "scanners"))
FEW = int(os.environ.get("BENCH_FILES", "24"))
# What pip installs; fickling does not declare one of its dependencies.
SCANNERS = {
    "picklescan": ["picklescan"],
    "fickling": ["fickling", "typing_extensions"],
    "modelscan": ["modelscan"],
}
TARGET = 0.010  # seconds a file

# Runs in the scanners' venv: "NAME flagged seconds" for each file and scanner. A file
# that makes a scanner fail counts as flagged, because it was not called clean.
INSIDE = """
import contextlib, io, json, sys, time, warnings, zipfile
warnings.simplefilter("ignore")

def picklescan():
    from picklescan.scanner import scan_file_path
    def scan(path):
        found = scan_file_path(path)
        return found.issues_count > 0 or found.scan_err
    return scan

def fickling():
    from fickling.analysis import Severity, check_safety
    from fickling.fickle import StackedPickle
    def scan(path):
        data = open(path, "rb").read()
        if data[:2] == b"PK":  # it does not open the container by itself
            archive = zipfile.ZipFile(path)
            name = [n for n in archive.namelist() if n.endswith("data.pkl")][0]
            data = archive.read(name)
        worst = [check_safety(one).severity for one in StackedPickle.load(data)]
        return any(one > Severity.LIKELY_SAFE for one in worst)
    return scan

def modelscan():
    from modelscan.modelscan import ModelScan
    def scan(path):
        found = ModelScan().scan(path)
        return bool(found["issues"] or found["errors"])
    return scan

files, results = json.load(sys.stdin), {}
for make in (picklescan, fickling, modelscan):
    try:
        scan = make()
    except ImportError:
        continue
    results[make.__name__] = told = {}
    for path in files[:2] + files:
        begin = time.perf_counter()
        quiet = io.StringIO()
        try:
            with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
                flagged = bool(scan(path))
        except Exception:
            flagged = True
        told[path] = flagged, time.perf_counter() - begin
json.dump(results, sys.stdout)
"""

PROGRAMS = {
    "picklescan": ["picklescan", "--path"],
    "fickling": ["fickling", "--check-safety", "-p"],
    "modelscan": ["modelscan", "--path"],
}


def install():
    """The scanners that are installed or can be installed."""
    if not VENV.exists():
        print(f"installing the scanners into {VENV} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    have = []
    for name, packages in SCANNERS.items():
        if not runs(name):
            command = [VENV / "bin" / "pip", "install", "-q", *packages]
            subprocess.run(command, capture_output=True)
        if runs(name):
            have.append(name)
        else:
            print(f"  {name} is missing: it cannot be installed here")
    return have


def runs(name):
    """Is it installed, with its dependencies?"""
    script = f"import {name}" + (".fickle" if name == "fickling" else "")
    command = [VENV / "bin" / "python3", "-c", script]
    return subprocess.run(command, capture_output=True).returncode == 0


def make_files(folder):
    """(hostile paths, ordinary paths)."""
    bad = []
    for name, data, expect in hostile.all_files():
        if expect.get("verdict") == ["unsafe"] and len(data) < 100_000:
            bad.append(folder / name)
            bad[-1].write_bytes(data)
    python = bench.ROOT / "build" / "venv" / "bin" / "python3"
    python = python if python.exists() else Path("/usr/bin/python3")
    made = folder / "ordinary"
    command = [python, SAMPLES / "safety" / "ordinary.py", made]
    subprocess.run(command, check=True, capture_output=True)
    manifest = json.loads((made / "manifest.json").read_text())
    return bad, [made / name for name in manifest]


def ours(path):
    """(flagged, seconds, needs code) of one file, by running the program."""
    begin = time.perf_counter()
    done = subprocess.run([bench.PROGRAM, "check", "--json", path], capture_output=True)
    took = time.perf_counter() - begin
    text = subprocess.run([bench.PROGRAM, "info", "--json", path], capture_output=True)
    verdict = json.loads(text.stdout)["verdict"] if text.stdout else "refused"
    if done.returncode not in (0, 1, 2):
        raise RuntimeError(f"{path}: status {done.returncode}")
    return verdict not in ("safe", "needs code"), took, verdict == "needs code"


def words_of(name, path):
    return [VENV / "bin" / PROGRAMS[name][0], *PROGRAMS[name][1:], path]


def program(name, path):
    words = words_of(name, path)
    begin = time.perf_counter()
    # fickling writes a file into the working directory.
    done = subprocess.run(list(map(str, words)), cwd=path.parent, capture_output=True)
    return done.returncode != 0, time.perf_counter() - begin


def spread_out(paths, n):
    return paths[:: max(1, len(paths) // n)][:n]


def say(table, what, told, bad, good, target=None):
    """`told` is {path: (flagged, seconds, ...)}."""
    times = [one[1] for one in told.values()]
    table.line(what, times, bench.seconds_text, target)
    caught = sum(told[p][0] for p in bad if p in told)
    flagged = sum(told[p][0] for p in good if p in told)
    n_bad, n_good = sum(p in told for p in bad), sum(p in told for p in good)
    print(f"  {'':6} caught {caught} of {n_bad} hostile, flagged {flagged} of {n_good}")
    return caught == n_bad and flagged == 0


def main():
    have = install()
    with tempfile.TemporaryDirectory() as folder:
        bad, good = make_files(Path(folder))
        few = spread_out(bad, FEW) + spread_out(good, FEW)
        table = bench.Table(f"{len(bad)} hostile and {len(good)} ordinary files")
        told = {path: ours(path) for path in bad + good}
        right = say(table, "torchoscope check", told, bad, good, TARGET)
        unknown = sum(told[p][2] for p in good)
        print(f"  {'':6} says of {unknown} ordinary files that they need code")
        plain = Path(folder, "plain.pkl")
        plain.write_bytes(pickle.dumps({"a": 1}))
        for name in have:
            what = f"{name}, as a program ({len(few)} files)"
            try:  # one that fails would count as one that finds everything
                bench.prove(words_of(name, plain), "", folder)
            except bench.NotRun as why:
                table.line(what, why, None)
                continue
            say(table, what, {path: program(name, path) for path in few}, bad, good)
        done = subprocess.run(
            [VENV / "bin" / "python3", "-c", INSIDE],
            input=json.dumps([str(path) for path in bad + good]),
            capture_output=True,
            text=True,
        )
        results = json.loads(done.stdout) if done.returncode == 0 else {}
        for name in have:
            what = f"{name}, once it is imported"
            if name not in results:
                table.line(what, bench.NotRun(bench.last_line(done.stderr)), None)
                continue
            told = {Path(path): one for path, one in results[name].items()}
            say(table, what, told, bad, good)
    return table.short > 0 or not right


if __name__ == "__main__":
    sys.exit(main())
