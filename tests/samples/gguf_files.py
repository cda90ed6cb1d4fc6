"""GGUF files written byte by byte without the gguf package: valid and invalid ones."""

import struct

U8, I8, U16, I16, U32, I32, F32, BOOL, TEXT, ARRAY, U64, I64, F64 = range(13)
FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f",
           BOOL: "B", U64: "Q", I64: "q", F64: "d"}
# name: number of the type, elements and bytes of a block.
TYPES = {"f32": (0, 1, 4), "f16": (1, 1, 2), "q4_0": (2, 32, 18), "q8_0": (8, 32, 34),
         "q4_K": (12, 256, 144), "q6_K": (14, 256, 210), "i32": (26, 1, 4),
         "bf16": (30, 1, 2), "tq2_0": (35, 256, 66)}


class Writer:
    def __init__(self, version=3, big=False):
        self.order = ">" if big else "<"
        self.word = "I" if version == 1 else "Q"
        self.version = version

    def pack(self, letters, *numbers):
        return struct.pack(self.order + letters, *numbers)

    def text(self, text):
        raw = text if isinstance(text, bytes) else text.encode()
        return self.pack(self.word, len(raw)) + raw

    def value(self, kind, value):
        if kind == TEXT:
            return self.text(value)
        if kind == ARRAY:
            of, items = value
            head = self.pack("I" + self.word, of, len(items))
            return head + b"".join(self.value(of, item) for item in items)
        return self.pack(FORMATS[kind], value)

    def entry(self, key, kind, value):
        return self.text(key) + self.pack("I", kind) + self.value(kind, value)

    def tensor(self, name, shape, number, offset):
        sizes = self.pack(self.word * len(shape), *reversed(shape))
        return (self.text(name) + self.pack("I", len(shape)) + sizes
                + self.pack("IQ", number, offset))

    def head(self, tensors, entries):
        return b"GGUF" + self.pack("I" + 2 * self.word, self.version, tensors, entries)


def padded(data, alignment=32):
    return data + b"\0" * (-len(data) % alignment)


def gguf(tensors, entries=(), version=3, big=False, alignment=32):
    """[(name, shape, type, bytes)] and [(key, kind, value)] as a file."""
    writer = Writer(version, big)
    head = writer.head(len(tensors), len(entries))
    head += b"".join(writer.entry(*one) for one in entries)
    data = b""
    for name, shape, kind, raw in tensors:
        head += writer.tensor(name, shape, TYPES[kind][0], len(data))
        data += padded(raw, alignment)
    return padded(head, alignment) + data


