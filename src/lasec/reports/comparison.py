"""Several learners on one stream, on one page."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lasec import notebook
from lasec.evaluation import Point, RunSummary, paired_difference
from lasec.evaluation import pictures as draw
from lasec.evaluation.pictures import Timeline
from lasec.files import write
from lasec.learner import Learner
from lasec.metrics.words import between
from lasec.notebook import counted, percent
from lasec.reports import html
from lasec.reports.figures import FigureSpec, Series, frame, over_time
from lasec.reports.report import NO_BASELINES, parameters, versions
from lasec.reports.source import beaten
from lasec.reports.svg import PALETTE
from lasec.reports.text import across, clean, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Runs = Mapping[str, tuple[RunSummary, Learner | str]]
UNEQUAL = 1.1  # so many times as many labels are worth a warning
DASHES = ("-", "--", "-.", ":")
HEAD = (
    "learner", "true accuracy", "difference (95 % CI)", "estimated accuracy (95 % CI)",
    "labels queried",
)  # fmt: skip


class Comparison:
    """The table of a comparison, ``rows`` under a ``head``, which a notebook shows as a card."""

    def __init__(self, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
        self.head, self.rows = head, rows

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(name) for name, *_ in self.rows)})"

    def _repr_html_(self) -> str:
        return notebook.table("Comparison", self.head, self.rows)


def compare(
    path: str | os.PathLike[str],
    runs: Runs,
    *,
    title: str = "",
    baselines: Mapping[str, float] = NO_BASELINES,
) -> Comparison:
    """Write one page about several learners that ran over the same stream, and give its table.

    ``runs`` has for each name a summary and its learner, or a description of a model that is not
    lasec's. ``baselines`` are accuracies to beat (default: no-change and the majority class).
    Differences to the most accurate learner are paired by row: see
    :func:`lasec.evaluation.paired_difference`.

    >>> import lasec, lasec.reports, tempfile
    >>> X, y = lasec.streams.switching(2_000, dimension=5, every=1_000, seed=1)
    >>> runs = {}
    >>> for learner in (lasec.Tracker(rate=0.2), lasec.LASEC_SS(dimension=5)):
    ...     run = lasec.evaluate(learner, X, y)
    ...     runs[learner.name] = run, learner
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lasec.reports.compare(f"{folder}/compare.html", runs)
    Comparison('Tracker', 'LASEC-SS', 'baseline: no-change', 'baseline: majority class')
    """
    if not runs:
        raise ValueError("runs: there is nothing to compare")
    name = title or _title(runs)
    best = order(runs)[0]
    beat = baselines or runs[best][0].baselines
    table = summary(runs, beat)
    given = {run: _settings(learner) for run, (_, learner) in runs.items()}
    points = {run: source.points for run, (source, _) in runs.items()}
    body = [
        f"<header>\n<h1>{escape(name)}</h1>",
        html.paragraph(_headline(runs), "headline"),
        *(html.paragraph(words, "warning") for words in _unequal(runs)),
        *(html.paragraph(words, "warning") for words in beaten(runs[best][0], beat)),
        html.table(table.head, table.rows, _READING),
        "</header>",
        html.figure(accuracies(points, beat)),
        html.figure(labels(points)),
        html.details(
            "settings", "Settings and versions", html.facts(given, "Learners"),
            html.facts(versions(), "Versions"),
        ),
    ]  # fmt: skip
    write(path, html.page(name, body), private=False)
    return table


def order(runs: Runs) -> list[str]:
    """The names of the runs, the best first; those without rows at the end."""
    value = {run: source.accuracy for run, (source, _) in runs.items()}
    return sorted(runs, key=lambda run: math.inf if math.isnan(value[run]) else -value[run])


def summary(runs: Runs, baselines: Mapping[str, float]) -> Comparison:
    """The table of all runs, the best first; baselines stand at the end."""
    names = order(runs)
    best = runs[names[0]][0]
    ranked, losses = _ranked(best), _has_losses(runs)
    rows: list[tuple[str, ...]] = []
    for run in names:
        source = runs[run][0]
        same = run != names[0] and source.rows == best.rows > 0
        apart = paired_difference(source, best).in_points if same else ""
        rows.append((
            run, *(percent(_true(source, "average_precision", place)) for place in ranked),
            percent(source.accuracy), "best" if run == names[0] else apart,
            between(source.estimate), *(_loss(source) for _ in losses),
            f"{source.labels:,} ({percent(source.labels / max(source.rows, 1))})",
        ))  # fmt: skip
    for name, value in baselines.items():
        blank = ("",) * (len(losses) + 3)
        rows.append((f"baseline: {name}", *("" for _ in ranked), percent(value), *blank))
    first = (f"true average precision of {clean(str(best.classes[place]))}" for place in ranked)
    return Comparison((HEAD[0], *first, *HEAD[1:-1], *losses, HEAD[-1]), rows)


def _ranked(source: RunSummary) -> list[int]:
    """The class whose average precision is shown, by its place: one of two, if it is rare."""
    return [source.classes.index(name) for name in source.rare] if len(source.classes) == 2 else []


def _has_losses(runs: Runs) -> tuple[str, ...]:
    """The column of the log-loss, where a learner has probabilities."""
    some = any("log_loss" in source.score_metrics for source, _ in runs.values())
    return ("true log-loss",) if some else ()


def _true(source: RunSummary, metric: str, place: int = 0) -> float:
    """A metric of probabilities from all labels; NaN where the learner has none."""
    return source.rated(metric, place)[1] if metric in source.score_metrics else math.nan


def _loss(source: RunSummary) -> str:
    truth = _true(source, "log_loss")
    return "-" if math.isnan(truth) else f"{truth:.3f}"


def accuracies(points: Mapping[str, Sequence[Point]], baselines: Mapping[str, float]) -> FigureSpec:
    """The true accuracy of all over time."""

    def paint(axes: Axes) -> None:
        for name, value in baselines.items():
            lowest = len(baselines) > 1 and value == min(baselines.values())
            axes.axhline(value, color=draw.SOFT, linewidth=1.0, linestyle=(0, (1, 2)))
            axes.annotate(
                short(name), (1.0, value), xycoords=("axes fraction", "data"), ha="right",
                va="top" if lowest else "bottom", fontsize=8, color=draw.SOFT,
            )  # fmt: skip
        low, high = axes.get_ylim()
        axes.set_ylim(low - 0.06 * (high - low), high)  # room for the name of the lowest one
        axes.set_ylabel("accuracy of the window")
        draw.share_axis(axes.yaxis)

    values = {name: [point.truth for point in of] for name, of in points.items()}
    return _figure(
        "accuracy", "Accuracy over time",
        "True accuracy (all labels) of each learner in a window of the last rows; dotted lines are "
        "the baselines over all rows.",
        2.8, points, values, paint,
    )  # fmt: skip


def labels(points: Mapping[str, Sequence[Point]]) -> FigureSpec:
    """The labels of all over time."""

    def paint(axes: Axes) -> None:
        axes.set_ylabel("labels queried")
        axes.set_ylim(bottom=0.0)
        draw.count_axis(axes.yaxis)

    values = {name: [float(point.labels) for point in of] for name, of in points.items()}
    words = "How many labels each learner has queried so far."
    return _figure("labels", "Labels queried", words, 2.3, points, values, paint)


def _figure(
    name: str,
    title: str,
    words: str,
    height: float,
    points: Mapping[str, Sequence[Point]],
    values: Mapping[str, list[float]],
    rest: Callable[[Axes], None],
) -> FigureSpec:
    """A figure with a line for each learner; ``rest`` sees to the other axis."""
    longest = max(points.values(), key=lambda of: of[-1].round if of else 0)
    line, rows = Timeline.of(longest), _rows(longest)

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for number, (run, of) in enumerate(points.items()):
            _line(axes, number, run, line.at(_rows(of)), values[run])
        rest(axes)
        _legend(figure, axes, list(points))
        if longest:
            frame(figure, line)

    axis, x, places = over_time(line, rows)
    kind = "share" if name == "accuracy" else "count"
    series: list[Series] = [
        (run, kind, values[run]) for run, of in points.items() if _rows(of) == rows
    ]
    return FigureSpec(name, title, words, height, paint, axis, x, series, places=places)


def _line(
    axes: Axes, number: int, name: str, x: NDArray[np.float64], values: Sequence[float]
) -> None:
    color, dash = PALETTE[number % len(PALETTE)], DASHES[number // 2 % len(DASHES)]
    mark = "o" if len(values) == 1 else ""
    axes.plot(x, values, color=color, linestyle=dash, linewidth=1.5, marker=mark, label=short(name))


def _legend(figure: Figure, axes: Axes, names: Sequence[str]) -> None:
    """A legend of as many columns as there is room for; the figure grows by its further rows."""
    width, height = figure.get_size_inches()
    letters = max(across(short(name)) for name in names)
    columns = min(4, max(1, int((width - 0.7) / (0.085 * letters + 0.45))))
    rows = -(-len(names) // columns)
    figure.set_size_inches(width, height + 0.19 * max(0, rows - 2))
    draw.legend(axes, columns)


def _headline(runs: Runs) -> str:
    """Which is the best, and whether it can be told from the second."""
    best, *others = order(runs)
    source = runs[best][0]
    if not source.rows:
        return "There are no rows, so there is nothing to compare."
    said = (
        f"{best} has the highest true accuracy, {percent(source.accuracy)} over "
        f"{counted(source.rows, 'row')}, with {counted(source.labels, 'queried label')}."
    )
    same = [run for run in others if runs[run][0].rows == source.rows]
    found = paired_difference(source, runs[same[0]][0]) if same else None
    if found is None or math.isnan(found.low):
        return said
    ends = f"95 % CI {100 * found.low:.1f} to {100 * found.high:.1f}"
    said += f" Its lead over {same[0]} is {100 * found.value:.1f} percentage points ({ends})"
    return f"{said}." if found.low > 0.0 else f"{said}, so the two cannot be told apart."


def _title(runs: Runs) -> str:
    counts = {source.rows for source, _ in runs.values()}
    same = "the same" if len(counts) == 1 else "up to"
    return f"{counted(len(runs), 'learner')} on {same} {counted(max(counts), 'row')}"


def _unequal(runs: Runs) -> list[str]:
    """A warning where learners had different numbers of rows or of labels."""
    rows = {run: source.rows for run, (source, _) in runs.items()}
    most = max(rows.values())
    if min(rows.values()) < most:
        fewer = ", ".join(f"{run} {count:,}" for run, count in rows.items() if count < most)
        return [
            f"Warning: not all learners ran over {counted(most, 'row')}, so accuracies are not "
            f"comparable: {fewer}."
        ]
    spent = [source.labels for source, _ in runs.values()]
    if max(spent) > UNEQUAL * min(spent):
        return [
            f"Warning: the learners queried different numbers of labels, from {min(spent):,} to "
            f"{max(spent):,}."
        ]
    return []


def _rows(points: Sequence[Point]) -> list[float]:
    return [float(point.round) for point in points]


def _settings(learner: Learner | str) -> str:
    if isinstance(learner, str):
        return learner
    given = parameters(learner)
    return ", ".join([given["rule"], given["query"], f"learns from {given['learns from']}"])


_READING = (
    "Differences are to the most accurate learner, in percentage points, paired on the same rows; "
    "the intervals allow for autocorrelation and are for one pair at a time."
)
