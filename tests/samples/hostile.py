#!/usr/bin/env python3
"""Write invalid, deceptive and hostile files, byte by byte. Nothing here is ever
loaded.

    hostile.py FOLDER

`all_files()` gives the bytes of each file and what a reader must report:
    findings   at least one of these codes must be among the findings
    verdict    one of these words, if given
    tensors    names that must still be listed
    refused    it may instead refuse to open it, with a clear error
    bad        names whose values must not be shown
Commands in the attacks would create a file named by MARK in the temporary folder; tests
check that it never appears.
"""

import io
import json
import pickle
import struct
import sys
import tarfile
from pathlib import Path

import gguf_files
from safety.by_hand import (
    COMMAND,
    GOOD,
    MARK,
    ONES,
    SYSTEM,
    Entry,
    archive,
    call,
    dictionary,
    named,
    number,
    raw,
    storage,
    tensor,
    text,
    torch_zip,
    whole,
)
from safety.techniques import techniques, zip_techniques

__all__ = ["MARK", "SYSTEM", "all_files", "not_models", "storage", "torch_zip", "whole"]


# --- deceptive zips


def zip_tricks():
    good = Entry("a/data.pkl", GOOD)
    ones, version = Entry("a/data/0", ONES), Entry("a/version", b"3\n")
    evil = whole(SYSTEM)
    listed = {"tensors": ["weight"]}
    yield "wrong_crc.pt", archive([Entry("a/data.pkl", GOOD, crc=1), ones, version]), {
        "findings": ["checksum"],
        **listed,
    }
    yield "encrypted_local.pt", archive(
        [Entry("a/data.pkl", GOOD, local_flags=1), ones, version]
    ), {"findings": ["zip-trick", "encrypted"], **listed}
    yield "encrypted_central.pt", archive(
        [good, Entry("a/data/0", ONES, flags=1), version]
    ), {"findings": ["encrypted"], "bad": ["weight"], **listed}
    yield "local_name.pt", archive(
        [Entry("a/data.pkl", GOOD, local_name=b"a/note.txt"), ones, version]
    ), {"findings": ["zip-trick"], **listed}
    yield "two_data_pkl.pt", archive(
        [good, ones, version, Entry("a/data.pkl", evil)]
    ), {"findings": ["duplicate"], "verdict": ["unsafe"], **listed}
    yield "evil_first.pt", archive([Entry("a/data.pkl", evil), good, ones, version]), {
        "findings": ["duplicate"],
        "verdict": ["unsafe"],
    }
    yield "case.pt", archive([Entry("a/DATA.PKL", GOOD), ones, version]), {
        "findings": ["zip-trick"],
        **listed,
    }
    yield "two_roots.pt", archive([good, ones, version, Entry("b/data.pkl", evil)]), {
        "findings": ["zip-trick"],
        "verdict": ["unsafe"],
        **listed,
    }
    yield "end_in_comment.pt", torch_zip(
        comment=archive([Entry("a/data.pkl", evil)]) + b"\0"
    ), {
        "findings": ["zip-trick", "trailing", "truncated"],
        "verdict": ["unsafe", "inconclusive"],
    }
    yield "stub_before.pt", torch_zip(before=b"#!/bin/sh\nexit\n"), {}
    yield "one_header.pt", archive(
        [good, ones, version]
        + [Entry(f"a/data/{i}", ONES, shares=1) for i in range(1, 1000)]
    ), {"findings": ["overlap"], **listed}
    yield "count_low.pt", torch_zip(count=1), {"findings": ["zip-trick"]}
    yield "count_high.pt", torch_zip(count=900), {
        "findings": ["truncated", "zip-trick", "damaged"]
    }
    yield "overlap.pt", archive(
        [good, ones, version, Entry("a/data/1", ONES, at=10, size=60, packed_size=60)]
    ), {"findings": ["overlap", "zip-trick", "damaged"], **listed}
    yield "beyond_end.pt", archive(
        [good, Entry("a/data/0", ONES, size=2**31, packed_size=2**31), version]
    ), {
        "findings": ["truncated", "damaged", "size-mismatch", "zip-trick"],
        "bad": ["weight"],
    }
    yield "dot_dot.pt", archive(
        [good, ones, version, Entry("a/../../etc/passwd", b"x")]
    ), {"findings": ["unsafe-path", "zip-trick"], **listed}
    yield "nul_name.pt", archive(
        [good, ones, version, Entry(b"a/x\0y", b"x"), Entry(b"", b"x")]
    ), {"findings": ["bad-text", "zip-trick"], **listed}
    yield "method.pt", archive([good, Entry("a/data/0", ONES, method=93), version]), {
        "findings": ["unsupported"],
        "bad": ["weight"],
        **listed,
    }
    bomb = b"\0" * 50_000_000
    yield "bomb_storage.pt", archive(
        [good, Entry("a/data/0", bomb, method=8), version]
    ), {"findings": ["size-mismatch"], **listed}
    yield "bomb_pickle.pt", archive(
        [Entry("a/data.pkl", b"\x80\x02" + bomb, method=8), version]
    ), {"findings": ["pickle-malformed"], "refused": True}
    yield "size_lie.pt", archive(
        [Entry("a/data.pkl", GOOD, method=8, size=3), ones, version]
    ), {"findings": ["size-mismatch", "damaged", "checksum", "pickle-malformed"]}
    yield "no_storage.pt", torch_zip(storages={}), {
        "findings": ["missing-record"],
        "bad": ["weight"],
        **listed,
    }
    yield "empty.zip", archive([]), {}
    yield "directory_shift.pt", torch_zip(directory_shift=-7), {}


