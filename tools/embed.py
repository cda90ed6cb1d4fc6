#!/usr/bin/env python3
"""embed.py OUTPUT NAME=FILE[+FILE...]... - files as texts in a C header.

Each NAME becomes `static const char NAME[]`, the FILEs one behind the other."""

import json
import sys


def literal(text):
    """One C string for each line; JSON quotes ASCII as C does."""
    lines = [json.dumps(line) for line in text.splitlines(keepends=True)]
    return "\n    ".join(lines)


def main():
    output, *wanted = sys.argv[1:]
    with open(output, "w", encoding="ascii") as header:
        header.write("/* Made by tools/embed.py. */\n")
        for one in wanted:
            name, files = one.split("=", 1)
            text = ""
            for path in files.split("+"):
                with open(path, encoding="ascii") as file:
                    text += file.read()
            header.write(f"static const char {name}[] =\n    {literal(text)};\n")


main()
