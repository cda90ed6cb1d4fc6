"""Pickles and zips put together byte by byte, for files that lie, trick or attack."""

import struct
import zlib

MARK = "/tmp/torchoscope_was_attacked"
COMMAND = f"touch {MARK}".encode()


# --- pickles by hand


def text(value):
    raw = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(raw)) + raw


def number(value):
    if isinstance(value, float):
        return b"G" + struct.pack(">d", value)
    if -(2**31) <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(raw)]) + raw


def named(module, name):
    return f"c{module}\n{name}\n".encode()


def numbers(values):
    return b"(" + b"".join(map(number, values)) + b"t"


def storage(key="0", count=2, kind="FloatStorage"):
    parts = text("storage") + named("torch", kind) + text(key) + text("cpu")
    return b"(" + parts + number(count) + b"tQ"


def tensor(size=(2,), stride=(1,), offset=0, **more):
    parts = storage(**more) + number(offset) + numbers(size) + numbers(stride)
    parts += b"\x89" + named("collections", "OrderedDict") + b")R"
    return named("torch._utils", "_rebuild_tensor_v2") + b"(" + parts + b"tR"


def dictionary(**items):
    pairs = b"".join(text(key) + value for key, value in items.items())
    return b"}(" + pairs + b"u"


def whole(body):
    return b"\x80\x02" + body + b"."


def stack_named(module, name):
    """The same name in protocol 4, where its dots are looked up part by part."""
    return text(module) + text(name) + b"\x93"


def apply(callee, *arguments):
    return callee + b"(" + b"".join(arguments) + b"tR"


def call(module, name, *arguments):
    return apply(named(module, name), *arguments)


def made(module, name, *arguments):
    """A new object of a class, which is not called."""
    return named(module, name) + b"(" + b"".join(arguments) + b"t\x81"


def raw(value):
    return b"B" + struct.pack("<I", len(value)) + value


SYSTEM = call("posix", "system", text(COMMAND))
GOOD = whole(dictionary(weight=tensor()))
ONES = struct.pack("<2f", 1, 2)


# --- zips by hand


class Entry:
    """One member; every field that readers may disagree on can be set by itself."""

    def __init__(self, name, data, **odd):
        self.name = name.encode() if isinstance(name, str) else name
        self.data = data
        self.method = odd.get("method", 0)
        self.packed = self.pack() if self.method == 8 else data
        self.flags = odd.get("flags", 0)
        self.local_flags = odd.get("local_flags", self.flags)
        self.local_name = odd.get("local_name", self.name)
        self.crc = odd.get("crc", zlib.crc32(data))
        self.size = odd.get("size", len(data))
        self.packed_size = odd.get("packed_size", len(self.packed))
        self.shares = odd.get("shares")  # the number of the entry whose bytes it claims
        self.at = odd.get("at")  # or a place of its own

    def pack(self):
        squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
        return squeeze.compress(self.data) + squeeze.flush()

    def facts(self):
        sizes = min(self.packed_size, 2**32 - 1), min(self.size, 2**32 - 1)
        return struct.pack("<III", self.crc, *sizes)

    def local(self):
        head = struct.pack(
            "<IHHHHH", 0x04034B50, 20, self.local_flags, self.method, 0, 0
        )
        name = self.local_name
        return (
            head + self.facts() + struct.pack("<HH", len(name), 0) + name + self.packed
        )

    def central(self, at):
        head = struct.pack(
            "<IHHHHHH", 0x02014B50, 20, 20, self.flags, self.method, 0, 0
        )
        name = self.name
        rest = struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, at)
        return head + self.facts() + rest + name


def archive(entries, comment=b"", before=b"", count=None, directory_shift=0):
    body, places = before, []
    for entry in entries:
        if entry.shares is not None:
            places.append(places[entry.shares])
            continue
        places.append(len(body) if entry.at is None else entry.at)
        body += entry.local()
    central = b"".join(e.central(at) for e, at in zip(entries, places))
    n = len(entries) if count is None else count
    at = len(body) + directory_shift
    end = struct.pack(
        "<IHHHHIIH", 0x06054B50, 0, 0, n, n, len(central), at, len(comment)
    )
    return body + central + end + comment


def torch_zip(data=GOOD, storages=None, more=(), **odd):
    entries = [Entry("a/data.pkl", data)]
    for key, raw in ({"0": ONES} if storages is None else storages).items():
        entries.append(Entry(f"a/data/{key}", raw))
    entries.append(Entry("a/version", b"3\n"))
    return archive([*entries, *more], **odd)
