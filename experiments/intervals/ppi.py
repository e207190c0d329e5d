"""The interval of the accuracy against power-tuned prediction-powered inference (PPI++).

The default Tracker runs once on each draw of the benchmark's streams; five intervals are then made
from the same queried labels, for each window of 2,000 rows (a shorter stream is one window):

- ``lasec``: :func:`lasec.metrics.means.accuracy`.
- ``ppi``: ``ppi_py.ppi_mean_ci``, power-tuned, with weights 1/q. Its labeled sample are the queried
  rows, its unlabeled sample all rows of the window: those not queried are easier than average.
- ``ipw``: ``ppi_py.classical_mean_ci`` with weights 1/q, which makes no use of the model.
- ``tuned``: that of lasec with lam a in place of a.
- ``recalibrated``: that of lasec with a recalibrated on the queried rows of earlier windows.

With w whether a prediction is wrong, a the model's probability of it, q the propensity and Z
whether the label was queried, the estimated variance of the tuned total is::

    sum of Z (1 - q) (w - lam a)^2/q^2,  least at  lam = (sum of u w a)/(sum of u a^2)

with u = Z (1 - q)/q^2; lam is clipped to [0, 1]. The package divides by the sum of Z/q instead of
the number of rows, takes the window for a sample of a larger population, and uses the normal
distribution. lasec estimates the mean of the window itself, uses Student's t, and with few labels a
minimum width.
"""

from __future__ import annotations

import importlib
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import lasec
from experiments.benchmark.streams import draw, missing
from experiments.intervals.widths import QUICK, ROWS
from experiments.journal import Journal, Task
from experiments.output import write_csv, write_json
from experiments.tables import Table
from lasec.metrics import means, sums

Array = NDArray[np.float64]
Row = dict[str, Any]

METHODS = ("lasec", "ppi", "ipw", "tuned", "recalibrated")
STREAMS = QUICK.streams
RATES = (0.02, 0.05, 0.1, 0.2)
RIDGE = 1.0  # as if intercept and slope were known to a standard deviation of 1
STEPS = 25
SUMMED = ("width", "square")


class Found(NamedTuple):
    """An estimated accuracy and its interval, which is clipped to [0, 1]; the value is not."""

    value: float
    low: float
    high: float


class Rows(NamedTuple):
    """Rows with the model's guess, the propensity, whether queried, and whether wrong (0 or 1)."""

    guess: Array
    q: Array
    asked: NDArray[np.bool_]
    wrong: Array

    def part(self, which: slice | NDArray[np.bool_]) -> Rows:
        """Some of the rows."""
        return Rows(self.guess[which], self.q[which], self.asked[which], self.wrong[which])


def package() -> Any:
    """The package ppi-python, which silences all warnings when imported; that is undone."""
    try:
        with warnings.catch_warnings():
            return importlib.import_module("ppi_py")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"this command needs ppi-python (no module {error.name}): pip install --group peers"
        ) from error


def aipw(rows: Rows, expected: Array | None = None) -> Found:
    """The estimate of lasec; ``expected`` replaces the variance that the model expects."""
    table = sums.of_rows(rows.guess, rows.q)
    if expected is not None:
        table[:, sums.Column.EXPECTED] = expected
    known = rows.part(rows.asked)
    answers = sums.of_answers(known.guess, known.q, known.wrong)
    estimate = means.accuracy(table.sum(axis=0) + answers.sum(axis=0))
    return Found(estimate.value, estimate.low, estimate.high)


def ppi(rows: Rows) -> Found:
    """The estimate of ppi-python, power-tuned."""
    known = rows.part(rows.asked)
    samples = (known.wrong, known.guess, rows.guess)
    return _right(package().ppi_mean_ci(*samples, alpha=0.05, w=1.0 / known.q))


def ipw(rows: Rows) -> Found:
    """The estimate of ppi-python without a model: the weighted mean of the labels."""
    known = rows.part(rows.asked)
    return _right(package().classical_mean_ci(known.wrong, w=1.0 / known.q, alpha=0.05))


def _right(ends: Any) -> Found:
    """The accuracy, from a symmetric interval of the error."""
    low, high = (1.0 - float(np.squeeze(end)) for end in reversed(ends))
    return Found((low + high) / 2.0, max(low, 0.0), min(high, 1.0))


def power(rows: Rows) -> float:
    """The lam with the least estimated variance; 1 if the queried rows do not tell."""
    a, q, _, w = rows.part(rows.asked)
    u = (1.0 - q) / q**2
    square = float(u @ a**2)
    return min(float(u @ (w * a)) / square, 1.0) if square > 0.0 else 1.0


def tuned(rows: Rows) -> Found:
    """The estimate of lasec with lam a in place of a.

    If a is the probability of an error, the mean of (w - lam a)^2 is a (1 - a) + (1 - lam)^2 a^2.
    """
    lam, a, q = power(rows), rows.guess, rows.q
    odds = np.divide(1.0 - q, q, out=np.zeros_like(q), where=q > 0.0)
    return aipw(rows._replace(guess=lam * a), odds * (a * (1.0 - a) + ((1.0 - lam) * a) ** 2))


