"""Peak memory of the program for a model of a million modules.

    memory_bench.py [MODULES]

Creates its files in a temporary folder (about a gigabyte) and removes them:
  many.safetensors  two tensors for every second module
  chain.pth         torch.save(Sequential(Linear(16, 16, bias=False), ReLU(), ...)), with
                    at most as many entries as an archive may have
  chain.scope       a recording of a tenth as many modules, if torch is installed
Does not measure time. MODULES defaults to a million.
"""

import os
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bench  # noqa: E402

MODULES = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
TARGET = 150  # megabytes

RECORD = """
import sys, torch, torchoscope
torch.set_num_threads(1)
layers = [torch.nn.Linear(1, 1) if i % 2 == 0 else torch.nn.ReLU()
          for i in range(int(sys.argv[1]))]
model = torch.nn.Sequential(*layers)
with torch.no_grad(), torchoscope.record(model) as recording:
    model(torch.zeros(1, 1))
recording.save(sys.argv[2])
"""


def write_safetensors(path):
    """A header like the library's, then a hole of the right size."""
    at, parts = 0, []
    for i in range(0, MODULES, 2):
        for name, shape, size in (("weight", "[16,16]", 1024), ("bias", "[16]", 64)):
            place = f'"data_offsets":[{at},{at + size}]'
            parts.append(f'"{i}.{name}":{{"dtype":"F32","shape":{shape},{place}}}')
            at += size
    header = ("{" + ",".join(parts) + "}").encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + at)


# ---- the pickle of a Sequential, opcode by opcode, as torch.save() writes it ----

HOOKS = (
    "_backward_pre_hooks _backward_hooks _is_full_backward_hook _forward_hooks "
    "_forward_hooks_with_kwargs _forward_hooks_always_called _forward_pre_hooks "
    "_forward_pre_hooks_with_kwargs _state_dict_hooks _state_dict_pre_hooks "
    "_load_state_dict_pre_hooks _load_state_dict_post_hooks"
).split()
WORDS = (
    "training _parameters _buffers _non_persistent_buffers_set _modules weight bias "
    "in_features out_features inplace storage cpu"
).split() + HOOKS
GLOBALS = {
    "Sequential": "torch.nn.modules.container Sequential",
    "Linear": "torch.nn.modules.linear Linear",
    "ReLU": "torch.nn.modules.activation ReLU",
    "set": "__builtin__ set",
    "OrderedDict": "collections OrderedDict",
    "parameter": "torch._utils _rebuild_parameter",
    "tensor": "torch._utils _rebuild_tensor_v2",
    "FloatStorage": "torch FloatStorage",
}


class Pickle:
    """Opcodes. Words and globals are memoised first and popped again, so that all
    references to them look the same."""

    def __init__(self):
        self.memo, self.known, head = 0, {}, [b"\x80\x02"]
        for word in WORDS:
            head.append(self.text(word) + b"0")
            self.known[word] = self.memo - 1
        for word, name in GLOBALS.items():
            head.append(b"c" + name.replace(" ", "\n").encode() + b"\n")
            head.append(self.put() + b"0")
            self.known[word] = self.memo - 1
        self.head = b"".join(head)

    def put(self):
        self.memo += 1
        if self.memo <= 256:
            return b"q" + bytes([self.memo - 1])
        return b"r" + struct.pack("<I", self.memo - 1)

    def get(self, word):
        return b"h" + bytes([self.known[word]])

    def text(self, text):
        return b"X" + struct.pack("<I", len(text)) + text.encode() + self.put()

    def ordered(self):
        return self.get("OrderedDict") + b")R" + self.put()

    def parameter(self, key, shape, strides, numel):
        storage = b"((" + self.get("storage") + self.get("FloatStorage")
        storage += self.text(str(key)) + self.get("cpu")
        storage += b"M" + struct.pack("<H", numel) + b"t" + self.put() + b"QK\0"
        sizes = shape + self.put() + strides + self.put() + b"\x89" + self.ordered()
        tensor = self.get("tensor") + storage + sizes + b"t" + self.put() + b"R"
        tensor += self.put() + b"\x88" + self.ordered() + b"\x87" + self.put()
        return self.get("parameter") + tensor + b"R" + self.put()

    def module(self, kind, parameters, attributes):
        """The state up to `_modules`, left open."""
        parts = [self.get(kind), b")\x81", self.put(), b"}", self.put(), b"("]
        parts += [self.get("training"), b"\x88", self.get("_parameters"), b"}"]
        parts += [self.put(), parameters(), self.get("_buffers"), b"}", self.put()]
        parts += [self.get("_non_persistent_buffers_set"), self.get("set"), b"]"]
        parts += [self.put(), b"\x85", self.put(), b"R", self.put()]
        for name in HOOKS:
            plain = name == "_is_full_backward_hook"
            parts += [self.get(name), b"N" if plain else self.ordered()]
        parts += [attributes, self.get("_modules"), b"}", self.put()]
        return b"".join(parts)

    def linear(self, key):
        def parameters():
            weight = self.parameter(key, b"K\x10K\x10\x86", b"K\x10K\x01\x86", 256)
            none = self.get("bias") + b"N"
            return b"".join((b"(", self.get("weight"), weight, none, b"u"))

        sizes = self.get("in_features") + b"K\x10" + self.get("out_features") + b"K\x10"
        return self.module("Linear", parameters, sizes) + b"ub"

    def relu(self):
        inplace = self.get("inplace") + b"\x89"
        return self.module("ReLU", lambda: b"", inplace) + b"ub"

    def write(self, file):
        file.write(self.head + self.module("Sequential", lambda: b"", b""))
        for i in range(MODULES):
            if i % 1000 == 0:  # like the library: a thousand at a time
                file.write(b"(")
            file.write(self.text(str(i)) + (self.relu() if i % 2 else self.linear(i)))
            if i % 1000 == 999 or i == MODULES - 1:
                file.write(b"u")
        file.write(b"ub.")


