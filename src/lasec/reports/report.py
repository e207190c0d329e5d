"""One run as one page, and as files for a paper."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Mapping, Sequence
from html import escape
from importlib import import_module, metadata
from io import BytesIO
from pathlib import Path
from typing import Any

from lasec.algorithms import cite
from lasec.evaluation import Part, RunSummary, pictures
from lasec.files import write as write_file
from lasec.learner import Learner
from lasec.notebook import percent
from lasec.reports import html, svg
from lasec.reports.figures import all_figures
from lasec.reports.source import beaten, beliefs, between, cautions, counted, headline, now
from lasec.reports.text import pair

NONE: Mapping[str, str] = {}
NO_BASELINES: Mapping[str, float] = {}


def write(
    path: str | os.PathLike[str],
    source: RunSummary,
    learner: Learner,
    *,
    title: str = "",
    facts: Mapping[str, str] = NONE,
    baselines: Mapping[str, float] = NO_BASELINES,
    classes: Sequence[str] = (),
) -> None:
    """Write the report of a run: one HTML file that needs no network and opens from disk.

    ``source`` is the :class:`lasec.RunSummary` of ``learner``; ``facts``
    are printed as they are: the file that was read, the columns, the date. ``baselines`` are the
    accuracies of answers that need no model; one that is better is said at the top. ``classes`` are
    the names of -1 and +1, as people call them. The same run writes the same bytes, all or none.

    >>> import lasec, lasec.reports, tempfile
    >>> X, y = lasec.streams.switching(2_000, dimension=5, every=1_000, seed=1)
    >>> tracker = lasec.Tracker(rate=0.2, seed=0)
    >>> run = lasec.evaluate(tracker, X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lasec.reports.write(f"{folder}/report.html", run, tracker, facts={"data": "made up"})
    ...     Path(folder, "report.html").read_text()[:15]
    '<!DOCTYPE html>'
    """
    named = pair(classes)
    shown = {name: percent(value) for name, value in baselines.items()}
    name = title or f"{learner.name} on {counted(source.rows, 'row')}"
    body = [
        f"<header>\n<h1>{escape(name)}</h1>",
        html.paragraph(headline(source), "headline"),
        html.paragraph(now(source)),
        html.paragraph(beliefs(source)),
        *(html.paragraph(words, "caution") for words in cautions(source, learner)),
        *(html.paragraph(words, "caution") for words in beaten(source.accuracy, baselines)),
        html.tiles(numbers(source)),
        "</header>",
        *(html.figure(spec) for spec in all_figures(source, named)),
        html.section("time", "Stretch by stretch", _parts(source.parts(), "rows", _TIME)),
        html.section("groups", "Group by group", _parts(source.groups, "group", _GROUPS)),
        html.section("made", "How it was made", *made(learner, {**facts, **shown})),
    ]
    write_file(path, html.page(name, body), private=False)


def figures(source: RunSummary, learner: Learner, *, classes: Sequence[str] = ()) -> dict[str, Any]:
    """The figures of the report, each a matplotlib ``Figure``, to be changed as one likes.

    >>> import lasec, lasec.reports
    >>> X, y = lasec.streams.switching(2_000, dimension=5, every=1_000, seed=1)
    >>> learner = lasec.LASEC_SS(dimension=5, seed=0)
    >>> run = lasec.evaluate(learner, X, y)
    >>> list(lasec.reports.figures(run, learner))
    ['accuracy', 'labels', 'asked', 'doubt', 'margins']
    """
    return {spec.name: spec.figure() for spec in all_figures(source, pair(classes))}


def save_figures(
    folder: str | os.PathLike[str],
    source: RunSummary,
    learner: Learner,
    formats: Sequence[str] = ("png", "svg"),
    *,
    classes: Sequence[str] = (),
) -> list[Path]:
    """Write each figure to a file of its own in each format, and give the paths.

    Nothing is written before all is drawn. ``classes`` are the names of -1 and +1.

    >>> import lasec, lasec.reports, tempfile
    >>> X, y = lasec.streams.switching(2_000, dimension=5, every=1_000, seed=1)
    >>> learner = lasec.LASEC_SS(dimension=5, seed=0)
    >>> run = lasec.evaluate(learner, X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in lasec.reports.save_figures(folder, run, learner, ["svg"])][:2]
    ['accuracy.svg', 'labels.svg']
    """
    drawn = {
        Path(folder, f"{name}.{kind}"): _file(figure, kind)
        for name, figure in figures(source, learner, classes=classes).items()
        for kind in formats
    }
    Path(folder).mkdir(parents=True, exist_ok=True)
    for path, data in drawn.items():
        write_file(path, data, private=False)
    return list(drawn)


def _file(figure: Any, kind: str) -> bytes:
    """A figure as a file of a format."""
    if kind == "svg":
        return svg.text(figure).encode()
    file = BytesIO()
    with pictures.styled(), svg.measured():
        figure.savefig(file, format=kind, dpi=150)
    return file.getvalue()


def numbers(source: RunSummary) -> list[tuple[str, str]]:
    """The few numbers that everybody asks for."""
    rate = source.labels / source.rows if source.rows else math.nan
    shown = [
        ("right, as estimated", percent(source.estimate.value)),
        ("right, in truth", percent(source.accuracy)),
        ("labels asked", f"{source.labels:,}"),
        ("of all rows", percent(rate)),
    ]
    if source.alarms:
        shown.append(("alarms", f"{len(source.alarms):,}"))
    return shown


def made(learner: Learner, facts: Mapping[str, str]) -> list[str]:
    """Facts, parameters, versions, and what to cite."""
    cited = "".join(f"<li>{escape(line)}</li>" for line in cite(learner).splitlines())
    return [
        html.facts(facts, "The data"),
        html.facts(parameters(learner), "The learner"),
        html.facts(versions(), "Versions"),
        f'<p class="quiet">Papers to cite</p><ul class="cite">{cited}</ul>' if cited else "",
    ]


def parameters(learner: Learner) -> dict[str, str]:
    """All that a learner was given.

    >>> import lasec
    >>> list(parameters(lasec.Perceptron(dimension=2)))[:4]
    ['algorithm', 'rule', 'query', 'learns from']
    """
    given = {
        "algorithm": learner.name,
        "rule": repr(learner.rule),
        "query": repr(learner.query),
        "learns from": f"asked {learner.learn_from.value}",
        "features": f"{learner.dimension:,}",
    }
    names = ("seed", "precision", "aggregate", "annotators", "max_pending", "max_age")
    return given | {name.replace("_", " "): _plain(getattr(learner, name)) for name in names}


def versions() -> dict[str, str]:
    """Of lasec and of what it stands on."""
    found = {"lasec": str(import_module("lasec").__version__), "python": platform.python_version()}
    return found | {name: metadata.version(name) for name in ("numpy", "numba", "matplotlib")}


def _plain(value: object) -> str:
    return "none" if value is None else str(getattr(value, "value", value))


def _stretch(name: str) -> str:
    """From which row to which, with separators."""
    return "\N{EN DASH}".join(f"{int(end):,}" for end in name.split("-"))


def _parts(parts: Sequence[Part], what: str, caption: str) -> str:
    head = (what, "right, as estimated", "in truth", "labels", "asked", "count")
    rows = [
        (
            _stretch(part.name) if what == "rows" else part.name,
            between(part.estimate), percent(part.accuracy), f"{part.labels:,}", percent(part.rate),
            f"{part.rows:,}",
        )
        for part in parts
    ]  # fmt: skip
    return html.table(head, rows, caption)


_TIME = (
    "The run in equal stretches: how good the model was in each as the asked labels tell it, with "
    "95 % intervals, how good in truth, and how many labels were asked."
)
_GROUPS = (
    "The same for each group of rows. Each group's estimate is from its own asked labels, weighted "
    "by the probability with which they were asked, so groups can be compared even if one was "
    "asked far more often than another."
)
