"""A learner on trial: it goes on beside the one it was made from, which nothing happens to."""

from __future__ import annotations

import copy

import numpy as np

from lasec.learner import Learner
from lasec.records import Records
from lasec.rules import Probit, Tracking


def trial(learner: Learner) -> Learner:
    """A learner that can run on instead of this one; :func:`adopt` makes what it has learned count.

    Only what a run changes is copied: the model, and the questions where they can expire.

    >>> import lasec
    >>> learner = lasec.LASEC(dimension=2)
    >>> other = trial(learner)
    >>> records = other.run([[1.0, 2.0]], [-1])
    >>> learner.rounds, learner.state.weights.any()
    (0, np.False_)
    >>> adopt(learner, other)
    >>> learner.rounds
    1
    """
    made: Learner = object.__new__(type(learner))
    vars(made).update(vars(learner))
    made.state = type(learner.state)(*(array.copy() for array in learner.state))
    if learner.max_age is not None:
        made._book = copy.deepcopy(learner._book)
    return made


def adopt(learner: Learner, tried: Learner) -> None:
    """Put what the other has learned in place, in one step."""
    vars(learner).update(vars(tried))


def identity(learner: Learner) -> tuple[str, str, int]:
    """What tells a learner from another that has had as many rounds."""
    return learner.name, type(learner.rule).__name__, learner.dimension


def same(learner: Learner, followed: tuple[str, str, int]) -> None:
    """Refuse a learner that is not the one that was followed."""
    if identity(learner) != followed:
        then, here = (
            f"{name} ({rule}, {dimension} features)"
            for name, rule, dimension in (followed, identity(learner))
        )
        raise ValueError(f"learner: this trace has followed {then}, and this one is {here}")


def is_bounded(learner: Learner) -> bool:
    """Whether its margins are differences of two probabilities, and so within -1 and 1.

    >>> import lasec
    >>> is_bounded(lasec.Tracker()), is_bounded(lasec.LASEC_SS(dimension=3))
    (True, False)
    """
    return isinstance(learner.rule, Tracking | Probit)


def check(records: Records, begin: int) -> None:
    """Refuse margins that are no numbers; ``begin`` rows of the call came before these."""
    bad = np.flatnonzero(~np.isfinite(records.margin + records.propensity))
    if bad.size:
        raise ValueError(
            f"X: the margin of row {begin + int(bad[0])} is no number: that row or one before it "
            "is too large for this model, scale the input"
        )