def blocks(kind, count, seed=1):
    """Bytes of `count` blocks with scales that are finite."""
    size = TYPES[kind][2]
    raw = bytearray((i * 73 + seed * 31 + i // 7) % 256 for i in range(size * count))
    halves = {"q4_0": (0,), "q8_0": (0,), "q4_K": (0, 2), "q6_K": (208,),
              "tq2_0": (64,)}[kind]
    for block in range(count):
        for half in halves:
            at = block * size + half
            raw[at:at + 2] = struct.pack("<e", 0.01 * (block + 1))
    return bytes(raw)


def floats(count, code="f"):
    return struct.pack(f"<{count}{code}", *((i % 17 - 8) / 64 for i in range(count)))


TOKENS = ["<unk>", "<s>", "</s>"] + [f"word{i}" for i in range(197)]
ENTRIES = [
    ("general.architecture", TEXT, "llama"),
    ("general.name", TEXT, "Small"),
    ("general.file_type", U32, 15),
    ("llama.block_count", U32, 2),
    ("llama.context_length", U32, 4096),
    ("llama.embedding_length", U32, 256),
    ("llama.attention.head_count", U32, 4),
    ("llama.attention.head_count_kv", U32, 2),
    ("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
    ("llama.rope.dimension_sections", ARRAY, (I32, [16, 24, 24, 0])),
    ("tokenizer.ggml.model", TEXT, "llama"),
    ("tokenizer.ggml.pre", TEXT, "default"),
    ("tokenizer.ggml.tokens", ARRAY, (TEXT, TOKENS)),
    ("tokenizer.ggml.scores", ARRAY, (F32, [-0.5] * len(TOKENS))),
    ("tokenizer.ggml.bos_token_id", U32, 1),
    ("tokenizer.ggml.eos_token_id", U32, 2),
    ("tokenizer.ggml.add_bos_token", BOOL, 1),
    ("tokenizer.chat_template", TEXT, "{% for m in messages %}{{ m.content }}{% endfor %}"),
]


def small_tensors():
    """A tiny llama of mixed types."""
    tensors = [("token_embd.weight", (200, 256), "q8_0", blocks("q8_0", 1600))]
    for i in range(2):
        at = f"blk.{i}."
        tensors += [
            (at + "attn_norm.weight", (256,), "f32", floats(256)),
            (at + "attn_q.weight", (256, 256), "q4_K", blocks("q4_K", 256, i)),
            (at + "attn_k.weight", (128, 256), "q4_0", blocks("q4_0", 1024, i)),
            (at + "attn_v.weight", (128, 256), "q6_K", blocks("q6_K", 128, i)),
            (at + "attn_output.weight", (256, 256), "f16", floats(65536, "e")),
        ]
    return tensors + [("output_norm.weight", (256,), "f32", floats(256))]


def small(**options):
    return gguf(small_tensors(), ENTRIES, **options)


def seeds():
    """Short files for the fuzz target."""
    for version, big in ((1, False), (2, False), (3, False), (3, True)):
        tensors = [
            ("blk.0.a.weight", (2, 32), "q4_0", blocks("q4_0", 2)),
            ("blk.0.b.weight", (1, 256), "q4_K", blocks("q4_K", 1)),
            ("b", (3,), "f32", floats(3)),
            ("s", (), "i32", b"\1\0\0\0"),
        ]
        entries = [("general.architecture", TEXT, "llama"), ("split.count", U16, 1),
                   ("tokens", ARRAY, (TEXT, ["a"] * 70)),
                   ("nested", ARRAY, (ARRAY, [(U8, [1]), (TEXT, ["x"])])),
                   ("f", F32, 1e-5), ("u", U64, 2**64 - 1), ("b", BOOL, 1)]
        yield gguf(tensors, entries, version, big)


def lies():
    """(name, bytes, expectation) of invalid files, as in hostile.py."""
    w = Writer()
    one = ("w", (8,), "f32", floats(8))
    kv = w.entry("general.architecture", TEXT, "llama")

    def described(*tensors, data=b"\0" * 64, entries=b"", n=0, count=None):
        head = w.head(len(tensors) if count is None else count, n)
        return padded(head + entries + b"".join(w.tensor(*t) for t in tensors)) + data

    yield "version_4", Writer(4).head(0, 0), {"refused": True}
    yield "short", b"GGUF\3\0\0\0", {"refused": True}
    yield "entries_huge", w.head(0, 2**63) + kv, {"findings": ["truncated"]}
    yield "tensors_huge", w.head(2**60, 1) + kv, {"findings": ["truncated"]}
    yield "text_huge", w.head(0, 2) + kv + w.text("k") + w.pack("IQ", TEXT, 2**63), {
        "findings": ["truncated"]}
    yield "array_huge", w.head(0, 2) + kv + w.text("k") + w.pack(
        "IIQ", ARRAY, U64, 2**61 + 1), {"findings": ["truncated"]}
    yield "array_of_empty_texts", w.head(0, 1) + w.text("k") + w.pack(
        "IIQ", ARRAY, TEXT, 50_000) + b"\0" * 400_000, {}
    yield "array_deep", w.head(0, 2) + kv + w.text("k") + w.pack("I", ARRAY) + w.pack(
        "IQ", ARRAY, 1) * 1000, {"findings": ["truncated", "damaged"]}
    yield "type_13", w.head(0, 2) + kv + w.text("k") + w.pack("I", 13) + b"\0" * 40, {
        "findings": ["damaged"]}
    yield "key_twice", w.head(0, 2) + kv + kv, {"findings": ["duplicate"]}
    for n in (0, 3, 2**32 - 1):
        yield f"alignment_{n}", gguf([one], [("general.alignment", U32, n)]), {
            "findings": ["damaged"], "tensors": ["w"]}
    bad = {"findings": ["bad-tensor", "truncated"], "bad": ["w"]}
    yield "sizes_overflow", described(("w", (2**33, 2**33), 0, 0)), bad
    yield "bytes_overflow", described(("w", (2**62,), 0, 0)), bad
    yield "size_negative", described(("w", (2**63,), 0, 0)), bad
    yield "blocks_cut", described(("w", (33,), 2, 0)), bad
    yield "sizes_lie", described(("w", (1000, 32), 8, 0)), bad
    yield "offset_beyond", described(("w", (8,), 0, 2**40)), bad
    yield "offset_overflow", described(("w", (8,), 0, 2**64 - 32)), bad
    yield "offset_odd", described(("w", (8,), 0, 4)), {"findings": ["bad-tensor"]}
    yield "type_unknown", described(("w", (8,), 31, 0)), {
        "findings": ["unsupported"], "bad": ["w"]}
    yield "rank_5", described(("w", (1, 1, 1, 1, 8), 0, 0)), {"findings": ["bad-tensor"]}
    yield "rank_huge", w.head(1, 1) + kv + w.text("w") + w.pack("I", 2**31) + bytes(64), {
        "findings": ["damaged"]}
    yield "name_twice", described(("w", (8,), 0, 0), ("w", (8,), 0, 32)), {
        "findings": ["duplicate"]}
    yield "hole", described(("a", (4,), 0, 0), ("b", (8,), 0, 32),
                            ("c", (8,), 0, 128), data=bytes(160)), {"findings": ["hole"]}
    yield "overlap", described(("a", (16,), 0, 0), ("b", (8,), 0, 32)), {
        "findings": ["overlap"]}
    yield "many_on_one", described(*((f"t{i}", (8,), 0, 0) for i in range(2000))), {
        "findings": ["overlap"]}
    yield "trailing", gguf([one]) + bytes(100), {"findings": ["trailing"]}
    yield "cut", gguf([("w", (80,), "f32", floats(80))])[:-40], bad
    yield "part", gguf([one], [("split.no", U16, 1), ("split.count", U16, 3)]), {
        "findings": ["missing-shard"], "tensors": ["w"]}
    yield "names", gguf([("a\0b.\x1b[2J\u202e", (8,), "f32", floats(8)),
                         ("....", (8,), "f32", floats(8)), ("", (8,), "f32", floats(8))],
                        [("\xff\x1b[31m", TEXT, b"\xff\xfe\x1b]0;x\x07")]), {}
    yield "nan_scale", gguf([("w", (1, 32), "q8_0", b"\0\x7e" + bytes(range(32)))]), {
        "tensors": ["w"]}
