"""What a report says of a run in words: cards, warnings, drift."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from statistics import median

from lasec.alarms import described
from lasec.evaluation import Point, RunSummary, facts
from lasec.evaluation.facts import class_metrics
from lasec.evaluation.pictures import DAY, Timeline
from lasec.learner import Learner
from lasec.metrics.agreement import by_chance, is_better
from lasec.metrics.words import Fact, between
from lasec.notebook import about, counted, percent
from lasec.reports.text import clean
from lasec.session import Session

ALARMS = 5  # that are said; all are in the summary
ENOUGH_ROWS, ENOUGH_LABELS = 500, 100  # before which a drift estimate is little but its prior
DRIFTING = 0.1  # of the concept in 1,000 rows: a drift rate below it is not drawn
SMOOTH = 9  # points whose median is shown


def date(days: float, span: float = DAY) -> str:
    """A moment in days since 1970, as exactly as spans of so many seconds need.

    >>> date(20_454.5), date(20_454.5, span=60.0)
    ('2026-01-01', '2026-01-01 12:00')
    """
    moment = datetime.fromtimestamp(days * DAY, UTC)
    return f"{moment:%Y-%m-%d}" if span >= DAY else f"{moment:%Y-%m-%d %H:%M}"


def place(line: Timeline, row: float) -> str:
    """Where a row is: its number, with the date where rows have times and it has come."""
    dated = line.dated and row <= line.rows[-1]
    return f"{row:,.0f}" + (f" ({date(float(line.at([row])[0]))})" if dated else "")


def subtitle(source: RunSummary, learner: Learner) -> str:
    """What ran, over how many rows, and when."""
    line = Timeline.of(source.points)
    when = ""
    if line.dated:
        when = f", {date(float(line.dates[0]))} to {date(float(line.dates[-1]))} (UTC)"
    return f"{learner.name}, {counted(source.rows, 'row')}{when}"


def cards(
    source: RunSummary, baselines: Mapping[str, float], classes: Sequence[str],
    session: Session | None = None,
) -> list[Fact]:  # fmt: skip
    """The headline metrics; what a rare class needs comes first, once it is known.

    A ``session`` with two prices of labels has spent money.

    >>> import lasec
    >>> X, y = lasec.streams.switching(2_000, dimension=5, every=1_000, seed=1)
    >>> run = lasec.evaluate(lasec.Tracker(rate=0.2, seed=0), X, y)
    >>> cards(run, {}, ("-1", "+1"))[0].line
    '96.0 % (95 % CI 95.0-97.1 %, 423 labels)'
    """
    if not source.rows:
        return []
    rarest = source.rare[-1:]
    rare = [fact for n in rarest for fact in facts.of_class(source, n, spoken(n, classes))]
    made = [
        *facts.headline(source, rare), _labels_card(source, session),
        *facts.baselines(baselines),
    ]  # fmt: skip
    line = Timeline.of(source.points)
    if drift_known(source):
        found = changes(source.points, source.first)
        last = f"the last after row {place(line, found[-1])}" if found else "none so far"
        made.append(Fact("estimated change points", f"{len(found):,}", last))
    if source.alarms:
        row = place(line, source.alarms[-1].ticket - source.first + 1)
        made.append(Fact("alarms", f"{len(source.alarms):,}", f"the last in row {row}"))
    return made


def alarm_lines(source: RunSummary) -> list[str]:
    """The last alarms, at most five, each in a line; rows have dates where there are times.

    >>> import lasec
    >>> X, y = lasec.streams.switching(6_000, every=3_000, seed=1)
    >>> tracker, alarm = lasec.Tracker(rate=0.4, seed=0), lasec.alarms.DropAlarm()
    >>> alarm_lines(lasec.evaluate(tracker, X, y, alarms=[alarm]))[0].partition(" before")[0]
    'accuracy drop in row 3,042: estimated error rate 6.0 %'
    """
    line = Timeline.of(source.points)
    return [
        described(alarm, lambda ticket: place(line, ticket - source.first + 1))
        for alarm in source.alarms[-ALARMS:]
    ]


def spoken(name: object, classes: Sequence[str]) -> str:
    """The name of a class: that of -1 or +1, where two are given, or its own.

    >>> spoken(1, ["ham", "spam"]), spoken("eggs", ())
    ('spam', 'eggs')
    """
    signed = len(classes) == 2 and not isinstance(name, str) and name in (-1, 1)
    return clean(str(classes[name == 1] if signed else name))


def rarity(source: RunSummary, classes: Sequence[str]) -> str:
    """Why the metrics of a rare class come first; empty where no class is rare."""
    if not source.rare:
        return ""
    rarest = source.rare[-1]
    name, share = spoken(rarest, classes), source.shares[rarest]
    said = (
        f"{name} is the class of {percent(share)} of the rows, so "
        f"accuracy says little. Recall is the share of the {name} rows that the model predicted "
        f"as {name}; precision is the share of its {name} predictions that are right."
    )
    if "average_precision" not in source.score_metrics:
        return said
    return (
        f"{said} Average precision (PR-AUC) is the mean precision over all thresholds of the "
        f"probability, at each {name} row; ranking at random has {percent(share)}."
    )


def score_rows(source: RunSummary) -> list[tuple[str, str, str]]:
    """How good the probabilities are: log-loss, Brier score and calibration error."""
    made = []
    for metric, words in facts.SCORES.items():
        if metric in source.score_metrics:
            found, truth = source.rated(metric)
            share = metric not in facts.NUMBERS
            known = percent(truth) if share or math.isnan(truth) else f"{truth:.3f}"
            made.append((words, between(found, share=share), known))
    return made


def class_rows(source: RunSummary, classes: Sequence[str]) -> list[tuple[str, ...]]:
    """A row for each class: its share, and the :func:`class_metrics`, estimated and true."""
    made = []
    for place, (name, share) in enumerate(source.shares.items()):
        cells = []
        for metric in class_metrics(source):
            found, truth = source.rated(metric, place)
            cells += [between(found), percent(truth)]
        made.append((spoken(name, classes), percent(share), *cells))
    return made


def confusion_rows(source: RunSummary, classes: Sequence[str]) -> list[tuple[str, ...]]:
    """The confusion matrix: for each true class, how its rows were predicted; estimated (true)."""
    names = [spoken(name, classes) for name in source.classes]
    found, truth = source.confusion.cells.T, source.true_confusion.labels.T
    return [
        (name, *(f"{a:,.0f} ({b:,.0f})" for a, b in zip(estimated, known, strict=True)))
        for name, estimated, known in zip(names, found, truth, strict=True)
    ]


def _labels_card(source: RunSummary, session: Session | None) -> Fact:
    """How many labels were queried, of how many; of two prices, what was spent."""
    share = f"{percent(source.labels / source.rows)} of rows"
    if session is not None and session.buying is not None:
        spent, seen = sum(session.spent.values()), f"experts labeled {source.labels:,}, {share}"
        return Fact("money spent", _sum(spent), f"budget {_sum(session.planned)}; {seen}")
    planned = source.points[-1].planned
    budget = "no budget" if math.isnan(planned) else f"budget {planned:,.0f}"
    return Fact("labels queried", f"{source.labels:,}", f"{budget}; {share}")


def _sum(money: float) -> str:
    """A sum of money in any unit.

    >>> _sum(3_000.4), _sum(0.8612)
    ('3,000', '0.861')
    """
    return f"{money:,.0f}" if money >= 100.0 else f"{money:.3g}"


def changes(points: Sequence[Point], first: int = 0) -> list[int]:
    """The rows after which the concept changed, as a Tracker estimates, oldest first.

    The last is the start of the present concept as estimated at the end; the one before it is the
    start of its predecessor as estimated just before that; and so on. Only a Tracker estimates
    change points.

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


