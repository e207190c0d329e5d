"""How far apart two runs over the same rows are, with a confidence interval.

Both models are judged on the same rows, so the difference of their accuracies varies much less than
either. Mistakes come in runs - after a change, for example - so rows are not independent. The run
is cut into blocks (batch means): the difference in each is one observation, and as the blocks are
long, they are nearly independent. The interval is Student's t over them, or over blocks of twice
the length where that reaches further, as it does where mistakes come in spells longer than a block.
Where neighboring blocks are correlated, it is wider, and where the differences are skewed, as they
are if they are rare, it reaches as much further to that side as Hall's correction says (*On the
removal of skewness by transformation*, JRSS B 54, 1992). It speaks of the mean difference on
streams like this one, for one pair: it is not corrected for having picked the best of many.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.evaluation.summary import RunSummary
from lasec.metrics.proportion import student

Array = NDArray[np.float64]

BLOCKS, FEWEST = 20, 10


class Difference(NamedTuple):
    """The accuracy of one run minus that of another, with its confidence interval.

    >>> Difference(-0.041, -0.05, -0.0316).in_points
    '-4.1 (-5.0 to -3.2)'
    """

    value: float
    low: float
    high: float

    @property
    def in_points(self) -> str:
        """In percentage points, with the interval where there is one."""
        if math.isnan(self.value):
            return "-"
        # Nine decimals first, so that a tie rounds alike whatever the order of a sum was.
        value, low, high = (round(100 * number, 9) for number in self)
        return f"{value:+.1f}" + ("" if math.isnan(low) else f" ({low:+.1f} to {high:+.1f})")


def paired_difference(one: RunSummary, other: RunSummary, level: float = 0.95) -> Difference:
    """The true accuracy of ``one`` minus that of ``other``, paired on the same rows.

    Without an interval (NaN) where there are fewer than ten blocks in common.

    >>> import lasec
    >>> X, y = lasec.streams.switching(6_000, dimension=5, every=1_500, seed=1)
    >>> few, many = (lasec.evaluate(lasec.Tracker(rate=r, seed=0), X, y) for r in (0.05, 0.5))
    >>> found = paired_difference(many, few)
    >>> found.low < found.value < found.high
    True
    """
    if one.rows != other.rows:
        raise ValueError(f"the runs have {one.rows} and {other.rows} rows: expected the same rows")
    value = one.accuracy - other.accuracy
    ours, theirs = one.parts(BLOCKS), other.parts(BLOCKS)
    if len(ours) < FEWEST or [part.name for part in ours] != [part.name for part in theirs]:
        return Difference(value, math.nan, math.nan)
    share = np.array([part.rows for part in ours]) / one.rows
    apart = np.array([a.accuracy - b.accuracy for a, b in zip(ours, theirs, strict=True)])
    found = of_blocks(apart, share, level)
    off = value - found.value  # rows without a prediction are in the blocks, but not scored
    return Difference(value, found.low + off, found.high + off)


def of_blocks(values: Array, shares: Array, level: float = 0.95) -> Difference:
    """The mean of values of blocks: the wider interval of these blocks and of pairs of them.

    >>> of_blocks(np.array([0.0, 0.2, 0.1, 0.1] * 3), np.full(12, 1.0 / 12.0)).in_points
    '+10.0 (+5.3 to +14.7)'
    """
    pairs = np.arange(0, len(values), 2)
    long = np.add.reduceat(shares, pairs)
    means = np.add.reduceat(shares * values, pairs) / long
    each, both = batch_means(values, shares, level), batch_means(means, long, level)
    return Difference(each.value, min(each.low, both.low), max(each.high, both.high))


def batch_means(values: Array, shares: Array, level: float = 0.95) -> Difference:
    """The mean of values of blocks that hold these shares of the rows, with its t-interval.

    >>> batch_means(np.array([0.0, 0.2, 0.1, 0.1]), np.full(4, 0.25)).in_points
    '+10.0 (-3.0 to +23.0)'
    """
    count, mean = len(values), float(shares @ values)
    off = values - mean
    square = float(((shares * off) ** 2).sum()) * count / (count - 1)
    error = math.sqrt(square * (1.0 + 2.0 * _neighbors(off)))
    t = student(level, count - 1)
    lean = _skewness(off) * (2.0 * t * t + 1.0) / (6.0 * math.sqrt(count)) * error
    return Difference(mean, mean - t * error + min(lean, 0.0), mean + t * error + max(lean, 0.0))


def _neighbors(off: Array) -> float:
    """The correlation of deviations with the next ones, where it is positive.

    >>> _neighbors(np.array([1.0, 1.0, -1.0, -1.0])), _neighbors(np.array([1.0, -1.0]))
    (0.25, 0.0)
    """
    square = float(off @ off)
    return max(float(off[1:] @ off[:-1]) / square, 0.0) if square > 0.0 else 0.0


def _skewness(off: Array) -> float:
    """The skewness of deviations, corrected for how few they are.

    >>> [round(_skewness(np.array(off)), 2) for off in ([-1.0, -1.0, -1.0, 3.0], [-1.0, 0.0, 1.0])]
    [2.0, 0.0]
    """
    count, square, cube = off.size, float((off**2).mean()), float((off**3).mean())
    if square <= 0.0:
        return 0.0
    few = math.sqrt(count * (count - 1.0)) / (count - 2.0)
    return cube / math.pow(square, 1.5) * few
