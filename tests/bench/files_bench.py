"""Opening and measuring large files, compared with torch and safetensors.

    BENCH_GB=4 BENCH_MANY=100000 files_bench.py

Creates its files in a temporary folder (BENCH_GB gigabytes twice, and two files of
BENCH_MANY small tensors), removes them, and prints medians with minimum and maximum.
"""

import importlib.util
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bench  # noqa: E402

GIGABYTES = float(os.environ.get("BENCH_GB", "4"))
ROWS, COLUMNS = 3495, 1024
TENSORS = max(1, int(300 * GIGABYTES / 4))
MANY = int(os.environ.get("BENCH_MANY", "100000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7"))

MAKE = """
import sys, torch
block = torch.randn({rows}, {columns})
big = {{f"layer{{i}}.weight": block.clone() for i in range({tensors})}}
torch.save(big, sys.argv[1])
many = torch.randn({many}, 4, 4)
torch.save({{f"block{{i}}.w": many[i].clone() for i in range({many})}}, sys.argv[2])
""".format(rows=ROWS, columns=COLUMNS, tensors=TENSORS, many=MANY)

TORCH_LIST = """
import sys, torch
state = torch.load(sys.argv[1], mmap=True, weights_only=True)
print([(name, tensor.shape, tensor.dtype) for name, tensor in state.items()])
"""

SAFE_LIST = """
import sys
from safetensors import safe_open
with safe_open(sys.argv[1], framework="np") as file:
    for name in file.keys():
        part = file.get_slice(name)
        print(name, part.get_shape(), part.get_dtype())
"""

JSON_LIST = """
import json, sys
with open(sys.argv[1], "rb") as file:
    header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
for name, one in header.items():
    print(name, one["shape"], one["dtype"])
"""

TORCH_STATS = """
import sys, time, torch
torch.set_num_threads(1)
state = torch.load(sys.argv[1], mmap=True, weights_only=True)
begin = time.monotonic()
for tensor in state.values():
    for value in (tensor.min(), tensor.max(), tensor.mean(), tensor.std(),
                  tensor.isnan().sum(), tensor.isinf().sum(), (tensor == 0).sum()):
        value.item()
print("took", time.monotonic() - begin)
"""


def write_safetensors(path, names, shape, block):
    """One block of bytes for each name."""
    entries, at = [], 0
    for name in names:
        place = f"[{at},{at + len(block)}]"
        entries.append(
            f'"{name}":{{"dtype":"F32","shape":{shape},"data_offsets":{place}}}'
        )
        at += len(block)
    header = ("{" + ",".join(entries) + "}").encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        for _ in names:
            file.write(block)


