"""The runs of all panels, and how a claim reads them.

A difference counts when the 95 % interval of the paired differences over the runs does not contain
0; where a claim compares with several rivals, or at several rates, their intervals hold together.
Accuracies at a query rate are compared at equal *achieved* rates: each run's accuracy is
interpolated linearly between the rates it reached.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.figures import interval
from experiments.panels import PANELS

HOLDS, PARTLY, FAILS = "holds", "holds in part", "does not hold"
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

    @property
    def above(self) -> bool:
        """Whether it lies above 0."""
        return self.estimate - self.half > 0.0

    @property
    def below(self) -> bool:
        """Whether it lies below 0."""
        return self.estimate + self.half < 0.0


class Judgment(NamedTuple):
    """What was measured for a claim, and the verdict."""

    findings: list[Finding]
    verdict: str


def finding(quantity: str, values: Values, comparisons: int = 1) -> Finding:
    """A quantity with one value a run."""
    return Finding(quantity, *interval(values, comparisons), len(values))


def all_or_some(flags: Iterable[bool]) -> str:
    """Holds if all do, in part if some do."""
    seen = list(flags)
    return HOLDS if all(seen) else PARTLY if any(seen) else FAILS


def together(verdicts: Iterable[str]) -> str:
    """The verdict on a claim of several parts."""
    seen = set(verdicts)
    return seen.pop() if len(seen) == 1 else PARTLY


def best(name: str, accuracy: dict[str, Values], where: str, comparisons: int = 0) -> Judgment:
    """Whether ``name`` is the best of these: ahead of every rival, or at least behind none."""
    rivals = [rival for rival in accuracy if rival != name]
    count = comparisons or len(rivals)
    gaps = {
        rival: finding(f"{name} minus {rival}, {where}", accuracy[name] - accuracy[rival], count)
        for rival in rivals
    }
    closest = min(gaps.values(), key=lambda gap: gap.estimate)
    if all(gap.above for gap in gaps.values()):
        verdict = HOLDS
    else:
        verdict = FAILS if any(gap.below for gap in gaps.values()) else PARTLY
    level = finding(f"accuracy of {name}, {where}", accuracy[name])
    label = closest.quantity.replace(", ", " (closest rival), ", 1)
    return Judgment([level, closest._replace(quantity=label)], verdict)


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
