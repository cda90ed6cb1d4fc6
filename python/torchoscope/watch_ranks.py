"""watch() in a training with several ranks: chooses the file of each rank.

All ranks must write to one folder, and none may wait for another. Rank 0 chooses the
name of the folder and puts it into the store of torch.distributed, which does not wait.
The others request it on a thread and need it when their first step ends: a step of
training waits for all ranks anyway, so rank 0 has answered long before. If it has not
(it does not watch the model, hangs or died), they continue after 10 seconds with a
folder named after the start time of the process that launched them. Without
torch.distributed all ranks use that name at once.
"""

import contextlib
import os
import queue
import threading
import time

import torch

_PATIENCE = 10  # seconds that a rank waits once for the answer
_asked = {}  # name -> number of watches with this name so far

CHECKSUM = "params/checksum"  # a scalar; src/history/ranks.h


def unwrapped(model):
    """The module inside DistributedDataParallel, so that names have no prefix."""
    kind = getattr(torch.nn.parallel, "DistributedDataParallel", ())
    while isinstance(model, kind):
        model = model.module
    return model


def class_name(model):
    """The name of a model's class, before fully_shard() changed it."""
    bases = type(model).__bases__
    if len(bases) == 2 and bases[0].__name__ == "FSDPModule":
        return bases[1].__name__
    return type(model).__name__


def find_rank():
    """(rank, ranks) of this process; (0, 0): it trains alone."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        found = distributed.get_rank(), distributed.get_world_size()
    else:
        try:
            found = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        except (KeyError, ValueError):
            return 0, 0
    return found if found[1] > 1 and 0 <= found[0] < found[1] else (0, 0)


class Place:
    """Where a Watch writes: one file, or with several ranks a file per rank in a
    folder. `own` is the path of the file if this process trains alone, `name` the name
    of the run."""

    def __init__(self, own, name):
        self._own, self._found, self.late = own, None, False
        _asked[name] = number = _asked.get(name, 0) + 1
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        self.key = f"torchoscope/{attempt}/{number}/{name}"
        self.rank, self.ranks = find_rank()
        self._offered, self._question = False, None
        self._begin()

    def path(self):
        """The path of the file. May wait for rank 0, once."""
        if self._found is None:
            self.rank, self.ranks = find_rank()
            self._found = self._own if not self.ranks else self._in_folder()
        return self._found

    def __str__(self):
        return self._found or self._own

    def _in_folder(self):
        folder, stem = os.path.split(self._own[: -len(".scope")])
        self._begin()
        if self._question is not None:
            chosen = self._question.answer(_PATIENCE)
            self.late = chosen is None
            stem = stem if self.late else chosen
        if self.late or not (self._offered or self._question):
            return self._free(folder, _launched(stem))
        return os.path.join(folder, stem, f"rank{self.rank}.scope")

    def _begin(self):
        """Rank 0 publishes the name of the folder; the others request it."""
        store = _store() if self.ranks else None
        if store is None or self._offered or self._question:
            return
        if self.rank:
            self._question = _Question(store, self.key)
            return
        with contextlib.suppress(Exception):  # the store may have been closed
            store.set(self.key, os.path.basename(self._own)[: -len(".scope")])
            store.add(self.key + "/told", 1)
            self._offered = True

    def _free(self, folder, stem):
        """A path that does not exist: every rank counts the runs of its launcher."""
        number, path = 1, os.path.join(folder, stem, f"rank{self.rank}.scope")
        while os.path.exists(path):
            number += 1
            path = os.path.join(folder, f"{stem}_{number}", f"rank{self.rank}.scope")
        return path


def _store():
    """The store of torch.distributed, or None."""
    distributed = torch.distributed
    if not distributed.is_available() or not distributed.is_initialized():
        return None
    with contextlib.suppress(Exception):
        return distributed.distributed_c10d._get_default_store()
    return None


class _Question:
    """Requests a text from a store on a thread, so that only the thread waits if the
    store hangs."""

    def __init__(self, store, key):
        self._store, self._key = store, key
        self._answers, self._end = queue.SimpleQueue(), threading.Event()
        threading.Thread(target=self._ask, daemon=True).start()

    def _ask(self):
        answer, pause = None, 0.01
        with contextlib.suppress(Exception):
            # add() never waits; wait() and get() lock the store until there is an answer.
            while not self._store.add(self._key + "/told", 0):
                if self._end.wait(pause):
                    break
                pause = min(2 * pause, 0.5)
            else:
                answer = self._store.get(self._key).decode()
        self._answers.put(answer)

    def answer(self, seconds):
        """The text, or None after some seconds."""
        try:
            return self._answers.get(timeout=seconds)
        except queue.Empty:
            return None
        finally:
            self._end.set()


def _launched(stem):
    """`stem` with the time at which the process that launched this one began: the same
    for all ranks on this machine. Unchanged if the system does not provide it."""
    with contextlib.suppress(Exception):
        with open(f"/proc/{os.getppid()}/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        with open("/proc/stat", "rb") as file:
            booted = next(int(row.split()[1]) for row in file if row.startswith(b"btime"))
        began = booted + ticks / os.sysconf("SC_CLK_TCK")
        when = time.strftime("%Y-%m-%d_%H-%M-%S", time.localtime(began))
        return when + stem[len(when) :]
    return stem
