"""The terminal explorer in the user's process: where it can be shown, and how."""

import collections
import contextlib
import io
import multiprocessing
import os
import sys
import threading

from torchoscope import _core

_KEPT = 1 << 20  # characters that are printed meanwhile and kept for afterwards


def show(core, live=None, record=None, **look):
    """Explore a _core.Model or _core.Run on the terminal until the user leaves. False:
    there is none, or it is not ours to take. With columns and rows: the text of one
    screen. See python/ext/types/explore.h."""
    look = {key: value for key, value in look.items() if value is not None}
    if "columns" in look:
        return _core.explore(core, live, record, **look)
    if not can_show():
        return False
    with _prints_later():
        return _core.explore(core, live, record, **look)


def can_show():
    """Only the main thread of the program that has the terminal may take it. Who
    catches what is printed, as tests do, wants it printed."""
    out = sys.stdout
    if out is not sys.__stdout__ and not _is_terminal(out):
        return False
    if threading.current_thread() is not threading.main_thread():
        return False
    # One of several processes that do the same: not all of them can have it.
    if multiprocessing.parent_process() or os.environ.get("LOCAL_RANK", "0") != "0":
        return False
    return _in_foreground()


def _is_terminal(stream):
    try:
        return stream.isatty()
    except Exception:
        return False


def _in_foreground():
    """In the background it would be stopped for touching the terminal."""
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
    """In the place of a terminal that shows something else: what is written to it comes
    when that is over."""

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
        """A terminal that is gone takes nothing, and that is nobody's fault."""
        with contextlib.suppress(OSError, ValueError):
            self._stream.write("".join(self._texts))
            self._stream.flush()


@contextlib.contextmanager
def _prints_later():
    """What the program prints meanwhile, in other threads too, would spoil the screen."""
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