def make_files(folder):
    paths = {name: folder / name for name in ("big.pth", "many.pth")}
    subprocess.run([sys.executable, "-c", MAKE, *paths.values()], check=True)
    paths["big.safetensors"] = folder / "big.safetensors"
    names = [f"layer{i}.weight" for i in range(TENSORS)]
    block = os.urandom(1 << 20) * (ROWS * COLUMNS * 4 // (1 << 20) + 1)
    block = block[: ROWS * COLUMNS * 4]
    # Random bytes are random floats; keep the exponent small, so that sums are sums.
    block = bytearray(block)
    block[3::4] = bytes(b & 0x80 | 0x3E for b in block[3::4])
    write_safetensors(paths["big.safetensors"], names, [ROWS, COLUMNS], bytes(block))
    paths["many.safetensors"] = folder / "many.safetensors"
    names = [f"block{i}.w" for i in range(MANY)]
    write_safetensors(paths["many.safetensors"], names, [4, 4], b"\0\0\x80\x3f" * 16)
    return paths


def list_files(peak, paths):
    python = [sys.executable, "-c"]
    program = [bench.PROGRAM, "tree"]
    big, many = f"layer{TENSORS - 1}.weight", f"block{MANY - 1}.w"
    ours = {
        "torchoscope big.pth": [*program, paths["big.pth"]],
        "torchoscope big.safetensors": [*program, paths["big.safetensors"]],
        "torchoscope many.pth": [*program, paths["many.pth"]],
        "torchoscope many.safetensors": [*program, paths["many.safetensors"]],
        "torchoscope --help": [bench.PROGRAM, "--help"],
    }
    peers = {  # with their expected output
        "torch big.pth": ([*python, TORCH_LIST, paths["big.pth"]], big),
        "safetensors big": ([*python, SAFE_LIST, paths["big.safetensors"]], big),
        "json.loads big": ([*python, JSON_LIST, paths["big.safetensors"]], big),
        "safetensors many": ([*python, SAFE_LIST, paths["many.safetensors"]], many),
        "json.loads many": ([*python, JSON_LIST, paths["many.safetensors"]], many),
    }
    calls = {name: lambda words=words: peak.run(*words) for name, words in ours.items()}
    calls |= {name: peak.peer(*how) for name, how in peers.items()}
    runs = bench.in_turn(calls, ROUNDS)
    slow = peak.peer([*python, TORCH_LIST, paths["many.pth"]], many)
    runs |= bench.in_turn({"torch many.pth": slow}, 1)  # takes ten seconds: run it once
    return runs


def listing_table(runs):
    size = f"{TENSORS} tensors, {TENSORS * ROWS * COLUMNS * 4 / 1e9:.2f} GB"
    table = bench.Table(f"Listing, start of the program included ({size})")
    table.time("torchoscope --help (the start alone)", runs["torchoscope --help"])
    for kind in ("pth", "safetensors"):
        name = f"torchoscope big.{kind}"
        table.time(name, runs[name], 5e-3)
        table.memory(f"{name}, peak memory", runs[name], 6)
    table.time("torch.load(mmap=True) big.pth", runs["torch big.pth"])
    table.time("safe_open(np) big.safetensors", runs["safetensors big"])
    table.time("json.loads of its header", runs["json.loads big"])
    many = bench.Table(f"Listing {MANY:,} tensors")
    for kind in ("pth", "safetensors"):
        name = f"torchoscope many.{kind}"
        many.time(name, runs[name], 0.15)
        many.memory(f"{name}, peak memory", runs[name])
    many.time("torch.load(mmap=True) many.pth", runs["torch many.pth"])
    many.time("safe_open(np) many.safetensors", runs["safetensors many"])
    many.time("json.loads of its header", runs["json.loads many"])
    return table.short + many.short


def torch_seconds(path):
    command = [sys.executable, "-c", TORCH_STATS, path]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 or not done.stdout.startswith("took "):
        raise bench.NotRun(f"status {done.returncode}: {bench.last_line(done.stderr)}")
    return float(done.stdout.split()[-1])


def statistics_table(peak, paths):
    program = [bench.PROGRAM, "stats"]
    calls = {}
    for kind in ("safetensors", "pth"):
        path = paths[f"big.{kind}"]
        calls[f"cat {kind}"] = lambda path=path: peak.run("cat", path)
        words = [*program, path]
        calls[f"stats {kind}"] = lambda words=words: peak.run(*words)
    runs = bench.in_turn(calls, min(ROUNDS, 5))
    table = bench.Table("Statistics of all values, warm cache")
    for kind in ("safetensors", "pth"):
        cat, stats = runs[f"cat {kind}"], runs[f"stats {kind}"]
        table.time(f"cat big.{kind} > /dev/null", cat)
        table.time(f"torchoscope stats big.{kind}", stats)
        table.memory(f"torchoscope stats big.{kind}, peak memory", stats)
        over, under = bench.seconds(stats), bench.seconds(cat)
        table.ratio("  as a multiple of cat", over, under, 2)
    calls = {"torch": lambda: torch_seconds(paths["big.pth"])}
    torch_took = bench.in_turn(calls, 1)["torch"]
    table.line("torch, tensor by tensor, 1 thread", torch_took, bench.seconds_text)
    table.ratio("  as a multiple of cat", torch_took, bench.seconds(runs["cat pth"]))
    return table.short


def main():
    if not importlib.util.find_spec("torch"):
        print("files_bench: not run (there is no torch to make the files with)")
        return
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as folder:
        print(f"making {2 * GIGABYTES:g} GB of files in {folder}", file=sys.stderr)
        paths = make_files(Path(folder))
        peak = bench.Peak()
        short = listing_table(list_files(peak, paths))
        short += statistics_table(peak, paths)
    print(
        f"\n{short} figures are short of their target" if short else "\nall targets met"
    )


if __name__ == "__main__":
    main()
