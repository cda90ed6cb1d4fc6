"""watch(group=True): rank 0 writes the steps of all ranks into one file.

A thread of each rank sends a logged step to rank 0: one all-reduce (the step number,
the number of bytes, the checksum of the parameters) and one gather, on a separate gloo
group. The training thread only queues bytes. If a rank does not answer within the
timeout, dies, or is at another step, the exchange ends on every rank that detects it.
Each of them continues with its own file, beginning with the steps that were not sent.
"""

import contextlib
import ctypes
import queue
import threading
import time
import warnings
from datetime import timedelta

import torch

from torchoscope import watch_ranks

SECONDS = 30  # the default timeout
_MOST = 64  # steps in the queue


def make(wanted, place):
    """A Group, or None: not requested, or this process trains alone."""
    store = watch_ranks._store() if wanted else None
    if store is None or place is None or place.ranks < 2:
        return None
    return Group(store, place, SECONDS if wanted is True else float(wanted))


class Group:
    """`problem` is a sentence once the exchange has ended, else None. Rank 0 must set
    `writer`."""

    def __init__(self, store, place, seconds):
        self._rank, self._ranks, self._seconds = place.rank, place.ranks, seconds
        self.problem = self.writer = None
        self.lock = threading.Lock()  # of the writer
        self._steps = queue.Queue(_MOST)
        self._step = self._equal = None
        self._drifted = False
        self._thread = threading.Thread(
            target=self._run, args=(store, place.key), daemon=True
        )
        self._thread.start()

    def put(self, number, phase, parcel, checksum):
        """Send a step. Never waits."""
        try:
            self._steps.put_nowait((number, phase, parcel, checksum))
        except queue.Full:
            self.problem = self.problem or "the other ranks are too slow"

    def left(self):
        """The steps that were not sent, as (number, phase, parcel)."""
        steps = [self._step] if self._step is not None else []
        with contextlib.suppress(queue.Empty):
            while True:
                steps.append(self._steps.get_nowait())
        return [one[:3] for one in steps if one is not None]

    def close(self):
        """Wait until everything is sent, at most as long as the timeout."""
        with contextlib.suppress(queue.Full):
            self._steps.put(None, timeout=self._seconds)
        self._thread.join(self._seconds)
        if self._thread.is_alive() and self.problem is None:
            self.problem = f"no answer within {self._seconds:g} seconds"

    # --- the thread

    def _run(self, store, key):
        try:
            group = self._connect(store, key)
            while self.problem is None:
                self._step = self._steps.get()
                if self._step is None:
                    return
                self._exchange(group, *self._step)
        except Exception as problem:
            lines = str(problem).splitlines() or [type(problem).__name__]
            self.problem = self.problem or lines[0]

    def _connect(self, store, key):
        """Wait for all ranks without locking the store, as get() would; then
        connect."""
        end = time.monotonic() + self._seconds
        store.add(f"{key}/group/here", 1)
        while store.add(f"{key}/group/here", 0) < self._ranks:
            if time.monotonic() > end:
                raise TimeoutError(
                    f"not all ranks called watch(group=...) within {self._seconds:g} seconds"
                )
            time.sleep(0.02)
        ours = torch.distributed.PrefixStore(f"{key}/group", store)
        timeout = timedelta(seconds=self._seconds)
        make_gloo = torch.distributed.distributed_c10d.ProcessGroupGloo
        return make_gloo(ours, self._rank, self._ranks, timeout)

    def _exchange(self, group, number, phase, parcel, checksum):
        about = torch.zeros(self._ranks, 4, dtype=torch.int64)
        about[self._rank] = torch.tensor([number, phase, len(parcel), checksum])
        group.allreduce([about]).wait()
        numbers, phases, sizes, sums = about.t().tolist()
        if len(set(numbers)) > 1 or len(set(phases)) > 1:
            raise RuntimeError(f"ranks log different steps: {sorted(set(numbers))}")
        mine = torch.zeros(max(sizes), dtype=torch.uint8)
        if parcel:
            ctypes.memmove(mine.data_ptr(), parcel, len(parcel))
        parts = [torch.empty_like(mine) for _ in sizes] if self._rank == 0 else []
        options = torch.distributed.distributed_c10d.GatherOptions()
        options.rootRank = 0
        group.gather([parts] if parts else [], [mine], options).wait()
        self._step = None
        if parts:
            parcels = [
                ctypes.string_at(one.data_ptr(), size) for one, size in zip(parts, sizes)
            ]
            with self.lock:
                alarm = self._compare(number, phase, sums)
                self.writer.parcels(number, phase, parcels, *alarm)

    def _compare(self, number, phase, sums):
        """Raises one alarm if parameters that were equal now differ: kind and text."""
        if phase or not all(sums) or self._drifted:
            return ()
        if len(set(sums)) == 1:
            self._equal = number
        if len(set(sums)) == 1 or self._equal is None:
            return ()
        self._drifted = True
        ranks = ", ".join(str(i) for i, one in enumerate(sums) if one != sums[0])
        text = f"the parameters of rank 0 and rank {ranks} drifted apart: they differ, "
        text += f"and were equal at step {self._equal}"
        with contextlib.suppress(Exception):
            warnings.warn(f"torchoscope: step {number}: {text}", stacklevel=2)
        return "rank-drift", text
