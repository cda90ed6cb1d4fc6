"""Checks the arguments of watch() and log(); an error is one sentence."""

import numbers
import os

LIMIT_LEAST = 1_000_000  # LIMIT_LEAST of src/history/writer_file.c


def is_number(value):
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def listed(name, value):
    """A list of words, or a single one, as a list."""
    if value is None or isinstance(value, str):
        return [value]
    try:
        return list(value)
    except TypeError:
        raise TypeError(f"{name} must be a list, not {value!r}") from None


def checked_limit(size, limit):
    """The bytes that a file may have."""
    if not LIMIT_LEAST <= size < 1 << 62:
        raise ValueError(f"limit must be 1MB or more, not {limit!r}")
    return size


def check_path(name, value):
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} must be a path, not {value!r}")


def number_of(name, value):
    """A scalar as a float; of a tensor without its graph."""
    try:
        return float(value.detach() if hasattr(value, "detach") else value)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        text = f"{name} must be a single number, not {type(value).__name__}"
        raise TypeError(text) from None
