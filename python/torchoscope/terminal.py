"""Runs the terminal explorer in the user's process, if there is a terminal."""

import collections
import contextlib
import io
import multiprocessing
import os
import sys
import threading

from torchoscope import _core

_KEPT = 1 << 20  # limit of characters kept while the explorer runs


def show(core, live=None, record=None, **look):
    """Explore a _core.Model or _core.Run on the terminal until the user leaves. Returns
    False if can_show() does. With columns and rows, returns the text of one screen.
    See python/ext/types/explore.h."""
    look = {key: value for key, value in look.items() if value is not None}
    if "columns" in look:
        return _core.explore(core, live, record, **look)
    if not can_show():
        return False
    with _prints_later():
        return _core.explore(core, live, record, **look)


def can_show():
    """Can the explorer use the terminal? Only in the main thread of the foreground
    process, and not if stdout is captured, as in tests."""
    out = sys.stdout
    if out is not sys.__stdout__ and not _is_terminal(out):
        return False
    if threading.current_thread() is not threading.main_thread():
        return False
    # Only one of several worker processes can use the terminal.
    if multiprocessing.parent_process() or os.environ.get("LOCAL_RANK", "0") != "0":
        return False
    return _in_foreground()


def _is_terminal(stream):
    try:
        return stream.isatty()
    except Exception:
        return False


def _in_foreground():
    """A background process would be stopped when it uses the terminal."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


class _Later(io.TextIOBase):
    """Replaces stdout or stderr while the explorer uses the terminal, and keeps what is
    written until give_back()."""

    def __init__(self, stream):
        self._stream = stream
        self._texts = collections.deque()
        self._length = 0

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() takes a str, not {type(text).__name__}")
        self._texts.append(text)
        self._length += len(text)
        while self._length > _KEPT and len(self._texts) > 1:
            self._length -= len(self._texts.popleft())
        return len(text)

    def writable(self):
        return True

    def isatty(self):
        return True

    def fileno(self):
        return self._stream.fileno()

    @property
    def encoding(self):
        return self._stream.encoding

    @property
    def errors(self):
        return self._stream.errors

    def give_back(self):
        """Write the kept text. Ignores errors: the terminal may have hung up."""
        with contextlib.suppress(OSError, ValueError):
            self._stream.write("".join(self._texts))
            self._stream.flush()


@contextlib.contextmanager
def _prints_later():
    """Delays output of the program, including its other threads, which would corrupt
    the screen."""
    held = {}
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and _is_terminal(stream):
            with contextlib.suppress(Exception):
                stream.flush()
            held[name] = stream, _Later(stream)
            setattr(sys, name, held[name][1])
    try:
        yield
    finally:
        for name, (stream, later) in held.items():
            if getattr(sys, name) is later:
                setattr(sys, name, stream)
            later.give_back()