def recalibrated(rows: Rows, past: Rows) -> Found:
    """The estimate of lasec with a guess that is recalibrated on earlier rows."""
    return aipw(rows._replace(guess=platt(past, rows.guess)))


def platt(past: Rows, guess: Array) -> Array:
    """The guess after a logistic regression on its logit, fitted to the queried rows of ``past``.

    Weights are 1/q, scaled to add up to the effective number of labels. A ridge holds intercept
    and slope near 0 and 1, where they stay without a label.
    """
    known = past.part(past.asked)
    if not known.q.size:
        return guess
    weight = 1.0 / known.q
    weight *= weight.sum() / (weight @ weight)
    X, start = _logits(known.guess), np.array([0.0, 1.0])
    beta = start.copy()
    for _ in range(STEPS):
        p = _logistic(X @ beta)
        slope = X.T @ (weight * (p - known.wrong)) + RIDGE * (beta - start)
        curve = (X.T * (weight * p * (1.0 - p))) @ X + RIDGE * np.eye(2)
        step = np.linalg.solve(curve, slope)
        beta -= step / max(1.0, float(np.linalg.norm(step)))
    return _logistic(_logits(guess) @ beta)


def _logits(guess: Array) -> Array:
    return np.column_stack([np.ones(guess.size), np.log(guess / (1.0 - guess))])


def _logistic(z: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-z.clip(-30.0, 30.0))))


def compared(rows: Rows) -> list[list[float]]:
    """For each window with a label, the truth and the five estimates with their ends."""
    found = []
    size = min(ROWS, rows.q.size)
    for first in range(0, rows.q.size - size + 1, size):
        past, window = rows.part(slice(first)), rows.part(slice(first, first + size))
        if window.asked.any():
            made = (aipw(window), ppi(window), ipw(window), tuned(window))
            five = (*made, recalibrated(window, past))
            found.append([1.0 - float(window.wrong.mean()), *np.ravel(five).tolist()])
    return found


def one(stream: str, rate: float, seed: int, size: float) -> list[list[float]]:
    """The windows of one run of the default Tracker."""
    X, y = draw(stream, seed, size)
    records = lasec.Tracker(rate=rate, horizon=len(y), seed=seed).run(X, y)
    guess = sums.doubt(records.label, records.margin)
    wrong = records.mistake.astype(np.float64)
    return compared(Rows(guess, records.propensity, records.asked, wrong))


def measure(journal: Journal, out: Path, seeds: int, size: float = 1.0) -> str:
    """CSV, JSON and Markdown; gives the table."""
    package()
    names = [name for name in STREAMS if missing(name) is None]
    cells = [
        (name, rate, seed, size)
        for seed in range(1, seeds + 1)
        for name in names
        for rate in RATES
    ]  # fmt: skip
    tasks: list[Task] = [(one, cell) for cell in cells]
    rows = [
        row
        for cell, windows in zip(cells, journal.run("ppi", tasks), strict=True)
        for row in _rows(cell, windows)
    ]
    write_csv(out / "ppi.csv", rows)
    about: dict[str, Any] = {"streams": names, "rates": list(RATES), "seeds": seeds, "size": size}
    write_json(out / "ppi.json", **about, ppi_python=version("ppi-python"))
    made = table(rows)
    (out / "ppi.md").write_text(made)
    return made


def _rows(cell: tuple[str, float, int, float], windows: list[list[float]]) -> list[Row]:
    """A row for each of the five: means over the windows of a run, and how many were covered."""
    about = dict(zip(("stream", "rate", "seed"), cell[:3], strict=True))
    table = np.array(windows).reshape(len(windows), -1)
    rows = []
    for number, method in enumerate(METHODS):
        value, low, high = table[:, 1 + 3 * number :][:, :3].T
        numbers = {
            "windows": len(table),
            "width": round(float((high - low).mean()), 6),
            "covered": int(((low <= table[:, 0]) & (table[:, 0] <= high)).sum()),
            "square": round(float(((value - table[:, 0]) ** 2).mean()), 8),
        }
        rows.append(about | {"method": method} | numbers)
    return rows


def table(rows: list[Row]) -> str:
    """Width, coverage and error of the five, by rate and by stream; all windows count alike."""
    say = (
        "Each cell: the mean width of the windows' 95 % intervals; the share of windows whose true "
        "accuracy they cover; and the root mean square error of the estimates."
    )
    return f"{say}\n\n{_by('rate', rows)}\n{_by('stream', rows)}"


def _by(key: str, rows: list[Row]) -> str:
    values = list(dict.fromkeys(row[key] for row in rows))
    groups = [(str(value), [row for row in rows if row[key] == value]) for value in values]
    lines = []
    for name, group in [*groups, ("all", rows)]:
        cells = [[row for row in group if row["method"] == method] for method in METHODS]
        windows = sum(row["windows"] for row in cells[0])
        lines.append([name, f"{windows:,}", *map(_cell, cells)])
    return Table([key, "windows", *METHODS], lines).markdown()


def _cell(rows: list[Row]) -> str:
    count = [row["windows"] for row in rows]
    width, square = (np.average([row[key] for row in rows], weights=count) for key in SUMMED)
    covered = sum(row["covered"] for row in rows) / sum(count)
    return f"{width:.3f}; {covered:.1%}; {np.sqrt(square):.3f}"
