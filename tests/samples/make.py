#!/usr/bin/env python3
"""Make the sample files of the tests with whatever torch runs this script.

    make.py [FOLDER]

They go to build/samples/TORCH_VERSION/, with manifest.json, which holds the truth about
every file: torch's own facts about each tensor. Files that are up to date are kept,
without loading torch. Nothing here is hostile: for that see hostile.py.
"""

import fcntl
import hashlib
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent


def torch_version():
    """The version of torch, without importing it, which would take seconds."""
    page = Path(find_spec("torch").origin).with_name("version.py").read_text()
    return re.search(r"__version__ *= *['\"]([^'\"]+)", page)[1]


def source_digest():
    digest = hashlib.sha256(torch_version().encode())
    for path in sorted(HERE.glob("*.py")):
        if path.name != "hostile.py":
            digest.update(path.read_bytes())
    return digest.hexdigest()


def main():
    root = HERE.parents[1] / "build" / "samples"
    name = torch_version().split("+")[0]
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else root / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = folder / "made_from"
        digest = source_digest()
        if not stamp.exists() or stamp.read_text() != digest:
            sys.path.insert(0, str(HERE))
            import sample_sets

            shutil.rmtree(folder, ignore_errors=True)
            sample_sets.make_all(folder)
            stamp.write_text(digest)
    print(folder)


if __name__ == "__main__":
    main()
