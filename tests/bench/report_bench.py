"""The HTML report of a large live model: the time to write it, and the time until
Chromium shows it.

    report_bench.py
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch import nn

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "python")]

import bench  # noqa: E402
import browser  # noqa: E402
import torchoscope  # noqa: E402

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7"))
GROUPS, BLOCKS = 166, 100  # of 6 modules each


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()
        self.linear = nn.Linear(2, 2)
        self.tail = nn.Sequential(nn.Linear(2, 2), nn.Tanh())


def make():
    return nn.Sequential(
        *[nn.Sequential(*[Block() for _ in range(BLOCKS)]) for _ in range(GROUPS)]
    )


def timed(call):
    begin = time.monotonic()
    call()
    return time.monotonic() - begin


def main():
    torch.set_num_threads(1)
    net = make()
    count = sum(1 for _ in net.modules())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.html")
        written, seen = [], []
        page = browser.Browser() if browser.AVAILABLE else None
        for _ in range(ROUNDS):
            model = torchoscope.open(net)  # a new model: nothing is measured yet
            written.append(timed(lambda: model.export(path)))
            if page:
                seen.append(timed(lambda: page.open(path)))
        table = bench.Table(f"The HTML report of {count:,} modules")
        table.line("write it", written, bench.seconds_text, 1.0)
        if page:
            table.line("open it in Chromium", seen, bench.seconds_text)
            page.close()
    return table.short


if __name__ == "__main__":
    sys.exit(main() > 0)
