"""Every metric that is estimated from queried labels, against the truth of the same rows.

Classes, predictions and propensities are drawn, and queries by the propensities; in the last cell
they are a Tracker's. Labels take 200 rows on average; a row counts once it is 2,000 rows old, and a
label that is not there by then is lost, as are 20 % of all. Reports that nobody asked for come for
some rows too, mostly of the rarest class where it was missed. They must not count: *all labels
alike* is what one gets who counts them, and the queried ones without weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import lasec
from experiments.journal import Journal, Task
from experiments.output import write_json
from experiments.tables import Table
from lasec.metrics import Confusion, Estimate, Scores
from lasec.metrics.sums import likely

Floats = NDArray[np.float64]
Row = dict[str, Any]

PATIENCE, MEAN_DELAY, LOST, REPORTED = 2_000, 200.0, 0.2, 0.3
SEPARATION, SURE = 2.5, 1.3  # how far apart the classes are, and how much too sure the model is
CHUNK = 25
FIRST = 1_000  # the intervals were made with streams of smaller numbers in view
SHARES = ("precision", "recall", "f1", "macro_precision", "macro_recall", "macro_f1",
          "balanced_accuracy")  # fmt: skip


class Cell(NamedTuple):
    """A distribution of classes, the rows that count, and the label budget."""

    title: str
    prior: tuple[float, ...]
    rows: int
    rate: float


CELLS = {
    f"{name}, {rate:.0%}": Cell(name, prior, rows, rate)
    for name, prior, rows in (
        ("70/25/5", (0.7, 0.25, 0.05), 8_000),
        ("99/1", (0.99, 0.01), 20_000),
        ("99.9/0.1", (0.999, 0.001), 40_000),
    )
    for rate in (0.05, 0.2)
} | {"Tracker, 10%": Cell("Tracker", (0.5, 0.5), 5_000, 0.1)}


class Drawn(NamedTuple):
    """The rows of a stream that count: truth, probabilities, propensities, and which labels came.

    ``reported`` rows have a label that nobody asked for.
    """

    true: NDArray[np.int64]
    p: Floats
    q: Floats
    came: NDArray[np.bool_]
    reported: NDArray[np.bool_]


def draw(cell: Cell, number: int) -> Drawn:
    """A stream; its number seeds it."""
    rng = np.random.default_rng([number, cell.rows, round(1e4 * cell.rate)])
    rows = cell.rows + PATIENCE
    made = _tracked if cell.title == "Tracker" else _simulated
    true, p, q, asked = made(cell, rows, rng, number)
    delays = rng.geometric(1.0 / MEAN_DELAY, rows)
    came = asked & (delays <= PATIENCE) & (rng.random(rows) >= LOST)
    missed = (true == len(cell.prior) - 1) & (p.argmax(axis=1) != true)
    reported = rng.random(rows) < np.where(missed, REPORTED, 0.01)
    kept = slice(cell.rows)
    return Drawn(true[kept], p[kept], q[kept], came[kept], reported[kept])


def _simulated(cell: Cell, rows: int, rng: np.random.Generator, _: int) -> tuple[Any, ...]:
    """Classes that overlap, and queries of which half go where the model is not sure."""
    classes = len(cell.prior)
    true = rng.choice(classes, rows, p=cell.prior)
    scores = rng.normal(size=(rows, classes))
    scores[np.arange(rows), true] += SEPARATION
    odds = np.exp(SURE * (SEPARATION * scores + np.log(cell.prior)))
    p = odds / odds.sum(axis=1, keepdims=True)
    best = np.sort(p, axis=1)
    doubt = 1.0 / (1.0 + ((best[:, -1] - best[:, -2]) / 0.2) ** 2)
    q = np.minimum(cell.rate * (0.5 + 0.5 * doubt / doubt.mean()), 1.0)
    return true, p, q, rng.random(rows) < q


def _tracked(cell: Cell, rows: int, _: np.random.Generator, number: int) -> tuple[Any, ...]:
    """A Tracker on a stream with a new concept every 1,000 rows."""
    X, y = lasec.streams.switching(rows, dimension=10, every=1_000, noise=0.05, seed=number)
    records = lasec.Tracker(rate=cell.rate, horizon=rows, seed=number).run(X, y)
    positive = likely(records.margin)
    p = np.column_stack([1.0 - positive, positive])
    return (y > 0).astype(np.int64), p, records.propensity, records.asked


def metrics(classes: int) -> dict[str, Callable[[Confusion, Scores], Estimate]]:
    """Each metric by its name; precision and the like are those of the rarest class."""
    k = classes - 1
    costs = np.where(np.eye(classes) > 0.0, 0.0, 1.0)
    costs[:k, k] = 5.0
    made: dict[str, Callable[[Confusion, Scores], Estimate]] = {
        name: lambda table, _, name=name: table.estimate(name, positive=k)  # type: ignore[misc]
        for name in SHARES
    }
    return made | {
        "cost": lambda table, _: table.estimate("cost", costs=costs),
        "log_loss": lambda _, scores: scores.log_loss(),
        "brier": lambda _, scores: scores.brier(),
        "average_precision": lambda _, scores: scores.average_precision(k),
        "calibration_error": lambda _, scores: scores.calibration(k).error,
    }


def sums(rows: Drawn, at: NDArray[np.bool_], q: Floats, every: bool) -> tuple[Confusion, Scores]:
    """What is known from the labels at these rows; of all rows, or of those alone."""
    classes, guess = rows.p.shape[1], rows.p.argmax(axis=1)
    kept = np.ones(len(q), dtype=np.bool_) if every else at
    table = Confusion.of_rows(guess[kept], classes)
    table += Confusion.of_labels(guess[at], rows.true[at], q[at], classes)
    scores = Scores.of_rows(rows.p[kept], q[kept])
    return table, scores + Scores.of_labels(rows.p[at], rows.true[at], q[at])


def chunk(name: str, first: int, count: int) -> dict[str, list[list[float | None]]]:
    """Truth, value, low, high and the value of all labels alike, by metric and stream."""
    cell = CELLS[name]
    found: dict[str, list[list[float | None]]] = {}
    for number in range(first, first + count):
        rows = draw(cell, number)
        ones = np.ones(cell.rows)
        known = sums(rows, rows.came, rows.q, every=True)
        truth = sums(rows, ones > 0.0, ones, every=True)
        alike = sums(rows, rows.came | rows.reported, ones, every=False)
        for metric, of in metrics(len(cell.prior)).items():
            made = (of(*truth).value, *of(*known)[:3], of(*alike).value)
            plain = [None if math.isnan(part) else round(part, 6) for part in made]
            found.setdefault(metric, []).append([*plain, float(rows.came.sum())])
    return found


def summary(streams: list[list[float | None]]) -> Row:
    """Bias, coverage and width over streams; the truth may be undefined in some."""
    all_ = np.array([row for row in streams if row[0] is not None], dtype=np.float64)
    truth, value, low, high, alike, labels = all_.T
    off = (value - truth)[~np.isnan(value)]
    covered = (low - 1e-6 <= truth) & (truth <= high + 1e-6)
    figures = {
        "truth": truth.mean(),
        "bias": off.mean(),
        "error": off.std(ddof=1) / math.sqrt(off.size),
        "deviation": off.std(ddof=1),
        "coverage": covered.mean(),
        "width": (high - low).mean(),
        "alike": np.nanmean(alike - truth),
        "labels": labels.mean(),
    }
    rounded = {name: round(float(figure), 6) for name, figure in figures.items()}
    return rounded | {"streams": len(all_), "undefined": int(np.isnan(value).sum())}


def measure(journal: Journal, out: Path, streams: int) -> str:
    """JSON and Markdown; gives the outcome in a few lines."""
    parts = [(name, FIRST + at, min(CHUNK, streams - at)) for name in CELLS
             for at in range(0, streams, CHUNK)]  # fmt: skip
    tasks: list[Task] = [(chunk, part) for part in parts]
    gathered: dict[str, dict[str, list[list[float | None]]]] = {}
    for (name, *_), result in zip(parts, journal.run("metrics", tasks), strict=True):
        for metric, rows in result.items():
            gathered.setdefault(name, {}).setdefault(metric, []).extend(rows)
    figures = {
        name: {metric: summary(rows) for metric, rows in found.items()}
        for name, found in gathered.items()
    }
    about = {"patience": PATIENCE, "mean_delay": MEAN_DELAY, "lost": LOST, "reported": REPORTED}
    write_json(out / "metrics.json", streams=streams, late=about, cells=figures)
    (out / "metrics.md").write_text(document(figures))
    return "\n".join(outcome(figures))


def outcome(cells: dict[str, dict[str, Row]]) -> list[str]:
    """How many estimates cover, and how many are unbiased, in two sentences."""
    every = [row for found in cells.values() for row in found.values()]
    covers = [row["coverage"] for row in every]
    unbiased = sum(abs(row["bias"]) <= 2.0 * row["error"] for row in every)
    small = sum(abs(row["bias"]) <= 0.25 * row["deviation"] for row in every)
    return [
        f"Of {len(every)} pairs of a metric and a cell, the 95 % interval covers in at least 93 % "
        f"of the streams in {sum(cover >= 0.93 for cover in covers)}; the least is "
        f"{min(covers):.1%}.",
        f"The bias is within two standard errors of 0 in {unbiased}, and at most a quarter of the "
        f"standard deviation of an estimate in {small}.",
    ]


def document(cells: dict[str, dict[str, Row]]) -> str:
    """The outcome, and a table for each cell."""
    parts = ["".join(f"- {line}\n" for line in outcome(cells))]
    for name, found in cells.items():
        first = next(iter(found.values()))
        parts.append(f"**{_title(name, first)}**\n\n{Table(HEAD, list(_lines(found))).markdown()}")
    return "\n".join(parts)


HEAD = ["metric", "truth", "bias", "coverage", "width", "all labels alike: bias"]


def _title(name: str, row: Row) -> str:
    cell = CELLS[name]
    drawn = "a Tracker" if cell.title == "Tracker" else f"classes {cell.title}"
    return (
        f"{drawn[0].upper()}{drawn[1:]}, {cell.rows:,} rows, label budget {cell.rate:.0%}: "
        f"{row['labels']:,.0f} labels came"
    )


def _lines(found: dict[str, Row]) -> Iterator[list[str]]:
    for metric, row in found.items():
        digits = 4 if row["truth"] >= 0.05 else 5
        unsaid = f" (no value in {row['undefined']})" if row["undefined"] else ""
        yield [
            metric.replace("_", " ") + unsaid,
            f"{row['truth']:.{digits}f}",
            f"{row['bias']:+.{digits}f} ± {row['error']:.{digits}f}",
            f"{row['coverage']:.1%}",
            f"{row['width']:.{digits}f}",
            f"{row['alike']:+.{digits}f}",
        ]
