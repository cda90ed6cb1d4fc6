"""Histograms over time with TorchExplorer's bins: equal bins between two bounds, which
the first values fix and which double when later ones lie outside."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Optional

import torch

from torchoscope.device import hidden, plain


@dataclass
class HistogramParams:
    """How values are counted. docs/python.md, "From TorchExplorer", has the details."""

    bins: int = 10
    sample_n: Optional[int] = 100
    reject_outlier_proportion: float = 0
    time_unit: str = "step"


class Sampler:
    """Samples the values of a tensor for a histogram. Uses a separate random generator,
    so those of the training are not affected."""

    def __init__(self, params):
        self._params = params
        self._generator = torch.Generator().manual_seed(0)

    def sample(self, tensor):
        """A sorted list of finite floats: a random sample (with replacement), without the
        share that is farthest from the median."""
        with hidden():
            x = plain(tensor.detach()).reshape(-1)
            x = x.abs() if x.is_complex() else x
            wanted = self._params.sample_n
            if wanted is not None and wanted < x.numel():
                at = torch.randint(x.numel(), (wanted,), generator=self._generator)
                x = x[at.to(x.device)]
            x = x.float().cpu()
            found = x[x.isfinite()].sort()[0].tolist()
        return self._inner(found)

    def norms(self, gradient):
        """The same for the L2 norms of a gradient's rows: one for each sample of the
        batch."""
        with hidden():
            x = plain(gradient.detach())
            x = x.reshape(x.shape[0] if x.dim() else 1, -1)
            x = x.abs() if x.is_complex() else x
            x = torch.linalg.vector_norm(x.float(), dim=1) if x.numel() else x[:0, 0]
        return self.sample(x)

    def _inner(self, values):
        """Sorted values without outliers."""
        first, last = 0, len(values) - 1
        median = values[last // 2] if values else 0
        for _ in range(int(len(values) * self._params.reject_outlier_proportion)):
            if median - values[first] > values[last] - median:
                first += 1
            else:
                last -= 1
        return values[first : last + 1]


class IncrementalHistogram:
    """Counts of values in `params.bins` bins from `min` to `max`, column by column: a
    list in history_bins for each time in history_times. bin_counts is the column that
    is not complete yet."""

    def __init__(self, params):
        self.params = params
        self.min: Optional[float] = None
        self.max: Optional[float] = None
        self.history_times = []
        self.history_bins = []
        self.bin_counts = [0] * params.bins
        self._sums = []  # of the first 1, 2, ... columns

    def update(self, tensor):
        """Count the values of a tensor: a sample of them, without outliers. NaN and
        infinities are not counted."""
        self.count(Sampler(self.params).sample(tensor))

    def count(self, values):
        """Count a sorted list of finite floats."""
        if not values:
            return
        low, high = values[0], values[-1]
        if self.min is None or self.max is None:
            # As TorchExplorer: 1.5 times the range below the smallest value and above it.
            self.min = low - 1.5 * (high - low) - _margin(low)
            self.max = low + 1.5 * (high - low) + _margin(high)
        while self.min >= low:
            self._double(below=True)
        while self.max <= high:
            self._double(below=False)
        bins, width = self.params.bins, (self.max - self.min) / self.params.bins
        before = 0
        for i in range(bins):
            upto = bisect_left(values, self.min + (i + 1) * width, before)
            upto = upto if i < bins - 1 else len(values)
            self.bin_counts[i] += upto - before
            before = upto

    def push_history(self, time):
        """Complete the column, at this time, and begin another."""
        self.history_bins.append(self.bin_counts)
        self.history_times.append(time)
        self.bin_counts = [0] * self.params.bins

    def subsample_history(self, subsample_n=10):
        """(columns, times), at most subsample_n: the first and the last, and columns at
        equal distances between them. Each is the mean of those up to the next, rounded
        up."""
        columns, times = self.history_bins, self.history_times
        if len(columns) <= subsample_n:
            return columns, times
        for column in columns[len(self._sums) :]:
            last = self._sums[-1] if self._sums else [0] * len(column)
            self._sums.append([a + b for a, b in zip(last, column)])
        step = (len(columns) - 1) / (subsample_n - 1)
        at = [round(i * step) for i in range(subsample_n)]
        ends = [*at[1:], len(columns)]
        merged = [self._mean(i, end) for i, end in zip(at, ends)]
        return merged, [times[i] for i in at]

    def _mean(self, first, end):
        """The mean of each bin over some columns, rounded up."""
        before = self._sums[first - 1] if first else [0] * self.params.bins
        sums = zip(self._sums[end - 1], before)
        return [-((b - a) // (end - first)) for a, b in sums]

    def _double(self, below):
        """Double the range on one side: pairs of bins become one."""
        bins = self.params.bins
        size = self.max - self.min
        if below:
            self.min -= size
        else:
            self.max += size

        def merged(counts):
            found = [0] * bins
            for i, count in enumerate(counts):
                found[(i + bins) // 2 if below else i // 2] += count
            return found

        self.bin_counts = merged(self.bin_counts)
        self.history_bins = [merged(counts) for counts in self.history_bins]
        self._sums = []

    def __str__(self):
        return f"IncrementalHistogram(history={len(self.history_bins)})"


def _margin(value):
    """So that a constant has a range too, however large it is."""
    return max(1e-4, abs(value) * 1e-6)
