"""Measurements of watch() on tensors that only their device can read: statistics,
samples for histograms, parameters before and after a step, scalars.

Nothing waits for the device. add(), keep(), changed() and scalar() start work on it;
send() starts one copy of everything to the host at the end of a step, and fetch() reads
it a step later, when the device is long done.
"""

import contextlib

import torch

from torchoscope import _core
from torchoscope.clock import is_capturing
from torchoscope.device import COLUMNS, Device, _as_row, hidden, local, plain

SAMPLE = 16384  # elements of a sample: SPREAD_SAMPLE of src/measure/spread.h
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_MOST_PLACES = 256


class _Piece:
    """Elements of a tensor, as bytes on its device."""

    def __init__(self, tensor, places):
        x = plain(tensor.detach())
        self.dtype, self.of, self.size = x.dtype, x.numel(), x.element_size()
        x = x.resolve_conj().resolve_neg().reshape(-1)
        if x.is_complex():
            x = torch.view_as_real(x)
        else:
            x = x.contiguous().view(_INTEGERS[x.element_size()])
        if places is None:
            x = x.clone()
        else:
            x = x.index_select(0, places)
        self.bytes = x.reshape(-1).view(torch.uint8)
        self.n = self.bytes.numel() // self.size
        self.at = None  # its offset in the copy


class _Batch:
    """The pending work of one device."""

    def __init__(self, device):
        self._device = device
        self.values, self.rows = [], []  # (value, sampled, piece or None); their rows
        self.updates = {}  # number of a parameter -> [before, after, is local]
        self.names, self.scalars = [], []
        self._host = self._event = None

    def __bool__(self):
        return bool(self.rows or self.updates or self.scalars)

    def pieces(self):
        for _, _, piece in self.values:
            if piece is not None:
                yield piece
        for before, after, _ in self.updates.values():
            if after is not None:
                yield before
                yield after

    def send(self):
        """Start the copy."""
        numbers = [row.reshape(-1) for row in self.rows + self.scalars]
        real = numbers[0].dtype if numbers else torch.float32
        self._real, self._n = real, sum(one.numel() for one in numbers)
        parts = []
        if numbers:
            parts.append(torch.cat([one.to(real) for one in numbers]).view(torch.uint8))
        at = sum(one.numel() for one in parts)
        for piece in self.pieces():
            piece.at = at
            at += piece.bytes.numel()
            parts.append(piece.bytes)
        whole = torch.cat(parts) if parts else torch.empty(0, dtype=torch.uint8)
        for piece in self.pieces():
            piece.bytes = None
        self.rows = self.scalars = None
        on_host = self._device.type == "cpu"
        kind = getattr(torch, self._device.type, None)
        if not on_host and hasattr(kind, "Event"):
            with contextlib.suppress(Exception):  # no pinned memory
                host = torch.empty(at, dtype=torch.uint8, pin_memory=True)
                self._host = host.copy_(whole, non_blocking=True)
                self._event = kind.Event()
                self._event.record(kind.current_stream(self._device))
                return
        self._host, self._event = whole, None  # read later, which may wait

    def fetch(self):
        """(rows, updates, scalars); the addresses in them live as long as this."""
        if self._event is not None:
            self._event.synchronize()
        host = self._host = self._host.cpu()
        size = torch.empty(0, dtype=self._real).element_size()
        numbers = host[: self._n * size].view(self._real).tolist()
        rows, start = [], host.data_ptr()
        for i, (value, sampled, piece) in enumerate(self.values):
            row = _as_row(value, sampled, numbers[i * COLUMNS : (i + 1) * COLUMNS])
            rows.append(row + (_sample_of(piece, start) if piece is not None else ()))
        updates = [
            (number, is_local, *_sample_of(before, start), start + after.at)
            for number, (before, after, is_local) in self.updates.items()
            if after is not None
        ]
        scalars = list(zip(self.names, numbers[len(self.values) * COLUMNS :]))
        return rows, updates, scalars


def _sample_of(piece, start):
    return piece.dtype, piece.of, start + piece.at, piece.n


class WatchDevice(Device):
    """The device statistics of a watched training."""

    def __init__(self, mode):
        super().__init__(mode)
        self.all_elements = False  # as in mode "exact"
        self._batches = {}
        self._places = {}  # (device, elements of a tensor) -> indices of the sample

    def add(self, value, tensor):
        """Measure `tensor`, and sample it."""
        tensor = local(tensor)
        super().add(value, tensor)
        for device, (values, rows) in self._pending.items():
            piece = None if self.mode == "guard" else self._piece(tensor)
            batch = self._batch(device)
            batch.values += [(*one, piece) for one in values]
            batch.rows += rows
        self._pending = {}

    def keep(self, number, tensor):
        """A parameter, before its optimizer's step."""
        here = local(tensor)
        piece = self._piece(here)
        if piece is not None:
            self._batch(here.device).updates[number] = [piece, None, here is not tensor]

    def changed(self, number, tensor):
        """The same parameter, after the step."""
        here = local(tensor)
        kept = self._batch(here.device).updates.get(number)
        if kept is not None:
            kept[1] = self._piece(here)

    def scalar(self, name, tensors):
        """The mean of tensors of one element."""
        with hidden():
            device = tensors[0].device
            if is_capturing(device):
                return
            real = torch.float32 if device.type == "mps" else torch.float64
            whole = [one.detach().reshape(()).to(real) for one in tensors]
            batch = self._batch(device)
            batch.names.append(name)
            batch.scalars.append(torch.stack(whole).mean())

    def finish(self):
        """Wait for the added values: the rows of Device.finish(), extended as by
        fetch()."""
        found, self._fetched = [], []
        for device, batch in self._batches.items():
            values = _Batch(device)
            values.values, batch.values = batch.values, []
            values.rows, batch.rows = batch.rows, []
            if values:
                with hidden():
                    values.send()
                    found += values.fetch()[0]
                self._fetched.append(values)  # owns the addresses in `found`
        return found

    def send(self):
        """Start one copy of each device to the host; None if nothing is pending."""
        batches = [one for one in self._batches.values() if one]
        self._batches = {}
        if not batches or self.marks.is_capturing():
            return None
        with hidden():
            for one in batches:
                one.send()
        return batches

    def fetch(self, sent):
        """([row, ...], [(number, is_local, dtype, of, address, n, address after), ...],
        [(name, float), ...]) of what was sent. A row is that of Device.finish(), then
        dtype, of, address and n of its sample, which live as long as `sent`."""
        found = [], [], []
        with hidden():
            for batch in sent:
                for all_of_them, some in zip(found, batch.fetch()):
                    all_of_them += some
        return found

    def _batch(self, device):
        return self._batches.setdefault(device, _Batch(device))

    def _piece(self, tensor):
        """A sample of a tensor, or None."""
        with hidden():
            if is_capturing(tensor.device):
                return None
            try:
                return _Piece(tensor, self._places_of(tensor))
            except Exception:  # a kind of tensor that this torch cannot view
                return None

    def _places_of(self, tensor):
        n = tensor.numel()
        if n <= SAMPLE or self.all_elements or self.mode == "exact":
            return None
        key = tensor.device, n
        if key not in self._places:
            if len(self._places) >= _MOST_PLACES:
                self._places.clear()
            places = torch.frombuffer(bytearray(_core.sample_places(n)), dtype=torch.int64)
            self._places[key] = places.to(tensor.device)
        return self._places[key]
