"""Which learner a run follows, and whether its margins can be used."""

from __future__ import annotations

import numpy as np

from lasec.learner import Learner
from lasec.records import Records


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


def check(records: Records, begin: int) -> None:
    """Refuse margins that are no numbers; ``begin`` rows of the call came before these."""
    bad = np.flatnonzero(~np.isfinite(records.margin + records.propensity))
    if bad.size:
        raise ValueError(
            f"X: the margin of row {begin + int(bad[0])} is no number: that row or one before it "
            "is too large for this model, scale the input"
        )
