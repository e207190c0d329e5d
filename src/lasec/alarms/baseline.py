"""What the error rate was: fading, propensity-weighted, and behind the present by design.

Each round gives an unbiased estimate of the error, X = e + Z (err - e) / q (see
:mod:`lasec.alarms.drop`). Rounds are gathered in blocks, and a block counts from when the block
after it is complete, so that a change does not at once spoil what it is to be compared with. Over
the blocks run four fading means, with memories of ``memory`` and of 1/4, 1/16 and 1/64 of it. The
baseline is::

    min over the four of (mean + 1.5 standard errors)

The long memory is exact but slow; a short one takes over where a learner has quickly become better,
and only there, since its standard error is larger.
"""

from __future__ import annotations

import math

SPANS = (1.0, 1 / 4, 1 / 16, 1 / 64)
CAREFUL = 1.5
LEAST = 2  # blocks, before anything is said


class Baseline:
    """An upper estimate of the error rate of the past; infinite while too little is known.

    >>> baseline = Baseline(memory=1_600)
    >>> for t in range(400):
    ...     baseline.add(float(t % 10 == 0))
    >>> round(baseline.value, 2), round(baseline.mean, 2)
    (0.13, 0.1)
    """

    def __init__(self, memory: int) -> None:
        self.block = max(1, memory // 64)
        self.keep = [math.exp(-self.block / (span * memory)) for span in SPANS]
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.value = math.inf
        self.mean = math.nan
        self._sums = [(0.0, 0.0, 0.0, 0.0) for _ in SPANS]
        self._now = (0, 0.0, 0.0)
        self._last: tuple[int, float, float] | None = None
        self._blocks = 0

    def add(self, x: float) -> None:
        """Take note of a round's estimate."""
        n, total, square = self._now
        self._now = (n + 1, total + x, square + x * x)
        if n + 1 < self.block:
            return
        if self._last is not None:
            self._fold(*self._last)
        self._last, self._now = self._now, (0, 0.0, 0.0)

    def _fold(self, n: int, total: float, square: float) -> None:
        """Let a block count, and take the lowest of the upper estimates."""
        for i, keep in enumerate(self.keep):
            w, ww, s, ss = self._sums[i]
            w, ww = keep * w + n, keep * keep * ww + n
            self._sums[i] = (w, ww, keep * s + total, keep * ss + square)
        self._blocks += 1
        if self._blocks >= LEAST:
            self.value, self.mean = min(_upper(*sums) for sums in self._sums)


def _upper(w: float, ww: float, s: float, ss: float) -> tuple[float, float]:
    """The mean and some standard errors, at most 1; and the mean."""
    mean = s / w
    variance = max(ss / w - mean * mean, 0.0)
    # One more round with an error of 1/2, so that few rounds without an error prove nothing.
    careful = CAREFUL * math.sqrt((variance + 1.0 / w) * ww) / w
    return min(max(mean, 0.0) + careful, 1.0), mean
