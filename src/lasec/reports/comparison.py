"""Several learners on one stream, on one page."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from lasec import notebook
from lasec.evaluation import Point, RunSummary
from lasec.evaluation import pictures as draw
from lasec.files import write
from lasec.learner import Learner
from lasec.notebook import percent
from lasec.reports import html
from lasec.reports.figures import FigureSpec
from lasec.reports.report import NO_BASELINES, NONE, parameters, versions
from lasec.reports.source import beaten, between, counted
from lasec.reports.svg import PALETTE
from lasec.reports.text import across, short

Runs = Mapping[str, tuple[RunSummary, Learner]]
DASHES = ("-", "--", "-.", ":")
HEAD = ("learner", "right, in truth", "right, as estimated", "labels", "asked")


class Comparison:
    """The table of a comparison, which a notebook shows as a card: ``rows`` under :data:`HEAD`."""

    def __init__(self, rows: Sequence[tuple[str, ...]]) -> None:
        self.rows = rows

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(name) for name, *_ in self.rows)})"

    def _repr_html_(self) -> str:
        return notebook.table("Comparison", HEAD, self.rows)


def compare(
    path: str | os.PathLike[str],
    runs: Runs,
    *,
    title: str = "",
    facts: Mapping[str, str] = NONE,
    baselines: Mapping[str, float] = NO_BASELINES,
) -> Comparison:
    """Write one page about several learners that ran over the same stream, and give its table.

    ``runs`` has for each name what :func:`write` takes; ``baselines`` are accuracies to beat, that
    of always saying the more frequent label for example.

    >>> import lasec, lasec.reports, tempfile
    >>> X, y = lasec.streams.switching(2_000, dimension=5, every=1_000, seed=1)
    >>> runs = {}
    >>> for learner in (lasec.Tracker(rate=0.2), lasec.LASEC_SS(dimension=5)):
    ...     run = lasec.evaluate(learner, X, y)
    ...     runs[learner.name] = run, learner
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lasec.reports.compare(f"{folder}/compare.html", runs, baselines={"majority": 0.52})
    Comparison('Tracker', 'LASEC-SS', 'majority')
    """
    if not runs:
        raise ValueError("runs: there is nothing to compare")
    name = title or _title(runs)
    best = order(runs)[0]
    table = Comparison(summary(runs, baselines))
    given = {run: ", ".join(_settings(learner)) for run, (_, learner) in runs.items()}
    points = {run: source.points for run, (source, _) in runs.items()}
    body = [
        f"<header>\n<h1>{escape(name)}</h1>",
        html.paragraph(_headline(runs, best), "headline"),
        *(html.paragraph(words, "caution") for words in _lengths(runs)),
        *(html.paragraph(w, "caution") for w in beaten(runs[best][0].accuracy, baselines)),
        html.table(HEAD, table.rows, "The best comes first; baselines stand at the end."),
        "</header>",
        html.figure(accuracies(points, baselines)),
        html.figure(labels(points)),
        html.section(
            "made", "How it was made", html.facts(facts, "The data"),
            html.facts(given, "The learners"), html.facts(versions(), "Versions"),
        ),
    ]  # fmt: skip
    write(path, html.page(name, body), private=False)
    return table


def order(runs: Runs) -> list[str]:
    """The names of the runs, the best first; those without rows at the end."""
    value = {run: source.accuracy for run, (source, _) in runs.items()}
    return sorted(runs, key=lambda run: math.inf if math.isnan(value[run]) else -value[run])


def summary(runs: Runs, baselines: Mapping[str, float]) -> list[tuple[str, ...]]:
    """The table of all runs, the best first; baselines stand at the end."""
    rows: list[tuple[str, ...]] = [
        (
            run, percent(source.accuracy), between(source.estimate), f"{source.labels:,}",
            percent(source.labels / max(source.rows, 1)),
        )
        for run, (source, _) in ((run, runs[run]) for run in order(runs))
    ]  # fmt: skip
    return rows + [(name, percent(value), "", "", "") for name, value in baselines.items()]


def accuracies(points: Mapping[str, Sequence[Point]], baselines: Mapping[str, float]) -> FigureSpec:
    """The true accuracy of all over time."""

    def paint(figure: Any, _: int) -> None:
        axes = figure.subplots()
        for number, (name, of) in enumerate(points.items()):
            _line(axes, number, name, of, [point.truth for point in of])
        for name, value in baselines.items():
            lowest = len(baselines) > 1 and value == min(baselines.values())
            axes.axhline(value, color=draw.SOFT, linewidth=1.0, linestyle=(0, (1, 2)))
            axes.annotate(
                short(name), (1.0, value), xycoords=("axes fraction", "data"), ha="right",
                va="top" if lowest else "bottom", fontsize=8, color=draw.SOFT,
            )  # fmt: skip
        axes.set_ylabel("accuracy of the last rows")
        draw.share_axis(axes.yaxis)
        _legend(figure, axes, list(points))

    first = _longest(points)
    return FigureSpec(
        "accuracy", "How good was each?",
        "The true share of right predictions among the last rows, for each learner; dotted lines "
        "are the baselines.",
        3.6, paint, "round", _rounds(first),
        [
            (name, "share", [point.truth for point in of])
            for name, of in points.items() if _rounds(of) == _rounds(first)
        ],
    )  # fmt: skip


def labels(points: Mapping[str, Sequence[Point]]) -> FigureSpec:
    """The labels of all over time."""

    def paint(figure: Any, _: int) -> None:
        axes = figure.subplots()
        for number, (name, of) in enumerate(points.items()):
            _line(axes, number, name, of, [point.labels for point in of])
        axes.set_ylabel("labels asked so far")
        axes.set_ylim(bottom=0.0)
        draw.count_axis(axes.yaxis)
        _legend(figure, axes, list(points))

    first = _longest(points)
    return FigureSpec(
        "labels", "What did each cost?",
        "How many labels each learner has asked for so far.",
        2.8, paint, "round", _rounds(first),
        [
            (name, "count", [float(point.labels) for point in of])
            for name, of in points.items() if _rounds(of) == _rounds(first)
        ],
    )  # fmt: skip


def _line(axes: Any, number: int, name: str, points: Sequence[Point], values: Any) -> None:
    color, dash = PALETTE[number % len(PALETTE)], DASHES[number // 2 % len(DASHES)]
    rounds, mark = [point.round for point in points], "o" if len(points) == 1 else ""
    axes.plot(
        rounds, values, color=color, linestyle=dash, linewidth=1.5, marker=mark, label=short(name)
    )


def _legend(figure: Any, axes: Any, names: Sequence[str]) -> None:
    """A legend of as many columns as there is room for; the figure grows by its further rows."""
    width, height = figure.get_size_inches()
    letters = max(across(short(name)) for name in names)
    columns = min(4, max(1, int((width - 0.7) / (0.085 * letters + 0.45))))
    rows = -(-len(names) // columns)
    figure.set_size_inches(width, height + 0.19 * max(0, rows - 2))
    draw.legend(axes, columns)


def _headline(runs: Runs, best: str) -> str:
    source = runs[best][0]
    if not source.rows:
        return "There were no rows, so there is nothing to compare."
    return (
        f"{best} was the best of these: right in {percent(source.accuracy)} of "
        f"{counted(source.rows, 'row')}, with {counted(source.labels, 'label')} asked."
    )


def _title(runs: Runs) -> str:
    counts = {source.rows for source, _ in runs.values()}
    same = "the same" if len(counts) == 1 else "up to"
    return f"{counted(len(runs), 'learner')} on {same} {counted(max(counts), 'row')}"


def _lengths(runs: Runs) -> list[str]:
    """What to say where not all ran over as many rows."""
    counts = {run: source.rows for run, (source, _) in runs.items()}
    if len(set(counts.values())) == 1:
        return []
    most = max(counts.values())
    fewer = ", ".join(f"{run} {count:,}" for run, count in counts.items() if count < most)
    return [f"Not all ran over {counted(most, 'row')}, so compare with care: {fewer}."]


def _longest(points: Mapping[str, Sequence[Point]]) -> Sequence[Point]:
    return max(points.values(), key=lambda of: of[-1].round if of else 0)


def _rounds(points: Sequence[Point]) -> list[float]:
    return [float(point.round) for point in points]


def _settings(learner: Learner) -> list[str]:
    given = parameters(learner)
    return [given["rule"], given["query"], f"learns from {given['learns from']}"]
