"""Several learners on one stream, on one page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from lasec import cards
from lasec.cards import percent
from lasec.evaluation import Point
from lasec.evaluation import pictures as draw
from lasec.learner import Learner
from lasec.reports import page
from lasec.reports.plates import Plate
from lasec.reports.report import NO_BASELINES, NONE, parameters, versions
from lasec.reports.source import Source, beaten, between
from lasec.reports.svg import PALETTE

Runs = Mapping[str, tuple[Source, Learner]]
DASHES = ("-", "--", "-.", ":")
HEAD = ("learner", "right, in truth", "right, as estimated", "labels", "asked")


class Comparison:
    """The table of a comparison, which a notebook shows as a card: ``rows`` under :data:`HEAD`."""

    def __init__(self, rows: Sequence[tuple[str, ...]]) -> None:
        self.rows = rows

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(name) for name, *_ in self.rows)})"

    def _repr_html_(self) -> str:
        return cards.table("Comparison", HEAD, self.rows)


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
    ...     trace = lasec.Trace()
    ...     records = trace.run(learner, X, y)
    ...     runs[learner.name] = trace, learner
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lasec.reports.compare(f"{folder}/compare.html", runs, baselines={"majority": 0.52})
    Comparison('Tracker', 'LASEC-SS', 'majority')
    """
    if not runs:
        raise ValueError("runs: there is nothing to compare")
    name = title or f"{len(runs)} learners on the same {_rounds(runs):,} rows"
    best = max(runs, key=lambda run: runs[run][0].accuracy)
    table = Comparison(summary(runs, baselines))
    given = {run: ", ".join(_settings(learner)) for run, (_, learner) in runs.items()}
    points = {run: source.points for run, (source, _) in runs.items()}
    body = [
        f"<header>\n<h1>{escape(name)}</h1>",
        page.paragraph(_headline(runs, best), "headline"),
        *(page.paragraph(w, "caution") for w in beaten(runs[best][0].accuracy, baselines)),
        page.table(HEAD, table.rows, "The best comes first; baselines stand at the end."),
        "</header>",
        page.figure(accuracies(points, baselines)),
        page.figure(labels(points)),
        page.section(
            "made", "How it was made", page.facts(facts, "The data"),
            page.facts(given, "The learners"), page.facts(versions(), "Versions"),
        ),
    ]  # fmt: skip
    Path(path).write_text(page.page(name, "\n".join(filter(None, body))), encoding="utf-8")
    return table


def summary(runs: Runs, baselines: Mapping[str, float]) -> list[tuple[str, ...]]:
    """The table of all runs, the best first; baselines stand at the end."""
    order = sorted(runs, key=lambda run: -runs[run][0].accuracy)
    rows: list[tuple[str, ...]] = [
        (
            run, percent(source.accuracy), between(source.estimate), f"{source.labels:,}",
            percent(source.labels / max(source.rounds, 1)),
        )
        for run, (source, _) in ((run, runs[run]) for run in order)
    ]  # fmt: skip
    return rows + [(name, percent(value), "", "", "") for name, value in baselines.items()]


def accuracies(points: Mapping[str, Sequence[Point]], baselines: Mapping[str, float]) -> Plate:
    """The true accuracy of all over time."""

    def paint(figure: Any, columns: int) -> None:
        axes = figure.subplots()
        for number, (name, of) in enumerate(points.items()):
            _line(axes, number, name, of, [point.truth for point in of])
        for name, value in baselines.items():
            lowest = len(baselines) > 1 and value == min(baselines.values())
            axes.axhline(value, color=draw.SOFT, linewidth=1.0, linestyle=(0, (1, 2)))
            axes.annotate(
                _short(name), (1.0, value), xycoords=("axes fraction", "data"), ha="right",
                va="top" if lowest else "bottom", fontsize=8, color=draw.SOFT,
            )  # fmt: skip
        axes.set_ylabel("accuracy of the last rows")
        draw.share_axis(axes.yaxis)
        draw.legend(axes, 2 if columns == 1 else 4)

    first = next(iter(points.values()))
    return Plate(
        "accuracy", "How good was each?",
        "The true share of right predictions among the last rows, for each learner; dotted lines "
        "are the baselines.",
        3.6, paint, "round", [float(point.round) for point in first],
        [
            (name, "share", [point.truth for point in of])
            for name, of in points.items() if len(of) == len(first)
        ],
    )  # fmt: skip


def labels(points: Mapping[str, Sequence[Point]]) -> Plate:
    """The labels of all over time."""

    def paint(figure: Any, columns: int) -> None:
        axes = figure.subplots()
        for number, (name, of) in enumerate(points.items()):
            _line(axes, number, name, of, [point.labels for point in of])
        axes.set_ylabel("labels asked so far")
        axes.set_ylim(bottom=0.0)
        draw.count_axis(axes.yaxis)
        draw.legend(axes, 2 if columns == 1 else 4)

    first = next(iter(points.values()))
    return Plate(
        "labels", "What did each cost?",
        "How many labels each learner has asked for so far.",
        2.8, paint, "round", [float(point.round) for point in first],
        [
            (name, "count", [float(point.labels) for point in of])
            for name, of in points.items() if len(of) == len(first)
        ],
    )  # fmt: skip


def _line(axes: Any, number: int, name: str, points: Sequence[Point], values: Any) -> None:
    color, dash = PALETTE[number % len(PALETTE)], DASHES[number // 2 % len(DASHES)]
    rounds, mark = [point.round for point in points], "o" if len(points) == 1 else ""
    axes.plot(
        rounds, values, color=color, linestyle=dash, linewidth=1.5, marker=mark, label=_short(name)
    )


def _short(name: str) -> str:
    """A name that fits into a legend, with nothing in it that matplotlib would take for math."""
    kept = name if len(name) <= 24 else f"{name[:23]}\N{HORIZONTAL ELLIPSIS}"
    return kept.replace("$", "\\$").lstrip("_")


def _headline(runs: Runs, best: str) -> str:
    source = runs[best][0]
    return (
        f"{best} was the best of these: right in {percent(source.accuracy)} of "
        f"{source.rounds:,} rows, with {source.labels:,} labels asked."
    )


def _rounds(runs: Runs) -> int:
    return max(source.rounds for source, _ in runs.values())


def _settings(learner: Learner) -> list[str]:
    given = parameters(learner)
    return [given["rule"], given["query"], f"learns from {given['learns from']}"]
