"""The past error rate: decaying means of unbiased estimates, behind the present by design.

Each row gives an unbiased estimate of the error, X = e + Z (err - e) / q (see
:mod:`lasec.alarms.drop`). Rows are gathered in blocks, and a block counts once the block after it
is complete, so that a change does not at once enter what it is compared with. Over the blocks run
four decaying means, with memories of ``memory`` and of 1/4, 1/16 and 1/64 of it. The
baseline is::

    min over the four of (mean + standard error)

each with one more row added to it that was queried and wrong, so that a few rows without a mistake
prove nothing. The long memory is exact but slow; a short one takes over where a learner has quickly
become better, and only there, since its standard error is larger. The ``mean`` is that of the long
memory: the lowest of four would be too low.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SPANS = (1.0, 1 / 4, 1 / 16, 1 / 64)
CAREFUL = 1.0
LEAST = 2  # blocks, before anything is said


class Baseline:
    """An upper estimate of the error rate of the past; infinite while too little is known.

    >>> baseline = Baseline(memory=1_600)
    >>> for t in range(400):
    ...     baseline.add(float(t % 10 == 0), weight=1.0)
    >>> round(baseline.value, 2), round(baseline.mean, 2)
    (0.12, 0.1)
    """

    def __init__(self, memory: int) -> None:
        self.block = max(1, memory // 64)
        self.keep = [math.exp(-self.block / (span * memory)) for span in SPANS]
        self.clear()

    def clear(self) -> None:
        """Start over."""
        self.value = math.inf
        self.mean = math.nan
        self._sums = [(0.0, 0.0, 0.0, 0.0, 0.0) for _ in SPANS]
        self._now = (0, 0.0, 0.0, 0.0)
        self._last: tuple[int, float, float, float] | None = None
        self._blocks = 0

    def add(self, x: float, weight: float) -> None:
        """Add the estimate of a row, and its weight 1/q."""
        n, total, square, weights = self._now
        self._now = (n + 1, total + x, square + x * x, weights + weight)
        if n + 1 < self.block:
            return
        if self._last is not None:
            self._fold(*self._last)
        self._last, self._now = self._now, (0, 0.0, 0.0, 0.0)

    def _fold(self, n: int, total: float, square: float, weights: float) -> None:
        """Let a block count, and take the lowest of the upper estimates."""
        for i, keep in enumerate(self.keep):
            w, ww, s, ss, h = (keep * part for part in self._sums[i])
            self._sums[i] = (w + n, keep * ww + n, s + total, ss + square, h + weights)
        self._blocks += 1
        self._look()

    def _look(self) -> None:
        if self._blocks >= LEAST:
            self.value = min(_upper(*sums) for sums in self._sums)
            self.mean = self._sums[0][2] / self._sums[0][0]

    def table(self) -> Array:
        """All of it, to be saved: the decaying sums, the two blocks, and how many there were."""
        last = self._last or (0, 0.0, 0.0, 0.0)
        return np.array([*self._sums, (*self._now, 0.0), (*last, self._blocks)], dtype=np.float64)

    def restore(self, table: Array) -> None:
        """Take back what :meth:`table` gave."""
        if table.shape != (len(SPANS) + 2, 5) or table.dtype != np.float64:
            raise ValueError("baseline: not the shape of its sums")
        *sums, now, last = table.tolist()
        some = np.array([*sums, [1.0, 1.0, *now[1:4]], [1.0, 1.0, *last[1:4]]])
        counts = (now[0], last[0], last[4])
        if not (
            (np.abs(table) < 1e140).all() and (some[:, [0, 1, 3, 4]] >= 0.0).all()
            and all(n >= 0.0 and n % 1.0 == 0.0 for n in counts) and now[0] < self.block
            and (last[0] == self.block or last[0] == last[4] == 0.0)
            and (last[4] == 0.0 or (some[: len(SPANS), 0] > 0.0).all())
        ):  # fmt: skip
            raise ValueError("baseline: impossible sums")
        self._sums = [tuple(row) for row in sums]
        self._now = (int(now[0]), *now[1:4])
        self._last = (int(last[0]), *last[1:4]) if last[0] else None
        self._blocks = int(last[4])
        self._look()


def _upper(w: float, ww: float, s: float, ss: float, h: float) -> float:
    """The upper estimate, with one more row that is wrong and of the mean weight."""
    hit = h / w
    mean = (s + hit) / (w + 1.0)
    variance = max((ss + hit * hit) / (w + 1.0) - mean * mean, 0.0)
    return max(mean, 0.0) + CAREFUL * math.sqrt(variance * ww) / w
