"""Statistics of tensors in memory, compared with a pure read and with torch.

bench_measure prints the speed of the C kernels as a fraction of a pure read. Then, for
each size, it alternates with torch, which computes the same statistics (min, max, mean,
std, norm, and the counts of NaN, +inf, -inf and 0) on one thread. Compares CPU time,
because the machine may be busy. """

import re
import subprocess
import time

import bench

SIZES = (100_000, 1_000_000, 10_000_000)
TYPES = ("float32", "float16", "bfloat16")
ROUNDS = 5
TARGET = 75
BUILD = bench.ROOT / "build/c"
PROGRAM = BUILD / "tests/bench/bench_measure"


def our_seconds(dtype, n):
    """The least time of a call among nine."""
    command = [PROGRAM, "9", str(n), dtype]
    text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    part = text[text.index(f"{dtype} {n}:") :]
    return float(re.search(r"full +([0-9.]+) us", part).group(1)) / 1e6


def torch_seconds(torch, x):
    """The least time of a few calls, as for the C kernels."""
    best = float("inf")
    for _ in range(3):
        start = time.thread_time()
        x.min(), x.max(), x.mean(), x.std(), x.norm()
        x.isnan().sum(), x.isposinf().sum(), x.isneginf().sum(), (x == 0).sum()
        best = min(best, time.thread_time() - start)
    return best


def beside_torch():
    try:
        import torch
    except ImportError:
        print("\nno torch in build/venv: nothing to compare with")
        return 0
    torch.set_num_threads(1)
    torch.manual_seed(0)
    table = bench.Table(f"Statistics beside torch {torch.__version__}, one thread")
    for dtype in TYPES:
        for n in SIZES:
            x = torch.randn(n).to(getattr(torch, dtype))
            times = bench.in_turn(
                {
                    "ours": lambda dtype=dtype, n=n: our_seconds(dtype, n),
                    "torch": lambda x=x: torch_seconds(torch, x),
                },
                ROUNDS,
            )
            for name, seconds in times.items():
                table.line(f"{dtype} {n}, {name}", seconds, bench.seconds_text)
            target = TARGET if n >= 1_000_000 else None
            table.ratio(
                f"{dtype} {n}, torch / ours",
                times["torch"],
                times["ours"],
                target,
                least=True,
            )
    return table.short


def main():
    target = str(PROGRAM.relative_to(BUILD))
    subprocess.run(["ninja", "-C", BUILD, "--quiet", target], check=True)
    print("Statistics beside a pure read of the same bytes", flush=True)
    subprocess.run([PROGRAM, "51"], check=True)
    short = beside_torch()
    print(f"\n{short} figures are short of their target" if short else "")


if __name__ == "__main__":
    main()
