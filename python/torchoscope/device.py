"""Statistics of tensors whose memory the host cannot read, computed by torch
operations; and the device time of calls (clock.py).

add() starts the work on the tensor's device without waiting; finish() fetches all
results with one copy per device. Sums are in double precision (single on devices
without it), computed in pieces to limit memory use.
"""

import contextlib
import math

import torch

from torchoscope.clock import Marks, is_capturing

PIECE = 1 << 22  # elements processed at once
COLUMNS = 11  # of a row, see _row()
BLOCK, SMALL = 2048, 65536  # same sampling as src/measure

_NO_DOUBLE = {"mps"}
_modes = getattr(torch._C, "_len_torch_dispatch_stack", None)


class Device:
    """The device statistics of one recorder. Tensors that cannot be measured get no
    row."""

    def __init__(self, mode="full", clock=None):
        self.mode = mode  # may be set
        self._pending = {}  # device -> ([(value, sampled), ...], [row, ...])
        self.timed = clock is not None
        self.marks = marks = Marks(clock)
        self.start, self.end = marks.start, marks.end
        self.rest, self.times = marks.rest, marks.times

    def add(self, value, tensor):
        """Measure `tensor`; finish() returns `value` with the row."""
        with hidden():
            if is_capturing(tensor.device) or self.marks.is_capturing():
                return
            self.marks.ours()
            x = plain(local(tensor).detach()).reshape(-1)
            sampled = self.mode == "sampled" and x.numel() >= SMALL
            row = _row(_some(x) if sampled else x, self.mode == "guard")
            values, rows = self._pending.setdefault(row.device, ([], []))
        values.append((value, sampled))
        rows.append(row)

    def finish(self):
        """(value, count, nan, pos_inf, neg_inf, zeros, min, max, mean, m2, min_at,
        max_at, sampled) for each tensor added since the last finish()."""
        pending, self._pending = self._pending, {}
        found = []
        if self.marks.is_capturing() or any(map(is_capturing, pending)):
            return found  # no copies during graph capture
        for values, rows in pending.values():
            with hidden():
                fetched = torch.stack(rows).cpu().tolist()
            found += [_as_row(*one, row) for one, row in zip(values, fetched)]
        return found


@contextlib.contextmanager
def hidden():
    """Disables gradients and hides the block from the user's torch modes."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch._C.DisableTorchFunction())
        stack.enter_context(torch.no_grad())
        if _modes is not None and _modes():
            from torch.utils import _python_dispatch as dispatch

            stack.enter_context(dispatch._disable_current_modes())
        yield


def local(tensor):
    """The part of a DTensor on this rank: operations on the whole are collective."""
    return getattr(tensor, "_local_tensor", tensor)


def plain(x):
    """The elements as a tensor that converts to real numbers: quantised elements as
    stored, sparse tensors as their stored values."""
    if x.is_quantized:
        return x.int_repr()
    if x.layout == torch.sparse_coo:
        return x._values()
    if x.layout != torch.strided:
        return x.values()
    return x


def _some(flat):
    """Every eighth block, the same ones as the C kernel samples."""
    whole = flat.numel() // (8 * BLOCK) * (8 * BLOCK)
    blocks = flat[:whole].view(-1, 8, BLOCK)[:, 0].reshape(-1)
    return torch.cat([blocks, flat[whole : whole + BLOCK]])


def _row(x, guard):
    """A tensor of COLUMNS numbers on the device of x: count, nan, pos_inf, neg_inf,
    zeros, min, max, mean, m2, min_at, max_at. The first four count all elements, the
    rest only finite ones; min is inf if there are none."""
    real = torch.float32 if x.device.type in _NO_DOUBLE else torch.float64
    whole = None
    for start in range(0, x.numel(), PIECE):
        piece = _piece(x[start : start + PIECE], real, start, guard)
        whole = piece if whole is None else _joined(whole, piece)
    if whole is None:
        whole = _piece(None, real, 0, guard, x.device)
    return torch.stack(whole)


def _piece(x, real, start, guard, device=None):
    if x is None:
        nothing = torch.zeros((), dtype=real, device=device)
        return [nothing] * 5 + [nothing + math.inf, nothing - math.inf] + [nothing] * 4
    x = _as_real(x, real)
    finite = x.isfinite()
    count = torch.full_like(x[0], x.numel())
    counts = [count, x.isnan().sum(), (x == math.inf).sum(), (x == -math.inf).sum()]
    if guard:
        rest = [0.0, math.inf, -math.inf, 0.0, 0.0, 0.0, 0.0]
        counts = [one.to(real) for one in counts]
        return counts + [torch.full_like(x[0], value) for value in rest]
    low = torch.where(finite, x, math.inf)
    high = torch.where(finite, x, -math.inf)
    zeros = (x == 0).sum()
    x = torch.where(finite, x, 0.0)
    n = finite.sum().clamp(min=1)
    mean = x.sum() / n
    m2 = torch.where(finite, x - mean, 0.0).square().sum()
    row = [*counts, zeros, low.amin(), high.amax(), mean, m2]
    row += [low.argmin() + start, high.argmax() + start]
    return [one.to(real) for one in row]


def _as_real(x, real):
    """Converts to the dtype `real`; complex numbers to their absolute values."""
    if not x.is_complex():
        return x.to(real)
    wide = torch.complex128 if real == torch.float64 else torch.complex64
    return x.to(wide).abs()


def _joined(a, b):
    """Merges the rows of two pieces; `a` comes before `b`."""
    n_a, n_b = _finite(a), _finite(b)
    n = (n_a + n_b).clamp(min=1)
    away = b[7] - a[7]
    counts = [one + other for one, other in zip(a[:5], b[:5])]
    mean = a[7] + away * (n_b / n)
    mean = torch.where(n_a == 0, b[7], mean)
    m2 = a[8] + b[8] + torch.where(n_a * n_b == 0, 0.0, away * away * (n_a * n_b / n))
    return [
        *counts,
        torch.minimum(a[5], b[5]),
        torch.maximum(a[6], b[6]),
        mean,
        m2,
        torch.where(b[5] < a[5], b[9], a[9]),
        torch.where(b[6] > a[6], b[10], a[10]),
    ]


def _finite(row):
    return row[0] - row[1] - row[2] - row[3]


def _as_row(value, sampled, row):
    """A fetched row in the form that the core expects."""
    counts = [int(one) for one in row[:5]]
    places = [int(row[9]), int(row[10])]
    if sampled:
        places = [at // BLOCK * 8 * BLOCK + at % BLOCK for at in places]
    low, high, mean, m2 = row[5:9]
    if low > high:  # no finite elements
        low = high = mean = m2 = math.nan
    return (value, *counts, low, high, mean, m2, *places, sampled)
