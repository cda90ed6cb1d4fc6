"""The examples in the documents that torchoscope.compat is based on. The tests use the
copies in tests/python/seeds/: headings and blocks of code, with the import lines
changed. The documents themselves may be in ../shared/seeds.

    seeds.py            write the copies again from the documents
"""

import re
import sys
from pathlib import Path

COPIES = Path(__file__).resolve().parent / "seeds"
ORIGINALS = Path(__file__).resolve().parents[3] / "shared" / "seeds"
_IMPORT = "from torchoscope.compat import torchexplorer"
NUMBERS = ("000", "001", "002", "003", "004")


def blocks(text):
    """[(heading, language, code)] of a document in Markdown."""
    found, heading, language, code = [], "", None, []
    for line in text.splitlines():
        if language is None and line.startswith("#"):
            heading = line.strip("# ")
        elif language is None and line.startswith("```"):
            language, code = line[3:].strip(), []
        elif language is not None and line.startswith("```"):
            found.append((heading, language, "\n".join(code)))
            language = None
        elif language is not None:
            code.append(line.rstrip())
    return found


def original(number):
    """A document with its encoding repaired: one was stored as UTF-8 read as cp1252.
    None if it is missing."""
    file = next(ORIGINALS.glob(f"{number}_*.txt"), None)
    if file is None:
        return None
    text = file.read_text(encoding="utf-8")
    return "\n".join(map(_repaired, text.splitlines()))


def _repaired(line):
    try:
        return line.encode("cp1252").decode("utf-8")
    except UnicodeError:
        return line


def changed(code):
    """The only change: the import line."""
    code = code.replace("from model_", "from torchoscope.compat.model_")
    code = code.replace("from torch_vis ", "from torchoscope.compat.torch_vis ")
    code = re.sub(r"(?m)^import torchexplorer$", _IMPORT, code)
    ours = "torchoscope.compat.rp"
    code = re.sub(r"(?m)^( *)import rp$", rf"\1import {ours} as rp", code)
    return re.sub(r"(?m)^( *)from rp\.libs\.\w+ import", rf"\1from {ours} import", code)


def copy(number):
    return (COPIES / f"{number}.md").read_text(encoding="utf-8")


def main():
    COPIES.mkdir(exist_ok=True)
    for number in NUMBERS:
        text = original(number)
        if text is None:
            sys.exit(f"{ORIGINALS}: there is no document {number}")
        parts = (
            f"## {heading}\n\n```{language}\n{changed(code)}\n```\n"
            for heading, language, code in blocks(text)
        )
        (COPIES / f"{number}.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
