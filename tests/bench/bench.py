"""For the benches: running programs in turn, and a table that says what was wanted."""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAM = os.environ.get("TORCHOSCOPE", str(ROOT / "build/torchoscope"))


class Run:
    """What one run of a program took."""

    def __init__(self, line):
        wall, cpu, peak, status = map(int, line.split())
        self.seconds, self.cpu = wall / 1e9, cpu / 1e6
        self.megabytes, self.status = peak / 1024, status


class Peak:
    """The small program that measures others; compiled when it is first needed."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name, "peak")
        subprocess.run(["cc", "-O1", HERE / "peak.c", "-o", self.path], check=True)

    def run(self, *command):
        words = [str(word) for word in (self.path, *command)]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
        run = Run(done.stdout)
        if run.status not in (0, 1):
            raise RuntimeError(f"{command}: status {run.status}")
        return run


def in_turn(variants, rounds):
    """Run each of {name: function} in every round, so that a busy moment meets all of
    them; {name: [result of each round]}. The first round only warms up."""
    results = {name: [] for name in variants}
    for turn in range(rounds + 1):
        for name, call in variants.items():
            result = call()
            if turn > 0:
                results[name].append(result)
        print(f"  round {turn} of {rounds}", file=sys.stderr, end="\r")
    return results


def spread(values):
    return statistics.median(values), min(values), max(values)


def seconds_text(value):
    if value < 1e-3:
        return f"{value * 1e6:.0f} us"
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"


class Table:
    """Lines of figures; those with a target say whether they met it."""

    def __init__(self, title):
        self.short = 0
        print(f"\n{title}")
        print(f"  {'':44} {'median':>10}   {'least - greatest':22} target")

    def line(self, what, values, text, target=None, least=False, note=""):
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
        self.line(what, [run.seconds for run in runs], seconds_text, target)

    def memory(self, what, runs, target=None):
        peaks = [run.megabytes for run in runs]
        self.line(what, peaks, lambda value: f"{value:.1f} MB", target)

    def ratio(self, what, over, under, target=None, least=False):
        """Of two variants that ran in turn, round by round."""
        ratios = [a / b for a, b in zip(over, under)]
        self.line(what, ratios, lambda value: f"{value:.2f} x", target, least)
