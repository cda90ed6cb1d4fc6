"""Listing and measuring a GGUF file, compared with gguf-py.

    BENCH_GB=1 BENCH_TOKENS=128000 gguf_bench.py

Creates a file of BENCH_GB gigabytes of Q4_K (with some Q6_K and a vocabulary) in a
temporary folder, removes it, and prints medians with minimum and maximum.
"""

import importlib.util
import os
import struct
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "samples")]

import bench  # noqa: E402
import gguf_files as files  # noqa: E402

GIGABYTES = float(os.environ.get("BENCH_GB", "1"))
TOKENS = int(os.environ.get("BENCH_TOKENS", "128000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
ROWS, COLUMNS = 4096, 4096
BYTES = ROWS * COLUMNS // 256 * 144
TENSORS = max(1, round(GIGABYTES * 1e9 / BYTES))

GGUF_LIST = """
import sys, gguf
for tensor in gguf.GGUFReader(sys.argv[1]).tensors:
    print(tensor.name, list(reversed(tensor.shape.tolist())), tensor.tensor_type.name)
"""

GGUF_STATS = """
import sys, gguf, numpy
numpy.seterr(all="ignore")
for tensor in gguf.GGUFReader(sys.argv[1]).tensors[:int(sys.argv[2])]:
    x = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
    print(tensor.name, x.min(), x.max(), x.mean(), x.std(), numpy.isnan(x).sum(),
          numpy.isinf(x).sum(), (x == 0).sum())
"""


def make_file(path):
    """The same megabyte of blocks, repeated."""
    writer = files.Writer()
    names = [f"blk.{i}.ffn_up.weight" for i in range(TENSORS)]
    tokens = [f"token{i}" for i in range(TOKENS)]
    entries = [("general.architecture", files.TEXT, "llama"),
               ("tokenizer.ggml.tokens", files.ARRAY, (files.TEXT, tokens))]
    head = writer.head(TENSORS, len(entries))
    head += b"".join(writer.entry(*one) for one in entries)
    head += b"".join(writer.tensor(name, (ROWS, COLUMNS), 12, i * BYTES)
                     for i, name in enumerate(names))
    block = bytearray(os.urandom(BYTES // 64))
    for at in range(0, len(block), 144):
        block[at:at + 4] = struct.pack("<2e", 0.001, 0.002)
    with open(path, "wb") as file:
        file.write(files.padded(head))
        for _ in range(TENSORS * 64):
            file.write(block)


def main():
    if not importlib.util.find_spec("gguf"):
        print("gguf_bench: not run (there is no gguf package to compare with)")
        return
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as folder:
        path = Path(folder, "big.gguf")
        make_file(path)
        peak = bench.Peak()
        python = [sys.executable, "-c"]
        last, some = f"blk.{TENSORS - 1}.ffn_up.weight", min(TENSORS, 4)
        runs = bench.in_turn({
            "list": lambda: peak.run(bench.PROGRAM, "tree", path),
            "gguf list": peak.peer([*python, GGUF_LIST, path], last),
            "cat": lambda: peak.run("cat", path),
            "stats": lambda: peak.run(bench.PROGRAM, "stats", path),
        }, ROUNDS)
        runs |= bench.in_turn({  # all would take a minute: a few tensors suffice
            "gguf stats": peak.peer([*python, GGUF_STATS, path, some],
                                    f"blk.{some - 1}.ffn_up.weight")}, 1)
        short = show(runs, some)
    print(f"\n{short} figures are short of their target" if short
          else "\nall targets met")


def show(runs, some):
    size = f"{TENSORS} tensors of Q4_K, {TENSORS * BYTES / 1e9:.2f} GB, {TOKENS} tokens"
    table = bench.Table(f"Listing ({size})")
    table.time("torchoscope tree", runs["list"], 30e-3)
    table.memory("torchoscope tree, peak memory", runs["list"], 12)
    table.time("gguf.GGUFReader", runs["gguf list"])
    table.memory("gguf.GGUFReader, peak memory", runs["gguf list"])
    over = bench.Table("Statistics of all decoded values, warm cache")
    over.time("cat > /dev/null", runs["cat"])
    over.time("torchoscope stats", runs["stats"])
    over.memory("torchoscope stats, peak memory", runs["stats"], 16)
    peer = runs["gguf stats"]
    over.time(f"gguf.quants.dequantize and numpy, {some} tensors", peer)
    if not isinstance(peer, bench.NotRun):
        ours = [seconds / TENSORS for seconds in bench.seconds(runs["stats"])]
        theirs = [seconds / some for seconds in bench.seconds(peer)]
        over.ratio("  as a multiple of ours, by tensor", theirs, ours, 10, True)
    return table.short + over.short


if __name__ == "__main__":
    main()
