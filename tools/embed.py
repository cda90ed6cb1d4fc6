#!/usr/bin/env python3
"""embed.py --depfile=FILE OUTPUT NAME=FILE[+FILE...]... - embeds files as strings in a
C header.

Each NAME becomes `static const char NAME[]`, the concatenated FILEs. NAME:page is an ES
module or a style with all its imports, bundled and minified by esbuild; NAME:file too,
but with unchanged identifiers, because people read such a file. NAME:parts is an
ES module with an import(): NAME_page, NAME_chunk (shared code) and NAME_more are the
modules page.js, chunk.js and more.js. FILE lists the inputs, for ninja."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PARTS = ["page", "chunk", "more"]
# A module runs in strict mode, a script only with this directive.
STRICT = "--banner:js='use strict';"
KINDS = {
    "page": ["--minify", "--format=iife", STRICT],
    "file": ["--minify-whitespace", "--minify-syntax", "--format=esm", STRICT],
}


class Refused(Exception):
    """An error of esbuild."""


def esbuild(entry, folder, options):
    """Bundles into a folder; returns the paths of the inputs."""
    told = Path(folder, "told")
    command = ["esbuild", str(entry), "--bundle", *options, "--charset=utf8"]
    command += [f"--metafile={told}", "--log-level=warning"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode or done.stderr:
        raise Refused(f"{entry} was not bundled:\n{done.stderr.strip()}")
    return list(json.loads(told.read_text("utf-8"))["inputs"])


def bundle(entry, options=KINDS["page"]):
    """A module or a style with all its imports, and their paths."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "text")
        read = esbuild(entry, folder, [*options, f"--outfile={text}"])
        return text.read_text("utf-8"), read


def split(entry):
    """The texts of PARTS, by name, and the paths of the inputs."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--minify", "--format=esm", "--splitting", f"--outdir={folder}"]
        options += ["--entry-names=page", "--chunk-names=[name]"]
        read = esbuild(entry, folder, options)
        made = {path.stem: path.read_text("utf-8") for path in Path(folder).glob("*.js")}
    if sorted(made) != sorted(PARTS):
        raise Refused(f"{entry} has the parts {sorted(made)}, not {PARTS}")
    return made, read


def contents(name, kind, value):
    """Texts by name, and the files they are built from."""
    if kind == "parts":
        parts, read = split(value)
        return {f"{name}_{part}": parts[part] for part in PARTS}, read
    if kind:
        text, read = bundle(value, KINDS[kind])
        return {name: text}, read
    text, files = "", value.split("+")
    for path in files:
        with open(path, encoding="utf-8") as file:
            text += file.read()
    return {name: text}, files


def literal(text):
    """One C string for each line, or for each part of a long one. Bytes that are not
    printable ASCII are octal; ?? could begin a trigraph."""
    parts = re.findall(r".{1,80}\n?|\n", text)
    return "\n    ".join('"' + "".join(map(escape, part)) + '"' for part in parts)


def escape(char):
    if char in '"\\?':
        return "\\" + char
    if " " <= char <= "~":
        return char
    return "\\n" if char == "\n" else "".join(f"\\{byte:03o}" for byte in char.encode())


def main():
    depfile, output, *wanted = sys.argv[1:]
    header, read = "/* Made by tools/embed.py. */\n", []
    for one in wanted:
        name, value = one.split("=", 1)
        name, _, kind = name.partition(":")
        texts, files = contents(name, kind, value)
        for one, text in texts.items():
            header += f"static const char {one}[] =\n    {literal(text)};\n"
        read += files
    with open(output, "w", encoding="ascii") as file:
        file.write(header)
    names = [name.replace(" ", "\\ ") for name in [output, *read]]
    with open(depfile.removeprefix("--depfile="), "w", encoding="utf-8") as file:
        file.write(f"{names[0]}: {' '.join(names[1:])}\n")


if __name__ == "__main__":
    try:
        main()
    except Refused as refused:
        sys.exit(f"tools/embed.py: {refused}")
