"""What the error rate was: fading, propensity-weighted, and behind the present by design.

Each round gives an unbiased estimate of the error, X = e + Z (err - e) / q (see
:mod:`lasec.alarms.drop`). Rounds are gathered in blocks, and a block counts from when the block
after it is complete, so that a change does not at once spoil what it is to be compared with. Over
the blocks run four fading means, with memories of ``memory`` and of 1/4, 1/16 and 1/64 of it. The
baseline is::

    min over the four of (mean + standard error)

each with one more round added to it that is asked and wrong, so that few rounds without a mistake
prove nothing.

The long memory is exact but slow; a short one takes over where a learner has quickly become better,
and only there, since its standard error is larger.
"""

from __future__ import annotations

import math

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
        """Forget everything."""
        self.value = math.inf
        self.mean = math.nan
        self._sums = [(0.0, 0.0, 0.0, 0.0, 0.0) for _ in SPANS]
        self._now = (0, 0.0, 0.0, 0.0)
        self._last: tuple[int, float, float, float] | None = None
        self._blocks = 0

    def add(self, x: float, weight: float) -> None:
        """Take note of a round's estimate, and of its weight 1/q."""
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
        if self._blocks < LEAST:
            return
        self.value, self.mean = min(_upper(*sums) for sums in self._sums)


def _upper(w: float, ww: float, s: float, ss: float, h: float) -> tuple[float, float]:
    """The upper estimate, with one more round that is wrong and of the mean weight; the mean."""
    hit = h / w
    mean = (s + hit) / (w + 1.0)
    variance = max((ss + hit * hit) / (w + 1.0) - mean * mean, 0.0)
    return max(mean, 0.0) + CAREFUL * math.sqrt(variance * ww) / w, s / w
