#!/usr/bin/env python3
"""embed.py OUTPUT NAME=FILE[+FILE...]... - files as texts in a C header.

Each NAME becomes `static const char NAME[]`, the FILEs one behind the other. NAME:css
drops comments and indentation of styles. NAME:modules=MODULE,MODULE,... makes one script
of ES modules: see bundle.py."""

import json
import sys

import bundle


def literal(text):
    """One C string for each line; JSON quotes ASCII as C does, and C knows the escapes
    of other characters (an emoji would be two). ?? could begin a trigraph."""
    lines = [
        json.dumps(line).replace("??", "?\\?") for line in text.splitlines(keepends=True)
    ]
    return "\n    ".join(lines)


def content(kind, value):
    if kind == "modules":
        return bundle.bundle(value.split(","))[0]
    text = ""
    for path in value.split("+"):
        with open(path, encoding="utf-8" if kind else "ascii") as file:
            text += file.read()
    return bundle.strip_style(text) if kind == "css" else text


def main():
    output, *wanted = sys.argv[1:]
    try:
        with open(output, "w", encoding="ascii") as header:
            header.write("/* Made by tools/embed.py. */\n")
            for one in wanted:
                name, value = one.split("=", 1)
                name, _, kind = name.partition(":")
                text = literal(content(kind, value))
                header.write(f"static const char {name}[] =\n    {text};\n")
    except bundle.Refused as refused:
        sys.exit(f"tools/embed.py: {refused}")


main()
