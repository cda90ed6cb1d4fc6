"""Shared by the benches: run programs in turn, and print a table with targets."""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAM = os.environ.get("TORCHOSCOPE", str(ROOT / "build/torchoscope"))


class NotRun(Exception):
    """A failed peer, with the reason; its time is meaningless."""


def last_line(text):
    return (text.strip().splitlines() or ["it says nothing"])[-1].strip()[:200]


def prove(command, says, folder=None):
    """Run a peer once; it must succeed and its output must contain this text."""
    words = list(map(str, command))
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    except OSError as problem:
        raise NotRun(str(problem)) from None
    if done.returncode != 0:
        raise NotRun(f"status {done.returncode}: {last_line(done.stderr)}")
    if says not in done.stdout:
        raise NotRun(f"its output lacks {says!r}")


class Run:
    """The cost of one run of a program."""

    def __init__(self, line):
        wall, cpu, peak, status = map(int, line.split())
        self.seconds, self.cpu = wall / 1e9, cpu / 1e6
        self.megabytes, self.status = peak / 1024, status


class Peak:
    """The small program that measures others; compiled on first use."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name, "peak")
        subprocess.run(["cc", "-O1", HERE / "peak.c", "-o", self.path], check=True)

    def run(self, *command, status=0):
        """A run that ends with this status. Any other status is our error, or a peer
        that cannot be measured."""
        words = [str(word) for word in (self.path, *command)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        run = Run(done.stdout)
        if run.status != status:
            why = f"status {run.status}: {last_line(done.stderr)}"
            if words[1] == PROGRAM:
                raise RuntimeError(f"{command}: {why}")
            raise NotRun(why)
        return run

    def peer(self, command, says):
        """A function that measures a peer. Its first call, which in_turn() leaves out,
        looks at what it prints instead."""
        calls = []

        def measure():
            calls.append(None)
            return prove(command, says) if len(calls) == 1 else self.run(*command)

        return measure


def in_turn(variants, rounds):
    """Run each of {name: function} in every round, so that load on the machine affects
    all of them. Returns {name: [result of each round]}, or NotRun for a peer that failed.
    The first round only warms up."""
    results = {name: [] for name in variants}
    for turn in range(rounds + 1):
        for name, call in variants.items():
            if isinstance(results[name], NotRun):
                continue
            try:
                result = call()
            except NotRun as why:
                results[name] = why
                continue
            if turn > 0:
                results[name].append(result)
        print(f"  round {turn} of {rounds}", file=sys.stderr, end="\r")
    return results


def seconds(runs):
    return runs if isinstance(runs, NotRun) else [run.seconds for run in runs]


def spread(values):
    return statistics.median(values), min(values), max(values)


def seconds_text(value):
    if value < 1e-3:
        return f"{value * 1e6:.0f} us"
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"


class Table:
    """Lines of figures; those with a target show whether it was met."""

    def __init__(self, title):
        self.short = 0
        print(f"\n{title}")
        print(f"  {'':44} {'median':>10}   {'least - greatest':22} target")

    def line(self, what, values, text, target=None, least=False, note=""):
        """`values` may be NotRun."""
        if isinstance(values, NotRun):
            print(f"  {what:44} {'not run':>10}   ({values})", flush=True)
            return
        middle, low, high = spread(values)
        between = f"{text(low)} - {text(high)}"
        verdict = ""
        if target is not None:
            good = middle >= target if least else middle <= target
            self.short += not good
            sign = ">=" if least else "<="
            verdict = f"{sign} {text(target)}  {'PASS' if good else 'SHORT OF TARGET'}"
        line = f"  {what:44} {text(middle):>10}   {between:22} {verdict:24} {note}"
        print(line.rstrip(), flush=True)

    def time(self, what, runs, target=None):
        self.line(what, seconds(runs), seconds_text, target)

    def memory(self, what, runs, target=None):
        failed = isinstance(runs, NotRun)
        peaks = runs if failed else [run.megabytes for run in runs]
        self.line(what, peaks, lambda value: f"{value:.1f} MB", target)

    def ratio(self, what, over, under, target=None, least=False):
        """The ratio of two variants that ran in turn, for each round."""
        failed = [one for one in (over, under) if isinstance(one, NotRun)]
        ratios = failed[0] if failed else [a / b for a, b in zip(over, under)]
        self.line(what, ratios, lambda value: f"{value:.2f} x", target, least)
