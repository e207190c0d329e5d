"""The dense columns by themselves: a Tracker that sees no words, mixed with the joint filter.

Where words tell nothing about the label, the joint filter (:mod:`lasec.rules.tracker.joint`) is
slow: every text has words that never came before, and each takes its share of what a label teaches.
Which of the two to trust is found online, by the probability that each gave to the labels::

    margin = sum_e trust_e m_e
    label y:  trust_e <- trust_e P_e(y),  normalized,  trust_e <- (1 - a) trust_e + a / 2

with a = ``share``, and trust 0.9 in the joint filter at the start: the fixed share of Herbster and
Warmuth (*Tracking the Best Expert*, 1998). One whose trust is below ``negligible`` is left out of
the margin, but goes on learning. The Tracker here has hypotheses, births and weights of its own,
and shares with the joint filter what is known of the columns' units. In rows without words both
say the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec import triangle
from lasec.rules.tracker.hypotheses import HAZARDS, LAPSES, SPEEDS, marginals, prior_of
from lasec.rules.tracker.lensed import Core
from lasec.rules.tracker.seen import CLOCKS, extra

__all__ = ["alone_of"]

JOINT, ALONE = range(2)
_FIRST = 0.9  # the trust in the joint filter before the first label


def first_alone(rule: Any) -> dict[str, NDArray[Any]]:
    """The arrays before the first row; without dense columns, empty.

    >>> from lasec.rules import SparseTracking
    >>> made = first_alone(SparseTracking(dense=3, slots=2))
    >>> made["alone"].shape, made["alone_covs"].shape, made["trust"].round(9).tolist()
    ((10, 1, 8), (10, 48), [0.9, 0.1])
    """
    states, classes = rule.slots * len(SPEEDS), rule.classes
    n = triangle.padded(rule.dense + extra(classes)) if rule.dense else 0
    held = states if rule.dense else 0
    made: dict[str, NDArray[Any]] = {
        "alone": np.zeros((states, classes if classes > 2 else 1, n)),
        "alone_covs": np.zeros((states, triangle.size(n)), np.float32),
        "alone_posterior": np.zeros((len(HAZARDS), len(LAPSES), held)),
        "alone_weight": np.zeros(held),
        "alone_lapse": np.zeros(held),
        "alone_born": np.zeros(rule.slots if held else 0, np.int64),
        "alone_clock": np.zeros(CLOCKS if held else 0, np.int64),
        "trust": np.array((_FIRST, 1.0 - _FIRST) if held else ()),
    }
    first = made["alone_posterior"][:, :, : len(SPEEDS)]
    first[:] = 1.0 / max(1, first.size)
    for i in range(held):
        triangle.set_diagonal(made["alone_covs"][i], prior_of(rule, i))
    if held:
        marginals(rule, made["alone_posterior"], made["alone_weight"], made["alone_lapse"])
    return made


def alone_of(state: Any) -> Core:
    """The Tracker of the dense columns, for :mod:`lasec.rules.tracker.tracking`."""
    none = np.zeros((state.alone.shape[0], 0), np.float32)
    return Core(
        state.alone, state.alone_covs, none, none[:0], state.alone_posterior, state.alone_weight,
        state.alone_lapse, state.means, state.units, state.told, state.slopes, state.alone_born,
        state.alone_clock,
    )  # fmt: skip