# --- invalid tensors


def tensor_lies():
    cases = {
        "negative_size": tensor(size=(-2,)),
        "huge_size": tensor(size=(2**62, 8), stride=(8, 1)),
        "float_size": tensor(size=(2.0,)),
        "rank_mismatch": tensor(size=(1, 2), stride=(1,)),
        "offset_beyond": tensor(offset=1),
        "offset_negative": tensor(offset=-1),
        "stride_beyond": tensor(stride=(2,)),
        "stride_negative": tensor(stride=(-1,)),
        "stride_huge": tensor(stride=(2**62,)),
        "size_beyond": tensor(size=(3,)),
        "rank_70": tensor(size=(1,) * 70, stride=(1,) * 70),
        "numel_lie": tensor(count=1000, size=(1000,)),
        "count_negative": tensor(count=-1),
        "unknown_kind": tensor(kind="PurpleStorage"),
    }
    expect = ["bad-tensor", "size-mismatch", "unsupported"]
    for name, body in cases.items():
        body = whole(dictionary(good=tensor(), weight=body))
        yield f"tensor_{name}.pt", torch_zip(body), {
            "findings": expect,
            "tensors": ["good"],
            "bad": [] if name == "count_negative" else ["weight"],
        }
    two = dictionary(
        good=tensor(), again=tensor(kind="DoubleStorage", size=(1,), count=1)
    )
    yield "tensor_two_kinds.pt", torch_zip(whole(two)), {
        "findings": ["bad-tensor", "size-mismatch"],
        "tensors": ["good"],
    }


# --- hostile pickles


