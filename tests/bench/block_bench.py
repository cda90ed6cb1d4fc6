"""A whole `with record(model)` around one pass of a small model, and how much of what
that adds `cost` tells.

    BENCH_ROUNDS=7 block_bench.py

Both by processor time with one thread, so that a busy machine disturbs them little:
TORCHOSCOPE_CLOCK=cpu makes recordings count it too.
"""

import os
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ["TORCHOSCOPE_CLOCK"] = "cpu"  # before the core looks at it

import bench  # noqa: E402

sys.path.insert(0, str(bench.ROOT / "build/c/python"))

PAIRS = 40 * int(os.environ.get("BENCH_ROUNDS", "7"))
WARM = 10  # the first pairs are not counted

try:
    import torch
    from torch import nn
    from torchoscope import record
except ImportError as problem:
    print(f"block_bench: not run ({problem})")
    sys.exit(0)


def small():
    """Some milliseconds a pass, so that beginning and ending count."""
    layer = nn.TransformerEncoderLayer(160, 4, 640, batch_first=True)
    return nn.TransformerEncoder(layer, 3).eval(), torch.randn(4, 64, 160)


def timed(call):
    start = time.thread_time_ns()
    call()
    return time.thread_time_ns() - start


def middle(values):
    """Of the quieter half, without the quietest: the rest is the machine's."""
    values = sorted(values[WARM:])
    return statistics.mean(values[len(values) // 10 : len(values) // 2])


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)
    model, given = small()
    told, bares, wholes = [], [], []

    def bare():
        with torch.no_grad():
            model(given)

    def whole():
        with record(model) as recording:
            bare()
        told.append(recording.cost["own_ns"] + recording.cost["hooks_ns"])

    for _ in range(PAIRS):
        bares.append(timed(bare))
        wholes.append(timed(whole))
    bare_ns, whole_ns, told_ns = middle(bares), middle(wholes), middle(told)
    table = bench.Table("A block around one pass of a small model, 1 thread, processor time")
    table.line("one bare pass", [bare_ns / 1e9], bench.seconds_text)
    table.line("the block: entered, one pass, left", [whole_ns / 1e9], bench.seconds_text)
    table.line("ratio", [whole_ns / bare_ns], "{:.3f} x".format, 1.5)
    share = told_ns / (whole_ns - bare_ns)
    table.line("cost tells, of what was added", [share], "{:.3f}".format, 0.9, least=True)


if __name__ == "__main__":
    main()
