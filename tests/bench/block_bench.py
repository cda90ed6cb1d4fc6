"""The cost of `with record(model)` around one pass of a small model, and how much of it
`cost` reports.

    BENCH_ROUNDS=7 block_bench.py

One thread, wall-clock time, as in `cost`: reading the processor clock takes longer than
many hooks. Freeing the recording is not counted.
"""

import os
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bench  # noqa: E402

sys.path.insert(0, str(bench.ROOT / "build/c/python"))

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7"))
PAIRS = 40

try:
    import torch
    from torch import nn
    from torchoscope import record
except ImportError as problem:
    print(f"block_bench: not run ({problem})")
    sys.exit(0)


def small():
    """About five milliseconds per pass, so that start and end matter."""
    layer = nn.TransformerEncoderLayer(160, 4, 640, batch_first=True)
    return nn.TransformerEncoder(layer, 3).eval(), torch.randn(2, 64, 160)


def timed(call):
    """The time in nanoseconds, and the result."""
    start = time.perf_counter_ns()
    given = call()
    return time.perf_counter_ns() - start, given


def middle(values):
    """The mean of the faster half without the fastest: the rest is noise."""
    values = sorted(values)
    return statistics.mean(values[len(values) // 10 : len(values) // 2])


def compare(bare, whole):
    """One round: a bare pass, a recorded one, and the `cost` of the latter."""
    bares, wholes, told = [], [], []
    for _ in range(PAIRS):
        bares.append(timed(bare)[0])
        took, recording = timed(whole)
        wholes.append(took)
        told.append(recording.cost["own_ns"] + recording.cost["hooks_ns"])
    return middle(bares), middle(wholes), middle(told)


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)
    model, given = small()

    def bare():
        with torch.no_grad():
            model(given)

    def whole():
        with record(model) as recording:
            bare()
        return recording

    timed(whole)  # the first time is not counted
    rounds = [compare(bare, whole) for _ in range(ROUNDS)]
    table = bench.Table("A block around one pass of a small model, 1 thread")
    table.line("one bare pass", [bare / 1e9 for bare, _, _ in rounds], bench.seconds_text)
    table.line(
        "the block: entered, one pass, left",
        [whole / 1e9 for _, whole, _ in rounds],
        bench.seconds_text,
    )
    ratios = [whole / bare for bare, whole, _ in rounds]
    table.line("ratio", ratios, "{:.3f} x".format, 1.5)
    shares = [told / (whole - bare) for bare, whole, told in rounds]
    table.line("cost tells, of what was added", shares, "{:.3f}".format, 0.9, least=True)


if __name__ == "__main__":
    main()
