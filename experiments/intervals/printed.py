"""Every interval that the command line, the report and the owner's page print, against the truth.

A model is replayed whose right and wrong predictions are drawn, at 0, 1, 5 or 50 % errors: its
probabilities are calibrated, too sure, not sure enough, or no probabilities at all. lasec does the
rest: queries at a budget, the summary of the run, the meter of a session. The first rows have no
prediction, as no label has come. Where answers are lost, they are lost at random, but for the worst
case: there the answers that say "wrong" are lost more often, or less.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import SGDClassifier

import lasec
from experiments.journal import Journal, Task
from experiments.output import write_csv
from experiments.tables import Table
from lasec.metrics import Confusion, Estimate, Meter, Scores
from lasec.queries import Budgeted
from lasec.registry import make
from lasec.selector import Selector
from lasec.session import AnyModel, around
from lasec.session.models import Judged

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Found = tuple[str, float, float, float, float]  # name, value, low, high, truth
Row = dict[str, Any]

ERRORS = (0.0, 0.01, 0.05, 0.5)
LEARNERS = -1.0  # in the place of an error rate
NAMES = ("tracker", "lasec-ss", "perceptron-ss", "sgd")
RATES = (0.05, 0.1, 0.3)
WINDOWS = (100, 200, 500, 1_000, 2_000)
ROWS, EVERY, CHUNK, ENOUGH = 3_000, 300, 10, 0.93
RARER, HARD, LOST, DELAY = 0.3, 0.2, 0.2, 100.0
SPELLS = (50, 200, 400)  # rows, on average; the blocks of a paired difference have 150
SURENESS = (1.0, 3.0, 0.4, 30.0)  # times the log-odds: calibrated, too sure, not enough, no odds
BY_CLASS = ("precision", "recall", "f1")
TITLES = {
    "log_loss": "log-loss", "brier": "Brier score", "calibration_error": "calibration error",
}  # fmt: skip
TOGETHER = ("balanced_accuracy", "macro_precision", "macro_f1")


class Drawn(NamedTuple):
    """The rows of a stream: true classes, those that a model says, its log-odds of being right."""

    true: Bools
    said: Bools
    odds: Floats

    @property
    def right(self) -> Bools:
        """Where the model is right."""
        return np.asarray(self.true == self.said)

    @property
    def positive(self) -> Floats:
        """The model's probability of the second class."""
        return np.asarray(1.0 / (1.0 + np.exp(np.where(self.said, -self.odds, self.odds))))


class Scored(NamedTuple):
    """What a paired difference needs of a run: where the model was right."""

    right: Bools

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.right.size

    @property
    def accuracy(self) -> float:
        """The share of rows where it was right."""
        return float(self.right.mean())

    def parts(self, count: int) -> list[Scored]:
        """The run in windows of time."""
        return [Scored(part) for part in np.array_split(self.right, count)]

    @property
    def name(self) -> str:
        """All windows are the same rows of both runs."""
        return ""


def chances(errors: float) -> tuple[float, float]:
    """How often a prediction is wrong in easy rows and in the hard ones, a fifth of all.

    >>> [round(one, 4) for one in chances(0.05)]
    [0.0125, 0.2]
    """
    hard = min(0.5, 4.0 * errors)
    return (errors - HARD * hard) / (1.0 - HARD), hard


def draw(errors: float, sureness: float, rng: np.random.Generator, rows: int) -> Drawn:
    """A stream, and a model that is wrong in this share of its rows."""
    easy, hard = chances(errors)
    wrong = np.where(rng.random(rows) < HARD, hard, easy)
    true = rng.random(rows) < RARER
    odds = np.log(1.0 / np.clip(wrong, 0.003, 0.5) - 1.0) + rng.normal(0.0, 0.5, rows)
    return Drawn(true, true ^ (rng.random(rows) < wrong), np.minimum(sureness * abs(odds), 700.0))


def replayed(rows: Drawn, rate: float, seed: int) -> AnyModel:
    """A model that says what was drawn, once it has had a label, under lasec's budget."""
    told: list[Any] = []

    def judge(x: Any) -> Judged:
        at = int(x[0])
        sure = math.tanh(rows.odds[at] / 2.0)
        return Judged(bool(rows.said[at]) if told else None, sure if told else 0.0, sure)

    query = Budgeted(rate, horizon=float(len(rows.true)))
    return AnyModel(judge, lambda x, y, ticket: told.append(y), Selector(query, seed=seed))