def attacks():
    unsafe = {"verdict": ["unsafe"]}
    broken = {"findings": ["pickle-malformed"], "verdict": ["unsafe", "inconclusive"]}
    broken["refused"] = True
    good = dictionary(weight=tensor())
    yield "system", whole(SYSTEM), unsafe
    yield "popped", whole(SYSTEM + b"0" + good), {**unsafe, "tensors": ["weight"]}
    yield "broken_after", b"\x80\x02" + SYSTEM + b"\xff\xff", {
        "findings": ["pickle-malformed"],
        "verdict": ["unsafe"],
    }
    yield "inst", b"(" + b"S'" + COMMAND + b"'\n" + b"iposix\nsystem\n.", unsafe
    yield "obj", b"(" + named("posix", "system") + text(COMMAND) + b"o.", unsafe
    yield "newobj", whole(
        named("posix", "system") + text(COMMAND) + b"\x85\x81"
    ), unsafe
    yield "memo_names", b"\x80\x04" + text("system") + b"\x94" + b"0" + text(
        "posix"
    ) + (b"h\0\x93" + text(COMMAND) + b"\x85R."), unsafe
    yield "build_on_global", whole(
        named("torch", "_utils")
        + dictionary(_rebuild_tensor_v2=named("builtins", "eval"))
        + b"b0"
        + good
    ), {"findings": ["pickle-override"], "verdict": ["unsafe"]}
    yield "setitem_on_global", whole(
        named("os", "environ") + text("PATH") + text("/tmp") + b"s0" + good
    ), {"verdict": ["unsafe"]}
    yield "computed_name", b"\x80\x04" + call(
        "builtins", "str.lower", text("POSIX")
    ) + text("system") + b"\x93" + text(COMMAND) + b"\x85R.", {"verdict": ["unsafe"]}
    yield "dotted", b"\x80\x04" + text("builtins") + text(
        "print.__class__.__base__.__subclasses__"
    ) + b"\x93)R.", {"verdict": ["unsafe"]}
    yield "resolve_name", whole(call("pkgutil", "resolve_name", text("os:system"))), {
        "verdict": ["unsafe"]
    }
    yield "unknown_class", whole(named("mypackage.models", "Net") + b")\x81}b"), {
        "verdict": ["needs code"]
    }
    yield "nested", whole(
        call("torch.storage", "_load_from_bytes", text(whole(SYSTEM)))
    ), {"verdict": ["unsafe"]}
    inner = whole(SYSTEM)
    yield "nested_bytes", b"\x80\x03}" + text("x") + b"B" + struct.pack(
        "<I", len(inner)
    ) + inner + b"s.", {"findings": ["pickle-nested"], "verdict": ["unsafe"]}
    yield "second_pickle", whole(good) + whole(SYSTEM), {
        "findings": ["trailing", "pickle-nested"],
        "verdict": ["unsafe"],
    }
    yield "extension", b"\x80\x02\x82\x07.", unsafe
    yield "memo_bomb", b"\x80\x02]" + b"".join(
        b"q" + bytes([i]) + b"](h" + bytes([i]) + b"h" + bytes([i]) + b"e"
        for i in range(100)
    ) + b".", {}
    yield "dup_bomb", b"\x80\x02]" + b"2\x86" * 5000 + b".", {}
    yield "deep_list", b"\x80\x02" + b"]" * 200_000 + b"a" * 199_999 + b".", {}
    yield "deep_tuple", b"\x80\x02)" + b"\x85" * 500_000 + b".", {}
    yield "deep_dict", b"\x80\x02" + (
        b"}" + text("k")
    ) * 100_000 + b"N" + b"s" * 100_000 + b".", {}
    yield "marks", b"\x80\x02" + b"(" * 500_000 + b".", broken
    yield "values", b"\x80\x02" + b"N" * 500_000 + b".", {}
    yield "huge_text", b"\x80\x04\x8d" + struct.pack("<Q", 2**62) + b"abc.", broken
    yield "huge_bytes", b"\x80\x04\x8e" + struct.pack("<Q", 2**62) + b"abc.", broken
    yield "huge_bytearray", b"\x80\x05\x96" + struct.pack(
        "<Q", 2**63 + 5
    ) + b"abc.", broken
    yield "huge_frame", b"\x80\x04\x95" + struct.pack("<Q", 2**62) + b"N.", {}
    yield "long4_negative", b"\x80\x02\x8b\xff\xff\xff\xff.", broken
    yield "long4_huge", b"\x80\x02\x8b\xff\xff\xff\x7f.", broken
    yield "long_digits", b"L" + b"7" * 1_000_000 + b"L\n.", {}
    yield "int_digits", b"I" + b"7" * 100_000 + b"\n.", {}
    yield "put_huge", b"\x80\x02Nr\xff\xff\xff\xff.", {}
    yield "put_negative", b"Np-1\n.", broken
    yield "put_text_huge", b"Np99999999999999999999\n.", broken
    yield "get_missing", b"\x80\x02h\x07.", broken
    yield "underflow", b"\x80\x02R.", broken
    yield "setitem_on_int", b"\x80\x02K\x01K\x02K\x03s.", broken
    yield "odd_setitems", b"\x80\x02}(K\x01u.", broken
    yield "unhashable_key", b"\x80\x02}](K\x01s.", {}
    yield "no_stop", b"\x80\x02}", broken
    yield "two_protos", b"\x80\x02\x80\x04N.", {}
    yield "proto_9", b"\x80\x09N.", broken
    yield "unknown_opcode", b"\x80\x02N\xfe.", broken
    yield "self_reference", b"\x80\x02]q\0h\0a.", {}
    yield "self_dict", b"\x80\x02}q\0" + text("me") + b"h\0s.", {}
    yield "self_tuple", b"\x80\x02(]q\0tq\x01h\0h\x01a.", {}
    yield "self_build", b"\x80\x02" + named("a", "B") + b")\x81q\0h\0b.", {}
    yield "stack_global_ints", b"\x80\x04K\x01K\x02\x93.", unsafe
    yield "buffer", b"\x80\x05\x97\x98.", {}
    yield "surrogate", whole(dictionary(**{"\ud800": number(1)})), {}
    yield "bad_utf8", b"\x80\x02}X\x02\0\0\0\xff\xfeK\x01s.", {}
    yield "bad_float", b"Fnot a number\n.", broken
    yield "bad_string", b"S'unclosed\n.", broken


