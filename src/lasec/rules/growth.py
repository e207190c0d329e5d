"""States for more features, in the middle of a stream.

A feature that has not come yet is one that was always zero. In every rule but the Tracker's such a
coordinate lives alone: its weight is zero, and its variance is the same number as that of any other
coordinate that was always zero. So where a spare one is kept at the end, which no feature uses,
a state grows by repeating it: exactly what it had been with all features from the start.

The Tracker's grows by :func:`lasec.rules.tracker.enlarging.more_features`; that of sparse rows
knows only the columns that occurred.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lasec.rules.gaussian import Gaussian
from lasec.rules.tracker.beliefs import Beliefs
from lasec.rules.tracker.enlarging import more_features
from lasec.rules.tracker.lensed import Lensed
from lasec.sparse import takes_pairs
from lasec.types import Rule


def needs_spare(rule: Rule[Any]) -> bool:
    """Whether a state of this rule grows by a spare coordinate.

    >>> import lasec
    >>> needs_spare(lasec.rules.SecondOrder()), needs_spare(lasec.rules.Tracking())
    (True, False)
    """
    return not isinstance(rule.init(1), Beliefs | Lensed)


def widened(rule: Rule[Any], state: Any, dimension: int, known: int) -> Any:
    """The state with ``dimension`` coordinates, of which the first ``known`` are in use.

    >>> import lasec, numpy as np
    >>> rule = lasec.rules.SecondOrder(drift=0.1)
    >>> state = rule.init(2)
    >>> rule.update(state, np.array([1.0, 0.0]), y=1.0, draw=0.0)
    >>> widened(rule, state, dimension=3, known=1).cov.diagonal().tolist()
    [0.6, 1.1, 1.1]
    """
    if takes_pairs(rule):
        return state
    if isinstance(state, Beliefs):
        return more_features(rule, state, dimension, known)
    if isinstance(state, Lensed):
        lenses: Any = rule
        return lenses.with_more_features(state, dimension, known)
    larger = rule.init(dimension)
    for before, after in zip(state, larger, strict=True):
        after[tuple(map(slice, before.shape))] = before
    if isinstance(state, Gaussian):  # of one class, or of several with a first axis for them
        fresh = np.arange(state.weights.shape[-1], dimension)
        larger.cov[..., fresh, fresh] = state.cov[..., -1:, -1]
    return larger