class Zip:
    """Stored entries, with holes for the values of tensors."""

    def __init__(self, file):
        self.file, self.entries = file, []

    def add(self, name, size, crc, write=None):
        at = self.file.tell()
        name = name.encode()
        pad = -(at + 30 + len(name) + 4) % 64
        big = size if size < 0xFFFFFFFF else 0xFFFFFFFF
        head = struct.pack("<HHHHHIII", 0, 0, 0, 0, 0, crc, big, big)
        self.file.write(b"PK\3\4" + head + struct.pack("<HH", len(name), pad + 4))
        self.file.write(name + struct.pack("<HH", 0x4246, pad) + b"Z" * pad)
        if write:
            write()
        else:
            self.file.seek(size, os.SEEK_CUR)
        self.entries.append((name, head, at))

    def close(self):
        at = self.file.tell()
        for name, head, header_at in self.entries:
            big = header_at >= 0xFFFFFFFF
            more = struct.pack("<HHQ", 1, 8, header_at) if big else b""
            place = struct.pack("<I", 0xFFFFFFFF if big else header_at)
            sizes = struct.pack("<HHHHHI", len(name), len(more), 0, 0, 0, 0)
            self.file.write(b"PK\1\2\0\0" + head + sizes + place + name + more)
        end, n = self.file.tell(), len(self.entries)
        self.file.write(
            b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 0, 0, 0, 0, n, n, end - at, at)
        )
        self.file.write(b"PK\6\7" + struct.pack("<IQI", 0, end, 1))
        few, low = min(n, 0xFFFF), min(at, 0xFFFFFFFF)
        self.file.write(
            b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, few, few, end - at, low, 0)
        )


def write_chain(path, folder):
    scratch = folder / "data.pkl"
    with open(scratch, "wb") as file:
        Pickle().write(file)
    data = scratch.read_bytes()
    scratch.unlink()
    with open(path, "wb") as file:
        archive = Zip(file)
        crc = zlib.crc32(data)
        archive.add("chain/data.pkl", len(data), crc, lambda: file.write(data))
        for name, text in (("byteorder", b"little"), ("version", b"3\n")):
            archive.add(f"chain/{name}", len(text), zlib.crc32(text),
                        lambda text=text: file.write(text))
        zeros = zlib.crc32(bytes(1024))
        for key in range(0, MODULES, 2):
            archive.add(f"chain/data/{key}", 1024, zeros)
        archive.close()


def record(path):
    """Write a recording of a chain; returns why that failed, or None."""
    command = [sys.executable, "-c", RECORD, str(MODULES // 10), str(path)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    return bench.NotRun(bench.last_line(done.stderr)) if done.returncode else None


def main():
    peak = bench.Peak()
    table = bench.Table(f"Peak memory of a model of {MODULES:,} modules")
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
        folder = Path(name)
        paths = [folder / "many.safetensors", folder / "chain.pth"]
        write_safetensors(paths[0])
        write_chain(paths[1], folder)
        scope = folder / "chain.scope"
        failed = record(scope)
        if failed:
            table.memory(scope.name, failed)
        else:
            paths.append(scope)
        for path in paths:
            for words in (["info", "--short"], ["tree", "--depth", "1"]):
                runs = [peak.run(bench.PROGRAM, words[0], path, *words[1:])]
                table.memory(f"{' '.join(words)} {path.name}", runs, TARGET)
    print(
        f"\n{table.short} figures are short of their target"
        if table.short
        else "\nall targets met"
    )


if __name__ == "__main__":
    main()