# --- invalid safetensors


def safe(header, data=b"\0" * 8):
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + data


def entry(dtype="F32", shape=(2,), place=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(place)}


def safetensors_lies():
    good = entry()
    some = ["damaged", "truncated", "bad-tensor", "size-mismatch", "limit"]
    bad = {"findings": some, "bad": ["w"]}
    yield "header_beyond", struct.pack("<Q", 5000) + b'{"w":{}}' + b"\0" * 100, {}
    yield "header_huge", struct.pack("<Q", 2**62) + b'{"w":{}}', {}
    yield "header_limit", struct.pack("<Q", 100_000_001) + b"{" + b" " * 2000, {}
    yield "duplicate", safe(b'{"w":%s,"w":%s}' % ((json.dumps(good).encode(),) * 2)), {
        "findings": ["duplicate"]
    }
    yield "metadata_twice", safe(
        b'{"__metadata__":{},"__metadata__":{},"w":%s}' % json.dumps(good).encode()
    ), {"findings": ["duplicate"]}
    yield "overlap", safe({"a": entry(), "b": entry(place=(4, 12))}, b"\0" * 12), {
        "findings": ["overlap"]
    }
    yield "hole", safe({"a": entry(), "b": entry(place=(16, 24))}, b"\0" * 24), {
        "findings": ["hole"]
    }
    yield "trailing", safe({"w": good}, b"\0" * 50), {"findings": ["trailing"]}
    yield "zip_behind", safe({"w": good}) + torch_zip(whole(SYSTEM)), {
        "findings": ["zip-trick"],
        "verdict": ["inconclusive"],
    }
    yield "cut", safe({"w": entry(shape=(200,), place=(0, 800))}), bad
    yield "shape_overflow", safe({"w": entry(shape=(2**40, 2**40))}), bad
    yield "negative", safe({"w": entry(shape=(-2,))}), bad
    yield "float_shape", safe({"w": entry(shape=(2.0,))}), bad
    yield "offsets_swapped", safe({"w": entry(place=(8, 0))}), bad
    yield "offset_overflow", safe({"w": entry(place=(2**64 - 4, 2**64 + 4))}), bad
    yield "size_lie", safe({"w": entry(shape=(3,))}), bad
    yield "unknown_dtype", safe({"w": entry(dtype="F33")}), {
        "findings": ["unsupported", "bad-tensor"]
    }
    yield "metadata_number", safe({"__metadata__": {"a": 1}, "w": good}), {}
    yield "metadata_list", safe({"__metadata__": [1, 2], "w": good}), {}
    yield "deep", safe(b'{"w":' + b"[" * 100_000 + b"]" * 100_000 + b"}"), {}
    yield "bad_utf8", safe(b'{"\xff\xfe":%s}' % json.dumps(good).encode()), {}
    yield "nul_name", safe({"a\0b": good}), {}
    yield "escape_name", safe({"\x1b[2J\u202e": good}), {}
    yield "spaces", safe(b"   " + json.dumps({"w": good}).encode()), {}
    yield "not_object", safe(b"[1,2,3]       "), {}
    yield "comma", safe(b'{"w":%s,}' % json.dumps(good).encode()), {}
    yield "after_object", safe(json.dumps({"w": good}).encode() + b" {}"), {}
    yield "many", safe({f"t{i}": entry() for i in range(20_000)}), {
        "findings": ["overlap"]
    }
    yield "rank", safe({"w": entry(shape=(1,) * 300)}), {}


