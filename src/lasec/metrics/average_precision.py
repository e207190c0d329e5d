"""Average precision, the area under the precision-recall curve, from queried labels.

Average precision is the mean over the rows of a class of the precision down to their scores. With
weights 1/q the labeled rows of the class (hits) stand for all of them. Down to the bin of a hit the
number of rows n is known; of these, one is the hit itself, and the weighted share of hits among the
*other* labels stands for the n - 1 others. With the hit among them it would count 1/q times, and
the precision would be too high. One more label counts there, as the model expects it: high scores
may have hardly any other. The interval also holds the value without it, which is 1 where the labels
are ranked without an error. Within a bin the order is taken to be random: a hit is in its middle.

The variance is that of the linearized estimate, as in :mod:`lasec.metrics.confusion`. With P_b the
precision down to bin b, h_b the hits in it, n_b the rows down to it and H all hits, a label adds::

    a hit: (P_b - AP)/H + sum over the bins c down from b of h_c (1 - P_c) / (H n_c)
    any other: - sum over the same of h_c P_c / (H n_c)

The interval is that of a share (:mod:`lasec.metrics.proportion`), with Satterthwaite's degrees of
freedom: where few labels make the variance, it is wide. Hits with low scores are rare among the
labels, and count for much: where the model expects more variance by them than the labels show, that
counts, too, the less the more labels there are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.metrics.estimate import Estimate
from lasec.metrics.proportion import interval, lacking
from lasec.metrics.score_bins import Bin, answered

Array = NDArray[np.float64]

FEW = 10.0


class Ranked(NamedTuple):
    """Estimated hits and other rows by bin, from the highest scores down, with their variances.

    ``expected`` is the variance of the hits as the model expects it.
    """

    hits: Array
    others: Array
    hit_spread: Array
    other_spread: Array
    expected: Array

    @classmethod
    def of(cls, down: Array) -> Ranked:
        """From the sums of the bins, the highest first."""
        scale, lost = answered(down.sum(axis=0))
        every, hits = (scale * down[:, of] for of in (Bin.WEIGHTS, Bin.HIT_WEIGHTS))
        spread, of_hits = (scale**2 * down[:, of] for of in (Bin.SPREAD, Bin.HIT_SPREAD))
        spread, of_hits = spread + scale * lost * every, of_hits + scale * lost * hits
        more = max(float(scale), 1.0)
        expected = more * down[:, Bin.EXPECTED] + (more - 1.0) * down[:, Bin.PREDICTED]
        return cls(hits, every - hits, of_hits, spread - of_hits, expected)


def estimate(bins: Array, level: float) -> Estimate:
    """The average precision of the class with these bins.

    >>> bins = np.zeros((3, len(Bin)))
    >>> bins[:, Bin.ROWS] = bins[:, Bin.LABELS] = bins[:, Bin.WEIGHTS] = 8.0, 2.0, 2.0
    >>> bins[1:, Bin.HITS] = bins[1:, Bin.HIT_WEIGHTS] = 1.0, 2.0
    >>> round(estimate(bins, level=0.95).value, 4)
    0.9524
    """
    down = bins[::-1]
    rows, labels = (round(float(down[:, of].sum())) for of in (Bin.ROWS, Bin.LABELS))
    heard = float(down[:, Bin.HITS].sum())
    if heard <= 0.0:
        return Estimate(math.nan, 0.0, 1.0, rows, labels, 0)
    ranked = Ranked.of(down)
    precision = _precision(down, ranked)
    value, plain = (
        float((ranked.hits * each).sum() / ranked.hits.sum())
        for each in (precision, _precision(down, ranked, guess=False))
    )
    variance, freedom = _variance(down, ranked, precision, value)
    relative = float(ranked.hit_spread.sum() / ranked.hits.sum() ** 2)
    more = lacking(value, variance, heard, heard * min(value, 1.0 - value), relative)
    low, high = interval(value, variance, heard, level, freedom)
    least, most = interval(value, variance + more, heard, level)
    return Estimate(value, min(low, least, plain), max(high, most, plain), rows, labels, 0)


def _precision(down: Array, ranked: Ranked, *, guess: bool = True) -> Array:
    """The precision down to a hit in the middle of each bin; with one more label as a guess."""
    rows, labels, expected = map(_middle, down[:, [Bin.ROWS, Bin.LABELS, Bin.PREDICTED]].T)
    own = 1.0 + ranked.hit_spread / np.where(ranked.hits > 0.0, ranked.hits, 1.0)  # its weight
    hits = np.maximum(_middle(ranked.hits) - own / 2.0, 0.0)
    total = np.maximum(_middle(ranked.hits + ranked.others) - own / 2.0, 0.0)
    one = down[:, Bin.ROWS].sum() / max(down[:, Bin.LABELS].sum(), 1.0)
    more = guess * np.minimum(one, rows - labels)
    counted = total + more > 0.0
    share = hits + more * expected / np.maximum(rows, 1.0)
    share = np.where(counted, share / np.where(counted, total + more, 1.0), 1.0)
    others = np.maximum(rows - 0.5, 0.0)
    return np.asarray((1.0 + others * np.minimum(share, 1.0)) / (1.0 + others))


def _middle(values: Array) -> Array:
    """The sum down to the middle of each bin.

    >>> _middle(np.array([2.0, 4.0])).tolist()
    [1.0, 4.0]
    """
    return np.asarray(np.cumsum(values) - values / 2.0)


def _variance(
    down: Array, ranked: Ranked, precision: Array, value: float
) -> tuple[float, float]:  # fmt: skip
    """The variance of the value, and the degrees of freedom behind it."""
    whole = ranked.hits.sum()
    part = ranked.hits / whole / np.maximum(np.cumsum(ranked.hits + ranked.others), 1.0)
    miss = -np.cumsum((part * precision)[::-1])[::-1]
    hit = (precision - value) / whole + np.cumsum(part[::-1])[::-1] + miss
    terms = np.array([ranked.hit_spread * hit**2, ranked.other_spread * miss**2])
    heard = np.array([down[:, Bin.HITS], down[:, Bin.LABELS] - down[:, Bin.HITS]])
    squares = float((terms**2 / np.maximum(heard, 1.0)).sum())
    seen, expected = float(terms.sum()), float((ranked.expected * hit**2).sum())
    freedom = max(seen**2 / squares - 1.0, 1.0) if squares > 0.0 else 1.0
    return seen + max(0.0, expected - seen) / (1.0 + freedom / FEW), freedom
