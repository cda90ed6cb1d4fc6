"""Decides how often to log, from the measured cost of logging, including the thread
that writes the history, and the bytes that it writes per second."""

import collections
import statistics
import time

from torchoscope.recorder import SKIP

BYTES_PER_SECOND = 10**6  # on average
_AT_ONCE = 16 * 10**6  # bytes of initial allowance
_PASS_NS = 8000  # estimate for the Python code around each step, logged or not
_MOST = 3  # limit of the correction factor
_KNOWN = 5  # steps that were not logged, before their median counts


class Paced:
    """The rule of a budget (as in a recording), which also learns the cost of the file
    and of steps that are not logged. `writer` is None until there is a file."""

    def __init__(self, rule):
        self._rule, self.writer = rule, None
        self._began, self._cpu_ns = time.monotonic(), 0
        self._plain = collections.deque(maxlen=15)  # ns of steps that were not logged
        self._ratios = collections.deque(maxlen=9)
        self._early = []  # (whole, own, excused) of the first logged steps
        self._excused = 0  # ns, of the current step

    @property
    def cost(self):
        return self._rule.cost

    def owe(self, took_ns):
        """Count the time of work that only the current step does."""
        self._rule.owe(took_ns)
        self._excused += took_ns

    def report(self, mode, user_ns, own_ns, measured):
        """Logged steps take longer than counted: torch calls more hooks, Python
        collects more garbage, caches are cold. Comparing with the steps between them
        shows by how much."""
        whole = user_ns + own_ns
        if mode == SKIP:
            self._plain.append(whole)
            if len(self._plain) >= _KNOWN:
                self._charge_early()
        elif len(self._plain) < _KNOWN:
            if len(self._early) < _KNOWN:
                self._early.append((whole, own_ns, self._excused))
        elif own_ns > 0:
            more = whole - statistics.median(self._plain)
            self._ratios.append(more / own_ns)
            factor = statistics.median(self._ratios) if len(self._ratios) > 2 else 1
            own_ns = min(int(own_ns * min(max(factor, 1), _MOST)), whole)
        self._excused = 0
        own_ns = min(own_ns + _PASS_NS, whole)
        self._rule.report(mode, whole - own_ns, own_ns, measured)

    def _charge_early(self):
        """Charge the excess of the first logged steps, when the duration of a step is
        known. The limit matters if the user's own first step is slow (compilation)."""
        plain = statistics.median(self._plain)
        for whole, own_ns, excused in self._early:
            excess = max(0, whole - own_ns - plain)
            self._rule.owe(int(min(excess, (_MOST - 1) * (own_ns + excused))))
        self._early.clear()

    def next(self):
        mode = self._rule.next()
        if mode == SKIP or self.writer is None:
            return mode
        state = self.writer.state()
        self._rule.owe(max(0, state["cpu_ns"] - self._cpu_ns))
        self._cpu_ns = state["cpu_ns"]
        may = _AT_ONCE + BYTES_PER_SECOND * (time.monotonic() - self._began)
        return self._rule.next() if state["disk_bytes"] <= may else SKIP