# --- other containers


def legacy_lies():
    magic = pickle.dumps(0x1950A86A20F9469CFC6C, 2)
    info = {"protocol_version": 1001, "little_endian": True}
    head = magic + pickle.dumps(1001, 2) + pickle.dumps(info, 2)
    body = whole(dictionary(weight=tensor().replace(b"tQ", b"NtQ")))
    keys = pickle.dumps(["0"], 2)
    good = head + body + keys + struct.pack("<q", 2) + ONES
    listed = {"tensors": ["weight"]}
    yield "good", good, listed
    yield "numel_lie", good[:-16] + struct.pack("<q", 200) + ONES, {
        "findings": ["size-mismatch", "truncated"],
        **listed,
    }
    yield "numel_negative", good[:-16] + struct.pack("<q", -2) + ONES, {
        "findings": ["size-mismatch", "truncated", "damaged", "bad-tensor"],
        **listed,
    }
    yield "key_twice", head + body + pickle.dumps(["0", "0"], 2) + (
        struct.pack("<q", 2) + ONES
    ) * 2, {"findings": ["duplicate"], **listed}
    yield "key_unknown", head + body + pickle.dumps(["0", "7"], 2) + (
        struct.pack("<q", 2) + ONES
    ) * 2, listed
    yield "key_missing", head + body + pickle.dumps([], 2), {
        "findings": ["missing-record", "truncated"],
        **listed,
    }
    yield "appended", good + good, {"findings": ["trailing", "pickle-nested"], **listed}
    yield "evil", head + whole(SYSTEM) + pickle.dumps([], 2), {"verdict": ["unsafe"]}
    yield "evil_keys", head + body + whole(SYSTEM), {"verdict": ["unsafe"]}
    yield "evil_magic", whole(SYSTEM) + good, {"verdict": ["unsafe"]}
    yield "evil_protocol", magic + whole(SYSTEM) + good, {"verdict": ["unsafe"]}
    yield "evil_info", magic + pickle.dumps(1001, 2) + whole(SYSTEM) + body, {
        "verdict": ["unsafe"]
    }
    info["little_endian"] = False
    big = magic + pickle.dumps(1001, 2) + pickle.dumps(info, 2)
    swapped = struct.pack("<q", 2) + struct.pack(">2f", 1, 2)
    yield "big_endian", big + body + keys + swapped, {
        "findings": ["big-endian"],
        **listed,
    }


