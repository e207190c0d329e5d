"""What a report is made from, and what it says of it in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from lasec.evaluation import Point, RunSummary
from lasec.learner import Learner
from lasec.metrics import Estimate
from lasec.notebook import percent

SOME, FEW = 500, 100  # rows and labels before which a belief is little more than a beginning


def counted(count: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(2_000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def between(estimate: Estimate) -> str:
    """An estimate with its interval.

    >>> between(Estimate(0.942, 0.931, 0.95, 100, 10, 100))
    '94.2 % (93.1 to 95.0 %)'
    """
    if math.isnan(estimate.value):
        return "unknown"
    if estimate.width < 5e-4:
        return percent(estimate.value)
    low, high = 100.0 * estimate.low, 100.0 * estimate.high
    return f"{percent(estimate.value)} ({low:.1f} to {high:.1f} %)"


def headline(source: RunSummary) -> str:
    """How good it was, and what that cost, in one sentence.

    >>> import lasec
    >>> X, y = lasec.streams.switching(2_000, dimension=5, every=1_000, seed=1)
    >>> run = lasec.evaluate(lasec.Tracker(rate=0.2, seed=0), X, y)
    >>> headline(run)
    '96.7 % right (between 95.5 % and 97.9 %), as estimated from 440 asked labels of ...'
    """
    here, rows, truth = source.estimate, counted(source.rows, "row"), percent(source.accuracy)
    if math.isnan(here.value):
        return _unknown(source, rows, truth)
    if source.labels == source.rows and here.width < 5e-4:
        return f"{truth} right, counted over {rows}: every label was asked."
    said = (
        f"{percent(here.value)} right (between {percent(here.low)} and {percent(here.high)}), "
        f"as estimated from {counted(here.labels, 'asked label')} of {_spoken(source, rows)}; "
        f"in truth {truth}."
    )
    if here.rows == source.rows and source.accuracy not in here:
        said += " The truth lies outside the interval, as it does in about one run of twenty."
    return said


def _unknown(source: RunSummary, rows: str, truth: str) -> str:
    """Why there is no estimate."""
    if not source.rows:
        return "There were no rows, so nothing can be estimated."
    why = "No label was asked" if not source.labels else "No answer has come"
    if source.meter.labels and (still := _still(source)):
        why = f"{counted(source.meter.labels, 'answer')} came, but {still}"
    return f"{why}, so nothing can be estimated over {rows}; in truth {truth} right."


def _spoken(source: RunSummary, rows: str) -> str:
    """Of which rows an estimate speaks: of those before the oldest question that is open."""
    still = _still(source)
    if source.estimate.rows >= source.rows or not still:
        return rows
    return f"the first {source.estimate.rows:,} of {rows}, since {still}"


def _still(source: RunSummary) -> str:
    oldest = source.meter.oldest
    return (
        "" if oldest is None else f"the question of row {oldest - source.first + 1:,} is still open"
    )


def now(source: RunSummary) -> str:
    """How good it was at the end."""
    if not source.points or math.isnan(source.points[-1].estimate.value):
        return ""
    last = source.points[-1]
    if last.estimate.rows >= source.rows:
        return ""
    return (
        f"At the end, over the last {counted(last.estimate.rows, 'settled row')}, it was "
        f"{between(last.estimate)} right; in truth {percent(last.truth)}."
    )


def changes(points: Sequence[Point], first: int = 0) -> list[int]:
    """After which rows of the run the concept changed, as a Tracker believes, oldest first.

    The last is where the present concept began, as is believed at the end; the one before it is
    where its predecessor began, as was believed just before that; and so on. No learner but a
    Tracker believes in changes.

    >>> import lasec
    >>> X, y = lasec.streams.switching(9_000, dimension=5, every=3_000, seed=2)
    >>> run = lasec.evaluate(lasec.Tracker(rate=0.4, seed=0), X, y)
    >>> [round(at, -2) for at in changes(run.points)]
    [3000, 6000]
    """
    found: list[int] = []
    end: float = math.inf
    for point in reversed(points):
        if point.drift_estimate is None:
            return []
        if point.round <= end:
            end = point.drift_estimate.since - first
            if end > 0:
                found.append(int(end))
            else:
                break
    return sorted(found)


def beliefs(source: RunSummary) -> str:
    """What a Tracker believes about the stream; empty for others, and before it can know."""
    points = source.points
    if not points or points[-1].drift_estimate is None:
        return ""
    if source.rows < SOME or source.meter.labels < FEW:
        return ""
    drift, found = points[-1].drift_estimate, changes(points, source.first)
    if not found:
        said = "It believes that the concept has never changed suddenly."
    else:
        newest = ", ".join(f"{at:,}" for at in found[-8:])
        more = "" if len(found) <= 8 else f" (the last 8 of {len(found)})"
        rows = "row" if len(found) == 1 else "rows"
        said = f"It believes that the concept changed suddenly after {rows} {newest}{more}."
    return (
        f"{said} In a thousand rows some {percent(-math.expm1(-1000.0 * drift.drift))} of the "
        f"concept drifts away, and about {percent(drift.noise)} of the labels are wrong."
    )


def beaten(accuracy: float, baselines: Mapping[str, float]) -> list[str]:
    """Which baselines, which need no model, are more accurate.

    >>> beaten(0.84, {"no-change": 0.853, "majority class": 0.575})
    ['A baseline beats this model: no-change, 85.3 %.']
    """
    return [
        f"A baseline beats this model: {name}, {percent(value)}."
        for name, value in baselines.items()
        if value > accuracy
    ]


def cautions(source: RunSummary, learner: Learner) -> list[str]:
    """What a reader should know before trusting the numbers."""
    said = []
    if not learner.query.has_propensity:
        said.append(
            "This query throws no coin: some rows can never be asked. Estimates take the model's "
            "word for them, and intervals are widened by all that they can be."
        )
    elif source.meter.blind:
        said.append(
            f"{counted(source.meter.blind, 'row')} could not be asked, as the budget was spent; "
            "intervals are widened by all that they can be."
        )
    if source.meter.lost:
        was = "was" if source.meter.lost == 1 else "were"
        said.append(f"{counted(source.meter.lost, 'question')} {was} never answered.")
    if source.meter.open:
        was = "was" if source.meter.open == 1 else "were"
        said.append(f"{counted(source.meter.open, 'question')} {was} still open at the end.")
    return said
