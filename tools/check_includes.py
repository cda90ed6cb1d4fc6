#!/usr/bin/env python3
"""Check the source against the table of rooms in ARCHITECTURE.md.

    check_includes.py [ROOT]

Every #include must be allowed by the table; a header named *_in.h stays in its room; a
library is used only by the room that owns it; a struct tag is defined once; no file is
longer than 800 lines, no folder has more than 36 .c files without tests; the program
needs at most a dozen shared libraries. Functions over 60 lines are only listed, because
a table or a switch may be that long.
"""

import re
import subprocess
import sys
from pathlib import Path

FILE_LINES = 800
FUNCTION_LINES = 60
FOLDER_FILES = 36
LIBRARIES = 12

# Headers that reveal a library, by its name in the last column of the table.
OWNED_HEADERS = {
    "zlib.h": "zlib",
    "curl/": "libcurl",
    "sqlite3.h": "sqlite3",
    "utf8proc.h": "utf8proc",
    "pcre2.h": "pcre2",
    "librsvg/": "librsvg",
    "cairo": "librsvg",
    "ncurses": "ncursesw",
    "curses.h": "ncursesw",
    "term.h": "ncursesw",
    "microhttpd.h": "libmicrohttpd",
    "Python.h": "Python.h",
}


class Room:
    def __init__(self, folder, may_include, library):
        self.folder = folder
        self.name = folder.partition("/")[2]  # "read", "read/pickle"
        self.may_include = may_include  # names of rooms: "base", "read/file", ...
        self.library = library

    def top(self):
        return self.name.partition("/")[0]


def read_rooms(page):
    """The rows of `| room | role | may include | library |`, keyed by folder."""
    rooms = {}
    for line in page.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        match = re.fullmatch(r"`((?:src|python)/\w+(?:/\w+)?)/?`", cells[0])
        if not match or len(cells) < 3:
            continue
        folder, allowed = match[1], cells[2].replace("`", "")
        names = {room.name for room in rooms.values()}
        if "of the above" not in allowed:
            names = set(re.findall(r"[\w/]+", allowed))
        library = cells[3] if len(cells) > 3 else ""
        rooms[folder] = Room(folder, names, library)
    return rooms


def check_file(path, room, known):
    """Messages about the includes of one file."""
    if path.name.endswith("_test.c"):  # a folder's test may include anything
        room = Room(room.folder, room.may_include | {room.top()}, room.library)
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not match:
            continue
        bracket, name = match.groups()
        sentence = check_ours(name, room, known) if bracket == '"' else None
        if bracket == "<":
            sentence = check_library(name, room)
        if sentence:
            yield f"{path}:{number}: {sentence}"


def check_ours(name, room, known):
    """A room that may include another may include all its folders; folders inside a
    room include one another only as the table lists."""
    other = name.rpartition("/")[0]
    top = other.partition("/")[0]
    if other not in known:
        return f'"{name}" does not begin with the name of a room'
    outside = top if top != room.top() else other
    if other != room.name and not {other, outside} & room.may_include:
        return f"{room.name} may not include {other} (ARCHITECTURE.md)"
    if name.endswith("_in.h") and top != room.top():
        return f'"{name}" is for the inside of {top} only'
    return None


def check_library(name, room):
    for header, library in OWNED_HEADERS.items():
        if name.startswith(header) and library not in room.library:
            return f"<{name}>: {library} does not belong to {room.folder}"
    return None


def check_rooms(root, rooms):
    known = {room.name for room in rooms.values()}
    for path in c_files(root):
        folder = str(path.relative_to(root).parent)
        if folder not in rooms:
            yield f"{path}: {folder} is not in the table of rooms (ARCHITECTURE.md)"
            continue
        yield from check_file(path, rooms[folder], known)


def check_tags(root):
    """A struct, union or enum tag is unique in the whole tree."""
    defined = {}
    for path in c_files(root):
        if path.name.endswith("_test.c"):
            continue
        for tag in re.findall(r"^(?:struct|union|enum) (\w+) \{", path.read_text(), re.M):
            defined.setdefault(tag, []).append(path)
    for tag, paths in sorted(defined.items()):
        if len(paths) > 1:
            places = ", ".join(str(path.relative_to(root)) for path in paths)
            yield f"the tag {tag} has several meanings: {places}"


def c_files(root):
    for folder in ("src", "python"):
        yield from sorted((root / folder).glob("**/*.[ch]"))


def source_files(root):
    for folder in ("src", "python", "tests", "tools"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".py", ".js") and path.is_file():
                yield path


def check_folders(root, rooms):
    for folder in rooms:
        names = [path.name for path in (root / folder).glob("*.c")]
        n = sum(not name.endswith("_test.c") for name in names)
        if n > FOLDER_FILES:
            yield f"{folder}: {n} .c files; split it, {FOLDER_FILES} is the limit"


def check_size(path):
    lines = len(path.read_text(errors="replace").splitlines())
    if lines > FILE_LINES:
        yield f"{path}: {lines} lines; split it, {FILE_LINES} is the limit"


def long_functions(path):
    """A function body is between a "{" and a "}" in the first column."""
    start = None
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if line == "{":
            start = number
        elif line.startswith("}") and start:
            if number - start - 1 > FUNCTION_LINES:
                yield f"{path}:{start}: a function of {number - start - 1} lines"
            start = None


def check_program(program):
    """Limit shared libraries: each one slows down every start."""
    if not program.exists():
        return
    dynamic = subprocess.run(
        ["readelf", "-d", program], capture_output=True, text=True, check=True
    )
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic.stdout)
    if len(needed) > LIBRARIES:
        yield f"{program}: needs {len(needed)} libraries: {' '.join(needed)}"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    page = root / "ARCHITECTURE.md"
    if not page.exists():
        sys.exit(f"{page} is missing: it holds the table of rooms to check against")
    rooms = read_rooms(page)
    if not rooms:
        sys.exit(f"{page} has no table of rooms (| `src/base` | role | may include |)")
    wrong = list(check_rooms(root, rooms)) + list(check_tags(root))
    wrong += check_folders(root, rooms)
    for path in source_files(root):
        wrong += check_size(path)
        for sentence in long_functions(path) if path.suffix == ".c" else ():
            print(f"note: {sentence}", file=sys.stderr)
    wrong += check_program(root / "build" / "torchoscope")
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


main()
