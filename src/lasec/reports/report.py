"""One run as one page, and as files for a paper."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from html import escape
from importlib import import_module, metadata
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from lasec.evaluation import Part, RunSummary, pictures
from lasec.evaluation.facts import class_metrics
from lasec.files import write as write_file
from lasec.learner import Learner
from lasec.metrics.words import between
from lasec.notebook import percent
from lasec.papers import cite
from lasec.reports import html, svg
from lasec.reports import source as words_of
from lasec.reports.figures import main_figures, more_figures
from lasec.reports.text import clean, pair
from lasec.session import Session

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NONE: Mapping[str, str] = {}
NO_BASELINES: Mapping[str, float] = {}


def write(
    path: str | os.PathLike[str],
    source: RunSummary,
    ran: Learner | Session,
    *,
    title: str = "",
    facts: Mapping[str, str] = NONE,
    baselines: Mapping[str, float] = NO_BASELINES,
    classes: Sequence[str] = (),
) -> None:
    """Write the report of a run: one HTML file that needs no network and opens from disk.

    ``source`` is the :class:`lasec.RunSummary` of what ``ran``: a learner of lasec, or a session
    with one. ``facts`` are printed as they are: the file that was read, the columns, the date.
    ``baselines`` are accuracies to beat (default: no-change and the majority class); the page warns
    where one is better. ``classes`` are the names of the classes, where labels are -1 and +1. The
    same run writes the same bytes, all or none.

    >>> import lasec, lasec.reports, tempfile
    >>> X, y = lasec.streams.switching(2_000, dimension=5, every=1_000, seed=1)
    >>> tracker = lasec.Tracker(rate=0.2, seed=0)
    >>> run = lasec.evaluate(tracker, X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lasec.reports.write(f"{folder}/report.html", run, tracker, facts={"data": "made up"})
    ...     Path(folder, "report.html").read_text()[:15]
    '<!DOCTYPE html>'
    """
    session = ran if isinstance(ran, Session) else None
    learner = ran.learner if isinstance(ran, Session) else ran
    named, beat = pair(classes), baselines or source.baselines
    name = title or f"{learner.name} report"
    body = [
        f"<header>\n<h1>{escape(name)}</h1>",
        html.paragraph(words_of.subtitle(source, learner), "quiet"),
        html.cards(fact.card for fact in words_of.cards(source, beat, classes, session)),
        html.paragraph(words_of.rarity(source, classes), "reading"),
        *(html.paragraph(words, "warning") for words in words_of.warnings(source, learner)),
        *(html.paragraph(words, "warning") for words in words_of.beaten(source, beat)),
        "</header>",
        _alarms(source),
        *_sections(source, named),
        html.section("classes", "Classes", *_classes(source, classes)),
        html.section("groups", "Accuracy by group", _parts(source.groups, "group", _GROUPS)),
        html.details("windows", "Accuracy by window", _windows(source)),
        html.details(
            "more", "Queries and margins",
            *(html.figure(spec, level=3) for spec in more_figures(source, named)),
        ),
        html.details("settings", "Data, settings and versions", *made(learner, facts)),
    ]  # fmt: skip
    write_file(path, html.page(name, body), private=False)


def _alarms(source: RunSummary) -> str:
    """The last alarms in words, and how many there are."""
    lines = [clean(line) for line in words_of.alarm_lines(source)]
    hidden = len(source.alarms) - len(lines)
    some = f"The last {len(lines)} of {len(source.alarms):,}." if hidden else ""
    return html.section(
        "alarms", "Alarms", html.paragraph(some, "quiet"), *map(html.paragraph, lines)
    )


def _sections(source: RunSummary, classes: tuple[str, str]) -> list[str]:
    """The figures that everybody reads; drift in words where there is nothing to draw."""
    words = html.paragraph(words_of.drift(source))
    specs = {spec.name: spec for spec in main_figures(source, classes)}
    shown = [html.figure(spec, words if name == "drift" else "") for name, spec in specs.items()]
    if "drift" not in specs:
        shown.append(html.section("drift", "Estimated drift", words))
    return shown


def figures(
    source: RunSummary, learner: Learner, *, classes: Sequence[str] = ()
) -> dict[str, Figure]:
    """The figures of the report, each a matplotlib ``Figure``, to be changed as one likes.

    >>> import lasec, lasec.reports
    >>> X, y = lasec.streams.switching(2_000, dimension=5, every=1_000, seed=1)
    >>> learner = lasec.LASEC_SS(dimension=5, seed=0)
    >>> run = lasec.evaluate(learner, X, y)
    >>> list(lasec.reports.figures(run, learner))
    ['accuracy', 'labels', 'queries', 'margins']
    """
    named = pair(classes)
    specs = [*main_figures(source, named), *more_figures(source, named)]
    return {spec.name: spec.figure() for spec in specs}


def save_figures(
    folder: str | os.PathLike[str],
    source: RunSummary,
    learner: Learner,
    formats: Sequence[str] = ("png", "svg"),
    *,
    classes: Sequence[str] = (),
) -> list[Path]:
    """Write each figure to a file of its own in each format, and give the paths.

    Nothing is written before all is drawn. ``classes`` are the names of the classes.

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


def _file(figure: Figure, kind: str) -> bytes:
    """A figure as a file of a format."""
    if kind == "svg":
        return svg.text(figure).encode()
    file = BytesIO()
    with pictures.styled(), svg.measured():
        figure.savefig(file, format=kind, dpi=200)
    return file.getvalue()


def made(learner: Learner, facts: Mapping[str, str]) -> list[str]:
    """Facts, parameters, versions, and what to cite."""
    cited = "".join(f"<li>{escape(line)}</li>" for line in cite(learner).splitlines())
    return [
        html.facts(facts, "Data"),
        html.facts(parameters(learner), "Learner"),
        html.facts(versions(), "Versions"),
        f'<p class="quiet">Please cite</p><ul class="cite">{cited}</ul>' if cited else "",
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
        "learns from": f"queried {learner.learn_from.value}",
        "features": f"{learner.dimension:,}",
    }
    names = ("seed", "aggregate", "annotators", "max_pending", "max_age")
    return given | {name.replace("_", " "): _plain(getattr(learner, name)) for name in names}


def versions() -> dict[str, str]:
    """Of lasec and of what it stands on."""
    found = {"lasec": str(import_module("lasec").__version__), "python": platform.python_version()}
    return found | {name: metadata.version(name) for name in ("numpy", "matplotlib")}


def _plain(value: object) -> str:
    return "none" if value is None else str(getattr(value, "value", value))


def _windows(source: RunSummary) -> str:
    """The table of windows; with the date on which each ends, where rows have times."""
    line = pictures.Timeline.of(source.points)
    named = []
    for part in source.parts():
        begin, end = map(int, part.name.split("-"))
        until = f", to {words_of.date(float(line.at([end])[0]))}" if line.dated else ""
        named.append(part._replace(name=f"{begin:,}-{end:,}{until}"))
    return _parts(named, "rows", _WINDOWS)


def _parts(parts: Sequence[Part], what: str, caption: str) -> str:
    head = (
        what, "estimated accuracy (95 % CI)", "true accuracy", "labels queried", "share queried",
        "number of rows",
    )  # fmt: skip
    rows = [
        (
            part.name, between(part.estimate), percent(part.accuracy), f"{part.labels:,}",
            percent(part.rate), f"{part.rows:,}",
        )
        for part in parts
    ]  # fmt: skip
    return html.table(head, rows, caption)


def _classes(source: RunSummary, classes: Sequence[str]) -> list[str]:
    """How each class is predicted, and which are taken for which."""
    if not source.known:
        return []
    words = [metric.replace("_", " ").replace("f1", "F1") for metric in class_metrics(source)]
    columns = [(f"estimated {metric} (95 % CI)", "true") for metric in words]
    head = ("class", "share of labels", *chain.from_iterable(columns))
    tables = [html.table(head, words_of.class_rows(source, classes), _CLASSES)]
    scores = words_of.score_rows(source)
    if scores:
        tables.append(html.table(("metric", "estimated (95 % CI)", "true"), scores, _SCORES))
    if len(source.classes) <= MOST_CLASSES:
        names = [f"as {words_of.spoken(name, classes)}" for name in source.classes]
        rows = words_of.confusion_rows(source, classes)
        tables.append(html.table(("rows of", *names), rows, _CONFUSION))
    return tables


MOST_CLASSES = 12  # in a confusion matrix that can be read
_CLASSES = (
    "Estimates come from the queried labels, weighted by their query probability; the true values "
    "from all labels."
)
_SCORES = (
    "How good the predicted probabilities are; lower is better. Log-loss is the mean of "
    "-log P(true class), the Brier score that of (1 - P(true class)) squared, and the calibration "
    "error the mean distance between predicted and observed shares in ten bins. With more than two "
    "classes, the probability is that of the predicted class."
)
_CONFUSION = (
    "Confusion matrix: of the rows of a class, how many were predicted as each class. Estimated "
    "from the queried labels; in brackets, counted from all labels."
)
_WINDOWS = (
    "The run in equal windows. Estimates come from the queried labels of the window, the true "
    "accuracy from all labels."
)
_GROUPS = (
    "Each group is estimated from its own queried labels, weighted by their query probability, so "
    "groups can be compared even where one was queried more often. A wide interval means too few "
    "labels."
)
