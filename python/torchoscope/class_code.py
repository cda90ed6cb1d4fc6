"""The source code of classes. Same results as Python's inspect, but faster: inspect
parses the whole file for each class."""

import contextlib
import inspect
import linecache
import re
import types


def code_of(kind):
    """(file, first line number, source) of a class; None if unknown."""
    try:
        file = inspect.getsourcefile(kind)
        linecache.checkcache(file)
        names = getattr(inspect.getmodule(kind), "__dict__", None)
        lines = linecache.getlines(file, names)
        first = _first_line(kind, file, lines)
        if first is not None:
            return file, first + 1, "".join(inspect.getblock(lines[first:]))
        lines, first = inspect.getsourcelines(kind)
        return file, first, "".join(lines)
    except Exception:  # a built-in class, a deleted file
        return None


def inherited(kind):
    """(class, file, first line number, source) of an inherited forward(); None if the
    class defines its own or inherits that of nn.Module."""
    try:
        for base in kind.__mro__:
            if "forward" not in vars(base):
                continue
            if base is kind or base.__module__ == "torch.nn.modules.module":
                return None
            function = inspect.unwrap(vars(base)["forward"])
            lines, first = inspect.getsourcelines(function)
            return base.__qualname__, inspect.getsourcefile(function), first, "".join(lines)
    except Exception:  # no function, or no source
        pass
    return None


def _first_line(kind, file, lines):
    """Index, from 0, of the nearest `class NAME` line above its methods, or of its
    first decorator; None if uncertain."""
    pattern = re.compile(rf"\s*class\s+{re.escape(kind.__name__)}\b")
    found = [number for number, line in enumerate(lines) if pattern.match(line)]
    if not found:
        return None
    methods = [line for line in _method_lines(kind, file) if line > found[0]]
    if len(found) > 1 and not methods:
        return None
    number = found[-1] if not methods else max(n for n in found if n < min(methods))
    while number > 0 and lines[number - 1].lstrip().startswith("@"):
        number -= 1
    # A non-empty line above may be part of a multi-line decorator.
    return number if number == 0 or not lines[number - 1].strip() else None


def _method_lines(kind, file):
    """The first lines of the class's methods, from 0."""
    for value in vars(kind).values():
        with contextlib.suppress(Exception):
            code = inspect.unwrap(value).__code__
            is_own = value.__qualname__ == f"{kind.__qualname__}.{value.__name__}"
            if isinstance(code, types.CodeType) and is_own and code.co_filename == file:
                yield code.co_firstlineno - 1
