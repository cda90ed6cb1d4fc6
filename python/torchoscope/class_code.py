"""The source text of classes. As Python's inspect finds it, but for one thing: inspect
parses the whole file for each class, which takes long for large files."""

import contextlib
import inspect
import linecache
import re
import types


def code_of(kind):
    """(file, number of its first line, text) of a class; None if nobody knows."""
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
    """(class, file, number of its first line, text) of a forward() that a class
    inherits from another than torch's Module; None if it has its own."""
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
    """Counted from 0: the nearest `class NAME` above its methods, with its decorators;
    None if that is not sure."""
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
    # Else a decorator of several lines may stand above.
    return number if number == 0 or not lines[number - 1].strip() else None


def _method_lines(kind, file):
    """The lines in which methods of the class begin, counted from 0."""
    for value in vars(kind).values():
        with contextlib.suppress(Exception):
            code = inspect.unwrap(value).__code__
            is_own = value.__qualname__ == f"{kind.__qualname__}.{value.__name__}"
            if isinstance(code, types.CodeType) and is_own and code.co_filename == file:
                yield code.co_firstlineno - 1