def drift_known(source: RunSummary) -> bool:
    """Whether there is a drift estimate with enough rows and labels behind it."""
    points = source.points
    if not points or points[-1].drift_estimate is None:
        return False
    return source.rows >= ENOUGH_ROWS and source.meter.labels >= ENOUGH_LABELS


def drift_rates(points: Sequence[Point]) -> list[float]:
    """The estimated share of the concept that is replaced in 1,000 rows, at each point.

    Each is the median of the last nine, as single estimates jump.
    """
    single = [-math.expm1(-1000.0 * p.drift_estimate.drift) for p in points if p.drift_estimate]
    return [median(single[max(0, end - SMOOTH) : end]) for end in range(1, len(single) + 1)]


def drift_level(points: Sequence[Point]) -> float:
    """The drift rate as a single number: the median over the second half of the run."""
    rates = drift_rates(points)
    return median(rates[len(rates) // 2 :])


def drifting(source: RunSummary) -> bool:
    """Whether there is drift to draw: a change point, or a drift rate above the threshold."""
    if not drift_known(source):
        return False
    points = source.points
    return drift_level(points) >= DRIFTING or bool(changes(points, source.first))


def drift(source: RunSummary) -> str:
    """The estimated drift in words; empty where there is no estimate."""
    if not drift_known(source):
        return ""
    points = source.points
    line, found = Timeline.of(points), changes(points, source.first)
    if found:
        newest = ", ".join(place(line, at) for at in found[-8:])
        more = "" if len(found) <= 8 else f" (the last 8 of {len(found)})"
        said = f"Estimated change points: after {'row' if len(found) == 1 else 'rows'} {newest}"
        said += f"{more}."
    else:
        said = "No change point was estimated."
    last = points[-1].drift_estimate
    assert last is not None
    return (
        f"{said} {_gradual(points)} Noise estimate: {percent(last.noise)} (label errors, or signal "
        "that the model cannot capture)."
    )


def _gradual(points: Sequence[Point]) -> str:
    """The gradual drift in words: how soon what was learned is out of date."""
    level = drift_level(points)
    if level < DRIFTING:
        return "No gradual drift was estimated that would matter within 1,000 rows."
    rows = -1000.0 * math.log(2.0) / math.log1p(-min(level, 1.0 - 1e-12))
    return (
        "Estimated gradual drift: half of what was learned is out of date after about "
        f"{about(rows)} rows (median of the second half of the run); older labels say little."
    )


def beaten(source: RunSummary, baselines: Mapping[str, float]) -> list[str]:
    """A warning for each baseline that is more accurate than the model.

    For the previous label, only where it is notably better, and not by chance.
    """
    shares, said = list(source.shares.values()), []
    for name, value in baselines.items():
        if value > source.accuracy:
            words = f"Warning: the {name} baseline ({percent(value)}) beats this model "
            words += f"({percent(source.accuracy)})"
            if not name.startswith("no-change"):
                said.append(f"{words}.")
            elif is_better(value, shares, source.accuracy, source.known):
                chance = percent(by_chance(shares))
                said.append(f"{words}: labels are autocorrelated (chance agreement {chance}).")
    return said


def warnings(source: RunSummary, learner: Learner) -> list[str]:
    """What limits the estimates, with the numbers and what to do."""
    if not source.rows:
        return ["There are no rows, so nothing can be estimated."]
    return [*_open_questions(source), *_blind_rows(source, learner), *_missed(source)]


def _open_questions(source: RunSummary) -> list[str]:
    """What labels that have not come do to the estimates."""
    meter, said = source.meter, []
    covered = max(0, source.estimate.until - source.first)
    if not source.labels:
        said.append("Warning: no label was queried, so nothing can be estimated.")
    if meter.oldest is not None and covered < source.rows:
        row = meter.oldest - source.first + 1
        said.append(
            f"Estimates cover the first {covered:,} of {counted(source.rows, 'row')}: the label of "
            f"row {row:,} has not come. Where labels get lost, set max_age on the learner."
        )
    if meter.open:
        have = "has" if meter.open == 1 else "have"
        said.append(f"{counted(meter.open, 'queried label')} {have} not come by the end.")
    if meter.lost:
        was = "was" if meter.lost == 1 else "were"
        said.append(
            f"Warning: {counted(meter.lost, 'queried label')} {was} never answered; estimates "
            "assume that they are missing at random."
        )
    return said


def _blind_rows(source: RunSummary, learner: Learner) -> list[str]:
    """What rows that could not be queried do to the estimates."""
    if not learner.selector.query.has_propensity:
        return [
            "Warning: this query is deterministic, so some rows are never queried. For them "
            "estimates use the model's own probabilities, and intervals include the worst case. "
            "For unbiased estimates, use a query with a minimum query probability."
        ]
    if source.meter.blind:
        return [
            f"Warning: {counted(source.meter.blind, 'row')} had a query probability of 0, because "
            "the budget was spent; intervals include the worst case for them."
        ]
    return []


def _missed(source: RunSummary) -> list[str]:
    here = source.estimate
    covered = here.rows + source.unpredicted
    if math.isnan(here.value) or covered < source.rows or source.accuracy in here:
        return []
    return ["The true accuracy is outside the 95 % interval, as in about 1 of 20 runs."]
