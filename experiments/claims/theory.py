"""Section 4: what the paper says of its bounds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from experiments.claims.evidence import Evidence, Judgment, finding, rises

SYNTHETIC_ROWS = 10_000


def selective_bound_can_be_sharper(e: Evidence) -> Judgment:
    """Theorem 2 of each run against Theorem 4 at its optimal a, over the same streams."""
    (optimal,) = (
        row["value"]
        for row in e.extra["bounds_theorem_4"]
        if (row["setting"], row["bound"]) == ("optimal a", "Theorem 4")
    )
    bounds = np.array([row["theorem_2"] for row in e.extra["bounds_theorem_2"]])
    words = "Theorem 2 minus Theorem 4 at its optimal a, mistakes (interval of Theorem 2 alone)"
    gap = finding(words, bounds - optimal)
    return rises([gap])


def more_labels_for_larger_a(e: Evidence) -> Judgment:
    """The query rate at each a minus that at the next smaller one, b and c fixed."""
    by: dict[float, dict[int, int]] = {}
    for row in e.extra["bounds_a"]:
        by.setdefault(row["a"], {})[row["run"]] = row["queries"]
    steps = sorted(by)
    gaps = []
    for small, large in pairwise(steps):
        rise = np.array([by[large][k] - by[small][k] for k in sorted(by[small])]) / SYNTHETIC_ROWS
        words = f"query rate at a = {large:g} minus at a = {small:g}"
        gaps.append(finding(words, rise, len(steps) - 1))
    return rises(gaps)
