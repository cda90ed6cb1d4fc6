"""What calls took on a device: events of torch around each, read when the outermost one
ends. Inside a hook nothing waits for the device."""

import threading

import torch

MOST = 1 << 16  # marks of one pass; calls beyond them are not timed

START, END, OURS, REST = range(4)


class Clock:
    """Of one device, by what this torch has for it."""

    def __init__(self, device):
        self._device = device
        self._kind = kind = getattr(torch, device.type)
        self._stream = getattr(kind, "current_stream", None)
        self._allocated = getattr(kind, "memory_allocated", None)

    def mark(self):
        """An event at the end of all work that was asked for so far."""
        if hasattr(self._kind, "Event"):
            event = self._kind.Event(enable_timing=True)
        else:
            event = torch.Event(self._device, enable_timing=True)
        event.record(*([self._stream(self._device)] if self._stream else []))
        return event

    def wait(self, event):
        event.synchronize()

    def between(self, a, b):
        """Nanoseconds; both must be over."""
        return round(a.elapsed_time(b) * 1e6)

    def allocated(self):
        """Bytes, or None."""
        return self._allocated(self._device) if self._allocated else None

    def is_capturing(self):
        return is_capturing(self._device)


def is_capturing(device):
    """Is a graph of this device being captured? Then nothing may be added or read."""
    kind = getattr(torch, device.type, None)
    ask = getattr(kind, "is_current_stream_capturing", None)
    return bool(ask is not None and device.type != "cpu" and ask())


def clock_of(modules):
    """A clock for the one device that the tensors of these [(name, module), ...] lie
    on; None if that is the processor, if they are several, or if it has none."""
    devices = set()
    for _, module in modules:
        try:
            for tensors in (module._parameters, module._buffers):
                for one in tensors.values():
                    if one is not None and not one.is_cpu:  # that is quick to ask
                        devices.add(one.device)
        except Exception:  # TorchScript has them elsewhere
            continue
    devices = {one for one in devices if one.type not in ("cpu", "meta")}
    if len(devices) != 1:
        return None
    try:
        clock = Clock(devices.pop())
        if clock.is_capturing():
            return None
        first, last = clock.mark(), clock.mark()
        clock.wait(last)
        clock.between(first, last)
        clock.allocated()
    except Exception:  # what it is called with differs between devices
        return None
    return clock


class _Thread:
    def __init__(self):
        self.rows = []  # (kind, call, event, bytes), in the order of the stream
        self.open = []  # calls that have begun
        self.is_ours = False  # work of ours is under way
        self.lost = False  # too many


class Marks:
    """Of the calls of one recorder, thread by thread. Without a clock all of this does
    nothing; one that fails is not asked again."""

    def __init__(self, clock):
        self._clock = clock
        self._threads = {}
        self.told = False  # some call had its time

    def is_capturing(self):
        return self._clock is not None and self._clock.is_capturing()

    def start(self, call, serial):
        """Just before forward; it ends work of ours."""
        thread = self._threads.setdefault(threading.get_ident(), _Thread())
        thread.is_ours = False
        if self._mark(thread, START, (call, serial)):
            thread.open.append((call, serial))

    def end(self, call, serial):
        """Just after forward. Calls inside it that did not end never will."""
        thread = self._threads.get(threading.get_ident())
        if thread is not None and (call, serial) in thread.open:
            del thread.open[thread.open.index((call, serial)) :]
            self._mark(thread, END, (call, serial))

    def ours(self):
        """What is asked for from now on is work of ours."""
        thread = self._threads.get(threading.get_ident())
        if thread is not None and thread.open and not thread.is_ours:
            thread.is_ours = self._mark(thread, OURS)

    def rest(self):
        """Work of ours ends."""
        thread = self._threads.get(threading.get_ident())
        if thread is not None and thread.is_ours:
            thread.is_ours = False
            self._mark(thread, REST)

    def _mark(self, thread, kind, call=None):
        clock = self._clock
        thread.lost = thread.lost or len(thread.rows) >= MOST
        if clock is None or thread.lost:
            return False
        try:
            if clock.is_capturing():
                return False
            row = kind, call, clock.mark(), clock.allocated()
        except Exception:
            self._clock = None
            return False
        thread.rows.append(row)
        return True

    def times(self):
        """[(call, serial, ns, bytes or None), ...] of the calls of this thread that
        have ended; work of ours that was done inside is taken off."""
        thread = self._threads.pop(threading.get_ident(), None)
        if thread is None or not thread.rows or self._clock is None:
            return []
        try:
            found = [] if self.is_capturing() else self._read(thread.rows)
        except Exception:
            self._clock = None
            return []
        self.told = self.told or bool(found)
        return found

    def _read(self, rows):
        clock, found, begun = self._clock, [], []
        clock.wait(rows[-1][2])
        ns = [clock.between(rows[0][2], event) for _, _, event, _ in rows]
        ours, own_ns, own_bytes = None, 0, 0
        for i, (kind, call, _, _) in enumerate(rows):
            if ours is not None and kind in (START, REST):
                own_ns += ns[i] - ns[ours]
                own_bytes += _more(rows, ours, i) or 0
                ours = None
            if kind == START:
                begun.append((call, i, own_ns, own_bytes))
            elif kind == OURS:
                ours = i
            elif kind == END:
                before = begun.pop()
                while before[0] != call:
                    before = begun.pop()
                _, first, was_ns, was_bytes = before
                took = ns[i] - ns[first] - (own_ns - was_ns)
                more = _more(rows, first, i)
                if more is not None:
                    more -= own_bytes - was_bytes
                # 0 would say that it is not known.
                found.append((*call, max(1, took), more))
        return found


def _more(rows, first, last):
    """Bytes that were allocated between two marks, or None."""
    if rows[first][3] is None or rows[last][3] is None:
        return None
    return rows[last][3] - rows[first][3]
