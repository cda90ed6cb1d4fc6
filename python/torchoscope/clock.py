"""Device time of calls: torch events before and after each call, read when the
outermost call ends. Hooks never wait for the device."""

import threading

import torch

MOST = 1 << 16  # marks per pass; calls beyond this are not timed

START, END, OURS, REST = range(4)


class Clock:
    """Events and memory counters of one device, if this torch has them."""

    def __init__(self, device):
        self._device = device
        self._kind = kind = getattr(torch, device.type)
        self._stream = getattr(kind, "current_stream", None)
        self._allocated = getattr(kind, "memory_allocated", None)

    def mark(self):
        """An event after all work queued so far."""
        if hasattr(self._kind, "Event"):
            event = self._kind.Event(enable_timing=True)
        else:
            event = torch.Event(self._device, enable_timing=True)
        event.record(*([self._stream(self._device)] if self._stream else []))
        return event

    def wait(self, event):
        event.synchronize()

    def between(self, a, b):
        """Nanoseconds between two events; both must have completed."""
        return round(a.elapsed_time(b) * 1e6)

    def allocated(self):
        """Allocated bytes, or None if unknown."""
        return self._allocated(self._device) if self._allocated else None

    def is_capturing(self):
        return is_capturing(self._device)


def is_capturing(device):
    """Is a graph being captured on this device? If so, queue and read nothing."""
    kind = getattr(torch, device.type, None)
    ask = getattr(kind, "is_current_stream_capturing", None)
    return bool(ask is not None and device.type != "cpu" and ask())


def clock_of(modules):
    """A clock for the device of the tensors of these [(name, module), ...]. None if
    they are on the CPU or on several devices, or if the device has no events."""
    devices = set()
    for _, module in modules:
        try:
            for tensors in (module._parameters, module._buffers):
                for one in tensors.values():
                    if one is not None and not one.is_cpu:  # a cheap check
                        devices.add(one.device)
        except Exception:  # TorchScript stores them elsewhere
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
    except Exception:  # signatures differ between devices
        return None
    return clock


class _Thread:
    def __init__(self):
        self.rows = []  # (kind, call, event, bytes), in stream order
        self.open = []  # calls that have not ended
        self.is_ours = False  # torchoscope is queueing its own work
        self.lost = False  # more than MOST marks


class Marks:
    """The marks of one recorder's calls, per thread. Does nothing without a clock, or
    after the clock has failed once."""

    def __init__(self, clock):
        self._clock = clock
        self._threads = {}
        self.has_times = False  # at least one call was timed

    def is_capturing(self):
        return self._clock is not None and self._clock.is_capturing()

    def start(self, call, serial):
        """Call just before forward. Ends the recorder's own work."""
        thread = self._threads.setdefault(threading.get_ident(), _Thread())
        thread.is_ours = False
        if self._mark(thread, START, (call, serial)):
            thread.open.append((call, serial))

    def end(self, call, serial):
        """Call just after forward. Drops inner calls that have not ended."""
        thread = self._threads.get(threading.get_ident())
        if thread is not None and (call, serial) in thread.open:
            del thread.open[thread.open.index((call, serial)) :]
            self._mark(thread, END, (call, serial))

    def ours(self):
        """The recorder's own work begins: subtract it from the calls' times."""
        thread = self._threads.get(threading.get_ident())
        if thread is not None and thread.open and not thread.is_ours:
            thread.is_ours = self._mark(thread, OURS)

    def rest(self):
        """The recorder's own work ends."""
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
        """[(call, serial, ns, bytes or None), ...] for the ended calls of this thread,
        without the recorder's own work."""
        thread = self._threads.pop(threading.get_ident(), None)
        if thread is None or not thread.rows or self._clock is None:
            return []
        try:
            found = [] if self.is_capturing() else self._read(thread.rows)
        except Exception:
            self._clock = None
            return []
        self.has_times = self.has_times or bool(found)
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
                # 0 would mean unknown.
                found.append((*call, max(1, took), more))
        return found


def _more(rows, first, last):
    """Bytes allocated between two marks, or None if unknown."""
    if rows[first][3] is None or rows[last][3] is None:
        return None
    return rows[last][3] - rows[first][3]