def run(rows: Drawn, gone: Bools, rate: float, seed: int) -> lasec.RunSummary:
    """The summary of a run in which these answers are lost."""
    y = np.array(rows.true, dtype=object)
    y[gone] = None
    at = np.arange(len(y), dtype=np.float64)[:, None]
    into = lasec.RunSummary(keep=True, every=EVERY)
    return lasec.evaluate(lasec.Session(replayed(rows, rate, seed)), at, y, into=into)


def stream(errors: float, number: int, rows: int = ROWS) -> list[Found]:
    """All intervals of one stream, with the truth of each."""
    rng = np.random.default_rng([number, round(1_000 * errors), 38])
    sureness, rate = SURENESS[number % len(SURENESS)], RATES[number // 4 % len(RATES)]
    drawn = draw(errors, sureness, rng, rows)
    gone = rng.random(rows) < (LOST if number % 2 else 0.0)
    done = run(drawn, gone, rate, number)
    biased = rng.random(rows) < np.where(drawn.right ^ (number % 2 > 0), 0.05, 0.5)
    return [
        *_accuracies(done, drawn, number), *_windows(done, drawn, gone),
        *_classes(done, drawn), *_scores(done, drawn), *_anytime(done, drawn),
        *_owner(done, drawn, gone, rng), *_worst(done, drawn, biased),
    ]  # fmt: skip


def _of(name: str, found: Estimate, truth: float) -> Found:
    return name, found.value, found.low, found.high, truth


def _right(done: lasec.RunSummary, drawn: Drawn) -> Bools:
    """Where the model was right, of the rows with a prediction: all but the first."""
    return drawn.right[done.unpredicted :]


def _accuracies(done: lasec.RunSummary, drawn: Drawn, number: int) -> Iterator[Found]:
    right, recent, parts = _right(done, drawn), done.recent(), done.parts(10)
    yield _of("accuracy, all rows", done.estimate, right.mean())
    yield _of("accuracy, last 200 labels", recent, right[-recent.rows :].mean())
    place = number % len(parts)
    end = sum(one.estimate.rows for one in parts[: place + 1])
    part = parts[place].estimate
    yield _of("accuracy, a tenth of the run", part, right[end - part.rows : end].mean())


def _windows(done: lasec.RunSummary, drawn: Drawn, gone: Bools) -> Iterator[Found]:
    y = np.array(drawn.true, dtype=object)
    y[gone] = None
    right = _right(done, drawn)
    for window in WINDOWS:
        meter = Meter(window=window)
        meter.extend(done.records, y)
        found = meter.estimate(over="window")
        yield _of(f"accuracy, window of {window:,}", found, right[-found.rows :].mean())


def _classes(done: lasec.RunSummary, drawn: Drawn) -> Iterator[Found]:
    known = slice(done.unpredicted, None)
    said, true = (one[known].astype(int) for one in (drawn.said, drawn.true))
    table = Confusion.of_rows(said, 2)
    table += Confusion.of_labels(said, true, np.ones(said.size), 2)
    for place, name in enumerate(done.classes):
        for metric in BY_CLASS:
            truth = table.estimate(metric, positive=int(name)).value
            yield _of(f"{metric} of a class", done.rated(metric, place)[0], truth)
    for metric in TOGETHER:
        yield _of(metric.replace("_", " "), done.rated(metric)[0], table.estimate(metric).value)


def _scores(done: lasec.RunSummary, drawn: Drawn) -> Iterator[Found]:
    known = slice(done.unpredicted, None)
    p, true = drawn.positive[known], drawn.true[known].astype(int)
    full = Scores.of_rows(p, np.ones(p.size)) + Scores.of_labels(p, true, np.ones(p.size))
    for place, name in enumerate(done.classes):
        truth = full.average_precision(int(name)).value
        found = done.rated("average_precision", place)[0]
        yield _of("average_precision of a class", found, truth)
    measured = full.calibration(int(done.classes[1]))
    truths = (full.log_loss().value, full.brier().value, measured.error.value)
    for (metric, title), truth in zip(TITLES.items(), truths, strict=True):
        yield _of(title, done.rated(metric)[0], truth)
    for one in done.reliability:
        near = int(np.argmin([abs(bin_.predicted - one.predicted) for bin_ in measured.bins]))
        truth = measured.bins[near].observed.value
        yield _of("a bin of the reliability diagram", one.estimate, truth)


def _anytime(done: lasec.RunSummary, drawn: Drawn) -> Iterator[Found]:
    """Whether the band of the chart never missed, as an interval of 0 or 1 around 1."""
    right, first = drawn.right, done.unpredicted
    held = 1.0
    for point in done.points:
        found, end = point.always, point.round
        if found.rows and not math.isnan(found.value):
            truth = right[max(first, end - found.rows) : end].mean()
            held = min(held, float(truth in found))
    yield "anytime band, at all points at once", held, held, held, 1.0


def _owner(done: lasec.RunSummary, drawn: Drawn, gone: Bools, rng: Any) -> Iterator[Found]:
    """What the owner's page shows while answers come late, and some never."""
    meter, records = Meter(), done.records
    due = np.arange(gone.size) + rng.geometric(1.0 / DELAY, gone.size)
    columns: tuple[Any, ...] = (
        records.sign, records.margin, records.variance, records.propensity, records.asked,
        records.ticket,
    )  # fmt: skip
    waiting: dict[int, list[lasec.Decision]] = {}
    for fields in zip(*(column.tolist() for column in columns), strict=True):
        decision, ticket = lasec.Decision(*fields), fields[-1]
        meter.ask(decision)
        if decision.asked:
            waiting.setdefault(int(due[ticket]), []).append(decision)
        for past in waiting.pop(ticket, []):
            if gone[past.ticket]:
                meter.cancel(past.ticket)
            else:
                says = past.label if drawn.right[past.ticket] else -past.label
                meter.tell(lasec.Outcome(past, says, mistake=says != past.label, updated=True))
    shown, first = meter.reaching(), done.unpredicted
    for over, words in (("all", "all rows"), ("window", "last 1,000 rows")):
        found = shown.estimate(over=over)
        truth = drawn.right[max(first, found.until - found.rows) : found.until]
        if truth.size:
            yield _of(f"owner's page, {words}", found, truth.mean())


def _worst(done: lasec.RunSummary, drawn: Drawn, gone: Bools) -> Iterator[Found]:
    """The worst case where answers are not lost at random."""
    meter, y, right = Meter(), np.array(drawn.true, dtype=object), _right(done, drawn)
    y[gone] = None
    meter.extend(done.records, y)
    for over, words in (("all", "all rows"), ("window", "last 1,000 rows")):
        found = meter.estimate(over=over)
        if found.lost:
            truth = float(right[-found.rows :].mean())
            yield f"worst case, {words}", found.value, found.worst_low, found.worst_high, truth


def pair(errors: float, number: int, length: int, rows: int = ROWS) -> Found:
    """Two models on the same rows; one of them is worse in spells of so many rows."""
    rng = np.random.default_rng([number, round(1_000 * errors), length])
    one, more = draw(errors, 1.0, rng, rows), min(0.2, 2.0 * errors)
    spell = (np.cumsum(rng.random(rows) < 1.0 / length) + rng.integers(0, 2)) % 2 > 0
    runs: list[Any] = [Scored(one.right), Scored(one.right ^ (spell & (rng.random(rows) < more)))]
    found = lasec.evaluation.paired_difference(*runs)
    expected = more * (0.5 - errors)  # an error more where it was right, one less where not
    return (f"paired difference, spells of {length} rows", *found, expected)


def learned(number: int, rows: int) -> list[Found]:
    """The intervals of a learner on a stream that switches, some of whose labels are wrong."""
    name, noise = NAMES[number % len(NAMES)], (*ERRORS[:3], 0.2)[number // len(NAMES) % 4]
    X, y = lasec.streams.switching(rows, dimension=5, every=rows // 2, noise=noise, seed=number)
    into = lasec.RunSummary(keep=True, every=EVERY)
    if name == "sgd":
        model = SGDClassifier(loss="log_loss", random_state=number)
        session = lasec.Session(around(model, classes=[-1, 1], rate=0.1, seed=number))
        done = lasec.evaluate(session, X, y, into=into)
    else:
        done = lasec.evaluate(make(name, 5, rate=0.1, seed=number), X, y, into=into)
    right = ~done.records.mistake[done.records.sign != 0]
    recent, scores = done.recent(), done.score_metrics
    return [
        _of("accuracy, all rows", done.estimate, right.mean()),
        _of("accuracy, last 200 labels", recent, right[-recent.rows :].mean()),
        *(
            _of(f"{metric} of a class", *done.rated(metric, place))
            for metric in (*BY_CLASS, *("average_precision",)[: len(scores)])
            for place in range(2)
        ),
        *(_of(metric.replace("_", " "), *done.rated(metric)) for metric in TOGETHER),
        *(_of(TITLES[metric], *done.rated(metric)) for metric in scores[1:]),
    ]


def chunk(errors: float, first: int, count: int, rows: int) -> list[list[Any]]:
    """The intervals of some streams and pairs."""
    return [
        [name, *(None if math.isnan(end) else round(float(end), 6) for end in ends)]
        for number in range(first, first + count)
        for name, *ends in (
            learned(number, rows)
            if errors == LEARNERS
            else (
                *stream(errors, number, rows),
                *(pair(errors, number, length, rows) for length in SPELLS),
            )
        )
    ]


def measure(journal: Journal, out: Path, streams: int, rows: int = ROWS) -> str:
    """CSV and Markdown; gives what is below 93 %."""
    tasks: list[tuple[float, int, int, int]] = [
        (errors, at, min(CHUNK, streams - at), rows)
        for errors in (*ERRORS, LEARNERS)
        for at in range(0, streams, CHUNK)
    ]
    todo: list[Task] = [(chunk, task) for task in tasks]
    found: dict[tuple[str, float], list[list[float]]] = {}
    for (errors, *_), result in zip(tasks, journal.run("printed", todo), strict=True):
        for name, value, *ends in result:
            if value is not None and ends[-1] is not None:
                found.setdefault((name, errors), []).append(ends)
    cells = [summary(*key, np.array(ends)) for key, ends in found.items()]
    write_csv(out / "printed.csv", cells)
    (out / "printed.md").write_text(document(cells))
    return outcome(cells)


def summary(name: str, errors: float, ends: Floats) -> Row:
    """The coverage and width of one kind of interval at one error rate."""
    low, high, truth = ends.T
    covered = (low - 1e-6 <= truth) & (truth <= high + 1e-6)
    return {
        "interval": name, "errors": errors, "intervals": len(ends),
        "coverage": round(float(covered.mean()), 4),
        "truth_above": round(float((truth > high + 1e-6).mean()), 4),
        "truth_below": round(float((truth < low - 1e-6).mean()), 4),
        "width": round(float((high - low).mean()), 4),
    }  # fmt: skip


def outcome(cells: list[Row]) -> str:
    """How many cells cover as they should, and those that do not."""
    missed = [row for row in cells if row["coverage"] < ENOUGH]
    names = "; ".join(
        f"{row['interval']}, {_column(row['errors'])}, {row['coverage']:.1%}" for row in missed
    )
    held = f"{len(cells) - len(missed)} of {len(cells)} cells cover in at least {ENOUGH:.0%}"
    return f"{held}; below: {names}" if names else f"{held}, the least in {_least(cells):.1%}"


def _least(cells: list[Row]) -> float:
    return float(min(row["coverage"] for row in cells))


def document(cells: list[Row]) -> str:
    """A line for each kind of interval, a column for each error rate: coverage and mean width."""
    lines = []
    for name in dict.fromkeys(row["interval"] for row in cells):
        found = {row["errors"]: row for row in cells if row["interval"] == name}
        shown = (found.get(errors) for errors in (*ERRORS, LEARNERS))
        lines.append(
            [name.replace("_", " "), *("-" if row is None else _cell(row) for row in shown)]
        )
    head = ["coverage (mean width)", *(_column(errors) for errors in (*ERRORS, LEARNERS))]
    return f"{Table(head, lines).markdown()}\n{outcome(cells)}.\n"


def _column(errors: float) -> str:
    return "learners" if errors == LEARNERS else f"{errors:.0%} errors"


def _cell(row: Row) -> str:
    return f"{row['coverage']:.1%} ({row['width']:.3f})"
