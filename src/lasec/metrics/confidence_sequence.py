"""Confidence sequences: intervals valid at all times at once, however the concept drifts.

Of each row t let v be a value that depends on the label, so one of two known numbers, and a any
guess made before. What is missing is D_T = sum of d_t, with d_t = v_t - a_t equal to d0 (label -1)
or d1 (label +1). Whether it was queried, Z, has the known probability q. For a number l let::

    h = min(1, exp(min(l d0, l d1)) / (1 - q/2))
    factor = h                                   if the label was not queried
             (exp(l d) - (1 - q) h) / q          if it was, and d is known

The factor is positive, since (1 - q) h < exp(min(l d0, l d1)), and over Z it has the mean
(1 - q) h + exp(l d) - (1 - q) h = exp(l d), exactly. (A row with q = 0 has only the first case,
and h <= exp(l d).) So with K_T(l) the product of the factors, ::

    K_T(l) exp(-l D_T)

is a nonnegative martingale that begins at 1, and so is its average over a grid of l. By Ville's
inequality the average reaches 1/alpha at any time with probability at most alpha. Therefore, at all
T at once with probability 1 - alpha, D_T lies in ::

    { D : average over l of K_T(l) exp(-l D) < 1/alpha }

which is an interval, as the left side is convex in D. Nothing was assumed about labels, drift or
the smallest q. Any h up to exp(min)/(1 - q) would do. That largest one lets a bet lose everything
in one row; with q/2 in place of q it loses about half at most, which makes intervals narrower
where labels are few (at 5 % asked, 1,000 rows: .48 instead of .66 for the accuracy).

Where a cheap judge is asked first, with q, and then perhaps an expert, the factor nests:
:func:`judged` and :func:`escalated`.

Where a row begins does not matter to its factor, so log K of a window is the sum over its rows.
The window that begins with the i-th pane is given the share 1/(i (i + 1)) of alpha. These shares
sum to one, so all windows hold at once.

The idea of testing by betting is that of Waudby-Smith and Ramdas, *Estimating means of bounded
random variables by betting*, JRSS-B 2024; for known propensities Karampatziakis, Mineiro and
Ramdas, *Off-policy confidence sequences*, ICML 2021, and Waudby-Smith, Wu, Ramdas, Karampatziakis
and Mineiro, *Anytime-valid off-policy inference for contextual bandits*, 2024; for mixtures Howard,
Ramdas, McAuliffe and Sekhon, *Time-uniform, nonparametric, nonasymptotic confidence sequences*,
Annals of Statistics 2021.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_GRID = 2.0 ** np.arange(-14, 3)
# In rising order, so that the reversed grid is the negative one.
BETS: Array = np.concatenate([-_GRID[::-1], _GRID])
_STAGES, _POINTS = 9, 33


def unasked(d0: Array, d1: Array, q: Array) -> Array:
    """log h for each row and each bet: the factor of a row that was not asked.

    >>> bet = int(np.searchsorted(BETS, 1.0))
    >>> unasked(np.array([-0.5]), np.array([0.5]), np.array([0.2]))[0, bet].round(4).tolist()
    -0.3946
    """
    worst = np.empty((q.size, BETS.size))
    np.outer(np.maximum(d0, d1), BETS[: _GRID.size], out=worst[:, : _GRID.size])
    np.outer(np.minimum(d0, d1), BETS[_GRID.size :], out=worst[:, _GRID.size :])
    worst -= np.log1p(-0.5 * q)[:, None]
    return np.minimum(worst, 0.0, out=worst)


def asked(d0: Array, d1: Array, d: Array, q: Array) -> Array:
    """What an answer adds to log K: the log of the asked factor over the unasked one.

    >>> d0, d1, q = np.array([-0.3]), np.array([0.7]), np.array([0.25])
    >>> without = np.exp(unasked(d0, d1, q))
    >>> mean = 0.75 * without + 0.25 * without * np.exp(asked(d0, d1, d1, q))
    >>> bool(np.allclose(mean, np.exp(0.7 * BETS)))
    True
    """
    log_h = unasked(d0, d1, q)
    factor = np.exp(np.outer(d, BETS)) - (1.0 - q)[:, None] * np.exp(log_h)
    return np.asarray(np.log(factor) - np.log(q)[:, None] - log_h)


def judged(d0: Array, d1: Array, q: Array, guess: Array, second: Array) -> Array:
    """What the answer of a judge adds to log K, where an expert is then asked with ``second``.

    With f(v) the factor of an expert who was asked with q, the row is a row of its own, whose two
    values are the two f(v): it has the factor h_2 while no expert is asked. ``guess`` is P(the
    value is 1) after the judge.

    >>> nothing = judged(*(np.array([x]) for x in (-0.3, 0.7, 0.5, 0.3, 1.0)))
    >>> bool(np.isfinite(nothing).all())
    True
    """
    low, high = asked(d0, d1, d0, q), asked(d0, d1, d1, q)
    return _second(low, high, guess, second)


def escalated(d0: Array, d1: Array, d: Array, q: Array, guess: Array, second: Array) -> Array:
    """What the answer of the expert adds beside :func:`judged`: the mean over the draw is f(v).

    >>> d0, d1, q, guess, second = (np.array([x]) for x in (-0.3, 0.7, 0.5, 0.6, 0.2))
    >>> without = np.exp(judged(d0, d1, q, guess, second))
    >>> mean = 0.8 * without + 0.2 * without * np.exp(escalated(d0, d1, d1, q, guess, second))
    >>> bool(np.allclose(mean, np.exp(asked(d0, d1, d1, q))))
    True
    """
    log_h, chance = judged(d0, d1, q, guess, second), second[:, None]
    factor = np.exp(asked(d0, d1, d, q)) - (1.0 - chance) * np.exp(log_h)
    return np.asarray(np.log(factor) - np.log(chance) - log_h)


def _second(low: Array, high: Array, guess: Array, second: Array) -> Array:
    """The log of h_2 = min(the mean of f under ``guess``, the least f / (1 - second/2))."""
    a = guess[:, None]
    mean = np.logaddexp(np.log(a) + high, np.log1p(-a) + low)
    least = np.minimum(low, high) - np.log1p(-0.5 * second)[:, None]
    return np.asarray(np.minimum(mean, least))


def evidence(log_k: Array, missing: float) -> float:
    """The log of the average over the bets, against a value of D.

    >>> evidence(np.zeros(BETS.size), 0.0)
    0.0
    """
    return float(_average(log_k, np.array([missing]))[0])


def interval(log_k: Array, low: float, high: float, alpha: float) -> tuple[float, float]:
    """All D in [low, high] that the evidence does not rule out at the level alpha.

    >>> interval(np.zeros(BETS.size), -1e6, 1e6, alpha=0.05)
    (-1.607..., 1.607...)
    """
    limit = -math.log(alpha)
    left, right = low, high
    for _ in range(_STAGES):
        points = np.linspace(left, right, _POINTS)
        values = _average(log_k, points)
        best = int(values.argmin())
        if values[best] < limit:
            break
        left, right = points[max(best - 1, 0)], points[min(best + 1, _POINTS - 1)]
    inside = float(points[best])
    if values[best] >= limit:
        return inside, inside
    return _edge(log_k, low, inside, limit), _edge(log_k, high, inside, limit)


def _edge(log_k: Array, outer: float, inner: float, limit: float) -> float:
    """Where the evidence reaches the limit on the way from ``inner``, or ``outer`` if nowhere."""
    for _ in range(_STAGES):
        points = np.linspace(outer, inner, _POINTS)
        possible = np.append(_average(log_k, points[:-1]) < limit, True)
        first = int(possible.argmax())
        if first == 0:
            return float(points[0])
        outer, inner = float(points[first - 1]), float(points[first])
    return outer


def _average(log_k: Array, missing: Array) -> Array:
    """The log of the average over the bets, for each value of D."""
    terms = log_k - np.multiply.outer(missing, BETS)
    most = terms.max(axis=1)
    return np.asarray(most + np.log(np.exp(terms - most[:, None]).mean(axis=1)))
