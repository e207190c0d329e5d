"""States that grow: more features, or a class of its own, in the middle of a stream.

A feature that has not come yet is one that was always zero. In every rule but the Tracker's such a
coordinate lives alone: its weight is zero, and its variance is the same number as that of any other
coordinate that was always zero. So there is always a spare one at the end, which no feature uses,
and a state grows by repeating it: exactly what it had been with all features from the start.

The Tracker divides its rows by the root of the number of features, and what it has learned cannot
be had for another number without learning it again. Its posterior over the features that it knows
and over the intercept is carried over to the new units: it says the same as before about the rows
it knew, up to single precision.
The prior, drift, and how long a row may be before it is shortened are those of the new number from
then on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lasec import triangle
from lasec.rules.gaussian import Gaussian
from lasec.rules.seen import EXTRA, LABEL, renew
from lasec.rules.tracking import Beliefs
from lasec.types import Rule


def needs_spare(rule: Rule[Any]) -> bool:
    """Whether a state of this rule grows by a spare coordinate.

    >>> import lasec
    >>> needs_spare(lasec.rules.SecondOrder()), needs_spare(lasec.rules.Tracking())
    (True, False)
    """
    return not isinstance(rule.init(1), Beliefs)


def widened(rule: Rule[Any], state: Any, dimension: int, known: int) -> Any:
    """The state with ``dimension`` coordinates, of which the first ``known`` are in use.

    >>> import lasec, numpy as np
    >>> rule = lasec.rules.SecondOrder(drift=0.1)
    >>> state = rule.init(2)
    >>> rule.update(state, np.array([1.0, 0.0]), y=1.0, draw=0.0)
    >>> widened(rule, state, dimension=3, known=1).cov.diagonal().tolist()
    [0.6, 1.1, 1.1]
    """
    larger = rule.init(dimension)
    if isinstance(state, Beliefs):
        return _carried(state, larger, known)
    for before, after in zip(state, larger, strict=True):
        after[tuple(map(slice, before.shape))] = before
    if isinstance(state, Gaussian):
        fresh = np.arange(state.weights.size, dimension)
        larger.cov[fresh, fresh] = state.cov[-1, -1]
    return larger


def _carried(state: Beliefs, larger: Beliefs, known: int) -> Beliefs:
    """The Tracker's posterior over ``known`` features, the intercept and the last label."""
    before, after = state.squares.size, larger.squares.size
    old = np.r_[0:known, before : before + EXTRA]
    new = np.r_[0:known, after : after + EXTRA]
    for ours, theirs in ((larger.means, state.means), (larger.squares, state.squares)):
        ours[:known] = theirs[:known]
    larger.tally[: 1 + known] = state.tally[: 1 + known]
    larger.tally[1 + after :][:known] = state.tally[1 + before :][:known]
    shared = ("posterior", "weight", "lapse", "born", "clock")
    grown = larger._replace(**{name: getattr(state, name) for name in shared})
    renew(grown)
    intercept = state.units[before] / grown.units[after]
    unit = np.r_[np.full(known, math.sqrt(after / before)), intercept, 1.0]
    larger.weights[:, new] = unit * state.weights[:, old]
    for small, large in zip(state.covs, larger.covs, strict=True):
        whole = triangle.whole(large, after + EXTRA)
        kept = triangle.whole(small, before + EXTRA)[old[:, None], old]
        whole[new[:, None], new] = np.outer(unit, unit) * kept
        triangle.fill(large, whole)
    return grown


def mirrored(state: Any) -> Any:
    """The state that the same rows with the opposite labels had led to.

    >>> import lasec, numpy as np
    >>> rule = lasec.rules.Perceptron()
    >>> state = rule.init(2)
    >>> rule.update(state, np.array([1.0, 2.0]), y=1.0, draw=0.0)
    >>> mirrored(state).weights.tolist()
    [-1.0, -2.0]
    """
    turned = type(state)(*(array.copy() for array in state))
    turned.weights[...] *= -1.0
    if isinstance(state, Beliefs):  # the last label is a feature, and is turned itself
        last, sign = turned.means.size + 1, np.ones(turned.weights.shape[1])
        sign[last] = -1.0
        signs = np.zeros_like(turned.covs[0])
        triangle.fill(signs, np.outer(sign, sign))
        turned.weights[...] *= sign
        turned.covs[...] *= signs
        turned.clock[LABEL] *= -1
    return turned
