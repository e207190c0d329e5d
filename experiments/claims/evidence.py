"""The runs of all panels, and how a claim reads them.

A claim has parts: one for each query rate, panel, window or reading. A part is confirmed (+1) or
contradicted (-1) when its 95 % interval lies on one side of 0, or of a limit; else it is a tie (0).
Where a part compares with several rivals, or at several rates, their intervals hold together.
:func:`verdict` is the one rule that makes a verdict of the parts.
Accuracies at a query rate are compared at equal *achieved* rates: each run's accuracy is
interpolated linearly between the rates it reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.figures import interval
from experiments.panels import PANELS

HOLDS, PARTLY, TIE, FAILS = "holds", "holds in part", "tie", "does not hold"
FIRST_SHIFT = 500
EARLY, LATE = (FIRST_SHIFT, 2_500), (7_500, 10_000)  # windows of the synthetic stream

Tables = dict[str, list[dict[str, Any]]]
Values = NDArray[np.float64]


class Finding(NamedTuple):
    """One measured quantity: its mean over the runs, and half the width of its 95 % interval."""

    quantity: str
    estimate: float
    half: float
    runs: int

    def side(self, limit: float = 0.0) -> int:
        """+1 if it lies above the limit, -1 below, 0 if its interval contains the limit.

        >>> Finding("a minus b", 0.03, 0.01, 50).side()
        1
        >>> Finding("a minus b", 0.03, 0.01, 50).side(0.035)
        0
        """
        low, high = self.estimate - self.half, self.estimate + self.half
        return (low > limit) - (high < limit)


class Judgment(NamedTuple):
    """What was measured for a claim, and for each of its parts +1, 0 or -1."""

    findings: list[Finding]
    parts: list[int]

    @property
    def verdict(self) -> str:
        """The verdict on the claim."""
        return verdict(self.parts)


def verdict(parts: Sequence[int]) -> str:
    """The rule: all parts, some parts, no part but no contradiction either, or none.

    >>> verdict([1, 1]), verdict([1, -1]), verdict([0, 0]), verdict([0, -1])
    ('holds', 'holds in part', 'tie', 'does not hold')
    """
    if all(part > 0 for part in parts):
        return HOLDS
    if any(part > 0 for part in parts):
        return PARTLY
    return FAILS if any(part < 0 for part in parts) else TIE


def at_most(found: Finding, limit: float = 0.0) -> int:
    """A part that says "not more than": confirmed unless the quantity lies above the limit.

    >>> at_most(Finding("a minus b", 0.0, 0.01, 50))
    1
    """
    return -1 if found.side(limit) > 0 else 1


def joined(judgments: Iterable[Judgment]) -> Judgment:
    """The findings and the parts of several, as those of one claim."""
    seen = list(judgments)
    return Judgment(
        [f for one in seen for f in one.findings], [p for one in seen for p in one.parts]
    )


def rises(findings: list[Finding]) -> Judgment:
    """A claim that each of these lies above 0."""
    return Judgment(findings, [found.side() for found in findings])


def finding(quantity: str, values: Values, comparisons: int = 1) -> Finding:
    """A quantity with one value a run."""
    return Finding(quantity, *interval(values, comparisons), len(values))


def best(name: str, accuracy: dict[str, Values], where: str, comparisons: int = 0) -> Judgment:
    """One part: confirmed if ``name`` is ahead of every rival, contradicted by one ahead of it."""
    rivals = [rival for rival in accuracy if rival != name]
    count = comparisons or len(rivals)
    gaps = {
        rival: finding(f"{name} minus {rival}, {where}", accuracy[name] - accuracy[rival], count)
        for rival in rivals
    }
    closest = min(gaps.values(), key=lambda gap: gap.estimate)
    level = finding(f"accuracy of {name}, {where}", accuracy[name])
    label = closest.quantity.replace(", ", " (closest rival), ", 1)
    part = min(gap.side() for gap in gaps.values())
    return Judgment([level, closest._replace(quantity=label)], [part])


class Evidence:
    """The rows of the panels under one protocol."""

    def __init__(self, tables: Tables, protocol: str) -> None:
        self._cells: dict[tuple[str, str, float], list[dict[str, Any]]] = {}
        self._rates: dict[tuple[str, str], list[float]] = {}
        self.extra = {name: rows for name, rows in tables.items() if name not in PANELS}
        for name, panel in PANELS.items():
            chosen = protocol if protocol in panel.protocols else panel.protocols[0]
            for row in tables.get(name, []):
                if row["protocol"] == chosen:
                    cell = name, row["algorithm"], row[panel.axis]
                    self._cells.setdefault(cell, []).append(row)
        for cell, rows in self._cells.items():
            rows.sort(key=lambda row: int(row["run"]))
            self._rates.setdefault(cell[:2], []).append(cell[2])

    def column(self, panel: str, algorithm: str, name: str, at: float | None = None) -> Values:
        """A column of each run at row ``at`` (by default the last), or at rate ``at``."""
        place = max(self._rates[panel, algorithm]) if at is None else at
        rows = self._cells[panel, algorithm, place]
        return np.array([row[name] for row in rows], dtype=float)

    def accuracy(self, panel: str, algorithm: str, at: float | None = None) -> Values:
        """Average accuracy of each run, from the first row to row ``at``."""
        return self.column(panel, algorithm, "accuracy", at)

    def window(
        self, panel: str, algorithm: str, rows: tuple[int, int], name: str = "accuracy"
    ) -> Values:
        """The share of correct rows (or of queries, or updates) in a window of each run."""
        first, last = rows
        counts = [self._count(panel, algorithm, name, t) for t in (first, last)]
        return (counts[1] - counts[0]) / (last - first)

    def _count(self, panel: str, algorithm: str, name: str, t: int) -> Values:
        if t == 0:
            return np.zeros(1)
        values = self.column(panel, algorithm, name, t)
        return values * t if name == "accuracy" else values

    def at_rate(self, panel: str, algorithm: str, rate: float) -> Values:
        """Accuracy of each run at an achieved query rate."""
        rates = sorted(self._rates[panel, algorithm])
        reached = np.array([self.column(panel, algorithm, "achieved_rate", r) for r in rates])
        accuracy = np.array([self.column(panel, algorithm, "accuracy", r) for r in rates])
        runs = range(reached.shape[1])
        order = [np.argsort(reached[:, k]) for k in runs]
        pairs = zip(order, runs, strict=True)
        return np.array([np.interp(rate, reached[o, k], accuracy[o, k]) for o, k in pairs])

    def standard(self, panel: str) -> list[str]:
        """The paper's algorithms of a panel."""
        return [name for name in PANELS[panel].methods if isinstance(name, str)]
