"""`diff` of two large files, compared with cmp on the same files.

    BENCH_GB=4 diff_bench.py

Creates pairs of files of BENCH_GB gigabytes in a temporary folder, one pair at a time so
that both stay in memory, removes them, and prints medians with minimum and maximum. cmp
stops at the first difference, which is in the last tensor.
"""

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bench  # noqa: E402
from files_bench import COLUMNS, GIGABYTES, ROWS, TENSORS  # noqa: E402

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))

MAKE = """
import sys, torch
from safetensors.torch import save_file
path, what, (rows, columns, n) = sys.argv[1], sys.argv[2], map(int, sys.argv[3:])
torch.manual_seed(1)
block = torch.randn(rows, columns)
state = {f"layer{i:06}.weight": block.clone() for i in range(n)}
for name in list(state) if what == "all" else list(state)[-1:] if what == "one" else []:
    state[name] += 0.001
(torch.save if path.endswith(".pth") else save_file)(state, path)
"""


def make_file(peak, path, what):
    """No tensor, one or all differ from the first file."""
    peak.run(sys.executable, "-c", MAKE, path, what, ROWS, COLUMNS, TENSORS)


def compare(peak, folder, kind, what, rounds):
    # A .pth contains its own name, so both have the same.
    left, right = folder / f"left/model.{kind}", folder / f"right/model.{kind}"
    for path in (left, right):
        path.parent.mkdir(exist_ok=True)
    if not left.exists():
        make_file(peak, left, "nothing")
    make_file(peak, right, what)
    calls = {"diff": lambda: peak.run(bench.PROGRAM, "diff", left, right, status=1)}
    if what == "one":  # otherwise cmp would stop at once
        calls["cmp"] = lambda: peak.run("cmp", left, right, status=1)
    return bench.in_turn(calls, rounds)


def main():
    for name in ("torch", "safetensors"):
        if not importlib.util.find_spec(name):
            print(f"diff_bench: not run (there is no {name} to make the files with)")
            return
    peak = bench.Peak()
    size = TENSORS * ROWS * COLUMNS * 4 / 1e9
    runs = {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
        print(f"making {4 * GIGABYTES:g} GB of files in {name}", file=sys.stderr)
        folder = Path(name)
        runs["pth"] = compare(peak, folder, "pth", "one", ROUNDS)
        for path in folder.glob("*/*"):
            path.unlink()
        runs["safetensors"] = compare(peak, folder, "safetensors", "one", ROUNDS)
        runs["all"] = compare(peak, folder, "safetensors", "all", ROUNDS)
    table = bench.Table(f"Comparing two files of {size:.2f} GB, warm cache")
    for kind in ("pth", "safetensors"):
        cmp, diff = runs[kind]["cmp"], runs[kind]["diff"]
        table.time(f"cmp, {kind}", cmp)
        table.time(f"diff, {kind}, one tensor differs", diff)
        table.memory("  its peak memory", diff)
        table.ratio("  its speed, of cmp's", bench.seconds(cmp), bench.seconds(diff), 0.7, True)
    table.time("diff, all tensors differ", runs["all"]["diff"])
    cmp, diff = runs["safetensors"]["cmp"], runs["all"]["diff"]
    table.ratio("  its speed, of cmp's", bench.seconds(cmp), bench.seconds(diff), 0.5, True)
    short = table.short
    print(
        f"\n{short} figures are short of their target" if short else "\nall targets met"
    )


if __name__ == "__main__":
    main()
