"""The cost of the Python package: importing it compared with torch, and a summary
compared with the pass that it runs.

    BENCH_ROUNDS=7 python_bench.py
"""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bench  # noqa: E402

try:
    import torch
    import torchoscope

    import record_models
    from record_bench import as_ratio, beside
except ImportError as problem:
    print(f"python_bench: not run ({problem})")
    sys.exit(0)

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7"))
# In a new process each time, with torch already imported.
IMPORT = """
import resource, time, torch

def pages():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])

start, before = time.process_time(), pages()
import torchoscope
print(time.process_time() - start, (pages() - before) * resource.getpagesize() / 1e6)
"""


def importing():
    package = str(Path(torchoscope.__file__).parents[1])
    paths = [package, os.environ.get("PYTHONPATH", "")]
    place = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    found = []
    for _ in range(ROUNDS + 1):  # the first warms the disk's cache
        command = [sys.executable, "-c", IMPORT]
        done = subprocess.run(
            command, env=place, capture_output=True, text=True, check=True
        )
        found.append([float(word) for word in done.stdout.split()])
    seconds, megabytes = zip(*found[1:])
    table = bench.Table("import torchoscope, where torch is imported already")
    table.line("time", seconds, bench.seconds_text, 0.030)
    table.line("memory", megabytes, lambda value: f"{value:.1f} MB", 5)
    return table.short


def summaries():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    table = bench.Table("summary() beside a bare forward, 1 thread, process time")
    model, given = record_models.resnet50()
    model.eval()

    def bare():
        with torch.no_grad():
            model(given)

    nothing = contextlib.nullcontext  # a summary runs the model itself
    steps = {
        "summary": (nothing, lambda _: torchoscope.summary(model, given)),
        "summary and its text": (
            nothing,
            lambda _: str(torchoscope.summary(model, given)),
        ),
    }
    goals = {"summary": 1.15}
    for name, found in beside(bare, steps, time.process_time, ROUNDS).items():
        table.line(f"ResNet-50, batch of 2, {name}", found, as_ratio, goals.get(name))
    return table.short


def main():
    short = importing() + summaries()
    print(
        f"\n{short} figures are short of their target" if short else "\nall targets met"
    )


if __name__ == "__main__":
    main()