def tar_lies():
    def tar_of(members):
        done = io.BytesIO()
        with tarfile.open(fileobj=done, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name, data in members:
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        return done.getvalue()

    one = pickle.dumps(1, 2)
    floats = whole(
        b"(" + number(1) + text("cpu") + named("torch", "FloatStorage") + b"t"
    )
    shape = whole(b"(" + number(5) + number(1) + named("torch", "FloatTensor") + b"t")
    facts = struct.pack("<iiqqq", 1, 0, 2, 1, 0)
    members = {
        "sys_info": pickle.dumps({"protocol_version": 1000, "little_endian": True}, 2),
        "pickle": whole(dictionary(weight=text("5") + b"Q")),
        "tensors": one + shape + facts,
        "storages": one + floats + struct.pack("<q", 2) + ONES + pickle.dumps([], 2),
    }
    yield "good", tar_of(members.items()), {"tensors": ["weight"]}
    for name, change in {
        "rank": {"tensors": one + shape + struct.pack("<iiqqq", 2**30, 0, 2, 1, 0)},
        "count": {"tensors": pickle.dumps(2**40, 2) + shape + facts},
        "numel": {"storages": one + floats + struct.pack("<q", 2**60) + ONES},
        "evil": {"pickle": whole(SYSTEM)},
        "evil_storages": {"storages": one + whole(SYSTEM)},
        "evil_tensors": {"tensors": one + whole(SYSTEM)},
        "evil_info": {"sys_info": whole(SYSTEM)},
        "no_tensors": {"tensors": b""},
    }.items():
        # torch.load() unpickles each of these, weights_only or not (CVE-2025-32434).
        evil = {"verdict": ["unsafe"]} if name.startswith("evil") else {}
        yield name, tar_of({**members, **change}.items()), evil
    link = bytearray(tar_of(members.items()))
    link[124:136] = b"77777777777\0"
    yield "size", bytes(link), {}


def not_models():
    yield "pointer.pt", (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:"
        + b"0" * 64
        + b"\nsize 12345\n"
    ), "LFS"
    yield "page.pt", b"<!DOCTYPE html><html><body>404</body></html>", "page"
    yield "page2.pt", b"<html><head><title>no</title></head></html>", "page"
    yield "error.safetensors", b'{"error":"Repository not found"}', "error"
    yield "packed.pt", b"\x1f\x8b\x08\0\0\0\0\0" + b"x" * 50, "gzip"
    yield "packed.7z", b"7z\xbc\xaf\x27\x1c" + b"x" * 50, "7z"
    yield "packed.zst", b"\x28\xb5\x2f\xfd" + b"x" * 50, "zstd"
    yield "packed.bz2", b"BZh91AY&SY" + b"x" * 50, "bzip2"
    yield "packed.xz", b"\xfd7zXZ\0" + b"x" * 50, "xz"
    yield "packed.rar", b"Rar!\x1a\x07\0" + b"x" * 50, "rar"
    yield "zeros.bin", bytes(4096), ""
    yield "words.txt", b"hello, this is no model at all\n", ""
    yield "nothing.pt", b"", "empty"


def all_files():
    """(name, bytes, expectation) of every hostile file."""
    for name, data, expect in zip_tricks():
        yield f"zip_{name}", data, expect
    for name, data, expect in zip_techniques():
        yield f"zip_{name}.pt", data, expect
    yield from tensor_lies()
    for name, data, expect in attacks():
        yield f"pickle_{name}.pkl", data, expect
        if len(data) < 5000:
            yield f"pickle_{name}.pt", torch_zip(data), expect
    for name, data, expect in techniques():
        yield f"runs_{name}.pkl", data, expect
    for name, data, expect in safetensors_lies():
        yield f"safe_{name}.safetensors", data, expect
    for name, data, expect in gguf_files.lies():
        yield f"gguf_{name}.gguf", data, expect
    for name, data, expect in legacy_lies():
        yield f"legacy_{name}.pt", data, expect
    for name, data, expect in tar_lies():
        yield f"tar_{name}.tar", data, expect


def write_all(folder):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, data, _ in all_files():
        (folder / name).write_bytes(data)
    for name, data, _ in not_models():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    write_all(sys.argv[1])
